"""What an agent is trained on, and the loops of learn().

A world says what the agent is made for (spec, streams) and how observations are read (seen); its loop makes steps:
in C for the library's own environments, in Python for all others. A loop that raises gives the episode in hand up; the
next call begins with a reset.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, List, Optional, Tuple

import numpy as np

from langevin._library import (
    TRAIN,
    CEpisode,
    CError,
    CObs,
    CSpec,
    CTransition,
    EnvironmentFailed,
    NumericError,
    OneThread,
    UsageError,
    create,
    lib,
    raise_error,
)
from langevin._mdp import Model, TabularMDP
from langevin._seen import Seen, SpaceSeen

EPISODE = np.dtype([("length", "i8"), ("return", "f8"), ("value", "f8"), ("regret", "f8")])
MOST_EPISODES = 4096  # that one call of a loop describes


class World:
    spec: CSpec
    seen: Any
    streams = 1
    first_action = 0  # that of the environment which is the agent's 0
    model: Optional[Model] = None
    keeps: tuple = ()  # what the spec points into

    def loop(self, agent: Any, seed: int) -> "Loop":
        raise NotImplementedError


class Loop:
    def advance(self, most_steps: int, most_episodes: int) -> None:
        raise NotImplementedError

    def done(self) -> Tuple[int, np.ndarray]:
        """The steps of the last advance() and the episodes that ended (EPISODE), also if it raised."""
        raise NotImplementedError


def copy_spec(spec: CSpec) -> CSpec:
    return CSpec.from_buffer_copy(spec)


def make_world(env: Any, reward_range: Any) -> World:
    """env: whatever the constructor of an agent takes."""
    if isinstance(env, World):
        return env
    if isinstance(env, TabularMDP):
        return MDPWorld(env)
    if isinstance(env, str):
        import gymnasium

        env = gymnasium.make(env)
    gym = sys.modules.get("gymnasium")
    if gym is not None and isinstance(env, gym.vector.VectorEnv):
        return VectorWorld(env, reward_range)
    if gym is not None and isinstance(env, gym.Env):
        native = find_native(env)
        return NativeWorld(env, native) if native is not None else GymWorld(env, reward_range)
    raise UsageError(
        f"an environment is a Gymnasium environment or the name of one, a vector of them, or a TabularMDP; this is a "
        f"{type(env).__name__}"
    )


def find_native(env: Any) -> Any:
    """The library's environment inside, if what Gymnasium has put around it changes nothing."""
    from gymnasium import wrappers

    from langevin.envs import NativeEnv

    while isinstance(env, (wrappers.OrderEnforcing, wrappers.PassiveEnvChecker)):
        env = env.env
    overridden = type(env).step is not NativeEnv.step or type(env).reset is not NativeEnv.reset
    return env if isinstance(env, NativeEnv) and not overridden else None


# ---- In C


class MDPWorld(World):
    def __init__(self, mdp: TabularMDP):
        self.model, self.handle, self.only = mdp, mdp.open(), OneThread("environment")
        self.spec = copy_spec(lib.lgv_env_get_spec(self.handle.pointer).contents)
        self.seen = Seen(self.spec)
        self.keeps = (self.handle,)

    def env_handle(self) -> Any:
        return self.handle

    def loop(self, agent: Any, seed: int) -> Loop:
        handle = self.env_handle()
        with self.only:
            lib.lgv_env_seed(handle.pointer, seed)
        return NativeLoop(agent, handle, self.only)


class NativeWorld(MDPWorld):
    def __init__(self, env: Any, native: Any):
        self.env, self.native, self.only = env, native, native._only
        native._open()
        self.model = native.model
        self.spec = copy_spec(native.problem)
        self.seen = Seen(self.spec)
        self.keeps = (native.handle,)

    def env_handle(self) -> Any:
        self.native._open()
        self.native._seeded = True
        return self.native.handle


