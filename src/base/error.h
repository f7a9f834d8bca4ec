/* Status helpers shared by the library's own files. */
#ifndef LGV_BASE_ERROR_H
#define LGV_BASE_ERROR_H

#include "langevin.h"

/* Returns from the enclosing function if the call fails, with its status. */
#define LGV_TRY(call)                                                                              \
  do {                                                                                             \
    lgv_status lgv_try_status = (call);                                                            \
    if (lgv_try_status != LGV_OK) return lgv_try_status;                                           \
  } while (0)

/* Refuses a struct of the caller's whose first member, its size, is not the one of this library's
 * langevin.h. type: "lgv_batch". */
LGV_CHECK lgv_status lgv__check_size(const char *type, size_t size, size_t expected,
                                     lgv_error *err);

static inline lgv_status lgv__out_of_memory(lgv_error *err, const char *what) {
  return lgv_fail(err, LGV_ERR_MEMORY, "not enough memory for %s", what);
}

#endif
