"""Linear agents with feature maps on Gymnasium's tasks."""

import os
import signal
import sys
import threading

import gymnasium as gym
import langevin
import numpy as np
import pytest

NAMES = ["LMCLSVI", "MSLMCLSVI", "LSVIUCB", "LSVIPHE", "OPTRLSVI", "RLSVI"]


def bumps(x):
    centers = np.linspace([-1.2, -0.07], [0.6, 0.07], 5, dtype=np.float32)
    psi = np.exp(-8 * ((x[:, None] - centers) ** 2 / np.float32([3.24, 0.0196])).sum(-1))
    return psi / np.linalg.norm(psi, axis=1, keepdims=True)


@pytest.mark.parametrize("name", NAMES)
def test_every_agent_learns_on_a_box(name):
    agent = getattr(langevin, name)(gym.make("MountainCar-v0"), features="rbf", sweeps=3, points=3, seed=1)
    assert agent.params["points"] == 3 and agent.params["form"] == "discounted"
    agent.learn(episodes=2)
    q = agent.q_values(np.float32([-0.5, 0]))
    assert q.shape == (3,) and np.isfinite(q).all()
    assert (agent.arrays()["features.low"] == np.float32([-1.2, -0.07])).all()  # the bounds of the space


def test_a_discrete_task_takes_the_identity():
    env = gym.make("FrozenLake-v1", is_slippery=False)
    agent = langevin.LMCLSVI(env, features="identity", form="discounted", sweeps=5, seed=1)
    agent.learn(episodes=5)
    assert agent.arrays()["history.obs"].reshape(-1, 16)[0].tolist() == [1.0] + [0.0] * 15


def test_a_saved_agent_has_its_map(tmp_path):
    agent = langevin.RLSVI(gym.make("MountainCar-v0"), features="fourier", order=2, sweeps=3, seed=1)
    agent.learn(episodes=2)
    agent.save(tmp_path / "agent")
    x = np.float32([-0.4, 0.01])
    loaded = langevin.load(tmp_path / "agent", env=gym.make("MountainCar-v0"))
    assert loaded.params["order"] == 2 and (loaded.q_values(x) == agent.q_values(x)).all()
    agent.learn(episodes=2)
    loaded.learn(episodes=2)
    assert loaded.params == agent.params


def test_a_function_is_a_map():
    seen = []

    def function(x):
        seen.append(x.shape)
        return bumps(x)

    agent = langevin.LMCLSVI(gym.make("MountainCar-v0"), features=langevin.FeatureMap(function, 5), sweeps=3, seed=1)
    agent.learn(episodes=2)
    assert (201, 2) in seen  # a whole episode at once
    x = np.float32([[-0.5, 0.02]])
    w = agent.arrays()["lsvi.q"].reshape(4, 3, 5)[0]
    center = agent.arrays()["lsvi.rules"].reshape(4, -1)[0, 0]
    low, high = agent.arrays()["lsvi.rules"].reshape(4, -1)[0, 5:7]
    assert np.allclose(agent.q_values(x[0]), np.clip(w @ bumps(x)[0] + center, low, high), atol=1e-5)


def test_wrong_maps_are_refused():
    env = gym.make("MountainCar-v0")
    with pytest.raises(langevin.UsageError, match="did you mean 'rbf'"):
        langevin.LMCLSVI(env, features="rfb")
    with pytest.raises(TypeError, match="order"):
        langevin.LMCLSVI(env, features="rbf", order=3)
    with pytest.raises(langevin.UsageError, match="takes a function"):
        langevin.FeatureMap(None, 3)


def test_an_exception_in_a_map_is_reported_at_once():
    def broken(x):
        raise RuntimeError("no sun today")

    agent = langevin.RLSVI(gym.make("MountainCar-v0"), features=langevin.FeatureMap(broken, 5), seed=1)
    with pytest.raises(langevin.UsageError, match="raised RuntimeError: no sun today") as raised:
        agent.q_values(np.float32([-0.5, 0]))
    assert isinstance(raised.value.__cause__, RuntimeError)
    with pytest.raises(langevin.UsageError, match="no sun today"):
        agent.learn(episodes=1)


def test_ctrl_c_ends_learning():
    """The signal mostly arrives in C, so that Python sees it when C calls the map."""
    calls = 0

    def function(x):
        nonlocal calls
        calls += 1
        if calls == 50:
            threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()
        return np.concatenate([np.ones((len(x), 1), np.float32), x], 1) / 2

    before = signal.getsignal(signal.SIGINT)
    for seed in range(5):
        calls = 0
        features = langevin.FeatureMap(function, 3)
        agent = langevin.LMCLSVI(langevin.NativeEnv("mountain-car"), features=features, sweeps=2, seed=seed)
        with pytest.raises(KeyboardInterrupt):
            agent.learn(10**9)
        assert signal.getsignal(signal.SIGINT) is before
        agent.learn(100)


