/* watch: episodes of a trained agent, drawn in the terminal or as a video. The loop repeats that of
 * lgv_evaluate, so that `langevin eval` has the same returns with the same seed. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EPISODES, SEED, DELAY, VIDEO };

static const cli_option options[] = {
    [EPISODES] = {"episodes", 0, "K", "episodes to show (default 1)"},
    [SEED] = {"seed", 0, "S", "seed of the episodes (default 0)"},
    [DELAY] = {"delay", 0, "SECONDS", "time between two steps (default 1/15), in videos, too"},
    [VIDEO] =
        {"video", 0, "FILE",
         "write a video of environments with pixels: .mp4, .gif, or another format of ffmpeg"},
    {0},
};

typedef struct request {
  const char *path;
  int64_t episodes, seed;
  double delay;
  cli_video video; /* its path is NULL if there is none */
} request;

typedef struct scene {
  lgv_env *env;
  bool terminal; /* draws in place; else one line per step */
  int lines;     /* of the drawing on the screen */
  int64_t step;
  lgv_action action;
  double reward, sum;
} scene;

/* ---- drawing ---- */

/* Parts of an action are separated by commas. */
static void print_action(const lgv_action_space *space, const lgv_action *action) {
  for (int32_t i = 0; i < space->parts; i++) {
    if (i > 0) putchar(',');
    if (space->kind == LGV_BOX)
      printf("%g", action->values[i]);
    else
      printf("%d", space->kind == LGV_DISCRETE ? action->choice : action->choices[i]);
  }
}

static void print_status(const scene *s) {
  printf("step %lld", (long long)s->step);
  if (s->step > 0) {
    printf("  action ");
    print_action(&lgv_env_get_spec(s->env)->actions, &s->action);
    printf("  reward %g  return %g", s->reward, s->sum);
  }
  putchar('\n');
}

/* The mean over a rectangle of the picture, one channel. */
static int shade(const lgv_picture *f, int x0, int x1, int y0, int y1, int channel) {
  long sum = 0, count = 0;
  for (int y = y0; y < y1; y++)
    for (int x = x0; x < x1; x++, count++)
      sum += f->pixels[((long)y * f->width + x) * f->channels + channel % f->channels];
  return count ? (int)(sum / count) : 0;
}

static int least(long a, long b) { return (int)(a < b ? a : b); }

/* Draws two pixels per character: the upper is its color, the lower its background. Returns the
 * lines; the terminal has room for them, the status and the cursor. */
static int draw_frame(const lgv_picture *f) {
  int room = cli_terminal_height() > 4 ? 2 * (cli_terminal_height() - 2) : 4;
  int width = least(least(cli_terminal_width(), 80), f->width);
  width = least(width, (long)f->width * room / f->height);
  if (width < 1) width = 1;
  int height = (int)((long)f->height * width / f->width) / 2 * 2;
  for (int y = 0; y < height; y += 2) {
    for (int x = 0; x < width; x++) {
      int x0 = x * f->width / width, x1 = (x + 1) * f->width / width, rgb[2][3];
      for (int half = 0; half < 2; half++)
        for (int c = 0; c < 3; c++)
          rgb[half][c] = shade(f, x0, x1, (y + half) * f->height / height,
                               (y + half + 1) * f->height / height, c);
      printf("\033[38;2;%d;%d;%dm\033[48;2;%d;%d;%dm\u2580", rgb[0][0], rgb[0][1], rgb[0][2],
             rgb[1][0], rgb[1][1], rgb[1][2]);
    }
    printf("\033[0m\n");
  }
  return height / 2;
}

static int count_lines(const char *text) {
  int lines = 0;
  for (; *text; text++) lines += *text == '\n';
  return lines;
}

static void draw(scene *s) {
  char text[LGV_RENDER_SIZE];
  lgv_picture frame;
  if (!s->terminal) {
    if (s->step > 0) print_status(s);
    return;
  }
  if (s->lines > 0) printf("\033[%dA\r\033[J", s->lines);
  s->lines = 1;
  if (lgv_env_picture(s->env, &frame)) {
    s->lines += draw_frame(&frame);
  } else if (lgv_env_render(s->env, text)) {
    lgv__put_visible(stdout, text);
    s->lines += count_lines(text);
  }
  print_status(s);
  fflush(stdout);
}

static void wait_for(double seconds) {
  struct timespec t = {.tv_sec = (time_t)seconds};
  t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
  nanosleep(&t, NULL);
}

/* ---- playing ---- */

