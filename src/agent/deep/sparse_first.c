#include "agent/deep/sparse_first.h"

#include "base/portable_math.h"
#include "math/kernels.h"
#include "nn/layers.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Copies lie a line more than a power of two apart, so that they do not contend for the same places
 * of a cache. */
enum { CACHE_LINE = 16 }; /* floats */

/* ---- memory ---- */

bool lgv__sparse_first_fits(const dqn_params *p, const lgv_problem *problem) {
  return problem->env.obs_form == LGV_FORM_ONE_HOT && p->hidden.count > 0 && !p->layer_norm &&
         !p->dueling &&
         lgv__lazy_rows_fit(lgv__full_problem(problem)->optimizer,
                            lgv__full_problem(problem)->optim_params);
}

static void distinct_layout(distinct *d, int64_t inputs, int64_t most, lgv_layout *layout) {
  d->state = lgv_layout_array(layout, "distinct.state", LGV_I32, (size_t)most, LGV_SCRATCH);
  d->place = lgv_layout_array(layout, "distinct.place", LGV_I32, (size_t)(inputs + 1), LGV_SCRATCH);
}

void lgv__sparse_first_layout(sparse_first *s, dqn *c, const dqn_params *p,
                              const lgv_problem *problem, dqn_sizes sizes, lgv_layout *layout) {
  net_shape shape = lgv__dqn_shape(p, &problem->env, sizes.heads, 1);
  lgv_status built = lgv__net_build(&s->whole, &shape, NULL); /* lgv__dqn_resolve checked it */
  assert(built == LGV_OK);
  (void)built;
  sizes.above_first = true;
  lgv__dqn_layout(c, p, problem, sizes, layout);
  int64_t inputs = s->whole.layer[0].inputs, B = p->batch, most = p->double_q ? 2 * B : B;
  s->core = c;
  s->units = s->whole.layer[0].outputs;
  s->stride = most * s->units + CACHE_LINE;
  size_t batch = (size_t)B, width = (size_t)(sizes.copies * s->units);
  size_t x = (size_t)(sizes.copies * s->stride);
  lgv__lazy_rows_layout(&s->rows, inputs + 1, sizes.copies * s->units, c->optimizer,
                        c->optim_params, layout);
  distinct_layout(&s->online, inputs, most, layout);
  distinct_layout(&s->next, inputs, B, layout);
  s->of_obs = lgv_layout_array(layout, "of_obs", LGV_I32, batch, LGV_SCRATCH);
  s->of_next = lgv_layout_array(layout, "of_next", LGV_I32, batch, LGV_SCRATCH);
  s->of_double = lgv_layout_array(layout, "of_double", LGV_I32, batch, LGV_SCRATCH);
  s->x = lgv_layout_array(layout, "x", LGV_F32, x, LGV_SCRATCH);
  s->x_target = lgv_layout_array(layout, "x_target", LGV_F32, x, LGV_SCRATCH);
  s->d_x = lgv_layout_array(layout, "d_x", LGV_F32, batch * (size_t)s->units, LGV_SCRATCH);
  s->sum = lgv_layout_array(layout, "x.sum", LGV_F32, width, LGV_SCRATCH);
  s->d_q =
      lgv_layout_array(layout, "d_q.distinct", LGV_F32, batch * (size_t)c->outputs, LGV_SCRATCH);
  s->grad = lgv_layout_array(layout, "rows.grad", LGV_F32, (batch + 1) * width, LGV_SCRATCH);
  s->draw = lgv_layout_array(layout, "draw", LGV_F32, (size_t)s->whole.params, LGV_SCRATCH);
}

static int64_t bias_row(const sparse_first *s) { return s->rows.rows - 1; }

void lgv__sparse_first_open(sparse_first *s) {
  dqn *c = s->core;
  const net_layer *first = &s->whole.layer[0];
  size_t units = (size_t)s->units;
  for (int64_t k = 0; k < c->sizes.copies; k++) {
    lgv__net_init(&s->whole, s->draw, c->init);
    for (int64_t row = 0; row <= first->inputs; row++) /* biases follow the weights */
      memcpy(s->rows.w + row * s->rows.width + k * s->units,
             s->draw + first->weights + row * s->units, units * sizeof *s->draw);
    memcpy(c->w + k * c->dim, s->draw + first->biases + first->n_biases,
           (size_t)c->dim * sizeof *c->w);
  }
  memcpy(c->w_target, c->w, (size_t)(c->sizes.copies * c->dim) * sizeof *c->w);
  lgv__dqn_changed(c, NULL);
  lgv__lazy_rows_open(&s->rows);
}

