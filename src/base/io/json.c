#include "base/io/json.h"

#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void append(lgv_json *json, const char *text, size_t length) {
  if (json->failed) return;
  if (json->length + length + 1 > json->capacity) {
    size_t capacity = (json->length + length + 1) * 2;
    char *grown = lgv__realloc(json->text, capacity);
    if (!grown) {
      json->failed = true;
      return;
    }
    json->text = grown;
    json->capacity = capacity;
  }
  memcpy(json->text + json->length, text, length);
  json->length += length;
  json->text[json->length] = '\0';
}

static void append_text(lgv_json *json, const char *text) { append(json, text, strlen(text)); }

static void append_quoted(lgv_json *json, const char *text) {
  append_text(json, "\"");
  for (const char *c = text; *c; c++) {
    char escaped[8];
    if (*c == '"' || *c == '\\')
      snprintf(escaped, sizeof escaped, "\\%c", *c);
    else if ((unsigned char)*c < 0x20)
      snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)*c);
    else
      snprintf(escaped, sizeof escaped, "%c", *c);
    append_text(json, escaped);
  }
  append_text(json, "\"");
}

static void begin_line(lgv_json *json) {
  append_text(json, "\n");
  for (int i = 0; i < json->depth; i++) append_text(json, "  ");
}

static void begin_item(lgv_json *json, const char *key) {
  if (json->depth > 0) {
    if (!json->first) append_text(json, ",");
    begin_line(json);
  }
  json->first = false;
  if (key) {
    append_quoted(json, key);
    append_text(json, ": ");
  }
}

void lgv__json_open(lgv_json *json, const char *key, char bracket) {
  begin_item(json, key);
  append(json, &bracket, 1);
  json->depth++;
  json->first = true;
}

void lgv__json_close(lgv_json *json, char bracket) {
  json->depth--;
  if (!json->first) begin_line(json);
  append(json, &bracket, 1);
  json->first = false;
  if (json->depth == 0) append_text(json, "\n");
}

void lgv__json_string(lgv_json *json, const char *key, const char *value) {
  begin_item(json, key);
  append_quoted(json, value);
}

void lgv__json_real(lgv_json *json, const char *key, double value) {
  char text[40] = "null";
  if (isfinite(value)) lgv__format_real(value, text, sizeof text);
  begin_item(json, key);
  append_text(json, text);
}

void lgv__json_int(lgv_json *json, const char *key, int64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%" PRId64, value);
  begin_item(json, key);
  append_text(json, text);
}

void lgv__json_bool(lgv_json *json, const char *key, bool value) {
  begin_item(json, key);
  append_text(json, value ? "true" : "false");
}

void lgv__json_free(lgv_json *json) {
  lgv__free(json->text);
  *json = (lgv_json){0};
}
