/* The loop over the parameters that all optimizer files share.
 *
 * An optimizer is a rule for a single parameter: from the gradient, a standard normal and the
 * parameter's own state (slots) to a move. optim_walk applies it to all of them, block by block, so
 * that the normals are still in the first-level cache when they are used. Everything is inlined
 * into one loop for each combination of noise and precision, which the compiler turns into vectors.
 *
 * How parameters are kept. Plain: w in single precision; the drift is added first, the noise
 * second, as the authors' programs do. Noise far below half a unit in the last place of w is then
 * lost: at beta = 1e16 and lr = 1e-4 it has size 1.4e-10, while weights of 0.02 are 1.9e-9 apart.
 * Compensated (optim.compensated): a parameter is the unevaluated sum w + residual, where residual
 * keeps what rounding drops from w (Knuth's TwoSum), at most half a unit; small moves then add up
 * as in double precision. The network sees w.
 *
 * Invariants: no normals are drawn for noise of size 0, so that noise = NULL is fine then; the
 * additions must not be reassociated (no -ffast-math). */
#ifndef LGV_OPTIM_OPTIM_H
#define LGV_OPTIM_OPTIM_H

#include "base/portable_math.h"
#include "math/flush.h"
#include "math/kernels.h"
#include "optim/optim_type.h"

/* ---- The rule for one parameter ---- */

#define OPTIM_INLINE static inline __attribute__((always_inline))

typedef struct optim_point {
  float g;  /* gradient, the l2 term included */
  float xi; /* N(0, 1); 0 if the step has no noise */
  float slot[LGV_OPTIM_SLOTS];
} optim_point;

typedef struct optim_move {
  float drift, noise; /* w += drift, then w += noise */
} optim_move;

/* The constants of a step, in single precision. An optimizer that needs more
 * makes this the first member of a struct of its own. */
typedef struct optim_constants {
  float lr, a, eps;
  float noise;          /* sqrt(2 lr / beta); 0 without a beta */
  float keep_m, gain_m; /* alpha1, 1 - alpha1 */
  float keep_v, gain_v; /* alpha2, 1 - alpha2 */
} optim_constants;

static inline double optim_lr(const optim_params *p, const lgv_optim_step *step) {
  return p->lr * step->lr_scale;
}

static inline double optim_beta(const optim_params *p, const lgv_optim_step *step) {
  return p->beta * step->beta_scale;
}

static inline optim_constants optim_constants_of(const optim_params *p,
                                                 const lgv_optim_step *step) {
  double lr = optim_lr(p, step);
  return (optim_constants){
      .lr = (float)lr,
      .a = (float)p->a,
      .eps = (float)p->eps,
      .noise = p->beta > 0 ? (float)sqrt(2 * lr / optim_beta(p, step)) : 0,
      .keep_m = (float)p->alpha1,
      .gain_m = (float)(1 - p->alpha1),
      .keep_v = (float)p->alpha2,
      .gain_v = (float)(1 - p->alpha2),
  };
}

/* constants: an optim_constants, or the struct that begins with one. */
typedef optim_move optim_rule(const void *constants, optim_point *point);

/* The moments of Adam and its relatives: the first two slots. */
enum { OPTIM_M, OPTIM_V, OPTIM_MOMENTS };

OPTIM_INLINE void optim_update_moments(const optim_constants *k, optim_point *x) {
  x->slot[OPTIM_M] = k->keep_m * x->slot[OPTIM_M] + k->gain_m * x->g;
  x->slot[OPTIM_V] = k->keep_v * x->slot[OPTIM_V] + k->gain_v * x->g * x->g;
}

/* ---- Adam ---- */

/* What adam and langevin-adam share, to the bit; optim_descent.c has the equations. */
typedef struct adam_constants {
  optim_constants common;
  float rate;          /* lr / c_1 */
  float root_unbiased; /* 1 / sqrt(c_2) */
} adam_constants;

static inline double optim_pow(double x, double y) {
  return LGV_PORTABLE_SET ? lgv__portable_pow(x, y) : pow(x, y);
}

static inline adam_constants adam_constants_of(const optim_params *p, const lgv_optim_step *step) {
  double t = (double)step->t, c1 = 1 - optim_pow(p->alpha1, t), c2 = 1 - optim_pow(p->alpha2, t);
  return (adam_constants){
      .common = optim_constants_of(p, step),
      .rate = (float)(optim_lr(p, step) / c1),
      .root_unbiased = (float)(1 / sqrt(c2)),
  };
}

