/* Scores and sums of values by tiles, for processors that multiply bfloat16 in them.
 *
 * A number is a pair: the nearest bfloat16, and the one nearest to what is left. Of the product of two pairs only the
 * rests' own is left out, so sixteen bits of every factor count.
 */

#pragma once

#include <stdint.h>

#include "numbers.h"

#define QUERIES 48 /* vectors that look at keys together: three tiles */
#define BLOCK 32   /* tokens whose keys stand together: one tile is that deep */

#define TILE 1024 /* bytes; rests stand behind what they are left from */

static inline void split(floats value, __m256i *near, __m256i *rest) {
    *near = (__m256i)_mm512_cvtneps_pbh((__m512)value);
    floats wide = (floats)_mm512_slli_epi32(_mm512_cvtepu16_epi32(*near), 16);
    *rest = (__m256i)_mm512_cvtneps_pbh((__m512)(value - wide));
}

/* A block of keys: sixteen of them after the other, tiles of 32 numbers of each, two and two side by side. */
static void put_key(float *block, int lane, const float *key, int width) {
    uint32_t *column = (uint32_t *)block + lane / LANES * LANES * width + lane % LANES;
    for (int d = 0; d < width; d += LANES) {
        uint32_t *place = column + d / BLOCK * 2 * LANES * LANES + d % BLOCK / 2 * LANES;
        union {
            __m256i bits;
            uint32_t twos[LANES / 2];
        } near, rest;
        split(load(key + d), &near.bits, &rest.bits);
        UNROLL for (int k = 0; k < LANES / 2; k++) {
            place[k * LANES] = near.twos[k];
            place[(LANES + k) * LANES] = rest.twos[k];
        }
    }
}

/* A block of values: tiles of sixteen numbers of all tokens, two and two tokens side by side. */
static void put_value(float *block, int lane, const float *value, int width) {
    for (int d = 0; d < width; d += LANES) {
        char *place = (char *)block + d / LANES * 2 * TILE + lane / 2 * 4 * LANES;
        __m256i near, rest;
        split(load(value + d), &near, &rest);
        int shift = lane % 2 * 16;
        __mmask32 own = lane % 2 ? 0xaaaaaaaa : 0x55555555; /* the neighbour may be another thread's */
        _mm512_mask_storeu_epi16(place, own, _mm512_slli_epi32(_mm512_cvtepu16_epi32(near), shift));
        _mm512_mask_storeu_epi16(place + TILE, own, _mm512_slli_epi32(_mm512_cvtepu16_epi32(rest), shift));
    }
}

/* Queries are QUERIES x width, then their rests. */
static void put_query(float *queries, int q, const float *query, int width) {
    for (int d = 0; d < width; d += LANES) {
        uint16_t *place = (uint16_t *)queries + q * width + d;
        __m256i near, rest;
        split(load(query + d), &near, &rest);
        _mm256_storeu_si256((__m256i *)place, near);
        _mm256_storeu_si256((__m256i *)(place + QUERIES * width), rest);
    }
}

/* exp of a score. */
static inline floats share_of(floats score) { return exponential(score); }

/* Shares of a block's values take the place of scores, and then their rests. */
static inline void put_shares(float *scores, const floats shares[BLOCK / WIDE]) {
    __m256i *place = (__m256i *)scores, near, rest;
    UNROLL for (int p = 0; p < BLOCK / WIDE; p++) {
        split(shares[p], &near, &rest);
        _mm256_storeu_si256(place + p, near);
        _mm256_storeu_si256(place + BLOCK / WIDE + p, rest);
    }
}

/* Numbers from the scores of a query to those of the next; sixteen more than there are, because a cache keeps few
 * lines that are a power of two apart. */
static size_t stride_of(int blocks) { return (size_t)blocks * BLOCK + LANES; }

static inline void clear_sums(void) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
}

/* Up to three tiles of sums grow by ``left``, whose rests are ``rest`` bytes behind it, times one tile and its rests. */
static inline void add_products(int tiles, const char *left, size_t stride, size_t rest, const char *right) {
    size_t next = LANES * stride;
    _tile_loadd(6, right, 4 * LANES);
    _tile_loadd(7, right + TILE, 4 * LANES);
    _tile_loadd(3, left, stride);
    if (tiles > 1) _tile_loadd(4, left + next, stride);
    if (tiles > 2) _tile_loadd(5, left + 2 * next, stride);
    _tile_dpbf16ps(0, 3, 6);
    if (tiles > 1) _tile_dpbf16ps(1, 4, 6);
    if (tiles > 2) _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(0, 3, 7);
    if (tiles > 1) _tile_dpbf16ps(1, 4, 7);
    if (tiles > 2) _tile_dpbf16ps(2, 5, 7);
    _tile_loadd(3, left + rest, stride);
    if (tiles > 1) _tile_loadd(4, left + rest + next, stride);
    if (tiles > 2) _tile_loadd(5, left + rest + 2 * next, stride);
    _tile_dpbf16ps(0, 3, 6);
    if (tiles > 1) _tile_dpbf16ps(1, 4, 6);
    if (tiles > 2) _tile_dpbf16ps(2, 5, 6);
}

static inline void store_sums(int tiles, float *to, size_t stride) {
    _tile_stored(0, to, 4 * stride);
    if (tiles > 1) _tile_stored(1, (to + LANES * stride), 4 * stride);
    if (tiles > 2) _tile_stored(2, (to + 2 * LANES * stride), 4 * stride);
}

static int tiles_of(int count) { return (count + LANES - 1) / LANES; }

/* Scores of ``count`` queries with ``blocks`` blocks of keys, which are listed. */
static void score(const float *queries, int count, int width, const float *const *block, int blocks, float *scores) {
    size_t stride = stride_of(blocks), rest = (size_t)QUERIES * width * 2;
    int tiles = tiles_of(count);
    settle();
    for (int b = 0; b < blocks; b++)
        for (int half = 0; half < BLOCK; half += LANES) {
            const char *key = (const char *)(block[b] + half * width);
            clear_sums();
            for (int d = 0; d < width; d += BLOCK, key += 2 * TILE)
                add_products(tiles, (const char *)queries + 2 * d, 2 * width, rest, key);
            store_sums(tiles, scores + b * BLOCK + half, stride);
        }
}

/* Sums of values, weighed by the shares that took the place of scores: queries x width. */
static void mix(const float *shares, int count, int width, const float *const *block, int blocks, float *out) {
    size_t stride = stride_of(blocks);
    int tiles = tiles_of(count);
    settle();
    for (int column = 0; column < width; column += LANES) {
        clear_sums();
        for (int b = 0; b < blocks; b++) {
            const char *value = (const char *)block[b] + column / LANES * 2 * TILE;
            add_products(tiles, (const char *)(shares + b * BLOCK), 4 * stride, 2 * BLOCK, value);
        }
        store_sums(tiles, out + column, width);
    }
}
