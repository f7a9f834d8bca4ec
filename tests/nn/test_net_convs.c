/* Lists of convolutions as text. */
#include "net_helpers.h"

static void lists_are_read_and_written(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"", ""},
      {"16x3s1,32x3s1", "16x3s1,32x3s1"},
      {" 16x3s1 , 032x3s2 ", "16x3s1,32x3s2"},
      {"1x1s1,1x1s1,1x1s1,1x1s1,1x1s1,1x1s1,1x1s1,65536x255s255",
       "1x1s1,1x1s1,1x1s1,1x1s1,1x1s1,1x1s1,1x1s1,65536x255s255"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    net_convs convs;
    lgv_error err = {0};
    char text[LGV_TEXT_SIZE];
    if (lgv__net_parse_convs(pairs[i][0], &convs, &err) != LGV_OK) fail_msg("%s", err.message);
    lgv__net_format_convs(&convs, text, sizeof text);
    assert_string_equal(text, pairs[i][1]);
  }
}

static void wrong_lists_are_refused(void **state) {
  (void)state;
  static const char *const wrong[][2] = {
      {"16", "convolution 1, '16', is not written width x kernel s stride"},
      {"16x3", "convolution 1, '16x3', is not written"},
      {"16x3s1,", "convolution 2, '', is not written"},
      {"16x3s1,x3s1", "convolution 2, 'x3s1', is not written"},
      {"16x3s1 32x3s1", "is not written"},
      {"16x3s1s1", "is not written"},
      {"16x-3s1", "is not written"},
      {"16x3s1.5", "is not written"},
      {"0x3s1", "the width of convolution 1, '0x3s1', is 0; it must be 1 to 65536"},
      {"16x256s1", "the kernel of convolution 1, '16x256s1', is 256; it must be 1 to 255"},
      {"16x3s1,32x3s0", "the stride of convolution 2, '32x3s0', is 0; it must be 1 to 255"},
      {"99999999999999999999x3s1", "the width of convolution 1"},
      {"1x1s1,1x1s1,1x1s1,1x1s1,1x1s1,1x1s1,1x1s1,1x1s1,1x1s1", "more than 8 convolutions"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    net_convs convs;
    lgv_error err = {0};
    assert_int_equal(lgv__net_parse_convs(wrong[i][0], &convs, &err), LGV_ERR_USAGE);
    if (!strstr(err.message, wrong[i][1])) fail_msg("no '%s' in: %s", wrong[i][1], err.message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_are_read_and_written),
      cmocka_unit_test(wrong_lists_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
