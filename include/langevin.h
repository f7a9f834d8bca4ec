/* langevin.h - randomized exploration in reinforcement learning: the public interface of
 * liblangevin.
 *
 * Contents, by reader:
 *   Part 1  Embedding    version, errors, settings, actions, observations, environments, agents,
 *                        the trainer, trained agents
 *   Part 2  Extending    random streams, memory, parameters, exact models, environments and agents
 *                        of your own, the registry
 *   Part 3  Experiments  plans, runs, batches, sweeps
 *   Part 4  Statistics   estimates over seeds, the theorem's constants
 *
 * Overview. Settings (text keys: env.*, agent.*, optim.*, run.*) describe an environment and an
 * agent. A program with its own loop creates either or both and steps them; a trainer has the loop
 * of a run. Settings also become a plan, which is validated, immutable and shared by threads. A
 * plan and a seed become a run, which writes records into a directory. Environments and agents are
 * const descriptors (lgv_env_type, lgv_agent_type); your own work like the built-in ones.
 *
 * Rules. Fallible calls return lgv_status and, on failure, fill the caller's lgv_error. The library
 * never prints, never exits and holds no global state that a caller could see. A handle belongs to
 * one thread at a time; plans may be shared. Creating a handle allocates its memory; steps allocate
 * nothing.
 *
 * Structs. One that a caller fills and that may gain members begins with `size`, its sizeof: a
 * program that was compiled against another version of this file is refused, not misread. Zero in
 * every other member means "absent", so write lgv_batch batch = {.size = sizeof batch, ...}.
 * Structs of every step (lgv_action, lgv_obs, lgv_outcome, lgv_transition, lgv_episode), rows of
 * tables and results have no size; docs/abi.md says when they may change.
 */
#ifndef LANGEVIN_H
#define LANGEVIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LGV_API __attribute__((visibility("default")))
#define LGV_CHECK __attribute__((warn_unused_result))
#define LGV_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define LGV_API
#define LGV_CHECK
#define LGV_PRINTF(fmt, args)
#endif

/* ============================================================================================== */
/* Part 1. Embedding: settings, an environment, an agent, a trainer                               */
/* ============================================================================================== */

/* ---- Version ---- */

/* The version of this header. */
#define LGV_VERSION_MAJOR 0
#define LGV_VERSION_MINOR 1
#define LGV_VERSION_PATCH 0

/* "0.1.0": the version of the library that was loaded, which may differ from this header's. */
LGV_API const char *lgv_version(void);
/* The set of compute kernels in use: part of what makes two runs equal bit for bit. */
LGV_API const char *lgv_kernels(void);

/* ---- Status and errors ---- */

/* What a call that can fail returns. */
typedef enum lgv_status {
  LGV_OK = 0,
  LGV_ERR_USAGE,       /* a wrong name, value or call; the message says what is allowed */
  LGV_ERR_MEMORY,      /* an allocation failed, or a size does not fit */
  LGV_ERR_IO,          /* a file or directory could not be read or written */
  LGV_ERR_NUMERIC,     /* NaN, infinity, or a matrix that is not positive definite */
  LGV_ERR_ENV,         /* the environment failed */
  LGV_ERR_INTERRUPTED, /* the caller asked to stop; what was recorded stays */
} lgv_status;

/* The details of a failure, filled by the call that failed. */
typedef struct lgv_error {
  lgv_status status;
  char message[512]; /* what is wrong, where, and what to do */
} lgv_error;

/* "wrong usage", "out of memory", ... */
LGV_API const char *lgv_status_name(lgv_status status);
/* Fills *err (which may be NULL) and returns status: for descriptors of your own. */
LGV_API lgv_status lgv_fail(lgv_error *err, lgv_status status, const char *format, ...)
    LGV_PRINTF(3, 4);

/* ---- Settings ---- */

/* Text keys and values (env.*, agent.*, optim.*, run.*), and where each came from. `langevin list`
 * and lgv_registry_get show the keys. */
typedef struct lgv_settings lgv_settings;

/* Makes empty settings; the caller frees them. */
LGV_API LGV_CHECK lgv_status lgv_settings_create(lgv_settings **settings, lgv_error *err);
/* Frees settings. NULL does nothing, as in every call that frees. Plans, environments and agents
 * made from them stay valid. */
LGV_API void lgv_settings_free(lgv_settings *settings);
/* Sets one value; a later one replaces an earlier one. origin (may be NULL) appears in error
 * messages. */
LGV_API LGV_CHECK lgv_status lgv_settings_set(lgv_settings *settings, const char *key,
                                              const char *value, const char *origin,
                                              lgv_error *err);
/* The same with "env.name=cartpole". */
LGV_API LGV_CHECK lgv_status lgv_settings_assign(lgv_settings *settings,
                                                 const char *key_equals_value, const char *origin,
                                                 lgv_error *err);
/* Sets the values of a YAML file. */
LGV_API LGV_CHECK lgv_status lgv_settings_load(lgv_settings *settings, const char *yaml_path,
                                               lgv_error *err);
/* The text of a value that was set, or NULL. */
LGV_API const char *lgv_settings_get(const lgv_settings *settings, const char *key);
/* Receives warnings for the user, of one line or several, from plans, environments and runs made
 * from these settings. context must outlive them; the call comes from the thread that uses them. */
LGV_API void lgv_settings_on_notice(lgv_settings *settings,
                                    void (*notice)(void *context, const char *text), void *context);

/* ---- Actions ---- */

/* A space of actions. Multi-discrete: one action makes several choices at once, its parts. A box:
 * one number per part. */
typedef enum lgv_action_kind { LGV_DISCRETE, LGV_MULTI_DISCRETE, LGV_BOX } lgv_action_kind;
/* The most parts of an action. */
enum { LGV_MOST_PARTS = 64 };

/* Made by lgv_discrete, lgv_multi_discrete or lgv_box. */
typedef struct lgv_action_space {
  lgv_action_kind kind;
  int32_t count;                                   /* of choices, all parts together; box: 0 */
  int32_t parts;                                   /* multi-discrete and box; discrete: 0 or 1 */
  int32_t choices[LGV_MOST_PARTS];                 /* multi-discrete: of each part */
  float low[LGV_MOST_PARTS], high[LGV_MOST_PARTS]; /* box: bounds of each part */
} lgv_action_space;

/* One choice of 0..count - 1. */
LGV_API lgv_action_space lgv_discrete(int32_t count);
/* Several choices at once. Only the first LGV_MOST_PARTS are copied; a space with more parts is
 * refused where it is used. */
LGV_API lgv_action_space lgv_multi_discrete(int32_t parts, const int32_t *choices);
/* Numbers within bounds. */
LGV_API lgv_action_space lgv_box(int32_t parts, const float *low, const float *high);

/* One action of a space. */
typedef union lgv_action {
  int32_t choice;                  /* discrete: 0..count - 1 */
  int32_t choices[LGV_MOST_PARTS]; /* multi-discrete: one per part */
  float values[LGV_MOST_PARTS];    /* box: one per part */
} lgv_action;

/* ---- Observations ---- */

/* The type of an observation's numbers. */
typedef enum lgv_obs_kind { LGV_OBS_FLOAT, LGV_OBS_BYTE } lgv_obs_kind;
/* Dense, or a vector that stands for an index: a one in one place (one-hot), or ones up to it
 * (thermometer). */
typedef enum lgv_obs_form { LGV_FORM_DENSE, LGV_FORM_ONE_HOT, LGV_FORM_THERMOMETER } lgv_obs_form;

/* What an agent must know about an environment. A dense observation that is wider than 1 is a
 * picture, a large one if both sides have at least 36 pixels; agents choose networks and presets by
 * that. */
