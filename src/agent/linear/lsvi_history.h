/* Least-squares value iteration from the history itself, for any feature map and any observation:
 * the representation behind the verbs of lsvi_core where agent.features names a map.
 *
 * Data. Every observation is kept once, as floats, one row each in the order of time: the next
 * observation of row t is row t + 1. The last row of an episode has no action. Rows are mapped
 * once; phi is a cache that is computed anew after a load, and when the box of the inputs grows. A
 * map psi(x) stands for phi(x, a) = e_a (x) psi(x): Lambda has one block per action, and Q of many
 * rows is one product. There is room for all rows that the run can bring, up to a gigabyte of
 * features; if the history is full, the oldest eighth is dropped.
 *
 * The rows of an episode become data when the next plan begins. Lambda, the box of the inputs and Q
 * change together there, so that values stay those of one plan until the next.
 *
 * Plan. Q_h is a small function: the weights of one or several samples (lsvi.q), and a rule for
 * what happens to their greatest value: a bonus, a default value where data are scarce, bounds. It
 * is evaluated where it is needed: at the next observations when the targets of stage h - 1 are
 * built, and at the current observation when acting. Products are in float over blocks of rows,
 * sums over rows, Lambda and solutions in double.
 *
 * agent.form = stages is the paper's: stage h has the data of stage h, or all data with agent.pool.
 * discounted: agent.sweeps sweeps over all data with targets r + gamma V(x'), from the V of the
 * previous plan on; acting is greedy in the last sweep. All sweeps of a plan draw the same noise,
 * as one value function has it.
 *
 * Units. Noise follows agent.prior_std: the standard deviation of a value where there are no data,
 * in units of the range of values. That range is the one of the returns seen so far (from any step
 * to the end of its episode, with 0), or of one reward if that is more. With prior_std p, range R
 * and ridge lambda, noise has variance sigma^2 = lambda (p R)^2. In the discounted form the prior
 * mean of a value is the greatest return seen, or 0 if that is more: what is unknown counts as good
 * as the best that is known, whatever the sign of rewards. Returns are data, so that noise does not
 * move it. In stages it is 0, as in the papers. Q is cut to what rewards can pay; in the discounted
 * form, and where the range of rewards is unknown, also to one R beyond the returns seen.
 *
 * Invariants: rows[LEARNED] <= rows[COMPLETE] <= rows[ROWS] <= capacity; the last row has no
 * action; the rows from COMPLETE on belong to the current episode, Lambda has those before LEARNED.
 */
#ifndef LGV_AGENT_LINEAR_LSVI_HISTORY_H
#define LGV_AGENT_LINEAR_LSVI_HISTORY_H

#include "agent/features/feature_input.h"
#include "agent/features/feature_rows.h"
#include "langevin.h"

#include <stddef.h>

struct lsvi;
struct lsvi_params;

/* Of lsvi_history.rows: all rows, those of complete episodes, and those that Lambda has; 0 of the
 * last: it is computed anew. */
enum { HISTORY_ROWS, HISTORY_COMPLETE, HISTORY_LEARNED, HISTORY_SIZE };
enum { HISTORY_BLOCK = 256 }; /* rows of a product */
/* Of a rule, in this order: CENTER is added to the samples' greatest value; it moves to DEFAULT
 * where the width is above NARROW, wholly from WIDE on; BONUS times the width is added; Q is cut to
 * [LOW, HIGH]. */
enum {
  RULE_CENTER,
  RULE_NARROW,
  RULE_WIDE,
  RULE_DEFAULT,
  RULE_BONUS,
  RULE_LOW,
  RULE_HIGH,
  RULE_SIZE
};

