/* Atari games of the Arcade Learning Environment (Bellemare et al., 2013), as agents of the DQN
 * family play them (Mnih et al., 2015): an action lasts env.frame_skip frames; the pixel-wise
 * maximum of the last two of them is resized to 84 x 84 and stacked with the three pictures before.
 *
 * The game runs in a worker process (python/langevin/atari_task.py), which hands over plain
 * grayscale screens; everything after that happens here.
 *
 * env.preset:
 *
 *   authors   The setup on which Ishfaq et al. (ICLR 2024) trained, envpool 0.6.6. A reset plays
 *             1..30 single no-ops; in games that have FIRE, one of them is replaced by a final
 *             FIRE. A lost life ends the episode; the next reset continues the same game, again
 *             with no-ops and FIRE, and the stack keeps its pictures. A game has at most 108,000
 *             steps. If a game ends within an action, its last picture is a single frame, or a
 *             repetition of the previous picture if fewer than frame_skip - 1 frames were played.
 *   nature    Mnih et al. (2015) as DQN Zoo implements it: 1..30 no-ops without FIRE; a lost life
 *             ends the episode, and the game continues at once; a game has at most 27,000 steps (30
 *             minutes); stacks begin with black pictures.
 *   machado   Machado et al. (2018): sticky actions instead of no-ops; all 18 actions, which last 5
 *             frames; a game has at most 3,600 steps (5 minutes); lives do not end episodes.
 *
 * A life is lost if the number of lives falls and is not 0: the worker reports the end of the game
 * itself. Evaluations get unclipped rewards and whole games. An agent's replay (replay.h) begins
 * the stacks of every episode with its first picture, whatever the stack that was acted on held;
 * the authors' replay did so, too.
 *
 * Counters: games that have ended (a time limit ends them, too), the score of the last one, and the
 * sum of all scores, so that two rows of metrics.csv give the mean score of the games between them.
 *
 * Invariants: NEWEST is the position of the stack's newest picture; CONTINUES is set only between a
 * lost life and the next reset. */
#include "base/arena.h"
#include "base/error.h"
#include "base/io/json.h"
#include "base/param.h"
#include "base/stack.h"
#include "env/external/remote.h"
#include "env/screen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { AUTHORS, NATURE, MACHADO };
enum { MINIMAL, FULL };
enum { REPEAT, BLACK };
enum { NOOP = -1, FIRE = -2 }; /* codes of the worker: the game's action set may lack them */

typedef struct params {
  char game[LGV_TEXT_SIZE], python[LGV_TEXT_SIZE];
  int32_t preset, actions, stack_fill;
  double sticky;
  int64_t noops, frame_skip, stack, size, max_steps;
  bool fire, pool, life_ends, life_noops, clip;
} params;

static const char *const preset_names[] = {"authors", "nature", "machado", NULL};
static const char *const action_sets[] = {"minimal", "full", NULL};
static const char *const stack_fills[] = {"repeat", "black", NULL};

/* clang-format off */
static const lgv_param param_table[] = {
    LGV_TEXT_ROW(params, game, "game", "freeway", "the game; atari:GAME is short for it"),
    LGV_CHOICE_ROW(params, preset, "preset", "authors", preset_names, "defaults as in Ishfaq et al. (2024), Mnih et al. (2015) or Machado et al. (2018)"),
    LGV_REAL_ROW(params, sticky, "sticky", "0", 0, 1, LGV_OPEN_MAX, "probability per frame that the previous action is repeated instead of the chosen one"),
    LGV_INT_ROW(params, noops, "noops", "30", 0, 10000, "a game begins with 1 to this many frames of doing nothing; 0: none"),
    LGV_BOOL_ROW(params, fire, "fire", "true", "whether FIRE replaces the last of these frames, in games that have FIRE"),
    LGV_INT_ROW(params, frame_skip, "frame_skip", "4", 1, 1000, "frames that an action lasts"),
    LGV_BOOL_ROW(params, pool, "pool", "true", "whether the agent sees the maximum of the last two frames; false: the last frame"),
    LGV_BOOL_ROW(params, life_ends, "life_ends", "true", "whether a lost life ends the episode in training; evaluations play whole games"),
    LGV_BOOL_ROW(params, life_noops, "life_noops", "true", "whether no-ops and FIRE are also played after a lost life"),
    LGV_BOOL_ROW(params, clip, "clip", "true", "whether rewards are clipped to -1, 0 or 1 in training; evaluations count points"),
    LGV_INT_ROW(params, max_steps, "max_steps", "108000", 1, 1e15, "steps after which a game is truncated"),
    LGV_CHOICE_ROW(params, actions, "actions", "minimal", action_sets, "the actions that have an effect in the game, or all 18"),
    LGV_INT_ROW(params, size, "size", "84", 1, 160, "height and width of a picture"),
    LGV_INT_ROW(params, stack, "stack", "4", 1, 64, "pictures per observation"),
    LGV_CHOICE_ROW(params, stack_fill, "stack_fill", "repeat", stack_fills, "the other pictures of a new game's first observation: copies of its first picture, or black"),
    LGV_TEXT_ROW(params, python, "python", "", "the Python that has ale-py; default: $LANGEVIN_PYTHON, else the active virtual environment, else .venv, else python3"),
    {0},
};
/* clang-format on */

