/* Networks: passes over a minibatch, and over the single observation that an agent acts on. */
#include "bench/bench.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/flush.h"
#include "nn/net.h"

#include <stdio.h>

enum { BATCH = 32, PARTS = 20 };
enum { MLP, NORMALIZED, DUELING, BRANCHING, INDEXED, CONV, NORMALIZED_CONV, NATURE, NETS };

typedef struct subject {
  net n;
  lgv_arena arena;
  net_tape tape, target_tape;
  float *params, *target, *grad; /* (parameters) */
  float *d_outputs;              /* (BATCH x outputs) */
  float *dense;                  /* (2 BATCH x length): s, then s' */
  uint8_t *bytes;                /* likewise */
  int32_t *index;                /* (2 BATCH) */
} subject;

static net_shape picture_shape(int which) {
  int32_t side = which == NATURE ? 84 : 10;
  return (net_shape){.family = which == NATURE ? NET_NATURE : NET_CONV,
                     .obs_kind = LGV_OBS_BYTE,
                     .obs_shape = {side, side, 4},
                     .outputs = which == NATURE ? 18 : 6,
                     .layer_norm = which == NORMALIZED_CONV,
                     .input_scale = 1.0f / 255};
}

/* The branches of switches: two choices in every part of an action. */
static void add_parts(net_shape *shape) {
  shape->parts = PARTS;
  shape->outputs = 2 * PARTS;
  for (int i = 0; i < PARTS; i++) shape->part_sizes[i] = 2;
}

static net_shape shape_of(int which) {
  if (which >= CONV) return picture_shape(which);
  bool dueling = which == DUELING || which == BRANCHING;
  net_shape shape = {.family = NET_MLP,
                     .obs_form = which == INDEXED ? LGV_FORM_THERMOMETER : LGV_FORM_DENSE,
                     .obs_shape = {100, 1, 1},
                     .hidden = {2, {32, dueling ? 16 : 32}},
                     .outputs = 2,
                     .layer_norm = which == NORMALIZED,
                     .dueling = dueling,
                     .input_scale = 1};
  if (which == BRANCHING) add_parts(&shape);
  return shape;
}

static int64_t obs_length(const net_shape *shape) {
  return (int64_t)shape->obs_shape[0] * shape->obs_shape[1] * shape->obs_shape[2];
}

static void layout(void *context, lgv_layout *out) {
  subject *s = context;
  size_t params = (size_t)s->n.params, numbers = 2 * BATCH * (size_t)obs_length(&s->n.shape);
  s->params = lgv_layout_array(out, "params", LGV_F32, params, LGV_SCRATCH);
  s->target = lgv_layout_array(out, "target", LGV_F32, params, LGV_SCRATCH);
  s->grad = lgv_layout_array(out, "grad", LGV_F32, params, LGV_SCRATCH);
  s->d_outputs =
      lgv_layout_array(out, "d_outputs", LGV_F32, BATCH * (size_t)s->n.shape.outputs, LGV_SCRATCH);
  s->dense = lgv_layout_array(out, "dense", LGV_F32, numbers, LGV_SCRATCH);
  s->bytes = lgv_layout_array(out, "bytes", LGV_U8, numbers, LGV_SCRATCH);
  s->index = lgv_layout_array(out, "index", LGV_I32, (size_t)2 * BATCH, LGV_SCRATCH);
  lgv__net_tape_layout(&s->tape, &s->n, "tape", (int64_t)2 * BATCH, true, out);
  lgv__net_tape_layout(&s->target_tape, &s->n, "target_tape", BATCH, false, out);
}

static lgv_status open_subject(subject *s, net_shape shape, lgv_error *err) {
  LGV_TRY(lgv__net_build(&s->n, &shape, err));
  LGV_TRY(lgv__arena_build(&s->arena, layout, s, "a benchmark", err));
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "bench.net");
  lgv__net_init(&s->n, s->params, &rng);
  lgv__net_init(&s->n, s->target, &rng);
  int64_t length = obs_length(&shape);
  for (int64_t i = 0; i < 2 * BATCH * length; i++) {
    s->dense[i] = (float)lgv_rng_normal(&rng);
    s->bytes[i] = (uint8_t)lgv_rng_below(&rng, 256);
  }
  for (int64_t i = 0; i < (int64_t)2 * BATCH; i++)
    s->index[i] = (int32_t)lgv_rng_below(&rng, length + 1);
  for (int64_t i = 0; i < (int64_t)BATCH * shape.outputs; i++)
    s->d_outputs[i] = (float)lgv_rng_normal(&rng);
  return LGV_OK;
}

static lgv_status open_nets(void **state, lgv_error *err) {
  subject *subjects = lgv__calloc(NETS, sizeof *subjects);
  if (!subjects) return lgv__out_of_memory(err, "a benchmark");
  *state = subjects;
  for (int i = 0; i < NETS; i++) LGV_TRY(open_subject(&subjects[i], shape_of(i), err));
  return LGV_OK;
}

static void close_nets(void *state) {
  subject *subjects = state;
  for (int i = 0; subjects && i < NETS; i++) lgv__arena_free(&subjects[i].arena);
  lgv__free(subjects);
}

/* ---- Timed work ---- */

