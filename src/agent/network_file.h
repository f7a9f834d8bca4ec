/* The network of an agent up to its last hidden layer, in one safetensors file: lgv_agent_export
 * writes it, the feature map `network` reads it.
 *
 * The file has everything that a pass needs and nothing else: the observations that the network
 * reads, its layers, how inputs are scaled, and the parameters below the output layer. The two
 * streams of a dueling network are one layer here. */
#ifndef LGV_AGENT_NETWORK_FILE_H
#define LGV_AGENT_NETWORK_FILE_H

#include "agent/builtin.h"
#include "base/arena.h"
#include "nn/net.h"

/* The shape of a network as numbers: single ones, three per convolution, and hidden layers, their
 * number first. */
enum {
  NETWORK_KIND,
  NETWORK_FORM,
  NETWORK_HEIGHT,
  NETWORK_WIDTH,
  NETWORK_CHANNELS,
  NETWORK_VECTOR,
  NETWORK_FAMILY,
  NETWORK_LAYER_NORM,
  NETWORK_PRECISION,
  NETWORK_MAPS_INPUT,
  NETWORK_CONVS,
  NETWORK_CONV,
  NETWORK_HIDDEN = NETWORK_CONV + 3 * NET_MOST_CONVS,
  NETWORK_NUMBERS = NETWORK_HIDDEN + 1 + LGV_INTS_MAX
};

typedef struct network_numbers {
  int32_t value[NETWORK_NUMBERS];
} network_numbers;

typedef struct network_file {
  network_numbers numbers;
  float scales[2]; /* of inputs: their factor, and where mapped ones are cut */
  lgv_list params; /* floats, below the output layer */
  lgv_list map;    /* floats: shift, then gain, of every input; empty: input_scale applies */
} network_file;

/* Refuses a policy that is no single network with a hidden layer, and to replace a file that holds
 * something else than a network. who: the agent's name. */
LGV_CHECK lgv_status lgv__network_file_write(const char *path, const lgv_policy_parts *parts,
                                             const char *who, lgv_error *err);
/* Whatever the outcome, the file is to be freed. */
LGV_CHECK lgv_status lgv__network_file_read(const char *path, network_file *file, lgv_error *err);
void lgv__network_file_free(network_file *file);
/* The network of such numbers, with one unused output. */
LGV_CHECK lgv_status lgv__network_build(const network_numbers *numbers, const float *scales, net *n,
                                        lgv_error *err);
/* The parameters below its output layer. */
int64_t lgv__network_hidden_params(const net *n);

#endif
