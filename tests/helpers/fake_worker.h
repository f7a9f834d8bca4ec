/* A worker process that a test program starts instead of Python, with -c: the program itself, whose
 * main() calls work(). The environment variable FAKE_WORKER says what it does wrong, or which kinds
 * of spaces it has. */
#ifndef LGV_TESTS_FAKE_WORKER_H
#define LGV_TESTS_FAKE_WORKER_H

#include "langevin.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* As in src/env/external/remote.c and python/langevin/worker.py. */
typedef struct hello_packet {
  uint32_t magic, version, status;
  int32_t obs_kind, obs_form, shape[3], vector, frames, masked, has_fire, height, width;
  int64_t states, horizon, obs_bytes, memory_bytes, save_offset, save_bytes;
  int32_t action_kind, parts, choices[LGV_MOST_PARTS];
  float low[LGV_MOST_PARTS], high[LGV_MOST_PARTS];
} hello_packet;

typedef struct command_packet {
  uint32_t operation, sequence;
  int32_t choice, repeat;
  uint64_t number;
  lgv_action action; /* as many bytes as were sent */
} command_packet;

enum { COMMAND_SIZE = sizeof(command_packet) - sizeof(lgv_action) };

typedef struct reply_packet {
  uint32_t status, sequence;
  double reward;
  int32_t terminated, truncated, lives, frames, slot, reserved;
  int64_t number;
} reply_packet;

enum { MAGIC = 0x3156474c, RESET = 1, STEP, SAVE, RESTORE, CLOSE };
enum { MEMORY = 4096, ENTRIES = 3 };

typedef struct fake {
  int socket, memory;
  const char *fault;
  lgv_rng rng; /* for fault=fuzz:SEED */
  bool fuzz;
  int shown; /* observations with masks */
} fake;

static bool is(const fake *f, const char *fault) { return strcmp(f->fault, fault) == 0; }

static bool is_game(const fake *f) { return strncmp(f->fault, "game", 4) == 0; }

/* Changes some bytes, and sometimes the length. */
static void send_bytes(fake *f, const void *bytes, size_t size) {
  unsigned char packet[1024] = {0};
  memcpy(packet, bytes, size);
  if (f->fuzz && lgv_rng_below(&f->rng, 2))
    for (int64_t i = 0, n = 1 + lgv_rng_below(&f->rng, 4); i < n; i++)
      packet[lgv_rng_below(&f->rng, (int64_t)size)] = (unsigned char)lgv_rng_bits(&f->rng);
  if (f->fuzz && lgv_rng_below(&f->rng, 8) == 0)
    size = (size_t)lgv_rng_below(&f->rng, sizeof packet);
  (void)!send(f->socket, packet, size, MSG_NOSIGNAL);
}

/* Sound greetings of all kinds of actions, with masks, and of pictures with a vector. */
static void greet_spaces(const fake *f, hello_packet *h) {
  bool multi = is(f, "multi"), box = is(f, "box");
  h->masked = is(f, "mask") || is(f, "mask-states") || multi;
  if (multi || box) {
    h->action_kind = multi ? LGV_MULTI_DISCRETE : LGV_BOX;
    h->parts = 2;
  }
  if (multi) h->choices[1] = 5;
  for (int i = 0; box && i < 2; i++) h->low[i] = -1, h->high[i] = (float)(i + 1);
  if (is(f, "mask-states")) {
    h->obs_form = LGV_FORM_ONE_HOT;
    h->states = ENTRIES;
  }
  if (strncmp(f->fault, "picture", 7) == 0) {
    h->obs_kind = LGV_OBS_BYTE;
    h->shape[0] = h->shape[1] = 5;
    h->shape[2] = 1;
    h->vector = 2;
    h->obs_bytes = 28 + 2 * 4;
  }
}

