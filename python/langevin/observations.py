"""How agents see the observations of Gymnasium's spaces. The worker of the bridge (gym_task.py) and the agents of this
package share it.

A Discrete space is the number of its state. A Box that is a picture of at least 5 x 5 stays one: height x width x
channels, of bytes if the Box has bytes or booleans (0 and 1), else of float32. Everything else becomes one vector of
float32: boxes of any number type as they are, MultiBinary as zeros and ones, Discrete and MultiDiscrete as one-hots, Dict
and Tuple one member after the other in the order of the space. A Dict or Tuple that holds one picture becomes that
picture and the vector of all other members, which follows it in memory at the next multiple of 4 bytes. Texts are left
out, and so is the member ``action_mask`` of a Dict (masks.py).
"""

from __future__ import annotations

import math
import operator
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import numpy as np
from gymnasium import spaces

from langevin.masks import MASK, has_mask
from langevin.task import BYTES, DENSE, FLOATS, ONE_HOT, WRONG_USAGE, Failure

LEAST_PICTURE = 5  # pixels of the shorter side
MOST_ENTRIES, MOST_STATES = 1 << 28, 1 << 24


# ---- encode(space) gives a size and a function that binds a view to a writer


class WrongObservation(Failure):
    """An observation that is not what its space says."""


def as_array(value, shape, label):
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    if array.shape != shape:
        raise WrongObservation(f"the observation{label} has the shape {array.shape}, its space says {shape}")
    if array.dtype.kind not in "fiub":
        raise WrongObservation(f"the observation{label} holds {array.dtype}, which are not numbers")
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
        if index + start != value:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise WrongObservation(f"the observation{label} is {value!r:.60}, not a whole number") from None
    if not 0 <= index < count:
        raise WrongObservation(f"the observation{label} is {value}, outside {start}..{start + count - 1}")
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
                raise WrongObservation(f"the observation{label} is {value!r:.80}, outside its space")
            view.fill(0)
            view[(first + index).ravel()] = 1

        return write

    return int(counts.sum()), bind


def is_text(space) -> bool:
    """Text, and whatever else is made of strings, such as the missions of MiniGrid."""
    return isinstance(space, spaces.Text) or getattr(space.dtype, "kind", "") == "U"


def members(space):
    return list(space.spaces.items()) if isinstance(space, spaces.Dict) else list(enumerate(space.spaces))


def label_of(path: tuple) -> str:
    """How messages name a member: " ['a'][0]"."""
    return " " + "".join(f"[{key!r}]" for key in path) if path else ""


def encode_members(space, path, scale, notices, skip):
    parts, size, label = [], 0, label_of(path)
    for key, inner in members(space):
        if (*path, key) in skip:
            continue
        if is_text(inner):
            notices.append(f"the text{label_of((*path, key))} is left out of the observation")
            continue
        length, bind = encode(inner, (*path, key), scale, notices, skip)
        parts.append((key, slice(size, size + length), bind))
        size += length
    kind, label_of_self = (dict, "Dict") if isinstance(space, spaces.Dict) else (tuple, "Tuple")

    def bind_all(view):
        writers = [(key, bind(view[part])) for key, part, bind in parts]

        def write(value):
            if not isinstance(value, kind) and not (kind is tuple and isinstance(value, list)):
                raise WrongObservation(f"the observation{label} is a {type(value).__name__}, its space is a {label_of_self}")
            try:
                for key, write_member in writers:
                    write_member(value[key])
            except (KeyError, IndexError):
                raise WrongObservation(f"the observation{label} has no member {key!r}") from None

        return write

    return size, bind_all


def encode(space, path, scale, notices, skip):
    """skip: the paths of members that are left out."""
    label = label_of(path)
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
        return encode_members(space, path, scale, notices, skip)
    raise Failure(
        f"the observation{label} is a {type(space).__name__}, which has no fixed number of entries: use Box, Discrete, "
        f"MultiBinary, MultiDiscrete, Dict or Tuple (a wrapper can turn it into one of these: env.wrappers)",
        WRONG_USAGE,
    )


# ---- Spaces in files, as JSON: what observations look like, without their bounds


