// SPDX-License-Identifier: MIT
#include "tools/lab/claims/counting.h"

#include "model/stack.h"
#include "model/tensor_memory.h"
#include "tools/lab/study/prelude.h"
#include "tools/lab/study/small_models.h"

#include <bit>

namespace ordo::lab {
namespace {

// Columns of the residual stream. At each norm of attention the sum of squares is the same for every token. The gain of
// the norm cancels it.
constexpr int one = 0, first = 1, inverse = 2, count = 3, rest = 4; // 1; 1 or -1; 1/t; t / context; the remainder
constexpr int content = 5, width = 4, answer = content + width, stream = answer + width;
constexpr double square = 1 + 1 + 2 + width; // one; first; inverse, count and rest together; content
constexpr int score = 1 + 1 + width;         // of a head: two columns for the distance, the others for content

Blueprint counting_blueprint(int context, int layers) {
    Blueprint b;
    b.vocab_size = counting_vocabulary;
    b.context = context;
    b.n_layers = layers;
    b.n_heads = b.n_kv_heads = 1;
    b.d_model = stream;
    b.d_head = score;
    b.d_ff = context;
    b.norm_eps = 1e-30f;
    b.activation = Activation::relu;
    b.gated = b.final_norm = b.tied_head = false;
    b.ffn_bias = true;
    b.score_scale = 1;
    return b;
}

// The contents are signs, so that every token's content has the same square; those of two tokens are orthogonal. The
// head measures how much attention each token's content received.
void set_contents(TensorMemory& tensors, const Blueprint& b) {
    for (Token token = 0; token < b.vocab_size; ++token) {
        float* row = tensors.view("embedding.weight").row(token);
        row[one] = 1;
        row[rest] = static_cast<float>(std::numbers::sqrt2);
        row[first] = token == counting_start ? 1.0f : -1.0f;
        for (int j = 0; j < width; ++j) {
            const float sign = std::popcount(static_cast<unsigned>(token & j)) % 2 == 0 ? 1 : -1;
            row[content + j] = tensors.view("head.weight").row(token)[answer + j] = sign;
        }
    }
    for (int layer = 0; layer < b.n_layers; ++layer)
        for (const char* name : {".attention_norm.weight", ".feed_forward_norm.weight"})
            for (int j = 0; j < stream; ++j)
                tensors.view("layers." + std::to_string(layer) + name).row(0)[j] =
                    static_cast<float>(std::sqrt(square / stream));
}

// f_cnt: random products of contents. The attended contents are written to the columns of the answer.
void set_content_scores(TensorMemory& tensors, int layer, std::uint64_t seed) {
    const std::string name = "layers." + std::to_string(layer) + ".attention.";
    const View qkv = tensors.view(name + "qkv.weight");
    const Random random(seed, 0xc0);
    for (int i = 0; i < width; ++i) {
        for (int j = 0; j < width; ++j)
            qkv.row(2 + i)[content + j] = random.normal(static_cast<std::uint64_t>(i * width + j)) < 0 ? -0.25f : 0.25f;
        qkv.row(score + 2 + i)[content + i] = 1;
        qkv.row(2 * score + 2 + i)[content + i] = 1;
        tensors.view(name + "out.weight").row(answer + i)[2 + i] = 1;
    }
}

// The feed-forward network of `layer` adds f(t) to a column, for t = 1 to context. f is linear between the values that
// 1/t has after the norm; each piece is one unit relu(z_t - z).
void add_function(TensorMemory& tensors, const Blueprint& b, int layer, int column,
                  const std::function<double(int)>& f) {
    const std::string name = "layers." + std::to_string(layer) + ".feed_forward.";
    const auto z = [](int t) { return 1.0 / t / std::sqrt(1 + 1 / (square * t * t)); };
    double slope = 0;
    for (int t = 1; t < b.context; ++t) {
        const double next = (f(t + 1) - f(t)) / (z(t) - z(t + 1));
        tensors.view(name + "in.weight").row(t - 1)[inverse] = -1;
        tensors.view(name + "in.bias").row(0)[t - 1] = static_cast<float>(z(t));
        tensors.view(name + "out.weight").row(column)[t - 1] = static_cast<float>(next - slope);
        slope = next;
    }
    tensors.view(name + "out.bias").row(0)[column] = static_cast<float>(f(1));
}

// Theorem 1: attention that is uniform, because all keys are alike, writes 1/t. The feed-forward network writes t.
void set_counting(TensorMemory& tensors, const Blueprint& b) {
    const View qkv = tensors.view("layers.0.attention.qkv.weight");
    for (int i = 0; i < score; ++i) {
        for (int j = 0; j < stream; ++j) qkv.row(i)[j] = 0.5f; // queries may be anything
        qkv.row(score + i)[one] = 1;
    }
    qkv.row(2 * score)[one] = qkv.row(2 * score)[first] = 0.5f; // (1 + 1) / 2 or (1 - 1) / 2
    tensors.view("layers.0.attention.out.weight").row(inverse)[0] = 1;
    const auto share = [&](int t) { return static_cast<double>(t) / b.context; };
    add_function(tensors, b, 0, count, share);
    add_function(tensors, b, 0, rest,
                 [=](int t) { return std::sqrt(2 - 1.0 / t / t - share(t) * share(t)) - std::numbers::sqrt2; });
}

TensorMemory relative_tensors(const Blueprint& b, std::uint64_t seed) {
    TensorMemory tensors(model_tensors(b, {}));
    set_contents(tensors, b);
    set_counting(tensors, b);
    // f_rel: the key's count times 1, and the query's count times -1.
    const View scores = tensors.view("layers.1.attention.qkv.weight");
    scores.row(0)[one] = relative_slope * static_cast<float>(b.context);
    scores.row(score)[count] = 1;
    scores.row(1)[count] = -relative_slope * static_cast<float>(b.context);
    scores.row(score + 1)[one] = 1;
    set_content_scores(tensors, 1, seed);
    return tensors;
}

} // namespace

Model counting_model(int context) {
    const Blueprint b = counting_blueprint(context, 1);
    TensorMemory tensors(model_tensors(b, {}));
    set_contents(tensors, b);
    set_counting(tensors, b);
    tensors.view("head.weight").row(0)[inverse] = 1;
    tensors.view("head.weight").row(1)[count] = static_cast<float>(context);
    return make_model("counting", b, {}, std::move(tensors), nullptr, {}, context);
}

Model relative_model(int context, std::uint64_t seed) {
    const Blueprint b = counting_blueprint(context, 2);
    return make_model("relative", b, {}, relative_tensors(b, seed), nullptr, {}, context);
}

std::vector<HandSetMatrix> hand_set_matrices(int context, std::uint64_t seed) {
    constexpr int whole = -1; // or a third of qkv
    constexpr struct {
        int theorem;
        const char *name, *tensor;
        int part;
        const char* meaning;
    } shown[] = {
        {1, "E", "embedding.weight", whole, "embedding: 1; 1 for the first token, -1 for others; then its content"},
        {1, "g", "layers.0.attention_norm.weight", whole, "gain of every norm, which leaves a state as it is"},
        {1, "W_q", "layers.0.attention.qkv.weight", 0, "queries: anything, here a half"},
        {1, "W_k", "layers.0.attention.qkv.weight", 1, "keys: all are alike, so attention is uniform"},
        {1, "W_v", "layers.0.attention.qkv.weight", 2, "values: 1 of the first token, 0 of others"},
        {1, "W_o", "layers.0.attention.out.weight", whole, "output: the mean of the values, 1/t, goes to place 2"},
        {1, "W_1", "layers.0.feed_forward.in.weight", whole, "feed-forward network: a unit for each t, of 1/t"},
        {1, "b_1", "layers.0.feed_forward.in.bias", whole, "its biases: 1/t after the norm"},
        {1, "W_2", "layers.0.feed_forward.out.weight", whole, "from its units: t/4 to place 3, the rest to place 4"},
        {1, "b_2", "layers.0.feed_forward.out.bias", whole, "the same at t = 1"},
        {2, "W_q", "layers.1.attention.qkv.weight", 0, "queries: a constant, minus the own count, and contents"},
        {2, "W_k", "layers.1.attention.qkv.weight", 1, "keys: the own count, a constant, and the contents"},
        {2, "W_v", "layers.1.attention.qkv.weight", 2, "values: the contents"},
        {2, "W_o", "layers.1.attention.out.weight", whole, "output: the answer, places 9 to 12"},
    };
    TensorMemory tensors = relative_tensors(counting_blueprint(context, 2), seed);
    std::vector<HandSetMatrix> all;
    for (const auto& [theorem, name, tensor, part, meaning] : shown) {
        const View all_rows = tensors.view(tensor),
                   rows = part == whole ? all_rows : rows_of(all_rows, part * score, score);
        HandSetMatrix& out = all.emplace_back(HandSetMatrix{theorem, name, meaning, {}});
        for (int i = 0; i < rows.rows; ++i) out.rows.emplace_back(rows.row(i), rows.row(i) + rows.cols);
    }
    return all;
}

Model content_model(int context, std::uint64_t seed, const std::string& encoding) {
    const Blueprint b = counting_blueprint(context, 1);
    ModelEncodings encodings(encoding, b.dims());
    TensorMemory tensors(model_tensors(b, encodings));
    set_contents(tensors, b);
    set_content_scores(tensors, 0, seed);
    return make_model("content", b, std::move(encodings), std::move(tensors), nullptr, {}, context);
}

Permuted permute(const std::string& encoding, int layers, std::uint64_t seed) {
    constexpr int length = 24;
    const Model model = random_model(small_trunk(97, length, layers), encoding, seed);
    const Random random(seed, 0xba6);
    std::vector<Token> tokens, permuted;
    for (std::uint64_t i = 0; i < length; ++i) tokens.push_back(random.below(i, 97));
    permuted = tokens;
    shuffle(std::span(permuted).first(length - 1), random, 1000); // the last token stays
    Session straight(model), mixed(model);
    const auto a = straight.feed(tokens), b = mixed.feed(permuted);
    return {largest_difference(a, b), largest_difference(a, std::vector<float>(a.size()))};
}

} // namespace ordo::lab
