/* Aligned columns of text for people to read. */
#ifndef LGV_REPORT_PRINT_TEXT_TABLE_H
#define LGV_REPORT_PRINT_TEXT_TABLE_H

#include "langevin.h"

#include <stdio.h>

typedef struct lgv_table {
  const char *align; /* one letter per column: l or r */
  size_t columns;
  char **cells; /* row by row */
  size_t count, capacity;
  bool failed; /* out of memory; the cells so far are still printed */
} lgv_table;

lgv_table lgv__table(const char *align);
/* The next cell, left to right, top to bottom. */
void lgv__table_cell(lgv_table *table, const char *format, ...) LGV_PRINTF(2, 3);
/* The number with 4 significant digits; "-" for NaN. */
void lgv__table_real(lgv_table *table, double value);
/* Other forms of the same table, the first row its head; both free the cells. HTML is escaped. */
void lgv__table_markdown(lgv_table *table, FILE *out);
void lgv__table_html(lgv_table *table, FILE *out);
/* Whether something was printed that lacks a part because memory ran out; the command must not
 * claim success. Printing is done by one thread. */
bool lgv__output_is_incomplete(void);
void lgv__mark_output_incomplete(void);
/* A text with & < > " ' escaped. */
void lgv__html_text(FILE *out, const char *text);
/* Plain text whose control characters are made visible (lgv__make_visible). */
void lgv__put_visible(FILE *out, const char *text);
/* indent: blanks before every line. A last left-aligned column is wrapped so that lines have at
 * most `width` bytes. Frees the cells. */
void lgv__table_print(lgv_table *table, FILE *out, int indent, int width);
/* Of a table that is not printed. */
void lgv__table_free(lgv_table *table);
/* 4 significant digits, without an exponent where that is readable. */
void lgv__format_short(double value, char *text, size_t size);
/* A word of a command line that people copy: in single quotes if a shell would change it. */
void lgv__shell_word(FILE *out, const char *text);

#endif
