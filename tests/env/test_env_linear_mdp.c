/* Random linear MDPs: rows are distributions, the definition of a linear MDP holds exactly, and the
 * problem depends only on env.mdp_seed. */
#include "env_helpers.h"

typedef struct sizes {
  int64_t S, A, H;
} sizes;

static sizes sizes_of(const lgv_model *m) { return (sizes){m->states, m->actions, m->horizon}; }

/* Rows are distributions, and each state can be entered at every stage. */
static void tabular_rows_are_laws_and_no_state_is_cut_off(void **state) {
  (void)state;
  const char *const settings[] = {NULL, "env.density=0.001 env.states=20", "env.density=1",
                                  "env.states=1", "env.states=30 env.actions=1 env.density=0.02"};
  for (int i = 0; i < 5; i++) {
    lgv_env *env = make_env("linear-mdp", settings[i], 1);
    const lgv_model *m = lgv_env_get_model(env);
    sizes n = sizes_of(m);
    double *row = new_reals(n.S), *column = new_reals(n.S);
    for (int64_t h = 0; h < n.H; h++) {
      memset(column, 0, (size_t)n.S * sizeof *column);
      for (int64_t sa = 0; sa < n.S * n.A; sa++) {
        double sum = model_row(m, h, sa / n.A, (int32_t)(sa % n.A), row);
        assert_true(sum == 0); /* no episode ends before the horizon */
        for (int64_t s = 0; s < n.S; s++) {
          assert_true(row[s] >= 0);
          sum += row[s];
          column[s] += row[s];
        }
        assert_near(sum, 1, 1e-12);
        double reward = m->reward[h * n.S * n.A + sa];
        assert_true(reward >= 0 && reward < 1);
      }
      for (int64_t s = 0; s < n.S; s++) assert_true(column[s] > 0);
    }
    free(row);
    free(column);
    lgv_env_free(env);
  }
}

/* The number of entries and the first two moments of rewards, each within 5 standard errors. */
static void tabular_rows_have_the_density_asked_for(void **state) {
  (void)state;
  lgv_env *env = make_env("linear-mdp", "env.states=40 env.actions=5 env.horizon=30", 1);
  const lgv_model *m = lgv_env_get_model(env);
  double entries = 40.0 * 5 * 30 * 40, spread = sqrt(entries * 0.25 * 0.75);
  /* With 40 states an empty row has probability 1e-5, which is negligible. */
  assert_near((double)m->n_edges, 0.25 * entries, 5 * spread);
  double sum = 0, squares = 0;
  int64_t rows = 40 * 5 * 30;
  for (int64_t i = 0; i < rows; i++) {
    sum += m->reward[i];
    squares += m->reward[i] * m->reward[i];
  }
  assert_near(sum / (double)rows, 0.5, 5 * sqrt(1.0 / 12 / (double)rows));
  assert_near(squares / (double)rows, 1.0 / 3, 5 * sqrt(4.0 / 45 / (double)rows));
  lgv_env_free(env);
}

static bool same_model(const lgv_model *a, const lgv_model *b) {
  size_t rows = (size_t)(a->states * a->actions * a->horizon);
  return a->n_edges == b->n_edges && memcmp(a->reward, b->reward, rows * sizeof *a->reward) == 0 &&
         memcmp(a->edges, b->edges, a->n_edges * sizeof *a->edges) == 0;
}

static void the_problem_depends_on_its_own_seed_alone(void **state) {
  (void)state;
  const char *const kinds[][3] = {
      {"env.kind=tabular", "env.kind=tabular env.mdp_seed=0", "env.kind=tabular env.mdp_seed=1"},
      {"env.kind=low-rank", "env.kind=low-rank env.mdp_seed=0", "env.kind=low-rank env.mdp_seed=1"},
  };
  for (int i = 0; i < 2; i++) {
    lgv_env *a = make_env("linear-mdp", kinds[i][0], 1),
            *b = make_env("linear-mdp", kinds[i][1], 2),
            *c = make_env("linear-mdp", kinds[i][2], 1);
    assert_true(same_model(lgv_env_get_model(a), lgv_env_get_model(b)));
    assert_false(same_model(lgv_env_get_model(a), lgv_env_get_model(c)));
    lgv_env_free(a);
    lgv_env_free(b);
    lgv_env_free(c);
  }
}

static void stages_differ_and_the_start_is_uniform(void **state) {
  (void)state;
  lgv_env *env = make_env("linear-mdp", NULL, 1);
  const lgv_env_spec *spec = lgv_env_get_spec(env);
  const lgv_model *m = lgv_env_get_model(env);
  sizes n = sizes_of(m);
  assert_true(n.S == 10 && n.A == 4 && n.H == 100 && !spec->stationary);
  assert_true(spec->feature_dim == 0 && !spec->features);
  double first[10], second[10];
  model_row(m, 0, 0, 0, first);
  model_row(m, 1, 0, 0, second);
  assert_true(memcmp(first, second, sizeof first) != 0);
  for (int s = 0; s < 10; s++) assert_near(m->start[s], 0.1, 1e-15);
  lgv_env_free(env);
}

/* ---- Low rank ---- */

/* Orthonormal columns that span those of phi (rows x d), by Gram-Schmidt twice; returns the rank.
 */
static int64_t orthonormalize(const double *phi, int64_t rows, int64_t d, double *basis) {
  int64_t rank = 0;
  for (int64_t j = 0; j < d; j++) {
    double *q = basis + rank * rows, norm = 0, before = 0;
    for (int64_t i = 0; i < rows; i++) {
      q[i] = phi[i * d + j];
      before += q[i] * q[i];
    }
    for (int64_t k = 0; k < 2 * rank; k++) {
      const double *p = basis + (k % rank) * rows;
      double dot = 0;
      for (int64_t i = 0; i < rows; i++) dot += p[i] * q[i];
      for (int64_t i = 0; i < rows; i++) q[i] -= dot * p[i];
    }
    for (int64_t i = 0; i < rows; i++) norm += q[i] * q[i];
    if (norm < 1e-16 * before) continue;
    for (int64_t i = 0; i < rows; i++) q[i] /= sqrt(norm);
    rank++;
  }
  return rank;
}

