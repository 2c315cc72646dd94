/* One pass of a llama-type model over a flat tree of tokens, on the cores of a CPU.
 *
 * Each thread owns some tokens and computes all of their numbers; it looks at the others only to attend, so
 * threads meet once a step. (Sharing each product by its outputs reads weights once, but takes nine meetings
 * a step, which cost more.) What a token gives depends neither on the number of threads nor on tokens that it
 * does not see, if those it sees stand in the same lanes of their blocks. The caller has checked all sizes.
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

/* Tokens whose numbers stay in the second cache from product to product, at most; whole bunches. */
#if defined(VARIANT_AMX)
#define ROWS_AT_ONCE 160
#define BUNCH 16
#else
#define ROWS_AT_ONCE 120
#define BUNCH 12
#endif

/* Tokens that are not parted when tokens are shared evenly: a tile takes as long with fewer. */
#if defined(VARIANT_AMX)
#define GRAIN GROUP
#else
#define GRAIN 1
#endif

typedef struct Engine Engine;

typedef struct {
    Engine *engine;
    int number;
    pthread_t thread;
    char *memory; /* kept from pass to pass */
    size_t reserved;
} Worker;

struct Engine {
    const Model *model;
    Worker *workers;
    Meeting meeting;
    pthread_mutex_t mutex;
    pthread_cond_t begin;
    int round, over;
    const Pass *pass;
    char *memory; /* of a pass that is run in parts; NULL: each worker's own */
    int from, to; /* parts to be run now */
    atomic_int finished, failed;
};

