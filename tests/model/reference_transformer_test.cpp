// SPDX-License-Identifier: MIT
// Tests the reference transformer itself where two plans must give the same model. This finds errors that affect only
// one of the two plans.
#include "tests/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace ordo::reference {
namespace {

constexpr int vocabulary = 11;

Blueprint plan() {
    Blueprint b;
    b.vocab_size = vocabulary;
    b.context = 16;
    b.n_layers = 2;
    b.d_model = 12;
    b.n_heads = 4;
    b.n_kv_heads = 2;
    b.d_head = 4;
    b.d_ff = 10;
    return b;
}

// Values for every tensor that any plan asks for, whether this plan uses it or not.
class Everything {
public:
    explicit Everything(const Blueprint& b) {
        const int d = b.d_model, kv = b.n_kv_heads * b.d_head, q = b.n_heads * b.d_head;
        add("embedding", b.vocab_size, d);
        add("head", b.vocab_size, d);
        add("final_norm", 1, d);
        for (int n = 0; n < b.n_layers; ++n) {
            const std::string layer = "layers." + std::to_string(n) + ".";
            for (const char* norm :
                 {"attention_norm", "attention_out_norm", "feed_forward_norm", "feed_forward_out_norm"})
                add(layer + norm, 1, d);
            add(layer + "attention.qkv", q + 2 * kv, d);
            add(layer + "attention.out", d, q);
            add(layer + "attention.q", q, 0);
            add(layer + "attention.k", kv, 0);
            add(layer + "attention.v", kv, 0);
            add(layer + "attention.q_norm", 1, b.d_head);
            add(layer + "attention.k_norm", 1, b.d_head);
            add(layer + "feed_forward.router", 3, d);
            for (const char* part : {"", "experts.0.", "experts.1.", "experts.2."}) {
                add(layer + "feed_forward." + part + "in", 2 * b.d_ff, d);
                add(layer + "feed_forward." + part + "out", d, b.d_ff);
            }
        }
    }
    Matrix& operator[](const std::string& name) { return tensors.at(name); }
    // Changes the tensor in every layer.
    void each(const std::string& name, const std::function<void(Matrix&)>& change) {
        for (auto& [key, matrix] : tensors)
            if (key.size() >= name.size() && key.compare(key.size() - name.size(), name.size(), name) == 0)
                change(matrix);
    }
    Tensors tensors;

private:
    void add(const std::string& name, int rows, int cols) {
        tensors[name + ".weight"] = numbers(rows, cols);
        tensors[name + ".bias"] = numbers(1, name.find("norm") != std::string::npos ? cols : rows);
    }
    Matrix numbers(int rows, int cols) {
        Matrix m(rows, cols);
        for (double& value : m.values) value = std::sin(1.7 * ++count_);
        return m;
    }
    double count_ = 0;
};

Matrix run(const Blueprint& b, Everything& all, const std::string& encoding = "none", int n = 9) {
    const Oracles oracles(encoding, {b.d_model, b.n_heads, b.d_head, b.n_layers, b.context}, all.tensors);
    EXPECT_TRUE(oracles.complete()) << oracles.advice();
    Input in;
    for (int i = 0; i < n; ++i) {
        in.tokens.push_back(i * 5 % vocabulary);
        in.positions.push_back(i);
    }
    return Transformer(b, all.tensors, oracles).logits(in);
}

double difference(const Matrix& a, const Matrix& b) {
    double most = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i) most = std::max(most, std::abs(a.values[i] - b.values.at(i)));
    return most;
}

void fill(Matrix& m, double value) {
    std::fill(m.values.begin(), m.values.end(), value);
}

constexpr double same = 1e-9;

TEST(ReferenceTransformer, ExpertsThatAreAlikeAreOne) {
    Blueprint dense = plan(), mixture = plan();
    mixture.experts = 3;
    mixture.experts_used = 2;
    Everything all(dense);
    const Matrix different = run(mixture, all);
    for (const std::string layer : {"layers.0.feed_forward.", "layers.1.feed_forward."})
        for (const std::string part : {"in.weight", "out.weight"})
            for (const std::string expert : {"0.", "1.", "2."})
                all[layer + "experts." + expert + part] = all[layer + part];
    const Matrix expected = run(dense, all);
    EXPECT_GT(difference(different, expected), 1e-2);
    EXPECT_LE(difference(run(mixture, all), expected), same);
    mixture.experts_renormalised = false; // two of three weights do not sum to one
    EXPECT_GT(difference(run(mixture, all), expected), 1e-2);
    mixture.experts_used = 3;
    EXPECT_LE(difference(run(mixture, all), expected), same);
}

