/* The verbs of deep Q-learning against hand-made Q tables, closed forms and finite differences. A
 * network without hidden layers over one-hot observations is a table: Q(s, a) = w[s, a] + b[a]. */
#include "deep_helpers.h"

#include "base/memory.h"
#include "registry.h"

#include <math.h>
#include <stdio.h>

enum { STATES = 3, ACTIONS = 2 };

static void no_hidden_layers(void *params) { ((dqn_params *)params)->hidden.count = 0; }

static dqn *open_table(deep_rig *rig, const char *extra) {
  deep_open(rig, "dqn", deep_spec(STATES, ACTIONS), extra, no_hidden_layers);
  dqn *c = rig->self;
  assert_int_equal(c->dim, STATES * ACTIONS + ACTIONS);
  memset(c->w, 0, (size_t)c->dim * sizeof *c->w);
  memset(c->w_target, 0, (size_t)c->dim * sizeof *c->w);
  return c;
}

static void add(deep_rig *rig, int from, int action, int to, double reward, bool terminated) {
  lgv_error err = {0};
  assert_int_equal(deep_observe(rig, 0, from, action, to, reward, terminated, &err), LGV_OK);
}

static void fill_table(float *w, const float *table) {
  memcpy(w, table, STATES * ACTIONS * sizeof *w);
}

static const float online_q[] = {0, 0, 1, 2, 5, 3}, target_q[] = {0, 0, 40, 30, 10, 20};
#define QUIET "agent.warmup=1000 agent.batch=4 "

/* From s_0 by action 0 with reward 1 to s_1: plain takes max(40, 30), double the target's value of
 * the online choice, action 1. */
static void targets_follow_hand_made_tables(void **state) {
  (void)state;
  for (int is_double = 0; is_double < 2; is_double++) {
    deep_rig rig;
    dqn *c = open_table(&rig, is_double ? QUIET "agent.gamma=0.5 agent.double=true"
                                        : QUIET "agent.gamma=0.5");
    fill_table(c->w, online_q);
    fill_table(c->w_target, target_q);
    add(&rig, 0, 0, 1, 1, false);
    lgv__dqn_sample(c);
    lgv__dqn_forward(c, c->w, c->w_target);
    lgv__dqn_targets(c);
    for (int i = 0; i < 4; i++) assert_float_equal(c->y[i], 1 + 0.5 * (is_double ? 30 : 40), 0);
    deep_close(&rig);
  }
}

static void a_terminated_step_has_no_value_beyond(void **state) {
  (void)state;
  deep_rig rig;
  dqn *c = open_table(&rig, QUIET);
  fill_table(c->w_target, target_q);
  add(&rig, 0, 0, 1, 1, true);
  lgv__dqn_sample(c);
  lgv__dqn_forward(c, c->w, c->w_target);
  lgv__dqn_targets(c);
  assert_float_equal(c->y[0], 1, 0);
  deep_close(&rig);
}

/* An episode that a clock cut off continues in its target; one that terminated has ended, whether
 * or not the clock ran out at the same step. With n = 1 and n = 3. */
static void only_a_clock_leaves_a_value_beyond(void **state) {
  (void)state;
  const bool flags[][2] = {{true, false}, {false, true}, {true, true}}; /* terminated, truncated */
  for (int i = 0; i < 6; i++) {
    deep_rig rig;
    lgv_error err = {0};
    float a[DEEP_MOST_LENGTH], b[DEEP_MOST_LENGTH];
    bool terminated = flags[i / 2][0], truncated = flags[i / 2][1];
    dqn *c =
        open_table(&rig, i % 2 ? QUIET "agent.gamma=0.5 agent.n_step=3" : QUIET "agent.gamma=0.5");
    fill_table(c->w_target, target_q);
    lgv_transition t = {.obs = deep_obs(&rig, 1, 0, a),
                        .next = deep_obs(&rig, 2, 1, b),
                        .action = choice(0),
                        .reward = 7,
                        .terminated = terminated,
                        .truncated = truncated};
    assert_int_equal(rig.type->observe(rig.self, &t, &err), LGV_OK);
    lgv__dqn_sample(c);
    lgv__dqn_forward(c, c->w, c->w_target);
    lgv__dqn_targets(c);
    float beyond = fmaxf(target_q[2 * ACTIONS], target_q[2 * ACTIONS + 1]);
    assert_true(beyond > 1);
    assert_float_equal(c->y[0], terminated ? 7 : 7 + 0.5f * beyond, 1e-5);
    deep_close(&rig);
  }
}

