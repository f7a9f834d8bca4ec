/* Runs in bf16 and bf16x3 leave the same files, byte for byte, with every kernel set and on every
 * machine (digests.h), and when each set resumes what the one before it began. Agents in these
 * precisions compute with the portable sets, which share their block products with the other sets.
 * Batches are small, so that plain C can follow. */
#ifndef LGV_TESTS_PRECISION_RUNS_H
#define LGV_TESTS_PRECISION_RUNS_H

#include "math/kernels.h"

#include "digests.h"
#include "fault_helpers.h"
#include "picture_world.h"
#include "temp_root.h"

static const char *const precisions[] = {"bf16", "bf16x3"};

enum { WARMUP = 16, UPDATES_PER_STEP = 10 };

static inline lgv_plan *precision_plan(const char *env, const char *agent, const char *settings,
                                       const char *precision, int64_t updates) {
  char text[600];
  int64_t steps = WARMUP + updates / UPDATES_PER_STEP;
  snprintf(text, sizeof text,
           "%s agent.precision=%s agent.warmup=%d agent.replay=200 agent.update_every=1 "
           "agent.updates=%d run.steps=%lld run.eval_every=%lld run.eval_episodes=1 "
           "run.eval_steps=10",
           settings, precision, WARMUP, UPDATES_PER_STEP, (long long)steps, (long long)steps);
  return picture_plan(env, agent, text);
}

/* Creates a run, or resumes it, advances it by `steps` with these kernels and closes its records.
 */
static inline lgv_status run_part(const lgv_plan *plan, const char *directory,
                                  const lgv_kernel_set *set, bool resume, int64_t steps,
                                  lgv_error *err) {
  lgv_run *run;
  bool done;
  lgv__kernels_use(set);
  lgv_status status = resume ? lgv_run_resume(plan, 1, directory, &run, err)
                             : lgv_run_create(plan, 1, directory, &run, err);
  if (status == LGV_OK) {
    if (lgv_run_advance(run, steps, &done, err) != LGV_OK) fail_msg("%s", err->message);
    if (lgv_run_finish(run, err) != LGV_OK) fail_msg("%s", err->message);
    lgv_run_free(run);
  }
  lgv__kernels_use(NULL);
  return status;
}

static inline void must_run(const lgv_plan *plan, const char *directory, const lgv_kernel_set *set,
                            bool resume, int64_t steps) {
  lgv_error err = {0};
  if (run_part(plan, directory, set, resume, steps, &err) != LGV_OK) fail_msg("%s", err.message);
}

/* The column `updates` of the last row. */
static inline void assert_updates(const char *directory, int64_t updates) {
  char *text = read_text(directory, "metrics.csv"), *rest = text;
  assert_non_null(text);
  char *head = strsep(&rest, "\n"), *row = head, *last = head, *name, *value = NULL;
  while ((row = strsep(&rest, "\n")) && *row) last = row;
  while ((name = strsep(&head, ",")) && (value = strsep(&last, ",")))
    if (strcmp(name, "updates") == 0) break;
  assert_non_null(name);
  assert_int_equal(strtoll(value, NULL, 10), updates);
  free(text);
}

static inline const lgv_kernel_set *portable_set(size_t index) {
  const lgv_kernel_set *set;
  for (size_t k = 0; (set = lgv__kernels_at(k)); k++)
    if (set->portable && index-- == 0) return set;
  return NULL;
}

/* Every portable set alone, then all of them in turn on one run. */
static inline uint64_t check_precision(const lgv_plan *plan, int64_t updates) {
  char first[PATH_MAX], other[PATH_MAX], chain[PATH_MAX];
  size_t count = 0;
  join(first, root, "first");
  join(chain, root, "chain");
  while (portable_set(count)) count++;
  assert_true(count > 1);
  int64_t steps = WARMUP + updates / UPDATES_PER_STEP, part = steps / (int64_t)count + 1;
  for (size_t k = 0; k < count; k++) {
    join(other, root, portable_set(k)->name);
    must_run(plan, k == 0 ? first : other, portable_set(k), false, steps);
    must_run(plan, chain, portable_set(k), k > 0, part);
    if (k > 0) assert_same_records(first, other);
  }
  assert_same_records(first, chain);
  assert_updates(first, updates);
  return digest_file(first, "checkpoint.safetensors", digest_file(first, "metrics.csv", NO_DIGEST));
}

typedef struct precision_case {
  const char *network, *env, *settings;
} precision_case;

static const precision_case mlp_64_64 = {"mlp", "cartpole", "agent.hidden=64,64 agent.batch=4"};
static const precision_case conv_10_10 = {
    "conv", "pictures",
    "env.height=10 env.width=10 agent.conv=16x3s3,32x2s1 agent.hidden=64 agent.batch=8"};
static const precision_case nature = {
    "nature", "pictures",
    "env.height=84 env.width=84 agent.net=nature agent.hidden=512 agent.batch=2"};

/* adam-lmcdqn, iqn and bootstrapped-dqn in both precisions. */
static inline void check_agents(const precision_case *c, int64_t updates) {
  static const char *const agents[][2] = {
      {"adam-lmcdqn", ""},
      {"iqn", "agent.taus=5 agent.taus_act=4 agent.cosines=32"},
      {"bootstrapped-dqn", "agent.members=heads agent.heads=4"}};
  digests d = begin_digests(c->network);
  for (size_t a = 0; a < sizeof agents / sizeof *agents; a++)
    for (int p = 0; p < 2; p++) {
      char settings[400], what[64];
      snprintf(settings, sizeof settings, "%s %s", c->settings, agents[a][1]);
      lgv_plan *plan = precision_plan(c->env, agents[a][0], settings, precisions[p], updates);
      make_root(NULL);
      snprintf(what, sizeof what, "%s %s %lld", agents[a][0], precisions[p], (long long)updates);
      exchange(d, what, check_precision(plan, updates));
      remove_root(NULL);
      lgv_plan_free(plan);
    }
  end_digests(d);
}

#endif