@pytest.mark.parametrize("env", [lambda: gym.make("MountainCar-v0"), lambda: langevin.NativeEnv("mountain-car")])
@pytest.mark.parametrize("depth", [0, 1], ids=["in the function", "around it"])
def test_an_interrupt_in_a_map_comes_through(env, depth):
    """Its handler gets the frame where it runs: that of the function, or that of the call around it."""
    calls = 0

    def function(x):
        nonlocal calls
        calls += 1
        if calls == 50:
            signal.getsignal(signal.SIGINT)(signal.SIGINT, sys._getframe(depth))
        return bumps(x)

    agent = langevin.LMCLSVI(env(), features=langevin.FeatureMap(function, 5), sweeps=2, seed=1)
    with pytest.raises(KeyboardInterrupt):
        agent.learn(500)
    assert calls == 50
    steps = agent.num_timesteps
    agent.learn(500)
    assert agent.num_timesteps == steps + 500


def test_a_map_that_is_not_finite_is_refused():
    features = langevin.FeatureMap(lambda x: np.full((len(x), 2), np.nan), 2)
    agent = langevin.LMCLSVI(gym.make("MountainCar-v0"), features=features, seed=1)
    with pytest.raises(langevin.Error, match="not finite"):
        agent.learn(episodes=1)


@pytest.mark.parametrize("function", [
    lambda x: 1,
    lambda x: np.ones(2),
    lambda x: np.ones((len(x), 1)),
    lambda x: np.ones((len(x), 2), complex),
    lambda x: np.full((len(x), 2), "1"),
])  # fmt: skip
def test_a_map_of_another_shape_is_refused(function):
    """NumPy alone would stretch it: every observation would have the same features."""
    agent = langevin.LMCLSVI(gym.make("MountainCar-v0"), features=langevin.FeatureMap(function, 2), seed=1)
    with pytest.raises(langevin.UsageError, match="features are numbers of shape"):
        agent.learn(episodes=1)


@pytest.mark.parametrize("count", ["3", 2.5, -1, 0, np.nan])
def test_a_wrong_number_of_features_is_refused(count):
    with pytest.raises(langevin.UsageError):
        langevin.FeatureMap(bumps, count)


def test_the_bridge_brings_the_bounds_of_a_box():
    env = langevin.NativeEnv("gym", id="MountainCar-v0", python=sys.executable)
    agent = langevin.LMCLSVI(env, features="rbf", points=3, sweeps=2, seed=1)
    agent.learn(episodes=1)
    assert (agent.arrays()["features.low"] == np.float32([-1.2, -0.07])).all()
    assert (agent.arrays()["features.high"] == np.float32([0.6, 0.07])).all()
    env = langevin.NativeEnv("gym", id="CartPole-v1", python=sys.executable)
    agent = langevin.LMCLSVI(env, features="rbf", points=2, sweeps=2, seed=1)
    assert agent.arrays()["features.low_fixed"].tolist() == [1, 0, 1, 0]  # speeds have no bounds


def test_the_hidden_layer_of_a_network_is_a_map(tmp_path):
    """psi of a DQN in PyTorch's terms, values of the linear agent from it, files, and refusals."""
    env = gym.make("CartPole-v1")
    donor = langevin.DQN(env, hidden=[16, 8], seed=1)
    donor.learn(600)
    path = str(tmp_path / "net.safetensors")
    donor.export(path)
    agent = langevin.RLSVI(env, features="network", file=path, sweeps=2, seed=1)
    agent.learn(episodes=3)
    x = np.float32([0.01, -0.2, 0.03, 0.4])
    arrays = agent.arrays()
    w = arrays["features.network"]
    first, second = w[: 4 * 16].reshape(4, 16), w[5 * 16 : 5 * 16 + 16 * 8].reshape(16, 8)
    h = np.maximum(x @ first + w[4 * 16 : 5 * 16], 0)
    h = np.maximum(h @ second + w[5 * 16 + 16 * 8 : 5 * 16 + 16 * 8 + 8], 0)
    psi = np.append(h, 1) / 3
    rules = arrays["lsvi.rules"].reshape(3, -1)[0]
    q = arrays["lsvi.q"].reshape(3, 2, 9)[0] @ psi + rules[0]
    assert np.allclose(agent.q_values(x), np.clip(q, rules[5], rules[6]), atol=1e-4)
    agent.save(tmp_path / "agent")
    loaded = langevin.load(tmp_path / "agent", env=env)
    assert (loaded.q_values(x) == agent.q_values(x)).all()
    with pytest.raises(langevin.UsageError, match="observations of 4 x 1 x 1 floats"):
        langevin.RLSVI(gym.make("MountainCar-v0"), features="network", file=path)
    with pytest.raises(langevin.FileError, match="No such file"):
        langevin.RLSVI(env, features="network", file=str(tmp_path / "none"))
    with pytest.raises(langevin.UsageError, match="rlsvi has no network"):
        agent.export(path)
