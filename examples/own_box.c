/* An environment of your own whose actions are numbers within bounds (a box), and the same one
 * with actions of several choices (multi-discrete).
 *
 * A boat on a lake has two thrusters, east and north, and the wind drives it off. It should stay
 * at the buoy in the middle: every step costs its squared distance. A box has bounds for each
 * number; the library refuses an action outside of them, and one that is no number. No built-in
 * agent takes a box yet, and the refusal names the agents that will; until then a controller of
 * your own steers, or an agent that has the trait LGV_TAKES_BOX. With env.levels=3, each thruster
 * has three levels instead, and one action chooses a level for both at once: the agents of the DQN
 * family learn that.
 *
 *   cc own_box.c $(pkg-config --cflags --libs langevin) && ./a.out
 */
#include <langevin.h>

#include <stdio.h>

enum { THRUSTERS = 2, STEPS = 30 };
static const float reach = 1, push = 0.1F, wind = 0.05F; /* per step; the lake is +-reach */

typedef struct params {
  int64_t levels;
} params;

static const lgv_param param_table[] = {
    {.name = "levels",
     .type = LGV_INT,
     .offset = offsetof(params, levels),
     .default_text = "0",
     .min = 0,
     .max = 101,
     .help = "levels of a thruster, from full reverse to full ahead; 0: any thrust"},
    {0},
};

typedef struct boat {
  int64_t levels;
  float *at;      /* (THRUSTERS): where it is */
  int64_t *steps; /* (1) */
} boat;

static float bounded(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

static lgv_action_space actions_of(int64_t levels) {
  static const float low[THRUSTERS] = {-1, -1}, high[THRUSTERS] = {1, 1};
  int32_t choices[THRUSTERS] = {(int32_t)levels, (int32_t)levels};
  return levels == 0 ? lgv_box(THRUSTERS, low, high) : lgv_multi_discrete(THRUSTERS, choices);
}

static lgv_status boat_spec(const void *p, lgv_env_spec *spec, lgv_error *err) {
  int64_t levels = ((const params *)p)->levels;
  if (levels == 1) return lgv_fail(err, LGV_ERR_USAGE, "env.levels must be 0, or 2 and more");
  *spec = (lgv_env_spec){
      .obs_shape = {THRUSTERS, 1, 1},
      .actions = actions_of(levels),
      .horizon = STEPS,
      .stationary = true,
      .clock_truncates = true,
      .reward_min = -2, /* in a corner of the lake */
  };
  return LGV_OK;
}

static void boat_layout(void *self, const void *p, const lgv_env_spec *spec, lgv_layout *layout) {
  (void)spec;
  boat *b = self;
  b->levels = ((const params *)p)->levels;
  b->at = lgv_layout_array(layout, "boat.at", LGV_F32, THRUSTERS, LGV_KEEP);
  b->steps = lgv_layout_array(layout, "boat.steps", LGV_I64, 1, LGV_KEEP);
}

static lgv_status boat_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  boat *b = self;
  for (int i = 0; i < THRUSTERS; i++) b->at[i] = (float)(2 * lgv_rng_uniform(rng) - 1);
  *b->steps = 0;
  return LGV_OK;
}

/* Thrust i: the number itself, or level 0..levels - 1 of [-1, 1]. */
static float thrust(const boat *b, const lgv_action *action, int i) {
  if (b->levels == 0) return action->values[i];
  return 2 * (float)action->choices[i] / (float)(b->levels - 1) - 1;
}

static lgv_status boat_step(void *self, const lgv_action *action, lgv_rng *rng,
                            lgv_outcome *outcome, lgv_error *err) {
  (void)err;
  boat *b = self;
  for (int i = 0; i < THRUSTERS; i++) {
    float x = b->at[i] + push * thrust(b, action, i) + wind * (float)lgv_rng_normal(rng);
    b->at[i] = bounded(x, -reach, reach);
  }
  outcome->reward = -(b->at[0] * b->at[0] + b->at[1] * b->at[1]);
  outcome->truncated = ++*b->steps == STEPS;
  return LGV_OK;
}

static void boat_observe(const void *self, void *data) {
  const boat *b = self;
  for (int i = 0; i < THRUSTERS; i++) ((float *)data)[i] = b->at[i];
}

