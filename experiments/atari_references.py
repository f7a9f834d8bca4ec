#!/usr/bin/env python3
"""Write docs/results/data/atari-references.csv: what eight games pay without learning.

    .venv/bin/python experiments/atari_references.py [GAME ...]

random is the mean score of 20 games of the uniform policy; constant is that of 20 games of a single
action, the one that was best in 3 other games. Games are whole, points are not clipped, and a game ends
after 27,000 steps at the latest. A game that is in the file is skipped.
"""
import statistics
import sys

import gymnasium
import langevin.envs  # noqa: F401  (registers langevin/Atari-v0)
import numpy as np
from evaluations import DATA, read, write

GAMES = ["alien", "freeway", "gravitar", "hero", "pitfall", "qbert", "solaris", "venture"]
FILE = DATA / "atari-references.csv"
COLUMNS = ["game", "actions", "random", "constant", "constant_action"]


def score(env, choose):
    env.reset()
    total = 0.0
    while True:
        _, reward, terminated, truncated, _ = env.step(choose())
        total += reward
        if terminated or truncated:
            return total


def reference(game):
    env = gymnasium.make("langevin/Atari-v0", game=game, life_ends=False, clip=False, max_steps=27000)
    actions = int(env.action_space.n)
    draw = np.random.default_rng(0)
    env.reset(seed=0)
    uniform = statistics.fmean(score(env, lambda: int(draw.integers(actions))) for _ in range(20))
    constant = [statistics.fmean(score(env, lambda a=a: a) for _ in range(3)) for a in range(actions)]
    best = int(np.argmax(constant))
    again = statistics.fmean(score(env, lambda: best) for _ in range(20))
    env.close()
    return {"game": game, "actions": actions, "random": f"{uniform:.6g}", "constant": f"{again:.6g}",
            "constant_action": best}  # fmt: skip


def main():
    rows = {row["game"]: row for row in read(FILE)}
    for game in sys.argv[1:] or GAMES:
        if game in rows:
            continue
        rows[game] = reference(game)
        write(FILE, COLUMNS, [rows[game] for game in sorted(rows)])


if __name__ == "__main__":
    main()
