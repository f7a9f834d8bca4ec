/* Treats subnormal numbers as zero while a loop runs.
 *
 * A decaying mean, m = 0.9 m, never reaches zero: it rounds back to a few units of the smallest
 * subnormal number and stays there, and arithmetic with subnormal numbers is up to a hundred times
 * slower. On a CPU without such a mode nothing happens, and the results differ only in numbers
 * below 1.2e-38. The caller's mode is restored, since the thread is the caller's.
 *
 * Portable kernel sets cannot use that mode: some processors have none, and the others differ in
 * whether they look at a result before or after it is rounded. Their loops compute with subnormal
 * numbers, but store 0 instead of them. */
#ifndef LGV_MATH_FLUSH_H
#define LGV_MATH_FLUSH_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
static inline uint64_t lgv__fp_mode(void) { return _mm_getcsr(); }
static inline void lgv__fp_set_mode(uint64_t mode) { _mm_setcsr((unsigned)mode); }
enum { LGV_DEFAULT_MODE = 0x1f80 }; /* nearest, no traps */
enum { LGV_FLUSH_BITS = 0x8040 };   /* flush results to zero, read operands as zero */
/* Has a result overflowed or underflowed since a mode without flags was set? */
static inline bool lgv__fp_left_range(void) { return lgv__fp_mode() & 0x18; }
#elif defined(__aarch64__)
/* Control in the lower half and the flags in the upper one, which x86 keeps in one register. */
static inline uint64_t lgv__fp_mode(void) {
  uint64_t control, flags;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile("mrs %0, fpsr" : "=r"(flags));
  return control | flags << 32;
}
static inline void lgv__fp_set_mode(uint64_t mode) {
  __asm__ volatile("msr fpcr, %0" ::"r"(mode & UINT32_MAX));
  __asm__ volatile("msr fpsr, %0" ::"r"(mode >> 32));
}
enum { LGV_DEFAULT_MODE = 0, LGV_FLUSH_BITS = 1 << 24 };
static inline bool lgv__fp_left_range(void) { return lgv__fp_mode() >> 32 & 0xc; }
#else
static inline uint64_t lgv__fp_mode(void) { return 0; }
static inline void lgv__fp_set_mode(uint64_t mode) { (void)mode; }
enum { LGV_DEFAULT_MODE = 0, LGV_FLUSH_BITS = 0 };
#endif

/* The compiler must not move loads and stores across a change of mode. */
#define LGV_MEMORY_FENCE() __asm__ volatile("" ::: "memory")

/* Changes the mode and its flags, and returns the previous ones for lgv__flush_end. */
static inline uint64_t lgv__mode_begin(uint64_t wanted) {
  uint64_t mode = lgv__fp_mode();
  lgv__fp_set_mode(wanted);
  LGV_MEMORY_FENCE();
  return mode;
}

/* Returns the mode to be passed to lgv__flush_end. */
static inline uint64_t lgv__flush_begin(void) {
  return lgv__mode_begin(lgv__fp_mode() | LGV_FLUSH_BITS);
}

static inline void lgv__flush_end(uint64_t mode) {
  LGV_MEMORY_FENCE();
  lgv__fp_set_mode(mode);
}

#ifdef LGV_ISA

/* The mode of a loop that stores its results through lgv__without_subnormal. */
static inline uint64_t lgv__loop_begin(void) {
  return LGV_PORTABLE_SET ? lgv__mode_begin(LGV_DEFAULT_MODE) : lgv__flush_begin();
}

static inline __attribute__((always_inline)) float lgv__without_subnormal(float x) {
  return LGV_PORTABLE_SET && fabsf(x) < FLT_MIN ? 0 : x;
}

#endif
#endif
