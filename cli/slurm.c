/* A sweep as a Slurm array. Task t of the array does the runs t * n to t * n + n - 1, where n is 1
 * unless the cluster's MaxArraySize asks for more; only tasks with a run that is wanted are
 * submitted. A task that is told to end (a minute before its time limit, by preemption or by hand)
 * writes checkpoints and ends; one that Slurm still counts as running asks to be queued again, so
 * that runs may be longer than the time limit. */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USUAL_ARRAY_SIZE = 1001, MOST_RESTARTS = 100 };

extern char **environ;

typedef struct script {
  const cli_slurm *slurm;
  char program[PATH_MAX], file[PATH_MAX], out[PATH_MAX], here[PATH_MAX];
  size_t per_task;
  char *text;
  size_t length;
} script;

/* ---- The script ---- */

/* The number of tasks that an array may have; the default where nobody can be asked. */
static size_t array_size(void) {
  char line[512];
  size_t size = USUAL_ARRAY_SIZE, found;
  FILE *config = popen("scontrol show config 2>/dev/null", "r");
  if (!config) return size;
  while (fgets(line, sizeof line, config))
    if (sscanf(line, "MaxArraySize = %zu", &found) == 1 && found > 0) size = found;
  pclose(config);
  return size;
}

/* In a comment for sbatch, where % begins a symbol. */
static void print_log_path(FILE *out, const char *directory) {
  fputs("#SBATCH --output=\"", out);
  for (; *directory; directory++)
    fprintf(out,
            *directory == '%'            ? "%%%%"
            : strchr("\"\\", *directory) ? "\\%c"
                                         : "%c",
            *directory);
  fputs("/slurm/%A_%a.log\"\n", out);
}

static void print_array(const script *s, FILE *out) {
  const cli_slurm *slurm = s->slurm;
  size_t tasks = (slurm->runs + s->per_task - 1) / s->per_task;
  bool *chosen = calloc(tasks, sizeof *chosen);
  if (!chosen) return;
  for (size_t i = 0; i < slurm->runs; i++) chosen[i / s->per_task] |= slurm->wanted[i];
  fputs("#SBATCH --array=", out);
  lgv__run_list_print(chosen, tasks, out);
  fputc('\n', out);
  free(chosen);
}

/* What names the sweep on a command line. */
static void print_sweep(const cli_slurm *slurm, const char *file, const char *out, FILE *stream) {
  fputs("sweep ", stream);
  lgv__shell_word(stream, file);
  fputs(" --out ", stream);
  lgv__shell_word(stream, out);
  if (!slurm->scale) return;
  fputs(" --scale ", stream);
  lgv__shell_word(stream, slurm->scale);
}

static void print_work(const script *s, FILE *out) {
  fprintf(out,
          "first=$((SLURM_ARRAY_TASK_ID * %zu))\n"
          "last=$((first + %zu))\n"
          "if [ \"$last\" -gt %zu ]; then last=%zu; fi\n",
          s->per_task, s->per_task - 1, s->slurm->runs - 1, s->slurm->runs - 1);
  lgv__shell_word(out, s->program);
  fputc(' ', out);
  print_sweep(s->slurm, s->file, s->out, out);
  fprintf(
      out,
      " \\\n  --quiet --jobs \"${SLURM_CPUS_PER_TASK:-1}\" --index \"$first-$last\" &\n"
      "child=$!\n"
      "trap 'kill -TERM \"$child\"' TERM\n"
      "wait \"$child\"\n"
      "code=$?\n"
      "while kill -0 \"$child\" 2>/dev/null; do # a signal ends wait, too\n"
      "  wait \"$child\"\n"
      "  code=$?\n"
      "done\n"
      "# Told to end before it was done. Who canceled or requeued the task wants no more of it;\n"
      "# if it still counts as running, its time is up. SLURM_JOB_ID may mean the whole array.\n"
      "task=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\n"
      "if [ \"$code\" = 143 ] && [ \"${SLURM_RESTART_COUNT:-0}\" -lt %d ] &&\n"
      "  [ \"$(squeue -h -j \"$task\" -o %%T)\" = RUNNING ]; then\n"
      "  scontrol requeue \"$task\"\n"
      "fi\n"
      "exit \"$code\"\n",
      MOST_RESTARTS);
}

static void print_script(const script *s, FILE *out) {
  const char *slash = strrchr(s->out, '/');
  fputs("#!/bin/sh\n# Written by `langevin sweep --slurm`, which also submits it.\n", out);
  fputs("#SBATCH --job-name=\"", out);
  for (const char *c = slash ? slash + 1 : s->out; *c; c++)
    fputc(strchr("\"\\ '", *c) ? '-' : *c, out);
  fputs("\"\n", out);
  print_array(s, out);
  print_log_path(out, s->out);
  fputs("#SBATCH --open-mode=append\n#SBATCH --requeue\n#SBATCH --signal=B:TERM@60\n"
        "cd ",
        out);
  lgv__shell_word(out, s->here);
  fputs(" || exit 1\n", out);
  print_work(s, out);
}

