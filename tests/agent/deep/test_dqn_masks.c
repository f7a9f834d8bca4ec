/* Masks of several parts and streams: no agent takes a forbidden action, and no target contains
 * one.
 *
 * LANGEVIN_ALL=1 in the environment takes ten million steps instead of some ten thousand. */
#include "registry.h"

#include "run_helpers.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- `gates`: every observation allows random choices, and the environment itself counts what it
 * is asked to do ---- */

enum { STATES = 5, HORIZON = 7, CHOICES_OF_PART = 4, MOST_GATES = 3 };

typedef struct gates_params {
  int64_t parts;
  bool dense;
} gates_params;

typedef struct gates {
  const gates_params *p;
  int64_t *at;      /* [0] state, [1] stage */
  uint8_t *allowed; /* (parts x CHOICES_OF_PART) */
} gates;

static int64_t steps_taken, forbidden_taken; /* by all environments of this process */

static const lgv_param gates_table[] = {
    {.name = "parts",
     .type = LGV_INT,
     .offset = offsetof(gates_params, parts),
     .default_text = "1",
     .min = 1,
     .max = MOST_GATES},
    {.name = "dense",
     .type = LGV_BOOL,
     .offset = offsetof(gates_params, dense),
     .default_text = "false"},
    {0},
};

static lgv_status gates_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  (void)err;
  const gates_params *p = params;
  const int32_t choices[MOST_GATES] = {CHOICES_OF_PART, CHOICES_OF_PART, CHOICES_OF_PART};
  *spec = (lgv_env_spec){
      .obs_form = p->dense ? LGV_FORM_DENSE : LGV_FORM_ONE_HOT,
      .obs_shape = {STATES, 1, 1},
      .actions = p->parts == 1 ? lgv_discrete(CHOICES_OF_PART)
                               : lgv_multi_discrete((int32_t)p->parts, choices),
      .masked = true,
      .states = p->dense ? 0 : STATES,
      .horizon = HORIZON,
      .stationary = true,
      .clock_truncates = true,
      .reward_max = 1,
  };
  return LGV_OK;
}

static void gates_layout(void *self, const void *params, const lgv_env_spec *spec,
                         lgv_layout *layout) {
  gates *g = self;
  g->p = params;
  g->at = lgv_layout_array(layout, "gates.at", LGV_I64, 2, LGV_KEEP);
  g->allowed =
      lgv_layout_array(layout, "gates.allowed", LGV_U8, (size_t)spec->actions.count, LGV_KEEP);
}

/* Every part allows one choice at least. */
static void open_gates(gates *g, lgv_rng *rng) {
  for (int64_t p = 0; p < g->p->parts; p++) {
    uint8_t *part = g->allowed + p * CHOICES_OF_PART;
    for (int32_t a = 0; a < CHOICES_OF_PART; a++) part[a] = lgv_rng_below(rng, 3) == 0;
    part[lgv_rng_below(rng, CHOICES_OF_PART)] = 1;
  }
}

static lgv_status gates_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  gates *g = self;
  g->at[0] = g->at[1] = 0;
  open_gates(g, rng);
  return LGV_OK;
}

static lgv_status gates_step(void *self, const lgv_action *action, lgv_rng *rng,
                             lgv_outcome *outcome, lgv_error *err) {
  (void)err;
  gates *g = self;
  int32_t sum = 0;
  steps_taken++;
  for (int64_t p = 0; p < g->p->parts; p++) {
    forbidden_taken += !g->allowed[p * CHOICES_OF_PART + action->choices[p]];
    sum += action->choices[p];
  }
  g->at[0] = (g->at[0] + sum) % STATES;
  outcome->reward = g->at[0] == STATES - 1;
  outcome->terminated = lgv_rng_below(rng, 20) == 0;
  outcome->truncated = ++g->at[1] == HORIZON;
  open_gates(g, rng);
  if (outcome->terminated) memset(g->allowed, 0, (size_t)g->p->parts * CHOICES_OF_PART);
  return LGV_OK;
}

static void gates_observe(const void *self, void *data) {
  const gates *g = self;
  for (int64_t i = 0; i < STATES; i++)
    ((float *)data)[i] = g->p->dense ? (float)(g->at[0] - i) : i == g->at[0];
}

static void gates_mask(const void *self, uint8_t *allowed) {
  const gates *g = self;
  memcpy(allowed, g->allowed, (size_t)g->p->parts * CHOICES_OF_PART);
}

static int64_t gates_state(const void *self) {
  const gates *g = self;
  return g->p->dense ? -1 : g->at[0];
}

static const lgv_env_type gates_type = {
    .size = sizeof(lgv_env_type),
    .name = "gates",
    .summary = "random masks",
    .params = gates_table,
    .params_size = sizeof(gates_params),
    .state_size = sizeof(gates),
    .spec = gates_spec,
    .layout = gates_layout,
    .reset = gates_reset,
    .step = gates_step,
    .observe = gates_observe,
    .mask = gates_mask,
    .state_index = gates_state,
};

/* Runs the agent if it can take the problem. */
static bool runs(const lgv_env_type *env, const char *agent, const char *extra, int64_t steps,
                 lgv_summary *summary) {
  lgv_settings *settings = make_settings(env->name, agent, extra);
  char text[32];
  lgv_error err = {0};
  lgv_plan *plan;
  snprintf(text, sizeof text, "run.steps=%lld", (long long)steps);
  assert_int_equal(lgv_settings_assign(settings, text, "test", &err), LGV_OK);
  assert_int_equal(lgv_settings_add_env(settings, env, &err), LGV_OK);
  lgv_status status = lgv_plan_create(settings, &plan, &err);
  lgv_settings_free(settings);
  if (status != LGV_OK) {
    assert_int_equal(status, LGV_ERR_USAGE);
    return false;
  }
  *summary = run_plan(plan, 1);
  lgv_plan_free(plan);
  return true;
}

