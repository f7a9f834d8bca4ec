#!/usr/bin/env python3
"""The results of the battery: from run directories to a file, and from the file to tables.

    experiments/battery_tables.py collect DIR...
        adds the finished and failed runs below DIR to docs/results/data/battery.csv, and computes
        the scores of all its rows anew
    langevin sweep experiments/battery.yaml --list | experiments/battery_tables.py missing
        prints the indexes of the runs that battery.csv does not have, for `langevin sweep --index`;
        --agent, --task and --seeds restrict them
    experiments/battery_tables.py tables [--langevin build/langevin]
        writes the tables into docs/results/battery.md and draws its performance profile

score = (return - random) / (reference - random), with both values from battery-references.csv
(battery_references.py). A run that failed scores 0, as the random policy does. Peers have a file of
their own, battery-peers.csv (battery_peers.py). Statistics are those of `langevin compare`
(docs/statistics.md).
"""
import argparse
import contextlib
import io
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from evaluations import interval, read, write

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/results/battery.md"
FIGURE, DATA = PAGE.parent / "figures/battery-profile.png", PAGE.parent / "data"
BEGIN, END = "<!-- tables: written by experiments/battery_tables.py tables -->", "<!-- end of tables -->"
RESULTS, PEERS, REFERENCES = DATA / "battery.csv", DATA / "battery-peers.csv", DATA / "battery-references.csv"
COLUMNS = ["task", "agent", "seed", "steps", "return", "score", "cpu_seconds", "solved_episode", "error"]
MAIN = ["adam-lmcdqn", "pathwise-lmcdqn"]
AUTO = {"index": MAIN[1], "vector": MAIN[0], "picture": MAIN[0]}  # the rule of src/config/auto_agent.c
SHARED = ["CartPole", "MountainCar", "Acrobot", "LunarLander"]  # with the peers

# The settings that distinguish each task, in the order of the tables.
TASKS = {
    "CartPole": {"name": "cartpole"},
    "MountainCar": {"name": "mountain-car", "reward": "step"},
    "sparse MountainCar": {"name": "mountain-car", "reward": "goal"},
    "Acrobot": {"name": "acrobot"},
    "LunarLander": {"id": "LunarLander-v3"},
    "CliffWalking": {"id": "CliffWalking-v1"},
    "Taxi": {"id": "Taxi-v4"},
    "FrozenLake 4x4": {"id": "FrozenLake-v1"},
    "FrozenLake 8x8": {"id": "FrozenLake8x8-v1"},
    "Blackjack": {"id": "Blackjack-v1"},
    "MiniGrid Empty-8x8": {"id": "MiniGrid-Empty-8x8-v0"},
    "MiniGrid DoorKey-5x5": {"id": "MiniGrid-DoorKey-5x5-v0"},
    "MiniGrid FourRooms": {"id": "MiniGrid-FourRooms-v0"},
    "MinAtar Breakout": {"id": "MinAtar/Breakout-v1"},
    "MinAtar Freeway": {"id": "MinAtar/Freeway-v1"},
    "MinAtar Asterix": {"id": "MinAtar/Asterix-v1"},
    "N-Chain 25": {"name": "nchain", "n": "25"},
    "N-Chain 100": {"name": "nchain", "n": "100"},
    "scrambled chain 30": {"name": "nchain", "n": "30", "scramble": "true"},
    "DeepSea 20": {"name": "deepsea", "n": "20", "features": "one-hot"},
    "DeepSea 50": {"name": "deepsea", "n": "50", "features": "one-hot"},
    "stochastic DeepSea 30": {"name": "deepsea", "n": "30", "stochastic": "true"},
    "DeepSea 20, pixels": {"name": "deepsea", "n": "20", "features": "pixels"},
    "DeepSea 20, coordinates": {"name": "deepsea", "n": "20", "features": "coordinates"},
}
DEFAULTS = {"reward": "step", "features": "one-hot"}  # where a configuration leaves them open


def task_of(env):
    """The task of an env section, or None."""
    texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in env.items()}
    for task, settings in TASKS.items():
        if all(texts.get(key, DEFAULTS.get(key)) == value for key, value in settings.items()):
            return task
    return None


# ---- Files


def references():
    return {row["task"]: row for row in read(REFERENCES)}


def score_of(row, known):
    """The normalized score; None where the task has no reference."""
    limits = known.get(row["task"])
    if not limits or not limits["random"] or not limits["reference"]:
        return None
    if row["return"] == "":
        return 0.0
    zero, one = float(limits["random"]), float(limits["reference"])
    return (float(row["return"]) - zero) / (one - zero)


def peers():
    """The peers' runs as rows of the battery."""
    return [{**row, "solved_episode": "", "error": ""} for row in read(PEERS)]


