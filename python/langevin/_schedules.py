"""Step sizes that are functions, as Stable-Baselines3 has them: lr(remaining), remaining from 1 down to 0.

A file could not hold a function, and an agent that is loaded could not continue with it. So the function is read once: a
linear one is lr and final_lr, which every file holds; a constant one is lr. Others are refused.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping

from langevin._library import UsageError

POINTS = 16  # at which a function must be linear
TOLERANCE = 1e-6  # of its greatest value


def read_schedule(cls: str, params: Mapping[str, Any], has: Callable[[str], bool], has_budget: bool) -> Dict[str, Any]:
    """params with numbers in place of a function lr. has: whether the agent has a parameter."""
    schedule = params.get("lr")
    if not callable(schedule):
        return dict(params)
    if "final_lr" in params:
        raise UsageError(f"{cls}: lr is a function, so it says where the step size ends; leave final_lr out")
    values = [float(schedule(1 - i / POINTS)) for i in range(POINTS + 1)]
    first, last = values[0], values[-1]
    line = [first + (last - first) * i / POINTS for i in range(POINTS + 1)]
    if not all(abs(a - b) <= TOLERANCE * max(map(abs, values)) for a, b in zip(values, line)):
        raise UsageError(
            f"{cls}: lr is a function that is not linear; a file could not hold it. final_lr is the share of lr to which the "
            "step size falls linearly over schedule_steps"
        )
    if first == last:
        return {**params, "lr": first}
    if not has("final_lr"):
        raise UsageError(f"{cls}: the step size stays constant here: lr is a number. Agents with final_lr let it fall, such as AdamLMCDQN")
    if not has_budget:
        raise UsageError(f"{cls}: lr is a function of the progress: state the budget with schedule_steps= (or schedule_episodes=)")
    if not 0 <= last < first:
        raise UsageError(f"{cls}: lr may only fall, from {first:g} to {last:g} it does not")
    return {**params, "lr": first, "final_lr": last / first}
