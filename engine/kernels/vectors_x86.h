// SPDX-License-Identifier: MIT
// Operations of x86-64 vectors that GCC's vector types lack; included by vectors.h. Sets differ by the flags of their
// files.

#include <immintrin.h>

namespace {

inline floats load(const half_t* p) {
#if defined(__AVX512F__)
    return reinterpret_cast<floats>(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#elif defined(__F16C__)
    return reinterpret_cast<floats>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#else
    // Moves exponent and fraction to a float's places, and multiplies with 2^112, the difference of the biases. This is
    // correct for subnormals too. Infinity and NaN get an exponent of all ones.
    const words half =
        reinterpret_cast<words>(_mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
    const words magnitude = (half & 0x7fffu) << 13, sign = (half & 0x8000u) << 16;
    const floats value = reinterpret_cast<const floats&>(magnitude) * 0x1p112f;
    const words wild = reinterpret_cast<words>(magnitude >= (0x7c00u << 13)) & 0x7f800000u;
    const words bits = reinterpret_cast<const words&>(value) | wild | sign;
    return reinterpret_cast<const floats&>(bits);
#endif
}

inline floats load(const signed char* p) {
#if defined(__AVX512F__)
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return reinterpret_cast<floats>(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)));
#elif defined(__AVX2__)
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return reinterpret_cast<floats>(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)));
#else
    int word;
    __builtin_memcpy(&word, p, sizeof word);
    return reinterpret_cast<floats>(_mm_cvtepi32_ps(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(word))));
#endif
}

// A sum that is computed at once. GCC would delay sums of integers, and run out of registers for their summands.
template <class V>
inline V at_once(V sum) {
#if defined(__AVX512F__)
    asm("" : "+v"(sum));
#elif defined(__x86_64__)
    asm("" : "+x"(sum));
#endif // WebAssembly has no registers
    return sum;
}

