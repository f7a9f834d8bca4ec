/* Pathwise LMCDQN by hand: its steps, actions, network and state. */
#ifndef LGV_TESTS_PATHWISE_HELPERS_H
#define LGV_TESTS_PATHWISE_HELPERS_H

#include "agent/pathwise/observation_code.h"
#include "deep_helpers.h"

static inline void succeed(lgv_status status, const lgv_error *err) {
  if (status != LGV_OK) fail_msg("%s", err->message);
}

static inline void step(deep_rig *t, int from, int action, int to, double reward, bool terminated) {
  lgv_error err = {0};
  succeed(deep_observe(t, 0, from, action, to, reward, terminated, &err), &err);
}

static inline void end_episode(deep_rig *t) {
  lgv_error err = {0};
  succeed(t->type->end_episode(t->self, &err), &err);
}

/* Sets the network's outputs at all observations, in units of the prior: the weights of the last
 * layer are 0, and its biases come last. */
static inline void set_network(deep_rig *t, float left, float right) {
  size_t count = 0;
  float *w = deep_array(t, "w", &count);
  w[count - 2] = left;
  w[count - 1] = right;
}

/* Dense observations at level 1: each number has a bin. */
static inline void blur(deep_rig *t, int numbers) {
  float *width = deep_array(t, "code.width", NULL);
  for (int i = 0; i < numbers; i++) width[i] = 0.5f;
  ((int64_t *)deep_array(t, "code.counters", NULL))[CODE_LEVEL] = 1;
}

static inline int chosen(deep_rig *t, int position, lgv_mode mode) {
  float data[DEEP_MOST_LENGTH];
  lgv_error err = {0};
  lgv_action action;
  lgv_obs obs = deep_obs(t, position, 0, data);
  succeed(t->type->act(t->self, &obs, mode, &action, &err), &err);
  return action.choice;
}

/* A copy of all kept arrays but the stream of evaluations, which may break ties. */
static inline unsigned char *copy_state(const deep_rig *t, size_t *size) {
  const lgv_layout *table = &t->arena.table;
  unsigned char *copy = malloc(table->used);
  *size = 0;
  for (size_t i = 0; i < table->n_blocks; i++) {
    const lgv_block *b = &table->blocks[i];
    const unsigned char *data = table->base + b->offset;
    if (!b->keep || data == (const unsigned char *)t->problem.eval) continue;
    size_t bytes = b->count * lgv__dtype_size(b->dtype);
    memcpy(copy + *size, data, bytes);
    *size += bytes;
  }
  return copy;
}

/* The kept arrays are those of a copy. */
static inline void assert_state(const deep_rig *t, const unsigned char *copy, size_t size) {
  size_t now_size;
  unsigned char *now = copy_state(t, &now_size);
  assert_int_equal(now_size, size);
  assert_memory_equal(now, copy, size);
  free(now);
}

#define FROZEN "agent.update_every=1000000000 "

#endif
