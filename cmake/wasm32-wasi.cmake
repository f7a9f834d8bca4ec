# Toolchain file: builds the page of the site that learns in the browser (cmake/browser.cmake) with
# clang, lld and WASI's C library, from Debian's packages. scripts/browser uses it.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER clang)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
# Vectors of four floats. An executable has no names that could be replaced.
set(CMAKE_C_FLAGS_INIT "-msimd128 -Wno-unused-command-line-argument")