/* The largest entry of v (rows) outside the span of the basis; v is changed. */
static double residual(const double *basis, int64_t rank, int64_t rows, double *v) {
  double most = 0;
  for (int64_t k = 0; k < rank; k++) {
    const double *q = basis + k * rows;
    double dot = 0;
    for (int64_t i = 0; i < rows; i++) dot += q[i] * v[i];
    for (int64_t i = 0; i < rows; i++) v[i] -= dot * q[i];
  }
  for (int64_t i = 0; i < rows; i++) most = fmax(most, fabs(v[i]));
  return most;
}

static void features_lie_in_the_simplex(const lgv_env_spec *spec) {
  for (int64_t row = 0; row < spec->states * spec->actions.count; row++) {
    const double *phi = spec->features + row * spec->feature_dim;
    double sum = 0, norm = 0;
    for (int64_t i = 0; i < spec->feature_dim; i++) {
      assert_true(phi[i] >= 0);
      sum += phi[i];
      norm += phi[i] * phi[i];
    }
    assert_near(sum, 1, 1e-12);
    assert_true(norm <= 1 + 1e-12);
  }
}

/* P_h(s'|.), r_h and Q*_h are linear in phi; a generic vector is not. */
static void stage_is_linear(const lgv_model *m, int64_t h, const double *values,
                            const double *basis, int64_t rank) {
  sizes n = sizes_of(m);
  int64_t rows = n.S * n.A;
  double *P = new_reals(rows * n.S), *v = new_reals(rows);
  for (int64_t sa = 0; sa < rows; sa++) {
    double sum = model_row(m, h, sa / n.A, (int32_t)(sa % n.A), P + sa * n.S);
    for (int64_t s = 0; s < n.S; s++) {
      assert_true(P[sa * n.S + s] >= 0);
      sum += P[sa * n.S + s];
    }
    assert_near(sum, 1, 1e-12);
  }
  for (int64_t s = 0; s < n.S; s++) {
    for (int64_t sa = 0; sa < rows; sa++) v[sa] = P[sa * n.S + s];
    assert_true(residual(basis, rank, rows, v) < 1e-9);
  }
  for (int64_t sa = 0; sa < rows; sa++) {
    v[sa] = m->reward[h * rows + sa];
    assert_true(v[sa] >= 0 && v[sa] <= 1);
  }
  assert_true(residual(basis, rank, rows, v) < 1e-9);
  for (int64_t sa = 0; sa < rows; sa++) {
    v[sa] = m->reward[h * rows + sa];
    for (int64_t s = 0; s < n.S; s++) v[sa] += P[sa * n.S + s] * values[(h + 1) * n.S + s];
  }
  assert_true(residual(basis, rank, rows, v) < 1e-9);
  for (int64_t sa = 0; sa < rows; sa++) v[sa] = (double)(sa * sa % 7);
  assert_true(rank == rows || residual(basis, rank, rows, v) > 0.1);
  free(P);
  free(v);
}

static void low_rank_problems_are_linear(void **state) {
  (void)state;
  const char *const settings[] = {"env.kind=low-rank", "env.kind=low-rank env.dim=1",
                                  "env.kind=low-rank env.dim=40 env.horizon=5",
                                  "env.kind=low-rank env.dim=3 env.states=25 env.density=0.01"};
  for (int i = 0; i < 4; i++) {
    lgv_env *env = make_env("linear-mdp", settings[i], 1);
    const lgv_env_spec *spec = lgv_env_get_spec(env);
    const lgv_model *m = lgv_env_get_model(env);
    sizes n = sizes_of(m);
    int64_t rows = n.S * n.A, d = spec->feature_dim;
    assert_non_null(spec->features);
    features_lie_in_the_simplex(spec);
    double *basis = new_reals(rows * d), *values = new_reals((n.H + 1) * n.S);
    int64_t rank = orthonormalize(spec->features, rows, d, basis);
    assert_true(rank == d);
    lgv_model_optimal(m, values);
    for (int64_t h = 0; h < n.H; h++) stage_is_linear(m, h, values, basis, rank);
    free(basis);
    free(values);
    lgv_env_free(env);
  }
}

/* One latent class: every pair has its distribution, on density * S states. */
static void one_latent_class_means_one_law(void **state) {
  (void)state;
  lgv_env *env = make_env("linear-mdp", "env.kind=low-rank env.dim=1 env.density=0.3", 1);
  const lgv_model *m = lgv_env_get_model(env);
  sizes n = sizes_of(m);
  double first[10], other[10];
  for (int64_t h = 0; h < n.H; h++) {
    int support = 0;
    model_row(m, h, 0, 0, first);
    model_row(m, h, 9, 3, other);
    for (int s = 0; s < 10; s++) {
      assert_near(first[s], other[s], 1e-15);
      support += first[s] > 0;
    }
    assert_int_equal(support, 3);
  }
  lgv_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tabular_rows_are_laws_and_no_state_is_cut_off),
      cmocka_unit_test(tabular_rows_have_the_density_asked_for),
      cmocka_unit_test(the_problem_depends_on_its_own_seed_alone),
      cmocka_unit_test(stages_differ_and_the_start_is_uniform),
      cmocka_unit_test(low_rank_problems_are_linear),
      cmocka_unit_test(one_latent_class_means_one_law),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
