#include "report/tools.h"

#include "base/text.h"

const char *lgv__nearest_name(const char *wrong, const char *const *names) {
  lgv_guess guess = {.wrong = wrong};
  for (; *names; names++) lgv__guess_offer(&guess, *names);
  return guess.best;
}
