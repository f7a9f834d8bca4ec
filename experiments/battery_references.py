#!/usr/bin/env python3
"""Write docs/results/data/battery-references.csv: the two returns that normalize the battery's scores.

    langevin reproduce battery --scale random --out runs/battery-random
    .venv/bin/python experiments/battery_references.py runs/battery-random

random is the mean return of the uniform policy's training episodes in these runs. reference is the
greatest expected return where it can be computed: by backward induction over the time limit for
Gymnasium's tables and Blackjack, by shortest paths for MiniGrid (for an agent that sees the whole
grid), by the library's own models for chains and seas. Elsewhere it is a published result; `source`
says which. A score may then exceed 1.
"""
import collections
import itertools
import json
import pathlib
import statistics
import sys

import gymnasium
import minigrid  # noqa: F401  (registers its environments)
import numpy as np
from battery_tables import REFERENCES, TASKS, task_of
from evaluations import write

ZOO = "benchmark.md of the RL zoo, best agent of any kind"
GYMNAX = "README of gymnax, PPO"
PUBLISHED = {
    "CartPole": (500, "time limit"),
    "MountainCar": (-100.849, f"{ZOO} (DQN)"),
    "sparse MountainCar": (1, "the flag in every episode"),
    "Acrobot": (-69.135, f"{ZOO} (QR-DQN)"),
    "LunarLander": (242.119, f"{ZOO} (PPO, LunarLander-v2)"),
    "MinAtar Breakout": (28, GYMNAX),
    "MinAtar Freeway": (58, GYMNAX),
    "MinAtar Asterix": (15, GYMNAX),
}
INDEX = {"CliffWalking", "Taxi", "FrozenLake 4x4", "FrozenLake 8x8", "N-Chain 25", "N-Chain 100", "scrambled chain 30",
         "DeepSea 20", "DeepSea 50", "stochastic DeepSea 30"}  # fmt: skip
PICTURES = ("MiniGrid", "MinAtar", "DeepSea 20, pixels")
HELD_OUT = {"MountainCar", "Acrobot", "Taxi", "FrozenLake 8x8", "MiniGrid DoorKey-5x5", "MiniGrid FourRooms",
            "N-Chain 100", "scrambled chain 30", "DeepSea 50",
            "stochastic DeepSea 30", "DeepSea 20, coordinates"}  # fmt: skip


# ---- Tables of Gymnasium


def best_of_table(env_id, horizon):
    """The optimal value of env.P from its start, by backward induction over the time limit."""
    env = gymnasium.make(env_id).unwrapped
    states = range(len(env.P))
    values = np.zeros(len(env.P))
    for _ in range(horizon):
        values = np.array([
            max(sum(p * (r + (not end) * values[after]) for p, after, r, end in env.P[s][a]) for a in env.P[s])
            for s in states
        ])  # fmt: skip
    if hasattr(env, "initial_state_distrib"):
        return float(np.dot(env.initial_state_distrib, values))
    return float(values[env.start_state_index])


# ---- Blackjack: an infinite deck, the rules of Sutton and Barto (sab=True)

CARDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10]


def draw(total, ace, card):
    """A hand after one more card: its total, counting one ace as 11 if that does not bust, and whether it does."""
    total += card
    if card == 1 and not ace and total + 10 <= 21:
        return total + 10, True
    return (total - 10, False) if total > 21 and ace else (total, ace)


def dealer_law(shown):
    """The probabilities of the dealer's result: a total of 17 to 21, "natural", or 0 for a bust."""
    law = collections.Counter()

    def play(total, ace, cards, probability):
        if total > 21:
            law[0] += probability
        elif total >= 17:
            law["natural" if cards == 2 and total == 21 else total] += probability
        else:
            for card in CARDS:
                play(*draw(total, ace, card), cards + 1, probability / len(CARDS))

    play(*draw(0, False, shown), 1, 1.0)
    return law


