#include "report/print/text_table.h"

#include "base/memory.h"
#include "base/text.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { GAP = 2, MOST_COLUMNS = 32, NARROWEST = 24 };

lgv_table lgv__table(const char *align) {
  return (lgv_table){.align = align, .columns = strlen(align)};
}

static bool incomplete;

bool lgv__output_is_incomplete(void) { return incomplete; }

void lgv__mark_output_incomplete(void) { incomplete = true; }

static void add(lgv_table *t, const char *text) {
  if (t->count == t->capacity) {
    size_t capacity = t->capacity ? 2 * t->capacity : 64;
    char **grown = lgv__realloc(t->cells, capacity * sizeof *grown);
    if (!grown) {
      t->failed = true;
      return;
    }
    t->cells = grown;
    t->capacity = capacity;
  }
  char *copy = lgv__strdup(text);
  if (copy)
    t->cells[t->count++] = copy;
  else
    t->failed = true;
}

void lgv__table_cell(lgv_table *table, const char *format, ...) {
  char text[1024], visible[2 * sizeof text];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  lgv__make_visible(text, visible, sizeof visible);
  add(table, visible);
}

void lgv__format_short(double value, char *text, size_t size) {
  double magnitude = fabs(value);
  if (isnan(value))
    snprintf(text, size, "-");
  else if (isinf(value))
    snprintf(text, size, "never"); /* until a goal is reached */
  else if (magnitude >= 1000 && magnitude < 1e15)
    snprintf(text, size, "%.0f", value);
  else
    snprintf(text, size, "%.4g", value);
}

void lgv__table_real(lgv_table *table, double value) {
  char text[40];
  lgv__format_short(value, text, sizeof text);
  add(table, text);
}

static void print_blanks(FILE *out, int count) {
  for (int i = 0; i < count; i++) fputc(' ', out);
}

/* Bytes of the first line of text when broken at blanks to fit in width. */
static int line_length(const char *text, int width) {
  int length = (int)strlen(text);
  if (length <= width) return length;
  for (int i = width; i > 0; i--)
    if (text[i] == ' ') return i;
  return width;
}

static void print_wrapped(FILE *out, const char *text, int column, int width) {
  int room = width - column > NARROWEST ? width - column : NARROWEST;
  for (;;) {
    int length = line_length(text, room);
    fprintf(out, "%.*s\n", length, text);
    text += length;
    while (*text == ' ') text++;
    if (!*text) return;
    print_blanks(out, column);
  }
}

static void print_row(const lgv_table *t, char **row, const int *widths, FILE *out, int indent,
                      int width) {
  int column = indent;
  print_blanks(out, indent);
  for (size_t c = 0; c < t->columns; c++) {
    bool last = c + 1 == t->columns;
    if (last && t->align[c] == 'l') {
      print_wrapped(out, row[c], column, width);
      return;
    }
    fprintf(out, t->align[c] == 'r' ? "%*s" : "%-*s", widths[c], row[c]);
    if (!last) print_blanks(out, GAP);
    column += widths[c] + GAP;
  }
  fputc('\n', out);
}

void lgv__table_free(lgv_table *t) {
  if (t->failed) lgv__mark_output_incomplete();
  for (size_t i = 0; i < t->count; i++) lgv__free(t->cells[i]);
  lgv__free(t->cells);
  *t = (lgv_table){0};
}

void lgv__table_print(lgv_table *t, FILE *out, int indent, int width) {
  int widths[MOST_COLUMNS] = {0};
  for (size_t i = 0; i < t->count; i++) {
    int length = (int)strlen(t->cells[i]);
    int *widest = &widths[i % t->columns % MOST_COLUMNS];
    if (length > *widest) *widest = length;
  }
  for (size_t i = 0; i + t->columns <= t->count; i += t->columns)
    print_row(t, t->cells + i, widths, out, indent, width);
  lgv__table_free(t);
}

/* ---- Markdown and HTML ---- */

static void markdown_row(const lgv_table *t, size_t first, FILE *out) {
  for (size_t c = 0; c < t->columns; c++) {
    fputs(c ? " | " : "| ", out);
    for (const char *k = t->cells[first + c]; *k; k++) /* a bar would end the cell */
      fprintf(out, *k == '|' ? "\\|" : "%c", *k);
  }
  fputs(" |\n", out);
}

void lgv__table_markdown(lgv_table *t, FILE *out) {
  for (size_t i = 0; i + t->columns <= t->count; i += t->columns) {
    markdown_row(t, i, out);
    if (i > 0) continue;
    for (size_t c = 0; c < t->columns; c++) fputs(t->align[c] == 'r' ? "|---:" : "|---", out);
    fputs("|\n", out);
  }
  lgv__table_free(t);
}

static void put_html(FILE *out, const char *text) {
  for (; *text; text++) switch (*text) {
    case '&': fputs("&amp;", out); break;
    case '<': fputs("&lt;", out); break;
    case '>': fputs("&gt;", out); break;
    case '"': fputs("&quot;", out); break;
    case '\'': fputs("&#39;", out); break;
    default: fputc(*text, out);
    }
}

/* In parts, none of which ends within a control character of two bytes. */
static void put_visible(FILE *out, const char *text, void (*put)(FILE *out, const char *text)) {
  char part[256], visible[4 * sizeof part + 8];
  for (size_t length; *text; text += length) {
    snprintf(part, sizeof part, "%s", text);
    length = strlen(part);
    if (text[length] && (unsigned char)part[length - 1] == 0xc2) part[--length] = '\0';
    lgv__make_visible(part, visible, sizeof visible);
    put(out, visible);
  }
}

static void put_plain(FILE *out, const char *text) { fputs(text, out); }

void lgv__put_visible(FILE *out, const char *text) { put_visible(out, text, put_plain); }

void lgv__html_text(FILE *out, const char *text) { put_visible(out, text, put_html); }

void lgv__table_html(lgv_table *t, FILE *out) {
  fputs("<div class=\"wide\"><table>\n", out);
  for (size_t i = 0; i + t->columns <= t->count; i += t->columns) {
    const char *tag = i ? "td" : "th";
    fputs("<tr>", out);
    for (size_t c = 0; c < t->columns; c++) {
      fprintf(out, "<%s%s>", tag, t->align[c] == 'r' ? " class=\"r\"" : "");
      lgv__html_text(out, t->cells[i + c]);
      fprintf(out, "</%s>", tag);
    }
    fputs("</tr>\n", out);
  }
  fputs("</table></div>\n", out);
  lgv__table_free(t);
}

void lgv__shell_word(FILE *out, const char *text) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-+.,:/@%=";
  if (*text && !text[strspn(text, plain)]) {
    fputs(text, out);
    return;
  }
  char visible[2 * PATH_MAX];
  lgv__make_visible(text, visible, sizeof visible);
  fputc('\'', out);
  for (const char *c = visible; *c; c++) fprintf(out, *c == '\'' ? "'\\''" : "%c", *c);
  fputc('\'', out);
}