static void double_targets_with_equal_networks_are_plain_ones(void **state) {
  (void)state;
  float y[2][32];
  for (int is_double = 0; is_double < 2; is_double++) {
    deep_rig rig;
    lgv_rng rng;
    lgv_rng_seed(&rng, 5, "walk");
    deep_open(&rig, "dqn", deep_spec(10, 2),
              is_double ? "agent.warmup=1000 agent.double=true" : "agent.warmup=1000", NULL);
    dqn *c = rig.self;
    deep_walk(&rig, 100, &rng);
    lgv__dqn_sample(c);
    lgv__dqn_forward(c, c->w, c->w_target);
    lgv__dqn_targets(c);
    memcpy(y[is_double], c->y, sizeof y[0]);
    deep_close(&rig);
  }
  assert_memory_equal(y[0], y[1], sizeof y[0]);
}

/* mean (y - Q)^2 and its slope 2 (Q - y) / B; Huber's: half the square and slope 1 beyond 1. */
static void losses_have_their_closed_forms(void **state) {
  (void)state;
  for (int huber = 0; huber < 2; huber++) {
    deep_rig rig;
    dqn *c = open_table(&rig, huber ? QUIET "agent.loss=huber" : QUIET);
    fill_table(c->w, online_q);
    add(&rig, 2, 0, 1, 5.25, true); /* error 5 - 5.25 */
    lgv__dqn_sample(c);
    lgv__dqn_forward(c, c->w, c->w_target);
    lgv__dqn_targets(c);
    c->y[3] = 2; /* error 3 for the last sample */
    lgv__dqn_loss(c);
    double expected = huber ? (3 * 0.5 * 0.0625 + 2.5) / 4 : (3 * 0.0625 + 9) / 4;
    assert_float_equal(c->loss, expected, 1e-6);
    assert_float_equal(c->d_q[0], huber ? -0.25 / 4 : -0.5 / 4, 1e-7);
    assert_float_equal(c->d_q[3 * ACTIONS], huber ? 1.0 / 4 : 6.0 / 4, 1e-7);
    assert_float_equal(c->d_q[1], 0, 0);
    deep_close(&rig);
  }
}

/* Squares are weighted; Huber's slope is clip(w e, -1, 1), the weight within the clip. */
static void every_sample_has_the_loss_of_its_own_action(void **state) {
  (void)state;
  deep_rig rig;
  dqn *c = open_table(&rig, QUIET);
  const float q[4 * ACTIONS] = {1, 2, 3, 4, 5, 6, 7, 8}, y[4] = {0};
  const int32_t actions[4] = {0, 1, 1, 0};
  memcpy(c->batch.action, actions, sizeof actions);
  lgv__dqn_loss_clear(c);
  lgv__dqn_loss_add(c, q, y, NULL, c->d_q);
  for (int i = 0; i < 4; i++) {
    int taken = i * ACTIONS + actions[i], other = i * ACTIONS + 1 - actions[i];
    assert_float_equal(c->d_q[taken], 2 * q[taken] / 4, 0);
    assert_float_equal(c->d_q[other], 0, 0);
    assert_float_equal(c->error[i], q[taken], 0);
  }
  assert_float_equal(c->loss, (1 * 1 + 4 * 4 + 6 * 6 + 7 * 7) / 4.0, 1e-12);
  deep_close(&rig);
}

static void weights_multiply_losses(void **state) {
  (void)state;
  for (int huber = 0; huber < 2; huber++) {
    deep_rig rig;
    dqn *c = open_table(&rig, huber ? QUIET "agent.prioritized=true agent.loss=huber"
                                    : QUIET "agent.prioritized=true");
    fill_table(c->w, online_q);
    add(&rig, 2, 0, 1, 2, true); /* error 5 - 2 */
    lgv__dqn_sample(c);
    lgv__dqn_forward(c, c->w, c->w_target);
    lgv__dqn_targets(c);
    for (int i = 0; i < 4; i++) assert_float_equal(c->weight[i], 1, 0); /* there is just one */
    c->weight[0] = 0.25f;
    c->weight[1] = 0.5f;
    c->weight[2] = c->weight[3] = 0;
    lgv__dqn_loss(c);
    double expected = huber ? (0.25 * 4.5 + (3 - 1)) / 4 : (0.25 * 9 + 0.5 * 9) / 4;
    assert_float_equal(c->loss, expected, 1e-6);
    assert_float_equal(c->d_q[0], huber ? 0.75 / 4 : 0.25 * 6 / 4, 1e-7);
    assert_float_equal(c->d_q[ACTIONS], huber ? 1.0 / 4 : 0.5 * 6 / 4, 1e-7);
    assert_float_equal(c->d_q[2 * ACTIONS], 0, 0);
    for (int i = 0; i < 4; i++) assert_float_equal(c->error[i], 3, 0);
    deep_close(&rig);
  }
}

