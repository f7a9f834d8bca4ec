/* The optimizers of one instruction set, collected in a table. */
#include "math/kernels.h"

#define LGV_OPTIMIZER(name) extern const lgv_optim_type LGV_KERNEL(lgv__optim_##name);
#include "optim/optimizers.def"
#undef LGV_OPTIMIZER

extern const lgv_optim_type *const LGV_KERNEL(lgv__optimizers)[];
const lgv_optim_type *const LGV_KERNEL(lgv__optimizers)[] = {
#define LGV_OPTIMIZER(name) &LGV_KERNEL(lgv__optim_##name),
#include "optim/optimizers.def"
#undef LGV_OPTIMIZER
    NULL,
};
