/* Networks in bf16 and bf16x3 against the same networks in float, which test_net.c compares with
 * double. Gradients are compared with equal gates: a rectifier that opens otherwise changes a
 * gradient by far more than rounding does. */
#include "math/matmul_threads.h"
#include "net_helpers.h"
#include "nn/blocks.h"
#include "nn/layers.h"

typedef struct sample_case {
  const char *name;
  net_shape shape;
  const char *convs;
} sample_case;

/* clang-format off */
#define PICTURE(h, w, c, kind) \
  .family = NET_CONV, .obs_kind = kind, .obs_shape = {h, w, c}, .hidden = {1, {70}}, .outputs = 5, \
  .input_scale = kind == LGV_OBS_BYTE ? 1.0f / 255 : 1
#define VECTOR(n, o) .family = NET_MLP, .obs_kind = LGV_OBS_FLOAT, .obs_shape = {n, 1, 1}, .outputs = o, .input_scale = 1

static const sample_case cases[] = {
    {"dense", {VECTOR(23, 3), .hidden = {3, {100, 64, 33}}}, ""},
    {"layer norm", {VECTOR(40, 3), .hidden = {2, {65, 32}}, .layer_norm = true}, ""},
    {"dueling heads", {VECTOR(9, 12), .hidden = {2, {48, 40}}, .dueling = true, .heads = 2, .atoms = 3}, ""},
    {"one-hot", {VECTOR(30, 3), .obs_form = LGV_FORM_ONE_HOT, .hidden = {2, {50, 35}}}, ""},
    {"thermometer", {VECTOR(30, 3), .obs_form = LGV_FORM_THERMOMETER, .hidden = {2, {50, 35}}}, ""},
    {"embedding", {VECTOR(20, 3), .hidden = {2, {40, 50}}, .cosines = 16, .taus = 3}, ""},
    {"1 channel, then 16", {PICTURE(10, 11, 1, LGV_OBS_BYTE)}, "16x3s1,32x3s1"},
    {"3 channels, then 32 and 48", {PICTURE(17, 15, 3, LGV_OBS_FLOAT)}, "32x4s2,48x3s1,20x3s2"},
    {"4 channels, then 64", {PICTURE(30, 28, 4, LGV_OBS_BYTE)}, "64x8s4,64x4s2"},
    {"many channels", {PICTURE(6, 7, 33, LGV_OBS_FLOAT)}, "64x2s1,32x5s1"},
    {"wide rows", {PICTURE(6, 75, 2, LGV_OBS_BYTE)}, "16x3s1,16x2s2"},
    {"normalized pictures", {PICTURE(10, 10, 4, LGV_OBS_BYTE), .layer_norm = true}, "16x3s1,32x3s2"},
    {"a vector beside a picture", {PICTURE(9, 9, 4, LGV_OBS_BYTE), .vector = 7, .dueling = true}, "16x3s1,32x3s1"},
    {"an embedding above pictures", {PICTURE(9, 9, 2, LGV_OBS_FLOAT), .vector = 3, .cosines = 8, .taus = 2}, "32x3s2"},
};
/* clang-format on */
enum { CASES = sizeof cases / sizeof *cases };

static const struct {
  int32_t precision;
  double outputs, gradients; /* bounds of the root mean square error, relative to that of values */
} precisions[] = {{NET_BF16X3, 0x1p-16, 0x1p-16}, {NET_BF16, 0x1p-7, 0x1p-7}};
enum { PRECISIONS = sizeof precisions / sizeof *precisions };

static net_shape shape_of(const sample_case *s, int32_t precision) {
  net_shape shape = s->shape;
  shape.precision = precision;
  if (lgv__net_parse_convs(s->convs, &shape.convs, NULL) != LGV_OK) fail();
  return shape;
}

static const float *forward(net_case *c) {
  return lgv__net_forward(&c->n, c->params, case_input(c), c->batch, &c->tape);
}

static void backward(net_case *c) {
  lgv__net_backward(&c->n, c->params, case_input(c), c->batch, &c->tape, c->d_outputs, 0.5f,
                    c->grad);
}

static double relative_error(const float *got, const float *want, int64_t count) {
  double error = 0, size = 0;
  for (int64_t i = 0; i < count; i++) {
    error += (double)(got[i] - want[i]) * (double)(got[i] - want[i]);
    size += (double)want[i] * (double)want[i];
  }
  return sqrt(error / (size + 1e-30));
}

static void copy(float *to, const float *from, int64_t count) {
  if (to) memcpy(to, from, (size_t)count * sizeof *to);
}

