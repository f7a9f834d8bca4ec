/* Bootstrapped DQN with separate networks over one-hot observations: lazy first layers and merged
 * minibatches do what whole networks and plain Adam do. */
#include "deep_helpers.h"

#include "agent/deep/random_prior.h"
#include "agent/deep/sparse_first.h"

#include <math.h>
#include <stdio.h>

enum { LENGTH = 23, K = 3, STEPS = 200 };

/* A ridge too small to change a float sends the same life through whole networks. */
#define WHOLE " optim.l2=1e-30"
#define ENSEMBLE                                                                                   \
  "agent.members=networks agent.heads=3 agent.hidden=9,7 agent.update_every=1 "                    \
  "agent.target_every=5 optim.lr=1e-3 agent.batch=16 agent.prior_scale=2 "

static void assert_near(const float *a, const float *b, int64_t count, double tolerance) {
  for (int64_t i = 0; i < count; i++)
    if (!(fabs((double)a[i] - (double)b[i]) < tolerance))
      fail_msg("number %lld: %.9g, not %.9g", (long long)i, (double)a[i], (double)b[i]);
}

static void walk(deep_rig *rig) {
  lgv_rng rng;
  lgv_rng_seed(&rng, 5, "walk");
  deep_walk(rig, STEPS, &rng);
}

/* Every weight above the first layer and every copy; the gradients of the first layer pass through
 * all of them. */
static void assert_same_learning(const char *extra) {
  deep_rig lazy, whole;
  char settings[512];
  deep_open(&lazy, "bootstrapped-dqn", deep_spec(LENGTH, 2), extra, NULL);
  snprintf(settings, sizeof settings, "%s" WHOLE, extra);
  deep_open(&whole, "bootstrapped-dqn", deep_spec(LENGTH, 2), settings, NULL);
  dqn *c = lazy.self, *d = whole.self;
  assert_true(c->sizes.above_first && !d->sizes.above_first);
  int64_t first = d->dim - c->dim;
  assert_int_equal(first, d->net.layer[1].weights);
  for (int64_t k = 0; k < K; k++)
    assert_memory_equal(c->w + k * c->dim, d->w + k * d->dim + first,
                        (size_t)c->dim * sizeof *c->w);
  walk(&lazy);
  walk(&whole);
  assert_int_equal(c->count[DQN_UPDATES], d->count[DQN_UPDATES]);
  for (int64_t k = 0; k < K; k++) {
    assert_near(c->w + k * c->dim, d->w + k * d->dim + first, c->dim, 2e-5);
    assert_near(c->w_target + k * c->dim, d->w_target + k * d->dim + first, c->dim, 2e-5);
  }
  for (int i = 0; i < DQN_STATS; i++)
    assert_float_equal(c->stat[i], d->stat[i], 1e-3 * (1 + fabs(d->stat[i])));
  deep_close(&lazy);
  deep_close(&whole);
}

static void lazy_ensembles_learn_as_whole_ones(void **state) {
  (void)state;
  assert_same_learning(ENSEMBLE);
  assert_same_learning(ENSEMBLE "agent.double=true agent.n_step=3");
  assert_same_learning(ENSEMBLE "agent.mask=0.5 agent.loss=huber");
  assert_same_learning(ENSEMBLE "agent.hidden=9");
}

/* Where all masks name one member, the others stay as they are. */
static void members_learn_by_their_own_masks(void **state) {
  (void)state;
  for (int64_t chosen = 0; chosen < K; chosen++) {
    deep_rig rig;
    lgv_rng rng;
    lgv_error err = {0};
    deep_open(&rig, "bootstrapped-dqn", deep_spec(LENGTH, 2),
              ENSEMBLE "agent.mask=0.5 agent.update_every=0 agent.warmup=100", NULL);
    dqn *c = rig.self;
    lgv_rng_seed(&rng, 5, "walk");
    deep_walk(&rig, 40, &rng);
    assert_int_equal(c->count[DQN_UPDATES], 0);
    uint64_t *mask = deep_array(&rig, "mask", NULL);
    for (int64_t e = 0; e < *c->replay.rows; e++) mask[e] = (uint64_t)1 << chosen;
    size_t bytes = (size_t)c->dim * sizeof *c->w;
    float *before = malloc(K * bytes);
    memcpy(before, c->w, K * bytes);
    c->count[DQN_STEPS] = 100;
    assert_int_equal(rig.type->end_episode(rig.self, &err), LGV_OK);
    assert_true(c->count[DQN_UPDATES] > 0);
    for (int64_t k = 0; k < K; k++)
      assert_int_equal(memcmp(before + k * c->dim, c->w + k * c->dim, bytes) != 0, k == chosen);
    free(before);
    deep_close(&rig);
  }
}

