"""Agents for continuous actions: every update against PyTorch's autograd and optimizers, to_torch(), predict and files."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import langevin
from langevin import _library as library

BOX = [name for name, cls in langevin.agents().items() if cls._entry.traits & library.TAKES_BOX]
SMALL = {"hidden": (16, 12), "batch": 9, "warmup": 30, "replay": 300, "normalize_obs": False}
LOW, HIGH = np.array([-2.0, 0.0], np.float32), np.array([1.0, 5.0], np.float32)


class Push(gymnasium.Env):
    """Draws observations; rewards depend on both; some episodes terminate, others are cut off."""

    def __init__(self, observation_space=None, action_space=None):
        self.observation_space = observation_space or spaces.Box(-5, 5, (3,), np.float32)
        self.action_space = action_space or spaces.Box(LOW, HIGH)
        self.observation_space.seed(1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        obs, draw = self.observation_space.sample(), self.np_random.random()
        return obs, float(np.sum(action) * np.mean(obs)), bool(draw < 0.1), bool(draw > 0.9), {}


def make(name, **options):
    return langevin.agents()[name](Push(), seed=1, **{**SMALL, **options})


# ---- Acting and files


@pytest.mark.parametrize("name", BOX)
def test_predict_and_files(name, tmp_path):
    agent = make(name)
    agent.learn(60)
    env = Push()
    obs = np.stack([env.observation_space.sample() for _ in range(20)])
    actions, _ = agent.predict(obs, deterministic=True)
    assert actions.shape == (20, 2) and (actions >= LOW).all() and (actions <= HIGH).all()
    one, _ = agent.predict(obs[3], deterministic=True)
    assert env.action_space.contains(one) and (one == actions[3]).all()
    drawn = np.stack([agent.predict(obs[3])[0] for _ in range(5)])
    assert np.ptp(drawn, axis=0).min() > 0
    agent.save(tmp_path / "agent")
    other = langevin.load(tmp_path / "agent", env=Push())
    assert (other.predict(obs, deterministic=True)[0] == actions).all()
    for copy in (agent, other):
        copy.set_env(Push())
        copy.learn(40)
    for key, values in agent.parameters().items():
        assert (values == other.parameters()[key]).all(), key
    with pytest.raises(langevin.UsageError, match="no values of actions"):
        agent.q_values(obs)


@pytest.mark.parametrize("name", BOX)
def test_a_vector_of_environments(name):
    envs = gymnasium.vector.SyncVectorEnv([Push for _ in range(3)])
    agent = langevin.agents()[name](envs, seed=1, **SMALL)
    agent.learn(90)
    assert 90 <= agent.num_timesteps < 93


def test_the_shape_of_actions_is_kept():
    agent = langevin.SAC(Push(action_space=spaces.Box(-1, 1, (2, 2), np.float64)), seed=1, **SMALL)
    agent.learn(40)
    action, _ = agent.predict(np.zeros(3, np.float32))
    assert action.shape == (2, 2) and action.dtype == np.float64


def test_an_action_that_is_one_number_stays_a_fraction():
    agent = langevin.SAC(Push(action_space=spaces.Box(-1, 1, (), np.float32)), seed=1, **SMALL)
    agent.learn(40)
    actions = [agent.predict(np.full(3, x, np.float32), deterministic=True)[0] for x in (-1, 0, 1)]
    assert np.shape(actions[0]) == () and any(a != int(a) for a in actions)


def test_wrong_usage():
    endless = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    with pytest.raises(langevin.UsageError, match="bound"):
        langevin.SAC(Push(action_space=endless))
    with pytest.raises(langevin.UsageError, match="takes continuous actions, but"):
        langevin.TD3("CartPole-v1")
    with pytest.raises(TypeError, match="epsilon_start"):
        langevin.SAC(Push(), epsilon_start=1)


# ---- PyTorch: one update, from what the agent drew


class Update:
    """The arrays of an agent just before and after an update, as tensors."""

    def __init__(self, torch, agent, steps=70):
        self.torch = torch
        agent.learn(steps)
        self.before = {key: torch.tensor(values) for key, values in agent.arrays().items()}
        agent.learn(1)
        self.after = {key: torch.tensor(values) for key, values in agent.arrays().items()}
        self.p, self.batch = agent.params, int(agent.params["batch"])
        obs, self.next = self.after["batch.obs"].view(torch.float32).reshape(2, self.batch, 3)
        self.obs = obs
        self.action = self.after["batch.action"].reshape(self.batch, 2)
        drawn = "reward" if "reward" in self.after else "batch.reward"  # lsac changes the latter by its priors
        self.reward, self.discount = self.after[drawn], self.after["batch.discount"]
        self.xi = self.after["policy.xi"]
        self.first = bool((self.before["counters"][1] % self.p["policy_every"]) == 0)

    def layers(self, flat, sizes):
        """Weights (inputs x outputs) and biases, layer by layer."""
        at, found = 0, []
        for inputs, outputs in zip(sizes, sizes[1:]):
            found.append((flat[at : at + inputs * outputs].reshape(inputs, outputs), flat[at + inputs * outputs :][:outputs]))
            at += (inputs + 1) * outputs
        assert at == flat.numel()
        return found

    def net(self, flat, x, outputs):
        layers = self.layers(flat, [x.shape[1], *self.p["hidden"], outputs])
        for weights, biases in layers[:-1]:
            x = self.torch.relu(x @ weights + biases)
        return x @ layers[-1][0] + layers[-1][1]

    def critics(self, flat, obs, action, outputs=1):
        copies = flat.reshape(-1, flat.numel() // self.copies)
        both = self.torch.cat((obs, action), 1)
        return [self.net(copy, both, outputs) for copy in copies]

    copies = 2

    def gaussian(self, flat, obs, xi, least=-20, most=2):
        """The action, reparametrized, and its log-probability."""
        torch = self.torch
        mean, log_std = self.net(flat, obs, 4).chunk(2, 1)
        std = log_std.clamp(least, most).exp()
        u = mean + std * xi.reshape(-1, 2)[: len(obs)]
        action = torch.tanh(u)
        log_pi = torch.distributions.Normal(mean, std).log_prob(u) - torch.log(1 - action**2 + 1e-6)
        return action, log_pi.sum(1)

    def adam(self, key, gradient, lr):
        """The parameters after a step of torch.optim.Adam from the agent's moments."""
        torch = self.torch
        parameter = torch.nn.Parameter(self.before[key].clone())
        optimizer = torch.optim.Adam([parameter], lr=lr)
        optimizer.state[parameter] = {
            "step": self.before[key + ".t"][0].float(),
            "exp_avg": self.before[key + ".slot0"].clone(),
            "exp_avg_sq": self.before[key + ".slot1"].clone(),
        }
        parameter.grad = gradient
        optimizer.step()
        return parameter.detach()

    def check(self, key, gradient, lr):
        near(self.after[key + ".grad"], gradient, key)
        new = self.adam(key, gradient, lr)
        near(self.after[key] - self.before[key], new - self.before[key], key, 2e-3)
        return new

    def follow(self, key, new):
        want = self.before[key + "_target"] + self.p["tau"] * (new - self.before[key + "_target"])
        near(self.after[key + "_target"], want, key)


