/* Networks: an immutable shape, one flat parameter vector, and tapes that hold the activations of a
 * batch.
 *
 * Two families: an MLP of any depth and width, and convolutions followed by dense layers, for
 * pictures; the network of Mnih et al. (2015) is one list of convolutions. The output layer is
 * linear; heads (ensemble members, atoms, quantiles) are groups of its outputs, which the agents
 * interpret: (heads x actions x atoms).
 *
 * Parameters are stored layer by layer: weights (inputs x outputs, row-major: a row holds the
 * weights of one input; a convolution's inputs are kernel x kernel x channels), biases and, in
 * normalized layers, gains and shifts.
 *
 * A vector that accompanies a picture joins behind the convolutions: the first dense layer takes
 * the outputs of the last convolution, then the vector. An MLP takes the picture, then the vector.
 *
 * Layer normalization (Ba et al., 2016) normalizes all units of a hidden layer for one sample, a
 * convolution's over places and channels together, between the linear map and the rectifier, with a
 * gain and a shift per unit (per channel). The output layers and the embedding are not normalized.
 *
 * A dueling network (Wang et al., 2016) has a last hidden layer of twice the width and two output
 * layers. Its first half leads to V (heads x atoms), its second half to A (heads x actions x
 * atoms), and the outputs are
 *     Q = V + A - mean of A over the actions,
 * per head and atom; if an action has several parts, the mean is taken within each part. Departure:
 * gradients of the two streams are not rescaled by 1 / sqrt(2).
 *
 * A network with an embedding (Dabney et al., 2018b) takes several numbers tau with every
 * observation and has outputs for each: the features of the observation, which the convolutions
 * compute (in an MLP: all hidden layers but the last, at least one), are multiplied, unit by unit,
 * by the output of a dense layer whose inputs are cos(pi i tau); the layers above see batch x taus
 * rows. A vector behind the convolutions is part of the features.
 *
 * In the precisions of bf16, the products of hidden layers are made of tiles (blocks.h). The output
 * layers, and a first layer whose inputs are an index, stay in float.
 *
 * A network owns no parameters: an online and a target network are two vectors for one shape.
 *
 * Invariants: the forward pass writes only the tape; the backward pass overwrites grad and does not
 * add to it. */
#ifndef LGV_NN_NET_H
#define LGV_NN_NET_H

#include "langevin.h"

enum { NET_AUTO, NET_MLP, NET_CONV, NET_NATURE };
/* Of the products of hidden layers (blocks.h): float; bf16 with both factors split into a high and
 * a low part; bf16. */
enum { NET_FLOAT, NET_BF16X3, NET_BF16 };
enum {
  NET_MOST_CONVS = 8,
  NET_MOST_LAYERS = NET_MOST_CONVS + LGV_INTS_MAX + 3 /* the embedding, V and A */
};

/* A list of convolutions, written 16x3s1,32x3s1: width x kernel s stride. */
typedef struct net_convs {
  int32_t count;
  struct {
    int32_t width, kernel, stride;
  } conv[NET_MOST_CONVS];
} net_convs;

typedef struct net_shape {
  int32_t
      family; /* NET_AUTO: NET_CONV if `convs` is given; else by the observations: NET_NATURE
                 for large pictures, NET_CONV for smaller ones of at least 5 x 5, else NET_MLP */
  lgv_obs_kind obs_kind;
  lgv_obs_form obs_form;
  int32_t obs_shape[3]; /* (height, width, channels), or (length, 1, 1) */
  int32_t vector;       /* floats that accompany a picture */
  net_convs convs;      /* of NET_CONV; empty: 16x3s1,32x3s1, or 32x5s5,64x5s5 for large
                         * pictures. NET_NATURE has its own */
  lgv_ints hidden;      /* widths of the hidden dense layers. {0}: 32,32 in an MLP, 128 in NET_CONV,
                           512 in NET_NATURE; an empty list: likewise, but an MLP has none */
  int32_t outputs;      /* heads x actions x atoms */
  int32_t heads, atoms; /* 0: 1; `dueling` needs them */
  int32_t parts;        /* of an action; 0: 1. `dueling` needs them */
  int32_t part_sizes[LGV_MOST_PARTS]; /* with several parts: choices, which sum up to the actions */
  bool layer_norm, dueling;
  bool shared_bias;  /* the output layer has one bias for all outputs */
  float input_scale; /* multiplies every input, except for a vector beside a picture */
  bool maps_input;   /* in place of that, net_input.map maps dense inputs */
  int32_t cosines;   /* i = 1..cosines of the embedding; 0: there is none */
  int32_t taus;      /* the most per observation */
  int32_t precision; /* NET_FLOAT, ... */
} net_shape;

