"""Any Gymnasium environment, as a task of worker.py. observations.py and actions.py describe how spaces become what
agents see.

Two observations are kept in memory in turn, so that the last one is whole even if this process is killed while
it writes the next. Before the first reset, they are the bounds of the observation space.

Seeds. Every reset is given one, and so is the action space: each episode then depends on its seed alone, and a run
that resumes after an interruption or a restart does not depend on what this process did before.

Masks. A reset before the first one shows whether infos bring masks (masks.py). It leaves no trace: every later reset has a
seed of its own, and statistics of wrappers are put back. env.masks=false reads no masks, and makes no such reset.

Statistics. Wrappers such as NormalizeObservation adapt while they run. A run saves their statistics in its checkpoints,
and evaluations use the statistics of the training environment, frozen.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import difflib
import importlib
import re
import sys
import warnings
from typing import Any

from langevin.task import (
    BOX,
    DISCRETE,
    WRONG_USAGE,
    Failure,
    Spec,
    Task,
    install,
    parse_value,
    reset_with_info,
    split_result,
)

try:
    import gymnasium
    import numpy as np
    from gymnasium import error as gym_error
    from gymnasium.wrappers.utils import RunningMeanStd
except ModuleNotFoundError as missing:
    if missing.name not in ("gymnasium", "numpy"):
        raise
    raise Failure(
        f"the package {missing.name} is not installed for the Python in use. Install it: "
        f"{install('gymnasium')}"
    ) from None

from langevin.actions import Actions  # after Gymnasium and NumPy, which these need
from langevin.masks import MASK, Masks, has_mask, refuse_mask
from langevin.observations import Observations

# Environments of packages: how their names begin, the module that registers them, and what pip calls it. Importing the
# module registers them, or calling its function REGISTERS does.
PACKAGES = (
    ("ALE/", "ale_py", "ale-py"),
    ("MiniGrid-", "minigrid", "minigrid"),
    ("BabyAI-", "minigrid", "minigrid"),
    ("MinAtar/", "minatar.gym", "minatar"),
    ("MiniWorld-", "miniworld", "miniworld"),
    ("procgen", "procgen", "procgen"),
    ("highway-", "highway_env", "highway-env"),
)
REGISTERS = "register_envs"


# ---- Texts of the configuration


def parse_kwargs(flat: dict) -> dict:
    """{"a.b": "1"} becomes {"a": {"b": 1}}."""
    nested: dict = {}
    for name, text in flat.items():
        *parents, last = name.split(".")
        inner = nested
        for parent in parents:
            inner = inner.setdefault(parent, {})
            if not isinstance(inner, dict):
                raise Failure(f"env.kwargs.{name}: {parent} has a value already", WRONG_USAGE)
        inner[last] = parse_value(text)
    return nested


def split_list(text: str) -> list:
    """Splits at commas outside brackets."""
    items, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            items.append(text[start:i])
            start = i + 1
    return [item.strip() for item in items + [text[start:]] if item.strip()]


def import_module(name: str, setting: str):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name and not name.startswith(f"{error.name}."):
            raise Failure(f"{setting}: {name} needs the package {error.name}. Install it: {install(error.name or name)}") from None
        raise Failure(
            f"{setting}: there is no module '{name}' in the current directory or among the packages of {sys.executable}",
            WRONG_USAGE,
        ) from None


def apply_wrapper(env, text: str):
    """Name, Name(argument=value, ...), or module:Name."""
    match = re.fullmatch(r"(?:([\w.]+):)?(\w+)(\(.*\))?", text)
    if not match:
        raise Failure(f"env.wrappers: '{text}' is not a name, Name(argument=value) or module:Name", WRONG_USAGE)
    module, name, arguments = match.groups()
    owner = import_module(module, "env.wrappers") if module else gymnasium.wrappers
    wrapper = getattr(owner, name, None)
    if wrapper is None:
        near = difflib.get_close_matches(name, dir(owner), 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise Failure(f"env.wrappers: {owner.__name__} has no '{name}'{hint}", WRONG_USAGE)
    try:
        call = ast.parse(f"f{arguments or '()'}", mode="eval").body
        if not isinstance(call, ast.Call) or not all(k.arg for k in call.keywords):  # **{...} has no name
            raise ValueError
        args = [ast.literal_eval(a) for a in call.args]
        kwargs = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError):
        raise Failure(f"env.wrappers: cannot read the arguments of '{text}'", WRONG_USAGE) from None
    return wrapper(env, *args, **kwargs)


# ---- The environment


def find_package(name: str) -> None:
    """Registers an environment of a known package, unless that is done."""
    for prefix, module, package in PACKAGES:
        if not name.startswith(prefix) or name in gymnasium.registry:
            continue
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module.split(".")[0]:
                raise
            raise Failure(f"it needs the package {package}. Install it: {install(package)}") from None
        if name not in gymnasium.registry:
            getattr(found, REGISTERS, lambda: None)()


def unknown_id(name: str, error: Exception) -> Failure:
    near = difflib.get_close_matches(name, list(gymnasium.registry), 1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    why = "" if near else " (a package that registers it is named with env.import)"
    text = " ".join(str(error).split())
    if isinstance(error, (gym_error.VersionNotFound, gym_error.DeprecatedEnv)) and not near:
        hint, why = f": {text}", ""
    return Failure(f"there is no Gymnasium environment '{name}'{hint}{why}", WRONG_USAGE)


def render_modes(name: str) -> list:
    """The render modes of an environment; none if they are unknown."""
    try:
        entry = gymnasium.spec(name).entry_point
        kind: Any = gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
        return kind.metadata.get("render_modes", [])
    except (gym_error.Error, ImportError, AttributeError):
        return []  # making the environment reports the error


def make_env(config: dict, notices: list):
    name, kwargs = config["id"], parse_kwargs(config["kwargs"])
    if not name:
        raise Failure("which environment? Name it like this: --env gym:CartPole-v1", WRONG_USAGE)
    for module in split_list(config["import"]):
        import_module(module, "env.import")
    find_package(name)
    if config["horizon"] > 0:
        kwargs["max_episode_steps"] = config["horizon"]
    if config.get("pictures") and "rgb_array" in render_modes(name):
        kwargs.setdefault("render_mode", "rgb_array")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            env = gymnasium.make(name, **kwargs)
        except gym_error.UnregisteredEnv as error:
            raise unknown_id(name, error) from None
        except gym_error.DependencyNotInstalled as error:
            text = " ".join(str(error).split())
            raise Failure(re.sub(r"(?<!-m )pip install ", install(""), text)) from None
        except ModuleNotFoundError as error:
            raise Failure(f"it needs the package {error.name}. Install it: {install(error.name or name)}") from None
        except TypeError as error:
            if "keyword argument" not in str(error):
                raise
            raise Failure(f"env.kwargs: {str(error).split(' was raised')[0]}", WRONG_USAGE) from None
        for text in split_list(config["wrappers"]):
            env = apply_wrapper(env, text)
    notices += list(dict.fromkeys(plain(str(w.message)) for w in caught if issubclass(w.category, UserWarning)))
    return env


def plain(text: str) -> str:
    """Without the colors and the word WARN that Gymnasium puts around its warnings."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text).replace("WARN: ", "", 1).strip()