/* The published runs were evaluated on 5 games every 100,000 steps. */
#define EVALUATIONS "run.eval_every=100000 run.eval_episodes=5"

static const lgv_preset presets[] = {
    {"authors", "env.sticky=0 env.noops=30 env.fire=true env.frame_skip=4 env.life_ends=true "
                "env.life_noops=true env.max_steps=108000 env.actions=minimal "
                "env.stack_fill=repeat " EVALUATIONS},
    {"nature", "env.sticky=0 env.noops=30 env.fire=false env.frame_skip=4 env.life_ends=true "
               "env.life_noops=false env.max_steps=27000 env.actions=minimal "
               "env.stack_fill=black " EVALUATIONS},
    {"machado", "env.sticky=0.25 env.noops=0 env.fire=false env.frame_skip=5 env.life_ends=false "
                "env.life_noops=false env.max_steps=3600 env.actions=full "
                "env.stack_fill=black " EVALUATIONS},
    {0}};

enum {
  SEEDED,    /* whether ALE has its seed */
  CONTINUES, /* whether the next reset continues the current game */
  LIVES,
  STEPS,  /* of this game */
  POINTS, /* of this game */
  NEWEST, /* picture of the stack */
  GAMES,
  LAST_SCORE,
  SCORE_SUM,
  AT
};

typedef struct self {
  const params *p;
  const lgv_host *host;
  remote *worker;
  remote_hello hello;
  bool lost;  /* the worker died in the current step */
  bool fires; /* a game starts with FIRE */
  screen_resize resize;
  size_t pixels;
  int64_t *at;      /* (AT) */
  uint8_t *pooled;  /* (height x width) */
  uint8_t *stack;   /* (stack x pixels), a ring */
  int64_t *n_saved; /* (1): bytes of saved */
  uint8_t *saved;   /* (hello.save_bytes): the game's own state */
} self;

/* ---- Opening and closing ---- */

static lgv_status start(const self *s, remote **worker, lgv_error *err) {
  char what[LGV_TEXT_SIZE + 8];
  lgv_json json = {0};
  snprintf(what, sizeof what, "atari:%s", s->p->game);
  lgv__json_open(&json, NULL, '{');
  lgv__json_string(&json, "game", s->p->game);
  lgv__json_real(&json, "sticky", s->p->sticky);
  lgv__json_string(&json, "actions", action_sets[s->p->actions]);
  lgv__json_bool(&json, "pictures", s->host->pictures);
  lgv__json_close(&json, '}');
  remote_options options = {.what = what, .python = s->p->python, .host = s->host};
  lgv_status status = json.failed ? lgv__out_of_memory(err, "a worker process")
                                  : lgv__remote_start("atari", json.text, &options, worker, err);
  lgv__json_free(&json);
  return status;
}

static size_t screen_bytes(const self *s) {
  return (size_t)s->hello.height * (size_t)s->hello.width;
}

static const char *fault_of(const params *p, const remote_hello *h) {
  if (h->actions.kind != LGV_DISCRETE || h->masked) return "its actions are not those of a game";
  if (h->height < p->size || h->width < p->size) return "its screen is smaller than env.size";
  if (2.0 * h->height * h->width > (double)h->memory_bytes) return "its screens exceed its memory";
  return NULL;
}

