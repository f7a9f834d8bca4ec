"""The saved state of a game is read from checkpoints, which may be anybody's: reading it makes ALE's own state and runs
nothing else."""

from __future__ import annotations

import io
import os
import pickle

import pytest

ale_py = pytest.importorskip("ale_py", reason="ale-py is not installed: scripts/setup-python")
from langevin.atari_task import StateReader
from langevin.task import Failure


class Command:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_state_that_would_run_something_is_refused(tmp_path):
    harm = tmp_path / "harm"
    state = pickle.dumps(Command(str(harm)))
    with pytest.raises(Failure, match="asks for (posix|nt).mkdir"):
        StateReader(io.BytesIO(state)).load()
    assert not harm.exists()
    pickle.loads(state)  # the state would have done it
    assert harm.exists()


def test_a_state_of_a_game_is_read():
    ale = ale_py.ALEInterface()
    from ale_py import roms

    ale.loadROM(roms.get_rom_path("freeway"))
    for _ in range(20):
        ale.act(1)
    state = ale.cloneState(include_rng=True)
    ale.act(1)
    copy = StateReader(io.BytesIO(pickle.dumps(state))).load()
    assert copy.equals(state) and not copy.equals(ale.cloneState(include_rng=True))
