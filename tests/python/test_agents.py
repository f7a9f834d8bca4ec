"""Agents on environments: learning, acting, saving, looking inside."""

import inspect
import pickle
import sys
import typing

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import langevin
from langevin import _library as library
from langevin import _registry, gym_task

SMALL = {"warmup": 50, "replay": 500}


TAXI = "Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3"  # it gives masks
PAIRS = [
    ("langevin/CartPole-v0", "cartpole"),
    ("langevin/Switches-v0", "switches"),
    ("CartPole-v1", "gym:CartPole-v1"),
    (TAXI, f"gym:{TAXI}"),
]


@pytest.mark.parametrize("env,name", PAIRS)
def test_learns_as_a_run_does(tmp_path, env, name):
    """The same bits as langevin.run: returns, steps, planned budget, the seeds of resets."""
    agent = langevin.AdamLMCDQN(env, seed=5, schedule_steps=3000)
    agent.learn(3000)
    (summary,) = langevin.run(name, "adam-lmcdqn", {"run.eval_every": 0}, steps=3000, seed=5)
    assert len(agent.returns) == summary["episodes"]
    assert np.cumsum(agent.returns)[-1] / len(agent.returns) == summary["mean_return"]  # one after the other
    assert agent.num_timesteps == 3000 and agent.lengths.sum() <= 3000


def test_slices_do_not_matter():
    one, many = (langevin.DQN("langevin/CartPole-v0", seed=3, schedule_steps=2000, **SMALL) for _ in range(2))
    one.learn(2000)
    for part in (1, 7, 92, 400, 1500):
        many.learn(part)
    assert np.array_equal(one.parameters()["w"], many.parameters()["w"])
    assert np.array_equal(one.returns, many.returns)


@pytest.mark.parametrize("stated", [{}, {"schedule_steps": 20_000}], ids=["no-schedule", "schedule"])
@pytest.mark.parametrize("env", ["langevin/CartPole-v0", "CartPole-v1"])
def test_repeated_learn_equals_one(env, stated):
    """A schedule has the budget that the constructor states, whatever learn() is asked for."""
    one, many = (langevin.AdamLMCDQN(env, seed=3, hidden=(16,), update_every=20, **stated) for _ in range(2))
    one.learn(20_000)
    for _ in range(20):
        many.learn(1000)
    assert np.array_equal(one.parameters()["w"], many.parameters()["w"])
    assert np.array_equal(one.returns, many.returns)


def test_schedules():
    """Without a stated budget the step size stays, and epsilon falls over epsilon_steps."""

    def trained(**stated):
        return langevin.AdamLMCDQN("langevin/CartPole-v0", seed=3, **stated).learn(2000).parameters()["w"].copy()

    assert np.array_equal(trained(), trained(schedule_steps=2000, final_lr=1, epsilon_share=0))
    assert not np.array_equal(trained(), trained(schedule_steps=2000))


class OneSeed(gymnasium.Wrapper):
    """Seeds one reset with `seed`, whatever it is asked for: the stream of a native environment in the loop in C."""

    seed = None

    def reset(self, *, seed=None, options=None):
        seed, self.seed = self.seed, None
        return self.env.reset(seed=seed)


def test_python_loop_equals_c_loop():
    """The loop in C cannot see through a wrapper: the same environment inside one is stepped from Python."""
    native, wrapped = gymnasium.make("langevin/CartPole-v0"), OneSeed(gymnasium.make("langevin/CartPole-v0"))
    agents = [langevin.DoubleDQN(env, seed=3, schedule_steps=1500, **SMALL) for env in (native, wrapped)]
    wrapped.seed = 3
    for agent in agents:
        agent.learn(1500)
    assert [type(a._loop).__name__ for a in agents] == ["NativeTrainingLoop", "GymTrainingLoop"]
    assert np.array_equal(agents[0].returns, agents[1].returns)
    assert np.array_equal(agents[0].parameters()["w"], agents[1].parameters()["w"])


def test_solves_cartpole():
    agent = langevin.AdamLMCDQN("CartPole-v1", seed=0, schedule_steps=15_000)
    agent.learn(15000)
    env, total = gymnasium.make("CartPole-v1"), 0.0
    for episode in range(5):
        obs, _ = env.reset(seed=episode)
        over = False
        while not over:
            action, state = agent.predict(obs, deterministic=True)
            assert state is None
            obs, reward, terminated, truncated, _ = env.step(action)
            total += reward
            over = terminated or truncated
    assert total / 5 > 150  # a random policy has 22