def near(found, want, what, tolerance=1e-4):
    size = want.abs().max()
    assert size > 0, what
    assert (found - want).abs().max() <= tolerance * size, what


def grad(torch, loss, parameter):
    return torch.autograd.grad(loss, parameter)[0]


@pytest.mark.parametrize("options", [{}, {"n_step": 3, "gamma": 0.9}, {"learn_alpha": False, "alpha": 0.4}])
def test_sac(options):
    torch = pytest.importorskip("torch")
    agent = make("SAC", **options)
    u = Update(torch, agent)
    p, B = u.p, u.batch
    alpha = u.before["log_alpha"].exp()
    actor, critic = (u.before[key].clone().requires_grad_() for key in ("actor", "critic"))
    with torch.no_grad():
        action, log_pi = u.gaussian(actor, u.next, u.xi[2 * B :])
        q = torch.cat(u.critics(u.before["critic_target"], u.next, action), 1).min(1).values
        y = u.reward + u.discount * (q - alpha * log_pi)
    near(u.after["y"], y, "y")
    loss = sum(((q[:, 0] - y) ** 2).mean() / 2 for q in u.critics(critic, u.obs, u.action))
    assert agent.arrays()["stats"][0] == pytest.approx(loss.item(), rel=1e-4)
    new = u.check("critic", grad(torch, loss, critic), p["lr"])
    u.follow("critic", new)
    action, log_pi = u.gaussian(actor, u.obs, u.xi)
    q = torch.cat(u.critics(new, u.obs, action), 1).min(1).values
    u.check("actor", grad(torch, (alpha * log_pi - q).mean(), actor), p["actor_lr"])
    if p["learn_alpha"]:
        u.check("log_alpha", -(log_pi.detach().mean() + p["target_entropy"]).reshape(1), p["alpha_lr"])
        assert p["target_entropy"] == -2
    else:
        assert u.after["log_alpha"] == u.before["log_alpha"]


