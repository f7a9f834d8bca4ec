#include "report/tools.h"

#include "base/text.h"

const char *lgv__nearest_name(const char *wrong, const char *const *names) {
  const char *best = NULL;
  int least = 1000;
  for (; *names; names++) {
    int distance = lgv__edit_distance(wrong, *names);
    if (distance < least && lgv__is_near(wrong, *names, distance)) {
      least = distance;
      best = *names;
    }
  }
  return best;
}
