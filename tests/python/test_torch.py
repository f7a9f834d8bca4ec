"""to_torch(): equal outputs."""

import gymnasium
import numpy as np
import pytest

import langevin

torch = pytest.importorskip("torch")
DEEP = [n for n, c in langevin.agents().items() if not issubclass(c, langevin.LinearAgent)]
WITHOUT = {"BootstrappedDQN", "GNLMCDQN"}
ENVS = ["langevin/CartPole-v0", "langevin/NChain-v0", "langevin/RiverSwim-v0"]


@pytest.mark.parametrize("identifier", ENVS)
@pytest.mark.parametrize("name", DEEP)
def test_vectors(name, identifier):
    env = gymnasium.make(identifier)
    if name in WITHOUT:
        agent = langevin.agents()[name](gymnasium.make("langevin/RiverSwim-v0"))
        with pytest.raises(langevin.UsageError, match="parameters"):
            agent.to_torch()
        return
    agent = langevin.agents()[name](env, seed=1, warmup=50, replay=500)
    agent.learn(300)
    obs = [env.reset(seed=0)[0]]
    while len(obs) < 16:
        obs.append(env.step(len(obs) % 2)[0])
    obs = np.stack(obs)
    module, q = agent.to_torch(), agent.q_values(obs)
    with torch.no_grad():
        assert module(torch.tensor(obs)).numpy() == pytest.approx(q, rel=2e-6, abs=2e-6)
        assert module(torch.tensor(obs[0])).shape == q[0].shape
    assert np.ptp(q) > 1e-3  # not all the same


@pytest.mark.parametrize("name", ["DQN", "C51", "QRDQN", "IQN", "NoisyNetDQN"])
def test_pictures(name):
    class Noise(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 255, (44, 36, 3), np.uint8)
        action_space = gymnasium.spaces.Discrete(3)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self.observation_space.sample(), {}

        def step(self, action):
            return self.observation_space.sample(), 1.0, True, False, {}

    env = Noise()
    agent = langevin.agents()[name](
        env, preset="small", hidden=(20,), warmup=8, batch=4, replay=50, scale_input=True, reward_range=(0, 1)
    )
    agent.learn(20)
    obs = np.stack([env.observation_space.sample() for _ in range(4)])
    with torch.no_grad():
        out = agent.to_torch()(torch.tensor(obs)).numpy()
    assert out == pytest.approx(agent.q_values(obs), rel=1e-5, abs=1e-5)


def test_options(corridor):
    for options in ({"shared_bias": True}, {"average": 50}, {"hidden": (7,)}, {"one_hot_gain": 2.0}):
        env = corridor(gymnasium.spaces.Discrete(5))
        agent = langevin.AdamLMCDQN(env, warmup=50, replay=500, **options)
        agent.learn(300)
        states = np.arange(5)
        with torch.no_grad():
            out = agent.to_torch()(torch.eye(5)).numpy()
        assert out == pytest.approx(agent.q_values(states), rel=1e-5, abs=1e-5), options
    agent = langevin.AdamLMCDQN(corridor(), stages="per-stage", n_step=1, double=False, warmup=50, replay=500)
    with pytest.raises(langevin.UsageError, match="several networks"):
        agent.to_torch()
