/* What a product is given: weights, and activations laid out as the variant's kernel reads them. */

#pragma once

#include <stdint.h>

#define PANEL 32 /* outputs of one micro-kernel */
#define DEPTH 64 /* inputs come in multiples of this */
#define LOUD 16  /* inputs that are carried apart */

/* A matrix of weights in eight bits. Some inputs may be loud: so much larger than all others that they would coarsen
 * them. They are taken out of their spans and stand after them, in two terms. */
typedef struct {
    const int8_t *weights; /* packed, see pack.py */
    const float *steps;    /* per output */
    const int32_t *sums;   /* of the weights in each span: panels x spans x PANEL */
    const int32_t *loud;   /* LOUD inputs; NULL where none is */
    const int8_t *loud_weights;
    const int32_t *loud_sums; /* per output */
    int32_t span;             /* inputs of a token that share a step */
} Matrix;

/* Activations of a thread's tokens, laid out as the variant's kernel reads them. */
typedef struct {
    const Matrix *matrix;   /* that they will be multiplied with */
    int32_t inputs, coarse; /* the first ``coarse`` rows have one term, the others two */
    void *laid_out;
    float *scale; /* lines x steps_of; a row is a line of bytes, or two */
} Rows;
