/* Gauss-Newton Langevin: its sums against single samples, its data against a plain list, and its
 * chain against the Gaussian posterior of a table. */
#include "deep_helpers.h"

#include "agent/deep/gauss_newton.h"
#include "agent/deep/pairs.h"
#include "agent/deep/state_batch.h"

#include <math.h>

/* ---- gradient and curvature ---- */

enum { ROWS = 9, LENGTH = 6 };

typedef struct rig {
  net n;
  gauss_newton gn;
  net_tape tape;
  state_batch batch;
  float *w, *grad, *curvature, *one, *sum, *squares;
  lgv_arena arena;
} rig;

static void layout_rig(void *context, lgv_layout *layout) {
  rig *t = context;
  size_t n = (size_t)t->n.params;
  float **vectors[] = {&t->w, &t->grad, &t->curvature, &t->one, &t->sum, &t->squares};
  for (int i = 0; i < 6; i++)
    *vectors[i] = lgv_layout_array(layout, "vector", LGV_F32, n, LGV_SCRATCH);
  lgv__gauss_newton_layout(&t->gn, &t->n, ROWS, layout);
  lgv__net_tape_layout(&t->tape, &t->n, "tape", ROWS, true, layout);
  lgv__state_batch_layout(&t->batch, ROWS, 1, layout);
}

static void open_rig(rig *t, lgv_obs_form form, lgv_rng *rng) {
  lgv_error err = {0};
  net_shape shape = {.family = NET_MLP,
                     .obs_form = form,
                     .obs_shape = {LENGTH, 1, 1},
                     .hidden = {2, {7, 5}},
                     .outputs = 1,
                     .input_scale = 1};
  assert_int_equal(lgv__net_build(&t->n, &shape, &err), LGV_OK);
  assert_int_equal(lgv__arena_build(&t->arena, layout_rig, t, "a test", &err), LGV_OK);
  lgv__net_init(&t->n, t->w, rng);
}

static void sums_agree_with_single_samples(void **state) {
  (void)state;
  const lgv_obs_form forms[] = {LGV_FORM_ONE_HOT, LGV_FORM_THERMOMETER};
  for (int k = 0; k < 2; k++) {
    rig t = {0};
    lgv_rng rng;
    int32_t index[ROWS];
    float slope[ROWS], weight[ROWS];
    lgv_rng_seed(&rng, 1, "test");
    open_rig(&t, forms[k], &rng);
    for (int i = 0; i < ROWS; i++) {
      index[i] = i == 0 ? (k ? 0 : -1) : (int32_t)lgv_rng_below(&rng, LENGTH);
      slope[i] = (float)lgv_rng_normal(&rng);
      weight[i] = (float)lgv_rng_uniform(&rng);
      const float d_q = 1;
      net_input input = {.index = &index[i]};
      lgv__net_forward(&t.n, t.w, input, 1, &t.tape);
      lgv__net_backward(&t.n, t.w, input, 1, &t.tape, &d_q, 1, t.one);
      for (int64_t p = 0; p < t.n.params; p++) {
        t.sum[p] += slope[i] * t.one[p];
        t.squares[p] += weight[i] * t.one[p] * t.one[p];
      }
    }
    lgv__net_forward(&t.n, t.w, (net_input){.index = index}, ROWS, &t.tape);
    lgv__gauss_newton_add(&t.gn, t.w, &t.tape, index, slope, weight, ROWS, t.grad, t.curvature);
    for (int64_t p = 0; p < t.n.params; p++) {
      assert_float_equal(t.grad[p], t.sum[p], 1e-5);
      assert_float_equal(t.curvature[p], t.squares[p], 1e-5);
    }
    lgv__arena_free(&t.arena);
  }
}

/* ---- some of the states for all ---- */

enum { BATCH = 4 };

