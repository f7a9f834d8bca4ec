/* Trains a built-in agent on your own environment, outside the library.
 *
 * A lock opens if every digit of its code is entered in order; one wrong digit jams it until the
 * next try. Random digits open it once in 3^8 = 6561 tries, so an agent must explore deliberately.
 * This file includes only langevin.h:
 *
 *   cc own_env.c $(pkg-config --cflags --libs langevin) && ./a.out
 */
#include <langevin.h>

#include <stdio.h>

enum { CHOICES = 3 };

/* ---- Parameters: the setting env.length=... is checked against the table and stored here. ---- */

typedef struct lock_params {
  int64_t length;
} lock_params;

static const lgv_param lock_table[] = {
    {.name = "length",
     .type = LGV_INT,
     .offset = offsetof(lock_params, length),
     .default_text = "8",
     .min = 1,
     .max = 1000,
     .help = "digits in the code"},
    {0},
};

/* ---- State: what the lock remembers between steps. ---- */

typedef struct lock {
  int64_t length;
  int64_t *at;      /* [0]: correct digits so far, or `length` if jammed; [1]: the stage */
  lgv_model *model; /* optional: gives optimal values and exact regret */
} lock;

static int32_t right_digit(int64_t position) { return (int32_t)((7 * position + 2) % CHOICES); }

static lgv_status lock_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  (void)err;
  const lock_params *p = params;
  *spec = (lgv_env_spec){
      .obs_shape = {(int32_t)p->length + 1, 1, 1}, /* one-hot, for agents that use it */
      .obs_form = LGV_FORM_ONE_HOT,
      .actions = lgv_discrete(CHOICES),
      .states = p->length + 1,
      .horizon = p->length,
      .stationary = true,
      .clock_truncates = true, /* terminated means that the lock opened */
      .reward_min = 0,
      .reward_max = 1,
  };
  return LGV_OK;
}

/* at[0] becomes an index, and it may come from a checkpoint, a file that anybody can write. */
static const char *lock_fault(const void *self) {
  const lock *l = self;
  bool fits = l->at[0] >= 0 && l->at[0] <= l->length && l->at[1] >= 0 && l->at[1] <= l->length;
  return fits ? NULL : "a position or stage out of range";
}

/* Runs twice: to count, then to place. Checkpoints save LGV_KEEP arrays. */
static void lock_layout(void *self, const void *params, const lgv_env_spec *spec,
                        lgv_layout *layout) {
  (void)spec;
  lock *l = self;
  l->length = ((const lock_params *)params)->length;
  l->at = lgv_layout_array(layout, "lock.at", LGV_I64, 2, LGV_KEEP);
  lgv_layout_check(layout, lock_fault, l);
}

static lgv_status build_model(const lock *l, lgv_model *m, lgv_error *err) {
  for (int64_t s = 0; s <= l->length; s++)
    for (int32_t a = 0; a < CHOICES; a++) {
      bool right = s < l->length && a == right_digit(s), last = s == l->length - 1;
      int64_t next = right ? (last ? LGV_END : s + 1) : l->length;
      lgv_status status = lgv_model_add(m, 0, s, a, next, 1.0, err);
      if (status != LGV_OK) return status;
      lgv_model_set_reward(m, 0, s, a, right && last);
    }
  lgv_model_set_start(m, 0, 1.0);
  return lgv_model_seal(m, err);
}

static lgv_status lock_open(void *self, lgv_env_spec *spec, lgv_error *err) {
  lock *l = self;
  lgv_status status = lgv_model_create(spec->states, CHOICES, spec->horizon, true, &l->model, err);
  if (status == LGV_OK) status = build_model(l, l->model, err);
  if (status != LGV_OK) lgv_model_free(l->model);
  return status;
}

static void lock_close(void *self) { lgv_model_free(((lock *)self)->model); }
static const lgv_model *lock_model(const void *self) { return ((const lock *)self)->model; }

static lgv_status lock_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)rng, (void)err;
  lock *l = self;
  l->at[0] = l->at[1] = 0;
  return LGV_OK;
}

static lgv_status lock_step(void *self, const lgv_action *action, lgv_rng *rng,
                            lgv_outcome *outcome, lgv_error *err) {
  (void)rng, (void)err; /* a random lock would draw from rng, and only from it */
  lock *l = self;
  bool jammed = l->at[0] == l->length;
  bool right = !jammed && action->choice == right_digit(l->at[0]);
  bool opened = right && l->at[0] == l->length - 1;
  if (!opened) l->at[0] = right ? l->at[0] + 1 : l->length;
  l->at[1]++;
  outcome->reward = opened;
  outcome->terminated = opened;
  outcome->truncated = !opened && l->at[1] == l->length;
  return LGV_OK;
}

static void lock_observe(const void *self, void *data) {
  const lock *l = self;
  float *obs = data;
  for (int64_t i = 0; i <= l->length; i++) obs[i] = i == l->at[0];
}

static int64_t lock_state(const void *self) { return ((const lock *)self)->at[0]; }

static const lgv_env_type lock_type = {
    .size = sizeof(lgv_env_type),
    .name = "lock",
    .summary = "a combination lock that jams at the first wrong digit",
    .params = lock_table,
    .params_size = sizeof(lock_params),
    .state_size = sizeof(lock),
    .spec = lock_spec,
    .layout = lock_layout,
    .open = lock_open,
    .close = lock_close,
    .model = lock_model,
    .reset = lock_reset,
    .step = lock_step,
    .observe = lock_observe,
    .state_index = lock_state,
};

/* ---- The experiment: settings, a plan, and a batch of seeds. ---- */

enum { SEEDS = 4 };

static lgv_status make_plan(lgv_plan **plan, lgv_error *err) {
  static const char *const choices[] = {"env.name=lock", "env.length=8", "agent.name=lmc-lsvi",
                                        "run.episodes=500"};
  lgv_settings *settings;
  lgv_status status = lgv_settings_create(&settings, err);
  if (status != LGV_OK) return status;
  status = lgv_settings_add_env(settings, &lock_type, err);
  for (int i = 0; i < 4 && status == LGV_OK; i++)
    status = lgv_settings_assign(settings, choices[i], "own_env.c", err);
  if (status == LGV_OK) status = lgv_plan_create(settings, plan, err);
  lgv_settings_free(settings);
  return status;
}

int main(void) {
  lgv_plan *plan = NULL;
  lgv_error err;
  lgv_summary runs[SEEDS];
  lgv_status status = make_plan(&plan, &err);
  lgv_batch batch = {.size = sizeof(lgv_batch), .plan = plan, .seeds = SEEDS, .threads = 2};
  if (status == LGV_OK) status = lgv_batch_run(&batch, runs, &err);
  lgv_plan_free(plan);
  if (status != LGV_OK) {
    fprintf(stderr, "own_env: %s\n", err.message);
    return 1;
  }
  double opened[SEEDS], regret[SEEDS];
  for (int i = 0; i < SEEDS; i++) {
    opened[i] = 100 * runs[i].final_return;
    regret[i] = runs[i].regret;
  }
  lgv_estimate last, cost;
  lgv_estimate_mean(opened, SEEDS, &last);
  lgv_estimate_mean(regret, SEEDS, &cost);
  printf("a lock of 8 digits, 3 choices each: a random try opens it once in 6561\n");
  printf("lmc-lsvi after 500 tries, %d seeds: its last 10 policies open it in %.0f %% of tries\n",
         SEEDS, last.value);
  printf("regret %.1f +- %.1f tries\n", cost.value, cost.standard_error);
  return 0;
}
