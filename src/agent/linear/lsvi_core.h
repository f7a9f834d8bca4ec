/* Least-squares value iteration: what every linear agent shares, as verbs.
 *
 * For each stage h the data of past episodes give the Gram matrix Lambda_h = lambda I + sum phi
 * phi^T and the targets b_h = sum phi (r + V_{h+1}(x')); b_h is rebuilt every episode because
 * V_{h+1} changes. Each agent writes its own backward sweep h = H..1 with these verbs and leaves
 * Q_h for acting.
 *
 * Stages count from 0 here, so the paper's H - h + 1 is H - h. The states are finite, so exact
 * counts n(s,a,s') and reward sums stand for the history: an episode costs the number of distinct
 * transitions, not of past episodes. With agent.pool the stages share one set of counts, which is
 * right only if the problem is stationary.
 *
 * Two paths, one law: one-hot features make Lambda diagonal (lambda + n(s,a)); any other phi takes
 * the dense path, with a Cholesky factor that is updated by rank one. Where a stage has data of its
 * own, one transition an episode, the whitened features L^-1 phi follow by the same rotations and
 * widths cost O(SA d) an episode; pooled data bring a whole episode at once, and the features are
 * whitened anew, O(SA d^2).
 *
 * Invariants: the data seen while planning episode k are those of episodes 1..k-1; q holds the Q of
 * the current episode for all (h, s, a) after begin_episode; lists grow in lgv__lsvi_absorb only.
 */
#ifndef LGV_AGENT_LINEAR_LSVI_CORE_H
#define LGV_AGENT_LINEAR_LSVI_CORE_H

#include "base/arena.h"
#include "langevin.h"

enum { LSVI_POOL_FALSE, LSVI_POOL_TRUE, LSVI_POOL_AUTO };
enum { LSVI_FEATURES_AUTO, LSVI_FEATURES_ONE_HOT, LSVI_FEATURES_ENV };
enum { LSVI_GRAM_AUTO, LSVI_GRAM_DIAGONAL, LSVI_GRAM_DENSE };
enum { LSVI_TUNED, LSVI_THEORY };

/* Parameters of every linear agent; the first member of its parameter struct. */
typedef struct lsvi_params {
  double lambda;
  int32_t pool, features, gram, schedule;
  double delta;
} lsvi_params;

extern const char *const lgv__lsvi_pool_names[], *const lgv__lsvi_features_names[],
                                                     *const lgv__lsvi_gram_names[],
                                                         *const lgv__lsvi_schedule_names[];

/* Rows of a linear agent's parameter table, one by one; LSVI_PARAM_ROWS is all of them in the order
 * of the enum below. */
#define LSVI_LAMBDA_ROW(fallback_, help_)                                                          \
  {                                                                                                \
    .name = "lambda", .type = LGV_REAL, .offset = offsetof(lsvi_params, lambda),                   \
    .default_text = fallback_, .min = 0, .max = 1e12, .open = LGV_OPEN_MIN, .help = help_          \
  }
#define LSVI_POOL_ROW(fallback_)                                                                   \
  {                                                                                                \
    .name = "pool", .type = LGV_CHOICE, .offset = offsetof(lsvi_params, pool),                     \
    .default_text = fallback_, .choices = lgv__lsvi_pool_names,                                    \
    .help = "share the data between stages (stationary problems only); auto: where that is right"  \
  }
#define LSVI_FEATURES_ROW                                                                          \
  {                                                                                                \
    .name = "features", .type = LGV_CHOICE, .offset = offsetof(lsvi_params, features),             \
    .default_text = "auto", .choices = lgv__lsvi_features_names,                                   \
    .help = "phi(s,a); auto: the environment's own where it has them, else one-hot"                \
  }
#define LSVI_GRAM_ROW                                                                              \
  {                                                                                                \
    .name = "gram", .type = LGV_CHOICE, .offset = offsetof(lsvi_params, gram),                     \
    .default_text = "auto", .choices = lgv__lsvi_gram_names,                                       \
    .help = "how Lambda is kept; diagonal needs one-hot features"                                  \
  }