/* Sums over the states of a step, as the agent forms them. */
static void sum_drawn(rig *t, const int32_t *index, const float *slope, const float *weight) {
  const state_batch *b = &t->batch;
  int32_t at[ROWS];
  float by[ROWS], times[ROWS];
  for (int64_t i = 0; i < b->drawn; i++) {
    at[i] = index[b->order[i]];
    by[i] = slope[b->order[i]];
    times[i] = weight[b->order[i]];
  }
  memset(t->grad, 0, (size_t)t->n.params * sizeof *t->grad);
  memset(t->curvature, 0, (size_t)t->n.params * sizeof *t->curvature);
  lgv__net_forward(&t->n, t->w, (net_input){.index = at}, b->drawn, &t->tape);
  lgv__gauss_newton_add(&t->gn, t->w, &t->tape, at, by, times, b->drawn, t->grad, t->curvature);
}

/* Of shared parameters the scaled gradient, of rows m times the gradient in the steps that draw
 * them: the means over draws are those of the full sum within 5 standard errors. The running mean
 * of the curvature has the full sum as its mean but for what the lower bound adds: less than a
 * tenth, and never does it fall below the bound. */
static void drawn_sums_have_the_full_ones_as_their_means(void **state) {
  (void)state;
  enum { DRAWS = 20000, STATES = 7 };
  const int32_t index[STATES] = {3, 0, -1, 5, 1, 4, 2};
  float slope[STATES], weight[STATES];
  lgv_rng rng;
  rig t = {.batch = {.size = BATCH, .decay = 0.99}};
  lgv_rng_seed(&rng, 2, "test");
  t.batch.shared = 7 + 7 * 5 + 5 + 5 + 1; /* all but the 6 rows of 7 */
  open_rig(&t, LGV_FORM_ONE_HOT, &rng);
  int64_t first = t.n.layer[0].biases;
  assert_int_equal(t.n.params - first, t.batch.shared);
  for (int k = 0; k < STATES; k++) {
    slope[k] = (float)lgv_rng_normal(&rng);
    weight[k] = (float)lgv_rng_uniform(&rng);
    lgv__state_batch_meet(&t.batch, k);
  }
  double *full = calloc((size_t)(5 * t.n.params), sizeof *full),
         *full_curvature = full + t.n.params;
  double *sum = full_curvature + t.n.params, *squares = sum + t.n.params;
  double *curvature = squares + t.n.params;
  t.batch.known = t.batch.drawn = STATES;
  sum_drawn(&t, index, slope, weight);
  for (int64_t p = 0; p < t.n.params; p++)
    full[p] = (double)t.grad[p], full_curvature[p] = (double)t.curvature[p];
  for (int i = 0; i < DRAWS; i++) {
    lgv__state_batch_draw(&t.batch, STATES, &rng);
    assert_int_equal(t.batch.drawn, BATCH);
    sum_drawn(&t, index, slope, weight);
    memcpy(t.one, t.curvature, (size_t)t.n.params * sizeof *t.one);
    lgv__state_batch_rescale(&t.batch, 0, t.grad + first, t.curvature + first);
    for (int64_t p = 0; p < t.n.params; p++) {
      double g = (double)t.grad[p] * (p < first ? (double)STATES / BATCH : 1);
      sum[p] += g / DRAWS;
      squares[p] += g * g / DRAWS;
      curvature[p] += (double)t.curvature[p] / DRAWS;
      assert_true(t.curvature[p] >= t.one[p]);
    }
  }
  for (int64_t p = 0; p < t.n.params; p++) {
    double error = sqrt(fmax(0, squares[p] - sum[p] * sum[p]) / DRAWS);
    assert_true(fabs(sum[p] - full[p]) <= 5 * error + 1e-6);
    if (p < first) continue;
    assert_true(curvature[p] >= 0.98 * full_curvature[p]);
    assert_true(curvature[p] <= 1.1 * full_curvature[p]);
  }
  free(full);
  lgv__arena_free(&t.arena);
}

static void no_step_makes_up_for_more_than_an_error(void **state) {
  (void)state;
  state_batch b = {.known = 100, .drawn = 20};
  assert_float_equal(lgv__state_batch_scale(&b), 5, 1e-12);
  assert_float_equal(lgv__state_batch_step(&b, 0.1), 0.1, 0);
  assert_float_equal(lgv__state_batch_step(&b, 0.5), 0.2, 1e-12);
  b.drawn = 100;
  assert_float_equal(lgv__state_batch_scale(&b), 1, 0);
  assert_float_equal(lgv__state_batch_step(&b, 0.5), 0.5, 0);
}

