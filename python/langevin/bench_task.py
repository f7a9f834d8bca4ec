"""The baseline of `langevin bench bridge`: a bare Python loop over the same environment."""

from __future__ import annotations

import time

from langevin.gym_task import GymTask


class LoopTask(GymTask):
    """A step is `repeat` steps of a loop without the bridge; its reward is the seconds they took."""

    def step(self, choice: int, repeat: int):
        env, first, seed = self.env, self.actions.first, choice
        step, over = env.step, True
        begun = time.perf_counter()
        for i in range(repeat):
            if over:
                env.reset(seed=seed)
                seed += 1
            _, _, terminated, truncated, _ = step(first + i % 2)
            over = terminated or truncated
        seconds = time.perf_counter() - begun
        return seconds, False, False, 0, 0, self.slot, 0, 0