static net_input input_of(const subject *s, int64_t first) {
  const net_shape *shape = &s->n.shape;
  int64_t at = first * obs_length(shape);
  if (shape->obs_form != LGV_FORM_DENSE) return (net_input){.index = s->index + first};
  if (shape->obs_kind == LGV_OBS_BYTE) return (net_input){.bytes = s->bytes + at};
  return (net_input){.dense = s->dense + at};
}

static lgv_status forward_and_backward(void *context, lgv_error *err) {
  (void)err;
  subject *s = context;
  lgv__net_forward(&s->n, s->params, input_of(s, 0), BATCH, &s->tape);
  lgv__net_backward(&s->n, s->params, input_of(s, 0), BATCH, &s->tape, s->d_outputs, 1, s->grad);
  return LGV_OK;
}

/* Q(s) and Q(s') together, the target network at s', then back from s. */
static lgv_status double_dqn(void *context, lgv_error *err) {
  (void)err;
  subject *s = context;
  lgv__net_forward(&s->n, s->params, input_of(s, 0), (int64_t)2 * BATCH, &s->tape);
  lgv__net_forward(&s->n, s->target, input_of(s, BATCH), BATCH, &s->target_tape);
  lgv__net_backward(&s->n, s->params, input_of(s, 0), BATCH, &s->tape, s->d_outputs, 1, s->grad);
  return LGV_OK;
}

static lgv_status act(void *context, lgv_error *err) {
  (void)err;
  subject *s = context;
  lgv__net_forward(&s->n, s->params, input_of(s, 0), 1, &s->tape);
  return LGV_OK;
}

static lgv_status act_for_all(void *context, lgv_error *err) {
  (void)err;
  subject *s = context;
  lgv__net_forward(&s->n, s->params, input_of(s, 0), BATCH, &s->tape);
  return LGV_OK;
}

/* Samples that pass forward and backward per repetition. */
static const struct {
  int net;
  const char *name;
  bench_work work;
  double forward, backward, target;
} lines[] = {
    {MLP, "MLP 100-32-32-2, batch 32: forward, backward", forward_and_backward, BATCH, BATCH, 0.8},
    {MLP, "MLP 100-32-32-2, batch 32: double DQN", double_dqn, 3 * BATCH, BATCH, 0},
    {MLP, "MLP 100-32-32-2: acting", act, 1, 0, 0},
    {MLP, "MLP 100-32-32-2, batch 32: acting", act_for_all, BATCH, 0, 0},
    {INDEXED, "the same from a thermometer: forward, backward", forward_and_backward, 0, 0, 0},
    {INDEXED, "the same from a thermometer: acting", act, 0, 0, 0},
    {NORMALIZED, "MLP 100-32-32-2, layer norm: forward, backward", forward_and_backward, BATCH,
     BATCH, 0},
    {DUELING, "MLP 100-32-16-2, dueling: forward, backward", forward_and_backward, BATCH, BATCH, 0},
    {BRANCHING, "MLP 100-32-16, dueling, 20 parts: forward, backward", forward_and_backward, BATCH,
     BATCH, 0},
    {CONV, "conv 10 x 10 x 4, batch 32: forward, backward", forward_and_backward, BATCH, BATCH,
     0.6},
    {CONV, "conv 10 x 10 x 4: acting", act, 1, 0, 0},
    {NORMALIZED_CONV, "conv 10 x 10 x 4, layer norm: forward, backward", forward_and_backward,
     BATCH, BATCH, 0.5},
    {NATURE, "Nature CNN, batch 32: forward, backward", forward_and_backward, BATCH, BATCH, 0.85},
    {NATURE, "Nature CNN, batch 32: double DQN", double_dqn, 3 * BATCH, BATCH, 0.8},
    {NATURE, "Nature CNN: acting", act, 1, 0, 0},
    {NATURE, "Nature CNN, batch 32: acting", act_for_all, BATCH, 0, 0},
};

/* Useful operations per sample. */
static void count_operations(const net *n, double *forward, double *backward) {
  *forward = *backward = 0;
  for (int32_t l = 0; l < n->n_layers; l++) {
    const net_layer *layer = &n->layer[l];
    double places = layer->kernel ? (double)layer->out_height * layer->out_width : 1;
    double products = 2 * places * (double)layer->n_weights;
    *forward += products;
    *backward += l > 0 ? 2 * products : products; /* the derivative of the inputs is not needed */
  }
}

static lgv_status measure_all(subject *subjects, bench_report *report, lgv_error *err) {
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    subject *s = &subjects[lines[i].net];
    double forward, backward;
    count_operations(&s->n, &forward, &backward);
    bench_count count = {.operations = forward * lines[i].forward + backward * lines[i].backward,
                         .units = 1,
                         .unit = "pass",
                         .goal = lines[i].target > 0 ? BENCH_SHARE : BENCH_NO_GOAL,
                         .target = lines[i].target};
    LGV_TRY(bench_measure(report, lines[i].name, count, lines[i].work, s, err));
  }
  return LGV_OK;
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  uint64_t mode = lgv__flush_begin();
  lgv_status status = measure_all(state, report, err);
  lgv__flush_end(mode);
  return status;
}

const bench_group bench_net = {
    .name = "net",
    .summary = "passes through networks, as a share of the yardstick",
    .needs_limits = true,
    .open = open_nets,
    .round = measure_round,
    .close = close_nets,
};