typedef struct lgv_env_spec {
  size_t size; /* sizeof(lgv_env_spec); the hooks of an environment need not set it */
  lgv_obs_kind obs_kind;
  lgv_obs_form obs_form; /* lets a network exploit a sparse first layer */
  int32_t obs_shape[3];  /* (height, width, channels) of pictures; (length, 1, 1) of vectors */
  int32_t vector;        /* floats that accompany a picture: in the data they follow it, at the next
                          * multiple of 4 bytes; 0: none */
  int32_t frames; /* the observation is a stack of this many, oldest first, so that a replay keeps
                   * the newest only: pictures along their channels, vectors (also those beside a
                   * picture) one after the other; 0 or 1: no stack */
  lgv_action_space actions;
  bool masked;          /* observations say which choices are allowed */
  int64_t states;       /* number of states if finite, else 0 */
  int64_t horizon;      /* steps after which every episode has ended, or 0 */
  bool stationary;      /* rewards, transitions and masks do not depend on the stage */
  bool clock_truncates; /* a clock that runs out at the horizon is reported as truncated only, so
                         * that terminated always means a true end; false: it may mean either */
  double reward_min, reward_max; /* bounds of mean rewards; noise may exceed them; 0, 0: unknown */
  int64_t feature_dim;           /* of features, or 0 */
  const double
      *features; /* phi(s,a), (states * actions) x feature_dim, row s * actions + a; or NULL */
  /* Bounds of every number of an observation, infinite where there is none; NULL: unknown. Feature
   * maps use them; nothing checks observations against them. */
  const float *obs_low, *obs_high;
} lgv_env_spec;

/* What an agent sees. data: obs_shape floats or bytes, then `vector` floats (agents with
 * LGV_NEEDS_STATES leave it alone, unless they use a feature map); state: index if finite, else -1;
 * stage: 0, 1, ... */
typedef struct lgv_obs {
  const void *data;
  int64_t state;
  int64_t stage;
  const uint8_t *mask; /* (actions.count), part after part: 0 where a choice is forbidden; NULL:
                        * everything is allowed */
} lgv_obs;

/* What a step led to, beside the next observation. */
typedef struct lgv_outcome {
  double reward;
  bool terminated; /* the task ended: no value beyond (but see clock_truncates) */
  bool truncated;  /* a clock stopped the episode: the next state still has a value */
} lgv_outcome;

/* ---- Environments ---- */

/* An environment with its random stream. */
typedef struct lgv_env lgv_env;

/* Makes an environment. Reads env.name, env.*, run.env_timeout and run.on_worker_death; other keys
 * are ignored. */
LGV_API LGV_CHECK lgv_status lgv_env_create(const lgv_settings *settings, uint64_t seed,
                                            lgv_env **env, lgv_error *err);
/* Frees an environment and ends its process if it has one. */
LGV_API void lgv_env_free(lgv_env *env);
/* Restarts the random stream, as if the environment had been created with this seed; reset must
 * follow. */
LGV_API void lgv_env_seed(lgv_env *env, uint64_t seed);
/* What the environment is; valid until it is freed. */
LGV_API const lgv_env_spec *lgv_env_get_spec(const lgv_env *env);
/* Begins an episode. */
LGV_API LGV_CHECK lgv_status lgv_env_reset(lgv_env *env, lgv_obs *obs, lgv_error *err);
/* Takes an action. The observation stays valid until the second next step or reset, so that (obs,
 * next) can be used together. */
LGV_API LGV_CHECK lgv_status lgv_env_step(lgv_env *env, const lgv_action *action,
                                          lgv_outcome *outcome, lgv_obs *next, lgv_error *err);
/* One step of several environments with the same spec; those in processes of their own work at the
 * same time. reset (count, may be NULL): where true, a new episode begins instead. data: (count
 * observations), where these are copied to; masks: (count x actions.count) the same, or NULL. A
 * wrong action changes nothing; after any other failure reset them all. */
LGV_API LGV_CHECK lgv_status lgv_env_step_all(lgv_env *const *envs, size_t count,
                                              const lgv_action *actions, const bool *reset,
                                              void *data, uint8_t *masks, lgv_outcome *outcomes,
                                              lgv_error *err);

/* A picture of an environment for people, not for agents: (height x width x channels) bytes, three
 * channels of red, green and blue or one of gray. */
typedef struct lgv_picture {
  int32_t height, width, channels;
  const uint8_t *pixels; /* until the next step or reset */
} lgv_picture;

/* The size of the text of lgv_env_render. */
enum { LGV_RENDER_SIZE = 4096 };
/* The current state in lines of text; false if the environment draws none. text: of
 * LGV_RENDER_SIZE bytes. */
LGV_API bool lgv_env_render(const lgv_env *env, char *text);
/* The current state as pixels; false if the environment has none. */
LGV_API bool lgv_env_picture(const lgv_env *env, lgv_picture *picture);

/* ---- Agents ---- */

/* One episode: lgv_env_reset, lgv_agent_begin_episode; then lgv_agent_act, lgv_env_step and
 * lgv_agent_observe until the episode ends; lgv_agent_end_episode. examples/own_loop.c has the
 * whole loop. */

/* An agent with everything it has learned, and its random streams. */
typedef struct lgv_agent lgv_agent;
/* Whether an agent explores and learns, or shows what it has learned. */
typedef enum lgv_mode { LGV_TRAIN, LGV_EVAL } lgv_mode;

/* One step, as an agent learns from it. */
typedef struct lgv_transition {
  lgv_obs obs, next;
  const lgv_action *action;
  double reward;
  bool terminated, truncated;
} lgv_transition;

/* Makes an agent for environments with this spec. Reads agent.name, agent.*, optim.* and run.envs.
 * agent.name = auto picks one, as in a plan, and reports it by lgv_settings_on_notice. episodes and
 * steps: how long it will be trained (0 if unknown). */
LGV_API LGV_CHECK lgv_status lgv_agent_create(const lgv_settings *settings, const lgv_env_spec *env,
                                              int64_t episodes, int64_t steps, uint64_t seed,
                                              lgv_agent **agent, lgv_error *err);
/* The name of the agent that agent.name = auto picks for environments with this spec. */
LGV_API const char *lgv_auto_agent(const lgv_env_spec *env);
/* The rule by which it picks: one sentence without a period. */
LGV_API const char *lgv_auto_rule(void);
/* Frees an agent. */
LGV_API void lgv_agent_free(lgv_agent *agent);
/* With run.envs > 1: the environment that the following calls belong to, 0..run.envs - 1. */
LGV_API LGV_CHECK lgv_status lgv_agent_set_stream(lgv_agent *agent, int32_t stream, lgv_error *err);
/* Prepares the policy of the next episode; comes before its first lgv_agent_act in LGV_TRAIN. */
LGV_API LGV_CHECK lgv_status lgv_agent_begin_episode(lgv_agent *agent, lgv_error *err);
/* Chooses an action that the mask of the observation allows. LGV_EVAL does not explore and changes
 * nothing that is learned. */
LGV_API LGV_CHECK lgv_status lgv_agent_act(lgv_agent *agent, const lgv_obs *obs, lgv_mode mode,
                                           lgv_action *action, lgv_error *err);
/* Learns from a step that was taken in LGV_TRAIN. */
LGV_API LGV_CHECK lgv_status lgv_agent_observe(lgv_agent *agent, const lgv_transition *transition,
                                               lgv_error *err);
/* Ends an episode that terminated or was truncated. */
LGV_API LGV_CHECK lgv_status lgv_agent_end_episode(lgv_agent *agent, lgv_error *err);
/* Probabilities (actions.count) at the stage, state and mask of an observation, for agents whose
 * policy is fixed within an episode. Its data may be NULL. */
LGV_API LGV_CHECK lgv_status lgv_agent_policy(const lgv_agent *agent, const lgv_obs *obs,
                                              double *probabilities, lgv_error *err);
