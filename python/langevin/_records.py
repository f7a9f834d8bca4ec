"""The records of learn(): rows of agent.metrics, and with learn(log=...) the files of a run, which liblangevin writes."""

from __future__ import annotations

import ctypes
import json
import math
import os
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from langevin import _library as library
from langevin import _registry as registry
from langevin._library import BOOL, INT, REAL, CRecorderOptions, CSummary, UsageError, lib
from langevin._progress import NO_BOUND
from langevin._runs import load_metrics

USUAL = 1000  # steps from one row to the next
RECENT = 10  # evaluations or exact values that make up final_return


def to_window(pair: Any) -> Tuple[float, int]:
    total, count = pair
    return float(total), int(count)


def to_floats(values: Any) -> List[float]:
    return [float(value) for value in values]


# What files of agents keep of Metrics, and what turns JSON back into it.
COUNTS: Dict[str, Callable[[Any], Any]] = {
    "episodes": int,
    "total": float,
    "regret": float,
    "window": to_window,
    "values": to_floats,
    "evaluations": to_floats,
}


class Metrics:
    """What has happened in the learn() calls of an agent, in rows. It outlives each call; Recording belongs to one."""

    def __init__(self) -> None:
        self.rows: List[Dict[str, float]] = []
        self.episodes = 0
        self.total = 0.0  # of returns
        self.regret = 0.0
        self.window: Tuple[float, int] = (0.0, 0)  # sum and number of returns since the last row
        self.values: List[float] = []  # the last exact ones
        self.evaluations: List[float] = []  # the last ones
        self.evaluated = math.nan  # the evaluation that belongs to the next row
        self.restored = False  # from the file of an agent

    def as_arrays(self) -> Dict[str, np.ndarray]:
        names = dict.fromkeys(["step", "episode", "return", *(name for row in self.rows for name in row)])
        return {name: np.array([row.get(name, math.nan) for row in self.rows]) for name in names}

    def add_episodes(self, ended: np.ndarray) -> None:
        """Adds one by one, as runs do: the sums have the same bits."""
        total, regret, (window, count) = self.total, self.regret, self.window
        for one in ended["return"].tolist():
            total += one
            window += one
        for one in ended["regret"].tolist():
            regret += one
        self.total, self.regret, self.window = total, regret, (window, count + len(ended))
        self.episodes += len(ended)
        self.values = [*self.values, *ended["value"].tolist()][-RECENT:]

    def add_evaluation(self, mean: float) -> None:
        self.evaluated = mean
        self.evaluations = [*self.evaluations, mean][-RECENT:]

    def save(self) -> Dict[str, Any]:
        """What the next row and the summary count on; the rows themselves are in the records."""
        return {name: getattr(self, name) for name in COUNTS}

    def restore(self, counts: Dict[str, Any]) -> None:
        self.restored = True
        for name, convert in COUNTS.items():
            setattr(self, name, convert(counts[name]))

    def adopt(self, columns: Dict[str, np.ndarray], step: int) -> None:
        """Takes over the rows of the files that a loaded agent continues, and of a run's checkpoint their counts."""
        names = list(columns)
        self.rows = [dict(zip(names, row)) for row in zip(*(columns[name].tolist() for name in names))]
        if self.rows and self.rows[-1]["step"] == step:
            self.window = (0.0, 0)  # EvalCallback(best=...) saves before the row of its step
        if not self.rows or self.restored:
            return
        episodes = columns["episode"]
        self.episodes = int(episodes[-1])
        self.total = float(np.nansum(columns["return"] * np.diff(episodes, prepend=0)))
        self.regret = float(columns["regret"][-1]) if "regret" in columns else math.nan
        kept = {name: columns[name][~np.isnan(columns[name])][-RECENT:] for name in ("eval_return", "value") if name in columns}
        self.evaluations = kept.get("eval_return", np.empty(0)).tolist()
        self.values = kept.get("value", np.empty(0)).tolist()


