"""Atari games of the Arcade Learning Environment (Bellemare et al., 2013), frame by frame.

The game runs in this process, which holds all of ALE (its licence is GPL-2) and nothing of liblangevin.
It hands over plain grayscale screens; what agents see is made of them in C (src/env/env_atari.c).

Shared memory: two screens, (2, height, width) bytes. A step of n frames writes the last but one into
the first and the last into the second; if the game ends before that, what was not reached stays as it
was. A reset writes both.

Actions: i >= 0 is the i-th of the game's set; -1 - c is ALE's action of code c, in the set or not.
"""

import contextlib
import difflib
import io
import pickle
import re
import sys

NOOP, FIRE = 0, 1  # ALE's codes


class AtariTask:
    """One game: make, attach the memory, then reset and step."""

    def make(self, config):
        """Loads the game that config names; returns what the other side has to know of it."""
        ale_py = _import_ale()
        self._path = _find_rom(config["game"])
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self._ale = ale_py.ALEInterface()
        self._ale.setFloat("repeat_action_probability", float(config.get("sticky", 0)))
        self._load(0)
        full = config.get("actions") == "full"
        actions = self._ale.getLegalActionSet() if full else self._ale.getMinimalActionSet()
        self._actions = [action.value for action in actions]
        self._seeded = False
        height, width = self._ale.getScreenDims()
        return {
            "height": height,
            "width": width,
            "actions": len(self._actions),
            "has_fire": FIRE in self._actions,
            "memory": 2 * height * width,
        }

    def attach(self, memory):
        """memory: the bytes that both processes see, as a NumPy array."""
        self._screens = memory.reshape(2, *self._ale.getScreenDims())

    def _load(self, seed):
        self._ale.setInt("random_seed", seed)
        self._ale.loadROM(self._path)

    def reset(self, seed):
        """Starts a new game. ALE takes a seed only with the game itself: the first one counts, later
        games go on with its random numbers."""
        if not self._seeded:
            self._load(seed % 2**31)
            self._seeded = True
        self._ale.reset_game()
        for screen in self._screens:
            self._ale.getScreenGrayscale(screen)
        return 0.0, False, False, self._ale.lives(), 0

    def step(self, action, repeat):
        """The same action for `repeat` frames, fewer if the game ends; returns reward, whether the game
        is over, whether a clock stopped it (never: that is the other side's), lives and frames."""
        ale, reward, frames, over = self._ale, 0, 0, False
        code = self._actions[action] if action >= 0 else -1 - action
        while frames < repeat and not over:
            reward += ale.act(code)
            over = ale.game_over()
            frames += 1
            if frames >= repeat - 1:
                ale.getScreenGrayscale(self._screens[frames - repeat + 1])
        return float(reward), over, False, ale.lives(), frames

    def save(self):
        """The whole state of the game, its random numbers included."""
        return pickle.dumps(self._ale.cloneState(include_rng=True))

    def restore(self, state):
        """Goes on where save was called."""
        self._ale.restoreState(pickle.loads(state))
        self._seeded = True

    def close(self):
        self._ale = None


def _import_ale():
    try:
        import ale_py
    except ImportError as error:
        raise RuntimeError(
            f"Atari games need ale-py, which this Python does not have ({error}); install it with:\n"
            f"  {sys.executable} -m pip install ale-py"
        ) from None
    return ale_py


def _find_rom(name):
    """The file of a game; SpaceInvaders, space-invaders and space_invaders are the same one."""
    import ale_py
    from ale_py import roms

    game = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()
    known = roms.get_all_rom_ids()
    if game not in known:
        near = difflib.get_close_matches(game, known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(sorted(known))}"
        raise ValueError(f"there is no Atari game '{name}'; {hint}")
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it may print where it looks
            path = roms.get_rom_path(game)
    except OSError as error:
        raise RuntimeError(
            f"the file of the game {game} cannot be read ({error}); ale-py brings all of them:\n"
            f"  {sys.executable} -m pip install --force-reinstall ale-py"
        ) from None
    if ale_py.ALEInterface.isSupportedROM(path) is None:
        raise ValueError(f"ALE plays {game} with two players only")
    return path
