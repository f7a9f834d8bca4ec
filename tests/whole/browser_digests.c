/* browser_digests EPISODES <CASES: the fingerprints of the page in the browser
 * (site/browser/page.h), on this machine. A line of CASES has the settings of one learner; the
 * answer has its digest after so many episodes with seed 1, or why there is none. */
#include "site/browser/page.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *digest_of(const char *settings, int episodes) {
  char *text = page_text();
  snprintf(text, 4096, "%s", settings);
  for (char *at = text; (at = strchr(at, ' '));) *at = '\n';
  page_learner *learner = page_create(1, 1000);
  bool failed = !learner;
  for (int i = 0; i < episodes && !failed; i++) failed = isnan(page_episode(learner));
  if (!failed) page_digest(learner); /* which is in the text, as the reason of a failure is */
  page_free(learner);
  return text;
}

int main(int argc, char **argv) {
  char line[1024];
  int episodes = argc > 1 ? atoi(argv[1]) : 0;
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    printf("%s: %s\n", line, digest_of(line, episodes));
  }
  return 0;
}
