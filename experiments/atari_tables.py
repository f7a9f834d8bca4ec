#!/usr/bin/env python3
"""Keep the evaluations of Atari runs, and print them as Markdown.

    experiments/atari_tables.py collect DIR [FILE]   add the finished runs below DIR to FILE
    experiments/atari_tables.py table [FILE]         one line per run
    experiments/atari_tables.py games [FILE]         the same in the window of the published results

FILE (docs/results/data/atari-seeds.csv) has a line per evaluation: the mean score of its games, the
mean score of the training games since the line before, and the network's state: spread of Q, share
of dead units. A run that is in the file already is left as it is.

`games` reads docs/results/data/atari-games.csv. Its window is 1.0 to 3.0 million frames, four per step.
Published are the authors' result files with double Q functions
(docs/results/data/atari-published.csv): the mean of a seed's evaluations in that window, as the median
of five seeds, the least and the greatest.
"""
import pathlib
import statistics
import sys

from evaluations import DATA, collect, read

COLUMNS = ["game", "agent", "preset", "seed", "step", "evaluation", "training", "q_spread", "dead_units",
           "cpu_seconds", "version", "kernels", "precision"]  # fmt: skip
RUN = ("game", "agent", "preset", "seed")
FRAMES, WINDOW = 4, (1_000_000, 3_000_000)


def key_of(row):
    return tuple(row[column] for column in RUN)


def rows_of(config, seconds, metrics):
    run = dict(game=config["env"]["game"], agent=config["agent"]["name"], preset=config["agent"]["preset"],
               cpu_seconds=f"{seconds:.0f}", version=config["langevin"]["version"],
               kernels=config["langevin"]["kernels"], precision=config["agent"]["precision"])  # fmt: skip
    games = points = 0.0
    for line in metrics:
        played, won = float(line["games"]) - games, float(line["score_sum"]) - points
        games, points = float(line["games"]), float(line["score_sum"])
        yield dict(run, step=line["step"], evaluation=f"{float(line['eval_return']):.6g}",
                   training=f"{won / played:.6g}" if played else "", q_spread=f"{float(line['q_spread']):.3g}",
                   dead_units=f"{float(line['dead_units']):.3g}")  # fmt: skip


def table(path):
    runs = {}
    for row in read(path):
        runs.setdefault(key_of(row), []).append(row)
    steps = sorted({int(row["step"]) for rows in runs.values() for row in rows})
    print("| game, agent, preset, seed |", " | ".join(f"{step // 1000}k" for step in steps), "| spread of Q | dead units |")
    print("|---|" + "---|" * (len(steps) + 2))
    for key, rows in runs.items():
        scores = {int(row["step"]): f"{float(row['evaluation']):.4g}" for row in rows}
        cells = [scores.get(step, "") for step in steps]
        print(f"| {', '.join(key)} |", " | ".join(cells), f"| {rows[-1]['q_spread']} | {rows[-1]['dead_units']} |")


def games(path):
    published = {(row["game"], row["agent"]): row for row in read(DATA / "atari-published.csv")}
    references = {row["game"]: row for row in read(DATA / "atari-references.csv")}
    runs = {}
    for row in read(path):
        if WINDOW[0] <= FRAMES * int(row["step"]) <= WINDOW[1]:
            runs.setdefault(key_of(row), []).append(float(row["evaluation"]))
    print("| game, agent, preset, seed | mean of evaluations | least, greatest | published | random | best single action |")
    print("|---|---|---|---|---|---|")
    for key, values in runs.items():
        theirs, other = published.get(key[:2]), references.get(key[0])
        bracket = f"{theirs['median']} [{theirs['least']}, {theirs['greatest']}]" if theirs else ""
        without = f"{other['random']} | {other['constant']}" if other else "not measured | "
        print(f"| {', '.join(key)} | {statistics.fmean(values):.4g} | {min(values):.4g}, {max(values):.4g} | {bracket} | {without} |")


def main():
    if sys.argv[1:2] == ["collect"] and len(sys.argv) in (3, 4):
        collect(sys.argv[2], sys.argv[3] if len(sys.argv) == 4 else DATA / "atari-seeds.csv", COLUMNS, RUN, rows_of)
    elif sys.argv[1:2] == ["table"] and len(sys.argv) in (2, 3):
        table(pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else DATA / "atari-seeds.csv")
    elif sys.argv[1:2] == ["games"] and len(sys.argv) in (2, 3):
        games(pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else DATA / "atari-games.csv")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
