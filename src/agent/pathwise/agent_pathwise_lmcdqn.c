/* Pathwise LMCDQN: a Langevin chain on the noise of a posterior, for deep exploration from any
 * observation. Not from a paper: it keeps the idea of Ishfaq et al. (ICLR 2024), one Langevin
 * sample of Q per episode and greedy acting, and changes what the chain moves.
 *
 * The model. A code groups observations into cells (observation_code.h). With c the cell of s, and
 * f a network that sees one observation of each cell,
 *
 *     Q(s, a) = f(c, a) + w(c, a),     w(c, a) ~ N(0, s0^2) before any data,
 *     ybar(c, a) = Q(s, a) + N(0, v / n),
 *
 * where ybar is the mean over the n visits of the pair of r + gamma max_a' Q(s', a'), and v is the
 * variance of a target.
 *
 * The sample. Given ybar, a draw of the posterior is a function of noise that no data touch
 * (Matheron's rule): with s0 x a draw of the prior and zeta a draw of the data's noise,
 *
 *     Q = argmin  n / (2 v) (Q - ybar - sqrt(v / n) zeta)^2 + (Q - f - s0 x)^2 / (2 s0^2)
 *       = (k (ybar + sqrt(v / n) zeta) + p (f + s0 x)) / (k + p),    k = n / v,   p = 1 / s0^2.
 *
 * The chain. Before each episode the noise makes one Langevin step on its own potential, which is
 * perfectly conditioned whatever the data are, so that the step can be exact (Ornstein-Uhlenbeck):
 *
 *     x <- rho x + sqrt(1 - rho^2) xi,     zeta <- rho zeta + sqrt(1 - rho^2) xi'.
 *
 * With fixed targets, Q has the law N((k ybar + p f) / (k + p), 1 / (k + p)) at all times, and the
 * samples of successive episodes have the correlation rho. A chain on w itself, as in Algorithm 1
 * of the paper, has a step size that the most visited pair limits, and needs n / lambda steps for
 * the others.
 *
 * The sweeps. Since ybar depends on Q, sweeps over the cells apply the formula in place
 * (Gauss-Seidel) until it has settled, from the most to the least recently visited cell, so that
 * one sweep carries the end of an episode back to its beginning: without circles, their number does
 * not depend on the length of episodes. The same happens, without new noise, when a pair is tried
 * for the first time, because what the sample had promised there is known now; at other steps the
 * cell that was left follows its new data. Sweeps cover only the most recent cells if all of them
 * are more than agent.work allows. The other cells keep an older sample. Where names are not exact,
 * one solution has at most SWEEPS sweeps: a cell holds many observations, and a circle that exists
 * only between names should not collect its noise.
 *
 * Circles. A sample may promise more in a circle than outside, forever: it treats as random a
 * transition that is fixed within the episode, such as a door that is open in some episodes only.
 * So where names are exact and the world has turned out to be fixed within episodes, the agent
 * gives up its sample when it comes back to an observation without news (a first try of a pair, or
 * a reward above the least one: circles.h). Until the next sample, a lost agent acts by the mean of
 * the data, with one random action in DITHER. In an episode longer than LONG_EPISODE / (1 - gamma)
 * steps, the next sample comes after so many.
 *
 * Units. v = sigma^2 + S + M / n^2, where S is the variance of the pair's targets over its visits
 * and M the greatest S of all pairs: a pair seen once is as uncertain as the noisiest one, and with
 * n its own noise takes over. Where nothing is random, sigma = (1 - gamma) s0 remains: a maximum
 * turns noise of the targets into bias, and a value sums up the bias of 1 / (1 - gamma) backups, in
 * all about one deviation of the prior, so that what is known cannot look better than what is not.
 * s0 is a quarter of the greatest size of a reward: the one that the environment states, else the
 * greatest one seen, at least 1.
 *
 * Where names are exact, circles are exact, too: a step against a wall leads to the same cell
 * forever, and collects its own noise. There sigma is a tenth of that, M counts in full only for
 * visits that ended the task, else (1 - gamma)^2 M, and noise that comes from not knowing the next
 * cell never leads beyond the best or the worst of the cells seen. The law above holds without that
 * limit, which acts where a pair has led to different cells.
 *
 * The network learns the sampled Q of the pairs that were tried, at most s0 above or below their
 * mean, from agent.batch cells per update: the mean over samples and over similar observations,
 * with the optimism that samples have. It starts at 0, and f is cut to the range of values that the
 * data support. Where names are exact, it learns a pair only once the data say more than the prior,
 * v / n <= s0^2: a network that repeats one noisy reward makes it count twice, and the agent would
 * not come back to learn better.
 *
 * Evaluation uses the mean of the data: Q = ybar with its own V, where an action that was never
 * tried counts one deviation of the prior less than f. At an observation without a cell it
 * uses f alone.
 *
 * Masks: the mask of a cell is the last one seen. */
