/* Sums of products in float32: weights are widened as they are read, and nothing is rounded. */

#pragma once

#include "rows.h"

/* As many sums as registers hold. */
#if defined(__AVX512F__)
#define GROUP 12
#define PLAIN_BLOCKS 2
#elif defined(__AVX2__)
#define GROUP 6
#define PLAIN_BLOCKS 1
#elif defined(__aarch64__)
#define GROUP 4
#define PLAIN_BLOCKS 1
#else
#define GROUP 2
#define PLAIN_BLOCKS 1
#endif
#define PLAIN_PARTS (PLAIN_BLOCKS * PARTS)

#define TERMS 1
#define AT_ONCE GROUP
#define SECOND 1

typedef float Found[GROUP * PANEL];

static int spans_of(const Rows *rows) {
    (void)rows;
    return 1;
}

/* Sums of a group of rows, from ``first`` on, with one panel of weights [inputs][PANEL]. */
static void multiply(const Rows *rows, int first, int used, const int8_t *panel, const int8_t *next,
                     int output, Found found) {
    (void)used;
    (void)next;
    (void)output;
    int inputs = rows->inputs;
    for (int block = 0; block < PANEL / LANES; block += PLAIN_BLOCKS) {
        const float *given = (const float *)rows->laid_out + (size_t)first * inputs;
        const int8_t *weights = panel + block * LANES;
        floats sum[GROUP][PLAIN_PARTS] = {{{0}}};
        for (int k = 0; k < inputs; k++, weights += PANEL, given += GROUP) {
            floats wide[PLAIN_PARTS];
            UNROLL for (int b = 0; b < PLAIN_BLOCKS; b++) widen(weights + b * LANES, wide + b * PARTS);
            UNROLL for (int r = 0; r < GROUP; r++)
                UNROLL for (int p = 0; p < PLAIN_PARTS; p++) sum[r][p] += given[r] * wide[p];
        }
        UNROLL for (int r = 0; r < GROUP; r++)
            UNROLL for (int p = 0; p < PLAIN_PARTS; p++)
                store(found + r * PANEL + block * LANES + p * WIDE, sum[r][p]);
    }
}

/* WIDE sums of one line of the group. */
static inline floats sums_at(const Rows *rows, const Found found, int first, int line, int k) {
    (void)rows;
    (void)first;
    return load(found + line * PANEL + k);
}
