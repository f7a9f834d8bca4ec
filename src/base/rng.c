/* Random streams: xoshiro256++ (Blackman, Vigna 2019) seeded by splitmix64 over (seed, purpose);
 * normals by the ziggurat of Marsaglia and Tsang (2000) with 256 layers of equal area; gamma by
 * Marsaglia, Tsang (2000b).
 *
 * Invariants: a stream's whole state is its four words (no cached spare normal), so copying them is
 * a checkpoint; the ziggurat's tables are computed once and never change. */
#include "base/portable_math.h"
#include "base/text.h"
#include "langevin.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static uint64_t splitmix(uint64_t *x) {
  uint64_t z = (*x += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void lgv_rng_seed(lgv_rng *rng, uint64_t seed, const char *purpose) {
  uint64_t hash = lgv__hash(LGV_HASH_START, purpose, strlen(purpose));
  uint64_t x = seed;
  x = splitmix(&x) ^ hash;
  for (int i = 0; i < 4; i++) rng->s[i] = splitmix(&x);
}

static inline uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline uint64_t next(lgv_rng *rng) {
  uint64_t *s = rng->s, result = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate(s[3], 45);
  return result;
}

uint64_t lgv_rng_bits(lgv_rng *rng) { return next(rng); }

static inline double uniform(lgv_rng *rng) { return (double)(next(rng) >> 11) * 0x1p-53; }

double lgv_rng_uniform(lgv_rng *rng) { return uniform(rng); }

/* Lemire's multiplication with rejection. */
int64_t lgv_rng_below(lgv_rng *rng, int64_t n) {
  uint64_t range = (uint64_t)n, reject = (0 - range) % range;
  for (;;) {
    unsigned __int128 product = (unsigned __int128)next(rng) * range;
    if ((uint64_t)product >= reject) return (int64_t)(product >> 64);
  }
}

enum { LAYERS = 256 };
/* The right edge of the base layer for 256 layers, and the common area of the layers. */
static const double tail_start = 3.6541528853610088, layer_area = 0.00492867323399;
typedef struct ziggurat {
  atomic_bool ready;
  double edge[LAYERS + 1], height[LAYERS + 1];
} ziggurat;
static ziggurat native, portable; /* by the C library and by portable_math.c */
static pthread_once_t native_once = PTHREAD_ONCE_INIT, portable_once = PTHREAD_ONCE_INIT;

/* The functions that belong to a table: asking once per draw is enough. */
static inline double exp_by(const ziggurat *z, double x) {
  return z == &portable ? lgv__portable_exp(x) : exp(x);
}
static inline double log_by(const ziggurat *z, double x) {
  return z == &portable ? lgv__portable_log(x) : log(x);
}

static void make_table(ziggurat *z) {
  double *edge = z->edge, *height = z->height;
  /* the base layer, tail included */
  edge[0] = layer_area / exp_by(z, -0.5 * tail_start * tail_start);
  edge[1] = tail_start;
  for (int i = 1; i < LAYERS; i++) {
    height[i] = exp_by(z, -0.5 * edge[i] * edge[i]);
    double y = height[i] + layer_area / edge[i];
    edge[i + 1] = y < 1 ? sqrt(-2 * log_by(z, y)) : 0;
  }
  edge[LAYERS] = 0;
  height[LAYERS] = 1;
  atomic_store_explicit(&z->ready, true, memory_order_release);
}

static void make_native(void) { make_table(&native); }
static void make_portable(void) { make_table(&portable); }

static inline const ziggurat *table(void) {
  ziggurat *z = lgv__portable() ? &portable : &native;
  if (atomic_load_explicit(&z->ready, memory_order_acquire)) return z;
  if (z == &portable)
    pthread_once(&portable_once, make_portable);
  else
    pthread_once(&native_once, make_native);
  return z;
}

static double tail(lgv_rng *rng, const ziggurat *z) {
  for (;;) {
    double x = -log_by(z, 1 - uniform(rng)) / tail_start, y = -log_by(z, 1 - uniform(rng));
    if (2 * y > x * x) return tail_start + x;
  }
}

/* x in the part of a layer that may be outside of the density: whether it is kept. In the base
 * layer, a draw of the tail replaces it. On its own, so that the usual draw stays short. */
__attribute__((noinline)) static bool keep(lgv_rng *rng, const ziggurat *z, int layer, double *x) {
  if (layer == 0) {
    *x = tail(rng, z);
    return true;
  }
  double low = z->height[layer], high = z->height[layer + 1];
  return low + uniform(rng) * (high - low) < exp_by(z, -0.5 * *x * *x);
}

static inline double normal(lgv_rng *rng, const ziggurat *z) {
  for (;;) {
    uint64_t bits = next(rng);
    int layer = (int)(bits & (LAYERS - 1));
    double sign = bits & LAYERS ? -1.0 : 1.0;
    double x = (double)(bits >> 11) * 0x1p-53 * z->edge[layer];
    if (x < z->edge[layer + 1]) return sign * x;
    double rare = x;
    if (keep(rng, z, layer, &rare)) return sign * rare;
  }
}

double lgv_rng_normal(lgv_rng *rng) { return normal(rng, table()); }

void lgv_rng_normals(lgv_rng *rng, double *out, size_t count) {
  const ziggurat *z = table();
  lgv_rng local = *rng; /* lets the compiler keep the state in registers */
  for (size_t i = 0; i < count; i++) out[i] = normal(&local, z);
  *rng = local;
}

static double gamma_draw(lgv_rng *rng, double shape, const ziggurat *z) {
  if (shape < 1) /* Gamma(a) = Gamma(a + 1) U^(1/a) */
    return gamma_draw(rng, shape + 1, z) * lgv__pow(1 - uniform(rng), 1 / shape);
  double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
  for (;;) {
    double x = normal(rng, z), v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    if (log_by(z, 1 - uniform(rng)) < 0.5 * x * x + d - d * v + d * log_by(z, v)) return d * v;
  }
}

double lgv_rng_gamma(lgv_rng *rng, double shape) { return gamma_draw(rng, shape, table()); }
