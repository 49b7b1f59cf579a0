// SPDX-License-Identifier: MIT
// The oracle: a transformer in double precision and plain loops, written from the papers. It shares
// nothing with the engine but the Blueprint and the names of tensors: no cache, no tiles, no BLAS, no
// threads. Every token is computed against every other; masks are applied by asking for each pair.
#pragma once

#include "model/blueprint.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace ordo::reference {

struct Matrix {
    Matrix() = default;
    Matrix(int n_rows, int n_cols)
        : rows(n_rows), cols(n_cols), values(static_cast<std::size_t>(n_rows) * static_cast<std::size_t>(n_cols)) {}
    double& at(int i, int j) {
        return values[static_cast<std::size_t>(i) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(j)];
    }
    double at(int i, int j) const {
        return values[static_cast<std::size_t>(i) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(j)];
    }
    int rows = 0, cols = 0;
    std::vector<double> values;
};

using Tensors = std::map<std::string, Matrix>; // by name; rank 1 as one row

// The oracle of an encoding: what each moment does, position by position.
class Position {
public:
    virtual ~Position() = default;
    // What is done to the embedding x [d] of one token.
    virtual void embed(std::vector<double>& /*x*/, int /*position*/, int /*segment*/) const {}
    // What is done to one head's query or key x [e].
    virtual void rotate(std::vector<double>& /*x*/, int /*position*/, Role, int /*layer*/) const {}
    // What is added to a scaled score.
    virtual double bias(int /*layer*/, int /*head*/, int /*query*/, int /*key*/) const { return 0; }
};
using PositionList = std::vector<const Position*>; // applied left to right

struct Input {
    std::vector<Token> tokens;
    std::vector<int> positions; // one for each token
    std::vector<int> segments;  // one for each token, or empty: 0
};

inline double activation(Activation f, double x) {
    const double pi = std::acos(-1.0);
    switch (f) {
    case Activation::relu:
        return x > 0 ? x : 0;
    case Activation::gelu:
        return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
        return x / (1 + std::exp(-x));
    }
    return 0;
}

class Transformer {
public:
    // All must outlive this object; tensors may change between calls.
    Transformer(const Blueprint& blueprint, const Tensors& tensors, PositionList positions)
        : b_(blueprint), tensors_(tensors), encodings_(std::move(positions)) {}

    // [n, vocab]
    Matrix logits(const Input& in) const {
        Matrix x = embedding(in);
        for (int layer = 0; layer < b_.n_layers; ++layer) {
            const std::string name = "layers." + std::to_string(layer) + ".";
            if (b_.norm_place == NormPlace::post) {
                x = norm(sum(x, attention(x, name, layer, in)), name + "attention_norm");
                x = norm(sum(x, feed_forward(x, name)), name + "feed_forward_norm");
            } else if (b_.parallel_residual) {
                const Matrix h = norm(x, name + "attention_norm");
                x = sum(sum(x, attention(h, name, layer, in)), feed_forward(h, name));
            } else {
                x = sum(x, attention(norm(x, name + "attention_norm"), name, layer, in));
                x = sum(x, feed_forward(norm(x, name + "feed_forward_norm"), name));
            }
        }
        if (b_.final_norm) x = norm(x, "final_norm");
        Matrix logits = times_transposed(x, tensor(b_.tied_head ? "embedding.weight" : "head.weight"));
        for (double& logit : logits.values) logit = capped(logit, b_.final_softcap);
        return logits;
    }

    // Mean of -log p(target) in nats over the rows whose target is >= 0.
    double loss(const Input& in, const std::vector<Token>& targets) const {
        const Matrix scores = logits(in);
        double total = 0;
        int counted = 0;
        for (int i = 0; i < scores.rows; ++i) {
            const Token target = targets[static_cast<std::size_t>(i)];
            if (target < 0) continue;
            double top = scores.at(i, 0);
            for (int j = 1; j < scores.cols; ++j) top = std::max(top, scores.at(i, j));
            double z = 0;
            for (int j = 0; j < scores.cols; ++j) z += std::exp(scores.at(i, j) - top);
            total += std::log(z) + top - scores.at(i, target);
            ++counted;
        }
        return total / counted;
    }

private:
    const Matrix& tensor(const std::string& name) const { return tensors_.at(name); }

    static Matrix sum(const Matrix& a, const Matrix& b) {
        Matrix c = a;
        for (std::size_t i = 0; i < c.values.size(); ++i) c.values[i] += b.values[i];
        return c;
    }

    // Gemma Team 2024 (arXiv 2408.00118), section 2.
    static double capped(double score, double cap) { return cap == 0 ? score : cap * std::tanh(score / cap); }

    static Matrix times_transposed(const Matrix& x, const Matrix& w) {
        Matrix y(x.rows, w.rows);
        for (int i = 0; i < x.rows; ++i)
            for (int j = 0; j < w.rows; ++j)
                for (int k = 0; k < x.cols; ++k) y.at(i, j) += x.at(i, k) * w.at(j, k);
        return y;
    }

    Matrix linear(const Matrix& x, const std::string& name, bool has_bias) const {
        Matrix y = times_transposed(x, tensor(name + ".weight"));
        if (!has_bias) return y;
        const Matrix& bias = tensor(name + ".bias");
        for (int i = 0; i < y.rows; ++i)
            for (int j = 0; j < y.cols; ++j) y.at(i, j) += bias.at(0, j);
        return y;
    }

