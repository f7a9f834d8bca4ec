"""Actions in the form that environments and callers have them in, and as the library's lgv_action; masks of both.

A Discrete action is an int. Several choices at once (MultiDiscrete, MultiBinary) are an array of the shape and type of
their space, numbers of a Box likewise. The library counts choices from 0; a space may begin elsewhere.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import numpy as np

from langevin._library import BOX, DISCRETE, MOST_PARTS, MULTI_DISCRETE, CActionSpace, UsageError
from langevin.masks import Masks
from langevin.task import Failure

KINDS = {"discrete": DISCRETE, "multi-discrete": MULTI_DISCRETE, "box": BOX}  # in files


def discrete(count: int) -> CActionSpace:
    return CActionSpace(kind=DISCRETE, count=count, parts=1, choices=(count,))


def multi_discrete(choices: Sequence[int]) -> CActionSpace:
    return CActionSpace(kind=MULTI_DISCRETE, count=sum(choices), parts=len(choices), choices=tuple(choices))


def box(low: Sequence[float], high: Sequence[float]) -> CActionSpace:
    return CActionSpace(kind=BOX, parts=len(low), low=tuple(low), high=tuple(high))


class ActionTranslator:
    """space: the library's. shape, dtype, first: those of the caller's actions; first is the number of the library's
    choice 0, for each part. binary: whether they are MultiBinary."""

    def __init__(
        self,
        space: CActionSpace,
        shape: Optional[Tuple[int, ...]] = None,
        dtype: Any = None,
        first: Any = 0,
        binary: bool = False,
    ):
        self.space, self.kind, self.count = space, int(space.kind), int(space.count)
        self.parts = 1 if self.kind == DISCRETE else int(space.parts)
        self.shape = () if self.kind == DISCRETE else (self.parts,) if shape is None else tuple(shape)
        self.dtype = np.dtype(dtype or (np.float32 if self.kind == BOX else np.int64))
        self.first = np.broadcast_to(np.asarray(first), self.shape).reshape(self.parts)
        self.choices = tuple(space.choices[: self.parts]) if self.kind == MULTI_DISCRETE else (self.count,)
        self.starts = np.concatenate(([0], np.cumsum(self.choices)[:-1])).astype(np.int64)  # of the parts in a mask
        self.binary = binary
        self.raw = np.dtype(np.float32 if self.kind == BOX else np.int32)  # of a part in lgv_action

    @classmethod
    def of_space(cls, space: Any) -> "ActionTranslator":
        """Those of a Gymnasium space. Raises Failure if agents cannot take them."""
        from langevin.actions import Actions

        seen = Actions(space)
        if seen.kind == BOX:
            return cls(box(seen.low, seen.high), space.shape, space.dtype)
        inner = discrete(seen.count) if seen.kind == DISCRETE else multi_discrete(seen.choices)
        return cls(inner, space.shape, space.dtype, seen.first, seen.binary)

    # ---- Files

    def describe(self) -> Dict[str, Any]:
        """As JSON has it."""
        name = next(name for name, kind in KINDS.items() if kind == self.kind)
        found: Dict[str, Any] = {"kind": name, "shape": list(self.shape), "dtype": self.dtype.str}
        if self.kind == BOX:
            return {**found, "low": self.space.low[: self.parts], "high": self.space.high[: self.parts]}
        return {**found, "choices": list(self.choices), "first": self.first.tolist(), "binary": self.binary}

    @classmethod
    def build(cls, description: Dict[str, Any]) -> "ActionTranslator":
        kind = KINDS[description["kind"]]
        shape, dtype = tuple(description["shape"]), description["dtype"]
        if kind == BOX:
            return cls(box(description["low"], description["high"]), shape, dtype)
        choices, first = description["choices"], np.reshape(np.asarray(description["first"], np.int64), shape)
        inner = discrete(choices[0]) if kind == DISCRETE else multi_discrete(choices)
        return cls(inner, shape, dtype, first, description["binary"])

    # ---- From the library to the caller

    def bind(self, action: Any) -> Callable[[], Any]:
        """A function that returns the current content of a CAction as the caller's."""
        if self.kind == DISCRETE:
            first = int(self.first[0])
            return lambda: action.choice + first
        view = np.frombuffer(action, self.raw)[: self.parts]
        return lambda: (view + self.first).astype(self.dtype).reshape(self.shape)

    def show(self, memory: np.ndarray) -> np.ndarray:
        """The caller's form of several lgv_action, the rows of `memory`."""
        found = memory.view(self.raw)[:, : self.parts] + self.first
        return found.astype(self.dtype).reshape(len(memory), *self.shape)

    def memory(self, count: int) -> np.ndarray:
        """For so many lgv_action."""
        return np.zeros((count, MOST_PARTS), np.int32)

    # ---- From the caller to the library

    def read(self, given: Any, action: Any) -> None:
        """Writes one action of a caller into a CAction; the library checks bounds of a box and masks."""
        try:
            one = np.asarray(given)
        except ValueError:  # lists of different lengths
            one = np.array(None)
        self.read_all(one[None], np.frombuffer(action, np.int32)[None])

    def read_all(self, given: np.ndarray, memory: np.ndarray) -> None:
        """Writes several into the rows of `memory`."""
        if given.shape[1:] != self.shape or given.dtype.kind not in ("fiu" if self.kind == BOX else "iub"):
            raise UsageError(self._wrong(given))
        parts = given.reshape(len(given), self.parts).astype(np.float32 if self.kind == BOX else np.int64) - self.first
        if self.kind != BOX and ((parts < 0) | (parts >= self.choices)).any():
            raise UsageError(self._outside(given))
        memory.view(self.raw)[:, : self.parts] = parts

    def read_masks(self, given: Any, batch_shape: Tuple[int, ...]) -> np.ndarray:
        """Masks of a caller, for one observation or (n) of them, as rows of 0 and 1. A tuple has one mask per part, or
        one array of (n) masks per part."""
        if type(given) is np.ndarray and given.dtype.kind in "biuf" and given.shape == (*batch_shape, self.count):
            return np.ascontiguousarray(given.reshape(-1, self.count) != 0).view(np.uint8)
        try:
            rows = self._split(given, batch_shape[0]) if batch_shape else [given]
            return np.array([Masks(self, "action_masks").read(row) for row in rows], np.uint8)
        except (Failure, TypeError) as wrong:
            found = f"one of shape {given.shape}" if isinstance(given, np.ndarray) else f"{given!r:.60}"
            raise UsageError(
                f"masks say which of {self.count} choices are allowed, an array of shape {(*batch_shape, self.count)}, "
                f"not {found}: {wrong}"
            ) from None

    def _split(self, given: Any, n: int) -> list:
        """The masks of n observations. Raises TypeError if there are no rows."""
        by_part = isinstance(given, tuple) and self.parts > 1 and not self.binary
        rows = list(zip(*given)) if by_part else list(given)
        if len(rows) != n:
            raise Failure(f"{len(rows)} masks for {n} observations")
        return rows

    def _wrong(self, given: np.ndarray) -> str:
        number = "numbers" if self.kind == BOX else "whole numbers"
        wanted = f"actions are {number}" + (f" of shape {self.shape}" if self.shape else "")
        return f"{wanted}, not {given[0] if len(given) == 1 else given!r:.60}"

    def _outside(self, given: np.ndarray) -> str:
        first, last = self.first, self.first + self.choices - 1
        bounds = f"{first[0]}..{last[0]}" if self.kind == DISCRETE else f"{first.tolist()}..{last.tolist()}"
        return f"actions are within {bounds}, not {given[0] if len(given) == 1 else given!r:.60}"
