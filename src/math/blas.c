#include "math/blas.h"

#ifdef LGV_NO_BLAS

bool lgv__blas_solve(const double *l, int64_t d, double *x) {
  (void)l, (void)d, (void)x;
  return false;
}

bool lgv__blas_solve_transposed(const double *l, int64_t d, double *x) {
  (void)l, (void)d, (void)x;
  return false;
}

bool lgv__blas_whiten(const double *l, int64_t d, double *x, int64_t n) {
  (void)l, (void)d, (void)x, (void)n;
  return false;
}

bool lgv__blas_multiply(const double *a, int64_t rows, int64_t cols, const double *x, double *y) {
  (void)a, (void)rows, (void)cols, (void)x, (void)y;
  return false;
}

bool lgv__blas_multiply_transposed(const double *a, int64_t rows, int64_t cols, const double *x,
                                   double *y) {
  (void)a, (void)rows, (void)cols, (void)x, (void)y;
  return false;
}

bool lgv__blas_svd_left(double *a, int64_t d, double *values, double *work, int32_t *iwork,
                        int *info) {
  (void)a, (void)d, (void)values, (void)work, (void)iwork, (void)info;
  return false;
}

#else

#include "base/portable_math.h"

#include <cblas.h>
#include <dlfcn.h>
#include <lapacke.h>
#include <pthread.h>

/* ---- One thread. How threads split a sum shows in its last bits: an OpenBLAS with its own threads
 * returns other singular vectors of a 24 x 24 matrix on two threads than on one. Which BLAS is
 * present is known only when the program is loaded, so its switch is looked up then.
 *
 * An OpenBLAS without threads (Debian's libopenblas0-serial) shares its buffers between callers
 * without a lock: calls at the same time corrupt each other's results. They take turns here. ----
 */

static pthread_once_t one_thread_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static bool takes_turns;

static void set_one_thread(void) {
  void (*set_num_threads)(int);
  int (*get_parallel)(void);
  *(void **)&set_num_threads = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  *(void **)&get_parallel = dlsym(RTLD_DEFAULT, "openblas_get_parallel");
  if (set_num_threads) set_num_threads(1);
  takes_turns = get_parallel && get_parallel() == 0;
}

/* Whether BLAS and LAPACK compute, on one thread. If so, leave_blas must follow the call. */
static bool enter_blas(void) {
  if (lgv__portable()) return false;
  pthread_once(&one_thread_once, set_one_thread);
  if (takes_turns) pthread_mutex_lock(&turn);
  return true;
}

static void leave_blas(void) {
  if (takes_turns) pthread_mutex_unlock(&turn);
}

bool lgv__blas_solve(const double *l, int64_t d, double *x) {
  if (!enter_blas()) return false;
  cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)d, l, (int)d, x, 1);
  leave_blas();
  return true;
}

bool lgv__blas_solve_transposed(const double *l, int64_t d, double *x) {
  if (!enter_blas()) return false;
  cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, (int)d, l, (int)d, x, 1);
  leave_blas();
  return true;
}

bool lgv__blas_whiten(const double *l, int64_t d, double *x, int64_t n) {
  if (!enter_blas()) return false;
  /* column-major, like L: X^T L^-T */
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)n, (int)d, 1, l,
              (int)d, x, (int)n);
  leave_blas();
  return true;
}

bool lgv__blas_multiply(const double *a, int64_t rows, int64_t cols, const double *x, double *y) {
  if (!enter_blas()) return false;
  cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)rows, (int)cols, 1, a, (int)cols, x, 1, 0, y, 1);
  leave_blas();
  return true;
}

bool lgv__blas_multiply_transposed(const double *a, int64_t rows, int64_t cols, const double *x,
                                   double *y) {
  if (!enter_blas()) return false;
  cblas_dgemv(CblasRowMajor, CblasTrans, (int)rows, (int)cols, 1, a, (int)cols, x, 1, 0, y, 1);
  leave_blas();
  return true;
}

bool lgv__blas_svd_left(double *a, int64_t d, double *values, double *work, int32_t *iwork,
                        int *info) {
  lapack_int n = (lapack_int)d;
  if (!enter_blas()) return false;
  *info = LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'O', n, n, a, n, values, NULL, 1, work, n,
                              work + d * d, (lapack_int)lgv__blas_svd_work(d), iwork);
  leave_blas();
  return true;
}

#endif

int64_t lgv__blas_svd_work(int64_t d) { return 7 * d + 5 * d * d; }
