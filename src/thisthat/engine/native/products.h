/* Activations times weights of eight bits, in the way the processor does it fastest.
 *
 * VARIANT_AMX, VARIANT_VNNI and VARIANT_NEON multiply bytes: an activation is one or two eight-bit terms
 * with a step per token. VARIANT_PLAIN widens weights to float32 as they are read and rounds nothing.
 */

#pragma once

#include <stdint.h>
#include <string.h>

#include "numbers.h"

#define PANEL 32 /* outputs of one micro-kernel */
#define DEPTH 64 /* inputs come in multiples of this */

typedef struct {
    const int8_t *weights; /* packed, see pack.py */
    const float *steps;    /* per output */
    const int32_t *sums;   /* per output: the sum of its weights */
} Matrix;

/* Activations of a thread's tokens, laid out as the variant's kernel reads them. */
typedef struct {
    int32_t inputs, terms;
    const void *laid_out;
    const float *scale; /* per token */
} Rows;

/* What becomes of a product. */
typedef enum { STORE, ADD, GATE } Use;

#if defined(VARIANT_PLAIN)

/* As many sums as registers hold. */
#if defined(__AVX512F__)
#define GROUP 12
#define PLAIN_BLOCKS 2
#elif defined(__AVX2__)
#define GROUP 6
#define PLAIN_BLOCKS 1
#elif defined(__aarch64__)
#define GROUP 4
#define PLAIN_BLOCKS 1
#else
#define GROUP 2
#define PLAIN_BLOCKS 1
#endif
#define PLAIN_PARTS (PLAIN_BLOCKS * PARTS)

typedef float Found[GROUP * PANEL];

static int at_once(const Rows *rows) {
    (void)rows;
    return GROUP;
}

/* Sums of a group of rows, from ``first`` on, with one panel of weights [inputs][PANEL]. */
static void multiply(const Rows *rows, int first, int used, const int8_t *panel, const int8_t *next, Found found) {
    (void)used;
    (void)next;
    int inputs = rows->inputs;
    for (int block = 0; block < PANEL / LANES; block += PLAIN_BLOCKS) {
        const float *given = (const float *)rows->laid_out + (size_t)first * inputs;
        const int8_t *weights = panel + block * LANES;
        floats sum[GROUP][PLAIN_PARTS] = {{{0}}};
        for (int k = 0; k < inputs; k++, weights += PANEL, given += GROUP) {
            floats wide[PLAIN_PARTS];
            UNROLL for (int b = 0; b < PLAIN_BLOCKS; b++) widen(weights + b * LANES, wide + b * PARTS);
            UNROLL for (int r = 0; r < GROUP; r++)
                UNROLL for (int p = 0; p < PLAIN_PARTS; p++) sum[r][p] += given[r] * wide[p];
        }
        UNROLL for (int r = 0; r < GROUP; r++)
            UNROLL for (int p = 0; p < PLAIN_PARTS; p++)
                store(found + r * PANEL + block * LANES + p * WIDE, sum[r][p]);
    }
}

/* WIDE sums of one row of the group. */
static inline floats sums_at(const Rows *rows, const Found found, const int32_t *lost, int row, int k) {
    (void)rows;
    (void)lost;
    return load(found + row * PANEL + k);
}

#else

/* A pair of terms leaves half a step of the first to the second, which has 127 steps either way. */
#define FINER 254

#if defined(VARIANT_AMX)

#define GROUP 16

#define FOUND_ROWS (2 * GROUP)

/* Sums of two tiles of rows with one panel; meanwhile the ``next`` panel, if there is one, is fetched. */
static void multiply_tiles(const int8_t *upper, const int8_t *lower, int inputs, const int8_t *panel,
                           const int8_t *next, int32_t *found) {
    settle();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    size_t right = (size_t)inputs * LANES;
    for (int k = 0; k < inputs; k += DEPTH) {
        _tile_loadd(4, upper + k, inputs);
        _tile_loadd(6, panel + k * LANES, 4 * LANES);
        _tile_loadd(7, panel + right + k * LANES, 4 * LANES);
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
        _tile_loadd(5, lower + k, inputs);
        if (next)
            UNROLL for (int line = 0; line < GROUP; line++) {
                __builtin_prefetch(next + k * LANES + line * DEPTH, 0, 2);
                __builtin_prefetch(next + right + k * LANES + line * DEPTH, 0, 2);
            }
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
    }
    _tile_stored(0, found, 4 * PANEL);
    _tile_stored(1, (found + LANES), 4 * PANEL);
    _tile_stored(2, (found + GROUP * PANEL), 4 * PANEL);
    _tile_stored(3, (found + GROUP * PANEL + LANES), 4 * PANEL);
}

/* Two tiles: other rows, or first and second terms. */
static void multiply_group(const int8_t *group, int used, int inputs, const int8_t *panel, const int8_t *next,
                           int32_t *found) {
    (void)used;
    multiply_tiles(group, group + (size_t)GROUP * inputs, inputs, panel, next, found);
}

