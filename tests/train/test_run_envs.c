/* run.envs: several environments a run. */
#include "agent/agent.h"
#include "base/error.h"
#include "config/plan.h"
#include "env/env.h"
#include "registry.h"

#include "file_helpers.h"
#include "outside_world.h"

#include <math.h>

/* ---- the loop, written out ---- */

enum { MOST = 4 };

typedef struct by_hand {
  const lgv_plan *plan;
  int32_t n;
  lgv_env *env[MOST];
  lgv_obs obs[MOST];
  bool running[MOST];
  lgv_action action[MOST];
  bool chosen[MOST];
  double sum[MOST], total;
  lgv_agent *agent;
  int64_t steps, episodes;
} by_hand;

static void open_by_hand(by_hand *h, const lgv_plan *plan, int32_t n, uint64_t seed) {
  lgv_error err = {0};
  *h = (by_hand){.plan = plan, .n = n};
  for (int32_t i = 0; i < n; i++) {
    char purpose[16] = "env";
    if (i > 0) snprintf(purpose, sizeof purpose, "env.%d", i);
    assert_int_equal(lgv__env_open(plan->env_type, plan->env_params, plan->env_common, &plan->host,
                                   seed, purpose, &h->env[i], &err),
                     LGV_OK);
  }
  lgv_full_problem problem = lgv__plan_problem(plan, lgv_env_get_spec(h->env[0]));
  assert_int_equal(problem.given.streams, n);
  assert_int_equal(
      lgv__agent_open(plan->agent_type, plan->agent_params, &problem, seed, &h->agent, &err),
      LGV_OK);
}

static lgv_status begin(by_hand *h, int32_t i, lgv_error *err) {
  LGV_TRY(lgv_env_reset(h->env[i], &h->obs[i], err));
  LGV_TRY(lgv_agent_set_stream(h->agent, i, err));
  LGV_TRY(lgv_agent_begin_episode(h->agent, err));
  h->running[i] = true;
  h->sum[i] = 0;
  return LGV_OK;
}

static lgv_status choose_next(by_hand *h, int32_t i, lgv_error *err) {
  if (!h->running[i]) LGV_TRY(begin(h, i, err));
  LGV_TRY(lgv_agent_set_stream(h->agent, i, err));
  h->chosen[i] = true;
  return lgv_agent_act(h->agent, &h->obs[i], LGV_TRAIN, &h->action[i], err);
}

static lgv_status learn_from(by_hand *h, int32_t i, lgv_error *err) {
  lgv_transition t = {.obs = h->obs[i], .action = &h->action[i]};
  lgv_outcome o;
  LGV_TRY(lgv_env_step(h->env[i], t.action, &o, &t.next, err));
  t.reward = o.reward;
  t.terminated = o.terminated;
  t.truncated = o.truncated;
  h->sum[i] += o.reward;
  h->obs[i] = t.next;
  h->steps++;
  LGV_TRY(lgv_agent_set_stream(h->agent, i, err));
  LGV_TRY(lgv_agent_observe(h->agent, &t, err));
  if (!o.terminated && !o.truncated) return LGV_OK;
  LGV_TRY(lgv_agent_end_episode(h->agent, err));
  h->running[i] = false;
  h->episodes++;
  h->total += h->sum[i];
  return LGV_OK;
}

/* In the first round all episodes begin before the first action. */
static lgv_status take_round(by_hand *h, lgv_error *err) {
  for (int32_t i = 0; i < h->n; i++)
    if (!h->running[i]) LGV_TRY(begin(h, i, err));
  for (int32_t i = 0; i < h->n; i++)
    if (!h->chosen[i]) LGV_TRY(choose_next(h, i, err));
  for (int32_t i = 0; i < h->n; i++) {
    LGV_TRY(learn_from(h, i, err));
    h->chosen[i] = false;
    if (h->n > 1) LGV_TRY(choose_next(h, i, err));
  }
  return LGV_OK;
}

static const char *const deep[] = {
    "dqn", "adam-lmcdqn", "bootstrapped-dqn", "prioritized-dqn", "noisynet-dqn", "hyperagent"};

/* Every reward, so every action, so every parameter that mattered, must agree. One environment is
 * the loop that there always was. */