/* ---- acting ---- */

const float *lgv__sparse_first_values(sparse_first *s, int64_t copy, const lgv_obs *obs) {
  dqn *c = s->core;
  const lgv_kernel_set *kernels = lgv__kernels();
  int32_t state;
  size_t bytes = (size_t)s->units * sizeof *s->sum;
  lgv__replay_encode(&c->env, obs, &state);
  memcpy(s->sum, lgv__lazy_rows_peek(&s->rows, bias_row(s), copy * s->units, s->units), bytes);
  if (state >= 0)
    kernels->add_scaled(s->units, lgv__lazy_rows_peek(&s->rows, state, copy * s->units, s->units),
                        1, s->sum);
  kernels->rectify(s->units, s->sum);
  return lgv__net_forward(&c->net, c->w + copy * c->dim, (net_input){.dense = s->sum}, 1,
                          &c->act_tape);
}

/* ---- learning ---- */

/* Which of the distinct observations this is; adds it if it is new. */
static int32_t find_or_add(const sparse_first *s, distinct *d, int32_t state) {
  int32_t *place = &d->place[state >= 0 ? state : bias_row(s)];
  if (*place < d->count && d->state[*place] == state) return *place;
  d->state[d->count] = state;
  return *place = (int32_t)d->count++;
}

/* One copy's activations, (most x units). */
static float *of_copy(const sparse_first *s, float *x, int64_t copy) {
  return x + copy * s->stride;
}

/* The layer's activations for one distinct observation, all copies: row by row, while the row is in
 * the cache. */
static void first_forward(sparse_first *s, const float *row, const float *bias, int64_t place,
                          float *x) {
  const lgv_kernel_set *kernels = lgv__kernels();
  int64_t width = s->rows.width, units = s->units;
  memcpy(s->sum, bias, (size_t)width * sizeof *bias);
  if (row) kernels->add_scaled(width, row, 1, s->sum);
  kernels->rectify(width, s->sum);
  for (int64_t k = 0; k < s->core->sizes.copies; k++)
    memcpy(of_copy(s, x, k) + place * units, s->sum + k * units, (size_t)units * sizeof *x);
}

void lgv__sparse_first_begin(sparse_first *s) {
  dqn *c = s->core;
  const int32_t *obs = (const int32_t *)(const void *)c->batch.obs;
  const int32_t *next = (const int32_t *)(const void *)c->batch.next;
  s->online.count = s->next.count = 0;
  for (int64_t i = 0; i < c->p->batch; i++) {
    s->of_obs[i] = find_or_add(s, &s->online, obs[i]);
    s->of_next[i] = find_or_add(s, &s->next, next[i]);
  }
  s->learned = s->online.count;
  for (int64_t i = 0; c->p->double_q && i < c->p->batch; i++)
    s->of_double[i] = find_or_add(s, &s->online, next[i]);
  const float *bias = lgv__lazy_rows_online(&s->rows, bias_row(s));
  for (int64_t i = 0; i < s->online.count; i++) {
    int32_t state = s->online.state[i];
    first_forward(s, state >= 0 ? lgv__lazy_rows_online(&s->rows, state) : NULL, bias, i, s->x);
  }
  bias = lgv__lazy_rows_target(&s->rows, bias_row(s));
  for (int64_t i = 0; i < s->next.count; i++) {
    int32_t state = s->next.state[i];
    first_forward(s, state >= 0 ? lgv__lazy_rows_target(&s->rows, state) : NULL, bias, i,
                  s->x_target);
  }
}

static void hand_out(const dqn *c, const float *q, const int32_t *place, float *out) {
  int64_t n = c->outputs;
  for (int64_t i = 0; i < c->p->batch; i++)
    for (int64_t j = 0; j < n; j++) out[i * n + j] += q[place[i] * n + j];
}

static const float *upper_forward(sparse_first *s, const float *w, float *x, int64_t copy,
                                  int64_t rows, net_tape *tape) {
  const dqn *c = s->core;
  net_input input = {.dense = of_copy(s, x, copy)};
  return lgv__net_forward(&c->net, w + copy * c->dim, input, rows, tape);
}

