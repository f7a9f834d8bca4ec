"""Finite-horizon problems from NumPy arrays, with exact values by backward induction."""

from __future__ import annotations

import ctypes
import functools
import operator
from typing import Any, Optional

import numpy as np

from langevin._library import Handle, UsageError, call, create, lib


class Model:
    """The exact model of a problem: states 0..S-1, actions 0..A-1, stages 0..H-1."""

    def __init__(self, pointer: int, owner: Any, states: int, actions: int, horizon: int):
        self._pointer, self._owner = pointer, owner
        self.states, self.actions, self.horizon = states, actions, horizon

    def optimal_values(self) -> np.ndarray:
        """V*, (H+1) x S; the last row is 0."""
        values = np.empty((self.horizon + 1, self.states))
        lib.lgv_model_optimal(self._pointer, values.ctypes.data)
        return values

    @property
    def optimal_value(self) -> float:
        """V* of the start, a mean over the start states."""
        return self._start_mean(self.optimal_values())

    def values(self, policy: Any) -> np.ndarray:
        """V of a policy, (H+1) x S. policy: probabilities (H, S, A), or actions (H, S); without H the same at every
        stage. NaN where it takes a forbidden action, and wherever it can get there."""
        table = self._table(policy)
        values = np.empty((self.horizon + 1, self.states))
        lib.lgv_model_evaluate(self._pointer, table.ctypes.data, values.ctypes.data)
        return values

    def value(self, policy: Any) -> float:
        """V of a policy at the start, a mean over the start states."""
        return self._start_mean(self.values(policy))

    @functools.cached_property
    def masks(self) -> Optional[np.ndarray]:
        """Which actions are allowed, (H, S, A), 1 or 0; None if all are."""
        if not lib.lgv_model_mask(self._pointer, 0, 0):
            return None
        size = self.states * self.actions
        stages = [ctypes.string_at(lib.lgv_model_mask(self._pointer, h, 0), size) for h in range(self.horizon)]
        return np.frombuffer(b"".join(stages), np.uint8).reshape(self.horizon, self.states, self.actions)

    def _start_mean(self, values: np.ndarray) -> float:
        return float(lib.lgv_model_start_mean(self._pointer, values.ctypes.data))

    def _table(self, policy: Any) -> np.ndarray:
        h, s, a = self.horizon, self.states, self.actions
        given = np.asarray(policy)
        if given.dtype.kind in "iu" and given.shape in ((s,), (h, s)):
            if ((given < 0) | (given >= a)).any():
                raise UsageError(f"a policy's actions are 0..{a - 1}")
            given = np.eye(a)[given]
        if given.dtype.kind not in "fiub" or given.shape not in ((s, a), (h, s, a)):
            raise UsageError(
                f"a policy has probabilities of shape {(h, s, a)} or {(s, a)}, or whole numbers of shape {(h, s)} or "
                f"{(s,)}; this one is {given.dtype} of shape {given.shape}"
            )
        table = np.ascontiguousarray(np.broadcast_to(given, (h, s, a)), np.float64)
        sums = table.sum(-1)
        if not (table >= 0).all() or not np.allclose(sums, 1, rtol=0, atol=1e-6):
            raise UsageError("a policy's probabilities must not be negative and sum to 1 in every state")
        return table

    def __repr__(self) -> str:
        return f"{type(self).__name__}(states={self.states}, actions={self.actions}, horizon={self.horizon})"


