/* Drawing and gathering minibatches of 32 from a replay, uniformly and by priority, where the
 * pictures and the tree of priorities are larger than the caches. The bytes read are compared with
 * reading memory in order, although random draws read one picture at a time. */
#include "bench/bench.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "replay/priority.h"

enum { BATCH = 32, PICTURES = 20000, VECTORS = 1000000, LENGTH = 300 };

static const priority_params proportional = {
    .on = true, .alpha = 0.6, .beta = 0.4, .beta_end = 1, .uniform = 1e-3, .beta_steps = 1000000};

static const struct {
  const char *name;
  lgv_env_spec env;
  int64_t capacity;
  bool prioritized;
} lines[] = {
    {"84 x 84 x 4, 20 000 pictures: uniform",
     {.obs_kind = LGV_OBS_BYTE, .obs_shape = {84, 84, 4}, .frames = 4, .actions = {.count = 4}},
     PICTURES,
     false},
    {"84 x 84 x 4, 20 000 pictures: by priority",
     {.obs_kind = LGV_OBS_BYTE, .obs_shape = {84, 84, 4}, .frames = 4, .actions = {.count = 4}},
     PICTURES,
     true},
    {"4 floats, 1 000 000 steps: uniform",
     {.obs_shape = {4, 1, 1}, .actions = {.count = 2}},
     VECTORS,
     false},
    {"4 floats, 1 000 000 steps: by priority, and new priorities",
     {.obs_shape = {4, 1, 1}, .actions = {.count = 2}},
     VECTORS,
     true},
};

enum { LINES = sizeof lines / sizeof *lines };

typedef struct subject {
  int line;
  lgv_arena arena;
  replay ring;
  replay_batch batch;
  priority order;
  float *weight; /* (BATCH) */
  float *error;  /* (BATCH) */
  lgv_rng rng;
} subject;

static void layout(void *context, lgv_layout *out) {
  subject *s = context;
  lgv__replay_layout(&s->ring, &lines[s->line].env, 1, lines[s->line].capacity, 1, 0.99, out);
  lgv__replay_batch_layout(&s->batch, &s->ring, BATCH, false, out);
  if (lines[s->line].prioritized)
    lgv__priority_layout(&s->order, &proportional, &s->ring, BATCH, out);
  s->weight = lgv_layout_array(out, "weight", LGV_F32, BATCH, LGV_SCRATCH);
  s->error = lgv_layout_array(out, "error", LGV_F32, BATCH, LGV_SCRATCH);
}

static lgv_status open_subject(subject *s, int line, lgv_error *err) {
  static const unsigned char data[84 * 84 * 4];
  static const lgv_action action = {0};
  s->line = line;
  LGV_TRY(lgv__arena_build(&s->arena, layout, s, "a benchmark", err));
  lgv_rng_seed(&s->rng, 1, "bench.replay");
  if (lines[line].prioritized) lgv__priority_open(&s->order);
  for (int64_t i = 0; i < lines[line].capacity; i++) {
    int64_t stage = i % LENGTH;
    lgv_transition t = {.obs = {.data = data, .state = -1, .stage = stage},
                        .action = &action,
                        .next = {.data = data, .state = -1, .stage = stage + 1},
                        .terminated = stage == LENGTH - 1};
    int64_t entry = lgv__replay_add(&s->ring, 0, &t);
    if (lines[line].prioritized) lgv__priority_add(&s->order, &s->ring, entry);
  }
  for (int i = 0; i < BATCH; i++) s->error[i] = (float)lgv_rng_uniform(&s->rng);
  return LGV_OK;
}

static lgv_status open_group(void **state, lgv_error *err) {
  subject *subjects = *state = lgv__calloc(LINES, sizeof *subjects);
  if (!subjects) return lgv__out_of_memory(err, "a benchmark");
  for (int i = 0; i < LINES; i++) LGV_TRY(open_subject(&subjects[i], i, err));
  return LGV_OK;
}

static void close_group(void *state) {
  subject *subjects = state;
  for (int i = 0; subjects && i < LINES; i++) lgv__arena_free(&subjects[i].arena);
  lgv__free(subjects);
}

static lgv_status sample(void *context, lgv_error *err) {
  (void)err;
  subject *s = context;
  if (lines[s->line].prioritized) {
    lgv__priority_sample(&s->order, &s->ring, &s->rng, 1, &s->batch, s->weight);
    lgv__priority_update(&s->order, &s->batch, s->error);
  } else {
    lgv__replay_sample(&s->ring, &s->rng, &s->batch);
  }
  return LGV_OK;
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  subject *subjects = state;
  for (int i = 0; i < LINES; i++) {
    double bytes = 2.0 * BATCH * /* an observation and the next one */
                   (double)lgv__replay_encoded_bytes(&lines[i].env);
    bench_count count = {.operations = bytes, .limit = BENCH_DRAM, .units = 1, .unit = "minibatch"};
    LGV_TRY(bench_measure(report, lines[i].name, count, sample, &subjects[i], err));
  }
  return LGV_OK;
}

const bench_group bench_replay = {
    .name = "replay",
    .summary = "drawing minibatches",
    .needs_limits = true,
    .open = open_group,
    .round = measure_round,
    .close = close_group,
};
