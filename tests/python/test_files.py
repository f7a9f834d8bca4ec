"""Files of Python and of the command line, each read by the other; statistics of wrappers; the command itself."""

import json
import os
import pathlib
import struct
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import langevin

SMALL = {"warmup": 50, "replay": 500}
RUN = {"agent.warmup": 50, "agent.replay": 500, "run.eval_every": 0}


def command(*words, **env):
    """What `python -m langevin` prints."""
    done = subprocess.run(
        [sys.executable, "-m", "langevin", *map(str, words)], capture_output=True, text=True, env={**os.environ, **env}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def returns_of(path, episodes=4, seed=7):
    found = json.loads(command("eval", path, "--episodes", episodes, "--seed", seed, "--json"))
    return found["returns"]


def test_command_that_is_missing():
    done = subprocess.run(
        [sys.executable, "-m", "langevin", "version"], capture_output=True, text=True,
        env={**os.environ, "LANGEVIN_COMMAND": "/none"},
    )  # fmt: skip
    assert done.returncode == 1 and "pip install ." in done.stderr


# ---- Python reads a run


@pytest.mark.parametrize("name", ["cartpole", "gym:CartPole-v1", "riverswim"])
@pytest.mark.parametrize("envs", [1, 4])
def test_load_of_a_run(tmp_path, name, envs):
    """A run that continues in Python: the directory, or the checkpoint in it, with and without an environment."""
    langevin.run(name, "dqn", {**RUN, "run.envs": envs}, steps=600, seed=3, out=tmp_path)
    agent = langevin.load(tmp_path)
    assert type(agent) is langevin.DQN and agent.num_timesteps == 600 and agent.params["replay"] == 500
    environment = {"cartpole": "langevin/CartPole-v0", "gym:CartPole-v1": "CartPole-v1", "riverswim": "langevin/RiverSwim-v0"}
    other = langevin.load(tmp_path / "checkpoint.safetensors", env=environment[name])
    assert np.array_equal(other.parameters()["w"], agent.parameters()["w"])
    for one in (agent, other):
        observation = np.zeros(one._spec.obs_shape[0], np.float32)
        observation[0] = 1
        assert np.isfinite(one.q_values(observation)).all()
        one.learn(300)
        assert one.num_timesteps == 900


def test_load_of_a_run_with_arguments(tmp_path):
    """They arrive as what they are, and once more in the file that save() then writes."""
    arguments = {"map_name": "4x4", "is_slippery": False, "success_rate": 0.5}
    langevin.run("gym:FrozenLake-v1", "dqn", {**RUN, "env.kwargs": arguments}, steps=100, out=tmp_path)
    agent = langevin.load(tmp_path)
    assert agent.env.params["kwargs"] == arguments
    agent.save(tmp_path / "agent")
    assert langevin.evaluate(tmp_path / "agent", 3, 5).tolist() == langevin.evaluate(tmp_path, 3, 5).tolist()


def test_load_of_a_linear_run(tmp_path):
    langevin.run("linear-mdp", "lmc-lsvi", episodes=30, seed=3, out=tmp_path)
    agent = langevin.load(tmp_path)
    assert agent.q_table().any() and agent.policy().shape == agent.q_table().shape
    agent.learn(episodes=5)


def test_load_of_a_linear_run_on_gymnasium(tmp_path):
    """The range of rewards is that of the run."""
    settings = {"env.horizon": 20, "env.reward_max": 1}
    langevin.run("gym:FrozenLake-v1", "lmc-lsvi", settings, episodes=20, out=tmp_path)
    for env in (None, gymnasium.make("FrozenLake-v1", max_episode_steps=20)):
        agent = langevin.load(tmp_path, env=env)
        assert agent._spec.reward_max == 1 and len(agent.learn(episodes=5).returns) == 5


def test_a_loaded_run_continues_as_itself(tmp_path):
    """The replay, the optimizer and all streams come along: the same updates from the same transitions."""
    langevin.run("cartpole", "adam-lmcdqn", RUN, steps=1500, seed=3, out=tmp_path)
    first, second = langevin.load(tmp_path), langevin.load(tmp_path)
    for agent in (first, second):
        agent.learn(500)
    assert np.array_equal(first.parameters()["w"], second.parameters()["w"])


def test_not_a_file_of_an_agent(tmp_path):
    langevin.run("cartpole", "dqn", RUN, steps=100, out=tmp_path)
    os.remove(tmp_path / "config.json")
    with pytest.raises(langevin.FileError, match="config.json is missing"):
        langevin.load(tmp_path)
    (tmp_path / "checkpoint.safetensors").write_bytes(b"nothing")
    with pytest.raises(langevin.FileError, match="neither an agent"):
        langevin.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        langevin.load(tmp_path / "elsewhere")
    langevin.run("cartpole", "dqn", RUN, steps=100, seeds=2, out=tmp_path / "two")
    with pytest.raises(langevin.FileError, match="seed-0"):
        langevin.load(tmp_path / "two")


# ---- Forged files of agents


def checksum(hash, data):
    """That of src/base/io/tensors.c."""
    for (word,) in struct.iter_unpack("<Q", data[: len(data) // 8 * 8]):
        hash = (hash ^ word) * 0x9E3779B97F4A7C15 % 2**64
        hash ^= hash >> 29
    for byte in data[len(data) // 8 * 8 :]:
        hash = (hash ^ byte) * 0x100000001B3 % 2**64
    return hash


def forge(path, change):
    """Changes the description of an agent in its file, whose checksum fits."""
    data = path.read_bytes()
    size = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:size])
    about = json.loads(header["__metadata__"]["about"])
    python = json.loads(about["langevin"])
    change(about, python)
    header["__metadata__"].update(header=16 * "0", about=json.dumps({**about, "langevin": json.dumps(python)}))
    text = json.dumps(header).encode()
    text = text.replace(b'"header": "' + 16 * b"0", b'"header": "%016x' % checksum(len(text), text))
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[size:])


FORGED = {
    "fewer numbers than the network reads": ("space", {"kind": "box", "shape": [1], "dtype": "<f4"}),
    "more memory than there is": ("space", {"kind": "box", "shape": [2**45], "dtype": "<f4"}),
    "a mask that takes all memory": (
        "space",
        {
            "kind": "dict",
            "members": [["x", {"kind": "box", "shape": [4], "dtype": "<f4"}],
                        ["action_mask", {"kind": "multi-binary", "shape": [2**45]}]],
        },
    ),
    "a space of no kind": ("space", {}),
    "a list": ("space", [1]),
    "no stack": ("stack", "x"),
    "no sizes": ("obs_shape", None),
    "no steps": ("timesteps", -1),
    "a half seed": ("seed", 0.5),
    "no actions": ("actions", {"kind": "several"}),
    "no numbers of actions": ("actions", {"kind": "discrete", "shape": [], "dtype": "<i8", "choices": [2], "first": "x"}),
    "no records": ("records", {"window": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_forged_descriptions(tmp_path, name):
    key, value = FORGED[name]
    langevin.DQN("CartPole-v1", seed=1, **SMALL).learn(20).save(tmp_path / "agent")
    forge(tmp_path / "agent", lambda about, python: None)
    langevin.load(tmp_path / "agent").predict(np.zeros(4, np.float32))
    forge(tmp_path / "agent", lambda about, python: python.update({key: value}))
    with pytest.raises(langevin.FileError, match="neither an agent"):
        langevin.load(tmp_path / "agent")


def box(*shape):
    return {"kind": "box", "shape": shape, "dtype": "<f4"}


def dict_of(**members):
    return {"kind": "dict", "members": list(members.items())}


LARGE = 2**31 - 1
TOO_LARGE = {  # obs_shape, vector and space, which agree with each other
    "vector": ([LARGE, 1, 1], 0, box(LARGE)),
    "picture": ([LARGE, LARGE, 1], 0, box(LARGE, LARGE)),
    "vector beside a picture": ([9, 9, 1], LARGE, dict_of(picture=box(9, 9), vector=box(LARGE))),
    "mask": ([4, 1, 1], 0, dict_of(x=box(4), action_mask=box(LARGE))),
    "a negative size that hides another": ([4, 1, 1], 0, dict_of(a=box(LARGE), b={"kind": "discrete", "n": 4 - LARGE, "start": 0})),
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_LARGE)
def test_forged_sizes_are_refused_before_anything_is_built(tmp_path, monkeypatch, name):
    shape, vector, space = TOO_LARGE[name]
    langevin.DQN("CartPole-v1", seed=1, **SMALL).save(tmp_path / "agent")

    def change(about, python):
        python.update(obs_shape=shape, space=space, stack=0)
        python["spec"]["vector"] = vector

    forge(tmp_path / "agent", change)
    monkeypatch.setattr("langevin.observations.build", lambda description: pytest.fail("the space is built"))
    with pytest.raises(langevin.FileError, match="neither an agent"):
        langevin.load(tmp_path / "agent")


def test_a_large_stack_allows_no_large_mask(tmp_path, monkeypatch):
    langevin.DQN("CartPole-v1", seed=1, **SMALL).save(tmp_path / "agent")
    space = dict_of(x=box(4), action_mask=box(2**20 + 1))
    forge(tmp_path / "agent", lambda about, python: python.update(space=space, stack=2**62))
    monkeypatch.setattr("langevin.observations.build", lambda description: pytest.fail("the space is built"))
    with pytest.raises(langevin.FileError, match="neither an agent"):
        langevin.load(tmp_path / "agent")


def test_a_forged_description_keeps_its_cause(tmp_path):
    """Whoever looks for the fault, in the file or in this package, finds it."""
    langevin.DQN("CartPole-v1", seed=1, **SMALL).save(tmp_path / "agent")
    forge(tmp_path / "agent", lambda about, python: python.update(space=box(5)))
    with pytest.raises(langevin.FileError, match="neither an agent") as refused:
        langevin.load(tmp_path / "agent")
    assert "5 numbers" in str(refused.value.__cause__)


def test_a_lack_of_memory_is_no_fault_of_the_file(tmp_path, monkeypatch):
    langevin.DQN("CartPole-v1", seed=1, **SMALL).save(tmp_path / "agent")

    def fail(description):
        raise MemoryError

    monkeypatch.setattr("langevin.observations.build", fail)
    with pytest.raises(MemoryError):
        langevin.load(tmp_path / "agent")


@pytest.mark.parametrize("section, value", [("run", {"envs": "x", "episodes": 0, "steps": 0}), ("agent", {}), ("agent", 1)])
def test_forged_settings(tmp_path, section, value):
    langevin.DQN("CartPole-v1", seed=1, **SMALL).save(tmp_path / "agent")
    forge(tmp_path / "agent", lambda about, python: about.update({section: value}))
    with pytest.raises(langevin.FileError, match="neither an agent"):
        langevin.load(tmp_path / "agent")


# ---- Masks in observations


class Masked(gymnasium.Env):
    """Observations with a mask that allows one action."""

    def __init__(self, action_space, mask_space, mask):
        self.action_space, self.mask = action_space, mask
        self.observation_space = gymnasium.spaces.Dict(x=gymnasium.spaces.Box(-1, 1, (3,)), action_mask=mask_space)

    def _observe(self):
        return {"x": self.np_random.uniform(-1, 1, 3).astype(np.float32), "action_mask": self.mask}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._observe(), {}

    def step(self, action):
        return self._observe(), 0.0, bool(self.np_random.random() < 0.1), False, {}


def several(n, space):
    return gymnasium.spaces.Tuple([space] * n)


DISCRETE, BINARY = gymnasium.spaces.Discrete(4), gymnasium.spaces.MultiBinary(4)
BOX = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
MASKED = {  # actions, space of masks, mask, the only action that it allows
    "multi-discrete": (DISCRETE, gymnasium.spaces.MultiDiscrete([2] * 4), np.array([0, 0, 1, 0]), 2),
    "multi-discrete of multi-binary": (BINARY, gymnasium.spaces.MultiDiscrete([3] * 4), np.array([0, 1, 1, 0]), [0, 1, 1, 0]),
    "tuple": (DISCRETE, several(4, gymnasium.spaces.Discrete(2)), (0, 0, 1, 0), 2),
    "tuple of binaries": (BINARY, several(4, gymnasium.spaces.MultiDiscrete([2, 2])), 4 * (np.array([0, 1]),), [1] * 4),
    "beside a box": (BOX, gymnasium.spaces.MultiBinary(7), np.ones(7, np.int8), None),
}  # fmt: skip


@pytest.mark.parametrize("name, stack", [*((name, 0) for name in MASKED), ("multi-discrete", 3), ("beside a box", 3)])
def test_masks_of_any_space_are_loaded(tmp_path, name, stack):
    """The space of masks may have more numbers than there are choices. Agents for boxes ignore masks."""
    actions, space, mask, allowed = MASKED[name]
    env = Masked(actions, space, mask)
    if stack:
        env = gymnasium.wrappers.FrameStackObservation(env, stack)
    cls = langevin.SAC if actions is BOX else langevin.DQN
    agent = cls(env, seed=1, warmup=20, replay=100).learn(40)
    agent.save(tmp_path / "agent")
    alone = langevin.load(tmp_path / "agent")
    for seed in range(10):
        observation, _ = env.reset(seed=seed)
        action, _ = alone.predict(observation, deterministic=True)
        assert np.array_equal(action, agent.predict(observation, deterministic=True)[0])
        assert allowed is None or np.array_equal(action, allowed)


# ---- The command line reads Python's


def play(agent, env, seeds):
    found = []
    for seed in seeds:
        observation, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            action, _ = agent.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, _ = env.step(action)
            total, over = total + reward, terminated or truncated
        found.append(total)
    return found


def make_pair():
    return gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 2)


ENVIRONMENTS = {
    "native": lambda: gymnasium.make("langevin/NChain-v0", n=10),
    "gymnasium": lambda: "CartPole-v1",
    "kwargs": lambda: gymnasium.make("FrozenLake-v1", map_name="4x4", is_slippery=False, max_episode_steps=50),
    "wrapper": lambda: gymnasium.wrappers.FrameStackObservation(gymnasium.make("CartPole-v1"), 2),
    "vector": lambda: gymnasium.make_vec("langevin/NChain-v0", num_envs=3, n=10),
    "gymnasium-vector": make_pair,
    "make-vec": lambda: gymnasium.make_vec("CartPole-v1", num_envs=2),
    "make-vec-sync": lambda: gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync"),
}


@pytest.mark.parametrize("kind", list(ENVIRONMENTS))
def test_commands_read_what_python_saved(tmp_path, kind):
    agent = langevin.DQN(ENVIRONMENTS[kind](), seed=1, **SMALL).learn(600)
    path = tmp_path / "agent.safetensors"
    agent.save(path)
    returns = returns_of(path)
    assert returns == langevin.evaluate(path, 4, 7).tolist()
    assert f"return {returns[0]:.17g} after" in command("watch", path, "--seed", 7)
    assert "an agent that Python saved" in command("show", path)
    command("export", path, "--out", tmp_path / "command.c")
    agent.export(tmp_path / "python.c")
    assert (tmp_path / "command.c").read_text() == (tmp_path / "python.c").read_text()


def test_eval_plays_the_agent_that_python_saved(tmp_path):
    """Returns are those of the same episodes in Python; saving again after load() keeps the environment."""
    agent = langevin.AdamLMCDQN("CartPole-v1", seed=0, schedule_steps=4000, warmup=500).learn(4000)
    agent.save(tmp_path / "agent")
    langevin.load(tmp_path / "agent").save(tmp_path / "again")
    from langevin._library import CRng

    rng = CRng.stream(7, "env.fresh")
    expected = play(agent, gymnasium.make("CartPole-v1"), [rng.reset_seed() for _ in range(4)])
    assert returns_of(tmp_path / "agent") == returns_of(tmp_path / "again") == expected


def test_linear_agents_for_the_command_line(tmp_path):
    agent = langevin.LMCLSVI("langevin/RiverSwim-v0", seed=1).learn(episodes=40)
    agent.save(tmp_path / "agent")
    assert len(returns_of(tmp_path / "agent")) == 4


def test_a_constant_reward_is_saved(tmp_path):
    agent = langevin.LMCLSVI("FrozenLake-v1", reward_range=(-1, -1), seed=1).learn(episodes=3)
    agent.save(tmp_path / "agent")
    assert len(langevin.evaluate(tmp_path / "agent", episodes=2)) == 2


def test_environments_that_only_python_has(tmp_path, corridor, river):
    several = gymnasium.wrappers.vector.NormalizeObservation(make_pair())
    deep = [langevin.DQN(env, **SMALL) for env in (corridor(), several)]
    for agent in (*deep, langevin.LMCLSVI(river)):
        agent.learn(100)
        agent.save(tmp_path / "agent")
        with pytest.raises(langevin.UsageError, match="only Python can make"):
            langevin.evaluate(tmp_path / "agent")
        agent.export(tmp_path / "policy.c", "mine")
        assert "mine_act" in (tmp_path / "policy.c").read_text()


# ---- The number of environments


def test_trained_on_four_and_loaded_with_one(tmp_path):
    """Each episode goes to the next of the four streams, so that all experience is renewed."""
    for four, one in (
        (gymnasium.make_vec("langevin/CartPole-v0", num_envs=4), "langevin/CartPole-v0"),
        (gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 4), "CartPole-v1"),
    ):
        agent = langevin.BootstrappedDQN(four, seed=1, **SMALL).learn(1000)
        agent.save(tmp_path / "agent")
        again = langevin.load(tmp_path / "agent", env=one)
        assert np.array_equal(again.parameters()["w"], agent.parameters()["w"])
        again.learn(1000)
        assert again.num_timesteps >= 2000
        cursors = [x.arrays()["replay.cursor"].reshape(4, -1)[:, 0] for x in (agent, again)]
        assert (cursors[0] != cursors[1]).all()
        again = langevin.load(tmp_path / "agent", env=gymnasium.make_vec(one, num_envs=3))
        assert again.learn(300).num_timesteps >= 1300
        with pytest.raises(langevin.UsageError, match="4 environment.*or fewer, not 5"):
            langevin.load(tmp_path / "agent", env=gymnasium.make_vec(one, num_envs=5))


# ---- Statistics of wrappers


NORMALIZED = {"env.import": "gym_envs", "env.wrappers": "NormalizeObservation", **RUN}


def statistics_in(path, name):
    safetensors = pytest.importorskip("safetensors.numpy")
    return safetensors.load_file(path / "checkpoint.safetensors")[name].view(np.float64)


def test_evaluations_use_the_statistics_of_training(tmp_path, monkeypatch):
    """The environment has one course for each policy, so that evaluations of one agent all have one return: in the
    run, and by `langevin eval` afterwards."""
    fixtures = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(fixtures), os.environ.get("PYTHONPATH", "")]))
    settings = {**NORMALIZED, "run.eval_every": 500, "run.eval_episodes": 2, "run.checkpoint_every": 500}
    langevin.run("gym:test/Track-v0", "adam-lmcdqn", settings, steps=2000, seed=1, out=tmp_path)
    last = langevin.read_run(tmp_path)["metrics"]["eval_return"][-1]
    assert langevin.evaluate(tmp_path, 3, 5).tolist() == [last] * 3
    training, evaluation = statistics_in(tmp_path, "env.statistics"), statistics_in(tmp_path, "eval.statistics")
    assert np.array_equal(training, evaluation)
    assert training[-1] > 2000 and 1000 <= training[0] <= 1190  # the count of all steps; the mean


