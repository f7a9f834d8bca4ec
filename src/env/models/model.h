/* The arrays of an exact model, and draws from it, by which an environment that consists of its
 * model moves. */
#ifndef LGV_ENV_MODEL_H
#define LGV_ENV_MODEL_H

#include "langevin.h"

typedef struct lgv_model_edge {
  int64_t row, next;
  double probability;
} lgv_model_edge;

struct lgv_model {
  int64_t states;
  int32_t actions;
  int64_t horizon;
  bool stationary;
  double *reward;        /* (stages x S x A), stages = 1 if stationary */
  double *start;         /* (S) */
  int64_t *row_start;    /* (stages x S x A + 1), after sealing */
  lgv_model_edge *edges; /* sorted by row after sealing */
  size_t n_edges, edge_capacity;
  uint8_t *allowed;   /* (stages x S x A): 1 or 0; NULL if nothing is forbidden */
  bool sealed;        /* complete and sound: rows are sorted, nothing may change any more */
  bool misplaced;     /* a value was set out of range; sealing fails */
  bool out_of_memory; /* allowed could not be made; sealing fails */
};

int64_t lgv__model_draw_start(const lgv_model *model, lgv_rng *rng);
int64_t lgv__model_draw_next(const lgv_model *model, int64_t stage, int64_t state, int32_t action,
                             lgv_rng *rng); /* a state, or LGV_END */
double lgv__model_reward(const lgv_model *model, int64_t stage, int64_t state, int32_t action);

#endif
