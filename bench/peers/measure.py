"""Timing in the manner of `langevin bench`: CPU time, the best of several repetitions, everything
in turn, and the median of the turns."""

import json
import resource
import statistics
import subprocess
import tempfile
import time


def best(work, least=0.15, repetitions=5):
    """Return the seconds of one call of work()."""
    begun = time.process_time()
    work()
    once = max(time.process_time() - begun, 1e-7)
    times = max(1, int(least / repetitions / once))
    found = float("inf")
    for _ in range(repetitions):
        begun = time.process_time()
        for _ in range(times):
            work()
        found = min(found, (time.process_time() - begun) / times)
    return found


def ours(langevin, groups, only):
    """Return {line: (seconds per unit, share of its limit)} from `langevin bench`."""
    command = [langevin, "bench", *groups, "--quick", "--rounds", "5", "--json", "--only", only]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {line["name"]: (line["seconds_per_unit"], line["share"]) for line in report["lines"]}


def ours_run(langevin, env, agent, settings, steps):
    """Return the CPU seconds of that many steps of `langevin run`, without startup."""

    def spent(count):
        with tempfile.TemporaryDirectory() as folder:
            command = [langevin, "run", "--env", env, "--agent", agent, "--steps", str(count), "--quiet"]
            for setting in settings:
                command += ["--set", setting]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([*command, "--out", folder + "/run"], check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return spent(steps) - spent(1)


class Turns:
    """The times of all turns, by name."""

    def __init__(self):
        self.times = {}

    def add(self, name, seconds):
        self.times.setdefault(name, []).append(seconds)

    def median(self, name):
        return statistics.median(self.times[name])


def text_of(seconds):
    units = ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
    scale, unit = next((pair for pair in units if seconds >= pair[0]), units[-1])
    return f"{seconds / scale:.3g} {unit}"
