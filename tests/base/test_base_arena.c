/* The arena: blocks are placed where they were counted, aligned, zeroed and named; impossible sizes
 * are refused. */
#include "base/arena.h"
#include "base/memory.h"

#include "run_helpers.h"

typedef struct blocks {
  uint8_t *bytes;
  double *reals;
  int32_t *none;
  int64_t *ints;
  lgv_list list;
  size_t n_bytes, n_reals;
} blocks;

static void lay_out(void *context, lgv_layout *layout) {
  blocks *b = context;
  b->bytes = lgv_layout_array(layout, "bytes", LGV_U8, b->n_bytes, LGV_SCRATCH);
  b->reals = lgv_layout_array(layout, "reals", LGV_F64, b->n_reals, LGV_KEEP);
  b->none = lgv_layout_array(layout, "none", LGV_I32, 0, LGV_KEEP);
  lgv__layout_list(layout, "list", LGV_I64, &b->list);
  b->ints = lgv_layout_array(layout, "ints", LGV_I64, 3, LGV_KEEP);
}

static void blocks_are_aligned_zeroed_apart_and_named(void **state) {
  (void)state;
  blocks b = {.n_bytes = 65, .n_reals = 9};
  lgv_arena arena;
  lgv_error err = {0};
  assert_int_equal(lgv__arena_build(&arena, lay_out, &b, "test", &err), LGV_OK);
  const lgv_layout *t = &arena.table;
  assert_int_equal(t->n_blocks, 5);
  /* 65 bytes take two lines of 64, 72 bytes two, 0 bytes none, 24 bytes one */
  const size_t offsets[] = {0, 128, 256, 256, 256};
  const char *const names[] = {"bytes", "reals", "none", "list", "ints"};
  for (size_t i = 0; i < 5; i++) {
    assert_int_equal(t->blocks[i].offset, offsets[i]);
    assert_string_equal(t->blocks[i].name, names[i]);
    assert_int_equal(t->blocks[i].keep, i != 0);
  }
  assert_int_equal(t->used, 320);
  assert_int_equal((uintptr_t)b.bytes % 64, 0);
  assert_ptr_equal(b.bytes, t->base);
  assert_ptr_equal((unsigned char *)b.reals, t->base + 128);
  assert_ptr_equal((unsigned char *)b.ints, t->base + 256);
  for (size_t i = 0; i < t->used; i++) assert_int_equal(t->base[i], 0);
  memset(b.bytes, 1, 65); /* the address sanitizer checks that the memory exists */
  memset(b.ints, 1, 24);
  lgv__arena_free(&arena);
  assert_null(arena.memory);
  lgv__arena_free(&arena); /* freeing twice is harmless */
}

static void sizes_that_no_machine_has_are_refused(void **state) {
  (void)state;
  const size_t too_many[] = {SIZE_MAX, SIZE_MAX / 8 + 1, SIZE_MAX / 8, SIZE_MAX / 16 + 1};
  for (size_t i = 0; i < sizeof too_many / sizeof *too_many; i++) {
    blocks b = {.n_bytes = 1, .n_reals = too_many[i]};
    lgv_arena arena;
    lgv_error err = {0};
    assert_int_equal(lgv__arena_build(&arena, lay_out, &b, "a test", &err), LGV_ERR_MEMORY);
    assert_non_null(strstr(err.message, "a test needs more memory"));
    assert_null(arena.memory);
  }
}

static void a_refused_allocation_leaves_nothing_behind(void **state) {
  (void)state;
  for (long n = 1; n <= 2; n++) {
    blocks b = {.n_bytes = 1, .n_reals = 125000};
    lgv_arena arena;
    lgv_error err = {0};
    lgv__memory_fail_after(n);
    assert_int_equal(lgv__arena_build(&arena, lay_out, &b, "a test", &err), LGV_ERR_MEMORY);
    assert_int_equal(lgv__memory_fail_after(0), 0);
    assert_non_null(strstr(err.message, "a test needs 1.0 MB"));
    assert_null(arena.memory);
    assert_null(arena.table.blocks);
  }
}

static void a_list_grows_and_keeps_what_it_holds(void **state) {
  (void)state;
  blocks b = {.n_bytes = 1, .n_reals = 1};
  lgv_arena arena;
  lgv_error err = {0};
  assert_int_equal(lgv__arena_build(&arena, lay_out, &b, "test", &err), LGV_OK);
  for (int64_t i = 0; i < 1000; i++) {
    assert_int_equal(lgv__list_reserve(&b.list, sizeof i, 1, &err), LGV_OK);
    ((int64_t *)b.list.data)[b.list.count++] = i;
  }
  assert_true(b.list.capacity >= 1000);
  for (int64_t i = 0; i < 1000; i++) assert_int_equal(((int64_t *)b.list.data)[i], i);
  void *before = b.list.data;
  size_t capacity = b.list.capacity;
  lgv__memory_fail_after(1);
  assert_int_equal(lgv__list_reserve(&b.list, sizeof(int64_t), 2 * capacity, &err), LGV_ERR_MEMORY);
  lgv__memory_fail_after(0);
  assert_ptr_equal(b.list.data, before);
  assert_int_equal(b.list.capacity, capacity);
  assert_int_equal(lgv__list_reserve(&b.list, sizeof(int64_t), SIZE_MAX / 4, &err), LGV_ERR_MEMORY);
  assert_ptr_equal(b.list.data, before);
  lgv__arena_free(&arena); /* also frees the list's memory, as the leak sanitizer checks */
}

static void sizes_of_types(void **state) {
  (void)state;
  assert_int_equal(lgv__dtype_size(LGV_U8), sizeof(uint8_t));
  assert_int_equal(lgv__dtype_size(LGV_I32), sizeof(int32_t));
  assert_int_equal(lgv__dtype_size(LGV_I64), sizeof(int64_t));
  assert_int_equal(lgv__dtype_size(LGV_U64), sizeof(uint64_t));
  assert_int_equal(lgv__dtype_size(LGV_F32), sizeof(float));
  assert_int_equal(lgv__dtype_size(LGV_F64), sizeof(double));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_are_aligned_zeroed_apart_and_named),
      cmocka_unit_test(sizes_that_no_machine_has_are_refused),
      cmocka_unit_test(a_refused_allocation_leaves_nothing_behind),
      cmocka_unit_test(a_list_grows_and_keeps_what_it_holds),
      cmocka_unit_test(sizes_of_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