/* |y - Q| of the minibatch becomes the priority of what was in it, and of nothing else. */
static void an_update_changes_the_priorities_of_its_minibatch(void **state) {
  (void)state;
  deep_rig rig;
  lgv_error err = {0};
  dqn *c = open_table(&rig, QUIET "agent.prioritized=true agent.priority_alpha=1");
  fill_table(c->w, online_q);
  add(&rig, 2, 0, 1, 2, true);
  for (int i = 0; i < 20; i++) add(&rig, 1, 1, 1, 2 + i, true); /* Q = 2 */
  double before[64];
  for (int64_t e = 0; e < 64; e++) before[e] = sum_tree_get(&c->priority.tree, e);
  assert_int_equal(deep_update(&rig, &err), LGV_OK);
  int changed = 0;
  for (int64_t e = 0; e < 64; e++) {
    double expected = before[e];
    for (int i = 0; i < 4; i++)
      if (c->batch.entry[i] == e) expected = e == 0 ? 3 : (double)(e / 2 - 1);
    changed += expected != before[e];
    assert_float_equal(sum_tree_get(&c->priority.tree, e), expected, 1e-5);
  }
  assert_true(changed > 0);
  deep_close(&rig);
}

/* beta is 0 until agent.warmup and moves to 1 over the 20 steps after it. */
static void weights_grow_uneven_as_learning_goes_on(void **state) {
  (void)state;
  const int64_t steps[] = {5, 30, 40, 50, 1000};
  const double beta[] = {0, 0, 0.5, 1, 1};
  deep_rig rig;
  dqn *c = open_table(&rig, "agent.batch=64 agent.warmup=30 agent.prioritized=true "
                            "agent.priority_beta=0 agent.priority_beta_steps=20");
  add(&rig, 2, 0, 1, 2, true);
  for (int i = 0; i < 20; i++) add(&rig, 1, 1, 1, 2, true);
  for (int64_t e = 0; e <= 40; e += 2) /* the entries between hold last observations */
    lgv__sum_tree_set(&c->priority.tree, e, 1 + (double)e);
  for (int k = 0; k < 5; k++) {
    c->count[DQN_STEPS] = steps[k];
    lgv__dqn_sample(c);
    double rarest = INFINITY, least = 1;
    for (int i = 0; i < 64; i++) rarest = fmin(rarest, c->priority.chance[i]);
    for (int i = 0; i < 64; i++) {
      double expected = pow(rarest / c->priority.chance[i], beta[k]);
      assert_float_equal(c->weight[i], expected, 1e-6);
      least = fmin(least, expected);
    }
    assert_true(beta[k] == 0 || least < 0.5);
  }
  deep_close(&rig);
}

/* One sgd step on a table: w[s, a] and b[a] move by -lr 2 (Q - y), nothing else does. */
static void an_update_moves_the_table_by_the_gradient(void **state) {
  (void)state;
  deep_rig rig;
  lgv_error err = {0};
  dqn *c = open_table(&rig, QUIET "optim.name=sgd optim.lr=0.1 agent.gamma=0.5");
  fill_table(c->w, online_q);
  fill_table(c->w_target, target_q);
  add(&rig, 1, 1, 2, 1, false); /* Q = 2, y = 1 + .5 * 20 */
  assert_int_equal(deep_update(&rig, &err), LGV_OK);
  float expected[STATES * ACTIONS + ACTIONS] = {0};
  fill_table(expected, online_q);
  expected[1 * ACTIONS + 1] += 0.1f * 2 * 9;
  expected[STATES * ACTIONS + 1] += 0.1f * 2 * 9;
  for (int i = 0; i < STATES * ACTIONS + ACTIONS; i++)
    assert_float_equal(c->w[i], expected[i], 1e-5);
  deep_close(&rig);
}

/* The loss as a function of w alone, y fixed. */
static double loss_at(dqn *c, const float *w) {
  lgv__dqn_forward_obs(c, w);
  lgv__dqn_loss(c);
  return c->loss;
}

