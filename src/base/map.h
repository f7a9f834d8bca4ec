/* Parameters whose names are not known beforehand: sorted lines of key=value in one text. */
#ifndef LGV_BASE_MAP_H
#define LGV_BASE_MAP_H

#include "langevin.h"

enum { LGV_MAP_KEY_SIZE = 128, LGV_MAP_VALUE_SIZE = 1024 };

/* Sets or replaces. NULL, or what is wrong: a key or value that is too long or holds what cannot be
 * kept, or no room. */
const char *lgv__map_set(lgv_map *map, const char *key, const char *value);
/* Whether there was a next entry behind *at (at first map->text), which is moved on. key and value:
 * of the sizes above. */
bool lgv__map_next(const char **at, char *key, char *value);
/* The value of key in `value` (LGV_MAP_VALUE_SIZE), if there is one. */
bool lgv__map_get(const lgv_map *map, const char *key, char *value);

#endif
