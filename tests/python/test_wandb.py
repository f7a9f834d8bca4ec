"""The callback of docs/python.md sends every row to Weights & Biases, tested in its offline mode."""

import re

import numpy as np
import pytest
from conftest import ROOT

import langevin

wandb = pytest.importorskip("wandb", reason="wandb is not installed")


def test_callback(tmp_path, monkeypatch):
    for name in ("WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    source = re.search(r"```python\n(class WandbCallback.*?)```", (ROOT / "docs" / "python.md").read_text(), re.S).group(1)
    names = {"np": np}
    exec(source, names)
    run = wandb.init(project="langevin", mode="offline", dir=tmp_path, settings=wandb.Settings(silent=True))
    sent = []
    real = run.log
    monkeypatch.setattr(run, "log", lambda values, step: (sent.append((step, values)), real(values, step=step)))
    agent = langevin.DQN("CartPole-v1", seed=0)
    agent.learn(700, log=tmp_path / "log", log_every=200, callback=names["WandbCallback"](run), callback_every=100)
    run.finish()
    assert [step for step, _ in sent] == [200, 400, 600, 700]
    for name in ("loss", "episode", "return"):
        assert [values[name] for _, values in sent] == agent.metrics[name].tolist()
    assert list(tmp_path.rglob("*.wandb")), "wandb has written its file"
