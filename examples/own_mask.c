/* Trains a linear and a deep agent on your own environment with a mask: its observations say which
 * actions are allowed.
 *
 * Two jugs hold 5 and 3 liters. Measure out 4 liters within 8 moves: fill a jug, empty it, or pour
 * it into the other. The environment forbids the moves that would change nothing, such as emptying
 * an empty jug. Agents then never take them, in training, random exploration or evaluation, and no
 * target counts on them. For comparison, env.masked=false allows every move.
 *
 * What it takes: `masked` in the spec and the hook `mask`. The library keeps the mask beside the
 * observation, checks that it allows something, and refuses a forbidden action. Replays,
 * checkpoints and vectors of environments carry it.
 *
 *   cc own_mask.c $(pkg-config --cflags --libs langevin) && ./a.out
 */
#include <langevin.h>

#include <stdio.h>

enum { LARGE = 5, SMALL = 3, GOAL = 4, MOVES = 8, STATES = (LARGE + 1) * (SMALL + 1) };
enum { FILL_LARGE, FILL_SMALL, EMPTY_LARGE, EMPTY_SMALL, POUR_DOWN, POUR_UP, ACTIONS };

typedef struct params {
  bool masked;
} params;

static const lgv_param param_table[] = {
    {.name = "masked",
     .type = LGV_BOOL,
     .offset = offsetof(params, masked),
     .default_text = "true",
     .help = "forbid moves that change nothing"},
    {0},
};

typedef struct jugs {
  int64_t large, small; /* liters */
} jugs;

typedef struct table {
  int64_t *at; /* [0]: liters in the large jug; [1]: in the small one; [2]: moves so far */
} table;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The jugs after a move. */
static jugs move(jugs j, int32_t action) {
  int64_t down = least(j.large, SMALL - j.small), up = least(j.small, LARGE - j.large);
  switch (action) {
  case FILL_LARGE: return (jugs){LARGE, j.small};
  case FILL_SMALL: return (jugs){j.large, SMALL};
  case EMPTY_LARGE: return (jugs){0, j.small};
  case EMPTY_SMALL: return (jugs){j.large, 0};
  case POUR_DOWN: return (jugs){j.large - down, j.small + down};
  default: return (jugs){j.large + up, j.small - up};
  }
}

static jugs jugs_of(const void *self) {
  const int64_t *at = ((const table *)self)->at;
  return (jugs){at[0], at[1]};
}

static lgv_status jugs_spec(const void *p, lgv_env_spec *spec, lgv_error *err) {
  (void)err;
  *spec = (lgv_env_spec){
      .obs_shape = {STATES, 1, 1},
      .obs_form = LGV_FORM_ONE_HOT,
      .actions = lgv_discrete(ACTIONS),
      .masked = ((const params *)p)->masked,
      .states = STATES,
      .horizon = MOVES,
      .stationary = true,
      .clock_truncates = true,
      .reward_max = 1,
  };
  return LGV_OK;
}

/* at[] becomes indices, and it may come from a checkpoint, a file that anybody can write. */
static const char *jugs_fault(const void *self) {
  const int64_t *at = ((const table *)self)->at;
  bool fits = at[0] >= 0 && at[0] <= LARGE && at[1] >= 0 && at[1] <= SMALL;
  return fits && at[2] >= 0 && at[2] <= MOVES ? NULL : "more than a jug holds, or too many moves";
}

static void jugs_layout(void *self, const void *p, const lgv_env_spec *spec, lgv_layout *layout) {
  (void)p, (void)spec;
  ((table *)self)->at = lgv_layout_array(layout, "jugs.at", LGV_I64, 3, LGV_KEEP);
  lgv_layout_check(layout, jugs_fault, self);
}

static lgv_status jugs_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)rng, (void)err;
  int64_t *at = ((table *)self)->at;
  at[0] = at[1] = at[2] = 0;
  return LGV_OK;
}