static lgv_status connect_worker(void *self_, const void *p_, const lgv_host *host,
                                 lgv_env_spec *spec, lgv_error *err) {
  self *s = self_;
  const params *p = p_;
  *s = (self){.p = p, .host = host};
  LGV_TRY(start(s, &s->worker, err));
  s->hello = *lgv__remote_get_hello(s->worker);
  s->fires = p->fire && s->hello.has_fire;
  const char *fault = fault_of(p, &s->hello);
  if (fault) {
    lgv__remote_stop(s->worker);
    return lgv_fail(err, LGV_ERR_ENV, "atari:%.80s: %s", p->game, fault);
  }
  *spec = (lgv_env_spec){.obs_kind = LGV_OBS_BYTE,
                         .obs_form = LGV_FORM_DENSE,
                         .obs_shape = {(int32_t)p->size, (int32_t)p->size, (int32_t)p->stack},
                         .frames = (int32_t)p->stack,
                         .actions = s->hello.actions,
                         .stationary = true,
                         .reward_min = p->clip ? -1 : -INFINITY,
                         .reward_max = p->clip ? 1 : INFINITY};
  return LGV_OK;
}

static const char *place_fault(const void *self_) {
  const self *s = self_;
  const int64_t *at = s->at, most = INT64_C(1) << 53;
  if (!lgv__is_within(at[NEWEST], 0, s->p->stack - 1)) return "picture index outside the stack";
  bool ok = lgv__is_within(at[SEEDED], 0, 1) && lgv__is_within(at[CONTINUES], 0, 1) &&
            lgv__is_within(at[LIVES], INT32_MIN, INT32_MAX) && lgv__is_count(at[STEPS]) &&
            lgv__is_count(at[GAMES]);
  for (int i = 0; i < 3; i++)
    ok &= lgv__is_within(at[(const int[]){POINTS, LAST_SCORE, SCORE_SUM}[i]], -most, most);
  return ok ? NULL : "counter or score out of range";
}

static const char *saved_fault(const void *self_) {
  const self *s = self_;
  return lgv__is_within(*s->n_saved, 0, s->hello.save_bytes) ? NULL : "saved state too long";
}

static void layout(void *self_, const void *p_, const lgv_env_spec *spec, lgv_layout *out) {
  (void)spec;
  self *s = self_;
  const params *p = p_;
  s->pixels = (size_t)p->size * (size_t)p->size;
  s->at = lgv_layout_array(out, "env.at", LGV_I64, AT, LGV_KEEP);
  lgv_layout_check(out, place_fault, s);
  s->stack = lgv_layout_array(out, "env.stack", LGV_U8, (size_t)p->stack * s->pixels, LGV_KEEP);
  s->n_saved = lgv_layout_array(out, "env.n_saved", LGV_I64, 1, LGV_KEEP);
  lgv_layout_check(out, saved_fault, s);
  s->saved = lgv_layout_array(out, "env.saved", LGV_U8, (size_t)s->hello.save_bytes, LGV_KEEP);
  s->pooled = lgv_layout_array(out, "env.pooled", LGV_U8, screen_bytes(s), LGV_SCRATCH);
  lgv__screen_layout(&s->resize, s->hello.height, s->hello.width, (int32_t)p->size, out);
}

static lgv_status open_env(void *self_, lgv_env_spec *spec, lgv_error *err) {
  (void)spec;
  (void)err;
  lgv__screen_open(&((self *)self_)->resize);
  return LGV_OK;
}

static void close_env(void *self_) { lgv__remote_stop(((self *)self_)->worker); }

static void eval_params(void *p_) {
  params *p = p_;
  p->clip = false;
  p->life_ends = false;
}

/* Replaces a worker that died, if that is allowed; the new worker begins a new game. */
static lgv_status replace(self *s, lgv_status status, lgv_error *err) {
  remote *old = s->worker;
  LGV_TRY(lgv__remote_replace(old, status, &s->worker, err));
  lgv__remote_stop(old);
  s->at[SEEDED] = s->at[CONTINUES] = 0;
  return LGV_OK;
}

/* ---- Pictures ---- */

static uint8_t *picture(const self *s, int64_t back) {
  int64_t at = s->at[NEWEST] - back;
  return s->stack + (size_t)(at < 0 ? at + s->p->stack : at) * s->pixels;
}

static const uint8_t *screen(const self *s, int which) {
  return lgv__remote_memory(s->worker) + (size_t)which * screen_bytes(s);
}

