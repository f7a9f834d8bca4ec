"""Compare instruction counts of fixed small workloads with stored values, to catch slowdowns.

    make bench-check
    python3 bench/check.py --langevin build/langevin [--write] [--only TEXT]

A workload is one `langevin run` with fixed settings and seed and the kernel set avx2, under
valgrind. Only instructions within lgv_run_advance count, so startup costs nothing. Counts do not
depend on the load of the machine, but on the compiler: bench/instructions.json holds them per
compiler version. For an unknown compiler the program says so and nothing fails; --write adds it.
More than 3 % above the stored value fails; more than 3 % below asks for --write.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOLERANCE = 0.03
VALUES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.json")
ALWAYS = ["run.eval_every=0", "run.checkpoint_final=false", "run.records=summary", "run.tensorboard=false"]
DEEP = ["agent.warmup=64", "agent.update_every=1", "agent.replay=1000", "agent.batch=32", "agent.hidden=32,32"]

# name: (environment, agent, settings, steps)
WORKLOADS = {
    "adam-lmcdqn on N-Chain": ("nchain", "adam-lmcdqn", ["env.n=100", *DEEP], 300),
    "dqn on CartPole": ("cartpole", "dqn", DEEP, 300),
    "prioritized-dqn on CartPole": ("cartpole", "prioritized-dqn", DEEP, 200),
    "c51 on CartPole": ("cartpole", "c51", DEEP, 150),
    "bootstrapped-dqn on DeepSea": ("deepsea", "bootstrapped-dqn", ["env.n=10", *DEEP], 150),
    "lmc-lsvi on RiverSwim": ("riverswim", "lmc-lsvi", ["run.episodes=1000"], 4000),
    "lsvi-ucb on RiverSwim": ("riverswim", "lsvi-ucb", ["run.episodes=1000"], 4000),
    "lsvi-ucb on a linear MDP": ("linear-mdp", "lsvi-ucb", ["env.kind=low-rank", "env.dim=40", "run.episodes=1000"], 400),
    "psrl on RiverSwim": ("riverswim", "psrl", ["run.episodes=1000"], 2000),
}


def instructions(langevin, env, agent, settings, steps):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind")
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=lgv_run_advance"]
        command += [f"--callgrind-out-file={out}", langevin, "run", "--quiet"]
        command += ["--env", env, "--agent", agent, "--seed", "1", "-j", "1", "--out", os.path.join(folder, "run")]
        for setting in [*ALWAYS, *settings, f"run.steps={steps}"]:
            command += ["--set", setting]
        environment = dict(os.environ, LANGEVIN_KERNELS="avx2", OPENBLAS_CORETYPE="Haswell", OPENBLAS_NUM_THREADS="1")
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            sys.exit(f"{env}, {agent}: {done.stderr.strip()}")
        with open(out) as file:
            return int(re.search(r"^(?:summary|totals): (\d+)", file.read(), re.M).group(1))


def compiler_of(langevin):
    """Return the compiler named in the program's .comment section."""
    text = subprocess.run(["readelf", "-p", ".comment", langevin], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"(GCC: \(.*?\) \S+|clang version \S+)", text)))[-1]


def report(name, counted, wanted):
    """Print one comparison and return whether it passes."""
    if wanted is None:
        print(f"{name:32} {counted:>12,} per step: no value to compare with")
        return True
    change = counted / wanted - 1
    word = "ok" if abs(change) <= TOLERANCE else "SLOWER" if change > 0 else "faster: store it with --write"
    print(f"{name:32} {counted:>12,} per step, {change:+.2%} of {wanted:,}: {word}")
    return change <= TOLERANCE


def keep(values):
    with open(VALUES, "w") as file:
        json.dump(values, file, indent=2, sort_keys=True)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--langevin", default="build/langevin")
    parser.add_argument("--write", action="store_true", help="store the counts")
    parser.add_argument("--only", default="", help="only workloads whose name contains TEXT", metavar="TEXT")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("bench-check needs valgrind: apt-get install valgrind")
    with open(VALUES) as file:
        values = json.load(file)
    compiler = compiler_of(options.langevin)
    known = values.setdefault(compiler, {})
    print(f"{compiler}, kernel set avx2" + ("" if known or options.write else ": not in bench/instructions.json yet"))
    good = True
    for name, (env, agent, settings, steps) in WORKLOADS.items():
        if options.only not in name:
            continue
        counted = round(instructions(options.langevin, env, agent, settings, steps) / steps)
        good = report(name, counted, known.get(name)) and good
        if options.write:
            known[name] = counted
            keep(values)
    return 0 if good or options.write else 1


if __name__ == "__main__":
    sys.exit(main())
