/* Every agent leaves the same files, byte for byte, with every portable kernel set, and on every
 * machine (digests.h). */
#include "base/param.h"
#include "math/kernels.h"
#include "registry.h"

#include "digests.h"
#include "run_helpers.h"
#include "temp_root.h"

#include <stdio.h>
#include <stdlib.h>

/* Environments that call sines, cosines and powers, and settings that reach every function of
 * portable_math.h and dense_portable.h. `agents`: those that need states, or the others, or one by
 * its name; `box`: those with continuous actions. */
#define FEW "agent.warmup=20 agent.replay=400 agent.batch=8 run.eval_episodes=1 run.eval_steps=20 "
static const struct group {
  const char *env, *agents, *settings;
} groups[] = {
    {"riverswim", "linear", "run.steps=200"},
    {"riverswim", "linear", "run.steps=60 agent.schedule=theory agent.delta=0.5"},
    {"linear-mdp", "linear", "run.steps=100 env.kind=low-rank env.dim=10 agent.features=env"},
    {"cartpole", "deep", FEW "run.steps=100 run.eval_every=50"},
    {"nchain", "deep", FEW "run.steps=60 env.n=12"},
    {"acrobot", "prioritized-dqn", FEW "run.steps=200"},
    {"mountain-car", "adam-lmcdqn", FEW "run.steps=200"},
    {"cartpole", "dqn",
     FEW "run.steps=100 agent.layer_norm=true agent.dueling=true agent.normalize_obs=true"},
    {"deepsea", "bootstrapped-dqn",
     FEW "run.steps=100 env.n=6 agent.members=networks agent.heads=3"},
    {"deepsea", "dqn", FEW "run.steps=40 env.n=6 env.features=pixels"},
    {"pendulum", "box", FEW "run.steps=60 agent.hidden=16 run.eval_every=50"},
};

static bool belongs(const struct group *g, const lgv_agent_type *type) {
  bool linear = type->traits & LGV_NEEDS_STATES;
  const char *kind = linear ? "linear" : takes_box(type) ? "box" : "deep";
  return strcmp(g->agents, kind) == 0 || strcmp(g->agents, type->name) == 0;
}

/* Settings that an agent does not have are left out. */
static bool has(const lgv_agent_type *type, const char *setting) {
  char name[64];
  if (strncmp(setting, "agent.", 6) != 0) return true;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(setting + 6, "="), setting + 6);
  return strcmp(name, "name") == 0 || lgv__params_find(type->params, name) >= 0;
}

static lgv_plan *plan_of(const struct group *g, const lgv_agent_type *type) {
  char text[512], chosen[512] = "";
  snprintf(text, sizeof text, "%s", g->settings);
  char *rest = text;
  for (char *item; (item = strsep(&rest, " "));)
    if (has(type, item)) {
      strcat(chosen, item);
      strcat(chosen, " ");
    }
  return make_plan(g->env, type->name, chosen);
}

