#include "base/io/tensors.h"

#include "base/error.h"
#include "base/io/disk.h"
#include "base/io/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors files are little-endian; this machine would need byte swaps"
#endif

/* The header's metadata hold the format, the checksum of the header itself (computed with zeros in
 * its place), and one checksum per array. The first format had no checksum of the header. */
static const char format_name[] = "langevin-checkpoint-2", first_format[] = "langevin-checkpoint-1";
static const char header_key[] = "header";
static const char no_sum[] = "0000000000000000";
enum { MOST_HEADER = 1 << 22, CHUNK = 1 << 20, SYNC_EVERY = 1 << 26 };
enum { SUM_DIGITS = sizeof no_sum - 1 };

static const char *dtype_name(lgv_dtype dtype) {
  static const char *const names[] = {
      [LGV_U8] = "U8",   [LGV_I32] = "I32", [LGV_I64] = "I64",
      [LGV_U64] = "U64", [LGV_F32] = "F32", [LGV_F64] = "F64",
  };
  return names[dtype];
}

static size_t whole_size(const lgv_tensor *t) { return t->count * lgv__dtype_size(t->dtype); }

static size_t row_size(const lgv_tensor *t) { return t->width * lgv__dtype_size(t->dtype); }

static size_t byte_count(const lgv_tensor *t) {
  if (t->list) return t->list->count * lgv__dtype_size(t->dtype);
  if (!t->filled) return whole_size(t);
  size_t rows = *t->filled > 0 ? (size_t)*t->filled : 0, most = t->count / t->width;
  return (rows < most ? rows : most) * row_size(t);
}

/* Whether `size` bytes in a file are possible for this array. */
static bool can_be(const lgv_tensor *t, size_t size) {
  if (t->list) return size % lgv__dtype_size(t->dtype) == 0;
  if (t->filled) return size <= whole_size(t) && size % row_size(t) == 0;
  return size == whole_size(t);
}

static const void *bytes_of(const lgv_tensor *t) { return t->list ? t->list->data : t->data; }