#include "agent/agent.h"
#include "agent/pathwise/cell_network.h"
#include "agent/pathwise/circles.h"
#include "agent/pathwise/observation_code.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/stack.h"
#include "math/kernels.h"
#include "replay/replay.h"

#include <math.h>
#include <string.h>

enum {
  SWEEPS = 10,            /* that the work must pay for; the most where names are not exact */
  MOST_UPDATES = 1 << 16, /* of the network, in one plan */
  LONG_EPISODE = 10,      /* a sample lasts at most this many times 1 / (1 - gamma) steps */
  DITHER = 10             /* one in this many actions of a lost agent is random */
};

typedef struct params {
  dqn_params dqn; /* of the network: its rows below are all that is used */
  double prior, sigma, rho;
  int64_t work, cells;
} params;

static const char *const preset_names[] = {"auto", "small", "pictures", NULL};

/* clang-format off */
static const lgv_param param_table[] = {
    DQN_PRESET_ROW(preset_names, "pictures for pictures of at least 36 x 36, else small"),
    DQN_NET_ROWS,
    LGV_REAL_ROW(params, dqn.gamma, "gamma", "0.99", 0, 1, LGV_OPEN_MAX, "discount"),
    LGV_REAL_ROW(params, prior, "prior", "0", 0, 1e6, 0, "s0: prior deviation of values; 0: a quarter of the greatest size of a reward"),
    LGV_REAL_ROW(params, sigma, "sigma", "0", 0, 1e6, 0, "standard deviation of a target where nothing is random; 0: (1 - gamma) prior, a tenth of that where observations repeat exactly"),
    LGV_REAL_ROW(params, rho, "rho", "0.5", 0, 1, LGV_OPEN_MAX, "correlation of the samples of two successive episodes"),
    LGV_INT_ROW(params, work, "work", "20000", 1, 1e12, "the most pairs that sweeps compute per step; they stop earlier when the sample has settled"),
    LGV_INT_ROW(params, cells, "cells", "50000", 4, 1e8, "the most cells; when they are used up, the half that was not visited for longest is forgotten"),
    LGV_INT_ROW(params, dqn.batch, "batch", "64", 1, 65536, "cells in a minibatch of the network"),
    LGV_INT_ROW(params, dqn.update_every, "update_every", "0", 0, 1e9, "environment steps per update of the network; 0: 1 for an mlp, 8 with convolutions"),
    {0}};
/* clang-format on */

enum { COUNT_STEPS, COUNT_PLANNED, COUNT_SWEPT, COUNTERS };
/* The greatest |r| seen; M; the least and the greatest mean of a tried pair. */
enum { REAL_REWARD, REAL_NOISE, REAL_LEAST, REAL_MOST, REALS };
enum {
  STAT_LOSS,
  STAT_Q_MEAN,
  STAT_Q_MAX,
  STAT_CELLS,
  STAT_LEVEL,
  STAT_NOISE,
  STAT_UPDATES,
  STATS
};

typedef struct self {
  const params *p;
  lgv_env_spec env;
  int32_t A;
  lgv_rng *act, *eval, *noise;
  observation_code code;
  cells cells;
  cell_network network;
  circles circles;
  int64_t *count; /* (COUNTERS) */
  double *real;   /* (REALS) */
  double *stat;   /* (STATS) */
  uint8_t *seen;  /* (2 x obs_bytes): encoded observations */
  double *values; /* (A) */
} self;

