// SPDX-License-Identifier: MIT
#include "tools/lab/claims/counting.h"

#include "tools/lab/study/prelude.h"
#include "tools/lab/study/small_models.h"

namespace ordo::lab {
namespace {

Blueprint counting_blueprint(int context) {
    Blueprint b;
    b.vocab_size = 3;
    b.context = context;
    b.n_layers = b.n_heads = b.n_kv_heads = 1;
    b.d_model = 8;
    b.d_head = b.d_ff = 4;
    b.norm_eps = 1e-30f;
    b.final_norm = b.tied_head = false;
    return b;
}

TensorMemory counting_tensors(const Blueprint& b) {
    TensorMemory tensors(model_tensors(b, {}));
    // Column 0 is always 2. Column 1 is 2 for the first token and -2 for others. The mean square is 1, so the norm
    // changes nothing.
    const View embedding = tensors.view("embedding.weight");
    for (Token token = 0; token < b.vocab_size; ++token) {
        embedding.row(token)[0] = 2;
        embedding.row(token)[1] = token == counting_start ? 2 : -2;
    }
    for (const char* name : {"layers.0.attention_norm.weight", "layers.0.feed_forward_norm.weight"})
        for (int j = 0; j < b.d_model; ++j) tensors.view(name).row(0)[j] = 1;
    const View qkv = tensors.view("layers.0.attention.qkv.weight"); // 4 rows each of q, k and v
    for (int i = 0; i < b.d_head; ++i) {
        for (int j = 0; j < b.d_model; ++j) qkv.row(i)[j] = 0.5f; // queries may be anything
        qkv.row(b.d_head + i)[0] = 1;
    }
    const View value = rows_of(qkv, 2 * b.d_head, b.d_head);
    value.row(0)[0] = value.row(0)[1] = 0.25f;                   // (2 + 2) / 4 or (2 - 2) / 4
    tensors.view("layers.0.attention.out.weight").row(2)[0] = 1; // to column 2 of the stream
    tensors.view("head.weight").row(0)[2] = 1;
    return tensors;
}

} // namespace

Model counting_model(int context) {
    const Blueprint b = counting_blueprint(context);
    return make_model("counting", b, {}, counting_tensors(b), nullptr, {}, context);
}

std::vector<HandSetMatrix> counting_matrices() {
    const Blueprint b = counting_blueprint(1);
    TensorMemory tensors = counting_tensors(b);
    const auto matrix = [](const char* name, const char* meaning, View rows) {
        HandSetMatrix out{name, meaning, {}};
        for (int i = 0; i < rows.rows; ++i) out.rows.emplace_back(rows.row(i), rows.row(i) + rows.cols);
        return out;
    };
    const View qkv = tensors.view("layers.0.attention.qkv.weight");
    return {
        matrix("E", "embedding: 2 for every token; 2 for the first, -2 for others", tensors.view("embedding.weight")),
        matrix("W_q", "queries: anything, here a half", rows_of(qkv, 0, b.d_head)),
        matrix("W_k", "keys: ones in the first column, so that all keys are alike and attention is uniform",
               rows_of(qkv, b.d_head, b.d_head)),
        matrix("W_v", "values: 1 of the first token, 0 of others", rows_of(qkv, 2 * b.d_head, b.d_head)),
        matrix("W_o", "output: the mean of the values, 1/t, goes to the third place of the state",
               tensors.view("layers.0.attention.out.weight"))};
}

namespace {

// Columns of the residual stream of relative_model and content_model. At each norm of attention the sum of squares is
// the same for every token. The gain of the norm cancels it.
constexpr int one = 0, first = 1, inverse = 2, count = 3, rest = 4; // 1; 1 or -1; 1/t; t / context; the remainder
constexpr int content = 5, width = 8, answer = content + width, stream = answer + width;
constexpr double square = 1 + 1 + 1 + width; // one, first, count and rest together, content
constexpr int score = 1 + 1 + width;         // of a head: two columns for the distance, the others for content

Blueprint relative_blueprint(int context, int layers) {
    Blueprint b;
    b.vocab_size = relative_vocabulary;
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

// The contents are signs, so that every token's content has the same square. The head measures how much attention each
// token's content received.
void set_contents(TensorMemory& tensors, const Blueprint& b, std::uint64_t seed) {
    const Random random(seed, 0x7e1a);
    for (Token token = 0; token < b.vocab_size; ++token) {
        float* row = tensors.view("embedding.weight").row(token);
        row[one] = row[rest] = 1;
        row[first] = token == counting_start ? 1.0f : -1.0f;
        for (int j = 0; j < width; ++j) {
            const auto sign = random.normal(static_cast<std::uint64_t>(token * width + j)) < 0 ? -1.0f : 1.0f;
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
            qkv.row(2 + i)[content + j] =
                static_cast<float>(0.25 * random.normal(static_cast<std::uint64_t>(i * width + j)));
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

} // namespace

Model relative_model(int context, std::uint64_t seed) {
    const Blueprint b = relative_blueprint(context, 2);
    TensorMemory tensors(model_tensors(b, {}));
    set_contents(tensors, b, seed);
    // The first layer counts, as counting_model does, and converts 1/t into t.
    const View counts = tensors.view("layers.0.attention.qkv.weight");
    counts.row(0)[one] = counts.row(score)[one] = 1;
    counts.row(2 * score)[one] = counts.row(2 * score)[first] = 0.5f;
    tensors.view("layers.0.attention.out.weight").row(inverse)[0] = 1;
    const auto share = [=](int t) { return static_cast<double>(t) / context; };
    add_function(tensors, b, 0, inverse, [](int t) { return -1.0 / t; });
    add_function(tensors, b, 0, count, share);
    add_function(tensors, b, 0, rest, [=](int t) { return std::sqrt(1 - share(t) * share(t)) - 1; });
    // f_rel: the key's count times 1, and the query's count times -1.
    const View scores = tensors.view("layers.1.attention.qkv.weight");
    scores.row(0)[one] = relative_slope * static_cast<float>(context);
    scores.row(score)[count] = 1;
    scores.row(1)[count] = -relative_slope * static_cast<float>(context);
    scores.row(score + 1)[one] = 1;
    set_content_scores(tensors, 1, seed);
    return make_model("relative", b, {}, std::move(tensors), nullptr, {}, context);
}

Model content_model(int context, std::uint64_t seed, const std::string& encoding) {
    const Blueprint b = relative_blueprint(context, 1);
    EncodingStack encodings(encoding, b.dims());
    TensorMemory tensors(model_tensors(b, encodings));
    set_contents(tensors, b, seed);
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
