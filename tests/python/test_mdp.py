"""Models from arrays, linear agents on them: values in closed form."""

import gymnasium
import numpy as np
import pytest

import langevin
from langevin import _library as library


def test_values(river):
    # V_3 = 0; at each stage state 1 pays 1/2 for moving on, which works with probability 3/4
    assert river.optimal_values()[2].tolist() == [0, 0.5]
    assert river.optimal_value == pytest.approx(0.75)
    stay = np.zeros(2, int)
    assert river.value(stay) == 0
    half = np.full((3, 2, 2), 0.5)
    v = np.zeros(2)
    for _ in range(3):  # by hand
        q0 = v[0]
        q1 = np.array([0, 0.5]) + 0.25 * v[0] + 0.75 * v[1]
        v = 0.5 * q0 + 0.5 * q1
    assert river.values(half)[0] == pytest.approx(v)


def test_stages_and_ends():
    """One state, two stages: the first pays 1 or, half the time, ends; the second pays 4."""
    p = np.zeros((2, 1, 2, 2))
    p[:, 0, 0, 0] = 1
    p[:, 0, 1] = [0.5, 0.5]
    r = np.array([[[1.0, 3.0]], [[4.0, 0.0]]])
    mdp = langevin.TabularMDP(p, r, 2)
    assert mdp.optimal_value == 5  # 1 + 4 = 3 + 4 / 2
    assert mdp.value(np.array([[1], [0]])) == 5 and mdp.value(np.array([[1], [1]])) == 3
    agent = langevin.RLSVI(mdp, seed=0)
    agent.learn(episodes=50)
    assert set(agent.lengths) <= {1, 2} and 1 in agent.lengths


def test_start():
    mdp = langevin.TabularMDP(np.tile(np.eye(3)[:, None], (1, 2, 1)), [[1, 0], [2, 0], [6, 0]], 1, start=[0.5, 0.25, 0.25])
    assert mdp.optimal_value == 2.5
    env = mdp.to_env()
    assert {env.reset(seed=s)[1]["state"] for s in range(50)} == {0, 1, 2}


LINEAR = [n for n, c in langevin.agents().items() if issubclass(c, langevin.LinearAgent)]
# Thompson sampling with the noise of bandits may miss what only a second step shows.
DEEP_ENOUGH = [n for n in LINEAR if n not in ("LMCTS", "LinTS")]


@pytest.mark.parametrize("name", LINEAR)
def test_linear_agents(river, name):
    agent = langevin.agents()[name](river, seed=1)
    agent.learn(episodes=400)
    assert len(agent.returns) == 400 and agent.num_timesteps == 1200
    assert agent.optimal_value == pytest.approx(0.75)
    assert (np.diff(agent.regret) > -1e-12).all()
    start = np.zeros(400)
    assert np.diff(agent.regret) == pytest.approx((0.75 - agent.values)[1:])
    assert agent.value() == pytest.approx(agent.values[-1]) and (agent.values <= 0.75 + 1e-12).all()
    assert agent.values[-50:].mean() > agent.values[:5].mean() or agent.values[:5].mean() == pytest.approx(0.75)
    policy = agent.policy()
    assert policy.shape == (3, 2, 2) and policy.sum(-1) == pytest.approx(1)
    assert agent.q_table().shape == (3, 2, 2) and start.sum() == 0
    state, actions = None, []
    for _ in range(3):
        action, state = agent.predict(0, state)
        actions.append(action)
    assert state == 3
    with pytest.raises(langevin.UsageError, match="stage"):
        agent.predict(0, state)


