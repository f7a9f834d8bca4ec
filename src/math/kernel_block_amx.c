/* The block product (lgv_block_product) in the tiles of AMX, for the set `amx`: one TDPBF16PS is
 * the sum of a step for a tile of C, with the rounding and the flushing that lgv_block_product
 * states, whatever the floating-point mode.
 *
 * Tiles 0 to 3 hold C, 4 and 5 those of A, 6 and 7 those of B. All are configured as 16 rows of 64
 * bytes. Other code of the same thread may use tiles, too, so the configuration lasts from the
 * first product after lgv__block_begin to the matching lgv__block_end, or for one product outside
 * of them. While no tile is configured, a switch of threads neither saves nor restores tiles. */
#include "math/flush.h"
#include "math/kernels.h"

#include <assert.h>
#include <immintrin.h>

void lgv__tiles_begin(void), lgv__tiles_end(void), lgv__block_amx(const lgv_block_product *block);

enum { ROW = 64, C_TILE = 256 }; /* bytes of a tile's row; floats in a tile of C */

/* Per thread, as the tiles are. */
static _Thread_local int depth;
static _Thread_local bool configured;

static void configure(void) {
  static const struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
  } config = {.palette = 1,
              .row_bytes = {ROW, ROW, ROW, ROW, ROW, ROW, ROW, ROW},
              .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
  _Static_assert(sizeof config == 64, "as the processor reads it");
  _tile_loadconfig(&config);
  configured = true;
}

static void release(void) {
  _tile_release();
  configured = false;
}

void lgv__tiles_begin(void) { depth++; }

void lgv__tiles_end(void) {
  assert(depth > 0);
  if (--depth == 0 && configured) release();
}

/* clang-format off */
#define MULTIPLY() \
  do { \
    _tile_dpbf16ps(0, 4, 6); \
    _tile_dpbf16ps(1, 4, 7); \
    _tile_dpbf16ps(2, 5, 6); \
    _tile_dpbf16ps(3, 5, 7); \
  } while (0)
/* clang-format on */

static void add_products(const lgv_block_product *g, int64_t block) {
  const int64_t a_next = g->a_next, b_next = g->b_next, a_lo = g->a_lo, b_lo = g->b_lo;
  for (int64_t s = 0; s < g->steps; s++) {
    const lgv_bf16 *a = g->a + g->a_at[s], *first = a + a_lo;
    const lgv_bf16 *b = g->b + g->b_at[s] + block * g->b_block;
    _tile_loadd(4, first, ROW);
    _tile_loadd(6, b, ROW);
    _tile_loadd(7, b + b_next, ROW);
    _tile_loadd(5, first + a_next, ROW);
    MULTIPLY();
    if (a_lo) {
      _tile_loadd(4, a, ROW);
      _tile_loadd(5, a + a_next, ROW);
      MULTIPLY();
    }
    if (b_lo) {
      _tile_loadd(6, b + b_lo, ROW);
      _tile_loadd(7, b + b_lo + b_next, ROW);
      MULTIPLY();
    }
  }
}

static void load_c(const float *c) {
  _tile_loadd(0, c, ROW);
  _tile_loadd(1, c + C_TILE, ROW);
  _tile_loadd(2, c + 2 * C_TILE, ROW);
  _tile_loadd(3, c + 3 * C_TILE, ROW);
}

static void clear_c(void) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

static void store_c(float *c) {
  _tile_stored(0, c, ROW);
  _tile_stored(1, c + C_TILE, ROW);
  _tile_stored(2, c + 2 * C_TILE, ROW);
  _tile_stored(3, c + 3 * C_TILE, ROW);
}

/* GCC does not know that loading a tile reads memory: the fences keep stores on their side. */
void lgv__block_amx(const lgv_block_product *g) {
  LGV_MEMORY_FENCE();
  if (!configured) configure();
  for (int64_t n = 0; n < (g->blocks ? g->blocks : 1); n++) {
    float *c = g->c + n * LGV_BLOCK;
    if (g->add)
      load_c(c);
    else
      clear_c();
    add_products(g, n);
    store_c(c);
  }
  LGV_MEMORY_FENCE();
  if (depth == 0) release();
}
