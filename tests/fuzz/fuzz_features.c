/* Feature maps: their settings, and observations through them into a linear agent that learns.
 *
 * Input: which map (1 byte), the numbers of an observation and whether it has bounds (1), then
 * settings of the map, one per line, up to a byte 0, then observations as floats. */
#include "fuzz.h"

#include "agent/agent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 2, MOST_NUMBERS = 6, BOUNDED = 8, ACTIONS = 3, EPISODE = 5, STEPS = 40 };
enum { MOST_BYTES = 1 << 19 }; /* of an agent: more features make it slow, but no different */

static const char *const maps[] = {"identity",   "rows",           "rbf",  "fourier",
                                   "polynomial", "random-fourier", "tiles"};
enum { MAPS = sizeof maps / sizeof *maps };

static float low[MOST_NUMBERS], high[MOST_NUMBERS];

static lgv_env_spec make_spec(uint8_t shape) {
  lgv_env_spec spec = {.size = sizeof spec,
                       .obs_kind = LGV_OBS_FLOAT,
                       .obs_form = LGV_FORM_DENSE,
                       .obs_shape = {1 + shape % MOST_NUMBERS, 1, 1},
                       .actions = {.kind = LGV_DISCRETE, .parts = 1, .count = ACTIONS},
                       .horizon = EPISODE,
                       .reward_min = -1,
                       .reward_max = 1};
  spec.actions.choices[0] = ACTIONS;
  if (shape & BOUNDED) {
    spec.obs_low = low;
    spec.obs_high = high;
  }
  return spec;
}

/* The next observation of the input; zeros after its end. */
static void next_numbers(const uint8_t **at, const uint8_t *end, float *numbers) {
  size_t size = sizeof(float) * MOST_NUMBERS, left = (size_t)(end - *at);
  memset(numbers, 0, size);
  memcpy(numbers, *at, left < size ? left : size);
  *at += left < size ? left : size;
}

static void learn(lgv_agent *agent, const uint8_t *at, const uint8_t *end) {
  float numbers[2][MOST_NUMBERS];
  lgv_error err;
  lgv_action action;
  next_numbers(&at, end, numbers[0]);
  for (int i = 0; i < STEPS; i++) {
    int stage = i % EPISODE;
    bool over = stage == EPISODE - 1;
    lgv_obs obs = {.data = numbers[i % 2], .stage = stage},
            next = {.data = numbers[(i + 1) % 2], .stage = stage + 1};
    next_numbers(&at, end, numbers[(i + 1) % 2]);
    if (stage == 0 && lgv_agent_begin_episode(agent, &err) != LGV_OK) return;
    if (lgv_agent_act(agent, &obs, LGV_TRAIN, &action, &err) != LGV_OK) return;
    lgv_transition t = {
        .obs = obs, .next = next, .action = &action, .reward = i % 3 - 1, .terminated = over};
    if (lgv_agent_observe(agent, &t, &err) != LGV_OK) return;
    if (over && lgv_agent_end_episode(agent, &err) != LGV_OK) return;
  }
}

static bool assign_lines(lgv_settings *settings, const uint8_t *data, size_t size) {
  lgv_error err;
  char *text = calloc(size + 1, 1), *rest = text;
  bool fine = true;
  if (size) memcpy(text, data, size);
  for (char *line; fine && (line = strsep(&rest, "\n"));)
    if (strncmp(line, "features.", 9) == 0) /* other settings have targets of their own */
      fine = lgv_settings_assign(settings, line, "fuzz", &err) == LGV_OK;
  free(text);
  return fine;
}

/* Whether the map is cheap enough to be tried. */
static bool is_small(const lgv_agent *agent) {
  return lgv__agent_arena(agent)->table.used <= MOST_BYTES;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lgv_settings *settings;
  lgv_agent *agent;
  lgv_error err;
  if (size < HEAD || lgv_settings_create(&settings, &err) != LGV_OK) return 0;
  for (int i = 0; i < MOST_NUMBERS; i++) low[i] = (float)-i, high[i] = 1;
  lgv_env_spec spec = make_spec(data[1]);
  const uint8_t *end = data + size, *stop = memchr(data + HEAD, 0, size - HEAD);
  size_t length = (size_t)((stop ? stop : end) - data) - HEAD;
  bool ready =
      lgv_settings_set(settings, "agent.name", "lmc-lsvi", "fuzz", &err) == LGV_OK &&
      lgv_settings_set(settings, "agent.features", maps[data[0] % MAPS], "fuzz", &err) == LGV_OK &&
      assign_lines(settings, data + HEAD, length);
  if (ready && lgv_agent_create(settings, &spec, STEPS, STEPS, 1, &agent, &err) == LGV_OK) {
    if (is_small(agent)) learn(agent, stop ? stop + 1 : end, end);
    lgv_agent_free(agent);
  }
  lgv_settings_free(settings);
  return 0;
}
