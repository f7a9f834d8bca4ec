/* A file that grows: what is put into it is buffered, and the first failure is kept until somebody
 * looks. */
#ifndef LGV_BASE_OUT_H
#define LGV_BASE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lgv_out {
  bool is_open;
  int descriptor;
  int error;    /* errno of the first call that failed; 0: none did */
  int64_t size; /* of all that was put, kept bytes included */
  size_t used;
  unsigned char buffer[8192];
} lgv_out;

/* Keeps the first `keep` bytes of a file that is there and goes on behind them. False: see error.
 */
bool lgv__out_open(lgv_out *out, const char *path, int64_t keep);
void lgv__out_put(lgv_out *out, const void *bytes, size_t count);
void lgv__out_text(lgv_out *out, const char *text);
bool lgv__out_flush(lgv_out *out); /* the system has all of it */
bool lgv__out_sync(lgv_out *out);  /* the disk has */
bool lgv__out_close(lgv_out *out); /* may be called again; true if it is not open */

#endif
