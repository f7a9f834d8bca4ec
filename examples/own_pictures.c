/* Trains a deep agent on an environment of your own that shows small pictures.
 *
 * A ball falls through a room of 10 x 10 places, one row per step; it drifts to the left or to the
 * right and bounces off the walls. A paddle of three places in the last row must catch it. A single
 * picture does not show the drift, so the agent sees the last two: env.stack=2 works with every
 * environment. Agents choose convolutions for pictures of at least 5 x 5 (agent.net=auto);
 * agent.conv=16x3s1 asks for one layer of 16 channels, windows of 3 x 3 and steps of 1.
 *
 *   cc own_pictures.c $(pkg-config --cflags --libs langevin) && ./a.out
 */
#include <langevin.h>

#include <stdio.h>
#include <string.h>

enum { SIZE = 10, BALL = 0, PADDLE = 1, CHANNELS = 2 }; /* what each channel shows */
enum { ROW, COLUMN, DRIFT, PLACE, NUMBERS }; /* of the ball; PLACE: the paddle's middle */

typedef struct room {
  int64_t *at; /* (NUMBERS) */
} room;

static lgv_status room_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  (void)params, (void)err;
  *spec = (lgv_env_spec){
      .obs_kind = LGV_OBS_BYTE,
      .obs_shape = {SIZE, SIZE, CHANNELS}, /* rows, columns, channels */
      .actions = lgv_discrete(3),          /* left, stay, right */
      .horizon = SIZE - 1,
      .stationary = true,
      .reward_min = 0,
      .reward_max = 1,
  };
  return LGV_OK;
}

/* at[] becomes indices, and it may come from a checkpoint, a file that anybody can write. */
static const char *room_fault(const void *self) {
  const int64_t *at = ((const room *)self)->at;
  bool fits = at[DRIFT] >= -1 && at[DRIFT] <= 1;
  for (int i = 0; i < NUMBERS; i++) fits &= i == DRIFT || (at[i] >= 0 && at[i] < SIZE);
  return fits ? NULL : "a place outside the room";
}

static void room_layout(void *self, const void *params, const lgv_env_spec *spec,
                        lgv_layout *layout) {
  (void)params, (void)spec;
  room *r = self;
  r->at = lgv_layout_array(layout, "room.at", LGV_I64, NUMBERS, LGV_KEEP);
  lgv_layout_check(layout, room_fault, r);
}

static lgv_status room_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  int64_t *at = ((room *)self)->at;
  at[ROW] = 0;
  at[COLUMN] = lgv_rng_below(rng, SIZE);
  at[DRIFT] = lgv_rng_below(rng, 3) - 1;
  at[PLACE] = SIZE / 2;
  return LGV_OK;
}

static lgv_status room_step(void *self, const lgv_action *action, lgv_rng *rng,
                            lgv_outcome *outcome, lgv_error *err) {
  (void)rng, (void)err;
  int64_t *at = ((room *)self)->at;
  int64_t place = at[PLACE] + action->choice - 1, column = at[COLUMN] + at[DRIFT];
  if (place >= 0 && place < SIZE) at[PLACE] = place;
  if (column < 0 || column >= SIZE) at[DRIFT] = -at[DRIFT];
  at[COLUMN] += at[DRIFT];
  outcome->terminated = ++at[ROW] == SIZE - 1;
  int64_t distance = at[COLUMN] - at[PLACE];
  outcome->reward = outcome->terminated && distance >= -1 && distance <= 1;
  return LGV_OK;
}

static void room_observe(const void *self, void *data) {
  const int64_t *at = ((const room *)self)->at;
  uint8_t(*picture)[SIZE][CHANNELS] = data;
  memset(data, 0, (size_t)SIZE * SIZE * CHANNELS);
  picture[at[ROW]][at[COLUMN]][BALL] = 1;
  for (int64_t i = at[PLACE] - 1; i <= at[PLACE] + 1; i++)
    if (i >= 0 && i < SIZE) picture[SIZE - 1][i][PADDLE] = 1;
}

static const lgv_env_type room_type = {
    .size = sizeof(lgv_env_type),
    .name = "room",
    .summary = "catch a ball that bounces off the walls",
    .state_size = sizeof(room),
    .spec = room_spec,
    .layout = room_layout,
    .reset = room_reset,
    .step = room_step,
    .observe = room_observe,
};

static lgv_status make_plan(lgv_plan **plan, lgv_error *err) {
  static const char *const choices[] = {
      "env.name=room",      "env.stack=2",          "agent.name=double-dqn",    "agent.conv=16x3s1",
      "agent.hidden=64",    "optim.lr=0.001",       "agent.epsilon_steps=3000", "run.steps=8000",
      "run.eval_every=200", "run.eval_episodes=10", "run.eval_share=0.5"};
  lgv_settings *settings;
  lgv_status status = lgv_settings_create(&settings, err);
  if (status != LGV_OK) return status;
  status = lgv_settings_add_env(settings, &room_type, err);
  for (size_t i = 0; i < sizeof choices / sizeof *choices && status == LGV_OK; i++)
    status = lgv_settings_assign(settings, choices[i], "own_pictures.c", err);
  if (status == LGV_OK) status = lgv_plan_create(settings, plan, err);
  lgv_settings_free(settings);
  return status;
}

int main(void) {
  enum { SEEDS = 2 };
  lgv_plan *plan = NULL;
  lgv_error err;
  lgv_summary runs[SEEDS];
  char net[32], conv[64];
  lgv_status status = make_plan(&plan, &err);
  lgv_batch batch = {.size = sizeof(lgv_batch), .plan = plan, .seeds = SEEDS, .threads = 2};
  if (status == LGV_OK) status = lgv_plan_get(plan, "agent.net", net, sizeof net, &err);
  if (status == LGV_OK) status = lgv_plan_get(plan, "agent.conv", conv, sizeof conv, &err);
  if (status == LGV_OK) status = lgv_batch_run(&batch, runs, &err);
  lgv_plan_free(plan);
  if (status != LGV_OK) {
    fprintf(stderr, "own_pictures: %s\n", err.message);
    return 1;
  }
  printf("stacks of two pictures, 10 x 10 x 2; network: %s %s\n", net, conv);
  for (int i = 0; i < SEEDS; i++)
    printf("seed %d: double-dqn catches %.0f %% of the balls after %lld steps\n", i,
           100 * runs[i].final_return, (long long)runs[i].steps);
  return 0;
}
