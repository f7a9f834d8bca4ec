"""langevin.tune: what it finds, what it stops, what it survives, and what it says to wrong files."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

import langevin

optuna = pytest.importorskip("optuna", reason="Optuna is not installed")
LANGEVIN = os.environ.get("LANGEVIN_COMMAND") or shutil.which("langevin")

# A chain of six states. With a learning rate of almost 0, the agent stays what its random network makes it.
CHAIN = {
    "env": {"name": "nchain", "n": 6},
    "agent": "dqn",
    "run": {"steps": 2000, "eval_every": 50},
    "random": {"count": 2, "keys": {"optim.lr": {"choice": ["1e-3", "1e-9"]}}},
    "seeds": {"first": 3, "count": 2},
}
# The same with ranges, and slow enough to be killed.
WIDE = {
    **CHAIN,
    "random": {
        "count": 10,
        "keys": {
            "optim.lr": {"log_uniform": [1e-5, 1e-2]},
            "agent.gamma": {"uniform": [0.5, 0.99]},
            "agent.batch": {"int_uniform": [16, 64]},
        },
    },
}


def keys(**others):
    return {**CHAIN, "random": {"count": 2, "keys": others}}


def outcome(study):
    """Everything that tells two studies apart."""
    return [(t.number, t.state.name, t.params, t.value, t.intermediate_values, t.user_attrs) for t in study.trials]


def records(out, name):
    return {str(p.relative_to(out)): p.read_bytes() for p in pathlib.Path(out).rglob(name)}


def told(capfd):
    return [line for line in capfd.readouterr().err.splitlines() if line.startswith("trial")]


def start(tmp_path, file, out, before="", **options):
    (tmp_path / "file.json").write_text(json.dumps(file))
    code = f"{before}import langevin; langevin.tune({str(tmp_path / 'file.json')!r}, {str(out)!r}, progress_bar=True, **{options!r})"
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


def test_finds_the_better_setting(tmp_path):
    study = langevin.tune(CHAIN, tmp_path, trials=6, prune=False)
    assert study.best_params == {"optim.lr": "1e-3"}
    assert {t.state.name for t in study.trials} == {"COMPLETE"} and len(study.trials) == 6
    by_setting = {}
    for trial in study.trials:  # the runs of equal trials are shared
        by_setting.setdefault(trial.params["optim.lr"], set()).add((trial.value, trial.user_attrs["directory"]))
    assert len(by_setting) == 2 and all(len(results) == 1 for results in by_setting.values())
    (best,) = by_setting["1e-3"]
    runs = [langevin.read_run(tmp_path / best[1] / f"seed-{seed}") for seed in (3, 4)]
    assert best[0] == pytest.approx(sum(r["summary"]["final_return"] for r in runs) / 2)
    assert all(r["summary"]["finished"] for r in runs)
    assert not list(tmp_path.rglob("checkpoint*"))
    assert [p for p in tmp_path.rglob("lock") if p.parent != tmp_path] == []


def test_without_pruning_every_trial_runs_to_its_end(tmp_path):
    """More trials than Optuna's MedianPruner, which it takes if it is given none, waits for."""
    study = langevin.tune(WIDE, tmp_path, trials=12, prune=False)
    assert [t.state.name for t in study.trials] == ["COMPLETE"] * 12
    assert all(t.intermediate_values == {} for t in study.trials)
    assert len({t.user_attrs["directory"] for t in study.trials}) == 12


def test_a_sweep_takes_the_runs_over(tmp_path):
    """A trial is the configuration of a sweep: what is done stays done."""
    study = langevin.tune(CHAIN, tmp_path, trials=6, prune=False)
    times = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("summary.json")}
    rows = langevin.sweep(CHAIN, tmp_path)
    assert times == {p: p.stat().st_mtime_ns for p in tmp_path.rglob("summary.json")}
    values = {t.params["optim.lr"]: t.value for t in study.trials}
    for setting, value in values.items():
        found = [row["final_return"] for row in rows if row["optim.lr"] == setting]
        assert value == pytest.approx(sum(found) / 2)