/* Gives the tape of a network in float the activations of the same network in bf16. */
static void copy_activations(const net_case *from, net_case *to) {
  const net *n = &to->n;
  net_tape *t = &to->tape;
  const net_tape *f = &from->tape;
  for (int32_t l = 0; l < n->n_layers; l++) {
    const net_layer *layer = &n->layer[l];
    int64_t rows = n->embedding && l >= n->embedding ? case_rows(to) : to->batch;
    int64_t places = layer->kernel ? (int64_t)layer->out_height * layer->out_width : 1;
    copy(t->activation[l], f->activation[l], rows * places * layer->outputs);
    if (!layer->normalized) continue;
    copy(t->normalized[l], f->normalized[l], rows * places * layer->outputs);
    copy(t->norm_scale[l], f->norm_scale[l], rows);
  }
  if (n->joins) copy(t->joined, f->joined, to->batch * net_join_length(n));
  if (n->embedding) copy(t->psi, f->psi, case_rows(to) * n->layer[n->embedding].outputs);
}

static void check_error(const sample_case *s, const char *what, int32_t layer, int64_t batch,
                        double error, double bound) {
  if (!(error <= bound))
    fail_msg("%s, %s, %s %d, batch %d: error %.3g, more than %.3g", lgv_kernels(), s->name, what,
             layer, (int)batch, error, bound);
}

static void compare_with_float(const sample_case *s, int p, int64_t batch) {
  net_case exact, c;
  case_open(&exact, shape_of(s, NET_FLOAT), batch, 5);
  case_open(&c, shape_of(s, precisions[p].precision), batch, 5);
  const float *want = forward(&exact), *got = forward(&c);
  check_error(s, "outputs", 0, batch, relative_error(got, want, case_rows(&c) * c.n.shape.outputs),
              precisions[p].outputs);
  copy_activations(&c, &exact);
  backward(&c);
  backward(&exact);
  for (int32_t l = 0; l < c.n.n_layers; l++) {
    const net_layer *layer = &c.n.layer[l];
    check_error(
        s, "layer", l, batch,
        relative_error(c.grad + layer->weights, exact.grad + layer->weights, layer->n_params),
        precisions[p].gradients);
  }
  case_close(&exact);
  case_close(&c);
}

static void passes_are_near_those_in_float(void **state) {
  (void)state;
  static const int64_t batches[] = {1, 5, 32, 33, 70};
  for (int i = 0; i < CASES; i++)
    for (int p = 0; p < PRECISIONS; p++)
      for (int b = 0; b < 5; b++) compare_with_float(&cases[i], p, batches[b]);
}

/* ---- Bits ---- */

/* The arithmetic around the blocks has the same bits within a class. */
enum { UNFUSED, FUSED, PORTABLE, CLASSES };

static int class_of(const lgv_kernel_set *set) {
  if (strncmp(set->name, "portable", strlen("portable")) == 0) return PORTABLE;
  return strcmp(set->name, "ref") == 0 || strcmp(set->name, "x86") == 0 ? UNFUSED : FUSED;
}

static void check_same(const sample_case *s, const char *what, const float *a, const float *b,
                       int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (memcmp(&a[i], &b[i], sizeof *a) != 0)
      fail_msg("%s, %s: %s %d is %a, not %a", lgv_kernels(), s->name, what, (int)i, (double)a[i],
               (double)b[i]);
}

/* Fails unless outputs and gradient are those of `first`, which holds them after the first call. */
static void pass_and_compare(const sample_case *s, net_case *c, net_case *first, bool compare) {
  const float *out = forward(c);
  backward(c);
  if (compare) {
    int32_t last = c->n.n_layers - 1;
    check_same(s, "output", out, first->tape.activation[last], case_rows(c) * c->n.shape.outputs);
    check_same(s, "derivative", c->grad, first->grad, c->n.params);
  }
}

static void kernel_sets_agree(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  for (int i = 0; i < CASES; i++) {
    int p = i % PRECISIONS; /* the sets' own tests compare blocks of every kind */
    net_case first[CLASSES], c;
    bool open[CLASSES] = {false};
    for (size_t k = 0; (set = lgv__kernels_at(k)); k++) {
      int class = class_of(set);
      lgv__kernels_use(set);
      case_open(open[class] ? &c : &first[class], shape_of(&cases[i], precisions[p].precision), 34,
                7);
      net_case *own = open[class] ? &c : &first[class];
      pass_and_compare(&cases[i], own, &first[class], open[class]);
      if (open[class]) case_close(&c);
      open[class] = true;
    }
    for (int f = 0; f < CLASSES; f++)
      if (open[f]) case_close(&first[f]);
  }
  lgv__kernels_use(NULL);
}

static void threads_change_no_bit(void **state) {
  (void)state;
  lgv_error err = {0};
  for (int i = 0; i < CASES; i++)
    for (int p = 0; p < PRECISIONS; p++) {
      net_case alone, c;
      case_open(&alone, shape_of(&cases[i], precisions[p].precision), 70, 7);
      case_open(&c, shape_of(&cases[i], precisions[p].precision), 70, 7);
      pass_and_compare(&cases[i], &alone, NULL, false);
      for (int32_t threads = 2; threads <= 3; threads++) {
        lgv_matmul_threads *team;
        if (lgv__matmul_threads_create(threads, &team, &err) != LGV_OK) fail_msg("%s", err.message);
        lgv__matmul_threads_use(team);
        pass_and_compare(&cases[i], &c, &alone, true);
        lgv__matmul_threads_use(NULL);
        lgv__matmul_threads_free(team);
      }
      case_close(&alone);
      case_close(&c);
    }
}

