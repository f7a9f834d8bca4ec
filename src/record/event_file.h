/* TensorBoard's event file: the rows of metrics.csv, each with the time when it was written.
 *
 * A file is a sequence of TFRecords,
 *     length (8 bytes), mask(crc(length)) (4), data (length bytes), mask(crc(data)) (4),
 * little-endian, with CRC-32C and mask(c) = rotate_right(c, 15) + 0xa282ead8. Each holds one
 * protocol buffer, an Event { double wall_time = 1; int64 step = 2; string file_version = 3;
 * Summary summary = 5; }, whose Summary has a Value { string tag = 1; float simple_value = 2; } for
 * every column that is not NaN. The first event names the version and nothing else.
 *
 * A run directory has one such file. A resumed run cuts it after the last event that its checkpoint
 * knows and continues there. Events of the same rows have the same length, since times and values
 * have a fixed size, so a reader of the file finds every record at its old place. */
#ifndef LGV_RECORD_EVENT_FILE_H
#define LGV_RECORD_EVENT_FILE_H

#include "base/io/file.h"
#include "langevin.h"

#define LGV_EVENT_FILE_NAME "events.out.tfevents.langevin"

typedef struct lgv_column {
  const char *group, *name; /* TensorBoard shows it as group/name */
} lgv_column;

typedef struct lgv_event_file {
  lgv_out out; /* not open: nothing is written */
  uint32_t crc_of[256];
  uint32_t crc; /* of the bytes since it was last started */
} lgv_event_file;

/* last_step: of the last event to keep; -1: a new file. A damaged file is kept up to the damage,
 * and a missing one is created: no result depends on it. */
LGV_CHECK lgv_status lgv__event_file_open(lgv_event_file *f, const char *directory,
                                          int64_t last_step, lgv_error *err);
LGV_CHECK lgv_status lgv__event_file_row(lgv_event_file *f, int64_t step, const lgv_column *columns,
                                         const double *values, size_t count, lgv_error *err);
LGV_CHECK lgv_status lgv__event_file_flush(lgv_event_file *f, lgv_error *err);
void lgv__event_file_close(lgv_event_file *f);

#endif
