"""Runs, sweeps and their records, from Python: the same engine and the same files as the command line's."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
import tempfile
import threading
import time
import warnings
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

import numpy as np

from langevin import _library as library
from langevin import _registry as registry
from langevin._checks import check_count
from langevin._library import CBatch, CError, CProgress, CSummary, CSweepJob, UsageError, lib

# ---- Work that takes a while


class BackgroundCall:
    """A C function in a thread of its own: Ctrl-C can stop it, and the progress is shown meanwhile."""

    def __init__(self, progress_bar: bool):
        self.wanted, self.stop, self.last = progress_bar, False, CProgress()
        self.notices: List[str] = []
        self.failures: List[Tuple[int, str]] = []
        self.begun, self.shown, self.width = time.perf_counter(), 0.0, 0
        # Kept here because C keeps no reference.
        self.on_progress = library.OnProgress(self._progress)
        self.on_notice = library.OnNotice(lambda _, text: self.notices.append(text.decode("utf-8", "replace")))
        self.on_run = library.OnRun(self._note_failure)
        self.should_stop = library.ShouldStop(lambda _: self.stop)

    def _progress(self, _: Any, progress: Any) -> None:
        self.last = CProgress.from_buffer_copy(progress.contents)

    def _note_failure(self, _: Any, news: Any) -> None:
        if news.contents.phase == library.RUN_FAILED:
            message = news.contents.error.contents.message.decode("utf-8", "replace")
            self.failures.append((news.contents.run, message))

    def call(self, function: str, *arguments: Any, keeps: tuple) -> None:
        """keeps: objects whose memory the function uses; the thread holds them."""
        error, result = CError(), []

        def work(keeps: tuple = (keeps, self)) -> None:
            result.append(getattr(lib, function)(*arguments, ctypes.byref(error)))

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.05)
                self._show()
        finally:  # Ctrl-C can come at any place above
            self.stop = True
            thread.join()
            if self.wanted:
                self._show(True)
                sys.stderr.write("\n")
        for notice in dict.fromkeys(self.notices):
            warnings.warn(notice, stacklevel=4)
        if result[0]:
            library.raise_error(result[0], error)

    def _show(self, now: bool = False) -> None:
        if not self.wanted or not (now or time.perf_counter() - self.shown > 0.2):
            return
        self.shown = time.perf_counter()
        p = self.last
        failed = f", {p.runs_failed} failed" if p.runs_failed else ""
        rate = p.steps / max(1e-9, self.shown - self.begun)
        line = f"{100 * p.fraction:3.0f} %  {p.runs_done} / {p.runs} runs{failed}  {rate:,.0f} steps/s  return {p.mean_return:.4g}"
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)


def _threads(threads: Optional[int]) -> int:
    return min(check_count("threads", threads), 2**31 - 1) or len(os.sched_getaffinity(0))


def _summary(s: CSummary) -> Dict[str, Any]:
    return {name: getattr(s, name) for name, *_ in CSummary._fields_}


def _flatten(settings: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """{"env": {"n": 100}} and {"env.n": 100} are the same."""
    if settings is not None and not isinstance(settings, Mapping):
        raise UsageError(f"settings are a dict such as {{'agent.gamma': 0.99}}, not {settings!r:.40}")
    flat: Dict[str, Any] = {}
    for key, value in (settings or {}).items():
        if not isinstance(key, str):
            raise UsageError(f"keys of settings are texts such as 'agent.gamma', not {key!r}")
        if isinstance(value, Mapping) and key in ("env", "agent", "optim", "run"):
            flat.update({f"{key}.{name}": inner for name, inner in value.items()})
        else:
            flat[key] = value
    return flat


def run(
    env: Optional[str] = None,
    agent: Optional[str] = None,
    settings: Optional[Mapping[str, Any]] = None,
    *,
    config: Any = None,
    steps: Optional[int] = None,
    episodes: Optional[int] = None,
    seed: Optional[int] = None,
    seeds: int = 1,
    threads: Optional[int] = None,
    out: Any = None,
    resume: bool = False,
    progress_bar: bool = False,
) -> List[Dict[str, Any]]:
    """Trains an agent on an environment for several seeds side by side, as `langevin run` does.

    env, agent: names of `langevin list`, such as "nchain" or "gym:CartPole-v1", and "adam-lmcdqn".
    settings: any other keys, {"env.n": 100, "agent.gamma": 0.99, "optim.lr": 1e-3, "run.eval_every": 1000}.
    config: a file (YAML or a config.json) that they are laid over.
    out: a directory for the records; left out, nothing is written. resume: continue an interrupted run.
    Returns one dict per seed: seed, steps, episodes, mean_return, final_return, optimal_value, regret,
    solved_episode (NaN where not known) and finished.
    """
    values = _flatten(settings)
    for key, value in (("env.name", env), ("agent.name", agent), ("run.steps", steps), ("run.episodes", episodes)):
        if value is not None:
            values[key] = value
    handle = registry.make_settings({})
    if config is not None:
        library.call("lgv_settings_load", handle.pointer, library.encode_path(config))
    registry.fill_settings(handle, values)
    background = BackgroundCall(progress_bar)
    lib.lgv_settings_on_notice(handle.pointer, background.on_notice, None)
    plan = library.create("lgv_plan_create", "lgv_plan_free", handle.pointer, keeps=(handle, background))
    if seed is None:
        seed = int(library.text_of("lgv_plan_get", plan.pointer, "run.seed") or 0)
    first, count = library.check_seed(seed), check_count("seeds", seeds)
    if not 1 <= count < 2**31 or first + count > 2**64:
        raise UsageError("seeds: how many, at least 1, the last one below 2^64")
    batch = CBatch(
        plan=plan.pointer,
        first_seed=first,
        seeds=count,
        threads=_threads(threads),
        resume=bool(resume),
        directory=None if out is None else library.encode_path(out),
        on_progress=background.on_progress,
        should_stop=background.should_stop,
    )
    summaries = (CSummary * count)()
    background.call("lgv_batch_run", ctypes.byref(batch), summaries, keeps=(batch, plan))
    return [_summary(s) for s in summaries]


def sweep(
    file: Any,
    out: Any,
    *,
    scale: Optional[str] = None,
    threads: Optional[int] = None,
    progress_bar: bool = False,
) -> List[Dict[str, Any]]:
    """Runs the configurations and seeds of a sweep that have not finished yet, as `langevin sweep` does.

    file: a YAML file, or the same as a dict: {"env": {"name": "nchain"}, ..., "grid": {"env.n": [25, 50]}}.
    Returns one dict per run: config, its number; path, the directory; the keys in which configurations differ, as text;
    and what run() returns. A run that failed has finished False, and a warning says why.
    """
    with sweep_file(file) as path:
        return _sweep(path, out, scale, threads, progress_bar)


@contextlib.contextmanager
def sweep_file(file: Any) -> Iterator[Any]:
    """The path of a sweep file, which may also be given as a dict."""
    if not isinstance(file, Mapping):
        yield file
        return
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "sweep.json")  # JSON is YAML
        with open(path, "w", encoding="utf-8") as target:
            json.dump(file, target, default=lambda array: array.tolist())  # NumPy's
        yield path


def _sweep(file: Any, out: Any, scale: Optional[str], threads: Optional[int], progress_bar: bool) -> List[Dict[str, Any]]:
    name = None if scale is None else scale.encode()
    handle = library.create("lgv_sweep_load", "lgv_sweep_free", library.encode_path(file), name)
    info = lib.lgv_sweep_get_info(handle.pointer).contents
    names = ctypes.create_string_buffer(info.configs * library.SWEEP_NAME_SIZE)
    summaries = (CSummary * (info.configs * info.seeds))()
    background = BackgroundCall(progress_bar)
    job = CSweepJob(
        sweep=handle.pointer,
        threads=_threads(threads),
        directory=library.encode_path(out),
        on_progress=background.on_progress,
        on_run=background.on_run,
        should_stop=background.should_stop,
        names=ctypes.addressof(names),
        on_notice=background.on_notice,
    )
    background.call("lgv_sweep_run", ctypes.byref(job), summaries, keeps=(job, handle, names))
    for index, message in background.failures:
        config, seed = index // info.seeds, info.first_seed + index % info.seeds
        warnings.warn(f"configuration {config}, seed {seed}: {message}", stacklevel=3)
    keys: List[str] = []
    while (key := lib.lgv_sweep_key(handle.pointer, len(keys))) is not None:
        keys.append(key.decode())
    found = []
    for config in range(info.configs):
        start = config * library.SWEEP_NAME_SIZE
        directory = names.raw[start : start + library.SWEEP_NAME_SIZE].split(b"\0")[0].decode()
        values = [lib.lgv_sweep_value(handle.pointer, config, i) for i in range(len(keys))]
        differs = {key: value.decode() for key, value in zip(keys, values) if value is not None}
        for i in range(lib.lgv_sweep_seeds(handle.pointer, config)):
            summary = _summary(summaries[config * info.seeds + i])
            summary["seed"] = info.first_seed + i
            path = os.path.join(os.fspath(out), directory, f"seed-{summary['seed']}")
            found.append({"config": config, "path": path, **differs, **summary})
    return found


def evaluate(agent: Any, episodes: int = 10, seed: int = 0, *, env: Any = None) -> np.ndarray:
    """Returns of fresh evaluation episodes, as `langevin eval` plays them. agent: an agent, a run's directory, a checkpoint
    in it, or a file that save() has written.

    env: where an agent plays; left out, a new environment like its own. Its training environment stays as it is."""
    count = check_count("episodes", episodes)
    returns = np.empty(count)
    number = library.check_seed(seed)
    if not isinstance(agent, (str, os.PathLike)):
        from langevin._evaluation import Evaluation

        return Evaluation(agent, env, library.CRng.stream(number, "env.fresh")).play(agent, count)
    if env is not None:
        raise UsageError("env: only where an agent plays; a run or a file names its own environment")
    path = agent
    library.call("lgv_evaluate", library.encode_path(path), count, number, returns.ctypes.data)
    return returns


# ---- Records


def _load_json(directory: str, name: str) -> Optional[Dict[str, Any]]:
    try:
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise library.FileError(f"{os.path.join(directory, name)} is damaged: {error}") from None


def load_metrics(directory: str) -> Dict[str, np.ndarray]:
    path = os.path.join(directory, "metrics.csv")
    try:
        with open(path, encoding="utf-8") as file:
            names = file.readline().rstrip("\n").split(",")
            rows = [line.rstrip("\n").split(",") for line in file if line.endswith("\n")]  # the last may be torn
    except FileNotFoundError:
        return {}
    try:
        table = np.array([[float(x) if x else np.nan for x in row] for row in rows]).reshape(len(rows), len(names))
    except ValueError as error:
        raise library.FileError(f"{path} is damaged: {error}") from None
    return {name: table[:, i] for i, name in enumerate(names)}


def read_run(directory: Any) -> Dict[str, Any]:
    """The records of one run: path, config (nested dicts), summary and timing (None if it did not end), and metrics, an
    array per column."""
    path = os.fspath(directory)
    config = _load_json(path, "config.json")
    if config is None:
        raise library.FileError(f"{path} is not the directory of a run: it has no config.json")
    return {
        "path": path,
        "config": config,
        "summary": _load_json(path, "summary.json"),
        "timing": _load_json(path, "timing.json"),
        "metrics": load_metrics(path),
    }


def read_runs(directory: Any, *, as_frame: bool = False) -> Any:
    """The records of all runs at and below a directory, sorted by their paths: a list of what read_run returns.

    as_frame: instead one pandas DataFrame with a row for each of metrics.csv, and the columns path, env, agent and
    seed before those of the file.
    """
    top = os.fspath(directory)
    if not os.path.isdir(top):
        raise library.FileError(f"there is no directory {top}")

    def fail(error: OSError) -> None:
        raise library.FileError(f"cannot look into {error.filename}: {error.strerror}; its runs would be missing")

    found = sorted(path for path, _, files in os.walk(top, onerror=fail) if "config.json" in files)
    runs = [read_run(path) for path in found]
    if not as_frame:
        return runs
    try:
        import pandas
    except ModuleNotFoundError:
        raise ImportError("as_frame=True needs the package pandas: pip install pandas") from None
    frames = []
    for one in runs:
        config = one["config"]
        head = {"path": one["path"], "env": config["env"]["name"], "agent": config["agent"]["name"],
                "seed": config["run"]["seed"]}  # fmt: skip
        frames.append(pandas.DataFrame({**head, **one["metrics"]}, index=range(len(one["metrics"].get("step", ())))))
    return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()