class NativeLoop(Loop):
    def __init__(self, agent: Any, env_handle: Any, only: OneThread):
        handle, self.only = agent.handle, only
        self.trainer = create(
            "lgv_trainer_create", "lgv_trainer_free", handle.pointer, env_handle.pointer, keeps=(handle, env_handle)
        )
        self.episodes = np.zeros(MOST_EPISODES, EPISODE)
        assert EPISODE.itemsize == ctypes.sizeof(CEpisode)
        self.steps, self.ended, self.error = ctypes.c_int64(), ctypes.c_int64(), CError()

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


# ---- In Python


def make_spec(space: Any, actions: Any, horizon: int, reward_range: Any) -> Tuple[CSpec, SpaceSeen, List[str]]:
    from gymnasium import spaces

    from langevin.observations import Observations
    from langevin.task import Failure

    if not isinstance(actions, spaces.Discrete):
        raise UsageError(f"its actions are {actions}; only Discrete actions can be chosen from")
    notices: List[str] = []
    try:
        observations = Observations(space, 1.0, notices)
    except Failure as failure:
        raise UsageError(str(failure)) from None
    low, high = reward_range or (0.0, 0.0)
    spec = CSpec(
        obs_kind=observations.kind,
        obs_form=observations.form,
        obs_shape=observations.shape,
        actions=int(actions.n),
        states=observations.states,
        horizon=horizon,
        stationary=True,
        reward_min=float(low),
        reward_max=float(high),
    )
    return spec, SpaceSeen(space, observations), notices


class Place:
    """Where the observations of one environment lie, two in turn, and the transition between them."""

    def __init__(self, seen: SpaceSeen):
        inner = seen.inner
        self.index = inner.index if inner.states else None
        self.check = inner.dtype == np.float32 and not inner.states
        self.memory = np.zeros((2, inner.size), inner.dtype)
        self.writers = [inner.bind(self.memory[0]), inner.bind(self.memory[1])]
        self.transitions = [CTransition(), CTransition()]
        for k, transition in enumerate(self.transitions):
            transition.obs.data = self.memory[k].ctypes.data
            transition.next.data = self.memory[1 - k].ctypes.data
            transition.obs.state = transition.next.state = -1
        self.obs: List[CObs] = [t.obs for t in self.transitions]
        self.next: List[CObs] = [t.next for t in self.transitions]
        self.refs = [ctypes.byref(t) for t in self.transitions]  # obs comes first, so this is where it is, too
        self.now = 0  # which of both holds the current observation
        self.stage = self.length = 0
        self.total = 0.0
        self.running = False

    def _write(self, which: int, observation: Any) -> None:
        from langevin.observations import Wrong

        try:
            self.writers[which](observation)
        except Wrong as wrong:
            raise EnvironmentFailed(str(wrong)) from None
        if self.check and not np.isfinite(self.memory[which]).all():
            raise NumericError(f"the observation at stage {self.stage} holds a number that is not finite")

    def begin(self, observation: Any) -> None:
        self.stage = self.length = 0
        self.total = 0.0
        self.now = 0
        self._write(0, observation)
        if self.index:
            self.obs[0].state = self.index(observation)
        self.obs[0].stage = 0
        self.running = True

    def move(self, action: int, observation: Any, reward: Any, terminated: Any, truncated: Any) -> Any:
        """The transition to observe."""
        k = self.now
        transition, after, before = self.transitions[k], self.next[k], self.obs[1 - k]
        try:
            reward, transition.terminated, transition.truncated = float(reward), bool(terminated), bool(truncated)
        except (TypeError, ValueError, OverflowError):
            raise EnvironmentFailed(
                f"step() returned a reward or an end that is not one number: reward {reward!r:.60}, terminated "
                f"{terminated!r:.40}, truncated {truncated!r:.40}"
            ) from None
        if reward - reward != 0:
            raise NumericError(f"the reward at stage {self.stage} is not a finite number")
        self.stage += 1
        self._write(1 - k, observation)
        if self.index:
            after.state = before.state = self.index(observation)
        after.stage = before.stage = self.stage
        transition.action, transition.reward = action, reward
        self.total += reward
        self.length += 1
        self.now = 1 - k
        return self.refs[k]