FORMS = [
    spaces.Box(0, 1, (5,), np.float32),
    spaces.Discrete(5),
    spaces.Discrete(5, start=3),
    spaces.MultiBinary(5),
    spaces.Dict({"cell": spaces.Discrete(5), "bits": spaces.MultiBinary(5)}),
    spaces.Tuple((spaces.MultiDiscrete([5, 2]), spaces.Box(0, 1, (1,), np.float64))),
]


@pytest.mark.parametrize("space", FORMS, ids=str)
def test_spaces(corridor, space):
    env = corridor(space)
    agent = langevin.DQN(env, seed=1, hidden=(16,), gamma=0.9, epsilon_steps=500, **SMALL)
    agent.learn(3000)
    assert np.mean(agent.lengths[-20:]) < 6
    obs, _ = env.reset()
    action, _ = agent.predict(obs, deterministic=True)
    assert action == 1 and isinstance(action, int)
    batch = gymnasium.vector.utils.concatenate(
        space, [obs, obs, obs], gymnasium.vector.utils.create_empty_array(space, 3)
    )
    actions, _ = agent.predict(batch, deterministic=True)
    assert actions.tolist() == [1, 1, 1]
    q = agent.q_values(batch)
    assert q.shape == (3, 2) and np.array_equal(q[2], agent.q_values(obs))
    assert q[0, 1] == pytest.approx(0.9**3, abs=0.1)


def test_action_start():
    class Shifted(gymnasium.Env):
        observation_space, action_space = spaces.Box(-1, 1, (1,), np.float32), spaces.Discrete(2, start=5)

        def reset(self, *, seed=None, options=None):
            return np.zeros(1, np.float32), {}

        def step(self, action):
            assert action in (5, 6)
            return np.zeros(1, np.float32), float(action == 6), True, False, {}

    agent = langevin.DQN(Shifted(), **SMALL)
    agent.learn(300)
    assert agent.predict(np.zeros(1), deterministic=True)[0] == 6
    assert agent.act(np.zeros(1, np.float32)) in (5, 6)


class Sampled(gymnasium.Env):
    """Observations are samples of the space; actions begin at 5."""

    action_space = spaces.Discrete(3, start=5)

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), float(action == 7), True, False, {}


NESTED = spaces.Dict(
    {
        "word": spaces.Text(3),
        "many": spaces.MultiDiscrete([2, 3], start=[4, -1]),
        "pair": spaces.Tuple((spaces.MultiBinary((2, 2)), spaces.Discrete(3, start=-1))),
    }
)
WITHOUT = [
    spaces.Box(-np.inf, np.inf, ()),
    spaces.Box(0, 9, (2, 3), np.int64),
    spaces.Box(0, 255, (3, 40, 44), np.uint8),
    spaces.Box(0, 255, (2, 40, 44, 3), np.uint8),
    spaces.Discrete(4, start=-2),
    NESTED,
]


@pytest.mark.parametrize("space", WITHOUT, ids=str)
def test_loaded_without_an_environment(tmp_path, space):
    """It takes the same observations and names the same actions."""
    agent = langevin.DQN(Sampled(space), seed=1, **SMALL)
    agent.learn(60)
    agent.save(tmp_path / "agent")
    for again in (langevin.load(tmp_path / "agent"), pickle.loads(pickle.dumps(agent))):
        for _ in range(5):
            observation = space.sample()
            assert np.array_equal(again.q_values(observation), agent.q_values(observation))
            assert again.predict(observation, deterministic=True) == agent.predict(observation, deterministic=True)


LARGE = [((44, 40, 4), np.uint8), ((4, 44, 40), np.uint8), ((44, 40), np.uint8), ((2, 44, 40, 3), np.uint8), ((40, 40), np.float32)]
SMALLER = [((7, 7, 3), np.uint8), ((10, 10, 4), np.bool_), ((3, 6, 8), np.float32), ((5, 5), np.float64)]
PICTURES = LARGE + SMALLER


