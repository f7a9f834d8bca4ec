/* Deep Q-learning (Mnih et al., 2015): what every deep agent shares, as verbs.
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
 * An agent may have several copies of the network (ensembles; one network a stage) and several
 * heads on one network: member = copy * heads + head. All copies lie one behind the other in one
 * vector; the gradient has room for one copy, because they are updated one after the other.
 *
 * Invariants: (1) whatever decides the future is LGV_KEEP: parameters, target, optimizer slots,
 * replay, counters, streams; (2) nothing is allocated after open; (3) evaluation writes only
 * scratch and the eval stream; (4) w- changes in lgv__dqn_refresh_target only. */
#ifndef LGV_AGENT_DEEP_DQN_CORE_H
#define LGV_AGENT_DEEP_DQN_CORE_H

#include "langevin.h"
#include "nn/net.h"
#include "replay/priority.h"

enum { DQN_MSE, DQN_HUBER };

/* Parameters of every deep agent; the first member of its parameter struct. */
typedef struct dqn_params {
  int32_t preset, net;
  lgv_ints hidden;
  bool scale_input, shared_bias;
  double one_hot_gain;
  double gamma;
  int64_t n_step, batch, replay, warmup;
  int64_t update_every, updates, target_every;
  bool double_q;
  int32_t loss;
  priority_params priority; /* of agents that have these rows */
  double grad_clip;
} dqn_params;

extern const char *const lgv__dqn_preset_names[], *const lgv__dqn_net_names[],
                                                      *const lgv__dqn_loss_names[];

/* The first rows of a deep agent's parameter table. */
#define DQN_PARAM_ROWS                                                                             \
  {.name = "preset",                                                                               \
   .type = LGV_CHOICE,                                                                             \
   .offset = offsetof(dqn_params, preset),                                                         \
   .default_text = "auto",                                                                         \
   .choices = lgv__dqn_preset_names,                                                               \
   .help = "values for what is left open; auto: atari for images, one-hot for one-hot "            \
           "observations where there is one, else small. zoo: dqn as DQN Zoo has it"},             \
      {.name = "net",                                                                              \
       .type = LGV_CHOICE,                                                                         \
       .offset = offsetof(dqn_params, net),                                                        \
       .default_text = "auto",                                                                     \
       .choices = lgv__dqn_net_names,                                                              \
       .help = "nature: three convolutions and dense layers; auto: nature for images, else mlp"},  \
      {.name = "hidden",                                                                           \
       .type = LGV_INTS,                                                                           \
       .offset = offsetof(dqn_params, hidden),                                                     \
       .default_text = "32,32",                                                                    \
       .min = 1,                                                                                   \
       .max = 1e6,                                                                                 \
       .help = "widths of the hidden dense layers"},                                               \
      {.name = "scale_input",                                                                      \
       .type = LGV_BOOL,                                                                           \
       .offset = offsetof(dqn_params, scale_input),                                                \
       .default_text = "false",                                                                    \
       .help = "divide bytes by 255"},                                                             \
      {.name = "gamma",                                                                            \
       .type = LGV_REAL,                                                                           \
       .offset = offsetof(dqn_params, gamma),                                                      \
       .default_text = "0.99",                                                                     \
       .min = 0,                                                                                   \
       .max = 1,                                                                                   \
       .help = "discount"},                                                                        \
      {.name = "n_step",                                                                           \
       .type = LGV_INT,                                                                            \
       .offset = offsetof(dqn_params, n_step),                                                     \
       .default_text = "1",                                                                        \
       .min = 1,                                                                                   \
       .max = 1000,                                                                                \
       .help = "rewards in a target before it bootstraps"},                                        \
      {.name = "batch",                                                                            \
       .type = LGV_INT,                                                                            \
       .offset = offsetof(dqn_params, batch),                                                      \
       .default_text = "32",                                                                       \
       .min = 1,                                                                                   \
       .max = 65536,                                                                               \
       .help = "transitions in a minibatch"},                                                      \
      {.name = "replay",                                                                           \
       .type = LGV_INT,                                                                            \
       .offset = offsetof(dqn_params, replay),                                                     \
       .default_text = "10000",                                                                    \
       .min = 2,                                                                                   \
       .max = 1e9,                                                                                 \
       .help = "steps the replay holds; the last observation of an episode counts as one"},        \
      {.name = "warmup",                                                                           \
       .type = LGV_INT,                                                                            \
       .offset = offsetof(dqn_params, warmup),                                                     \
       .default_text = "32",                                                                       \
       .min = 1,                                                                                   \
       .max = 1e9,                                                                                 \
       .help = "transitions before the first update"},                                             \
      {.name = "update_every",                                                                     \
       .type = LGV_INT,                                                                            \
       .offset = offsetof(dqn_params, update_every),                                               \
       .default_text = "10",                                                                       \
       .min = 0,                                                                                   \
       .max = 1e9,                                                                                 \
       .help = "environment steps between updates; 0: update between episodes only"},              \
      {.name = "updates",                                                                          \
       .type = LGV_INT,                                                                            \
       .offset = offsetof(dqn_params, updates),                                                    \
       .default_text = "1",                                                                        \
       .min = 1,                                                                                   \
       .max = 1e9,                                                                                 \
       .help = "J: gradient steps each time"},                                                     \
      {.name = "target_every",                                                                     \
       .type = LGV_INT,                                                                            \
       .offset = offsetof(dqn_params, target_every),                                               \
       .default_text = "100",                                                                      \
       .min = 1,                                                                                   \
       .max = 1e9,                                                                                 \
       .help = "gradient steps between copies to the target network"},                             \
      {.name = "double",                                                                           \
       .type = LGV_BOOL,                                                                           \
       .offset = offsetof(dqn_params, double_q),                                                   \
       .default_text = "false",                                                                    \
       .help = "the online network chooses the action that the target network values"},            \
  {                                                                                                \
    .name = "loss", .type = LGV_CHOICE, .offset = offsetof(dqn_params, loss),                      \
    .default_text = "mse", .choices = lgv__dqn_loss_names,                                         \
    .help = "mse: mean of the squared error; huber: half of that up to 1, linear beyond"           \
  }

