/* Distributions of returns: projection, losses and gradients against closed forms and PyTorch. What
 * agents learn is in test_dqn_returns.c. */
#include "deep_helpers.h"
#include "fixtures/distribution_oracle.h"
#include "math/kernels.h"

#include <math.h>
#include <stdio.h>

static lgv_rng rng;

static int seed_rng(void **state) {
  (void)state;
  lgv_rng_seed(&rng, 4, "test");
  return 0;
}

/* ---- C51: the projection ---- */

/* In agent_c51.c. */
void lgv__c51_grid(int64_t n, double v_min, double v_max, float *z);
void lgv__c51_project(int64_t n, double v_min, double v_max, const float *p, float reward,
                      float discount, float *m);

enum { MOST = 300 };

static void random_distribution(int64_t n, float *p) {
  double sum = 0;
  for (int64_t j = 0; j < n; j++) sum += p[j] = (float)lgv_rng_gamma(&rng, 0.3);
  for (int64_t j = 0; j < n; j++) p[j] = (float)(p[j] / sum);
}

static double moment(int64_t n, const float *p, const float *z, double power) {
  double sum = 0;
  for (int64_t j = 0; j < n; j++) sum += p[j] * pow(z[j], power);
  return sum;
}

static void the_projection_has_its_known_values(void **state) {
  (void)state;
  const float p[] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
  const double expected[] = {0.02, 0.14, 0.30, 0.34, 0.20}, end[] = {0, 0, 0, 0.6, 0.4};
  float m[5];
  lgv__c51_project(5, -1, 1, p, 0.3f, 0.9f, m);
  for (int j = 0; j < 5; j++) assert_float_equal(m[j], expected[j], 1e-6);
  lgv__c51_project(5, -1, 1, p, 0.7f, 0, m); /* the episode ended with 0.7 */
  for (int j = 0; j < 5; j++) assert_float_equal(m[j], end[j], 1e-6);
  lgv__c51_project(5, -1, 1, p, 0, 1, m); /* nothing happens */
  for (int j = 0; j < 5; j++) assert_float_equal(m[j], p[j], 1e-6);
  lgv__c51_project(5, -1, 1, p, 50, 0.9f, m); /* beyond the grid */
  assert_float_equal(m[4], 1, 1e-6);
  lgv__c51_project(5, -1, 1, p, -50, 0.9f, m);
  assert_float_equal(m[0], 1, 1e-6);
}

/* Mass 1 always; the mean of r + gamma z where nothing is cut off. */
static void the_projection_keeps_mass_and_mean(void **state) {
  (void)state;
  float p[MOST], m[MOST], z[MOST];
  for (int k = 0; k < 2000; k++) {
    int64_t n = 2 + lgv_rng_below(&rng, MOST - 2);
    double low = -10 * lgv_rng_uniform(&rng), high = 0.1 + 10 * lgv_rng_uniform(&rng);
    double gamma = lgv_rng_uniform(&rng);
    bool cut = k % 2;
    double room_low = low - gamma * low, room_high = high - gamma * high; /* rewards that fit */
    double reward =
        cut ? 20 * lgv_rng_normal(&rng) : room_low + (room_high - room_low) * lgv_rng_uniform(&rng);
    lgv__c51_grid(n, low, high, z);
    random_distribution(n, p);
    lgv__c51_project(n, low, high, p, (float)reward, (float)gamma, m);
    for (int64_t j = 0; j < n; j++) assert_true(m[j] >= 0);
    assert_float_equal(moment(n, m, z, 0), moment(n, p, z, 0), 1e-5);
    if (!cut) assert_float_equal(moment(n, m, z, 1), reward + gamma * moment(n, p, z, 1), 1e-4);
  }
}

/* ---- kernels, on every set ---- */

