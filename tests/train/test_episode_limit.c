/* Tasks without an end: run.episode_steps, its default, what agents see of it, and its notices. */
#include "agent/agent.h"
#include "config/plan.h"

#include "gym_helpers.h"
#include "kill_helpers.h"

/* ---- `loop`: eight places in a circle, no end ----
 *
 * Action 1 moves one place further, action 0 stays; the fifth place pays 1. With env.horizon,
 * episodes are truncated there. `game` is the same, and says that its episodes end in time. */

typedef struct loop_params {
  int64_t horizon;
} loop_params;

typedef struct loop {
  int64_t horizon, *at; /* [0] place, [1] stage */
} loop;

enum { PLACES = 8 };

static const lgv_param loop_table[] = {
    {.name = "horizon",
     .type = LGV_INT,
     .offset = offsetof(loop_params, horizon),
     .default_text = "0",
     .min = 0,
     .max = 1e9,
     .help = ""},
    {0},
};

static lgv_status loop_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  (void)err;
  *spec = (lgv_env_spec){.obs_kind = LGV_OBS_FLOAT,
                         .obs_form = LGV_FORM_ONE_HOT,
                         .obs_shape = {PLACES, 1, 1},
                         .actions = lgv_discrete(2),
                         .states = PLACES,
                         .horizon = ((const loop_params *)params)->horizon,
                         .stationary = true,
                         .clock_truncates = true,
                         .reward_max = 1};
  return LGV_OK;
}

static void loop_layout(void *self, const void *params, const lgv_env_spec *spec,
                        lgv_layout *layout) {
  (void)spec;
  loop *l = self;
  l->horizon = ((const loop_params *)params)->horizon;
  l->at = lgv_layout_array(layout, "loop.at", LGV_I64, 2, LGV_KEEP);
}

static lgv_status loop_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  loop *l = self;
  l->at[0] = lgv_rng_below(rng, PLACES);
  l->at[1] = 0;
  return LGV_OK;
}

static lgv_status loop_step(void *self, const lgv_action *action, lgv_rng *rng,
                            lgv_outcome *outcome, lgv_error *err) {
  (void)rng, (void)err;
  loop *l = self;
  l->at[0] = (l->at[0] + action->choice) % PLACES;
  *outcome = (lgv_outcome){.reward = l->at[0] == 4, .truncated = ++l->at[1] == l->horizon};
  return LGV_OK;
}

static void loop_observe(const void *self, void *data) {
  memset(data, 0, PLACES * sizeof(float));
  ((float *)data)[((const loop *)self)->at[0]] = 1;
}

static int64_t loop_state(const void *self) { return ((const loop *)self)->at[0]; }

#define LOOP(name_)                                                                                \
  .name = name_, .summary = "a circle", .params = loop_table, .params_size = sizeof(loop_params),  \
  .state_size = sizeof(loop), .spec = loop_spec, .layout = loop_layout, .reset = loop_reset,       \
  .step = loop_step, .observe = loop_observe, .state_index = loop_state

static const lgv_env_type loop_type = {.size = sizeof(lgv_env_type), LOOP("loop")};
static const lgv_env_type game_type = {
    .size = sizeof(lgv_env_type), LOOP("game"), .limits_episodes = true};

/* ---- `witness`: an agent that counts what it is told ---- */

static struct { int64_t begun, ended, truncated, terminated, last_stage; } seen;

static void witness_layout(void *self, const void *params, const lgv_problem *problem,
                           lgv_layout *layout) {
  (void)self, (void)params, (void)problem, (void)layout;
}

static lgv_status witness_begin(void *self, lgv_error *err) {
  (void)self, (void)err;
  seen.begun++;
  return LGV_OK;
}

static lgv_status witness_act(void *self, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                              lgv_error *err) {
  (void)self, (void)obs, (void)mode, (void)err;
  action->choice = 1;
  return LGV_OK;
}

