"""Gymnasium's spaces as agents see them: actions.py and observations.py. tests/env/external/test_env_gym_spaces.c compares whole
courses through the bridge."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from langevin._observation_reader import SpaceReader
from langevin.actions import Actions
from langevin.gym_task import find_stack, infos_have_masks
from langevin.masks import Masks
from langevin.observations import Observations, build, channels_come_first, describe, picture_of
from langevin.task import Failure

import gym_envs


# ---- Actions

POSSIBLE = [name for name in gym_envs.ACTIONS if name not in ("sixty-five", "empty", "int-box", "still", "dict", "tuple")]


def numbers_of(actions, action):
    """One number per part: the inverse of to_env."""
    return np.ravel(np.asarray(action) - actions.first).astype(actions.dtype)


@pytest.mark.parametrize("name", POSSIBLE)
def test_actions_come_back(name):
    space = gym_envs.ACTIONS[name]
    actions = Actions(space)
    space.seed(1)
    for _ in range(50):
        action = space.sample()
        numbers = numbers_of(actions, action)
        assert numbers.shape == (actions.parts,) and numbers.dtype == actions.dtype
        back = actions.to_env(numbers)
        assert np.array_equal(back, np.asarray(action).astype(np.float32).astype(space.dtype)) and back in space
        if actions.choices:
            assert (numbers >= 0).all() and (numbers < actions.choices).all()


def test_a_sent_action_is_the_environments_own():
    """The buffer that it came in is written again by the next command."""
    for name in ("box", "multi", "binary"):
        actions = Actions(gym_envs.ACTIONS[name])
        numbers = np.zeros(actions.parts, actions.dtype)
        kept = actions.to_env(numbers)
        numbers[:] = 1
        assert not kept.any()


def test_bounds_are_rounded_inward():
    for low, high in ((-0.1, 0.1), (0.3, 16777217.0), (-1e300, 1e300), (-np.inf, np.inf), (1 / 3, 2 / 3)):
        space = spaces.Box(low, high, (1,), np.float64)
        actions = Actions(space)
        for value in (*actions.low, *actions.high):
            assert actions.to_env(np.array([value], np.float32)) in space
        assert np.isinf(low) or actions.high[0] > 0.999 * high or high > 3e38


# ---- Masks


def read(space, value):
    return Masks(Actions(space)).read(value).astype(int).tolist()


def test_forms_of_masks():
    multi, square = spaces.MultiDiscrete([2, 3]), spaces.MultiDiscrete([[2, 2], [2, 2]])
    assert read(spaces.Discrete(3), np.array([0, 1, 1], np.int8)) == [0, 1, 1]
    assert read(spaces.Discrete(3), [False, True, False]) == [0, 1, 0]
    assert read(multi, ([1, 0], [0, 1, 1])) == [1, 0, 0, 1, 1]
    assert read(multi, (np.array([1, 0], np.int8), np.array([0, 1, 1], np.int8))) == [1, 0, 0, 1, 1]
    assert read(multi, np.array([1, 0, 0, 1, 1])) == [1, 0, 0, 1, 1]
    assert read(square, (([1, 0], [0, 1]), ([1, 1], [0, 1]))) == [1, 0, 0, 1, 1, 1, 0, 1]
    assert read(spaces.MultiDiscrete([[2, 1]]), (([1, 0], [1]),)) == [1, 0, 1]
    assert read(square, np.array([[[1, 0], [0, 1]], [[1, 1], [0, 1]]])) == [1, 0, 0, 1, 1, 1, 0, 1]
    assert read(spaces.MultiBinary(3), np.array([0, 1, 2], np.int8)) == [1, 0, 0, 1, 1, 1]
    assert read(spaces.MultiBinary(3), np.array([1, 0, 0, 1, 1, 1], np.int8)) == [1, 0, 0, 1, 1, 1]


def test_masks_sample_as_gymnasium_samples():
    """Whatever a space draws with a mask is allowed as the mask is read."""
    rng = np.random.default_rng(1)
    for name in ("discrete", "multi", "multi-start", "binary", "binary-2d"):
        space = gym_envs.ACTIONS[name]
        actions = Actions(space)
        for _ in range(50):
            if actions.binary:
                mask = rng.integers(0, 3, space.shape).astype(np.int8)
            else:
                mask = tuple(rng.integers(0, 2, n).astype(np.int8) | (np.arange(n) == rng.integers(n)).astype(np.int8) for n in actions.choices)
                mask = mask if actions.parts > 1 else mask[0]
            allowed = Masks(actions).read(mask)
            assert allowed[actions.starts + numbers_of(actions, space.sample(mask))].all()


@pytest.mark.parametrize("mask", [np.ones(4), ([1, 1], [1, 1]), ([1, 1, 1], [1, 1]), [], "abcde", [None] * 5])
def test_wrong_masks(mask):
    with pytest.raises(Failure, match="action_mask"):
        read(spaces.MultiDiscrete([2, 3]), mask)


def test_looking_for_masks_leaves_no_trace():
    env = gymnasium.wrappers.NormalizeObservation(gymnasium.make("CartPole-v1"))
    before = {name: np.copy(value) for name, value in vars(env.obs_rms).items()}
    assert not infos_have_masks(env)
    for name, value in vars(env.obs_rms).items():
        assert np.array_equal(value, before[name]) and np.asarray(value).dtype == before[name].dtype
    assert infos_have_masks(gymnasium.make("Taxi-v4"))


# ---- Pictures


@pytest.mark.parametrize(
    "shape, first",
    [
        ((210, 160, 3), False), ((3, 210, 160), True), ((84, 84, 4), False), ((4, 84, 84), True), ((10, 10, 10), False),
        ((8, 8, 111), False), ((111, 8, 8), True), ((7, 7, 3), False), ((1, 9, 9), True), ((9, 9, 1), False),
        ((6, 5, 9), False), ((5, 6, 7), True),
    ],
)  # fmt: skip
def test_which_axis_has_the_channels(shape, first):
    assert channels_come_first(shape) == first


def test_what_is_no_picture():
    for space in (
        spaces.Box(0, 255, (4, 40, 3), np.uint8),
        spaces.Box(0, 1, (25,), np.float32),
        spaces.MultiBinary([8, 8]),
        spaces.Discrete(5),
        spaces.Box(0, 1, (2, 2, 5, 5, 3), np.float32),
    ):
        assert picture_of(space) is None
    assert picture_of(spaces.Box(0, 1, (8, 9), np.float32), stack=8) is None  # eight vectors
    assert picture_of(spaces.Box(0, 1, (8, 9), np.float32)).shape == (8, 9, 1)


@pytest.mark.parametrize("name", ["bools", "board-first", "float-picture", "dict-picture", "tuple-picture", "small-stack"])
def test_pictures_are_read_alike_after_saving(name):
    """By a reader of the space, one at a time and in a batch, and by one made from its description."""
    space = gym_envs.SPACES[name]
    space.seed(2)
    observations = Observations(space, 1.0, [])
    samples = [space.sample() for _ in range(3)]
    expected = np.zeros((3, observations.size), observations.dtype)
    for row, sample in zip(expected, samples):
        observations.bind(row)(sample)
    again = Observations(build(describe(space)), 1.0, [])
    for reader in (SpaceReader(space, observations, None, 0), SpaceReader(build(describe(space)), again, None, 0)):
        for row, sample in zip(expected, samples):
            assert np.array_equal(reader.read(sample).data[0][: row.size], row)
        if isinstance(space, spaces.Box):
            assert np.array_equal(reader.read(np.stack(samples)).data, expected)
            assert np.array_equal(reader.read(np.stack(samples).astype(observations.dtype)).data, expected)


def test_padding_between_picture_and_vector():
    space = spaces.Dict({"a": spaces.Box(0, 255, (5, 5), np.uint8), "b": spaces.Box(-1, 1, (2,), np.float32)})
    observations = Observations(space, 1.0, [])
    assert (observations.vector, observations.size) == (2, 28 + 8)
    row = np.zeros(36, np.uint8)
    observations.bind(row)({"a": np.full((5, 5), 9, np.uint8), "b": np.array([0.5, -0.25], np.float32)})
    assert row[:28].tolist() == [9] * 25 + [0] * 3 and row[28:].view(np.float32).tolist() == [0.5, -0.25]


def test_stacks():
    wrappers = gymnasium.wrappers
    env = gym_envs.SpaceEnv("small-picture")
    stacked = wrappers.FrameStackObservation(env, 3)
    assert find_stack(env) is None and find_stack(stacked) is stacked
    assert find_stack(gym_envs.Doubled(wrappers.TimeLimit(stacked, 5))) is stacked
    assert find_stack(wrappers.RescaleObservation(stacked, np.float32(0), np.float32(1))) is None
    first, _ = stacked.reset(seed=1)
    second = stacked.step(10)[0]
    reader = Observations(stacked.observation_space, 1.0, [], 3)
    assert reader.frames == 3 and reader.shape == (7, 7, 9)
    rows = np.zeros((2, reader.size), np.uint8)
    for row, sample in zip(rows, (first, second)):
        reader.bind(row)(sample)
    pictures = rows.reshape(2, 7, 7, 3, 3)
    assert np.array_equal(pictures[0][:, :, 0], pictures[0][:, :, 2])  # the first picture, three times
    assert np.array_equal(pictures[1][:, :, 1], pictures[0][:, :, 2])  # the newest is the last
