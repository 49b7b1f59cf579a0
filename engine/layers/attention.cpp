// SPDX-License-Identifier: MIT
#include "layers/attention_tile.h"

#include "core/parallel.h"
#include "kernels/kernels.h"
#include "ops/norm.h"

#include <algorithm>

namespace ordo {
namespace {

int columns_for(const AttentionShape& shape, int capacity) {
    constexpr int slab = KvCache::slab;
    // A tile of queries sees window + tile - 1 keys, which may begin and end inside a slab.
    if (shape.window != 0 && shape.window < capacity)
        capacity = std::min(capacity, shape.window + AttentionScratch::tile + 2 * slab);
    return (capacity + slab - 1) / slab * slab;
}
int columns_for(std::span<const AttentionShape> shapes, int capacity) {
    int most = 0;
    for (const AttentionShape& shape : shapes) most = std::max(most, columns_for(shape, capacity));
    return most;
}

// The maximum number of chunks of keys that a tile of queries sees.
int spans_for(int columns, int capacity) {
    return std::min((capacity + keys_of_span - 1) / keys_of_span, columns / keys_of_span + 2);
}

// Rows of averages for each thread: the rows of its tile, or heads where threads share the chunks of a query.
int rows_of_slot(std::span<const AttentionShape> shapes) {
    int most = AttentionScratch::tile;
    for (const AttentionShape& shape : shapes) most = std::max(most, shape.n_heads / shape.n_kv_heads);
    return most;
}

std::size_t query_bytes(std::span<const AttentionShape> shapes) {
    return (CacheFormat::query_bytes(AttentionScratch::tile, shapes.front().d_head) + 63) / 64 * 64;
}

} // namespace

AttentionShape attention_shape(const Program& program) {
    const LayerPlan& plan = program.plan;
    const LayerSizes& s = program.sizes;
    return {s.n_heads, s.n_kv_heads, s.d_head, program.score_scale(), plan.mask, plan.window, plan.attention_softcap};
}

AttentionShape cross_attention_shape(const Program& program) {
    const LayerSizes& s = program.sizes;
    AttentionShape shape{s.n_heads, s.n_kv_heads, s.d_head, program.score_scale(), Mask::bidirectional};
    shape.cross = true;
    return shape;
}

std::vector<AttentionShape> attention_shapes(std::span<const Program> programs) {
    std::vector<AttentionShape> shapes;
    for (const Program& program : programs) shapes.push_back(attention_shape(program));
    for (const Program& program : programs)
        if (program.memory >= 0) shapes.push_back(cross_attention_shape(program));
    return shapes;
}

// ---- Scratch -------------------------------------------------------------------------------------

AttentionScratch::AttentionScratch(std::span<const AttentionShape> shapes, unsigned reads, int capacity,
                                   std::size_t passing_floats)
    : query_bytes_(query_bytes(shapes)), slots_(thread_count()), columns_(columns_for(shapes, capacity)),
      spans_(spans_for(columns_, capacity)), d_head_(shapes.front().d_head) {
    const auto slots = static_cast<std::size_t>(slots_), columns = slots * static_cast<std::size_t>(columns_);
    scores_ = Buffer<float>(columns * tile, Contents::any);
    if (reads & reads_keys) keys_ = Buffer<float>(columns * static_cast<std::size_t>(d_head_), Contents::any);
    queries_ = Buffer<std::byte>(slots * query_bytes_, Contents::any);
    rows_ = slots_ * rows_of_slot(shapes);
    const std::size_t rows = slots * static_cast<std::size_t>(rows_of_slot(shapes)),
                      of_spans = rows * static_cast<std::size_t>(spans_);
    averages_ = Buffer<float>(of_spans * static_cast<std::size_t>(d_head_), Contents::any);
    weights_ = Buffer<float>(of_spans, Contents::any);
    states_ = Buffer<float>(passing_floats, Contents::any);
}

View AttentionScratch::averages(int first, int rows, int span) {
    return view(averages_.data() + (std::ptrdiff_t{span} * rows_ + first) * d_head_, rows, d_head_);
}
float* AttentionScratch::weights(int row) {
    return weights_.data() + std::ptrdiff_t{row} * spans_;
}
View AttentionScratch::scores(int slot, int rows, int keys) {
    return {scores_.data() + static_cast<std::ptrdiff_t>(slot) * tile * columns_, rows, keys,
            std::min(columns_, row_distance(keys))};
}
View AttentionScratch::unbiased(int slot, int rows, int keys) {
    return {unbiased_.data() + static_cast<std::ptrdiff_t>(slot) * tile * columns_, rows, keys, columns_};
}
View AttentionScratch::keys(int slot, int keys) {
    if (keys_.size() == 0) return {};
    return view(keys_.data() + static_cast<std::ptrdiff_t>(slot) * columns_ * d_head_, keys, d_head_);
}
std::byte* AttentionScratch::queries(int slot) {
    return queries_.data() + static_cast<std::size_t>(slot) * query_bytes_;
}

// ---- One sequence of the batch -------------------------------------------------------------------

namespace {

// The rows of one sequence, which begin at row `top` of qkv and out.
class PartJob {
public:
    PartJob(const AttentionLayer& layer, const Part& part, int number, int top, View qkv, View states, View out)
        : tile_{layer, part, cols_of(rows_of(qkv, top, part.rows), 0, layer.shape.n_heads * layer.shape.d_head),
                rows_of(out, top, part.rows), states.data ? rows_of(states, top, part.rows) : View{}},
          qkv_(rows_of(qkv, top, part.rows)), group_(layer.shape.n_heads / layer.shape.n_kv_heads), number_(number) {}

