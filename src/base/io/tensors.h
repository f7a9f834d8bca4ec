/* Named arrays in one file, in the safetensors format (a JSON header, then the raw little-endian
 * data), with a checksum of each array and of the header in the header's metadata. Reading verifies
 * the whole file before it changes any array, runs no code, and takes no more memory than the file
 * is long; writing copies nothing. */
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
  lgv_list *list;        /* a growing block, whose data and count are in the list; else NULL */
  const int64_t *filled; /* a block of rows (lgv__layout_rows): the number of rows in the file */
  size_t width;
  bool for_learning; /* acting does not need it */
  bool optional;     /* files of earlier versions may lack it; it is then all zero */
  bool finite;       /* a file that holds NaN or an infinity here is refused */
  const char *(*check)(const void *context); /* what is wrong with the content (NULL: nothing) */
  const void *check_context;
} lgv_tensor;

typedef struct lgv_tensors {
  lgv_tensor *items;
  size_t count, capacity;
  bool corrupt; /* the last read changed the arrays before it refused the file */
  /* Blocks that only learning needs are left out; a read sets it if they are missing. */
  bool without_experience;
  const char *about; /* a text for the header's metadata, or NULL; reading ignores it */
  /* The settings that the arrays belong to, for the metadata, or NULL. On reading, check_settings
   * (NULL: none) gets those of the file (NULL if it has none) before anything changes. */
  const char *settings;
  lgv_status (*check_settings)(void *context, const char *settings, lgv_error *err);
  void *settings_context;
} lgv_tensors;

/* Collects the kept blocks of an arena as prefix.name (a repeated name gets #1, #2, ...). */
LGV_CHECK lgv_status lgv__tensors_add_arena(lgv_tensors *tensors, const char *prefix,
                                            const lgv_arena *arena, lgv_error *err);
LGV_CHECK lgv_status lgv__tensors_add(lgv_tensors *tensors, const char *name, lgv_dtype dtype,
                                      size_t count, void *data, lgv_error *err);
/* Drops the blocks that only learning needs, and their checks. */
void lgv__tensors_drop_learning(lgv_tensors *tensors);
void lgv__tensors_free(lgv_tensors *tensors);

/* A file that is ready to be written. Writing it allocates nothing and takes no lock, so that a
 * forked child can do it. If `parent` is not 0, the child stops once that process is gone. The
 * arrays and tensors must outlive the image. */
typedef struct lgv_tensors_image {
  const lgv_tensors *tensors;
  char *header;
  size_t header_length, header_sum; /* header_sum, sums: positions of the checksums' digits */
  size_t *sums;                     /* (tensors->count) */
  size_t bytes;                     /* of all arrays */
  pid_t parent;
  char path[PATH_MAX], temporary[PATH_MAX];
} lgv_tensors_image;

LGV_CHECK lgv_status lgv__tensors_prepare(lgv_tensors_image *image, const lgv_tensors *tensors,
                                          const char *path, lgv_error *err);
/* Returns 0, or errno; path is complete or untouched. */
int lgv__tensors_emit(const lgv_tensors_image *image);
void lgv__tensors_image_free(lgv_tensors_image *image);

/* Prepares and emits: writes path completely or not at all. */
LGV_CHECK lgv_status lgv__tensors_write(const lgv_tensors *tensors, const char *path,
                                        lgv_error *err);
/* Reads path into the same arrays: names, types and lengths must agree (lists take the file's
 * length; rows that the file lacks are left unchanged). Then runs the checks of the arrays. */
LGV_CHECK lgv_status lgv__tensors_read(lgv_tensors *tensors, const char *path, lgv_error *err);
/* A copy of the text that the writer put into the metadata (about), to be freed; NULL if there is
 * none. */
LGV_CHECK lgv_status lgv__tensors_read_about(const char *path, char **about, lgv_error *err);

#endif
