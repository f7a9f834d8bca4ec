/* The overhead of the Gymnasium bridge per step: an environment through the bridge against a bare
 * Python loop over the same environment, both with resets and the same actions.
 *
 * Two processes take turns, so CPU time says nothing here: these lines are wall-clock times of
 * short stretches, the best of many. Without Python or Gymnasium the group is skipped, with the
 * reason. */
#include "bench/bench.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "env/external/remote.h"

#include <stdio.h>
#include <string.h>

enum { STEPS = 400, STRETCHES = 25 };
static const double most_overhead = 30e-6; /* seconds per step */
static const lgv_host host = {.timeout = 60};

#define NAME "CartPole-v1"

typedef struct subject {
  lgv_env *env;
  remote *loop;
  bool over;
  int64_t steps;
  double best_loop, best_bridge; /* seconds per stretch */
  char skipped[512];             /* the reason, or empty */
} subject;

static lgv_status open_bridge(subject *s, lgv_error *err) {
  static const char config[] = "{\"id\": \"" NAME "\", \"import\": \"\", \"wrappers\": \"\", "
                               "\"horizon\": 0, \"scale\": 1, \"masks\": false, \"kwargs\": {}}";
  lgv_settings *settings;
  LGV_TRY(lgv_settings_create(&settings, err));
  lgv_status status = lgv_settings_set(settings, "env.name", "gym:" NAME, "bench", err);
  if (status == LGV_OK) status = lgv_env_create(settings, 1, &s->env, err);
  lgv_settings_free(settings);
  LGV_TRY(status);
  remote_options options = {.what = NAME, .python = "", .host = &host};
  remote_reply reply;
  LGV_TRY(lgv__remote_start("loop", config, &options, &s->loop, err));
  return lgv__remote_reset(s->loop, 1, &reply, err);
}

static lgv_status open_group(void **state, lgv_error *err) {
  subject *s = *state = lgv__calloc(1, sizeof *s);
  if (!s) return lgv__out_of_memory(err, "a benchmark");
  s->over = true;
  s->best_loop = s->best_bridge = 1e9;
  lgv_error why = {0};
  lgv_status status = open_bridge(s, &why);
  if (status == LGV_ERR_ENV) {
    memcpy(s->skipped, why.message, sizeof s->skipped);
    return LGV_OK;
  }
  if (status != LGV_OK && err) *err = why;
  return status;
}

static void close_group(void *state) {
  subject *s = state;
  if (!s) return;
  lgv_env_free(s->env);
  lgv__remote_stop(s->loop);
  lgv__free(s);
}

static lgv_status stretch(subject *s, double *seconds, lgv_error *err) {
  double begun = lgv__now();
  for (int i = 0; i < STEPS; i++) {
    lgv_obs obs;
    lgv_outcome outcome;
    if (s->over) LGV_TRY(lgv_env_reset(s->env, &obs, err));
    LGV_TRY(lgv_env_step(s->env, &(lgv_action){.choice = i % 2}, &outcome, &obs, err));
    s->over = outcome.terminated || outcome.truncated;
  }
  *seconds = lgv__now() - begun;
  return bench_check_time(*seconds, err);
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  subject *s = state;
  if (!bench_is_wanted(report, NAME ", bridge")) return LGV_OK;
  if (s->skipped[0]) {
    snprintf(report->skipped, sizeof report->skipped, "bridge: not measured: %s", s->skipped);
    return LGV_OK;
  }
  for (int i = 0; i < STRETCHES; i++) { /* alternately, so that both see the same machine */
    double seconds;
    remote_reply reply;
    LGV_TRY(lgv__remote_step(s->loop, &(lgv_action){.choice = i}, STEPS, &reply, err));
    LGV_TRY(bench_check_time(reply.reward, err)); /* the seconds of the loop */
    if (reply.reward < s->best_loop) s->best_loop = reply.reward;
    LGV_TRY(stretch(s, &seconds, err));
    if (seconds < s->best_bridge) s->best_bridge = seconds;
  }
  bench_count count = {.units = STEPS, .unit = "step"}, overhead = count;
  overhead.goal = BENCH_SECONDS;
  overhead.target = most_overhead;
  double difference = s->best_bridge - s->best_loop;
  LGV_TRY(bench_record(report, NAME ", Python loop", count, s->best_loop, err));
  LGV_TRY(bench_record(report, NAME ", bridge", count, s->best_bridge, err));
  LGV_TRY(bench_record(report, NAME ", bridge: overhead", overhead, difference, err));
  /* the difference of the best times, not the best difference */
  report->line[report->lines - 1].seconds = difference;
  return LGV_OK;
}

const bench_group bench_bridge = {
    .name = "bridge",
    .summary = "a step of a Gymnasium environment",
    .open = open_group,
    .round = measure_round,
    .close = close_group,
};