TEST(ReferenceTransformer, TheBestExpertsArePickedAndTiesGoToTheFirst) {
    Blueprint mixture = plan();
    mixture.experts = 3;
    mixture.experts_used = 1;
    Everything all(mixture);
    all.each("router.weight", [](Matrix& m) { fill(m, 0); });
    const Matrix tied = run(mixture, all);
    for (const char* part : {"in.weight", "out.weight"})
        for (const char* layer : {"layers.0.feed_forward.", "layers.1.feed_forward."})
            all[std::string(layer) + part] = all[std::string(layer) + "experts.0." + part];
    EXPECT_LE(difference(tied, run(plan(), all)), same);
}

TEST(ReferenceTransformer, PlacesOfNorms) {
    Blueprint one = plan(), two = plan();
    one.norm_place = NormPlace::parallel;
    two.norm_place = NormPlace::parallel_two;
    Everything all(one);
    EXPECT_GT(difference(run(one, all), run(two, all)), 1e-2);
    for (const char* layer : {"layers.0.", "layers.1."})
        all[std::string(layer) + "feed_forward_norm.weight"] = all[std::string(layer) + "attention_norm.weight"];
    EXPECT_LE(difference(run(one, all), run(two, all)), same);

    // A branch whose norm has zero gain adds nothing: the logits are those of the embedding alone.
    Blueprint sandwich = plan(), nothing = plan();
    sandwich.norm_place = NormPlace::sandwich;
    nothing.n_layers = 0;
    EXPECT_GT(difference(run(sandwich, all), run(nothing, all)), 1e-2);
    for (const char* name : {"attention_out_norm.weight", "feed_forward_out_norm.weight"})
        all.each(name, [](Matrix& m) { fill(m, 0); });
    EXPECT_LE(difference(run(sandwich, all), run(nothing, all)), same);

    // Without the norms before, the input of a branch has another size.
    Blueprint after = plan();
    after.norm_place = NormPlace::after;
    EXPECT_LE(difference(run(after, all), run(nothing, all)), same);
    for (const char* name : {"attention_out_norm.weight", "feed_forward_out_norm.weight"})
        all.each(name, [](Matrix& m) { fill(m, 1); });
    EXPECT_GT(difference(run(after, all), run(sandwich, all)), 1e-2);

    // After a norm, x has the norm's size, whatever its size was before.
    Blueprint post = plan();
    post.norm_place = NormPlace::post;
    const Matrix before = run(post, all);
    all.each("feed_forward_norm.weight", [](Matrix& m) { fill(m, 0); });
    EXPECT_EQ(difference(run(post, all), Matrix(9, vocabulary)), 0);
    EXPECT_GT(difference(before, Matrix(9, vocabulary)), 1e-2);
}

TEST(ReferenceTransformer, BiasesOfTheirOwn) {
    Blueprint all_three = plan(), two = plan();
    all_three.q_bias = all_three.k_bias = all_three.v_bias = true;
    two.q_bias = two.v_bias = true;
    Everything all(two);
    const int q = 16, kv = 8;
    for (const char* layer : {"layers.0.attention.", "layers.1.attention."}) {
        Matrix& whole = all[std::string(layer) + "qkv.bias"];
        for (int j = 0; j < q; ++j) whole.at(0, j) = all[std::string(layer) + "q.bias"].at(0, j);
        for (int j = 0; j < kv; ++j) whole.at(0, q + j) = 0;
        for (int j = 0; j < kv; ++j) whole.at(0, q + kv + j) = all[std::string(layer) + "v.bias"].at(0, j);
    }
    EXPECT_LE(difference(run(two, all), run(all_three, all)), same);
    EXPECT_GT(difference(run(two, all), run(plan(), all)), 1e-2);

    Blueprint head = plan();
    head.head_bias = true;
    const Matrix with = run(head, all), without = run(plan(), all);
    for (int j = 0; j < vocabulary; ++j) EXPECT_NEAR(with.at(3, j), without.at(3, j) + all["head.bias"].at(0, j), same);
}