class PythonLoop(Loop):
    """What loops over Gymnasium share: the agent's calls, without checks of what they have checked."""

    def __init__(self, agent: Any):
        self.agent = agent
        self.pointer = agent.handle.pointer
        self.keeps = agent.handle
        self.horizon = int(agent.world.spec.horizon)
        self.action, self.error = ctypes.c_int32(), CError()
        self.action_ref, self.error_ref = ctypes.byref(self.action), ctypes.byref(self.error)
        self.made, self.ended = 0, []  # of advance()

    def done(self) -> Tuple[int, np.ndarray]:
        return self.made, np.array(self.ended, EPISODE)

    def call(self, function: Any, *arguments: Any) -> None:
        status = function(self.pointer, *arguments, self.error_ref)
        if status:
            raise_error(status, self.error)

    def act(self, place: Place) -> int:
        status = lib.lgv_agent_act(self.pointer, place.refs[place.now], TRAIN, self.action_ref, self.error_ref)
        if status:
            raise_error(status, self.error)
        return self.action.value

    def observe(self, place: Place, *outcome: Any) -> bool:
        """Whether the episode goes on."""
        transition = place.move(*outcome)
        status = lib.lgv_agent_observe(self.pointer, transition, self.error_ref)
        if status:
            raise_error(status, self.error)
        self.made += 1
        which = place.transitions[1 - place.now]
        if which.terminated or which.truncated:
            self.call(lib.lgv_agent_end_episode)
            place.running = False
            self.ended.append((place.length, place.total, np.nan, np.nan))
        elif place.stage == self.horizon:
            raise EnvironmentFailed(f"the episode goes on after {self.horizon} steps, its horizon")
        return place.running


class GymWorld(World):
    def __init__(self, env: Any, reward_range: Any):
        from langevin.gym_task import horizon_of

        self.env = env
        self.spec, self.seen, self.notices = make_spec(
            env.observation_space, env.action_space, horizon_of(env), reward_range
        )
        self.first_action = int(env.action_space.start)

    def loop(self, agent: Any, seed: int) -> Loop:
        return GymLoop(agent, self, seed)


class GymLoop(PythonLoop):
    def __init__(self, agent: Any, world: GymWorld, seed: int):
        super().__init__(agent)
        self.env, self.first = world.env, world.first_action
        self.place = Place(world.seen)
        self.seed: Optional[int] = seed & 0x7FFFFFFF  # of the first reset; what every generator takes

    def _begin(self) -> None:
        result = self.env.reset(seed=self.seed) if self.seed is not None else self.env.reset()
        self.seed = None
        if not isinstance(result, tuple) or len(result) != 2:
            raise EnvironmentFailed("reset() must return an observation and a dict")
        self.place.begin(result[0])
        self.call(lib.lgv_agent_begin_episode)

    def advance(self, most_steps: int, most_episodes: int) -> None:
        self.made, self.ended = 0, []
        try:
            self._advance(most_steps, most_episodes)
        except BaseException:
            self.place.running = False
            raise

    def _advance(self, most_steps: int, most_episodes: int) -> None:
        from langevin.gym_task import outcome_failure

        place, step, first = self.place, self.env.step, self.first
        while self.made < most_steps and len(self.ended) < most_episodes:
            if not place.running:
                self._begin()
            action = self.act(place)
            result = step(action + first)
            try:
                observation, reward, terminated, truncated, _ = result
            except (TypeError, ValueError):
                raise EnvironmentFailed(str(outcome_failure(result))) from None
            self.observe(place, action, observation, reward, terminated, truncated)


