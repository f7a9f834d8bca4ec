/* The option parser: --name value, --name=value, -n value, -j2 for numbers, plain words, and
 * -- before plain words that begin with a dash. */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_OPTIONS = 32 };

static void say(FILE *out, const char *format, va_list args) {
  char text[2 * PATH_MAX];
  vsnprintf(text, sizeof text, format, args);
  lgv__put_visible(out, text);
}

void cli_say(FILE *out, const char *format, ...) {
  va_list args;
  va_start(args, format);
  say(out, format, args);
  va_end(args);
}

void cli_text_open(cli_text *t) {
  *t = (cli_text){0};
  t->out = open_memstream(&t->text, &t->length);
}

void cli_text_print(cli_text *t) {
  bool whole = !ferror(t->out);
  whole &= fclose(t->out) == 0;
  if (!whole) lgv__mark_output_incomplete();
  if (t->text) lgv__put_visible(stdout, t->text);
  free(t->text);
}

static void complain(const cli_command *command, const char *format, va_list args) {
  fprintf(stderr, "langevin %s: ", command->name);
  say(stderr, format, args);
  fputc('\n', stderr);
}

int cli_wrong(const cli_command *command, const char *format, ...) {
  va_list args;
  va_start(args, format);
  complain(command, format, args);
  va_end(args);
  return CLI_USAGE;
}

static pthread_mutex_t notice_lock = PTHREAD_MUTEX_INITIALIZER;

void cli_notice(void *context, const char *text) {
  enum { KEPT = 64 };
  static uint64_t seen[KEPT]; /* ring of the latest texts */
  static size_t count;
  const cli_command *command = context;
  uint64_t hash = lgv__hash(LGV_HASH_START, text, strlen(text));
  pthread_mutex_lock(&notice_lock);
  bool known = false;
  for (size_t i = 0; i < KEPT; i++) known |= seen[i] == hash;
  seen[count++ % KEPT] = hash;
  const char *clear = isatty(STDERR_FILENO) ? "\r\033[K" : ""; /* a progress bar */
  if (!known) {
    fprintf(stderr, "%slangevin %s: ", clear, command->name);
    lgv__put_visible(stderr, text);
    fputc('\n', stderr);
  }
  pthread_mutex_unlock(&notice_lock);
}

void cli_reject(cli_args *args, const char *format, ...) {
  va_list list;
  va_start(list, format);
  complain(args->command, format, list);
  va_end(list);
  fprintf(stderr, "`langevin help %s` shows its usage\n", args->command->name);
  args->stopped = true;
  args->exit_code = CLI_USAGE;
}

int cli_error(const cli_command *command, const lgv_error *err) {
  cli_wrong(command, "%s", err->message);
  return err->status == LGV_ERR_USAGE ? CLI_USAGE : CLI_FAILED;
}

int cli_print_json(const cli_command *command, lgv_json *json) {
  bool ok = !json->failed && fputs(json->text, stdout) >= 0 && fflush(stdout) == 0;
  if (!ok) cli_wrong(command, "cannot write the JSON result: %s", strerror(errno));
  lgv__json_free(json);
  return ok ? CLI_OK : CLI_FAILED;
}

static bool is_word(const char *name, const char *text, size_t length) {
  return name && strlen(name) == length && strncmp(name, text, length) == 0;
}

static const cli_option *find_long(const cli_command *command, const char *name, size_t length) {
  for (const cli_option *o = command->options; o->name; o++)
    if (is_word(o->name, name, length) || is_word(o->old_name, name, length)) return o;
  return NULL;
}

static const cli_option *find_letter(const cli_command *command, char letter) {
  for (const cli_option *o = command->options; o->name; o++)
    if (o->letter == letter) return o;
  return NULL;
}

static void reject_unknown(cli_args *args, const char *word) {
  const char *names[MOST_OPTIONS + 1] = {0};
  char name[64];
  size_t n = 0;
  for (const cli_option *o = args->command->options; o->name && n < MOST_OPTIONS; o++)
    names[n++] = o->name;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(word + strspn(word, "-"), "="),
           word + strspn(word, "-"));
  const char *near = lgv__nearest_name(name, names);
  bool has_set = find_long(args->command, "set", 3) != NULL;
  if (near)
    cli_reject(args, "unknown option '%s'; did you mean '--%s'?", word, near);
  else
    cli_reject(args, "unknown option '%s'%s", word,
               has_set ? "; parameters are set like this: --set agent.lambda=0.1" : "");
}

/* The option that `word` names, and the value after '=' or after the letter, if there is one. */
static const cli_option *match(cli_args *args, const char *word, const char **value) {
  *value = NULL;
  if (word[1] != '-') {
    const cli_option *option = find_letter(args->command, word[1]);
    if (word[2]) *value = word + 2;
    return !word[2] || (isdigit((unsigned char)word[2]) && option && option->argument) ? option
                                                                                       : NULL;
  }
  size_t length = strcspn(word + 2, "=");
  if (word[2 + length] == '=') *value = word + 2 + length + 1;
  return find_long(args->command, word + 2, length);
}

static bool take_option(cli_args *args, const char *word) {
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
    cli_print_command(args->command, stdout);
    args->stopped = true;
    args->exit_code = CLI_OK;
    return false;
  }
  args->option = match(args, word, &args->value);
  if (!args->option) {
    reject_unknown(args, word);
    return false;
  }
  const cli_option *o = args->option;
  if (o->argument && !args->value && args->at < args->count) args->value = args->words[args->at++];
  if (o->argument && !args->value)
    cli_reject(args, "--%s needs a value: --%s %s", o->name, o->name, o->argument);
  if (!o->argument && args->value) cli_reject(args, "--%s takes no value", o->name);
  return !args->stopped;
}

/* -1 and -.5 are numbers, not options. */
static bool is_option(const char *word) {
  return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]) && word[1] != '.';
}

bool cli_next(cli_args *args) {
  if (args->stopped || args->at >= args->count) return false;
  const char *word = args->words[args->at++];
  if (!args->plain_only && strcmp(word, "--") == 0) {
    args->plain_only = true;
    return cli_next(args);
  }
  if (!args->plain_only && is_option(word)) return take_option(args, word);
  args->option = NULL;
  args->value = word;
  return true;
}

int cli_which(const cli_args *args) {
  return args->option ? (int)(args->option - args->command->options) : -1;
}

double cli_value_real(cli_args *args) {
  char *end;
  double value = strtod(args->value, &end);
  if (end == args->value || *end)
    cli_reject(args, "--%s takes a number, not '%s'", args->option->name, args->value);
  return value;
}

int64_t cli_value_int(cli_args *args, int64_t least, int64_t most) {
  double value = cli_value_real(args); /* accepts 1e6 for 1000000 */
  if (args->stopped) return least;
  if (!(value >= (double)least && value <= (double)most) || value != floor(value)) {
    cli_reject(args, "--%s takes a whole number from %lld to %lld, not '%s'", args->option->name,
               (long long)least, (long long)most, args->value);
    return least;
  }
  return (int64_t)value;
}
