"""liblangevin by ctypes: where it is, its structs and functions, its errors, and handles that free themselves.

The structs mirror include/langevin.h; tests/python/test_library.py compiles a program that prints the header's
sizes and offsets and compares. ctypes lets other Python threads run while a call is in C.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import operator
import os
import sys
import threading
from ctypes import POINTER, Structure, Union, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64
from ctypes import c_size_t, c_uint, c_uint64, c_void_p
from typing import Any, Callable, Optional

import langevin

# ---- Errors


class Error(Exception):
    """liblangevin refused or could not do something; the message says what, and how to fix it."""


class UsageError(Error, ValueError):
    """A wrong name, value or call."""


class OutOfMemory(Error, MemoryError):
    """An allocation failed, or a size does not fit."""


class FileError(Error, OSError):
    """A file or directory could not be read or written."""


class NumericError(Error, ArithmeticError):
    """NaN, infinity, or a matrix that is not positive definite."""


class EnvironmentFailed(Error, RuntimeError):
    """The environment failed."""


class Interrupted(Error, RuntimeError):
    """The caller asked to stop; what was recorded stays."""


ERRORS = (None, UsageError, OutOfMemory, FileError, NumericError, EnvironmentFailed, Interrupted)


class CError(Structure):
    _fields_ = [("status", c_int), ("message", c_char * 512)]


class Kept(threading.local):
    """What Python code that C has called raised. It cannot pass through C: it waits here until the call has failed."""

    error: Optional[BaseException] = None


kept = Kept()


def raise_error(status: int, err: CError) -> None:
    """An interrupt comes through as it is; any other exception becomes the cause of the library's error."""
    error, kept.error = kept.error, None
    if error is not None and not isinstance(error, Exception):
        raise error
    kind = ERRORS[status] if 0 < status < len(ERRORS) else Error
    raise kind(err.message.decode("utf-8", "replace")) from error  # type: ignore[misc]


# ---- Structs of langevin.h

REAL, INT, BOOL, CHOICE, TEXT, INTS, MAP = range(7)  # lgv_param_type
FLOATS, BYTES = 0, 1  # lgv_obs_kind
DENSE, ONE_HOT, THERMOMETER = 0, 1, 2  # lgv_obs_form
DISCRETE, MULTI_DISCRETE, BOX = range(3)  # lgv_action_kind
MOST_PARTS = 64  # of an action
TRAIN, EVAL = 0, 1  # lgv_mode
NEEDS_STATES, NEEDS_HORIZON, SETTLES_PER_EPISODE, TAKES_MULTI_DISCRETE, TAKES_BOX, TAKES_FEATURES = 1, 2, 4, 8, 16, 32


class Sized(Structure):
    """A struct that begins with its size, by which the library recognizes its langevin.h."""

    def __init__(self, **fields: Any):
        super().__init__(size=ctypes.sizeof(type(self)), **fields)


class CRng(Structure):
    _fields_ = [("s", c_uint64 * 4)]

    @classmethod
    def stream(cls, seed: int, purpose: str) -> "CRng":
        rng = cls()
        lib.lgv_rng_seed(ctypes.byref(rng), seed, purpose.encode())
        return rng

    def reset_seed(self) -> int:
        """The seed of the next reset of a Gymnasium environment, as src/env/external/env_gym.c draws it."""
        return lib.lgv_rng_bits(ctypes.byref(self)) >> 33


class CParam(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int),
        ("offset", c_size_t),
        ("default_text", c_char_p),
        ("min", c_double),
        ("max", c_double),
        ("open", c_uint),
        ("choices", POINTER(c_char_p)),
        ("help", c_char_p),
    ]


class CPreset(Structure):
    _fields_ = [("name", c_char_p), ("values", c_char_p), ("picture_side", c_int32)]


class CEntry(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("summary", c_char_p),
        ("params", POINTER(CParam)),
        ("presets", POINTER(CPreset)),
        ("optimizer", c_char_p),
        ("traits", c_uint),
        ("source", c_char_p),
    ]


