"""experiments/: the scripts that store evaluations of long runs and print them, on runs of a few lines. Each is called as
a program, so that it has to find the others by itself."""

import csv
import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT

VERSION = {"version": "0.1.0", "kernels": "avx512"}
CONTINUOUS = "step,episode,return,eval_return,loss,policy_loss,q_mean,grad_norm,weight_norm,updates,entropy,alpha"
ATARI = "step,episode,return,eval_return,loss,q_mean,q_max,q_spread,grad_norm,weight_norm,dead_units,updates,games,last_score,score_sum"

# Fake packages, without learning: a block of training takes one CPU second, an evaluation ten.
FAKES = {
    "torch": "def set_num_threads(count): pass",
    "gymnasium": "def make(name): return None",
    "stable_baselines3/__init__": """
import time
now = 0
time.process_time = lambda: now
def spend(seconds):
    global now
    now += seconds
class SAC:
    def __init__(self, policy, env, seed, device): self.seed = seed
    def learn(self, steps, reset_num_timesteps): spend(1)
""",
    "stable_baselines3/common/__init__": "",
    "stable_baselines3/common/monitor": """
class Monitor:
    def __init__(self, env): pass
    def reset(self, seed): pass
""",
    "stable_baselines3/common/evaluation": """
from stable_baselines3 import spend
def evaluate_policy(model, env, n_eval_episodes, deterministic):
    spend(10)
    return model.seed, 0.0
""",
}


def call(script, *words, code=0, **env):
    command = [sys.executable, ROOT / "experiments" / f"{script}.py", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env})
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def make_run(place, env, agent, seed, head, lines, finished=True):
    """A run directory. lines: the cells of metrics.csv by column; the others are 0."""
    place.mkdir(parents=True)
    config = {"langevin": VERSION, "env": env, "agent": {"precision": "float", **agent}, "run": {"seed": seed}}
    (place / "config.json").write_text(json.dumps(config))
    columns = head.split(",")
    cells = [",".join(str(line.get(column, 0)) for column in columns) for line in lines]
    (place / "metrics.csv").write_text("\n".join([head, *cells, ""]))
    summary = {"env": env["name"], "agent": agent["name"], "seed": seed, "steps": lines[-1]["step"], "finished": finished}
    (place / "summary.json").write_text(json.dumps(summary))
    if finished:
        timing = {"seconds": 9000.0, "processor_seconds": 7200.0, "steps_per_second": 33.3}
        (place / "timing.json").write_text(json.dumps(timing))


def continuous_run(folder, task, agent, seed, value, steps=100_000, **options):
    """A run whose evaluations have this value."""
    agent = {"name": agent} if isinstance(agent, str) else agent
    lines = [{"step": step, "eval_return": value} for step in range(0, steps + 1, 10_000)]
    lines.insert(1, {"step": 5000, "eval_return": "", "return": -3.5})  # the end of an episode
    place = folder / f"{task}-{len(list(folder.glob('*')))}" / f"seed-{seed}"
    make_run(place, {"name": f"gym:{task}"}, agent, seed, CONTINUOUS, lines, **options)


def atari_run(folder, game, preset, seed, scores):
    """A run with an evaluation every 100,000 steps, and two training games in between that score 5 each."""
    lines = [{"step": 100_000 * i, "eval_return": score, "games": 2 * i, "score_sum": 10 * i} for i, score in enumerate(scores)]
    env, agent = {"name": "atari", "game": game}, {"name": "adam-lmcdqn", "preset": preset}
    make_run(folder / f"{game}-{preset}" / f"seed-{seed}", env, agent, seed, ATARI, lines)


@pytest.fixture
def continuous(tmp_path):
    """Runs of three tasks and the file that has them."""
    runs, file = tmp_path / "runs", tmp_path / "continuous.csv"
    for seed, value in ((9600, 100), (9601, 300)):
        continuous_run(runs, "Hopper-v5", "sac", seed, value, steps=200_000)
        continuous_run(runs, "Hopper-v5", "td3", seed, value - 100)
        continuous_run(runs, "Ant-v5", "sac", seed, 100)  # no run of td3
    continuous_run(runs, "HalfCheetah-v5", "sac", 9600, 80)
    continuous_run(runs, "HalfCheetah-v5", "td3", 9600, 50)
    call("continuous_tables", "collect", runs, file)
    return runs, file


def test_collect(continuous):
    runs, file = continuous
    rows = rows_of(file)
    assert len(rows) == 2 * 21 + 6 * 11
    assert list(rows[0].values()) == ["Ant-v5", "sac", "9600", "0", "100", ""]
    assert [row["cpu_seconds"] for row in rows[:11]] == [""] * 10 + ["7200.0"]  # of the whole run, in its last line
    before = file.read_text()
    call("continuous_tables", "collect", runs, file)
    assert file.read_text() == before


def test_collect_keeps_the_rows_of_a_file(continuous, tmp_path):
    _, file = continuous
    continuous_run(tmp_path / "more", "Hopper-v5", "sac", 9600, 999)  # the file has this run
    continuous_run(tmp_path / "more", "Hopper-v5", {"name": "lsac", "variant": "paper", "noise": 0}, 9600, 7)
    continuous_run(tmp_path / "more", "Hopper-v5", {"name": "lsac", "variant": "paper", "noise": 0}, 9600, 8)  # the same run again
    before = rows_of(file)
    call("continuous_tables", "collect", tmp_path / "more", file)
    added = [row for row in rows_of(file) if row not in before]
    assert len(rows_of(file)) == len(before) + 11
    assert {(row["agent"], row["evaluation"]) for row in added} == {("lsac paper, no noise", "7")}


