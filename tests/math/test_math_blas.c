/* BLAS runs on one thread, whatever the process has set. A BLAS without threads does so anyway; a
 * threaded OpenBLAS is switched by the library. Calls from several threads do not disturb each
 * other, even if the BLAS was built for one. */
#include "math/dense.h"

#include "run_helpers.h"

#include <dlfcn.h>
#include <pthread.h>

static void the_first_call_leaves_one_thread(void **state) {
  (void)state;
  void (*set)(int);
  int (*get)(void);
  *(void **)&set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  *(void **)&get = dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
  if (!set || !get) skip(); /* not OpenBLAS */
  set(4);
  const double a[] = {1, 2, 3, 4}, x[] = {1, 1};
  double y[2];
  lgv__multiply(a, 2, 2, x, y);
  assert_true(y[0] == 3 && y[1] == 7);
  assert_int_equal(get(), 1);
}

/* ---- calls at the same time ---- */

enum { ROWS = 2000, D = 10, CALLS = 6000, CALLERS = 4 };

typedef struct caller {
  double a[ROWS * D], l[D * D], x[D], product[ROWS], whitened[ROWS * D];
  double y[ROWS], z[ROWS * D]; /* of one call */
  int wrong;
} caller;

static void compute(const caller *c, double *product, double *whitened) {
  lgv__multiply(c->a, ROWS, D, c->x, product);
  memcpy(whitened, c->a, sizeof c->a);
  lgv__cholesky_whiten(c->l, D, whitened, ROWS);
}

static void prepare(caller *c, uint64_t seed) {
  lgv_rng rng;
  lgv_rng_seed(&rng, seed, "test");
  lgv_rng_normals(&rng, c->a, (size_t)ROWS * D);
  lgv_rng_normals(&rng, c->x, D);
  for (int j = 0; j < D; j++)
    for (int i = j; i < D; i++) c->l[j * D + i] = i == j ? 2 : 0.1 * lgv_rng_normal(&rng);
  compute(c, c->product, c->whitened);
}

static void *call_often(void *context) {
  caller *c = context;
  for (int i = 0; i < CALLS; i++) {
    compute(c, c->y, c->z);
    c->wrong += memcmp(c->y, c->product, sizeof c->y) != 0;
    c->wrong += memcmp(c->z, c->whitened, sizeof c->z) != 0;
  }
  return NULL;
}

static void calls_at_the_same_time_are_right(void **state) {
  (void)state;
  static caller callers[CALLERS];
  pthread_t threads[CALLERS];
  for (int i = 0; i < CALLERS; i++) prepare(&callers[i], (uint64_t)i);
  for (int i = 0; i < CALLERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
  for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < CALLERS; i++) assert_int_equal(callers[i].wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_call_leaves_one_thread),
      cmocka_unit_test(calls_at_the_same_time_are_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
