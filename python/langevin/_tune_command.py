"""`langevin tune`: the study with a line per trial, then a table of the best."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, List

from langevin import _library as library
from langevin._library import UsageError
from langevin._tune import COMPLETE, FAIL, MINIMIZE, PRUNED, RUNNING, short_text, show, tune

import optuna  # after _tune, which says how to install it


def make_table(study: Any, out: str, most: int) -> List[str]:
    """The best trials first, then those that were pruned last."""
    sign = 1 if study.direction == MINIMIZE else -1
    order = {COMPLETE: 0, PRUNED: 1, RUNNING: 2, FAIL: 3}
    trials = sorted(study.trials, key=lambda t: (order[t.state], -(t.last_step or 0), sign * (t.value or 0)))
    keys = list(dict.fromkeys(key for t in trials for key in t.params))
    rows = [["trial", "state", study.user_attrs["problem"]["measure"], *keys, "runs"]]
    for t in trials[:most]:
        state = f"pruned at {t.last_step}" if t.state == PRUNED else t.state.name.lower()
        value = "" if t.value is None else f"{t.value:.4g}"
        directory = os.path.join(out, t.user_attrs.get("directory", ""))
        rows.append([str(t.number), state, value, *(short_text(t.params.get(key, "")) for key in keys), directory])
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return [*lines, f"... and {len(trials) - most} more"] if len(trials) > most else lines


def print_lines(lines: List[str]) -> None:
    try:
        print("\n".join(lines), flush=True)
    except OSError as error:
        # Python flushes stdout again at exit, where it must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # nobody reads the table, but the study is complete
            show(f"langevin tune: cannot print the table: {error}")
            sys.exit(1)


def main() -> None:
    """FILE OUT KEY=VALUE...: `langevin tune` has parsed its options."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    file, out, *pairs = sys.argv[1:]
    options = {key: json.loads(value) for key, value in (pair.split("=", 1) for pair in pairs)}
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup and shells request
            signal.signal(number, lambda n, _: sys.exit(128 + n))
    try:
        study = tune(file, out, progress_bar=not options.pop("quiet", False), **options)
    except KeyboardInterrupt:
        show("langevin tune: stopped; the same command resumes the study")
        sys.exit(130)
    except (library.Error, OSError) as error:
        show(f"langevin tune: {error}")
        sys.exit(2 if isinstance(error, UsageError) else 1)
    lines = make_table(study, out, 10)
    if any(t.state == COMPLETE for t in study.trials):
        first_seed = study.user_attrs["problem"]["first_seed"]
        config = os.path.join(out, study.best_trial.user_attrs["directory"], f"seed-{first_seed}", "config.json")
        lines += ["The best of many looks better than it is. Confirm it on other seeds:",
                  f"  langevin run --config {config} --seed 1000 --seeds 10"]  # fmt: skip
    print_lines(lines)
    unfinished = sum(t.state == RUNNING for t in study.trials)
    if unfinished:
        show(f"{unfinished} trials are under way in other processes")
