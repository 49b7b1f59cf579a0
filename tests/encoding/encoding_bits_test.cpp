// SPDX-License-Identifier: MIT
// For every registered encoding, neither threads, tables, tiles nor further axes of a text's positions change a bit of
// its results or gradients.
#include "core/parallel.h"
#include "encoding/base/distance_table.h"
#include "kernels/kernels.h"
#include "tests/encoding/subject.h"

#include <atomic>

namespace ordo {
namespace encoding_bits_test {

// The inputs for every moment of an encoding, on n rows.
struct Work {
    static constexpr int tile_rows = 16;

    Work(const Subject& subject, int n, int first_position)
        : x(n, subject.dims.d_model, 3), dx(n, subject.dims.d_model, 6),
          q(n, subject.dims.n_heads * subject.dims.d_head, 4), dq(n, subject.dims.n_heads * subject.dims.d_head, 8),
          scores(tile_rows, n, 5), out(tile_rows, subject.dims.d_head, 9) {
        const int reach = std::min(subject.stack.limits().given(), 5000);
        for (int i = 0; i < n; ++i) ids.push_back((first_position + 3 * i) % reach);
        segments = subject.segments(ids.size());
    }
    Positions positions() const { return {ids, axes}; }
    Work on_axes(int count) const {
        Work same = *this;
        same.axes = count;
        same.ids.clear();
        for (const int id : ids) same.ids.insert(same.ids.end(), static_cast<std::size_t>(count), id);
        return same;
    }
    std::vector<int> ids, segments;
    int axes = 1;
    InnerRows x, dx, q, dq, scores, out;
};

// All results of the encoding, as one list of numbers.
std::vector<float> everything(Subject& subject, Work work) {
    const ModelEncodings& stack = subject.stack;
    const LayerEncodings& encodings = stack.layer(0);
    const int n = static_cast<int>(work.positions().size()), first = n - Work::tile_rows,
              width = encodings.state_floats();
    const TokenRows rows{work.positions(), work.segments};
    std::vector<Tensor> grads = subject.zeros();
    const std::vector<View> views = views_of(grads);
    const TensorGradients of_layer = stack.gradients_of_layer(0, views);
    const unsigned backward = encodings.backward_moments();
    for (std::size_t i = 0; i < stack.items().size(); ++i)
        if (stack.items()[i]->moments() & moment_embed)
            stack.items()[i]->embed_backward(work.dx.view(), work.x.view(), rows,
                                             {.tensors = stack.gradients_of_item(static_cast<int>(i), views)});
    stack.embed(work.x.view(), rows);
    InnerRows state(n, std::max(width, 1), 13), d_state = state, d_input(n, subject.dims.d_model, 15);
    if (width > 0) encodings.observe(work.x.view(), work.positions(), nullptr, state.view());
    const HeadRows queries{
        0, 0, subject.dims.n_heads, Role::query, work.positions(), width > 0 ? state.view() : View{}};
    encodings.rotate(work.q.view(), queries);
    if (backward & moment_rotate)
        encodings.rotate_backward(work.dq.view(), work.q.view(), queries, width > 0 ? d_state.view() : View{},
                                  of_layer);
    if (width > 0) {
        encodings.observe_backward(d_state.view(), work.x.view(), work.positions(), state.view(), d_input.view(),
                                   of_layer);
    }
    // The last queries of head 1, and all keys.
    InnerRows k(n, subject.dims.d_head, 16), dk = k, d_tile_q = work.out;
    Tile tile{.head = 1, .scale = 0.4f, .first_query = first};
    tile.queries = work.positions().subspan(first, Work::tile_rows);
    tile.keys = work.positions();
    tile.q = k.rows(first, Work::tile_rows);
    tile.k = k.view();
    Gradients gradient{d_tile_q.view(), dk.view(), {}, {}, {}};
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
    last.queries = work.positions().subspan(static_cast<std::size_t>(n) - 1, 1);
    last.q = k.rows(n - 1, 1);
    if (width > 0) last.query_state = state.rows(n - 1, 1);
    Gradients of_last = gradient;
    of_last.q = d_tile_q.rows(0, 1);
    if (width > 0) of_last.query_state = d_state.rows(n - 1, 1);
    InnerRows row(1, n, 17), d_row(1, n, 18);
    if (backward & moment_rescore) encodings.rescore_backward(d_row.view(), row.view(), last, of_last, of_layer);
    encodings.rescore(row.view(), last);

    std::vector<float> all;
    for (InnerRows* block : {&work.x, &work.dx, &work.q, &work.dq, &work.scores, &work.out, &state, &d_state, &d_input,
                             &dk, &d_tile_q, &d_weights, &row, &d_row})
        for (const float value : block->values()) all.push_back(value);
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

// After a training step the tensors have other values, and prepare() is called again.
TEST_P(EncodingTables, FollowTheTensors) {
    Subject early(GetParam(), 40), late(GetParam(), 0);
    for (Subject* subject : {&early, &late}) {
        for (Tensor& tensor : subject->storage)
            for (std::size_t i = 0; i < tensor.size(); ++i) tensor.data()[i] *= -0.5f;
        subject->stack.bind(views_of(subject->storage));
        subject->stack.prepare(40);
    }
    const Work work(early, 64, 5);
    EXPECT_TRUE(everything(early, work) == everything(late, work));
}

// With kernels that fuse a product and a sum, ALiBi's sums in one axis round once, and in several axes twice.
TEST_P(EncodingTables, AxesOfATextChangeNoBit) {
    const Kernels& plain = *available_kernels().front();
    if (std::string_view(plain.name) != "baseline") GTEST_SKIP() << "all sets fuse products and sums";
    select_kernels(plain);
    Subject subject(GetParam(), 40);
    const Work work(subject, 64, 5);
    EXPECT_TRUE(everything(subject, work.on_axes(3)) == everything(subject, work));
    select_kernels("auto");
}

// The result of a query depends neither on the other queries of its tile nor, for scores, on the first key.
TEST_P(EncodingTables, TilesChangeNoBit) {
    const Subject subject(GetParam(), 40);
    const LayerEncodings& encodings = subject.stack.layer(1);
    for (const Placing& placing : subject.placings()) {
        Seen seen(subject, LayerOracles(subject, 1, placing.ids), 1, placing.ids);
        const int n = seen.n, first = n - placing.queries, e = subject.dims.d_head;
        InnerRows all(placing.queries, n, 5), out(placing.queries, e, 6), weights(placing.queries, n, 7);
        for (int i = 0; i < placing.queries; ++i)
            std::fill(weights.view().row(i) + first + i + 1, weights.view().row(i) + n, 0.0f);
        const InnerRows scores = all, zero = out;
        const Tile whole = seen.tile(1, first, placing.queries, n);
        encodings.bias(all.view(), whole);
        encodings.mix(out.view(), weights.view(), whole);
        for (int i = 0; i < placing.queries; ++i) {
            InnerRows one = scores, row = zero;
            const int keys = first + i + 1, from = i % 3;
            Tile tile = seen.tile(1, first + i, 1, keys);
            encodings.mix(row.rows(i, 1), cols_of(weights.rows(i, 1), 0, keys), tile);
            tile.first_key = from;
            tile.keys = tile.keys.subspan(from, keys - from);
            for (View* part : {&tile.k, &tile.key_state})
                if (part->data) *part = rows_of(*part, from, keys - from);
            encodings.bias(cols_of(one.rows(i, 1), from, keys - from), tile);
            const std::vector<double> found = one.row(i), expected = all.row(i);
            ASSERT_TRUE(std::equal(found.begin() + from, found.begin() + keys, expected.begin() + from))
                << placing.name << ", query " << i;
            ASSERT_EQ(row.row(i), out.row(i)) << placing.name << ", query " << i;
        }
    }
}

std::vector<EncodingCase> along_one_axis() {
    std::vector<EncodingCase> some;
    for (const EncodingCase& c : encoding_cases())
        if (c.axes == 1) some.push_back(c);
    return some;
}

INSTANTIATE_TEST_SUITE_P(All, EncodingTables, testing::ValuesIn(along_one_axis()), encoding_case_name);

// ---- The size of a table by distance ---------------------------------------------------------------

TEST(DistanceTable, KeepsItsGreatestLength) {
    std::atomic<int> calls = 0;
    DistanceTable table(2, false, [&](int, std::int64_t distance) { return ++calls, static_cast<float>(distance); });
    table.prepare(100);
    table.prepare(10);
    calls = 0;
    EXPECT_EQ(table.value(1, 99), 99);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(table.value(0, 100), 100);
    EXPECT_EQ(calls, 1);
}

TEST(DistanceTable, IsBoundedInMemory) {
    DistanceTable table(1 << 14, true, [](int row, std::int64_t) { return static_cast<float>(row); });
    table.prepare(1 << 22); // 2^14 x 2^23 floats would be 512 GiB
    EXPECT_EQ(table.value(5, 4000000), 5);
}

} // namespace encoding_bits_test
} // namespace ordo
