/* POSIX threads on a machine that has one thread: WASI comes without this header. Nobody waits, and
 * no other thread starts. */
#ifndef LGV_SITE_PTHREAD_H
#define LGV_SITE_PTHREAD_H

#include <errno.h>

typedef int pthread_once_t, pthread_mutex_t, pthread_cond_t, pthread_t;
#define PTHREAD_ONCE_INIT 0

static inline int pthread_once(pthread_once_t *once, void (*function)(void)) {
  if (!*once) function();
  return (*once = 1) - 1;
}

static inline int pthread_create(pthread_t *thread, const void *attributes,
                                 void *(*function)(void *), void *argument) {
  (void)thread, (void)attributes, (void)function, (void)argument;
  return EAGAIN;
}

#define pthread_join(thread, result) ((void)(thread), (void)(result), 0)
#define pthread_mutex_init(mutex, attributes) ((void)(mutex), 0)
#define pthread_mutex_lock(mutex) ((void)(mutex), 0)
#define pthread_mutex_unlock(mutex) ((void)(mutex), 0)
#define pthread_mutex_destroy(mutex) ((void)(mutex), 0)
#define pthread_cond_init(condition, attributes) ((void)(condition), 0)
#define pthread_cond_wait(condition, mutex) ((void)(condition), (void)(mutex), 0)
#define pthread_cond_signal(condition) ((void)(condition), 0)
#define pthread_cond_destroy(condition) ((void)(condition), 0)

#endif
