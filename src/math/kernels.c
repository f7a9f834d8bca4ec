#include "math/kernels.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const lgv_kernel_set lgv__kernel_set_ref;
#ifdef LGV_KERNELS_X86
extern const lgv_kernel_set lgv__kernel_set_x86, lgv__kernel_set_avx2, lgv__kernel_set_avx512;
#else
extern const lgv_kernel_set lgv__kernel_set_generic;
#endif

typedef struct candidate {
  const lgv_kernel_set *set;
  bool runs_here;
} candidate;

enum { MOST_SETS = 4 };

/* Lists every set that was built, plainest first; returns their number. */
static size_t list_sets(candidate *sets) {
  size_t n = 0;
  sets[n++] = (candidate){&lgv__kernel_set_ref, true};
#ifdef LGV_KERNELS_X86
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  sets[n++] = (candidate){&lgv__kernel_set_x86, true};
  sets[n++] = (candidate){&lgv__kernel_set_avx2, avx2};
  sets[n++] = (candidate){&lgv__kernel_set_avx512, avx512};
#else
  sets[n++] = (candidate){&lgv__kernel_set_generic, true};
#endif
  return n;
}

static const candidate *find(const candidate *sets, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(sets[i].set->name, name) == 0) return &sets[i];
  return NULL;
}

/* The set that the user asks for in the environment, or NULL. */
static const char *wish(void) {
  const char *name = getenv("LANGEVIN_KERNELS");
  return name && *name ? name : NULL;
}

static const lgv_kernel_set *choose(void) {
  candidate sets[MOST_SETS];
  size_t n = list_sets(sets);
  const candidate *wanted = wish() ? find(sets, n, wish()) : NULL;
  if (wanted && wanted->runs_here) return wanted->set;
  while (!sets[n - 1].runs_here) n--;
  return sets[n - 1].set;
}

/* Threads that race for the first call make the same choice. */
static _Atomic(const lgv_kernel_set *) in_use;

const lgv_kernel_set *lgv__kernels(void) {
  const lgv_kernel_set *set = atomic_load_explicit(&in_use, memory_order_relaxed);
  if (!set) {
    set = choose();
    atomic_store_explicit(&in_use, set, memory_order_relaxed);
  }
  return set;
}

void lgv__kernels_use(const lgv_kernel_set *set) {
  atomic_store_explicit(&in_use, set, memory_order_relaxed);
}

const lgv_kernel_set *lgv__kernels_at(size_t index) {
  candidate sets[MOST_SETS];
  size_t n = list_sets(sets);
  for (size_t i = 0; i < n; i++)
    if (sets[i].runs_here && index-- == 0) return sets[i].set;
  return NULL;
}

lgv_status lgv__kernels_check(lgv_error *err) {
  if (!wish()) return LGV_OK;
  candidate sets[MOST_SETS];
  size_t n = list_sets(sets);
  const candidate *wanted = find(sets, n, wish());
  if (wanted && wanted->runs_here) return LGV_OK;
  char names[64] = "";
  for (size_t i = 0, used = 0; i < n; i++)
    if (sets[i].runs_here)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                               sets[i].set->name);
  return lgv_fail(err, LGV_ERR_USAGE,
                  wanted ? "LANGEVIN_KERNELS=%.40s: this CPU cannot run this set; it can run %s"
                         : "LANGEVIN_KERNELS=%.40s: unknown kernel set; this CPU can run %s",
                  wish(), names);
}

const char *lgv_kernels(void) { return lgv__kernels()->name; }

/* Every word of every lane is random, so the lanes start at 16 unrelated places of the one orbit of
 * xoshiro128++. The chance that two of them overlap within 2^40 draws is below 2^-80. */
void lgv__noise_seed(lgv_noise *noise, lgv_rng *rng) {
  for (int j = 0; j < 16; j++)
    for (int i = 0; i < 4; i += 2) {
      uint64_t bits = lgv_rng_bits(rng);
      noise->s[i][j] = (uint32_t)bits;
      noise->s[i + 1][j] = (uint32_t)(bits >> 32);
    }
}
