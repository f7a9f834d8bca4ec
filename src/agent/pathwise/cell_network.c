#include "agent/pathwise/cell_network.h"

#include "agent/agent.h"
#include "base/arena.h"
#include "math/kernels.h"
#include "replay/replay.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
  CHUNK = 256,     /* rows of a forward pass */
  REFRESHED = 4096 /* cells in one turn */
};

/* ---- memory ---- */

static const char *counter_fault(const void *network) {
  const cell_network *n = network;
  bool ok = lgv__are_counts(n->updates, 1) && lgv__are_counts(n->refreshed, 1);
  return ok ? NULL : "counter out of range";
}

static void layout_parameters(cell_network *n, lgv_layout *layout) {
  static const char *const slots[LGV_OPTIM_SLOTS] = {"optim.slot0", "optim.slot1", "optim.slot2",
                                                     "optim.slot3"};
  size_t count = (size_t)n->net.params;
  n->optim_noise = lgv_layout_array(layout, "noise", LGV_U8, sizeof(lgv_noise), LGV_KEEP);
  n->w = lgv_layout_array(layout, "w", LGV_F32, count, LGV_KEEP);
  lgv_layout_check(layout, lgv__net_tiles_forget, &n->tiles);
  for (int32_t i = 0; i < n->optimizer->slots; i++) {
    n->slot[i] = lgv_layout_array(layout, slots[i], LGV_F32, count, LGV_KEEP);
    lgv__layout_for_learning(layout);
  }
  n->grad = lgv_layout_array(layout, "grad", LGV_F32, count, LGV_SCRATCH);
}

void lgv__cell_network_layout(cell_network *n, const dqn_params *p, const lgv_env_spec *env,
                              cells *cells, const lgv_problem *problem, lgv_layout *layout) {
  n->p = p;
  n->env = env;
  n->cells = cells;
  n->optimizer = lgv__full_problem(problem)->optimizer;
  n->optim_params = lgv__full_problem(problem)->optim_params;
  n->init = problem->init;
  n->draw = problem->replay;
  n->noise = problem->noise;
  net_shape shape = lgv__dqn_shape(p, env, 1, 1);
  lgv_status built = lgv__net_build(&n->net, &shape, NULL); /* the agent's resolve checked it */
  assert(built == LGV_OK);
  (void)built;
  n->updates = lgv_layout_array(layout, "network.updates", LGV_I64, 1, LGV_KEEP);
  n->refreshed = lgv_layout_array(layout, "network.refreshed", LGV_I64, 1, LGV_KEEP);
  lgv_layout_check(layout, counter_fault, n);
  lgv__running_scale_layout(&n->scale, &p->scale, env, 1, p->gamma, layout);
  layout_parameters(n, layout);
  size_t B = (size_t)p->batch, rows = B > CHUNK ? B : CHUNK;
  n->examples = lgv_layout_array(layout, "examples", LGV_U8, rows * cells->obs_bytes, LGV_SCRATCH);
  n->drawn = lgv_layout_array(layout, "drawn", LGV_I64, B, LGV_SCRATCH);
  n->d_outputs =
      lgv_layout_array(layout, "d_outputs", LGV_F32, B * (size_t)cells->actions, LGV_SCRATCH);
  lgv__net_tiles_layout(&n->tiles, &n->net, "tiles", true, layout);
  n->tiles.exposed = &lgv__full_problem(problem)->exposed;
  lgv__net_tape_layout_with(&n->tape, &n->net, "tape", (int64_t)rows, true, &n->tiles, layout);
  lgv__net_tape_layout_with(&n->act_tape, &n->net, "act_tape", 1, false, &n->tiles, layout);
}

