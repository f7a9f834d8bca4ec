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
* A rung where the measure is not defined yet is noted in the journal. A trial that is resumed passes it over again.
* The values of trial n depend on the seed, on n and on the trials before it, and the decision to prune on reported
  values alone. So one process, killed or not, ends with the same trials.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple

from langevin import _library as library
from langevin._checks import check_count
from langevin._file_locks import FileLock, JournalLock, file_lock
from langevin._library import EnvironmentFailed, Handle, Interrupted, NumericError, UsageError, lib
from langevin._runs import sweep_file
from langevin._tune_problem import Problem, directory_of
from langevin._tune_runs import Run

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
WITHOUT_VALUE = "rungs_without_value"  # the attribute of a trial that lists them
# What Optuna raises at a damaged line of its journal, or at one of a newer version.
UNREADABLE = (AssertionError, AttributeError, LookupError, TypeError, ValueError)
MINIMIZE, MAXIMIZE = optuna.study.StudyDirection.MINIMIZE, optuna.study.StudyDirection.MAXIMIZE
COMPLETE, PRUNED, FAIL, RUNNING = (optuna.trial.TrialState[name] for name in ("COMPLETE", "PRUNED", "FAIL", "RUNNING"))


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


# ---- The study


def check_journal(path: str) -> None:
    """Optuna would append to a file of another program before it found that it cannot read it."""
    begin = b'{"op_code"'
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        if not begin.startswith(file.read(len(begin))):
            raise library.FileError(f"{path} is not the journal of a study: remove it, or choose another directory")


class ClaimedTrial(NamedTuple):
    """A trial that this thread works on."""

    trial: Any
    plan: Handle
    directory: str
    lock: FileLock


