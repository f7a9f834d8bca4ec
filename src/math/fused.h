/* x y + sum, rounded once by the sets avx2, avx512 and neon and twice by the others, for numbers as
 * for vectors. It is written out because a compiler that is left to fuse an expression does so in
 * some tiles of a product and not in others, depending on its version and options: the last bit of
 * a row would depend on the rows beside it. */
#ifndef LGV_MATH_FUSED_H
#define LGV_MATH_FUSED_H

#include "math/vector.h"

/* Options of the user may give the set x86 the instruction too, which then stays unused. */
#if LGV_PORTABLE_SET
#define LGV_FUSES 0
#elif (defined(__FMA__) && LGV_LANES >= 8) || (defined(__aarch64__) && LGV_LANES > 1)
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
#if !LGV_FUSES
  return x * y + sum;
#elif defined(__aarch64__)
  return (vec)vfmaq_n_f32((float32x4_t)sum, (float32x4_t)y, x);
#elif LGV_LANES == 16
  return (vec)_mm512_fmadd_ps(_mm512_set1_ps(x), (__m512)y, (__m512)sum);
#else
  return (vec)_mm256_fmadd_ps(_mm256_set1_ps(x), (__m256)y, (__m256)sum);
#endif
}

#endif
