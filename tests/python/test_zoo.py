"""The zoo: its files are those that scripts/zoo writes, every agent trains again to the same bits, models do what their
cards say, and push_to_hub uploads what the hub expects.

tests/golden/zoo.json has the digests of short runs. Those of the kernels `portable` hold on every machine; those of others
only with the compiler and the C library that made them, as in scripts/golden. ZOO_WRITE=1 makes the file anew."""

import csv
import hashlib
import http.server
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

import gymnasium
import pytest
from conftest import ROOT

import langevin

LANGEVIN = os.environ.get("LANGEVIN_COMMAND") or shutil.which("langevin")
ZOO = ROOT / "zoo"
NAMES = sorted(path.parent.name for path in ZOO.glob("*/config.yaml"))
MODELS = [name for name in NAMES if (ZOO / name / "model.safetensors").exists()]
GOLDEN = ROOT / "tests" / "golden" / "zoo.json"
KERNELS = ["portable", "avx2"]
NEEDS = {"lunarlander": "Box2D", "minigrid": "minigrid", "minatar": "minatar"}
SHORT = ["--steps", "300", "--quiet", "--set", "run.eval_every=100", "--set", "run.eval_episodes=1", "--set", "run.eval_steps=50"]

pytestmark = pytest.mark.skipif(not LANGEVIN, reason="there is no command line: build it, or set LANGEVIN_COMMAND")


def script(name):
    """A program of scripts/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def need(name):
    """Skips the test where the package of a task is missing."""
    for beginning, package in NEEDS.items():
        if name.startswith(beginning):
            pytest.importorskip(package, reason=f"{package} is not installed")


def zoo(*words, code=0, **env):
    environment = {**os.environ, "LANGEVIN_PYTHON": sys.executable, "LANGEVIN_ZOO": str(ZOO), **env}
    done = subprocess.run([LANGEVIN, "zoo", *map(str, words)], capture_output=True, text=True, env=environment)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


# ---- Files


def test_files_are_those_of_the_script():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "zoo", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_script_recommends_by_means_of_enough_runs():
    recommend = script("zoo").recommend

    def rows(*returns):
        return [{"return": str(value)} for value in returns]

    groups = {("a", "t"): rows(1, 2, 3, 4, 5), ("b", "t"): rows(9, 9), ("c", "t"): rows(3, 3, 3, 3, 4), ("a", "u"): rows(1)}  # fmt: skip
    assert recommend(groups, "t")[0] == "c"  # b has the highest mean, of two runs
    with pytest.raises(SystemExit, match="u: no agent has 5 runs"):
        recommend(groups, "u")


def test_the_script_removes_what_belongs_to_another_agent(tmp_path, monkeypatch):
    module = script("zoo")
    monkeypatch.setattr(module, "ZOO", tmp_path)
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").touch()
    entries = [{"name": "new", "trained": {"agent": "dqn"}}, {"name": "old", "trained": None}]
    assert module.stale(entries) == [tmp_path / "old" / "model.safetensors"]
    assert module.model_path(entries[0]) and not module.model_path(entries[1])


def test_size():
    assert sum(path.stat().st_size for path in ZOO.rglob("*") if path.is_file()) < 3_000_000
    assert len(NAMES) == 24 and len(MODELS) >= 16


def test_cards_show_their_curves():
    for name in NAMES:
        card = (ZOO / name / "README.md").read_text()
        assert ("](curve.png)" in card) == (ZOO / name / "curve.png").exists() == ("Not trained yet" not in card)


def test_cards_have_the_metadata_of_the_hub():
    cards = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    for name in NAMES:
        data = cards.ModelCard.load(ZOO / name / "README.md").data
        assert data.library_name == "langevin" and "reinforcement-learning" in data.tags and data.license == "apache-2.0"
        (result,) = data.eval_results
        assert result.task_type == "reinforcement-learning" and result.metric_type == "mean_reward"
        assert float(result.metric_value.split()[0]) == pytest.approx(float(result.metric_value.split()[0]))


# ---- The command


def test_commands():
    listed = [line.split("|")[1].strip() for line in zoo("list").splitlines()[2:]]
    assert sorted(listed) == NAMES
    assert "# adam-lmcdqn on CartPole" in zoo("show", "cartpole")
    wrong = {
        (): "list, show, train or watch?",
        ("lst",): "did you mean 'list'?",
        ("list", "x"): "list takes nothing else",
        ("show",): "which agent?",
        ("show", "cartpol"): "did you mean 'cartpole'?",
        ("show", "../zoo/cartpole"): "the zoo has no",
        ("show", "cartpole", "taxi"): "one agent at a time",
        ("train", "cartpole", "--seeed", "3"): "did you mean '--seed'?",
    }
    for words, says in wrong.items():
        assert says in zoo(*words, code=2)
    without = next(name for name in NAMES if name not in MODELS)
    assert f"{without} has no model yet" in zoo("watch", without, code=1)
    assert "cannot read" in zoo("list", code=1, LANGEVIN_ZOO="/none")


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    """A model acts, and about as well as its card says; the card's number is of another evaluation, hence five errors."""
    need(name)
    assert "episode 1: return" in zoo("watch", name, "--delay", "0")
    with open(ZOO / "models.csv", newline="") as file:
        stated = next(float(row["return"]) for row in csv.DictReader(file) if row["name"] == name)
    count = 2000 if name == "blackjack" else 30
    returns = langevin.evaluate(ZOO / name / "model.safetensors", count, seed=1)
    error = returns.std(ddof=1) / count**0.5
    assert abs(returns.mean() - stated) <= 5 * 2**0.5 * error + 1e-6 * abs(stated) + 1e-9