static void the_gradient_agrees_with_finite_differences(void **state) {
  (void)state;
  deep_rig rig;
  lgv_rng rng;
  lgv_rng_seed(&rng, 5, "walk");
  deep_open(&rig, "dqn", deep_spec(10, 2), "agent.warmup=1000 agent.hidden=8,8 agent.double=true",
            NULL);
  dqn *c = rig.self;
  deep_walk(&rig, 100, &rng);
  lgv__dqn_sample(c);
  lgv__dqn_forward(c, c->w, c->w_target);
  lgv__dqn_targets(c);
  lgv__dqn_loss(c);
  lgv__dqn_backward(c, c->w, c->grad);
  double worst = 0, step = 1e-3;
  for (int64_t i = 0; i < c->dim; i++) {
    float kept = c->w[i];
    c->w[i] = kept + (float)step;
    double above = loss_at(c, c->w);
    c->w[i] = kept - (float)step;
    double below = loss_at(c, c->w);
    c->w[i] = kept;
    worst = fmax(worst, fabs((above - below) / (2 * step) - (double)c->grad[i]));
  }
  assert_true(worst < 2e-3); /* a sum of 32 errors of size 1, rounded to float, over the step */
  deep_close(&rig);
}

/* w- = w as it was before the step of update 0, target_every, ...; and it never moves else. */
static void the_target_is_copied_by_the_count_of_updates(void **state) {
  (void)state;
  deep_rig rig;
  lgv_rng rng;
  lgv_error err = {0};
  lgv_rng_seed(&rng, 5, "walk");
  deep_open(&rig, "dqn", deep_spec(10, 2), "agent.warmup=1000 agent.target_every=7 optim.lr=0.01",
            NULL);
  dqn *c = rig.self;
  size_t bytes = (size_t)c->dim * sizeof *c->w;
  float *w = malloc(bytes), *target = malloc(bytes);
  deep_walk(&rig, 40, &rng);
  for (int update = 0; update < 30; update++) {
    memcpy(w, c->w, bytes);
    memcpy(target, c->w_target, bytes);
    assert_int_equal(deep_update(&rig, &err), LGV_OK);
    assert_memory_equal(c->w_target, update % 7 == 0 ? w : target, bytes);
    assert_memory_not_equal(c->w, w, bytes);
  }
  free(w);
  free(target);
  deep_close(&rig);
}

/* J updates every update_every steps once warmup transitions are there; the J inner steps count for
 * the target copy one by one. */
static void updates_come_when_they_are_due(void **state) {
  (void)state;
  deep_rig rig;
  lgv_rng rng;
  lgv_rng_seed(&rng, 5, "walk");
  deep_open(&rig, "dqn", deep_spec(10, 2),
            "agent.warmup=8 agent.update_every=5 agent.updates=4 agent.batch=2", NULL);
  dqn *c = rig.self;
  const int steps[] = {8, 4, 1, 4, 1, 20}, expected[] = {0, 0, 4, 4, 8, 24};
  for (int i = 0; i < 6; i++) {
    for (int k = 0; k < steps[i]; k++) {
      lgv_error err = {0};
      assert_int_equal(deep_observe(&rig, 0, 1, 0, 2, 0, true, &err), LGV_OK);
    }
    assert_int_equal(c->count[DQN_UPDATES], expected[i]);
  }
  deep_close(&rig);
  deep_open(&rig, "dqn", deep_spec(10, 2),
            "agent.warmup=8 agent.update_every=0 agent.updates=3 agent.batch=2", NULL);
  c = rig.self;
  deep_walk(&rig, 12, &rng); /* episodes of 4: ends at 4 (too early), 8 and 12 */
  assert_int_equal(c->count[DQN_UPDATES], 6);
  deep_close(&rig);
}

static void a_loss_that_explodes_stops_the_run_and_says_why(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("nchain", "dqn", "optim.name=sgd optim.lr=1e6 run.steps=5000");
  lgv_run *run;
  lgv_error err = {0};
  bool done;
  assert_int_equal(lgv_run_create(plan, 1, NULL, &run, &err), LGV_OK);
  assert_int_equal(lgv_run_advance(run, 5000, &done, &err), LGV_ERR_NUMERIC);
  assert_non_null(strstr(err.message, "in step "));
  assert_non_null(strstr(err.message, "the loss is not a finite number in update"));
  assert_non_null(strstr(err.message, "optim.lr"));
  lgv_run_free(run);
  lgv_plan_free(plan);
}

/* The message that an agent stops with after observations of this size and a parameter that is not
 * a number. */
