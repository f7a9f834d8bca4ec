/* Bulk N(0, 1) in single precision: 16 lanes of xoshiro128++ (Blackman, Vigna 2019) feed the
 * transform of Box and Muller (1958), with polynomials in place of library calls.
 *
 * Pair i takes its radius sqrt(-2 ln x) from word i and its angle from word count / 2 + i; out[i]
 * gets the sine and out[count / 2 + i] the cosine.
 *
 * Departures from the exact transform: x has 31 random bits, so |out| <= 6.67, which a true normal
 * exceeds once in 4e10 draws; the errors of the minimax polynomials are at most 3e-8 (relative for
 * the logarithm and the sine, absolute for the cosine), below the rounding of a float.
 *
 * Invariant: every kernel set gives the same bits, since IEEE 754 defines the rounding of
 * additions, multiplications and square roots; the compiler must not fuse them (-ffp-contract=off).
 * The loops are plain and their elements independent, so that the compiler vectorizes them for each
 * set. */
#include "math/kernels.h"

#include <math.h>
#include <string.h>

enum { LANES = 16 };

static inline uint32_t rotate(uint32_t x, int k) { return (x << k) | (x >> (32 - k)); }
static inline uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* count random words, a multiple of LANES. */
static void fill_words(lgv_noise *noise, uint32_t *restrict out, size_t count) {
  lgv_noise local = *noise;
  uint32_t *s0 = local.s[0], *s1 = local.s[1], *s2 = local.s[2], *s3 = local.s[3];
  for (size_t i = 0; i < count; i += LANES)
    for (size_t j = 0; j < LANES; j++) {
      uint32_t shifted = s1[j] << 9;
      out[i + j] = rotate(s0[j] + s3[j], 7) + s0[j];
      s2[j] ^= s0[j];
      s3[j] ^= s1[j];
      s1[j] ^= s2[j];
      s0[j] ^= s3[j];
      s2[j] ^= shifted;
      s3[j] = rotate(s3[j], 11);
    }
  *noise = local;
}

/* -2 ln x for a normal x > 0: x = 2^e (1 + f) with 1 + f between sqrt(1/2) and sqrt(2). */
static inline float minus_two_log(float x) {
  const uint32_t root_half = 0x3f3504f3u; /* the bits of sqrt(1/2) */
  uint32_t bits = bits_of(x);
  int32_t e = (int32_t)(bits - root_half) >> 23;
  float f = float_of(bits - ((uint32_t)e << 23)) - 1.0f;
  /* Pairs and pairs of pairs form a shorter dependency chain than Horner's scheme. */
  float f2 = f * f, f4 = f2 * f2;
  float p01 = -1.99999995f + 0.999999759f * f, p23 = -0.666683712f + 0.500041481f * f;
  float p45 = -0.399136672f + 0.331247861f * f, p67 = -0.299045323f + 0.287336859f * f;
  float p = (p01 + p23 * f2) + (p45 + p67 * f2 - 0.174447135f * f4) * f4;
  return p * f - 1.38629436f * (float)e; /* 2 ln 2 */
}

/* In (0, 1], with 31 random bits. */
static inline float uniform(uint32_t word) {
  return ((float)(int32_t)(word >> 1) + 0.5f) * 0x1p-31f;
}

void LGV_KERNEL(lgv__normals)(lgv_noise *noise, float *restrict out, size_t count) {
  _Alignas(64) uint32_t words[LGV_NOISE_BLOCK];
  size_t half = count / 2;
  fill_words(noise, words, count);
  for (size_t i = 0; i < half; i++) {
    float radius = sqrtf(minus_two_log(uniform(words[i])));
    /* The angle is (pi/4) y with y in [-1, 1). The three lowest bits of the word complete the
     * circle: one exchanges sine and cosine, two choose their signs. */
    uint32_t word = words[half + i];
    float y = (float)(int32_t)(word & ~7u) * 0x1p-31f, z = y * y;
    float sine =
        y * (0.785398161f + z * (-0.0807454325f + z * (2.49000102e-3f + z * -3.59504523e-5f)));
    float cosine = 1.0f + z * (-0.308424488f + z * (0.0158503976f + z * -3.19160161e-4f));
    uint32_t exchange = (bits_of(sine) ^ bits_of(cosine)) & (0u - (word & 1u));
    out[i] = radius * float_of(bits_of(sine) ^ exchange ^ ((word & 2u) << 30));
    out[half + i] = radius * float_of(bits_of(cosine) ^ exchange ^ ((word & 4u) << 29));
  }
}
