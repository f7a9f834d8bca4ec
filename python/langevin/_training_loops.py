"""The loops of learn(): in C for the library's own environments, in Python for all others.

One step in Python: PythonTrainingLoop.act asks the agent, GymTrainingLoop steps the environment, StepBuffer writes the
observation where C reads it, and PythonTrainingLoop.observe hands the transition to the agent. A loop that raises gives
up the current episode; the next call begins with a reset.
"""

from __future__ import annotations

import ctypes
from collections import deque
from typing import Any, Deque, Dict, List, Optional, Tuple

import numpy as np

from langevin._action_translator import ActionTranslator
from langevin._library import (
    TRAIN,
    CAction,
    CEpisode,
    CError,
    CObs,
    CRng,
    CTransition,
    EnvironmentFailed,
    NumericError,
    OneThread,
    call,
    create,
    lib,
    names_of,
    raise_error,
)
from langevin._observation_reader import SpaceReader
from langevin.masks import MASK, refuse_mask
from langevin.task import Failure, reset_with_info, split_result

EPISODE = np.dtype([("length", "i8"), ("return", "f8"), ("value", "f8"), ("regret", "f8")])
MOST_EPISODES = 4096  # that one call of a loop describes


class TrainingLoop:
    cut = False  # whether the limit has truncated an episode of an environment without a time limit

    def limit(self, episode_steps: int) -> None:
        """Truncates episodes after so many steps; 0: only the environment ends them."""
        raise NotImplementedError

    def advance(self, most_steps: int, most_episodes: int) -> None:
        """Trains until so many steps are made or so many episodes have ended."""
        raise NotImplementedError

    def knows(self) -> Tuple[bool, bool]:
        """Whether episodes have an exact value and a regret."""
        return False, False

    def counter_names(self) -> List[str]:
        """Events that the environment counts."""
        return []

    def counters(self) -> Dict[str, float]:
        """How many there were so far."""
        return {}

    def done(self) -> Tuple[int, np.ndarray]:
        """The steps of the last advance() and the episodes that ended (EPISODE), also if it raised."""
        raise NotImplementedError


class NativeTrainingLoop(TrainingLoop):
    def __init__(self, agent: Any, env_handle: Any, only: OneThread):
        handle, self.only = agent.handle, only
        self.trainer = create(
            "lgv_trainer_create", "lgv_trainer_free", handle.pointer, env_handle.pointer, keeps=(handle, env_handle)
        )
        self.env_handle = env_handle
        self.counted = names_of("lgv_env_counter_name", env_handle.pointer)
        self.counts = np.zeros(len(self.counted), np.int64)
        self.episodes = np.zeros(MOST_EPISODES, EPISODE)
        assert EPISODE.itemsize == ctypes.sizeof(CEpisode)
        self.steps, self.ended, self.error = ctypes.c_int64(), ctypes.c_int64(), CError()

    def limit(self, episode_steps: int) -> None:
        with self.only:
            call("lgv_trainer_set_episode_steps", self.trainer.pointer, episode_steps)

    def knows(self) -> Tuple[bool, bool]:
        value, regret = ctypes.c_bool(), ctypes.c_bool()
        lib.lgv_trainer_knows(self.trainer.pointer, ctypes.byref(value), ctypes.byref(regret))
        return value.value, regret.value

    def counter_names(self) -> List[str]:
        return self.counted

    def counters(self) -> Dict[str, float]:
        lib.lgv_env_counters(self.env_handle.pointer, self.counts.ctypes.data)
        return dict(zip(self.counted, map(float, self.counts)))

    def advance(self, most_steps: int, most_episodes: int) -> None:
        self.steps.value = self.ended.value = 0
        with self.only:
            status = lib.lgv_trainer_advance(
                self.trainer.pointer,
                most_steps,
                self.episodes.ctypes.data,
                min(most_episodes, MOST_EPISODES),
                ctypes.byref(self.steps),
                ctypes.byref(self.ended),
                ctypes.byref(self.error),
            )
        if status:
            raise_error(status, self.error)

    def done(self) -> Tuple[int, np.ndarray]:
        return self.steps.value, self.episodes[: self.ended.value].copy()


