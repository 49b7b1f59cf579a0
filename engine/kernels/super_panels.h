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
    for (int of = first; of < Block::groups; of += Block::period)
        each<0, Block::period>([&]<int GROUP>() {
            for (int i = 0; i < 8; ++i)
                for (int v = 0; v < panel_vectors; ++v)
                    store_word(to.levels[of + GROUP], i, v, Block::template level<GROUP>(block, of, i, v));
        });
}

// q4_K and q5_K: x = d s l - dmin m, s and m of six bits for each 32 weights. Words hold levels of `period` groups.
template <bool FIVE>
struct K45Block {
    static constexpr int halves = 128, levels = FIVE ? 11 : 3, bytes = halves + 128 * (levels + 32);
    static constexpr int groups = 8, period = 2, scales = 1, minima = 1, most = FIVE ? 31 : 15, offset = 0;
    static words word(const std::byte* block, int i, int v) {
        return load_words(block + halves + 128 * i + 4 * lanes * v);
    }
    // Of the eight scales and minima, the first four have six bits of a byte, the others four bits and two.
    template <int PARTS>
    static void factors(const std::byte* block, Factors<PARTS>& f) {
        for (int v = 0; v < panel_vectors; ++v) {
            const words a = word(block, 0, v), b = word(block, 1, v), c = word(block, 2, v);
            const floats d = load_halves(block, 0, v), dmin = load_halves(block, 1, v);
            const auto set = [&]<int I>(words scale, words least) {
                f.scale[I][v] = d * byte<I % 4>(scale);
                f.least[I][v] = dmin * byte<I % 4>(least);
            };
            each<0, 4>([&]<int I>() { set.template operator()<I>(a & 0x3f3f3f3fu, b & 0x3f3f3f3fu); });
            const words scale = (c & low_nibbles) | (a >> 2 & 0x30303030u);
            const words least = (c >> 4 & low_nibbles) | (b >> 2 & 0x30303030u);
            each<4, 8>([&]<int I>() { set.template operator()<I>(scale, least); });
        }
    }
    template <int I>
    static floats byte(words w) {
        return as_floats(I == 3 ? w >> 24 : (w >> 8 * I) & 255u);
    }
    // Four weights of group `of` + GROUP, the i-th of eight. `of` is a multiple of the period.
    template <int GROUP>
    static words level(const std::byte* block, int of, int i, int v) {
        const words four = (word(block, levels + of / 2 * 8 + i, v) >> (GROUP * 4)) & low_nibbles;
        if constexpr (FIVE) return four | (word(block, 3 + i, v) >> (of + GROUP) << 4 & 0x10101010u);
        return four;
    }
    static void unpack(const std::byte* block, int first, Unpacked& to) { unpack_super<K45Block>(block, first, to); }
};

// q6_K: x = d s (l - 32), s signed, for each 16 weights. In each half of a block, a word holds four weights and the
// four weights 64 further.
struct K6Block {
    static constexpr int halves = 64, high_bits = 32, scale_bytes = 48, bytes = halves + 128 * 52;
    static constexpr int groups = 8, period = 4, scales = 2, minima = 0, most = 63, offset = 32;
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
    static words level(const std::byte* block, int of, int i, int v) {
        const words four = word(block, 4 * of + GROUP % 2 * 8 + i, v) >> (GROUP / 2 * 4);
        return (four & low_nibbles) | (moved<2 * GROUP, 4>(word(block, high_bits + 2 * of + i, v)) & 0x30303030u);
    }
    static void unpack(const std::byte* block, int first, Unpacked& to) { unpack_super<K6Block>(block, first, to); }
};

