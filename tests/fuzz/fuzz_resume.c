/* A forged checkpoint: a real one of a small run, in which numbers are replaced and all checksums
 * corrected. A run resumes from it and continues: it may refuse or fail, with a message.
 *
 * Input: which run (1 byte), then changes (forge_change). */
#include "fuzz.h"

#include "forge.h"

#include <unistd.h>

enum { STEPS = 33, MORE = 30 };

static const char *const kinds[][3] = {
    {"riverswim", "psrl", "env.n=3 env.horizon=5"},
    {"riverswim", "lmc-lsvi",
     "env.n=3 env.horizon=5 agent.sampler=svrg agent.updates=2 agent.lambda=1"},
    {"riverswim", "prioritized-dqn",
     "env.n=3 env.horizon=5 run.envs=2 agent.n_step=2 agent.hidden=4 agent.replay=24 "
     "agent.warmup=8 agent.batch=3"},
    {"deepsea", "bootstrapped-dqn",
     "env.n=3 agent.hidden=4 agent.replay=24 agent.warmup=8 agent.batch=3 agent.heads=3 "
     "agent.members=networks"},
    {"nchain", "pathwise-lmcdqn", "env.n=4 agent.hidden=4 agent.cells=10 agent.batch=3"},
    {"acrobot", "dqn",
     "env.horizon=30 run.eval_every=20 agent.hidden=4 agent.replay=24 agent.warmup=8 "
     "agent.batch=3"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct world {
  lgv_plan *plan;
  char directory[64];
  unsigned char *bytes; /* of its checkpoint */
  size_t size;
} world;

static world worlds[KINDS];

static void need(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "fuzz_resume: %s\n", what);
  abort();
}

static const char *path_in(const world *w, const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", w->directory, name);
  return path;
}

static const char checkpoint[] = "checkpoint.safetensors";

static void remove_worlds(void) {
  static const char *const names[] = {checkpoint, "config.json", "metrics.csv"};
  for (world *w = worlds; w < worlds + KINDS; w++) {
    for (int i = 0; w->plan && i < 3; i++) unlink(path_in(w, names[i]));
    if (w->plan) rmdir(w->directory);
    lgv_plan_free(w->plan);
    free(w->bytes);
  }
}

static lgv_plan *make_plan(const char *const *kind) {
  lgv_settings *settings;
  lgv_plan *plan;
  lgv_error err = {0};
  char copy[512], *rest = copy;
  snprintf(copy, sizeof copy,
           "env.name=%s agent.name=%s run.steps=1000000 run.checkpoint_every=0 "
           "run.tensorboard=false run.eval_steps=20 %s",
           kind[0], kind[1], kind[2]);
  need(lgv_settings_create(&settings, &err) == LGV_OK, "settings");
  for (char *item; (item = strsep(&rest, " "));)
    need(lgv_settings_assign(settings, item, "fuzz", &err) == LGV_OK, err.message);
  need(lgv_plan_create(settings, &plan, &err) == LGV_OK, err.message);
  lgv_settings_free(settings);
  return plan;
}

static world *open_world(size_t index) {
  world *w = &worlds[index];
  lgv_run *run;
  lgv_error err = {0};
  bool done, first = true;
  if (w->plan) return w;
  for (size_t i = 0; i < KINDS; i++) first &= !worlds[i].plan;
  if (first) atexit(remove_worlds);
  snprintf(w->directory, sizeof w->directory, "%s/langevin-fuzz-XXXXXX",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  need(mkdtemp(w->directory) != NULL, "mkdtemp");
  w->plan = make_plan(kinds[index]);
  need(lgv_run_create(w->plan, 5, w->directory, &run, &err) == LGV_OK, err.message);
  need(lgv_run_advance(run, STEPS, &done, &err) == LGV_OK, err.message);
  need(lgv_run_checkpoint(run, &err) == LGV_OK, err.message);
  lgv_run_free(run);
  w->bytes = forge_read(path_in(w, checkpoint), &w->size);
  need(w->bytes != NULL, "a checkpoint");
  return w;
}

static void go_on(const world *w) {
  lgv_run *run;
  lgv_error err = {0};
  bool done;
  lgv_status status = lgv_run_resume(w->plan, 5, w->directory, &run, &err);
  if (status == LGV_OK) {
    status = lgv_run_advance(run, MORE, &done, &err);
    lgv_run_free(run);
  }
  need(status == LGV_OK || strlen(err.message) > 0, "a failure without a message");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  forge f;
  if (size < 1) return 0;
  world *w = open_world(data[0] % KINDS);
  unsigned char *copy = malloc(w->size);
  memcpy(copy, w->bytes, w->size);
  need(forge_open(&f, copy, w->size), "a checkpoint that cannot be changed");
  forge_change(&f, data + 1, size - 1);
  need(forge_write(&f, path_in(w, checkpoint)), "cannot write");
  go_on(w);
  free(copy);
  return 0;
}
