/* Scores in half precision become probabilities, eight at a time. */

#pragma once

#include <math.h>

#include "attention_half.h"

#define LARGEST_HALF 65504

/* exp of a number that is not above 0, to the last bit or two of a half; nothing where that is no half. */
static inline float16x8_t prob_of(float16x8_t score) {
    const float16x8_t rounder = vdupq_n_f16(1536), one = vdupq_n_f16(1); /* see ROUNDER */
    score = vmaxq_f16(score, vdupq_n_f16(-18));
    float16x8_t shifted = vfmaq_n_f16(rounder, score, 1.44269504), whole = vsubq_f16(shifted, rounder);
    float16x8_t rest = vfmaq_n_f16(vfmsq_n_f16(score, whole, 0.693359375), whole, 2.12194440e-4);
    float16x8_t series = vfmaq_n_f16(vdupq_n_f16(0.504), rest, 0.1655);
    series = vfmaq_f16(one, vfmaq_f16(one, series, rest), rest);
    /* The power of two is added to the exponent. Twelve more than it is, or the smallest would not fit. */
    int16x8_t power = vaddq_s16(vshlq_n_s16(vreinterpretq_s16_f16(shifted), 10), vdupq_n_s16(12 << 10));
    float16x8_t large = vreinterpretq_f16_s16(vaddq_s16(vreinterpretq_s16_f16(series), power));
    return vmulq_n_f16(large, 0x1p-12);
}

/* Make the scores of one query with ``count`` keys, a multiple of 32, into probabilities; their sum, which is no number where
 * a score is none or too large. */
static ALONE float softmax(Score *scores, int count) {
    float16x8_t most = vdupq_n_f16(UNSEEN);
    for (int k = 0; k < count; k += 8) most = vmaxq_f16(most, vld1q_f16(scores + k));
    float16_t top = vmaxvq_f16(most);
    if (!(top <= LARGEST_HALF)) return NAN;
    float32x4_t sum = vdupq_n_f32(0);
    for (int k = 0; k < count; k += 32) {
        float16x8_t probs[4];
        UNROLL for (int p = 0; p < 4; p++) {
            probs[p] = prob_of(vsubq_f16(vld1q_f16(scores + k + 8 * p), vdupq_n_f16(top)));
            vst1q_f16(scores + k + 8 * p, probs[p]);
        }
        float16x8_t some = vaddq_f16(vaddq_f16(probs[0], probs[1]), vaddq_f16(probs[2], probs[3]));
        sum = vaddq_f32(sum, vaddq_f32(vcvt_f32_f16(vget_low_f16(some)), vcvt_high_f32_f16(some)));
    }
    return vaddvq_f32(sum);
}
