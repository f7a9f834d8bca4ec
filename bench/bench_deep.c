/* Whole updates of deep agents: minibatch, targets, loss, gradient and optimizer, with one stored
 * transition each. Shares count only the matrix products, so all other work of an update lowers
 * them. */
#include "bench/bench.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"
#include "math/flush.h"
#include "math/matmul_threads.h"
#include "nn/net.h"
#include "registry.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { VECTOR_LENGTH = 4, CHAIN_LENGTH = 100, FIRST = 52, ACTORS = 32 };

/* The observations of the agents. */
static const struct problem {
  const char *name, *settings;
  lgv_env_spec env;
} problems[] = {
    {"Nature CNN",
     /* random observations have no values to learn: larger steps diverge */
     "agent.preset=atari optim.lr=1e-9",
     {.size = sizeof(lgv_env_spec),
      .obs_kind = LGV_OBS_BYTE,
      .obs_shape = {84, 84, 4},
      .frames = 4,
      .actions = {.count = 18},
      .reward_min = -1,
      .reward_max = 1}},
    {"MLP 4-64-64",
     "agent.preset=small agent.hidden=64,64 agent.batch=64",
     {.size = sizeof(lgv_env_spec),
      .obs_shape = {VECTOR_LENGTH, 1, 1},
      .actions = {.count = 2},
      .reward_max = 1}},
};
static const struct problem chain = {"MLP 100-32-32-2",
                                     "agent.preset=small agent.hidden=32,32",
                                     {.size = sizeof(lgv_env_spec),
                                      .obs_form = LGV_FORM_THERMOMETER,
                                      .obs_shape = {CHAIN_LENGTH, 1, 1},
                                      .actions = {.count = 2},
                                      .reward_max = 1}};

enum { IMAGE, VECTOR, PROBLEMS };

/* How to count the products of an update: outputs per action, and rows of the layers above an
 * embedding. Other agents have no share: they use more than one network, or more than one pass. */
static const struct {
  const char *agent;
  int32_t atoms[PROBLEMS], cosines[PROBLEMS], taus[PROBLEMS];
  const char *settings[PROBLEMS];
  double target[PROBLEMS]; /* least share of the products' limit; 0: none */
} counted[] = {
    {.agent = "dqn", .atoms = {1, 1}},
    {.agent = "double-dqn", .atoms = {1, 1}},
    {.agent = "prioritized-dqn", .atoms = {1, 1}},
    {.agent = "adam-lmcdqn", .atoms = {1, 1}, .target = {0.75}},
    {.agent = "lmc-dqn", .atoms = {1, 1}},
    {.agent = "psgld-dqn", .atoms = {1, 1}},
    {.agent = "langevin-dqn", .atoms = {1, 1}},
    {.agent = "ulmc-dqn", .atoms = {1, 1}},
    {.agent = "c51", .atoms = {51, 51}, .target = {0.6}},
    {.agent = "qr-dqn",
     .atoms = {201, 51},
     .settings = {"", "agent.quantiles=51"},
     .target = {0.6}},
    {.agent = "iqn",
     .atoms = {1, 1},
     .cosines = {64, 64},
     .taus = {64, 16},
     .settings = {"", "agent.cosines=64 agent.taus=16 agent.taus_act=16"},
     .target = {0.6}},
};

enum { COUNTED = sizeof counted / sizeof *counted };

typedef struct subject {
  lgv_agent *agent;
  unsigned char *obs, *next; /* one observation each */
  int64_t stage;
  double operations; /* per update; 0: not counted */
  double *q;         /* (ACTORS x actions) */
  lgv_obs seen[ACTORS];
} subject;

static int count_of(const char *agent) {
  for (int i = 0; i < COUNTED; i++)
    if (strcmp(counted[i].agent, agent) == 0) return i;
  return -1;
}

static size_t obs_bytes(const lgv_env_spec *env) {
  size_t length = (size_t)env->obs_shape[0] * (size_t)env->obs_shape[1] * (size_t)env->obs_shape[2];
  return length * (env->obs_kind == LGV_OBS_BYTE ? 1 : sizeof(float));
}

/* The number of forward passes over a minibatch: at s, at s' by the target network, and with double
 * Q again at s'; iqn selects actions with further levels. */
static lgv_status forward_passes(const lgv_agent *agent, int c, double *passes, lgv_error *err) {
  char text[LGV_TEXT_SIZE];
  LGV_TRY(lgv_agent_get(agent, "agent.double", text, sizeof text, err));
  *passes = strcmp(text, "true") == 0 || counted[c].taus[IMAGE] ? 3 : 2;
  return LGV_OK;
}

