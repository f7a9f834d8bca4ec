/* A plane rotation of many pairs of numbers, for updates of Cholesky factors. */
#include "math/kernels.h"

void LGV_KERNEL(lgv__rotate)(int64_t count, double cosine, double sine, double *restrict a,
                             double *restrict b) {
  for (int64_t i = 0; i < count; i++) {
    double before = a[i];
    a[i] = cosine * before + sine * b[i];
    b[i] = cosine * b[i] - sine * before;
  }
}
