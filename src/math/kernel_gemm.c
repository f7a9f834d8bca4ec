/* Matrix products. */
#include "math/kernels.h"

void LGV_KERNEL(lgv__gemm)(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row,
                           int64_t a_col, const float *b, int64_t b_row, float beta, float *c,
                           int64_t c_row);

void LGV_KERNEL(lgv__gemm)(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row,
                           int64_t a_col, const float *b, int64_t b_row, float beta, float *c,
                           int64_t c_row) {
  for (int64_t i = 0; i < m; i++) {
    float *row = c + i * c_row;
    if (beta == 0)
      for (int64_t j = 0; j < n; j++) row[j] = 0;
    for (int64_t p = 0; p < k; p++)
      for (int64_t j = 0; j < n; j++) row[j] += a[i * a_row + p * a_col] * b[p * b_row + j];
  }
}