/* ---- merged data ---- */

static void layout_merged(void *context, lgv_layout *layout) {
  lgv__transition_counts_layout(context, 60, layout);
}

static void counts_and_rewards_are_those_of_the_list(void **state) {
  (void)state;
  transition_counts m;
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
    assert_true(lgv__transition_counts_add(&m, s - 1, a, r, to - 1, end));
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
  for (int i = 0; i < 4; i++) assert_true(lgv__transition_counts_add(&m, 50 + i, 0, 1, 0, false));
  assert_false(lgv__transition_counts_add(&m, 70, 0, 1, 0, false)); /* full */
  assert_true(lgv__transition_counts_add(&m, 50, 0, 1, 0, false));  /* known */
  lgv__arena_free(&arena);
}

/* ---- targets and their noise ---- */

static void layout_pairs(void *context, lgv_layout *layout) {
  lgv__pairs_layout(context, 3, 2, 60, layout);
}

/* Against a list of single transitions. The pair (0, 1) was never tried; (1, 0) always led to the
 * same. */
static void targets_and_their_noise_are_those_of_the_list(void **state) {
  (void)state;
  enum { LIST = 400 };
  const double gamma = 0.9, sigma = 0.3, V[4] = {0.5, -1.25, 2, 0.25}; /* by index + 1 */
  double n[4][2] = {{0}}, mean[4][2] = {{0}}, squares[4][2] = {{0}}, y[LIST], most = 0;
  int from[LIST], by[LIST];
  float values[4];
  pairs p;
  lgv_arena arena;
  lgv_error err = {0};
  lgv_rng rng;
  assert_int_equal(lgv__arena_build(&arena, layout_pairs, &p, "a test", &err), LGV_OK);
  lgv_rng_seed(&rng, 1, "test");
  for (int i = 0; i < LIST; i++) {
    int s = from[i] = (int)lgv_rng_below(&rng, 4),
        a = by[i] = s == 0 ? 0 : lgv_rng_uniform(&rng) < 0.5;
    int to = (int)lgv_rng_below(&rng, 4), end = lgv_rng_uniform(&rng) < 0.3;
    double r = lgv_rng_normal(&rng);
    if (s == 1 && a == 0) to = 2, end = 0, r = 0.7;
    lgv__pairs_state(&p, s - 1);
    lgv__pairs_state(&p, to - 1);
    assert_true(lgv__pairs_add(&p, s - 1, a, r, to - 1, end));
    y[i] = r + (end ? 0 : gamma * V[to]);
    n[s][a]++;
    mean[s][a] += y[i];
  }
  assert_int_equal(p.states[0], 4);
  for (int k = 0; k < 4; k++) values[k] = (float)V[p.index[k] + 1];
  for (int i = 0; i < LIST; i++) {
    double error = y[i] - mean[from[i]][by[i]] / n[from[i]][by[i]];
    squares[from[i]][by[i]] += error * error;
  }
  for (int s = 0; s < 4; s++)
    for (int a = 0; a < 2; a++)
      if (n[s][a] > 0) most = fmax(most, squares[s][a] / n[s][a]);
  assert_float_equal(lgv__pairs_set_targets(&p, values, gamma, sigma), most, 1e-9);
  for (int k = 0; k < 4; k++)
    for (int a = 0; a < 2; a++) {
      int s = p.index[k] + 1;
      int64_t at = a * p.capacity + k;
      assert_float_equal(p.count[at], n[s][a], 0);
      if (n[s][a] == 0) {
        assert_float_equal(p.weight[at], 0, 0);
        continue;
      }
      double weight = n[s][a] / (sigma * sigma + (most + squares[s][a]) / n[s][a]);
      assert_float_equal(p.target[at], mean[s][a] / n[s][a], 1e-9);
      assert_float_equal(p.squares[at], squares[s][a], 1e-9);
      assert_float_equal(p.weight[at], weight, 1e-5 * weight);
    }
  assert_float_equal(n[0][1], 0, 0);
  assert_true(n[1][0] > 10 && squares[1][0] < 1e-12);
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
            "agent.step=0.5 agent.sigma=0.5 agent.prior_bias=1e-5 "
            "agent.updates=1",
            no_hidden_layers);
  for (int i = 0; i < VISITS; i++)
    assert_int_equal(deep_observe(&t, 0, 1, 1, 2, reward, true, &err), LGV_OK);
  const float *w = deep_array(&t, "w", NULL);
  const int at[] = {4 + 1, 1}; /* visited, and not: an action has 3 weights and a bias */
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

