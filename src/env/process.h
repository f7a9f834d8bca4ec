/* A Python process that serves an environment: how it is found, started, ended, and what it left
 * behind when it died.
 *
 * The child has a process group of its own, so that Ctrl-C in a terminal reaches the program alone,
 * which then ends the run in good order, and so that whatever an environment has started goes with
 * it. Three descriptors are handed down: a socket (packets, both ways), a memory file
 * (observations; it has no name, so that nothing can be left behind) and a lifeline: the reading
 * end of a pipe whose other end nobody writes to. When the parent is gone, however it went, the
 * kernel sends the child's group the signal that the child asked for there.
 *
 * Invariants: a process that was started is waited for exactly once, in lgv__process_end; every
 * descriptor is closed on exec but for the child's own three. */
#ifndef LGV_ENV_PROCESS_H
#define LGV_ENV_PROCESS_H

#include "langevin.h"

#include <sys/types.h>

enum { PROCESS_PATH_SIZE = 4096 };

typedef struct process {
  pid_t pid;    /* 0: none */
  int socket;   /* our end */
  int memory;   /* the memory file */
  int lifeline; /* the end that is never written to */
  int log;      /* what the child writes to stdout and stderr; -1 if that is shown to the user */
  char python[PROCESS_PATH_SIZE];
} process;

/* python: a path or a name in PATH; empty: $LANGEVIN_PYTHON, else the active virtual environment,
 * else .venv in the current directory, else python3. show_output: on stderr, as it comes. */
LGV_CHECK lgv_status lgv__process_start(process *p, const char *python, bool show_output,
                                        lgv_error *err);
/* Waits up to `seconds` for the child to end by itself, then kills its group. What became of it:
 * "was killed by signal 9 (Killed)"; fate may be NULL if size is 0. What it wrote can still be
 * read.
 */
void lgv__process_end(process *p, double seconds, char *fate, size_t size);
void lgv__process_close(process *p); /* after lgv__process_end */
/* The last lines that the child wrote, or "". */
void lgv__process_last_words(const process *p, char *text, size_t size);
/* Keeps what the child writes from filling the memory. Call now and then. */
void lgv__process_trim_log(const process *p);

#endif
