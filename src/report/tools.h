/* The private tools library, as the command line sees it: readable tables, JSON, nearest names,
 * the results of runs and sweeps, and pictures. liblangevin needs none of this. */
#ifndef LGV_REPORT_TOOLS_H
#define LGV_REPORT_TOOLS_H

#include "base/clock.h"
#include "base/io/file.h"
#include "base/io/json.h"
#include "base/python.h"
#include "base/text.h"
#include "config/run_directory.h"
#include "langevin.h"
#include "record/summary.h"
#include "report/data/compare.h"
#include "report/plot/figure_file.h"
#include "report/plot/plot.h"
#include "report/print/page.h"
#include "report/print/run_report.h"
#include "report/print/show.h"
#include "report/print/sweep_report.h"
#include "report/print/text_table.h"
#include "sweep/sweep.h"

#endif
