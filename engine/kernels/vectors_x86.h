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

// ORDO_WIDE(name): the intrinsic of that name for this set's width.
#if defined(__AVX512BW__)
typedef __m512i Bytes; // [lanes][4], or as many 32-bit sums
#define ORDO_WIDE(name) _mm512_##name
inline Bytes repeated(__m128i v) {
    return _mm512_broadcast_i32x4(v);
}
#elif defined(__AVX2__)
typedef __m256i Bytes;
#define ORDO_WIDE(name) _mm256_##name
inline Bytes repeated(__m128i v) {
    return _mm256_broadcastsi128_si256(v);
}
#else
typedef __m128i Bytes;
#define ORDO_WIDE(name) _mm_##name
inline Bytes repeated(__m128i v) {
    return v;
}
#endif

inline Bytes load_bytes(const std::byte* p) {
    typedef Bytes anywhere __attribute__((aligned(1)));
    return *reinterpret_cast<const anywhere*>(p);
}
inline Bytes nibbles(Bytes v, int shift) {
    return ORDO_WIDE(srli_epi16)(v, shift) & ORDO_WIDE(set1_epi8)(15);
}
inline Bytes look_up(const std::uint8_t (&table)[16], Bytes i) {
    return ORDO_WIDE(shuffle_epi8)(repeated(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))), i);
}
inline Bytes splat_word(int s) {
    return ORDO_WIDE(set1_epi32)(s);
}
inline floats to_floats(Bytes sums) {
    return reinterpret_cast<floats>(ORDO_WIDE(cvtepi32_ps)(sums));
}

// dot4_unsigned adds sums of four products of bytes to acc: weights [lanes][4] by the same four activations. Exact: |w|
// <= 128 and |x| <= 127 overflow no step. Without VNNI, two products of a few bits each and some of their sums fit 16
// bits; ShortSums adds them to 32 bits together.
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
inline Bytes dot4_unsigned(Bytes acc, Bytes w, Bytes x) {
#if defined(__AVX512VNNI__)
    return _mm512_dpbusd_epi32(acc, w, x);
#else
    return _mm256_dpbusd_avx_epi32(acc, w, x);
#endif
}
struct ShortSums {
    static constexpr bool fit = false;
};
#else
struct ShortSums {
    static constexpr bool fit = true;
    static Bytes products(Bytes w, Bytes x) { return ORDO_WIDE(maddubs_epi16)(w, x); }
    static Bytes add(Bytes a, Bytes b) { return at_once(ORDO_WIDE(add_epi16)(a, b)); }
    static Bytes add_products(Bytes acc, Bytes a, Bytes b) {
        return at_once(ORDO_WIDE(add_epi32)(acc, ORDO_WIDE(madd_epi16)(a, b)));
    }
};
inline Bytes dot4_unsigned(Bytes acc, Bytes w, Bytes x) {
    return ShortSums::add_products(acc, ShortSums::products(w, x), splat_word(0x00010001));
}
inline Bytes minus_128(Bytes w) {
    return w ^ ORDO_WIDE(set1_epi8)(-128);
}
inline Bytes magnitude(Bytes w) {
    return ORDO_WIDE(abs_epi8)(w);
}
inline Bytes with_sign(Bytes x, Bytes w) {
#if defined(__AVX512BW__)
    return _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(w), _mm512_setzero_si512(), x);
#else
    return ORDO_WIDE(sign_epi8)(x, w);
#endif
}
#endif
#undef ORDO_WIDE

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
