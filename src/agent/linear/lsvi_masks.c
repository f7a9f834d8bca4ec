/* The masks that a linear agent has seen: one per stage and state, the last one counts. */
#include "agent/linear/lsvi_core.h"

#include <string.h>

/* A state that allows no action would have no value. */
static const char *mask_fault(const void *self) {
  const lsvi *c = self;
  for (int64_t i = 0; i < c->H * c->SA; i++)
    if (c->masks[i] > 1) return "a mask that is neither 0 nor 1";
  for (int64_t i = 0; i < c->H * c->S; i++)
    if (!memchr(c->masks + i * c->A, 1, (size_t)c->A)) return "a mask that allows no action";
  return NULL;
}

void lgv__lsvi_layout_masks(lsvi *c, lgv_layout *layout) {
  c->masks = lgv_layout_array(layout, "lsvi.masks", LGV_U8, (size_t)(c->H * c->SA), LGV_KEEP);
  lgv_layout_check(layout, mask_fault, c);
}

void lgv__lsvi_open_masks(lsvi *c) { memset(c->masks, 1, (size_t)(c->H * c->SA)); }

const uint8_t *lgv__lsvi_mask(const lsvi *c, int64_t h, int64_t s) {
  return c->masks ? c->masks + h * c->SA + s * c->A : NULL;
}

static void note(lsvi *c, int64_t h, int64_t s, const uint8_t *mask) {
  uint8_t *kept = c->masks + h * c->SA + s * c->A;
  for (int32_t a = 0; a < c->A; a++) kept[a] = !mask || mask[a];
}

/* After the end of a task, and after the last stage, a mask says nothing. */
void lgv__lsvi_note_masks(lsvi *c, const lgv_transition *t) {
  int64_t h = t->obs.stage;
  note(c, h, t->obs.state, t->obs.mask);
  if (!t->terminated && h + 1 < c->H) note(c, h + 1, t->next.state, t->next.mask);
}
