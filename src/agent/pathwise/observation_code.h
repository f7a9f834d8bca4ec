/* Codes: 64-bit names of observations, such that observations with one name count as one.
 *
 * An index (one-hot, thermometer) is its own name. Of dense observations, the level of the code
 * says how much of them the name depends on:
 *
 *   level 0      all bits: two observations are the same only if they are equal.
 *   level k > 0  a vector: the bins floor(x / width) of its numbers. The width of a number is its
 *                range, as seen when the level was set, divided by 64 / 2^((k - 1) / 4): 64 bins at
 *                level 1, half as many every four levels, 2 at level 21, the last one. Widths never
 *                shrink.
 *                a picture: at level 1, whether each pixel lies above the middle of the range seen
 *                in its channel; at level k, in which quarter of that range the means of squares of
 *                2^(k-1) x 2^(k-1) pixels lie. Large pictures, 36 x 36 and more, have smaller
 *                steps: the side is 2^(k/2), rounded, that is 2, 3, 4, 6, 8, 11, 16, ... Of a
 *                stack, only the newest picture counts: a cell is a place, whatever led there. The
 *                numbers beside it: as a vector's.
 *
 * The level rises when the data show that the code is too fine: see
 * lgv__observation_code_is_too_fine. So tasks with finitely many observations keep their exact
 * names, and continuous or noisy ones get the resolution that their data can fill. The bins of two
 * levels are not nested: after a change of level, a cell has the name of its example. */
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
  float *low, *high; /* (ranges): of the numbers of a vector, or of the channels of the newest
                        picture, then of the numbers beside it */
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
/* cells: how many there are. Of a vector above level 0: whether there are more than max(128,
 * sqrt(looks)), the number of bins that a sample of this size can fill. Of a picture, and at level
 * 0: whether a window has ended of which more than half was new (for large pictures, which must fit
 * into fewer cells: more than a quarter). A window ends with the first call after 4096 looks; the
 * first one after 1024, of which fewer than 2 % must be repeats. Never for an index, nor at the
 * last level. */
bool lgv__observation_code_is_too_fine(observation_code *c, int64_t cells);
/* Returns a vector to level 0, so that the next levels follow the ranges seen by now. Pictures keep
 * their level: their names follow the ranges at once. */
void lgv__observation_code_restart(observation_code *c);
/* Raises the level by 1, and the widths with it. */
void lgv__observation_code_coarsen(observation_code *c);

#endif
