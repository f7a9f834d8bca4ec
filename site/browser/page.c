/* Agents that learn in the browser: what the script of the page (site/theme/live.js) calls. It
 * writes settings into page_text, one per line, makes a learner of them, and lets it play episode
 * by episode. A call that fails leaves its reason in page_text.
 *
 * tests/whole/browser_digests.c compiles the same file for this machine and compares the bits. */
#include "page.h"

#include <langevin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct page_learner {
  lgv_env *env;
  lgv_agent *agent;
  int32_t states, length; /* length: of the path */
  int32_t *path;          /* (horizon + 1) the states of the last episode */
  double *values;         /* (states) the greatest Q of each */
  double *visits;         /* (states) */
  float *look;            /* (states) an observation */
};

enum { MOST_CELLS = 100000 };   /* states, and steps of an episode, that a page can show */
static const double most = 1e9; /* of seeds and episodes */
static char text[PAGE_TEXT_SIZE];

char *page_text(void) { return text; }

static const lgv_env_spec *spec_of(const page_learner *p) { return lgv_env_get_spec(p->env); }

/* ---- Making one ---- */

static lgv_status read_settings(lgv_settings *settings, lgv_error *err) {
  lgv_status status = LGV_OK;
  char *line = strtok(text, "\n");
  for (; line && status == LGV_OK; line = strtok(NULL, "\n"))
    status = lgv_settings_assign(settings, line, "the page", err);
  return status;
}

static lgv_status make_arrays(page_learner *p, lgv_error *err) {
  const lgv_env_spec *spec = spec_of(p);
  if (spec->states == 0 || spec->obs_form == LGV_FORM_DENSE || spec->actions.count != 2)
    return lgv_fail(err, LGV_ERR_USAGE, "the page shows worlds of named states and two actions");
  if (spec->states > MOST_CELLS || spec->horizon < 1 || spec->horizon > MOST_CELLS)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "the page shows up to %d states, and episodes of 1 to %d steps", MOST_CELLS,
                    MOST_CELLS);
  p->states = (int32_t)spec->states;
  p->path = calloc((size_t)spec->horizon + 1, sizeof *p->path);
  p->values = calloc((size_t)p->states, sizeof *p->values);
  p->visits = calloc((size_t)p->states, sizeof *p->visits);
  p->look = calloc((size_t)p->states, sizeof *p->look);
  bool all = p->path && p->values && p->visits && p->look;
  return all ? LGV_OK : lgv_fail(err, LGV_ERR_MEMORY, "out of memory");
}

static lgv_status make(page_learner *p, double seed, double episodes, lgv_error *err) {
  lgv_settings *settings;
  if (!(seed >= 0 && seed <= most && episodes >= 1 && episodes <= most)) /* NaN, too */
    return lgv_fail(err, LGV_ERR_USAGE, "a seed is in 0..%g, and episodes are in 1..%g", most,
                    most);
  lgv_status status = lgv_settings_create(&settings, err);
  if (status != LGV_OK) return status;
  status = read_settings(settings, err);
  if (status == LGV_OK) status = lgv_env_create(settings, (uint64_t)seed, &p->env, err);
  if (status == LGV_OK) status = make_arrays(p, err);
  if (status == LGV_OK)
    status =
        lgv_agent_create(settings, spec_of(p), (int64_t)episodes,
                         (int64_t)episodes * spec_of(p)->horizon, (uint64_t)seed, &p->agent, err);
  lgv_settings_free(settings);
  return status;
}

static bool succeeded(lgv_status status, const lgv_error *err) {
  if (status != LGV_OK) snprintf(text, sizeof text, "%s", err->message);
  return status == LGV_OK;
}

page_learner *page_create(double seed, double episodes) {
  lgv_error err;
  setenv("LANGEVIN_KERNELS", "portable", 1); /* the bits of every other machine */
  page_learner *p = calloc(1, sizeof *p);
  if (p && succeeded(make(p, seed, episodes, &err), &err)) return p;
  page_free(p);
  return NULL;
}

void page_free(page_learner *p) {
  if (!p) return;
  lgv_agent_free(p->agent);
  lgv_env_free(p->env);
  free(p->path);
  free(p->values);
  free(p->visits);
  free(p->look);
  free(p);
}

/* ---- Learning ---- */

static void visit(page_learner *p, int64_t state) {
  p->path[p->length++] = (int32_t)state;
  p->visits[state]++;
}

static lgv_status step(page_learner *p, lgv_obs *obs, lgv_outcome *out, lgv_error *err) {
  lgv_action action;
  lgv_obs next;
  lgv_status status = lgv_agent_act(p->agent, obs, LGV_TRAIN, &action, err);
  if (status == LGV_OK) status = lgv_env_step(p->env, &action, out, &next, err);
  if (status != LGV_OK) return status;
  const lgv_transition t = {*obs, next, &action, out->reward, out->terminated, out->truncated};
  *obs = next;
  return lgv_agent_observe(p->agent, &t, err);
}

static lgv_status play(page_learner *p, double *total, lgv_error *err) {
  lgv_outcome out = {0};
  lgv_obs obs;
  lgv_status status = lgv_env_reset(p->env, &obs, err);
  if (status == LGV_OK) status = lgv_agent_begin_episode(p->agent, err);
  p->length = 0;
  while (status == LGV_OK && !out.terminated && !out.truncated) {
    visit(p, obs.state);
    status = step(p, &obs, &out, err);
    *total += out.reward;
  }
  return status == LGV_OK ? lgv_agent_end_episode(p->agent, err) : status;
}

double page_episode(page_learner *p) {
  lgv_error err;
  double total = 0;
  return succeeded(play(p, &total, &err), &err) ? total : NAN;
}

/* ---- Looking at it ---- */

int32_t page_states(const page_learner *p) { return p->states; }
int32_t page_horizon(const page_learner *p) { return (int32_t)spec_of(p)->horizon; }
const int32_t *page_path(const page_learner *p) { return p->path; }
int32_t page_path_length(const page_learner *p) { return p->length; }
const double *page_visits(const page_learner *p) { return p->visits; }

static lgv_status look_at(page_learner *p, int32_t state, double q[2], lgv_error *err) {
  bool thermometer = spec_of(p)->obs_form == LGV_FORM_THERMOMETER;
  for (int32_t i = 0; i < p->states; i++) p->look[i] = thermometer ? i <= state : i == state;
  const lgv_obs obs = {.data = p->look, .state = state, .stage = 0};
  return lgv_agent_q_values(p->agent, &obs, 1, q, err);
}

const double *page_values(page_learner *p) {
  lgv_error err;
  for (int32_t state = 0; state < p->states; state++) {
    double q[2];
    if (!succeeded(look_at(p, state, q, &err), &err)) return NULL;
    p->values[state] = fmax(q[0], q[1]);
  }
  return p->values;
}

static uint64_t digest(uint64_t hash, const double *numbers, int32_t count) {
  const unsigned char *bytes = (const unsigned char *)numbers;
  for (size_t i = 0; i < (size_t)count * sizeof *numbers; i++)
    hash = (hash ^ bytes[i]) * 0x100000001b3u; /* FNV-1a */
  return hash;
}

const char *page_digest(page_learner *p) {
  uint64_t hash = 0xcbf29ce484222325u;
  if (!page_values(p)) return NULL;
  hash = digest(digest(hash, p->values, p->states), p->visits, p->states);
  snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
  return text;
}
