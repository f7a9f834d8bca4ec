/* Deep Q-learning (Mnih et al., 2015): the verbs that all deep agents share.
 *
 * A network Q(s, a; w), a target network Q(s, a; w-), a replay, and an optimizer. One update, as
 * the published Langevin agents make it:
 *
 *     sample a minibatch (s, a, r, s')              r: n-step sum, d = gamma^m or 0 (replay.h)
 *     y = r + d Q(s', a*; w-)                       a* = argmax_a of Q(s', a; w-), or, with
 *                                                   agent.double, of Q(s', a; w)
 *     w- = w  if  updates % target_every == 0       after y, before the step, so also at update 0
 *     g = gradient of the mean of (y - Q(s, a; w))^2   no 1/2; or Huber's loss
 *     w = optimizer(w, g)
 *
 * Each agent writes its own short loop with these verbs and can be read against its paper.
 *
 * An agent may have several copies of the network (ensembles; one network per stage) and several
 * heads on one network: member = copy * heads + head. All copies lie one after the other in one
 * vector; the gradient has room for one copy, because they are updated one after the other.
 *
 * Invariants: (1) everything that decides the future is LGV_KEEP: parameters, target, optimizer
 * slots, replay, counters, streams; (2) nothing is allocated after open; (3) evaluation writes only
 * scratch and the eval stream; (4) w- changes in lgv__dqn_refresh_target only; (5) whoever changes
 * parameters that a network uses calls lgv__dqn_changed. */
#ifndef LGV_AGENT_DEEP_DQN_CORE_H
#define LGV_AGENT_DEEP_DQN_CORE_H

#include "agent/builtin.h"
#include "agent/deep/running_scale.h"
#include "base/param.h"
#include "langevin.h"
#include "nn/net.h"
#include "optim/optim_type.h"
#include "replay/priority.h"

enum { DQN_MSE, DQN_HUBER };

/* Parameters of every deep agent; the first member of its parameter struct. */
typedef struct dqn_params {
  int32_t preset, net;
  char conv[LGV_TEXT_SIZE];
  lgv_ints hidden;
  bool layer_norm, dueling;
  int32_t precision; /* NET_FLOAT, ... */
  bool shared_bias;
  double one_hot_gain;
  double gamma;
  int64_t n_step, batch, replay, warmup;
  int64_t update_every, updates, target_every;
  bool double_q;
  int32_t loss;
  priority_params priority; /* of agents that have these rows */
  running_scale_params scale;
  double grad_clip;
} dqn_params;

extern const char *const lgv__dqn_preset_names[]; /* "auto", "small", "atari" */
extern const char *const lgv__dqn_net_names[], *const lgv__dqn_loss_names[],
                                                   *const lgv__dqn_precision_names[];

/* clang-format off */
/* The first row of a deep agent's parameter table. names: "auto", then those of the agent's own
 * presets; choice: what auto takes. */
#define DQN_PRESET_ROW(names, choice) \
  LGV_CHOICE_ROW(dqn_params, preset, "preset", "auto", names, "values of parameters that are not set; auto: " choice)
#define DQN_SMALL_OR_ATARI_ROW \
  DQN_PRESET_ROW(lgv__dqn_preset_names, "atari for pictures of at least 36 x 36, else small")
/* The rows of a network. */
#define DQN_NET_ROWS \
  LGV_CHOICE_ROW(dqn_params, net, "net", "auto", lgv__dqn_net_names, "conv: the convolutions of agent.conv, then dense layers; nature: 32x8s4,64x4s2,64x3s1; auto: conv if agent.conv is set; else nature for pictures of at least 36 x 36, conv for those of at least 5 x 5, else mlp"), \
  LGV_TEXT_ROW(dqn_params, conv, "conv", "", "convolutions of agent.net = conv, separated by commas; 16x3s1: 16 channels, windows of 3 x 3, stride 1; empty: 16x3s1,32x3s1, or 32x5s5,64x5s5 for pictures of at least 36 x 36"), \
  LGV_INTS_ROW(dqn_params, hidden, "hidden", "0", 0, 1e6, "widths of the hidden dense layers; 0: 32,32 (mlp), 128 (conv; 256 for pictures of at least 36 x 36), 512 (nature)"), \
  LGV_BOOL_ROW(dqn_params, layer_norm, "layer_norm", "false", "normalize the units of each hidden layer before its rectifier"), \
  LGV_CHOICE_ROW(dqn_params, precision, "precision", "float", lgv__dqn_precision_names, "products of hidden layers: float; bf16x3: bf16 with both factors split in two, nearly float; bf16: 8 bits of precision, sums in float. The bf16 precisions have the same bits on every machine")
