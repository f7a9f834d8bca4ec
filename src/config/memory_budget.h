/* Whether parallel runs fit into memory. */
#ifndef LGV_CONFIG_MEMORY_BUDGET_H
#define LGV_CONFIG_MEMORY_BUDGET_H

#include "langevin.h"

/* needs: the bytes of each run; it is sorted. Refuses if `threads` runs at once might need more
 * than is available, and says how many would fit. */
LGV_CHECK lgv_status lgv__memory_check(uint64_t *needs, size_t count, int32_t threads,
                                       lgv_error *err);
/* Reports what one run needs, if that is more than a gigabyte. */
void lgv__memory_notify(uint64_t need, void (*notice)(void *context, const char *text),
                        void *context);

#endif
