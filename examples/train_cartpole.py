"""Trains Adam LMCDQN on Gymnasium's CartPole, saves it, loads it, plays.

    pip install '.[gym]' && python examples/train_cartpole.py
"""

import pathlib
import sys
import tempfile

import gymnasium

import langevin


def play(agent: langevin.Agent, episodes: int) -> float:
    env, total = gymnasium.make("CartPole-v1"), 0.0
    for episode in range(episodes):
        observation, _ = env.reset(seed=episode)
        over = False
        while not over:
            action, _ = agent.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, _ = env.step(action)
            total += float(reward)
            over = terminated or truncated
    return total / episodes


def main(steps: int) -> None:
    agent = langevin.AdamLMCDQN("CartPole-v1", seed=0, preset="small", hidden=(32, 32), schedule_steps=steps)
    print(f"before: {play(agent, 5):.0f} steps on average")
    agent.learn(steps, progress_bar=sys.stderr.isatty())
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "cartpole.safetensors"
        agent.save(path)
        print(f"after {agent.num_timesteps:,} steps of training: {play(langevin.load(path), 5):.0f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