#elif defined(VARIANT_VNNI)

#define GROUP 12
#define FOUND_ROWS GROUP
#define CHUNK 4

/* ``given`` holds four bytes of every row of a group, then the next four. */
static void multiply_group(const int8_t *rows, int used, int inputs, const int8_t *panel, const int8_t *next,
                           int32_t *found) {
    (void)used;
    (void)next;
    const int32_t *given = (const int32_t *)rows;
    __m512i sum[GROUP][2];
    UNROLL for (int r = 0; r < GROUP; r++) sum[r][0] = sum[r][1] = _mm512_setzero_si512();
    const int8_t *right = panel + (size_t)inputs * LANES;
    for (int k = 0; k < inputs; k += 4, given += GROUP) {
        __m512i one = _mm512_loadu_si512(panel + k * LANES);
        __m512i two = _mm512_loadu_si512(right + k * LANES);
        UNROLL for (int r = 0; r < GROUP; r++) {
            __m512i four = _mm512_set1_epi32(given[r]);
            sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], four, one);
            sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], four, two);
        }
    }
    UNROLL for (int r = 0; r < GROUP; r++) {
        _mm512_storeu_si512(found + r * PANEL, sum[r][0]);
        _mm512_storeu_si512(found + r * PANEL + LANES, sum[r][1]);
    }
}

#elif defined(VARIANT_NEON)

#define GROUP 6
#define FOUND_ROWS GROUP
#define CHUNK 4

/* The first ``some`` rows of a group: 2, 4 or all 6, known when this is compiled. ``given`` holds four bytes of every
 * row, then the next four. */
static inline __attribute__((always_inline)) void multiply_some(const int some, const int8_t *rows, int inputs,
                                                                const int8_t *panel, int32_t *found) {
    for (int block = 0; block < PANEL / LANES; block++) {
        const int8_t *weights = panel + (size_t)block * inputs * LANES, *given = rows;
        int32x4_t sum[GROUP][4];
        UNROLL for (int r = 0; r < some; r++)
            UNROLL for (int c = 0; c < 4; c++) sum[r][c] = vdupq_n_s32(0);
        for (int k = 0; k < inputs; k += CHUNK, given += GROUP * CHUNK, weights += CHUNK * LANES) {
            int8x16_t front = vld1q_s8(given);
            int8x8_t back = vld1_s8(given + 16);
            UNROLL for (int c = 0; c < 4; c++) {
                int8x16_t w = vld1q_s8(weights + 16 * c);
                sum[0][c] = vdotq_laneq_s32(sum[0][c], w, front, 0);
                sum[1][c] = vdotq_laneq_s32(sum[1][c], w, front, 1);
                if (some < 4) continue;
                sum[2][c] = vdotq_laneq_s32(sum[2][c], w, front, 2);
                sum[3][c] = vdotq_laneq_s32(sum[3][c], w, front, 3);
                if (some < 6) continue;
                sum[4][c] = vdotq_lane_s32(sum[4][c], w, back, 0);
                sum[5][c] = vdotq_lane_s32(sum[5][c], w, back, 1);
            }
        }
        UNROLL for (int r = 0; r < some; r++)
            UNROLL for (int c = 0; c < 4; c++)
                vst1q_s32(found + r * PANEL + block * LANES + 4 * c, sum[r][c]);
    }
}

static void multiply_group(const int8_t *rows, int used, int inputs, const int8_t *panel, const int8_t *next,
                           int32_t *found) {
    (void)next;
    if (used <= 2) multiply_some(2, rows, inputs, panel, found);
    else if (used <= 4) multiply_some(4, rows, inputs, panel, found);
    else multiply_some(6, rows, inputs, panel, found);
}

#endif

#if defined(VARIANT_VNNI)
#define RAISED 128 /* one factor must not have a sign */
#else
#define RAISED 0
#endif

typedef int32_t Found[FOUND_ROWS * PANEL];

static int at_once(const Rows *rows) { return FOUND_ROWS / rows->terms; }

/* Sums of a group of rows, of which ``used`` from ``first`` on are read, with one panel of weights. */
static void multiply(const Rows *rows, int first, int used, const int8_t *panel, const int8_t *next, Found found) {
    const int8_t *group = (const int8_t *)rows->laid_out + (size_t)first * rows->terms * rows->inputs;
    /* Second terms stand behind all first ones. */
    multiply_group(group, rows->terms == 1 ? used : GROUP, rows->inputs, panel, next, found);
}

/* WIDE sums of one row of the group; ``lost`` are those of the panel's weights. */
static inline floats sums_at(const Rows *rows, const Found found, const int32_t *lost, int row, int k) {
    integers raised = *(const loose_integers *)(lost + k) * RAISED;
    const int32_t *coarse = found + row * PANEL + k;
    floats sum = __builtin_convertvector(*(const loose_integers *)coarse - raised, floats);
    if (rows->terms == 2) {
        const int32_t *fine = coarse + at_once(rows) * PANEL;
        sum += __builtin_convertvector(*(const loose_integers *)fine - raised, floats) * (1.0f / FINER);
    }
    return sum;
}

