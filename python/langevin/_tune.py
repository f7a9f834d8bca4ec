"""Tuning by Optuna. The file is that of a sweep: its `random` section names the keys and their distributions. A sweep
draws all configurations at once and runs each to the end; here the tree-structured Parzen estimator proposes one after
the other, and successive halving stops the poor ones early.

A trial is a configuration. Its runs are where a sweep would put them, OUT/ENV-AGENT-DIGEST/seed-S, so that everything
that reads runs reads trials, and trials with the same settings share their runs. A pruned trial is a run that was
stopped; it can be resumed exactly. OUT/study.log is Optuna's journal.

Any number of processes may work on a study, and any of them may be killed:

* A process holds the lock of a trial's directory while it works on the trial. The system releases the lock when the
  process ends, for whatever reason. A trial that is running but not locked has lost its process; the next process that
  needs work takes it up, before it proposes another.
* At a rung, all runs of a trial write a checkpoint before their value is reported. So a run is never behind what the
  journal says.
* The values of trial n depend on the seed, on n and on the trials before it, and the decision to prune on reported
  values alone. So one process, killed or not, ends with the same trials.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import math
import os
import shutil
import signal
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

import langevin
from langevin import _library as library
from langevin._checks import check_count
from langevin._library import CDrawInfo, CSummary, EnvironmentFailed, Handle, Interrupted, NumericError, UsageError, lib
from langevin._registry import to_text
from langevin._runs import sweep_file

try:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
except ModuleNotFoundError as missing:
    if missing.name != "optuna":
        raise
    raise ImportError("tuning needs the package Optuna: pip install 'langevin[tune]', or pip install optuna") from None

FACTOR = 3  # of successive halving
RUNGS = (1 / FACTOR**2, 1 / FACTOR)  # of the budget, where trials are compared
SLICE = 256  # steps between looks at whether to stop
MINIMIZE, MAXIMIZE = optuna.study.StudyDirection.MINIMIZE, optuna.study.StudyDirection.MAXIMIZE
COMPLETE, PRUNED, FAIL, RUNNING = (optuna.trial.TrialState[name] for name in ("COMPLETE", "PRUNED", "FAIL", "RUNNING"))


# ---- The file


class Draw(NamedTuple):
    """A key and its distribution."""

    key: str
    kind: str
    origin: str
    low: float
    high: float
    choices: Tuple[str, ...]

    def suggest(self, trial: Any) -> Any:
        if self.kind == "choice":
            return trial.suggest_categorical(self.key, self.choices)
        if self.kind == "int_uniform":
            return trial.suggest_int(self.key, int(self.low), int(self.high))
        return trial.suggest_float(self.key, self.low, self.high, log=self.kind == "log_uniform")

    @property
    def ends(self) -> Tuple[Any, ...]:
        if self.kind == "choice":
            return self.choices
        return (int(self.low), int(self.high)) if self.kind == "int_uniform" else (self.low, self.high)

    @property
    def range(self) -> str:
        return f"{{{self.kind}: [{', '.join(to_text(self.key, end) for end in self.ends)}]}}"


class Problem:
    """What a file asks for."""

    def __init__(self, path: Any):
        self.sweep = library.create("lgv_sweep_load", "lgv_sweep_free", library.encode_path(path), None)
        info = lib.lgv_sweep_get_info(self.sweep.pointer).contents
        self.draws = list(self._read_draws())
        self.measure, self.lowest_is_best = info.measure.decode(), info.lowest_is_best
        self.seeds = range(info.first_seed, info.first_seed + lib.lgv_sweep_seeds(self.sweep.pointer, 0))
        self.trials = info.configs
        self._check_keys(os.fspath(path))

    def _read_draws(self) -> Iterator[Draw]:
        draw, index = CDrawInfo(), 0
        while lib.lgv_sweep_draw(self.sweep.pointer, 0, index, ctypes.byref(draw)):
            choices = tuple(draw.choices[i].decode() for i in range(draw.n_choices))
            yield Draw(draw.key.decode(), draw.kind.decode(), draw.origin.decode(), draw.low, draw.high, choices)
            index += 1

    def _check_keys(self, path: str) -> None:
        drawn = [draw.key for draw in self.draws]
        if not drawn:
            raise UsageError(f"{path}: nothing to search for: write random: {{count: 50, keys: {{optim.lr: {{log_uniform: "
                             "[1e-5, 1e-2]}}}}")  # fmt: skip
        for key in library.names_of("lgv_sweep_key", self.sweep.pointer):
            if key not in drawn:
                raise UsageError(f"{path}: '{key}' is in a grid or a case; a tuner draws every key: write random: "
                                 f"{{keys: {{{key}: {{choice: [...]}}}}}}")  # fmt: skip

    def plan(self, values: Mapping[str, Any]) -> Handle:
        settings = library.create("lgv_sweep_settings", "lgv_settings_free", self.sweep.pointer, 0)
        for draw in self.draws:
            text = to_text(draw.key, values[draw.key])
            library.call("lgv_settings_set", settings.pointer, draw.key.encode(), text.encode(), draw.origin.encode())
        return library.create("lgv_plan_create", "lgv_plan_free", settings.pointer)

    def check_ends(self) -> str:
        """A range that reaches beyond what its key accepts is refused before anything runs. The name of the plan whose
        values are the first ends stands for all settings that are not drawn."""
        first = {draw.key: draw.ends[0] for draw in self.draws}
        name = directory_of(self.plan(first))
        for draw in self.draws:
            for end in draw.ends[1:]:
                self.plan({**first, draw.key: end})
        return name


def directory_of(plan: Handle) -> str:
    name = ctypes.create_string_buffer(library.SWEEP_NAME_SIZE)
    library.call("lgv_sweep_directory", plan.pointer, name)
    return name.value.decode()


# ---- Locks and the journal


class FileLock:
    """A lock that the system releases when its process ends. It excludes other threads as well."""

    def __init__(self, path: str):
        self.path = path
        self.file: Any = None

    def take(self, wait: bool) -> bool:
        file = open(self.path, "ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self.file = file
        return True

    def acquire(self) -> bool:
        return self.take(True)

    def release(self) -> None:
        self.file.close()


class JournalLock(FileLock):
    """Of the journal itself. A process that died while it wrote may have left half a line, which is cut off: Optuna would
    append to it and then refuse the file."""

    def acquire(self) -> bool:
        self.take(True)
        with open(self.path, "rb+") as journal:
            if journal.seek(0, os.SEEK_END) == 0 or (journal.seek(-1, os.SEEK_END), journal.read(1))[1] == b"\n":
                return True
            journal.seek(0)
            journal.truncate(journal.read().rfind(b"\n") + 1)
        return True


@contextlib.contextmanager
def held(path: str) -> Iterator[None]:
    lock = FileLock(path)
    lock.acquire()
    try:
        yield
    finally:
        lock.release()


# ---- The rule that stops trials


class Halving(optuna.pruners.BasePruner):
    """Asynchronous successive halving (Li et al., 2020): at a rung, the best third of the trials that have reached it so
    far goes on. A function of reported values alone, unlike Optuna's own, which keeps notes between two calls."""

    def prune(self, study: Any, trial: Any) -> bool:
        rung = trial.last_step
        if rung is None:
            return False
        values = [t.intermediate_values[rung] for t in study.get_trials(deepcopy=False) if rung in t.intermediate_values]
        sign = 1 if study.direction == MINIMIZE else -1
        ranked = sorted(sign * value for value in values)
        return sign * trial.intermediate_values[rung] > ranked[max(1, len(ranked) // FACTOR) - 1]


# ---- One run


class Run:
    """One seed of a trial, resumed where it stopped."""

    def __init__(self, plan: Handle, seed: int, directory: str):
        self.directory, self.summary = directory, CSummary()
        self.handle: Optional[Handle] = None
        if os.path.exists(os.path.join(directory, "summary.json")):
            library.call("lgv_summary_load", library.encode_path(directory), ctypes.byref(self.summary))
        if not self.summary.finished:
            _drop_foreign(directory)
            path = library.encode_path(directory)
            self.handle = library.create("lgv_run_resume", "lgv_run_free", plan.pointer, seed, path, keeps=(plan,))
            lib.lgv_run_summary(self.handle.pointer, ctypes.byref(self.summary))
            self.keeps_checkpoint = library.text_of("lgv_plan_get", plan.pointer, "run.checkpoint_final") == "true"

    def advance(self, unit: str, target: float, stop: threading.Event) -> None:
        """Until it has taken `target` steps or episodes, or has finished. It stops at multiples of SLICE steps, whatever
        step it was resumed at, so that its place at a rung never depends on interruptions."""
        done = ctypes.c_bool()
        while not self.summary.finished and getattr(self.summary, unit) < target:
            if stop.is_set():
                raise Interrupted("stopped; the same command resumes the study")
            count = SLICE - self.summary.steps % SLICE
            if unit == "steps":
                count = int(min(count, target - self.summary.steps))
            assert self.handle is not None
            library.call("lgv_run_advance", self.handle.pointer, count, ctypes.byref(done))
            lib.lgv_run_summary(self.handle.pointer, ctypes.byref(self.summary))

    def checkpoint(self) -> None:
        assert self.handle is not None
        library.call("lgv_run_checkpoint", self.handle.pointer)

    def close(self) -> None:
        """Writes summary.json. Only an unfinished run keeps its checkpoints, unless the file asks for them."""
        if self.handle is None:
            return
        if not self.summary.finished:
            self.checkpoint()
        library.call("lgv_run_finish", self.handle.pointer)
        self.handle = None
        if self.summary.finished:
            names = ["checkpoint-previous"] if self.keeps_checkpoint else ["checkpoint-previous", "checkpoint"]
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.directory, f"{name}.safetensors"))


