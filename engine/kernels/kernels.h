// SPDX-License-Identifier: MIT
// The inner loops, chosen at run time. baseline.cpp, avx2.cpp, avx512.cpp and, for ARM64, neon.cpp compile all of them,
// with the same headers under different flags. avxvnni.cpp, avx512vnni.cpp, avx512bf16.cpp, amx.cpp and dotprod.cpp
// compile the loops that their instructions change, and take the others from the set below (kernels.cpp). All run on
// the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ordo {

// Rows of activations in blocks of 32 that share a scale: x = scale * value. cols is a multiple of 32.
struct QuantRows {
    const signed char* values; // [rows, cols], -127 .. 127
    const float* scales;       // [rows, cols / 32]
    const int* sums;           // [rows, cols / 32], of a block's values
    const int* first_sums;     // [rows, cols / 32], of a block's first 16 values
    int cols;
};

// Weights are packed in panels of 32 outputs. A vector then holds several outputs, and no sum is taken across a vector.
// The panels of a matrix are panel_bytes apart, and the last one is padded with zeros. The layout within a panel, k
// ascending:
//   f32   [k][32]
//   f16   [k][32]
//   bf16  [k / 2][32][2], an odd k padded with 0
//   q8_0  [k / 32] blocks of scales f16[32] and [8][32][4] bytes, each the weight + 128
//   q4_0  [k / 32] blocks of scales f16[32] and [4][32][4] bytes: weights 4 g + i in the low half, 16 further in the
//   high
//   q5_0  [k / 32] blocks of scales f16[32], fifth bits [32][4] bytes, bit g of byte i for weight 4 g + i, and as q4_0
//   q4_K  [k / 256] blocks of d f16[32], dmin f16[32], and [35][32][4] bytes: a file's block, whose bytes for an output
//   q5_K  come in words of four: 3 words of scales, 32 of levels; q5_K: 3, 8 of fifth bits, 32
//   q6_K  [k / 256] blocks of d f16[32] and [52][32][4] bytes: 32 of low bits, 16 of high bits, 4 of scales
//   q4_1, q5_1  as q4_0 and q5_0 with two f16[32], d and m
//   iq4_nl      as q4_0
//   q2_K        [k / 256] blocks of d f16[32], dmin f16[32], and [20][32][4] bytes: 4 of scales, 16 of levels
//   q3_K        [k / 256] blocks of d f16[32] and [27][32][4] bytes: 8 of third bits, 16 of levels, 3 of scales
//   iq4_xs      [k / 256] blocks of d f16[32], [32][2] bytes of scales, [33][32][4] bytes: 1 of scales, 32 of levels
// The layout is the same for every instruction set.
inline constexpr int panel_outputs = 32;

struct ExpRow {
    float largest, sum; // of x, and of the exponentials
};

// y [rows, outputs] = x [rows, k] * weights^T
using PanelProduct = void (*)(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes,
                              const float* x, std::ptrdiff_t ldx, float* y, std::ptrdiff_t ldy);
// The same for rows of bf16, ldx apart; k is rounded up to even and padded with 0. With add, the sums start
// from y instead of 0.
using PairProduct = void (*)(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes,
                             const std::uint16_t* x, std::ptrdiff_t ldx, float* y, std::ptrdiff_t ldy, bool add);
using QuantProduct = void (*)(int rows, int outputs, int k, const std::byte* w, std::ptrdiff_t panel_bytes,
                              const QuantRows& x, float* y, std::ptrdiff_t ldy);

// A loop that only multiplies, as fast as the set can: the limit of its products. Each step adds x * y to `products`
// sums. All operands are in registers. Returns the total, which is exact if each sum is below 2^24. Without VNNI,
// weights of few bits need fewer instructions than the bytes here, and can pass the limit.
struct Peak {
    int products;
    double (*run)(int steps, int x, int y);
};

// Partial sums of `sum`: enough that no addition waits for another, in vectors of any width.
inline constexpr int partial_sums = 64;

// An instruction for products of bytes changes these loops alone.
struct ByteLoops {
    QuantProduct product_q8_0, product_q4_0, product_q5_0, product_q4_K, product_q5_K, product_q6_K;
    QuantProduct product_q4_1, product_q5_1, product_iq4_nl, product_q2_K, product_q3_K, product_iq4_xs;
    Peak peak_bytes; // |x| <= 127, 0 <= y <= 127
};

