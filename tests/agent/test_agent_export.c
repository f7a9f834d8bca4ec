/* lgv_agent_export: the file compiles without a warning and says what the library says, for every
 * agent over every kind of network and observation; and exporting changes nothing. */
#include "obs_helpers.h"
#include "registry.h"
#include "temp_root.h"

#include <dlfcn.h>
#include <math.h>

/* The tolerance of values relative to the greatest of an observation, and the lead of an action
 * below which another one may be taken. Tables have neither. */
static const double tolerance = 1e-5, clear_lead = 1e-4;

enum { LENGTH = 7, STAGES = 4, STEPS = 40, TRIES = 40, MOST_POLICIES = 64, MOST_ACTIONS = 16 };
enum { MOST_NUMBERS = 40 * 40 * 2 };

#define SUCCEED(call, label)                                                                       \
  do {                                                                                             \
    lgv_error err = {0};                                                                           \
    if ((call) != LGV_OK) fail_msg("%s: %s", label, err.message);                                  \
  } while (0)

/* ---- problems ---- */

typedef struct problem {
  const char *name;
  lgv_env_spec env;
} problem;

enum {
  VECTOR,
  PARTS,
  BYTES,
  FLOATS,
  BYTES_AND_VECTOR,
  FLOATS_AND_VECTOR,
  LARGE,
  ONE_HOT,
  THERMOMETER,
  ONE_HOT_PARTS,
  PROBLEMS
};

#define SPEC .size = sizeof(lgv_env_spec), .horizon = STAGES
#define THREE .actions = {.kind = LGV_DISCRETE, .count = 3}
#define SEVERAL                                                                                    \
  .actions = {.kind = LGV_MULTI_DISCRETE, .count = 9, .parts = 3, .choices = {3, 2, 4}}
#define INDEX .obs_shape = {LENGTH, 1, 1}, .states = LENGTH, .reward_max = 1, .stationary = true
static const problem problems[PROBLEMS] = {
    [VECTOR] = {"vectors", {SPEC, THREE, .obs_shape = {LENGTH, 1, 1}}},
    [PARTS] = {"several choices", {SPEC, SEVERAL, .obs_shape = {LENGTH, 1, 1}, .masked = true}},
    [BYTES] = {"bytes",
               {SPEC, THREE, .obs_kind = LGV_OBS_BYTE, .obs_shape = {9, 10, 4}, .frames = 2}},
    [FLOATS] = {"floats", {SPEC, SEVERAL, .obs_shape = {8, 7, 1}}},
    [BYTES_AND_VECTOR] = {"bytes and a vector",
                          {SPEC, SEVERAL, .obs_kind = LGV_OBS_BYTE, .obs_shape = {7, 9, 1},
                           .vector = 3, .masked = true}},
    [FLOATS_AND_VECTOR] = {"floats and a vector",
                           {SPEC, THREE, .obs_shape = {6, 5, 2}, .vector = 3, .masked = true}},
    [LARGE] = {"large pictures", {SPEC, THREE, .obs_kind = LGV_OBS_BYTE, .obs_shape = {38, 40, 2}}},
    [ONE_HOT] = {"one-hot", {SPEC, THREE, INDEX, .obs_form = LGV_FORM_ONE_HOT, .masked = true}},
    [THERMOMETER] = {"thermometer", {SPEC, THREE, INDEX, .obs_form = LGV_FORM_THERMOMETER}},
    [ONE_HOT_PARTS] = {"one-hot, several choices",
                       {SPEC, SEVERAL, INDEX, .obs_form = LGV_FORM_ONE_HOT}},
};

static bool is_index(int at) { return at >= ONE_HOT; }
static bool is_picture(int at) { return at >= BYTES && at <= LARGE; }

