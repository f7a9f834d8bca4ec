/* HyperAgent: laws of the index and of the perturbations, targets, loss, and when it is DQN. */
#include "deep_helpers.h"

#include "agent/deep/random_prior.h"

#include <math.h>
#include <stdio.h>

enum { LENGTH = 10, A = 2 };

/* No update happens by itself. */
#define QUIET "agent.warmup=9000 agent.replay=9001 "

static void walk(deep_rig *rig, int steps) {
  lgv_rng rng;
  lgv_rng_seed(&rng, 5, "walk");
  deep_walk(rig, steps, &rng);
}

static lgv_action act(deep_rig *rig, int at, int64_t stage, lgv_mode mode) {
  float data[DEEP_MOST_LENGTH];
  lgv_error err = {0};
  lgv_action action;
  lgv_obs obs = deep_obs(rig, at, stage, data);
  assert_int_equal(rig->type->act(rig->self, &obs, mode, &action, &err), LGV_OK);
  return action;
}

static void update(deep_rig *rig) {
  lgv_error err = {0};
  if (deep_update(rig, &err) != LGV_OK) fail_msg("%s", err.message);
}

/* The same outputs in every state: those of `w` are f (A x (M + 1)). */
static void set_outputs(const dqn *c, float *w, const float *f) {
  memset(w, 0, (size_t)c->dim * sizeof *w);
  memcpy(w + c->net.layer[c->net.n_layers - 1].biases, f, (size_t)c->outputs * sizeof *f);
}

/* ---- without an index ---- */

static void without_an_index_it_is_dqn(void **state) {
  (void)state;
  const char *const variants[] = {"agent.double=false", "agent.double=true agent.n_step=3",
                                  "agent.dueling=true agent.layer_norm=true"};
  for (int i = 0; i < 3; i++) {
    char hyper[256], plain[256];
    snprintf(hyper, sizeof hyper, DEEP_LIFE "%s agent.index_dim=0 agent.sigma=1", variants[i]);
    snprintf(plain, sizeof plain, DEEP_LIFE "%s agent.epsilon_start=0 agent.epsilon_end=0",
             variants[i]);
    deep_assert_same_life("hyperagent", hyper, "dqn", plain);
  }
}

/* ---- laws ---- */

static void within(const char *what, double found, double expected, double error) {
  if (!(fabs(found - expected) < 5 * error))
    fail_msg("%s: %g, not %g +- 5 x %g", what, found, expected, error);
}

/* Rows of x (count x 4) are uniform on the unit sphere: norm 1, mean 0, E xi_i xi_j = [i = j] / 4,
 * E xi_i^4 = 3 / (4 x 6); all within five standard errors. A normal vector divided by 2 has the
 * same mean and second moments, but a fourth moment of 3 / 16, and not norm 1. */
static void assert_uniform_directions(const float *x, int64_t count) {
  enum { M = 4 };
  double mean[M] = {0}, second[M][M] = {{0}}, fourth = 0, n = (double)count;
  for (int64_t r = 0; r < count; r++, x += M) {
    double norm = 0;
    for (int i = 0; i < M; i++) {
      norm += (double)x[i] * (double)x[i];
      mean[i] += (double)x[i] / n;
      for (int j = 0; j < M; j++) second[i][j] += (double)x[i] * (double)x[j] / n;
      fourth += pow((double)x[i], 4) / (M * n);
    }
    assert_float_equal(norm, 1, 1e-6);
  }
  for (int i = 0; i < M; i++) {
    within("mean", mean[i], 0, sqrt(1.0 / M / n));
    for (int j = 0; j < M; j++) /* E xi_1^2 xi_2^2 = 1 / (4 x 6) */
      within("second moment", second[i][j], i == j ? 1.0 / M : 0,
             sqrt((i == j ? 3.0 / 24 - 1.0 / 16 : 1.0 / 24) / n));
  }
  within("fourth moment", fourth, 3.0 / 24, sqrt(105.0 / (4 * 6 * 8 * 10) / n)); /* E xi^8 */
}

static void indices_are_uniform_on_the_sphere(void **state) {
  (void)state;
  enum { EPISODES = 20000, M = 4 };
  deep_rig rig;
  deep_open(&rig, "hyperagent", deep_spec(LENGTH, A), QUIET "agent.hidden=4", NULL);
  const float *index = deep_array(&rig, "index", NULL);
  float *all = malloc(sizeof(float) * EPISODES * M);
  for (int e = 0; e < EPISODES; e++) {
    deep_begin(&rig);
    memcpy(all + e * M, index, sizeof(float) * M);
  }
  assert_uniform_directions(all, EPISODES);
  for (int e = 0; e < EPISODES; e++) { /* of evaluations */
    act(&rig, 0, 0, LGV_EVAL);
    memcpy(all + e * M, index + M, sizeof(float) * M);
  }
  assert_uniform_directions(all, EPISODES);
  free(all);
  deep_close(&rig);
}

