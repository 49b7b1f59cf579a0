// SPDX-License-Identifier: MIT
#include "tools/bench/limits.h"

#include "core/blas.h"
#include "core/parallel.h"
#include "core/tensor.h"
#include "core/timer.h"
#include "kernels/kernels.h"
#include "tools/bench/predict.h"
#include "tools/bench/statistics.h"

#include <algorithm>
#include <cmath>

namespace ordo::bench {
namespace {

constexpr int times = 5;
constexpr double shortest = 2e-3; // seconds

double seconds_of_many(int repeats, const std::function<void()>& work) {
    return seconds_of([&] {
        for (int i = 0; i < repeats; ++i) work();
    });
}

// amount / the median time of work
double rate_of(double amount, const std::function<void()>& work) {
    work();
    const double once = std::max(1e-9, seconds_of(work));
    const int repeats = static_cast<int>(std::ceil(std::max(1.0, shortest / once)));
    std::vector<double> seconds;
    for (int i = 0; i < times; ++i) seconds.push_back(seconds_of_many(repeats, work) / repeats);
    return amount / quantile(seconds, 0.5);
}

// Avoids zeros, which a system may keep in a single page, and numbers with subnormal squares.
void fill_half(std::span<float> values) {
    std::fill(values.begin(), values.end(), 0.5f);
}

// Each thread fills and reads its own part, on its own memory node if there are several.
double stream_rate(std::uint64_t bytes) {
    constexpr std::uint64_t most = std::uint64_t{1} << 30, line = 64 / sizeof(float);
    constexpr std::size_t piece = 1 << 16; // floats in a call
    const int threads = thread_count();
    const auto parts = static_cast<std::uint64_t>(threads);
    const std::size_t share = (std::min(bytes, most) / sizeof(float) / parts + line) / line * line;
    Buffer<float> values(share * parts);
    const auto part = [&](std::ptrdiff_t i) {
        return std::span<float>(values).subspan(static_cast<std::size_t>(i) * share, share);
    };
    parallel_for(threads, 1, [&](std::ptrdiff_t i) { fill_half(part(i)); });
    const Kernels& k = kernels();
    // The machine's widest vectors, called through a pointer, so that no compiler can omit the reads.
    const auto read = [&](std::ptrdiff_t i) {
        for (std::span<const float> rest = part(i); !rest.empty(); rest = rest.subspan(std::min(piece, rest.size())))
            k.dot(static_cast<int>(std::min(piece, rest.size())), rest.data(), rest.data());
    };
    return rate_of(static_cast<double>(values.size() * sizeof(float)), [&] { parallel_for(threads, 1, read); });
}

double sgemm_rate(const LargestMatrix& matrix) {
    constexpr int rows = 512;
    Tensor x(rows, matrix.inputs), w(matrix.outputs, matrix.inputs), y(rows, matrix.outputs);
    fill_half({x.data(), x.size()});
    fill_half({w.data(), w.size()});
    return rate_of(2.0 * rows * matrix.outputs * matrix.inputs,
                   [&] { gemm(x.view(), Transpose::no, w.view(), Transpose::yes, y.view()); });
}

double peak_rate(const Peak& peak) {
    constexpr int steps = 1 << 15;
    const int threads = thread_count();
    return rate_of(2.0 * peak.products * steps * threads,
                   [&] { parallel_for(threads, 1, [&](std::ptrdiff_t) { peak.run(steps, 1, 1); }); });
}

} // namespace

double Limits::products(WeightType type) const {
    return type == WeightType::bf16 ? pairs : type == WeightType::f32 || type == WeightType::f16 ? floats : bytes;
}

LargestMatrix largest_matrix(const Blueprint& b) {
    const int q = b.n_heads * b.d_head, kv = b.n_kv_heads * b.d_head;
    const LargestMatrix matrices[] = {
        {q + 2 * kv, b.d_model}, {b.d_model, q}, {b.gated ? 2 * b.d_ff : b.d_ff, b.d_model}, {b.d_model, b.d_ff}};
    return *std::max_element(
        std::begin(matrices), std::end(matrices), [](const LargestMatrix& one, const LargestMatrix& other) {
            return std::int64_t{one.outputs} * one.inputs < std::int64_t{other.outputs} * other.inputs;
        });
}

Limits measure_limits(const Blueprint& blueprint, WeightType type, int threads) {
    set_threads(threads);
    const Kernels& k = kernels();
    return {stream_rate(weight_bytes(blueprint, type)), sgemm_rate(largest_matrix(blueprint)), peak_rate(k.peak_floats),
            peak_rate(k.peak_pairs), peak_rate(k.peak_bytes)};
}

Limits better(const Limits& a, const Limits& b) {
    return {std::max(a.stream, b.stream), std::max(a.sgemm, b.sgemm), std::max(a.floats, b.floats),
            std::max(a.pairs, b.pairs), std::max(a.bytes, b.bytes)};
}

} // namespace ordo::bench
