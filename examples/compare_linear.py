"""The regret of linear agents on your own problem: a chain of 6 states against a current, from arrays.

    pip install . && python examples/compare_linear.py
"""

import numpy as np

import langevin


def make_chain(n: int, horizon: int) -> langevin.TabularMDP:
    """Action 0 goes left, action 1 goes right with probability 0.4; the left end pays a little, the right end a lot."""
    P, r = np.zeros((n, 2, n)), np.zeros((n, 2))
    for s in range(n):
        P[s, 0, max(s - 1, 0)] = 1
        P[s, 1, min(s + 1, n - 1)] += 0.4
        P[s, 1, s] += 0.6
    r[0, 0], r[n - 1, 1] = 0.01, 1
    return langevin.TabularMDP(P, r, horizon)


def main() -> None:
    mdp = make_chain(6, 20)
    print(f"optimal value {mdp.optimal_value:.3f}; regret after 500 episodes, mean of 3 seeds:")
    for cls in (langevin.LMCLSVI, langevin.LSVIUCB, langevin.PSRL, langevin.RLSVI):
        regrets = [cls(mdp, seed=seed, schedule_episodes=500).learn(episodes=500).regret[-1] for seed in range(3)]
        print(f"  {cls.__name__:8} {np.mean(regrets):7.1f}")


if __name__ == "__main__":
    main()
