/* Compute kernels: one source, compiled once per instruction set. The process chooses a set at
 * start; a thread may choose another one.
 *
 * Files named kernel_*.c here and optim_*.c in src/optim are compiled several times with LGV_ISA
 * set to the set's name and LGV_LANES to the floats in its vectors (1 for ref: plain C); every
 * global name in them is written LGV_KERNEL(name), which appends the set's name. One lgv_kernel_set
 * per set collects the kernels. LANGEVIN_KERNELS=ref|x86|avx2|avx512|amx (64-bit ARM: ref|neon;
 * elsewhere: ref|generic) overrides the choice. `amx` is avx512 with another block product
 * (kernel_block_amx.c).
 *
 * LANGEVIN_KERNELS=portable takes the widest of the portable sets (portable1, 4, 8, 16 by lanes,
 * portable_amx), which all give the same bits, on every machine: they do not fuse multiplications
 * and additions, every sum has one order whatever the number of lanes, and they call no function of
 * the C library that machines differ in. While a thread uses such a set, base/portable_math.h and
 * math/dense.h compute portably as well. */
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

/* The upper half of a float: 8 bits of exponent, 8 of precision. */
typedef uint16_t lgv_bf16;

enum {
  LGV_TILE = 512,   /* numbers in a tile of bf16: 1 kB */
  LGV_BLOCK = 1024, /* floats in a block of C */
};

/* C = start + A B for blocks of C, 32 x 32 each, that stand side by side, with A and B in bf16 and
 * sums in float: the product that cores with AMX compute in tiles, with their bits on every
 * machine.
 *
 * A and B are lists of tiles. A tile of A has 16 rows of 32 numbers, one of B has 16 pairs of rows:
 * B(2 k, j) and B(2 k + 1, j) are at b[32 k + 2 j] and the place after it. Step s multiplies the
 * two tiles of A at a + a_at[s] and a_next after it (rows 0 to 15 and 16 to 31 of C) by the two of
 * B at b + b_at[s] and b_next after it (columns 0 to 15 and 16 to 31). If a number is split into a
 * high and a low part (to_bf16), the tiles of the low parts are a_lo or b_lo after those of the
 * high ones. Tiles of C are 16 x 16 floats: tile (i, j) is at c + 256 (2 i + j). The next block has
 * the same A, its tiles of B are b_block further, and those of C LGV_BLOCK further. C must not
 * overlap A or B. Distances and offsets count numbers of bf16. Tiles are aligned to 4 bytes; those
 * that begin on a cache line are faster. If only the first rows of C are wanted, the others, and
 * those of A, may hold anything; the bits of a row do not depend on how many are wanted.
 *
 * Invariant: for each step in order, C(i, j) is increased by up to three sums in this order: A_lo
 * B_hi if a_lo is not 0, A_hi B_hi, and A_hi B_lo if b_lo is not 0. A sum over the 32 numbers of a
 * step is
 *     even = odd = 0; for k = 0 ... 15:
 *       even = fma(A(i, 2 k), B(2 k, j), even)
 *       odd = fma(A(i, 2 k + 1), B(2 k + 1, j), odd)
 *     C(i, j) = C(i, j) + (even + odd)
 * Every operation rounds to nearest, ties to even. Denormal numbers of A, B and C count as 0, and
 * denormal results become 0; both keep their signs. A result is denormal if it is below 2^-126
 * after rounding to 24 bits with an unbounded exponent. The caller's floating-point mode neither
 * matters nor changes. All kernel sets give the same bits, except that any NaN stands for any
 * other. */
typedef struct lgv_block_product {
  int64_t steps;
  const lgv_bf16 *a, *b;
  const int32_t *a_at, *b_at; /* (steps) */
  int64_t a_next, b_next;     /* from the first tile of a step to the second */
  int64_t a_lo, b_lo;         /* from a high part to its low part; 0: not split */
  float *c;
  bool add;       /* C starts from its current values; otherwise it need not be initialized */
  int32_t rows;   /* of C that are wanted, the first ones; 0: all 32 */
  int32_t blocks; /* side by side; 0: 1 */
  int64_t b_block;
} lgv_block_product;

/* What becomes of a block of C: its first `rows` rows and `cols` columns plus bias, then rectified
 * or gated, go to out (distance out_row between rows). */
typedef struct lgv_block_end {
  int64_t rows, cols;
  const float *c;
  const float *bias; /* (cols); or NULL */
  bool rectify;      /* max(x, 0); NaN stays */
  const float *gate; /* laid out as out, which becomes 0 where this is not positive; or NULL */
  float *out;
  int64_t out_row;
} lgv_block_end;

/* The effect of several Adam steps with gradient 0 on a parameter; optim/lazy_adam.h has the
 * equations. */
typedef struct lgv_adam_skip {
  float sum, mean, variance; /* S, and the mean and variance of z */
  float eps;
  float keep_m, keep_v; /* factors of the moments */
} lgv_adam_skip;

