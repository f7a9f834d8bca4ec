/* Compute kernels: one source, compiled once per instruction set; the set is chosen once, at start.
 *
 * Files named kernel_*.c here and optim_*.c in src/optim are compiled several times with LGV_ISA
 * set to the set's name and LGV_LANES to the floats in its vectors (1 for ref: plain C); every
 * global name in them is written LGV_KERNEL(name), which appends the set's name. One lgv_kernel_set
 * per set collects the kernels. LANGEVIN_KERNELS=ref|x86|avx2|avx512 (elsewhere: ref|generic)
 * overrides the choice. */
#ifndef LGV_MATH_KERNELS_H
#define LGV_MATH_KERNELS_H

#include "langevin.h"

typedef struct lgv_optim_type lgv_optim_type; /* optim/optim_type.h */

#define LGV_PASTE2(a, b) a##_##b
#define LGV_PASTE(a, b) LGV_PASTE2(a, b)
#define LGV_KERNEL(name) LGV_PASTE(name, LGV_ISA)

/* Bulk N(0, 1) floats from 16 lanes of xoshiro128++: word i of lane j is s[i][j]. */
typedef struct lgv_noise {
  uint32_t s[4][16];
} lgv_noise;

enum { LGV_NOISE_BLOCK = 512 }; /* normals per call: they stay in the first-level cache */

#define LGV_NORM_EPS 1e-5f /* of layer normalization */

/* C = start + A B, followed by an optional rectifier or gate. A (m x k) is a[row(i) + col(p)], B (k
 * x n) is b[p * b_row + j], C is c[row(i) + j]; rows and columns are addressed by a stride or by a
 * list of offsets. C must not overlap A or B.
 *
 * Invariant: C(i, j) = ((start + A(i, 0) B(0, j)) + A(i, 1) B(1, j)) + ... in this order, with one
 * rounding per step on sets with a fused multiply-add and two on others; a step whose A(i, p) is 0
 * may be skipped. So the bits depend neither on m and n nor on the tile, and a sample of a batch
 * gets the same bits as alone (unless B holds infinities or NaN). */
typedef struct lgv_product {
  int64_t m, n, k;
  const float *a;
  int64_t a_row, a_col;
  const int32_t *a_rows, *a_cols; /* (m), (k): offsets in place of a_row and a_col; or NULL */
  const float *b;
  int64_t b_row;
  float *c;
  int64_t c_row;
  const int32_t *c_rows; /* (m): offsets in place of c_row; or NULL */
  const float *bias;     /* (n): every row of C starts from it; NULL: from 0 */
  bool add;          /* C starts from its current values; otherwise it need not be initialized */
  bool rectify;      /* ends with max(C, 0); NaN stays */
  const float *gate; /* laid out as C, which becomes 0 where this is not positive; or NULL */
} lgv_product;

/* The effect of several Adam steps with gradient 0 on a parameter; optim/lazy_adam.h has the
 * equations. */
typedef struct lgv_adam_skip {
  float sum, mean, variance; /* S, and the mean and variance of z */
  float eps;
  float keep_m, keep_v; /* factors of the moments */
} lgv_adam_skip;

typedef struct lgv_kernel_set {
  const char *name;
  void (*product)(const lgv_product *product);
  /* sums (cols) = the sum over the rows of x (rows x cols). */
  void (*column_sums)(int64_t rows, int64_t cols, const float *x, float *sums);
  /* sums (cols) = the sum over the rows of x * y (rows x cols). */
  void (*column_dots)(int64_t rows, int64_t cols, const float *x, const float *y, float *sums);
  /* to[j * to_row + i] = from[i * from_row + j], or 0 where gate (laid out as `to`, may be NULL) is
   * not positive. */
  void (*transpose)(int64_t rows, int64_t cols, const float *from, int64_t from_row,
                    const float *gate, float *to, int64_t to_row);
  void (*from_bytes)(int64_t count, const uint8_t *bytes, float scale, float *out);
  /* The same with a factor for every column: out (rows x cols) = gain (cols) times the bytes. */
  void (*from_bytes_by)(int64_t rows, int64_t cols, const uint8_t *bytes, const float *gain,
                        float *out);
  /* out (rows x cols) = (x - shift) gain, both (cols), cut to [-clip, clip]. */
  void (*standardize)(int64_t rows, int64_t cols, const float *x, const float *shift,
                      const float *gain, float clip, float *out);
  /* Row i of sums ((rows + 1) x cols) = start + scale * the sum of the first i rows of x. */
  void (*running_sums)(int64_t rows, int64_t cols, const float *start, const float *x, float scale,
                       float *sums);
  void (*sum_up)(int64_t rows, int64_t cols, float *x); /* row i += all rows below it, in place */
  void (*add_scaled)(int64_t count, const float *x, float scale, float *sum);
  void (*rectify)(int64_t count, float *x);                 /* x = max(x, 0); NaN stays */
  void (*gate)(int64_t count, const float *gate, float *x); /* x = 0 where gate is not positive */
  void (*scale)(int64_t count, float scale, float *x);
  /* Layer normalization (kernel_norm.c) of rows of (places x cols) numbers with a gain and a bias
   * per column, and the rectifier: x becomes rectified(gain x' + bias). Keeps x' in normalized
   * (rows x places x cols) and its factor in scale (rows) for the backward pass; each may be NULL.
   */
  void (*normalize)(int64_t rows, int64_t places, int64_t cols, const float *gain,
                    const float *bias, float *x, float *normalized, float *scale);
  /* d, the derivative of gain x' + bias, becomes that of x. */
  void (*normalize_back)(int64_t rows, int64_t places, int64_t cols, const float *gain,
                         const float *normalized, const float *scale, float *d);
  /* Rows of p (rows x cols) = softmax of those of x; mean (rows) = the sum of p times support
   * (cols); log_sum (rows, may be NULL) = the logarithm of the sum of e^x. */
  void (*softmax)(int64_t rows, int64_t cols, const float *x, const float *support, float *p,
                  float *mean, float *log_sum);
  /* The Huber quantile loss: the sum over i of the mean over j of |tau_i - [d < 0]| huber(d), with
   * d = target_j - theta_i and huber(d) = d^2 / 2 up to kappa, kappa (|d| - kappa / 2) beyond.
   * Returns it, and its derivatives d_theta (n). */
  float (*quantile_loss)(int64_t n, const float *theta, const float *tau, int64_t n_targets,
                         const float *target, float kappa, float *d_theta);
  void (*adam_skip)(int64_t count, const lgv_adam_skip *skip, float *w, float *m, float *v);
  /* (a, b) becomes (cosine a + sine b, cosine b - sine a), pair by pair. */
  void (*rotate)(int64_t count, double cosine, double sine, double *a, double *b);
  /* count N(0, 1) draws; count is a multiple of 32, at most LGV_NOISE_BLOCK. */
  void (*normals)(lgv_noise *noise, float *out, size_t count);
  const lgv_optim_type *const *optimizers; /* NULL-terminated */
} lgv_kernel_set;

