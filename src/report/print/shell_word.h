/* A word of a command line, for commands that people copy and scripts that shells read. */
#ifndef LGV_REPORT_PRINT_SHELL_WORD_H
#define LGV_REPORT_PRINT_SHELL_WORD_H

#include <stdio.h>

/* As it is where a shell passes it on unchanged, else in single quotes. */
void lgv__shell_word(FILE *out, const char *text);

#endif