static lgv_status witness_observe(void *self, const lgv_transition *t, lgv_error *err) {
  (void)self, (void)err;
  seen.truncated += t->truncated;
  seen.terminated += t->terminated;
  if (t->truncated) seen.last_stage = t->next.stage;
  return LGV_OK;
}

static lgv_status witness_end(void *self, lgv_error *err) {
  (void)self, (void)err;
  seen.ended++;
  return LGV_OK;
}

static void witness_stream(void *self, int32_t stream) { (void)self, (void)stream; }

static const lgv_agent_type witness_type = {
    .size = sizeof(lgv_agent_type),
    .name = "witness",
    .summary = "counts",
    .layout = witness_layout,
    .begin_episode = witness_begin,
    .act = witness_act,
    .observe = witness_observe,
    .end_episode = witness_end,
    .set_stream = witness_stream,
};

static char notices[4000];

static lgv_settings *loop_settings(const char *env, const char *agent, const char *extra) {
  lgv_settings *settings = make_settings(env, agent, extra);
  lgv_error err = {0};
  assert_int_equal(lgv_settings_add_env(settings, &loop_type, &err), LGV_OK);
  assert_int_equal(lgv_settings_add_env(settings, &game_type, &err), LGV_OK);
  assert_int_equal(lgv_settings_add_agent(settings, &witness_type, &err), LGV_OK);
  memset(notices, 0, sizeof notices);
  memset(&seen, 0, sizeof seen);
  lgv_settings_on_notice(settings, keep_notice, notices);
  return settings;
}

static lgv_plan *loop_plan(const char *env, const char *agent, const char *extra) {
  lgv_settings *settings = loop_settings(env, agent, extra);
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  if (lgv_plan_create(settings, &plan, &err) != LGV_OK) fail_msg("%s: %s", agent, err.message);
  lgv_settings_free(settings);
  return plan;
}

static lgv_summary play(const char *env, const char *agent, const char *extra) {
  lgv_plan *plan = loop_plan(env, agent, extra);
  lgv_summary summary = run_plan(plan, 1);
  lgv_plan_free(plan);
  return summary;
}

/* ---- The rule ---- */

static void the_default_follows_the_picture_and_the_budget(void **state) {
  (void)state;
  const struct {
    int32_t height, width;
    int64_t horizon, steps, expected;
  } rows[] = {
      {4, 1, 0, 0, 10000},
      {4, 1, 0, 1000000, 10000},
      {4, 1, 0, 200000, 10000},
      {4, 1, 0, 199980, 9999},
      {4, 1, 0, 2020, 101},
      {4, 1, 0, 1000, 100},
      {4, 1, 0, 1, 100},
      {4, 1, 7, 1000, 0},
      {36, 36, 0, 0, 108000},
      {84, 84, 0, 100000, 5000},
      {35, 36, 0, 0, 10000},
      {36, 35, 0, 0, 10000},
      {84, 84, 0, 9999999, 108000},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv_env_spec spec = {.obs_shape = {rows[i].height, rows[i].width, 1},
                         .horizon = rows[i].horizon};
    assert_int_equal(lgv_episode_steps(&spec, rows[i].steps), rows[i].expected);
  }
}

static void plans_settle_what_is_left_out(void **state) {
  (void)state;
  const struct {
    const char *env, *extra;
    int64_t expected;
  } rows[] = {
      {"loop", "run.steps=40000", 2000},
      {"loop", "run.steps=40000 run.envs=4", 500},
      {"loop", "run.steps=40000 run.episode_steps=7", 7},
      {"loop", "run.steps=40000 run.episode_steps=0", 0},
      {"loop", "run.episodes=5", 10000},
      {"loop", "run.steps=40000 env.horizon=30", 0},
      {"loop", "run.steps=40000 env.horizon=30 run.episode_steps=7", 7},
      {"game", "run.steps=40000", 0},
      {"game", "run.steps=40000 run.episode_steps=7", 7},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv_plan *plan = loop_plan(rows[i].env, "witness", rows[i].extra);
    assert_int_equal(plan->run.episode_steps, rows[i].expected);
    lgv_plan_free(plan);
  }
}