/* A 64-bit checksum: multiply and fold, eight bytes at a time. */
static uint64_t checksum(uint64_t hash, const unsigned char *data, size_t size) {
  for (; size >= 8; size -= 8, data += 8) {
    uint64_t word;
    memcpy(&word, data, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return lgv__hash(hash, data, size);
}

/* ---- Collecting ---- */

void lgv__tensors_free(lgv_tensors *tensors) {
  lgv__free(tensors->items);
  *tensors = (lgv_tensors){0};
}

void lgv__tensors_drop_learning(lgv_tensors *tensors) {
  size_t kept = 0;
  for (size_t i = 0; i < tensors->count; i++)
    if (!tensors->items[i].for_learning) tensors->items[kept++] = tensors->items[i];
  tensors->count = kept;
}

static lgv_status append(lgv_tensors *tensors, lgv_tensor item, lgv_error *err) {
  if (tensors->count == tensors->capacity) {
    size_t capacity = tensors->capacity ? 2 * tensors->capacity : 32;
    lgv_tensor *grown = lgv__realloc(tensors->items, capacity * sizeof *grown);
    if (!grown) return lgv__out_of_memory(err, "a checkpoint");
    tensors->items = grown;
    tensors->capacity = capacity;
  }
  tensors->items[tensors->count++] = item;
  return LGV_OK;
}

lgv_status lgv__tensors_add(lgv_tensors *tensors, const char *name, lgv_dtype dtype, size_t count,
                            void *data, lgv_error *err) {
  lgv_tensor item = {.dtype = dtype, .count = count, .data = data};
  snprintf(item.name, sizeof item.name, "%s", name);
  return append(tensors, item, err);
}

lgv_status lgv__tensors_add_arena(lgv_tensors *tensors, const char *prefix, const lgv_arena *arena,
                                  lgv_error *err) {
  const lgv_layout *table = &arena->table;
  for (size_t i = 0; i < table->n_blocks; i++) {
    const lgv_block *block = &table->blocks[i];
    if (!block->keep) continue;
    lgv_tensor item = {.dtype = block->dtype,
                       .count = block->count,
                       .data = table->base + block->offset,
                       .list = block->list,
                       .filled = block->filled,
                       .width = block->width,
                       .for_learning = block->for_learning,
                       .check = block->check,
                       .check_context = block->check_context};
    size_t earlier = 0;
    for (size_t j = 0; j < i; j++) earlier += strcmp(table->blocks[j].name, block->name) == 0;
    if (earlier)
      snprintf(item.name, sizeof item.name, "%s.%s#%zu", prefix, block->name, earlier);
    else
      snprintf(item.name, sizeof item.name, "%s.%s", prefix, block->name);
    LGV_TRY(append(tensors, item, err));
  }
  return LGV_OK;
}

/* ---- Writing ---- */

/* Reserves digits to be filled in later; returns their position. */
static size_t leave_room(lgv_json *json, const char *name) {
  lgv__json_string(json, name, no_sum);
  return json->length - 1 - SUM_DIGITS;
}

static void put_sum(char *digits, uint64_t sum) {
  for (int i = SUM_DIGITS - 1; i >= 0; i--, sum >>= 4) digits[i] = "0123456789abcdef"[sum & 15];
}

static void make_header(lgv_tensors_image *image, lgv_json *json) {
  const lgv_tensors *tensors = image->tensors;
  lgv__json_open(json, NULL, '{');
  lgv__json_open(json, "__metadata__", '{');
  lgv__json_string(json, "format", format_name);
  image->header_sum = leave_room(json, header_key);
  if (tensors->about) lgv__json_string(json, "about", tensors->about);
  if (tensors->without_experience) lgv__json_string(json, "experience", "none");
  if (tensors->settings) lgv__json_string(json, "settings", tensors->settings);
  for (size_t i = 0; i < tensors->count; i++)
    image->sums[i] = leave_room(json, tensors->items[i].name);
  lgv__json_close(json, '}');
  size_t offset = 0;
  for (size_t i = 0; i < tensors->count; i++) {
    const lgv_tensor *t = &tensors->items[i];
    size_t size = byte_count(t);
    lgv__json_open(json, t->name, '{');
    lgv__json_string(json, "dtype", dtype_name(t->dtype));
    lgv__json_open(json, "shape", '[');
    lgv__json_int(json, NULL, (int64_t)(size / lgv__dtype_size(t->dtype)));
    lgv__json_close(json, ']');
    lgv__json_open(json, "data_offsets", '[');
    lgv__json_int(json, NULL, (int64_t)offset);
    lgv__json_int(json, NULL, (int64_t)(offset + size));
    lgv__json_close(json, ']');
    lgv__json_close(json, '}');
    offset += size;
  }
  lgv__json_close(json, '}');
  image->bytes = offset;
}

lgv_status lgv__tensors_prepare(lgv_tensors_image *image, const lgv_tensors *tensors,
                                const char *path, lgv_error *err) {
  *image = (lgv_tensors_image){.tensors = tensors};
  int length = snprintf(image->temporary, sizeof image->temporary, "%s.tmp", path);
  if (length >= (int)sizeof image->temporary)
    return lgv_fail(err, LGV_ERR_IO, "the path %.200s... is too long", path);
  memcpy(image->path, path, strlen(path) + 1);
  image->sums = lgv__calloc(tensors->count + 1, sizeof *image->sums);
  if (!image->sums) return lgv__out_of_memory(err, "a checkpoint");
  lgv_json json = {0};
  make_header(image, &json);
  image->header = json.text;
  image->header_length = json.length;
  if (!json.failed) return LGV_OK;
  lgv__tensors_image_free(image);
  return lgv__out_of_memory(err, "a checkpoint");
}

void lgv__tensors_image_free(lgv_tensors_image *image) {
  lgv__free(image->header);
  lgv__free(image->sums);
  *image = (lgv_tensors_image){0};
}

static bool is_wanted(const lgv_tensors_image *image) {
  if (image->parent == 0 || getppid() == image->parent) return true;
  errno = ECANCELED;
  return false;
}

/* Syncs along the way, so that waiting for the end of the file, or for a child that is no longer
 * wanted, means waiting for the last part only. */
static bool write_array(const lgv_tensors_image *image, int file, size_t i, size_t *unsynced) {
  const lgv_tensor *t = &image->tensors->items[i];
  const unsigned char *data = bytes_of(t);
  size_t size = byte_count(t);
  uint64_t sum = size;
  for (size_t done = 0, part; done < size; done += part) {
    part = size - done < CHUNK ? size - done : CHUNK;
    sum = checksum(sum, data + done, part);
    if (!is_wanted(image) || !lgv__disk_write(file, data + done, part)) return false;
    *unsynced += part;
    if (*unsynced < SYNC_EVERY) continue;
    if (!lgv__disk_sync(file)) return false;
    *unsynced = 0;
  }
  put_sum(image->header + image->sums[i], sum);
  return true;
}

/* Writes the data first, then the header, which holds their checksums. */
static bool write_parts(const lgv_tensors_image *image, int file) {
  uint64_t length = image->header_length;
  size_t unsynced = 0;
  bool ok = lseek(file, 8 + (off_t)length, SEEK_SET) >= 0;
  for (size_t i = 0; ok && i < image->tensors->count; i++)
    ok = write_array(image, file, i, &unsynced);
  put_sum(image->header + image->header_sum,
          checksum(length, (unsigned char *)image->header, length));
  return ok && lgv__disk_write_at(file, &length, 8, 0) &&
         lgv__disk_write(file, image->header, length) && lgv__disk_sync(file) && is_wanted(image);
}

int lgv__tensors_emit(const lgv_tensors_image *image) {
  int file = lgv__disk_create(image->temporary);
  if (file < 0) return errno;
  bool ok = write_parts(image, file) && lgv__disk_rename(image->temporary, image->path);
  int reason = ok ? 0 : errno;
  if (reason) unlink(image->temporary);
  if (!lgv__disk_close(file) && !reason) reason = errno;
  return reason;
}

static bool parse(yaml_document_t *document, const char *header, size_t length) {
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) return false;
  yaml_parser_set_input_string(&parser, (const unsigned char *)header, length);
  bool parsed = yaml_parser_load(&parser, document);
  yaml_parser_delete(&parser);
  return parsed;
}

/* Only the caller's text can make a header unreadable: the rest is written by this file. */
static bool can_be_read_back(const lgv_tensors_image *image) {
  yaml_document_t document;
  if (!image->tensors->about) return true;
  if (image->header_length > MOST_HEADER || !parse(&document, image->header, image->header_length))
    return false;
  yaml_document_delete(&document);
  return true;
}

lgv_status lgv__tensors_write(const lgv_tensors *tensors, const char *path, lgv_error *err) {
  lgv_tensors_image image;
  LGV_TRY(lgv__tensors_prepare(&image, tensors, path, err));
  bool readable = can_be_read_back(&image);
  int reason = readable ? lgv__tensors_emit(&image) : 0;
  lgv__tensors_image_free(&image);
  if (!readable)
    return lgv_fail(
        err, LGV_ERR_USAGE,
        "%.300s could not be read back: the metadata text must be UTF-8 and shorter than "
        "4 MB",
        path);
  if (!reason) return LGV_OK;
  return lgv_fail(err, LGV_ERR_IO, "cannot write %s: %s", path, strerror(reason));
}

/* ---- Reading ---- */

typedef struct reader {
  const char *path;
  FILE *file;
  long data_start, data_size;
  yaml_document_t document;
  bool has_document;
  lgv_error *err;
} reader;

static lgv_status refuse(const reader *r, const char *why) {
  return lgv_fail(r->err, LGV_ERR_IO, "%.300s is not a checkpoint of this run: %s", r->path, why);
}

/* The header contains its own checksum, which was computed with zeros in its place; this puts the
 * zeros back. */
static bool has_sum(char *header, size_t length) {
  char *key = strstr(header, "\"header\": \""), sum[SUM_DIGITS], found[SUM_DIGITS];
  if (!key || (size_t)(key - header) + 11 + SUM_DIGITS > length) return false;
  memcpy(found, key + 11, SUM_DIGITS);
  memcpy(key + 11, no_sum, SUM_DIGITS);
  put_sum(sum, checksum(length, (unsigned char *)header, length));
  return memcmp(sum, found, SUM_DIGITS) == 0;
}

static yaml_node_t *member(reader *r, const yaml_node_t *map, const char *key) {
  if (!map || map->type != YAML_MAPPING_NODE) return NULL;
  for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++) {
    yaml_node_t *name = yaml_document_get_node(&r->document, p->key);
    if (name && name->type == YAML_SCALAR_NODE && strcmp((char *)name->data.scalar.value, key) == 0)
      return yaml_document_get_node(&r->document, p->value);
  }
  return NULL;
}