class StepBuffer:
    """The last two observations of one environment, in turn, and the transition between them, where C reads them."""

    def __init__(self, reader: SpaceReader, actions: ActionTranslator, masks: Any):
        inner, self.masks = reader.inner, masks
        self.index = inner.index if inner.states else None
        self.check = inner.dtype == np.float32 and not inner.states
        self.memory = np.zeros((2, inner.size), inner.dtype)
        self.writers = [inner.bind(self.memory[0]), inner.bind(self.memory[1])]
        self.mask_memory = np.ones((2, actions.count), np.uint8)
        self.action = CAction()
        self.action_ref, self.shown = ctypes.byref(self.action), actions.bind(self.action)
        self.transitions = [CTransition(action=ctypes.pointer(self.action)) for _ in range(2)]
        for k, transition in enumerate(self.transitions):
            transition.obs.data = self.memory[k].ctypes.data
            transition.next.data = self.memory[1 - k].ctypes.data
            transition.obs.state = transition.next.state = -1
            if masks:
                transition.obs.mask = self.mask_memory[k].ctypes.data
                transition.next.mask = self.mask_memory[1 - k].ctypes.data
        self.obs: List[CObs] = [t.obs for t in self.transitions]
        self.next: List[CObs] = [t.next for t in self.transitions]
        self.refs = [ctypes.byref(t) for t in self.transitions]  # obs comes first, so this is where it is, too
        self.now = 0  # which of both holds the current observation
        self.stage = self.length = 0
        self.total = 0.0
        self.running = False
        self.cut = False  # the last step was truncated by the limit, not by the environment
        self.stream: Optional[int] = None  # of the agent, that the current or last episode belongs to

    def _write(self, which: int, observation: Any, info: Any, ended: bool) -> None:
        self.writers[which](observation)
        if self.masks:
            self.masks.write(observation, info, ended, self.mask_memory[which])
        else:
            refuse_mask(info)
        if self.check and not np.isfinite(self.memory[which]).all():
            raise NumericError(f"the observation at stage {self.stage} holds a number that is not finite")

    def begin(self, observation: Any, info: Any) -> None:
        self.stage = self.length = 0
        self.total = 0.0
        self.now = 0
        self._write(0, observation, info, False)
        if self.index:
            self.obs[0].state = self.index(observation)
        self.obs[0].stage = 0
        self.running = True

    def move(self, result: Any, late: bool) -> Any:
        """The transition to observe. result: what step() returned; late: the episode ends here in any case."""
        k = self.now
        transition, after, before = self.transitions[k], self.next[k], self.obs[1 - k]
        observation, reward, terminated, truncated = split_result(result)
        self.cut = late and not (terminated or truncated)
        transition.terminated, transition.truncated = terminated, truncated or self.cut
        if reward - reward != 0:
            raise NumericError(f"the reward at stage {self.stage} is not a finite number")
        self.stage += 1
        self._write(1 - k, observation, result[4], transition.terminated)
        if self.index:
            after.state = before.state = self.index(observation)
        after.stage = before.stage = self.stage
        transition.reward = reward
        self.total += reward
        self.length += 1
        self.now = 1 - k
        return self.refs[k]