/* Of the records and of all arrays. */
static uint64_t digest_run(const lgv_plan *plan, const char *directory) {
  lgv_error err = {0};
  lgv_run *run;
  bool done = false;
  if (lgv_run_create(plan, 1, directory, &run, &err) != LGV_OK) fail_msg("%s", err.message);
  while (!done)
    if (lgv_run_advance(run, 1000, &done, &err) != LGV_OK) fail_msg("%s", err.message);
  if (lgv_run_finish(run, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_run_free(run);
  uint64_t hash = digest_file(directory, "metrics.csv", NO_DIGEST);
  return digest_file(directory, "checkpoint.safetensors", hash);
}

static uint64_t digest_with(const lgv_kernel_set *set, const struct group *g,
                            const lgv_agent_type *type) {
  char directory[PATH_MAX], name[128];
  snprintf(name, sizeof name, "%s-%d-%s", type->name, (int)(g - groups), set->name);
  join(directory, root, name);
  lgv__kernels_use(set);
  lgv_plan *plan = plan_of(g, type);
  uint64_t hash = digest_run(plan, directory);
  lgv_plan_free(plan);
  return hash;
}

static void every_agent_has_the_same_bits_with_every_portable_set(void **state) {
  (void)state;
  digests d = begin_digests("portable");
  const lgv_kernel_set *set;
  size_t runs = 0;
  for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
    for (size_t a = 0; lgv__agents[a]; a++) {
      if (!belongs(&groups[g], lgv__agents[a])) continue;
      uint64_t hash = digest_with(lgv__kernels_portable(), &groups[g], lgv__agents[a]);
      for (size_t s = 0; (set = lgv__kernels_at(s)); s++)
        if (set->portable && set != lgv__kernels_portable() &&
            digest_with(set, &groups[g], lgv__agents[a]) != hash)
          fail_msg("%s on %s, %s: %s and %s differ", lgv__agents[a]->name, groups[g].env,
                   groups[g].settings, set->name, lgv__kernels_portable()->name);
      char what[128];
      snprintf(what, sizeof what, "%d %s %s", (int)g, groups[g].env, lgv__agents[a]->name);
      exchange(d, what, hash);
      runs++;
      assert_int_equal(remove_root(NULL), 0);
      assert_int_equal(make_root(NULL), 0);
    }
  assert_true(runs > 50);
  end_digests(d);
  lgv__kernels_use(NULL);
}

/* ---- Resuming ---- */

static void stop_after(const lgv_plan *plan, const char *directory, int64_t steps) {
  lgv_error err = {0};
  lgv_run *run;
  bool done;
  assert_int_equal(lgv_run_create(plan, 1, directory, &run, &err), LGV_OK);
  assert_int_equal(lgv_run_advance(run, steps, &done, &err), LGV_OK);
  assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
  lgv_run_free(run);
}

static const struct group resumed = {"cartpole", "c51", FEW "run.steps=120"};

static void a_run_resumes_with_another_portable_set(void **state) {
  (void)state;
  const lgv_agent_type *c51 = lgv__agents[0];
  for (size_t a = 0; strcmp(c51->name, resumed.agents) != 0; a++) c51 = lgv__agents[a];
  char whole[PATH_MAX], broken[PATH_MAX];
  lgv_error err = {0};
  lgv_run *run;
  bool done;
  join(whole, root, "whole");
  join(broken, root, "broken");
  lgv__kernels_use(lgv__kernels_portable());
  lgv_plan *wide = plan_of(&resumed, c51);
  uint64_t hash = digest_run(wide, whole);
  stop_after(wide, broken, 70);
  lgv_plan_free(wide);
  lgv__kernels_use(lgv__kernels_at(0)); /* ref is not portable: other functions, other bits */
  lgv_plan *other = plan_of(&resumed, c51);
  assert_int_equal(lgv_run_resume(other, 1, broken, &run, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "LANGEVIN_KERNELS=portable selects the same"));
  lgv_plan_free(other);
  lgv__kernels_use(lgv__kernels_at(1));
  assert_string_equal(lgv__kernels()->name, "portable1");
  lgv_plan *narrow = plan_of(&resumed, c51);
  if (lgv_run_resume(narrow, 1, broken, &run, &err) != LGV_OK) fail_msg("%s", err.message);
  assert_int_equal(lgv_run_advance(run, 1000, &done, &err), LGV_OK);
  assert_int_equal(lgv_run_finish(run, &err), LGV_OK);
  lgv_run_free(run);
  lgv_plan_free(narrow);
  uint64_t resumed_hash = digest_file(broken, "metrics.csv", NO_DIGEST);
  assert_true(digest_file(broken, "checkpoint.safetensors", resumed_hash) == hash);
  lgv__kernels_use(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_agent_has_the_same_bits_with_every_portable_set,
                                      make_root, remove_root),
      cmocka_unit_test_setup_teardown(a_run_resumes_with_another_portable_set, make_root,
                                      remove_root),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