typedef struct lsvi_history {
  const lgv_feature_type *map; /* NULL: the states are finite, and counts stand for the history */
  _Alignas(max_align_t) unsigned char map_self[LGV_FEATURE_STATE];
  feature_input input;
  int64_t m;        /* features of one block of Lambda */
  int64_t capacity; /* rows */
  int64_t horizon;  /* of the environment, or 0 */
  int64_t samples;  /* of w in a stage */
  bool discounted;
  double gamma; /* 1 in stages */
  /* data */
  int64_t *rows; /* (HISTORY_SIZE) */
  float *obs;    /* (capacity x inputs) */
  int32_t *action, *stage;
  double *reward;
  uint8_t *ended;     /* whether the task ended after the row */
  uint8_t *masks;     /* (capacity x A): 1 or 0; NULL if nothing is masked */
  double *returns;    /* (2): the least and the greatest return seen, with 0 */
  double *phi_square; /* (1): the greatest ||phi||^2 seen */
  /* plan */
  double *rules; /* ((H + 1) x RULE_SIZE) */
  /* caches */
  int64_t *mapped;  /* (1): rows of phi that are there */
  feature_rows phi; /* of all rows */
  float *u;         /* (capacity x A): ||phi||_{Lambda^-1}; NULL if not used */
  int64_t u_group;  /* of u; -1: none */
  double *y;        /* (capacity): targets of the current stage */
  double center;    /* the prior mean of a plan's values */
  int64_t members;  /* rows of the current stage's group */
  int64_t filled;   /* samples of the current stage that are there */
  lgv_rng *init;    /* for the map */
  lgv_rng noise;    /* where the noise of a plan began */
  /* scratch */
  int64_t *block;       /* (BLOCK): rows whose targets are computed together */
  int64_t *place;       /* (BLOCK): where they are in q and block_y */
  float *weights;       /* (m x A x samples) */
  float *q;             /* (BLOCK x A x samples): values after the rows of the block */
  float *block_y;       /* (A x BLOCK): targets of the block, each in the row of its action */
  float *block_b;       /* (d): what they add to b */
  float *one;           /* (inputs): an observation */
  float *scaled;        /* (BLOCK x inputs) */
  feature_rows one_phi; /* of that observation */
  double *whitened;     /* (m x BLOCK) */
  double *one_q;        /* (A) */
} lsvi_history;

/* Checks the map, its bounds and the size of the history. */
LGV_CHECK lgv_status lgv__history_resolve(struct lsvi_params *params, const lgv_problem *problem,
                                          lgv_error *err);
/* Sets d and blocks of the core, and names the arrays. */
void lgv__history_layout(struct lsvi *core, const lgv_problem *problem, int uses,
                         lgv_layout *layout);
LGV_CHECK lgv_status lgv__history_open(struct lsvi *core, lgv_error *err);

/* Within this representation: */
/* The rows of complete episodes become data; those of an episode that was given up are forgotten.
 * *grown: the box of the inputs has grown, so that weights from before mean nothing. */
LGV_CHECK lgv_status lgv__history_learn(struct lsvi *core, bool *grown, lgv_error *err);
void lgv__history_plain_rule(struct lsvi *core, int64_t h); /* Q is the value of the samples */
bool lgv__history_has(const struct lsvi *core, int64_t h, int64_t row); /* a datum of stage h? */

/* ---- the verbs of lsvi_core ---- */
LGV_CHECK lgv_status lgv__history_targets(struct lsvi *core, int64_t h, lgv_error *err);
void lgv__history_values(struct lsvi *core, const double *w, double *q, bool first);
void lgv__history_bonus(struct lsvi *core, int64_t h, double bonus);
void lgv__history_default(struct lsvi *core, int64_t h, double low, double high, double value);
void lgv__history_clip(struct lsvi *core, int64_t h);
double lgv__history_bound(const struct lsvi *core, int64_t h); /* the greatest value of stage h */
double lgv__history_sigma(const struct lsvi *core);            /* of the noise: see above */
LGV_CHECK lgv_status lgv__history_check_stage(const struct lsvi *core, int64_t stage,
                                              lgv_error *err);
/* Q of the current plan at an observation: *q (A), until the next call. */
LGV_CHECK lgv_status lgv__history_act_values(const struct lsvi *core, const lgv_obs *obs,
                                             const double **q, lgv_error *err);
void lgv__history_observe(struct lsvi *core, const lgv_transition *t);
void lgv__history_absorb(struct lsvi *core);
/* For minibatches: a random row of the current stage's data. */
int64_t lgv__history_draw(const struct lsvi *core, int64_t h);
/* The first weight of an action in w. */
int64_t lgv__history_block_at(const struct lsvi *core, int32_t action);

#endif
