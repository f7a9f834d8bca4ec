/* What the library's own agents have beyond the public interface: an optimizer, a policy that can
 * be written as code, and a feature map. Agents from outside have none of these. */
#ifndef LGV_AGENT_BUILTIN_H
#define LGV_AGENT_BUILTIN_H

#include "base/spec.h" /* picture sizes, for presets */
#include "langevin.h"
#include "optim/optim_type.h"

typedef struct lgv_policy_parts lgv_policy_parts; /* export.h */

/* Beside the descriptor of a deep agent. */
typedef struct lgv_builtin {
  const char *optimizer; /* the default of optim.name; NULL: it takes none */
  /* The parts that lgv_agent_export writes; NULL: it has values and nothing else. */
  void (*policy_parts)(const void *self, lgv_policy_parts *parts);
} lgv_builtin;

/* The problem of every agent, as its handle keeps it. Hooks get a pointer to the first member. */
typedef struct lgv_full_problem {
  lgv_problem given;
  const lgv_builtin *builtin;       /* of the agent; NULL if it has none */
  const lgv_optim_type *optimizer;  /* NULL if the agent takes none */
  const void *optim_params;         /* of the optimizer, resolved */
  const lgv_feature_type *features; /* the map that agent.features names; else NULL */
  const void *feature_params;       /* of the map */
  const bool *chosen; /* in resolve: rows that the user has set, presets left out; else NULL */
  bool portable;      /* its hooks compute with portable kernels, whatever the process uses */
  /* in resolve: reports what the user should know; or NULL */
  void (*notice)(void *context, const char *text);
  void *notice_context;
  bool exposed; /* lgv_agent_array has handed out the arrays, so that parameters may change */
} lgv_full_problem;

/* The whole of a problem that a hook got. */
static inline const lgv_full_problem *lgv__full_problem(const lgv_problem *problem) {
  return (const lgv_full_problem *)problem;
}

#endif
