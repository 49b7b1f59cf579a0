// SPDX-License-Identifier: MIT
#include "tools/lab/claims/counting.h"

#include "model/stack.h"
#include "model/tensor_memory.h"
#include "tools/lab/study/prelude.h"

#include <bit>

namespace ordo::lab {
namespace {

// Columns of the residual stream. At each norm of attention the sum of squares is the same for every token. The gain of
// the norm cancels it.
constexpr int one = 0, first = 1, inverse = 2, count = 3, rest = 4; // 1; 1 or -1; 1/t; t / context; the remainder
constexpr int content = 5, width = 4, answer = content + width, stream = answer + width;
constexpr double square = 1 + 1 + 2 + width; // one; first; inverse, count and rest together; content
constexpr int score = 1 + 1 + width;         // of a head: two columns for the distance, the others for content

// A model whose tensors are zeros, except the embeddings, the head and the gains of the norms. The contents are signs,
// so that every token's content has the same square; those of two tokens are orthogonal. The head measures how much
// attention each token's content received.
struct HandSet {
    Blueprint b;
    ModelEncodings encodings;
    TensorMemory tensors;

    HandSet(int context, int layers, const std::string& encoding = "none") {
        b.vocab_size = counting_vocabulary;
        b.context = b.d_ff = context;
        b.n_layers = layers;
        b.n_heads = b.n_kv_heads = 1;
        b.d_model = stream;
        b.d_head = score;
        b.norm_eps = 1e-30f;
        b.activation = Activation::relu;
        b.gated = b.final_norm = b.tied_head = false;
        b.ffn_bias = true;
        b.score_scale = 1;
        encodings = ModelEncodings(encoding, b.dims());
        tensors = TensorMemory(model_tensors(b, encodings));
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
        for (int layer = 0; layer < layers; ++layer)
            for (const char* name : {"attention_norm.weight", "feed_forward_norm.weight"})
                std::fill_n(row_of(layer, name), stream, static_cast<float>(std::sqrt(square / stream)));
    }
    float* row_of(int layer, const char* name, int row = 0) {
        return tensors.view(text("layers.", layer, ".", name)).row(row);
    }
    float* qkv(int layer, int row) { return row_of(layer, "attention.qkv.weight", row); }
    Model model() {
        return make_model("hand-set", b, std::move(encodings), std::move(tensors), nullptr, {}, b.context);
    }
};

// f_cnt: random products of contents. The attended contents are written to the columns of the answer.
void set_content_scores(HandSet& m, int layer, std::uint64_t seed) {
    const Random random(seed, 0xc0);
    for (int i = 0; i < width; ++i) {
        for (int j = 0; j < width; ++j)
            m.qkv(layer, 2 + i)[content + j] =
                random.normal(static_cast<std::uint64_t>(i * width + j)) < 0 ? -0.25f : 0.25f;
        m.qkv(layer, score + 2 + i)[content + i] = m.qkv(layer, 2 * score + 2 + i)[content + i] = 1;
        m.row_of(layer, "attention.out.weight", answer + i)[2 + i] = 1;
    }
}

// The feed-forward network of the first layer adds f(t) to a column, for t = 1 to context. f is linear between the
// values that 1/t has after the norm; each piece is one unit relu(z_t - z).
void add_function(HandSet& m, int column, const std::function<double(int)>& f) {
    const auto z = [](int t) { return 1.0 / t / std::sqrt(1 + 1 / (square * t * t)); };
    double slope = 0;
    for (int t = 1; t < m.b.context; ++t) {
        const double next = (f(t + 1) - f(t)) / (z(t) - z(t + 1));
        m.row_of(0, "feed_forward.in.weight", t - 1)[inverse] = -1;
        m.row_of(0, "feed_forward.in.bias")[t - 1] = static_cast<float>(z(t));
        m.row_of(0, "feed_forward.out.weight", column)[t - 1] = static_cast<float>(next - slope);
        slope = next;
    }
    m.row_of(0, "feed_forward.out.bias")[column] = static_cast<float>(f(1));
}

// Theorem 1: attention that is uniform, because all keys are alike, writes 1/t. The feed-forward network writes t.
void set_counting(HandSet& m) {
    for (int i = 0; i < score; ++i) {
        std::fill_n(m.qkv(0, i), stream, 0.5f); // queries may be anything
        m.qkv(0, score + i)[one] = 1;
    }
    m.qkv(0, 2 * score)[one] = m.qkv(0, 2 * score)[first] = 0.5f; // (1 + 1) / 2 or (1 - 1) / 2
    m.row_of(0, "attention.out.weight", inverse)[0] = 1;
    const auto share = [&](int t) { return static_cast<double>(t) / m.b.context; };
    add_function(m, count, share);
    add_function(m, rest,
                 [=](int t) { return std::sqrt(2 - 1.0 / t / t - share(t) * share(t)) - std::numbers::sqrt2; });
}

HandSet relative(int context, std::uint64_t seed) {
    HandSet m(context, 2);
    set_counting(m);
    // f_rel: the key's count times 1, and the query's count times -1.
    m.qkv(1, 0)[one] = relative_slope * static_cast<float>(context);
    m.qkv(1, score)[count] = m.qkv(1, score + 1)[one] = 1;
    m.qkv(1, 1)[count] = -relative_slope * static_cast<float>(context);
    set_content_scores(m, 1, seed);
    return m;
}

} // namespace

Model counting_model(int context) {
    HandSet m(context, 1);
    set_counting(m);
    m.tensors.view("head.weight").row(0)[inverse] = 1;
    m.tensors.view("head.weight").row(1)[count] = static_cast<float>(context);
    return m.model();
}

Model relative_model(int context, std::uint64_t seed) {
    return relative(context, seed).model();
}

Model content_model(int context, std::uint64_t seed, const std::string& encoding) {
    HandSet m(context, 1, encoding);
    set_content_scores(m, 0, seed);
    return m.model();
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
    HandSet m = relative(context, seed);
    std::vector<HandSetMatrix> all;
    for (const auto& [theorem, name, tensor, part, meaning] : shown) {
        const View all_rows = m.tensors.view(tensor),
                   rows = part == whole ? all_rows : rows_of(all_rows, part * score, score);
        HandSetMatrix& out = all.emplace_back(HandSetMatrix{theorem, name, meaning, {}});
        for (int i = 0; i < rows.rows; ++i) out.rows.emplace_back(rows.row(i), rows.row(i) + rows.cols);
    }
    return all;
}

} // namespace ordo::lab
