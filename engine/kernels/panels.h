// SPDX-License-Identifier: MIT
// Products with packed weights, included by one file per instruction set after body.h; the layout is
// described in kernels.h. Every output is one chain of additions over ascending k, whatever the rows,
// panels and threads around it: a row of a batch has the bits that it has alone.

namespace {

using ordo::QuantRows;

constexpr int panel_lanes = 32;

// ---- Halves ---------------------------------------------------------------------------------

struct F16Panel {                   // [k][32]
    static constexpr int depth = 1; // k taken at once
    static void load(const std::byte* panel, int k, f32x16 (&w)[1][2]) {
        const std::byte* p = panel + static_cast<std::ptrdiff_t>(k) * 64;
        w[0][0] = ::load(reinterpret_cast<const half_t*>(p));
        w[0][1] = ::load(reinterpret_cast<const half_t*>(p + 32));
    }
};

struct Bf16Panel { // [k / 2][32][2]
    static constexpr int depth = 2;
    static void load(const std::byte* panel, int k, f32x16 (&w)[2][2]) {
        const std::byte* p = panel + static_cast<std::ptrdiff_t>(k) * 64;
        for (int v = 0; v < 2; ++v) {
            const u32x16 pair = *reinterpret_cast<const u32x16*>(p + 64 * v);
            const u32x16 low = pair << 16, high = pair & 0xffff0000u;
            w[0][v] = reinterpret_cast<const f32x16&>(low);
            w[1][v] = reinterpret_cast<const f32x16&>(high);
        }
    }
};

inline void store_lanes(float* y, int outputs, const f32x16 (&acc)[2]) {
    for (int v = 0; v < 2; ++v) {
        const int n = outputs - 16 * v;
        if (n >= 16)
            store(y + 16 * v, acc[v]);
        else
            for (int i = 0; i < n; ++i) y[16 * v + i] = acc[v][i];
    }
}

// ROWS rows of x by one panel, of which `outputs` outputs are wanted.
template <class Panel, int ROWS>
inline void half_tile(int k, const std::byte* w, const float* x, std::ptrdiff_t ldx, float* y, std::ptrdiff_t ldy,
                      int outputs) {
    alignas(64) f32x16 acc[ROWS][2] = {}; // references to it lose that its type may lie anywhere
    const auto step = [&]<int DEPTH>(int l) {
        alignas(64) f32x16 weights[Panel::depth][2];
        Panel::load(w, l, weights);
        for (int d = 0; d < DEPTH; ++d)
            for (int r = 0; r < ROWS; ++r) {
                const f32x16 s = splat(x[r * ldx + l + d]);
                for (int v = 0; v < 2; ++v) acc[r][v] += s * weights[d][v];
            }
    };
    int l = 0;
    for (; l + Panel::depth <= k; l += Panel::depth) step.template operator()<Panel::depth>(l);
    if (l < k) step.template operator()<1>(l);
    for (int r = 0; r < ROWS; ++r) store_lanes(y + r * ldy, outputs, acc[r]);
}

// All rows of x by one panel, as many at once as accumulators fit the registers.
template <class Panel, int ROWS>
inline int half_rows(int row, int rows, int k, const std::byte* w, const float* x, std::ptrdiff_t ldx, float* y,
                     std::ptrdiff_t ldy, int outputs) {
    for (; row + ROWS <= rows; row += ROWS)
        half_tile<Panel, ROWS>(k, w, x + row * ldx, ldx, y + row * ldy, ldy, outputs);
    return row;
}

template <class Panel>
void half_product(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes, const float* x,
                  std::ptrdiff_t ldx, float* y, std::ptrdiff_t ldy) {
    for (int at = 0; at < outputs; at += panel_lanes, w += panel_bytes) {
        const int left = outputs - at < panel_lanes ? outputs - at : panel_lanes;
        int row = half_rows<Panel, ORDO_PANEL_ROWS>(0, rows, k, w, x, ldx, y + at, ldy, left);
        if (ORDO_PANEL_ROWS > 8) row = half_rows<Panel, 8>(row, rows, k, w, x, ldx, y + at, ldy, left);
        if (ORDO_PANEL_ROWS > 4) row = half_rows<Panel, 4>(row, rows, k, w, x, ldx, y + at, ldy, left);
        if (ORDO_PANEL_ROWS > 2) row = half_rows<Panel, 2>(row, rows, k, w, x, ldx, y + at, ldy, left);
        half_rows<Panel, 1>(row, rows, k, w, x, ldx, y + at, ldy, left);
    }
}

// ---- Quantised ------------------------------------------------------------------------------

// Sixteen sums of four products of bytes each, added to acc: weights [16][4] by the same four
// activations. Exact: |w| <= 128 and |x| <= 127 overflow no step.
#if defined(__AVX512BW__)
typedef __m512i bytes64;
typedef __m512i sums16;
inline bytes64 load_bytes(const std::byte* p) {
    return _mm512_loadu_si512(p);
}
inline bytes64 nibbles(bytes64 v, int shift) {
    return _mm512_and_si512(_mm512_srli_epi16(v, static_cast<unsigned>(shift)), _mm512_set1_epi8(15));
}
inline sums16 splat_sums(int s) {
    return _mm512_set1_epi32(s);
}
inline f32x16 to_floats(sums16 s) {
    return reinterpret_cast<f32x16>(_mm512_cvtepi32_ps(s));
}
#if defined(__AVX512VNNI__)
constexpr int q8_offset = 128; // what the weights' bytes are too large by
inline sums16 dot4_q4(sums16 acc, bytes64 w, int x) {
    return _mm512_dpbusd_epi32(acc, w, _mm512_set1_epi32(x));
}
inline sums16 dot4_q8(sums16 acc, bytes64 w, int x) {
    return dot4_q4(acc, w, x);
}
#else
constexpr int q8_offset = 0; // multiplied as signed bytes
inline sums16 dot4_unsigned(sums16 acc, bytes64 w, __m512i x) {
    return _mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_maddubs_epi16(w, x), _mm512_set1_epi16(1)));
}
inline sums16 dot4_q4(sums16 acc, bytes64 w, int x) {
    return dot4_unsigned(acc, w, _mm512_set1_epi32(x));
}
inline sums16 dot4_q8(sums16 acc, bytes64 w, int x) {
    // |w| by x with the sign of w: maddubs wants one side unsigned.
    const __m512i s = _mm512_xor_si512(w, _mm512_set1_epi8(-128)), v = _mm512_set1_epi32(x);
    const __m512i signed_x = _mm512_mask_sub_epi8(v, _mm512_movepi8_mask(s), _mm512_setzero_si512(), v);
    return dot4_unsigned(acc, _mm512_abs_epi8(s), signed_x);
}
#endif
#else
#if defined(__AVX2__)
constexpr int parts = 2;
typedef __m256i part;
inline part load_part(const std::byte* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline part low_nibbles(part v, int shift) {
    return _mm256_and_si256(_mm256_srli_epi16(v, shift), _mm256_set1_epi8(15));
}
inline part splat_part(int s) {
    return _mm256_set1_epi32(s);
}
inline part dot4_unsigned(part acc, part w, part x) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_maddubs_epi16(w, x), _mm256_set1_epi16(1)));
}
inline part dot4_signed(part acc, part w, part x) {
    const part s = _mm256_xor_si256(w, _mm256_set1_epi8(-128));
    return dot4_unsigned(acc, _mm256_abs_epi8(s), _mm256_sign_epi8(x, s));
}
#else
constexpr int parts = 4;
typedef __m128i part;
inline part load_part(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
inline part low_nibbles(part v, int shift) {
    return _mm_and_si128(_mm_srli_epi16(v, shift), _mm_set1_epi8(15));
}
inline part splat_part(int s) {
    return _mm_set1_epi32(s);
}
inline part dot4_unsigned(part acc, part w, part x) {
    return _mm_add_epi32(acc, _mm_madd_epi16(_mm_maddubs_epi16(w, x), _mm_set1_epi16(1)));
}
inline part dot4_signed(part acc, part w, part x) {
    const part s = _mm_xor_si128(w, _mm_set1_epi8(-128));
    return dot4_unsigned(acc, _mm_abs_epi8(s), _mm_sign_epi8(x, s));
}
#endif
constexpr int q8_offset = 0;
struct bytes64 {
    part v[parts];
};
typedef bytes64 sums16;
inline bytes64 load_bytes(const std::byte* p) {
    bytes64 b;
    for (int i = 0; i < parts; ++i) b.v[i] = load_part(p + 64 / parts * i);
    return b;
}
inline bytes64 nibbles(bytes64 b, int shift) {
    for (int i = 0; i < parts; ++i) b.v[i] = low_nibbles(b.v[i], shift);
    return b;
}
inline sums16 dot4_q8(sums16 acc, bytes64 w, int x) {
    for (int i = 0; i < parts; ++i) acc.v[i] = dot4_signed(acc.v[i], w.v[i], splat_part(x));
    return acc;
}
inline sums16 dot4_q4(sums16 acc, bytes64 w, int x) {
    for (int i = 0; i < parts; ++i) acc.v[i] = dot4_unsigned(acc.v[i], w.v[i], splat_part(x));
    return acc;
}
inline sums16 splat_sums(int s) {
    sums16 sums;
    for (int i = 0; i < parts; ++i) sums.v[i] = splat_part(s);
    return sums;
}
inline f32x16 to_floats(sums16 s) {
    i32x16 whole;
    __builtin_memcpy(&whole, &s, sizeof whole);
    return __builtin_convertvector(whole, f32x16);
}
#endif

inline int four_bytes(const signed char* p) {
    int x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}

struct Q8Block { // scales f16[32], then [8][32][4], each byte 128 too large
    static constexpr int bytes = 64 + 1024, offset = q8_offset;
    template <int ROWS>
    static void dot(const std::byte* block, const signed char* const (&x)[ROWS], sums16 (&acc)[ROWS][2]) {
        for (int g = 0; g < 8; ++g)
            for (int v = 0; v < 2; ++v) {
                const bytes64 w = load_bytes(block + 64 + 128 * g + 64 * v);
                for (int r = 0; r < ROWS; ++r) acc[r][v] = dot4_q8(acc[r][v], w, four_bytes(x[r] + 4 * g));
            }
    }
};

struct Q4Block { // scales f16[32], then [4][32][4]: k = 4 g + i in the low half of a byte, k + 16 above
    static constexpr int bytes = 64 + 512, offset = 8;
    template <int ROWS>
    static void dot(const std::byte* block, const signed char* const (&x)[ROWS], sums16 (&acc)[ROWS][2]) {
        for (int g = 0; g < 4; ++g)
            for (int v = 0; v < 2; ++v) {
                const bytes64 w = load_bytes(block + 64 + 128 * g + 64 * v);
                const bytes64 low = nibbles(w, 0), high = nibbles(w, 4);
                for (int r = 0; r < ROWS; ++r) {
                    acc[r][v] = dot4_q4(acc[r][v], low, four_bytes(x[r] + 4 * g));
                    acc[r][v] = dot4_q4(acc[r][v], high, four_bytes(x[r] + 4 * g + 16));
                }
            }
    }
};

template <class Block, int ROWS>
inline void quant_tile(int k, const std::byte* w, const QuantRows& x, int row, float* y, std::ptrdiff_t ldy,
                       int outputs) {
    alignas(64) f32x16 total[ROWS][2] = {};
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
        sums16 acc[ROWS][2];
        for (int r = 0; r < ROWS; ++r) acc[r][0] = acc[r][1] = splat_sums(-Block::offset * sum[r][b]);
        Block::dot(w, q, acc);
        for (int v = 0; v < 2; ++v) {
            const f32x16 weight_scale = load(reinterpret_cast<const half_t*>(w + 32 * v));
            for (int r = 0; r < ROWS; ++r) total[r][v] += to_floats(acc[r][v]) * (weight_scale * scale[r][b]);
        }
        for (int r = 0; r < ROWS; ++r) q[r] += 32;
    }
    for (int r = 0; r < ROWS; ++r) store_lanes(y + r * ldy, outputs, total[r]);
}

