/* Specs and observations: their sizes, what they must satisfy, whatever their source (a built-in
 * environment, a user's environment, or a user's own loop around an agent). */
#ifndef LGV_BASE_SPEC_H
#define LGV_BASE_SPEC_H

#include "langevin.h"

/* ---- Actions ---- */

/* What is wrong with a space of actions ("no action"), or NULL. */
const char *lgv__actions_fault(const lgv_action_space *space);
bool lgv__same_actions(const lgv_action_space *a, const lgv_action_space *b);

/* The choices that an action of a space makes at once. */
static inline int32_t lgv__action_parts(const lgv_action_space *space) {
  return space->kind == LGV_DISCRETE ? 1 : space->parts;
}

static inline int32_t lgv__part_choices(const lgv_action_space *space, int32_t part) {
  return space->kind == LGV_DISCRETE ? space->count : space->choices[part];
}

/* Whether an action belongs to the space and mask (may be NULL) allows it. Fills err otherwise;
 * who: the environment or agent whose action it is. */
LGV_CHECK lgv_status lgv__action_check_parts(const lgv_action_space *space, const uint8_t *mask,
                                             const lgv_action *action, const char *who,
                                             lgv_error *err);
LGV_CHECK static inline lgv_status lgv__action_check(const lgv_action_space *space,
                                                     const uint8_t *mask, const lgv_action *action,
                                                     const char *who, lgv_error *err) {
  if (space->kind == LGV_DISCRETE && (uint32_t)action->choice < (uint32_t)space->count &&
      (!mask || mask[action->choice]))
    return LGV_OK; /* the usual case: every step asks twice */
  return lgv__action_check_parts(space, mask, action, who, err);
}
/* Whether every part of a mask allows a choice. */
bool lgv__mask_allows(const lgv_action_space *space, const uint8_t *mask);

/* ---- Observations ---- */

/* What is wrong with a spec ("no action"), or NULL: the one check of every spec, whether it comes
 * from a built-in environment, a user's descriptor, a worker process or a caller of
 * lgv_agent_create. */
const char *lgv__spec_fault(const lgv_env_spec *spec);
/* The same for the observations alone, and for everything except them. */
const char *lgv__obs_fault(const lgv_env_spec *spec);
const char *lgv__task_fault(const lgv_env_spec *spec);
/* The number of entries of a picture, or of a vector without a picture. */
size_t lgv__obs_count(const lgv_env_spec *spec);
/* The bytes of an observation's data: those entries, then spec->vector floats. */
size_t lgv__obs_bytes(const lgv_env_spec *spec);
size_t lgv__obs_vector_at(const lgv_env_spec *spec); /* where these floats begin, in bytes */
/* Whether no entry is NaN or infinite; bytes never are. */
bool lgv__obs_is_finite(const lgv_env_spec *spec, const void *data);
/* Pictures are dense observations, floats or bytes, that are wider than 1. */
enum { LGV_LEAST_PICTURE = 5, LGV_LARGE_PICTURE = 36 };
bool lgv__is_picture(lgv_obs_form form, const int32_t shape[3]);
/* Whether both sides have at least `least` places: LGV_LEAST_PICTURE, from which on agent.net =
 * auto chooses convolutions, or LGV_LARGE_PICTURE. */
bool lgv__is_picture_of(int32_t least, lgv_obs_form form, const int32_t shape[3]);
bool lgv__is_large_picture(lgv_obs_form form, const int32_t shape[3]);

#endif
