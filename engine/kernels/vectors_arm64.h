// SPDX-License-Identifier: MIT
// Operations of ARM64 vectors that GCC's vector types lack; included by vectors.h. Every such machine has NEON and
// converts f16 to float. The sets differ in SDOT alone.

#include <arm_neon.h>

namespace {

inline floats load(const half_t* p) {
    uint16x4_t halves;
    __builtin_memcpy(&halves, p, sizeof halves);
    return reinterpret_cast<floats>(vcvt_f32_f16(vreinterpret_f16_u16(halves)));
}

inline floats load(const signed char* p) {
    std::uint32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    const int16x8_t whole = vmovl_s8(vcreate_s8(word));
    return reinterpret_cast<floats>(vcvtq_f32_s32(vmovl_s16(vget_low_s16(whole))));
}

typedef int32x4_t Bytes; // [lanes][4], or as many 32-bit sums
inline Bytes load_bytes(const std::byte* p) {
    return vreinterpretq_s32_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(p)));
}
inline Bytes nibbles(Bytes v, int shift) {
    return reinterpret_cast<Bytes>((reinterpret_cast<words>(v) >> shift) & 0x0f0f0f0fu);
}
inline Bytes look_up(const std::uint8_t (&table)[16], Bytes i) {
    return vreinterpretq_s32_u8(vqtbl1q_u8(vld1q_u8(table), vreinterpretq_u8_s32(i)));
}
inline Bytes splat_word(int s) {
    return vdupq_n_s32(s);
}
inline floats to_floats(Bytes sums) {
    return reinterpret_cast<floats>(vcvtq_f32_s32(sums));
}

// Sums of four products of signed bytes, added to acc: weights [lanes][4] by the same four activations. Exact: |w| <=
// 128 and |x| <= 127 overflow no step.
inline Bytes dot4(Bytes acc, Bytes w, Bytes x) {
    const int8x16_t a = vreinterpretq_s8_s32(w), b = vreinterpretq_s8_s32(x);
#if defined(__ARM_FEATURE_DOTPROD)
    return vdotq_s32(acc, a, b);
#else
    const int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b)), high = vmull_high_s8(a, b);
    return vpadalq_s16(acc, vpaddq_s16(low, high));
#endif
}
inline Bytes dot4_unsigned(Bytes acc, Bytes w, Bytes x) { // levels below 128
    return dot4(acc, w, x);
}

struct ShortSums { // as for x86
    static constexpr bool fit = false;
};

constexpr int q8_offset = 0;       // the excess of the bytes in dot4_q8
inline Bytes prepare_q8(Bytes w) { // w is stored as the weight + 128
    return reinterpret_cast<Bytes>(reinterpret_cast<words>(w) ^ 0x80808080u);
}
inline Bytes dot4_q8(Bytes acc, Bytes w, Bytes x) {
    return dot4(acc, w, x);
}

} // namespace
