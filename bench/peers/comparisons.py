"""The comparisons of peers.py. Each function checks that all sides compute the same and returns the
functions to time."""

import dataclasses
import functools

import jax_dqn
import jax_sac
import langevin
import loops
import numpy as np
import numpy_linear
import torch
import torch_dqn
import torch_sac
from gymnasium import Env, spaces
from langevin._classes import agent_class
from measure import best, ours_run

TOLERANCE = 1e-5
CHAIN, HIDDEN, BATCH, ACTIONS = 100, [32, 32], 32, 18
SAC_ACTOR, SAC_CRITIC = [17, 256, 256, 12], [23, 256, 256, 1]
PAPER = {"hidden": HIDDEN, "batch": BATCH, "n_step": 1, "double": False, "average": 0, "final_lr": 1, "l2": 0, "scale_rewards": False, "grad_clip": 0}
ALWAYS = {"update_every": 1, "warmup": 50, "target_every": 100, "epsilon_start": 1, "epsilon_end": 0}


@dataclasses.dataclass
class Comparison:
    name: str
    peers: dict  # label -> a function that returns seconds
    wanted: dict = dataclasses.field(default_factory=dict)  # label -> least ratio
    groups: tuple = ()  # of `langevin bench`, with the line below
    line: str = ""
    ours: object = None  # or a function that returns seconds


def same(what, mine, theirs):
    mine, theirs = np.asarray(mine, np.float64), np.asarray(theirs, np.float64)
    error = np.abs(mine - theirs).max() / max(1e-3, np.abs(mine).max())
    if not error <= TOLERANCE:
        raise SystemExit(f"{what}: the peer computes a different result (relative difference {error:.2g})")


# ---- Deep agents


