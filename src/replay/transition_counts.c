#include "replay/transition_counts.h"

#include "base/arena.h"

void lgv__transition_counts_layout(transition_counts *m, int64_t capacity, lgv_layout *layout) {
  size_t n = (size_t)capacity;
  m->capacity = capacity;
  for (m->n_slots = 4; m->n_slots < 2 * capacity;) m->n_slots *= 2;
  m->size = lgv_layout_array(layout, "data.size", LGV_I64, 2, LGV_KEEP);
  m->obs = lgv_layout_array(layout, "data.obs", LGV_I32, n, LGV_KEEP);
  m->action = lgv_layout_array(layout, "data.action", LGV_I32, n, LGV_KEEP);
  m->next = lgv_layout_array(layout, "data.next", LGV_I32, n, LGV_KEEP);
  m->terminated = lgv_layout_array(layout, "data.terminated", LGV_U8, n, LGV_KEEP);
  m->count = lgv_layout_array(layout, "data.count", LGV_F32, n, LGV_KEEP);
  m->reward = lgv_layout_array(layout, "data.reward", LGV_F64, n, LGV_KEEP);
  m->slot = lgv_layout_array(layout, "data.slot", LGV_I32, (size_t)m->n_slots, LGV_KEEP);
}

static uint64_t hash_of(int32_t obs, int32_t action, int32_t next, bool terminated) {
  uint64_t h = (uint64_t)(uint32_t)obs << 32 | (uint32_t)next;
  h = (h ^ ((uint64_t)(uint32_t)action << 1 | terminated)) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 29;
}

/* The entry; or -1, and slot[*place] is the free slot where it would go. */
static int64_t find(const transition_counts *m, int32_t obs, int32_t action, int32_t next,
                    bool terminated, uint64_t *place) {
  uint64_t last = (uint64_t)m->n_slots - 1, at = hash_of(obs, action, next, terminated) & last;
  for (; m->slot[at]; at = (at + 1) & last) {
    int64_t e = m->slot[at] - 1;
    if (m->obs[e] == obs && m->action[e] == action && m->next[e] == next &&
        m->terminated[e] == terminated)
      return e;
  }
  *place = at;
  return -1;
}

bool lgv__transition_counts_add(transition_counts *m, int32_t obs, int32_t action, double reward,
                                int32_t next, bool terminated) {
  uint64_t place = 0;
  int64_t e = find(m, obs, action, next, terminated, &place);
  if (e < 0) {
    if (m->size[0] == m->capacity) return false;
    e = m->size[0]++;
    m->slot[place] = (int32_t)(e + 1);
    m->obs[e] = obs;
    m->action[e] = action;
    m->next[e] = next;
    m->terminated[e] = terminated;
  }
  m->count[e]++;
  m->reward[e] += reward;
  m->size[1]++;
  return true;
}

const char *lgv__transition_counts_fault(const transition_counts *m) {
  int64_t taken = 0;
  if (!lgv__is_within(m->size[0], 0, m->capacity) || !lgv__is_count(m->size[1]))
    return "data.size: more entries than there is room for";
  for (int64_t i = 0; i < m->n_slots; i++) {
    if (!lgv__is_within(m->slot[i], 0, m->size[0])) return "data.slot: a slot of no entry";
    taken += m->slot[i] > 0;
  }
  if (taken != m->size[0])
    return "data.slot: the numbers of slots and entries differ"; /* some are free */
  for (int64_t e = 0; e < m->size[0]; e++) {
    uint64_t place;
    if (m->terminated[e] > 1 ||
        find(m, m->obs[e], m->action[e], m->next[e], m->terminated[e], &place) != e)
      return "data.slot: an entry is not found";
  }
  return NULL;
}