class TabularMDP(Model):
    """A problem that agents can be trained on.

    P: probabilities of next states, (S, A, S), or (H, S, A, S) if they depend on the stage. With one more entry at the
    end, (..., S + 1), the last one is the probability that the episode ends there.
    r: mean rewards, (S, A) or (H, S, A); they are paid as they are.
    horizon: H, the number of steps of an episode.
    start: a state, or probabilities (S).
    features: phi(s, a) for linear agents, (S, A, d); left out: one-hot.
    allowed: which actions can be taken, booleans of shape (S, A) or (H, S, A); left out: all. P and r of an action that
    is not allowed do not matter.
    """

    def __init__(
        self, P: Any, r: Any, horizon: int, *, start: Any = 0, features: Any = None, allowed: Any = None
    ):
        try:
            horizon = operator.index(horizon)
        except TypeError:
            raise UsageError(f"the horizon is a whole number, not {horizon!r:.40}") from None
        p, reward = _numbers("P", P), _numbers("r", r)
        if p.ndim not in (3, 4) or p.shape[-1] - p.shape[-3] not in (0, 1):
            raise UsageError(
                f"P has the shape {p.shape}; it takes (S, A, S), or (H, S, A, S), with S + 1 at the end where episodes "
                "can end early"
            )
        states, actions = p.shape[-3], p.shape[-2]
        for name, array, rest in (("P", p, 3), ("r", reward, 2)):
            if array.ndim == rest + 1 and array.shape[0] != horizon:
                raise UsageError(f"{name} has {array.shape[0]} stages, the horizon is {horizon}")
        if reward.ndim not in (2, 3) or reward.shape[-2:] != (states, actions):
            raise UsageError(f"r has the shape {reward.shape}; with this P it takes {(states, actions)}, or H of these")
        may = _allowed(allowed, horizon, states, actions)
        stationary = p.ndim == 3 and reward.ndim == 2 and may.ndim == 2
        handle = create("lgv_model_create", "lgv_model_free", states, actions, horizon, stationary)
        stages = 1 if stationary else horizon
        reward, may = (np.broadcast_to(table, (stages, states, actions)) for table in (reward, may))
        _fill(handle.pointer, np.broadcast_to(p, (stages, *p.shape[-3:])), reward, may)
        for state, probability in enumerate(_start(start, states)):
            lib.lgv_model_set_start(handle.pointer, state, float(probability))
        call("lgv_model_seal", handle.pointer)
        super().__init__(handle.pointer, handle, states, actions, horizon)
        self.features = _features(features, states, actions)

    def open(self, seed: int = 0) -> Handle:
        """An lgv_env that draws from the model."""
        phi = self.features
        address, dim = (None, 0) if phi is None else (phi.ctypes.data, phi.shape[1])
        return create(
            "lgv_env_from_model", "lgv_env_free", self._pointer, address, dim, seed, keeps=(self._owner, phi)
        )

    def to_env(self) -> Any:
        """A Gymnasium environment."""
        from langevin.envs import NativeEnv

        return NativeEnv(self)


def _numbers(name: str, value: Any) -> np.ndarray:
    try:
        return np.ascontiguousarray(value, np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be an array of numbers, not {value!r:.60}") from None


def _allowed(allowed: Any, horizon: int, states: int, actions: int) -> np.ndarray:
    may = np.asarray(True if allowed is None else allowed)
    if allowed is None:
        return np.broadcast_to(may, (states, actions))
    if may.dtype.kind not in "biu" or may.shape not in ((states, actions), (horizon, states, actions)):
        raise UsageError(
            f"allowed has booleans of shape {(states, actions)}, or {horizon} of these; this is {may.dtype} of shape "
            f"{may.shape}"
        )
    return may != 0


def _fill(model: int, p: np.ndarray, reward: np.ndarray, allowed: np.ndarray) -> None:
    stages, states, actions, width = p.shape
    rows = np.ascontiguousarray(p[..., :states])
    stride, base = rows.strides[-2], rows.ctypes.data
    for h in range(stages):
        for s in range(states):
            for a in range(actions):
                if not allowed[h, s, a]:
                    lib.lgv_model_forbid(model, h, s, a)
                    continue
                address = base + ((h * states + s) * actions + a) * stride
                call("lgv_model_add_row", model, h, s, a, ctypes.c_void_p(address))
                if width > states:
                    call("lgv_model_add", model, h, s, a, -1, float(p[h, s, a, states]))
                lib.lgv_model_set_reward(model, h, s, a, float(reward[h, s, a]))


def _start(start: Any, states: int) -> np.ndarray:
    given = np.asarray(start)
    if given.ndim == 0 and given.dtype.kind in "iu":
        if not 0 <= int(given) < states:
            raise UsageError(f"start = {int(given)} is outside 0..{states - 1}")
        return np.eye(states)[int(given)]
    if given.shape != (states,):
        raise UsageError(f"start is a state, or {states} probabilities; this has the shape {given.shape}")
    return _numbers("start", given)


def _features(features: Any, states: int, actions: int) -> Optional[np.ndarray]:
    if features is None:
        return None
    phi = _numbers("features", features)
    if phi.ndim != 3 or phi.shape[:2] != (states, actions) or phi.size == 0 or not np.isfinite(phi).all():
        raise UsageError(f"features are finite numbers of shape {(states, actions, 'd')}; these have the shape {phi.shape}")
    return phi.reshape(states * actions, -1)
