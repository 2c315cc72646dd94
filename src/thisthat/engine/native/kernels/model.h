/* What the kernels are given: a model, what is kept of tokens already read, and one pass.
 *
 * runtime.py has the same structures, field by field.
 */

#pragma once

#include <stdint.h>

#include "rows.h"

typedef uint16_t Short; /* a number in sixteen bits: a half, or a bfloat where tiles multiply */

typedef struct {
    const float *before, *after; /* norms */
    const float *biases;         /* of queries, keys and values; NULL where they have none */
    const float *common;         /* what is taken off all keys, see attention.h; NULL without biases */
    Matrix projections, out, gate_up, down;
} Step;

typedef struct {
    int32_t steps, width, inner, heads, shared_heads, head_width, labels;
    float epsilon;
    const uint16_t *embedding; /* half precision */
    const float *norm, *label_rows, *cosines, *sines;
    const Step *step;
} Model;

typedef struct {
    const Short *keys, *values; /* steps x heads x blocks of tokens, see attention.h */
    int32_t tokens;
} Kept;

typedef struct {
    int32_t tokens, places, slots, segments, terms, keep;
    const int32_t *ids, *positions, *since, *until, *slot;
    const int32_t *place; /* of a token's keys and values; ascending, with gaps that nobody sees */
    const Kept *kept;
    Short *keys, *values; /* as in Kept, for all steps if they are to be kept, else for two */
    float *logits;        /* slots x labels */
    const int32_t *taken; /* per step, but the last: which hidden states its output is; -1: none */
    float *hidden;        /* those x tokens x width */
    int32_t *unfit;       /* becomes 1 where a key or value is too large to be kept */
} Pass;