def horizon_of(env) -> int:
    """The least time limit among the layers, or 0."""
    limits = []
    while True:
        if isinstance(env, gymnasium.wrappers.TimeLimit):
            limits.append(int(env._max_episode_steps))
        if not isinstance(env, gymnasium.Wrapper):
            return min(limits, default=0)
        env = env.env


# ---- Statistics that wrappers keep (NormalizeObservation, NormalizeReward, and others built alike)


def running_statistics(env) -> list:
    """The RunningMeanStd objects of the layers, the outermost first."""
    found = []
    while isinstance(env, (gymnasium.Wrapper, gymnasium.vector.VectorWrapper)):
        found += [value for _, value in sorted(vars(env).items()) if isinstance(value, RunningMeanStd)]
        env = env.env
    return found


def save_statistics(env) -> bytes:
    """Mean, variance and count of each, as float64, which holds the numbers of smaller types exactly."""
    found = [getattr(s, name) for s in running_statistics(env) for name in ("mean", "var", "count")]
    return b"".join(np.asarray(value, np.float64).tobytes() for value in found)


def shaped_like(old, numbers):
    """In the type of the old numbers if that holds the new ones exactly: Gymnasium begins in that of the observation
    space, and continues in float64 if the observations are float64."""
    old = np.asarray(old)
    same = numbers.reshape(old.shape).astype(old.dtype)
    return same if np.array_equal(same.ravel(), numbers) else numbers.reshape(old.shape).copy()


