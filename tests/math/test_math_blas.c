/* BLAS runs on one thread, whatever the process has set. A BLAS without threads does so anyway; a
 * threaded OpenBLAS is switched by the library. */
#include "math/dense.h"

#include "run_helpers.h"

#include <dlfcn.h>

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_call_leaves_one_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
