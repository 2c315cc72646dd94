/* One pass of a llama model over a flat tree of tokens, on the cores of a CPU.
 *
 * Threads share every product by its outputs, so that each reads its part of the weights alone, and all
 * else by tokens; in between they meet. What a token gives depends neither on the number of threads nor on
 * tokens that it does not see. Knows nothing of files, prompts or caches; sizes were checked by the caller.
 */

#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "model.h"
#include "numbers.h"
#include "products.h"
#include "threads.h"

#if defined(VARIANT_AMX)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define ROWS_AT_ONCE 240 /* tokens whose numbers stay in the second cache from product to product */
#define MARGIN 32        /* rows that kernels may read beyond the last one: whole tiles and groups */

typedef struct Engine Engine;

typedef struct {
    Engine *engine;
    int number;
    pthread_t thread;
} Worker;

struct Engine {
    const Model *model;
    Worker *workers;
    Meeting meeting;
    pthread_mutex_t mutex;
    pthread_cond_t begin;
    int round, over;
    char *memory; /* kept from pass to pass */
    size_t reserved;
    const Pass *pass;
    atomic_int finished;
};

/* What all threads work on together. Rows are the tokens that are computed, in order. */
typedef struct {
    int *token, *slot; /* of each row */
    float *hidden, *projected;
    float *slot_hidden;
    float *attended, *inner, *scale; /* of ROWS_AT_ONCE */
    void *laid_out;                  /* the rows that are multiplied next */
} Shared;

/* One thread's part in it. */
typedef struct {
    const Model *model;
    const Pass *pass;
    Meeting *meeting;
    int number;
    Shared shared;
    Lookout lookout;
    float *normed; /* one row */
    int8_t *bytes; /* one row */
} Work;

/* ---- memory ---------------------------------------------------------------------------------- */

/* Gives out memory from ``free`` on; with none, only counts how much is needed. */
typedef struct {
    char *free;
    size_t taken;
} Stock;

static void *take(Stock *stock, size_t count, size_t size) {
    void *found = stock->free ? stock->free + stock->taken : NULL;
    stock->taken += (count * size + 63) / 64 * 64;
    return found;
}

static Shared lay_out_shared(const Model *model, const Pass *pass, Stock *stock) {
    int queries = model->heads * model->head_width, rows = pass->tokens, some = ROWS_AT_ONCE + MARGIN;
    int most = queries > model->width ? queries : model->width;
    most = model->inner > most ? model->inner : most;
    return (Shared){
        .token = take(stock, rows, sizeof(int)),
        .slot = take(stock, pass->slots, sizeof(int)),
        .hidden = take(stock, (size_t)rows * model->width, sizeof(float)),
        .projected = take(stock, (size_t)rows * (queries + 2 * model->shared_heads * model->head_width), sizeof(float)),
        .slot_hidden = take(stock, (size_t)pass->slots * model->width, sizeof(float)),
        .attended = take(stock, (size_t)some * queries, sizeof(float)),
        .inner = take(stock, (size_t)some * model->inner, sizeof(float)),
        .scale = take(stock, some, sizeof(float)),
        .laid_out = take(stock, (size_t)some * most, sizeof(float)),
    };
}

static Work lay_out_own(const Model *model, const Pass *pass, Stock *stock) {
    int blocks = blocks_of(pass->tokens), all = blocks;
    for (int s = 0; s < pass->segments; s++) all += blocks_of(pass->kept[s].tokens);
    int most = model->inner > model->width ? model->inner : model->width;
    most = model->heads * model->head_width > most ? model->heads * model->head_width : most;
    return (Work){
        .model = model,
        .pass = pass,
        .lookout =
            {
                .model = model,
                .positions = pass->positions,
                .since = take(stock, blocks * LANES, sizeof(int32_t)),
                .until = take(stock, blocks * LANES, sizeof(int32_t)),
                .sight = take(stock, blocks, sizeof(Sight)),
                .queries = take(stock, QUERIES * model->head_width, sizeof(float)),
                .mixed = take(stock, QUERIES * model->head_width, sizeof(float)),
                .scores = take(stock, (size_t)QUERIES * all * LANES, sizeof(float)),
                .active = take(stock, 2 * all, sizeof(int)),
                .block = take(stock, all, sizeof(float *)),
            },
        .normed = take(stock, model->width, sizeof(float)),
        .bytes = take(stock, 2 * most, 1),
    };
}

