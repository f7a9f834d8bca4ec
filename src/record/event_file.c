#include "record/event_file.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/io/file.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Keys of the protocol buffers: 8 * field + wire type (0 varint, 1 eight bytes, 2 length and bytes,
 * 5 four bytes). */
enum {
  EVENT_WALL_TIME = 8 * 1 + 1,
  EVENT_STEP = 8 * 2,
  EVENT_FILE_VERSION = 8 * 3 + 2,
  EVENT_SUMMARY = 8 * 5 + 2,
  SUMMARY_VALUE = 8 * 1 + 2,
  VALUE_TAG = 8 * 1 + 2,
  VALUE_SIMPLE = 8 * 2 + 5
};
enum { TIME_SIZE = 1 + 8, SIMPLE_SIZE = 1 + 4 };

static lgv_status write_error(int error, lgv_error *err) {
  return lgv_fail(err, LGV_ERR_IO,
                  "cannot write " LGV_EVENT_FILE_NAME
                  ": %s (run.tensorboard = false does without it)",
                  strerror(error));
}

/* ---- CRC-32C ---- */

static void make_table(lgv_event_file *f) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; bit++) c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
    f->crc_of[i] = c;
  }
}

static void start_crc(lgv_event_file *f) { f->crc = ~0u; }

static void add_to_crc(lgv_event_file *f, const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) f->crc = f->crc_of[(f->crc ^ bytes[i]) & 255] ^ f->crc >> 8;
}

static uint32_t masked_crc(const lgv_event_file *f) {
  uint32_t c = ~f->crc;
  return (c >> 15 | c << 17) + 0xa282ead8u;
}

/* ---- writing ---- */

/* Failures are kept in f->out and reported once per record. */
static void put(lgv_event_file *f, const void *bytes, size_t count) {
  add_to_crc(f, bytes, count);
  lgv__out_put(&f->out, bytes, count);
}

static void put_fixed(lgv_event_file *f, uint64_t value, size_t size) {
  unsigned char bytes[8];
  for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(value >> 8 * i);
  put(f, bytes, size);
}

static size_t varint_size(uint64_t value) {
  size_t size = 1;
  while (value >>= 7) size++;
  return size;
}

static void put_varint(lgv_event_file *f, uint64_t value) {
  unsigned char bytes[10];
  size_t size = 0;
  for (; value > 127; value >>= 7) bytes[size++] = (unsigned char)(value | 128);
  bytes[size++] = (unsigned char)value;
  put(f, bytes, size);
}

static void put_key_and_length(lgv_event_file *f, unsigned char key, size_t length) {
  put(f, &key, 1);
  put_varint(f, length);
}

/* Bytes of put_key_and_length and of what follows it. */
static size_t nested_size(size_t length) { return 1 + varint_size(length) + length; }

/* Begins a record whose event has `rest` more bytes after time and step. */
static void begin_event(lgv_event_file *f, double time, int64_t step, size_t rest) {
  uint64_t bits;
  unsigned char key = EVENT_WALL_TIME;
  memcpy(&bits, &time, sizeof bits);
  start_crc(f);
  put_fixed(f, TIME_SIZE + 1 + varint_size((uint64_t)step) + rest, 8);
  put_fixed(f, masked_crc(f), 4);
  start_crc(f);
  put(f, &key, 1);
  put_fixed(f, bits, 8);
  key = EVENT_STEP;
  put(f, &key, 1);
  put_varint(f, (uint64_t)step);
}

static lgv_status end_event(lgv_event_file *f, lgv_error *err) {
  put_fixed(f, masked_crc(f), 4);
  return f->out.error ? write_error(f->out.error, err) : LGV_OK;
}

static size_t tag_length(const lgv_column *c) { return strlen(c->group) + 1 + strlen(c->name); }

static size_t value_size(const lgv_column *c) { return nested_size(tag_length(c)) + SIMPLE_SIZE; }

static void put_value(lgv_event_file *f, const lgv_column *c, double value) {
  float single = (float)value;
  uint32_t bits;
  unsigned char key = VALUE_SIMPLE;
  memcpy(&bits, &single, sizeof bits);
  put_key_and_length(f, SUMMARY_VALUE, value_size(c));
  put_key_and_length(f, VALUE_TAG, tag_length(c));
  put(f, c->group, strlen(c->group));
  put(f, "/", 1);
  put(f, c->name, strlen(c->name));
  put(f, &key, 1);
  put_fixed(f, bits, 4);
}