/* What maps the inputs of a network; `turn` goes through the ways. */
static const char *scaling(int at, int turn) {
  static const char *const bytes[] = {"", "agent.scale_input=true",
                                      "agent.scale_input=false optim.lr=1e-6"},
                           *const floats[] = {"agent.normalize_obs=true", ""},
                           *const both[] = {"agent.normalize_obs=true", "",
                                            "agent.scale_input=true agent.normalize_obs=true",
                                            "agent.scale_input=false optim.lr=1e-6"};
  if (is_index(at)) return "";
  if (at == BYTES || at == LARGE) return bytes[turn % 3];
  return at == BYTES_AND_VECTOR ? both[turn % 4] : floats[turn % 2];
}

/* ---- networks ---- */

static const char *const dense_networks[] = {
    "agent.hidden=6", "agent.hidden=6,5 agent.layer_norm=true", "agent.hidden=6 agent.dueling=true",
    "agent.hidden=5,6 agent.layer_norm=true agent.dueling=true", "agent.hidden=6,5,4"};
static const char *const picture_networks[] = {
    "agent.conv=4x3s1,5x2s2 agent.hidden=6",
    "agent.conv=3x4s1 agent.hidden=6,5 agent.layer_norm=true",
    "agent.net=mlp agent.hidden=6 agent.dueling=true",
    "agent.conv=3x2s3 agent.hidden=6 agent.layer_norm=true agent.dueling=true",
    "agent.conv=4x3s2,3x2s1 agent.hidden=5 agent.dueling=true"};

static const char *network(int at, int turn) {
  if (at == LARGE) return turn % 2 ? "agent.hidden=6 agent.layer_norm=true" : "agent.hidden=6";
  return is_picture(at) ? picture_networks[turn % 5] : dense_networks[turn % 5];
}

/* ---- agents ---- */

/* How the action of an evaluation is found. */
typedef enum rule { ACT, VALUES, VOTE, POLICY } rule;

typedef struct variant {
  const char *agent, *settings;
  rule rule;
  bool by_stage, states_only;
} variant;

