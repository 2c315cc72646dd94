/* Activations times weights of eight bits, in the way the processor does it fastest.
 *
 * VARIANT_AMX, VARIANT_VNNI and VARIANT_NEON multiply bytes: an activation is one or two eight-bit terms, with a
 * step for every span of a token's inputs. VARIANT_PLAIN widens weights to float32 as they are read and rounds nothing.
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
    const int32_t *sums;   /* of the weights in each span: panels x spans x PANEL */
} Matrix;

/* Activations of a thread's tokens, laid out as the variant's kernel reads them. */
typedef struct {
    int32_t inputs, coarse; /* the first ``coarse`` rows have one term, the others two */
    void *laid_out;
    float *scale; /* lines x spans; a row is a line of bytes, or two */
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

#define TERMS 1
#define AT_ONCE GROUP
#define SECOND 1

typedef float Found[GROUP * PANEL];

static int spans_of(int inputs) {
    (void)inputs;
    return 1;
}

/* Sums of a group of rows, from ``first`` on, with one panel of weights [inputs][PANEL]. */
static void multiply(const Rows *rows, int first, int used, const int8_t *panel, const int8_t *next,
                     const int32_t *lost, Found found) {
    (void)used;
    (void)next;
    (void)lost;
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

/* WIDE sums of one line of the group. */
static inline floats sums_at(const Rows *rows, const Found found, int first, int line, int k) {
    (void)rows;
    (void)first;
    return load(found + line * PANEL + k);
}

#else

#define TERMS 2

/* A pair of terms leaves half a step of the first to the second, which has 127 steps either way. */
#define FINER 254

#if defined(VARIANT_VNNI)
#define RAISED 128 /* one factor must not have a sign */
#else
#define RAISED 0
#endif

#if defined(VARIANT_AMX)

#define GROUP 16
#define AT_ONCE (2 * GROUP)
#define SECOND GROUP

typedef int32_t Found[AT_ONCE * PANEL];

/* Tiles hold sums over all inputs. */
static int spans_of(int inputs) {
    (void)inputs;
    return 1;
}

/* Sums of two tiles of lines, other rows or first and second terms, with one panel; meanwhile the ``next`` panel, if
 * there is one, is fetched. */
static void multiply(const Rows *rows, int first, int used, const int8_t *panel, const int8_t *next,
                     const int32_t *lost, Found found) {
    (void)used;
    (void)lost;
    int inputs = rows->inputs;
    const int8_t *upper = (const int8_t *)rows->laid_out + (size_t)first * inputs;
    const int8_t *lower = upper + (size_t)GROUP * inputs;
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

/* WIDE sums of one line of the group that begins with line ``first``. */
static inline floats sums_at(const Rows *rows, const Found found, int first, int line, int k) {
    const int32_t *whole = found + line * PANEL + k;
    return __builtin_convertvector(*(const loose_integers *)whole, floats) * rows->scale[first + line];
}

#else

#define SECOND 1
#define CHUNK 4

/* As many sums as registers hold: GROUP lines, PIECES registers of each. */
#if defined(VARIANT_VNNI)
#define GROUP 12
#define PIECES 2
#define STEP_OF_LINES 4
typedef __m512i Sum;
#define NOTHING _mm512_setzero_si512()
#else
#define GROUP 6
#define PIECES 4
#define STEP_OF_LINES 2
typedef int32x4_t Sum;
#define NOTHING vdupq_n_s32(0)
#endif
#define AT_ONCE GROUP

typedef float Found[GROUP * PANEL];

/* Spans are short enough to keep a large activation from coarsening many others, and long enough to cost little. */
static int spans_of(int inputs) {
    for (int depths = 3; depths > 1; depths--)
        if (inputs % (depths * DEPTH) == 0) return inputs / (depths * DEPTH);
    return inputs / DEPTH;
}

/* Sums of the first ``some`` lines grow by ``inputs`` of them. ``given`` holds four bytes of every line, then the next
 * four; weights of LANES outputs stand together, those of the next are ``apart``. */
static inline __attribute__((always_inline)) void add_span(const int some, const int8_t *given, int inputs,
                                                           const int8_t *weights, size_t apart,
                                                           Sum sum[GROUP][PIECES]) {
#if defined(VARIANT_VNNI)
    const int32_t *fours = (const int32_t *)given;
    for (int k = 0; k < inputs; k += CHUNK, fours += GROUP, weights += CHUNK * LANES) {
        __m512i one = _mm512_loadu_si512(weights);
        __m512i two = _mm512_loadu_si512(weights + apart);
        UNROLL for (int r = 0; r < some; r++) {
            __m512i four = _mm512_set1_epi32(fours[r]);
            sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], four, one);
            sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], four, two);
        }
    }
#else
    (void)apart;
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
                                                                const int8_t *panel, const int32_t *lost,
                                                                Found found) {
    int inputs = rows->inputs, spans = spans_of(inputs), span = inputs / spans;
    const int8_t *lines = (const int8_t *)rows->laid_out + (size_t)first * inputs;
    const float *scale = rows->scale + (size_t)first * spans;
    for (int column = 0; column < PANEL; column += PIECES * WIDE)
        for (int s = 0; s < spans; s++) {
            Sum sum[GROUP][PIECES];
            UNROLL for (int r = 0; r < some; r++)
                UNROLL for (int p = 0; p < PIECES; p++) sum[r][p] = NOTHING;
            add_span(some, lines + (size_t)s * span * GROUP, span,
                     panel + (size_t)column * inputs + (size_t)s * span * LANES, (size_t)inputs * LANES, sum);
            UNROLL for (int r = 0; r < some; r++)
                UNROLL for (int p = 0; p < PIECES; p++) {
                    int place = column + p * WIDE;
                    integers raised = *(const loose_integers *)(lost + s * PANEL + place) * RAISED;
                    floats part = __builtin_convertvector((integers)sum[r][p] - raised, floats) * scale[r * spans + s];
                    float *to = found + r * PANEL + place;
                    store(to, s ? load(to) + part : part);
                }
        }
}

