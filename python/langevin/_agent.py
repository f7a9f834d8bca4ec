"""The base class of agents; _classes.py derives one class for each agent of the library."""

from __future__ import annotations

import ctypes
import os
import tempfile
import warnings
from functools import partial
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Union

import numpy as np

from langevin import _agent_files
from langevin import _library as library
from langevin import _registry as registry
from langevin._callbacks import Callback, Callbacks
from langevin._checks import check_count, check_range, compare_specs, unknown_parameter
from langevin._env_adapters import EnvAdapter, NoEnv, make_adapter
from langevin._feature_map import FeatureMap, InterruptibleMap
from langevin._library import DISCRETE, EVAL, TRAIN, CAction, CObs, CTransition, UsageError, call, lib
from langevin._progress import NO_BOUND, Progress, Slices
from langevin._records import Metrics, Recording
from langevin._sb3_names import SAME, translate_names
from langevin._schedules import read_schedule
from langevin._training_loops import EPISODE, TrainingLoop
from langevin.task import read_flag, read_number

DTYPES = ("|u1", "<i4", "<i8", "<u8", "<f4", "<f8")  # lgv_dtype
# What parameters() shows.
PARAMETERS = ("w", "w_target", "w_mean", "prior.w", "prior", "actor", "actor_target", "critic", "critic_target", "log_alpha")
SCHEDULES = ("schedule_steps", "schedule_episodes")  # arguments of the constructor, for hints