/* Q of every choice at each of `count` observations, q (count x actions.count), part after part,
 * masked ones included: those by which the agent acts in LGV_EVAL, or their mean where evaluations
 * draw (a member of an ensemble, the noise of a layer, quantiles). Linear agents read state and
 * stage, the others data. No state of the agent changes, random streams included. */
LGV_API LGV_CHECK lgv_status lgv_agent_q_values(lgv_agent *agent, const lgv_obs *obs, size_t count,
                                                double *q, lgv_error *err);
/* The statistics that the records of a run have of an agent (loss, q_mean, ...): the name of one,
 * NULL past the end, and the current values of all. */
LGV_API const char *lgv_agent_stat_name(const lgv_agent *agent, size_t index);
LGV_API void lgv_agent_stats(const lgv_agent *agent, double *values);
/* A resolved value as text: lgv_agent_get(agent, "optim.lr", ...). */
LGV_API LGV_CHECK lgv_status lgv_agent_get(const lgv_agent *agent, const char *key, char *text,
                                           size_t size, lgv_error *err);
/* Writes the policy as one C99 file that needs nothing else: NAME_act, the action of an evaluation
 * without its draws, and NAME_q, the values of lgv_agent_q_values. They take an observation, or
 * stage and state; NAME_act also takes a mask. A policy over continuous actions has NAME_act alone,
 * without a mask. No state of the agent changes, random streams included.
 *
 * Where path ends with .safetensors, the file has the agent's network up to its last hidden layer
 * instead, for agent.features = network. There it replaces another network, but no other file. */
LGV_API LGV_CHECK lgv_status lgv_agent_export(lgv_agent *agent, const char *path, const char *name,
                                              lgv_error *err);
/* The same for small machines: the weights of the network are whole numbers of 8 bits, with a scale
 * per row, so that the values are rounded. Refuses policies that are not networks. */
LGV_API LGV_CHECK lgv_status lgv_agent_export_int8(lgv_agent *agent, const char *path,
                                                   const char *name, lgv_error *err);

/* The name of the array in which an environment keeps the statistics of its observations. */
#define LGV_STATISTICS "statistics"

/* What a file of lgv_agent_save holds beside the agent. */
typedef struct lgv_save_options {
  size_t size;             /* sizeof(lgv_save_options) */
  const char *about;       /* optional: the caller's text for the file's metadata */
  const void *statistics;  /* optional: those of the training environment, as its array
                            * LGV_STATISTICS holds them; lgv_trained_open freezes them in the
                            * environment that it makes */
  size_t statistics_size;  /* in bytes */
  bool without_experience; /* a small file: the agent that loads it acts, but cannot learn */
} lgv_save_options;

/* Saves the agent's whole state as a safetensors file, which is written whole or not at all.
 * options: NULL for none. Loaded into an agent that was created with the same settings for the same
 * problem, training resumes bit for bit. A file that does not fit is refused and changes nothing.
 * Only a file that fits but whose numbers contradict each other, as one made to do harm, is noticed
 * after the arrays have changed: the agent then refuses every call until another file is loaded. */
LGV_API LGV_CHECK lgv_status lgv_agent_save(const lgv_agent *agent, const char *path,
                                            const lgv_save_options *options, lgv_error *err);
/* Reads a file of lgv_agent_save into an agent that was made with the same settings. */
LGV_API LGV_CHECK lgv_status lgv_agent_load(lgv_agent *agent, const char *path, lgv_error *err);

/* ---- Trainer ---- */

/* The training loop of a run, without records, for your own agent and environment. With the
 * settings and the seed of a run it computes the same bits. agent and env must outlive it. */
typedef struct lgv_trainer lgv_trainer;

/* An episode that has ended. */
typedef struct lgv_episode {
  int64_t length;
  double episode_return;
  double value;  /* of the policy that played it, exact, a mean over the start states; NaN where the
                    model is unknown or the policy not fixed within an episode */
  double regret; /* V* - V of that policy in the state where it began, or the environment's own
                    account where it has no model; or NaN */
} lgv_episode;

/* Makes a trainer of an agent in an environment. */
LGV_API LGV_CHECK lgv_status lgv_trainer_create(lgv_agent *agent, lgv_env *env,
                                                lgv_trainer **trainer, lgv_error *err);
/* Frees a trainer, but neither the agent nor the environment. */
LGV_API void lgv_trainer_free(lgv_trainer *trainer);
/* Truncates episodes after this many steps, as run.episode_steps does; 0: only the environment ends
 * them. Until this is called: the default of run.episode_steps for the steps that the agent was
 * made for. */
LGV_API LGV_CHECK lgv_status lgv_trainer_set_episode_steps(lgv_trainer *trainer, int64_t steps,
                                                           lgv_error *err);
/* That default, for loops of your own. steps: of training in each environment; 0: unknown. */
LGV_API int64_t lgv_episode_steps(const lgv_env_spec *env, int64_t steps);
/* Which fields of its episodes are numbers, not NaN. */
LGV_API void lgv_trainer_knows(const lgv_trainer *trainer, bool *value, bool *regret);
/* Steps until *steps = max_steps or *ended = max_episodes; the episodes that ended are described in
 * their order. The next call continues an episode that has not ended, unless a step failed: then
 * the episode is abandoned. */
LGV_API LGV_CHECK lgv_status lgv_trainer_advance(lgv_trainer *trainer, int64_t max_steps,
                                                 lgv_episode *episodes, int64_t max_episodes,
                                                 int64_t *steps, int64_t *ended, lgv_error *err);

/* ---- Trained agents ---- */

/* Returns of fresh evaluation episodes of a run's agent. path: a run directory, or one checkpoint
 * in it. */
LGV_API LGV_CHECK lgv_status lgv_evaluate(const char *path, int64_t episodes, uint64_t seed,
                                          double *returns, lgv_error *err);

/* The checked settings of a run; part 3. */
typedef struct lgv_plan lgv_plan;
/* The trained agent of a run and an environment for evaluations, for your own loop: reset, then act
 * in LGV_EVAL and step until the episode ends or has taken run.eval_steps. With the same seed this
 * gives the returns of lgv_evaluate. pictures: whether lgv_env_picture will be called. */
typedef struct lgv_trained lgv_trained;

/* Opens a trained agent. path: as in lgv_evaluate, or a file that the Python package saved. */
LGV_API LGV_CHECK lgv_status lgv_trained_open(const char *path, uint64_t seed, bool pictures,
                                              lgv_trained **trained, lgv_error *err);
/* Frees the agent and the environment, too. */
LGV_API void lgv_trained_free(lgv_trained *trained);
/* The plan of its run; it belongs to `trained`, as do the next two. */
LGV_API const lgv_plan *lgv_trained_plan(const lgv_trained *trained);
/* An environment for evaluations. */
LGV_API lgv_env *lgv_trained_env(const lgv_trained *trained);
/* The agent. */
LGV_API lgv_agent *lgv_trained_agent(const lgv_trained *trained);

/* ============================================================================================== */
/* Part 2. Extending: own environments, own agents, exact models                                  */
/* ============================================================================================== */

/* ---- Random streams ---- */

/* xoshiro256++, keyed by (seed, purpose): streams of different purpose are independent, so that
 * evaluation never shifts training and an agent's draws never shift the environment's. */

/* The whole state of a stream. */
typedef struct lgv_rng {
  uint64_t s[4];
} lgv_rng;

/* Starts a stream. */
LGV_API void lgv_rng_seed(lgv_rng *rng, uint64_t seed, const char *purpose);
/* 64 random bits. */
LGV_API uint64_t lgv_rng_bits(lgv_rng *rng);
LGV_API double lgv_rng_uniform(lgv_rng *rng);             /* [0, 1), 53 bits */
LGV_API int64_t lgv_rng_below(lgv_rng *rng, int64_t n);   /* uniform over 0..n-1, unbiased; n > 0 */
LGV_API double lgv_rng_normal(lgv_rng *rng);              /* N(0, 1) */
LGV_API double lgv_rng_gamma(lgv_rng *rng, double shape); /* Gamma(shape, 1); shape > 0 */
LGV_API void lgv_rng_normals(lgv_rng *rng, double *out, size_t count); /* count draws of N(0, 1) */

