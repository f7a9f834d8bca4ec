"""Measure how costs grow with sizes, and draw docs/figures/growth.png.

    make bench-growth
    .venv-peers/bin/python bench/growth.py --langevin build/langevin [--turns N] [--only TEXT --out FILE]

A point is the CPU time of `langevin run` per step, the best of several turns. It is the difference
of a longer and a shorter run, which contains only steps at full speed. The dashed line of each
panel is the growth that theory allows, through the first point: nothing may rise faster. Seeds and
threads are wall-clock times of whole runs.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = os.path.dirname(os.path.abspath(__file__))
ALWAYS = ["run.eval_every=0", "run.checkpoint_final=false", "run.records=summary", "run.tensorboard=false"]
PAPER = ["agent.hidden=32,32", "agent.batch=32", "agent.n_step=1", "agent.double=false", "agent.update_every=1"]
PAPER += ["agent.average=0", "agent.replay=10000", "agent.warmup=100", "run.steps=1000000"]
EPISODES = ["run.episodes=1000000"]
HISTORY = ["env.torques=3", "agent.features=random-fourier", "features.count=64"]
MDP = ["env.kind=low-rank", "env.states=100", "env.actions=4", "env.horizon=5", *EPISODES]


def panel(title, x, values, power, env, agent, settings, begin, steps):
    """Describe one panel.

    x names the size that changes. settings, begin (the first timed step) and steps (their number)
    are functions of it. power is the power of x that theory allows.
    """
    return dict(title=title, x=x, values=values, power=power, env=env, agent=agent, settings=settings, begin=begin, steps=steps)


def fixed(number):
    return lambda _: number


PANELS = [
    panel("deep: width of two hidden layers", "width", [32, 64, 128, 256, 512], 2, "cartpole", "adam-lmcdqn",
          lambda n: [*PAPER, f"agent.hidden={n},{n}"], fixed(200), lambda n: max(100, 160000 // n)),
    panel("deep: minibatch", "transitions", [16, 64, 256, 1024], 1, "cartpole", "adam-lmcdqn",
          lambda n: [*PAPER, f"agent.batch={n}", "agent.warmup=1100"], fixed(1200), lambda n: 200000 // n),
    panel("deep: N-Chain, N", "N", [25, 100, 400, 1600], 1, "nchain", "adam-lmcdqn",
          lambda n: [*PAPER, f"env.n={n}"], fixed(300), fixed(3000)),
    panel("deep: steps in the replay", "steps", [1000, 4000, 16000, 64000], 0, "cartpole", "adam-lmcdqn",
          lambda n: [*PAPER, f"agent.replay={n}", f"agent.warmup={n - 100}"], lambda n: n + 100, fixed(4000)),
    panel("lsvi-ucb, per step: features d", "d", [25, 50, 100, 200, 400], 2, "linear-mdp", "lsvi-ucb",
          lambda n: [*MDP, f"env.dim={n}"], fixed(50), lambda n: 5 * (60000 // n)),
    panel("lmc-lsvi, per step: features d", "d", [25, 50, 100, 200], 3, "linear-mdp", "lmc-lsvi",
          lambda n: [*MDP, f"env.dim={n}"], fixed(50), lambda n: 5 * max(6, 2000 // n)),
    panel("lmc-lsvi, per step: horizon H", "H", [10, 40, 160, 640], 0, "riverswim", "lmc-lsvi",
          lambda n: [f"env.horizon={n}", *EPISODES], lambda n: 10 * n, fixed(64000)),
    panel("lmc-lsvi, per step: episodes before", "episodes", [100, 400, 1600, 6400], 0, "riverswim", "lmc-lsvi",
          lambda n: EPISODES, lambda n: 40 * n, fixed(80000)),
    panel("rlsvi, features, per step: observations n", "n", [2000, 8000, 32000], 1, "pendulum", "rlsvi",
          lambda n: HISTORY, lambda n: n, fixed(2000)),
    panel("rlsvi, features, per step: features m", "m", [32, 64, 128, 256], 2, "pendulum", "rlsvi",
          lambda n: [*HISTORY, f"features.count={n}"], fixed(4000), fixed(2000)),
    panel("rlsvi, features, per step: actions A", "A", [2, 8, 32], 1, "pendulum", "rlsvi",
          lambda n: [*HISTORY, f"env.torques={n}"], fixed(4000), fixed(2000)),
    panel("rlsvi, features, per step: sweeps", "sweeps", [10, 40, 160], 1, "pendulum", "rlsvi",
          lambda n: [*HISTORY, f"agent.sweeps={n}"], fixed(4000), fixed(2000)),
]  # fmt: skip


def spent(langevin, p, n, steps):
    with tempfile.TemporaryDirectory() as folder:
        command = [langevin, "run", "--quiet", "--env", p["env"], "--agent", p["agent"], "--out", folder + "/run"]
        for setting in [*ALWAYS, *p["settings"](n), f"run.steps={steps}"]:
            command += ["--set", setting]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{p['title']}, {n}: {done.stderr.strip()}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(langevin, p, turns):
    found = {n: [] for n in p["values"]}
    for _ in range(turns):
        for n in p["values"]:
            first, steps = p["begin"](n), p["steps"](n)
            found[n].append((spent(langevin, p, n, first + steps) - spent(langevin, p, n, first)) / steps)
    return [max(1e-9, min(found[n])) for n in p["values"]]


def side_by_side(langevin, turns):
    """Return the wall-clock seconds of 1, 2 and 4 seeds on one thread and on two."""
    best = {}
    for _ in range(turns):
        for threads in (1, 2):
            for seeds in (1, 2, 4):
                with tempfile.TemporaryDirectory() as folder:
                    command = [langevin, "run", "--quiet", "--env", "nchain", "--agent", "adam-lmcdqn", "--out", folder + "/r"]
                    command += ["--seeds", str(seeds), "-j", str(threads)]
                    for setting in [*ALWAYS, *PAPER, "run.steps=200000"]:
                        command += ["--set", setting]
                    begun = time.perf_counter()
                    subprocess.run(command, check=True, capture_output=True)
                    taken = time.perf_counter() - begun
                best[threads, seeds] = min(best.get((threads, seeds), taken), taken)
    return best


def exponent(x, y):
    """Return the power of growth between the last two points."""
    return math.log(y[-1] / y[-2]) / math.log(x[-1] / x[-2])


def draw(results, seeds, path):
    panels = len(results) + bool(seeds)
    columns = 3 if panels > 4 else 2
    rows = math.ceil(panels / columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4 * columns, 3.3 * rows), constrained_layout=True, squeeze=False)
    for axis in axes.flat[panels:]:
        axis.set_axis_off()
    for axis, (p, times) in zip(axes.flat, results):
        x, us = p["values"], [1e6 * t for t in times]
        axis.loglog(x, us, "o-", label="measured")
        theory = [us[0] * (n / x[0]) ** p["power"] for n in x]
        axis.loglog(x, theory, "--", color="gray", label=f"theory: power {p['power']}")
        axis.set(title=p["title"], xlabel=p["x"], ylabel="us per step", ylim=(min(us) / 3, max(us) * 3))
        axis.set_xticks(x, labels=[str(n) for n in x])
        axis.minorticks_off()
        axis.legend(fontsize=8)
    if seeds:
        draw_seeds(axes.flat[len(results)], seeds)
    figure.savefig(path, dpi=100)


def draw_seeds(axis, seeds):
    for threads in (1, 2):
        axis.plot([1, 2, 4], [seeds[threads, n] for n in (1, 2, 4)], "o-", label=f"{threads} thread{'s'[: threads > 1]}")
    axis.set_xticks([1, 2, 4])
    axis.set(title="seeds of one run, in parallel", xlabel="seeds", ylabel="wall-clock time, s", ylim=(0, None))
    axis.legend(fontsize=8)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--langevin", default="build/langevin")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", default=os.path.join(HERE, "..", "docs", "figures", "growth.png"))
    parser.add_argument("--only", default="", help="only panels with TEXT in their title, without the seeds", metavar="TEXT")
    options = parser.parse_args()
    chosen = [p for p in PANELS if options.only in p["title"]]
    if not chosen:
        sys.exit(f"no panel has '{options.only}' in its title: {', '.join(p['title'] for p in PANELS)}")
    results = []
    for p in chosen:
        times = measure(options.langevin, p, options.turns)
        results.append((p, times))
        row = ", ".join(f"{n}: {1e6 * t:.3g}" for n, t in zip(p["values"], times))
        print(f"{p['title']} [us per step] {row}; last power {exponent(p['values'], times):.2f}, theory {p['power']}", flush=True)
    if options.only:
        draw(results, None, options.out)
        return
    seeds = side_by_side(options.langevin, options.turns)
    print(json.dumps({f"{t} threads, {n} seeds": round(s, 3) for (t, n), s in seeds.items()}))
    print(f"2 seeds: {seeds[1, 2] / seeds[2, 2]:.2f} times as fast on 2 cores as on 1")
    draw(results, seeds, options.out)


if __name__ == "__main__":
    main()
