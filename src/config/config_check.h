/* Whether the records of a directory are those of a plan. */
#ifndef LGV_CONFIG_CONFIG_CHECK_H
#define LGV_CONFIG_CONFIG_CHECK_H

#include "config/plan.h"

/* EXACTLY: every value is the same. UP_TO_BUDGET: a run may go on for longer (or less long) than it
 * was first asked to: run.steps and run.episodes may differ. */
typedef enum lgv_config_match { LGV_EXACTLY, LGV_UP_TO_BUDGET } lgv_config_match;

/* Refuses a directory whose config.json has other settings, and names the first that differs; one
 * without config.json is fine. */
LGV_CHECK lgv_status lgv__config_check(const lgv_plan *plan, uint64_t seed, const char *directory,
                                       lgv_config_match match, lgv_error *err);
/* Refuses a plan that ends before what its run has done already: config.json would tell of less
 * than the records hold. A round of run.envs steps may go beyond a budget. */
LGV_CHECK lgv_status lgv__config_check_budget(const lgv_plan *plan, int64_t steps, int64_t episodes,
                                              const char *directory, lgv_error *err);

#endif
