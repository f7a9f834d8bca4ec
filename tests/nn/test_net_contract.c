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

/* 10 x 10 bytes with a vector of 3, two convolutions of odd widths, everything switched on. */
static net_shape everything(void) {
  return (net_shape){.family = NET_CONV,
                     .obs_kind = LGV_OBS_BYTE,
                     .obs_shape = {10, 10, 3},
                     .vector = 3,
                     .convs = {2, {{7, 3, 1}, {9, 3, 2}}},
                     .hidden = {1, {20}},
                     .outputs = 2 * 3 * 5,
                     .heads = 2,
                     .atoms = 5,
                     .layer_norm = true,
                     .dueling = true,
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
  net_shape shape = nature(35);
  shape.family = NET_NATURE;
  expect_failure(shape, "pictures of 35 x 35 are too small for agent.net = nature: convolution 3 "
                        "needs 3 x 3 and gets 2 x 2; set agent.net = conv or mlp");
  shape.obs_shape[0] = 84;
  shape.obs_form = LGV_FORM_ONE_HOT;
  expect_failure(shape, "need pictures");
  shape.obs_form = LGV_FORM_DENSE;
  shape.obs_shape[1] = 1;
  expect_failure(shape, "vectors of 84 numbers");
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

static void impossible_convolutions_are_refused(void **state) {
  (void)state;
  net_shape shape = everything();
  shape.convs = (net_convs){2, {{7, 9, 1}, {9, 3, 2}}};
  expect_failure(shape, "convolution 2 needs 3 x 3 and gets 2 x 2; shorten agent.conv");
  shape.convs.conv[0].kernel = 11;
  expect_failure(shape, "agent.net = conv: convolution 1 needs 11 x 11 and gets 10 x 10");
  shape.family = NET_MLP;
  expect_failure(shape, "agent.conv has no effect with agent.net = mlp");
  shape.family = NET_NATURE;
  expect_failure(shape, "32x8s4,64x4s2,64x3s1");
  shape = mlp(5, LGV_FORM_ONE_HOT);
  shape.vector = 1;
  expect_failure(shape, "accompanied by a vector");
}

static void impossible_duels_are_refused(void **state) {
  (void)state;
  net_shape shape = mlp(5, LGV_FORM_DENSE);
  shape.dueling = true;
  shape.shared_bias = true;
  expect_failure(shape, "agent.shared_bias = true has no effect");
  shape.shared_bias = false;
  shape.hidden.count = 0;
  expect_failure(shape, "needs a hidden dense layer");
  shape.hidden.count = 1;
  shape.heads = 2;
  expect_failure(shape, "cannot have 2 heads");
  shape.heads = 1;
  shape.parts = 2;
  shape.part_sizes[0] = shape.part_sizes[1] = 2;
  expect_failure(shape, "2 parts");
}

/* ---- What a shape leaves open ---- */

static void expect_choice(net_shape shape, int family, const char *convs, int32_t hidden) {
  net n;
  lgv_error err = {0};
  char text[LGV_TEXT_SIZE];
  if (lgv__net_build(&n, &shape, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv__net_format_convs(&n.shape.convs, text, sizeof text);
  assert_int_equal(n.shape.family, family);
  assert_string_equal(text, convs);
  assert_int_equal(n.shape.hidden.value[0], hidden);
}

static void networks_are_chosen_by_the_size_of_pictures(void **state) {
  (void)state;
  net_shape shape = nature(36);
  shape.hidden = (lgv_ints){1, {0}};
  for (int kind = LGV_OBS_FLOAT; kind <= LGV_OBS_BYTE; kind++) {
    shape.obs_kind = (lgv_obs_kind)kind;
    shape.obs_shape[0] = shape.obs_shape[1] = 36;
    expect_choice(shape, NET_NATURE, "32x8s4,64x4s2,64x3s1", 512);
    shape.obs_shape[1] = 35;
    expect_choice(shape, NET_CONV, "16x3s1,32x3s1", 128);
    shape.obs_shape[0] = shape.obs_shape[1] = 5;
    expect_choice(shape, NET_CONV, "16x3s1,32x3s1", 128);
    shape.obs_shape[0] = 4;
    expect_choice(shape, NET_MLP, "", 32);
    shape.obs_shape[0] = 200;
    shape.obs_shape[1] = 1;
    expect_choice(shape, NET_MLP, "", 32);
  }
  shape.obs_shape[1] = 200;
  shape.obs_form = LGV_FORM_ONE_HOT;
  expect_choice(shape, NET_MLP, "", 32);
  shape.obs_form = LGV_FORM_DENSE;
  shape.family = NET_CONV;
  expect_choice(shape, NET_CONV, "32x5s5,64x5s5", 256);
  shape.family = NET_AUTO;
  shape.convs = (net_convs){1, {{3, 2, 2}}};
  expect_choice(shape, NET_CONV, "3x2s2", 256); /* a list asks for it */
}

/* ---- Parameters ---- */

static void parameters_lie_layer_by_layer(void **state) {
  (void)state;
  net n;
  lgv_error err;
  net_shape shape = everything();
  assert_int_equal(lgv__net_build(&n, &shape, &err), LGV_OK);
  static const struct {
    layer_kind kind;
    int64_t inputs, outputs, weights, gains;
  } want[] = {{LAYER_CONV, 3, 7, 27 * 7, 7},
              {LAYER_CONV, 7, 9, 63 * 9, 9},
              {LAYER_DENSE, 84, 40, 84 * 40, 40},
              {LAYER_VALUE, 20, 10, 200, 0},
              {LAYER_ADVANTAGE, 20, 30, 600, 0}};
  assert_int_equal(n.n_layers, 5);
  assert_int_equal(n.n_hidden, 3);
  assert_int_equal(n.joins, 2);
  int64_t at = 0;
  for (int l = 0; l < 5; l++) {
    const net_layer *layer = &n.layer[l];
    assert_int_equal(layer->kind, want[l].kind);
    assert_int_equal(layer->inputs, want[l].inputs);
    assert_int_equal(layer->outputs, want[l].outputs);
    assert_int_equal(layer->normalized, want[l].gains > 0);
    assert_int_equal(layer->weights, at);
    assert_int_equal(layer->biases, at += want[l].weights);
    assert_int_equal(layer->gains, at += want[l].outputs);
    assert_int_equal(layer->shifts, at += want[l].gains);
    at += want[l].gains;
  }
  assert_int_equal(n.params, at);
}

/* Gains are 1, shifts 0, and the draws of the others are those of a network without them. */
static void normalization_takes_no_draws(void **state) {
  (void)state;
  net plain, normalized;
  lgv_error err;
  net_shape shape = everything();
  assert_int_equal(lgv__net_build(&normalized, &shape, &err), LGV_OK);
  shape.layer_norm = false;
  assert_int_equal(lgv__net_build(&plain, &shape, &err), LGV_OK);
  float *a = malloc((size_t)plain.params * sizeof *a);
  float *b = malloc((size_t)normalized.params * sizeof *b);
  lgv_rng rng;
  lgv_rng_seed(&rng, 3, "test.init");
  lgv__net_init(&plain, a, &rng);
  lgv_rng_seed(&rng, 3, "test.init");
  lgv__net_init(&normalized, b, &rng);
  for (int32_t l = 0; l < plain.n_layers; l++) {
    const net_layer *x = &plain.layer[l], *y = &normalized.layer[l];
    assert_memory_equal(a + x->weights, b + y->weights, (size_t)x->n_params * sizeof *a);
    for (int64_t i = 0; y->normalized && i < y->outputs; i++)
      assert_true(b[y->gains + i] == 1 && b[y->shifts + i] == 0);
  }
  free(a);
  free(b);
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

enum { SHAPES = 5 };

static net_shape some_shape(int which) {
  if (which == 0) return mlp(30, LGV_FORM_DENSE);
  if (which == 1) return mlp(30, LGV_FORM_THERMOMETER);
  if (which == 3) return everything();
  net_shape shape = which == 4 ? everything() : nature(52);
  if (which == 4) shape.cosines = shape.taus = 5;
  shape.hidden = (lgv_ints){1, {40}};
  return shape;
}

static net_input sample_of(const net_case *c, int64_t s) {
  net_input all = case_input(c);
  if (all.vector) {
    all.tau += s * all.taus;
    all.bytes += s * all.stride;
    all.vector += s * all.stride / (int64_t)sizeof(float);
    return all;
  }
  if (all.index) return (net_input){.index = all.index + s};
  if (all.bytes) return (net_input){.bytes = all.bytes + s * c->length};
  return (net_input){.dense = all.dense + s * c->length};
}

static void check_sample_alone(void) {
  for (int which = 0; which < SHAPES; which++) {
    const int64_t batch = which < 2 ? 35 : 11;
    net_case c, alone;
    case_open(&c, some_shape(which), batch, 4);
    case_open(&alone, some_shape(which), 1, 4);
    const float *out = lgv__net_forward(&c.n, c.params, case_input(&c), batch, &c.tape);
    for (int64_t s = 0; s < batch; s++) {
      const float *row = lgv__net_forward(&c.n, c.params, sample_of(&c, s), 1, &alone.tape);
      int64_t numbers = case_rows(&alone) * c.n.shape.outputs;
      for (int64_t o = 0; o < numbers; o++) assert_true(row[o] == out[s * numbers + o]);
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
  for (int which = 0; which < SHAPES; which++) {
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

static size_t tape_bytes(net_shape shape, bool with_backward) {
  net n;
  net_tape tape;
  lgv_error err;
  lgv_layout layout = {0};
  assert_int_equal(lgv__net_build(&n, &shape, &err), LGV_OK);
  lgv__net_tape_layout(&tape, &n, "tape", 64, with_backward, &layout);
  return layout.used;
}

/* A normalized layer keeps its activations twice, and one factor per sample, for the way back. */
static void tapes_count_what_normalization_keeps(void **state) {
  (void)state;
  net_shape plain = everything(), normalized = plain;
  plain.layer_norm = false;
  assert_int_equal(tape_bytes(normalized, false), tape_bytes(plain, false));
  size_t kept = 64 * sizeof(float) * (8 * 8 * 7 + 3 * 3 * 9 + 40 + 3);
  assert_int_equal(tape_bytes(normalized, true), tape_bytes(plain, true) + kept);
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

/* The parts of a vector are inputs and never dead, nor are V and A. */
static void outputs_and_vectors_are_never_dead(void **state) {
  (void)state;
  net_shape shape = everything();
  shape.cosines = shape.taus = 4;
  net_case c;
  case_open(&c, shape, 6, 8);
  const net_layer *last = &c.n.layer[c.n.n_hidden - 1];
  for (int32_t l = 0; l < c.n.n_hidden;
       l++) { /* alive: every unit is 1, or 0 before an embedding */
    const net_layer *layer = &c.n.layer[l];
    memset(c.params + layer->weights, 0, (size_t)layer->n_params * sizeof *c.params);
    for (int64_t i = 0; i < layer->outputs; i++)
      c.params[(layer->normalized ? layer->shifts : layer->biases) + i] = 1;
  }
  for (int64_t i = 0; i < c.batch; i++) /* never positive */
    for (int64_t j = 0; j < 3; j++) c.vector[i * 3 + j] = -1;
  case_encode(&c);
  lgv__net_forward(&c.n, c.params, case_input(&c), 6, &c.tape);
  assert_true(lgv__net_dead_share(&c.n, &c.tape, 6) == 0);
  for (int64_t i = 0; i < 10; i++) c.params[last->shifts + i] = -1;
  lgv__net_forward(&c.n, c.params, case_input(&c), 6, &c.tape);
  assert_true(lgv__net_dead_share(&c.n, &c.tape, 6) == 10.0 / (7 + 9 + 81 + 40));
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nature_has_the_published_size),
      cmocka_unit_test(impossible_shapes_are_refused),
      cmocka_unit_test(impossible_convolutions_are_refused),
      cmocka_unit_test(impossible_duels_are_refused),
      cmocka_unit_test(networks_are_chosen_by_the_size_of_pictures),
      cmocka_unit_test(parameters_lie_layer_by_layer),
      cmocka_unit_test(normalization_takes_no_draws),
      cmocka_unit_test(initial_values_are_pytorchs),
      cmocka_unit_test(sparse_inputs_equal_dense_ones),
      cmocka_unit_test(a_sample_is_computed_as_if_alone),
      cmocka_unit_test(the_first_part_of_a_batch_can_go_back_alone),
      cmocka_unit_test(forward_tapes_need_no_backward_scratch),
      cmocka_unit_test(tapes_count_what_normalization_keeps),
      cmocka_unit_test(dead_units_are_counted),
      cmocka_unit_test(dead_channels_are_counted),
      cmocka_unit_test(outputs_and_vectors_are_never_dead),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
