#include "agent/features/features.h"

int64_t lgv__feature_power(int64_t base, int64_t exponent, int64_t most) {
  int64_t power = 1;
  for (; exponent > 0; exponent--) {
    if (power > most / base) return most + 1;
    power *= base;
  }
  return power;
}

int64_t lgv__feature_grid(int64_t inputs, int64_t most) {
  int64_t points = 1;
  while (points < most && lgv__feature_power(points + 1, inputs, most) <= most) points++;
  return points;
}

float lgv__feature_angle(const float *frequencies, int64_t wave, const float *x, int64_t inputs) {
  float angle = 0;
  for (int64_t i = 0; i < inputs; i++) angle += frequencies[wave * inputs + i] * x[i];
  return angle;
}
