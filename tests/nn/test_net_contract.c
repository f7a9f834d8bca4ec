/* The promises of net.h besides correct numbers: sizes, initial values, messages, and bits that
 * depend only on what they should. On every kernel set where kernels matter. */
#include "net_helpers.h"

#include "nn/layers.h"

#include <math.h>

static net_shape mlp(int32_t length, lgv_obs_form form) {
  return (net_shape){.family = NET_MLP,
                     .obs_form = form,
                     .obs_shape = {length, 1, 1},
                     .hidden = {2, {32, 20}},
                     .outputs = 3,
                     .input_scale = 1};
}

static net_shape nature(int32_t side) {
  return (net_shape){.family = NET_AUTO,
                     .obs_kind = LGV_OBS_BYTE,
                     .obs_shape = {side, side, 4},
                     .outputs = 6,
                     .input_scale = 1.0f / 255};
}

static void for_every_set(void (*check)(void)) {
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    lgv__kernels_use(set);
    check();
  }
  lgv__kernels_use(NULL);
}

/* ---- Shapes ---- */

static void nature_has_the_published_size(void **state) {
  (void)state;
  net n;
  lgv_error err;
  net_shape shape = nature(84);
  assert_int_equal(lgv__net_build(&n, &shape, &err), LGV_OK);
  assert_int_equal(n.shape.family, NET_NATURE);
  assert_int_equal(n.n_layers, 5);
  assert_true(n.params == 8224 + 32832 + 36928 + 1606144 + 3078);
  const int64_t lengths[] = {20 * 20 * 32, 9 * 9 * 64, 7 * 7 * 64, 512, 6};
  for (int l = 0; l < 5; l++) assert_int_equal(net_layer_length(&n.layer[l]), lengths[l]);
  shape.shared_bias = true;
  assert_int_equal(lgv__net_build(&n, &shape, &err), LGV_OK);
  assert_true(n.params == 8224 + 32832 + 36928 + 1606144 + 3078 - 5);
  shape = mlp(100, LGV_FORM_DENSE);
  assert_int_equal(lgv__net_build(&n, &shape, &err), LGV_OK);
  assert_true(n.params == 100 * 32 + 32 + 32 * 20 + 20 + 20 * 3 + 3);
}

static void expect_failure(net_shape shape, const char *word) {
  net n;
  lgv_error err = {0};
  assert_int_equal(lgv__net_build(&n, &shape, &err), LGV_ERR_USAGE);
  if (!strstr(err.message, word)) fail_msg("no '%s' in: %s", word, err.message);
}

static void impossible_shapes_are_refused(void **state) {
  (void)state;
  expect_failure(nature(35), "too small");
  net_shape shape = nature(84);
  shape.obs_form = LGV_FORM_ONE_HOT;
  shape.family = NET_NATURE;
  expect_failure(shape, "images");
  shape = mlp(5, LGV_FORM_DENSE);
  shape.hidden.value[1] = 0;
  expect_failure(shape, "at least one unit");
  shape = mlp(5, LGV_FORM_DENSE);
  shape.outputs = 0;
  expect_failure(shape, "at least one unit");
  shape = mlp(5, LGV_FORM_DENSE);
  shape.hidden.count = LGV_INTS_MAX + 1;
  expect_failure(shape, "hidden layers");
  shape = mlp(0, LGV_FORM_DENSE);
  expect_failure(shape, "at least one number");
  shape = mlp(INT32_MAX, LGV_FORM_DENSE);
  expect_failure(shape, "too large");
  shape.obs_shape[1] = shape.obs_shape[2] = INT32_MAX;
  expect_failure(shape, "too large");
}

/* PyTorch's default: uniform in +-1/sqrt(fan_in), with variance 1/(3 fan_in) and fourth moment 1/(5
 * fan_in^2). */
