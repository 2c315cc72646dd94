/* Scores in float32 become probabilities. The variant, which comes before this, has the blocks and what a probability is. */

#pragma once

#include "numbers.h"

/* Make the scores of one query with ``count`` keys, a multiple of BLOCK, into probabilities; their sum. */
static float softmax(Score *scores, int count) {
    floats most = spread(UNSEEN), sum = {0};
    for (int k = 0; k < count; k += WIDE) most = larger(most, load(scores + k));
    float top = largest(most);
    for (int first = 0; first < count; first += BLOCK) {
        floats probs[BLOCK / WIDE];
        UNROLL for (int p = 0; p < BLOCK / WIDE; p++) {
            probs[p] = prob_of(load(scores + first + p * WIDE) - top);
            sum += probs[p];
        }
        put_probs(scores + first, probs);
    }
    return total(sum);
}
