"""export(int8=True): the C file computes with the rounded weights, no others, and its values are near those of the agent."""

import ctypes
import os
import shutil
import subprocess

import gymnasium
import numpy as np
import pytest

import langevin

COMPILER = shutil.which(os.environ.get("CC", "cc"))
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

CASES = {
    "dqn": (langevin.DQN, "CartPole-v1", {}),
    "normalized": (langevin.AdamLMCDQN, "CartPole-v1", {"layer_norm": True, "dueling": True}),
    "distribution": (langevin.QRDQN, "CartPole-v1", {}),
    "quantiles": (langevin.IQN, "CartPole-v1", {}),
    "members": (langevin.BootstrappedDQN, "CartPole-v1", {"members": "networks", "heads": 3}),
    "convolutions": (langevin.DQN, "langevin/DeepSea-v0", {"batch": 4}),
}


def compile_policy(agent, folder, name, **options):
    """The library, and the size of its code and numbers at -Os."""
    source = folder / f"{name}.c"
    agent.export(source, name, **options)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([COMPILER, *flags, "-O2", source, "-o", folder / f"{name}.so", "-lm"], check=True)
    subprocess.run([COMPILER, "-std=c99", "-Os", "-c", source, "-o", folder / f"{name}.o"], check=True)
    return ctypes.CDLL(os.fspath(folder / f"{name}.so")), (folder / f"{name}.o").stat().st_size


def values(library, name, observations, actions):
    function, q = getattr(library, f"{name}_q"), np.empty((len(observations), actions))
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    for row, observation in zip(q, observations):
        function(np.ascontiguousarray(observation).ctypes.data, row.ctypes.data)
    return q


def train(case):
    cls, name, params = CASES[case]
    kwargs = {"n": 8, "features": "pixels", "pixel_noise": 0.5} if "DeepSea" in name else {}
    env = gymnasium.make(name, **kwargs)
    agent = cls(env, seed=0, warmup=50, replay=500, **params).learn(400)
    rng = np.random.default_rng(0)
    shape, dtype = env.observation_space.shape, env.observation_space.dtype
    rows = rng.normal(size=(200, *shape)) if dtype == np.float32 else rng.integers(0, 2, (200, *shape))
    return agent, rows.astype(dtype)


@pytest.mark.parametrize("case", CASES)
def test_near_the_floats(case, tmp_path):
    agent, observations = train(case)
    exact = agent.q_values(observations)
    plain, plain_size = compile_policy(agent, tmp_path, "f")
    small, small_size = compile_policy(agent, tmp_path, "q", int8=True)
    assert values(plain, "f", observations, exact.shape[1]) == pytest.approx(exact, rel=1e-4, abs=1e-4 * exact.std())
    error = np.abs(values(small, "q", observations, exact.shape[1]) - exact).max() / exact.std()
    assert 1e-7 < error < 0.1  # rounded, but not by much
    assert small_size < 0.6 * plain_size


def test_is_the_network_of_the_rounded_weights(tmp_path):
    """Computed by hand from the parameters: 4 inputs, two hidden layers of 32, 2 outputs."""
    agent, observations = train("dqn")
    w, x, at = agent.parameters()["w"].astype(np.float64), observations.astype(np.float64), 0
    for layer, (n, m) in enumerate([(4, 32), (32, 32), (32, 2)]):
        weights, bias = w[at : at + n * m].reshape(n, m), w[at + n * m : at + n * m + m]
        at += n * m + m
        scale = np.abs(weights).max(axis=1, keepdims=True) / 127
        x = x @ (np.round(weights / scale) * scale) + bias
        x = np.maximum(x, 0) if layer < 2 else x
    assert at == len(w)
    library, _ = compile_policy(agent, tmp_path, "q", int8=True)
    found = values(library, "q", observations, 2)
    assert found == pytest.approx(x, rel=1e-4, abs=1e-4 * x.std())


def test_continuous_actions(tmp_path):
    agent = langevin.SAC(gymnasium.make("Pendulum-v1"), seed=0, hidden=(32,), batch=16, warmup=50).learn(100)
    observations = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    library, _ = compile_policy(agent, tmp_path, "q", int8=True)
    library.q_act.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    for observation in observations:
        action = np.empty(1, np.float32)
        library.q_act(observation.ctypes.data, action.ctypes.data)
        assert action == pytest.approx(agent.predict(observation, deterministic=True)[0], abs=0.04)  # of 4 from end to end


def test_tables_are_refused(tmp_path):
    agent = langevin.DQN(gymnasium.make("FrozenLake-v1"), seed=0, warmup=50, replay=500).learn(100)
    with pytest.raises(langevin.UsageError, match="8 bits are for the weights of a network; this policy of dqn is a table"):
        agent.export(tmp_path / "policy.c", int8=True)
    assert not (tmp_path / "policy.c").exists()
