/* Faults of the C library, for LD_PRELOAD (scripts/torture).
 *
 *   TORTURE=NAME:N:HOW     the N-th call of NAME by the program itself
 *     fail                 fails with the errno of the table below
 *     always               fails, and so does every later one
 *     interrupt            fails with EINTR
 *     short                does half of what was asked (read, write, send, recv, fread, fwrite)
 *     delay                succeeds after a pause of 30 ms
 *   TORTURE_COUNTS=FILE    writes "NAME CALLS" at exit, one line per function
 *   TORTURE_FIRED=FILE     makes the file when the fault happens
 *
 * Only calls from the program named `langevin` count, not those of the libraries it uses: a font
 * library without memory is not what is being tested. A forked child continues its parent's count.
 * stdio calls the system inside the C library, where nothing can be replaced; its functions fail as
 * they would, with the error indicator of the stream set; not on stderr, where nobody could say so.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- The functions, and the errno of their failures ---- */

/* clang-format off */
#define FUNCTIONS(X) \
  X(open, EMFILE) X(fopen, EMFILE) X(fdopen, ENOMEM) X(fmemopen, ENOMEM) \
  X(open_memstream, ENOMEM) X(close, EIO) X(fclose, EIO) X(fflush, ENOSPC) X(read, EIO) \
  X(write, ENOSPC) X(pread, EIO) X(pwrite, ENOSPC) X(fread, EIO) X(fwrite, ENOSPC) \
  X(fputs, ENOSPC) X(fputc, ENOSPC) X(fprintf, ENOSPC) X(printf, ENOSPC) X(puts, ENOSPC) \
  X(fgets, EIO) X(getdelim, EIO) X(fseek, EIO) X(ftell, EIO) X(lseek, EIO) X(fsync, EIO) \
  X(ftruncate, EIO) X(stat, EACCES) X(fstat, EIO) X(access, EACCES) X(rename, EIO) \
  X(unlink, EIO) X(mkdir, ENOSPC) X(rmdir, EIO) X(flock, ENOLCK) X(fcntl, EINVAL) \
  X(opendir, EMFILE) X(readdir, EIO) X(scandir, ENOMEM) X(realpath, EIO) X(readlink, EIO) \
  X(mkdtemp, ENOSPC) X(dup2, EBADF) X(calloc, ENOMEM) X(realloc, ENOMEM) X(strdup, ENOMEM) \
  X(strndup, ENOMEM) X(mmap, ENOMEM) X(madvise, ENOMEM) X(fork, EAGAIN) X(_Fork, EAGAIN) \
  X(posix_spawnp, EAGAIN) X(pipe, EMFILE) X(pipe2, EMFILE) X(waitpid, ECHILD) X(waitid, ECHILD) \
  X(kill, EPERM) X(socketpair, EMFILE) X(memfd_create, EMFILE) X(send, EPIPE) \
  X(recv, ECONNRESET) X(setsockopt, ENOPROTOOPT) X(pthread_create, EAGAIN) X(dlmopen, ENOMEM) \
  X(dlopen, ENOMEM) X(execvp, ENOENT) X(clock_gettime, EINVAL) X(nanosleep, EINTR) X(sysconf, EINVAL) \
  X(gethostname, EFAULT)
/* clang-format on */

#define NAME(name, error) F_##name,
#define TEXT(name, error) #name,
#define ERROR(name, error) error,
enum { FUNCTIONS(NAME) COUNT };
static const char *const names[] = {FUNCTIONS(TEXT)};
static const int errors[] = {FUNCTIONS(ERROR)};

typedef enum how { NO, FAIL, SHORT, DELAY } how;

static atomic_long calls[COUNT];
static int chosen = -1, wanted_error;
static long at_call;
static bool always;
static how chosen_how;
static uintptr_t program_begin, program_end; /* 0: not the program under test */

/* ---- Setting up ---- */

static int find_program(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size, (void)unused;
  program_begin = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD) continue;
    uintptr_t begin = info->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
    if (begin < program_begin) program_begin = begin;
    if (end > program_end) program_end = end;
  }
  return 1; /* the first is the program itself */
}