static const variant variants[] = {
    {"dqn", "", ACT, 0, 0},
    {"double-dqn", "", ACT, 0, 0},
    {"prioritized-dqn", "", ACT, 0, 0},
    {"noisynet-dqn", "", VALUES, 0, 0},
    {"c51", "agent.atoms=5", ACT, 0, 0},
    {"qr-dqn", "agent.quantiles=4", ACT, 0, 0},
    {"iqn", "agent.taus_act=5 agent.cosines=4", VALUES, 0, 0},
    {"bootstrapped-dqn", "agent.heads=3 agent.members=networks agent.eval=vote", VOTE, 0, 0},
    {"bootstrapped-dqn", "agent.heads=3 agent.members=heads agent.eval=vote", VOTE, 0, 0},
    {"bootstrapped-dqn", "agent.heads=2 agent.members=heads agent.eval=sample", VALUES, 0, 0},
    {"bootstrapped-dqn", "agent.heads=1 agent.prior_scale=0 agent.eval=vote", ACT, 0, 0},
    {"hyperagent", "agent.eval=mean", ACT, 0, 0},
    {"hyperagent", "agent.eval=sample agent.index_dim=2", VALUES, 0, 0},
    {"adam-lmcdqn", "agent.average=5", ACT, 0, 0},
    {"adam-lmcdqn", "agent.stages=per-stage agent.n_step=1 agent.double=false", ACT, true, 0},
    {"lmc-dqn", "", ACT, 0, 0},
    {"psgld-dqn", "", ACT, 0, 0},
    {"langevin-dqn", "", ACT, 0, 0},
    {"fg-lmcdqn", "agent.stages=per-stage agent.n_step=1 agent.double=false agent.average=3", ACT,
     true, 0},
    {"ulmc-dqn", "", ACT, 0, 0},
    {"fg-ulmc-dqn", "", ACT, 0, 0},
    {"pathwise-lmcdqn", "agent.cells=20", ACT, 0, true},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static bool takes(const variant *v, int at) {
  if (v->states_only && !is_index(at)) return false;
  bool several = problems[at].env.actions.kind == LGV_MULTI_DISCRETE;
  for (size_t i = 0; lgv__agents[i]; i++)
    if (strcmp(lgv__agents[i]->name, v->agent) == 0)
      return !several || (lgv__agents[i]->traits & LGV_TAKES_MULTI_DISCRETE);
  fail_msg("%s is not an agent", v->agent);
  return false;
}

static lgv_agent *make_agent(const char *name, const char *settings, const lgv_env_spec *env) {
  lgv_settings *s = make_settings(NULL, name, settings);
  lgv_agent *agent;
  lgv_error err = {0};
  lgv_status status = lgv_agent_create(s, env, 100, 0, 1, &agent, &err);
  lgv_settings_free(s);
  if (status != LGV_OK) fail_msg("%s, %s: %s", name, settings, err.message);
  return agent;
}

/* ---- observations ---- */

/* An observation that the environment could show; stages run through. */
static lgv_obs draw_obs(const lgv_env_spec *env, lgv_rng *rng, int64_t stage, void *data) {
  obs_draw(env, rng, data);
  int64_t state = 0;
  const float *x = data;
  for (int32_t i = 0; env->states > 0 && i < env->obs_shape[0]; i++)
    if (x[i] != 0) state = i;
  return (lgv_obs){.data = data, .state = env->states > 0 ? state : -1, .stage = stage};
}

/* Every part has an allowed choice. */
static const uint8_t *draw_mask(const lgv_action_space *space, lgv_rng *rng, uint8_t *mask) {
  for (int32_t a = 0; a < space->count; a++) mask[a] = (uint8_t)lgv_rng_below(rng, 2);
  for (int32_t p = 0, first = 0; p < lgv__action_parts(space); p++) {
    int32_t count = lgv__part_choices(space, p);
    mask[first + lgv_rng_below(rng, count)] = 1;
    first += count;
  }
  return mask;
}

static void train(lgv_agent *agent, const lgv_env_spec *env, int steps) {
  static float data[2][MOST_NUMBERS];
  lgv_rng rng;
  lgv_rng_seed(&rng, 2, "test");
  for (int i = 0; i < steps; i++) {
    int stage = i % STAGES;
    bool last = stage == STAGES - 1;
    if (stage == 0) SUCCEED(lgv_agent_begin_episode(agent, &err), "training");
    lgv_transition t = {.obs = draw_obs(env, &rng, stage, data[i % 2]),
                        .next = draw_obs(env, &rng, stage + 1, data[1 - i % 2]),
                        .action = draw_action(&env->actions, &rng),
                        .reward = lgv_rng_uniform(&rng),
                        .terminated = last};
    SUCCEED(lgv_agent_observe(agent, &t, &err), "training");
    if (last) SUCCEED(lgv_agent_end_episode(agent, &err), "training");
  }
  SUCCEED(lgv_agent_begin_episode(agent, &err), "training");
}

/* ---- exporting ---- */

typedef struct policy {
  lgv_agent *agent;
  const lgv_env_spec *env;
  char label[600];
  rule rule;
  bool by_stage, of_states, exact;
  void (*call)(int stage, int state, const void *data, const unsigned char *mask, int *action,
               double *q);
} policy;

static policy policies[MOST_POLICIES];
static int n_policies, batch;

static void assert_same_bytes(const char *one, const char *other, const char *label) {
  char a[PATH_MAX], b[PATH_MAX], command[2 * PATH_MAX + 20];
  join(a, root, one);
  join(b, root, other);
  snprintf(command, sizeof command, "cmp '%s' '%s'", a, b);
  if (system(command) != 0) fail_msg("%s: %s and %s differ", label, one, other);
}

static void save(const policy *p, const char *name) {
  char path[PATH_MAX];
  join(path, root, name);
  SUCCEED(lgv_agent_save(p->agent, path, NULL, &err), p->label);
}

static void export_to(const policy *p, const char *file, const char *name) {
  char path[PATH_MAX];
  join(path, root, file);
  SUCCEED(lgv_agent_export(p->agent, path, name, &err), p->label);
}

/* Exports twice: the files are equal, and so is the agent. */
static void export_unchanged(const policy *p, const char *file, const char *name) {
  save(p, "before");
  export_to(p, "again.c", name);
  export_to(p, file, name);
  save(p, "after");
  assert_same_bytes("before", "after", p->label);
  assert_same_bytes("again.c", file, p->label);
}

/* A function with one signature for all, as the documentation says that the two are called. */
static void write_caller(const policy *p, int number) {
  char text[1500], file[40], where[200];
  const lgv_env_spec *env = p->env;
  bool several = env->actions.kind == LGV_MULTI_DISCRETE;
  int at = (int)lgv__obs_vector_at(env);
  if (p->of_states)
    snprintf(where, sizeof where, "stage, state");
  else if (env->vector > 0)
    snprintf(where, sizeof where, "%sdata, (const void *)((const char *)data + %d)",
             p->by_stage ? "stage, " : "", at);
  else
    snprintf(where, sizeof where, "%sdata", p->by_stage ? "stage, " : "");
  snprintf(text, sizeof text,
           "#include \"p%d.c\"\n"
           "void call%d(int stage, int state, const void *data, const unsigned char *mask,\n"
           "            int *action, double *q);\n"
           "void call%d(int stage, int state, const void *data, const unsigned char *mask,\n"
           "            int *action, double *q) {\n"
           "  (void)stage, (void)state, (void)data;\n"
           "  p%d_q(%s, q);\n"
           "  %sp%d_act(%s, mask%s);\n"
           "}\n",
           number, number, number, number, where, several ? "" : "*action = ", number, where,
           several ? ", action" : "");
  snprintf(file, sizeof file, "call%d.c", number);
  write_text(root, file, text);
}

static policy *add_policy(lgv_agent *agent, const lgv_env_spec *env, policy p) {
  char file[40], name[20];
  int number = n_policies;
  assert_true(number < MOST_POLICIES);
  p.agent = agent;
  p.env = env;
  snprintf(name, sizeof name, "p%d", number);
  snprintf(file, sizeof file, "p%d.c", number);
  export_unchanged(&p, file, name);
  write_caller(&p, number);
  policies[n_policies] = p;
  return &policies[n_policies++];
}

/* One call of the compiler for all policies. */
static void *compile(void) {
  char command[PATH_MAX * 2], library[PATH_MAX];
  snprintf(library, sizeof library, "%s/%d.so", root, ++batch);
  snprintf(command, sizeof command,
           "cd '%s' && cc -std=c99 -Wall -Wextra -pedantic -Wshadow -Wconversion "
           "-Wmissing-prototypes -Werror -O1 -fPIC -shared -o '%s' call*.c -lm",
           root, library);
  if (system(command) != 0) fail_msg("`%s` failed", command);
  void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!opened) fail_msg("%s", dlerror());
  for (int i = 0; i < n_policies; i++) {
    char name[20];
    snprintf(name, sizeof name, "call%d", i);
    void *symbol = dlsym(opened, name);
    if (!symbol) fail_msg("%s is missing", name);
    memcpy(&policies[i].call, &symbol, sizeof symbol);
  }
  return opened;
}

