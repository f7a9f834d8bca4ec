/* Products with a single row of A, such as the one observation that an agent acts on. Nothing of B
 * is used twice, so the cost is that of reading it. Therefore B is read row by row in memory order,
 * several rows per pass over C, and a row whose factor is 0, as about half are after a rectifier,
 * is not read at all. */
#include "math/fused.h"

#if LGV_LANES > 1

enum { ROWS = 8 }; /* of B per pass */

/* c (n) += sum over r of x[r] b[r], in order of r. count is at most ROWS, and a compile-time
 * constant where that matters. */
INLINE void add_rows(int count, int64_t n, const float *const b[ROWS], const float x[ROWS],
                     float *c) {
  int64_t j = 0;
  for (; j + LANES <= n; j += LANES) {
    vec sum = load(c + j);
    EACH (r, count) sum = fused(x[r], load(b[r] + j), sum);
    store(c + j, sum);
  }
  for (; j < n; j++) {
    float sum = c[j];
    EACH (r, count) sum = fused_number(x[r], b[r][j], sum);
    c[j] = sum;
  }
}

void LGV_KERNEL(lgv__product_row)(const lgv_product *g) {
  const float *a = g->a + (g->a_rows ? g->a_rows[0] : 0);
  int64_t offset = g->c_rows ? g->c_rows[0] : 0;
  float *c = g->c + offset;
  for (int64_t j = 0; j < g->n && !g->add; j++) c[j] = g->bias ? g->bias[j] : 0;
  const float *b[ROWS];
  float x[ROWS];
  int taken = 0;
  for (int64_t p = 0; p < g->k; p++) {
    x[taken] = a[g->a_cols ? g->a_cols[p] : p * g->a_col];
    b[taken] = g->b + p * g->b_row;
    if (x[taken] == 0) continue;
    if (++taken < ROWS) continue;
    add_rows(ROWS, g->n, b, x, c);
    taken = 0;
  }
  for (int r = 0; r < taken; r++) add_rows(1, g->n, b + r, x + r, c);
  if (g->rectify) LGV_KERNEL(lgv__rectify)(g->n, c);
  if (g->gate) LGV_KERNEL(lgv__gate)(g->n, g->gate + offset, c);
}

#endif
