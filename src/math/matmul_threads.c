#include "math/matmul_threads.h"

#include "base/error.h"
#include "base/memory.h"
#include "math/flush.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum {
  ENOUGH = 1 << 17,  /* multiplications in a part worth handing over: some microseconds */
  CUT = 32,          /* parts are multiples of this: whole tiles, whole vectors */
  SPINS = 1 << 14,   /* checks before a helper falls asleep: a fraction of a millisecond */
  PATIENCE = 1 << 10 /* checks before the caller yields: a helper may wait for a core */
};

/* The states of a helper's part. The thread that changes it from OFFERED to TAKEN computes it. */
enum { NOTHING, OFFERED, TAKEN, DONE };

typedef struct helper {
  pthread_t thread;
  bool started;
  atomic_int part_is;
  atomic_bool sleeping, quit;
  pthread_mutex_t lock; /* used only for falling asleep */
  pthread_cond_t wake;
  void (*work)(const void *context, int64_t first, int64_t last);
  const void *context;
  int64_t first, last;
  const lgv_kernel_set *kernels; /* of a product */
  lgv_product product;
  uint64_t mode; /* the caller's floating-point mode */
} helper;

struct lgv_matmul_threads {
  int32_t count; /* helpers */
  helper *helpers;
};

static _Thread_local lgv_matmul_threads *current;

static void relax(void) {
#if defined(__SSE2__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* ---- Helpers ---- */

static bool take(helper *h) {
  int offered = OFFERED;
  return atomic_compare_exchange_strong(&h->part_is, &offered, TAKEN);
}

static void sleep_until_offered(helper *h) {
  pthread_mutex_lock(&h->lock);
  atomic_store(&h->sleeping, true);
  while (atomic_load(&h->part_is) != OFFERED && !atomic_load(&h->quit))
    pthread_cond_wait(&h->wake, &h->lock);
  atomic_store(&h->sleeping, false);
  pthread_mutex_unlock(&h->lock);
}

static void *help(void *context) {
  helper *h = context;
  while (!atomic_load(&h->quit)) {
    for (int spin = 0; spin < SPINS && atomic_load(&h->part_is) != OFFERED; spin++) relax();
    if (atomic_load(&h->part_is) != OFFERED) sleep_until_offered(h);
    if (!take(h)) continue; /* the caller was faster, or the helper is to quit */
    lgv__fp_set_mode(h->mode);
    h->work(h->context, h->first, h->last);
    atomic_store(&h->part_is, DONE);
  }
  return NULL;
}

/* Either the helper sees the offer before it sleeps, or this sees that it sleeps. */
static void offer(helper *h) {
  atomic_store(&h->part_is, OFFERED);
  if (!atomic_load(&h->sleeping)) return;
  pthread_mutex_lock(&h->lock);
  pthread_cond_signal(&h->wake);
  pthread_mutex_unlock(&h->lock);
}

/* A part that is still on offer is taken back: the helper may be waiting for a core, which takes
 * longer than any product on a busy machine. */
static void settle(helper *h) {
  if (take(h))
    h->work(h->context, h->first, h->last);
  else
    for (int spin = 0; atomic_load(&h->part_is) != DONE; spin++) {
      relax();
      if (spin >= PATIENCE) sched_yield();
    }
  atomic_store(&h->part_is, NOTHING);
}

/* ---- Teams ---- */

lgv_status lgv__matmul_threads_create(int32_t threads, lgv_matmul_threads **out, lgv_error *err) {
  lgv_matmul_threads *team = *out = lgv__calloc(1, sizeof *team);
  if (team) team->helpers = lgv__calloc((size_t)threads, sizeof *team->helpers);
  if (!team || !team->helpers) {
    lgv__matmul_threads_free(team);
    *out = NULL;
    return lgv__out_of_memory(err, "threads");
  }
  for (int32_t i = 0; i < threads - 1; i++) {
    helper *h = &team->helpers[i];
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->wake, NULL);
    team->count++;
    h->started = pthread_create(&h->thread, NULL, help, h) == 0;
    if (h->started) continue;
    lgv__matmul_threads_free(team);
    *out = NULL;
    return lgv_fail(err, LGV_ERR_MEMORY, "cannot start %d threads: lower run.update_threads",
                    threads);
  }
  return LGV_OK;
}

