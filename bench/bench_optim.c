/* Optimizers: one step over all parameters, including noise, at sizes that fit the second-level
 * cache, the third, and neither.
 *
 * Every optimizer of the registry has its lines. The gradient and the moments are drawn once: the
 * time of a step does not depend on them, as long as no number is subnormal. */
#include "bench/bench.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"
#include "math/kernels.h"
#include "optim/optim_type.h"
#include "registry.h"

#include <stdio.h>
#include <string.h>

/* N-Chain's network; a large MLP; the Nature CNN for 18 actions. */
enum {
  MIDDLE = 100000,
  LARGEST = 1693362,
  IN_L2 = 10000, /* the most parameters for which all vectors fit */
  PARAMS_SIZE = 256
};
static const size_t sizes[] = {4386, MIDDLE, LARGEST};
static const double sampler_target = 1.3e-9;

typedef struct subject {
  lgv_arena arena;
  lgv_noise *noise;
  float *w, *g, *residual, *slot[LGV_OPTIM_SLOTS]; /* (LARGEST) */
  const lgv_optim_type *type;
  _Alignas(16) unsigned char params[PARAMS_SIZE]; /* of the current optimizer */
  lgv_optim_step step;
} subject;

static void layout(void *context, lgv_layout *out) {
  subject *s = context;
  s->noise = lgv_layout_array(out, "noise", LGV_U8, sizeof *s->noise, LGV_SCRATCH);
  s->w = lgv_layout_array(out, "w", LGV_F32, LARGEST, LGV_SCRATCH);
  s->g = lgv_layout_array(out, "g", LGV_F32, LARGEST, LGV_SCRATCH);
  s->residual = lgv_layout_array(out, "residual", LGV_F32, LARGEST, LGV_SCRATCH);
  for (int i = 0; i < LGV_OPTIM_SLOTS; i++)
    s->slot[i] = lgv_layout_array(out, "slot", LGV_F32, LARGEST, LGV_SCRATCH);
}

static lgv_status open_optimizers(void **state, lgv_error *err) {
  subject *s = lgv__calloc(1, sizeof *s);
  if (!s) return lgv__out_of_memory(err, "a benchmark");
  *state = s;
  LGV_TRY(lgv__arena_build(&s->arena, layout, s, "a benchmark", err));
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "bench.optim");
  lgv__noise_seed(s->noise, &rng);
  for (size_t i = 0; i < LARGEST; i++) s->g[i] = (float)lgv_rng_normal(&rng);
  return LGV_OK;
}

static void close_optimizers(void *state) {
  subject *s = state;
  if (!s) return;
  lgv__arena_free(&s->arena);
  lgv__free(s);
}

static lgv_status take_step(void *context, lgv_error *err) {
  (void)err;
  subject *s = context;
  s->step.t++;
  s->type->step(s->params, &s->step);
  return LGV_OK;
}

static void prepare(subject *s, const lgv_optim_type *type, size_t count, bool compensated) {
  s->type = type;
  lgv__params_defaults(type->params, s->params);
  if (type->resolve) type->resolve(s->params);
  s->step = (lgv_optim_step){.count = count,
                             .lr_scale = 1,
                             .beta_scale = 1,
                             .w = s->w,
                             .g = s->g,
                             .residual = compensated ? s->residual : NULL,
                             .noise = s->noise};
  memset(s->w, 0, count * sizeof *s->w);
  memset(s->residual, 0, count * sizeof *s->residual);
  for (int i = 0; i < type->slots; i++) {
    s->step.slot[i] = s->slot[i];
    memset(s->slot[i], 0, count * sizeof *s->slot[i]);
  }
}

/* Counts normal numbers if the optimizer draws any, because they dominate the step; otherwise the
 * bytes that it reads of w, g and every slot, since everything it writes was read before. */
static lgv_status count_operations(subject *s, size_t size, bench_count *count, lgv_error *err) {
  lgv_noise before = *s->noise;
  LGV_TRY(take_step(s, err));
  if (memcmp(&before, s->noise, sizeof before) != 0) {
    count->limit = BENCH_NORMALS;
    count->operations = (double)size;
  } else {
    count->limit = size <= IN_L2 ? BENCH_L2 : BENCH_L3;
    count->operations = (double)(size * sizeof(float)) * (2 + s->type->slots);
  }
  return LGV_OK;
}

static lgv_status measure_optimizer(subject *s, const lgv_optim_type *type, size_t size,
                                    bool compensated, bench_report *report, lgv_error *err) {
  bool sampler = strcmp(type->name, "asgld") == 0 && !compensated;
  bench_count count = {.units = (double)size,
                       .unit = "parameter",
                       .goal = sampler ? BENCH_SECONDS : BENCH_NO_GOAL,
                       .target = sampler ? sampler_target : 0};
  char name[BENCH_NAME_SIZE];
  snprintf(name, sizeof name, "%s%s, %zu parameters", type->name,
           compensated ? ", compensated" : "", size);
  prepare(s, type, size, compensated);
  LGV_TRY(count_operations(s, size, &count, err));
  return bench_measure(report, name, count, take_step, s, err);
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  const lgv_optim_type *type;
  for (size_t i = 0; (type = lgv__optimizer(i)); i++)
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
      if (bench_is_quick() && sizes[n] == MIDDLE) continue;
      LGV_TRY(measure_optimizer(state, type, sizes[n], false, report, err));
      if (strcmp(type->name, "asgld") == 0)
        LGV_TRY(measure_optimizer(state, type, sizes[n], true, report, err));
    }
  return LGV_OK;
}

const bench_group bench_optim = {
    .name = "optim",
    .summary = "steps of the optimizers, noise included",
    .open = open_optimizers,
    .round = measure_round,
    .close = close_optimizers,
};
