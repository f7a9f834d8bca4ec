/* The Langevin chain of Algorithm 1: w <- w - eta grad L(w) + sqrt(2 eta / beta) eps, J times,
 * where L is the loss of Eq. (4). Ishfaq et al. (ICLR 2024).
 *
 * With A = I - 2 eta Lambda the J-step iterate is Gaussian (Proposition 3.1):
 *     w_J = w_hat + A^J (w_0 - w_hat) + n,   n ~ N(0, (1/beta) (I - A^{2J}) Lambda^-1 (I + A)^-1),
 * so `exact` draws it at once, for J up to 1e12, coordinate by coordinate where Lambda is diagonal
 * and in its eigenbasis otherwise. That basis comes from the singular value decomposition of the
 * Cholesky factor, Lambda = L L^T = U S^2 U^T: an eigenvalue as small as lambda drowns in the
 * rounding of Lambda once n / lambda passes 1e16, in that of L only at n / lambda = 1e32. `loop`
 * takes the J steps. `sgld` and `svrg` take them with minibatch gradients.
 *
 * `underdamped` draws from kinetic Langevin dynamics with friction gamma (Cheng et al., COLT 2018),
 *     dw = v dt,   dv = -(gamma v + grad L(w) / (2 L)) dt + sqrt(gamma / (L beta)) dB,
 * in the unit of time in which the stiffest direction has frequency 1. Per eigenvalue l this is an
 * oscillator, a linear equation for the pair (w, v), and is solved without steps: J steps of length
 * 4 eta_scale stand for the time T = 4 eta_scale J. The velocity is drawn from its stationary law
 * N(0, I / (2 L beta)) at time 0, so that w alone is the state of the chain. Then
 *     w_T = w_hat + e (w_0 - w_hat) + n,   n ~ N(0, (1 - e^2) / (2 beta l)),
 * where e(t) solves e'' + gamma e' + (l / L) e = 0, e(0) = 1, e'(0) = 0. (The pair is stationary
 * under N(0, 1 / (2 beta l)) x N(0, 1 / (2 L beta)); so is w, whose covariance over time is e(T)
 * times its variance.) With gamma = 2, T = J is the time in which a slow direction decays as in J
 * steps of eta_scale = 1/4: exp(-J l / (2 L)). Less friction makes slow directions faster, and 2
 * sqrt(l / L) is critical for the direction l.
 *
 * agent.feel_good = c > 0 adds optimism to the loss of the first stage, as the feel-good Thompson
 * sampling of Zhang (2022) does: L(w) - c sum max_a phi(x, a)^T w, over the first states x of past
 * episodes. The loss is no longer quadratic, so that only `loop` can follow its gradient; the
 * curvature, and with it eta and J, stay the same, because the term is linear between changes of
 * the best actions.
 *
 * The step is eta = eta_scale / L. L = lambda_max(Lambda) for exact and loop (eta_scale = 1/4 is
 * the theorem's); for sgld and svrg L = lambda + n max ||phi||^2, which bounds the curvature of n
 * times any one sample, so that every minibatch contracts. J = 0 stands for the theorem's J_k = 2
 * kappa log(4 H K d), rounded up, kappa = L / lambda_min. */
#ifndef LGV_AGENT_LINEAR_LMC_CHAIN_H
#define LGV_AGENT_LINEAR_LMC_CHAIN_H

#include "agent/linear/lsvi_core.h"

enum { LMC_EXACT, LMC_LOOP, LMC_SGLD, LMC_SVRG, LMC_UNDERDAMPED };

/* Parameters of the agents that run chains; the first member of their parameter struct. */
typedef struct lmc_params {
  lsvi_params lsvi;
  double beta, eta_scale, friction, feel_good;
  int64_t updates;
  int32_t sampler;
  int64_t batch, snapshot_every;
} lmc_params;

extern const char *const lgv__lmc_sampler_names[];

