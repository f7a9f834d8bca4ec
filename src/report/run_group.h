/* What a plot is given: directories of runs, each one run or the seeds of one experiment. */
#ifndef LGV_REPORT_RUN_GROUP_H
#define LGV_REPORT_RUN_GROUP_H

#include "langevin.h"

#include <limits.h>

typedef struct lgv_group {
  char directory[PATH_MAX];
  char env[64], agent[64];
  char label[160];        /* given as LABEL=DIR, or chosen */
  bool labelled;          /* the user gave it */
  lgv_settings *settings; /* of the first run */
  char **runs;            /* (count): directories, in the order of their seeds */
  size_t count;
} lgv_group;

typedef struct lgv_groups {
  lgv_group *items;
  size_t count;
} lgv_groups;

/* inputs: "DIR" or "LABEL=DIR". Labels that were not given become what tells the groups apart: the
 * agent, the environment, both, the parameters that differ, or the name of the directory. */
LGV_CHECK lgv_status lgv__groups_open(lgv_groups *groups, const char *const *inputs, size_t count,
                                      lgv_error *err);
void lgv__groups_close(lgv_groups *groups);

#endif