/* ---- Memory: named blocks, counted and then placed ---- */

/* A layout hook names every array of a handle. It runs twice: once to count (all pointers NULL),
 * once to place. LGV_KEEP blocks are the handle's state and go into checkpoints; LGV_SCRATCH
 * blocks do not. */

/* The type of an array's elements. */
typedef enum lgv_dtype { LGV_U8, LGV_I32, LGV_I64, LGV_U64, LGV_F32, LGV_F64 } lgv_dtype;
/* Whether an array is part of the state. */
typedef enum lgv_keep { LGV_SCRATCH, LGV_KEEP } lgv_keep;
/* What a layout hook adds arrays to. */
typedef struct lgv_layout lgv_layout;

/* Names an array and returns it: NULL while counting, later zeroed and on a boundary of 64 bytes.
 */
LGV_API void *lgv_layout_array(lgv_layout *layout, const char *name, lgv_dtype dtype, size_t count,
                               lgv_keep keep);
/* Attaches a consistency check to the last array declared. A file can hold any numbers, even with
 * valid checksums, so every array whose values become an index, a size or the length of a loop
 * needs a check. After a file was read into all arrays, the check returns NULL, or what is wrong
 * ("a position outside the grid"); the file is then refused. context: for example self. */
LGV_API void lgv_layout_check(lgv_layout *layout, const char *(*check)(const void *context),
                              const void *context);
/* The arrays of an agent, by name (see `layout`); NULL past the end. */
LGV_API const void *lgv_agent_array(const lgv_agent *agent, size_t index, const char **name,
                                    lgv_dtype *dtype, size_t *count);

/* ---- Parameters: one table drives the command line, config files, bindings and help ---- */

/* The type of a parameter's field. */
typedef enum lgv_param_type {
  LGV_REAL,   /* double */
  LGV_INT,    /* int64_t */
  LGV_BOOL,   /* bool */
  LGV_CHOICE, /* int32_t: index into choices */
  LGV_TEXT,   /* char[LGV_TEXT_SIZE] */
  LGV_INTS,   /* lgv_ints: written 32,32 */
  LGV_MAP,    /* lgv_map: any keys below its own, such as env.kwargs.gravity=1.6 */
} lgv_param_type;

/* Sizes of texts, lists and maps. */
enum { LGV_TEXT_SIZE = 256, LGV_INTS_MAX = 16, LGV_MAP_SIZE = 4096 };

/* The value of an LGV_INTS. */
typedef struct lgv_ints {
  int32_t count;
  int32_t value[LGV_INTS_MAX];
} lgv_ints;

/* The value of an LGV_MAP: lines "key=value\n", sorted by key. */
typedef struct lgv_map {
  char text[LGV_MAP_SIZE];
} lgv_map;

/* The bound itself is excluded. */
enum { LGV_OPEN_MIN = 1, LGV_OPEN_MAX = 2 };

/* A row of a parameter table. */
typedef struct lgv_param {
  const char *name; /* NULL ends a table */
  lgv_param_type type;
  size_t offset;              /* of the field in the parameter struct */
  const char *default_text;   /* the default, as a user would write it */
  double min, max;            /* numbers, and members of LGV_INTS; both 0: no bounds */
  unsigned open;              /* LGV_OPEN_MIN | LGV_OPEN_MAX */
  const char *const *choices; /* LGV_CHOICE: NULL-terminated */
  const char *help;
} lgv_param;

/* Values for settings that the user left open: "agent.gamma=0.99 optim.lr=1e-4", separated by
 * blanks. */
typedef struct lgv_preset {
  const char *name; /* NULL ends a table */
  const char *values;
  /* Of an agent: auto takes it for pictures with at least so many pixels per side, the largest that
   * fits. 0: only by its name, unless it is the first, which auto takes where no other fits. */
  int32_t picture_side;
} lgv_preset;

/* "[0, 1)", "a | b | c", "true | false": what a parameter accepts. */
LGV_API void lgv_param_range(const lgv_param *param, char *text, size_t size);

/* ---- Exact models of finite-horizon problems ---- */

/* States 0..S-1, actions 0..A-1, stages 0..H-1. next = LGV_END leaves the episode with value 0. */

/* The end of an episode, where a state is expected. */
enum { LGV_END = -1 };
/* A model; lgv_model_seal completes it. */
typedef struct lgv_model lgv_model;

/* Makes a model without transitions, rewards and start states. */
LGV_API LGV_CHECK lgv_status lgv_model_create(int64_t states, int32_t actions, int64_t horizon,
                                              bool stationary, lgv_model **model, lgv_error *err);
/* Frees a model. */
LGV_API void lgv_model_free(lgv_model *model);
/* Building. stage is 0 for a stationary model. Transitions are appended; lgv_model_seal checks that
 * every row sums to 1 and that nothing was set outside the model; it must be called before the
 * model is used. */
LGV_API LGV_CHECK lgv_status lgv_model_add(lgv_model *model, int64_t stage, int64_t state,
                                           int32_t action, int64_t next, double probability,
                                           lgv_error *err);
/* The same with the probabilities of all states at once, (S). */
LGV_API LGV_CHECK lgv_status lgv_model_add_row(lgv_model *model, int64_t stage, int64_t state,
                                               int32_t action, const double *probabilities,
                                               lgv_error *err);
/* The mean reward of an action; 0 if it is not set. */
LGV_API void lgv_model_set_reward(lgv_model *model, int64_t stage, int64_t state, int32_t action,
                                  double mean);
/* The probability that an episode begins in a state; 0 if it is not set. */
LGV_API void lgv_model_set_start(lgv_model *model, int64_t state, double probability);
/* Forbids an action: it needs neither transitions nor a reward, and no optimal policy takes it.
 * Every state must allow at least one action. */
LGV_API void lgv_model_forbid(lgv_model *model, int64_t stage, int64_t state, int32_t action);
/* Checks the model. It must be called before the model is used: the values of a model that is not
 * sealed are NaN, and no environment takes it. Nothing may be added later: lgv_model_add fails, and
 * the calls that set something change nothing. */
LGV_API LGV_CHECK lgv_status lgv_model_seal(lgv_model *model, lgv_error *err);
/* Which actions are allowed at a stage and state, (A), 1 or 0; the states of a stage follow each
 * other. NULL if the model forbids nothing, and outside of it. */
LGV_API const uint8_t *lgv_model_mask(const lgv_model *model, int64_t stage, int64_t state);
/* Optimal values by backward induction: (H+1) x S entries, the last row 0. */
LGV_API void lgv_model_optimal(const lgv_model *model, double *values);
/* The values of a policy of H x S x A probabilities, in the same form. A policy that takes a
 * forbidden action has no value: NaN, there and wherever it leads there. */
LGV_API void lgv_model_evaluate(const lgv_model *model, const double *policy, double *values);
/* The value of an action: its mean reward plus the mean over next states of next_values (S), 0 for
 * LGV_END. NaN for a forbidden action. */
LGV_API double lgv_model_q(const lgv_model *model, int64_t stage, int64_t state, int32_t action,
                           const double *next_values);
/* The mean of values (S) over the start state. */
LGV_API double lgv_model_start_mean(const lgv_model *model, const double *values);
/* An environment that draws from a sealed model and shows its states one-hot. features: phi(s,a),
 * (S A x feature_dim), or NULL. Both must outlive it. */
LGV_API LGV_CHECK lgv_status lgv_env_from_model(const lgv_model *model, const double *features,
                                                int64_t feature_dim, uint64_t seed, lgv_env **env,
                                                lgv_error *err);
