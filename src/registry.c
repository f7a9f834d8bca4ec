/* Adding an environment, an agent or an optimizer: write its file, then name it here. */
#include "registry.h"

#include "base/param.h"
#include "base/text.h"
#include "config/run_params.h"
#include "math/kernels.h"

#include <string.h>

/* a line an entry: */
/* clang-format off */
extern const lgv_env_type lgv__env_riverswim;
extern const lgv_env_type lgv__env_linear_mdp;
extern const lgv_env_type lgv__env_nchain;
extern const lgv_env_type lgv__env_deepsea;
extern const lgv_env_type lgv__env_cartpole;
extern const lgv_env_type lgv__env_mountain_car;
extern const lgv_env_type lgv__env_acrobot;
extern const lgv_env_type lgv__env_gym;
extern const lgv_env_type lgv__env_atari;
extern const lgv_agent_type lgv__agent_lmc_lsvi;
extern const lgv_agent_type lgv__agent_ms_lmc_lsvi;
extern const lgv_agent_type lgv__agent_lsvi_ucb;
extern const lgv_agent_type lgv__agent_lsvi_phe;
extern const lgv_agent_type lgv__agent_opt_rlsvi;
extern const lgv_agent_type lgv__agent_oppo;
extern const lgv_agent_type lgv__agent_rlsvi;
extern const lgv_agent_type lgv__agent_psrl;
extern const lgv_agent_type lgv__agent_dqn;
extern const lgv_agent_type lgv__agent_double_dqn;
extern const lgv_agent_type lgv__agent_prioritized_dqn;
extern const lgv_agent_type lgv__agent_c51;
extern const lgv_agent_type lgv__agent_qr_dqn;
extern const lgv_agent_type lgv__agent_iqn;
extern const lgv_agent_type lgv__agent_noisynet_dqn;
extern const lgv_agent_type lgv__agent_bootstrapped_dqn;
extern const lgv_agent_type lgv__agent_adam_lmcdqn;
extern const lgv_agent_type lgv__agent_lmc_dqn;
extern const lgv_agent_type lgv__agent_psgld_dqn;
extern const lgv_agent_type lgv__agent_langevin_dqn;
extern const lgv_agent_type lgv__agent_fg_lmcdqn;
extern const lgv_agent_type lgv__agent_ulmc_dqn;
extern const lgv_agent_type lgv__agent_fg_ulmc_dqn;
extern const lgv_agent_type lgv__agent_gn_lmcdqn;

/* Those in another process come last. */
const lgv_env_type *const lgv__envs[] = {
    &lgv__env_riverswim,
    &lgv__env_linear_mdp,
    &lgv__env_nchain,
    &lgv__env_deepsea,
    &lgv__env_cartpole,
    &lgv__env_mountain_car,
    &lgv__env_acrobot,
    &lgv__env_gym,
    &lgv__env_atari,
    NULL,
};

const lgv_agent_type *const lgv__agents[] = {
    &lgv__agent_lmc_lsvi,
    &lgv__agent_ms_lmc_lsvi,
    &lgv__agent_lsvi_ucb,
    &lgv__agent_lsvi_phe,
    &lgv__agent_opt_rlsvi,
    &lgv__agent_oppo,
    &lgv__agent_rlsvi,
    &lgv__agent_psrl,
    &lgv__agent_dqn,
    &lgv__agent_double_dqn,
    &lgv__agent_prioritized_dqn,
    &lgv__agent_c51,
    &lgv__agent_qr_dqn,
    &lgv__agent_iqn,
    &lgv__agent_noisynet_dqn,
    &lgv__agent_bootstrapped_dqn,
    &lgv__agent_adam_lmcdqn,
    &lgv__agent_lmc_dqn,
    &lgv__agent_psgld_dqn,
    &lgv__agent_langevin_dqn,
    &lgv__agent_fg_lmcdqn,
    &lgv__agent_ulmc_dqn,
    &lgv__agent_fg_ulmc_dqn,
    &lgv__agent_gn_lmcdqn,
    NULL,
};
/* clang-format on */

const lgv_optim_type *lgv__optimizer(size_t index) { return lgv__kernels()->optimizers[index]; }

static bool get_env(size_t index, lgv_entry *entry) {
  for (size_t i = 0; lgv__envs[i]; i++)
    if (i == index) {
      const lgv_env_type *type = lgv__envs[i];
      *entry = (lgv_entry){.name = type->name,
                           .summary = type->summary,
                           .params = type->params,
                           .presets = type->presets};
      return true;
    }
  return false;
}

static bool get_agent(size_t index, lgv_entry *entry) {
  for (size_t i = 0; lgv__agents[i]; i++)
    if (i == index) {
      const lgv_agent_type *type = lgv__agents[i];
      *entry = (lgv_entry){.name = type->name,
                           .summary = type->summary,
                           .params = type->params,
                           .presets = type->presets,
                           .optimizer = type->optimizer,
                           .traits = type->traits};
      return true;
    }
  return false;
}

static bool get_optimizer(size_t index, lgv_entry *entry) {
  const lgv_optim_type *type;
  for (size_t i = 0; (type = lgv__optimizer(i)); i++)
    if (i == index) {
      *entry = (lgv_entry){.name = type->name, .summary = type->summary, .params = type->params};
      return true;
    }
  return false;
}

bool lgv_registry_get(const char *kind, size_t index, lgv_entry *entry) {
  if (strcmp(kind, "env") == 0) return get_env(index, entry);
  if (strcmp(kind, "agent") == 0) return get_agent(index, entry);
  if (strcmp(kind, "optimizer") == 0) return get_optimizer(index, entry);
  if (strcmp(kind, "run") != 0 || index > 0) return false;
  *entry = (lgv_entry){.name = "run",
                       .summary = "how long, how often evaluated, what is recorded",
                       .params = lgv__run_params};
  return true;
}

bool lgv_registry_find(const char *kind, const char *name, lgv_entry *entry) {
  for (size_t i = 0; lgv_registry_get(kind, i, entry); i++)
    if (strcmp(entry->name, name) == 0) return true;
  return false;
}

const char *lgv_registry_nearest(const char *kind, const char *name) {
  lgv_guess guess = {.wrong = name};
  lgv_entry entry;
  for (size_t i = 0; lgv_registry_get(kind, i, &entry); i++) lgv__guess_offer(&guess, entry.name);
  return guess.best;
}
