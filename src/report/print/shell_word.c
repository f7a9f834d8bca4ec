#include "report/print/shell_word.h"

#include <string.h>

void lgv__shell_word(FILE *out, const char *text) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-+.,:/@%=";
  if (*text && !text[strspn(text, plain)]) {
    fputs(text, out);
    return;
  }
  fputc('\'', out);
  for (; *text; text++) fprintf(out, *text == '\'' ? "'\\''" : "%c", *text);
  fputc('\'', out);
}
