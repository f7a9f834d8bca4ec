/* All the data of a run over sparse observations, by state and by pair (s, a), with what a
 * regression of Q on them needs: for every pair the mean target and its precision.
 *
 * Targets are y_i = r_i + gamma V(s'_i), V = 0 after a terminal step. For a pair tried n times
 * with the mean y and the sum of squares S = sum of (y_i - y)^2,
 *     noise^2  = (M + S) / n,     M the greatest S / n of all pairs,
 *     weight   = n / (sigma^2 + noise^2).
 * So the noise of the targets is measured, not guessed: M counts as one more observation, so a
 * pair seen once is as uncertain as the noisiest pair, and with n its own noise takes over. Where
 * nothing is random all S are 0 and sigma alone remains.
 *
 * Invariants: states are numbered in the order of discovery; arrays over pairs are (actions x
 * capacity), so that the states of one action lie side by side. */
#ifndef LGV_AGENT_DEEP_PAIRS_H
#define LGV_AGENT_DEEP_PAIRS_H

#include "replay/transition_counts.h"

typedef struct pairs {
  transition_counts data;
  int64_t capacity; /* the most states: one for every observation */
  int32_t actions;
  int64_t *states;                  /* (1): known so far */
  int32_t *index;                   /* (capacity): the observation, as in net_input */
  int32_t *number;                  /* (capacity): 1 + the state of index i - 1, or 0 */
  double *reward_squares;           /* (actions x capacity) */
  double *count, *target, *squares; /* (actions x capacity): n, y, S */
  float *weight;                    /* (actions x capacity); 0 if never tried */
  uint8_t *masks;                   /* (capacity x actions): 1 or 0; NULL: nothing is masked */
} pairs;

/* length: of observations; most: distinct transitions. */
void lgv__pairs_layout(pairs *p, int32_t length, int32_t actions, int64_t most, lgv_layout *layout);
/* How loaded data violate the invariants, or NULL. env: the environment of the observations. */
const char *lgv__pairs_fault(const pairs *p, const lgv_env_spec *env);
/* The number of the state seen as index; a new one if it is not known yet. */
int64_t lgv__pairs_state(pairs *p, int32_t index);
/* The last mask of each state, for problems with masks. */
void lgv__pairs_layout_masks(pairs *p, lgv_layout *layout);
void lgv__pairs_keep_mask(pairs *p, int64_t state, const uint8_t *mask); /* NULL: all are allowed */
static inline bool lgv__pairs_allows(const pairs *p, int64_t state, int32_t action) {
  return !p->masks || p->masks[state * p->actions + action];
}
/* Both states must be known. False if the transition is a new one and there is no room. */
bool lgv__pairs_add(pairs *p, int32_t index, int32_t action, double reward, int32_t next,
                    bool terminated);
/* Sets count, target, squares and weight from V, (states); returns M. */
double lgv__pairs_set_targets(pairs *p, const float *values, double gamma, double sigma);

#endif
