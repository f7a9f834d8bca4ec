/* agent.precision: every deep agent in bf16x3 and bf16. Tiles of the weights are kept between
 * passes (nn/net_tiles.c); a twin whose tiles are made anew in every pass shows that none is ever
 * stale. */
#include "agent/agent.h"
#include "math/kernels.h"
#include "nn/net.h"
#include "registry.h"
#include "run_helpers.h"
#include "temp_root.h"

#include <math.h>
#include <stdio.h>

enum { LENGTH = 6, HEIGHT = 8, WIDTH = 9, FRAMES = 2, ACTIONS = 3, EPISODE = 10, MOST_BYTES = 256 };

static const lgv_env_spec vectors = {.size = sizeof(lgv_env_spec),
                                     .obs_shape = {LENGTH, 1, 1},
                                     .actions = {.count = ACTIONS},
                                     .horizon = EPISODE,
                                     .reward_max = 1};
static const lgv_env_spec pictures = {.size = sizeof(lgv_env_spec),
                                      .obs_kind = LGV_OBS_BYTE,
                                      .obs_shape = {HEIGHT, WIDTH, FRAMES},
                                      .actions = {.count = ACTIONS},
                                      .reward_max = 1};
static const lgv_env_spec states = {.size = sizeof(lgv_env_spec),
                                    .obs_form = LGV_FORM_ONE_HOT,
                                    .obs_shape = {LENGTH, 1, 1},
                                    .actions = {.count = ACTIONS},
                                    .reward_max = 1};

/* ---- An agent in a world of noise ---- */

typedef struct player {
  lgv_agent *agent;
  const lgv_env_spec *env;
  lgv_rng rng;
  int64_t stage;
  char obs[2][MOST_BYTES]; /* the current one, the next one */
  double q[ACTIONS];
} player;

static void draw_obs(player *p, char *out) {
  int64_t length = (int64_t)p->env->obs_shape[0] * p->env->obs_shape[1] * p->env->obs_shape[2];
  float *x = (float *)(void *)out;
  int64_t place = lgv_rng_below(&p->rng, length);
  for (int64_t i = 0; i < length; i++) {
    if (p->env->obs_kind == LGV_OBS_BYTE)
      out[i] = (char)lgv_rng_below(&p->rng, 256);
    else
      x[i] = p->env->obs_form == LGV_FORM_ONE_HOT ? i == place : (float)lgv_rng_normal(&p->rng);
  }
}

static void count_notices(void *context, const char *text) {
  if (strstr(text, "agent.precision")) ++*(int *)context;
}

static player play(const char *agent, const lgv_env_spec *env, const char *extra, int *notices) {
  player p = {.env = env};
  lgv_error err = {0};
  lgv_settings *settings = make_settings(NULL, agent, extra);
  if (notices) lgv_settings_on_notice(settings, count_notices, notices);
  if (lgv_agent_create(settings, env, 0, 1000, 1, &p.agent, &err) != LGV_OK)
    fail_msg("%s: %s", agent, err.message);
  lgv_settings_free(settings);
  lgv_rng_seed(&p.rng, 3, "test");
  draw_obs(&p, p.obs[0]);
  return p;
}

static lgv_obs see(const player *p, int which) {
  return (lgv_obs){.data = p->obs[which], .state = -1, .stage = p->stage + which};
}

static void check(lgv_status status, const lgv_error *err) {
  if (status != LGV_OK) fail_msg("%s", err->message);
}

/* Acts, in training and as in an evaluation, learns, and leaves the values of the next observation
 * in p->q. Returns the action of the evaluation. */
static int32_t play_step(player *p) {
  lgv_error err = {0};
  lgv_action action, tested;
  lgv_obs now = see(p, 0), next;
  if (p->stage == 0) check(lgv_agent_begin_episode(p->agent, &err), &err);
  check(lgv_agent_act(p->agent, &now, LGV_TRAIN, &action, &err), &err);
  draw_obs(p, p->obs[1]);
  next = see(p, 1);
  bool ends = p->stage + 1 == EPISODE;
  lgv_transition t = {.obs = now,
                      .next = next,
                      .action = &action,
                      .reward = lgv_rng_uniform(&p->rng),
                      .truncated = ends};
  check(lgv_agent_observe(p->agent, &t, &err), &err);
  check(lgv_agent_act(p->agent, &now, LGV_EVAL, &tested, &err), &err);
  if (ends) check(lgv_agent_end_episode(p->agent, &err), &err);
  p->stage = ends ? 0 : p->stage + 1;
  memcpy(p->obs[0], p->obs[1], sizeof p->obs[0]);
  now = see(p, 0);
  check(lgv_agent_q_values(p->agent, &now, 1, p->q, &err), &err);
  return tested.choice;
}

