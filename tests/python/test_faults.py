"""Mistakes and mishaps: clear exceptions, never a crash, no leaks."""

import _thread
import copy
import gc
import os
import pickle
import signal
import threading
import time

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import langevin
from langevin import _library as library


def cartpole(**kwargs):
    return langevin.DQN(gymnasium.make("langevin/CartPole-v0"), warmup=50, replay=500, **kwargs)


def raise_error(_):
    raise ZeroDivisionError("the environment divides")


FAULTS = [
    (raise_error, ZeroDivisionError, "the environment divides"),
    (lambda r: r[:4], langevin.EnvironmentFailed, "4 values; Gymnasium's are 5"),
    (lambda r: None, langevin.EnvironmentFailed, "NoneType, not a tuple"),
    (lambda r: (r[0], "much", *r[2:]), langevin.EnvironmentFailed, "not one number"),
    (lambda r: (r[0], "5", *r[2:]), langevin.EnvironmentFailed, "not one number: reward '5'"),
    (lambda r: (*r[:2], "no", *r[3:]), langevin.EnvironmentFailed, "terminated 'no'"),
    (lambda r: (*r[:3], 2, r[4]), langevin.EnvironmentFailed, "truncated 2"),
    (lambda r: (r[0], np.nan, *r[2:]), langevin.NumericError, "reward"),
    (lambda r: (r[0], np.inf, *r[2:]), langevin.NumericError, "reward"),
    (lambda r: (np.zeros(4, np.float32), *r[1:]), langevin.EnvironmentFailed, r"shape \(4,\)"),
    (lambda r: (np.array(list("abcde")), *r[1:]), langevin.EnvironmentFailed, "not numbers"),
    (lambda r: (np.full(5, np.nan, np.float32), *r[1:]), langevin.NumericError, "not finite"),
    (lambda r: (None, *r[1:]), langevin.EnvironmentFailed, "shape"),
    (lambda r: (r[0], 10**400, *r[2:]), langevin.EnvironmentFailed, "not one number"),
]


@pytest.mark.parametrize("fault,error,words", FAULTS, ids=[f"{e.__name__}-{w}" for _, e, w in FAULTS])
@pytest.mark.parametrize("vector", [False, True], ids=["single", "vector"])
def test_faults_of_environments(corridor, fault, error, words, vector):
    if vector and error is not ZeroDivisionError:
        pytest.skip("Gymnasium's vector stumbles over it first")
    env = corridor(fault=fault).unwrapped  # wrappers of Gymnasium's raise errors of their own
    if vector:
        env = gymnasium.vector.SyncVectorEnv([lambda: corridor(fault=fault), lambda: corridor()])
    agent = langevin.DQN(env, warmup=50, replay=500)
    with pytest.raises(error, match=words):
        agent.learn(100)
    agent.learn(200)  # the fault was one step's; the agent continues with a new episode
    assert agent.num_timesteps >= 200 and np.isfinite(agent.parameters()["w"]).all()


@pytest.mark.parametrize("vector", [False, True], ids=["single", "vector"])
def test_what_was_learned_before_a_fault_counts(corridor, vector):
    env = corridor(fault=raise_error, at=50)
    if vector:
        env = gymnasium.vector.SyncVectorEnv([lambda env=env: env])
    agent = langevin.DQN(env, warmup=50, replay=500)
    with pytest.raises(ZeroDivisionError):
        agent.learn(100)
    assert agent.num_timesteps == 49 and agent.lengths.sum() >= 30  # episodes have at most 20 steps


def test_callbacks_stop():
    """np.False_ is what a comparison of NumPy's gives."""
    for no in (False, np.bool_(False)):
        agent = cartpole()
        agent.learn(500, callback=lambda _, no=no: no, callback_every=100)
        assert agent.num_timesteps == 100
    for yes in (True, None, 0, np.bool_(True)):
        agent = cartpole()
        agent.learn(500, callback=lambda _, yes=yes: yes, callback_every=100)
        assert agent.num_timesteps == 500


