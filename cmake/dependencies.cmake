# Dependencies of the build. One message names everything that is missing.
find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)

set(missing "")
# need(WHAT variable...): each variable must hold the result of a successful find call.
function(need what)
  foreach(found ${ARGN})
    if(NOT ${found})
      set(missing "${missing}  ${what}\n" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# BLAS and LAPACK have their plain names: the system chooses the implementation (update-alternatives
# on Debian), at build time and at run time.
foreach(name lapacke lapack blas yaml)
  find_library(LANGEVIN_LIB_${name} ${name})
  mark_as_advanced(LANGEVIN_LIB_${name})
endforeach()
find_path(LANGEVIN_CBLAS_DIR cblas.h)
find_path(LANGEVIN_LAPACKE_DIR lapacke.h)
find_path(LANGEVIN_YAML_DIR yaml.h)
mark_as_advanced(LANGEVIN_CBLAS_DIR LANGEVIN_LAPACKE_DIR LANGEVIN_YAML_DIR)
need("LAPACKE (Debian: liblapacke-dev)" LANGEVIN_LIB_lapacke LANGEVIN_LAPACKE_DIR)
need("BLAS and LAPACK with cblas.h (Debian: libopenblas-serial-dev)"
  LANGEVIN_LIB_lapack LANGEVIN_LIB_blas LANGEVIN_CBLAS_DIR)
need("libyaml (Debian: libyaml-dev)" LANGEVIN_LIB_yaml LANGEVIN_YAML_DIR)
set(langevin_libraries lapacke lapack blas yaml m ${CMAKE_DL_LIBS} Threads::Threads)

if(LANGEVIN_CLI)
  if(PKG_CONFIG_FOUND AND LANGEVIN_PLOTS)
    pkg_check_modules(cairo QUIET IMPORTED_TARGET cairo)
  endif()
  if(LANGEVIN_PLOTS STREQUAL "ON")
    need("cairo and pkg-config (Debian: libcairo2-dev pkg-config), or configure with -DLANGEVIN_PLOTS=AUTO"
      cairo_FOUND)
  elseif(NOT LANGEVIN_PLOTS)
    set(cairo_FOUND FALSE)
  elseif(NOT cairo_FOUND)
    message(STATUS "cairo was not found: the command line draws no plots")
  endif()
endif()
if(BUILD_TESTING)
  find_library(LANGEVIN_LIB_cmocka cmocka)
  mark_as_advanced(LANGEVIN_LIB_cmocka)
  need("cmocka (Debian: libcmocka-dev), or configure with -DBUILD_TESTING=OFF" LANGEVIN_LIB_cmocka)
endif()

if(missing)
  message(FATAL_ERROR "Not found:\n${missing}`make setup` installs all of it on Debian and Ubuntu.")
endif()
