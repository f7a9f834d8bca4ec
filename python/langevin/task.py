"""The interface between worker.py and the kinds of environments.

A kind of environment is a class with the methods of ``Task``; worker.py finds it in ``KINDS``. An
exception of a method ends the run: ``Failure`` with its message alone, any other as an error of the
environment, with its traceback.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from dataclasses import dataclass, field
from typing import Any, List, Tuple

FLOATS, BYTES = 0, 1  # lgv_obs_kind
DENSE, ONE_HOT, THERMOMETER = 0, 1, 2  # lgv_obs_form
DISCRETE, MULTI_DISCRETE, BOX = 0, 1, 2  # lgv_action_kind
MOST_PARTS = 64  # LGV_MOST_PARTS
WRONG_USAGE, RAISED, NOT_A_NUMBER = 1, 2, 3  # kinds of failures


def install(packages: str) -> str:
    """The command that installs packages for this Python. One that belongs to the system's own package manager takes
    none (PEP 668): then a virtual environment where the program looks for one."""
    mark = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    if sys.prefix == sys.base_prefix and os.path.exists(mark):
        return f"{sys.executable} -m venv .venv && .venv/bin/python -m pip install {packages}"
    return f"{sys.executable} -m pip install {packages}"


def parse_value(text: str):
    """An argument of an environment, as settings have it: a JSON value; True, False and None as Python writes them; a
    list without brackets; else the text itself."""
    words = {"True": True, "False": False, "None": None, "": ""}
    if text in words:
        return words[text]
    for candidate in (text, f"[{text}]"):
        try:
            return json.loads(candidate)
        except ValueError:
            pass
    return text


class Failure(Exception):
    """A message for the user, which says what is wrong and what to do. No traceback is shown."""

    def __init__(self, message: str, status: int = RAISED, detail: str = ""):
        super().__init__(message)
        self.status = status
        self.detail = detail


# ---- Gymnasium's interface, read alike by the worker (gym_task.py) and by learn() (_training_loops.py)


def reset_with_info(env: Any, seed: int) -> Tuple[Any, Any]:
    """The first observation of an episode, and the info with it. They depend on the seed alone: what the environment
    and its action space did before does not matter."""
    env.action_space.seed(seed)
    result = env.reset(seed=seed)
    if not isinstance(result, tuple) or len(result) != 2:
        raise Failure("reset() must return an observation and a dict")
    return result


def read_number(value: Any) -> float:
    """A number of an environment. Text that looks like one is a mistake."""
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError(f"{value!r:.40} is text, not a number")
    return float(value)


def read_flag(value: Any) -> bool:
    """True or false of an environment; 0 and 1 stand for them. bool("no") would be true."""
    number = read_number(value)
    if number not in (0, 1):
        raise ValueError(f"{value!r:.40} is neither true nor false")
    return bool(number)


def split_result(result: Any) -> Tuple[Any, float, bool, bool]:
    """The observation, the reward, terminated and truncated of what step() returned."""
    try:
        observation, reward, terminated, truncated, _ = result
        return observation, read_number(reward), read_flag(terminated), read_flag(truncated)
    except (TypeError, ValueError, OverflowError):
        raise Failure(describe_bad_result(result)) from None


def describe_bad_result(result: Any) -> str:
    if not isinstance(result, tuple):
        return f"step() returned a {type(result).__name__}, not a tuple"
    if len(result) != 5:
        return f"step() returned {len(result)} values; Gymnasium's are 5: observation, reward, terminated, truncated, info"
    _, reward, terminated, truncated, _ = result
    return (
        f"step() returned a reward or an end that is not one number: reward {reward!r:.60}, terminated "
        f"{terminated!r:.40}, truncated {truncated!r:.40}"
    )


# ---- Tasks


@dataclass
class Spec:
    """The environment as the C side sees it: remote_hello in src/env/external/remote.h."""

    shape: Tuple[int, int, int]  # (height, width, channels) of images, (length, 1, 1) of vectors
    obs_bytes: int  # of one observation in the shared memory
    memory_bytes: int  # for observations; worker.py adds save_bytes after it
    obs_kind: int = FLOATS
    obs_form: int = DENSE
    vector: int = 0  # floats beside a picture
    frames: int = 0  # the observation is a stack of so many
    action_kind: int = DISCRETE
    choices: Tuple[int, ...] = ()  # of each part of an action
    low: Tuple[float, ...] = ()  # bounds of each part of a box
    high: Tuple[float, ...] = ()
    masked: bool = False
    states: int = 0
    horizon: int = 0
    save_bytes: int = 0  # the most that save() returns; 0: it cannot save
    has_fire: bool = False
    height: int = 0
    width: int = 0
    notices: List[str] = field(default_factory=list)  # shown to the user once

    @property
    def slot_bytes(self) -> int:
        """From one observation to the next in the shared memory: an observation, then its mask, to a multiple of 4."""
        return self.obs_bytes + (-(-sum(self.choices) // 4) * 4 if self.masked else 0)


# reward, terminated, truncated, lives, frames, slot, 0, state
Outcome = Tuple[float, bool, bool, int, int, int, int, int]


class Task:
    """One environment. The methods are called in this order, the middle ones many times."""

    def make(self, config: dict) -> Spec:
        raise NotImplementedError

    def attach(self, memory) -> None:
        """memory: a writable buffer of spec.memory_bytes, seen by the other side too."""
        raise NotImplementedError

    def attach_action(self, memory) -> None:
        """memory: where the 32-bit numbers of an action will be, one per part, if actions are not Discrete."""

    def reset(self, seed: int) -> Outcome:
        raise NotImplementedError

    def step(self, choice: int, repeat: int) -> Outcome:
        """choice: the action, if actions are Discrete."""
        raise NotImplementedError

    def save(self) -> bytes:
        raise Failure("this environment cannot save its state")

    def restore(self, state: bytes) -> None:
        raise Failure("this environment cannot restore a state")

    def freeze(self, state: bytes) -> None:
        """Takes over the running statistics of another environment, and keeps them as they are."""
        raise Failure("this environment keeps no statistics")

    def close(self) -> None:
        """Also called when make() failed half-way."""
