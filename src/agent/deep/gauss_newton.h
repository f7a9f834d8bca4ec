/* The gradient of a sum of squares together with the diagonal of its Gauss-Newton matrix, for an
 * MLP over sparse observations with one output, Q_i = Q(s_i):
 *
 *     gradient  += sum over i of slope_i  dQ_i/dw
 *     curvature += sum over i of weight_i (dQ_i/dw)^2
 *
 * One backward pass from 1 at the outputs gives delta_i of every layer; with the activations x_i
 * that a dense layer saw, dQ_i/dW = x_i delta_i^T, so both sums are matrix products: of x with
 * slope delta, and of x^2 with weight delta^2. */
#ifndef LGV_AGENT_DEEP_GAUSS_NEWTON_H
#define LGV_AGENT_DEEP_GAUSS_NEWTON_H

#include "nn/net.h"

typedef struct gauss_newton {
  const net *net;
  int64_t batch;                             /* the most samples at a time */
  float *delta[2];                           /* (batch x widest layer) */
  float *scaled, *squared_x, *squared_delta; /* (batch x widest layer) */
  float *transposed;                         /* of the largest hidden weight matrix */
} gauss_newton;

void lgv__gauss_newton_layout(gauss_newton *g, const net *n, int64_t batch, lgv_layout *layout);
/* After a forward pass of `rows` samples that left its activations on the tape. */
void lgv__gauss_newton_add(gauss_newton *g, const float *params, const net_tape *tape,
                           const int32_t *index, const float *slope, const float *weight,
                           int64_t rows, float *gradient, float *curvature);

#endif
