/* Least-squares value iteration: what every linear agent shares, as verbs.
 *
 * For each stage h the data of past episodes give the Gram matrix Lambda_h = lambda I + sum phi
 * phi^T and the targets b_h = sum phi (r + V_{h+1}(x')); b_h is rebuilt every episode because
 * V_{h+1} changes. Each agent writes its own backward sweep h = H..1 with these verbs and leaves
 * Q_h for acting.
 *
 * Stages count from 0 here, so the paper's H - h + 1 is H - h. Where the states are finite, exact
 * counts n(s,a,s') and reward sums stand for the history: an episode costs the number of distinct
 * transitions, not of past episodes. With a feature map (agent.features) the history itself is
 * kept, and a stage's Q is a function instead of a table; the verbs are the same (lsvi_history.h).
 *
 * Groups are sets of data. Each stage has its own, or, with agent.pool, all stages share one, which
 * is right only if the problem is stationary. Unless the spec has clock_truncates, `terminated` at
 * the last stage may mean that the task ended or that the clock ran out. Pooled data then form two
 * groups: one without the last stage's transitions, for the stages whose targets look at the next
 * state, and one with all transitions, for the last stage, whose targets do not.
 *
 * Two paths, one law: one-hot features make Lambda diagonal (lambda + n(s,a)); any other phi takes
 * the dense path, with a Cholesky factor that is updated by rank one. Where a stage has data of its
 * own, one transition per episode, the whitened features L^-1 phi follow by the same rotations and
 * widths cost O(SA d) per episode; pooled data bring a whole episode at once, and the features are
 * whitened anew, O(SA d^2).
 *
 * Masks: the mask of an observation is taken to be a function of its stage and state, or of its
 * state where stages share their data, so that a target never counts on an action that was masked
 * when its next state was last seen. Planning maximizes over what that mask allows, and over all
 * actions in states without one. Acting obeys the mask of the observation itself.
 *
 * Delayed feedback (agent.delay = D; Kuang et al., NeurIPS 2023, with random delays): the path of
 * an episode waits in a queue of D and becomes data when the D-th episode after it ends.
 *
 * Invariants: the data seen while planning episode k are those of episodes 1..k-1-D; q holds the Q
 * of the current episode for all (h, s, a) after begin_episode; lists grow in lgv__lsvi_absorb
 * only.
 */
#ifndef LGV_AGENT_LINEAR_LSVI_CORE_H
#define LGV_AGENT_LINEAR_LSVI_CORE_H

#include "agent/linear/lsvi_history.h"
#include "base/arena.h"
#include "base/param.h"
#include "langevin.h"

struct lgv_policy_parts; /* export.h */

enum { LSVI_POOL_FALSE, LSVI_POOL_TRUE, LSVI_POOL_AUTO };
enum { LSVI_FEATURES_AUTO, LSVI_FEATURES_ONE_HOT, LSVI_FEATURES_ENV, LSVI_FEATURES_MAP };
enum { LSVI_FORM_AUTO, LSVI_FORM_STAGES, LSVI_FORM_DISCOUNTED };
enum { LSVI_GRAM_AUTO, LSVI_GRAM_DIAGONAL, LSVI_GRAM_DENSE };
enum { LSVI_TUNED, LSVI_THEORY };

/* Parameters of every linear agent; the first member of its parameter struct. */
typedef struct lsvi_params {
  double lambda;
  int32_t pool, features, gram, schedule;
  double delta;
  int64_t delay;
  /* of agents that take feature maps (lsvi_history.h) */
  char map[LGV_TEXT_SIZE]; /* agent.features as text; empty if the agent has no such row */
  int32_t form;
  double gamma, prior_std;
  int64_t sweeps;
  bool by_prior; /* resolved: noise follows prior_std */
} lsvi_params;

extern const char *const lgv__lsvi_pool_names[],
    *const lgv__lsvi_gram_names[], *const lgv__lsvi_schedule_names[], *const lgv__lsvi_form_names[];

/* Rows of a linear agent's parameter table; LSVI_PARAM_ROWS is all of them. */
/* clang-format off */
#define LSVI_LAMBDA_ROW(text, help) LGV_REAL_ROW(lsvi_params, lambda, "lambda", text, 0, 1e12, LGV_OPEN_MIN, help)
#define LSVI_POOL_ROW(text) LGV_CHOICE_ROW(lsvi_params, pool, "pool", text, lgv__lsvi_pool_names, "share the data between stages (stationary problems only); auto: where that is right")
#define LSVI_FEATURES_ROW LGV_TEXT_ROW(lsvi_params, map, "features", "auto", "phi(s,a): one-hot, env, or a feature map of any observation (`langevin list features`); auto: the environment's own where it has them, else one-hot")
#define LSVI_MAP_ROWS \
  LGV_CHOICE_ROW(lsvi_params, form, "form", "auto", lgv__lsvi_form_names, "stages: one regression per stage; discounted: sweeps over all data; auto: stages where states are finite"), \
  LGV_REAL_ROW(lsvi_params, gamma, "gamma", "0.99", 0, 1, LGV_OPEN_MAX, "discount of the discounted form"), \
  LGV_INT_ROW(lsvi_params, sweeps, "sweeps", "50", 1, 1e4, "sweeps of a plan in the discounted form"), \
  LGV_REAL_ROW(lsvi_params, prior_std, "prior_std", "0.03", 0, INFINITY, 0, "with a feature map: standard deviation of a value without data, in units of the range of values; inf: the noise is that of agent.sigma, beta or bonus, as if only that is set")
