/* What a product is given: weights, and activations laid out as the variant's kernel reads them. */

#pragma once

#include <stdint.h>

#define PANEL 32 /* outputs of one micro-kernel */
#define DEPTH 64 /* inputs come in multiples of this */

/* A matrix of weights in eight bits. */
typedef struct {
    const int8_t *weights; /* packed, see pack.py */
    const float *steps;    /* per output */
    const int32_t *sums;   /* of the weights in each span: panels x spans x PANEL */
} Matrix;

/* Activations of a thread's tokens, laid out as the variant's kernel reads them. */
typedef struct {
    int32_t inputs, coarse; /* the first ``coarse`` rows have one term, the others two */
    void *laid_out;
    float *scale; /* lines x spans; a row is a line of bytes, or two */
} Rows;
