/* The sum tree against brute force, and prioritized draws against their distribution. */
#include "replay/priority.h"

#include "base/arena.h"
#include "run_helpers.h"

#include <math.h>
#include <stdlib.h>

/* ---- the tree ---- */

enum { NUMBERS = 1000 };

static void layout_tree(void *context, lgv_layout *layout) {
  lgv__sum_tree_layout(context, "tree", NUMBERS, layout);
}

static double brute_sum(const double *value, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += value[i];
  return sum;
}

/* The least index whose running sum passes the target. */
static int64_t brute_find(const double *value, double target) {
  double sum = 0;
  for (int64_t i = 0; i < NUMBERS; i++)
    if ((sum += value[i]) > target) return i;
  return NUMBERS;
}

/* Numbers are multiples of 2^-20 below 2^10, so that every sum of them is exact, in any order. */
static void the_tree_equals_brute_force_over_a_million_edits(void **state) {
  (void)state;
  sum_tree tree;
  lgv_arena arena;
  lgv_error err;
  lgv_rng rng;
  static double value[NUMBERS];
  assert_int_equal(lgv__arena_build(&arena, layout_tree, &tree, "a test", &err), LGV_OK);
  lgv_rng_seed(&rng, 1, "tree");
  assert_float_equal(sum_tree_total(&tree), 0, 0);
  for (int edit = 0; edit < 1000000; edit++) {
    int64_t i = lgv_rng_below(&rng, NUMBERS);
    value[i] = lgv_rng_below(&rng, 4) == 0 ? 0 : (double)lgv_rng_below(&rng, 1 << 30) * 0x1p-20;
    lgv__sum_tree_set(&tree, i, value[i]);
    if (edit % 1000 != 999) continue;
    assert_true(sum_tree_total(&tree) == brute_sum(value, NUMBERS));
    assert_true(sum_tree_get(&tree, i) == value[i]);
    double target = floor(lgv_rng_uniform(&rng) * sum_tree_total(&tree) * 0x1p20) * 0x1p-20;
    assert_int_equal(lgv__sum_tree_find(&tree, target), brute_find(value, target));
    int64_t last = lgv__sum_tree_find(&tree, sum_tree_total(&tree)); /* where rounding may lead */
    assert_true(sum_tree_get(&tree, last) > 0);
    double edge = brute_sum(value, lgv_rng_below(&rng, NUMBERS)); /* belongs to the next number */
    if (edge < sum_tree_total(&tree))
      assert_int_equal(lgv__sum_tree_find(&tree, edge), brute_find(value, edge));
  }
  lgv__arena_free(&arena);
}

/* Rounding errors do not accumulate: after the edits the root is as exact as a fresh sum. */
static void rounding_does_not_pile_up(void **state) {
  (void)state;
  sum_tree tree;
  lgv_arena arena;
  lgv_error err;
  lgv_rng rng;
  static double value[NUMBERS];
  assert_int_equal(lgv__arena_build(&arena, layout_tree, &tree, "a test", &err), LGV_OK);
  lgv_rng_seed(&rng, 2, "tree");
  for (int edit = 0; edit < 1000000; edit++) {
    int64_t i = lgv_rng_below(&rng, NUMBERS);
    value[i] = exp(20 * lgv_rng_normal(&rng)); /* from 1e-30 to 1e30 and beyond */
    lgv__sum_tree_set(&tree, i, value[i]);
  }
  for (int64_t i = 0; i < NUMBERS; i++) {
    value[i] = i % 7 ? 0.1 : 0;
    lgv__sum_tree_set(&tree, i, value[i]);
  }
  double sum = brute_sum(value, NUMBERS);
  assert_float_equal(sum_tree_total(&tree), sum, 1e-15 * NUMBERS * sum);
  for (int k = 0; k < 100000; k++) { /* not at one of the zeros, even at the very edge */
    double at = k == 0 ? nextafter(1, 0) : lgv_rng_uniform(&rng);
    assert_true(sum_tree_get(&tree, lgv__sum_tree_find(&tree, at * sum_tree_total(&tree))) > 0);
  }
  lgv__arena_free(&arena);
}

/* ---- draws ---- */

enum { LENGTH = 12, BATCH = 100 };

typedef struct rig {
  lgv_env_spec env;
  priority_params params;
  int64_t capacity;
  replay r;
  replay_batch b;
  priority q;
  float *weight, *error;
  lgv_arena arena;
  lgv_rng rng;
} rig;

