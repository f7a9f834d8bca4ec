/* Codes: 64-bit names of observations, such that observations with one name count as one.
 *
 * An index (one-hot, thermometer) is its own name. Of dense observations, the level of the code
 * says how much of them the name depends on:
 *
 *   level 0      all bits: two observations are the same only if they are equal.
 *   level k > 0  a vector: the bins floor(x / width) of its numbers. A level has 64 / 2^((k - 1) /
 * 4) bins over the range of each number that was seen when the level was chosen; a width never
 * shrinks. a picture: at level 1, whether each pixel lies above the middle of the range seen in its
 * channel; at level k, in which quarter of that range the means of squares of 2^(k-1) x 2^(k-1)
 * pixels lie. Numbers beside a picture are binned as vectors are.
 *
 * Names only become coarser, and only if the data show that they are too fine
 * (lgv__observation_code_is_too_fine). So tasks with finitely many observations keep their exact
 * names, and continuous or noisy ones get the resolution that their data can fill. */
#ifndef LGV_AGENT_DEEP_OBSERVATION_CODE_H
#define LGV_AGENT_DEEP_OBSERVATION_CODE_H

#include "langevin.h"

/* Counters. CODE_LOOKS: observations seen; the window is what was seen since CODE_WINDOW looks, and
 * CODE_NEW counts the looks within it that found no cell. */
enum { CODE_LEVEL, CODE_LOOKS, CODE_WINDOW, CODE_NEW, CODE_COUNTERS };

typedef struct observation_code {
  const lgv_env_spec *env;
  int64_t *count;    /* (CODE_COUNTERS) */
  float *width;      /* (numbers of the vector): of their bins; 0: one bin */
  float *low, *high; /* (ranges): of the numbers of a vector, or of the channels of a picture, then
                        of the numbers beside it */
} observation_code;

/* env must outlive the code. */
void lgv__observation_code_layout(observation_code *c, const lgv_env_spec *env, lgv_layout *layout);
void lgv__observation_code_open(observation_code *c);
/* encoded: as the replay encodes it. */
uint64_t lgv__observation_code(const observation_code *c, const void *encoded);
/* Takes an observation into the ranges. */
void lgv__observation_code_see(observation_code *c, const void *encoded);
/* Counts a look; is_new: no cell had the name. */
void lgv__observation_code_look(observation_code *c, bool is_new);
/* cells: how many there are. Whether names are too fine:
 *   at level 0: after the first 1024 looks, if fewer than 2 % of them were repeats; after every
 * 4096 further ones, if fewer than half of these were. Pictures: the latter at every level.
 *   vectors, above level 0: if there are more than max(128, sqrt(looks)) cells.
 * Never at the last level, and never for indices. */
bool lgv__observation_code_is_too_fine(observation_code *c, int64_t cells);
/* To coarsen: restart, then raise the level until names are no longer too fine. Of vectors, a
 * restart begins at the first level again, since the range may have grown. */
void lgv__observation_code_restart(observation_code *c);
void lgv__observation_code_coarsen(observation_code *c);

#endif
