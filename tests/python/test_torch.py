"""to_torch(): modules whose outputs are those of q_values, for every agent, network and kind of observations."""

import io

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import langevin
from langevin import _library as library

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # networks are small
AGENTS = langevin.agents()
BOX = [name for name, cls in AGENTS.items() if cls._entry.traits & library.TAKES_BOX]  # test_continuous.py has them
DEEP = [name for name, cls in AGENTS.items() if cls._entry.find("replay") and name not in BOX]
LINEAR = [name for name, cls in AGENTS.items() if issubclass(cls, langevin.LinearAgent)]
PARTS = [name for name in DEEP if AGENTS[name]._entry.traits & library.TAKES_MULTI_DISCRETE]
STAGED = [name for name in DEEP if AGENTS[name]._entry.find("stages")]
SMALL = {"preset": "small", "warmup": 20, "replay": 200, "batch": 8, "update_every": 2}
CLOSE = 1e-5  # relative to the greatest value


class Draws(gymnasium.Env):
    """Draws every observation and reward."""

    def __init__(self, observation_space, action_space=None):
        self.observation_space, self.action_space = observation_space, action_space or spaces.Discrete(3)
        self.observation_space.seed(1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        over = bool(self.np_random.random() < 0.1)
        return self.observation_space.sample(), float(self.np_random.random()), over, False, {}


def bytes_of(*shape, high=255):
    return spaces.Box(0, np.broadcast_to(high, shape).astype(np.uint8), shape, np.uint8)


def floats_of(*shape):
    return spaces.Box(-np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape), 7, shape, np.float32)


def stack_of(k, space):
    return gymnasium.wrappers.FrameStackObservation(Draws(space), k)


INPUTS = {  # an environment, and options of the agent
    "vector": (lambda: Draws(floats_of(4)), {}),
    "matrix": (lambda: Draws(floats_of(3, 2)), {}),
    "normalized": (lambda: Draws(floats_of(4)), {"normalize_obs": True}),
    "stack of vectors": (lambda: stack_of(3, floats_of(4)), {"normalize_obs": True}),
    "states": (lambda: Draws(spaces.Discrete(5, start=2)), {}),
    "bytes": (lambda: Draws(bytes_of(8, 7, 3, high=(9, 3, 200))), {}),
    "bytes / 255": (lambda: Draws(bytes_of(8, 7, 3)), {"scale_input": True}),
    "bytes as they are": (lambda: Draws(bytes_of(8, 7, 3, high=2)), {"scale_input": False}),
    "channels first": (lambda: Draws(bytes_of(2, 6, 7)), {}),
    "booleans": (lambda: Draws(spaces.Box(0, 1, (6, 7, 2), np.bool_)), {}),
    "gray": (lambda: Draws(bytes_of(6, 7)), {}),
    "stack of pictures": (lambda: stack_of(2, bytes_of(6, 7, 3, high=(9, 3, 200))), {}),
    "picture of floats": (lambda: Draws(floats_of(6, 7, 2)), {}),
    "normalized picture": (lambda: Draws(floats_of(6, 7, 2)), {"normalize_obs": True}),
    "large": (lambda: Draws(bytes_of(44, 36, 2)), {"hidden": (12,)}),
}
NETWORKS = [
    {},
    {"layer_norm": True},
    {"dueling": True, "hidden": (10, 6)},
    {"dueling": True, "layer_norm": True, "hidden": (10,)},
    {"net": "mlp", "hidden": (8, 9, 7)},
    {"conv": "4x3s2,5x2s1", "layer_norm": True, "hidden": (9,), "dueling": True},
]


def make_agent(name, env, **options):
    few = {"heads": 3} if name == "BootstrappedDQN" else {}
    options = {"hidden": (16, 12), **SMALL, **few, **options}
    return AGENTS[name](env, seed=1, **options)


def observations_of(env, count=12):
    return np.stack([env.observation_space.sample() for _ in range(count)])


