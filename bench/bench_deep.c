/* Whole updates of deep agents: a minibatch drawn, targets, loss, gradient, optimiser; one
 * transition is stored for each. Shares count the matrix products alone, so that whatever else an
 * update does lowers them. */
#include "bench/bench.h"

#include "base/error.h"
#include "base/memory.h"
#include "math/crew.h"
#include "math/flush.h"
#include "nn/net.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { IMAGE_ACTIONS = 18, VECTOR_ACTIONS = 2, FIRST = 52 };

static const lgv_env_spec image = {.obs_kind = LGV_OBS_BYTE,
                                   .obs_shape = {84, 84, 4},
                                   .frames = 4,
                                   .actions = IMAGE_ACTIONS,
                                   .reward_min = -1,
                                   .reward_max = 1};
static const lgv_env_spec vector = {
    .obs_shape = {4, 1, 1}, .actions = VECTOR_ACTIONS, .reward_max = 1};

#define ALWAYS "agent.warmup=50 agent.replay=200 agent.update_every=1 "
#define NATURE ALWAYS "agent.preset=atari "
#define MLP ALWAYS "agent.preset=small agent.hidden=64,64 agent.double=true "

/* Minibatches that go forward in one update, and rows of the layers above an embedding. */
static const struct {
  const char *name, *settings;
  bool image;
  int32_t atoms, cosines, taus, batch;
  double forward, target;
} lines[] = {
    {"Nature CNN, dqn: update", NATURE "agent.name=dqn", true, 1, 0, 1, 32, 2, 0},
    {"Nature CNN, prioritized-dqn: update", NATURE "agent.name=prioritized-dqn", true, 1, 0, 1, 32,
     3, 0},
    {"Nature CNN, c51: update", NATURE "agent.name=c51", true, 51, 0, 1, 32, 2, 0.6},
    {"Nature CNN, qr-dqn: update", NATURE "agent.name=qr-dqn", true, 201, 0, 1, 32, 2, 0.6},
    {"Nature CNN, iqn: update", NATURE "agent.name=iqn", true, 1, 64, 64, 32, 3, 0.6},
    {"MLP 4-64-64, prioritized-dqn: update", MLP "agent.name=prioritized-dqn agent.batch=64", false,
     1, 0, 1, 64, 3, 0},
    {"MLP 4-64-64, c51: update", MLP "agent.name=c51 agent.batch=64", false, 51, 0, 1, 64, 3, 0},
    {"MLP 4-64-64, qr-dqn: update", MLP "agent.name=qr-dqn agent.batch=64 agent.quantiles=51",
     false, 51, 0, 1, 64, 3, 0},
    {"MLP 4-64-64, iqn: update",
     MLP "agent.name=iqn agent.batch=64 agent.cosines=64 agent.taus=16 agent.taus_act=16", false, 1,
     64, 16, 64, 3, 0},
};

enum { LINES = sizeof lines / sizeof *lines };

typedef struct subject {
  lgv_agent *agent;
  unsigned char *obs, *next; /* one observation each */
  int64_t stage;
  double operations;
} subject;

static size_t obs_bytes(const lgv_env_spec *env) {
  size_t length = (size_t)env->obs_shape[0] * (size_t)env->obs_shape[1] * (size_t)env->obs_shape[2];
  return length * (env->obs_kind == LGV_OBS_BYTE ? 1 : sizeof(float));
}

/* Useful operations of one update: products forward, and twice as many backward but for the first
 * layer. */
static lgv_status count_operations(int i, double *operations, lgv_error *err) {
  const lgv_env_spec *env = lines[i].image ? &image : &vector;
  net_shape shape = {.obs_kind = env->obs_kind,
                     .obs_shape = {env->obs_shape[0], env->obs_shape[1], env->obs_shape[2]},
                     .hidden = lines[i].image ? (lgv_ints){1, {512}} : (lgv_ints){2, {64, 64}},
                     .outputs = env->actions * lines[i].atoms,
                     .cosines = lines[i].cosines,
                     .taus = lines[i].taus};
  net n;
  *operations = 0;
  LGV_TRY(net_build(&n, &shape, err));
  for (int32_t l = 0; l < n.n_layers; l++) {
    const net_layer *layer = &n.layer[l];
    double rows = layer->kernel ? (double)layer->out_height * layer->out_width : 1;
    if (n.embedding && l >= n.embedding) rows *= lines[i].taus;
    double backward = l == 0 || (n.embedding && l == n.embedding) ? 1 : 2;
    *operations +=
        2 * rows * lines[i].batch * (double)layer->n_weights * (lines[i].forward + backward);
  }
  return LGV_OK;
}

