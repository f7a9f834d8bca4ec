# bench/*.c: the measurements of `langevin bench`. They use internals, so they are a library of the
# command line and not part of liblangevin.
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.c)
add_library(langevin_bench STATIC ${bench_sources})
target_include_directories(langevin_bench PUBLIC ${PROJECT_SOURCE_DIR} PRIVATE src)
target_link_libraries(langevin_bench PUBLIC langevin_static PRIVATE langevin_flags ${langevin_libraries})
