/* One zeroed piece of memory per handle, and the table of the named blocks in it.
 *
 * Invariants: (1) a layout function makes the same calls in the counting pass and in the placing
 * pass; (2) every block starts on a 64-byte boundary; (3) after lgv__arena_build nothing is added
 * or moved. */
#ifndef LGV_BASE_ARENA_H
#define LGV_BASE_ARENA_H

#include "langevin.h"

/* A block of unknown length, always kept. It may grow between episodes, never within a step. */
typedef struct lgv_list {
  void *data;
  size_t count, capacity; /* in elements */
} lgv_list;

typedef struct lgv_block {
  const char *name; /* a literal of the layout function */
  lgv_dtype dtype;
  size_t count;
  size_t offset; /* from base */
  bool keep;
  lgv_list *list;        /* a growing block with memory of its own, outside the arena; else NULL */
  const int64_t *filled; /* a block of rows: the number of rows in use; else NULL */
  size_t width;          /* elements of a row */
  bool for_learning;     /* acting does not need it: see lgv__layout_for_learning */
  const char *(*check)(const void *context); /* checks loaded content; or NULL */
  const void *check_context;
} lgv_block;

struct lgv_layout {
  unsigned char *base; /* NULL while counting */
  size_t used;
  bool too_large;
  lgv_block *blocks; /* NULL while counting */
  size_t n_blocks;
  size_t most_rows; /* while counting: the most rows that can be filled; 0: any number */
};

typedef struct lgv_arena {
  lgv_layout table;
  void *memory;  /* the allocation; base is its first aligned address */
  size_t mapped; /* bytes of lgv__map; 0: it is of lgv__calloc */
} lgv_arena;

typedef void (*lgv_layout_fn)(void *context, lgv_layout *layout);

LGV_CHECK lgv_status lgv__arena_build(lgv_arena *arena, lgv_layout_fn layout, void *context,
                                      const char *what, lgv_error *err);
void lgv__arena_free(lgv_arena *arena); /* lists included */
/* A kept block of `rows` rows of `width` elements that is filled from the front: checkpoints hold
 * only the first *filled rows, and pages that were never written take no memory. filled: an element
 * of a kept block, which the owner of the rows increments. Rows after it are never read. They hold
 * experience: only learning needs them. */
void *lgv__layout_rows(lgv_layout *layout, const char *name, lgv_dtype dtype, size_t rows,
                       size_t width, const int64_t *filled);
/* The same for rows by which an agent acts, too. */
void *lgv__layout_needed_rows(lgv_layout *layout, const char *name, lgv_dtype dtype, size_t rows,
                              size_t width, const int64_t *filled);
/* Marks the block declared last: only learning needs it. Checkpoints hold it, but evaluations do
 * not load it, and files without experience leave it out. */
void lgv__layout_for_learning(lgv_layout *layout);
/* The state of a random stream. */
lgv_rng *lgv__layout_rng(lgv_layout *layout, const char *name);
void lgv__layout_list(lgv_layout *layout, const char *name, lgv_dtype dtype, lgv_list *list);
/* Makes room for `extra` more elements of `size` bytes after the first `count`. */
LGV_CHECK lgv_status lgv__list_reserve(lgv_list *list, size_t size, size_t extra, lgv_error *err);
size_t lgv__dtype_size(lgv_dtype dtype);
/* Whether all elements are finite; whole numbers are. */
bool lgv__are_finite(lgv_dtype dtype, const void *data, size_t count);

/* For checks. Counters are far below overflow and exact as doubles. */
static inline bool lgv__is_within(int64_t x, int64_t low, int64_t high) {
  return x >= low && x <= high;
}
static inline bool lgv__is_count(int64_t x) { return lgv__is_within(x, 0, INT64_C(1) << 53); }
static inline bool lgv__are_counts(const int64_t *x, size_t n) {
  bool ok = true;
  for (size_t i = 0; i < n; i++) ok &= lgv__is_count(x[i]);
  return ok;
}
/* A check whose context is an array of one counter. */
const char *lgv__counter_fault(const void *counter);

#endif
