// SPDX-License-Identifier: MIT
// Products with weights in blocks of 256 (q4_K, q5_K, q6_K), included by one file per instruction set after
// quant_panels.h. A panel's block is the blocks of 32 rows of a file (io/blocks.h), of which words of four bytes lie side
// by side: word(block, i, v) is the i-th word of as many outputs as a vector has. Two groups of 32 weights are taken
// at once, as they share bytes.

namespace {

// Rows of activations, at a block of theirs.
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

constexpr unsigned low_nibbles = 0x0f0f0f0fu;

inline floats as_floats(words w) { // of numbers with a sign
    return __builtin_convertvector(reinterpret_cast<ints>(w), floats);
}
// All bits moved so that the one at FROM gets to TO.
template <int FROM, int TO>
inline words moved(words w) {
    if constexpr (FROM >= TO)
        return w >> (FROM - TO);
    else
        return w << (TO - FROM);
}

// q4_K and q5_K: x = d s l - dmin m, s and m of six bits for each 32 weights.
template <bool FIVE>
struct K45Block {
    static constexpr int halves = 128, levels = FIVE ? 11 : 3, bytes = halves + 128 * (levels + 32);
    static words word(const std::byte* block, int i, int v) {
        return load_words(block + halves + 128 * i + 4 * lanes * v);
    }
    // The I-th of eight scales: below 4 from six bits of a, else four of b and two of a.
    template <int I>
    static words scale(words a, words b) {
        if constexpr (I < 4)
            return (a >> (8 * I)) & 63u;
        else
            return ((b >> (8 * I - 32)) & 15u) | (moved<8 * I - 26, 4>(a) & 0x30u);
    }

    // The products of 64 weights with their activations, those of the first 32 and of the others.
    template <int PAIR, int ROWS>
    [[gnu::always_inline]] static void dots(const std::byte* block, int v, const Activations<ROWS>& x,
                                            Bytes (&first)[ROWS], Bytes (&second)[ROWS]) {
        for (int g = 0; g < 8; ++g) {
            const words w = word(block, levels + 8 * PAIR + g, v);
            words low = w & low_nibbles, high = (w >> 4) & low_nibbles;
            if constexpr (FIVE) {
                const words fifth = word(block, 3 + g, v);
                low |= moved<2 * PAIR, 4>(fifth) & 0x10101010u;
                high |= moved<2 * PAIR + 1, 4>(fifth) & 0x10101010u;
            }
            for (int r = 0; r < ROWS; ++r) {
                const signed char* const q = x.q[r] + 64 * PAIR + 4 * g;
                first[r] = dot4_unsigned(first[r], reinterpret_cast<Bytes>(low), splat_four(q));
                second[r] = dot4_unsigned(second[r], reinterpret_cast<Bytes>(high), splat_four(q + 32));
            }
        }
    }

    template <int GROUP, int ROWS>
    [[gnu::always_inline]] static void scaled(const std::byte* block, int v, const Activations<ROWS>& x,
                                              const Bytes (&dot)[ROWS], floats (&total)[ROWS][panel_vectors]) {
        const words a = word(block, 0, v), b = word(block, 1, v), c = word(block, 2, v);
        const auto* const d = reinterpret_cast<const half_t*>(block) + lanes * v;
        const floats s = load(d) * as_floats(scale<GROUP>(a, c));
        const floats m = load(d + panel_outputs) * as_floats(scale<GROUP>(b, c >> 4));
        for (int r = 0; r < ROWS; ++r) {
            const float one = x.scale[r][GROUP];
            total[r][v] += to_floats(dot[r]) * (s * one);
            total[r][v] -= m * (one * static_cast<float>(x.sum[r][GROUP]));
        }
    }

    template <int PAIR, int ROWS>
    [[gnu::always_inline]] static void pair(const std::byte* block, const Activations<ROWS>& x,
                                            floats (&total)[ROWS][panel_vectors]) {
        for (int v = 0; v < panel_vectors; ++v) {
            Bytes first[ROWS], second[ROWS];
            for (int r = 0; r < ROWS; ++r) first[r] = second[r] = splat_word(0);
            dots<PAIR>(block, v, x, first, second);
            scaled<2 * PAIR>(block, v, x, first, total);
            scaled<2 * PAIR + 1>(block, v, x, second, total);
        }
    }

    template <int ROWS>
    [[gnu::always_inline]] static void add(const std::byte* block, const Activations<ROWS>& x,
                                           floats (&total)[ROWS][panel_vectors]) {
        pair<0>(block, x, total);
        pair<1>(block, x, total);
        pair<2>(block, x, total);
        pair<3>(block, x, total);
    }
};

// q6_K: x = d s (l - 32), s signed, for each 16 weights. Of each half of a block a word holds four weights and the four that
// are 64 further.
struct K6Block {
    static constexpr int halves = 64, high_bits = 32, scales = 48, bytes = halves + 128 * 52;
    static words word(const std::byte* block, int i, int v) {
        return load_words(block + halves + 128 * i + 4 * lanes * v);
    }

