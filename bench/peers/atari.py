"""Compare Atari training with the same loop in PyTorch (atari_torch.py), each on one core.

    make bench-atari                                  sets everything up, then
    python3 bench/peers/atari.py --langevin build/langevin --python .venv/bin/python --torch .venv-peers/bin/python
    python3 bench/peers/atari.py --before ../before/build/langevin    the program of another commit beside them

Our program is measured from outside: the CPU time of the program and its worker process together,
both pinned to one core. The difference of a longer and a shorter run contains only steps at full
speed; setup and the first updates cancel out. The same difference without updates, and without
updates and acting (random actions), shows where the time goes. The peer measures its own times,
without setup. Last come steps per second by the wall clock on two cores, with one environment and
with four that move while the agent learns. Everything is measured in turn, for several rounds. The
best round of each counts, so other programs on the machine cost little; by the wall clock they
cost more, so leave the machine quiet.
"""

import argparse
import collections
import json
import os
import resource
import subprocess
import tempfile
import time

WANTED = 1.8

# What a run leaves out. An endless warm-up has no updates, and its uniform actions cost nothing.
PARTS = {
    "all": ["agent.warmup=32"],
    "no updates": ["agent.warmup=99999"],
    "emulation": ["agent.warmup=99999", "agent.epsilon_start=1"],
}


# Ways to use two cores.
WAYS = {
    "1 environment, 1 thread": [],
    "1 environment, 2 threads": ["run.update_threads=2"],
    "4 environments, 2 threads": ["run.envs=4", "run.update_threads=2"],
}


def spent(command, cores, environment):
    """Return the CPU seconds and the seconds by the wall clock of a command, and what it printed."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    pin = lambda: os.sched_setaffinity(0, cores)
    out = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, preexec_fn=pin).stdout
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, ended - begun, out


def measure(options, program, settings, cores, environment, clock, best):
    """Keep the least seconds of a short and of a long run: CPU seconds (clock 0), or by the wall clock (1)."""
    for length, steps in enumerate((options.steps // 4, options.steps + options.steps // 4)):
        with tempfile.TemporaryDirectory() as folder:
            command = [program, "run", "--env", f"atari:{options.game}", "--agent", "adam-lmcdqn"]
            command += ["--steps", str(steps), "--out", folder + "/run"]
            for setting in ["agent.preset=atari", "agent.replay=100000", "run.eval_every=0", "run.checkpoint_final=false", *settings]:
                command += ["--set", setting]
            best[length] = min(best[length], spent(command, cores, environment)[clock])


def per_step(options, best):
    """Seconds of a step from the seconds of the short and the long run."""
    return {name: (seconds[1] - seconds[0]) / options.steps for name, seconds in best.items()}


def measure_ours(options, programs, environment, best):
    for name, program in programs.items():
        for part, settings in PARTS.items():
            measure(options, program, settings, {options.core}, environment, 0, best[name, part])


def two_cores():
    return set(sorted(os.sched_getaffinity(0))[:2])


def measure_two_cores(options, programs, environment, best):
    for way, settings in WAYS.items():
        for name, program in programs.items():
            measure(options, program, ["agent.warmup=32", *settings], two_cores(), environment, 1, best[name, way])


def measure_peer(options, best):
    command = [options.torch, os.path.join(os.path.dirname(os.path.abspath(__file__)), "atari_torch.py")]
    command += ["--game", options.game, "--steps", str(options.steps), "--threads", "1"]
    peer = json.loads(spent(command, {options.core}, None)[2])
    if not best or peer["steps_per_cpu_second"] > best["steps_per_cpu_second"]:
        best.update(peer)


def shares(ours, name):
    everything, no_updates, emulation = (ours[name, part] for part in PARTS)
    return emulation / everything, (no_updates - emulation) / everything, (everything - no_updates) / everything


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--langevin", default="build/langevin")
    parser.add_argument("--before", help="the program of another commit, to compare with")
    parser.add_argument("--python", default=".venv/bin/python", help="an interpreter with ale-py")
    parser.add_argument("--torch", default=".venv-peers/bin/python", help="an interpreter with torch, ale-py and OpenCV")
    parser.add_argument("--game", default="freeway")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--core", type=int, default=0)
    options = parser.parse_args()
    environment = dict(os.environ, LANGEVIN_PYTHON=os.path.abspath(options.python))
    programs = {"before": options.before, "langevin": options.langevin} if options.before else {"langevin": options.langevin}
    ours, wall = (collections.defaultdict(lambda: [float("inf")] * 2) for _ in range(2))
    peer = {}
    for _ in range(options.rounds):
        measure_ours(options, programs, environment, ours)
        measure_peer(options, peer)
        if len(two_cores()) == 2:
            measure_two_cores(options, programs, environment, wall)
    ours, wall = per_step(options, ours), per_step(options, wall)
    form = "%-22s %8.0f steps/s   emulation %4.0f %%   acting %4.0f %%   updating %4.0f %%"
    for name in programs:
        print(form % (name, 1 / ours[name, "all"], *(100 * share for share in shares(ours, name))))
    theirs = [peer["share_" + name] for name in ("emulating", "acting", "updating")]
    print(form % ("PyTorch " + peer["torch"], peer["steps_per_cpu_second"], *(100 * share for share in theirs)))
    ratio = 1 / ours["langevin", "all"] / peer["steps_per_cpu_second"]
    print("ratio %.2f (target: %.1f)" % (ratio, WANTED))
    for (name, way), seconds in wall.items():
        print("%-22s %8.0f steps/s by the wall clock on two cores: %s" % (name, 1 / seconds, way))
    print(json.dumps({"seconds per step": {": ".join(key): value for key, value in {**ours, **wall}.items()},
                      "peer": peer, "ratio": ratio}))


if __name__ == "__main__":
    main()