static void stop_with_obs(const char *agent, const char *extra, lgv_obs_kind kind, float size,
                          lgv_error *err) {
  deep_rig rig;
  char settings[96];
  snprintf(settings, sizeof settings, "agent.batch=2 %s", extra);
  lgv_env_spec env = {.obs_kind = kind, .obs_shape = {4, 1, 1}, .actions = {.count = 2}};
  deep_open(&rig, agent, env, settings, NULL);
  dqn *c = rig.self;
  const float floats[4] = {size, -size, size, 0};
  const uint8_t bytes[4] = {255, 0, 255, 0};
  const void *data = kind == LGV_OBS_BYTE ? (const void *)bytes : floats;
  lgv_transition t = {.obs = {.data = data, .state = -1},
                      .next = {.data = data, .state = -1, .stage = 1},
                      .action = choice(0),
                      .terminated = true};
  assert_int_equal(rig.type->observe(rig.self, &t, err), LGV_OK);
  for (int64_t i = 0; i < c->dim; i++) c->w[i] = NAN;
  assert_int_equal(deep_update(&rig, err), LGV_ERR_NUMERIC);
  deep_close(&rig);
}

/* It names the remedy for what it was given, and no other. */
static void the_error_of_a_loss_names_what_helps(void **state) {
  (void)state;
  const struct {
    const char *agent, *extra;
    lgv_obs_kind kind;
    float size;
    bool scale_input, normalize, huber, rewards;
  } rows[] = {
      {"dqn", "", LGV_OBS_BYTE, 0, true, false, true, true},
      {"dqn", "agent.scale_input=true", LGV_OBS_BYTE, 0, false, false, true, true},
      {"dqn", "", LGV_OBS_FLOAT, 1e6f, false, true, true, true},
      {"dqn", "agent.normalize_obs=true", LGV_OBS_FLOAT, 1e6f, false, false, true, true},
      {"dqn", "agent.scale_rewards=true", LGV_OBS_FLOAT, 1, false, false, true, false},
      {"adam-lmcdqn", "agent.loss=huber", LGV_OBS_FLOAT, 1e6f, false, true, false, true},
      {"qr-dqn", "", LGV_OBS_FLOAT, 1, false, false, false, true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv_error err = {0};
    stop_with_obs(rows[i].agent, rows[i].extra, rows[i].kind, rows[i].size, &err);
    assert_int_equal(!!strstr(err.message, "agent.scale_input"), rows[i].scale_input);
    assert_int_equal(
        !!strstr(err.message, "agent.normalize_obs = true (the observations reach 1e+06)"),
        rows[i].normalize);
    assert_int_equal(!!strstr(err.message, "agent.loss = huber"), rows[i].huber);
    assert_int_equal(!!strstr(err.message, "agent.scale_rewards = true, or "), rows[i].rewards);
    assert_non_null(strstr(err.message, "lower optim.lr"));
  }
}

static void compensated_optimizers_get_a_second_vector(void **state) {
  (void)state;
  deep_rig rig;
  deep_open(&rig, "adam-lmcdqn", deep_spec(4, 2), "optim.compensated=true", NULL);
  assert_non_null(((dqn *)rig.self)->residual);
  deep_close(&rig);
  deep_open(&rig, "adam-lmcdqn", deep_spec(4, 2), NULL, NULL);
  assert_null(((dqn *)rig.self)->residual);
  deep_close(&rig);
}

/* Without hidden layers Q(s, a) = input * w_sa + bias_a: four states, a gain of 3, an input of 6.
 */
static void a_gain_multiplies_one_hot_inputs(void **state) {
  (void)state;
  static const float table[4][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  deep_rig rig;
  float data[DEEP_MOST_LENGTH];
  deep_open(&rig, "adam-lmcdqn", deep_spec(4, 2), "agent.one_hot_gain=3", no_hidden_layers);
  dqn *c = rig.self;
  for (int i = 0; i < 8; i++) c->w[i] = table[i / 2][i % 2];
  c->w[8] = 0.5f;
  c->w[9] = -0.5f;
  for (int s = 0; s < 4; s++) {
    lgv_obs obs = deep_obs(&rig, s, 0, data);
    const float *q = lgv__dqn_values(c, c->w, &obs);
    assert_true(q[0] == 6 * table[s][0] + 0.5f && q[1] == 6 * table[s][1] - 0.5f);
  }
  deep_close(&rig);
}

/* The observation decides, unless the user does. */
static void presets_follow_the_observation(void **state) {
  (void)state;
  static const char *const cases[][4] = {
      {"deepsea", "adam-lmcdqn", "", "small"},
      {"nchain", "adam-lmcdqn", "", "small"},
      {"cartpole", "adam-lmcdqn", "", "small"},
      {"deepsea", "adam-lmcdqn", "agent.preset=atari", "authors"},
      {"deepsea", "lmc-dqn", "agent.preset=auto", "small"},
      {"deepsea", "dqn", "", "small"}};
  char text[64];
  lgv_error err = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lgv_plan *plan = make_plan(cases[i][0], cases[i][1], cases[i][2]);
    assert_int_equal(lgv_plan_get(plan, "agent.preset", text, sizeof text, &err), LGV_OK);
    assert_string_equal(text, cases[i][3]);
    lgv_plan_free(plan);
  }
  lgv_settings *settings = make_settings("deepsea", "dqn", "agent.preset=zoom");
  lgv_plan *plan;
  assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "no preset 'zoom'"));
  lgv_settings_free(settings);
}