static void perturbations_are_uniform_on_the_sphere(void **state) {
  (void)state;
  deep_rig rig;
  size_t count = 0;
  deep_open(&rig, "hyperagent", deep_spec(LENGTH, A), QUIET "agent.hidden=4 agent.sigma=1", NULL);
  const dqn *c = rig.self;
  walk(&rig, 8000);
  const float *z = deep_array(&rig, "z", &count);
  assert_int_equal(count, c->replay.capacity * 4);
  int64_t live = 0; /* the last observation of an episode has an entry without a transition */
  float *all = malloc(count * sizeof *all);
  for (size_t e = 0; e < count / 4; e++)
    if (z[4 * e] != 0) memcpy(all + 4 * live++, z + 4 * e, 4 * sizeof *z);
  assert_true(live >= 6000);
  assert_uniform_directions(all, live);
  free(all);
  deep_close(&rig);
}

static void updates_draw_uniform_directions(void **state) {
  (void)state;
  deep_rig rig;
  deep_open(&rig, "hyperagent", deep_spec(LENGTH, A),
            QUIET "agent.hidden=4 agent.indices=501 agent.batch=37", NULL);
  walk(&rig, 100);
  update(&rig);
  assert_uniform_directions(deep_array(&rig, "draws", NULL), 37 * 501);
  deep_close(&rig);
}

/* Before every step the index changes with probability 1 - gamma; evaluations leave it alone, and
 * change their own only when an episode begins. */
static void the_index_lasts_a_geometric_time(void **state) {
  (void)state;
  enum { STEPS = 20000, M = 4 };
  const struct {
    const char *extra;
    double changes;
  } cases[] = {{"agent.gamma=0.9", 0.1}, {"agent.gamma=1", 0}};
  for (int i = 0; i < 2; i++) {
    deep_rig rig;
    char extra[128];
    float before[2 * M];
    snprintf(extra, sizeof extra, QUIET "agent.hidden=4 %s", cases[i].extra);
    deep_open(&rig, "hyperagent", deep_spec(LENGTH, A), extra, NULL);
    const float *index = deep_array(&rig, "index", NULL);
    deep_begin(&rig);
    act(&rig, 0, 0, LGV_EVAL);
    double changes = 0, p = cases[i].changes;
    for (int step = 0; step < STEPS; step++) {
      memcpy(before, index, sizeof before);
      act(&rig, 0, 1, LGV_EVAL);
      assert_memory_equal(before, index, sizeof before);
      act(&rig, 0, 1, LGV_TRAIN);
      assert_memory_equal(before + M, index + M, M * sizeof *index);
      changes += memcmp(before, index, M * sizeof *index) != 0;
    }
    within("changes", changes, p * STEPS, sqrt(STEPS * p * (1 - p)) + 1e-9);
    deep_close(&rig);
  }
}

static void every_stream_has_its_own_index(void **state) {
  (void)state;
  deep_rig rig;
  float before[4 * 4];
  deep_open_for(&rig, "hyperagent", (lgv_problem){.env = deep_spec(LENGTH, A), .streams = 3},
                QUIET "agent.hidden=4 agent.gamma=1", NULL);
  size_t count = 0;
  const float *index = deep_array(&rig, "index", &count);
  assert_int_equal(count, 4 * 4);
  for (int32_t stream = 0; stream < 3; stream++) {
    memcpy(before, index, sizeof before);
    rig.type->set_stream(rig.self, stream);
    deep_begin(&rig);
    act(&rig, 0, 0, LGV_TRAIN);
    for (int32_t k = 0; k < 4; k++)
      assert_int_equal(memcmp(before + 4 * k, index + 4 * k, 4 * sizeof *index) != 0, k == stream);
  }
  deep_close(&rig);
}

/* ---- acting ---- */

