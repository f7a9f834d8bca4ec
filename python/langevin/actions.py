"""How agents see Gymnasium's spaces of actions, and the masks that say which actions are allowed. The worker of the
bridge (gym_task.py) and the agents of this package share it.

Spaces. A Discrete space may begin at any number. MultiDiscrete and MultiBinary make several choices at once, the parts
of an action, in the order of the flattened array. A Box has one float32 per part, between bounds that are rounded
inward, so that every number between them belongs to the space.

Masks. ``info["action_mask"]``, or the member ``action_mask`` of a Dict observation, which then is no input of an agent.
A mask has one entry per choice, part after part, 0 where a choice is forbidden; or, as sample(mask) of the spaces
takes it, a tuple of one mask per part, and for MultiBinary an array of the space's shape: 0 and 1 allow just that, 2
allows both. An info without a mask allows everything.
"""

from __future__ import annotations

from typing import Any, List, Tuple

import numpy as np
from gymnasium import spaces

from langevin.task import BOX, DISCRETE, MASK, MOST_PARTS, MULTI_DISCRETE, WRONG_USAGE, Failure

MOST_CHOICES = 2**31 - 1


def round_inward(space: spaces.Box) -> Tuple[np.ndarray, np.ndarray]:
    """The least and the greatest float32 within the bounds."""
    with np.errstate(over="ignore"):
        low, high = space.low.ravel().astype(np.float32), space.high.ravel().astype(np.float32)
    low = np.where(low < space.low.ravel(), np.nextafter(low, np.float32(np.inf)), low)
    high = np.where(high > space.high.ravel(), np.nextafter(high, np.float32(-np.inf)), high)
    return low, high


class Actions:
    """A space of actions, as agents see it.

    kind, parts, choices, low, high, count: those of lgv_action_space. dtype: of the numbers in an lgv_action.
    """

    def __init__(self, space: Any):
        self.space = space
        self.kind, self.dtype = MULTI_DISCRETE, np.int32
        self.choices: Tuple[int, ...] = ()
        self.low: Tuple[float, ...] = ()
        self.high: Tuple[float, ...] = ()
        self.first: Any = 0  # the environment's number of choice 0
        self.binary = isinstance(space, spaces.MultiBinary)
        if isinstance(space, spaces.Discrete):
            self.kind, self.choices, self.first = DISCRETE, (int(space.n),), int(space.start)
        elif isinstance(space, spaces.MultiDiscrete):
            self.choices = tuple(int(n) for n in np.ravel(space.nvec))
            self.first = np.broadcast_to(getattr(space, "start", 0), space.shape).astype(space.dtype)
        elif self.binary:
            self.choices = (2,) * int(np.prod(space.shape, dtype=np.int64))
        elif isinstance(space, spaces.Box) and space.dtype.kind == "f":
            self._read_box(space)
        else:
            raise Failure(
                f"its actions are {space!s:.120}: use Discrete, MultiDiscrete, MultiBinary or a Box of floats (a wrapper "
                f"can turn them into one of these: env.wrappers)",
                WRONG_USAGE,
            )
        self.parts, self.count = len(self.choices) or len(self.low), sum(self.choices)
        if not 0 < self.parts <= MOST_PARTS or self.count > MOST_CHOICES:
            raise Failure(
                f"its actions have {self.parts} parts and {self.count} choices: 1 to {MOST_PARTS} parts and at most "
                f"{MOST_CHOICES} choices are supported (a wrapper can combine or leave out some: env.wrappers)",
                WRONG_USAGE,
            )
        self.starts = np.concatenate(([0], np.cumsum(self.choices)[:-1])).astype(np.int64)  # of the parts in a mask

    def _read_box(self, space: spaces.Box) -> None:
        low, high = round_inward(space)
        if not (low < high).all():
            raise Failure(
                f"a dimension of its actions, {space!s:.120}, has bounds with no number between them: leave it out by a "
                f"wrapper (env.wrappers)",
                WRONG_USAGE,
            )
        self.kind, self.dtype = BOX, np.float32
        self.low, self.high = tuple(low.tolist()), tuple(high.tolist())

    def to_env(self, numbers: np.ndarray) -> Any:
        """The environment's action. numbers: choices from 0, or values, one per part."""
        if self.kind == DISCRETE:
            return int(numbers[0]) + self.first
        action = np.array(numbers, self.space.dtype).reshape(self.space.shape)
        return action if self.kind == BOX else action + self.first

    def from_env(self, action: Any) -> np.ndarray:
        """The inverse: one number per part."""
        return np.ravel(np.asarray(action) - self.first).astype(self.dtype)


# ---- Masks


def has_mask(space: Any) -> bool:
    """Whether observations of a space bring masks with them."""
    return isinstance(space, spaces.Dict) and MASK in space.spaces


def leaves(value: Any) -> List[np.ndarray]:
    """The arrays in nested tuples or lists; numbers side by side are one array."""
    if isinstance(value, (tuple, list)) and any(isinstance(part, (tuple, list)) or np.ndim(part) > 0 for part in value):
        return [leaf for part in value for leaf in leaves(part)]
    return [np.ravel(value)]


class Masks:
    """Reads the masks of a space of actions. in_observation: whether they are members of observations."""

    def __init__(self, actions: Actions, in_observation: bool):
        self.actions, self.in_observation = actions, in_observation
        self.label = f"the observation's {MASK!r}" if in_observation else f"info[{MASK!r}]"

    def write(self, observation: Any, info: Any, ended: bool, out: np.ndarray) -> None:
        """Writes (count) bytes of 0 and 1. ended: the task has ended, so that nothing need be allowed."""
        holder = observation if self.in_observation else info
        value = holder.get(MASK) if isinstance(holder, dict) else None
        if value is None and self.in_observation:
            raise Failure(f"the observation has no member {MASK!r}")
        if value is None:
            out.fill(1)
            return
        out[:] = self.read(value)
        if not ended:
            self._check(out)

    def _check(self, mask: np.ndarray) -> None:
        some = np.bitwise_or.reduceat(mask, self.actions.starts)
        if not some.all():
            where = f" in part {int(np.argmin(some))}" if self.actions.parts > 1 else ""
            raise Failure(f"{self.label} allows no action{where}")

    def read(self, value: Any) -> np.ndarray:
        """(count) booleans, whichever form the mask has."""
        actions = self.actions
        if type(value) is np.ndarray and value.shape == (actions.count,) and value.dtype.kind in "biu":
            return value != 0
        parts = leaves(value)
        if any(part.dtype.kind not in "biuf" for part in parts):
            raise Failure(f"{self.label} is {value!r:.80}, which are not numbers: 0 forbids a choice, 1 allows it")
        lengths, flat = [len(part) for part in parts], np.concatenate(parts)
        if actions.binary and len(flat) == actions.parts:
            return np.stack([flat != 1, flat != 0], axis=1).ravel()
        whole = len(parts) == 1
        if len(flat) != actions.count or not (whole or lengths == list(actions.choices)):
            listed = "" if whole else f" ({', '.join(map(str, lengths))})"
            needed = f" ({', '.join(map(str, actions.choices))})" if actions.parts > 1 else ""
            raise Failure(f"{self.label} has {len(flat)} entries{listed}; the actions have {actions.count} choices{needed:.80}")
        return flat != 0
