/* Running scales: the moments against closed forms and a second pass over stored data, what counts
 * and how often, and agents whose state they are part of. */
#include "agent/deep/running_scale.h"
#include "base/arena.h"
#include "deep_helpers.h"
#include "temp_root.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the scales alone ---- */

typedef struct rig {
  running_scale_params params;
  lgv_env_spec env;
  int64_t streams;
  double gamma;
  running_scale scale;
  lgv_arena arena;
} rig;

static void rig_layout(void *context, lgv_layout *layout) {
  rig *r = context;
  lgv__running_scale_layout(&r->scale, &r->params, &r->env, r->streams, r->gamma, layout);
}

static void rig_open(rig *r) {
  lgv_error err = {0};
  assert_int_equal(lgv__running_scale_resolve(&r->params, &r->env, &err), LGV_OK);
  assert_int_equal(lgv__arena_build(&r->arena, rig_layout, r, "a test", &err), LGV_OK);
}

static void rig_close(rig *r) { lgv__arena_free(&r->arena); }

static lgv_env_spec floats(int32_t length) {
  return (lgv_env_spec){
      .size = sizeof(lgv_env_spec), .obs_shape = {length, 1, 1}, .actions = lgv_discrete(2)};
}

static lgv_env_spec pictures(int32_t height, int32_t width, int32_t channels) {
  return (lgv_env_spec){.size = sizeof(lgv_env_spec),
                        .obs_kind = LGV_OBS_BYTE,
                        .obs_shape = {height, width, channels},
                        .actions = lgv_discrete(2)};
}

static void add(rig *r, int64_t stream, const void *obs, const void *next, double reward,
                bool begins) {
  lgv_transition t = {.obs = {.data = obs}, .next = {.data = next}, .reward = reward};
  lgv__running_scale_add(&r->scale, stream, &t, begins);
}

static void assert_near(double x, double y) {
  if (!(fabs(x - y) <= 1e-6 * fmax(1, fabs(y)))) fail_msg("%.17g is not %.17g", x, y);
}

/* The numbers 1..n, around 0 and far from it: mean (n + 1) / 2 and variance (n^2 - 1) / 12. */
static void moments_have_their_closed_form(void **state) {
  (void)state;
  enum { N = 1000 };
  rig r = {.params = {.obs = true}, .env = floats(2)};
  rig_open(&r);
  float x[2] = {1, 1e6f + 1}, next[2];
  for (int i = 2; i <= N; i++) {
    next[0] = (float)i, next[1] = 1e6f + (float)i;
    add(&r, 0, x, next, 0, i == 2);
    memcpy(x, next, sizeof x);
  }
  assert_int_equal(*r.scale.obs.count, N);
  assert_near(r.scale.obs.mean[0], (N + 1) / 2.0);
  assert_near(r.scale.obs.mean[1], 1e6 + (N + 1) / 2.0);
  for (int i = 0; i < 2; i++) assert_near(r.scale.obs.squares[i] / N, ((double)N * N - 1) / 12);
  net_map map = lgv__running_scale_map(&r.scale);
  assert_near((double)map.shift[0], (N + 1) / 2.0);
  assert_near((double)map.gain[0], 1 / sqrt(((double)N * N - 1) / 12 + 1e-8));
  assert_true(map.clip == 10);
  rig_close(&r);
}

/* With fewer than two observations inputs stay as they are; a number that never changes becomes 0,
 * not a division by 0. */
static void few_and_constant_observations_are_harmless(void **state) {
  (void)state;
  rig r = {.params = {.obs = true, .rewards = true}, .env = floats(2), .streams = 1, .gamma = 0.9};
  rig_open(&r);
  const float x[2] = {3, 7}, y[2] = {3, 9};
  float reward = 2;
  net_map map = lgv__running_scale_map(&r.scale);
  assert_true(map.shift[0] == 0 && map.gain[0] == 1);
  lgv__running_scale_rewards(&r.scale, &reward, 1);
  assert_true(reward == 2);
  add(&r, 0, x, y, 1, true);
  map = lgv__running_scale_map(&r.scale);
  assert_true(map.shift[0] == 3 && map.shift[1] == 8);
  assert_near((double)map.gain[0], 1e4);
  assert_near((double)map.gain[1], 1 / sqrt(1 + 1e-8));
  lgv__running_scale_rewards(&r.scale, &reward, 1); /* one return is known */
  assert_true(reward == 2);
  rig_close(&r);
}