static void clear_policies(void *library) {
  dlclose(library);
  for (int i = 0; i < n_policies; i++) {
    char file[40], path[PATH_MAX];
    snprintf(file, sizeof file, "call%d.c", i);
    join(path, root, file);
    assert_int_equal(unlink(path), 0);
    lgv_agent_free(policies[i].agent);
  }
  n_policies = 0;
}

/* ---- comparing ---- */

static void compare_values(const policy *p, const double *found, const double *expected) {
  size_t count = (size_t)p->env->actions.count;
  double size = 0;
  if (p->exact && memcmp(found, expected, count * sizeof *found) != 0)
    fail_msg("%s: a table is not exact", p->label);
  for (size_t a = 0; a < count; a++) size = fmax(size, fabs(expected[a]));
  for (size_t a = 0; a < count; a++)
    if (!(fabs(found[a] - expected[a]) <= tolerance * size))
      fail_msg("%s: %.9g, not %.9g", p->label, found[a], expected[a]);
}

/* The greatest that is allowed, and its lead over the next. */
static int32_t greatest(const double *x, const uint8_t *mask, int32_t count, double *lead) {
  int32_t best = -1;
  *lead = INFINITY;
  for (int32_t a = 0; a < count; a++)
    if ((!mask || mask[a]) && (best < 0 || x[a] > x[best])) best = a;
  for (int32_t a = 0; a < count; a++)
    if (a != best && (!mask || mask[a])) *lead = fmin(*lead, x[best] - x[a]);
  return best;
}

