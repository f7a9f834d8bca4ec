"""Locks between processes, and between the threads of one: files that the system unlocks when their process ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import Any, Iterator


class FileLock:
    """A lock that the system releases when its process ends. It excludes other threads as well."""

    def __init__(self, path: str):
        self.path = path
        self.file: Any = None

    def take(self, wait: bool) -> bool:
        file = open(self.path, "ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self.file = file
        return True

    def acquire(self) -> bool:
        return self.take(True)

    def release(self) -> None:
        self.file.close()

    def remove(self) -> None:
        """Releases the lock and removes its file. Nobody else may be about to open it."""
        os.unlink(self.path)
        self.release()


class JournalLock(FileLock):
    """The lock of Optuna's journal. A process that died while it wrote may have left half a line, which is cut off: Optuna would
    append to it and then refuse the file."""

    def acquire(self) -> bool:
        self.take(True)
        with open(self.path, "rb+") as journal:
            if journal.seek(0, os.SEEK_END) == 0 or (journal.seek(-1, os.SEEK_END), journal.read(1))[1] == b"\n":
                return True
            journal.seek(0)
            journal.truncate(journal.read().rfind(b"\n") + 1)
        return True


@contextlib.contextmanager
def file_lock(path: str) -> Iterator[None]:
    lock = FileLock(path)
    lock.acquire()
    try:
        yield
    finally:
        lock.release()
