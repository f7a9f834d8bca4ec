/* Specs and observations: their sizes, what they must satisfy, whatever their source (a built-in
 * environment, a user's environment, or a user's own loop around an agent), and stacks of pictures.
 */
#ifndef LGV_BASE_SPEC_H
#define LGV_BASE_SPEC_H

#include "langevin.h"

/* What is wrong with the observations of a spec, and with the rest of it ("no action"), or NULL. */
const char *lgv__obs_fault(const lgv_env_spec *spec);
const char *lgv__spec_fault(const lgv_env_spec *spec);
/* The number of entries of an observation. */
size_t lgv__obs_count(const lgv_env_spec *spec);
/* Whether no entry is NaN or infinite; bytes never are. */
bool lgv__obs_is_finite(const lgv_env_spec *spec, const void *data);
/* Stacks pictures of (pixels x depth) bytes, oldest first, into one of (pixels x frames x depth).
 */
void lgv__obs_interleave(const uint8_t *const *picture, int32_t frames, int64_t pixels,
                         int32_t depth, uint8_t *out);

#endif