/* The exact model of an environment; NULL if it has none. */
LGV_API const lgv_model *lgv_env_get_model(const lgv_env *env);
/* The events that an environment counts (games, goal_visits, ...): the name of one, NULL past the
 * end, and the counts of all so far. */
LGV_API const char *lgv_env_counter_name(const lgv_env *env, size_t index);
LGV_API void lgv_env_counters(const lgv_env *env, int64_t *values);

/* ---- Environments of your own ---- */

/* Services the caller provides to an environment running in another process. */
typedef struct lgv_host {
  double timeout; /* seconds to wait for an answer; 0: no limit */
  bool restart;   /* whether a process that died is restarted once */
  bool announce;  /* whether to report what was noticed while opening: once per plan */
  /* May be NULL. A warning for the user: one line, or several. */
  void (*notice)(void *context, const char *text);
  void *context;
  bool pictures; /* whether lgv_env_picture will be called */
} lgv_host;

/* An environment. A hook that is NULL has nothing to do; those without "optional" are required.
 * docs/add-an-environment.md explains them in order. */
typedef struct lgv_env_type {
  size_t size; /* sizeof(lgv_env_type) */
  const char *name;
  const char *summary; /* one line */
  const lgv_param *params;
  size_t params_size;     /* of the parameter struct */
  size_t state_size;      /* of the state struct, `self` below */
  const char *name_param; /* optional: the parameter that the text after a colon sets, as in
                           * env.name=gym:CartPole-v1 */
  /* Optional. The parameter `preset`, a choice, names one; its values are env.* and run.* */
  const lgv_preset *presets;

  /* Opening, in this order. spec: sizes from parameters; checks what single ranges cannot express.
   */
  lgv_status (*spec)(const void *params, lgv_env_spec *spec, lgv_error *err);
  /* Instead of spec, for an environment outside this process: starts it and fills spec. Once it
   * succeeded, close is called even if a later call fails. host outlives self. */
  lgv_status (*connect)(void *self, const void *params, const lgv_host *host, lgv_env_spec *spec,
                        lgv_error *err);
  /* Names the arrays; keeps in self what later hooks need. Runs twice. */
  void (*layout)(void *self, const void *params, const lgv_env_spec *spec, lgv_layout *layout);
  /* Optional: after placing. May set spec->features and allocate; close undoes it. If open fails,
   * it has cleaned up itself. */
  lgv_status (*open)(void *self, lgv_env_spec *spec, lgv_error *err);
  void (*close)(void *self); /* optional: undoes connect and open */

  /* Episodes. reset: begins one. */
  lgv_status (*reset)(void *self, lgv_rng *rng, lgv_error *err);
  lgv_status (*step)(void *self, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                     lgv_error *err);
  /* Instead of step, for environments that run elsewhere: step_begin sends the action and returns
   * at once, step_end waits for the outcome, so that several environments can step at the same
   * time. */
  lgv_status (*step_begin)(void *self, const lgv_action *action, lgv_rng *rng, lgv_error *err);
  lgv_status (*step_end)(void *self, lgv_rng *rng, lgv_outcome *outcome, lgv_error *err);
  /* Writes the observation: obs_shape numbers, then `vector` floats. */
  void (*observe)(const void *self, void *data);
  /* If the spec is masked: which choices the current state allows, (actions.count), part after
   * part, 1 or 0. Every part allows one at least, except after the task ended. */
  void (*mask)(const void *self, uint8_t *allowed);
  int64_t (*state_index)(const void *self); /* if the spec has states */
  /* Optional: the exact model, sealed; it belongs to self and lives until close. */
  const lgv_model *(*model)(const void *self);
  /* Optional, for tasks without a model whose best mean rewards are known, as those of a bandit:
   * how much less the actions of the current episode pay than the best ones, in mean rewards. */
  double (*regret)(const void *self);

  /* Optional: turns the parameters of training into those of evaluation (rewards as they are, whole
   * games). Observations, actions and states must stay what they are. */
  void (*eval_params)(void *params);
  /* Optional, for state that lives outside the arrays. save: before a checkpoint, within or between
   * episodes; brings that state into LGV_KEEP arrays. restore: after these were loaded, into an
   * environment that was just opened; undoes save. *in_episode says whether an episode was running;
   * restore makes it false if that episode cannot continue: it is abandoned, and reset begins a new
   * one. */
  lgv_status (*save)(void *self, lgv_error *err);
  lgv_status (*restore)(void *self, bool *in_episode, lgv_error *err);
  /* Optional, for an environment whose observations depend on running statistics. save brings them
   * into an LGV_KEEP array of bytes named LGV_STATISTICS. freeze: the array now holds those of the
   * training environment, and they no longer change. */
  lgv_status (*freeze)(void *self, lgv_error *err);
  bool limits_episodes; /* every episode ends in time, although the spec has no horizon: runs
                         * truncate none, unless run.episode_steps is set */

  const char *const *counter_names; /* optional, NULL-terminated: events counted since creation */
  void (*counters)(const void *self, int64_t *values); /* if there are counter_names */
  /* Optional: the current state for a terminal: lines that end in a newline, at most size bytes. */
  void (*render)(const void *self, char *text, size_t size);
  /* Optional: the current state as a picture; false if there is none. */
  bool (*picture)(const void *self, lgv_picture *picture);
} lgv_env_type;

/* Makes your own environment available under its name. The descriptor must outlive the plans,
 * environments and agents made from the settings. */
LGV_API LGV_CHECK lgv_status lgv_settings_add_env(lgv_settings *settings, const lgv_env_type *type,
                                                  lgv_error *err);

/* ---- Agents of your own ---- */

/* The problem that an agent is created for. */
typedef struct lgv_problem {
  lgv_env_spec env;
  int64_t episodes; /* how long it will be trained; 0 if unknown */
  int64_t steps;
  int32_t streams; /* environments that it learns from at once; 0 or 1: one */
  lgv_rng *init, *act, *replay, *noise, *eval; /* the agent's own streams; NULL while counting */
} lgv_problem;

/* Traits of an agent. */
enum {
  LGV_NEEDS_STATES = 1,         /* environments with finitely many states only */
  LGV_NEEDS_HORIZON = 2,        /* environments with a horizon only */
  LGV_SETTLES_PER_EPISODE = 4,  /* the policy is fixed within an episode */
  LGV_TAKES_MULTI_DISCRETE = 8, /* beside discrete actions */
  LGV_TAKES_BOX = 16,           /* instead of discrete actions */
  LGV_TAKES_FEATURES = 32 /* with agent.features = MAP it needs neither states nor a horizon */
};

/* An agent. A hook that is NULL has nothing to do; those without "optional" are required.
 * docs/add-an-agent.md explains them in order. */
