#include "record/checkpoint.h"

#include "base/error.h"
#include "base/io/disk.h"
#include "base/io/file.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEW "checkpoint-new.safetensors"
static const char *const names[] = {"checkpoint.safetensors", "checkpoint-previous.safetensors"};
static const char *const leftovers[] = {NEW, NEW ".tmp"};

static size_t fork_from = (size_t)64 << 20; /* smaller ones take a fraction of a second */

size_t lgv__checkpoint_fork_from(size_t bytes) {
  size_t before = fork_from;
  fork_from = bytes;
  return before;
}

/* ---- writing ---- */

typedef struct places {
  const char *directory;
  bool keeps; /* the newest one so far, as checkpoint-previous */
  char path[PATH_MAX], previous[PATH_MAX];
  lgv_tensors_image image; /* of NEW */
} places;

static lgv_status prepare(places *p, const lgv_checkpoint_writer *writer,
                          const lgv_tensors *tensors, lgv_error *err) {
  const char *directory = writer->directory;
  char fresh[PATH_MAX];
  p->directory = directory;
  p->keeps = !writer->newest_refused;
  LGV_TRY(lgv__join_path(directory, names[0], p->path, sizeof p->path, err));
  LGV_TRY(lgv__join_path(directory, names[1], p->previous, sizeof p->previous, err));
  LGV_TRY(lgv__join_path(directory, NEW, fresh, sizeof fresh, err));
  return lgv__tensors_prepare(&p->image, tensors, fresh, err);
}

/* Completes the new file beside the old one before either is renamed, so that a complete checkpoint
 * always exists. A refused one must not replace the previous one. Returns errno. */
static int put(const places *p) {
  int reason = lgv__tensors_emit(&p->image);
  if (reason) return reason;
  bool ok = (!p->keeps || lgv__disk_rename(p->path, p->previous) || errno == ENOENT) &&
            lgv__disk_rename(p->image.path, p->path) && lgv__disk_sync_directory(p->directory);
  return ok ? 0 : errno;
}

static lgv_status settle(lgv_checkpoint_writer *writer, int reason, lgv_error *err) {
  writer->newest_refused &= reason != 0;
  if (!reason) return LGV_OK;
  return lgv_fail(err, LGV_ERR_IO, "cannot write %.300s/%s: %s", writer->directory, names[0],
                  strerror(reason));
}

lgv_status lgv__checkpoint_write(lgv_checkpoint_writer *writer, const lgv_tensors *tensors,
                                 lgv_error *err) {
  places p;
  bool lost;
  LGV_TRY(lgv__checkpoint_wait(writer, &lost, err));
  LGV_TRY(prepare(&p, writer, tensors, err));
  int reason = put(&p);
  lgv__tensors_image_free(&p.image);
  return settle(writer, reason, err);
}

/* ---- in a child ---- */

/* Keeps only the lock: pipes to other processes must close when the run ends. musl has no function
 * of this name. */
static void close_all_but(int kept) {
  if (kept > 0) syscall(SYS_close_range, 0u, (unsigned)kept - 1, 0u);
  syscall(SYS_close_range, (unsigned)(kept + 1), ~0u, 0u);
}

static void ignore_signals(void) {
  const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) signal(numbers[i], SIG_IGN);
}

static void live_as_child(const places *p, const lgv_checkpoint_writer *writer) {
  ignore_signals(); /* Ctrl-C reaches the whole process group, but the run decides */
  close_all_but(writer->lock);
  *writer->result = put(p);
  _exit(0);
}

#if defined __SANITIZE_THREAD__
static const bool can_fork = false; /* the sanitizer's own locks do not survive a fork */
#else
static const bool can_fork = true;
#endif

static bool begin_child(lgv_checkpoint_writer *writer, places *p) {
  if (!can_fork) return false;
  void *shared = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return false;
  writer->result = shared;
  *writer->result = -1;
  p->image.parent = getpid();
  writer->child = _Fork();
  if (writer->child == 0) live_as_child(p, writer);
  if (writer->child > 0) return true;
  writer->child = 0;
  p->image.parent = 0;
  munmap(shared, sizeof(int));
  return false;
}

lgv_status lgv__checkpoint_start(lgv_checkpoint_writer *writer, const lgv_tensors *tensors,
                                 lgv_error *err) {
  places p;
  bool lost;
  LGV_TRY(lgv__checkpoint_wait(writer, &lost, err));
  LGV_TRY(prepare(&p, writer, tensors, err));
  /* if there can be no child, the run writes it */
  bool elsewhere = p.image.bytes >= fork_from && begin_child(writer, &p);
  int reason = elsewhere ? 0 : put(&p);
  lgv__tensors_image_free(&p.image);
  return elsewhere ? LGV_OK : settle(writer, reason, err);
}

static lgv_status finish_child(lgv_checkpoint_writer *writer, bool *lost, lgv_error *err) {
  int result = *writer->result;
  munmap((void *)writer->result, sizeof(int));
  writer->child = 0;
  *lost = result < 0;
  return *lost ? LGV_OK : settle(writer, result, err);
}

/* Another wait for any child may have reaped this one; then waitpid fails, which is fine. */
lgv_status lgv__checkpoint_wait(lgv_checkpoint_writer *writer, bool *lost, lgv_error *err) {
  *lost = false;
  if (writer->child == 0) return LGV_OK;
  while (waitpid(writer->child, NULL, 0) < 0 && errno == EINTR) continue;
  return finish_child(writer, lost, err);
}

lgv_status lgv__checkpoint_look(lgv_checkpoint_writer *writer, bool *lost, lgv_error *err) {
  *lost = false;
  if (writer->child == 0 || waitpid(writer->child, NULL, WNOHANG) == 0) return LGV_OK;
  return finish_child(writer, lost, err);
}

/* ---- reading ---- */

lgv_status lgv__checkpoint_read(lgv_tensors *tensors, const char *directory, bool *found,
                                lgv_error *refused, lgv_error *err) {
  *found = false;
  refused->status = LGV_OK;
  for (int i = 0; i < 2; i++) {
    char path[PATH_MAX];
    lgv_error why;
    bool there;
    LGV_TRY(lgv__join_path(directory, names[i], path, sizeof path, err));
    LGV_TRY(lgv__is_there(path, &there, err));
    if (!there) continue;
    lgv_status status = lgv__tensors_read(tensors, path, &why);
    *found = status == LGV_OK;
    if (*found) return LGV_OK;
    if (refused->status == LGV_OK) *refused = why;
    if (status != LGV_ERR_IO) break; /* not the fault of the file */
  }
  if (err && refused->status != LGV_OK) *err = *refused;
  return refused->status;
}

/* ---- removing ---- */

static lgv_status remove_all(const char *directory, const char *const *which, lgv_error *err) {
  for (int i = 0; i < 2; i++) {
    char path[PATH_MAX];
    LGV_TRY(lgv__join_path(directory, which[i], path, sizeof path, err));
    if (!lgv__disk_remove(path))
      return lgv_fail(err, LGV_ERR_IO, "cannot replace %.300s: %s", path, strerror(errno));
  }
  return LGV_OK;
}

lgv_status lgv__checkpoint_tidy(const char *directory, lgv_error *err) {
  return remove_all(directory, leftovers, err);
}

lgv_status lgv__checkpoint_remove(const char *directory, lgv_error *err) {
  LGV_TRY(remove_all(directory, names, err));
  return lgv__checkpoint_tidy(directory, err);
}
