"""Parameters under the names of Stable-Baselines3: accepted where they mean the same, else answered with ours.

    learning_rate lr            batch_size batch          exploration_initial_eps epsilon_start
    buffer_size   replay        gradient_steps updates    exploration_final_eps   epsilon_end
    learning_starts warmup      train_freq update_every   policy_kwargs           hidden (net_arch)
    max_grad_norm grad_clip

A function as learning_rate is read by _schedules.py. target_update_interval counts environment steps, target_every gradient steps: the former is converted if train_freq and
gradient_steps are given with it. tau=1 is a copy, as here.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping

from langevin._library import UsageError

SAME = {
    "learning_rate": "lr",
    "buffer_size": "replay",
    "learning_starts": "warmup",
    "batch_size": "batch",
    "exploration_initial_eps": "epsilon_start",
    "exploration_final_eps": "epsilon_end",
    "max_grad_norm": "grad_clip",
}
ANSWERS = {
    "exploration_fraction": "use epsilon_steps: the steps over which the probability falls, from warmup on",
    "max_grad_norm": "this agent does not clip gradients",
    "tensorboard_log": "use learn(log=DIRECTORY), which writes TensorBoard's event file, too",
    "verbose": "use learn(progress_bar=True) or learn(log=DIRECTORY)",
    "device": "the library computes on the processor",
    "policy": "use net=, hidden= and conv=; the default follows the observations",
    "replay_buffer_class": "use replay= for its size, prioritized=True for priorities",
    "replay_buffer_kwargs": "use replay= for its size, prioritized=True for priorities",
    "optimize_memory_usage": "the replay stores each observation once anyway",
    "n_steps": "use n_step",
    "stats_window_size": "agent.returns has every episode",
    "_init_setup_model": "leave it out",
}


def translate_names(cls: str, params: Mapping[str, Any], has: Callable[[str], bool]) -> Dict[str, Any]:
    """params with our names. has: whether the agent has a parameter; its own names come first."""
    found: Dict[str, Any] = {}
    foreign = {name: value for name, value in params.items() if not has(name)}
    for name, value in params.items():
        for ours, meant in ({name: value} if name not in foreign else _translate(cls, name, value, foreign, has)).items():
            if ours in found or (ours in params and ours != name):
                raise TypeError(f"{cls}() got '{ours}' twice: {name} is its name in Stable-Baselines3")
            found[ours] = meant
    return found


def _translate(cls: str, name: str, value: Any, all_: Mapping[str, Any], has: Callable[[str], bool]) -> Dict[str, Any]:
    if name in SAME and has(SAME[name]):
        return {SAME[name]: value}
    if name == "train_freq" and has("update_every"):
        return {"update_every": _count_steps(value)}
    if name == "gradient_steps" and has("updates"):
        return {"updates": _count_updates(value, all_)}
    if name == "target_update_interval" and has("target_every"):
        return {"target_every": _count_target(value, all_)}
    if name == "tau" and has("target_every"):
        if value == 1:
            return {}
        raise UsageError(f"tau = {value!r}: the target network is a copy (tau = 1), made every target_every gradient steps")
    if name == "policy_kwargs" and has("hidden"):
        return _read_policy(value)
    if name in ANSWERS:
        raise TypeError(f"{cls}() has no parameter '{name}' of Stable-Baselines3: {ANSWERS[name]}")
    return {name: value}  # unknown: refused with the nearest name


def _count_steps(value: Any) -> Any:
    if isinstance(value, (tuple, list)) and len(value) == 2:
        count, unit = value
        if unit == "step":
            return count
        if unit == "episode" and count == 1:
            return 0  # between episodes
        raise UsageError(f"train_freq = {value!r}: update_every counts steps; 0 updates after every episode")
    return value


def _count_updates(value: Any, all_: Mapping[str, Any]) -> Any:
    if value != -1:
        return value
    steps = _count_steps(all_.get("train_freq", 0))
    if not steps:
        raise UsageError("gradient_steps = -1: use updates, the gradient steps each time")
    return steps


def _count_target(value: Any, all_: Mapping[str, Any]) -> Any:
    if not {"train_freq", "gradient_steps"} <= all_.keys():
        raise UsageError(
            f"target_update_interval = {value!r} counts environment steps: use target_every, which counts gradient steps, or "
            "give train_freq and gradient_steps, too"
        )
    steps, updates = _count_steps(all_["train_freq"]), _count_updates(all_["gradient_steps"], all_)
    if not steps or value * updates % steps:
        raise UsageError(f"target_update_interval = {value!r} is no whole number of gradient steps: use target_every")
    return value * updates // steps


def _read_policy(value: Any) -> Dict[str, Any]:
    given = dict(value or {})
    widths = given.pop("net_arch", None)
    name = getattr(given.pop("activation_fn", None), "__name__", "ReLU")
    if name != "ReLU":
        raise UsageError(f"policy_kwargs: networks have rectifiers (ReLU), not {name}")
    if isinstance(widths, dict) or widths == []:
        raise UsageError("policy_kwargs: net_arch is a list of widths here, at least one, and the same for every network")
    if given:
        raise UsageError(f"policy_kwargs: only net_arch means the same here (hidden), not {', '.join(sorted(given))}")
    return {} if widths is None else {"hidden": tuple(widths)}
