/* The replay of observations of every form against a list that keeps all of them whole. */
#include "replay/replay.h"

#include "base/arena.h"
#include "base/stack.h"
#include "obs_helpers.h"

enum { RING = 13, STEPS = 160, MOST_STREAMS = 3, ROOM = 512 };

/* One observation of the list, and the step that followed it. */
typedef struct moment {
  char newest[ROOM];
  char data[ROOM]; /* as the environment showed it: a whole stack */
  bool acted, terminated;
  int32_t action;
  float reward;
  int age, first; /* first: where its episode begins */
} moment;

typedef struct life {
  moment list[2 * STEPS];
  int count;
  bool running;
} life;

typedef struct rig {
  lgv_env_spec one, env;
  int32_t n_step;
  int64_t streams;
  replay r;
  replay_batch b; /* of one */
  lgv_arena arena;
  lgv_rng rng;
  life lives[MOST_STREAMS];
} rig;

static void layout_rig(void *context, lgv_layout *layout) {
  rig *t = context;
  lgv__replay_layout(&t->r, &t->env, t->streams, t->streams * RING, t->n_step, 0.9, layout);
  lgv__replay_batch_layout(&t->b, &t->r, 1, true, layout);
}

static void open_rig(rig *t, const lgv_env_spec *one, int32_t frames) {
  lgv_error err;
  t->one = t->env = *one;
  if (frames > 1) assert_null(lgv__stack_spec(one, frames, &t->env));
  assert_true(lgv__obs_bytes(&t->env) <= ROOM);
  memset(t->lives, 0, sizeof t->lives);
  assert_int_equal(lgv__arena_build(&t->arena, layout_rig, t, "a test", &err), LGV_OK);
}

/* ---- the list ---- */

/* Shows a new observation: the stack of it and those before, or copies of it at the beginning. */
static moment *show(rig *t, life *l, bool begins) {
  int32_t frames = lgv__frames(&t->env);
  moment *now = &l->list[l->count], *before = now - 1;
  const void *obs[LGV_MOST_FRAMES];
  *now = (moment){.first = begins ? l->count : before->first, .age = begins ? 0 : before->age + 1};
  obs_draw(&t->one, &t->rng, now->newest);
  for (int32_t f = 0; f < frames; f++) {
    int back = frames - 1 - f;
    obs[f] = l->list[l->count - (back < now->age ? back : now->age)].newest;
  }
  obs_stack(&t->one, &t->env, frames, obs, now->data);
  l->count++;
  return now;
}

static void live(rig *t, int64_t stream) {
  life *l = &t->lives[stream];
  if (!l->running) show(t, l, true);
  moment *from = &l->list[l->count - 1], *to = show(t, l, false);
  double u = lgv_rng_uniform(&t->rng);
  from->acted = true;
  from->action = (int32_t)lgv_rng_below(&t->rng, 3);
  from->reward = (float)lgv_rng_normal(&t->rng);
  from->terminated = u < 0.08;
  bool truncated = u > 0.94, abandoned = u > 0.9; /* without an end */
  lgv_action action = {.choice = from->action};
  lgv_transition x = {.obs = {.data = from->data, .state = -1, .stage = from->age},
                      .next = {.data = to->data, .state = -1, .stage = to->age},
                      .action = &action,
                      .reward = from->reward,
                      .terminated = from->terminated,
                      .truncated = truncated};
  int64_t entry = lgv__replay_add(&t->r, stream, &x);
  assert_int_equal(entry, (from - l->list) % RING * t->streams + stream);
  l->running = !from->terminated && !truncated && !abandoned;
}

/* ---- the comparison ---- */

static bool is_present(const life *l, int i) { return i >= 0 && i >= l->count - RING; }

static bool can_draw(const rig *t, const life *l, int i) {
  int back = lgv__frames(&t->env) - 1;
  if (back > l->list[i].age) back = l->list[i].age;
  return l->list[i].acted && is_present(l, i - back);
}

static void assert_shown(const rig *t, const unsigned char *encoded, const moment *m) {
  const float *x = (const float *)(const void *)m->data;
  int32_t index, ones = 0, length = t->env.obs_shape[0];
  if (t->env.obs_form == LGV_FORM_DENSE) {
    assert_true(obs_equal(&t->env, encoded, m->data));
    return;
  }
  memcpy(&index, encoded, sizeof index);
  while (ones < length && x[ones] != (t->env.obs_form == LGV_FORM_ONE_HOT)) ones++;
  assert_int_equal(index, ones);
}

