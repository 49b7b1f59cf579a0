// SPDX-License-Identifier: MIT
#include "training/optimizer.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

constexpr std::ptrdiff_t strip = 16384; // of the sum of squares, so that its bits do not depend on the threads

double sum_of_squares(std::span<const float> x) {
    const auto n = static_cast<std::ptrdiff_t>(x.size());
    std::vector<double> partial(static_cast<std::size_t>((n + strip - 1) / strip));
    parallel_for(static_cast<std::ptrdiff_t>(partial.size()), 4, [&](std::ptrdiff_t b) {
        double sum = 0;
        for (std::ptrdiff_t i = b * strip; i < std::min(n, (b + 1) * strip); ++i) {
            const double v = x[i];
            sum += v * v;
        }
        partial[b] = sum;
    });
    double total = 0;
    for (const double p : partial) total += p;
    return total;
}

} // namespace

Optimizer::Optimizer(Parameters& parameters, std::vector<MatrixRows> muon)
    : parameters_(parameters), muon_(std::move(muon)), m_(parameters.size()), v_(parameters.size()) {
    if (muon_.empty()) return;
    int least = 0, most = 0;
    for (const MatrixRows& matrix : muon_) {
        const auto [smaller, larger] = std::minmax({matrix.rows, parameters.value(matrix.tensor).cols});
        least = std::max(least, smaller);
        most = std::max(most, larger);
    }
    const std::size_t affordable = 2 * parameters.size() / Orthogonaliser::floats(least, most);
    const std::size_t useful = std::min(muon_.size(), static_cast<std::size_t>(thread_count()));
    for (std::size_t i = 0; i < std::clamp<std::size_t>(affordable, 1, useful); ++i)
        orthogonalise_.emplace_back(least, most);
}

double Optimizer::step(const StepSize& size) {
    const double norm = std::sqrt(sum_of_squares(parameters_.grads()));
    if (!std::isfinite(norm)) return norm;
    steps += 1;
    const auto scale = static_cast<float>(norm > size.clip ? size.clip / norm : 1.0);
    for (int i = 0; i < parameters_.count(); ++i)
        if (parameters_.specs()[i].trainable && !is_muons(i)) adamw(i, size, scale);
    if (muon_.empty()) return norm;
    reserve_blas();
    const auto slots = static_cast<int>(orthogonalise_.size()); // few: better to share the products of each matrix
    parallel_for_slots(static_cast<std::ptrdiff_t>(muon_.size()), 2 * slots > thread_count() ? slots : 1,
                       [&](std::ptrdiff_t i, int slot) { this->muon(muon_[i], orthogonalise_[slot], size, scale); });
    return norm;
}

void Optimizer::multiply_pairs() {
    for (Orthogonaliser& one : orthogonalise_) one.multiply_pairs();
}

bool Optimizer::is_muons(int tensor) const {
    return std::any_of(muon_.begin(), muon_.end(), [&](const MatrixRows& m) { return m.tensor == tensor; });
}

void Optimizer::adamw(int tensor, const StepSize& size, float scale) {
    const auto correction1 = static_cast<float>(1 / (1 - std::pow(beta1, static_cast<double>(steps))));
    const auto correction2 = static_cast<float>(1 / (1 - std::pow(beta2, static_cast<double>(steps))));
    const View w = parameters_.value(tensor), g = parameters_.grad(tensor);
    const std::ptrdiff_t n = static_cast<std::ptrdiff_t>(w.rows) * w.cols;
    const bool matrix = parameters_.specs()[tensor].shape.size() > 1;
    const auto decay = static_cast<float>(matrix ? size.weight_decay : 0);
    float *const m = m_.data() + offset(tensor), *const v = v_.data() + offset(tensor);
    parallel_for((n + strip - 1) / strip, 2, [&](std::ptrdiff_t b) {
        const std::ptrdiff_t at = b * strip;
        kernels().adamw(static_cast<int>(std::min(strip, n - at)), w.data + at, g.data + at, m + at, v + at, scale,
                        static_cast<float>(size.lr), beta1, beta2, epsilon, decay, correction1, correction2);
    });
}

void Optimizer::muon(const MatrixRows& matrix, Orthogonaliser& orthogonalise, const StepSize& size, float scale) {
    const View w = rows_of(parameters_.value(matrix.tensor), matrix.first, matrix.rows);
    const View g = rows_of(parameters_.grad(matrix.tensor), matrix.first, matrix.rows);
    const View update = orthogonalise.matrix(w.rows, w.cols);
    const std::ptrdiff_t n = static_cast<std::ptrdiff_t>(w.rows) * w.cols;
    float* const m = m_.data() + (w.data - parameters_.values().data());
    constexpr auto beta = static_cast<float>(momentum);
    for (std::ptrdiff_t i = 0; i < n; ++i) {
        m[i] = beta * m[i] + (1 - beta) * scale * g.data[i];
        update.data[i] = beta * m[i] + (1 - beta) * scale * g.data[i];
    }
    orthogonalise(update);
    const auto step = static_cast<float>(size.muon_lr * 0.2 * std::sqrt(std::max(w.rows, w.cols)));
    const auto kept = static_cast<float>(1 - size.muon_lr * size.weight_decay);
    for (std::ptrdiff_t i = 0; i < n; ++i) w.data[i] = kept * w.data[i] - step * update.data[i];
}

} // namespace ordo