static void spoil_spaces(const fake *f, hello_packet *h) {
  if (is(f, "actions")) h->choices[0] = 0;
  if (is(f, "action-kind")) h->action_kind = 3;
  if (is(f, "no-parts") || is(f, "many-parts") || is(f, "part")) h->action_kind = 1;
  if (is(f, "no-parts")) h->parts = 0;
  if (is(f, "many-parts")) h->parts = LGV_MOST_PARTS + 1;
  if (is(f, "part")) h->parts = 2;
  if (is(f, "bounds") || is(f, "nan-bounds") || is(f, "masked-box")) h->action_kind = LGV_BOX;
  if (is(f, "bounds")) h->low[0] = 1, h->high[0] = 1;
  if (is(f, "nan-bounds")) h->low[0] = NAN;
  if (is(f, "masked-box")) h->high[0] = h->masked = 1;
  if (is(f, "masked")) h->masked = 2;
  if (is(f, "many-masks")) h->masked = 1, h->choices[0] = MEMORY;
  if (is(f, "vector")) h->vector = 2; /* beside a vector */
  if (is(f, "negative-vector")) h->vector = -1;
  if (is(f, "frames")) h->frames = ENTRIES + 1;
  if (is(f, "negative-frames")) h->frames = -3;
  if (is(f, "picture-frames")) h->frames = 2;
  if (is(f, "picture-short")) h->obs_bytes -= 4;
}

static void greet(fake *f) {
  hello_packet h = {.magic = MAGIC,
                    .version = 2,
                    .shape = {ENTRIES, 1, 1},
                    .parts = 1,
                    .choices = {2},
                    .obs_bytes = ENTRIES * 4,
                    .memory_bytes = MEMORY,
                    .save_offset = 1024,
                    .save_bytes = 64};
  if (is_game(f)) {
    h.obs_kind = LGV_OBS_BYTE;
    h.height = h.width = 8;
  }
  greet_spaces(f, &h);
  if (is(f, "exit")) exit(3);
  if (is(f, "killed")) raise(SIGKILL);
  if (is(f, "closed")) {
    close(f->socket);
    pause();
  }
  if (is(f, "silent")) pause();
  if (is(f, "words")) {
    fprintf(stderr, "first\nModuleNotFoundError: No module named 'langevin'\n");
    exit(1);
  }
  if (is(f, "magic")) h.magic++;
  if (is(f, "version")) h.version++;
  if (is(f, "status")) h.status = 77;
  if (is(f, "kind")) h.obs_kind = 2;
  if (is(f, "form")) h.obs_form = -1;
  if (is(f, "form-7")) h.obs_form = 7;
  if (strncmp(f->fault, "bytes-", 6) == 0) h.obs_kind = LGV_OBS_BYTE;
  if (is(f, "bytes-one-hot")) h.obs_form = LGV_FORM_ONE_HOT;
  if (is(f, "bytes-thermometer")) h.obs_form = LGV_FORM_THERMOMETER;
  if (is(f, "shape")) h.shape[1] = 0;
  spoil_spaces(f, &h);
  if (is(f, "states")) h.states = -1;
  if (is(f, "many-states")) h.states = h.shape[0] = 1 << 30;
  if (is(f, "horizon")) h.horizon = -5;
  if (is(f, "no-memory")) h.memory_bytes = 0;
  if (is(f, "much-memory")) h.memory_bytes = INT64_MAX;
  if (is(f, "beyond-memory")) h.memory_bytes = MEMORY + 1;
  if (is(f, "obs-bytes")) h.obs_bytes = MEMORY + 1;
  if (is(f, "obs-size")) h.obs_bytes = ENTRIES * 4 + 4;
  if (is(f, "save-bytes")) h.save_bytes = INT64_MAX;
  if (is(f, "save-offset")) h.save_offset = MEMORY;
  if (!is(f, "unsized")) (void)!ftruncate(f->memory, MEMORY);
  if (is(f, "short")) {
    send_bytes(f, &h, sizeof h - 1);
  } else if (is(f, "long")) {
    static char packet[100000];
    (void)!send(f->socket, packet, sizeof packet, 0);
  } else if (is(f, "usage")) {
    char packet[sizeof h + 32];
    h.status = 1;
    memcpy(packet, &h, sizeof h);
    size_t length = (size_t)snprintf(packet + sizeof h, 32, "no such thing") + sizeof h;
    (void)!send(f->socket, packet, length, 0);
  } else {
    send_bytes(f, &h, sizeof h);
  }
}

