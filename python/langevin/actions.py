"""How agents see Gymnasium's spaces of actions. The worker of the bridge (gym_task.py) and the agents of this package
share it.

A Discrete space may begin at any number. MultiDiscrete and MultiBinary make several choices at once, the parts of an
action, in the order of the flattened array. A Box has one float32 per part, between bounds that are rounded inward, so
that every number between them belongs to the space.
"""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np
from gymnasium import spaces

from langevin.task import BOX, DISCRETE, MOST_PARTS, MULTI_DISCRETE, WRONG_USAGE, Failure

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
        self.kind = MULTI_DISCRETE
        self.dtype: Any = np.int32
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