class Recording:
    """The rows of one learn(), due at multiples of `every` steps, at the end of every episode if that is 0, after
    evaluations and at the end. With a directory they are written there, too."""

    def __init__(self, agent: Any, loop: Any, log: Any, every: Optional[int], budget: Tuple[int, int], evaluates: bool):
        self.agent, self.loop, self.metrics = agent, loop, agent._metrics
        self.knows_value, self.knows_regret = loop.knows()
        by_episode = every is None and log is not None and self.knows_value
        self.every = 0 if by_episode else USUAL if every is None else every
        self.groups = self._name_columns(evaluates)
        self.names = [name for _, name in self.groups]
        self.recorder: Optional[library.Handle] = None
        self.unwritten = False  # whether the last row is still missing in the files
        if log is not None:
            self._open(os.fspath(log), budget)

    def _name_columns(self, evaluates: bool) -> List[Tuple[str, str]]:
        run = ["step", "episode", "return"]
        run += ["eval_return"] if evaluates else []
        run += ["value"] if self.knows_value else []
        run += ["regret"] if self.knows_regret else []
        self.stats = library.names_of("lgv_agent_stat_name", self.agent.handle.pointer)
        groups = {"run": run, "agent": self.stats, "env": self.loop.counter_names()}
        return [(group, name) for group, names in groups.items() for name in names]

    def _open(self, directory: str, budget: Tuple[int, int]) -> None:
        agent = self.agent
        columns = (ctypes.c_char_p * (len(self.groups) + 1))()
        columns[:-1] = [f"{group}/{name}".encode() for group, name in self.groups]
        options = CRecorderOptions(
            directory=library.encode_path(directory),
            config=make_config(agent, budget, self.metrics.episodes).encode(),
            env=name_env(agent).encode(),
            agent=agent._entry.name.encode(),
            columns=ctypes.addressof(columns),
            last_step=agent.num_timesteps or -1,
        )
        self.recorder = library.create("lgv_recorder_create", "lgv_recorder_free", ctypes.byref(options))
        if not self.metrics.rows and agent.num_timesteps:
            self.metrics.adopt(load_metrics(directory), agent.num_timesteps)

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        if self.recorder is None:
            return
        try:
            self.write_row()
            failure = None if kind is None else f"{kind.__name__}: {error}".encode("utf-8", "replace")
            summary = self._summarize(failure is None)
            library.call("lgv_recorder_finish", self.recorder.pointer, ctypes.byref(summary), failure)
        finally:
            self.recorder = None  # the directory is free for others

    # ---- Rows

    def most(self, episodes: int) -> Tuple[int, int]:
        """Steps and episodes until the next row may be due."""
        if self.every == 0:
            return NO_BOUND, min(1, episodes)
        return self.every - self.agent.num_timesteps % self.every, episodes

    def add(self, ended: np.ndarray) -> None:
        self.metrics.add_episodes(ended)

    def add_row(self, made: int, ended: int, last: bool) -> None:
        """Adds a row if one is due after so many more steps and episodes. An evaluation after it still enters it."""
        metrics, step = self.metrics, self.agent.num_timesteps
        due = ended > 0 if self.every == 0 else step // self.every > (step - made) // self.every
        evaluated = not math.isnan(metrics.evaluated)
        is_new = not metrics.rows or metrics.rows[-1]["step"] < step
        if is_new and (due or last or evaluated):
            metrics.rows.append(self._make_row(step))
            metrics.window, self.unwritten = (0.0, 0), True
        elif evaluated:
            metrics.rows[-1]["eval_return"] = metrics.evaluated
        metrics.evaluated = math.nan

    def _make_row(self, step: int) -> Dict[str, float]:
        metrics = self.metrics
        total, count = metrics.window
        stats = np.zeros(len(self.stats))
        lib.lgv_agent_stats(self.agent.handle.pointer, stats.ctypes.data)
        known = {
            "step": float(step),
            "episode": float(metrics.episodes),
            "return": total / count if count else math.nan,
            "eval_return": metrics.evaluated,
            "value": metrics.values[-1] if metrics.values else math.nan,
            "regret": metrics.regret,
            **dict(zip(self.stats, stats.tolist())),
            **self.loop.counters(),
        }
        return {name: known[name] for name in self.names}

    def write_row(self) -> None:
        """Writes the row that add_row() has added, if there is one."""
        if self.unwritten and self.recorder:
            values = np.array([self.metrics.rows[-1][name] for name in self.names])
            library.call("lgv_recorder_row", self.recorder.pointer, values.ctypes.data)
        self.unwritten = False

    def _summarize(self, finished: bool) -> CSummary:
        metrics, model = self.metrics, self.agent._adapter.model
        recent = metrics.evaluations or (metrics.values if self.knows_value else [])
        return CSummary(
            seed=self.agent.seed,
            steps=self.agent.num_timesteps,
            episodes=metrics.episodes,
            mean_return=metrics.total / metrics.episodes if metrics.episodes else math.nan,
            final_return=sum(recent) / len(recent) if recent else math.nan,
            optimal_value=model.optimal_value if model else math.nan,
            regret=metrics.regret if self.knows_regret else math.nan,
            solved_episode=math.nan,
            finished=finished,
        )


