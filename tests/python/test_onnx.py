"""to_onnx(): ONNX Runtime computes the q_values of the agent."""

import gymnasium
import numpy as np
import pytest

import langevin

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

CASES = {
    "dqn": (langevin.DQN, "CartPole-v1", {}),
    "normalized": (langevin.AdamLMCDQN, "CartPole-v1", {"normalize_obs": True, "layer_norm": True}),
    "dueling": (langevin.DoubleDQN, "CartPole-v1", {"dueling": True}),
    "c51": (langevin.C51, "CartPole-v1", {}),
    "quantiles": (langevin.QRDQN, "CartPole-v1", {}),
    "iqn": (langevin.IQN, "CartPole-v1", {}),
    "ensemble": (langevin.BootstrappedDQN, "CartPole-v1", {}),
    "index": (langevin.HyperAgent, "CartPole-v1", {}),
    "parts": (langevin.AdamLMCDQN, "langevin/Switches-v0", {}),
    "states": (langevin.DQN, "FrozenLake-v1", {}),
}


def observations_of(agent, env, count):
    rng = np.random.default_rng(0)
    if isinstance(env.observation_space, gymnasium.spaces.Discrete):
        states = rng.integers(env.observation_space.n, size=count)
        return states, np.eye(env.observation_space.n, dtype=np.float32)[states]
    rows = rng.normal(size=(count, *env.observation_space.shape)).astype(np.float32)
    return rows, rows


@pytest.mark.parametrize("case", CASES)
def test_values(case, tmp_path):
    cls, name, params = CASES[case]
    env = gymnasium.make(name)
    agent = cls(env, seed=0, **params).learn(400)
    agent.to_onnx(tmp_path / "agent.onnx")
    session = runtime.InferenceSession(tmp_path / "agent.onnx")
    for count in (1, 7):
        given, fed = observations_of(agent, env, count)
        (q,) = session.run(["q"], {"observation": fed})
        expected = agent.q_values(given)
        assert q.shape == expected.shape
        assert np.allclose(q, expected, rtol=1e-5, atol=1e-5), np.abs(q - expected).max()


def test_pictures(tmp_path):
    space = gymnasium.spaces.Box(0, 255, (12, 12, 2), np.uint8)

    class Pictures(gymnasium.Env):
        observation_space, action_space = space, gymnasium.spaces.Discrete(3)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self.np_random.integers(256, size=space.shape, dtype=np.uint8), {}

        def step(self, action):
            return self.np_random.integers(256, size=space.shape, dtype=np.uint8), float(action), bool(action), False, {}

    agent = langevin.DQN(Pictures(), seed=0).learn(300)
    agent.to_onnx(tmp_path / "agent.onnx")
    pictures = np.random.default_rng(0).integers(256, size=(5, 12, 12, 2), dtype=np.uint8)
    (q,) = runtime.InferenceSession(tmp_path / "agent.onnx").run(["q"], {"observation": pictures})
    assert np.allclose(q, agent.q_values(pictures), rtol=1e-5, atol=1e-5)


def test_agents_by_stage_are_refused(tmp_path, river):
    with pytest.raises(langevin.UsageError, match="depends on the stage"):
        langevin.LMCLSVI(river).to_onnx(tmp_path / "agent.onnx")
    assert not (tmp_path / "agent.onnx").exists()
