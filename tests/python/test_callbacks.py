"""EvalCallback, CheckpointCallback, StopOnReward, objects as callbacks, and langevin.evaluate of an agent in memory."""

import os

import gymnasium
import numpy as np
import pytest

import langevin


def test_every_callback_has_its_own_interval():
    class Seen:
        def __init__(self, every=None):
            self.steps = []
            if every:
                self.every = every

        def __call__(self, agent):
            self.steps.append(agent.num_timesteps)

    usual, seldom = Seen(), Seen(700)
    agent = langevin.DQN("CartPole-v1").learn(1500, callback=[usual, seldom], callback_every=500)
    assert usual.steps == [500, 1000, 1500] and seldom.steps == [700, 1400, 1500]
    agent.learn(100, callback=seldom)
    assert seldom.steps[-1] == 1600


def test_training_is_the_same_with_evaluations():
    plain = langevin.AdamLMCDQN("CartPole-v1", seed=3).learn(1200)
    watched = langevin.AdamLMCDQN("CartPole-v1", seed=3).learn(1200, callback=langevin.EvalCallback(every=300, episodes=1))
    assert (plain.parameters()["w"] == watched.parameters()["w"]).all()
    assert (plain.returns == watched.returns).all()


def test_best_agent_is_kept(tmp_path):
    best = tmp_path / "deep" / "best.safetensors"
    callback = langevin.EvalCallback(every=500, episodes=3, best=best)
    langevin.DQN("CartPole-v1", seed=1).learn(2000, callback=callback)
    means = [returns.mean() for returns in callback.returns]
    assert callback.best_return == max(means) and callback.steps == [500, 1000, 1500, 2000]
    assert langevin.load(best).num_timesteps == callback.steps[int(np.argmax(means))]


def test_stop_at():
    callback = langevin.EvalCallback(every=200, episodes=1, stop_at=-1)
    agent = langevin.DQN("CartPole-v1").learn(5000, callback=callback)
    assert agent.num_timesteps == 200


class Log:
    """Keeps the order of calls and whether the row of the step was there."""

    def __init__(self, calls, name, every, answer=None):
        self.calls, self.name, self.every, self.answer = calls, name, every, answer

    def __call__(self, agent):
        self.calls.append((self.name, agent.num_timesteps, agent.metrics["eval_return"][-1]))
        return self.answer


@pytest.mark.parametrize("log_every", [100, 1000], ids=["with a row", "without"])
def test_all_are_called_when_one_stops(tmp_path, log_every):
    calls = []
    seldom = langevin.EvalCallback(every=5000, episodes=1)
    callbacks = [Log(calls, "early", 5000), Log(calls, "stop", 300, False), Log(calls, "late", 5000), seldom]
    agent = langevin.DQN("CartPole-v1", seed=1)
    agent.learn(300, callback=langevin.EvalCallback(every=300, episodes=1))  # metrics has a row and all columns
    agent.learn(5000, callback=callbacks, log=tmp_path, log_every=log_every)
    mean = seldom.returns[0].mean()
    assert agent.num_timesteps == 600 and seldom.steps == [600]
    assert [call[:2] for call in calls] == [("stop", 600), ("early", 600), ("late", 600)]
    assert [call[2] for call in calls[1:]] == [mean, mean]  # they find the last evaluation
    rows = langevin.read_run(tmp_path)["metrics"]
    assert rows["step"].tolist() == agent.metrics["step"].tolist()[1:] and rows["eval_return"][-1] == mean
    assert (np.diff(rows["step"]) > 0).all() and np.isfinite(rows["return"][-1])


def test_all_evaluations_come_before_the_row_of_the_end():
    calls = []
    often = langevin.EvalCallback(every=200, episodes=1, stop_at=-1)
    seldom = langevin.EvalCallback(every=5000, episodes=2)
    langevin.DQN("CartPole-v1", seed=1).learn(5000, callback=[Log(calls, "end", 5000), often, seldom])
    assert often.steps == seldom.steps == [200] and calls == [("end", 200, seldom.returns[0].mean())]


def test_stop_on_reward(corridor):
    agent = langevin.DQN(corridor(), seed=0).learn(50_000, callback=langevin.StopOnReward(1, window=20), callback_every=10)
    assert agent.num_timesteps < 50_000 and (agent.returns[-20:] == 1).all()
    never = langevin.DQN(corridor(), seed=0).learn(500, callback=langevin.StopOnReward(1.5, window=5))
    assert never.num_timesteps == 500


def test_stop_on_reward_reads_the_last_episodes_alone():
    agent = langevin.DQN("CartPole-v1", seed=0)
    blocks = []
    agent.learn(3000, callback_every=100, callback=[langevin.StopOnReward(1e9, window=4), lambda a: blocks.append(len(a._episodes))])
    assert blocks[-1] > 4
    last = {count: agent._last_returns(count).tolist() for count in (1, 4, 30, 10**6)}
    assert last == {count: agent.returns[-count:].tolist() for count in last}
    assert langevin.DQN("CartPole-v1")._last_returns(4).shape == (0,)


def test_a_checkpoint_that_was_removed(tmp_path):
    callback = langevin.CheckpointCallback(tmp_path, every=100, keep=1)
    langevin.DQN("CartPole-v1").learn(300, callback=[callback, lambda _: os.unlink(callback.files[-1])], callback_every=100)
    assert os.listdir(tmp_path) == [] and len(callback.files) == 1


