/* Describes a directory of runs for people: configuration, result, timing, files. */
#ifndef LGV_REPORT_PRINT_SHOW_H
#define LGV_REPORT_PRINT_SHOW_H

#include "report/data/run_group.h"

#include <stdio.h>

/* directory: of a run, of its seeds, or of several experiments, such as a sweep. */
LGV_CHECK lgv_status lgv__show(const char *directory, FILE *out, lgv_error *err);

/* The settings of a group: those that are not the default, then the others. html: for a page. */
LGV_CHECK lgv_status lgv__show_settings(const lgv_group *group, bool html, FILE *out,
                                        lgv_error *err);
/* "langevin run --env E --agent A --set K=V ... --seed S --seeds N": the command that repeats a
 * group. */
LGV_CHECK lgv_status lgv__show_command(const lgv_group *group, FILE *out, lgv_error *err);
/* How many of a group's runs are in which state: "5 finished, 1 interrupted". */
LGV_CHECK lgv_status lgv__show_states(const lgv_group *group, char *text, size_t size,
                                      lgv_error *err);

#endif