static bool has_preset(const lgv_agent_type *type, const char *name) {
  for (const lgv_preset *p = type->presets; p->name; p++)
    if (strcmp(p->name, name) == 0) return true;
  return false;
}

/* An agent offers exactly its own presets, and its help says which one auto takes. */
static void preset_rows_name_the_presets_that_there_are(void **state) {
  (void)state;
  for (size_t a = 0; lgv__agents[a]; a++) {
    const lgv_agent_type *type = lgv__agents[a];
    if (!type->presets) continue;
    const lgv_param *row = &type->params[0];
    size_t offered = 0, presets = 0;
    assert_string_equal(row->name, "preset");
    assert_string_equal(row->choices[0], "auto");
    while (row->choices[1 + offered]) assert_true(has_preset(type, row->choices[1 + offered++]));
    while (type->presets[presets].name) presets++;
    assert_int_equal(offered, presets);
    char rule[160];
    const char *smaller = has_preset(type, "small-pictures")
                              ? "small-pictures for smaller ones of at least 5 x 5, "
                              : "";
    snprintf(rule, sizeof rule, "auto: %s for pictures of at least 36 x 36, %selse %s",
             type->presets[1].name, smaller, type->presets[0].name);
    assert_non_null(strstr(row->help, rule));
  }
}

/* Their losses are cross-entropy and Huber's quantile loss, whatever agent.loss would say. */
static void agents_with_a_loss_of_their_own_take_none(void **state) {
  (void)state;
  static const char *const agents[] = {"c51", "qr-dqn", "iqn"};
  for (size_t i = 0; i < 3; i++) {
    lgv_settings *settings = make_settings("cartpole", agents[i], "agent.loss=huber");
    lgv_plan *plan;
    lgv_error err = {0};
    assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
    assert_non_null(strstr(err.message, "unknown key 'agent.loss'"));
    lgv_settings_free(settings);
  }
}

#define PER_STAGE "agent.stages=per-stage agent.n_step=1 agent.double=false "

static void parameters_that_contradict_each_other_are_refused(void **state) {
  (void)state;
  const char *const wrong[][2] = {
      {"agent.warmup=500 agent.replay=500", "agent.warmup"},
      {"agent.net=nature", "convolutions"},
      {"agent.stages=per-stage agent.n_step=3", "agent.n_step"},
      {PER_STAGE "agent.update_every=4", "leave agent.update_every out, or set it to 0"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    lgv_settings *settings = make_settings("nchain", "adam-lmcdqn", wrong[i][0]);
    lgv_plan *plan;
    lgv_error err = {0};
    assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
    assert_non_null(strstr(err.message, wrong[i][1]));
    lgv_settings_free(settings);
  }
}

/* A preset's interval between updates contradicts nothing, nor does the resolved value. */
static void networks_per_stage_update_between_episodes(void **state) {
  (void)state;
  const char *const right[] = {PER_STAGE, PER_STAGE "agent.update_every=0"};
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    char text[32];
    lgv_error err = {0};
    lgv_plan *plan = make_plan("nchain", "adam-lmcdqn", right[i]);
    assert_int_equal(lgv_plan_get(plan, "agent.update_every", text, sizeof text, &err), LGV_OK);
    assert_string_equal(text, "0");
    lgv_plan_free(plan);
  }
}

static void convolutions_need_pictures(void **state) {
  (void)state;
  lgv_error err = {0};
  dqn_params p = {.net = NET_NATURE, .hidden = {.count = 1, .value = {8}}, .replay = 9};
  lgv_problem problem = {.env = {.obs_shape = {84 * 84 * 3, 1, 1}, .actions = {.count = 2}}};
  assert_int_equal(lgv__dqn_resolve(&p, &problem, (dqn_sizes){0}, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "convolutions need pictures"));
  for (int kind = LGV_OBS_FLOAT; kind <= LGV_OBS_BYTE; kind++) {
    problem.env = (lgv_env_spec){
        .obs_kind = (lgv_obs_kind)kind, .obs_shape = {84, 84, 3}, .actions = lgv_discrete(2)};
    assert_int_equal(lgv__dqn_resolve(&p, &problem, (dqn_sizes){0}, &err), LGV_OK);
  }
}

/* ---- presets ---- */