/* Small networks and few updates: masks do not depend on them. */
static const char *cheap_settings(const lgv_agent_type *type) {
  if (type->traits & LGV_NEEDS_STATES) return "";
  bool has_cells = strcmp(type->name, "pathwise-lmcdqn") == 0;
  return has_cells ? "agent.hidden=8 agent.cells=100 agent.work=1000 agent.batch=4 "
                     "agent.update_every=4"
                   : "agent.hidden=8 agent.replay=200 agent.warmup=40 agent.batch=4 "
                     "agent.update_every=4";
}

static void no_agent_takes_a_forbidden_action(void **state) {
  (void)state;
  static const char *const problems[] = {"", "env.dense=true",
                                         "env.dense=true env.parts=3 run.eval_episodes=2",
                                         "env.parts=2 run.envs=2", "env.dense=true run.envs=3"};
  int64_t total = getenv("LANGEVIN_ALL") ? 10000000 : 50000;
  int64_t share = total / 55; /* there are more pairs of an agent and a problem that it takes */
  lgv_summary summary;
  steps_taken = forbidden_taken = 0;
  for (size_t a = 0; lgv__agents[a]; a++) {
    if (takes_box(lgv__agents[a])) continue;
    int taken = 0;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
      char extra[300];
      snprintf(extra, sizeof extra, "%s %s", cheap_settings(lgv__agents[a]), problems[i]);
      taken += runs(&gates_type, lgv__agents[a]->name, extra, share, &summary);
    }
    if (!taken) fail_msg("%s takes no problem with masks", lgv__agents[a]->name);
  }
  print_message("%lld steps\n", (long long)steps_taken);
  assert_true(steps_taken >= total);
  assert_int_equal(forbidden_taken, 0);
}

/* ---- `fork`: the argmax without a mask is a trap.
 *
 * Episodes begin in one of two states. In `bank` the choice TAKE pays 1 and the episode ends. In
 * `fork` one goes LEFT, which pays 0.5 and ends it, or RIGHT, which leads to `shop`: that looks
 * almost like the bank, but TAKE is forbidden there, and the others pay nothing. An agent whose
 * targets contain what is forbidden values the shop like the bank, and goes right. ---- */

enum { BANK, FORK, SHOP, PLACES };
enum { LEFT, RIGHT, TAKE, MOVES };

typedef struct fork_world {
  int64_t *at; /* [0] place */
} fork_world;

static lgv_status fork_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  (void)params, (void)err;
  *spec = (lgv_env_spec){.obs_shape = {3, 1, 1},
                         .actions = lgv_discrete(MOVES),
                         .masked = true,
                         .horizon = 2,
                         .stationary = true,
                         .reward_max = 1};
  return LGV_OK;
}

static void fork_layout(void *self, const void *params, const lgv_env_spec *spec,
                        lgv_layout *layout) {
  (void)params, (void)spec;
  ((fork_world *)self)->at = lgv_layout_array(layout, "fork.at", LGV_I64, 2, LGV_KEEP);
}

static lgv_status fork_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  fork_world *w = self;
  w->at[0] = lgv_rng_below(rng, 2) ? BANK : FORK;
  w->at[1] = 0;
  return LGV_OK;
}

static lgv_status fork_step(void *self, const lgv_action *action, lgv_rng *rng,
                            lgv_outcome *outcome, lgv_error *err) {
  (void)rng, (void)err;
  fork_world *w = self;
  bool goes_on = w->at[0] == FORK && action->choice == RIGHT;
  outcome->reward = w->at[0] == BANK   ? action->choice == TAKE
                    : w->at[0] == FORK ? 0.5 * (action->choice == LEFT)
                                       : 0;
  outcome->terminated = !goes_on;
  w->at[1]++;
  if (goes_on) w->at[0] = SHOP;
  return LGV_OK;
}

static void fork_observe(const void *self, void *data) {
  const fork_world *w = self;
  float *x = data;
  x[0] = w->at[0] == FORK;
  x[1] = w->at[0] != FORK;
  x[2] = w->at[0] == SHOP ? 0.1f : 0;
}

static void fork_mask(const void *self, uint8_t *allowed) {
  const fork_world *w = self;
  allowed[LEFT] = allowed[RIGHT] = 1;
  allowed[TAKE] = w->at[0] == BANK;
}

static const lgv_env_type fork_type = {
    .size = sizeof(lgv_env_type),
    .name = "fork",
    .summary = "a trap for targets without masks",
    .state_size = sizeof(fork_world),
    .spec = fork_spec,
    .layout = fork_layout,
    .reset = fork_reset,
    .step = fork_step,
    .observe = fork_observe,
    .mask = fork_mask,
};

/* The best policy is worth 3/4, one that goes right 1/2. */
static void no_target_contains_a_forbidden_action(void **state) {
  (void)state;
  lgv_summary summary;
  int agents = 0;
  for (size_t a = 0; lgv__agents[a]; a++) {
    const char *name = lgv__agents[a]->name;
    if (!runs(&fork_type, name,
              "agent.n_step=1 run.eval_every=3000 run.eval_episodes=400 run.eval_share=1", 3000,
              &summary))
      continue;
    if (summary.final_return < 0.65) fail_msg("%s is trapped: %g", name, summary.final_return);
    agents++;
  }
  assert_true(agents > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_agent_takes_a_forbidden_action),
      cmocka_unit_test(no_target_contains_a_forbidden_action),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
