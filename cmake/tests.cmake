# tests/FOLDER/test_*.c is a cmocka program with the label FOLDER. slow_*.c has the label slow, and
# `make test` leaves it out. Tests link the static library because they also use internals.
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS tests/test_*.c tests/slow_*.c)
if(NOT TARGET langevin_cli)
  list(FILTER test_sources EXCLUDE REGEX "/tests/(bench|cli|report)/")
endif()
if(NOT cairo_FOUND) # they draw
  list(FILTER test_sources EXCLUDE REGEX "/tests/report/")
endif()
foreach(source ${test_sources})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "^.*/tests/([a-z]+)/.*$" "\\1" label ${source})
  if(name MATCHES "^slow_")
    set(label slow)
  endif()
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE src tests/helpers tests)
  target_compile_definitions(${name} PRIVATE TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE langevin_static langevin_flags cmocka)
  if(TARGET langevin_cli)
    target_link_libraries(${name} PRIVATE langevin_report langevin_bench)
    target_compile_definitions(${name} PRIVATE TEST_CLI="$<TARGET_FILE:langevin_cli>")
    add_dependencies(${name} langevin_cli)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set(timeout 900)
  if(label STREQUAL "slow")
    set(timeout 7200)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout})
endforeach()

# A clock that jumps, which test_cli_clock preloads. The program itself links the sanitizers.
if(TARGET langevin_cli)
  add_library(clock_shim MODULE tests/cli/clock_shim.c)
  target_compile_definitions(test_cli_clock PRIVATE TEST_CLOCK_SHIM="$<TARGET_FILE:clock_shim>")
  add_dependencies(test_cli_clock clock_shim)
endif()

# Calls of the C library that fail, which scripts/torture preloads; `make torture` tries some thousand, this test a sample.
# Sanitizers replace the same functions.
find_program(python3 python3)
if(TARGET langevin_cli AND python3 AND NOT LANGEVIN_SANITIZE)
  add_library(torture_shim MODULE tests/torture/shim.c)
  target_link_libraries(torture_shim PRIVATE ${CMAKE_DL_LIBS})
  add_test(NAME torture COMMAND ${python3} ${PROJECT_SOURCE_DIR}/scripts/torture
    $<TARGET_FILE:langevin_cli> $<TARGET_FILE:torture_shim> --faults 250)
  set_tests_properties(torture PROPERTIES LABELS torture TIMEOUT 900)
endif()

