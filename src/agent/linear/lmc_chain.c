#include "agent/linear/lmc_chain.h"

#include "base/error.h"
#include "base/portable_math.h"
#include "math/dense.h"

#include <math.h>
#include <string.h>

const char *const lgv__lmc_sampler_names[] = {"exact", "loop", "sgld", "svrg", "underdamped", NULL};

enum { SAMPLE_PAIR, SAMPLE_NEXT, SAMPLE_REWARD, SAMPLE_SIZE };
/* More steps than this would take minutes per episode: the closed form is the way. */
static const double longest_loop = 1e7;

/* ---- memory ---- */

static bool draws_batches(const lmc *m) {
  return m->p->sampler == LMC_SGLD || m->p->sampler == LMC_SVRG;
}

/* Whether x is a whole number in a range. */
static bool is_whole(double x, int64_t low, int64_t high) {
  return x >= (double)low && x <= (double)high && x == floor(x);
}

static const char *sample_fault(const void *self) {
  const lmc *m = self;
  for (int64_t g = 0; g < m->core->groups; g++) {
    const lgv_list *list = &m->samples[g];
    const double *sample = list->data;
    if (list->count % SAMPLE_SIZE) return "a part of a sample";
    for (size_t i = 0; i < list->count; i += SAMPLE_SIZE)
      if (!is_whole(sample[i + SAMPLE_PAIR], 0, m->core->SA - 1) ||
          !is_whole(sample[i + SAMPLE_NEXT], LGV_END, m->core->S - 1))
        return "a sample outside the problem";
  }
  return NULL;
}

int lgv__lmc_uses(const lmc_params *p) {
  return p->sampler == LMC_LOOP || p->sampler == LMC_SVRG ? LSVI_USES_GRAM : 0;
}

void lgv__lmc_layout(lmc *m, lsvi *core, const lmc_params *p, lgv_layout *layout) {
  size_t d = (size_t)core->d;
  m->p = p;
  m->core = core;
  m->spectrum = lgv_layout_array(layout, "lmc.spectrum", LGV_F64, d, LGV_SCRATCH);
  m->decay = lgv_layout_array(layout, "lmc.decay", LGV_F64, d, LGV_SCRATCH);
  m->spread = lgv_layout_array(layout, "lmc.spread", LGV_F64, d, LGV_SCRATCH);
  m->xi = lgv_layout_array(layout, "lmc.xi", LGV_F64, d, LGV_SCRATCH);
  m->z = lgv_layout_array(layout, "lmc.z", LGV_F64, d, LGV_SCRATCH);
  m->gradient = lgv_layout_array(layout, "lmc.gradient", LGV_F64, d, LGV_SCRATCH);
  if (!core->diagonal) {
    int64_t block = core->d / core->blocks;
    m->basis = lgv_layout_array(layout, "lmc.basis", LGV_F64, d * (size_t)block, LGV_SCRATCH);
    m->svd_work = lgv_layout_array(layout, "lmc.svd_work", LGV_F64, (size_t)lgv__svd_work(block),
                                   LGV_SCRATCH);
    m->svd_iwork = lgv_layout_array(layout, "lmc.svd_iwork", LGV_I32, (size_t)lgv__svd_iwork(block),
                                    LGV_SCRATCH);
  }
  if (!draws_batches(m)) return;
  m->snapshot = lgv_layout_array(layout, "lmc.snapshot", LGV_F64, d, LGV_SCRATCH);
  m->full = lgv_layout_array(layout, "lmc.full", LGV_F64, d, LGV_SCRATCH);
  if (core->history.map) return; /* its rows are the samples */
  size_t words = sizeof(lgv_list) / sizeof(uint64_t);
  m->samples = lgv_layout_array(layout, "lmc.sample_lists", LGV_U64, (size_t)core->groups * words,
                                LGV_SCRATCH);
  for (int64_t g = 0; g < core->groups; g++)
    lgv__layout_list(layout, "lmc.samples", LGV_F64, m->samples ? &m->samples[g] : NULL);
  lgv_layout_check(layout, sample_fault, m); /* of all groups */
}