    // Encodes the positions of the queries and keys of some rows and key/value heads, and stores keys and values in the
    // cache.
    void enter(int row, int rows, int kv_head, int heads) const {
        const AttentionShape& shape = tile_.shape();
        if (shape.cross) return; // its memory holds them already
        const LayerEncodings& encodings = tile_.layer.encodings;
        const int e = shape.d_head, q_width = shape.n_heads * e, kv_width = shape.n_kv_heads * e;
        const View all = rows_of(qkv_, row, rows);
        const View q = cols_of(all, kv_head * group_ * e, heads * group_ * e);
        const View k = cols_of(all, q_width + kv_head * e, heads * e);
        const View v = cols_of(all, q_width + kv_width + kv_head * e, heads * e);
        const Part& part = tile_.part;
        const int layer = tile_.layer.index;
        if (encodings.moments() & moment_rotate) {
            const Positions at = part.cache->positions(part.first + row, rows);
            const View state = tile_.states_of(row, rows);
            encodings.rotate(q, {layer, kv_head * group_, heads * group_, Role::query, at, state});
            encodings.rotate(k, {layer, kv_head, heads, Role::key, at, state});
            if (encodings.rotates(Role::value)) encodings.rotate(v, {layer, kv_head, heads, Role::value, at, state});
        }
        if (tile_.layer.q_norm.data) {
            normalise(q, tile_.layer.q_norm);
            normalise(k, tile_.layer.k_norm);
        }
        part.cache->store(layer, kv_head, part.first + row, k, v);
    }

    // Computes a tile of queries of one head.
    void gather(int row, int rows, int head, AttentionScratch& scratch, int slot) const {
        run({head, 1, row, rows}, scratch, slot);
    }

    // For a single row: the number of chunks of its keys that threads may share.
    int spans() const { return tile_.whole_rows() || tile_.layer.watch ? 1 : spans_of(tile_.seen(0)); }
    void gather_span(int head, int heads, int span, AttentionScratch& scratch, int slot) const {
        if (span < spans()) tile_.average({head, heads, 0, 1}, span, row_of(head), scratch, slot);
    }
    void combine(int head, AttentionScratch& scratch, int slot) const {
        tile_.combine({head, 1, 0, 1}, 0, row_of(head), scratch, slot);
        leave({head, 1, 0, 1});
    }

