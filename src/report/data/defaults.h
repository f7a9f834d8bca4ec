/* Finds the settings of a run that differ from the defaults. */
#ifndef LGV_REPORT_DATA_DEFAULTS_H
#define LGV_REPORT_DATA_DEFAULTS_H

#include "report/data/run_group.h"

typedef struct lgv_defaults {
  lgv_plan *plan;               /* of the environment and agent alone; NULL: unknown */
  const lgv_settings *settings; /* the run's */
} lgv_defaults;

/* Environments in other processes are not started for this: the defaults of their parameters count.
 */
LGV_CHECK lgv_status lgv__defaults_open(lgv_defaults *defaults, const lgv_settings *settings,
                                        lgv_error *err);
void lgv__defaults_close(lgv_defaults *defaults);
/* Whether the value is the default. Names, the seed and the version are never called different. */
bool lgv__is_default(const lgv_defaults *defaults, const char *key, const char *value);

#endif
