/* Scores in float32 become shares. The variant, which comes before this, has the blocks and what a share is. */

#pragma once

#include "numbers.h"

/* Turn the scores of one query with ``count`` keys, a multiple of BLOCK, into shares; their sum. */
static float share_out(Score *scores, int count) {
    floats most = spread(UNSEEN), sum = {0};
    for (int k = 0; k < count; k += WIDE) most = larger(most, load(scores + k));
    float top = largest(most);
    for (int first = 0; first < count; first += BLOCK) {
        floats shares[BLOCK / WIDE];
        UNROLL for (int p = 0; p < BLOCK / WIDE; p++) {
            shares[p] = share_of(load(scores + first + p * WIDE) - top);
            sum += shares[p];
        }
        put_shares(scores + first, shares);
    }
    return total(sum);
}
