"""A sweep on a Dask cluster, one task per run: python dask_sweep.py sweep.yaml runs/sweep [SCHEDULER]

The directory is one that all workers share. Runs that have finished are not submitted, and a run whose worker dies resumes
from its checkpoint: Dask starts its task again, or the next call of this program does."""

import subprocess
import sys

from dask.distributed import Client, progress


def langevin(*words):
    return subprocess.run([sys.executable, "-m", "langevin", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def run(index, file, out):
    langevin("sweep", file, "--out", out, "--quiet", "--jobs", "1", "--index", index)
    return index


if __name__ == "__main__":
    file, out, *address = sys.argv[1:]
    with Client(*address, **({} if address else {"threads_per_worker": 1})) as client:
        indexes = langevin("sweep", file, "--out", out, "--unfinished", "--lines").split()
        futures = client.map(run, indexes, file=file, out=out, retries=3, pure=False)
        progress(futures, notebook=False)
        print(f"\n{len(client.gather(futures))} runs")
    print(langevin("sweep", file, "--out", out, "--merge"))