static void check_entry(rig *t, int64_t stream, int i) {
  life *l = &t->lives[stream];
  double sum = 0, weight = 1;
  int to = i;
  do {
    sum += weight * (double)l->list[to].reward;
    weight *= 0.9;
  } while (++to - i < t->n_step && l->list[to].acted);
  t->b.entry[0] = i % RING * t->streams + stream;
  lgv__replay_gather(&t->r, &t->b);
  assert_shown(t, t->b.obs, &l->list[i]);
  assert_shown(t, t->b.first, &l->list[l->list[i].first]);
  assert_shown(t, t->b.next, &l->list[to]);
  assert_int_equal(t->b.action[0], l->list[i].action);
  assert_true(t->b.reward[0] == (float)sum);
  assert_true(t->b.discount[0] == (l->list[to - 1].terminated ? 0 : (float)weight));
}

static void check_all(rig *t) {
  int64_t size = 0;
  for (int64_t s = 0; s < t->streams; s++) {
    const life *l = &t->lives[s];
    for (int i = l->count > RING ? l->count - RING : 0; i < l->count; i++) {
      int64_t entry = i % RING * t->streams + s;
      assert_int_equal(lgv__replay_can_draw(&t->r, entry), can_draw(t, l, i));
      if (can_draw(t, l, i)) check_entry(t, s, i);
      size += can_draw(t, l, i);
    }
  }
  assert_int_equal(lgv__replay_size(&t->r), size);
  assert_null(lgv__replay_fault(&t->r));
}

static void check_spec(const lgv_env_spec *one, int32_t frames, int64_t streams, int32_t n_step) {
  static rig t;
  t = (rig){.streams = streams, .n_step = n_step};
  lgv_rng_seed(&t.rng, (uint64_t)(frames * 100 + streams * 10 + n_step), "test");
  open_rig(&t, one, frames);
  for (int i = 0; i < STEPS; i++) {
    live(&t, lgv_rng_below(&t.rng, streams));
    check_all(&t);
  }
  lgv__arena_free(&t.arena);
}

#define SPEC(...)                                                                                  \
  {                                                                                                \
    __VA_ARGS__, .actions = {.count = 3 }                                                          \
  }

static const lgv_env_spec dense[] = {
    SPEC(.obs_kind = LGV_OBS_BYTE, .obs_shape = {3, 3, 1}),
    SPEC(.obs_kind = LGV_OBS_BYTE, .obs_shape = {3, 3, 2}, .vector = 3),
    SPEC(.obs_kind = LGV_OBS_BYTE, .obs_shape = {5, 1, 1}),
    SPEC(.obs_shape = {2, 3, 2}),
    SPEC(.obs_shape = {2, 3, 1}, .vector = 1),
    SPEC(.obs_shape = {4, 1, 1}),
};
static const lgv_env_spec sparse[] = {
    SPEC(.obs_form = LGV_FORM_ONE_HOT, .obs_shape = {7, 1, 1}),
    SPEC(.obs_form = LGV_FORM_THERMOMETER, .obs_shape = {7, 1, 1}),
};

static void every_form_equals_a_list_of_whole_observations(void **state) {
  (void)state;
  for (int64_t streams = 1; streams <= MOST_STREAMS; streams += 2)
    for (int32_t n_step = 1; n_step <= 4; n_step += 3) {
      for (size_t i = 0; i < sizeof dense / sizeof *dense; i++)
        for (int32_t frames = 1; frames <= 4; frames++)
          check_spec(&dense[i], frames, streams, n_step);
      for (size_t i = 0; i < sizeof sparse / sizeof *sparse; i++)
        check_spec(&sparse[i], 1, streams, n_step);
    }
}

static void a_stack_takes_the_memory_of_one(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof dense / sizeof *dense; i++) {
    static rig t;
    t = (rig){.streams = 1, .n_step = 1};
    open_rig(&t, &dense[i], 4);
    assert_int_equal(t.r.obs_bytes, lgv__obs_bytes(&dense[i]));
    lgv__arena_free(&t.arena);
  }
}

/* A network finds the vectors where the observations have them. */
static void inputs_point_to_pictures_and_vectors(void **state) {
  (void)state;
  const lgv_env_spec *bytes = &dense[1], *floats = &dense[4], *plain = &dense[0];
  static float encoded[64];
  net_input input = lgv__replay_input(bytes, encoded);
  assert_ptr_equal(input.bytes, encoded);
  assert_null(input.dense);
  assert_ptr_equal(input.vector, encoded + 5); /* 18 bytes, and 2 of no meaning */
  assert_int_equal(input.stride, 5 * 4 + 3 * 4);
  input = lgv__replay_input(floats, encoded);
  assert_ptr_equal(input.dense, encoded);
  assert_ptr_equal(input.vector, encoded + 6);
  assert_int_equal(input.stride, 7 * 4);
  input = lgv__replay_input(plain, encoded);
  assert_null(input.vector);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_form_equals_a_list_of_whole_observations),
      cmocka_unit_test(a_stack_takes_the_memory_of_one),
      cmocka_unit_test(inputs_point_to_pictures_and_vectors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