def _drop_foreign(directory: str) -> None:
    """An unfinished run of another version or kernel set cannot be resumed exactly: it starts again."""
    try:
        with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
            maker = json.load(file)["langevin"]
    except (FileNotFoundError, ValueError, KeyError):
        return
    mine = {"version": langevin.__version__, "kernels": langevin.kernels()}
    if any(maker.get(key) != value for key, value in mine.items()):
        warnings.warn(f"{directory} was begun by langevin {maker.get('version')} with the kernels {maker.get('kernels')}; "
                      "it starts again", stacklevel=2)  # fmt: skip
        shutil.rmtree(directory)


# ---- The study


class Taken(NamedTuple):
    """A trial that this thread works on."""

    trial: Any
    plan: Handle
    directory: str
    lock: FileLock


class Tuner:
    def __init__(self, problem: Problem, out: str, trials: int, seed: int, jobs: int, report: Callable[[str], None]):
        self.problem, self.out, self.trials, self.seed, self.report = problem, out, trials, seed, report
        self.threads = min(jobs, len(problem.seeds))
        self.workers = max(1, jobs // len(problem.seeds))
        self.stop, self.errors = threading.Event(), []  # type: ignore[var-annotated]

    def open_study(self, sampler: Any, pruner: Any) -> Any:
        journal = os.path.join(self.out, "study.log")
        lock: Any = JournalLock(journal)
        storage = JournalStorage(JournalFileBackend(journal, lock))
        direction = MINIMIZE if self.problem.lowest_is_best else MAXIMIZE
        return optuna.create_study(storage=storage, study_name="langevin", direction=direction, sampler=sampler,
                                   pruner=pruner, load_if_exists=True)  # fmt: skip

    def check_study(self, study: Any, settings: str) -> None:
        """A study belongs to one file; only its number of trials may change."""
        problem = self.problem
        mine = {draw.key: draw.range for draw in problem.draws}
        mine.update(measure=problem.measure, best="lowest" if problem.lowest_is_best else "highest",
                    seeds=f"{{first: {problem.seeds.start}, count: {len(problem.seeds)}}}", settings=settings)  # fmt: skip
        theirs = study.user_attrs.get("problem")
        if theirs is None:
            study.set_user_attr("problem", mine)
            return
        for key in {**mine, **theirs}:
            if mine.get(key) != theirs.get(key):
                raise UsageError(f"{self.out} holds another study: {key} is {theirs.get(key, 'not drawn')} there and "
                                 f"{mine.get(key, 'not drawn')} in the file; choose another directory")  # fmt: skip

    # ---- Taking a trial

    def take(self, study: Any, own_sampler: bool) -> Optional[Taken]:
        """A trial that lost its process, or a new one; None if there is nothing left to begin."""
        with held(os.path.join(self.out, "lock")):
            for frozen in study.get_trials(deepcopy=False, states=(RUNNING,)):
                taken = self._claim(study, optuna.trial.Trial(study, frozen._trial_id), own_sampler)
                if taken:
                    return taken
            while len(study.get_trials(deepcopy=False)) < self.trials:
                taken = self._claim(study, study.ask(), own_sampler)
                if taken:
                    return taken
        return None

    def _claim(self, study: Any, trial: Any, own_sampler: bool) -> Optional[Taken]:
        values = {}
        for i, draw in enumerate(self.problem.draws):
            if not own_sampler:  # one stream per trial and key: a trial that lost its process gets the values it had
                study.sampler = optuna.samplers.TPESampler(seed=self._stream(trial.number, i), multivariate=False)
            values[draw.key] = draw.suggest(trial)
        directory = trial.user_attrs.get("directory")
        if directory is None:
            try:
                directory = directory_of(self.problem.plan(values))
            except UsageError as error:  # each value is right, but not all of them together
                self._fail(study, trial, error)
                return None
            os.makedirs(os.path.join(self.out, directory), exist_ok=True)
            trial.set_user_attr("directory", directory)
        lock = FileLock(os.path.join(self.out, directory, "lock"))
        if not lock.take(wait=False):
            return None  # under way elsewhere, or equal to one that is: whoever is free takes it later
        if study.get_trials(deepcopy=False)[trial.number].state != RUNNING:
            lock.release()  # its process ended right after it had reported
            return None
        return Taken(trial, self.problem.plan(values), directory, lock)

    def _stream(self, number: int, key: int) -> int:
        return lib.lgv_rng_bits(ctypes.byref(library.CRng.stream(self.seed, f"tune.{number}.{key}"))) >> 32

    def _fail(self, study: Any, trial: Any, error: Any) -> None:
        trial.set_user_attr("error", str(error))
        study.tell(trial, state=FAIL, skip_if_finished=True)
        self.report(f"trial {trial.number} failed: {error}")

    def release(self, taken: Taken) -> None:
        with held(os.path.join(self.out, "lock")):  # nobody else is looking at the file
            os.unlink(taken.lock.path)
            taken.lock.release()

    # ---- Working on it

    def work(self, sampler: Any, pruner: Any) -> None:
        study = self.open_study(sampler, pruner)
        while not self.stop.is_set():
            taken = self.take(study, sampler is not None)
            if taken is None:
                return
            try:
                self.run_trial(study, taken)
            except (NumericError, EnvironmentFailed) as error:
                self._fail(study, taken.trial, error)
            finally:
                self.release(taken)

    def run_trial(self, study: Any, taken: Taken) -> None:
        runs: List[Run] = []
        try:
            state, value, outcome = self._advance(study, taken, runs)
        except Interrupted:
            self._close(runs)
            raise
        self._close(runs)
        if state == COMPLETE and math.isnan(value):
            raise NumericError(f"the measure {self.problem.measure} is not defined for these runs: choose another")
        study.tell(taken.trial, value if state == COMPLETE else None, state=state, skip_if_finished=True)
        values = ", ".join(f"{key}={_short(v)}" for key, v in taken.trial.params.items())
        self.report(f"trial {taken.trial.number}: {self.problem.measure} {value:.4g}, {outcome} ({values})")

    def _advance(self, study: Any, taken: Taken, runs: List[Run]) -> Tuple[Any, float, str]:
        """To the rung where the trial is pruned, or to its end."""
        trial, (unit, budget) = taken.trial, self._budget(taken.plan)
        known = self._known_values(study, taken.directory)
        for rung in [int(budget * share) for share in RUNGS if study.pruner is not None and budget * share >= 1]:
            if rung not in known:
                value = self._value_at(taken, runs, unit, rung)
                if any(run.summary.finished for run in runs) or math.isnan(value):
                    continue
                known[rung] = value
            if rung not in study.get_trials(deepcopy=False)[trial.number].intermediate_values:
                trial.report(known[rung], rung)
            if trial.should_prune():
                return PRUNED, known[rung], f"pruned after {rung} of {budget} {unit}"
        return COMPLETE, self._value_at(taken, runs, unit, math.inf), "complete"

    @staticmethod
    def _budget(plan: Handle) -> Tuple[str, int]:
        for unit in ("steps", "episodes"):
            budget = int(library.text_of("lgv_plan_get", plan.pointer, f"run.{unit}") or 0)
            if budget:
                return unit, budget
        return "steps", 0

    def _known_values(self, study: Any, directory: str) -> Dict[int, float]:
        """At the rungs that the runs of the directory have passed, whichever trial reported them."""
        known: Dict[int, float] = {}
        for trial in study.get_trials(deepcopy=False):
            if trial.user_attrs.get("directory") == directory:
                known.update(trial.intermediate_values)
        return known

    def _value_at(self, taken: Taken, runs: List[Run], unit: str, target: float) -> float:
        """The mean of the measure over all seeds, after `target` steps or episodes. Opens the runs if need be."""

        def advance(run: Run) -> None:
            run.advance(unit, target, self.stop)
            if not run.summary.finished:
                run.checkpoint()

        if not runs:
            path = os.path.join(self.out, taken.directory)
            runs += [Run(taken.plan, seed, os.path.join(path, f"seed-{seed}")) for seed in self.problem.seeds]
        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(advance, runs))
        return sum(getattr(run.summary, self.problem.measure) for run in runs) / len(runs)

    @staticmethod
    def _close(runs: List[Run]) -> None:
        for run in runs:
            run.close()

    def run(self, sampler: Any, pruner: Any) -> None:
        def work() -> None:
            try:
                self.work(sampler, pruner)
            except Interrupted:
                pass
            except BaseException as error:
                self.errors.append(error)
                self.stop.set()

        threads = [threading.Thread(target=work) for _ in range(self.workers)]
        try:
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                for thread in threads:
                    thread.join(0.05)
        finally:  # Ctrl-C can come at any place above
            self.stop.set()
            for thread in threads:
                if thread.ident:
                    thread.join()
        if self.errors:
            raise self.errors[0]


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def tune(
    file: Any,
    out: Any,
    *,
    trials: Optional[int] = None,
    jobs: Optional[int] = None,
    seed: int = 0,
    prune: bool = True,
    sampler: Any = None,
    pruner: Any = None,
    progress_bar: bool = False,
) -> Any:
    """Searches for good settings by Optuna, as `langevin tune` does; the same call resumes it.

    file: a sweep file whose `random` section names the keys and their distributions, or the same as a dict.
    out: the directory of the study and of its runs. trials: of the whole study (default: the count of `random`).
    jobs: runs side by side (default: the seeds of one trial, at most one per core); more than there are seeds mean
    several trials at a time. seed: of the proposals. prune: whether successive halving stops poor trials early.
    sampler, pruner: Optuna's own, in place of its TPESampler and of successive halving.

    Returns Optuna's study: study.best_params, study.best_trial.user_attrs["directory"], study.trials_dataframe().
    """
    with sweep_file(file) as path:
        problem = Problem(path)
        settings = problem.check_ends()
    folder = os.path.abspath(os.fspath(out))
    os.makedirs(folder, exist_ok=True)
    wanted = problem.trials if trials is None else check_count("trials", trials)
    parallel = check_count("jobs", jobs) or min(len(os.sched_getaffinity(0)), len(problem.seeds))
    report = (lambda line: print(line, file=sys.stderr, flush=True)) if progress_bar else (lambda line: None)
    tuner = Tuner(problem, folder, wanted, library.check_seed(seed), parallel, report)
    rule = pruner or Halving() if prune else None
    with held(os.path.join(folder, "lock")):
        study = tuner.open_study(sampler, rule)
        tuner.check_study(study, settings)
    tuner.run(sampler, rule)
    if not any(trial.state == COMPLETE for trial in study.get_trials(deepcopy=False)):
        failed = [trial for trial in study.get_trials(deepcopy=False) if trial.state == FAIL]
        if failed:
            raise library.Error(f"no trial has a result; the last one: {failed[-1].user_attrs.get('error')}")
    return study


