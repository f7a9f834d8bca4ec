/* Actor-critic learning from a replay, for actions that are numbers within bounds: the verbs that
 * sac, td3, dsac and lsac share.
 *
 * A policy pi(s) or several, two or more critics Q_j(s, a), target networks that follow them, a
 * replay, and for some agents the temperature alpha of the entropy. Each agent writes its own short
 * update with these verbs and can be read against its paper.
 *
 * Networks see actions in [-1, 1] per part; the replay holds them as the environment takes them. A
 * critic's inputs are the observation, the vector beside a picture, and the action; behind
 * convolutions, the action joins as such a vector does (nn/net.h). One-hot and thermometer
 * observations count as dense floats.
 *
 * The optimizer (optim.*) is that of the critics. The actor and the temperature take steps of Adam
 * (agent.actor_lr, agent.alpha_lr).
 *
 * Exact savings: pi(s) and pi(s') are one batch; all critics share one target; the gradient of the
 * policy goes through the lesser critic of each row only, and to the actions only.
 *
 * Invariants: (1) everything that decides the future is LGV_KEEP; (2) nothing is allocated after
 * open; (3) evaluation writes only scratch; (4) targets change in
 * lgv__ac_follow only. */
#ifndef LGV_AGENT_CONTINUOUS_ACTOR_CRITIC_H
#define LGV_AGENT_CONTINUOUS_ACTOR_CRITIC_H

#include "agent/continuous/tanh_gaussian.h"
#include "agent/deep/dqn_core.h"

/* Parameters of every agent here; the first member of its parameter struct. */
typedef struct ac_params {
  dqn_params deep; /* parameters shared with the DQN agents */
  double tau, actor_lr;
  int64_t policy_every;
  /* of agents with a temperature */
  double alpha, alpha_lr, target_entropy;
  bool learn_alpha;
} ac_params;

/* clang-format off */
/* The rows after the preset. policy_every_: the default. */
#define AC_PARAM_ROWS(policy_every_) \
  DQN_NET_ROWS, \
  DQN_SCALE_ROWS, \
  DQN_LOOP_ROWS, \
  LGV_REAL_ROW(ac_params, deep.grad_clip, "grad_clip", "0", 0, 1e12, 0, "greatest norm of the gradient of a critic; longer ones are scaled down to it; 0: no limit"), \
  LGV_REAL_ROW(ac_params, tau, "tau", "0.005", 0, 1, LGV_OPEN_MIN, "fraction by which target networks move toward the trained ones each time"), \
  LGV_REAL_ROW(ac_params, actor_lr, "actor_lr", "0", 0, 1e6, 0, "step size of the actor's Adam; 0: optim.lr, that of the critics"), \
  LGV_INT_ROW(ac_params, policy_every, "policy_every", policy_every_, 1, 1e9, "updates of the critics for each one of the policy and the target networks")
#define AC_ALPHA_ROWS(alpha_) \
  LGV_REAL_ROW(ac_params, alpha, "alpha", alpha_, 0, 1e6, LGV_OPEN_MIN, "temperature: weight of the entropy beside the rewards, at first"), \
  LGV_BOOL_ROW(ac_params, learn_alpha, "learn_alpha", "true", "adapt the temperature until the entropy is agent.target_entropy"), \
  LGV_REAL_ROW(ac_params, alpha_lr, "alpha_lr", "0", 0, 1e6, 0, "step size of the temperature's Adam; 0: optim.lr"), \
  LGV_REAL_ROW(ac_params, target_entropy, "target_entropy", "0", -1e6, 1e6, 0, "entropy of the policy, over actions in [-1, 1]; if not set, minus the number of parts of an action")
/* clang-format on */

/* The loops of the presets `small` and, for large pictures, `atari`, whose replay fits into memory.
 * An agent adds its networks and step sizes. */
#define AC_SMALL_LOOP                                                                              \
  "agent.batch=256 agent.replay=1000000 agent.update_every=1 agent.warmup=1000 "                   \
  "agent.normalize_obs=auto "
#define AC_PICTURES_LOOP                                                                           \
  "agent.hidden=256 agent.batch=128 agent.replay=100000 agent.update_every=1 agent.warmup=1000 "

enum { AC_PAIR = 2 };     /* critics come in pairs */
enum { AC_GAUSSIAN = 2 }; /* outputs of an actor per part of an action: mean and log sigma */

/* How an agent configures the core. */
typedef struct ac_sizes {
  int32_t actor_outputs;  /* per part of an action: 1, or AC_GAUSSIAN */
  int64_t actors;         /* policies */
  int32_t critic_outputs; /* of each critic */
  int64_t critics;        /* an even number: pairs */
  bool actor_target;      /* the policy has a target network */
  bool has_alpha;         /* there is a temperature */
  float least, most;      /* bounds of log sigma of a Gaussian */
} ac_sizes;

