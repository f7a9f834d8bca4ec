/* tiles: tile coding, Sutton (1996). Several grids over the inputs, each shifted by a part of a
 * tile; in each grid the tile that holds x has the value 1 / sqrt(tilings), the others 0.
 *
 * Grid t is shifted in input i by (t (2 i + 1) mod tilings) / tilings of a tile, the asymmetric
 * offsets of Sutton and Barto (2018, section 9.5.4). A grid has one more tile per input than
 * features.tiles, for the shift. ||psi|| = 1. */
#include "agent/export_writer.h"
#include "agent/features/features.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

enum { MOST_FEATURES = 4096 };

typedef struct params {
  lgv_feature_bounds bounds;
  int64_t tilings, tiles;
} params;

/* clang-format off */
static const lgv_param param_table[] = {
    FEATURE_BOUNDS_ROWS,
    LGV_INT_ROW(params, tilings, "tilings", "8", 1, 1024, "grids, each shifted against the others"),
    LGV_INT_ROW(params, tiles, "tiles", "4", 1, 1024, "tiles per input that cover its range"),
    {0},
};
/* clang-format on */

typedef struct self {
  int64_t inputs, tilings, tiles, per_grid;
} self;

static int64_t count_of(const params *p, int64_t inputs) {
  int64_t per_grid = lgv__feature_power(p->tiles + 1, inputs, MOST_FEATURES);
  return per_grid > MOST_FEATURES ? per_grid : per_grid * p->tilings;
}

static lgv_status dim(const void *params_, const lgv_env_spec *env, int64_t inputs, int64_t *out,
                      lgv_error *err) {
  const params *p = params_;
  (void)env;
  *out = count_of(p, inputs);
  if (*out <= MOST_FEATURES) return LGV_OK;
  return lgv_fail(
      err, LGV_ERR_USAGE,
      "%lld grids of %lld tiles on each of %lld inputs are more than %d features: lower "
      "features.tiles or features.tilings, or take rbf or random-fourier",
      (long long)p->tilings, (long long)p->tiles, (long long)inputs, MOST_FEATURES);
}

static void layout(void *self_, const void *params_, const lgv_env_spec *env, int64_t inputs,
                   lgv_layout *out) {
  self *s = self_;
  const params *p = params_;
  (void)env;
  (void)out;
  s->inputs = inputs;
  s->tilings = p->tilings;
  s->tiles = p->tiles;
  s->per_grid = lgv__feature_power(p->tiles + 1, inputs, MOST_FEATURES);
}

/* The tile of grid t that holds x. */
static int64_t tile_of(const self *s, int64_t t, const float *x) {
  int64_t tile = 0;
  for (int64_t i = 0; i < s->inputs; i++) {
    double shift = (double)(t * (2 * i + 1) % s->tilings) / (double)s->tilings;
    int64_t at = (int64_t)floor((double)x[i] * (double)s->tiles + shift);
    tile = tile * (s->tiles + 1) + (at > s->tiles ? s->tiles : at);
  }
  return tile;
}

static int64_t active(const void *params_) { return ((const params *)params_)->tilings; }

static void places(const void *self_, const float *x, int64_t count, int32_t *out) {
  const self *s = self_;
  for (int64_t n = 0; n < count; n++, x += s->inputs)
    for (int64_t t = 0; t < s->tilings; t++) *out++ = (int32_t)(t * s->per_grid + tile_of(s, t, x));
}

static lgv_status map(const void *self_, const float *x, int64_t count, float *out,
                      lgv_error *err) {
  const self *s = self_;
  float value = 1 / sqrtf((float)s->tilings);
  (void)err;
  memset(out, 0, (size_t)(count * s->tilings * s->per_grid) * sizeof *out);
  for (int64_t n = 0; n < count; n++, x += s->inputs)
    for (int64_t t = 0; t < s->tilings; t++, out += s->per_grid) out[tile_of(s, t, x)] = value;
  return LGV_OK;
}

void lgv__features_tiles_code(const void *self_, export_writer *w) {
  const self *s = self_;
  fprintf(w->file,
          "static void features(const float *x, float *phi) {\n"
          "  for (int j = 0; j < %lld; j++) phi[j] = 0;\n"
          "  for (int t = 0; t < %lld; t++) {\n"
          "    int tile = 0;\n"
          "    for (int i = 0; i < %lld; i++) {\n"
          "      int at = (int)floor((double)x[i] * %lld + (double)(t * (2 * i + 1) %% %lld) / "
          "%lld);\n"
          "      tile = tile * %lld + (at > %lld ? %lld : at);\n"
          "    }\n"
          "    phi[t * %lld + tile] = 1 / sqrtf(%lld.0f);\n"
          "  }\n"
          "}\n\n",
          (long long)(s->tilings * s->per_grid), (long long)s->tilings, (long long)s->inputs,
          (long long)s->tiles, (long long)s->tilings, (long long)s->tilings,
          (long long)s->tiles + 1, (long long)s->tiles, (long long)s->tiles, (long long)s->per_grid,
          (long long)s->tilings);
}

const lgv_feature_type lgv__features_tiles = {
    .size = sizeof(lgv_feature_type),
    .name = "tiles",
    .summary = "tile coding: several shifted grids",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .scaled = true,
    .dim = dim,
    .layout = layout,
    .map = map,
    .active = active,
    .places = places,
};
