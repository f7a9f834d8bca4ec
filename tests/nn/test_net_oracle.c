/* Networks against PyTorch (fixtures/net_oracle.py), on every kernel set. */
#include "fixtures/net_oracle.h"
#include "net_helpers.h"

#include <math.h>

/* Number i of a stream: 24 bits of a hash in [-0.5, 0.5); the script computes the same. */
static float noise(uint32_t seed, int64_t i) {
  uint32_t x = (uint32_t)i + seed * 0x9E3779B9u;
  x *= 2654435761u;
  x ^= x >> 16;
  x *= 0x45D9F3Bu;
  x ^= x >> 16;
  return (float)(x >> 8) * 0x1p-24f - 0.5f;
}

static float power_below(double x) { return (float)exp2(floor(log2(x))); }

static net_shape shape_of(const oracle_case *o) {
  lgv_ints hidden = {.count = o->hidden[1] ? 2 : 1, .value = {o->hidden[0], o->hidden[1]}};
  bool nature = strcmp(o->conv, "nature") == 0;
  net_convs convs;
  if (lgv__net_parse_convs(nature ? "" : o->conv, &convs, NULL) != LGV_OK) fail();
  return (net_shape){.family = nature        ? NET_NATURE
                               : convs.count ? NET_CONV
                                             : NET_MLP,
                     .convs = convs,
                     .vector = o->vector,
                     .layer_norm = o->layer_norm,
                     .dueling = o->dueling,
                     .heads = o->heads,
                     .atoms = o->atoms,
                     .parts = o->parts[0] ? 3 : 1,
                     .part_sizes = {o->parts[0], o->parts[1], o->parts[2]},
                     .obs_kind = o->bytes ? LGV_OBS_BYTE : LGV_OBS_FLOAT,
                     .obs_shape = {o->obs[0], o->obs[1], o->obs[2]},
                     .hidden = hidden,
                     .outputs = o->outputs,
                     .cosines = o->cosines,
                     .taus = o->taus,
                     .input_scale = o->bytes ? 1.0f / 255 : 1};
}

static void fill(net_case *c) {
  uint32_t seed = 1;
  for (int32_t l = 0; l < c->n.n_layers; l++) {
    const net_layer *layer = &c->n.layer[l];
    double fan_in = (double)layer->n_weights / (double)layer->outputs;
    float scale = 4 * power_below(1 / sqrt(fan_in));
    for (int64_t i = 0; i < layer->n_weights; i++)
      c->params[layer->weights + i] = scale * noise(seed, i);
    for (int64_t i = 0; i < layer->n_biases; i++)
      c->params[layer->biases + i] = scale * noise(seed + 1, i);
    seed += 2;
    for (int64_t i = 0; layer->normalized && i < layer->outputs; i++) {
      c->params[layer->gains + i] = 1 + noise(seed, i);
      c->params[layer->shifts + i] = noise(seed + 1, i);
    }
    seed += layer->normalized ? 2 : 0;
  }
  for (int64_t i = 0; i < c->batch * c->length; i++) {
    c->dense[i] = noise(100, i);
    c->bytes[i] = (uint8_t)floorf((noise(100, i) + 0.5f) * 256);
  }
  for (int64_t i = 0; i < case_rows(c) * c->n.shape.outputs; i++) c->d_outputs[i] = noise(101, i);
  for (int64_t i = 0; i < case_rows(c); i++) c->tau[i] = noise(102, i) + 0.5f;
  for (int64_t i = 0; i < c->batch * c->n.shape.vector; i++) c->vector[i] = noise(103, i);
  case_encode(c);
}

static void check_near(const oracle_case *o, const char *what, int block, double got, double want,
                       double scale) {
  if (!(fabs(got - want) <= 2e-5 * scale + 1e-7))
    fail_msg("%s, %s: %s of block %d is %.9g, not %.9g", lgv_kernels(), o->name, what, block, got,
             want);
}

/* Single entries are compared relative to the block's root mean square; a sum of n entries with
 * random errors, relative to sqrt(n) times that. */
static void check_block(const oracle_case *o, int b, const float *grad, int64_t size) {
  const oracle_block *want = &o->block[b];
  double sum = 0, squares = 0, typical = sqrt(want->squares / (double)size);
  for (int64_t i = 0; i < size; i++) {
    sum += grad[i];
    squares += (double)grad[i] * grad[i];
  }
  check_near(o, "the sum", b, sum, want->sum, typical * sqrt((double)size));
  check_near(o, "the sum of squares", b, squares, want->squares, want->squares);
  for (int i = 0; i < ORACLE_PICKS; i++) {
    int64_t at = (i * size / ORACLE_PICKS + 5 * i) % size;
    check_near(o, "an entry", b, grad[at], want->pick[i], typical + fabs(want->pick[i]));
  }
}

static void check_case(const oracle_case *o) {
  net_case c;
  case_open(&c, shape_of(o), o->batch, 1);
  fill(&c);
  const float *out = lgv__net_forward(&c.n, c.params, case_input(&c), c.batch, &c.tape);
  assert_int_equal(o->n_outputs, case_rows(&c) * c.n.shape.outputs);
  for (int i = 0; i < o->n_outputs; i++)
    check_near(o, "an output", i, out[i], o->output[i], 1 + fabs(o->output[i]));
  lgv__net_backward(&c.n, c.params, case_input(&c), c.batch, &c.tape, c.d_outputs, 1, c.grad);
  int block = 0;
  for (int32_t l = 0; l < c.n.n_layers; l++) {
    const net_layer *layer = &c.n.layer[l];
    check_block(o, block++, c.grad + layer->weights, layer->n_weights);
    check_block(o, block++, c.grad + layer->biases, layer->n_biases);
    if (!layer->normalized) continue;
    check_block(o, block++, c.grad + layer->gains, layer->outputs);
    check_block(o, block++, c.grad + layer->shifts, layer->outputs);
  }
  assert_int_equal(o->n_blocks, block);
  case_close(&c);
}

static void networks_match_pytorch(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    lgv__kernels_use(set);
    for (size_t i = 0; i < sizeof oracle_cases / sizeof *oracle_cases; i++)
      check_case(&oracle_cases[i]);
  }
  lgv__kernels_use(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(networks_match_pytorch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
