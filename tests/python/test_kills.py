"""kill -9 of runs whose environment lives in a worker process. LANGEVIN_KILLS says how many kills each (default 2),
LANGEVIN_KILLS_SEED chooses other moments.

Atari games save their state, so a killed and resumed run ends with the bytes of an undisturbed one. Gymnasium's
environments do not: a resumed run gives up the episode that it was in. There, two resumes from one checkpoint are equal,
and each episode has one row."""

import os
import random
import shutil
import subprocess
import sys
import time

import pytest

LANGEVIN = os.environ.get("LANGEVIN_COMMAND") or shutil.which("langevin")
KILLS = int(os.environ.get("LANGEVIN_KILLS", "2"))
SEED = int(os.environ.get("LANGEVIN_KILLS_SEED", "1"))
RECORDS = ("config.json", "metrics.csv", "summary.json", "checkpoint.safetensors")
NETWORK = ["agent.hidden=8", "agent.batch=4", "agent.replay=300", "agent.warmup=40"]
CARTPOLE = ["--env", "gym:CartPole-v1", "--steps", "600", "--set", "run.eval_every=0", "--set", "run.checkpoint_every=50"]
PONG = ["--env", "atari:pong", "--steps", "240", "--set", "run.eval_every=0", "--set", "run.checkpoint_every=20",
        "--set", "agent.conv=2x8s8", "--set", "run.episode_steps=70"]  # fmt: skip

pytestmark = pytest.mark.skipif(not LANGEVIN, reason="there is no command line: build it, or set LANGEVIN_COMMAND")


def start(words, out, agent="dqn"):
    """Starts a run, or resumes it from its last checkpoint."""
    sets = [word for setting in NETWORK for word in ("--set", setting)]
    command = ["--resume", out] if (out / "config.json").exists() else [*words, *sets, "--agent", agent, "--seed", "3", "--out", out]
    environment = {**os.environ, "LANGEVIN_PYTHON": sys.executable}
    return subprocess.Popen([LANGEVIN, "run", *command, "-q"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(words, out, agent="dqn"):
    process = start(words, out, agent)
    _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()


def kill(words, out, whole, chance, agent="dqn"):
    """Lets a process live for a random part of the time of a whole run; returns whether it was killed in time."""
    process = start(words, out, agent)
    time.sleep(whole * chance.random())
    process.kill()
    _, errors = process.communicate()
    assert process.returncode in (0, -9), errors.decode()
    return process.returncode == -9


def assert_same(one, other):
    for name in RECORDS:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def time_of(words, out, agent="dqn"):
    begun = time.monotonic()
    finish(words, out, agent)
    return time.monotonic() - begun


def test_killed_atari_runs_end_as_undisturbed_ones(tmp_path):
    pytest.importorskip("ale_py")
    chance, kills = random.Random(SEED), 0
    whole, killed = time_of(PONG, tmp_path / "alone"), tmp_path / "killed"
    while kills < KILLS:
        if kill(PONG, killed, whole, chance):
            kills += 1
        else:
            assert_same(tmp_path / "alone", killed)
            shutil.rmtree(killed)
    finish(PONG, killed)
    assert_same(tmp_path / "alone", killed)


def assert_each_episode_once(out):
    """Rows have the steps, which grow, and the number of the episode that ended there."""
    rows = [line.split(",") for line in (out / "metrics.csv").read_text().splitlines()[1:]]
    steps, episodes = ([int(row[column]) for row in rows] for column in (0, 1))
    assert steps == sorted(set(steps))
    assert [episode for episode in episodes if episode > 0] == list(range(1, len(episodes) + 1))


@pytest.mark.parametrize("agent", ["dqn", "adam-lmcdqn"])
def test_killed_gymnasium_runs_lose_and_double_no_row(tmp_path, agent):
    chance, kills = random.Random(SEED), 0
    whole, killed = time_of(CARTPOLE, tmp_path / "alone", agent), tmp_path / "killed"
    while kills < KILLS:
        if not kill(CARTPOLE, killed, whole, chance, agent):
            shutil.rmtree(killed)
            continue
        kills += 1
        if not (killed / "config.json").exists():
            continue
        twins = [tmp_path / f"twin-{i}" for i in (1, 2)]
        for twin in twins:
            shutil.copytree(killed, twin)
            finish(CARTPOLE, twin, agent)
        assert_same(*twins)
        assert_each_episode_once(twins[0])
        for twin in twins:
            shutil.rmtree(twin)
