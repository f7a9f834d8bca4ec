# The library in the browser: langevin.wasm, which the page docs/browser.md of the site loads. A
# browser has neither files nor processes nor threads, so the sources that are about these stay
# out; the linker takes what the functions of site/browser/page.h need of the others.
include(cmake/kernels.cmake)
file(GLOB_RECURSE browser_sources CONFIGURE_DEPENDS src/agent/*.c src/base/*.c src/config/*.c src/env/*.c
  src/math/*.c src/nn/*.c src/optim/*.c src/replay/*.c)
list(FILTER browser_sources EXCLUDE REGEX "/src/math/kernel_|/src/optim/optim_")
list(FILTER browser_sources EXCLUDE REGEX
  "/(disk|file|lock|tensors|export[a-z_]*|plan|run_directory|settings_yaml|yaml_file|process|python|remote|screen|env_gym|env_atari)\\.c$")
add_library(langevin_browser STATIC ${browser_sources} src/registry.c ${kernel_objects})
target_include_directories(langevin_browser BEFORE PUBLIC include src site/browser/one_thread)
target_compile_definitions(langevin_browser PRIVATE LGV_NO_BLAS _WASI_EMULATED_MMAN
  LGV_REGISTRY="${PROJECT_SOURCE_DIR}/site/browser/registry.def")
target_link_libraries(langevin_browser PRIVATE langevin_flags)

add_executable(langevin_wasm site/browser/page.c)
set_target_properties(langevin_wasm PROPERTIES OUTPUT_NAME langevin SUFFIX .wasm)
target_link_libraries(langevin_wasm PRIVATE langevin_browser langevin_flags wasi-emulated-mman)
file(STRINGS site/browser/page.h declarations REGEX "^[a-z].*page_[a-z_]+\\(")
foreach(declaration ${declarations})
  string(REGEX REPLACE ".*(page_[a-z_]+)\\(.*" "\\1" name "${declaration}")
  target_link_options(langevin_wasm PRIVATE -Wl,--export=${name})
endforeach()
target_link_options(langevin_wasm PRIVATE -mexec-model=reactor -Wl,--strip-all)
