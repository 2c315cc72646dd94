/* Attention of a few tokens at a time to all the keys they see, in float32.
 *
 * Keys and values stand in blocks of sixteen tokens; blocks that none of the few sees are not looked at.
 */

#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "model.h"
#include "numbers.h"

#define QUERIES 12     /* vectors that look at keys together */
#define MOST_WIDTH 512 /* of a head */

/* As many sums as registers hold. */
#if defined(__AVX512F__)
#define SCORE_ROWS 12
#define SCORE_BLOCKS 2
#define MIX_ROWS 6
#define MIX_COLUMNS 4
#elif defined(__AVX2__)
#define SCORE_ROWS 6
#define SCORE_BLOCKS 1
#define MIX_ROWS 6
#define MIX_COLUMNS 1
#elif defined(__aarch64__)
#define SCORE_ROWS 4
#define SCORE_BLOCKS 1
#define MIX_ROWS 4
#define MIX_COLUMNS 1
#else
#define SCORE_ROWS 2
#define SCORE_BLOCKS 1
#define MIX_ROWS 2
#define MIX_COLUMNS 1
#endif
#define SCORE_PARTS (SCORE_BLOCKS * PARTS)
#define MIX_PARTS (MIX_COLUMNS * PARTS)

/* A block of keys is width x LANES, one of values LANES x width. */

static void put_key(float *block, int lane, const float *key, int width) {
    for (int d = 0; d < width; d++) block[d * LANES + lane] = key[d];
}

static void put_value(float *block, int lane, const float *value, int width) {
    memcpy(block + lane * width, value, sizeof(float) * width);
}

/* Queries are width x QUERIES. */
static void put_query(float *queries, int q, const float *query, int width) {
    for (int d = 0; d < width; d++) queries[d * QUERIES + q] = query[d];
}

/* Scores of all queries with ``blocks`` blocks of keys, which are listed; ``scores`` has as many columns. */
static void score(const float *queries, int width, const float *const *block, int blocks, float *scores) {
    size_t stride = (size_t)blocks * LANES;
    for (int b = 0; b < blocks; b += SCORE_BLOCKS)
        for (int first = 0; first < QUERIES; first += SCORE_ROWS) {
            floats sum[SCORE_ROWS][SCORE_PARTS] = {{{0}}};
            const float *key[SCORE_BLOCKS];
            UNROLL for (int c = 0; c < SCORE_BLOCKS; c++) key[c] = block[b + c < blocks ? b + c : b];
            for (int d = 0; d < width; d++) {
                floats wide[SCORE_PARTS];
                UNROLL for (int p = 0; p < SCORE_PARTS; p++)
                    wide[p] = load(key[p / PARTS] + d * LANES + p % PARTS * WIDE);
                UNROLL for (int q = 0; q < SCORE_ROWS; q++)
                    UNROLL for (int p = 0; p < SCORE_PARTS; p++)
                        sum[q][p] += queries[d * QUERIES + first + q] * wide[p];
            }
            UNROLL for (int q = 0; q < SCORE_ROWS; q++)
                UNROLL for (int p = 0; p < SCORE_PARTS; p++)
                    if (b + p / PARTS < blocks) store(scores + (first + q) * stride + b * LANES + p * WIDE, sum[q][p]);
        }
}

/* Sums of values, weighed by scores: QUERIES x width. */
static void mix(const float *scores, int width, const float *const *block, int blocks, float *out) {
    size_t stride = (size_t)blocks * LANES;
    for (int first = 0; first < QUERIES; first += MIX_ROWS)
        for (int column = 0; column < width; column += MIX_COLUMNS * LANES) {
            floats sum[MIX_ROWS][MIX_PARTS] = {{{0}}};
            for (int b = 0; b < blocks; b++) {
                const float *value = block[b] + column, *share = scores + first * stride + b * LANES;
                for (int key = 0; key < LANES; key++, value += width, share++) {
                    floats wide[MIX_PARTS];
                    UNROLL for (int p = 0; p < MIX_PARTS; p++) wide[p] = load(value + p * WIDE);
                    UNROLL for (int q = 0; q < MIX_ROWS; q++)
                        UNROLL for (int p = 0; p < MIX_PARTS; p++) sum[q][p] += share[q * stride] * wide[p];
                }
            }
            UNROLL for (int q = 0; q < MIX_ROWS; q++)
                UNROLL for (int p = 0; p < MIX_PARTS; p++)
                    store(out + (first + q) * width + column + p * WIDE, sum[q][p]);
        }
}