/* Makes room for a new picture by dropping the oldest. */
static uint8_t *push(self *s) {
  s->at[NEWEST] = (s->at[NEWEST] + 1) % s->p->stack;
  return picture(s, 0);
}

static void see_same(self *s) {
  const uint8_t *before = picture(s, 0);
  memmove(push(s), before, s->pixels); /* with a stack of one the two are the same picture */
}

/* Adds what the agent sees of an action that lasted `frames` of `repeat` frames. */
static void see_action(self *s, int64_t frames, int64_t repeat) {
  const uint8_t *seen = screen(s, frames == repeat);
  if (frames < repeat - 1) { /* it reached neither of its last two frames */
    see_same(s);
    return;
  }
  if (s->p->pool && frames == repeat && repeat > 1) {
    lgv__screen_max(screen(s, 0), screen(s, 1), screen_bytes(s), s->pooled);
    seen = s->pooled;
  }
  lgv__screen_shrink(&s->resize, seen, push(s));
}

static void see_start(self *s, bool new_game) {
  lgv__screen_shrink(&s->resize, screen(s, 1), push(s));
  for (int64_t i = 1; new_game && i < s->p->stack; i++) {
    if (s->p->stack_fill == REPEAT)
      memcpy(picture(s, i), picture(s, 0), s->pixels);
    else
      memset(picture(s, i), 0, s->pixels);
  }
}

static void observe(const void *self_, void *data) {
  const self *s = self_;
  const uint8_t *pictures[64];
  for (int64_t i = 0; i < s->p->stack; i++) pictures[i] = picture(s, s->p->stack - 1 - i);
  lgv__interleave(pictures, (int32_t)s->p->stack, (int64_t)s->pixels, 1, data);
}

/* ---- Playing ---- */

/* Refuses impossible answers: no-ops would never end, or scores would overflow. */
static lgv_status check_reply(const self *s, int64_t repeat, const remote_reply *reply,
                              lgv_error *err) {
  const double most_points = 1e9; /* of one action */
  if (reply->frames >= 1 && reply->frames <= repeat && fabs(reply->reward) <= most_points)
    return LGV_OK;
  return lgv_fail(
      err, LGV_ERR_ENV,
      "atari:%.80s: the worker process answered an action of %lld frames with %d frames "
      "and %g points",
      s->p->game, (long long)repeat, reply->frames, reply->reward);
}

/* An action before the episode, which is not the agent's. */
static lgv_status play(self *s, int32_t action, int64_t repeat, remote_reply *reply,
                       lgv_error *err) {
  lgv_action code = {.choice = action};
  LGV_TRY(lgv__remote_step(s->worker, &code, (int32_t)repeat, reply, err));
  return check_reply(s, repeat, reply, err);
}

/* ALE takes its seed once, with the first game. */
static lgv_status new_game(self *s, lgv_rng *rng, remote_reply *reply, lgv_error *err) {
  uint64_t seed = s->at[SEEDED] ? 0 : lgv_rng_bits(rng);
  s->at[SEEDED] = 1;
  s->at[STEPS] = 0;
  s->at[POINTS] = 0;
  return lgv__remote_reset(s->worker, seed, reply, err);
}

/* Plays no-ops and FIRE; a game that ends meanwhile is started again. */
static lgv_status warm_up(self *s, lgv_rng *rng, remote_reply *reply, bool *new, lgv_error *err) {
  int64_t idle = s->p->noops > 0 ? lgv_rng_below(rng, s->p->noops) + 1 - s->fires : 0;
  while (idle > 0) {
    LGV_TRY(play(s, NOOP, idle, reply, err));
    idle -= reply->frames;
    if (!reply->terminated) continue;
    LGV_TRY(new_game(s, rng, reply, err));
    *new = true;
  }
  if (!s->fires) return LGV_OK;
  LGV_TRY(play(s, FIRE, 1, reply, err));
  if (!reply->terminated) return LGV_OK;
  *new = true;
  return new_game(s, rng, reply, err);
}

static lgv_status begin_game(self *s, lgv_rng *rng, lgv_error *err) {
  remote_reply reply = {.lives = (int32_t)s->at[LIVES]};
  bool new = !s->at[CONTINUES];
  s->at[CONTINUES] = 0;
  if (!new && !s->p->life_noops) return LGV_OK; /* the stack already shows the game */
  if (new) LGV_TRY(new_game(s, rng, &reply, err));
  LGV_TRY(warm_up(s, rng, &reply, &new, err));
  s->at[LIVES] = reply.lives;
  see_start(s, new);
  return LGV_OK;
}

