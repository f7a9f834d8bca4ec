/* The memory of a pass. */
#include "nn/blocks.h"
#include "nn/layers.h"

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static float *floats(lgv_layout *layout, const char *name, int64_t count) {
  return count > 0 ? lgv_layout_array(layout, name, LGV_F32, (size_t)count, LGV_SCRATCH) : NULL;
}

/* The most scratch that any layer needs in the forward pass, or in both passes; the layers share
 * it. */
static int64_t scratch_size(const net *n, int64_t batch, bool with_backward) {
  int64_t size = net_takes_index(n) ? lgv__layer_index_scratch(&n->layer[0], n->shape.obs_form) : 0;
  int64_t taus = n->shape.taus;
  for (int32_t l = 0; l < n->n_layers && with_backward; l++) {
    const net_layer *layer = &n->layer[l];
    if ((l == 0 && net_takes_index(n)) || lgv__net_uses_blocks(n, l)) continue;
    size = most(size, layer->kernel ? layer->n_weights
                                    : lgv__layer_dense_scratch(layer, net_rows(n, l, batch, taus)));
  }
  return size;
}

static void place_convolutions(net_tape *tape, const net *n, const char *name, lgv_layout *layout) {
  for (int32_t l = 0; l < n->n_layers && n->layer[l].kernel; l++) {
    const net_layer *layer = &n->layer[l];
    conv_places *places = &tape->places[l];
    if (lgv__net_uses_blocks(n, l)) continue;
    places->group = lgv__layer_conv_group(layer);
    size_t corners = (size_t)(places->group * net_layer_places(layer));
    places->corner = lgv_layout_array(layout, name, LGV_I32, corners, LGV_SCRATCH);
    places->window =
        lgv_layout_array(layout, name, LGV_I32, (size_t)lgv__layer_conv_window(layer), LGV_SCRATCH);
    if (places->corner && places->window) lgv__layer_conv_locate(layer, places);
  }
}

/* Returns the length of the longest array of derivatives. */
static int64_t place_activations(net_tape *tape, const net *n, const char *name, bool with_backward,
                                 lgv_layout *layout) {
  int64_t longest = 0;
  for (int32_t l = 0; l < n->n_layers; l++) {
    int64_t rows = net_rows(n, l, tape->batch, n->shape.taus);
    int64_t length = rows * net_layer_length(&n->layer[l]);
    tape->activation[l] = floats(layout, name, length);
    if (l < n->n_hidden) longest = most(longest, length);
    if (!n->layer[l].normalized || !with_backward) continue;
    tape->normalized[l] = floats(layout, name, length);
    tape->norm_scale[l] = floats(layout, name, rows);
  }
  if (n->joins == 0) return longest;
  int64_t joined = tape->batch * net_join_length(n);
  tape->joined = floats(layout, name, joined);
  return most(longest, joined);
}

/* Converted inputs, except those that a convolution in bf16 converts row by row. */
static int64_t input_size(const net_tape *tape, const net *n) {
  if (!net_converts_input(n)) return 0;
  if (!n->layer[0].kernel) return tape->batch * net_input_row(n);
  return lgv__net_uses_blocks(n, 0) ? 0 : tape->places[0].group * net_input_row(n);
}

static void place_blocks(net_tape *tape, const net *n, const char *name, bool with_backward,
                         net_tiles *tiles, lgv_layout *layout) {
  if (!lgv__net_has_blocks(n)) return;
  tape->tiles = tiles ? tiles : &tape->own_tiles;
  if (!tiles) lgv__net_tiles_layout(&tape->own_tiles, n, name, with_backward, layout);
  lgv__block_layout(tape, n, name, with_backward, layout);
}

void lgv__net_tape_layout(net_tape *tape, const net *n, const char *name, int64_t batch,
                          bool with_backward, lgv_layout *layout) {
  lgv__net_tape_layout_with(tape, n, name, batch, with_backward, NULL, layout);
}

void lgv__net_tape_layout_with(net_tape *tape, const net *n, const char *name, int64_t batch,
                               bool with_backward, net_tiles *tiles, lgv_layout *layout) {
  *tape = (net_tape){.batch = batch, .taus = 1};
  int64_t taus = n->shape.taus, rows = net_rows(n, n->n_layers, batch, taus);
  int64_t longest = place_activations(tape, n, name, with_backward, layout);
  if (n->embedding) {
    tape->cosine = floats(layout, name, rows * n->layer[n->embedding].inputs);
    tape->psi = floats(layout, name, rows * n->layer[n->embedding].outputs);
  }
  place_convolutions(tape, n, name, layout);
  tape->input = floats(layout, name, input_size(tape, n));
  place_blocks(tape, n, name, with_backward, tiles, layout);
  tape->scratch = floats(layout, name, scratch_size(n, batch, with_backward));
  for (int i = 0; i < 2 && with_backward; i++) tape->delta[i] = floats(layout, name, longest);
  if (!n->shape.dueling || !with_backward) return;
  tape->d_value = floats(layout, name, rows * n->layer[n->n_layers - 2].outputs);
  tape->d_advantage = floats(layout, name, rows * n->shape.outputs);
}