# ---- collect


def load_run(folder):
    """The row of a run directory; None if the run is of no task or has neither finished nor failed."""
    config = json.loads((folder / "config.json").read_text())
    row = dict.fromkeys(COLUMNS, "")
    row.update(task=task_of(config["env"]), agent=config["agent"]["name"], seed=folder.name.partition("-")[2])
    if row["task"] is None:
        return None
    summary, failure = folder / "summary.json", folder / "error.json"
    found = json.loads(summary.read_text()) if summary.exists() else {}
    if found.get("finished"):
        seconds = json.loads((folder / "timing.json").read_text())["processor_seconds"]
        row.update({"steps": found["steps"], "return": f"{found['final_return']:.6g}", "cpu_seconds": f"{seconds:.1f}"})
        row["solved_episode"] = f"{found['solved_episode']:.0f}" if found.get("solved_episode") else ""
        return row
    if failure.exists():
        row["error"] = json.loads(failure.read_text())["error"]
        return row
    return None


def key_of(row):
    return list(TASKS).index(row["task"]), row["agent"], int(row["seed"])


def collect(options):
    rows = {key_of(row): row for row in read(RESULTS)}
    for root in options.directories:
        for path in pathlib.Path(root).glob("**/seed-*/config.json"):
            row = load_run(path.parent)
            if row:
                rows[key_of(row)] = row
    known = references()
    for row in rows.values():
        score = score_of(row, known)
        row["score"] = "" if score is None else f"{score:.4f}"
    write(RESULTS, COLUMNS, [rows[key] for key in sorted(rows)])
    print(f"{len(rows)} runs in {RESULTS}")


# ---- missing


def env_of(cells):
    """The env section of a line of `langevin sweep --list`."""
    env = {key[4:]: value for key, value in cells.items() if key.startswith("env.") and value != "-"}
    name, colon, rest = env["name"].partition(":")
    return {**env, "name": name, "id": rest} if colon else env


def print_missing(options):
    done = {key_of(row) for row in read(RESULTS) if not row["error"]}
    lines = sys.stdin.read().splitlines()
    first_seed = int(re.search(r"seeds (\d+) to", lines[-1]).group(1))
    head, wanted = lines[0].split(), []
    for line in lines[1:-1]:
        cells = dict(zip(head, line.split()))
        row = {"task": task_of(env_of(cells)), "agent": cells["agent.name"]}
        if options.task not in row["task"] or options.agent not in (None, row["agent"]):
            continue
        first, _, last = cells["runs"].partition("-")
        count = min(int(last or first) - int(first) + 1, options.seeds)
        wanted += [str(int(first) + i) for i in range(count) if key_of({**row, "seed": first_seed + i}) not in done]
    print(",".join(wanted))


# ---- tables


def group(rows):
    found = {}
    for row in rows:
        found.setdefault((row["agent"], row["task"]), []).append(row)
    return found


def returns(rows):
    """Those of the runs that have not failed."""
    return [float(row["return"]) for row in rows if row["return"] != ""]


def mean_cell(rows, digits):
    values = returns(rows)
    failed = f", {len(rows) - len(values)} failed" if len(values) < len(rows) else ""
    if not values:
        return failed[2:] or "-"
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.{digits}f} ± {error:.{digits}f} ({len(rows)}{failed})"


def print_table(head, lines):
    print("| " + " | ".join(head) + " |")
    print("|---" * len(head) + "|")
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print()


def digits_of(limits):
    """Digits that tell a hundredth of the range."""
    span = abs(float(limits["reference"]) - float(limits["random"]))
    return 0 if span > 300 else 1 if span > 20 else 2 if span > 0.5 else 3


def print_returns(groups, agents, known):
    lines = []
    for task in TASKS:
        digits = digits_of(known[task])
        limits = [f"{float(known[task][key]):.{digits}f}" for key in ("random", "reference")]
        lines.append([task, *limits, *(mean_cell(groups.get((agent, task), []), digits) for agent in agents)])
    print_table(["task", "random", "reference", *agents], lines)


def print_seconds(groups, agents):
    lines = []
    for task in TASKS:
        cells = []
        for agent in agents:
            times = [float(row["cpu_seconds"]) for row in groups.get((agent, task), []) if row["cpu_seconds"]]
            cells.append(f"{statistics.median(times):.0f}" if times else "-")
        lines.append([task, *cells])
    print_table(["task", *agents], lines)


