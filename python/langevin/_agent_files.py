"""Files of agents: save() of Python and the checkpoints of runs, which load() and the command line both read.

The metadata of an agent's file are a configuration file of the command line (env, agent, optim, run). The key
`langevin`, which configurations skip, holds what only Python needs. A run's checkpoint has its config.json beside it.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from typing import Any, Dict, Iterator, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from langevin import _library as library
from langevin import _registry as registry
from langevin._action_translator import ActionTranslator
from langevin._checks import compare_specs
from langevin._env_adapters import EnvAdapter, NoEnv, make_adapter
from langevin._library import CSpec, FileError, UsageError
from langevin._observation_reader import rebuild_reader
from langevin.task import Failure, parse_value

FORM = 1  # of the metadata
CHECKPOINT = "checkpoint.safetensors"
STATISTICS = "env.statistics"  # an array of files
SPEC_FIELDS = ("obs_kind", "obs_form", "vector", "frames", "masked", "states", "horizon", "stationary", "clock_truncates",
               "reward_min", "reward_max", "feature_dim")  # fmt: skip


class Saved(NamedTuple):
    """The description of an agent in a file; the library reads the arrays."""

    settings: Dict[str, Any]  # agent.* and optim.*
    streams: int
    planned: Tuple[int, int]  # episodes, steps
    seed: int
    timesteps: int
    env: Optional[Dict[str, Any]]  # the env section of a configuration; None: only Python can make it
    statistics: bytes  # of the wrappers of the environment
    python: Optional[Dict[str, Any]]  # spec and observations, of a file that Python wrote


# ---- Writing


def describe(agent: Any) -> bytes:
    """The metadata of an agent's file."""
    names = {"agent": agent._entry.name, "optim": agent._get("optim.name")}
    tables = {"agent": agent._entry, "optim": registry.entries("optimizer").get(names["optim"] or "")}
    config: Dict[str, Any] = {"langevin": json.dumps(describe_for_python(agent))}  # a text: spaces nest deeply
    for prefix, entry in tables.items():
        if entry:
            texts = {p.name: agent._get(f"{prefix}.{p.name}") for p in entry.params}
            config[prefix] = {"name": names[prefix], **texts}
    feature_map = agent._feature_map()
    if feature_map and feature_map.params:
        config["features"] = {p.name: agent._get(f"features.{p.name}") for p in feature_map.params}
    env = agent._adapter.config()
    if env is not None:
        config["env"] = env
    episodes, steps = agent._planned
    config["run"] = {"envs": agent._streams, "episodes": episodes, "steps": steps}
    return json.dumps(config).encode()


def describe_for_python(agent: Any) -> Dict[str, Any]:
    shape = agent._reader.shape
    return {
        "version": library.lib.lgv_version().decode(),
        "form": FORM,
        "spec": {name: getattr(agent._spec, name) for name in SPEC_FIELDS},
        "obs_shape": list(agent._spec.obs_shape),
        "shape": list(shape) if shape is not None else None,
        "space": agent._reader.description,
        "stack": agent._reader.stack,
        "actions": agent._actions.describe(),
        "seed": agent.seed,
        "timesteps": agent.num_timesteps,
        "records": agent._metrics.save(),
    }


# ---- Reading


def flatten(config: Mapping[str, Any], *prefixes: str) -> Dict[str, Any]:
    return {f"{prefix}.{name}": value for prefix in prefixes for name, value in config.get(prefix, {}).items()}


