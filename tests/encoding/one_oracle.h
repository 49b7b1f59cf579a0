// SPDX-License-Identifier: MIT
// A single oracle, for the tests of oracles.
#pragma once

#include "tests/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ordo::reference {

inline const Dims small{24, 4, 6, 2, 64};
// One head of 128, the width in the papers' figures and in most models.
inline const Dims wide{128, 1, 128, 1, 2048};

inline Dims bidirectional(Dims dims) {
    dims.mask = Mask::bidirectional;
    return dims;
}

// Distinct numbers, none of them special.
inline Matrix some(int rows, int cols, double seed = 1) {
    Matrix m(rows, cols);
    for (std::size_t i = 0; i < m.values.size(); ++i) m.values[i] = std::sin(seed + 1.7 * static_cast<double>(i));
    return m;
}
inline Matrix filled(int rows, int cols, double value) {
    Matrix m(rows, cols);
    std::fill(m.values.begin(), m.values.end(), value);
    return m;
}
inline Matrix row_of(const Vector& values) {
    Matrix m(1, static_cast<int>(values.size()));
    m.values = values;
    return m;
}
inline Vector some_vector(std::size_t n, double seed) {
    return some(1, static_cast<int>(n), seed).values;
}

// A spec of one encoding and its effect.
struct Subject {
    explicit Subject(const std::string& spec, const Dims& its = small, Tensors its_tensors = {}, int length = 0)
        : dims(its), tensors(std::move(its_tensors)), oracles(spec, dims, tensors, length) {}
    const Oracle& oracle() const { return *oracles.all().at(0); }
    double bias(int i, int j, int head = 0, const Vector& q = {}, const Vector& k = {}, double scale = 1) const {
        const Place query{i}, key{j};
        return oracle().bias({0, head, scale}, {q, query, {}}, {k, key, {}});
    }
    Vector rotated(Vector x, const Place& at, Role role = Role::query) const {
        oracle().rotate(x, at, role, 0, 0);
        return x;
    }
    // The angle and the scale that pair k, of adjacent columns, gets at position 1.
    double angle(int k) const { return turned(k, true); }
    double size(int k) const { return turned(k, false); }

    Dims dims;
    Tensors tensors;
    Oracles oracles;

private:
    double turned(int k, bool angle) const {
        Vector x(static_cast<std::size_t>(dims.d_head));
        x[2 * k] = 1;
        x = rotated(x, {1});
        const double a = x[2 * k], b = x[2 * k + 1];
        return angle ? std::atan2(b, a) : std::hypot(a, b);
    }
};

inline std::string rope(const std::string& rest, int width = 128) {
    return "rope:theta=10000,pairing=adjacent,width=" + std::to_string(width) + rest;
}

inline void expect_equal(const Vector& a, const Vector& b, double tolerance = 1e-12) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

// Expects the same bias at near and far positions, for earlier and later keys.
inline void expect_same_bias(const Subject& a, const Subject& b, double tolerance = 1e-12) {
    const Vector q = some_vector(6, 3), k = some_vector(6, 4);
    for (int head = 0; head < a.dims.n_heads; ++head)
        for (const int i : {0, 1, 7, 40})
            for (const int j : {0, 1, 6, 39, 41, 63})
                EXPECT_NEAR(a.bias(i, j, head, q, k), b.bias(i, j, head, q, k), tolerance) << i << " " << j;
}

inline void expect_same_rotation(const Subject& a, const Subject& b) {
    const Vector x = some_vector(static_cast<std::size_t>(a.dims.d_head), 5);
    for (const Role role : {Role::query, Role::key})
        for (const int at : {0, 1, 5, 100, 5000})
            expect_equal(a.rotated(x, {at}, role), b.rotated(x, {at}, role), 1e-9);
}

} // namespace ordo::reference
