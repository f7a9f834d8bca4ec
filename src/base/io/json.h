/* A JSON writer: it grows a text and tracks commas and indentation. Numbers read back to the same
 * bits; NaN and infinities, which JSON lacks, become null. */
#ifndef LGV_BASE_JSON_H
#define LGV_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lgv_json {
  char *text; /* NUL-terminated; lgv__json_free */
  size_t length, capacity;
  int depth;
  bool first;  /* nothing written yet at this depth */
  bool failed; /* out of memory; text is then incomplete */
} lgv_json;

void lgv__json_free(lgv_json *json);
/* key is NULL inside arrays and for the outermost object. */
void lgv__json_open(lgv_json *json, const char *key, char bracket); /* '{' or '[' */
void lgv__json_close(lgv_json *json, char bracket);                 /* '}' or ']' */
void lgv__json_string(lgv_json *json, const char *key, const char *value);
void lgv__json_real(lgv_json *json, const char *key, double value);
void lgv__json_int(lgv_json *json, const char *key, int64_t value);
void lgv__json_bool(lgv_json *json, const char *key, bool value);

#endif