/* Agents that plan for the whole horizon would never see its end. */
static void a_horizon_that_is_needed_stays_whole(void **state) {
  (void)state;
  lgv_settings *settings = make_settings("riverswim", "lmc-lsvi", "run.episode_steps=39");
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "run.episode_steps = 39"));
  assert_non_null(strstr(err.message, "horizon of 40 steps"));
  lgv_settings_free(settings);
  lgv_plan_free(make_plan("riverswim", "lmc-lsvi", "run.episode_steps=40"));
}

/* ---- Episodes ---- */

static void agents_see_a_truncation_and_a_new_episode(void **state) {
  (void)state;
  for (int64_t envs = 1; envs <= 3; envs += 2) {
    char extra[128];
    snprintf(extra, sizeof extra,
             "run.steps=1500 run.eval_every=0 run.episode_steps=50 run.envs=%d", (int)envs);
    lgv_summary summary = play("loop", "witness", extra);
    assert_int_equal(summary.episodes, 30);
    assert_int_equal(seen.begun, 30 + (envs > 1 ? envs : 0)); /* or the next ones, too */
    assert_int_equal(seen.ended, 30);
    assert_int_equal(seen.truncated, 30);
    assert_int_equal(seen.terminated, 0);
    assert_int_equal(seen.last_stage, 50);
    assert_true(summary.mean_return >= 6 && summary.mean_return <= 7);
  }
}

/* An explicit value also shortens the episodes of an environment with a longer horizon. */
static void a_shorter_limit_wins_over_the_horizon(void **state) {
  (void)state;
  assert_int_equal(
      play("loop", "witness", "run.steps=600 env.horizon=30 run.episode_steps=20").episodes, 30);
  assert_string_equal(notices, ""); /* it was asked for */
  assert_int_equal(
      play("loop", "witness", "run.steps=600 env.horizon=30 run.episode_steps=40").episodes, 20);
  assert_int_equal(play("loop", "witness", "run.steps=600 env.horizon=30").episodes, 20);
}

static bool takes_the_loop(const lgv_agent_type *type) {
  return !(type->traits & (LGV_NEEDS_STATES | LGV_NEEDS_HORIZON | LGV_TAKES_BOX));
}

static void every_agent_ends_episodes(void **state) {
  (void)state;
  int agents = 0;
  for (size_t a = 0; lgv__agents[a]; a++) {
    if (!takes_the_loop(lgv__agents[a])) continue;
    assert_int_equal(play("loop", lgv__agents[a]->name, "run.steps=650").episodes, 6);
    assert_string_equal(notices, "loop has no time limit: episodes are truncated after 100 steps "
                                 "(run.episode_steps)\n");
    agents++;
  }
  assert_true(agents >= 15);
}

/* ---- Agents that plan or resample between episodes ---- */

typedef struct lesson {
  lgv_env *env;
  lgv_agent *agent;
  lgv_trainer *trainer;
} lesson;

static lesson make_lesson(const char *env, const char *agent, const char *extra, int64_t steps) {
  lesson l;
  lgv_error err = {0};
  lgv_settings *settings = loop_settings(env, agent, extra);
  assert_int_equal(lgv_env_create(settings, 1, &l.env, &err), LGV_OK);
  if (lgv_agent_create(settings, lgv_env_get_spec(l.env), 0, steps, 1, &l.agent, &err) != LGV_OK)
    fail_msg("%s", err.message);
  assert_int_equal(lgv_trainer_create(l.agent, l.env, &l.trainer, &err), LGV_OK);
  lgv_settings_free(settings);
  return l;
}

static void end_lesson(lesson *l) {
  lgv_trainer_free(l->trainer);
  lgv_agent_free(l->agent);
  lgv_env_free(l->env);
}

