"""What the tests of the Python package share. They run against whatever `import langevin` finds: the sources with the
library of a build folder ($LANGEVIN_LIBRARY), or an installed wheel."""

from __future__ import annotations

import os
import pathlib
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "fixtures"))  # gym_envs.py
os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")

gymnasium = pytest.importorskip("gymnasium", reason="Gymnasium is not installed: scripts/setup-python")
import langevin


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: left out of `make test`")


@pytest.fixture
def river():
    """Two states; action 1 moves on with probability 3/4 and pays 1/2 in the second: V* = 3/4 at a horizon of 3."""
    p = np.zeros((2, 2, 2))
    p[:, 0, 0] = 1
    p[:, 1] = [0.25, 0.75]
    r = np.zeros((2, 2))
    r[1, 1] = 0.5
    return langevin.TabularMDP(p, r, 3)


class Corridor(gymnasium.Env):
    """Five cells in a row; action 1 goes right, the last cell pays 1 and ends. Observations in the form that `space`
    asks for; `fault` makes the n-th step go wrong."""

    def __init__(self, space=None, fault=None, at=7):
        self.observation_space = space or gymnasium.spaces.Box(0, 1, (5,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.fault, self.left = fault, at

    def _observe(self):
        space = self.observation_space
        if isinstance(space, gymnasium.spaces.Discrete):
            return self.cell + int(space.start)
        if isinstance(space, gymnasium.spaces.Dict):
            return {"cell": self.cell, "bits": np.eye(5, dtype=np.int8)[self.cell]}
        if isinstance(space, gymnasium.spaces.Tuple):
            return (np.array([self.cell, 0]), np.array([self.cell / 5], np.float64))
        return np.eye(5, dtype=space.dtype)[self.cell]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return self._observe(), {}

    def step(self, action):
        self.left -= 1
        self.cell = max(0, self.cell + (1 if action else -1))
        done = self.cell == 4
        result = (self._observe(), float(done), done, False, {})
        if self.left == 0 and self.fault is not None:
            return self.fault(result)
        return result


@pytest.fixture
def corridor():
    def make(space=None, fault=None, at=7):
        return gymnasium.wrappers.TimeLimit(Corridor(space, fault, at), 20)

    return make