static void softmax_agrees_with_double(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  float x[3 * MOST], p[3 * MOST], z[MOST], mean[3], log_sum[3];
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++)
    for (int64_t n = 1; n < 70; n++) {
      double scale = n % 3 == 0 ? 300 : 3;
      for (int64_t i = 0; i < 3 * n; i++) x[i] = (float)(scale * lgv_rng_normal(&rng));
      for (int64_t j = 0; j < n; j++) z[j] = (float)lgv_rng_normal(&rng);
      set->softmax(3, n, x, z, p, mean, log_sum);
      for (int row = 0; row < 3; row++) {
        const float *from = x + row * n;
        double most = -INFINITY, sum = 0, average = 0;
        for (int64_t j = 0; j < n; j++) most = from[j] > most ? from[j] : most;
        for (int64_t j = 0; j < n; j++) sum += exp(from[j] - most);
        for (int64_t j = 0; j < n; j++) {
          double q = exp(from[j] - most) / sum;
          double rounded =
              6e-8 * (most - from[j]); /* the difference is taken in single precision */
          assert_float_equal(p[row * n + j], q, (1e-6 + rounded) * q + 1e-37);
          average += q * z[j];
        }
        assert_float_equal(mean[row], average, 2e-6);
        assert_float_equal(log_sum[row], most + log(sum), 2e-7 * fabs(most) + 1e-6);
      }
    }
}

static void softmax_shows_what_is_not_a_number(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  float x[20] = {0}, p[20], z[20] = {0}, mean;
  x[7] = NAN;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    set->softmax(1, 20, x, z, p, &mean, NULL);
    assert_true(isnan(mean));
  }
}

/* The definition, pair by pair, and its derivatives. */
static double slow_quantile_loss(int64_t n, const float *theta, const float *tau, int64_t targets,
                                 const float *target, double kappa, double *slope) {
  double loss = 0;
  for (int64_t i = 0; i < n; i++) {
    slope[i] = 0;
    for (int64_t j = 0; j < targets; j++) {
      double d = (double)target[j] - theta[i], weight = fabs(tau[i] - (d < 0));
      double huber = fabs(d) <= kappa ? d * d / 2 : kappa * (fabs(d) - kappa / 2);
      loss += weight * huber / (double)targets;
      slope[i] -= weight * fmax(-kappa, fmin(kappa, d)) / (double)targets;
    }
  }
  return loss;
}

static void the_quantile_loss_has_its_known_values(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  const float theta[] = {0, 1, 3}, tau[] = {1.0f / 6, 0.5f, 5.0f / 6}, target[] = {0.5f, 2, -1};
  float d_theta[MOST], x[MOST], t[MOST], y[MOST];
  double slope[MOST];
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    assert_float_equal(set->quantile_loss(3, theta, tau, 3, target, 1, d_theta), 0.9166666667,
                       1e-6);
    for (int64_t n = 1; n < 70; n++) {
      int64_t targets = 1 + lgv_rng_below(&rng, 80);
      float kappa = (float)(0.01 + 2 * lgv_rng_uniform(&rng));
      for (int64_t i = 0; i < n; i++) {
        x[i] = (float)lgv_rng_normal(&rng);
        t[i] = (float)lgv_rng_uniform(&rng);
      }
      for (int64_t j = 0; j < targets; j++) y[j] = (float)lgv_rng_normal(&rng);
      double loss = slow_quantile_loss(n, x, t, targets, y, kappa, slope);
      assert_float_equal(set->quantile_loss(n, x, t, targets, y, kappa, d_theta), loss,
                         1e-5 * loss + 1e-6);
      for (int64_t i = 0; i < n; i++) assert_float_equal(d_theta[i], slope[i], 2e-6);
    }
  }
}

/* Descending the loss with a small kappa ends at the sample's quantiles: theta_i between the order
 * statistics around tau_i, here those of an odd number of samples. tau = 1/2 is the median. */
static void descent_ends_at_the_quantiles_of_a_sample(void **state) {
  (void)state;
  enum { N = 5, SAMPLES = 15 };
  const float tau[N] = {0.1f, 0.3f, 0.5f, 0.7f, 0.9f};
  float theta[N] = {0}, target[SAMPLES], d_theta[N];
  for (int j = 0; j < SAMPLES; j++) target[j] = (float)(j * j) / 20; /* sorted */
  for (int k = 0; k < 60000; k++) {
    lgv__kernels()->quantile_loss(N, theta, tau, SAMPLES, target, 0.001f, d_theta);
    for (int i = 0; i < N; i++) theta[i] -= 5 * d_theta[i];
  }
  /* tau x 15 = 1.5, 4.5, 7.5, 10.5, 13.5: the samples at 1, 4, 7, 10, 13, counted from 0 */
  for (int i = 0; i < N; i++) assert_float_equal(theta[i], target[1 + 3 * i], 0.01);
}