TEST(ReferenceTransformer, NormsOfQueriesAndKeysForgetTheirSize) {
    for (const QkNorm kind : {QkNorm::head, QkNorm::width}) {
        Blueprint normed = plan();
        normed.qk_norm = kind;
        normed.norm_eps = 1e-12f;
        Everything all(normed);
        if (kind == QkNorm::width)
            for (const char* layer : {"layers.0.attention.", "layers.1.attention."}) {
                all[std::string(layer) + "q_norm.weight"] = Matrix(1, 16);
                all[std::string(layer) + "k_norm.weight"] = Matrix(1, 8);
                fill(all[std::string(layer) + "q_norm.weight"], 1.5);
                fill(all[std::string(layer) + "k_norm.weight"], 0.5);
            }
        const Matrix before = run(normed, all), plain = run(plan(), all);
        all.each("qkv.weight", [](Matrix& m) { // the rows of q and k; the head norm uses those of one head
            for (int i = 0; i < 24; ++i)
                for (int j = 0; j < m.cols; ++j) m.at(i, j) *= 3;
        });
        EXPECT_LE(difference(run(normed, all), before), 1e-6);
        EXPECT_GT(difference(run(plan(), all), plain), 1e-2);
        all.each("qkv.weight", [](Matrix& m) {
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < m.cols; ++j) m.at(i, j) *= 3;
        });
        EXPECT_EQ(difference(run(normed, all), before) <= 1e-6, kind == QkNorm::head);
    }
}

TEST(ReferenceTransformer, LayersHaveTheirOwnPlans) {
    Blueprint b = plan();
    LayerPlan local = b, global = b;
    local.window = 3;
    b.pattern = {local, global};
    Everything all(b);
    Blueprint both = plan(), wide = plan();
    both.window = 3;
    wide.window = 9;
    EXPECT_LE(difference(run(wide, all), run(plan(), all)), same);
    EXPECT_GT(difference(run(b, all), run(plan(), all)), 1e-4);
    EXPECT_GT(difference(run(b, all), run(both, all)), 1e-4);
    b.pattern = {local};
    EXPECT_EQ(difference(run(b, all), run(both, all)), 0);
}

TEST(ReferenceTransformer, ASinkTakesItsPartOfTheSoftmax) {
    Blueprint b = plan();
    b.n_layers = 1;
    Everything all(b);
    all.each("feed_forward.out.weight", [](Matrix& m) { fill(m, 0); });
    const auto with_sink = [&](double logit) {
        Matrix& sink = all.tensors["encoding.sink.layers.0.logit"] = Matrix(1, 4);
        fill(sink, logit);
        return run(b, all, "sink");
    };
    Blueprint nothing = plan();
    nothing.n_layers = 0;
    EXPECT_LE(difference(with_sink(-200), run(b, all)), same);
    EXPECT_LE(difference(with_sink(200), run(nothing, all)), same);
    // Two sinks add up to one sink: the logarithm of the sum of their exponentials.
    const Matrix one = with_sink(0.3 + std::log(2));
    fill(all["encoding.sink.layers.0.logit"], 0.3);
    EXPECT_LE(difference(run(b, all, "sink+sink"), one), same);
}

// Encodings that observe queries and keys receive the rotated ones. The order follows the moments, not the items of the
// sum.
TEST(ReferenceTransformer, EncodingsActByLayerAndInTheOrderOfMoments) {
    Blueprint b = plan();
    Everything all(b);
    for (const char* layer : {"0", "1"}) {
        Matrix& keys = all.tensors["encoding.shaw.layers." + std::string(layer) + ".keys"] = Matrix(5, 4);
        for (double& value : keys.values) value = std::cos(3.1 * static_cast<double>(&value - keys.values.data()));
    }
    const std::string rope = "rope:theta=100,pairing=halves,width=4", shaw = "shaw:clip=2,values=no";
    EXPECT_LE(difference(run(b, all, rope + "+" + shaw), run(b, all, shaw + "+" + rope)), same);
    const Matrix first = run(b, all, "pattern((" + rope + "),none)");
    EXPECT_GT(difference(first, run(b, all, rope)), 1e-4);
    EXPECT_GT(difference(first, run(b, all, "pattern(none,(" + rope + "))")), 1e-4);
    b.n_layers = 1;
    EXPECT_EQ(difference(run(b, all, "pattern((" + rope + "),none)"), run(b, all, rope)), 0);
}

} // namespace
} // namespace ordo::reference