/* A preset that names an unknown key, or a value that does not parse, would fail for its users. */
static void every_preset_of_every_agent_resolves(void **state) {
  (void)state;
  int checked = 0;
  for (size_t i = 0; lgv__agents[i]; i++) {
    const lgv_agent_type *type = lgv__agents[i];
    for (const lgv_preset *preset = type->presets; preset && preset->name; preset++, checked++) {
      char extra[64], text[64];
      lgv_error err = {0};
      if (strcmp(preset->name, "pictures") == 0) continue; /* test_dqn_images.c */
      snprintf(extra, sizeof extra, "agent.preset=%s", preset->name);
      lgv_plan *plan = make_plan(home_of(type), type->name, extra);
      assert_int_equal(lgv_plan_get(plan, "agent.preset", text, sizeof text, &err), LGV_OK);
      assert_string_equal(text, preset->name);
      lgv_plan_free(plan);
    }
  }
  assert_true(checked >= 30);
}

/* The row `preset` offers auto and those that the agent has, and nothing else. */
static void agents_offer_the_presets_that_they_have(void **state) {
  (void)state;
  for (size_t i = 0; lgv__agents[i]; i++) {
    const lgv_agent_type *type = lgv__agents[i];
    int row = lgv__params_find(type->params, "preset");
    assert_int_equal(row >= 0, type->presets != NULL);
    if (row < 0) continue;
    const char *const *names = type->params[row].choices;
    assert_string_equal(*names++, "auto");
    for (const lgv_preset *preset = type->presets; preset->name; preset++)
      assert_string_equal(*names++, preset->name);
    assert_null(*names);
  }
}

static void a_misspelled_key_in_a_preset_fails(void **state) {
  (void)state;
  static const lgv_preset wrong[] = {{"small", "agent.warmup=200 agent.updates_every=1"}, {0}};
  lgv_agent_type type = **lgv__agents;
  for (size_t i = 0; lgv__agents[i]; i++)
    if (strcmp(lgv__agents[i]->name, "dqn") == 0) type = *lgv__agents[i];
  type.size = sizeof type;
  type.name = "misspelled";
  type.presets = wrong;
  lgv_settings *settings = make_settings("nchain", NULL, "agent.name=misspelled");
  lgv_plan *plan;
  lgv_error err = {0};
  assert_int_equal(lgv_settings_add_agent(settings, &type, &err), LGV_OK);
  assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "agent.updates_every"));
  lgv_settings_free(settings);
}

/* ---- what every deep agent promises ---- */

static bool is_deep(const lgv_agent_type *type) {
  return !(type->traits & LGV_SETTLES_PER_EPISODE);
}

static bool has_ring(const lgv_agent_type *type) {
  return lgv__params_find(type->params, "replay") >= 0;
}

static lgv_agent *train(const lgv_agent_type *type, const char *extra, bool evaluates, int steps) {
  lgv_settings *settings = make_settings(home_of(type), type->name, extra);
  lgv_error err = {0};
  lgv_env *env, *other;
  lgv_agent *made;
  lgv_obs obs, seen;
  if (!takes_box(type))
    assert_int_equal(lgv_settings_set(settings, "env.n", "6", "test", &err), LGV_OK);
  assert_int_equal(lgv_env_create(settings, 3, &env, &err), LGV_OK);
  assert_int_equal(lgv_env_create(settings, 4, &other, &err), LGV_OK);
  if (lgv_agent_create(settings, lgv_env_get_spec(env), 0, steps, 3, &made, &err) != LGV_OK)
    fail_msg("%s", err.message);
  assert_int_equal(lgv_env_reset(other, &seen, &err), LGV_OK);
  bool running = false;
  for (int i = 0; i < steps; i++) {
    if (!running) {
      assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
      assert_int_equal(lgv_agent_begin_episode(made, &err), LGV_OK);
    }
    lgv_action action;
    if (evaluates) assert_int_equal(lgv_agent_act(made, &seen, LGV_EVAL, &action, &err), LGV_OK);
    assert_int_equal(lgv_agent_act(made, &obs, LGV_TRAIN, &action, &err), LGV_OK);
    lgv_outcome outcome;
    lgv_transition t = {.obs = obs, .action = &action};
    assert_int_equal(lgv_env_step(env, &action, &outcome, &t.next, &err), LGV_OK);
    t.reward = outcome.reward;
    t.terminated = outcome.terminated;
    t.truncated = outcome.truncated;
    if (lgv_agent_observe(made, &t, &err) != LGV_OK) fail_msg("%s", err.message);
    obs = t.next;
    running = !(outcome.terminated || outcome.truncated);
    if (!running) assert_int_equal(lgv_agent_end_episode(made, &err), LGV_OK);
  }
  lgv_env_free(env);
  lgv_env_free(other);
  lgv_settings_free(settings);
  return made;
}

