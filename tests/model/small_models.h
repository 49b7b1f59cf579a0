// SPDX-License-Identifier: MIT
// Models small enough to compute by hand, for tests.
#pragma once

#include "core/random.h"
#include "model/stack.h"
#include "tests/reference.h"
#include "tests/sanitizer.h"

#include <cmath>

namespace ordo {

inline constexpr int small_vocab = 101; // of small_blueprint()

// Sizes that are not multiples of the kernels' block sizes, and no tokenizer.
inline Blueprint small_blueprint() {
    Blueprint b;
    b.vocab_size = small_vocab;
    b.context = 96;
    b.n_layers = 2;
    b.d_model = 40;
    b.n_heads = 4;
    b.n_kv_heads = 4;
    b.d_head = 10;
    b.d_ff = 52;
    return b;
}

constexpr int byte_vocabulary = 257; // of the byte tokenizer, which random_model() adds to models of this size

// The number of directions in which the oracle takes differences for each tensor. None under a sanitizer, because they
// take long, and the release build covers the values.
inline int gradient_directions() {
    return test::is_sanitized() ? 0 : 3;
}

// Gives an encoder the sizes of its decoder's stack.
inline void fit_encoder(Blueprint& b) {
    for (Blueprint& e : b.encoder) {
        e.vocab_size = b.vocab_size;
        e.context = b.context;
        e.n_layers = b.n_layers;
        e.d_model = b.d_model;
        e.n_heads = b.n_heads;
        e.n_kv_heads = b.n_kv_heads;
        e.d_head = b.d_head;
        e.d_ff = b.d_ff;
    }
}

// Adds a bidirectional encoder with the layers of the stack, and cross-attention to it.
inline void add_encoder(Blueprint& b) {
    b.encoder = {b.like_this()};
    b.encoder.front().mask = Mask::bidirectional;
    b.cross_attention = true;
}

// Sets few experts and uses most of them, so that each expert has rows.
inline void shrink_experts(Blueprint& b) {
    const auto shrink = [](LayerPlan& p) {
        if (p.experts > 0) p.experts = 4, p.experts_used = 3;
    };
    shrink(b);
    for (LayerPlan& p : b.pattern) shrink(p);
}

// A registered architecture at a small size. Its characteristic choices stay.
inline Blueprint shrunk(Blueprint b) {
    const Blueprint small = small_blueprint();
    const bool grouped = b.n_kv_heads < b.n_heads;
    b.vocab_size = small.vocab_size;
    b.context = small.context;
    b.n_layers = small.n_layers;
    b.d_model = small.d_model;
    b.n_heads = small.n_heads;
    b.n_kv_heads = grouped ? 2 : small.n_heads;
    b.d_head = small.d_head;
    b.d_ff = small.d_ff;
    shrink_experts(b);
    fit_encoder(b);
    return b;
}

// A copy of a model's tensors, all floats.
inline TensorMemory floats_of(const Model& model) {
    const TensorMemory& from = *impl_of(model).tensors;
    TensorMemory floats(std::vector<TensorSpec>(from.specs().begin(), from.specs().end()));
    for (std::size_t i = 0; i < from.specs().size(); ++i) from.read(i, floats.values(i));
    return floats;
}

inline reference::Tensors tensors_of(const Model& model) {
    TensorMemory tensors = floats_of(model);
    reference::Tensors all;
    for (std::size_t i = 0; i < tensors.specs().size(); ++i) {
        const View v = tensors.view(i);
        reference::Matrix m(v.rows, v.cols);
        for (int r = 0; r < v.rows; ++r)
            for (int c = 0; c < v.cols; ++c) m.at(r, c) = v.row(r)[c];
        all[tensors.specs()[i].name] = std::move(m);
    }
    return all;
}

// The output of a model's encoder by the oracle, for the tokens that are not padding, [n, d].
inline reference::Matrix encoded_by_oracle(const Blueprint& b, const std::string& encoding,
                                           const reference::Tensors& all, std::span<const Token> input,
                                           std::span<const int> padding = {}) {
    const Blueprint& e = b.encoder.front();
    const reference::Tensors own = reference::encoder_tensors(all);
    const reference::Oracles oracles(encoding, e.dims(), own);
    reference::Input in{{input.begin(), input.end()}, {}, {}};
    for (std::size_t i = 0; i < input.size(); ++i) in.positions.push_back(static_cast<int>(i));
    in.padding.assign(padding.begin(), padding.end());
    const reference::Matrix encoded = reference::Transformer(e, own, oracles).finished(in);
    reference::Matrix kept;
    kept.cols = encoded.cols;
    for (int i = 0; i < encoded.rows; ++i) {
        if (!padding.empty() && padding[i] != 0) continue;
        for (int j = 0; j < encoded.cols; ++j) kept.values.push_back(encoded.at(i, j));
        ++kept.rows;
    }
    return kept;
}

inline std::vector<Token> random_tokens(int n, int vocab_size, std::uint64_t seed) {
    std::vector<Token> tokens;
    const Random random(seed, 77);
    for (int i = 0; i < n; ++i)
        tokens.push_back(
            static_cast<Token>(random.below(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(vocab_size))));
    return tokens;
}

// A model whose next token depends only on the last token. There is no post-norm and every branch is zero, so the
// residual stream is the embedding. Row t of the head scores the tokens that may follow it.
inline Model scripted_model(const std::map<Token, std::vector<Token>>& follow,
                            std::unique_ptr<const Tokenizer> tokenizer = make_byte_tokenizer()) {
    Blueprint b = small_blueprint();
    b.vocab_size = b.d_model = tokenizer->vocab_size();
    b.tied_head = false;
    b.final_norm = false;
    b.context = 200;
    TensorMemory tensors(model_tensors(b, {}));
    const View embedding = tensors.view("embedding.weight"), head = tensors.view("head.weight");
    for (Token t = 0; t < b.vocab_size; ++t) embedding.row(t)[t] = 1;
    for (const auto& [from, to] : follow)
        for (std::size_t i = 0; i < to.size(); ++i) head.row(to[i])[from] = 50 - static_cast<float>(i);
    return make_model("scripted", b, {}, std::move(tensors), std::move(tokenizer), {}, b.context);
}

using Rows = std::vector<std::vector<float>>; // [n, vocab]

// The logits after every token, chunk tokens at a time.
inline Rows logits_of(Session& session, std::span<const Token> tokens, std::span<const int> segments = {}) {
    Rows rows(tokens.size());
    session.feed_all(tokens, {.segments = segments}, [&](int first, View logits) {
        for (int i = 0; i < logits.rows; ++i) rows[first + i].assign(logits.row(i), logits.row(i) + logits.cols);
    });
    return rows;
}

inline Rows logits_of(const Model& model, std::span<const Token> tokens, int chunk = 256, int first_position = 0,
                      std::span<const int> segments = {}) {
    Session session(model, {static_cast<int>(tokens.size()), chunk, first_position});
    return logits_of(session, tokens, segments);
}

inline double difference(std::span<const float> a, std::span<const float> b) {
    if (a.size() != b.size()) return HUGE_VAL;
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        most = d <= most ? most : d; // keeps a NaN
    }
    return most;
}

// The largest difference between the logits; infinite if the numbers of rows differ.
inline double difference(const Rows& a, const Rows& b) {
    if (a.size() != b.size()) return HUGE_VAL;
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double d = difference(a[i], b[i]);
        most = d <= most ? most : d;
    }
    return most;
}

inline Rows to_rows(const reference::Matrix& m) {
    Rows rows;
    for (int i = 0; i < m.rows; ++i) {
        rows.emplace_back();
        for (int j = 0; j < m.cols; ++j) rows.back().push_back(static_cast<float>(m.at(i, j)));
    }
    return rows;
}

} // namespace ordo
