"""learn(log=...): the records of a run, byte for byte where a run can do the same; agent.metrics."""

import json
import os
import subprocess

import gymnasium
import numpy as np
import pytest

import langevin
from langevin import _command

FILES = {"config.json", "events.out.tfevents.langevin", "metrics.csv", "summary.json", "timing.json"}


def command(*arguments):
    program = next(path for path in (os.environ.get("LANGEVIN_COMMAND"), *_command.candidates()) if path and os.access(path, os.X_OK))
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def read(directory, name="metrics.csv"):
    return (directory / name).read_text()


def test_equal_to_a_run_with_exact_values(tmp_path):
    langevin.run("riverswim", "lmc-lsvi", {"env.n": 6}, episodes=60, seed=3, out=tmp_path / "run")
    env = gymnasium.make("langevin/RiverSwim-v0", n=6)
    agent = langevin.LMCLSVI(env, seed=3, schedule_episodes=60)
    for _ in range(4):
        agent.learn(episodes=15, log=tmp_path / "log")
    assert read(tmp_path / "log") == read(tmp_path / "run")
    assert read(tmp_path / "log", "summary.json") == read(tmp_path / "run", "summary.json")
    assert set(os.listdir(tmp_path / "log")) == FILES
    assert agent.metrics["regret"].tolist() == langevin.read_run(tmp_path / "run")["metrics"]["regret"].tolist()


def test_equal_to_a_run_by_steps(tmp_path):
    """An episode of this chain has 18 steps."""
    settings = {"env.n": 10, "run.eval_every": 0, "run.record_every": 10}
    langevin.run("nchain", "dqn", settings, steps=900, seed=1, out=tmp_path / "run")
    chain = gymnasium.make("langevin/NChain-v0", n=10)
    agent = langevin.DQN(chain, seed=1, schedule_steps=900).learn(900, log=tmp_path / "log", log_every=180)
    assert read(tmp_path / "log") == read(tmp_path / "run")
    metrics = agent.metrics
    assert {"step", "episode", "return", "loss", "q_mean", "goal_visits"} <= set(metrics)
    assert metrics["step"].tolist() == [180, 360, 540, 720, 900]
    assert metrics["return"][-1] == agent.returns[-10:].mean()


def test_evaluations_equal_to_a_run(tmp_path):
    settings = {"run.eval_every": 500, "run.eval_episodes": 2}
    langevin.run("gym:CartPole-v1", "dqn", settings, steps=1500, seed=2, out=tmp_path / "run")
    callback = langevin.EvalCallback(every=500, episodes=2)
    agent = langevin.DQN("CartPole-v1", seed=2, schedule_steps=1500)
    agent.learn(1500, log=tmp_path / "log", callback=callback, log_every=500)
    ours, theirs = (langevin.read_run(tmp_path / name)["metrics"] for name in ("log", "run"))
    assert theirs["step"].tolist() == [0, 500, 1000, 1500]  # a run also evaluates the untrained agent
    for name in ("step", "episode", "return", "loss", "q_mean"):
        assert ours[name].tolist() == theirs[name][1:].tolist(), name
    assert callback.steps == [500, 1000, 1500]
    assert ours["eval_return"].tolist() == [x.mean() for x in callback.returns]


@pytest.mark.parametrize("name", ["log", "mdp", "own"])
def test_commands_read_the_records(tmp_path, name, river, corridor):
    log = tmp_path / name
    if name == "log":
        agent = langevin.DQN("CartPole-v1", seed=5).learn(600, log=log, log_every=100)
    elif name == "mdp":
        agent = langevin.LMCLSVI(river, seed=5).learn(episodes=20, log=log)
    else:
        agent = langevin.DQN(corridor(), seed=5).learn(600, log=log, log_every=100)
    shown = command("show", log)
    assert "finished" in shown and agent._entry.name in shown
    assert {"log": "gym:CartPole-v1", "mdp": "TabularMDP", "own": "Corridor"}[name] in shown
    assert agent._entry.name in command("compare", log, "--measure", "mean_return")
    command("report", log, "--out", tmp_path / "page.html")
    found = langevin.read_run(log)
    assert found["summary"]["steps"] == agent.num_timesteps and found["summary"]["finished"]
    assert found["config"]["run"]["seed"] == 5
    if name == "log":
        assert found["config"]["agent"]["gamma"] == 0.99 and found["config"]["env"]["id"] == "CartPole-v1"


def test_config_repeats_the_run(tmp_path):
    env = gymnasium.make("langevin/RiverSwim-v0", n=5)
    langevin.LSVIUCB(env, seed=4, schedule_episodes=30).learn(episodes=30, log=tmp_path / "log")
    command("run", "--config", tmp_path / "log" / "config.json", "--out", tmp_path / "run", "-q")
    assert read(tmp_path / "log") == read(tmp_path / "run")


