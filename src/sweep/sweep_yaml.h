/* The parts of a sweep file that are read alike in several places. */
#ifndef LGV_SWEEP_SWEEP_YAML_H
#define LGV_SWEEP_SWEEP_YAML_H

#include "config/yaml_file.h"
#include "sweep/sweep_random.h"

/* The values of a list, or one plain value. name: as the file has it. */
LGV_CHECK lgv_status lgv__axis_from_yaml(lgv_axis *axis, lgv_yaml *yaml, const yaml_node_t *node,
                                         const char *name, lgv_error *err);
/* The mapping below `random`. */
LGV_CHECK lgv_status lgv__random_from_yaml(lgv_random *random, lgv_yaml *yaml,
                                           const yaml_node_t *node, lgv_error *err);

#endif