class CActionSpace(Structure):
    _fields_ = [
        ("kind", c_int),
        ("count", c_int32),
        ("parts", c_int32),
        ("choices", c_int32 * MOST_PARTS),
        ("low", c_float * MOST_PARTS),
        ("high", c_float * MOST_PARTS),
    ]


class CAction(Union):
    _fields_ = [("choice", c_int32), ("choices", c_int32 * MOST_PARTS), ("values", c_float * MOST_PARTS)]


class CSpec(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("obs_kind", c_int),
        ("obs_form", c_int),
        ("obs_shape", c_int32 * 3),
        ("vector", c_int32),
        ("frames", c_int32),
        ("actions", CActionSpace),
        ("masked", c_bool),
        ("states", c_int64),
        ("horizon", c_int64),
        ("stationary", c_bool),
        ("clock_truncates", c_bool),
        ("reward_min", c_double),
        ("reward_max", c_double),
        ("feature_dim", c_int64),
        ("features", c_void_p),
        ("obs_low", c_void_p),
        ("obs_high", c_void_p),
    ]


class COutcome(Structure):
    _fields_ = [("reward", c_double), ("terminated", c_bool), ("truncated", c_bool)]


class CObs(Structure):
    _fields_ = [("data", c_void_p), ("state", c_int64), ("stage", c_int64), ("mask", c_void_p)]


class CTransition(Structure):
    _fields_ = [
        ("obs", CObs),
        ("next", CObs),
        ("action", POINTER(CAction)),
        ("reward", c_double),
        ("terminated", c_bool),
        ("truncated", c_bool),
    ]


class CSaveOptions(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("about", c_char_p),
        ("statistics", c_char_p),
        ("statistics_size", c_size_t),
        ("without_experience", c_bool),
    ]


class CEpisode(Structure):
    _fields_ = [("length", c_int64), ("episode_return", c_double), ("value", c_double), ("regret", c_double)]


class CSummary(Structure):
    _fields_ = [
        ("seed", c_uint64),
        ("steps", c_int64),
        ("episodes", c_int64),
        ("mean_return", c_double),
        ("final_return", c_double),
        ("optimal_value", c_double),
        ("regret", c_double),
        ("solved_episode", c_double),
        ("finished", c_bool),
    ]


class CRecorderOptions(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("directory", c_char_p),
        ("config", c_char_p),
        ("env", c_char_p),
        ("agent", c_char_p),
        ("columns", c_void_p),
        ("last_step", c_int64),
    ]


class CProgress(Structure):
    _fields_ = [
        ("runs", c_int64),
        ("runs_done", c_int64),
        ("runs_failed", c_int64),
        ("runs_found", c_int64),
        ("fraction", c_double),
        ("steps", c_int64),
        ("mean_return", c_double),
        ("runs_running", c_int64),
        ("runs_held", c_int64),
    ]


RUN_FAILED = 4


class CRunNews(Structure):
    _fields_ = [
        ("run", c_size_t),
        ("phase", c_int),
        ("fraction", c_double),
        ("summary", POINTER(CSummary)),
        ("error", POINTER(CError)),
    ]


OnProgress = ctypes.CFUNCTYPE(None, c_void_p, POINTER(CProgress))
OnRun = ctypes.CFUNCTYPE(None, c_void_p, POINTER(CRunNews))
ShouldStop = ctypes.CFUNCTYPE(c_bool, c_void_p)
OnNotice = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class CBatch(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("plan", c_void_p),
        ("first_seed", c_uint64),
        ("seeds", c_int32),
        ("threads", c_int32),
        ("resume", c_bool),
        ("directory", c_char_p),
        ("on_progress", OnProgress),
        ("should_stop", ShouldStop),
        ("context", c_void_p),
        ("errors", POINTER(CError)),
    ]


class CSweepInfo(Structure):
    _fields_ = [
        ("configs", c_size_t),
        ("cases", c_size_t),
        ("first_seed", c_uint64),
        ("seeds", c_int32),
        ("measure", c_char_p),
        ("lowest_is_best", c_bool),
        ("about", c_char_p),
    ]


