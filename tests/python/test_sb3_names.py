"""Parameters under the names of Stable-Baselines3."""

import pytest

import langevin


def test_names_that_mean_the_same():
    theirs = langevin.DQN(
        "CartPole-v1",
        learning_rate=2e-3,
        buffer_size=5000,
        learning_starts=100,
        batch_size=64,
        gamma=0.98,
        tau=1.0,
        train_freq=4,
        gradient_steps=2,
        target_update_interval=20,
        exploration_initial_eps=0.9,
        exploration_final_eps=0.1,
        policy_kwargs=dict(net_arch=[48, 24]),
    )
    ours = langevin.DQN(
        "CartPole-v1", lr=2e-3, replay=5000, warmup=100, batch=64, gamma=0.98, update_every=4, updates=2, target_every=10,
        epsilon_start=0.9, epsilon_end=0.1, hidden=(48, 24),
    )  # fmt: skip
    assert theirs.params == ours.params


@pytest.mark.parametrize("params, name, value", [
    ({"train_freq": (3, "step")}, "update_every", 3),
    ({"train_freq": (1, "episode")}, "update_every", 0),
    ({"train_freq": 8, "gradient_steps": -1}, "updates", 8),
    ({"policy_kwargs": {}}, "gamma", 0.99),
    ({"policy_kwargs": None}, "gamma", 0.99),
], ids=str)  # fmt: skip
def test_values(params, name, value):
    assert langevin.DQN("CartPole-v1", **params).params[name] == value


@pytest.mark.parametrize("params, error, text", [
    ({"tau": 0.005}, langevin.UsageError, "target_every"),
    ({"target_update_interval": 1000}, langevin.UsageError, "target_every, which counts gradient steps"),
    ({"target_update_interval": 10, "train_freq": 4, "gradient_steps": 1}, langevin.UsageError, "no whole number"),
    ({"train_freq": (2, "episode")}, langevin.UsageError, "update_every counts steps"),
    ({"gradient_steps": -1}, langevin.UsageError, "use updates"),
    ({"exploration_fraction": 0.1}, TypeError, "use epsilon_steps"),
    ({"learning_rate": lambda left: left * 1e-3}, langevin.UsageError, "the step size stays constant here"),
    ({"learning_rate": 1e-3, "lr": 1e-3}, TypeError, "got 'lr' twice"),
    ({"policy_kwargs": {"net_arch": {"pi": [32]}}}, langevin.UsageError, "a list of widths"),
    ({"policy_kwargs": {"net_arch": []}}, langevin.UsageError, "at least one"),
    ({"policy_kwargs": {"activation_fn": type("Tanh", (), {})}}, langevin.UsageError, "rectifiers"),
    ({"policy_kwargs": {"n_critics": 2}}, langevin.UsageError, "n_critics"),
    ({"max_grad_norm": 10}, TypeError, "does not clip gradients"),
    ({"tensorboard_log": "runs"}, TypeError, "log=DIRECTORY"),
    ({"verbose": 1}, TypeError, "progress_bar"),
    ({"gama": 0.9}, TypeError, "did you mean 'gamma'"),
    ({"learning_rat": 0.1}, TypeError, "did you mean 'learning_rate'"),
], ids=str)  # fmt: skip
def test_answers(params, error, text):
    with pytest.raises(error, match=text):
        langevin.DQN("CartPole-v1", **params)


def test_linear_agents_have_no_such_names(river):
    with pytest.raises(TypeError, match="has no parameter 'buffer_size'"):
        langevin.LMCLSVI(river, buffer_size=100)


def test_the_norm_of_gradients():
    assert langevin.C51("CartPole-v1", max_grad_norm=5).params["grad_clip"] == 5