static const char *text(const yaml_node_t *node) {
  return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

/* Item i of a sequence of whole numbers, or -1. */
static long number(reader *r, const yaml_node_t *list, int i) {
  if (!list || list->type != YAML_SEQUENCE_NODE) return -1;
  yaml_node_item_t *item = list->data.sequence.items.start + i;
  const char *digits = item < list->data.sequence.items.top
                           ? text(yaml_document_get_node(&r->document, *item))
                           : NULL;
  char *end;
  if (!digits) return -1;
  errno = 0;
  long value = strtol(digits, &end, 10);
  return *end == '\0' && end != digits && errno == 0 ? value : -1;
}

static lgv_status check_format(reader *r, char *header, size_t length) {
  yaml_node_t *root = yaml_document_get_root_node(&r->document);
  const char *format = text(member(r, member(r, root, "__metadata__"), "format"));
  char why[200];
  if (format && strcmp(format, first_format) == 0) return LGV_OK;
  if (format && strcmp(format, format_name) == 0)
    return has_sum(header, length) ? LGV_OK : refuse(r, "its header is damaged");
  snprintf(why, sizeof why, "its format is %.60s, and this version reads %s",
           format ? format : "another one", format_name);
  return refuse(r, why);
}

/* The arrays follow one another and end where the file ends. So none overlaps another, and together
 * they take no more memory than the file is long. */
static lgv_status check_cover(reader *r) {
  const yaml_node_t *root = yaml_document_get_root_node(&r->document);
  long end = 0;
  if (!root || root->type != YAML_MAPPING_NODE) return refuse(r, "its header is damaged");
  for (yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top;
       p++) {
    const char *name = text(yaml_document_get_node(&r->document, p->key));
    if (name && strcmp(name, "__metadata__") == 0) continue;
    yaml_node_t *entry = yaml_document_get_node(&r->document, p->value);
    yaml_node_t *offsets = member(r, entry, "data_offsets");
    long begin = number(r, offsets, 0), next = number(r, offsets, 1);
    if (begin != end || next < begin) return refuse(r, "its arrays overlap or leave gaps");
    end = next;
  }
  if (end == r->data_size) return LGV_OK;
  return refuse(r, end > r->data_size ? "it is truncated" : "it is longer than its arrays");
}

static lgv_status open_header(reader *r) {
  r->file = fopen(r->path, "rb");
  if (!r->file) return lgv_fail(r->err, LGV_ERR_IO, "cannot read %s: %s", r->path, strerror(errno));
  uint64_t length;
  if (fseek(r->file, 0, SEEK_END) != 0) return refuse(r, "it is not seekable");
  long size = ftell(r->file);
  rewind(r->file);
  if (size < 8 || fread(&length, 8, 1, r->file) != 1) return refuse(r, "it is too short");
  if (length > MOST_HEADER || (long)length > size - 8) return refuse(r, "its header is incomplete");
  char *header = lgv__calloc(length + 1, 1);
  if (!header) return lgv__out_of_memory(r->err, "a checkpoint's header");
  r->has_document =
      fread(header, 1, length, r->file) == length && parse(&r->document, header, length);
  lgv_status status =
      r->has_document ? check_format(r, header, length) : refuse(r, "its header is damaged");
  lgv__free(header);
  LGV_TRY(status);
  r->data_start = 8 + (long)length;
  r->data_size = size - r->data_start;
  return check_cover(r);
}

/* Finds a tensor in the file and checks that it is the expected one. */
static lgv_status locate(reader *r, const lgv_tensor *t, long *offset, size_t *size,
                         uint64_t *expected) {
  char why[200];
  yaml_node_t *root = yaml_document_get_root_node(&r->document);
  yaml_node_t *metadata = member(r, root, "__metadata__"), *entry = member(r, root, t->name);
  const char *sum = text(member(r, metadata, t->name));
  const char *dtype = text(member(r, entry, "dtype"));
  yaml_node_t *offsets = member(r, entry, "data_offsets");
  long begin = number(r, offsets, 0), end = number(r, offsets, 1);
  bool fits = begin >= 0 && begin <= end && end <= r->data_size;
  long count = number(r, member(r, entry, "shape"), 0);
  bool same = dtype && sum && strcmp(dtype, dtype_name(t->dtype)) == 0 && fits &&
              can_be(t, (size_t)(end - begin)) &&
              (size_t)count * lgv__dtype_size(t->dtype) == (size_t)(end - begin);
  if (!same) {
    snprintf(why, sizeof why, "the array %s is missing, truncated, or of another size", t->name);
    return refuse(r, why);
  }
  *offset = r->data_start + begin;
  *size = (size_t)(end - begin);
  *expected = strtoull(sum, NULL, 16);
  return LGV_OK;
}

static lgv_status verify(reader *r, const lgv_tensor *t, unsigned char *buffer) {
  long offset;
  size_t size;
  uint64_t expected;
  char why[200];
  LGV_TRY(locate(r, t, &offset, &size, &expected));
  uint64_t hash = size;
  bool ok = fseek(r->file, offset, SEEK_SET) == 0;
  for (size_t left = size; ok && left > 0;) {
    size_t part = left < CHUNK ? left : CHUNK;
    ok = fread(buffer, 1, part, r->file) == part;
    if (ok) hash = checksum(hash, buffer, part);
    left -= part;
  }
  if (ok && hash == expected) return LGV_OK;
  snprintf(why, sizeof why, "the array %s is damaged (its checksum differs)", t->name);
  return refuse(r, why);
}

static lgv_status load(reader *r, lgv_tensor *t) {
  long offset;
  size_t size;
  uint64_t expected;
  LGV_TRY(locate(r, t, &offset, &size, &expected));
  if (t->list) {
    size_t count = size / lgv__dtype_size(t->dtype);
    t->list->count = 0;
    LGV_TRY(lgv__list_reserve(t->list, lgv__dtype_size(t->dtype), count, r->err));
    t->list->count = count;
  }
  void *place = t->list ? t->list->data : t->data;
  bool ok = fseek(r->file, offset, SEEK_SET) == 0 &&
            (size == 0 || fread(place, 1, size, r->file) == size);
  return ok ? LGV_OK : refuse(r, "it changed while it was read");
}

/* Another array holds the number of rows. */
static lgv_status check_rows(reader *r, const lgv_tensor *t) {
  long offset;
  size_t size;
  uint64_t expected;
  char why[200];
  LGV_TRY(locate(r, t, &offset, &size, &expected));
  bool counted = t->filled && *t->filled >= 0 && *t->filled <= (int64_t)(t->count / t->width);
  if (!t->filled || (counted && size == byte_count(t))) return LGV_OK;
  snprintf(why, sizeof why, "the array %s has fewer or more rows than were filled", t->name);
  return refuse(r, why);
}

static lgv_status check_content(reader *r, const lgv_tensor *t) {
  size_t count = byte_count(t) / lgv__dtype_size(t->dtype);
  const char *fault = t->check ? t->check(t->check_context) : NULL;
  if (t->finite && !lgv__are_finite(t->dtype, bytes_of(t), count))
    fault = "a number that is not finite";
  char why[200];
  if (!fault) return LGV_OK;
  /* a fault that names an array means one of the same handle: agent. or env. */
  bool names_one = strstr(fault, ": ") != NULL;
  int length = (int)(names_one ? strcspn(t->name, ".") + 1 : strlen(t->name));
  snprintf(why, sizeof why, "%.*s%s%.90s", length, t->name, names_one ? "" : ": ", fault);
  return refuse(r, why);
}

static bool may_be_left(reader *r, const lgv_tensor *t) {
  return t->optional && !member(r, yaml_document_get_root_node(&r->document), t->name);
}

static const char *metadata(reader *r, const char *key) {
  yaml_node_t *root = yaml_document_get_root_node(&r->document);
  return text(member(r, member(r, root, "__metadata__"), key));
}

static lgv_status read_all(reader *r, lgv_tensors *tensors, bool *changed) {
  LGV_TRY(open_header(r));
  if (tensors->check_settings)
    LGV_TRY(tensors->check_settings(tensors->settings_context, metadata(r, "settings"), r->err));
  tensors->without_experience = metadata(r, "experience") != NULL;
  if (tensors->without_experience) lgv__tensors_drop_learning(tensors);
  unsigned char *buffer = lgv__calloc(CHUNK, 1);
  if (!buffer) return lgv__out_of_memory(r->err, "a checkpoint");
  lgv_status status = LGV_OK;
  lgv_tensor *first = tensors->items, *end = first + tensors->count;
  for (lgv_tensor *t = first; status == LGV_OK && t < end; t++)
    if (!may_be_left(r, t)) status = verify(r, t, buffer);
  lgv__free(buffer);
  *changed = status == LGV_OK;
  for (lgv_tensor *t = first; status == LGV_OK && t < end; t++)
    if (may_be_left(r, t))
      memset(t->data, 0, whole_size(t)); /* a refused file may have left data there */
    else
      status = load(r, t);
  for (lgv_tensor *t = first; status == LGV_OK && t < end; t++)
    if (!may_be_left(r, t)) status = check_rows(r, t);
  for (lgv_tensor *t = first; status == LGV_OK && t < end; t++) status = check_content(r, t);
  return status;
}

static void close_reader(reader *r) {
  if (r->has_document) yaml_document_delete(&r->document);
  if (r->file) fclose(r->file);
}

lgv_status lgv__tensors_read(lgv_tensors *tensors, const char *path, lgv_error *err) {
  reader r = {.path = path, .err = err};
  bool changed = false;
  lgv_status status = read_all(&r, tensors, &changed);
  tensors->corrupt = changed && status != LGV_OK;
  close_reader(&r);
  return status;
}

lgv_status lgv__tensors_read_about(const char *path, char **about, lgv_error *err) {
  reader r = {.path = path, .err = err};
  *about = NULL;
  lgv_status status = open_header(&r);
  const char *found = status == LGV_OK ? metadata(&r, "about") : NULL;
  if (found && !(*about = lgv__strdup(found))) status = lgv__out_of_memory(err, path);
  close_reader(&r);
  return status;
}
