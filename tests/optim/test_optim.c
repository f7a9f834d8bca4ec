/* Optimizers against hand-computed vectors, PyTorch, optax, and each other, on every kernel set. */
#include "optim_helpers.h"

#include "fixtures/optim_oracle.h"

#include <math.h>
#include <stdio.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

/* ---- exact vectors ---- */

enum { VECTOR_STEPS = 3 };

typedef struct vector {
  const char *name, *settings;
  double w[VECTOR_STEPS];
} vector;

/* w starts at 1, the gradients are 0.5, -0.2, 0.1. */
static const double vector_gradients[VECTOR_STEPS] = {0.5, -0.2, 0.1};
static const vector vectors[] = {
    {"sgd", "lr=0.01", {0.995, 0.997, 0.996}},
    {"sgd", "lr=0.01 l2=0.1", {0.994, 0.995006, 0.993010994}},
    {"sgld", "lr=0.01 beta=inf", {0.995, 0.997, 0.996}},
    {"asgld", "lr=0.01 a=0.1 beta=inf form=code", {0.991837724, 0.992369041, 0.989490964}},
    {"asgld", "lr=0.01 a=0.1 beta=inf form=code alpha2=0.99", {0.994, 0.995533748, 0.993934994}},
    {"asgld", "lr=0.01 a=0.1 beta=inf", {0.995, 0.996000002, 0.994533750}},
    {"asgld", "lr=0.01 a=0.1 beta=inf form=paper alpha2=0.99", {0.995, 0.996000002, 0.994533750}},
    {"adam", "lr=0.01", {0.990000000, 0.986543942, 0.982750024}},
    {"langevin-adam", "lr=0.01 beta=inf", {0.990000000, 0.986543942, 0.982750024}},
    {"psgld", "lr=0.01 beta=inf", {0.900000020, 0.937300205, 0.918877003}},
    {"ulmc", "lr=0.01 a=0.1 beta=inf friction=1", {0.9999183772, 0.9998428839, 0.9997393647}},
    {"ulmc", "lr=0.01 beta=inf drift=plain", {0.99995, 0.9999205, 0.999881295}},
};

static void check_vector(const lgv_kernel_set *set, const vector *v, bool compensated) {
  char settings[256];
  snprintf(settings, sizeof settings, "%s compensated=%s", v->settings,
           compensated ? "true" : "false");
  double way = 0; /* plain: a float near 1 is rounded at 6e-8; compensated: only the moves are */
  rig r = make_rig(set, v->name, settings, 37);
  set_all(r.step.w, r.step.count, 1);
  for (int t = 0; t < VECTOR_STEPS; t++) {
    set_all(r.g, r.step.count, vector_gradients[t]);
    take_step(&r);
    way += fabs(v->w[t] - (t ? v->w[t - 1] : 1));
    double allowed = compensated ? 1e-9 + 1e-7 * way : 1.5e-7;
    for (size_t i = 0; i < r.step.count; i++)
      if (!(fabs(value_of(&r, i) - v->w[t]) < allowed))
        fail_msg("%s, %s (%s): step %d gives %.10f, not %.10f", v->name, settings, set->name, t + 1,
                 value_of(&r, i), v->w[t]);
  }
  free_rig(&r);
}

static void exact_vectors_are_met_on_every_set(void **state) {
  (void)state;
  for (size_t k = 0; lgv__kernels_at(k); k++)
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
      check_vector(lgv__kernels_at(k), &vectors[i], false);
      check_vector(lgv__kernels_at(k), &vectors[i], true);
    }
}

static void check_oracle(const char *name, const char *settings,
                         const double (*expected)[ORACLE_WIDTH]) {
  rig r = make_rig(lgv__kernels(), name, settings, ORACLE_WIDTH);
  for (int i = 0; i < ORACLE_WIDTH; i++) r.step.w[i] = (float)oracle_start[i];
  for (int t = 0; t < ORACLE_STEPS; t++) {
    for (int i = 0; i < ORACLE_WIDTH; i++) r.g[i] = (float)oracle_gradients[t][i];
    take_step(&r);
    for (size_t i = 0; i < ORACLE_WIDTH; i++)
      if (!(fabs(value_of(&r, i) - expected[t][i]) < 2e-7))
        fail_msg("%s: step %d gives %.9f, not %.9f", name, t + 1, value_of(&r, i), expected[t][i]);
  }
  free_rig(&r);
}

static void adam_is_that_of_pytorch(void **state) {
  (void)state;
  check_oracle("adam", "lr=0.01 alpha1=0.9 alpha2=0.999 eps=1e-8", oracle_adam);
}

