/* Checkpoints of a run: checkpoint.safetensors, and the one before it.
 *
 * A forked child writes a large checkpoint, such as that of a full replay: the child's memory is a
 * snapshot, which the system makes by copying the pages that the run changes in the meantime, and
 * the run continues at once. Rows of a replay rarely change, so these copies are few. Writing only
 * new rows would write less, but two checkpoints that are both complete, in files that other
 * programs can read, would need a format of our own.
 *
 * The child makes system calls only: after a fork in a program with threads, locks and allocators
 * may be in any state. It holds the lock on the run's directory until it ends, and it ends early if
 * the run has died. */
#ifndef LGV_RECORD_CHECKPOINT_H
#define LGV_RECORD_CHECKPOINT_H

#include "base/io/tensors.h"

/* Writes at most one checkpoint at a time. */
typedef struct lgv_checkpoint_writer {
  const char *directory;
  int lock;             /* descriptor that the child keeps open; -1: none */
  bool newest_refused;  /* the file in the newest one's place was refused when it was read */
  pid_t child;          /* 0: none */
  volatile int *result; /* shared with the child: -1 until it is done, then errno */
} lgv_checkpoint_writer;

/* Returns when the checkpoint is on the disk. */
LGV_CHECK lgv_status lgv__checkpoint_write(lgv_checkpoint_writer *writer,
                                           const lgv_tensors *tensors, lgv_error *err);
/* Writes a small checkpoint, or starts a child that writes a large one. Waits for the previous
 * child first. */
LGV_CHECK lgv_status lgv__checkpoint_start(lgv_checkpoint_writer *writer,
                                           const lgv_tensors *tensors, lgv_error *err);
/* Reports the outcome of the child: lgv__checkpoint_wait waits for it, lgv__checkpoint_look only
 * polls. *lost: the child was killed; the earlier checkpoints are intact. */
LGV_CHECK lgv_status lgv__checkpoint_wait(lgv_checkpoint_writer *writer, bool *lost,
                                          lgv_error *err);
LGV_CHECK lgv_status lgv__checkpoint_look(lgv_checkpoint_writer *writer, bool *lost,
                                          lgv_error *err);

/* Reads the newest complete checkpoint. *found is false, and nothing changes, if the directory has
 * none. refused: why a newer one was skipped; its status is LGV_OK if none was. */
LGV_CHECK lgv_status lgv__checkpoint_read(lgv_tensors *tensors, const char *directory, bool *found,
                                          lgv_error *refused, lgv_error *err);
/* lgv__checkpoint_remove removes all checkpoints of a directory; lgv__checkpoint_tidy only the
 * unfinished file of a killed run. */
LGV_CHECK lgv_status lgv__checkpoint_remove(const char *directory, lgv_error *err);
LGV_CHECK lgv_status lgv__checkpoint_tidy(const char *directory, lgv_error *err);

/* Test hook: sets the size in bytes from which a child writes; returns the old one. */
size_t lgv__checkpoint_fork_from(size_t bytes);

#endif
