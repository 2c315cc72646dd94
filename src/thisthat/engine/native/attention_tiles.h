/* Scores and sums of values by tiles of bfloat16.
 *
 * Every number is two of them, the second holding what the first cuts off, and three of the four products
 * are summed in float32: about sixteen bits, where the eight of one would change answers.
 */

#pragma once

#include "numbers.h"

#define QUERIES 16 /* vectors that look at keys together: the rows of a tile */

typedef uint16_t half;

static inline half upper_half(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits >> 16;
}

/* The number in two halves: what is left of it after the first. */
static inline void cut(float value, half *first, half *second) {
    *first = upper_half(value);
    uint32_t bits = (uint32_t)*first << 16;
    float known;
    memcpy(&known, &bits, 4);
    *second = upper_half(value - known);
}

/* A block of keys: width / 2 pairs of numbers x LANES keys x 2, first halves and then second ones. */
static void put_key(float *block, int lane, const float *key, int width) {
    half *first = (half *)block, *second = first + width * LANES;
    for (int d = 0; d < width; d++) {
        int place = (d / 2 * LANES + lane) * 2 + d % 2;
        cut(key[d], first + place, second + place);
    }
}

/* A block of values: width / LANES columns x 8 pairs of keys x LANES numbers x 2, in halves as well. */
static void put_value(float *block, int lane, const float *value, int width) {
    half *first = (half *)block, *second = first + width * LANES;
    for (int d = 0; d < width; d++) {
        int place = ((d / LANES * 8 + lane / 2) * LANES + d % LANES) * 2 + lane % 2;
        cut(value[d], first + place, second + place);
    }
}

/* Queries: QUERIES x width first halves, then second ones. */
static void put_query(float *queries, int q, const float *query, int width) {
    half *first = (half *)queries + q * width, *second = first + QUERIES * width;
    for (int d = 0; d < width; d++) cut(query[d], first + d, second + d);
}

/* All tiles whole, as products want them; or the first four of the size that 16 keys have in ``mix``. */
static void shape_tiles(int of_keys) {
    struct {
        uint8_t palette, start, unused[14];
        uint16_t columns[16];
        uint8_t rows[16];
    } tiles __attribute__((aligned(64))) = {.palette = 1};
    for (int tile = 0; tile < 8; tile++) tiles.columns[tile] = 64, tiles.rows[tile] = 16;
    if (of_keys) tiles.columns[0] = tiles.columns[1] = 32, tiles.rows[2] = tiles.rows[3] = 8;
    _tile_loadconfig(&tiles);
}

/* Scores of all queries with ``blocks`` blocks of keys, which are listed; ``scores`` has as many columns. */
static void score(const float *queries, int width, const float *const *block, int blocks, float *scores) {
    const half *one = (const half *)queries, *two = one + QUERIES * width;
    size_t stride = (size_t)blocks * LANES * sizeof(float);
    for (int b = 0; b < blocks; b++) {
        const half *first = (const half *)block[b], *second = first + width * LANES;
        _tile_zero(4);
        for (int d = 0; d < width; d += 32) {
            _tile_loadd(0, one + d, width * sizeof(half));
            _tile_loadd(2, first + d * LANES, 64);
            _tile_dpbf16ps(4, 0, 2);
            _tile_loadd(3, second + d * LANES, 64);
            _tile_dpbf16ps(4, 0, 3);
            _tile_loadd(1, two + d, width * sizeof(half));
            _tile_dpbf16ps(4, 1, 2);
        }
        _tile_stored(4, scores + b * LANES, stride);
    }
}

/* Sixteen numbers as sixteen first halves and sixteen second ones, in their own place. */
static void cut_block(float *numbers) {
    floats value = load(numbers);
    integers known = (integers)value & (int32_t)0xffff0000;
    integers rest = (integers)(value - (floats)known);
    half *first = (half *)numbers, *second = first + LANES;
    _mm256_storeu_si256((__m256i *)first, _mm512_cvtepi32_epi16(_mm512_srli_epi32((__m512i)known, 16)));
    _mm256_storeu_si256((__m256i *)second, _mm512_cvtepi32_epi16(_mm512_srli_epi32((__m512i)rest, 16)));
}

/* Sums of values, weighed by scores, which are used up: QUERIES x width. */
static void mix(float *scores, int width, const float *const *block, int blocks, float *out) {
    int keys = blocks * LANES, stride = keys * sizeof(float);
    for (size_t b = 0; b < (size_t)QUERIES * blocks; b++) cut_block(scores + b * LANES);
    shape_tiles(1);
    for (int column = 0; column < width; column += 4 * LANES) {
        _tile_zero(4);
        _tile_zero(5);
        _tile_zero(6);
        _tile_zero(7);
        for (int b = 0; b < blocks; b++) {
            const half *first = (const half *)block[b] + column * LANES, *second = first + width * LANES;
            const half *share = (const half *)scores + b * 2 * LANES;
            _tile_loadd(0, share, stride);
            _tile_loadd(1, share + LANES, stride);
#define COLUMN(number, sum)                                      \
    _tile_loadd(2, first + number * LANES * LANES, 4 * LANES);   \
    _tile_dpbf16ps(sum, 0, 2);                                   \
    _tile_dpbf16ps(sum, 1, 2);                                   \
    _tile_loadd(3, second + number * LANES * LANES, 4 * LANES);  \
    _tile_dpbf16ps(sum, 0, 3);
            COLUMN(0, 4)
            COLUMN(1, 5)
            COLUMN(2, 6)
            COLUMN(3, 7)
#undef COLUMN
        }
        int row = width * sizeof(float);
        _tile_stored(4, out + column, row);
        _tile_stored(5, out + column + LANES, row);
        _tile_stored(6, out + column + 2 * LANES, row);
        _tile_stored(7, out + column + 3 * LANES, row);
    }
    shape_tiles(0);
}