def test_faults_of_callbacks():
    agent = cartpole()

    def callback(agent):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        agent.learn(5000, callback=callback)
    assert agent.num_timesteps == 1000
    for wrong in (lambda a: a.learn(10), lambda a: a.close(), lambda a: a.set_env("langevin/CartPole-v0")):
        with pytest.raises(RuntimeError, match="learn"):
            agent.learn(100, callback=wrong)
    agent.learn(100, callback=lambda a: (a.predict(np.zeros(4)), a.parameters()))


@pytest.fixture
def heeds_interrupts():
    """Programs that a shell starts in the background ignore Ctrl-C, and the tests would wait forever."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupt(heeds_interrupts):
    """Ctrl-C while C works: KeyboardInterrupt soon, and the agent stays usable."""
    agent = cartpole()
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    begun = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        agent.learn(10**12)
    assert time.perf_counter() - begun < 60
    assert agent.num_timesteps > 0
    agent.learn(100)


def test_interrupt_of_a_run(tmp_path, heeds_interrupts):
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        langevin.run("cartpole", "dqn", steps=10**9, seeds=2, out=tmp_path / "run")
    assert all(not (run["summary"] or {}).get("finished") for run in langevin.read_runs(tmp_path))


def test_threads_are_refused():
    agent, results = cartpole(), []
    entered = threading.Event()

    def other():
        entered.wait()
        try:
            agent.predict(np.zeros(4))
        except RuntimeError as error:
            results.append(str(error))

    thread = threading.Thread(target=other)
    thread.start()

    def callback(_):
        entered.set()
        thread.join()

    agent.learn(10, callback=callback)
    assert "another thread" in results[0]


def test_an_environment_in_use_is_refused():
    """It is neither stepped, trained on nor freed by one thread while another one is in C with it."""
    env, vector = gymnasium.make("langevin/CartPole-v0").unwrapped, gymnasium.make_vec("langevin/CartPole-v0", num_envs=2)
    agent, entered, leave = langevin.DQN(env, warmup=50, replay=500), threading.Event(), threading.Event()

    def other():
        with env._only, vector._only:
            entered.set()
            leave.wait()

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait()
    for call in (env.reset, env.close, lambda: agent.learn(10), lambda: vector.reset(seed=1), vector.close_extras):
        with pytest.raises(RuntimeError, match="another thread"):
            call()
    leave.set()
    thread.join()
    agent.learn(10)


def test_python_runs_while_c_works():
    """The loop in C holds no lock of Python's: another thread counts on."""
    agent, count, stop = cartpole(), [0], []

    def spin():
        while not stop:
            count[0] += 1

    thread = threading.Thread(target=spin)
    thread.start()
    before = count[0]
    agent._loop = None
    agent.learn(20_000)
    counted = count[0] - before
    stop.append(True)
    thread.join()
    assert counted > 1000


