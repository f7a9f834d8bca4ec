"""Any Gymnasium environment with a finite number of actions, as a task of worker.py.

Observations. A Box of bytes that is a picture large enough for the convolutions of the Nature network (36 x 36)
stays bytes: height x width x channels, whichever way round the environment has them, stacked pictures
becoming channels. A Discrete space is the number of its state. Everything else becomes one vector of float32:
boxes of any number type as they are (times env.scale), MultiBinary as zeros and ones, Discrete and MultiDiscrete
as one-hots, Dict and Tuple one member after the other in the order of the space. Texts are left out.

Two observations are kept in memory in turn, so that the last one is whole even if this process is killed while
it writes the next.

Seeds. Every reset is given one, and so is the action space: each episode then depends on its seed alone, and a run
that goes on after an interruption or a restart does not depend on what this process had done before.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import json
import re
import sys
import warnings

from langevin.task import BYTES, FLOATS, ONE_HOT, WRONG_USAGE, Failure, Spec, Task, install

try:
    import gymnasium
    import numpy as np
    from gymnasium import error as gym_error
    from gymnasium import spaces
except ModuleNotFoundError as missing:
    if missing.name not in ("gymnasium", "numpy"):
        raise
    raise Failure(
        f"the package {missing.name} is not installed for the Python in use. Install it: "
        f"{install('gymnasium')}"
    ) from None

LEAST_PICTURE = 36  # pixels: what the three convolutions of the Nature network need
MOST_CHANNELS = 64
MOST_ENTRIES, MOST_STATES = 1 << 28, 1 << 24

# Environments that are registered when their package is imported: how their names begin, the module, and
# what pip calls it.
PACKAGES = (
    ("ALE/", "ale_py", "ale-py"),
    ("MiniGrid-", "minigrid", "minigrid"),
    ("BabyAI-", "minigrid", "minigrid"),
    ("MiniWorld-", "miniworld", "miniworld"),
    ("procgen", "procgen", "procgen"),
    ("highway-", "highway_env", "highway-env"),
)


# ---- Texts of the configuration


def parse_value(text: str):
    """A JSON value; True, False and None as Python writes them; a list without brackets; else the text itself."""
    words = {"True": True, "False": False, "None": None, "": ""}
    if text in words:
        return words[text]
    for candidate in (text, f"[{text}]"):
        try:
            return json.loads(candidate)
        except ValueError:
            pass
    return text


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
            raise Failure(f"{setting}: {name} needs the package {error.name}. Install it: {install(error.name)}") from None
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
        args = [ast.literal_eval(a) for a in call.args]
        kwargs = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError):
        raise Failure(f"env.wrappers: cannot read the arguments of '{text}'", WRONG_USAGE) from None
    return wrapper(env, *args, **kwargs)


# ---- Observations: encode(space) gives a size and a function that binds a view to a writer


class Wrong(Exception):
    """An observation that is not what its space says."""


def as_array(value, shape, label):
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    if array.shape != shape:
        raise Wrong(f"the observation{label} has the shape {array.shape}, its space says {shape}")
    if array.dtype.kind not in "fiub":
        raise Wrong(f"the observation{label} holds {array.dtype}, which are no numbers")
    return array


def encode_box(space, label, scale):
    shape = tuple(space.shape)

    def bind(view):
        view = view.reshape(shape)

        def write(value):
            array = value
            if type(array) is not np.ndarray or array.shape != shape or array.dtype.kind not in "fiub":
                array = as_array(value, shape, label)
            view[...] = array

        def write_scaled(value):
            np.multiply(as_array(value, shape, label), scale, out=view, casting="unsafe")

        return write if scale == 1 else write_scaled

    return int(np.prod(shape, dtype=np.int64)), bind


def index_in(value, start, count, label):
    try:
        index = int(value) - start
    except (TypeError, ValueError):
        raise Wrong(f"the observation{label} is {value!r:.60}, not a whole number") from None
    if not 0 <= index < count:
        raise Wrong(f"the observation{label} is {value}, outside {start}..{start + count - 1}")
    return index


def encode_discrete(space, label):
    count, start = int(space.n), int(space.start)

    def bind(view):
        def write(value):
            index = index_in(value, start, count, label)
            view.fill(0)
            view[index] = 1

        return write

    return count, bind


def encode_multi_discrete(space, label):
    counts = np.asarray(space.nvec, dtype=np.int64)
    start = np.asarray(getattr(space, "start", np.zeros_like(counts)), dtype=np.int64)
    first = np.concatenate(([0], np.cumsum(counts.ravel())[:-1])).reshape(counts.shape)

    def bind(view):
        def write(value):
            index = as_array(value, counts.shape, label).astype(np.int64) - start
            if (index < 0).any() or (index >= counts).any():
                raise Wrong(f"the observation{label} is {value!r:.80}, outside its space")
            view.fill(0)
            view[(first + index).ravel()] = 1

        return write

    return int(counts.sum()), bind


def is_text(space) -> bool:
    """Text, and whatever else is made of strings, such as the missions of MiniGrid."""
    return isinstance(space, spaces.Text) or getattr(space.dtype, "kind", "") == "U"


def members(space):
    return list(space.spaces.items()) if isinstance(space, spaces.Dict) else list(enumerate(space.spaces))


def encode_members(space, label, scale, notices):
    parts, size = [], 0
    for key, inner in members(space):
        name = f"{label or ' '}[{key!r}]"
        if is_text(inner):
            notices.append(f"the text{name} is left out of the observation")
            continue
        length, bind = encode(inner, name, scale, notices)
        parts.append((key, slice(size, size + length), bind))
        size += length
    kind, label_of_self = (dict, "Dict") if isinstance(space, spaces.Dict) else (tuple, "Tuple")

    def bind_all(view):
        writers = [(key, bind(view[part])) for key, part, bind in parts]

        def write(value):
            if not isinstance(value, kind) and not (kind is tuple and isinstance(value, list)):
                raise Wrong(f"the observation{label} is a {type(value).__name__}, its space is a {label_of_self}")
            try:
                for key, write_member in writers:
                    write_member(value[key])
            except (KeyError, IndexError):
                raise Wrong(f"the observation{label} has no member {key!r}") from None

        return write

    return size, bind_all


def encode(space, label, scale, notices):
    if isinstance(space, spaces.Box):
        if space.dtype.kind not in "fiub":
            raise Failure(f"observations{label} of type {space.dtype} cannot be used", WRONG_USAGE)
        return encode_box(space, label, scale)
    if isinstance(space, spaces.Discrete):
        return encode_discrete(space, label)
    if isinstance(space, spaces.MultiBinary):
        return encode_box(space, label, 1)
    if isinstance(space, spaces.MultiDiscrete):
        return encode_multi_discrete(space, label)
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        return encode_members(space, label, scale, notices)
    raise Failure(
        f"the observation{label} is a {type(space).__name__}, which has no fixed number of entries: use Box, Discrete, "
        f"MultiBinary, MultiDiscrete, Dict or Tuple (a wrapper can turn it into one of these: env.wrappers)",
        WRONG_USAGE,
    )


# ---- Pictures


def picture_of(space):
    """(height, width, channels) and a function that turns an observation to that; None if it is no picture."""
    if not isinstance(space, spaces.Box) or space.dtype != np.uint8:
        return None
    s = tuple(space.shape)
    if len(s) == 2:
        form, turn = (s[0], s[1], 1), lambda a: a[:, :, None]
    elif len(s) == 3 and s[2] <= MOST_CHANNELS and s[2] < min(s[0], s[1]):
        form, turn = s, lambda a: a
    elif len(s) == 3 and s[0] <= MOST_CHANNELS and s[0] < min(s[1], s[2]):
        form, turn = (s[1], s[2], s[0]), lambda a: a.transpose(1, 2, 0)
    elif len(s) == 4 and s[0] * s[3] <= MOST_CHANNELS:  # a stack of pictures
        form, turn = (s[1], s[2], s[0] * s[3]), lambda a: np.moveaxis(a, 0, 2).reshape(s[1], s[2], -1)
    else:
        return None
    return (form, turn) if min(form[0], form[1]) >= LEAST_PICTURE else None


def bind_picture(view, form, turn, shape):
    view = view.reshape(form)

    def write(value):
        array = as_array(value, shape, "")
        if array.dtype != np.uint8:
            raise Wrong(f"the observation holds {array.dtype}, its space says uint8")
        view[...] = turn(array)

    return write


# ---- The environment


def find_package(name: str) -> None:
    for prefix, module, package in PACKAGES:
        if not name.startswith(prefix):
            continue
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            raise Failure(f"it needs the package {package}. Install it: {install(package)}") from None


def unknown_id(name: str, error: Exception) -> Failure:
    near = difflib.get_close_matches(name, list(gymnasium.registry), 1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    why = "" if near else " (a package that registers it is named with env.import)"
    text = " ".join(str(error).split())
    if isinstance(error, (gym_error.VersionNotFound, gym_error.DeprecatedEnv)) and not near:
        hint, why = f": {text}", ""
    return Failure(f"there is no Gymnasium environment '{name}'{hint}{why}", WRONG_USAGE)


def render_modes(name: str) -> list:
    """What an environment can draw itself as; nothing where that is not to be found out."""
    try:
        entry = gymnasium.spec(name).entry_point
        kind = gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
        return kind.metadata.get("render_modes", [])
    except (gym_error.Error, ImportError, AttributeError):
        return []  # making it will say what is wrong


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
            raise Failure(f"it needs the package {error.name}. Install it: {install(error.name)}") from None
        except TypeError as error:
            if "keyword argument" not in str(error):
                raise
            raise Failure(f"env.kwargs: {str(error).split(' was raised')[0]}", WRONG_USAGE) from None
        for text in split_list(config["wrappers"]):
            env = apply_wrapper(env, text)
    notices += list(dict.fromkeys(plain(str(w.message)) for w in caught if issubclass(w.category, UserWarning)))
    return env


def plain(text: str) -> str:
    """Without the colours and the word WARN that Gymnasium puts around its warnings."""
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


def outcome_failure(result) -> Failure:
    count = len(result) if isinstance(result, tuple) else None
    if count is None:
        return Failure(f"step() returned a {type(result).__name__}, not a tuple")
    if count != 5:
        return Failure(
            f"step() returned {count} values; Gymnasium's are 5: observation, reward, terminated, truncated, info"
        )
    _, reward, terminated, truncated, _ = result
    return Failure(
        f"step() returned a reward or an end that is not one number: reward {reward!r:.60}, terminated "
        f"{terminated!r:.40}, truncated {truncated!r:.40}"
    )


class GymTask(Task):
    env = None
    picture_shape = None  # (height, width, 3) if pictures are wanted and there are some

    def make(self, config: dict) -> Spec:
        notices: list = []
        self.env = make_env(config, notices)
        space, actions = self.env.observation_space, self.env.action_space
        if not isinstance(actions, spaces.Discrete):
            raise Failure(f"its actions are {actions}; only Discrete actions can be chosen from", WRONG_USAGE)
        self.first_action, self.action_space = int(actions.start), actions
        self.first_state = self.states = self.slot = 0
        self.env_step = self.env.step
        horizon = horizon_of(self.env)
        if isinstance(space, spaces.Discrete):
            self.states, self.first_state = int(space.n), int(space.start)
            if self.states > MOST_STATES:
                raise Failure(f"{self.states} states are too many: at most {MOST_STATES}", WRONG_USAGE)
            spec = Spec(int(actions.n), (self.states, 1, 1), 8, 16, FLOATS, ONE_HOT, self.states)
            self.size = 0
        else:
            spec = self._make_array(space, int(actions.n), config["scale"], notices)
        spec.horizon, spec.notices = horizon, notices
        if config.get("pictures") and self.env.render_mode == "rgb_array":
            self._add_picture(spec)
        if spec.shape[0] > MOST_ENTRIES:
            raise Failure(f"observations of {spec.shape[0]} entries are too large", WRONG_USAGE)
        return spec

    def _make_array(self, space, actions: int, scale: float, notices: list) -> Spec:
        picture = picture_of(space)
        if picture:
            form, turn = picture
            shape = tuple(space.shape)
            self.dtype, self.size = np.uint8, int(np.prod(form))
            self.bind = lambda view: bind_picture(view, form, turn, shape)
            return Spec(actions, form, self.size, 2 * self.size, BYTES)
        if is_text(space):
            raise Failure("its observations are texts", WRONG_USAGE)
        self.size, self.bind = encode(space, "", scale, notices)
        self.dtype = np.float32
        if self.size == 0:
            raise Failure("nothing of its observation can be used", WRONG_USAGE)
        return Spec(actions, (self.size, 1, 1), 4 * self.size, 8 * self.size)

    def _add_picture(self, spec: Spec) -> None:
        """Room for what render() shows, behind the observations. What it is like shows after a reset."""
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
        if self.states:
            return
        both = np.frombuffer(memory, self.dtype, 2 * self.size)
        self.writers = [self.bind(both[: self.size]), self.bind(both[self.size :])]

    def _show(self, observation) -> int:
        """Puts an observation where the other side finds it; the number of the state if there is one."""
        if self.picture_shape:
            self.picture[...] = self.env.render()
        try:
            if self.states:
                return index_in(observation, self.first_state, self.states, "")
            slot = self.slot ^ 1
            self.writers[slot](observation)
            self.slot = slot
            return 0
        except Wrong as wrong:
            raise Failure(str(wrong)) from None

    def reset(self, seed: int):
        seed &= 0x7FFFFFFF  # what every generator takes
        self.action_space.seed(seed)
        result = self.env.reset(seed=seed)
        if not isinstance(result, tuple) or len(result) != 2:
            raise Failure("reset() must return an observation and a dict")
        state = self._show(result[0])
        return 0.0, False, False, 0, 0, self.slot, 0, state

    def step(self, action: int, repeat: int):
        result = self.env_step(action + self.first_action)
        try:
            observation, reward, terminated, truncated, _ = result
            reward, terminated, truncated = float(reward), bool(terminated), bool(truncated)
        except (TypeError, ValueError):
            raise outcome_failure(result) from None
        state = self._show(observation)
        return reward, terminated, truncated, 0, 0, self.slot, 0, state

    def close(self) -> None:
        if self.env is not None:
            self.env.close()