/* ---- parameters and memory ---- */

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  (void)is_set;
  params *p = params_;
  const lgv_env_spec *env = &problem->env;
  p->dqn.scale.obs = NORMALIZE_AUTO;
  int64_t streams = problem->streams > 1 ? problem->streams : 1;
  p->dqn.replay = streams * (lgv__frames(env) + 1); /* there is none: the least that passes */
  LGV_TRY(lgv__dqn_resolve(&p->dqn, problem, (dqn_sizes){0}, err));
  if (p->dqn.update_every == 0) p->dqn.update_every = p->dqn.net == NET_MLP ? 1 : 8;
  return LGV_OK;
}

static const char *counter_fault(const void *self_) {
  bool ok = lgv__are_counts(((const self *)self_)->count, COUNTERS);
  return ok ? NULL : "counter out of range";
}

static const char *real_fault(const void *self_) {
  const double *real = ((const self *)self_)->real;
  for (int i = 0; i < REALS; i++)
    if (!isfinite(real[i]) || (i <= REAL_NOISE && real[i] < 0)) return "a number that cannot be";
  return NULL;
}

static const char *cells_fault(const void *self_) {
  const self *s = self_;
  const cells *c = &s->cells;
  const char *fault = lgv__cells_fault(c);
  for (int64_t i = 0; !fault && i < c->size[CELLS_COUNT]; i++)
    if (!lgv__replay_is_observation(&s->env, cells_example(c, i)))
      fault = "cell.example: an observation that cannot be";
  return fault;
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = params_;
  s->env = problem->env;
  s->A = s->env.actions.count;
  s->act = problem->act;
  s->eval = problem->eval;
  s->noise = problem->noise;
  s->count = lgv_layout_array(out, "counters", LGV_I64, COUNTERS, LGV_KEEP);
  lgv_layout_check(out, counter_fault, s);
  s->real = lgv_layout_array(out, "reals", LGV_F64, REALS, LGV_KEEP);
  lgv_layout_check(out, real_fault, s);
  s->stat = lgv_layout_array(out, "stats", LGV_F64, STATS, LGV_KEEP);
  s->cells.actions = s->A;
  s->cells.capacity = s->p->cells;
  s->cells.obs_bytes = lgv__replay_encoded_bytes(&s->env);
  lgv__observation_code_layout(&s->code, &s->env, out);
  lgv__circles_layout(&s->circles, problem->streams, out);
  lgv__cell_network_layout(&s->network, &s->p->dqn, &s->env, &s->cells, problem, out);
  s->seen = lgv_layout_array(out, "seen", LGV_U8, 2 * s->cells.obs_bytes, LGV_SCRATCH);
  s->values = lgv_layout_array(out, "values", LGV_F64, (size_t)s->A, LGV_SCRATCH);
  lgv__cells_layout(&s->cells, s->env.masked, out);
  lgv_layout_check(out, cells_fault, s);
}

static lgv_status open_agent(void *self_, lgv_error *err) {
  (void)err;
  self *s = self_;
  lgv__cell_network_open(&s->network);
  lgv__observation_code_open(&s->code);
  lgv__cells_open(&s->cells);
  return LGV_OK;
}

/* ---- units ---- */

static double within(double x, double least, double most) {
  double up = x > least ? x : least;
  return up < most ? up : most;
}

/* s0 */
static double prior_of(const self *s) {
  const lgv_env_spec *env = &s->env;
  if (s->p->prior > 0) return s->p->prior;
  double stated = fmax(fabs(env->reward_min), fabs(env->reward_max));
  return 0.25 * (stated > 0 && isfinite(stated) ? stated : fmax(1, s->real[REAL_REWARD]));
}

/* Whether a cell holds one observation. */
static bool is_exact(const self *s) { return s->code.count[CODE_LEVEL] == 0; }