/* ---- Every agent ---- */

static bool is_deep(const lgv_agent_type *type) {
  return type->presets && !(type->traits & LGV_NEEDS_STATES) && !takes_box(type);
}

static bool has_cells(const char *agent) { return strcmp(agent, "pathwise-lmcdqn") == 0; }

/* Updates come often, copies to the target network now and then. */
static void describe(const char *agent, const char *precision, const char *more, char text[512]) {
  snprintf(text, 512, "agent.preset=small agent.batch=5 agent.precision=%s %s %s %s", precision,
           strcmp(agent, "iqn") == 0 ? "agent.taus=3 agent.taus_act=4 agent.cosines=8" : "",
           has_cells(agent) ? "agent.cells=100 agent.update_every=2"
                            : "agent.replay=100 agent.warmup=6 agent.update_every=3 "
                              "agent.updates=1 agent.target_every=4",
           more);
}

#define SMALL_PICTURES "agent.conv=16x3s2,33x2s1 agent.hidden=20"

typedef void (*player_check)(const char *agent, const lgv_env_spec *env, const char *settings);

static void for_every_agent(player_check check_player) {
  static const char *const precisions[] = {"bf16x3", "bf16"};
  char text[512];
  for (size_t i = 0; lgv__agents[i]; i++) {
    const char *name = lgv__agents[i]->name;
    if (!is_deep(lgv__agents[i])) continue;
    for (int p = 0; p < 2; p++) {
      describe(name, precisions[p], "", text);
      check_player(name, &vectors, text);
      check_player(name, &states, text);
      describe(name, precisions[p], SMALL_PICTURES, text);
      check_player(name, &pictures, text);
    }
  }
}

/* Agents whose parameters change in other ways, or that have several networks. */
static void for_special_agents(player_check check_player) {
  static const struct {
    const char *agent, *settings;
  } special[] = {
      {"adam-lmcdqn", "agent.average=5"},
      {"adam-lmcdqn",
       "agent.stages=per-stage agent.update_every=0 agent.double=false agent.n_step=1"},
      {"fg-lmcdqn", "agent.double=true"},
      {"bootstrapped-dqn", "agent.members=networks agent.heads=3 agent.double=true"},
      {"bootstrapped-dqn", "agent.members=heads agent.heads=3 agent.prior_scale=1"},
      {"noisynet-dqn", "agent.dueling=true agent.layer_norm=true"},
  };
  char text[512];
  for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
    describe(special[i].agent, "bf16", special[i].settings, text);
    check_player(special[i].agent, &vectors, text);
    if (!strstr(special[i].settings, "per-stage")) check_player(special[i].agent, &states, text);
  }
}

/* Handing out the arrays makes an agent distrust its tiles: it makes them in every pass. */
static void expose(const player *p) { agent_array(p->agent, "w", NULL); }

static void check_twins(const char *agent, const lgv_env_spec *env, const char *settings) {
  lgv_error err = {0};
  player kept = play(agent, env, settings, NULL), fresh = play(agent, env, settings, NULL);
  expose(&fresh);
  for (int i = 0; i < 45; i++) {
    int32_t a = play_step(&kept), b = play_step(&fresh);
    if (a != b || memcmp(kept.q, fresh.q, sizeof kept.q) != 0)
      fail_msg("%s, %s: values differ after step %d", agent, settings, i);
    for (int k = 0; k < ACTIONS; k++) assert_true(isfinite(kept.q[k]));
  }
  check(lgv__agent_check_finite(kept.agent, &err), &err);
  lgv_agent_free(kept.agent);
  lgv_agent_free(fresh.agent);
}

static void tiles_are_never_stale(void **state) {
  (void)state;
  for_every_agent(check_twins);
  for_special_agents(check_twins);
}

/* An agent that has already acted loads the file of another one. */
static void check_loading(const char *agent, const lgv_env_spec *env, const char *settings) {
  char path[PATH_MAX];
  lgv_error err = {0};
  join(path, root, "agent.safetensors");
  player trained = play(agent, env, settings, NULL), other = play(agent, env, settings, NULL);
  for (int i = 0; i < 3 * EPISODE; i++) play_step(&trained);
  play_step(&other);
  check(lgv_agent_save(trained.agent, path, NULL, &err), &err);
  check(lgv_agent_load(other.agent, path, &err), &err);
  lgv_obs now = see(&trained, 0);
  check(lgv_agent_q_values(other.agent, &now, 1, other.q, &err), &err);
  if (memcmp(trained.q, other.q, sizeof trained.q) != 0)
    fail_msg("%s, %s: a loaded agent has other values", agent, settings);
  lgv_agent_free(trained.agent);
  lgv_agent_free(other.agent);
}

