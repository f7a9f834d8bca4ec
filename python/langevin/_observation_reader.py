"""Reads the observations that users pass to predict, act, observe and q_values. Arrays that fit are used in place;
others are copied once into an array that fits."""

from __future__ import annotations

import math
from typing import Any, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from langevin._library import BOX, BYTES, ONE_HOT, CSpec, UsageError
from langevin.masks import MASK, Masks, has_mask
from langevin.task import Failure

MOST_MASK = 1 << 20  # entries of a mask in a file, more than any real one has


class Batch(NamedTuple):
    batched: bool
    count: int  # type: ignore[assignment]  # hides the method of tuples, which nobody calls
    data: Optional[np.ndarray]  # (count x size), contiguous; None if states say it all
    states: Optional[np.ndarray]  # (count); None without finitely many states
    masks: Optional[np.ndarray] = None  # (count x choices), if the observations hold masks


def is_index(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) or (isinstance(value, np.ndarray) and value.dtype.kind in "iu")


def memory_form(spec: CSpec) -> np.dtype:
    """One observation in the library's memory: an array, or a picture and the vector beside it."""
    h, w, c = spec.obs_shape
    entry = np.dtype(np.uint8 if spec.obs_kind == BYTES else np.float32)
    whole = np.dtype((entry, (h, w, c) if spec.obs_kind == BYTES or w * c > 1 else (h,)))
    if not spec.vector:
        return whole
    start = -(-whole.itemsize // 4) * 4
    parts = {"names": ["picture", "vector"], "formats": [whole, (np.float32, (spec.vector,))], "offsets": [0, start]}
    return np.dtype({**parts, "itemsize": start + 4 * spec.vector})  # type: ignore[call-overload]


class ObservationReader:
    """Observations of a spec, without a Gymnasium space: arrays of its shape, a dict of a picture and a vector, or
    numbers of states."""

    def __init__(self, spec: CSpec, shape: Optional[Tuple[int, ...]] = None):
        self.bytes = spec.obs_kind == BYTES
        self.form = memory_form(spec)
        picture = self.form["picture"] if self.form.names else self.form
        self.shape, self.dtype = shape or picture.shape, picture.base
        self.size = int(np.prod(spec.obs_shape))
        self.states = int(spec.states)
        self.one_hot = spec.obs_form == ONE_HOT
        self.description, self.stack, self.masks = None, 0, None  # of a space

    def read(self, observation: Any) -> Batch:
        if self.states and is_index(observation):
            return self._read_states(np.asarray(observation))
        if self.form.names:
            return self._read_both(observation)
        if isinstance(observation, (dict, str, bytes)) or observation is None:
            raise UsageError(f"an observation is an array of shape {self.shape}, not a {type(observation).__name__}")
        array, batched = self._check(observation, self.shape, self.dtype)
        count = array.shape[0] if batched else 1
        data = np.ascontiguousarray(array, self.dtype).reshape(count, self.size)
        return Batch(batched, count, data, self._states_of(data))

    def _check(self, observation: Any, shape: Tuple[int, ...], dtype: np.dtype) -> Tuple[np.ndarray, bool]:
        """The array, and whether it is a batch."""
        array = np.asarray(observation)
        if array.dtype.kind not in "fiub":
            raise UsageError(f"the observation holds {array.dtype}, which are not numbers")
        if dtype == np.uint8 and array.dtype != np.uint8:
            raise UsageError(f"the observation holds {array.dtype}; pictures are uint8")
        batched = array.ndim == len(shape) + 1
        if array.shape[batched:] != shape:
            raise UsageError(
                f"the observation has the shape {array.shape}; it takes {shape}, or (n, "
                f"{', '.join(map(str, shape))}) for a batch"
            )
        return array, batched

    def _read_both(self, observation: Any) -> Batch:
        """A dict of a picture and a vector."""
        if not isinstance(observation, Mapping) or not {"picture", "vector"} <= observation.keys():
            raise UsageError(f"an observation is a dict of a picture and a vector, not {observation!r:.60}")
        picture, batched = self._check(observation["picture"], self.shape, self.dtype)
        vector, _ = self._check(observation["vector"], self.form["vector"].shape, np.dtype(np.float32))
        count = picture.shape[0] if batched else 1
        memory = np.zeros(count, self.form)
        memory["picture"], memory["vector"] = picture, vector
        return Batch(batched, count, memory.view(np.uint8).reshape(count, -1), None)

    def _read_states(self, states: np.ndarray) -> Batch:
        if states.ndim > 1 or ((states < 0) | (states >= self.states)).any():
            raise UsageError(f"states are 0..{self.states - 1}, one or a list; got {states!r:.80}")
        flat = np.atleast_1d(states).astype(np.int64)
        data = None
        if self.one_hot and not self.bytes:
            data = np.zeros((len(flat), self.size), np.float32)
            data[np.arange(len(flat)), flat] = 1
        return Batch(states.ndim == 1, len(flat), data, flat)

    def _states_of(self, data: np.ndarray) -> Optional[np.ndarray]:
        return data.argmax(1).astype(np.int64) if self.states and self.one_hot else None


class SpaceReader:
    """Observations of a Gymnasium space."""

    def __init__(self, space: Any, observations: Any, masks: Any = None, stack: int = 0):
        self.space, self.stack = space, stack  # stack: observations in one, as Observations has it
        self.masks = masks if masks is not None and masks.in_observation else None  # masks.Masks
        self.inner = observations  # observations.Observations
        self.shape = tuple(space.shape) if getattr(space, "shape", None) is not None else None
        self.size, self.states = observations.size, observations.states

    @property
    def description(self) -> Any:
        from langevin.observations import describe

        return describe(self.space)

    def read(self, observation: Any) -> Batch:
        try:
            return self._read(observation)
        except Failure as wrong:
            raise UsageError(str(wrong)) from None
        except (IndexError, TypeError):  # of item()
            raise UsageError("the members of the batch do not have the same number of observations") from None

    def _read(self, observation: Any) -> Batch:
        count = batch_size(self.space, observation)
        n = 1 if count is None else count
        if self._fits(observation):
            data = observation.reshape(n, self.size)
        else:
            data = np.empty((n, self.size), self.inner.dtype)
            for i in range(n):
                self.inner.bind(data[i])(observation if count is None else item(self.space, observation, i))
        states = data.argmax(1).astype(np.int64) if self.states else None
        return Batch(count is not None, n, data, states, self._read_masks(observation, count))

    def _read_masks(self, observation: Any, count: Optional[int]) -> Optional[np.ndarray]:
        if self.masks is None or MASK not in observation:
            return None
        space, value = self.space.spaces[MASK], observation[MASK]
        rows = [value] if count is None else [item(space, value, i) for i in range(count)]
        return np.array([self.masks.read(row) for row in rows], np.uint8)

    def _fits(self, observation: Any) -> bool:
        """Whether the library can read the memory of the array as it is."""
        if type(observation) is not np.ndarray or not observation.flags.c_contiguous or self.states:
            return False
        return observation.dtype == self.inner.dtype and self.inner.in_place


def rebuild_reader(
    spec: CSpec, actions: Any, shape: Optional[Tuple[int, ...]], description: Any, stack: int
) -> Any:
    """A reader for an agent that is loaded without an environment, from the saved shape and description. Raises ValueError
    if the description is that of other observations: the library would read beyond theirs."""
    if description is not None:
        try:
            from langevin.observations import MOST_ENTRIES, Observations, build, count_numbers
        except ModuleNotFoundError:
            if description["kind"] != "box" or spec.obs_shape[1] > 1:  # pictures may have to be turned
                raise UsageError("these observations are read by means of Gymnasium: pip install gymnasium") from None
        else:
            # Checked before anything is built, because a space allocates its bounds and a forged file may describe any
            # size. The agent does not read the mask as numbers, so only the limit holds for it.
            numbers = math.prod(spec.obs_shape) + spec.vector
            seen = count_numbers(description, skip=MASK)
            mask = count_numbers(description) - seen
            if seen != numbers:
                raise ValueError(f"the agent reads {numbers} numbers, and the space of its observations has {seen} numbers")
            if seen > MOST_ENTRIES or mask > MOST_MASK:
                raise ValueError(f"a space of {seen} numbers and a mask of {mask} are too large")
            space = build(description)
            observations = Observations(space, 1.0, [], stack)
            form = np.dtype((observations.dtype, observations.size))
            if observations.kind != spec.obs_kind or form.itemsize != memory_form(spec).itemsize:
                raise ValueError("observations of the space take another form in memory than the agent reads")
            masks = Masks.of_observations(actions, stack > 0) if has_mask(space) and actions.kind != BOX else None
            return SpaceReader(space, observations, masks, stack)
    return ObservationReader(spec, shape)


def batch_size(space: Any, value: Any) -> Optional[int]:
    """How many observations a value holds, or None if it is a single one."""
    from langevin.observations import WrongObservation, is_text

    inner = getattr(space, "spaces", None)
    if inner is not None:
        all_keys = inner if isinstance(inner, dict) else range(len(inner))
        keys = [key for key in all_keys if key != MASK and not is_text(inner[key])]
        try:
            return batch_size(inner[keys[0]], value[keys[0]])
        except (KeyError, IndexError, TypeError):
            raise WrongObservation(f"the observation is a {type(value).__name__} without the member {keys[0]!r}") from None
    shape = tuple(space.shape)
    rank = np.ndim(value) - len(shape)
    if rank not in (0, 1) or np.shape(value)[rank:] != shape:
        raise WrongObservation(f"the observation has the shape {np.shape(value)}; it takes {shape}, or one more axis for a batch")
    return np.shape(value)[0] if rank else None


def item(space: Any, value: Any, i: int) -> Any:
    """The i-th of a batch."""
    inner = getattr(space, "spaces", None)
    if isinstance(inner, dict):
        return {key: item(inner[key], value[key], i) for key in inner if key in value}  # texts and masks may be left out
    if inner is not None:
        return tuple(item(inner[key], value[key], i) for key in range(len(inner)))
    return value[i]
