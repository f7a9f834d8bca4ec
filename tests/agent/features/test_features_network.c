/* agent.features = network: the file of a network, its last hidden layer as features, and agents
 * that plan with them. */
#include "agent/agent.h"
#include "agent/features/feature_input.h"
#include "agent/features/features.h"
#include "base/arena.h"
#include "base/error.h"
#include "nn/net.h"
#include "obs_helpers.h"
#include "replay/replay.h"
#include "temp_root.h"

#include <fcntl.h>
#include <math.h>

/* after nn/net.h */
#include "agent/export.h"

enum { ROWS = 300, STEPS = 30, MOST_NUMBERS = 400, MOST_UNITS = 64, SETTINGS = 600 };

#define SUCCEED(call)                                                                              \
  do {                                                                                             \
    lgv_error err = {0};                                                                           \
    if ((call) != LGV_OK) fail_msg("%s", err.message);                                             \
  } while (0)

#define SPEC .size = sizeof(lgv_env_spec), .actions = {.count = 3}, .reward_max = 1
static const lgv_env_spec vectors = {SPEC, .obs_shape = {5, 1, 1}};
static const lgv_env_spec pictures = {SPEC, .obs_kind = LGV_OBS_BYTE, .obs_shape = {7, 9, 2},
                                      .vector = 3};
static const lgv_env_spec one_hot = {SPEC, .obs_form = LGV_FORM_ONE_HOT, .obs_shape = {6, 1, 1},
                                     .states = 6};

static lgv_agent *make_agent(const char *name, const lgv_env_spec *spec, const char *extra) {
  lgv_settings *settings = make_settings(NULL, name, extra);
  lgv_agent *agent;
  SUCCEED(lgv_agent_create(settings, spec, 100, 0, 1, &agent, &err));
  lgv_settings_free(settings);
  return agent;
}

/* A few episodes of random transitions. */
static void train(lgv_agent *agent, const lgv_env_spec *spec, uint64_t seed) {
  static float data[2][MOST_NUMBERS];
  lgv_rng rng;
  lgv_rng_seed(&rng, seed, "test");
  obs_draw(spec, &rng, data[0]);
  for (int i = 0; i < STEPS; i++) {
    if (i % 10 == 0) SUCCEED(lgv_agent_begin_episode(agent, &err));
    obs_draw(spec, &rng, data[1 - i % 2]);
    const lgv_action action = {.choice = (int32_t)lgv_rng_below(&rng, 3)};
    lgv_transition t = {.obs = {.data = data[i % 2], .state = -1, .stage = i % 10},
                        .next = {.data = data[1 - i % 2], .state = -1, .stage = i % 10 + 1},
                        .action = &action,
                        .reward = lgv_rng_uniform(&rng),
                        .truncated = i % 10 == 9};
    SUCCEED(lgv_agent_observe(agent, &t, &err));
    if (i % 10 == 9) SUCCEED(lgv_agent_end_episode(agent, &err));
  }
  SUCCEED(lgv_agent_begin_episode(agent, &err));
}

/* Trains a deep agent and writes its network. */
static lgv_agent *make_donor(const lgv_env_spec *spec, const char *name, const char *settings,
                             const char *path) {
  lgv_agent *donor = make_agent(name, spec, settings);
  train(donor, spec, 2);
  SUCCEED(lgv_agent_export(donor, path, "unused", &err));
  return donor;
}

/* ---- the map on its own ---- */

typedef struct opened {
  const lgv_env_spec *env;
  char file[LGV_TEXT_SIZE]; /* the parameters */
  int64_t inputs, dim;
  _Alignas(16) unsigned char self[LGV_FEATURE_STATE];
  lgv_arena arena;
  net_tape tape; /* of the donor's network */
  const net *net;
  unsigned char *encoded;
} opened;

static void layout_all(void *context, lgv_layout *layout) {
  opened *o = context;
  lgv__features_network.layout(o->self, o->file, o->env, o->inputs, layout);
  lgv__net_tape_layout(&o->tape, o->net, "expected", ROWS, false, layout);
  o->encoded = lgv_layout_array(layout, "encoded", LGV_U8, ROWS * lgv__replay_encoded_bytes(o->env),
                                LGV_SCRATCH);
}