static lgv_status find_block_spectrum(lmc *m, int64_t g, int64_t i, lgv_error *err) {
  lsvi *c = m->core;
  int64_t d = c->d / c->blocks;
  double *basis = m->basis + i * d * d, *spectrum = m->spectrum + i * d;
  memcpy(basis, lgv__lsvi_factor(c, g, i), (size_t)(d * d) * sizeof *basis);
  LGV_TRY(lgv__svd_left(basis, d, spectrum, m->svd_work, m->svd_iwork, err));
  for (int64_t j = 0; j < d; j++) spectrum[j] *= spectrum[j];
  if (spectrum[d - 1] > 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_NUMERIC,
                  "a Gram matrix is no longer positive definite (smallest eigenvalue %g): raise "
                  "agent.lambda",
                  spectrum[d - 1]);
}

static bool is_closed_form(const lmc *m) {
  return m->p->sampler == LMC_EXACT || m->p->sampler == LMC_UNDERDAMPED;
}

static lgv_status find_spectrum(lmc *m, int64_t g, lgv_error *err) {
  lsvi *c = m->core;
  if (c->diagonal) {
    for (int64_t i = 0; i < c->d; i++) m->spectrum[i] = c->ridge + (double)c->visits[g * c->SA + i];
    return LGV_OK;
  }
  for (int64_t i = 0; i < c->blocks; i++) LGV_TRY(find_block_spectrum(m, g, i, err));
  return LGV_OK;
}

static double log_factor(const lsvi *c) {
  double K = (double)(c->planned_episodes ? c->planned_episodes : c->episodes[0] + 1);
  return lgv__log(4 * (double)c->H * K * (double)c->d);
}

/* Samples that minibatches are drawn from. */
static int64_t samples_of(const lmc *m, int64_t g) {
  return m->core->history.map ? m->core->history.members
                              : (int64_t)m->samples[g].count / SAMPLE_SIZE;
}

/* A bound on the curvature that a step of the sampler can meet, halved: see the header. */
static double curvature(const lmc *m, int64_t g) {
  const lsvi *c = m->core;
  if (draws_batches(m)) return c->ridge + c->phi_square * (double)samples_of(m, g);
  double most = m->spectrum[0];
  for (int64_t i = 1; i < c->d; i++) most = m->spectrum[i] > most ? m->spectrum[i] : most;
  return most;
}

lgv_status lgv__lmc_prepare(lmc *m, int64_t h, lgv_error *err) {
  const lsvi *c = m->core;
  int64_t g = lgv__lsvi_group(c, h);
  if (!lgv__lsvi_new_group(c, h)) return LGV_OK;
  m->beta = m->p->beta;
  if (c->p->by_prior) m->beta = 1 / (2 * lgv__pow(lgv__history_sigma(c), 2));
  LGV_TRY(find_spectrum(m, g, err));
  double most = curvature(m, g), least = m->spectrum[0];
  for (int64_t i = 1; i < c->d; i++) least = m->spectrum[i] < least ? m->spectrum[i] : least;
  m->eta = m->p->eta_scale / most;
  m->J = m->p->updates ? (double)m->p->updates : ceil(2 * most / least * log_factor(c));
  if (m->p->sampler == LMC_EXACT)
    lgv__lmc_laws(c->d, m->spectrum, m->eta, m->J, m->beta, m->decay, m->spread);
  if (m->p->sampler == LMC_UNDERDAMPED)
    lgv__underdamped_laws(c->d, m->spectrum, most, m->p->friction, 4 * m->p->eta_scale * m->J,
                          m->beta, m->decay, m->spread);
  if (is_closed_form(m) || m->J <= longest_loop) return LGV_OK;
  return lgv_fail(
      err, LGV_ERR_USAGE,
      "J = %.3g chain steps at stage %lld of episode %lld are too many to take one by one: use "
      "agent.sampler = exact, set agent.updates, or raise agent.lambda",
      m->J, (long long)h + 1, (long long)c->episodes[0] + 1);
}

/* ---- samplers ---- */

/* w_hat + A^J (w - w_hat) + S^(1/2) xi, with the symmetric root, so that both paths use the same xi
 * in the same way. */