static double sigma_of(const self *s) {
  if (s->p->sigma > 0) return s->p->sigma;
  return (is_exact(s) ? 0.1 : 1) * (1 - s->p->dqn.gamma) * prior_of(s);
}

/* ---- the posterior ---- */

/* The sizes that all pairs of a sweep share. */
typedef struct sizes {
  double s0, sigma;
  double noise, once; /* M, and the share of sqrt(M) that counts if a visit does not end the task */
  double least, most; /* of the network's values */
  bool exact;
} sizes;

/* A value of the network is cut to the range of the means of tried pairs, or to two deviations of
 * the prior if that is wider: it generalizes, and must not promise what no data support. Without
 * that, means and network raise each other. */
static sizes sizes_of(const self *s) {
  double s0 = prior_of(s);
  return (sizes){.s0 = s0,
                 .sigma = sigma_of(s),
                 .noise = s->real[REAL_NOISE],
                 .once = 1 - s->p->dqn.gamma,
                 .least = fmin(s->real[REAL_LEAST], -2 * s0),
                 .most = fmax(s->real[REAL_MOST], 2 * s0),
                 .exact = is_exact(s)};
}

/* ybar + sqrt(v / n) zeta, where what the choice of the next cell adds stays between the worst and
 * the best of these cells. */
static double noisy_target(const cell_target *t, double v, double zeta) {
  double noise = sqrt(v / t->n) * zeta, own = sqrt((v - t->future_variance) / t->n) * fabs(zeta);
  return within(t->sample + noise, t->lowest - own, t->highest + own);
}

/* v. A circle collects the noise of its pairs 1 / (1 - gamma) times: where names are exact, what is
 * not yet known about the noise counts in full only for visits that ended the task. */
static double target_variance(const sizes *u, const cell_target *t) {
  double once = u->exact ? t->ended + (1 - t->ended) * u->once : 1;
  return u->sigma * u->sigma + t->reward_variance + t->future_variance +
         once * once * u->noise / (t->n * t->n);
}

/* Sets the sample and the mean of a pair; returns the variance of its targets. */
static double sample_pair(self *s, const sizes *u, int64_t pair) {
  cells *c = &s->cells;
  double f = within(u->s0 * (double)c->base[pair], u->least, u->most);
  double x = (double)c->prior[pair], zeta = (double)c->noise[pair];
  if (c->count[pair] == 0) {
    c->value[pair] = (float)(f + u->s0 * x);
    c->mean[pair] = (float)(f - u->s0);
    return 0;
  }
  cell_target t = lgv__cells_target(c, pair, s->p->dqn.gamma);
  double v = target_variance(u, &t), k = t.n / v, p = 1 / (u->s0 * u->s0);
  double y = u->exact ? noisy_target(&t, v, zeta) : t.sample + sqrt(v / t.n) * zeta;
  c->value[pair] = (float)((k * y + p * (f + u->s0 * x)) / (k + p));
  c->mean[pair] = (float)t.mean;
  c->taught[pair] = !u->exact || v <= t.n * u->s0 * u->s0;
  return t.reward_variance + t.future_variance;
}

/* Of all pairs of a cell; returns the greatest variance. */
static double sample_cell(self *s, const sizes *u, int64_t cell) {
  cells *c = &s->cells;
  double most = 0;
  float best = -INFINITY, mean_best = -INFINITY;
  for (int32_t a = 0; a < s->A; a++) {
    int64_t pair = cell * s->A + a;
    double variance = sample_pair(s, u, pair);
    if (variance > most) most = variance;
    if (!lgv__cells_allow(c, cell, a)) continue;
    if (c->value[pair] > best) best = c->value[pair];
    if (c->mean[pair] > mean_best) mean_best = c->mean[pair];
  }
  c->best[cell] = best;
  c->mean_best[cell] = mean_best;
  return most;
}

/* A cell by itself, between sweeps. */
static void sample_alone(self *s, int64_t cell) {
  sizes u = sizes_of(s);
  sample_cell(s, &u, cell);
}

