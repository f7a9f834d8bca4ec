/* Named arrays in one file, in the safetensors format (a JSON header, then the raw little-endian
 * data), with a checksum of each, and of the header, in the header's metadata. Reading checks
 * everything before it changes anything, runs no code, and takes no more memory than the file is
 * long; writing copies nothing. */
#ifndef LGV_BASE_TENSORS_H
#define LGV_BASE_TENSORS_H

#include "base/arena.h"

#include <limits.h>
#include <sys/types.h>

typedef struct lgv_tensor {
  char name[96]; /* unique in a file */
  lgv_dtype dtype;
  size_t count;
  void *data;
  lgv_list *list;        /* a growing block: data and count are the list's; else NULL */
  const int64_t *filled; /* a block of rows (lgv__layout_rows): only so many are in the file */
  size_t width;
  bool optional; /* a file of an earlier build may lack it: it is then all zero */
  const char *(*check)(const void *context); /* what is wrong with what was read (NULL: nothing) */
  const void *check_context;
} lgv_tensor;

typedef struct lgv_tensors {
  lgv_tensor *items;
  size_t count, capacity;
  bool corrupt;      /* by the last reading: it changed the arrays before it refused the file */
  const char *about; /* a text for the header's metadata, or NULL; whoever reads leaves it alone */
} lgv_tensors;

/* Collects the kept blocks of an arena as prefix.name (a repeated name gets #1, #2, ...). */
LGV_CHECK lgv_status lgv__tensors_add_arena(lgv_tensors *tensors, const char *prefix,
                                            const lgv_arena *arena, lgv_error *err);
LGV_CHECK lgv_status lgv__tensors_add(lgv_tensors *tensors, const char *name, lgv_dtype dtype,
                                      size_t count, void *data, lgv_error *err);
/* Leaves blocks of rows out, and their checks: experience, which acting needs none of. */
void lgv__tensors_drop_rows(lgv_tensors *tensors);
void lgv__tensors_free(lgv_tensors *tensors);

/* A file that is ready to be written. What is left to do allocates nothing and takes no lock, so
 * that a forked child can do it, for the sake of `parent` if that is not 0: once the parent is
 * gone, the child stops. The arrays, and tensors, must outlive it. */
typedef struct lgv_tensors_image {
  const lgv_tensors *tensors;
  char *header;
  size_t header_length, header_sum; /* header_sum, sums: where the digits of checksums stand */
  size_t *sums;                     /* (tensors->count) */
  size_t bytes;                     /* of all arrays */
  pid_t parent;
  char path[PATH_MAX], temporary[PATH_MAX];
} lgv_tensors_image;

LGV_CHECK lgv_status lgv__tensors_prepare(lgv_tensors_image *image, const lgv_tensors *tensors,
                                          const char *path, lgv_error *err);
int lgv__tensors_emit(const lgv_tensors_image *image); /* 0, or errno; path is whole or untouched */
void lgv__tensors_image_free(lgv_tensors_image *image);

/* Both: writes path whole or not at all. */
LGV_CHECK lgv_status lgv__tensors_write(const lgv_tensors *tensors, const char *path,
                                        lgv_error *err);
/* Reads path into the same arrays: names, types and lengths must agree (lists take the file's
 * length; rows that the file has not are left alone). Then what they hold is checked. */
LGV_CHECK lgv_status lgv__tensors_read(lgv_tensors *tensors, const char *path, lgv_error *err);
/* A copy of the text that the writer put into the metadata (about), to be freed; NULL if there is
 * none. */
LGV_CHECK lgv_status lgv__tensors_read_about(const char *path, char **about, lgv_error *err);

#endif