/* Whether evaluations always make the same choice there: a tie of votes is drawn each time. */
static bool draws_agree(const policy *p, const lgv_obs *obs, int32_t part, int32_t choice) {
  for (int i = 0; i < 12; i++) {
    lgv_action other;
    SUCCEED(lgv_agent_act(p->agent, obs, LGV_EVAL, &other, &err), p->label);
    if (other.choices[part] != choice) return false;
  }
  return true;
}

/* The choice of an evaluation in a part whose choices begin at `first`; false: it is not clear. */
static bool expected_choice(const policy *p, const lgv_obs *obs, const double *q, int32_t part,
                            int32_t first, int32_t *choice) {
  double lead, probability[MOST_ACTIONS];
  int32_t count = lgv__part_choices(&p->env->actions, part);
  lgv_action action;
  if (p->rule == POLICY) {
    SUCCEED(lgv_agent_policy(p->agent, obs, probability, &err), p->label);
    q = probability;
  }
  *choice = greatest(q + first, obs->mask ? obs->mask + first : NULL, count, &lead);
  if (p->rule == POLICY || p->rule == VALUES) return lead > (p->exact ? 0 : clear_lead);
  SUCCEED(lgv_agent_act(p->agent, obs, LGV_EVAL, &action, &err), p->label);
  *choice = action.choices[part];
  return p->rule == VOTE ? draws_agree(p, obs, part, *choice) : lead > (p->exact ? 0 : clear_lead);
}

/* Returns how many of the choices were clear. */
static int check_obs(const policy *p, const lgv_obs *obs) {
  double expected[MOST_ACTIONS], found[MOST_ACTIONS];
  int chosen[LGV_MOST_PARTS], clear = 0;
  SUCCEED(lgv_agent_q_values(p->agent, obs, 1, expected, &err), p->label);
  p->call((int)obs->stage, (int)obs->state, obs->data, obs->mask, chosen, found);
  compare_values(p, found, expected);
  for (int32_t part = 0, first = 0; part < lgv__action_parts(&p->env->actions); part++) {
    int32_t choice, count = lgv__part_choices(&p->env->actions, part);
    assert_in_range(chosen[part], 0, count - 1);
    if (obs->mask) assert_true(obs->mask[first + chosen[part]]);
    if (expected_choice(p, obs, expected, part, first, &choice)) {
      clear++;
      if (chosen[part] != choice) fail_msg("%s: choice %d, not %d", p->label, chosen[part], choice);
    }
    first += count;
  }
  return clear;
}