/* The step of the chain, at the `count` most recent cells. */
static void renew(self *s, int64_t count) {
  cells *c = &s->cells;
  double rho = s->p->rho, fresh = sqrt(1 - rho * rho);
  for (int64_t i = c->size[CELLS_NEWEST]; i >= 0 && count-- > 0; i = c->older[i])
    for (int64_t p = i * s->A; p < (i + 1) * s->A; p++) {
      c->prior[p] = (float)(rho * (double)c->prior[p] + fresh * lgv_rng_normal(s->noise));
      c->noise[p] = (float)(rho * (double)c->noise[p] + fresh * lgv_rng_normal(s->noise));
    }
}

/* One sweep over the `count` most recent cells; returns the greatest change of a V. Sizes that hold
 * for all pairs are known after a sweep over all cells; one over fewer can only widen them. */
static double sweep(self *s, int64_t count) {
  const cells *c = &s->cells;
  bool all = count == c->size[CELLS_COUNT];
  sizes u = sizes_of(s);
  double noise = all ? 0 : s->real[REAL_NOISE], least = all ? INFINITY : s->real[REAL_LEAST],
         most = all ? -INFINITY : s->real[REAL_MOST], change = 0;
  for (int64_t i = c->size[CELLS_NEWEST]; i >= 0 && count-- > 0; i = c->older[i]) {
    float before = c->best[i];
    double variance = sample_cell(s, &u, i), moved = fabs((double)(c->best[i] - before));
    if (variance > noise) noise = variance;
    if (moved > change) change = moved;
    for (int64_t p = i * s->A; p < (i + 1) * s->A; p++) {
      double mean = (double)c->mean[p];
      if (c->count[p] == 0) continue;
      if (mean < least) least = mean;
      if (mean > most) most = mean;
    }
  }
  s->real[REAL_NOISE] = noise;
  s->real[REAL_LEAST] = least;
  s->real[REAL_MOST] = most;
  return change;
}

/* How many cells can be swept SWEEPS times with the work of so many steps. */
static int64_t affordable(const self *s, int64_t steps) {
  double cells = (double)s->p->work * (double)steps / (SWEEPS * s->A);
  return (int64_t)fmin(fmax(cells, 1), (double)s->cells.size[CELLS_COUNT]);
}

/* Sweeps until the sample has settled, or the work of so many steps is done. */
static void solve(self *s, int64_t steps) {
  int64_t cells = affordable(s, steps), pairs = cells * s->A;
  double work = (double)s->p->work * (double)steps;
  if (!is_exact(s)) work = fmin(work, (double)(SWEEPS * pairs));
  double enough = 0.01 * (1 - s->p->dqn.gamma) * prior_of(s);
  s->count[COUNT_SWEPT] = s->count[COUNT_STEPS];
  do work -= (double)pairs;
  while (sweep(s, cells) > enough && work > 0);
}

/* If the code is too fine: joins cells until there are few enough. */
static void coarsen(self *s) {
  cells *c = &s->cells;
  if (!lgv__observation_code_is_too_fine(&s->code, c->size[CELLS_COUNT])) return;
  lgv__observation_code_restart(&s->code);
  do {
    lgv__observation_code_coarsen(&s->code);
    for (int64_t i = 0; i < c->size[CELLS_COUNT]; i++)
      c->key[i] = lgv__observation_code(&s->code, cells_example(c, i));
    lgv__cells_merge(c);
  } while (lgv__observation_code_is_too_fine(&s->code, c->size[CELLS_COUNT]));
}

static void take_stats(self *s) {
  const cells *c = &s->cells;
  double sum = 0, most = -INFINITY, known = (double)c->size[CELLS_COUNT];
  for (int64_t i = 0; i < c->size[CELLS_COUNT]; i++) {
    sum += (double)c->best[i];
    most = fmax(most, (double)c->best[i]);
  }
  s->stat[STAT_Q_MEAN] = sum / known;
  s->stat[STAT_Q_MAX] = most;
  s->stat[STAT_CELLS] = known;
  s->stat[STAT_LEVEL] = (double)s->code.count[CODE_LEVEL];
  s->stat[STAT_NOISE] = sqrt(s->real[REAL_NOISE]);
  s->stat[STAT_UPDATES] = (double)*s->network.updates;
}