class Tuner:
    def __init__(self, problem: Problem, out: str, trials: int, seed: int, jobs: int, prune: bool,
                 report: Callable[[str], None]):  # fmt: skip
        self.problem, self.out, self.trials, self.seed = problem, out, trials, seed
        self.prune, self.report = prune, report
        self.threads = min(jobs, len(problem.seeds))
        self.workers = max(1, jobs // len(problem.seeds))
        self.stop, self.errors = threading.Event(), []  # type: ignore[var-annotated]

    def open_study(self, sampler: Any, pruner: Any) -> Any:
        if not self.prune:
            pruner = optuna.pruners.NopPruner()  # Optuna takes None for its MedianPruner
        journal = os.path.join(self.out, "study.log")
        lock: Any = JournalLock(journal)
        direction = MINIMIZE if self.problem.lowest_is_best else MAXIMIZE
        check_journal(journal)
        try:
            storage = JournalStorage(JournalFileBackend(journal, lock))
            return optuna.create_study(storage=storage, study_name="langevin", direction=direction, sampler=sampler,
                                       pruner=pruner or Halving(), load_if_exists=True)  # fmt: skip
        except UNREADABLE as error:
            name = type(error).__name__
            raise library.FileError(f"{journal} cannot be read as the journal of a study: {name}: {error}") from error

    def check_study(self, study: Any) -> None:
        """A study belongs to one file; only its number of trials may change."""
        mine = self.problem.identity()
        theirs = study.user_attrs.get("problem")
        if theirs is None:
            study.set_user_attr("problem", mine)
            return
        for key in {**mine, **theirs}:
            if mine.get(key) != theirs.get(key):
                raise UsageError(f"{self.out} holds another study: {key} is {theirs.get(key, 'not drawn')} there and "
                                 f"{mine.get(key, 'not drawn')} in the file; choose another directory")  # fmt: skip

    # ---- Claiming a trial

    def claim(self, study: Any, own_sampler: bool) -> Optional[ClaimedTrial]:
        """A trial that lost its process, or a new one; None if there is nothing left to begin."""
        with file_lock(os.path.join(self.out, "lock")):
            for frozen in study.get_trials(deepcopy=False, states=(RUNNING,)):
                claimed = self._claim(study, optuna.trial.Trial(study, frozen._trial_id), own_sampler)
                if claimed:
                    return claimed
            while len(study.get_trials(deepcopy=False)) < self.trials:
                claimed = self._claim(study, study.ask(), own_sampler)
                if claimed:
                    return claimed
        return None

    def _claim(self, study: Any, trial: Any, own_sampler: bool) -> Optional[ClaimedTrial]:
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
            lock.remove()  # its process ended right after it had reported
            return None
        return ClaimedTrial(trial, self.problem.plan(values), directory, lock)

    def _stream(self, number: int, key: int) -> int:
        return lib.lgv_rng_bits(ctypes.byref(library.CRng.stream(self.seed, f"tune.{number}.{key}"))) >> 32

    def _fail(self, study: Any, trial: Any, error: Any) -> None:
        trial.set_user_attr("error", str(error))
        study.tell(trial, state=FAIL, skip_if_finished=True)
        self.report(f"trial {trial.number} failed: {error}")

    def release(self, claimed: ClaimedTrial) -> None:
        with file_lock(os.path.join(self.out, "lock")):  # nobody else is looking at the file
            claimed.lock.remove()

    # ---- Working on it

    def work(self, sampler: Any, pruner: Any) -> None:
        study = self.open_study(sampler, pruner)
        while not self.stop.is_set():
            claimed = self.claim(study, sampler is not None)
            if claimed is None:
                return
            try:
                self.run_trial(study, claimed)
            except (NumericError, EnvironmentFailed) as error:
                self._fail(study, claimed.trial, error)
            finally:
                self.release(claimed)

    def run_trial(self, study: Any, claimed: ClaimedTrial) -> None:
        path = os.path.join(self.out, claimed.directory)
        runs = [Run(claimed.plan, seed, os.path.join(path, f"seed-{seed}")) for seed in self.problem.seeds]
        try:
            state, value, outcome = self._advance(study, claimed, runs)
        except Interrupted:
            self._close(runs)
            raise
        self._close(runs)
        if state == COMPLETE and math.isnan(value):
            raise NumericError(f"the measure {self.problem.measure} is not defined for these runs: choose another")
        study.tell(claimed.trial, value if state == COMPLETE else None, state=state, skip_if_finished=True)
        values = ", ".join(f"{key}={short_text(v)}" for key, v in claimed.trial.params.items())
        self.report(f"trial {claimed.trial.number}: {self.problem.measure} {value:.4g}, {outcome} ({values})")

    def _advance(self, study: Any, claimed: ClaimedTrial, runs: List[Run]) -> Tuple[Any, float, str]:
        """To the rung where the trial is pruned, or to its end."""
        trial, (unit, budget) = claimed.trial, self._budget(claimed.plan)
        known, without_value = self._known_rungs(study, claimed.directory)
        reported = study.get_trials(deepcopy=False)[trial.number].last_step or 0
        for rung in self._rungs(budget):
            if rung < reported or rung in without_value:
                continue  # passed before the trial lost its process, or nothing to compare
            if rung not in known:
                known[rung] = self._value_at(runs, unit, rung)
                if any(run.summary.finished for run in runs):
                    continue
                if math.isnan(known[rung]):
                    without_value.add(rung)
                    trial.set_user_attr(WITHOUT_VALUE, sorted(without_value))
                    continue
            if rung > reported:
                trial.report(known[rung], rung)
            if trial.should_prune():
                return PRUNED, known[rung], f"pruned after {rung} of {budget} {unit}"
        return COMPLETE, self._value_at(runs, unit, math.inf), "complete"

    def _rungs(self, budget: int) -> List[int]:
        return [int(budget * share) for share in RUNGS if budget * share >= 1] if self.prune else []

    @staticmethod
    def _budget(plan: Handle) -> Tuple[str, int]:
        for unit in ("steps", "episodes"):
            budget = int(library.text_of("lgv_plan_get", plan.pointer, f"run.{unit}") or 0)
            if budget:
                return unit, budget
        return "steps", 0

    @staticmethod
    def _known_rungs(study: Any, directory: str) -> Tuple[Dict[int, float], Set[int]]:
        """The rungs that the runs of the directory have passed, whichever trial they ran for: the values there, and the
        rungs that had none."""
        known: Dict[int, float] = {}
        without_value: Set[int] = set()
        for trial in study.get_trials(deepcopy=False):
            if trial.user_attrs.get("directory") == directory:
                known.update(trial.intermediate_values)
                without_value.update(trial.user_attrs.get(WITHOUT_VALUE, ()))
        return known, without_value

    def _value_at(self, runs: List[Run], unit: str, target: float) -> float:
        """The mean of the measure over all seeds, after `target` steps or episodes."""

        def advance(run: Run) -> None:
            run.advance(unit, target, self.stop)
            if not run.summary.finished:
                run.checkpoint()

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


def show(line: str) -> None:
    with contextlib.suppress(OSError):  # `langevin tune 2>&1 | tee log` continues after tee has exited
        print(line, file=sys.stderr, flush=True)


def ignore(line: str) -> None:
    pass


def short_text(value: Any) -> str:
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
    several trials at a time. seed: of the proposals. prune: whether poor trials are stopped early.
    sampler, pruner: Optuna's own, in place of its TPESampler and of successive halving.

    Returns Optuna's study: study.best_params, study.best_trial.user_attrs["directory"], study.trials_dataframe().
    """
    with sweep_file(file) as path:
        problem = Problem(path)
        problem.check_ranges()
    folder = os.path.abspath(os.fspath(out))
    os.makedirs(folder, exist_ok=True)
    wanted = problem.trials if trials is None else check_count("trials", trials)
    parallel = check_count("jobs", jobs) or min(len(os.sched_getaffinity(0)), len(problem.seeds))
    tuner = Tuner(problem, folder, wanted, library.check_seed(seed), parallel, prune, show if progress_bar else ignore)
    with file_lock(os.path.join(folder, "lock")):
        study = tuner.open_study(sampler, pruner)
        tuner.check_study(study)
    tuner.run(sampler, pruner)
    if not any(trial.state == COMPLETE for trial in study.get_trials(deepcopy=False)):
        failed = [trial for trial in study.get_trials(deepcopy=False) if trial.state == FAIL]
        if failed:
            raise library.Error(f"no trial has a result; the last one: {failed[-1].user_attrs.get('error')}")
    return study
