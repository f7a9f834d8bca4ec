"""How the observations of Gymnasium's spaces become what agents see: one vector of float32, the number of a state, or
a picture of bytes. gym_task.py says which; the worker of the bridge and the agents of this package share it."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from langevin.task import BYTES, DENSE, FLOATS, ONE_HOT, WRONG_USAGE, Failure

LEAST_PICTURE = 36  # pixels: what the three convolutions of the Nature network need
MOST_CHANNELS = 64
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
                raise WrongObservation(f"the observation{label} is a {type(value).__name__}, its space is a {label_of_self}")
            try:
                for key, write_member in writers:
                    write_member(value[key])
            except (KeyError, IndexError):
                raise WrongObservation(f"the observation{label} has no member {key!r}") from None

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
            raise WrongObservation(f"the observation holds {array.dtype}, its space says uint8")
        view[...] = turn(array)

    return write


# ---- Whole observations


class Observations:
    """A space, as agents see it.

    kind, form, shape: those of lgv_env_spec. states: how many there are, or 0. size and dtype: of one observation in
    memory. bind(view) gives a function that writes an observation into a view of that size.
    """

    def __init__(self, space, scale: float, notices: list):
        self.states = self.first_state = 0
        self.kind, self.form, self.dtype = FLOATS, DENSE, np.float32
        if isinstance(space, spaces.Discrete):
            self.states, self.first_state = int(space.n), int(space.start)
            if self.states > MOST_STATES:
                raise Failure(f"{self.states} states are too many: at most {MOST_STATES}", WRONG_USAGE)
            self.form = ONE_HOT
            self.size, self.bind = encode_discrete(space, "")
            self.shape = (self.states, 1, 1)
            return
        picture = picture_of(space)
        if picture:
            form, turn = picture
            self.kind, self.dtype, self.shape, self.size = BYTES, np.uint8, form, int(np.prod(form))
            self.bind = lambda view: bind_picture(view, form, turn, tuple(space.shape))
            return
        if is_text(space):
            raise Failure("its observations are texts", WRONG_USAGE)
        self.size, self.bind = encode(space, "", scale, notices)
        self.shape = (self.size, 1, 1)
        if self.size == 0:
            raise Failure("nothing of its observation can be used", WRONG_USAGE)
        if self.size > MOST_ENTRIES:
            raise Failure(f"observations of {self.size} entries are too large", WRONG_USAGE)

    def index(self, observation) -> int:
        """The number of a state."""
        return index_in(observation, self.first_state, self.states, "")