class CSweepJob(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("sweep", c_void_p),
        ("threads", c_int32),
        ("directory", c_char_p),
        ("on_progress", OnProgress),
        ("on_run", OnRun),
        ("should_stop", ShouldStop),
        ("context", c_void_p),
        ("names", c_void_p),
        ("on_notice", OnNotice),
        ("runs", c_char_p),
        ("look_only", c_bool),
    ]


class CDrawInfo(Structure):
    _fields_ = [
        ("key", c_char_p),
        ("kind", c_char_p),
        ("origin", c_char_p),
        ("low", c_double),
        ("high", c_double),
        ("choices", POINTER(c_char_p)),
        ("n_choices", c_size_t),
    ]


SWEEP_NAME_SIZE = 256

# ---- Functions: name, result, parameters. STATUS means lgv_status and an lgv_error * at the end.

P, STATUS = c_void_p, "status"
FUNCTIONS: "list[tuple[str, Any, list[Any]]]" = [
    ("lgv_version", c_char_p, []),
    ("lgv_rng_seed", None, [P, c_uint64, c_char_p]),
    ("lgv_rng_bits", c_uint64, [P]),
    ("lgv_kernels", c_char_p, []),
    ("lgv_registry_get", c_bool, [c_char_p, c_size_t, P]),
    ("lgv_param_range", None, [P, c_char_p, c_size_t]),
    ("lgv_settings_create", STATUS, [P]),
    ("lgv_settings_add_features", STATUS, [P, P]),
    ("lgv_settings_free", None, [P]),
    ("lgv_settings_set", STATUS, [P, c_char_p, c_char_p, c_char_p]),
    ("lgv_settings_load", STATUS, [P, c_char_p]),
    ("lgv_settings_on_notice", None, [P, OnNotice, P]),
    ("lgv_model_create", STATUS, [c_int64, c_int32, c_int64, c_bool, P]),
    ("lgv_model_free", None, [P]),
    ("lgv_model_add", STATUS, [P, c_int64, c_int64, c_int32, c_int64, c_double]),
    ("lgv_model_add_row", STATUS, [P, c_int64, c_int64, c_int32, P]),
    ("lgv_model_set_reward", None, [P, c_int64, c_int64, c_int32, c_double]),
    ("lgv_model_set_start", None, [P, c_int64, c_double]),
    ("lgv_model_forbid", None, [P, c_int64, c_int64, c_int32]),
    ("lgv_model_mask", P, [P, c_int64, c_int64]),
    ("lgv_model_seal", STATUS, [P]),
    ("lgv_model_optimal", None, [P, P]),
    ("lgv_model_evaluate", None, [P, P, P]),
    ("lgv_model_start_mean", c_double, [P, P]),
    ("lgv_env_create", STATUS, [P, c_uint64, P]),
    ("lgv_env_from_model", STATUS, [P, P, c_int64, c_uint64, P]),
    ("lgv_env_free", None, [P]),
    ("lgv_env_seed", None, [P, c_uint64]),
    ("lgv_env_get_spec", POINTER(CSpec), [P]),
    ("lgv_env_get_model", P, [P]),
    ("lgv_env_counter_name", c_char_p, [P, c_size_t]),
    ("lgv_env_counters", None, [P, P]),
    ("lgv_env_reset", STATUS, [P, P]),
    ("lgv_env_step", STATUS, [P, P, P, P]),
    ("lgv_env_step_all", STATUS, [P, c_size_t, P, P, P, P, P]),
    ("lgv_auto_agent", c_char_p, [P]),
    ("lgv_auto_rule", c_char_p, []),
    ("lgv_agent_create", STATUS, [P, P, c_int64, c_int64, c_uint64, P]),
    ("lgv_agent_free", None, [P]),
    ("lgv_agent_set_stream", STATUS, [P, c_int32]),
    ("lgv_agent_begin_episode", STATUS, [P]),
    ("lgv_agent_act", STATUS, [P, P, c_int, P]),
    ("lgv_agent_observe", STATUS, [P, P]),
    ("lgv_agent_end_episode", STATUS, [P]),
    ("lgv_agent_policy", STATUS, [P, P, P]),
    ("lgv_agent_q_values", STATUS, [P, P, c_size_t, P]),
    ("lgv_agent_array", P, [P, c_size_t, P, P, P]),
    ("lgv_agent_stat_name", c_char_p, [P, c_size_t]),
    ("lgv_agent_stats", None, [P, P]),
    ("lgv_agent_get", STATUS, [P, c_char_p, c_char_p, c_size_t]),
    ("lgv_agent_save", STATUS, [P, c_char_p, P]),
    ("lgv_agent_load", STATUS, [P, c_char_p]),
    ("lgv_agent_export", STATUS, [P, c_char_p, c_char_p]),
    ("lgv_agent_export_int8", STATUS, [P, c_char_p, c_char_p]),
    ("lgv_trainer_create", STATUS, [P, P, P]),
    ("lgv_trainer_free", None, [P]),
    ("lgv_trainer_set_episode_steps", STATUS, [P, c_int64]),
    ("lgv_episode_steps", c_int64, [P, c_int64]),
    ("lgv_trainer_knows", None, [P, P, P]),
    ("lgv_trainer_advance", STATUS, [P, c_int64, P, c_int64, P, P]),
    ("lgv_plan_create", STATUS, [P, P]),
    ("lgv_plan_free", None, [P]),
    ("lgv_plan_get", STATUS, [P, c_char_p, c_char_p, c_size_t]),
    ("lgv_run_resume", STATUS, [P, c_uint64, c_char_p, P]),
    ("lgv_run_free", None, [P]),
    ("lgv_run_advance", STATUS, [P, c_int64, P]),
    ("lgv_run_summary", None, [P, P]),
    ("lgv_run_checkpoint", STATUS, [P]),
    ("lgv_run_finish", STATUS, [P]),
    ("lgv_summary_load", STATUS, [c_char_p, P]),
    ("lgv_recorder_create", STATUS, [P, P]),
    ("lgv_recorder_row", STATUS, [P, P]),
    ("lgv_recorder_finish", STATUS, [P, P, c_char_p]),
    ("lgv_recorder_free", None, [P]),
    ("lgv_batch_run", STATUS, [P, P]),
    ("lgv_evaluate", STATUS, [c_char_p, c_int64, c_uint64, P]),
    ("lgv_sweep_load", STATUS, [c_char_p, c_char_p, P]),
    ("lgv_sweep_free", None, [P]),
    ("lgv_sweep_get_info", POINTER(CSweepInfo), [P]),
    ("lgv_sweep_key", c_char_p, [P, c_size_t]),
    ("lgv_sweep_seeds", c_int32, [P, c_size_t]),
    ("lgv_sweep_value", c_char_p, [P, c_size_t, c_size_t]),
    ("lgv_sweep_settings", STATUS, [P, c_size_t, P]),
    ("lgv_sweep_draw", c_bool, [P, c_size_t, c_size_t, P]),
    ("lgv_sweep_directory", STATUS, [P, P]),
    ("lgv_sweep_run", STATUS, [P, P]),
]


