/* As many numbers at a time as a register holds; layouts count in sixteens. */

#pragma once

#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define UNROLL _Pragma("GCC unroll 16")
#define ALONE __attribute__((noinline)) /* inside another function it would have fewer registers */
#define LANES 16

/* Numbers in a register. Compilers keep longer vectors in memory and compare them one by one. */
#if defined(__AVX512F__)
#define WIDE 16
#elif defined(__AVX2__)
#define WIDE 8
#else
#define WIDE 4
#endif
#define PARTS (LANES / WIDE)

typedef float floats __attribute__((vector_size(4 * WIDE)));
typedef float loose_floats __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
typedef int32_t integers __attribute__((vector_size(4 * WIDE)));
typedef int32_t loose_integers __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));

static inline floats load(const float *from) { return *(const loose_floats *)from; }
static inline void store(float *to, floats value) { *(loose_floats *)to = value; }
#if defined(__AVX512F__)
static inline floats spread(float value) { return (floats)_mm512_set1_ps(value); }
#elif defined(__AVX2__)
static inline floats spread(float value) { return (floats)_mm256_set1_ps(value); }
#else
static inline floats spread(float value) { return (floats){0} + value; }
#endif
static inline floats choose(integers where, floats yes, floats no) {
    return (floats)(((integers)yes & where) | ((integers)no & ~where));
}
#if defined(__AVX512F__)
static inline floats larger(floats a, floats b) { return (floats)_mm512_max_ps((__m512)a, (__m512)b); }
static inline floats smaller(floats a, floats b) { return (floats)_mm512_min_ps((__m512)a, (__m512)b); }
#elif defined(__AVX2__)
static inline floats larger(floats a, floats b) { return (floats)_mm256_max_ps((__m256)a, (__m256)b); }
static inline floats smaller(floats a, floats b) { return (floats)_mm256_min_ps((__m256)a, (__m256)b); }
#elif defined(__aarch64__)
static inline floats larger(floats a, floats b) { return (floats)vmaxq_f32((float32x4_t)a, (float32x4_t)b); }
static inline floats smaller(floats a, floats b) { return (floats)vminq_f32((float32x4_t)a, (float32x4_t)b); }
#else
static inline floats larger(floats a, floats b) { return choose(a > b, a, b); }
static inline floats smaller(floats a, floats b) { return choose(a < b, a, b); }
#endif
/* sum + a * b, rounded the same way wherever it stands: compilers join a product and a sum in one place and not in another. */
static inline floats add_product(floats sum, floats a, floats b) {
#if defined(__AVX512F__)
    return (floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)sum);
#elif defined(__FMA__)
    return (floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)sum);
#elif defined(__aarch64__)
    return (floats)vfmaq_f32((float32x4_t)sum, (float32x4_t)a, (float32x4_t)b);
#else
    return sum + a * b;
#endif
}
/* LANES bytes as numbers. */
static inline void widen(const int8_t *from, floats wide[PARTS]) {
#if defined(__AVX512F__)
    wide[0] = (floats)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)from)));
#elif defined(__AVX2__)
    wide[0] = (floats)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)from)));
    wide[1] = (floats)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(from + 8))));
#elif defined(__aarch64__)
    int8x16_t bytes = vld1q_s8(from);
    int16x8_t left = vmovl_s8(vget_low_s8(bytes)), right = vmovl_high_s8(bytes);
    wide[0] = (floats)vcvtq_f32_s32(vmovl_s16(vget_low_s16(left)));
    wide[1] = (floats)vcvtq_f32_s32(vmovl_high_s16(left));
    wide[2] = (floats)vcvtq_f32_s32(vmovl_s16(vget_low_s16(right)));
    wide[3] = (floats)vcvtq_f32_s32(vmovl_high_s16(right));
#else
    __m128i bytes = _mm_loadu_si128((const __m128i *)from);
    __m128i left = _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
    __m128i right = _mm_srai_epi16(_mm_unpackhi_epi8(bytes, bytes), 8);
    wide[0] = (floats)_mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(left, left), 16));
    wide[1] = (floats)_mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpackhi_epi16(left, left), 16));
    wide[2] = (floats)_mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(right, right), 16));
    wide[3] = (floats)_mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpackhi_epi16(right, right), 16));
#endif
}
#if defined(__AVX512F__)
static inline float total(floats value) { return _mm512_reduce_add_ps((__m512)value); }
static inline float largest(floats value) { return _mm512_reduce_max_ps((__m512)value); }
#else
static inline float total(floats value) {
    float sum = 0;
    for (int lane = 0; lane < WIDE; lane++) sum += value[lane];
    return sum;
}
static inline float largest(floats value) {
    float most = value[0];
    for (int lane = 1; lane < WIDE; lane++) most = value[lane] > most ? value[lane] : most;
    return most;
}
#endif

/* One over a number that is neither very large nor very small, to the last bit or two. */
static inline floats inverse(floats value) {
#if defined(__AVX512F__)
    floats near = (floats)_mm512_rcp14_ps((__m512)value);
    return near * (2.0f - value * near);
#else
    return 1.0f / value;
#endif
}

#define ROUNDER 12582912.0f /* adding it leaves the nearest whole number in the last bits */

static inline integers nearest(floats value) {
    return (integers)(value + ROUNDER) - (integers)spread(ROUNDER);
}

