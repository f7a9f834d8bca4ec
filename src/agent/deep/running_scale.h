/* Running scales: statistics of what an agent has seen in training. They are part of its state, and
 * they bring the inputs of its network and the rewards it learns from to about the same size in
 * every environment.
 *
 * agent.normalize_obs, of dense floats, among them those beside a picture of bytes: the mean and
 * the variance of every number over all observations so far. A network sees
 *     clip((x - mean) / sqrt(variance + 1e-8), -10, 10).
 * `auto` is `true` wherever there are such floats.
 *
 * agent.scale_input = channels, of pictures of bytes: the largest byte so far in each channel, at
 * least 1, by which the channel is divided. The pictures of a stack share their channels.
 *
 * agent.scale_rewards: the discounted return so far, G <- gamma G + r from the first step of an
 * episode on, over all steps of all streams. Targets use the rewards of a minibatch, n-step sums
 * included, times a factor:
 *     true      1 / sigma, sigma = sqrt(variance of G + 1e-8), or 1 as long as G has not varied;
 *     limited   min(20 / sigma, L), L = max(1, 50 min(R, 1 / R)), R the greatest |r| so far; but
 *               L = 1 once R is more than 100 times the least |r| > 0.
 * `limited` is for agents whose noise or ridge has the units of the values: these are then about 20
 * in every task. L is for rewards that are rare, so that sigma says little: one of size 1 becomes
 * 50 at most. Rewards that are small, against 1 or against others, are not magnified: they may
 * distract from a large one that is hard to find (N-Chain pays 0.001 at its near end and 1 at the
 * far one), and magnified they would drown the noise that could find it.
 *
 * With fewer than two values, means count as 0 and deviations as 1. The moments follow Welford's
 * recurrence (1962) in double precision, value by value in the order of the calls, so that neither
 * threads nor a resumed run change a bit.
 *
 * The replay holds observations and rewards as they were seen. They are scaled when a network reads
 * them, by the statistics of that moment, which online and target networks, acting and evaluation
 * share.
 *
 * Invariants: (1) statistics change in lgv__running_scale_add only, so that evaluations leave them
 * alone; (2) every observation of training counts once: the first of an episode, and the one after
 * each step. */
#ifndef LGV_AGENT_DEEP_RUNNING_SCALE_H
#define LGV_AGENT_DEEP_RUNNING_SCALE_H

#include "nn/net.h"

/* Of agent.scale_input. */
enum { SCALE_AUTO, SCALE_FALSE, SCALE_TRUE, SCALE_CHANNELS };
/* Of agent.normalize_obs; resolved, it is one of the first two. */
enum { NORMALIZE_FALSE, NORMALIZE_TRUE, NORMALIZE_AUTO };
/* Of agent.scale_rewards. */
enum { REWARDS_AS_THEY_ARE, REWARDS_SCALED, REWARDS_LIMITED };
enum { REWARDS_DEVIATION = 20 }; /* of returns with REWARDS_LIMITED */
extern const char *const lgv__scale_input_names[], *const lgv__normalize_names[],
                                                       *const lgv__scale_rewards_names[];

typedef struct running_scale_params {
  int32_t input, obs, rewards;
} running_scale_params;

/* The mean and the variance of each of several numbers. */
typedef struct running_moments {
  int64_t size;
  double largest;  /* size of a value */
  int64_t *count;  /* (1): values of each number so far */
  double *mean;    /* (size) */
  double *squares; /* (size): the sum of the squared distances from the mean */
} running_moments;

typedef struct running_scale {
  const running_scale_params *p;
  const lgv_env_spec *env;
  int64_t streams;
  double gamma;
  running_moments obs; /* in use with agent.normalize_obs */
  uint8_t *most;       /* (channels of one picture): the largest bytes; else NULL; 0 counts as 1 */
  float *shift, *gain; /* (inputs): the last map; bytes have no shift */
  running_moments mapped;  /* of obs when the last map was made; its count is 0 if there is none */
  uint8_t *mapped_most;    /* the same of most */
  running_moments returns; /* of G: in use with agent.scale_rewards */
  double *sizes; /* (2): the least and the greatest |r| > 0: with REWARDS_LIMITED; else NULL */
  double *now;   /* (streams): G of the current episodes */
} running_scale;

/* Chooses for `auto`; refuses what does not fit the observations. */
LGV_CHECK lgv_status lgv__running_scale_resolve(running_scale_params *params,
                                                const lgv_env_spec *env, lgv_error *err);
/* The value of agent.scale_input that suits observations of bytes. */
int32_t lgv__running_scale_choice(const lgv_env_spec *env);
/* Whether a network sees the map below; params are resolved. */
bool lgv__running_scale_maps(const running_scale_params *params);

/* env and params must outlive s. */
void lgv__running_scale_layout(running_scale *s, const running_scale_params *params,
                               const lgv_env_spec *env, int64_t streams, double gamma,
                               lgv_layout *layout);
/* begins: the transition is the first of its episode. */
void lgv__running_scale_add(running_scale *s, int64_t stream, const lgv_transition *transition,
                            bool begins);
/* How a network sees observations now, until the next call. */
net_map lgv__running_scale_map(const running_scale *s);
/* Multiplies rewards by the factor of the moment, unless agent.scale_rewards is false. */
void lgv__running_scale_rewards(const running_scale *s, float *rewards, int64_t count);

#endif