// Sums of four products of bytes each, added to acc: weights [lanes][4] by the same four activations.
// Exact: |w| <= 128 and |x| <= 127 overflow no step.
#if defined(__AVX512BW__)
typedef __m512i Bytes; // [lanes][4], or as many 32-bit sums
inline Bytes load_bytes(const std::byte* p) {
    return _mm512_loadu_si512(p);
}
inline Bytes nibbles(Bytes v, int shift) {
    return _mm512_and_si512(_mm512_srli_epi16(v, static_cast<unsigned>(shift)), _mm512_set1_epi8(15));
}
inline Bytes look_up(const std::uint8_t (&table)[16], Bytes i) {
    const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(sixteen), i);
}
inline Bytes splat_word(int s) {
    return _mm512_set1_epi32(s);
}
inline floats to_floats(Bytes sums) {
    return reinterpret_cast<floats>(_mm512_cvtepi32_ps(sums));
}
#if defined(__AVX512VNNI__)
inline Bytes dot4_unsigned(Bytes acc, Bytes w, Bytes x) {
    return _mm512_dpbusd_epi32(acc, w, x);
}
#else
inline Bytes dot4_unsigned(Bytes acc, Bytes w, Bytes x) {
    return at_once(_mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_maddubs_epi16(w, x), _mm512_set1_epi16(1))));
}
inline Bytes minus_128(Bytes w) {
    return _mm512_xor_si512(w, _mm512_set1_epi8(-128));
}
inline Bytes magnitude(Bytes w) {
    return _mm512_abs_epi8(w);
}
inline Bytes with_sign(Bytes x, Bytes w) {
    return _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(w), _mm512_setzero_si512(), x);
}
#endif
#elif defined(__AVX2__)
typedef __m256i Bytes;
inline Bytes load_bytes(const std::byte* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline Bytes nibbles(Bytes v, int shift) {
    return _mm256_and_si256(_mm256_srli_epi16(v, shift), _mm256_set1_epi8(15));
}
inline Bytes look_up(const std::uint8_t (&table)[16], Bytes i) {
    const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(sixteen), i);
}
inline Bytes splat_word(int s) {
    return _mm256_set1_epi32(s);
}
inline floats to_floats(Bytes sums) {
    return reinterpret_cast<floats>(_mm256_cvtepi32_ps(sums));
}
#if defined(__AVXVNNI__)
inline Bytes dot4_unsigned(Bytes acc, Bytes w, Bytes x) {
    return _mm256_dpbusd_avx_epi32(acc, w, x);
}
#else
inline Bytes dot4_unsigned(Bytes acc, Bytes w, Bytes x) {
    return at_once(_mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_maddubs_epi16(w, x), _mm256_set1_epi16(1))));
}
inline Bytes minus_128(Bytes w) {
    return _mm256_xor_si256(w, _mm256_set1_epi8(-128));
}
inline Bytes magnitude(Bytes w) {
    return _mm256_abs_epi8(w);
}
inline Bytes with_sign(Bytes x, Bytes w) {
    return _mm256_sign_epi8(x, w);
}
#endif
#else
typedef __m128i Bytes;
inline Bytes load_bytes(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
inline Bytes nibbles(Bytes v, int shift) {
    return _mm_and_si128(_mm_srli_epi16(v, shift), _mm_set1_epi8(15));
}
inline Bytes look_up(const std::uint8_t (&table)[16], Bytes i) {
    const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm_shuffle_epi8(sixteen, i);
}
inline Bytes splat_word(int s) {
    return _mm_set1_epi32(s);
}
inline floats to_floats(Bytes sums) {
    return reinterpret_cast<floats>(_mm_cvtepi32_ps(sums));
}
inline Bytes dot4_unsigned(Bytes acc, Bytes w, Bytes x) {
    return at_once(_mm_add_epi32(acc, _mm_madd_epi16(_mm_maddubs_epi16(w, x), _mm_set1_epi16(1))));
}
inline Bytes minus_128(Bytes w) {
    return _mm_xor_si128(w, _mm_set1_epi8(-128));
}
inline Bytes magnitude(Bytes w) {
    return _mm_abs_epi8(w);
}
inline Bytes with_sign(Bytes x, Bytes w) {
    return _mm_sign_epi8(x, w);
}
#endif

// Products of levels without VNNI. Two products of a few bits each and some of their sums fit 16 bits, and are added to
// 32 bits together.
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
struct ShortSums {
    static constexpr bool fit = false;
};
#elif defined(__AVX512BW__)
struct ShortSums {
    static constexpr bool fit = true;
    static Bytes products(Bytes w, Bytes x) { return _mm512_maddubs_epi16(w, x); }
    static Bytes add(Bytes a, Bytes b) { return at_once(_mm512_add_epi16(a, b)); }
    static Bytes add_products(Bytes acc, Bytes a, Bytes b) {
        return at_once(_mm512_add_epi32(acc, _mm512_madd_epi16(a, b)));
    }
};
#elif defined(__AVX2__)
struct ShortSums {
    static constexpr bool fit = true;
    static Bytes products(Bytes w, Bytes x) { return _mm256_maddubs_epi16(w, x); }
    static Bytes add(Bytes a, Bytes b) { return at_once(_mm256_add_epi16(a, b)); }
    static Bytes add_products(Bytes acc, Bytes a, Bytes b) {
        return at_once(_mm256_add_epi32(acc, _mm256_madd_epi16(a, b)));
    }
};
#else
struct ShortSums {
    static constexpr bool fit = true;
    static Bytes products(Bytes w, Bytes x) { return _mm_maddubs_epi16(w, x); }
    static Bytes add(Bytes a, Bytes b) { return at_once(_mm_add_epi16(a, b)); }
    static Bytes add_products(Bytes acc, Bytes a, Bytes b) { return at_once(_mm_add_epi32(acc, _mm_madd_epi16(a, b))); }
};
#endif

// A q8_0 weight is stored as the weight + 128. VNNI multiplies it unchanged, and 128 times the sum of the activations
// is subtracted. Elsewhere two such products do not fit 16 bits, so |w| is multiplied with x that has w's sign.
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
constexpr int q8_offset = 128; // the excess of the bytes in dot4_q8
inline Bytes prepare_q8(Bytes w) {
    return w;
}
inline Bytes dot4_q8(Bytes acc, Bytes w, Bytes x) {
    return dot4_unsigned(acc, w, x);
}
#else
constexpr int q8_offset = 0;
inline Bytes prepare_q8(Bytes w) {
    return minus_128(w);
}
inline Bytes dot4_q8(Bytes acc, Bytes w, Bytes x) {
    return dot4_unsigned(acc, magnitude(w), with_sign(x, w));
}
#endif

} // namespace
