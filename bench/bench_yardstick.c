/* The yardstick: the fastest large matrix product in single precision that is measured on this
 * core, by our own kernels or by OpenBLAS.
 *
 * OpenBLAS chooses its kernels for the processor when it is loaded, and for processors newer than
 * itself the choice may be bad; OPENBLAS_CORETYPE overrides it. So besides the linked BLAS, a fresh
 * copy is loaded for every type that the processor can run, each in its own process: the choice is
 * final in a process, and a wrong one cannot harm the others. Without OpenBLAS, or without a way to
 * load a second copy, these lines are missing. */
#include "bench/bench.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/flush.h"
#include "math/kernels.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SMALLEST = 256, LARGEST = 2048, SIZES = 4, CORE_SIZE = 32 };

enum { ROW_MAJOR = 101, NO_TRANS = 111 }; /* of cblas.h */
typedef void sgemm_fn(int, int, int, int, int, int, float, const float *, int, const float *, int,
                      float, float *, int);

typedef struct yardstick {
  lgv_arena arena;
  float *a, *b, *c; /* (LARGEST x LARGEST) */
  int64_t size;     /* of the current product */
  sgemm_fn *sgemm;  /* NULL: our own */
} yardstick;

/* The times of one library, per size. */
typedef struct times {
  char core[CORE_SIZE]; /* the core that OpenBLAS chose; "" for other libraries */
  double seconds[SIZES];
} times;

static void layout(void *context, lgv_layout *out) {
  yardstick *y = context;
  const size_t count = (size_t)LARGEST * LARGEST;
  y->a = lgv_layout_array(out, "a", LGV_F32, count, LGV_SCRATCH);
  y->b = lgv_layout_array(out, "b", LGV_F32, count, LGV_SCRATCH);
  y->c = lgv_layout_array(out, "c", LGV_F32, count, LGV_SCRATCH);
}

static lgv_status open_yardstick(void **state, lgv_error *err) {
  yardstick *y = lgv__calloc(1, sizeof *y);
  if (!y) return lgv__out_of_memory(err, "a benchmark");
  *state = y;
  LGV_TRY(lgv__arena_build(&y->arena, layout, y, "a benchmark", err));
  for (int64_t i = 0; i < (int64_t)LARGEST * LARGEST; i++) {
    y->a[i] = 0.01f * (float)(i % 97);
    y->b[i] = 0.01f * (float)(i % 89);
  }
  return LGV_OK;
}

static void close_yardstick(void *state) {
  yardstick *y = state;
  if (!y) return;
  lgv__arena_free(&y->arena);
  lgv__free(y);
}

static lgv_status multiply(void *context, lgv_error *err) {
  (void)err;
  yardstick *y = context;
  int64_t n = y->size;
  if (y->sgemm)
    y->sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, (int)n, (int)n, (int)n, 1, y->a, (int)n, y->b, (int)n,
             0, y->c, (int)n);
  else
    lgv__kernels()->product(&(lgv_product){.m = n,
                                           .n = n,
                                           .k = n,
                                           .a = y->a,
                                           .a_row = n,
                                           .a_col = 1,
                                           .b = y->b,
                                           .b_row = n,
                                           .c = y->c,
                                           .c_row = n});
  return LGV_OK;
}

static lgv_status take_times(yardstick *y, times *out, lgv_error *err) {
  bool plain = !y->sgemm && strcmp(lgv_kernels(), "ref") == 0; /* large sizes would take minutes */
  for (int s = 0; s < (bench_is_quick() ? SIZES - 2 : SIZES); s++) {
    y->size = SMALLEST << (plain ? 0 : s);
    LGV_TRY(bench_best(multiply, y, &out->seconds[s], err));
    if (plain) break;
  }
  return LGV_OK;
}

/* One line per library, for the size at which it is fastest. */
static lgv_status record_best(bench_report *report, const char *library, const times *taken,
                              lgv_error *err) {
  bench_count best = {.unit = "GFLOP"};
  double seconds = 1;
  for (int s = 0; s < SIZES; s++) {
    double n = SMALLEST << s, operations = 2 * n * n * n;
    if (taken->seconds[s] <= 0 || operations * seconds < best.operations * taken->seconds[s])
      continue;
    best.operations = operations;
    best.units = 1e-9 * operations;
    seconds = taken->seconds[s];
  }
  char name[BENCH_NAME_SIZE];
  snprintf(name, sizeof name, "sgemm, %s", library);
  return bench_record(report, name, best, seconds, err);
}

