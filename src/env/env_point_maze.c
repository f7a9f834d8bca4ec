/* Point maze: push a point through a maze of square cells to a goal. A task of our own, for
 * exploration with continuous actions; the mazes are those of D4RL (Fu et al., 2020), the physics
 * is simpler.
 *
 * A state is a position (x to the right, y down, in cells) and a velocity v; an action is a force f
 * in [-1, 1]^2. A step does, in this order,
 *     v = 0.9 v + 0.05 f,
 * then moves along x, then along y. A move into a wall does not happen, and its part of v becomes
 * 0. The largest speed per axis is 0.5, so that no step jumps over a wall.
 *
 * An episode starts at rest at the maze's start, within 0.1 per axis, and ends within 0.5 of the
 * goal. env.reward = goal pays 1 there and 0 elsewhere: only exploration finds it. env.reward =
 * shaped also pays minus a hundredth of the distance to the goal, straight through walls, every
 * step. */
#include "base/portable_math.h"
#include "env/classic.h"

#include <string.h>

enum { X, Y, VX, VY, LENGTH };
enum { GOAL, SHAPED };
enum { U, MEDIUM, MAZES };

static const double drag = 0.9, push = 0.05, near_start = 0.1, near_goal = 0.5;

/* Of equally long lines: # wall, S start, G goal. */
static const struct maze {
  int width, height;
  const char *cells;
} mazes[MAZES] = {
    [U] = {5, 5,
           "#####"
           "#S..#"
           "###.#"
           "#G..#"
           "#####"},
    [MEDIUM] = {8, 8,
                "########"
                "#S.##..#"
                "#..#...#"
                "##...###"
                "#..#...#"
                "#.#..#.#"
                "#...#.G#"
                "########"},
};

typedef struct params {
  lgv_classic_params classic;
  int32_t maze, reward;
} params;

static const char *const maze_names[] = {"u", "medium", NULL};
static const char *const reward_names[] = {"goal", "shaped", NULL};

/* clang-format off */
static const lgv_param param_table[] = {
    LGV_CLASSIC_HORIZON_ROW("300"),
    LGV_CHOICE_ROW(params, maze, "maze", "u", maze_names, "u: around one wall; medium: 8 x 8 cells with dead ends"),
    LGV_CHOICE_ROW(params, reward, "reward", "goal", reward_names, "goal: reaching it pays 1, all else 0; shaped: a step also costs a hundredth of the distance"),
    {0},
};
/* clang-format on */

typedef struct self {
  lgv_classic classic;
  const params *p;
} self;

static const float lowest[LENGTH] = {0, 0, -0.5f, -0.5f}, highest[LENGTH] = {8, 8, 0.5f, 0.5f};

static lgv_status spec(const void *params_, lgv_env_spec *out, lgv_error *err) {
  (void)err;
  const params *p = params_;
  const struct maze *maze = &mazes[p->maze];
  float low[2] = {-1, -1}, high[2] = {1, 1};
  *out = lgv__classic_spec(p, LENGTH, 1);
  out->actions = lgv_box(2, low, high);
  out->obs_low = lowest;
  out->obs_high = highest;
  out->reward_min = p->reward == SHAPED ? -0.01 * lgv__hypot(maze->width, maze->height) : 0;
  out->reward_max = 1;
  return LGV_OK;
}

static void layout(void *self_, const void *p, const lgv_env_spec *env, lgv_layout *out) {
  ((self *)self_)->p = p;
  lgv__classic_layout(self_, p, env, out);
}

static const struct maze *maze_of(const self *s) { return &mazes[s->p->maze]; }

/* Outside the maze there are walls. */
static bool is_wall(const struct maze *maze, double x, double y) {
  if (!(x >= 0 && x < maze->width && y >= 0 && y < maze->height)) return true;
  return maze->cells[(int)y * maze->width + (int)x] == '#';
}

/* The middle of the cell that holds the letter. */
static void find(const struct maze *maze, char letter, double *x, double *y) {
  int at = (int)(strchr(maze->cells, letter) - maze->cells);
  *x = at % maze->width + 0.5;
  *y = (double)(at / maze->width) + 0.5;
}

static lgv_status reset(void *self_, lgv_rng *rng, lgv_error *err) {
  (void)err;
  self *s = self_;
  double *at = s->classic.x, x, y;
  lgv__classic_reset(&s->classic, 2, -near_start, near_start, rng);
  find(maze_of(s), 'S', &x, &y);
  at[X] += x;
  at[Y] += y;
  at[VX] = at[VY] = 0;
  return LGV_OK;
}

/* Moves along one axis; a wall stops the point. */
static void move(const struct maze *maze, double *x, int axis) {
  double to[2] = {x[X], x[Y]};
  to[axis] += x[VX + axis];
  if (is_wall(maze, to[0], to[1]))
    x[VX + axis] = 0;
  else
    x[axis] = to[axis];
}

static lgv_status step(void *self_, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  (void)rng;
  (void)err;
  self *s = self_;
  double *at = s->classic.x, x, y;
  for (int axis = 0; axis < 2; axis++)
    at[VX + axis] = drag * at[VX + axis] + push * (double)action->values[axis];
  move(maze_of(s), at, X);
  move(maze_of(s), at, Y);
  find(maze_of(s), 'G', &x, &y);
  double distance = lgv__hypot(at[X] - x, at[Y] - y);
  bool reached = distance <= near_goal;
  double cost = s->p->reward == SHAPED ? 0.01 * distance : 0;
  lgv__classic_finish(&s->classic, reached - cost, reached, outcome);
  return LGV_OK;
}

static void observe(const void *self_, void *data) {
  for (int i = 0; i < LENGTH; i++) ((float *)data)[i] = (float)((const lgv_classic *)self_)->x[i];
}

/* Two characters per cell, which is then about square. */
static void render(const void *self_, char *text, size_t size) {
  const self *s = self_;
  const struct maze *maze = maze_of(s);
  size_t used = 0;
  for (int y = 0; y < maze->height; y++) {
    for (int x = 0; x < 2 * maze->width && used + 3 < size; x++) {
      bool here = (int)(2 * s->classic.x[X]) == x && (int)s->classic.x[Y] == y;
      char cell = maze->cells[y * maze->width + x / 2];
      text[used++] = here ? 'O' : cell == 'S' ? '.' : cell;
    }
    if (used + 2 < size) text[used++] = '\n';
  }
  if (size > 0) text[used] = '\0';
}

const lgv_env_type lgv__env_point_maze = {
    .name = "point-maze",
    .summary = "push a point through a maze to a goal",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .spec = spec,
    .layout = layout,
    .reset = reset,
    .step = step,
    .observe = observe,
    .render = render,
};