static void open_map(opened *o, const lgv_env_spec *env, const char *path, const net *n) {
  *o = (opened){.env = env, .inputs = lgv__feature_input_count(env), .net = n};
  snprintf(o->file, sizeof o->file, "%s", path);
  SUCCEED(lgv__features_network.dim(o->file, env, o->inputs, &o->dim, &err));
  SUCCEED(lgv__arena_build(&o->arena, layout_all, o, "a map", &err));
  SUCCEED(lgv__features_network.open(o->self, NULL, &err));
}

/* The activations that the donor's own pass leaves in its last hidden layer. */
static const float *hidden_layer(opened *o, const lgv_policy_parts *parts) {
  net_input input = lgv__replay_input(o->env, o->encoded);
  if (parts->net->shape.maps_input) input.map = parts->input;
  (void)lgv__net_forward(o->net, parts->w, input, ROWS, &o->tape);
  return o->tape.activation[o->net->n_hidden - 1];
}

static void assert_hidden_layer(const lgv_env_spec *env, const char *name, const char *settings) {
  static float data[MOST_NUMBERS], x[ROWS * MOST_NUMBERS], psi[ROWS * MOST_UNITS];
  char path[PATH_MAX];
  opened o;
  lgv_policy_parts parts = {0};
  lgv_rng rng;
  join(path, root, "net.safetensors");
  lgv_agent *donor = make_donor(env, name, settings, path);
  assert_true(lgv__agent_policy_parts(donor, &parts));
  open_map(&o, env, path, parts.net);
  feature_input input = {.env = env, .count = o.inputs};
  lgv_rng_seed(&rng, 3, "test");
  for (int i = 0; i < ROWS; i++) {
    obs_draw(env, &rng, data);
    lgv__feature_input_read(&input, data, x + i * o.inputs);
    lgv__replay_encode(env, &(lgv_obs){.data = data},
                       o.encoded + (size_t)i * lgv__replay_encoded_bytes(env));
  }
  assert_true(o.dim <= MOST_UNITS);
  SUCCEED(lgv__features_network.map(o.self, x, ROWS, psi, &err));
  const float *h = hidden_layer(&o, &parts);
  float scale = 1 / sqrtf((float)o.dim), sum = 0;
  for (int i = 0; i < ROWS; i++) {
    for (int64_t j = 0; j + 1 < o.dim; j++) {
      float expected = scale * h[i * (o.dim - 1) + j];
      if (psi[i * o.dim + j] != expected) fail_msg("%s %s: row %d", name, settings, i);
      sum += expected;
    }
    assert_true(psi[i * o.dim + o.dim - 1] == scale);
  }
  assert_true(sum > 0);
  lgv__arena_free(&o.arena);
  lgv_agent_free(donor);
}

static void features_are_the_last_hidden_layer(void **state) {
  (void)state;
  assert_hidden_layer(&vectors, "dqn", "agent.hidden=8,7");
  assert_hidden_layer(&vectors, "adam-lmcdqn", "agent.hidden=9 agent.normalize_obs=true");
  assert_hidden_layer(&vectors, "double-dqn", "agent.hidden=8,6 agent.dueling=true");
  assert_hidden_layer(&vectors, "c51", "agent.hidden=8 agent.layer_norm=true agent.atoms=5");
  assert_hidden_layer(&vectors, "noisynet-dqn", "agent.hidden=8");
  assert_hidden_layer(&vectors, "dqn", "agent.hidden=32 agent.precision=bf16");
  assert_hidden_layer(&pictures, "dqn", "agent.conv=4x3s1,5x2s2 agent.hidden=6");
  assert_hidden_layer(&pictures, "dqn", "agent.net=mlp agent.hidden=6 agent.scale_input=true");
  assert_hidden_layer(&one_hot, "dqn", "agent.hidden=6");
}

/* ---- agents ---- */

static lgv_agent *make_linear(const char *path, const lgv_env_spec *spec) {
  char settings[SETTINGS];
  snprintf(settings, sizeof settings,
           "agent.features=network agent.form=discounted agent.sweeps=3 features.file=%.400s",
           path);
  return make_agent("lmc-lsvi", spec, settings);
}

/* The parameters of the network are part of the agent's state: a loaded agent has those that it was
 * trained with, whatever the file has become. */
