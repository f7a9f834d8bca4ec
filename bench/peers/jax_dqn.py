"""The update of torch_dqn.py in JAX: sampling, gradient, Adam SGLD and noise in one jitted function
(an MLP, form paper)."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax
import jax.numpy as jnp


def forward(w, x):
    for weight, bias in w[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    weight, bias = w[-1]
    return x @ weight + bias


class Jitted:
    """w is a list of (weights (inputs x outputs), biases); replay is (obs, following, action,
    reward, discount)."""

    def __init__(self, w, w_target, replay, rule, count):
        self.w, self.w_target = jax.tree.map(jnp.array, w), jax.tree.map(jnp.array, w_target)
        self.m = jax.tree.map(jnp.zeros_like, self.w)
        self.v = jax.tree.map(jnp.zeros_like, self.w)
        self.replay = tuple(jnp.asarray(x) for x in replay)
        self.key = jax.random.PRNGKey(0)

        def loss(w, w_target, obs, following, action, reward, discount):
            y = reward + discount * forward(w_target, following).max(1)
            q = jnp.take_along_axis(forward(w, obs), action[:, None], 1)[:, 0]
            return ((jax.lax.stop_gradient(y) - q) ** 2).mean()

        def learn(w, w_target, m, v, key, batch):
            value, g = jax.value_and_grad(loss)(w, w_target, *batch)
            leaves, tree = jax.tree.flatten(w)
            keys = jax.tree.unflatten(tree, list(jax.random.split(key, len(leaves))))

            def move(w, m, v, g, k):
                w = w - rule.lr * (g + rule.a * m / jnp.sqrt(v + rule.eps))
                return w + rule.noise * jax.random.normal(k, w.shape) if rule.noise else w

            new = jax.tree.map(move, w, m, v, g, keys)
            m = jax.tree.map(lambda m, g: rule.beta1 * m + (1 - rule.beta1) * g, m, g)
            v = jax.tree.map(lambda v, g: rule.beta2 * v + (1 - rule.beta2) * g * g, v, g)
            return new, m, v, value

        def sample_and_learn(w, w_target, m, v, key, replay):
            key, a, b = jax.random.split(key, 3)
            index = jax.random.randint(a, (count,), 0, replay[2].shape[0])
            return *learn(w, w_target, m, v, b, tuple(x[index] for x in replay)), key

        self._learn = jax.jit(learn)
        self._run = jax.jit(sample_and_learn, donate_argnums=(0, 2, 3))

    def learn_from(self, batch):
        """Return the loss on a given minibatch and the parameters after a step; changes nothing."""
        batch = tuple(jnp.asarray(x) for x in batch)
        new, _, _, value = self._learn(self.w, self.w_target, self.m, self.v, self.key, batch)
        return float(value), new

    def update(self):
        args = (self.w, self.w_target, self.m, self.v, self.key, self.replay)
        self.w, self.m, self.v, value, self.key = self._run(*args)
        value.block_until_ready()
