"""Agents: one class for each of the library's, made in _classes.py; this is what they share."""

from __future__ import annotations

import ctypes
import json
import os
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy as np

from langevin import _library as library
from langevin import _registry as registry
from langevin._checks import check_count, check_range, compare_specs, unknown_parameter
from langevin._library import EVAL, TRAIN, CObs, CSpec, CTransition, UsageError, call, lib
from langevin._progress import NO_BOUND, Progress, Slices
from langevin._seen import seen_again
from langevin._worlds import EPISODE, Loop, World, make_world

DTYPES = ("|u1", "<i4", "<i8", "<u8", "<f4", "<f8")  # lgv_dtype
ABOUT_VERSION = 1
LATER = object()  # in the place of an environment: load() completes the agent
SPEC_FIELDS = ("obs_kind", "obs_form", "frames", "actions", "states", "horizon", "stationary", "clock_terminates",
               "reward_min", "reward_max", "feature_dim")  # fmt: skip


class Agent:
    """An agent of the library's. An agent belongs to one thread at a time; another one is refused."""

    _entry: registry.Entry

    # What the classes of _classes.py show as their signature.
    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        steps: Optional[int] = None,
        episodes: Optional[int] = None,
        optimizer: Optional[str] = None,
        reward_range: Optional[Tuple[float, float]] = None,
        **params: Any,
    ):
        self._only = library.OneThread("agent")
        self._learning = False
        self._loop: Optional[Loop] = None
        self._handle: Optional[library.Handle] = None
        self.seed = library.check_seed(seed)
        self._planned = (check_count("episodes", episodes), check_count("steps", steps))
        self._values = self._check_params(params, optimizer)
        self._world = None if env is LATER else make_world(env, check_range(reward_range))
        self._episodes: List[np.ndarray] = []
        self.num_timesteps = 0
        if self._world is not None:
            self._spec, self._seen, self._first_action = self._world.spec, self._world.seen, self._world.first_action
            self._create()

    # ---- Creation

    @classmethod
    def _check_params(cls, params: Mapping[str, Any], optimizer: Optional[str]) -> Dict[str, Any]:
        """Arguments as settings: agent.* of the agent, optim.* of the optimizer."""
        if not hasattr(cls, "_entry"):
            raise TypeError(f"{cls.__name__} is what agents have in common: take one of langevin.agents()")
        entry, values = cls._entry, {"agent.name": cls._entry.name}
        if optimizer is not None:
            values["optim.name"] = optimizer
        chosen = registry.entries("optimizer").get(optimizer or entry.optimizer or "")
        for name, value in params.items():
            for prefix, table in (("agent", entry), ("optim", chosen)):
                param = table.find(name) if table else None
                if param:
                    values[f"{prefix}.{param.name}"] = value
                    break
            else:
                known = [p.keyword for t in (entry, chosen) if t for p in t.params]
                raise TypeError(unknown_parameter(cls.__name__, name, known))
        return values

    def _create(self) -> None:
        values = dict(self._values)
        streams = self._world.streams if self._world else 1
        if streams > 1:
            values["run.envs"] = streams
        settings = registry.make_settings(values)
        episodes, steps = self._planned
        if episodes == 0 and self._spec.horizon > 0:
            episodes = steps // self._spec.horizon
        keeps = self._world.keeps if self._world else ()
        self._handle = library.create(
            "lgv_agent_create", "lgv_agent_free", settings.pointer, ctypes.byref(self._spec), episodes, steps, self.seed,
            keeps=keeps,
        )  # fmt: skip
        self._loop = None
        self._untouched = True
        self._streams = streams
        self._stages: List[Optional[int]] = [None] * streams  # of the episodes of act and observe
        traits = self._entry.traits
        self._staged = bool(traits & library.NEEDS_HORIZON) or self._get("agent.stages") == "per-stage"

    def _plan(self, steps: int, episodes: int) -> None:
        """Before anything has happened, learn() says how long the training will be: some schedules depend on it."""
        if self.handle and self._untouched and self._planned == (0, 0):
            self._planned = (0 if episodes == NO_BOUND else episodes, 0 if steps == NO_BOUND else steps)
            self._create()

    @property
    def handle(self) -> library.Handle:
        """The lgv_agent."""
        if self._handle is None:
            raise UsageError("this agent is closed")
        return self._handle

    def _use(self) -> int:
        pointer = self.handle.pointer
        self._untouched = False
        return pointer

    @property
    def world(self) -> World:
        if self._world is None:
            raise UsageError("this agent has no environment: name one with load(path, env=...) or set_env(env)")
        return self._world

    @property
    def env(self) -> Any:
        """The environment, as it was given; of a TabularMDP that."""
        world = self._world
        return getattr(world, "env", getattr(world, "envs", getattr(world, "model", None)))

    def set_env(self, env: Any, *, reward_range: Optional[Tuple[float, float]] = None) -> None:
        """Another environment with the same kind of observations and actions."""
        with self._only:
            if self._learning:
                raise RuntimeError("the environment cannot be replaced while the agent learns")
            world = make_world(env, check_range(reward_range))
            difference = compare_specs(self._spec, world.spec, self._staged)
            if difference:
                raise UsageError(f"the agent was made for another environment: {difference}")
            if world.streams != self._streams:
                raise UsageError(f"the agent learns from {self._streams} environment(s) at once, not {world.streams}")
            self._world, self._seen, self._first_action, self._loop = world, world.seen, world.first_action, None

    def close(self) -> None:
        """Frees the agent, unless arrays of parameters() still show its memory. Later calls are refused."""
        with self._only:
            if self._learning:
                raise RuntimeError("the agent cannot be closed while it learns")
            self._loop = self._handle = None

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # ---- Learning

    def learn(
        self,
        total_timesteps: Optional[int] = None,
        *,
        episodes: Optional[int] = None,
        callback: Optional[Callable[["Agent"], Any]] = None,
        callback_every: int = 1000,
        progress_bar: bool = False,
    ) -> "Agent":
        """Trains for so many steps, or until so many episodes have ended, whatever comes first.

        On the library's own environments and TabularMDPs the loop is in C, and other Python threads run meanwhile.
        callback(agent) comes every callback_every steps and at the end; if it returns False, training stops. An
        episode that is cut off by the end of learn() goes on in the next one. Ctrl-C raises KeyboardInterrupt
        after the step in hand; the agent stays usable. What an environment or a callback raises comes through.
        """
        budget = self._check_budget(total_timesteps, episodes)
        every = check_count("callback_every", callback_every)
        if every < 1:
            raise UsageError("callback_every: at least 1")
        with self._only:
            if self._learning:
                raise RuntimeError("learn() was called within learn(): a callback can look at the agent, not train it")
            self._learning = True
            try:
                self._learn(budget, callback, every, Progress(progress_bar, *budget))
            finally:
                self._learning = False
        return self

    def _check_budget(self, steps: Optional[int], episodes: Optional[int]) -> Tuple[int, int]:
        if steps is None and episodes is None:
            raise UsageError("how long? learn(100_000) are steps, learn(episodes=1000) episodes")
        return (
            NO_BOUND if steps is None else check_count("total_timesteps", steps),
            NO_BOUND if episodes is None else check_count("episodes", episodes),
        )

    def _learn(self, budget: Tuple[int, int], callback: Any, every: int, progress: Progress) -> None:
        most_steps, most_episodes = budget
        world = self.world
        self._plan(most_steps, most_episodes)
        if self._loop is None:
            self._loop = world.loop(self, self.seed)
        loop = self._loop
        self._use()
        slices = Slices()
        steps = ended = since = 0
        with progress:
            while steps < most_steps and ended < most_episodes:
                size = slices.next(min(most_steps - steps, every - since if callback else NO_BOUND))
                try:
                    loop.advance(size, most_episodes - ended)
                finally:  # what was learned before an error or Ctrl-C counts
                    made, episodes = loop.done()
                    self.num_timesteps += made
                    if len(episodes):
                        self._episodes.append(episodes)
                slices.done(made)
                steps += made
                ended += len(episodes)
                since += made
                progress.show(steps, ended, episodes)
                last = steps >= most_steps or ended >= most_episodes
                if callback and (since >= every or last):
                    since = 0
                    wanted = callback(self)
                    if isinstance(wanted, (bool, np.bool_)) and not wanted:
                        break

    # ---- Records of learn()

    @property
    def episodes(self) -> np.ndarray:
        """One row an episode that has ended in learn(): length, return, value, regret."""
        if len(self._episodes) > 1:
            self._episodes = [np.concatenate(self._episodes)]
        return self._episodes[0] if self._episodes else np.zeros(0, EPISODE)

    @property
    def returns(self) -> np.ndarray:
        """The sum of rewards of every episode."""
        return self.episodes["return"]

    @property
    def lengths(self) -> np.ndarray:
        """The steps of every episode."""
        return self.episodes["length"]

    @property
    def values(self) -> np.ndarray:
        """The exact value of the policy that played each episode, a mean over the start states; NaN where the model is
        not known or the policy changes within an episode."""
        return self.episodes["value"]

    @property
    def regret(self) -> np.ndarray:
        """The exact regret after every episode, cumulative; NaN like values."""
        return np.cumsum(self.episodes["regret"])

    # ---- Acting

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> Tuple[Any, Any]:
        """The action for an observation, or an array of actions for a batch, and a state for the next call, as
        Stable-Baselines3 has it. deterministic: as in evaluations; else as in training.

        Agents whose policy depends on the stage (the linear ones) count it in `state`: hand back what came with the
        last action, and None (or episode_start true) when an episode begins. All others return None.
        """
        with self._only:
            pointer = self._use() if not deterministic else self.handle.pointer
            self._untouched = False
            batch = self._read(observation)
            stages = self._stages_of(state, episode_start, batch.count)
            actions = self._act(pointer, batch, stages, EVAL if deterministic else TRAIN) + self._first_action
            after = None
            if self._staged:
                after = stages + 1 if batch.batched else int(stages[0]) + 1
            return (actions if batch.batched else int(actions[0])), after

    def _stages_of(self, state: Any, episode_start: Any, count: int) -> np.ndarray:
        stages = np.zeros(count, np.int64)
        if not self._staged:
            return stages
        if state is not None:
            stages[:] = np.asarray(state)
        if episode_start is not None:
            stages[np.broadcast_to(np.asarray(episode_start, bool), (count,))] = 0
        if ((stages < 0) | (stages >= self._spec.horizon)).any():
            raise UsageError(f"the stage is 0..{self._spec.horizon - 1}; state says {state!r:.40}")
        return stages

    def _pack(self, batch: Any, stages: np.ndarray) -> Any:
        if batch.states is None and self._entry.traits & library.NEEDS_STATES:
            raise UsageError(f"{self._entry.name} needs the number of the state (info['state']) as its observation")
        if batch.data is None and not self._entry.traits & library.NEEDS_STATES:
            raise UsageError("the number of a state does not tell what this agent sees: give the observation itself")
        packed = (CObs * batch.count)()
        base, stride = (batch.data.ctypes.data, batch.data.strides[0]) if batch.data is not None else (0, 0)
        for i in range(batch.count):
            packed[i].data = base + i * stride
            packed[i].state = int(batch.states[i]) if batch.states is not None else -1
            packed[i].stage = int(stages[i])
        return packed

    def _act(self, pointer: int, batch: Any, stages: np.ndarray, mode: int) -> np.ndarray:
        packed = self._pack(batch, stages)
        actions = np.empty(batch.count, np.int32)
        error, size = library.CError(), ctypes.sizeof(CObs)
        address = ctypes.addressof(packed)
        for i in range(batch.count):
            status = lib.lgv_agent_act(
                pointer, address + i * size, mode, actions.ctypes.data + 4 * i, ctypes.byref(error)
            )
            if status:
                library.raise_error(status, error)
        return actions

    def q_values(self, observation: Any, *, stage: Any = 0) -> np.ndarray:
        """Q of every action, (actions) or (n, actions): those by which the agent acts in evaluations. Nothing
        changes by it."""
        with self._only:
            pointer = self.handle.pointer
            self._untouched = False
            batch = self._read(observation)
            packed = self._pack(batch, self._stages_of(stage, None, batch.count))
            q = np.empty((batch.count, self._spec.actions))
            call("lgv_agent_q_values", pointer, packed, batch.count, q.ctypes.data)
            return q if batch.batched else q[0]

    # ---- A loop of one's own

    def act(self, observation: Any, *, stream: int = 0) -> int:
        """The action of training for one observation. An episode begins with the first call, and after one that has
        ended. stream: which of the environments, if there are several."""
        with self._only:
            pointer = self._use()
            batch = self._one(observation)
            self._set_stream(pointer, stream)
            if self._stages[stream] is None:
                call("lgv_agent_begin_episode", pointer)
                self._stages[stream] = 0
            stage = np.array([self._stages[stream]])
            return int(self._act(pointer, batch, stage, TRAIN)[0]) + self._first_action

    def observe(
        self,
        observation: Any,
        action: int,
        reward: float,
        next_observation: Any,
        terminated: bool,
        truncated: bool = False,
        *,
        stream: int = 0,
    ) -> None:
        """What came of an action; the agent learns from it. terminated: the task has ended, no value lies beyond;
        truncated: only a clock has stopped the episode. next_observation is the last one of the episode then,
        never the first of the next."""
        with self._only:
            pointer = self._use()
            before, after = self._one(observation), self._one(next_observation)
            self._set_stream(pointer, stream)
            stage = self._stages[stream]
            if stage is None:
                raise UsageError("no episode has begun: call act() first")
            transition = CTransition()
            (transition.obs,) = self._pack(before, np.array([stage]))
            (transition.next,) = self._pack(after, np.array([stage + 1]))
            transition.action = self._check_action(action)
            transition.reward = float(reward)
            if not np.isfinite(transition.reward):
                raise library.NumericError(f"the reward {reward} is not a finite number")
            transition.terminated, transition.truncated = bool(terminated), bool(truncated)
            over = transition.terminated or transition.truncated
            if not over and stage + 1 == self._spec.horizon:
                raise UsageError(f"the episode goes on after {stage + 1} steps, the horizon that the agent was made for")
            call("lgv_agent_observe", pointer, ctypes.byref(transition))
            self.num_timesteps += 1
            self._stages[stream] = stage + 1
            if over:
                call("lgv_agent_end_episode", pointer)
                self._stages[stream] = None

    def begin_episode(self, *, stream: int = 0) -> None:
        """Gives up an episode of act and observe that will not be ended."""
        with self._only:
            self._set_stream(self._use(), stream)
            self._stages[stream] = None

    def _one(self, observation: Any) -> Any:
        batch = self._read(observation)
        if batch.batched:
            raise UsageError("act and observe take one observation at a time")
        return batch

    def _read(self, observation: Any) -> Any:
        batch = self._seen.read(observation)
        if batch.data is not None and batch.data.dtype == np.float32 and not np.isfinite(batch.data).all():
            raise library.NumericError("the observation holds a number that is not finite")
        return batch

    def _set_stream(self, pointer: int, stream: int) -> None:
        if not 0 <= stream < self._streams:
            raise UsageError(f"stream {stream} is outside 0..{self._streams - 1}")
        call("lgv_agent_set_stream", pointer, stream)

    def _check_action(self, action: Any) -> int:
        try:
            index = int(np.asarray(action).item()) - self._first_action
        except (TypeError, ValueError):
            raise UsageError(f"an action is a whole number, not {action!r:.40}") from None
        if not 0 <= index < self._spec.actions:
            raise UsageError(f"action {action} is none of the environment's {self._spec.actions}")
        return index

    # ---- Inside

    def arrays(self) -> Dict[str, np.ndarray]:
        """Every array of the agent by name, as read-only views of its memory: parameters, optimizer, replay, scratch."""
        with self._only:
            return dict(self._views(readonly=True))

    def parameters(self) -> Dict[str, np.ndarray]:
        """The flat parameter vectors, as views of the agent's memory: what is written into them counts. `w` is the
        network (or the weights of a linear agent), `w_target` its target, `w_mean` the average that evaluations use."""
        with self._only:
            self._untouched = False
            return {name: view for name, view in self._views(readonly=False) if name in PARAMETERS}

    def _views(self, readonly: bool) -> List[Tuple[str, np.ndarray]]:
        handle, found = self.handle, []
        self._untouched = False
        name, dtype, count = ctypes.c_char_p(), ctypes.c_int(), ctypes.c_size_t()
        refs = [ctypes.byref(x) for x in (name, dtype, count)]
        while True:
            address = lib.lgv_agent_array(handle.pointer, len(found), *refs)
            if not address:
                return found
            memory = library.Memory(handle, address, DTYPES[dtype.value], (count.value,), readonly)
            found.append(((name.value or b"").decode(), np.asarray(memory)))

    def _get(self, key: str) -> Optional[str]:
        try:
            return library.text_of("lgv_agent_get", self.handle.pointer, key)
        except UsageError as error:
            if "unknown key" in str(error):
                return None
            raise

    @property
    def params(self) -> Dict[str, Any]:
        """Every parameter with the value in use, presets and defaults resolved; optimizer names its optimizer."""
        optimizer = self._get("optim.name")
        found: Dict[str, Any] = {} if optimizer is None else {"optimizer": optimizer}
        for prefix, entry in (("agent", self._entry), ("optim", registry.entries("optimizer").get(optimizer or ""))):
            for param in entry.params if entry else ():
                text = self._get(f"{prefix}.{param.name}")
                if text is not None:
                    found[param.keyword] = param.parse(text)
        return found

    def to_torch(self) -> Any:
        """A torch.nn.Module with the agent's network: the outputs of q_values, as float32 and for batches."""
        from langevin._torch import to_torch

        with self._only:
            return to_torch(self)

    # ---- Files

    def save(self, path: Any) -> None:
        """Writes all that decides the agent's future into one safetensors file: load() goes on bit for bit. The
        environment, and what learn() has recorded, are not in it."""
        with self._only:
            about = {
                "langevin": library.lib.lgv_version().decode(),
                "version": ABOUT_VERSION,
                "agent": self._entry.name,
                "settings": {k: registry.to_text(k, v) for k, v in self._values.items() if v is not None},
                "spec": {name: getattr(self._spec, name) for name in SPEC_FIELDS},
                "obs_shape": list(self._spec.obs_shape),
                "shape": list(self._seen.shape) if self._seen.shape is not None else None,
                "space": self._seen.description,
                "first_action": self._first_action,
                "streams": self._streams,
                "seed": self.seed,
                "planned": list(self._planned),
                "timesteps": self.num_timesteps,
            }
            text = json.dumps(about).encode()
            call("lgv_agent_save", self.handle.pointer, library.encode_path(path), text)

    def __reduce__(self) -> tuple:
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "agent.safetensors")
            self.save(path)
            with open(path, "rb") as file:
                return _revive, (file.read(),)

    def __repr__(self) -> str:
        state = "closed" if self._handle is None else f"{self.num_timesteps} steps"
        return f"<{type(self).__name__} {state}>"


