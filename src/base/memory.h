/* Allocation, and how much memory is left.
 *
 * Every allocation of the library goes through the functions up to lgv__unmap, so that tests can
 * make the n-th one fail. */
#ifndef LGV_BASE_MEMORY_H
#define LGV_BASE_MEMORY_H

#include "langevin.h"

void *lgv__calloc(size_t count, size_t size); /* zeroed; NULL on failure or overflow */
void *lgv__realloc(void *block, size_t size);
char *lgv__strdup(const char *text);
void lgv__free(void *block);
/* Zeroed memory of which the system reserves nothing: only pages that are written count. A replay
 * may be far larger than what its run can fill, which is all that lgv_plan_memory counts. */
void *lgv__map(size_t size);
void lgv__unmap(void *block, size_t size);

/* Test hook: the n-th allocation on this thread from now (1 = the next) fails; 0 switches it off.
 * Returns the rest of the previous count: 0 if its allocation was reached and failed. */
long lgv__memory_fail_after(long n);

/* lgv_memory_available, with /proc and /sys below another root. */
uint64_t lgv__available_below(const char *root);
/* Test hook: what lgv_memory_available returns on this thread; 0 switches it off. */
void lgv__available_pretend(uint64_t bytes);

#endif
