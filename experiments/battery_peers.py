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
import pathlib
import time

from battery_tables import PEERS
from evaluations import train_missing

COLUMNS = ["task", "agent", "seed", "steps", "return", "cpu_seconds"]
TASKS = {"CartPole": "CartPole-v1", "MountainCar": "MountainCar-v0", "Acrobot": "Acrobot-v1",
         "LunarLander": "LunarLander-v3"}
AGENTS = {"sb3-dqn": "dqn", "sb3-qrdqn": "qrdqn"}  # our name: the zoo's file of settings
SEEDS = range(9000, 9010)
STEPS = 100_000
EVAL_EPISODES = 100


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=PEERS, help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=STEPS, help="default: %(default)s")
    parser.add_argument("--episodes", type=int, default=EVAL_EPISODES, help="of the evaluation; default: %(default)s")
    parser.add_argument("--only", default="", metavar="TEXT", help="only runs whose AGENT/TASK/SEED contains TEXT")
    options = parser.parse_args()
    if options.out.resolve() == PEERS and (options.steps, options.episodes) != (STEPS, EVAL_EPISODES):
        parser.error("runs with another --steps or --episodes are not for the file of results: give --out")
    return options


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
    """Yield the number of steps, the mean return of the trained agent and the CPU seconds of its training."""
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
    yield steps, f"{mean:.6g}", f"{seconds:.1f}"


def main():
    options = arguments()
    # Seeds go round the tasks, so that a part of the runs is balanced.
    runs = [(task, agent, seed) for agent in AGENTS for seed in SEEDS for task in TASKS]
    chosen = [(task, agent, seed) for task, agent, seed in runs if options.only in f"{agent}/{task}/{seed}"]
    train_missing(options.out, COLUMNS, chosen,
                  lambda task, agent, seed: train(agent, TASKS[task], seed, options.steps, options.episodes))  # fmt: skip


if __name__ == "__main__":
    main()
