// SPDX-License-Identifier: MIT
// The gradients of every moment of every registered encoding. The loss is sum(w * y) with random w. The gradients, for
// everything that the moment reads and for the tensors, are compared with central differences of the oracle. They
// accumulate or are written in place, as ordo.h says for each moment.
#include "tests/encoding/subject.h"
#include "tests/sanitizer.h"

#include <cmath>

namespace ordo {
namespace oracle_gradient_test {

constexpr double step = 1e-6;
constexpr float there = 2; // the initial value of gradients that accumulate

using Rows = std::vector<std::vector<double>>;

// Checks the gradient of a loss with respect to all values of some rows, along random directions. Does nothing under a
// sanitizer: differences take long, and the release build covers the values.
template <class Loss>
void expect_gradient(const Loss& loss, std::span<std::vector<double>> rows, const Rows& found, const std::string& what,
                     std::uint64_t directions = 3) {
    ASSERT_EQ(rows.size(), found.size()) << what;
    for (std::uint64_t seed = 1; seed <= directions && !test::is_sanitized(); ++seed) {
        double along = 0, squares = 0;
        const auto moved = [&](double by) {
            for (std::size_t i = 0; i < rows.size(); ++i)
                for (std::size_t j = 0; j < rows[i].size(); ++j) rows[i][j] += by * Random(seed, i).normal(j);
            return loss();
        };
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::size_t j = 0; j < rows[i].size(); ++j) {
                const double part = found[i][j] * Random(seed, i).normal(j);
                along += part;
                squares += part * part;
            }
        const double up = moved(step), down = moved(-2 * step);
        moved(step);
        const double rounding = 1e-15 * std::abs(up) / step; // of the losses
        EXPECT_NEAR(along, (up - down) / (2 * step), 1e-3 * std::max(0.1, std::sqrt(squares)) + rounding) << what;
    }
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
    return sum;
}

std::vector<double> less(std::vector<double> values, double what) {
    for (double& value : values) value -= what;
    return values;
}

class EncodingGradient : public EncodingTest {
protected:
    EncodingGradient() { zero_gradients(); }
    TensorGradients of_layer() { return stack.gradients_of_layer(layer, views_of(grads)); }
    bool acts(Moment moment) const { return (encodings.backward_moments() & moment) != 0; }

    // The tensors' own gradients, without their initial value.
    template <class Loss>
    void expect_tensors(const Loss& loss) {
        const std::vector<TensorSpec> specs = stack.tensors();
        for (std::size_t t = 0; t < specs.size(); ++t) {
            std::vector<double>& values = subject.tensors.at(specs[t].name).values;
            const std::vector<double> found(grads[t].data(), grads[t].data() + grads[t].size());
            expect_gradient(loss, {&values, 1}, {less(found, there)}, specs[t].name, directions);
        }
    }
    // Checks a loss of a tile's inputs, the observed rows, and the tensors, which the state depends on.
    template <class Loss>
    void expect_tile(const Loss& loss, auto& c) {
        c.observe_backward(of_layer());
        if (encodings.reads() & reads_queries) expect_rows(loss, c.seen.exact.q, c.dq, "query");
        if (encodings.reads() & reads_keys) expect_rows(loss, c.seen.exact.k, c.dk, "key");
        const auto observing = [&] {
            if (c.seen.observes()) c.seen.observe(c.exact);
            return loss();
        };
        if (c.seen.observes()) expect_rows(observing, c.seen.exact_inputs, c.d_inputs, "input");
        expect_tensors(observing);
    }
    void expect_rows(const auto& loss, LayerOracles::Vectors& values, InnerRows& found, const std::string& what) {
        Rows gradients;
        for (int i = 0; i < static_cast<int>(values.size()); ++i) gradients.push_back(less(found.row(i), there));
        expect_gradient(loss, values, gradients, what, directions);
        EXPECT_TRUE(found.guarded());
    }
    // The sequences of gradients of pairs. Sums over far tokens would hide the others.
    std::vector<Placing> placings() const {
        std::vector<Placing> some = subject.placings();
        std::erase_if(some, [](const Placing& p) { return p.name.starts_with("far") || p.name == "one"; });
        for (Placing& placing : some) placing.queries = placing.name == "text" ? 26 : std::min(placing.queries, 7);
        return some;
    }
    void start(const Placing& placing) {
        directions = placing.name == "mixed" ? 3 : 1; // of long sequences one, as each takes long
        zero_gradients();
    }
    void zero_gradients() {
        for (Tensor& grad : grads) std::fill_n(grad.data(), grad.size(), there);
    }