static const lgv_env_type boat_type = {
    .size = sizeof(lgv_env_type),
    .name = "boat",
    .summary = "stay at a buoy against the wind",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(boat),
    .spec = boat_spec,
    .layout = boat_layout,
    .reset = boat_reset,
    .step = boat_step,
    .observe = boat_observe,
};

/* Plays one episode with a controller: full speed to the buoy, less near it. */
static lgv_status steer(lgv_env *env, double *episode_return, lgv_error *err) {
  const lgv_action_space *space = &lgv_env_get_spec(env)->actions;
  lgv_outcome outcome = {0};
  lgv_obs obs;
  lgv_status status = lgv_env_reset(env, &obs, err);
  for (*episode_return = 0; status == LGV_OK && !outcome.truncated;) {
    lgv_action action;
    for (int i = 0; i < space->parts; i++) {
      float wanted = -((const float *)obs.data)[i] / push;
      action.values[i] = bounded(wanted, space->low[i], space->high[i]);
    }
    status = lgv_env_step(env, &action, &outcome, &obs, err);
    *episode_return += outcome.reward;
  }
  return status;
}

/* What the library says about an action outside the box, and about an agent for it. */
static lgv_status show_refusals(const lgv_settings *settings, lgv_env *env, lgv_error *err) {
  lgv_error refusal;
  lgv_outcome outcome;
  lgv_obs obs;
  lgv_agent *agent;
  lgv_action wrong = {.values = {0.5F, 1.5F}};
  lgv_status status = lgv_env_reset(env, &obs, err);
  if (status != LGV_OK) return status;
  bool stepped = lgv_env_step(env, &wrong, &outcome, &obs, &refusal) == LGV_OK;
  if (stepped) return lgv_fail(err, LGV_ERR_ENV, "an action outside the box was taken");
  printf("refused: %s\n", refusal.message);
  if (lgv_agent_create(settings, lgv_env_get_spec(env), 0, 0, 1, &agent, &refusal) == LGV_OK) {
    lgv_agent_free(agent);
    return lgv_fail(err, LGV_ERR_USAGE, "an agent of discrete actions took a box");
  }
  printf("refused: %s\n", refusal.message);
  return LGV_OK;
}

static lgv_status use_box(const lgv_settings *settings, lgv_error *err) {
  enum { EPISODES = 100 };
  lgv_env *env;
  double mean = 0, episode_return;
  lgv_status status = lgv_env_create(settings, 1, &env, err);
  if (status != LGV_OK) return status;
  for (int i = 0; i < EPISODES && status == LGV_OK; i++) {
    status = steer(env, &episode_return, err);
    mean += episode_return / EPISODES;
  }
  if (status == LGV_OK) printf("any thrust, a controller: return %.1f\n", mean);
  if (status == LGV_OK) status = show_refusals(settings, env, err);
  lgv_env_free(env);
  return status;
}

static lgv_status train_levels(lgv_settings *settings, lgv_error *err) {
  lgv_plan *plan = NULL;
  lgv_summary summary;
  lgv_status status = lgv_settings_assign(settings, "env.levels=3", "own_box.c", err);
  if (status == LGV_OK) status = lgv_settings_assign(settings, "run.steps=10000", NULL, err);
  if (status == LGV_OK) status = lgv_plan_create(settings, &plan, err);
  lgv_batch batch = {.size = sizeof(lgv_batch), .plan = plan, .seeds = 1, .threads = 1};
  if (status == LGV_OK) status = lgv_batch_run(&batch, &summary, err);
  lgv_plan_free(plan);
  if (status == LGV_OK)
    printf("three levels per thruster, double-dqn: return %.1f\n", summary.final_return);
  return status;
}

int main(void) {
  lgv_settings *settings;
  lgv_error err;
  lgv_status status = lgv_settings_create(&settings, &err);
  if (status == LGV_OK) status = lgv_settings_add_env(settings, &boat_type, &err);
  if (status == LGV_OK) status = lgv_settings_assign(settings, "env.name=boat", NULL, &err);
  if (status == LGV_OK) status = lgv_settings_assign(settings, "agent.name=double-dqn", NULL, &err);
  if (status == LGV_OK) status = use_box(settings, &err);
  if (status == LGV_OK) status = train_levels(settings, &err);
  if (status != LGV_OK) fprintf(stderr, "own_box: %s\n", err.message);
  lgv_settings_free(settings);
  return status != LGV_OK;
}