def restore_statistics(env, state: bytes) -> None:
    numbers = np.frombuffer(state, np.float64)
    for statistics in running_statistics(env):
        size = np.size(statistics.mean)
        statistics.mean = shaped_like(statistics.mean, numbers[:size])
        statistics.var = shaped_like(statistics.var, numbers[size : 2 * size])
        statistics.count = float(numbers[2 * size])
        numbers = numbers[2 * size + 1 :]


def freeze_statistics(env) -> None:
    while isinstance(env, gymnasium.Wrapper):
        if hasattr(env, "update_running_mean"):
            env.update_running_mean = False
        env = env.env


@contextlib.contextmanager
def unchanged_statistics(env):
    kept = [(statistics, copy.deepcopy(vars(statistics))) for statistics in running_statistics(env)]
    try:
        yield
    finally:
        for statistics, values in kept:
            vars(statistics).update(values)


# ---- What a space does not tell


@contextlib.contextmanager
def unchanged_generators(env):
    """Of an environment or of those in a SyncVectorEnv: a reset without a seed afterwards is as random as before."""
    names = ("_np_random", "_np_random_seed", "_seeded")  # the last one of envs.NativeEnv
    owners = [vars(one.unwrapped) for one in (env, *getattr(env.unwrapped, "envs", ()))]
    kept = [{name: owner[name] for name in names if name in owner} for owner in owners]
    try:
        yield
    finally:
        for owner, values in zip(owners, kept):
            for name in names:
                owner.pop(name, None)
            owner.update(values)