typedef struct lgv_agent_type {
  size_t size; /* sizeof(lgv_agent_type) */
  const char *name;
  const char *summary; /* one line */
  unsigned traits;     /* LGV_NEEDS_STATES | ... */
  const lgv_param *params;
  size_t params_size;        /* of the parameter struct */
  size_t state_size;         /* of the state struct, `self` below */
  const lgv_preset *presets; /* optional: agent.preset chooses one */

  /* Opening, in this order. resolve, optional: fills in what the user left open (is_set[i] is
   * false) and checks what ranges of single parameters cannot express. */
  lgv_status (*resolve)(void *params, const bool *is_set, const lgv_problem *problem,
                        lgv_error *err);
  /* Names the arrays; keeps in self what later hooks need. Runs twice. */
  void (*layout)(void *self, const void *params, const lgv_problem *problem, lgv_layout *layout);
  lgv_status (*open)(void *self, lgv_error *err); /* optional: initial values, after placing */
  void (*close)(void *self);                      /* optional: undoes open */

  /* Episodes. set_stream, optional, for agents that learn from several environments at once
   * (problem->streams), each with its own episodes: the following calls belong to this environment;
   * it is 0 at first. */
  void (*set_stream)(void *self, int32_t stream);
  /* Optional: before the first step, for example to plan. */
  lgv_status (*begin_episode)(void *self, lgv_error *err);
  /* Chooses an action that the mask of the observation allows. */
  lgv_status (*act)(void *self, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                    lgv_error *err);
  /* Optional: learns from a step. */
  lgv_status (*observe)(void *self, const lgv_transition *transition, lgv_error *err);
  /* Optional: after the last step. */
  lgv_status (*end_episode)(void *self, lgv_error *err);

  /* Optional: action probabilities of the current episode's policy at the stage, state and mask of
   * an observation, whose data may be NULL. */
  void (*policy)(const void *self, const lgv_obs *obs, double *probabilities);
  /* Optional: the value of every choice in an evaluation, (actions.count), masked ones included,
   * without a draw: the mean over members, atoms, quantiles or noise. Writes only scratch. */
  lgv_status (*q_values)(void *self, const lgv_obs *obs, double *q, lgv_error *err);

  const char *const *stat_names; /* optional, NULL-terminated: columns of metrics.csv */
  void (*stats)(const void *self, double *values); /* if there are stat_names */
} lgv_agent_type;

/* Makes your own agent available under its name, as lgv_settings_add_env does an environment. */
LGV_API LGV_CHECK lgv_status lgv_settings_add_agent(lgv_settings *settings,
                                                    const lgv_agent_type *type, lgv_error *err);

/* ---- Feature maps of your own, for linear agents ---- */

/* Bounds of the inputs of a feature map, as texts: one number for all inputs, or one per input,
 * separated by commas; auto: those of the environment where it has them, else the range seen in
 * training. */
typedef struct lgv_feature_bounds {
  char low[LGV_TEXT_SIZE], high[LGV_TEXT_SIZE];
} lgv_feature_bounds;

/* The largest state struct of a feature map, in bytes. */
enum { LGV_FEATURE_STATE = 256 };

/* A feature map: agent.features chooses it by name, features.* are its parameters. */
typedef struct lgv_feature_type {
  size_t size; /* sizeof(lgv_feature_type) */
  const char *name;
  const char *summary; /* one line */
  const lgv_param *params;
  size_t params_size; /* of the parameter struct */
  size_t state_size;  /* of the state struct, `self` below; at most LGV_FEATURE_STATE */
  /* false: psi(x), and phi(x, a) has it in the block of action a; true: phi(x, a) itself. */
  bool by_action;
  /* The parameter struct begins with an lgv_feature_bounds, and inputs are mapped linearly from
   * these bounds to [0, 1] and cut there; false: inputs are the observation as it is. */
  bool scaled;
  /* The number of features, at least 1; refuses what does not fit. inputs: numbers of an
   * observation. */
  lgv_status (*dim)(const void *params, const lgv_env_spec *env, int64_t inputs, int64_t *dim,
                    lgv_error *err);
  /* Optional: names the arrays; keeps in self what later hooks need. Runs twice. */
  void (*layout)(void *self, const void *params, const lgv_env_spec *env, int64_t inputs,
                 lgv_layout *layout);
  /* Optional: initial values. rng: a stream of its own, the same for every agent with this seed. */
  lgv_status (*open)(void *self, lgv_rng *rng, lgv_error *err);
  /* Writes the features of `count` observations, x (count x inputs): out (count x dim), or (count x
   * actions x dim) if by_action. Every row depends on its own observation alone. */
  lgv_status (*map)(const void *self, const float *x, int64_t count, float *out, lgv_error *err);
  /* Optional, of a map psi(x) most of whose features are 0, such as tiles: `active` of them are not
   * 0, and each of these is 1 / sqrt(active). `places` writes where they are, (count x active), no
   * place twice in a row, and the agent keeps and reads these places alone. */
  int64_t (*active)(const void *params);
  void (*places)(const void *self, const float *x, int64_t count, int32_t *out);
} lgv_feature_type;

/* Makes your own feature map available under its name. The descriptor must outlive the plans and
 * agents made from the settings. */
LGV_API LGV_CHECK lgv_status lgv_settings_add_features(lgv_settings *settings,
                                                       const lgv_feature_type *type,
                                                       lgv_error *err);

/* ---- Registry: what the library has built in ---- */

/* An environment, an agent, an optimizer, a feature map, or the parameters of runs. */
typedef struct lgv_entry {
  const char *name, *summary;
  const lgv_param *params;
  const lgv_preset *presets; /* of an environment or an agent, or NULL */
  const char *optimizer;     /* of an agent: the default of optim.name, or NULL */
  unsigned traits;           /* of an agent: LGV_NEEDS_STATES, ... */
  const char *source;        /* of an environment, an agent or a feature map: its file, or NULL */
} lgv_entry;

/* kind: "env", "agent", "optimizer", "features", or "run" (one entry: the run's own parameters).
 * False past the end. */
LGV_API bool lgv_registry_get(const char *kind, size_t index, lgv_entry *entry);
/* The same by name; false if there is none. */
LGV_API bool lgv_registry_find(const char *kind, const char *name, lgv_entry *entry);
/* The right name nearest to a wrong one, or NULL if nothing is near. */
LGV_API const char *lgv_registry_nearest(const char *kind, const char *name);

/* ============================================================================================== */
/* Part 3. Experiments: plans, runs, batches and sweeps                                           */
/* ============================================================================================== */

/* ---- Plans ---- */

/* Makes a plan: checks every key and value, opens the environment once, and resolves what was left
 * open. */
LGV_API LGV_CHECK lgv_status lgv_plan_create(const lgv_settings *settings, lgv_plan **plan,
                                             lgv_error *err);
/* Frees a plan; its runs must be gone. */
LGV_API void lgv_plan_free(lgv_plan *plan);
/* A resolved value as text: lgv_plan_get(plan, "agent.lambda", ...). */
LGV_API LGV_CHECK lgv_status lgv_plan_get(const lgv_plan *plan, const char *key, char *text,
                                          size_t size, lgv_error *err);
/* The most bytes that one run of the plan can use, counted, not allocated. It includes neither the
 * memory of worker processes nor histories of unknown length. */
LGV_API uint64_t lgv_plan_memory(const lgv_plan *plan);
/* The bytes that this process can still use: the rest of the machine's memory, or of its control
 * group's if that is less; 0 if unknown. */
LGV_API uint64_t lgv_memory_available(void);
/* The size of the text of lgv_plan_digest. */
enum { LGV_DIGEST_SIZE = 17 };
/* 16 hexadecimal digits that identify all resolved values except the seed: equal plans have equal
 * digests, whatever the order and spelling of their settings. */
LGV_API LGV_CHECK lgv_status lgv_plan_digest(const lgv_plan *plan, char *text, lgv_error *err);

/* ---- Runs ---- */

/* One training run: a plan and a seed. */
typedef struct lgv_run lgv_run;

/* The results of a run. */
typedef struct lgv_summary {
  uint64_t seed;
  int64_t steps, episodes;
  double mean_return;    /* over training episodes; NaN if none ended */
  double final_return;   /* mean of the last 10 evaluations (if run.eval_share limits them, of those
                            in the last tenth of the steps), or of the exact values of the last 10
                            policies (each a mean over the start states); or NaN */
  double optimal_value;  /* NaN without an exact model */
  double regret;         /* cumulative and exact; NaN if not defined */
  double solved_episode; /* the one that reached run.stop_return; NaN if none did */
  bool finished;
} lgv_summary;

/* The measures of a summary by name ("mean_return", "final_return", "optimal_value", "regret",
 * "solved_episode"); NULL past the end. */
