"""Train SAC on Pendulum with Langevin, Stable-Baselines3 and rl-tools, one after the other on one core.

    .venv-peers/bin/python bench/peers/pendulum.py --langevin build/langevin [--rltools PYTHON] [--seeds N] [--core 0]

10,000 steps, networks of 64 x 64, batch 100, step size 1e-3, one update per step. Times are CPU seconds of training,
without startup, compilation and evaluation; returns are the mean of 100 episodes of the trained policy (of rl-tools,
which exports no policy here, only the time). PYTHON: of an environment with rltools and gymnasium. rl-tools links the
BLAS that the system has: OPENBLAS_CORETYPE is set, since Debian's detects no processor with AVX-512.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

STEPS, RLTOOLS = 10000, """
import time
from gymnasium.wrappers import RescaleAction
import gymnasium
from rltools import SAC
loop = SAC(lambda: RescaleAction(gymnasium.make("Pendulum-v1"), -1, 1), enable_evaluation=False, STEP_LIMIT=10000)
state = loop.State(SEED)
begun = time.process_time()
while not state.step():
    pass
print("seconds", time.process_time() - begun)
"""


def langevin(path, seed):
    with tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/run"
        sets = ["agent.hidden=64,64", "agent.batch=100", "optim.lr=1e-3", "run.eval_every=0"]
        command = [path, "run", "--env", "pendulum", "--agent", "sac", "--seed", str(seed), "--quiet", "--out", run]
        for setting in sets:
            command += ["--set", setting]
        spent = []
        for steps in (1, STEPS):
            subprocess.run(["rm", "-rf", run], check=True)
            before = os.times()
            subprocess.run([*command, "--steps", str(steps)], check=True, capture_output=True)
            after = os.times()
            spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
        text = subprocess.run([path, "eval", run, "--episodes", "100"], check=True, capture_output=True, text=True).stdout
        return spent[1] - spent[0], float(re.search(r"^\s*100\s+(-?[\d.]+)", text, re.M).group(1))


def stable_baselines3(seed):
    import torch
    from stable_baselines3 import SAC
    from stable_baselines3.common.evaluation import evaluate_policy

    torch.set_num_threads(1)
    agent = SAC("MlpPolicy", "Pendulum-v1", learning_rate=1e-3, batch_size=100, learning_starts=1000, seed=seed,
                policy_kwargs={"net_arch": [64, 64]}, device="cpu")  # fmt: skip
    begun = time.process_time()
    agent.learn(STEPS)
    seconds = time.process_time() - begun
    return seconds, evaluate_policy(agent, agent.get_env(), 100)[0]


def rltools(python, seed):
    environment = {**os.environ, "OPENBLAS_CORETYPE": "SkylakeX"}
    text = subprocess.run([python, "-c", RLTOOLS.replace("SEED", str(seed))], check=True, capture_output=True, text=True,
                          env=environment).stdout  # fmt: skip
    return float(text.split()[-1]), float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--langevin", default="build/langevin")
    parser.add_argument("--rltools", metavar="PYTHON")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--core", type=int, default=0)
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    who = {"langevin": lambda seed: langevin(options.langevin, seed), "Stable-Baselines3": stable_baselines3}
    if options.rltools:
        who["rl-tools"] = lambda seed: rltools(options.rltools, seed)
    for seed in range(1, options.seeds + 1):
        for label, train in who.items():
            seconds, score = train(seed)
            print(f"seed {seed}  {label:18} {seconds:8.2f} s  return {score:8.1f}", flush=True)
    sys.exit(0)


if __name__ == "__main__":
    main()