/* The same walk through 40 states: batches that hold all known states draw nothing. */
static void a_batch_of_all_states_is_the_full_chain(void **state) {
  (void)state;
  static const char *const extra[] = {"agent.batch=0", "agent.batch=40", "agent.batch=41",
                                      "agent.batch=39"};
  float *first = NULL;
  for (int k = 0; k < 4; k++) {
    deep_rig t;
    lgv_rng rng;
    size_t size = 0;
    deep_open(&t, "gn-lmcdqn", deep_spec(40, 2), extra[k], NULL);
    lgv_rng_seed(&rng, 1, "test");
    deep_walk(&t, 400, &rng);
    float *w = deep_array(&t, "w", &size);
    if (!first) memcpy(first = malloc(size * sizeof *w), w, size * sizeof *w);
    if (k < 3)
      assert_memory_equal(first, w, size * sizeof *w);
    else
      assert_memory_not_equal(first, w, size * sizeof *w);
    deep_close(&t);
  }
  free(first);
}

enum { LINE = 6, LINE_VISITS = 2 };

/* Over time, of every weight but the bias. */
typedef struct line_law {
  double mean[LINE], variance[LINE], change[LINE]; /* change: the mean square of a step */
} line_law;

/* Of a network without hidden layers that has seen every state of a line by action 1, the rewards 1
 * each. */
static line_law measure_line(lgv_obs_form form, const char *extra, int draws) {
  deep_rig t;
  lgv_error err = {0};
  lgv_env_spec spec = deep_spec(LINE, 2);
  line_law law = {.mean = {0}};
  double last[LINE] = {0};
  spec.obs_form = form;
  deep_open(&t, "gn-lmcdqn", spec, extra, no_hidden_layers);
  for (int i = 0; i < LINE * LINE_VISITS; i++) {
    float from[LINE] = {0}, to[LINE] = {0};
    int at = i % LINE;
    for (int k = form == LGV_FORM_THERMOMETER ? 0 : at; k <= at; k++) from[k] = 1;
    lgv_transition step = {.obs = {.data = from, .state = at},
                           .next = {.data = to, .state = -1, .stage = 1},
                           .action = choice(1),
                           .reward = 1,
                           .terminated = true};
    assert_int_equal(t.type->observe(t.self, &step, &err), LGV_OK);
  }
  const float *w = (const float *)deep_array(&t, "w", NULL) + LINE + 1; /* of action 1 */
  for (int i = -draws / 20; i < draws; i++) {
    assert_int_equal(t.type->end_episode(t.self, &err), LGV_OK);
    for (int k = 0; k < LINE; k++) {
      double now = (double)w[k], step = now - last[k];
      last[k] = now;
      if (i < 0) continue;
      law.mean[k] += now / draws;
      law.variance[k] += now * now / draws;
      law.change[k] += step * step / draws;
    }
  }
  for (int k = 0; k < LINE; k++) law.variance[k] -= law.mean[k] * law.mean[k];
  deep_close(&t);
  return law;
}

/* A table, 2 of 7 states (the 6 and what lies behind them) a step: a row that is drawn moves by
 * eps = 3.5 step = 0.175, which leaves the variance 1 / (precision (1 - eps / 2)), 6.8 % more than
 * that of the full chain, whose eps is 0.05, and the mean square of a step, q 2 eps variance = 2
 * step variance with q = 2 / 7, is the full chain's but for the same 6.8 %. 5 standard errors: T
 * draws count as q T eps / (2 - eps) values; squares of steps, 0 unless drawn, have the relative
 * variance 3 / q - 1. */