/* ---- agents: gradients ---- */

/* Number i of a stream; net_oracle.py makes the same. */
static float noise(uint32_t seed, int64_t i) {
  uint32_t x = (uint32_t)i + seed * 0x9E3779B9u;
  x *= 2654435761u;
  x ^= x >> 16;
  x *= 0x45D9F3Bu;
  x ^= x >> 16;
  return (float)(x >> 8) * 0x1p-24f - 0.5f;
}

static void fill_parameters(const net *n, uint32_t seed, float *w) {
  for (int32_t l = 0; l < n->n_layers; l++, seed += 2) {
    const net_layer *layer = &n->layer[l];
    float scale = 4 * (float)exp2(floor(log2(1 / sqrt((double)layer->inputs))));
    for (int64_t i = 0; i < layer->n_weights; i++) w[layer->weights + i] = scale * noise(seed, i);
    for (int64_t i = 0; i < layer->n_biases; i++) w[layer->biases + i] = scale * noise(seed + 1, i);
  }
}

enum { OBS = 5 };

static lgv_env_spec vector_spec(void) {
  return (lgv_env_spec){.obs_shape = {OBS, 1, 1}, .actions = {.count = 3}};
}

static void observe_one(deep_rig *rig, bool terminated) {
  lgv_error err = {0};
  float obs[OBS], next[OBS];
  for (int i = 0; i < OBS; i++) {
    obs[i] = 4 * noise(100, i);
    next[i] = 4 * noise(103, i);
  }
  lgv_transition t = {.obs = {.data = obs, .state = -1},
                      .next = {.data = next, .state = -1, .stage = 1},
                      .action = choice(1),
                      .reward = 0.3,
                      .terminated = terminated};
  assert_int_equal(rig->type->observe(rig->self, &t, &err), LGV_OK);
}

#define ONE "agent.batch=2 agent.hidden=7,6 agent.gamma=0.9 optim.name=sgd optim.lr=1e-9 "

static void near(const char *agent, double got, double want, double scale) {
  if (!(fabs(got - want) <= 2e-5 * scale + 1e-7)) fail_msg("%s: %.9g, not %.9g", agent, got, want);
}

static void check_gradient(const oracle_case *o, const dqn *c) {
  for (int b = 0; b < ORACLE_BLOCKS; b++) {
    const net_layer *layer = &c->net.layer[b / 2];
    int64_t size = b % 2 ? layer->n_biases : layer->n_weights;
    const float *grad = c->grad + (b % 2 ? layer->biases : layer->weights);
    double sum = 0, squares = 0, typical = sqrt(o->block[b].squares / (double)size);
    for (int64_t i = 0; i < size; i++) {
      sum += grad[i];
      squares += (double)grad[i] * grad[i];
    }
    near(o->agent, sum, o->block[b].sum, typical * sqrt((double)size));
    near(o->agent, squares, o->block[b].squares, o->block[b].squares);
    for (int i = 0; i < ORACLE_PICKS; i++)
      near(o->agent, grad[(i * size / ORACLE_PICKS + 5 * i) % size], o->block[b].pick[i],
           typical + fabs(o->block[b].pick[i]));
  }
}

