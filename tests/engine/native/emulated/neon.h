/* What the kernels use of ARM's vectors, in plain C; for processors with vectors of four numbers. */

#pragma once

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

typedef _Float16 float16_t;

#define VECTOR(name, type, size) \
    typedef type name __attribute__((vector_size(size), may_alias));
VECTOR(int8x8_t, int8_t, 8)
VECTOR(int8x16_t, int8_t, 16)
VECTOR(int16x4_t, int16_t, 8)
VECTOR(int16x8_t, int16_t, 16)
VECTOR(int32x4_t, int32_t, 16)
VECTOR(float16x4_t, float16_t, 8)
VECTOR(float16x8_t, float16_t, 16)
VECTOR(float32x4_t, float, 16)
#undef VECTOR

#define LOADS_AND_STORES(load, store, vector, type)                                        \
    static inline vector load(const type *from) {                                          \
        vector found;                                                                      \
        memcpy(&found, from, sizeof found);                                                \
        return found;                                                                      \
    }                                                                                      \
    static inline void store(type *to, vector value) { memcpy(to, &value, sizeof value); }
LOADS_AND_STORES(vld1_s8, vst1_s8, int8x8_t, int8_t)
LOADS_AND_STORES(vld1q_s8, vst1q_s8, int8x16_t, int8_t)
LOADS_AND_STORES(vld1q_s32, vst1q_s32, int32x4_t, int32_t)
LOADS_AND_STORES(vld1q_f32, vst1q_f32, float32x4_t, float)
LOADS_AND_STORES(vld1q_f16, vst1q_f16, float16x8_t, float16_t)
#undef LOADS_AND_STORES

static inline int32x4_t vdupq_n_s32(int32_t value) { return (int32x4_t){value, value, value, value}; }
static inline float32x4_t vdupq_n_f32(float value) { return (float32x4_t){value, value, value, value}; }
static inline float16x8_t vdupq_n_f16(float16_t value) {
    return (float16x8_t){value, value, value, value, value, value, value, value};
}
static inline float32x4_t vaddq_f32(float32x4_t left, float32x4_t right) { return left + right; }

/* Dot products of bytes. */

static inline int32x4_t emulated_dot(int32x4_t sum, int8x16_t left, const int8_t *right) {
    int32_t four;
    memcpy(&four, right, sizeof four);
    __m128i other = _mm_cvtepi8_epi16(_mm_set1_epi32(four)), bytes = (__m128i)left;
    __m128i low = _mm_madd_epi16(_mm_cvtepi8_epi16(bytes), other);
    __m128i high = _mm_madd_epi16(_mm_cvtepi8_epi16(_mm_srli_si128(bytes, 8)), other);
    return sum + (int32x4_t)_mm_hadd_epi32(low, high);
}
#define vdotq_laneq_s32(sum, left, right, lane) emulated_dot(sum, left, (const int8_t *)&(right) + 4 * (lane))
#define vdotq_lane_s32 vdotq_laneq_s32

/* Narrower and wider numbers. */