/* A vector of parameters with what belongs to it. */
typedef struct ac_weights {
  int64_t copies, dim;          /* networks, and the parameters of each */
  float *w;                     /* (copies x dim) */
  float *target;                /* (copies x dim); or NULL */
  float *grad;                  /* (copies x dim) */
  float *slot[LGV_OPTIM_SLOTS]; /* (copies x dim) each, as many as the optimizer uses */
  float *residual;              /* (copies x dim): with optim.compensated; else NULL */
  int64_t *t;                   /* (1): steps */
  const lgv_optim_type *optimizer;
  const void *optim_params;
} ac_weights;

enum { AC_STEPS, AC_UPDATES, AC_COUNTERS };

/* Statistics, in the order of the columns. */
enum {
  AC_STAT_LOSS,        /* of the critics */
  AC_STAT_POLICY_LOSS, /* of the last update of the policy */
  AC_STAT_Q_MEAN,      /* of the first critic, over the minibatch */
  AC_STAT_GRAD_NORM,   /* of the critics, every DQN_WATCH_EVERY updates */
  AC_STAT_WEIGHT_NORM, /* likewise */
  AC_STAT_UPDATES,
  AC_STAT_ENTROPY, /* of agents with a temperature: minus the mean of log pi */
  AC_STAT_ALPHA,
  AC_STATS
};
#define AC_STAT_NAMES "loss", "policy_loss", "q_mean", "grad_norm", "weight_norm", "updates"
#define AC_ALPHA_STAT_NAMES AC_STAT_NAMES, "entropy", "alpha"

typedef struct actor_critic {
  const ac_params *p;
  ac_sizes sizes;
  lgv_env_spec env;  /* as the agent's, with dense observations */
  lgv_env_spec pair; /* of (observation, action) */
  int32_t P;         /* parts of an action */
  net actor_net, critic_net;
  ac_weights actor, critic, log_alpha;
  optim_params actor_adam, alpha_adam;
  lgv_rng *init, *act, *draw, *seed_noise;
  lgv_noise *noise;
  int64_t *count; /* (AC_COUNTERS) */
  double *stat;   /* (AC_STATS) */

  int32_t stream;        /* whose environment the current calls are for */
  int64_t policy_in_use; /* of several, the one that the verbs below act by and change */
  replay replay;
  replay_batch batch;
  running_scale scale;
  float *shift, *gain; /* (inputs of a critic): the current input map; NULL: there is none */
  net_tape act_tape, actor_tape, critic_tape[AC_PAIR];
  void *seen; /* one observation in net_input form */
  /* of the current minibatch, B rows */
  unsigned char *pairs, *next_pairs; /* (B) each: (s, a) and (s', a') in net_input form */
  tanh_gaussian policy;     /* (2 B): at s, then at s'; its action also without a Gaussian */
  const float *outputs;     /* (2 B x outputs of the actor): on its tape */
  float *y;                 /* (B) */
  float *d_q;               /* (B x critic_outputs) */
  float *d_action, *d_some; /* (B x P) each */
  float *d_outputs;         /* (B x outputs of the actor) */
  float *turned;            /* scratch of lgv__net_backward_inputs */
  int32_t *rows[AC_PAIR];   /* (B) each: rows whose lesser critic this is */
  double loss;              /* of the critics, summed */
} actor_critic;

static inline int64_t ac_batch(const actor_critic *c) { return c->p->deep.batch; }

/* ---- setup ---- */
/* is_set, table: as the hook `resolve` has them. actor_outputs: as in ac_sizes. */
LGV_CHECK lgv_status lgv__ac_resolve(ac_params *params, const bool *is_set, const lgv_param *table,
                                     const lgv_problem *problem, int32_t actor_outputs,
                                     lgv_error *err);
void lgv__ac_layout(actor_critic *c, const ac_params *params, const lgv_problem *problem,
                    ac_sizes sizes, lgv_layout *layout);
/* open: draws all parameters, and starts the targets with the same. */
lgv_status lgv__ac_open(void *self, lgv_error *err);

/* ---- acting ---- */
/* The actor's outputs for one observation, until the next call. */
const float *lgv__ac_outputs(actor_critic *c, const lgv_obs *obs);
/* Training acts uniformly until agent.warmup. */
bool lgv__ac_is_warming_up(const actor_critic *c, lgv_mode mode);
void lgv__ac_uniform(actor_critic *c, lgv_action *action);
/* Part p of an action from a number, which is cut to [-1, 1]. */
void lgv__ac_put(const actor_critic *c, int32_t p, float a, lgv_action *action);
/* act of agents with a Gaussian: a sample in training, tanh m in evaluations. */
lgv_status lgv__ac_act_gaussian(void *self, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                                lgv_error *err);

