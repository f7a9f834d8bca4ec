/* The features of many observations, one row each, as a history keeps them: floats, or of a map
 * most of whose features are 0 the places of the others.
 *
 * phi(row, a) is the part of a row that belongs to action a: of a map by action the a-th m numbers,
 * else the whole row, which then stands for block a of e_a (x) psi(x). Products over several rows
 * are in float; sums over more of them are the caller's.
 *
 * Invariant: a row is written by lgv__feature_rows_map only. */
#ifndef LGV_AGENT_LINEAR_FEATURE_ROWS_H
#define LGV_AGENT_LINEAR_FEATURE_ROWS_H

#include "langevin.h"

typedef struct feature_rows {
  const lgv_feature_type *map;
  const void *self; /* of the map */
  int64_t m;        /* features of an action */
  int64_t parts;    /* of a row: actions of a map by action, else 1 */
  int64_t active;   /* entries of a row that are not 0; 0: rows are dense */
  int64_t group;    /* the most rows that are multiplied at once */
  float *dense;     /* (capacity x parts x m) */
  int32_t *places;  /* (capacity x active) */
  float *gathered;  /* (group x parts x m): rows that are not neighbors */
} feature_rows;

/* Sets the sizes; actions: of the environment. */
void lgv__feature_rows_init(feature_rows *rows, const lgv_feature_type *map, const void *self,
                            const void *params, int64_t m, int32_t actions);
/* name, gathered: of the arrays. group: the most rows of a product; 0: there are none. */
void lgv__feature_rows_layout(feature_rows *rows, const char *name, int64_t capacity,
                              const char *gathered, int64_t group, lgv_layout *layout);
/* Numbers that a row takes. */
int64_t lgv__feature_rows_width(const feature_rows *rows);
/* Rows `at` and following become the features of n inputs; refuses what is not finite. */
LGV_CHECK lgv_status lgv__feature_rows_map(feature_rows *rows, const float *x, int64_t at,
                                           int64_t n, lgv_error *err);
/* Rows 0 to count - 1 become those from `first` on. */
void lgv__feature_rows_move(feature_rows *rows, int64_t first, int64_t count);
double lgv__feature_rows_square(const feature_rows *rows, int64_t row); /* greatest ||phi||^2 */

/* ---- one row and action ---- */
double lgv__feature_rows_dot(const feature_rows *rows, int64_t row, int32_t action,
                             const double *w);
void lgv__feature_rows_add(const feature_rows *rows, int64_t row, int32_t action, double scale,
                           double *out);
/* out[j * stride] = phi_j */
void lgv__feature_rows_write(const feature_rows *rows, int64_t row, int32_t action, double *out,
                             int64_t stride);

/* ---- n rows, ascending; place[i]: where row i is among those that the product reads ---- */

/* Finds the places, and how many rows the product reads: the whole stretch where the rows are close
 * together, else the rows alone. */
int64_t lgv__feature_rows_places(const feature_rows *rows, const int64_t *which, int64_t n,
                                 int64_t *place);
/* Where weight j of a column is among the weights of a product. */
int64_t lgv__feature_rows_weight(const feature_rows *rows, int64_t columns, int64_t column,
                                 int64_t j);
/* q (count x parts x columns) = the rows `ahead` after those, times weights. */
void lgv__feature_rows_multiply(feature_rows *rows, const int64_t *which, int64_t n, int64_t count,
                                int64_t ahead, const float *weights, int64_t columns, float *q);
/* out (sums x m) = y (sums x count x parts) times the rows. */
void lgv__feature_rows_combine(feature_rows *rows, const int64_t *which, int64_t n, int64_t count,
                               const float *y, int64_t sums, float *out);

#endif
