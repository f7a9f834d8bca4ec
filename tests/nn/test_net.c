/* Networks: outputs and gradients against plain loops in double, on every kernel set. */
#include "net_helpers.h"

#include <math.h>

typedef void (*check_fn)(net_case *c);

static void on_every_kernel_set(net_shape shape, int64_t batch, check_fn check) {
  const lgv_kernel_set *set;
  for (size_t i = 0; (set = lgv__kernels_at(i)); i++) {
    lgv__kernels_use(set);
    net_case c;
    case_open(&c, shape, batch, 11);
    check(&c);
    case_close(&c);
  }
  lgv__kernels_use(NULL);
}

static net_shape vector_shape(int32_t length, int32_t outputs, lgv_ints hidden) {
  return (net_shape){.family = NET_MLP,
                     .obs_shape = {length, 1, 1},
                     .hidden = hidden,
                     .outputs = outputs,
                     .input_scale = 1};
}

static int64_t largest_layer(const net *n, int64_t length) {
  for (int32_t k = 0; k < n->n_layers; k++) {
    const net_layer *l = &n->layer[k];
    int64_t size = l->outputs * (l->kernel ? l->out_height * l->out_width : 1);
    if (size > length) length = size;
  }
  return length + n->shape.vector;
}

static const double *slow_outputs(const net_case *c, const double *params, int64_t sample,
                                  double *scratch, int64_t size) {
  return slow_forward(&c->n, params, c->dense + sample * c->length, c->length,
                      c->vector + sample * c->n.shape.vector, scratch, scratch + size);
}

/* The scalar for finite differences: the sum of d_outputs * outputs, in double. */
static double slow_loss(const net_case *c, const double *params, double *scratch, int64_t size) {
  double loss = 0;
  for (int64_t s = 0; s < c->batch; s++) {
    const double *out = slow_outputs(c, params, s, scratch, size);
    for (int32_t o = 0; o < c->n.shape.outputs; o++)
      loss += c->d_outputs[s * c->n.shape.outputs + o] * out[o];
  }
  return loss;
}

static void check_outputs(net_case *c, const double *params, double *scratch, int64_t size) {
  const float *got = lgv__net_forward(&c->n, c->params, case_input(c), c->batch, &c->tape);
  for (int64_t s = 0; s < c->batch; s++) {
    const double *want = slow_outputs(c, params, s, scratch, size);
    for (int32_t o = 0; o < c->n.shape.outputs; o++)
      assert_true(fabs(got[s * c->n.shape.outputs + o] - want[o]) < 2e-5 * (1 + fabs(want[o])));
  }
}

/* One derivative by central differences in double: exact to about 1e-8 unless a rectifier switches
 * in between, which is so rare with a step of 1e-6 that it happens for no seed used here. */
static void check_derivative(net_case *c, double *params, int64_t i, double scale, double norm,
                             double *scratch, int64_t size) {
  const double h = 1e-6, kept = params[i];
  params[i] = kept + h;
  double up = slow_loss(c, params, scratch, size);
  params[i] = kept - h;
  double down = slow_loss(c, params, scratch, size);
  params[i] = kept;
  double want = (up - down) / (2 * h) * scale;
  if (!(fabs(c->grad[i] - want) < 1e-5 * (norm + fabs(want)) + 1e-6))
    fail_msg("%s: gradient %ld of %ld is %g, not %g", lgv_kernels(), (long)i, (long)c->n.params,
             (double)c->grad[i], want);
}