/* Two streams in turn, with episodes of their own: all observations are stored and passed over a
 * second time, and so are the returns. */
static void statistics_are_those_of_a_second_pass(void **state) {
  (void)state;
  enum { WIDTH = 5, STEPS = 600, STREAMS = 2, MOST = 3 * STEPS };
  static double seen[MOST][WIDTH], returns[STEPS];
  rig r = {.params = {.obs = true, .rewards = true},
           .env = floats(WIDTH),
           .streams = STREAMS,
           .gamma = 0.97};
  rig_open(&r);
  lgv_rng rng;
  lgv_rng_seed(&rng, 3, "test");
  float x[STREAMS][WIDTH], next[WIDTH];
  double sum[STREAMS] = {0};
  int n = 0, age[STREAMS] = {0};
  for (int i = 0; i < STEPS; i++) {
    int s = i % STREAMS;
    bool begins = age[s] == 0, ends = lgv_rng_below(&rng, 20) == 0;
    for (int j = 0; j < WIDTH && begins; j++)
      x[s][j] = (float)(seen[n][j] = (double)(float)(j * 100 + lgv_rng_normal(&rng)));
    n += begins;
    for (int j = 0; j < WIDTH; j++)
      next[j] = (float)(seen[n][j] = (double)(float)(j * 100 + j * lgv_rng_normal(&rng)));
    n++;
    double reward = lgv_rng_normal(&rng);
    sum[s] = (begins ? 0 : 0.97 * sum[s]) + reward;
    returns[i] = sum[s];
    add(&r, s, x[s], next, reward, begins);
    memcpy(x[s], next, sizeof next);
    age[s] = ends ? 0 : age[s] + 1;
  }
  assert_int_equal(*r.scale.obs.count, n);
  net_map map = lgv__running_scale_map(&r.scale);
  for (int j = 0; j < WIDTH; j++) {
    double mean = 0, squares = 0;
    for (int i = 0; i < n; i++) mean += seen[i][j] / n;
    for (int i = 0; i < n; i++) squares += (seen[i][j] - mean) * (seen[i][j] - mean) / n;
    assert_near((double)map.shift[j], mean);
    assert_near((double)map.gain[j], 1 / sqrt(squares + 1e-8));
  }
  double mean = 0, squares = 0;
  for (int i = 0; i < STEPS; i++) mean += returns[i] / STEPS;
  for (int i = 0; i < STEPS; i++) squares += (returns[i] - mean) * (returns[i] - mean) / STEPS;
  float reward = 1;
  lgv__running_scale_rewards(&r.scale, &reward, 1);
  assert_near((double)reward, 1 / sqrt(squares + 1e-8));
  rig_close(&r);
}

/* The factor of today's rewards. */
static double factor(const rig *r) {
  float reward = 1;
  lgv__running_scale_rewards(&r->scale, &reward, 1);
  return (double)reward;
}

/* Episodes of one step, all with the same reward: there is no deviation to divide by. */
static void returns_that_never_vary_are_left_alone(void **state) {
  (void)state;
  rig r = {.params = {.rewards = REWARDS_SCALED}, .env = floats(1), .streams = 1, .gamma = 1};
  rig_open(&r);
  const float x = 0;
  for (int i = 0; i < 9; i++) {
    add(&r, 0, &x, &x, 5, true);
    assert_true(factor(&r) == 1);
  }
  add(&r, 0, &x, &x, 15, true); /* variance 100 (1/10) (9/10) */
  assert_near(factor(&r), 1 / sqrt(9 + 1e-8));
  rig_close(&r);
}

