/* Text helpers: the nearest name, and numbers that read back to the same bits. */
#ifndef LGV_BASE_TEXT_H
#define LGV_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* The name nearest to a wrong one, or NULL; names: a NULL-terminated list. */
const char *lgv__nearest_name(const char *wrong, const char *const *names);

/* FNV-1a: the hash of some bytes, which continues the hash of the bytes before them. */
#define LGV_HASH_START UINT64_C(0xcbf29ce484222325)
static inline uint64_t lgv__hash(uint64_t hash, const void *bytes, size_t size) {
  for (const unsigned char *b = bytes; size > 0; size--, b++) hash = (hash ^ *b) * 0x100000001b3u;
  return hash;
}

/* Replaces control characters, which a terminal would obey, by visible ones: "\\x1b". Line feeds
 * and tabs stay. Whatever came from a file, a directory or another process passes through it before
 * it is printed. A text that becomes too long is cut. */
void lgv__make_visible(const char *text, char *visible, size_t size);

/* Numbers are written and read with a decimal point, whatever locale the program has set. */
/* The shortest decimal that reads back to exactly x; nan, inf and -inf by these names. */
void lgv__format_real(double x, char *text, size_t size);
/* x with the given number of significant digits. */
void lgv__format_rounded(double x, int digits, char *text, size_t size);
/* Whether the whole text is one number. */
bool lgv__parse_real(const char *text, double *value);

#endif
