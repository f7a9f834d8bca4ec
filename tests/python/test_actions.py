"""Spaces of actions and masks: what agents take, what they return, and that nothing forbidden is ever done."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import langevin
from langevin import _library as library
from langevin._action_translator import ActionTranslator
from langevin._agent_files import describe_actions, rebuild_spec

SMALL = {"hidden": (16,), "warmup": 50, "replay": 500}
AGENTS = langevin.agents()
BOX = [name for name, cls in AGENTS.items() if cls._entry.traits & library.TAKES_BOX]
DEEP = [name for name, cls in AGENTS.items() if cls._entry.find("replay") and name not in BOX]
PARTS = [name for name, cls in AGENTS.items() if cls._entry.traits & library.TAKES_MULTI_DISCRETE]
ZEROS = np.zeros(3, np.float32)


class Masked(gymnasium.Env):
    """Draws a mask at every step and refuses what it forbids. kind: of the actions; where: the mask is in the info or
    the observation, or in the info beside the number of a state."""

    SPACES = {
        "discrete": spaces.Discrete(4, start=3),
        "multi": spaces.MultiDiscrete([[2, 3], [4, 2]], start=[[0, 1], [-1, 5]]),
        "binary": spaces.MultiBinary(3),
    }

    def __init__(self, kind="discrete", where="info", length=7):
        self.action_space, self.where, self.length = self.SPACES[kind], where, length
        self.actions = ActionTranslator.of_space(self.action_space)
        self.observation_space = spaces.Box(0, 1, (3,), np.float32)
        if where == "observation":
            mask = spaces.Box(0, 1, (self.actions.count,), np.int8)
            self.observation_space = spaces.Dict({"action_mask": mask, "seen": self.observation_space})
        elif where == "states":
            self.observation_space = spaces.Discrete(5)

    def _look(self):
        draw = self.np_random
        self.mask = draw.integers(0, 2, self.actions.count).astype(np.int8)
        self.mask[self.actions.starts + draw.integers(self.actions.choices)] = 1
        seen = draw.random(3, np.float32)
        if self.where == "observation":
            return {"action_mask": self.mask, "seen": seen}, {}
        return int(5 * seen[0]) if self.where == "states" else seen, {"action_mask": self.mask}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self._look()

    def step(self, action):
        assert self.action_space.contains(action), action
        taken = np.ravel(action) - self.actions.first
        assert self.mask[self.actions.starts + taken].all(), f"{action} is forbidden"
        self.t += 1
        observation, info = self._look()
        if self.t == self.length:
            self.mask[:] = 0  # nothing is left to do at an end
        return observation, float(taken[0] == 0), self.t == self.length, False, info


def vectors(make):
    return [SyncVectorEnv([make] * 2, autoreset_mode=mode) for mode in AutoresetMode]


@pytest.mark.parametrize("name", DEEP)
def test_forbidden_actions_are_never_taken(name):
    """In warm-up, by epsilon, greedily, in learn() and in evaluations; alone and in vectors."""
    for env in [Masked(), *vectors(Masked)]:
        agent = AGENTS[name](env, seed=1, **SMALL)
        assert agent._spec.masked
        agent.learn(300)
        assert agent.num_timesteps >= 300
    masks = np.eye(4)[np.arange(40) % 4]
    for deterministic in (False, True):
        actions, _ = agent.predict(np.zeros((40, 3)), deterministic=deterministic, action_masks=masks)
        assert (actions == np.arange(40) % 4 + 3).all()


@pytest.mark.parametrize("name", [name for name in AGENTS if name not in DEEP + BOX])
def test_agents_that_plan_obey_masks(name):
    """They take a mask for a function of stage and state; one that is not is obeyed all the same."""
    env = gymnasium.wrappers.TimeLimit(Masked(where="states"), 7)
    agent = AGENTS[name](env, seed=1, reward_range=(0, 1))
    assert agent._spec.masked
    agent.learn(episodes=60)
    masks = np.eye(4)[np.arange(20) % 4]
    for deterministic in (False, True):
        actions, _ = agent.predict(np.arange(20) % 5, deterministic=deterministic, action_masks=masks)
        assert (actions == np.arange(20) % 4 + 3).all()


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("kind", ["multi", "binary"])
def test_forbidden_parts_are_never_taken(name, kind):
    for env in [Masked(kind), vectors(lambda: Masked(kind))[0]]:
        agent = AGENTS[name](env, seed=1, **SMALL)
        agent.learn(200)
        assert agent.num_timesteps >= 200


def test_agents_of_one_choice_refuse_several():
    name = next(name for name in DEEP if name not in PARTS)
    with pytest.raises(langevin.UsageError, match="multi-discrete.*dqn"):
        AGENTS[name](Masked("multi"), **SMALL)


class Match(gymnasium.Env):
    """The observation shows one number per part; choosing it pays a third."""

    observation_space, action_space = spaces.MultiDiscrete([3, 2, 3]), spaces.MultiDiscrete([3, 2, 3], start=[5, 0, 0])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.goal = self.np_random.integers([3, 2, 3])
        return self.goal, {}

    def step(self, action):
        assert self.action_space.contains(action)
        reward = np.mean(action - [5, 0, 0] == self.goal)
        return self.goal, reward, True, False, {}


def test_several_choices_are_learned(tmp_path):
    agent = langevin.DQN(Match(), seed=0, lr=3e-3, gamma=0.9, epsilon_steps=1000, **SMALL)
    agent.learn(3000)
    goals = np.stack(np.meshgrid(range(3), range(2), range(3)), -1).reshape(-1, 3)
    actions, _ = agent.predict(goals, deterministic=True)
    assert actions.dtype == np.int64 and np.array_equal(actions, goals + [5, 0, 0])
    one, _ = agent.predict(goals[4], deterministic=True)
    assert one.shape == (3,) and np.array_equal(one, actions[4])
    assert agent.q_values(goals).shape == (18, 8)
    agent.save(tmp_path / "agent")
    for again in (langevin.load(tmp_path / "agent"), langevin.load(tmp_path / "agent", env=Match())):
        assert np.array_equal(again.predict(goals, deterministic=True)[0], actions)
    with pytest.raises(langevin.UsageError, match=r"actions: choices among \[3, 2, 3\], not choices among \[2, 2\]"):
        again.set_env(SpaceOfActions(spaces.MultiDiscrete([2, 2])))


class SpaceOfActions(gymnasium.Env):
    observation_space = spaces.MultiDiscrete([3, 2, 3])

    def __init__(self, space):
        self.action_space = space

    def reset(self, *, seed=None, options=None):
        return np.zeros(3, np.int64), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        return np.zeros(3, np.int64), 1.0, True, False, {}


FORMS = [
    spaces.Discrete(3, start=-1),
    spaces.MultiDiscrete([[2, 3], [4, 2]], start=[[0, 1], [-1, 5]]),
    spaces.MultiDiscrete([3, 2], dtype=np.int32),
    spaces.MultiBinary(4),
    spaces.MultiBinary((2, 2)),
]


@pytest.mark.parametrize("space", FORMS, ids=str)
def test_actions_have_the_form_of_their_space(tmp_path, space):
    agent = langevin.DQN(SpaceOfActions(space), seed=0, **SMALL)
    agent.learn(100)
    agent.save(tmp_path / "agent")
    again = langevin.load(tmp_path / "agent")
    observation = np.zeros(3, np.int64)
    for one in (agent, again):
        for deterministic in (False, True):
            action, _ = one.predict(observation, deterministic=deterministic)
            assert space.contains(action) and isinstance(action, int if space.shape == () else np.ndarray)
        batch, _ = one.predict(np.stack([observation] * 4))
        assert batch.dtype == space.dtype and all(action in space for action in batch)
        action = one.act(observation)
        assert space.contains(action)
        one.observe(observation, action, 1.0, observation, True)


WRONG_SPACES = [
    (spaces.Tuple((spaces.Discrete(2), spaces.Discrete(2))), "use Discrete, MultiDiscrete"),
    (spaces.MultiDiscrete([2] * 65), "65 parts"),
    (spaces.Box(-1, 1, (2,), np.float32), "continuous.*take one of sac, td3"),
]


@pytest.mark.parametrize("space,words", WRONG_SPACES, ids=["tuple", "parts", "box"])
def test_wrong_spaces(space, words):
    with pytest.raises(langevin.UsageError, match=words):
        langevin.DQN(SpaceOfActions(space))


def test_a_box_is_refused_with_masks_alike():
    class Forbids(SpaceOfActions):
        def reset(self, *, seed=None, options=None):
            return super().reset()[0], {"action_mask": np.ones(2, np.int8)}

    with pytest.raises(langevin.UsageError, match="continuous"):
        langevin.DQN(Forbids(spaces.Box(-1, 1, (2,), np.float32)))


# ---- Masks of callers


def test_predict_takes_masks():
    agent = langevin.DQN(Masked(), seed=0, epsilon_steps=10**9, **SMALL)  # it draws nearly all actions
    for mask in ([0, 1, 0, 0], np.array([False, True, False, False]), np.array([0.0, 1, 0, 0])):
        assert {agent.predict(ZEROS, action_masks=mask)[0] for _ in range(20)} == {4}
    assert {agent.predict(ZEROS, action_masks=[1, 0, 0, 1])[0] for _ in range(50)} == {3, 6}
    assert {agent.predict(ZEROS)[0] for _ in range(100)} == {3, 4, 5, 6}
    wrong = [np.ones(3), np.ones((2, 4)), [[1, 0], [1]], "abcd", np.array(["a"] * 4), 1]
    for mask in wrong:
        with pytest.raises(langevin.UsageError, match=r"masks say which of 4 choices are allowed.*\(4,\)"):
            agent.predict(ZEROS, action_masks=mask)
    with pytest.raises(langevin.UsageError, match=r"shape \(2, 4\), not one of shape \(4,\)"):
        agent.predict(np.zeros((2, 3)), action_masks=np.ones(4))
    with pytest.raises(langevin.UsageError, match="allows no action"):
        agent.predict(ZEROS, action_masks=np.zeros(4))


def test_forms_of_masks():
    parts = langevin.DQN(Masked("multi"), **SMALL)
    mask = (np.array([0, 1]), np.array([0, 0, 1]), np.array([1, 0, 0, 0]), np.array([0, 1]))
    assert parts.predict(ZEROS, action_masks=mask)[0].tolist() == [[1, 3], [-1, 6]]
    batch = tuple(np.stack([part, part]) for part in mask)
    assert parts.predict(np.zeros((2, 3)), action_masks=batch)[0].tolist() == [[[1, 3], [-1, 6]]] * 2
    assert parts.predict(ZEROS, action_masks=[part.tolist() for part in mask])[0].tolist() == [[1, 3], [-1, 6]]
    for wrong in (mask[::-1], tuple(part[:, :1] for part in batch)):  # as many entries, of other parts; too few
        with pytest.raises(langevin.UsageError, match=r"choices \(2, 3, 4, 2\)"):
            parts.predict(ZEROS, action_masks=wrong)
    with pytest.raises(langevin.UsageError, match="2 masks for 3 observations"):
        parts.predict(np.zeros((3, 3)), action_masks=batch)
    binary = langevin.DQN(Masked("binary"), **SMALL)
    assert {binary.predict(ZEROS, action_masks=[0, 1, 2])[0][:2].tolist() == [0, 1] for _ in range(20)} == {True}
    assert binary.predict(ZEROS, action_masks=[1, 0, 0, 1, 1, 0])[0].tolist() == [0, 1, 0]


def test_own_loop():
    """The mask of observe() holds for the next act()."""
    env = Masked()
    agent = langevin.AdamLMCDQN(env, seed=2, **SMALL)
    for episode in range(20):
        observation, info = env.reset(seed=episode)
        over, mask = False, info["action_mask"]
        while not over:
            action = agent.act(observation, mask)
            after, reward, over, _, info = env.step(action)
            agent.observe(observation, action, reward, after, over, action_mask=info["action_mask"])
            observation, mask = after, None
    assert agent.num_timesteps == 140
    agent.act(ZEROS, [1, 0, 0, 0])
    with pytest.raises(langevin.UsageError, match="action 1 is forbidden by the mask"):
        agent.observe(ZEROS, 4, 0.0, ZEROS, False)
    with pytest.raises(langevin.UsageError, match="actions are whole numbers"):
        agent.observe(ZEROS, [[1], [2, 3]], 0.0, ZEROS, False)


def test_agents_without_masks():
    """One that was made for an environment without masks can act by them, but has no place to keep them."""
    agent = langevin.DQN("CartPole-v1", **SMALL)
    zeros = np.zeros(4, np.float32)
    assert {agent.predict(zeros, action_masks=[0, 1])[0] for _ in range(20)} == {1}
    action = agent.act(zeros, [1, 0])
    assert action == 0
    with pytest.raises(langevin.UsageError, match="made for an environment without masks"):
        agent.observe(zeros, action, 0.0, zeros, False, action_mask=[1, 1])


def test_environments_with_and_without_masks_are_not_exchanged():
    class Unmasked(Masked):
        def _look(self):
            return super()._look()[0], {}

    with pytest.raises(langevin.UsageError, match="masks of actions: True, not False"):
        langevin.DQN(Masked(), **SMALL).set_env(Unmasked())


# ---- Masks of environments


def test_masks_reach_targets():
    """Two actions that pay nothing lead to a state whose action 0 pays 1 and is forbidden: nothing is worth anything."""

    class Trap(gymnasium.Env):
        observation_space, action_space = spaces.Discrete(2), spaces.Discrete(2)

        def _mask(self):
            return {"action_mask": np.array([1, 1] if self.at == 0 or self.open else [0, 1], np.int8)}

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.at, self.open = 0, bool(self.np_random.integers(2))
            self.at = int(self.open)  # half of all episodes begin behind, with everything allowed
            return self.at, self._mask()

        def step(self, action):
            ends, self.at = self.at == 1, 1
            return 1, float(ends and action == 0), ends, False, self._mask()

    agent = langevin.DQN(Trap(), seed=0, gamma=0.9, lr=3e-3, target_every=50, n_step=1, **SMALL)
    agent.learn(3000)
    assert agent.q_values(1) == pytest.approx([1, 0], abs=0.1)
    assert agent.q_values(0) == pytest.approx([0, 0], abs=0.1)


def test_a_mask_that_comes_late():
    class Late(Masked):
        def reset(self, *, seed=None, options=None):
            return super().reset(seed=seed)[0], {}

    for env in (Late(), SyncVectorEnv([Late])):
        agent = langevin.DQN(env, **SMALL)
        with pytest.raises(langevin.EnvironmentFailed, match="action_mask.*first reset had none"):
            agent.learn(50)


LATE = """
import gymnasium

