"""Episodes of an agent that is in memory: what langevin.evaluate(agent) and EvalCallback play."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np

from langevin._checks import compare_specs
from langevin._env_adapters import NOT_THE_TASK, MDPAdapter, NativeAdapter, make_adapter
from langevin._library import CRng, UsageError, lib
from langevin._mdp import TabularMDP
from langevin.masks import MASK
from langevin.task import reset_with_info, split_result


def make_like(agent: Any) -> Any:
    """A new environment like the one that the agent is trained on."""
    adapter, given = agent.adapter, agent.env
    if isinstance(given, TabularMDP):
        return given
    import gymnasium

    from langevin.envs import NativeEnv, NativeVectorEnv

    native = adapter.native if isinstance(adapter, NativeAdapter) else given if isinstance(given, NativeVectorEnv) else None
    if native is not None and native.params is not None:
        return NativeEnv(native.name, **native.params)
    inside = getattr(adapter, "inside", None)
    spec = getattr(inside[0] if inside else given, "spec", None)
    if isinstance(given, gymnasium.vector.VectorWrapper) or spec is None:
        raise UsageError("only its own code can make an environment like this one: name another one with env=...")
    if inside or not isinstance(given, gymnasium.vector.VectorEnv):
        return gymnasium.make(spec)
    kwargs = {name: value for name, value in spec.kwargs.items() if name not in NOT_THE_TASK}
    return gymnasium.make(spec.id, max_episode_steps=spec.max_episode_steps, **kwargs)


class Evaluation:
    """An environment of its own, whose resets get their seeds from a stream, as the evaluations of runs do."""

    def __init__(self, agent: Any, env: Any, rng: CRng):
        adapter: Any = make_adapter(make_like(agent) if env is None else env, None)
        difference = compare_specs(agent._spec, adapter.spec, agent._staged)
        if difference:
            raise UsageError(f"the agent was made for another environment: {difference}")
        if adapter.streams > 1:
            raise UsageError("evaluations take one environment, not a vector")
        self.adapter, self.rng = adapter, rng
        self.env: Any = adapter.env if not isinstance(adapter, MDPAdapter) or isinstance(adapter, NativeAdapter) else None
        if self.env is None:
            from langevin.envs import NativeEnv

            self.env = NativeEnv(adapter.model)
        if env is None:
            weakref.finalize(self, self.env.close)  # nobody else knows it
        self.most_steps = 0 if adapter.has_limit else int(lib.lgv_episode_steps(ctypes.byref(adapter.spec), 0))

    def play(self, agent: Any, episodes: int, deterministic: bool = True) -> np.ndarray:
        """The return of each episode."""
        self._adopt_statistics(agent)
        return np.array([self._play_one(agent, deterministic) for _ in range(episodes)], np.float64)

    def _adopt_statistics(self, agent: Any) -> None:
        """Wrappers (NormalizeObservation) show observations as training does, and learn nothing here."""
        state = agent._adapter.save_statistics()
        if state:
            from langevin.gym_task import freeze_statistics

            self.adapter.restore_statistics(state)
            for env in self.adapter.wrapped:
                freeze_statistics(env)

    def _play_one(self, agent: Any, deterministic: bool) -> float:
        observation, info = reset_with_info(self.env, self.rng.reset_seed())
        state, total, length, over = None, 0.0, 0, False
        while not over:
            seen = info["state"] if agent._by_states and "state" in info else observation
            action, state = agent.predict(seen, state, deterministic=deterministic, action_masks=info.get(MASK))
            result = self.env.step(action)
            observation, reward, terminated, truncated = split_result(result)
            info, total, length = result[4], total + reward, length + 1
            over = terminated or truncated or length == self.most_steps
        return total
