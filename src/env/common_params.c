#include "env/common_params.h"

#include "base/param.h"
#include "base/stack.h"

#include <stdalign.h>

/* clang-format off */
const lgv_param lgv__env_common_params[] = {
    LGV_INT_ROW(lgv_env_common, stack, "stack", "1", 1, LGV_MOST_FRAMES, "number of last observations that agents see at once, oldest first: pictures along their channels, vectors one after the other; an episode begins with copies of its first observation. One-hot and thermometer observations become dense vectors"),
    {0},
};
/* clang-format on */

bool lgv__env_takes_common(const lgv_env_type *type, const lgv_param *row) {
  return lgv__params_find(type->params, row->name) < 0;
}

size_t lgv__env_common_at(const lgv_env_type *type) {
  size_t unit = alignof(max_align_t);
  return (type->params_size + unit - 1) / unit * unit;
}

size_t lgv__env_join_params(const lgv_env_type *type, lgv_param *rows) {
  size_t count = 0;
  for (const lgv_param *row = type->params; row && row->name; row++, count++)
    if (rows) rows[count] = *row;
  for (const lgv_param *row = lgv__env_common_params; row->name; row++) {
    if (!lgv__env_takes_common(type, row)) continue;
    if (rows) rows[count] = *row;
    if (rows) rows[count].offset += lgv__env_common_at(type);
    count++;
  }
  if (rows) rows[count] = (lgv_param){0};
  return count;
}