static void initial_values_are_pytorchs(void **state) {
  (void)state;
  net n;
  lgv_error err;
  net_shape shape = nature(84);
  assert_int_equal(lgv__net_build(&n, &shape, &err), LGV_OK);
  float *params = malloc((size_t)n.params * sizeof *params);
  lgv_rng rng;
  lgv_rng_seed(&rng, 3, "test.init");
  lgv__net_init(&n, params, &rng);
  for (int32_t l = 0; l < n.n_layers; l++) {
    const net_layer *layer = &n.layer[l];
    double fan_in = (double)layer->n_weights / (double)layer->outputs, bound = 1 / sqrt(fan_in);
    double count = (double)layer->n_weights, sum = 0, squares = 0, most = 0;
    for (int64_t i = 0; i < layer->n_weights; i++) {
      double w = params[layer->weights + i];
      sum += w;
      squares += w * w;
      most = fmax(most, fabs(w));
    }
    assert_true(most <= bound * (1 + 1e-6) && most > 0.99 * bound);
    double variance = bound * bound / 3, spread = sqrt(bound * bound * bound * bound * 4 / 45);
    assert_true(fabs(sum / count) < 5 * sqrt(variance / count));
    assert_true(fabs(squares / count - variance) < 5 * spread / sqrt(count));
    for (int64_t i = 0; i < layer->n_biases; i++)
      assert_true(fabs(params[layer->biases + i]) <= bound * (1 + 1e-6));
  }
  free(params);
}

/* ---- Sparse inputs ---- */

static void check_sparse_equals_dense(void) {
  for (int form = LGV_FORM_ONE_HOT; form <= LGV_FORM_THERMOMETER; form++) {
    net_case sparse, dense;
    case_open(&sparse, mlp(40, (lgv_obs_form)form), 17, 2);
    case_open(&dense, mlp(40, LGV_FORM_DENSE), 17, 2);
    memcpy(dense.params, sparse.params, (size_t)dense.n.params * sizeof(float));
    memcpy(dense.dense, sparse.dense, (size_t)(17 * 40) * sizeof(float));
    memcpy(dense.d_outputs, sparse.d_outputs, (size_t)(17 * 3) * sizeof(float));
    const float *a =
        lgv__net_forward(&sparse.n, sparse.params, case_input(&sparse), 17, &sparse.tape);
    const float *b = lgv__net_forward(&dense.n, dense.params, case_input(&dense), 17, &dense.tape);
    for (int i = 0; i < 17 * 3; i++) assert_true(a[i] == b[i]);
    lgv__net_backward(&sparse.n, sparse.params, case_input(&sparse), 17, &sparse.tape,
                      sparse.d_outputs, 1, sparse.grad);
    lgv__net_backward(&dense.n, dense.params, case_input(&dense), 17, &dense.tape, dense.d_outputs,
                      1, dense.grad);
    for (int64_t i = 0; i < dense.n.params; i++)
      assert_true(fabsf(sparse.grad[i] - dense.grad[i]) < 1e-5f * (1 + fabsf(dense.grad[i])));
    case_close(&sparse);
    case_close(&dense);
  }
}

static void sparse_inputs_equal_dense_ones(void **state) {
  (void)state;
  for_every_set(check_sparse_equals_dense);
}

/* ---- Bits ---- */

static net_shape some_shape(int which) {
  if (which == 0) return mlp(30, LGV_FORM_DENSE);
  if (which == 1) return mlp(30, LGV_FORM_THERMOMETER);
  net_shape shape = nature(52);
  shape.hidden = (lgv_ints){1, {40}};
  return shape;
}

static net_input sample_of(const net_case *c, int64_t s) {
  net_input all = case_input(c);
  if (all.index) return (net_input){.index = all.index + s};
  if (all.bytes) return (net_input){.bytes = all.bytes + s * c->length};
  return (net_input){.dense = all.dense + s * c->length};
}

static void check_sample_alone(void) {
  for (int which = 0; which < 3; which++) {
    const int64_t batch = which < 2 ? 35 : 11;
    net_case c, alone;
    case_open(&c, some_shape(which), batch, 4);
    case_open(&alone, some_shape(which), 1, 4);
    const float *out = lgv__net_forward(&c.n, c.params, case_input(&c), batch, &c.tape);
    for (int64_t s = 0; s < batch; s++) {
      const float *row = lgv__net_forward(&c.n, c.params, sample_of(&c, s), 1, &alone.tape);
      for (int32_t o = 0; o < c.n.shape.outputs; o++)
        assert_true(row[o] == out[s * c.n.shape.outputs + o]);
    }
    case_close(&c);
    case_close(&alone);
  }
}

static void a_sample_is_computed_as_if_alone(void **state) {
  (void)state;
  for_every_set(check_sample_alone);
}

