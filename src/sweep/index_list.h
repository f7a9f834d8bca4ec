/* Sets of indexes as schedulers write them: "3,5-9", also "0-8:4" for 0, 4 and 8. */
#ifndef LGV_SWEEP_INDEX_LIST_H
#define LGV_SWEEP_INDEX_LIST_H

#include "langevin.h"

#include <stdio.h>

/* Sets the members of `set` that the text names; the others are left alone. */
LGV_CHECK lgv_status lgv__index_list_parse(const char *text, bool *set, size_t count,
                                           lgv_error *err);
/* The shortest text without steps; nothing for an empty set. */
void lgv__index_list_print(const bool *set, size_t count, FILE *out);

#endif