/* Updates the moments. */
OPTIM_INLINE float adam_drift(const adam_constants *k, optim_point *x) {
  optim_update_moments(&k->common, x);
  float root = sqrtf(x->slot[OPTIM_V]) * k->root_unbiased;
  return -k->rate * x->slot[OPTIM_M] / (root + k->common.eps);
}

/* ---- The loop ---- */

#if defined(__clang__)
#define OPTIM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define OPTIM_INDEPENDENT _Pragma("GCC ivdep")
#else
#define OPTIM_INDEPENDENT
#endif

/* high + low += x. TwoSum gives the rounding error of any addition exactly. */
OPTIM_INLINE void optim_add_compensated(float *high, float *low, float x) {
  float a = *high, b = x + *low, sum = a + b;
  float b_seen = sum - a, a_seen = sum - b_seen;
  *high = sum;
  *low = (a - a_seen) + (b - b_seen);
}

OPTIM_INLINE void optim_block(const lgv_optim_step *step, size_t begin, size_t count, float l2,
                              optim_rule *rule, const void *constants, int slots, const float *xi,
                              bool compensated) {
  float *w = step->w + begin, *low = compensated ? step->residual + begin : NULL;
  const float *g = step->g + begin;
  float *s0 = slots > 0 ? step->slot[0] + begin : NULL;
  float *s1 = slots > 1 ? step->slot[1] + begin : NULL;
  float *s2 = slots > 2 ? step->slot[2] + begin : NULL;
  float *s3 = slots > 3 ? step->slot[3] + begin : NULL;
  OPTIM_INDEPENDENT for (size_t i = 0; i < count; i++) {
    optim_point x = {.g = g[i] + l2 * w[i], .xi = xi ? xi[i] : 0};
    if (slots > 0) x.slot[0] = s0[i];
    if (slots > 1) x.slot[1] = s1[i];
    if (slots > 2) x.slot[2] = s2[i];
    if (slots > 3) x.slot[3] = s3[i];
    optim_move move = rule(constants, &x);
    if (slots > 0) s0[i] = lgv__without_subnormal(x.slot[0]);
    if (slots > 1) s1[i] = lgv__without_subnormal(x.slot[1]);
    if (slots > 2) s2[i] = lgv__without_subnormal(x.slot[2]);
    if (slots > 3) s3[i] = lgv__without_subnormal(x.slot[3]);
    if (compensated)
      optim_add_compensated(&w[i], &low[i], xi ? move.drift + move.noise : move.drift);
    else
      w[i] = xi ? w[i] + move.drift + move.noise : w[i] + move.drift;
    w[i] = lgv__without_subnormal(w[i]);
    if (compensated) low[i] = lgv__without_subnormal(low[i]);
  }
}

OPTIM_INLINE void optim_blocks(const lgv_optim_step *step, float l2, optim_rule *rule,
                               const void *constants, int slots, bool noisy, bool compensated) {
  _Alignas(64) float xi[LGV_NOISE_BLOCK];
  for (size_t begin = 0; begin < step->count; begin += LGV_NOISE_BLOCK) {
    size_t left = step->count - begin, count = left < LGV_NOISE_BLOCK ? left : LGV_NOISE_BLOCK;
    if (noisy) LGV_KERNEL(lgv__normals)(step->noise, xi, (count + 31) / 32 * 32);
    optim_block(step, begin, count, l2, rule, constants, slots, noisy ? xi : NULL, compensated);
  }
}

/* One step. rule and slots must be constants. */
OPTIM_INLINE void optim_walk(const lgv_optim_step *step, const optim_params *p, optim_rule *rule,
                             const void *constants, int slots, bool noisy) {
  float l2 = (float)p->l2;
  uint64_t mode = lgv__loop_begin();
  if (step->residual && noisy)
    optim_blocks(step, l2, rule, constants, slots, true, true);
  else if (step->residual)
    optim_blocks(step, l2, rule, constants, slots, false, true);
  else if (noisy)
    optim_blocks(step, l2, rule, constants, slots, true, false);
  else
    optim_blocks(step, l2, rule, constants, slots, false, false);
  lgv__flush_end(mode);
}

#endif