static inline int16x4_t vmovn_s32(int32x4_t value) { return __builtin_convertvector(value, int16x4_t); }
static inline int8x8_t vmovn_s16(int16x8_t value) { return __builtin_convertvector(value, int8x8_t); }
static inline int16x8_t vmovn_high_s32(int16x4_t low, int32x4_t high) {
    int16x4_t narrow = vmovn_s32(high);
    return __builtin_shufflevector(low, narrow, 0, 1, 2, 3, 4, 5, 6, 7);
}
static inline int8x16_t vmovn_high_s16(int8x8_t low, int16x8_t high) {
    int8x8_t narrow = vmovn_s16(high);
    return __builtin_shufflevector(low, narrow, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
static inline float16x4_t vget_low_f16(float16x8_t value) { return __builtin_shufflevector(value, value, 0, 1, 2, 3); }
static inline float16x4_t vcvt_f16_f32(float32x4_t value) {
    __m128i found = _mm_cvtps_ph((__m128)value, _MM_FROUND_TO_NEAREST_INT);
    float16x4_t halves;
    memcpy(&halves, &found, sizeof halves);
    return halves;
}
static inline float32x4_t vcvt_f32_f16(float16x4_t value) {
    __m128i halves = _mm_setzero_si128();
    memcpy(&halves, &value, sizeof value);
    return (float32x4_t)_mm_cvtph_ps(halves);
}
static inline float16x8_t vcvt_high_f16_f32(float16x4_t low, float32x4_t high) {
    float16x4_t narrow = vcvt_f16_f32(high);
    return __builtin_shufflevector(low, narrow, 0, 1, 2, 3, 4, 5, 6, 7);
}
static inline float32x4_t vcvt_high_f32_f16(float16x8_t value) {
    return vcvt_f32_f16(__builtin_shufflevector(value, value, 4, 5, 6, 7));
}

/* Halves, eight at a time. A sum or product of two, rounded to 24 bits and then to eleven, is what it
   is rounded at once. */

static inline __m256 emulated_wide(float16x8_t value) { return _mm256_cvtph_ps((__m128i)value); }
static inline float16x8_t emulated_narrow(__m256 value) {
    return (float16x8_t)_mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
}
static inline float16x8_t vaddq_f16(float16x8_t left, float16x8_t right) {
    return emulated_narrow(emulated_wide(left) + emulated_wide(right));
}
static inline float16x8_t vsubq_f16(float16x8_t left, float16x8_t right) {
    return emulated_narrow(emulated_wide(left) - emulated_wide(right));
}
static inline float16x8_t vmulq_n_f16(float16x8_t left, float16_t right) {
    return emulated_narrow(emulated_wide(left) * (float)right);
}
/* What is no number stays none, as there. */
static inline float16_t emulated_larger(float16_t left, float16_t right) {
    return left != left || left > right ? left : right;
}
static inline float16x8_t vmaxq_f16(float16x8_t left, float16x8_t right) {
    __m256 one = emulated_wide(left), two = emulated_wide(right);
    __m256 first = _mm256_or_ps(_mm256_cmp_ps(one, two, _CMP_GT_OQ), _mm256_cmp_ps(one, one, _CMP_UNORD_Q));
    return emulated_narrow(_mm256_blendv_ps(two, one, first));
}
static inline float16_t vmaxvq_f16(float16x8_t value) {
    float16_t most = value[0];
    for (int k = 1; k < 8; k++) most = emulated_larger(most, value[k]);
    return most;
}
static inline float vaddvq_f32(float32x4_t value) { return value[0] + value[1] + (value[2] + value[3]); }
static inline int16x8_t vdupq_n_s16(int16_t value) {
    return (int16x8_t){value, value, value, value, value, value, value, value};
}
static inline int16x8_t vaddq_s16(int16x8_t left, int16x8_t right) { return left + right; }
#define vshlq_n_s16(value, by) ((int16x8_t)(value) << (by))
#define vreinterpretq_s16_f16(value) ((int16x8_t)(value))
#define vreinterpretq_f16_s16(value) ((float16x8_t)(value))

/* The product is exact; the sum is rounded to 24 bits and then to eleven, nearly as there. */
static inline float16x8_t vfmaq_f16(float16x8_t sum, float16x8_t left, float16x8_t right) {
    return emulated_narrow(emulated_wide(sum) + emulated_wide(left) * emulated_wide(right));
}
#define vfmaq_n_f16(sum, left, right) vfmaq_f16(sum, left, vdupq_n_f16(right))
#define vfmsq_n_f16(sum, left, right) vfmaq_f16(sum, left, vdupq_n_f16(-(right)))
#define vfmaq_laneq_f16(sum, left, right, lane) vfmaq_f16(sum, left, vdupq_n_f16((right)[lane]))