def test_a_pruned_trial_resumes_exactly(tmp_path):
    study = langevin.tune(WIDE, tmp_path / "tuned")
    pruned = [t for t in study.trials if t.state.name == "PRUNED"]
    assert pruned and len(study.trials) == 10
    assert all(set(t.intermediate_values) <= {222, 666} for t in study.trials)
    directory = pruned[0].user_attrs["directory"]
    stopped = tmp_path / "tuned" / directory / "seed-3"
    record = langevin.read_run(stopped)
    assert not record["summary"]["finished"] and record["summary"]["steps"] == max(pruned[0].intermediate_values)
    langevin.run(config=stopped / "config.json", out=stopped, resume=True)
    langevin.run(config=stopped / "config.json", out=tmp_path / "whole")
    assert (stopped / "metrics.csv").read_bytes() == (tmp_path / "whole" / "metrics.csv").read_bytes()


def test_halving_keeps_the_best_third():
    from langevin._tune import Halving

    study = optuna.create_study(direction="maximize", pruner=Halving())
    decisions = []
    for value in (5, 4, 6, 3, 5, 7, 6.5, 6, 6.5):
        trial = study.ask()
        trial.report(value, 10)
        decisions.append(trial.should_prune())
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    # places among those before: 1 of 1; 2 of 2 (1 goes on); 1 of 3; ...; 5 of 5; 1 of 6 (2 go on); 2 of 7; 4 of 8; 2 of 9 (3)
    assert decisions == [False, True, False, True, True, False, False, True, False]
    trial = study.ask()
    assert not trial.should_prune()  # nothing is reported


def test_killed_studies_end_as_others_do(tmp_path):
    """kill -9 again and again: the same trials, none lost, none twice, and the same records."""
    out, kills, finished = tmp_path / "killed", 0, False
    while not finished:
        process = start(tmp_path, WIDE, out)
        lines = 0
        for _ in process.stderr:  # the more often it has been killed, the farther it may go
            lines += 1
            if lines > kills // 2 and kills < 5:
                time.sleep(0.02 * (kills % 3))
                process.kill()
                kills += 1
                break
        else:
            finished = True
        process.stderr.close()
        assert process.wait() in (0, -signal.SIGKILL)
    assert kills == 5
    whole = langevin.tune(WIDE, tmp_path / "whole")
    assert outcome(langevin.tune(WIDE, out)) == outcome(whole)
    for name in ("metrics.csv", "summary.json"):
        assert records(out, name) == records(tmp_path / "whole", name)


def test_ctrl_c_loses_nothing(tmp_path):
    out = tmp_path / "stopped"
    process = start(tmp_path, WIDE, out)
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate()[1]
    assert outcome(langevin.tune(WIDE, out)) == outcome(langevin.tune(WIDE, tmp_path / "whole"))


@pytest.mark.parametrize("precision", ["float", "bf16", "bf16x3"])
def test_a_run_resumes_in_every_precision(tmp_path, recwarn, precision):
    """Runs in bf16 have portable kernels, whatever the process uses."""
    from langevin._runs import sweep_file
    from langevin._tune_problem import Problem
    from langevin._tune_runs import Run

    with sweep_file({**CHAIN, "agent": {"name": "adam-lmcdqn", "precision": precision}}) as path:
        plan = Problem(path).plan({"optim.lr": "1e-3"})
    first = Run(plan, 3, str(tmp_path / "run"))
    first.advance("steps", 300, threading.Event())
    first.close()
    again = Run(plan, 3, str(tmp_path / "run"))
    assert again.summary.steps == 300 and not recwarn.list
    again.close()


@pytest.mark.skipif(not LANGEVIN, reason="no command")
def test_nohup(tmp_path):
    """A SIGHUP that is ignored, as nohup has it, stays ignored."""
    (tmp_path / "file.json").write_text(json.dumps(CHAIN))
    words = [LANGEVIN, "tune", tmp_path / "file.json", "--out", tmp_path / "out"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))  # fmt: skip
    assert process.stderr.readline().startswith("trial")
    process.send_signal(signal.SIGHUP)
    process.communicate()
    assert process.returncode == 0