/* Up to 30 weights and 10 biases, gains and shifts of every layer, evenly spread. */
static void outputs_and_gradients_match(net_case *c) {
  int64_t size = largest_layer(&c->n, c->length), n_params = c->n.params;
  double *params = malloc((size_t)n_params * sizeof *params);
  double *scratch = malloc((size_t)(2 * size) * sizeof *scratch);
  for (int64_t i = 0; i < n_params; i++) params[i] = c->params[i];
  check_outputs(c, params, scratch, size);
  const float core_scale = 0.25f;
  lgv__net_backward(&c->n, c->params, case_input(c), c->batch, &c->tape, c->d_outputs, core_scale,
                    c->grad);
  double norm = 0;
  for (int64_t i = 0; i < n_params; i++) {
    assert_true(isfinite(c->grad[i]));
    norm = fmax(norm, fabs((double)c->grad[i]));
  }
  for (int32_t k = 0; k < c->n.n_layers; k++) {
    const net_layer *l = &c->n.layer[k];
    double scale = l->hidden ? core_scale : 1;
    for (int64_t i = 0; i < l->n_weights; i += 1 + l->n_weights / 30)
      check_derivative(c, params, l->weights + i, scale, norm, scratch, size);
    for (int64_t i = 0; i < l->n_biases; i += 1 + l->n_biases / 10)
      check_derivative(c, params, l->biases + i, scale, norm, scratch, size);
    for (int64_t i = 0; l->normalized && i < l->outputs; i += 1 + l->outputs / 10) {
      check_derivative(c, params, l->gains + i, scale, norm, scratch, size);
      check_derivative(c, params, l->shifts + i, scale, norm, scratch, size);
    }
  }
  free(params);
  free(scratch);
}

