"""Compare learn() in Python with the same training by `langevin run`, by processor time, in turns.

    .venv/bin/python bench/python.py --langevin build/langevin

Both train the same agent on the same environment with the same seed and budget, without evaluations
and records. A training of length zero measures the startup time, which is subtracted. The best of
several turns counts.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile

CASES = [("nchain", "adam-lmcdqn", 40_000), ("cartpole", "dqn", 60_000), ("riverswim", "lmc-lsvi", 800_000)]
SCRIPT = """
import sys, langevin
from langevin._classes import agent_class
env, agent, steps = sys.argv[1:]
trained = agent_class(agent)(langevin.NativeEnv(env), seed=1, schedule_steps=int(steps))
if int(steps): trained.learn(int(steps))
"""


def cpu_of(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as directory:
        command = [part.format(out=os.path.join(directory, "run")) for part in command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(langevin, env, agent, steps):
    c = [langevin, "run", "--env", env, "--agent", agent, "--seed", "1", "--quiet"]
    c += ["--set", "run.eval_every=0", "--set", "run.records=summary", "--set", "run.checkpoint_final=false"]
    c += ["--steps", str(max(1, steps)), "--out", "{out}"]
    return {"C": c, "Python": [sys.executable, "-c", SCRIPT, env, agent, str(steps)]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--langevin", default="build/langevin")
    parser.add_argument("--turns", type=int, default=7)
    arguments = parser.parse_args()
    for env, agent, steps in CASES:
        best = {}
        for _ in range(arguments.turns):
            for length in (0, steps):
                for name, command in commands(arguments.langevin, env, agent, length).items():
                    used = cpu_of(command)
                    best[name, length] = min(best.get((name, length), used), used)
        rate = {name: steps / (best[name, steps] - best[name, 0]) for name in ("C", "Python")}
        share = rate["Python"] / rate["C"]
        print(f"{agent} on {env}: C {rate['C']:,.0f} steps/s, Python {rate['Python']:,.0f} steps/s, {share:.1%}")


if __name__ == "__main__":
    main()
