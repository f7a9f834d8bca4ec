#include "math/dense.h"

#include "base/error.h"
#include "base/portable_math.h"
#include "math/dense_portable.h"
#include "math/kernels.h"

#include <cblas.h>
#include <dlfcn.h>
#include <lapacke.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

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

/* Whether BLAS and LAPACK compute, on one thread; otherwise dense_portable.h does. If so,
 * leave_blas must follow the call. */
static bool enter_blas(void) {
  if (lgv__portable()) return false;
  pthread_once(&one_thread_once, set_one_thread);
  if (takes_turns) pthread_mutex_lock(&turn);
  return true;
}

static void leave_blas(void) {
  if (takes_turns) pthread_mutex_unlock(&turn);
}

void lgv__rank_one_add(double *c, int64_t d, const double *x) {
  for (int64_t i = 0; i < d; i++) {
    if (x[i] == 0) continue;
    for (int64_t j = 0; j < d; j++) c[i * d + j] += x[i] * x[j];
  }
}

static double length_of(const lgv_kernel_set *kernels, double x, double y) {
  return kernels->portable ? lgv__portable_hypot(x, y) : hypot(x, y);
}

/* One Givens rotation per column of L: [L x] G = [L' 0]. A rotation is orthogonal, so no drift
 * builds up, and written with its cosine and sine it keeps the digits of a small diagonal (a tiny
 * ridge) next to a large x. The same G whitens: with [z'; t] = G^T [z; 0], L' z' = [L x] [z; 0] = L
 * z. */
void lgv__cholesky_update(double *l, int64_t d, double *x, double *z, int64_t n, double *carry) {
  const lgv_kernel_set *kernels = lgv__kernels();
  if (n) memset(carry, 0, (size_t)n * sizeof *carry);
  for (int64_t j = 0; j < d; j++) {
    if (x[j] == 0) continue;
    double *diagonal = l + j * d + j, r = length_of(kernels, *diagonal, x[j]);
    double c = *diagonal / r, s = x[j] / r;
    *diagonal = r;
    kernels->rotate(d - j - 1, c, s, diagonal + 1, x + j + 1);
    if (n) kernels->rotate(n, c, s, z + j * n, carry);
  }
}

void lgv__cholesky_solve(const double *l, int64_t d, double *x) {
  if (enter_blas()) {
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)d, l, (int)d, x, 1);
    leave_blas();
  } else {
    lgv__portable_solve(l, d, x);
  }
  lgv__cholesky_solve_transposed(l, d, x);
}

void lgv__cholesky_solve_transposed(const double *l, int64_t d, double *x) {
  if (!enter_blas()) {
    lgv__portable_solve_transposed(l, d, x);
    return;
  }
  cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, (int)d, l, (int)d, x, 1);
  leave_blas();
}

void lgv__cholesky_whiten(const double *l, int64_t d, double *x, int64_t n) {
  if (!enter_blas()) {
    lgv__portable_whiten(l, d, x, n);
    return;
  }
  /* column-major, like L: X^T L^-T */
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)n, (int)d, 1, l,
              (int)d, x, (int)n);
  leave_blas();
}

void lgv__multiply(const double *a, int64_t rows, int64_t cols, const double *x, double *y) {
  if (!enter_blas()) {
    lgv__portable_multiply(a, rows, cols, x, y);
    return;
  }
  cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)rows, (int)cols, 1, a, (int)cols, x, 1, 0, y, 1);
  leave_blas();
}

void lgv__multiply_transposed(const double *a, int64_t rows, int64_t cols, const double *x,
                              double *y) {
  if (!enter_blas()) {
    lgv__portable_multiply_transposed(a, rows, cols, x, y);
    return;
  }
  cblas_dgemv(CblasRowMajor, CblasTrans, (int)rows, (int)cols, 1, a, (int)cols, x, 1, 0, y, 1);
  leave_blas();
}

/* V^T, which LAPACK computes as well, then LAPACK's own workspace. */
static int64_t lapack_svd_work(int64_t d) { return 7 * d + 5 * d * d; }
int64_t lgv__svd_work(int64_t d) { return d * d + lapack_svd_work(d); }
int64_t lgv__svd_iwork(int64_t d) { return 8 * d; }

lgv_status lgv__svd_left(double *a, int64_t d, double *values, double *work, int32_t *iwork,
                         lgv_error *err) {
  lapack_int n = (lapack_int)d, info = 1; /* as LAPACK says that it has failed */
  if (enter_blas()) {
    info = LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'O', n, n, a, n, values, NULL, 1, work, n,
                               work + d * d, (lapack_int)lapack_svd_work(d), iwork);
    leave_blas();
  } else if (lgv__portable_svd_left(a, d, values)) {
    info = 0;
  }
  if (info == 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_NUMERIC,
                  "the singular value decomposition of a %lld x %lld matrix failed (LAPACK %d)",
                  (long long)d, (long long)d, (int)info);
}