typedef struct lgv_kernel_set {
  const char *name;
  bool portable; /* has the bits of all other portable sets */
  void (*product)(const lgv_product *product);
  void (*block)(const lgv_block_product *block); /* see lgv__block_begin */
  void (*end_block)(const lgv_block_end *end);
  /* Numbers of bf16 from floats: hi is nearest to x, ties to even, and lo (may be NULL) nearest to
   * x - hi. Denormal numbers become 0, large ones infinite, and NaN stays NaN. */
  void (*to_bf16)(int64_t count, const float *x, lgv_bf16 *hi, lgv_bf16 *lo);
  /* The same, from x (rows x cols, distance x_row between rows) to a tile of A (up to 16 x 32) or B
   * (up to 32 x 16); the rest of the tile becomes 0. */
  void (*to_a_tile)(int64_t rows, int64_t cols, const float *x, int64_t x_row, lgv_bf16 *hi,
                    lgv_bf16 *lo);
  void (*to_b_tile)(int64_t rows, int64_t cols, const float *x, int64_t x_row, lgv_bf16 *hi,
                    lgv_bf16 *lo);
  /* Makes a tile of B from a tile of A that holds the transposed matrix, and the reverse: to[32 j +
   * 2 i] and the place after it = from[32 i + 2 j] and the place after it. They must not overlap.
   */
  void (*transpose_tile)(const lgv_bf16 *from, lgv_bf16 *to);
  /* sums (cols) = the sum over the rows of x (rows x cols). */
  void (*column_sums)(int64_t rows, int64_t cols, const float *x, float *sums);
  /* sums (cols) = the sum over the rows of x * y (rows x cols). */
  void (*column_dots)(int64_t rows, int64_t cols, const float *x, const float *y, float *sums);
  /* out (rows x columns) = x (rows x cols) times the transpose of y (columns x cols), each number a
   * sum over a row in the order of vector.h: faster than a product if columns are few. */
  void (*row_dots)(int64_t rows, int64_t cols, const float *x, int64_t columns, const float *y,
                   float *out);
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
  void (*approach)(int64_t count, const float *to, float share, float *x); /* x += share (to - x) */
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

/* The set in use: the thread's own choice, otherwise the process's, which is the best that this CPU
 * can run unless LANGEVIN_KERNELS names another one. */
const lgv_kernel_set *lgv__kernels(void);
/* The calling thread computes with this set from now on; NULL: with the process's. Returns the
 * previous choice, to be restored. Products keep the set of the thread that asks for them, whoever
 * helps (matmul_threads.h). */
const lgv_kernel_set *lgv__kernels_choose(const lgv_kernel_set *set);
const lgv_kernel_set *lgv__kernels_portable(void); /* the widest portable set that runs here */
/* Surround work that promises the same bits on every machine: if `portable`, the thread computes
 * with a portable set, its present one or the widest. lgv__kernels_end takes what _begin has
 * returned. */
const lgv_kernel_set *lgv__kernels_begin(bool portable);
void lgv__kernels_end(bool portable, const lgv_kernel_set *previous);
/* Fails if LANGEVIN_KERNELS names an unknown set or one that this CPU cannot run; the best set is
 * in use then. */
LGV_CHECK lgv_status lgv__kernels_check(lgv_error *err);
/* The sets that this CPU can run, plainest first; NULL after the last. */
const lgv_kernel_set *lgv__kernels_at(size_t index);
/* Test hook: makes this the set of the process; NULL: chooses again. */
void lgv__kernels_use(const lgv_kernel_set *set);
void lgv__noise_seed(lgv_noise *noise, lgv_rng *rng);
/* A thread that computes many block products does so between these two calls, which may be nested:
 * with AMX, its tiles are configured at the first product and released at the end, so that no other
 * code of the thread finds them in use. A product outside of them configures and releases the tiles
 * itself: right, but slower. */
void lgv__block_begin(void);
void lgv__block_end(void);

#ifdef LGV_ISA /* direct calls within a set */
void LGV_KERNEL(lgv__product)(const lgv_product *product);
void LGV_KERNEL(lgv__product_row)(const lgv_product *product); /* m = 1 */
void LGV_KERNEL(lgv__block)(const lgv_block_product *block);
void LGV_KERNEL(lgv__end_block)(const lgv_block_end *end);
void LGV_KERNEL(lgv__to_bf16)(int64_t count, const float *x, lgv_bf16 *hi, lgv_bf16 *lo);
void LGV_KERNEL(lgv__to_a_tile)(int64_t rows, int64_t cols, const float *x, int64_t x_row,
                                lgv_bf16 *hi, lgv_bf16 *lo);
void LGV_KERNEL(lgv__to_b_tile)(int64_t rows, int64_t cols, const float *x, int64_t x_row,
                                lgv_bf16 *hi, lgv_bf16 *lo);
void LGV_KERNEL(lgv__transpose_tile)(const lgv_bf16 *from, lgv_bf16 *to);
void LGV_KERNEL(lgv__column_sums)(int64_t rows, int64_t cols, const float *x, float *sums);
void LGV_KERNEL(lgv__row_dots)(int64_t rows, int64_t cols, const float *x, int64_t columns,
                               const float *y, float *out);
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
void LGV_KERNEL(lgv__approach)(int64_t count, const float *to, float share, float *x);
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
