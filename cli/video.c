/* A video from frames: ffmpeg as a child process, raw pixels on its standard input. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAST_HEIGHT = 400 }; /* small screens are enlarged by a whole number */

static lgv_status start_ffmpeg(cli_video *v, const lgv_picture *frame, int input, lgv_error *err) {
  char size[64], rate[64], scale[96];
  int32_t factor = (LEAST_HEIGHT + frame->height - 1) / frame->height;
  snprintf(size, sizeof size, "%dx%d", frame->width, frame->height);
  snprintf(rate, sizeof rate, "%g", v->frames_per_second);
  /* most players want even sizes */
  snprintf(scale, sizeof scale, "scale=%d:%d:flags=neighbor", (frame->width * factor + 1) / 2 * 2,
           (frame->height * factor + 1) / 2 * 2);
  const char *format = frame->channels == 3 ? "rgb24" : "gray";
  bool gif = strlen(v->path) > 4 && strcmp(v->path + strlen(v->path) - 4, ".gif") == 0;
  char target[4096 + 8];
  snprintf(target, sizeof target, "file:%s",
           v->path); /* a name is a name, whatever it begins with */
  const char *named = getenv("LANGEVIN_FFMPEG"), *program = named && *named ? named : "ffmpeg";
  const char *words[] = {program,
                         "-loglevel",
                         "error",
                         "-y",
                         "-f",
                         "rawvideo",
                         "-pix_fmt",
                         format,
                         "-s",
                         size,
                         "-r",
                         rate,
                         "-i",
                         "-",
                         "-an",
                         "-vf",
                         scale,
                         "-pix_fmt",
                         gif ? "rgb8" : "yuv420p",
                         target,
                         NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  int failed = posix_spawnp(&v->child, program, &actions, NULL, (char *const *)words, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (!failed) return LGV_OK;
  v->child = 0;
  if (failed == ENOENT)
    return lgv_fail(err, LGV_ERR_IO,
                    "videos are made by ffmpeg, and there is no program %s. On Debian and Ubuntu: "
                    "sudo apt-get install ffmpeg; without root, beside the Python package: pip "
                    "install imageio-ffmpeg; or let LANGEVIN_FFMPEG name the program",
                    program);
  return lgv_fail(err, LGV_ERR_IO, "cannot start ffmpeg: %s", strerror(failed));
}

static lgv_status begin(cli_video *v, const lgv_picture *frame, lgv_error *err) {
  int ends[2];
  if (pipe(ends) != 0) return lgv_fail(err, LGV_ERR_IO, "no pipe: %s", strerror(errno));
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  signal(SIGPIPE, SIG_IGN); /* an ffmpeg that ends early shows as an error of write */
  lgv_status status = start_ffmpeg(v, frame, ends[0], err);
  close(ends[0]);
  if (status != LGV_OK) {
    close(ends[1]);
    return status;
  }
  v->pipe = ends[1];
  v->size = *frame;
  return LGV_OK;
}

lgv_status cli_video_add(cli_video *v, const lgv_picture *frame, lgv_error *err) {
  lgv_status status = v->child ? LGV_OK : begin(v, frame, err);
  if (status != LGV_OK) return status;
  if (frame->height != v->size.height || frame->width != v->size.width ||
      frame->channels != v->size.channels)
    return lgv_fail(err, LGV_ERR_ENV, "the pictures change their size");
  size_t left = (size_t)frame->height * (size_t)frame->width * (size_t)frame->channels;
  for (const uint8_t *at = frame->pixels; left > 0;) {
    ssize_t n = write(v->pipe, at, left);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return lgv_fail(err, LGV_ERR_IO, "ffmpeg stopped before the end of %s; its message is above",
                      v->path);
    at += n;
    left -= (size_t)n;
  }
  return LGV_OK;
}

lgv_status cli_video_end(cli_video *v, lgv_error *err) {
  if (!v->child) return LGV_OK;
  int state = 0;
  close(v->pipe);
  while (waitpid(v->child, &state, 0) < 0 && errno == EINTR) {
  }
  v->child = 0;
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_IO, "ffmpeg could not write %s (its message is above)", v->path);
}
