/* Circles: whether an agent that keeps to one policy has come back to where it was, in vain.
 *
 * Each walk is compared with one observation of it, the mark, which moves forward after 1, 2, 4,
 * ... steps (Brent's method). So the end of the first round of a circle is noticed within three
 * times as many steps, in constant memory. News, something that may change what the agent does,
 * begin the search anew. */
#ifndef LGV_AGENT_DEEP_CIRCLES_H
#define LGV_AGENT_DEEP_CIRCLES_H

#include "langevin.h"

typedef struct circles {
  int32_t streams, stream; /* how many walks; which one lgv__circles_step is about */
  uint64_t *mark;          /* (streams): the name of an observation */
  int64_t *steps, *moves;  /* (streams): since the mark was set, and after how many it moves;
                              moves = 0: there is no mark */
  uint8_t *lost;           /* (streams): 1 or 0 */
} circles;

void lgv__circles_layout(circles *c, int32_t streams, lgv_layout *layout);
/* All walks begin anew, and none is lost. */
void lgv__circles_restart(circles *c);
/* The walk comes to an observation. */
void lgv__circles_step(circles *c, uint64_t name, bool is_news);
static inline bool lgv__circles_is_lost(const circles *c) { return c->lost[c->stream]; }

#endif
