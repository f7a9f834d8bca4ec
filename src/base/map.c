#include "base/map.h"

#include <stdio.h>
#include <string.h>

bool lgv__map_next(const char **at, char *key, char *value) {
  const char *equals = strchr(*at, '='), *end = equals ? strchr(equals, '\n') : NULL;
  if (!end) return false;
  snprintf(key, LGV_MAP_KEY_SIZE, "%.*s", (int)(equals - *at), *at);
  snprintf(value, LGV_MAP_VALUE_SIZE, "%.*s", (int)(end - equals - 1), equals + 1);
  *at = end + 1;
  return true;
}

bool lgv__map_get(const lgv_map *map, const char *key, char *value) {
  char name[LGV_MAP_KEY_SIZE];
  for (const char *at = map->text; lgv__map_next(&at, name, value);)
    if (strcmp(name, key) == 0) return true;
  return false;
}

const char *lgv__map_set(lgv_map *map, const char *key, const char *value) {
  char name[LGV_MAP_KEY_SIZE], old[LGV_MAP_VALUE_SIZE];
  size_t key_length = strlen(key), value_length = strlen(value);
  if (key_length == 0 || strpbrk(key, "=\n")) return "it needs a name of its own";
  if (strchr(value, '\n')) return "the value has more than one line";
  if (key_length >= sizeof name || value_length >= sizeof old) return "it is too long";
  /* The entry goes before the first that is not less; one of the same name gives way. */
  const char *at = map->text, *from = at;
  int order = -1;
  while (order < 0 && lgv__map_next(&at, name, old)) {
    order = strcmp(name, key);
    if (order < 0) from = at;
  }
  const char *rest = order == 0 ? at : from;
  size_t head = (size_t)(from - map->text), tail = strlen(rest);
  size_t entry = key_length + value_length + 2;
  if (head + entry + tail + 1 > sizeof map->text) return "all of them together are too long";
  char *place = map->text + head;
  memmove(place + entry, rest, tail + 1);
  memcpy(place, key, key_length);
  place[key_length] = '=';
  memcpy(place + key_length + 1, value, value_length);
  place[entry - 1] = '\n';
  return NULL;
}
