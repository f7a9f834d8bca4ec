"""Compare Langevin with PyTorch, JAX, NumPy, tianshou and Stable-Baselines3, on one core.

    make bench-peers
    .venv-peers/bin/python bench/peers/peers.py --langevin build/langevin [--turns N] [--only TEXT]

Before anything is timed, the peers and the library must agree on a minibatch: targets, losses and
gradients, within 1e-5. Then everything is measured in turn; the median of the turns counts
(measure.py).
"""

import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--langevin", default="build/langevin")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--only", default="", help="only comparisons whose name contains TEXT", metavar="TEXT")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    return parser.parse_args()


def main():
    options = arguments()
    os.sched_setaffinity(0, {options.core})
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ.setdefault("LANGEVIN_LIBRARY", os.path.join(os.path.dirname(options.langevin), "liblangevin.so"))
    sys.path[:0] = [os.path.join(HERE, "..", "..", "python"), HERE]
    from comparisons import COMPARISONS  # load the libraries after threads and core are set
    from measure import Turns, ours, text_of

    chosen = [make(options.langevin) for name, make in COMPARISONS if options.only in name]
    if not chosen:
        sys.exit(f"no comparison's name contains '{options.only}'; the comparisons are {', '.join(n for n, _ in COMPARISONS)}")
    turns = Turns()
    for turn in range(options.turns):
        for c in chosen:
            print(f"turn {turn + 1} of {options.turns}: {c.name}", file=sys.stderr, flush=True)
            seconds = c.ours() if c.ours else ours(options.langevin, c.groups, c.line)[c.line][0]
            turns.add((c.name, "langevin"), seconds)
            for label, measure in c.peers.items():
                turns.add((c.name, label), measure())
    rows = []
    for c in chosen:
        mine = turns.median((c.name, "langevin"))
        rows.append({"what": c.name, "who": "langevin", "seconds": mine, "ratio": 1.0, "wanted": None})
        for label in c.peers:
            seconds = turns.median((c.name, label))
            wanted = c.wanted.get(label)
            rows.append({"what": c.name, "who": label, "seconds": seconds, "ratio": seconds / mine, "wanted": wanted})
    if options.json:
        print(json.dumps({"turns": options.turns, "rows": rows}))
        return
    for row in rows:
        what = row["what"] if row["who"] == "langevin" else ""
        goal = "" if row["wanted"] is None else f"target {row['wanted']:g}: {'met' if row['ratio'] >= row['wanted'] else 'MISSED'}"
        print(f"{what:52} {row['who']:34} {text_of(row['seconds']):>9} {row['ratio']:>9.3g} x  {goal}")


if __name__ == "__main__":
    main()
