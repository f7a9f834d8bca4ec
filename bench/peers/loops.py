"""Training loops of other libraries on the N-Chain of 100 (Osband et al., 2016): environment,
acting, replay, and one update of DQN (100-32-32-2, batch 32, Adam) per step. Each function trains
for the given number of steps and returns the CPU seconds per step, without setup.
"""

import time
import warnings

import gymnasium
import numpy as np
import torch
from gymnasium import spaces

HIDDEN, BATCH, LENGTH, LR, TARGET_EVERY, REPLAY = [32, 32], 32, 100, 1e-3, 100, 10000


class NChain(gymnasium.Env):
    """States 0..n-1, start at 1, n + 8 steps. The left end pays 0.001, the right end 1.
    Observations are thermometers."""

    def __init__(self, n=LENGTH):
        self.n, self.table = n, np.tri(n, dtype=np.float32)
        self.observation_space = spaces.Box(0, 1, (n,), np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.steps = 1, 0
        return self.table[self.state], {}

    def step(self, action):
        reward = 0.001 if self.state == 0 and not action else float(self.state == self.n - 1 and bool(action))
        self.state = min(self.state + 1, self.n - 1) if action else max(self.state - 1, 0)
        self.steps += 1
        return self.table[self.state], reward, self.steps == self.n + 8, False, {}


def stable_baselines3(steps):
    from stable_baselines3 import DQN

    agent = DQN(
        "MlpPolicy", NChain(), learning_rate=LR, buffer_size=REPLAY, learning_starts=100, batch_size=BATCH,
        train_freq=1, gradient_steps=1, target_update_interval=TARGET_EVERY, policy_kwargs={"net_arch": HIDDEN},
    )  # fmt: skip
    agent.learn(200)  # past the warm-up
    begun = time.process_time()
    agent.learn(steps, reset_num_timesteps=False)
    return (time.process_time() - begun) / steps


def tianshou(steps):
    from tianshou.algorithm import DQN
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv
    from tianshou.utils.net.common import Net

    envs = DummyVectorEnv([NChain])
    env = NChain()
    net = Net(state_shape=env.observation_space.shape, action_shape=env.action_space.n, hidden_sizes=HIDDEN)
    policy = DiscreteQLearningPolicy(model=net, action_space=env.action_space, eps_training=0.1)
    agent = DQN(policy=policy, optim=AdamOptimizerFactory(lr=LR), gamma=0.99, target_update_freq=TARGET_EVERY)
    buffer = VectorReplayBuffer(REPLAY, 1)
    collector = Collector(agent, envs, buffer)
    collector.reset()
    from tianshou.utils.torch_utils import policy_within_training_step

    def step():
        with policy_within_training_step(policy):
            collector.collect(n_step=1)
            agent.update(buffer=buffer, sample_size=BATCH)

    with policy_within_training_step(policy):
        collector.collect(n_step=100)
    for _ in range(20):
        step()
    begun = time.process_time()
    for _ in range(steps):
        step()
    return (time.process_time() - begun) / steps


warnings.filterwarnings("ignore")
torch.set_num_threads(1)
