"""Checks of what callers pass in, with messages in their words."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import numpy as np

from langevin._library import BOX, DISCRETE, CActionSpace, CSpec, UsageError


def compare_specs(mine: CSpec, other: CSpec, with_horizon: bool) -> str:
    """How two specs differ, or nothing."""
    names = {
        "obs_kind": "kind of observations",
        "obs_form": "form of observations",
        "vector": "numbers beside a picture",
        "masked": "masks of actions",
        "states": "states",
        "feature_dim": "features",
    }
    if with_horizon:
        names["horizon"] = "horizon"
    if list(mine.obs_shape) != list(other.obs_shape):
        return f"observations of shape {tuple(mine.obs_shape)}, not {tuple(other.obs_shape)}"
    actions = [describe_actions(spec.actions) for spec in (mine, other)]
    if actions[0] != actions[1]:
        return f"actions: {actions[0]}, not {actions[1]}"
    if mine.frames > 1 and mine.frames != other.frames:  # the agent keeps the newest of each stack only
        return f"stacks of {mine.frames} observations, not {other.frames}"
    for field, name in names.items():
        if getattr(mine, field) != getattr(other, field):
            return f"{name}: {getattr(mine, field)}, not {getattr(other, field)}"
    return ""


def describe_actions(space: CActionSpace) -> str:
    if space.kind == BOX:
        return f"numbers from {list(space.low[: space.parts])} to {list(space.high[: space.parts])}"
    return str(space.count) if space.kind == DISCRETE else f"choices among {list(space.choices[: space.parts])}"


def check_count(name: str, value: Any) -> int:
    if value is None:
        return 0
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{name} is a whole number, not {value!r:.40}") from None
    if number != value or not 0 <= number < 2**63:
        raise UsageError(f"{name} is a whole number from 0 to 2^63 - 1, not {value!r:.40}")
    return number


def check_range(reward_range: Any) -> Optional[Tuple[float, float]]:
    if reward_range is None:
        return None
    try:
        low, high = map(float, reward_range)
    except (TypeError, ValueError):
        raise UsageError(f"reward_range is a pair (least, greatest), not {reward_range!r:.60}") from None
    if not low <= high or not np.isfinite([low, high]).all():
        raise UsageError(f"reward_range = {reward_range!r}: the least must not be above the greatest")
    return low, high


def unknown_parameter(cls: str, name: str, known: List[str]) -> str:
    import difflib  # only where it is needed: importing the package stays fast

    near = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(known)}"
    return f"{cls}() has no parameter '{name}'{hint}"