void lgv__sparse_first_forward(sparse_first *s, int64_t copy, float *q, float *q_next,
                               float *q_target) {
  dqn *c = s->core;
  hand_out(c, upper_forward(s, c->w_target, s->x_target, copy, s->next.count, &c->target_tape),
           s->of_next, q_target);
  const float *out = upper_forward(s, c->w, s->x, copy, s->online.count, &c->tape);
  hand_out(c, out, s->of_obs, q);
  if (q_next) hand_out(c, out, s->of_double, q_next);
}

/* The backward pass of the network above, down to its inputs. */
static void upper_backward(sparse_first *s, int64_t copy) {
  dqn *c = s->core;
  int64_t rows = s->learned;
  const float *w = c->w + copy * c->dim, *x = of_copy(s, s->x, copy);
  const float *d_out = s->d_q;
  for (int32_t l = c->net.n_layers - 1; l >= 0; l--) {
    const net_layer *layer = &c->net.layer[l];
    const float *in = l > 0 ? c->tape.activation[l - 1] : x;
    float *d_in = l > 0 ? c->tape.delta[l & 1] : s->d_x;
    lgv__net_map_backward(&c->net, w, l, in, in, rows, &c->tape, d_out, d_in, c->grad);
    if (l == c->net.n_layers - 1 && c->sizes.heads > 1)
      lgv__kernels()->scale(rows * layer->inputs, 1.0f / (float)c->sizes.heads, d_in);
    d_out = d_in;
  }
}

void lgv__sparse_first_backward(sparse_first *s, int64_t copy) {
  dqn *c = s->core;
  int64_t n = c->outputs, units = s->units, width = s->rows.width;
  memset(s->d_q, 0, (size_t)(s->learned * n) * sizeof *s->d_q);
  for (int64_t i = 0; i < c->p->batch; i++)
    for (int64_t j = 0; j < n; j++) s->d_q[s->of_obs[i] * n + j] += c->d_q[i * n + j];
  upper_backward(s, copy);
  float *grad = s->grad + copy * units;
  for (int64_t i = 0; i < s->learned; i++)
    memcpy(grad + i * width, s->d_x + i * units, (size_t)units * sizeof *grad);
  lgv__kernels()->column_sums(s->learned, units, s->d_x, grad + c->p->batch * width);
}

void lgv__sparse_first_end(sparse_first *s) {
  if (lgv__dqn_target_due(s->core)) lgv__lazy_rows_snapshot(&s->rows);
  for (int64_t i = 0; i < s->learned; i++)
    if (s->online.state[i] >= 0)
      lgv__lazy_rows_step(&s->rows, s->online.state[i], s->grad + i * s->rows.width);
  lgv__lazy_rows_step(&s->rows, bias_row(s), s->grad + s->core->p->batch * s->rows.width);
  lgv__lazy_rows_end(&s->rows);
}

/* ---- statistics ---- */

/* Of the last copy, as c->grad is. */
static double gradient_squares(const sparse_first *s) {
  const float *grad = s->grad + s->rows.width - s->units;
  double sum = lgv__dqn_squares(grad + s->core->p->batch * s->rows.width, s->units);
  for (int64_t i = 0; i < s->learned; i++)
    sum += lgv__dqn_squares(grad + i * s->rows.width, s->units);
  return sum;
}

static int64_t dead_units(const sparse_first *s) {
  const float *x = of_copy(s, s->x, s->core->sizes.copies - 1);
  int64_t dead = 0;
  for (int64_t j = 0; j < s->units; j++) {
    int64_t i = 0;
    while (i < s->learned && !(x[i * s->units + j] > 0)) i++;
    dead += i == s->learned;
  }
  return dead;
}

/* Rows count as they are stored, without the steps that they have yet to make up for. */
void lgv__sparse_first_watch(sparse_first *s) {
  dqn *c = s->core;
  if ((c->count[DQN_UPDATES] - 1) % DQN_WATCH_EVERY != 0) return;
  double *stat = c->stat, units = 0;
  for (int32_t l = 0; l < c->net.n_layers - 1; l++) units += (double)c->net.layer[l].outputs;
  double dead = units * lgv__net_dead_share(&c->net, &c->tape, s->learned) + (double)dead_units(s);
  stat[DQN_STAT_GRAD_NORM] = lgv__hypot(stat[DQN_STAT_GRAD_NORM], sqrt(gradient_squares(s)));
  stat[DQN_STAT_WEIGHT_NORM] = lgv__hypot(
      stat[DQN_STAT_WEIGHT_NORM], sqrt(lgv__dqn_squares(s->rows.w, s->rows.rows * s->rows.width)));
  stat[DQN_STAT_DEAD] = dead / (units + (double)s->units);
}
