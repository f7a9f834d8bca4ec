/* Results of finished runs: the summary of one, and the aggregate over seeds. */
#ifndef LGV_RECORD_SUMMARY_H
#define LGV_RECORD_SUMMARY_H

#include "base/io/json.h"
#include "langevin.h"

/* The members of summary.json, without the braces. failure: why it stopped early, or NULL. */
void lgv__summary_json(lgv_json *json, const lgv_plan *plan, const lgv_summary *summary,
                       const char *failure);
/* The same where there is no plan, only names. */
void lgv__summary_json_of(lgv_json *json, const char *env, const char *agent,
                          const lgv_summary *summary, const char *failure);
/* The members of aggregate.json, without the braces; over the runs that finished. */
LGV_CHECK lgv_status lgv__aggregate_json(lgv_json *json, const lgv_plan *plan,
                                         const lgv_summary *summaries, size_t count,
                                         lgv_error *err);
/* Estimates one measure over the finished runs. */
LGV_CHECK lgv_status lgv__summary_estimate(const lgv_summary *summaries, size_t count,
                                           size_t measure, lgv_estimate *estimate, lgv_error *err);
lgv_summary lgv__summary_none(uint64_t seed); /* of a run that has not started */
/* The same as lgv_summary_load, where a run without a whole summary.json is no error: *found says
 * whether there is one. A file that cannot be read is: its run must not pass for an unfinished
 * one. */
LGV_CHECK lgv_status lgv__summary_find(const char *directory, bool *found, lgv_summary *summary,
                                       lgv_error *err);

#endif
