/* A sweep, expanded: cases, and the axes of each case's grid and of its random draws. */
#ifndef LGV_SWEEP_SWEEP_H
#define LGV_SWEEP_SWEEP_H

#include "config/yaml_file.h"
#include "langevin.h"

#include <stdio.h>

typedef struct lgv_axis {
  char *key;
  char **values, **origins; /* (count) each; origin: "file.yaml:3:5" */
  size_t count, capacity;
} lgv_axis;

typedef struct lgv_axes {
  lgv_axis *items;
  size_t count;
} lgv_axes;

typedef struct lgv_case {
  lgv_settings *settings; /* the common ones, overridden by the case's own */
  lgv_axes axes;          /* of the grid: every combination */
  lgv_axes draws;         /* of the random search: equally long, and read side by side */
  size_t combinations;    /* of the grid */
  size_t first, configs;  /* its configurations: first, first + 1, ... */
  struct lgv_random
      *random;   /* the distributions that the draws are from, NULL while the case is read */
  char *label;   /* a template, or NULL */
  int32_t seeds; /* 0: those of the file */
} lgv_case;

struct lgv_sweep {
  lgv_sweep_info info;
  lgv_case *cases;
  char **keys;
  size_t n_keys;
  char about[LGV_SWEEP_LABEL_SIZE];
};

LGV_CHECK lgv_status lgv__axes_add(lgv_axes *axes, const char *key, lgv_axis **axis,
                                   lgv_error *err);
LGV_CHECK lgv_status lgv__axis_add(lgv_axis *axis, const char *value, const char *origin,
                                   lgv_error *err);
lgv_axis *lgv__axes_find(const lgv_axes *axes, const char *key); /* or NULL */
/* Copies every axis of `from` into `to`, replacing axes of the same key. */
LGV_CHECK lgv_status lgv__axes_copy(const lgv_axes *from, lgv_axes *to, lgv_error *err);
void lgv__axes_remove(lgv_axes *axes, const char *key);
void lgv__axes_free(lgv_axes *axes);
/* Adds a case, which then owns settings, axes and draws, and numbers its configurations. label may
 * be NULL. */
LGV_CHECK lgv_status lgv__sweep_add_case(lgv_sweep *sweep, lgv_settings *settings, lgv_axes axes,
                                         lgv_axes draws, const char *label, lgv_error *err);
/* Whether the configuration of a run has its seed. */
bool lgv__sweep_has_run(const lgv_sweep *sweep, size_t run);
/* Adds a key in which configurations differ, unless it was added before. */
LGV_CHECK lgv_status lgv__sweep_add_key(lgv_sweep *sweep, const char *key, lgv_error *err);

/* Lists of runs as batch systems write them: "3,5-9", with steps "0-8:4" for 0, 4 and 8, and "2-:4"
 * for every fourth run from run 2 to the last. Sets the members of `set` that the list names. */
LGV_CHECK lgv_status lgv__run_list_parse(const char *text, bool *set, size_t count, lgv_error *err);
/* Prints the shortest list without steps; nothing for an empty set. */
void lgv__run_list_print(const bool *set, size_t count, FILE *out);
/* The values of a list, or one plain value. name: as the file has it. */
LGV_CHECK lgv_status lgv__axis_from_yaml(lgv_axis *axis, lgv_yaml *yaml, const yaml_node_t *node,
                                         const char *name, lgv_error *err);

#endif