/* M = 1, so xi is -1 or 1: Q(., 0; xi) = 1 + 3 xi and Q(., 1; xi) = 2. */
static void actions_are_greedy_for_the_index(void **state) {
  (void)state;
  static const float f[] = {1, 3, 2, 0};
  const char *const evals[] = {"sample", "mean"};
  for (int i = 0; i < 2; i++) {
    deep_rig rig;
    char extra[128];
    snprintf(extra, sizeof extra, QUIET "agent.index_dim=1 agent.prior_scale=0 agent.eval=%s",
             evals[i]);
    deep_open(&rig, "hyperagent", deep_spec(LENGTH, A), extra, NULL);
    dqn *c = rig.self;
    const float *index = deep_array(&rig, "index", NULL);
    set_outputs(c, c->w, f);
    int first = 0;
    for (int e = 0; e < 200; e++) {
      deep_begin(&rig);
      int32_t action = act(&rig, 0, 0, LGV_TRAIN).choice;
      assert_int_equal(action, index[0] > 0 ? 0 : 1);
      int32_t evaluated = act(&rig, 0, 0, LGV_EVAL).choice;
      assert_int_equal(evaluated, i == 0 && index[1] > 0 ? 0 : 1); /* the mean: 1 and 2 */
      first += action == 0;
    }
    within("first action", first, 100, sqrt(50));
    double q[A];
    float data[DEEP_MOST_LENGTH];
    lgv_error err = {0};
    lgv_obs obs = deep_obs(&rig, 3, 0, data);
    assert_int_equal(rig.type->q_values(rig.self, &obs, q, &err), LGV_OK);
    assert_true(q[0] == 1 && q[1] == 2);
    deep_close(&rig);
  }
}

/* With outputs that are all 0, actions are greedy in <xi, p>, where p is the kept table. */
static void priors_act_and_never_change(void **state) {
  (void)state;
  enum { M = 4 };
  deep_rig rig;
  size_t count = 0;
  deep_open(&rig, "hyperagent", deep_spec(LENGTH, A), DEEP_LIFE "agent.prior_scale=3", NULL);
  dqn *c = rig.self;
  const float *prior = deep_array(&rig, "prior", &count), *index = deep_array(&rig, "index", NULL);
  assert_int_equal(count, (LENGTH + 1) * A * M);
  float *kept = malloc(count * sizeof *kept);
  memcpy(kept, prior, count * sizeof *kept);
  walk(&rig, 200);
  assert_memory_equal(kept, prior, count * sizeof *kept);
  memset(c->w, 0, (size_t)c->dim * sizeof *c->w);
  int ones = 0;
  for (int at = 0; at < LENGTH; at++)
    for (int e = 0; e < 10; e++) {
      deep_begin(&rig);
      int32_t action = act(&rig, at, 0, LGV_TRAIN).choice;
      double q[A] = {0};
      for (int a = 0; a < A; a++)
        for (int m = 0; m < M; m++)
          q[a] += (double)index[m] * (double)kept[((at + 1) * A + a) * M + m];
      assert_int_equal(action, q[1] > q[0]);
      ones += action;
    }
  assert_true(ones > 20 && ones < 80);
  free(kept);
  deep_close(&rig);
}

/* ---- targets and loss ---- */

#define SMALL_BATCH "agent.hidden=6 agent.batch=64 agent.gamma=0.5 "

/* M = 1. The online network prefers action 0 where xi- = 1 and action 1 where xi- = -1; the target
 * network values them at 5 + xi- / 2 and 7 + xi- / 2. Every transition has an xi- of its own. */
static void targets_have_an_index_of_their_own(void **state) {
  (void)state;
  static const float online[] = {0, 1, 0, -1}, target[] = {5, 0.5f, 7, 0.5f};
  for (int is_double = 0; is_double < 2; is_double++) {
    deep_rig rig;
    char extra[256];
    snprintf(extra, sizeof extra,
             QUIET SMALL_BATCH "agent.index_dim=1 agent.prior_scale=0 agent.double=%s",
             is_double ? "true" : "false");
    deep_open(&rig, "hyperagent", deep_spec(LENGTH, A), extra, NULL);
    dqn *c = rig.self;
    walk(&rig, 200);
    set_outputs(c, c->w, online);
    set_outputs(c, c->w_target, target);
    update(&rig);
    int n = 0, up = 0;
    for (int64_t i = 0; i < 64; i++) {
      if (c->batch.discount[i] == 0) continue;
      double value = ((double)c->y[i] - (double)c->batch.reward[i]) / 0.5;
      double positive = is_double ? 5.5 : 7.5, negative = 6.5;
      assert_true(fabs(value - positive) < 1e-4 || fabs(value - negative) < 1e-4);
      up += fabs(value - positive) < 1e-4;
      n++;
    }
    assert_true(n > 30);
    within("targets with xi- = 1", up, n / 2.0, sqrt(n / 4.0));
    deep_close(&rig);
  }
}

