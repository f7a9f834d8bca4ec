/* Gauss-Newton Langevin: its sums against single samples, its data against a plain list, and its
 * chain against the Gaussian posterior of a table. */
#include "deep_helpers.h"

#include "agent/deep/gauss_newton.h"
#include "replay/merged.h"

#include <math.h>

/* ---- gradient and curvature ---- */

enum { ROWS = 9, LENGTH = 6 };

typedef struct rig {
  net n;
  gauss_newton gn;
  net_tape tape;
  float *w, *grad, *curvature, *one, *sum, *squares;
  lgv_arena arena;
} rig;

static void layout_rig(void *context, lgv_layout *layout) {
  rig *t = context;
  size_t n = (size_t)t->n.params;
  float **vectors[] = {&t->w, &t->grad, &t->curvature, &t->one, &t->sum, &t->squares};
  for (int i = 0; i < 6; i++)
    *vectors[i] = lgv_layout_array(layout, "vector", LGV_F32, n, LGV_SCRATCH);
  gauss_newton_layout(&t->gn, &t->n, ROWS, layout);
  net_tape_layout(&t->tape, &t->n, "tape", ROWS, true, layout);
}

static void open_rig(rig *t, lgv_obs_form form, lgv_rng *rng) {
  lgv_error err = {0};
  net_shape shape = {.family = NET_MLP,
                     .obs_form = form,
                     .obs_shape = {LENGTH, 1, 1},
                     .hidden = {2, {7, 5}},
                     .outputs = 3,
                     .input_scale = 1};
  assert_int_equal(net_build(&t->n, &shape, &err), LGV_OK);
  assert_int_equal(lgv__arena_build(&t->arena, layout_rig, t, "a test", &err), LGV_OK);
  net_init(&t->n, t->w, rng);
}

static void sums_agree_with_single_samples(void **state) {
  (void)state;
  const lgv_obs_form forms[] = {LGV_FORM_ONE_HOT, LGV_FORM_THERMOMETER};
  for (int k = 0; k < 2; k++) {
    rig t = {0};
    lgv_rng rng;
    int32_t index[ROWS], action[ROWS];
    float slope[ROWS], weight[ROWS];
    lgv_rng_seed(&rng, 1, "test");
    open_rig(&t, forms[k], &rng);
    for (int i = 0; i < ROWS; i++) {
      index[i] = i == 0 ? (k ? 0 : -1) : (int32_t)lgv_rng_below(&rng, LENGTH);
      action[i] = (int32_t)lgv_rng_below(&rng, 3);
      slope[i] = (float)lgv_rng_normal(&rng);
      weight[i] = (float)lgv_rng_uniform(&rng);
      float d_q[3] = {0};
      d_q[action[i]] = 1;
      net_input input = {.index = &index[i]};
      net_forward(&t.n, t.w, input, 1, &t.tape);
      net_backward(&t.n, t.w, input, 1, &t.tape, d_q, 1, t.one);
      for (int64_t p = 0; p < t.n.params; p++) {
        t.sum[p] += slope[i] * t.one[p];
        t.squares[p] += weight[i] * t.one[p] * t.one[p];
      }
    }
    net_forward(&t.n, t.w, (net_input){.index = index}, ROWS, &t.tape);
    gauss_newton_add(&t.gn, t.w, &t.tape, index, action, slope, weight, ROWS, t.grad, t.curvature);
    for (int64_t p = 0; p < t.n.params; p++) {
      assert_float_equal(t.grad[p], t.sum[p], 1e-5);
      assert_float_equal(t.curvature[p], t.squares[p], 1e-5);
    }
    lgv__arena_free(&t.arena);
  }
}

/* ---- merged data ---- */

static void layout_merged(void *context, lgv_layout *layout) { merged_layout(context, 60, layout); }