def candidates() -> "list[str]":
    """Where the library may be; the first that exists is used: $LANGEVIN_LIBRARY, in the package (a wheel), in the
    build folder of the sources, beside share/ (make install), where the system looks."""
    here = os.path.dirname(os.path.abspath(__file__))
    above = os.path.dirname(os.path.dirname(here))
    named = os.environ.get("LANGEVIN_LIBRARY")
    if named:
        return [named]
    found = [os.path.join(here, "liblangevin.so"), os.path.join(above, "build", "liblangevin.so")]
    prefix = os.path.dirname(os.path.dirname(above))  # PREFIX/share/langevin/python/langevin
    multiarch = getattr(sys.implementation, "_multiarch", "")
    found += [os.path.join(prefix, lib, "liblangevin.so") for lib in (f"lib/{multiarch}", "lib64", "lib")]
    system = ctypes.util.find_library("langevin")
    return [path for path in found if os.path.exists(path)] + ([system] if system else [])


def load() -> ctypes.CDLL:
    found = candidates()
    if not found:
        raise ImportError(
            "liblangevin.so was not found: install the package with `pip install .` in the sources, build the sources "
            "with `make build`, or name the file in the variable LANGEVIN_LIBRARY"
        )
    try:
        library = ctypes.CDLL(found[0])
    except OSError as error:
        raise ImportError(f"{found[0]} cannot be loaded: {error}") from None
    library.lgv_version.restype = c_char_p
    version = library.lgv_version().decode()
    if version != langevin.__version__:
        raise ImportError(f"{found[0]} is version {version}, the Python package {langevin.__version__}")
    for name, result, parameters in FUNCTIONS:
        function = getattr(library, name)
        function.restype = c_int if result is STATUS else result
        function.argtypes = parameters + ([P] if result is STATUS else [])
    # Worker processes of environments run with the Python that is in use here, unless the user says otherwise.
    if sys.executable:
        os.environ.setdefault("LANGEVIN_PYTHON", sys.executable)
    return library


