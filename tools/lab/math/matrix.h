// SPDX-License-Identifier: MIT
// Matrices in double, by rows.
#pragma once

#include "tools/lab/math/numbers.h"

namespace ordo::lab {

using Matrix = std::vector<Vector>;

// Normal numbers for a seed and a stream.
inline Matrix random_matrix(int rows, int cols, double deviation, std::uint64_t seed, std::uint64_t stream) {
    const Random random(seed, stream);
    Matrix m(static_cast<std::size_t>(rows), Vector(static_cast<std::size_t>(cols)));
    std::uint64_t n = 0;
    for (Vector& row : m)
        for (double& v : row) v = deviation * random.normal(n++);
    return m;
}

inline Matrix transposed(const Matrix& m) {
    Matrix out(m[0].size(), Vector(m.size()));
    for (std::size_t i = 0; i < m.size(); ++i)
        for (std::size_t j = 0; j < m[i].size(); ++j) out[j][i] = m[i][j];
    return out;
}

inline Matrix times(const Matrix& a, const Matrix& b) {
    Matrix out(a.size(), Vector(b[0].size()));
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t l = 0; l < b.size(); ++l)
            for (std::size_t j = 0; j < b[0].size(); ++j) out[i][j] += a[i][l] * b[l][j];
    return out;
}
template <class... More>
Matrix times(const Matrix& a, const Matrix& b, const More&... more) {
    return times(times(a, b), more...);
}

inline double largest_difference(const Matrix& a, const Matrix& b) {
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, largest_difference(a[i], b[i]));
    return most;
}

} // namespace ordo::lab
