#include "env/external/process.h"

#include "base/error.h"
#include "base/io/disk.h"
#include "base/python.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_LOG = 1 << 20 };

/* ---- Starting ---- */

static void close_descriptor(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

typedef struct child_ends {
  int socket, lifeline;
} child_ends;

/* Lifted, because 0, 1 and 2 are replaced in the child. */
static bool open_descriptors(process *p, child_ends *child, bool show_output) {
  int pair[2], ends[2];
  p->memory =
      lgv__disk_lift(memfd_create("langevin-observations", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!show_output) {
    p->log = lgv__disk_lift(memfd_create("langevin-output", MFD_CLOEXEC));
    if (p->log < 0 || fcntl(p->log, F_SETFL, O_APPEND) != 0) return false;
  }
  if (p->memory < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return false;
  p->socket = lgv__disk_lift(pair[0]);
  child->socket = lgv__disk_lift(pair[1]);
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  child->lifeline = lgv__disk_lift(ends[0]);
  p->lifeline = lgv__disk_lift(ends[1]);
  return p->socket >= 0 && child->socket >= 0 && p->lifeline >= 0 && child->lifeline >= 0;
}

/* The package's directory goes to the end of the path, so that a package installed for this Python
 * takes precedence. argv[0] tells the package that a worker imports it. */
static const char *const code = "import sys; sys.argv[0] = 'langevin-worker'; "
                                "sys.path += filter(None, [sys.argv[4]]); "
                                "from langevin.worker import main; main()";

static int spawn(process *p, const child_ends *child, posix_spawn_file_actions_t *actions,
                 posix_spawnattr_t *attributes) {
  char socket[16], memory[16], lifeline[16], package[PATH_MAX + 64];
  snprintf(socket, sizeof socket, "%d", child->socket);
  snprintf(memory, sizeof memory, "%d", p->memory);
  snprintf(lifeline, sizeof lifeline, "%d", child->lifeline);
  lgv__find_python_package(package, sizeof package);
  const char *argv[] = {p->python, "-c", code, socket, memory, lifeline, package, NULL};
  int output = p->log >= 0 ? p->log : STDERR_FILENO;
  bool is_open = fcntl(output, F_GETFD) >= 0; /* a program may have closed its standard error */
  const int kept[] = {child->socket, p->memory, child->lifeline};
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int fault = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
    fault |= is_open ? posix_spawn_file_actions_adddup2(actions, output, fd)
                     : posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_WRONLY, 0);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) /* dup onto itself: not closed on exec */
    fault |= posix_spawn_file_actions_adddup2(actions, kept[i], kept[i]);
  fault |= posix_spawnattr_setpgroup(attributes, 0);
  fault |= posix_spawnattr_setsigmask(attributes, &none);
  fault |= posix_spawnattr_setsigdefault(attributes, &all);
  fault |= posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
  if (fault) return ENOMEM;
  return posix_spawnp(&p->pid, p->python, actions, attributes, (char *const *)argv, environ);
}

static int spawn_child(process *p, const child_ends *child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&actions) != 0) return ENOMEM;
  int fault = posix_spawnattr_init(&attributes) ? ENOMEM : 0;
  if (!fault) {
    fault = spawn(p, child, &actions, &attributes);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  if (fault) p->pid = 0;
  return fault;
}

lgv_status lgv__process_start(process *p, const char *python, bool show_output, lgv_error *err) {
  child_ends child = {-1, -1};
  *p = (process){.socket = -1, .memory = -1, .lifeline = -1, .log = -1};
  lgv__find_python(python, p->python, sizeof p->python);
  lgv_status status = LGV_OK;
  if (!open_descriptors(p, &child, show_output)) {
    status = lgv_fail(err, LGV_ERR_ENV, "cannot open the descriptors of a worker process: %s",
                      strerror(errno));
  } else {
    int fault = spawn_child(p, &child);
    if (fault)
      status = lgv_fail(err, LGV_ERR_ENV,
                        "cannot start the Python '%.200s': %s. Install Python 3 (Debian: apt-get "
                        "install python3), or name one with --set env.python=PATH",
                        p->python, strerror(fault));
  }
  close_descriptor(&child.socket);
  close_descriptor(&child.lifeline);
  if (status != LGV_OK) {
    lgv__process_end(p, 0, NULL, 0);
    lgv__process_close(p);
  }
  return status;
}

/* ---- Ending ---- */

static void describe_fate(const siginfo_t *info, char *fate, size_t size) {
  if (info->si_code == CLD_EXITED)
    snprintf(fate, size, "ended with status %d", info->si_status);
  else
    snprintf(fate, size, "was killed by signal %d (%s)", info->si_status,
             strsignal(info->si_status));
}

/* Whether the child has ended. It stays a zombie, so that its process id and group are not reused.
 */
static bool has_ended(pid_t pid, siginfo_t *info) {
  *info = (siginfo_t){0};
  if (waitid(P_PID, (id_t)pid, info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno == ECHILD;
  return info->si_pid == pid;
}

void lgv__process_end(process *p, double seconds, char *fate, size_t size) {
  const struct timespec pause = {.tv_nsec = 1000000};
  siginfo_t info = {0};
  if (size) snprintf(fate, size, "ended");
  close_descriptor(&p->socket);
  if (p->pid > 0) {
    bool ended = has_ended(p->pid, &info);
    for (double waited = 0; !ended && waited < seconds; waited += 1e-3) {
      nanosleep(&pause, NULL);
      ended = has_ended(p->pid, &info);
    }
    if (size && ended && info.si_pid == p->pid) describe_fate(&info, fate, size);
    if (size && !ended) snprintf(fate, size, "was still busy and has been killed");
    kill(-p->pid, SIGKILL); /* the whole group, including processes that the environment started */
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) continue;
  }
  p->pid = 0;
  close_descriptor(&p->lifeline);
}

void lgv__process_close(process *p) {
  close_descriptor(&p->memory);
  close_descriptor(&p->log);
}

/* ---- Output ---- */

void lgv__process_last_words(const process *p, char *text, size_t size) {
  struct stat info;
  text[0] = '\0';
  if (p->log < 0 || fstat(p->log, &info) != 0) return;
  off_t room = (off_t)size - 1, begin = info.st_size > room ? info.st_size - room : 0;
  ssize_t length = pread(p->log, text, (size_t)room, begin);
  if (length < 0) length = 0;
  while (length > 0 && strchr(" \n", text[length - 1])) length--;
  text[length] = '\0';
}

void lgv__process_trim_log(const process *p) {
  struct stat info;
  if (p->log < 0 || fstat(p->log, &info) != 0 || info.st_size < MOST_LOG) return;
  (void)!ftruncate(p->log, 0); /* O_APPEND: the child continues at the new end */
}
