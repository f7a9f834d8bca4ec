"""Feature maps in Python: a function of a batch of observations, for the linear agents."""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_bool, c_char_p, c_float, c_int, c_int64, c_size_t, c_void_p
from typing import Any, Callable

import numpy as np

from langevin._library import Handle, Sized, UsageError, call, lib

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
        raises an exception, the call that needed the features raises a UsageError with its text.
    count: how many features an observation has.
    name: by which files refer to the map; langevin.load cannot rebuild it.
    """

    def __init__(self, function: Callable[[np.ndarray], Any], count: int, name: str = "python"):
        if not callable(function) or count < 1:
            raise UsageError("FeatureMap takes a function of a batch of observations and a number of features")
        self.function, self.count, self.name = function, int(count), name
        self._inputs = 0
        self._type = CFeatureType(
            name=name.encode(), summary=b"a function in Python", state_size=0, dim=DIM(self._dim), map=MAP(self._map)
        )

    def _dim(self, params: Any, env: Any, inputs: int, dim: Any, err: Any) -> int:
        self._inputs, dim[0] = inputs, self.count
        return 0

    def _map(self, state: Any, x: Any, count: int, out: Any, err: Any) -> int:
        try:
            np.ctypeslib.as_array(out, (count, self.count))[:] = self.function(
                np.ctypeslib.as_array(x, (count, self._inputs))
            )
        except BaseException as error:  # an exception cannot pass through C
            text = f"the feature map {self.name} raised {type(error).__name__}: {error}"
            lib.lgv_fail(c_void_p(err), WRONG_USAGE, b"%s", text.encode("utf-8", "replace")[:400])
            return WRONG_USAGE
        return 0

    def add_to(self, settings: Handle) -> None:
        call("lgv_settings_add_features", settings.pointer, ctypes.byref(self._type))
