/* The block product (lgv_block_product) and the conversions that feed it. A share is one of float
 * products, so it shows what bf16 gains or costs in this kernel set. */
#include "bench/bench.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/kernels.h"

enum { SIDE = 256, BLOCKS = SIDE / 32, NUMBERS = SIDE * SIDE, ROW = BLOCKS * 2 * LGV_TILE };

typedef struct subject {
  lgv_arena arena;
  float *x, *c;       /* (SIDE x SIDE); (BLOCKS x BLOCKS) blocks */
  uint8_t *a, *b;     /* bf16: (BLOCKS x BLOCKS) pairs of tiles, then their low parts */
  int32_t at[BLOCKS]; /* of the tiles of a row of blocks */
  bool split;         /* bf16x3 */
} subject;

static lgv_bf16 *a_tiles(const subject *s) { return (lgv_bf16 *)(void *)s->a; }
static lgv_bf16 *b_tiles(const subject *s) { return (lgv_bf16 *)(void *)s->b; }

static void layout(void *context, lgv_layout *out) {
  subject *s = context;
  s->x = lgv_layout_array(out, "x", LGV_F32, NUMBERS, LGV_SCRATCH);
  s->c = lgv_layout_array(out, "c", LGV_F32, NUMBERS, LGV_SCRATCH);
  s->a = lgv_layout_array(out, "a", LGV_U8, 2 * sizeof(lgv_bf16) * NUMBERS, LGV_SCRATCH);
  s->b = lgv_layout_array(out, "b", LGV_U8, 2 * sizeof(lgv_bf16) * NUMBERS, LGV_SCRATCH);
}

/* ---- Timed work ---- */

static lgv_status convert_a(void *context, lgv_error *err) {
  (void)err;
  subject *s = context;
  const lgv_kernel_set *kernels = lgv__kernels();
  lgv_bf16 *to = a_tiles(s);
  for (int i = 0; i < BLOCKS; i++)
    for (int k = 0; k < BLOCKS; k++)
      for (int t = 0; t < 2; t++, to += LGV_TILE)
        kernels->to_a_tile(16, 32, s->x + (32 * i + 16 * t) * SIDE + 32 * k, SIDE, to,
                           s->split ? to + NUMBERS : NULL);
  return LGV_OK;
}

static lgv_status convert_b(void *context, lgv_error *err) {
  (void)err;
  subject *s = context;
  const lgv_kernel_set *kernels = lgv__kernels();
  lgv_bf16 *to = b_tiles(s);
  for (int j = 0; j < BLOCKS; j++)
    for (int k = 0; k < BLOCKS; k++)
      for (int t = 0; t < 2; t++, to += LGV_TILE)
        kernels->to_b_tile(32, 16, s->x + 32 * k * SIDE + 32 * j + 16 * t, SIDE, to,
                           s->split ? to + NUMBERS : NULL);
  return LGV_OK;
}

static lgv_status transpose(void *context, lgv_error *err) {
  (void)err;
  subject *s = context;
  const lgv_kernel_set *kernels = lgv__kernels();
  for (int64_t i = 0; i < NUMBERS; i += LGV_TILE)
    kernels->transpose_tile(a_tiles(s) + i, b_tiles(s) + i);
  return LGV_OK;
}

static lgv_status multiply(void *context, lgv_error *err) {
  (void)err;
  subject *s = context;
  const lgv_kernel_set *kernels = lgv__kernels();
  lgv__block_begin();
  for (int i = 0; i < BLOCKS; i++)
    for (int j = 0; j < BLOCKS; j++)
      kernels->block(&(lgv_block_product){.steps = BLOCKS,
                                          .a = a_tiles(s) + i * ROW,
                                          .b = b_tiles(s) + j * ROW,
                                          .a_at = s->at,
                                          .b_at = s->at,
                                          .a_next = LGV_TILE,
                                          .b_next = LGV_TILE,
                                          .a_lo = s->split ? NUMBERS : 0,
                                          .b_lo = s->split ? NUMBERS : 0,
                                          .c = s->c + (i * BLOCKS + j) * 1024});
  lgv__block_end();
  return LGV_OK;
}

/* ---- The group ---- */

static const struct {
  const char *name;
  bench_work work;
  bool split;
  double bytes; /* read per number; 0: multiplications and additions count */
  double target;
} lines[] = {
    {"tiles of A, 256 x 256", convert_a, false, 4, 0},
    {"tiles of A, 256 x 256, two parts", convert_a, true, 4, 0},
    {"tiles of B, 256 x 256", convert_b, false, 4, 0},
    {"tiles of B, 256 x 256, two parts", convert_b, true, 4, 0},
    {"block products, 256 x 256 x 256, bf16", multiply, false, 0, 0.75},
    {"block products, 256 x 256 x 256, bf16x3", multiply, true, 0, 0.25},
    {"tiles transposed, 256 x 256", transpose, false, 2, 0},
};
enum { LINES = sizeof lines / sizeof *lines };

static lgv_status open_group(void **state, lgv_error *err) {
  subject *s = *state = lgv__calloc(1, sizeof *s);
  if (!s) return lgv__out_of_memory(err, "a benchmark");
  LGV_TRY(lgv__arena_build(&s->arena, layout, s, "a benchmark", err));
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "bench.block");
  for (int64_t i = 0; i < NUMBERS; i++) s->x[i] = (float)lgv_rng_normal(&rng);
  for (int k = 0; k < BLOCKS; k++) s->at[k] = 2 * LGV_TILE * k;
  return LGV_OK;
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  subject *s = state;
  s->split = true; /* numbers for the products, whichever lines are wanted */
  LGV_TRY(convert_a(s, err));
  LGV_TRY(convert_b(s, err));
  for (int i = 0; i < LINES; i++) {
    bool moves = lines[i].bytes > 0;
    bench_count count = {.operations = (moves ? lines[i].bytes : 2.0 * SIDE) * NUMBERS,
                         .limit = moves ? BENCH_L2 : BENCH_PRODUCTS,
                         .units = moves ? NUMBERS : 1,
                         .unit = moves ? "number" : "product",
                         .goal = lines[i].target > 0 ? BENCH_SHARE : BENCH_NO_GOAL,
                         .target = lines[i].target};
    s->split = lines[i].split;
    LGV_TRY(bench_measure(report, lines[i].name, count, lines[i].work, s, err));
  }
  return LGV_OK;
}

static void close_group(void *state) {
  subject *s = state;
  if (!s) return;
  lgv__arena_free(&s->arena);
  lgv__free(s);
}

const bench_group bench_block = {
    .name = "block",
    .summary = "products of tiles of bf16",
    .needs_limits = true,
    .open = open_group,
    .round = measure_round,
    .close = close_group,
};
