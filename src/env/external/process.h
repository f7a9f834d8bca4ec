/* A Python process that serves an environment: how it is started and ended, and what it
 * printed before it died.
 *
 * The child has its own process group. So Ctrl-C in a terminal reaches only the program, which then
 * ends the run in good order, and processes that an environment started are killed with it. The
 * child inherits three descriptors: a socket (packets, both ways), a memory file (observations; it
 * has no name, so nothing can be left behind) and a lifeline: the reading end of a pipe to which
 * nobody writes. When the parent ends, for whatever reason, the kernel sends the child's group the
 * signal that the child requested there.
 *
 * Invariants: lgv__process_end waits for a started process exactly once; every descriptor except
 * the child's three is closed on exec. */
#ifndef LGV_ENV_PROCESS_H
#define LGV_ENV_PROCESS_H

#include "langevin.h"

#include <sys/types.h>

enum { PROCESS_PATH_SIZE = 4096 };

typedef struct process {
  pid_t pid;    /* 0: none */
  int socket;   /* our end */
  int memory;   /* the memory file */
  int lifeline; /* the writing end, which is never written to */
  int log;      /* the child's stdout and stderr; -1 if they are shown to the user */
  char python[PROCESS_PATH_SIZE];
} process;

/* python: see lgv__find_python. show_output: the child's output goes to stderr at once. */
LGV_CHECK lgv_status lgv__process_start(process *p, const char *python, bool show_output,
                                        lgv_error *err);
/* Waits up to `seconds` for the child to end by itself, then kills its group. fate says how it
 * ended: "was killed by signal 9 (Killed)"; it may be NULL if size is 0. The child's output can
 * still be read afterwards. */
void lgv__process_end(process *p, double seconds, char *fate, size_t size);
void lgv__process_close(process *p); /* after lgv__process_end */
/* The last lines that the child wrote, or "". */
void lgv__process_last_words(const process *p, char *text, size_t size);
/* Keeps the output of the child from filling memory: drops it once it exceeds a megabyte. Called
 * before every command. */
void lgv__process_trim_log(const process *p);

#endif
