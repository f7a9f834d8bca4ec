/* A picture of what a trained agent believes: its values of states and actions as heat maps, beside
 * the optimal ones where the environment has an exact model, and how often it has been where.
 *
 * States in a row (chains, and whatever else is finite): a line an action; optimal values
 * of the first stage, but for agents that plan by stage all of the middle one. A DeepSea: its grid,
 * the greatest value of every cell at the stage at which it is reached, an arrow for the greedy
 * action; cells above the diagonal cannot be reached and stay empty. Each map has a scale of its
 * own, which stands above it: an agent may discount what the optimal values do not. */
#ifndef LGV_REPORT_PLOT_PLOT_VALUES_H
#define LGV_REPORT_PLOT_PLOT_VALUES_H

#include "langevin.h"

/* path: a run directory or a checkpoint. out: .svg, .png or .pdf. */
LGV_CHECK lgv_status lgv__plot_values(const char *path, const char *out, lgv_error *err);

#endif