@pytest.mark.parametrize("steps", [70, 71])  # with and without an update of the policy
def test_td3(steps):
    torch = pytest.importorskip("torch")
    agent = make("TD3", target_noise=0.4)
    u = Update(torch, agent, steps)
    p, B = u.p, u.batch
    actor, critic = (u.before[key].clone().requires_grad_() for key in ("actor", "critic"))
    with torch.no_grad():
        noise = (0.4 * u.xi[: 2 * B].reshape(B, 2)).clamp(-0.5, 0.5)
        action = (torch.tanh(u.net(u.before["actor_target"], u.next, 2)) + noise).clamp(-1, 1)
        q = torch.cat(u.critics(u.before["critic_target"], u.next, action), 1).min(1).values
        y = u.reward + u.discount * q
    near(u.after["y"], y, "y")
    loss = sum(((q[:, 0] - y) ** 2).mean() for q in u.critics(critic, u.obs, u.action))
    new = u.check("critic", grad(torch, loss, critic), p["lr"])
    updates = int(u.after["counters"][1])
    if updates % 2:
        assert (u.after["actor"] == u.before["actor"]).all()
        assert (u.after["critic_target"] == u.before["critic_target"]).all()
        return
    u.follow("critic", new)
    q = u.critics(new, u.obs, torch.tanh(u.net(actor, u.obs, 2)))[0]
    u.follow("actor", u.check("actor", grad(torch, -q.mean(), actor), p["actor_lr"]))


class Distribution(Update):
    """Critics with a mean and a deviation; omega begins as the mean deviation."""

    def __init__(self, torch, agent, steps, copies):
        self.copies = copies
        super().__init__(torch, agent, steps)

    def pairs(self, flat, obs, action):
        """(mu, sigma) of every critic, in pairs, with the prior of the only pair of an agent that has one."""
        q, prior = self.critics(flat, obs, action, 2), 0
        if "prior" in self.before:
            both = self.torch.cat((obs, action), 1)
            prior = self.p["prior_scale"] * self.net(self.before["prior"], both, 2)[:, 0]
        made = [(x[:, 0] + prior, self.torch.nn.functional.softplus(x[:, 1])) for x in q]
        return list(zip(made[::2], made[1::2]))

    def gradient(self, critic, fixed_deviation=False):
        """Of all critics, as the authors of DSAC-T write their loss."""
        torch, B = self.torch, self.batch
        alpha = self.before["log_alpha"].exp()
        omega = self.before["omega"].clone()
        zeta, loss = self.after["zeta"][: 2 * B].reshape(2, B).clamp(-3, 3), 0
        with torch.no_grad():
            action, log_pi = self.gaussian(self.before["actor_target"], self.next, self.xi[2 * B :], -20, 0.5)
            targets = self.pairs(self.before["critic_target"], self.next, action)
        for ((m0, s0), (m1, s1)), pair in zip(targets, self.pairs(critic, self.obs, self.action)):
            lesser = m1 < m0
            drawn = torch.where(lesser, m1 + zeta[1] * s1, m0 + zeta[0] * s0)
            y = self.reward + self.discount * (torch.minimum(m0, m1) - alpha * log_pi)
            y_z = self.reward + self.discount * (drawn - alpha * log_pi)
            for j, (mu, sigma) in enumerate(pair):
                omega[j] = (1 - self.p["tau"]) * omega[j] + self.p["tau"] * sigma.detach().mean()
                s, m = sigma.detach(), mu.detach()
                bound = m + (y_z - m).clamp(-3 * omega[j], 3 * omega[j])
                of_mu = -(y - m) / (s**2 + 0.1) * mu
                of_sigma = -((m - bound) ** 2 - s**2) / (s**3 + 0.1) * sigma
                loss = loss + (omega[j] ** 2 + 0.1) * (of_mu + (0 if fixed_deviation else of_sigma)).mean()
        near(self.after["omega"], omega, "omega")
        return grad(torch, loss, critic)

    def check_policy(self, pair):
        torch, alpha = self.torch, self.before["log_alpha"].exp()
        actor = self.before["actor"].clone().requires_grad_()
        action, log_pi = self.gaussian(actor, self.obs, self.xi, -20, 0.5)
        (m0, _), (m1, _) = self.pairs(self.after["critic"], self.obs, action)[pair]
        gradient = grad(torch, (alpha * log_pi - torch.minimum(m0, m1)).mean(), actor)
        new = self.check("actor", gradient, self.p["actor_lr"])
        self.check("log_alpha", -(log_pi.detach().mean() + self.p["target_entropy"]).reshape(1), self.p["alpha_lr"])
        self.follow("actor", new)
        self.follow("critic", self.after["critic"])


