/* x y + sum, rounded once by the sets that have such an instruction and twice by the others. It is
 * written out because a compiler that is left to fuse an expression does so in some tiles of a
 * product and not in others, as its version and options have it: the last bit of a row would depend
 * on the rows beside it. */
#ifndef LGV_MATH_FUSED_H
#define LGV_MATH_FUSED_H

#include "math/vector.h"

#if LGV_LANES > 1 && (defined(__FMA__) || defined(__aarch64__)) && !LGV_PORTABLE_SET
#define LGV_FUSES 1
#else
#define LGV_FUSES 0
#endif

#if LGV_FUSES && defined(__aarch64__)
#include <arm_neon.h>
#elif LGV_FUSES
#include <immintrin.h>
#endif

INLINE float fused_number(float x, float y, float sum) {
#if LGV_FUSES
  return __builtin_fmaf(x, y, sum);
#else
  return x * y + sum;
#endif
}

INLINE vec fused(float x, vec y, vec sum) {
#if LGV_FUSES && LGV_LANES == 16
  return (vec)_mm512_fmadd_ps(_mm512_set1_ps(x), (__m512)y, (__m512)sum);
#elif LGV_FUSES && LGV_LANES == 8
  return (vec)_mm256_fmadd_ps(_mm256_set1_ps(x), (__m256)y, (__m256)sum);
#elif LGV_FUSES && defined(__aarch64__)
  return (vec)vfmaq_n_f32((float32x4_t)sum, (float32x4_t)y, x);
#else
  return x * y + sum;
#endif
}

#endif
