/* lgv__net_backward_inputs and lgv__net_keep_rows, against differences of the loss. */
#include "net_helpers.h"

enum { BATCH = 6, MOST_PARTS = 3 };

static const net_shape shapes[] = {
    {.obs_shape = {5, 1, 1}, .hidden = {2, {9, 7}}, .outputs = 1, .input_scale = 1},
    {.obs_shape = {4, 1, 1}, .hidden = {0}, .outputs = 2, .input_scale = 1},
    {.obs_shape = {5, 1, 1},
     .hidden = {3, {8, 6, 7}},
     .outputs = 2,
     .layer_norm = true,
     .input_scale = 1},
    {.obs_shape = {6, 5, 2}, .vector = 3, .hidden = {2, {9, 8}}, .outputs = 1, .input_scale = 1},
    {.obs_kind = LGV_OBS_BYTE,
     .obs_shape = {6, 5, 2},
     .vector = 4,
     .hidden = {1, {9}},
     .outputs = 1,
     .layer_norm = true,
     .input_scale = 1.0f / 255},
    {.obs_kind = LGV_OBS_BYTE,
     .obs_shape = {7, 1, 1},
     .vector = 3,
     .hidden = {1, {9}},
     .outputs = 1,
     .input_scale = 1.0f / 255},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static double loss(net_case *c) {
  const float *out = lgv__net_forward(&c->n, c->params, case_input(c), c->batch, &c->tape);
  double sum = 0;
  for (int64_t i = 0; i < c->batch * c->n.shape.outputs; i++)
    sum += (double)out[i] * (double)c->d_outputs[i];
  return sum;
}

/* The place of one of the last `count` inputs of sample s. */
static float *input_at(net_case *c, int64_t s, int64_t i, int64_t count) {
  int64_t vector = c->n.shape.vector;
  if (vector == 0) return c->dense + (s + 1) * c->length - count + i;
  return (float *)(void *)(c->encoded + s * c->stride + case_vector_at(c)) + vector - count + i;
}

/* A central difference; kinks of the rectifier within it are rare and show as one wrong number. */
static double difference(net_case *c, float *x) {
  const float h = 1e-3f, before = *x;
  *x = before + h;
  double up = loss(c);
  *x = before - h;
  double down = loss(c);
  *x = before;
  return (up - down) / 2e-3;
}

static void inputs_have_the_derivatives_of_the_loss(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  float scratch[64 * MOST_PARTS], d[BATCH * MOST_PARTS];
  for (size_t k = 0; (set = lgv__kernels_at(k)); k++)
    for (int v = 0; v < SHAPES; v++)
      for (int64_t count = 1; count <= MOST_PARTS; count++) {
        net_case c;
        lgv__kernels_use(set);
        case_open(&c, shapes[v], BATCH, 3);
        loss(&c);
        lgv__net_backward_inputs(&c.n, c.params, BATCH, &c.tape, c.d_outputs, count, scratch, d);
        for (int64_t s = 0; s < BATCH; s++)
          for (int64_t i = 0; i < count; i++) {
            double want = difference(&c, input_at(&c, s, i, count));
            assert_true(fabs((double)d[s * count + i] - want) < 5e-3);
          }
        case_close(&c);
      }
  lgv__kernels_use(NULL);
}

/* The derivatives of some rows are the same numbers, alone and among the others. */
static void rows_can_be_kept(void **state) {
  (void)state;
  static const int32_t rows[] = {0, 2, 3, 5};
  enum { KEPT = sizeof rows / sizeof *rows };
  float scratch[64 * MOST_PARTS], all[BATCH * MOST_PARTS], some[BATCH * MOST_PARTS];
  for (int v = 0; v < SHAPES; v++) {
    net_case c;
    case_open(&c, shapes[v], BATCH, 4);
    int64_t outputs = c.n.shape.outputs;
    loss(&c);
    lgv__net_backward_inputs(&c.n, c.params, BATCH, &c.tape, c.d_outputs, 2, scratch, all);
    loss(&c);
    lgv__net_keep_rows(&c.n, &c.tape, rows, KEPT);
    for (int i = 0; i < KEPT; i++)
      memcpy(c.d_outputs + i * outputs, c.d_outputs + rows[i] * outputs,
             (size_t)outputs * sizeof *c.d_outputs);
    lgv__net_backward_inputs(&c.n, c.params, KEPT, &c.tape, c.d_outputs, 2, scratch, some);
    for (int i = 0; i < KEPT; i++)
      assert_memory_equal(some + 2 * i, all + 2 * rows[i], 2 * sizeof *some);
    case_close(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(inputs_have_the_derivatives_of_the_loss),
      cmocka_unit_test(rows_can_be_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
