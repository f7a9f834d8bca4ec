#include "agent/continuous/tanh_gaussian.h"

#include "base/portable_math.h"

static const float half_log_two_pi = 0.918938533f, least_room = 1e-6f;

/* tanh u and 1 - tanh^2 u. */
static inline float squash(float u, float *room) {
  float e = lgv__expf(-2 * fabsf(u)), whole = 1 + e;
  *room = 4 * e / (whole * whole);
  return copysignf((1 - e) / whole, u);
}

float lgv__tanh(float u) {
  float room;
  return squash(u, &room);
}

static inline float clamp(const tanh_gaussian *g, float l) {
  return l < g->least ? g->least : l > g->most ? g->most : l; /* NaN stays */
}

void lgv__tanh_gaussian_sample(const tanh_gaussian *g, int64_t rows, const float *outputs) {
  int32_t P = g->parts;
  for (int64_t i = 0; i < rows; i++) {
    const float *m = outputs + i * 2 * P, *l = m + P;
    float sum = 0;
    for (int32_t p = 0; p < P; p++) {
      int64_t at = i * P + p;
      float log_sigma = clamp(g, l[p]), xi = g->xi[at];
      g->sigma[at] = lgv__expf(log_sigma);
      g->action[at] = squash(m[p] + g->sigma[at] * xi, &g->room[at]);
      sum -= xi * xi / 2 + log_sigma + half_log_two_pi + lgv__logf(g->room[at] + least_room);
    }
    g->log_pi[i] = sum;
  }
}

void lgv__tanh_gaussian_backward(const tanh_gaussian *g, int64_t rows, const float *outputs,
                                 const float *d_action, float d_log_pi, float *d_outputs) {
  int32_t P = g->parts;
  for (int64_t i = 0; i < rows; i++) {
    const float *l = outputs + i * 2 * P + P;
    float *d_m = d_outputs + i * 2 * P, *d_l = d_m + P;
    for (int32_t p = 0; p < P; p++) {
      int64_t at = i * P + p;
      float room = g->room[at];
      float of_log = 2 * g->action[at] * room / (room + least_room); /* d log pi / d u */
      float d_u = d_log_pi * of_log + d_action[at] * room;
      bool free = l[p] >= g->least && l[p] <= g->most;
      d_m[p] = d_u;
      d_l[p] = free ? d_u * g->sigma[at] * g->xi[at] - d_log_pi : 0;
    }
  }
}