class PythonTrainingLoop(TrainingLoop):
    """The agent's calls that both loops over Gymnasium make, without checks of what the loops have checked.

    An agent has a stream for each environment that it was made for. With fewer environments than streams, each episode
    takes the stream that has been free for longest, so that the experience of all streams is renewed.
    """

    def __init__(self, agent: Any):
        self.agent = agent
        self.pointer = agent.handle.pointer
        self.keeps = agent.handle
        self.horizon = int(agent.adapter.spec.horizon)
        self.has_limit = agent.adapter.has_limit
        self.episode_steps = 0
        self.error = CError()
        self.error_ref = ctypes.byref(self.error)
        self.made = 0  # steps of advance()
        self.ended: List[tuple] = []  # and its episodes
        self.free: Deque[int] = deque(range(agent._streams))
        self.several = agent._streams > 1

    def advance(self, most_steps: int, most_episodes: int) -> None:
        self.made, self.ended = 0, []
        try:
            while self.made < most_steps and len(self.ended) < most_episodes:
                self._round()
        except BaseException as error:
            self._give_up()
            if isinstance(error, Failure):
                raise EnvironmentFailed(str(error)) from None
            raise

    def limit(self, episode_steps: int) -> None:
        self.episode_steps = episode_steps

    def is_late(self, buffer: StepBuffer) -> bool:
        """Whether the current step is the last one that the limit allows."""
        return 0 < self.episode_steps <= buffer.stage + 1

    def _round(self) -> None:
        """One step of every environment."""
        raise NotImplementedError

    def _give_up(self) -> None:
        """The current episodes end here."""
        raise NotImplementedError

    def _begin(self, buffer: StepBuffer, observation: Any, info: Any) -> None:
        buffer.begin(observation, info)
        if buffer.stream is not None:
            self.free.append(buffer.stream)
        buffer.stream = self.free.popleft()
        self.call(lib.lgv_agent_set_stream, buffer.stream)
        self.call(lib.lgv_agent_begin_episode)

    def done(self) -> Tuple[int, np.ndarray]:
        return self.made, np.array(self.ended, EPISODE)

    def call(self, function: Any, *arguments: Any) -> None:
        status = function(self.pointer, *arguments, self.error_ref)
        if status:
            raise_error(status, self.error)

    def act(self, buffer: StepBuffer) -> Any:
        """The action, as the environment has it; the buffer keeps the library's."""
        if self.several:
            self.call(lib.lgv_agent_set_stream, buffer.stream)
        status = lib.lgv_agent_act(self.pointer, buffer.refs[buffer.now], TRAIN, buffer.action_ref, self.error_ref)
        if status:
            raise_error(status, self.error)
        return buffer.shown()

    def observe(self, buffer: StepBuffer, result: Any, late: bool = False) -> None:
        transition = buffer.move(result, late or self.is_late(buffer))
        if self.several:
            self.call(lib.lgv_agent_set_stream, buffer.stream)
        status = lib.lgv_agent_observe(self.pointer, transition, self.error_ref)
        if status:
            raise_error(status, self.error)
        self.made += 1
        which = buffer.transitions[1 - buffer.now]
        if which.terminated or which.truncated:
            self.call(lib.lgv_agent_end_episode)
            buffer.running = False
            self.cut |= buffer.cut and not self.has_limit
            self.ended.append((buffer.length, buffer.total, np.nan, np.nan))
        elif buffer.stage == self.horizon:
            raise EnvironmentFailed(f"the episode continues after {self.horizon} steps, its horizon")


class GymTrainingLoop(PythonTrainingLoop):
    """Every reset gets a seed from the stream that the C side of the bridge uses (src/env/external/env_gym.c): learn() and a run on
    gym:ID with the same seed see the same episodes."""

    def __init__(self, agent: Any, adapter: Any, seed: int):
        super().__init__(agent)
        self.env = adapter.env
        self.buffer, self.rng = StepBuffer(adapter.reader, adapter.actions, adapter.masks), CRng.stream(seed, "env")

    def _round(self) -> None:
        buffer = self.buffer
        if not buffer.running:
            self._begin(buffer, *reset_with_info(self.env, self.rng.reset_seed()))
        self.observe(buffer, self.env.step(self.act(buffer)))

    def _give_up(self) -> None:
        self.buffer.running = False


def mask_of(info: Any, i: Any) -> Dict[str, Any]:
    """What the info of a vector says about the mask of one environment, as an info of its own."""
    if not isinstance(info, dict) or info.get(MASK) is None:
        return {}
    given = info.get(f"_{MASK}")
    return {MASK: info[MASK][i]} if given is None or given[i] else {}


