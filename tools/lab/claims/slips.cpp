// SPDX-License-Identifier: MIT
#include "tools/lab/claims/slips.h"

#include "tools/lab/math/matrix.h"

namespace ordo::lab {

std::vector<Vector> table_without_parentheses(int rows, int d) {
    std::vector<Vector> table;
    for (int p = 0; p < rows; ++p) {
        Vector& row = table.emplace_back();
        for (int k = 0; k < d; ++k) {
            const double angle = p / std::pow(10000.0, k - 1.0 / d);
            row.push_back(std::sin(angle));
            row.push_back(std::cos(angle));
        }
    }
    return table;
}

namespace {

// The index of element c of row t of head h in [T, d].
std::pair<std::size_t, std::size_t> place(HeadSplit split, std::size_t h, std::size_t t, std::size_t c,
                                          std::size_t tokens, std::size_t e, std::size_t d) {
    if (split == HeadSplit::transposed) return {t, h * e + c};
    const std::size_t flat = (h * tokens + t) * e + c;
    return {flat / d, flat % d};
}

struct Attention {
    Matrix q, k, v, out; // [d, d]
};

Matrix attend(const Attention& w, const Matrix& x, HeadSplit split, std::size_t heads) {
    const Matrix q = times(x, w.q), k = times(x, w.k), v = times(x, w.v);
    const std::size_t tokens = x.size(), d = x[0].size(), e = d / heads;
    const auto at = [&](const Matrix& m, std::size_t h, std::size_t t, std::size_t c) {
        const auto [row, column] = place(split, h, t, c, tokens, e, d);
        return m[row][column];
    };
    Matrix merged(tokens, Vector(d));
    for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t i = 0; i < tokens; ++i) {
            Vector scores(i + 1); // the causal mask
            for (std::size_t j = 0; j <= i; ++j)
                for (std::size_t c = 0; c < e; ++c)
                    scores[j] += at(q, h, i, c) * at(k, h, j, c) / std::sqrt(static_cast<double>(e));
            scores = softmax(scores);
            for (std::size_t j = 0; j <= i; ++j)
                for (std::size_t c = 0; c < e; ++c) merged[i][h * e + c] += scores[j] * at(v, h, j, c);
        }
    return times(merged, w.out);
}

} // namespace

Leak leak(HeadSplit split, int tokens, int d, int heads, std::uint64_t seed) {
    const double embedding = 1 / std::sqrt(d), projection = 1 / std::sqrt(d + d / heads), out = 1 / std::sqrt(2 * d);
    const Attention w{random_matrix(d, d, projection, seed, 0x1ea0), random_matrix(d, d, projection, seed, 0x1ea1),
                      random_matrix(d, d, projection, seed, 0x1ea2), random_matrix(d, d, out, seed, 0x1ea3)};
    Matrix x = random_matrix(tokens + 1, d, embedding, seed, 0x1ea4);
    const Vector another = x.back();
    x.pop_back();
    const Matrix before = attend(w, x, split, static_cast<std::size_t>(heads));
    x.back() = another;
    const Matrix after = attend(w, x, split, static_cast<std::size_t>(heads));
    Leak leak;
    Sample outputs;
    for (const Vector& row : before)
        for (const double v : row) outputs.add(v);
    leak.deviation = outputs.deviation();
    for (std::size_t t = 0; t + 1 < x.size(); ++t) leak.changes.push_back(largest_difference(before[t], after[t]));
    return leak;
}

SoftmaxGradient softmax_gradient(int n, std::uint64_t seed) {
    const Vector s = random_matrix(1, n, 1, seed, 0x50f0)[0], g = random_matrix(1, n, 1, seed, 0x50f1)[0];
    // (diag(a) - a a^T) g
    const auto through = [&](const Vector& a) {
        Vector out;
        for (std::size_t i = 0; i < a.size(); ++i) out.push_back(a[i] * (g[i] - dot(a, g)));
        return out;
    };
    const Vector differences =
        central_differences(s, 1e-5, [&](const Vector& scores) { return dot(softmax(scores), g); });
    return {distance(through(softmax(s)), differences) / norm(differences),
            distance(through(g), differences) / norm(differences)};
}

} // namespace ordo::lab
