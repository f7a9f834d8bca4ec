/* The policy of soft actor-critic (Haarnoja et al., 2018b, appendix C): a Gaussian, squashed.
 *
 *     u = m + sigma xi,   sigma = exp(clamp(l)),   a = tanh u,   xi ~ N(0, I)
 *     log pi(a) = sum over parts of -xi^2 / 2 - log sigma - log(2 pi) / 2 - log(1 - a^2 + 1e-6)
 *
 * m and l are the outputs of a network, (rows x 2 parts): the means of a row, then the logarithms.
 * 1 - a^2 is computed as 4 e / (1 + e)^2 with e = exp(-2 |u|), which does not cancel. */
#ifndef LGV_AGENT_CONTINUOUS_TANH_GAUSSIAN_H
#define LGV_AGENT_CONTINUOUS_TANH_GAUSSIAN_H

#include "langevin.h"

typedef struct tanh_gaussian {
  int32_t parts;
  float least, most; /* bounds of l */
  /* of the rows of a batch */
  float *xi;     /* (rows x parts): set by the caller */
  float *sigma;  /* (rows x parts) */
  float *action; /* (rows x parts) */
  float *room;   /* (rows x parts): 1 - a^2 */
  float *log_pi; /* (rows) */
} tanh_gaussian;

float lgv__tanh(float u);
/* Fills everything but xi. */
void lgv__tanh_gaussian_sample(const tanh_gaussian *g, int64_t rows, const float *outputs);
/* d_outputs of a loss, after sample, for its derivatives by the actions, (rows x parts), and by
 * every log pi. A clamped l has derivative 0. */
void lgv__tanh_gaussian_backward(const tanh_gaussian *g, int64_t rows, const float *outputs,
                                 const float *d_action, float d_log_pi, float *d_outputs);

#endif