/* Of agents with a plain output layer. */
#define DQN_SHARED_BIAS_ROW                                                                        \
  {                                                                                                \
    .name = "shared_bias", .type = LGV_BOOL, .offset = offsetof(dqn_params, shared_bias),          \
    .default_text = "false", .help = "the output layer has one bias for all actions"               \
  }

/* Of agents whose exploration needs rows of the first layer that tell the states apart. */
#define DQN_ONE_HOT_GAIN_ROW                                                                       \
  {                                                                                                \
    .name = "one_hot_gain", .type = LGV_REAL, .offset = offsetof(dqn_params, one_hot_gain),        \
    .default_text = "0", .min = 0, .max = 1e6,                                                     \
    .help = "one-hot observations of n states are this times sqrt(n) where they are on, so that "  \
            "initial values differ between states however many there are; 0: they are 1"           \
  }

/* Of agents that draw by lgv__dqn_sample and weigh by c->weight. */
#define DQN_PRIORITY_ROWS                                                                          \
  {.name = "prioritized",                                                                          \
   .type = LGV_BOOL,                                                                               \
   .offset = offsetof(dqn_params, priority.on),                                                    \
   .default_text = "false",                                                                        \
   .help = "draw transitions in proportion to (their last error)^priority_alpha"},                 \
      {.name = "priority_alpha",                                                                   \
       .type = LGV_REAL,                                                                           \
       .offset = offsetof(dqn_params, priority.alpha),                                             \
       .default_text = "0.6",                                                                      \
       .min = 0,                                                                                   \
       .max = 10,                                                                                  \
       .help = "0: uniform draws"},                                                                \
      {.name = "priority_beta",                                                                    \
       .type = LGV_REAL,                                                                           \
       .offset = offsetof(dqn_params, priority.beta),                                              \
       .default_text = "0.4",                                                                      \
       .min = 0,                                                                                   \
       .max = 1,                                                                                   \
       .help = "how far weights undo the bias of such draws when learning begins"},                \
      {.name = "priority_beta_end",                                                                \
       .type = LGV_REAL,                                                                           \
       .offset = offsetof(dqn_params, priority.beta_end),                                          \
       .default_text = "1",                                                                        \
       .min = 0,                                                                                   \
       .max = 1,                                                                                   \
       .help = "what it moves to"},                                                                \
      {.name = "priority_beta_steps",                                                              \
       .type = LGV_INT,                                                                            \
       .offset = offsetof(dqn_params, priority.beta_steps),                                        \
       .default_text = "100000",                                                                   \
       .min = 0,                                                                                   \
       .max = 1e12,                                                                                \
       .help = "environment steps over which it moves, from agent.warmup on"},                     \
  {                                                                                                \
    .name = "priority_uniform", .type = LGV_REAL,                                                  \
    .offset = offsetof(dqn_params, priority.uniform), .default_text = "0.001", .min = 0, .max = 1, \
    .help = "share of draws that are uniform nevertheless"                                         \
  }

#define DQN_GRAD_CLIP_ROW                                                                          \
  {                                                                                                \
    .name = "grad_clip", .type = LGV_REAL, .offset = offsetof(dqn_params, grad_clip),              \
    .default_text = "0", .min = 0, .max = 1e12,                                                    \
    .help = "greatest norm of a gradient, which is shortened to it; 0: any"                        \
  }