static void advance_exact(lmc *m, double *w) {
  lsvi *c = m->core;
  lgv_rng_normals(c->noise, m->xi, (size_t)c->d);
  if (c->diagonal) {
    for (int64_t i = 0; i < c->d; i++)
      w[i] = c->w_hat[i] + m->decay[i] * (w[i] - c->w_hat[i]) + m->spread[i] * m->xi[i];
    return;
  }
  for (int64_t i = 0; i < c->d; i++) w[i] -= c->w_hat[i];
  int64_t d = c->d / c->blocks;
  for (int64_t at = 0; at < c->d; at += d) {
    lgv__multiply(m->basis + at * d, d, d, w + at, m->gradient + at);
    lgv__multiply(m->basis + at * d, d, d, m->xi + at, m->z + at);
  }
  for (int64_t i = 0; i < c->d; i++)
    m->z[i] = m->decay[i] * m->gradient[i] + m->spread[i] * m->z[i];
  for (int64_t at = 0; at < c->d; at += d)
    lgv__multiply_transposed(m->basis + at * d, d, d, m->z + at, w + at);
  for (int64_t i = 0; i < c->d; i++) w[i] += c->w_hat[i];
}

/* w -= eta g, plus the noise. */
static void step(lmc *m, const double *g, double *w) {
  lsvi *c = m->core;
  double scale = sqrt(2 * m->eta / m->beta);
  lgv_rng_normals(c->noise, m->xi, (size_t)c->d);
  for (int64_t i = 0; i < c->d; i++) w[i] += scale * m->xi[i] - m->eta * g[i];
}

/* The full gradient 2 (Lambda w - b). */
static void full_gradient(const lmc *m, int64_t g, const double *w, double *out) {
  const lsvi *c = m->core;
  if (c->diagonal)
    for (int64_t i = 0; i < c->d; i++) out[i] = m->spectrum[i] * w[i];
  int64_t d = c->d / c->blocks;
  for (int64_t at = 0; !c->diagonal && at < c->d; at += d)
    lgv__multiply(c->gram + (g * c->d + at) * d, d, d, w + at, out + at);
  for (int64_t i = 0; i < c->d; i++) out[i] = 2 * (out[i] - c->b[i]);
}

static double dot_feature(const lsvi *c, int64_t pair, const double *w) {
  if (c->diagonal) return w[pair];
  double sum = 0;
  for (int64_t i = 0; i < c->d; i++) sum += c->phi[pair * c->d + i] * w[i];
  return sum;
}

static void add_scaled_feature(const lsvi *c, int64_t pair, double scale, double *out) {
  if (c->diagonal)
    out[pair] += scale;
  else
    for (int64_t i = 0; i < c->d; i++) out[i] += scale * c->phi[pair * c->d + i];
}

/* The same as batch_gradient from the rows of a history. */
static void history_gradient(lmc *m, int64_t h, const double *w, bool with_target, double *out) {
  lsvi *c = m->core;
  const lsvi_history *t = &c->history;
  double weight = 2 * (double)t->members / (double)m->p->batch;
  for (int64_t i = 0; i < c->d; i++) out[i] = 2 * c->ridge * w[i];
  for (int64_t i = 0; t->members > 0 && i < m->p->batch; i++) {
    int64_t row = lgv__history_draw(c, h), at = lgv__history_block_at(c, t->action[row]);
    double error = lgv__feature_rows_dot(&t->phi, row, t->action[row], w + at);
    if (with_target) error -= t->y[row];
    lgv__feature_rows_add(&t->phi, row, t->action[row], weight * error, out + at);
  }
}

/* The gradient of the feel-good term: minus its weight times phi of the best action in every first
 * state, as often as episodes began there. */
static void add_feel_good(const lmc *m, const double *w, double *out) {
  lsvi *c = m->core;
  const int64_t *visits = c->visits;
  lgv__lsvi_values(c, w, c->y); /* the targets are in b by now */
  for (int64_t s = 0; s < c->S; s++, visits += c->A) {
    const double *q = c->y + s * c->A;
    const uint8_t *mask = lgv__lsvi_mask(c, 0, s);
    double times = 0;
    int32_t best = -1;
    for (int32_t a = 0; a < c->A; a++) {
      times += (double)visits[a];
      if ((!mask || mask[a]) && (best < 0 || q[a] > q[best])) best = a;
    }
    if (times > 0) add_scaled_feature(c, s * c->A + best, -m->p->feel_good * times, out);
  }
}

static void advance_loop(lmc *m, int64_t h, double *w) {
  for (double j = 0; j < m->J; j++) {
    full_gradient(m, lgv__lsvi_group(m->core, h), w, m->gradient);
    if (m->p->feel_good > 0 && h == 0) add_feel_good(m, w, m->gradient);
    step(m, m->gradient, w);
  }
}

