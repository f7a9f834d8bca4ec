"""The networks of deep agents as numbers: their shape, their parameter vectors, and how they see observations. to_torch()
(_torch.py) builds modules of these; this file needs NumPy only."""

from __future__ import annotations

import math
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from langevin._library import BYTES, ONE_HOT, CSpec, UsageError

MOST_DEVIATIONS = 10.0  # inputs of agent.normalize_obs are cut there (running_scale.c)
LAST_TERM = 2.0**-30  # of the sums in lazy_adam.h
Arrays = Dict[str, np.ndarray]


class Convolution(NamedTuple):
    width: int
    kernel: int
    stride: int


class Shape(NamedTuple):
    """What decides the layers of a network: net_shape of src/nn/net.h."""

    picture: Tuple[int, int, int]  # (height, width, channels), or (length, 1, 1)
    vector: int  # floats beside a picture
    convolutions: Tuple[Convolution, ...]  # empty: an MLP
    hidden: Tuple[int, ...]
    heads: int
    choices: Tuple[int, ...]  # of each part of an action
    atoms: int = 1
    layer_norm: bool = False
    dueling: bool = False
    shared_bias: bool = False
    cosines: int = 0  # of the embedding of IQN; 0: there is none
    taus: int = 0


def convolutions_of(text: str) -> Tuple[Convolution, ...]:
    """16x3s1,32x3s1: width x kernel s stride."""
    return tuple(Convolution(*map(int, re.split("[xs]", item))) for item in text.split(",") if item)


def choices_of(spec: CSpec) -> Tuple[int, ...]:
    """The choices of each part of an action."""
    actions = spec.actions
    return tuple(actions.choices[: actions.parts]) if actions.parts > 1 else (int(actions.count),)


def shape_of(spec: CSpec, params: Dict[str, Any], heads: int = 1) -> Shape:
    return Shape(
        picture=tuple(spec.obs_shape),
        vector=int(spec.vector),
        convolutions=convolutions_of(params["conv"]) if params["net"] != "mlp" else (),
        hidden=tuple(params["hidden"]),
        heads=heads,
        choices=choices_of(spec),
        atoms=int(params.get("atoms", params.get("quantiles", 1))),
        layer_norm=params["layer_norm"],
        dueling=params.get("dueling", False),
        shared_bias=params.get("shared_bias", False),
        cosines=int(params.get("cosines", 0)),
        taus=int(params.get("taus_act", 0)),
    )


# ---- Inputs


class InputMap(NamedTuple):
    """A network sees scale x of a picture of bytes or a one-hot, and (x - mean) / deviation, cut at +-clip, of floats
    that are normalized."""

    scale: np.ndarray  # (channels)
    mean: Optional[np.ndarray]  # (floats of an observation); None: they are not normalized
    deviation: Optional[np.ndarray]
    clip: float


def input_map(spec: CSpec, params: Dict[str, Any], arrays: Arrays) -> InputMap:
    scale = np.full(spec.obs_shape[2], fixed_scale(spec, params), np.float32)
    if "obs.most" in arrays:  # of one picture of a stack
        most = np.maximum(arrays["obs.most"].astype(np.float32), 1)
        scale = np.float32(1) / np.resize(most, spec.obs_shape[2])
    mean = deviation = None
    if "obs.mean" in arrays:
        count = arrays["obs.count"][0]
        known = count >= 2
        mean = arrays["obs.mean"] if known else np.zeros_like(arrays["obs.mean"])
        deviation = np.sqrt(arrays["obs.squares"] / count + 1e-8) if known else np.ones_like(mean)
    return InputMap(scale, mean, deviation, MOST_DEVIATIONS)


def fixed_scale(spec: CSpec, params: Dict[str, Any]) -> float:
    if spec.obs_kind == BYTES and params.get("scale_input") == "true":
        return 1 / 255
    if spec.obs_form == ONE_HOT and params.get("one_hot_gain", 0) > 0:
        return float(params["one_hot_gain"]) * math.sqrt(spec.obs_shape[0])
    return 1.0


# ---- Parameter vectors


def split_copies(vectors: np.ndarray, copies: int) -> List[np.ndarray]:
    if vectors.size % copies:
        raise UsageError(f"the parameters are not those of {copies} networks")
    return list(vectors.reshape(copies, -1))


def member_vectors(params: Dict[str, Any], arrays: Arrays, copies: int) -> List[np.ndarray]:
    """Of the networks of an ensemble. Where the first layers are kept apart (sparse_first.h), they are put back: rows of
    weights, then the biases, as in every dense layer."""
    upper = split_copies(arrays["w"], copies)
    if "rows.w" not in arrays:
        return upper
    rows = current_rows(params, arrays).reshape(len(arrays["rows.at"]), copies, -1)
    return [np.concatenate((rows[:, k].ravel(), upper[k])) for k in range(copies)]


def current_rows(params: Dict[str, Any], arrays: Arrays) -> np.ndarray:
    """Rows under lazy Adam, (rows x width), as they are after the steps that they have yet to make up for; the equations
    are in src/optim/lazy_adam.h."""
    at, now = arrays["rows.at"], arrays["rows.clock"][0]
    w, m, v = (arrays[name].reshape(len(at), -1).astype(np.float64) for name in ("rows.w", "rows.m", "rows.v"))
    for begun in np.unique(at[at < now]):
        rows = at == begun
        step, mean, variance = skipped_steps(params, int(begun), int(now))
        share = 1 / (np.sqrt(v[rows]) + params["eps"] * mean)
        w[rows] -= step * m[rows] * share * (1 + variance * (params["eps"] * share) ** 2)
    return w.astype(np.float32)


def skipped_steps(params: Dict[str, Any], begun: int, now: int) -> Tuple[float, float, float]:
    """S, z and V of the steps after `begun` up to `now`."""
    b1, b2 = float(np.float32(params["alpha1"])), float(np.float32(params["alpha2"]))
    base = b1 / math.sqrt(b2)
    horizon = math.ceil(math.log(LAST_TERM) / math.log(base)) if base > 0 else 1
    k = np.arange(1, min(now - begun, horizon) + 1)
    c1, c2 = 1 - params["alpha1"] ** (begun + k), 1 - params["alpha2"] ** (begun + k)
    p = params["lr"] / c1 * np.sqrt(c2) * base**k
    z = np.sqrt(c2) * b2 ** (-k / 2)
    mean = (p * z).sum() / p.sum() if p.sum() > 0 else 1.0
    variance = (p * z**2).sum() / p.sum() - mean**2 if p.sum() > 0 else 0.0
    return float(p.sum()), float(mean), float(max(variance, 0.0))