#define LSVI_SCHEDULE_ROW                                                                          \
  {                                                                                                \
    .name = "schedule", .type = LGV_CHOICE, .offset = offsetof(lsvi_params, schedule),             \
    .default_text = "tuned", .choices = lgv__lsvi_schedule_names,                                  \
    .help = "tuned: the constants given here; theory: those of the regret theorem"                 \
  }
#define LSVI_DELTA_ROW                                                                             \
  {                                                                                                \
    .name = "delta", .type = LGV_REAL, .offset = offsetof(lsvi_params, delta),                     \
    .default_text = "0.2", .min = 0, .max = 1, .open = LGV_OPEN_MIN | LGV_OPEN_MAX,                \
    .help = "failure probability in the constants of schedule = theory"                            \
  }
#define LSVI_PARAM_ROWS(lambda_, pool_)                                                            \
  LSVI_LAMBDA_ROW(lambda_, "ridge: Lambda_h = lambda I + sum phi phi^T"), LSVI_POOL_ROW(pool_),    \
      LSVI_FEATURES_ROW, LSVI_GRAM_ROW, LSVI_SCHEDULE_ROW, LSVI_DELTA_ROW

enum {
  LSVI_PARAM_LAMBDA,
  LSVI_PARAM_POOL,
  LSVI_PARAM_FEATURES,
  LSVI_PARAM_GRAM,
  LSVI_PARAM_SCHEDULE,
  LSVI_PARAM_DELTA,
  LSVI_PARAM_COUNT
};

typedef struct lsvi {
  const lsvi_params *p;
  int64_t H, S, SA, d;
  int32_t A;
  int64_t groups;           /* sets of data: H, or 1 if pooled */
  int64_t planned_episodes; /* K, or 0 if unknown */
  double reward_min, reward_max;
  double
      ridge; /* lambda; an agent with another scale of it (RLSVI) sets it before lgv__lsvi_open */
  bool diagonal;
  const double *env_features; /* as given, or NULL */
  lgv_rng *act, *noise, *replay, *eval;

  double *phi;       /* (SA x d); NULL if diagonal */
  double phi_square; /* the greatest ||phi||^2 */
  /* data */
  int64_t *episodes;  /* [0]: absorbed so far, k - 1 */
  int64_t *visits;    /* (groups x SA): n(s,a) */
  double *reward_sum; /* (groups x SA) */
  int64_t *first;     /* (groups x SA): 1 + index of the first edge, 0 if none */
  lgv_list edges;   /* (next, count, 1 + index of the following edge) each, in order of discovery */
  double *gram;     /* (groups x d x d); NULL if diagonal or not needed */
  double *factor;   /* (groups x d x d): Cholesky of gram, by columns; NULL if diagonal */
  double *whitened; /* (groups x d x SA) if rotated, else (d x SA); NULL as gram */
  bool rotated;     /* whether whitened follows every transition */
  /* the episode in play */
  int64_t *path;       /* (H x 3): s * A + a, next state or LGV_END, reached */
  double *path_reward; /* (H) */
  /* plan */
  double *q; /* (H x S x A) */
  double *v; /* ((H+1) x S), last row 0 */
  /* scratch of one stage */
  double *y;     /* (SA): sum of targets at each (s,a) */
  double *b;     /* (d) */
  double *w_hat; /* (d): ridge solution */
  double *width; /* (SA): ||phi||_{Lambda^-1} */
} lsvi;

/* Resolves pool, features and gram; refuses what does not fit the problem. */
LGV_CHECK lgv_status lgv__lsvi_resolve(lsvi_params *params, const lgv_problem *problem,
                                       lgv_error *err);
/* What the constants of schedule = theory are made of. */
typedef struct lsvi_sizes {
  double H, d, K, T; /* stages, features, episodes, T = H K */
} lsvi_sizes;
/* The theorems need to know the number of episodes and assume rewards in [0, 1]. */
LGV_CHECK lgv_status lgv__lsvi_theory_sizes(const lsvi_params *params, const lgv_problem *problem,
                                            lsvi_sizes *sizes, lgv_error *err);
