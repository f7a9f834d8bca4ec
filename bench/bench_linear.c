/* Episodes of every linear agent, including planning, in environments whose own cost is small: a
 * random linear MDP with dense features (24 and 400 of them), and one-hot features over 2000 pairs.
 *
 * Every agent that plans per episode has its lines. The first episodes are not timed; the data grow
 * a little from one repetition to the next, which by design costs nothing. */
#include "bench/bench.h"

#include "base/error.h"
#include "registry.h"

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

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  (void)state;
  for (int p = 0; p < PROBLEMS; p++)
    for (size_t i = 0; lgv__agents[i]; i++)
      if (!lgv__agents[i]->set_stream) /* plans per episode */
        LGV_TRY(measure_agent(lgv__agents[i], p, report, err));
  return LGV_OK;
}

const bench_group bench_linear = {
    .name = "linear",
    .summary = "episodes of linear agents",
    .round = measure_round,
};