/* A mask that allows nothing, and stages that the agent does not know. */
static void check_outside(const policy *p, lgv_obs *obs) {
  static const uint8_t nothing[MOST_ACTIONS];
  double q[MOST_ACTIONS];
  int chosen[LGV_MOST_PARTS];
  int32_t parts = lgv__action_parts(&p->env->actions);
  p->call((int)obs->stage, (int)obs->state, obs->data, nothing, chosen, q);
  for (int32_t i = 0; i < parts; i++) assert_int_equal(chosen[i], -1);
  for (int k = 0; (p->by_stage || p->of_states) && k < (p->of_states ? 4 : 2); k++) {
    int stage = k == 0 ? -1 : k == 1 ? STAGES : 0, state = k == 2 ? -1 : k == 3 ? LENGTH : 0;
    p->call(stage, state, obs->data, NULL, chosen, q);
    for (int32_t i = 0; i < parts; i++) assert_int_equal(chosen[i], -1);
    for (int32_t a = 0; a < p->env->actions.count; a++) assert_true(q[a] == 0);
  }
}

static void check_policy(const policy *p) {
  static float data[MOST_NUMBERS];
  uint8_t mask[MOST_ACTIONS];
  lgv_rng rng;
  lgv_obs obs = {0};
  int clear = 0;
  lgv_rng_seed(&rng, 9, "test");
  for (int i = 0; i < TRIES; i++) {
    obs = draw_obs(p->env, &rng, i % STAGES, data);
    obs.mask = i % 2 ? draw_mask(&p->env->actions, &rng, mask) : NULL;
    clear += check_obs(p, &obs);
  }
  if (clear < TRIES / 4) fail_msg("%s: %d clear actions", p->label, clear);
  check_outside(p, &obs);
}

static void check_all(void) {
  void *library = compile();
  for (int i = 0; i < n_policies; i++) check_policy(&policies[i]);
  clear_policies(library);
}

/* ---- tests ---- */

static void add_variant(int v, int at, int turn) {
  const lgv_env_spec *env = &problems[at].env;
  policy p = {.rule = variants[v].rule, .by_stage = variants[v].by_stage, .exact = is_index(at)};
  char settings[500];
  bool has_cells = variants[v].states_only;
  snprintf(settings, sizeof settings, "%s %s %s %s", variants[v].settings, scaling(at, turn),
           has_cells ? "agent.hidden=6" : network(at, turn),
           has_cells ? "" : "agent.replay=100 agent.warmup=8 agent.batch=8");
  snprintf(p.label, sizeof p.label, "%s over %s, %s", variants[v].agent, problems[at].name,
           settings);
  lgv_agent *agent = make_agent(variants[v].agent, settings, env);
  train(agent, env, STEPS);
  add_policy(agent, env, p);
}

/* Agents take turns at the networks and scalings of a problem. */
static void check_problem(int at) {
  for (int v = 0; v < VARIANTS; v++)
    if (takes(&variants[v], at)) add_variant(v, at, v + at);
  check_all();
}

static void every_agent_is_in_the_table(void **state) {
  (void)state;
  for (size_t i = 0; lgv__agents[i]; i++) {
    bool found = lgv__agents[i]->traits & (LGV_NEEDS_STATES | LGV_TAKES_BOX); /* test_ac_export */
    for (int v = 0; v < VARIANTS; v++)
      found |= strcmp(lgv__agents[i]->name, variants[v].agent) == 0;
    if (!found) fail_msg("%s is in no variant", lgv__agents[i]->name);
  }
}

static void agents_over_vectors(void **state) {
  (void)state;
  check_problem(VECTOR);
  check_problem(PARTS);
}

/* ---- feature maps ---- */

static const float six_low[6] = {-1, -1, -1, -INFINITY, -2, -2},
                   six_high[6] = {1, 1, INFINITY, INFINITY, 2, 2};
static const lgv_env_spec six = {SPEC,
                                 THREE,
                                 .obs_shape = {6, 1, 1},
                                 .obs_low = six_low,
                                 .obs_high = six_high,
                                 .stationary = true,
                                 .clock_truncates = true,
                                 .reward_max = 1,
                                 .masked = true};

