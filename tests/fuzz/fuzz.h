/* What the fuzz targets share. A target is one entry point that reads bytes of others: whatever
 * they are, it may refuse them with an error, and nothing else.
 *
 * `make fuzz` builds the targets with clang's libFuzzer; everywhere else replay.c runs them over
 * the committed inputs, tests/fuzz/corpus/TARGET, as a test. */
#ifndef LGV_TESTS_FUZZ_H
#define LGV_TESTS_FUZZ_H

#include "langevin.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file that holds these bytes until the next call; it has no name on any disk. */
const char *fuzz_file(const uint8_t *data, size_t size);
/* A directory in which every one of the names (NULL-terminated) is that file. */
const char *fuzz_directory(const char *const *names);
/* Makes a plan where that takes little: of a small environment that needs no other process. */
void fuzz_plan(const lgv_settings *settings);

#endif