static void a_loaded_agent_has_its_own_network(void **state) {
  (void)state;
  char path[PATH_MAX], saved[PATH_MAX];
  static float data[MOST_NUMBERS];
  double before[3], after[3];
  lgv_rng rng;
  join(path, root, "net.safetensors");
  join(saved, root, "agent.safetensors");
  lgv_agent_free(make_donor(&vectors, "dqn", "agent.hidden=8", path));
  lgv_agent *agent = make_linear(path, &vectors);
  train(agent, &vectors, 5);
  SUCCEED(lgv_agent_save(agent, saved, NULL, &err));
  lgv_agent_free(make_donor(&vectors, "dqn", "agent.hidden=8 optim.lr=0.1", path));
  lgv_agent *other = make_linear(path, &vectors);
  lgv_rng_seed(&rng, 6, "test");
  obs_draw(&vectors, &rng, data);
  lgv_obs obs = {.data = data, .state = -1};
  SUCCEED(lgv_agent_q_values(agent, &obs, 1, before, &err));
  SUCCEED(lgv_agent_q_values(other, &obs, 1, after, &err));
  assert_memory_not_equal(before, after, sizeof before);
  SUCCEED(lgv_agent_load(other, saved, &err));
  SUCCEED(lgv_agent_q_values(other, &obs, 1, after, &err));
  assert_memory_equal(before, after, sizeof before);
  train(agent, &vectors, 7);
  train(other, &vectors, 7);
  SUCCEED(lgv_agent_q_values(agent, &obs, 1, before, &err));
  SUCCEED(lgv_agent_q_values(other, &obs, 1, after, &err));
  assert_memory_equal(before, after, sizeof before);
  lgv_agent_free(other);
  lgv_agent_free(make_donor(&vectors, "dqn", "agent.hidden=8 agent.normalize_obs=true", path));
  other = make_linear(path, &vectors);
  lgv_error err = {0};
  assert_int_equal(lgv_agent_load(other, saved, &err), LGV_ERR_IO);
  assert_non_null(strstr(err.message, "another network than that of features.file"));
  lgv_agent_free(agent);
  lgv_agent_free(other);
}

/* Small pictures of bytes are scaled by channel, without a cut. */
static void an_agent_on_pictures_is_saved(void **state) {
  (void)state;
  char path[PATH_MAX], saved[PATH_MAX];
  join(path, root, "net.safetensors");
  join(saved, root, "agent.safetensors");
  lgv_agent_free(make_donor(&pictures, "dqn", "agent.conv=4x3s1 agent.hidden=6", path));
  lgv_agent *agent = make_linear(path, &pictures);
  train(agent, &pictures, 5);
  SUCCEED(lgv_agent_save(agent, saved, NULL, &err));
  SUCCEED(lgv_agent_load(agent, saved, &err));
  lgv_agent_free(agent);
}

/* ---- refusals ---- */

static void assert_refused(const lgv_env_spec *spec, const char *file, const char *part) {
  char settings[SETTINGS];
  lgv_agent *agent;
  lgv_error err = {0};
  snprintf(settings, sizeof settings, "agent.features=network agent.form=discounted %s%.400s",
           file ? "features.file=" : "", file ? file : "");
  lgv_settings *s = make_settings(NULL, "rlsvi", settings);
  assert_true(lgv_agent_create(s, spec, 100, 0, 1, &agent, &err) != LGV_OK);
  if (!strstr(err.message, part)) fail_msg("%s", err.message);
  lgv_settings_free(s);
}

static void files_that_do_not_fit_are_refused(void **state) {
  (void)state;
  char path[PATH_MAX], saved[PATH_MAX];
  join(path, root, "net.safetensors");
  join(saved, root, "agent.safetensors");
  assert_refused(&vectors, NULL, "needs features.file");
  assert_refused(&vectors, path, "No such file");
  assert_refused(&vectors, root, "langevin export RUN --out net.safetensors");
  lgv_agent *donor = make_donor(&vectors, "dqn", "agent.hidden=8", path);
  lgv_env_spec wider = vectors;
  wider.obs_shape[0] = 6;
  assert_refused(&wider, path, "observations of 5 x 1 x 1 floats");
  assert_refused(&pictures, path, "this environment's have 7 x 9 x 2 bytes and 3");
  SUCCEED(lgv_agent_save(donor, saved, NULL, &err));
  assert_refused(&vectors, saved, "is no intact network");
  lgv_agent_free(donor);
}

