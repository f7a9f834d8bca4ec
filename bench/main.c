/* Prints the benchmark of the network kernels: bench [rounds]. */
#include "bench_net.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  bench_report report;
  lgv_error err = {0};
  if (bench_net(argc > 1 ? atoi(argv[1]) : 3, &report, &err) != LGV_OK) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  printf("kernels: %s; BLAS: %s\n", lgv_kernels(), report.blas);
  for (size_t i = 0; i < report.count; i++) {
    const bench_result *r = &report.result[i];
    double rate = r->operations / r->seconds;
    printf("%-50s %12.2f us %8.1f GFLOP/s %6.1f %%\n", r->name, r->seconds * 1e6, rate * 1e-9,
           100 * rate / report.yardstick);
  }
  return 0;
}
