// SPDX-License-Identifier: MIT
#include "tests/reference.h"

#include "tests/reference_rows.h"

#include <algorithm>
#include <cmath>

namespace ordo::reference {

std::vector<Matrix> Transformer::states(const Input& in) const {
    std::vector<Matrix> all = {embedding(in)};
    for (int layer = 0; layer < b_.n_layers; ++layer) all.push_back(after_layer(all.back(), layer, in));
    return all;
}

Matrix Transformer::attention_weights(const Input& in, int layer, int head) const {
    const LayerPlan& plan = b_.layer(layer);
    Matrix x = states(in)[layer];
    if (plan.attention_norm && plan.norm_place != NormPlace::post && plan.norm_place != NormPlace::after)
        x = norm(x, prefix(layer) + "attention_norm", plan);
    x = shifted(x, Stage::attention, layer, in);
    const States seen_states = observed(x, layer, in);
    const HeadInput of = head_input(x, layer, head, in, seen_states);
    Matrix all(x.rows, x.rows);
    for (int i = 0; i < x.rows; ++i) {
        const std::vector<std::size_t> seen = seen_by(plan, i, in);
        const Vector p = weights(of, static_cast<std::size_t>(i), seen);
        for (std::size_t s = 0; s < seen.size(); ++s) all.at(i, static_cast<int>(seen[s])) = p[s];
    }
    return all;
}

Matrix Transformer::finished(const Input& in) const {
    const Matrix x = states(in).back();
    return b_.final_norm ? norm(x, "final_norm", b_) : x;
}

Matrix Transformer::logits(const Input& in) const {
    Matrix x = finished(in);
    if (b_.head_transform) {                          // BERT's masked language model: dense, activation, norm
        x = linear(x, "head_transform", b_.ffn_bias); // narrow, if the embedding is inside
        for (double& value : x.values) value = activation(b_.activation, value);
        x = norm(x, "head_norm", b_);
    }
    for (double& value : x.values) value *= static_cast<double>(b_.head_scale);
    if (b_.embedding_width != 0 && !(b_.projected_embedding && b_.head_transform))
        x = linear(x, "head_projection", false);
    Matrix logits = linear(x, b_.tied_head ? "embedding" : "head", false);
    for (int i = 0; i < logits.rows; ++i)
        for (int j = 0; j < logits.cols; ++j)
            logits.at(i, j) =
                capped(logits.at(i, j) + (b_.head_bias ? tensor("head.bias").at(0, j) : 0), b_.final_softcap);
    return logits;
}

double Transformer::loss(const Input& in, const std::vector<Token>& targets) const {
    const Matrix scores = logits(in);
    double total = 0;
    int counted = 0;
    for (int i = 0; i < scores.rows; ++i) {
        const Token target = targets[i];
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

Matrix Transformer::linear(const Matrix& x, const std::string& name, bool has_bias) const {
    const Matrix& w = tensor(name + ".weight");
    Matrix y(x.rows, w.rows);
    for (int i = 0; i < x.rows; ++i)
        for (int j = 0; j < w.rows; ++j) {
            for (int k = 0; k < x.cols; ++k) y.at(i, j) += x.at(i, k) * w.at(j, k);
            if (has_bias) y.at(i, j) += tensor(name + ".bias").at(0, j);
        }
    return y;
}

Matrix Transformer::norm(const Matrix& x, const std::string& name, const LayerPlan& plan) const {
    Matrix y = x;
    const Matrix& weight = tensor(name + ".weight");
    const Matrix* bias = plan.norm_bias ? &tensor(name + ".bias") : nullptr;
    for (int i = 0; i < x.rows; ++i) {
        double mean = 0, square = 0;
        if (plan.norm == Norm::layer)
            for (int j = 0; j < x.cols; ++j) mean += x.at(i, j) / x.cols;
        for (int j = 0; j < x.cols; ++j) square += (x.at(i, j) - mean) * (x.at(i, j) - mean) / x.cols;
        for (int j = 0; j < x.cols; ++j) {
            y.at(i, j) = (x.at(i, j) - mean) / std::sqrt(square + static_cast<double>(plan.norm_eps));
            y.at(i, j) = y.at(i, j) * weight.at(0, j) + (bias != nullptr ? bias->at(0, j) : 0);
        }
    }
    return y;
}

Matrix Transformer::embedding(const Input& in) const {
    const auto n = static_cast<int>(in.tokens.size());
    Matrix table = tensor("embedding.weight");
    const bool inside = b_.projected_embedding; // encodings and the norm, before the projection
    if (b_.embedding_width != 0 && !inside) table = linear(table, "embedding_projection", false);
    Matrix x(n, table.cols);
    for (int i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        Vector row(static_cast<std::size_t>(x.cols));
        for (int j = 0; j < x.cols; ++j) row[j] = table.at(in.tokens[at], j) * static_cast<double>(b_.embedding_scale);
        for (const Oracle* oracle : oracles_.all())
            oracle->embed(row, place(*oracle, in, i), in.segments.empty() ? 0 : in.segments[at]);
        for (int j = 0; j < x.cols; ++j) x.at(i, j) = row[j];
    }
    if (inside && b_.embedding_norm) x = norm(x, "embedding_norm", b_);
    if (inside) x = linear(x, "embedding_projection", true);
    x = shifted(x, Stage::embedding, 0, in);
    return b_.embedding_norm && !inside ? norm(x, "embedding_norm", b_) : x;
}

// Padding is not in the text from which positions are derived.
Place Transformer::place(const Oracle& oracle, const Input& in, int token) {
    std::vector<Token> text;
    std::size_t at = 0;
    for (std::size_t i = 0; i < in.tokens.size(); ++i) {
        if (!in.padding.empty() && in.padding[i] != 0) continue;
        if (i < static_cast<std::size_t>(token)) ++at;
        text.push_back(in.tokens[i]);
    }
    const std::vector<int> derived = in.given ? std::vector<int>() : oracle.positions(text);
    return derived.empty() ? in.place(token) : Place{at < derived.size() ? derived[at] : 0};
}

// Padding is not in the sequence.
Matrix Transformer::shifted(const Matrix& x, Stage stage, int layer, const Input& in) const {
    std::vector<int> at;
    std::vector<Vector> rows;
    for (int i = 0; i < x.rows; ++i) {
        if (!in.padding.empty() && in.padding[i] != 0) continue;
        at.push_back(i);
        rows.emplace_back();
        for (int j = 0; j < x.cols; ++j) rows.back().push_back(x.at(i, j));
    }
    for (const Oracle* oracle : stage == Stage::embedding ? oracles_.all() : oracles_.layer(layer))
        oracle->shift(rows, stage, layer);
    Matrix y = x;
    for (std::size_t i = 0; i < at.size(); ++i)
        for (int j = 0; j < x.cols; ++j) y.at(at[i], j) = rows[i][static_cast<std::size_t>(j)];
    return y;
}

Matrix Transformer::after_layer(const Matrix& x, int layer, const Input& in) const {
    const LayerPlan& plan = b_.layer(layer);
    const std::string name = prefix(layer);
    const auto normed = [&](const Matrix& h, const char* which) { return norm(h, name + which, plan); };
    const auto f = [&](const Matrix& h) { return attention(shifted(h, Stage::attention, layer, in), layer, in); };
    const auto g = [&](const Matrix& h) { return feed_forward(shifted(h, Stage::feed_forward, layer, in), layer); };
    const auto c = [&](const Matrix& h) { return cross_attention(h, layer, in); };
    switch (plan.norm_place) {
    case NormPlace::pre: {
        Matrix y = sum(x, f(plan.attention_norm ? normed(x, "attention_norm") : x));
        if (plan.cross_attention) y = sum(y, c(normed(y, "cross_attention_norm")));
        return sum(y, g(normed(y, "feed_forward_norm")));
    }
    case NormPlace::post: {
        Matrix y = normed(sum(x, f(x)), "attention_norm");
        if (plan.cross_attention) y = normed(sum(y, c(y)), "cross_attention_norm");
        return normed(sum(y, g(y)), "feed_forward_norm");
    }
    case NormPlace::sandwich: {
        Matrix y = sum(x, normed(f(normed(x, "attention_norm")), "attention_out_norm"));
        if (plan.cross_attention) y = sum(y, normed(c(normed(y, "cross_attention_norm")), "cross_attention_out_norm"));
        return sum(y, normed(g(normed(y, "feed_forward_norm")), "feed_forward_out_norm"));
    }
    case NormPlace::after: {
        Matrix y = sum(x, normed(f(x), "attention_out_norm"));
        if (plan.cross_attention) y = sum(y, normed(c(y), "cross_attention_out_norm"));
        return sum(y, normed(g(y), "feed_forward_out_norm"));
    }
    case NormPlace::parallel:
        return sum(sum(x, f(normed(x, "attention_norm"))), g(normed(x, "attention_norm")));
    case NormPlace::parallel_two:
        return sum(sum(x, f(normed(x, "attention_norm"))), g(normed(x, "feed_forward_norm")));
    }
    return x;
}

Matrix Transformer::feed_forward(const Matrix& x, int layer) const {
    const LayerPlan& plan = b_.layer(layer);
    const std::string name = prefix(layer) + "feed_forward";
    return plan.experts == 0 ? expert(x, name, plan, width_of(plan)) : mixture(x, name, plan);
}

// A feed-forward part.
Matrix Transformer::expert(const Matrix& x, const std::string& name, const LayerPlan& plan, int width) const {
    const Matrix in = linear(x, name + ".in", plan.ffn_bias);
    Matrix h(x.rows, width);
    for (int i = 0; i < h.rows; ++i)
        for (int j = 0; j < width; ++j)
            h.at(i, j) = activation(plan.activation, in.at(i, j)) * (plan.gated ? in.at(i, width + j) : 1);
    return linear(h, name + ".out", plan.ffn_bias);
}

// Shazeer et al. 2017 and Mixtral (Jiang et al. 2024): y = sum of p_e E_e(x) over the experts with the largest p =
// softmax(router), here computed for all of them. Mixtral's softmax over the best logits equals p divided by the sum of
// the best. Other models (Qwen 1.5 MoE) leave p unchanged.
Matrix Transformer::mixture(const Matrix& x, const std::string& name, const LayerPlan& plan) const {
    const Matrix router = linear(x, name + ".router", false);
    std::vector<Matrix> outputs;
    for (int e = 0; e < plan.experts; ++e)
        outputs.push_back(expert(x, name + ".experts." + std::to_string(e), plan, width_of(plan)));
    Matrix y(x.rows, x.cols);
    if (plan.shared_expert != 0) { // Qwen1.5-MoE: y = sigmoid(w . x) E(x) + the others
        y = expert(x, name + ".shared", plan, plan.shared_expert);
        const Matrix& w = tensor(name + ".shared_gate.weight");
        for (int i = 0; i < x.rows; ++i) {
            double dot = 0;
            for (int j = 0; j < x.cols; ++j) dot += w.at(0, j) * x.at(i, j);
            for (int j = 0; j < x.cols; ++j) y.at(i, j) /= 1 + std::exp(-dot);
        }
    }
    for (int i = 0; i < x.rows; ++i) {
        std::vector<std::pair<double, int>> order; // larger first, ties to the lower index
        double total = 0, picked = 0;
        for (int e = 0; e < plan.experts; ++e) {
            order.emplace_back(-router.at(i, e), e);
            total += std::exp(router.at(i, e));
        }
        std::sort(order.begin(), order.end());
        order.resize(plan.experts_used);
        for (const auto& [negative, e] : order) picked += std::exp(-negative) / total;
        for (const auto& [negative, e] : order) {
            const double p = std::exp(-negative) / total / (plan.experts_renormalised ? picked : 1);
            for (int j = 0; j < x.cols; ++j) y.at(i, j) += p * outputs[e].at(i, j);
        }
    }
    return y;
}

bool Transformer::sees(const LayerPlan& plan, int query, int key) {
    if (plan.mask == Mask::bidirectional) return plan.window == 0 || std::abs(query - key) <= plan.window / 2;
    return key <= query && (plan.window == 0 || query - key < plan.window);
}

// Padding attends only to itself. Its own rows are unused, but need a softmax.
std::vector<std::size_t> Transformer::seen_by(const LayerPlan& plan, int query, const Input& in) {
    std::vector<std::size_t> seen;
    for (std::size_t j = 0; j < in.tokens.size(); ++j) {
        const auto key = static_cast<int>(j);
        const bool hidden = !in.padding.empty() && in.padding[j] != 0 && key != query;
        if (sees(plan, query, key) && !hidden) seen.push_back(j);
    }
    return seen;
}

// q, k and v of all heads, with their biases and norms, before the rotation.
Matrix Transformer::queries_keys_values(const Matrix& x, int layer, const Input& in) const {
    const LayerPlan& plan = b_.layer(layer);
    const std::string name = prefix(layer) + "attention.";
    const bool all = plan.q_bias && plan.k_bias && plan.v_bias;
    Matrix qkv = linear(x, name + "qkv", all);
    const int q_width = b_.n_heads * b_.d_head, kv_width = b_.n_kv_heads * b_.d_head;
    if (!all) {
        if (plan.q_bias) add_to_rows(qkv, 0, tensor(name + "q.bias"));
        if (plan.k_bias) add_to_rows(qkv, q_width, tensor(name + "k.bias"));
        if (plan.v_bias) add_to_rows(qkv, q_width + kv_width, tensor(name + "v.bias"));
    }
    qkv = shifted(qkv, Stage::qkv, layer, in);
    if (plan.qkv_clip != 0)
        for (int i = 0; i < qkv.rows; ++i)
            for (int j = 0; j < qkv.cols; ++j)
                qkv.at(i, j) = std::min(std::max(qkv.at(i, j), -double{plan.qkv_clip}), double{plan.qkv_clip});
    if (plan.qk_norm == QkNorm::none || plan.qk_norm == QkNorm::rotated) return qkv;
    norm_columns(qkv, 0, q_width, tensor(name + "q_norm.weight"), plan);
    norm_columns(qkv, q_width, kv_width, tensor(name + "k_norm.weight"), plan);
    return qkv;
}

void Transformer::rotate(Vector& x, std::size_t token, Role role, const Head& of, const Input& in,
                         const States& states) const {
    const std::vector<const Oracle*> encodings = oracles_.layer(of.layer);
    for (std::size_t n = 0; n < encodings.size(); ++n)
        if (encodings[n]->rotates(role))
            encodings[n]->rotate_with(x, place(*encodings[n], in, static_cast<int>(token)), states[n][token], role,
                                      of.layer, of.head);
}

// All tokens as one head's queries, keys or values: columns [first, first + d_head), rotated.
std::vector<Vector> Transformer::rotated(const Matrix& qkv, int first, Role role, const Head& of, const Input& in,
                                         const States& states) const {
    std::vector<Vector> all;
    const LayerPlan& plan = b_.layer(of.layer);
    const std::string norm = prefix(of.layer) + "attention." + (role == Role::query ? "q" : "k") + "_norm.weight";
    for (int i = 0; i < qkv.rows; ++i) {
        Vector x(static_cast<std::size_t>(b_.d_head));
        for (int j = 0; j < b_.d_head; ++j) x[j] = qkv.at(i, first + j);
        rotate(x, static_cast<std::size_t>(i), role, of, in, states);
        if (plan.qk_norm == QkNorm::rotated && role != Role::value) norm_vector(x, tensor(norm), plan);
        all.push_back(x);
    }
    return all;
}

Transformer::States Transformer::observed(const Matrix& x, int layer, const Input& in) const {
    States states;
    for (const Oracle* oracle : oracles_.layer(layer)) {
        std::vector<Vector> of_one;
        Vector before; // of the latest token that is not padding
        for (int i = 0; i < x.rows; ++i) {
            Vector row(static_cast<std::size_t>(x.cols));
            for (int j = 0; j < x.cols; ++j) row[j] = x.at(i, j);
            of_one.push_back(oracle->observe(row, place(*oracle, in, i), layer, before));
            if (in.padding.empty() || in.padding[i] == 0) before = of_one.back();
        }
        states.push_back(of_one);
    }
    return states;
}

Transformer::HeadInput Transformer::head_input(const Matrix& x, int layer, int head, const Input& in,
                                               const States& states) const {
    const LayerPlan& plan = b_.layer(layer);
    const Matrix qkv = queries_keys_values(x, layer, in);
    const int e = b_.d_head, kv_head = head / (b_.n_heads / b_.n_kv_heads);
    const double scale = plan.score_scale != 0 ? static_cast<double>(plan.score_scale) : 1 / std::sqrt(double(e));
    HeadInput of{{layer, head, scale}, {}, {}, {}, &states};
    of.queries = rotated(qkv, head * e, Role::query, {layer, head}, in, states);
    of.keys = rotated(qkv, (b_.n_heads + kv_head) * e, Role::key, {layer, kv_head}, in, states);
    for (const Oracle* oracle : oracles_.layer(layer)) {
        of.places.emplace_back();
        for (int i = 0; i < x.rows; ++i) of.places.back().push_back(place(*oracle, in, i));
    }
    return of;
}

// The softmax over the keys visible to query i, in order. With sinks it sums to less than one. A row whose scores are
// all -infinity is 0.
Vector Transformer::weights(const HeadInput& in, std::size_t i, const std::vector<std::size_t>& seen) const {
    const std::vector<const Oracle*> encodings = oracles_.layer(in.head.layer);
    Vector row;
    for (const std::size_t j : seen) {
        double score =
            capped(dot(in.queries[i], in.keys[j]) * in.head.scale, b_.layer(in.head.layer).attention_softcap);
        for (std::size_t n = 0; n < encodings.size(); ++n)
            score += encodings[n]->bias(in.head, in.query(n, i), in.key(n, j));
        row.push_back(score);
    }
    Vector sinks;
    for (std::size_t n = 0; n < encodings.size(); ++n) {
        ScoreRow at{in.head, in.query(n, i), {}, 0};
        for (const std::size_t j : seen) {
            if (j == i) at.own = at.keys.size();
            at.keys.push_back(in.key(n, j));
        }
        sinks.push_back(encodings[n]->sink_of(at, row));
        encodings[n]->rescore_row(row, at);
    }
    double top = *std::max_element(row.begin(), row.end()), total = 0;
    for (const double sink : sinks) top = std::max(top, sink);
    if (top == -std::numeric_limits<double>::infinity()) return Vector(row.size());
    for (double& score : row) total += score = std::exp(score - top);
    for (const double sink : sinks) total += std::exp(sink - top);
    for (double& weight : row) weight /= total;
    return row;
}

Matrix Transformer::attention(const Matrix& x, int layer, const Input& in) const {
    const LayerPlan& plan = b_.layer(layer);
    const std::string name = prefix(layer) + "attention.";
    const Matrix qkv = queries_keys_values(x, layer, in);
    const States states = observed(x, layer, in);
    const std::vector<const Oracle*> encodings = oracles_.layer(layer);
    const int n = x.rows, e = b_.d_head, group = b_.n_heads / b_.n_kv_heads;
    Matrix out(n, b_.n_heads * e);
    for (int head = 0; head < b_.n_heads; ++head) {
        const int v_first = (b_.n_heads + b_.n_kv_heads + head / group) * e;
        const HeadInput of = head_input(x, layer, head, in, states);
        const std::vector<Vector> values = rotated(qkv, v_first, Role::value, {layer, head / group}, in, states);
        for (int i = 0; i < n; ++i) {
            const std::vector<std::size_t> seen = seen_by(plan, i, in);
            const auto query = static_cast<std::size_t>(i);
            const Vector p = weights(of, query, seen);
            Vector mixed(static_cast<std::size_t>(e));
            for (std::size_t s = 0; s < seen.size(); ++s) {
                for (int l = 0; l < e; ++l) mixed[l] += p[s] * values[seen[s]][l];
                for (std::size_t m = 0; m < encodings.size(); ++m)
                    encodings[m]->mix(mixed, p[s], of.head, of.query(m, query), of.key(m, seen[s]));
            }
            rotate(mixed, query, Role::output, {layer, head}, in, states);
            for (int l = 0; l < e; ++l) out.at(i, head * e + l) = mixed[l];
        }
    }
    return linear(out, name + "out", plan.out_bias);
}

} // namespace ordo::reference