/* Forbidden actions are not in the maximum: only action 1, worth 7 + xi- / 2. */
static void targets_respect_masks(void **state) {
  (void)state;
  static const float f[] = {90, 0, 7, 0.5f};
  static const uint8_t mask[] = {0, 1};
  deep_rig rig;
  lgv_env_spec env = deep_spec(LENGTH, A);
  env.masked = true;
  deep_open(&rig, "hyperagent", env, QUIET SMALL_BATCH "agent.index_dim=1 agent.prior_scale=0",
            NULL);
  dqn *c = rig.self;
  for (int i = 0; i < 200; i++) {
    float a[DEEP_MOST_LENGTH], b[DEEP_MOST_LENGTH];
    lgv_error err = {0};
    lgv_transition t = {.obs = deep_obs(&rig, i % LENGTH, i, a),
                        .next = deep_obs(&rig, (i + 1) % LENGTH, i + 1, b),
                        .action = choice(1)};
    t.obs.mask = t.next.mask = mask;
    assert_int_equal(rig.type->observe(rig.self, &t, &err), LGV_OK);
  }
  set_outputs(c, c->w, f);
  set_outputs(c, c->w_target, f);
  assert_int_equal(act(&rig, 0, 0, LGV_EVAL).choice, 0); /* without a mask */
  update(&rig);
  for (int64_t i = 0; i < 64; i++) assert_true(fabsf(c->y[i] / 0.5f - 7) < 0.51f);
  deep_close(&rig);
}

#define LEARNING                                                                                   \
  QUIET SMALL_BATCH "agent.index_dim=3 agent.prior_scale=2 agent.sigma=0.7 agent.double=true "

/* For many indices, the loss of sample i tends to e_0^2 + |e|^2 / M, e_0 = f_0 - y and e = f + p -
 * sigma sqrt(M) z, and its derivatives to 2 e_0 and 2 e / M. The loss has 640,000 draws; five
 * standard errors of a mean are below 1 % of it. */
static void the_loss_is_that_of_all_indices(void **state) {
  (void)state;
  enum { M = 3, B = 64 };
  deep_rig rig;
  deep_open(&rig, "hyperagent", deep_spec(LENGTH, A), LEARNING "agent.indices=10000", NULL);
  dqn *c = rig.self;
  walk(&rig, 200);
  update(&rig);
  const float *z = deep_array(&rig, "z", NULL), *prior = deep_array(&rig, "p_obs", NULL);
  double loss = 0, off = 0, size = 0;
  for (int64_t i = 0; i < B; i++) {
    int32_t a = c->batch.action[i];
    const float *f = c->q + dqn_atoms_at(c, i, a), *d = c->d_q + dqn_atoms_at(c, i, a);
    double e = (double)f[0] - (double)c->y[i];
    loss += e * e / B;
    off += fabs((double)d[0] - 2 * e / B);
    size += fabs((double)d[0]);
    for (int m = 0; m < M; m++) {
      e = (double)f[1 + m] + (double)prior[(i * A + a) * M + m] -
          0.7 * sqrt(M) * (double)z[c->batch.entry[i] * M + m];
      loss += e * e / M / B;
      off += fabs((double)d[1 + m] - 2 * e / M / B);
      size += fabs((double)d[1 + m]);
    }
    for (int64_t k = 0; k < (M + 1); k++) /* the other action learns nothing */
      assert_true(c->d_q[dqn_atoms_at(c, i, 1 - a) + k] == 0);
  }
  assert_float_equal(c->loss, loss, 0.01 * loss);
  assert_true(size > 1 && off < 0.05 * size);
  deep_close(&rig);
}

/* All kept arrays of a rig, one after the other. */
static void copy_kept(deep_rig *rig, unsigned char *all, bool restores) {
  const lgv_layout *table = &rig->arena.table;
  for (size_t i = 0; i < table->n_blocks; i++) {
    const lgv_block *block = &table->blocks[i];
    size_t size = block->count * lgv__dtype_size(block->dtype);
    unsigned char *data = table->base + block->offset;
    if (!block->keep) continue;
    memcpy(restores ? data : all, restores ? all : data, size);
    all += size;
  }
}

/* The loss of the same minibatch and the same indices with parameter i moved. */
static double moved_loss(deep_rig *rig, unsigned char *kept, int64_t i, float step) {
  dqn *c = rig->self;
  copy_kept(rig, kept, true);
  c->w[i] += step;
  update(rig);
  return c->loss;
}

