"""Datasets of Minari: episodes that an agent plays become one, and an agent takes the episodes of one into its replay."""

from __future__ import annotations

from typing import Any

import numpy as np

from langevin import _library as library
from langevin._checks import check_count
from langevin._evaluation import Evaluation
from langevin._library import CRng, UsageError


def import_minari() -> Any:
    try:
        import minari
    except ModuleNotFoundError as missing:
        raise ImportError("datasets need the package minari: pip install 'minari[create,hdf5]'") from missing
    return minari


def write_dataset(
    agent: Any, dataset_id: str, episodes: int = 100, seed: int = 0, *, env: Any = None, deterministic: bool = True
) -> Any:
    """Plays episodes with an agent and keeps them as a new Minari dataset, which is returned.

    dataset_id: such as "cartpole/dqn-v0". env: where the agent plays; left out, a new environment like its own.
    deterministic=False acts as training does, with its exploration."""
    minari = import_minari()
    count = check_count("episodes", episodes)
    if count < 1:
        raise UsageError("episodes: at least 1")
    evaluation = Evaluation(agent, env, CRng.stream(library.check_seed(seed), "env.fresh"))
    evaluation.env = minari.DataCollector(evaluation.env)
    evaluation.play(agent, count, deterministic)
    return evaluation.env.create_dataset(
        dataset_id=dataset_id, algorithm_name=agent._entry.name, description=f"langevin {library.lib.lgv_version().decode()}"
    )


def read_dataset(agent: Any, dataset: Any) -> int:
    """Passes every step of a Minari dataset, or of the one with this id, to the agent as if it had taken it: the steps
    enter its replay, and it learns from them as from its own. Returns how many there were. For an agent that only fills
    its replay, make it with a warmup above this number."""
    if isinstance(dataset, str):
        dataset = import_minari().load_dataset(dataset)
    steps = 0
    for episode in dataset.iterate_episodes():
        observations = [rows_of(episode.observations, i) for i in range(len(episode.rewards) + 1)]
        agent.begin_episode()
        for i, reward in enumerate(episode.rewards.tolist()):
            last = i + 1 == len(episode.rewards)
            ended, cut = bool(episode.terminations[i]), bool(episode.truncations[i])
            cut = cut or (last and not ended)  # a file may end within an episode
            agent._begin_if_needed()
            action = rows_of(episode.actions, i)
            agent.observe(observations[i], action, reward, observations[i + 1], ended, cut)
        steps += len(episode.rewards)
    return steps


def rows_of(data: Any, i: int) -> Any:
    """Row i of observations or actions, which may be in dicts and tuples."""
    if isinstance(data, dict):
        return {name: rows_of(part, i) for name, part in data.items()}
    if isinstance(data, tuple):
        return tuple(rows_of(part, i) for part in data)
    row = data[i]
    return row.item() if isinstance(row, np.generic) and np.issubdtype(row.dtype, np.integer) else row
