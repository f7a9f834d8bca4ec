"""langevin.auto(env): the agent that the library's rule picks for an environment."""

import gymnasium
import numpy as np
import pytest

import langevin
from langevin._library import lib


def index_agent():
    """The class that the rule names first."""
    return langevin._classes.agent_class(lib.lgv_auto_rule().decode().split()[0])


@pytest.mark.parametrize("name", ["langevin/DeepSea-v0", "langevin/NChain-v0", "FrozenLake-v1"])
def test_indexes_have_the_posterior_agent(name):
    agent = langevin.auto(name, seed=3)
    assert type(agent) is index_agent()
    assert agent.seed == 3


def test_vectors_and_pictures_have_the_general_agent():
    picture = gymnasium.spaces.Box(0, 255, (10, 10, 3), np.uint8)
    env = gymnasium.wrappers.TransformObservation(
        gymnasium.make("CartPole-v1"), lambda _: np.zeros((10, 10, 3), np.uint8), picture
    )
    for task in ("CartPole-v1", env):
        assert type(langevin.auto(task)) is langevin.AdamLMCDQN


def test_it_is_the_agent_of_that_class():
    picked, named = langevin.auto("CartPole-v1", seed=1, batch=16), langevin.AdamLMCDQN("CartPole-v1", seed=1, batch=16)
    for agent in (picked, named):
        agent.learn(300)
    assert picked.params == named.params
    assert np.array_equal(picked.parameters()["w"], named.parameters()["w"])
    assert repr(picked) == "<AdamLMCDQN 300 steps>"


def test_tabular_mdps_have_the_posterior_agent():
    mdp = langevin.TabularMDP(np.ones((2, 2, 2)) / 2, np.eye(2), horizon=4)
    agent = langevin.auto(mdp)
    assert type(agent) is index_agent()
    agent.learn(episodes=2)


def test_unknown_parameters_name_the_picked_agent():
    with pytest.raises(TypeError, match="AdamLMCDQN.*no_such_thing"):
        langevin.auto("CartPole-v1", no_such_thing=1)


def test_continuous_actions_have_sac():
    assert type(langevin.auto("Pendulum-v1")) is langevin.SAC


def test_runs_record_the_picked_agent(tmp_path):
    with pytest.warns(UserWarning, match="auto picked adam-lmcdqn"):
        langevin.run("cartpole", "auto", steps=200, out=tmp_path / "run")
    assert type(langevin.load(tmp_path / "run", env="CartPole-v1")) is langevin.AdamLMCDQN