enum { DQN_PARAM_GAMMA = 4, DQN_PARAM_N_STEP, DQN_PARAM_UPDATE_EVERY = 9 }; /* indices */

typedef struct dqn dqn;

/* What an agent has of everything. */
typedef struct dqn_form {
  int64_t copies;   /* networks; 0: 1 */
  int32_t heads;    /* groups of outputs, one for each action; 0: 1 */
  int32_t atoms;    /* outputs of one head for each action, one behind the other; 0: 1 */
  int32_t cosines;  /* of the network's embedding of tau; 0: there is none */
  int32_t taus;     /* the most of them that an observation meets; 0: 1 */
  int32_t vectors;  /* parameter vectors that belong together, such as (mu, sigma); 0: 1 */
  bool with_first;  /* minibatches hold the first observation of the episode too */
  bool no_target;   /* there is no target network */
  bool above_first; /* the network begins above its first layer, which the agent keeps itself */
  /* Q (rows x A) of outputs (rows x outputs) that are not Q themselves; else NULL. */
  void (*mean)(const dqn *c, const float *out, int64_t rows, float *q);
  /* What lgv__dqn_observe and lgv__dqn_end_episode call when an update is due; NULL:
   * lgv__dqn_update. */
  lgv_status (*update)(dqn *c, lgv_error *err);
} dqn_form;

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

struct dqn {
  const dqn_params *p;
  lgv_env_spec env;
  dqn_form form;
  int32_t A, outputs; /* outputs = heads x A x atoms */
  net net;
  int64_t dim; /* parameters of one copy: vectors x net.params */
  const lgv_optim_type *optimizer;
  const void *optim_params;
  lgv_rng *init, *act, *draw, *eval, *seed_noise;
  lgv_noise *noise;

  int64_t *count;               /* (DQN_COUNTERS) */
  int64_t *t;                   /* (copies): optimizer steps of each */
  float *w;                     /* (copies x dim) */
  float *w_target;              /* (copies x dim); NULL without a target network */
  float *slot[LGV_OPTIM_SLOTS]; /* (copies x dim) each, as many as the optimizer uses */
  float *residual;              /* (copies x dim): with optim.compensated; else NULL */
  float *grad;                  /* (dim): of the copy in hand */
  double *stat;                 /* (DQN_STATS) */

  int32_t stream; /* whose environment the calls in hand are for */
  replay replay;
  replay_batch batch;
  priority priority; /* in use with agent.prioritized */
  net_tape tape, target_tape, act_tape;
  void *seen;     /* one observation in net_input form */
  double *values; /* (A): Q of one observation, for the one tie rule */
  float *act_q;   /* (A): the same from the network, where its outputs are not Q */
  /* of the minibatch in hand; they lie on the tapes */
  const float *q;        /* (rows x outputs): Q(s, .; w), then those of first observations */
  const float *q_next;   /* (batch x outputs): Q(s', .; w); with agent.double only */
  const float *q_target; /* (batch x outputs): Q(s', .; w-) */
  float *y;              /* (batch) */
  float *d_q;            /* (rows x outputs): d loss / d Q */
  float *mean;           /* (batch x A): Q of outputs that are not Q; else NULL */
  int32_t *best;         /* (batch): a*, where that is so; else NULL */
  float *weight;         /* (batch): of each sample's loss; NULL: all 1 */
  float *error;          /* (batch): how wrong each sample was, for its priority */
  double loss;           /* summed over heads and copies */
};

/* ---- life ---- */
LGV_CHECK lgv_status lgv__dqn_resolve(dqn_params *params, const lgv_problem *problem, int32_t heads,
                                      lgv_error *err);
LGV_CHECK lgv_status lgv__dqn_resolve_form(dqn_params *params, const lgv_problem *problem,
                                           dqn_form form, lgv_error *err);
/* Of the whole network, for `heads` heads. */
net_shape lgv__dqn_shape(const dqn_params *params, const lgv_env_spec *env, int32_t heads);
int32_t lgv__dqn_streams(const lgv_problem *problem); /* at least 1 */
void lgv__dqn_layout(dqn *c, const dqn_params *params, const lgv_problem *problem, dqn_form form,
                     lgv_layout *layout);
/* ---- acting ---- */
/* Q of one observation, (outputs), or (A) if the form has a mean. The values stay until the next
 * call. */
const float *lgv__dqn_values(dqn *c, const float *w, const lgv_obs *obs);
/* The one tie rule of lgv__argmax. */
int32_t lgv__dqn_greedy(dqn *c, const float *q, lgv_mode mode);
int32_t lgv__dqn_first_best(const float *q, int32_t count); /* the lowest index, for targets */
lgv_rng *lgv__dqn_act_stream(dqn *c, lgv_mode mode);
void lgv__dqn_copy_values(const dqn *c, const float *values, double *q); /* (A), for q_values */

