/* Dueling outputs. Wang et al., "Dueling network architectures for deep reinforcement learning"
 * (ICML 2016), Eq. 9:
 *
 *   Q = V + A - mean A,    dV = sum dQ,    dA = dQ - mean dQ,
 *
 * for every row, head and atom. If an action has several parts, means are taken over the choices of
 * one part, and one V adds to all parts (Tavakoli, Pardo, Kormushev, "Action branching
 * architectures for deep reinforcement learning", AAAI 2018). Sums run over the choices in order.
 */
#include "nn/layers.h"

#define INLINE static inline __attribute__((always_inline))

enum { BLOCK = 16 }; /* atoms at a time */

/* A block of `count` atoms of one part's (choices x atoms) numbers. */
typedef struct part {
  int64_t choices, atoms, count;
} part;

static part part_of(const net_shape *s, int32_t i, int64_t first_atom) {
  int64_t left = s->atoms - first_atom;
  return (part){.choices = s->parts > 1 ? s->part_sizes[i] : s->outputs / (s->heads * s->atoms),
                .atoms = s->atoms,
                .count = left < BLOCK ? left : BLOCK};
}

/* sum (count) = the sum over the choices. */
INLINE void sum_choices(part p, const float *restrict x, float *restrict sum) {
  for (int64_t k = 0; k < p.count; k++) sum[k] = 0;
  for (int64_t a = 0; a < p.choices; a++)
    for (int64_t k = 0; k < p.count; k++) sum[k] += x[a * p.atoms + k];
}

INLINE void combine(part p, const float *restrict value, float *restrict q) {
  float mean[BLOCK];
  sum_choices(p, q, mean);
  for (int64_t k = 0; k < p.count; k++) mean[k] /= (float)p.choices;
  for (int64_t a = 0; a < p.choices; a++)
    for (int64_t k = 0; k < p.count; k++)
      q[a * p.atoms + k] = value[k] + (q[a * p.atoms + k] - mean[k]);
}

/* Most agents have one atom: as a constant it halves the time of actions with many parts. */
static void combine_part(part p, const float *value, float *q) {
  if (p.atoms == 1)
    combine((part){p.choices, 1, 1}, value, q);
  else
    combine(p, value, q);
}

void lgv__dueling_forward(const net_shape *s, int64_t rows, const float *value, float *q) {
  for (int64_t r = 0; r < rows * s->heads; r++, value += s->atoms)
    for (int32_t i = 0; i < s->parts; i++) {
      part p = {0};
      for (int64_t k = 0; k < s->atoms; k += BLOCK) {
        p = part_of(s, i, k);
        combine_part(p, value + k, q + k);
      }
      q += p.choices * p.atoms;
    }
}

INLINE void split(part p, const float *restrict d_q, float *restrict d_value,
                  float *restrict d_advantage) {
  float sum[BLOCK];
  sum_choices(p, d_q, sum);
  for (int64_t k = 0; k < p.count; k++) d_value[k] += sum[k];
  for (int64_t k = 0; k < p.count; k++) sum[k] /= (float)p.choices;
  for (int64_t a = 0; a < p.choices; a++)
    for (int64_t k = 0; k < p.count; k++)
      d_advantage[a * p.atoms + k] = d_q[a * p.atoms + k] - sum[k];
}

static void split_part(part p, const float *d_q, float *d_value, float *d_advantage) {
  if (p.atoms == 1)
    split((part){p.choices, 1, 1}, d_q, d_value, d_advantage);
  else
    split(p, d_q, d_value, d_advantage);
}

void lgv__dueling_backward(const net_shape *s, int64_t rows, const float *d_q, float *d_value,
                           float *d_advantage) {
  for (int64_t r = 0; r < rows * s->heads; r++, d_value += s->atoms) {
    for (int64_t k = 0; k < s->atoms; k++) d_value[k] = 0;
    for (int32_t i = 0; i < s->parts; i++) {
      part p = {0};
      for (int64_t k = 0; k < s->atoms; k += BLOCK) {
        p = part_of(s, i, k);
        split_part(p, d_q + k, d_value + k, d_advantage + k);
      }
      d_q += p.choices * p.atoms;
      d_advantage += p.choices * p.atoms;
    }
  }
}
