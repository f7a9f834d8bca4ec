"""The updates of torch_sac.py in JAX: a scan over several of them in one jitted function, with Adam
and the draws."""

import jax
import jax.numpy as jnp
from jax_dqn import forward


def policy(actor, obs, xi):
    mean, log_std = jnp.split(forward(actor, obs), 2, 1)
    log_std = log_std.clip(-20, 2)
    action = jnp.tanh(mean + jnp.exp(log_std) * xi)
    log_pi = -(xi**2) / 2 - log_std - 0.918938533 - jnp.log(1 - action**2 + 1e-6)
    return action, log_pi.sum(1)


def least(critics, obs, action):
    both = jnp.concatenate((obs, action), 1)
    return jnp.minimum(*(forward(w, both)[:, 0] for w in critics))


def target(actor, critics, alpha, reward, discount, following, xi):
    action, log_pi = policy(actor, following, xi)
    return reward + discount * (least(critics, following, action) - alpha * log_pi)


def critic_loss(critics, obs, action, y):
    both = jnp.concatenate((obs, action), 1)
    return sum(((forward(w, both)[:, 0] - y) ** 2).mean() / 2 for w in critics)


def actor_loss(actor, critics, alpha, obs, xi):
    action, log_pi = policy(actor, obs, xi)
    return (alpha * log_pi - least(critics, obs, action)).mean(), log_pi


def adam(w, m, v, g, t, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    m = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, m, g)
    v = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, v, g)
    step, root = lr / (1 - beta1**t), jnp.sqrt(1 - beta2**t)
    return jax.tree.map(lambda w, m, v: w - step * m / (jnp.sqrt(v) / root + eps), w, m, v), m, v


class Sac:
    """Networks are lists of (weights (inputs x outputs), biases)."""

    def __init__(self, actor, critics, targets, log_alpha, lr, count, gamma=0.99, tau=0.005):
        trained = jax.tree.map(jnp.array, (actor, critics, log_alpha))
        states = tuple((w, jax.tree.map(jnp.zeros_like, w), jax.tree.map(jnp.zeros_like, w)) for w in trained)
        self.count = count
        self.state = (*states, jax.tree.map(jnp.array, targets), jnp.float32(0), jax.random.PRNGKey(0))

        def one(state, batch):
            actor, critics, log_alpha, targets, t, key = state
            obs, action, reward, discount, following = batch
            key, draw = jax.random.split(key)
            xi, next_xi = jax.random.normal(draw, (2, *action.shape))
            alpha, t = jnp.exp(log_alpha[0]), t + 1
            y = target(actor[0], targets, alpha, reward, discount, following, next_xi)
            critics = adam(*critics, jax.grad(critic_loss)(critics[0], obs, action, y), t, lr)
            g, log_pi = jax.grad(actor_loss, has_aux=True)(actor[0], critics[0], alpha, obs, xi)
            actor = adam(*actor, g, t, lr)
            log_alpha = adam(*log_alpha, action.shape[1] - log_pi.mean(), t, lr)
            targets = jax.tree.map(lambda x, w: x + tau * (w - x), targets, critics[0])
            return actor, critics, log_alpha, targets, t, key

        def several(state, batch):
            return jax.lax.scan(lambda state, _: (one(state, batch), None), state, None, count)[0]

        self._several = jax.jit(several, donate_argnums=0)

    def updates(self, *batch):
        self.state = jax.block_until_ready(self._several(self.state, batch))
