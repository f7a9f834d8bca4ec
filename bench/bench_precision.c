/* agent.precision: the same work in float, bf16x3 and bf16, in one run. The targets of a line are
 * ratios to the line in float: what products of tiles gain where the processor has them (kernel set
 * amx), and what their emulation may cost elsewhere. */
#include "bench/bench.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/flush.h"
#include "nn/net.h"

#include <stdio.h>
#include <string.h>

enum {
  BATCH = 256,
  INPUTS = 23,
  FIRST = 52,
  SIDE = 84,
  FRAMES = 4,
  PICTURE = SIDE * SIDE * FRAMES
};
enum { FLOAT, BF16X3, BF16, PRECISIONS };
static const char *const precision_names[PRECISIONS] = {"float", "bf16x3", "bf16"};

/* Double DQN with the Nature network and Adam SGLD: one update per transition. */
typedef struct subject {
  lgv_agent *agent;
  unsigned char *obs; /* (2 x PICTURE) */
  int64_t stage;
  /* MLP 23-256-256-1 */
  net mlp;
  lgv_arena arena;
  net_tape tape;
  float *params, *grad, *x, *d_outputs;
} subject;

static const lgv_env_spec pictures = {.size = sizeof(lgv_env_spec),
                                      .obs_kind = LGV_OBS_BYTE,
                                      .obs_shape = {SIDE, SIDE, FRAMES},
                                      .frames = FRAMES,
                                      .actions = {.count = 18},
                                      .reward_min = -1,
                                      .reward_max = 1};

/* ---- Timed work ---- */

static lgv_status update(void *context, lgv_error *err) {
  subject *s = context;
  lgv_transition t = {.obs = {.data = s->obs, .state = -1, .stage = s->stage},
                      .next = {.data = s->obs + PICTURE, .state = -1, .stage = s->stage + 1},
                      .action = &(lgv_action){.choice = (int32_t)(s->stage % 2)},
                      .reward = 0.1};
  s->stage++;
  return lgv_agent_observe(s->agent, &t, err);
}

static lgv_status act(void *context, lgv_error *err) {
  subject *s = context;
  lgv_obs obs = {.data = s->obs, .state = -1};
  lgv_action action;
  return lgv_agent_act(s->agent, &obs, LGV_EVAL, &action, err);
}

static lgv_status pass(void *context, lgv_error *err) {
  (void)err;
  subject *s = context;
  net_input input = {.dense = s->x};
  lgv__net_forward(&s->mlp, s->params, input, BATCH, &s->tape);
  lgv__net_backward(&s->mlp, s->params, input, BATCH, &s->tape, s->d_outputs, 1, s->grad);
  return LGV_OK;
}

/* The times a line may take in float's: emulated, and in tiles; 0: no target. */
static const struct {
  const char *name, *unit;
  bench_work work;
  double emulated[PRECISIONS], in_tiles[PRECISIONS];
} lines[] = {
    {"Nature, double DQN, Adam SGLD", "update", update, {0, 0, 1 / 0.75}, {0, 0.5, 0.25}},
    {"Nature: acting", "action", act, {0}, {0, 0, 0.5}},
    {"MLP 23-256-256-1, batch 256", "pass", pass, {0, 0, 1 / 0.75}, {0, 0, 0.25}},
};
enum { LINES = sizeof lines / sizeof *lines };

static void name_line(int line, int precision, char name[BENCH_NAME_SIZE]) {
  snprintf(name, BENCH_NAME_SIZE, "%s: %s", lines[line].name, precision_names[precision]);
}

/* ---- The group ---- */

static void layout(void *context, lgv_layout *out) {
  subject *s = context;
  size_t params = (size_t)s->mlp.params;
  s->params = lgv_layout_array(out, "params", LGV_F32, params, LGV_SCRATCH);
  s->grad = lgv_layout_array(out, "grad", LGV_F32, params, LGV_SCRATCH);
  s->x = lgv_layout_array(out, "x", LGV_F32, (size_t)BATCH * INPUTS, LGV_SCRATCH);
  s->d_outputs = lgv_layout_array(out, "d_outputs", LGV_F32, BATCH, LGV_SCRATCH);
  lgv__net_tape_layout(&s->tape, &s->mlp, "tape", BATCH, true, out);
}