static void rmsprop_is_that_of_optax(void **state) {
  (void)state;
  check_oracle("rmsprop", "lr=0.01 alpha2=0.95 eps=1e-5", oracle_rmsprop);
}

/* nu - mu^2 of a constant gradient tends to 0 while nu and mu^2 do not: kept apart, rounding would
 * make the difference negative and the root NaN. */
static void rmsprop_survives_large_constant_gradients(void **state) {
  (void)state;
  rig r = make_rig(lgv__kernels(), "rmsprop", "lr=1e-6 eps=1e-4", 1);
  set_all(r.g, 1, 1234.567);
  float before = 0;
  for (int t = 0; t < 1000; t++) {
    before = r.step.w[0];
    take_step(&r);
    assert_true(r.step.w[0] < before);
  }
  check_near("the last step", (double)(before - r.step.w[0]), 1e-6 * 1234.567 / 1e-2, 2e-3);
  free_rig(&r);
}

/* ---- noise ---- */

typedef struct multiplier {
  const char *name, *settings; /* without beta */
  double noise[VECTOR_STEPS];  /* what a normal is multiplied by at beta = 1 */
} multiplier;

static const multiplier multipliers[] = {
    {"sgld", "lr=0.01", {0.141421356237, 0.141421356237, 0.141421356237}},
    {"asgld", "lr=0.01 a=0.1", {0.141421356237, 0.141421356237, 0.141421356237}},
    {"asgld", "lr=0.01 a=0.1 form=code", {0.141421356237, 0.141421356237, 0.141421356237}},
    {"langevin-adam", "lr=0.01", {0.6324553, 0.5258179, 0.4831891}},
    {"psgld", "lr=0.01", {0.6324555, 0.6107388, 0.6070124}},
    {"ulmc", "lr=0.01 friction=4", {0.282842712475, 0.282842712475, 0.282842712475}},
};

/* The step with noise moves by multiplier / sqrt(beta) times the normal more than the one without,
 * and takes the normals in order, blocks of LGV_NOISE_BLOCK. */
static void check_multiplier(const lgv_kernel_set *set, const multiplier *m, double beta) {
  enum { COUNT = LGV_NOISE_BLOCK + 40, TAKEN = LGV_NOISE_BLOCK + 64 };
  char noisy[256], quiet[256];
  snprintf(noisy, sizeof noisy, "%s compensated=true beta=%g", m->settings, beta);
  snprintf(quiet, sizeof quiet, "%s compensated=true beta=inf", m->settings);
  rig a = make_rig(set, m->name, noisy, COUNT), b = make_rig(set, m->name, quiet, COUNT);
  for (int t = 0; t < VECTOR_STEPS; t++) {
    float xi[TAKEN];
    lgv_noise copy = a.noise;
    set->normals(&copy, xi, LGV_NOISE_BLOCK);
    set->normals(&copy, xi + LGV_NOISE_BLOCK, TAKEN - LGV_NOISE_BLOCK);
    double before[COUNT];
    for (size_t i = 0; i < COUNT; i++) before[i] = value_of(&a, i) - value_of(&b, i);
    set_all(a.g, COUNT, vector_gradients[t]);
    set_all(b.g, COUNT, vector_gradients[t]);
    take_step(&a);
    take_step(&b);
    for (size_t i = 0; i < COUNT; i++) {
      double moved = value_of(&a, i) - value_of(&b, i) - before[i];
      double expected = m->noise[t] / sqrt(beta) * (double)xi[i];
      if (!(fabs(moved - expected) < 1e-6 * (fabs(expected) + 0.1)))
        fail_msg("%s (%s): step %d, parameter %zu: noise %.9g, not %.9g", m->name, set->name, t + 1,
                 i, moved, expected);
    }
    assert_memory_equal(&copy, &a.noise, sizeof copy);
  }
  free_rig(&a);
  free_rig(&b);
}

static void noise_has_the_size_of_the_equations(void **state) {
  (void)state;
  for (size_t k = 0; lgv__kernels_at(k); k++)
    for (size_t i = 0; i < sizeof multipliers / sizeof *multipliers; i++) {
      check_multiplier(lgv__kernels_at(k), &multipliers[i], 1);
      check_multiplier(lgv__kernels_at(k), &multipliers[i], 25);
    }
}

