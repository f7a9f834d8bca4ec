"""LunarLander-v3 with normalized observations: trained by the command line, stopped, resumed, loaded, and carried to
torch and to C. The actions are equal everywhere."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import langevin

pytest.importorskip("Box2D", reason="Box2D is not installed: pip install 'gymnasium[box2d]'")
pytest.importorskip("pygame", reason="pygame, which LunarLander needs, is not installed: pip install 'gymnasium[box2d]'")
NAME, EPISODES, STOP = "LunarLander-v3", 20, 9  # about 4400 steps
SETTINGS = ("agent.normalize_obs=true", "run.eval_every=0", "run.tensorboard=false")
RECORDS = ("checkpoint.safetensors", "config.json", "metrics.csv", "summary.json")


def run(*words):
    command = [sys.executable, "-m", "langevin", "run", "--quiet", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def train(out, episodes):
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    run("--env", f"gym:{NAME}", "--agent", "dqn", "--episodes", episodes, "--seed", 3, "--out", out, *settings)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """A run that was stopped between two episodes and resumed."""
    out = tmp_path_factory.mktemp("lander") / "resumed"
    train(out, STOP)
    run("--resume", out, "--episodes", EPISODES)
    return out


@pytest.fixture(scope="module")
def agent(directory):
    return langevin.load(directory)


@pytest.fixture(scope="module")
def observations():
    """A thousand, of random play."""
    env = gymnasium.make(NAME)
    env.action_space.seed(5)
    found = []
    while len(found) < 1000:
        observation, over = env.reset(seed=len(found))[0], False
        while not over and len(found) < 1000:
            found.append(observation)
            observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
            over = terminated or truncated
    return np.stack(found)


@pytest.fixture(scope="module")
def actions(agent, observations):
    found, _ = agent.predict(observations, deterministic=True)
    assert len(set(found.tolist())) > 1
    return found


def test_a_resumed_run_is_the_whole_run(directory, tmp_path):
    train(tmp_path / "whole", EPISODES)
    for name in RECORDS:
        assert pathlib.Path(directory, name).read_bytes() == pathlib.Path(tmp_path, "whole", name).read_bytes(), name


def test_inputs_were_normalized(agent):
    arrays = agent.arrays()
    assert arrays["obs.count"][0] > 1000 and np.ptp(np.sqrt(arrays["obs.squares"] / arrays["obs.count"])) > 0.1


def test_actions_of_a_saved_agent(agent, observations, actions, tmp_path):
    agent.save(tmp_path / "agent")
    again, _ = langevin.load(tmp_path / "agent").predict(observations, deterministic=True)
    assert (again == actions).all()


def test_actions_of_torch(agent, observations, actions):
    torch = pytest.importorskip("torch")
    with torch.no_grad():
        q = agent.to_torch()(torch.tensor(observations))
    assert (q.argmax(-1).numpy() == actions).all()
    assert q.numpy() == pytest.approx(agent.q_values(observations), rel=1e-5, abs=1e-5)


def test_actions_of_c(agent, observations, actions, tmp_path):
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = tmp_path / "policy.c", tmp_path / "policy.so"
    agent.export(source)
    subprocess.run([compiler, "-O2", "-ffp-contract=off", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    act = ctypes.CDLL(os.fspath(library)).policy_act
    act.argtypes = [ctypes.c_void_p, ctypes.c_void_p]  # the observation, and a mask
    found = [act(np.ascontiguousarray(observation).ctypes.data, None) for observation in observations]
    assert (np.array(found) == actions).all()