    Matrix norm(const Matrix& x, const std::string& name) const {
        Matrix y = x;
        const Matrix& weight = tensor(name + ".weight");
        const Matrix* bias = b_.norm == Norm::layer ? &tensor(name + ".bias") : nullptr;
        for (int i = 0; i < x.rows; ++i) {
            double mean = 0, square = 0;
            if (b_.norm == Norm::layer)
                for (int j = 0; j < x.cols; ++j) mean += x.at(i, j) / x.cols;
            for (int j = 0; j < x.cols; ++j) square += (x.at(i, j) - mean) * (x.at(i, j) - mean) / x.cols;
            for (int j = 0; j < x.cols; ++j) {
                y.at(i, j) = (x.at(i, j) - mean) / std::sqrt(square + static_cast<double>(b_.norm_eps));
                y.at(i, j) = y.at(i, j) * weight.at(0, j) + (bias != nullptr ? bias->at(0, j) : 0);
            }
        }
        return y;
    }

    Matrix embedding(const Input& in) const {
        const auto n = static_cast<int>(in.tokens.size());
        const Matrix& table = tensor("embedding.weight");
        Matrix x(n, b_.d_model);
        for (int i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            std::vector<double> row(static_cast<std::size_t>(b_.d_model));
            for (int j = 0; j < b_.d_model; ++j)
                row[static_cast<std::size_t>(j)] = table.at(in.tokens[at], j) * b_.embedding_scale;
            for (const Position* encoding : encodings_)
                encoding->embed(row, in.positions[at], in.segments.empty() ? 0 : in.segments[at]);
            for (int j = 0; j < b_.d_model; ++j) x.at(i, j) = row[static_cast<std::size_t>(j)];
        }
        return b_.embedding_norm ? norm(x, "embedding_norm") : x;
    }

    Matrix feed_forward(const Matrix& x, const std::string& layer) const {
        const Matrix in = linear(x, layer + "feed_forward.in", b_.ffn_bias);
        Matrix h(x.rows, b_.d_ff);
        for (int i = 0; i < h.rows; ++i)
            for (int j = 0; j < b_.d_ff; ++j)
                h.at(i, j) = activation(b_.activation, in.at(i, j)) * (b_.gated ? in.at(i, b_.d_ff + j) : 1);
        return linear(h, layer + "feed_forward.out", b_.ffn_bias);
    }

    bool sees(int query, int key) const {
        if (b_.mask == Mask::bidirectional) return true;
        return key <= query && (b_.window == 0 || query - key < b_.window);
    }

    // Columns [first, first + e) of row i, rotated.
    std::vector<double> head_of(const Matrix& qkv, int i, int first, int position, Role role, int layer) const {
        std::vector<double> x(static_cast<std::size_t>(b_.d_head));
        for (int j = 0; j < b_.d_head; ++j) x[static_cast<std::size_t>(j)] = qkv.at(i, first + j);
        for (const Position* encoding : encodings_) encoding->rotate(x, position, role, layer);
        return x;
    }

    Matrix attention(const Matrix& x, const std::string& name, int layer, const Input& in) const {
        const Matrix qkv = linear(x, name + "attention.qkv", b_.attention_bias);
        const int n = x.rows, e = b_.d_head, group = b_.n_heads / b_.n_kv_heads;
        const double scale = b_.score_scale != 0 ? static_cast<double>(b_.score_scale) : 1 / std::sqrt(double(e));
        Matrix out(n, b_.n_heads * e);
        for (int head = 0; head < b_.n_heads; ++head) {
            const int k_first = (b_.n_heads + head / group) * e, v_first = k_first + b_.n_kv_heads * e;
            std::vector<std::vector<double>> keys;
            for (int j = 0; j < n; ++j)
                keys.push_back(head_of(qkv, j, k_first, in.positions[static_cast<std::size_t>(j)], Role::key, layer));
            for (int i = 0; i < n; ++i) {
                const int position = in.positions[static_cast<std::size_t>(i)];
                const std::vector<double> q = head_of(qkv, i, head * e, position, Role::query, layer);
                std::vector<double> p(static_cast<std::size_t>(n));
                double top = -HUGE_VAL, total = 0;
                for (int j = 0; j < n; ++j) {
                    if (!sees(i, j)) continue;
                    double score = 0;
                    for (std::size_t l = 0; l < q.size(); ++l) score += q[l] * keys[static_cast<std::size_t>(j)][l];
                    score = capped(score * scale, b_.attention_softcap);
                    for (const Position* encoding : encodings_)
                        score += encoding->bias(layer, head, position, in.positions[static_cast<std::size_t>(j)]);
                    p[static_cast<std::size_t>(j)] = score;
                    top = std::max(top, score);
                }
                for (int j = 0; j < n; ++j) {
                    double& weight = p[static_cast<std::size_t>(j)];
                    weight = sees(i, j) ? std::exp(weight - top) : 0;
                    total += weight;
                }
                for (int j = 0; j < n; ++j)
                    for (int l = 0; l < e; ++l)
                        out.at(i, head * e + l) += p[static_cast<std::size_t>(j)] / total * qkv.at(j, v_first + l);
            }
        }
        return linear(out, name + "attention.out", b_.attention_bias);
    }

    const Blueprint& b_;
    const Tensors& tensors_;
    PositionList encodings_;
};

} // namespace ordo::reference
