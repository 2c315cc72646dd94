/* Sixteen numbers at a time: in one register, or in several where registers are shorter. */

#pragma once

#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define UNROLL _Pragma("GCC unroll 16")
#define LANES 16

typedef float floats __attribute__((vector_size(4 * LANES)));
typedef float loose_floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t integers __attribute__((vector_size(4 * LANES)));
typedef int32_t loose_integers __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int16_t words __attribute__((vector_size(2 * LANES)));
typedef int8_t bytes __attribute__((vector_size(LANES)));
typedef int8_t loose_bytes __attribute__((vector_size(LANES), aligned(1), may_alias));

static inline floats load(const float *from) { return *(const loose_floats *)from; }
static inline void store(float *to, floats value) { *(loose_floats *)to = value; }
static inline floats spread(float value) { return (floats){0} + value; }
static inline floats choose(integers where, floats yes, floats no) {
    return (floats)(((integers)yes & where) | ((integers)no & ~where));
}
static inline floats larger(floats a, floats b) { return choose(a > b, a, b); }
static inline floats smaller(floats a, floats b) { return choose(a < b, a, b); }
/* Compilers take this number by number, unless one size follows the other or they are told. */
static inline floats widened(const int8_t *from) {
#if defined(__AVX512F__)
    return (floats)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)from)));
#else
    words wide = __builtin_convertvector(*(const loose_bytes *)from, words);
    return __builtin_convertvector(__builtin_convertvector(wide, integers), floats);
#endif
}
static inline float total(floats value) {
    float sum = 0;
    for (int lane = 0; lane < LANES; lane++) sum += value[lane];
    return sum;
}
static inline float largest(floats value) {
    float most = value[0];
    for (int lane = 1; lane < LANES; lane++) most = value[lane] > most ? value[lane] : most;
    return most;
}

#define ROUNDER 12582912.0f /* adding it leaves the nearest whole number in the last bits */

static inline integers nearest(floats value) {
    return (integers)(value + ROUNDER) - (integers)spread(ROUNDER);
}

#define SERIES(rest)                                                                                           \
    ((((((1.9875691500e-4f * rest + 1.3981999507e-3f) * rest + 8.3334519073e-3f) * rest + 4.1665795894e-2f) *   \
           rest +                                                                                              \
       1.6666665459e-1f) *                                                                                     \
          rest +                                                                                               \
      5.0000001201e-1f) *                                                                                      \
         (rest * rest) +                                                                                       \
     rest + 1.0f)

/* exp for values of at most about 80; exactly zero far below. */
static inline floats exponential(floats value) {
#if defined(__AVX512F__)
    value = (floats)_mm512_max_ps((__m512)value, (__m512)spread(-200.0f));
    __m512 power = _mm512_roundscale_ps((__m512)(value * 1.44269504f), 8);
    floats whole = (floats)power, rest = value - whole * 0.693359375f + whole * 2.12194440e-4f;
    return (floats)_mm512_scalef_ps((__m512)SERIES(rest), power);
#else
    integers hidden = value < -80.0f;
    value = choose(hidden, spread(-80.0f), value);
    floats shifted = value * 1.44269504f + ROUNDER;
    floats whole = shifted - ROUNDER, rest = value - whole * 0.693359375f + whole * 2.12194440e-4f;
    integers power = ((integers)shifted - (integers)spread(ROUNDER) + 127) << 23;
    return choose(hidden, spread(0), SERIES(rest) * (floats)power);
#endif
}