const lgv_kernel_set *lgv__kernels(void); /* the set in use: the best that this CPU can run */
/* Fails if LANGEVIN_KERNELS names an unknown set or one that this CPU cannot run; the best set is
 * in use then. */
LGV_CHECK lgv_status lgv__kernels_check(lgv_error *err);
/* The sets that this CPU can run, plainest first; NULL after the last. */
const lgv_kernel_set *lgv__kernels_at(size_t index);
/* Test hook: makes lgv__kernels return this set; NULL: chooses again. */
void lgv__kernels_use(const lgv_kernel_set *set);
void lgv__noise_seed(lgv_noise *noise, lgv_rng *rng);

#ifdef LGV_ISA /* direct calls within a set */
void LGV_KERNEL(lgv__product)(const lgv_product *product);
void LGV_KERNEL(lgv__product_row)(const lgv_product *product); /* m = 1 */
void LGV_KERNEL(lgv__column_sums)(int64_t rows, int64_t cols, const float *x, float *sums);
void LGV_KERNEL(lgv__column_dots)(int64_t rows, int64_t cols, const float *x, const float *y,
                                  float *sums);
void LGV_KERNEL(lgv__transpose)(int64_t rows, int64_t cols, const float *from, int64_t from_row,
                                const float *gate, float *to, int64_t to_row);
void LGV_KERNEL(lgv__from_bytes)(int64_t count, const uint8_t *bytes, float scale, float *out);
void LGV_KERNEL(lgv__from_bytes_by)(int64_t rows, int64_t cols, const uint8_t *bytes,
                                    const float *gain, float *out);
void LGV_KERNEL(lgv__standardize)(int64_t rows, int64_t cols, const float *x, const float *shift,
                                  const float *gain, float clip, float *out);
void LGV_KERNEL(lgv__running_sums)(int64_t rows, int64_t cols, const float *start, const float *x,
                                   float scale, float *sums);
void LGV_KERNEL(lgv__sum_up)(int64_t rows, int64_t cols, float *x);
void LGV_KERNEL(lgv__add_scaled)(int64_t count, const float *x, float scale, float *sum);
void LGV_KERNEL(lgv__rectify)(int64_t count, float *x);
void LGV_KERNEL(lgv__gate)(int64_t count, const float *gate, float *x);
void LGV_KERNEL(lgv__scale)(int64_t count, float scale, float *x);
void LGV_KERNEL(lgv__normalize)(int64_t rows, int64_t places, int64_t cols, const float *gain,
                                const float *bias, float *x, float *normalized, float *scale);
void LGV_KERNEL(lgv__normalize_back)(int64_t rows, int64_t places, int64_t cols, const float *gain,
                                     const float *normalized, const float *scale, float *d);
void LGV_KERNEL(lgv__softmax)(int64_t rows, int64_t cols, const float *x, const float *support,
                              float *p, float *mean, float *log_sum);
float LGV_KERNEL(lgv__quantile_loss)(int64_t n, const float *theta, const float *tau,
                                     int64_t n_targets, const float *target, float kappa,
                                     float *d_theta);
void LGV_KERNEL(lgv__rotate)(int64_t count, double cosine, double sine, double *restrict a,
                             double *restrict b);
void LGV_KERNEL(lgv__adam_skip)(int64_t count, const lgv_adam_skip *skip, float *restrict w,
                                float *restrict m, float *restrict v);
void LGV_KERNEL(lgv__normals)(lgv_noise *noise, float *restrict out, size_t count);
#endif

#endif