static void choose(const char *text) {
  char name[64], what[16];
  if (sscanf(text, "%63[^:]:%ld:%15s", name, &at_call, what) != 3) return;
  for (int i = 0; i < COUNT; i++)
    if (strcmp(names[i], name) == 0) chosen = i;
  always = strcmp(what, "always") == 0;
  chosen_how = strcmp(what, "delay") == 0 ? DELAY : strcmp(what, "short") == 0 ? SHORT : FAIL;
  wanted_error = chosen < 0 ? 0 : strcmp(what, "interrupt") == 0 ? EINTR : errors[chosen];
}

__attribute__((constructor)) static void begin(void) {
  const char *slash = strrchr(program_invocation_name, '/');
  if (strcmp(slash ? slash + 1 : program_invocation_name, "langevin") != 0) return;
  if (getenv("TORTURE")) choose(getenv("TORTURE"));
  dl_iterate_phdr(find_program, NULL);
}

static void put(const char *path, int flags, const char *text) {
  int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  long written = syscall(SYS_write, file, text, strlen(text));
  (void)written;
  syscall(SYS_close, file);
}

/* At exit, and before another program takes the place of this one. */
__attribute__((destructor)) static void write_counts(void) {
  const char *path = getenv("TORTURE_COUNTS");
  char line[128];
  for (int i = 0; path && program_begin && i < COUNT; i++) {
    snprintf(line, sizeof line, "%s %ld\n", names[i], atomic_load(&calls[i]));
    put(path, O_APPEND, line);
  }
}

/* Counts a call and says what becomes of it. */
static how turn(int function, const void *caller) {
  uintptr_t from = (uintptr_t)caller;
  if (from < program_begin || from >= program_end) return NO;
  long now = atomic_fetch_add(&calls[function], 1) + 1;
  if (function != chosen || (always ? now < at_call : now != at_call)) return NO;
  if (getenv("TORTURE_FIRED")) put(getenv("TORTURE_FIRED"), 0, "");
  if (chosen_how == DELAY) {
    struct timespec pause = {.tv_nsec = 30000000};
    syscall(SYS_nanosleep, &pause, NULL);
    return NO;
  }
  errno = wanted_error;
  return chosen_how;
}

#define HOW(name) turn(F_##name, __builtin_return_address(0))
#define FAILS(name) (HOW(name) == FAIL)

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

