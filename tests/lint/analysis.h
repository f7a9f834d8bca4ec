/* What static analyzers must know about other files, included before every source (scripts/lint):
 * a call that fails returns the status it was given, which is never LGV_OK. Without it they follow
 * paths that do not exist. */
#include "base/error.h"
#define lgv_fail(err, status, ...) ((void)lgv_fail(err, status, __VA_ARGS__), (status))
#define lgv__out_of_memory(err, what) ((void)lgv__out_of_memory(err, what), LGV_ERR_MEMORY)
