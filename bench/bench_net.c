#include "bench_net.h"

#include "base/arena.h"
#include "base/error.h"
#include "math/flush.h"
#include "math/kernels.h"
#include "nn/net.h"

#include <cblas.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef void (*work_fn)(void *context);

/* The best of several repetitions, kept as the report's best under that name. */
static void measure(bench_report *report, const char *name, bool is_yardstick, double operations,
                    work_fn work, void *context) {
  size_t r = 0;
  while (r < report->count && strcmp(report->result[r].name, name) != 0) r++;
  bench_result *result = &report->result[r];
  if (r == report->count) {
    if (r == BENCH_MOST_RESULTS) return;
    report->count++;
    snprintf(result->name, sizeof result->name, "%s", name);
    *result =
        (bench_result){.seconds = 1e9, .operations = operations, .is_yardstick = is_yardstick};
    snprintf(result->name, sizeof result->name, "%s", name);
  }
  int inner = operations < 2e7 ? (int)(2e7 / operations) : 1;
  work(context);
  double end = cpu_seconds() + 0.1;
  for (int repetition = 0; repetition < 3 || cpu_seconds() < end; repetition++) {
    double start = cpu_seconds();
    for (int i = 0; i < inner; i++) work(context);
    double seconds = (cpu_seconds() - start) / inner;
    if (seconds < result->seconds) result->seconds = seconds;
  }
}

/* ---- The yardstick ---- */

enum { LARGEST_PRODUCT = 2048 };

typedef struct yardstick {
  lgv_arena arena;
  int size;
  float *a, *b, *c; /* (LARGEST_PRODUCT x LARGEST_PRODUCT) */
} yardstick;

static void yardstick_layout(void *context, lgv_layout *layout) {
  yardstick *y = context;
  const size_t count = (size_t)LARGEST_PRODUCT * LARGEST_PRODUCT;
  y->a = lgv_layout_array(layout, "a", LGV_F32, count, LGV_SCRATCH);
  y->b = lgv_layout_array(layout, "b", LGV_F32, count, LGV_SCRATCH);
  y->c = lgv_layout_array(layout, "c", LGV_F32, count, LGV_SCRATCH);
}

static void own_product(void *context) {
  yardstick *y = context;
  int64_t n = y->size;
  lgv__kernels()->gemm(n, n, n, y->a, n, 1, y->b, n, 0, y->c, n);
}

static void blas_product(void *context) {
  yardstick *y = context;
  int n = y->size;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, y->a, n, y->b, n, 0, y->c, n);
}

static void describe_blas(char *text, size_t size) {
  char *(*core)(void);
  void (*set_num_threads)(int);
  *(void **)&core = dlsym(RTLD_DEFAULT, "openblas_get_corename");
  *(void **)&set_num_threads = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (set_num_threads) set_num_threads(1);
  snprintf(text, size, core ? "OpenBLAS for %s" : "not OpenBLAS", core ? core() : "");
}

static void measure_yardsticks(bench_report *report, yardstick *y) {
  for (y->size = 256; y->size <= LARGEST_PRODUCT; y->size *= 2) {
    char name[64];
    double operations = 2.0 * y->size * y->size * y->size;
    snprintf(name, sizeof name, "BLAS product %d", y->size);
    measure(report, name, true, operations, blas_product, y);
    snprintf(name, sizeof name, "own product %d", y->size);
    if (y->size > 512 && strcmp(lgv_kernels(), "ref") == 0) continue; /* plain C: for minutes */
    measure(report, name, true, operations, own_product, y);
  }
}

/* ---- Networks ---- */

typedef struct subject {
  net n;
  lgv_arena arena;
  int64_t batch;
  net_tape tape, target_tape;
  float *params, *target, *grad, *d_outputs, *dense;
  uint8_t *bytes;
  int32_t *index;
} subject;

static void subject_layout(void *context, lgv_layout *layout) {
  subject *s = context;
  size_t params = (size_t)s->n.params, both = 2 * (size_t)s->batch;
  const net_shape *shape = &s->n.shape;
  size_t length =
      (size_t)shape->obs_shape[0] * (size_t)shape->obs_shape[1] * (size_t)shape->obs_shape[2];
  s->params = lgv_layout_array(layout, "params", LGV_F32, params, LGV_KEEP);
  s->target = lgv_layout_array(layout, "target", LGV_F32, params, LGV_KEEP);
  s->grad = lgv_layout_array(layout, "grad", LGV_F32, params, LGV_SCRATCH);
  s->d_outputs =
      lgv_layout_array(layout, "d_outputs", LGV_F32, both * (size_t)shape->outputs, LGV_SCRATCH);
  s->dense = lgv_layout_array(layout, "dense", LGV_F32, both * length, LGV_SCRATCH);
  s->bytes = lgv_layout_array(layout, "bytes", LGV_U8, both * length, LGV_SCRATCH);
  s->index = lgv_layout_array(layout, "index", LGV_I32, both, LGV_SCRATCH);
  net_tape_layout(&s->tape, &s->n, "tape", 2 * s->batch, true, layout);
  net_tape_layout(&s->target_tape, &s->n, "target_tape", s->batch, false, layout);
}

