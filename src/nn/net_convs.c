/* Lists of convolutions as text: 16x3s1,32x3s1. */
#include "base/error.h"
#include "nn/net.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NUMBERS = 3, MOST_WIDTH = 65536, MOST_KERNEL = 255 };

static const char *const names[NUMBERS] = {"width", "kernel", "stride"};
static const int32_t largest[NUMBERS] = {MOST_WIDTH, MOST_KERNEL, MOST_KERNEL};

/* Reads digits and returns the first character after them; numbers stop growing at INT32_MAX. */
static const char *read_number(const char *text, int32_t *value) {
  int64_t number = 0;
  for (; isdigit((unsigned char)*text); text++)
    if (number < INT32_MAX) number = 10 * number + (*text - '0');
  *value = number < INT32_MAX ? (int32_t)number : INT32_MAX;
  return text;
}

/* Reads WIDTHxKERNELsSTRIDE up to `end`; whether the text has this form. */
static bool read_conv(const char *text, const char *end, int32_t number[NUMBERS]) {
  static const char after[NUMBERS] = "xs";
  for (int i = 0; i < NUMBERS; i++) {
    const char *rest = read_number(text, &number[i]);
    if (rest == text || (after[i] ? *rest != after[i] : rest != end)) return false;
    text = rest + 1;
  }
  return true;
}

static lgv_status check_conv(const char *all, int32_t at, const char *item, int length,
                             const int32_t number[NUMBERS], lgv_error *err) {
  for (int i = 0; i < NUMBERS; i++)
    if (number[i] < 1 || number[i] > largest[i])
      return lgv_fail(err, LGV_ERR_USAGE,
                      "agent.conv = '%.80s': the %s of convolution %d, '%.*s', is %d; it must be 1 "
                      "to %d",
                      all, names[i], at + 1, length, item, number[i], largest[i]);
  return LGV_OK;
}

static lgv_status add_conv(const char *all, const char *item, const char *end, net_convs *convs,
                           lgv_error *err) {
  int32_t number[NUMBERS], at = convs->count;
  int length = end - item < 20 ? (int)(end - item) : 20;
  if (at == NET_MOST_CONVS)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.conv = '%.80s' has more than %d convolutions, which are the most that a "
                    "network takes",
                    all, NET_MOST_CONVS);
  if (!read_conv(item, end, number))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.conv = '%.80s': convolution %d, '%.*s', is not written width x kernel s "
                    "stride: 16x3s1 has 16 channels, windows of 3 x 3 and stride 1",
                    all, at + 1, length, item);
  LGV_TRY(check_conv(all, at, item, length, number, err));
  convs->conv[at].width = number[0];
  convs->conv[at].kernel = number[1];
  convs->conv[at].stride = number[2];
  convs->count++;
  return LGV_OK;
}

lgv_status lgv__net_parse_convs(const char *text, net_convs *convs, lgv_error *err) {
  *convs = (net_convs){0};
  if (!*text) return LGV_OK;
  for (const char *item = text;;) {
    item += strspn(item, " ");
    const char *end = item + strcspn(item, " ,"), *next = end + strspn(end, " ");
    if (*next && *next != ',') end = next; /* two words in one place: no convolution */
    LGV_TRY(add_conv(text, item, end, convs, err));
    if (!*next) return LGV_OK;
    item = next + 1;
  }
}

void lgv__net_format_convs(const net_convs *convs, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int32_t i = 0; i < convs->count && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%dx%ds%d", i ? "," : "",
                             convs->conv[i].width, convs->conv[i].kernel, convs->conv[i].stride);
}