// Rounds x [n, k], or [k, n] if transposed, for a product of pairs of bf16: to rows [n][stride], or to panels
// [pairs][32] that are `stride` words apart. Pairs beyond k are 0 up to a multiple of 16, as are a panel's outputs
// beyond n.
using PackPairs = void (*)(int n, int k, const float* x, std::ptrdiff_t ldx, bool transposed, std::uint32_t* out,
                           std::ptrdiff_t stride);

// An instruction for products of pairs of bf16 changes these loops alone.
struct PairLoops {
    // c [m, n] = a [m, k] * b [k, n], rows of a and c lda and ldc apart. b is in slabs of 64 rows. A slab has a block
    // for every 32 columns, the last one padded: scales f16[64] and signed bytes [64][32]. A row of the result has the
    // same bits as that row alone.
    void (*product_slabs)(int m, int n, int k, const float* a, std::ptrdiff_t lda, const std::byte* b, float* c,
                          std::ptrdiff_t ldc);
    // The same with blocks of pairs of bf16, [32][32][2]: two neighbouring rows of each column. Where the machine
    // multiplies pairs, a is rounded to bf16.
    void (*product_pair_slabs)(int m, int n, int k, const float* a, std::ptrdiff_t lda, const std::byte* b, float* c,
                               std::ptrdiff_t ldc);
    // bf16 by bf16, twice as fast, where the machine multiplies pairs at once; otherwise null.
    PairProduct product_bf16_pairs;
    // Null where that product is. Rounds to nearest; y may be x.
    void (*round_to_bf16)(int n, const float* x, std::uint16_t* y);
    PackPairs pack_pair_rows, pack_pair_panels;
    Peak peak_pairs; // of floats where product_bf16_pairs is null
};

inline constexpr int most_walk_columns = 512; // a row is on the stack

// A row r that walks over tokens, starting as q. Each of n steps changes it, by the token's x [e], and adds a score:
//   r -= f (r . x) x  with a factor f,  r -= r * x  in each column without one;  score += scale (r - q) . k
struct Walk {
    int n, e;
    float scale;
    const float* token; // x of the first step
    const float* factor;
    std::ptrdiff_t token_stride; // from step to step; also of factors
    const float *q, *k;
    std::ptrdiff_t k_stride;
    float* scores = nullptr;
    std::ptrdiff_t direction; // from score to score: 1 or -1
    float* rows = nullptr;    // [n, e], r after each step; null: not kept
    bool first_alone = false; // whether the first step is taken alone; all others are taken in twos
};
// The walks of consecutive queries to all earlier keys. Keys, tokens and columns of scores begin at the same token. The
// first query's own token has the index `own`. Nothing is added to scores of a query's own and later keys. The bits are
// those of walks of one query each from their own token down, which take the first step alone if that token is odd.
struct Walks {
    int queries, own, e; // e: at most most_columns_together
    int first_token;     // the index of the first token in its sequence, which says which tokens are odd
    float scale;
    const float *token, *factor; // factor: null without one
    std::ptrdiff_t token_stride;
    const float* q;
    std::ptrdiff_t q_stride;
    const float* k;
    std::ptrdiff_t k_stride;
    float* scores;
    std::ptrdiff_t scores_stride;
};
inline constexpr int most_columns_together = 64;
// The gradients of a walk, to which its backward pass adds. That of the scores is read.
struct WalkGradient {
    const float* scores;
    float *q, *k;
    std::ptrdiff_t k_stride;
    float *token, *factor;
    std::ptrdiff_t token_stride;
};

struct Kernels : ByteLoops, PairLoops {
    const char* name; // "baseline", "avx2", "avxvnni", "avx512", "avx512vnni", "avx512bf16", "amx"; "neon", "dotprod"

