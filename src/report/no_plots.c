/* Stands for plot/ where the command line was built without cairo. */
#ifdef LGV_NO_PLOTS
#include "base/error.h"
#include "config/yaml_file.h"
#include "report/plot/figure_file.h"
#include "report/plot/plot.h"

#include <string.h>

static lgv_status refuse(lgv_error *err) {
  return lgv_fail(err, LGV_ERR_USAGE,
                  "this build of langevin draws no plots, because cairo was not found when it was "
                  "built: install it (Debian: libcairo2-dev pkg-config) and build again");
}

lgv_status lgv__plot(const lgv_plot *plot, FILE *notes, lgv_error *err) {
  (void)plot, (void)notes;
  return refuse(err);
}

lgv_status lgv__plot_values(const char *path, const char *out, lgv_error *err) {
  (void)path, (void)out;
  return refuse(err);
}

static lgv_status visit(void *context, const char *key, const yaml_node_t *value, lgv_error *err) {
  (void)value, (void)err;
  *(bool *)context |= strcmp(key, "figures") == 0;
  return LGV_OK;
}

/* Figures that are only checked may be drawn later by another build. */
lgv_status lgv__figures_draw(const lgv_figure_job *job, lgv_error *err) {
  lgv_yaml yaml;
  bool wanted = false;
  if (!job->summaries) return LGV_OK;
  LGV_TRY(lgv__yaml_open(&yaml, job->file, err));
  lgv_status status = lgv__yaml_pairs(&yaml, yaml.root, visit, &wanted, err);
  lgv__yaml_close(&yaml);
  return status == LGV_OK && wanted ? refuse(err) : status;
}
#else
typedef int lgv_plots_are_built; /* C wants a declaration in every file */
#endif