/* ---- a pass ---------------------------------------------------------------------------------- */

static int up_to(int count, int most) { return count < most ? count : most; }

/* A thread's part of ``count`` things that come in groups. */
static void part(const Work *work, int count, int group, int *from, int *to) {
    int groups = (count + group - 1) / group, threads = work->meeting->threads;
    *from = up_to((int)((int64_t)groups * work->number / threads) * group, count);
    *to = up_to((int)((int64_t)groups * (work->number + 1) / threads) * group, count);
}

/* One thread's part of a product; all rows, some outputs. */
static void multiply_part(Work *work, int rows, const Matrix *matrix, int inputs, int begin, int end, Use use,
                          float *out, int stride) {
    Rows given = {inputs, work->pass->terms, work->shared.laid_out, work->shared.scale};
    int from, to;
    part(work, end - begin, PANEL, &from, &to);
    if (use != GATE) out += from;
    product(&given, rows, matrix, begin + from, begin + to, use, out, stride);
}

static void norm(const Model *model, const float *row, const float *weight, float *out) {
    floats squares = {0};
    for (int k = 0; k < model->width; k += LANES) squares += load(row + k) * load(row + k);
    float scale = 1 / sqrtf(total(squares) / model->width + model->epsilon);
    for (int k = 0; k < model->width; k += LANES) store(out + k, load(row + k) * scale * load(weight + k));
}

static void lay_out(Work *work, int row, const float *values, int width) {
    work->shared.scale[row] =
        lay_out_row(values, row, width, work->pass->terms, work->bytes, work->shared.laid_out);
}

/* Make ready for a product: the norm of each row. */
static void lay_out_normed(Work *work, int rows, const float *hidden, const float *weight) {
    int width = work->model->width, from, to;
    part(work, rows, 1, &from, &to);
    for (int r = from; r < to; r++) {
        norm(work->model, hidden + (size_t)r * width, weight, work->normed);
        lay_out(work, r, work->normed, width);
    }
}

static void lay_out_inner(Work *work, int rows) {
    int width = work->model->inner, from, to;
    part(work, rows, 1, &from, &to);
    for (int r = from; r < to; r++) lay_out(work, r, work->shared.inner + (size_t)r * width, width);
}

/* Queries, keys and values, or some of them, of all rows. */
static void project(Work *work, const Step *step, int rows, const float *hidden, int begin, int end) {
    for (int first = 0; first < rows; first += ROWS_AT_ONCE) {
        int some = up_to(rows - first, ROWS_AT_ONCE);
        lay_out_normed(work, some, hidden + (size_t)first * work->model->width, step->before);
        meet(work->meeting);
        multiply_part(work, some, &step->projections, work->model->width, begin, end, STORE,
                      work->shared.projected + (size_t)first * (end - begin), end - begin);
        meet(work->meeting);
    }
}

/* Whole groups of neighbours are dealt to and fro, because late tokens see more. */
static void attend_part(Work *work, const Segment *segments, int count, const int *token, int rows,
                        const float *projected, int stride) {
    int wide = work->model->heads * work->model->head_width, threads = work->meeting->threads;
    int group = QUERIES * work->model->shared_heads / work->model->heads;
    for (int first = 0, turn = 0; first < rows; first += group, turn++) {
        int place = turn % (2 * threads), some = up_to(rows - first, group);
        if ((place < threads ? place : 2 * threads - 1 - place) != work->number) continue;
        float *attended = work->shared.attended + (size_t)first * wide;
        attend(&work->lookout, segments, count, token + first, some, projected + (size_t)first * stride, stride,
               attended);
        for (int r = 0; r < some; r++) lay_out(work, first + r, attended + (size_t)r * wide, wide);
    }
}