/* ---- learning ---- */
/* Stores the transition and counts the step; returns its entry in the replay. */
int64_t lgv__dqn_remember(dqn *c, const lgv_transition *transition);
/* Gradient steps to make now: after lgv__dqn_remember, and at the end of an episode. */
int64_t lgv__dqn_updates_due(const dqn *c);
int64_t lgv__dqn_updates_due_between_episodes(const dqn *c);
void lgv__dqn_sample(dqn *c); /* also fills c->weight */
/* q, q_next and q_target of the minibatch, for these parameters. */
void lgv__dqn_forward(dqn *c, const float *w, const float *w_target);
/* The same in two parts, for agents that change w between them: first lgv__dqn_forward_next and the
 * targets, then lgv__dqn_forward_obs, which leaves the tape as lgv__dqn_backward needs it. */
void lgv__dqn_forward_next(dqn *c, const float *w, const float *w_target);
void lgv__dqn_forward_obs(dqn *c, const float *w);
/* y[i] = reward + discount value[i, argmax_a select[i, a]], the lowest index among equals; rows of
 * select and value are `stride` apart. */
void lgv__dqn_targets_from(const dqn *c, const float *select, const float *value, int64_t stride,
                           float *y);
void lgv__dqn_targets(dqn *c); /* the same for q_next or q_target, one head */
/* Agents whose outputs are not Q: best[i] = a*, the first among equals, by the mean of q_next or
 * q_target; the outputs of an action begin at dqn_atoms_at. */
void lgv__dqn_choose(dqn *c);
static inline int64_t dqn_atoms_at(const dqn *c, int64_t row, int32_t action) {
  return (row * c->A + action) * c->form.atoms;
}
bool lgv__dqn_target_due(const dqn *c); /* whether this update copies w to w- */
/* w- = w for a copy, if that is due; returns whether. */
bool lgv__dqn_refresh_target(dqn *c, int64_t copy);
/* Clears d_q and the loss; lgv__dqn_loss_add then adds one head's: weight (or NULL: 1) multiplies
 * each sample's loss; q and d_q begin at the head's first action, rows are `outputs` apart. Huber's
 * slope is cut at 1 with the weight in it, clip(w e, -1, 1), as DQN Zoo has it. Errors of the head
 * become c->error. */
void lgv__dqn_loss_clear(dqn *c);
void lgv__dqn_loss_add(dqn *c, const float *q, const float *y, const float *weight, float *d_q);
/* The same for a loss of the agent's own: what it made of sample i, whose derivatives, `count`
 * numbers, take their share of the mean. */
void lgv__dqn_loss_of(dqn *c, int64_t i, float loss, float *d_outputs, int64_t count);
void lgv__dqn_loss(dqn *c); /* both, for one head, with c->weight */
/* grad = gradient at w; what lies below the output layer is divided by the number of heads. */
void lgv__dqn_backward(dqn *c, const float *w, float *grad);
/* One optimizer step of a copy, with c->grad, which agent.grad_clip shortens. */
void lgv__dqn_step(dqn *c, int64_t copy);
/* Counts the update, takes statistics, stops if the loss or a parameter is not finite, and makes
 * c->error the priorities of the minibatch. */
LGV_CHECK lgv_status lgv__dqn_end_update(dqn *c, lgv_error *err);
/* The whole of the update above, for one network with one head. */
LGV_CHECK lgv_status lgv__dqn_update(dqn *c, lgv_error *err);

/* ---- hooks that agents share; the core is the first member of their state ---- */
/* open: draws every copy's parameters, and starts the target network with the same. */
lgv_status lgv__dqn_open(void *self, lgv_error *err);
void lgv__dqn_set_stream(void *self, int32_t stream);
lgv_status lgv__dqn_begin_episode(void *self, lgv_error *err); /* nothing to do */
lgv_status lgv__dqn_act_greedy(void *self, const lgv_obs *obs, lgv_mode mode, int32_t *action,
                               lgv_error *err);
/* q_values of agents that evaluate by w alone. */
lgv_status lgv__dqn_q_values(void *self, const lgv_obs *obs, double *q, lgv_error *err);
/* The updates that are due, form.update or lgv__dqn_update each. */
lgv_status lgv__dqn_observe(void *self, const lgv_transition *transition, lgv_error *err);
lgv_status lgv__dqn_end_episode(void *self, lgv_error *err);
void lgv__dqn_stats(const void *self, double *values);
void lgv__dqn_policy_parts(const void *self,
                           lgv_policy_parts *parts); /* of agents that have w alone */

#endif