    // c [m, n] = alpha * a * b + beta * c. a(i, l) = a[i * a_row + l * a_col], so that a may be
    // transposed; b [k, n] and c [m, n] have contiguous rows, ldb and ldc apart.
    void (*product)(int m, int n, int k, float alpha, const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_col,
                    const float* b, std::ptrdiff_t ldb, float beta, float* c, std::ptrdiff_t ldc);
    // The same with b in f16.
    void (*product_halves)(int m, int n, int k, float alpha, const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_col,
                           const std::uint16_t* b, std::ptrdiff_t ldb, float beta, float* c, std::ptrdiff_t ldc);
    // y[r * ldy + i] = sum over l of w[i * ldw + l] * x[r * ldx + l], for i in [0, m), r in [0, rows): for few rows,
    // where packing would cost more than it saves. A row of the result has the same bits as that row alone.
    void (*dots)(int rows, int m, int k, const float* w, std::ptrdiff_t ldw, const float* x, std::ptrdiff_t ldx,
                 float* y, std::ptrdiff_t ldy);
    PanelProduct product_f32, product_f16, product_bf16;
    Peak peak_floats;
    // n a multiple of 32. A value that is not finite makes its block's scale NaN.
    void (*quantise_row)(int n, const float* x, signed char* values, float* scales, int* sums, int* first_sums);
    // x[i] = exp(x[i] - largest x). n > 0; -inf gives 0.
    ExpRow (*exp_row)(int n, float* x);
    void (*scale)(int n, float s, float* x);         // x *= s
    void (*add)(int n, const float* x, float* y);    // y += x
    void (*add_value)(int n, float value, float* y); // y += value
    // x[i] is added to partial sum i % partial_sums. Then the upper half of the partial sums is added to the lower,
    // until one is left.
    float (*sum)(int n, const float* x);
    void (*axpy)(int n, float s, const float* x, float* y); // y += s * x
    // y[t * ldy + i] += sum over m < taps of w[m * ldw + i] * x[(t + m) * ldx + i], for i in [0, n), t in [0, rows): a
    // causal convolution of each column. The sum adds ascending m to y, which may be x.
    void (*convolve)(int rows, int n, int taps, const float* w, std::ptrdiff_t ldw, const float* x, std::ptrdiff_t ldx,
                     float* y, std::ptrdiff_t ldy);
    float (*dot)(int n, const float* x, const float* y);
    // Rotates n pairs (a, b) to (a cos - b s, a s + b cos) with s = direction * sin. A pair is two neighbours in x, or
    // a[i] and b[i].
    void (*rotate_adjacent)(int n, const float* cos, const float* sin, float direction, float* x);
    void (*rotate_halves)(int n, const float* cos, const float* sin, float direction, float* a, float* b);
    // y[i] -= slope * |at - positions[i]|
    void (*subtract_distance)(int n, float slope, int at, const int* positions, float* y);
    // Whether each position is its predecessor plus one; n > 0.
    bool (*consecutive)(int n, const int* positions);
    void (*sigmoid)(int n, const float* x, float* y);                   // y = 1 / (1 + exp(-x)); may be in place
    void (*softplus)(int n, const float* x, float* y);                  // y = ln(1 + exp(x)); may be in place
    void (*cos_sin)(int n, const float* angle, float* cos, float* sin); // of angles of at most 9 radians, to 2e-7
    void (*silu)(int n, const float* x, float* y);                      // y = x / (1 + exp(-x)); may be in place
    void (*gelu_tanh)(int n, const float* x, float* y);                 // may be in place
    void (*silu_grad)(int n, const float* x, float* dx);                // dx *= silu'(x)
    void (*gelu_tanh_grad)(int n, const float* x, float* dx);           // dx *= gelu_tanh'(x)
    // One step of AdamW (Loshchilov and Hutter 2019). g_scale scales the gradient g; corrections are 1 / (1 - beta^t).
    void (*adamw)(int n, float* w, const float* g, float* m, float* v, float g_scale, float lr, float beta1,
                  float beta2, float eps, float decay, float correction1, float correction2);
    void (*walk)(const Walk& walk);
    void (*walks)(const Walks& walks);                                     // faster than one after the other
    void (*walk_backward)(const Walk& walk, const WalkGradient& gradient); // reads the rows
};

// The best set that this machine can run, or the one chosen by select_kernels.
const Kernels& kernels();
// "auto" or a name. Throws Error(usage) for a set that does not exist or that this machine cannot run. Do not call it
// while anything computes.
void select_kernels(std::string_view name);
// Any set: tests have one that computes as another machine would.
void select_kernels(const Kernels& set);
// The sets that this machine can run, slowest first.
std::span<const Kernels* const> available_kernels();

} // namespace ordo
