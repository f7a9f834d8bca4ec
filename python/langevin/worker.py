"""Serves one environment to a run of Langevin, in a process of its own: the other half of src/env/external/remote.c.

Started as ``python -c '... main()' SOCKET MEMORY LIFELINE PACKAGE_DIR`` with three inherited descriptors: a
socket for packets, a memory file, and a pipe that ends when the parent does. The first packet names the kind
of environment and holds its configuration; the answer describes the environment. After that every command
gets one answer. Observations go only through the memory file. The loop itself allocates nothing.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import traceback

from langevin.task import MOST_PARTS, RAISED, Failure, Spec, Task

# One thread is all that an environment gets, unless its user says otherwise: runs are parallel already.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

MAGIC, VERSION = 0x3156474C, 2  # "LGV1"
RESET, STEP, SAVE, RESTORE, CLOSE, FREEZE = 1, 2, 3, 4, 5, 6
HELLO = struct.Struct(f"=3I11i6q{2 + MOST_PARTS}i{2 * MOST_PARTS}f")
COMMAND = struct.Struct("=IIiiQ")  # a step's is followed by the numbers of the action, unless it is Discrete
REPLY = struct.Struct("=IId6iq")
PACKET = 1 << 16
MOST_MESSAGE, MOST_DETAIL = 2000, 40000

# kind: module and class. A Task each; see task.py.
KINDS = {
    "gym": ("langevin.gym_task", "GymTask"),
    "atari": ("langevin.atari_task", "AtariTask"),
    "loop": ("langevin.bench_task", "LoopTask"),
}


def hold_lifeline(descriptor: int) -> None:
    """Asks the kernel to kill this process group when the parent is gone, even while the environment hangs."""
    leads = os.getpgrp() == os.getpid()
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETOWN, -os.getpid() if leads else os.getpid())
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_ASYNC)
    except (AttributeError, OSError):
        pass  # no such kernel: the end of the socket still ends us between two commands
    poll = select.poll()
    poll.register(descriptor, 0)
    if poll.poll(0):  # gone before we asked
        os._exit(1)


def describe(error: BaseException) -> tuple[int, str, str]:
    """Status, message and traceback of an exception of a task."""
    if isinstance(error, Failure):
        return error.status, str(error), error.detail
    here = os.path.dirname(os.path.abspath(__file__))
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if os.path.dirname(os.path.abspath(f.filename)) != here]
    name = type(error).__name__
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    lines = traceback.format_list(theirs or frames)
    detail = "Traceback (most recent call last):\n" + "".join(lines) + text
    place = f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs else ""
    short = f"the environment raised {name}: {error}" if str(error) else f"the environment raised {name}"
    return RAISED, short.replace("\n", " ")[:MOST_MESSAGE] + place, detail


def pad(numbers: tuple) -> tuple:
    return (*numbers, *[0] * (MOST_PARTS - len(numbers)))


def pack_hello(s: Spec, size: int, save_offset: int) -> bytes:
    numbers = (s.obs_kind, s.obs_form, *s.shape, s.vector, s.frames, s.masked, s.has_fire, s.height, s.width)
    sizes = (s.states, s.horizon, s.obs_bytes, size, save_offset, s.save_bytes)
    actions = (s.action_kind, len(s.choices) or len(s.low), *pad(s.choices), *pad(s.low), *pad(s.high))
    return HELLO.pack(MAGIC, VERSION, 0, *numbers, *sizes, *actions)


def failure_text(message: str, detail: str) -> bytes:
    data = message[:MOST_MESSAGE].replace("\0", " ").encode("utf-8", "replace")
    if detail:
        data += b"\0" + detail[-MOST_DETAIL:].replace("\0", " ").encode("utf-8", "replace")
    return data[: PACKET - HELLO.size - 1]


class Worker:
    def __init__(self, connection: socket.socket, memory_file: int):
        self.connection = connection
        self.memory_file = memory_file
        self.task: Task = Task()
        self.save_offset = 0

    def begin(self) -> bool:
        """Makes the environment that the first packet asks for; returns whether that worked."""
        first = self.connection.recv(PACKET)
        if not first:
            return False
        try:
            self._make(first)
        except BaseException as error:  # sys.exit() in an environment is a failure too
            status, message, detail = describe(error)
            head = struct.pack("=3I", MAGIC, VERSION, status)
            self.connection.send(head.ljust(HELLO.size, b"\0") + failure_text(message, detail))
            self.close()
            return False
        return True

    def _make(self, first: bytes) -> None:
        kind, _, config = first.partition(b"\0")
        module, name = KINDS[kind.decode()]
        self.task = getattr(importlib.import_module(module), name)()
        s = self.spec = self.task.make(json.loads(config))
        self.save_offset = -(-s.memory_bytes // 64) * 64
        size = self.save_offset + s.save_bytes
        os.ftruncate(self.memory_file, size)
        self.memory = mmap.mmap(self.memory_file, size)
        self.task.attach(memoryview(self.memory)[: s.memory_bytes])
        notices = "\n".join(" ".join(n.split()) for n in s.notices).encode("utf-8", "replace")
        hello = pack_hello(s, size, self.save_offset)
        self.connection.send(hello + notices[: PACKET - HELLO.size - 1])

    def _save(self) -> int:
        state = self.task.save()
        if len(state) > self.spec.save_bytes:
            raise Failure(f"its state has {len(state)} bytes, more than the {self.spec.save_bytes} it announced")
        self.memory[self.save_offset : self.save_offset + len(state)] = state
        return len(state)

    def _rare(self, operation: int, number: int) -> tuple:
        """Commands other than steps; returns the fields of a reply after its sequence number."""
        if operation == RESET:
            return self.task.reset(number)
        if operation == SAVE:
            return (0.0, 0, 0, 0, 0, 0, 0, self._save())
        if operation in (RESTORE, FREEZE):
            state = bytes(self.memory[self.save_offset : self.save_offset + number])
            self.task.restore(state) if operation == RESTORE else self.task.freeze(state)
            return (0.0, 0, 0, 0, 0, 0, 0, 0)
        raise Failure(f"unknown command {operation}")

    def serve(self) -> None:
        """Answers commands until the other side closes or is gone."""
        command, reply = bytearray(COMMAND.size + 4 * MOST_PARTS), bytearray(REPLY.size)
        self.task.attach_action(memoryview(command)[COMMAND.size :])
        receive, send = self.connection.recv_into, self.connection.send
        unpack, pack, step = COMMAND.unpack_from, REPLY.pack_into, self.task.step
        while receive(command) >= COMMAND.size:
            operation, sequence, choice, repeat, number = unpack(command)
            try:
                if operation == STEP:
                    pack(reply, 0, 0, sequence, *step(choice, repeat))
                elif operation == CLOSE:
                    break
                else:
                    pack(reply, 0, 0, sequence, *self._rare(operation, number))
            except BaseException as error:
                status, message, detail = describe(error)
                head = REPLY.pack(status, sequence, 0.0, 0, 0, 0, 0, 0, 0, 0)
                send(head + failure_text(message, detail))
                continue
            send(reply)

    def close(self) -> None:
        try:
            self.task.close()
        except Exception:
            traceback.print_exc()  # no answer is expected any more


def main() -> None:
    connection = socket.socket(fileno=int(sys.argv[1]))
    hold_lifeline(int(sys.argv[3]))
    worker = Worker(connection, int(sys.argv[2]))
    try:
        if worker.begin():
            worker.serve()
            worker.close()
    except (BrokenPipeError, ConnectionResetError):
        worker.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # at once: threads that an environment has started must not delay the end
