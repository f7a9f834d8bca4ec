#!/usr/bin/env python3
r"""Train the peer of experiments/continuous.yaml: SAC of Stable-Baselines3 with its defaults.

    python3 -m venv .venv-peers
    .venv-peers/bin/pip install torch==2.13.0
    .venv-peers/bin/pip install stable-baselines3==2.9.2 "gymnasium[mujoco]"
    .venv-peers/bin/python experiments/continuous_peers.py [--seeds N] [--out FILE]

300,000 steps on HalfCheetah and Hopper, one core. Every 10,000 steps an environment of its own gives
the mean return of ten greedy episodes. FILE (docs/results/data/continuous.csv) gets one line per
evaluation once the run has finished; runs that it already has are skipped. Seconds are those of the
run so far, with its evaluations and its environments.
"""
import argparse
import pathlib
import time

from continuous_tables import COLUMNS, RESULTS
from evaluations import train_missing

TASKS = ["HalfCheetah-v5", "Hopper-v5"]
AGENT, FIRST_SEED = "sb3-sac", 9600
STEPS, EVERY = 300_000, 10_000


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS, help="default: %(default)s")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help=f"{FIRST_SEED} and the following; default: %(default)s")
    parser.add_argument("--steps", type=int, default=STEPS, help="default: %(default)s")
    parser.add_argument("--every", type=int, default=EVERY, help="steps between evaluations; default: %(default)s")
    parser.add_argument("--task", choices=TASKS, action="append", help="only this one; default: all")
    options = parser.parse_args()
    if options.out.resolve() == RESULTS and (options.steps, options.every) != (STEPS, EVERY):
        parser.error("runs with another --steps or --every are not for the file of results: give --out")
    return options


def train(task, seed, steps, every):
    """Yield the step, the mean return of ten greedy episodes and the CPU seconds of the run so far."""
    import gymnasium
    from stable_baselines3 import SAC
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor

    begun = time.process_time()
    model = SAC("MlpPolicy", gymnasium.make(task), seed=seed, device="cpu")
    test = Monitor(gymnasium.make(task))
    test.reset(seed=seed + 1_000_000)
    for step in range(every, steps + 1, every):
        model.learn(every, reset_num_timesteps=False)
        mean, _ = evaluate_policy(model, test, n_eval_episodes=10, deterministic=True)
        yield step, f"{mean:.6g}", f"{time.process_time() - begun:.1f}"


def main():
    options = arguments()
    # Seeds go round the tasks, so that a part of the runs is balanced.
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    runs = [(task, AGENT, seed) for seed in seeds for task in options.task or TASKS]
    train_missing(options.out, COLUMNS, runs, lambda task, _, seed: train(task, seed, options.steps, options.every))


if __name__ == "__main__":
    main()