def test_statistics_survive_a_resume(tmp_path, monkeypatch):
    fixtures = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(fixtures), os.environ.get("PYTHONPATH", "")]))
    for steps, resume in ((600, False), (1200, True)):
        langevin.run("gym:test/Track-v0", "dqn", NORMALIZED, steps=steps, seed=1, out=tmp_path, resume=resume)
        assert statistics_in(tmp_path, "env.statistics")[-1] > steps


def make_normalized():
    return gymnasium.wrappers.NormalizeObservation(gymnasium.make("CartPole-v1"))


def moments(env):
    found = env.get_wrapper_attr("obs_rms") if isinstance(env, gymnasium.Env) else env.obs_rms
    return [*found.mean.tolist(), *found.var.tolist(), found.count]


def test_statistics_are_in_the_files_of_python(tmp_path):
    """`langevin eval` freezes them, as Python can; load() and set_env() restore them."""
    env, path = make_normalized(), tmp_path / "agent"
    agent = langevin.DQN(env, seed=1, **SMALL).learn(600)
    agent.save(path)
    fresh = [make_normalized() for _ in range(3)]
    langevin.load(path, env=fresh[0])
    alone = langevin.load(path)
    alone.save(tmp_path / "again")
    alone.set_env(fresh[1])
    langevin.load(tmp_path / "again", env=fresh[2])
    assert [moments(one) for one in fresh] == [moments(env)] * 3 and moments(env)[-1] > 600
    from langevin._library import CRng

    rng, frozen = CRng.stream(7, "env.fresh"), fresh[0]
    frozen.update_running_mean = False
    expected = play(agent, frozen, [rng.reset_seed() for _ in range(4)])
    assert returns_of(path) == returns_of(tmp_path / "again") == expected