/* The rows of a one-hot input are as large as if it were the only one; the outputs are 0. */
void lgv__cell_network_open(cell_network *n) {
  const net_layer *first = &n->net.layer[0], *last = &n->net.layer[n->net.n_layers - 1];
  float gain = n->env->obs_form == LGV_FORM_ONE_HOT ? sqrtf((float)first->inputs) : 1;
  lgv__net_init(&n->net, n->w, n->init);
  for (int64_t i = 0; i < first->n_weights; i++) n->w[first->weights + i] *= gain;
  memset(n->w + last->weights, 0, (size_t)last->n_params * sizeof *n->w);
  lgv__net_tiles_changed(&n->tiles, NULL);
  lgv__noise_seed(n->optim_noise, n->noise);
}

/* ---- values and updates ---- */

void lgv__cell_network_see(cell_network *n, const lgv_transition *t) {
  lgv__running_scale_add(&n->scale, 0, t, t->obs.stage == 0);
}

static net_input input_of(const cell_network *n, const void *encoded) {
  net_input input = lgv__replay_input(n->env, encoded);
  if (n->net.shape.maps_input) input.map = lgv__running_scale_map(&n->scale);
  return input;
}

const float *lgv__cell_network_values(cell_network *n, const void *encoded) {
  return lgv__net_forward(&n->net, n->w, input_of(n, encoded), 1, &n->act_tape);
}

/* What the network learns of a pair. */
static float lesson(const cells *c, int64_t pair, float prior) {
  float mean = c->mean[pair] / prior;
  return fminf(fmaxf(c->value[pair] / prior, mean - 1), mean + 1);
}

/* The loss of a minibatch and its gradient by the outputs f. */
static double loss_and_gradient(cell_network *n, const float *f, float prior) {
  const cells *c = n->cells;
  int64_t B = n->p->batch, A = c->actions;
  double loss = 0;
  for (int64_t i = 0; i < B * A; i++) {
    int64_t pair = n->drawn[i / A] * A + i % A;
    float error = c->taught[pair] ? f[i] - lesson(c, pair, prior) : 0;
    n->d_outputs[i] = error / (float)B;
    loss += 0.5 * (double)(error * error) / (double)B;
  }
  return loss;
}

double lgv__cell_network_update(cell_network *n, double prior) {
  const cells *c = n->cells;
  int64_t B = n->p->batch;
  for (int64_t i = 0; i < B; i++) {
    n->drawn[i] = lgv_rng_below(n->draw, c->size[CELLS_COUNT]);
    memcpy(n->examples + (size_t)i * c->obs_bytes, cells_example(c, n->drawn[i]), c->obs_bytes);
  }
  net_input input = input_of(n, n->examples);
  const float *f = lgv__net_forward(&n->net, n->w, input, B, &n->tape);
  double loss = loss_and_gradient(n, f, (float)prior);
  lgv__net_backward(&n->net, n->w, input, B, &n->tape, n->d_outputs, 1, n->grad);
  lgv_optim_step step = {.count = (size_t)n->net.params,
                         .w = n->w,
                         .g = n->grad,
                         .t = ++*n->updates,
                         .lr_scale = 1,
                         .beta_scale = 1,
                         .noise = n->optim_noise};
  for (int32_t i = 0; i < n->optimizer->slots; i++) step.slot[i] = n->slot[i];
  n->optimizer->step(n->optim_params, &step);
  lgv__net_tiles_changed(&n->tiles, NULL);
  return loss;
}

void lgv__cell_network_refresh(cell_network *n) {
  cells *c = n->cells;
  int64_t known = c->size[CELLS_COUNT], left = known < REFRESHED ? known : REFRESHED, rows;
  for (int64_t *at = n->refreshed; left > 0; left -= rows, *at += rows) {
    if (*at >= known) *at = 0;
    rows = left < CHUNK ? left : CHUNK;
    if (rows > known - *at) rows = known - *at;
    const float *f =
        lgv__net_forward(&n->net, n->w, input_of(n, cells_example(c, *at)), rows, &n->tape);
    memcpy(c->base + *at * c->actions, f, (size_t)(rows * c->actions) * sizeof *f);
  }
}