LGV_API const char *lgv_measure_name(size_t index);
/* The value of such a measure. */
LGV_API double lgv_measure_value(const lgv_summary *summary, size_t index);
/* Reads back directory/summary.json. */
LGV_API LGV_CHECK lgv_status lgv_summary_load(const char *directory, lgv_summary *summary,
                                              lgv_error *err);

/* Makes a run for the given seed, whatever run.seed says; the seed of a run with a directory is
 * 2^53 at most. directory: created, and this run's alone until it is freed; NULL records nothing.
 */
LGV_API LGV_CHECK lgv_status lgv_run_create(const lgv_plan *plan, uint64_t seed,
                                            const char *directory, lgv_run **run, lgv_error *err);
/* Resumes from the newest whole checkpoint in the directory (from the start if there is none). The
 * records end as if the run had never stopped, byte for byte. */
LGV_API LGV_CHECK lgv_status lgv_run_resume(const lgv_plan *plan, uint64_t seed,
                                            const char *directory, lgv_run **run, lgv_error *err);
/* Writes a checkpoint now, whatever run.checkpoint_every says. */
LGV_API LGV_CHECK lgv_status lgv_run_checkpoint(lgv_run *run, lgv_error *err);
/* Frees a run. Its records stay. */
LGV_API void lgv_run_free(lgv_run *run);
/* Takes at most max_steps environment steps (up to run.envs - 1 more: all environments take a
 * step, or none does). *done becomes true when the run's budget is spent. */
LGV_API LGV_CHECK lgv_status lgv_run_advance(lgv_run *run, int64_t max_steps, bool *done,
                                             lgv_error *err);
/* The results so far. */
LGV_API void lgv_run_summary(const lgv_run *run, lgv_summary *summary);
/* Writes summary.json and timing.json; call once, whether or not the budget is spent. */
LGV_API LGV_CHECK lgv_status lgv_run_finish(lgv_run *run, lgv_error *err);

/* ---- Recorder ---- */

/* The records of a run, for a loop of your own: config.json, metrics.csv, TensorBoard's event file,
 * summary.json and timing.json, which every command that reads runs can read. */
typedef struct lgv_recorder lgv_recorder;

/* What a recorder writes, and where. */
typedef struct lgv_recorder_options {
  size_t size;             /* sizeof(lgv_recorder_options) */
  const char *directory;   /* created, and this recorder's alone until it is freed */
  const char *config;      /* the text of config.json: JSON as runs write it, one value per line */
  const char *env, *agent; /* their names in summary.json */
  const char *const *columns; /* of metrics.csv, as "group/name" for TensorBoard; NULL ends them.
                                 The first is "run/step" */
  int64_t last_step; /* continue after the rows up to this step, if the directory holds records with
                        this config (run.steps and run.episodes may differ); -1: begin anew */
} lgv_recorder_options;

/* Opens the records. A directory with other settings or columns is refused. */
LGV_API LGV_CHECK lgv_status lgv_recorder_create(const lgv_recorder_options *options,
                                                 lgv_recorder **recorder, lgv_error *err);
/* Writes a row: a value for every column, steps in ascending order; NaN becomes an empty field. */
LGV_API LGV_CHECK lgv_status lgv_recorder_row(lgv_recorder *recorder, const double *values,
                                              lgv_error *err);
/* Writes all rows to the disk, then summary.json and timing.json. failure: why training stopped
 * early, or NULL. */
LGV_API LGV_CHECK lgv_status lgv_recorder_finish(lgv_recorder *recorder, const lgv_summary *summary,
                                                 const char *failure, lgv_error *err);
/* Frees a recorder. The files stay. */
LGV_API void lgv_recorder_free(lgv_recorder *recorder);

/* ---- Batches ---- */

/* How far a batch or a sweep is. */
typedef struct lgv_progress {
  int64_t runs, runs_done, runs_failed; /* of those to do now */
  int64_t runs_found;                   /* finished before, not run again (sweeps) */
  double fraction;                      /* of the whole work, 0..1 */
  int64_t steps;                        /* environment steps so far */
  double mean_return;                   /* of the run that reported last */
  int64_t runs_running, runs_held;      /* here; in other processes (sweeps) */
} lgv_progress;

/* Several seeds of one plan on several threads. Results do not depend on the number of threads. */
typedef struct lgv_batch {
  size_t size; /* sizeof(lgv_batch) */
  const lgv_plan *plan;
  uint64_t first_seed;
  int32_t seeds, threads;
  bool resume;           /* from the checkpoints in the directories */
  const char *directory; /* NULL records nothing */
  void (*on_progress)(void *context,
                      const lgv_progress *progress); /* optional; one call at a time */
  bool (*should_stop)(void *context);                /* optional; asked often, from any thread */
  void *context;
  lgv_error *errors; /* optional: seeds entries, filled for the seeds that failed */
} lgv_batch;

/* Before anything starts, LGV_ERR_MEMORY refuses runs side by side that would not fit.
 *
 * summaries: batch->seeds entries. One failed seed does not stop the others; the error of the
 * least seed is returned, or LGV_ERR_INTERRUPTED if should_stop asked for it. With several seeds
 * and a directory, aggregate.json covers those that finished. */
LGV_API LGV_CHECK lgv_status lgv_batch_run(const lgv_batch *batch, lgv_summary *summaries,
                                           lgv_error *err);

/* ---- Sweeps ---- */

/* One YAML file stands for many configurations: common settings, `grid` (key: list of values; every
 * combination), `random` (key: distribution; so many draws, each with every combination of the
 * grid), and optionally `cases`, a list of settings each with a grid and draws of its own.
 * Configurations are numbered 0, 1, ... in the order of the file: cases one after the other, and
 * within a case the draws vary slowest and the key written last in the grid fastest. A run is a
 * configuration and a seed: run = config * seeds + (seed - first_seed). */
typedef struct lgv_sweep lgv_sweep;

/* What a sweep file says about the whole. */
typedef struct lgv_sweep_info {
  size_t configs, cases; /* without `cases` there is one */
  uint64_t first_seed;
  int32_t seeds;
  const char *measure; /* what configurations are ranked by: see lgv_measure_name */
  bool lowest_is_best;
  const char *about; /* what it shows, in one line; empty if the file does not say */
} lgv_sweep_info;

/* The size of a label that is never cut. */
enum { LGV_SWEEP_LABEL_SIZE = 256 };
/* Reads a sweep file. scale: one of the `scales` that the file has, such as a small version of it;
 * NULL or "paper": the file as it stands. */
LGV_API LGV_CHECK lgv_status lgv_sweep_load(const char *yaml_path, const char *scale,
                                            lgv_sweep **sweep, lgv_error *err);
/* Frees a sweep. */
LGV_API void lgv_sweep_free(lgv_sweep *sweep);
/* Valid until the sweep is freed. */
LGV_API const lgv_sweep_info *lgv_sweep_get_info(const lgv_sweep *sweep);
/* The settings of a configuration; the caller frees them. */
LGV_API LGV_CHECK lgv_status lgv_sweep_settings(const lgv_sweep *sweep, size_t config,
                                                lgv_settings **settings, lgv_error *err);
/* The index of the case that a configuration belongs to. */
LGV_API size_t lgv_sweep_case(const lgv_sweep *sweep, size_t config);
/* How many of the sweep's seeds, from the first one on, a configuration has: a case may have fewer
 * than the file. Its other runs do not exist: their summaries stay unfinished. */