static void a_run_is_the_loop_by_hand(void **state) {
  (void)state;
  for (int32_t n = 1; n <= 3; n += 2)
    for (size_t a = 0; a < sizeof deep / sizeof *deep; a++) {
      char extra[128];
      snprintf(extra, sizeof extra, "run.steps=1500 run.eval_every=0 run.envs=%d agent.replay=1200",
               n);
      lgv_plan *plan = make_plan("cartpole", deep[a], extra);
      lgv_summary summary = run_plan(plan, 11);
      by_hand h;
      lgv_error err = {0};
      open_by_hand(&h, plan, n, 11);
      while (h.steps < 1500)
        if (take_round(&h, &err) != LGV_OK) fail_msg("%s", err.message);
      assert_int_equal(summary.steps, 1500);
      assert_int_equal(summary.episodes, h.episodes);
      assert_true(summary.episodes > 10);
      assert_true(summary.mean_return == h.total / (double)h.episodes);
      lgv_agent_free(h.agent);
      for (int32_t i = 0; i < n; i++) lgv_env_free(h.env[i]);
      lgv_plan_free(plan);
    }
}

/* ---- budget and slices ---- */

/* Bit for bit, NaN included; bytes after the last member do not count. */
static void assert_same_summary(const lgv_summary *a, const lgv_summary *b) {
  assert_memory_equal(a, b, offsetof(lgv_summary, finished) + sizeof a->finished);
}