// For few rows, levels are unpacked in registers. A part of a block has a scale of its own. From group `of` on, this
// takes part FIRST, and if there are two ways the next, whose levels are in the same words. Parts are added in order.
template <class Block, int FIRST, int WAYS, int PARTS, int ROWS>
[[gnu::always_inline]] inline void add_parts(const std::byte* block, int of, const Factors<PARTS>& f,
                                             const Activations<ROWS>& x, floats (&total)[ROWS][panel_vectors]) {
    constexpr int first = FIRST / Block::scales, number = FIRST % Block::scales, some = 8 / Block::scales; // words
    constexpr int second = first + 1, sums = WAYS * panel_vectors;
    Bytes acc[ROWS][sums];
    const auto group = [&](int s) { return of + (s % WAYS == 0 ? first : second); };
    for (int r = 0; r < ROWS; ++r)
        for (int s = 0; s < sums; ++s) {
            const int half = Block::scales == 1 ? x.sum[r][group(s)] : x.first_sum[r][group(s)];
            acc[r][s] = splat_word(-Block::offset * (number == 0 ? half : x.sum[r][group(s)] - half));
        }
    const auto level = [&](int i, int s) {
        const int word = some * number + i, v = s / WAYS;
        if constexpr (WAYS == 2) // then `second` is a group of the block
            if (s % WAYS == 1) return reinterpret_cast<Bytes>(Block::template level<second>(block, of, word, v));
        return reinterpret_cast<Bytes>(Block::template level<first>(block, of, word, v));
    };
    const auto place = [&](int i, int s) { return 32 * group(s) + 4 * (some * number + i); };
    dot_words<Block::most, some>(level, place, x.q, acc);
    for (int r = 0; r < ROWS; ++r)
        for (int s = 0; s < sums; ++s) {
            const int g = group(s), v = s / WAYS;
            total[r][v] += to_floats(acc[r][s]) * (f.scale[Block::scales * g + number][v] * x.scale[r][g]);
            if (Block::minima == 1) // with a single scale
                total[r][v] -= f.least[g][v] * (x.scale[r][g] * static_cast<float>(x.sum[r][g]));
        }
}

template <class Block, int ROWS>
inline int super_rows(int row, int rows, int k, const std::byte* w, const QuantRows& x, float* y, std::ptrdiff_t ldy,
                      int outputs) {
    for (; row + ROWS <= rows; row += ROWS) {
        prefetch_outputs<ROWS>(y + row * ldy, ldy);
        alignas(64) floats total[ROWS][panel_vectors];
        clear(total);
        Activations<ROWS> at(x, row);
        const std::byte* block = w;
        for (int b = 0; b < k / 256; ++b, block += Block::bytes) {
            constexpr int parts = 8 * Block::scales, ways = Block::scales == 1 && ROWS * panel_vectors <= 4 ? 2 : 1;
            constexpr int some = Block::period * Block::scales / ways,
                          lines = (Block::bytes / 64 * ways - 1) / parts + 1;
            Factors<parts> f;
            Block::factors(block, f);
            const std::byte* ahead = block + blocks_ahead;
            for (int of = 0; of < Block::groups; of += Block::period)
                each<0, some>([&]<int FIRST>() {
#pragma GCC unroll 6
                    for (int i = 0; i < lines; ++i) __builtin_prefetch(ahead + 64 * i, 0, 2);
                    ahead += 64 * lines; // a part at a time: memory is read while the processor computes
                    add_parts<Block, FIRST, ways>(block, of, f, at, total);
                });
            at.advance();
        }
        for (int r = 0; r < ROWS; ++r) store_outputs(y + (row + r) * ldy, outputs, total[r]);
    }
    return row;
}

// The number of rows from which on a block is unpacked to memory, once, and not in registers for each `whole_rows`.
// Without VNNI these are 2 to 5 rows, as measured on AVX2 and the baseline.
template <class Block>
constexpr int many_rows = whole_rows <= 2 && ShortSums::fit ? whole_rows + (Block::most == 15 ? 3 : 1)
                                                            : rows_at_once / 2;

template <class Block>
void super_product(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes, const QuantRows& x,
                   float* y, std::ptrdiff_t ldy) {
    if (rows >= many_rows<Block>) return unpacked_product<Block>(rows, outputs, k, w, panel_bytes, x, y, ldy);
    for (int at = 0; at < outputs; at += panel_outputs, w += panel_bytes) {
        const int left = outputs - at < panel_outputs ? outputs - at : panel_outputs;
        int row = super_rows<Block, whole_rows>(0, rows, k, w, x, y + at, ldy, left);
        if constexpr (whole_rows > 4) row = super_rows<Block, 4>(row, rows, k, w, x, y + at, ldy, left);
        if constexpr (whole_rows > 2) row = super_rows<Block, 2>(row, rows, k, w, x, y + at, ldy, left);
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
            panel_product<Bf16Panel>, peak_floats, quantise_row, exp_row, scale, add, add_value, sum_row, axpy,        \
            convolve, dot, rotate_adjacent, rotate_halves, subtract_distance, consecutive, sigmoid, softplus, cos_sin, \
            silu, gelu_tanh, silu_grad, gelu_tanh_grad, adamw, walk, walks, walk_backward                              \
    }