def best_of_blackjack():
    worth = 0.0
    for shown in CARDS:
        law = dealer_law(shown)
        stand = {t: sum(p * np.sign(t - (21 if d == "natural" else d)) for d, p in law.items()) for t in range(2, 22)}
        values = {}

        def value(total, ace, stand=stand, values=values):
            if total > 21:
                return -1.0
            if (total, ace) not in values:
                hit = statistics.fmean(value(*draw(total, ace, card)) for card in CARDS)
                values[total, ace] = max(stand[total], hit)
            return values[total, ace]

        for first, second in itertools.product(CARDS, CARDS):
            hand = draw(*draw(0, False, first), second)
            natural = 1 - law["natural"]  # wins unless the dealer has one, too
            worth += (max(natural, value(*hand)) if hand == (21, True) else value(*hand)) / len(CARDS) ** 3
    return float(worth)


# ---- MiniGrid: turn left, turn right, forward, pick up, toggle

STEPS = [(1, 0), (0, 1), (-1, 0), (0, -1)]


def cells_of(env):
    return {(x, y): env.grid.get(x, y).type for x in range(env.width) for y in range(env.height) if env.grid.get(x, y)}


def neighbors(state, cells):
    """The states after each useful action: (place, direction, has the key, has opened the door)."""
    (x, y), direction, key, door = state
    ahead = x + STEPS[direction][0], y + STEPS[direction][1]
    yield (x, y), (direction + 1) % 4, key, door
    yield (x, y), (direction + 3) % 4, key, door
    kind = cells.get(ahead)
    if kind is None or kind == "goal" or (kind == "key" and key) or (kind == "door" and door):
        yield ahead, direction, key, door
    elif kind == "key":
        yield (x, y), direction, True, door
    elif kind == "door" and key:
        yield (x, y), direction, key, True


def shortest(env):
    """The number of actions to the goal, by breadth-first search."""
    cells = cells_of(env)
    start = tuple(int(c) for c in env.agent_pos), int(env.agent_dir), False, False
    seen, front = {start}, [start]
    for steps in itertools.count():
        if any(cells.get(state[0]) == "goal" for state in front):
            return steps
        front = list({after for state in front for after in neighbors(state, cells)} - seen)
        seen.update(front)
    raise AssertionError("the count of steps has no end")


def best_of_grid(env_id, layouts=1000):
    env = gymnasium.make(env_id).unwrapped
    returns = []
    for seed in range(layouts):
        env.reset(seed=seed)
        returns.append(1 - 0.9 * shortest(env) / env.max_steps)
    return statistics.fmean(returns)


# ---- All


def computed(task):
    """The greatest return of a task of Gymnasium, and where it is from; None for other tasks."""
    env_id = TASKS[task].get("id", "")
    if task in ("CliffWalking", "Taxi", "FrozenLake 4x4", "FrozenLake 8x8"):
        horizon = gymnasium.spec(env_id).max_episode_steps or 1000
        return best_of_table(env_id, horizon), f"exact, {horizon} steps"
    if task == "Blackjack":
        return best_of_blackjack(), "exact"
    if task.startswith("MiniGrid"):
        return best_of_grid(env_id), "shortest paths of 1000 layouts"
    return PUBLISHED.get(task)


def read_random(root):
    """{task: (mean return of the random policy, V* where the model is known)}"""
    found = collections.defaultdict(list)
    for path in pathlib.Path(root).glob("**/seed-*/summary.json"):
        summary = json.loads(path.read_text())
        task = task_of(json.loads((path.parent / "config.json").read_text())["env"])
        if task and summary["finished"]:
            found[task].append((summary["mean_return"], summary.get("optimal_value")))
    return {task: (statistics.fmean(r for r, _ in runs), runs[0][1]) for task, runs in found.items()}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    random, rows = read_random(sys.argv[1]), []
    for task in TASKS:
        zero, optimal = random.get(task, (None, None))
        best, source = computed(task) or (optimal, "exact, the library's model")
        rows.append({
            "task": task,
            "half": "held out" if task in HELD_OUT else "search",
            "observation": "index" if task in INDEX else "picture" if task.startswith(PICTURES) else "vector",
            "random": "" if zero is None else f"{zero:.5g}",
            "reference": "" if best is None else f"{best:.5g}",
            "source": source,
        })  # fmt: skip
    write(REFERENCES, list(rows[0]), rows)


if __name__ == "__main__":
    main()
