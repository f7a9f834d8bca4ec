"""The library's environments as Gymnasium's, and against Gymnasium's own."""

import ctypes
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import langevin
from langevin import _library as library
from langevin import _registry, envs

IDS = [i for i in envs.IDS if i != "langevin/Atari-v0"]


def test_all_are_registered():
    assert set(envs.IDS.values()) == set(_registry.entries("env")) - {"gym"}
    for identifier, name in envs.IDS.items():
        assert identifier == f"langevin/{_registry.class_name(name)}-v0"


@pytest.mark.parametrize("identifier", IDS)
def test_checker(identifier):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*infinity.*")  # what bounds would CartPole's velocities have?
        warnings.filterwarnings("ignore", message=".*(spec was None|render|not have been registered|recommend).*")
        check_env(gymnasium.make(identifier).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("identifier", IDS)
def test_vector_equals_single(identifier):
    """Each of a vector goes through the same episodes as one alone with its seed; the last observation is there."""
    vector = gymnasium.make_vec(identifier, num_envs=3)
    single = [gymnasium.make(identifier) for _ in range(3)]
    seen, _ = vector.reset(seed=7)
    for i, env in enumerate(single):
        assert np.array_equal(seen[i], env.reset(seed=7 + i)[0])
    ended, ends = [False] * 3, 0
    vector.action_space.seed(0)
    for _ in range(1010):  # longer than an episode of any of them
        actions = vector.action_space.sample()
        seen, rewards, terminated, truncated, _ = vector.step(actions)
        assert seen in vector.observation_space
        for i, env in enumerate(single):
            if ended[i]:
                obs, reward, over = env.reset()[0], 0.0, (False, False)
            else:
                obs, reward, *over, _ = env.step(actions[i])
            assert np.array_equal(seen[i], obs) and rewards[i] == reward
            assert (terminated[i], truncated[i]) == tuple(over)
            ended[i] = any(over)
            ends += ended[i]
    assert ends > 0
    vector.close()
    with pytest.raises(langevin.UsageError, match="closed"):
        vector.step(actions)


def uniform_stream(seed):
    """The library's own random numbers, so that both sides begin in the same state to the last bit."""
    state = (ctypes.c_uint64 * 4)()
    lib = library.lib
    lib.lgv_rng_seed.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p]
    lib.lgv_rng_uniform.restype, lib.lgv_rng_uniform.argtypes = ctypes.c_double, [ctypes.c_void_p]
    lib.lgv_rng_seed(state, seed, b"env")
    return lambda low, high: low + (high - low) * lib.lgv_rng_uniform(state)


CLASSIC = {
    "langevin/CartPole-v0": ("CartPole-v1", lambda u: np.array([u(-0.05, 0.05) for _ in range(4)])),
    "langevin/MountainCar-v0": ("MountainCar-v0", lambda u: np.array([u(-0.6, -0.4), 0])),
    "langevin/Acrobot-v0": ("Acrobot-v1", lambda u: np.array([u(-0.1, 0.1) for _ in range(4)]).astype(np.float32)),
    "langevin/MountainCarContinuous-v0": ("MountainCarContinuous-v0", lambda u: np.array([u(-0.6, -0.4), 0])),
    "langevin/Pendulum-v0": ("Pendulum-v1", lambda u: np.array([np.pi * u(-1, 1), u(-1, 1)])),
}


def draw_action(space, rng):
    if isinstance(space, gymnasium.spaces.Discrete):
        return int(rng.integers(space.n))
    return rng.uniform(space.low, space.high).astype(np.float32)


def compare(ours_id, episodes):
    """Rewards and ends must be the same throughout. The steps at which observations first differ by more than 1e-5, one
    an episode in which they do."""
    theirs_id, draw = CLASSIC[ours_id]
    ours, theirs = gymnasium.make(ours_id).unwrapped, gymnasium.make(theirs_id)
    rng, parted = np.random.default_rng(1), []
    for episode in range(episodes):
        ours.reset(seed=episode)
        theirs.reset(seed=episode)
        theirs.unwrapped.state = draw(uniform_stream(episode))
        over, step, first = False, 0, None
        while not over:
            action = draw_action(ours.action_space, rng)
            mine, *my_outcome, _ = ours.step(action)
            yours, *your_outcome, _ = theirs.step(action)
            step += 1
            assert my_outcome == your_outcome, (episode, step)
            difference = np.abs(mine - yours).max()
            assert difference < 1e-2, (episode, step)
            if difference > 1e-5 and first is None:
                first = step
            over = my_outcome[1] or my_outcome[2]
        if first:
            parted.append(first)
    return parted