/* ---- learning ---- */
void lgv__ac_remember(actor_critic *c, const lgv_transition *transition);
int64_t lgv__ac_updates_due(const actor_critic *c);
int64_t lgv__ac_updates_due_between_episodes(const actor_critic *c);
/* Draws a minibatch, with actions in [-1, 1], and fills the pairs (s, a). */
void lgv__ac_sample(actor_critic *c);
/* count N(0, 1) draws into x, which has room for a multiple of 32. */
void lgv__ac_normals(actor_critic *c, float *x, int64_t count);
/* c->outputs = the actor's at s and s', or at s alone. */
void lgv__ac_forward_both(actor_critic *c);
void lgv__ac_forward_obs(actor_critic *c);
/* The outputs of the target actor at s', until the next pass of the actor. */
const float *lgv__ac_forward_next_target(actor_critic *c);
/* Writes the actions of the pairs. */
void lgv__ac_put_actions(actor_critic *c, unsigned char *pairs, const float *actions);
/* Q (B x critic_outputs) of the pairs by these parameters, on one of the two tapes. */
const float *lgv__ac_q(actor_critic *c, const float *w, int tape, const unsigned char *pairs);
/* The gradient of critic k for c->d_q, after lgv__ac_q of its parameters at c->pairs. */
void lgv__ac_critic_backward(actor_critic *c, int64_t k, int tape);
/* A step of both critics, with one output each, on weight times the sum over j of the mean of
 * (Q_j(s, a) - y)^2. */
void lgv__ac_fit_critics(actor_critic *c, float weight);
/* The lesser of number i of the outputs of two critics. */
static inline float ac_least(const float *const q[AC_PAIR], int64_t i) {
  return q[1][i] < q[0][i] ? q[1][i] : q[0][i];
}
/* d_action of - mean of the critic with parameters w at these rows (NULL: all), after lgv__ac_q of
 * them at (s, pi(s)). The tape then holds these rows only. */
void lgv__ac_climb(actor_critic *c, const float *w, int tape, const int32_t *rows, int64_t count);
/* d_action of - mean of min_j Q_j(s, pi(s)), for the two critics from k on, after a sample of a
 * Gaussian policy at s. The first output of a critic counts. */
void lgv__ac_climb_lesser(actor_critic *c, int64_t k);
/* The gradient of a Gaussian policy for c->d_action, with that of alpha log pi. */
void lgv__ac_gaussian_backward(actor_critic *c);
/* A step of the only policy, a Gaussian, on the mean of alpha log pi - min_j Q_j(s, pi(s)), for the
 * two critics from k on, after its sample at s. */
void lgv__ac_improve_gaussian(actor_critic *c, int64_t k);
/* Whether this update is one of the policy, too. */
bool lgv__ac_policy_due(const actor_critic *c);
/* The gradient of the policy for c->d_outputs, after lgv__ac_forward_both or _obs. */
void lgv__ac_actor_backward(actor_critic *c);
/* One optimizer step with the gradient; agent.grad_clip shortens that of each critic. */
void lgv__ac_step(actor_critic *c, ac_weights *weights);
/* The same in parts, with noise of another size: begin, then `copies` networks at a time. */
void lgv__ac_begin_step(actor_critic *c, ac_weights *weights);
void lgv__ac_step_some(actor_critic *c, ac_weights *weights, int64_t first, int64_t copies,
                       double beta_scale);
/* Targets go the share tau toward the parameters. */
void lgv__ac_follow(actor_critic *c, ac_weights *weights);
/* The temperature, and its step: L = - log alpha mean(log pi + target entropy) over s. */
float lgv__ac_alpha(const actor_critic *c);
void lgv__ac_adapt_alpha(actor_critic *c);
/* Counts the update, takes statistics, and stops if the loss or a parameter is not finite. */
LGV_CHECK lgv_status lgv__ac_end_update(actor_critic *c, lgv_error *err);

/* ---- hooks that agents share; the core is the first member of their state ---- */
void lgv__ac_set_stream(void *self, int32_t stream);
void lgv__ac_stats(const void *self, double *values);       /* of agents without a temperature */
void lgv__ac_alpha_stats(const void *self, double *values); /* of agents with one */
void lgv__ac_policy_parts(const void *self, lgv_policy_parts *parts);

#endif