/* The name of the core that an OpenBLAS chose; sets it to one thread. */
static void ask_core(void *library, char core[CORE_SIZE]) {
  char *(*get_core)(void);
  void (*set_num_threads)(int);
  *(void **)&get_core = dlsym(library, "openblas_get_corename");
  *(void **)&set_num_threads = dlsym(library, "openblas_set_num_threads");
  if (set_num_threads) set_num_threads(1);
  snprintf(core, CORE_SIZE, "%s", get_core ? get_core() : "");
}

/* ---- Other kinds of core ---- */

/* The OpenBLAS core types that this processor can run; NULL-terminated. */
static const char *const *fitting_types(void) {
  static const char *types[8];
  size_t n = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
    types[n++] = "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    types[n++] = "Haswell";
    types[n++] = "Zen";
  }
#endif
  types[n] = NULL;
  return types;
}

#ifdef LM_ID_NEWLM

/* Runs in the child and never returns. */
static void measure_type(yardstick *y, const char *type, int out) {
  times taken = {0};
  lgv_error err;
  /* OpenBLAS complains on stderr about types that it lacks. */
  int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  setenv("OPENBLAS_CORETYPE", type, 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void *library = dlmopen(LM_ID_NEWLM, "libopenblas.so.0", RTLD_NOW);
  if (!library) _exit(1);
  *(void **)&y->sgemm = dlsym(library, "cblas_sgemm");
  if (!y->sgemm) _exit(1);
  ask_core(library, taken.core);
  if (take_times(y, &taken, &err) != LGV_OK) _exit(1);
  _exit(write(out, &taken, sizeof taken) == (ssize_t)sizeof taken ? 0 : 1);
}

/* Whether a fresh OpenBLAS could be loaded and uses that type. */
static bool try_type(yardstick *y, const char *type, times *taken) {
  int ends[2], outcome;
  if (pipe(ends) != 0) return false;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) measure_type(y, type, ends[1]);
  close(ends[1]);
  bool whole = child > 0 && read(ends[0], taken, sizeof *taken) == (ssize_t)sizeof *taken;
  close(ends[0]);
  if (child > 0) waitpid(child, &outcome, 0);
  return whole && strcmp(taken->core, type) == 0;
}

#else

static bool try_type(yardstick *y, const char *type, times *taken) {
  (void)y, (void)type, (void)taken;
  return false;
}

#endif

static lgv_status measure_all(yardstick *y, bench_report *report, lgv_error *err) {
  char library[BENCH_NAME_SIZE];
  times taken = {0};
  y->sgemm = NULL;
  LGV_TRY(take_times(y, &taken, err));
  snprintf(library, sizeof library, "our kernels for %s", lgv_kernels());
  LGV_TRY(record_best(report, library, &taken, err));

  times linked = {0};
  *(void **)&y->sgemm = dlsym(RTLD_DEFAULT, "cblas_sgemm");
  if (y->sgemm) { /* a build with BLAS */
    ask_core(RTLD_DEFAULT, linked.core);
    LGV_TRY(take_times(y, &linked, err));
    snprintf(library, sizeof library, "BLAS as linked%s%s", *linked.core ? ": OpenBLAS for " : "",
             linked.core);
    LGV_TRY(record_best(report, library, &linked, err));
  }

  for (const char *const *type = fitting_types(); *type; type++) {
    times other = {0};
    if (strcmp(*type, linked.core) == 0 || !try_type(y, *type, &other)) continue;
    snprintf(library, sizeof library, "OpenBLAS for %s", other.core);
    LGV_TRY(record_best(report, library, &other, err));
  }
  return LGV_OK;
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  uint64_t mode = lgv__flush_begin();
  lgv_status status = measure_all(state, report, err);
  lgv__flush_end(mode);
  return status;
}

const bench_group bench_yardstick = {
    .name = "yardstick",
    .summary = "large matrix products: the limit of the core",
    .open = open_yardstick,
    .round = measure_round,
    .close = close_yardstick,
};
