/* The common part of the fuzz targets. A target is one entry point that reads foreign bytes: it
 * must accept any bytes or refuse them with an error.
 *
 * `make fuzz` builds the targets with clang's libFuzzer; everywhere else replay.c runs them over
 * the committed inputs, tests/fuzz/corpus/TARGET, as a test. */
#ifndef LGV_TESTS_FUZZ_H
#define LGV_TESTS_FUZZ_H

#include "langevin.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file that holds these bytes until the next call; it is on no disk. */
const char *fuzz_file(const uint8_t *data, size_t size);
/* A directory in which every one of the names (NULL-terminated) is that file. */
const char *fuzz_directory(const char *const *names);
/* Makes a plan if that is cheap: for a small environment that needs no other process. */
void fuzz_plan(const lgv_settings *settings);

#endif
