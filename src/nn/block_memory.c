/* The memory of block products: lists of their steps, which depend on the layer alone, and room for
 * tiles. */
#include "nn/block_places.h"
#include "nn/layers.h"

static int64_t count_pairs(const block_form *f, const net_layer *layer) {
  return count_places(&f->out) * f->pixel_taps * block_count(layer->outputs);
}

static int32_t *list(lgv_layout *layout, const char *name, int64_t count) {
  return lgv_layout_array(layout, name, LGV_I32, (size_t)count, LGV_SCRATCH);
}

static void list_forward(const block_form *f, block_lists *lists) {
  int64_t blocks = block_count(f->in.width);
  for (int64_t s = 0; s < f->taps * blocks; s++) {
    lists->forward_a[s] = (int32_t)((tap_place(f, s / blocks) * blocks + s % blocks) * BLOCK_PAIR);
    lists->forward_b[s] = (int32_t)(s * BLOCK_PAIR);
  }
}

static void list_weights(const block_form *f, int64_t groups, block_lists *lists) {
  int64_t places = count_places(&f->out);
  int64_t out_pair = block_count(f->out.width) * BLOCK_PAIR;
  for (int64_t i = 0; i < groups * places; i++) {
    int64_t g = i / places, p = i % places;
    lists->weights_a[i] =
        (int32_t)(g * turned_size(&f->in) + place_at(&f->in, corner(f, p)) * BLOCK_SIDE);
    lists->weights_b[i] = (int32_t)(g * block_view_size(&f->out) + p * out_pair);
  }
}

/* The output place that meets pixel (y, x) by tap (ty, tx), or -1. */
static int64_t place_over(const net_layer *l, int64_t y, int64_t x, int64_t ty, int64_t tx) {
  int64_t stride = l->stride, top = y - ty, left = x - tx;
  if (top < 0 || left < 0 || top % stride || left % stride) return -1;
  bool inside = top / stride < l->out_height && left / stride < l->out_width;
  return inside ? top / stride * l->out_width + left / stride : -1;
}

static void list_inputs(const block_form *f, const net_layer *l, block_lists *lists) {
  int64_t blocks = block_count(l->outputs), count = 0;
  for (int64_t q = 0; q < count_places(&f->pixels); q++) {
    for (int64_t t = 0; t < f->pixel_taps; t++) {
      int64_t p =
          l->kernel ? place_over(l, q / l->in_width, q % l->in_width, t / l->kernel, t % l->kernel)
                    : 0;
      for (int64_t b = 0; p >= 0 && b < blocks; b++, count++) {
        lists->inputs_a[count] = (int32_t)((p * blocks + b) * BLOCK_PAIR);
        lists->inputs_b[count] = (int32_t)((t * blocks + b) * BLOCK_PAIR);
      }
    }
    lists->inputs_end[q] = (int32_t)count;
  }
}

static void layout_lists(const net *n, int32_t l, const char *name, int64_t rows, bool backward,
                         block_lists *lists, lgv_layout *layout) {
  const net_layer *layer = &n->layer[l];
  block_form f = lgv__block_form(layer);
  int64_t steps = f.taps * block_count(f.in.width), groups = groups_of(&f, rows);
  lists->forward_a = list(layout, name, steps);
  lists->forward_b = list(layout, name, steps);
  if (lists->forward_a) list_forward(&f, lists);
  if (!backward) return;
  lists->weights_a = list(layout, name, groups * count_places(&f.out));
  lists->weights_b = list(layout, name, groups * count_places(&f.out));
  lists->inputs_a = list(layout, name, count_pairs(&f, layer));
  lists->inputs_b = list(layout, name, count_pairs(&f, layer));
  lists->inputs_end = list(layout, name, count_places(&f.pixels));
  if (!lists->inputs_end) return;
  list_weights(&f, groups, lists);
  list_inputs(&f, layer, lists);
}

typedef struct needs {
  int64_t a, b, c;
} needs;

static needs needs_of(const net *n, int32_t l, int64_t rows, bool backward) {
  const net_layer *layer = &n->layer[l];
  block_form f = lgv__block_form(layer);
  int64_t groups = groups_of(&f, rows), all = (rows + BLOCK_SIDE - 1) / BLOCK_SIDE;
  int64_t blocks = f.taps * block_count(f.in.width) * block_count(layer->outputs);
  bool whole = rows >= FEW_SAMPLES || !layer->kernel || backward;
  return (needs){.a = most(whole ? groups * input_size(&f) : 0,
                           layer->kernel ? patch_count(&f) * patch_size(&f) : 0),
                 .b = backward ? groups * block_view_size(&f.out) : 0,
                 .c = backward && all > groups ? blocks * BLOCK_SIDE * BLOCK_SIDE : 0};
}

static uint16_t *tiles(lgv_layout *layout, const char *name, int64_t count) {
  return lgv_layout_array(layout, name, LGV_U8, (size_t)count * sizeof(lgv_bf16), LGV_SCRATCH);
}

void lgv__block_layout(net_tape *tape, const net *n, const char *name, bool with_backward,
                       lgv_layout *layout) {
  block_scratch *s = &tape->blocks;
  needs all = {0};
  for (int32_t l = 0; l < n->n_layers; l++) {
    if (!lgv__net_uses_blocks(n, l)) continue;
    int64_t rows = net_rows(n, l, tape->batch, n->shape.taus);
    needs own = needs_of(n, l, rows, with_backward);
    all = (needs){most(all.a, own.a), most(all.b, own.b), most(all.c, own.c)};
    layout_lists(n, l, name, rows, with_backward, &s->lists[l], layout);
  }
  bool split = n->shape.precision == NET_BF16X3;
  s->a_lo = split ? all.a : 0;
  s->b_lo = split ? all.b : 0;
  s->a = tiles(layout, name, all.a + s->a_lo);
  s->b = all.b ? tiles(layout, name, all.b + s->b_lo) : NULL;
  s->c = all.c ? lgv_layout_array(layout, name, LGV_F32, (size_t)all.c, LGV_SCRATCH) : NULL;
  if (!n->layer[0].kernel || !net_converts_input(n)) return;
  int64_t row = net_obs_length(n) / n->layer[0].in_height;
  s->input = lgv_layout_array(layout, name, LGV_F32,
                              (size_t)most(BLOCK_SIDE * row, net_obs_length(n)), LGV_SCRATCH);
  s->row = tiles(layout, name, (split ? 2 : 1) * BLOCK_SIDE * row);
}