/* drift = plain has its noise in the velocity. */
static void plain_ulmc_shakes_the_velocity(void **state) {
  (void)state;
  rig r = make_rig(lgv__kernels(), "ulmc", "lr=0.01 drift=plain friction=4 beta=25", 32);
  float xi[32];
  lgv_noise copy = r.noise;
  lgv__kernels()->normals(&copy, xi, 32);
  take_step(&r);
  for (size_t i = 0; i < 32; i++) {
    double u = sqrt(2 * 0.01 * 4 / 25) * (double)xi[i];
    check_near("velocity", (double)r.step.slot[2][i], u, 1e-7);
    check_near("position", (double)r.step.w[i], -0.01 * u, 1e-9);
  }
  free_rig(&r);
}

static void infinite_beta_draws_nothing(void **state) {
  (void)state;
  for (size_t i = 0; lgv__kernels()->optimizers[i]; i++) {
    const lgv_optim_type *type = lgv__kernels()->optimizers[i];
    bool noisy = lgv__params_find(type->params, "beta") >= 0;
    rig r = make_rig(lgv__kernels(), type->name, noisy ? "beta=inf" : "", 100);
    r.step.t = 1;
    r.step.noise = NULL; /* to touch it is to crash */
    set_all(r.g, 100, 1);
    r.type->step(r.params, &r.step);
    assert_true(r.step.w[99] < 0);
    free_rig(&r);
  }
}

/* ---- optimizers that are others in disguise ---- */

enum { COUNT = 700 };

/* Both take the same 20 steps with rough gradients, and end at the same bits. */
static void check_same_steps(rig a, rig b, const char *name1, const char *settings1,
                             const char *name2, const char *settings2) {
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "gradients");
  for (size_t i = 0; i < COUNT; i++) a.step.w[i] = b.step.w[i] = (float)lgv_rng_normal(&rng);
  for (int t = 0; t < 20; t++) {
    for (size_t i = 0; i < COUNT; i++)
      a.g[i] = b.g[i] = (float)(lgv_rng_normal(&rng) * exp(3 * lgv_rng_normal(&rng)));
    take_step(&a);
    take_step(&b);
  }
  for (size_t i = 0; i < COUNT; i++)
    if (memcmp(&a.step.w[i], &b.step.w[i], sizeof(float)) != 0)
      fail_msg("%s %s gives %.9g, %s %s gives %.9g", name1, settings1, (double)a.step.w[i], name2,
               settings2, (double)b.step.w[i]);
  free_rig(&a);
  free_rig(&b);
}

static void check_same_path(const char *name1, const char *settings1, const char *name2,
                            const char *settings2) {
  check_same_steps(make_rig(lgv__kernels(), name1, settings1, COUNT),
                   make_rig(lgv__kernels(), name2, settings2, COUNT), name1, settings1, name2,
                   settings2);
}

/* lr_scale changes lr and nothing else, drift and noise included. */
static void a_scaled_step_is_that_of_a_scaled_lr(void **state) {
  (void)state;
  for (size_t i = 0; lgv__kernels()->optimizers[i]; i++) {
    const lgv_optim_type *type = lgv__kernels()->optimizers[i];
    rig a = make_rig(lgv__kernels(), type->name, "lr=0.01", COUNT);
    rig b = make_rig(lgv__kernels(), type->name, "lr=0.01", COUNT);
    a.step.lr_scale = 0.3;
    ((optim_params *)(void *)b.params)->lr *= 0.3;
    check_same_steps(a, b, type->name, "lr_scale=0.3", type->name, "lr=0.003");
  }
}

/* beta_scale changes beta and nothing else. */
static void a_tempered_step_is_that_of_another_beta(void **state) {
  (void)state;
  int noisy = 0;
  for (size_t i = 0; lgv__kernels()->optimizers[i]; i++) {
    const lgv_optim_type *type = lgv__kernels()->optimizers[i];
    rig a = make_rig(lgv__kernels(), type->name, "lr=0.01", COUNT);
    rig b = make_rig(lgv__kernels(), type->name, "lr=0.01", COUNT);
    a.step.beta_scale = 0.25;
    noisy += ((optim_params *)(void *)b.params)->beta > 0;
    ((optim_params *)(void *)b.params)->beta *= 0.25;
    check_same_steps(a, b, type->name, "beta_scale=0.25", type->name, "beta / 4");
  }
  assert_true(noisy >= 5);
}

static void some_settings_make_one_optimizer_another(void **state) {
  (void)state;
  check_same_path("langevin-adam", "beta=inf lr=0.01", "adam", "lr=0.01");
  check_same_path("langevin-adam", "beta=inf compensated=true", "adam", "compensated=true");
  check_same_path("asgld", "a=0 beta=inf lr=0.01", "sgd", "lr=0.01");
  check_same_path("asgld", "a=0 beta=inf lr=0.01 form=code", "sgd", "lr=0.01");
  check_same_path("sgld", "beta=inf lr=0.01", "sgd", "lr=0.01");
  check_same_path("asgld", "a=0 beta=100 lr=0.01", "sgld", "beta=100 lr=0.01");
  check_same_path("asgld", "form=code", "asgld", "form=code alpha2=0.999");
}