def check(agent, obs, *more, stage=0):
    """Values, greedy actions, single observations and a copy through a state_dict."""
    module, q = agent.to_torch(), agent.q_values(obs, stage=stage)
    tensor = torch.tensor(obs)
    arguments = [torch.tensor(argument) for argument in more]
    with torch.no_grad():
        out = module(tensor, *arguments)
        one = module(tensor[3], *(a[3] for a in arguments))
    assert out.dtype == torch.float32 and not module.training
    found, most = out.numpy(), np.abs(q).max()
    assert np.ptp(q, axis=0).max() > 1e-4 * most  # observations matter
    assert np.abs(found - q).max() <= CLOSE * most
    assert one.numpy() == pytest.approx(found[3], rel=CLOSE, abs=CLOSE * most)
    parts = np.cumsum(module.choices)[:-1]
    for mine, theirs in zip(np.split(found, parts, 1), np.split(q, parts, 1)):
        order = np.sort(theirs, 1)
        clear = order[:, -1] - order[:, -2] > 2 * CLOSE * most
        assert (mine.argmax(1) == theirs.argmax(1))[clear].all()
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other = agent.to_torch()
    with torch.no_grad():
        for value in other.state_dict().values():
            value.zero_()
        other.load_state_dict(torch.load(file))
        assert torch.equal(other(tensor, *arguments), out)
    return module


# ---- Every agent


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("name", DEEP)
def test_observations(name, kind):
    make, options = INPUTS[kind]
    env = make()
    agent = make_agent(name, env, **options)
    agent.learn(60)
    module = check(agent, observations_of(env))
    by_default = name == "AdamLMCDQN" and kind in ("vector", "matrix", "picture of floats")
    assert (module.inputs.mean is not None) == ("normalize_obs" in options or by_default)


@pytest.mark.parametrize("network", NETWORKS, ids=str)
@pytest.mark.parametrize("kind", ["vector", "bytes"])
@pytest.mark.parametrize("name", DEEP)
def test_networks(name, kind, network):
    make, options = INPUTS[kind]
    if "conv" in network and kind == "vector":
        network = {**network, "conv": ""}
    env = make()
    agent = make_agent(name, env, **{**options, **network})
    agent.learn(60)
    module = check(agent, observations_of(env))
    assert any("norm" in key for key in module.state_dict()) == network.get("layer_norm", False)


BESIDE = [{}, {"normalize_obs": True}, {"net": "mlp"}, {"layer_norm": True, "dueling": True}]


@pytest.mark.parametrize("options", BESIDE, ids=str)
@pytest.mark.parametrize("kind", ["bytes", "floats"])
@pytest.mark.parametrize("name", DEEP)
def test_vector_beside_a_picture(name, kind, options):
    picture = bytes_of(6, 7, 3, high=5) if kind == "bytes" else floats_of(6, 7, 3)
    space = spaces.Dict({"picture": picture, "vector": floats_of(5)})
    env = Draws(space)
    agent = make_agent(name, env, **options)
    agent.learn(60)
    samples = [space.sample() for _ in range(8)]
    obs = {key: np.stack([sample[key] for sample in samples]) for key in space.spaces}
    module, q = agent.to_torch(), agent.q_values(obs)
    with torch.no_grad():
        out = module(torch.tensor(obs["picture"]), vector=torch.tensor(obs["vector"])).numpy()
        one = module(torch.tensor(obs["picture"][0]), vector=torch.tensor(obs["vector"][0])).numpy()
    assert np.abs(out - q).max() <= CLOSE * np.abs(q).max() and one.shape == q[0].shape
    with pytest.raises(ValueError, match="vector of 5"):
        module(torch.tensor(obs["picture"]))


@pytest.mark.parametrize("identifier", ["NChain", "RiverSwim", "CartPole"])
@pytest.mark.parametrize("name", [name for name in AGENTS if name not in LINEAR + BOX])
def test_own_environments(name, identifier):
    """Thermometers, one-hots and vectors; with the presets."""
    env = gymnasium.make(f"langevin/{identifier}-v0")
    options = {"warmup": 50, "replay": 500} if name in DEEP else {}
    agent = AGENTS[name](env, seed=1, **options)
    if name == "PathwiseLMCDQN" and identifier == "CartPole":
        with pytest.raises(langevin.UsageError, match="one-hot and thermometer"):
            agent.to_torch()
        return
    agent.learn(300)
    obs = [env.reset(seed=0)[0]]
    while len(obs) < 16:
        obs.append(env.step(len(obs) % 2)[0])
    check(agent, np.stack(obs))


