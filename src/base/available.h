/* How much memory is left: of the machine, or of the control group that this process is in, if that
 * is less. */
#ifndef LGV_BASE_AVAILABLE_H
#define LGV_BASE_AVAILABLE_H

#include "langevin.h"

/* The same with /proc and /sys below another root. */
uint64_t lgv__available_below(const char *root);

/* Test hook: what lgv_memory_available says on this thread; 0 switches it off. */
void lgv__available_pretend(uint64_t bytes);

#endif
