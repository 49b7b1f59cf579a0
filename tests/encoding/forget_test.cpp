// SPDX-License-Identifier: MIT
// Compares the gates of the forgetting transformer with the formula of its paper.
#include "encoding/base/stack.h"
#include "tests/encoding/bias_formula.h"

#include <cmath>

namespace ordo {
namespace forget_test {

constexpr int d_model = 12, heads = 3;
using Rows = std::vector<std::vector<double>>;

Dims dims(Mask mask = Mask::causal) {
    return {.d_model = d_model, .n_heads = heads, .d_head = 4, .n_layers = 2, .context = 64, .mask = mask};
}

Tensor random_rows(int rows, int cols, double deviation, std::uint64_t stream) {
    Tensor out(rows, cols);
    for (std::size_t i = 0; i < out.size(); ++i)
        out.data()[i] = static_cast<float>(deviation * Random(5, stream).normal(i));
    return out;
}

Rows in_double(Tensor& x) {
    Rows rows;
    for (int i = 0; i < x.rows(); ++i) rows.emplace_back(x.view().row(i), x.view().row(i) + x.cols());
    return rows;
}

// c_t of each head for the rows x.
Rows sums_of(const LayerParameters& p, const Rows& x) {
    Rows sums;
    std::vector<double> c(heads);
    for (const std::vector<double>& row : x) {
        for (std::size_t h = 0; h < heads; ++h) {
            double z = p[1][h];
            for (std::size_t k = 0; k < row.size(); ++k) z += p[0][h * row.size() + k] * row[k];
            c[h] += std::log(1 / (1 + std::exp(-z)));
        }
        sums.push_back(c);
    }
    return sums;
}

void randomise(BoundEncoding& encoding) {
    for (int layer = 0; layer < 2; ++layer) {
        Tensor weight = random_rows(heads, d_model, 0.5, 20 + static_cast<std::uint64_t>(layer));
        encoding.set(layer, 0, {weight.data(), weight.data() + weight.size()});
        encoding.set(layer, 1, {0.5, -1, 3});
    }
}

Tensor observe(const BoundEncoding& encoding, int layer, Tensor& x, int rows_in_a_call) {
    Tensor state(x.rows(), encoding->state_floats());
    for (int first = 0; first < x.rows(); first += rows_in_a_call) {
        const int n = std::min(rows_in_a_call, x.rows() - first);
        encoding->observe(rows_of(x.view(), first, n), layer, {}, first == 0 ? nullptr : state.view().row(first - 1),
                          rows_of(state.view(), first, n));
    }
    return state;
}

double joined(View state, int t, int head) {
    return double(state.row(t)[2 * head]) + double(state.row(t)[2 * head + 1]);
}

Tile tile_of(int layer, int head, int first_query, int n_queries, View state) {
    Tile tile;
    tile.layer = layer;
    tile.head = head;
    tile.first_query = first_query;
    tile.query_state = rows_of(state, first_query, n_queries);
    tile.key_state = state;
    return tile;
}

TEST(Forget, StateIsTheRunningSumOfLogGates) {
    BoundEncoding encoding("forget", dims());
    randomise(encoding);
    Tensor x = random_rows(50, d_model, 1, 1);
    for (int layer = 0; layer < 2; ++layer) {
        Tensor state = observe(encoding, layer, x, 50);
        const Rows expected = sums_of(encoding.parameters(layer), in_double(x));
        for (int t = 0; t < 50; ++t)
            for (int h = 0; h < heads; ++h) {
                const double c = expected[t][h];
                EXPECT_NEAR(joined(state.view(), t, h), c, 1e-6 * std::fabs(c));
            }
    }
}

TEST(Forget, CallsOfAnyLengthHaveTheSameBits) {
    BoundEncoding encoding("forget", dims());
    randomise(encoding);
    Tensor x = random_rows(300, d_model, 1, 1);
    Tensor whole = observe(encoding, 0, x, 300);
    for (const int rows : {1, 7, 64}) {
        Tensor parts = observe(encoding, 0, x, rows);
        for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_EQ(whole.data()[i], parts.data()[i]);
    }
}

// The rows may be part of wider rows that also hold the state of other encodings.
TEST(Forget, WritesItsColumnsAlone) {
    BoundEncoding encoding("forget", dims());
    randomise(encoding);
    Tensor x = random_rows(9, d_model, 1, 1), wide(9, 2 * heads + 5);
    for (std::size_t i = 0; i < wide.size(); ++i) wide.data()[i] = 7;
    encoding->observe(x.view(), 0, {}, nullptr, cols_of(wide.view(), 2, 2 * heads));
    Tensor state = observe(encoding, 0, x, 9);
    for (int t = 0; t < 9; ++t)
        for (int j = 0; j < wide.cols(); ++j) {
            const bool own = j >= 2 && j < 2 + 2 * heads;
            EXPECT_EQ(wide.view().row(t)[j], own ? state.view().row(t)[j - 2] : 7);
        }
}

TEST(Forget, BiasIsTheSumOfTheGatesInBetween) {
    for (const Mask mask : {Mask::causal, Mask::bidirectional}) {
        BoundEncoding encoding("forget", dims(mask));
        randomise(encoding);
        Tensor x = random_rows(40, d_model, 1, 1), state = observe(encoding, 1, x, 40);
        const Rows sums = sums_of(encoding.parameters(1), in_double(x));
        for (int head = 0; head < heads; ++head) {
            Tensor scores(30, 40);
            for (std::size_t i = 0; i < scores.size(); ++i) scores.data()[i] = 2;
            encoding->bias(scores.view(), tile_of(1, head, 10, 30, state.view()));
            for (int i = 0; i < 30; ++i)
                for (int j = 0; j < 40; ++j) {
                    if (is_hidden(dims(mask), 10 + i, j)) continue;
                    const auto h = static_cast<std::size_t>(head);
                    const double c = sums[10 + i][h] - sums[j][h];
                    EXPECT_NEAR(scores.view().row(i)[j], 2 - std::fabs(c), 1e-5);
                }
        }
    }
}

// 100,000 tokens forget much, and the gates of the tokens after them forget little. A sum in float would have steps of
// 1/128 there.
TEST(Forget, KeepsDifferencesOfDistantSums) {
    BoundEncoding encoding("forget", {.d_model = 1, .n_heads = 1, .d_head = 1, .n_layers = 1, .context = 8});
    encoding.set(0, 0, {1});
    encoding.set(0, 1, {0});
    const int far = 100000, near = 10;
    Tensor x(far + near, 1);
    for (int t = 0; t < far + near; ++t) x.data()[t] = t < far ? -1.25f : 8; // gates of 0.22 and of 0.99966
    Tensor state = observe(encoding, 0, x, 4096);
    const Tile tile = tile_of(0, 0, far + near - 1, 1, state.view());
    Tensor scores(1, far + near);
    encoding->bias(scores.view(), tile);
    for (int back = 1; back < near; ++back)
        EXPECT_NEAR(scores.data()[far + near - 1 - back], -back * std::log1p(std::exp(-8.0)), 1e-7);
    EXPECT_EQ(scores.data()[far + near - 1], 0);
}

// A gate of exactly one forgets nothing. A gate that is the same for all tokens gives ALiBi.
TEST(Forget, HasNoneAndAlibiAsLimits) {
    BoundEncoding encoding("forget", dims());
    const BoundEncoding alibi("alibi", dims());
    for (int layer = 0; layer < 2; ++layer) encoding.set(layer, 0, std::vector<double>(heads * d_model));
    encoding.set(0, 1, {200, 1000, 1e30});
    std::vector<double> biases; // -ln sigmoid(b) is the slope
    for (const std::vector<double>& row : alibi->table({.part = "slopes"}).rows)
        biases.push_back(-std::log(std::expm1(row[1])));
    encoding.set(1, 1, biases);

    Tensor x = random_rows(60, d_model, 1, 1), open = observe(encoding, 0, x, 60),
           constant = observe(encoding, 1, x, 60);
    for (int head = 0; head < heads; ++head) {
        Tensor none(60, 60), slopes(60, 60);
        encoding->bias(none.view(), tile_of(0, head, 0, 60, open.view()));
        encoding->bias(slopes.view(), tile_of(1, head, 0, 60, constant.view()));
        Tensor expected = alibi.bias(0, head, positions_from(0, 60), positions_from(0, 60));
        for (int i = 0; i < 60; ++i)
            for (int j = 0; j <= i; ++j) {
                EXPECT_EQ(none.view().row(i)[j], 0);
                EXPECT_NEAR(slopes.view().row(i)[j], expected.view().row(i)[j], 2e-6 * (1 + i - j));
            }
    }
}

// The loss is the sum of random weights times the biases. Its gradient is taken with respect to x and the gates'
// tensors, through both moments.
TEST(Forget, GradientsAreCentralDifferences) {
    constexpr int n = 25;
    for (const Mask mask : {Mask::causal, Mask::bidirectional}) {
        BoundEncoding encoding("forget", dims(mask));
        randomise(encoding);
        Tensor x = random_rows(n, d_model, 1, 1), state = observe(encoding, 1, x, n);
        Tensor weights = random_rows(heads * n, n, 1, 2), d_state(n, 2 * heads), dx = random_rows(n, d_model, 1, 3);
        const Rows dx_before = in_double(dx);
        for (int h = 0; h < heads; ++h)
            for (int i = 0; i < n; ++i)
                for (int j = i + 1; j < n && mask == Mask::causal; ++j) weights.view().row(h * n + i)[j] = 0;
        std::vector<Tensor> grads = encoding.zeros();
        const std::vector<View> views = {grads[0].view(), grads[1].view()};
        for (int h = 0; h < heads; ++h)
            for (const auto& [first, rows] : {std::pair{0, 10}, {10, 15}}) {
                TileGradient gradient;
                gradient.query_state = rows_of(d_state.view(), first, rows);
                gradient.key_state = d_state.view();
                gradient.tensors = views;
                encoding->bias_backward(rows_of(weights.view(), h * n + first, rows),
                                        tile_of(1, h, first, rows, state.view()), gradient);
            }
        encoding->observe_backward(d_state.view(), x.view(), 1, {}, state.view(), dx.view(), views);

        const auto loss = [&](const LayerParameters& p, const Rows& at) {
            const Rows c = sums_of(p, at);
            double sum = 0;
            for (std::size_t h = 0; h < heads; ++h)
                for (std::size_t i = 0; i < n; ++i)
                    for (std::size_t j = 0; j < n; ++j)
                        sum -= double(weights.data()[(h * n + i) * n + j]) * std::fabs(c[i][h] - c[j][h]);
            return sum;
        };
        const double step = 1e-5;
        const auto expect_near = [](double found, double expected) {
            EXPECT_NEAR(found, expected, 1e-4 * std::max(1.0, std::fabs(expected)));
        };
        const LayerParameters parameters = encoding.parameters(1);
        const Rows rows = in_double(x);
        for (std::size_t t = 0; t < 2; ++t)
            for (std::size_t i = 0; i < parameters[t].size(); ++i) {
                LayerParameters above = parameters, below = parameters;
                above[t][i] += step;
                below[t][i] -= step;
                expect_near(grads[t].data()[i], (loss(above, rows) - loss(below, rows)) / (2 * step));
            }
        for (std::size_t t = 0; t < n; ++t)
            for (std::size_t k = 0; k < d_model; ++k) { // gradients accumulate
                Rows above = rows, below = rows;
                above[t][k] += step;
                below[t][k] -= step;
                const double expected = (loss(parameters, above) - loss(parameters, below)) / (2 * step);
                expect_near(dx.view().row(static_cast<int>(t))[k] - dx_before[t][k], expected);
            }
    }
}

TEST(Forget, DeclaresItsStateAndTensors) {
    BoundEncoding encoding("forget", dims());
    EXPECT_EQ(encoding->spec(), "forget");
    EXPECT_EQ(encoding->state_floats(), 2 * heads);
    EXPECT_EQ(encoding->reads(), static_cast<unsigned>(reads_state));
    EXPECT_TRUE(encoding->shift_invariant());
    const std::vector<TensorSpec> tensors = encoding->tensors();
    EXPECT_EQ(tensors[0].name, "gate.weight");
    EXPECT_EQ(tensors[0].shape, (std::vector<std::int64_t>{heads, d_model}));
    EXPECT_EQ(tensors[1].name, "gate.bias");
    encoding.set(1, 1, {0, 2, -2});
    const Table table = encoding->table({.layer = 1});
    EXPECT_EQ(table.rows[0][2], 0.5);
    EXPECT_NEAR(table.rows[1][2], 1 / (1 + std::exp(-2.0)), 1e-15);
    EXPECT_NEAR(table.rows[2][2], 1 / (1 + std::exp(2.0)), 1e-15);
    EXPECT_THROW(make_encodings("forget:bias=2", dims()), Error);
    EXPECT_THROW(std::move(make_encodings("forget", dims()).at(0))->table({}), Error); // without weights
}

} // namespace forget_test
} // namespace ordo
