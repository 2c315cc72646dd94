/* Scores and sums of values in half precision, for ARM processors that multiply eight halves at once.
 *
 * Only 32 products are added up in halves; their sums are added in float32.
 */

#pragma once

#include "numbers.h"

#define QUERIES 12 /* vectors that look at keys together */
#define BLOCK 32   /* tokens whose keys stand together */
#define NEAR 4     /* blocks of values that the first cache holds */

#define SUM_ROWS 4 /* as many sums as registers hold */

typedef float32x4_t Sums[SUM_ROWS][LANES / 4];

/* LANES numbers as halves. */
static inline void put_halves(float16_t *to, const float *from) {
    UNROLL for (int k = 0; k < LANES; k += 8)
        vst1q_f16(to + k, vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(from + k)), vld1q_f32(from + k + 4)));
}

/* A block of keys is twice width x LANES, one of values is BLOCK x LANES for every LANES of its width. Halves leave the
 * second half of its room empty. */

static void put_key(float *block, int lane, const float *key, int width) {
    float16_t *column = (float16_t *)block + lane / LANES * LANES * width + lane % LANES;
    for (int d = 0; d < width; d++) column[d * LANES] = (float16_t)key[d];
}

static void put_value(float *block, int lane, const float *value, int width) {
    for (int d = 0; d < width; d += LANES) put_halves((float16_t *)block + d * BLOCK + lane * LANES, value + d);
}

/* Queries are QUERIES x width. */
static void put_query(float *queries, int q, const float *query, int width) {
    for (int d = 0; d < width; d += LANES) put_halves((float16_t *)queries + q * width + d, query + d);
}

/* Numbers from the scores of a query to those of the next. */
static size_t stride_of(int blocks) { return (size_t)blocks * BLOCK; }

/* exp of a score, as true as halves can tell; keys that are not seen get so little that it is no half. */
static inline floats share_of(floats score) { return power_of_e(score, 1); }

/* Shares of a block's values take the place of scores. */
static inline void put_shares(float *scores, const floats shares[BLOCK / WIDE]) {
    UNROLL for (int p = 0; p < BLOCK / WIDE; p++)
        vst1_f16((float16_t *)scores + p * WIDE, vcvt_f16_f32((float32x4_t)shares[p]));
}

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

/* Sums grow by 32 numbers of every row times 32 vectors of LANES numbers. */
static inline __attribute__((always_inline)) void add_products(Sums sum, const float16_t *left, size_t stride,
                                                               const float16_t *right) {
    float16x8_t part[SUM_ROWS][2];
    UNROLL for (int r = 0; r < SUM_ROWS; r++) part[r][0] = part[r][1] = vdupq_n_f16(0);
    for (int k = 0; k < 32; k += 8) add_eight(part, left + k, stride, right + k * LANES);
    UNROLL for (int r = 0; r < SUM_ROWS; r++)
        UNROLL for (int p = 0; p < 2; p++) {
            sum[r][2 * p] = vaddq_f32(sum[r][2 * p], vcvt_f32_f16(vget_low_f16(part[r][p])));
            sum[r][2 * p + 1] = vaddq_f32(sum[r][2 * p + 1], vcvt_high_f32_f16(part[r][p]));
        }
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
static void score(const float *queries, int count, int width, const float *const *block, int blocks, float *scores) {
    size_t stride = stride_of(blocks);
    for (int b = 0; b < blocks; b++)
        for (int half = 0; half < BLOCK; half += LANES)
            for (int first = 0; first < count; first += SUM_ROWS) {
                const float16_t *query = (const float16_t *)queries + first * width;
                const float16_t *key = (const float16_t *)block[b] + half * width;
                Sums sum;
                clear_sums(sum);
                for (int d = 0; d < width; d += 32) add_products(sum, query + d, width, key + d * LANES);
                store_sums(sum, scores + first * stride + b * BLOCK + half, stride);
            }
}

/* Sums of values, weighed by the shares that took the place of scores: queries x width. */
static void mix(const float *shares, int count, int width, const float *const *block, int blocks, float *out) {
    size_t stride = stride_of(blocks);
    for (int from = 0; from < blocks; from += NEAR)
        for (int first = 0; first < count; first += SUM_ROWS)
            for (int column = 0; column < width; column += LANES) {
                float *place = out + first * width + column;
                Sums sum;
                if (from) load_sums(sum, place, width);
                else clear_sums(sum);
                for (int b = from; b < from + NEAR && b < blocks; b++)
                    add_products(sum, (const float16_t *)(shares + first * stride + b * BLOCK), 2 * stride,
                                 (const float16_t *)block[b] + column * BLOCK);
                store_sums(sum, place, width);
            }
}
