"""Compare Atari training with the same loop in PyTorch (atari_torch.py), each on one core.

    make bench-atari                                  sets everything up, then
    python3 bench/peers/atari.py --langevin build/langevin --python .venv/bin/python --torch .venv-peers/bin/python

Our program is measured from outside: the CPU time of the program and its worker process together,
both pinned to one core. The difference of a longer and a shorter run contains only steps at full
speed; setup and the first updates cancel out. The same difference without updates, and without
updates and acting (random actions), shows where the time goes. The peer measures its own times,
without setup. Everything is measured in turn, for several rounds. The best round of each counts, so
other programs on the machine cost little.
"""

import argparse
import json
import os
import resource
import subprocess
import tempfile

WANTED = 1.8

# What a run leaves out. An endless warm-up has no updates, and its uniform actions cost nothing.
PARTS = {
    "all": ["agent.warmup=32"],
    "no updates": ["agent.warmup=99999"],
    "emulation": ["agent.warmup=99999", "agent.epsilon_start=1"],
}


def cpu_seconds(command, core, environment):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pin = lambda: os.sched_setaffinity(0, {core})
    out = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, preexec_fn=pin).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, out


def run_ours(options, part, steps, environment):
    with tempfile.TemporaryDirectory() as folder:
        command = [options.langevin, "run", "--env", f"atari:{options.game}", "--agent", "adam-lmcdqn"]
        command += ["--steps", str(steps), "--out", folder + "/run"]
        settings = ["agent.preset=authors", "agent.replay=100000", "run.eval_every=0", "run.checkpoint_final=false", *PARTS[part]]
        for setting in settings:
            command += ["--set", setting]
        return cpu_seconds(command, options.core, environment)[0]


def measure_ours(options, environment, best):
    for part in PARTS:
        short, long = options.steps // 4, options.steps + options.steps // 4
        spent = run_ours(options, part, long, environment) - run_ours(options, part, short, environment)
        best[part] = min(best.get(part, float("inf")), spent / (long - short))


def measure_peer(options, best):
    command = [options.torch, os.path.join(os.path.dirname(os.path.abspath(__file__)), "atari_torch.py")]
    command += ["--game", options.game, "--steps", str(options.steps), "--threads", "1"]
    peer = json.loads(cpu_seconds(command, options.core, None)[1])
    if not best or peer["steps_per_cpu_second"] > best["steps_per_cpu_second"]:
        best.update(peer)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--langevin", default="build/langevin")
    parser.add_argument("--python", default=".venv/bin/python", help="an interpreter with ale-py")
    parser.add_argument("--torch", default=".venv-peers/bin/python", help="an interpreter with torch, ale-py and OpenCV")
    parser.add_argument("--game", default="freeway")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--core", type=int, default=0)
    options = parser.parse_args()
    environment = dict(os.environ, LANGEVIN_PYTHON=os.path.abspath(options.python))
    ours, peer = {}, {}
    for _ in range(options.rounds):
        measure_ours(options, environment, ours)
        measure_peer(options, peer)
    shares = {
        "emulation": ours["emulation"] / ours["all"],
        "acting": (ours["no updates"] - ours["emulation"]) / ours["all"],
        "updating": (ours["all"] - ours["no updates"]) / ours["all"],
    }
    rate, ratio = 1 / ours["all"], 1 / ours["all"] / peer["steps_per_cpu_second"]
    form = "%-22s %8.0f steps/s   emulation %4.0f %%   acting %4.0f %%   updating %4.0f %%"
    print(form % ("langevin", rate, *(100 * share for share in shares.values())))
    theirs = [peer["share_" + name] for name in ("emulating", "acting", "updating")]
    print(form % ("PyTorch " + peer["torch"], peer["steps_per_cpu_second"], *(100 * share for share in theirs)))
    print("ratio %.2f (target: %.1f)" % (ratio, WANTED))
    print(json.dumps({"langevin": {"steps_per_second": rate, **shares}, "peer": peer, "ratio": ratio}))


if __name__ == "__main__":
    main()
