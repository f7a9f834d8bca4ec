/* Episodes of every linear agent, including planning, in environments whose own cost is small: a
 * random linear MDP with dense features (24 and 400 of them), and one-hot features over 2000 pairs.
 *
 * Every agent that plans per episode has its lines. The first episodes are not timed; the data grow
 * a little from one repetition to the next, which by design costs nothing.
 *
 * Then plans from a history of 20,000 observations with a feature map, in the discounted form: 50
 * sweeps, each one product of all features with the weights of every action and one with the
 * targets. Both are so narrow that reading the features bounds them: the operations are the bytes
 * of all features, once per sweep. */
#include "bench/bench.h"

#include "base/error.h"
#include "registry.h"

#include <math.h>
#include <stdio.h>

static const struct {
  const char *name, *settings;
  int64_t horizon, first; /* first: episodes before the first repetition */
} problems[] = {
    {"d = 24, H = 40",
     "env.name=linear-mdp env.kind=low-rank env.states=12 env.actions=2 "
     "env.dim=24 env.horizon=40",
     40, 20},
    {"d = 400, H = 4",
     "env.name=linear-mdp env.kind=low-rank env.states=100 env.actions=4 "
     "env.dim=400 env.horizon=4",
     4, 2},
    {"one-hot 2000, H = 40", "env.name=riverswim env.n=1000 env.horizon=40", 40, 20},
};

enum { PROBLEMS = sizeof problems / sizeof *problems };

typedef struct subject {
  lgv_plan *plan;
  lgv_run *run;
  int64_t horizon;
} subject;

static lgv_status open_subject(subject *s, const lgv_agent_type *type, int p, lgv_error *err) {
  char list[400];
  snprintf(list, sizeof list, "%s agent.name=%s run.episodes=1000000", problems[p].settings,
           type->name);
  lgv_settings *settings;
  lgv_status status = bench_settings(list, &settings, err);
  if (status == LGV_OK) status = lgv_plan_create(settings, &s->plan, err);
  lgv_settings_free(settings);
  LGV_TRY(status);
  LGV_TRY(lgv_run_create(s->plan, 1, NULL, &s->run, err));
  bool done;
  s->horizon = problems[p].horizon;
  return lgv_run_advance(s->run, problems[p].first * s->horizon, &done, err);
}

static lgv_status play_episode(void *context, lgv_error *err) {
  subject *s = context;
  bool done;
  return lgv_run_advance(s->run, s->horizon, &done, err);
}

static lgv_status measure_agent(const lgv_agent_type *type, int p, bench_report *report,
                                lgv_error *err) {
  subject s = {0};
  char name[BENCH_NAME_SIZE];
  snprintf(name, sizeof name, "%s, %s", type->name, problems[p].name);
  if (!bench_is_wanted(report, name)) return LGV_OK;
  lgv_status status = open_subject(&s, type, p, err);
  bench_count count = {.units = 1, .unit = "episode"};
  if (status == LGV_OK) status = bench_measure(report, name, count, play_episode, &s, err);
  lgv_run_free(s.run);
  lgv_plan_free(s.plan);
  return status;
}

/* ---- plans from a history ---- */

enum { HISTORY_ROWS = 20000, HISTORY_EPISODE = 200, HISTORY_M = 128, HISTORY_A = 3, SWEEPS = 50 };

static const char *const history_agents[] = {"lmc-lsvi", "rlsvi", "lsvi-ucb", NULL};

/* A walk of its own for every episode, which ends at a goal or by the clock. */
static lgv_status feed_history(lgv_agent *agent, lgv_error *err) {
  for (int64_t row = 0; row < HISTORY_ROWS; row++) {
    int64_t t = row % HISTORY_EPISODE, k = row / HISTORY_EPISODE;
    bool last = t + 1 == HISTORY_EPISODE;
    float x[4];
    for (int i = 0; i < 4; i++) {
      int pair = i / 2;
      double at = 0.1 * (double)(t + pair) * (1 + 0.01 * (double)k) + (i % 2 ? 1.3 : 0);
      x[i] = (float)(0.5 + 0.5 * sin(at));
    }
    lgv_action action = {.choice = (int32_t)((row * 7 + k) % HISTORY_A)};
    lgv_transition step = {.obs = {.data = x, .state = -1, .stage = t},
                           .next = {.data = x + 2, .state = -1, .stage = t + 1},
                           .action = &action,
                           .reward = -1,
                           .terminated = last && k % 2 == 0,
                           .truncated = last && k % 2 == 1};
    LGV_TRY(lgv_agent_observe(agent, &step, err));
    if (last) LGV_TRY(lgv_agent_end_episode(agent, err));
  }
  return lgv_agent_begin_episode(agent, err);
}

static lgv_status open_history(const char *name, lgv_agent **agent, lgv_error *err) {
  static const float low[2] = {0, 0}, high[2] = {1, 1};
  char list[160];
  lgv_env_spec spec = {.size = sizeof spec,
                       .obs_shape = {2, 1, 1},
                       .obs_low = low,
                       .obs_high = high,
                       .actions = lgv_discrete(HISTORY_A),
                       .stationary = true,
                       .clock_truncates = true,
                       .reward_min = -1};
  snprintf(list, sizeof list,
           "agent.name=%s agent.features=random-fourier features.count=%d agent.sweeps=%d", name,
           HISTORY_M, SWEEPS);
  lgv_settings *settings;
  lgv_status status = bench_settings(list, &settings, err);
  if (status == LGV_OK)
    status = lgv_agent_create(settings, &spec, 0, HISTORY_ROWS + HISTORY_EPISODE, 1, agent, err);
  lgv_settings_free(settings);
  return status == LGV_OK ? feed_history(*agent, err) : status;
}

static lgv_status plan_again(void *context, lgv_error *err) {
  return lgv_agent_begin_episode(context, err);
}

static lgv_status measure_history(const char *agent_name, bench_report *report, lgv_error *err) {
  lgv_agent *agent = NULL;
  char name[BENCH_NAME_SIZE];
  snprintf(name, sizeof name, "%s, n = 20000, m = 128, A = 3: plan", agent_name);
  if (!bench_is_wanted(report, name)) return LGV_OK;
  lgv_status status = open_history(agent_name, &agent, err);
  bench_count count = {.operations = (double)sizeof(float) * SWEEPS * HISTORY_ROWS * HISTORY_M,
                       .limit = BENCH_L3,
                       .units = 1,
                       .unit = "plan",
                       .goal = BENCH_SECONDS,
                       .target = 0.2};
  if (status == LGV_OK) status = bench_measure(report, name, count, plan_again, agent, err);
  lgv_agent_free(agent);
  return status;
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  (void)state;
  for (int p = 0; p < PROBLEMS; p++)
    for (size_t i = 0; lgv__agents[i]; i++)
      if (!lgv__agents[i]->set_stream) /* plans per episode */
        LGV_TRY(measure_agent(lgv__agents[i], p, report, err));
  for (size_t i = 0; history_agents[i]; i++)
    LGV_TRY(measure_history(history_agents[i], report, err));
  return LGV_OK;
}

const bench_group bench_linear = {
    .name = "linear",
    .summary = "episodes of linear agents",
    .round = measure_round,
};