/* Useful operations of one update: products forward, and twice as many backward except in the first
 * layer. */
static lgv_status count_operations(subject *s, int c, int which, lgv_error *err) {
  const lgv_env_spec *env = &problems[which].env;
  int32_t taus = counted[c].taus[which];
  net_shape shape = {.obs_kind = env->obs_kind,
                     .obs_shape = {env->obs_shape[0], env->obs_shape[1], env->obs_shape[2]},
                     .hidden = which == IMAGE ? (lgv_ints){1, {512}} : (lgv_ints){2, {64, 64}},
                     .outputs = env->actions.count * counted[c].atoms[which],
                     .cosines = counted[c].cosines[which],
                     .taus = taus ? taus : 1};
  net n;
  double passes, batch = which == IMAGE ? 32 : 64;
  LGV_TRY(forward_passes(s->agent, c, &passes, err));
  LGV_TRY(lgv__net_build(&n, &shape, err));
  for (int32_t l = 0; l < n.n_layers; l++) {
    const net_layer *layer = &n.layer[l];
    double rows = layer->kernel ? (double)layer->out_height * layer->out_width : 1;
    if (n.embedding && l >= n.embedding) rows *= taus;
    double backward = l == 0 || (n.embedding && l == n.embedding) ? 1 : 2;
    s->operations += 2 * rows * batch * (double)layer->n_weights * (passes + backward);
  }
  return LGV_OK;
}

/* Stores a transition, which triggers an update. */
static lgv_status update(void *context, lgv_error *err) {
  subject *s = context;
  lgv_transition t = {.obs = {.data = s->obs, .state = -1, .stage = s->stage},
                      .next = {.data = s->next, .state = -1, .stage = s->stage + 1},
                      .action = &(lgv_action){.choice = (int32_t)(s->stage % 2)},
                      .reward = 0.1};
  s->stage++;
  return lgv_agent_observe(s->agent, &t, err);
}

static lgv_status make_observations(subject *s, const lgv_env_spec *env, lgv_error *err) {
  size_t bytes = obs_bytes(env);
  s->obs = lgv__calloc(2, bytes);
  s->q = lgv__calloc((size_t)ACTORS * (size_t)env->actions.count, sizeof *s->q);
  if (!s->obs || !s->q) return lgv__out_of_memory(err, "a benchmark");
  s->next = s->obs + bytes;
  for (int i = 0; i < ACTORS; i++) s->seen[i] = (lgv_obs){.data = s->obs, .state = -1};
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "bench.deep");
  if (env->obs_kind == LGV_OBS_BYTE)
    for (size_t k = 0; k < 2 * bytes; k++) s->obs[k] = (unsigned char)lgv_rng_below(&rng, 256);
  return LGV_OK;
}

static void close_subject(subject *s) {
  lgv_agent_free(s->agent);
  lgv__free(s->obs);
  lgv__free(s->q);
}

static lgv_status open_subject(subject *s, const char *agent, const struct problem *problem,
                               const char *more, lgv_error *err) {
  char list[400];
  snprintf(
      list, sizeof list,
      "agent.name=%s agent.warmup=50 agent.replay=200 agent.update_every=1 agent.updates=1 %s %s",
      agent, problem->settings, more ? more : "");
  LGV_TRY(make_observations(s, &problem->env, err));
  lgv_settings *settings;
  lgv_status status = bench_settings(list, &settings, err);
  if (status == LGV_OK) status = lgv_agent_create(settings, &problem->env, 0, 0, 1, &s->agent, err);
  lgv_settings_free(settings);
  for (int k = 0; status == LGV_OK && k < FIRST; k++) status = update(s, err);
  return status;
}

/* ---- Timed work ---- */

static lgv_status act(void *context, lgv_error *err) {
  subject *s = context;
  lgv_action action;
  return lgv_agent_act(s->agent, &s->seen[0], LGV_TRAIN, &action, err);
}

static lgv_status act_for_all(void *context, lgv_error *err) {
  subject *s = context;
  return lgv_agent_q_values(s->agent, s->seen, ACTORS, s->q, err);
}

