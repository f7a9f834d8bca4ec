"""The Hugging Face hub: cards of agents in the form that it expects, and push_to_hub()."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Optional

from langevin._library import UsageError

LIBRARY = "langevin"


def card_head(agent: str, task: str, env: str, mean: float, error: Optional[float]) -> str:
    """The metadata of a card, from which the hub makes its tags and its leaderboards."""
    value = f"{mean:.2f}" if error is None else f"{mean:.2f} +/- {error:.2f}"
    return f"""---
library_name: {LIBRARY}
license: apache-2.0
tags: [reinforcement-learning, {LIBRARY}, {agent}]
model-index:
- name: {agent}
  results:
  - task: {{type: reinforcement-learning, name: reinforcement-learning}}
    dataset: {{name: "{task}", type: "{env}"}}
    metrics:
    - {{type: mean_reward, name: mean_reward, value: "{value}", verified: false}}
---
"""


def write_folder(agent: Any, folder: str, episodes: int) -> None:
    """An agent's model, without its experience, and its card."""
    import langevin

    returns = langevin.evaluate(agent, episodes)
    name, env = agent._entry.name, (agent._adapter.config() or {}).get("name", "an environment of Python")
    env = (agent._adapter.config() or {}).get("id", env)
    agent.save(os.path.join(folder, "model.safetensors"), experience=False)
    error = float(returns.std(ddof=1) / len(returns) ** 0.5) if len(returns) > 1 else None
    with open(os.path.join(folder, "README.md"), "w", encoding="utf-8") as card:
        card.write(card_head(name, env, env, float(returns.mean()), error))
        card.write(f"# {name} on {env}\n\nThe mean return of {episodes} greedy episodes after {agent.num_timesteps} steps: "
                   f"{returns.mean():.4g}.\n\n    import langevin\n\n    agent = langevin.load(\"model.safetensors\")\n"
                   "    action, _ = agent.predict(observation)\n")  # fmt: skip


def push_to_hub(agent: Any, repo_id: str, *, episodes: int = 100, token: Optional[str] = None, private: bool = False,
                endpoint: Optional[str] = None) -> str:  # fmt: skip
    """Uploads an agent with its card to the Hugging Face hub; returns the address.

    agent: an agent, which is evaluated for its card, or a folder with a card, such as one of zoo/. repo_id: "user/name".
    episodes: of the evaluation. token: of the hub; left out, the one that `hf auth login` has stored.
    """
    try:
        from huggingface_hub import HfApi
    except ModuleNotFoundError:
        raise ImportError("push_to_hub needs the package huggingface_hub: pip install huggingface_hub") from None
    if repo_id.count("/") != 1:
        raise UsageError(f"repo_id = {repo_id!r}: write user/name")
    is_folder = isinstance(agent, (str, os.PathLike))
    if is_folder and not os.path.exists(os.path.join(agent, "README.md")):
        raise UsageError(f"{os.fspath(agent)} has no card (README.md): give an agent, or a folder such as zoo/cartpole")
    api = HfApi(endpoint=endpoint, token=token)
    api.create_repo(repo_id, private=private, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        if not is_folder:
            write_folder(agent, made, episodes)
        folder = os.fspath(agent) if is_folder else made
        api.upload_folder(repo_id=repo_id, folder_path=folder, commit_message="Agent and card by langevin")
    return f"{api.endpoint}/{repo_id}"
