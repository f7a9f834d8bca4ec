"""Makes the tables of optim_oracle.h: parameters after each step of Adam and centred RMSProp, from libraries.

    python3 optim_oracle.py adam     # needs torch
    python3 optim_oracle.py rmsprop  # needs optax, with which DQN Zoo is written

prints one table; the header holds both, and START and GRADIENTS. Gradients do not depend on the
parameters, and everything is in double precision. PyTorch's RMSProp has eps outside the root, hence optax for that one.
"""
import sys

GRADIENTS = [
    [0.5, -1e-3, 20.0],
    [-0.2, 2e-3, 30.0],
    [0.1, 0.0, -25.0],
    [0.7, 1e-4, 28.0],
    [0.0, -3e-3, 22.0],
    [-0.4, 5e-3, 27.0],
]
START = [1.0, -0.02, 0.3]


def adam():
    import torch

    w = torch.tensor(START, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([w], lr=0.01, betas=(0.9, 0.999), eps=1e-8)
    for g in GRADIENTS:
        w.grad = torch.tensor(g, dtype=torch.float64)
        optimiser.step()
        yield w.tolist()


def rmsprop():
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import optax

    w = jnp.array(START)
    optimiser = optax.rmsprop(0.01, decay=0.95, eps=1e-5, centered=True)
    state = optimiser.init(w)
    for g in GRADIENTS:
        updates, state = optimiser.update(jnp.array(g), state)
        w = optax.apply_updates(w, updates)
        yield w.tolist()


def rows(name, table):
    lines = ["    {" + ", ".join("%.12g" % x for x in row) + "}," for row in table]
    head = "static const double oracle_%s[ORACLE_STEPS][ORACLE_WIDTH] = {\n" % name
    return head + "\n".join(lines) + "\n};"


print(rows(sys.argv[1], {"adam": adam, "rmsprop": rmsprop}[sys.argv[1]]()))
