"""Commands in the documentation. Those of the pages start-*.md run, in their order, with the files that the pages ask to
save; all others exist, with these options, agents, environments and settings."""

import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

LANGEVIN = os.environ.get("LANGEVIN_COMMAND") or shutil.which("langevin")
BUILD = os.path.dirname(LANGEVIN or "")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
STARTS = sorted((ROOT / "docs").glob("start-*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
SAVED = re.compile(r"Save this as `([\w.]+)`:\n\n\Z")

pytestmark = pytest.mark.skipif(not LANGEVIN, reason="there is no command line: build it, or set LANGEVIN_COMMAND")


# ---- The pages for beginners


def parts_of(page):
    """("file", name, text) and ("sh", line number, text) in the order of the page; installing is left out."""
    text = page.read_text()
    install = re.search(r"^## Install$.*?(?=^## )", text, re.M | re.S)
    for match in BLOCK.finditer(text):
        if install.start() < match.start() < install.end():
            continue
        saved = SAVED.search(text[: match.start()])
        if saved:
            yield "file", saved.group(1), match.group(2)
        elif match.group(1) == "sh":
            yield "sh", text[: match.start()].count("\n") + 1, match.group(2)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What the pages call installing: the library and the command in a folder of their own."""
    prefix = tmp_path_factory.mktemp("prefix")
    if os.environ.get("LANGEVIN_SANITIZED"):
        pytest.skip("programs that are not built with the sanitizers cannot load the library")
    if not os.path.exists(os.path.join(BUILD, "cmake_install.cmake")):
        pytest.skip("the library was not built here")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
    library = next(prefix.rglob("pkgconfig")).parent
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LANGEVIN_")}
    return {
        **environment,
        "PATH": os.pathsep.join([str(prefix / "bin"), os.path.dirname(sys.executable), os.environ["PATH"]]),
        "PKG_CONFIG_PATH": str(library / "pkgconfig"),
        "LD_LIBRARY_PATH": str(library),
        "LANGEVIN_LIBRARY": os.environ.get("LANGEVIN_LIBRARY", ""),
        "LANGEVIN_PYTHON": sys.executable,
    }


@pytest.mark.parametrize("page", STARTS, ids=lambda p: p.stem)
def test_page_runs(page, installed, tmp_path):
    commands = 0
    for kind, name, text in parts_of(page):
        if kind == "file":
            (tmp_path / name).write_text(text)
            continue
        for line in text.splitlines():
            done = subprocess.run(line, shell=True, cwd=tmp_path, env=installed, capture_output=True, text=True)
            assert done.returncode == 0, f"{page.name}:{name}: {line}\n{done.stdout[-1000:]}{done.stderr[-2000:]}"
            commands += 1
    assert commands >= 2


def test_three_kinds_of_user():
    assert [page.stem for page in STARTS] == ["start-c", "start-command-line", "start-python"]


# ---- Every other command


@functools.lru_cache(maxsize=None)
def options_of(command):
    """The options of a command: {"--env": whether it takes a value}."""
    text = subprocess.run([LANGEVIN, "help", command], capture_output=True, text=True, check=True).stdout
    found = {}
    for letter, name, argument in re.findall(r"^ *(-\w)?,? *(--[a-z0-9-]+)( [A-Z\[]\S*)?", text, re.M):
        found[name] = bool(argument)
        if letter:
            found[letter] = bool(argument)
    return found


@functools.lru_cache(maxsize=None)
def known():
    """Names of the registry and keys of settings."""
    registry = json.loads(subprocess.run([LANGEVIN, "list", "--json"], capture_output=True, check=True).stdout)
    prefixes = {"agents": "agent.", "envs": "env.", "optimizers": "optim.", "features": "features."}
    keys = {prefixes[kind] + p["name"] for kind, entries in registry.items() for e in entries for p in e["params"]}
    keys |= {"agent.name", "env.name", "optim.name"}
    names = {kind: {entry["name"] for entry in entries} for kind, entries in registry.items()}
    names["agents"].add("auto")
    overview = subprocess.run([LANGEVIN, "help"], capture_output=True, text=True, check=True).stdout
    return names, keys, set(re.findall(r"^  ([a-z]+)  ", overview, re.M))


def is_placeholder(text):
    return text.isupper() or "..." in text or "$" in text or "{" in text


def fault_of(words):
    """What is wrong with the words of a command line after `langevin`; None if nothing is."""
    names, keys, commands = known()
    if not words or is_placeholder(words[0]) or words[0].startswith("-"):
        return None
    if words[0] not in commands:
        return f"there is no command {words[0]}"
    other = {"train": "run", "watch": "watch"}.get(words[1] if len(words) > 1 else "", "zoo")  # that the zoo hands over to
    options, at = options_of(other if words[0] == "zoo" else words[0]), 1
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            options = options_of("sweep")
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if not word.startswith("-") or is_placeholder(word) or word == "-":
            continue
        if name not in options:
            return f"langevin {words[0]} has no option {name}"
        if options[name] and not equals:
            value = words[at] if at < len(words) else ""
            at += 1
        if name in ("--agent", "-a") and not is_placeholder(value) and value not in names["agents"]:
            return f"there is no agent {value}"
        if name in ("--env", "-e") and not is_placeholder(value) and value.split(":")[0] not in names["envs"]:
            return f"there is no environment {value}"
        key = value.split("=")[0]
        if name == "--set" and not key.startswith(("run.", "env.kwargs.")) and key not in keys and not is_placeholder(key):
            return f"there is no setting {key}"
    return None


def commands_of(text):
    """The commands of a page: lines of code, and spans of code that begin with the program's name."""
    code = re.findall(r"^```(?:sh|text|)\n(.*?)^```$", text, re.M | re.S) + re.findall(r"^    (.*)$", text, re.M)
    lines = [line for block in code for line in block.splitlines()]
    lines += re.findall(r"`((?:build/)?langevin [^`]+)`", text.replace("\n", " "))
    for line in lines:
        for part in re.split(r"&&|\|(?!\|)|;", line.split(" #")[0]):
            match = re.match(r"\s*(?:[A-Z_]+=\S+ +)*(?:\S*/)?langevin (.*)", part)
            if match:
                yield match.group(1).strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_exist(page):
    wrong = []
    for command in commands_of(page.read_text()):
        try:
            words = shlex.split(command)
        except ValueError:
            continue  # a span that is cut within quotes
        fault = fault_of(words)
        if fault:
            wrong.append(f"langevin {command}: {fault}")
    assert not wrong, "\n".join(wrong)


def test_the_check_notices_mistakes():
    assert fault_of(shlex.split("run --env nchain --agent dqn --steps 10")) is None
    assert fault_of(["walk"]) and fault_of(["run", "--stpes", "10"]) and fault_of(["run", "--agent", "qdn"])
    assert fault_of(["run", "--env", "nchian"]) and fault_of(["run", "--set", "agent.gama=1"])
    assert sum(1 for page in PAGES for _ in commands_of(page.read_text())) > 100


def test_make_targets_exist():
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        for words in re.findall(r"`make ([a-z-]+(?: [a-z-]+)*)|^    make ([a-z-]+)", page.read_text(), re.M):
            for word in (words[0] or words[1]).split():
                assert word in targets, f"{page.name}: make {word}"