static void counts_and_rewards_are_those_of_the_list(void **state) {
  (void)state;
  merged m;
  lgv_arena arena;
  lgv_error err = {0};
  lgv_rng rng;
  double count[4][2][4][2] = {{{{0}}}}, reward[4][2][4][2] = {{{{0}}}};
  assert_int_equal(lgv__arena_build(&arena, layout_merged, &m, "a test", &err), LGV_OK);
  lgv_rng_seed(&rng, 1, "test");
  for (int i = 0; i < 3000; i++) {
    int s = (int)lgv_rng_below(&rng, 4), a = (int)lgv_rng_below(&rng, 2);
    int to = (int)lgv_rng_below(&rng, 4), end = lgv_rng_uniform(&rng) < 0.3;
    double r = lgv_rng_normal(&rng);
    if (s == to && a == 1) continue; /* leaves 56 of the 64 kinds */
    assert_true(merged_add(&m, s - 1, a, r, to - 1, end));
    count[s][a][to][end]++;
    reward[s][a][to][end] += r;
  }
  assert_int_equal(m.size[0], 56);
  for (int64_t e = 0; e < m.size[0]; e++) {
    double n = count[m.obs[e] + 1][m.action[e]][m.next[e] + 1][m.terminated[e]];
    double sum = reward[m.obs[e] + 1][m.action[e]][m.next[e] + 1][m.terminated[e]];
    assert_float_equal(m.count[e], n, 0);
    assert_float_equal(m.reward[e], sum, 1e-9);
  }
  for (int i = 0; i < 4; i++) assert_true(merged_add(&m, 50 + i, 0, 1, 0, false));
  assert_false(merged_add(&m, 70, 0, 1, 0, false)); /* full */
  assert_true(merged_add(&m, 50, 0, 1, 0, false));  /* known */
  lgv__arena_free(&arena);
}

/* ---- the chain ---- */

static void no_hidden_layers(void *params) { ((lgv_ints *)params)->count = 0; }

/* A table with biases held at 0: w[s, a] has precision n / sigma^2 + 1 and, preconditioned, is the
 * chain w' = w - eps (w - mean) + sqrt(2 eps / precision) xi, whose stationary law has that mean
 * and the variance 1 / (precision (1 - eps / 2)). Mean and variance over time, 5 standard errors: T
 * draws with correlation 1 - eps count as T eps / (2 - eps). */
static void the_chain_has_the_law_of_the_posterior(void **state) {
  (void)state;
  enum { DRAWS = 40000, VISITS = 3 };
  const double eps = 0.5, sigma = 0.5, reward = 2;
  deep_rig t;
  lgv_error err = {0};
  deep_open(&t, "gn-lmcdqn", deep_spec(3, 2),
            "agent.step=0.5 agent.upper_step=1 agent.sigma=0.5 agent.prior_bias=1e-5 "
            "agent.updates=1",
            no_hidden_layers);
  for (int i = 0; i < VISITS; i++)
    assert_int_equal(deep_observe(&t, 0, 1, 1, 2, reward, true, &err), LGV_OK);
  const float *w = deep_array(&t, "w", NULL);
  const int at[] = {1 * 2 + 1, 1 * 2 + 0}; /* visited, and not */
  double sum[2] = {0}, squares[2] = {0};
  for (int i = -100; i < DRAWS; i++) {
    assert_int_equal(t.type->end_episode(t.self, &err), LGV_OK);
    for (int k = 0; k < 2 && i >= 0; k++) {
      sum[k] += (double)w[at[k]];
      squares[k] += (double)w[at[k]] * (double)w[at[k]];
    }
  }
  for (int k = 0; k < 2; k++) {
    double precision = (k == 0 ? VISITS : 0) / (sigma * sigma) + 1;
    double expected = (k == 0 ? VISITS * reward : 0) / (sigma * sigma) / precision;
    double spread = 1 / (precision * (1 - eps / 2)), mean = sum[k] / DRAWS;
    double variance = squares[k] / DRAWS - mean * mean, effective = DRAWS * eps / (2 - eps);
    assert_true(fabs(mean - expected) < 5 * sqrt(spread / effective));
    assert_true(fabs(variance - spread) < 5 * spread * sqrt(2 / effective));
  }
  deep_close(&t);
}

static void it_solves_a_deep_sea(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("deepsea", "gn-lmcdqn", "env.n=8 run.episodes=200");
  for (uint64_t seed = 0; seed < 3; seed++) assert_true(run_plan(plan, seed).final_return > 0.9);
  lgv_plan_free(plan);
}

static void too_many_distinct_transitions_stop_the_run(void **state) {
  (void)state;
  deep_rig t;
  lgv_error err = {0};
  deep_open(&t, "gn-lmcdqn", deep_spec(3, 2), "agent.capacity=1", NULL);
  assert_int_equal(deep_observe(&t, 0, 1, 1, 2, 0, true, &err), LGV_OK);
  assert_int_equal(deep_observe(&t, 0, 0, 1, 2, 0, true, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "agent.capacity"));
  deep_close(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_agree_with_single_samples),
      cmocka_unit_test(counts_and_rewards_are_those_of_the_list),
      cmocka_unit_test(the_chain_has_the_law_of_the_posterior),
      cmocka_unit_test(it_solves_a_deep_sea),
      cmocka_unit_test(too_many_distinct_transitions_stop_the_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
