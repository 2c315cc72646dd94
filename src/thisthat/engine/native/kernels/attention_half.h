/* Scores and sums of values in half precision, for ARM processors that multiply eight halves at once.
 *
 * Only 32 products follow each other in a sum. Such sums are halves too and add up to a score; those of values are added
 * in float32.
 */

#pragma once

#include <stddef.h>

#include "model.h"
#include "numbers.h"

#define QUERIES 12 /* vectors that look at keys together */
#define BLOCK 32   /* tokens whose keys stand together */
#define NEAR 4     /* blocks of values that the first cache holds */

#define SUM_ROWS 4 /* as many sums as registers hold */

typedef float16_t Score;
#define UNSEEN (-60000)

typedef float32x4_t Sums[SUM_ROWS][LANES / 4];

/* LANES numbers as halves. */
static inline void put_halves(float16_t *to, const float *from) {
    UNROLL for (int k = 0; k < LANES; k += 8)
        vst1q_f16(to + k, vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(from + k)), vld1q_f32(from + k + 4)));
}

/* A block of keys is twice width x LANES, one of values is BLOCK x LANES for every LANES of its width. */

static void put_key(Short *block, int lane, const float *key, int width) {
    float16_t *column = (float16_t *)block + lane / LANES * LANES * width + lane % LANES;
    for (int d = 0; d < width; d++) column[d * LANES] = (float16_t)key[d];
}

static void put_value(Short *block, int lane, const float *value, int width) {
    for (int d = 0; d < width; d += LANES) put_halves((float16_t *)block + d * BLOCK + lane * LANES, value + d);
}

/* Queries are QUERIES x width. */
static void put_query(float *queries, int q, const float *query, int width) {
    for (int d = 0; d < width; d += LANES) put_halves((float16_t *)queries + q * width + d, query + d);
}

/* Numbers from the scores of a query to those of the next. */
static size_t stride_of(int blocks) { return (size_t)blocks * BLOCK; }

/* ``sum`` grows by a vector times one number of a row. Given the intrinsic, compilers copy that number into a vector
 * first and run out of registers; without ``volatile`` they reorder these until a sum waits for itself. */
#if defined(__aarch64__)
#define ADD_TIMES(sum, vector, row, place) \
    __asm__ volatile("fmla %0.8h, %1.8h, %2.h[" #place "]" : "+w"(sum) : "w"(vector), "x"(row))
#else
#define ADD_TIMES(sum, vector, row, place) sum = vfmaq_laneq_f16(sum, vector, row, place)
#endif

/* Eight numbers of every row, from ``left`` on, times eight vectors of LANES numbers. */
static inline void add_eight(float16x8_t part[SUM_ROWS][2], const float16_t *left, size_t stride,
                             const float16_t *right) {
    float16x8_t row[SUM_ROWS];
    UNROLL for (int r = 0; r < SUM_ROWS; r++) row[r] = vld1q_f16(left + r * stride);
#define ADD_ONE(place)                                                                         \
    {                                                                                          \
        float16x8_t front = vld1q_f16(right + place * LANES);                                  \
        float16x8_t back = vld1q_f16(right + place * LANES + 8);                               \
        UNROLL for (int r = 0; r < SUM_ROWS; r++) ADD_TIMES(part[r][0], front, row[r], place); \
        UNROLL for (int r = 0; r < SUM_ROWS; r++) ADD_TIMES(part[r][1], back, row[r], place);  \
    }
    ADD_ONE(0) ADD_ONE(1) ADD_ONE(2) ADD_ONE(3) ADD_ONE(4) ADD_ONE(5) ADD_ONE(6) ADD_ONE(7)
#undef ADD_ONE
}

/* Sums of 32 numbers of every row times 32 vectors of LANES numbers. */
static inline __attribute__((always_inline)) void sum_products(float16x8_t sum[SUM_ROWS][2], const float16_t *left,
                                                               size_t stride, const float16_t *right) {
    UNROLL for (int r = 0; r < SUM_ROWS; r++) sum[r][0] = sum[r][1] = vdupq_n_f16(0);
    for (int k = 0; k < 32; k += 8) add_eight(sum, left + k, stride, right + k * LANES);
}

static inline void load_sums(Sums sum, const float *from, size_t stride) {
    UNROLL for (int r = 0; r < SUM_ROWS; r++)
        UNROLL for (int p = 0; p < LANES / 4; p++) sum[r][p] = vld1q_f32(from + r * stride + 4 * p);
}

static inline void clear_sums(Sums sum) {
    UNROLL for (int r = 0; r < SUM_ROWS; r++)
        UNROLL for (int p = 0; p < LANES / 4; p++) sum[r][p] = vdupq_n_f32(0);
}

static inline void store_sums(Sums sum, float *to, size_t stride) {
    UNROLL for (int r = 0; r < SUM_ROWS; r++)
        UNROLL for (int p = 0; p < LANES / 4; p++) vst1q_f32(to + r * stride + 4 * p, sum[r][p]);
}

/* Scores of ``count`` queries with ``blocks`` blocks of keys, which are listed. */
static ALONE void score(const float *queries, int count, int width, const Short *const *block, int blocks,
                        Score *scores) {
    size_t stride = stride_of(blocks);
    for (int b = 0; b < blocks; b++)
        for (int half = 0; half < BLOCK; half += LANES)
            for (int first = 0; first < count; first += SUM_ROWS) {
                const float16_t *query = (const float16_t *)queries + first * width;
                const float16_t *key = (const float16_t *)block[b] + half * width;
                Score *place = scores + first * stride + b * BLOCK + half;
                float16x8_t sum[SUM_ROWS][2];
                sum_products(sum, query, width, key);
                for (int d = 32; d < width; d += 32) {
                    float16x8_t more[SUM_ROWS][2];
                    sum_products(more, query + d, width, key + d * LANES);
                    UNROLL for (int r = 0; r < SUM_ROWS; r++)
                        UNROLL for (int p = 0; p < 2; p++) sum[r][p] = vaddq_f16(sum[r][p], more[r][p]);
                }
                UNROLL for (int r = 0; r < SUM_ROWS; r++)
                    UNROLL for (int p = 0; p < 2; p++) vst1q_f16(place + r * stride + 8 * p, sum[r][p]);
            }
}

/* Sums of values, weighed by the probabilities that took the place of scores: queries x width. */
static ALONE void mix(const Score *probs, int count, int width, const Short *const *block, int blocks, float *out) {
    size_t stride = stride_of(blocks);
    for (int from = 0; from < blocks; from += NEAR)
        for (int first = 0; first < count; first += SUM_ROWS)
            for (int column = 0; column < width; column += LANES) {
                float *place = out + first * width + column;
                Sums sum;
                if (from) load_sums(sum, place, width);
                else clear_sums(sum);
                for (int b = from; b < from + NEAR && b < blocks; b++) {
                    float16x8_t part[SUM_ROWS][2];
                    sum_products(part, probs + first * stride + b * BLOCK, stride,
                                 (const float16_t *)block[b] + column * BLOCK);
                    UNROLL for (int r = 0; r < SUM_ROWS; r++)
                        UNROLL for (int p = 0; p < 2; p++) {
                            sum[r][2 * p] = vaddq_f32(sum[r][2 * p], vcvt_f32_f16(vget_low_f16(part[r][p])));
                            sum[r][2 * p + 1] = vaddq_f32(sum[r][2 * p + 1], vcvt_high_f32_f16(part[r][p]));
                        }
                }
                store_sums(sum, place, width);
            }
}