/* A float x becomes (x - shift) gain, cut to [-clip, clip], and a byte x becomes gain x. */
typedef struct net_map {
  const float *shift, *gain; /* (inputs), in the order of the observation; NULL: there is no map */
  float clip;
} net_map;

/* The observations of a batch, as the replay encodes them. Exactly one of dense, bytes and index is
 * used. */
typedef struct net_input {
  const float *dense;   /* (batch x length): LGV_FORM_DENSE floats */
  const uint8_t *bytes; /* (batch x height x width x channels): images */
  const int32_t *index; /* (batch): LGV_FORM_ONE_HOT: the position of the one, -1 if there is none;
                         *          LGV_FORM_THERMOMETER: how many leading ones */
  /* Of networks with a vector: the first sample's. The samples, of pictures and vectors alike, are
   * `stride` bytes apart. */
  const float *vector;
  int64_t stride;
  const float *tau; /* (batch x taus): of networks with an embedding */
  int64_t taus;
  net_map map; /* of networks with maps_input */
} net_input;

typedef enum layer_kind {
  LAYER_DENSE,     /* hidden, or the output layer */
  LAYER_CONV,      /* hidden */
  LAYER_EMBEDDING, /* of tau; multiplies the output of the layer below */
  LAYER_VALUE,     /* V and A of a dueling network: the last two layers */
  LAYER_ADVANTAGE,
} layer_kind;

typedef struct net_layer {
  layer_kind kind;
  bool hidden;                 /* ends with the rectifier */
  bool normalized;             /* before the rectifier; has gains and shifts */
  int64_t inputs, outputs;     /* dense: units; conv: channels */
  int64_t in_row, in_first;    /* a sample's inputs begin at in_first in its row of in_row numbers:
                                  V and A take one half each, others all */
  int64_t weights, biases;     /* offsets into the parameter vector */
  int64_t gains, shifts;       /* likewise; (outputs) each, of normalized layers */
  int64_t n_weights, n_biases; /* n_biases: 1 if they are shared */
  int64_t n_params;            /* all of these */
  int32_t kernel, stride;      /* conv; kernel = 0 for other layers */
  int32_t in_height, in_width, out_height, out_width; /* conv */
} net_layer;

typedef struct net {
  net_shape shape;
  net_layer layer[NET_MOST_LAYERS];
  int32_t n_layers;
  int32_t n_hidden;  /* the layers below the output layer, or below V and A */
  int32_t embedding; /* the layer that multiplies the output of the layer below; 0: there is none */
  int32_t joins;  /* the layer whose inputs end with the vector; 0: none, or the first of an MLP */
  int64_t params; /* length of the parameter vector */
} net;

/* Offsets into an image; see layer_conv.c. */
typedef struct conv_places {
  int64_t group;   /* images per product */
  int32_t *corner; /* (group x places): the first element of each place's window */
  int32_t *window; /* (kernel x kernel x inputs): the elements of a window, relative to its first */
} conv_places;

/* The weights of hidden layers as tiles of bf16, for one parameter vector at a time; see blocks.h.
 * Whoever changes parameters calls lgv__net_tiles_changed. */
typedef struct net_tiles {
  const float *params; /* whose tiles these are; NULL: nobody's */
  const bool *exposed; /* true: anybody may write parameters, so every pass makes tiles; or NULL */
  uint64_t made[2];    /* bit l: those of layer l exist, for the forward and the backward pass */
  uint16_t *tiles[2][NET_MOST_LAYERS];
} net_tiles;

/* Lists of the steps of a layer's block products, as offsets into tiles. */
typedef struct block_lists {
  int32_t *forward_a, *forward_b; /* (taps x input blocks), from an output place's corner */
  int32_t *weights_a, *weights_b; /* (groups x output places) */
  int32_t *inputs_a, *inputs_b, *inputs_end; /* inputs_end (pixels): where the steps of each end */
} block_lists;

typedef struct block_scratch {
  uint16_t *a, *b;    /* tiles of bf16 */
  int64_t a_lo, b_lo; /* where the low parts begin; 0: there are none */
  float *c;           /* blocks of dW, if a layer needs several turns; else NULL */
  float *input;       /* converted observations: a row of a group, or one */
  uint16_t *row;      /* such a row in bf16 */
  block_lists lists[NET_MOST_LAYERS];
} block_scratch;