static void add_map(const char *agent_name, const char *map, const lgv_env_spec *env, bool stages) {
  policy p = {.rule = ACT, .by_stage = stages};
  char settings[300];
  snprintf(settings, sizeof settings, "agent.features=%s agent.lambda=0.1 agent.form=%s %s %s", map,
           stages ? "stages" : "discounted", stages ? "" : "agent.sweeps=3",
           strcmp(map, "tiles") == 0 ? "features.tiles=1 features.tilings=4" : "");
  snprintf(p.label, sizeof p.label, "%s, %s", agent_name, settings);
  lgv_agent *agent = make_agent(agent_name, settings, env);
  train(agent, env, STEPS);
  add_policy(agent, env, p);
}

static void linear_agents_over_every_feature_map(void **state) {
  (void)state;
  static const char *const agents[] = {"lmc-lsvi", "lsvi-ucb", "ms-lmc-lsvi", "opt-rlsvi"};
  for (int i = 0; lgv__features[i]; i++) {
    if (strcmp(lgv__features[i]->name, "network") == 0) continue; /* has no code */
    add_map(agents[i % 4], lgv__features[i]->name, &six, i % 2);
    add_map(agents[(i + 1) % 4], lgv__features[i]->name, &six, i % 2 == 0);
  }
  add_map("rlsvi", "rbf", &problems[FLOATS_AND_VECTOR].env, false);
  add_map("lsvi-phe", "random-fourier", &problems[BYTES].env, false);
  check_all();
}

static lgv_status own_dim(const void *params, const lgv_env_spec *env, int64_t inputs, int64_t *dim,
                          lgv_error *err) {
  (void)params, (void)env, (void)inputs, (void)err;
  *dim = 1;
  return LGV_OK;
}

static lgv_status own_map(const void *self, const float *x, int64_t count, float *out,
                          lgv_error *err) {
  (void)self, (void)err;
  for (int64_t i = 0; i < count; i++) out[i] = x[6 * i];
  return LGV_OK;
}

static void a_map_of_the_user_is_refused(void **state) {
  (void)state;
  const lgv_feature_type own = {.size = sizeof own, .name = "own", .dim = own_dim, .map = own_map};
  lgv_settings *s = make_settings(NULL, "rlsvi", "agent.features=own agent.form=discounted");
  lgv_agent *agent;
  lgv_error err = {0};
  char path[PATH_MAX];
  assert_int_equal(lgv_settings_add_features(s, &own, &err), LGV_OK);
  assert_int_equal(lgv_agent_create(s, &six, 100, 0, 1, &agent, &err), LGV_OK);
  lgv_settings_free(s);
  join(path, root, "own.c");
  assert_int_equal(lgv_agent_export(agent, path, "own", &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "the feature map own cannot be exported"));
  lgv_agent_free(agent);
}

static void agents_over_pictures(void **state) {
  (void)state;
  check_problem(BYTES);
  check_problem(FLOATS);
}

static void agents_over_pictures_and_vectors(void **state) {
  (void)state;
  check_problem(BYTES_AND_VECTOR);
  check_problem(FLOATS_AND_VECTOR);
}

static void agents_over_indices(void **state) {
  (void)state;
  check_problem(ONE_HOT);
  check_problem(THERMOMETER);
  check_problem(ONE_HOT_PARTS);
}

/* Each kind of outputs with every network. */
static void every_network(void **state) {
  (void)state;
  static const int kinds[] = {0, 4, 6, 8};
  for (int k = 0; k < 4; k++)
    for (int turn = 0; turn < 5; turn++) {
      add_variant(kinds[k], VECTOR, turn);
      add_variant(kinds[k], FLOATS_AND_VECTOR, turn);
    }
  check_all();
}

static void large_pictures(void **state) {
  (void)state;
  add_variant(0, LARGE, 0);
  add_variant(6, LARGE, 1);
  check_all();
}