/* ---- what an act sees ---- */

static int32_t act(deep_rig *rig, int state, lgv_mode mode) {
  float data[DEEP_MOST_LENGTH];
  lgv_error err = {0};
  lgv_action action;
  lgv_obs obs = deep_obs(rig, state, 0, data);
  assert_int_equal(rig->type->act(rig->self, &obs, mode, &action, &err), LGV_OK);
  return action.choice;
}

/* All kept arrays of a rig, one after the other. */
static unsigned char *keep(const deep_rig *rig, size_t *bytes) {
  const lgv_layout *table = &rig->arena.table;
  unsigned char *all = malloc(table->used);
  *bytes = 0;
  for (size_t i = 0; i < table->n_blocks; i++) {
    const lgv_block *block = &table->blocks[i];
    size_t size = block->count * lgv__dtype_size(block->dtype);
    if (!block->keep) continue;
    memcpy(all + *bytes, table->base + block->offset, size);
    *bytes += size;
  }
  return all;
}

/* Both choose alike in every state, the one that is all 0 included, also in states whose rows are
 * behind; with the vote every member has a say. */
static void lazy_ensembles_act_as_whole_ones(void **state) {
  (void)state;
  deep_rig lazy, whole;
  int ones = 0;
  deep_open(&lazy, "bootstrapped-dqn", deep_spec(LENGTH, 2), ENSEMBLE "agent.eval=vote", NULL);
  deep_open(&whole, "bootstrapped-dqn", deep_spec(LENGTH, 2), ENSEMBLE "agent.eval=vote" WHOLE,
            NULL);
  walk(&lazy);
  walk(&whole);
  for (int at = -1; at < LENGTH; at++) {
    int32_t action = act(&lazy, at, LGV_EVAL);
    assert_int_equal(action, act(&whole, at, LGV_EVAL));
    ones += action;
  }
  assert_true(ones > 0 && ones < LENGTH);
  deep_close(&lazy);
  deep_close(&whole);
}

static void evaluation_writes_only_scratch(void **state) {
  (void)state;
  deep_rig rig;
  size_t bytes, again;
  deep_open(&rig, "bootstrapped-dqn", deep_spec(LENGTH, 2), ENSEMBLE "agent.eval=vote", NULL);
  walk(&rig);
  lgv_rng *eval = rig.problem.eval, before = *eval;
  unsigned char *kept = keep(&rig, &bytes);
  for (int at = -1; at < LENGTH; at++) act(&rig, at, LGV_EVAL);
  *eval = before; /* its own stream it may use */
  unsigned char *now = keep(&rig, &again);
  assert_int_equal(bytes, again);
  assert_memory_equal(kept, now, bytes);
  free(kept);
  free(now);
  deep_close(&rig);
}

/* ---- priors ---- */

typedef struct prior_rig {
  random_prior prior;
  net_shape shape;
  lgv_arena arena;
} prior_rig;

static void lay_out_prior(void *context, lgv_layout *layout) {
  prior_rig *r = context;
  lgv__random_prior_layout(&r->prior, &r->shape, K, 7, 5, layout);
}

