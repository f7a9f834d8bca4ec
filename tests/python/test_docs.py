"""Every example in the documentation runs: the Python blocks of README.md and docs/, one after the other in a file, the
programs in examples/, and the cells of its notebooks."""

import json
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

# The pages start-*.md are in test_commands.py.
PAGES = [
    p for p in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```python" in p.read_text() and not p.name.startswith("start-")
]  # fmt: skip
SCRIPTS = [ROOT / "examples" / name for name in ("train_cartpole.py", "compare_linear.py")]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def run(code, directory, name, *arguments):
    """In a process of its own, so that no example leans on what a test has imported."""
    file = directory / name
    file.write_text(code)
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" or os.environ.get("LANGEVIN_SANITIZED")}
    done = subprocess.run([sys.executable, file, *arguments], cwd=directory, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_there_are_examples():
    assert {p.name for p in PAGES} >= {"README.md", "python.md"} and NOTEBOOKS


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_page(page, tmp_path):
    text = page.read_text()
    blocks = [(text[: m.start()].count("\n"), m.group(1)) for m in re.finditer(r"```python\n(.*?)```", text, re.S)]
    lines = []
    for line, block in blocks:  # so that tracebacks name the lines of the page
        lines += [""] * (line + 1 - len(lines)) + block.splitlines()
    run("\n".join(lines) + "\n", tmp_path, page.stem + ".py")


def test_train_cartpole(tmp_path):
    output = run(SCRIPTS[0].read_text(), tmp_path, SCRIPTS[0].name, "8000")
    before, after = (float(line.rsplit(":", 1)[1].split()[0]) for line in output.splitlines())
    assert after > 2 * before


def test_compare_linear(tmp_path):
    output = run(SCRIPTS[1].read_text(), tmp_path, SCRIPTS[1].name)
    regret = {line.split()[0]: float(line.split()[1]) for line in output.splitlines()[1:]}
    assert len(regret) == 4 and all(value > 0 for value in regret.values())


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.name)
def test_notebook(notebook, tmp_path):
    """The cells as one program; the value of a last line is computed, not shown."""
    cells = json.loads(notebook.read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells), "clear the outputs before the notebook is kept"
    code = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    assert run(code, tmp_path, notebook.stem + ".py"), "a notebook prints what it found"