@pytest.mark.parametrize("offsets", [[0, -5], [-100, 5], [0, 10**12], [10**30, 10**30], "x", None], ids=str)
def test_statistics_that_are_nowhere(tmp_path, offsets):
    path = tmp_path / "agent"
    langevin.DQN(make_normalized(), **SMALL).save(path)
    data = path.read_bytes()
    size = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:size])
    header["env.statistics"]["data_offsets"] = offsets
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[size:])
    with pytest.raises(langevin.FileError):
        langevin.load(path)


def test_statistics_of_vectors(tmp_path):
    """One file, whether each environment is normalized or the whole vector."""
    each = gymnasium.vector.SyncVectorEnv([make_normalized] * 2)
    for envs, first in ((each, each.envs[0]), (2 * [gymnasium.wrappers.vector.NormalizeObservation(make_pair())])):
        langevin.DQN(envs, seed=1, **SMALL).learn(300).save(tmp_path / "agent")
        one = make_normalized()
        langevin.load(tmp_path / "agent", env=one)
        assert moments(one) == moments(first)


def test_statistics_of_a_run_in_python(tmp_path):
    langevin.run("gym:CartPole-v1", "dqn", {**RUN, "env.wrappers": "NormalizeObservation"}, steps=600, out=tmp_path)
    env = make_normalized()
    agents = [langevin.load(tmp_path), langevin.load(tmp_path, env=env)]
    for agent in agents:
        assert np.array_equal(moments(agent.env), statistics_in(tmp_path, "env.statistics"))
        agent.save(tmp_path / "agent")
        assert langevin.evaluate(tmp_path / "agent", 3, 5).tolist() == langevin.evaluate(tmp_path, 3, 5).tolist()
    with pytest.warns(UserWarning, match="this environment has none"):
        langevin.load(tmp_path, env="CartPole-v1")
    both = gymnasium.wrappers.NormalizeReward(make_normalized())
    with pytest.raises(langevin.UsageError, match="other statistics"):
        langevin.load(tmp_path, env=both)