class VectorWorld(World):
    def __init__(self, envs: Any, reward_range: Any):
        self.envs, self.streams = envs, int(envs.num_envs)
        spec = getattr(envs, "spec", None)
        horizon = int(getattr(spec, "max_episode_steps", None) or 0)
        self.spec, self.seen, self.notices = make_spec(
            envs.single_observation_space, envs.single_action_space, horizon, reward_range
        )
        self.first_action = int(envs.single_action_space.start)
        problem = getattr(envs, "problem", None)
        if isinstance(problem, CSpec):  # one of ours knows more than its space tells
            self.spec = copy_spec(problem)
            self.keeps = tuple(envs.handles)

    def loop(self, agent: Any, seed: int) -> Loop:
        return VectorLoop(agent, self, seed)


class VectorLoop(PythonLoop):
    """All environments take each step together, and the agent observes them in their order. How episodes are begun
    anew is the vector's affair (gymnasium.vector.AutoresetMode); each way leaves the last observation of an
    episode somewhere, which is what the agent observes."""

    def __init__(self, agent: Any, world: VectorWorld, seed: int):
        from gymnasium.vector import AutoresetMode

        super().__init__(agent)
        self.envs, self.n = world.envs, world.streams
        self.first = world.first_action
        self.places = [Place(world.seen) for _ in range(self.n)]
        mode = (world.envs.metadata or {}).get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self.mode = AutoresetMode(mode)
        self.next_step, self.same_step = self.mode == AutoresetMode.NEXT_STEP, self.mode == AutoresetMode.SAME_STEP
        self.seed: Optional[int] = seed & 0x3FFFFFFF
        self.fresh = True  # a reset of all is due

    def _rows(self, observations: Any) -> list:
        from gymnasium.vector.utils import iterate

        rows = list(iterate(self.envs.observation_space, observations))
        if len(rows) != self.n:
            raise EnvironmentFailed(f"{len(rows)} observations came from {self.n} environments")
        return rows

    def _begin(self, i: int, observation: Any) -> None:
        self.places[i].begin(observation)
        self.call(lib.lgv_agent_set_stream, i)
        self.call(lib.lgv_agent_begin_episode)

    def _reset_all(self) -> None:
        observations, _ = self.envs.reset(seed=self.seed) if self.seed is not None else self.envs.reset()
        self.seed = None
        for i, observation in enumerate(self._rows(observations)):
            self._begin(i, observation)
        self.fresh = False

    def _reset_ended(self) -> None:
        """Where nobody else does."""
        mask = np.array([not place.running for place in self.places])
        if mask.any():
            observations, _ = self.envs.reset(options={"reset_mask": mask})
            rows = self._rows(observations)
            for i in np.flatnonzero(mask):
                self._begin(int(i), rows[i])

    def advance(self, most_steps: int, most_episodes: int) -> None:
        self.made, self.ended = 0, []
        try:
            while self.made < most_steps and len(self.ended) < most_episodes:
                self._round()
        except BaseException:
            self.fresh = True
            raise

    def _round(self) -> None:
        if self.fresh:
            self._reset_all()
        if not (self.next_step or self.same_step):
            self._reset_ended()
        moving = [place.running for place in self.places]
        actions = np.zeros(self.n, np.int64)
        for i, place in enumerate(self.places):
            if moving[i]:
                self.call(lib.lgv_agent_set_stream, i)
                actions[i] = self.act(place)
        observations, rewards, terminated, truncated, info = self.envs.step(actions + self.first)
        rows = self._rows(observations)
        for i, place in enumerate(self.places):
            if not moving[i]:  # this step was its reset
                self._begin(i, rows[i])
                continue
            last = rows[i]
            if self.same_step and (terminated[i] or truncated[i]):
                last = self._final(info, i)
            self.call(lib.lgv_agent_set_stream, i)
            goes_on = self.observe(place, int(actions[i]), last, rewards[i], terminated[i], truncated[i])
            if self.same_step and not goes_on:
                self._begin(i, rows[i])

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
