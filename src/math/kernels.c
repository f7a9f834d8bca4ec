#include "math/kernels.h"

#include "base/portable_math.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const lgv_kernel_set lgv__kernel_set_ref, lgv__kernel_set_x86, lgv__kernel_set_avx2,
    lgv__kernel_set_avx512, lgv__kernel_set_amx, lgv__kernel_set_neon, lgv__kernel_set_generic,
    lgv__kernel_set_portable1, lgv__kernel_set_portable4, lgv__kernel_set_portable8,
    lgv__kernel_set_portable16, lgv__kernel_set_portable_amx;

/* ---- What this CPU can run ---- */

static bool always(void) { return true; }

#ifdef LGV_KERNELS_X86

static bool has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void) {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}

#endif

#ifdef LGV_KERNELS_AMX

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Tiles and products of bf16 in the processor (leaf 7), their state in the operating system
 * (XGETBV). Leaf 0x1D, which describes the tiles, may be hidden by a hypervisor; their form is
 * architectural. */
static bool has_tiles(void) {
  enum { OSXSAVE = 1 << 27, AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24, TILE_STATE = 3 << 17 };
  unsigned eax, ebx, ecx, edx, enabled, upper;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & OSXSAVE)) return false;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  if (!(edx & AMX_BF16) || !(edx & AMX_TILE)) return false;
  __asm__ volatile("xgetbv" : "=a"(enabled), "=d"(upper) : "c"(0));
  return (enabled & TILE_STATE) == TILE_STATE;
}

/* Linux grants the memory for the tiles' data only on request, once for all threads of a process;
 * without it, the first instruction that uses a tile ends the process. */
static bool has_amx(void) {
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
  return has_avx512() && has_tiles() && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

void lgv__tiles_begin(void), lgv__tiles_end(void); /* kernel_block_amx.c */
void lgv__block_begin(void) { lgv__tiles_begin(); }
void lgv__block_end(void) { lgv__tiles_end(); }

#else

void lgv__block_begin(void) {}
void lgv__block_end(void) {}

#endif

/* ---- Choice ---- */

static const char portable_name[] = "portable"; /* the common name of the portable sets */

/* Every set that was built: ref, the portable sets, the others; within these, plainest first. */
static const struct candidate {
  const lgv_kernel_set *set;
  bool (*runs_here)(void);
} sets[] = {
    {&lgv__kernel_set_ref, always},           {&lgv__kernel_set_portable1, always},
    {&lgv__kernel_set_portable4, always},
#ifdef LGV_KERNELS_X86
    {&lgv__kernel_set_portable8, has_avx2},   {&lgv__kernel_set_portable16, has_avx512},
#endif
#ifdef LGV_KERNELS_AMX
    {&lgv__kernel_set_portable_amx, has_amx},
#endif
#ifdef LGV_KERNELS_X86
    {&lgv__kernel_set_x86, always},           {&lgv__kernel_set_avx2, has_avx2},
    {&lgv__kernel_set_avx512, has_avx512},
#elif defined(LGV_KERNELS_NEON)
    {&lgv__kernel_set_neon, always},
#else
    {&lgv__kernel_set_generic, always},
#endif
#ifdef LGV_KERNELS_AMX
    {&lgv__kernel_set_amx, has_amx},
#endif
};
enum { SETS = sizeof sets / sizeof *sets };

static const struct candidate *find(const char *name) {
  for (size_t i = 0; i < SETS; i++)
    if (strcmp(sets[i].set->name, name) == 0) return &sets[i];
  return NULL;
}

/* The set that the user asks for in the environment, or NULL. */
static const char *wish(void) {
  const char *name = getenv("LANGEVIN_KERNELS");
  return name && *name ? name : NULL;
}

/* The last one that runs here. */
static const lgv_kernel_set *best(bool portable) {
  size_t i = SETS - 1;
  while (sets[i].set->portable != portable || !sets[i].runs_here()) i--;
  return sets[i].set;
}

/* A portable set that does not run here is replaced by another one: it has the same bits. */
static const lgv_kernel_set *choose(void) {
  const char *name = wish();
  const struct candidate *wanted = name ? find(name) : NULL;
  if (wanted && wanted->runs_here()) return wanted->set;
  return best(name && strncmp(name, portable_name, strlen(portable_name)) == 0);
}

/* Threads that race for the first call make the same choice. */
static _Atomic(const lgv_kernel_set *) of_process, widest_portable;
static _Thread_local const lgv_kernel_set *of_thread;

static lgv_portability portability(const lgv_kernel_set *set) {
  return !set ? LGV_AS_PROCESS : set->portable ? LGV_PORTABLE : LGV_NATIVE;
}

static const lgv_kernel_set *process_kernels(void) {
  const lgv_kernel_set *set = atomic_load_explicit(&of_process, memory_order_relaxed);
  if (!set) lgv__kernels_use(set = choose());
  return set;
}

const lgv_kernel_set *lgv__kernels(void) { return of_thread ? of_thread : process_kernels(); }

void lgv__kernels_use(const lgv_kernel_set *set) {
  atomic_store_explicit(&of_process, set, memory_order_relaxed);
  lgv__portable_process(portability(set));
}

const lgv_kernel_set *lgv__kernels_choose(const lgv_kernel_set *set) {
  const lgv_kernel_set *previous = of_thread;
  of_thread = set;
  lgv__portable_thread(portability(set));
  return previous;
}

/* Looking at the processor takes microseconds. */
const lgv_kernel_set *lgv__kernels_portable(void) {
  const lgv_kernel_set *set = atomic_load_explicit(&widest_portable, memory_order_relaxed);
  if (!set) atomic_store_explicit(&widest_portable, set = best(true), memory_order_relaxed);
  return set;
}

const lgv_kernel_set *lgv__kernels_begin(bool portable) {
  if (!portable) return NULL;
  const lgv_kernel_set *set = lgv__kernels();
  return lgv__kernels_choose(set->portable ? set : lgv__kernels_portable());
}

void lgv__kernels_end(bool portable, const lgv_kernel_set *previous) {
  if (portable) lgv__kernels_choose(previous);
}

const lgv_kernel_set *lgv__kernels_at(size_t index) {
  for (size_t i = 0; i < SETS; i++)
    if (sets[i].runs_here() && index-- == 0) return sets[i].set;
  return NULL;
}

lgv_status lgv__kernels_check(lgv_error *err) {
  const char *name = wish();
  if (!name || strcmp(name, portable_name) == 0) return LGV_OK;
  const struct candidate *wanted = find(name);
  if (wanted && wanted->runs_here()) return LGV_OK;
  char names[64] = "";
  size_t used = (size_t)snprintf(names, sizeof names, "%s", portable_name);
  for (size_t i = 0; i < SETS; i++)
    if (sets[i].runs_here() && !sets[i].set->portable)
      used += (size_t)snprintf(names + used, sizeof names - used, ", %s", sets[i].set->name);
  return lgv_fail(err, LGV_ERR_USAGE,
                  wanted ? "LANGEVIN_KERNELS=%.40s: this CPU cannot run this set; it can run %s"
                         : "LANGEVIN_KERNELS=%.40s: unknown kernel set; this CPU can run %s",
                  name, names);
}

/* All portable sets have one name here, and in config.json: a run may resume with another one. */
const char *lgv_kernels(void) {
  const lgv_kernel_set *set = process_kernels();
  return set->portable ? portable_name : set->name;
}

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