    // Computes one row's query heads that share a key/value head, from start to end.
    void decode(int kv_head, AttentionScratch& scratch, int slot) const {
        enter(0, 1, kv_head, 1);
        for (int head = 0; head < group_; head += AttentionScratch::tile)
            run({kv_head * group_ + head, std::min(AttentionScratch::tile, group_ - head), 0, 1}, scratch, slot);
    }

private:
    // QkNorm::rotated: the heads of each row.
    void normalise(View x, View weight) const {
        for (int row = 0; row < x.rows; ++row) {
            const View heads = view(x.row(row), x.cols / weight.cols, weight.cols);
            rms_norm(heads, weight, tile_.layer.norm_eps, heads);
        }
    }
    void run(const Queries& some, AttentionScratch& scratch, int slot) const {
        tile_.run(some, scratch, slot);
        leave(some);
    }
    // Encodes the positions of outputs.
    void leave(const Queries& some) const {
        const LayerEncodings& encodings = tile_.layer.encodings;
        if (!encodings.rotates(Role::output)) return;
        const int e = tile_.shape().d_head;
        const Part& part = tile_.part;
        encodings.rotate(cols_of(rows_of(tile_.out, some.row, some.rows), some.head * e, some.heads * e),
                         {tile_.layer.index, some.head, some.heads, Role::output,
                          part.cache->positions(part.first + some.row, some.rows),
                          tile_.states_of(some.row, some.rows)});
    }
    int row_of(int head) const { return number_ * tile_.shape().n_heads + head; }

