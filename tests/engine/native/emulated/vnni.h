/* Dot products of unsigned and signed bytes in plain C. */

#pragma once

#include <immintrin.h>
#include <stdint.h>

static inline __m512i emulated_dot(__m512i sums, __m512i without_sign, __m512i with_sign) {
    typedef union {
        __m512i all;
        int32_t whole[16];
        uint8_t bytes[64];
        int8_t small[64];
    } Numbers;
    Numbers sum = {sums}, left = {without_sign}, right = {with_sign};
    for (int lane = 0; lane < 16; lane++)
        for (int i = 0; i < 4; i++) sum.whole[lane] += (int32_t)left.bytes[4 * lane + i] * right.small[4 * lane + i];
    return sum.all;
}

#define _mm512_dpbusd_epi32(sums, without_sign, with_sign) emulated_dot(sums, without_sign, with_sign)