@pytest.mark.parametrize("identifier", CLASSIC)
def test_classic(identifier):
    assert compare(identifier, 30) == []


@pytest.mark.slow
@pytest.mark.parametrize("identifier", CLASSIC)
def test_classic_1000(identifier):
    assert compare(identifier, 1000) == []


def test_mountain_car_pays_at_the_flag():
    """With reward = goal an episode is Gymnasium's, and pays 1 where that one reaches the flag."""
    theirs_id, draw = CLASSIC["langevin/MountainCar-v0"]
    ours, theirs = gymnasium.make("langevin/MountainCar-v0", reward="goal").unwrapped, gymnasium.make(theirs_id)
    rng, reached = np.random.default_rng(2), []
    for episode in range(20):
        seen, _ = ours.reset(seed=episode)
        theirs.reset(seed=episode)
        theirs.unwrapped.state = draw(uniform_stream(episode))
        total, over = 0.0, False
        while not over:
            swing = 2 if seen[1] > 0 else 0
            action = swing if episode % 2 and rng.random() < 0.9 else int(rng.integers(3))
            seen, reward, *ends, _ = ours.step(action)
            _, _, *your_ends, _ = theirs.step(action)
            assert ends == your_ends and reward == float(ends[0])
            total, over = total + reward, any(ends)
        reached.append(total)
    assert reached == [float(episode % 2) for episode in range(20)]


@pytest.mark.parametrize("features, shape", [("one-hot", (36,)), ("pixels", (6, 6, 1)), ("coordinates", (2,))])
def test_deepsea_features(features, shape):
    env = gymnasium.make("langevin/DeepSea-v0", n=6, features=features)
    seen, info = env.reset(seed=1)
    assert env.observation_space.shape == seen.shape == shape and seen.dtype == np.float32
    assert info["state"] == 0 and env.unwrapped.model.optimal_value == pytest.approx(0.99)
    for row in range(1, 7):
        seen, _, ended, _, info = env.step(0)
        assert seen in env.observation_space and ended == (row == 6)
        if features == "coordinates":
            assert seen.tolist() == pytest.approx([row / 3 - 1, info["state"] % 6 / 3 - 1])
        else:
            assert np.flatnonzero(seen).tolist() == ([] if ended else [info["state"]])


def test_deepsea_noise_repeats():
    def looks(seed):
        env = gymnasium.make("langevin/DeepSea-v0", n=6, features="pixels", pixel_noise=0.1)
        return np.stack([env.reset(seed=seed)[0]] + [env.step(1)[0] for _ in range(6)])

    assert np.array_equal(looks(1), looks(1)) and not np.isclose(looks(1), looks(2)).any()
    with pytest.raises(langevin.UsageError, match="needs pixels, but env.features is one-hot"):
        gymnasium.make("langevin/DeepSea-v0", pixel_noise=0.1)


def test_parameters():
    env = gymnasium.make("langevin/NChain-v0", n=100)
    assert env.observation_space.shape == (100,)
    assert gymnasium.make("langevin/NChain-v0", n=7, features="one-hot").reset()[0].tolist() == [0, 1, 0, 0, 0, 0, 0]
    with pytest.raises(langevin.UsageError, match="no parameter 'm'; it has n"):
        gymnasium.make("langevin/NChain-v0", m=100)
    with pytest.raises(langevin.UsageError, match="env.n = '0'"):
        gymnasium.make("langevin/NChain-v0", n=0)
    with pytest.raises(langevin.UsageError, match="no environment 'nchian'; did you mean|there is no environment"):
        langevin.NativeEnv("nchian")


def test_observations_stay():
    env = langevin.NativeEnv("cartpole")
    first, _ = env.reset(seed=1)
    kept = first.copy()
    for _ in range(5):
        env.step(0)
    assert np.array_equal(first, kept)


def test_misuse():
    env = langevin.NativeEnv("cartpole")
    with pytest.raises(langevin.UsageError, match="reset before"):
        env.step(0)
    env.reset(seed=0)
    for action, words in ((2, "within 0..1"), (-1, "within"), (0.5, "whole number"), ("a", "whole number"), (2**40, "within")):
        with pytest.raises(langevin.UsageError, match=words):
            env.step(action)
    for seed in (-1, 2**64):
        with pytest.raises((langevin.UsageError, gymnasium.error.Error)):
            env.reset(seed=seed)
    env.close()
    env.close()
    for call in (lambda: env.step(0), env.reset, lambda: env.model):
        with pytest.raises(langevin.UsageError, match="closed"):
            call()
    vector = langevin.NativeVectorEnv("cartpole", 2)
    for actions in (0, [0], [0, 2], [0.5, 0], [[0, 0]]):
        with pytest.raises(langevin.UsageError, match="actions"):
            vector.step(actions)
    with pytest.raises(langevin.UsageError, match="3 seeds"):
        vector.reset(seed=[1, 2, 3])
    assert np.array_equal(vector.reset(seed=np.array([4, 5]))[0], vector.reset(seed=4)[0])


