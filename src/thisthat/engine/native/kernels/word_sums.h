/* Sums of products of sixteen-bit activations, for processors that multiply words but no bytes without overflow. */

#pragma once

#include <string.h>

#include "numbers.h"
#include "spans.h"

#define GROUP 6
#define AT_ONCE GROUP
#define TERMS 1
#define SECOND 1
#define CHUNK 4 /* words of a line that stand together */
#define MOST_WORD 32767 /* a span of it times bytes fits 32 bits */

typedef float Found[GROUP * PANEL];

/* A row as words, a chunk of every line of a group, then the next chunk. */
static void lay_out_words(const Rows *rows, int line, const float *values) {
    int width = rows->inputs, spans = spans_of(rows), span = width / spans;
    int16_t *out = (int16_t *)rows->laid_out + (size_t)(line / GROUP) * GROUP * width + line % GROUP * CHUNK;
    for (int s = 0; s < spans; s++, values += span) {
        floats most = {0};
        for (int k = 0; k < span; k += WIDE) most = larger(most, larger(load(values + k), -load(values + k)));
        float limit = largest(most), inverse = limit > 0 ? MOST_WORD / limit : 0;
        rows->scale[(size_t)line * spans + s] = limit / MOST_WORD;
        for (int k = 0; k < span; k += LANES) {
            __m256i left = (__m256i)nearest(load(values + k) * inverse);
            __m256i right = (__m256i)nearest(load(values + k + WIDE) * inverse);
            int16_t words[LANES];
            __m256i all = _mm256_permute4x64_epi64(_mm256_packs_epi32(left, right), 0xd8);
            _mm256_storeu_si256((__m256i *)words, all);
            for (int w = 0; w < LANES; w += CHUNK, out += GROUP * CHUNK) memcpy(out, words + w, sizeof(int16_t[CHUNK]));
        }
    }
}

/* Sums of a group of lines, from ``first`` on, with WIDE outputs of a panel at a time; meanwhile the ``next`` panel, if
 * there is one, is fetched. A register of weights has two words of an output, then the next two. */
static void multiply(const Rows *rows, int first, int used, const int8_t *panel, const int8_t *next,
                     int output, Found found) {
    (void)used;
    (void)output;
    if (!next) next = panel;
    int inputs = rows->inputs, spans = spans_of(rows), span = inputs / spans;
    const float *scale = rows->scale + (size_t)first * spans;
    for (int column = 0; column < PANEL; column += WIDE) {
        const int16_t *given = (const int16_t *)rows->laid_out + (size_t)first * inputs;
        size_t place = (size_t)(column / LANES) * LANES * inputs + column % LANES * 4;
        for (int s = 0; s < spans; s++) {
            __m256i sum[GROUP][2];
            UNROLL for (int r = 0; r < GROUP; r++) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
            for (int k = 0; k < span; k += CHUNK, given += GROUP * CHUNK, place += 4 * LANES) {
                const __m128i *bytes = (const __m128i *)(panel + place);
                __m256i front = _mm256_cvtepi8_epi16(_mm_loadu_si128(bytes));
                __m256i back = _mm256_cvtepi8_epi16(_mm_loadu_si128(bytes + 1));
                if (column % LANES == 0) __builtin_prefetch(next + place, 0, 2);
                UNROLL for (int r = 0; r < GROUP; r++) {
                    __m256i four = _mm256_set1_epi64x(*(const int64_t *)(given + r * CHUNK));
                    sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(four, front));
                    sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(four, back));
                }
            }
            UNROLL for (int r = 0; r < GROUP; r++) {
                __m256i all = _mm256_permute4x64_epi64(_mm256_hadd_epi32(sum[r][0], sum[r][1]), 0xd8);
                floats whole = (floats)_mm256_cvtepi32_ps(all);
                float *to = found + r * PANEL + column;
                store(to, add_product(s ? load(to) : spread(0), whole, spread(scale[r * spans + s])));
            }
        }
    }
}

/* WIDE sums of one line of the group. */
static inline floats sums_at(const Rows *rows, const Found found, int first, int line, int k) {
    (void)rows;
    (void)first;
    return load(found + line * PANEL + k);
}
