#include "agent/deep/random_prior.h"

#include "math/kernels.h"
#include "nn/layers.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Indices run from -1 to inputs - 1 (one-hot) or from 0 to inputs (thermometer). */
static int64_t observations(const random_prior *r) { return r->net.layer[0].inputs + 1; }

static int32_t first_index(const random_prior *r) {
  return r->net.shape.obs_form == LGV_FORM_ONE_HOT ? -1 : 0;
}

void lgv__random_prior_layout(random_prior *r, const net_shape *shape, int64_t copies,
                              int64_t batch, double scale, lgv_layout *layout) {
  lgv_status built = lgv__net_build(&r->net, shape, NULL); /* its trained twin could be built */
  assert(built == LGV_OK);
  (void)built;
  r->copies = copies;
  r->scale = (float)scale;
  r->w = r->table = NULL;
  if (scale == 0) return;
  size_t params = (size_t)r->net.params;
  if (net_takes_index(&r->net)) {
    size_t values = (size_t)(observations(r) * copies * shape->outputs);
    r->w = lgv_layout_array(layout, "prior.w", LGV_F32, params, LGV_SCRATCH);
    r->table = lgv_layout_array(layout, "prior", LGV_F32, values, LGV_KEEP);
  } else {
    r->w = lgv_layout_array(layout, "prior", LGV_F32, (size_t)copies * params, LGV_KEEP);
  }
  lgv_layout_check(layout, lgv__net_tiles_forget, &r->tiles);
  lgv__net_tiles_layout(&r->tiles, &r->net, "prior_tiles", false, layout);
  lgv__net_tape_layout_with(&r->tape, &r->net, "prior_tape", batch, false, &r->tiles, layout);
}

static void draw(const random_prior *r, float *w, lgv_rng *init) {
  const net_layer *first = &r->net.layer[0];
  float scale = r->net.shape.obs_form == LGV_FORM_ONE_HOT ? sqrtf((float)first->inputs) : 1;
  lgv__net_init(&r->net, w, init);
  for (int64_t i = 0; i < first->n_weights; i++) w[first->weights + i] *= scale;
}

/* One batch of observations after the other. */
static void tabulate(random_prior *r, int64_t copy) {
  enum { MOST = 256 };
  int32_t index[MOST];
  int64_t n = r->net.shape.outputs, all = observations(r);
  int64_t most = r->tape.batch < MOST ? r->tape.batch : MOST;
  for (int64_t begin = 0; begin < all; begin += most) {
    int64_t rows = all - begin < most ? all - begin : most;
    for (int64_t i = 0; i < rows; i++) index[i] = (int32_t)(begin + i) + first_index(r);
    const float *p = lgv__net_forward(&r->net, r->w, (net_input){.index = index}, rows, &r->tape);
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < n; j++)
        r->table[((begin + i) * r->copies + copy) * n + j] = r->scale * p[i * n + j];
  }
}

void lgv__random_prior_open(random_prior *r, lgv_rng *init) {
  for (int64_t copy = 0; r->w && copy < r->copies; copy++) {
    draw(r, r->table ? r->w : r->w + copy * r->net.params, init);
    lgv__net_tiles_changed(&r->tiles, NULL);
    if (r->table) tabulate(r, copy);
  }
}

void lgv__random_prior_values(random_prior *r, int64_t copy, net_input input, int64_t rows,
                              float *out) {
  int64_t n = r->net.shape.outputs;
  if (!r->w) {
    memset(out, 0, (size_t)(rows * n) * sizeof *out);
  } else if (r->table) {
    for (int64_t i = 0; i < rows; i++)
      memcpy(out + i * n, r->table + ((input.index[i] - first_index(r)) * r->copies + copy) * n,
             (size_t)n * sizeof *out);
  } else {
    const float *p = lgv__net_forward(&r->net, r->w + copy * r->net.params, input, rows, &r->tape);
    for (int64_t i = 0; i < rows * n; i++) out[i] = r->scale * p[i];
  }
}
