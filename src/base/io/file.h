/* Files that are complete or absent (written under a temporary name, synced, renamed), and files
 * that grow. Several processes may write the same file at once: they take turns
 * (lgv__disk_create). */
#ifndef LGV_BASE_FILE_H
#define LGV_BASE_FILE_H

#include "langevin.h"

/* Whether there is a file or directory of this name. That it cannot be told (no permission, a
 * broken disk, a link to a disk that is gone) is an error, never a "no": what is left out of a
 * result, or started again, must not depend on it. */
LGV_CHECK lgv_status lgv__is_there(const char *path, bool *there, lgv_error *err);
/* Creates the directory and its parents. */
LGV_CHECK lgv_status lgv__make_directory(const char *path, lgv_error *err);
LGV_CHECK lgv_status lgv__write_file(const char *directory, const char *name, const char *text,
                                     size_t length, lgv_error *err);
/* Same, with directory and name in one path. */
LGV_CHECK lgv_status lgv__write_path(const char *path, const char *text, size_t length,
                                     lgv_error *err);
/* Without the sync, several milliseconds faster. Every program sees the file complete or absent,
 * but after a power failure it may be empty, so its reader must detect that. */
LGV_CHECK lgv_status lgv__write_file_unsynced(const char *directory, const char *name,
                                              const char *text, size_t length, lgv_error *err);
/* "directory/name"; fails if it does not fit. */
LGV_CHECK lgv_status lgv__join_path(const char *directory, const char *name, char *path,
                                    size_t size, lgv_error *err);

/* ---- Growing files: output is buffered, and the first failure is kept until a caller asks ---- */

typedef struct lgv_out {
  bool is_open;
  int descriptor;
  int error;    /* errno of the first call that failed; 0: none failed */
  int64_t size; /* all bytes put so far, including the kept ones */
  uint64_t sum; /* their lgv__hash; of kept ones, the caller sets it */
  size_t used;
  unsigned char buffer[8192];
} lgv_out;

/* Keeps the first `keep` bytes of an existing file and appends after them. On false, see error. */
bool lgv__out_open(lgv_out *out, const char *path, int64_t keep);
void lgv__out_put(lgv_out *out, const void *bytes, size_t count);
void lgv__out_text(lgv_out *out, const char *text);
bool lgv__out_flush(lgv_out *out); /* hands all bytes to the system */
bool lgv__out_sync(lgv_out *out);  /* and to the disk */
bool lgv__out_close(lgv_out *out); /* may be called again; true if it is not open */

#endif