/* Sets a constant that schedule = theory prescribes; refuses a user's value that contradicts it. */
LGV_CHECK lgv_status lgv__lsvi_prescribe(double *field, double value, bool is_set, const char *key,
                                         lgv_error *err);
LGV_CHECK lgv_status lgv__lsvi_prescribe_count(int64_t *field, int64_t value, bool is_set,
                                               const char *key, lgv_error *err);
int64_t lgv__lsvi_feature_dim(const lsvi_params *params, const lgv_env_spec *env);

/* What an agent takes beyond the ridge solution; the rest is not kept. */
enum { LSVI_USES_GRAM = 1, LSVI_USES_WIDTHS = 2 };
void lgv__lsvi_layout(lsvi *core, const lsvi_params *params, const lgv_problem *problem, int uses,
                      lgv_layout *layout);

/* ---- planning, one stage at a time, from the last to the first ---- */
double *lgv__lsvi_q(lsvi *core, int64_t h);           /* (SA) */
int64_t lgv__lsvi_group(const lsvi *core, int64_t h); /* which data stage h uses */
/* Whether stage h is the first of a sweep to use its data: what depends on Lambda alone is worked
 * out then, once a sweep where the stages share it. */
bool lgv__lsvi_new_group(const lsvi *core, int64_t h);
void lgv__lsvi_targets(lsvi *core, int64_t h); /* b = sum phi (r + v[h+1]) */
/* w_hat = Lambda^-1 b */
LGV_CHECK lgv_status lgv__lsvi_solve(lsvi *core, int64_t h, lgv_error *err);
void lgv__lsvi_values(const lsvi *core, const double *w, double *q); /* q = phi . w, all (s,a) */
void lgv__lsvi_values_max(lsvi *core, const double *w, double *q);   /* q = max(q, phi . w) */
void lgv__lsvi_widths(lsvi *core, int64_t h); /* width = ||phi||_{Lambda^-1} */
/* out = center + scale * N(0, Lambda_h^-1) */
void lgv__lsvi_perturb(lsvi *core, int64_t h, const double *center, double scale, double *out);
double
lgv__lsvi_value_bound(const lsvi *core,
                      int64_t h); /* the most that stages h.. can pay: H - h for rewards <= 1 */
void lgv__lsvi_clip(const lsvi *core, int64_t h, double *q); /* into what stages h.. can pay */
void lgv__lsvi_backup_max(lsvi *core, int64_t h);            /* v[h] = max_a q[h] */
LGV_CHECK lgv_status lgv__lsvi_check_finite(const lsvi *core, const char *what, const double *x,
                                            int64_t n, int64_t h, lgv_error *err);

/* ---- hooks that agents share; core is the first member of their state ---- */
lgv_status lgv__lsvi_open(void *self, lgv_error *err);
lgv_status lgv__lsvi_act_greedy(void *self, const lgv_obs *obs, lgv_mode mode, int32_t *action,
                                lgv_error *err);
lgv_status lgv__lsvi_observe(void *self, const lgv_transition *transition, lgv_error *err);
lgv_status lgv__lsvi_absorb(void *self, lgv_error *err); /* end_episode: the path becomes data */
lgv_status lgv__lsvi_q_values(void *self, const lgv_obs *obs, double *q, lgv_error *err);
void lgv__lsvi_policy_parts(const void *self, lgv_policy_parts *parts);
void lgv__lsvi_policy_greedy(const void *self, int64_t stage, int64_t state, double *probabilities);
/* What happened at stage h of the episode in play; false if it was not reached. */
bool lgv__lsvi_path_step(const lsvi *core, int64_t h, int64_t *pair, int64_t *next);
/* Adds n(s,a,s') to counts[s'], and how often the episode ended there to counts[S]. */
void lgv__lsvi_add_counts(const lsvi *core, int64_t group, int64_t pair, double *counts);
LGV_CHECK lgv_status lgv__lsvi_check_obs(const lsvi *core, const lgv_obs *obs, lgv_error *err);

#endif