/* LANES whole numbers as bytes. */
static inline void narrow(const integers whole[PARTS], int8_t *to) {
#if defined(__AVX512F__)
    _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8((__m512i)whole[0]));
#else
    int16x8_t left = vmovn_high_s32(vmovn_s32((int32x4_t)whole[0]), (int32x4_t)whole[1]);
    int16x8_t right = vmovn_high_s32(vmovn_s32((int32x4_t)whole[2]), (int32x4_t)whole[3]);
    vst1q_s8(to, vmovn_high_s16(vmovn_s16(left), right));
#endif
}

/* The row in bytes; the step of its first term. */
static float round_row(const float *row, int width, int terms, int8_t *coarse, int8_t *fine) {
    floats most = {0};
    for (int k = 0; k < width; k += WIDE) {
        floats value = load(row + k);
        most = larger(most, larger(value, -value));
    }
    float limit = largest(most);
    float step = limit / 127, inverse = limit > 0 ? 127 / limit : 0;
    for (int k = 0; k < width; k += LANES) {
        integers near[PARTS], rest[PARTS];
        UNROLL for (int p = 0; p < PARTS; p++) {
            floats scaled = load(row + k + p * WIDE) * inverse;
            integers whole = nearest(scaled);
            near[p] = whole + RAISED;
            rest[p] = nearest((scaled - __builtin_convertvector(whole, floats)) * FINER) + RAISED;
        }
        narrow(near, coarse + k);
        if (terms == 2) narrow(rest, fine + k);
    }
    return step;
}

#endif

/* A row as the kernel reads it, and its scale; ``bytes`` has room for two terms of it. */
static float lay_out_row(const float *values, int row, int width, int terms, int8_t *bytes, void *laid_out) {
#if defined(VARIANT_PLAIN)
    float *out = (float *)laid_out + (size_t)(row / GROUP) * width * GROUP + row % GROUP;
    for (int k = 0; k < width; k++) out[(size_t)k * GROUP] = values[k];
    (void)terms;
    (void)bytes;
    return 1;
#elif defined(VARIANT_AMX)
    /* A tile of first terms, then one of second terms. */
    int place = terms == 2 ? row / GROUP * 2 * GROUP + row % GROUP : row;
    int8_t *coarse = (int8_t *)laid_out + (size_t)place * width;
    (void)bytes;
    return round_row(values, width, terms, coarse, coarse + (size_t)GROUP * width);
#else
    float scale = round_row(values, width, terms, bytes, bytes + width);
    /* A chunk of every first term of a group, then of every second term, then the next chunk. */
    int some = GROUP / terms;
    int8_t *group = (int8_t *)laid_out + (size_t)(row / some) * GROUP * width;
    for (int term = 0; term < terms; term++, bytes += width) {
        int8_t *out = group + (term * some + row % some) * CHUNK;
        for (int k = 0; k < width; k += CHUNK, out += GROUP * CHUNK) memcpy(out, bytes + k, CHUNK);
    }
    return scale;
#endif
}

/* rows x matrix, outputs ``from`` to ``to``; ``out`` has ``stride`` numbers per row. */
static void product(const Rows *rows, int count, const Matrix *matrix, int from, int to, Use use, float *out,
                    int stride) {
    Found found __attribute__((aligned(64)));
    int group = at_once(rows);
    size_t size = (size_t)PANEL * rows->inputs;
    for (int column = from; column < to; column += PANEL) {
        const int8_t *panel = matrix->weights + (size_t)column * rows->inputs;
        const int8_t *next = column + PANEL < to ? panel + size : NULL;
        for (int first = 0; first < count; first += group, next = NULL) {
            int used = group < count - first ? group : count - first;
            multiply(rows, first, used, panel, next, found);
            for (int r = 0; r < used; r++) {
                float scale = rows->scale[first + r];
                float *to_row = out + (size_t)(first + r) * stride;
                UNROLL for (int k = 0; k < LANES; k += WIDE) {
                    const float *steps = matrix->steps + column + k;
                    const int32_t *lost = matrix->sums + column;
                    floats one = sums_at(rows, found, lost, r, k) * (load(steps) * scale);
                    floats two = sums_at(rows, found, lost, r, LANES + k) * (load(steps + LANES) * scale);
                    if (use == GATE) {
                        /* Panels hold 16 gates and then their 16 inputs. */
                        floats gate = one * inverse(1.0f + exponential(smaller(spread(80), -one)));
                        store(to_row + column / 2 + k, gate * two);
                    } else {
                        float *place = to_row + column - from + k;
                        if (use == ADD) one += load(place), two += load(place + LANES);
                        store(place, one);
                        store(place + LANES, two);
                    }
                }
            }
        }
    }
}
