#!/usr/bin/env python3
"""Print Markdown tables of a sweep's runs:  experiments/tables.py DIR KEY [KEY ...]

The runs below DIR are grouped by the given keys of config.json (agent.name agent.pool ...), so
several problems or seeds can share a row. A row has the mean over the group's runs, its standard
error and a 95 % bootstrap interval of: regret, regret in units of V*, and the value of the last ten
policies in percent of V*. The last column is the median of the first recorded episode at which the
mean value of the last three recorded policies reached 90 % of V*.
"""
import csv
import json
import pathlib
import random
import statistics
import sys


def interval(values, resamples=2000):
    draw = random.Random(0)
    means = sorted(statistics.fmean(draw.choices(values, k=len(values))) for _ in range(resamples))
    return means[int(0.025 * resamples)], means[int(0.975 * resamples) - 1]


def cell(values, digits):
    mean = statistics.fmean(values)
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    low, high = interval(values)
    return f"{mean:.{digits}f} ± {error:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def first_good(run, optimal):
    recent = []
    with open(run / "metrics.csv", newline="") as file:
        for row in csv.DictReader(file):
            recent = recent[-2:] + [float(row["value"])]
            if len(recent) == 3 and statistics.fmean(recent) >= 0.9 * optimal:
                return float(row["episode"])
    return float("inf")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    root, keys = pathlib.Path(sys.argv[1]), sys.argv[2:]
    groups = {}
    for path in root.glob("*/seed-*/summary.json"):
        summary = json.loads(path.read_text())
        config = json.loads((path.parent / "config.json").read_text())
        name = tuple(str(config.get(key.split(".")[0], {}).get(key.split(".")[1], "-")).lower() for key in keys)
        groups.setdefault(name, []).append((path.parent, summary))
    print("| " + " | ".join(keys) + " | runs | regret | regret / V* | last value, % of V* | episodes to 90 % |")
    print("|---" * (len(keys) + 5) + "|")
    mean_regret = lambda item: statistics.fmean(s["regret"] for _, s in item[1])
    for name, runs in sorted(groups.items(), key=mean_regret):
        regret = [s["regret"] for _, s in runs]
        relative = [s["regret"] / s["optimal_value"] for _, s in runs]
        last = [100 * s["final_return"] / s["optimal_value"] for _, s in runs]
        good = statistics.median(first_good(path, s["optimal_value"]) for path, s in runs)
        good = "never" if good == float("inf") else f"{good:.0f}"
        print(f"| {' | '.join(name)} | {len(runs)} | {cell(regret, 1)} | {cell(relative, 1)} | {cell(last, 2)} | {good} |")


main()
