/* Adding an environment, an agent or a feature map: write its file, then add a line here.
 * Optimizers are listed in optim/optimizers.def. */
#include "registry.h"

#include "math/kernels.h"

#include <string.h>

#ifdef LGV_REGISTRY
#include LGV_REGISTRY /* shorter lists, for a smaller program: cmake/browser.cmake */
#else

/* The descriptor's name after lgv__env_, and the file that holds it. Environments in another
 * process come last. */
#define ENVS(X)                                                                                    \
  X(riverswim, "src/env/env_riverswim.c")                                                          \
  X(continuous_riverswim, "src/env/env_continuous_riverswim.c")                                    \
  X(linear_mdp, "src/env/env_linear_mdp.c")                                                        \
  X(bandit, "src/env/env_bandit.c")                                                                \
  X(nchain, "src/env/env_nchain.c")                                                                \
  X(deepsea, "src/env/env_deepsea.c")                                                              \
  X(cartpole, "src/env/env_cartpole.c")                                                            \
  X(mountain_car, "src/env/env_mountain_car.c")                                                    \
  X(mountain_car_continuous, "src/env/env_mountain_car.c")                                         \
  X(acrobot, "src/env/env_acrobot.c")                                                              \
  X(pendulum, "src/env/env_pendulum.c")                                                            \
  X(point_maze, "src/env/env_point_maze.c")                                                        \
  X(switches, "src/env/env_switches.c")                                                            \
  X(gym, "src/env/external/env_gym.c")                                                             \
  X(atari, "src/env/external/env_atari.c")

/* The descriptor's name after lgv__agent_, and the file that holds the algorithm. DEEP: the file
 * also has an lgv_builtin, lgv__builtin_NAME. */
#define AGENTS(X, DEEP)                                                                            \
  X(lmc_lsvi, "src/agent/linear/agent_lmc_lsvi.c")                                                 \
  X(ms_lmc_lsvi, "src/agent/linear/agent_ms_lmc_lsvi.c")                                           \
  X(lsvi_ucb, "src/agent/linear/agent_lsvi_ucb.c")                                                 \
  X(lsvi_phe, "src/agent/linear/agent_lsvi_phe.c")                                                 \
  X(opt_rlsvi, "src/agent/linear/agent_opt_rlsvi.c")                                               \
  X(oppo, "src/agent/linear/agent_oppo.c")                                                         \
  X(rlsvi, "src/agent/linear/agent_rlsvi.c")                                                       \
  X(psrl, "src/agent/linear/agent_psrl.c")                                                         \
  X(lmc_ts, "src/agent/linear/agent_lmc_lsvi.c")                                                   \
  X(lin_ts, "src/agent/linear/agent_rlsvi.c")                                                      \
  X(lin_ucb, "src/agent/linear/agent_lsvi_ucb.c")                                                  \
  DEEP(dqn, "src/agent/deep/epsilon_greedy_dqn.c")                                                 \
  DEEP(double_dqn, "src/agent/deep/epsilon_greedy_dqn.c")                                          \
  DEEP(prioritized_dqn, "src/agent/deep/epsilon_greedy_dqn.c")                                     \
  DEEP(c51, "src/agent/deep/agent_c51.c")                                                          \
  DEEP(qr_dqn, "src/agent/deep/agent_qr_dqn.c")                                                    \
  DEEP(iqn, "src/agent/deep/agent_iqn.c")                                                          \
  DEEP(noisynet_dqn, "src/agent/deep/agent_noisynet_dqn.c")                                        \
  DEEP(bootstrapped_dqn, "src/agent/deep/agent_bootstrapped_dqn.c")                                \
  DEEP(hyperagent, "src/agent/deep/agent_hyperagent.c")                                            \
  DEEP(adam_lmcdqn, "src/agent/deep/langevin_dqn.c")                                               \
  DEEP(lmc_dqn, "src/agent/deep/langevin_dqn.c")                                                   \
  DEEP(psgld_dqn, "src/agent/deep/langevin_dqn.c")                                                 \
  DEEP(langevin_dqn, "src/agent/deep/langevin_dqn.c")                                              \
  DEEP(fg_lmcdqn, "src/agent/deep/langevin_dqn.c")                                                 \
  DEEP(ulmc_dqn, "src/agent/deep/langevin_dqn.c")                                                  \
  DEEP(fg_ulmc_dqn, "src/agent/deep/langevin_dqn.c")                                               \
  DEEP(pathwise_lmcdqn, "src/agent/pathwise/agent_pathwise_lmcdqn.c")                              \
  DEEP(sac, "src/agent/continuous/agent_sac.c")                                                    \
  DEEP(td3, "src/agent/continuous/agent_td3.c")                                                    \
  DEEP(dsac, "src/agent/continuous/agent_dsac.c")                                                  \
  DEEP(lsac, "src/agent/continuous/agent_lsac.c")

