#!/usr/bin/env python3
r"""Train the peers of the battery: DQN of Stable-Baselines3 and QR-DQN of sb3-contrib.

    python3 -m venv .venv-peers
    .venv-peers/bin/pip install torch==2.13.0
    .venv-peers/bin/pip install stable-baselines3==2.9.2 sb3-contrib==2.9.2 rl_zoo3==2.9.2 \
        box2d==2.3.10 pygame==2.6.1
    .venv-peers/bin/python experiments/battery_peers.py [--out FILE]

The settings are those of the RL zoo, read from its package, except that every run has 100,000 steps
(the zoo has 50,000 for CartPole and 120,000 for MountainCar). Shares of the budget, such as
exploration_fraction, stay as the zoo states them. After the training, an environment of its own
gives the mean return of 100 greedy episodes.

FILE (docs/results/data/battery-peers.csv) gets one line per run as soon as the run has finished.
Runs whose line is in the file are skipped, so stop the program and call it again at any time.
Seconds are those that the training took of one core, without the evaluation.
"""
import argparse
import csv
import os
import pathlib
import time

COLUMNS = ["task", "agent", "seed", "steps", "return", "cpu_seconds"]
TASKS = {"CartPole": "CartPole-v1", "MountainCar": "MountainCar-v0", "Acrobot": "Acrobot-v1",
         "LunarLander": "LunarLander-v3"}
AGENTS = {"sb3-dqn": "dqn", "sb3-qrdqn": "qrdqn"}  # our name: the zoo's file of settings
SEEDS = range(9000, 9010)
STEPS = 100_000
EVAL_EPISODES = 100
RESULTS = pathlib.Path(__file__).resolve().parent.parent / "docs/results/data/battery-peers.csv"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS, help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=STEPS, help="default: %(default)s")
    parser.add_argument("--episodes", type=int, default=EVAL_EPISODES, help="of the evaluation; default: %(default)s")
    parser.add_argument("--only", default="", metavar="TEXT", help="only runs whose AGENT/TASK/SEED contains TEXT")
    return parser.parse_args()


def zoo_settings(algorithm, env_id):
    """Return the zoo's settings as keyword arguments of the algorithm's class."""
    import rl_zoo3
    import yaml
    from rl_zoo3.exp_manager import ExperimentManager

    file = pathlib.Path(rl_zoo3.__file__).parent / "hyperparams" / f"{algorithm}.yml"
    settings = yaml.safe_load(file.read_text())[env_id]
    del settings["n_timesteps"]
    settings["policy_kwargs"] = eval(settings["policy_kwargs"])  # as the zoo does: "dict(...)"
    return ExperimentManager._preprocess_schedules(settings)  # lin_X becomes a schedule


def train(agent, env_id, seed, steps, episodes):
    """Return the mean return of the trained agent and the CPU seconds of its training."""
    import gymnasium
    from sb3_contrib import QRDQN
    from stable_baselines3 import DQN
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor

    algorithm = {"dqn": DQN, "qrdqn": QRDQN}[AGENTS[agent]]
    model = algorithm(env=gymnasium.make(env_id), seed=seed, device="cpu", **zoo_settings(AGENTS[agent], env_id))
    begun = time.process_time()
    model.learn(steps)
    seconds = time.process_time() - begun
    test = Monitor(gymnasium.make(env_id))
    test.reset(seed=seed + 1_000_000)
    mean, _ = evaluate_policy(model, test, n_eval_episodes=episodes, deterministic=True)
    return mean, seconds


def done(path):
    """Return the runs in the file. Begins the file if there is none."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(",".join(COLUMNS) + "\n")
    with open(path, newline="") as file:
        return {(row["agent"], row["task"], int(row["seed"])) for row in csv.DictReader(file)}


def main():
    options = arguments()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    import torch  # after the variables are set

    torch.set_num_threads(1)
    # Seeds go round the tasks, so that a part of the runs is balanced.
    runs = [(agent, task, seed) for agent in AGENTS for seed in SEEDS for task in TASKS]
    for agent, task, seed in runs:
        if (agent, task, seed) in done(options.out) or options.only not in f"{agent}/{task}/{seed}":
            continue
        mean, seconds = train(agent, TASKS[task], seed, options.steps, options.episodes)
        line = f"{task},{agent},{seed},{options.steps},{mean:.6g},{seconds:.1f}\n"
        with open(options.out, "a") as file:
            file.write(line)
        print(line, end="", flush=True)


if __name__ == "__main__":
    main()