static void layout_rig(void *context, lgv_layout *layout) {
  rig *t = context;
  lgv__replay_layout(&t->r, &t->env, 1, t->capacity, 1, 0.99, layout);
  lgv__replay_batch_layout(&t->b, &t->r, BATCH, false, layout);
  lgv__priority_layout(&t->q, &t->params, &t->r, BATCH, layout);
  t->weight = lgv_layout_array(layout, "weight", LGV_F32, BATCH, LGV_SCRATCH);
  t->error = lgv_layout_array(layout, "error", LGV_F32, BATCH, LGV_SCRATCH);
}

static void open_rig(rig *t, priority_params params, int64_t capacity, int32_t frames) {
  lgv_error err;
  *t = (rig){.params = params, .capacity = capacity};
  t->env = frames ? (lgv_env_spec){.obs_kind = LGV_OBS_BYTE,
                                   .obs_shape = {2, 2, frames},
                                   .frames = frames,
                                   .actions = {.count = 2}}
                  : (lgv_env_spec){.obs_form = LGV_FORM_ONE_HOT,
                                   .obs_shape = {LENGTH, 1, 1},
                                   .actions = {.count = 2}};
  assert_int_equal(lgv__arena_build(&t->arena, layout_rig, t, "a test", &err), LGV_OK);
  lgv_rng_seed(&t->rng, 7, "test");
  lgv__priority_open(&t->q);
}

static void add(rig *t, int64_t stage, bool terminated) {
  static const float data[LENGTH];
  lgv_transition x = {.obs = {.data = data, .stage = stage},
                      .next = {.data = data, .stage = stage + 1},
                      .action = choice(0),
                      .terminated = terminated};
  lgv__priority_add(&t->q, &t->r, lgv__replay_add(&t->r, 0, &x));
}

/* One entry's priority. */
static void set_priority(rig *t, int64_t entry, double error) {
  for (int64_t i = 0; i < BATCH; i++) {
    t->b.entry[i] = entry;
    t->error[i] = (float)error;
  }
  lgv__priority_update(&t->q, &t->b, t->error);
}

static void sample(rig *t, int64_t steps) {
  lgv__priority_sample(&t->q, &t->r, &t->rng, steps, &t->b, t->weight);
}

static const priority_params usual = {
    .on = true, .alpha = 0.6, .beta = 0.4, .beta_end = 1, .beta_steps = 1000, .uniform = 1e-3};

enum { ENTRIES = 20 };

/* Ten transitions in two episodes; entry e has error errors[e]. */
static void fill(rig *t, const double *errors) {
  for (int i = 0; i < 10; i++) add(t, i % 5, i % 5 == 4);
  for (int64_t e = 0; e < ENTRIES; e++)
    if (e < t->r.cursor[REPLAY_FILLED] && lgv__replay_can_draw(&t->r, e))
      set_priority(t, e, errors[e]);
}

static const double errors[ENTRIES] = {1, 2, 0.5, 0.25, 3, 0, 0.1, 0, 1.5, 4, 0.75, 0};

/* P(i) of Eq. 1, including the uniform share. */
static void law(const rig *t, double *P) {
  double total = 0, N = (double)lgv__replay_size(&t->r), u = t->params.uniform;
  for (int e = 0; e < ENTRIES; e++) {
    bool there = e < t->r.cursor[REPLAY_FILLED] && lgv__replay_can_draw(&t->r, e);
    P[e] = there ? pow(errors[e], t->params.alpha) : 0;
    total += P[e];
  }
  for (int e = 0; e < ENTRIES; e++) {
    bool there = e < t->r.cursor[REPLAY_FILLED] && lgv__replay_can_draw(&t->r, e);
    P[e] = there ? (1 - u) * P[e] / total + u / N : 0;
  }
}

/* Pearson's statistic over 400,000 draws, against the 1 - 1e-6 quantile of chi-square with 9
 * degrees of freedom, 45.1. */
static void check_frequencies(priority_params params) {
  rig t;
  double P[ENTRIES], count[ENTRIES] = {0}, statistic = 0;
  open_rig(&t, params, ENTRIES, 0);
  fill(&t, errors);
  law(&t, P);
  int rounds = 4000, classes = 0;
  for (int k = 0; k < rounds; k++) {
    sample(&t, 0);
    for (int i = 0; i < BATCH; i++) count[t.b.entry[i]]++;
  }
  for (int e = 0; e < ENTRIES; e++) {
    double expected = P[e] * rounds * BATCH;
    if (P[e] == 0) {
      assert_float_equal(count[e], 0, 0);
    } else {
      classes++;
      statistic += (count[e] - expected) * (count[e] - expected) / expected;
    }
  }
  assert_int_equal(classes, 10);
  if (!(statistic < 45.1)) fail_msg("chi-square %f", statistic);
  lgv__arena_free(&t.arena);
}

