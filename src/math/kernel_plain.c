/* The matrix product of the reference set: the definition as plain loops, against which the other
 * sets are tested. */
#include "math/kernels.h"

#if LGV_LANES == 1

void LGV_KERNEL(lgv__product)(const lgv_product *g) {
  for (int64_t i = 0; i < g->m; i++) {
    const float *a = g->a + (g->a_rows ? g->a_rows[i] : i * g->a_row);
    int64_t row = g->c_rows ? g->c_rows[i] : i * g->c_row;
    for (int64_t j = 0; j < g->n; j++) {
      float sum = g->add ? g->c[row + j] : g->bias ? g->bias[j] : 0;
      for (int64_t p = 0; p < g->k; p++)
        sum += a[g->a_cols ? g->a_cols[p] : p * g->a_col] * g->b[p * g->b_row + j];
      if (g->rectify && sum < 0) sum = 0;
      if (g->gate && !(g->gate[row + j] > 0)) sum = 0;
      g->c[row + j] = sum;
    }
  }
}

#endif
