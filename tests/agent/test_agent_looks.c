/* Nothing that only looks changes an agent: values, policies, actions in evaluations, exports,
 * settings, arrays and saving leave what training depends on as it was, bit for bit, for every
 * agent; and looking twice shows the same. */
#include "agent/agent.h"
#include "choice.h"
#include "file_helpers.h"
#include "registry.h"
#include "run_helpers.h"

#include <stdlib.h>

enum { ACTIONS = 3, LENGTH = 5, HORIZON = 4, EPISODES = 15 };

static char place[TEMP_SIZE];

static const float rows[LENGTH][LENGTH] = {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 0, 1}};

static lgv_env_spec spec_of(lgv_obs_form form, bool box) {
  const float low[] = {-1, 0}, high[] = {1, 2};
  lgv_action_space choices = {.count = ACTIONS};
  return (lgv_env_spec){.size = sizeof(lgv_env_spec),
                        .obs_shape = {LENGTH, 1, 1},
                        .obs_form = form,
                        .actions = box ? lgv_box(2, low, high) : choices,
                        .states = LENGTH,
                        .horizon = HORIZON,
                        .stationary = true,
                        .reward_max = 1};
}

static lgv_obs obs_at(int64_t stage) {
  return (lgv_obs){.data = rows[stage], .state = stage, .stage = stage};
}

/* Ends in the middle of an episode. */
static void train(lgv_agent *agent) {
  lgv_error err = {0};
  for (int episode = 0; episode < EPISODES; episode++) {
    assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
    for (int64_t h = 0; h < HORIZON; h++) {
      lgv_action action;
      lgv_obs obs = obs_at(h);
      if (episode == EPISODES - 1 && h == 2) return;
      if (lgv_agent_act(agent, &obs, LGV_TRAIN, &action, &err) != LGV_OK)
        fail_msg("%s", err.message);
      lgv_transition t = {.obs = obs,
                          .next = obs_at(h + 1),
                          .action = &action,
                          .reward = (double)(h % 2),
                          .terminated = h + 1 == HORIZON};
      if (lgv_agent_observe(agent, &t, &err) != LGV_OK) fail_msg("%s", err.message);
    }
    assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  }
}

/* ---- Looking: each appends what it saw to a file ---- */

static void look_at_values(lgv_agent *agent, FILE *seen) {
  double q[LENGTH * ACTIONS] = {0};
  lgv_obs obs[HORIZON];
  lgv_error err = {0};
  for (int64_t h = 0; h < HORIZON; h++) obs[h] = obs_at(h);
  lgv_status status = lgv_agent_q_values(agent, obs, HORIZON, q, &err);
  fprintf(seen, "%d", status);
  fwrite(q, sizeof *q, HORIZON * ACTIONS, seen);
}

static void look_at_policy(lgv_agent *agent, FILE *seen) {
  double p[ACTIONS] = {0};
  lgv_error err = {0};
  for (int64_t h = 0; h < HORIZON; h++) {
    lgv_obs obs = obs_at(h);
    fprintf(seen, "%d", lgv_agent_policy(agent, &obs, p, &err));
    fwrite(p, sizeof *p, ACTIONS, seen);
  }
}

static void act_in_evaluation(lgv_agent *agent, FILE *seen) {
  lgv_error err = {0};
  for (int64_t i = 0; i < 20; i++) {
    lgv_action action = {0};
    lgv_obs obs = obs_at(i % HORIZON);
    fprintf(seen, "%d", lgv_agent_act(agent, &obs, LGV_EVAL, &action, &err));
    fprintf(seen, " %d", action.choice);
  }
}

static void copy_file(const char *name, FILE *seen) {
  char path[PATH_MAX];
  join(path, place, name);
  FILE *file = fopen(path, "rb");
  for (int c; file && (c = getc(file)) != EOF;) putc(c, seen);
  if (file) fclose(file);
}

static void export(lgv_agent *agent, FILE *seen) {
  char path[PATH_MAX];
  lgv_error err = {0};
  join(path, place, "export.c");
  lgv_status status = lgv_agent_export(agent, path, "brain", &err);
  fprintf(seen, "%d", status);
  if (status == LGV_OK) copy_file("export.c", seen);
}

static void look_inside(lgv_agent *agent, FILE *seen) {
  const char *name;
  lgv_dtype dtype;
  size_t count;
  char text[LGV_TEXT_SIZE];
  double stats[64] = {0};
  lgv_error err = {0};
  for (size_t i = 0; lgv_agent_array(agent, i, &name, &dtype, &count); i++)
    fprintf(seen, "%s %zu\n", name, count);
  fprintf(seen, "%d", lgv_agent_get(agent, "agent.name", text, sizeof text, &err));
  lgv_agent_stats(agent, stats);
  fwrite(stats, sizeof stats, 1, seen);
}