/* Sums of a group of lines, of which ``used`` from ``first`` on are read, with one panel of weights. */
static void multiply(const Rows *rows, int first, int used, const int8_t *panel, const int8_t *next,
                     const int32_t *lost, Found found) {
    (void)next;
    if (used <= STEP_OF_LINES) multiply_some(STEP_OF_LINES, rows, first, panel, lost, found);
    else if (used <= 2 * STEP_OF_LINES) multiply_some(2 * STEP_OF_LINES, rows, first, panel, lost, found);
    else multiply_some(GROUP, rows, first, panel, lost, found);
}

/* WIDE sums of one line of the group. */
static inline floats sums_at(const Rows *rows, const Found found, int first, int line, int k) {
    (void)rows;
    (void)first;
    return load(found + line * PANEL + k);
}

#endif

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

/* A span in bytes; the step of its first term. */
static float round_span(const float *row, int width, int terms, int8_t *coarse, int8_t *fine) {
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

/* The first line of rows with two terms. */
static int fine_from(const Rows *rows) { return (rows->coarse + 2 * SECOND - 1) / (2 * SECOND) * 2 * SECOND; }

/* The line of a row's first term; that of the second comes SECOND lines later. */
static int line_of(const Rows *rows, int row) {
    int fine = row - rows->coarse;
    return fine < 0 ? row : fine_from(rows) + fine / SECOND * 2 * SECOND + fine % SECOND;
}

/* Bytes, or numbers, that rows may take up, for each of their inputs. */
static int room_for(int rows) { return TERMS == 1 ? rows + AT_ONCE : 2 * (rows + AT_ONCE); }

/* A row as the kernel reads it; ``bytes`` has room for two terms of it. */
static void lay_out_row(const Rows *rows, int row, const float *values, int8_t *bytes) {
    int width = rows->inputs, line = line_of(rows, row);
#if defined(VARIANT_PLAIN)
    float *out = (float *)rows->laid_out + (size_t)(line / GROUP) * width * GROUP + line % GROUP;
    for (int k = 0; k < width; k++) out[(size_t)k * GROUP] = values[k];
    (void)bytes;
#else
    int spans = spans_of(width), span = width / spans, terms = row < rows->coarse ? 1 : 2;
    size_t second = width;
#if defined(VARIANT_AMX)
    bytes = (int8_t *)rows->laid_out + (size_t)line * width;
    second = (size_t)SECOND * width;
#endif
    for (int s = 0; s < spans; s++) {
        int8_t *part = bytes + s * span;
        float step = round_span(values + s * span, span, terms, part, part + second);
        rows->scale[(size_t)line * spans + s] = step;
        if (terms == 2) rows->scale[(size_t)(line + SECOND) * spans + s] = step / FINER;
    }
#if !defined(VARIANT_AMX)
    /* A chunk of every line of a group, then the next chunk. */
    for (int term = 0; term < terms; term++, line += SECOND, bytes += width) {
        int8_t *out = (int8_t *)rows->laid_out + (size_t)(line / GROUP) * GROUP * width + line % GROUP * CHUNK;
        for (int k = 0; k < width; k += CHUNK, out += GROUP * CHUNK) memcpy(out, bytes + k, CHUNK);
    }
#endif
#endif
}

/* What becomes of WIDE outputs and of those LANES further on, for one row. */
static inline void use_sums(Use use, floats one, floats two, int column, int from, int k, float *to_row) {
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

/* rows x matrix, outputs ``from`` to ``to``; ``out`` has ``stride`` numbers per row. */
static void product(const Rows *rows, int count, const Matrix *matrix, int from, int to, Use use, float *out,
                    int stride) {
    Found found __attribute__((aligned(64)));
    int spans = spans_of(rows->inputs), fine = count - rows->coarse;
    int lines = fine ? fine_from(rows) + 2 * fine : count;
    size_t size = (size_t)PANEL * rows->inputs;
    for (int column = from; column < to; column += PANEL) {
        const int8_t *panel = matrix->weights + (size_t)column * rows->inputs;
        const int8_t *next = column + PANEL < to ? panel + size : NULL;
        for (int first = 0, row = 0; first < lines; first += AT_ONCE, next = NULL) {
            multiply(rows, first, lines - first, panel, next, matrix->sums + (size_t)column * spans, found);
            for (int line; row < count && (line = line_of(rows, row) - first) < AT_ONCE; row++)
                UNROLL for (int k = 0; k < LANES; k += WIDE) {
                    floats one = sums_at(rows, found, first, line, k);
                    floats two = sums_at(rows, found, first, line, LANES + k);
                    if (TERMS == 2 && row >= rows->coarse) {
                        one += sums_at(rows, found, first, line + SECOND, k);
                        two += sums_at(rows, found, first, line + SECOND, LANES + k);
                    }
                    const float *steps = matrix->steps + column + k;
                    use_sums(use, one * load(steps), two * load(steps + LANES), column, from, k,
                             out + (size_t)row * stride);
                }
        }
    }
}
