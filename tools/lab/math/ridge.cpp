// SPDX-License-Identifier: MIT
#include "tools/lab/math/ridge.h"

#include "core/parallel.h"

#include <cmath>
#include <numeric>

namespace ordo::lab {
namespace {

double inner_product(const double* a, const double* b, std::size_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

// Solves a x = b in place for a symmetric positive definite a [d, d] (Cholesky). b becomes x.
void solve(std::vector<double>& a, std::vector<double>& b) {
    const std::size_t d = b.size();
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            const double rest = a[i * d + j] - inner_product(&a[i * d], &a[j * d], j);
            a[i * d + j] = i == j ? std::sqrt(rest) : rest / a[j * d + j];
        }
    for (std::size_t i = 0; i < d; ++i) b[i] = (b[i] - inner_product(&a[i * d], b.data(), i)) / a[i * d + i];
    for (std::size_t i = d; i-- > 0;) {
        for (std::size_t j = i + 1; j < d; ++j) b[i] -= a[j * d + i] * b[j];
        b[i] /= a[i * d + i];
    }
}

} // namespace

Ridge::Ridge(std::span<const float> rows, int width, std::span<const double> y, double penalty) {
    const auto d = static_cast<std::size_t>(width);
    const std::size_t n = y.size();
    const auto count = static_cast<double>(n);
    const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / count;
    std::vector<double> means(d), scales(d), z(d * n), products(d * d); // z: column after column
    weights_.resize(d);
    parallel_for(width, 1, [&](std::ptrdiff_t column) {
        const auto j = static_cast<std::size_t>(column);
        double sum = 0, squares = 0;
        for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(rows[i * d + j]);
        means[j] = sum / count;
        for (std::size_t i = 0; i < n; ++i) {
            z[j * n + i] = static_cast<double>(rows[i * d + j]) - means[j];
            squares += z[j * n + i] * z[j * n + i];
        }
        scales[j] = squares > 0 ? std::sqrt(count / squares) : 0; // a constant column has no effect
        for (std::size_t i = 0; i < n; ++i) {
            z[j * n + i] *= scales[j];
            weights_[j] += z[j * n + i] * (y[i] - mean_y) / count;
        }
    });
    parallel_for_dynamic(width, [&](std::ptrdiff_t row) {
        const auto i = static_cast<std::size_t>(row);
        for (std::size_t j = 0; j <= i; ++j) products[i * d + j] = inner_product(&z[i * n], &z[j * n], n) / count;
        products[i * d + i] += penalty;
    });
    solve(products, weights_);
    constant_ = mean_y;
    for (std::size_t j = 0; j < d; ++j) {
        weights_[j] *= scales[j];
        constant_ -= weights_[j] * means[j];
    }
}

double Ridge::predict(std::span<const float> row) const {
    double sum = constant_;
    for (std::size_t j = 0; j < row.size(); ++j) sum += weights_[j] * static_cast<double>(row[j]);
    return sum;
}

} // namespace ordo::lab
