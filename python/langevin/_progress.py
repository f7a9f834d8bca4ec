"""The progress line of learn() and run(), and the slices in which C works before Python looks again."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Any

NO_BOUND = 2**62


class Slices:
    """Chooses how many steps C makes at once, so that Ctrl-C and the progress line wait about a tenth of a second."""

    TARGET = 0.1  # seconds

    def __init__(self) -> None:
        self.size, self.begun = 16, 0.0

    def next(self, most: int) -> int:
        self.begun = time.perf_counter()
        return min(self.size, most)

    def done(self, made: int) -> None:
        seconds = time.perf_counter() - self.begun
        if seconds < self.TARGET / 2 and made >= self.size:
            self.size *= 2
        elif seconds > 2 * self.TARGET:
            self.size = max(1, self.size // 2)


class Progress:
    """A line on stderr, rewritten five times a second, if it is wanted."""

    def __init__(self, wanted: bool, most_steps: int, most_episodes: int):
        self.wanted, self.most = wanted, (most_steps, most_episodes)
        self.recent: deque = deque(maxlen=100)
        self.steps = self.ended = self.width = 0
        self.begun = self.shown = time.perf_counter()

    def __enter__(self) -> "Progress":
        return self

    def show(self, steps: int, ended: int, episodes: Any) -> None:
        self.steps, self.ended = steps, ended
        if not self.wanted:
            return
        self.recent.extend(episodes["return"][-100:])
        if time.perf_counter() - self.shown > 0.2:
            self._write()

    def _write(self) -> None:
        self.shown = time.perf_counter()
        most_steps, most_episodes = self.most
        if most_steps < NO_BOUND:
            share, text = self.steps / most_steps if most_steps else 1, f"{self.steps:,} / {most_steps:,} steps"
        else:
            share, text = self.ended / most_episodes if most_episodes else 1, f"{self.ended:,} / {most_episodes:,} episodes"
        rate = self.steps / max(1e-9, self.shown - self.begun)
        mean = f"  return {sum(self.recent) / len(self.recent):.4g}" if self.recent else ""
        line = f"{100 * share:3.0f} %  {text}  {rate:,.0f} steps/s{mean}"
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)

    def __exit__(self, *_: Any) -> None:
        if self.wanted:
            self._write()
            sys.stderr.write("\n")