static void assert_no_export(const char *name, const char *settings, const char *part) {
  char path[PATH_MAX];
  lgv_error err = {0};
  join(path, root, "none.safetensors");
  lgv_agent *agent = make_agent(name, &vectors, settings);
  assert_int_equal(lgv_agent_export(agent, path, "unused", &err), LGV_ERR_USAGE);
  if (!strstr(err.message, part)) fail_msg("%s", err.message);
  assert_int_equal(access(path, F_OK), -1);
  lgv_agent_free(agent);
}

static void agents_without_a_single_network_are_refused(void **state) {
  (void)state;
  assert_no_export("rlsvi", "agent.features=rbf", "rlsvi has no network");
  assert_no_export("iqn", "agent.hidden=8,8", "depend on quantiles");
  assert_no_export("bootstrapped-dqn", "agent.members=networks agent.heads=3", "3 networks");
  assert_no_export("dqn", "agent.hidden=", "no hidden layer");
}

static void assert_not_replaced(lgv_agent *agent, const char *path, const char *reason) {
  lgv_error wrong;
  assert_int_equal(lgv_agent_export(agent, path, "unused", &wrong), LGV_ERR_USAGE);
  if (!strstr(wrong.message, reason) || !strstr(wrong.message, path)) fail_msg("%s", wrong.message);
}

static void an_export_replaces_no_agent(void **state) {
  (void)state;
  char path[PATH_MAX], plain[PATH_MAX];
  join(path, root, "agent.safetensors");
  join(plain, root, "agent");
  lgv_agent *agent = make_donor(&vectors, "dqn", "agent.hidden=8", path);
  SUCCEED(lgv_agent_export(agent, path, "unused", &err)); /* over a network */
  SUCCEED(lgv_agent_export(agent, plain, "first", &err));
  SUCCEED(lgv_agent_export(agent, plain, "second", &err)); /* over C */
  SUCCEED(lgv_agent_save(agent, path, NULL, &err));
  SUCCEED(lgv_agent_save(agent, plain, NULL, &err));
  assert_not_replaced(agent, path, "cannot be read as the file of a network");
  assert_not_replaced(agent, plain, "cannot be read as an exported policy");
  SUCCEED(lgv_agent_load(agent, path, &err));
  SUCCEED(lgv_agent_load(agent, plain, &err));
  assert_int_equal(truncate(plain, 100), 0); /* nor what is left of one */
  assert_not_replaced(agent, plain, "cannot be read as an exported policy");
  assert_int_equal(truncate(plain, 0), 0);
  SUCCEED(lgv_agent_export(agent, plain, "third", &err));
  assert_int_equal(unlink(plain), 0);
  assert_int_equal(mkfifo(plain, 0600), 0); /* nobody writes into it */
  assert_not_replaced(agent, plain, "cannot be read as an exported policy");
  lgv_agent_free(agent);
}

/* A plan that outlives its file: the runs say so. */
static void a_file_that_is_gone_is_reported(void **state) {
  (void)state;
  char path[PATH_MAX], settings[SETTINGS];
  join(path, root, "net.safetensors");
  lgv_env_spec cart = vectors;
  cart.obs_shape[0] = 4;
  lgv_agent_free(make_donor(&cart, "dqn", "agent.hidden=8", path));
  snprintf(settings, sizeof settings, "agent.features=network features.file=%.400s run.episodes=2",
           path);
  lgv_plan *plan = make_plan("cartpole", "lmc-lsvi", settings);
  lgv_run *run;
  lgv_error err = {0};
  assert_int_equal(unlink(path), 0);
  assert_true(lgv_plan_memory(plan) > 0);
  assert_int_equal(lgv_run_create(plan, 1, NULL, &run, &err), LGV_ERR_IO);
  assert_non_null(strstr(err.message, "No such file"));
  lgv_plan_free(plan);
}

/* ---- a file that is replaced while an agent is made ---- */

/* Every read of the file begins with a call of access(). Before the read number `at`, the file
 * becomes `other`, and after it the first one again if that is not NULL. */
static struct {
  const char *file, *other, *first;
  int at, reads;
} swap;