/* Writes the mask of the next observation. Of the two choices of the first part, the first one is
 * allowed at the first, third, ... observation, the second one at the others. */
static void show(fake *f, const command_packet *c) {
  uint8_t odd = ++f->shown % 2, mask[] = {odd, !odd, 1, 0, 7, 1, 0};
  off_t size = ENTRIES * 4, slot = size + (is(f, "multi") ? 8 : 4);
  (void)!pwrite(f->memory, mask, is(f, "multi") ? sizeof mask : 2, c->sequence % 2 * slot + size);
}

/* What arrived, as the reward: the first two parts, and how many bytes more than a command. */
static double heard(const fake *f, const command_packet *c, ssize_t size) {
  const lgv_action *a = &c->action;
  double first = is(f, "box") ? (double)a->values[0] : a->choices[0];
  double second = is(f, "box") ? (double)a->values[1] : a->choices[1];
  return first + 100 * second + 1e6 * (double)(size - COMMAND_SIZE);
}

static void answer(fake *f, const command_packet *c, ssize_t size) {
  reply_packet r = {.sequence = c->sequence, .reward = 1, .slot = c->sequence % 2};
  bool masked = is(f, "mask") || is(f, "mask-states") || is(f, "multi");
  if (masked && (c->operation == RESET || c->operation == STEP)) show(f, c);
  if (c->operation == STEP && (is(f, "multi") || is(f, "box"))) r.reward = heard(f, c, size);
  char text[sizeof r + 64];
  bool step = c->operation == STEP;
  if (step && is(f, "chatter")) printf("%01000d\n", 7), fflush(stdout);
  if (step && is(f, "flood")) printf("%01000000d\n", 7), fflush(stdout);
  if (c->operation == SAVE) r.number = is(f, "save-more") ? 65 : 4;
  if (step && is_game(f)) r.frames = c->repeat;
  if (step && is(f, "game-stands-still")) r.frames = 0;
  if (step && is(f, "game-runs-ahead")) r.frames = c->repeat + 1;
  if (step && is(f, "game-pays-too-much") && c->choice >= 0) r.reward = 1e300;
  if (step && is(f, "game-pays-nan") && c->choice >= 0) r.reward = 0.0 / 0.0;
  if (step && is(f, "step-exit")) exit(0);
  if (step && is(f, "step-silent")) pause();
  if (step && is(f, "step-sequence")) r.sequence++;
  if (step && is(f, "step-slot")) r.slot = 2;
  if (step && is(f, "step-flag")) r.terminated = -1;
  if (step && is(f, "step-status")) r.status = 9;
  if (step && is(f, "step-nan")) r.reward = 0.0 / 0.0;
  if (step && is(f, "step-shrink") && ftruncate(f->memory, 0) == 0) exit(9);
  if (step && is(f, "step-short")) {
    send_bytes(f, &r, sizeof r - 8);
  } else if (step && is(f, "step-long")) {
    memset(text, 0, sizeof text);
    memcpy(text, &r, sizeof r);
    send_bytes(f, text, sizeof r + 1);
  } else if (step && is(f, "step-raise")) {
    r.status = 2;
    memcpy(text, &r, sizeof r);
    memcpy(text + sizeof r, "boom\0line one\nline two", 22);
    send_bytes(f, text, sizeof r + 22);
  } else {
    send_bytes(f, &r, sizeof r);
  }
}

static int work(char **arguments) {
  fake f = {.socket = atoi(arguments[3]), .memory = atoi(arguments[4])};
  const char *fault = getenv("FAKE_WORKER");
  f.fault = fault ? fault : "";
  f.fuzz = strncmp(f.fault, "fuzz:", 5) == 0;
  if (f.fuzz) lgv_rng_seed(&f.rng, strtoull(f.fault + 5, NULL, 10), "fuzz");
  char first[1 << 16];
  command_packet c;
  if (recv(f.socket, first, sizeof first, 0) <= 0) return 1;
  greet(&f);
  for (ssize_t size; (size = recv(f.socket, &c, sizeof c, 0)) >= COMMAND_SIZE;) {
    if (c.operation == CLOSE) break;
    answer(&f, &c, size);
  }
  return 0;
}

#endif
