"""Atari games of the Arcade Learning Environment (Bellemare et al., 2013), frame by frame, as a task of worker.py.

The game runs in this process, which holds all of ALE (its license is GPL-2) and nothing of liblangevin. It hands
over plain grayscale screens, from which src/env/external/env_atari.c makes the observations of agents.

Shared memory: two screens of height x width bytes. A step of n frames writes the last but one into the first and
the last into the second; if the game ends before that, screens it did not reach stay as they were. A reset writes both.

Actions: i >= 0 is the i-th of the game's set; -1 - c is ALE's action of code c, in the set or not.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import pickle
import re
import sys
from typing import Any

from langevin.task import BYTES, WRONG_USAGE, Failure, Outcome, Spec, Task, install

try:
    import ale_py
    import numpy as np
    from ale_py import roms
except ModuleNotFoundError as missing:
    if missing.name not in ("ale_py", "numpy"):
        raise
    raise Failure(
        f"Atari games need the package ale-py, which the Python in use does not have. Install it: "
        f"{install('ale-py')}",
        WRONG_USAGE,
    ) from None

FIRE = 1  # ALE's code
MOST_STATE = 1 << 16  # bytes of a saved game; those of ale-py 0.12 have 15 thousand


class AtariTask(Task):
    def make(self, config: dict) -> Spec:
        self.rom = find_rom(config["game"])
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", config["sticky"])
        self.seeded = False
        self.load(0)
        full = config["actions"] == "full"
        actions = self.ale.getLegalActionSet() if full else self.ale.getMinimalActionSet()
        self.actions = [action.value for action in actions]
        height, width = self.ale.getScreenDims()
        self.pictures = config.get("pictures")
        return Spec(
            choices=(len(self.actions),),
            shape=(height, width, 1),
            obs_kind=BYTES,
            obs_bytes=height * width,
            memory_bytes=(5 if self.pictures else 2) * height * width,
            save_bytes=MOST_STATE,
            has_fire=FIRE in self.actions,
            height=height,
            width=width,
        )

    def attach(self, memory) -> None:
        height, width = self.ale.getScreenDims()
        self.screens = np.frombuffer(memory, np.uint8, 2 * height * width).reshape(2, height, width)
        self.first, self.second = self.screens
        if self.pictures:
            self.picture = np.frombuffer(memory, np.uint8, 3 * height * width, 2 * height * width)
            self.picture = self.picture.reshape(height, width, 3)

    def load(self, seed: int) -> None:
        """ALE takes a seed only together with the game."""
        self.ale.setInt("random_seed", seed % 2**31)
        self.ale.loadROM(self.rom)

    def reset(self, seed: int) -> Outcome:
        """A new game. The first seed counts; later games continue its random numbers."""
        if not self.seeded:
            self.load(seed)
            self.seeded = True
        self.ale.reset_game()
        self.ale.getScreenGrayscale(self.first)
        self.ale.getScreenGrayscale(self.second)
        if self.pictures:
            self.ale.getScreenRGB(self.picture)
        return 0.0, False, False, self.ale.lives(), 0, 0, 0, 0

    def step(self, choice: int, repeat: int) -> Outcome:
        """Ends early if the game does. Its time limit is the other side's."""
        ale, code = self.ale, self.actions[choice] if choice >= 0 else -1 - choice
        act, over = ale.act, ale.game_over
        reward, left, ended = 0, repeat, False
        while left > 0 and not ended:
            reward += act(code)
            ended = over()
            left -= 1
            if left < 2:
                ale.getScreenGrayscale(self.first if left else self.second)
        if self.pictures:
            ale.getScreenRGB(self.picture)
        return float(reward), ended, False, ale.lives(), repeat - left, 0, 0, 0

    def save(self) -> bytes:
        """The whole state of the game, its random numbers included."""
        return pickle.dumps(self.ale.cloneState(include_rng=True))

    def restore(self, state: bytes) -> None:
        self.ale.restoreState(StateReader(io.BytesIO(state)).load())
        self.seeded = True


class StateReader(pickle.Unpickler):
    """Anyone may have written the file that a state comes from, so the only class it may name is ALE's own state."""

    def find_class(self, module: str, name: str):
        if (module, name) == (ale_py.ALEState.__module__, ale_py.ALEState.__qualname__):
            return ale_py.ALEState
        raise Failure(f"the saved state is not that of a game: it asks for {module}.{name}")


def find_rom(name: str):
    """The file of a game. SpaceInvaders, space-invaders and space_invaders are the same one."""
    game = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()
    known = roms.get_all_rom_ids()
    if game not in known:
        near = difflib.get_close_matches(game, known, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else f". There are {', '.join(sorted(known))}"
        raise Failure(f"there is no game '{name}'{hint}", WRONG_USAGE)
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it may print where it looks
            path: Any = roms.get_rom_path(game)
    except OSError as error:
        raise Failure(
            f"the file of the game cannot be read ({error}). The package brings it: "
            f"{sys.executable} -m pip install --force-reinstall ale-py",
            WRONG_USAGE,
        ) from None
    if ale_py.ALEInterface.isSupportedROM(path) is None:
        raise Failure("ALE plays this game with two players only", WRONG_USAGE)
    return path
