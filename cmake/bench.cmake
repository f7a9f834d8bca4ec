# bench/*.c: one program that measures; it looks at internals. Not part of `all` or of the tests.
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.c)
add_executable(langevin_bench EXCLUDE_FROM_ALL ${bench_sources})
set_target_properties(langevin_bench PROPERTIES OUTPUT_NAME bench)
target_include_directories(langevin_bench PRIVATE src bench)
target_link_libraries(langevin_bench PRIVATE langevin_static langevin_flags ${langevin_libraries})
