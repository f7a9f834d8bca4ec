"""One update of soft actor-critic in PyTorch, with fused Adam, in two forms: eager and compiled. It
computes what src/agent/continuous/agent_sac.c does."""

import torch
from torch import nn

torch.set_num_threads(1)


def mlp(inputs, hidden, outputs):
    sizes, layers = [inputs, *hidden], []
    for n, m in zip(sizes, sizes[1:]):
        layers += [nn.Linear(n, m), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], outputs))


def load(net, flat):
    """Our flat vector has weights (inputs x outputs), then biases, layer by layer."""
    at = 0
    with torch.no_grad():
        for layer in (x for x in net if isinstance(x, nn.Linear)):
            n, m = layer.in_features, layer.out_features
            layer.weight.copy_(torch.tensor(flat[at : at + n * m]).view(n, m).T)
            layer.bias.copy_(torch.tensor(flat[at + n * m :][:m]))
            at += (n + 1) * m
    assert at == len(flat)


class Sac:
    def __init__(self, length, parts, hidden, lr, gamma=0.99, tau=0.005):
        self.parts, self.gamma, self.tau = parts, gamma, tau
        self.actor = mlp(length, hidden, 2 * parts)
        self.critics = nn.ModuleList(mlp(length + parts, hidden, 1) for _ in range(2))
        self.targets = nn.ModuleList(mlp(length + parts, hidden, 1) for _ in range(2))
        self.targets.load_state_dict(self.critics.state_dict())
        self.targets.requires_grad_(False)
        self.log_alpha = nn.Parameter(torch.zeros(1))
        groups = (self.actor.parameters(), self.critics.parameters(), [self.log_alpha])
        self.actor_adam, self.critic_adam, self.alpha_adam = (torch.optim.Adam(g, lr=lr, fused=True) for g in groups)

    def policy(self, obs, xi):
        mean, log_std = self.actor(obs).chunk(2, 1)
        log_std = log_std.clamp(-20, 2)
        action = torch.tanh(mean + log_std.exp() * xi)
        log_pi = -(xi**2) / 2 - log_std - 0.918938533 - torch.log(1 - action**2 + 1e-6)
        return action, log_pi.sum(1)

    def least(self, critics, obs, action):
        both = torch.cat((obs, action), 1)
        return torch.minimum(critics[0](both), critics[1](both))[:, 0]

    def target(self, reward, discount, following, xi):
        with torch.no_grad():
            action, log_pi = self.policy(following, xi)
            return reward + discount * (self.least(self.targets, following, action) - self.log_alpha.exp() * log_pi)

    def critic_loss(self, obs, action, y):
        both = torch.cat((obs, action), 1)
        return sum(((critic(both)[:, 0] - y) ** 2).mean() / 2 for critic in self.critics)

    def actor_loss(self, obs, xi):
        action, log_pi = self.policy(obs, xi)
        return (self.log_alpha.detach().exp() * log_pi - self.least(self.critics, obs, action)).mean(), log_pi.detach()

    def update(self, obs, action, reward, discount, following):
        xi, next_xi = torch.randn(2, len(obs), self.parts)
        y = self.target(reward, discount, following, next_xi)
        self.critic_adam.zero_grad(set_to_none=True)
        self.critic_loss(obs, action, y).backward()
        self.critic_adam.step()
        self.critics.requires_grad_(False)
        loss, log_pi = self.actor_loss(obs, xi)
        self.actor_adam.zero_grad(set_to_none=True)
        loss.backward()
        self.actor_adam.step()
        self.critics.requires_grad_(True)
        self.alpha_adam.zero_grad(set_to_none=True)
        (-self.log_alpha * (log_pi.mean() - self.parts)).sum().backward()
        self.alpha_adam.step()
        with torch.no_grad():
            ours, theirs = list(self.critics.parameters()), list(self.targets.parameters())
            torch._foreach_lerp_(theirs, ours, self.tau)


class Compiled(Sac):
    """Targets and the two losses, with their gradients, in compiled graphs."""

    def __init__(self, *args):
        super().__init__(*args)
        self.target = torch.compile(self.target, dynamic=False)
        self.critic_loss = torch.compile(self.critic_loss, dynamic=False)
        self.actor_loss = torch.compile(self.actor_loss, dynamic=False)
