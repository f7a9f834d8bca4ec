/* A directory holds the records of one run, which must be those of its plan, or the directories
 * seed-S of several seeds. Readers take it for one of the two, so they must not be mixed. */
#ifndef LGV_CONFIG_RUN_DIRECTORY_H
#define LGV_CONFIG_RUN_DIRECTORY_H

#include "config/plan.h"

/* EXACTLY: every value is the same. UP_TO_BUDGET: run.steps and run.episodes may differ, since a
 * run can be extended. */
typedef enum lgv_config_match { LGV_EXACTLY, LGV_UP_TO_BUDGET } lgv_config_match;
enum { LGV_DIFFERENCE_SIZE = 700 };

/* Refuses a directory whose config.json has other settings, and names the first that differs; a
 * directory without config.json passes. */
LGV_CHECK lgv_status lgv__config_check(const lgv_plan *plan, uint64_t seed, const char *directory,
                                       lgv_config_match match, lgv_error *err);
/* Whether settings, in the form of config.json, are those of the plan up to its budget. If not,
 * what (size bytes) names the first difference: "agent.batch is 32 there, here 64". */
LGV_CHECK lgv_status lgv__config_compare(const lgv_plan *plan, uint64_t seed, const char *settings,
                                         bool *same, char *what, size_t size, lgv_error *err);
/* The same for the text that config.json would have. */
LGV_CHECK lgv_status lgv__config_check_text(const char *text, const char *directory,
                                            lgv_config_match match, lgv_error *err);
/* Refuses a plan whose budget is less than its run has done already: config.json would contradict
 * the records. A round of run.envs steps may exceed a budget. */
LGV_CHECK lgv_status lgv__config_check_budget(const lgv_plan *plan, int64_t steps, int64_t episodes,
                                              const char *directory, lgv_error *err);

typedef struct lgv_seeds {
  uint64_t first, last;
  int64_t count; /* less than there are from first to last if some are missing */
} lgv_seeds;

enum { LGV_SEED_NAME_SIZE = 32 };
void lgv__seed_name(uint64_t seed, char *name);
/* The seeds in a directory; none if there is no such directory. */
LGV_CHECK lgv_status lgv__seeds_in(const char *directory, lgv_seeds *seeds, lgv_error *err);
/* Refuses a directory of several seeds where one run is meant. */
LGV_CHECK lgv_status lgv__seeds_check_none(const char *directory, lgv_error *err);

#endif
