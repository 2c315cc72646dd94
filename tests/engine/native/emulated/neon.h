/* What the dot products of ARM need, in plain C. */

#pragma once

#include <stdint.h>
#include <string.h>

typedef struct {
    int32_t lane[4];
} int32x4_t;
typedef struct {
    int8_t lane[16];
} int8x16_t;
typedef struct {
    int8_t lane[8];
} int8x8_t;

static inline int32x4_t vdupq_n_s32(int32_t value) { return (int32x4_t){{value, value, value, value}}; }

static inline int8x16_t vld1q_s8(const int8_t *from) {
    int8x16_t found;
    memcpy(found.lane, from, sizeof found.lane);
    return found;
}

static inline int8x8_t vld1_s8(const int8_t *from) {
    int8x8_t found;
    memcpy(found.lane, from, sizeof found.lane);
    return found;
}

static inline void vst1q_s32(int32_t *to, int32x4_t value) { memcpy(to, value.lane, sizeof value.lane); }

static inline int32x4_t emulated_dot(int32x4_t sum, int8x16_t left, const int8_t *right) {
    for (int k = 0; k < 16; k++) sum.lane[k / 4] += (int32_t)left.lane[k] * right[k % 4];
    return sum;
}

static inline int32x4_t vdotq_laneq_s32(int32x4_t sum, int8x16_t left, int8x16_t right, int lane) {
    return emulated_dot(sum, left, right.lane + 4 * lane);
}

static inline int32x4_t vdotq_lane_s32(int32x4_t sum, int8x16_t left, int8x8_t right, int lane) {
    return emulated_dot(sum, left, right.lane + 4 * lane);
}