/* exp of a number between -0.35 and 0.35. */
#define SERIES(rest)                                                                                           \
    ((((((1.9875691500e-4f * rest + 1.3981999507e-3f) * rest + 8.3334519073e-3f) * rest + 4.1665795894e-2f) *   \
           rest +                                                                                              \
       1.6666665459e-1f) *                                                                                     \
          rest +                                                                                               \
      5.0000001201e-1f) *                                                                                      \
         (rest * rest) +                                                                                       \
     rest + 1.0f)

#if defined(__AVX512F__) && !defined(VARIANT_AMX)
/* exp for values of at most about 80, next to nothing far below: a power of two and what is left of it. */
static inline floats exponential(floats value) {
    floats twos = value * 1.44269504f;
    __m512 power = _mm512_roundscale_ps((__m512)twos, 8);
    floats rest = twos - (floats)power;
    floats series = (1.32765e-3f * rest + 9.67554e-3f) * rest + 5.550713e-2f;
    series = ((series * rest + 2.402212e-1f) * rest + 6.9314697e-1f) * rest + 1.0f;
    return (floats)_mm512_scalef_ps((__m512)series, power);
}
#elif defined(__AVX512F__)
/* The same to the fourth digit. */
#define SHORT_SERIES(rest) ((((0.0416667f * rest + 0.1666667f) * rest + 0.5f) * rest + 1.0f) * rest + 1.0f)

/* exp for values of at most about 80, next to nothing far below; ``roughly`` is known when this is compiled. */
static inline floats power_of_e(floats value, const int roughly) {
    value = (floats)_mm512_max_ps((__m512)value, (__m512)spread(-200.0f));
    __m512 power = _mm512_roundscale_ps((__m512)(value * 1.44269504f), 8);
    floats whole = (floats)power, rest = value - whole * 0.693359375f + whole * 2.12194440e-4f;
    return (floats)_mm512_scalef_ps((__m512)(roughly ? SHORT_SERIES(rest) : SERIES(rest)), power);
}

static inline floats exponential(floats value) { return power_of_e(value, 0); }
#else
/* exp for values of at most about 80, next to nothing far below. */
static inline floats exponential(floats value) {
    value = larger(value, spread(-86.0f));
    floats shifted = value * 1.44269504f + ROUNDER;
    floats whole = shifted - ROUNDER, rest = value - whole * 0.693359375f + whole * 2.12194440e-4f;
    /* The last bits of ``shifted`` are the power of two, which is added to the exponent. */
    return (floats)((integers)SERIES(rest) + ((integers)shifted << 23));
}
#endif

#if defined(VARIANT_AMX)
/* What was stored is in memory from here on: loads of tiles do not tell the compiler that they read it. */
static inline void settle(void) { __asm__ volatile("" ::: "memory"); }
#endif

/* Half precision, finite; not every compiler knows it as a type. */
static inline float from_half(uint16_t half) {
    union {
        uint32_t bits;
        float value;
    } number = {(uint32_t)(half & 0x7fff) << 13};
    int small = (half & 0x7c00) == 0;
    float size = small ? (float)(half & 0x3ff) * 0x1p-24f : number.value * 0x1p112f;
    return half & 0x8000 ? -size : size;
}

/* The nearest half, the even one of two; infinite beyond the largest. */
static inline uint16_t to_half(float value) {
    union {
        float value;
        uint32_t bits;
    } size = {value}, half = {0};
    uint16_t sign = size.bits >> 16 & 0x8000;
    size.bits &= 0x7fffffff;
    if (size.bits > 0x7f800000) return sign | 0x7e00; /* no number */
    if (size.value >= 65520.0f) return sign | 0x7c00; /* infinite */
    if (size.value < 0x1p-14f) {                      /* the smallest stand apart by 2^-24 */
        half.value = size.value + 0.5f;
        return sign | (half.bits & 0x7fffff);
    }
    half.bits = size.bits + 0xfff + (size.bits >> 13 & 1);
    return sign | (half.bits - (112 << 23)) >> 13;
}

/* As many halves as a register holds numbers. */
static inline floats load_halves(const uint16_t *from) {
#if defined(__AVX512F__)
    return (floats)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
#elif defined(__F16C__) && defined(__AVX2__)
    return (floats)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from));
#elif defined(__aarch64__)
    return (floats)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)));
#else
    integers halves;
    for (int lane = 0; lane < WIDE; lane++) halves[lane] = from[lane];
    integers size = (halves & 0x7fff) << 13, infinite = size >= 0x7c00 << 13;
    /* A half's exponent counts from 15, that of other numbers from 127; both have a largest one for what is infinite. */
    floats large = (floats)(size + (112 << 23) + (infinite & 112 << 23));
    floats small = (floats)(size + (113 << 23)) - 0x1p-14f;
    return (floats)((integers)choose(size < 0x400 << 13, small, large) | (halves & 0x8000) << 16);
#endif
}

static inline void store_halves(uint16_t *to, floats value) {
#if defined(__AVX512F__)
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtps_ph((__m512)value, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__) && defined(__AVX2__)
    _mm_storeu_si128((__m128i *)to, _mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__aarch64__)
    vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)value)));
#else
    for (int lane = 0; lane < WIDE; lane++) to[lane] = to_half(value[lane]);
#endif
}