class Late(gymnasium.Wrapper):
    def step(self, action):
        *result, _ = self.env.step(action)
        return (*result, {"action_mask": [1, 1]})
"""


def test_a_mask_that_comes_late_in_a_run(tmp_path, monkeypatch):
    (tmp_path / "late.py").write_text(LATE)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(langevin.Error, match="action_mask.*first reset had none"):
        langevin.run("gym:CartPole-v1", "dqn", {"env.wrappers": "late:Late"}, steps=50)
    langevin.run("gym:CartPole-v1", "dqn", {"env.wrappers": "late:Late", "env.masks": False}, steps=50)


@pytest.mark.parametrize("mask", [np.ones(3), np.zeros(4), "1111", [[1, 1], [1]]], ids=str)
def test_wrong_masks(mask):
    class Wrong(Masked):
        def step(self, action):
            *result, _ = super().step(action)
            return (*result, {"action_mask": mask})

    with pytest.raises(langevin.EnvironmentFailed, match="action_mask"):
        langevin.DQN(Wrong(), **SMALL).learn(50)


@pytest.mark.parametrize("kind", Masked.SPACES)
def test_masks_within_observations(tmp_path, kind):
    """The key action_mask of a Dict is no input; predict and act respect it by themselves."""
    env = Masked(kind, "observation")
    for one in (env, SyncVectorEnv([lambda: Masked(kind, "observation")] * 2)):
        agent = langevin.DQN(one, seed=1, **SMALL)
        assert agent._spec.masked and agent._spec.obs_shape[0] == 3
        agent.learn(200)
    agent.save(tmp_path / "agent")
    for one in (agent, langevin.load(tmp_path / "agent"), langevin.load(tmp_path / "agent", env=env)):
        observation, _ = env.reset(seed=4)
        for _ in range(7):
            batch = {key: np.stack([value, value]) for key, value in observation.items()}
            actions = [one.predict(observation)[0], *one.predict(batch)[0], one.act(observation)]
            for action in actions:
                assert observation["action_mask"][env.actions.starts + np.ravel(action) - env.actions.first].all()
            after, reward, over, _, _ = env.step(actions[-1])
            one.observe(observation, actions[-1], reward, after, over)
            observation = after
    with pytest.raises(langevin.UsageError, match="no member 'action_mask'"):
        agent.predict({"seen": ZEROS})
    assert agent.q_values({"seen": ZEROS}).shape == (env.actions.count,)
    first = np.isin(np.arange(env.actions.count), env.actions.starts)
    action, _ = agent.predict({"seen": ZEROS}, action_masks=first)
    assert np.array_equal(np.ravel(action), env.actions.first)
    two, one = np.zeros((2, 3)), first[None]
    assert agent.q_values({"seen": two}).shape == (2, env.actions.count)
    for masks in (one, 1):
        with pytest.raises(langevin.UsageError, match="same number of observations"):
            agent.predict({"seen": two, "action_mask": masks})


def test_masks_in_stacks(tmp_path):
    """FrameStackObservation stacks the mask, too: the newest one counts."""

    def make():
        return gymnasium.wrappers.FrameStackObservation(Masked("multi", "observation"), 3)

    for env in (make(), SyncVectorEnv([make] * 2)):
        agent = langevin.DQN(env, seed=1, **SMALL).learn(200)
    agent.save(tmp_path / "agent")
    env = make()
    inner = env.unwrapped
    for one in (agent, langevin.load(tmp_path / "agent")):
        observation, _ = env.reset(seed=4)
        for _ in range(7):
            assert observation["action_mask"].shape == (3, 11)
            observation = env.step(one.predict(observation)[0])[0]
    assert inner.t == inner.length


def test_the_first_look_leaves_resets_random():
    """It has a seed; later resets without one must not depend on that."""
    for make in (Masked, lambda: SyncVectorEnv([Masked]), lambda: gymnasium.make_vec("langevin/CartPole-v0", 2)):
        first = []
        for _ in range(2):
            env = make()
            langevin.DQN(env, **SMALL)
            first.append(env.reset()[0])
        assert not np.array_equal(*first)


def test_statistics_of_wrappers_do_not_count_the_first_look():
    env = gymnasium.wrappers.NormalizeObservation(Masked())
    before = vars(env.obs_rms).copy()
    agent = langevin.DQN(env, **SMALL)
    assert agent._spec.masked and all(np.array_equal(before[key], value) for key, value in vars(env.obs_rms).items())


def test_taxi():
    """Its own mask, as info["action_mask"]."""
    name = "Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3"
    agent = langevin.QRDQN(name, seed=0, reward_range=(-10, 20), **SMALL)
    assert agent._spec.masked
    agent.learn(300)
    env = gymnasium.make(name)
    observation, info = env.reset(seed=0)
    for _ in range(50):
        action, _ = agent.predict(observation, action_masks=info["action_mask"])
        assert info["action_mask"][action]
        observation, *_, info = env.step(action)


def test_native_environments_show_masks():
    """Those of the library, here Gymnasium's behind the bridge: alone, in a vector, and in the loop in C."""
    name = "Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3"
    ours, theirs = langevin.NativeEnv("gym", id=name), gymnasium.make(name)
    vector = langevin.NativeVectorEnv("gym", 2, id=name)
    seen, infos = vector.reset(seed=0)
    _, info = ours.reset(seed=0)
    assert info["action_mask"].dtype == np.int8 and np.array_equal(infos["action_mask"][0], info["action_mask"])
    theirs.reset(seed=0)
    theirs.unwrapped.s = info["state"]
    for _ in range(20):
        actions = [int(np.flatnonzero(mask)[-1]) for mask in infos["action_mask"]]
        _, _, _, _, info = ours.step(actions[0])
        seen, _, _, _, infos = vector.step(actions)
        assert np.array_equal(infos["action_mask"][0], info["action_mask"]) and infos["_action_mask"].all()
        assert np.array_equal(info["action_mask"], theirs.unwrapped.action_mask(info["state"]))
        assert ours.action_space.sample(info["action_mask"]) in np.flatnonzero(info["action_mask"])
    forbidden = np.flatnonzero(info["action_mask"] == 0)
    if len(forbidden):
        with pytest.raises(langevin.UsageError, match="forbidden by the mask"):
            ours.step(forbidden[0])
    for env in (ours, vector):
        agent = langevin.DQN(env, seed=0, **SMALL)
        assert agent._spec.masked
        agent.learn(200)
        env.close()


