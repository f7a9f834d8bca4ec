#include "base/arena.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 64, LARGE = 4 << 20, VAST = 1 << 30 };

size_t lgv__dtype_size(lgv_dtype dtype) {
  switch (dtype) {
  case LGV_U8: return 1;
  case LGV_I32:
  case LGV_F32: return 4;
  case LGV_I64:
  case LGV_U64:
  case LGV_F64: return 8;
  }
  return 0;
}

bool lgv__are_finite(lgv_dtype dtype, const void *data, size_t count) {
  double sum = 0; /* NaN if any element is not finite */
  if (dtype == LGV_F32)
    for (size_t i = 0; i < count; i++) sum += (double)((const float *)data)[i] * 0;
  if (dtype == LGV_F64)
    for (size_t i = 0; i < count; i++) sum += ((const double *)data)[i] * 0;
  return sum == 0;
}

void *lgv_layout_array(lgv_layout *layout, const char *name, lgv_dtype dtype, size_t count,
                       lgv_keep keep) {
  size_t bytes, end;
  if (__builtin_mul_overflow(count, lgv__dtype_size(dtype), &bytes) ||
      __builtin_add_overflow(layout->used, bytes, &end) || end > SIZE_MAX / 2) {
    layout->too_large = true;
    return NULL;
  }
  size_t offset = layout->used;
  layout->used = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  size_t index = layout->n_blocks++;
  if (!layout->base) return NULL;
  layout->blocks[index] = (lgv_block){
      .name = name, .dtype = dtype, .count = count, .offset = offset, .keep = keep == LGV_KEEP};
  return layout->base + offset;
}

void lgv_layout_check(lgv_layout *layout, const char *(*check)(const void *context),
                      const void *context) {
  if (!layout->base) return;
  layout->blocks[layout->n_blocks - 1].check = check;
  layout->blocks[layout->n_blocks - 1].check_context = context;
}

const char *lgv__counter_fault(const void *counter) {
  return lgv__is_count(*(const int64_t *)counter) ? NULL : "counter out of range";
}

/* A state of zeros never changes, so draws by rejection would never end. */
static const char *rng_fault(const void *rng) {
  const uint64_t *s = ((const lgv_rng *)rng)->s;
  return s[0] | s[1] | s[2] | s[3] ? NULL : "random stream is all zero";
}

lgv_rng *lgv__layout_rng(lgv_layout *layout, const char *name) {
  lgv_rng *rng = lgv_layout_array(layout, name, LGV_U64, 4, LGV_KEEP);
  lgv_layout_check(layout, rng_fault, rng);
  return rng;
}

/* Networks and replays span more pages than the processor's address cache holds; large pages avoid
 * the misses. Where the system has none, nothing changes. */
static void ask_for_large_pages(void *memory, size_t size) {
#ifdef __linux__
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)memory;
  uintptr_t begin = (first + page - 1) / page * page, end = (first + size) / page * page;
  if (size >= LARGE) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
  (void)memory, (void)size;
#endif
}

lgv_status lgv__arena_build(lgv_arena *arena, lgv_layout_fn layout, void *context, const char *what,
                            lgv_error *err) {
  *arena = (lgv_arena){0};
  lgv_layout counted = {0};
  layout(context, &counted);
  if (counted.too_large)
    return lgv_fail(err, LGV_ERR_MEMORY, "%s needs more memory than this machine can address",
                    what);
  size_t size = counted.used + ALIGNMENT;
  arena->mapped = size >= VAST ? size : 0;
  arena->memory = arena->mapped ? lgv__map(size) : lgv__calloc(size, 1);
  arena->table.blocks = lgv__calloc(counted.n_blocks + 1, sizeof(lgv_block));
  if (!arena->memory || !arena->table.blocks) {
    lgv__arena_free(arena);
    return lgv_fail(err, LGV_ERR_MEMORY, "%s needs %.1f MB, which could not be allocated", what,
                    (double)counted.used / 1e6);
  }
  ask_for_large_pages(arena->memory, counted.used);
  uintptr_t address = (uintptr_t)arena->memory;
  arena->table.base = (unsigned char *)((address + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  layout(context, &arena->table);
  assert(arena->table.used == counted.used && arena->table.n_blocks == counted.n_blocks);
  return LGV_OK;
}

void *lgv__layout_rows(lgv_layout *layout, const char *name, lgv_dtype dtype, size_t rows,
                       size_t width, const int64_t *filled) {
  size_t count;
  if (layout->most_rows && layout->most_rows < rows) rows = layout->most_rows;
  if (__builtin_mul_overflow(rows, width, &count)) count = SIZE_MAX; /* too large in any type */
  void *data = lgv_layout_array(layout, name, dtype, count, LGV_KEEP);
  if (!data) return NULL;
  lgv_block *block = &layout->blocks[layout->n_blocks - 1];
  block->filled = filled;
  block->width = width;
  lgv__layout_for_learning(layout);
  return data;
}

void *lgv__layout_needed_rows(lgv_layout *layout, const char *name, lgv_dtype dtype, size_t rows,
                              size_t width, const int64_t *filled) {
  void *data = lgv__layout_rows(layout, name, dtype, rows, width, filled);
  if (data) layout->blocks[layout->n_blocks - 1].for_learning = false;
  return data;
}

void lgv__layout_for_learning(lgv_layout *layout) {
  if (layout->blocks) layout->blocks[layout->n_blocks - 1].for_learning = true;
}

void lgv__layout_list(lgv_layout *layout, const char *name, lgv_dtype dtype, lgv_list *list) {
  size_t index = layout->n_blocks++;
  if (!layout->base) return;
  *list = (lgv_list){0};
  layout->blocks[index] =
      (lgv_block){.name = name, .dtype = dtype, .offset = layout->used, .keep = true, .list = list};
}

lgv_status lgv__list_reserve(lgv_list *list, size_t size, size_t extra, lgv_error *err) {
  if (extra <= list->capacity - list->count) return LGV_OK;
  size_t capacity = list->capacity ? list->capacity : 64, most = SIZE_MAX / 2 / size;
  while (capacity - list->count < extra && capacity <= most) capacity *= 2;
  void *grown = capacity <= most ? lgv__realloc(list->data, capacity * size) : NULL;
  if (!grown)
    return lgv_fail(err, LGV_ERR_MEMORY, "the history needs %.1f MB, which could not be allocated",
                    (double)capacity * (double)size / 1e6);
  list->data = grown;
  list->capacity = capacity;
  return LGV_OK;
}

void lgv__arena_free(lgv_arena *arena) {
  for (size_t i = 0; arena->table.blocks && i < arena->table.n_blocks; i++)
    if (arena->table.blocks[i].list) lgv__free(arena->table.blocks[i].list->data);
  if (arena->mapped)
    lgv__unmap(arena->memory, arena->mapped);
  else
    lgv__free(arena->memory);
  lgv__free(arena->table.blocks);
  *arena = (lgv_arena){0};
}