@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize("name", PARTS)
def test_several_parts(name, dueling):
    env = Draws(floats_of(4), spaces.MultiDiscrete([2, 4, 3]))
    agent = make_agent(name, env, dueling=dueling)
    agent.learn(60)
    module = check(agent, observations_of(env))
    assert module.choices == (2, 4, 3)


@pytest.mark.parametrize("name", STAGED)
def test_a_network_for_each_stage(name):
    env = gymnasium.make("langevin/RiverSwim-v0")
    agent = AGENTS[name](
        env, seed=1, stages="per-stage", preset="small", n_step=1, double=False, warmup=30, replay=500, average=5
    )
    agent.learn(400)
    horizon = agent._spec.horizon
    states = np.arange(24) % 6
    stages = np.arange(24) % horizon
    module = check(agent, states, stages, stage=stages)
    with torch.no_grad():
        assert torch.equal(module(torch.tensor(states)), module(torch.tensor(states), 0))
        assert not torch.equal(module(torch.tensor(states), 0), module(torch.tensor(states), 1))
    for stage in (-1, horizon, 0.5):
        with pytest.raises(ValueError, match="stage"):
            module(torch.tensor(states), stage if isinstance(stage, int) else torch.tensor(stage))


@pytest.mark.parametrize("name", LINEAR)
def test_linear_agents(name, river):
    agent = AGENTS[name](river, seed=1)
    agent.learn(episodes=20)
    module, states = agent.to_torch(), torch.tensor([0, 1, 1, 0])
    for stage in range(3):
        q = agent.q_values(states.numpy(), stage=stage)
        assert module(states, stage).numpy() == pytest.approx(q, rel=1e-6)
        assert module(torch.tensor(1), stage).numpy() == pytest.approx(q[1], rel=1e-6)
    with pytest.raises(ValueError, match="states"):
        module(torch.tensor([2]))


# ---- Ensembles

ENSEMBLES = {
    "dense": lambda: Draws(floats_of(4)),
    "picture": lambda: Draws(bytes_of(6, 7, 2)),
    "states": lambda: Draws(spaces.Discrete(40)),
    "thermometer": lambda: gymnasium.make("langevin/NChain-v0", n=10),
}


MEMBERS = [{}, {"eps": 0.01}, {"prior_scale": 0}, {"layer_norm": True}, {"dueling": True}, {"optimizer": "sgd"}]


@pytest.mark.parametrize("options", MEMBERS, ids=str)
@pytest.mark.parametrize("kind", ENSEMBLES)
@pytest.mark.parametrize("members", ["heads", "networks"])
def test_members(members, kind, options):
    """With Adam, the first layers of networks over states wait for their steps until they are used."""
    env = ENSEMBLES[kind]()
    ensemble = {"members": members, "heads": 5, "eval": "vote", "lr": 1e-3}
    agent = langevin.BootstrappedDQN(env, seed=1, **{**SMALL, **ensemble, **options})
    agent.learn(200)
    lazy = "rows.w" in agent.arrays()
    assert lazy == (members == "networks" and kind == "states" and options.keys() <= {"prior_scale", "eps"})
    if lazy:
        assert (agent.arrays()["rows.at"] < agent.arrays()["rows.clock"][0]).any()
    some = {"states": np.arange(40), "thermometer": np.tri(10, 10, -1, dtype=np.float32)}
    obs = some.get(kind, observations_of(env))
    module = check(agent, obs)
    with torch.no_grad():
        q = module.members(torch.tensor(obs))
        assert q.shape == (len(obs), 5, agent._spec.actions.count) and q.std(1).max() > 0
        assert module.members(torch.tensor(obs[0])).shape == q.shape[1:]
        assert torch.allclose(q.mean(1), module(torch.tensor(obs)))
    votes = torch.nn.functional.one_hot(q.argmax(-1), q.shape[-1]).sum(1).numpy()
    actions, _ = agent.predict(obs, deterministic=True)
    assert (votes[np.arange(len(obs)), actions] == votes.max(1)).all()