static lgv_status show(scene *s, request *r, lgv_error *err) {
  lgv_picture frame;
  if (!r->video.path) {
    draw(s);
    if (s->terminal) wait_for(r->delay);
    return LGV_OK;
  }
  if (!lgv_env_picture(s->env, &frame))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "this environment has no pictures for a video: atari has, and Gymnasium's with "
                    "render_mode rgb_array");
  return cli_video_add(&r->video, &frame, err);
}

static lgv_status play(const lgv_trained *trained, request *r, scene *s, lgv_error *err) {
  char most_steps[32];
  lgv_obs obs;
  lgv_outcome outcome = {0};
  lgv_status status =
      lgv_plan_get(lgv_trained_plan(trained), "run.eval_steps", most_steps, sizeof most_steps, err);
  if (status == LGV_OK) status = lgv_env_reset(s->env, &obs, err);
  if (status == LGV_OK) status = show(s, r, err);
  while (status == LGV_OK && !outcome.terminated && !outcome.truncated &&
         s->step < strtoll(most_steps, NULL, 10)) {
    status = lgv_agent_act(lgv_trained_agent(trained), &obs, LGV_EVAL, &s->action, err);
    if (status == LGV_OK) status = lgv_env_step(s->env, &s->action, &outcome, &obs, err);
    if (status != LGV_OK) break;
    s->reward = outcome.reward;
    s->sum += outcome.reward;
    s->step++;
    status = show(s, r, err);
  }
  return status;
}

static lgv_status watch(const lgv_trained *trained, request *r, lgv_error *err) {
  const char *term = getenv("TERM");
  bool terminal = isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
  lgv_status status = LGV_OK;
  for (int64_t i = 0; status == LGV_OK && i < r->episodes; i++) {
    scene s = {.env = lgv_trained_env(trained), .terminal = terminal};
    status = play(trained, r, &s, err);
    if (status == LGV_OK)
      printf("episode %lld: return %.17g after %lld steps\n", (long long)i + 1, s.sum,
             (long long)s.step);
  }
  lgv_status ended = cli_video_end(&r->video, status == LGV_OK ? err : NULL);
  return status == LGV_OK ? ended : status;
}

static void parse(cli_args *args, request *r) {
  while (cli_next(args)) {
    int which = cli_which(args);
    switch (which) {
    case EPISODES: r->episodes = cli_value_int(args, 1, 100000000); break;
    case SEED: r->seed = cli_value_int(args, 0, (int64_t)1 << 53); break;
    case DELAY:
      r->delay = cli_value_real(args);
      if (!args->stopped && !(r->delay >= 0 && r->delay <= 3600))
        cli_reject(args, "--delay %s: seconds from 0 to 3600", args->value);
      break;
    case VIDEO: r->video.path = args->value; break;
    default:
      if (r->path)
        cli_reject(args, "one run at a time: '%s' or '%s'?", r->path, args->value);
      else
        r->path = args->value;
    }
  }
  if (!r->path && !args->stopped)
    cli_reject(args, "which run? name its directory, or a checkpoint");
  r->video.frames_per_second = r->delay > 0.001 ? 1 / r->delay : 1000;
}

static int watch_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  request r = {.episodes = 1, .delay = 1.0 / 15};
  lgv_error err = {0};
  lgv_trained *trained;
  parse(&args, &r);
  if (args.stopped) return args.exit_code;
  bool pictures = r.video.path || isatty(STDOUT_FILENO);
  if (lgv_trained_open(r.path, (uint64_t)r.seed, pictures, &trained, &err) != LGV_OK)
    return cli_error(command, &err);
  lgv_status status = watch(trained, &r, &err);
  lgv_trained_free(trained);
  if (status != LGV_OK) return cli_error(command, &err);
  if (r.video.path) cli_say(stdout, "wrote %s\n", r.video.path);
  return CLI_OK;
}

const cli_command cli_watch = {
    .name = "watch",
    .summary = "an episode of a trained agent, in the terminal or as a video",
    .usage = "DIR [--episodes K] [--seed S] [--delay SECONDS] [--video FILE]",
    .options = options,
    .notes =
        "DIR is the directory of a run, a checkpoint in it, or an agent that Python saved. The "
        "agent acts as in `langevin eval`, and its returns are the same for the same seed.\n"
        "Chains, grids and the classic control tasks are drawn in characters, environments "
        "with pixels in colors. If the output is not a terminal, every step is a line.",
    .main = watch_main,
};
