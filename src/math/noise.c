#include "math/kernels.h"

/* Every word of every lane is random, so that the lanes are 16 places of xoshiro128++'s one orbit
 * that nothing relates: the chance that two of them overlap within 2^40 draws is below 2^-80. */
void lgv__noise_seed(lgv_noise *noise, lgv_rng *rng) {
  for (int j = 0; j < 16; j++)
    for (int i = 0; i < 4; i += 2) {
      uint64_t bits = lgv_rng_bits(rng);
      noise->s[i][j] = (uint32_t)bits;
      noise->s[i + 1][j] = (uint32_t)(bits >> 32);
    }
}
