"""Minari: a dataset that an agent writes, read into the replay of another, holds the steps that were taken."""

import gymnasium
import numpy as np
import pytest

import langevin

minari = pytest.importorskip("minari", reason="minari is not installed")
for package in ("h5py", "jax", "PIL"):  # of its extras hdf5 and create
    pytest.importorskip(package, reason=f"{package} is not installed")


@pytest.fixture(autouse=True)
def datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


class Watched(gymnasium.Wrapper):
    """Keeps what happened."""

    def __init__(self, env):
        super().__init__(env)
        self.taken = []

    def reset(self, **kwargs):
        self.last, info = self.env.reset(**kwargs)
        return self.last, info

    def step(self, action):
        result = self.env.step(action)
        self.taken.append((self.last, action, *result[:4]))
        self.last = result[0]
        return result


@pytest.mark.parametrize("name", ["CartPole-v1", "FrozenLake-v1"])
def test_round_trip(name):
    env = Watched(gymnasium.make(name))
    agent = langevin.DQN(gymnasium.make(name), seed=0).learn(500)
    dataset = langevin.write_dataset(agent, "test/own-v0", 4, env=env, deterministic=False)
    assert dataset.total_episodes == 4 and dataset.total_steps == len(env.taken)

    direct, read = (langevin.DQN(gymnasium.make(name), seed=1, warmup=5_000) for _ in range(2))
    for observation, action, after, reward, terminated, truncated in env.taken:
        direct._begin_if_needed()
        direct.observe(observation, action, reward, after, terminated, truncated)
    assert langevin.read_dataset(read, "test/own-v0") == len(env.taken) == read.num_timesteps
    ours, theirs = read.arrays(), direct.arrays()
    assert ours.keys() == theirs.keys()
    for key in ours:
        assert np.array_equal(ours[key], theirs[key], equal_nan=True), key


def test_an_agent_learns_from_a_dataset():
    agent = langevin.DQN("CartPole-v1", seed=0).learn(1000)
    dataset = langevin.write_dataset(agent, "test/learn-v0", 3)
    other = langevin.DQN("CartPole-v1", seed=1, warmup=20)
    before = other.parameters()["w"].copy()
    assert langevin.read_dataset(other, dataset) == dataset.total_steps
    assert (other.parameters()["w"] != before).any()
    other.learn(100)
    with pytest.raises(langevin.UsageError, match="at least 1"):
        langevin.write_dataset(agent, "test/none-v0", 0)
