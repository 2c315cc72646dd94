/* Sums of products by tiles of bytes. */

#pragma once

#include "rows.h"
#include "rounding.h"

#define GROUP 16
#define AT_ONCE (2 * GROUP)
#define SECOND GROUP

typedef int32_t Found[AT_ONCE * PANEL];

/* Tiles hold sums over all inputs. */
static int spans_of(const Rows *rows) {
    (void)rows;
    return 1;
}

static int width_of(const Rows *rows) { return rows->inputs; }
static int steps_of(const Rows *rows) { return spans_of(rows); }

/* Sums of two tiles of lines, other rows or first and second terms, with one panel; meanwhile the ``next`` panel, if
 * there is one, is fetched. */
static void multiply(const Rows *rows, int first, int used, const int8_t *panel, const int8_t *next,
                     int output, Found found) {
    (void)used;
    (void)output;
    int inputs = rows->inputs;
    const int8_t *upper = (const int8_t *)rows->laid_out + (size_t)first * inputs;
    const int8_t *lower = upper + (size_t)GROUP * inputs;
    settle();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    size_t right = (size_t)inputs * LANES;
    for (int k = 0; k < inputs; k += DEPTH) {
        _tile_loadd(4, upper + k, inputs);
        _tile_loadd(6, panel + k * LANES, 4 * LANES);
        _tile_loadd(7, panel + right + k * LANES, 4 * LANES);
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
        _tile_loadd(5, lower + k, inputs);
        if (next)
            UNROLL for (int line = 0; line < GROUP; line++) {
                __builtin_prefetch(next + k * LANES + line * DEPTH, 0, 2);
                __builtin_prefetch(next + right + k * LANES + line * DEPTH, 0, 2);
            }
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
    }
    _tile_stored(0, found, 4 * PANEL);
    _tile_stored(1, (found + LANES), 4 * PANEL);
    _tile_stored(2, (found + GROUP * PANEL), 4 * PANEL);
    _tile_stored(3, (found + GROUP * PANEL + LANES), 4 * PANEL);
}

/* WIDE sums of one line of the group that begins with line ``first``. */
static inline floats sums_at(const Rows *rows, const Found found, int first, int line, int k) {
    const int32_t *whole = found + line * PANEL + k;
    return __builtin_convertvector(*(const loose_integers *)whole, floats) * rows->scale[first + line];
}
