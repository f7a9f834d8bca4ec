"""The library's tables of environments, agents and optimizers, and their parameters as Python values."""

from __future__ import annotations

import ctypes
import functools
import json
import keyword
import math
import numbers
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from langevin._library import BOOL, CHOICE, INT, INTS, MAP, REAL, TEXT, CEntry, Handle, UsageError, call, create, lib
from langevin.task import parse_value


@dataclass(frozen=True)
class Param:
    name: str
    type: int
    default: str
    range: str
    choices: Tuple[str, ...]
    help: str

    @property
    def keyword(self) -> str:
        """The name of the argument; lambda is a keyword of Python."""
        return self.name + "_" if keyword.iskeyword(self.name) else self.name

    @property
    def annotation(self) -> str:
        if self.type == CHOICE:
            plain = f"Literal[{', '.join(map(repr, self.choices))}]"
            return f"{plain} | bool" if {"true", "false"} & set(self.choices) else plain
        kinds = {REAL: "float", INT: "int", BOOL: "bool", TEXT: "str", INTS: "Sequence[int] | int", MAP: "dict[str, Any]"}
        return kinds[self.type]

    def parse(self, text: str) -> Any:
        """A value as the library writes it."""
        if self.type == REAL:
            return float(text)
        if self.type == INT:
            return int(text)
        if self.type == BOOL:
            return text == "true"
        if self.type == INTS:
            return tuple(int(item) for item in text.split(",")) if text else ()
        return text


@dataclass(frozen=True)
class Entry:
    kind: str
    name: str
    summary: str
    params: Tuple[Param, ...]
    presets: Mapping[str, str]
    optimizer: Optional[str]
    traits: int

    def find(self, keyword_: str) -> Optional[Param]:
        return next((p for p in self.params if p.keyword == keyword_), None)


def _read_params(table: Any) -> Tuple[Param, ...]:
    found = []
    text = ctypes.create_string_buffer(512)
    i = 0
    while table and table[i].name:
        row = table[i]
        lib.lgv_param_range(ctypes.byref(row), text, len(text))
        choices: List[str] = []
        while row.choices and row.choices[len(choices)]:
            choices.append(row.choices[len(choices)].decode())
        help_ = (row.help or b"").decode()
        found.append(
            Param(row.name.decode(), row.type, row.default_text.decode(), text.value.decode(), tuple(choices), help_)
        )
        i += 1
    return tuple(found)


def own_presets(param: Param, presets: Mapping[str, str]) -> Param:
    """The parameter `preset` as a choice among the presets of its own agent or environment."""
    if param.name != "preset" or not presets:
        return param
    choices = tuple(choice for choice in param.choices if choice in presets or choice in ("auto", "none"))
    return replace(param, choices=choices, range=" | ".join(choices))


@functools.lru_cache(maxsize=None)
def entries(kind: str) -> Dict[str, Entry]:
    """kind: env, agent, optimizer or run."""
    found: Dict[str, Entry] = {}
    entry = CEntry()
    while lib.lgv_registry_get(kind.encode(), len(found), ctypes.byref(entry)):
        presets: Dict[str, str] = {}
        while entry.presets and entry.presets[len(presets)].name:
            row = entry.presets[len(presets)]
            presets[row.name.decode()] = row.values.decode()
        name = entry.name.decode()
        params = tuple(own_presets(param, presets) for param in _read_params(entry.params))
        optimizer = entry.optimizer.decode() if entry.optimizer else None
        found[name] = Entry(
            kind, name, entry.summary.decode(), params, presets, optimizer, entry.traits
        )
    return found


# ---- Names

# How the words of a name are written in a class; words that are not here are abbreviations, all capitals.
WORDS = {
    "acrobot": "Acrobot",
    "adam": "Adam",
    "atari": "Atari",
    "bandit": "Bandit",
    "bootstrapped": "Bootstrapped",
    "car": "Car",
    "cartpole": "CartPole",
    "continuous": "Continuous",
    "deepsea": "DeepSea",
    "double": "Double",
    "hyperagent": "HyperAgent",
    "langevin": "Langevin",
    "lin": "Lin",
    "linear": "Linear",
    "maze": "Maze",
    "mountain": "Mountain",
    "nchain": "NChain",
    "noisynet": "NoisyNet",
    "pathwise": "Pathwise",
    "pendulum": "Pendulum",
    "point": "Point",
    "prioritized": "Prioritized",
    "riverswim": "RiverSwim",
    "switches": "Switches",
}


def class_name(name: str) -> str:
    """adam-lmcdqn: AdamLMCDQN."""
    return "".join(WORDS.get(word, word.upper()) for word in name.split("-"))


# ---- Settings


def to_text(key: str, value: Any) -> str:
    """A value as the library reads it."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        if number == int(number) if math.isfinite(number) else False:
            return str(int(number)) if abs(number) < 1e15 else repr(number)
        return repr(number)
    if isinstance(value, Sequence):
        return ",".join(to_text(key, item) for item in value)
    raise UsageError(f"{key} = {value!r:.80} is a {type(value).__name__}: give a number, a text, or a list of numbers")


def to_argument(key: str, value: Any) -> str:
    """An argument of a Gymnasium environment as task.parse_value reads it."""
    if isinstance(value, str) and parse_value(value) == value and "\n" not in value:
        return value
    try:
        return json.dumps(value, default=lambda array: array.tolist())
    except (AttributeError, TypeError, ValueError):
        raise UsageError(f"{key} = {value!r:.80}: arguments are what JSON has: numbers, texts, lists, dicts, None") from None


def make_settings(values: Mapping[str, Any], origin: str = "") -> Handle:
    """lgv_settings from {"agent.gamma": 0.9}; None leaves a key open, a dict sets keys below its own."""
    settings = create("lgv_settings_create", "lgv_settings_free")
    fill_settings(settings, values, origin)
    return settings


def fill_settings(settings: Handle, values: Mapping[str, Any], origin: str = "") -> None:
    for key, value in values.items():
        if value is None:
            continue
        parts = {f"{key}.{name}": inner for name, inner in value.items()} if isinstance(value, Mapping) else {key: value}
        for name, inner in parts.items():
            text = to_argument(name, inner) if name.startswith("env.kwargs.") else to_text(name, inner)
            if "\0" in name or "\0" in text:
                raise UsageError(f"{name!r}: texts cannot hold a zero character")
            call("lgv_settings_set", settings.pointer, name.encode(), text.encode(), origin.encode())
