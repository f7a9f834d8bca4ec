"""Callbacks of learn(): functions of the agent, and objects that are called like functions.

A callback that has an attribute `every` is called every so many steps, any other one every callback_every steps; all of
them at the end of learn(). If one returns False, training stops. Evaluations come first, then the row of the records
that holds their result, then the other callbacks, which find this row in agent.metrics.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

import numpy as np

from langevin._checks import check_count
from langevin._library import CRng, UsageError
from langevin._progress import NO_BOUND

Callback = Callable[[Any], Any]


def check_every(name: str, every: Any) -> int:
    if check_count(name, every) < 1:
        raise UsageError(f"{name}: at least 1")
    return int(every)


class Callbacks:
    """Those of one learn()."""

    def __init__(self, callback: Union[Callback, Sequence[Callback], None], callback_every: Any):
        usual = check_every("callback_every", callback_every)
        listed: List[Any] = [] if callback is None else list(callback) if isinstance(callback, (list, tuple)) else [callback]
        for one in listed:
            if not callable(one):
                raise UsageError(f"callback is a function of the agent, or a list of them, not {one!r:.40}")
        self.listed: List[Tuple[Callback, int]] = [(one, getattr(one, "every", usual)) for one in listed]
        self.called = [-1] * len(listed)  # at which step of this learn(), the last time
        self.evaluates = any(isinstance(one, EvalCallback) for one in listed)

    def most(self, steps: int) -> int:
        """Steps until the next call is due."""
        return min((every - steps % every for _, every in self.listed), default=NO_BOUND)

    def call(self, agent: Any, before: int, steps: int, last: bool, add_row: Callable[[bool], None]) -> bool:
        """Calls those that are due between two counts of steps; returns whether training ends. If one of them ends it,
        those that were not due follow, in the same order."""
        stops = self._call(agent, before, steps, last, evaluations=True)
        if last or not stops:
            add_row(last)
            stops |= self._call(agent, before, steps, last, evaluations=False)
        return last or (stops and self.call(agent, before, steps, True, add_row))

    def _call(self, agent: Any, before: int, steps: int, last: bool, evaluations: bool) -> bool:
        """Returns whether one wants to stop."""
        stops = False
        for i, (one, every) in enumerate(self.listed):
            due = last or steps // every > before // every
            if due and self.called[i] < steps and isinstance(one, EvalCallback) == evaluations:
                self.called[i] = steps
                answer = one(agent)
                stops |= isinstance(answer, (bool, np.bool_)) and not answer
        return stops


class EvalCallback:
    """Evaluates the agent every `every` steps and at the end of learn(), in an environment of its own.

    env: that environment; left out, a new one like the agent's. best: a file for the agent with the best mean return so
    far, which save() writes. stop_at: training stops when an evaluation reaches this mean.

    steps and returns have every evaluation, best_return the best mean. The means are the column eval_return of
    agent.metrics and of the records. Training computes the same bits with evaluations and without.
    """

    def __init__(
        self,
        env: Any = None,
        *,
        every: int = 10_000,
        episodes: int = 10,
        best: Any = None,
        stop_at: Optional[float] = None,
    ):
        self.env, self.best, self.stop_at = env, best, stop_at
        self.every, self.episodes = check_every("every", every), check_every("episodes", episodes)
        self.steps: List[int] = []
        self.returns: List[np.ndarray] = []
        self.best_return = -np.inf
        self._evaluation: Any = None

    def __call__(self, agent: Any) -> bool:
        from langevin._evaluation import Evaluation

        if self.steps and self.steps[-1] == agent.num_timesteps:
            return True
        if self._evaluation is None:
            self._evaluation = Evaluation(agent, self.env, CRng.stream(agent.seed, "env.eval"))
        returns = self._evaluation.play(agent, self.episodes)
        self.steps.append(agent.num_timesteps)
        self.returns.append(returns)
        total = 0.0
        for one in returns.tolist():
            total += one
        mean = total / self.episodes  # one by one, as runs add
        agent._metrics.add_evaluation(mean)
        if mean > self.best_return:
            self.best_return = mean
            if self.best is not None:
                save(agent, self.best)
        return self.stop_at is None or mean < self.stop_at


class CheckpointCallback:
    """Saves the agent every `every` steps and at the end of learn(), as DIRECTORY/NAME-STEP.safetensors. langevin.load
    continues from there bit for bit. keep: how many of the newest files stay; None: all."""

    def __init__(self, directory: Any, *, every: int = 50_000, name: str = "agent", keep: Optional[int] = None):
        self.directory, self.name = os.fspath(directory), name
        self.every = check_every("every", every)
        self.keep = None if keep is None else check_every("keep", keep)
        self.files: List[str] = []  # oldest first

    def __call__(self, agent: Any) -> None:
        path = os.path.join(self.directory, f"{self.name}-{agent.num_timesteps}.safetensors")
        if path in self.files:
            return
        save(agent, path)
        self.files.append(path)
        while self.keep is not None and len(self.files) > self.keep:
            with suppress(FileNotFoundError):  # somebody may have removed it
                os.unlink(self.files.pop(0))


class StopOnReward:
    """Stops training when the mean return of the last `window` training episodes reaches `threshold`."""

    def __init__(self, threshold: float, *, window: int = 100):
        self.threshold, self.window = float(threshold), check_every("window", window)

    def __call__(self, agent: Any) -> bool:
        recent = agent._last_returns(self.window)
        return len(recent) < self.window or recent.mean() < self.threshold


def save(agent: Any, path: Any) -> None:
    os.makedirs(os.path.dirname(os.fspath(path)) or ".", exist_ok=True)
    agent.save(path)