    TileJob tile_;
    View qkv_;
    int group_;  // query heads for each key/value head
    int number_; // of the sequence in the batch
};

// For sequences with one row each.
void decode(const AttentionLayer& layer, std::span<const Part> parts, View qkv, View states, AttentionScratch& scratch,
            View out, const Then& then) {
    const auto job = [&](std::ptrdiff_t row) {
        const int i = static_cast<int>(row);
        return PartJob(layer, parts[row], i, i, qkv, states, out);
    };
    const std::ptrdiff_t n = qkv.rows, kv_heads = layer.shape.n_kv_heads, heads = layer.shape.n_heads;
    int most_spans = 0;
    for (std::ptrdiff_t row = 0; row < n; ++row) most_spans = std::max(most_spans, job(row).spans());
    if (most_spans == 1 || n * kv_heads >= scratch.slots()) {
        parallel_for_slots(
            n * kv_heads, scratch.slots(),
            [&](std::ptrdiff_t i, int slot) {
                job(i / kv_heads).decode(static_cast<int>(i % kv_heads), scratch, slot);
            },
            n == 1 ? Cost::equal : Cost::different, then);
        return;
    }
    parallel_for_slots(n * kv_heads, scratch.slots(), [&](std::ptrdiff_t i, int) {
        job(i / kv_heads).enter(0, 1, static_cast<int>(i % kv_heads), 1);
    });
    // Few enough heads at once that each thread gets a part of every chunk.
    const std::ptrdiff_t group = heads / kv_heads;
    const std::ptrdiff_t at_once = std::clamp<std::ptrdiff_t>(group / scratch.slots(), 1, AttentionScratch::tile);
    const std::ptrdiff_t some = (group + at_once - 1) / at_once; // groups of heads for each key/value head
    parallel_for_slots(n * kv_heads * some * most_spans, scratch.slots(), [&](std::ptrdiff_t i, int slot) {
        const std::ptrdiff_t of_group = i / most_spans % some * at_once, kv = i / most_spans / some;
        job(kv / kv_heads)
            .gather_span(static_cast<int>(kv % kv_heads * group + of_group),
                         static_cast<int>(std::min(at_once, group - of_group)), static_cast<int>(i % most_spans),
                         scratch, slot);
    });
    parallel_for_slots(
        n * heads, scratch.slots(),
        [&](std::ptrdiff_t i, int slot) { job(i / heads).combine(static_cast<int>(i % heads), scratch, slot); },
        Cost::equal, then);
}

// Running sums need the tokens in order, so threads share the loops of one sequence, or each takes whole sequences.
// states: of all rows, or no data if the cache keeps them.
void observe(const AttentionLayer& layer, std::span<const Part> parts, View normed, View states) {
    const auto kept = [&](const Part& part) { return part.cache->state(layer.index, part.first, part.rows); };
    const auto own = [&](std::ptrdiff_t i) {
        const Part& part = parts[i];
        const View rows = rows_of(normed, static_cast<int>(i) * part.rows, part.rows);
        const View before = part.first == 0 ? View{} : part.cache->state(layer.index, part.first - 1, 1);
        layer.encodings.observe(rows, part.cache->positions(part.first, part.rows), before.data,
                                states.data ? rows_of(states, static_cast<int>(i) * part.rows, part.rows) : kept(part));
    };
    const auto keep = [&](std::ptrdiff_t row) {
        const Part& part = parts[row / parts[0].rows];
        std::copy_n(states.row(static_cast<int>(row)), layer.encodings.observed_floats(),
                    kept(part).row(static_cast<int>(row) % part.rows));
    };
    constexpr int least = 32; // rows; fewer are not worth the loops
    if (parts.size() == 1 && parts[0].rows >= least && layer.encodings.observes_in_loops()) {
        own(0);
        if (states.data) parallel_for(states.rows, least, keep);
        return;
    }
    parallel_for(static_cast<std::ptrdiff_t>(parts.size()), 1, [&](std::ptrdiff_t i) {
        own(i);
        for (int row = 0; states.data && row < parts[i].rows; ++row) keep(i * parts[i].rows + row);
    });
}

} // namespace

void attention(const AttentionLayer& layer, std::span<const Part> parts, View qkv, View normed,
               AttentionScratch& scratch, View out, const Then& then) {
    const LayerEncodings& encodings = layer.encodings;
    const View states = encodings.kept_floats() < encodings.state_floats()
                            ? scratch.states(qkv.rows, encodings.state_floats())
                            : View{};
    if (encodings.moments() & moment_observe) observe(layer, parts, normed, states);
    const int n = parts.front().rows; // of each sequence
    if (n == 1) return decode(layer, parts, qkv, states, scratch, out, then);
    const auto job = [&](std::ptrdiff_t part) {
        const int i = static_cast<int>(part);
        return PartJob(layer, parts[part], i, i * n, qkv, states, out);
    };
    const auto count = static_cast<std::ptrdiff_t>(parts.size());
    constexpr int rows_at_once = 16;
    const int strips = (n + rows_at_once - 1) / rows_at_once;
    parallel_for(count * strips, std::max(1, 8192 / (rows_at_once * qkv.cols)), [&](std::ptrdiff_t i) {
        const int row = static_cast<int>(i % strips) * rows_at_once;
        job(i / strips).enter(row, std::min(rows_at_once, n - row), 0, layer.shape.n_kv_heads);
    });
    constexpr int tile = AttentionScratch::tile;
    const int tiles = (n + tile - 1) / tile, heads = layer.shape.n_heads;
    // Later tiles see more keys. They go first, so that no thread ends with the longest alone. If all threads
    // can have as many sequences, each takes whole ones: their rows are in its cache.
    const bool apart = count % scratch.slots() == 0;
    const std::ptrdiff_t round = apart ? heads : count * heads; // a tile of each
    parallel_for_slots(
        count * tiles * heads, scratch.slots(),
        [&](std::ptrdiff_t i, int slot) {
            const std::ptrdiff_t of_part = apart ? i / (tiles * heads) * heads + i % heads : i % round;
            const int row = (tiles - 1 - static_cast<int>(i / round % tiles)) * tile;
            job(of_part / heads).gather(row, std::min(tile, n - row), static_cast<int>(of_part % heads), scratch, slot);
        },
        apart ? Cost::equal : Cost::different, then);
}

bool attends_by_heads(const AttentionLayer& layer, const Part& part, const AttentionScratch& scratch) {
    const LayerEncodings& encodings = layer.encodings;
    if (part.rows != 1 || encodings.moments() & moment_observe || encodings.state_floats() != 0) return false;
    const int threads = std::min(scratch.slots(), thread_count()), heads = layer.shape.n_kv_heads;
    return heads >= 4 * threads || heads % threads == 0;
}

void attend_head(const AttentionLayer& layer, const Part& part, View qkv, int kv_head, AttentionScratch& scratch,
                 int slot, View out) {
    PartJob(layer, part, 0, 0, qkv, {}, out).decode(kv_head, scratch, slot);
}

} // namespace ordo