static int64_t teach(lesson *l, int64_t steps) {
  lgv_error err = {0};
  lgv_episode episodes[64];
  int64_t made, ended;
  if (lgv_trainer_advance(l->trainer, steps, episodes, 64, &made, &ended, &err) != LGV_OK)
    fail_msg("%s", err.message);
  assert_int_equal(made, steps);
  return ended;
}

static void the_bootstrapped_member_changes_at_truncations(void **state) {
  (void)state;
  lesson l = make_lesson("loop", "bootstrapped-dqn", "agent.heads=10 agent.warmup=64", 2000);
  const int64_t *member = agent_array(l.agent, "member", NULL);
  int changes = 0;
  for (int i = 0; i < 20; i++) {
    teach(&l, 1); /* the first step of an episode */
    int64_t before = *member;
    assert_int_equal(teach(&l, 98), 0);
    assert_int_equal(*member, before);
    assert_int_equal(teach(&l, 1), 1);
    teach(&l, 1);
    changes += *member != before;
    assert_int_equal(teach(&l, 99), 1);
  }
  assert_true(changes > 10);
  end_lesson(&l);
}

/* New cells begin with draws of their own; those of the others change with the next sample. */
static void pathwise_lmcdqn_plans_at_truncations(void **state) {
  (void)state;
  lesson l = make_lesson("loop", "pathwise-lmcdqn", NULL, 2000);
  teach(&l, 101);                                            /* one step into the second episode */
  const float *x = agent_array(l.agent, "pair.prior", NULL); /* the chain */
  const int64_t *cells = agent_array(l.agent, "cell.size", NULL);
  float before[2 * PLACES];
  size_t known = 2 * (size_t)cells[0] * sizeof *x;
  assert_in_range(known, sizeof *x, sizeof before);
  memcpy(before, x, known);
  teach(&l, 98);
  assert_memory_equal(x, before, known);
  assert_int_equal(teach(&l, 1), 1);
  teach(&l, 1);
  assert_true(memcmp(x, before, known) != 0);
  end_lesson(&l);
}

/* ---- The trainer ---- */

static void a_trainer_has_the_limit_of_a_run(void **state) {
  (void)state;
  lesson l = make_lesson("loop", "witness", NULL, 4000);
  lgv_error err = {0};
  assert_int_equal(teach(&l, 199), 0);
  assert_string_equal(notices, "");
  assert_int_equal(teach(&l, 1), 1);
  assert_string_equal(notices, "loop has no time limit: episodes are truncated after 200 steps "
                               "(run.episode_steps)\n");
  assert_int_equal(teach(&l, 400), 2);
  assert_null(strchr(strchr(notices, '\n') + 1, '\n')); /* told once */
  assert_int_equal(lgv_trainer_set_episode_steps(l.trainer, 30, &err), LGV_OK);
  assert_int_equal(teach(&l, 90), 3);
  assert_int_equal(lgv_trainer_set_episode_steps(l.trainer, 0, &err), LGV_OK);
  assert_int_equal(teach(&l, 1000), 0);
  assert_int_equal(lgv_trainer_set_episode_steps(l.trainer, -1, &err), LGV_ERR_USAGE);
  end_lesson(&l);
  l = make_lesson("game", "witness", NULL, 4000);
  assert_int_equal(teach(&l, 4000), 0);
  end_lesson(&l);
  l = make_lesson("riverswim", "psrl", NULL, 4000);
  assert_int_equal(lgv_trainer_set_episode_steps(l.trainer, 39, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "psrl plans for the whole horizon of 40 steps"));
  end_lesson(&l);
}

/* ---- Notices ---- */