static lgv_status subject_open(subject *s, net_shape shape, int64_t batch, lgv_error *err) {
  *s = (subject){.batch = batch};
  LGV_TRY(net_build(&s->n, &shape, err));
  LGV_TRY(lgv__arena_build(&s->arena, subject_layout, s, "a benchmark", err));
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "bench.net");
  net_init(&s->n, s->params, &rng);
  net_init(&s->n, s->target, &rng);
  int64_t length = (int64_t)shape.obs_shape[0] * shape.obs_shape[1] * shape.obs_shape[2];
  for (int64_t i = 0; i < 2 * batch * length; i++) {
    s->dense[i] = (float)lgv_rng_normal(&rng);
    s->bytes[i] = (uint8_t)lgv_rng_below(&rng, 256);
  }
  for (int64_t i = 0; i < 2 * batch; i++) s->index[i] = (int32_t)lgv_rng_below(&rng, length + 1);
  for (int64_t i = 0; i < batch * shape.outputs; i++) s->d_outputs[i] = (float)lgv_rng_normal(&rng);
  return LGV_OK;
}

static net_input input_of(const subject *s, int64_t first) {
  const net_shape *shape = &s->n.shape;
  int64_t length = (int64_t)shape->obs_shape[0] * shape->obs_shape[1] * shape->obs_shape[2];
  if (shape->obs_form != LGV_FORM_DENSE) return (net_input){.index = s->index + first};
  if (shape->obs_kind == LGV_OBS_BYTE) return (net_input){.bytes = s->bytes + first * length};
  return (net_input){.dense = s->dense + first * length};
}

/* Useful operations of a forward pass for one sample, and of a backward pass. */
static void count_operations(const net *n, double *forward, double *backward) {
  *forward = *backward = 0;
  for (int32_t l = 0; l < n->n_layers; l++) {
    const net_layer *layer = &n->layer[l];
    double places = layer->kernel ? (double)layer->out_height * layer->out_width : 1;
    double products = 2 * places * (double)layer->n_weights;
    *forward += products;
    *backward += l > 0 ? 2 * products : products;
  }
}

static void forward_and_backward(void *context) {
  subject *s = context;
  net_forward(&s->n, s->params, input_of(s, 0), s->batch, &s->tape);
  net_backward(&s->n, s->params, input_of(s, 0), s->batch, &s->tape, s->d_outputs, 1, s->grad);
}

/* Observations and next observations together, the target network on the latter, then back. */
static void double_dqn(void *context) {
  subject *s = context;
  net_forward(&s->n, s->params, input_of(s, 0), 2 * s->batch, &s->tape);
  net_forward(&s->n, s->target, input_of(s, s->batch), s->batch, &s->target_tape);
  net_backward(&s->n, s->params, input_of(s, 0), s->batch, &s->tape, s->d_outputs, 1, s->grad);
}

static void act(void *context) {
  subject *s = context;
  net_forward(&s->n, s->params, input_of(s, 0), 1, &s->tape);
}

static void measure_subject(bench_report *report, const char *name, subject *s, bool with_target) {
  char text[64];
  double forward, backward, batch = (double)s->batch;
  count_operations(&s->n, &forward, &backward);
  snprintf(text, sizeof text, "%s, forward and backward", name);
  measure(report, text, false, batch * (forward + backward), forward_and_backward, s);
  if (with_target) {
    snprintf(text, sizeof text, "%s, double DQN", name);
    measure(report, text, false, batch * (3 * forward + backward), double_dqn, s);
  }
  snprintf(text, sizeof text, "%s, acting", name);
  measure(report, text, false, forward, act, s);
}

enum { CHAIN, THERMOMETER, NATURE, N_SUBJECTS };

static net_shape shape_of(int which) {
  if (which == NATURE)
    return (net_shape){.family = NET_NATURE,
                       .obs_kind = LGV_OBS_BYTE,
                       .obs_shape = {84, 84, 4},
                       .outputs = 6,
                       .input_scale = 1.0f / 255};
  return (net_shape){.family = NET_MLP,
                     .obs_form = which == CHAIN ? LGV_FORM_DENSE : LGV_FORM_THERMOMETER,
                     .obs_shape = {100, 1, 1},
                     .hidden = {2, {32, 32}},
                     .outputs = 2,
                     .input_scale = 1};
}

static void run_rounds(int rounds, bench_report *report, yardstick *y, subject *subjects) {
  static const char *const names[N_SUBJECTS] = {"MLP 100-32-32-2, 32", "the same, thermometer",
                                                "Nature 84x84x4, 32"};
  for (int round = 0; round < rounds; round++) {
    measure_yardsticks(report, y);
    for (int i = 0; i < N_SUBJECTS; i++)
      measure_subject(report, names[i], &subjects[i], i == NATURE);
  }
  for (size_t i = 0; i < report->count; i++) {
    const bench_result *result = &report->result[i];
    double rate = result->operations / result->seconds;
    if (result->is_yardstick && rate > report->yardstick) report->yardstick = rate;
  }
}

lgv_status bench_net(int rounds, bench_report *report, lgv_error *err) {
  *report = (bench_report){0};
  yardstick y = {0};
  subject subjects[N_SUBJECTS] = {0};
  describe_blas(report->blas, sizeof report->blas);
  lgv_status status = lgv__arena_build(&y.arena, yardstick_layout, &y, "a benchmark", err);
  for (int64_t i = 0; status == LGV_OK && i < (int64_t)LARGEST_PRODUCT * LARGEST_PRODUCT; i++) {
    y.a[i] = 0.01f * (float)(i % 97);
    y.b[i] = 0.01f * (float)(i % 89);
  }
  for (int i = 0; status == LGV_OK && i < N_SUBJECTS; i++)
    status = subject_open(&subjects[i], shape_of(i), 32, err);
  if (status == LGV_OK) {
    uint64_t mode = lgv__flush_begin();
    run_rounds(rounds, report, &y, subjects);
    lgv__flush_end(mode);
  }
  for (int i = 0; i < N_SUBJECTS; i++) lgv__arena_free(&subjects[i].arena);
  lgv__arena_free(&y.arena);
  return status;
}