static void open_prior(prior_rig *r, lgv_obs_form form) {
  lgv_rng init;
  lgv_error err = {0};
  *r = (prior_rig){.shape = {.family = NET_MLP,
                             .obs_form = form,
                             .obs_shape = {LENGTH, 1, 1},
                             .hidden = {.count = 2, .value = {6, 5}},
                             .outputs = 2,
                             .input_scale = 1}};
  assert_int_equal(lgv__arena_build(&r->arena, lay_out_prior, r, "a test", &err), LGV_OK);
  lgv_rng_seed(&init, 3, "init");
  lgv__random_prior_open(&r->prior, &init);
}

/* The table of a thermometer against the network that a dense observation keeps: the same draws. */
static void tabulated_priors_are_the_networks(void **state) {
  (void)state;
  prior_rig table, plain;
  open_prior(&table, LGV_FORM_THERMOMETER);
  open_prior(&plain, LGV_FORM_DENSE);
  for (int32_t ones = 0; ones <= LENGTH; ones++)
    for (int64_t copy = 0; copy < K; copy++) {
      float x[LENGTH], a[2], b[2];
      for (int i = 0; i < LENGTH; i++) x[i] = i < ones ? 1 : 0;
      lgv__random_prior_values(&table.prior, copy, (net_input){.index = &ones}, 1, a);
      lgv__random_prior_values(&plain.prior, copy, (net_input){.dense = x}, 1, b);
      assert_near(a, b, 2, 1e-5);
      assert_true(fabsf(a[0]) > 1e-6f);
    }
  lgv__arena_free(&table.arena);
  lgv__arena_free(&plain.arena);
}

/* One-hot: the same network, but its first layer is sqrt(LENGTH) times as large, and in the state
 * that is all 0 only biases are at work. */
static void one_hot_priors_tell_states_apart(void **state) {
  (void)state;
  prior_rig table, plain;
  open_prior(&table, LGV_FORM_ONE_HOT);
  open_prior(&plain, LGV_FORM_DENSE);
  for (int32_t at = -1; at < LENGTH; at++) {
    float x[LENGTH] = {0}, a[2], b[2];
    if (at >= 0) x[at] = sqrtf(LENGTH);
    lgv__random_prior_values(&table.prior, 1, (net_input){.index = &at}, 1, a);
    lgv__random_prior_values(&plain.prior, 1, (net_input){.dense = x}, 1, b);
    assert_near(a, b, 2, 1e-5);
  }
  lgv__arena_free(&table.arena);
  lgv__arena_free(&plain.arena);
}

static void priors_never_change(void **state) {
  (void)state;
  const char *const members[] = {"agent.heads=4 agent.members=heads", ENSEMBLE, ENSEMBLE WHOLE};
  for (int i = 0; i < 3; i++) {
    deep_rig rig;
    size_t count = 0;
    deep_open(&rig, "bootstrapped-dqn", deep_spec(LENGTH, 2), members[i], NULL);
    float *prior = deep_array(&rig, "prior", &count);
    float *kept = malloc(count * sizeof *kept);
    memcpy(kept, prior, count * sizeof *kept);
    assert_int_equal(count, (LENGTH + 1) * 2 * (i == 0 ? 4 : K));
    walk(&rig);
    assert_memory_equal(kept, prior, count * sizeof *kept);
    free(kept);
    deep_close(&rig);
  }
}

/* ---- deep exploration ---- */

/* A uniform policy finds the treasure once in 1024 episodes. */
static void the_preset_solves_a_deep_sea(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("deepsea", "bootstrapped-dqn", "env.n=10 run.episodes=250");
  for (uint64_t seed = 0; seed < 3; seed++) assert_true(run_plan(plan, seed).final_return > 0.98);
  lgv_plan_free(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lazy_ensembles_learn_as_whole_ones),
      cmocka_unit_test(members_learn_by_their_own_masks),
      cmocka_unit_test(lazy_ensembles_act_as_whole_ones),
      cmocka_unit_test(evaluation_writes_only_scratch),
      cmocka_unit_test(tabulated_priors_are_the_networks),
      cmocka_unit_test(one_hot_priors_tell_states_apart),
      cmocka_unit_test(priors_never_change),
      cmocka_unit_test(the_preset_solves_a_deep_sea),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