static void a_run_without_ends_says_so_once(void **state) {
  (void)state;
  const char *const waiting = " has not ended an episode for 10000 steps; set run.episode_steps to "
                              "truncate episodes earlier\n";
  const struct {
    const char *env, *extra;
    bool expected;
  } rows[] = {
      {"loop", "run.steps=9999 env.horizon=30000", false},
      {"loop", "run.steps=60000 env.horizon=30000", true},
      {"loop", "run.steps=60000 env.horizon=10000", false},
      {"loop", "run.steps=60000 env.horizon=30000 run.episode_steps=20000", false},
      {"loop", "run.steps=19999 run.envs=2 run.episode_steps=0", false},
      {"loop", "run.steps=50000 run.envs=2 run.episode_steps=0", true},
      {"game", "run.steps=25000", true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char extra[160], expected[200] = "";
    snprintf(extra, sizeof extra, "%s run.eval_every=0", rows[i].extra);
    if (rows[i].expected) snprintf(expected, sizeof expected, "%s%s", rows[i].env, waiting);
    play(rows[i].env, "witness", extra);
    if (strcmp(notices, expected) != 0) fail_msg("%s: '%s'", extra, notices);
  }
}

/* ---- Resuming ---- */

/* Checkpoints lie within episodes: the truncation comes at the same step as without a kill. */
static void a_killed_run_truncates_at_the_same_steps(void **state) {
  (void)state;
  const char *const agents[] = {"bootstrapped-dqn", "pathwise-lmcdqn", "adam-lmcdqn"};
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "kills");
  for (size_t a = 0; a < sizeof agents / sizeof *agents; a++) {
    char root[TEMP_SIZE], alone[PATH_MAX], killed[PATH_MAX];
    lgv_error err = {0};
    lgv_plan *plan = loop_plan("loop", agents[a], "run.steps=1650 run.checkpoint_every=70");
    make_temp(root);
    join(alone, root, "alone");
    join(killed, root, "killed");
    double begun = kill_clock();
    if (finish_run(plan, alone, false, &err) != LGV_OK) fail_msg("%s", err.message);
    double whole = kill_clock() - begun;
    for (int kills = 0; kills < 3;) {
      kills += live(plan, killed, whole, &rng);
      if (kills == 0) remove_tree(killed); /* it was too fast */
    }
    if (finish_run(plan, killed, true, &err) != LGV_OK) fail_msg("%s", err.message);
    assert_same_records(alone, killed);
    char *summary = read_text(alone, "summary.json");
    assert_non_null(strstr(summary, "\"episodes\": 16,"));
    free(summary);
    remove_tree(root);
    lgv_plan_free(plan);
  }
}

/* ---- A real one ---- */

static void cliff_walking_ends_for_every_kind_of_agent(void **state) {
  (void)state;
  if (!gym_is_there()) skip();
  const char *const agents[] = {"dqn", "adam-lmcdqn", "bootstrapped-dqn", "pathwise-lmcdqn"};
  for (size_t a = 0; a < sizeof agents / sizeof *agents; a++) {
    lgv_summary summary = play("gym:CliffWalking-v1", agents[a], "run.steps=1000 run.eval_every=0");
    assert_true(summary.episodes >= 10);
    assert_string_equal(notices, "gym:CliffWalking-v1 has no time limit: episodes are truncated "
                                 "after 100 steps (run.episode_steps)\n");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_default_follows_the_picture_and_the_budget),
      cmocka_unit_test(plans_settle_what_is_left_out),
      cmocka_unit_test(a_horizon_that_is_needed_stays_whole),
      cmocka_unit_test(agents_see_a_truncation_and_a_new_episode),
      cmocka_unit_test(a_shorter_limit_wins_over_the_horizon),
      cmocka_unit_test(every_agent_ends_episodes),
      cmocka_unit_test(the_bootstrapped_member_changes_at_truncations),
      cmocka_unit_test(pathwise_lmcdqn_plans_at_truncations),
      cmocka_unit_test(a_trainer_has_the_limit_of_a_run),
      cmocka_unit_test(a_run_without_ends_says_so_once),
      cmocka_unit_test(a_killed_run_truncates_at_the_same_steps),
      cmocka_unit_test(cliff_walking_ends_for_every_kind_of_agent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
