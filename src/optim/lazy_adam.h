/* Rows of parameters under Adam, of which an update touches only a few.
 *
 * A layer over one-hot observations has one row of weights per observation. A minibatch has a
 * gradient for its own rows; for all others it is 0. Adam moves those too, since their means m and
 * v decay slowly. With b1, b2 for alpha1, alpha2 of adam, x = sqrt(v), c1 = 1 - b1^t, c2 =
 * 1 - b2^t, the k-th of n steps that a row sits out, at time t = s + k, is
 *     w -= p_k m / (x + eps z_k),   p_k = (lr / c1) sqrt(c2) (b1 / sqrt(b2))^k,
 *                                   z_k = sqrt(c2) / b2^(k/2),
 * so that all of them together are, with S the sum of p_k, z the mean of z_k weighted by p_k, and V
 * its variance,
 *     w -= S m / (x + eps z) (1 + V (eps / (x + eps z))^2),   m *= b1^n,   v *= b2^n.
 * The bracket is the second order of the sum in z_k about its mean. The remainder is of third
 * order and, where v fades much slower than m (lgv__lazy_rows_fit), below the rounding of a float,
 * unless x < eps in the first few steps.
 * Terms past the horizon, where (b1 / sqrt(b2))^k < 2^-30, are left out as well.
 *
 * So a row is brought up to date when it is asked for, and an update costs as much as its own rows.
 * The same holds for the target network: lgv__lazy_rows_snapshot only notes the time; a row is
 * copied when it is asked for or about to change. The result is that of dense Adam steps and dense
 * copies but for rounding.
 *
 * Invariants: (1) w, m, v of a row are those of time at[row] <= now; (2) target of a row is w of
 * time snapped[row]; (3) snapped[row] < the time of the last snapshot implies at[row] <= that time.
 */
#ifndef LGV_OPTIM_LAZY_ADAM_H
#define LGV_OPTIM_LAZY_ADAM_H

#include "optim/optim_type.h"

enum { LAZY_NOW, LAZY_SNAPSHOT, LAZY_CLOCKS };

typedef struct lazy_rows {
  const lgv_optim_type *adam;
  const optim_params *p;
  int64_t rows, width;
  int64_t horizon, settled;  /* steps after which p_k is 0, and c1 = c2 = 1 */
  int64_t *clock;            /* (LAZY_CLOCKS): steps taken; at the last snapshot */
  int64_t *at, *snapped;     /* (rows) */
  float *w, *m, *v, *target; /* (rows x width) */
  double *gain, *root;       /* (settled + 1): (lr / c1) sqrt(c2) and sqrt(c2) at time t */
  double *power, *growth;    /* (horizon + 1): (b1 / sqrt(b2))^k and b2^(-k/2) */
  float *keep_m, *keep_v;    /* (horizon + 1): b1^k and b2^k */
  float *scratch[3];         /* (width) each */
} lazy_rows;

/* Whether this optimizer can be lazy: plain Adam, whose m fades within a bounded time, in which v
 * hardly changes. */
bool lgv__lazy_rows_fit(const lgv_optim_type *optimizer, const void *params);
void lgv__lazy_rows_layout(lazy_rows *l, int64_t rows, int64_t width, const lgv_optim_type *adam,
                           const void *params, lgv_layout *layout);
/* After w was filled: the target begins as w. */
void lgv__lazy_rows_open(lazy_rows *l);

/* A row as it is now, and as it was at the last snapshot: (width), until it is stepped. */
const float *lgv__lazy_rows_online(lazy_rows *l, int64_t row);
const float *lgv__lazy_rows_target(lazy_rows *l, int64_t row);
/* `count` numbers of a row as they are now, from `begin` on; nothing but scratch is written. */
const float *lgv__lazy_rows_peek(lazy_rows *l, int64_t row, int64_t begin, int64_t count);

/* One update: perhaps a snapshot of w before it, a step for each row that was asked for online
 * and has a gradient g (width), and the end, at which all others have sat it out. */
void lgv__lazy_rows_snapshot(lazy_rows *l);
void lgv__lazy_rows_step(lazy_rows *l, int64_t row, const float *g);
void lgv__lazy_rows_end(lazy_rows *l);

#endif
