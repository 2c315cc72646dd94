/* Activations times weights of eight bits, in the way the processor does it fastest.
 *
 * All but VARIANT_PLAIN multiply bytes: an activation is one or two terms, with a step for every span of a token's
 * inputs. VARIANT_PLAIN widens weights to float32 as they are read and rounds nothing.
 */

#pragma once

#include <stdint.h>
#include <string.h>

#include "numbers.h"
#include "rows.h"

#if defined(VARIANT_PLAIN)
#include "plain_sums.h"
#elif defined(VARIANT_AMX)
#include "tile_sums.h"
#else
#include "dot_sums.h"
#endif

/* What becomes of a product. */
typedef enum { STORE, ADD, GATE } Use;

/* The first line of rows with two terms. */
static int fine_from(const Rows *rows) { return (rows->coarse + 2 * SECOND - 1) / (2 * SECOND) * 2 * SECOND; }

/* The line of a row's first term; that of the second comes SECOND lines later. */
static int line_of(const Rows *rows, int row) {
    int fine = row - rows->coarse;
    return fine < 0 ? row : fine_from(rows) + fine / SECOND * 2 * SECOND + fine % SECOND;
}

/* The most bytes, or numbers, of a line with so many inputs, and its most steps. */
static int most_width(int inputs) { return inputs + DEPTH; }
static int most_steps(int inputs) { return inputs / DEPTH + 2; }

/* Bytes, or numbers, that rows may take up, for each of their inputs. */
static int room_for(int rows) { return TERMS == 1 ? rows + AT_ONCE : 2 * (rows + AT_ONCE); }

#if TERMS == 2 && !defined(VARIANT_AMX)
/* Loud inputs of a row, out of ``values`` into both terms of their own, a chunk each. */
static void lay_out_loud(const Rows *rows, float *values, size_t apart, int8_t *bytes, float *scale) {
    float loud[LOUD];
    for (int k = 0; k < LOUD; k++) {
        float *value = values + rows->matrix->loud[k];
        loud[k] = *value;
        *value = 0;
    }
    scale[0] = round_span(loud, LOUD, 2, apart, bytes, bytes + apart);
    scale[1] = scale[0] / FINER;
}
#endif

/* A row as the kernel reads it; ``bytes`` has room for two terms of it. Loud inputs are taken out of ``values``. */
static void lay_out_row(const Rows *rows, int row, float *values, int8_t *bytes) {
    int line = line_of(rows, row);
#if defined(VARIANT_PLAIN)
    int width = rows->inputs;
    float *out = (float *)rows->laid_out + (size_t)(line / GROUP) * width * GROUP + line % GROUP;
    for (int k = 0; k < width; k++) out[(size_t)k * GROUP] = values[k];
    (void)bytes;
#else
    int width = width_of(rows), spans = spans_of(rows), span = rows->inputs / spans, steps = steps_of(rows);
    int terms = row < rows->coarse ? 1 : 2;
    size_t apart = LANES, second = width;
#if defined(VARIANT_AMX)
    bytes = (int8_t *)rows->laid_out + (size_t)line * width;
    second = (size_t)SECOND * width;
#elif !defined(VARIANT_NEON)
    /* A chunk of every line of a group, then the next chunk; a group holds both lines of a row. */
    bytes = (int8_t *)rows->laid_out + (size_t)(line / GROUP) * GROUP * width + line % GROUP * CHUNK;
    apart = GROUP * CHUNK;
    second = SECOND * CHUNK;
#endif
    float *scale = rows->scale + (size_t)line * steps, *finer = scale + SECOND * steps;
#if !defined(VARIANT_AMX)
    if (rows->matrix->loud) {
        int8_t *loud = bytes + rows->inputs / LANES * apart;
        lay_out_loud(rows, values, apart, loud, scale + spans);
        if (terms == 2) { /* which has both terms in its first line already */
            memset(loud + second, RAISED, LOUD);
            memset(loud + apart + second, RAISED, LOUD);
            finer[spans] = finer[spans + 1] = 0;
        }
    }
#endif
    for (int s = 0; s < spans; s++) {
        int8_t *part = bytes + s * span / LANES * apart;
        scale[s] = round_span(values + s * span, span, terms, apart, part, part + second);
        if (terms == 2) finer[s] = scale[s] / FINER;
    }
#if defined(VARIANT_NEON)
    /* The same, in smaller chunks. */
    for (int term = 0; term < terms; term++, line += SECOND, bytes += width) {
        int8_t *out = (int8_t *)rows->laid_out + (size_t)(line / GROUP) * GROUP * width + line % GROUP * CHUNK;
        for (int k = 0; k < width; k += CHUNK, out += GROUP * CHUNK) memcpy(out, bytes + k, CHUNK);
    }
#endif
#endif
}

/* What becomes of WIDE outputs and of those LANES further on, for one row. */
static inline void use_sums(Use use, floats one, floats two, int column, int from, int k, float *to_row) {
    if (use == GATE) {
        /* Panels hold 16 gates and then their 16 inputs. */
        floats gate = one * inverse(1.0f + exponential(smaller(spread(80), -one)));
        store(to_row + column / 2 + k, gate * two);
    } else {
        float *place = to_row + column - from + k;
        if (use == ADD) one += load(place), two += load(place + LANES);
        store(place, one);
        store(place + LANES, two);
    }
}

/* rows x their matrix, outputs ``from`` to ``to``; ``out`` has ``stride`` numbers per row. */
static void product(const Rows *rows, int count, int from, int to, Use use, float *out, int stride) {
    Found found __attribute__((aligned(64)));
    const Matrix *matrix = rows->matrix;
    int fine = count - rows->coarse;
    int lines = fine ? fine_from(rows) + 2 * fine : count;
    size_t size = (size_t)PANEL * rows->inputs;
    for (int column = from; column < to; column += PANEL) {
        const int8_t *panel = matrix->weights + (size_t)column * rows->inputs;
        const int8_t *next = column + PANEL < to ? panel + size : NULL;
        for (int first = 0, row = 0; first < lines; first += AT_ONCE, next = NULL) {
            multiply(rows, first, lines - first, panel, next, column, found);
            for (int line; row < count && (line = line_of(rows, row) - first) < AT_ONCE; row++)
                UNROLL for (int k = 0; k < LANES; k += WIDE) {
                    floats one = sums_at(rows, found, first, line, k);
                    floats two = sums_at(rows, found, first, line, LANES + k);
                    if (TERMS == 2 && row >= rows->coarse) {
                        one += sums_at(rows, found, first, line + SECOND, k);
                        two += sums_at(rows, found, first, line + SECOND, LANES + k);
                    }
                    const float *steps = matrix->steps + column + k;
                    use_sums(use, one * load(steps), two * load(steps + LANES), column, from, k,
                             out + (size_t)row * stride);
                }
        }
    }
}