static void compensation_changes_nothing_but_rounding(void **state) {
  (void)state;
  for (size_t i = 0; lgv__kernels()->optimizers[i]; i++) {
    const char *name = lgv__kernels()->optimizers[i]->name;
    rig a = make_rig(lgv__kernels(), name, "lr=1e-3", 1000);
    rig b = make_rig(lgv__kernels(), name, "lr=1e-3 compensated=true", 1000);
    set_all(a.step.w, 1000, 0.5);
    set_all(b.step.w, 1000, 0.5);
    for (int t = 0; t < 50; t++) {
      for (size_t j = 0; j < 1000; j++) a.g[j] = b.g[j] = (float)sin((double)(j + 7 * (size_t)t));
      take_step(&a);
      take_step(&b);
    }
    for (size_t j = 0; j < 1000; j++) {
      check_near(name, (double)a.step.w[j], value_of(&b, j), 50 * 0x1p-23);
      /* The parameter is the float nearest to the pair's sum. */
      assert_true((float)value_of(&b, j) == b.step.w[j]);
    }
    free_rig(&a);
    free_rig(&b);
  }
}

static void l2_adds_its_multiple_of_the_parameters_to_the_gradient(void **state) {
  (void)state;
  for (size_t i = 0; lgv__kernels()->optimizers[i]; i++) {
    const char *name = lgv__kernels()->optimizers[i]->name;
    rig a = make_rig(lgv__kernels(), name, "lr=0.01 l2=0.25", 64);
    rig b = make_rig(lgv__kernels(), name, "lr=0.01", 64);
    for (size_t j = 0; j < 64; j++) a.step.w[j] = b.step.w[j] = (float)j;
    for (int t = 0; t < 5; t++) {
      for (size_t j = 0; j < 64; j++) {
        a.g[j] = (float)(t + 1);
        b.g[j] = (float)(t + 1) + 0.25f * b.step.w[j];
      }
      take_step(&a);
      take_step(&b);
    }
    assert_memory_equal(a.step.w, b.step.w, 64 * sizeof(float));
    free_rig(&a);
    free_rig(&b);
  }
}

/* ---- every set against the plainest of its kind ---- */

/* ref, or portable1: the C library's pow may differ from the own one. */
static const lgv_kernel_set *plainest_like(const lgv_kernel_set *set) {
  size_t k = 0;
  while (lgv__kernels_at(k)->portable != set->portable) k++;
  return lgv__kernels_at(k);
}

static void check_sets_agree(const char *name, const char *settings, size_t count) {
  for (size_t k = 1; lgv__kernels_at(k); k++) {
    rig a = make_rig(plainest_like(lgv__kernels_at(k)), name, settings, count);
    rig b = make_rig(lgv__kernels_at(k), name, settings, count);
    lgv_rng rng;
    lgv_rng_seed(&rng, 1, "gradients");
    for (size_t i = 0; i < count; i++) a.step.w[i] = b.step.w[i] = (float)lgv_rng_normal(&rng);
    for (int t = 0; t < 10; t++) {
      for (size_t i = 0; i < count; i++)
        a.g[i] = b.g[i] = (float)(lgv_rng_normal(&rng) * exp(5 * lgv_rng_normal(&rng)));
      take_step(&a);
      take_step(&b);
    }
    size_t bytes = (3 + LGV_OPTIM_SLOTS) * count * sizeof(float);
    if (memcmp(a.memory, b.memory, bytes) != 0 || memcmp(&a.noise, &b.noise, sizeof a.noise) != 0)
      fail_msg("%s, %s: %s differs from %s for %zu parameters", name, settings, b.set->name,
               a.set->name, count);
    free_rig(&a);
    free_rig(&b);
  }
}

static void every_set_gives_the_bits_of_the_plainest(void **state) {
  (void)state;
  static const size_t counts[] = {1, 31, 512, 513, 1500};
  for (size_t i = 0; lgv__kernels()->optimizers[i]; i++) {
    const lgv_optim_type *type = lgv__kernels()->optimizers[i];
    bool noisy = lgv__params_find(type->params, "beta") >= 0;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      check_sets_agree(type->name, noisy ? "lr=0.01 l2=0.1 beta=100" : "lr=0.01 l2=0.1", counts[c]);
      check_sets_agree(type->name, "lr=1e-4 compensated=true", counts[c]);
      if (noisy) check_sets_agree(type->name, "lr=0.01 beta=inf", counts[c]);
    }
  }
  check_sets_agree("asgld", "form=code beta=100", 1500);
  check_sets_agree("ulmc", "drift=plain beta=100", 1500);
}