def read_header(path: str) -> Dict[str, Any]:
    """The header of a safetensors file, JSON after its length, with the bytes of two arrays in it."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > 1 << 24:
            raise ValueError(f"a header of {size} bytes")
        header = json.loads(file.read(size))
        for name in {"run.state", STATISTICS} & header.keys():
            begin, end = header[name]["data_offsets"]
            if 8 + size + end > os.path.getsize(path):
                raise ValueError(f"{name} ends beyond the file")
            file.seek(8 + size + begin)
            header[name] = file.read(end - begin)
        return header


@contextlib.contextmanager
def refuse_foreign(path: str) -> Iterator[None]:
    """Reports what a foreign file makes Python raise as a FileError; errors of the library and the system pass."""
    try:
        yield
    except (library.Error, OSError, MemoryError):
        raise
    except Exception as error:
        raise FileError(f"{path} is neither an agent that save() has written nor the checkpoint of a run") from error


def whole(value: Any, bits: int = 63) -> int:
    if type(value) is not int or not 0 <= value < 1 << bits:
        raise ValueError(f"{value!r:.40} is no whole number of {bits} bits")
    return value


def read_saved(path: str) -> Saved:
    try:
        header = read_header(path)
        about, statistics = header["__metadata__"].get("about"), header.get(STATISTICS, b"")
        if about is not None:
            return saved_by_python(path, json.loads(about), statistics)
        with open(os.path.join(os.path.dirname(path), "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        run = config["run"]
        settings = flatten(config, "agent", "optim", "features")
        planned = (whole(run["episodes"]), whole(run["steps"]))
        steps = whole(int.from_bytes(header["run.state"][:8], "little"))  # the first of the counters
        return Saved(settings, whole(run["envs"]), planned, whole(run["seed"], 64), steps, config["env"], statistics, None)
    except FileNotFoundError as error:
        if not os.path.exists(path):
            raise
        raise FileError(f"{path} is the checkpoint of a run, but {error.filename} is missing") from None


def saved_by_python(path: str, about: Dict[str, Any], statistics: bytes) -> Saved:
    python = json.loads(about["langevin"])
    if python["form"] != FORM:
        raise FileError(f"{path} was written by langevin {python['version']}, in another form")
    run, settings = about["run"], flatten(about, "agent", "optim", "features")
    planned = (whole(run["episodes"]), whole(run["steps"]))
    seed, timesteps = whole(python["seed"], 64), whole(python["timesteps"])
    return Saved(settings, whole(run["envs"]), planned, seed, timesteps, about.get("env"), statistics, python)


def load(path: Any, env: Any = None) -> Any:
    """An agent that save() has written, or the agent of a run: a run's directory, or a checkpoint in it.

    env: an environment to continue in. Without one, an agent of save() can act and be looked at, and the agent of a run
    has the environment of the run. The agent may have been trained on more environments at once than env has.
    """
    from langevin._classes import agent_class

    file = os.fspath(path)
    if os.path.isdir(file):
        file = os.path.join(file, CHECKPOINT)
        if not os.path.exists(file):
            raise FileError(f"{path} holds no {CHECKPOINT}: name the directory of one run, such as {path}/seed-0")
    with refuse_foreign(file):
        saved = read_saved(file)
        cls = agent_class(saved.settings["agent.name"])
        spec = rebuild_spec(saved.python) if saved.python else None
        own = without_env(saved, spec) if spec and env is None else None
    agent = cls.__new__(cls)
    agent.seed = saved.seed
    adapter = own or open_env(saved, spec, env, cls._entry)
    agent._create(adapter, spec or adapter.spec, saved.streams, saved.settings, saved.planned)
    agent._check_streams(adapter)
    agent.num_timesteps = saved.timesteps
    if saved.python and "records" in saved.python:  # older files have none
        with refuse_foreign(file):
            agent._metrics.restore(saved.python["records"])
    library.call("lgv_agent_load", agent.handle.pointer, library.encode_path(file))
    adapter.restore_statistics(saved.statistics)
    return agent


def open_env(saved: Saved, spec: Optional[CSpec], env: Any, entry: registry.Entry) -> EnvAdapter:
    """The environment to load an agent with. spec: the problem that it was made for; None: that of its run."""
    if spec is None:
        rewards = [float((saved.env or {}).get(name, 0)) for name in ("reward_min", "reward_max")]
        return make_adapter(make_run_env(saved) if env is None else env, rewards)
    adapter = make_adapter(env, (spec.reward_min, spec.reward_max))
    staged = bool(entry.traits & library.NEEDS_HORIZON) or saved.settings.get("agent.stages") == "per-stage"
    if saved.settings.get("agent.form") == "discounted":
        staged = False
    difference = compare_specs(spec, adapter.spec, staged)
    if difference:
        raise UsageError(f"the agent was made for another environment: {difference}")
    spec.features = adapter.spec.features
    spec.obs_low, spec.obs_high = adapter.spec.obs_low, adapter.spec.obs_high
    return adapter


def describe_actions(python: Dict[str, Any]) -> Dict[str, Any]:
    """Older files have a number of discrete actions."""
    one = {"kind": "discrete", "shape": [], "dtype": "<i8", "first": [python.get("first_action", 0)], "binary": False}
    return python.get("actions") or {**one, "choices": [python["spec"]["actions"]]}


def rebuild_spec(python: Dict[str, Any]) -> CSpec:
    fields = {name: value for name, value in python["spec"].items() if name in SPEC_FIELDS}
    return CSpec(**fields, obs_shape=tuple(python["obs_shape"]), actions=ActionTranslator.build(describe_actions(python)).space)


def make_run_env(saved: Saved) -> Any:
    """The environment of a run, from the env section of its config.json."""
    try:
        from langevin import gym_task
        from langevin.envs import NativeEnv
    except (ModuleNotFoundError, Failure):
        raise UsageError("the environment of the run needs the package gymnasium: pip install gymnasium") from None
    config = dict(saved.env or {})
    if not saved.statistics:
        if "kwargs" in config:
            config["kwargs"] = {name: parse_value(text) for name, text in config["kwargs"].items()}
        return NativeEnv(config.pop("name"), **config)
    for name, usual in {"scale": 1, "masks": True, "stack": 1}.items():
        if config.get(name, usual) != usual:
            raise UsageError(
                f"the run has env.{name} = {registry.to_text(name, config[name])} and wrappers that keep statistics: load(path, "
                "env=...) takes an environment with wrappers that do both"
            )
    try:  # in this process, where the statistics can be restored
        return gym_task.make_env(config, [])
    except Failure as failure:
        raise UsageError(str(failure)) from None


def without_env(saved: Saved, spec: CSpec) -> NoEnv:
    python = saved.python or {}
    if spec.feature_dim:
        raise UsageError("the agent uses the features of its environment: load it with load(path, env=...)")
    shape = python["shape"]
    plain = shape is not None and int(np.prod(shape)) == int(np.prod(spec.obs_shape))
    adapter = NoEnv(saved.env, saved.statistics)
    adapter.spec = spec
    adapter.actions = ActionTranslator.build(describe_actions(python))
    adapter.reader = rebuild_reader(
        spec, adapter.actions, tuple(shape) if plain else None, python.get("space"), whole(python.get("stack", 0))
    )
    return adapter


def revive(data: bytes) -> Any:
    """The agent in a pickle."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "agent.safetensors")
        with open(path, "wb") as file:
            file.write(data)
        return load(path)
