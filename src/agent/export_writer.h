/* The file that lgv_agent_export is writing, and the forms that a policy takes in it: a table
 * (export_table.c), a network (export_net.c) or a feature map (export_features.c). A form writes
 * one function of values; what acts by these values is the same for all (export.c). */
#ifndef LGV_AGENT_EXPORT_WRITER_H
#define LGV_AGENT_EXPORT_WRITER_H

#include "agent/builtin.h"
#include "agent/export.h"

#include <stdio.h>

typedef struct export_writer {
  FILE *file;
  const char *name; /* prefix of the functions */
  lgv_agent *agent;
  const lgv_env_spec *env;
  lgv_policy_parts parts;
  bool is_table;
  bool int8;             /* weights of networks are rounded to 8 bits */
  int64_t members;       /* whose values the function of values writes, (members x actions) */
  char parameters[120];  /* that say where the agent is: "int stage, const float *obs" */
  const char *arguments; /* "stage, obs" */
  const char *obs_parameters, *obs_arguments; /* the same without the stage */
  char outside[60]; /* the condition that they lie outside the problem; "": they never do */
  bool by_rank;     /* a table has its own NAME_act */
  bool not_finite;  /* a number that was written */
} export_writer;

/* Reads back to the same bits, with a decimal point in every locale. */
void lgv__export_number(export_writer *w, double x, int digits, const char *suffix);
/* The separator before element i of an array. */
void lgv__export_separator(export_writer *w, int64_t i, int64_t per_line);
/* Of each of `copies` rows, `stride` apart, the first `count`. */
void lgv__export_floats(export_writer *w, const char *name, const float *x, int64_t copies,
                        int64_t stride, int64_t count);
void lgv__export_doubles(export_writer *w, const char *name, const double *x, int64_t count);
/* The first line of the function of values, void NAME(..., double *q) {; with one member that is
 * NAME_q itself. */
void lgv__export_begin_values(export_writer *w);

LGV_CHECK lgv_status lgv__export_table(export_writer *w, lgv_error *err);
LGV_CHECK lgv_status lgv__export_network(export_writer *w, lgv_error *err);
LGV_CHECK lgv_status lgv__export_features(export_writer *w, lgv_error *err);

#endif
