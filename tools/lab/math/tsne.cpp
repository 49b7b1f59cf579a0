// SPDX-License-Identifier: MIT
#include "tools/lab/math/tsne.h"

#include "core/random.h"

#include <algorithm>
#include <cmath>

namespace ordo::lab {
namespace {

using Matrix = std::vector<std::vector<double>>;
using Map = std::vector<std::array<double, 2>>;

constexpr double learning_rate = 100, exaggeration = 12;
constexpr int early = 250; // iterations with exaggeration and the lower momentum

// P = (p(j | i) + p(i | j)) / 2n, which sums to 1.
Matrix joint_probabilities(const Matrix& points, double perplexity) {
    const std::size_t n = points.size();
    Matrix p(n, std::vector<double>(n));
    for (std::size_t i = 0; i < n; ++i) {
        std::vector<double> distances(n);
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t c = 0; c < points[i].size(); ++c)
                distances[j] += (points[i][c] - points[j][c]) * (points[i][c] - points[j][c]);
        const std::vector<double> row = neighbour_probabilities(distances, i, perplexity);
        for (std::size_t j = 0; j < n; ++j) {
            p[i][j] += row[j] / static_cast<double>(2 * n);
            p[j][i] += row[j] / static_cast<double>(2 * n);
        }
    }
    return p;
}

// The gradient of the Kullback-Leibler divergence: 4 sum_j (p_ij - q_ij) (y_i - y_j) / (1 + |y_i - y_j|^2).
Map gradient(const Matrix& p, const Map& y, double factor) {
    const std::size_t n = y.size();
    Matrix near(n, std::vector<double>(n));
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            if (i == j) continue;
            const double dx = y[i][0] - y[j][0], dy = y[i][1] - y[j][1];
            near[i][j] = 1 / (1 + dx * dx + dy * dy);
            sum += near[i][j];
        }
    Map out(n, {0, 0});
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            const double pull = 4 * (factor * p[i][j] - near[i][j] / sum) * near[i][j];
            for (std::size_t c = 0; c < 2; ++c) out[i][c] += pull * (y[i][c] - y[j][c]);
        }
    return out;
}

void center(Map& y) {
    for (std::size_t c = 0; c < 2; ++c) {
        double sum = 0;
        for (const auto& point : y) sum += point[c];
        for (auto& point : y) point[c] -= sum / static_cast<double>(y.size());
    }
}

} // namespace

std::vector<double> neighbour_probabilities(const std::vector<double>& distances, std::size_t i, double perplexity) {
    std::vector<double> p(distances.size());
    double nearest = HUGE_VAL;
    for (std::size_t j = 0; j < p.size(); ++j)
        if (j != i) nearest = std::min(nearest, distances[j]);
    double beta = 1, low = 0, high = HUGE_VAL;
    for (int step = 0; step < 200; ++step) {
        double sum = 0, weighted = 0;
        for (std::size_t j = 0; j < p.size(); ++j) {
            p[j] = j == i ? 0 : std::exp(-beta * (distances[j] - nearest));
            sum += p[j];
            weighted += p[j] * (distances[j] - nearest);
        }
        const double entropy = std::log(sum) + beta * weighted / sum;
        for (double& value : p) value /= sum;
        if (std::abs(entropy - std::log(perplexity)) < 1e-10) break;
        (entropy > std::log(perplexity) ? low : high) = beta;
        beta = std::isinf(high) ? beta * 2 : (low + high) / 2;
    }
    return p;
}

Map tsne(const Matrix& points, double perplexity, std::uint64_t seed, int iterations) {
    const Matrix p = joint_probabilities(points, perplexity);
    const Random random(seed, 1);
    Map y(points.size()), velocity(points.size(), {0, 0}), gains(points.size(), {1, 1});
    for (std::size_t i = 0; i < y.size(); ++i)
        for (std::size_t c = 0; c < 2; ++c) y[i][c] = 1e-4 * random.normal(2 * i + c);
    for (int step = 0; step < iterations; ++step) {
        const Map slope = gradient(p, y, step < early ? exaggeration : 1);
        for (std::size_t i = 0; i < y.size(); ++i)
            for (std::size_t c = 0; c < 2; ++c) {
                const bool same = (slope[i][c] > 0) == (velocity[i][c] > 0);
                gains[i][c] = std::max(same ? gains[i][c] * 0.8 : gains[i][c] + 0.2, 0.01);
                velocity[i][c] =
                    (step < early ? 0.5 : 0.8) * velocity[i][c] - learning_rate * gains[i][c] * slope[i][c];
                y[i][c] += velocity[i][c];
            }
        center(y);
    }
    return y;
}

} // namespace ordo::lab