static lgv_status reset(void *self_, lgv_rng *rng, lgv_error *err) {
  self *s = self_;
  lgv_status status = begin_game(s, rng, err);
  if (status == LGV_OK) return LGV_OK;
  LGV_TRY(replace(s, status, err));
  return begin_game(s, rng, err);
}

static lgv_status step_begin(void *self_, const lgv_action *action, lgv_rng *rng, lgv_error *err) {
  (void)rng;
  self *s = self_;
  lgv_status status = lgv__remote_send_step(s->worker, action, (int32_t)s->p->frame_skip, err);
  s->lost = status != LGV_OK;
  return s->lost ? replace(s, status, err) : LGV_OK;
}

static void end_game(self *s) {
  s->at[GAMES]++;
  s->at[LAST_SCORE] = s->at[POINTS];
  s->at[SCORE_SUM] += s->at[POINTS];
}

static void take_reply(self *s, const remote_reply *reply, lgv_outcome *outcome) {
  bool life_lost = reply->lives < s->at[LIVES] && reply->lives > 0;
  bool late = ++s->at[STEPS] >= s->p->max_steps;
  see_action(s, reply->frames, s->p->frame_skip);
  s->at[LIVES] = reply->lives;
  s->at[POINTS] += (int64_t)reply->reward;
  outcome->reward = s->p->clip ? (reply->reward > 0) - (reply->reward < 0) : reply->reward;
  outcome->terminated = reply->terminated || (life_lost && s->p->life_ends);
  outcome->truncated = late && !outcome->terminated;
  s->at[CONTINUES] = outcome->terminated && !reply->terminated && !late;
  if (reply->terminated || late) end_game(s);
}

static lgv_status step_end(void *self_, lgv_rng *rng, lgv_outcome *outcome, lgv_error *err) {
  (void)rng;
  self *s = self_;
  if (!s->lost) {
    remote_reply reply;
    lgv_status status = lgv__remote_receive(s->worker, &reply, err);
    if (status == LGV_OK) {
      LGV_TRY(check_reply(s, s->p->frame_skip, &reply, err));
      take_reply(s, &reply, outcome);
      return LGV_OK;
    }
    LGV_TRY(replace(s, status, err));
  }
  outcome->truncated = true; /* another worker stands in for one that died */
  see_same(s);
  return LGV_OK;
}

/* ---- Checkpoints ---- */

static lgv_status save(void *self_, lgv_error *err) {
  self *s = self_;
  size_t size = 0;
  if (s->at[SEEDED])
    LGV_TRY(lgv__remote_save(s->worker, s->saved, (size_t)s->hello.save_bytes, &size, err));
  *s->n_saved = (int64_t)size;
  return LGV_OK;
}

static lgv_status restore(void *self_, bool *in_episode, lgv_error *err) {
  (void)in_episode; /* the episode continues */
  self *s = self_;
  if (*s->n_saved == 0) return LGV_OK;
  return lgv__remote_restore(s->worker, s->saved, (size_t)*s->n_saved, err);
}

/* ---- Records ---- */

static const char *const counter_names[] = {"games", "last_score", "score_sum", NULL};

static void counters(const void *self_, int64_t *values) {
  const self *s = self_;
  values[0] = s->at[GAMES];
  values[1] = s->at[LAST_SCORE];
  values[2] = s->at[SCORE_SUM];
}

static bool show_picture(const void *self_, lgv_picture *out) {
  return lgv__remote_picture(((const self *)self_)->worker, out);
}

const lgv_env_type lgv__env_atari = {
    .name = "atari",
    .summary = "an Atari game (atari:GAME) through ALE: pictures of 84 x 84, stacks of 4",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .layout = layout,
    .open = open_env,
    .close = close_env,
    .reset = reset,
    .observe = observe,
    .counter_names = counter_names,
    .counters = counters,
    .connect = connect_worker,
    .name_param = "game",
    .presets = presets,
    .eval_params = eval_params,
    .save = save,
    .restore = restore,
    .step_begin = step_begin,
    .step_end = step_end,
    .picture = show_picture,
    .limits_episodes = true, /* env.max_steps */
};
