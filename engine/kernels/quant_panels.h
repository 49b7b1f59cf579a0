// SPDX-License-Identifier: MIT
// Products with weights, and with keys and values, in blocks of 32. Included by each instruction set after panels.h.
// Here too a row of a batch has the same bits as that row alone.

namespace {

using ordo::QuantRows;

constexpr std::ptrdiff_t blocks_ahead = 8192; // bytes

// The same bits, in lanes that are shifted and masked as a whole.
inline words load_words(const std::byte* p) {
    return *reinterpret_cast<const words*>(p);
}

typedef unsigned char level_bytes
    __attribute__((vector_size(4 * lanes), aligned(1), may_alias)); // of a vector of words

inline floats as_floats(words w) { // of signed numbers
    return __builtin_convertvector(reinterpret_cast<ints>(w), floats);
}

inline Bytes splat_four(const signed char* p) {
    int x;
    __builtin_memcpy(&x, p, sizeof x);
    return splat_word(x);
}

// Products of WORDS words of four levels up to MOST: level(g, v) for vector v of the sums, times the activations from
// place(g, v) on.
template <int MOST, int WORDS, class Sums = ShortSums, int ROWS, int VECTORS, class Level, class Place>
[[gnu::always_inline]] inline void dot_words(const Level& level, const Place& place,
                                             const signed char* const (&x)[ROWS], Bytes (&acc)[ROWS][VECTORS]) {
    if constexpr (Sums::fit) {
        constexpr int fitting = 32767 / (2 * 127 * MOST), some = fitting < WORDS ? fitting : WORDS;
#pragma GCC unroll 8
        for (int first = 0; first < WORDS; first += some) {
            const Bytes ones = splat_word(0x00010001);
            Bytes sums[ROWS][VECTORS];
#pragma GCC unroll 8
            for (int g = first; g < first + some; ++g) {
                for (int v = 0; v < VECTORS; ++v) {
                    const Bytes w = level(g, v);
                    for (int r = 0; r < ROWS; ++r) {
                        const Bytes products = Sums::products(w, splat_four(x[r] + place(g, v)));
                        sums[r][v] = g == first ? products : Sums::add(sums[r][v], products);
                    }
                }
            }
            for (int r = 0; r < ROWS; ++r)
                for (int v = 0; v < VECTORS; ++v) acc[r][v] = Sums::add_products(acc[r][v], sums[r][v], ones);
        }
    } else {
#pragma GCC unroll 8
        for (int g = 0; g < WORDS; ++g)
            for (int v = 0; v < VECTORS; ++v) {
                const Bytes w = level(g, v);
                for (int r = 0; r < ROWS; ++r) acc[r][v] = dot4_unsigned(acc[r][v], w, splat_four(x[r] + place(g, v)));
            }
    }
}
constexpr int in_order(int g, int) {
    return 4 * g;
}
// Of two halves of 16 weights each, in turn.
constexpr int by_halves(int g, int) {
    return g / 2 * 4 + g % 2 * 16;
}

// Products of 32 weights of each output, bytes [8][32][4] that are 128 too large. Sums are too large by q8_offset times
// that of x.
template <int ROWS, int VECTORS>
[[gnu::always_inline]] inline void dot_levels(const std::byte* levels, const signed char* const (&x)[ROWS],
                                              Bytes (&acc)[ROWS][VECTORS]) {
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g)
        for (int v = 0; v < VECTORS; ++v) {
            const auto w = prepare_q8(load_bytes(levels + 128 * g + 4 * lanes * v));
            for (int r = 0; r < ROWS; ++r) acc[r][v] = dot4_q8(acc[r][v], w, splat_four(x[r] + 4 * g));
        }
}

// dot(block, first, x, acc): the products of some vectors of a panel's block.
struct Q8Block { // scales f16[32], then [8][32][4], each byte 128 too large
    static constexpr int bytes = 64 + 1024, offset = q8_offset;
    template <int ROWS, int VECTORS>
    static void dot(const std::byte* block, int first, const signed char* const (&x)[ROWS],
                    Bytes (&acc)[ROWS][VECTORS]) {
        dot_levels(block + 64 + 4 * lanes * first, x, acc);
    }
};

struct Q4Block { // scales f16[32], then [4][32][4]: k = 4 g + i in the low half of a byte, k + 16 in the high
    static constexpr int bytes = 64 + 512, offset = 8;
    template <int ROWS, int VECTORS>
    static void dot(const std::byte* block, int first, const signed char* const (&x)[ROWS],
                    Bytes (&acc)[ROWS][VECTORS]) {
        const auto level = [&](int g, int v) {
            return nibbles(load_bytes(block + 64 + g / 2 * 128 + 4 * lanes * (first + v)), g % 2 * 4);
        };
        dot_words<15, 8>(level, by_halves, x, acc);
    }
};

constexpr unsigned low_nibbles = 0x0f0f0f0fu;

// Levels 4 g + i of q5_0 and q5_1, whose fifth bits are bit g of byte i. The second function has the levels 16 further.
inline words five_bits_below(words w, words fifth, int g) {
    return (w & low_nibbles) | ((fifth << 4 >> g) & 0x10101010u);
}
inline words five_bits_above(words w, words fifth, int g) {
    return (w >> 4 & low_nibbles) | ((fifth >> g) & 0x10101010u);
}

