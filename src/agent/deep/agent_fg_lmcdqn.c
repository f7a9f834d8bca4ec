/* FG-LMCDQN. Ishfaq et al., "More efficient randomized exploration for reinforcement learning via
 * approximate sampling" (2024): Adam LMCDQN on the feel-good loss (Zhang, 2022)
 *
 *     mean (y - Q(s, a))^2 - eta_fg mean max_a Q(s_1, a),
 *
 * s_1 being the first observation of each transition's episode. With agent.feel_good = 0 it is Adam
 * LMCDQN. */
#include "agent/deep/langevin_dqn.h"

static const lgv_param param_table[] = {LANGEVIN_PARAM_ROWS, LANGEVIN_FEEL_GOOD_ROW, {0}};

static const lgv_preset presets[] = {
    {"small", "agent.warmup=200 agent.warmup_actions=uniform agent.updates=4 agent.feel_good=0.01 "
              "optim.lr=3e-3 optim.a=0.1 optim.beta=3e3 optim.l2=0.03 optim.form=paper"},
    {"atari", "agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true "
              "agent.target_every=500 agent.feel_good=0.001 "
              "optim.lr=1e-4 optim.a=0.1 optim.beta=1e16 optim.form=code"},
    {0}};

const lgv_agent_type lgv__agent_fg_lmcdqn = {
    .name = "fg-lmcdqn",
    .summary = "Adam LMCDQN with the feel-good term",
    .params = param_table,
    .presets = presets,
    .optimizer = "asgld",
    LANGEVIN_HOOKS,
};
