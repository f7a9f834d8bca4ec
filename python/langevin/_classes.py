"""One class for every agent of the registry, with its parameters as signature and documentation."""

from __future__ import annotations

import ctypes
import inspect
import textwrap
from typing import Any, Dict, List, Optional, Tuple, Type

from langevin import _registry as registry
from langevin._agent import Agent
from langevin._checks import check_range
from langevin._env_adapters import make_adapter
from langevin._linear_agent import LinearAgent
from langevin._library import NEEDS_STATES, UsageError, lib

COMMON = """\
env: a Gymnasium environment or its name, a vector of such environments, or a TabularMDP. Gymnasium's
    environments are reset once, to see whether they give masks of actions.
seed: decides the random numbers of the agent, and the seeds of the environment's resets in learn().
schedule_steps, schedule_episodes: how long the agent will be trained in all. Step sizes that decay do
    so over this budget; without it nothing decays.
reward_range: the least and the greatest reward, which some agents need and Gymnasium does not know.
Parameters that are None take the value of the preset, or the default."""
WIDTH = 100


def parameters_of(entry: registry.Entry) -> List[registry.Param]:
    """The agent's own parameters, then those of its default optimizer."""
    optimizer = registry.entries("optimizer").get(entry.optimizer or "")
    return list(entry.params) + (list(optimizer.params) if optimizer else [])


def signature_of(entry: registry.Entry) -> inspect.Signature:
    kind = inspect.Parameter.KEYWORD_ONLY
    fixed = [("seed", "int", 0), ("schedule_steps", "int | None", None), ("schedule_episodes", "int | None", None)]
    if entry.optimizer:
        fixed.append(("optimizer", "str | None", None))
    fixed.append(("reward_range", "tuple[float, float] | None", None))
    listed = [inspect.Parameter("env", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Any")]
    listed += [inspect.Parameter(name, kind, default=value, annotation=hint) for name, hint, value in fixed]
    listed += [
        inspect.Parameter(p.keyword, kind, default=None, annotation=f"{p.annotation} | None") for p in parameters_of(entry)
    ]
    return inspect.Signature(listed)


def preset_values(entry: registry.Entry) -> Dict[str, Dict[str, str]]:
    """{"agent.warmup": {"small": "200", "atari": "50000"}}"""
    found: Dict[str, Dict[str, str]] = {}
    for name, values in entry.presets.items():
        for pair in values.split():
            key, _, value = pair.partition("=")
            found.setdefault(key, {})[name] = value
    return found


def describe_param(param: registry.Param, presets: Dict[str, str]) -> List[str]:
    """Its default, and beside it the value of each preset that has another."""
    listed = ", ".join(f"{name} {value}" for name, value in presets.items())
    default = f"Default {param.default or 'empty'}" + (f" (presets: {listed})" if listed else "")
    text = f"{param.keyword}: {param.help}. {default}; {param.range}."
    return textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="        ")


def document(entry: registry.Entry) -> str:
    lines = [f"{entry.summary[0].upper()}{entry.summary[1:]}.", "", COMMON, ""]
    optimizer = registry.entries("optimizer").get(entry.optimizer or "")
    presets = preset_values(entry)
    tables = [("agent", f"Parameters of {entry.name}", entry.params)]
    if optimizer:
        title = f"Parameters of its optimizer, {optimizer.name} (optimizer= names another, with its own parameters)"
        tables.append(("optim", title, optimizer.params))
    for prefix, title, params in tables:
        lines += [f"{title}:", ""]
        for param in params:
            lines += describe_param(param, presets.get(f"{prefix}.{param.name}", {}))
        lines.append("")
    if entry.presets:
        lines.append(f"Presets (preset=...): {', '.join(entry.presets)}; auto chooses one by the observations.")
    return "\n".join(lines).rstrip() + "\n"


def make_class(entry: registry.Entry) -> Type[Agent]:
    base = LinearAgent if entry.traits & NEEDS_STATES else Agent
    name = registry.class_name(entry.name)
    members: Dict[str, Any] = {
        "_entry": entry,
        "__doc__": document(entry),
        "__module__": "langevin",
        "__signature__": signature_of(entry),
    }
    return type(name, (base,), members)


CLASSES: Dict[str, Type[Agent]] = {
    cls.__name__: cls for cls in (make_class(entry) for entry in registry.entries("agent").values())
}


def agent_class(name: str) -> Type[Agent]:
    """The class of an agent by the library's name, such as adam-lmcdqn."""
    cls = CLASSES.get(registry.class_name(name))
    if cls is None or cls._entry.name != name:
        raise UsageError(f"there is no agent '{name}' in this version")
    return cls


def auto(env: Any, *, reward_range: Optional[Tuple[float, float]] = None, **params: Any) -> Agent:
    """The agent that fits the environment, made with these parameters; its class says which one it is."""
    adapter = make_adapter(env, check_range(reward_range))
    name = lib.lgv_auto_agent(ctypes.byref(adapter.spec)).decode()
    return agent_class(name)(adapter, **params)


auto.__doc__ = f"{auto.__doc__}\n\nThe rule: {lib.lgv_auto_rule().decode()}."
