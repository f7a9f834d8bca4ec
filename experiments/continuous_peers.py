#!/usr/bin/env python3
r"""Train the peer of experiments/continuous.yaml: SAC of Stable-Baselines3 with its defaults.

    python3 -m venv .venv-peers
    .venv-peers/bin/pip install torch==2.13.0
    .venv-peers/bin/pip install stable-baselines3==2.9.2 "gymnasium[mujoco]"
    .venv-peers/bin/python experiments/continuous_peers.py [--out FILE]

300,000 steps on HalfCheetah and Hopper, one core. Every 10,000 steps an environment of its own gives
the mean return of ten greedy episodes. FILE (docs/results/data/continuous.csv) gets one line per
evaluation once the run has finished; runs whose lines are there are skipped. Seconds are those of
the training alone, without the evaluations.
"""
import argparse
import csv
import os
import pathlib
import time

COLUMNS = ["task", "agent", "seed", "step", "evaluation", "cpu_seconds"]
TASKS = ["HalfCheetah-v5", "Hopper-v5"]
AGENT, SEED = "sb3-sac", 9600
RESULTS = pathlib.Path(__file__).resolve().parent.parent / "docs/results/data/continuous.csv"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS, help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=300_000, help="default: %(default)s")
    parser.add_argument("--every", type=int, default=10_000, help="steps between evaluations; default: %(default)s")
    parser.add_argument("--task", choices=TASKS, action="append", help="only this one; default: all")
    return parser.parse_args()


def train(task, options):
    """Yield the step, the mean return of ten greedy episodes and the CPU seconds of the training so far."""
    import gymnasium
    from stable_baselines3 import SAC
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor

    model = SAC("MlpPolicy", gymnasium.make(task), seed=SEED, device="cpu")
    test = Monitor(gymnasium.make(task))
    test.reset(seed=SEED + 1_000_000)
    seconds = 0.0
    for step in range(options.every, options.steps + 1, options.every):
        begun = time.process_time()
        model.learn(options.every, reset_num_timesteps=False)
        seconds += time.process_time() - begun
        yield step, evaluate_policy(model, test, n_eval_episodes=10, deterministic=True)[0], seconds


def known(path):
    """Return the runs in the file. Begins the file if there is none."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(",".join(COLUMNS) + "\n")
    with open(path, newline="") as file:
        return {(row["task"], row["agent"]) for row in csv.DictReader(file)}


def main():
    options = arguments()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    import torch  # after the variables are set

    torch.set_num_threads(1)
    for task in options.task or TASKS:
        if (task, AGENT) in known(options.out):
            continue
        lines = []
        for step, mean, seconds in train(task, options):
            lines.append(f"{task},{AGENT},{SEED},{step},{mean:.6g},{seconds:.1f}\n")
            print(lines[-1], end="", flush=True)
        with open(options.out, "a") as file:
            file.writelines(lines)


if __name__ == "__main__":
    main()