# ---- The same bits


def run_briefly(name, kernels, out):
    """The digest of a short run with the settings of the zoo."""
    words = ["train", name, *SHORT, "--out", out]
    config = (ZOO / name / "config.yaml").read_text()
    if "stop_return" in config:
        words += ["--set", "run.stop_return=inf"]
    if "pathwise" not in config:
        words += ["--set", "agent.warmup=50", "--set", "agent.replay=400"]
    zoo(*words, LANGEVIN_KERNELS=kernels, OPENBLAS_CORETYPE="Haswell", OPENBLAS_NUM_THREADS="1")
    parts = [(pathlib.Path(out) / file).read_bytes() for file in ("metrics.csv", "summary.json")]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("name", NAMES)
def test_same_bits(name, kernels, tmp_path):
    need(name)
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {"machine": script("golden").machine(LANGEVIN)}
    if kernels != "portable":
        if golden["machine"] != script("golden").machine(LANGEVIN):
            pytest.skip("the digests were made with another compiler, C library or BLAS")
        if kernels not in os.popen("grep -m1 -o avx2 /proc/cpuinfo").read():
            pytest.skip("this CPU cannot run these kernels")
    digest = run_briefly(name, kernels, tmp_path / "run")
    if os.environ.get("ZOO_WRITE"):
        golden.setdefault(kernels, {})[name] = digest
        GOLDEN.write_text(json.dumps(golden, indent=1, sort_keys=True) + "\n")
    assert golden[kernels][name] == digest


# ---- The hub


class Hub(http.server.BaseHTTPRequestHandler):
    """Answers what huggingface_hub asks for when it makes a repository and commits small files to it."""

    asked = []

    def _answer(self, value, code=200):
        text = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.asked.append((self.path, b""))
        self._answer({"id": "me/agent", "sha": "0" * 40, "siblings": [], "tags": [], "downloads": 0, "private": False})

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b"".join(self._chunks())
        self.asked.append((self.path, body))
        url = f"http://{self.headers['Host']}/me/agent"
        if self.path.endswith("/preupload/main"):
            files = [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in json.loads(body)["files"]]
            self._answer({"files": files})
        elif "/commit/" in self.path:
            self._answer({"commitUrl": f"{url}/commit/{'0' * 40}", "commitOid": "0" * 40, "pullRequestUrl": None})
        elif self.path.endswith("/validate-yaml"):
            self._answer({"errors": [], "warnings": []})
        else:
            self._answer({"url": url, "name": "me/agent", "id": "me/agent"})

    def _chunks(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(monkeypatch):
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Hub.asked = []
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def uploaded():
    """The files of the commit, by their paths."""
    (body,) = [body for path, body in Hub.asked if "/commit/" in path]
    lines = [json.loads(line) for line in body.splitlines() if line]
    return {line["value"]["path"]: line["value"]["content"] for line in lines if line["key"] == "file"}


def test_push_a_folder(hub):
    assert langevin.push_to_hub(ZOO / "cartpole", "me/agent", endpoint=hub, token="hf_x") == f"{hub}/me/agent"
    assert set(uploaded()) >= {"README.md", "config.yaml", "model.safetensors"}


def test_push_an_agent(hub, tmp_path):
    import base64

    agent = langevin.AdamLMCDQN(gymnasium.make("CartPole-v1"), seed=0, warmup=50, replay=500).learn(300)
    langevin.push_to_hub(agent, "me/agent", episodes=5, endpoint=hub, token="hf_x")
    files = uploaded()
    card = base64.b64decode(files["README.md"]).decode()
    assert card.startswith("---\nlibrary_name: langevin\n") and "adam-lmcdqn on CartPole-v1" in card
    (tmp_path / "model.safetensors").write_bytes(base64.b64decode(files["model.safetensors"]))
    assert list(langevin.evaluate(tmp_path / "model.safetensors", 3)) == list(langevin.evaluate(agent, 3))


def test_push_mistakes(tmp_path):
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    with pytest.raises(langevin.UsageError, match="write user/name"):
        langevin.push_to_hub(ZOO / "cartpole", "agent")
    with pytest.raises(langevin.UsageError, match="has no card"):
        langevin.push_to_hub(tmp_path, "me/agent")


def test_without_huggingface_hub(tmp_path):
    (tmp_path / "huggingface_hub.py").write_text("raise ModuleNotFoundError('none', name='huggingface_hub')\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    code = "import langevin; langevin.push_to_hub('x', 'me/agent')"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "ImportError: push_to_hub needs the package huggingface_hub: pip install" in done.stderr
