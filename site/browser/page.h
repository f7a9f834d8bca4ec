/* What a page in the browser can do with the library; page.c. Numbers are int32_t or double, as a
 * script has them. */
#ifndef LGV_SITE_PAGE_H
#define LGV_SITE_PAGE_H

#include <stdint.h>

/* An agent in its world. */
typedef struct page_learner page_learner;

/* Settings to create a learner by, or the reason of the last failure. */
enum { PAGE_TEXT_SIZE = 4096 };
char *page_text(void);
/* A learner of the settings in page_text, which this uses up. seed and episodes: whole numbers from
 * 0 and 1 on; episodes: how many it will play. NULL if it fails. */
page_learner *page_create(double seed, double episodes);
void page_free(page_learner *learner);
/* Plays one episode and learns from it. Returns its return, or NaN if it fails. */
double page_episode(page_learner *learner);

int32_t page_states(const page_learner *learner);
int32_t page_horizon(const page_learner *learner);
/* The states of the last episode. */
const int32_t *page_path(const page_learner *learner);
int32_t page_path_length(const page_learner *learner);
/* (states) how often each was visited. */
const double *page_visits(const page_learner *learner);
/* (states) the greatest Q of each, by which the agent acts in evaluations; NULL if it fails. */
const double *page_values(page_learner *learner);
/* Of the bits of values and visits, in page_text; NULL if it fails. */
const char *page_digest(page_learner *learner);

#endif