#define DQN_SCALE_ROWS \
  LGV_CHOICE_ROW(dqn_params, scale.input, "scale_input", "auto", lgv__scale_input_names, "true: divide bytes by 255; channels: divide them by the largest seen so far in their channel; auto: true for pictures of at least 36 x 36, channels for smaller ones"), \
  LGV_CHOICE_ROW(dqn_params, scale.obs, "normalize_obs", "false", lgv__normalize_names, "for dense floats: subtract the running mean of the observations, divide by their running deviation, clip at -10 and 10; auto: true if there are dense floats"), \
  LGV_CHOICE_ROW(dqn_params, scale.rewards, "scale_rewards", "false", lgv__scale_rewards_names, "true: learn from rewards divided by the running deviation of the discounted return; limited: from rewards times 20 / that deviation, where rare rewards of about 1 become 50 at most and small ones, against 1 or against others, are not magnified. Values are in these units, records are not")
#define DQN_LOOP_ROWS \
  LGV_REAL_ROW(dqn_params, gamma, "gamma", "0.99", 0, 1, 0, "discount"), \
  LGV_INT_ROW(dqn_params, n_step, "n_step", "1", 1, 1000, "rewards in a target before it bootstraps"), \
  LGV_INT_ROW(dqn_params, batch, "batch", "32", 1, 65536, "transitions in a minibatch"), \
  LGV_INT_ROW(dqn_params, replay, "replay", "10000", 2, 1e9, "steps the replay holds; the last observation of an episode counts as one"), \
  LGV_INT_ROW(dqn_params, warmup, "warmup", "32", 1, 1e9, "transitions before the first update"), \
  LGV_INT_ROW(dqn_params, update_every, "update_every", "10", 0, 1e9, "environment steps between updates; 0: update between episodes only"), \
  LGV_INT_ROW(dqn_params, updates, "updates", "1", 1, 1e9, "J: gradient steps each time")
/* The rows after the first. */
#define DQN_PARAM_ROWS \
  DQN_NET_ROWS, \
  LGV_BOOL_ROW(dqn_params, dueling, "dueling", "false", "split the last hidden layer into two streams, for the value and the advantages: Q = V + A - mean A"), \
  DQN_SCALE_ROWS, \
  DQN_LOOP_ROWS, \
  LGV_INT_ROW(dqn_params, target_every, "target_every", "100", 1, 1e9, "gradient steps between copies to the target network"), \
  LGV_BOOL_ROW(dqn_params, double_q, "double", "false", "the online network chooses the action that the target network values")
/* For agents whose loss is lgv__dqn_loss_add's. */
#define DQN_LOSS_ROW \
  LGV_CHOICE_ROW(dqn_params, loss, "loss", "mse", lgv__dqn_loss_names, "mse: mean of the squared error; huber: half of that up to 1, linear beyond")
/* For agents with a plain output layer. */
#define DQN_SHARED_BIAS_ROW \
  LGV_BOOL_ROW(dqn_params, shared_bias, "shared_bias", "false", "the output layer has one bias for all actions")
/* For agents whose exploration needs first-layer rows that distinguish the states. */
#define DQN_ONE_HOT_GAIN_ROW \
  LGV_REAL_ROW(dqn_params, one_hot_gain, "one_hot_gain", "0", 0, 1e6, 0, "the 1 of a one-hot observation of n states becomes this times sqrt(n), so that initial values differ between states for every n; 0: it stays 1")
/* For agents that draw by lgv__dqn_sample and weigh by c->weight. */
#define DQN_PRIORITY_ROWS \
  LGV_BOOL_ROW(dqn_params, priority.on, "prioritized", "false", "draw transitions in proportion to (their last error)^priority_alpha"), \
  LGV_REAL_ROW(dqn_params, priority.alpha, "priority_alpha", "0.6", 0, 10, 0, "0: uniform draws"), \
  LGV_REAL_ROW(dqn_params, priority.beta, "priority_beta", "0.4", 0, 1, 0, "exponent of the weights that correct the bias of such draws, when learning begins"), \
  LGV_REAL_ROW(dqn_params, priority.beta_end, "priority_beta_end", "1", 0, 1, 0, "final value of priority_beta"), \
  LGV_INT_ROW(dqn_params, priority.beta_steps, "priority_beta_steps", "100000", 0, 1e12, "environment steps over which priority_beta changes, from agent.warmup on"), \
  LGV_REAL_ROW(dqn_params, priority.uniform, "priority_uniform", "0.001", 0, 1, 0, "share of draws that stay uniform")