/* All that a thread works on. Rows are its own tokens, in order. */
typedef struct {
    const Model *model;
    const Pass *pass;
    Lookout lookout;
    int rows, stride;                /* how many there are; from one row of ``projected`` to the next */
    int *token, *slot;               /* of each row */
    float *hidden, *projected;       /* of all rows */
    int coarse;                      /* rows with one term; the others come after them and have two */
    float *attended, *inner, *scale; /* of ROWS_AT_ONCE */
    void *laid_out;                  /* the rows that are multiplied next */
    float *normed;                   /* one row */
    int8_t *bytes;                   /* one row */
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

/* Tokens that are dealt to a thread together. */
static int tile_of(const Model *model) {
    int some = neighbours(model);
    return some < LANES ? LANES / some * some : some;
}

/* By how many tokens a thread may have more than its even share. */
static int spare_of(const Model *model) { return tile_of(model) > GRAIN ? tile_of(model) : GRAIN; }

/* The most tokens of one thread. */
static int most_rows(const Model *model, int tokens, int threads) {
    return (tokens + threads - 1) / threads + spare_of(model);
}

static Work lay_out_work(const Model *model, const Pass *pass, int threads, Stock *stock) {
    int blocks = blocks_of(pass->places), all = blocks, queries = model->heads * model->head_width;
    for (int s = 0; s < pass->segments; s++) all += blocks_of(pass->kept[s].tokens);
    int rows = most_rows(model, pass->tokens, threads), some = ROWS_AT_ONCE;
    int most = queries > model->width ? queries : model->width;
    most = model->inner > most ? model->inner : most;
    return (Work){
        .model = model,
        .pass = pass,
        .token = take(stock, rows, sizeof(int)),
        .slot = take(stock, rows, sizeof(int)),
        .hidden = take(stock, (size_t)rows * model->width, sizeof(float)),
        .projected = take(stock, (size_t)rows * (queries + 2 * model->shared_heads * model->head_width), sizeof(float)),
        .attended = take(stock, (size_t)some * queries, sizeof(float)),
        .inner = take(stock, (size_t)some * model->inner, sizeof(float)),
        .scale = take(stock, (size_t)room_for(some) * most_steps(most), sizeof(float)),
        .laid_out = take(stock, (size_t)room_for(some) * most_width(most), TERMS == 1 ? sizeof(float) : 1),
        .normed = take(stock, model->width, sizeof(float)),
        .bytes = take(stock, 2 * most_width(most), 1),
        .lookout =
            {
                .model = model,
                .positions = pass->positions,
                .since = take(stock, blocks * BLOCK, sizeof(int32_t)),
                .until = take(stock, blocks * BLOCK, sizeof(int32_t)),
                .sight = take(stock, blocks, sizeof(Sight)),
                .queries = take(stock, QUERIES * model->head_width, sizeof(float)),
                .mixed = take(stock, QUERIES * model->head_width, sizeof(float)),
                .scores = take(stock, QUERIES * stride_of(all), sizeof(Score)),
                .active = take(stock, 2 * all, sizeof(int)),
                .block = take(stock, all, sizeof(float *)),
            },
    };
}

/* ---- a pass ---------------------------------------------------------------------------------- */

/* A thread's tokens. Whole tiles are dealt to and fro, because late tokens see more; what is left over is shared. */
static int deal(const Model *model, int tokens, int threads, int number, int *token) {
    int count = 0, tile = tile_of(model), turns = tokens / (2 * tile * threads) * 2 * threads;
    for (int turn = 0; turn < turns; turn++) {
        int place = turn % (2 * threads);
        if ((place < threads ? place : 2 * threads - 1 - place) != number) continue;
        for (int k = 0; k < tile; k++) token[count++] = turn * tile + k;
    }
    int first = turns * tile, left = tokens - first, grains = (left + GRAIN - 1) / GRAIN;
    int share = grains < threads ? (left + threads - 1) / threads : (grains + threads - 1) / threads * GRAIN;
    for (int k = 0, t = first + number * share; k < share && t < tokens; k++, t++) token[count++] = t;
    return count;
}

static int up_to(int count, int most) { return count < most ? count : most; }

/* So many rows at once that all weights are read as seldom as may be, and never for a few rows that are left over. */
static int batch_of(int rows) {
    int batches = (rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    return batches ? ((rows + batches - 1) / batches + BUNCH - 1) / BUNCH * BUNCH : BUNCH;
}

static int is_slot(const Pass *pass, int token) {
    for (int s = 0; s < pass->slots; s++)
        if (pass->slot[s] == token) return 1;
    return 0;
}

/* How many rows have one term. Where that is all a pass asks for, slots have two nevertheless and come last: nothing
 * averages out what they lose. */
static int part_rows(Work *work, int rows) {
    if (TERMS == 1) return rows;
    if (work->pass->terms == 2) return 0;
    int others = 0, slots = 0;
    for (int r = 0; r < rows; r++) {
        int token = work->token[r];
        if (is_slot(work->pass, token)) work->slot[slots++] = token;
        else work->token[others++] = token;
    }
    memcpy(work->token + others, work->slot, sizeof(int) * slots);
    return others;
}

static void norm(const Model *model, const float *row, const float *weight, float *out) {
    floats squares = {0};
    for (int k = 0; k < model->width; k += WIDE) squares += load(row + k) * load(row + k);
    float scale = 1 / sqrtf(total(squares) / model->width + model->epsilon);
    for (int k = 0; k < model->width; k += WIDE) store(out + k, load(row + k) * scale * load(weight + k));
}

/* ``some`` rows from ``first`` on, to be laid out and multiplied. */
static Rows rows_from(const Work *work, int first, int some, const Matrix *matrix, int inputs) {
    int coarse = work->coarse < first ? 0 : up_to(work->coarse - first, some);
    return (Rows){matrix, inputs, coarse, work->laid_out, work->scale};
}

static void lay_out(Work *work, const Rows *rows, int count, float *values) {
    for (int r = 0; r < count; r++) lay_out_row(rows, r, values + (size_t)r * rows->inputs, work->bytes);
}

static void lay_out_normed(Work *work, const Rows *rows, int count, const float *hidden, const float *weight) {
    for (int r = 0; r < count; r++) {
        norm(work->model, hidden + (size_t)r * rows->inputs, weight, work->normed);
        lay_out_row(rows, r, work->normed, work->bytes);
    }
}

/* So many ``biases`` added to each of ``some`` rows. */
static void add_biases(const float *biases, int count, int some, float *rows) {
    for (int r = 0; r < some; r++)
        for (int k = 0; k < count; k += WIDE) {
            float *place = rows + (size_t)r * count + k;
            store(place, load(place) + load(biases + k));
        }
}

/* Queries, keys and values, or some of them, of all rows. */
static void project(Work *work, const Step *step, int rows, int from, int to) {
    int width = work->model->width, batch = batch_of(rows);
    for (int first = 0; first < rows; first += batch) {
        int some = up_to(rows - first, batch);
        float *projected = work->projected + (size_t)first * (to - from);
        Rows given = rows_from(work, first, some, &step->projections, width);
        lay_out_normed(work, &given, some, work->hidden + (size_t)first * width, step->before);
        product(&given, some, from, to, STORE, projected, to - from);
        if (step->biases) add_biases(step->biases + from, to - from, some, projected);
    }
}

/* The rest of a step for ``some`` rows: attention and the feed-forward part. */
static void finish(Work *work, const Step *step, int first, int some, const Segment *segments, int count) {
    const Model *model = work->model;
    int width = model->width, inner = model->inner, queries = model->heads * model->head_width;
    float *hidden = work->hidden + (size_t)first * width;
    attend(&work->lookout, segments, count, work->token + first, some, work->projected + (size_t)first * work->stride,
           work->stride, work->attended);
    Rows attended = rows_from(work, first, some, &step->out, queries);
    lay_out(work, &attended, some, work->attended);
    product(&attended, some, 0, width, ADD, hidden, width);
    Rows normed = rows_from(work, first, some, &step->gate_up, width);
    lay_out_normed(work, &normed, some, hidden, step->after);
    product(&normed, some, 0, 2 * inner, GATE, work->inner, inner);
    Rows gated = rows_from(work, first, some, &step->down, inner);
    lay_out(work, &gated, some, work->inner);
    product(&gated, some, 0, width, ADD, hidden, width);
}

static void show_rows(Work *work, const Step *step, int rows, const float *projected, int stride, Short *keys,
                      Short *values) {
    const Pass *pass = work->pass;
    int blocks = blocks_of(pass->places);
    for (int r = 0; r < rows; r++) {
        int token = work->token[r];
        show(work->model, step->common, projected + (size_t)r * stride, pass->place[token], pass->positions[token],
             blocks, keys, values, pass->unfit);
    }
}

static void begin(Work *work, int rows) {
    int width = work->model->width;
    for (int r = 0; r < rows; r++) {
        const uint16_t *from = work->model->embedding + (size_t)work->pass->ids[work->token[r]] * width;
        for (int k = 0; k < width; k++) work->hidden[(size_t)r * width + k] = from_half(from[k]);
    }
}

/* The rows that hold a slot move to the front. */
static int gather_slots(Work *work, int rows) {
    int width = work->model->width, found = 0;
    for (int r = 0; r < rows; r++)
        for (int s = 0; s < work->pass->slots; s++) {
            if (work->pass->slot[s] != work->token[r]) continue;
            work->slot[found] = s;
            work->token[found] = work->token[r];
            memmove(work->hidden + (size_t)found++ * width, work->hidden + (size_t)r * width, sizeof(float) * width);
            break;
        }
    return found;
}

/* What others ask for of all rows, as it is after a step. */
static void hand_out(const Work *work, int rows, int place) {
    int width = work->model->width;
    float *hidden = work->pass->hidden + (size_t)place * work->pass->tokens * width;
    for (int r = 0; r < rows; r++)
        memcpy(hidden + (size_t)work->token[r] * width, work->hidden + (size_t)r * width, sizeof(float) * width);
}

static void read_labels(Work *work, int slots) {
    const Model *model = work->model;
    for (int s = 0; s < slots; s++) {
        float *logits = work->pass->logits + (size_t)work->slot[s] * model->labels;
        norm(model, work->hidden + (size_t)s * model->width, model->norm, work->normed);
        for (int label = 0; label < model->labels; label++) {
            const float *row = model->label_rows + (size_t)label * model->width;
            floats sum = {0};
            for (int k = 0; k < model->width; k += WIDE) sum += load(work->normed + k) * load(row + k);
            logits[label] = total(sum);
        }
        /* A token may hold several slots; this row stands for the first of them. */
        for (int other = work->slot[s] + 1; other < work->pass->slots; other++)
            if (work->pass->slot[other] == work->token[s])
                memcpy(work->pass->logits + (size_t)other * model->labels, logits, sizeof(float) * model->labels);
    }
}

static int segments_of(const Model *model, const Pass *pass, int step, const Short *keys, const Short *values,
                       Segment *segments) {
    size_t size = (size_t)model->shared_heads * BLOCK * model->head_width;
    for (int k = 0; k < pass->segments; k++) {
        const Kept *kept = pass->kept + k;
        int blocks = blocks_of(kept->tokens);
        size_t place = step * size * blocks;
        segments[k] = (Segment){kept->keys + place, kept->values + place, kept->tokens, blocks, 0};
    }
    segments[pass->segments] = (Segment){keys, values, pass->tokens, blocks_of(pass->places), 1};
    return pass->segments + 1;
}

/* Parts of a step: the projections of all rows, then batches of rows; a thread may have nothing left for the last. */
static int parts_of_step(const Model *model, const Pass *pass, int threads) {
    return 1 + (most_rows(model, pass->tokens, threads) + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
}

static void start_pass(Work *work, int threads, int number) {
    work->rows = deal(work->model, work->pass->tokens, threads, number, work->token);
    work->coarse = part_rows(work, work->rows);
    prepare_sight(&work->lookout, work->pass);
    begin(work, work->rows);
}

/* The first part of a step: keys and values of all rows, and what will look at them. */
static void start_step(Work *work, int s, Short *keys, Short *values) {
    const Model *model = work->model;
    const Step *step = model->step + s;
    int queries = model->heads * model->head_width;
    int whole = queries + 2 * model->shared_heads * model->head_width;
    if (s < model->steps - 1) {
        project(work, step, work->rows, 0, whole);
        show_rows(work, step, work->rows, work->projected + queries, whole, keys, values);
        work->stride = whole;
    } else {
        /* Nothing reads the last step's output but the slots. */
        project(work, step, work->rows, queries, whole);
        show_rows(work, step, work->rows, work->projected, whole - queries, keys, values);
        work->rows = gather_slots(work, work->rows);
        work->coarse = TERMS == 1 ? work->rows : 0;
        project(work, step, work->rows, 0, queries);
        work->stride = queries;
    }
}

/* Parts ``from`` to ``to`` (not included) of a pass. All that the next ones need stands in ``work``. */
static void run_parts(Engine *engine, int number, Work *work, int from, int to) {
    const Model *model = work->model;
    const Pass *pass = work->pass;
    int threads = engine->meeting.threads, parts = parts_of_step(model, pass, threads);
    size_t size = (size_t)model->shared_heads * blocks_of(pass->places) * BLOCK * model->head_width;
    Segment segments[pass->segments + 1];
    if (from == 0) start_pass(work, threads, number);
    for (int k = from; k < to; k++) {
        int s = k / parts, part = k % parts;
        /* A thread may be a step ahead of another that still reads; never two. */
        size_t place = (pass->keep ? s : s % 2) * size;
        Short *keys = pass->keys + place, *values = pass->values + place;
        if (part == 0) {
            start_step(work, s, keys, values);
            continue;
        }
        if (part == 1) meet(&engine->meeting);
        int count = segments_of(model, pass, s, keys, values, segments);
        int batch = batch_of(work->rows), first = (part - 1) * batch;
        if (first < work->rows) finish(work, model->step + s, first, up_to(work->rows - first, batch), segments, count);
        if (part == parts - 1 && s < model->steps - 1 && pass->taken[s] >= 0)
            hand_out(work, work->rows, pass->taken[s]);
    }
    if (to == parts * model->steps) read_labels(work, work->rows);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Numbers too small for full speed are zero while a thread works; what was set before. */
static uint64_t flush_small(void) {
    uint64_t before = 0;
#if defined(__x86_64__)
    before = _mm_getcsr();
    _mm_setcsr((unsigned)before | 0x8040);
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" ::"r"(before | (1 << 24)));
#endif
    return before;
}

static void flush_as(uint64_t before) {
#if defined(__x86_64__)
    _mm_setcsr((unsigned)before);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" ::"r"(before));
#else
    (void)before;
#endif
}

static void set_up_thread(void) {
#if defined(VARIANT_AMX)
    struct {
        uint8_t palette, start, unused[14];
        uint16_t columns[16];
        uint8_t rows[16];
    } tiles __attribute__((aligned(64))) = {.palette = 1};
    for (int tile = 0; tile < 8; tile++) tiles.columns[tile] = DEPTH, tiles.rows[tile] = GROUP;
    __asm__ volatile("" ::"m"(tiles)); /* some headers say that only its first bytes are read */
    _tile_loadconfig(&tiles);
#endif
}

/* What one thread needs for a pass; a part that continues finds its work at the start. */
static size_t room_of(const Engine *engine, const Pass *pass) {
    Stock needed = {NULL, 0};
    take(&needed, 1, sizeof(Work));
    lay_out_work(engine->model, pass, engine->meeting.threads, &needed);
    return needed.taken;
}

/* Where a thread works: on its share of what the pass was given, or on its own memory, kept from pass to pass. */
static char *place_of(Engine *engine, Worker *worker) {
    size_t needed = room_of(engine, engine->pass);
    if (engine->memory) return engine->memory + worker->number * needed;
    if (needed > worker->reserved) {
        free(worker->memory);
        worker->memory = aligned_alloc(64, needed);
        worker->reserved = worker->memory ? needed : 0;
    }
    return worker->memory;
}

static void work_on(Engine *engine, Worker *worker) {
    Work *work = (Work *)place_of(engine, worker);
    if (!work) atomic_store(&engine->failed, 1);
    meet(&engine->meeting);
    if (atomic_load(&engine->failed)) return;
    if (engine->from == 0) {
        Stock stock = {(char *)work, 0};
        take(&stock, 1, sizeof(Work));
        *work = lay_out_work(engine->model, engine->pass, engine->meeting.threads, &stock);
    }
    set_up_thread();
    uint64_t before = flush_small();
    run_parts(engine, worker->number, work, engine->from, engine->to);
    flush_as(before);
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
        work_on(engine, worker);
        atomic_fetch_add_explicit(&engine->finished, 1, memory_order_acq_rel);
    }
}

void close_engine(Engine *engine) {
    pthread_mutex_lock(&engine->mutex);
    engine->over = 1;
    pthread_cond_broadcast(&engine->begin);
    pthread_mutex_unlock(&engine->mutex);
    for (int t = 0; t < engine->meeting.threads; t++) {
        if (t) pthread_join(engine->workers[t].thread, NULL);
        free(engine->workers[t].memory);
    }
    free(engine->workers);
    free(engine);
}

/* Whether the system lets us use what the variant needs. */
static int has_leave(void) {
#if defined(VARIANT_AMX)
    return !syscall(SYS_arch_prctl, 0x1023, 18); /* tiles */
#else
    return 1;
#endif
}

/* NULL where the system does not give what is needed. */
Engine *open_engine(const Model *model, int threads) {
    if (!has_leave()) return NULL;
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

/* How many parts a pass has. */
int parts_of(const Engine *engine, const Pass *pass) {
    return engine->model->steps * parts_of_step(engine->model, pass, engine->meeting.threads);
}

/* Bytes that a pass needs to be run in parts, with others in between. */
size_t memory_of(const Engine *engine, const Pass *pass) { return engine->meeting.threads * room_of(engine, pass); }

/* Parts ``from`` to ``to`` (not included) of a pass; from part to part it stands in ``memory``, which is aligned to 64
 * bytes. One that is run at once may go without. 0, or 1 when memory does not suffice. One call at a time. */
int run(Engine *engine, const Pass *pass, char *memory, int from, int to) {
    engine->pass = pass;
    engine->memory = memory;
    engine->from = from;
    engine->to = to;
    atomic_store(&engine->failed, 0);
    atomic_store(&engine->finished, 0);
    pthread_mutex_lock(&engine->mutex);
    engine->round++;
    pthread_cond_broadcast(&engine->begin);
    pthread_mutex_unlock(&engine->mutex);
    work_on(engine, engine->workers);
    for (int seen; (seen = atomic_load(&engine->finished)) < engine->meeting.threads - 1;)
        wait_until_changed(&engine->finished, seen);
    return atomic_load(&engine->failed);
}

/* One product by itself: ``values`` are count x inputs, ``out`` is count x outputs. 0, or 1 where the system
 * does not give what is needed. */
int multiply_alone(const Matrix *matrix, const float *values, int count, int inputs, int outputs, int terms, float *out) {
    int batch = batch_of(count);
    size_t room = room_for(batch), line = most_width(inputs);
    void *laid_out = aligned_alloc(64, room * line * (TERMS == 1 ? sizeof(float) : 1));
    float *scale = aligned_alloc(64, (room * most_steps(inputs) * sizeof(float) + 63) / 64 * 64);
    int8_t *bytes = aligned_alloc(64, 2 * line);
    float *row = aligned_alloc(64, inputs * sizeof(float));
    int failed = !laid_out || !scale || !bytes || !row || !has_leave();
    if (!failed) set_up_thread();
    for (int first = 0; first < count && !failed; first += batch) {
        int some = up_to(count - first, batch);
        Rows rows = {matrix, inputs, terms == 1 || TERMS == 1 ? some : 0, laid_out, scale};
        for (int r = 0; r < some; r++) {
            memcpy(row, values + (size_t)(first + r) * inputs, inputs * sizeof(float));
            lay_out_row(&rows, r, row, bytes);
        }
        product(&rows, some, 0, outputs, STORE, out + (size_t)first * outputs, outputs);
    }
#if defined(VARIANT_AMX)
    _tile_release();
#endif
    free(laid_out);
    free(scale);
    free(bytes);
    free(row);
    return failed;
}
