"""experiments/battery_tables.py: from run directories to the results file, and what is still to run."""

import csv
import importlib
import io
import json
import os
import pathlib
import subprocess
import sys

import pytest

EXPERIMENTS = pathlib.Path(__file__).resolve().parents[2] / "experiments"
SWEEP = """\
run: {steps: 50, eval_every: 0}
seeds: {first: 9000, count: 2}
cases:
  - {env: {name: cartpole}, grid: {agent.name: [adam-lmcdqn, dqn]}}
  - {env: {name: nchain, n: 25}, agent: dqn, seeds: {count: 1}}
"""


@pytest.fixture
def load(monkeypatch):
    """Imports a script of experiments/. Other tests do not find the folder: what they test has to find it by itself."""
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    yield importlib.import_module
    for path in EXPERIMENTS.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture
def tables(load, tmp_path, monkeypatch):
    module = load("battery_tables")
    monkeypatch.setattr(module, "RESULTS", tmp_path / "battery.csv")
    return module


def call(module, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["battery_tables.py", *map(str, words)])
    module.main()


def make_run(folder, env, agent, seed, final, **files):
    place = folder / f"{agent}-x" / f"seed-{seed}"
    place.mkdir(parents=True)
    (place / "config.json").write_text(json.dumps({"env": env, "agent": {"name": agent}}))
    if final is not None:
        summary = {"steps": 100, "final_return": final, "finished": True, **files}
        (place / "summary.json").write_text(json.dumps(summary))
        (place / "timing.json").write_text(json.dumps({"processor_seconds": 1.25}))
    return place


def rows_of(module):
    with open(module.RESULTS, newline="") as file:
        return list(csv.DictReader(file))


def test_tasks_are_told_apart(tables):
    assert tables.task_of({"name": "deepsea", "n": 20, "features": "pixels", "stochastic": False}) == "DeepSea 20, pixels"
    assert tables.task_of({"name": "deepsea", "n": 30, "features": "one-hot", "stochastic": True}) == "stochastic DeepSea 30"
    assert tables.task_of({"name": "deepsea", "n": 30, "features": "one-hot", "stochastic": False}) is None
    assert tables.task_of({"name": "mountain-car", "reward": "goal"}) == "sparse MountainCar"
    assert tables.task_of({"name": "gym", "id": "MinAtar/Breakout-v1"}) == "MinAtar Breakout"


def test_every_task_has_a_reference(tables):
    known = tables.references()
    assert list(known) == list(tables.TASKS)
    assert {row["observation"] for row in known.values()} == set(tables.AUTO)


def test_rows_are_collected_and_kept(tables, tmp_path, monkeypatch):
    make_run(tmp_path / "a", {"name": "cartpole"}, "dqn", 9001, 500.0)
    make_run(tmp_path / "a", {"name": "nchain", "n": 25}, "c51", 9000, 10.0, solved_episode=700)
    make_run(tmp_path / "a", {"name": "riverswim"}, "psrl", 9000, 1.0)  # of no task
    call(tables, monkeypatch, "collect", tmp_path / "a")
    failed = make_run(tmp_path / "b", {"name": "cartpole"}, "dqn", 9000, None)
    (failed / "error.json").write_text(json.dumps({"error": "the loss is not finite, in step 5"}))
    make_run(tmp_path / "b", {"name": "cartpole"}, "qr-dqn", 9000, None)  # not finished
    call(tables, monkeypatch, "collect", tmp_path / "b")
    rows = rows_of(tables)
    assert [(row["task"], row["agent"], row["seed"]) for row in rows] == [
        ("CartPole", "dqn", "9000"),
        ("CartPole", "dqn", "9001"),
        ("N-Chain 25", "c51", "9000"),
    ]
    assert [float(row["score"]) for row in rows] == [0, 1, 1]
    assert rows[0]["error"].startswith("the loss is not finite") and rows[0]["return"] == ""
    assert rows[2]["solved_episode"] == "700" and rows[2]["cpu_seconds"] == "1.2"


def test_missing_runs_have_the_indexes_of_the_sweep(tables, tmp_path, monkeypatch, capsys):
    program = os.environ.get("LANGEVIN_COMMAND")
    if not program:
        pytest.skip("needs the command line")
    (tmp_path / "s.yaml").write_text(SWEEP)
    listed = subprocess.run([program, "sweep", tmp_path / "s.yaml", "--list"], check=True, capture_output=True, text=True)
    make_run(tmp_path / "a", {"name": "cartpole"}, "adam-lmcdqn", 9001, 200.0)
    call(tables, monkeypatch, "collect", tmp_path / "a")
    wanted = {(): "0,2,3,4", ("--agent", "dqn"): "2,3,4", ("--seeds", "1"): "0,2,4", ("--task", "Chain"): "4"}
    for words, expected in wanted.items():
        capsys.readouterr()
        monkeypatch.setattr(sys, "stdin", io.StringIO(listed.stdout))
        call(tables, monkeypatch, "missing", *words)
        assert capsys.readouterr().out.strip() == expected


def test_tables_are_written_into_the_page(tables, tmp_path, monkeypatch):
    program = os.environ.get("LANGEVIN_COMMAND")
    if not program:
        pytest.skip("needs the command line")
    monkeypatch.setattr(tables, "PEERS", tmp_path / "peers.csv")
    whole = [f"{task},sb3-dqn,{seed},100000,400,99" for task in tables.SHARED for seed in (9000, 9001)]
    rows = ["task,agent,seed,steps,return,cpu_seconds", *whole, "CartPole,sb3-qrdqn,9000,100000,500,99"]
    (tmp_path / "peers.csv").write_text("\n".join(rows) + "\n")
    for seed, final in ((9000, 500.0), (9001, 400.0)):
        make_run(tmp_path / "a", {"name": "cartpole"}, "adam-lmcdqn", seed, final)
    call(tables, monkeypatch, "collect", tmp_path / "a")
    for attribute, name in (("PAGE", "page.md"), ("FIGURE", "profile.png")):
        monkeypatch.setattr(tables, attribute, tmp_path / name)
    tables.PAGE.write_text(f"Before\n{tables.BEGIN}\nold\n{tables.END}\nAfter\n")
    call(tables, monkeypatch, "tables", "--langevin", program)
    printed = tables.PAGE.read_text()
    assert printed.startswith("Before\n") and printed.endswith("After\n") and "old" not in printed
    assert tables.FIGURE.exists()
    assert "| CartPole | 22 | 500 | 450 ± 50 (2) |" in printed
    assert "| CartPole | sb3-dqn | +50 [+0, +100] | - |" in printed
    assert "sb3-qrdqn" not in printed  # it has not run all tasks
    assert "| auto | 2 |" in printed and "| sb3-dqn | 8 |" in printed


def test_references_agree_with_known_values(load):
    pytest.importorskip("minigrid")
    references = load("battery_references")
    assert references.best_of_table("CliffWalking-v1", 1000) == -13
    assert 0.74 < references.best_of_table("FrozenLake-v1", 100) < 0.745
    assert -0.046 < references.best_of_blackjack() < -0.042
    assert references.best_of_grid("MiniGrid-Empty-8x8-v0", 2) == pytest.approx(1 - 0.9 * 11 / 256)
