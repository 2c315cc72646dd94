/* Attention of a few tokens at a time to all the keys they see.
 *
 * Keys and values stand in blocks of tokens, in sixteen bits a number: what is kept of a long text is most of the memory it
 * takes. Blocks that none of the few sees are not looked at. How keys are multiplied is the variant's: in float32, in
 * halves or by tiles of bfloat16.
 *
 * What all keys have in common adds the same to every score of a query, which no probability shows. Biases are most of
 * that, a hundred times as large as what differs, and would leave few of the sixteen bits for it, so it is taken off.
 */

#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "model.h"
#include "numbers.h"

#if defined(VARIANT_AMX)
#include "attention_tile.h"
#include "softmax_float.h"
#elif defined(VARIANT_NEON)
#include "softmax_half.h"
#else
#include "attention_float.h"
#include "softmax_float.h"
#endif

#define MOST_WIDTH 512 /* of a head */

/* The largest number that is kept. */
#if defined(VARIANT_AMX)
#define MOST_SHORT 3.38e38f
#else
#define MOST_SHORT 65504.0f
#endif

/* Keys and values of one step. */
typedef struct {
    const Short *keys, *values;
    int tokens, blocks, fresh; /* tokens of a segment that is not fresh are seen by everyone and have no gaps */
} Segment;

/* Which tokens see some of a block, and which see all of it. */
typedef struct {
    int32_t first_since, last_since, first_until, last_until;
} Sight;

/* What a thread needs to attend. */
typedef struct {
    const Model *model;
    const int32_t *positions;
    int32_t *since, *until; /* of fresh tokens at their places; nobody sees the places between */
    Sight *sight;           /* per block of fresh tokens */
    float *queries;         /* QUERIES of head_width numbers */
    float *mixed;           /* QUERIES x head_width */
    Score *scores;          /* QUERIES x stride_of(blocks) */
    const Short **block;    /* of each that is looked at */
    int *active;            /* per block that is looked at: its segment and its place there */
} Lookout;

/* Tokens that look at keys together. */
static int neighbours(const Model *model) { return QUERIES * model->shared_heads / model->heads; }

static int blocks_of(int tokens) { return (tokens + BLOCK - 1) / BLOCK; }

