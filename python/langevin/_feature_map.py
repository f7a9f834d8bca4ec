"""Feature maps in Python: a function of a batch of observations, for the linear agents."""

from __future__ import annotations

import ctypes
import signal
import threading
from ctypes import CFUNCTYPE, POINTER, c_bool, c_char_p, c_float, c_int, c_int64, c_size_t, c_void_p
from typing import Any, Callable, Optional

import numpy as np

from langevin._checks import check_count
from langevin._library import Handle, OneThread, Sized, UsageError, call, kept, lib

DIM = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int64, POINTER(c_int64), c_void_p)
MAP = CFUNCTYPE(c_int, c_void_p, POINTER(c_float), c_int64, POINTER(c_float), c_void_p)
WRONG_USAGE = 1  # LGV_ERR_USAGE


class CFeatureType(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("summary", c_char_p),
        ("params", c_void_p),
        ("params_size", c_size_t),
        ("state_size", c_size_t),
        ("by_action", c_bool),
        ("scaled", c_bool),
        ("dim", DIM),
        ("layout", c_void_p),
        ("open", c_void_p),
        ("map", MAP),
        ("active", c_void_p),
        ("places", c_void_p),
    ]


class FeatureMap:
    """psi(x) for an agent: LMCLSVI(env, features=FeatureMap(function, 32)).

    function: gets observations as floats, (n, numbers of an observation), and returns their features, (n, count). Every
        row must depend on its own observation alone. Features of about length 1 suit the agents' defaults. If it
        raises an exception, the call that needed the features raises a UsageError with its text; Ctrl-C comes through.
    count: how many features an observation has.
    name: by which files refer to the map; langevin.load cannot rebuild it.
    """

    def __init__(self, function: Callable[[np.ndarray], Any], count: int, name: str = "python"):
        if not callable(function) or check_count("count", count) < 1:
            raise UsageError("FeatureMap takes a function of a batch of observations and a number of features")
        self.function, self.count, self.name = function, int(count), name
        self._inputs = 0
        self.waiting: Optional[Callable[[int, Any], Any]] = None  # the handler of an interrupt, see InterruptibleMap
        self._type = CFeatureType(
            name=name.encode(), summary=b"a function in Python", state_size=0, dim=DIM(self._dim), map=MAP(self._map)
        )

    def _dim(self, params: Any, env: Any, inputs: int, dim: Any, err: Any) -> int:
        self._inputs, dim[0] = inputs, self.count
        return 0

    def _map(self, state: Any, x: Any, count: int, out: Any, err: Any) -> int:
        try:
            self.run_waiting()
            features = np.asarray(self.function(np.ctypeslib.as_array(x, (count, self._inputs))))
            if features.shape != (count, self.count) or features.dtype.kind not in "fiub":
                raise ValueError(f"features are numbers of shape {(count, self.count)}, not {features.dtype} of {features.shape}")
            np.ctypeslib.as_array(out, (count, self.count))[:] = features
        except BaseException as error:  # an exception cannot pass through C
            kept.error = error
            text = f"the feature map {self.name} raised {type(error).__name__}: {error}"
            lib.lgv_fail(c_void_p(err), WRONG_USAGE, b"%s", text.encode("utf-8", "replace")[:400])
            return WRONG_USAGE
        return 0

    def run_waiting(self) -> None:
        handler, self.waiting = self.waiting, None
        if handler:
            handler(signal.SIGINT, None)

    def add_to(self, settings: Handle) -> None:
        call("lgv_settings_add_features", settings.pointer, ctypes.byref(self._type))


class InterruptibleMap(OneThread):
    """Guards an agent with a FeatureMap as OneThread does, and lets Ctrl-C through.

    Python runs the handler of a signal that has arrived in C when C calls the map, in the first line of _map, before its
    `try`. What it raises there would be lost, and C would get features that nobody has written. So a handler that would
    run in _map itself waits: for the `try`, or for the end of the agent's call."""

    def __init__(self, what: str, feature_map: FeatureMap):
        super().__init__(what)
        self.map, self.depth = feature_map, 0
        self.usual: Any = None  # the handler outside

    def __enter__(self) -> None:
        super().__enter__()
        self.depth += 1
        if self.depth == 1 and threading.current_thread() is threading.main_thread():
            self.usual = signal.getsignal(signal.SIGINT)
            if callable(self.usual):  # else the signal is ignored or ends the process
                signal.signal(signal.SIGINT, self._handle)

    def __exit__(self, *_: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, self.usual)
        super().__exit__()
        self.map.run_waiting()

    def _handle(self, number: int, frame: Any) -> None:
        if frame is not None and frame.f_code is FeatureMap._map.__code__:
            self.map.waiting = self.usual
        else:
            self.usual(number, frame)
