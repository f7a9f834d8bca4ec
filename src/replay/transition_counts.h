/* Distinct transitions between sparse observations, with counts: all data of a run, in memory that
 * does not grow with it.
 *
 * A sum over the data of (Q(s, a) - r - V(s'))^2 depends on the transitions only through the count
 * n and the mean reward of each distinct (s, a, s', terminated), up to a constant. Observations are
 * the indices of net_input; entries are numbered in the order of discovery and never removed.
 *
 * Invariant: slots hold 1 + an entry, 0 if free, in a table of twice the capacity with linear
 * probing. */
#ifndef LGV_REPLAY_TRANSITION_COUNTS_H
#define LGV_REPLAY_TRANSITION_COUNTS_H

#include "langevin.h"

typedef struct transition_counts {
  int64_t capacity, n_slots;    /* n_slots: a power of two */
  int64_t *size;                /* [0]: entries, [1]: transitions */
  int32_t *obs, *action, *next; /* (capacity) */
  uint8_t *terminated;          /* (capacity) */
  float *count;                 /* (capacity): n */
  double *reward;               /* (capacity): their sum */
  int32_t *slot;                /* (n_slots) */
} transition_counts;

void lgv__transition_counts_layout(transition_counts *m, int64_t capacity, lgv_layout *layout);
/* How a loaded table violates the invariant, or NULL. */
const char *lgv__transition_counts_fault(const transition_counts *m);
/* False if the transition is new and there is no room. */
bool lgv__transition_counts_add(transition_counts *m, int32_t obs, int32_t action, double reward,
                                int32_t next, bool terminated);

#endif
