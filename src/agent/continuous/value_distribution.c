#include "agent/continuous/value_distribution.h"

#include "base/portable_math.h"

#include <math.h>

static const float bias = 0.1f, most_deviations = 3;

/* A file may hold any number. */
static const char *omega_fault(const void *omega) {
  const float *x = omega;
  for (int j = 0; j < AC_PAIR; j++)
    if (!(x[j] >= 0 && isfinite(x[j]))) return "a deviation that cannot be";
  return NULL;
}

void lgv__vd_layout(value_distribution *v, const actor_critic *c, lgv_layout *layout) {
  size_t B = (size_t)ac_batch(c), draws = (AC_PAIR * B + 31) / 32 * 32;
  v->omega = lgv_layout_array(layout, "omega", LGV_F32, AC_PAIR, LGV_KEEP);
  lgv_layout_check(layout, omega_fault, v->omega);
  v->zeta = lgv_layout_array(layout, "zeta", LGV_F32, draws, LGV_SCRATCH);
  v->y_z = lgv_layout_array(layout, "y_z", LGV_F32, B, LGV_SCRATCH);
}

static float softplus(float z) {
  return fmaxf(z, 0) + (float)lgv__log1p(lgv__exp(-fabs((double)z)));
}

static float logistic(float z) { return (float)(1 / (1 + lgv__exp(-(double)z))); }

static float cut(float x, float size) { return fminf(fmaxf(x, -size), size); }

/* The second half of the policy's rows. */
static tanh_gaussian at_next(const actor_critic *c) {
  tanh_gaussian g = c->policy;
  int64_t rows = ac_batch(c), numbers = rows * c->P;
  g.xi += numbers;
  g.sigma += numbers;
  g.action += numbers;
  g.room += numbers;
  g.log_pi += rows;
  return g;
}

void lgv__vd_act_next(actor_critic *c) {
  int64_t B = ac_batch(c);
  tanh_gaussian next = at_next(c);
  lgv__ac_normals(c, c->policy.xi, 2 * B * c->P);
  lgv__tanh_gaussian_sample(&next, B, lgv__ac_forward_next_target(c));
  lgv__ac_put_actions(c, c->next_pairs, next.action);
}

void lgv__vd_targets(value_distribution *v, actor_critic *c, int64_t pair) {
  int64_t B = ac_batch(c);
  const float *q[AC_PAIR], *log_pi = c->policy.log_pi + B;
  float alpha = lgv__ac_alpha(c);
  lgv__ac_normals(c, v->zeta, AC_PAIR * B);
  for (int j = 0; j < AC_PAIR; j++)
    q[j] = lgv__ac_q(c, c->critic.target + (AC_PAIR * pair + j) * c->critic.dim, j, c->next_pairs);
  for (int64_t i = 0; i < B; i++) {
    int j = q[1][VD_OUTPUTS * i] < q[0][VD_OUTPUTS * i];
    const float *lesser = q[j] + VD_OUTPUTS * i;
    float z = lesser[0] + cut(v->zeta[j * B + i], most_deviations) * softplus(lesser[1]);
    float reward = c->batch.reward[i], discount = c->batch.discount[i];
    c->y[i] = reward + discount * (lesser[0] - alpha * log_pi[i]);
    v->y_z[i] = reward + discount * (z - alpha * log_pi[i]);
  }
}

static void follow_deviation(float *omega, const float *q, int64_t B, float tau) {
  double sum = 0;
  for (int64_t i = 0; i < B; i++) sum += (double)softplus(q[VD_OUTPUTS * i + 1]);
  float mean = (float)(sum / (double)B);
  *omega = *omega == 0 ? mean : *omega + tau * (mean - *omega);
}

/* Writes the derivatives of one critic, whose outputs are q; returns its mean squared error. */
static double differentiate(const value_distribution *v, const actor_critic *c, const float *q,
                            float omega, float *d_q) {
  int64_t B = ac_batch(c);
  float weight = (omega * omega + bias) / (float)B;
  double squares = 0;
  for (int64_t i = 0; i < B; i++, q += VD_OUTPUTS, d_q += VD_OUTPUTS) {
    float mu = q[0], sigma = softplus(q[1]), error = c->y[i] - mu;
    float off = cut(v->y_z[i] - mu, most_deviations * omega);
    float of_sigma = weight * (off * off - sigma * sigma) / (sigma * sigma * sigma + bias);
    d_q[0] = -weight * error / (sigma * sigma + bias);
    d_q[1] = v->fixed_deviation ? 0 : -of_sigma * logistic(q[1]);
    squares += (double)(error * error);
  }
  return squares / (double)B;
}

void lgv__vd_gradients(value_distribution *v, actor_critic *c, int64_t pair) {
  int64_t B = ac_batch(c);
  for (int j = 0; j < AC_PAIR; j++) {
    int64_t k = AC_PAIR * pair + j;
    const float *q = lgv__ac_q(c, c->critic.w + k * c->critic.dim, j, c->pairs);
    follow_deviation(&v->omega[j], q, B, (float)c->p->tau);
    c->loss += differentiate(v, c, q, v->omega[j], c->d_q);
    lgv__ac_critic_backward(c, k, j);
    if (k > 0) continue;
    double sum = 0;
    for (int64_t i = 0; i < B; i++) sum += (double)q[VD_OUTPUTS * i];
    c->stat[AC_STAT_Q_MEAN] = sum / (double)B;
  }
}

void lgv__vd_improve_policy(actor_critic *c, int64_t pair) {
  lgv__ac_forward_obs(c);
  lgv__tanh_gaussian_sample(&c->policy, ac_batch(c), c->outputs);
  lgv__ac_improve_gaussian(c, AC_PAIR * pair);
  lgv__ac_adapt_alpha(c);
}
