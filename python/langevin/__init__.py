"""Langevin: randomized exploration in reinforcement learning.

    import langevin

    agent = langevin.AdamLMCDQN("CartPole-v1", seed=0)
    agent.learn(50_000, progress_bar=True)
    action, _ = agent.predict(observation)

`help(langevin.AdamLMCDQN)` lists the parameters of an agent, langevin.agents() names all agents. docs/python.md is the
tutorial. Only NumPy is required; Gymnasium, pandas and torch are used if they are installed.

Modules are loaded on first use: the worker processes of environments import modules of this package and must not load
liblangevin.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import Any, List

__version__ = "0.1.0"

# Each name and the module that defines it. Agents are not listed: the library's registry names them.
_MODULES = {
    "Agent": "_agent",
    "LinearAgent": "_linear_agent",
    "FeatureMap": "_feature_map",
    "auto": "_classes",
    "write_dataset": "_minari",
    "read_dataset": "_minari",
    "EvalCallback": "_callbacks",
    "CheckpointCallback": "_callbacks",
    "StopOnReward": "_callbacks",
    "load": "_agent_files",
    "Model": "_mdp",
    "TabularMDP": "_mdp",
    "NativeEnv": "envs",
    "NativeVectorEnv": "envs",
    "run": "_runs",
    "sweep": "_runs",
    "tune": "_tune",
    "push_to_hub": "_hub",
    "evaluate": "_runs",
    "read_runs": "_runs",
    "read_run": "_runs",
    "Error": "_library",
    "UsageError": "_library",
    "OutOfMemory": "_library",
    "FileError": "_library",
    "NumericError": "_library",
    "EnvironmentFailed": "_library",
    "Interrupted": "_library",
}

# Former names of agents, and their current ones.
_FORMER = {"GNLMCDQN": "PathwiseLMCDQN"}


def agents() -> "dict[str, type]":
    """Every agent: its class by its name in Python."""
    return dict(importlib.import_module("langevin._classes").CLASSES)


def kernels() -> str:
    """The set of compute kernels in use: part of what makes two runs equal bit for bit."""
    return importlib.import_module("langevin._library").lib.lgv_kernels().decode()


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module 'langevin' has no attribute '{name}'")
    module = _MODULES.get(name)
    if name in _FORMER:
        warnings.warn(f"langevin.{name} has been replaced by langevin.{_FORMER[name]}", FutureWarning, stacklevel=2)
        return getattr(sys.modules[__name__], _FORMER[name])
    if module:
        value = getattr(importlib.import_module(f"langevin.{module}"), name)
    else:
        found = agents()
        if name not in found:
            import difflib  # only where it is needed: importing the package stays fast

            near = difflib.get_close_matches(name, [*found, *_MODULES], 1, 0.7)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise AttributeError(f"module 'langevin' has no attribute '{name}'{hint}")
        value = found[name]
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted({*globals(), *_MODULES, *agents()})


def _register_environments() -> None:
    """gymnasium.make("langevin/NChain-v0"), where Gymnasium is installed."""
    program = os.path.basename((getattr(sys, "argv", None) or [""])[0])
    if program == "langevin-worker":
        return  # src/env/external/process.c: a worker sets its number of threads before it imports anything
    if program == "langevin":
        return  # the command line: importing Gymnasium would take longer than most commands
    try:
        importlib.import_module("gymnasium")
    except ImportError:
        return
    try:
        importlib.import_module("langevin.envs")
    except ImportError as error:  # an old Gymnasium: everything that needs none still works
        warnings.warn(str(error), stacklevel=2)


_register_environments()