/* clang-format off */
#define LMC_PARAM_ROWS \
  LGV_REAL_ROW(lmc_params, beta, "beta", "100", 0, INFINITY, LGV_OPEN_MIN, "inverse temperature; the noise has scale 1/sqrt(beta); inf: no noise"), \
  LGV_REAL_ROW(lmc_params, eta_scale, "eta_scale", "0.25", 0, 0.5, LGV_OPEN_MIN | LGV_OPEN_MAX, "step size eta in units of 1/lambda_max"), \
  LGV_INT_ROW(lmc_params, updates, "updates", "0", 0, 1e12, "J, chain steps per episode and stage; 0: the theorem's J_k"), \
  LGV_CHOICE_ROW(lmc_params, sampler, "sampler", "exact", lgv__lmc_sampler_names, "exact: the J steps in closed form; loop: one by one; sgld, svrg: minibatch gradients; underdamped: kinetic dynamics in closed form"), \
  LGV_REAL_ROW(lmc_params, friction, "friction", "2", 0, 1e6, LGV_OPEN_MIN, "underdamped: gamma, in units of the frequency of the stiffest direction, for which 2 is critical"), \
  LGV_REAL_ROW(lmc_params, feel_good, "feel_good", "0", 0, 1e6, 0, "weight of optimism at the first states of past episodes; needs sampler = loop"), \
  LGV_INT_ROW(lmc_params, batch, "batch", "32", 1, 1e6, "samples in a minibatch of sgld and svrg"), \
  LGV_INT_ROW(lmc_params, snapshot_every, "snapshot_every", "32", 1, 1e9, "svrg: steps between full gradients")
/* clang-format on */

typedef struct lmc {
  const lmc_params *p;
  lsvi *core;
  /* of the current stage */
  double eta, J, beta;
  double *spectrum; /* (d): eigenvalues of Lambda, or its diagonal */
  double *decay;    /* (d): a_i^J */
  double *spread;   /* (d): standard deviation of n_i */
  double *basis;    /* (blocks x block x block): rows are eigenvectors; NULL if diagonal */
  double *xi, *z;   /* (d) */
  double *gradient, *snapshot, *full; /* (d): minibatch samplers */
  double *svd_work;
  int32_t *svd_iwork;
  lgv_list *samples; /* (groups): (s * A + a, next, reward) each; minibatch samplers only */
} lmc;

/* Agents that run chains: of one sample per stage, of several, for bandits. */
typedef enum lmc_kind { LMC_ONE, LMC_SEVERAL, LMC_BANDIT } lmc_kind;

/* Checks the shared parameters. With schedule = theory it prescribes lambda, beta, eta and J as
 * Theorem 4.2 does (LMC_SEVERAL: its multi-sample version) and fills *theory. */
LGV_CHECK lgv_status lgv__lmc_resolve(const lgv_param *table, lmc_params *params,
                                      const bool *is_set, const lgv_problem *problem, lmc_kind kind,
                                      lgv_theory *theory, lgv_error *err);
/* What lgv__lsvi_layout must keep for the sampler: full gradients multiply by Lambda. */
int lgv__lmc_uses(const lmc_params *params);
void lgv__lmc_layout(lmc *chain, lsvi *core, const lmc_params *params, lgv_layout *layout);
/* Computes eta, J and what the sampler needs for stage h. Call it after lgv__lsvi_targets and
 * lgv__lsvi_solve. */
LGV_CHECK lgv_status lgv__lmc_prepare(lmc *chain, int64_t h, lgv_error *err);
/* J steps of one chain from w, in place. */
LGV_CHECK lgv_status lgv__lmc_advance(lmc *chain, int64_t h, double *w, lgv_error *err);
/* end_episode: keeps the samples that minibatches are drawn from, then absorbs the path. */
LGV_CHECK lgv_status lgv__lmc_absorb(lmc *chain, lgv_error *err);

/* For one eigenvalue l of Lambda: a^J and the standard deviation of the noise of J steps. */
void lgv__lmc_law(double l, double eta, double J, double beta, double *decay, double *spread);
/* The same for underdamped dynamics: e(T) and the standard deviation of the noise. square: l / L,
 * the square of the frequency. */
void lgv__underdamped_law(double l, double square, double friction, double T, double beta,
                          double *decay, double *spread);
/* Both for d eigenvalues; most: the greatest, L. */
void lgv__lmc_laws(int64_t d, const double *l, double eta, double J, double beta, double *decay,
                   double *spread);
void lgv__underdamped_laws(int64_t d, const double *l, double most, double friction, double T,
                           double beta, double *decay, double *spread);

#endif
