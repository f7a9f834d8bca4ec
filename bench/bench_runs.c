/* Whole runs: environment, acting, replay and updates, without records.
 *
 * A line is one row of the table below. A run begins with enough steps for all agents to learn, and
 * continues from repetition to repetition. */
#include "bench/bench.h"

#include "base/error.h"
#include "base/memory.h"

#define CHAIN "env.name=nchain env.n=100 run.steps=1e12 run.eval_every=0 "
/* The paper's Algorithm 2, independent of the presets for small problems. */
#define PAPER                                                                                      \
  "agent.hidden=32,32 agent.batch=32 agent.n_step=1 agent.double=false agent.target_every=100 "    \
  "agent.update_every=1 agent.replay=10000 "
#define LMC PAPER "agent.name=adam-lmcdqn agent.average=0 agent.final_lr=1 optim.l2=0 "
#define UPDATES "agent.warmup=100 agent.update_every=1 agent.updates=100 "
#define CART "env.name=cartpole run.steps=1e12 run.eval_every=0 "
#define RIVER "env.name=riverswim env.n=12 run.episodes=1e9 run.eval_every=0 agent.name=lmc-lsvi "

static const struct {
  const char *name, *settings;
  int64_t first; /* steps before the first repetition */
  int64_t steps; /* per repetition */
  double units;  /* per step */
  const char *unit;
} lines[] = {
    {"N-Chain, adam-lmcdqn: update", CHAIN LMC UPDATES, 105, 1, 100, "update"},
    {"N-Chain, dqn: update", CHAIN PAPER UPDATES "agent.name=dqn", 105, 1, 100, "update"},
    {"N-Chain, adam-lmcdqn: run", CHAIN LMC, 1100, 1000, 1, "step"},
    {"N-Chain, adam-lmcdqn, preset small: run", CHAIN "agent.name=adam-lmcdqn", 1100, 1000, 1,
     "step"},
    {"N-Chain, dqn: run", CHAIN PAPER "agent.name=dqn", 1100, 1000, 1, "step"},
    {"N-Chain, pathwise-lmcdqn: run", CHAIN "agent.name=pathwise-lmcdqn", 1100, 1000, 1, "step"},
    {"CartPole, dqn: run", CART PAPER "agent.name=dqn", 1100, 1000, 1, "step"},
    {"RiverSwim, lmc-lsvi, J = 1000, exact: run", RIVER "agent.updates=1000", 100, 100, 1, "step"},
    {"RiverSwim, lmc-lsvi, J = 1000, loop: run", RIVER "agent.updates=1000 agent.sampler=loop", 100,
     100, 1, "step"},
};

enum { LINES = sizeof lines / sizeof *lines };

typedef struct subject {
  lgv_plan *plan;
  lgv_run *run;
  int64_t steps;
} subject;

static lgv_status open_subject(subject *s, const char *list, lgv_error *err) {
  lgv_settings *settings;
  lgv_status status = bench_settings(list, &settings, err);
  if (status == LGV_OK) status = lgv_plan_create(settings, &s->plan, err);
  lgv_settings_free(settings);
  LGV_TRY(status);
  return lgv_run_create(s->plan, 1, NULL, &s->run, err);
}

static lgv_status open_runs(void **state, lgv_error *err) {
  subject *subjects = lgv__calloc(LINES, sizeof *subjects);
  if (!subjects) return lgv__out_of_memory(err, "a benchmark");
  *state = subjects;
  bool done;
  for (int i = 0; i < LINES; i++) {
    subjects[i].steps = lines[i].steps;
    LGV_TRY(open_subject(&subjects[i], lines[i].settings, err));
    LGV_TRY(lgv_run_advance(subjects[i].run, lines[i].first, &done, err));
  }
  return LGV_OK;
}

static void close_runs(void *state) {
  subject *subjects = state;
  for (int i = 0; subjects && i < LINES; i++) {
    lgv_run_free(subjects[i].run);
    lgv_plan_free(subjects[i].plan);
  }
  lgv__free(subjects);
}

static lgv_status advance(void *context, lgv_error *err) {
  subject *s = context;
  bool done;
  return lgv_run_advance(s->run, s->steps, &done, err);
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  subject *subjects = state;
  for (int i = 0; i < LINES; i++) {
    bench_count count = {.units = (double)lines[i].steps * lines[i].units, .unit = lines[i].unit};
    LGV_TRY(bench_measure(report, lines[i].name, count, advance, &subjects[i], err));
  }
  return LGV_OK;
}

const bench_group bench_runs = {
    .name = "run",
    .summary = "whole runs and updates of agents",
    .open = open_runs,
    .round = measure_round,
    .close = close_runs,
};
