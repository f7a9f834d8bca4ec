"""What the scripts of this folder share that keep the evaluations of long runs in docs/results/data."""
import csv
import json
import pathlib
import random
import statistics
import subprocess
import tempfile

DATA = pathlib.Path(__file__).resolve().parent.parent / "docs/results/data"
FILES = "config", "summary", "timing"


def read(path):
    path = pathlib.Path(path)
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def collect(folder, path, columns, run, rows_of):
    """Add the finished runs below a folder to a file; those that it has already are left as they are.

    The columns in `run` tell runs apart. rows_of(config, CPU seconds, rows of metrics.csv) gives the
    lines of a run, to which the seed is added."""
    rows = read(path)
    known = {tuple(row[column] for column in run) for row in rows}
    for place in sorted(file.parent for file in pathlib.Path(folder).glob("**/summary.json")):
        config, summary, timing = (json.loads((place / f"{name}.json").read_text()) for name in FILES)
        if not summary.get("finished"):
            continue
        for row in rows_of(config, timing["processor_seconds"], read(place / "metrics.csv")):
            row["seed"] = str(summary["seed"])
            if tuple(row[column] for column in run) not in known:
                rows.append(row)
    rows.sort(key=lambda row: [int(row[c]) if c in ("seed", "step") else row[c] for c in (*run, "step")])
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


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