/* Episodes of one step, so that G = r, and its deviation is that of the rewards so far. */
static void returns_are_scaled_to_20_within_limits(void **state) {
  (void)state;
  static const struct {
    double reward, limit; /* that holds after it; 0: none does */
  } rows[] = {
      {0, 1},    {0.01, 1}, {0.01, 1},                   /* small rewards stay */
      {-0.1, 5}, {0.5, 25},                              /* 50 R */
      {0.1, 25}, {0, 25},   {0, 25},   {0, 25}, {0, 25}, /* R does not fall */
      {0, 25},   {-1, 50},                               /* R is 100 times the least */
      {1.02, 1},                                         /* R is more than that */
      {100, 0},                                          /* 20 / sigma is about 0.8 */
  };
  rig r = {.params = {.rewards = REWARDS_LIMITED}, .env = floats(1), .streams = 1, .gamma = 0.5};
  rig_open(&r);
  const float x = 0;
  for (size_t n = 1; n <= sizeof rows / sizeof *rows; n++) {
    add(&r, 0, &x, &x, rows[n - 1].reward, true);
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++) mean += rows[i].reward / (double)n;
    for (size_t i = 0; i < n; i++) variance += pow(rows[i].reward - mean, 2) / (double)n;
    double free = 20 / sqrt(variance + 1e-8), limit = rows[n - 1].limit;
    if (limit > 0) assert_true(free > 1.1 * limit);
    assert_near(factor(&r), limit > 0 ? limit : free);
  }
  rig_close(&r);
}

/* The map is kept until statistics change, whether a transition or a loaded file changes them. */
static void the_map_follows_every_change(void **state) {
  (void)state;
  rig r = {.params = {.obs = NORMALIZE_TRUE}, .env = floats(2), .streams = 1};
  rig_open(&r);
  const float x[2] = {1, 2}, y[2] = {3, 6}, z[2] = {5, 1};
  lgv__running_scale_map(&r.scale);
  add(&r, 0, x, y, 0, true);
  net_map map = lgv__running_scale_map(&r.scale);
  assert_true(map.shift[0] == 2 && map.shift[1] == 4);
  r.scale.gain[0] = 77; /* nothing has changed: it is not made again */
  assert_true(lgv__running_scale_map(&r.scale).gain[0] == 77);
  add(&r, 0, y, z, 0, false);
  map = lgv__running_scale_map(&r.scale);
  assert_true(map.shift[0] == 3 && map.shift[1] == 3);
  assert_near((double)map.gain[0], 1 / sqrt(8 / 3.0 + 1e-8));
  r.scale.obs.mean[1] = 9; /* as many observations, other numbers */
  assert_true(lgv__running_scale_map(&r.scale).shift[1] == 9);
  r.scale.obs.squares[0] = 27;
  assert_near((double)lgv__running_scale_map(&r.scale).gain[0], 1 / sqrt(9 + 1e-8));
  rig_close(&r);
}

/* A stack of two pictures with two channels each: the newest picture counts, and its channels are
 * those of the older one, too. */
static void channels_are_divided_by_their_largest_byte(void **state) {
  (void)state;
  rig r = {.env = pictures(2, 3, 4)};
  r.env.frames = 2;
  rig_open(&r);
  assert_int_equal(r.params.input, SCALE_CHANNELS);
  uint8_t x[24] = {0}, next[24] = {0};
  net_map map = lgv__running_scale_map(&r.scale);
  for (int i = 0; i < 24; i++) assert_true(map.gain[i] == 1);
  x[4 * 3 + 2] = 5;     /* the newest picture's first channel */
  next[4 * 1 + 0] = 99; /* an older picture */
  next[4 * 5 + 3] = 7;  /* the second channel */
  add(&r, 0, x, next, 0, true);
  map = lgv__running_scale_map(&r.scale);
  for (int i = 0; i < 24; i++) assert_true(map.gain[i] == 1 / (i % 2 ? 7.0f : 5.0f));
  x[4 * 3 + 2] = 200; /* was the next observation of a step before: it has counted */
  add(&r, 0, x, next, 0, false);
  map = lgv__running_scale_map(&r.scale);
  assert_true(map.gain[0] == 1 / 5.0f);
  rig_close(&r);
}

/* Five bytes take eight: the two floats beside the picture begin at a multiple of 4. */
static void floats_beside_a_picture_are_normalized(void **state) {
  (void)state;
  struct {
    uint8_t bytes[8];
    float vector[2];
  } x = {{10, 20, 30, 40, 50, 0, 0, 0}, {1, 100}}, next = {{1, 1, 1, 1, 1, 0, 0, 0}, {3, 100}};
  rig r = {.params = {.obs = true}, .env = pictures(1, 5, 1)};
  r.env.vector = 2;
  rig_open(&r);
  add(&r, 0, &x, &next, 0, true);
  net_map map = lgv__running_scale_map(&r.scale);
  assert_int_equal(r.scale.obs.size, 2);
  for (int i = 0; i < 5; i++) assert_true(map.gain[i] == 1 / 50.0f);
  assert_true(map.shift[5] == 2 && map.shift[6] == 100);
  assert_near((double)map.gain[5], 1 / sqrt(1 + 1e-8));
  rig_close(&r);
}

