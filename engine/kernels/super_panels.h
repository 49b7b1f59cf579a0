// SPDX-License-Identifier: MIT
// Products with weights in blocks of 256 (q4_K, q5_K, q6_K), included after rare_panels.h. A panel's block interleaves
// the blocks of 32 rows of a file (io/blocks.h) by words of four bytes. word(block, i, v) is the i-th word of vector v
// of the outputs.

namespace {

// Rows of activations, positioned at one of their blocks.
template <int ROWS>
struct Activations {
    const signed char* q[ROWS];
    const float* scale[ROWS];
    const int *sum[ROWS], *first_sum[ROWS];

    Activations(const QuantRows& x, int row) {
        for (int r = 0; r < ROWS; ++r) {
            const std::ptrdiff_t blocks = static_cast<std::ptrdiff_t>(row + r) * (x.cols / 32);
            q[r] = x.values + blocks * 32;
            scale[r] = x.scales + blocks;
            sum[r] = x.sums + blocks;
            first_sum[r] = x.first_sums + blocks;
        }
    }
    void advance() { // by 256
        for (int r = 0; r < ROWS; ++r) {
            q[r] += 256;
            scale[r] += 8;
            sum[r] += 8;
            first_sum[r] += 8;
        }
    }
};

// Shifts all bits, so that the bit at FROM gets to TO.
template <int FROM, int TO>
inline words moved(words w) {
    if constexpr (FROM >= TO)
        return w >> (FROM - TO);
    else
        return w << (TO - FROM);
}

// f<FIRST>(), ..., f<LAST - 1>()
template <int FIRST, int LAST, class F>
[[gnu::always_inline]] inline void each(const F& f) {
    if constexpr (FIRST < LAST) {
        f.template operator()<FIRST>();
        each<FIRST + 1, LAST>(f);
    }
}

// For many rows.
template <class Block>
inline void unpack_super(const std::byte* block, int first, Unpacked& to) {
    static_assert(Block::groups == Unpacked::most_groups); // first is 0
    Block::factors(block, to);
    each<0, Block::groups>([&]<int GROUP>() {
        for (int i = 0; i < 8; ++i)
            for (int v = 0; v < panel_vectors; ++v)
                store_word(to.levels[first + GROUP], i, v, Block::template level<GROUP>(block, i, v));
    });
}

// q4_K and q5_K: x = d s l - dmin m, s and m of six bits for each 32 weights.
template <bool FIVE>
struct K45Block {
    static constexpr int halves = 128, levels = FIVE ? 11 : 3, bytes = halves + 128 * (levels + 32);
    static constexpr int groups = 8, scales = 1, minima = 1, most = FIVE ? 31 : 15, offset = 0;
    static words word(const std::byte* block, int i, int v) {
        return load_words(block + halves + 128 * i + 4 * lanes * v);
    }
    // The I-th of eight scales: for I < 4 six bits of a, else four bits of b and two of a.
    template <int I>
    static words scale(words a, words b) {
        if constexpr (I < 4)
            return (a >> (8 * I)) & 63u;
        else
            return ((b >> (8 * I - 32)) & 15u) | (moved<8 * I - 26, 4>(a) & 0x30u);
    }
    template <int PARTS>
    static void factors(const std::byte* block, Factors<PARTS>& f) {
        for (int v = 0; v < panel_vectors; ++v) {
            const words a = word(block, 0, v), b = word(block, 1, v), c = word(block, 2, v);
            const auto* const halfs = reinterpret_cast<const half_t*>(block) + lanes * v;
            const floats d = load(halfs), dmin = load(halfs + panel_outputs);
            const auto set = [&]<int I>() {
                f.scale[I][v] = d * as_floats(scale<I>(a, c));
                f.least[I][v] = dmin * as_floats(scale<I>(b, c >> 4));
            };
            each<0, groups>(set);
        }
    }
    // Four weights of a group of 32, the i-th of eight.
    template <int GROUP>
    static words level(const std::byte* block, int i, int v) {
        const words four = (word(block, levels + GROUP / 2 * 8 + i, v) >> (GROUP % 2 * 4)) & low_nibbles;
        if constexpr (FIVE) return four | (moved<GROUP, 4>(word(block, 3 + i, v)) & 0x10101010u);
        return four;
    }
    static void unpack(const std::byte* block, int first, Unpacked& to) { unpack_super<K45Block>(block, first, to); }
};

// q6_K: x = d s (l - 32), s signed, for each 16 weights. In each half of a block, a word holds four weights and the
// four weights 64 further.
struct K6Block {
    static constexpr int halves = 64, high_bits = 32, scale_bytes = 48, bytes = halves + 128 * 52;
    static constexpr int groups = 8, scales = 2, minima = 0, most = 63, offset = 32;
    static words word(const std::byte* block, int i, int v) {
        return load_words(block + halves + 128 * i + 4 * lanes * v);
    }
    template <int PARTS>
    static void factors(const std::byte* block, Factors<PARTS>& f) {
        for (int v = 0; v < panel_vectors; ++v) {
            const floats d = load(reinterpret_cast<const half_t*>(block) + lanes * v);
            const auto set = [&]<int I>() { // a signed byte
                const auto on_top = reinterpret_cast<ints>(moved<8 * (I % 4), 24>(word(block, scale_bytes + I / 4, v)));
                f.scale[I][v] = d * as_floats(reinterpret_cast<words>(on_top >> 24));
            };
            each<0, 2 * groups>(set);
        }
    }
    template <int GROUP>
    static words level(const std::byte* block, int i, int v) {
        constexpr int half = GROUP / 4, quarter = GROUP % 4;
        const words four = word(block, 16 * half + quarter % 2 * 8 + i, v) >> (quarter / 2 * 4);
        return (four & low_nibbles) | (moved<2 * quarter, 4>(word(block, high_bits + 8 * half + i, v)) & 0x30303030u);
    }
    static void unpack(const std::byte* block, int first, Unpacked& to) { unpack_super<K6Block>(block, first, to); }
};

// For few rows, levels are unpacked in registers. A part of a block has a scale of its own.
template <class Block, int PART, int PARTS, int ROWS>
[[gnu::always_inline]] inline void add_part(const std::byte* block, const Factors<PARTS>& f, const Activations<ROWS>& x,
                                            floats (&total)[ROWS][panel_vectors]) {
    constexpr int group = PART / Block::scales, number = PART % Block::scales, some = 8 / Block::scales; // words
    Bytes acc[ROWS][panel_vectors];
    for (int r = 0; r < ROWS; ++r) {
        const int half = Block::scales == 1 ? x.sum[r][group] : x.first_sum[r][group];
        const int sum = number == 0 ? half : x.sum[r][group] - half;
        for (int v = 0; v < panel_vectors; ++v) acc[r][v] = splat_word(-Block::offset * sum);
    }
    const auto level = [&](int i, int v) {
        return reinterpret_cast<Bytes>(Block::template level<group>(block, some * number + i, v));
    };
    const auto place = [](int i) { return 32 * group + 4 * (some * number + i); };
    dot_words<Block::most, some>(level, place, x.q, acc);
    for (int r = 0; r < ROWS; ++r) {
        const float scale = x.scale[r][group], sum = scale * static_cast<float>(x.sum[r][group]);
        for (int v = 0; v < panel_vectors; ++v) {
            total[r][v] += to_floats(acc[r][v]) * (f.scale[PART][v] * scale);
            if (Block::minima == 1) total[r][v] -= f.least[group][v] * sum; // with a single scale
        }
    }
}

template <class Block, int ROWS>
inline int super_rows(int row, int rows, int k, const std::byte* w, const QuantRows& x, float* y, std::ptrdiff_t ldy,
                      int outputs) {
    for (; row + ROWS <= rows; row += ROWS) {
        prefetch_outputs<ROWS>(y + row * ldy, ldy);
        alignas(64) floats total[ROWS][panel_vectors] = {};
        Activations<ROWS> at(x, row);
        const std::byte* block = w;
        for (int b = 0; b < k / 256; ++b, block += Block::bytes) {
            constexpr int parts = 8 * Block::scales, lines = Block::bytes / 64;
            Factors<parts> f;
            Block::factors(block, f);
            each<0, parts>([&]<int PART>() { // few lines at a time: memory is read while the processor computes
                constexpr int first = lines * PART / parts, last = lines * (PART + 1) / parts;
                for (int i = first; i < last; ++i) __builtin_prefetch(block + blocks_ahead + 64 * i, 0, 2);
                add_part<Block, PART>(block, f, at, total);
            });
            at.advance();
        }
        for (int r = 0; r < ROWS; ++r) store_outputs(y + (row + r) * ldy, outputs, total[r]);
    }
    return row;
}

template <class Block>
void super_product(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes, const QuantRows& x,
                   float* y, std::ptrdiff_t ldy) {
    if (rows >= rows_at_once / 2) return unpacked_product<Block>(rows, outputs, k, w, panel_bytes, x, y, ldy);
    for (int at = 0; at < outputs; at += panel_outputs, w += panel_bytes) {
        const int left = outputs - at < panel_outputs ? outputs - at : panel_outputs;
        int row = super_rows<Block, whole_rows>(0, rows, k, w, x, y + at, ldy, left);
        if (whole_rows > 4) row = super_rows<Block, 4>(row, rows, k, w, x, y + at, ldy, left);
        if (whole_rows > 2) row = super_rows<Block, 2>(row, rows, k, w, x, y + at, ldy, left);
        super_rows<Block, 1>(row, rows, k, w, x, y + at, ldy, left);
    }
}

constexpr ordo::ByteLoops byte_loops{
    quant_product<Q8Block>,
    quant_product<Q4Block>,
    quant_product<Q5Block>,
    super_product<K45Block<false>>,
    super_product<K45Block<true>>,
    super_product<K6Block>,
    unpacked_product<Q1Block<false>>,
    unpacked_product<Q1Block<true>>,
    unpacked_product<Iq4NlBlock>,
    unpacked_product<K2Block>,
    unpacked_product<K3Block>,
    unpacked_product<Iq4XsBlock>,
    peak_bytes,
};

} // namespace

// A whole set: with body.h and slabs.h.
#define ORDO_KERNELS(name)                                                                                             \
    {                                                                                                                  \
        byte_loops, pair_loops, name, product, product_halves, dots, panel_product<F32Panel>, panel_product<F16Panel>, \
            panel_product<Bf16Panel>, peak_floats, quantise_row, exp_row, scale, add, add_value, sum_row, axpy, dot,   \
            rotate_adjacent, rotate_halves, subtract_distance, consecutive, sigmoid, softplus, cos_sin, silu,          \
            gelu_tanh, silu_grad, gelu_tanh_grad, adamw, walk, walk_backward                                           \
    }
