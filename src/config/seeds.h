/* A directory belongs to one run, or to several seeds: seed-S below it is that of seed S. Whoever
 * reads a directory takes it for one of the two, so that they must not be mixed. */
#ifndef LGV_CONFIG_SEEDS_H
#define LGV_CONFIG_SEEDS_H

#include "langevin.h"

typedef struct lgv_seeds {
  uint64_t first, last;
  int64_t count; /* less than there are from first to last if some are missing */
} lgv_seeds;

enum { LGV_SEED_NAME_SIZE = 32 };
void lgv__seed_name(uint64_t seed, char *name);

/* The seeds that a directory holds; none if it cannot be read. */
lgv_seeds lgv__seeds_in(const char *directory);

/* Refuses a directory of several seeds where one run is meant. */
LGV_CHECK lgv_status lgv__seeds_check_none(const char *directory, lgv_error *err);

#endif