static void loaded_agents_have_the_values_of_the_file(void **state) {
  (void)state;
  for_every_agent(check_loading);
  for_special_agents(check_loading);
}

/* ---- Precisions ---- */

/* The values of an agent after some steps. */
static void values_after(const char *precision, int steps, double q[ACTIONS]) {
  char text[512];
  describe("adam-lmcdqn", precision, "agent.hidden=64,64", text);
  player p = play("adam-lmcdqn", &vectors, text, NULL);
  for (int i = 0; i < steps; i++) play_step(&p);
  memcpy(q, p.q, sizeof p.q);
  lgv_agent_free(p.agent);
}

static void precisions_differ_as_they_should(void **state) {
  (void)state;
  double in_float[ACTIONS], x3[ACTIONS], bf16[ACTIONS];
  values_after("float", 1, in_float);
  values_after("bf16x3", 1, x3);
  values_after("bf16", 1, bf16);
  for (int a = 0; a < ACTIONS; a++) {
    assert_true(fabs(x3[a] - in_float[a]) < 1e-5);
    assert_true(fabs(bf16[a] - in_float[a]) < 1e-2);
    assert_true(x3[a] != bf16[a] && bf16[a] != in_float[a]);
  }
}

static void agents_without_hidden_products_say_so(void **state) {
  (void)state;
  static const struct {
    const lgv_env_spec *env;
    const char *settings;
    int expected;
  } cases[] = {{&states, "agent.precision=bf16 agent.hidden=16", 1},
               {&states, "agent.precision=bf16 agent.hidden=16,16", 0},
               {&states, "agent.precision=float agent.hidden=16", 0},
               {&vectors, "agent.precision=bf16x3 agent.hidden=16", 0}};
  for (int i = 0; i < 4; i++) {
    int notices = 0;
    player p = play("dqn", cases[i].env, cases[i].settings, &notices);
    assert_int_equal(notices, cases[i].expected);
    lgv_agent_free(p.agent);
  }
}

/* ---- Kernel sets ---- */

/* Sets of one class round alike (kernels.h). */
enum { UNFUSED, FUSED, PORTABLE, CLASSES };

static int class_of(const lgv_kernel_set *set) {
  if (strncmp(set->name, "portable", strlen("portable")) == 0) return PORTABLE;
  return strcmp(set->name, "ref") == 0 || strcmp(set->name, "x86") == 0 ? UNFUSED : FUSED;
}

static void check_sets(const char *agent, const lgv_env_spec *env, const char *settings) {
  const lgv_kernel_set *set;
  float *first[CLASSES] = {NULL};
  for (size_t k = 0; (set = lgv__kernels_at(k)); k++) {
    size_t count = 0;
    lgv__kernels_use(set);
    player p = play(agent, env, settings, NULL);
    for (int i = 0; i < 20; i++) play_step(&p);
    const float *w = agent_array(p.agent, "w", &count);
    float **kept = &first[class_of(set)];
    if (*kept && memcmp(*kept, w, count * sizeof *w) != 0)
      fail_msg("%s: %s has other parameters (%s)", set->name, agent, settings);
    if (!*kept && (*kept = malloc(count * sizeof *w))) memcpy(*kept, w, count * sizeof *w);
    lgv_agent_free(p.agent);
  }
  lgv__kernels_use(NULL);
  for (int i = 0; i < CLASSES; i++) free(first[i]);
}

static void kernel_sets_learn_the_same_bits(void **state) {
  (void)state;
  static const char *const agents[] = {"adam-lmcdqn", "iqn", "bootstrapped-dqn"};
  static const char *const precisions[] = {"bf16x3", "bf16"};
  char text[512];
  for (int i = 0; i < 3; i++)
    for (int p = 0; p < 2; p++) {
      describe(agents[i], precisions[p], "agent.hidden=40,33", text);
      check_sets(agents[i], &vectors, text);
    }
  for (int i = 0; i < 3; i++) {
    describe(agents[i], precisions[i % 2], SMALL_PICTURES, text);
    check_sets(agents[i], &pictures, text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tiles_are_never_stale),
      cmocka_unit_test(loaded_agents_have_the_values_of_the_file),
      cmocka_unit_test(precisions_differ_as_they_should),
      cmocka_unit_test(agents_without_hidden_products_say_so),
      cmocka_unit_test(kernel_sets_learn_the_same_bits),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
