/* Environments: steps with resets and pre-drawn actions, for every environment of the registry that
 * runs in this process; and the Atari pipeline's processing of a step's pictures after the emulator
 * (210 x 160 pixels, four frames of 84 x 84). */
#include "bench/bench.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/spec.h"
#include "base/stack.h"
#include "env/screen.h"
#include "registry.h"

#include <stdio.h>

enum { STEPS = 1000, HEIGHT = 210, WIDTH = 160, SIZE = 84, FRAMES = 4 };

typedef struct subject {
  lgv_env *env;
  lgv_action action[STEPS];
  bool over;
} subject;

typedef struct pictures {
  lgv_arena arena;
  screen_resize resize;
  uint8_t *screen[2], *pooled; /* (HEIGHT x WIDTH) */
  uint8_t *frame[FRAMES];      /* (SIZE x SIZE) */
  uint8_t *stack;              /* (SIZE x SIZE x FRAMES) */
} pictures;

static void layout(void *context, lgv_layout *out) {
  pictures *p = context;
  const size_t pixels = (size_t)HEIGHT * WIDTH, small = (size_t)SIZE * SIZE;
  for (int i = 0; i < 2; i++)
    p->screen[i] = lgv_layout_array(out, "screen", LGV_U8, pixels, LGV_SCRATCH);
  p->pooled = lgv_layout_array(out, "pooled", LGV_U8, pixels, LGV_SCRATCH);
  for (int i = 0; i < FRAMES; i++)
    p->frame[i] = lgv_layout_array(out, "frame", LGV_U8, small, LGV_SCRATCH);
  p->stack = lgv_layout_array(out, "stack", LGV_U8, small * FRAMES, LGV_SCRATCH);
  lgv__screen_layout(&p->resize, HEIGHT, WIDTH, SIZE, out);
}

static lgv_status open_group(void **state, lgv_error *err) {
  pictures *p = *state = lgv__calloc(1, sizeof *p);
  if (!p) return lgv__out_of_memory(err, "a benchmark");
  LGV_TRY(lgv__arena_build(&p->arena, layout, p, "a benchmark", err));
  lgv__screen_open(&p->resize);
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "bench.envs");
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < HEIGHT * WIDTH; i++) p->screen[s][i] = (uint8_t)lgv_rng_below(&rng, 256);
  return LGV_OK;
}

static void close_group(void *state) {
  pictures *p = state;
  if (!p) return;
  lgv__arena_free(&p->arena);
  lgv__free(p);
}

static lgv_status take_steps(void *context, lgv_error *err) {
  subject *s = context;
  for (int i = 0; i < STEPS; i++) {
    lgv_obs obs;
    lgv_outcome outcome;
    if (s->over) LGV_TRY(lgv_env_reset(s->env, &obs, err));
    LGV_TRY(lgv_env_step(s->env, &s->action[i], &outcome, &obs, err));
    s->over = outcome.terminated || outcome.truncated;
  }
  return LGV_OK;
}

static void draw_actions(const lgv_action_space *space, subject *s) {
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "bench.envs.actions");
  for (int i = 0; i < STEPS; i++)
    for (int32_t p = 0; p < lgv__action_parts(space); p++) {
      float low = space->low[p], width = space->high[p] - low;
      if (space->kind == LGV_BOX)
        s->action[i].values[p] = low + width * (float)lgv_rng_uniform(&rng);
      else
        s->action[i].choices[p] = (int32_t)lgv_rng_below(&rng, lgv__part_choices(space, p));
    }
}

static lgv_status measure_env(const lgv_env_type *type, bench_report *report, lgv_error *err) {
  subject s = {.over = true};
  lgv_settings *settings;
  LGV_TRY(lgv_settings_create(&settings, err));
  lgv_status status = lgv_settings_set(settings, "env.name", type->name, "bench", err);
  if (status == LGV_OK) status = lgv_env_create(settings, 1, &s.env, err);
  lgv_settings_free(settings);
  LGV_TRY(status);
  draw_actions(&lgv_env_get_spec(s.env)->actions, &s);
  bench_count count = {.units = STEPS, .unit = "step"};
  status = bench_measure(report, type->name, count, take_steps, &s, err);
  lgv_env_free(s.env);
  return status;
}

static lgv_status prepare_picture(void *context, lgv_error *err) {
  (void)err;
  pictures *p = context;
  lgv__screen_max(p->screen[0], p->screen[1], (size_t)HEIGHT * WIDTH, p->pooled);
  lgv__screen_shrink(&p->resize, p->pooled, p->frame[0]);
  lgv__interleave((const uint8_t *const *)p->frame, FRAMES, SIZE * SIZE, 1, p->stack);
  return LGV_OK;
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  for (size_t i = 0; lgv__envs[i]; i++)
    if (lgv__envs[i]->step && !lgv__envs[i]->connect)
      LGV_TRY(measure_env(lgv__envs[i], report, err));
  bench_count count = {.units = 1, .unit = "step"};
  return bench_measure(report, "Atari's pictures: maximum, 84 x 84, stack", count, prepare_picture,
                       state, err);
}

const bench_group bench_envs = {
    .name = "env",
    .summary = "steps of environments",
    .open = open_group,
    .round = measure_round,
    .close = close_group,
};
