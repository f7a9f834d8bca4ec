/* Cells: what an agent knows about the observations of one code, and how they follow each other.
 *
 * A cell holds every observation with one code (observation_code.h), and one of them, the first, as
 * its example. A pair is a cell and an action. For each pair a cell keeps
 *     n, the sums of the rewards and of their squares, and the cells that followed, with counts,
 * so that the mean of its targets r + gamma V(next) and the variances of both terms are known for
 * any V, in memory that depends on the number of distinct transitions and not on the number of
 * steps; and five numbers of the agent: the sampled value, the mean value, the draws of prior and
 * data noise, and the network's output.
 *
 * Cells form a list from the most to the least recently visited one. Two rules bound the memory.
 * Merging: cells whose codes have become equal are joined, and their counts are added. Forgetting:
 * when there is no room for another cell or another transition, the half of the cells that has not
 * been visited for the longest time is removed, and with it the transitions that led there.
 *
 * Invariants: (1) cells are numbered from 0 without gaps; (2) slots hold 1 + a cell, 0 if free, in
 * a table of at least twice the capacity with linear probing; (3) every edge belongs to one pair,
 * and the edges of a pair lead to different places; (4) n is the sum of the counts of its edges. */
#ifndef LGV_AGENT_DEEP_CELLS_H
#define LGV_AGENT_DEEP_CELLS_H

#include "langevin.h"

enum { CELLS_END = -1 }; /* where a transition leads that ends the task */
enum { CELLS_COUNT, CELLS_EDGES, CELLS_NEWEST, CELLS_OLDEST, CELLS_SIZES };

typedef struct cells {
  int64_t capacity, most_edges, n_slots; /* n_slots: a power of two */
  int32_t actions;
  size_t obs_bytes; /* of an example, as the replay encodes it */
  int64_t *size;    /* (CELLS_SIZES); CELLS_NEWEST and CELLS_OLDEST: cells, -1 if there is none */
  /* (capacity) */
  uint64_t *key;          /* the code */
  uint8_t *example;       /* (capacity x obs_bytes) */
  uint8_t *mask;          /* (capacity x actions): 1 or 0, the last one seen; NULL: all allowed */
  int32_t *newer, *older; /* neighbors in the list; -1: none */
  float *best;            /* V of the sample: its greatest value */
  float *mean_best;       /* V of the mean */
  /* (capacity x actions) */
  int32_t *edge;           /* the first one; -1: none */
  float *count;            /* n */
  double *reward, *square; /* sums of r and r^2 */
  float *value, *mean;     /* the sample of Q, and its mean */
  float *prior, *noise;    /* draws of N(0, 1) */
  float *base;             /* the network's output */
  uint8_t *taught;         /* 1 or 0: whether the network learns the pair */
  /* (most_edges) */
  int32_t *to, *next; /* to: a cell or CELLS_END; next: the next edge of the pair, -1: none */
  float *times;       /* the count */
  int32_t *slot;      /* (n_slots) */
  /* scratch of merging and forgetting */
  int32_t *number;            /* (capacity): old cell -> new cell, -1: forgotten */
  int32_t *order;             /* (capacity): old cells, the newest first */
  int32_t *old_to, *old_next; /* (most_edges) */
  float *old_times;           /* (most_edges) */
} cells;

/* The targets r + gamma V(next) of a pair over its n visits: their mean and variance for V of the
 * sample, and their mean for V of the mean. The variance is that of r plus that of gamma V(next):
 * their covariance is not known. */
typedef struct cell_target {
  double n, sample, mean;
  double reward_variance, future_variance; /* of r, and of gamma V(next) */
  double ended;                            /* share of the visits that ended the task */
  double lowest, highest;                  /* sample, if the next cell were the worst or the best */
} cell_target;

/* actions, obs_bytes and capacity must be set. masked: keep masks. */
void lgv__cells_layout(cells *c, bool masked, lgv_layout *layout);
void lgv__cells_open(cells *c);
/* After a load: fills the table of slots, which no file holds, and returns how the cells violate
 * the invariants, or NULL. */
const char *lgv__cells_fault(const cells *c);

/* The cell of a code; -1 if there is none. */
int64_t lgv__cells_find(const cells *c, uint64_t key);
/* Adds a cell with an example; the agent fills in its numbers. There must be room. */
int64_t lgv__cells_add(cells *c, uint64_t key, const void *example);
bool lgv__cells_have_room(const cells *c); /* for two cells and an edge, which a step may need */
/* Makes a cell the newest of the list. */
void lgv__cells_visit(cells *c, int64_t cell);
void lgv__cells_keep_mask(cells *c, int64_t cell, const uint8_t *mask); /* NULL: all allowed */
static inline bool lgv__cells_allow(const cells *c, int64_t cell, int32_t action) {
  return !c->mask || c->mask[cell * c->actions + action];
}
/* Adds a transition; to: a cell or CELLS_END. A pair that was visited 2^24 times keeps its data. */
void lgv__cells_count(cells *c, int64_t cell, int32_t action, double reward, int64_t to);
/* Whether a pair has led to different places. */
static inline bool lgv__cells_vary(const cells *c, int64_t pair) {
  return c->edge[pair] >= 0 && c->next[c->edge[pair]] >= 0;
}
/* Of a pair that was tried. */
cell_target lgv__cells_target(const cells *c, int64_t pair, double gamma);
static inline const uint8_t *cells_example(const cells *c, int64_t cell) {
  return c->example + (size_t)cell * c->obs_bytes;
}

/* Joins cells with equal keys, after the agent has changed c->key. */
void lgv__cells_merge(cells *c);
/* Removes the less recently visited half. */
void lgv__cells_forget(cells *c);
/* Forgets until there is room: the newest half may hold nearly all edges. */
void lgv__cells_make_room(cells *c);

#endif