#define DQN_GRAD_CLIP_ROW \
  LGV_REAL_ROW(dqn_params, grad_clip, "grad_clip", "0", 0, 1e12, 0, "greatest norm of a gradient; longer ones are scaled down to it; 0: no limit")
/* clang-format on */

/* The loop on Atari of Ishfaq et al. (ICLR 2024), for the presets `authors` and `atari`. */
#define DQN_ATARI_LOOP                                                                             \
  "agent.hidden=512 agent.scale_input=false agent.replay=1000000 agent.n_step=3 "                  \
  "agent.double=true agent.target_every=500 "

/* How an agent configures the shared DQN core. */
typedef struct dqn_sizes {
  int64_t copies;      /* networks; 0: 1 */
  int32_t heads;       /* groups of outputs, one for each action; 0: 1 */
  int32_t atoms;       /* outputs of one head for each action, one after the other; 0: 1 */
  int32_t cosines;     /* of the network's embedding of tau; 0: there is none */
  int32_t taus;        /* most draws of tau per observation; 0: 1 */
  int32_t vectors;     /* parameter vectors that belong together, such as (mu, sigma); 0: 1 */
  bool distributional; /* outputs describe a distribution, and the agent computes Q from them */
  bool with_first;     /* minibatches hold the first observation of the episode too */
  bool no_target;      /* there is no target network */
  bool above_first;    /* the network begins above its first layer, which the agent keeps itself */
} dqn_sizes;

enum { DQN_STEPS, DQN_UPDATES, DQN_COUNTERS };

/* Statistics, in the order of the columns. Those of the gradient and the weights are taken every
 * DQN_WATCH_EVERY updates. */
enum {
  DQN_STAT_LOSS,
  DQN_STAT_Q_MEAN,   /* mean over the minibatch of max_a Q(s, a) */
  DQN_STAT_Q_MAX,    /* greatest Q of the minibatch */
  DQN_STAT_Q_SPREAD, /* standard deviation over the minibatch of max_a Q(s, a) */
  DQN_STAT_GRAD_NORM,
  DQN_STAT_WEIGHT_NORM,
  DQN_STAT_DEAD, /* share of hidden units that were 0 on the whole minibatch */
  DQN_STAT_UPDATES,
  DQN_STATS
};
#define DQN_STAT_NAMES                                                                             \
  "loss", "q_mean", "q_max", "q_spread", "grad_norm", "weight_norm", "dead_units", "updates"
enum { DQN_WATCH_EVERY = 50 };

typedef struct dqn {
  const dqn_params *p;
  lgv_env_spec env;
  dqn_sizes sizes;
  int32_t A, outputs; /* A: choices of all parts together; outputs = heads x A x atoms */
  int32_t parts;      /* of an action: choices made at once */
  net net;
  int64_t dim; /* parameters of one copy: vectors x net.params */
  const lgv_optim_type *optimizer;
  const void *optim_params;
  const bool *exposed; /* see lgv_full_problem */
  lgv_rng *init, *act, *draw, *eval, *seed_noise;
  lgv_noise *noise;

  int64_t *count;               /* (DQN_COUNTERS) */
  int64_t *t;                   /* (copies): optimizer steps of each */
  float *w;                     /* (copies x dim) */
  float *w_target;              /* (copies x dim); NULL without a target network */
  float *slot[LGV_OPTIM_SLOTS]; /* (copies x dim) each, as many as the optimizer uses */
  float *residual;              /* (copies x dim): with optim.compensated; else NULL */
  float *grad;                  /* (dim): of the current copy */
  double *stat;                 /* (DQN_STATS) */

  int32_t stream; /* whose environment the current calls are for */
  replay replay;
  replay_batch batch;
  priority priority; /* in use with agent.prioritized */
  running_scale scale;
  net_tape tape, target_tape, act_tape;
  net_tiles tiles, target_tiles; /* of the parameters in use: tape and act_tape share theirs */
  void *seen;                    /* one observation in net_input form */
  double *values;                /* (A): Q of one observation, for the one tie rule */
  /* of the current minibatch; they lie on the tapes */
  const float *q;        /* (rows x outputs): Q(s, .; w), then those of first observations */
  const float *q_next;   /* (batch x outputs): Q(s', .; w); with agent.double only */
  const float *q_target; /* (batch x outputs): Q(s', .; w-) */
  float *y;              /* (batch) */
  float *d_q;            /* (rows x outputs): d loss / d Q */
  float *weight;         /* (batch): of each sample's loss; NULL: all 1 */
  float *error;          /* (batch): how wrong each sample was, for its priority */
  double loss;           /* summed over heads and copies */
  double lr_scale;       /* of the next steps: 1 unless the agent changes it */
  /* of distributional agents, which fill them; else NULL */
  float *act_q;  /* (A): Q of one observation */
  float *mean;   /* (batch x A): Q of the minibatch */
  int32_t *best; /* (batch): a* */
} dqn;

