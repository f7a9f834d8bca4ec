/* What a spec and an observation must hold, whoever made them: an environment of ours, one of the
 * user's, or a loop of the user's own around an agent. */
#ifndef LGV_BASE_SPEC_H
#define LGV_BASE_SPEC_H

#include "langevin.h"

/* What is wrong with the observations of a spec, and with the rest of it ("no action"), or NULL. */
const char *lgv__obs_fault(const lgv_env_spec *spec);
const char *lgv__spec_fault(const lgv_env_spec *spec);
/* Entries of an observation. */
size_t lgv__obs_count(const lgv_env_spec *spec);
/* Whether no entry is NaN or infinite; bytes never are. */
bool lgv__obs_is_finite(const lgv_env_spec *spec, const void *data);

#endif
