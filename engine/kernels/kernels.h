// SPDX-License-Identifier: MIT
// The inner loops, compiled once per instruction set (baseline.cpp, avx2.cpp, avx512.cpp: the same
// body.h under different flags) and chosen at run time. All run on the calling thread.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace ordo {

struct Kernels {
    const char* name; // "baseline", "avx2", "avx512"

    // c [m, n] = alpha * a * b + beta * c. a(i, l) = a[i * a_row + l * a_col], so that a may be
    // transposed; b [k, n] and c [m, n] have contiguous rows, ldb and ldc apart.
    void (*product)(int m, int n, int k, float alpha, const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_col,
                    const float* b, std::ptrdiff_t ldb, float beta, float* c, std::ptrdiff_t ldc);
    // y[i] = sum over l of w[i * ldw + l] * x[l], for i in [0, m)
    void (*matvec)(int m, int k, const float* w, std::ptrdiff_t ldw, const float* x, float* y);
    // x[i] = exp(x[i] - max x); returns the sum. n > 0; -inf gives 0.
    float (*exp_row)(int n, float* x);
    // The largest of x, n > 0.
    float (*max_row)(int n, const float* x);
    void (*scale)(int n, float s, float* x);                // x *= s
    void (*add)(int n, const float* x, float* y);           // y += x
    void (*axpy)(int n, float s, const float* x, float* y); // y += s * x
    float (*dot)(int n, const float* x, const float* y);
    void (*silu)(int n, const float* x, float* y);            // y = x / (1 + exp(-x)); may be in place
    void (*gelu_tanh)(int n, const float* x, float* y);       // may be in place
    void (*silu_grad)(int n, const float* x, float* dx);      // dx *= silu'(x)
    void (*gelu_tanh_grad)(int n, const float* x, float* dx); // dx *= gelu_tanh'(x)
    // One step of AdamW (Loshchilov and Hutter 2019). g is the gradient times g_scale; corrections
    // are 1 / (1 - beta^t).
    void (*adamw)(int n, float* w, const float* g, float* m, float* v, float g_scale, float lr, float beta1,
                  float beta2, float eps, float decay, float correction1, float correction2);
};

// The best set that this machine can run, or the one chosen by select_kernels.
const Kernels& kernels();
// "auto" or a name. Throws Error(usage) for one that does not exist or that this machine cannot run.
// Not to be called while anything computes.
void select_kernels(std::string_view name);
// The sets that this machine can run, slowest first.
std::span<const Kernels* const> available_kernels();

} // namespace ordo