PARAMETERS = ("w", "w_target", "w_mean", "prior.w")


# ---- Loading


def read_about(path: Any) -> Dict[str, Any]:
    """What save() has written about an agent. The header of a safetensors file is JSON behind its length."""
    try:
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if size > 1 << 24:
                raise ValueError
            about = json.loads(json.loads(file.read(size))["__metadata__"]["about"])
            if about["version"] != ABOUT_VERSION:
                raise library.FileError(f"{os.fspath(path)} was written by langevin {about['langevin']}, in another form")
            return about
    except (ValueError, KeyError, TypeError):
        raise library.FileError(
            f"{os.fspath(path)} is not an agent that save() has written (checkpoints of runs are for `langevin eval` "
            "and langevin.run(..., resume=True))"
        ) from None


def load(path: Any, env: Any = None) -> Agent:
    """An agent that save() has written, with an environment to go on in. Without one it can act and be looked at."""
    from langevin._classes import agent_class

    about = read_about(path)
    cls = agent_class(about["agent"])
    agent = cls.__new__(cls)
    Agent.__init__(agent, LATER, seed=about["seed"])
    agent._values = about["settings"]
    agent._planned = (about["planned"][0], about["planned"][1])
    agent.num_timesteps = about["timesteps"]
    spec = CSpec(**about["spec"])
    spec.obs_shape[:] = about["obs_shape"]
    agent._spec = spec
    if env is None:
        if spec.feature_dim:
            raise UsageError("the agent uses the features of its environment: load it with load(path, env=...)")
        shape = about["shape"]
        plain = shape is not None and int(np.prod(shape)) == int(np.prod(about["obs_shape"]))
        agent._seen = seen_again(spec, tuple(shape) if plain else None, about.get("space"))
        agent._first_action = about.get("first_action", 0)
        agent._world = _Streams(about["streams"])
    else:
        world = make_world(env, (spec.reward_min, spec.reward_max))
        difference = compare_specs(spec, world.spec, True)
        if difference or world.streams != about["streams"]:
            difference = difference or f"{about['streams']} environments at once, not {world.streams}"
            raise UsageError(f"the agent was made for another environment: {difference}")
        spec.features = world.spec.features
        agent._world, agent._seen, agent._first_action = world, world.seen, world.first_action
    agent._create()
    call("lgv_agent_load", agent.handle.pointer, library.encode_path(path))
    agent._untouched = False
    if env is None:
        agent._world = None
    return agent


class _Streams(World):
    """Nothing but a number of environments."""

    def __init__(self, streams: int):
        self.streams = streams


def _revive(data: bytes) -> Agent:
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "agent.safetensors")
        with open(path, "wb") as file:
            file.write(data)
        return load(path)