static void rows_drawn_now_and_then_keep_the_law_of_the_posterior(void **state) {
  (void)state;
  enum { DRAWS = 60000 };
  const double precision = LINE_VISITS / 0.25 + 1, step = 0.05, q = 2.0 / 7, eps = step / q;
  double spread = 1 / (precision * (1 - eps / 2)), effective = DRAWS * q * eps / (2 - eps);
  line_law law = measure_line(LGV_FORM_ONE_HOT,
                              "agent.step=0.05 agent.sigma=0.5 agent.prior_bias=1e-5 "
                              "agent.updates=1 agent.batch=2",
                              DRAWS);
  for (int k = 0; k < LINE; k++) {
    double change = law.change[k] / (2 * step * spread);
    assert_true(fabs(law.mean[k] - (precision - 1) / precision) < 5 * sqrt(spread / effective));
    assert_true(fabs(law.variance[k] - spread) < 5 * spread * sqrt(2 / effective));
    assert_true(fabs(change - 1) < 5 * sqrt((3 / q - 1) / DRAWS));
  }
}

/* With a thermometer all states share the weights. 4 of 7 states a step against all: both chains
 * see the same noise, so that what the draw adds to the gradient, of the order of the step, and
 * what C strays from the full curvature are all that tells them apart: 3 % in the variances and in
 * the steps, 0.02 in the means. */
static void shared_weights_keep_the_law_of_the_full_chain(void **state) {
  (void)state;
  enum { DRAWS = 100000 };
  const char *const extra[] = {
      "agent.step=0.2 agent.sigma=1 agent.prior_bias=1e-5 agent.updates=1",
      "agent.step=0.2 agent.sigma=1 agent.prior_bias=1e-5 agent.updates=1 agent.batch=4"};
  line_law full = measure_line(LGV_FORM_THERMOMETER, extra[0], DRAWS);
  line_law some = measure_line(LGV_FORM_THERMOMETER, extra[1], DRAWS);
  for (int k = 0; k < LINE; k++) {
    assert_true(fabs(some.variance[k] / full.variance[k] - 1) < 0.03);
    assert_true(fabs(some.change[k] / full.change[k] - 1) < 0.03);
    assert_float_equal(some.mean[k], full.mean[k], 0.02);
    assert_true(some.variance[k] != full.variance[k]);
  }
}