static void prepare_sight(Lookout *lookout, const Pass *pass) {
    int blocks = blocks_of(pass->places);
    for (int p = 0; p < blocks * BLOCK; p++) lookout->since[p] = INT32_MAX, lookout->until[p] = 0;
    for (int t = 0; t < pass->tokens; t++) {
        lookout->since[pass->place[t]] = pass->since[t];
        lookout->until[pass->place[t]] = pass->until[t];
    }
    for (int b = 0; b < blocks; b++) {
        Sight sight = {INT32_MAX, 0, INT32_MAX, 0};
        for (int t = b * BLOCK; t < (b + 1) * BLOCK; t++) {
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
static void rope(const Model *model, int position, float *head) {
    int half = model->head_width / 2;
    const float *cosine = model->cosines + (size_t)position * half, *sine = model->sines + (size_t)position * half;
    for (int d = 0; d < half; d++) {
        float one = head[d], two = head[d + half];
        head[d] = one * cosine[d] - two * sine[d];
        head[d + half] = two * cosine[d] + one * sine[d];
    }
}

/* Whether all of so many numbers can be kept. */
static int fit(const float *numbers, int count) {
    int beyond = 0;
    for (int k = 0; k < count; k++) beyond |= !(fabsf(numbers[k]) <= MOST_SHORT);
    return !beyond;
}

/* Put the keys and values of a token, projected one after the other, where others will look for them. */
static void show(const Model *model, const float *common, const float *projected, int place, int position, int blocks,
                 Short *keys, Short *values, int32_t *unfit) {
    int width = model->head_width;
    for (int head = 0; head < model->shared_heads; head++, projected += width) {
        float key[MOST_WIDTH];
        memcpy(key, projected, sizeof(float) * width);
        rope(model, position, key);
        for (int d = 0; common && d < width; d++) key[d] -= common[head * width + d];
        const float *value = projected + model->shared_heads * width;
        if (!fit(key, width) || !fit(value, width)) __atomic_store_n(unfit, 1, __ATOMIC_RELAXED);
        size_t block = ((size_t)head * blocks + place / BLOCK) * width * BLOCK;
        put_key(keys + block, place % BLOCK, key, width);
        put_value(values + block, place % BLOCK, value, width);
    }
}

/* List the blocks that a token from ``first`` to ``last`` sees something of. */
static int choose_blocks(Lookout *lookout, const Segment *segments, int count, int first, int last) {
    int found = 0;
    for (int s = 0; s < count; s++)
        for (int b = 0; b < segments[s].blocks; b++) {
            if (segments[s].fresh) {
                const Sight *sight = lookout->sight + b;
                if (sight->first_since > last || sight->last_until <= first) continue;
            }
            lookout->active[2 * found] = s;
            lookout->active[2 * found++ + 1] = b;
        }
    return found;
}

/* Keys of a block that the token does not see get the lowest score. */
static void hide_unseen(const Lookout *lookout, const Segment *segment, int block, int token, Score *scores) {
    int place = block * BLOCK;
    if (!segment->fresh) {
        for (int k = segment->tokens - place; k < BLOCK; k++) scores[k] = UNSEEN;
        return;
    }
    const Sight *sight = lookout->sight + block;
    if (sight->last_since <= token && token < sight->first_until) return;
    const int32_t *since = lookout->since + place, *until = lookout->until + place;
    for (int k = 0; k < BLOCK; k++) scores[k] = (since[k] <= token) & (until[k] > token) ? scores[k] : (Score)UNSEEN;
}

/* The blocks that are looked at, of one head's keys or values. */
static const Short *const *listed(Lookout *lookout, const Segment *segments, int blocks, int head, int values) {
    size_t size = (size_t)lookout->model->head_width * BLOCK;
    for (int b = 0; b < blocks; b++) {
        const Segment *segment = segments + lookout->active[2 * b];
        const Short *from = values ? segment->values : segment->keys;
        lookout->block[b] = from + ((size_t)head * segment->blocks + lookout->active[2 * b + 1]) * size;
    }
    return lookout->block;
}

/* What up to QUERIES / group tokens, which stand next to each other, get from the keys of one shared head. */
static void attend_to_head(Lookout *lookout, const Segment *segments, int blocks, int head, const int *token, int rows,
                           const float *projected, int stride, float *attended) {
    const Model *model = lookout->model;
    int width = model->head_width, group = model->heads / model->shared_heads, wide = model->heads * width;
    int asked = rows * group;
    float scale = 1 / sqrtf(width);
    for (int q = 0; q < QUERIES; q++) {
        float query[MOST_WIDTH];
        if (q >= asked) {
            memset(query, 0, sizeof(float) * width);
        } else {
            size_t place = (size_t)(q / group) * stride + (head * group + q % group) * width;
            memcpy(query, projected + place, sizeof(float) * width);
            rope(model, lookout->positions[token[q / group]], query);
            for (int d = 0; d < width; d++) query[d] *= scale;
        }
        put_query(lookout->queries, q, query, width);
    }
    score(lookout->queries, asked, width, listed(lookout, segments, blocks, head, 0), blocks, lookout->scores);
    float inverse[QUERIES];
    for (int q = 0; q < asked; q++) {
        Score *scores = lookout->scores + q * stride_of(blocks);
        for (int b = 0; b < blocks; b++) {
            const Segment *segment = segments + lookout->active[2 * b];
            hide_unseen(lookout, segment, lookout->active[2 * b + 1], token[q / group], scores + b * BLOCK);
        }
        inverse[q] = 1 / softmax(scores, blocks * BLOCK);
    }
    mix(lookout->scores, asked, width, listed(lookout, segments, blocks, head, 1), blocks, lookout->mixed);
    for (int q = 0; q < asked; q++) {
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