static void a_bias_for_all_outputs(void **state) {
  (void)state;
  for (int at = VECTOR; at <= BYTES; at++) {
    const lgv_env_spec *env = &problems[at].env;
    policy p = {.rule = ACT, .label = "a shared bias"};
    lgv_agent *agent = make_agent("double-dqn", "agent.hidden=6 agent.shared_bias=true", env);
    add_policy(agent, env, p);
  }
  check_all();
}

static void no_hidden_layer(void **state) {
  (void)state;
  const lgv_env_spec *env = &problems[VECTOR].env;
  policy p = {.rule = ACT, .label = "no hidden layer"};
  add_policy(make_agent("dqn", "agent.hidden=", env), env, p);
  check_all();
}

static void add_linear(const char *name, const char *settings) {
  const lgv_env_spec *env = &problems[ONE_HOT].env;
  policy p = {.rule = POLICY, .of_states = true, .exact = true};
  snprintf(p.label, sizeof p.label, "%s %s", name, settings);
  lgv_agent *agent = make_agent(name, settings, env);
  train(agent, env, 200);
  add_policy(agent, env, p);
}

static void every_linear_agent(void **state) {
  (void)state;
  for (size_t i = 0; lgv__agents[i]; i++)
    if (lgv__agents[i]->traits & LGV_NEEDS_STATES) add_linear(lgv__agents[i]->name, "");
  check_all();
}

/* All probabilities but one are 0, and still the mask decides which action is next. */
static void a_policy_that_is_nearly_certain(void **state) {
  (void)state;
  double p[3];
  add_linear("oppo", "agent.step=1e6");
  lgv_obs obs = {.stage = 0, .state = 0};
  SUCCEED(lgv_agent_policy(policies[0].agent, &obs, p, &err), "oppo");
  assert_true(fmax(p[0], fmax(p[1], p[2])) == 1);
  check_all();
}

/* ---- refusals ---- */

static void expect_refusal(lgv_agent *agent, const char *path, const char *name, lgv_status status,
                           const char *message) {
  lgv_error err = {0};
  assert_int_equal(lgv_agent_export(agent, path, name, &err), status);
  if (!strstr(err.message, message)) fail_msg("%s", err.message);
}

static void refusals_are_clear(void **state) {
  (void)state;
  char path[PATH_MAX], missing[PATH_MAX];
  lgv_env_spec env = problems[VECTOR].env;
  join(path, root, "refused.c");
  join(missing, root, "nowhere/refused.c");
  lgv_agent *agent = make_agent("dqn", NULL, &env);
  expect_refusal(agent, path, "2nd", LGV_ERR_USAGE, "cannot begin the name");
  expect_refusal(agent, path, "", LGV_ERR_USAGE, "cannot begin the name");
  expect_refusal(agent, missing, "policy", LGV_ERR_IO, "No such file or directory");
  lgv_agent_free(agent);
  agent = make_agent("pathwise-lmcdqn", NULL, &env); /* of vectors it has cells, not values */
  expect_refusal(agent, path, "policy", LGV_ERR_USAGE, "pathwise-lmcdqn cannot be exported");
  lgv_agent_free(agent);
  assert_int_equal(access(path, F_OK), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_agent_is_in_the_table),
      cmocka_unit_test(agents_over_vectors),
      cmocka_unit_test(linear_agents_over_every_feature_map),
      cmocka_unit_test(a_map_of_the_user_is_refused),
      cmocka_unit_test(agents_over_pictures),
      cmocka_unit_test(agents_over_pictures_and_vectors),
      cmocka_unit_test(agents_over_indices),
      cmocka_unit_test(every_network),
      cmocka_unit_test(large_pictures),
      cmocka_unit_test(a_bias_for_all_outputs),
      cmocka_unit_test(no_hidden_layer),
      cmocka_unit_test(every_linear_agent),
      cmocka_unit_test(a_policy_that_is_nearly_certain),
      cmocka_unit_test(refusals_are_clear),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
