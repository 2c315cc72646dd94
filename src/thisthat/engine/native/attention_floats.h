/* Scores and sums of values by float32 arithmetic on sixteen keys, or sixteen numbers, at a time. */

#pragma once

#include "numbers.h"

#define QUERIES 12 /* vectors that look at keys together */

/* As many sums as registers hold. */
#if defined(__AVX512F__)
#define SCORE_ROWS 12
#define SCORE_BLOCKS 2
#define MIX_ROWS 6
#define MIX_COLUMNS 4
#else
#define SCORE_ROWS 4
#define SCORE_BLOCKS 1
#define MIX_ROWS 4
#define MIX_COLUMNS 1
#endif

/* A block of keys is width x LANES, one of values LANES x width. */

static void put_key(float *block, int lane, const float *key, int width) {
    for (int d = 0; d < width; d++) block[d * LANES + lane] = key[d];
}

static void put_value(float *block, int lane, const float *value, int width) {
    memcpy(block + lane * width, value, sizeof(float) * width);
}

/* Queries are width x QUERIES. */
static void put_query(float *queries, int q, const float *query, int width) {
    for (int d = 0; d < width; d++) queries[d * QUERIES + q] = query[d];
}

/* Scores of all queries with ``blocks`` blocks of keys, which are listed; ``scores`` has as many columns. */
static void score(const float *queries, int width, const float *const *block, int blocks, float *scores) {
    size_t stride = (size_t)blocks * LANES;
    for (int b = 0; b < blocks; b += SCORE_BLOCKS)
        for (int first = 0; first < QUERIES; first += SCORE_ROWS) {
            floats sum[SCORE_ROWS][SCORE_BLOCKS] = {{{0}}};
            const float *key[SCORE_BLOCKS];
            UNROLL for (int c = 0; c < SCORE_BLOCKS; c++) key[c] = block[b + c < blocks ? b + c : b];
            for (int d = 0; d < width; d++) {
                floats wide[SCORE_BLOCKS];
                UNROLL for (int c = 0; c < SCORE_BLOCKS; c++) wide[c] = load(key[c] + d * LANES);
                UNROLL for (int q = 0; q < SCORE_ROWS; q++)
                    UNROLL for (int c = 0; c < SCORE_BLOCKS; c++)
                        sum[q][c] += queries[d * QUERIES + first + q] * wide[c];
            }
            UNROLL for (int q = 0; q < SCORE_ROWS; q++)
                for (int c = 0; c < SCORE_BLOCKS && b + c < blocks; c++)
                    store(scores + (first + q) * stride + (b + c) * LANES, sum[q][c]);
        }
}

/* Sums of values, weighed by scores: QUERIES x width. */
static void mix(float *scores, int width, const float *const *block, int blocks, float *out) {
    size_t stride = (size_t)blocks * LANES;
    for (int first = 0; first < QUERIES; first += MIX_ROWS)
        for (int column = 0; column < width; column += MIX_COLUMNS * LANES) {
            floats sum[MIX_ROWS][MIX_COLUMNS] = {{{0}}};
            for (int b = 0; b < blocks; b++) {
                const float *value = block[b] + column, *share = scores + first * stride + b * LANES;
                for (int key = 0; key < LANES; key++, value += width, share++) {
                    floats wide[MIX_COLUMNS];
                    UNROLL for (int c = 0; c < MIX_COLUMNS; c++) wide[c] = load(value + c * LANES);
                    UNROLL for (int q = 0; q < MIX_ROWS; q++)
                        UNROLL for (int c = 0; c < MIX_COLUMNS; c++) sum[q][c] += share[q * stride] * wide[c];
                }
            }
            UNROLL for (int q = 0; q < MIX_ROWS; q++)
                UNROLL for (int c = 0; c < MIX_COLUMNS; c++)
                    store(out + (first + q) * width + column + c * LANES, sum[q][c]);
        }
}
