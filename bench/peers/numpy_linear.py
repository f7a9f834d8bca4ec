"""LSVI-UCB (Jin et al., 2020), LMC-LSVI, and RLSVI from a history, in NumPy, vectorized, on the same data
as the library: counts of (s, a, s') per stage, or the history. LSVI-UCB has dense features and keeps an inverse Gram matrix through
rank-one updates (O(d^2) per transition).

LsviUcb.plan computes the bonus in two ways. By default it recomputes phi^T Lambda^-1 phi of all
pairs every episode (O(S A d^2)). With `kept` the same rank-one step updates these values (O(S A
d)), which is the best form we know.
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

    def absorb_step(self, h, pair, following, reward):
        u = self.inverse[h] @ self.phi[pair]
        scale = 1 / (1 + self.phi[pair] @ u)
        self.inverse[h] -= np.outer(u * scale, u)
        if self.kept:
            self.square[h] -= scale * (self.phi @ u) ** 2
        self.counts[h, pair, following] += 1
        self.rewards[h, pair] += reward


class LmcLsvi:
    """One-hot features, so Lambda is a vector. Each stage takes the J_k chain steps of the theorem
    one by one (J_k depends on the condition number of Lambda and the K planned episodes)."""

    def __init__(self, states, actions, horizon, planned, beta, ridge=1.0, eta_scale=0.25):
        self.S, self.A, self.H, self.beta, self.ridge, self.eta_scale = states, actions, horizon, beta, ridge, eta_scale
        self.log_factor = np.log(4 * horizon * planned * states * actions)
        pairs = states * actions
        self.counts = np.zeros((horizon, pairs, states))
        self.rewards = np.zeros((horizon, pairs))
        self.w = np.zeros((horizon, pairs))
        self.q = np.zeros((horizon, states, actions))
        self.rng = np.random.default_rng(0)

    def absorb_step(self, h, pair, following, reward):
        self.counts[h, pair, following] += 1
        self.rewards[h, pair] += reward

    def plan(self):
        v = np.zeros(self.S)
        for h in reversed(range(self.H)):
            gram = self.ridge + self.counts[h].sum(1)
            b, w = self.rewards[h] + self.counts[h] @ v, self.w[h]
            eta = self.eta_scale / gram.max()
            noise = np.sqrt(2 * eta / self.beta)
            for _ in range(int(np.ceil(2 * gram.max() / gram.min() * self.log_factor))):
                w += noise * self.rng.standard_normal(w.size) - 2 * eta * (gram * w - b)
            self.q[h] = np.clip(w, 0, self.H - h).reshape(self.S, self.A)
            v = self.q[h].max(1)


class HistoryPlan:
    """A plan of RLSVI from a history with a feature map, in the discounted form. Everything that only depends on the
    data is prepared before: the features by action, their transposes, and the inverse of Lambda, as the library keeps
    its factor. Products are in the precision of psi."""

    def __init__(self, psi, action, reward, ended, actions, ridge, gamma):
        rows = np.flatnonzero(action >= 0)  # the others are the last observations of episodes
        self.reward, self.gamma = reward[rows], gamma * ~ended[rows].astype(bool)
        self.following = psi[rows + 1]
        self.of = [np.flatnonzero(action[rows] == a) for a in range(actions)]
        self.psi = [psi[rows][i] for i in self.of]
        gram = [ridge * np.eye(psi.shape[1]) + p.T.astype(float) @ p.astype(float) for p in self.psi]
        self.factor, self.inverse = np.linalg.cholesky(gram), np.linalg.inv(gram)

    def plan(self, w, first_rule, rule, sweeps, sigma=0.0, rng=None):
        """w: the weights of the previous plan, (actions, m). A rule is (center, low, high): what is added to values,
        and to what they are cut; first_rule is that of the previous plan."""
        noise = 0.0
        if sigma:
            draws = rng.standard_normal(w.shape)
            noise = sigma * np.linalg.solve(self.factor.transpose(0, 2, 1), draws[:, :, None])[:, :, 0]
        for center, low, high in [first_rule, *[rule] * (sweeps - 1)]:
            value = np.clip(self.following @ w.T.astype(self.following.dtype) + center, low, high).max(1)
            y = (self.reward + self.gamma * value - rule[0]).astype(self.following.dtype)
            b = np.stack([psi.T @ y[i] for psi, i in zip(self.psi, self.of)])
            w = (self.inverse @ b[:, :, None])[:, :, 0] + noise
        return w