def test_a_rung_without_a_value_stays_without_one(tmp_path, monkeypatch):
    """The first episode ends at step 309, after the first rung. A study that is stopped before the second and resumed
    does not take the later value for the first."""
    from langevin._tune_runs import Run

    late = {**WIDE, "env": {"name": "nchain", "n": 300}, "measure": "mean_return"}
    advance, both_seeds = Run.advance, threading.Barrier(2)

    def stop_between(run, unit, target, stop):
        if target == 666:
            advance(run, unit, 512, stop)
            both_seeds.wait()
            stop.set()
        advance(run, unit, target, stop)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "advance", stop_between)
        stopped = langevin.tune(late, tmp_path / "stopped", trials=4, jobs=2)
    assert [t.state.name for t in stopped.trials] == ["RUNNING"]
    whole = langevin.tune(late, tmp_path / "whole", trials=4)
    assert all(set(t.intermediate_values) == {666} for t in whole.trials)
    assert outcome(langevin.tune(late, tmp_path / "stopped", trials=4)) == outcome(whole)


def test_killed_between_report_and_summary(tmp_path, capfd):
    """A trial that is to be pruned has reported its value, and its process ends before the runs are closed."""
    kill = """import os, signal
from langevin._tune_runs import Run
close = Run.close
Run.close = lambda run: os.kill(os.getpid(), signal.SIGKILL) if run.summary.steps == 666 else close(run)
"""
    process = start(tmp_path, WIDE, tmp_path / "killed", before=kill)
    lines = [line for line in process.communicate()[1].splitlines() if line.startswith("trial")]
    assert process.returncode == -signal.SIGKILL
    resumed = langevin.tune(WIDE, tmp_path / "killed", progress_bar=True)
    lines += told(capfd)
    whole = langevin.tune(WIDE, tmp_path / "whole", progress_bar=True)
    assert lines == told(capfd) and any("pruned after 666 of 2000 steps" in line for line in lines)
    assert outcome(resumed) == outcome(whole)
    expected = records(tmp_path / "whole", "summary.json")
    assert len(expected) == 20 and records(tmp_path / "killed", "summary.json") == expected


def test_two_processes_share_a_study(tmp_path):
    out = tmp_path / "shared"
    processes = [start(tmp_path, WIDE, out), start(tmp_path, WIDE, out)]
    texts = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    names = [line.split(":")[0] for text in texts for line in text.splitlines() if line.startswith("trial")]
    assert sorted(names, key=lambda t: int(t.split()[1])) == [f"trial {i}" for i in range(10)]
    study = langevin.tune(WIDE, out)
    assert all(t.state.is_finished() for t in study.trials) and len(study.trials) == 10


def test_several_trials_at_a_time(tmp_path):
    study = langevin.tune(WIDE, tmp_path, jobs=6)
    assert all(t.state.is_finished() for t in study.trials) and len(study.trials) == 10


def test_half_a_line_in_the_journal(tmp_path):
    """A power cut may leave it; Optuna alone would refuse the journal from then on."""
    first = langevin.tune(CHAIN, tmp_path, trials=2)
    with open(tmp_path / "study.log", "ab") as journal:
        journal.write(b'{"op_code": 5, "worker')
    second = langevin.tune(CHAIN, tmp_path, trials=4)
    assert outcome(second)[:2] == outcome(first)[:2] and len(langevin.tune(CHAIN, tmp_path, trials=4).trials) == 4


@pytest.mark.parametrize("text", ["garbage\n", "no line", "\n\n"])
def test_a_journal_of_another_program(tmp_path, text):
    (tmp_path / "study.log").write_text(text)
    with pytest.raises(langevin.FileError, match="is not the journal of a study: remove it"):
        langevin.tune(CHAIN, tmp_path)
    assert (tmp_path / "study.log").read_text() == text


@pytest.mark.parametrize("line, says", [
    (b'{"op_code": 99, "worker_id": "x"}', "AssertionError"),  # an operation of a newer Optuna
    (b'{"op_code": 5, "trial_id": 0}', "KeyError: 'param_name'"),
    (b'{"op_code": 5, "wor', "JSONDecodeError"),
    (b'{"op_code": \xff', "UnicodeDecodeError"),
    (b"[]", "TypeError"),
])  # fmt: skip
def test_a_damaged_journal_is_not_to_be_removed(tmp_path, line, says):
    """It still holds a study, which another version or a repair may read."""
    langevin.tune(CHAIN, tmp_path, trials=2)
    journal = tmp_path / "study.log"
    lines = journal.read_bytes().splitlines(True)
    damaged = b"".join([*lines[:5], line + b"\n", *lines[5:]])
    journal.write_bytes(damaged)
    with pytest.raises(langevin.FileError, match=f"cannot be read as the journal of a study: {says}") as refused:
        langevin.tune(CHAIN, tmp_path)
    assert "remove" not in str(refused.value) and journal.read_bytes() == damaged


