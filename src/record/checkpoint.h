/* Checkpoints of a run: checkpoint.safetensors, and the one before it.
 *
 * A large one, which a full replay makes, is written by a forked child: the child's memory is a
 * snapshot that the system makes by copying the pages that the run changes meanwhile, and the run
 * goes on at once. Rows of a replay are rarely changed, so these copies are few. Writing only the
 * rows that are new would write less, but two checkpoints that are each whole, and files that other
 * programs read, would need a format of our own.
 *
 * The child makes system calls only: locks and allocators may be in any state after a fork in a
 * program with threads. It keeps the lock on the run's directory until it ends, and ends early if
 * the run does not live any more. */
#ifndef LGV_RECORD_CHECKPOINT_H
#define LGV_RECORD_CHECKPOINT_H

#include "base/tensors.h"

/* At most one at a time is under way. */
typedef struct lgv_checkpoint_writer {
  const char *directory;
  int lock;             /* a descriptor that the child keeps open; -1: none */
  bool newest_refused;  /* what stands in the newest one's place was refused when it was read */
  pid_t child;          /* 0: nothing is under way */
  volatile int *result; /* shared with the child: -1 until it is done, then errno */
} lgv_checkpoint_writer;

/* Returns when it is on the disk. */
LGV_CHECK lgv_status lgv__checkpoint_write(lgv_checkpoint_writer *writer,
                                           const lgv_tensors *tensors, lgv_error *err);
/* A small one is on the disk, of a large one a child takes care. Waits for the one before. */
LGV_CHECK lgv_status lgv__checkpoint_start(lgv_checkpoint_writer *writer,
                                           const lgv_tensors *tensors, lgv_error *err);
/* What has become of the one that was started: waits for its end, or (lgv__checkpoint_look) only
 * looks. *lost: the child was killed from outside; the checkpoints that were there still are. */
LGV_CHECK lgv_status lgv__checkpoint_wait(lgv_checkpoint_writer *writer, bool *lost,
                                          lgv_error *err);
LGV_CHECK lgv_status lgv__checkpoint_look(lgv_checkpoint_writer *writer, bool *lost,
                                          lgv_error *err);

/* The newest one that is whole. *found is false, and nothing changes, if the directory has none at
 * all. refused: why a newer one was passed over; its status is LGV_OK if none was. */
LGV_CHECK lgv_status lgv__checkpoint_read(lgv_tensors *tensors, const char *directory, bool *found,
                                          lgv_error *refused, lgv_error *err);
/* Removes the checkpoints of a directory, and what a killed run left of one that was not done. */
LGV_CHECK lgv_status lgv__checkpoint_remove(const char *directory, lgv_error *err);
LGV_CHECK lgv_status lgv__checkpoint_tidy(const char *directory, lgv_error *err);

/* Test hook: from so many bytes on a child writes. Returns what it was. */
size_t lgv__checkpoint_fork_from(size_t bytes);

#endif
