/* A checkpoint file: arrays of every kind are read completely, or nothing is changed. */
#include "fuzz.h"

#include "base/io/tensors.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, WIDTH = 3, NUMBERS = 5 };

typedef struct world {
  int64_t *filled;
  uint8_t *data;  /* (ROWS x WIDTH) */
  float *numbers; /* (NUMBERS) */
  lgv_list list;
  lgv_arena arena;
  lgv_tensors tensors;
} world;

static void lay_out(void *context, lgv_layout *layout) {
  world *w = context;
  w->filled = lgv_layout_array(layout, "filled", LGV_I64, 1, LGV_KEEP);
  w->data = lgv__layout_rows(layout, "data", LGV_U8, ROWS, WIDTH, w->filled);
  w->numbers = lgv_layout_array(layout, "numbers", LGV_F32, NUMBERS, LGV_KEEP);
  lgv__layout_list(layout, "list", LGV_I32, &w->list);
}

static void need(bool ok) {
  if (!ok) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  world w = {0};
  lgv_error err;
  need(lgv__arena_build(&w.arena, lay_out, &w, "a test", &err) == LGV_OK);
  need(lgv__tensors_add_arena(&w.tensors, "w", &w.arena, &err) == LGV_OK);
  for (int i = 0; i < NUMBERS; i++) w.numbers[i] = 7;
  lgv_status status = lgv__tensors_read(&w.tensors, fuzz_file(data, size), &err);
  need(status == LGV_OK || strlen(err.message) > 0);
  if (status == LGV_OK) need(*w.filled >= 0 && *w.filled <= ROWS);
  lgv__tensors_free(&w.tensors);
  lgv__arena_free(&w.arena);
  return 0;
}
