"""The stubs are those of the registry, and type checkers accept the examples and refuse mistakes."""

import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT

import langevin

mypy = pytest.importorskip("mypy")


def test_stubs_are_current():
    subprocess.run([sys.executable, ROOT / "scripts" / "python-stubs", "--check"], check=True)


WRONG = """\
import langevin
agent = langevin.AdamLMCDQN("CartPole-v1", gama=0.9)
agent = langevin.AdamLMCDQN("CartPole-v1", loss="mae")
agent.learn("long")
langevin.AdamLMC
"""
# Only what is ours is looked at: the whole of torch would take minutes.
CONFIG = "[mypy]\n" + "".join(
    f"[mypy-{name}.*]\nfollow_imports = skip\nignore_missing_imports = True\n" for name in ("gymnasium", "numpy", "pandas", "torch")
)


def test_type_checker(tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "mypy.ini").write_text(CONFIG)
    examples = [ROOT / "examples" / name for name in ("train_cartpole.py", "compare_linear.py")]
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--config-file=mypy.ini", "wrong.py", *examples]
    path = str(pathlib.Path(langevin.__file__).parent.parent)
    result = subprocess.run(command, cwd=tmp_path, env={"MYPYPATH": path}, capture_output=True, text=True)
    found = [line.split(":")[:2] for line in result.stdout.splitlines() if ": error:" in line]
    assert found == [["wrong.py", str(line)] for line in (2, 3, 4, 5)], result.stdout + result.stderr
