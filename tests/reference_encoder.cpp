// SPDX-License-Identifier: MIT
// The part of the reference transformer that reads an encoder.
#include "tests/reference.h"

#include <cmath>

namespace ordo::reference {

// Vaswani et al. 2017, section 3.2.3: the queries come from the decoder, the keys and values from the encoder's output.
// Each query sees all keys, and no position enters.
Matrix Transformer::cross_attention(const Matrix& x, int layer, const Input& in) const {
    const LayerPlan& plan = b_.layer(layer);
    const std::string name = prefix(layer) + "cross_attention.";
    const Matrix q = linear(x, name + "q", plan.q_bias), kv = linear(in.memory, name + "kv", plan.v_bias);
    const int e = b_.d_head, group = b_.n_heads / b_.n_kv_heads;
    const double scale = plan.score_scale != 0 ? static_cast<double>(plan.score_scale) : 1 / std::sqrt(double(e));
    Matrix out(x.rows, b_.n_heads * e);
    for (int i = 0; i < x.rows; ++i)
        for (int head = 0; head < b_.n_heads; ++head) {
            const int k_first = head / group * e, v_first = (b_.n_kv_heads + head / group) * e;
            Vector p;
            double total = 0;
            for (int j = 0; j < kv.rows; ++j) {
                double score = 0;
                for (int l = 0; l < e; ++l) score += q.at(i, head * e + l) * kv.at(j, k_first + l) * scale;
                total += std::exp(score);
                p.push_back(std::exp(score));
            }
            for (int j = 0; j < kv.rows; ++j)
                for (int l = 0; l < e; ++l) out.at(i, head * e + l) += p[j] / total * kv.at(j, v_first + l);
        }
    return linear(out, name + "out", plan.out_bias);
}

Tensors encoder_tensors(const Tensors& all) {
    const std::string prefix = "encoder.";
    Tensors own = {{"embedding.weight", all.at("embedding.weight")}};
    for (const auto& [name, matrix] : all)
        if (name.compare(0, prefix.size(), prefix) == 0) own[name.substr(prefix.size())] = matrix;
    return own;
}

} // namespace ordo::reference