static void gradients_are_those_of_the_loss(void **state) {
  (void)state;
  const char *const variants[] = {LEARNING, LEARNING "agent.dueling=true",
                                  LEARNING "agent.prior_scale=0 agent.sigma=0 agent.n_step=2"};
  for (int v = 0; v < 3; v++) {
    deep_rig rig;
    deep_open(&rig, "hyperagent", deep_spec(LENGTH, A), variants[v], NULL);
    dqn *c = rig.self;
    walk(&rig, 200);
    for (int i = 0; i < 20; i++) update(&rig); /* w- is not w */
    unsigned char *kept = malloc(rig.arena.table.used);
    copy_kept(&rig, kept, false);
    float *grad = malloc((size_t)c->dim * sizeof *grad), step = 1e-2f;
    update(&rig);
    memcpy(grad, c->grad, (size_t)c->dim * sizeof *grad);
    int moving = 0, off = 0;
    for (int64_t i = 0; i < c->dim; i++) {
      double slope =
          (moved_loss(&rig, kept, i, step) - moved_loss(&rig, kept, i, -step)) / (2 * (double)step);
      moving += fabs(slope) > 1e-3;
      off += fabs(slope - (double)grad[i]) > 2e-3 * (1 + fabs(slope));
    }
    assert_true(moving > c->dim / 3);
    assert_true(off <= 4); /* a rectifier or a* that changes within a step */
    free(grad);
    free(kept);
    deep_close(&rig);
  }
}

/* Two parts: the mean over both in targets and loss, and a greedy choice in each. */
static void several_parts_share_the_loss(void **state) {
  (void)state;
  static const float f[] = {4, 0, 1, 0, 0, 0, 2, 0, 6, 0}; /* f_0: 4 1 | 0 2 6; f_1: 0 */
  deep_rig rig;
  lgv_env_spec env = deep_spec(LENGTH, 5);
  env.actions =
      (lgv_action_space){.kind = LGV_MULTI_DISCRETE, .count = 5, .parts = 2, .choices = {2, 3}};
  deep_open(&rig, "hyperagent", env,
            QUIET "agent.hidden=6 agent.gamma=0.5 agent.index_dim=1 agent.prior_scale=0", NULL);
  dqn *c = rig.self;
  for (int i = 0; i < 100; i++) {
    float a[DEEP_MOST_LENGTH], b[DEEP_MOST_LENGTH];
    lgv_error err = {0};
    lgv_action action = {.choices = {1, 1}};
    lgv_transition t = {.obs = deep_obs(&rig, 0, i, a),
                        .next = deep_obs(&rig, 1, i + 1, b),
                        .action = &action,
                        .reward = 3};
    assert_int_equal(rig.type->observe(rig.self, &t, &err), LGV_OK);
  }
  set_outputs(c, c->w, f);
  set_outputs(c, c->w_target, f);
  lgv_action action = act(&rig, 0, 0, LGV_TRAIN);
  assert_true(action.choices[0] == 0 && action.choices[1] == 2);
  update(&rig);
  for (int64_t i = 0; i < c->p->batch; i++)
    assert_float_equal(c->y[i], 3 + 0.5 * (4 + 6) / 2, 1e-5);
  assert_float_equal(c->loss, (pow(1 - 5.5, 2) + pow(2 - 5.5, 2)) / 2, 1e-4);
  assert_float_equal(c->d_q[1 * 2], 2 * (1 - 5.5) / 2 / (double)c->p->batch, 1e-5);
  assert_float_equal(c->d_q[3 * 2], 2 * (2 - 5.5) / 2 / (double)c->p->batch, 1e-5);
  deep_close(&rig);
}

/* ---- the whole agent ---- */

/* A uniform policy finds the treasure once in 1024 episodes. */
static void the_preset_solves_a_deep_sea(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("deepsea", "hyperagent", "env.n=10 run.episodes=400");
  for (uint64_t seed = 0; seed < 3; seed++) assert_true(run_plan(plan, seed).final_return > 0.98);
  lgv_plan_free(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_an_index_it_is_dqn),
      cmocka_unit_test(indices_are_uniform_on_the_sphere),
      cmocka_unit_test(perturbations_are_uniform_on_the_sphere),
      cmocka_unit_test(updates_draw_uniform_directions),
      cmocka_unit_test(the_index_lasts_a_geometric_time),
      cmocka_unit_test(every_stream_has_its_own_index),
      cmocka_unit_test(actions_are_greedy_for_the_index),
      cmocka_unit_test(priors_act_and_never_change),
      cmocka_unit_test(targets_have_an_index_of_their_own),
      cmocka_unit_test(targets_respect_masks),
      cmocka_unit_test(the_loss_is_that_of_all_indices),
      cmocka_unit_test(gradients_are_those_of_the_loss),
      cmocka_unit_test(several_parts_share_the_loss),
      cmocka_unit_test(the_preset_solves_a_deep_sea),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