#define LSVI_GRAM_ROW LGV_CHOICE_ROW(lsvi_params, gram, "gram", "auto", lgv__lsvi_gram_names, "how Lambda is kept; diagonal needs one-hot features")
#define LSVI_SCHEDULE_ROW LGV_CHOICE_ROW(lsvi_params, schedule, "schedule", "tuned", lgv__lsvi_schedule_names, "tuned: the constants given here; theory: those of the regret theorem")
#define LSVI_DELTA_ROW LGV_REAL_ROW(lsvi_params, delta, "delta", "0.2", 0, 1, LGV_OPEN_MIN | LGV_OPEN_MAX, "failure probability in the constants of schedule = theory")
#define LSVI_DELAY_ROW LGV_INT_ROW(lsvi_params, delay, "delay", "0", 0, 1e6, "episodes after which the data of an episode arrive")
#define LSVI_PARAM_ROWS(lambda_text, pool_text) LSVI_LAMBDA_ROW(lambda_text, "ridge: Lambda_h = lambda I + sum phi phi^T"), LSVI_POOL_ROW(pool_text), LSVI_FEATURES_ROW, LSVI_GRAM_ROW, LSVI_SCHEDULE_ROW, LSVI_DELTA_ROW, LSVI_DELAY_ROW
/* clang-format on */