@pytest.mark.parametrize("shape,dtype", PICTURES, ids=str)
def test_pictures(shape, dtype):
    class Pictures(gymnasium.Env):
        observation_space, action_space = spaces.Box(0, 1 if dtype == np.bool_ else 255, shape, dtype), spaces.Discrete(3)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.t = 0
            return self.observation_space.sample(), {}

        def step(self, action):
            self.t += 1
            return self.observation_space.sample(), 1.0, self.t == 5, False, {}

    env = Pictures()
    agent = langevin.DQN(env, preset="small", hidden=(16,), batch=4, warmup=8, replay=50)
    agent.learn(20)
    assert agent.params["net"] == ("nature" if (shape, dtype) in LARGE else "conv")
    obs = env.observation_space.sample()
    q = agent.q_values(np.stack([obs, obs]))
    assert q.shape == (2, 3) and np.array_equal(q[0], agent.q_values(obs)) and np.isfinite(q).all()
    if dtype == np.uint8:
        with pytest.raises(langevin.UsageError, match="uint8|float"):
            agent.predict(obs.astype(np.float32))


class Noise(gymnasium.Env):
    """Pictures of noise; the first pixel says which action pays."""

    observation_space, action_space = spaces.Box(0, 255, (6, 7), np.uint8), spaces.Discrete(2)

    def _look(self):
        return self.np_random.integers(256, size=(6, 7), dtype=np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.seen = 0, self._look()
        return self.seen, {}

    def step(self, action):
        reward = float(action == self.seen[0, 0] // 128)
        self.t, self.seen = self.t + 1, self._look()
        return self.seen, reward, False, self.t == 9, {}


class Hidden(gymnasium.ObservationWrapper):
    """Changes nothing; what is below cannot be seen through it."""

    def observation(self, observation):
        return observation


def test_stacks_are_kept_once():
    """Bit for bit as if every stack were kept whole, also in a vector."""
    small = {"net": "mlp", "preset": "small", "hidden": (8,), "warmup": 50, "replay": 500, "seed": 1}
    stacked, hidden = (wrap(gymnasium.wrappers.FrameStackObservation(Noise(), 3)) for wrap in (lambda env: env, Hidden))
    agents = [langevin.DoubleDQN(env, **small).learn(300) for env in (stacked, hidden)]
    assert [agent._spec.frames for agent in agents] == [3, 0]
    assert np.array_equal(agents[0].returns, agents[1].returns)
    assert np.array_equal(agents[0].parameters()["w"], agents[1].parameters()["w"])
    sizes = [agent.arrays()["replay.obs"].nbytes for agent in agents]
    assert sizes[0] < sizes[1] / 2
    with pytest.raises(langevin.UsageError, match="stacks of 3 observations, not 0"):
        agents[0].set_env(hidden)
    agents[1].set_env(stacked)
    vector = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.wrappers.FrameStackObservation(Noise(), 3)] * 2)
    assert langevin.DoubleDQN(vector, **small).learn(200)._spec.frames == 3


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_vector_modes(corridor, mode):
    """Every way of beginning anew shows the agent the same: the last observation is the fifth cell."""
    mode = gymnasium.vector.AutoresetMode(mode)
    envs = gymnasium.vector.SyncVectorEnv([lambda: corridor()] * 3, autoreset_mode=mode)
    agent = langevin.DQN(envs, seed=1, hidden=(16,), gamma=0.9, epsilon_steps=500, **SMALL)
    agent.learn(3000)
    assert agent.num_timesteps >= 3000
    assert np.mean(agent.lengths[-20:]) < 6 and agent.lengths.min() >= 4
    rewards, terminated = agent.arrays()["replay.reward"], agent.arrays()["replay.terminated"]
    assert set(rewards.tolist()) <= {0.0, 1.0} and terminated.any()
    one_hot = np.eye(5, dtype=np.float32)
    q = agent.q_values(one_hot[3:4])[0]
    assert q[1] == pytest.approx(1, abs=0.1)  # nothing is worth anything after the end


def test_native_vector():
    envs = gymnasium.make_vec("langevin/NChain-v0", num_envs=4, n=5)
    agent = langevin.AdamLMCDQN(envs, seed=0, schedule_steps=4000, **SMALL)
    agent.learn(4000)
    assert (agent.lengths == 13).all() and agent.returns.max() == 10


