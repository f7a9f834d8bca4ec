/* The masks that a linear agent has seen: one per stage and state, or one per state where the
 * stages share their data; the last one counts. */
#include "agent/linear/lsvi_core.h"

#include <string.h>

static int64_t places_of(const lsvi *c) { return (c->pooled ? 1 : c->H) * c->S; }

/* A state that allows no action would have no value. */
static const char *mask_fault(const void *self) {
  const lsvi *c = self;
  for (int64_t i = 0; i < places_of(c) * c->A; i++)
    if (c->masks[i] > 1) return "a mask that is neither 0 nor 1";
  for (int64_t i = 0; i < places_of(c); i++)
    if (!memchr(c->masks + i * c->A, 1, (size_t)c->A)) return "a mask that allows no action";
  return NULL;
}

void lgv__lsvi_layout_masks(lsvi *c, lgv_layout *layout) {
  size_t count = (size_t)(places_of(c) * c->A);
  c->masks = lgv_layout_array(layout, "lsvi.masks", LGV_U8, count, LGV_KEEP);
  lgv_layout_check(layout, mask_fault, c);
}

void lgv__lsvi_open_masks(lsvi *c) { memset(c->masks, 1, (size_t)(places_of(c) * c->A)); }

static int64_t place_of(const lsvi *c, int64_t h, int64_t s) {
  return (c->pooled ? 0 : h) * c->S + s;
}

const uint8_t *lgv__lsvi_mask(const lsvi *c, int64_t h, int64_t s) {
  return c->masks ? c->masks + place_of(c, h, s) * c->A : NULL;
}

static void note(lsvi *c, int64_t h, int64_t s, const uint8_t *mask) {
  uint8_t *kept = c->masks + place_of(c, h, s) * c->A;
  for (int32_t a = 0; a < c->A; a++) kept[a] = !mask || mask[a];
}

/* After the end of a task a mask says nothing. After the last stage there is no place for one,
 * unless the stages share their data: another stage may look ahead to that state. */
void lgv__lsvi_note_masks(lsvi *c, const lgv_transition *t) {
  int64_t h = t->obs.stage;
  bool has_place = c->pooled || h + 1 < c->H;
  note(c, h, t->obs.state, t->obs.mask);
  if (!t->terminated && has_place) note(c, h + 1, t->next.state, t->next.mask);
}