/* Observations of a minibatch that the online network sees: with_first doubles them. */
static inline int64_t dqn_rows(const dqn *c) { return c->p->batch * (1 + c->sizes.with_first); }

/* ---- setup (dqn_setup.c) ---- */
LGV_CHECK lgv_status lgv__dqn_resolve(dqn_params *params, const lgv_problem *problem,
                                      dqn_sizes sizes, lgv_error *err);
/* The same for an agent that is not a DQN; outputs: those of its network. */
LGV_CHECK lgv_status lgv__dqn_resolve_plain(dqn_params *params, const lgv_problem *problem,
                                            int32_t outputs, lgv_error *err);
/* A network for these observations without its outputs; params are resolved. */
net_shape lgv__dqn_body(const dqn_params *params, const lgv_env_spec *env);
/* Of the whole network, for `heads` heads with `atoms` atoms. */
net_shape lgv__dqn_shape(const dqn_params *params, const lgv_env_spec *env, int32_t heads,
                         int32_t atoms);
void lgv__dqn_layout(dqn *c, const dqn_params *params, const lgv_problem *problem, dqn_sizes sizes,
                     lgv_layout *layout);

/* open: draws every copy's parameters, and starts the target network with the same. */
lgv_status lgv__dqn_open(void *self, lgv_error *err);

/* ---- acting ---- */
/* Observations as the replay encodes them, with the map of the moment. */
net_input lgv__dqn_input(const dqn *c, const void *encoded);
/* The network's outputs for one observation, (outputs), until the next call. They are Q unless the
 * agent is distributional. */
const float *lgv__dqn_values(dqn *c, const float *w, const lgv_obs *obs);
/* Per part of the action: the greatest of q, (A), that the observation's mask allows, by the one
 * tie rule of lgv__argmax; or a uniform draw among those. */
void lgv__dqn_greedy(dqn *c, const float *q, const lgv_obs *obs, lgv_mode mode, lgv_action *action);
void lgv__dqn_uniform(dqn *c, const lgv_obs *obs, lgv_mode mode, lgv_action *action);
/* Greedy, but each part of the action is uniform with probability epsilon, on its own, so that what
 * one part tries shows while the others act well. With epsilon = 0 no draw is made for it. */
void lgv__dqn_epsilon_greedy(dqn *c, const float *q, double epsilon, const lgv_obs *obs,
                             lgv_mode mode, lgv_action *action);
/* For targets: the choice of the greatest q, (A), that a mask (or NULL) allows, the lowest among
 * equals, in the part whose choices begin at `first`. */
int32_t lgv__dqn_best_of_part(const dqn *c, const float *q, const uint8_t *mask, int32_t part,
                              int32_t first);
lgv_rng *lgv__dqn_act_stream(dqn *c, lgv_mode mode);
void lgv__dqn_copy_values(const dqn *c, const float *values, double *q); /* (A), for q_values */

/* ---- learning ---- */
/* Stores the transition, counts the step and updates c->scale; returns its entry in the replay. */
int64_t lgv__dqn_remember(dqn *c, const lgv_transition *transition);
/* Gradient steps that the parameters ask for after so many environment steps: within an episode,
 * and at its end. */