/* Gradients whose squares, products and moments underflow: no mode of the processor may decide what
 * becomes of them, and none of them may stay, since they are slow. */
static void portable_sets_agree_on_subnormal_numbers(void **state) {
  (void)state;
  for (size_t i = 0; lgv__kernels_portable()->optimizers[i]; i++) {
    const char *name = lgv__kernels_portable()->optimizers[i]->name;
    rig a = make_rig(plainest_like(lgv__kernels_portable()), name, "lr=1e-3", COUNT);
    rig b = make_rig(lgv__kernels_portable(), name, "lr=1e-3", COUNT);
    lgv_rng rng;
    lgv_rng_seed(&rng, 2, "gradients");
    for (int t = 0; t < 20; t++) {
      for (size_t j = 0; j < COUNT; j++)
        a.g[j] = b.g[j] = (float)(ldexp(lgv_rng_normal(&rng), -(int)lgv_rng_below(&rng, 145)));
      take_step(&a);
      take_step(&b);
    }
    for (size_t j = 0; j < COUNT; j++)
      for (int s = 0; s < a.type->slots; s++)
        assert_true(fpclassify(a.step.slot[s][j]) != FP_SUBNORMAL);
    assert_memory_equal(a.memory, b.memory, (3 + LGV_OPTIM_SLOTS) * COUNT * sizeof(float));
    free_rig(&a);
    free_rig(&b);
  }
}

/* ---- what the caller relies on ---- */

/* Asked of the processor itself, not through what is tested: valgrind's does not flush. */
static bool processor_flushes(void) {
#if defined(__SSE2__)
  volatile float small = 0x1p-126f;
  unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | 0x8040);
  small /= 2;
  _mm_setcsr(mode);
  return small == 0;
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

static void moments_that_decay_reach_zero_and_the_callers_mode_is_kept(void **state) {
  (void)state;
  for (size_t k = 0; lgv__kernels_at(k); k++) {
    if (!lgv__kernels_at(k)->portable && !processor_flushes()) continue;
    rig r = make_rig(lgv__kernels_at(k), "adam", "", 40);
    set_all(r.g, 40, 1e-3);
    take_step(&r);
    set_all(r.g, 40, 0);
    for (int t = 0; t < 2000; t++) take_step(&r);
    for (size_t i = 0; i < 40; i++) assert_true(r.step.slot[0][i] == 0);
    volatile float small = 0x1p-126f;
    assert_true(small / 2 > 0); /* subnormal numbers still exist here */
    free_rig(&r);
  }
}

static void tables_name_the_same_things_alike(void **state) {
  (void)state;
  for (size_t i = 0; lgv__kernels()->optimizers[i]; i++) {
    const lgv_optim_type *type = lgv__kernels()->optimizers[i];
    unsigned char params[256] = {0};
    assert_true(type->slots <= LGV_OPTIM_SLOTS && type->params_size <= sizeof params);
    lgv__params_defaults(type->params, params);
    set_params(type, params, "compensated=true lr=0.125 l2=0.5");
    optim_params common;
    memcpy(&common, params, sizeof common);
    assert_true(common.compensated && common.lr == 0.125 && common.l2 == 0.5);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_vectors_are_met_on_every_set),
      cmocka_unit_test(adam_is_that_of_pytorch),
      cmocka_unit_test(rmsprop_is_that_of_optax),
      cmocka_unit_test(rmsprop_survives_large_constant_gradients),
      cmocka_unit_test(noise_has_the_size_of_the_equations),
      cmocka_unit_test(plain_ulmc_shakes_the_velocity),
      cmocka_unit_test(infinite_beta_draws_nothing),
      cmocka_unit_test(a_scaled_step_is_that_of_a_scaled_lr),
      cmocka_unit_test(a_tempered_step_is_that_of_another_beta),
      cmocka_unit_test(some_settings_make_one_optimizer_another),
      cmocka_unit_test(compensation_changes_nothing_but_rounding),
      cmocka_unit_test(l2_adds_its_multiple_of_the_parameters_to_the_gradient),
      cmocka_unit_test(every_set_gives_the_bits_of_the_plainest),
      cmocka_unit_test(portable_sets_agree_on_subnormal_numbers),
      cmocka_unit_test(moments_that_decay_reach_zero_and_the_callers_mode_is_kept),
      cmocka_unit_test(tables_name_the_same_things_alike),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