/* The activations of a batch. */
typedef struct net_tape {
  int64_t batch; /* the most samples it can hold */
  /* (batch x outputs) per layer, after the rectifier; the output layer is linear. From an embedding
   * on: (batch x taus x outputs). Of a dueling network, the last ones are V and Q. */
  float *activation[NET_MOST_LAYERS];
  /* Of normalized layers: (batch x outputs), and (batch) factors; NULL for forward-only tapes. */
  float *normalized[NET_MOST_LAYERS], *norm_scale[NET_MOST_LAYERS];
  float *joined;   /* (batch x inputs of the layer that a vector joins); else NULL */
  float *delta[2]; /* scratch of the backward pass; NULL for forward-only tapes */
  float *d_value;  /* (batch x V), and (batch x A): likewise, of dueling networks */
  float *d_advantage;
  float *scratch; /* scratch of the layers; NULL if none needs it */
  float *input;   /* converted or scaled inputs: of an MLP all (batch x inputs), of images a group
                     (group x length); else NULL */
  conv_places places[NET_MOST_CONVS];
  int64_t taus;         /* of the last forward pass; 1 without an embedding */
  float *cosine;        /* (batch x taus x cosines) */
  float *psi;           /* (batch x taus x units): the factors of the embedding */
  block_scratch blocks; /* of networks in bf16 */
  net_tiles *tiles;     /* likewise; NULL: own_tiles, made anew in every pass */
  net_tiles own_tiles;
} net_tape;

/* Reads and writes a list of convolutions; an empty text is an empty list. The message says what is
 * wrong in `text` and what is allowed. */
LGV_CHECK lgv_status lgv__net_parse_convs(const char *text, net_convs *convs, lgv_error *err);
void lgv__net_format_convs(const net_convs *convs, char *text, size_t size);

/* Computes layers and sizes; n->shape is *shape with the family, the convolutions and the hidden
 * layers chosen. Fails if a picture is too small for the convolutions, or a width is invalid. */
LGV_CHECK lgv_status lgv__net_build(net *n, const net_shape *shape, lgv_error *err);
/* PyTorch's default: weights and biases uniform in +-1/sqrt(fan_in), gains 1, shifts 0. */
void lgv__net_init(const net *n, float *params, lgv_rng *rng);
/* The name must outlive the layout. Without with_backward the tape serves forward passes only. */
void lgv__net_tape_layout(net_tape *tape, const net *n, const char *name, int64_t batch,
                          bool with_backward, lgv_layout *layout);
/* The same for a network in bf16 whose tiles several passes share (in float they are ignored). */
void lgv__net_tape_layout_with(net_tape *tape, const net *n, const char *name, int64_t batch,
                               bool with_backward, net_tiles *tiles, lgv_layout *layout);
/* Memory for the tiles of one parameter vector at a time; none in float. */
void lgv__net_tiles_layout(net_tiles *tiles, const net *n, const char *name, bool with_backward,
                           lgv_layout *layout);
/* These parameters have changed (NULL: any may have), so their tiles are made anew. */
void lgv__net_tiles_changed(net_tiles *tiles, const float *params);
/* A check of lgv_layout_check that never fails, for the array of the parameters: whatever a loaded
 * file has put there, it is new. */
const char *lgv__net_tiles_forget(const void *tiles);
/* Whether any of its products is in bf16: others have no hidden products. */
bool lgv__net_has_blocks(const net *n);
/* Returns the outputs, (batch x outputs) or (batch x taus x outputs), which are part of the tape.
 */
const float *lgv__net_forward(const net *n, const float *params, net_input input, int64_t batch,
                              net_tape *tape);
/* grad = d loss / d params for d loss / d outputs = d_outputs (batch x outputs), after a forward
 * pass of the same batch. core_scale multiplies the gradient of everything below the output layer
 * (1/K for an ensemble of K heads). */
void lgv__net_backward(const net *n, const float *params, net_input input, int64_t batch,
                       net_tape *tape, const float *d_outputs, float core_scale, float *grad);
/* d_inputs (batch x count) = d loss / d the last `count` inputs of the layer that a vector joins
 * (of an MLP: of its first layer), for networks without an embedding. Nothing is computed for the
 * parameters. scratch: (count x outputs of that layer). */
void lgv__net_backward_inputs(const net *n, const float *params, int64_t batch, net_tape *tape,
                              const float *d_outputs, int64_t count, float *scratch,
                              float *d_inputs);
/* Keeps these rows of the last forward pass, which ascend: they become the first ones. A
 * lgv__net_backward_inputs of `count` samples may follow, but no lgv__net_backward. */
void lgv__net_keep_rows(const net *n, net_tape *tape, const int32_t *rows, int64_t count);
/* The fraction of hidden units that were 0 for every sample of the last forward pass. A unit of a
 * convolution is a channel, which counts as 0 if it is 0 at every place. */
double lgv__net_dead_share(const net *n, const net_tape *tape, int64_t batch);

#endif