def test_switches():
    """Several choices in the library's own environments, alone and in a vector."""
    env, vector = gymnasium.make("langevin/Switches-v0", lamps=3), langevin.NativeVectorEnv("switches", 2, lamps=3)
    assert env.action_space == spaces.MultiDiscrete([2, 2, 2])
    env.reset(seed=0)
    env.step(env.action_space.sample())
    for wrong, words in ((0, "shape"), ([0, 0], "shape"), ([0, 2, 0], "within"), ([0.5, 0, 0], "whole numbers")):
        with pytest.raises(langevin.UsageError, match=words):
            env.unwrapped.step(wrong)
    for one in (env, vector):
        agent = langevin.DQN(one, seed=0, **SMALL)
        agent.learn(200)
        assert agent.predict(np.zeros(6), deterministic=True)[0].shape == (3,)


def test_older_files():
    """They have a number of actions, and nothing about masks and vectors."""
    old = {"spec": {"obs_kind": 0, "obs_form": 0, "frames": 0, "actions": 3, "states": 0, "horizon": 9, "stationary": True,
                    "clock_truncates": True, "reward_min": 0.0, "reward_max": 1.0, "feature_dim": 0},
           "obs_shape": [4, 1, 1], "first_action": 2}  # fmt: skip
    spec = rebuild_spec(old)
    assert (spec.actions.kind, spec.actions.count, spec.masked, spec.vector) == (library.DISCRETE, 3, False, 0)
    assert spec.horizon == 9 and list(spec.obs_shape) == [4, 1, 1]
    actions = ActionTranslator.build(describe_actions(old))
    assert actions.show(actions.memory(2)).tolist() == [2, 2]
