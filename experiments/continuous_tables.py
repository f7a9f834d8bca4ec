#!/usr/bin/env python3
"""Keep the evaluations of runs on MuJoCo's tasks, and print them as Markdown.

    experiments/continuous_tables.py collect DIR [FILE]      add the finished runs below DIR to FILE
    experiments/continuous_tables.py table [FILE]            one line per task and agent
    experiments/continuous_tables.py difference A B [FILE]   the score of agent A less that of B, per task

FILE (docs/results/data/continuous.csv, to which continuous_peers.py adds, too; of
experiments/lsac.yaml, docs/results/data/lsac.csv) has a line per evaluation: the mean return of ten
greedy episodes. cpu_seconds are those of the process that trains, up to that line; of our runs the last
line has those of the whole run, with its evaluations. A score is the mean of the evaluations of 50,000
steps: up to 100,000, 200,000 and 300,000. Intervals are 95 % bootstrap intervals over seeds.
"""
import statistics
import sys

from evaluations import DATA, collect, interval, read

COLUMNS = ["task", "agent", "seed", "step", "evaluation", "cpu_seconds"]
RUN = ("task", "agent", "seed")
ENDS, WINDOW = (100_000, 200_000, 300_000), 50_000


def label(agent):
    if agent["name"] != "lsac":
        return agent["name"]
    return f"lsac {agent['variant']}" + (", no noise" if agent["noise"] == 0 else "")


def rows_of(config, seconds, metrics):
    run = dict(task=config["env"]["name"].removeprefix("gym:"), agent=label(config["agent"]))
    for line in metrics:
        if line["eval_return"]:
            yield dict(run, step=line["step"], evaluation=f"{float(line['eval_return']):.6g}",
                       cpu_seconds=f"{seconds:.1f}" if line is metrics[-1] else "")  # fmt: skip


def score(rows, end):
    """The mean of a run's evaluations in the window that ends there; None if the run is shorter."""
    values = [float(row["evaluation"]) for row in rows if end - WINDOW < int(row["step"]) <= end]
    return statistics.fmean(values) if int(rows[-1]["step"]) >= end else None


def cell(values):
    values = [value for value in values if value is not None]
    if len(values) < 2:
        return "".join(f"{value:.0f}" for value in values)
    error = statistics.stdev(values) / len(values) ** 0.5
    return f"{statistics.fmean(values):.0f} ± {error:.0f} [{min(values):.0f}, {max(values):.0f}]"


def runs_of(path):
    """task, agent -> seed -> the rows of the run."""
    runs = {}
    for row in read(path):
        runs.setdefault((row["task"], row["agent"]), {}).setdefault(row["seed"], []).append(row)
    return dict(sorted(runs.items()))


def table(path):
    print("| task | agent | seeds |", " | ".join(f"{end // 1000}k" for end in ENDS), "| CPU hours of a run |")
    print("|---|---|---|" + "---|" * (len(ENDS) + 1))
    for (task, agent), runs in runs_of(path).items():
        scores = [cell([score(rows, end) for rows in runs.values()]) for end in ENDS]
        hours = statistics.fmean(float(rows[-1]["cpu_seconds"]) for rows in runs.values()) / 3600
        print(f"| {task} | {agent} | {len(runs)} |", " | ".join(scores), f"| {hours:.2f} |")


def difference(one, other, path):
    """At the last of the ends that all runs have reached."""
    runs = runs_of(path)
    for task in sorted({task for task, _ in runs}):
        pair = [list(runs[task, agent].values()) for agent in (one, other)]
        end = max(end for end in ENDS if all(int(rows[-1]["step"]) >= end for agent in pair for rows in agent))
        a, b = ([score(rows, end) for rows in agent] for agent in pair)
        low, high = interval(a, b)
        print(f"| {task} | {one} | {other} | {statistics.fmean(a) - statistics.fmean(b):+.0f} [{low:+.0f}, {high:+.0f}] |")


def main():
    calls = {"collect": (lambda folder, path: collect(folder, path, COLUMNS, RUN, rows_of), 1), "table": (table, 0), "difference": (difference, 2)}
    call, count = calls.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    words = sys.argv[2:]
    if not call or not count <= len(words) <= count + 1:
        sys.exit(__doc__)
    call(*words[:count], words[count] if len(words) > count else DATA / "continuous.csv")


if __name__ == "__main__":
    main()
