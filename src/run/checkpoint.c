#include "run/checkpoint.h"

#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {"checkpoint.safetensors", "checkpoint-previous.safetensors"};

/* The new file is complete beside the old one before either is renamed, so that one whole
 * checkpoint is always there. */
lgv_status lgv__checkpoint_write(const lgv_tensors *tensors, const char *directory,
                                 lgv_error *err) {
  char path[PATH_MAX], previous[PATH_MAX], fresh[PATH_MAX];
  LGV_TRY(lgv__join_path(directory, names[0], path, sizeof path, err));
  LGV_TRY(lgv__join_path(directory, names[1], previous, sizeof previous, err));
  LGV_TRY(lgv__join_path(directory, "checkpoint-new.safetensors", fresh, sizeof fresh, err));
  LGV_TRY(lgv__tensors_write(tensors, fresh, err));
  bool ok = (rename(path, previous) == 0 || errno == ENOENT) && rename(fresh, path) == 0;
  if (ok) return LGV_OK;
  return lgv_fail(err, LGV_ERR_IO, "cannot put %s into place: %s", path, strerror(errno));
}

lgv_status lgv__checkpoint_read(lgv_tensors *tensors, const char *directory, bool *found,
                                lgv_error *err) {
  lgv_status first = LGV_OK;
  *found = false;
  for (int i = 0; i < 2; i++) {
    char path[PATH_MAX];
    lgv_error why;
    LGV_TRY(lgv__join_path(directory, names[i], path, sizeof path, err));
    if (access(path, F_OK) != 0) continue;
    lgv_status status = lgv__tensors_read(tensors, path, &why);
    if (status == LGV_OK) {
      *found = true;
      return LGV_OK;
    }
    if (first == LGV_OK) {
      first = status;
      if (err) *err = why;
    }
  }
  return first;
}
