"""The loop of `langevin run --env atari:GAME --agent adam-lmcdqn --set agent.preset=authors` in PyTorch, to compare speeds.

    pip install torch==2.13.0
    pip install ale-py opencv-python-headless numpy
    python bench/peers/atari_torch.py --game freeway --steps 2000

It has the same network and initial distribution, the same preprocessing (ALE in this process,
OpenCV's INTER_AREA) and the same schedule: one update of Adam SGLD in the published code's form
every 10 steps, 32 greedy steps first, n = 3, double Q, a new target network every 500 updates, and
batches of 32 from a ring of single frames. It is eager PyTorch written for speed: preallocated
arrays, no unnecessary copies, an optimizer over lists of tensors (foreach), no denormals. (Channels
last were slower here: 75 to 79 steps per second instead of 82.)

It prints one JSON line: steps per second of CPU time and of wall-clock time, and the shares of
emulation, acting and updating.
"""

import argparse
import json
import time

import ale_py
import cv2
import numpy as np
import torch
from ale_py import roms
from torch import nn

SKIP, STACK, SIZE, NOOPS = 4, 4, 84, 30
GAMMA, N_STEP, BATCH, WARMUP, UPDATE_EVERY, TARGET_EVERY = 0.99, 3, 32, 32, 10, 500
LR, A, NOISE, BETA1, BETA2, EPS = 1e-4, 0.1, 1e-8, 0.9, 0.999, 1e-8
NOOP, FIRE = 0, 1


class Atari:
    """The pipeline of env.preset = authors."""

    def __init__(self, game, seed):
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setInt("random_seed", seed)
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.loadROM(roms.get_rom_path(game))
        self.actions = [a.value for a in self.ale.getMinimalActionSet()]
        self.fires = FIRE in self.actions
        self.screens = np.zeros((2, *self.ale.getScreenDims()), np.uint8)
        self.stack = np.zeros((STACK, SIZE, SIZE), np.uint8)
        self.rng = np.random.default_rng(seed)
        self.lives, self.fresh = 0, True

    def _push(self, screen):
        self.stack[:-1] = self.stack[1:]
        cv2.resize(screen, (SIZE, SIZE), dst=self.stack[-1], interpolation=cv2.INTER_AREA)

    def reset(self):
        new = self.fresh
        if new:
            self.ale.reset_game()
        for _ in range(self.rng.integers(NOOPS) + 1 - self.fires):
            self.ale.act(NOOP)
            if self.ale.game_over():
                self.ale.reset_game()
                new = True
        if self.fires:
            self.ale.act(FIRE)
        self.ale.getScreenGrayscale(self.screens[1])
        self._push(self.screens[1])
        if new:
            self.stack[:-1] = self.stack[-1]
        self.lives, self.fresh = self.ale.lives(), False
        return self.stack

    def step(self, action):
        reward, code, over = 0, self.actions[action], False
        for frame in range(SKIP):
            reward += self.ale.act(code)
            over = self.ale.game_over()
            if frame >= SKIP - 2:
                self.ale.getScreenGrayscale(self.screens[frame - SKIP + 2])
            if over:
                break
        self._push(np.maximum(self.screens[0], self.screens[1], out=self.screens[0]))
        lives = self.ale.lives()
        lost = 0 < lives < self.lives
        self.lives, self.fresh = lives, over
        return self.stack, np.sign(reward), over or lost


class Replay:
    """A ring of single frames. Stacks are rebuilt, repeating the first frame of an episode."""

    def __init__(self, capacity):
        self.frame = np.zeros((capacity, SIZE, SIZE), np.uint8)
        self.action = np.zeros(capacity, np.int64)
        self.reward = np.zeros(capacity, np.float32)
        self.end = np.zeros(capacity, bool)
        self.age = np.zeros(capacity, np.int64)
        self.capacity, self.size, self.head = capacity, 0, 0

    def add(self, frame, action, reward, end, age):
        i = self.head
        self.frame[i], self.action[i], self.reward[i], self.end[i], self.age[i] = frame, action, reward, end, age
        self.head = (i + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def _stacks(self, index):
        back = np.minimum(np.arange(STACK - 1, -1, -1)[None], self.age[index][:, None])
        return self.frame[(index[:, None] - back) % self.capacity]

    def sample(self, rng):
        index = rng.integers(self.size, size=BATCH)
        newest = (self.head - 1) % self.capacity
        at, total, weight = index.copy(), np.zeros(BATCH, np.float32), np.ones(BATCH, np.float32)
        running = np.ones(BATCH, bool)
        for _ in range(N_STEP):
            total += np.where(running, weight * self.reward[at], 0)
            weight = np.where(running, weight * GAMMA, weight)
            stop = self.end[at] | (at == newest)
            last = at
            at = np.where(running & ~stop, (at + 1) % self.capacity, at)
            running &= ~stop
        discount = weight * ~self.end[last]
        both = np.concatenate((self._stacks(index), self._stacks(at)))
        return both, self.action[index], total, discount.astype(np.float32)


class Nature(nn.Module):
    def __init__(self, actions):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(STACK, 32, 8, 4), nn.ReLU(inplace=True),
            nn.Conv2d(32, 64, 4, 2), nn.ReLU(inplace=True),
            nn.Conv2d(64, 64, 3, 1), nn.ReLU(inplace=True),
            nn.Flatten(),
            nn.Linear(3136, 512), nn.ReLU(inplace=True),
            nn.Linear(512, actions),
        )  # fmt: skip
        for layer in self.layers:
            if isinstance(layer, (nn.Conv2d, nn.Linear)):
                bound = layer.weight[0].numel() ** -0.5
                nn.init.uniform_(layer.weight, -bound, bound)
                nn.init.uniform_(layer.bias, -bound, bound)

    def forward(self, x):
        return self.layers(x)


