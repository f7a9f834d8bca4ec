/* A feature map of your own, outside the library: lmc-lsvi learns MountainCar in a few dozen
 * episodes from the features that this file computes.
 *
 * The map is what a physicist would try first: the energy of the car, its place and its direction,
 * each cut into soft steps. This file includes only langevin.h:
 *
 *   cc own_features.c $(pkg-config --cflags --libs langevin) -lm && ./a.out
 */
#include <langevin.h>

#include <math.h>
#include <stdio.h>

enum { STEPS = 6, FEATURES = STEPS * STEPS * 2 };

/* Bumps over [0, 1], of which two or three are not small. */
static float bump(float x, int i) {
  float d = x * (STEPS - 1) - (float)i;
  return expf(-d * d);
}

static lgv_status dim(const void *params, const lgv_env_spec *env, int64_t inputs, int64_t *out,
                      lgv_error *err) {
  (void)params, (void)env;
  if (inputs != 2)
    return lgv_fail(err, LGV_ERR_USAGE, "the map energy reads a place and a speed, not %lld inputs",
                    (long long)inputs);
  *out = FEATURES;
  return LGV_OK;
}

/* Rows of `count` observations: place in [-1.2, 0.6], speed in [-0.07, 0.07]. Length 1 suits the
 * agents' defaults. */
static lgv_status map(const void *self, const float *x, int64_t count, float *out, lgv_error *err) {
  (void)self, (void)err;
  for (int64_t n = 0; n < count; n++, x += 2, out += FEATURES) {
    float place = (x[0] + 1.2f) / 1.8f, height = sinf(3 * x[0]);
    float energy = (height * 0.0025f / 3 + x[1] * x[1] / 2 + 0.0009f) / 0.0035f, sum = 0;
    for (int i = 0; i < FEATURES; i++) {
      int side = i % 2, step = i / 2;
      out[i] = (side == (x[1] >= 0)) * bump(place, step % STEPS) * bump(energy, step / STEPS);
      sum += out[i] * out[i];
    }
    for (int i = 0; i < FEATURES; i++) out[i] /= sqrtf(sum);
  }
  return LGV_OK;
}

static const lgv_feature_type energy = {
    .size = sizeof(lgv_feature_type),
    .name = "energy",
    .summary = "bumps over place and energy, for each direction",
    .dim = dim,
    .map = map,
};

enum { SEEDS = 3 };

static lgv_status make_plan(lgv_plan **plan, lgv_error *err) {
  static const char *const keys[][2] = {{"env.name", "mountain-car"},
                                        {"agent.name", "lmc-lsvi"},
                                        {"agent.features", "energy"},
                                        {"run.episodes", "60"},
                                        {"run.eval_every", "1000"}};
  lgv_settings *settings;
  lgv_status status = lgv_settings_create(&settings, err);
  if (status != LGV_OK) return status;
  status = lgv_settings_add_features(settings, &energy, err);
  for (size_t i = 0; status == LGV_OK && i < sizeof keys / sizeof *keys; i++)
    status = lgv_settings_set(settings, keys[i][0], keys[i][1], "own_features", err);
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
    fprintf(stderr, "own_features: %s\n", err.message);
    return 1;
  }
  printf("MountainCar, lmc-lsvi with features of energy, 60 episodes of at most 200 steps\n");
  for (int i = 0; i < SEEDS; i++)
    printf("seed %d: %.0f steps to the goal in evaluations at the end\n", i, -runs[i].final_return);
  return 0;
}
