/* Scores and sums of values by tiles, for processors that multiply bfloat16 in them. */

#pragma once

#include <stdint.h>

#include "model.h"
#include "numbers.h"

#define QUERIES 48 /* vectors that look at keys together: three tiles */
#define BLOCK 32   /* tokens whose keys stand together: one tile is that deep */

#define TILE 1024 /* bytes */

typedef float Score;
#define UNSEEN (-1e30f)

static inline __m256i narrow_to_bfloats(floats value) { return (__m256i)_mm512_cvtneps_pbh((__m512)value); }

/* A block of keys: sixteen of them after the other, tiles of 32 numbers of each, two and two side by side. */
static void put_key(Short *block, int lane, const float *key, int width) {
    uint32_t *column = (uint32_t *)block + lane / LANES * LANES * width / 2 + lane % LANES;
    for (int d = 0; d < width; d += LANES) {
        uint32_t *place = column + d / BLOCK * LANES * LANES + d % BLOCK / 2 * LANES;
        union {
            __m256i bits;
            uint32_t twos[LANES / 2];
        } near = {narrow_to_bfloats(load(key + d))};
        UNROLL for (int k = 0; k < LANES / 2; k++) place[k * LANES] = near.twos[k];
    }
}

/* A block of values: tiles of sixteen numbers of all tokens, two and two tokens side by side. */
static void put_value(Short *block, int lane, const float *value, int width) {
    for (int d = 0; d < width; d += LANES) {
        char *place = (char *)block + d / LANES * TILE + lane / 2 * 4 * LANES;
        __m512i wide = _mm512_cvtepu16_epi32(narrow_to_bfloats(load(value + d)));
        __mmask32 own = lane % 2 ? 0xaaaaaaaa : 0x55555555; /* the neighbour may be another thread's */
        _mm512_mask_storeu_epi16(place, own, _mm512_slli_epi32(wide, lane % 2 * 16));
    }
}

/* Queries are QUERIES x width. */
static void put_query(float *queries, int q, const float *query, int width) {
    for (int d = 0; d < width; d += LANES)
        _mm256_storeu_si256((__m256i *)((uint16_t *)queries + q * width + d), narrow_to_bfloats(load(query + d)));
}

/* exp of a score, as true as bfloats can tell. */
static inline floats prob_of(floats score) { return power_of_e(score, 1); }

/* Shares of a block's values take the place of scores. */
static inline void put_probs(float *scores, const floats probs[BLOCK / WIDE]) {
    UNROLL for (int p = 0; p < BLOCK / WIDE; p++)
        _mm256_storeu_si256((__m256i *)scores + p, narrow_to_bfloats(probs[p]));
}

/* Numbers from the scores of a query to those of the next; sixteen more than there are, because a cache keeps few
 * lines that are a power of two apart. */
static size_t stride_of(int blocks) { return (size_t)blocks * BLOCK + LANES; }

static inline void clear_sums(void) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
}

/* Up to three tiles of sums grow by ``left`` times one tile. */
static inline void add_products(int tiles, const char *left, size_t stride, const char *right) {
    size_t next = LANES * stride;
    _tile_loadd(6, right, 4 * LANES);
    _tile_loadd(3, left, stride);
    _tile_dpbf16ps(0, 3, 6);
    if (tiles > 1) {
        _tile_loadd(4, left + next, stride);
        _tile_dpbf16ps(1, 4, 6);
    }
    if (tiles > 2) {
        _tile_loadd(5, left + 2 * next, stride);
        _tile_dpbf16ps(2, 5, 6);
    }
}

static inline void store_sums(int tiles, float *to, size_t stride) {
    _tile_stored(0, to, 4 * stride);
    if (tiles > 1) _tile_stored(1, (to + LANES * stride), 4 * stride);
    if (tiles > 2) _tile_stored(2, (to + 2 * LANES * stride), 4 * stride);
}

static int tiles_of(int count) { return (count + LANES - 1) / LANES; }

/* Scores of ``count`` queries with ``blocks`` blocks of keys, which are listed. */
static void score(const float *queries, int count, int width, const Short *const *block, int blocks, Score *scores) {
    size_t stride = stride_of(blocks);
    int tiles = tiles_of(count);
    settle();
    for (int b = 0; b < blocks; b++)
        for (int half = 0; half < BLOCK; half += LANES) {
            const char *key = (const char *)block[b] + 2 * half * width;
            clear_sums();
            for (int d = 0; d < width; d += BLOCK, key += TILE)
                add_products(tiles, (const char *)queries + 2 * d, 2 * width, key);
            store_sums(tiles, scores + b * BLOCK + half, stride);
        }
}

/* Sums of values, weighed by the probabilities that took the place of scores: queries x width. */
static void mix(const Score *probs, int count, int width, const Short *const *block, int blocks, float *out) {
    size_t stride = stride_of(blocks);
    int tiles = tiles_of(count);
    settle();
    for (int column = 0; column < width; column += LANES) {
        clear_sums();
        for (int b = 0; b < blocks; b++)
            add_products(tiles, (const char *)(probs + b * BLOCK), 4 * stride,
                         (const char *)block[b] + column / LANES * TILE);
        store_sums(tiles, out + column, width);
    }
}