# Examples are built against the shared library, as a user would, and run.
file(GLOB example_sources CONFIGURE_DEPENDS examples/*.c)
foreach(source ${example_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  target_link_libraries(example_${name} PRIVATE langevin_shared langevin_flags m)
  add_test(NAME example_${name} COMMAND example_${name})
  set_tests_properties(example_${name} PROPERTIES LABELS example TIMEOUT 300)
endforeach()

set(install_flags "")
if(LANGEVIN_SANITIZE)
  set(install_flags -fsanitize=${LANGEVIN_SANITIZE})
else() # sanitizers export their own names
  add_test(NAME exports COMMAND ${PROJECT_SOURCE_DIR}/tests/whole/exports_test.sh
    $<TARGET_FILE:langevin_shared> ${PROJECT_SOURCE_DIR}/include/langevin.h $<TARGET_FILE:langevin_static>)
  set_tests_properties(exports PROPERTIES LABELS install)
  # A program without arguments, built with the library, so that a mutant can name it.
  set(abi_test "${PROJECT_SOURCE_DIR}/tests/whole/abi_test.sh")
  set(abi_arguments "'$<TARGET_FILE:langevin_shared>' '${PROJECT_SOURCE_DIR}/include' '${PROJECT_SOURCE_DIR}/abi/langevin.abi'")
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/abi_test CONTENT "#!/bin/sh\nexec '${abi_test}' \"$@\" ${abi_arguments}\n"
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  add_custom_target(abi_test DEPENDS langevin_shared)
  add_test(NAME abi COMMAND ${PROJECT_BINARY_DIR}/abi_test)
  set_tests_properties(abi PROPERTIES LABELS install SKIP_RETURN_CODE 77)
endif()
add_test(NAME install COMMAND ${PROJECT_SOURCE_DIR}/tests/whole/install_test.sh ${CMAKE_COMMAND}
  ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${CMAKE_C_COMPILER} ${install_flags})
set_tests_properties(install PROPERTIES LABELS install TIMEOUT 300)
if(TARGET langevin_cli)
  add_test(NAME man COMMAND ${PROJECT_SOURCE_DIR}/tests/whole/man_test.sh
    $<TARGET_FILE:langevin_cli> ${PROJECT_SOURCE_DIR}/docs/man/langevin.1)
  set_tests_properties(man PROPERTIES LABELS install)
  # A cluster of one node, where Slurm is installed and this is root: scripts/setup-slurm.
  add_test(NAME slurm COMMAND ${PROJECT_SOURCE_DIR}/tests/whole/slurm_test.sh $<TARGET_FILE:langevin_cli>
    ${PROJECT_SOURCE_DIR}/docs)
  set_tests_properties(slurm PROPERTIES LABELS slurm TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()
if(TARGET langevin_cli AND python3) # without chromium it skips and says so
  add_test(NAME report_page COMMAND ${python3} ${PROJECT_SOURCE_DIR}/tests/report/report_page_test.py
    $<TARGET_FILE:langevin_cli> ${PROJECT_BINARY_DIR})
  set_tests_properties(report_page PROPERTIES LABELS report SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
# The library in the browser beside the same code here.
add_executable(browser_digests tests/whole/browser_digests.c site/browser/page.c)
target_include_directories(browser_digests PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(browser_digests PRIVATE langevin_static langevin_flags)
if(NOT CMAKE_CROSSCOMPILING AND NOT LANGEVIN_SANITIZE)
  add_test(NAME browser COMMAND ${PROJECT_SOURCE_DIR}/tests/whole/browser_test.sh $<TARGET_FILE:browser_digests>)
  set_tests_properties(browser PROPERTIES LABELS site SKIP_RETURN_CODE 77 TIMEOUT 600)
endif()
if(TARGET langevin_cli AND python3) # `make test-site` installs what it needs; elsewhere it skips
  add_test(NAME site_pages COMMAND ${python3} ${PROJECT_SOURCE_DIR}/tests/whole/site_test.py
    $<TARGET_FILE:langevin_cli> ${PROJECT_BINARY_DIR}/site-test $<TARGET_FILE:browser_digests>)
  set_tests_properties(site_pages PROPERTIES LABELS slow SKIP_RETURN_CODE 77 TIMEOUT 1800)
endif()
# The Python package: one test per file, and one more for all tests marked slow. They skip if .venv
# is missing, unless CI is set.
file(GLOB python_tests CONFIGURE_DEPENDS tests/python/test_*.py)
set(python_sanitizers none)
if(LANGEVIN_SANITIZE)
  set(python_sanitizers ${LANGEVIN_SANITIZE})
endif()
set(python_test ${PROJECT_SOURCE_DIR}/tests/whole/python_test.sh $<TARGET_FILE:langevin_shared> ${python_sanitizers})
if(NOT LANGEVIN_SANITIZE MATCHES thread) # Python itself is not built for the thread sanitizer
  foreach(source ${python_tests})
    get_filename_component(name ${source} NAME_WE)
    string(REPLACE test_ python_ name ${name})
    add_test(NAME ${name} COMMAND ${python_test} ${source} -m "not slow")
    set_tests_properties(${name} PROPERTIES LABELS python TIMEOUT 900 SKIP_RETURN_CODE 77)
  endforeach()
  add_test(NAME slow_python COMMAND ${python_test} ${PROJECT_SOURCE_DIR}/tests/python -m slow)
  set_tests_properties(slow_python PROPERTIES LABELS slow TIMEOUT 3600 SKIP_RETURN_CODE 77)
endif()
if(python3)
  add_test(NAME versions COMMAND ${python3} ${PROJECT_SOURCE_DIR}/scripts/check-versions)
  set_tests_properties(versions PROPERTIES LABELS install)
  # `make mutants` needs every line that a mutant changes; a change of one is noticed here.
  add_test(NAME mutants_apply COMMAND ${python3} ${PROJECT_SOURCE_DIR}/scripts/mutants --check)
  set_tests_properties(mutants_apply PROPERTIES LABELS layers)
endif()
add_test(NAME layers COMMAND ${PROJECT_SOURCE_DIR}/tests/whole/layers_test.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(layers PROPERTIES LABELS layers)
add_test(NAME libm COMMAND ${PROJECT_SOURCE_DIR}/tests/whole/libm_test.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(libm PROPERTIES LABELS layers)

# Leaks that the leak sanitizer finds outside our code (tests/lsan.supp gives the reasons).
if(LANGEVIN_SANITIZE)
  get_property(all_tests DIRECTORY PROPERTY TESTS)
  set_property(TEST ${all_tests} APPEND PROPERTY ENVIRONMENT
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0")
endif()
