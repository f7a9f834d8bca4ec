"""LSVI-UCB (Jin et al., 2020) and one stage of LMC-LSVI's chain in NumPy, vectorised, over the same data as the library:
counts of (s, a, s') a stage, dense features, an inverse Gram matrix kept by rank-one updates (O(d^2) a transition).

LsviUcb.plan has two ways to the bonus: `whole` works out phi^T Lambda^-1 phi of all pairs every episode (O(S A d^2)); with
`kept` they are updated by the same rank-one step (O(S A d)), the best form we know.
"""

import numpy as np


class LsviUcb:
    def __init__(self, phi, states, actions, horizon, ridge=1.0, bonus=1.0, kept=False):
        """phi: (states * actions, d)."""
        self.phi, self.S, self.A, self.H, self.bonus, self.kept = phi, states, actions, horizon, bonus, kept
        pairs, d = phi.shape
        self.inverse = np.tile(np.eye(d) / ridge, (horizon, 1, 1))
        self.square = np.tile((phi**2).sum(1) / ridge, (horizon, 1))  # phi^T Lambda^-1 phi
        self.counts = np.zeros((horizon, pairs, states))
        self.rewards = np.zeros((horizon, pairs))
        self.q = np.zeros((horizon, states, actions))

    def plan(self):
        v = np.zeros(self.S)
        for h in reversed(range(self.H)):
            b = self.phi.T @ (self.rewards[h] + self.counts[h] @ v)
            w = self.inverse[h] @ b
            square = self.square[h] if self.kept else np.einsum("ij,ij->i", self.phi @ self.inverse[h], self.phi)
            q = self.phi @ w + self.bonus * np.sqrt(np.maximum(square, 0))
            self.q[h] = np.minimum(q, self.H - h).reshape(self.S, self.A)
            v = self.q[h].max(1)

    def absorb(self, path):
        """path: (pair, reward, next state) a stage."""
        for h, (pair, reward, following) in enumerate(path):
            u = self.inverse[h] @ self.phi[pair]
            scale = 1 / (1 + self.phi[pair] @ u)
            self.inverse[h] -= np.outer(u * scale, u)
            if self.kept:
                self.square[h] -= scale * (self.phi @ u) ** 2
            self.counts[h, pair, following] += 1
            self.rewards[h, pair] += reward


def chain(gram, b, w, eta, beta, steps, rng):
    """w <- w - 2 eta (Lambda w - b) + sqrt(2 eta / beta) xi, so many times; gram: the diagonal of Lambda."""
    scale = np.sqrt(2 * eta / beta)
    for _ in range(steps):
        w = w - 2 * eta * (gram * w - b) + scale * rng.standard_normal(w.size)
    return w
