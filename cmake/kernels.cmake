# Compute kernels: src/math/kernel_*.c and src/optim/optim_*.c, compiled once per instruction
# set. LGV_ISA names the set (LGV_KERNEL(name) appends it to every global name of a file) and
# LGV_LANES is the number of floats in its vectors: a type wider than the hardware is many times
# slower than one that fits. `ref` is plain scalar C, always built; the other sets are tested
# against it. src/math/kernels.c learns from LGV_KERNELS_X86 and LGV_KERNELS_NEON which sets
# exist.
#
# The set `amx` is avx512 with a block product of its own: only its table and that product are
# compiled for it, and only if the compiler knows the instructions (LGV_KERNELS_AMX).
# `portable_amx` is portable16 with the same block product.
#
# `portableN` has N lanes, the bits of all other portable sets, and the block product of the plain
# set with the same vectors, which has the same bits everywhere.
file(GLOB kernel_sources CONFIGURE_DEPENDS src/math/kernel_*.c src/optim/optim_*.c)
list(FILTER kernel_sources EXCLUDE REGEX "/kernel_block_amx\\.c$")
set(portable_sources ${kernel_sources})
list(FILTER portable_sources EXCLUDE REGEX "/kernel_block\\.c$")

# Sanitizers add checks to every access of the unrolled tiles: the optimizer then takes minutes
# for kernel_gemm.c at -O3, and the tests of networks take longer still. At -O1, and with only the
# address sanitizer in the hottest files (it finds bad pointers when they are used), both are
# acceptable.
set(kernel_options)
if(LANGEVIN_SANITIZE)
  # at -O1, clang warns about every loop that it was asked to vectorize
  set(kernel_options -O1 $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
  set_property(SOURCE src/math/kernel_gemm.c src/math/kernel_gemv.c APPEND
    PROPERTY COMPILE_OPTIONS -fno-sanitize=undefined)
endif()

set(kernel_objects)
set(kernels_amx FALSE)
# block: the set whose block product it takes.
function(add_kernels set isa block lanes portable sources)
  add_library(kernels_${set} OBJECT ${sources})
  target_compile_definitions(kernels_${set} PRIVATE LGV_ISA=${isa} LGV_SET=${set} LGV_BLOCK=${block}
    LGV_LANES=${lanes} LGV_PORTABLE_SET=${portable})
  target_include_directories(kernels_${set} PRIVATE include src)
  target_link_libraries(kernels_${set} PRIVATE langevin_flags)
  target_compile_options(kernels_${set} PRIVATE ${kernel_options} ${ARGN})
  list(APPEND kernel_objects $<TARGET_OBJECTS:kernels_${set}>)
  set(kernel_objects ${kernel_objects} PARENT_SCOPE)
endfunction()
macro(add_kernel_set isa lanes)
  add_kernels(${isa} ${isa} ${isa} ${lanes} 0 "${kernel_sources}" ${ARGN})
endmacro()
macro(add_portable_set block lanes)
  add_kernels(portable${lanes} portable${lanes} ${block} ${lanes} 1 "${portable_sources}" ${ARGN})
endmacro()

add_kernel_set(ref 1 -fno-tree-vectorize -fno-tree-slp-vectorize)
add_portable_set(ref 1 -fno-tree-vectorize -fno-tree-slp-vectorize)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(kernels_x86 TRUE)
  add_kernel_set(x86 4 -msse2)
  add_portable_set(x86 4 -msse2)
  add_kernel_set(avx2 8 -mavx2 -mfma)
  add_portable_set(avx2 8 -mavx2)
  set(avx512_options -mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx2 -mprefer-vector-width=512)
  add_kernel_set(avx512 16 ${avx512_options} -mfma)
  add_portable_set(avx512 16 ${avx512_options})
  include(CheckCCompilerFlag)
  check_c_compiler_flag("-mamx-tile -mamx-bf16" compiler_knows_amx)
  if(compiler_knows_amx AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(kernels_amx TRUE)
    add_kernels(amx avx512 amx 16 0 "src/math/kernel_table.c;src/math/kernel_block_amx.c"
      -mamx-tile -mamx-bf16)
    add_kernels(portable_amx portable16 amx 16 1 src/math/kernel_table.c)
  endif()
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set(kernels_neon TRUE)
  add_kernel_set(neon 4) # vectors and fused multiply-adds belong to every such processor
  add_portable_set(neon 4)
else()
  add_kernel_set(generic 4)
  add_portable_set(generic 4)
endif()