def test_collect_leaves_out_runs_that_have_not_finished(continuous, tmp_path):
    _, file = continuous
    before = file.read_text()
    continuous_run(tmp_path / "stopped", "Hopper-v5", "dsac", 9600, 5, finished=False)
    call("continuous_tables", "collect", tmp_path / "stopped", file)
    assert file.read_text() == before


def test_continuous_table(continuous):
    lines = call("continuous_tables", "table", continuous[1]).splitlines()
    assert lines[2:] == [
        "| Ant-v5 | sac | 2 | 100 ± 0 [100, 100] |  |  | 2.00 |",
        "| HalfCheetah-v5 | sac | 1 | 80 |  |  | 2.00 |",
        "| HalfCheetah-v5 | td3 | 1 | 50 |  |  | 2.00 |",
        "| Hopper-v5 | sac | 2 | 200 ± 100 [100, 300] | 200 ± 100 [100, 300] |  | 2.00 |",
        "| Hopper-v5 | td3 | 2 | 100 ± 100 [0, 200] |  |  | 2.00 |",
    ]


def test_difference(continuous, tmp_path):
    """Of tasks that both agents have; with an interval where both have two seeds."""
    _, file = continuous
    continuous_run(tmp_path / "short", "Walker2d-v5", "sac", 9600, 10)
    continuous_run(tmp_path / "short", "Walker2d-v5", "td3", 9600, 10, steps=50_000)  # before the first end
    call("continuous_tables", "collect", tmp_path / "short", file)
    lines = call("continuous_tables", "difference", "sac", "td3", file).splitlines()
    assert lines[2:] == [
        "| HalfCheetah-v5 | 100k | +30 |",
        "| Hopper-v5 | 100k | +100 [-100, +300] |",
    ]
    assert "no task has runs of both sac and tdd" in call("continuous_tables", "difference", "sac", "tdd", file, code=1)


def test_atari(tmp_path):
    """Rows come by game, preset and seed; `games` has the evaluations from 250,000 to 750,000 steps."""
    file = tmp_path / "games.csv"
    for seed in (10, 9):
        atari_run(tmp_path / "runs", "qbert", "pictures", seed, [0, 1, 2, 100, 200, 300, 400, 500 + seed])
    atari_run(tmp_path / "runs", "qbert", "authors", 0, [0, 1, 2, 10, 20, 30, 40, 50])
    atari_run(tmp_path / "runs", "pong", "pictures", 0, [-21, 1, 2, 3])  # neither published nor measured
    call("atari_tables", "collect", tmp_path / "runs", file)
    rows = rows_of(file)
    assert list(rows[1].values()) == "pong,adam-lmcdqn,pictures,0,100000,1,5,0,0,7200,0.1.0,avx512,float".split(",")
    keys = ["pong, adam-lmcdqn, pictures, 0", "qbert, adam-lmcdqn, authors, 0",
            "qbert, adam-lmcdqn, pictures, 9", "qbert, adam-lmcdqn, pictures, 10"]  # fmt: skip
    table = [line.split(" | ") for line in call("atari_tables", "table", file).splitlines()]
    assert [line[0] for line in table[2:]] == [f"| {key}" for key in keys]
    assert table[0][1:] == [*(f"{i}00k" if i else "0k" for i in range(8)), "spread of Q", "dead units |"]
    games = [line.strip("| ").split(" | ") for line in call("atari_tables", "games", file).splitlines()]
    assert [line[0] for line in games[2:]] == keys
    assert games[2][1:3] == ["3", "3, 3"] and games[2][4] == "not measured"
    assert [line[1:3] for line in games[3:]] == [["30", "10, 50"], ["301.8", "100, 509"], ["302", "100, 510"]]
    assert len({tuple(line[3:]) for line in games[3:]}) == 1 and "[" in games[3][3]


@pytest.fixture
def packages(tmp_path):
    for name, text in FAKES.items():
        path = tmp_path / "packages" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {"PYTHONPATH": str(tmp_path / "packages")}


def test_peers(tmp_path, packages):
    """Seconds include the evaluations, as those of our runs do. Runs that are in the file are not repeated."""
    file = tmp_path / "peers.csv"
    words = ["--out", file, "--task", "Hopper-v5", "--steps", 4, "--every", 2]
    call("continuous_peers", *words, **packages)
    assert file.read_text().splitlines() == [
        "task,agent,seed,step,evaluation,cpu_seconds",
        "Hopper-v5,sb3-sac,9600,2,9600,11.0",
        "Hopper-v5,sb3-sac,9600,4,9600,22.0",
    ]
    printed = call("continuous_peers", *words, "--seeds", 2, **packages).splitlines()
    assert printed == ["Hopper-v5,sb3-sac,9601,2,9601,11.0", "Hopper-v5,sb3-sac,9601,4,9601,22.0"]
    assert file.read_text().splitlines()[3:] == printed


@pytest.mark.parametrize("words", ["continuous_peers --steps 100", "continuous_peers --every 50", "battery_peers --episodes 3"])
def test_trial_runs_of_peers_do_not_go_to_the_results(words):
    assert "give --out" in call(*words.split(), code=2)
