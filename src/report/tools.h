/* The private tools library, as the command line sees it: readable tables, JSON, nearest names,
 * the results of runs and sweeps, and pictures. liblangevin needs none of this. */
#ifndef LGV_REPORT_TOOLS_H
#define LGV_REPORT_TOOLS_H

#include "base/file.h"
#include "base/json.h"
#include "langevin.h"
#include "report/compare.h"
#include "report/figure_file.h"
#include "report/page.h"
#include "report/plot.h"
#include "report/plot_values.h"
#include "report/run_report.h"
#include "report/shell_word.h"
#include "report/show.h"
#include "report/sweep_report.h"
#include "report/text_table.h"
#include "run/index_list.h"
#include "run/seeds.h"

/* The name nearest to a wrong one, or NULL; names: a NULL-terminated list. */
const char *lgv__nearest_name(const char *wrong, const char *const *names);

#endif