static void evaluation_leaves_training_alone(void **state) {
  (void)state;
  for (size_t i = 0; lgv__agents[i]; i++) {
    if (!is_deep(lgv__agents[i])) continue;
    bool is_epsilon_greedy = lgv__params_find(lgv__agents[i]->params, "epsilon_eval") >= 0;
    bool box = takes_box(lgv__agents[i]);
    const char *extra = box                        ? quick_for(lgv__agents[i])
                        : is_epsilon_greedy        ? "agent.warmup=20 agent.epsilon_eval=0.5"
                        : has_ring(lgv__agents[i]) ? "agent.warmup=20"
                                                   : NULL;
    lgv_agent *a = train(lgv__agents[i], extra, false, 150);
    lgv_agent *b = train(lgv__agents[i], extra, true, 150);
    size_t n, m;
    const char *name = box ? "critic" : "w";
    const float *w = agent_array(a, name, &n), *v = agent_array(b, name, &m);
    assert_int_equal(n, m);
    assert_memory_equal(w, v, n * sizeof *w);
    lgv_agent_free(a);
    lgv_agent_free(b);
  }
}

/* The next allocation would fail; after the run it still would, so there was none. */
static void nothing_is_allocated_once_a_run_has_begun(void **state) {
  (void)state;
  for (size_t i = 0; lgv__agents[i]; i++) {
    if (!is_deep(lgv__agents[i])) continue;
    const char *extra = takes_box(lgv__agents[i]) ? "run.steps=300 agent.hidden=8 agent.batch=8 "
                                                    "agent.replay=100 agent.warmup=50"
                        : has_ring(lgv__agents[i])
                            ? "env.n=8 run.steps=300 agent.replay=100 agent.warmup=50"
                            : "env.n=8 run.steps=300";
    lgv_plan *plan = make_plan(home_of(lgv__agents[i]), lgv__agents[i]->name, extra);
    lgv_error err = {0};
    lgv_run *run;
    bool done;
    assert_int_equal(lgv_run_create(plan, 1, NULL, &run, &err), LGV_OK);
    lgv__memory_fail_after(1);
    if (lgv_run_advance(run, 300, &done, &err) != LGV_OK)
      fail_msg("%s: %s", lgv__agents[i]->name, err.message);
    void *block = lgv__calloc(1, 1);
    assert_null(block);
    lgv__memory_fail_after(0);
    lgv_run_free(run);
    lgv_plan_free(plan);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(targets_follow_hand_made_tables),
      cmocka_unit_test(a_terminated_step_has_no_value_beyond),
      cmocka_unit_test(only_a_clock_leaves_a_value_beyond),
      cmocka_unit_test(double_targets_with_equal_networks_are_plain_ones),
      cmocka_unit_test(losses_have_their_closed_forms),
      cmocka_unit_test(every_sample_has_the_loss_of_its_own_action),
      cmocka_unit_test(weights_multiply_losses),
      cmocka_unit_test(an_update_changes_the_priorities_of_its_minibatch),
      cmocka_unit_test(weights_grow_uneven_as_learning_goes_on),
      cmocka_unit_test(an_update_moves_the_table_by_the_gradient),
      cmocka_unit_test(the_gradient_agrees_with_finite_differences),
      cmocka_unit_test(the_target_is_copied_by_the_count_of_updates),
      cmocka_unit_test(updates_come_when_they_are_due),
      cmocka_unit_test(a_loss_that_explodes_stops_the_run_and_says_why),
      cmocka_unit_test(the_error_of_a_loss_names_what_helps),
      cmocka_unit_test(compensated_optimizers_get_a_second_vector),
      cmocka_unit_test(a_gain_multiplies_one_hot_inputs),
      cmocka_unit_test(presets_follow_the_observation),
      cmocka_unit_test(preset_rows_name_the_presets_that_there_are),
      cmocka_unit_test(agents_with_a_loss_of_their_own_take_none),
      cmocka_unit_test(parameters_that_contradict_each_other_are_refused),
      cmocka_unit_test(networks_per_stage_update_between_episodes),
      cmocka_unit_test(convolutions_need_pictures),
      cmocka_unit_test(every_preset_of_every_agent_resolves),
      cmocka_unit_test(agents_offer_the_presets_that_they_have),
      cmocka_unit_test(a_misspelled_key_in_a_preset_fails),
      cmocka_unit_test(evaluation_leaves_training_alone),
      cmocka_unit_test(nothing_is_allocated_once_a_run_has_begun),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