def test_closed():
    agent = cartpole()
    agent.learn(10)
    agent.close()
    agent.close()
    calls = [
        lambda: agent.learn(10), lambda: agent.predict(np.zeros(4)), lambda: agent.act(np.zeros(4)),
        lambda: agent.q_values(np.zeros(4)), agent.parameters, agent.arrays, lambda: agent.params,
        lambda: agent.save("/tmp/x"), lambda: agent.observe(np.zeros(4), 0, 0.0, np.zeros(4), False),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(langevin.UsageError, match="closed"):
            call()
    env = gymnasium.make("langevin/CartPole-v0")
    env.close()
    with pytest.raises(langevin.UsageError, match="closed"):
        langevin.DQN(env)
    env = gymnasium.make("langevin/CartPole-v0")
    agent = langevin.DQN(env)
    agent.learn(100)
    env.close()  # the agent's loop holds what it needs
    agent.learn(100)


def test_copies_of_environments_are_refused():
    for env in (gymnasium.make("langevin/NChain-v0"), gymnasium.make_vec("langevin/NChain-v0", num_envs=2)):
        for call in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                call(env)


WRONG = [
    (lambda: langevin.DQN(None), "environment"),
    (lambda: langevin.DQN(5), "TabularMDP, not 5"),
    (lambda: langevin.DQN("Pendulum-v1"), "continuous.*take one of sac, td3"),
    (lambda: cartpole(seed=-1), "seed"),
    (lambda: cartpole(seed=1.5), "seed"),
    (lambda: cartpole(gamma=2), r"agent.gamma = '2' is not valid: it takes a number in \[0, 1\]"),
    (lambda: cartpole(gamma="much"), "agent.gamma"),
    (lambda: cartpole(gamma=object()), "agent.gamma"),
    (lambda: cartpole(hidden=(-1,)), "agent.hidden"),
    (lambda: cartpole(optimizer="adma"), "optimizer 'adma'"),
    (lambda: cartpole(schedule_steps=-1), "schedule_steps"),
    (lambda: cartpole(schedule_steps=2**64 + 5), "schedule_steps"),
    (lambda: cartpole(reward_range=3), "reward_range"),
    (lambda: cartpole(reward_range=(1, 0)), "reward_range"),
    (lambda: cartpole().learn(), "how long"),
    (lambda: cartpole().learn("abc"), "total_timesteps"),
    (lambda: cartpole().learn(1.5), "total_timesteps"),
    (lambda: cartpole().learn(-1), "total_timesteps"),
    (lambda: cartpole().learn(1, callback_every=0), "callback_every"),
    (lambda: cartpole().predict(np.zeros(5)), r"shape \(5,\)"),
    (lambda: cartpole().predict(np.zeros((2, 2, 4))), "shape"),
    (lambda: cartpole().predict("abcd"), "array of shape"),
    (lambda: cartpole().predict(None), "array of shape"),
    (lambda: cartpole().predict(np.array(list("abcd"))), "not numbers"),
    (lambda: cartpole().predict(np.zeros(4, complex)), "not numbers"),
    (lambda: cartpole().act(np.zeros((2, 4))), "one observation"),
    (lambda: cartpole().act(np.zeros(4), stream=1), "stream"),
    (lambda: cartpole().observe(np.zeros(4), 0, 0.0, np.zeros(4), False), "act"),
    (lambda: langevin.LMCLSVI(gymnasium.make("langevin/CartPole-v0")), "finitely many states"),
    (lambda: langevin.LMCLSVI("FrozenLake-v1"), r"reward_range=\(least, greatest\)"),
    (lambda: langevin.LMCLSVI(gymnasium.make_vec("FrozenLake-v1", num_envs=2)), "one environment|horizon"),
    (lambda: langevin.run("nchian", "dqn"), "did you mean 'nchain'"),
    (lambda: langevin.run("nchain", "dqn", {"agent.gama": 1}), "agent.gamma"),
    (lambda: langevin.run("nchain", "dqn", {"gamma": 1}), "agent.gamma"),
    (lambda: langevin.run("nchain", "dqn", seeds=0), "seeds"),
    (lambda: langevin.run("nchain", "dqn", steps=5, seed=2**64 - 1, seeds=2), "seeds"),
    (lambda: langevin.run("nchain", "dqn", ["agent.gamma=1"]), "settings are a dict"),
    (lambda: langevin.run("nchain", "dqn", steps=5, out="a\0b"), "zero character"),
    (lambda: cartpole().save("a\0b"), "zero character"),
    (lambda: langevin.run(), "no environment"),
]


@pytest.mark.parametrize("call,words", WRONG, ids=[str(i) for i in range(len(WRONG))])
def test_wrong(call, words):
    with pytest.raises(langevin.UsageError, match=words):
        call()


def test_convolutions_need_pictures():
    class Numbers(gymnasium.Env):
        observation_space, action_space = spaces.Box(0, 1, (28224,), np.float32), spaces.Discrete(2)

    with pytest.raises(langevin.UsageError, match="need pictures.*28224 numbers.*net = mlp"):
        langevin.DQN(Numbers(), net="nature")


@pytest.mark.parametrize("callback", [3, [3], "print", [print, None], {"a": print}], ids=str)
def test_wrong_callbacks(corridor, callback):
    with pytest.raises(langevin.UsageError, match="callback is a function of the agent, or a list of them"):
        langevin.DQN(corridor()).learn(10, callback=callback)


def test_base_classes_are_no_agents():
    for cls in (langevin.Agent, langevin.LinearAgent):
        with pytest.raises(TypeError, match="langevin.agents"):
            cls("langevin/CartPole-v0")


def test_unknown_parameter():
    with pytest.raises(TypeError, match="DQN.. has no parameter 'gama'; did you mean 'gamma'"):
        cartpole(gama=0.9)
    with pytest.raises(TypeError, match="did you mean 'schedule_steps'"):
        cartpole(scheduled_steps=5)


def test_wrong_actions():
    agent, zeros = cartpole(), np.zeros(4)
    agent.act(zeros)
    for action, words in ((2, "within 0..1"), (-1, "within 0..1"), ("a", "whole number"), (None, "whole number")):
        with pytest.raises(langevin.UsageError, match=words):
            agent.observe(zeros, action, 0.0, zeros, False)
    with pytest.raises(langevin.NumericError):
        agent.observe(zeros, 0, np.nan, zeros, False)
    for call in (agent.act, agent.predict, agent.q_values):
        with pytest.raises(langevin.NumericError):
            call(np.full(4, np.inf))


def test_wrong_files(tmp_path, corridor):
    agent = langevin.DQN(corridor(), replay=500)
    path = tmp_path / "agent"
    agent.save(path)
    with pytest.raises(langevin.UsageError, match="made for another environment"):
        langevin.load(path, env=gymnasium.make("langevin/CartPole-v0"))
    with pytest.raises(langevin.UsageError, match="made for another environment"):
        agent.set_env("CartPole-v1")
    data = path.read_bytes()
    for damaged in (b"", b"abc", data[:100], data[:-1], data[:-9] + b"\xff" + data[-8:], b"\xff" * 100):
        path.write_bytes(damaged)
        with pytest.raises((langevin.FileError, OSError)):
            langevin.load(path)
    for missing in (tmp_path / "none", tmp_path):
        with pytest.raises(OSError):
            langevin.load(missing)
    with pytest.raises(langevin.FileError, match="cannot write"):
        agent.save(tmp_path / "no" / "where")
    (summary,) = langevin.run("cartpole", "dqn", steps=100, out=tmp_path / "run")
    (tmp_path / "run" / "config.json").unlink()
    with pytest.raises(langevin.FileError, match="config.json is missing"):
        langevin.load(next((tmp_path / "run").rglob("checkpoint.safetensors")))


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif("LANGEVIN_SANITIZED" in os.environ, reason="sanitizers keep what was freed for a while")
def test_no_leaks(river, corridor):
    """A thousand of each, made and closed; what is left is noise."""

    def once():
        env = gymnasium.make("langevin/NChain-v0", n=50)
        env.reset(seed=1)
        agent = langevin.DQN(env, warmup=8, replay=5000)
        agent.learn(20)
        agent.parameters()
        agent.close()
        env.close()
        linear = langevin.LMCLSVI(river)
        linear.learn(episodes=2)
        try:
            langevin.DQN(env)
        except langevin.UsageError:
            pass

    for _ in range(100):
        once()
    gc.collect()
    before = resident()
    for _ in range(1000):
        once()
    gc.collect()
    assert resident() - before < 20e6  # one agent has half a megabyte


def test_handles_are_freed(river, monkeypatch):
    freed = []
    original = library.Handle.__del__
    monkeypatch.setattr(library.Handle, "__del__", lambda self: (freed.append(1), original(self)))
    agent = langevin.LMCLSVI(river)
    agent.learn(episodes=1)
    freed.clear()
    del agent
    gc.collect()
    assert len(freed) >= 3  # trainer, agent, environment


def test_fork():
    agent = cartpole()
    agent.learn(100)
    child = os.fork()
    if child == 0:
        agent.close()
        gc.collect()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    agent.learn(100)


@pytest.mark.parametrize("value", [1.5, np.nan, np.inf, "1", None, 7, 2], ids=repr)
def test_wrong_states(corridor, value):
    env = corridor(gymnasium.spaces.Discrete(4, start=3), fault=lambda r: (value, *r[1:])).unwrapped
    with pytest.raises(langevin.EnvironmentFailed, match="not a whole number|outside 3..6"):
        langevin.DQN(env, warmup=50, replay=500).learn(100)


def test_no_episodes():
    agent = cartpole()
    agent.learn(episodes=0, progress_bar=True)
    agent.learn(0, progress_bar=True)
    assert agent.num_timesteps == 0
