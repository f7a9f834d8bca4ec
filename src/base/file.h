/* Files that are whole or absent: written beside their place, synced, renamed. */
#ifndef LGV_BASE_FILE_H
#define LGV_BASE_FILE_H

#include "langevin.h"

/* Creates the directory and its parents. */
LGV_CHECK lgv_status lgv__make_directory(const char *path, lgv_error *err);
LGV_CHECK lgv_status lgv__write_file(const char *directory, const char *name, const char *text,
                                     size_t length, lgv_error *err);
/* The same with directory and name in one path. */
LGV_CHECK lgv_status lgv__write_path(const char *path, const char *text, size_t length,
                                     lgv_error *err);
/* Several milliseconds faster. Whole or absent for every program; after a power cut it may be
 * empty, so its reader must be able to tell. */
LGV_CHECK lgv_status lgv__write_file_unsynced(const char *directory, const char *name,
                                              const char *text, size_t length, lgv_error *err);
/* "directory/name"; fails if it does not fit. */
LGV_CHECK lgv_status lgv__join_path(const char *directory, const char *name, char *path,
                                    size_t size, lgv_error *err);

#endif