/* The whole way from a transition to the gradient. */
static void losses_and_gradients_match_pytorch(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof oracle_cases / sizeof *oracle_cases; i++) {
    const oracle_case *o = &oracle_cases[i];
    deep_rig rig;
    lgv_error err = {0};
    char extra[512];
    snprintf(extra, sizeof extra, ONE "agent.double=%s %s", o->is_double ? "true" : "false",
             strcmp(o->agent, "c51") == 0 ? "agent.atoms=11 agent.v_min=-0.5 agent.v_max=0.75"
                                          : "agent.quantiles=11 agent.kappa=0.25");
    deep_open(&rig, o->agent, vector_spec(), extra, NULL);
    dqn *c = rig.self;
    fill_parameters(&c->net, 1, c->w);
    fill_parameters(&c->net, 51, c->w_target);
    observe_one(&rig, o->terminated);
    assert_int_equal(deep_update(&rig, &err), LGV_OK);
    assert_int_equal(c->best[0], o->best);
    near(o->agent, c->loss, o->loss, o->loss);
    near(o->agent, c->error[1], o->loss, o->loss);
    check_gradient(o, c);
    deep_close(&rig);
  }
}

/* IQN's loss as a function of w, with the draws of tau and the targets of the last update. */
static double iqn_loss(const deep_rig *rig, const float *w, int64_t N) {
  dqn *c = rig->self;
  const float *tau = deep_array(rig, "tau", NULL), *target = deep_array(rig, "target", NULL);
  net_input input = lgv__replay_input(&c->env, c->batch.obs);
  input.tau = tau;
  input.taus = N;
  const float *z = lgv__net_forward(&c->net, w, input, c->p->batch, &c->tape);
  double sum = 0, slope[MOST];
  for (int64_t i = 0; i < c->p->batch; i++) {
    float theta[MOST];
    for (int64_t k = 0; k < N; k++) theta[k] = z[(i * N + k) * c->A + c->batch.action[i]];
    sum += (c->weight ? c->weight[i] : 1) *
           slow_quantile_loss(N, theta, tau + i * N, N, target + i * N, 1, slope);
  }
  return sum / (double)c->p->batch;
}

static void the_gradient_of_iqn_agrees_with_finite_differences(void **state) {
  (void)state;
  enum { N = 6 };
  deep_rig rig;
  lgv_error err = {0};
  deep_open(&rig, "iqn", deep_spec(10, 2),
            "agent.warmup=1000 agent.hidden=8,8 agent.double=true agent.batch=16 agent.taus=6 "
            "agent.taus_act=9 agent.cosines=5 agent.prioritized=true optim.name=sgd optim.lr=1e-9",
            NULL);
  dqn *c = rig.self;
  deep_walk(&rig, 100, &rng);
  for (int k = 0; k < 3; k++) /* the priorities, and so the weights, are uneven by then */
    assert_int_equal(deep_update(&rig, &err), LGV_OK);
  assert_float_equal(iqn_loss(&rig, c->w, N), c->loss, 1e-5);
  double worst = 0, norm = 0, step = 1e-3;
  for (int64_t i = 0; i < c->dim; i++) {
    float kept = c->w[i];
    c->w[i] = kept + (float)step;
    double above = iqn_loss(&rig, c->w, N);
    c->w[i] = kept - (float)step;
    double below = iqn_loss(&rig, c->w, N);
    c->w[i] = kept;
    worst = fmax(worst, fabs((above - below) / (2 * step) - (double)c->grad[i]));
    norm = fmax(norm, fabs((double)c->grad[i]));
  }
  assert_true(norm > 0.1);
  if (!(worst < 2e-3)) fail_msg("off by %g", worst); /* float rounding of outputs over the step */
  deep_close(&rig);
}

/* At tau = 0 every cosine is 1. */
static void the_embedding_of_zero_is_the_sum_of_its_weights(void **state) {
  (void)state;
  deep_rig rig;
  deep_open(&rig, "iqn", deep_spec(10, 2), "agent.hidden=8,8 agent.taus=3 agent.taus_act=3", NULL);
  dqn *c = rig.self;
  const net_layer *layer = &c->net.layer[c->net.embedding];
  const float tau[3] = {0};
  const int32_t index = 4;
  assert_int_equal(layer->inputs, 64);
  lgv__net_forward(&c->net, c->w, (net_input){.index = &index, .tau = tau, .taus = 3}, 1,
                   &c->act_tape);
  for (int64_t j = 0; j < layer->outputs; j++) {
    double sum = c->w[layer->biases + j];
    for (int64_t i = 0; i < layer->inputs; i++)
      sum += c->w[layer->weights + i * layer->outputs + j];
    for (int t = 0; t < 3; t++)
      assert_float_equal(c->act_tape.psi[t * layer->outputs + j], fmax(sum, 0), 1e-5);
  }
  deep_close(&rig);
}