def test_callback_and_progress(capsys):
    agent, seen = langevin.DQN(gymnasium.make("langevin/CartPole-v0"), **SMALL), []
    agent.learn(2500, callback=lambda a: seen.append(a.num_timesteps), progress_bar=True)
    assert seen == [1000, 2000, 2500]
    assert "100 %  2,500 / 2,500 steps" in capsys.readouterr().err
    calls = []
    agent.learn(500, callback=[lambda a: calls.append(1), lambda a: calls.append(2)], callback_every=250)
    assert calls == [1, 2, 1, 2]
    agent.learn(500, callback=(lambda a: None, lambda a: False), callback_every=100)
    assert agent.num_timesteps == 3100
    agent.learn(10_000, callback=lambda a: a.num_timesteps < 3500, callback_every=100)
    assert agent.num_timesteps == 3500
    agent.learn(0)
    assert agent.num_timesteps == 3500


def test_predict_explores_unless_told(corridor):
    """The default of Stable-Baselines3."""
    assert inspect.signature(langevin.Agent.predict).parameters["deterministic"].default is False
    agent = langevin.DQN(corridor(), seed=1, hidden=(16,), epsilon_steps=10**9, **SMALL).learn(300)
    cell = np.eye(5, dtype=np.float32)[0]
    assert {agent.predict(cell)[0] for _ in range(50)} == {0, 1}
    assert len({agent.predict(cell, deterministic=True)[0] for _ in range(50)}) == 1


def test_save_and_load(tmp_path, corridor):
    path = tmp_path / "agent.safetensors"
    agent = langevin.AdamLMCDQN(corridor(), seed=1, **SMALL)
    agent.learn(500)
    agent.save(path)
    other = langevin.load(path, env=corridor())
    assert type(other) is langevin.AdamLMCDQN and other.num_timesteps == 500 and other.params == agent.params
    cells, rng = np.eye(5, dtype=np.float32), np.random.default_rng(0)
    for k in range(300):  # the same transitions: both stay equal, noise and replay included
        (a, b), done = rng.integers(5, size=2), k % 15 == 14
        actions = [x.act(cells[a]) for x in (agent, other)]
        assert actions[0] == actions[1]
        for x in (agent, other):
            x.observe(cells[a], actions[0], 0.5, cells[b], done)
    for name in ("w", "w_target"):
        assert np.array_equal(agent.parameters()[name], other.parameters()[name])
    alone = langevin.load(path)
    assert alone.predict(cells[0])[0] in (0, 1)
    with pytest.raises(langevin.UsageError, match="no environment"):
        alone.learn(10)
    alone.set_env(corridor())
    alone.learn(10)


def test_file_is_safetensors(tmp_path, corridor):
    safetensors = pytest.importorskip("safetensors.numpy")
    agent = langevin.DQN(corridor(), **SMALL)
    agent.learn(200)
    agent.save(tmp_path / "agent.safetensors")
    tensors = safetensors.load_file(tmp_path / "agent.safetensors")
    assert np.array_equal(tensors["agent.w"], agent.parameters()["w"])


def test_pickle(corridor):
    agent = langevin.BootstrappedDQN(corridor(), **SMALL)
    agent.learn(300)
    copy = pickle.loads(pickle.dumps(agent))
    cells = np.eye(5, dtype=np.float32)
    assert np.array_equal(copy.q_values(cells), agent.q_values(cells))


def test_parameters_are_views(corridor):
    agent = langevin.DQN(corridor(), hidden=(8,), **SMALL)
    view = agent.parameters()["w"]
    assert view.dtype == np.float32 and view.shape == (5 * 8 + 8 + 8 * 2 + 2,)
    view[:] = 0
    view[-1] = 3  # the bias of the second action
    assert agent.q_values(np.ones(5)).tolist() == [0, 3]
    agent.close()
    assert view[-1] == 3  # the memory lives as long as the view
    with pytest.raises(ValueError):
        langevin.DQN(corridor()).arrays()["w"][0] = 1


def test_parameters_are_views_in_bf16(corridor):
    agent = langevin.DQN(corridor(), hidden=(8, 8), precision="bf16", **SMALL)
    cells = np.eye(5, dtype=np.float32)
    before = agent.q_values(cells)
    view = agent.parameters()["w"]
    view *= 2  # the agent must notice that its tiles are stale
    assert not np.array_equal(agent.q_values(cells), before)
    view *= 0.5
    assert np.array_equal(agent.q_values(cells), before)