template <class Block, int ROWS>
inline int quant_rows(int row, int rows, int k, const std::byte* w, const QuantRows& x, float* y, std::ptrdiff_t ldy,
                      int outputs) {
    for (; row + ROWS <= rows; row += ROWS) quant_tile<Block, ROWS>(k, w, x, row, y + row * ldy, ldy, outputs);
    return row;
}

template <class Block>
void quant_product(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes, const QuantRows& x,
                   float* y, std::ptrdiff_t ldy) {
    for (int at = 0; at < outputs; at += panel_lanes, w += panel_bytes) {
        const int left = outputs - at < panel_lanes ? outputs - at : panel_lanes;
        int row = quant_rows<Block, ORDO_QUANT_ROWS>(0, rows, k, w, x, y + at, ldy, left);
        if (ORDO_QUANT_ROWS > 4) row = quant_rows<Block, 4>(row, rows, k, w, x, y + at, ldy, left);
        if (ORDO_QUANT_ROWS > 2) row = quant_rows<Block, 2>(row, rows, k, w, x, y + at, ldy, left);
        quant_rows<Block, 1>(row, rows, k, w, x, y + at, ldy, left);
    }
}

typedef int i32x8 __attribute__((vector_size(32), aligned(4)));
typedef int i32x4 __attribute__((vector_size(16), aligned(4)));
typedef signed char i8x16 __attribute__((vector_size(16), aligned(1), may_alias));