static float *output_bias(const dqn *c, float *w, int32_t output) {
  return w + c->net.layer[c->net.n_layers - 1].biases + output;
}

/* Z_tau of the next observation for draws of tau from a stream, (batch x taus x A). */
static const float *draw_next(const deep_rig *rig, const float *w, int64_t taus, lgv_rng *stream) {
  dqn *c = rig->self;
  static float tau[MOST];
  for (int64_t i = 0; i < c->p->batch * taus; i++) tau[i] = (float)lgv_rng_uniform(stream);
  net_input input = lgv__replay_input(&c->env, c->batch.next);
  input.tau = tau;
  input.taus = taus;
  return lgv__net_forward(&c->net, w, input, c->p->batch, &c->target_tape);
}

/* The draws of an update are repeated: first those for the choice of an action, then those for the
 * targets, each sample its own. The online network has reason to choose action 2, the target
 * network action 0. */
static void the_targets_of_iqn_have_their_definition(void **state) {
  (void)state;
  enum { N = 6, K = 9, B = 2, A = 3 };
  for (int k = 0; k < 3; k++) {
    bool is_double = k == 1, terminated = k == 2;
    deep_rig rig;
    lgv_error err = {0};
    char extra[256];
    snprintf(extra, sizeof extra, ONE "agent.taus=6 agent.taus_act=9 agent.double=%s",
             is_double ? "true" : "false");
    deep_open(&rig, "iqn", vector_spec(), extra, NULL);
    dqn *c = rig.self;
    fill_parameters(&c->net, 1, c->w);
    fill_parameters(&c->net, 51, c->w_target);
    *output_bias(c, c->w, 2) += 100;
    *output_bias(c, c->w_target, 0) += 100;
    c->count[DQN_UPDATES] = 1; /* no copy to the target network */
    observe_one(&rig, terminated);
    lgv_rng stream = *rig.problem.noise;
    assert_int_equal(deep_update(&rig, &err), LGV_OK);
    const float *target = deep_array(&rig, "target", NULL);
    for (int i = 0; i < B * K; i++) lgv_rng_uniform(&stream);
    const float *z = draw_next(&rig, c->w_target, N, &stream);
    for (int i = 0; i < B; i++) {
      int best = is_double ? 2 : 0;
      assert_int_equal(c->best[i], best);
      for (int j = 0; j < N; j++) {
        double expected = 0.3 + (terminated ? 0 : 0.9 * (double)z[(i * N + j) * A + best]);
        assert_float_equal(target[i * N + j], expected, 1e-5 * fabs(expected));
      }
    }
    deep_close(&rig);
  }
}

/* The cross-entropy that PyTorch finds, less the entropy of the target. */
static void the_priority_of_c51_is_a_divergence(void **state) {
  (void)state;
  const oracle_case *o = &oracle_cases[0];
  deep_rig rig;
  lgv_error err = {0};
  assert_true(strcmp(o->agent, "c51") == 0 && !o->is_double && !o->terminated);
  deep_open(&rig, "c51", vector_spec(),
            ONE "agent.atoms=11 agent.v_min=-0.5 agent.v_max=0.75 agent.prioritized=true", NULL);
  dqn *c = rig.self;
  fill_parameters(&c->net, 1, c->w);
  fill_parameters(&c->net, 51, c->w_target);
  observe_one(&rig, false);
  assert_int_equal(deep_update(&rig, &err), LGV_OK);
  const float *m = deep_array(&rig, "m", NULL);
  double entropy = 0;
  for (int j = 0; j < 11; j++) entropy -= m[j] > 0 ? m[j] * log(m[j]) : 0;
  assert_true(entropy > 0.5);
  near("c51", c->error[1], o->loss - entropy, 1);
  check_gradient(o, c);
  deep_close(&rig);
}

