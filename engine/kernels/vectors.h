// SPDX-License-Identifier: MIT
// Vectors of floats in GCC's vector types, included by each instruction set before body.h and panels.h. None of
// these headers uses an inline function of another header: the linker might keep a copy compiled for AVX-512.

namespace {

// Vectors are as wide as the registers: wider ones would go through memory. A tile has as many accumulators as the
// registers hold.
struct Tiles {
    int lanes;         // floats of a vector
    int rows, vectors; // gemm: rows of a against vectors of b
    int row_vectors;   // of a single row, which has few chains of additions
    int dots_rows;     // rows of x against
    int dots_outputs;  // rows of w, with k along the vectors of both
    int panel_rows;    // rows of x against
    int panel_vectors; // vectors of a panel of floats or f16
    int quant_rows;    // rows of x against
    int quant_vectors; // vectors of a panel of quantised weights
};
#if defined(__AVX512F__)
constexpr Tiles tiles{.lanes = 16,
                      .rows = 6,
                      .vectors = 2,
                      .row_vectors = 4,
                      .dots_rows = 6,
                      .dots_outputs = 4,
                      .panel_rows = 12,
                      .panel_vectors = 2,
                      .quant_rows = 6,
                      .quant_vectors = 2};
#elif defined(__AVX__)
constexpr Tiles tiles{.lanes = 8,
                      .rows = 6,
                      .vectors = 2,
                      .row_vectors = 8,
                      .dots_rows = 6,
                      .dots_outputs = 2,
                      .panel_rows = 6,
                      .panel_vectors = 2,
                      .quant_rows = 4,
                      .quant_vectors = 2};
#elif defined(__aarch64__)
constexpr Tiles tiles{.lanes = 4,
                      .rows = 5,
                      .vectors = 4,
                      .row_vectors = 8,
                      .dots_rows = 6,
                      .dots_outputs = 4,
                      .panel_rows = 6,
                      .panel_vectors = 4,
                      .quant_rows = 2,
                      .quant_vectors = 8};
#else
constexpr Tiles tiles{.lanes = 4,
                      .rows = 2,
                      .vectors = 4,
                      .row_vectors = 8,
                      .dots_rows = 2,
                      .dots_outputs = 4,
                      .panel_rows = 4,
                      .panel_vectors = 2,
                      .quant_rows = 1,
                      .quant_vectors = 8};
#endif
constexpr int lanes = tiles.lanes;
typedef float floats __attribute__((vector_size(4 * lanes), aligned(4), may_alias));
typedef int ints __attribute__((vector_size(4 * lanes), aligned(4), may_alias));
typedef float half_floats __attribute__((vector_size(2 * lanes), aligned(4), may_alias));
typedef unsigned int words __attribute__((vector_size(4 * lanes), aligned(4), may_alias));
typedef std::uint16_t half_t __attribute__((may_alias)); // an f16

} // namespace

// Operations that these types lack, in one file for each family of processors. load converts f16 and bytes to floats.
// For Bytes [lanes][4], or as many sums, there are load_bytes, nibbles, look_up (bytes below 16 in a table),
// splat_word, to_floats and dot4_unsigned. For q8_0, stored as weight + 128, prepare_q8 and dot4_q8 give sums that are
// too large by q8_offset times that of x.
#if defined(__aarch64__)
#include "kernels/vectors_arm64.h"
#else
#include "kernels/vectors_x86.h"
#endif

namespace {

inline floats load(const float* p) {
    return *reinterpret_cast<const floats*>(p);
}
inline floats load_part(const half_t* p, int n) {
    half_t all[lanes] = {};
    for (int i = 0; i < n; ++i) all[i] = p[i];
    return load(all);
}
inline void store(float* p, floats v) {
    *reinterpret_cast<floats*>(p) = v;
}
// s + 0 differs from s where s is -0, so the compiler keeps that addition; s - 0 equals s, and a load broadcasts it.
inline floats splat(float s) {
    return s - floats{};
}
// Sets sums to zero, in registers. Of an array with = {} gcc 12 makes memory, which it fills with rep stos: a sixth of
// the time of training's products of pairs (Zen 5).
template <int N>
inline void clear(floats (&sums)[N]) {
#pragma GCC unroll 32
    for (int i = 0; i < N; ++i) sums[i] = floats{};
}
template <int M, int N>
inline void clear(floats (&sums)[M][N]) {
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) sums[i][j] = floats{};
}
// -1 in the first n lanes, 0 in the others.
inline ints first_lanes(int n) {
    ints lane{};
    for (int i = 0; i < lanes; ++i) lane[i] = i;
    return lane < n;
}
// The first n < lanes floats; the other lanes are 0. Lanes that do not count are not read or written.
inline floats load_part(const float* p, int n) {
#if defined(__AVX512F__)
    return reinterpret_cast<floats>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p));
