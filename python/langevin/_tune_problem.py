"""What a tuner searches for: a sweep file whose `random` section names the keys and their distributions."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, Iterator, Mapping, NamedTuple, Tuple

from langevin import _library as library
from langevin._library import CDrawInfo, Handle, UsageError, lib
from langevin._registry import to_text


class Draw(NamedTuple):
    """A key and its distribution."""

    key: str
    kind: str
    origin: str
    low: float
    high: float
    choices: Tuple[str, ...]

    def suggest(self, trial: Any) -> Any:
        if self.kind == "choice":
            return trial.suggest_categorical(self.key, self.choices)
        if self.kind == "int_uniform":
            return trial.suggest_int(self.key, int(self.low), int(self.high))
        return trial.suggest_float(self.key, self.low, self.high, log=self.kind == "log_uniform")

    @property
    def ends(self) -> Tuple[Any, ...]:
        if self.kind == "choice":
            return self.choices
        return (int(self.low), int(self.high)) if self.kind == "int_uniform" else (self.low, self.high)

    @property
    def range(self) -> str:
        return f"{{{self.kind}: [{', '.join(to_text(self.key, end) for end in self.ends)}]}}"


class Problem:
    """What a file asks for."""

    def __init__(self, path: Any):
        self.sweep = library.create("lgv_sweep_load", "lgv_sweep_free", library.encode_path(path), None)
        info = lib.lgv_sweep_get_info(self.sweep.pointer).contents
        self.draws = list(self._read_draws())
        self.measure, self.lowest_is_best = info.measure.decode(), info.lowest_is_best
        self.seeds = range(info.first_seed, info.first_seed + lib.lgv_sweep_seeds(self.sweep.pointer, 0))
        self.trials = info.configs
        self._check_keys(os.fspath(path))

    def _read_draws(self) -> Iterator[Draw]:
        draw, index = CDrawInfo(), 0
        while lib.lgv_sweep_draw(self.sweep.pointer, 0, index, ctypes.byref(draw)):
            choices = tuple(draw.choices[i].decode() for i in range(draw.n_choices))
            yield Draw(draw.key.decode(), draw.kind.decode(), draw.origin.decode(), draw.low, draw.high, choices)
            index += 1

    def _check_keys(self, path: str) -> None:
        drawn = [draw.key for draw in self.draws]
        if not drawn:
            raise UsageError(f"{path}: nothing to search for: write random: {{count: 50, keys: {{optim.lr: {{log_uniform: "
                             "[1e-5, 1e-2]}}}}")  # fmt: skip
        for key in library.names_of("lgv_sweep_key", self.sweep.pointer):
            if key not in drawn:
                raise UsageError(f"{path}: '{key}' is in a grid or a case; a tuner draws every key: write random: "
                                 f"{{keys: {{{key}: {{choice: [...]}}}}}}")  # fmt: skip

    def plan(self, values: Mapping[str, Any]) -> Handle:
        settings = library.create("lgv_sweep_settings", "lgv_settings_free", self.sweep.pointer, 0)
        for draw in self.draws:
            text = to_text(draw.key, values[draw.key])
            library.call("lgv_settings_set", settings.pointer, draw.key.encode(), text.encode(), draw.origin.encode())
        return library.create("lgv_plan_create", "lgv_plan_free", settings.pointer)

    def check_ranges(self) -> None:
        """Refuses a range that reaches beyond what its key accepts, before anything runs."""
        first = self._first_ends()
        for draw in self.draws:
            for end in draw.ends:
                self.plan({**first, draw.key: end})

    def identity(self) -> Dict[str, Any]:
        """Everything in the file that a study depends on. The directory of the plan whose values are the first ends
        stands for all settings that are not drawn."""
        return {
            **{draw.key: draw.range for draw in self.draws},
            "measure": self.measure,
            "best": "lowest" if self.lowest_is_best else "highest",
            "first_seed": self.seeds.start,
            "seeds": len(self.seeds),
            "settings": directory_of(self.plan(self._first_ends())),
        }

    def _first_ends(self) -> Dict[str, Any]:
        return {draw.key: draw.ends[0] for draw in self.draws}


def directory_of(plan: Handle) -> str:
    name = ctypes.create_string_buffer(library.SWEEP_NAME_SIZE)
    library.call("lgv_sweep_directory", plan.pointer, name)
    return name.value.decode()
