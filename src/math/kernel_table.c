/* One instruction set's kernels, collected. */
#include "math/kernels.h"

#define TEXT2(name) #name
#define TEXT(name) TEXT2(name)

static void gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, int64_t a_col,
                 const float *b, int64_t b_row, float beta, float *c, int64_t c_row) {
  LGV_KERNEL(lgv__product)
  (&(lgv_product){.m = m,
                  .n = n,
                  .k = k,
                  .a = a,
                  .a_row = a_row,
                  .a_col = a_col,
                  .b = b,
                  .b_row = b_row,
                  .c = c,
                  .c_row = c_row,
                  .add = beta != 0});
}

#define LGV_OPTIMIZER(name) extern const lgv_optim_type LGV_KERNEL(lgv__optim_##name);
#include "optim/optimizers.def"
#undef LGV_OPTIMIZER

static const lgv_optim_type *const optimizers[] = {
#define LGV_OPTIMIZER(name) &LGV_KERNEL(lgv__optim_##name),
#include "optim/optimizers.def"
#undef LGV_OPTIMIZER
    NULL,
};

extern const lgv_kernel_set LGV_KERNEL(lgv__kernel_set);
const lgv_kernel_set LGV_KERNEL(lgv__kernel_set) = {
    .name = TEXT(LGV_ISA),
    .product = LGV_KERNEL(lgv__product),
    .gemm = gemm,
    .column_sums = LGV_KERNEL(lgv__column_sums),
    .transpose = LGV_KERNEL(lgv__transpose),
    .from_bytes = LGV_KERNEL(lgv__from_bytes),
    .running_sums = LGV_KERNEL(lgv__running_sums),
    .sum_up = LGV_KERNEL(lgv__sum_up),
    .add_scaled = LGV_KERNEL(lgv__add_scaled),
    .rectify = LGV_KERNEL(lgv__rectify),
    .gate = LGV_KERNEL(lgv__gate),
    .scale = LGV_KERNEL(lgv__scale),
    .softmax = LGV_KERNEL(lgv__softmax),
    .quantile_loss = LGV_KERNEL(lgv__quantile_loss),
    .adam_skip = LGV_KERNEL(lgv__adam_skip),
    .rotate = LGV_KERNEL(lgv__rotate),
    .normals = LGV_KERNEL(lgv__normals),
    .optimizers = optimizers,
};