#elif defined(__AVX__)
    return reinterpret_cast<floats>(_mm256_maskload_ps(p, reinterpret_cast<__m256i>(first_lanes(n))));
#else
    floats v{};
    for (int i = 0; i < n; ++i) v[i] = p[i];
    return v;
#endif
}
inline void store_part(float* p, int n, floats v) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), reinterpret_cast<__m512>(v));
#else
    for (int i = 0; i < n; ++i) p[i] = v[i];
#endif
}

// Reduces a vector with op, by a fixed tree: combines halves until one lane is left.
typedef float f32x2 __attribute__((vector_size(8), aligned(4), may_alias));
typedef float f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x16 __attribute__((vector_size(64), aligned(4), may_alias));
template <class Op>
inline float fold(f32x4 v, Op op) {
    const f32x4 pair = op(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));
    return op(pair[0], pair[1]);
}
template <class Op>
inline float fold(f32x8 v, Op op) {
    const f32x4 a = __builtin_shufflevector(v, v, 0, 1, 2, 3), b = __builtin_shufflevector(v, v, 4, 5, 6, 7);
    return fold(op(a, b), op);
}
template <class Op>
inline float fold(f32x16 v, Op op) {
    const f32x8 a = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
    const f32x8 b = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    return fold(op(a, b), op);
}
inline float sum(floats v) {
    return fold(v, [](auto a, auto b) { return a + b; });
}
inline float largest(floats v) {
    return fold(v, [](auto a, auto b) { return a > b ? a : b; });
}

// exp(x) for x <= 88 by 2^n * e^r, |r| <= ln 2 / 2, and a polynomial of degree 6 (Cephes' expf, about 1 ulp). Below
// -66.5, which is 2^-96, the result is 0: each use adds it to a 1. Smaller results would make subnormal products, each
// of which takes a processor a hundred cycles.
inline floats exp_lanes(floats x) {
    const floats low = splat(-66.5f);
    const ints tiny = x < low;
    x = tiny ? low : x;
    x = x > splat(88.0f) ? splat(88.0f) : x;
    floats n = x * 1.44269504088896341f;
    n = (n + 12582912.0f) - 12582912.0f; // round to nearest: 1.5 * 2^23
    floats r = x - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    floats p = splat(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    const ints exponent = (__builtin_convertvector(n, ints) + 127) << 23;
    const floats result = p * reinterpret_cast<const floats&>(exponent);
    return tiny ? floats{} : result;
}

// f over x in whole vectors, the tail padded.
template <class F>
inline void map(int n, const float* x, float* y, F f) {
    int i = 0;
    for (; i + lanes <= n; i += lanes) store(y + i, f(load(x + i), y + i, lanes));
    if (i < n) store_part(y + i, n - i, f(load_part(x + i, n - i), y + i, n - i));
}

inline f32x4 each_twice(f32x2 v) {
    return __builtin_shufflevector(v, v, 0, 0, 1, 1);
}
inline f32x8 each_twice(f32x4 v) {
    return __builtin_shufflevector(v, v, 0, 0, 1, 1, 2, 2, 3, 3);
}
inline f32x16 each_twice(f32x8 v) {
    return __builtin_shufflevector(v, v, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
}
inline f32x4 neighbours_swapped(f32x4 v) {
    return __builtin_shufflevector(v, v, 1, 0, 3, 2);
}
inline f32x8 neighbours_swapped(f32x8 v) {
    return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
}
inline f32x16 neighbours_swapped(f32x16 v) {
    return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
}

} // namespace