static lgv_status measure_acting(bench_report *report, subject *s, const struct problem *problem,
                                 lgv_error *err) {
  char name[BENCH_NAME_SIZE];
  snprintf(name, sizeof name, "%s, adam-lmcdqn: act", problem->name);
  bench_count count = {.units = 1, .unit = "action"};
  LGV_TRY(bench_measure(report, name, count, act, s, err));
  snprintf(name, sizeof name, "%s, adam-lmcdqn: values, batch 32", problem->name);
  count = (bench_count){.units = 1, .unit = "batch"};
  return bench_measure(report, name, count, act_for_all, s, err);
}

/* Wall-clock time, which is what helper threads reduce if the machine has a free core. */
static lgv_status measure_with_help(bench_report *report, subject *s, lgv_error *err) {
  lgv_matmul_threads *team;
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) return LGV_OK;
  LGV_TRY(lgv__matmul_threads_create(2, &team, err));
  lgv_matmul_threads *before = lgv__matmul_threads_use(team);
  bench_count count = {.operations = s->operations, .units = 1, .unit = "update"};
  lgv_status status =
      bench_measure_wall(report, "Nature CNN, dqn: update, 2 threads", count, update, s, err);
  lgv__matmul_threads_use(before);
  lgv__matmul_threads_free(team);
  return status;
}

static lgv_status measure_subject(bench_report *report, subject *s, const char *agent, int which,
                                  lgv_error *err) {
  char name[BENCH_NAME_SIZE];
  int c = count_of(agent);
  if (c >= 0) LGV_TRY(count_operations(s, c, which, err));
  double target = c >= 0 ? counted[c].target[which] : 0;
  bench_count count = {.operations = s->operations,
                       .units = 1,
                       .unit = "update",
                       .goal = target > 0 ? BENCH_SHARE : BENCH_NO_GOAL,
                       .target = target};
  snprintf(name, sizeof name, "%s, %s: update", problems[which].name, agent);
  if (strcmp(agent, "adam-lmcdqn") == 0) LGV_TRY(measure_acting(report, s, &problems[which], err));
  LGV_TRY(bench_measure(report, name, count, update, s, err));
  return which == IMAGE && strcmp(agent, "dqn") == 0 ? measure_with_help(report, s, err) : LGV_OK;
}

/* Whether the request includes one of the agent's lines. */
static bool any_is_wanted(const bench_report *report, int which, const char *agent) {
  static const char *const ends[] = {"update", "update, 2 threads", "act", "values, batch 32"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    char name[BENCH_NAME_SIZE];
    snprintf(name, sizeof name, "%s, %s: %s", problems[which].name, agent, ends[i]);
    if (bench_is_wanted(report, name)) return true;
  }
  return false;
}

/* Agents are opened one after the other: together they would take gigabytes. */
static lgv_status measure_agent(bench_report *report, const char *agent, int which,
                                lgv_error *err) {
  int c = count_of(agent);
  subject s = {0};
  if (!any_is_wanted(report, which, agent)) return LGV_OK;
  lgv_status status =
      open_subject(&s, agent, &problems[which], c >= 0 ? counted[c].settings[which] : NULL, err);
  if (status == LGV_OK) status = measure_subject(report, &s, agent, which, err);
  close_subject(&s);
  return status;
}

static lgv_status measure_chain(bench_report *report, lgv_error *err) {
  subject s = {0};
  lgv_status status = open_subject(&s, "adam-lmcdqn", &chain, NULL, err);
  if (status == LGV_OK) status = measure_acting(report, &s, &chain, err);
  close_subject(&s);
  return status;
}

/* Agents that learn from a replay have a warm-up. Others plan between episodes or sweep over cells:
 * they are measured as linear agents, or as whole runs. */
static bool learns_by_step(const lgv_agent_type *type) {
  if (type->traits & LGV_TAKES_BOX) return false; /* bench_continuous.c */
  return lgv__params_find(type->params, "warmup") >= 0;
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  (void)state;
  uint64_t mode = lgv__flush_begin();
  lgv_status status = LGV_OK;
  for (int which = 0; which < PROBLEMS; which++)
    for (size_t i = 0; status == LGV_OK && lgv__agents[i]; i++)
      if (learns_by_step(lgv__agents[i]))
        status = measure_agent(report, lgv__agents[i]->name, which, err);
  if (status == LGV_OK) status = measure_chain(report, err);
  lgv__flush_end(mode);
  return status;
}

const bench_group bench_deep = {
    .name = "deep",
    .summary = "whole updates of deep agents, as a share of the yardstick, and acting",
    .needs_limits = true,
    .round = measure_round,
};
