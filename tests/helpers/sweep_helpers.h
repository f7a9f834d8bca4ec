/* Helpers for tests of sweeps: a directory, and a sweep from the text of its file. */
#ifndef LGV_TESTS_SWEEP_HELPERS_H
#define LGV_TESTS_SWEEP_HELPERS_H

#include "file_helpers.h"
#include "run_helpers.h"

static char directory[TEMP_SIZE];

static inline int set_up(void **state) {
  (void)state;
  make_temp(directory);
  return 0;
}

static inline int tear_down(void **state) {
  (void)state;
  remove_tree(directory);
  return 0;
}

static inline lgv_status try_load_scale(const char *text, const char *scale, lgv_sweep **sweep,
                                        lgv_error *err) {
  char path[PATH_MAX];
  write_text(directory, "s.yaml", text);
  join(path, directory, "s.yaml");
  return lgv_sweep_load(path, scale, sweep, err);
}

static inline lgv_status try_load(const char *text, lgv_sweep **sweep, lgv_error *err) {
  return try_load_scale(text, NULL, sweep, err);
}

static inline lgv_sweep *load(const char *text) {
  lgv_sweep *sweep;
  lgv_error err = {0};
  if (try_load(text, &sweep, &err) != LGV_OK) fail_msg("%s", err.message);
  return sweep;
}

/* "a=1 b=2": the settings of a configuration that the sweep's keys name. */
static inline void assert_config(const lgv_sweep *sweep, size_t config, const char *expected) {
  char text[512] = "";
  for (size_t k = 0; lgv_sweep_key(sweep, k); k++) {
    const char *value = lgv_sweep_value(sweep, config, k);
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s%s=%s", used ? " " : "", lgv_sweep_key(sweep, k),
             value ? value : "-");
  }
  assert_string_equal(text, expected);
}

static inline void assert_setting(const lgv_sweep *sweep, size_t config, const char *key,
                                  const char *value) {
  lgv_settings *settings;
  lgv_error err = {0};
  assert_int_equal(lgv_sweep_settings(sweep, config, &settings, &err), LGV_OK);
  const char *found = lgv_settings_get(settings, key);
  if (!value)
    assert_null(found);
  else if (!found)
    fail_msg("configuration %zu has no %s", config, key);
  else
    assert_string_equal(found, value);
  lgv_settings_free(settings);
}

#endif