class AdamSGLD:
    """Moments first, then w -= lr (g + a m / (sqrt(v) + eps)), then the noise."""

    def __init__(self, params):
        self.w = list(params)
        self.m = [torch.zeros_like(p) for p in self.w]
        self.v = [torch.zeros_like(p) for p in self.w]
        self.noise = [torch.empty_like(p) for p in self.w]

    @torch.no_grad()
    def step(self):
        g = [p.grad for p in self.w]
        torch._foreach_lerp_(self.m, g, 1 - BETA1)
        torch._foreach_mul_(self.v, BETA2)
        torch._foreach_addcmul_(self.v, g, g, 1 - BETA2)
        below = torch._foreach_sqrt(self.v)
        torch._foreach_add_(below, EPS)
        torch._foreach_add_(self.w, g, alpha=-LR)
        torch._foreach_addcdiv_(self.w, self.m, below, -LR * A)
        for z in self.noise:
            z.normal_()
        torch._foreach_add_(self.w, self.noise, alpha=NOISE * (2 * LR) ** 0.5)


class Agent:
    def __init__(self, actions, replay, seed):
        torch.manual_seed(seed)
        self.net, self.target = Nature(actions), Nature(actions)
        self.target.load_state_dict(self.net.state_dict())
        self.optimizer = AdamSGLD(self.net.parameters())
        self.replay, self.rng, self.updates = Replay(replay), np.random.default_rng(seed), 0

    @torch.inference_mode()
    def act(self, stack):
        return int(self.net(torch.from_numpy(stack)[None].float()).argmax())

    def update(self):
        pictures, action, reward, discount = self.replay.sample(self.rng)
        both = torch.from_numpy(pictures).float()
        action, reward, discount = map(torch.from_numpy, (action, reward, discount))
        with torch.no_grad():
            best = self.net(both[BATCH:]).argmax(1, keepdim=True)
            y = reward + discount * self.target(both[BATCH:]).gather(1, best)[:, 0]
        if self.updates % TARGET_EVERY == 0:
            self.target.load_state_dict(self.net.state_dict())
        for p in self.net.parameters():
            p.grad = None
        q = self.net(both[:BATCH]).gather(1, action[:, None])[:, 0]
        ((y - q) ** 2).mean().backward()
        self.optimizer.step()
        self.updates += 1


def play(game, agent, steps, seed):
    """Train for some steps; return the CPU seconds of emulation, acting and updating."""
    clock, spent = time.process_time, {"emulating": 0.0, "acting": 0.0, "updating": 0.0}
    env, age = Atari(game, seed), 0
    stack = env.reset()
    for step in range(1, steps + 1):
        t0 = clock()
        action = agent.act(stack)
        t1 = clock()
        frame = stack[-1].copy()
        stack, reward, end = env.step(action)
        agent.replay.add(frame, action, reward, end, age)
        age += 1
        if end:
            stack, age = env.reset(), 0
        t2 = clock()
        if step > WARMUP and (step - WARMUP) % UPDATE_EVERY == 0:
            agent.update()
        t3 = clock()
        spent["acting"] += t1 - t0
        spent["emulating"] += t2 - t1
        spent["updating"] += t3 - t2
    return spent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", default="freeway")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--replay", type=int, default=100000)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    cv2.setNumThreads(0)
    agent = Agent(len(Atari(options.game, 0).actions), options.replay, 0)
    play(options.game, agent, 200, 0)  # the first calls choose kernels
    cpu, wall = time.process_time(), time.perf_counter()
    spent = play(options.game, agent, options.steps, 1)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    total = sum(spent.values())
    print(json.dumps({
        "torch": torch.__version__,
        "steps": options.steps,
        "steps_per_cpu_second": options.steps / cpu,
        "steps_per_second": options.steps / wall,
        **{f"share_{name}": seconds / total for name, seconds in spent.items()},
        "ms_per_update": 1e3 * spent["updating"] / (options.steps // UPDATE_EVERY),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