static void dirty(net_case *c) {
  for (int32_t l = 0; l < c->n.n_layers; l++)
    for (int64_t i = 0; i < c->batch * c->n.layer[l].outputs; i++) c->tape.activation[l][i] = NAN;
}

/* A forward pass of a long batch and a backward pass of its first part, on a tape full of garbage,
 * must give the same bits as both passes of that part on a fresh tape. */
static void check_part_of_batch(void) {
  for (int which = 0; which < 3; which++) {
    const int64_t batch = 9, part = 4;
    net_case longer, shorter;
    case_open(&longer, some_shape(which), batch, 5);
    case_open(&shorter, some_shape(which), part, 6);
    dirty(&longer);
    net_input input = case_input(&longer);
    lgv__net_forward(&longer.n, longer.params, input, batch, &longer.tape);
    lgv__net_backward(&longer.n, longer.params, input, part, &longer.tape, longer.d_outputs, 1,
                      longer.grad);
    lgv__net_forward(&shorter.n, longer.params, input, part, &shorter.tape);
    lgv__net_backward(&shorter.n, longer.params, input, part, &shorter.tape, longer.d_outputs, 1,
                      shorter.grad);
    assert_memory_equal(longer.grad, shorter.grad, (size_t)longer.n.params * sizeof(float));
    case_close(&longer);
    case_close(&shorter);
  }
}

static void the_first_part_of_a_batch_can_go_back_alone(void **state) {
  (void)state;
  for_every_set(check_part_of_batch);
}

static void forward_tapes_need_no_backward_scratch(void **state) {
  (void)state;
  net n;
  lgv_error err;
  net_shape shape = nature(36);
  assert_int_equal(lgv__net_build(&n, &shape, &err), LGV_OK);
  lgv_layout with = {0}, without = {0};
  net_tape tape;
  lgv__net_tape_layout(&tape, &n, "tape", 8, true, &with);
  lgv__net_tape_layout(&tape, &n, "tape", 8, false, &without);
  assert_true(without.used < with.used);
}

/* ---- Dead units ---- */

static void dead_units_are_counted(void **state) {
  (void)state;
  net_case c;
  case_open(&c, mlp(6, LGV_FORM_DENSE), 5, 7);
  const net_layer *first = &c.n.layer[0], *second = &c.n.layer[1];
  for (int64_t j = 0; j < first->outputs; j++) c.params[first->biases + j] = 100;
  for (int64_t j = 0; j < second->outputs; j++) c.params[second->biases + j] = 1e4f;
  lgv__net_forward(&c.n, c.params, case_input(&c), 5, &c.tape);
  assert_true(lgv__net_dead_share(&c.n, &c.tape, 5) == 0);
  for (int64_t j = 0; j < 8; j++) c.params[first->biases + j] = -1000;
  for (int64_t j = 0; j < 5; j++) c.params[second->biases + j] = -1e6f;
  lgv__net_forward(&c.n, c.params, case_input(&c), 5, &c.tape);
  assert_true(lgv__net_dead_share(&c.n, &c.tape, 5) == 13.0 / 52);
  case_close(&c);
}

static void dead_channels_are_counted(void **state) {
  (void)state;
  net_shape shape = nature(36);
  shape.hidden = (lgv_ints){1, {16}};
  net_case c;
  case_open(&c, shape, 2, 8);
  memset(c.params, 0, (size_t)c.n.params * sizeof *c.params);
  for (int32_t l = 0; l < 4; l++) /* all units alive, then 2 of every layer dead */
    for (int64_t j = 0; j < c.n.layer[l].outputs; j++)
      c.params[c.n.layer[l].biases + j] = j < 2 ? -1 : 1;
  lgv__net_forward(&c.n, c.params, case_input(&c), 2, &c.tape);
  assert_true(lgv__net_dead_share(&c.n, &c.tape, 2) == 8.0 / (32 + 64 + 64 + 16));
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nature_has_the_published_size),
      cmocka_unit_test(impossible_shapes_are_refused),
      cmocka_unit_test(initial_values_are_pytorchs),
      cmocka_unit_test(sparse_inputs_equal_dense_ones),
      cmocka_unit_test(a_sample_is_computed_as_if_alone),
      cmocka_unit_test(the_first_part_of_a_batch_can_go_back_alone),
      cmocka_unit_test(forward_tapes_need_no_backward_scratch),
      cmocka_unit_test(dead_units_are_counted),
      cmocka_unit_test(dead_channels_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
