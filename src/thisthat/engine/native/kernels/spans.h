/* Inputs of a token that share a step. */

#pragma once

#include "rows.h"

/* Spans are short enough to keep a large activation from coarsening many others, and long enough to cost little. */
static int spans_of(int inputs) {
    for (int depths = 3; depths > 1; depths--)
        if (inputs % (depths * DEPTH) == 0) return inputs / (depths * DEPTH);
    return inputs / DEPTH;
}
