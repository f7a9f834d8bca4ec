/* Steps a built-in agent from your own loop: you own the clock and the simulator, the agent
 * decides.
 *
 * A shop sells up to two items per day and orders 0, 1 or 2 each morning; the season lasts 20 days.
 * A sale earns 0.5, an item left overnight costs 0.1. The agent sees the stock (0..4) and the day,
 * and observes each transition. There is no environment descriptor, no run and no file:
 *
 *   cc own_loop.c $(pkg-config --cflags --libs langevin) && ./a.out
 */
#include <langevin.h>

#include <stdio.h>

enum { SEASONS = 400, DAYS = 20, STOCK_MAX = 4, ORDERS = 3 };

/* Simulates one day. Returns the stock after it; *earned is the day's income. */
static int64_t sell(int64_t stock, int32_t order, lgv_rng *rng, double *earned) {
  int64_t items = stock + order < STOCK_MAX ? stock + order : STOCK_MAX;
  int64_t wanted = lgv_rng_below(rng, 3), sold = wanted < items ? wanted : items;
  *earned = 0.5 * (double)sold - 0.1 * (double)(items - sold);
  return items - sold;
}

/* Plays one season: act, simulate the day, let the agent observe. *total is the season's income. */
static lgv_status play_season(lgv_agent *agent, lgv_rng *world, double *total, lgv_error *err) {
  lgv_status status = lgv_agent_begin_episode(agent, err);
  lgv_obs today = {.state = 0, .stage = 0};
  *total = 0;
  while (status == LGV_OK && today.stage < DAYS) {
    lgv_action order;
    status = lgv_agent_act(agent, &today, LGV_TRAIN, &order, err);
    if (status != LGV_OK) break;
    lgv_transition t = {.obs = today, .action = &order};
    t.next.state = sell(today.state, order.choice, world, &t.reward);
    t.next.stage = today.stage + 1;
    t.truncated = t.next.stage == DAYS; /* the season ends, not the shop */
    status = lgv_agent_observe(agent, &t, err);
    *total += t.reward;
    today = t.next;
  }
  return status == LGV_OK ? lgv_agent_end_episode(agent, err) : status;
}

static lgv_status make_agent(lgv_agent **agent, lgv_error *err) {
  /* what the agent must know about the problem */
  const lgv_env_spec shop = {.size = sizeof(lgv_env_spec),
                             .obs_shape = {STOCK_MAX + 1, 1, 1},
                             .actions = lgv_discrete(ORDERS),
                             .states = STOCK_MAX + 1,
                             .horizon = DAYS,
                             .stationary = true,
                             .reward_min = -0.4,
                             .reward_max = 1};
  lgv_settings *settings;
  lgv_status status = lgv_settings_create(&settings, err);
  if (status != LGV_OK) return status;
  /* The problem is stationary, so pool the data of all days. The noise, 1/sqrt(beta), has the size
   * of a day's luck, so that one bad day does not rule an action out. */
  static const char *const choices[] = {"agent.name=lmc-lsvi", "agent.pool=true", "agent.beta=10"};
  for (int i = 0; i < 3 && status == LGV_OK; i++)
    status = lgv_settings_assign(settings, choices[i], "own_loop.c", err);
  if (status == LGV_OK)
    status = lgv_agent_create(settings, &shop, SEASONS, SEASONS * DAYS, 1, agent, err);
  lgv_settings_free(settings);
  return status;
}

int main(void) {
  lgv_agent *agent = NULL;
  lgv_error err;
  lgv_rng world;
  lgv_rng_seed(&world, 1, "shop");
  lgv_status status = make_agent(&agent, &err);
  double first = 0, last = 0;
  for (int season = 0; season < SEASONS && status == LGV_OK; season++) {
    double earned;
    status = play_season(agent, &world, &earned, &err);
    if (season < 5) first += earned / 5;
    if (season >= SEASONS - 100) last += earned / 100;
  }
  lgv_agent_free(agent);
  if (status != LGV_OK) {
    fprintf(stderr, "own_loop: %s\n", err.message);
    return 1;
  }
  printf("a shop of %d days: lmc-lsvi earned %.2f per season in its first 5 seasons\n", DAYS,
         first);
  printf("and %.2f in its last 100 of %d; the best policy earns 8.00 on average\n", last, SEASONS);
  return 0;
}
