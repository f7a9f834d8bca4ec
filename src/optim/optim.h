/* What all optimisers share: the rows of their parameter tables, and the one loop over the
 * parameters.
 *
 * An optimiser is a rule for a single parameter: from the gradient, a standard normal and the
 * parameter's own state (slots) to a move. optim_walk applies it to all of them, block by block, so
 * that the normals are still in the first-level cache when they are used. Everything is inlined
 * into one loop for each combination of noise and precision, which the compiler turns into vectors.
 *
 * How parameters are kept. Plain: w in single precision; the drift is added first, the noise
 * second, as the authors' programs do. Noise far below half a unit in the last place of w is then
 * lost: at beta = 1e16 and lr = 1e-4 it has size 1.4e-10, while weights of 0.02 are 1.9e-9 apart.
 * Compensated (optim.compensated): a parameter is the unevaluated sum w + residual, with |residual|
 * at most half a unit of w; additions are error-free (Knuth's TwoSum), so that such noise
 * accumulates as in double precision. The network sees w.
 *
 * Invariants: no normals are drawn for noise of size 0, so that noise = NULL is fine then; the
 * additions must not be reassociated (no -ffast-math). */
#ifndef LGV_OPTIM_OPTIM_H
#define LGV_OPTIM_OPTIM_H

#include "math/flush.h"
#include "math/kernels.h"

#include <math.h>
#include <stddef.h>

/* ---- Parameters: one name for one thing ---- */

/* A table lists the rows that an optimiser uses. Parameters that only one has follow in a struct of
 * its own, of which this is the first member. */
typedef struct optim_params {
  double lr, l2;
  double beta;           /* of those with noise */
  double a;              /* of those with an Adam bias term */
  double alpha1, alpha2; /* decay of the means of g and of g^2 */
  double eps;
  bool compensated;
} optim_params;

#define OPTIM_REAL(field_, fallback_, min_, max_, open_, help_)                                    \
  {                                                                                                \
    .name = #field_, .type = LGV_REAL, .offset = offsetof(optim_params, field_),                   \
    .fallback = fallback_, .min = min_, .max = max_, .open = open_, .help = help_                  \
  }

/* The first rows of every table. */
#define OPTIM_COMMON_ROWS(lr_)                                                                     \
  OPTIM_REAL(lr, lr_, 0, 1e6, LGV_OPEN_MIN, "step size"),                                          \
      OPTIM_REAL(l2, "0", 0, 1e6, 0, "ridge: adds l2 w to the gradient"), {                        \
    .name = "compensated", .type = LGV_BOOL, .offset = offsetof(optim_params, compensated),        \
    .fallback = "false",                                                                           \
    .help = "keep parameters as sums of two floats, so that tiny noise is not rounded away"        \
  }
#define OPTIM_BETA(beta_)                                                                          \
  OPTIM_REAL(beta, beta_, 0, INFINITY, LGV_OPEN_MIN,                                               \
             "inverse temperature: noise is scaled by 1/sqrt(beta); inf: no noise")
#define OPTIM_A(a_) OPTIM_REAL(a, a_, 0, 1e6, 0, "weight of the Adam bias term beside the gradient")
#define OPTIM_ALPHA1(alpha1_)                                                                      \
  OPTIM_REAL(alpha1, alpha1_, 0, 1, LGV_OPEN_MAX, "decay of m, the mean gradient")
#define OPTIM_ALPHA2_HELP "decay of v, the mean of g^2"
#define OPTIM_ALPHA2(alpha2_, help_) OPTIM_REAL(alpha2, alpha2_, 0, 1, LGV_OPEN_MAX, help_)
#define OPTIM_EPS(eps_, help_) OPTIM_REAL(eps, eps_, 0, 1, LGV_OPEN_MIN, help_)

/* Whether lgv_optim_step.residual is wanted. params: any optimiser's. */
static inline bool optim_is_compensated(const void *params) {
  return ((const optim_params *)params)->compensated;
}

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

/* What is the same for all parameters of a step, in single precision. An optimiser that needs more
 * makes this the first member of a struct of its own. */
typedef struct optim_constants {
  float lr, a, eps;
  float noise;          /* sqrt(2 lr / beta); 0 without a beta */
  float keep_m, gain_m; /* alpha1, 1 - alpha1 */
  float keep_v, gain_v; /* alpha2, 1 - alpha2 */
} optim_constants;

static inline optim_constants optim_constants_of(const optim_params *p) {
  return (optim_constants){
      .lr = (float)p->lr,
      .a = (float)p->a,
      .eps = (float)p->eps,
      .noise = p->beta > 0 ? (float)sqrt(2 * p->lr / p->beta) : 0,
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
    if (slots > 0) s0[i] = x.slot[0];
    if (slots > 1) s1[i] = x.slot[1];
    if (slots > 2) s2[i] = x.slot[2];
    if (slots > 3) s3[i] = x.slot[3];
    if (compensated)
      optim_add_compensated(&w[i], &low[i], xi ? move.drift + move.noise : move.drift);
    else
      w[i] = xi ? w[i] + move.drift + move.noise : w[i] + move.drift;
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
  uint64_t mode = lgv__flush_begin();
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