static void save(lgv_agent *agent, FILE *seen) {
  char path[PATH_MAX];
  lgv_error err = {0};
  join(path, place, "agent");
  if (lgv_agent_save(agent, path, NULL, &err) != LGV_OK) fail_msg("%s", err.message);
  copy_file("agent", seen);
}

typedef void (*look)(lgv_agent *agent, FILE *seen);

/* Evaluations have a stream and a current sample (a member, an index) of their own, which move on
 * with them and which training never reads. Both begin anew here, as for lgv_trained_open. */
static void begin_evaluation(lgv_agent *agent) {
  lgv_action action;
  lgv_error err = {0};
  lgv_obs obs = obs_at(0);
  lgv__agent_seed_eval(agent, 7);
  assert_int_equal(lgv_agent_act(agent, &obs, LGV_EVAL, &action, &err), LGV_OK);
  lgv__agent_seed_eval(agent, 7);
}

static char *take(look how, lgv_agent *agent, size_t *size) {
  char *bytes = NULL;
  FILE *seen = open_memstream(&bytes, size);
  begin_evaluation(agent);
  how(agent, seen);
  assert_int_equal(fclose(seen), 0);
  return bytes;
}

static bool same(char *a, size_t n, char *b, size_t m) {
  bool equal = n == m && memcmp(a, b, n) == 0;
  free(b);
  return equal;
}

static const struct {
  const char *name;
  look how;
} looks[] = {{"lgv_agent_q_values", look_at_values},
             {"lgv_agent_policy", look_at_policy},
             {"lgv_agent_act in an evaluation", act_in_evaluation},
             {"lgv_agent_export", export},
             {"lgv_agent_array, _get and the statistics", look_inside},
             {"lgv_agent_save", save}};

static void check(const lgv_agent_type *type, const char *extra, lgv_obs_form form) {
  const char *agent_name = type->name;
  lgv_settings *settings = make_settings(NULL, agent_name, extra);
  lgv_env_spec spec = spec_of(form, takes_box(type));
  lgv_error err = {0};
  lgv_agent *agent;
  if (lgv_agent_create(settings, &spec, EPISODES, EPISODES * HORIZON, 1, &agent, &err) != LGV_OK)
    fail_msg("%s: %s", agent_name, err.message);
  train(agent);
  size_t size, again, first;
  char *before = take(save, agent, &size);
  for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
    char *seen = take(looks[i].how, agent, &first);
    char *after = take(save, agent, &again);
    if (!same(before, size, after, again)) fail_msg("%s changes %s", looks[i].name, agent_name);
    after = take(looks[i].how, agent, &again);
    if (!same(seen, first, after, again))
      fail_msg("%s, %s: the second look shows something else", agent_name, looks[i].name);
    free(seen);
  }
  free(before);
  lgv_agent_free(agent);
  lgv_settings_free(settings);
}

static const lgv_agent_type *agent_named(const char *name) {
  size_t i = 0;
  while (strcmp(lgv__agents[i]->name, name) != 0) i++;
  return lgv__agents[i];
}

static void looking_changes_no_agent(void **state) {
  (void)state;
  make_temp(place);
  for (size_t a = 0; lgv__agents[a]; a++) {
    bool linear = lgv__agents[a]->traits & LGV_NEEDS_STATES;
    const char *extra = linear                      ? NULL
                        : takes_box(lgv__agents[a]) ? "agent.hidden=6 agent.batch=4 agent.warmup=20"
                                                    : "agent.hidden=6 agent.batch=4";
    check(lgv__agents[a], extra, LGV_FORM_ONE_HOT);
    if (!linear) check(lgv__agents[a], extra, LGV_FORM_DENSE);
  }
  const char *sampling = "agent.hidden=6 agent.batch=4 agent.eval=sample";
  check(agent_named("bootstrapped-dqn"), sampling, LGV_FORM_ONE_HOT);
  check(agent_named("hyperagent"), sampling, LGV_FORM_ONE_HOT);
  check(agent_named("lmc-lsvi"), "agent.features=identity", LGV_FORM_DENSE);
  check(agent_named("lsvi-phe"), "agent.features=rbf features.count=4", LGV_FORM_DENSE);
  remove_tree(place);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(looking_changes_no_agent)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