/* out = (n/B) sum over a minibatch of 2 phi (phi.w - y) + 2 lambda w; for svrg w is w - snapshot, y
 * is 0, and the full data gradient at the snapshot is added by the caller. Samples are drawn with
 * replacement. */
static void batch_gradient(lmc *m, int64_t h, const double *w, bool with_target, double *out) {
  lsvi *c = m->core;
  if (c->history.map) {
    history_gradient(m, h, w, with_target, out);
    return;
  }
  const lgv_list *list = &m->samples[lgv__lsvi_group(c, h)];
  const double *samples = list->data, *v_next = c->v + (h + 1) * c->S;
  int64_t n = (int64_t)list->count / SAMPLE_SIZE;
  double weight = 2 * (double)n / (double)m->p->batch;
  for (int64_t i = 0; i < c->d; i++) out[i] = 2 * c->ridge * w[i];
  for (int64_t i = 0; n > 0 && i < m->p->batch; i++) {
    const double *sample = samples + lgv_rng_below(c->replay, n) * SAMPLE_SIZE;
    int64_t pair = (int64_t)sample[SAMPLE_PAIR], next = (int64_t)sample[SAMPLE_NEXT];
    double error = dot_feature(c, pair, w);
    if (with_target) error -= sample[SAMPLE_REWARD] + (next == LGV_END ? 0 : v_next[next]);
    add_scaled_feature(c, pair, weight * error, out);
  }
}

static void advance_sgld(lmc *m, int64_t h, double *w) {
  for (double j = 0; j < m->J; j++) {
    batch_gradient(m, h, w, true, m->gradient);
    step(m, m->gradient, w);
  }
}

/* The ridge term is linear, so 2 lambda (w - snapshot) from the batch and 2 lambda snapshot from
 * the full gradient add up. */
static void advance_svrg(lmc *m, int64_t h, double *w) {
  lsvi *c = m->core;
  for (double j = 0; j < m->J; j++) {
    if (fmod(j, (double)m->p->snapshot_every) == 0) {
      memcpy(m->snapshot, w, (size_t)c->d * sizeof *w);
      full_gradient(m, lgv__lsvi_group(c, h), m->snapshot, m->full);
    }
    for (int64_t i = 0; i < c->d; i++) m->z[i] = w[i] - m->snapshot[i];
    batch_gradient(m, h, m->z, false, m->gradient);
    for (int64_t i = 0; i < c->d; i++) m->gradient[i] += m->full[i];
    step(m, m->gradient, w);
  }
}

lgv_status lgv__lmc_advance(lmc *m, int64_t h, double *w, lgv_error *err) {
  switch (m->p->sampler) {
  case LMC_EXACT:
  case LMC_UNDERDAMPED: advance_exact(m, w); break;
  case LMC_LOOP: advance_loop(m, h, w); break;
  case LMC_SGLD: advance_sgld(m, h, w); break;
  case LMC_SVRG: advance_svrg(m, h, w); break;
  }
  return lgv__lsvi_check_finite(m->core, "the Langevin iterate", w, m->core->d, h, err);
}

lgv_status lgv__lmc_absorb(lmc *m, lgv_error *err) {
  lsvi *c = m->core;
  if (c->history.map) return lgv__lsvi_absorb(c, err);
  lgv__lsvi_receive(c);
  for (int64_t h = 0; draws_batches(m) && h < c->H; h++) {
    int64_t pair, next;
    if (!lgv__lsvi_path_step(c, h, &pair, &next)) continue;
    const double sample[] = {
        [SAMPLE_PAIR] = (double)pair,
        [SAMPLE_NEXT] = (double)next,
        [SAMPLE_REWARD] = c->path_reward[h],
    };
    for (int64_t g = lgv__lsvi_group(c, h); g <= lgv__lsvi_last_group(c, h); g++) {
      lgv_list *list = &m->samples[g];
      LGV_TRY(lgv__list_reserve(list, sizeof(double), SAMPLE_SIZE, err));
      memcpy((double *)list->data + list->count, sample, sizeof sample);
      list->count += SAMPLE_SIZE;
    }
  }
  return lgv__lsvi_absorb_path(c, err);
}
