/* A report: one self-contained HTML page with settings, tables and figures. */
#ifndef LGV_REPORT_PRINT_PAGE_H
#define LGV_REPORT_PRINT_PAGE_H

#include "langevin.h"

typedef struct lgv_page {
  const char *const *inputs; /* (count): DIR or LABEL=DIR, see lgv_selection */
  size_t count;
  const char *out;                   /* FILE.html */
  const char *title;                 /* or NULL */
  const char *where, *label;         /* see lgv_selection; or NULL */
  const char *measure;               /* NULL: regret where every run has it, else final_return */
  const char *statistic, *threshold; /* see lgv_plot and lgv_compare */
} lgv_page;

LGV_CHECK lgv_status lgv__page_write(const lgv_page *page, lgv_error *err);

#endif