int64_t lgv__updates_due(const dqn_params *p, int64_t steps);
int64_t lgv__updates_due_between_episodes(const dqn_params *p, int64_t steps);
/* The same now, after lgv__dqn_remember. */
int64_t lgv__dqn_updates_due(const dqn *c);
int64_t lgv__dqn_updates_due_between_episodes(const dqn *c);
void lgv__dqn_sample(dqn *c); /* also fills c->weight */
void lgv__dqn_gather(dqn *c); /* the same for entries that the agent chose (c->batch.entry) */
/* q, q_next and q_target of the minibatch, for these parameters. */
void lgv__dqn_forward(dqn *c, const float *w, const float *w_target);
/* The same in two parts, for agents that change w between them: first lgv__dqn_forward_next and the
 * targets, then lgv__dqn_forward_obs, which leaves the tape as lgv__dqn_backward needs it. */
void lgv__dqn_forward_next(dqn *c, const float *w, const float *w_target);
void lgv__dqn_forward_obs(dqn *c, const float *w);
/* y[i] = reward + discount value[i, argmax_a select[i, a]], the lowest index among equals of those
 * that the mask of the next observation allows; of actions with several parts the mean over them
 * (Tavakoli et al., 2018, Eq. 3 with the mean). Rows of select and value are `stride` apart. */
void lgv__dqn_targets_from(const dqn *c, const float *select, const float *value, int64_t stride,
                           float *y);
void lgv__dqn_targets(dqn *c); /* the same for q_next or q_target, one head */
/* Distributional agents: best[i] = a*, the first among equals, by c->mean, which the agent made of
 * q_next or q_target (dqn_chooser); the outputs of an action begin at dqn_atoms_at. */
void lgv__dqn_choose(dqn *c);
static inline const float *dqn_chooser(const dqn *c) { return c->q_next ? c->q_next : c->q_target; }
static inline int64_t dqn_atoms_at(const dqn *c, int64_t row, int32_t action) {
  return (row * c->A + action) * c->sizes.atoms;
}
bool lgv__dqn_target_due(const dqn *c); /* whether this update copies w to w- */
/* w- = w for a copy, if that is due; returns whether. */
bool lgv__dqn_refresh_target(dqn *c, int64_t copy);
/* Clears d_q and the loss; lgv__dqn_loss_add then adds one head's, the mean over the parts of an
 * action: weight (or NULL: 1) multiplies each sample's loss; q and d_q begin at the head's first
 * action, rows are `outputs` apart. Huber's slope is cut at 1 with the weight in it, clip(w e, -1,
 * 1), as DQN Zoo has it. Errors of the head become c->error. */
void lgv__dqn_loss_clear(dqn *c);
void lgv__dqn_loss_add(dqn *c, const float *q, const float *y, const float *weight, float *d_q);
/* The same for an agent with a loss of its own: adds sample i's and scales its derivatives, `count`
 * numbers, by their share of the mean. */
void lgv__dqn_loss_of(dqn *c, int64_t i, float loss, float *d_outputs, int64_t count);
void lgv__dqn_loss(dqn *c); /* both, for one head, with c->weight */
/* grad = gradient at w; below the output layer it is divided by the number of heads. */
void lgv__dqn_backward(dqn *c, const float *w, float *grad);
/* One optimizer step of a copy, with c->grad, which agent.grad_clip shortens, and c->lr_scale. */
void lgv__dqn_step(dqn *c, int64_t copy);
/* Counts the update, takes statistics, stops if the loss or a parameter is not finite, and makes
 * c->error the priorities of the minibatch. */
LGV_CHECK lgv_status lgv__dqn_end_update(dqn *c, lgv_error *err);

/* The parameters w, one copy's, have changed (NULL: any may have): their tiles are made anew. */
void lgv__dqn_changed(dqn *c, const float *w);

double lgv__dqn_squares(const float *x, int64_t count); /* their sum */

/* ---- hooks that agents share; the core is the first member of their state ---- */
void lgv__dqn_set_stream(void *self, int32_t stream);
/* q_values of agents that evaluate by w alone and whose outputs are Q. */
lgv_status lgv__dqn_q_values(void *self, const lgv_obs *obs, double *q, lgv_error *err);
void lgv__dqn_stats(const void *self, double *values);
/* policy_parts of agents that have w alone. */
void lgv__dqn_policy_parts(const void *self, lgv_policy_parts *parts);

#endif
