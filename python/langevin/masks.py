"""Masks, which say what actions an observation allows. The worker of the bridge (gym_task.py) and the agents of this
package share it.

A mask is ``info["action_mask"]``, or the member ``action_mask`` of a Dict observation, which then is no input of an
agent. It has one entry per choice, part after part, 0 where a choice is forbidden; or, as sample(mask) of Gymnasium's
spaces takes it, a tuple of one mask per part, and for MultiBinary an array of the space's shape: 0 and 1 allow just that,
2 allows both. An info without a mask allows everything.
"""

from __future__ import annotations

from typing import Any, List

import numpy as np

from langevin.task import Failure

MASK = "action_mask"  # its key in infos and observations


def has_mask(space: Any) -> bool:
    """Whether observations of a space bring masks with them."""
    members = getattr(space, "spaces", None)
    return isinstance(members, dict) and MASK in members


def refuse_mask(info: Any) -> None:
    """For an environment whose first reset gave no mask: an agent that has no place for masks could not obey one."""
    if isinstance(info, dict) and info.get(MASK) is not None:
        raise Failure(f"info[{MASK!r}] appears, but the first reset had none: give a mask at every reset, too")


def leaves(value: Any) -> List[np.ndarray]:
    """The arrays in nested tuples or lists; numbers side by side are one array."""
    if isinstance(value, (tuple, list)) and any(isinstance(part, (tuple, list)) or np.ndim(part) > 0 for part in value):
        return [leaf for part in value for leaf in leaves(part)]
    return [np.ravel(value)]


def newest(value: Any) -> Any:
    """The last mask of a stack, which FrameStackObservation makes of each array."""
    if isinstance(value, tuple):
        return tuple(newest(part) for part in value)
    return value[-1] if np.ndim(value) > 1 else value


class Masks:
    """Reads the masks of a space of actions.

    actions: an actions.Actions or an ActionTranslator. label: what messages call a mask. in_observation: whether masks
    are members of observations; stacked: whether these are stacks.
    """

    def __init__(self, actions: Any, label: str = f"info[{MASK!r}]", in_observation: bool = False, stacked: bool = False):
        self.actions, self.label = actions, label
        self.in_observation, self.stacked = in_observation, stacked

    @classmethod
    def of_observations(cls, actions: Any, stacked: bool) -> "Masks":
        return cls(actions, f"the observation's {MASK!r}", True, stacked)

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
        value = newest(value) if self.stacked else value
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