def infos_have_masks(env, wrapped=()) -> bool:
    """Whether the infos of an environment bring masks: tried by a reset. Raises whatever reset() raises. wrapped: the
    environments whose wrappers may keep statistics, if env is a vector."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(unchanged_generators(env))
        for one in wrapped or (env,):
            stack.enter_context(unchanged_statistics(one))
        result = env.reset(seed=0)
    return isinstance(result, tuple) and isinstance(result[-1], dict) and result[-1].get(MASK) is not None


SEE_THROUGH = (
    gymnasium.wrappers.TimeLimit,
    gymnasium.wrappers.OrderEnforcing,
    gymnasium.wrappers.PassiveEnvChecker,
    gymnasium.wrappers.RecordEpisodeStatistics,
    gymnasium.RewardWrapper,
    gymnasium.ActionWrapper,
)


def find_stack(env):
    """The FrameStackObservation that makes the observations of an environment; None if another layer does."""
    while isinstance(env, SEE_THROUGH):
        env = env.env
    return env if type(env) is gymnasium.wrappers.FrameStackObservation else None


class GymTask(Task):
    env: Any = None
    picture_shape = None  # (height, width, 3) if pictures are wanted and there are some
    numbers = None  # of an action that is not Discrete
    masks = None
    refuses_masks = False  # none was expected, and an agent could not obey one
    trouble = None  # an exception of the reset that looked for masks, which the first reset reports

    def make(self, config: dict) -> Spec:
        notices: list = []
        env = self.env = make_env(config, notices)
        actions = self.actions = Actions(env.action_space)
        stack = find_stack(env)
        reader = self.reader = Observations(
            env.observation_space, config["scale"], notices, stack.stack_size if stack else 0
        )
        self.slot = 0
        self.env_step = env.step
        if config["masks"] and actions.kind != BOX:
            self._find_masks(stack is not None)
        size = 8 if reader.states else reader.size * np.dtype(reader.dtype).itemsize
        spec = self.spec = Spec(
            shape=reader.shape,
            obs_bytes=size,
            memory_bytes=0,
            obs_kind=reader.kind,
            obs_form=reader.form,
            vector=reader.vector,
            frames=reader.frames if stack and stack.padding_type == "reset" else 0,  # as a replay begins its stacks
            action_kind=actions.kind,
            choices=actions.choices,
            low=actions.low,
            high=actions.high,
            masked=self.masks is not None,
            states=reader.states,
            horizon=horizon_of(env),
            save_bytes=len(save_statistics(env)),
            notices=notices,
        )
        spec.memory_bytes = 2 * spec.slot_bytes
        if config.get("pictures") and env.render_mode == "rgb_array":
            self._add_picture(spec)
        return spec

    def _find_masks(self, stacked: bool) -> None:
        if has_mask(self.env.observation_space):
            self.masks = Masks.of_observations(self.actions, stacked)
            return
        try:
            self.masks = Masks(self.actions) if infos_have_masks(self.env) else None
        except (Exception, SystemExit) as error:
            self.trouble = error
        self.refuses_masks = self.masks is None

    def _add_picture(self, spec: Spec) -> None:
        """Adds room for the picture of render() after the observations. Its size is known after a reset."""
        with unchanged_statistics(self.env):
            self.env.reset(seed=0)
        picture = np.asarray(self.env.render())
        if picture.dtype == np.uint8 and picture.ndim == 3 and picture.shape[2] == 3:
            spec.height, spec.width = picture.shape[:2]
            self.picture_at = spec.memory_bytes
            spec.memory_bytes += picture.size
            self.picture_shape = picture.shape

    def attach(self, memory) -> None:
        if self.picture_shape:
            view = np.frombuffer(memory, np.uint8, int(np.prod(self.picture_shape)), self.picture_at)
            self.picture = view.reshape(self.picture_shape)
        reader, spec = self.reader, self.spec
        starts = (0, spec.slot_bytes)
        if not reader.states:
            views = [np.frombuffer(memory, reader.dtype, reader.size, at) for at in starts]
            self.writers = [reader.bind(view) for view in views]
            for view, side in zip(views, reader.bounds(self.env.observation_space) or ()):
                view[...] = side  # until the first observations
        if self.masks:
            count = self.actions.count
            self.mask_views = [np.frombuffer(memory, np.uint8, count, at + spec.obs_bytes) for at in starts]

    def attach_action(self, memory) -> None:
        if self.actions.kind != DISCRETE:
            self.numbers = np.frombuffer(memory, self.actions.dtype, self.actions.parts)

    def _show(self, observation, info, ended) -> int:
        """Writes an observation where the C side reads it; returns the number of the state, or 0."""
        if self.picture_shape:
            self.picture[...] = self.env.render()
        slot, states = self.slot ^ 1, self.reader.states
        if self.masks:
            self.masks.write(observation, info, ended, self.mask_views[slot])
        elif self.refuses_masks:
            refuse_mask(info)
        if not states:
            self.writers[slot](observation)
        state = self.reader.index(observation) if states else 0
        self.slot = slot
        return state

    def reset(self, seed: int):
        if self.trouble:
            raise self.trouble
        state = self._show(*reset_with_info(self.env, seed), False)
        return 0.0, False, False, 0, 0, self.slot, 0, state

    def step(self, choice: int, repeat: int):
        action = choice + self.actions.first if self.numbers is None else self.actions.to_env(self.numbers)
        result = self.env_step(action)
        observation, reward, terminated, truncated = split_result(result)
        state = self._show(observation, result[4], terminated)
        return reward, terminated, truncated, 0, 0, self.slot, 0, state

    def save(self) -> bytes:
        return save_statistics(self.env)

    def restore(self, state: bytes) -> None:
        restore_statistics(self.env, state)

    def freeze(self, state: bytes) -> None:
        restore_statistics(self.env, state)
        freeze_statistics(self.env)

    def close(self) -> None:
        if self.env is not None:
            self.env.close()