def test_dsac():
    torch = pytest.importorskip("torch")
    u = Distribution(torch, make("DSAC"), 71, 2)
    critic = u.before["critic"].clone().requires_grad_()
    u.check("critic", u.gradient(critic), u.p["lr"])
    assert u.after["counters"][1] % 2 == 0
    u.check_policy(0)


@pytest.mark.parametrize("variant", ["code", "repaired"])
def test_lsac(variant):
    """One pair, so that the one that the policy climbs is known, and so are the draws."""
    torch = pytest.importorskip("torch")
    u = Distribution(torch, make("LSAC", variant=variant, pairs=1, noise=0), 71, 2)
    critic = u.before["critic"].clone().requires_grad_()
    gradient = u.gradient(critic, variant == "code")
    halves = [half * min(1, 0.7 / half.norm().item()) for half in gradient.chunk(2)]  # clipped critic by critic
    gradient = torch.cat(halves)
    near(u.after["critic.grad"], gradient, "critic")
    m = 0.9 * u.before["critic.slot0"] + 0.1 * gradient
    v = 0.999 * u.before["critic.slot1"] + 0.001 * gradient**2
    moved = -1e-3 * (gradient + m / (v.sqrt() + 1e-8))
    near(u.after["critic"] - u.before["critic"], moved, "critic", 2e-3)
    u.check_policy(0)


def test_the_noise_of_lsac():
    """Without a gradient (lr so small that only the noise moves), the deviation of a step is c sqrt(2 lr)."""
    agent = make("LSAC", pairs=3, noise=1e3, lr=1e-8, policy_every=1000)
    agent.learn(40)
    before = agent.parameters()["critic"].reshape(3, -1).copy()
    agent.learn(1)
    moved = (agent.parameters()["critic"].reshape(3, -1) - before).std(axis=1)
    assert moved == pytest.approx(np.full(3, 1e3 * np.sqrt(2e-8)), rel=0.12)  # 5 standard errors of 974 numbers


# ---- to_torch()

SPACES = {
    "vector": (spaces.Box(-5, 5, (3,), np.float32), {}),
    "normalized": (spaces.Box(-5, 5, (3,), np.float32), {"normalize_obs": True, "layer_norm": True}),
    "states": (spaces.Discrete(5, start=2), {}),
    "picture": (spaces.Box(0, 255, (8, 7, 3), np.uint8), {"hidden": (9,)}),
}


class PushAnything(Push):
    def step(self, action):
        return self.observation_space.sample(), float(np.sum(action)), False, self.np_random.random() < 0.1, {}


@pytest.mark.parametrize("name", BOX)
@pytest.mark.parametrize("kind", list(SPACES))
def test_to_torch(name, kind):
    torch = pytest.importorskip("torch")
    space, options = SPACES[kind]
    env = PushAnything(space)
    agent = langevin.agents()[name](env, seed=1, **{**SMALL, **options})
    agent.learn(60)
    obs = np.stack([env.observation_space.sample() for _ in range(12)])
    module = agent.to_torch()
    with torch.no_grad():
        found, one = module(torch.tensor(obs)).numpy(), module(torch.tensor(obs[3])).numpy()
    want, _ = agent.predict(obs, deterministic=True)
    assert np.abs(found - want).max() < 1e-5 and np.ptp(want, axis=0).max() > 1e-4
    assert np.abs(one - want[3]).max() < 1e-5 and one.shape == (2,)
