/* Circles: whether an agent that keeps to one policy has come back to where it was, in vain.
 *
 * A walk is compared with one observation of it, the mark, which moves forward after 1, 2, 4, ...
 * steps (Brent's method), so that the first return to a mark comes within three times the steps up
 * to the end of the first round, in constant memory. A return proves a circle only where the world
 * does not change within an episode. Whether it does is learned: after a return, the agent repeats
 * the action that it chose at the mark, and finds the same observation again or another one. That
 * counts if the action has had different outcomes there, in whatever episode. The agent is lost
 * when it returns after CIRCLES_REPEATS such repeats, of which at most one in CIRCLES_REPEATS had
 * another outcome.
 *
 * The search begins anew with every reward above the least one since the restart (0 at most), and
 * with other news that the caller reports. */
#ifndef LGV_AGENT_DEEP_CIRCLES_H
#define LGV_AGENT_DEEP_CIRCLES_H

#include "langevin.h"

enum { CIRCLES_REPEATS = 20 };

/* Of a walk. WALK_STEPS: since the mark was set; after WALK_PERIOD steps it moves, and 0 means that
 * there is none. WALK_AT_MARK: 1 if the last observation was the mark. WALK_ACTION: the one chosen
 * when the mark was set. */
enum { WALK_STEPS, WALK_PERIOD, WALK_AT_MARK, WALK_ACTION, WALK_LOST, WALK_COUNTERS };

typedef struct circles {
  int32_t streams, stream; /* how many walks; the current one */
  uint64_t *mark;          /* (streams): the name of an observation */
  uint64_t *after;         /* (streams): of the one that followed it */
  double *least;           /* (streams): reward since the restart, 0 at most */
  int64_t *walk;           /* (streams x WALK_COUNTERS) */
  int64_t *repeats; /* (2): with another outcome, with the same one; of all walks ever, where the
                       action varies */
} circles;

void lgv__circles_layout(circles *c, int32_t streams, lgv_layout *layout);
/* The agents have a new policy: all walks begin anew, and none is lost. */
void lgv__circles_restart(circles *c);
/* The current walk begins anew. */
void lgv__circles_begin(circles *c);
/* The agents may act otherwise from now on: all searches begin anew. */
void lgv__circles_news(circles *c);
/* The current walk comes by an action to an observation, with a reward. varies: the action has led
 * to different observations from where it was chosen. */
void lgv__circles_step(circles *c, int32_t action, bool varies, uint64_t name, double reward);
bool lgv__circles_is_lost(const circles *c);

#endif