class Agent:
    """An agent of the library. It belongs to one thread at a time; another thread is refused."""

    _entry: registry.Entry

    # The classes of _classes.py show their own signature.
    def __init__(
        self,
        env: Any,
        *,
        seed: int = 0,
        schedule_steps: Optional[int] = None,
        schedule_episodes: Optional[int] = None,
        optimizer: Optional[str] = None,
        reward_range: Optional[Tuple[float, float]] = None,
        **params: Any,
    ):
        self.seed = library.check_seed(seed)
        planned = (
            check_count("schedule_episodes", schedule_episodes),
            check_count("schedule_steps", schedule_steps),
        )
        values = self._check_params(params, optimizer, any(planned))
        adapter = make_adapter(env, check_range(reward_range))
        self._create(adapter, adapter.spec, adapter.streams, values, planned)

    # ---- Creation

    @classmethod
    def _check_params(cls, params: Mapping[str, Any], optimizer: Optional[str], has_budget: bool) -> Dict[str, Any]:
        """Arguments as settings: agent.* of the agent, optim.* of the optimizer. has_budget: schedules can decay."""
        if not hasattr(cls, "_entry"):
            raise TypeError(f"{cls.__name__} is the base class of agents: use one of langevin.agents()")
        entry, values = cls._entry, {"agent.name": cls._entry.name}
        if optimizer is not None:
            values["optim.name"] = optimizer
        chosen = registry.entries("optimizer").get(optimizer or entry.optimizer or "")
        feature_map = registry.entries("features").get(str(params.get("features")))
        tables = (("agent", entry), ("optim", chosen), ("features", feature_map))

        def has(name: str) -> bool:
            return any(t and t.find(name) for _, t in tables)

        params = read_schedule(cls.__name__, translate_names(cls.__name__, params, has), has, has_budget)
        for name, value in params.items():
            for prefix, table in tables:
                param = table.find(name) if table else None
                if param:
                    values[f"{prefix}.{param.name}"] = value
                    break
            else:
                known = [*SCHEDULES, *(p.keyword for t in (entry, chosen, feature_map) if t for p in t.params)]
                known += [theirs for theirs, ours in SAME.items() if has(ours)]
                raise TypeError(unknown_parameter(cls.__name__, name, known))
        return values

    def _create(
        self, adapter: EnvAdapter, spec: library.CSpec, streams: int, values: Dict[str, Any], planned: Tuple[int, int]
    ) -> None:
        """streams: environments that the agent can learn from at once. planned: the episodes and steps over which
        schedules decay; 0 and 0: nothing decays."""
        self._own_map = values.get("agent.features")  # kept while the library calls it
        self._only = library.OneThread("agent")
        if isinstance(self._own_map, FeatureMap):
            self._only = InterruptibleMap("agent", self._own_map)
            values = {**values, "agent.features": self._own_map.name}
        self._learning = False
        self._loop: Optional[TrainingLoop] = None
        self._episodes: List[np.ndarray] = []
        self._metrics = Metrics()
        self.num_timesteps = 0
        self._spec, self._streams, self._planned = spec, streams, planned
        self._use_env(adapter)
        settings = registry.make_settings({**values, "run.envs": streams} if streams > 1 else values)
        if isinstance(self._own_map, FeatureMap):
            self._own_map.add_to(settings)
        episodes, steps = planned
        if episodes == 0 and spec.horizon > 0:
            episodes = steps // spec.horizon
        self._handle: Optional[library.Handle] = library.create(
            "lgv_agent_create", "lgv_agent_free", settings.pointer, ctypes.byref(spec), episodes, steps, self.seed,
            keeps=adapter.keeps,
        )  # fmt: skip
        self._stages: List[Optional[int]] = [None] * streams  # of the episodes of act and observe
        self._masks: List[Optional[np.ndarray]] = [None] * streams  # of their current observations
        maps = isinstance(self._own_map, FeatureMap) or self._feature_map() is not None
        self._by_states = bool(self._entry.traits & library.NEEDS_STATES) and not maps
        self._needs_horizon = bool(self._entry.traits & library.NEEDS_HORIZON) and not (
            maps and self._get("agent.form") == "discounted"
        )
        self._staged = self._needs_horizon or self._get("agent.stages") == "per-stage"

    def _use_env(self, adapter: EnvAdapter) -> None:
        self._adapter, self._loop = adapter, None
        self._waited = 0  # steps since an episode ended in learn()
        self._warned: Set[str] = set()
        self._reader, self._actions = adapter.reader, adapter.actions

    @property
    def handle(self) -> library.Handle:
        """The lgv_agent."""
        if self._handle is None:
            raise UsageError("this agent is closed")
        return self._handle

    @property
    def adapter(self) -> EnvAdapter:
        if isinstance(self._adapter, NoEnv):
            raise UsageError("this agent has no environment: name one with load(path, env=...) or set_env(env)")
        return self._adapter

    @property
    def env(self) -> Any:
        """The environment as it was given, or the TabularMDP."""
        adapter = self._adapter
        return getattr(adapter, "env", getattr(adapter, "envs", getattr(adapter, "model", None)))

    def set_env(self, env: Any, *, reward_range: Optional[Tuple[float, float]] = None) -> None:
        """Replaces the environment by another one with the same kind of observations and actions."""
        with self._only:
            if self._learning:
                raise RuntimeError("the environment cannot be replaced while the agent learns")
            adapter = make_adapter(env, check_range(reward_range))
            difference = compare_specs(self._spec, adapter.spec, self._staged)
            if difference:
                raise UsageError(f"the agent was made for another environment: {difference}")
            self._check_streams(adapter)
            if isinstance(self._adapter, NoEnv):
                adapter.restore_statistics(self._adapter.save_statistics())
            self._use_env(adapter)

    def _check_streams(self, adapter: EnvAdapter) -> None:
        if adapter.streams > self._streams:
            raise UsageError(
                f"the agent was made for {self._streams} environment(s) at once and takes as many or fewer, not "
                f"{adapter.streams}"
            )

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
        callback: Union[Callback, Sequence[Callback], None] = None,
        callback_every: int = 1000,
        episode_steps: Optional[int] = None,
        progress_bar: bool = False,
        log: Any = None,
        log_every: Optional[int] = None,
    ) -> "Agent":
        """Trains for total_timesteps steps, or until so many episodes have ended, whichever comes first.

        On the library's own environments and TabularMDPs the loop is in C, and other Python threads run meanwhile.
        Every callback_every steps and at the end, callback(agent) is called, or each of a list of callbacks; if one
        returns False, training stops. The next learn() continues the episode that the end of this one interrupts:
        learn(1000) twenty times equals learn(20000). Ctrl-C raises KeyboardInterrupt after the current step; the agent
        stays usable. Exceptions of environments and callbacks come through.

        episode_steps truncates episodes after so many steps; 0: only the environment ends them. If it is left out, an
        environment without a time limit has its episodes truncated, with a warning: after 10,000 steps (108,000 for
        large pictures), but at most a twentieth of schedule_steps, where that was stated, and at least 100.

        log names a directory for the records of a run: config.json, metrics.csv, TensorBoard's event file, summary.json.
        learn() with the same log continues them, also after load(). A row is written every log_every steps, after every
        evaluation (EvalCallback), and at the end; agent.metrics has the same rows. If log_every is left out, it is 1000,
        or, where episodes have exact values, every episode has its row.
        """
        budget = self._check_budget(total_timesteps, episodes)
        callbacks = Callbacks(callback, callback_every)
        if log_every is not None and check_count("log_every", log_every) < 1:
            raise UsageError("log_every: at least 1")
        limit = self._check_limit(episode_steps)
        with self._only:
            if self._learning:
                raise RuntimeError("learn() was called within learn(): a callback can look at the agent, not train it")
            self._learning = True
            try:
                loop = self._open_loop()
                recording = Recording(self, loop, log, log_every, budget, callbacks.evaluates)
                self._learn(loop, budget, callbacks, limit, recording, Progress(progress_bar, *budget))
            finally:
                self._learning = False
        return self

    def _check_budget(self, steps: Optional[int], episodes: Optional[int]) -> Tuple[int, int]:
        if steps is None and episodes is None:
            raise UsageError("how long? learn(100_000) counts steps, learn(episodes=1000) episodes")
        return (
            NO_BOUND if steps is None else check_count("total_timesteps", steps),
            NO_BOUND if episodes is None else check_count("episodes", episodes),
        )

    def _check_limit(self, episode_steps: Optional[int]) -> int:
        """The steps after which episodes are truncated; 0: never."""
        adapter, steps = self.adapter, check_count("episode_steps", episode_steps)
        if episode_steps is None and not adapter.has_limit:
            return int(lib.lgv_episode_steps(ctypes.byref(adapter.spec), self._planned[1] // self._streams))
        if 0 < steps < adapter.spec.horizon and self._needs_horizon:
            raise UsageError(
                f"episode_steps = {steps}: {self._entry.name} plans for the whole horizon of {adapter.spec.horizon} steps"
            )
        return steps

    def _warn(self, limit: int) -> None:
        """Warns once of truncations, and once if no episode ends for long."""
        adapter = self._adapter
        if self._loop is not None and self._loop.cut and "cut" not in self._warned:
            self._warned.add("cut")
            text = f"{adapter.name()} has no time limit: episodes are truncated after {limit} steps (episode_steps)"
            warnings.warn(text, stacklevel=4)
        if limit or not self._waited:
            return
        endless = library.CSpec(obs_shape=adapter.spec.obs_shape)
        patience = int(lib.lgv_episode_steps(ctypes.byref(endless), 0))
        if self._waited >= patience * adapter.streams and "waited" not in self._warned:
            self._warned.add("waited")
            text = f"{adapter.name()} has not ended an episode for {patience} steps; set episode_steps to truncate episodes"
            warnings.warn(f"{text} earlier", stacklevel=4)

    def _open_loop(self) -> TrainingLoop:
        if self.handle and self._loop is None:  # a closed agent has no handle
            self._loop = self.adapter.loop(self, self.seed)
        assert self._loop is not None
        return self._loop

    def _learn(
        self,
        loop: TrainingLoop,
        budget: Tuple[int, int],
        callbacks: Callbacks,
        limit: int,
        recording: Recording,
        progress: Progress,
    ) -> None:
        most_steps, most_episodes = budget
        loop.limit(limit)
        slices = Slices()
        steps = ended = 0
        with recording, progress:
            while steps < most_steps and ended < most_episodes:
                until_row, until_episode = recording.most(most_episodes - ended)
                size = slices.next(min(most_steps - steps, callbacks.most(steps), until_row))
                try:
                    loop.advance(size, until_episode)
                finally:  # steps before an error or Ctrl-C count
                    made, episodes = loop.done()
                    self.num_timesteps += made
                    if len(episodes):
                        self._episodes.append(episodes)
                        recording.add(episodes)
                slices.done(made)
                steps += made
                ended += len(episodes)
                self._waited = 0 if len(episodes) else self._waited + made
                self._warn(limit)
                progress.show(steps, ended, episodes)
                last = steps >= most_steps or ended >= most_episodes
                add_row = partial(recording.add_row, made, len(episodes))
                ends = callbacks.call(self, steps - made, steps, last, add_row)
                recording.write_row()
                if ends:
                    break

    # ---- Records of learn()

    @property
    def episodes(self) -> np.ndarray:
        """One row per episode that has ended in learn(): length, return, value, regret."""
        if len(self._episodes) > 1:
            self._episodes = [np.concatenate(self._episodes)]
        return self._episodes[0] if self._episodes else np.zeros(0, EPISODE)

    @property
    def metrics(self) -> Dict[str, np.ndarray]:
        """The rows of all learn() calls, an array per column: step, episode, return (the mean since the last row),
        eval_return with an EvalCallback, exact value and regret where they are known, and the statistics of the agent
        (loss, q_mean, ...). NaN where a row has no such number."""
        return self._metrics.as_arrays()

    @property
    def returns(self) -> np.ndarray:
        """The sum of rewards of every episode."""
        return self.episodes["return"]

    def _last_returns(self, count: int) -> np.ndarray:
        """Those of the last episodes, without a look at all others."""
        blocks: List[np.ndarray] = []
        for block in reversed(self._episodes):
            if sum(map(len, blocks)) >= count:
                break
            blocks.insert(0, block["return"])
        return np.concatenate([np.zeros(0), *blocks])[-count:]

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
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> Tuple[Any, Any]:
        """Returns the action for an observation, or an array of actions for a batch, and a state for the next call, with
        the arguments and defaults of Stable-Baselines3. deterministic=True acts as evaluations do; False, the default,
        as training does, with its exploration.

        Agents whose policy depends on the stage (the linear ones) count it in `state`: pass the state that came with
        the last action, and None (or episode_start true) when an episode begins. All others return None.

        action_masks: which choices are allowed, (choices), or (n, choices) for a batch, as info["action_mask"] has them.
        Left out, those of the observation hold if it has the key action_mask, or those of a TabularMDP.
        """
        with self._only:
            pointer = self.handle.pointer
            batch = self._read(observation)
            stages = self._stages_of(state, episode_start, batch.count)
            masks = self._find_masks(batch, stages, action_masks, self._staged)
            actions = self._act(pointer, batch, stages, masks, EVAL if deterministic else TRAIN)
            after = None
            if self._staged:
                after = stages + 1 if batch.batched else int(stages[0]) + 1
            return (actions if batch.batched else self._single(actions)), after

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

    def _find_masks(
        self, batch: Any, stages: np.ndarray, given: Any, stages_count: bool = True
    ) -> Optional[np.ndarray]:
        """(count x choices) bytes; None where everything is allowed. stages_count: whether `stages` are those of the
        episodes, not just 0."""
        if given is not None:
            return self._actions.read_masks(given, (batch.count,) if batch.batched else ())
        if batch.masks is None and self._reader.masks is not None:
            raise UsageError("the observation has no member 'action_mask', and no mask was given beside it")
        table = self._known_masks() if batch.masks is None and batch.states is not None else None
        if table is None:
            return batch.masks
        if not stages_count and (table != table[0]).any():
            raise UsageError("which actions are allowed depends on the stage: name them with action_masks")
        rows = np.ones((batch.count, self._actions.count), np.uint8)
        inside = stages < len(table)
        rows[inside] = table[stages[inside], batch.states[inside]]
        return rows

    def _known_masks(self) -> Optional[np.ndarray]:
        """Those of an exact model, (H, S, A)."""
        return self._adapter.model.masks if self._adapter.model else None

    def _pack(self, batch: Any, stages: np.ndarray, masks: Optional[np.ndarray] = None) -> Any:
        if batch.states is None and self._by_states:
            raise UsageError(f"{self._entry.name} needs the number of the state (info['state']) as its observation")
        if batch.data is None and not self._by_states:
            raise UsageError(f"{self._entry.name} decides by observations: give the observation, not the number of a state")
        packed = (CObs * batch.count)()
        base, stride = (batch.data.ctypes.data, batch.data.strides[0]) if batch.data is not None else (0, 0)
        for i in range(batch.count):
            packed[i].data = base + i * stride
            packed[i].state = int(batch.states[i]) if batch.states is not None else -1
            packed[i].stage = int(stages[i])
            if masks is not None:
                packed[i].mask = masks.ctypes.data + i * masks.strides[0]
        return packed

    def _act(
        self, pointer: int, batch: Any, stages: np.ndarray, masks: Optional[np.ndarray], mode: int
    ) -> np.ndarray:
        packed = self._pack(batch, stages, masks)
        memory = self._actions.memory(batch.count)
        error, size = library.CError(), ctypes.sizeof(CObs)
        address, out, stride = ctypes.addressof(packed), memory.ctypes.data, memory.strides[0]
        for i in range(batch.count):
            status = lib.lgv_agent_act(pointer, address + i * size, mode, out + i * stride, ctypes.byref(error))
            if status:
                library.raise_error(status, error)
        return self._actions.show(memory)

    def _single(self, actions: np.ndarray) -> Any:
        """An int where the environment has Discrete actions."""
        return int(actions[0]) if self._actions.kind == DISCRETE else actions[0]

    def q_values(self, observation: Any, *, stage: Any = 0) -> np.ndarray:
        """Q of every action, (actions) or (n, actions), by which the agent acts in evaluations. The agent does not
        change."""
        with self._only:
            batch = self._read(observation)
            q = self._values_of(batch, stage)
            return q if batch.batched else q[0]

    def _values_of(self, batch: Any, stage: Any) -> np.ndarray:
        pointer = self.handle.pointer
        packed = self._pack(batch, self._stages_of(stage, None, batch.count))
        q = np.empty((batch.count, self._spec.actions.count))
        call("lgv_agent_q_values", pointer, packed, batch.count, q.ctypes.data)
        return q

    # ---- For your own loop

    def act(self, observation: Any, action_mask: Any = None, *, stream: int = 0) -> Any:
        """The action of training for one observation. An episode begins with the first call, and after one that has
        ended. action_mask: the choices that are allowed, as predict has it; left out, that of the last observe() holds.
        stream: which of the environments, if there are several."""
        with self._only:
            pointer = self.handle.pointer
            batch = self._one(observation)
            self._begin_if_needed(stream)
            stage = np.array([self._stages[stream]])
            masks = self._find_masks(batch, stage, action_mask)
            self._masks[stream] = self._masks[stream] if masks is None else masks.copy()
            return self._single(self._act(pointer, batch, stage, self._masks[stream], TRAIN))

    def observe(
        self,
        observation: Any,
        action: Any,
        reward: float,
        next_observation: Any,
        terminated: bool,
        truncated: bool = False,
        *,
        action_mask: Any = None,
        stream: int = 0,
    ) -> None:
        """Passes the outcome of an action to the agent, which learns from it. terminated: the task has ended, and no
        value lies beyond; truncated: only a clock has stopped the episode. next_observation is then the last one of the
        episode, never the first of the next. action_mask: the choices that next_observation allows."""
        with self._only:
            pointer = self.handle.pointer
            before, after = self._one(observation), self._one(next_observation)
            self._set_stream(pointer, stream)
            stage = self._stages[stream]
            if stage is None:
                raise UsageError("no episode has begun: call act() first")
            taken = CAction()
            self._actions.read(action, taken)
            transition = CTransition(action=ctypes.pointer(taken))
            masks = self._find_masks(after, np.array([stage + 1]), action_mask)
            if masks is not None and not self._spec.masked:
                raise UsageError(
                    "the agent was made for an environment without masks: make it with one whose observations or infos "
                    "have an action_mask"
                )
            (transition.obs,) = self._pack(before, np.array([stage]), self._masks[stream])
            (transition.next,) = self._pack(after, np.array([stage + 1]), masks)
            transition.reward = read_number(reward)
            if not np.isfinite(transition.reward):
                raise library.NumericError(f"the reward {reward} is not a finite number")
            transition.terminated, transition.truncated = read_flag(terminated), read_flag(truncated)
            over = transition.terminated or transition.truncated
            if not over and stage + 1 == self._spec.horizon:
                raise UsageError(f"the episode continues after {stage + 1} steps, the horizon that the agent was made for")
            call("lgv_agent_observe", pointer, ctypes.byref(transition))
            self.num_timesteps += 1
            self._stages[stream], self._masks[stream] = stage + 1, masks
            if over:
                call("lgv_agent_end_episode", pointer)
                self._stages[stream] = None

    def begin_episode(self, *, stream: int = 0) -> None:
        """Gives up an episode of act and observe that will not be ended."""
        with self._only:
            self._set_stream(self.handle.pointer, stream)
            self._stages[stream] = None

    def _begin_if_needed(self, stream: int = 0) -> None:
        self._set_stream(self.handle.pointer, stream)
        if self._stages[stream] is None:
            call("lgv_agent_begin_episode", self.handle.pointer)
            self._stages[stream], self._masks[stream] = 0, None

    def _one(self, observation: Any) -> Any:
        batch = self._read(observation)
        if batch.batched:
            raise UsageError("act and observe take one observation at a time")
        return batch

    def _read(self, observation: Any) -> Any:
        batch = self._reader.read(observation)
        if batch.data is not None and batch.data.dtype == np.float32 and not np.isfinite(batch.data).all():
            raise library.NumericError("the observation holds a number that is not finite")
        return batch

    def _set_stream(self, pointer: int, stream: int) -> None:
        if not 0 <= stream < self._streams:
            raise UsageError(f"stream {stream} is outside 0..{self._streams - 1}")
        call("lgv_agent_set_stream", pointer, stream)

    # ---- Inside

    def arrays(self) -> Dict[str, np.ndarray]:
        """Every array of the agent by name, as read-only views of its memory: parameters, optimizer, replay, scratch."""
        with self._only:
            return dict(self._views(readonly=True))

    def parameters(self) -> Dict[str, np.ndarray]:
        """The flat parameter vectors, as views of the agent's memory: writing into them changes the agent. `w` is the
        network (or the weights of a linear agent), `w_target` its target, `w_mean` the average that evaluations use.
        Agents for continuous actions have `actor`, `critic` (both one network after the other), their targets, and
        `log_alpha`, the logarithm of the temperature."""
        with self._only:
            return {name: view for name, view in self._views(readonly=False) if name in PARAMETERS}

    def _views(self, readonly: bool) -> List[Tuple[str, np.ndarray]]:
        handle = self.handle
        found: List[Tuple[str, np.ndarray]] = []
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

    def _feature_map(self) -> Optional[registry.Entry]:
        """The entry of the feature map in use; None if there is none."""
        takes = self._entry.traits & library.TAKES_FEATURES
        return registry.entries("features").get(self._get("agent.features") or "") if takes else None

    @property
    def params(self) -> Dict[str, Any]:
        """Every parameter with the value in use, presets and defaults resolved; optimizer names its optimizer."""
        optimizer = self._get("optim.name")
        found: Dict[str, Any] = {} if optimizer is None else {"optimizer": optimizer}
        tables = {"agent": self._entry, "optim": registry.entries("optimizer").get(optimizer or "")}
        tables["features"] = self._feature_map()
        for prefix, entry in tables.items():
            for param in entry.params if entry else ():
                text = self._get(f"{prefix}.{param.name}")
                if text is not None:
                    found[param.keyword] = param.parse(text)
        return found

    def to_torch(self) -> Any:
        """A torch.nn.Module with the agent's network: the outputs of q_values, as float32 and for batches. Of an agent for
        continuous actions: the actions of evaluations."""
        from langevin._torch import to_torch

        with self._only:
            return to_torch(self)

    def to_onnx(self, path: Any) -> None:
        """Writes the agent's network as an ONNX file: `observation`, a batch in the form that to_torch() takes it, becomes
        `q`, the q_values. A vector beside a picture is the input `vector`."""
        from langevin._onnx import to_onnx

        with self._only:
            to_onnx(self, path)

    # ---- Files

    def save(self, path: Any, *, experience: bool = True) -> None:
        """Writes everything that decides the agent's future into one safetensors file: load() continues bit for bit. The
        environment, but for the statistics of its wrappers, and the rows of the records are not in it. `langevin eval`,
        `watch` and `export` read the file, too, if the environment is one that the command line can make.

        experience: False leaves out the replay. The file is much smaller; the agent that load() returns acts, but cannot
        learn on."""
        with self._only:
            statistics = self._adapter.save_statistics()
            options = library.CSaveOptions(
                about=_agent_files.describe(self), statistics=statistics or None, statistics_size=len(statistics),
                without_experience=not experience,
            )  # fmt: skip
            call("lgv_agent_save", self.handle.pointer, library.encode_path(path), ctypes.byref(options))

    def export(self, path: Any, name: str = "policy", *, int8: bool = False) -> None:
        """Writes the policy as one C file without dependencies, as `langevin export` does; name: what its functions
        begin with; int8: round the weights of a network to 8 bits, for small machines. If the path ends with
        .safetensors, writes the network up to its last hidden layer instead, for linear agents: LMCLSVI(env,
        features="network", file=path)."""
        with self._only:
            call("lgv_agent_export_int8" if int8 else "lgv_agent_export", self.handle.pointer, library.encode_path(path), name.encode())

    def __reduce__(self) -> tuple:
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "agent.safetensors")
            self.save(path)
            with open(path, "rb") as file:
                return _agent_files.revive, (file.read(),)

    def __repr__(self) -> str:
        state = "closed" if self._handle is None else f"{self.num_timesteps} steps"
        return f"<{type(self).__name__} {state}>"
