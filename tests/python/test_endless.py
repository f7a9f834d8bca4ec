"""Environments without a time limit in learn(): episodes are truncated, with a warning, for every agent."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space

import langevin
from langevin import _library as library

DEEP = [agent for agent in langevin.agents().values() if not agent._entry.traits & (library.NEEDS_HORIZON | library.TAKES_BOX)]


class Circle(gymnasium.Env):
    """Eight places; action 1 moves one further. It never ends, unless after `length` steps, and counts its resets."""

    observation_space, action_space = gymnasium.spaces.Discrete(8), gymnasium.spaces.Discrete(2)

    def __init__(self, length=0):
        self.length, self.resets = length, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.at, self.resets = 0, 0, self.resets + 1
        return self.place, {}

    def step(self, action):
        self.place, self.at = (self.place + int(action)) % 8, self.at + 1
        return self.place, float(self.place == 4), self.at == self.length, False, {}


def learn_quietly(agent, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return agent.learn(*arguments, **options)


def test_all_deep_agents_are_here():
    assert len(DEEP) >= 15


@pytest.mark.parametrize("agent", DEEP, ids=lambda agent: agent.__name__)
def test_every_agent_ends_episodes(agent):
    env = gymnasium.make("CliffWalking-v1")
    assert env.spec.max_episode_steps is None
    with pytest.warns(UserWarning, match=r"CliffWalking-v1 has no time limit: episodes are truncated after 100 steps") as told:
        trained = agent(env, schedule_steps=1000).learn(1000)
    assert len(told) == 1 and told[0].filename == __file__
    assert len(trained.episodes) >= 10 and trained.lengths.max() <= 100


def test_the_default_follows_the_schedule():
    assert langevin.DQN(Circle())._check_limit(None) == 10_000
    assert langevin.DQN(Circle(), schedule_steps=40_000)._check_limit(None) == 2_000
    assert langevin.DQN(Circle(), schedule_steps=40_000)._check_limit(7) == 7
    assert langevin.DQN(gymnasium.make("CartPole-v1"), schedule_steps=40_000)._check_limit(None) == 0
    assert langevin.DQN(gymnasium.make("langevin/CartPole-v0"), schedule_steps=40_000)._check_limit(None) == 0


def test_slices_make_no_difference():
    one, many = (langevin.BootstrappedDQN(Circle(), warmup=50, heads=3) for _ in range(2))
    learn_quietly(one, 500, episode_steps=30)
    for _ in range(25):
        learn_quietly(many, 20, episode_steps=30)
    assert one.lengths.tolist() == many.lengths.tolist() == [30] * 16
    assert np.array_equal(one.parameters()["w"], many.parameters()["w"])


def test_the_environment_is_reset():
    env = Circle()
    learn_quietly(langevin.DQN(env), 95, episode_steps=10)
    assert env.resets == 1 + 10  # the constructor looks for masks


def test_the_library_s_own_environments():
    agent = langevin.DQN(gymnasium.make("langevin/NChain-v0", n=20))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent.learn(100, episode_steps=7)
        assert agent.lengths.tolist() == [7] * 14
        agent.learn(100)
    assert agent.lengths[-1] == agent.adapter.spec.horizon == 28
    assert langevin.DQN(gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("langevin/NChain-v0")))._check_limit(None) == 0
    for several in (gymnasium.make_vec("langevin/NChain-v0", 2), gymnasium.make_vec("langevin/NChain-v0", 2, "sync")):
        assert langevin.DQN(several)._check_limit(None) == 0
    linear = langevin.LMCLSVI(gymnasium.make("langevin/RiverSwim-v0"))
    with pytest.raises(langevin.UsageError, match="lmc-lsvi plans for the whole horizon of 40 steps"):
        linear.learn(100, episode_steps=39)
    linear.learn(80, episode_steps=40)
    assert linear.lengths.tolist() == [40, 40]


def test_waiting_is_told_once():
    with pytest.warns(UserWarning, match="Circle has not ended an episode for 10000 steps; set episode_steps") as told:
        agent = langevin.DQN(gymnasium.wrappers.TimeLimit(Circle(), 30_000), update_every=1000)
        for _ in range(5):
            agent.learn(5_000)
    assert len(told) == 1


# ---- Vectors


@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_vectors(kind, mode):
    """The second environment ends by itself; the limit does not touch it."""
    envs = kind([lambda: Circle(), lambda: Circle(4), lambda: Circle()], autoreset_mode=mode)
    name = "Circle" if kind is SyncVectorEnv else "AsyncVectorEnv"  # what is inside the latter cannot be named
    with pytest.warns(UserWarning, match=f"{name} has no time limit: episodes are truncated after 10 steps") as told:
        agent = langevin.DQN(envs).learn(300, episode_steps=10)
    assert len(told) == 1
    assert set(agent.lengths) == {4, 10}
    assert abs((agent.lengths == 10).sum() - 20) <= 1
    envs.close()


class Together(VectorEnv):
    """A vector of circles of its own kind, which resets all environments or none."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, lengths):
        self.num_envs, self.all = len(lengths), [Circle(length) for length in lengths]
        self.single_observation_space, self.single_action_space = Circle.observation_space, Circle.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.over = np.zeros(self.num_envs, bool)

    def reset(self, *, seed=None, options=None):
        self.over[:] = False
        return np.array([env.reset()[0] for env in self.all]), {}

    def step(self, actions):
        rows = [
            (env.reset()[0], 0.0, False, False) if over else env.step(action)[:4]
            for env, over, action in zip(self.all, self.over, actions)
        ]
        observations, rewards, terminated, truncated = (np.array(column) for column in zip(*rows))
        self.over = terminated | truncated
        return observations, rewards, terminated, truncated, {}


def test_a_vector_that_resets_all_at_once():
    envs = Together([0, 4])
    agent = learn_quietly(langevin.DQN(envs), 400, episode_steps=10)
    # A round of 10 steps: the second environment ends after 4, is reset, ends after 9 and waits for its reset.
    assert set(agent.lengths) == {4, 10}
    assert abs((agent.lengths == 4).sum() - 2 * (agent.lengths == 10).sum()) <= 2
