/* Random search: distributions of keys, and the values drawn from them. */
#ifndef LGV_SWEEP_SWEEP_RANDOM_H
#define LGV_SWEEP_SWEEP_RANDOM_H

#include "config/yaml_file.h"
#include "sweep/sweep.h"

typedef enum lgv_draw_kind {
  LGV_DRAW_UNIFORM,
  LGV_DRAW_LOG_UNIFORM,
  LGV_DRAW_INT_UNIFORM, /* both ends included */
  LGV_DRAW_CHOICE,
} lgv_draw_kind;

typedef struct lgv_draw {
  char *key, *origin;
  lgv_draw_kind kind;
  double low, high;
  lgv_axes choice; /* CHOICE: one axis with its values */
} lgv_draw;

typedef struct lgv_random {
  lgv_draw *items;
  size_t count;  /* of keys */
  int64_t draws; /* configurations; 0: not set */
  int64_t seed;  /* -1: not set */
} lgv_random;

/* Adds a key; the caller fills in its distribution. */
LGV_CHECK lgv_status lgv__random_add(lgv_random *random, const char *key, const char *origin,
                                     lgv_draw **draw, lgv_error *err);
lgv_draw *lgv__random_find(const lgv_random *random, const char *key); /* or NULL */
void lgv__random_remove(lgv_random *random, const char *key);
void lgv__random_free(lgv_random *random);
/* Copies every key of `from` into `to`, replacing keys of the same name; also draws and seed if
 * set.
 */
LGV_CHECK lgv_status lgv__random_copy(const lgv_random *from, lgv_random *to, lgv_error *err);
/* One axis per key, each of length random->draws: value i of every axis makes draw i. All draws
 * differ, and none depends on their number. */
LGV_CHECK lgv_status lgv__random_sample(const lgv_random *random, lgv_axes *axes, lgv_error *err);
/* The mapping below `random`. */
LGV_CHECK lgv_status lgv__random_from_yaml(lgv_random *random, lgv_yaml *yaml,
                                           const yaml_node_t *node, lgv_error *err);

#endif