typedef struct lsvi {
  const lsvi_params *p;
  int64_t H, S, SA, d;
  int32_t A;
  bool pooled;              /* whether the stages share their data */
  bool clock_truncates;     /* whether `terminated` is to be trusted at the last stage, too */
  int64_t groups;           /* sets of data: see above */
  int64_t planned_episodes; /* K, or 0 if unknown */
  double reward_min, reward_max;
  double ridge; /* lambda; an agent that scales it (RLSVI) sets it before lgv__lsvi_open */
  bool diagonal;
  int64_t blocks;             /* Lambda is block diagonal: this many blocks of d / blocks */
  int64_t q_size;             /* numbers of a stage's Q: SA, or the weights of its samples */
  lsvi_history history;       /* in use if its map is not NULL */
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
  double *gram;     /* (groups x blocks x block^2); NULL if diagonal or not needed */
  double *factor;   /* the same: Cholesky of gram, by columns; NULL if diagonal */
  double *whitened; /* (groups x d x SA) if rotated, else (d x SA); NULL as gram */
  bool rotated;     /* whether whitened is updated with every transition */
  /* the current episode, and those whose data have not arrived */
  int64_t delay;
  int64_t *path;       /* ((1 + delay) x H x 3): s * A + a, next state or LGV_END, reached */
  double *path_reward; /* ((1 + delay) x H) */
  uint8_t *masks; /* (H x S x A), pooled: (S x A): 1 or 0, the last seen; NULL: nothing is masked */
  /* plan */
  double *q; /* (H x q_size) */
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
/* With a feature map: the default of lambda, and whether agent.prior_std decides what `noise`
 * (sigma, beta or bonus) would. bandit: the agent keeps its own lambda and noise, unless the user
 * sets prior_std. Call it after lgv__lsvi_resolve. */
void lgv__lsvi_resolve_noise(const lgv_param *table, lsvi_params *params, const bool *is_set,
                             const char *noise, bool bandit);
/* The sizes that determine the constants of schedule = theory. */
typedef struct lsvi_sizes {
  double H, d, K, T; /* stages, features, episodes, T = H K */
} lsvi_sizes;
/* The theorems need the number of episodes, and assume rewards in [0, 1] and a regression per stage
 * on that stage's own data. (lgv__lsvi_open checks that ||phi|| <= 1.) */
LGV_CHECK lgv_status lgv__lsvi_theory_sizes(const lsvi_params *params, const lgv_problem *problem,
                                            lsvi_sizes *sizes, lgv_error *err);
/* Sets the parameter `name` of table to what schedule = theory prescribes; refuses a user's value
 * that contradicts it. */
LGV_CHECK lgv_status lgv__lsvi_prescribe(const lgv_param *table, void *params, const bool *is_set,
                                         const char *name, double value, lgv_error *err);
int64_t lgv__lsvi_feature_dim(const lsvi_params *params, const lgv_env_spec *env);

/* What an agent needs besides the ridge solution; nothing else is kept. */
enum { LSVI_USES_GRAM = 1, LSVI_USES_WIDTHS = 2 };
void lgv__lsvi_layout(lsvi *core, const lsvi_params *params, const lgv_problem *problem, int uses,
                      lgv_layout *layout);

/* The last mask seen at stage h in state s (lsvi_masks.c); those of the following states follow.
 * NULL if nothing is masked. */
const uint8_t *lgv__lsvi_mask(const lsvi *core, int64_t h, int64_t s);
/* Only if the spec is masked: memory, everything allowed, and the two masks of a transition. */
void lgv__lsvi_layout_masks(lsvi *core, lgv_layout *layout);
void lgv__lsvi_open_masks(lsvi *core);
void lgv__lsvi_note_masks(lsvi *core, const lgv_transition *transition);

/* ---- planning, one stage at a time, from the last to the first ---- */
double *lgv__lsvi_q(lsvi *core, int64_t h);           /* (q_size): the place of a stage's Q */
int64_t lgv__lsvi_group(const lsvi *core, int64_t h); /* which data stage h uses */
/* A transition at stage h belongs to the groups from lgv__lsvi_group(h) to this one. */
int64_t lgv__lsvi_last_group(const lsvi *core, int64_t h);
/* Whether stage h is the first of a sweep to use its group: whatever depends on Lambda alone is
 * computed then, once per sweep where stages share it. */
bool lgv__lsvi_new_group(const lsvi *core, int64_t h);
/* b = sum phi (r + v[h+1]) */
LGV_CHECK lgv_status lgv__lsvi_targets(lsvi *core, int64_t h, lgv_error *err);
/* w_hat = Lambda^-1 b */
LGV_CHECK lgv_status lgv__lsvi_solve(lsvi *core, int64_t h, lgv_error *err);
void lgv__lsvi_values(lsvi *core, const double *w, double *q);     /* q = phi . w, all (s,a) */
void lgv__lsvi_values_max(lsvi *core, const double *w, double *q); /* q = max(q, phi . w) */
void lgv__lsvi_widths(lsvi *core, int64_t h);                      /* ||phi||_{Lambda^-1} */
/* The Cholesky factor of a block of Lambda. */
double *lgv__lsvi_factor(const lsvi *core, int64_t group, int64_t block);
/* After lgv__lsvi_widths: q += bonus * width. */
void lgv__lsvi_add_bonus(lsvi *core, int64_t h, double bonus, double *q);
/* The same: q is `value` where the width is at least high, linear between q and `value` from low
 * on. */
void lgv__lsvi_add_default(lsvi *core, int64_t h, double low, double high, double value, double *q);
/* That rule for one value of width u. */
double lgv__lsvi_between(double u, double low, double high, double q, double value);
/* The standard deviation of the noise on a target: the given one, or that of agent.prior_std. */
double lgv__lsvi_sigma(const lsvi *core, double given);
/* out = center + scale * N(0, Lambda_h^-1) */
void lgv__lsvi_perturb(lsvi *core, int64_t h, const double *center, double scale, double *out);
/* The most that stages h.. can pay: H - h for rewards <= 1. */
double lgv__lsvi_value_bound(const lsvi *core, int64_t h);
void lgv__lsvi_clip(lsvi *core, int64_t h, double *q); /* into what stages h.. can pay */
void lgv__lsvi_backup_max(lsvi *core, int64_t h);      /* v[h] = max_a q[h], among the allowed */
LGV_CHECK lgv_status lgv__lsvi_check_finite(const lsvi *core, const char *what, const double *x,
                                            int64_t n, int64_t h, lgv_error *err);

/* ---- hooks that agents share; core is the first member of their state ---- */
lgv_status lgv__lsvi_open(void *self, lgv_error *err);
lgv_status lgv__lsvi_act_greedy(void *self, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                                lgv_error *err);
lgv_status lgv__lsvi_observe(void *self, const lgv_transition *transition, lgv_error *err);
/* end_episode: the path becomes data, or with agent.delay the one that has waited long enough. The
 * second is for agents that look at that path first: lgv__lsvi_receive makes it the current one. */
lgv_status lgv__lsvi_absorb(void *self, lgv_error *err);
void lgv__lsvi_receive(lsvi *core);
lgv_status lgv__lsvi_absorb_path(lsvi *core, lgv_error *err);
lgv_status lgv__lsvi_q_values(void *self, const lgv_obs *obs, double *q, lgv_error *err);
void lgv__lsvi_policy_greedy(const void *self, const lgv_obs *obs, double *probabilities);
/* For exports: the parts of an agent with a feature map. */
void lgv__lsvi_policy_parts(const void *self, struct lgv_policy_parts *parts);
/* What happened at stage h of the current episode; false if it was not reached. */
bool lgv__lsvi_path_step(const lsvi *core, int64_t h, int64_t *pair, int64_t *next);
/* Adds n(s,a,s') to counts[s'], and the number of episodes that ended there to counts[S]. */
void lgv__lsvi_add_counts(const lsvi *core, int64_t group, int64_t pair, double *counts);
LGV_CHECK lgv_status lgv__lsvi_check_obs(const lsvi *core, const lgv_obs *obs, lgv_error *err);

#endif