def test_checkpoints(tmp_path):
    callback = langevin.CheckpointCallback(tmp_path / "saved", every=400, keep=2)
    agent = langevin.DQN("CartPole-v1", seed=2).learn(1000, callback=callback)
    assert sorted(os.listdir(tmp_path / "saved")) == ["agent-1000.safetensors", "agent-800.safetensors"]
    again = langevin.load(tmp_path / "saved" / "agent-1000.safetensors")
    assert (again.parameters()["w"] == agent.parameters()["w"]).all()
    everything = langevin.CheckpointCallback(tmp_path / "all", every=300, name="dqn")
    langevin.DQN("CartPole-v1").learn(600, callback=[everything])
    assert sorted(os.listdir(tmp_path / "all")) == ["dqn-300.safetensors", "dqn-600.safetensors"]


def test_evaluate_agent_equals_evaluate_file(tmp_path):
    agent = langevin.DQN("CartPole-v1", seed=0).learn(3000)
    agent.save(tmp_path / "agent.safetensors")
    in_memory, of_file = langevin.evaluate(agent, 5, seed=7), langevin.evaluate(tmp_path / "agent.safetensors", 5, seed=7)
    assert in_memory.tolist() == of_file.tolist()
    assert langevin.evaluate(agent, 5, seed=7, env=gymnasium.make("CartPole-v1")).tolist() == of_file.tolist()
    assert langevin.evaluate(agent, 5, seed=8).tolist() != of_file.tolist()


def test_evaluate_exact(river):
    """Of a policy that always goes right: V = 3/4 (see the fixture), with the standard error of 2000 episodes."""
    agent = langevin.LMCLSVI(river, seed=0).learn(episodes=300)
    assert agent.value() == 0.75
    returns = langevin.evaluate(agent, 2000)
    assert abs(returns.mean() - 0.75) < 4 * returns.std() / np.sqrt(2000)


@pytest.mark.parametrize("make", [
    lambda: langevin.DQN(gymnasium.make("langevin/NChain-v0", n=6)),
    lambda: langevin.DQN(gymnasium.make("langevin/Switches-v0")),  # masks
    lambda: langevin.LSVIUCB(gymnasium.make("langevin/RiverSwim-v0", n=5)),  # stages
    lambda: langevin.DQN(gymnasium.make_vec("CartPole-v1", num_envs=2)),
    lambda: langevin.DQN(gymnasium.make_vec("langevin/NChain-v0", num_envs=2, n=6)),
    lambda: langevin.DQN(gymnasium.make("FrozenLake-v1")),
    lambda: langevin.DQN(gymnasium.wrappers.NormalizeObservation(gymnasium.make("CartPole-v1"))),
], ids=["chain", "masks", "stages", "vector", "native vector", "states", "statistics"])  # fmt: skip
def test_evaluate_everywhere(make):
    agent = make().learn(300)
    before = agent.returns.copy()
    returns = langevin.evaluate(agent, 3)
    assert returns.shape == (3,) and np.isfinite(returns).all()
    agent.learn(100)  # its own environment was not touched
    assert agent.returns[: len(before)].tolist() == before.tolist()


def test_evaluation_uses_the_statistics_of_training():
    env = gymnasium.wrappers.NormalizeObservation(gymnasium.make("CartPole-v1"))
    agent = langevin.DQN(env, seed=0).learn(500)
    mean = env.obs_rms.mean.copy()
    callback = langevin.EvalCallback(every=100)
    callback(agent)
    inner = callback._evaluation.env
    while not hasattr(inner, "obs_rms"):
        inner = inner.env
    assert (inner.obs_rms.mean == mean).all() and (env.obs_rms.mean == mean).all()


def test_environments_of_evaluations_are_closed(monkeypatch):
    closed = []
    usual = gymnasium.make

    class Closing(gymnasium.Wrapper):
        def close(self):
            closed.append(self)
            super().close()

    agent = langevin.DQN("CartPole-v1").learn(50)
    monkeypatch.setattr(gymnasium, "make", lambda *args, **kwargs: Closing(usual(*args, **kwargs)))
    langevin.evaluate(agent, 1)
    assert len(closed) == 1
    callback = langevin.EvalCallback(every=100, episodes=1)
    agent.learn(200, callback=callback)
    assert len(closed) == 1  # it stays for the next learn()
    del callback
    assert len(closed) == 2
    mine = Closing(usual("CartPole-v1"))
    langevin.evaluate(agent, 1, env=mine)
    assert mine not in closed


def test_mistakes(corridor):
    agent = langevin.DQN(corridor()).learn(50)
    with pytest.raises(langevin.UsageError, match="name another one with env="):
        langevin.evaluate(agent)
    assert langevin.evaluate(agent, 2, env=corridor()).shape == (2,)
    with pytest.raises(langevin.UsageError, match="another environment: observations of shape"):
        langevin.evaluate(agent, env="CartPole-v1")
    with pytest.raises(langevin.UsageError, match="not a vector"):
        langevin.evaluate(langevin.DQN("CartPole-v1"), env=gymnasium.make_vec("CartPole-v1", num_envs=2))
    with pytest.raises(langevin.UsageError, match="names its own environment"):
        langevin.evaluate("somewhere", env="CartPole-v1")
    for wrong in (lambda: langevin.EvalCallback(every=0), lambda: langevin.EvalCallback(episodes=0),
                  lambda: langevin.CheckpointCallback("x", keep=0), lambda: langevin.StopOnReward(1, window=0)):  # fmt: skip
        with pytest.raises(langevin.UsageError, match="at least 1"):
            wrong()


def test_set_env(corridor):
    agent = langevin.DQN(corridor(), seed=0).learn(100)
    second = corridor()
    agent.set_env(second)
    assert agent.env is second
    agent.learn(100)
    assert agent.num_timesteps == 200 and agent.metrics["step"].tolist() == [100, 200]
