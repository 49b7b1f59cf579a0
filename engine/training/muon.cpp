// SPDX-License-Identifier: MIT
#include "training/muon.h"

#include "kernels/kernels.h"
#include "model/model_access.h"
#include "model/stack.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

constexpr int steps = 5;
// x <- newton_a x + newton_b (x x^T) x + newton_c (x x^T)^2 x
constexpr float newton_a = 3.4445f, newton_b = -4.7750f, newton_c = 2.0315f;

std::size_t size_of(int rows, int cols) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
}

// Singular values must be at most 1, and they are at most the Frobenius norm.
void normalise(std::span<float> x) {
    double sum = 0;
    for (const float v : x) sum += static_cast<double>(v) * v;
    const auto scale = static_cast<float>(1 / (std::sqrt(sum) + 1e-7));
    for (float& v : x) v *= scale;
}

// The row counts of the matrices in a layer's tensor; empty if Muon does not apply to the tensor.
std::vector<int> parts_of(const TensorSpec& spec, const LayerPlan& plan, const Blueprint& blueprint) {
    const std::string& name = spec.name;
    const int q = blueprint.n_heads * blueprint.d_head, kv = blueprint.n_kv_heads * blueprint.d_head;
    if (name.ends_with("attention.qkv.weight")) return {q, kv, kv};
    if (name.ends_with("cross_attention.q.weight")) return {q};
    if (name.ends_with("cross_attention.kv.weight")) return {kv, kv};
    if (name.ends_with(".in.weight")) {
        const int parts = plan.gated ? 2 : 1;
        return std::vector<int>(static_cast<std::size_t>(parts), static_cast<int>(spec.shape[0]) / parts);
    }
    if (name.ends_with(".out.weight")) return {blueprint.d_model};
    return {};
}

} // namespace

std::vector<MatrixRows> hidden_matrices(const Blueprint& blueprint) {
    std::vector<MatrixRows> matrices;
    const std::vector<TensorSpec> specs = tensor_list(blueprint);
    for (std::size_t i = 0; i < specs.size(); ++i) {
        constexpr std::string_view prefix = "layers.", of_encoder = encoder_prefix;
        std::string_view name = specs[i].name;
        const bool encoder = name.starts_with(of_encoder);
        if (encoder) name.remove_prefix(of_encoder.size());
        if (!name.starts_with(prefix)) continue;
        const Blueprint& stack = encoder ? blueprint.encoder.front() : blueprint;
        const LayerPlan& plan = stack.layer(std::stoi(std::string(name.substr(prefix.size()))));
        int first = 0;
        for (const int rows : parts_of(specs[i], plan, stack)) {
            matrices.push_back({static_cast<int>(i), first, rows});
            first += rows;
        }
    }
    return matrices;
}

Orthogonaliser::Orthogonaliser(int smaller, int larger)
    : larger_(std::max(smaller, larger)), gram_(size_of(std::min(smaller, larger), std::min(smaller, larger))),
      polynomial_(gram_.size()), product_(size_of(smaller, larger)), matrix_(product_.size()) {}

std::size_t Orthogonaliser::floats(int smaller, int larger) {
    const int least = std::min(smaller, larger);
    return 2 * (size_of(least, least) + size_of(smaller, larger)) + PairProducts::floats(larger, larger);
}

void Orthogonaliser::multiply(View a, Transpose ta, View b, Transpose tb, View c, float beta) {
    if (!pairs_) return gemm(a, ta, b, tb, c, beta);
    // PairProducts adds to c as it is.
    if (beta != 0)
        for (int i = 0; i < c.rows; ++i) kernels().scale(c.cols, beta, c.row(i));
    (*pairs_)(a, ta, b, tb, c, beta != 0 ? 1.0f : 0.0f);
}

void Orthogonaliser::operator()(View x) {
    const bool wide = x.rows <= x.cols; // uses the smaller of x x^T and x^T x
    const int n = std::min(x.rows, x.cols);
    const std::span<float> values(x.data, size_of(x.rows, x.cols));
    const View gram = view(gram_.data(), n, n), polynomial = view(polynomial_.data(), n, n);
    const View product = view(product_.data(), x.rows, x.cols);
    normalise(values);
    for (int i = 0; i < steps; ++i) {
        multiply(x, wide ? Transpose::no : Transpose::yes, x, wide ? Transpose::yes : Transpose::no, gram);
        multiply(gram, Transpose::no, gram, Transpose::no, polynomial);
        for (std::size_t j = 0; j < size_of(n, n); ++j)
            polynomial.data[j] = newton_b * gram.data[j] + newton_c * polynomial.data[j];
        std::copy(values.begin(), values.end(), product.data);
        if (wide)
            multiply(polynomial, Transpose::no, x, Transpose::no, product, newton_a);
        else
            multiply(x, Transpose::no, polynomial, Transpose::no, product, newton_a);
        std::copy_n(product.data, values.size(), values.begin());
    }
}

} // namespace ordo
