// SPDX-License-Identifier: MIT
// For every registered encoding alone, neither threads nor tables change a bit of its results or gradients.
#include "core/parallel.h"
#include "tests/encoding/subject.h"

namespace ordo {
namespace encoding_bits_test {

// The inputs for every moment of an encoding, on n rows.
struct Work {
    static constexpr int tile_rows = 16;

    Work(const Subject& subject, int n, int first_position)
        : x(n, subject.dims.d_model, 3), dx(n, subject.dims.d_model, 6),
          q(n, subject.dims.n_heads * subject.dims.d_head, 4), dq(n, subject.dims.n_heads * subject.dims.d_head, 8),
          scores(tile_rows, n, 5), out(tile_rows, subject.dims.d_head, 9) {
        const int reach = std::min(subject.stack.max_position(), 5000);
        for (int i = 0; i < n; ++i) ids.push_back((first_position + 3 * i) % reach);
        segments = subject.segments(ids.size());
    }
    std::vector<int> ids, segments;
    InnerRows x, dx, q, dq, scores, out;
};

// All results of the encoding, as one list of numbers.
std::vector<float> everything(Subject& subject, Work work) {
    const EncodingStack& stack = subject.stack;
    const LayerEncodings& encodings = stack.layer(0);
    const int n = static_cast<int>(work.ids.size()), first = n - Work::tile_rows, width = encodings.state_floats();
    const TokenRows rows{work.ids, work.segments};
    std::vector<Tensor> grads = subject.zeros();
    const std::vector<View> views = views_of(grads);
    const TensorGradients of_layer = stack.gradients_of_layer(0, views);
    const unsigned backward = encodings.backward_moments();
    std::vector<float> all;
    const auto keep = [&](InnerRows& block) {
        const std::vector<float> values = block.values();
        all.insert(all.end(), values.begin(), values.end());
    };

    for (std::size_t i = 0; i < stack.items().size(); ++i)
        if (stack.items()[i]->moments() & moment_embed)
            stack.items()[i]->embed_backward(work.dx.view(), work.x.view(), rows,
                                             stack.gradients_of_item(static_cast<int>(i), views));
    stack.embed(work.x.view(), rows);
    const HeadRows queries{0, 0, subject.dims.n_heads, Role::query, work.ids};
    encodings.rotate(work.q.view(), queries);
    if (backward & moment_rotate) encodings.rotate_backward(work.dq.view(), work.q.view(), queries, of_layer);

    InnerRows state(n, std::max(width, 1), 13), d_state = state, d_input(n, subject.dims.d_model, 15);
    if (width > 0) {
        encodings.observe(work.x.view(), work.ids, nullptr, state.view());
        encodings.observe_backward(d_state.view(), work.x.view(), work.ids, state.view(), d_input.view(), of_layer);
    }
    // The last queries of head 1, and all keys.
    InnerRows k(n, subject.dims.d_head, 16), dk = k, d_tile_q = work.out;
    Tile tile{.head = 1, .scale = 0.4f, .first_query = first};
    tile.queries = Positions(work.ids).subspan(first, Work::tile_rows);
    tile.keys = work.ids;
    tile.q = k.rows(first, Work::tile_rows);
    tile.k = k.view();
    TileGradient gradient{d_tile_q.view(), dk.view(), {}, {}, {}};
    if (width > 0) {
        tile.query_state = state.rows(first, Work::tile_rows);
        tile.key_state = state.view();
        gradient.query_state = d_state.rows(first, Work::tile_rows);
        gradient.key_state = d_state.view();
    }
    InnerRows weights = work.scores, d_weights = weights;
    encodings.bias(work.scores.view(), tile);
    if (backward & moment_bias) encodings.bias_backward(weights.view(), tile, gradient, of_layer);
    encodings.mix(work.out.view(), weights.view(), tile);
    if (backward & moment_mix)
        encodings.mix_backward(work.out.view(), weights.view(), d_weights.view(), tile, gradient, of_layer);
    // The last row alone.
    Tile last = tile;
    last.first_query = n - 1;
    last.queries = Positions(work.ids).subspan(static_cast<std::size_t>(n) - 1, 1);
    last.q = k.rows(n - 1, 1);
    if (width > 0) last.query_state = state.rows(n - 1, 1);
    TileGradient of_last = gradient;
    of_last.q = d_tile_q.rows(0, 1);
    if (width > 0) of_last.query_state = d_state.rows(n - 1, 1);
    InnerRows row(1, n, 17), d_row(1, n, 18);
    if (backward & moment_rescore) encodings.rescore_backward(d_row.view(), row.view(), last, of_last, of_layer);
    encodings.rescore(row.view(), last);

    for (InnerRows* block : {&work.x, &work.dx, &work.q, &work.dq, &work.scores, &work.out, &state, &d_state, &d_input,
                             &dk, &d_tile_q, &d_weights, &row, &d_row})
        keep(*block);
    for (Tensor& grad : grads) all.insert(all.end(), grad.data(), grad.data() + grad.size());
    return all;
}

class EncodingThreads : public testing::TestWithParam<EncodingCase> {};

TEST_P(EncodingThreads, ChangeNoBit) {
    EncodingCase wide = GetParam();
    wide.dims.d_model *= 8; // enough work to be split by rows and by columns
    wide.dims.n_heads *= 8;
    Subject subject(wide, 700);
    const Work work(subject, 420, 0);
    const int before = thread_count();
    set_threads(1);
    const std::vector<float> one = everything(subject, work);
    for (const int threads : {2, 3, 4, 8}) {
        set_threads(threads);
        EXPECT_TRUE(everything(subject, work) == one) << threads << " threads";
    }
    set_threads(before);
}

INSTANTIATE_TEST_SUITE_P(All, EncodingThreads, testing::ValuesIn(registered_cases(odd_dims)), encoding_case_name);

class EncodingTables : public testing::TestWithParam<EncodingCase> {};

TEST_P(EncodingTables, ChangeNoBit) {
    Subject none(GetParam(), 0), some(GetParam(), 40), all(GetParam(), 5000);
    const Work work(none, 64, 5);
    const std::vector<float> expected = everything(none, work);
    EXPECT_TRUE(everything(some, work) == expected);
    EXPECT_TRUE(everything(all, work) == expected);
    some.stack.prepare(5000); // tables grow
    some.stack.prepare(10);   // and do not shrink
    EXPECT_TRUE(everything(some, work) == expected);
}

std::vector<EncodingCase> along_one_axis() {
    std::vector<EncodingCase> some;
    for (const EncodingCase& c : encoding_cases())
        if (c.axes == 1) some.push_back(c);
    return some;
}

INSTANTIATE_TEST_SUITE_P(All, EncodingTables, testing::ValuesIn(along_one_axis()), encoding_case_name);

} // namespace encoding_bits_test
} // namespace ordo
