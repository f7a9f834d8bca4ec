"""Step sizes that are functions of the remaining progress."""

import pytest

import langevin


def linear(first, last=0.0):
    return lambda remaining: last + remaining * (first - last)


def trained(**params):
    return langevin.AdamLMCDQN("langevin/CartPole-v0", seed=3, warmup=50, schedule_steps=400, **params).learn(400)


def test_a_linear_function_is_lr_and_final_lr(tmp_path):
    function, numbers = trained(lr=linear(2e-3, 5e-4)), trained(lr=2e-3, final_lr=0.25)
    assert function.params == numbers.params
    assert (function.parameters()["w"] == numbers.parameters()["w"]).all()
    assert (function.parameters()["w"] != trained(lr=2e-3, final_lr=1).parameters()["w"]).any()
    function.save(tmp_path / "agent")
    assert langevin.load(tmp_path / "agent").params == numbers.params


def test_the_name_of_stable_baselines3():
    assert trained(learning_rate=linear(1e-3)).params["final_lr"] == 0


def test_a_constant_function_is_a_number():
    assert langevin.DQN("CartPole-v1", learning_rate=lambda _: 3e-4).params["lr"] == 3e-4


@pytest.mark.parametrize("params, text", [
    ({"lr": lambda remaining: 1e-3 * remaining**2, "schedule_steps": 100}, "not linear"),
    ({"lr": linear(1e-3)}, "state the budget"),
    ({"lr": linear(1e-3, 2e-3), "schedule_steps": 100}, "may only fall"),
    ({"lr": linear(1e-3), "final_lr": 0.5, "schedule_steps": 100}, "leave final_lr out"),
])  # fmt: skip
def test_answers(params, text):
    with pytest.raises(langevin.UsageError, match=text):
        langevin.AdamLMCDQN("CartPole-v1", **params)


def test_agents_whose_step_size_is_constant():
    with pytest.raises(langevin.UsageError, match="stays constant"):
        langevin.C51("CartPole-v1", lr=linear(1e-3), schedule_steps=100)


def test_exceptions_of_the_function_come_through():
    with pytest.raises(ZeroDivisionError):
        langevin.AdamLMCDQN("CartPole-v1", lr=lambda remaining: 1 / remaining, schedule_steps=100)