struct Q5Block { // scales f16[32], fifth bits [32][4]: bit g of byte i for k = 4 g + i; then as Q4Block
    static constexpr int bytes = 64 + 128 + 512, offset = 16;
    template <int ROWS, int VECTORS>
    static void dot(const std::byte* block, int first, const signed char* const (&x)[ROWS],
                    Bytes (&acc)[ROWS][VECTORS]) {
        const auto level = [&](int g, int v) {
            const words w = load_words(block + 64 + 128 * (g / 2 + 1) + 4 * lanes * (first + v));
            const words fifth = load_words(block + 64 + 4 * lanes * (first + v));
            const words five = g % 2 == 0 ? five_bits_below(w, fifth, g / 2) : five_bits_above(w, fifth, g / 2);
            return reinterpret_cast<Bytes>(five);
        };
        dot_words<31, 8>(level, by_halves, x, acc);
    }
};

// ROWS rows of x by VECTORS vectors of a panel, from vector `from` on. Stores `outputs` outputs.
template <class Block, int ROWS, int VECTORS>
inline void quant_tile(int k, const std::byte* w, int from, const QuantRows& x, int row, float* y, std::ptrdiff_t ldy,
                       int outputs) {
    const int first = VECTORS == panel_vectors ? 0 : from;
    prefetch_outputs<ROWS>(y, ldy);
    alignas(64) floats total[ROWS][VECTORS];
    clear(total);
    const signed char* q[ROWS];
    const float* scale[ROWS];
    const int* sum[ROWS];
    for (int r = 0; r < ROWS; ++r) {
        const std::ptrdiff_t blocks = static_cast<std::ptrdiff_t>(row + r) * (x.cols / 32);
        q[r] = x.values + blocks * 32;
        scale[r] = x.scales + blocks;
        sum[r] = x.sums + blocks;
    }
    for (int b = 0; b < k / 32; ++b, w += Block::bytes) {
        if (first == 0) prefetch<blocks_ahead, Block::bytes>(w);
        Bytes acc[ROWS][VECTORS];
        for (int r = 0; r < ROWS; ++r)
            for (int v = 0; v < VECTORS; ++v) acc[r][v] = splat_word(-Block::offset * sum[r][b]);
        Block::dot(w, first, q, acc);
        for (int v = 0; v < VECTORS; ++v) {
            const floats weight_scale = load(reinterpret_cast<const half_t*>(w) + lanes * (first + v));
            for (int r = 0; r < ROWS; ++r) total[r][v] += to_floats(acc[r][v]) * (weight_scale * scale[r][b]);
        }
        for (int r = 0; r < ROWS; ++r) q[r] += 32;
    }
    for (int r = 0; r < ROWS; ++r) store_outputs(y + r * ldy, outputs, total[r]);
}

template <class Block, int ROWS, int VECTORS>
inline int quant_rows(int row, int rows, int k, const std::byte* w, const QuantRows& x, float* y, std::ptrdiff_t ldy,
                      int outputs) {
    for (; row + ROWS <= rows; row += ROWS)
        for (int first = 0; first < panel_vectors && lanes * first < outputs; first += VECTORS)
            quant_tile<Block, ROWS, VECTORS>(k, w, first, x, row, y + row * ldy + lanes * first, ldy,
                                             outputs - lanes * first);
    return row;
}

constexpr int whole_rows = tiles.quant_rows * tiles.quant_vectors / panel_vectors; // against all vectors

template <class Block>
void quant_product(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes, const QuantRows& x,
                   float* y, std::ptrdiff_t ldy) {
    for (int at = 0; at < outputs; at += panel_outputs, w += panel_bytes) {
        const int left = outputs - at < panel_outputs ? outputs - at : panel_outputs;
        const auto take = [&]<int ROWS, int VECTORS>(int row) {
            return quant_rows<Block, ROWS, VECTORS>(row, rows, k, w, x, y + at, ldy, left);
        };
        int row = take.template operator()<tiles.quant_rows, tiles.quant_vectors>(0);
        if (tiles.quant_rows > 4) row = take.template operator()<4, panel_vectors>(row);
        if (tiles.quant_rows > 2) row = take.template operator()<2, panel_vectors>(row);
        take.template operator()<1, panel_vectors>(row);
    }
}

// ---- Activations --------------------------------------------------------------------------------

inline floats magnitude(floats v) {
    return v < 0.0f ? -v : v;
}
typedef signed char chars __attribute__((vector_size(lanes), aligned(1), may_alias));

// One block of 32: q = round(x / d) with d = max |x| / 127, ties to even.
[[maybe_unused]] void quantise_row(int n, const float* x, signed char* q, float* scales, int* sums, int* first_sums) {
    const floats magic = splat(12582912.0f); // 1.5 * 2^23
    for (int b = 0; b < n / 32; ++b, x += 32, q += 32) {
        floats most{}, wild{};
        for (int v = 0; v < 32 / lanes; ++v) {
            const floats value = load(x + lanes * v), size = magnitude(value);
            most = size > most ? size : most;
            wild += value * 0.0f; // NaN if a value is not finite, which must not be lost
        }
        const float top = largest(most);
        scales[b] = top / 127.0f + sum(wild);
        if (!(scales[b] - scales[b] == 0.0f)) { // no integer represents these values: the scale is NaN
            for (int i = 0; i < 32; ++i) q[i] = 0;
            sums[b] = first_sums[b] = 0;
            continue;
        }
        // Below 2^-120 the factor would overflow. Such values are negligible, so they become zeros.
        const float factor = top > 0x1p-120f ? 127.0f / top : 0.0f;
        floats first{}, second{}; // sums of integers, exact
        for (int v = 0; v < 32 / lanes; ++v) {
            const floats whole = (load(x + lanes * v) * factor + magic) - magic;
            *reinterpret_cast<chars*>(q + lanes * v) =
                __builtin_convertvector(__builtin_convertvector(whole, ints), chars);
            (lanes * v < 16 ? first : second) += whole;
        }
        first_sums[b] = static_cast<int>(sum(first));
        sums[b] = first_sums[b] + static_cast<int>(sum(second));
    }
}

} // namespace