lgv_status lgv__event_file_row(lgv_event_file *f, int64_t step, const lgv_column *columns,
                               const double *values, size_t count, lgv_error *err) {
  if (!f->out.is_open) return LGV_OK;
  size_t summary = 0;
  for (size_t i = 0; i < count; i++)
    if (!isnan(values[i])) summary += nested_size(value_size(&columns[i]));
  begin_event(f, lgv__clock(CLOCK_REALTIME), step, nested_size(summary));
  put_key_and_length(f, EVENT_SUMMARY, summary);
  for (size_t i = 0; i < count; i++)
    if (!isnan(values[i])) put_value(f, &columns[i], values[i]);
  return end_event(f, err);
}

static lgv_status put_version(lgv_event_file *f, lgv_error *err) {
  static const char version[] = "brain.Event:2";
  begin_event(f, lgv__clock(CLOCK_REALTIME), 0, nested_size(strlen(version)));
  put_key_and_length(f, EVENT_FILE_VERSION, strlen(version));
  put(f, version, strlen(version));
  return end_event(f, err);
}

lgv_status lgv__event_file_flush(lgv_event_file *f, lgv_error *err) {
  if (!f->out.is_open || lgv__out_flush(&f->out)) return LGV_OK;
  return write_error(f->out.error, err);
}

void lgv__event_file_close(lgv_event_file *f) { lgv__out_close(&f->out); }

/* ---- resuming ---- */

/* Reads the next bytes and adds them to the checksum; false at the end of the file. */
static bool take(lgv_event_file *f, FILE *file, unsigned char *bytes, size_t count) {
  if (fread(bytes, 1, count, file) != count) return false;
  add_to_crc(f, bytes, count);
  return true;
}

static bool take_fixed(lgv_event_file *f, FILE *file, size_t size, uint64_t *value) {
  unsigned char bytes[8];
  if (!take(f, file, bytes, size)) return false;
  *value = 0;
  for (size_t i = 0; i < size; i++) *value |= (uint64_t)bytes[i] << 8 * i;
  return true;
}

static bool take_crc(lgv_event_file *f, FILE *file) {
  uint64_t expected = masked_crc(f), found;
  return take_fixed(f, file, 4, &found) && found == expected;
}

/* Reads over one whole event of ours and returns its step; false if there is none. */
static bool skip_event(lgv_event_file *f, FILE *file, int64_t *step) {
  unsigned char byte = 0;
  uint64_t length, time, value = 0, at = TIME_SIZE + 1;
  start_crc(f);
  if (!take_fixed(f, file, 8, &length) || !take_crc(f, file) || length <= at) return false;
  start_crc(f);
  if (!take(f, file, &byte, 1) || byte != EVENT_WALL_TIME || !take_fixed(f, file, 8, &time) ||
      !take(f, file, &byte, 1) || byte != EVENT_STEP)
    return false;
  bool in_step = true;
  for (int shift = 0; at < length; at++) {
    if (!take(f, file, &byte, 1)) return false;
    if (in_step && shift < 63) value |= (uint64_t)(byte & 127) << shift;
    in_step &= byte > 127;
    shift += in_step ? 7 : 0;
  }
  *step = (int64_t)value;
  return take_crc(f, file);
}

/* *size: bytes of the events up to last_step; 0 if there is no such file. */
static lgv_status find_end(lgv_event_file *f, const char *path, int64_t last_step, long *size,
                           lgv_error *err) {
  FILE *file = fopen(path, "rb");
  *size = 0;
  if (!file && errno == ENOENT) return LGV_OK;
  if (!file) return lgv_fail(err, LGV_ERR_IO, "cannot read %.300s: %s", path, strerror(errno));
  for (int64_t step; skip_event(f, file, &step) && step <= last_step;) *size = ftell(file);
  bool failed = ferror(file) || *size < 0;
  fclose(file);
  return failed ? lgv_fail(err, LGV_ERR_IO, "cannot read %.300s", path) : LGV_OK;
}

lgv_status lgv__event_file_open(lgv_event_file *f, const char *directory, int64_t last_step,
                                lgv_error *err) {
  char path[PATH_MAX];
  *f = (lgv_event_file){0};
  make_table(f);
  LGV_TRY(lgv__join_path(directory, LGV_EVENT_FILE_NAME, path, sizeof path, err));
  long size = 0;
  if (last_step >= 0) LGV_TRY(find_end(f, path, last_step, &size, err));
  if (!lgv__out_open(&f->out, path, size)) return write_error(f->out.error, err);
  return size == 0 ? put_version(f, err) : LGV_OK;
}
