/* Shared by the sub-commands: tables of commands and options, error messages, progress. */
#ifndef LGV_CLI_H
#define LGV_CLI_H

#include "langevin.h"
#include "report/tools.h"

#include <stdio.h>

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

typedef struct cli_option {
  const char *name;     /* without dashes; NULL ends a table */
  char letter;          /* short form, or 0 */
  const char *argument; /* what follows, e.g. "FILE"; NULL for a switch */
  const char *help;
  const char *old_name; /* a former name that is still accepted, or NULL */
} cli_option;

typedef struct cli_command {
  const char *name, *summary;
  const char *usage; /* after "langevin NAME" */
  const cli_option *options;
  const char *notes; /* printed below the options; may be NULL */
  int (*main)(const struct cli_command *command, int count, char **words);
} cli_command;

extern const cli_command cli_run, cli_sweep, cli_tune, cli_zoo, cli_reproduce, cli_eval, cli_watch,
    cli_export, cli_plot, cli_show, cli_compare, cli_report, cli_list, cli_theory, cli_bench,
    cli_help, cli_version;
extern const cli_command *const cli_commands[]; /* NULL-terminated */

/* ---- Options: while (cli_next(&args)) ...; if (args.stopped) return args.exit_code; ---- */

typedef struct cli_args {
  const cli_command *command;
  int count;
  char **words;
  int at;
  bool plain_only;          /* after -- */
  const cli_option *option; /* NULL: value is a plain word */
  const char *value;
  bool stopped; /* an error was reported, or --help was answered */
  int exit_code;
} cli_args;

bool cli_next(cli_args *args);
/* The index of the current option in the command's table; -1 for a plain word. */
int cli_which(const cli_args *args);
/* The value of the current option as a number; on an error args->stopped is set. */
int64_t cli_value_int(cli_args *args, int64_t least, int64_t most);
double cli_value_real(cli_args *args);
/* Ends the parsing with an error message. */
void cli_reject(cli_args *args, const char *format, ...) LGV_PRINTF(2, 3);

/* ---- Messages ---- */

/* fprintf for messages that contain file names or contents: control characters are made visible.
 */
void cli_say(FILE *out, const char *format, ...) LGV_PRINTF(2, 3);
/* A stream for others to write such texts into; cli_text_print puts them on stdout and closes it.
 */
typedef struct cli_text {
  FILE *out; /* NULL: there is no memory */
  char *text;
  size_t length;
} cli_text;
void cli_text_open(cli_text *text);
void cli_text_print(cli_text *text);

/* ---- Error messages, all on stderr ---- */

int cli_wrong(const cli_command *command, const char *format, ...) LGV_PRINTF(2, 3);
/* Prints the error and returns its exit code. */
int cli_error(const cli_command *command, const lgv_error *err);
/* Prints a warning of the library, each text once. context: the cli_command. */
void cli_notice(void *context, const char *text);
/* Prints a finished JSON text on stdout and frees it. */
int cli_print_json(const cli_command *command, lgv_json *json);

/* ---- Help texts ---- */

void cli_print_command(const cli_command *command, FILE *out);
int cli_terminal_width(void);
int cli_terminal_height(void);
/* The prefix of the keys of a kind: "env." for env. */
const char *cli_kind_prefix(const char *kind);
/* The problems that an agent can be used for, in a few words. */
const char *cli_agent_takes(const lgv_entry *agent);

/* ---- Folders of data ---- */

/* The folder that the variable of the environment names, else as installed (bin/ beside share/, or
 * beside the folder itself in a wheel), else in the sources that the program was built in. */
bool cli_find_folder(const char *name, const char *variable, char *path, size_t size);

/* ---- Progress on stderr: a bar on a terminal, a line every few seconds elsewhere ---- */

typedef struct cli_progress {
  bool quiet, terminal;
  double started, shown;
} cli_progress;

enum { CLI_BAR_SIZE = 25 };

void cli_progress_start(cli_progress *progress, bool quiet);
void cli_progress_show(cli_progress *progress, const lgv_progress *now);
void cli_progress_clear(cli_progress *progress);
/* Whether it is time to report progress again. */
bool cli_progress_is_due(cli_progress *progress);
int cli_progress_width(void);                                 /* of the terminal that it is on */
void cli_format_count(double x, char *text, size_t size);     /* 812, 12.3k, 4.56M */
void cli_format_seconds(double x, char *text, size_t size);   /* 0:42, 12:05, 3:20:00 */
void cli_format_bar(double fraction, char bar[CLI_BAR_SIZE]); /* without its ends */

/* ---- The progress of a sweep: several lines on a terminal, one line every few seconds elsewhere
 * ---- */

size_t cli_sweep_runs(const lgv_sweep *sweep); /* of all configurations */
/* runs/NAME for the file DIR/NAME.yaml, runs/NAME-SCALE for a scale of it (NULL: none). */
void cli_default_out(const char *file, const char *scale, char *path, size_t size);
typedef struct cli_sweep_view cli_sweep_view;

/* NULL if there is no memory. summaries: those of the job, which on_run may read. */
cli_sweep_view *cli_sweep_view_open(const lgv_sweep *sweep, const lgv_summary *summaries,
                                    bool quiet);
void cli_sweep_view_run(cli_sweep_view *view, const lgv_run_news *news);
void cli_sweep_view_show(cli_sweep_view *view, const lgv_progress *now);
double cli_sweep_view_close(cli_sweep_view *view); /* seconds since it was opened */

/* ---- Videos ---- */

typedef struct cli_video {
  const char *path;
  double frames_per_second;
  int child; /* ffmpeg's process, 0 before the first frame */
  int pipe;
  lgv_picture size;
} cli_video;

LGV_CHECK lgv_status cli_video_add(cli_video *video, const lgv_picture *frame, lgv_error *err);
/* Waits until the file is complete; does nothing if there was no frame. */
LGV_CHECK lgv_status cli_video_end(cli_video *video, lgv_error *err);

/* ---- Ctrl-C ---- */

void cli_interrupt_install(void);
int cli_interrupted(void); /* the signal, or 0 */

#endif
