"""An environment of your own, in Python: a corridor with a key at one end and a door at the other.

From the folder of this file:

    langevin run --env gym:KeyDoor-v0 --set env.import=own_gym_env --agent adam-lmcdqn --steps 20000

env.import names this module; importing it registers the environment. Arguments of the constructor are set by
--set env.kwargs.length=12.
"""

import gymnasium
import numpy as np
from gymnasium import spaces


class KeyDoor(gymnasium.Env):
    """Fetch the key on the left, then open the door on the right. Only that pays: 1."""

    LEFT, RIGHT = 0, 1

    def __init__(self, length: int = 8):
        if length < 3:
            raise ValueError("length must be at least 3")
        self.length = length
        self.action_space = spaces.Discrete(2)
        self.observation_space = spaces.Dict(
            {"place": spaces.Discrete(length), "has_key": spaces.MultiBinary(1)}
        )

    def _observe(self) -> dict:
        return {"place": self.place, "has_key": np.array([self.has_key], dtype=np.int8)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)  # seeds self.np_random
        self.place = int(self.np_random.integers(1, self.length - 1))
        self.has_key = False
        return self._observe(), {}

    def step(self, action):
        move = 1 if action == self.RIGHT else -1
        self.place = min(max(self.place + move, 0), self.length - 1)
        self.has_key = self.has_key or self.place == 0
        opened = self.has_key and self.place == self.length - 1
        return self._observe(), float(opened), opened, False, {}


gymnasium.register("KeyDoor-v0", KeyDoor, max_episode_steps=50)