static lgv_summary run_in_slices(const lgv_plan *plan, int64_t slice) {
  lgv_run *run;
  lgv_error err = {0};
  lgv_summary summary;
  bool done = false;
  assert_int_equal(lgv_run_create(plan, 5, NULL, &run, &err), LGV_OK);
  while (!done)
    if (lgv_run_advance(run, slice, &done, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_run_summary(run, &summary);
  lgv_run_free(run);
  return summary;
}

static void slices_make_no_difference(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("cartpole", "dqn", "run.envs=3 run.steps=1000 run.eval_every=70");
  lgv_summary whole = run_in_slices(plan, 1 << 20), slices = run_in_slices(plan, 1);
  assert_same_summary(&whole, &slices);
  assert_int_equal(whole.steps, 1000); /* not 1002 */
  assert_true(whole.finished);
  lgv_plan_free(plan);
  plan = make_plan("cartpole", "dqn", "run.steps=1000 run.eval_every=70");
  lgv_summary one = run_in_slices(plan, 1 << 20);
  assert_true(one.mean_return != whole.mean_return);
  lgv_plan_free(plan);
}

static void a_budget_of_episodes_ends_with_a_round(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("cartpole", "dqn", "run.envs=4 run.episodes=30 run.eval_every=0");
  lgv_summary summary = run_plan(plan, 5);
  assert_true(summary.finished);
  assert_true(summary.episodes >= 30 && summary.episodes <= 33);
  lgv_plan_free(plan);
}

static void evaluations_are_as_many_as_asked_for(void **state) {
  (void)state;
  char root[TEMP_SIZE], directory[PATH_MAX];
  make_temp(root);
  join(directory, root, "run");
  lgv_plan *plan = make_plan("cartpole", "dqn", "run.envs=3 run.steps=1000 run.eval_every=100");
  lgv_run *run;
  lgv_error err = {0};
  bool done;
  assert_int_equal(lgv_run_create(plan, 5, directory, &run, &err), LGV_OK);
  assert_int_equal(lgv_run_advance(run, 1 << 20, &done, &err), LGV_OK);
  assert_int_equal(lgv_run_finish(run, &err), LGV_OK);
  lgv_run_free(run);
  char *text = read_text(directory, "metrics.csv");
  int lines = 0;
  for (char *c = text; *c; c++) lines += *c == '\n';
  assert_int_equal(lines, 1 + 11);         /* the names; steps 0, 102, 201, ..., 1000 */
  assert_non_null(strstr(text, "\n102,")); /* with the first round that reaches it */
  assert_non_null(strstr(text, "\n201,"));
  assert_non_null(strstr(text, "\n1000,"));
  free(text);
  remove_tree(root);
  lgv_plan_free(plan);
}

/* ---- environments that work at the same time ---- */

static char calls[4096]; /* b: a step began, e: it ended */

static void note_call(char c) {
  size_t length = strlen(calls);
  if (length + 1 < sizeof calls) calls[length] = c;
}

static lgv_status begin_step(void *self, const lgv_action *action, lgv_rng *rng, lgv_error *err) {
  (void)rng, (void)err;
  ((outside *)self)->kept[1] = action->choice;
  note_call('b');
  return LGV_OK;
}

static lgv_status end_step(void *self, lgv_rng *rng, lgv_outcome *outcome, lgv_error *err) {
  note_call('e');
  return outside_step(self, choice((int32_t)((outside *)self)->kept[1]), rng, outcome, err);
}

/* Every environment but the one that the agent learns from moves. After every 30 steps they rest
 * for a checkpoint. */
static void environments_move_while_the_agent_learns(void **state) {
  (void)state;
  lgv_env_type halves = outside_type;
  halves.step = NULL;
  halves.step_begin = begin_step;
  halves.step_end = end_step;
  const char *extra = "run.envs=3 run.steps=302 run.eval_every=0 run.checkpoint_every=30";
  memset(calls, 0, sizeof calls);
  lgv_plan *plan = make_outside_plan(&halves, "dqn", extra);
  lgv_summary summary = run_plan(plan, 2);
  lgv_plan_free(plan);
  assert_int_equal(strlen(calls), 604);
  for (int i = 0; i < 600; i += 60)
    assert_memory_equal(calls + i, "bbbebebebebebebebebebebebebebebebebebebebebebebebebebebebeee",
                        60);
  assert_string_equal(calls + 600, "bbee"); /* the last two steps of the budget */
  memset(calls, 0, sizeof calls); /* without a checkpoint, they rest before the shorter round */
  plan = make_outside_plan(&halves, "dqn", "run.envs=3 run.steps=20 run.eval_every=0");
  run_plan(plan, 2);
  lgv_plan_free(plan);
  assert_string_equal(calls, "bbbebebebebebebebebebebebebebebebeeebbee");
  plan = make_outside_plan(&outside_type, "dqn", extra);
  lgv_summary same = run_plan(plan, 2);
  assert_same_summary(&summary, &same);
  lgv_plan_free(plan);
}

/* ---- what is refused ---- */

static void refuse(const char *env, const char *agent, const char *extra, const char *message) {
  lgv_settings *settings = make_settings(env, agent, extra);
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
  if (!strstr(err.message, message)) fail_msg("%s", err.message);
  lgv_settings_free(settings);
}

static void agents_that_plan_by_episode_are_refused(void **state) {
  (void)state;
  for (size_t a = 0; lgv__agents[a]; a++)
    if (lgv__agents[a]->traits & LGV_SETTLES_PER_EPISODE)
      refuse("riverswim", lgv__agents[a]->name, "run.envs=2", "run.envs must be 1");
  refuse("cartpole", "dqn", "run.envs=0", "run.envs");
  refuse("cartpole", "dqn", "run.envs=600 agent.replay=1100", "each of run.envs = 600");
}

static void an_agent_alone_takes_several_streams(void **state) {
  (void)state;
  lgv_settings *settings = make_settings("cartpole", "dqn", "run.envs=3");
  lgv_env *env;
  lgv_agent *agent;
  lgv_error err = {0};
  assert_int_equal(lgv_env_create(settings, 0, &env, &err), LGV_OK);
  if (lgv_agent_create(settings, lgv_env_get_spec(env), 0, 100, 0, &agent, &err) != LGV_OK)
    fail_msg("%s", err.message);
  assert_int_equal(lgv_agent_set_stream(agent, 2, &err), LGV_OK);
  assert_int_equal(lgv_agent_set_stream(agent, 3, &err), LGV_ERR_USAGE);
  assert_int_equal(lgv_agent_set_stream(agent, -1, &err), LGV_ERR_USAGE);
  lgv_agent_free(agent);
  lgv_env_free(env);
  lgv_settings_free(settings);
}

/* ---- learning ---- */

static double final_return(const char *env, const char *agent, const char *extra) {
  lgv_plan *plan = make_plan(env, agent, extra);
  lgv_summary summary = run_plan(plan, 1);
  lgv_plan_free(plan);
  return summary.final_return;
}

static void agents_learn_from_four_environments(void **state) {
  (void)state;
  double cartpole = final_return("cartpole", "dqn", "run.envs=4 run.steps=20000");
  double chain = final_return("nchain", "adam-lmcdqn", "run.envs=4 env.n=10 run.steps=20000");
  if (!(cartpole > 150)) fail_msg("cartpole: %g", cartpole);
  if (!(chain > 9)) fail_msg("nchain: %g", chain);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_is_the_loop_by_hand),
      cmocka_unit_test(slices_make_no_difference),
      cmocka_unit_test(a_budget_of_episodes_ends_with_a_round),
      cmocka_unit_test(evaluations_are_as_many_as_asked_for),
      cmocka_unit_test(environments_move_while_the_agent_learns),
      cmocka_unit_test(agents_that_plan_by_episode_are_refused),
      cmocka_unit_test(an_agent_alone_takes_several_streams),
      cmocka_unit_test(agents_learn_from_four_environments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