class VectorTrainingLoop(PythonTrainingLoop):
    """All environments take each step together, and the agent observes them in their order. The vector resets its
    environments itself (gymnasium.vector.AutoresetMode), so only its first reset has a seed. Each mode keeps the last
    observation of an episode somewhere; the agent observes that one.

    A vector knows nothing of episodes that the limit truncates. Gymnasium's vectors then reset these environments alone;
    in others, one such episode truncates the episodes of all environments, and the vector is reset."""

    def __init__(self, agent: Any, adapter: Any, seed: int):
        from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

        super().__init__(agent)
        self.envs, self.n = adapter.envs, adapter.streams
        self.actions = adapter.actions
        self.buffers = [StepBuffer(adapter.reader, adapter.actions, adapter.masks) for _ in range(self.n)]
        mode = AutoresetMode((adapter.envs.metadata or {}).get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self.next_step, self.same_step = mode == AutoresetMode.NEXT_STEP, mode == AutoresetMode.SAME_STEP
        self.disabled = mode == AutoresetMode.DISABLED
        self.by_mask = self.disabled or isinstance(self.envs.unwrapped, (SyncVectorEnv, AsyncVectorEnv))
        self.seed: Optional[int] = CRng.stream(seed, "env").reset_seed() >> 1  # vectors count it up
        self.fresh = True  # a reset of all is due

    def _rows(self, observations: Any) -> list:
        from gymnasium.vector.utils import iterate

        rows = list(iterate(self.envs.observation_space, observations))
        if len(rows) != self.n:
            raise EnvironmentFailed(f"{len(rows)} observations came from {self.n} environments")
        return rows

    def _reset_all(self) -> None:
        observations, info = self.envs.reset(seed=self.seed)
        self.seed = None
        for i, observation in enumerate(self._rows(observations)):
            self._begin(self.buffers[i], observation, mask_of(info, i))
        self.fresh = False

    def _reset_ended(self) -> None:
        """Those that the vector does not reset itself."""
        mask = np.array([not buffer.running and (self.disabled or buffer.cut) for buffer in self.buffers])
        if mask.any():
            observations, info = self.envs.reset(options={"reset_mask": mask})
            rows = self._rows(observations)
            for i in np.flatnonzero(mask):
                self._begin(self.buffers[i], rows[i], mask_of(info, i))

    def _give_up(self) -> None:
        self.fresh = True

    def _round(self) -> None:
        if self.fresh:
            self._reset_all()
        self._reset_ended()
        moving = [buffer.running for buffer in self.buffers]
        actions = self.actions.show(self.actions.memory(self.n))
        for i, buffer in enumerate(self.buffers):
            if moving[i]:
                actions[i] = self.act(buffer)
        observations, rewards, terminated, truncated, info = self.envs.step(actions)
        rows = self._rows(observations)
        running = [moving[i] and not (terminated[i] or truncated[i]) for i in range(self.n)]
        late = not self.by_mask and any(running[i] and self.is_late(buffer) for i, buffer in enumerate(self.buffers))
        self.fresh = late
        for i, buffer in enumerate(self.buffers):
            if not moving[i]:  # this step was its reset
                self._begin(buffer, rows[i], mask_of(info, i))
                continue
            ends = self.same_step and (terminated[i] or truncated[i])
            last, about = (self._final(info, i), info.get("final_info")) if ends else (rows[i], info)
            self.observe(buffer, (last, rewards[i], terminated[i], truncated[i], mask_of(about, i)), late)
            if ends:
                self._begin(buffer, rows[i], mask_of(info, i))

    def _final(self, info: Any, i: int) -> Any:
        for key in ("final_obs", "final_observation"):
            if isinstance(info, dict) and info.get(key) is not None:
                value = info[key]
                if isinstance(value, dict):
                    return {name: part[i] for name, part in value.items()}
                if isinstance(value, tuple):
                    return tuple(part[i] for part in value)
                return value[i]
        raise EnvironmentFailed("the vector resets within a step, but its info has no final_obs: the last one is lost")
