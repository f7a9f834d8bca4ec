/* Elementary functions with the same bits on every machine.
 *
 * C libraries differ in the last bits of exp, log, pow, sin, cos and their relatives, and one
 * library may differ between processors: glibc has variants with fused multiply-adds. Where such a
 * function decides a result, the code calls lgv__exp instead of exp, and so on. These call the C
 * library, unless the thread computes portably; then they call the functions of portable_math.c,
 * which consist of additions, multiplications, divisions and square roots in a stated order. IEEE
 * 754 defines the bits of those.
 *
 * tests/whole/libm_test.sh lists the calls of the C library that remain, with the reason. */
#ifndef LGV_BASE_PORTABLE_MATH_H
#define LGV_BASE_PORTABLE_MATH_H

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>

/* ---- Who computes portably ---- */

typedef enum lgv_portability {
  LGV_AS_PROCESS, /* of a thread: as the process does. Of the process: as LANGEVIN_KERNELS says */
  LGV_NATIVE,
  LGV_PORTABLE
} lgv_portability;

/* math/kernels.c calls these, so that kernels and functions always belong together. */
void lgv__portable_thread(lgv_portability choice);
void lgv__portable_process(lgv_portability choice);

extern _Thread_local lgv_portability lgv__thread_portability;
extern atomic_int lgv__process_portability;  /* LGV_AS_PROCESS: not looked up yet */
lgv_portability lgv__find_portability(void); /* looks up the process's choice */

/* Whether the calling thread computes portably. */
static inline bool lgv__portable(void) {
  int choice = (int)lgv__thread_portability;
  if (!choice) choice = atomic_load_explicit(&lgv__process_portability, memory_order_relaxed);
  return (choice ? choice : (int)lgv__find_portability()) == LGV_PORTABLE;
}

/* ---- The functions ----
 *
 * Errors are below 1 unit in the last place (expm1 and hypot: 1.2), signs, zeros, infinities and
 * NaN as in C. Beyond 2^20, lgv__portable_sin and lgv__portable_cos first reduce x by the double
 * nearest to 2 pi, which is not 2 pi: they stay in [-1, 1], but are another wave there. */

double lgv__portable_exp(double x);
double lgv__portable_expm1(double x);
double lgv__portable_log(double x);
double lgv__portable_log1p(double x);
double lgv__portable_pow(double x, double y);
double lgv__portable_sin(double x);
double lgv__portable_cos(double x);
double lgv__portable_hypot(double x, double y);

static inline double lgv__exp(double x) { return lgv__portable() ? lgv__portable_exp(x) : exp(x); }
static inline double lgv__expm1(double x) {
  return lgv__portable() ? lgv__portable_expm1(x) : expm1(x);
}
static inline double lgv__log(double x) { return lgv__portable() ? lgv__portable_log(x) : log(x); }
static inline float lgv__logf(float x) {
  return lgv__portable() ? (float)lgv__portable_log((double)x) : logf(x);
}
static inline float lgv__expf(float x) {
  return lgv__portable() ? (float)lgv__portable_exp((double)x) : expf(x);
}
static inline float lgv__sinf(float x) {
  return lgv__portable() ? (float)lgv__portable_sin((double)x) : sinf(x);
}
static inline float lgv__cosf(float x) {
  return lgv__portable() ? (float)lgv__portable_cos((double)x) : cosf(x);
}
static inline float lgv__powf(float x, float y) {
  return lgv__portable() ? (float)lgv__portable_pow((double)x, (double)y) : powf(x, y);
}
static inline double lgv__log1p(double x) {
  return lgv__portable() ? lgv__portable_log1p(x) : log1p(x);
}
static inline double lgv__pow(double x, double y) {
  return lgv__portable() ? lgv__portable_pow(x, y) : pow(x, y);
}
static inline double lgv__sin(double x) { return lgv__portable() ? lgv__portable_sin(x) : sin(x); }
static inline double lgv__cos(double x) { return lgv__portable() ? lgv__portable_cos(x) : cos(x); }
static inline double lgv__hypot(double x, double y) {
  return lgv__portable() ? lgv__portable_hypot(x, y) : hypot(x, y);
}

#endif