# ---- The command


def print_table(study: Any, out: str, most: int) -> None:
    """The best trials first, then those that were pruned last."""
    sign = 1 if study.direction == MINIMIZE else -1
    order = {COMPLETE: 0, PRUNED: 1, RUNNING: 2, FAIL: 3}
    trials = sorted(study.trials, key=lambda t: (order[t.state], -(t.last_step or 0), sign * (t.value or 0)))
    keys = list(dict.fromkeys(key for t in trials for key in t.params))
    rows = [["trial", "state", study.user_attrs["problem"]["measure"], *keys, "runs"]]
    for t in trials[:most]:
        state = f"pruned at {t.last_step}" if t.state == PRUNED else t.state.name.lower()
        value = "" if t.value is None else f"{t.value:.4g}"
        directory = os.path.join(out, t.user_attrs.get("directory", ""))
        rows.append([str(t.number), state, value, *(_short(t.params.get(key, "")) for key in keys), directory])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    if len(trials) > most:
        print(f"... and {len(trials) - most} more")


def main() -> None:
    """FILE OUT KEY=VALUE...: `langevin tune` has parsed its options."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    file, out, *pairs = sys.argv[1:]
    options = {key: json.loads(value) for key, value in (pair.split("=", 1) for pair in pairs)}
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    try:
        study = tune(file, out, progress_bar=not options.pop("quiet", False), **options)
    except KeyboardInterrupt:
        print("langevin tune: stopped; the same command resumes the study", file=sys.stderr)
        sys.exit(130)
    except (library.Error, OSError) as error:
        print(f"langevin tune: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    print_table(study, out, 10)
    if any(t.state == COMPLETE for t in study.trials):
        config = os.path.join(out, study.best_trial.user_attrs["directory"])
        print("The best of many looks better than it is. Confirm it on other seeds:\n"
              f"  langevin run --config {config}/seed-{study.user_attrs['problem']['seeds'].split(',')[0].split()[-1]}"
              "/config.json --seed 1000 --seeds 10")  # fmt: skip
    unfinished = sum(t.state == RUNNING for t in study.trials)
    if unfinished:
        print(f"{unfinished} trials are under way in other processes", file=sys.stderr)