static lgv_status jugs_step(void *self, const lgv_action *action, lgv_rng *rng,
                            lgv_outcome *outcome, lgv_error *err) {
  (void)rng, (void)err; /* the action is allowed: the library has checked it */
  int64_t *at = ((table *)self)->at;
  jugs after = move(jugs_of(self), action->choice);
  at[0] = after.large;
  at[1] = after.small;
  outcome->terminated = after.large == GOAL;
  outcome->truncated = ++at[2] == MOVES && !outcome->terminated;
  outcome->reward = outcome->terminated;
  return LGV_OK;
}

/* Entry a is 1 if action a is allowed. Of several parts, the entries would follow each other. */
static void jugs_mask(const void *self, uint8_t *allowed) {
  jugs j = jugs_of(self);
  for (int32_t a = 0; a < ACTIONS; a++) {
    jugs after = move(j, a);
    allowed[a] = after.large != j.large || after.small != j.small;
  }
}

static int64_t jugs_state(const void *self) {
  jugs j = jugs_of(self);
  return j.large * (SMALL + 1) + j.small;
}

static void jugs_observe(const void *self, void *data) {
  float *obs = data;
  for (int64_t i = 0; i < STATES; i++) obs[i] = i == jugs_state(self);
}

static const lgv_env_type jugs_type = {
    .size = sizeof(lgv_env_type),
    .name = "jugs",
    .summary = "measure out 4 liters with jugs of 5 and 3",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(table),
    .spec = jugs_spec,
    .layout = jugs_layout,
    .reset = jugs_reset,
    .step = jugs_step,
    .observe = jugs_observe,
    .mask = jugs_mask,
    .state_index = jugs_state,
};

/* ---- The experiment: two agents, with and without the mask. ---- */

enum { SEEDS = 4 };

static lgv_status make_plan(const char *agent, const char *masked, lgv_plan **plan,
                            lgv_error *err) {
  const char *choices[] = {"env.name=jugs", masked, agent, "run.episodes=1000"};
  lgv_settings *settings;
  lgv_status status = lgv_settings_create(&settings, err);
  if (status != LGV_OK) return status;
  status = lgv_settings_add_env(settings, &jugs_type, err);
  for (int i = 0; i < 4 && status == LGV_OK; i++)
    status = lgv_settings_assign(settings, choices[i], "own_mask.c", err);
  if (status == LGV_OK) status = lgv_plan_create(settings, plan, err);
  lgv_settings_free(settings);
  return status;
}

/* Prints the share of training episodes that reached the goal. */
static lgv_status train(const char *agent, const char *masked, lgv_error *err) {
  lgv_plan *plan = NULL;
  lgv_summary runs[SEEDS];
  lgv_estimate share;
  double reached[SEEDS];
  lgv_status status = make_plan(agent, masked, &plan, err);
  lgv_batch batch = {.size = sizeof(lgv_batch), .plan = plan, .seeds = SEEDS, .threads = 2};
  if (status == LGV_OK) status = lgv_batch_run(&batch, runs, err);
  lgv_plan_free(plan);
  if (status != LGV_OK) return status;
  for (int i = 0; i < SEEDS; i++) reached[i] = 100 * runs[i].mean_return;
  lgv_estimate_mean(reached, SEEDS, &share);
  printf("%-22s %-17s %3.0f %% of 1000 tries\n", agent, masked, share.value);
  return LGV_OK;
}

int main(void) {
  static const char *const agents[] = {"agent.name=lmc-lsvi", "agent.name=double-dqn"};
  static const char *const masks[] = {"env.masked=true", "env.masked=false"};
  lgv_error err;
  lgv_status status = LGV_OK;
  printf("4 liters out of jugs of 5 and 3, within %d moves, %d seeds\n", MOVES, SEEDS);
  for (int i = 0; i < 4 && status == LGV_OK; i++) status = train(agents[i / 2], masks[i % 2], &err);
  if (status == LGV_OK) return 0;
  fprintf(stderr, "own_mask: %s\n", err.message);
  return 1;
}
