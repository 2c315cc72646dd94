/* Activations as bytes: one or two terms, with a step. */

#pragma once

#include "numbers.h"

#define TERMS 2

/* Steps of a term either way. Where two products of bytes are added in sixteen bits, seven bits of a term are what fits
 * beside whole weights. */
#if defined(VARIANT_AVX512) || defined(VARIANT_AVX2)
#define LEVELS 63
#else
#define LEVELS 127
#endif

/* A pair of terms leaves half a step of the first to the second. */
#define FINER (2 * LEVELS)

#if defined(VARIANT_AMX) || defined(VARIANT_NEON)
#define RAISED 0
#else
#define RAISED (LEVELS + 1) /* one factor must not have a sign */
#endif

/* LANES whole numbers as bytes. */
static inline void narrow(const integers whole[PARTS], int8_t *to) {
#if defined(__AVX512F__)
    _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8((__m512i)whole[0]));
#elif defined(__AVX2__)
    __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32((__m256i)whole[0], (__m256i)whole[1]), 0xd8);
    __m128i left = _mm256_castsi256_si128(words), right = _mm256_extracti128_si256(words, 1);
    _mm_storeu_si128((__m128i *)to, _mm_packus_epi16(left, right)); /* raised, so none is below zero */
#else
    int16x8_t left = vmovn_high_s32(vmovn_s32((int32x4_t)whole[0]), (int32x4_t)whole[1]);
    int16x8_t right = vmovn_high_s32(vmovn_s32((int32x4_t)whole[2]), (int32x4_t)whole[3]);
    vst1q_s8(to, vmovn_high_s16(vmovn_s16(left), right));
#endif
}

/* A span in bytes, LANES of them at a time and those ``apart``; the step of its first term. ``terms`` are known when this
 * is compiled. */
static inline __attribute__((always_inline)) float round_terms(const int terms, const float *row, int width,
                                                               size_t apart, int8_t *coarse, int8_t *fine) {
    floats most = {0}, more = {0};
    for (int k = 0; k < width; k += 2 * WIDE) {
        floats one = load(row + k), two = k + WIDE < width ? load(row + k + WIDE) : one;
        most = larger(most, larger(one, -one));
        more = larger(more, larger(two, -two));
    }
    float limit = largest(larger(most, more));
    float step = limit / LEVELS, inverse = limit > 0 ? LEVELS / limit : 0;
    for (int k = 0; k < width; k += LANES, coarse += apart, fine += apart) {
        integers near[PARTS], rest[PARTS];
        UNROLL for (int p = 0; p < PARTS; p++) {
            floats scaled = load(row + k + p * WIDE) * inverse;
            integers whole = nearest(scaled);
            near[p] = whole + RAISED;
            if (terms == 2) rest[p] = nearest((scaled - __builtin_convertvector(whole, floats)) * FINER) + RAISED;
        }
        narrow(near, coarse);
        if (terms == 2) narrow(rest, fine);
    }
    return step;
}

static float round_span(const float *row, int width, int terms, size_t apart, int8_t *coarse, int8_t *fine) {
    return terms == 2 ? round_terms(2, row, width, apart, coarse, fine)
                      : round_terms(1, row, width, apart, coarse, fine);
}