LGV_API int32_t lgv_sweep_seeds(const lgv_sweep *sweep, size_t config);
/* The keys in which configurations differ, in the order of the file; NULL past the end. */
LGV_API const char *lgv_sweep_key(const lgv_sweep *sweep, size_t index);
/* The value of such a key in a configuration; NULL where it is left open. */
LGV_API const char *lgv_sweep_value(const lgv_sweep *sweep, size_t config, size_t key);
/* A key that `random` draws, and its distribution. Valid until the sweep is freed. */
typedef struct lgv_draw_info {
  const char *key;    /* "optim.lr" */
  const char *kind;   /* "uniform", "log_uniform", "int_uniform" or "choice" */
  const char *origin; /* its place in the file */
  double low, high;   /* the ends, which belong to it; not of a choice */
  const char *const *choices;
  size_t n_choices; /* 0 unless it is a choice */
} lgv_draw_info;
/* The keys that a case draws, one after the other; false past the end. */
LGV_API bool lgv_sweep_draw(const lgv_sweep *sweep, size_t case_index, size_t index,
                            lgv_draw_info *draw);
/* What the case of a configuration calls it, its values filled in; false if it has no label. */
LGV_API bool lgv_sweep_label(const lgv_sweep *sweep, size_t config, char *text, size_t size);
/* The size of the name of a configuration's directory. */
enum { LGV_SWEEP_NAME_SIZE = 256 };
/* ENV-AGENT-DIGEST: where the runs of a configuration are, below the directory of the sweep. It
 * depends on the resolved settings alone, so that a sweep can grow and keep what is done. */
LGV_API LGV_CHECK lgv_status lgv_sweep_directory(const lgv_plan *plan, char *name, lgv_error *err);

/* Events in the life of one run of a sweep. */
typedef enum lgv_run_phase {
  LGV_RUN_FOUND,    /* finished before */
  LGV_RUN_BEGUN,    /* or resumed */
  LGV_RUN_GOING,    /* made progress */
  LGV_RUN_FINISHED, /* now */
  LGV_RUN_FAILED,
  LGV_RUN_STOPPED, /* should_stop asked for it */
  LGV_RUN_HELD,    /* another process works on it, so it is skipped */
} lgv_run_phase;

/* An event of a sweep. */
typedef struct lgv_run_news {
  size_t run; /* its index */
  lgv_run_phase phase;
  double fraction;            /* of its budget, 0..1 */
  const lgv_summary *summary; /* so far; NULL before there is one */
  const lgv_error *error;     /* FAILED: why; HELD: by whom; else NULL */
} lgv_run_news;

/* What lgv_sweep_run does, and the functions that it calls meanwhile. */
typedef struct lgv_sweep_job {
  size_t size; /* sizeof(lgv_sweep_job) */
  const lgv_sweep *sweep;
  int32_t threads;
  const char *directory;
  void (*on_progress)(void *context, const lgv_progress *progress); /* optional, one at a time */
  void (*on_run)(void *context, const lgv_run_news *news);          /* optional, one at a time */
  bool (*should_stop)(void *context); /* optional; asked often, from any thread */
  void *context;
  char (*names)[LGV_SWEEP_NAME_SIZE]; /* optional: configs entries, becomes their directories ("" of
                                       * configurations without a chosen run) */
  void (*on_notice)(void *context, const char *text); /* optional: warnings, from any thread */
  const char *runs; /* optional, only these by index: "3,5-9", "0-99:10", "7-:1000"; NULL: all */
  bool look_only;   /* run nothing and write nothing: only find finished and failed runs */
} lgv_sweep_job;

/* Runs everything that has not finished yet, in one directory per configuration and seed. All
 * chosen configurations are checked before the first run begins. A run that was stopped, or whose
 * process died, resumes from its checkpoint. A run that fails does not stop the others: on_run
 * reports it, it leaves error.json in its directory, and the next call tries it again. A run that
 * another process works on is skipped. Only LGV_ERR_USAGE (before anything ran), LGV_ERR_IO (no
 * directory), LGV_ERR_MEMORY and LGV_ERR_INTERRUPTED are returned. summaries: configs x seeds
 * entries; `finished` is false where there is no result. They change only between calls of on_run,
 * so that it may read them. */
LGV_API LGV_CHECK lgv_status lgv_sweep_run(const lgv_sweep_job *job, lgv_summary *summaries,
                                           lgv_error *err);

/* ============================================================================================== */
/* Part 4. Statistics and theory                                                                  */
/* ============================================================================================== */

/* ---- Statistics ---- */

/* A statistic with its uncertainty. */
typedef struct lgv_estimate {
  int64_t count;         /* of values; 0 where there is none: everything else is NaN then */
  double value;          /* of the statistic */
  double standard_error; /* of the mean by its formula, of others by the bootstrap */
  double low, high; /* 95 % percentile bootstrap, 2000 resamples within tasks, fixed stream. All
                       three are NaN where no task has two values */
  double median;    /* of all values; NaN for probabilities and profiles */
} lgv_estimate;

/* The mean of some values as of one task. Skips NaN. */
LGV_API void lgv_estimate_mean(const double *values, size_t count, lgv_estimate *estimate);

/* Scores of one agent on one task or several. Agarwal et al. (2021), "Deep reinforcement learning
 * at the edge of the statistical precipice": runs are resampled within each task, and every task
 * weighs the same. Scores may be infinite (a goal never reached), but not NaN. */
typedef struct lgv_scores {
  const double *values; /* the runs of the first task, then those of the second, ... */
  const size_t *runs;   /* (tasks): at least one each */
  size_t tasks;
} lgv_scores;

/* A statistic of scores. */
typedef enum lgv_statistic {
  LGV_MEAN,       /* of the tasks' means */
  LGV_MEDIAN,     /* of all runs */
  LGV_IQM,        /* interquartile mean: of the middle half of all runs */
  LGV_TASK_MEDIAN /* of the tasks' means */
} lgv_statistic;

/* "mean", "median", ...; NULL past the end. */
LGV_API const char *lgv_statistic_name(size_t index);
/* The statistic of the scores, with its uncertainty. */
LGV_API LGV_CHECK lgv_status lgv_scores_estimate(const lgv_scores *scores, lgv_statistic statistic,
                                                 lgv_estimate *estimate, lgv_error *err);
/* The probability that a run of x scores higher than one of y on the same task, ties counting half,
 * averaged over tasks; standard_error is the bootstrap's. */
LGV_API LGV_CHECK lgv_status lgv_scores_improvement(const lgv_scores *x, const lgv_scores *y,
                                                    lgv_estimate *probability, lgv_error *err);
/* The performance profile: the share of runs that score higher than each of the thresholds, which
 * must ascend. points: count entries. */
LGV_API LGV_CHECK lgv_status lgv_scores_profile(const lgv_scores *scores, const double *thresholds,
                                                size_t count, lgv_estimate *points, lgv_error *err);
/* Cumulative regret: regret[i] is the sum over k <= i of episodes[k] (optimal - returns[k]).
 * episodes: how many each return is the mean of; NULL: one each. */
LGV_API void lgv_regret_curve(const double *returns, const double *episodes, size_t count,
                              double optimal, double *regret);
/* The first x at which the mean of the last `window` values of y is at least the threshold;
 * infinity if there is none. */
LGV_API double lgv_first_reach(const double *x, const double *y, size_t count, size_t window,
                               double threshold);

/* ---- The theorem's constants ---- */

/* The constants of the regret bound of LMC-LSVI. */
typedef struct lgv_theory {
  double inv_sqrt_beta; /* 1/sqrt(beta), the fixed point */
  double c_delta, b_delta;
  double log_factor;  /* log(4 H K d) */
  double j_per_kappa; /* J_k = ceil(j_per_kappa * kappa) */
  int64_t samples_m;  /* 1 without multi */
  double optimism_c;  /* 1 / (2 sqrt(2 e pi)) */
} lgv_theory;

/* Computes them for K episodes of H stages and features of dimension d, with probability 1 -
 * delta; multi: for the agent with several samples. */
LGV_API LGV_CHECK lgv_status lgv_theory_compute(int64_t horizon, int64_t dim, int64_t episodes,
                                                double delta, bool multi, lgv_theory *theory,
                                                lgv_error *err);

#ifdef __cplusplus
}
#endif
#endif