def test_weights(river):
    agent = langevin.LMCLSVI(river, seed=1)
    agent.learn(episodes=200)
    assert agent.weights().shape == (3, 4)  # one-hot features
    q = agent.q_table().reshape(3, 4)
    assert np.clip(agent.weights()[2], 0, 1) == pytest.approx(q[2], abs=1e-6)
    with pytest.raises(langevin.UsageError, match="q_table"):
        langevin.LSVIUCB(river).weights()


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("own", [False, True], ids=["one-hot", "features"])
@pytest.mark.parametrize("samples", [1, 5])
@pytest.mark.parametrize("horizon", [1, 5])
def test_weights_are_those_of_q(name, own, samples, horizon):
    """Q is phi . w of the weights, or their maximum, clipped: for every agent that has weights."""
    cls = langevin.agents()[name]
    several = {"samples": samples} if name in ("MSLMCLSVI", "LSVIPHE") else {}
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), (3, 2))
    r = rng.uniform(-0.5, 1, (3, 2))
    phi = rng.normal(size=(3, 2, 4)) if own else None
    agent = cls(langevin.TabularMDP(p, r, horizon, features=phi), seed=1, **several)
    agent.learn(episodes=30)
    try:
        w = agent.weights()
    except langevin.UsageError:
        assert name not in ("LMCLSVI", "MSLMCLSVI")
        return
    shape = (horizon, 4 if own else 6)
    assert w.shape == ((samples, *shape) if several and samples > 1 else shape)
    features = phi.reshape(6, 4) if own else np.eye(6)
    q = np.max((w if w.ndim == 3 else w[None]) @ features.T, 0)
    left = np.arange(horizon, 0, -1)[:, None]
    q = np.clip(q, left * min(r.min(), 0), left * max(r.max(), 0)).reshape(horizon, 3, 2)
    assert agent.q_table() == pytest.approx(q, abs=1e-12)
    for state in range(3):
        assert agent.q_values(state, stage=horizon // 2) == pytest.approx(q[horizon // 2, state], abs=1e-12)


@pytest.mark.parametrize("pool", ["false", "true"])
@pytest.mark.parametrize("name", DEEP_ENOUGH)
def test_an_end_at_the_last_step(name, pool):
    """Staying pays .3, ending .5: V* = .8 with two steps. A clock that ends at the same time changes nothing."""
    mdp = langevin.TabularMDP([[[1, 0], [0, 1]]], [[0.3, 0.5]], 2)
    agent = langevin.agents()[name](mdp, seed=1, pool=pool)
    agent.learn(episodes=1000)
    assert agent.optimal_value == pytest.approx(0.8) and agent.regret[-1] < 10


class Ends(gymnasium.Env):
    """The same under Gymnasium's clock, which sets truncated even where the task has ended."""

    observation_space, action_space = gymnasium.spaces.Discrete(1), gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 0.5 if action else 0.3, bool(action), False, {}


@pytest.mark.parametrize("name", DEEP_ENOUGH)
def test_an_end_under_a_time_limit(name):
    env = gymnasium.wrappers.TimeLimit(Ends(), 2)
    agent = langevin.agents()[name](env, seed=1, pool="true", reward_range=(0.3, 0.5))
    agent.learn(episodes=1000)
    assert agent.returns[-100:].mean() > 0.78


@pytest.mark.parametrize("name", LINEAR)
def test_constant_rewards(name):
    """Every step costs 1; the way out is two steps long."""
    p = np.zeros((2, 2, 3))
    p[0, 0, 1] = p[0, 1, 0] = p[1, 0, 0] = p[1, 1, 2] = 1
    agent = langevin.agents()[name](langevin.TabularMDP(p, np.full((2, 2), -1.0), 5), seed=1)
    agent.learn(episodes=500)
    assert agent.optimal_value == -2 and agent.values[-100:].mean() > -2.1
    nothing = langevin.agents()[name](langevin.TabularMDP(p, np.zeros((2, 2)), 5), seed=1)
    nothing.learn(episodes=20)
    assert nothing.regret[-1] == 0
    corridor = gymnasium.wrappers.TimeLimit(Ends(), 2)
    langevin.agents()[name](corridor, reward_range=(-1, -1)).learn(episodes=3)


def test_features(river):
    """Features in which both states look alike: a linear agent can then not tell them apart."""
    phi = np.zeros((2, 2, 2))
    phi[:, 0, 0] = phi[:, 1, 1] = 1
    p = np.zeros((2, 2, 2))
    p[:, 0, 0] = 1
    p[:, 1] = [0.25, 0.75]
    mdp = langevin.TabularMDP(p, [[0, 0], [0, 0.5]], 3, features=phi)
    agent = langevin.LSVIUCB(mdp, seed=1)
    agent.learn(episodes=100)
    q = agent.q_table()
    assert q[:, 0] == pytest.approx(q[:, 1])
    assert langevin.LMCLSVI(mdp).weights().shape == (3, 2)


def test_model_of_native():
    env = gymnasium.make("langevin/RiverSwim-v0").unwrapped
    assert env.model.optimal_value == pytest.approx(3.878714, abs=1e-6)  # docs/environments.md
    right = np.ones(12, int)
    assert env.model.value(right) == pytest.approx(3.877104, abs=1e-6)
    assert gymnasium.make("langevin/CartPole-v0").unwrapped.model is None


def test_deep_agent_on_mdp(river):
    agent = langevin.DQN(river, warmup=50, replay=500)
    agent.learn(500)
    assert agent.q_values(1).shape == (2,) and agent.q_values([[1, 0], [0, 1]]).shape == (2, 2)


WRONG = [
    (dict(P=np.ones((2, 2))), "P has the shape"),
    (dict(P=np.full((2, 2, 2), 0.4)), "sum to 0.8"),
    (dict(P=np.array([[[2.0, -1], [1, 0]]] * 2)), r"not in \[0, 1\]"),
    (dict(r=np.zeros((3, 2))), "r has the shape"),
    (dict(r=np.full((2, 2), np.nan)), "not finite"),
    (dict(r="abc"), "array of numbers"),
    (dict(horizon=0), "horizon"),
    (dict(horizon=1.5), "whole number"),
    (dict(P=np.full((2, 2, 2), 0.5 + 1e-8)), "sum to 1.00000002"),
    (dict(features=np.ones((2, 2, 0))), "features"),
    (dict(r=np.zeros((4, 2, 2))), "4 stages"),
    (dict(start=2), "outside"),
    (dict(start=[0.5, 0.6]), "sum to 1.1"),
    (dict(start=[1, 0, 0]), "start is a state"),
    (dict(features=np.ones((2, 3, 1))), "features"),
]


@pytest.mark.parametrize("change,words", WRONG, ids=[w for _, w in WRONG])
def test_wrong(change, words):
    arguments = dict(P=np.full((2, 2, 2), 0.5), r=np.zeros((2, 2)), horizon=3)
    with pytest.raises(langevin.UsageError, match=words):
        langevin.TabularMDP(**{**arguments, **change})


def test_wrong_policies(river):
    for policy in (np.ones((2, 3)), np.array([0, 2]), np.full((3, 2, 2), 0.4), "abc", np.array([0.5, 0.5])):
        with pytest.raises(langevin.UsageError, match="policy"):
            river.value(policy)


# ---- Forbidden actions

ALLOWED = np.array([[1, 1, 0], [0, 1, 1]], bool)


def trap():
    """Two states. Action 2 of state 0 and action 0 of state 1 would pay most, and are forbidden; of the others, 1 in
    state 0 leads to state 1, where 2 pays 1/2 and stays."""
    p = np.full((2, 3, 2), np.nan)
    p[0, 0], p[0, 1], p[1, 1], p[1, 2] = [1, 0], [0, 1], [1, 0], [0, 1]
    r = np.array([[0.1, 0, 100], [100, 0, 0.5]])
    return p, r


def test_forbidden_actions():
    p, r = trap()
    mdp = langevin.TabularMDP(p, r, 4, allowed=ALLOWED)
    assert np.array_equal(mdp.masks, np.broadcast_to(ALLOWED, (4, 2, 3)))
    assert mdp.optimal_value == pytest.approx(1.5)  # 0, then three times 1/2
    assert mdp.value(np.array([1, 2])) == pytest.approx(1.5) and mdp.value(np.array([0, 2])) == pytest.approx(0.4)
    assert np.isnan(mdp.value(np.array([2, 2]))) and np.isnan(mdp.value(np.full((2, 3), 1 / 3)))
    assert langevin.TabularMDP(np.nan_to_num(p, nan=0.5), r, 4).masks is None
    env = mdp.to_env()
    assert env.reset(seed=0)[1]["action_mask"].tolist() == [1, 1, 0]
    assert env.step(1)[-1]["action_mask"].tolist() == [0, 1, 1]
    with pytest.raises(langevin.UsageError, match="forbidden by the mask"):
        env.step(0)


def test_forbidden_at_some_stages():
    p, r = trap()
    allowed = np.broadcast_to(ALLOWED, (3, 2, 3)).copy()
    allowed[1, 1] = [False, True, False]
    mdp = langevin.TabularMDP(p, r, 3, allowed=allowed)
    assert mdp.optimal_value == pytest.approx(0.6)  # 0.1, 0, and 1/2 at the end
    agent = langevin.DQN(mdp, seed=0, hidden=(8,), warmup=20, replay=100)
    agent.learn(200)
    with pytest.raises(langevin.UsageError, match="depends on the stage"):
        agent.predict(1)
    assert agent.predict(1, action_masks=[0, 1, 0])[0] == 1


def test_wrong_allowed():
    p, r = trap()
    for allowed, words in (
        (np.ones((3, 2), bool), r"shape \(2, 3\), or 4 of these"),
        (np.ones((3, 2, 3), bool), "shape"),
        (np.full((2, 3), 0.5), "booleans"),
        ([[1, 1, 0], [0, 0, 0]], "state 1 forbids every action"),
    ):
        with pytest.raises(langevin.UsageError, match=words):
            langevin.TabularMDP(p, r, 4, allowed=allowed)


@pytest.mark.parametrize("name", [n for n, c in langevin.agents().items() if not c._entry.traits & library.TAKES_BOX])
def test_every_agent_solves_a_trap(name, tmp_path):
    """None takes what is forbidden, and none counts on it."""
    mdp = langevin.TabularMDP(*trap(), 4, allowed=ALLOWED)
    agent = langevin.agents()[name](mdp, seed=1, **({"warmup": 50, "gamma": 0.9} if name not in LINEAR + ["PathwiseLMCDQN"] else {}))
    agent.learn(episodes=300)
    assert agent.returns.max() <= 1.5 + 1e-9
    agent.save(tmp_path / "agent")
    for one in (agent, langevin.load(tmp_path / "agent", env=mdp)):
        state, at = None, 0
        for _ in range(4):
            action, state = one.predict(at, state)
            assert ALLOWED[at, action]
            at = int(np.argmax(np.nan_to_num(trap()[0][at, action])))
    if name in LINEAR:
        policy = agent.policy()
        assert (policy[:, ~ALLOWED] == 0).all() and policy.sum(-1) == pytest.approx(1)
        assert (agent.values <= 1.5 + 1e-9).all() and agent.value() == pytest.approx(agent.values[-1])
        alone = langevin.load(tmp_path / "agent")  # the masks that it has seen
        assert alone.predict(0)[0] != 2
