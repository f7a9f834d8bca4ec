/* The kernels of one instruction set, collected in a table. LGV_SET names the set: LGV_ISA, or one
 * that shares the kernels of LGV_ISA but takes the block product of LGV_BLOCK. */
#include "math/kernels.h"

#define SET(name) LGV_PASTE(name, LGV_SET)

#define TEXT2(name) #name
#define TEXT(name) TEXT2(name)

/* Defined by src/optim/optim_table.c. */
extern const lgv_optim_type *const LGV_KERNEL(lgv__optimizers)[];

#define BLOCK LGV_PASTE(lgv__block, LGV_BLOCK)
void BLOCK(const lgv_block_product *block);

extern const lgv_kernel_set SET(lgv__kernel_set);
const lgv_kernel_set SET(lgv__kernel_set) = {
    .name = TEXT(LGV_SET),
    .portable = LGV_PORTABLE_SET,
    .product = LGV_KERNEL(lgv__product),
    .block = BLOCK,
    .end_block = LGV_KERNEL(lgv__end_block),
    .to_bf16 = LGV_KERNEL(lgv__to_bf16),
    .to_a_tile = LGV_KERNEL(lgv__to_a_tile),
    .to_b_tile = LGV_KERNEL(lgv__to_b_tile),
    .transpose_tile = LGV_KERNEL(lgv__transpose_tile),
    .column_sums = LGV_KERNEL(lgv__column_sums),
    .column_dots = LGV_KERNEL(lgv__column_dots),
    .row_dots = LGV_KERNEL(lgv__row_dots),
    .transpose = LGV_KERNEL(lgv__transpose),
    .from_bytes = LGV_KERNEL(lgv__from_bytes),
    .from_bytes_by = LGV_KERNEL(lgv__from_bytes_by),
    .standardize = LGV_KERNEL(lgv__standardize),
    .running_sums = LGV_KERNEL(lgv__running_sums),
    .sum_up = LGV_KERNEL(lgv__sum_up),
    .add_scaled = LGV_KERNEL(lgv__add_scaled),
    .approach = LGV_KERNEL(lgv__approach),
    .rectify = LGV_KERNEL(lgv__rectify),
    .gate = LGV_KERNEL(lgv__gate),
    .scale = LGV_KERNEL(lgv__scale),
    .normalize = LGV_KERNEL(lgv__normalize),
    .normalize_back = LGV_KERNEL(lgv__normalize_back),
    .softmax = LGV_KERNEL(lgv__softmax),
    .quantile_loss = LGV_KERNEL(lgv__quantile_loss),
    .adam_skip = LGV_KERNEL(lgv__adam_skip),
    .rotate = LGV_KERNEL(lgv__rotate),
    .normals = LGV_KERNEL(lgv__normals),
    .optimizers = LGV_KERNEL(lgv__optimizers),
};