lib = load()


def call(name: str, *arguments: Any) -> None:
    """A function that returns lgv_status; raises what it reports."""
    err = CError()
    status = getattr(lib, name)(*arguments, ctypes.byref(err))
    if status:
        raise_error(status, err)


# ---- Handles


class Handle:
    """A C handle, freed when nothing refers to it any more. `keeps` must outlive it."""

    __slots__ = ("pointer", "keeps", "_free", "_process", "__weakref__")

    def __init__(self, pointer: int, free: Callable[[int], None], keeps: tuple = ()):
        self.pointer = pointer
        self.keeps = keeps
        self._free = free
        self._process = os.getpid()

    def __del__(self) -> None:
        # After a fork the copy is not ours to end: an environment's worker process belongs to the parent.
        if self.pointer and self._process == os.getpid():
            self._free(self.pointer)
        self.pointer = 0


def create(function: str, free: str, *arguments: Any, keeps: tuple = ()) -> Handle:
    """Calls a function whose last parameter before the error is the new handle."""
    pointer = c_void_p()
    call(function, *arguments, ctypes.byref(pointer))
    return Handle(pointer.value or 0, getattr(lib, free), keeps)


def names_of(function: str, pointer: int) -> "list[str]":
    """What a function names by numbers from 0 on."""
    found: "list[str]" = []
    while (name := getattr(lib, function)(pointer, len(found))) is not None:
        found.append(name.decode())
    return found


class Memory:
    """Numbers of a handle as NumPy sees them; keeps the handle alive as long as the array lives."""

    def __init__(self, owner: Any, address: int, typestr: str, shape: tuple, readonly: bool):
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "data": (address, readonly),
            "typestr": typestr,
            "shape": shape,
            "strides": None,
        }


class OneThread:
    """Guards a handle: a second thread is refused, because C handles belong to one thread at a time."""

    def __init__(self, what: str):
        self.what = what
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        if not self.lock.acquire(blocking=False):
            raise RuntimeError(
                f"this {self.what} is in use by another thread; use one thread at a time, or one {self.what} per thread"
            )

    def __exit__(self, *_: Any) -> None:
        self.lock.release()


def check_seed(seed: Any) -> int:
    try:
        number = operator.index(seed)
    except TypeError:
        raise UsageError(f"a seed is a whole number, not {seed!r:.40}") from None
    if not 0 <= number < 2**64:
        raise UsageError(f"a seed is a whole number from 0 to 2^64 - 1, not {number}")
    return number


def encode_path(path: Any) -> bytes:
    encoded = os.fsencode(os.fspath(path))
    if b"\0" in encoded:
        raise UsageError(f"{path!r:.80}: paths cannot hold a zero character")
    return encoded


def text_of(function: str, pointer: int, key: str) -> str:
    """A resolved value (lgv_agent_get, lgv_plan_get)."""
    buffer = ctypes.create_string_buffer(8192)
    call(function, pointer, key.encode(), buffer, len(buffer))
    return buffer.value.decode()