# ---- Options


@pytest.mark.parametrize(
    "name, options",
    [
        ("AdamLMCDQN", {"shared_bias": True}),
        ("AdamLMCDQN", {"average": 50}),
        ("AdamLMCDQN", {"hidden": ()}),
        ("AdamLMCDQN", {"one_hot_gain": 2.0}),
        ("IQN", {"hidden": (7,)}),
        ("IQN", {"hidden": (7,), "dueling": True, "layer_norm": True}),
        ("IQN", {"taus_act": 5, "cosines": 3}),
        ("C51", {"v_min": -3.0, "v_max": 4.0, "atoms": 7}),
        ("QRDQN", {"quantiles": 7, "dueling": True}),
    ],
    ids=str,
)
def test_options(corridor, name, options):
    env = corridor(spaces.Discrete(5))
    agent = AGENTS[name](env, warmup=50, replay=500, **options)
    agent.learn(300)
    module = check(agent, np.arange(5))
    with torch.no_grad():
        assert torch.allclose(module(torch.eye(5)), module(torch.arange(5)))


def test_masks():
    """docs/python.md shows this way to act."""
    agent = make_agent("DQN", Draws(floats_of(4)))
    agent.learn(60)
    obs = observations_of(Draws(floats_of(4)), 40)
    masks = np.eye(3)[np.arange(40) % 3] == 0  # two of three are allowed
    with torch.no_grad():
        q = agent.to_torch()(torch.tensor(obs)).masked_fill(~torch.tensor(masks), -torch.inf)
    actions, _ = agent.predict(obs, deterministic=True, action_masks=masks)
    assert (q.argmax(-1).numpy() == actions).all()


def test_statistics_are_frozen():
    """The module is a copy of the agent at one moment."""
    env = Draws(floats_of(4))
    agent = make_agent("DQN", env, normalize_obs=True)
    assert agent.to_torch().inputs.deviation.tolist() == [1, 1, 1, 1]  # nothing has been seen
    agent.learn(60)
    module, obs = agent.to_torch(), torch.tensor(observations_of(env))
    with torch.no_grad():
        before = module(obs)
        agent.learn(60)
        assert torch.equal(module(obs), before) and not torch.allclose(agent.to_torch()(obs), before)
        far = torch.full((4,), 1e6)
        assert torch.equal(module(far), module(2 * far))  # cut
    check(agent, 1000 * observations_of(env))
    assert module.inputs.mean.tolist() != [0, 0, 0, 0]
    names = [name for name in module.state_dict() if name.startswith("inputs.")]
    assert names == ["inputs.scale", "inputs.mean", "inputs.deviation", "inputs.clip"]


def test_a_loaded_agent(tmp_path):
    """With and without an environment."""
    env = Draws(bytes_of(2, 6, 7, high=9))
    agent = make_agent("QRDQN", env)
    agent.learn(60)
    agent.save(tmp_path / "agent")
    obs = observations_of(env)
    for other in (langevin.load(tmp_path / "agent"), langevin.load(tmp_path / "agent", env=env)):
        with torch.no_grad():
            assert torch.equal(other.to_torch()(torch.tensor(obs)), agent.to_torch()(torch.tensor(obs)))


def test_wrong_shapes():
    agent = make_agent("DQN", Draws(bytes_of(6, 7, 3)))
    module = agent.to_torch()
    for shape in ((7, 6, 3), (2, 3, 6, 7), (2, 2, 6, 7, 3), (3,)):
        with pytest.raises(ValueError, match=r"takes \(6, 7, 3\)"):
            module(torch.zeros(shape, dtype=torch.uint8))


def test_modules_can_be_trained_and_pickled():
    agent = make_agent("IQN", Draws(floats_of(4)), dueling=True, layer_norm=True)
    module, obs = agent.to_torch(), torch.ones(3, 4)
    module(obs).sum().backward()
    assert all(parameter.grad is not None for parameter in module.parameters())
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False)(obs), module(obs))