def test_tensorboard_reads_the_events(tmp_path):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    agent = langevin.DQN("CartPole-v1", seed=0)
    for _ in range(2):
        agent.learn(500, log=tmp_path, log_every=250)
    events = reader.EventAccumulator(str(tmp_path))
    events.Reload()
    scalars = events.Scalars("agent/q_mean")
    assert [event.step for event in scalars] == [250, 500, 750, 1000]
    assert np.allclose([event.value for event in scalars], agent.metrics["q_mean"])


def test_no_log_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    agent = langevin.DQN("CartPole-v1").learn(2500)
    assert os.listdir(tmp_path) == []
    assert agent.metrics["step"].tolist() == [1000, 2000, 2500]
    assert not np.isnan(agent.metrics["loss"]).any()
    assert {name: len(column) for name, column in langevin.DQN("CartPole-v1").metrics.items()} == {
        "step": 0, "episode": 0, "return": 0,
    }  # fmt: skip


def test_a_loaded_agent_continues_the_files(tmp_path):
    env = gymnasium.make("langevin/NChain-v0", n=10)
    kwargs = {"seed": 1, "schedule_steps": 1440}
    langevin.DQN(env, **kwargs).learn(1440, log=tmp_path / "whole", log_every=180)
    agent = langevin.DQN(env, **kwargs).learn(720, log=tmp_path / "log", log_every=180)
    agent.save(tmp_path / "agent.safetensors")
    agent.learn(540, log=tmp_path / "log", log_every=180)  # these rows are forgotten
    again = langevin.load(tmp_path / "agent.safetensors", env=env)
    again.learn(720, log=tmp_path / "log", log_every=180)
    rows = langevin.read_run(tmp_path / "log")["metrics"]
    assert rows["step"].tolist() == list(range(180, 1441, 180))
    assert again.metrics["step"].tolist() == rows["step"].tolist()
    assert rows["episode"].tolist() == langevin.read_run(tmp_path / "whole")["metrics"]["episode"].tolist()
    summary = langevin.read_run(tmp_path / "log")["summary"]
    assert summary["episodes"] == 80 and summary["steps"] == 1440
    assert np.isclose(summary["mean_return"], np.nanmean(rows["return"]))


def test_a_loaded_agent_counts_the_episodes_between_rows(tmp_path):
    """It is saved half way from one row to the next."""
    checkpoints = langevin.CheckpointCallback(tmp_path / "saved", every=500)
    first = langevin.DQN("CartPole-v1", seed=1).learn(3000, log=tmp_path / "log", log_every=1000, callback=checkpoints)
    ends = np.cumsum(first.lengths)
    before = first.returns[ends <= 1500]
    again = langevin.load(tmp_path / "saved" / "agent-1500.safetensors", env="CartPole-v1")
    again.learn(1500, log=tmp_path / "log", log_every=1000)
    returns = [*before, *again.returns]
    rows, summary = (langevin.read_run(tmp_path / "log")[name] for name in ("metrics", "summary"))
    assert rows["step"].tolist() == [1000, 2000, 3000] and rows["episode"][-1] == len(returns) == summary["episodes"]
    counted = rows["episode"].astype(int)
    assert rows["return"][1] == np.mean(returns[counted[0] : counted[1]])
    assert summary["mean_return"] == np.mean(returns)


def test_the_best_agent_counts_no_episode_twice(tmp_path):
    """It is saved before the row of its step."""
    best = tmp_path / "best.safetensors"
    evaluations = langevin.EvalCallback(every=500, episodes=1, best=best)
    langevin.DQN("CartPole-v1", seed=1).learn(500, log=tmp_path / "log", callback=evaluations)
    again = langevin.load(best, env="CartPole-v1")
    again.learn(1000, log=tmp_path / "log", log_every=500, callback=langevin.EvalCallback(every=1000, episodes=1))
    rows = again.metrics
    assert rows["step"].tolist() == [500, 1000, 1500] and np.isnan(rows["eval_return"][1])
    assert rows["return"][1] == again.returns[: int(rows["episode"][1] - rows["episode"][0])].mean()


