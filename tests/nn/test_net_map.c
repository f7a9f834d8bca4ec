/* A network that maps its inputs (net_shape.maps_input) has the outputs and the gradients, bit for
 * bit, of the same network over inputs that were mapped before, the vector beside a picture
 * included. */
#include "net_helpers.h"

typedef struct map_case {
  net_case mapped, plain;
  float *shift, *gain;
  net_map map;
} map_case;

static float cut(const map_case *m, float x, int64_t at) {
  float z = (x - m->shift[at]) * m->gain[at];
  return z > m->map.clip ? m->map.clip : z < -m->map.clip ? -m->map.clip : z;
}

/* The inputs of `plain` from those of `mapped`. */
static void map_by_hand(map_case *m) {
  const net_case *from = &m->mapped;
  bool bytes = from->n.shape.obs_kind == LGV_OBS_BYTE;
  int64_t length = from->length, vector = from->n.shape.vector;
  for (int64_t i = 0; i < from->batch * length; i++)
    m->plain.dense[i] =
        bytes ? m->gain[i % length] * (float)from->bytes[i] : cut(m, from->dense[i], i % length);
  for (int64_t i = 0; i < from->batch * vector; i++)
    m->plain.vector[i] = cut(m, from->vector[i], length + i % vector);
  case_encode(&m->plain);
}

static void open_pair(map_case *m, net_shape shape, int64_t batch) {
  shape.maps_input = true;
  case_open(&m->mapped, shape, batch, 1);
  shape.maps_input = false;
  shape.family = m->mapped.n.shape.family;
  shape.obs_kind = LGV_OBS_FLOAT;
  shape.input_scale = 1;
  case_open(&m->plain, shape, batch, 1);
  int64_t inputs = m->mapped.length + shape.vector;
  lgv_rng rng;
  lgv_rng_seed(&rng, 2, "test.map");
  m->shift = malloc((size_t)inputs * sizeof *m->shift);
  m->gain = malloc((size_t)inputs * sizeof *m->gain);
  for (int64_t i = 0; i < inputs; i++) {
    m->shift[i] = (float)lgv_rng_normal(&rng);
    m->gain[i] = 0.01f + (float)lgv_rng_uniform(&rng);
  }
  m->map = (net_map){m->shift, m->gain, 0.5f};
  map_by_hand(m);
  memcpy(m->plain.params, m->mapped.params, (size_t)m->plain.n.params * sizeof(float));
  memcpy(m->plain.d_outputs, m->mapped.d_outputs, (size_t)(batch * shape.outputs) * sizeof(float));
}

static void compare(net_shape shape, int64_t batch) {
  map_case m;
  open_pair(&m, shape, batch);
  net_case *a = &m.mapped, *b = &m.plain;
  net_input input = case_input(a);
  input.map = m.map;
  size_t outputs = (size_t)(batch * shape.outputs) * sizeof(float);
  const float *q = lgv__net_forward(&a->n, a->params, input, batch, &a->tape);
  const float *p = lgv__net_forward(&b->n, b->params, case_input(b), batch, &b->tape);
  assert_memory_equal(q, p, outputs);
  lgv__net_backward(&a->n, a->params, input, batch, &a->tape, a->d_outputs, 1, a->grad);
  lgv__net_backward(&b->n, b->params, case_input(b), batch, &b->tape, b->d_outputs, 1, b->grad);
  assert_memory_equal(a->grad, b->grad, (size_t)a->n.params * sizeof(float));
  free(m.shift);
  free(m.gain);
  case_close(a);
  case_close(b);
}

static void compare_on_every_set(net_shape shape, int64_t batch) {
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    lgv__kernels_use(set);
    compare(shape, batch);
  }
  lgv__kernels_use(NULL);
}

static net_shape shape_of(int32_t family, lgv_obs_kind kind, int32_t height, int32_t width,
                          int32_t channels) {
  return (net_shape){.family = family,
                     .obs_kind = kind,
                     .obs_shape = {height, width, channels},
                     .hidden = {1, {9}},
                     .outputs = 3,
                     .input_scale = 1};
}

static void mapped_inputs_equal_inputs_mapped_before(void **state) {
  (void)state;
  compare_on_every_set(shape_of(NET_MLP, LGV_OBS_FLOAT, 13, 1, 1), 7);
  compare_on_every_set(shape_of(NET_MLP, LGV_OBS_BYTE, 5, 4, 3), 7);
}

/* The second batch goes through the first convolution in more than one group. */
static void mapped_pictures_equal_pictures_mapped_before(void **state) {
  (void)state;
  compare_on_every_set(shape_of(NET_NATURE, LGV_OBS_BYTE, 36, 40, 2), 3);
  compare_on_every_set(shape_of(NET_NATURE, LGV_OBS_BYTE, 36, 36, 2), 37);
  compare_on_every_set(shape_of(NET_NATURE, LGV_OBS_FLOAT, 36, 36, 3), 3);
}

/* In an MLP the vector follows the picture; otherwise it joins behind the convolutions. */
static void mapped_vectors_equal_vectors_mapped_before(void **state) {
  (void)state;
  const int32_t families[] = {NET_MLP, NET_CONV};
  const lgv_obs_kind kinds[] = {LGV_OBS_BYTE, LGV_OBS_FLOAT};
  for (int f = 0; f < 2; f++)
    for (int k = 0; k < 2; k++) {
      net_shape shape = shape_of(families[f], kinds[k], 7, 9, 3);
      shape.vector = 4;
      compare_on_every_set(shape, 5);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mapped_inputs_equal_inputs_mapped_before),
      cmocka_unit_test(mapped_pictures_equal_pictures_mapped_before),
      cmocka_unit_test(mapped_vectors_equal_vectors_mapped_before),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
