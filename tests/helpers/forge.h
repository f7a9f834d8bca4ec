/* Forged checkpoints: real ones with other numbers in them, and checksums that match. The format is
 * that of src/base/io/tensors.c, implemented a second time. */
#ifndef LGV_TESTS_FORGE_H
#define LGV_TESTS_FORGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORGE_MOST = 128, FORGE_DIGITS = 16 };

typedef struct forge_array {
  char name[96], dtype[4];
  size_t count, item; /* elements, and bytes of each */
  unsigned char *data;
  char *digits; /* of its checksum, in the header */
} forge_array;

typedef struct forge {
  unsigned char *bytes;
  size_t size;
  size_t header_length;
  char *header_digits;
  size_t n;
  forge_array array[FORGE_MOST];
} forge;

static inline uint64_t forge_sum(uint64_t hash, const unsigned char *data, size_t size) {
  for (; size >= 8; size -= 8, data += 8) {
    uint64_t word;
    memcpy(&word, data, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  for (; size > 0; size--, data++) hash = (hash ^ *data) * 0x100000001b3u;
  return hash;
}

static inline void forge_put_sum(char *digits, uint64_t sum) {
  char text[FORGE_DIGITS + 1];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)sum);
  memcpy(digits, text, FORGE_DIGITS);
}

/* The position of the digits after "name": " in the metadata. */
static inline char *forge_digits(char *header, const char *name) {
  char key[128];
  snprintf(key, sizeof key, "\"%s\": \"", name);
  char *found = strstr(header, key);
  return found ? found + strlen(key) : NULL;
}

/* Blanks the text of the settings, which looks like more of the header. */
static inline void forge_hide_settings(char *header) {
  char *at = forge_digits(header, "settings");
  for (; at && *at && *at != '"'; *at++ = ' ')
    if (*at == '\\') *at++ = ' ';
}

static inline size_t forge_item_size(const char *dtype) {
  return strcmp(dtype, "U8") == 0 ? 1 : strstr(dtype, "32") ? 4 : 8;
}

/* Takes ownership of the bytes of a checkpoint; false if they are not one. */
static inline bool forge_open(forge *f, unsigned char *bytes, size_t size) {
  uint64_t length;
  memset(f, 0, sizeof *f);
  f->bytes = bytes;
  f->size = size;
  if (size < 8) return false;
  memcpy(&length, bytes, 8);
  if (length == 0 || length > size - 8) return false;
  f->header_length = length;
  char *header = (char *)bytes + 8, *copy = calloc(length + 1, 1), *at;
  memcpy(copy, header, length);
  forge_hide_settings(copy);
  char *digits = forge_digits(copy, "header");
  f->header_digits = digits ? header + (digits - copy) : NULL;
  for (at = strstr(copy, "},"); at && f->n < FORGE_MOST;) { /* after the metadata */
    forge_array *a = &f->array[f->n];
    size_t begin, end;
    int used = 0;
    sscanf(at + 1,
           " , \"%95[^\"]\" : { \"dtype\" : \"%3[^\"]\" , \"shape\" : [ %zu ] , \"data_offsets\" : "
           "[ %zu , %zu ] %n",
           a->name, a->dtype, &a->count, &begin, &end, &used);
    if (used == 0) break;
    a->item = forge_item_size(a->dtype);
    a->data = bytes + 8 + length + begin;
    digits = forge_digits(copy, a->name);
    a->digits = digits ? header + (digits - copy) : NULL;
    at += 1 + used;
    f->n++;
  }
  free(copy);
  return f->n > 0 && f->header_digits;
}

/* Corrects all checksums. */
static inline void forge_seal(forge *f) {
  for (forge_array *a = f->array; a < f->array + f->n; a++)
    forge_put_sum(a->digits, forge_sum(a->count * a->item, a->data, a->count * a->item));
  memset(f->header_digits, '0', FORGE_DIGITS);
  forge_put_sum(f->header_digits, forge_sum(f->header_length, f->bytes + 8, f->header_length));
}

/* The content of a file in allocated memory; NULL if it cannot be read. */
static inline unsigned char *forge_read(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  *size = 0;
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  unsigned char *bytes = malloc(*size + 1);
  if (bytes && fread(bytes, 1, *size, file) != *size) *size = 0;
  fclose(file);
  return bytes;
}

static inline bool forge_write(const forge *f, const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  bool ok = fwrite(f->bytes, 1, f->size, file) == f->size;
  return fclose(file) == 0 && ok;
}

/* Sets an element to a whole number, truncated to its type, or to a real number. */
static inline void forge_set(forge_array *a, size_t i, int64_t whole, double real) {
  float single = (float)real;
  bool is_real = a->dtype[0] == 'F';
  const void *from = !is_real       ? (const void *)&whole
                     : a->item == 8 ? (const void *)&real
                                    : (const void *)&single;
  memcpy(a->data + i * a->item, from, a->item);
}

/* Replaces numbers as some bytes say and corrects the checksums. A change has 11 bytes: which array
 * (1), which element (2), and its new bits (8). */
static inline void forge_change(forge *f, const uint8_t *data, size_t size) {
  enum { CHANGE = 11 };
  for (; size >= CHANGE; data += CHANGE, size -= CHANGE) {
    forge_array *a = &f->array[data[0] % f->n];
    size_t element = (size_t)data[1] | (size_t)data[2] << 8;
    if (a->count > 0) memcpy(a->data + element % a->count * a->item, data + 3, a->item);
  }
  forge_seal(f);
}

#endif