def describe(space):
    """A description from which build() makes a space whose observations are read alike; None if JSON has no such key."""
    if is_text(space):
        return {"kind": "text"}
    if isinstance(space, spaces.Discrete):
        return {"kind": "discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        start = np.broadcast_to(getattr(space, "start", 0), space.nvec.shape)
        return {"kind": "multi-discrete", "nvec": space.nvec.tolist(), "start": start.tolist()}
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        parts = [(key, describe(inner)) for key, inner in members(space)]
        if any(not isinstance(key, (str, int)) or part is None for key, part in parts):
            return None
        return {"kind": "dict" if isinstance(space, spaces.Dict) else "tuple", "members": parts}
    kind = "multi-binary" if isinstance(space, spaces.MultiBinary) else "box"
    return {"kind": kind, "shape": list(space.shape), "dtype": np.dtype(space.dtype).str}


def build(description):
    kind = description["kind"]
    if kind == "text":
        return spaces.Text(1)
    if kind == "discrete":
        return spaces.Discrete(description["n"], start=description["start"])
    if kind == "multi-discrete":
        return spaces.MultiDiscrete(description["nvec"], start=description["start"])
    if kind in ("dict", "tuple"):
        parts = [(key, build(part)) for key, part in description["members"]]
        return spaces.Dict(parts) if kind == "dict" else spaces.Tuple([part for _, part in parts])
    shape, dtype = tuple(description["shape"]), np.dtype(description["dtype"])
    return spaces.MultiBinary(shape) if kind == "multi-binary" else spaces.Box(0, 1, shape, dtype.type)


def count_numbers(description, skip=None):
    """How many numbers the agent reads of an observation of the space, without building the space. skip: the key of a
    member that is left out."""
    kind = description["kind"]
    if kind in ("dict", "tuple"):
        return sum(count_numbers(part) for key, part in description["members"] if key != skip)
    if kind == "text":
        return 0
    if kind == "discrete":
        count = description["n"]
    elif kind == "multi-discrete":
        count = sum(np.ravel(description["nvec"]).tolist())
    else:
        count = math.prod(map(operator.index, description["shape"]))
    if count < 0:  # it would hide a member that is too large from the sum
        raise ValueError(f"a space of {count} numbers")
    return count


# ---- Pictures


class Picture(NamedTuple):
    shape: Tuple[int, int, int]  # (height, width, channels)
    frames: int  # the channels are a stack of so many pictures, oldest first; 0: no stack
    turn: Callable[[np.ndarray], np.ndarray]  # gives an observation that shape


def channels_come_first(shape: Tuple[int, int, int]) -> bool:
    """Which axis of a picture holds the channels: the last one, as is usual in Gymnasium, if it is the shortest, or the
    first one if that is. If there are more channels than pixels along a side, it is the axis beside two equal ones.
    Whatever is still open (10 x 10 x 10, or three different numbers) has its channels last."""
    a, b, c = shape
    if c < min(a, b):
        return False
    return a < min(b, c) or (b == c and a != b)


def turn_picture(shape: tuple) -> Optional[Tuple[tuple, Callable[[np.ndarray], np.ndarray]]]:
    """(height, width, channels) of an array of 2 or 3 dimensions, and a function that gives it that shape."""
    if len(shape) == 2:
        return (*shape, 1), lambda a: a[..., None]
    if len(shape) != 3:
        return None
    if channels_come_first(shape):
        return (shape[1], shape[2], shape[0]), lambda a: np.moveaxis(a, -3, -1)
    return shape, lambda a: a


def picture_of(space: Any, stack: int = 0) -> Optional[Picture]:
    """None if a space holds no pictures. An array of 4 dimensions is a stack of pictures. stack: the first axis of every
    array counts observations, as FrameStackObservation makes them: then a matrix is a stack of vectors, and an array of 3
    dimensions is one of gray pictures."""
    if not isinstance(space, spaces.Box) or space.dtype.kind not in "fiub":
        return None
    s = tuple(space.shape)
    stacked = len(s) == 4 or (stack > 0 and len(s) > 1 and s[0] == stack)
    turned = turn_picture(s[1:] if stacked else s)
    if turned is None or min(turned[0][:2]) < LEAST_PICTURE:
        return None
    (h, w, c), turn = turned
    if not stacked:
        return Picture((h, w, c), 0, turn)
    return Picture((h, w, s[0] * c), stack, lambda a: np.moveaxis(turn(a), 0, 2).reshape(h, w, -1))


def bind_picture(view, picture: Picture, space: Any, label: str, scale: float):
    """A function that writes observations of a Box into a view of bytes or floats."""
    view, turn, shape, dtype = view.reshape(picture.shape), picture.turn, tuple(space.shape), space.dtype

    def write_bytes(value):
        array = as_array(value, shape, label)
        if array.dtype != np.uint8:
            raise WrongObservation(f"the observation{label} holds {array.dtype}, its space says uint8")
        view[...] = turn(array)

    def write_bools(value):
        np.not_equal(turn(as_array(value, shape, label)), 0, out=view, casting="unsafe")

    def write_floats(value):
        np.multiply(turn(as_array(value, shape, label)), scale, out=view, casting="unsafe")

    return write_bytes if dtype == np.uint8 else write_bools if dtype == np.bool_ else write_floats


def find_pictures(space: Any, stack: int, path: tuple = ()) -> List[tuple]:
    """The paths of all pictures in a space."""
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        inside = [find_pictures(inner, stack, (*path, key)) for key, inner in members(space) if (*path, key) != (MASK,)]
        return [found for paths in inside for found in paths]
    return [path] if picture_of(space, stack) else []


def member_at(value: Any, path: tuple) -> Any:
    try:
        for key in path:
            value = value[key]
    except (KeyError, IndexError, TypeError):
        raise WrongObservation(f"the observation has no member{label_of(path)}") from None
    return value


# ---- Whole observations


class Observations:
    """A space, as agents see it.

    kind, form, shape, vector, frames: those of lgv_env_spec. states: how many there are, or 0. size and dtype: of one
    observation in memory, with the vector beside a picture. bind(view) gives a function that writes an observation into
    a view of that size. in_place: whether an array of that dtype from the space has this form in memory already.

    stack: how many observations of an inner environment one of this space holds along the first axis of its arrays
    (FrameStackObservation), or 0.
    """

    def __init__(self, space: Any, scale: float, notices: list, stack: int = 0):
        self.states = self.first_state = self.vector = self.frames = 0
        self.kind, self.form = FLOATS, DENSE
        self.dtype: Any = np.float32
        self.in_place = isinstance(space, spaces.Box)
        if isinstance(space, spaces.Discrete):
            self._read_states(space)
            return
        if is_text(space):
            raise Failure("its observations are texts", WRONG_USAGE)
        skip = {(MASK,)} if has_mask(space) else set()
        pictures = find_pictures(space, stack)
        if len(pictures) == 1:
            self._read_picture(space, pictures[0], scale, notices, stack, skip)
        else:
            self.size, self.bind = encode(space, (), scale, notices, skip)
            self.shape = (self.size, 1, 1)
        if len(pictures) > 1:
            names = ",".join(label_of(path) for path in pictures)
            notices.append(f"the pictures{names} become one vector with the rest of the observation: only one can be a "
                           "picture (a wrapper such as FilterObservation can choose it: env.wrappers)")  # fmt: skip
        if self.size == 0:
            raise Failure("nothing of its observation can be used", WRONG_USAGE)
        if self.size > MOST_ENTRIES:
            raise Failure(f"observations of {self.size} entries are too large", WRONG_USAGE)

    def _read_states(self, space: spaces.Discrete) -> None:
        self.states, self.first_state = int(space.n), int(space.start)
        if self.states > MOST_STATES:
            raise Failure(f"{self.states} states are too many: at most {MOST_STATES}", WRONG_USAGE)
        self.form = ONE_HOT
        self.size, self.bind = encode_discrete(space, "")
        self.shape = (self.states, 1, 1)

    def _read_picture(self, space: Any, path: tuple, scale: float, notices: list, stack: int, skip: set) -> None:
        leaf = space
        for key in path:
            leaf = leaf.spaces[key]
        picture = picture_of(leaf, stack)
        assert picture is not None  # the caller has asked: path leads to one
        if path:
            self.vector, bind_vector = encode(space, (), scale, notices, {*skip, path})
        self.shape = picture.shape
        self.frames = picture.frames if self.vector == 0 else 0  # vectors of several members are not in order of time
        self.in_place = not path and self.shape == tuple(space.shape) and scale == 1
        pixels = self.size = int(np.prod(self.shape, dtype=np.int64))
        start, per_float = pixels, 1  # entries before the vector, and of one float in it
        if leaf.dtype in (np.uint8, np.bool_):
            self.kind, self.dtype = BYTES, np.uint8
            start, per_float = -(-pixels // 4) * 4, 4
        if self.vector:
            self.size = start + self.vector * per_float

        def bind(view):
            write_picture = bind_picture(view[:pixels], picture, leaf, label_of(path), scale)
            if not path:
                return write_picture
            view[pixels:start] = 0
            write_vector = bind_vector(view[start:].view(np.float32)) if self.vector else lambda value: None

            def write(value):
                write_vector(value)
                write_picture(member_at(value, path))

            return write

        self.bind = bind

    def bounds(self, space: Any) -> Optional[Tuple[np.ndarray, np.ndarray]]:
        """The lower and upper bounds of each number of an observation, as the agent sees it, for feature maps. None if
        observations are no Box of floats."""
        if not isinstance(space, spaces.Box) or self.kind != FLOATS or self.vector:
            return None
        sides = np.empty((2, self.size), np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            for view, side in zip(sides, (space.low, space.high)):
                self.bind(view)(side)
        return sides.min(0), sides.max(0)  # a negative scale turns them round

    def index(self, observation) -> int:
        """The number of a state."""
        return index_in(observation, self.first_state, self.states, "")
