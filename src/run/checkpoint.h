/* Checkpoints of a run: checkpoint.safetensors, and the one before it. */
#ifndef LGV_RUN_CHECKPOINT_H
#define LGV_RUN_CHECKPOINT_H

#include "base/tensors.h"

LGV_CHECK lgv_status lgv__checkpoint_write(const lgv_tensors *tensors, const char *directory,
                                           lgv_error *err);
/* The newest one that is whole. *found is false, and nothing changes, if the directory has none at
 * all. */
LGV_CHECK lgv_status lgv__checkpoint_read(lgv_tensors *tensors, const char *directory, bool *found,
                                          lgv_error *err);

#endif
