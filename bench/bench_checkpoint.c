/* Writing an agent with its replay to a file and reading it back, as checkpoints do: with
 * checksums, synced and renamed. Wall-clock time, since the disk is part of it. Learning has not
 * begun. */
#include "bench/bench.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
  const char *name, *settings;
  lgv_env_spec env;
  int64_t transitions;
} lines[] = {
    {"MLP 4-64-64, 10 000 steps",
     "agent.name=adam-lmcdqn agent.preset=small agent.hidden=64,64 agent.replay=10010 "
     "agent.warmup=10005",
     {.size = sizeof(lgv_env_spec),
      .obs_shape = {4, 1, 1},
      .actions = {.count = 2},
      .reward_max = 1},
     10000},
    {"Nature CNN, 2 000 pictures",
     "agent.name=adam-lmcdqn agent.preset=authors agent.replay=2010 agent.warmup=2005",
     {.size = sizeof(lgv_env_spec),
      .obs_kind = LGV_OBS_BYTE,
      .obs_shape = {84, 84, 4},
      .frames = 4,
      .actions = {.count = 18},
      .reward_max = 1},
     2000},
};

enum { LINES = sizeof lines / sizeof *lines };

typedef struct subject {
  lgv_agent *agent;
  const char *path;
} subject;

typedef struct group {
  char folder[64], path[96];
  subject subject[LINES];
} group;

static lgv_status open_subject(subject *s, int line, lgv_error *err) {
  static const unsigned char data[84 * 84 * 4];
  static const lgv_action action = {0};
  lgv_settings *settings;
  lgv_status status = bench_settings(lines[line].settings, &settings, err);
  if (status == LGV_OK)
    status = lgv_agent_create(settings, &lines[line].env, 0, 0, 1, &s->agent, err);
  lgv_settings_free(settings);
  for (int64_t i = 0; status == LGV_OK && i < lines[line].transitions; i++) {
    lgv_transition t = {.obs = {.data = data, .state = -1, .stage = i},
                        .action = &action,
                        .next = {.data = data, .state = -1, .stage = i + 1}};
    status = lgv_agent_observe(s->agent, &t, err);
  }
  return status;
}

static lgv_status open_group(void **state, lgv_error *err) {
  group *g = *state = lgv__calloc(1, sizeof *g);
  if (!g) return lgv__out_of_memory(err, "a benchmark");
  const char *where = getenv("TMPDIR");
  int size = snprintf(g->folder, sizeof g->folder, "%s/langevin-bench-XXXXXX",
                      where && *where ? where : "/tmp");
  if (size >= (int)sizeof g->folder || !mkdtemp(g->folder)) {
    g->folder[0] = 0;
    return lgv_fail(err, LGV_ERR_IO, "cannot create a directory for a checkpoint in %s: set TMPDIR",
                    where && *where ? where : "/tmp");
  }
  snprintf(g->path, sizeof g->path, "%s/agent.safetensors", g->folder);
  for (int i = 0; i < LINES; i++) {
    g->subject[i].path = g->path;
    LGV_TRY(open_subject(&g->subject[i], i, err));
  }
  return LGV_OK;
}

static void close_group(void *state) {
  group *g = state;
  if (!g) return;
  for (int i = 0; i < LINES; i++) lgv_agent_free(g->subject[i].agent);
  if (g->path[0]) unlink(g->path);
  if (g->folder[0]) rmdir(g->folder);
  lgv__free(g);
}

static lgv_status save(void *context, lgv_error *err) {
  const subject *s = context;
  return lgv_agent_save(s->agent, s->path, NULL, err);
}

static lgv_status load(void *context, lgv_error *err) {
  const subject *s = context;
  return lgv_agent_load(s->agent, s->path, err);
}

static lgv_status measure_round(void *state, bench_report *report, lgv_error *err) {
  group *g = state;
  for (int i = 0; i < LINES; i++) {
    char name[BENCH_NAME_SIZE];
    struct stat file;
    LGV_TRY(save(&g->subject[i], err));
    if (stat(g->path, &file) != 0) return lgv_fail(err, LGV_ERR_IO, "%s is gone", g->path);
    bench_count count = {
        .operations = (double)file.st_size, .limit = BENCH_DISK, .units = 1, .unit = "file"};
    snprintf(name, sizeof name, "%s: write", lines[i].name);
    LGV_TRY(bench_measure_wall(report, name, count, save, &g->subject[i], err));
    snprintf(name, sizeof name, "%s: read", lines[i].name);
    LGV_TRY(bench_measure_wall(report, name, count, load, &g->subject[i], err));
  }
  return LGV_OK;
}

const bench_group bench_checkpoint = {
    .name = "checkpoint",
    .summary = "writing and reading checkpoints",
    .open = open_group,
    .round = measure_round,
    .close = close_group,
};
