/* Scores and sums of values in float32, of keys and values that are kept as halves. */

#pragma once

#include "model.h"
#include "numbers.h"

#define QUERIES 12  /* vectors that look at keys together */
#define BLOCK LANES /* tokens whose keys stand together */

typedef float Score;
#define UNSEEN (-1e30f)

/* As many sums as registers hold. */
#if defined(__AVX512F__)
#define SCORE_ROWS 12
#define SCORE_BLOCKS 2
#define MIX_ROWS 6
#define MIX_COLUMNS 4
#elif defined(__AVX2__)
#define SCORE_ROWS 6
#define SCORE_BLOCKS 1
#define MIX_ROWS 6
#define MIX_COLUMNS 1
#elif defined(__aarch64__)
#define SCORE_ROWS 4
#define SCORE_BLOCKS 1
#define MIX_ROWS 4
#define MIX_COLUMNS 1
#else
#define SCORE_ROWS 2
#define SCORE_BLOCKS 1
#define MIX_ROWS 2
#define MIX_COLUMNS 1
#endif
#define SCORE_PARTS (SCORE_BLOCKS * PARTS)
#define MIX_PARTS (MIX_COLUMNS * PARTS)

/* A block of keys is width x BLOCK, one of values BLOCK x width. */

static void put_key(Short *block, int lane, const float *key, int width) {
    for (int first = 0; first < width; first += WIDE) {
        uint16_t halves[WIDE];
        store_halves(halves, load(key + first));
        for (int d = 0; d < WIDE; d++) block[(first + d) * LANES + lane] = halves[d];
    }
}

static void put_value(Short *block, int lane, const float *value, int width) {
    for (int d = 0; d < width; d += WIDE) store_halves(block + lane * width + d, load(value + d));
}

/* Queries are width x QUERIES. */
static void put_query(float *queries, int q, const float *query, int width) {
    for (int d = 0; d < width; d++) queries[d * QUERIES + q] = query[d];
}

/* Numbers from the scores of a query to those of the next. */
static size_t stride_of(int blocks) { return (size_t)blocks * BLOCK; }

/* Scores of ``count`` queries with ``blocks`` blocks of keys, which are listed. */
static void score(const float *queries, int count, int width, const Short *const *block, int blocks, Score *scores) {
    size_t stride = stride_of(blocks);
    for (int b = 0; b < blocks; b += SCORE_BLOCKS)
        for (int first = 0; first < count; first += SCORE_ROWS) {
            floats sum[SCORE_ROWS][SCORE_PARTS] = {{{0}}};
            const Short *key[SCORE_BLOCKS];
            UNROLL for (int c = 0; c < SCORE_BLOCKS; c++) key[c] = block[b + c < blocks ? b + c : b];
            for (int d = 0; d < width; d++) {
                floats wide[SCORE_PARTS];
                UNROLL for (int p = 0; p < SCORE_PARTS; p++)
                    wide[p] = load_halves(key[p / PARTS] + d * LANES + p % PARTS * WIDE);
                UNROLL for (int q = 0; q < SCORE_ROWS; q++)
                    UNROLL for (int p = 0; p < SCORE_PARTS; p++)
                        sum[q][p] += queries[d * QUERIES + first + q] * wide[p];
            }
            UNROLL for (int q = 0; q < SCORE_ROWS; q++)
                UNROLL for (int p = 0; p < SCORE_PARTS; p++)
                    if (b + p / PARTS < blocks) store(scores + (first + q) * stride + b * LANES + p * WIDE, sum[q][p]);
        }
}

/* exp of a score; exactly nothing for keys that are not seen. */
static inline floats prob_of(floats score) {
#if defined(__AVX512F__)
    return exponential(score);
#else
    return choose(score < -80.0f, spread(0), exponential(score));
#endif
}

/* Shares of a block's values take the place of scores. */
static inline void put_probs(float *scores, const floats probs[PARTS]) {
    UNROLL for (int p = 0; p < PARTS; p++) store(scores + p * WIDE, probs[p]);
}

/* Sums of values, weighed by the probabilities that took the place of scores: queries x width. */
static void mix(const Score *probs, int count, int width, const Short *const *block, int blocks, float *out) {
    size_t stride = stride_of(blocks);
    for (int first = 0; first < count; first += MIX_ROWS)
        for (int column = 0; column < width; column += MIX_COLUMNS * LANES) {
            floats sum[MIX_ROWS][MIX_PARTS] = {{{0}}};
            for (int b = 0; b < blocks; b++) {
                const Short *value = block[b] + column;
                const Score *prob = probs + first * stride + b * BLOCK;
                for (int key = 0; key < BLOCK; key++, value += width, prob++) {
                    floats wide[MIX_PARTS];
                    UNROLL for (int p = 0; p < MIX_PARTS; p++) wide[p] = load_halves(value + p * WIDE);
                    UNROLL for (int q = 0; q < MIX_ROWS; q++)
                        UNROLL for (int p = 0; p < MIX_PARTS; p++) sum[q][p] += prob[q * stride] * wide[p];
                }
            }
            UNROLL for (int q = 0; q < MIX_ROWS; q++)
                UNROLL for (int p = 0; p < MIX_PARTS; p++)
                    store(out + (first + q) * width + column + p * WIDE, sum[q][p]);
        }
}
