/* Whether runs fit into memory side by side. */
#ifndef LGV_CONFIG_MEMORY_BUDGET_H
#define LGV_CONFIG_MEMORY_BUDGET_H

#include "langevin.h"

/* needs: the bytes of each of the runs to do, which it sorts. Refuses if `threads` of them at once
 * might need more than there is, and says how many would fit. */
LGV_CHECK lgv_status lgv__fit_check(uint64_t *needs, size_t count, int32_t threads, lgv_error *err);
/* Says what one run needs, if that is much. */
void lgv__fit_tell(uint64_t need, void (*notice)(void *context, const char *text), void *context);

#endif
