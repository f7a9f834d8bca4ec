/* The terminal: its width, the progress bar, and Ctrl-C. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_WIDTH = 100, WIDEST = 140, DEFAULT_HEIGHT = 24 };

static const double terminal_period = 0.1, line_period = 10; /* seconds between reports */

bool cli_progress_is_due(cli_progress *p) {
  double time = lgv__now();
  if (p->quiet || time - p->shown < (p->terminal ? terminal_period : line_period)) return false;
  p->shown = time;
  return true;
}

static int width_of(int descriptor) {
  struct winsize size = {0};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return DEFAULT_WIDTH;
  return size.ws_col < WIDEST ? size.ws_col : WIDEST;
}

int cli_terminal_width(void) { return width_of(STDOUT_FILENO); }

int cli_terminal_height(void) {
  struct winsize size = {0};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row
                                                                         : DEFAULT_HEIGHT;
}

int cli_progress_width(void) { return width_of(STDERR_FILENO); }

/* ---- Progress ---- */

void cli_progress_start(cli_progress *p, bool quiet) {
  const char *term = getenv("TERM");
  *p = (cli_progress){.quiet = quiet, .started = lgv__now()};
  p->terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
  p->shown = p->started;
}

/* 812, 12.3k, 4.56M */
void cli_format_count(double x, char *text, size_t size) {
  if (x < 1e3)
    snprintf(text, size, "%.0f", x);
  else if (x < 1e6)
    snprintf(text, size, "%.3gk", fmin(x, 999e3) / 1e3);
  else
    snprintf(text, size, "%.3gM", x / 1e6);
}

/* 0:42, 12:05, 3:20:00 */
void cli_format_seconds(double seconds, char *text, size_t size) {
  if (!(seconds < 1e8)) {
    snprintf(text, size, "?");
    return;
  }
  long s = lround(seconds);
  if (s < 3600)
    snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
  else
    snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
}

static void format_report(const lgv_progress *now, double elapsed, char *text, size_t size) {
  char rate[24], left[24], runs[64] = "";
  double fraction = now->fraction;
  cli_format_count((double)now->steps / elapsed, rate, sizeof rate);
  cli_format_seconds(fraction > 0 ? elapsed * (1 - fraction) / fraction : INFINITY, left,
                     sizeof left);
  if (now->runs > 1)
    snprintf(runs, sizeof runs, "%lld of %lld runs, ", (long long)now->runs_done,
             (long long)now->runs);
  int used =
      snprintf(text, size, "%3.0f %%  %s%s steps/s, %s left", 100 * fraction, runs, rate, left);
  if (!isnan(now->mean_return) && now->runs == 1 && used > 0 && (size_t)used < size)
    used += snprintf(text + used, size - (size_t)used, ", mean return %.4g", now->mean_return);
  if (now->runs_failed > 0 && used > 0 && (size_t)used < size)
    snprintf(text + used, size - (size_t)used, ", %lld failed", (long long)now->runs_failed);
}

void cli_format_bar(double fraction, char bar[CLI_BAR_SIZE]) {
  for (int i = 0; i < CLI_BAR_SIZE - 1; i++)
    bar[i] = i < (int)(fraction * (CLI_BAR_SIZE - 1) + 0.5) ? '=' : ' ';
  bar[CLI_BAR_SIZE - 1] = '\0';
}

void cli_progress_show(cli_progress *p, const lgv_progress *now) {
  char text[200], bar[CLI_BAR_SIZE];
  if (!cli_progress_is_due(p)) return;
  format_report(now, p->shown - p->started, text, sizeof text);
  if (!p->terminal) {
    fprintf(stderr, "%s\n", text);
    return;
  }
  cli_format_bar(now->fraction, bar);
  fprintf(stderr, "\r[%s] %s\033[K", bar, text);
  fflush(stderr);
}

void cli_progress_clear(cli_progress *p) {
  if (!p->quiet && p->terminal && p->shown > p->started) fprintf(stderr, "\r\033[K");
}

/* ---- Ctrl-C ---- */

static atomic_int caught, from_parent,
    relayed; /* any thread may be interrupted, and all of them read it */

/* When Slurm or a container ends a whole job, it signals both the script that started this program
 * and the program itself, and the script forwards its signal: two signals, one request. So the
 * first signal from the parent and the first one from elsewhere count as one; any other second
 * signal stops at once. */
static bool is_same_request(int number, bool parents) {
  if (number != SIGTERM || caught != SIGTERM || relayed || parents == (from_parent != 0))
    return false;
  relayed = 1;
  return true;
}

static void on_signal(int number, siginfo_t *info, void *context) {
  static const char text[] = "\nstopping; the records are kept. A second signal stops at once.\n";
  bool parents = info->si_pid == getppid();
  int kept = errno; /* of the interrupted code */
  (void)context;
  if (caught && is_same_request(number, parents)) return;
  if (caught) _exit(128 + number); /* loses an unfinished checkpoint, not the previous one */
  from_parent = parents;
  caught = number;
  ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
  (void)ignored;
  errno = kept;
}

/* Ctrl-C on `langevin run 2>&1 | tee log` ends tee first; SIGPIPE must then not end the run before
 * it has written its checkpoint. */
void cli_interrupt_install(void) {
  const int numbers[] = {SIGINT, SIGTERM, SIGHUP}; /* SIGHUP: the terminal is gone */
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction old, action = {.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
    sigaction(numbers[i], NULL, &old);
    if (old.sa_handler == SIG_IGN) continue; /* as nohup and shells request */
    sigaction(numbers[i], &action, NULL);
  }
  signal(SIGPIPE, SIG_IGN);
}

int cli_interrupted(void) { return caught; }
