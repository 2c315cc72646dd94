/* Sums of products by dot products of four bytes, span by span. */

#pragma once

#include "rows.h"
#include "rounding.h"
#include "spans.h"

#define SECOND 1

/* As many sums as registers hold: GROUP lines, PIECES registers of each. */
#if defined(VARIANT_VNNI) || defined(VARIANT_AVX512)
#define GROUP 12
#define PIECES 2
#define STEP_OF_LINES 4
#define CHUNK 16 /* bytes of a line that stand together */
typedef integers Sum;
#elif defined(VARIANT_AVX2)
#define GROUP 4
#define PIECES 2
#define STEP_OF_LINES 2
#define CHUNK 16
typedef integers Sum;
#elif defined(VARIANT_AVXVNNI)
#define GROUP 6
#define PIECES 2
#define STEP_OF_LINES 2
#define CHUNK 16
typedef integers Sum;
#else
#define GROUP 6
#define PIECES 4
#define STEP_OF_LINES 2
#define CHUNK 4
typedef int32x4_t Sum;
#endif
#define AT_ONCE GROUP

typedef float Found[GROUP * PANEL];

/* Bytes of a line, and steps of its parts: spans, then both terms of loud inputs. */
static int width_of(const Rows *rows) { return rows->inputs + (rows->matrix->loud ? 2 * LOUD : 0); }
static int steps_of(const Rows *rows) { return spans_of(rows) + (rows->matrix->loud ? 2 : 0); }

#if !defined(VARIANT_NEON)
/* ``sum`` grows by four products a lane. Given the intrinsic, compilers copy every sum before and after. */
#if defined(VARIANT_AVX512) || defined(VARIANT_AVX2)
/* Without dot products: pairs are added in sixteen bits, where seven bits times eight never overflow, then pairs of
 * pairs. */
#define ADD_DOTS(sum, raised, weights)                                              \
    do {                                                                            \
        Sum pairs, ones = (Sum){0} + 0x10001;                                       \
        __asm__("vpmaddubsw %3, %2, %1\n\tvpmaddwd %4, %1, %1\n\tvpaddd %1, %0, %0" \
                : "+v"(sum), "=&v"(pairs)                                           \
                : "v"(raised), "v"(weights), "v"(ones));                            \
    } while (0)
#elif defined(__AVXVNNI__) && defined(VARIANT_AVXVNNI)
#define ADD_DOTS(sum, raised, weights) __asm__("{vex} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(raised), "x"(weights))
#elif defined(__AVX512VNNI__) || defined(VARIANT_AVXVNNI)
#define ADD_DOTS(sum, raised, weights) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(raised), "v"(weights))
#else
#define ADD_DOTS(sum, raised, weights) \
    sum = (Sum)_mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(raised), (__m512i)(weights))
#endif
#endif

/* Sums of the first ``some`` lines grow by ``inputs`` of them. ``given`` holds a chunk of every line, then the next
 * chunks; weights of LANES outputs stand together, those of the next are ``apart``. Meanwhile as much is fetched from
 * ``next`` on. */
static inline __attribute__((always_inline)) void add_span(const int some, const int8_t *given, int inputs,
                                                           const int8_t *weights, size_t apart, const int8_t *next,
                                                           Sum sum[GROUP][PIECES]) {
#if !defined(VARIANT_NEON)
    for (int k = 0; k < inputs; k += CHUNK, given += GROUP * CHUNK)
        UNROLL for (int i = 0; i < CHUNK; i += 4, weights += 4 * LANES, next += 4 * LANES) {
            Sum wide[PIECES];
            UNROLL for (int p = 0; p < PIECES; p++) {
                size_t place = p * WIDE / LANES * apart + p * WIDE % LANES * 4;
                wide[p] = *(const loose_integers *)(weights + place);
                if (p * WIDE % LANES == 0) __builtin_prefetch(next + place, 0, 2);
            }
            UNROLL for (int r = 0; r < some; r++) {
                Sum four = (Sum){0} + *(const int32_t *)(given + r * CHUNK + i);
                UNROLL for (int p = 0; p < PIECES; p++) ADD_DOTS(sum[r][p], four, wide[p]);
            }
        }
#else
    (void)apart;
    (void)next;
    for (int k = 0; k < inputs; k += CHUNK, given += GROUP * CHUNK, weights += CHUNK * LANES) {
        int8x16_t front = vld1q_s8(given);
        int8x8_t back = vld1_s8(given + 16);
        UNROLL for (int c = 0; c < PIECES; c++) {
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
#endif
}

/* ``some`` is known when this is compiled. */
static inline __attribute__((always_inline)) void multiply_some(const int some, const Rows *rows, int first,
                                                                const int8_t *panel, const int8_t *next, int output,
                                                                Found found) {
    const Matrix *matrix = rows->matrix;
    int inputs = rows->inputs, spans = spans_of(rows), span = matrix->span, steps = steps_of(rows);
    const int8_t *lines = (const int8_t *)rows->laid_out + (size_t)first * width_of(rows);
    const int8_t *loud = matrix->loud_weights + (size_t)output * LOUD;
    const float *scale = rows->scale + (size_t)first * steps;
    for (int column = 0; column < PANEL; column += PIECES * WIDE)
        for (int s = 0; s < steps; s++) {
            /* Both terms of loud inputs meet the same weights. */
            int among = s < spans, count = among ? span : LOUD;
            size_t place = (size_t)column * (among ? inputs : LOUD) + (among ? (size_t)s * span * LANES : 0);
            size_t before = among ? s * span : inputs + (s - spans) * LOUD;
            const int8_t *weights = (among ? panel : loud) + place;
            const int32_t *lost = among ? matrix->sums + (size_t)output * spans + s * PANEL : matrix->loud_sums + output;
            Sum sum[GROUP][PIECES];
            UNROLL for (int p = 0; p < PIECES; p++) {
                integers less = *(const loose_integers *)(lost + column + p * WIDE) * -RAISED;
                UNROLL for (int r = 0; r < some; r++) sum[r][p] = (Sum)less;
            }
            add_span(some, lines + before * GROUP, count, weights, (size_t)(among ? inputs : LOUD) * LANES,
                     among ? next + place : weights, sum);
            UNROLL for (int r = 0; r < some; r++)
                UNROLL for (int p = 0; p < PIECES; p++) {
                    floats whole = __builtin_convertvector((integers)sum[r][p], floats);
                    float *to = found + r * PANEL + column + p * WIDE;
                    store(to, add_product(s ? load(to) : spread(0), whole, spread(scale[r * steps + s])));
                }
        }
}

/* Sums of a group of lines, of which ``used`` from ``first`` on are read, with the panel of weights that begins with
 * ``output``; meanwhile the ``next`` panel, if there is one, is fetched. */
static void multiply(const Rows *rows, int first, int used, const int8_t *panel, const int8_t *next, int output,
                     Found found) {
    if (!next) next = panel;
    if (used <= STEP_OF_LINES) multiply_some(STEP_OF_LINES, rows, first, panel, next, output, found);
    else if (used <= 2 * STEP_OF_LINES) multiply_some(2 * STEP_OF_LINES, rows, first, panel, next, output, found);
    else multiply_some(GROUP, rows, first, panel, next, output, found);
}

/* WIDE sums of one line of the group. */
static inline floats sums_at(const Rows *rows, const Found found, int first, int line, int k) {
    (void)rows;
    (void)first;
    return load(found + line * PANEL + k);
}
