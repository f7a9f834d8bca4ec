"""The examples for clusters give the records of a plain sweep: Ray and Dask on this machine, the job of Kubernetes by its
own command."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

import langevin

LANGEVIN = os.environ.get("LANGEVIN_COMMAND") or shutil.which("langevin")
SWEEP = {"env": {"name": "nchain", "n": 5}, "agent": "dqn", "run": {"steps": 300}, "grid": {"agent.batch": [8, 16]},
         "seeds": {"first": 0, "count": 3}}  # fmt: skip

pytestmark = pytest.mark.skipif(not LANGEVIN, reason="there is no command line: build it, or set LANGEVIN_COMMAND")


def metrics(out):
    return {str(p.relative_to(out)): p.read_bytes() for p in pathlib.Path(out).rglob("metrics.csv")}


@pytest.fixture
def sweep(tmp_path):
    (tmp_path / "sweep.yaml").write_text(json.dumps(SWEEP))
    langevin.sweep(tmp_path / "sweep.yaml", tmp_path / "plain")
    assert len(metrics(tmp_path / "plain")) == 6
    return tmp_path


@pytest.mark.parametrize("package", ["ray", "dask"])
def test_example(package, sweep):
    pytest.importorskip("distributed" if package == "dask" else package, reason=f"{package} is not installed")
    out = sweep / package
    command = [sys.executable, ROOT / "examples" / f"{package}_sweep.py", sweep / "sweep.yaml", out]
    subprocess.run([*command[:1], "-m", "langevin", "sweep", sweep / "sweep.yaml", "--out", out, "--index", "2", "-q"], check=True)
    for runs in ("5 runs", "0 runs"):  # one is done; then all are
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=sweep)
        assert done.returncode == 0 and runs in done.stdout, done.stderr[-2000:]
    assert metrics(out) == metrics(sweep / "plain") and (out / "table.csv").exists()


def test_kubernetes(sweep):
    """The pods' command, for each index, does every run once; the file is valid where kubernetes-validate is installed."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    job = yaml.safe_load((ROOT / "examples" / "k8s.yaml").read_text())
    spec, (container,) = job["spec"], job["spec"]["template"]["spec"]["containers"]
    (text,) = container["args"]
    command = text.split("exec ")[1].replace("langevin", f"{sys.executable} -m langevin", 1)
    command = command.replace("/sweep/sweep.yaml", str(sweep / "sweep.yaml")).replace("/runs/sweep", str(sweep / "pods"))
    for index in range(6):  # a pod whose index is beyond the runs would have none
        environment = {**os.environ, "JOB_COMPLETION_INDEX": str(index)}
        subprocess.run([*container["command"], command], check=True, env=environment, capture_output=True)
        assert len(metrics(sweep / "pods")) == index + 1
    assert metrics(sweep / "pods") == metrics(sweep / "plain")
    assert spec["completions"] == 20 and ":20" in text
    validator = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    validator.validate(job, validator.latest_version(), strict=True)
    with pytest.raises(validator.ValidationError):
        validator.validate({**job, "spec": {**spec, "completion": 3}}, validator.latest_version(), strict=True)