/* The rest of a step: attention and the feed-forward part. */
static void finish(Work *work, const Step *step, int rows, const int *token, float *hidden, const Segment *segments,
                   int count, int stride) {
    const Model *model = work->model;
    const Shared *shared = &work->shared;
    int width = model->width, wide = model->heads * model->head_width;
    for (int first = 0; first < rows; first += ROWS_AT_ONCE, hidden += (size_t)ROWS_AT_ONCE * width) {
        int some = up_to(rows - first, ROWS_AT_ONCE);
        attend_part(work, segments, count, token + first, some, shared->projected + (size_t)first * stride, stride);
        meet(work->meeting);
        multiply_part(work, some, &step->out, wide, 0, width, ADD, hidden, width);
        meet(work->meeting);
        lay_out_normed(work, some, hidden, step->after);
        meet(work->meeting);
        multiply_part(work, some, &step->gate_up, width, 0, 2 * model->inner, GATE, shared->inner, model->inner);
        meet(work->meeting);
        lay_out_inner(work, some);
        meet(work->meeting);
        multiply_part(work, some, &step->down, model->inner, 0, width, ADD, hidden, width);
        meet(work->meeting);
    }
}

static void show_part(Work *work, int rows, const float *projected, int stride, float *keys, float *values) {
    int blocks = blocks_of(work->pass->tokens), from, to;
    part(work, rows, LANES, &from, &to);
    for (int t = from; t < to; t++)
        show(work->model, projected + (size_t)t * stride, t, work->pass->positions[t], blocks, keys, values);
}

static void begin(Work *work, int rows) {
    int width = work->model->width, from, to;
    part(work, rows, LANES, &from, &to);
    for (int t = from; t < to; t++) {
        const _Float16 *row = work->model->embedding + (size_t)work->pass->ids[t] * width;
        for (int k = 0; k < width; k++) work->shared.hidden[(size_t)t * width + k] = (float)row[k];
        work->shared.token[t] = t;
    }
    meet(work->meeting);
}

static void gather_slots(Work *work) {
    size_t width = work->model->width;
    int from, to;
    part(work, work->pass->slots, 1, &from, &to);
    for (int s = from; s < to; s++) {
        int token = work->shared.slot[s] = work->pass->slot[s];
        memcpy(work->shared.slot_hidden + s * width, work->shared.hidden + token * width, sizeof(float) * width);
    }
}

static void read_labels(Work *work) {
    const Model *model = work->model;
    int from, to;
    part(work, work->pass->slots, 1, &from, &to);
    for (int s = from; s < to; s++) {
        float *logits = work->pass->logits + (size_t)s * model->labels;
        norm(model, work->shared.slot_hidden + (size_t)s * model->width, model->norm, work->normed);
        for (int label = 0; label < model->labels; label++) {
            const float *row = model->label_rows + (size_t)label * model->width;
            floats sum = {0};
            for (int k = 0; k < model->width; k += LANES) sum += load(work->normed + k) * load(row + k);
            logits[label] = total(sum);
        }
    }
}

static int segments_of(const Model *model, const Pass *pass, int step, const float *keys, const float *values,
                       Segment *segments) {
    size_t size = (size_t)model->shared_heads * LANES * model->head_width;
    for (int k = 0; k < pass->segments; k++) {
        const Kept *kept = pass->kept + k;
        int blocks = blocks_of(kept->tokens);
        size_t place = step * size * blocks;
        segments[k] = (Segment){kept->keys + place, kept->values + place, kept->tokens, blocks, 0};
    }
    segments[pass->segments] = (Segment){keys, values, pass->tokens, blocks_of(pass->tokens), 1};
    return pass->segments + 1;
}

static void run_pass(Work *work) {
    const Model *model = work->model;
    const Pass *pass = work->pass;
    Shared *shared = &work->shared;
    int queries = model->heads * model->head_width;
    int whole = queries + 2 * model->shared_heads * model->head_width;
    size_t size = (size_t)model->shared_heads * blocks_of(pass->tokens) * LANES * model->head_width;
    Segment segments[pass->segments + 1];
    prepare_sight(&work->lookout, pass);
    begin(work, pass->tokens);
    for (int s = 0; s < model->steps; s++) {
        const Step *step = model->step + s;
        int last = s == model->steps - 1;
        float *keys = pass->keys + (pass->keep ? s : 0) * size, *values = pass->values + (pass->keep ? s : 0) * size;
        /* Nothing reads the last step's output but the slots. */
        project(work, step, pass->tokens, shared->hidden, last ? queries : 0, whole);
        show_part(work, pass->tokens, shared->projected + (last ? 0 : queries), last ? whole - queries : whole, keys,
                  values);
        if (last) gather_slots(work);
        meet(work->meeting);
        int count = segments_of(model, pass, s, keys, values, segments);
        if (last) {
            project(work, step, pass->slots, shared->slot_hidden, 0, queries);
            finish(work, step, pass->slots, shared->slot, shared->slot_hidden, segments, count, queries);
        } else {
            finish(work, step, pass->tokens, shared->token, shared->hidden, segments, count, whole);
        }
    }
    read_labels(work);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void set_up_thread(void) {
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040); /* numbers too small for full speed are zero */
#elif defined(__aarch64__)
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" ::"r"(control | (1 << 24)));
#endif
#if defined(VARIANT_AMX)
    shape_tiles(0);
#endif
}