    const int layer = 1;
    std::uint64_t directions = 3;
    const LayerEncodings& encodings = stack.layer(layer);
    LayerOracles exact{subject, layer, at};
    std::vector<Tensor> grads = subject.zeros();
};

TEST_P(EncodingGradient, Embed) {
    if ((stack.moments() & moment_embed) == 0) return;
    InnerRows x(n, subject.dims.d_model, 3), w(n, subject.dims.d_model, 6), dx = w;
    std::fill_n(x.view().row(4), subject.dims.d_model, 0.0f);
    ASSERT_EQ(stack.items().size(), 1u); // for sums, each gradient depends on the output of the encoding before
    stack.items()[0]->embed_backward(dx.view(), x.view(), {positions(), segments},
                                     {.tensors = stack.gradients_of_item(0, views_of(grads))});
    LayerOracles::Vectors inputs = x.all();
    const auto of_row = [&](std::size_t i) {
        std::vector<double> y = inputs[i];
        for (const auto* oracle : subject.oracles->all()) oracle->embed(y, exact.place(i), segments[i]);
        return dot(y, w.row(static_cast<int>(i)));
    };
    for (std::size_t i = 0; i < inputs.size(); ++i)
        expect_gradient([&] { return of_row(i); }, {&inputs[i], 1}, {dx.row(static_cast<int>(i))},
                        "row " + std::to_string(i));
    EXPECT_TRUE(dx.guarded());
    expect_tensors([&] {
        double sum = 0;
        for (std::size_t i = 0; i < inputs.size(); ++i) sum += of_row(i);
        return sum;
    });
}

// The inputs of a tile and the buffers for their gradients. A token's gradients as a query and as a key accumulate in
// the same row of the state. When the row is complete, they propagate to the observed rows.
struct TileCase {
    TileCase(const Subject& subject, int layer, const std::vector<int>& ids)
        : exact(subject, layer, ids), seen(subject, exact, layer, {ids, subject.axes}), dq(seen.q), dk(seen.k),
          d_state(seen.state), d_inputs(seen.inputs) {
        for (InnerRows* rows : {&dq, &dk, &d_inputs}) rows->fill(there);
        d_state.fill(0);
    }
    Gradients gradient(int first_query, int queries, int keys) {
        Gradients g;
        if (seen.encodings.reads() & reads_queries) g.q = dq.rows(first_query, queries);
        if (seen.encodings.reads() & reads_keys) g.k = dk.rows(0, keys);
        if (!seen.observes()) return g;
        g.query_state = d_state.rows(first_query, queries);
        if (seen.encodings.reads() & reads_state) g.key_state = d_state.rows(0, keys);
        return g;
    }
    void observe_backward(const TensorGradients& grads) {
        if (seen.observes())
            seen.encodings.observe_backward(d_state.view(), seen.inputs.view(), seen.at, seen.state.view(),
                                            d_inputs.view(), grads);
    }
    double bias(int head, int query, int key) const {
        return exact.bias({seen.head.layer, head, seen.head.scale}, seen.exact, static_cast<std::size_t>(query),
                          static_cast<std::size_t>(key));
    }
    LayerOracles exact;
    Seen seen;
    InnerRows dq, dk, d_state, d_inputs;
};

TEST_P(EncodingGradient, Rotate) {
    const int heads = subject.dims.n_heads, width = heads * subject.dims.d_head;
    const auto e = static_cast<std::ptrdiff_t>(subject.dims.d_head);
    for (const Role role : all_roles) {
        if (!encodings.rotates(role)) continue;
        zero_gradients();
        TileCase c(subject, layer, at);
        InnerRows x(n, width, 4), w(n, width, 6), y = x, dx = w;
        const HeadRows rows = c.seen.rows(role, 0, heads);
        encodings.rotate(y.view(), rows);
        encodings.rotate_backward(dx.view(), y.view(), rows, c.seen.observes() ? c.d_state.view() : View{}, of_layer());
        LayerOracles::Vectors inputs = x.all();
        const auto of_row = [&](std::size_t i) {
            double sum = 0;
            const std::vector<double> weights = w.row(static_cast<int>(i));
            for (int h = 0; h < heads; ++h) {
                const auto first = inputs[i].begin() + h * e;
                std::vector<double> head(first, first + e);
                c.exact.rotate(head, i, role, h, c.seen.exact.states);
                sum += dot(head, {weights.begin() + h * e, weights.begin() + (h + 1) * e});
            }
            return sum;
        };
        for (std::size_t i = 0; i < inputs.size(); ++i)
            expect_gradient([&] { return of_row(i); }, {&inputs[i], 1}, {dx.row(static_cast<int>(i))},
                            "row " + std::to_string(i));
        EXPECT_TRUE(dx.guarded());
        expect_tile(
            [&] {
                double sum = 0;
                for (std::size_t i = 0; i < inputs.size(); ++i) sum += of_row(i);
                return sum;
            },
            c);
    }
}

TEST_P(EncodingGradient, Bias) {
    if (!acts(moment_bias)) return;
    for (const Placing& placing : placings()) {
        SCOPED_TRACE(placing.name);
        start(placing);
        TileCase c(subject, layer, placing.ids);
        const int keys = c.seen.n, queries = placing.queries, first = keys - queries;
        InnerRows w(queries, keys, 6, 0.1);
        subject.hide(w, first);
        std::vector<int> heads = {subject.dims.n_heads - 1};
        if (directions > 1) heads.push_back(0);
        for (const int head : heads) {
            InnerRows d_scores = w;
            const Tile tile = c.seen.tile(head, first, queries, keys);
            encodings.bias_backward(d_scores.view(), tile, c.gradient(first, queries, keys), of_layer());
            EXPECT_EQ(d_scores.values(), w.values());
        }
        const auto loss = [&] {
            double sum = 0;
            for (const int head : heads)
                for (int i = 0; i < queries; ++i)
                    for (int j = 0; j < keys; ++j)
                        if (subject.sees(first + i, j)) sum += w.view().row(i)[j] * c.bias(head, first + i, j);
            return sum;
        };
        expect_tile(loss, c);
    }
}

TEST_P(EncodingGradient, Rescore) {
    if (!acts(moment_rescore)) return;
    for (const Placing& placing : placings()) {
        SCOPED_TRACE(placing.name);
        start(placing);
        TileCase c(subject, layer, placing.ids);
        const int head = subject.dims.n_heads - 1, query = c.seen.n - 2,
                  keys = subject.sees(0, c.seen.n - 1) ? c.seen.n : query + 1;
        Tile tile = c.seen.tile(head, query, 1, keys);
        InnerRows scores(1, keys, 5), w(1, keys, 6), before = scores;
        std::vector<double> input = scores.row(0), hidden = input;
        const auto row = static_cast<std::size_t>(query);
        c.exact.rescore(hidden, c.seen.head, c.seen.exact, row);
        for (int j = 0; j < keys; ++j)
            if (std::isinf(hidden[j])) w.view().row(0)[j] = 0; // the gradient of a weight of 0
        InnerRows d_scores = w;
        Gradients gradient = c.gradient(query, 1, keys);
        float number = 0, d_number = 0, d_sink = acts(moment_sink) ? 0.7f : 0;
        if (acts(moment_sink)) { // of the same encoding
            tile.rescored = &number;
            gradient.rescored = &d_number;
            encodings.rescore(InnerRows(scores).view(), tile);
            encodings.sink_backward(d_sink, tile, gradient, of_layer());
        }
        encodings.rescore_backward(d_scores.view(), scores.view(), tile, gradient, of_layer());
        EXPECT_EQ(scores.values(), before.values());
        EXPECT_TRUE(d_scores.guarded());
        const auto loss = [&] {
            std::vector<double> out = input;
            const double sink = c.exact.rescore(out, c.seen.head, c.seen.exact, row);
            double sum = d_sink == 0 ? 0 : static_cast<double>(d_sink) * sink;
            for (int j = 0; j < keys; ++j)
                if (w.view().row(0)[j] != 0) sum += out[j] * static_cast<double>(w.view().row(0)[j]);
            return sum;
        };
        expect_gradient(loss, {&input, 1}, {d_scores.row(0)}, "score");
        expect_tile(loss, c);
    }
}

TEST_P(EncodingGradient, Mix) {
    if (!acts(moment_mix)) return;
    for (const Placing& placing : placings()) {
        SCOPED_TRACE(placing.name);
        start(placing);
        TileCase c(subject, layer, placing.ids);
        const int head = subject.dims.n_heads - 1, keys = c.seen.n, queries = placing.queries, first = keys - queries;
        const Tile tile = c.seen.tile(head, first, queries, keys);
        InnerRows weights(queries, keys, 5), d_weights = weights, d_out(queries, subject.dims.d_head, 6),
                                             before = d_out;
        subject.hide(weights, first);
        d_weights.fill(there);
        encodings.mix_backward(d_out.view(), weights.view(), d_weights.view(), tile, c.gradient(first, queries, keys),
                               of_layer());
        EXPECT_EQ(d_out.values(), before.values());
        LayerOracles::Vectors input = weights.all();
        subject.hide(d_weights, first, there); // never read
        const auto loss = [&] {
            double sum = 0;
            for (int i = 0; i < queries; ++i) {
                std::vector<double> out(static_cast<std::size_t>(subject.dims.d_head));
                for (int j = 0; j < keys; ++j)
                    if (subject.sees(first + i, j))
                        c.exact.mix(out, input[i][j], c.seen.head, c.seen.exact, static_cast<std::size_t>(first + i),
                                    static_cast<std::size_t>(j));
                sum += dot(out, d_out.row(i));
            }
            return sum;
        };
        expect_rows(loss, input, d_weights, "weights of");
        expect_tile(loss, c);
    }
}

// Sinks of encodings without RESCORE.
TEST_P(EncodingGradient, Sink) {
    if (!acts(moment_sink) || acts(moment_rescore)) return;
    TileCase c(subject, layer, at);
    const int query = n - 2;
    for (int head = 0; head < subject.dims.n_heads; ++head)
        encodings.sink_backward(static_cast<float>(1 + head), c.seen.tile(head, query, 1, 0), c.gradient(query, 1, 0),
                                of_layer());
    const auto loss = [&] {
        double sum = 0;
        for (int head = 0; head < subject.dims.n_heads; ++head) {
            c.seen.head.head = head;
            sum += (1 + head) * c.exact.sink(c.seen.head, c.seen.exact, static_cast<std::size_t>(query));
        }
        return sum;
    };
    expect_tile(loss, c);
}

// FIRE's units and the shift of PoPE have kinks at their limits, and a scale of 0 leaves nothing of a query.
std::vector<EncodingCase> smooth_cases() {
    std::vector<EncodingCase> some = cases_with_limits();
    std::erase_if(some, [](const EncodingCase& c) {
        return c.at_limits &&
               (c.spec.starts_with("fire") || c.spec.starts_with("pope") || c.spec.starts_with("log-scale"));
    });
    return some;
}

INSTANTIATE_TEST_SUITE_P(All, EncodingGradient, testing::ValuesIn(smooth_cases()), encoding_case_name);

} // namespace oracle_gradient_test
} // namespace ordo
