/* The agent handle: one descriptor, its resolved parameters, its arena, its random streams. */
#ifndef LGV_AGENT_AGENT_H
#define LGV_AGENT_AGENT_H

#include "agent/builtin.h"
#include "base/arena.h"
#include "base/io/tensors.h"
#include "langevin.h"

/* Checks that the agent can use the environment, then lets it resolve what was left open. */
LGV_CHECK lgv_status lgv__agent_resolve(const lgv_agent_type *type, void *params,
                                        const bool *is_set, const lgv_problem *problem,
                                        lgv_error *err);
/* params: resolved; copied. problem: its streams are ignored and replaced by the agent's own. */
LGV_CHECK lgv_status lgv__agent_open(const lgv_agent_type *type, const void *params,
                                     const lgv_full_problem *problem, uint64_t seed,
                                     lgv_agent **agent, lgv_error *err);
/* The bytes of its arena, blocks of rows counted up to most_rows (0: all). */
LGV_CHECK lgv_status lgv__agent_bytes(const lgv_agent_type *type, const void *params,
                                      const lgv_full_problem *problem, size_t most_rows,
                                      uint64_t *bytes, lgv_error *err);
/* Whether its precision promises the same bits on every machine. builtin: the agent's, or NULL. */
bool lgv__agent_is_portable(const lgv_agent_type *type, const lgv_builtin *builtin,
                            const void *params);
/* Whether its hooks do, for that reason or another (lgv_full_problem.portable). */
bool lgv__agent_computes_portably(const lgv_agent *agent);
const lgv_arena *lgv__agent_arena(const lgv_agent *agent);
/* Adds its arrays, for a file. One that holds numbers that are not finite is refused on reading. */
LGV_CHECK lgv_status lgv__agent_collect(const lgv_agent *agent, lgv_tensors *tensors,
                                        lgv_error *err);
int32_t lgv__agent_streams(const lgv_agent *agent); /* environments at once; at least 1 */
int64_t lgv__agent_steps(const lgv_agent *agent);   /* of all environments, planned; 0: unknown */
const lgv_agent_type *lgv__agent_type(const lgv_agent *agent);
/* Whether it decides by state and stage, not by observations: its trait, without a feature map. */
bool lgv__agent_reads_states(const lgv_agent *agent);
bool lgv__agent_uses_map(const lgv_agent *agent);           /* whether it has a feature map */
const lgv_env_spec *lgv__agent_env(const lgv_agent *agent); /* that it was made for */
/* Fails after lgv_agent_load refused a file too late to keep the arrays. */
LGV_CHECK lgv_status lgv__agent_check_usable(const lgv_agent *agent, lgv_error *err);
/* Checks the learned state: kept arrays other than experience, which is checked when it arrives. */
LGV_CHECK lgv_status lgv__agent_check_finite(const lgv_agent *agent, lgv_error *err);
void lgv__agent_seed_eval(lgv_agent *agent, uint64_t seed); /* a fresh evaluation stream */
/* Whether the agent can be written as code, and its parts. */
bool lgv__agent_policy_parts(const lgv_agent *agent, lgv_policy_parts *parts);

/* lgv_agent_act and lgv_agent_observe for observations that came out of an lgv_env, which has
 * already checked that they are finite. */
LGV_CHECK lgv_status lgv__agent_act(lgv_agent *agent, const lgv_obs *obs, lgv_mode mode,
                                    lgv_action *action, lgv_error *err);
LGV_CHECK lgv_status lgv__agent_observe(lgv_agent *agent, const lgv_transition *transition,
                                        lgv_error *err);

/* Choices that a mask (NULL: all are allowed) allows. */
/* The one tie rule: an index of the greatest value, uniform among equals. */
int32_t lgv__argmax(const double *values, const uint8_t *mask, int32_t count, lgv_rng *rng);
int32_t lgv__first_allowed(const uint8_t *mask, int32_t count); /* 0 if there is none */
int32_t lgv__uniform_choice(const uint8_t *mask, int32_t count, lgv_rng *rng);

#endif