/* The descriptor's name after lgv__features_, and its file. */
#define FEATURES(X)                                                                                \
  X(identity, "src/agent/features/features_identity.c")                                            \
  X(rows, "src/agent/features/features_identity.c")                                                \
  X(polynomial, "src/agent/features/features_polynomial.c")                                        \
  X(fourier, "src/agent/features/features_fourier.c")                                              \
  X(rbf, "src/agent/features/features_rbf.c")                                                      \
  X(random_fourier, "src/agent/features/features_random_fourier.c")                                \
  X(tiles, "src/agent/features/features_tiles.c")                                                  \
  X(network, "src/agent/features/features_network.c")

#endif

#define DECLARE_ENV(name, file) extern const lgv_env_type lgv__env_##name;
#define DECLARE_AGENT(name, file) extern const lgv_agent_type lgv__agent_##name;
#define DECLARE_DEEP(name, file)                                                                   \
  DECLARE_AGENT(name, file) extern const lgv_builtin lgv__builtin_##name;
#define DECLARE_FEATURES(name, file) extern const lgv_feature_type lgv__features_##name;
#define ENV(name, file) &lgv__env_##name,
#define AGENT(name, file) &lgv__agent_##name,
#define BUILTIN(name, file) &lgv__builtin_##name,
#define NO_BUILTIN(name, file) NULL,
#define FEATURE(name, file) &lgv__features_##name,
#define FILE_OF(name, file) file,

ENVS(DECLARE_ENV)
AGENTS(DECLARE_AGENT, DECLARE_DEEP)
FEATURES(DECLARE_FEATURES)

const lgv_env_type *const lgv__envs[] = {ENVS(ENV) NULL};
const lgv_agent_type *const lgv__agents[] = {AGENTS(AGENT, AGENT) NULL};
const lgv_feature_type *const lgv__features[] = {FEATURES(FEATURE) NULL};
const char *const lgv__feature_files[] = {FEATURES(FILE_OF) NULL};
const char *const lgv__env_files[] = {ENVS(FILE_OF) NULL};
const char *const lgv__agent_files[] = {AGENTS(FILE_OF, FILE_OF) NULL};

/* Names that agents had before, and their current ones. */
static const char *const former_names[][2] = {{"gn-lmcdqn", "pathwise-lmcdqn"}};

const char *lgv__current_name(const char *name) {
  for (size_t i = 0; i < sizeof former_names / sizeof *former_names; i++)
    if (strcmp(former_names[i][0], name) == 0) return former_names[i][1];
  return name;
}

static const lgv_builtin *const builtins[] = {AGENTS(NO_BUILTIN, BUILTIN)};

const lgv_builtin *lgv__builtin(const lgv_agent_type *type) {
  for (size_t i = 0; lgv__agents[i]; i++)
    if (lgv__agents[i] == type) return builtins[i];
  return NULL;
}

const char *lgv__default_optimizer(const lgv_agent_type *type) {
  const lgv_builtin *builtin = lgv__builtin(type);
  return builtin ? builtin->optimizer : NULL;
}

const lgv_optim_type *lgv__optimizer(size_t index) { return lgv__kernels()->optimizers[index]; }
