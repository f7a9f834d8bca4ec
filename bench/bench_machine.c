/* The limits of the machine except for matrix products (bench_yardstick.c): independent
 * multiply-adds, reading from the second-level cache, the third and memory, and normal numbers.
 *
 * Words are combined by "or", so that only the loads take time. Sizes: 256 kB fits current
 * second-level caches, 4 MB fits a third-level cache but no second-level one, 128 MB fits neither.
 */
#include "bench/bench.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/kernels.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { FMA_ROUNDS = 20000, CHAINS = 12 }; /* enough chains to fill two units 5 cycles deep */

static const struct {
  const char *name;
  bench_limit limit;
  size_t bytes;
} reads[] = {
    {"reading 256 kB (L2)", BENCH_L2, (size_t)256 << 10},
    {"reading 4 MB (L3)", BENCH_L3, (size_t)4 << 20},
    {"reading 128 MB (memory)", BENCH_DRAM, (size_t)128 << 20},
};
enum { READS = sizeof reads / sizeof *reads, LARGEST_READ = 128 << 20 };

typedef struct machine {
  lgv_arena arena;
  uint64_t *words;  /* (LARGEST_READ / 8) */
  size_t bytes;     /* of the current reading */
  lgv_noise *noise; /* (1) */
  float *normals;   /* (LGV_NOISE_BLOCK) */
} machine;

/* Results go here, so that the compiler keeps every loop. */
static volatile uint64_t sink_bits;
static volatile float sink_float;

/* ---- Multiply-adds ---- */

#if defined(__x86_64__)

__attribute__((target("avx512f"))) static void fma_512(void) {
  __m512 x[CHAINS], factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(0.001f);
  for (int i = 0; i < CHAINS; i++) x[i] = _mm512_set1_ps((float)i);
  for (int n = 0; n < FMA_ROUNDS; n++)
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; i++) x[i] = _mm512_fmadd_ps(x[i], factor, term);
  for (int i = 1; i < CHAINS; i++) x[0] = _mm512_add_ps(x[0], x[i]);
  sink_float = _mm512_cvtss_f32(x[0]);
}

__attribute__((target("avx2,fma"))) static void fma_256(void) {
  __m256 x[CHAINS], factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.001f);
  for (int i = 0; i < CHAINS; i++) x[i] = _mm256_set1_ps((float)i);
  for (int n = 0; n < FMA_ROUNDS; n++)
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; i++) x[i] = _mm256_fmadd_ps(x[i], factor, term);
  for (int i = 1; i < CHAINS; i++) x[0] = _mm256_add_ps(x[0], x[i]);
  sink_float = _mm256_cvtss_f32(x[0]);
}

#endif

/* The number of floats per multiply-add on this CPU; 0: unknown. */
static int fma_lanes(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return 16;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 8;
#endif
  return 0;
}

static lgv_status multiply_add(void *context, lgv_error *err) {
  (void)context, (void)err;
#if defined(__x86_64__)
  if (fma_lanes() == 16)
    fma_512();
  else
    fma_256();
#endif
  return LGV_OK;
}

/* ---- Reading ---- */

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t read_wide(const uint64_t *words, size_t bytes) {
  __m256i seen[4] = {_mm256_setzero_si256()};
  const __m256i *at = (const __m256i *)words;
  for (size_t i = 0; i < bytes / sizeof *at; i += 4)
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) seen[j] = _mm256_or_si256(seen[j], _mm256_load_si256(at + i + j));
  seen[0] = _mm256_or_si256(_mm256_or_si256(seen[0], seen[1]), _mm256_or_si256(seen[2], seen[3]));
  return (uint64_t)_mm256_extract_epi64(seen[0], 0);
}
#endif

static uint64_t read_plain(const uint64_t *words, size_t bytes) {
  uint64_t seen = 0;
  for (size_t i = 0; i < bytes / sizeof *words; i++) seen |= words[i];
  return seen;
}

static lgv_status read_all(void *context, lgv_error *err) {
  (void)err;
  const machine *m = context;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    sink_bits = read_wide(m->words, m->bytes);
    return LGV_OK;
  }
#endif
  sink_bits = read_plain(m->words, m->bytes);
  return LGV_OK;
}

/* ---- Normal numbers ---- */

static lgv_status draw(void *context, lgv_error *err) {
  (void)err;
  machine *m = context;
  lgv__kernels()->normals(m->noise, m->normals, LGV_NOISE_BLOCK);
  return LGV_OK;
}

/* ---- The group ---- */

static void layout(void *context, lgv_layout *out) {
  machine *m = context;
  m->words = lgv_layout_array(out, "words", LGV_U64, LARGEST_READ / 8, LGV_SCRATCH);
  m->noise = lgv_layout_array(out, "noise", LGV_U8, sizeof *m->noise, LGV_SCRATCH);
  m->normals = lgv_layout_array(out, "normals", LGV_F32, LGV_NOISE_BLOCK, LGV_SCRATCH);
}

static lgv_status open_machine(void **state, lgv_error *err) {
  machine *m = lgv__calloc(1, sizeof *m);
  if (!m) return lgv__out_of_memory(err, "a benchmark");
  *state = m;
  LGV_TRY(lgv__arena_build(&m->arena, layout, m, "a benchmark", err));
  memset(m->words, 1, LARGEST_READ); /* pages that were never written all share one physical page */
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "bench.machine");
  lgv__noise_seed(m->noise, &rng);
  return LGV_OK;
}

static void close_machine(void *state) {
  machine *m = state;
  if (!m) return;
  lgv__arena_free(&m->arena);
  lgv__free(m);
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  machine *m = state;
  if (fma_lanes()) {
    double operations = 2.0 * fma_lanes() * CHAINS * FMA_ROUNDS;
    bench_count count = {
        .operations = operations, .limit = BENCH_FMA, .units = 1e-9 * operations, .unit = "GFLOP"};
    LGV_TRY(bench_measure(report, "multiply-adds", count, multiply_add, m, err));
  }
  for (int i = 0; i < READS; i++) {
    double bytes = (double)reads[i].bytes;
    bench_count count = {
        .operations = bytes, .limit = reads[i].limit, .units = 1e-9 * bytes, .unit = "GB"};
    m->bytes = reads[i].bytes;
    LGV_TRY(bench_measure(report, reads[i].name, count, read_all, m, err));
  }
  bench_count count = {.operations = LGV_NOISE_BLOCK,
                       .limit = BENCH_NORMALS,
                       .units = LGV_NOISE_BLOCK,
                       .unit = "normal"};
  return bench_measure(report, "normal numbers", count, draw, m, err);
}

const bench_group bench_machine = {
    .name = "machine",
    .summary = "the limits of the machine: multiply-adds, bandwidths, normal numbers",
    .open = open_machine,
    .round = measure_round,
    .close = close_machine,
};
