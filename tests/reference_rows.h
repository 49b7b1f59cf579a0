// SPDX-License-Identifier: MIT
// The operations of the reference transformer on rows and numbers.
#pragma once

#include "model/blueprint.h"
#include "tests/oracle.h"

#include <cmath>

namespace ordo::reference {

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
    case Activation::relu2:
        return x > 0 ? x * x : 0;
    }
    return 0;
}

// Gemma Team 2024 (arXiv 2408.00118), section 2.
inline double capped(double score, double cap) {
    return cap == 0 ? score : cap * std::tanh(score / cap);
}

inline Matrix sum(const Matrix& a, const Matrix& b) {
    Matrix c = a;
    for (std::size_t i = 0; i < c.values.size(); ++i) c.values[i] += b.values[i];
    return c;
}

inline void add_to_rows(Matrix& x, int first, const Matrix& bias) {
    for (int i = 0; i < x.rows; ++i)
        for (int j = 0; j < bias.cols; ++j) x.at(i, first + j) += bias.at(0, j);
}

// RMS norm of one row.
inline void norm_vector(Vector& x, const Matrix& weight, const LayerPlan& plan) {
    double square = 0;
    for (const double value : x) square += value * value / static_cast<double>(x.size());
    for (std::size_t j = 0; j < x.size(); ++j)
        x[j] *= weight.at(0, static_cast<int>(j)) / std::sqrt(square + static_cast<double>(plan.norm_eps));
}

// RMS norm of columns [first, first + width), in groups as wide as the weight.
inline void norm_columns(Matrix& x, int first, int width, const Matrix& weight, const LayerPlan& plan) {
    for (int i = 0; i < x.rows; ++i)
        for (int group = first; group < first + width; group += weight.cols) {
            double square = 0;
            for (int j = 0; j < weight.cols; ++j) square += x.at(i, group + j) * x.at(i, group + j) / weight.cols;
            for (int j = 0; j < weight.cols; ++j)
                x.at(i, group + j) *= weight.at(0, j) / std::sqrt(square + static_cast<double>(plan.norm_eps));
        }
}

} // namespace ordo::reference