static void the_choice_follows_the_observations(void **state) {
  (void)state;
  lgv_env_spec one_hot = floats(5), beside = pictures(84, 84, 4);
  one_hot.obs_form = LGV_FORM_ONE_HOT;
  beside.vector = 3;
  const struct {
    running_scale_params params;
    lgv_env_spec env;
    int32_t input;
    const char *refusal;
  } rows[] = {
      {{0}, floats(5), SCALE_FALSE, NULL},
      {{0}, one_hot, SCALE_FALSE, NULL},
      {{0}, pictures(84, 84, 4), SCALE_TRUE, NULL},
      {{0}, pictures(36, 36, 1), SCALE_TRUE, NULL},
      {{0}, pictures(35, 36, 1), SCALE_CHANNELS, NULL},
      {{0}, pictures(36, 35, 1), SCALE_CHANNELS, NULL},
      {{0}, pictures(7, 7, 3), SCALE_CHANNELS, NULL},
      {{0}, pictures(128, 1, 1), SCALE_FALSE, NULL}, /* a vector of bytes */
      {{SCALE_FALSE, false, false}, pictures(84, 84, 4), SCALE_FALSE, NULL},
      {{SCALE_TRUE, false, false}, pictures(7, 7, 3), SCALE_TRUE, NULL},
      {{SCALE_TRUE, true, false}, floats(5), SCALE_TRUE, NULL},
      {{SCALE_AUTO, true, false}, beside, SCALE_TRUE, NULL},
      {{SCALE_CHANNELS, false, false}, floats(5), 0, "agent.normalize_obs = true"},
      {{SCALE_AUTO, true, false}, one_hot, 0, "one-hot"},
      {{SCALE_AUTO, true, false}, pictures(84, 84, 4), 0, "agent.scale_input = true"},
      {{SCALE_AUTO, true, false}, pictures(7, 7, 3), 0, "agent.scale_input = channels"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    running_scale_params params = rows[i].params;
    lgv_error err = {0};
    lgv_status status = lgv__running_scale_resolve(&params, &rows[i].env, &err);
    assert_int_equal(status, rows[i].refusal ? LGV_ERR_USAGE : LGV_OK);
    if (rows[i].refusal && !strstr(err.message, rows[i].refusal)) fail_msg("%s", err.message);
    if (!rows[i].refusal) assert_int_equal(params.input, rows[i].input);
  }
}

static void auto_normalizes_dense_floats(void **state) {
  (void)state;
  lgv_env_spec one_hot = floats(5), thermometer = floats(5), beside = pictures(7, 7, 3);
  one_hot.obs_form = LGV_FORM_ONE_HOT;
  thermometer.obs_form = LGV_FORM_THERMOMETER;
  beside.vector = 2;
  const struct {
    lgv_env_spec env;
    int32_t resolved;
  } rows[] = {{floats(5), NORMALIZE_TRUE},          {one_hot, NORMALIZE_FALSE},
              {thermometer, NORMALIZE_FALSE},       {pictures(7, 7, 3), NORMALIZE_FALSE},
              {pictures(9, 1, 1), NORMALIZE_FALSE}, {beside, NORMALIZE_TRUE}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    running_scale_params params = {.obs = NORMALIZE_AUTO};
    lgv_error err = {0};
    assert_int_equal(lgv__running_scale_resolve(&params, &rows[i].env, &err), LGV_OK);
    assert_int_equal(params.obs, rows[i].resolved);
  }
}

/* What the checks of the arrays say, or NULL. */
static const char *fault_of(const rig *r) {
  const lgv_layout *table = &r->arena.table;
  for (size_t i = 0; i < table->n_blocks; i++) {
    const lgv_block *block = &table->blocks[i];
    const char *fault = block->check ? block->check(block->check_context) : NULL;
    if (fault) return fault;
  }
  return NULL;
}

static void assert_fault(rig *r, double *number, double value, const char *said) {
  double kept = *number;
  *number = value;
  const char *fault = fault_of(r);
  if (!fault || !strstr(fault, said)) fail_msg("%g: %s", value, fault ? fault : "no fault");
  *number = kept;
  assert_null(fault_of(r));
}

static void loaded_numbers_that_cannot_be_are_named(void **state) {
  (void)state;
  rig r = {.params = {.obs = true, .rewards = true}, .env = floats(3), .streams = 2, .gamma = 1};
  rig_open(&r);
  const float x[3] = {1, 2, 3}, y[3] = {3, 2, 1};
  add(&r, 1, x, y, 1, true);
  running_moments *m = &r.scale.obs, *g = &r.scale.returns;
  assert_null(fault_of(&r));
  assert_fault(&r, &m->mean[2], NAN, "a mean");
  assert_fault(&r, &m->mean[2], 2.0 * FLT_MAX, "a mean");
  assert_fault(&r, &m->squares[0], -1, "a variance");
  assert_fault(&r, &m->squares[2], INFINITY, "a variance");
  assert_fault(&r, &m->squares[2], NAN, "a variance");
  assert_fault(&r, &g->mean[0], INFINITY, "a mean");
  assert_fault(&r, &g->squares[0], -1e-300, "a variance");
  assert_fault(&r, &r.scale.now[1], NAN, "a return");
  *m->count = -1;
  assert_string_equal(fault_of(&r), "counter out of range");
  *m->count = 2;
  *g->count = INT64_MAX;
  assert_string_equal(fault_of(&r), "counter out of range");
  rig_close(&r);
}

/* 50 / R for rewards above 1, and 1 from 50 on; sigma is tiny. */
static void large_rare_rewards_are_magnified_less(void **state) {
  (void)state;
  static const double rows[][2] = {{2, 25}, {4, 12.5}, {40, 1.25}, {80, 1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    rig r = {.params = {.rewards = REWARDS_LIMITED}, .env = floats(1), .streams = 1, .gamma = 1};
    rig_open(&r);
    const float x = 0;
    for (int n = 0; n < 100000; n++) add(&r, 0, &x, &x, n == 0 ? -rows[i][0] : 0, true);
    assert_near(factor(&r), rows[i][1]);
    rig_close(&r);
  }
}

static void loaded_sizes_of_rewards_that_cannot_be_are_named(void **state) {
  (void)state;
  rig r = {.params = {.rewards = REWARDS_LIMITED}, .env = floats(1), .streams = 1, .gamma = 1};
  rig_open(&r);
  assert_null(fault_of(&r));
  assert_fault(&r, &r.scale.sizes[0], -1, "sizes of rewards");
  assert_fault(&r, &r.scale.sizes[0], 1, "sizes of rewards"); /* the least above the greatest */
  assert_fault(&r, &r.scale.sizes[1], NAN, "sizes of rewards");
  assert_fault(&r, &r.scale.sizes[1], INFINITY, "sizes of rewards");
  assert_fault(&r, &r.scale.now[0], NAN, "a return");
  rig_close(&r);
}

/* ---- agents ---- */

static lgv_agent *make_agent(const char *name, const lgv_env_spec *env, const char *extra) {
  lgv_error err = {0};
  lgv_agent *agent;
  lgv_settings *settings = make_settings(NULL, name, extra);
  if (lgv_agent_create(settings, env, 0, 0, 1, &agent, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_settings_free(settings);
  return agent;
}

static void observe(lgv_agent *agent, const float *obs, const float *next, int64_t stage,
                    double reward, bool terminated) {
  lgv_error err = {0};
  lgv_action action = {.choice = (int32_t)(stage % 2)};
  lgv_transition t = {.obs = {obs, -1, stage, NULL},
                      .action = &action,
                      .reward = reward,
                      .next = {next, -1, stage + 1, NULL},
                      .terminated = terminated};
  if (lgv_agent_observe(agent, &t, &err) != LGV_OK) fail_msg("%s", err.message);
}

static void saved(const lgv_agent *agent, const char *name, char **bytes, size_t *size) {
  char path[PATH_MAX];
  lgv_error err = {0};
  join(path, root, name);
  if (lgv_agent_save(agent, path, NULL, &err) != LGV_OK) fail_msg("%s", err.message);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  *bytes = malloc(*size);
  assert_int_equal(fread(*bytes, 1, *size, file), *size);
  fclose(file);
}

static void walk(lgv_agent *agent, int steps, lgv_rng *rng) {
  float x[4] = {0}, next[4];
  for (int i = 0; i < steps; i++) {
    for (int j = 0; j < 4; j++) next[j] = (float)(1000 * j + (j + 1) * lgv_rng_normal(rng));
    observe(agent, x, next, i % 7, 50 * lgv_rng_normal(rng), i % 7 == 6);
    memcpy(x, next, sizeof x);
  }
}

static const char scaled[] = "agent.preset=small agent.hidden=8 agent.warmup=10 agent.batch=4 "
                             "agent.replay=100 agent.normalize_obs=true agent.scale_rewards=true";
static const char *const deep_agents[] = {
    "adam-lmcdqn", "dqn", "bootstrapped-dqn", "c51", "iqn", "noisynet-dqn", "qr-dqn", "hyperagent"};
enum { DEEP_AGENTS = sizeof deep_agents / sizeof *deep_agents };

/* Acting in evaluations and reading values changes not a byte of what is saved. */
static void evaluation_leaves_the_statistics_alone(void **state) {
  (void)state;
  lgv_env_spec env = floats(4);
  for (size_t a = 0; a < DEEP_AGENTS; a++) {
    lgv_agent *agent = make_agent(deep_agents[a], &env, scaled);
    lgv_rng rng;
    lgv_error err = {0};
    lgv_rng_seed(&rng, 4, "test");
    walk(agent, 60, &rng);
    char *before, *after;
    size_t n, m;
    double q[2];
    const float far[4] = {1e6f, -1e6f, 1e6f, 0};
    lgv_obs obs = {far, -1, 3, NULL};
    saved(agent, "before", &before, &n);
    assert_int_equal(lgv_agent_q_values(agent, &obs, 1, q, &err), LGV_OK);
    assert_true(isfinite(q[0]) && isfinite(q[1]));
    bool draws = !strcmp(deep_agents[a], "noisynet-dqn") || !strcmp(deep_agents[a], "iqn");
    if (!draws) { /* the others would have another state of the stream `eval` */
      lgv_action action;
      assert_int_equal(lgv_agent_act(agent, &obs, LGV_EVAL, &action, &err), LGV_OK);
    }
    saved(agent, "after", &after, &m);
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n);
    free(before);
    free(after);
    lgv_agent_free(agent);
  }
}

/* 30 episodes of 7 steps have 8 observations each, more than the replay holds. */
static void every_observation_counts_once(void **state) {
  (void)state;
  lgv_env_spec env = floats(4);
  lgv_agent *agent = make_agent("dqn", &env, scaled);
  lgv_rng rng;
  lgv_rng_seed(&rng, 5, "test");
  walk(agent, 210, &rng);
  assert_int_equal(*(const int64_t *)agent_array(agent, "obs.count", NULL), 210 + 30);
  assert_int_equal(*(const int64_t *)agent_array(agent, "return.count", NULL), 210);
  lgv_agent_free(agent);
}

/* Two agents that see the same task in different units learn the same. */
static void units_do_not_matter(void **state) {
  (void)state;
  lgv_env_spec env = floats(4);
  for (size_t a = 0; a < DEEP_AGENTS; a++) {
    lgv_agent *plain = make_agent(deep_agents[a], &env, scaled);
    lgv_agent *moved = make_agent(deep_agents[a], &env, scaled);
    lgv_rng rng;
    lgv_error err = {0};
    lgv_rng_seed(&rng, 6, "test");
    float x[4] = {0}, y[4] = {64, 64, 64, 64}, next[4], other[4];
    for (int i = 0; i < 60; i++) {
      double reward = lgv_rng_normal(&rng);
      for (int j = 0; j < 4; j++) {
        next[j] = (float)(int)(64 * lgv_rng_normal(&rng)); /* exact in both units */
        other[j] = 1024 * next[j] + 64;
      }
      observe(plain, x, next, i % 7, reward, i % 7 == 6);
      observe(moved, y, other, i % 7, 4096 * reward, i % 7 == 6);
      memcpy(x, next, sizeof x);
      memcpy(y, other, sizeof y);
    }
    double p[2], q[2];
    lgv_obs here = {x, -1, 4, NULL}, there = {y, -1, 4, NULL};
    assert_int_equal(lgv_agent_q_values(plain, &here, 1, p, &err), LGV_OK);
    assert_int_equal(lgv_agent_q_values(moved, &there, 1, q, &err), LGV_OK);
    for (int i = 0; i < 2; i++)
      if (!(fabs(p[i] - q[i]) < 1e-3 * fmax(1, fabs(p[i]))))
        fail_msg("%s: %.9g and %.9g", deep_agents[a], p[i], q[i]);
    lgv_agent_free(plain);
    lgv_agent_free(moved);
  }
}

/* Minibatches have the n-step sums of the true rewards, times one factor; the replay has the true
 * rewards. */
static void rewards_of_a_minibatch_are_scaled(void **state) {
  (void)state;
  deep_rig r;
  lgv_rng rng;
  deep_open(&r, "dqn", deep_spec(10, 2),
            "agent.n_step=3 agent.scale_rewards=true agent.warmup=99 agent.replay=100", NULL);
  dqn *c = r.self;
  lgv_rng_seed(&rng, 8, "walk");
  deep_walk(&r, 40, &rng);
  const running_moments *m = &c->scale.returns;
  float factor = (float)(1 / sqrt(m->squares[0] / (double)*m->count + 1e-8)), rewards[32];
  assert_true(factor < 0.9f || factor > 1.1f);
  lgv__dqn_sample(c);
  assert_int_equal(c->batch.size, 32);
  memcpy(rewards, c->batch.reward, sizeof rewards);
  lgv__replay_gather(&c->replay, &c->batch);
  for (int i = 0; i < 32; i++) assert_true(rewards[i] == factor * c->batch.reward[i]);
  lgv__dqn_gather(c);
  assert_memory_equal(rewards, c->batch.reward, sizeof rewards);
  deep_close(&r);
}

/* Of agents that see codes, as in MiniGrid. */
static void small_pictures_are_scaled_by_channel(void **state) {
  (void)state;
  lgv_env_spec env = pictures(7, 7, 3);
  lgv_agent *agent = make_agent("dqn", &env, "agent.net=mlp agent.warmup=4 agent.batch=2");
  lgv_error err = {0};
  char text[32];
  assert_int_equal(lgv_agent_get(agent, "agent.preset", text, sizeof text, &err), LGV_OK);
  assert_string_equal(text, "small");
  assert_int_equal(lgv_agent_get(agent, "agent.scale_input", text, sizeof text, &err), LGV_OK);
  assert_string_equal(text, "channels");
  uint8_t x[147] = {0}, next[147] = {0};
  x[3] = 10, next[4] = 5;
  lgv_action action = {.choice = 1};
  for (int64_t i = 0; i < 20; i++) {
    lgv_transition t = {
        .obs = {x, -1, i, NULL}, .action = &action, .next = {next, -1, i + 1, NULL}};
    assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_OK);
  }
  const uint8_t *most = agent_array(agent, "obs.most", NULL);
  assert_true(most[0] == 10 && most[1] == 5 && most[2] == 0);
  lgv_agent_free(agent);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(moments_have_their_closed_form),
      cmocka_unit_test(few_and_constant_observations_are_harmless),
      cmocka_unit_test(statistics_are_those_of_a_second_pass),
      cmocka_unit_test(returns_that_never_vary_are_left_alone),
      cmocka_unit_test(returns_are_scaled_to_20_within_limits),
      cmocka_unit_test(large_rare_rewards_are_magnified_less),
      cmocka_unit_test(the_map_follows_every_change),
      cmocka_unit_test(channels_are_divided_by_their_largest_byte),
      cmocka_unit_test(floats_beside_a_picture_are_normalized),
      cmocka_unit_test(the_choice_follows_the_observations),
      cmocka_unit_test(auto_normalizes_dense_floats),
      cmocka_unit_test(loaded_numbers_that_cannot_be_are_named),
      cmocka_unit_test(loaded_sizes_of_rewards_that_cannot_be_are_named),
      cmocka_unit_test_setup_teardown(evaluation_leaves_the_statistics_alone, make_root,
                                      remove_root),
      cmocka_unit_test(every_observation_counts_once),
      cmocka_unit_test(units_do_not_matter),
      cmocka_unit_test(rewards_of_a_minibatch_are_scaled),
      cmocka_unit_test(small_pictures_are_scaled_by_channel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
