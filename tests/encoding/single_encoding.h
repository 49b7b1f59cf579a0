// SPDX-License-Identifier: MIT
// A single encoding with random tensors, tiles to call it with, and a comparison of its gradients with central
// differences of its own forward pass.
#pragma once

#include "core/random.h"
#include "core/tensor.h"
#include "encoding.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ordo::test {

inline std::vector<float> normals(std::size_t n, std::uint64_t seed, double deviation = 1) {
    std::vector<float> out(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(deviation * Random(seed, 0).normal(i));
    return out;
}

inline std::vector<int> counting(int first, int n) {
    std::vector<int> out;
    for (int i = 0; i < n; ++i) out.push_back(first + i);
    return out;
}

// An owned matrix of normally distributed numbers.
struct Normals {
    Normals(int n, int width, std::uint64_t seed, double deviation = 1)
        : values(normals(static_cast<std::size_t>(n) * static_cast<std::size_t>(width), seed, deviation)), rows(n),
          cols(width) {}
    View view() { return ordo::view(values.data(), rows, cols); }
    double at(int i, int j) const {
        return values[static_cast<std::size_t>(i) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(j)];
    }

    std::vector<float> values;
    int rows, cols;
};

class Single {
public:
    explicit Single(const std::string& spec, const Dims& sizes, int n_positions = 64) : dims(sizes) {
        encoding = std::move(make_encodings(spec, dims).at(0));
        const std::vector<TensorSpec> specs = encoding->tensors();
        for (int layer = 0; layer < dims.n_layers; ++layer) {
            tensors.emplace_back();
            grads.emplace_back();
            for (const TensorSpec& tensor : specs) {
                const int rows = tensor.shape.size() == 2 ? static_cast<int>(tensor.shape[0]) : 1;
                const int cols = static_cast<int>(tensor.shape.back());
                tensors.back().emplace_back(rows, cols,
                                            1000 + 10 * static_cast<std::uint64_t>(layer) + tensors.back().size());
                grads.back().emplace_back(rows, cols, 0, 0);
            }
        }
        prepare(n_positions);
    }
    // Prepares again after the tensors have changed.
    void prepare(int n_positions) {
        for (int layer = 0; layer < dims.n_layers; ++layer) encoding->bind(layer, views(tensors[layer]));
        encoding->prepare(n_positions);
    }
    static std::vector<View> views(std::vector<Normals>& matrices) {
        std::vector<View> out;
        for (Normals& matrix : matrices) out.push_back(matrix.view());
        return out;
    }
    std::vector<View> grads_of(int layer) { return views(grads[layer]); }
    Normals& tensor(int layer, int i) { return tensors[layer][i]; }

    Dims dims;
    std::unique_ptr<Encoding> encoding;
    std::vector<std::vector<Normals>> tensors, grads; // of each layer
};

// Queries and keys of one head: the queries are the last tokens of the keys.
struct TileData {
    TileData(int e, std::vector<int> queries, std::vector<int> keys, std::uint64_t seed = 5)
        : query_ids(std::move(queries)), key_ids(std::move(keys)), q(static_cast<int>(query_ids.size()), e, seed),
          k(static_cast<int>(key_ids.size()), e, seed + 1), dq(q.rows, e, 0, 0), dk(k.rows, e, 0, 0) {}

    Tile tile(int layer, int head, float scale = 0.4f) {
        return {.layer = layer,
                .head = head,
                .scale = scale,
                .first_query = k.rows - q.rows,
                .queries = Positions(query_ids),
                .keys = Positions(key_ids),
                .q = q.view(),
                .k = k.view()};
    }
    bool sees(Mask mask, int i, int j) const { return mask == Mask::bidirectional || j <= k.rows - q.rows + i; }
    // m [n_queries, n_keys] with zeros where the mask hides a key, as for softmax and its gradient.
    Normals masked(Mask mask, Normals m) const {
        for (int i = 0; i < m.rows; ++i)
            for (int j = 0; j < m.cols; ++j)
                if (!sees(mask, i, j)) m.view().row(i)[j] = 0;
        return m;
    }
    TileGradient gradient(std::span<const View> tensors) { return {dq.view(), dk.view(), {}, {}, tensors}; }

    std::vector<int> query_ids, key_ids;
    Normals q, k, dq, dk;
};

inline double dot(const Normals& a, const Normals& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i) sum += static_cast<double>(a.values[i]) * b.values[i];
    return sum;
}

// Compares found [..] with the gradient of loss() with respect to every `step`-th variable.
template <class Loss>
void expect_gradient(Normals& variables, const Normals& found, const Loss& loss, const std::string& what, int step = 1,
                     float h = 0.0625f) {
    ASSERT_EQ(variables.values.size(), found.values.size());
    double size = 0;
    for (const float value : found.values) size = std::max(size, std::abs(static_cast<double>(value)));
    EXPECT_GT(size, 0) << what << ": no gradient at all";
    for (std::size_t i = 0; i < variables.values.size(); i += static_cast<std::size_t>(step)) {
        const float kept = variables.values[i];
        variables.values[i] = kept + h;
        const double above = loss();
        variables.values[i] = kept - h;
        const double below = loss();
        variables.values[i] = kept;
        const double expected = (above - below) / (2.0 * h);
        ASSERT_NEAR(found.values[i], expected, 1e-3 * std::max(size * 0.1, std::abs(expected))) << what << " " << i;
    }
}

// Positions of 30 queries and 200 keys: consecutive, with gaps, with repeats, out of order, and far away.
struct Placing {
    std::string name;
    std::vector<int> queries, keys;
};
inline std::vector<Placing> placings() {
    std::vector<int> all = counting(0, 200), gaps, mixed, far;
    for (const int i : all) {
        gaps.push_back(3 * i + i % 2);
        mixed.push_back((i * 37) % 90);
        far.push_back(i < 100 ? i : i * i * 40);
    }
    const auto last = [](const std::vector<int>& v) { return std::vector<int>(v.end() - 30, v.end()); };
    return {{"text", last(all), all}, {"gaps", last(gaps), gaps},      {"mixed", last(mixed), mixed},
            {"far", last(far), far},  {"early", counting(0, 30), all}, {"one", {137}, counting(0, 138)}};
}

} // namespace ordo::test