def test_params(corridor):
    agent = langevin.AdamLMCDQN(corridor(), lr=1e-3, hidden=(8, 9), double=True)
    assert agent.params["lr"] == 1e-3 and agent.params["hidden"] == (8, 9) and agent.params["double"] is True
    assert agent.params["optimizer"] == "asgld" and agent.params["preset"] == "small"
    other = langevin.AdamLMCDQN(corridor(), optimizer="adam", alpha1=0.8)
    assert other.params["optimizer"] == "adam" and other.params["alpha1"] == 0.8


def test_no_name_means_two_things():
    reserved = {"env", "seed", "schedule_steps", "schedule_episodes", "optimizer", "reward_range"}
    optimizers = _registry.entries("optimizer").values()
    for entry in _registry.entries("agent").values():
        own = {p.keyword for p in entry.params}
        assert not own & reserved, entry.name
        for optimizer in optimizers if entry.optimizer else ():
            theirs = {p.keyword for p in optimizer.params}
            assert not theirs & (own | reserved), (entry.name, optimizer.name)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="the annotations are written as Python 3.10 has them")
def test_signatures():
    for name, cls in langevin.agents().items():
        signature = inspect.signature(cls)
        assert list(signature.parameters)[:2] == ["env", "seed"], name
        assert "Default" in cls.__doc__ and cls._entry.summary[1:] in cls.__doc__
        for parameter in list(signature.parameters.values())[1:]:
            eval(parameter.annotation, {**vars(typing), "Sequence": typing.Sequence})
    assert "lambda_" in inspect.signature(langevin.LMCLSVI).parameters
    assert "lr" in inspect.signature(langevin.AdamLMCDQN).parameters


def test_help_shows_defaults_beside_presets():
    text = " ".join(langevin.AdamLMCDQN.__doc__.split())
    assert "Default 1 (presets: small 10, pictures 10, authors 3); a whole number in [1, 1000]" in text  # n_step
    assert "zoo" not in langevin.DoubleDQN._entry.find("preset").choices  # dqn has it, double-dqn has not
    assert "Presets (preset=...): small, atari" in langevin.DoubleDQN.__doc__


DISCRETE = [n for n, c in langevin.agents().items() if not c._entry.traits & library.TAKES_BOX]


@pytest.mark.parametrize("name", DISCRETE)  # test_continuous.py has the others
def test_every_agent(name):
    cls = langevin.agents()[name]
    env = gymnasium.make("langevin/RiverSwim-v0", n=4, horizon=6)
    agent = cls(env, seed=2)
    agent.learn(120)
    assert len(agent.returns) == 20
    assert np.isfinite(agent.values).all() == issubclass(cls, langevin.LinearAgent)
    q = agent.q_values(np.array([0, 3]))
    assert q.shape == (2, 2) and np.isfinite(q).all()
    action, state = agent.predict(1)
    assert action in (0, 1)
    assert state == (1 if issubclass(cls, langevin.LinearAgent) else None)
    assert pickle.loads(pickle.dumps(agent)).num_timesteps == 120


def test_own_loop(corridor):
    """act and observe alone learn as well as learn()."""
    env = corridor()
    agent = langevin.DQN(env, seed=1, hidden=(16,), gamma=0.9, epsilon_steps=500, **SMALL)
    lengths = []
    for _ in range(300):
        obs, _ = env.reset()
        over, length = False, 0
        while not over:
            action = agent.act(obs)
            after, reward, terminated, truncated, _ = env.step(action)
            agent.observe(obs, action, reward, after, terminated, truncated)
            obs, over, length = after, terminated or truncated, length + 1
        lengths.append(length)
    assert np.mean(lengths[-20:]) < 6


def test_a_name_registers_its_package(monkeypatch, tmp_path):
    game = "gymnasium.register('Toys/Cart-v0', 'gymnasium.envs.classic_control:CartPoleEnv', max_episode_steps=9)"
    (tmp_path / "toy_games.py").write_text(f"import gymnasium\n\n\ndef register_envs():\n    {game}\n")
    packages = (("Toys/", "toy_games", "toy-games"), ("Lost/", "no_such_toys", "lost-toys"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(gym_task, "PACKAGES", packages)
    assert len(langevin.DQN("Toys/Cart-v0").learn(90).returns) >= 9
    with pytest.raises(ImportError, match=r"Lost/Cart-v0: it needs the package lost-toys.*pip install lost-toys"):
        langevin.DQN("Lost/Cart-v0")
    del gymnasium.registry["Toys/Cart-v0"]