/* The replaced function, found at its first call. */
#define REAL(result, name, ...)                                                                    \
  static result (*real)(__VA_ARGS__);                                                              \
  if (!real) *(void **)&real = next(#name)

/* result NAME(parameters): fails by returning `failure`, else calls the replaced one. */
#define WRAP(result, name, failure, parameters, ...)                                               \
  result name parameters {                                                                         \
    static result(*real) parameters;                                                               \
    if (!real) *(void **)&real = next(#name);                                                      \
    if (FAILS(name)) return failure;                                                               \
    return real(__VA_ARGS__);                                                                      \
  }

/* The same for functions that release what they are given even if they fail. */
#define WRAP_ENDING(result, name, failure, parameters, ...)                                        \
  result name parameters {                                                                         \
    static result(*real) parameters;                                                               \
    if (!real) *(void **)&real = next(#name);                                                      \
    bool fails = FAILS(name);                                                                      \
    int error = errno;                                                                             \
    result done = real(__VA_ARGS__);                                                               \
    if (fails) errno = error;                                                                      \
    return fails ? failure : done;                                                                 \
  }

/* ---- Files ---- */

int open(const char *path, int flags, ...) {
  REAL(int, open, const char *, int, ...);
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
  va_end(list);
  return FAILS(open) ? -1 : real(path, flags, mode);
}

int fcntl(int file, int command, ...) {
  REAL(int, fcntl, int, int, ...);
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  return FAILS(fcntl) ? -1 : real(file, command, argument);
}

WRAP(FILE *, fopen, NULL, (const char *path, const char *mode), path, mode)
WRAP(FILE *, fdopen, NULL, (int file, const char *mode), file, mode)
WRAP(FILE *, fmemopen, NULL, (void *data, size_t size, const char *mode), data, size, mode)
WRAP(FILE *, open_memstream, NULL, (char **text, size_t *size), text, size)
WRAP_ENDING(int, close, -1, (int file), file)
WRAP_ENDING(int, fclose, EOF, (FILE * file), file)
WRAP(int, fseek, -1, (FILE * file, long offset, int from), file, offset, from)
WRAP(long, ftell, -1, (FILE * file), file)
WRAP(off_t, lseek, -1, (int file, off_t offset, int from), file, offset, from)
WRAP(int, fsync, -1, (int file), file)
WRAP(int, ftruncate, -1, (int file, off_t size), file, size)
WRAP(int, stat, -1, (const char *restrict path, struct stat *restrict info), path, info)
WRAP(int, fstat, -1, (int file, struct stat *info), file, info)
WRAP(int, access, -1, (const char *path, int mode), path, mode)
WRAP(int, rename, -1, (const char *from, const char *to), from, to)
WRAP(int, unlink, -1, (const char *path), path)
WRAP(int, mkdir, -1, (const char *path, mode_t mode), path, mode)
WRAP(int, rmdir, -1, (const char *path), path)
WRAP(int, flock, -1, (int file, int operation), file, operation)
WRAP(DIR *, opendir, NULL, (const char *path), path)
WRAP(struct dirent *, readdir, NULL, (DIR * folder), folder)
WRAP(int, scandir, -1,
     (const char *restrict path, struct dirent ***restrict list,
      int (*filter)(const struct dirent *),
      int (*order)(const struct dirent **, const struct dirent **)),
     path, list, filter, order)
WRAP(char *, realpath, NULL, (const char *restrict path, char *restrict out), path, out)
WRAP(ssize_t, readlink, -1, (const char *restrict path, char *restrict out, size_t size), path, out,
     size)
WRAP(char *, mkdtemp, NULL, (char *path), path)
WRAP(int, dup2, -1, (int from, int to), from, to)

/* ---- Bytes ---- */

/* Calls that may do a part of what they are asked. */
#define WRAP_BYTES(name, parameters, size, ...)                                                    \
  ssize_t name parameters {                                                                        \
    static ssize_t(*real) parameters;                                                              \
    if (!real) *(void **)&real = next(#name);                                                      \
    how h = HOW(name);                                                                             \
    if (h == FAIL) return -1;                                                                      \
    if (h == SHORT && size > 1) size /= 2;                                                         \
    return real(__VA_ARGS__);                                                                      \
  }

WRAP_BYTES(read, (int file, void *data, size_t size), size, file, data, size)
WRAP_BYTES(write, (int file, const void *data, size_t size), size, file, data, size)
WRAP_BYTES(pread, (int file, void *data, size_t size, off_t at), size, file, data, size, at)
WRAP_BYTES(pwrite, (int file, const void *data, size_t size, off_t at), size, file, data, size, at)
WRAP_BYTES(send, (int file, const void *data, size_t size, int flags), size, file, data, size,
           flags)
WRAP_BYTES(recv, (int file, void *data, size_t size, int flags), size, file, data, size, flags)

static void mark(FILE *file) { file->_flags |= 0x20; } /* ferror() of glibc */

size_t fread(void *restrict data, size_t size, size_t count, FILE *restrict file) {
  REAL(size_t, fread, void *, size_t, size_t, FILE *);
  how h = HOW(fread);
  int error = errno;
  if (h == NO) return real(data, size, count, file);
  size_t done = h == SHORT ? real(data, size, count / 2, file) : 0;
  mark(file);
  errno = error;
  return done;
}

size_t fwrite(const void *restrict data, size_t size, size_t count, FILE *restrict file) {
  REAL(size_t, fwrite, const void *, size_t, size_t, FILE *);
  how h = file == stderr ? NO : HOW(fwrite);
  int error = errno;
  if (h == NO) return real(data, size, count, file);
  size_t done = h == SHORT ? real(data, size, count / 2, file) : 0;
  mark(file);
  errno = error;
  return done;
}

/* A stream that could not be flushed loses nothing here, but says so. */
int fflush(FILE *file) {
  REAL(int, fflush, FILE *);
  if (!FAILS(fflush)) return real(file);
  if (file) mark(file);
  return EOF;
}

int fputs(const char *restrict text, FILE *restrict file) {
  REAL(int, fputs, const char *, FILE *);
  if (file == stderr || !FAILS(fputs)) return real(text, file);
  mark(file);
  return EOF;
}

int fputc(int c, FILE *file) {
  REAL(int, fputc, int, FILE *);
  if (file == stderr || !FAILS(fputc)) return real(c, file);
  mark(file);
  return EOF;
}

int puts(const char *text) {
  REAL(int, puts, const char *);
  if (!FAILS(puts)) return real(text);
  mark(stdout);
  return EOF;
}

int fprintf(FILE *restrict file, const char *restrict format, ...) {
  va_list list;
  int written = -1;
  va_start(list, format);
  if (file != stderr && FAILS(fprintf))
    mark(file);
  else
    written = vfprintf(file, format, list);
  va_end(list);
  return written;
}

int printf(const char *restrict format, ...) {
  va_list list;
  int written = -1;
  va_start(list, format);
  if (FAILS(printf))
    mark(stdout);
  else
    written = vfprintf(stdout, format, list);
  va_end(list);
  return written;
}

char *fgets(char *restrict text, int size, FILE *restrict file) {
  REAL(char *, fgets, char *, int, FILE *);
  if (!FAILS(fgets)) return real(text, size, file);
  mark(file);
  return NULL;
}

/* getline() of the headers calls it. */
ssize_t __getdelim(char **text, size_t *size, int end_of_line, FILE *file) {
  REAL(ssize_t, __getdelim, char **, size_t *, int, FILE *);
  if (!FAILS(getdelim)) return real(text, size, end_of_line, file);
  mark(file);
  return -1;
}

/* ---- Memory. dlsym() itself allocates, so the real ones are called by their other names. ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *calloc(size_t count, size_t size) {
  return FAILS(calloc) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) { return FAILS(realloc) ? NULL : __libc_realloc(old, size); }

static char *copy(const char *text, size_t length) {
  char *made = __libc_malloc(length + 1);
  if (made) memcpy(made, text, length);
  if (made) made[length] = '\0';
  return made;
}

char *strdup(const char *text) { return FAILS(strdup) ? NULL : copy(text, strlen(text)); }

char *strndup(const char *text, size_t most) {
  return FAILS(strndup) ? NULL : copy(text, strnlen(text, most));
}

WRAP(void *, mmap, MAP_FAILED, (void *at, size_t size, int use, int flags, int file, off_t offset),
     at, size, use, flags, file, offset)
WRAP(int, madvise, -1, (void *at, size_t size, int advice), at, size, advice)

/* ---- Processes and threads ---- */

WRAP(pid_t, fork, -1, (void), )
WRAP(pid_t, _Fork, -1, (void), )
WRAP(int, pipe, -1, (int ends[2]), ends)
WRAP(int, pipe2, -1, (int ends[2], int flags), ends, flags)
WRAP(pid_t, waitpid, -1, (pid_t child, int *state, int options), child, state, options)
WRAP(int, waitid, -1, (idtype_t kind, id_t id, siginfo_t *info, int options), kind, id, info,
     options)
WRAP(int, kill, -1, (pid_t process, int signal), process, signal)
WRAP(int, socketpair, -1, (int domain, int type, int protocol, int ends[2]), domain, type, protocol,
     ends)
WRAP(int, memfd_create, -1, (const char *name, unsigned flags), name, flags)
WRAP(int, setsockopt, -1, (int file, int level, int option, const void *value, socklen_t size),
     file, level, option, value, size)
WRAP(int, pthread_create, EAGAIN,
     (pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*start)(void *),
      void *restrict argument),
     thread, attributes, start, argument)
WRAP(int, posix_spawnp, EAGAIN,
     (pid_t *restrict child, const char *restrict file,
      const posix_spawn_file_actions_t *restrict actions,
      const posix_spawnattr_t *restrict attributes, char *const arguments[restrict],
      char *const environment[restrict]),
     child, file, actions, attributes, arguments, environment)

int execvp(const char *file, char *const arguments[]) {
  REAL(int, execvp, const char *, char *const *);
  if (FAILS(execvp)) return -1;
  write_counts();
  return real(file, arguments);
}

WRAP(void *, dlmopen, NULL, (Lmid_t space, const char *path, int mode), space, path, mode)
WRAP(void *, dlopen, NULL, (const char *path, int mode), path, mode)

/* ---- Clocks and the machine ---- */

WRAP(int, clock_gettime, -1, (clockid_t clock, struct timespec *time), clock, time)
WRAP(int, nanosleep, -1, (const struct timespec *wanted, struct timespec *left), wanted, left)
WRAP(long, sysconf, -1, (int name), name)
WRAP(int, gethostname, -1, (char *name, size_t size), name, size)