    // The products of the 16 weights at k and of those at k + 64; k is 128 HALF + 32 SECOND + 16 END.
    template <int HALF, int SECOND, int END, int ROWS>
    [[gnu::always_inline]] static void sixteens(const std::byte* block, int v, const Activations<ROWS>& x,
                                                floats (&total)[ROWS][panel_vectors]) {
        constexpr int k = 128 * HALF + 32 * SECOND + 16 * END, near = k / 32, far = near + 2; // blocks of activations
        Bytes first[ROWS], second[ROWS];
        for (int r = 0; r < ROWS; ++r) {
            const auto offset = [&](int b) {
                return splat_word(-32 * (END == 0 ? x.first_sum[r][b] : x.sum[r][b] - x.first_sum[r][b]));
            };
            first[r] = offset(near);
            second[r] = offset(far);
        }
        for (int g = 4 * END; g < 4 * END + 4; ++g) {
            const words w = word(block, 16 * HALF + 8 * SECOND + g, v), high = word(block, high_bits + 8 * HALF + g, v);
            const words low = (w & low_nibbles) | (moved<2 * SECOND, 4>(high) & 0x30303030u);
            const words upper = ((w >> 4) & low_nibbles) | (moved<2 * SECOND + 4, 4>(high) & 0x30303030u);
            for (int r = 0; r < ROWS; ++r) {
                const signed char* const q = x.q[r] + 128 * HALF + 32 * SECOND + 4 * g;
                first[r] = dot4_unsigned(first[r], reinterpret_cast<Bytes>(low), splat_four(q));
                second[r] = dot4_unsigned(second[r], reinterpret_cast<Bytes>(upper), splat_four(q + 64));
            }
        }
        const floats d = load(reinterpret_cast<const half_t*>(block) + lanes * v);
        const floats s = d * as_floats(scale<k / 16>(block, v)), t = d * as_floats(scale<k / 16 + 4>(block, v));
        for (int r = 0; r < ROWS; ++r) {
            total[r][v] += to_floats(first[r]) * (s * x.scale[r][near]);
            total[r][v] += to_floats(second[r]) * (t * x.scale[r][far]);
        }
    }
    template <int I>
    static words scale(const std::byte* block, int v) { // a signed byte
        const auto on_top = reinterpret_cast<ints>(moved<8 * (I % 4), 24>(word(block, scales + I / 4, v)));
        return reinterpret_cast<words>(on_top >> 24);
    }

    template <int ROWS>
    [[gnu::always_inline]] static void add(const std::byte* block, const Activations<ROWS>& x,
                                           floats (&total)[ROWS][panel_vectors]) {
        const auto half = [&]<int HALF>() {
            for (int v = 0; v < panel_vectors; ++v) {
                sixteens<HALF, 0, 0>(block, v, x, total);
                sixteens<HALF, 0, 1>(block, v, x, total);
                sixteens<HALF, 1, 0>(block, v, x, total);
                sixteens<HALF, 1, 1>(block, v, x, total);
            }
        };
        half.template operator()<0>();
        half.template operator()<1>();
    }
};

template <class Block, int ROWS>
inline int super_rows(int row, int rows, int k, const std::byte* w, const QuantRows& x, float* y, std::ptrdiff_t ldy,
                      int outputs) {
    for (; row + ROWS <= rows; row += ROWS) {
        alignas(64) floats total[ROWS][panel_vectors] = {};
        Activations<ROWS> at(x, row);
        const std::byte* block = w;
        for (int b = 0; b < k / 256; ++b, block += Block::bytes) {
            Block::add(block, at, total);
            at.advance();
        }
        for (int r = 0; r < ROWS; ++r) store_outputs(y + (row + r) * ldy, outputs, total[r]);
    }
    return row;
}

template <class Block>
void super_product(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes, const QuantRows& x,
                   float* y, std::ptrdiff_t ldy) {
    for (int at = 0; at < outputs; at += panel_outputs, w += panel_bytes) {
        const int left = outputs - at < panel_outputs ? outputs - at : panel_outputs;
        int row = super_rows<Block, tiles.quant_rows>(0, rows, k, w, x, y + at, ldy, left);
        if (tiles.quant_rows > 4) row = super_rows<Block, 4>(row, rows, k, w, x, y + at, ldy, left);
        if (tiles.quant_rows > 2) row = super_rows<Block, 2>(row, rows, k, w, x, y + at, ldy, left);
        super_rows<Block, 1>(row, rows, k, w, x, y + at, ldy, left);
    }
}

} // namespace

#define ORDO_KERNELS(name)                                                                                             \
    {                                                                                                                  \
        name, product, product_halves, dots, half_product<F16Panel>, half_product<Bf16Panel>, pair_product,            \
            round_to_bf16, quant_product<Q8Block>, quant_product<Q4Block>, quant_product<Q5Block>,                     \
            super_product<K45Block<false>>, super_product<K45Block<true>>, super_product<K6Block>, quantise_row,       \
            exp_row, max_row, scale, add, axpy, dot, rotate_adjacent, rotate_halves, subtract_distance, consecutive,   \
            sigmoid, silu, gelu_tanh, silu_grad, gelu_tanh_grad, adamw                                                 \
    }