static void work_on(Engine *engine, int number) {
    Stock stock = {engine->memory, 0};
    Shared shared = lay_out_shared(engine->model, engine->pass, &stock);
    Work work;
    for (int t = 0; t <= number; t++) work = lay_out_own(engine->model, engine->pass, &stock);
    work.shared = shared;
    work.meeting = &engine->meeting;
    work.number = number;
    set_up_thread();
    run_pass(&work);
#if defined(VARIANT_AMX)
    _tile_release();
#endif
}

static void *serve(void *given) {
    Worker *worker = given;
    Engine *engine = worker->engine;
    for (int round = 0;;) {
        pthread_mutex_lock(&engine->mutex);
        while (engine->round == round && !engine->over) pthread_cond_wait(&engine->begin, &engine->mutex);
        round = engine->round;
        int over = engine->over;
        pthread_mutex_unlock(&engine->mutex);
        if (over) return NULL;
        work_on(engine, worker->number);
        atomic_fetch_add_explicit(&engine->finished, 1, memory_order_acq_rel);
    }
}

void close_engine(Engine *engine) {
    pthread_mutex_lock(&engine->mutex);
    engine->over = 1;
    pthread_cond_broadcast(&engine->begin);
    pthread_mutex_unlock(&engine->mutex);
    for (int t = 1; t < engine->meeting.threads; t++) pthread_join(engine->workers[t].thread, NULL);
    free(engine->memory);
    free(engine->workers);
    free(engine);
}

/* NULL where the system does not give what is needed. */
Engine *open_engine(const Model *model, int threads) {
#if defined(VARIANT_AMX)
    if (syscall(SYS_arch_prctl, 0x1023, 18)) return NULL; /* leave to use tiles */
#endif
    Engine *engine = calloc(1, sizeof(Engine));
    Worker *workers = calloc(threads, sizeof(Worker));
    if (!engine || !workers) {
        free(engine);
        free(workers);
        return NULL;
    }
    engine->model = model;
    engine->workers = workers;
    pthread_mutex_init(&engine->mutex, NULL);
    pthread_cond_init(&engine->begin, NULL);
    for (int t = 0; t < threads; t++) {
        workers[t].engine = engine;
        workers[t].number = t;
        if (t && pthread_create(&workers[t].thread, NULL, serve, workers + t)) {
            close_engine(engine);
            return NULL;
        }
        engine->meeting.threads = t + 1;
    }
    return engine;
}

/* Memory for a pass; 0 when there is not so much. */
static int reserve(Engine *engine, const Pass *pass) {
    Stock needed = {NULL, 0};
    lay_out_shared(engine->model, pass, &needed);
    for (int t = 0; t < engine->meeting.threads; t++) lay_out_own(engine->model, pass, &needed);
    if (needed.taken <= engine->reserved) return 1;
    free(engine->memory);
    engine->memory = aligned_alloc(64, needed.taken);
    engine->reserved = engine->memory ? needed.taken : 0;
    return engine->memory != NULL;
}

/* 0, or 1 when memory does not suffice. One pass at a time. */
int run(Engine *engine, const Pass *pass) {
    if (!reserve(engine, pass)) return 1;
    engine->pass = pass;
    atomic_store(&engine->finished, 0);
    pthread_mutex_lock(&engine->mutex);
    engine->round++;
    pthread_cond_broadcast(&engine->begin);
    pthread_mutex_unlock(&engine->mutex);
    work_on(engine, 0);
    for (int seen; (seen = atomic_load(&engine->finished)) < engine->meeting.threads - 1;)
        wait_until_changed(&engine->finished, seen);
    return 0;
}