static void a_loss_that_is_not_a_number_stops_the_agent(void **state) {
  (void)state;
  const char *const agents[] = {"c51", "qr-dqn", "iqn"};
  for (int k = 0; k < 6; k++) {
    deep_rig rig;
    lgv_error err = {0};
    deep_open(&rig, agents[k / 2], vector_spec(),
              k % 2 ? ONE "agent.prioritized=true" : ONE "agent.prioritized=false", NULL);
    dqn *c = rig.self;
    observe_one(&rig, false);
    assert_int_equal(deep_update(&rig, &err), LGV_OK);
    *output_bias(c, c->w, c->outputs / 2) = NAN; /* of action 1, which was taken */
    assert_int_equal(deep_update(&rig, &err), LGV_ERR_NUMERIC);
    assert_non_null(strstr(err.message, "the loss"));
    deep_close(&rig);
  }
}

static void gradients_are_shortened_to_their_greatest_norm(void **state) {
  (void)state;
  double norm[2] = {0};
  for (int clips = 0; clips < 2; clips++) {
    deep_rig rig;
    lgv_error err = {0};
    deep_open(&rig, "qr-dqn", vector_spec(), clips ? ONE "agent.grad_clip=0.01" : ONE, NULL);
    dqn *c = rig.self;
    observe_one(&rig, true);
    assert_int_equal(deep_update(&rig, &err), LGV_OK);
    for (int64_t i = 0; i < c->dim; i++) norm[clips] += (double)c->grad[i] * c->grad[i];
    deep_close(&rig);
  }
  assert_true(sqrt(norm[0]) > 0.1);
  assert_float_equal(sqrt(norm[1]), 0.01, 1e-6);
}

static void the_grid_of_c51_follows_the_rewards(void **state) {
  (void)state;
  const struct {
    const char *env, *extra;
    double low, high;
  } cases[] = {
      {"cartpole", "agent.gamma=0.9", 0, 10},
      {"mountain-car", "agent.gamma=0.9", -10, 0},
      {"cartpole", "agent.gamma=0.9 agent.v_min=-3 agent.v_max=4", -3, 4},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lgv_plan *plan = make_plan(cases[i].env, "c51", cases[i].extra);
    lgv_error err = {0};
    char low[64], high[64];
    assert_int_equal(lgv_plan_get(plan, "agent.v_min", low, sizeof low, &err), LGV_OK);
    assert_int_equal(lgv_plan_get(plan, "agent.v_max", high, sizeof high, &err), LGV_OK);
    assert_float_equal(atof(low), cases[i].low, 1e-6);
    assert_float_equal(atof(high), cases[i].high, 1e-6);
    lgv_plan_free(plan);
  }
  lgv_settings *settings = make_settings("cartpole", "c51", "agent.v_min=2 agent.v_max=1");
  lgv_error err = {0};
  lgv_plan *plan;
  assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "agent.v_min"));
  lgv_settings_free(settings);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_projection_has_its_known_values),
      cmocka_unit_test(the_projection_keeps_mass_and_mean),
      cmocka_unit_test(softmax_agrees_with_double),
      cmocka_unit_test(softmax_shows_what_is_not_a_number),
      cmocka_unit_test(the_quantile_loss_has_its_known_values),
      cmocka_unit_test(descent_ends_at_the_quantiles_of_a_sample),
      cmocka_unit_test(losses_and_gradients_match_pytorch),
      cmocka_unit_test(the_gradient_of_iqn_agrees_with_finite_differences),
      cmocka_unit_test(the_embedding_of_zero_is_the_sum_of_its_weights),
      cmocka_unit_test(the_targets_of_iqn_have_their_definition),
      cmocka_unit_test(the_priority_of_c51_is_a_divergence),
      cmocka_unit_test(a_loss_that_is_not_a_number_stops_the_agent),
      cmocka_unit_test(gradients_are_shortened_to_their_greatest_norm),
      cmocka_unit_test(the_grid_of_c51_follows_the_rewards),
  };
  return cmocka_run_group_tests(tests, seed_rng, NULL);
}