/* Keys and values of one step. */
typedef struct {
    const float *keys, *values;
    int tokens, blocks, fresh; /* tokens of a segment that is not fresh are seen by everyone */
} Segment;

/* Which tokens see some of a block, and which see all of it. */
typedef struct {
    int32_t first_since, last_since, first_until, last_until;
} Sight;

/* What a thread needs to attend. */
typedef struct {
    const Model *model;
    const int32_t *positions;
    int32_t *since, *until; /* of fresh tokens, filled up to whole blocks with some that nobody sees */
    Sight *sight;           /* per block of fresh tokens */
    float *queries;         /* QUERIES x head_width */
    float *mixed;           /* the same */
    float *scores;          /* QUERIES x blocks x LANES */
    const float **block;    /* of each that is looked at */
    int *active;            /* per block that is looked at: its segment and its place there */
} Lookout;

/* Tokens that look at keys together. */
static int neighbours(const Model *model) { return QUERIES * model->shared_heads / model->heads; }

static int blocks_of(int tokens) { return (tokens + LANES - 1) / LANES; }

static void prepare_sight(Lookout *lookout, const Pass *pass) {
    int blocks = blocks_of(pass->tokens);
    for (int t = 0; t < blocks * LANES; t++) {
        lookout->since[t] = t < pass->tokens ? pass->since[t] : INT32_MAX;
        lookout->until[t] = t < pass->tokens ? pass->until[t] : 0;
    }
    for (int b = 0; b < blocks; b++) {
        Sight sight = {INT32_MAX, 0, INT32_MAX, 0};
        for (int t = b * LANES; t < (b + 1) * LANES; t++) {
            int since = lookout->since[t], until = lookout->until[t];
            if (since < sight.first_since) sight.first_since = since;
            if (since > sight.last_since) sight.last_since = since;
            if (until < sight.first_until) sight.first_until = until;
            if (until > sight.last_until) sight.last_until = until;
        }
        lookout->sight[b] = sight;
    }
}

/* The rotary position embedding of one head. */
static void turn(const Model *model, int position, float *head) {
    int half = model->head_width / 2;
    const float *cosine = model->cosines + (size_t)position * half, *sine = model->sines + (size_t)position * half;
    for (int d = 0; d < half; d++) {
        float one = head[d], two = head[d + half];
        head[d] = one * cosine[d] - two * sine[d];
        head[d + half] = two * cosine[d] + one * sine[d];
    }
}

/* Put the keys and values of a token, projected one after the other, where others will look for them. */
static void show(const Model *model, const float *projected, int token, int position, int blocks, float *keys,
                 float *values) {
    int width = model->head_width;
    for (int head = 0; head < model->shared_heads; head++, projected += width) {
        float key[MOST_WIDTH];
        memcpy(key, projected, sizeof(float) * width);
        turn(model, position, key);
        size_t block = ((size_t)head * blocks + token / LANES) * width * LANES;
        put_key(keys + block, token % LANES, key, width);
        put_value(values + block, token % LANES, projected + model->shared_heads * width, width);
    }
}

/* List the blocks that a token from ``first`` to ``last`` sees something of. */
static int choose_blocks(Lookout *lookout, const Segment *segments, int count, int first, int last) {
    int found = 0;
    for (int s = 0; s < count; s++)
        for (int b = 0; b < segments[s].blocks; b++) {
            const Sight *sight = lookout->sight + b;
            if (segments[s].fresh && (sight->first_since > last || sight->last_until <= first)) continue;
            lookout->active[2 * found] = s;
            lookout->active[2 * found++ + 1] = b;
        }
    return found;
}

