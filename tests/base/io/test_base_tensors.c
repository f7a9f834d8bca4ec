/* Files of named arrays: their content, and that blocks of rows store only the filled rows. */
#include "base/io/tensors.h"

#include "run_helpers.h"
#include "temp_root.h"

enum { ROWS = 1000, WIDTH = 7 };

typedef struct ring {
  int64_t *filled;
  uint8_t *data;  /* (ROWS x WIDTH) */
  double *weight; /* (ROWS) */
  float *other;   /* (5) */
  lgv_arena arena;
  lgv_tensors tensors;
} ring;

static void lay_out(void *context, lgv_layout *layout) {
  ring *r = context;
  r->filled = lgv_layout_array(layout, "filled", LGV_I64, 1, LGV_KEEP);
  r->data = lgv__layout_rows(layout, "data", LGV_U8, ROWS, WIDTH, r->filled);
  r->weight = lgv__layout_rows(layout, "weight", LGV_F64, ROWS, 1, r->filled);
  r->other = lgv_layout_array(layout, "other", LGV_F32, 5, LGV_KEEP);
}

static void open_ring(ring *r) {
  lgv_error err = {0};
  *r = (ring){0};
  assert_int_equal(lgv__arena_build(&r->arena, lay_out, r, "a test", &err), LGV_OK);
  assert_int_equal(lgv__tensors_add_arena(&r->tensors, "ring", &r->arena, &err), LGV_OK);
}

static void close_ring(ring *r) {
  lgv__tensors_free(&r->tensors);
  lgv__arena_free(&r->arena);
}

static void fill(ring *r, int64_t rows) {
  *r->filled = rows;
  for (int64_t i = 0; i < rows * WIDTH; i++) r->data[i] = (uint8_t)(i * 31 + 1);
  for (int64_t i = 0; i < rows; i++) r->weight[i] = 0.5 + (double)i;
  for (int i = 0; i < 5; i++) r->other[i] = (float)i;
}

/* Returns the bytes of data after the header and checks that the offsets cover them without a gap.
 */
static size_t data_bytes(const char *path) {
  FILE *file = fopen(path, "rb");
  uint64_t length = 0, end = 0;
  assert_non_null(file);
  assert_int_equal(fread(&length, 8, 1, file), 1);
  char *header = calloc(length + 1, 1);
  assert_int_equal(fread(header, 1, length, file), length);
  for (char *at = header; (at = strstr(at, "\"data_offsets\":")); at++) {
    unsigned long long first, last;
    assert_int_equal(sscanf(at, "\"data_offsets\":%*[ [\n]%llu%*[ ,\n]%llu", &first, &last), 2);
    assert_int_equal(first, end);
    end = last;
  }
  free(header);
  fseek(file, 0, SEEK_END);
  assert_int_equal(ftell(file), 8 + length + end);
  fclose(file);
  return end;
}

static void only_filled_rows_are_in_the_file(void **state) {
  (void)state;
  const int64_t counts[] = {0, 1, 123, ROWS};
  char path[PATH_MAX];
  lgv_error err = {0};
  join(path, root, "file");
  for (size_t k = 0; k < 4; k++) {
    ring a, b;
    open_ring(&a);
    open_ring(&b);
    fill(&a, counts[k]);
    assert_int_equal(lgv__tensors_write(&a.tensors, path, &err), LGV_OK);
    assert_int_equal(data_bytes(path), 8 + (size_t)counts[k] * (WIDTH + 8) + 20);
    if (lgv__tensors_read(&b.tensors, path, &err) != LGV_OK) fail_msg("%s", err.message);
    assert_int_equal(*b.filled, counts[k]);
    assert_memory_equal(a.data, b.data, ROWS * WIDTH);
    assert_memory_equal(a.weight, b.weight, ROWS * sizeof(double));
    assert_memory_equal(a.other, b.other, 5 * sizeof(float));
    close_ring(&a);
    close_ring(&b);
  }
}

static void a_file_whose_rows_do_not_fit_is_refused(void **state) {
  (void)state;
  ring a, b;
  char path[PATH_MAX];
  lgv_error err = {0};
  join(path, root, "file");
  open_ring(&a);
  open_ring(&b);
  fill(&a, 10);
  static int64_t wrong = 9; /* one array says 9 rows, the others 10 */
  a.tensors.items[2].filled = &wrong;
  assert_int_equal(lgv__tensors_write(&a.tensors, path, &err), LGV_OK);
  assert_int_equal(lgv__tensors_read(&b.tensors, path, &err), LGV_ERR_IO);
  assert_non_null(strstr(err.message, "fewer or more rows"));
  a.tensors.items[2].filled = NULL; /* the whole block: 1000 rows although 10 were filled */
  a.tensors.items[1].filled = NULL;
  assert_int_equal(lgv__tensors_write(&a.tensors, path, &err), LGV_OK);
  assert_int_equal(lgv__tensors_read(&b.tensors, path, &err), LGV_ERR_IO);
  a.tensors.items[1].count = a.tensors.items[1].count - 1; /* not a whole number of rows */
  assert_int_equal(lgv__tensors_write(&a.tensors, path, &err), LGV_OK);
  assert_int_equal(lgv__tensors_read(&b.tensors, path, &err), LGV_ERR_IO);
  assert_non_null(strstr(err.message, "ring.data"));
  close_ring(&a);
  close_ring(&b);
}

/* A count out of range neither reads nor writes beyond the block. */
static void a_count_beyond_the_block_is_cut(void **state) {
  (void)state;
  ring a;
  char path[PATH_MAX];
  lgv_error err = {0};
  join(path, root, "file");
  open_ring(&a);
  *a.filled = INT64_MAX;
  assert_int_equal(lgv__tensors_write(&a.tensors, path, &err), LGV_OK);
  assert_int_equal(data_bytes(path), 8 + ROWS * (WIDTH + 8) + 20);
  *a.filled = -1;
  assert_int_equal(lgv__tensors_write(&a.tensors, path, &err), LGV_OK);
  assert_int_equal(data_bytes(path), 8 + 20);
  close_ring(&a);
}

static void rows_can_be_left_out(void **state) {
  (void)state;
  ring a, b;
  char path[PATH_MAX];
  lgv_error err = {0};
  join(path, root, "file");
  open_ring(&a);
  open_ring(&b);
  fill(&a, 10);
  assert_int_equal(lgv__tensors_write(&a.tensors, path, &err), LGV_OK);
  lgv__tensors_drop_learning(&b.tensors);
  assert_int_equal(b.tensors.count, 2);
  assert_int_equal(lgv__tensors_read(&b.tensors, path, &err), LGV_OK);
  assert_memory_equal(a.other, b.other, 5 * sizeof(float));
  assert_int_equal(b.data[0], 0);
  close_ring(&a);
  close_ring(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_filled_rows_are_in_the_file),
      cmocka_unit_test(a_file_whose_rows_do_not_fit_is_refused),
      cmocka_unit_test(a_count_beyond_the_block_is_cut),
      cmocka_unit_test(rows_can_be_left_out),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
