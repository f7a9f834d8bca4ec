/* Columns of numbers from a CSV file such as metrics.csv; and fields to write. */
#ifndef LGV_REPORT_DATA_CSV_FILE_H
#define LGV_REPORT_DATA_CSV_FILE_H

#include "langevin.h"

#include <stdio.h>

typedef struct lgv_series {
  double *x, *y; /* (count) each; rows in which either field is empty are left out */
  size_t count, capacity;
} lgv_series;

/* Reads two columns by name. A last line without its end is left out: the run that wrote it was
 * stopped, or is still writing. Errors name file:line. */
LGV_CHECK lgv_status lgv__csv_read(const char *path, const char *x_name, const char *y_name,
                                   lgv_series *series, lgv_error *err);
/* Whether the file has the column. */
LGV_CHECK lgv_status lgv__csv_has(const char *path, const char *name, bool *has, lgv_error *err);
void lgv__series_free(lgv_series *series);
/* A field; one with a comma, a quote or an end of line is quoted, as RFC 4180 says. */
void lgv__csv_text(FILE *out, const char *text);
/* A comma and a number with all its digits; for NaN only the comma. */
void lgv__csv_real(FILE *out, double value);

#endif