def write_runs(rows, folder):
    """Run directories whose final return is the score, for `langevin compare` and `langevin plot`."""
    for row in rows:
        place = folder / f"{row['agent']}-{list(TASKS).index(row['task'])}" / f"seed-{row['seed']}"
        place.mkdir(parents=True)
        env, agent, seed = {"name": row["task"]}, row["agent"], int(row["seed"])
        (place / "config.json").write_text(json.dumps({"env": env, "agent": {"name": agent}, "run": {"seed": seed}}))
        summary = {"env": row["task"], "agent": agent, "seed": seed, "steps": int(row["steps"] or 0), "episodes": 0,
                   "mean_return": None, "final_return": float(row["score"]), "finished": True}  # fmt: skip
        (place / "summary.json").write_text(json.dumps(summary))


def call(program, command, rows, *options):
    """`langevin COMMAND` on the scores, agents with the best mean first; returns what it prints."""
    agents = {row["agent"] for row in rows}
    by_score = sorted(agents, key=lambda a: -statistics.fmean(float(r["score"]) for r in rows if r["agent"] == a))
    with tempfile.TemporaryDirectory() as folder:
        write_runs(rows, pathlib.Path(folder))
        labeled = [f"{agent}={path}" for agent in by_score for path in sorted(pathlib.Path(folder).glob(f"{agent}-[0-9]*"))]
        words = [program, command, *labeled, *options]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def draw_profile(rows, program):
    """Scores outside [-0.2, 1.2] are drawn at the ends."""
    shown = [{**row, "score": min(max(float(row["score"]), -0.2), 1.2)} for row in rows]
    title = ["--title", "Normalized scores", "--width", "183"]
    call(program, "plot", shown, "--profile", *title, "--out", str(FIGURE))


def print_differences(groups, known):
    """Mean return of our two agents beyond that of each peer, with its interval."""
    lines = []
    for task in SHARED:
        digits = digits_of(known[task])
        for peer in sorted({agent for agent, _ in groups if agent.startswith("sb3-")}):
            cells = []
            for agent in MAIN:
                one, other = (returns(groups.get((name, task), [])) for name in (agent, peer))
                if min(len(one), len(other)) < 2:  # one run has no spread
                    cells.append("-")
                    continue
                low, high = interval(one, other)
                mean = statistics.fmean(one) - statistics.fmean(other)
                cells.append(f"{mean:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]")
            lines.append([task, peer, *cells])
    print_table(["task", "peer", *(f"{agent} - peer" for agent in MAIN)], lines)


def with_auto(rows, known):
    """The rows, and those of the agent that auto picks once more under its name."""
    picked = [{**row, "agent": "auto"} for row in rows if row["agent"] == AUTO[known[row["task"]]["observation"]]]
    return rows + picked


def tables(options):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print_tables(options.langevin)
    page = PAGE.read_text()
    before, after = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    PAGE.write_text(f"{before}\n\n{text.getvalue().rstrip()}\n\n{after}")


def whole_peers(rows):
    """The rows of peers that have run every shared task: a mean over some tasks compares with nothing."""
    tasks = {}
    for row in rows:
        tasks.setdefault(row["agent"], set()).add(row["task"])
    return [row for row in rows if tasks[row["agent"]] >= set(SHARED)]


def print_tables(program):
    known = references()
    rows = read(RESULTS)
    outside = whole_peers([{**row, "score": score_of(row, known)} for row in peers()])
    scored = with_auto([row for row in rows if row["score"] != ""], known)
    others = sorted({row["agent"] for row in rows} - set(MAIN))
    groups = group(rows + outside)
    print("### Mean return ± standard error (runs)\n")
    print_returns(groups, [*MAIN, *others], known)
    print("### Scores over all tasks\n")
    print(call(program, "compare", scored, "--markdown"))
    draw_profile(scored, program)
    print("![Performance profile](figures/battery-profile.png)\n")
    print("### Scores on the held-out tasks\n")
    held_out = [row for row in scored if known[row["task"]]["half"] == "held out"]
    print(call(program, "compare", held_out, "--markdown") if held_out else "No runs yet.\n")
    print("### Scores on the tasks that the peers share\n")
    print(call(program, "compare", [row for row in scored + outside if row["task"] in SHARED], "--markdown"))
    print("Difference of mean returns, with 95 % bootstrap intervals:\n")
    print_differences(groups, known)
    print("### Median CPU seconds of a run\n")
    print_seconds(groups, sorted({agent for agent, _ in groups}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("collect")
    command.add_argument("directories", nargs="+", metavar="DIR")
    command.set_defaults(run=collect)
    command = commands.add_parser("missing")
    command.add_argument("--task", default="", metavar="TEXT", help="only tasks whose name contains TEXT")
    command.add_argument("--agent", metavar="NAME", help="only this agent")
    command.add_argument("--seeds", type=int, default=1000000, metavar="N", help="only the first N seeds")
    command.set_defaults(run=print_missing)
    command = commands.add_parser("tables")
    command.add_argument("--langevin", default="build/langevin")
    command.set_defaults(run=tables)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