/* Stores a transition, which an update follows. */
static lgv_status update(void *context, lgv_error *err) {
  subject *s = context;
  lgv_transition t = {.obs = {s->obs, -1, s->stage},
                      .next = {s->next, -1, s->stage + 1},
                      .action = (int32_t)(s->stage % 2),
                      .reward = 0.1};
  s->stage++;
  return lgv_agent_observe(s->agent, &t, err);
}

static lgv_status open_subject(subject *s, int i, lgv_error *err) {
  const lgv_env_spec *env = lines[i].image ? &image : &vector;
  LGV_TRY(count_operations(i, &s->operations, err));
  size_t bytes = obs_bytes(env);
  s->obs = lgv__calloc(2, bytes);
  if (!s->obs) return lgv_fail(err, LGV_ERR_MEMORY, "not enough memory for a benchmark");
  s->next = s->obs + bytes;
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "bench.deep");
  if (lines[i].image)
    for (size_t k = 0; k < 2 * bytes; k++) s->obs[k] = (unsigned char)lgv_rng_below(&rng, 256);
  lgv_settings *settings = NULL;
  LGV_TRY(lgv_settings_create(&settings, err));
  char copy[512];
  snprintf(copy, sizeof copy, "%s", lines[i].settings);
  char *rest = copy;
  lgv_status status = LGV_OK;
  for (char *item; status == LGV_OK && (item = strsep(&rest, " "));)
    if (*item) status = lgv_settings_assign(settings, item, "bench", err);
  if (status == LGV_OK) status = lgv_agent_create(settings, env, 0, 0, 1, &s->agent, err);
  lgv_settings_free(settings);
  for (int k = 0; status == LGV_OK && k < FIRST; k++) status = update(s, err);
  return status;
}

static lgv_status open_agents(void **state, lgv_error *err) {
  subject *subjects = lgv__calloc(LINES, sizeof *subjects);
  if (!subjects) return lgv_fail(err, LGV_ERR_MEMORY, "not enough memory for a benchmark");
  *state = subjects;
  for (int i = 0; i < LINES; i++) LGV_TRY(open_subject(&subjects[i], i, err));
  return LGV_OK;
}

static void close_agents(void *state) {
  subject *subjects = state;
  for (int i = 0; subjects && i < LINES; i++) {
    lgv_agent_free(subjects[i].agent);
    lgv__free(subjects[i].obs);
  }
  lgv__free(subjects);
}

/* By the clock on the wall, which is what helping threads are for: best of many, of a machine that
 * has a core to spare. */
static lgv_status measure_with_help(bench_report *report, subject *s, lgv_error *err) {
  enum { REPETITIONS = 60 };
  double best = INFINITY;
  lgv_crew *crew;
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) return LGV_OK;
  LGV_TRY(lgv__crew_create(2, &crew, err));
  lgv_crew *before = lgv__crew_use(crew);
  lgv_status status = LGV_OK;
  for (int i = 0; i < REPETITIONS && status == LGV_OK; i++) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    status = update(s, err);
    clock_gettime(CLOCK_MONOTONIC, &end);
    best = fmin(best,
                (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
  }
  lgv__crew_use(before);
  lgv__crew_free(crew);
  LGV_TRY(status);
  bench_count count = {.operations = s->operations, .units = 1, .unit = "update"};
  return bench_record(report, "Nature CNN, dqn: update, 2 threads", count, best, err);
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  subject *subjects = state;
  uint64_t mode = lgv__flush_begin();
  lgv_status status = LGV_OK;
  for (int i = 0; status == LGV_OK && i < LINES; i++) {
    bench_count count = {.operations = subjects[i].operations,
                         .units = 1,
                         .unit = "update",
                         .goal = lines[i].target > 0 ? BENCH_SHARE : BENCH_NO_GOAL,
                         .target = lines[i].target};
    status = bench_measure(report, lines[i].name, count, update, &subjects[i], err);
  }
  if (status == LGV_OK) status = measure_with_help(report, &subjects[0], err);
  lgv__flush_end(mode);
  return status;
}

const bench_group bench_deep = {
    .name = "deep",
    .summary = "whole updates of deep agents, as a share of the yardstick",
    .needs_yardstick = true,
    .open = open_agents,
    .round = measure_round,
    .close = close_agents,
};
