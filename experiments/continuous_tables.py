#!/usr/bin/env python3
"""Keep the evaluations of runs on MuJoCo's tasks, and print them as Markdown.

    experiments/continuous_tables.py collect DIR    add the finished runs below DIR to the file
    experiments/continuous_tables.py table          one line per task and agent

The file is docs/results/data/continuous.csv, to which continuous_peers.py adds, too. A line is the mean
return of ten greedy episodes. cpu_seconds are those of the process that trains, up to that line; of our
runs the last line has those of the whole run, with its evaluations. A score is the mean of the
evaluations of 50,000 steps: up to 100,000, 200,000 and 300,000.
"""
import statistics
import sys

from evaluations import DATA, collect, read

FILE = DATA / "continuous.csv"
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


def table():
    agents = {}
    for row in read(FILE):
        agents.setdefault((row["task"], row["agent"]), {}).setdefault(row["seed"], []).append(row)
    print("| task | agent | seeds |", " | ".join(f"{end // 1000}k" for end in ENDS), "| CPU hours of a run |")
    print("|---|---|---|" + "---|" * (len(ENDS) + 1))
    for (task, agent), runs in sorted(agents.items()):
        scores = [cell([score(rows, end) for rows in runs.values()]) for end in ENDS]
        hours = statistics.fmean(float(rows[-1]["cpu_seconds"]) for rows in runs.values()) / 3600
        print(f"| {task} | {agent} | {', '.join(runs)} |", " | ".join(scores), f"| {hours:.2f} |")


def main():
    if sys.argv[1:2] == ["collect"] and len(sys.argv) == 3:
        collect(sys.argv[2], FILE, COLUMNS, RUN, rows_of)
    elif sys.argv[1:] == ["table"]:
        table()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
