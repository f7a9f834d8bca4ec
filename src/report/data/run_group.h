/* Directories of runs, the input of plots and tables. A group is one run, or the seeds of one
 * experiment; a row is the groups of one label: one curve, one color of bars, one line of a table.
 */
#ifndef LGV_REPORT_DATA_RUN_GROUP_H
#define LGV_REPORT_DATA_RUN_GROUP_H

#include "langevin.h"

#include <limits.h>
#include <sys/types.h>

enum { LGV_LABEL_SIZE = 160 };

typedef struct lgv_group {
  char directory[PATH_MAX];
  dev_t device; /* with inode: the directory, whatever its path */
  ino_t inode;
  char env[64], agent[64];
  char label[LGV_LABEL_SIZE]; /* given as LABEL=DIR, or chosen */
  bool labeled;               /* the user gave it */
  char task[LGV_LABEL_SIZE];  /* the values of `over`: groups of one label may differ in it */
  lgv_settings *settings;     /* of the first run */
  char **runs;                /* (count): directories, in the order of their seeds */
  size_t count;
} lgv_group;

typedef struct lgv_row {
  const char *label;
  lgv_group *groups; /* (count) */
  size_t count;
} lgv_row;

typedef struct lgv_groups {
  lgv_group *items; /* (count): row after row */
  size_t count, capacity;
  lgv_row *rows;
  size_t row_count;
} lgv_groups;

typedef struct lgv_selection {
  const char *const *inputs; /* (count): DIR or LABEL=DIR; DIR may hold the directories of several
                                experiments, as a sweep's does */
  size_t count;
  const char *where; /* "KEY=VALUE,...": groups that have other values are left out; NULL: none */
  const char *label; /* "KEY,...": the keys that label rows, overriding LABEL=; NULL: see
                        lgv__groups_open */
  const char *over;  /* a key, or "env." for all of the environment, in which the groups of a row
                        may differ; NULL: every group is a row */
} lgv_selection;

/* Labels that were not given are chosen to distinguish the rows: the agent, the environment, both,
 * the parameters that differ, or the name of the directory. Groups of equal labels are one row. */
LGV_CHECK lgv_status lgv__groups_open(lgv_groups *groups, const lgv_selection *selection,
                                      lgv_error *err);
void lgv__groups_close(lgv_groups *groups);
/* Where the directory begins in [LABEL=]DIR. */
const char *lgv__input_directory(const char *text);
enum { LGV_MOST_VARIED = 64 };
/* The settings in which groups differ, besides run.*: names; and of the others those in which
 * groups of the same environment or agent differ, since the name implies the rest.
 * Returns how many, at most LGV_MOST_VARIED; keys: the groups' own. */
size_t lgv__groups_varied(const lgv_groups *groups, const char *keys[LGV_MOST_VARIED]);
/* Fills in labels and tasks; for lgv__groups_open. */
LGV_CHECK lgv_status lgv__groups_label(lgv_groups *groups, const lgv_selection *selection,
                                       lgv_error *err);

/* Values of settings as text: equal if they are the same number. */
bool lgv__same_value(const char *a, const char *b);
/* Ascending if all values are numbers; otherwise their order stays. */
void lgv__sort_values(const char **values, size_t count);

#endif