/* The next sample, after the `steps` since the last one. */
static lgv_status plan(self *s, lgv_error *err) {
  int64_t steps = s->count[COUNT_STEPS] - s->count[COUNT_PLANNED];
  if (steps == 0) return LGV_OK;
  coarsen(s);
  int64_t every = s->p->dqn.update_every;
  renew(s, affordable(s, steps));
  int64_t updates = s->count[COUNT_STEPS] / every - s->count[COUNT_PLANNED] / every;
  for (int64_t i = 0; i < updates && i < MOST_UPDATES; i++)
    s->stat[STAT_LOSS] = lgv__cell_network_update(&s->network, prior_of(s));
  lgv__cell_network_refresh(&s->network);
  solve(s, steps);
  lgv__circles_restart(&s->circles);
  s->count[COUNT_PLANNED] = s->count[COUNT_STEPS];
  take_stats(s);
  if (isfinite(s->stat[STAT_LOSS]) && isfinite(s->stat[STAT_Q_MEAN])) return LGV_OK;
  return lgv_fail(err, LGV_ERR_NUMERIC,
                  "a value or the loss is not a finite number after %lld steps: scale the rewards, "
                  "or lower optim.lr",
                  (long long)s->count[COUNT_STEPS]);
}

/* ---- learning ---- */

/* The cell of an observation; a new one, with its draw of the prior, if there is none. */
static int64_t meet(self *s, const uint8_t *encoded, const uint8_t *mask, bool *is_new) {
  cells *c = &s->cells;
  uint64_t key = lgv__observation_code(&s->code, encoded);
  int64_t cell = lgv__cells_find(c, key);
  *is_new = cell < 0;
  if (*is_new) cell = lgv__cells_add(c, key, encoded);
  lgv__cells_keep_mask(c, cell, mask);
  if (!*is_new) return cell;
  const float *f = lgv__cell_network_values(&s->network, encoded);
  memcpy(c->base + cell * s->A, f, (size_t)s->A * sizeof *f);
  for (int64_t p = cell * s->A; p < (cell + 1) * s->A; p++) {
    c->prior[p] = (float)lgv_rng_normal(s->noise);
    c->noise[p] = (float)lgv_rng_normal(s->noise);
  }
  sample_alone(s, cell);
  return cell;
}

/* Counts a transition; returns the cell that it leaves. to: where it leads. */
static int64_t take(self *s, const lgv_transition *t, int64_t *to) {
  cells *c = &s->cells;
  uint8_t *obs = s->seen, *next = s->seen + c->obs_bytes;
  bool is_new;
  lgv__replay_encode(&s->env, &t->obs, obs);
  lgv__replay_encode(&s->env, &t->next, next);
  lgv__cell_network_see(&s->network, t);
  lgv__observation_code_see(&s->code, obs);
  lgv__observation_code_see(&s->code, next);
  lgv__cells_make_room(c);
  int64_t from = meet(s, obs, t->obs.mask, &is_new);
  lgv__cells_visit(c, from);
  *to = CELLS_END;
  if (!t->terminated) {
    *to = meet(s, next, t->next.mask, &is_new);
    lgv__cells_visit(c, *to);
    lgv__observation_code_look(&s->code, is_new);
  }
  lgv__cells_count(c, from, t->action->choice, t->reward, *to);
  return from;
}

static lgv_status observe(void *self_, const lgv_transition *t, lgv_error *err) {
  self *s = self_;
  const cells *c = &s->cells;
  s->real[REAL_REWARD] = fmax(s->real[REAL_REWARD], fabs(t->reward));
  int64_t to, from = take(s, t, &to), steps = ++s->count[COUNT_STEPS];
  int64_t pair = from * s->A + t->action->choice;
  if (c->count[pair] == 1) {
    /* what the sample had promised there is known now */
    solve(s, steps - s->count[COUNT_SWEPT]);
    lgv__circles_news(&s->circles);
  } else {
    sample_alone(s, from);
  }
  bool varies = lgv__cells_vary(c, pair);
  if (to != CELLS_END && is_exact(s))
    lgv__circles_step(&s->circles, t->action->choice, varies, c->key[to], t->reward);
  double served = (double)(steps - s->count[COUNT_PLANNED]) / s->circles.streams;
  return served < nearbyint(LONG_EPISODE / (1 - s->p->dqn.gamma)) ? LGV_OK : plan(s, err);
}

