#!/usr/bin/env python3
"""Store the evaluations of runs on MuJoCo's tasks, and print them as Markdown.

    experiments/continuous_tables.py collect DIR [FILE]      add the finished runs below DIR to FILE
    experiments/continuous_tables.py table [FILE]            one line per task and agent
    experiments/continuous_tables.py difference A B [FILE]   the score of agent A minus that of B, per task

FILE has one line per evaluation: the mean return of ten greedy episodes. The default is
docs/results/data/continuous.csv, to which continuous_peers.py adds lines; experiments/lsac.yaml has
docs/results/data/lsac.csv. A run that the file already has stays as it is.

cpu_seconds is the CPU time of training and evaluations: of the whole run in its last line, and for
peers up to each line. Our agents simulate MuJoCo in another process, whose time is not counted; peers
simulate it in the process that trains.

A score is the mean of the evaluations of 50,000 steps, up to 100,000, 200,000 or 300,000. Differences
are those at the last of these that all runs have reached, with 95 % bootstrap intervals over seeds if
both agents have at least two.
"""
import argparse
import statistics
import sys

from evaluations import DATA, collect, interval, read

COLUMNS = ["task", "agent", "seed", "step", "evaluation", "cpu_seconds"]
RUN, RESULTS = ("task", "agent", "seed"), DATA / "continuous.csv"
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
    runs, lines = runs_of(path), []
    for task in sorted({task for task, _ in runs}):
        pair = [list(runs.get((task, agent), {}).values()) for agent in (one, other)]
        ends = [end for end in ENDS if all(int(rows[-1]["step"]) >= end for agent in pair for rows in agent)]
        if not all(pair) or not ends:
            continue
        a, b = ([score(rows, ends[-1]) for rows in agent] for agent in pair)
        text = f"{statistics.fmean(a) - statistics.fmean(b):+.0f}"
        if min(len(a), len(b)) >= 2:  # one run has no spread
            low, high = interval(a, b)
            text += f" [{low:+.0f}, {high:+.0f}]"
        lines.append(f"| {task} | {ends[-1] // 1000}k | {text} |")
    if not lines:
        sys.exit(f"{path}: no task has runs of both {one} and {other} with {ENDS[0]} steps")
    print(f"| task | steps | {one} - {other} |", "|---|---|---|", *lines, sep="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, words in (("collect", ["DIR"]), ("table", []), ("difference", ["A", "B"])):
        command = commands.add_parser(name)
        for word in words:
            command.add_argument(word)
        command.add_argument("file", metavar="FILE", nargs="?", default=RESULTS)
    options = parser.parse_args()
    if options.command == "collect":
        collect(options.DIR, options.file, COLUMNS, RUN, rows_of)
    elif options.command == "table":
        table(options.file)
    else:
        difference(options.A, options.B, options.file)


if __name__ == "__main__":
    main()
