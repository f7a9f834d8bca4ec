#include "config/seeds.h"

#include "base/error.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>

void lgv__seed_name(uint64_t seed, char *name) {
  snprintf(name, LGV_SEED_NAME_SIZE, "seed-%" PRIu64, seed);
}

lgv_seeds lgv__seeds_in(const char *directory) {
  lgv_seeds found = {.first = UINT64_MAX};
  DIR *stream = opendir(directory);
  for (const struct dirent *entry; stream && (entry = readdir(stream));) {
    uint64_t seed;
    int end = 0; /* seed-3.old is none of them */
    if (sscanf(entry->d_name, "seed-%" SCNu64 "%n", &seed, &end) != 1 || entry->d_name[end])
      continue;
    if (seed < found.first) found.first = seed;
    if (seed > found.last) found.last = seed;
    found.count++;
  }
  if (stream) closedir(stream);
  return found;
}

lgv_status lgv__seeds_check_none(const char *directory, lgv_error *err) {
  lgv_seeds found = lgv__seeds_in(directory);
  if (found.count == 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "%.200s is a directory of several seeds: name one of them, such as "
                  "%.200s/seed-%" PRIu64,
                  directory, directory, found.first);
}