def test_a_lack_of_memory_is_no_fault_of_the_journal(tmp_path, monkeypatch):
    from langevin import _tune

    def fail(backend):
        raise MemoryError

    monkeypatch.setattr(_tune, "JournalStorage", fail)
    with pytest.raises(MemoryError):
        langevin.tune(CHAIN, tmp_path)


def test_nobody_reads_the_messages(tmp_path):
    """`langevin tune 2>&1 | tee log` whose tee exits."""
    process = start(tmp_path, CHAIN, tmp_path / "out", trials=6, prune=False)
    process.stderr.close()
    process.wait()
    assert [t.state.name for t in langevin.tune(CHAIN, tmp_path / "out", trials=0).trials] == ["COMPLETE"] * 6


@pytest.mark.skipif(not LANGEVIN, reason="no command")
@pytest.mark.parametrize("closed", ["both", "stdout"])
def test_nobody_reads_the_table(tmp_path, closed):
    """The study ends as it would with a reader."""
    (tmp_path / "file.json").write_text(json.dumps(CHAIN))
    reader, writer = os.pipe()
    os.close(reader)
    words = [LANGEVIN, "tune", tmp_path / "file.json", "--out", tmp_path / "out"]
    done = subprocess.run(words, stdout=writer, stderr=writer if closed == "both" else subprocess.PIPE,
                          env={**os.environ, "LANGEVIN_PYTHON": sys.executable})  # fmt: skip
    os.close(writer)
    assert done.returncode == 0 and b"Error" not in (done.stderr or b"")
    assert [t.state.name for t in langevin.tune(CHAIN, tmp_path / "out").trials] == ["COMPLETE"] * 2


