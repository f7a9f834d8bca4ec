/* Whole updates of the agents for continuous actions, at the sizes of HalfCheetah: 17 observations,
 * 6 parts of an action, two hidden layers of 256, batch 256. Shares count the matrix products that
 * an update needs, so all other work lowers them. */
#include "bench/bench.h"

#include "base/error.h"
#include "math/flush.h"
#include "registry.h"

#include <stdio.h>
#include <string.h>

enum { LENGTH = 17, PARTS = 6, WIDTH = 256, BATCH = 256, SMALL_LENGTH = 3, FIRST = 60 };

static const struct problem {
  const char *name, *settings;
  int32_t length, parts, width, batch;
} problems[] = {
    {"17 + 6, 256-256, batch 256", "agent.hidden=256,256 agent.batch=256", LENGTH, PARTS, WIDTH,
     BATCH},
    {"3 + 1, 64-64, batch 100", "agent.hidden=64,64 agent.batch=100", SMALL_LENGTH, 1, 64, 100},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

typedef struct subject {
  lgv_agent *agent;
  lgv_env_spec env;
  float obs[2][LENGTH];
  int64_t stage;
} subject;

static lgv_env_spec spec_of(const struct problem *p) {
  lgv_env_spec env = {.size = sizeof env, .obs_shape = {p->length, 1, 1}};
  float low[PARTS], high[PARTS];
  for (int i = 0; i < PARTS; i++) low[i] = -1, high[i] = 1;
  env.actions = lgv_box(p->parts, low, high);
  return env;
}

/* Stores a transition, which triggers an update. */
static lgv_status update(void *context, lgv_error *err) {
  subject *s = context;
  lgv_action action = {.values = {s->stage % 2 ? 0.5f : -0.5f}};
  lgv_transition t = {
      .obs = {.data = s->obs[s->stage % 2], .state = -1, .stage = s->stage},
      .next = {.data = s->obs[1 - s->stage % 2], .state = -1, .stage = s->stage + 1},
      .action = &action,
      .reward = 0.1};
  s->stage++;
  return lgv_agent_observe(s->agent, &t, err);
}

/* Products of a pass over a network: two operations per weight and row. `first`: without the first
 * layer, as the derivatives of inputs. */
static double pass(const struct problem *p, int32_t inputs, int32_t outputs, bool first) {
  double W = p->width, weights = W * W + W * outputs + (first ? inputs * W : 0);
  return 2 * p->batch * weights;
}

/* Of sac: pi(s) and pi(s'); two critics forward at (s', a'), (s, a) and (s, pi(s)), backward once;
 * the derivatives of the actions through one critic; the actor backward. td3 takes a' from one pass
 * of the target policy, and updates its policy, through one critic, every second time. */
static double operations(const struct problem *p, const char *agent) {
  int32_t n = p->length, k = p->parts;
  double critic = pass(p, n + k, 1, true), below = pass(p, n + k, 1, false);
  double columns = 2.0 * p->batch * p->width * k;
  if (strcmp(agent, "sac") == 0) {
    double actor = pass(p, n, 2 * k, true);
    return 2 * actor + 6 * critic + 2 * (critic + below) + below + columns + actor +
           pass(p, n, 2 * k, false);
  }
  if (strcmp(agent, "td3") != 0) return 0; /* not counted */
  double actor = pass(p, n, k, true);
  double policy = actor + critic + below + columns + actor + pass(p, n, k, false);
  return actor + 4 * critic + 2 * (critic + below) + policy / 2;
}

/* Two in turn: every second update of some agents is one of the policy, too. */
static lgv_status two_updates(void *context, lgv_error *err) {
  LGV_TRY(update(context, err));
  return update(context, err);
}

static lgv_status open_subject(subject *s, const char *agent, const struct problem *p,
                               lgv_error *err) {
  char list[300];
  snprintf(list, sizeof list,
           "agent.name=%s agent.warmup=50 agent.replay=1000 agent.update_every=1 "
           "agent.normalize_obs=false %s",
           agent, p->settings);
  lgv_settings *settings;
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "bench.continuous");
  for (int i = 0; i < 2 * LENGTH; i++) s->obs[i / LENGTH][i % LENGTH] = (float)lgv_rng_normal(&rng);
  s->env = spec_of(p);
  LGV_TRY(bench_settings(list, &settings, err));
  lgv_status status = lgv_agent_create(settings, &s->env, 0, 0, 1, &s->agent, err);
  lgv_settings_free(settings);
  for (int k = 0; status == LGV_OK && k < FIRST; k++) status = update(s, err);
  return status;
}

static lgv_status measure(bench_report *report, const char *agent, const struct problem *p,
                          lgv_error *err) {
  char name[BENCH_NAME_SIZE];
  snprintf(name, sizeof name, "%s, %s: update", p->name, agent);
  if (!bench_is_wanted(report, name)) return LGV_OK;
  subject s = {0};
  bench_count count = {.operations = 2 * operations(p, agent), .units = 2, .unit = "update"};
  lgv_status status = open_subject(&s, agent, p, err);
  if (status == LGV_OK) status = bench_measure(report, name, count, two_updates, &s, err);
  lgv_agent_free(s.agent);
  return status;
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  (void)state;
  uint64_t mode = lgv__flush_begin();
  lgv_status status = LGV_OK;
  for (int i = 0; i < PROBLEMS; i++)
    for (size_t a = 0; status == LGV_OK && lgv__agents[a]; a++)
      if (lgv__agents[a]->traits & LGV_TAKES_BOX)
        status = measure(report, lgv__agents[a]->name, &problems[i], err);
  lgv__flush_end(mode);
  return status;
}

const bench_group bench_continuous = {
    .name = "continuous",
    .summary = "whole updates of agents for continuous actions, as a share of the yardstick",
    .needs_limits = true,
    .round = measure_round,
};
