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

// The scales of a block's weights, and for q4_K and q5_K the amounts subtracted from them, for vectors of outputs.
template <int GROUPS>
struct Factors {
    floats s[GROUPS][panel_vectors], m[GROUPS][panel_vectors];
};

// q4_K and q5_K: x = d s l - dmin m, s and m of six bits for each 32 weights.
template <bool FIVE>
struct K45Block {
    static constexpr int halves = 128, levels = FIVE ? 11 : 3, bytes = halves + 128 * (levels + 32), groups = 8;
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
    static void factors(const std::byte* block, Factors<groups>& f) {
        for (int v = 0; v < panel_vectors; ++v) {
            const words a = word(block, 0, v), b = word(block, 1, v), c = word(block, 2, v);
            const auto* const halfs = reinterpret_cast<const half_t*>(block) + lanes * v;
            const floats d = load(halfs), dmin = load(halfs + panel_outputs);
            const auto set = [&]<int I>() {
                f.s[I][v] = d * as_floats(scale<I>(a, c));
                f.m[I][v] = dmin * as_floats(scale<I>(b, c >> 4));
            };
            each<0, groups>(set);
        }
    }

    // Products of the 32 weights of a group.
    template <int GROUP, int ROWS>
    [[gnu::always_inline]] static void dots(const std::byte* block, const Activations<ROWS>& x,
                                            Bytes (&acc)[ROWS][panel_vectors]) {
        for (int r = 0; r < ROWS; ++r)
            for (int v = 0; v < panel_vectors; ++v) acc[r][v] = splat_word(0);
        for (int g = 0; g < 8; ++g)
            for (int v = 0; v < panel_vectors; ++v) {
                words level = (word(block, levels + GROUP / 2 * 8 + g, v) >> (GROUP % 2 * 4)) & low_nibbles;
                if constexpr (FIVE) level |= moved<GROUP, 4>(word(block, 3 + g, v)) & 0x10101010u;
                for (int r = 0; r < ROWS; ++r)
                    acc[r][v] = dot4_unsigned(acc[r][v], reinterpret_cast<Bytes>(level),
                                              splat_four(x.q[r] + 32 * GROUP + 4 * g));
            }
    }
    template <int GROUP, int ROWS>
    [[gnu::always_inline]] static void add(const std::byte* block, const Factors<groups>& f, const Activations<ROWS>& x,
                                           floats (&total)[ROWS][panel_vectors]) {
        Bytes acc[ROWS][panel_vectors];
        dots<GROUP>(block, x, acc);
        for (int r = 0; r < ROWS; ++r) {
            const float scale = x.scale[r][GROUP], sum = scale * static_cast<float>(x.sum[r][GROUP]);
            for (int v = 0; v < panel_vectors; ++v) {
                total[r][v] += to_floats(acc[r][v]) * (f.s[GROUP][v] * scale);
                total[r][v] -= f.m[GROUP][v] * sum;
            }
        }
    }
};

// q6_K: x = d s (l - 32), s signed, for each 16 weights. In each half of a block, a word holds four weights and the
// four weights 64 further.
struct K6Block {
    static constexpr int halves = 64, high_bits = 32, scales = 48, bytes = halves + 128 * 52, groups = 16;
    static words word(const std::byte* block, int i, int v) {
        return load_words(block + halves + 128 * i + 4 * lanes * v);
    }
    static void factors(const std::byte* block, Factors<groups>& f) {
        for (int v = 0; v < panel_vectors; ++v) {
            const floats d = load(reinterpret_cast<const half_t*>(block) + lanes * v);
            const auto set = [&]<int I>() { // a signed byte
                const auto on_top = reinterpret_cast<ints>(moved<8 * (I % 4), 24>(word(block, scales + I / 4, v)));
                f.s[I][v] = d * as_floats(reinterpret_cast<words>(on_top >> 24));
            };
            each<0, groups>(set);
        }
    }

    // Products of the 16 weights of a group.
    template <int GROUP, int ROWS>
    [[gnu::always_inline]] static void dots(const std::byte* block, const Activations<ROWS>& x,
                                            Bytes (&acc)[ROWS][panel_vectors]) {
        constexpr int half = GROUP / 8, quarter = GROUP % 8 / 2, end = GROUP % 2; // a quarter is 32 weights
        for (int g = 4 * end; g < 4 * end + 4; ++g)
            for (int v = 0; v < panel_vectors; ++v) {
                const words four = word(block, 16 * half + quarter % 2 * 8 + g, v) >> (quarter / 2 * 4);
                const words two = moved<2 * quarter, 4>(word(block, high_bits + 8 * half + g, v));
                const words level = (four & low_nibbles) | (two & 0x30303030u);
                for (int r = 0; r < ROWS; ++r)
                    acc[r][v] = dot4_unsigned(acc[r][v], reinterpret_cast<Bytes>(level),
                                              splat_four(x.q[r] + 128 * half + 32 * quarter + 4 * g));
            }
    }
    template <int GROUP, int ROWS>
    [[gnu::always_inline]] static void add(const std::byte* block, const Factors<groups>& f, const Activations<ROWS>& x,
                                           floats (&total)[ROWS][panel_vectors]) {
        constexpr int b = GROUP / 2; // of the activations' blocks
        Bytes acc[ROWS][panel_vectors];
        for (int r = 0; r < ROWS; ++r) {
            const int sum = GROUP % 2 == 0 ? x.first_sum[r][b] : x.sum[r][b] - x.first_sum[r][b];
            for (int v = 0; v < panel_vectors; ++v) acc[r][v] = splat_word(-32 * sum);
        }
        dots<GROUP>(block, x, acc);
        for (int r = 0; r < ROWS; ++r)
            for (int v = 0; v < panel_vectors; ++v)
                total[r][v] += to_floats(acc[r][v]) * (f.s[GROUP][v] * x.scale[r][b]);
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
            prefetch<blocks_ahead, Block::bytes>(block);
            alignas(64) Factors<Block::groups> f;
            Block::factors(block, f);
            each<0, Block::groups>([&]<int GROUP>() { Block::template add<GROUP>(block, f, at, total); });
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