/* Few samples take another path through convolutions. */
static void a_sample_has_the_bits_that_it_has_alone(void **state) {
  (void)state;
  enum { ALL = 33 };
  for (int i = 0; i < CASES; i++)
    for (int p = 0; p < PRECISIONS; p++) {
      net_case all, c;
      case_open(&all, shape_of(&cases[i], precisions[p].precision), ALL, 7);
      case_open(&c, shape_of(&cases[i], precisions[p].precision), ALL, 7);
      const float *together = forward(&all);
      static const int64_t batches[] = {1, 7, 8, 32};
      for (int b = 0; b < 4; b++) {
        const float *few = lgv__net_forward(&c.n, c.params, case_input(&c), batches[b], &c.tape);
        check_same(&cases[i], "output", few, together,
                   case_rows(&c) / ALL * batches[b] * c.n.shape.outputs);
      }
      case_close(&all);
      case_close(&c);
    }
}

/* ---- Several turns, tiles ---- */

/* More groups of samples than are converted at once: dW is summed over several turns. */
static void large_batches_are_near_those_in_float(void **state) {
  (void)state;
  const sample_case wide = {"wide", {VECTOR(3000, 3), .hidden = {1, {40}}}, ""};
  for (int p = 0; p < PRECISIONS; p++) compare_with_float(&wide, p, 500);
}

typedef struct shared {
  net n;
  net_tiles tiles;
  net_tape learning, acting;
  lgv_arena arena;
  float *w[2], *x, *grad, *d_outputs;
} shared;

static void shared_layout(void *context, lgv_layout *layout) {
  shared *s = context;
  size_t params = (size_t)s->n.params;
  lgv__net_tiles_layout(&s->tiles, &s->n, "tiles", true, layout);
  lgv__net_tape_layout_with(&s->learning, &s->n, "learning", 32, true, &s->tiles, layout);
  lgv__net_tape_layout_with(&s->acting, &s->n, "acting", 1, false, &s->tiles, layout);
  for (int i = 0; i < 2; i++) s->w[i] = lgv_layout_array(layout, "w", LGV_F32, params, LGV_KEEP);
  s->grad = lgv_layout_array(layout, "grad", LGV_F32, params, LGV_SCRATCH);
  s->x = lgv_layout_array(layout, "x", LGV_F32, 32 * 23, LGV_SCRATCH);
  s->d_outputs = lgv_layout_array(layout, "d_outputs", LGV_F32, 96, LGV_SCRATCH);
}

static float act(shared *s, int w) {
  return *lgv__net_forward(&s->n, s->w[w], (net_input){.dense = s->x}, 1, &s->acting);
}

/* Tiles stay until somebody says that their parameters have changed, or others are used. */
static void tiles_follow_their_parameters(void **state) {
  (void)state;
  shared s = {0};
  lgv_error err = {0};
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "test");
  net_shape shape = shape_of(&cases[0], NET_BF16);
  if (lgv__net_build(&s.n, &shape, &err) != LGV_OK ||
      lgv__arena_build(&s.arena, shared_layout, &s, "a test", &err) != LGV_OK)
    fail_msg("%s", err.message);
  for (int i = 0; i < 2; i++) lgv__net_init(&s.n, s.w[i], &rng);
  for (int i = 0; i < 32 * 23; i++) s.x[i] = (float)lgv_rng_normal(&rng);
  float first = act(&s, 0), second = act(&s, 1);
  assert_true(first != second);
  assert_true(act(&s, 0) == first);
  const net_layer *layer = &s.n.layer[1];
  for (int64_t i = 0; i < layer->n_weights; i++) s.w[0][layer->weights + i] *= 2;
  assert_true(act(&s, 0) == first); /* nobody has said so */
  lgv__net_tiles_changed(&s.tiles, s.w[1]);
  assert_true(act(&s, 0) == first); /* others have changed */
  lgv__net_tiles_changed(&s.tiles, s.w[0]);
  assert_true(act(&s, 0) != first);
  lgv__arena_free(&s.arena);
}

static void networks_without_hidden_products_are_known(void **state) {
  (void)state;
  net_shape shape = shape_of(&cases[3], NET_BF16);
  net n;
  if (lgv__net_build(&n, &shape, NULL) != LGV_OK) fail();
  assert_true(lgv__net_has_blocks(&n));
  shape.hidden.count = 1;
  if (lgv__net_build(&n, &shape, NULL) != LGV_OK) fail();
  assert_false(lgv__net_has_blocks(&n));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(passes_are_near_those_in_float),
      cmocka_unit_test(large_batches_are_near_those_in_float),
      cmocka_unit_test(kernel_sets_agree),
      cmocka_unit_test(threads_change_no_bit),
      cmocka_unit_test(a_sample_has_the_bits_that_it_has_alone),
      cmocka_unit_test(tiles_follow_their_parameters),
      cmocka_unit_test(networks_without_hidden_products_are_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
