/* Networks: an immutable shape, one flat parameter vector, and tapes that hold the activations of a
 * batch.
 *
 * Two families: an MLP of any depth and width, and the convolutional network of Mnih et al. (2015)
 * for images. The output layer is linear; heads (ensemble members, atoms, quantiles) are groups of
 * its outputs, which the agents interpret. Parameters are stored layer by layer, weights (inputs x
 * outputs, row-major: a row holds the weights of one input) before biases.
 *
 * A network with an embedding (Dabney et al., 2018b) takes several numbers tau with every
 * observation and has outputs for each: the features of the observation, which the convolutions
 * compute (in an MLP: all hidden layers but the last, at least one), are multiplied, unit by unit,
 * by the output of a dense layer whose inputs are cos(pi i tau); the layers above see batch x taus
 * rows.
 *
 * A network owns no parameters: an online and a target network are two vectors for one shape.
 *
 * Invariants: the forward pass writes only the tape; the backward pass overwrites grad and does not
 * add to it. */
#ifndef LGV_NN_NET_H
#define LGV_NN_NET_H

#include "langevin.h"

enum { NET_AUTO, NET_MLP, NET_NATURE };
enum { NET_MOST_LAYERS = LGV_INTS_MAX + 5 };

typedef struct net_shape {
  int32_t family; /* NET_AUTO: NET_NATURE for dense images of bytes, else NET_MLP */
  lgv_obs_kind obs_kind;
  lgv_obs_form obs_form;
  int32_t obs_shape[3]; /* (height, width, channels), or (length, 1, 1) */
  lgv_ints hidden;      /* widths of the hidden dense layers; NATURE: of the dense layers after the
                           convolutions, 512 if empty */
  int32_t outputs;
  bool shared_bias;  /* the output layer has one bias for all outputs */
  float input_scale; /* multiplies every input */
  bool maps_input;   /* in place of that, net_input.map maps dense inputs */
  int32_t cosines;   /* i = 1..cosines of the embedding; 0: there is none */
  int32_t taus;      /* the most per observation */
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
  const float *tau;     /* (batch x taus): of networks with an embedding */
  int64_t taus;
  net_map map; /* of networks with maps_input */
} net_input;

typedef struct net_layer {
  int64_t inputs, outputs;                            /* dense: units; conv: channels */
  int64_t weights, biases;                            /* offsets into the parameter vector */
  int64_t n_weights, n_biases;                        /* n_biases: 1 if they are shared */
  int32_t kernel, stride;                             /* conv; kernel = 0 for dense layers */
  int32_t in_height, in_width, out_height, out_width; /* conv */
} net_layer;

typedef struct net {
  net_shape shape;
  net_layer layer[NET_MOST_LAYERS];
  int32_t n_layers;
  int32_t embedding; /* the layer that multiplies the output of the layer below; 0: there is none */
  int64_t params;    /* length of the parameter vector */
} net;

enum { NET_CONVOLUTIONS = 3 };

/* Offsets into an image; see layer_conv.c. */
typedef struct conv_places {
  int64_t group;   /* images per product */
  int32_t *corner; /* (group x places): the first element of each place's window */
  int32_t *window; /* (kernel x kernel x inputs): the elements of a window, relative to its first */
} conv_places;

/* The activations of a batch. */
typedef struct net_tape {
  int64_t batch; /* the most samples it can hold */
  /* (batch x outputs) per layer, after the rectifier; the last layer is linear. From an embedding
   * on: (batch x taus x outputs). */
  float *activation[NET_MOST_LAYERS];
  float *delta[2]; /* scratch of the backward pass; NULL for forward-only tapes */
  float *scratch;  /* scratch of the layers; NULL if none needs it */
  float *input;    /* converted or scaled inputs: of an MLP all (batch x length), of images a group
                      (group x length); else NULL */
  conv_places places[NET_CONVOLUTIONS];
  int64_t taus;  /* of the last forward pass; 1 without an embedding */
  float *cosine; /* (batch x taus x cosines) */
  float *psi;    /* (batch x taus x units): the factors of the embedding */
} net_tape;

/* Computes layers and sizes. Fails if an image is too small for the convolutions, or a width is
 * invalid. */
LGV_CHECK lgv_status lgv__net_build(net *n, const net_shape *shape, lgv_error *err);
/* PyTorch's default: weights and biases uniform in +-1/sqrt(fan_in). */
void lgv__net_init(const net *n, float *params, lgv_rng *rng);
/* The name must outlive the layout. Without with_backward the tape serves forward passes only. */
void lgv__net_tape_layout(net_tape *tape, const net *n, const char *name, int64_t batch,
                          bool with_backward, lgv_layout *layout);
/* Returns the outputs, (batch x outputs) or (batch x taus x outputs), which are part of the tape.
 */
const float *lgv__net_forward(const net *n, const float *params, net_input input, int64_t batch,
                              net_tape *tape);
/* grad = d loss / d params for d loss / d outputs = d_outputs (batch x outputs), after a forward
 * pass of the same batch. core_scale multiplies the gradient of everything below the output layer
 * (1/K for an ensemble of K heads). */
void lgv__net_backward(const net *n, const float *params, net_input input, int64_t batch,
                       net_tape *tape, const float *d_outputs, float core_scale, float *grad);
/* The fraction of hidden units that were 0 for every sample of the last forward pass. A unit of a
 * convolution is a channel, which counts as 0 if it is 0 at every place. */
double lgv__net_dead_share(const net *n, const net_tape *tape, int64_t batch);

#endif
