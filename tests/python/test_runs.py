"""Runs, sweeps, records."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import langevin
from langevin import _registry
from langevin.task import parse_value


def test_run_and_records(tmp_path):
    out = tmp_path / "run"
    summaries = langevin.run("riverswim", "lmc-lsvi", {"env.n": 6, "agent": {"beta": 10}}, episodes=30, seeds=2, seed=3, out=out)
    assert [s["seed"] for s in summaries] == [3, 4] and all(s["finished"] for s in summaries)
    runs = langevin.read_runs(out)
    assert [r["summary"]["regret"] for r in runs] == [s["regret"] for s in summaries]
    assert runs[0]["config"]["env"]["n"] == 6 and runs[0]["config"]["agent"]["beta"] == 10
    metrics = runs[0]["metrics"]
    assert metrics["episode"][-1] == 30 and metrics["regret"][-1] == summaries[0]["regret"]
    again = langevin.run(config=out / "seed-3" / "config.json", seed=3)
    assert again[0]["regret"] == summaries[0]["regret"]
    assert langevin.evaluate(out / "seed-3", 4).shape == (4,)
    pandas = pytest.importorskip("pandas")
    frame = langevin.read_runs(out, as_frame=True)
    assert isinstance(frame, pandas.DataFrame) and set(frame["seed"]) == {3, 4} and len(frame) == 60
    assert frame["agent"].unique().tolist() == ["lmc-lsvi"]


ARGUMENTS = ["4x4", "8", "true", "None", "a,b", "", "é\n", 8, 1.5, 3.0, None, False, [], [1], ["a", "b"], [[1, 2], [3]], {"x": {"y": 1}}]


def test_arguments_of_environments():
    """They arrive as what they are, however settings write them."""
    for value in ARGUMENTS:
        text = _registry.to_argument("env.kwargs.x", value)
        arrived = parse_value(text)
        assert arrived == value and type(arrived) is type(value) and "\n" not in text
    assert _registry.to_argument("env.kwargs.x", "4x4") == "4x4"  # as on the command line
    assert parse_value(_registry.to_argument("env.kwargs.x", np.arange(3))) == [0, 1, 2]
    with pytest.raises(langevin.UsageError, match="env.kwargs.x"):
        langevin.run("gym:CartPole-v1", "dqn", {"env.kwargs": {"x": object()}}, steps=1)


def test_numbers_of_numpy():
    for key, value, text in (("a", np.float64(0.5), "0.5"), ("a", np.array(0.5), "0.5"), ("a", np.array([8, 9]), "8,9"),
                             ("a", np.bool_(True), "true"), ("a", np.uint8(3), "3"), ("a", (4, np.int64(5)), "4,5")):  # fmt: skip
        assert _registry.to_text(key, value) == text


def test_resume(tmp_path):
    """In the middle, and of a run that has finished: both end as the whole run does."""
    (whole,) = langevin.run("cartpole", "dqn", {"run.eval_every": 0}, steps=2000, out=tmp_path / "a")
    for steps in (1000, 2000, 2000):
        (half,) = langevin.run(
            "cartpole", "dqn", {"run.eval_every": 0}, steps=steps, out=tmp_path / "b", resume=steps == 2000
        )
    assert half == pytest.approx(whole, abs=0, rel=0, nan_ok=True)
    summaries = [langevin.read_run(tmp_path / name)["summary"] for name in "ab"]
    assert summaries[0]["mean_return"] == summaries[1]["mean_return"] == whole["mean_return"]


@pytest.mark.parametrize("agent", ["prioritized-dqn", "psrl"])
def test_checkpoint_is_safetensors(tmp_path, agent):
    safetensors = pytest.importorskip("safetensors")
    langevin.run("riverswim", agent, {"run.checkpoint_final": True}, steps=300, out=tmp_path / "a")
    with safetensors.safe_open(next(tmp_path.rglob("checkpoint.safetensors")), framework="numpy") as file:
        metadata, arrays = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}
    assert metadata["format"] == "langevin-checkpoint-2"
    assert set(metadata) == set(arrays) | {"format", "header", "settings"}
    assert arrays["run.state"].dtype == np.uint64 and arrays["run.state"][0] == 300  # steps
    if agent == "psrl":
        assert arrays["agent.lsvi.visits"].sum() == 300 - arrays["env.env.clock"][0]  # of finished episodes
    else:
        assert (arrays["agent.replay.action"] >= 0).sum() == 300


def test_torn_metrics(tmp_path):
    langevin.run("riverswim", "psrl", episodes=5, out=tmp_path / "a")
    file = next(tmp_path.rglob("metrics.csv"))
    rows = len(langevin.read_runs(tmp_path)[0]["metrics"]["step"])
    file.write_text(file.read_text()[:-3])
    assert len(langevin.read_runs(tmp_path)[0]["metrics"]["step"]) == rows - 1
    next(tmp_path.rglob("summary.json")).write_text("{")
    with pytest.raises(langevin.FileError, match="damaged"):
        langevin.read_runs(tmp_path)
    with pytest.raises(langevin.FileError, match="no directory"):
        langevin.read_runs(tmp_path / "none")
    with pytest.raises(langevin.FileError, match="config.json"):
        langevin.read_run(tmp_path)


SWEEP = {
    "env": {"name": "riverswim"},
    "agent": {"name": "psrl"},
    "run": {"episodes": 20},
    "seeds": {"first": 0, "count": 2},
    "grid": {"env.n": [4, 6]},
}


def test_sweep(tmp_path):
    found = langevin.sweep({**SWEEP, "grid": {k: np.array(v) for k, v in SWEEP["grid"].items()}}, tmp_path / "sweep")
    assert [(r["config"], r["seed"], r["env.n"]) for r in found] == [(0, 0, "4"), (0, 1, "4"), (1, 0, "6"), (1, 1, "6")]
    for r in found:
        assert langevin.read_run(r["path"])["summary"]["regret"] == r["regret"]
    file = tmp_path / "sweep.yaml"
    file.write_text(json.dumps(SWEEP))
    again = langevin.sweep(file, tmp_path / "sweep")  # found, not run again
    assert [r["regret"] for r in again] == [r["regret"] for r in found]


def test_a_case_of_fewer_seeds(tmp_path):
    few = {**SWEEP, "grid": {}, "cases": [{"env.n": 4}, {"env.n": 6, "seeds": {"count": 1}}]}
    found = langevin.sweep(few, tmp_path / "sweep")
    assert [(r["config"], r["seed"]) for r in found] == [(0, 0), (0, 1), (1, 0)]
    assert all(r["finished"] for r in found)


def test_gymnasium_in_a_worker():
    """The worker runs with this Python, from this package."""
    (summary,) = langevin.run("gym:CartPole-v1", "dqn", steps=200)
    assert summary["finished"] and np.isfinite(summary["mean_return"])
    with pytest.raises(langevin.Error, match="did you mean 'CartPole"):
        langevin.run("gym:CartPol-v1", "dqn", steps=200)


def test_notices_are_warnings():
    pytest.importorskip("minigrid")
    with pytest.warns(UserWarning, match="mission.* is left out"):
        langevin.run("gym:MiniGrid-Empty-5x5-v0", "dqn", steps=50)


def test_closed_descriptors(tmp_path):
    """What other libraries print must not end up in the records of a process whose standard output was closed."""
    code = """if True:
        import os, sys, threading
        for fd in (0, 1, 2): os.close(fd)
        import langevin
        def talk():
            for fd in (1, 2) * 10000:
                try: os.write(fd, b"spoilt")
                except OSError: pass
        talker = threading.Thread(target=talk)
        talker.start()
        langevin.run("riverswim", "lmc-lsvi", {"env.n": 6}, episodes=3000, seed=3, out=sys.argv[1])
        talker.join()
    """
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "closed")], check=True)
    langevin.run("riverswim", "lmc-lsvi", {"env.n": 6}, episodes=3000, seed=3, out=tmp_path / "open")
    for name in ("metrics.csv", "summary.json"):
        assert (tmp_path / "closed" / name).read_bytes() == (tmp_path / "open" / name).read_bytes()


def test_what_cannot_be_looked_into_is_not_left_out(tmp_path, monkeypatch):
    langevin.run("riverswim", "lmc-lsvi", {"env.n": 6}, episodes=5, seeds=2, out=tmp_path)
    look = os.scandir

    def refuse(path):
        if os.fspath(path).endswith("seed-1"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return look(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(langevin.FileError, match="cannot look into .*seed-1: Permission denied"):
        langevin.read_runs(tmp_path)