/* The walk of an episode that was given up is over. */
static lgv_status begin_episode(void *self_, lgv_error *err) {
  (void)err;
  lgv__circles_begin(&((self *)self_)->circles);
  return LGV_OK;
}

static lgv_status end_episode(void *self_, lgv_error *err) { return plan(self_, err); }

/* ---- acting ---- */

/* The mean values, or the network's where there is no cell. */
static void evaluate(self *s, const lgv_obs *obs) {
  lgv__replay_encode(&s->env, obs, s->seen);
  int64_t cell = lgv__cells_find(&s->cells, lgv__observation_code(&s->code, s->seen));
  double s0 = prior_of(s);
  const float *f = cell < 0 ? lgv__cell_network_values(&s->network, s->seen) : NULL;
  for (int32_t a = 0; a < s->A; a++)
    s->values[a] = f ? s0 * (double)f[a] : (double)s->cells.mean[cell * s->A + a];
}

/* The values to act by in training: the sample's, or a lost agent's. */
static void follow(self *s, const lgv_obs *obs) {
  bool is_new, lost = lgv__circles_is_lost(&s->circles);
  lgv__replay_encode(&s->env, obs, s->seen);
  lgv__cells_make_room(&s->cells);
  int64_t pair = meet(s, s->seen, obs->mask, &is_new) * s->A;
  const float *q = (lost ? s->cells.mean : s->cells.value) + pair;
  bool random = lost && lgv_rng_below(s->act, DITHER) == 0;
  for (int32_t a = 0; a < s->A; a++) s->values[a] = random ? 0 : (double)q[a];
}

static lgv_status act(void *self_, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                      lgv_error *err) {
  (void)err;
  self *s = self_;
  (mode == LGV_EVAL ? evaluate : follow)(s, obs);
  action->choice = lgv__argmax(s->values, obs->mask, s->A, mode == LGV_TRAIN ? s->act : s->eval);
  return LGV_OK;
}

static lgv_status q_values(void *self_, const lgv_obs *obs, double *q, lgv_error *err) {
  (void)err;
  self *s = self_;
  evaluate(s, obs);
  memcpy(q, s->values, (size_t)s->A * sizeof *q);
  return LGV_OK;
}

/* Counts know no order; only circles belong to one environment. */
static void set_stream(void *self_, int32_t stream) { ((self *)self_)->circles.stream = stream; }

static const char *const stat_names[] = {"loss",  "q_mean", "q_max",   "cells",
                                         "level", "noise",  "updates", NULL};

static void stats(const void *self_, double *values) {
  memcpy(values, ((const self *)self_)->stat, sizeof(double) * STATS);
}

static const lgv_preset presets[] = {
    {"small", "agent.hidden=64,64 optim.lr=3e-3"},
    {"pictures", "agent.net=conv optim.lr=1e-4", LGV_LARGE_PICTURE},
    {0}};

const lgv_agent_type lgv__agent_pathwise_lmcdqn = {
    .name = "pathwise-lmcdqn",
    .summary =
        "deep exploration: a Langevin chain on the noise of a posterior over any observation",
    .params = param_table,
    .presets = presets,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .resolve = resolve,
    .layout = layout,
    .open = open_agent,
    .act = act,
    .observe = observe,
    .begin_episode = begin_episode,
    .end_episode = end_episode,
    .stat_names = stat_names,
    .stats = stats,
    .set_stream = set_stream,
    .q_values = q_values,
};
const lgv_builtin lgv__builtin_pathwise_lmcdqn = {"adam", NULL};
