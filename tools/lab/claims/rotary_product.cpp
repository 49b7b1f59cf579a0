// SPDX-License-Identifier: MIT
#include "tools/lab/claims/rotary_product.h"

#include "tools/lab/study/prelude.h"

namespace ordo::lab {
namespace {

constexpr int width = 128, small_width = 8;

using Rows = std::vector<Vector>;

Rows matrix_at(const LooseEncoding& rope, int position) {
    return rope.table(1, "matrix", position).rows;
}

Rows transposed(const Rows& m) {
    Rows out(m[0].size(), Vector(m.size()));
    for (std::size_t i = 0; i < m.size(); ++i)
        for (std::size_t j = 0; j < m[i].size(); ++j) out[j][i] = m[i][j];
    return out;
}

// R_t for t of either sign: R_-t = R_t^T.
Rows rotation(const LooseEncoding& rope, int t) {
    return t >= 0 ? matrix_at(rope, t) : transposed(matrix_at(rope, -t));
}

Vector times(const Rows& m, const Vector& x) {
    Vector out;
    for (const Vector& row : m) out.push_back(dot(row, x));
    return out;
}

// The largest difference between a^T b and c.
double product_error(const Rows& a, const Rows& b, const Rows& c) {
    const Rows at = transposed(a), bt = transposed(b);
    double most = 0;
    for (std::size_t i = 0; i < at.size(); ++i) most = std::max(most, largest_difference(times(bt, at[i]), c[i]));
    return most;
}

Vector random_vector(std::uint64_t seed, std::uint64_t stream) {
    const std::vector<float> x = normal_floats(small_width, seed, stream);
    return {x.begin(), x.end()};
}

Rows random_matrix(std::uint64_t seed, std::uint64_t stream) {
    Rows rows;
    for (std::uint64_t i = 0; i < small_width; ++i) rows.push_back(random_vector(seed, stream + i));
    return rows;
}

} // namespace

void rotation_products(tools::Figures& figures) {
    const LooseEncoding rope("rope", dims_of(width));
    for (const auto& [i, j] : {std::pair{0, 1}, {1, 0}, {3, 14}, {14, 3}, {5, 100}, {100, 111}, {1000, 4000}}) {
        const Rows left = matrix_at(rope, i), right = matrix_at(rope, j);
        add_row(figures, i, j, product_error(left, right, rotation(rope, j - i)),
                product_error(left, right, rotation(rope, i - j)));
    }
}

void score_products(std::uint64_t seed, tools::Figures& figures) {
    const LooseEncoding rope("rope", dims_of(small_width));
    const Rows query = random_matrix(seed, 0x910), key = random_matrix(seed, 0x920);
    const Vector x = random_vector(seed, 0x930), y = random_vector(seed, 0x931); // x_i and x_j
    for (const auto& [i, j] : {std::pair{1, 0}, {5, 3}, {14, 3}, {21, 1}, {3, 14}}) {
        const auto product = [&](const Rows& left, int turn) { // x^T left R W_k x_j
            return dot(x, times(left, times(rotation(rope, turn), times(key, y))));
        };
        const double score = dot(times(matrix_at(rope, i), times(query, x)), times(matrix_at(rope, j), times(key, y)));
        add_row(figures, i, j, score, product(transposed(query), j - i) - score, product(query, j - i) - score,
                product(transposed(query), i - j) - score);
    }
}

} // namespace ordo::lab
