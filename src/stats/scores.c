/* Estimates over runs of several tasks: Agarwal, Schwarzer, Castro, Courville and Bellemare (2021),
 * "Deep reinforcement learning at the edge of the statistical precipice". The statistics are those
 * of the authors' library rliable where every task has as many runs as the others; where tasks have
 * different numbers, the mean, the probability of improvement and the profile weigh tasks alike.
 *
 * A resample draws as many runs of each task as the task has, with replacement. Runs are sorted
 * within their tasks first, so that results do not depend on the order in which runs are given. */
#include "base/error.h"
#include "base/memory.h"
#include "langevin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 2000 };

static const char *const names[] = {"mean", "median", "iqm", "task-median"};

const char *lgv_statistic_name(size_t index) {
  return index < sizeof names / sizeof *names ? names[index] : NULL;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void sort(double *values, size_t count) { qsort(values, count, sizeof *values, ascending); }

/* Linear interpolation between order statistics, as NumPy's percentile does by default. */
static double quantile(const double *sorted, size_t count, double q) {
  double position = q * (double)(count - 1);
  size_t below = (size_t)position;
  double part = position - (double)below;
  if (below + 1 >= count || part == 0) return sorted[below]; /* the next may be infinite */
  return sorted[below] * (1 - part) + sorted[below + 1] * part;
}

static const lgv_estimate none = {0, NAN, NAN, NAN, NAN, NAN};

/* ---- A sample: the runs of one agent, and room for a resample of them ---- */

typedef struct sample {
  size_t tasks, count;
  const size_t *runs; /* (tasks) */
  double *values;     /* (count): task by task, ascending within each */
  size_t *rank;       /* (count): the place of values[i] among all */
  double *sorted;     /* (count): all of them */
  size_t *drawn;      /* (count): which of values a resample took, task by task */
  size_t *copies;     /* (count): how often it took sorted[i] */
  double *means;      /* (tasks): of the resample */
  lgv_rng rng;
} sample;

static void sample_close(sample *s) {
  lgv__free(s->values);
  lgv__free(s->rank);
}

static lgv_status check_scores(const lgv_scores *scores, size_t *count, lgv_error *err) {
  *count = 0;
  for (size_t t = 0; t < scores->tasks; t++) {
    if (scores->runs[t] == 0) return lgv_fail(err, LGV_ERR_USAGE, "task %zu has no run", t);
    *count += scores->runs[t];
  }
  if (*count == 0) return lgv_fail(err, LGV_ERR_USAGE, "there are no scores");
  for (size_t i = 0; i < *count; i++)
    if (isnan(scores->values[i])) return lgv_fail(err, LGV_ERR_USAGE, "score %zu is NaN", i);
  return LGV_OK;
}

/* The index of value in s->sorted, or of the first of its equals. */
static size_t find_rank(const sample *s, double value) {
  size_t low = 0, high = s->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (s->sorted[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static lgv_status sample_open(sample *s, const lgv_scores *scores, const char *stream,
                              lgv_error *err) {
  size_t n;
  *s = (sample){0};
  LGV_TRY(check_scores(scores, &n, err));
  *s = (sample){.tasks = scores->tasks, .count = n, .runs = scores->runs};
  s->values = lgv__calloc(2 * n + s->tasks, sizeof *s->values);
  s->rank = lgv__calloc(3 * n, sizeof *s->rank);
  if (!s->values || !s->rank) {
    sample_close(s);
    return lgv__out_of_memory(err, "an estimate");
  }
  s->sorted = s->values + n;
  s->means = s->values + 2 * n;
  s->drawn = s->rank + n;
  s->copies = s->rank + 2 * n;
  memcpy(s->values, scores->values, n * sizeof *s->values);
  memcpy(s->sorted, scores->values, n * sizeof *s->sorted);
  for (size_t t = 0, first = 0; t < s->tasks; first += s->runs[t++])
    sort(s->values + first, s->runs[t]);
  sort(s->sorted, n);
  for (size_t i = 0; i < n; i++) s->rank[i] = find_rank(s, s->values[i]);
  lgv_rng_seed(&s->rng, 0, stream);
  return LGV_OK;
}

static void take_all(sample *s) {
  for (size_t i = 0; i < s->count; i++) s->drawn[i] = i;
}

static void take_some(sample *s) {
  for (size_t t = 0, first = 0; t < s->tasks; first += s->runs[t++])
    for (size_t i = 0; i < s->runs[t]; i++)
      s->drawn[first + i] = first + (size_t)lgv_rng_below(&s->rng, (int64_t)s->runs[t]);
}

static bool can_vary(const sample *s) { return s->count > s->tasks; }

/* ---- Statistics of a resample ---- */

static void find_means(sample *s) {
  for (size_t t = 0, first = 0; t < s->tasks; first += s->runs[t++]) {
    double sum = 0;
    for (size_t i = 0; i < s->runs[t]; i++) sum += s->values[s->drawn[first + i]];
    s->means[t] = sum / (double)s->runs[t];
  }
}

/* The mean of the sorted draws number first to last - 1. */
static double middle_mean(sample *s, size_t first, size_t last) {
  memset(s->copies, 0, s->count * sizeof *s->copies);
  for (size_t i = 0; i < s->count; i++) s->copies[s->rank[s->drawn[i]]]++;
  double sum = 0;
  for (size_t r = 0, begin = 0; begin < last; begin += s->copies[r++]) {
    size_t end = begin + s->copies[r];
    size_t from = begin > first ? begin : first, to = end < last ? end : last;
    if (to > from) sum += (double)(to - from) * s->sorted[r];
  }
  return sum / (double)(last - first);
}

static double mean_of_means(sample *s) {
  double sum = 0;
  find_means(s);
  for (size_t t = 0; t < s->tasks; t++) sum += s->means[t];
  return sum / (double)s->tasks;
}

static double median_of_means(sample *s) {
  find_means(s);
  sort(s->means, s->tasks);
  return quantile(s->means, s->tasks, 0.5);
}

static double evaluate(sample *s, lgv_statistic statistic) {
  size_t n = s->count, cut = n / 4;
  switch (statistic) {
  case LGV_MEDIAN: return middle_mean(s, (n - 1) / 2, n / 2 + 1);
  case LGV_IQM: return middle_mean(s, cut, n - cut);
  case LGV_TASK_MEDIAN: return median_of_means(s);
  default: return mean_of_means(s);
  }
}

/* sqrt(sum of s_t^2 / n_t) / T, with the deviations s_t within tasks. A task with one run
 * adds nothing, as in the bootstrap. */
static double error_of_mean(const sample *s) {
  double variance = 0;
  for (size_t t = 0, first = 0; t < s->tasks; first += s->runs[t++]) {
    double n = (double)s->runs[t], sum = 0, squares = 0;
    for (size_t i = 0; i < s->runs[t]; i++) sum += s->values[first + i];
    for (size_t i = 0; i < s->runs[t]; i++)
      squares += (s->values[first + i] - sum / n) * (s->values[first + i] - sum / n);
    if (n > 1) variance += squares / (n - 1) / n;
  }
  return sqrt(variance) / (double)s->tasks;
}

/* ---- The bootstrap ---- */

static double deviation(const double *values, size_t count) {
  double mean = 0, squares = 0;
  for (size_t i = 0; i < count; i++) mean += values[i] / (double)count;
  for (size_t i = 0; i < count; i++) squares += (values[i] - mean) * (values[i] - mean);
  return sqrt(squares / (double)(count - 1));
}

/* Sorts the resampled values. */
static void set_interval(lgv_estimate *e, double *resampled) {
  e->standard_error = deviation(resampled, RESAMPLES);
  sort(resampled, RESAMPLES);
  e->low = quantile(resampled, RESAMPLES, 0.025);
  e->high = quantile(resampled, RESAMPLES, 0.975);
}

static lgv_status bootstrap(sample *s, lgv_statistic statistic, lgv_estimate *e, lgv_error *err) {
  double *resampled = lgv__calloc(RESAMPLES, sizeof *resampled);
  if (!resampled) return lgv__out_of_memory(err, "an estimate");
  for (size_t r = 0; r < RESAMPLES; r++) {
    take_some(s);
    resampled[r] = evaluate(s, statistic);
  }
  set_interval(e, resampled);
  lgv__free(resampled);
  return LGV_OK;
}

lgv_status lgv_scores_estimate(const lgv_scores *scores, lgv_statistic statistic, lgv_estimate *e,
                               lgv_error *err) {
  sample s;
  *e = none;
  if ((int)statistic < 0 || !lgv_statistic_name((size_t)statistic))
    return lgv_fail(err, LGV_ERR_USAGE, "there is no statistic %d", (int)statistic);
  LGV_TRY(sample_open(&s, scores, "bootstrap", err));
  take_all(&s);
  e->count = (int64_t)s.count;
  e->value = evaluate(&s, statistic);
  e->median = quantile(s.sorted, s.count, 0.5);
  lgv_status status = can_vary(&s) ? bootstrap(&s, statistic, e, err) : LGV_OK;
  if (can_vary(&s) && statistic == LGV_MEAN) e->standard_error = error_of_mean(&s);
  sample_close(&s);
  return status;
}

/* ---- Probability of improvement: the Mann-Whitney U statistic over the number of pairs ---- */

static double wins(const sample *x, const sample *y, size_t x_first, size_t y_first, size_t task) {
  double sum = 0;
  for (size_t i = 0; i < x->runs[task]; i++) {
    double mine = x->values[x->drawn[x_first + i]];
    for (size_t k = 0; k < y->runs[task]; k++) {
      double theirs = y->values[y->drawn[y_first + k]];
      sum += mine > theirs ? 1 : mine == theirs ? 0.5 : 0;
    }
  }
  return sum;
}

static double improvement(const sample *x, const sample *y) {
  double sum = 0;
  for (size_t t = 0, i = 0, k = 0; t < x->tasks; i += x->runs[t], k += y->runs[t], t++)
    sum += wins(x, y, i, k, t) / ((double)x->runs[t] * (double)y->runs[t]);
  return sum / (double)x->tasks;
}

static lgv_status bootstrap_improvement(sample *x, sample *y, lgv_estimate *e, lgv_error *err) {
  double *resampled = lgv__calloc(RESAMPLES, sizeof *resampled);
  if (!resampled) return lgv__out_of_memory(err, "an estimate");
  for (size_t r = 0; r < RESAMPLES; r++) {
    take_some(x);
    take_some(y);
    resampled[r] = improvement(x, y);
  }
  set_interval(e, resampled);
  lgv__free(resampled);
  return LGV_OK;
}

lgv_status lgv_scores_improvement(const lgv_scores *x, const lgv_scores *y, lgv_estimate *e,
                                  lgv_error *err) {
  sample mine, theirs;
  *e = none;
  if (x->tasks != y->tasks)
    return lgv_fail(err, LGV_ERR_USAGE, "%zu tasks cannot be compared with %zu", x->tasks,
                    y->tasks);
  LGV_TRY(sample_open(&mine, x, "bootstrap", err));
  lgv_status status = sample_open(&theirs, y, "bootstrap.other", err);
  if (status == LGV_OK) {
    take_all(&mine);
    take_all(&theirs);
    e->count = (int64_t)mine.count;
    e->value = improvement(&mine, &theirs);
    if (can_vary(&mine) || can_vary(&theirs))
      status = bootstrap_improvement(&mine, &theirs, e, err);
    sample_close(&theirs);
  }
  sample_close(&mine);
  return status;
}

/* ---- Performance profiles ---- */

/* profile[k]: the mean over tasks of the share of runs above thresholds[k]. passed[i]: how many of
 * the thresholds values[i] is above. */
static void find_profile(const sample *s, const size_t *passed, size_t count, double *profile) {
  memset(profile, 0, count * sizeof *profile);
  for (size_t t = 0, first = 0; t < s->tasks; first += s->runs[t++])
    for (size_t i = 0; i < s->runs[t]; i++) {
      size_t k = passed[s->drawn[first + i]];
      if (k > 0) profile[k - 1] += 1 / ((double)s->runs[t] * (double)s->tasks);
    }
  for (size_t k = count; k-- > 1;) profile[k - 1] += profile[k];
}

static void bootstrap_profile(sample *s, const size_t *passed, size_t count, double *resampled,
                              double *column, lgv_estimate *points) {
  for (size_t r = 0; r < RESAMPLES; r++) {
    take_some(s);
    find_profile(s, passed, count, resampled + r * count);
  }
  for (size_t k = 0; k < count; k++) {
    for (size_t r = 0; r < RESAMPLES; r++) column[r] = resampled[r * count + k];
    set_interval(&points[k], column);
  }
}

static lgv_status profile_sample(sample *s, const double *thresholds, size_t count,
                                 lgv_estimate *points, lgv_error *err) {
  size_t *passed = lgv__calloc(s->count, sizeof *passed);
  double *resampled = lgv__calloc((RESAMPLES + 1) * count + RESAMPLES, sizeof *resampled);
  lgv_status status = passed && resampled ? LGV_OK : lgv__out_of_memory(err, "a profile");
  if (status == LGV_OK) {
    double *profile = resampled + RESAMPLES * count;
    for (size_t i = 0; i < s->count; i++)
      while (passed[i] < count && s->values[i] > thresholds[passed[i]]) passed[i]++;
    take_all(s);
    find_profile(s, passed, count, profile);
    for (size_t k = 0; k < count; k++)
      points[k] = (lgv_estimate){(int64_t)s->count, profile[k], NAN, NAN, NAN, NAN};
    if (can_vary(s)) bootstrap_profile(s, passed, count, resampled, profile + count, points);
  }
  lgv__free(passed);
  lgv__free(resampled);
  return status;
}

lgv_status lgv_scores_profile(const lgv_scores *scores, const double *thresholds, size_t count,
                              lgv_estimate *points, lgv_error *err) {
  sample s;
  for (size_t k = 0; k < count; k++)
    if (isnan(thresholds[k]) || (k > 0 && thresholds[k] < thresholds[k - 1]))
      return lgv_fail(err, LGV_ERR_USAGE, "thresholds must ascend");
  if (count == 0) return LGV_OK;
  LGV_TRY(sample_open(&s, scores, "bootstrap", err));
  lgv_status status = profile_sample(&s, thresholds, count, points, err);
  sample_close(&s);
  return status;
}

/* ---- One task: values of any source, and the curve of one run ---- */

void lgv_estimate_mean(const double *values, size_t count, lgv_estimate *e) {
  *e = none;
  double *known = count > 0 ? lgv__calloc(count, sizeof *known) : NULL; /* the values without NaN */
  size_t n = 0;
  for (size_t i = 0; known && i < count; i++)
    if (!isnan(values[i])) known[n++] = values[i];
  const lgv_scores scores = {.values = known, .runs = &n, .tasks = 1};
  if (n > 0 && lgv_scores_estimate(&scores, LGV_MEAN, e, NULL) != LGV_OK) *e = none;
  lgv__free(known);
}

void lgv_regret_curve(const double *returns, const double *episodes, size_t count, double optimal,
                      double *regret) {
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    regret[i] = sum += (episodes ? episodes[i] : 1) * (optimal - returns[i]);
}

/* Each mean is summed anew: a running sum would accumulate rounding, and a threshold that is
 * the optimal value itself is met exactly or not at all. */
double lgv_first_reach(const double *x, const double *y, size_t count, size_t window,
                       double threshold) {
  if (window == 0) window = 1;
  for (size_t i = window - 1; i < count; i++) {
    double sum = 0;
    for (size_t k = i + 1 - window; k <= i; k++) sum += y[k];
    if (sum / (double)window >= threshold) return x[i];
  }
  return INFINITY;
}