/* Scores of one query become shares, keys that the token does not see get none; the inverse of their sum. */
static float share_out(const Lookout *lookout, const Segment *segments, int blocks, int token, float *scores) {
    static const int32_t lanes[LANES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    floats most = spread(-1e30f), sum = {0};
    for (int b = 0; b < blocks; b++) {
        const Segment *segment = segments + lookout->active[2 * b];
        int block = lookout->active[2 * b + 1], place = block * LANES;
        const Sight *sight = lookout->sight + block;
        int partly = segment->fresh ? sight->last_since > token || token >= sight->first_until
                                    : place + LANES > segment->tokens;
        for (int k = 0; k < LANES; k += WIDE) {
            floats value = load(scores + b * LANES + k);
            if (partly) {
                integers seen;
                if (segment->fresh)
                    seen = (*(const loose_integers *)(lookout->since + place + k) <= token) &
                           (*(const loose_integers *)(lookout->until + place + k) > token);
                else
                    seen = *(const loose_integers *)(lanes + k) + place < segment->tokens;
                store(scores + b * LANES + k, value = choose(seen, value, spread(-1e30f)));
            }
            most = larger(most, value);
        }
    }
    float top = largest(most);
    for (int k = 0; k < blocks * LANES; k += WIDE) {
        floats value = exponential(load(scores + k) - top);
        sum += value;
        store(scores + k, value);
    }
    return 1 / total(sum);
}

/* The blocks that are looked at, of one head's keys or values. */
static const float *const *listed(Lookout *lookout, const Segment *segments, int blocks, int head, int values) {
    size_t size = (size_t)lookout->model->head_width * LANES;
    for (int b = 0; b < blocks; b++) {
        const Segment *segment = segments + lookout->active[2 * b];
        const float *from = values ? segment->values : segment->keys;
        lookout->block[b] = from + ((size_t)head * segment->blocks + lookout->active[2 * b + 1]) * size;
    }
    return lookout->block;
}

/* What up to QUERIES / group tokens, which stand next to each other, get from the keys of one shared head. */
static void attend_to_head(Lookout *lookout, const Segment *segments, int blocks, int head, const int *token, int rows,
                           const float *projected, int stride, float *attended) {
    const Model *model = lookout->model;
    int width = model->head_width, group = model->heads / model->shared_heads, wide = model->heads * width;
    float scale = 1 / sqrtf(width);
    for (int q = 0; q < QUERIES; q++) {
        float query[MOST_WIDTH];
        if (q >= rows * group) {
            memset(query, 0, sizeof(float) * width);
        } else {
            size_t place = (size_t)(q / group) * stride + (head * group + q % group) * width;
            memcpy(query, projected + place, sizeof(float) * width);
            turn(model, lookout->positions[token[q / group]], query);
            for (int d = 0; d < width; d++) query[d] *= scale;
        }
        put_query(lookout->queries, q, query, width);
    }
    score(lookout->queries, width, listed(lookout, segments, blocks, head, 0), blocks, lookout->scores);
    float inverse[QUERIES];
    for (int q = 0; q < rows * group; q++) {
        float *scores = lookout->scores + (size_t)q * blocks * LANES;
        inverse[q] = share_out(lookout, segments, blocks, token[q / group], scores);
    }
    mix(lookout->scores, width, listed(lookout, segments, blocks, head, 1), blocks, lookout->mixed);
    for (int q = 0; q < rows * group; q++) {
        float *out = attended + (size_t)(q / group) * wide + (head * group + q % group) * width;
        for (int d = 0; d < width; d += WIDE) store(out + d, load(lookout->mixed + q * width + d) * inverse[q]);
    }
}

/* What ``rows`` tokens get; queries are the first numbers of ``projected``, ``stride`` apart. */
static void attend(Lookout *lookout, const Segment *segments, int count, const int *token, int rows,
                   const float *projected, int stride, float *attended) {
    const Model *model = lookout->model;
    int at_once = neighbours(model), some;
    for (int first = 0; first < rows; first += some) {
        /* Neighbours see nearly the same. */
        for (some = 1; some < at_once && first + some < rows; some++)
            if (token[first + some] != token[first + some - 1] + 1) break;
        int blocks = choose_blocks(lookout, segments, count, token[first], token[first + some - 1]);
        for (int head = 0; head < model->shared_heads; head++)
            attend_to_head(lookout, segments, blocks, head, token + first, some, projected + (size_t)first * stride,
                           stride, attended + (size_t)first * model->heads * model->head_width);
    }
}
