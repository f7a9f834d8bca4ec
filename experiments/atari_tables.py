#!/usr/bin/env python3
"""Store the evaluations of Atari runs, print them as Markdown, and draw them.

    experiments/atari_tables.py collect DIR [FILE]   add the finished runs below DIR to FILE
    experiments/atari_tables.py table [FILE]         one line per run
    experiments/atari_tables.py games [FILE]         the same, in the window of the published results
    experiments/atari_tables.py figures [FILE]       draw docs/results/figures/atari-games-GAME.png

FILE (docs/results/data/atari-seeds.csv) has one line per evaluation: the mean score of its games, the
mean score of the training games since the previous line, and the state of the network: the spread of
Q and the share of dead units. A run that the file already has stays as it is.

`games` and `figures` read docs/results/data/atari-games.csv. The window is 1.0 to 3.0 million frames,
at four frames per step. The published results are those of the authors' files with double Q functions
(docs/results/data/atari-published.csv): the mean of a seed's evaluations in that window, as the median
of five seeds, the least and the greatest.
"""
import argparse
import statistics

from evaluations import DATA, collect, plot, read

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


def figures(path, program):
    games = {}
    for row in read(path):
        label = f"{row['agent']} ({row['preset']})"
        games.setdefault(row["game"], {}).setdefault(label, {}).setdefault(row["seed"], []).append(row)
    for game, runs in games.items():
        plot(program, runs, DATA.parent / f"figures/atari-games-{game}.png", "--title", game.capitalize())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, file in (("collect", "atari-seeds"), ("table", "atari-seeds"), ("games", "atari-games"), ("figures", "atari-games")):
        command = commands.add_parser(name)
        if name == "collect":
            command.add_argument("folder", metavar="DIR")
        command.add_argument("file", metavar="FILE", nargs="?", default=DATA / f"{file}.csv")
        if name == "figures":
            command.add_argument("--langevin", default="build/langevin")
    options = parser.parse_args()
    if options.command == "collect":
        collect(options.folder, options.file, COLUMNS, RUN, rows_of)
    elif options.command == "figures":
        figures(options.file, options.langevin)
    else:
        {"table": table, "games": games}[options.command](options.file)


if __name__ == "__main__":
    main()