# ---- config.json


def name_env(agent: Any) -> str:
    """As the command line names it; the class of an environment that only Python can make."""
    config = agent._adapter.config()
    if config is None:
        return type(getattr(agent.env, "unwrapped", agent.env)).__name__
    return f"gym:{config['id']}" if config["name"] == "gym" else config["name"]


def to_json(param: Optional[registry.Param], text: str) -> Any:
    """A value in the form that config.json has it in."""
    if param is not None and param.type in (REAL, INT, BOOL):
        value = param.parse(text)
        return value if math.isfinite(value) else text
    return text


def make_config(agent: Any, budget: Tuple[int, int], episodes: int) -> str:
    """A configuration file of the command line, in the form in which runs write theirs."""
    if agent.seed > 2**53:
        raise UsageError(f"seed {agent.seed} is too large to be recorded: at most 2^53")
    sections: Dict[str, Any] = {"langevin": describe_program(agent), "env": describe_env(agent)}
    tables = {"agent": agent._entry, "optim": registry.entries("optimizer").get(agent._get("optim.name") or "")}
    tables["features"] = agent._feature_map()
    for prefix, entry in tables.items():
        if entry and (entry.params or prefix != "features"):
            head = {} if prefix == "features" else {"name": entry.name}
            sections[prefix] = {**head, **{p.name: to_json(p, agent._get(f"{prefix}.{p.name}")) for p in entry.params}}
    most_steps, most_episodes = budget
    sections["run"] = {
        "episodes": episodes + most_episodes if most_episodes < NO_BOUND else 0,
        "steps": agent.num_timesteps + most_steps if most_steps < NO_BOUND else 0,
        "seed": agent.seed,
        "envs": agent._streams,
    }
    return json.dumps(sections, indent=2) + "\n"


def describe_program(agent: Any) -> Dict[str, str]:
    return {"version": lib.lgv_version().decode(), "kernels": kernels_of("lgv_agent_get", agent.handle.pointer)}


def kernels_of(get: str, pointer: int) -> str:
    """The kernels of an agent (get: lgv_agent_get) or of a plan (lgv_plan_get), as the library names them in config.json:
    bf16 has the same bits with every kernel set."""
    has_precision = registry.entries("agent")[library.text_of(get, pointer, "agent.name")].find("precision")
    portable = has_precision and library.text_of(get, pointer, "agent.precision") != "float"
    return "portable" if portable else lib.lgv_kernels().decode()


def describe_env(agent: Any) -> Dict[str, Any]:
    config = agent._adapter.config() or {"name": name_env(agent)}
    entry = registry.entries("env").get(config["name"])
    return {key: to_json(entry.find(key) if entry else None, value) for key, value in config.items()}