static void replace_file(const char *from) {
  unlink(swap.file);
  if (from[0]) assert_int_equal(link(from, swap.file), 0);
}

int access(const char *path, int mode) {
  if (swap.file && strcmp(path, swap.file) == 0) {
    swap.reads++;
    if (swap.reads == swap.at) replace_file(swap.other);
    if (swap.reads == swap.at + 1 && swap.first) replace_file(swap.first);
  }
  return faccessat(AT_FDCWD, path, mode, 0);
}

static void values_after_training(lgv_agent *agent, double *values) {
  static const float data[5] = {0.1F, 0.2F, 0.3F, 0.4F, 0.5F};
  train(agent, &vectors, 5);
  lgv_obs obs = {.data = data, .state = -1};
  SUCCEED(lgv_agent_q_values(agent, &obs, 1, values, &err));
}

static void values_of_file(const char *path, double *values) {
  lgv_agent *agent = make_linear(path, &vectors);
  values_after_training(agent, values);
  lgv_agent_free(agent);
}

/* Makes an agent whose file changes before read number `at`. It has the values of one of the two
 * files, or it is refused. Returns false if there are fewer reads. */
static bool is_one_or_refused(int at, const char *first, const char *other, bool back,
                              double values[2][3]) {
  char path[PATH_MAX], settings[SETTINGS];
  lgv_agent *agent;
  lgv_error err = {0};
  double own[3];
  join(path, root, "swapped.safetensors");
  swap.file = path;
  replace_file(first);
  swap.at = at, swap.reads = 0, swap.other = other, swap.first = back ? first : NULL;
  snprintf(settings, sizeof settings,
           "agent.features=network agent.form=discounted agent.sweeps=3 features.file=%.400s",
           path);
  lgv_settings *s = make_settings(NULL, "lmc-lsvi", settings);
  lgv_status status = lgv_agent_create(s, &vectors, 100, 0, 1, &agent, &err);
  lgv_settings_free(s);
  swap.file = NULL;
  if (status == LGV_OK) {
    values_after_training(agent, own);
    if (memcmp(own, values[0], sizeof own) != 0 && memcmp(own, values[1], sizeof own) != 0)
      fail_msg("read %d%s: the values of neither network", at, back ? " and back" : "");
    lgv_agent_free(agent);
  } else if (!strstr(err.message, "replaced") && !strstr(err.message, "changed") &&
             !strstr(err.message, "No such file"))
    fail_msg("read %d: %s", at, err.message);
  return swap.reads >= at;
}

static void a_file_that_is_replaced_meanwhile_is_refused(void **state) {
  (void)state;
  char narrow[PATH_MAX], wide[PATH_MAX];
  double values[2][3];
  int reads = 0;
  join(narrow, root, "narrow.safetensors");
  join(wide, root, "wide.safetensors");
  lgv_agent_free(make_donor(&vectors, "dqn", "agent.hidden=4", narrow));
  lgv_agent_free(make_donor(&vectors, "dqn", "agent.hidden=60", wide));
  values_of_file(narrow, values[0]);
  values_of_file(wide, values[1]);
  for (int back = 0; back <= 1; back++)
    for (int at = 1, found = 1; found; at++) {
      found = is_one_or_refused(at, narrow, wide, back, values);
      found &= is_one_or_refused(at, wide, narrow, back, values);
      found &= is_one_or_refused(at, wide, "", back, values);
      reads += found;
    }
  assert_true(reads >= 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(features_are_the_last_hidden_layer, make_root, remove_root),
      cmocka_unit_test_setup_teardown(a_loaded_agent_has_its_own_network, make_root, remove_root),
      cmocka_unit_test_setup_teardown(an_agent_on_pictures_is_saved, make_root, remove_root),
      cmocka_unit_test_setup_teardown(files_that_do_not_fit_are_refused, make_root, remove_root),
      cmocka_unit_test_setup_teardown(agents_without_a_single_network_are_refused, make_root,
                                      remove_root),
      cmocka_unit_test_setup_teardown(an_export_replaces_no_agent, make_root, remove_root),
      cmocka_unit_test_setup_teardown(a_file_that_is_gone_is_reported, make_root, remove_root),
      cmocka_unit_test_setup_teardown(a_file_that_is_replaced_meanwhile_is_refused, make_root,
                                      remove_root),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