BOTH = """
import gymnasium
import numpy as np
from gymnasium import spaces

class Both(gymnasium.Env):
    observation_space = spaces.Dict({
        "image": spaces.Box(0, 255, (7, 5, 3), np.uint8),
        "speed": spaces.Box(-1, 1, (2,), np.float64),
        "turn": spaces.Discrete(3),
        "word": spaces.Text(4),
    })
    action_space = spaces.MultiDiscrete([2, 3])

    def _look(self):
        draw = self.np_random
        pixels = draw.integers(256, size=(7, 5, 3), dtype=np.uint8)
        return {"image": pixels, "speed": draw.uniform(-1, 1, 2), "turn": int(draw.integers(3)), "word": "a"}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._look(), {}

    def step(self, action):
        return self._look(), 1.0, False, bool(self.np_random.integers(5) == 0), {}

gymnasium.register("langevin-test/Both-v0", Both)
"""


def test_a_picture_and_a_vector(tmp_path, monkeypatch):
    """The library shows them as a Dict; read again, they are the bytes that a Gymnasium environment gives."""
    (tmp_path / "both.py").write_text(BOTH)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    ours = langevin.NativeEnv("gym", id="langevin-test/Both-v0", import_="both")
    vector = langevin.NativeVectorEnv("gym", 2, id="langevin-test/Both-v0", import_="both")
    assert set(ours.observation_space.spaces) == {"picture", "vector"} and ours.problem.vector == 5
    __import__("both")
    theirs, rng = gymnasium.make("langevin-test/Both-v0"), library.CRng.stream(3, "env")
    with pytest.warns(UserWarning, match="text.*left out") as told:
        agents = [langevin.DQN(env, preset="small", hidden=(8,), replay=100, warmup=10, batch=4) for env in (ours, theirs)]
    assert told[0].filename == __file__
    readers = [agent._reader for agent in agents]
    for episode in range(2):
        mine, _ = ours.reset(seed=3) if episode == 0 else ours.reset()
        batch, _ = vector.reset(seed=3) if episode == 0 else vector.reset()
        yours, _ = theirs.reset(seed=rng.reset_seed())
        for _ in range(4):
            assert mine in ours.observation_space and batch in vector.observation_space
            assert np.array_equal(mine["picture"], yours["image"]) and np.array_equal(mine["picture"], batch["picture"][0])
            data = [reader.read(seen).data for reader, seen in zip(readers, (mine, yours))]
            assert np.array_equal(data[0][:, :105], data[1][:, :105]) and np.array_equal(data[0][:, 108:], data[1][:, 108:])
            assert readers[0].read(batch).count == 2
            action = np.array([1, 2])
            mine, _, _, ended, _ = ours.step(action)
            batch, *_ = vector.step([action, action])
            yours, *_ = theirs.step(action)
            if ended:
                break
    for wrong in (mine["picture"], {"picture": mine["picture"]}, {**mine, "vector": np.zeros(4)}, {**mine, "picture": 3}):
        with pytest.raises(langevin.UsageError, match="picture and a vector|shape|uint8"):
            readers[0].read(wrong)
    for agent in agents:
        assert agent.params["net"] == "conv"
        agent.learn(50)
    turned = {**mine, "vector": -mine["vector"]}
    assert not np.array_equal(agents[0].q_values(mine), agents[0].q_values(turned))
    for env in (ours, vector):
        env.close()


def test_stacks():
    env, single = langevin.NativeEnv("cartpole", stack=3), langevin.NativeEnv("cartpole")
    assert env.observation_space.shape == (12,) and env.problem.frames == 3
    stacked, _ = env.reset(seed=1)
    seen = [single.reset(seed=1)[0]] * 3
    for action in (0, 1, 1, 0):
        assert np.array_equal(stacked, np.concatenate(seen[-3:]))
        stacked, *_ = env.step(action)
        seen.append(single.step(action)[0])
    langevin.DQN(env, warmup=50, replay=200).learn(200)


def test_atari():
    pytest.importorskip("ale_py")
    env = gymnasium.make("langevin/Atari-v0", game="freeway")
    obs, _ = env.reset(seed=0)
    assert obs.shape == (84, 84, 4) and obs.dtype == np.uint8 and obs in env.observation_space
    obs, reward, *_ = env.step(1)
    assert reward == 0
    env.close()
