#!/usr/bin/env python3
"""Print Markdown tables of deep agents' runs:  experiments/deep_tables.py MODE DIR [KEY ...]

The runs below DIR (at any depth) are grouped by env.n and the given keys of config.json (default
agent.name). MODE is
  chain   N-Chain: the mean of the last ten evaluations and its standard error over seeds. In
          brackets: hard seeds / seeds (a seed is hard if its initial network does not already walk
          right), the score of the hard ones, the number of seeds whose network is dead at the end
          (every hidden unit is 0 on a minibatch, or all states have the same value), and the median
          of the training visits to the goal
  solve   tasks that end when solved: solved seeds, the median episode, the median seconds per run
"""
import csv
import json
import pathlib
import statistics
import sys

SAME_VALUES = 1e-3  # standard deviation of max Q over a minibatch, in units of its mean


def load(root):
    for path in sorted(pathlib.Path(root).glob("**/summary.json")):
        run = path.parent
        config = json.loads((run / "config.json").read_text())
        yield run, config, json.loads(path.read_text())


def value(config, key):
    part, _, name = key.partition(".")
    return str(config.get(part, {}).get(name, "-")).lower()


def rows_of(run):
    with open(run / "metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


def is_dead(row):
    spread, mean = float(row["q_spread"] or 0), abs(float(row["q_mean"] or 0))
    return float(row["dead_units"] or 0) > 0.99 or spread <= SAME_VALUES * mean


def chain_cell(runs):
    scores, hard, dead, goals = [], [], 0, []
    for run, summary in runs:
        rows = rows_of(run)
        scores.append(summary["final_return"])
        if float(rows[0]["eval_return"]) < 9.999:
            hard.append(summary["final_return"])
        dead += "q_spread" in rows[-1] and is_dead(rows[-1])
        goals.append(int(rows[-1]["goal_visits"]))
    error = statistics.stdev(scores) / len(scores) ** 0.5 if len(scores) > 1 else 0
    hard_score = f"{statistics.fmean(hard):.2f}" if hard else "-"
    return (f"{statistics.fmean(scores):.2f} ± {error:.2f} ({len(hard)}/{len(runs)}: {hard_score}, {dead}, "
            f"{statistics.median(goals):.0f})")


def solve_cell(runs):
    solved = [summary["solved_episode"] for _, summary in runs if summary.get("solved_episode")]
    seconds = statistics.median(json.loads((run / "timing.json").read_text())["processor_seconds"] for run, _ in runs)
    when = f", {statistics.median(solved):.0f}" if solved else ""
    return f"{len(solved)}/{len(runs)}{when} ({seconds:.1f} s)"


def main():
    cells = {"chain": chain_cell, "solve": solve_cell}
    if len(sys.argv) < 3 or sys.argv[1] not in cells:
        sys.exit(__doc__)
    mode, root, keys = sys.argv[1], sys.argv[2], sys.argv[3:] or ["agent.name"]
    groups, sizes = {}, set()
    for run, config, summary in load(root):
        size = int(value(config, "env.n"))
        sizes.add(size)
        groups.setdefault(tuple(value(config, key) for key in keys), {}).setdefault(size, []).append((run, summary))
    print("| " + " | ".join(keys) + " | " + " | ".join(f"N = {size}" for size in sorted(sizes)) + " |")
    print("|---" * (len(keys) + len(sizes)) + "|")
    for name, by_size in sorted(groups.items()):
        line = [cells[mode](by_size[size]) if size in by_size else "" for size in sorted(sizes)]
        print(f"| {' | '.join(name)} | " + " | ".join(line) + " |")


main()