static void the_defaults_follow_the_task(void **state) {
  (void)state;
  static const struct {
    const char *extra, *key, *value;
  } cases[] = {
      {"env.n=20", "agent.sigma", "0.01"},
      {"env.n=20", "agent.updates", "60"},
      {"env.n=80", "agent.updates", "80"},
      {"env.n=20 agent.gamma=0.95", "agent.sigma", "0.05"},
      {"env.n=20 agent.gamma=1 agent.prior_output=3", "agent.sigma", "0.15"},
      {"env.n=20 agent.gamma=1 agent.sigma=0.5", "agent.sigma", "0.5"},
      {"env.n=20 agent.updates=7", "agent.updates", "7"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[64];
    lgv_error err = {0};
    lgv_plan *plan = make_plan("deepsea", "gn-lmcdqn", cases[i].extra);
    assert_int_equal(lgv_plan_get(plan, cases[i].key, text, sizeof text, &err), LGV_OK);
    assert_float_equal(atof(text), atof(cases[i].value), 1e-3 * atof(cases[i].value));
    lgv_plan_free(plan);
  }
}

static void unbounded_tasks_without_discount_need_sigma(void **state) {
  (void)state;
  lgv_settings *settings = make_settings(NULL, "gn-lmcdqn", "agent.gamma=1");
  lgv_env_spec spec = deep_spec(3, 2);
  lgv_agent *agent = NULL;
  lgv_error err = {0};
  spec.horizon = 0;
  assert_int_equal(lgv_agent_create(settings, &spec, 0, 0, 1, &agent, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "agent.sigma"));
  lgv_settings_free(settings);
}

/* Q of one action by hand, for hidden layers of 32: weights (inputs x outputs) before biases. */
static double value_by_hand(const float *w, int length, int index) {
  enum { WIDTH = 32 };
  const float *b1 = w + length * WIDTH, *w2 = b1 + WIDTH, *b2 = w2 + WIDTH * WIDTH,
              *w3 = b2 + WIDTH, *b3 = w3 + WIDTH;
  double q = (double)*b3;
  for (int j = 0; j < WIDTH; j++) {
    double z = (double)b2[j];
    for (int i = 0; i < WIDTH; i++)
      z += fmax(0, (double)(w[index * WIDTH + i] + b1[i])) * (double)w2[i * WIDTH + j];
    q += fmax(0, z) * (double)w3[j];
  }
  return q;
}

/* What a draw of the upper layers gives to all states in common is taken away. */
static void the_start_is_centered_for_every_action(void **state) {
  (void)state;
  enum { STATES = 50, CHOICES = 3 };
  deep_rig t;
  deep_open(&t, "gn-lmcdqn", deep_spec(STATES, CHOICES), "agent.hidden=32,32", NULL);
  size_t size = 0;
  const float *w = deep_array(&t, "w", &size), *centre = deep_array(&t, "centre", NULL);
  for (int a = 0; a < CHOICES; a++) {
    double sum = 0, squares = 0;
    for (int i = 0; i < STATES; i++) {
      double q = value_by_hand(w + (size_t)a * size / CHOICES, STATES, i);
      sum += q;
      squares += q * q;
    }
    assert_float_equal(sum / STATES, 0, 1e-5);
    assert_true(squares / STATES > 0.01);
    assert_true(fabsf(centre[a]) > 1e-3F);
  }
  deep_close(&t);
}

/* Many settings fail in some seeds; the default must not. */
static void it_solves(const char *env, const char *extra, double least) {
  lgv_plan *plan = make_plan(env, "gn-lmcdqn", extra);
  for (uint64_t seed = 0; seed < 3; seed++) assert_true(run_plan(plan, seed).final_return > least);
  lgv_plan_free(plan);
}

static void it_solves_a_deep_sea(void **state) {
  (void)state;
  it_solves("deepsea", "env.n=10 run.episodes=200", 0.9);
}

static void it_solves_deep_seas_with_batches(void **state) {
  (void)state;
  it_solves("deepsea", "env.n=10 agent.batch=32 run.episodes=400", 0.9);
  it_solves("deepsea", "env.n=20 agent.batch=64 run.episodes=500", 0.9);
}

static void it_solves_a_scrambled_chain(void **state) {
  (void)state;
  it_solves("nchain", "env.n=10 env.scramble=true env.features=one-hot run.episodes=400", 8);
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
      cmocka_unit_test(drawn_sums_have_the_full_ones_as_their_means),
      cmocka_unit_test(no_step_makes_up_for_more_than_an_error),
      cmocka_unit_test(counts_and_rewards_are_those_of_the_list),
      cmocka_unit_test(targets_and_their_noise_are_those_of_the_list),
      cmocka_unit_test(the_chain_has_the_law_of_the_posterior),
      cmocka_unit_test(a_batch_of_all_states_is_the_full_chain),
      cmocka_unit_test(rows_drawn_now_and_then_keep_the_law_of_the_posterior),
      cmocka_unit_test(shared_weights_keep_the_law_of_the_full_chain),
      cmocka_unit_test(the_defaults_follow_the_task),
      cmocka_unit_test(unbounded_tasks_without_discount_need_sigma),
      cmocka_unit_test(the_start_is_centered_for_every_action),
      cmocka_unit_test(it_solves_a_deep_sea),
      cmocka_unit_test(it_solves_deep_seas_with_batches),
      cmocka_unit_test(it_solves_a_scrambled_chain),
      cmocka_unit_test(too_many_distinct_transitions_stop_the_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
