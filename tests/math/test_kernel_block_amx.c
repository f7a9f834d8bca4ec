/* The block product of the set `amx` on tiles made of software, so that its addresses, its order
 * and its configuration are tested on every x86 processor. test_kernel_block.c tests it on real
 * tiles where there are any. */
#include "block_helpers.h"

#if defined(__x86_64__) && defined(__linux__)

#include <immintrin.h>

/* ---- Tiles in software: 8 of 16 rows of 64 bytes ---- */

static struct {
  bool configured;
  int configurations, releases;
  _Alignas(64) unsigned char tile[8][1024];
} machine;

/* Real tiles raise SIGILL. */
static void use(int tile) {
  assert_true(machine.configured);
  assert_in_range(tile, 0, 7);
}

static void soft_loadconfig(const void *config) {
  const unsigned char *bytes = config;
  for (int i = 0; i < 64; i++) {
    int expected = i == 0 ? 1 : i >= 16 && i < 32 && i % 2 == 0 ? 64 : i >= 48 && i < 56 ? 16 : 0;
    assert_int_equal(bytes[i], expected);
  }
  machine.configured = true;
  machine.configurations++;
  memset(machine.tile, 0xff, sizeof machine.tile); /* NaN */
}

static void soft_release(void) {
  machine.configured = false;
  machine.releases++;
}

static void soft_zero(int tile) {
  use(tile);
  memset(machine.tile[tile], 0, sizeof machine.tile[tile]);
}

static void soft_load(int tile, const void *from, long stride) {
  use(tile);
  for (int r = 0; r < 16; r++)
    memcpy(machine.tile[tile] + 64 * r, (const char *)from + stride * r, 64);
}

static void soft_store(int tile, void *to, long stride) {
  use(tile);
  for (int r = 0; r < 16; r++) memcpy((char *)to + stride * r, machine.tile[tile] + 64 * r, 64);
}

static void soft_multiply(int c, int a, int b) {
  use(a), use(b), use(c);
  float sum[256];
  lgv_bf16 left[LGV_TILE], right[LGV_TILE];
  memcpy(sum, machine.tile[c], sizeof sum);
  memcpy(left, machine.tile[a], sizeof left);
  memcpy(right, machine.tile[b], sizeof right);
  add_tile(sum, left, right);
  memcpy(machine.tile[c], sum, sizeof sum);
}

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#define _tile_loadconfig soft_loadconfig
#define _tile_release soft_release
#define _tile_zero soft_zero
#define _tile_loadd soft_load
#define _tile_stored soft_store
#define _tile_dpbf16ps soft_multiply
#define lgv__block_amx soft_block /* beside those of the library */
#define lgv__tiles_begin soft_begin
#define lgv__tiles_end soft_end
#include "math/kernel_block_amx.c"

/* ---- Tests ---- */

static void check_soft(random_block *r, const float *defined) {
  soft_block(&r->g);
  assert_true(same_floats(r->c, defined, C_SIZE));
  assert_false(machine.configured);
}

static void tiles_give_the_bits_of_the_definition(void **state) {
  (void)state;
  for_random_blocks(check_soft);
}

static void multiply_some(random_block *r) {
  for (int i = 0; i < 3; i++) {
    reset_c(r);
    soft_block(&r->g);
  }
}

static void tiles_are_configured_once_per_pass(void **state) {
  (void)state;
  lgv_rng_seed(&rng, 1, "test.block");
  random_block r = make_block(1, NORMAL_NUMBERS, false, false, true);
  machine.configurations = machine.releases = 0;
  soft_begin();
  assert_int_equal(machine.configurations, 0); /* a pass may have no product */
  multiply_some(&r);
  soft_begin();
  multiply_some(&r);
  soft_end();
  multiply_some(&r);
  assert_int_equal(machine.configurations, 1);
  assert_int_equal(machine.releases, 0);
  soft_end();
  assert_int_equal(machine.releases, 1);
  soft_begin();
  soft_end();
  assert_int_equal(machine.releases, 1);
  multiply_some(&r); /* outside of a pass: each on its own */
  assert_int_equal(machine.configurations, 4);
  assert_int_equal(machine.releases, 4);
  free_block(&r);
}

#else

static void tiles_give_the_bits_of_the_definition(void **state) {
  (void)state;
  skip();
}
static void tiles_are_configured_once_per_pass(void **state) {
  (void)state;
  skip();
}

#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tiles_give_the_bits_of_the_definition),
      cmocka_unit_test(tiles_are_configured_once_per_pass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
