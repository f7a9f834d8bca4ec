"""Shared by the scripts that store results of long runs, and by those that train peers."""
import csv
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parent.parent / "docs/results/data"


def read(path):
    path = pathlib.Path(path)
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write(path, columns, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def collect(folder, path, columns, run, rows_of):
    """Add the finished runs below a folder to a file. A run that the file already has stays as it is.

    The columns in `run` identify a run. rows_of(config, CPU seconds, rows of metrics.csv) returns the
    rows of a run without its seed."""

    def key_of(row):
        return tuple(row[column] for column in run)

    rows, places = read(path), {}
    known = {key_of(row) for row in rows}
    for place in sorted(file.parent for file in pathlib.Path(folder).glob("**/summary.json")):
        summary = json.loads((place / "summary.json").read_text())
        if not summary.get("finished"):
            continue
        config, timing = (json.loads((place / f"{name}.json").read_text()) for name in ("config", "timing"))
        found = [dict(row, seed=str(summary["seed"]))
                 for row in rows_of(config, timing["processor_seconds"], read(place / "metrics.csv"))]  # fmt: skip
        keys = {key_of(row) for row in found}
        if any(key in places for key in keys):
            print(f"skipped {place}: {', '.join(keys.pop())} is in {places[key_of(found[0])]}", file=sys.stderr)
            continue
        places.update(dict.fromkeys(keys, place))
        rows += [row for row in found if key_of(row) not in known]
    rows.sort(key=lambda row: [int(row[c]) if c in ("seed", "step") else row[c] for c in (*run, "step")])
    write(path, columns, rows)


def train_missing(path, columns, runs, train):
    """Train the runs that a file does not have yet, with one thread, and add their lines.

    A run is (task, agent, seed), which are the first columns; train(task, agent, seed) yields the other
    cells of each of its lines. They are added when the run has finished, so that a program that was
    stopped can be called again."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    import torch  # after the variables are set

    torch.set_num_threads(1)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, columns, [])
    for run in runs:
        if run in {(row["task"], row["agent"], int(row["seed"])) for row in read(path)}:
            continue
        lines = []
        for cells in train(*run):
            lines.append(",".join(map(str, (*run, *cells))) + "\n")
            print(lines[-1], end="", flush=True)
        with open(path, "a") as file:
            file.writelines(lines)


def interval(one, other, resamples=10000):
    """The 95 % bootstrap interval of the difference of means."""
    draw = random.Random(0)
    means = sorted(
        statistics.fmean(draw.choices(one, k=len(one))) - statistics.fmean(draw.choices(other, k=len(other)))
        for _ in range(resamples)
    )
    return means[int(0.025 * resamples)], means[int(0.975 * resamples) - 1]


def plot(program, runs, out, *options):
    """Draw evaluations by `langevin plot`. runs: label -> seed -> the lines of a run."""
    with tempfile.TemporaryDirectory() as folder:
        words = []
        for number, (label, seeds) in enumerate(runs.items()):
            words.append(f"{label}={folder}/{number}")
            for seed, rows in seeds.items():
                place = pathlib.Path(folder, str(number), f"seed-{seed}")
                place.mkdir(parents=True)
                config = {"env": {"name": label}, "agent": {"name": label}, "run": {"seed": int(seed)}}
                (place / "config.json").write_text(json.dumps(config))
                lines = [f"{row['step']},{row['evaluation']}" for row in rows]
                (place / "metrics.csv").write_text("\n".join(["step,eval_return", *lines, ""]))
        subprocess.run([program, "plot", *words, "--y", "eval_return", "--out", out, *options], check=True)
