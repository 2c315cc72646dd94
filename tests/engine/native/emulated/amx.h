/* Tiles in plain C, for kernels that a processor without them is to try. */

#pragma once

#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbssd
#undef _tile_dpbf16ps

#define TILE_ROWS 16

typedef union {
    unsigned char bytes[TILE_ROWS][64];
    int8_t small[TILE_ROWS][64];
    int32_t whole[TILE_ROWS][16];
    uint16_t halves[TILE_ROWS][32];
    float sums[TILE_ROWS][16];
} EmulatedTile;

static __thread EmulatedTile emulated[8];

static inline void emulated_load(int tile, const void *from, long stride) {
    for (int row = 0; row < TILE_ROWS; row++) memcpy(emulated[tile].bytes[row], (const char *)from + row * stride, 64);
}

static inline void emulated_store(int tile, void *to, long stride) {
    for (int row = 0; row < TILE_ROWS; row++) memcpy((char *)to + row * stride, emulated[tile].bytes[row], 64);
}

static inline void emulated_bytes(int sum, int left, int right) {
    for (int row = 0; row < TILE_ROWS; row++)
        for (int k = 0; k < 16; k++)
            for (int column = 0; column < 16; column++)
                for (int i = 0; i < 4; i++)
                    emulated[sum].whole[row][column] +=
                        (int32_t)emulated[left].small[row][4 * k + i] * emulated[right].small[k][4 * column + i];
}

static inline float emulated_wide(uint16_t half) {
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline void emulated_halves(int sum, int left, int right) {
    for (int row = 0; row < TILE_ROWS; row++)
        for (int k = 0; k < 16; k++)
            for (int column = 0; column < 16; column++)
                for (int i = 0; i < 2; i++)
                    emulated[sum].sums[row][column] += emulated_wide(emulated[left].halves[row][2 * k + i]) *
                                                       emulated_wide(emulated[right].halves[k][2 * column + i]);
}

/* To the nearest, halves to the even one; finite numbers only. */
static inline __m256i emulated_rounding(__m512 value) {
    __m512i bits = (__m512i)value, odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    bits = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16));
}

#define _tile_loadconfig(config) (void)(config)
#define _tile_release() (void)0
#define _tile_zero(tile) memset(emulated + (tile), 0, sizeof(EmulatedTile))
#define _tile_loadd(tile, from, stride) emulated_load(tile, from, stride)
#define _tile_stored(tile, to, stride) emulated_store(tile, to, stride)
#define _tile_dpbssd(sum, left, right) emulated_bytes(sum, left, right)
#define _tile_dpbf16ps(sum, left, right) emulated_halves(sum, left, right)
#define _mm512_cvtneps_pbh(value) emulated_rounding(value)
#define syscall(...) 0 /* nobody has to be asked for leave */
