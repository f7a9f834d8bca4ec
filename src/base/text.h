/* Small text helpers: the nearest name, and numbers that read back to the same bits. */
#ifndef LGV_BASE_TEXT_H
#define LGV_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Edits (insert, delete, replace, swap of neighbors) that turn a into b. */
int lgv__edit_distance(const char *a, const char *b);
/* Whether b is near enough to a to be offered as what was meant. */
bool lgv__is_near(const char *wrong, const char *right, int distance);
/* The nearest of the names that were offered for a wrong one; NULL as long as none is near. */
typedef struct lgv_guess {
  const char *wrong, *best;
  int distance; /* of best */
} lgv_guess;
void lgv__guess_offer(lgv_guess *guess, const char *name);
/* Numbers are written and read with a decimal point, whatever locale the program has set. */
/* The shortest decimal that reads back to exactly x; nan, inf and -inf by these names. */
void lgv__format_real(double x, char *text, size_t size);
/* With so many significant digits. */
void lgv__format_rounded(double x, int digits, char *text, size_t size);
/* Whether the whole text is one number. */
bool lgv__parse_real(const char *text, double *value);

#endif