static void mlp_matches_double(void **state) {
  (void)state;
  const struct {
    int32_t length, outputs;
    lgv_ints hidden;
    int64_t batch;
  } cases[] = {
      {7, 3, {2, {5, 4}}, 3},      {100, 2, {2, {32, 32}}, 32}, {1, 1, {0}, 1},
      {9, 18, {1, {17}}, 13},      {4, 2, {3, {33, 1, 20}}, 5}, {30, 40, {0}, 6},
      {16, 51 * 2, {1, {24}}, 10},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    on_every_kernel_set(vector_shape(cases[i].length, cases[i].outputs, cases[i].hidden),
                        cases[i].batch, outputs_and_gradients_match);
}

static void shared_bias_scale_and_bytes_match_double(void **state) {
  (void)state;
  net_shape shape = vector_shape(12, 5, (lgv_ints){1, {9}});
  shape.shared_bias = true;
  on_every_kernel_set(shape, 4, outputs_and_gradients_match);
  shape.input_scale = 0.5f;
  on_every_kernel_set(shape, 4, outputs_and_gradients_match);
  shape.obs_kind = LGV_OBS_BYTE;
  shape.input_scale = 1.0f / 255;
  on_every_kernel_set(shape, 4, outputs_and_gradients_match);
}

static void sparse_inputs_match_double(void **state) {
  (void)state;
  for (int form = LGV_FORM_ONE_HOT; form <= LGV_FORM_THERMOMETER; form++)
    for (int32_t batch = 1; batch <= 33; batch += 16) {
      net_shape shape = vector_shape(25, 2, (lgv_ints){2, {32, 10}});
      shape.obs_form = (lgv_obs_form)form;
      on_every_kernel_set(shape, batch, outputs_and_gradients_match);
      shape.input_scale = 0.5f;
      shape.hidden = (lgv_ints){0};
      on_every_kernel_set(shape, batch, outputs_and_gradients_match);
    }
}

static net_shape image_shape(int32_t height, int32_t width, int32_t channels, int32_t outputs) {
  return (net_shape){.family = NET_AUTO,
                     .obs_kind = LGV_OBS_BYTE,
                     .obs_shape = {height, width, channels},
                     .hidden = {1, {24}},
                     .outputs = outputs,
                     .input_scale = 1.0f / 255};
}

static void convolutions_match_double(void **state) {
  (void)state;
  net_shape shape = image_shape(36, 36, 2, 3);
  on_every_kernel_set(shape, 2, outputs_and_gradients_match);
  shape = image_shape(45, 38, 1, 2); /* no window covers the last rows and columns */
  on_every_kernel_set(shape, 1, outputs_and_gradients_match);
  shape.family = NET_NATURE; /* floats that need no conversion */
  shape.obs_kind = LGV_OBS_FLOAT;
  shape.input_scale = 1;
  on_every_kernel_set(shape, 1, outputs_and_gradients_match);
}

/* ---- Convolutions of any list, normalization, dueling outputs, vectors ---- */

static net_shape picture_shape(const char *convs, int32_t side, int32_t channels) {
  net_shape shape = image_shape(side, side + 1, channels, 5);
  lgv_error err = {0};
  shape.family = NET_CONV;
  if (lgv__net_parse_convs(convs, &shape.convs, &err) != LGV_OK) fail_msg("%s", err.message);
  return shape;
}

static void lists_of_convolutions_match_double(void **state) {
  (void)state;
  static const struct {
    const char *convs;
    int32_t side, channels;
    int64_t batch;
  } cases[] = {{"16x3s1,32x3s1", 10, 4, 4},      {"16x3s1,32x3s1", 5, 1, 2}, {"5x3s2", 7, 3, 5},
               {"7x2s1,3x4s3,9x1s1", 12, 11, 2}, {"1x5s1,1x1s1", 5, 2, 3},   {"33x1s1", 6, 20, 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    net_shape shape = picture_shape(cases[i].convs, cases[i].side, cases[i].channels);
    on_every_kernel_set(shape, cases[i].batch, outputs_and_gradients_match);
    shape.obs_kind = LGV_OBS_FLOAT;
    shape.input_scale = 1;
    on_every_kernel_set(shape, cases[i].batch, outputs_and_gradients_match);
  }
}

static void normalized_layers_match_double(void **state) {
  (void)state;
  net_shape shape = vector_shape(9, 3, (lgv_ints){3, {33, 16, 7}});
  shape.layer_norm = true;
  on_every_kernel_set(shape, 6, outputs_and_gradients_match);
  for (int form = LGV_FORM_ONE_HOT; form <= LGV_FORM_THERMOMETER; form++) {
    shape.obs_form = (lgv_obs_form)form;
    on_every_kernel_set(shape, 13, outputs_and_gradients_match);
  }
  shape = picture_shape("16x3s1,5x3s2", 10, 3);
  shape.layer_norm = true;
  on_every_kernel_set(shape, 4, outputs_and_gradients_match);
}

static void dueling_outputs_match_double(void **state) {
  (void)state;
  net_shape shape = vector_shape(9, 4, (lgv_ints){2, {12, 9}});
  shape.dueling = true;
  on_every_kernel_set(shape, 6, outputs_and_gradients_match);
  shape.outputs = 2 * 3 * 17; /* two heads, three actions, more atoms than a block */
  shape.heads = 2;
  shape.atoms = 17;
  on_every_kernel_set(shape, 6, outputs_and_gradients_match);
  shape.outputs = 3 * (2 + 1 + 4);
  shape.heads = 3;
  shape.atoms = 1;
  shape.parts = 3;
  memcpy(shape.part_sizes, (int32_t[]){2, 1, 4}, 3 * sizeof(int32_t));
  on_every_kernel_set(shape, 5, outputs_and_gradients_match);
  shape.layer_norm = true;
  shape.hidden = (lgv_ints){1, {64}};
  shape.obs_form = LGV_FORM_ONE_HOT; /* the doubled layer is the first */
  on_every_kernel_set(shape, 5, outputs_and_gradients_match);
}

static void vectors_join_behind_the_convolutions(void **state) {
  (void)state;
  net_shape shape = picture_shape("6x3s1", 5, 3);
  shape.vector = 5;
  on_every_kernel_set(shape, 7, outputs_and_gradients_match);
  shape.layer_norm = shape.dueling = true;
  on_every_kernel_set(shape, 7, outputs_and_gradients_match);
  shape.obs_kind = LGV_OBS_FLOAT;
  shape.input_scale = 1;
  on_every_kernel_set(shape, 7, outputs_and_gradients_match);
  shape.family = NET_MLP; /* takes both as one vector */
  shape.convs.count = 0;
  on_every_kernel_set(shape, 7, outputs_and_gradients_match);
  shape.obs_kind = LGV_OBS_BYTE;
  shape.input_scale = 1.0f / 255;
  on_every_kernel_set(shape, 7, outputs_and_gradients_match);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mlp_matches_double),
      cmocka_unit_test(shared_bias_scale_and_bytes_match_double),
      cmocka_unit_test(sparse_inputs_match_double),
      cmocka_unit_test(convolutions_match_double),
      cmocka_unit_test(lists_of_convolutions_match_double),
      cmocka_unit_test(normalized_layers_match_double),
      cmocka_unit_test(dueling_outputs_match_double),
      cmocka_unit_test(vectors_join_behind_the_convolutions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