class Pictures(Env):
    """Noise of 84 x 84 x 4 bytes; nothing to learn."""

    observation_space = spaces.Box(0, 255, (84, 84, 4), np.uint8)
    action_space = spaces.Discrete(ACTIONS)

    def picture(self):
        return self.np_random.integers(0, 256, (84, 84, 4), np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.picture(), {}

    def step(self, action):
        return self.picture(), 0.1, False, False, {}


def module_of(flat, kind):
    """Turn our flat vector into a module. The vector has weights (inputs x outputs), then biases,
    layer by layer; pictures are height x width x channels."""
    net = torch_dqn.Nature(ACTIONS) if kind == "nature" else torch_dqn.mlp(CHAIN, HIDDEN, 2)
    layers = [x for x in net.modules() if isinstance(x, (torch.nn.Linear, torch.nn.Conv2d))]
    at = 0
    with torch.no_grad():
        for layer in layers:
            w, b = layer.weight, layer.bias
            flat_w = torch.tensor(flat[at : at + w.numel()])
            if isinstance(layer, torch.nn.Conv2d):
                w.copy_(flat_w.view(w.shape[2], w.shape[3], w.shape[1], w.shape[0]).permute(3, 2, 0, 1))
            elif w.shape[1] == 3136:  # after the convolutions
                w.copy_(flat_w.view(7, 7, 64, w.shape[0]).permute(3, 2, 0, 1).reshape(w.shape))
            else:
                w.copy_(flat_w.view(w.shape[1], w.shape[0]).T)
            at += w.numel()
            b.copy_(torch.tensor(flat[at : at + b.numel()]))
            at += b.numel()
    assert at == len(flat)
    return net


def flat_of(net, attribute):
    """The inverse of module_of, for parameters ("data") or gradients ("grad")."""
    pieces = []
    for layer in (x for x in net.modules() if isinstance(x, (torch.nn.Linear, torch.nn.Conv2d))):
        w, b = getattr(layer.weight, attribute), getattr(layer.bias, attribute)
        if w.dim() == 4:
            w = w.permute(2, 3, 1, 0)
        elif w.shape[1] == 3136:
            w = w.view(-1, 64, 7, 7).permute(2, 3, 1, 0)
        else:
            w = w.T
        pieces += [w.reshape(-1), b.reshape(-1)]
    return torch.cat(pieces).numpy()


def batch_of(arrays, kind):
    raw = arrays["batch.obs"]
    if kind == "nature":
        obs = torch.tensor(raw.reshape(2, BATCH, 84, 84, 4))
    else:
        ones = raw.view(np.int32).reshape(2, BATCH)
        obs = torch.tensor((np.arange(CHAIN) < ones[..., None]).astype(np.float32))
    rest = [torch.tensor(arrays[f"batch.{name}"]) for name in ("action", "reward", "discount")]
    return obs[0], obs[1], rest[0].long(), rest[1], rest[2]


def checked(kind):
    """Return an agent's parameters before an update and the minibatch of that update, after
    checking that PyTorch computes the same on it."""
    if kind == "nature":
        # A small lr, because these pictures are noise and have no Q to learn.
        more = {"preset": "authors", "replay": 200, "update_every": 1, "warmup": 50, "lr": 1e-9}
        agent = agent_class("adam-lmcdqn")(Pictures(), seed=1, **more)
    else:
        agent = agent_class("adam-lmcdqn")(langevin.NativeEnv("nchain", n=CHAIN), seed=1, replay=1000, **PAPER, **ALWAYS)
    agent.learn(55)
    before = {name: agent.arrays()[name].copy() for name in ("w", "w_target")}
    agent.learn(1)
    after = agent.arrays()
    batch = batch_of(after, kind)
    online, target = module_of(before["w"], kind), module_of(before["w_target"], kind)
    p = agent.params
    rule = torch_dqn.Rule(lr=p["lr"], a=p["a"], beta=p["beta"], form=p["form"])
    with torch.no_grad():
        y = torch_dqn.targets(online, target, batch, p["double"])
    same(f"{kind}, targets", after["y"], y)
    torch_dqn.loss_of(online, y, batch).backward()
    same(f"{kind}, gradient", after["grad"], flat_of(online, "grad"))
    return before, batch, rule, p["double"]


LABELS = {
    torch_dqn.Eager: "PyTorch eager",
    torch_dqn.Flat: "PyTorch flat vector",
    torch_dqn.Compiled: "PyTorch compiled",
}
FORMS = list(LABELS)


def torch_forms(kind):
    """Return the three forms, which agree on a minibatch and a step without noise."""
    before, batch, rule, double = checked(kind)
    quiet = dataclasses.replace(rule, beta=float("inf"), lr=1e-4)
    losses, ends = [], []
    for form in FORMS:
        peer = form(module_of(before["w"], kind), module_of(before["w_target"], kind), quiet, double)
        losses.append(float(peer.update(batch).detach()))
        w = peer.w if torch.is_tensor(peer.w) else torch.cat([p.detach().reshape(-1) for p in peer.w])
        ends.append(w.numpy().copy())
        same(f"{kind}, loss of {form.__name__}", losses[0], losses[-1])
        same(f"{kind}, step of {form.__name__}", ends[0], ends[-1])
    fresh = {}
    for form in FORMS:
        nets = module_of(before["w"], kind), module_of(before["w_target"], kind)
        fresh[LABELS[form]] = form(*nets, rule, double)
    return before, batch, rule, losses[0], fresh


def replay_of(batch, copies):
    return torch_dqn.Replay(*(x.repeat(copies, *[1] * (x.dim() - 1)) for x in batch))


def layers_of(flat, sizes):
    """Return (weights, biases) of every layer of an MLP."""
    found, at = [], 0
    for n, m in zip(sizes, sizes[1:]):
        found.append((flat[at : at + n * m].reshape(n, m), flat[at + n * m : at + n * m + m]))
        at += n * m + m
    return found


def chain_update(_):
    before, batch, rule, loss, forms = torch_forms("mlp")
    replay = replay_of(batch, 300)
    peers = {label: (lambda f=f: best(lambda: f.update(replay.sample(BATCH)))) for label, f in forms.items()}
    stored = [x.numpy() for x in replay.all]
    jitted = jax_dqn.Jitted(*(layers_of(before[key], [CHAIN, *HIDDEN, 2]) for key in ("w", "w_target")), stored, rule, BATCH)
    same("mlp, loss of JAX", loss, jitted.learn_from([x.numpy() for x in batch])[0])
    peers["JAX jit"] = lambda: best(jitted.update)
    wanted = {"PyTorch eager": 40, "PyTorch flat vector": 10, "PyTorch compiled": 10}
    return Comparison("N-Chain, Adam LMCDQN: update", peers, wanted, ("run",), "N-Chain, adam-lmcdqn: update")


def nature_update(_):
    _, batch, _, _, forms = torch_forms("nature")
    replay = replay_of(batch, 10)
    peers = {label: (lambda f=f: best(lambda: f.update(replay.sample(BATCH)), 1, 5)) for label, f in forms.items()}
    wanted = {"PyTorch eager": 2, "PyTorch flat vector": 1, "PyTorch compiled": 1}
    name = "Nature CNN, double DQN, Adam SGLD: update"
    return Comparison(name, peers, wanted, ("deep",), "Nature CNN, adam-lmcdqn: update")


def acting(kind, name, line, wanted):
    before, batch, _, _ = checked(kind)
    net, one = module_of(before["w"], kind), batch[0][:1].clone()
    compiled = torch.compile(net, dynamic=False)

    @torch.inference_mode()
    def act(net):
        return int(net(one).argmax())

    peers = {"PyTorch eager": lambda: best(lambda: act(net)), "PyTorch compiled": lambda: best(lambda: act(compiled))}
    return Comparison(name, peers, {"PyTorch eager": wanted}, ("deep",), line)


def nature_acting(_):
    return acting("nature", "Nature CNN: acting, batch 1", "Nature CNN, adam-lmcdqn: act", 2.5)


def chain_acting(_):
    return acting("mlp", "MLP 100-32-32-2: acting, batch 1", "MLP 100-32-32-2, adam-lmcdqn: act", 100)


def chain_loop(_):
    peers = {"tianshou DQN": lambda: loops.tianshou(300), "Stable-Baselines3 DQN": lambda: loops.stable_baselines3(300)}
    return Comparison("N-Chain, DQN: training step", peers, {"tianshou DQN": 100}, ("run",), "N-Chain, dqn: run")


# ---- Linear agents


def feed_both(env, agent, peers, episodes):
    """Let the agent play some episodes and plan once more; the peers get the same data."""
    for _ in range(episodes):
        obs, info = env.reset()
        over, h = False, 0
        while not over:
            action, pair = agent.act(obs), info["state"] * int(env.action_space.n)
            following, reward, terminated, truncated, info = env.step(action)
            agent.observe(obs, action, reward, following, terminated, truncated)
            for peer in peers:
                peer.absorb_step(h, pair + action, info["state"], reward)
            obs, h, over = following, h + 1, terminated or truncated
    agent.act(env.reset()[0])


def ucb_episode(_):
    """The problem of bench_linear.c. On the data of 30 episodes, all must compute the same Q."""
    states, actions, horizon, ridge, bonus = 100, 4, 4, 1.0, 1.0
    env = langevin.NativeEnv("linear-mdp", kind="low-rank", states=states, actions=actions, dim=400, horizon=horizon)
    agent = agent_class("lsvi-ucb")(env, seed=1, bonus=bonus, lambda_=ridge)
    phi = agent.arrays()["lsvi.phi"].reshape(states * actions, -1).copy()
    both = [numpy_linear.LsviUcb(phi, states, actions, horizon, ridge, bonus, kept=kept) for kept in (False, True)]
    feed_both(env, agent, both, 30)
    for peer in both:
        peer.plan()
        same(f"LSVI-UCB, Q, {'kept' if peer.kept else 'whole'}", agent.q_table(), peer.q)
    rng = np.random.default_rng(1)

    def episode(peer):
        peer.plan()
        state = 0
        for h in range(horizon):
            pair, state = state * actions + int(peer.q[h, state].argmax()), int(rng.integers(states))
            peer.absorb_step(h, pair, state, rng.random())

    peers = {
        "NumPy, bonus recomputed": lambda: best(lambda: episode(both[0])),
        "NumPy, bonus kept": lambda: best(lambda: episode(both[1])),
    }
    wanted = {"NumPy, bonus recomputed": 10}
    return Comparison("LSVI-UCB, d = 400: episode", peers, wanted, ("linear",), "lsvi-ucb, d = 400, H = 4")


def numpy_chain(episodes, planned):
    """A NumPy chain on the library's data. With almost no noise, both must compute the same Q."""
    states, actions, horizon, cold = 12, 2, 40, 1e16
    env = langevin.NativeEnv("riverswim", n=states, horizon=horizon)
    agent = agent_class("lmc-lsvi")(env, seed=1, episodes=planned, beta=cold, updates=0, lambda_=1.0)
    peer = numpy_linear.LmcLsvi(states, actions, horizon, planned, cold)
    feed_both(env, agent, [peer], episodes)
    peer.plan()
    same("LMC-LSVI, Q", agent.q_table(), peer.q)
    return peer


def chain_of_lmc(path):
    """LMC-LSVI with the theorem's J_k, lambda = 1, K = 3000. J_k grows with the data. The plain
    loop is timed once over the first 1000 episodes and NumPy's once on the episode after 100, so
    over all 3000 both would fall further behind."""
    settings = ["env.n=12", "agent.lambda=1", "agent.updates=0", "run.eval_every=0", "run.checkpoint_final=false"]
    settings += ["run.records=summary", "run.episodes=3000"]

    def episode(sampler, episodes):
        steps = 40 * episodes
        return ours_run(path, "riverswim", "lmc-lsvi", [*settings, f"agent.sampler={sampler}"], steps) / episodes

    loop, numpy = "chain step by step, first 1000", "NumPy, step by step, episode 101"
    peer = numpy_chain(100, 3000)
    peers = {loop: functools.cache(lambda: episode("loop", 1000)), numpy: functools.cache(lambda: best(peer.plan, 0, 1))}
    name = "LMC-LSVI, RiverSwim, theorem's J_k: episode"
    return Comparison(name, peers, {loop: 1000}, ours=lambda: episode("exact", 3000))


def history_plan(_):
    """The plan of bench_linear.c in NumPy. On the history of four episodes, both must compute the same values."""
    gamma, actions, m, sweeps = 0.99, 3, 20, 12

    def waves(x):
        return (np.cos(x * np.float32([3, 40]) @ np.random.default_rng(1).normal(size=(2, m))) / m**0.5).astype(np.float32)

    agent = agent_class("rlsvi")(
        langevin.NativeEnv("mountain-car"), seed=1, features=langevin.FeatureMap(waves, m), prior_std=0.0, lambda_=1.0, sweeps=sweeps
    )
    agent.learn(episodes=4)
    arrays = agent.arrays()
    ends = np.flatnonzero(arrays["history.action"] < 0)[2] + 1  # the last plan has the data of three episodes
    names = ("action", "reward", "ended")
    psi = waves(arrays["history.obs"].reshape(-1, 2)[:ends]).astype(float)
    peer = numpy_linear.HistoryPlan(psi, *(arrays[f"history.{n}"][:ends] for n in names), actions, 1.0, gamma)
    q = arrays["lsvi.q"].reshape(sweeps + 1, actions, m)
    rules = arrays["lsvi.rules"].reshape(sweeps + 1, -1)[:, [0, 5, 6]]  # center, low, high
    same("RLSVI from a history, values", psi @ q[0].T, psi @ peer.plan(q[-1], rules[-1], rules[0], sweeps).T)

    n, m, sweeps, rng = 20000, 128, 50, np.random.default_rng(1)
    psi = rng.normal(size=(n + 1, m)).astype(np.float32) / m**0.5
    action = rng.integers(actions, size=n + 1)
    action[-1] = -1
    peer = numpy_linear.HistoryPlan(psi, action, -np.ones(n + 1), np.zeros(n + 1), actions, 1e-3, gamma)
    rule = (0.0, -100.0, 0.0)
    work = functools.partial(peer.plan, np.zeros((actions, m)), rule, rule, sweeps, 0.1, rng)
    line = "rlsvi, n = 20000, m = 128, A = 3: plan"
    return Comparison("RLSVI, n = 20000, m = 128, 50 sweeps: plan", {"NumPy": lambda: best(work)}, {}, ("linear",), line)


# ---- Continuous actions


class Push(Env):
    """Noise of 17 numbers and 6 forces, as HalfCheetah has them; nothing to learn."""

    observation_space = spaces.Box(-np.inf, np.inf, (17,), np.float32)
    action_space = spaces.Box(-1, 1, (6,), np.float32)

    def draw(self):
        return self.np_random.standard_normal(17, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.draw(), {}

    def step(self, action):
        return self.draw(), float(action.sum()), False, bool(self.np_random.random() < 0.01), {}


def sac_gradients(peer, arrays, after, batch):
    """Load a PyTorch peer with the library's state before an update; return its targets and the
    gradients of its critics and, by the critics after their step, of its actor."""
    obs, action, reward, discount, following, xi, next_xi = batch
    torch_sac.load(peer.actor, arrays["actor"])
    for nets, flat in ((peer.critics, arrays["critic"]), (peer.targets, arrays["critic_target"])):
        for net, half in zip(nets, np.split(flat, 2)):
            torch_sac.load(net, half)
    with torch.no_grad():
        peer.log_alpha.copy_(torch.tensor(arrays["log_alpha"]))
    y = peer.target(reward, discount, following, next_xi)
    peer.critic_loss(obs, action, y).backward()
    critics = flat_of(peer.critics, "grad")
    for net, half in zip(peer.critics, np.split(after["critic"], 2)):
        torch_sac.load(net, half)
    peer.critics.requires_grad_(False)
    peer.actor_loss(obs, xi)[0].backward()
    peer.critics.requires_grad_(True)
    return y, critics, flat_of(peer.actor, "grad")


def jax_sac_gradients(start, after, batch):
    """The same in JAX."""
    obs, action, reward, discount, following, xi, next_xi = (x.numpy() for x in batch)
    actor, critics, targets, log_alpha = start
    alpha = np.exp(log_alpha[0])
    y = jax_sac.target(actor, targets, alpha, reward, discount, following, next_xi)
    of_critics = jax_sac.jax.grad(jax_sac.critic_loss)(critics, obs, action, y)
    moved = [layers_of(half, SAC_CRITIC) for half in np.split(after["critic"], 2)]
    of_actor = jax_sac.jax.grad(jax_sac.actor_loss, has_aux=True)(actor, moved, alpha, obs, xi)[0]
    flat = lambda g: np.concatenate([x.ravel() for x in jax_sac.jax.tree.leaves(g)])
    return y, flat(of_critics), flat(of_actor)


def sac_update(_):
    """On the minibatch and the draws of an update of the library, all must compute the same targets and gradients."""
    batch, lr, agent_settings = 256, 3e-4, {"warmup": 300, "normalize_obs": False}
    agent = agent_class("sac")(Push(), seed=1, hidden=[256, 256], batch=batch, lr=lr, **agent_settings)
    agent.learn(310)
    before = {name: agent.arrays()[name].copy() for name in ("actor", "critic", "critic_target", "log_alpha")}
    agent.learn(1)
    after = agent.arrays()
    obs, following = torch.tensor(after["batch.obs"].view(np.float32).reshape(2, batch, 17))
    action, reward, discount = (torch.tensor(after[f"batch.{key}"]) for key in ("action", "reward", "discount"))
    xi, next_xi = torch.tensor(after["policy.xi"][: 2 * batch * 6]).reshape(2, batch, 6)
    minibatch = (obs, action.reshape(batch, 6), reward, discount, following)
    forms = {
        "PyTorch eager, fused Adam": torch_sac.Sac(17, 6, [256, 256], lr),
        "PyTorch compiled, fused Adam": torch_sac.Compiled(17, 6, [256, 256], lr),
    }
    found = {label: sac_gradients(form, before, after, (*minibatch, xi, next_xi)) for label, form in forms.items()}
    halves = [[layers_of(half, SAC_CRITIC) for half in np.split(before[key], 2)] for key in ("critic", "critic_target")]
    start = layers_of(before["actor"], SAC_ACTOR), *halves, before["log_alpha"]
    found["JAX"] = jax_sac_gradients(start, after, (*minibatch, xi, next_xi))
    for label, theirs in found.items():
        for what, mine, other in zip(("targets", "critics' gradient", "actor's gradient"), (after["y"], after["critic.grad"], after["actor.grad"]), theirs):
            same(f"SAC, {what} of {label}", mine, other)
    peers = {label: (lambda f=f: best(lambda: f.update(*minibatch))) for label, f in forms.items()}
    scan, arrays = jax_sac.Sac(*start, lr, 20), [x.numpy() for x in minibatch]
    peers["JAX, jit of a scan over 20"] = lambda: best(lambda: scan.updates(*arrays)) / scan.count
    wanted = dict.fromkeys(forms, 2) | {"JAX, jit of a scan over 20": 1}
    line = "17 + 6, 256-256, batch 256, sac: update"
    return Comparison("SAC, 17 + 6, 256-256, batch 256: update", peers, wanted, ("continuous",), line)


COMPARISONS = [
    ("sac update", sac_update),
    ("chain update", chain_update),
    ("chain acting", chain_acting),
    ("chain loop", chain_loop),
    ("nature update", nature_update),
    ("nature acting", nature_acting),
    ("lsvi-ucb", ucb_episode),
    ("lmc-lsvi", chain_of_lmc),
    ("history", history_plan),
]
