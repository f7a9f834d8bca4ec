#include "base/text.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 64 };

/* The control character at the beginning of a text, or -1: ASCII, or U+0080 to U+009F in UTF-8. */
static int control_at(const char *text, size_t *length) {
  unsigned char c = (unsigned char)text[0], d = c ? (unsigned char)text[1] : 0;
  *length = c == 0xc2 && d >= 0x80 && d <= 0x9f ? 2 : 1;
  if (*length == 2) return d;
  return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ? c : -1;
}

void lgv__make_visible(const char *text, char *visible, size_t size) {
  enum { ESCAPE = 4 };
  size_t used = 0, length;
  while (*text) {
    int control = control_at(text, &length);
    if (used + (control < 0 ? 1 : ESCAPE) >= size) break;
    if (control < 0)
      visible[used++] = *text;
    else
      used += (size_t)snprintf(visible + used, size - used, "\\x%02x", (unsigned)control);
    text += length;
  }
  if (size > 0) visible[used] = '\0';
}

int lgv__edit_distance(const char *a, const char *b) {
  size_t n = strnlen(a, LONGEST), m = strnlen(b, LONGEST);
  int row[3][LONGEST + 1]; /* rows i, i-1 and i-2 of the table, reused in turn */
  for (size_t i = 0; i <= n; i++) {
    int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
    for (size_t j = 0; j <= m; j++) {
      if (i == 0 || j == 0) {
        now[j] = (int)(i + j);
        continue;
      }
      int best = last[j - 1] + (a[i - 1] != b[j - 1]);
      if (last[j] + 1 < best) best = last[j] + 1;
      if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
      now[j] = best;
    }
  }
  return row[n % 3][m];
}

bool lgv__is_near(const char *wrong, const char *right, int distance) {
  size_t length = strlen(wrong);
  if (length >= 3 && strncmp(wrong, right, length) == 0) return true;
  return distance <= 1 + (int)(length / 3);
}

void lgv__guess_offer(lgv_guess *guess, const char *name) {
  int distance = lgv__edit_distance(guess->wrong, name);
  if (!lgv__is_near(guess->wrong, name, distance)) return;
  if (guess->best && guess->distance <= distance) return;
  guess->best = name;
  guess->distance = distance;
}

const char *lgv__nearest_name(const char *wrong, const char *const *names) {
  lgv_guess guess = {.wrong = wrong};
  for (; *names; names++) lgv__guess_offer(&guess, *names);
  return guess.best;
}

static locale_t plain_locale;
static pthread_once_t plain_once = PTHREAD_ONCE_INIT;

static void make_plain_locale(void) { plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

/* Switches this thread to the C locale and returns the previous locale. */
static locale_t enter_plain_locale(void) {
  pthread_once(&plain_once, make_plain_locale);
  return uselocale(plain_locale);
}

void lgv__format_real(double x, char *text, size_t size) {
  if (isnan(x) || isinf(x)) {
    snprintf(text, size, "%s", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    return;
  }
  locale_t before = enter_plain_locale();
  /* Every decimal of up to 15 digits survives being a double, so 15 also finds the shorter ones;
   * subnormals hold fewer digits. */
  char shortest[40];
  int digits = fabs(x) < DBL_MIN ? 1 : 15;
  do snprintf(shortest, sizeof shortest, "%.*g", digits, x);
  while (strtod(shortest, NULL) != x && ++digits <= 17);
  uselocale(before);
  snprintf(text, size, "%s", shortest);
}

void lgv__format_rounded(double x, int digits, char *text, size_t size) {
  locale_t before = enter_plain_locale();
  snprintf(text, size, "%.*g", digits, x);
  uselocale(before);
}

bool lgv__parse_real(const char *text, double *value) {
  char *end;
  locale_t before = enter_plain_locale();
  *value = strtod(text, &end);
  uselocale(before);
  return end != text && *end == '\0';
}