@pytest.mark.parametrize("setting, value", [("env.masks", False), ("env.stack", 2), ("env.scale", 0.5)])
def test_what_python_cannot_make_beside_statistics(tmp_path, setting, value):
    wrapped = {**RUN, "env.wrappers": "NormalizeObservation", setting: value}
    langevin.run("gym:CartPole-v1", "dqn", wrapped, steps=200, out=tmp_path)
    with pytest.raises(langevin.UsageError, match=rf"the run has {setting} = .*load\(path, env=...\)"):
        langevin.load(tmp_path)


def test_restored_statistics_continue_bit_for_bit():
    """In float32, where Gymnasium has them so."""
    from langevin.gym_task import restore_statistics, save_statistics

    first, second = make_normalized(), make_normalized()
    first.reset(seed=1)
    for _ in range(5):
        first.step(0)
    restore_statistics(second, save_statistics(first))
    for env in (first, second):
        env.reset(seed=2)
    assert first.obs_rms.mean.dtype == second.obs_rms.mean.dtype
    for action in (0, 1, 0, 1, 1):
        assert np.array_equal(first.step(action)[0], second.step(action)[0])


@pytest.mark.parametrize("cls", [langevin.AdamLMCDQN, langevin.C51])
def test_without_experience(cls, tmp_path):
    """A small file acts as the whole one does, and cannot learn."""
    agent = cls(gymnasium.make("CartPole-v1"), seed=3, **SMALL).learn(800)
    agent.save(tmp_path / "whole")
    agent.save(tmp_path / "small", experience=False)
    sizes = [(tmp_path / name).stat().st_size for name in ("whole", "small")]
    assert sizes[1] < sizes[0] - 400 * (4 + 4)  # the replay's observations and rewards, at least
    assert returns_of(tmp_path / "small") == returns_of(tmp_path / "whole")
    loaded = langevin.load(tmp_path / "small", env=gymnasium.make("CartPole-v1"))
    rows = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    assert [int(loaded.predict(row)[0]) for row in rows] == [int(agent.predict(row)[0]) for row in rows]
    with pytest.raises(langevin.UsageError, match="cannot learn on: it was saved without its experience"):
        loaded.learn(10)
    loaded.save(tmp_path / "again")  # what is missing stays missing
    assert (tmp_path / "again").stat().st_size < sizes[0] - 400 * (4 + 4)
    assert returns_of(tmp_path / "again") == returns_of(tmp_path / "whole")
    langevin.load(tmp_path / "whole", env=gymnasium.make("CartPole-v1")).learn(10)


def test_without_experience_pathwise(tmp_path):
    """Nor does a small file hold the moments of the optimizer. No file holds the table of cells, which follows from them."""
    agent = langevin.PathwiseLMCDQN(gymnasium.make("langevin/NChain-v0", n=8), seed=3).learn(800)
    agent.save(tmp_path / "whole")
    agent.save(tmp_path / "small", experience=False)
    names = [(tmp_path / name).read_bytes()[:20_000] for name in ("whole", "small")]
    assert b"optim.slot0" in names[0] and b"optim.slot0" not in names[1] and b"cell.slot" not in names[0]
    assert returns_of(tmp_path / "small") == returns_of(tmp_path / "whole") == [10] * len(returns_of(tmp_path / "whole"))
    with pytest.raises(langevin.UsageError, match="cannot learn on"):
        langevin.load(tmp_path / "small", env=gymnasium.make("langevin/NChain-v0", n=8)).learn(10)
