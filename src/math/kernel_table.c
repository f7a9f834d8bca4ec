/* One instruction set's kernels, collected. */
#include "math/kernels.h"

#define TEXT2(name) #name
#define TEXT(name) TEXT2(name)

void LGV_KERNEL(lgv__gemm)(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row,
                           int64_t a_col, const float *b, int64_t b_row, float beta, float *c,
                           int64_t c_row);

#define LGV_OPTIMISER(name) extern const lgv_optim_type LGV_KERNEL(lgv__optim_##name);
#include "optim/optimisers.def"
#undef LGV_OPTIMISER

static const lgv_optim_type *const optimisers[] = {
#define LGV_OPTIMISER(name) &LGV_KERNEL(lgv__optim_##name),
#include "optim/optimisers.def"
#undef LGV_OPTIMISER
    NULL,
};

extern const lgv_kernel_set LGV_KERNEL(lgv__kernel_set);
const lgv_kernel_set LGV_KERNEL(lgv__kernel_set) = {
    .name = TEXT(LGV_ISA),
    .gemm = LGV_KERNEL(lgv__gemm),
    .normals = LGV_KERNEL(lgv__normals),
    .optimisers = optimisers,
};