static lgv_status open_mlp(subject *s, int precision, lgv_error *err) {
  net_shape shape = {.family = NET_MLP,
                     .obs_shape = {INPUTS, 1, 1},
                     .hidden = {2, {256, 256}},
                     .outputs = 1,
                     .input_scale = 1,
                     .precision = precision};
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "bench.precision");
  LGV_TRY(lgv__net_build(&s->mlp, &shape, err));
  LGV_TRY(lgv__arena_build(&s->arena, layout, s, "a benchmark", err));
  lgv__net_init(&s->mlp, s->params, &rng);
  for (int i = 0; i < BATCH * INPUTS; i++) s->x[i] = (float)lgv_rng_normal(&rng);
  for (int i = 0; i < BATCH; i++) s->d_outputs[i] = (float)lgv_rng_normal(&rng);
  return LGV_OK;
}

/* Random pictures have no values to learn: larger steps would diverge. */
static lgv_status open_agent(subject *s, int precision, lgv_error *err) {
  char list[400];
  snprintf(list, sizeof list,
           "agent.name=adam-lmcdqn agent.preset=authors agent.warmup=50 agent.replay=200 "
           "agent.update_every=1 agent.updates=1 optim.lr=1e-9 agent.precision=%s",
           precision_names[precision]);
  lgv_settings *settings;
  lgv_status status = bench_settings(list, &settings, err);
  if (status == LGV_OK) status = lgv_agent_create(settings, &pictures, 0, 0, 1, &s->agent, err);
  lgv_settings_free(settings);
  s->obs = lgv__calloc(2, PICTURE);
  if (status == LGV_OK && !s->obs) status = lgv__out_of_memory(err, "a benchmark");
  lgv_rng rng;
  lgv_rng_seed(&rng, 2, "bench.precision");
  for (int i = 0; s->obs && i < 2 * PICTURE; i++) s->obs[i] = (uint8_t)lgv_rng_below(&rng, 256);
  for (int i = 0; status == LGV_OK && i < FIRST; i++) status = update(s, err);
  return status;
}

static lgv_status open_group(void **state, lgv_error *err) {
  subject *s = *state = lgv__calloc(PRECISIONS, sizeof *s);
  if (!s) return lgv__out_of_memory(err, "a benchmark");
  for (int p = 0; p < PRECISIONS; p++) {
    LGV_TRY(open_mlp(&s[p], p, err));
    LGV_TRY(open_agent(&s[p], p, err));
  }
  return LGV_OK;
}

static bench_line *find(bench_report *report, int line, int precision) {
  char name[BENCH_NAME_SIZE];
  name_line(line, precision, name);
  for (size_t l = 0; l < report->lines; l++)
    if (report->line[l].group == report->group && strcmp(report->line[l].name, name) == 0)
      return &report->line[l];
  return NULL;
}

/* Targets follow the best time in float so far. */
static void set_targets(bench_report *report) {
  bool tiles = strcmp(lgv_kernels(), "amx") == 0;
  for (int i = 0; i < LINES; i++)
    for (int p = BF16X3; p < PRECISIONS; p++) {
      const bench_line *in_float = find(report, i, FLOAT);
      bench_line *line = find(report, i, p);
      double ratio = tiles ? lines[i].in_tiles[p] : lines[i].emulated[p];
      if (!in_float || !line || ratio == 0) continue;
      line->count.goal = BENCH_SECONDS;
      line->count.target = ratio * bench_unit_seconds(in_float);
    }
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  subject *s = state;
  lgv_status status = LGV_OK;
  uint64_t mode = lgv__flush_begin();
  for (int i = 0; i < LINES; i++)
    for (int p = 0; status == LGV_OK && p < PRECISIONS; p++) {
      char name[BENCH_NAME_SIZE];
      name_line(i, p, name);
      bench_count count = {.units = 1, .unit = lines[i].unit};
      status = bench_measure(report, name, count, lines[i].work, &s[p], err);
    }
  lgv__flush_end(mode);
  set_targets(report);
  return status;
}

static void close_group(void *state) {
  subject *s = state;
  for (int p = 0; s && p < PRECISIONS; p++) {
    lgv_agent_free(s[p].agent);
    lgv__arena_free(&s[p].arena);
    lgv__free(s[p].obs);
  }
  lgv__free(s);
}

const bench_group bench_precision = {
    .name = "precision",
    .summary = "updates and acting in float, bf16x3 and bf16",
    .open = open_group,
    .round = measure_round,
    .close = close_group,
};
