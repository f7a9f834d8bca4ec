"""One class for every agent of the registry, with its parameters as signature and documentation."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any, Dict, List, Type

from langevin import _registry as registry
from langevin._agent import Agent
from langevin._linear_agent import LinearAgent
from langevin._library import NEEDS_STATES, UsageError

COMMON = """\
env: a Gymnasium environment with Discrete actions or the name of one, a vector of such, or a TabularMDP.
seed: of the agent, and of the environment's first reset in learn().
steps, episodes: how long it will be trained, for schedules that depend on it; left out, the first learn() tells.
reward_range: the least and the greatest reward, which Gymnasium does not tell, for agents that ask for it.
Whatever is None is filled in by a preset, or has the default that is named below."""


def parameters_of(entry: registry.Entry) -> List[registry.Param]:
    """The agent's own, then those of its default optimizer."""
    optimizer = registry.entries("optimizer").get(entry.optimizer or "")
    return list(entry.params) + (list(optimizer.params) if optimizer else [])


def signature_of(entry: registry.Entry) -> inspect.Signature:
    kind = inspect.Parameter.KEYWORD_ONLY
    fixed = [("seed", "int", 0), ("steps", "int | None", None), ("episodes", "int | None", None)]
    if entry.optimizer:
        fixed.append(("optimizer", "str | None", None))
    fixed.append(("reward_range", "tuple[float, float] | None", None))
    listed = [inspect.Parameter("env", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Any")]
    listed += [inspect.Parameter(name, kind, default=value, annotation=hint) for name, hint, value in fixed]
    listed += [
        inspect.Parameter(p.keyword, kind, default=None, annotation=f"{p.annotation} | None") for p in parameters_of(entry)
    ]
    return inspect.Signature(listed)


def document(entry: registry.Entry) -> str:
    lines = [f"{entry.summary[0].upper()}{entry.summary[1:]}.", "", COMMON, ""]
    optimizer = registry.entries("optimizer").get(entry.optimizer or "")
    tables = [(f"Parameters of {entry.name}", entry.params)]
    if optimizer:
        title = f"Parameters of its optimizer, {optimizer.name} (optimizer= names another one, and takes its parameters)"
        tables.append((title, optimizer.params))
    for title, params in tables:
        lines += [f"{title}:", ""]
        for p in params:
            text = f"{p.keyword}: {p.help}. Default {p.default or 'empty'}; {p.range}."
            lines += textwrap.wrap(text, 112, initial_indent="    ", subsequent_indent="        ")
        lines.append("")
    if entry.presets:
        lines += ["Presets (preset=...; auto chooses by the observations):", ""]
        for name, values in entry.presets.items():
            lines += textwrap.wrap(f"{name}: {values}", 112, initial_indent="    ", subsequent_indent="        ")
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
    """By the library's name, such as adam-lmcdqn."""
    cls = CLASSES.get(registry.class_name(name))
    if cls is None or cls._entry.name != name:
        raise UsageError(f"there is no agent '{name}' in this version")
    return cls
