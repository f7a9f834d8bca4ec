/* A temporary folder per test: pass make_root and remove_root as its setup and teardown. */
#ifndef LGV_TESTS_TEMP_ROOT_H
#define LGV_TESTS_TEMP_ROOT_H

#include "file_helpers.h"

static char root[TEMP_SIZE];

static inline int make_root(void **state) {
  (void)state;
  make_temp(root);
  return 0;
}

static inline int remove_root(void **state) {
  (void)state;
  remove_tree(root);
  return 0;
}

#endif
