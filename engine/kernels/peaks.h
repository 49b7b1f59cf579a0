// SPDX-License-Identifier: MIT
// The fastest loops of products that a set can run (Peak in kernels.h), included by each instruction set after
// vectors.h.

namespace {

// Enough sums that no addition waits for another, and few enough that the loop over them is unrolled (GCC: 16) and they
// and the operands fit the registers.
constexpr int peak_sums = lanes == 16 || tiles.panel_vectors == 4 ? 16 : 10;

// The compiler takes the value for a new one. Otherwise it multiplies constants once, for all sums or before the loop.
template <class T>
[[gnu::always_inline]] inline void read_again([[maybe_unused]] T& value) {
#if defined(__AVX512F__)
    asm volatile("" : "+v"(value));
#elif defined(__x86_64__)
    asm volatile("" : "+x"(value));
#elif defined(__aarch64__)
    asm volatile("" : "+w"(value));
#endif // WebAssembly measures no limits, and has no fused operations
}

inline floats to_floats(floats sums) {
    return sums;
}
template <class Sum, class Operand, class Multiply>
inline double peak_run(int steps, Sum zero, Operand x, Operand y, const Multiply& multiply) {
    alignas(64) Sum sums[peak_sums]; // references to them would drop the reduced alignment of their type
    for (Sum& sum : sums) sum = zero;
    for (int step = 0; step < steps; ++step)
        for (Sum& sum : sums) {
            read_again(x);
            sum = multiply(sum, x, y);
        }
    double total = 0;
    for (const Sum& sum : sums)
        for (int i = 0; i < lanes; ++i) total += static_cast<double>(to_floats(sum)[i]);
    return total;
}

[[maybe_unused]] double peak_of_floats(int steps, int x, int y) {
    return peak_run(steps, floats{}, splat(static_cast<float>(x)), splat(static_cast<float>(y)),
                    [](floats sum, floats a, floats b) { return sum + a * b; });
}
[[maybe_unused]] constexpr ordo::Peak peak_floats{peak_sums * lanes, peak_of_floats};

[[maybe_unused]] double peak_of_bytes(int steps, int x, int y) {
    const auto four = [](int byte) {
        return splat_word(static_cast<int>(0x01010101u * static_cast<unsigned char>(byte)));
    };
    return peak_run(steps, splat_word(0), four(y), four(x),
                    [](Bytes sum, Bytes w, Bytes a) { return dot4_unsigned(sum, w, a); });
}
[[maybe_unused]] constexpr ordo::Peak peak_bytes{4 * peak_sums * lanes, peak_of_bytes};

#if defined(__AVX512BF16__)
double peak_of_pairs(int steps, int x, int y) {
    const auto both = [](int value) {
        const auto half = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(splat(static_cast<float>(value))));
        return _mm512_inserti64x4(_mm512_castsi256_si512(reinterpret_cast<__m256i>(half)),
                                  reinterpret_cast<__m256i>(half), 1);
    };
    return peak_run(steps, floats{}, both(x), both(y), [](floats sum, __m512i a, __m512i b) {
        return reinterpret_cast<floats>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(a),
                                                         reinterpret_cast<__m512bh>(b)));
    });
}
constexpr ordo::Peak peak_pairs{2 * peak_sums * lanes, peak_of_pairs};
#else
[[maybe_unused]] constexpr ordo::Peak peak_pairs = peak_floats;
#endif

} // namespace
