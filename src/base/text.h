/* Text helpers: the nearest name, and numbers that read back to the same bits. */
#ifndef LGV_BASE_TEXT_H
#define LGV_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* The number of edits (insert, delete, replace, swap of neighbors) that turn a into b. */
int lgv__edit_distance(const char *a, const char *b);
/* Whether `right` is near enough to `wrong` to be suggested. */
bool lgv__is_near(const char *wrong, const char *right, int distance);
/* The nearest of the offered names to a wrong one; best is NULL while none is near. */
typedef struct lgv_guess {
  const char *wrong, *best;
  int distance; /* of best */
} lgv_guess;
void lgv__guess_offer(lgv_guess *guess, const char *name);
/* Numbers are written and read with a decimal point, in any locale. */
/* The shortest decimal that reads back to exactly x; nan, inf or -inf. */
void lgv__format_real(double x, char *text, size_t size);
/* x with the given number of significant digits. */
void lgv__format_rounded(double x, int digits, char *text, size_t size);
/* Whether the whole text is one number. */
bool lgv__parse_real(const char *text, double *value);

#endif