def test_failures_are_recorded(tmp_path, corridor):
    agent = langevin.DQN(corridor())

    def fail(_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        agent.learn(500, log=tmp_path, log_every=100, callback=fail, callback_every=250)
    summary = json.loads(read(tmp_path, "summary.json"))
    assert summary["finished"] is False and "mine" in summary["error"] and summary["steps"] == 250
    assert langevin.read_run(tmp_path)["metrics"]["step"].tolist() == [100, 200]
    agent.learn(250, log=tmp_path, log_every=100)
    assert json.loads(read(tmp_path, "summary.json"))["finished"] is True


def test_a_failure_whose_text_is_not_unicode_comes_through(tmp_path, corridor):
    def fail(_):
        raise RuntimeError("bad \udcff")

    with pytest.raises(RuntimeError, match="bad"):
        langevin.DQN(corridor()).learn(100, log=tmp_path, callback=fail)
    assert json.loads(read(tmp_path, "summary.json"))["error"] == "RuntimeError: bad ?"


def test_mistakes(tmp_path, corridor):
    langevin.DQN(corridor(), seed=1).learn(200, log=tmp_path / "log")
    with pytest.raises(langevin.UsageError, match="agent.gamma is 0.99 there, here 0.9.; choose another directory"):
        langevin.DQN(corridor(), seed=1, gamma=0.9).learn(200, log=tmp_path / "log")
    with pytest.raises(langevin.UsageError, match="run.steps is 200 there, here 300"):
        langevin.DQN(corridor(), seed=1).learn(300, log=tmp_path / "log")
    agent = langevin.DQN(corridor(), seed=1).learn(200, log=tmp_path / "log")  # anew
    with pytest.raises(langevin.UsageError, match="has other columns"):
        agent.learn(100, log=tmp_path / "log", callback=langevin.EvalCallback(corridor(), every=100))
    with pytest.raises(langevin.UsageError, match="log_every"):
        agent.learn(100, log=tmp_path / "log", log_every=0)
    with pytest.raises(langevin.UsageError, match="2\\^53"):
        langevin.DQN(corridor(), seed=2**60).learn(10, log=tmp_path / "seed")
    (tmp_path / "file").write_text("")
    with pytest.raises(langevin.FileError):
        langevin.DQN(corridor()).learn(10, log=tmp_path / "file")
    with pytest.raises(TypeError):
        langevin.DQN(corridor()).learn(10, log=3)

    def nested(_):
        langevin.DQN(corridor(), seed=1).learn(10, log=tmp_path / "log")

    with pytest.raises(langevin.FileError, match="is writing into"):
        agent.learn(200, log=tmp_path / "log", callback=nested)


def test_figures_without_cairo(tmp_path, corridor, monkeypatch):
    """A file that is no library stands for a system without cairo."""
    log = tmp_path / "log"
    langevin.DQN(corridor()).learn(300, log=log, log_every=100)
    (tmp_path / "libcairo.so.2").write_text("")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    with pytest.raises(subprocess.CalledProcessError) as failed:
        command("plot", log, "--out", tmp_path / "plot.png")
    assert "figures need the library cairo" in failed.value.stderr and "apt-get install libcairo2" in failed.value.stderr
    assert command("show", log)


def test_vectors(tmp_path):
    envs = gymnasium.make_vec("CartPole-v1", num_envs=3)
    agent = langevin.DQN(envs, seed=0)
    agent.learn(400, log=tmp_path, log_every=100)
    agent.learn(400, log=tmp_path, log_every=100)
    steps = langevin.read_run(tmp_path)["metrics"]["step"]
    assert (np.diff(steps // 100) == 1).all() and steps[-1] == agent.num_timesteps
    assert langevin.read_run(tmp_path)["config"]["run"]["envs"] == 3


@pytest.mark.parametrize("precision", ["bf16", "bf16x3"])
def test_precisions_of_bf16_are_portable(tmp_path, precision):
    """As runs of the command line record them: they may continue with any kernel set."""
    agent = langevin.DQN("CartPole-v1", warmup=10, replay=100, hidden=(8, 8), precision=precision)
    agent.learn(20, log=tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["langevin"]["kernels"] == "portable"


def test_counts_survive_a_file():
    """As the types that they had: JSON turns the pair into a list and may turn a float into a whole number."""
    from langevin._records import Metrics

    before, after = Metrics(), Metrics()
    before.add_episodes(np.array([(2.5, 1.0, 0.5), (1.5, 0.0, 0.5)], [("return", "f8"), ("regret", "f8"), ("value", "f8")]))
    before.add_evaluation(3.0)
    after.restore(json.loads(json.dumps(before.save()).replace("4.0", "4")))
    assert after.save() == before.save() == {
        "episodes": 2, "total": 4.0, "regret": 1.0, "window": (4.0, 2), "values": [0.5, 0.5], "evaluations": [3.0],
    }  # fmt: skip
    assert type(after.total) is float and after.restored


def test_kernels_of_agents_and_plans():
    """Only agents with networks have a precision; runs in bf16 have the same bits on all machines."""
    from langevin import _library as library
    from langevin import _registry as registry
    from langevin._records import kernels_of

    native = library.lib.lgv_kernels().decode()
    for settings, kernels in [
        ({"agent.name": "lmc-lsvi", "env.name": "riverswim", "run.episodes": 5}, native),
        ({"agent.name": "dqn", "env.name": "nchain", "run.steps": 50}, native),
        ({"agent.name": "dqn", "env.name": "nchain", "run.steps": 50, "agent.precision": "bf16"}, "portable"),
    ]:
        made = registry.make_settings(settings)
        plan = library.create("lgv_plan_create", "lgv_plan_free", made.pointer)
        assert kernels_of("lgv_plan_get", plan.pointer) == kernels
    agent = langevin.LMCLSVI("langevin/RiverSwim-v0")
    assert kernels_of("lgv_agent_get", agent.handle.pointer) == native
