#include "langevin.h"

const char *lgv_kernels(void) { return "c"; }
