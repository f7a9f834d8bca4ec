/* The functions that the page in the browser calls (site/browser/page.h), compiled for this
 * machine: settings as the page's script would write them, and any numbers.
 *
 * Input: seed and episodes (8 bytes each, any double), then the text of the settings. */
#include "fuzz.h"
#include "site/browser/page.h"

#include <string.h>

enum { NUMBERS = 2, HEAD = NUMBERS * sizeof(double), EPISODES = 3, LONGEST = 1000 };

/* Whether a world is small enough to be played in no time. */
static int is_small(const page_learner *p) {
  return page_states(p) <= LONGEST && page_horizon(p) <= LONGEST;
}

static double look(page_learner *p) {
  const int32_t *path = page_path(p);
  const double *visits = page_visits(p), *values = page_values(p);
  double sum = 0;
  for (int32_t i = 0; i < page_path_length(p); i++) sum += visits[path[i]];
  for (int32_t i = 0; values && i < page_states(p); i++) sum += values[i];
  return page_digest(p) ? sum : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  double numbers[NUMBERS];
  char *text = page_text();
  volatile double sum = 0;
  if (size < HEAD || size - HEAD >= PAGE_TEXT_SIZE) return 0;
  memcpy(numbers, data, HEAD);
  memcpy(text, data + HEAD, size - HEAD);
  text[size - HEAD] = '\0';
  if (strstr(text, "gym") || strstr(text, "atari")) return 0; /* a browser has no workers */
  page_learner *p = page_create(numbers[0], numbers[1]);
  for (int i = 0; p && is_small(p) && i < EPISODES; i++) {
    sum += page_episode(p);
    sum += look(p);
  }
  page_free(p);
  return 0;
}
