"""LSVI-UCB from a history, once more in NumPy: an explicit history, one regression per action, 50 lines. The library says
which sums are in float and in which order (feature_rows.h, kernels.h), and with portable kernels that order is the same on
every machine, so that both agree to 1e-8."""

import os
import subprocess
import sys

import numpy as np

LAMBDA, STD, GAMMA, SWEEPS, COUNT, BLOCK = 0.1, 0.5, 0.99, 12, 20, 256


def bumps(x):
    centers = np.linspace([-1.2, -0.07], [0.6, 0.07], COUNT, dtype=np.float32)
    psi = np.exp(-8 * ((x[:, None] - centers) ** 2 / np.float32([3.24, 0.0196])).sum(-1))
    return (psi / np.linalg.norm(psi, axis=1, keepdims=True)).astype(np.float32)


def row_dots(x, w):
    """x (n, m) times w (a, m) in float: number i goes to partial sum i mod 16, and the sums are added by halves."""
    part = np.zeros((len(x), len(w), 16), np.float32)
    for start in range(0, x.shape[1], 16):
        products = x[:, None, start : start + 16] * w[None, :, start : start + 16]
        part[:, :, : products.shape[2]] += products
    for half in (8, 4):
        part = part[:, :, :half] + part[:, :, half:]
    return (part[:, :, 0] + part[:, :, 2]) + (part[:, :, 1] + part[:, :, 3])


class Twin:
    def __init__(self, actions):
        self.A, self.w = actions, np.zeros((actions, COUNT))
        self.center = self.bonus = 0.0
        self.low, self.high = -np.inf, np.inf

    def rule(self, q, u):
        return np.clip(q + self.center + self.bonus * u.astype(float), self.low, self.high)

    def plan(self, obs, action, reward, ended):
        psi, least, most, sum_ = bumps(obs), 0.0, 0.0, 0.0
        for i in reversed(range(len(obs))):
            sum_ = reward[i] + GAMMA * sum_ if action[i] >= 0 else 0.0  # a row without an action ends an episode
            least, most = min(least, sum_), max(most, sum_)
        size = most - least or 1.0
        lam = [LAMBDA * np.eye(COUNT) + psi[action == a].T.astype(float) @ psi[action == a].astype(float) for a in range(self.A)]
        u = [np.sqrt((psi * np.linalg.solve(one, psi.T.astype(float)).T).sum(1)).astype(np.float32) for one in lam]
        u, rows = np.stack(u, 1) if len(obs) else np.zeros((0, self.A)), np.flatnonzero(action >= 0)
        center, bonus = most, np.sqrt(LAMBDA) * STD * size
        for _ in range(SWEEPS):
            value = self.rule(row_dots(psi, self.w.astype(np.float32)).astype(float), u).max(1)
            b = np.zeros((self.A, COUNT))
            at = 0
            while at < len(rows):
                block = rows[at:][rows[at:] - rows[at] < BLOCK]
                y = reward[block] + np.where(ended[block], 0, GAMMA * value[block + 1]) - center
                part = np.zeros((self.A, COUNT), np.float32)
                for row, target in zip(block, y.astype(np.float32)):
                    part[action[row]] += target * psi[row]
                b += part
                at += len(block)
            self.w = np.stack([np.linalg.solve(lam[a], b[a]) for a in range(self.A)])
            self.center, self.bonus, self.low, self.high = center, bonus, least - size, most + size
        self.lam = lam

    def q(self, x):
        psi = bumps(x[None])[0].astype(float)
        u = np.float32([np.sqrt(psi @ np.linalg.solve(one, psi)) for one in self.lam])
        return self.rule(self.w @ psi, u)


def main():
    import gymnasium
    import langevin

    env = gymnasium.make("MountainCar-v0")
    features = langevin.FeatureMap(bumps, COUNT)
    agent = langevin.LSVIUCB(env, features=features, lambda_=LAMBDA, prior_std=STD, gamma=GAMMA, sweeps=SWEEPS, seed=4)
    agent.learn(episodes=4)
    arrays = agent.arrays()
    rows = int(arrays["history.rows"][0])
    data = arrays["history.obs"].reshape(-1, 2), arrays["history.action"], arrays["history.reward"], arrays["history.ended"]
    data = [column[:rows] for column in data]
    ends = np.flatnonzero(data[1] < 0)
    twin = Twin(3)
    for end in (0, *(ends[:3] + 1)):  # the plans of the four episodes, each with the data before it
        twin.plan(*(column[:end] for column in data))
    worst = max(np.abs(twin.q(x) - agent.q_values(x)).max() for x in data[0][::7])
    spread = np.ptp([agent.q_values(x) for x in data[0][::7]])
    assert worst < 1e-8 < 1 < spread, (worst, spread)


def test_numpy_agrees():
    env = {**os.environ, "LANGEVIN_KERNELS": "portable"}
    done = subprocess.run([sys.executable, __file__], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    main()
