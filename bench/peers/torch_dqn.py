"""One update of DQN with Adam SGLD (Adam LMCDQN) in PyTorch, in three forms that compute the same.

    Eager      modules and a loop over their tensors: how such an agent is usually written
    Flat       all parameters in one vector, so the optimizer is a few operations
    Compiled   Flat, with loss, gradient and step through torch.compile

The target is y = r + d max_a Q(s', a; w-), or with double Q the action of the online network, and g
is the gradient of the mean of (y - Q(s, a; w))^2. Then w -= lr (g + a m / root) and w += noise xi.
The moments are updated before or after, by `form`, as in src/optim/optim_langevin.c.
"""

import dataclasses
import math

import torch
from torch import nn

torch.set_num_threads(1)
torch.set_flush_denormal(True)


@dataclasses.dataclass
class Rule:
    """The parameters of Adam SGLD; noise 0 adds none."""

    lr: float
    a: float
    beta: float
    form: str = "paper"
    beta1: float = 0.9
    eps: float = 1e-8

    @property
    def beta2(self):
        return 0.99 if self.form == "paper" else 0.999

    @property
    def noise(self):
        return math.sqrt(2 * self.lr / self.beta)


def mlp(inputs, hidden, outputs):
    sizes = [inputs, *hidden]
    layers = []
    for n, m in zip(sizes, sizes[1:]):
        layers += [nn.Linear(n, m), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], outputs))


class Nature(nn.Module):
    """Takes bytes (batch, 84, 84, 4), as the replay stores them."""

    def __init__(self, actions):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3, 1), nn.ReLU(),
            nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, actions),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x.permute(0, 3, 1, 2).float())


def targets(online, target, batch, double):
    _, following, _, reward, discount = batch
    q = target(following)
    best = (online(following) if double else q).argmax(1, keepdim=True)
    return reward + discount * q.gather(1, best)[:, 0]


def loss_of(online, y, batch):
    obs, _, action, _, _ = batch
    return ((y - online(obs).gather(1, action[:, None])[:, 0]) ** 2).mean()


class Eager:
    def __init__(self, online, target, rule, double):
        self.online, self.target, self.rule, self.double = online, target, rule, double
        self.w = list(online.parameters())
        self.m = [torch.zeros_like(p) for p in self.w]
        self.v = [torch.zeros_like(p) for p in self.w]

    def update(self, batch):
        with torch.no_grad():
            y = targets(self.online, self.target, batch, self.double)
        loss = loss_of(self.online, y, batch)
        for p in self.w:
            p.grad = None
        loss.backward()
        self.step()
        return loss

    @torch.no_grad()
    def step(self):
        r = self.rule
        for p, m, v in zip(self.w, self.m, self.v):
            g = p.grad
            if r.form == "paper":
                drift = g + r.a * m / torch.sqrt(v + r.eps)
            m.mul_(r.beta1).add_(g, alpha=1 - r.beta1)
            v.mul_(r.beta2).addcmul_(g, g, value=1 - r.beta2)
            if r.form == "code":
                drift = g + r.a * m / (torch.sqrt(v) + r.eps)
            p.add_(drift, alpha=-r.lr)
            if r.noise:
                p.add_(torch.randn_like(p), alpha=r.noise)


def flat_step(rule, w, m, v, g, xi):
    """The step of Eager over one vector; writes w, m and v."""
    if rule.form == "paper":
        drift = g + rule.a * m / torch.sqrt(v + rule.eps)
    m.lerp_(g, 1 - rule.beta1)
    v.mul_(rule.beta2).addcmul_(g, g, value=1 - rule.beta2)
    if rule.form == "code":
        drift = g + rule.a * m / (torch.sqrt(v) + rule.eps)
    w.add_(drift, alpha=-rule.lr)
    if rule.noise:
        w.add_(xi, alpha=rule.noise)


class Flat:
    """The tensors of the modules are views of `w`, and their gradients are views of `g`."""

    def __init__(self, online, target, rule, double):
        self.online, self.target, self.rule, self.double = online, target, rule, double
        tensors = list(online.parameters())
        self.w = torch.cat([p.detach().reshape(-1) for p in tensors])
        self.g, self.m, self.v, self.xi = (torch.zeros_like(self.w) for _ in range(4))
        at = 0
        for p in tensors:
            p.data = self.w[at : at + p.numel()].view_as(p)
            p.grad = self.g[at : at + p.numel()].view_as(p)
            at += p.numel()

    def loss(self, batch):
        with torch.no_grad():
            y = targets(self.online, self.target, batch, self.double)
        return loss_of(self.online, y, batch)

    def step(self, *vectors):
        flat_step(self.rule, *vectors)

    def update(self, batch):
        loss = self.loss(batch)
        self.g.zero_()
        loss.backward()
        with torch.no_grad():
            if self.rule.noise:
                self.xi.normal_()
            self.step(self.w, self.m, self.v, self.g, self.xi)
        return loss


class Compiled(Flat):
    """Targets and loss with their gradient in one compiled graph, the step in another."""

    def __init__(self, *args):
        super().__init__(*args)
        self.loss = torch.compile(self.loss, dynamic=False)
        self.step = torch.compile(self.step, dynamic=False)


class Replay:
    """Transitions in preallocated tensors; a minibatch is one gather per tensor."""

    def __init__(self, obs, following, action, reward, discount):
        self.all = (obs, following, action, reward, discount)
        self.size = len(action)

    def sample(self, count):
        index = torch.randint(self.size, (count,))
        return tuple(x[index] for x in self.all)