inline int sum(i32x16 v) {
    const i32x8 a = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                    __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    const i32x4 b = __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
    return (b[0] + b[1]) + (b[2] + b[3]);
}
inline float largest(f32x16 v) {
    const f32x8 a = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
    const f32x8 b = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    const f32x8 c = a > b ? a : b;
    const f32x4 d = __builtin_shufflevector(c, c, 0, 1, 2, 3), e = __builtin_shufflevector(c, c, 4, 5, 6, 7);
    const f32x4 f = d > e ? d : e;
    const float g = f[0] > f[1] ? f[0] : f[1], h = f[2] > f[3] ? f[2] : f[3];
    return g > h ? g : h;
}
inline f32x16 magnitude(f32x16 v) {
    return v < 0.0f ? -v : v;
}

// One block of 32: q = round(x / d) with d = max |x| / 127, the nearest even in the middle.
void quantise_row(int n, const float* x, signed char* q, float* scales, int* sums) {
    const f32x16 magic = splat(12582912.0f); // 1.5 * 2^23
    for (int b = 0; b < n / 32; ++b, x += 32, q += 32) {
        const f32x16 low = load(x), high = load(x + 16);
        const f32x16 a = magnitude(low), c = magnitude(high);
        const float most = largest(a > c ? a : c);
        // v - v is NaN for what is not finite, which must not be lost.
        scales[b] = most / 127.0f + sum((low - low) + (high - high)); // NOLINT(misc-redundant-expression)
        // Below 2^-120 the factor would overflow: such values are zeros beside anything else.
        const float factor = most > 0x1p-120f ? 127.0f / most : 0.0f;
        const i32x16 first = __builtin_convertvector((low * factor + magic) - magic, i32x16);
        const i32x16 second = __builtin_convertvector((high * factor + magic) - magic, i32x16);
        *reinterpret_cast<i8x16*>(q) = __builtin_convertvector(first, i8x16);
        *reinterpret_cast<i8x16*>(q + 16) = __builtin_convertvector(second, i8x16);
        sums[b] = sum(first + second);
    }
}

} // namespace

#define ORDO_KERNELS(name)                                                                                             \
    {                                                                                                                  \
        name, product, product_halves, dots, half_product<F16Panel>, half_product<Bf16Panel>, quant_product<Q8Block>,  \
            quant_product<Q4Block>, quantise_row, exp_row, max_row, scale, add, axpy, dot, rotate_adjacent,            \
            rotate_halves, subtract_distance, silu, gelu_tanh, silu_grad, gelu_tanh_grad, adamw                        \
    }