@pytest.mark.skipif(not LANGEVIN, reason="no command")
def test_nobody_reads_the_error(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    (tmp_path / "file.json").write_text(json.dumps({**CHAIN, "measure": "retrun"}))
    words = [LANGEVIN, "tune", tmp_path / "file.json", "--out", tmp_path / "out"]
    done = subprocess.run(words, stdout=writer, stderr=writer, env={**os.environ, "LANGEVIN_PYTHON": sys.executable})
    os.close(writer)
    assert done.returncode == 2


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_own_sampler_and_pruner(tmp_path):
    class Always(optuna.pruners.BasePruner):
        def prune(self, study, trial):
            return trial.number > 0

    sampler = optuna.samplers.PartialFixedSampler({"optim.lr": "1e-9"}, optuna.samplers.RandomSampler(seed=0))
    study = langevin.tune(CHAIN, tmp_path, trials=5, sampler=sampler, pruner=Always())
    assert [t.params["optim.lr"] for t in study.trials] == ["1e-9"] * 5
    assert [t.state.name for t in study.trials] == ["COMPLETE"] + ["PRUNED"] * 4


def test_a_failing_trial_does_not_stop_the_others(tmp_path):
    """A learning rate of 1e6 overflows."""
    file = {**CHAIN, "agent": "dqn", "random": {"count": 2, "keys": {"optim.lr": {"choice": ["1e-3", "1e6"]}}}}
    study = langevin.tune(file, tmp_path, trials=6, prune=False)
    states = {t.params["optim.lr"]: t.state.name for t in study.trials}
    assert states == {"1e-3": "COMPLETE", "1e6": "FAIL"}
    failed = next(t for t in study.trials if t.state.name == "FAIL")
    assert "step" in failed.user_attrs["error"]


def test_wrong_files(tmp_path):
    wrong = [
        ({**CHAIN, "random": None}, "random is a mapping"),
        ({k: v for k, v in CHAIN.items() if k != "random"}, "nothing to search for"),
        ({**CHAIN, "grid": {"agent.batch": [16, 32]}}, "'agent.batch' is in a grid or a case"),
        ({**CHAIN, "agent": "dqm"}, "did you mean 'dqn'"),
        (keys(**{"optim.lrr": {"uniform": [0.1, 0.2]}}), "optim.lrr"),
        (keys(**{"optim.lr": {"uniform": [0.2, 0.1]}}), "the lower end comes first"),
        (keys(**{"optim.lr": {"unifrom": [0.1, 0.2]}}), "did you mean 'uniform'"),
        (keys(**{"agent.gamma": {"uniform": [0.5, 1.5]}}), "agent.gamma = '1.5' is not valid: it takes a number in"),
        (keys(**{"agent.preset": {"choice": ["small", "smal"]}}), "agent.preset"),
        ({**CHAIN, "measure": "retrun"}, "measure is one of"),
    ]
    for file, says in wrong:
        with pytest.raises(langevin.UsageError, match=says):
            langevin.tune(file, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(langevin.UsageError, match="trials is a whole number"):
        langevin.tune(CHAIN, tmp_path / "none", trials=2.5)
    with pytest.raises(langevin.Error, match="regret is not defined"):
        langevin.tune({**CHAIN, "measure": "regret"}, tmp_path / "regret", prune=False)


def test_a_study_belongs_to_one_file(tmp_path):
    langevin.tune(CHAIN, tmp_path, trials=1)
    for other, says in [
        ({**CHAIN, "seeds": {"first": 4, "count": 2}}, "first_seed is 3 there and 4 in the file"),
        ({**CHAIN, "seeds": {"first": 3, "count": 1}}, "seeds is 2 there and 1 in the file"),
        (keys(**{"optim.lr": {"choice": ["1e-3", "1e-8"]}}), "optim.lr is .*1e-9.* there and .*1e-8.* in the file"),
        ({**CHAIN, "run": {"steps": 3000, "eval_every": 50}}, "settings is"),
        ({**CHAIN, "measure": "mean_return"}, "measure is final_return there and mean_return in the file"),
    ]:
        with pytest.raises(langevin.UsageError, match=says):
            langevin.tune(other, tmp_path)


def test_without_optuna(tmp_path):
    (tmp_path / "optuna.py").write_text("raise ModuleNotFoundError('none', name='optuna')\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    code = "import langevin; langevin.tune('x.yaml', 'runs/x')"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "ImportError: tuning needs the package Optuna: pip install" in done.stderr
    if LANGEVIN:
        done = subprocess.run([LANGEVIN, "tune", "x.yaml"], env={**environment, "LANGEVIN_PYTHON": sys.executable},
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 1
        assert done.stderr.startswith("langevin tune: tuning needs the package Optuna") and "Traceback" not in done.stderr


@pytest.mark.skipif(not LANGEVIN, reason="there is no command line: build it, or set LANGEVIN_COMMAND")
def test_command(tmp_path):
    (tmp_path / "chain.yaml").write_text(json.dumps(CHAIN))

    def command(*words, code=0, **others):
        environment = {**os.environ, "LANGEVIN_PYTHON": sys.executable, **others}
        done = subprocess.run([LANGEVIN, "tune", *words], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done

    done = command("chain.yaml", "--trials", "4", "--jobs", "1")
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == [f"trial {i}" for i in range(4)]
    table = done.stdout.splitlines()
    assert table[0].split()[:4] == ["trial", "state", "final_return", "optim.lr"] and "1e-3" in table[1]
    assert (tmp_path / "runs" / "chain" / "study.log").exists()
    again = command("chain.yaml", "--trials", "4", "--quiet")
    assert again.stdout == done.stdout and again.stderr == ""
    config = table[-1].split("--config ")[1].split()[0]
    assert config.endswith("/seed-3/config.json")
    assert json.loads((tmp_path / config).read_text())["optim"]["lr"] == 1e-3
    for words, says in [
        ([], "which study? name its file"),
        (["chain.yaml", "b.yaml"], "one file at a time"),
        (["chain.yaml", "--trails", "3"], "did you mean '--trials'?"),
        (["chain.yaml", "--trials", "0"], "a whole number from 1"),
        (["none.yaml"], "none.yaml"),
    ]:
        assert says in command(*words, code=1 if words == ["none.yaml"] else 2).stderr
    assert "cannot start the Python" in command("chain.yaml", code=1, LANGEVIN_PYTHON="/nowhere/python").stderr