/* Paths that hold on every node, whatever directory a job starts in. */
static int find_paths(script *s) {
  const cli_slurm *slurm = s->slurm;
  ssize_t length = readlink("/proc/self/exe", s->program, sizeof s->program - 1);
  if (length <= 0 || !getcwd(s->here, sizeof s->here) || !realpath(slurm->file, s->file))
    return cli_wrong(slurm->command, "cannot find the paths for the script: %s", strerror(errno));
  s->program[length] = '\0';
  const char *base = slurm->out[0] == '/' ? "" : s->here;
  int used = snprintf(s->out, sizeof s->out, "%s%s%s", base, base[0] ? "/" : "", slurm->out);
  while (used > 1 && (size_t)used < sizeof s->out && s->out[used - 1] == '/') s->out[--used] = '\0';
  return (size_t)used < sizeof s->out ? CLI_OK : cli_wrong(slurm->command, "--out is too long");
}

static int make_script(script *s) {
  const cli_slurm *slurm = s->slurm;
  int code = find_paths(s);
  if (code != CLI_OK) return code;
  size_t most = array_size(), least = (slurm->runs + most - 1) / most;
  s->per_task = slurm->per_task ? slurm->per_task : least;
  if (s->per_task < least)
    return cli_wrong(slurm->command,
                     "%zu runs need at least %zu a task: this cluster's MaxArraySize is %zu",
                     slurm->runs, least, most);
  FILE *out = open_memstream(&s->text, &s->length);
  if (out) print_script(s, out);
  if (out && fclose(out) == 0) return CLI_OK;
  return cli_wrong(slurm->command, "not enough memory for the script");
}

/* ---- Submitting ---- */

/* Runs sbatch; what it says on stdout becomes `answer`. -1: it cannot be run. */
static int run_sbatch(char *const *words, char *answer, size_t size) {
  int ends[2], status;
  pid_t child;
  posix_spawn_file_actions_t actions;
  if (pipe(ends) != 0 || posix_spawn_file_actions_init(&actions) != 0) return -1;
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  int failed = posix_spawnp(&child, words[0], &actions, NULL, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  FILE *in = fdopen(ends[0], "r");
  size_t length = in && !failed ? fread(answer, 1, size - 1, in) : 0;
  answer[length] = '\0';
  if (in) fclose(in);
  errno = failed;
  if (failed) return -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int submit(const script *s, const char *path) {
  const cli_slurm *slurm = s->slurm;
  size_t n = 0, count = 0;
  char answer[256];
  while (slurm->options[count]) count++;
  const char **words = calloc(count + 4, sizeof *words);
  if (!words) return cli_wrong(slurm->command, "not enough memory");
  words[n++] = "sbatch";
  words[n++] = "--parsable";
  for (size_t i = 0; i < count; i++) words[n++] = slurm->options[i];
  words[n] = path;
  int code = run_sbatch((char *const *)words, answer, sizeof answer);
  int reason = errno;
  free(words);
  if (code < 0) {
    cli_wrong(
        slurm->command,
        "cannot run sbatch: %s. Submit from a machine where Slurm is installed (the script is "
        "%s), or run the sweep here without --slurm",
        strerror(reason), path);
    return CLI_FAILED;
  }
  if (code != 0) {
    cli_wrong(slurm->command,
              "sbatch refused the job, for the reason above. Its options stand behind --, such as: "
              "langevin sweep %s --slurm -- --partition=NAME --time=1:00:00; the script is %s",
              slurm->file, path);
    return CLI_FAILED;
  }
  answer[strcspn(answer, ";\n")] = '\0';
  printf("submitted as job %s, %zu run%s a task; logs: %s/slurm\n"
         "when it is done: langevin ",
         answer, s->per_task, s->per_task == 1 ? "" : "s", slurm->out);
  print_sweep(slurm, slurm->file, slurm->out, stdout);
  puts(" --merge");
  return CLI_OK;
}

static int write_and_submit(const script *s) {
  char directory[PATH_MAX], path[PATH_MAX + 16];
  lgv_error err = {0};
  if (snprintf(directory, sizeof directory, "%s/slurm", s->out) >= (int)sizeof directory)
    return cli_wrong(s->slurm->command, "--out is too long");
  snprintf(path, sizeof path, "%s/array.sh", directory);
  lgv_status status = lgv__make_directory(directory, &err);
  if (status == LGV_OK) status = lgv__write_file(directory, "array.sh", s->text, s->length, &err);
  return status == LGV_OK ? submit(s, path) : cli_error(s->slurm->command, &err);
}

int cli_slurm_submit(const cli_slurm *slurm) {
  script s = {.slurm = slurm};
  int code = make_script(&s);
  if (code == CLI_OK && slurm->dry_run)
    fwrite(s.text, 1, s.length, stdout);
  else if (code == CLI_OK)
    code = write_and_submit(&s);
  free(s.text);
  return code;
}
