"""A sweep on a Ray cluster, one task per run: python ray_sweep.py sweep.yaml runs/sweep

The directory is one that all nodes share. Runs that have finished are not submitted, and a run whose node dies resumes
from its checkpoint: Ray starts its task again, or the next call of this program does."""

import subprocess
import sys

import ray


def langevin(*words):
    return subprocess.run([sys.executable, "-m", "langevin", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


@ray.remote(num_cpus=1, max_retries=3, retry_exceptions=True)
def run(index, file, out):
    langevin("sweep", file, "--out", out, "--quiet", "--jobs", "1", "--index", index)
    return index


if __name__ == "__main__":
    file, out = sys.argv[1:]
    ray.init()  # RAY_ADDRESS names a cluster; without it, this machine is one
    indexes = langevin("sweep", file, "--out", out, "--unfinished", "--lines").split()
    done = ray.get([run.remote(index, file, out) for index in indexes])
    print(f"{len(done)} runs")
    print(langevin("sweep", file, "--out", out, "--merge"))