static void draws_have_the_frequencies_of_their_priorities(void **state) {
  (void)state;
  priority_params mixed = usual, plain = usual, uniform = usual;
  mixed.uniform = 0.2;
  plain.alpha = 0; /* one of the errors is 0: 0^0 = 1 */
  uniform.uniform = 1;
  check_frequencies(usual);
  check_frequencies(mixed);
  check_frequencies(plain);
  check_frequencies(uniform);
}

/* w_i = (N P(i))^-beta / max, beta rising from 0.4 at step 0 to 1 at step 1000. */
static void weights_undo_the_bias_of_the_draws(void **state) {
  (void)state;
  const int64_t steps[] = {0, 500, 1000, 5000};
  const double beta[] = {0.4, 0.7, 1, 1};
  rig t;
  double P[ENTRIES];
  open_rig(&t, usual, ENTRIES, 0);
  fill(&t, errors);
  law(&t, P);
  for (int k = 0; k < 4; k++) {
    double most = 0;
    sample(&t, steps[k]);
    for (int i = 0; i < BATCH; i++) most = fmax(most, pow(10 * P[t.b.entry[i]], -beta[k]));
    for (int i = 0; i < BATCH; i++)
      assert_float_equal(t.weight[i], pow(10 * P[t.b.entry[i]], -beta[k]) / most, 1e-6);
  }
  lgv__arena_free(&t.arena);
  priority_params none = usual;
  none.beta = none.beta_end = 0;
  open_rig(&t, none, ENTRIES, 0);
  fill(&t, errors);
  sample(&t, 0);
  for (int i = 0; i < BATCH; i++) assert_float_equal(t.weight[i], 1, 0);
  lgv__arena_free(&t.arena);
}

static void new_transitions_have_the_greatest_priority_so_far(void **state) {
  (void)state;
  rig t;
  open_rig(&t, usual, ENTRIES, 0);
  add(&t, 0, false);
  assert_float_equal(sum_tree_get(&t.q.tree, 0), 1, 0);
  set_priority(&t, 0, 5);
  set_priority(&t, 0, 0.5);
  add(&t, 1, false);
  assert_float_equal(sum_tree_get(&t.q.tree, 0), pow(0.5, 0.6), 1e-7);
  assert_float_equal(sum_tree_get(&t.q.tree, 1), pow(5, 0.6), 1e-7);
  lgv__arena_free(&t.arena);
}

static void draws_are_uniform_if_all_priorities_are_zero(void **state) {
  (void)state;
  const double zeros[ENTRIES] = {0};
  rig t;
  open_rig(&t, usual, ENTRIES, 0);
  fill(&t, zeros);
  int64_t seen = 0;
  for (int k = 0; k < 10; k++) {
    sample(&t, 0);
    for (int i = 0; i < BATCH; i++) {
      seen |= (int64_t)1 << t.b.entry[i];
      assert_float_equal(t.weight[i], 1, 0);
    }
  }
  assert_int_equal(__builtin_popcountll((uint64_t)seen), 10);
  lgv__arena_free(&t.arena);
}

/* In a ring that wraps many times, with stacks of pictures and episodes of any length, exactly the
 * entries that can be drawn have a priority. */
static void only_what_can_be_drawn_has_a_priority(void **state) {
  (void)state;
  for (int frames = 0; frames <= 4; frames += 2) {
    rig t;
    open_rig(&t, usual, 23, frames);
    int64_t stage = 0;
    for (int i = 0; i < 2000; i++) {
      bool ends = lgv_rng_below(&t.rng, 6) == 0;
      add(&t, stage, ends);
      stage = ends ? 0 : stage + 1;
      for (int64_t e = 0; e < 23; e++) {
        bool there = e < t.r.cursor[REPLAY_FILLED] && lgv__replay_can_draw(&t.r, e);
        assert_true((sum_tree_get(&t.q.tree, e) > 0) == there);
      }
    }
    lgv__arena_free(&t.arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_tree_equals_brute_force_over_a_million_edits),
      cmocka_unit_test(rounding_does_not_pile_up),
      cmocka_unit_test(draws_have_the_frequencies_of_their_priorities),
      cmocka_unit_test(weights_undo_the_bias_of_the_draws),
      cmocka_unit_test(new_transitions_have_the_greatest_priority_so_far),
      cmocka_unit_test(draws_are_uniform_if_all_priorities_are_zero),
      cmocka_unit_test(only_what_can_be_drawn_has_a_priority),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
