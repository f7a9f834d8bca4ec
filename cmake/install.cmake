# Installs both libraries, the header, the command line, the pkg-config file, the CMake package, the
# man page, the completions and the Python package, which contains the Python half of the Gymnasium
# bridge.
include(CMakePackageConfigHelpers)

file(GLOB experiment_files CONFIGURE_DEPENDS experiments/*.yaml)

# In a wheel (pyproject.toml) the package contains the shared library, the command line, the
# experiments of `langevin reproduce` and the zoo.
if(SKBUILD)
  install(TARGETS langevin_shared LIBRARY DESTINATION langevin COMPONENT python)
  install(TARGETS langevin_cli RUNTIME DESTINATION langevin/bin COMPONENT python)
  install(FILES ${experiment_files} DESTINATION langevin/experiments COMPONENT python)
  install(DIRECTORY zoo DESTINATION langevin COMPONENT python)
  return()
endif()

install(TARGETS langevin_shared langevin_static EXPORT langevin-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/langevin.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET langevin_cli)
  install(TARGETS langevin_cli DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

install(FILES ${experiment_files} DESTINATION ${CMAKE_INSTALL_DATADIR}/langevin/experiments)
install(DIRECTORY zoo DESTINATION ${CMAKE_INSTALL_DATADIR}/langevin)
# The Python half of the Gymnasium bridge; src/env/external/process.c finds it relative to the library.
file(GLOB python_sources CONFIGURE_DEPENDS python/langevin/*.py python/langevin/*.pyi python/langevin/py.typed)
install(FILES ${python_sources} DESTINATION ${CMAKE_INSTALL_DATADIR}/langevin/python/langevin)

# find_package(langevin) defines langevin::langevin (shared) and langevin::static.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/langevin)
install(EXPORT langevin-targets NAMESPACE langevin:: DESTINATION ${package_dir})
configure_package_config_file(cmake/langevin-config.cmake.in langevin-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(langevin-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/langevin-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/langevin-config-version.cmake DESTINATION ${package_dir})

# pkg-config finds the prefix relative to its own file, so a moved tree still works.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
if(LANGEVIN_BLAS)
  set(pc_blas "-llapacke -llapack -lblas ")
endif()
configure_file(cmake/langevin.pc.in langevin.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/langevin.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET langevin_cli)
  install(FILES docs/man/langevin.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES packaging/langevin.bash-completion RENAME langevin
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()