void lgv__matmul_threads_free(lgv_matmul_threads *team) {
  if (!team) return;
  for (int32_t i = 0; team->helpers && i < team->count; i++) {
    helper *h = &team->helpers[i];
    if (h->started) {
      pthread_mutex_lock(&h->lock);
      atomic_store(&h->quit, true);
      pthread_cond_signal(&h->wake);
      pthread_mutex_unlock(&h->lock);
      pthread_join(h->thread, NULL);
    }
    pthread_cond_destroy(&h->wake);
    pthread_mutex_destroy(&h->lock);
  }
  lgv__free(team->helpers);
  lgv__free(team);
}

lgv_matmul_threads *lgv__matmul_threads_use(lgv_matmul_threads *team) {
  lgv_matmul_threads *before = current;
  current = team;
  return before;
}

/* ---- Products ---- */

/* Rows [first, last) of C. */
static lgv_product rows_of(const lgv_product *g, int64_t first, int64_t last) {
  lgv_product part = *g;
  part.m = last - first;
  if (g->a_rows)
    part.a_rows = g->a_rows + first;
  else
    part.a = g->a + first * g->a_row;
  if (g->c_rows) { /* the gate is reached by the same list */
    part.c_rows = g->c_rows + first;
  } else {
    part.c = g->c + first * g->c_row;
    part.gate = g->gate ? g->gate + first * g->c_row : NULL;
  }
  return part;
}

/* Columns [first, last) of C. */
static lgv_product columns_of(const lgv_product *g, int64_t first, int64_t last) {
  lgv_product part = *g;
  part.n = last - first;
  part.b = g->b + first;
  part.c = g->c + first;
  part.bias = g->bias ? g->bias + first : NULL;
  part.gate = g->gate ? g->gate + first : NULL;
  return part;
}

static lgv_product part_of(const lgv_product *g, int64_t i, int64_t parts) {
  int64_t side = g->m >= g->n ? g->m : g->n, units = (side + CUT - 1) / CUT;
  int64_t first = units * i / parts * CUT, last = units * (i + 1) / parts * CUT;
  if (last > side) last = side;
  return g->m >= g->n ? rows_of(g, first, last) : columns_of(g, first, last);
}

static int64_t count_parts(int64_t most, int64_t operations) {
  if (!current) return 1;
  if (most > current->count + 1) most = current->count + 1;
  int64_t worth = operations / ENOUGH;
  return most < worth ? most : worth;
}

static void multiply(const void *context, int64_t first, int64_t last) {
  (void)first, (void)last;
  const helper *h = context;
  h->kernels->product(&h->product);
}

void lgv__matmul_threads_product(const lgv_product *g) {
  const lgv_kernel_set *kernels = lgv__kernels();
  int64_t side = g->m >= g->n ? g->m : g->n;
  int64_t parts = count_parts(side / CUT, g->m * g->n * g->k);
  if (parts < 2) {
    kernels->product(g);
    return;
  }
  for (int64_t i = 1; i < parts; i++) {
    helper *h = &current->helpers[i - 1];
    h->work = multiply;
    h->context = h;
    h->kernels = kernels;
    h->product = part_of(g, i, parts);
    h->mode = lgv__fp_mode();
    offer(h);
  }
  lgv_product own = part_of(g, 0, parts);
  kernels->product(&own);
  for (int64_t i = 1; i < parts; i++) settle(&current->helpers[i - 1]);
}

/* ---- Other work ---- */

void lgv__matmul_threads_share(int64_t count, int64_t cost,
                               void (*work)(const void *context, int64_t first, int64_t last),
                               const void *context) {
  int64_t parts = count_parts(count, count * cost);
  if (parts < 2) {
    work(context, 0, count);
    return;
  }
  for (int64_t i = 1; i < parts; i++) {
    helper *h = &current->helpers[i - 1];
    h->work = work;
    h->context = context;
    h->first = count * i / parts;
    h->last = count * (i + 1) / parts;
    h->mode = lgv__fp_mode();
    offer(h);
  }
  work(context, 0, count / parts);
  for (int64_t i = 1; i < parts; i++) settle(&current->helpers[i - 1]);
}
