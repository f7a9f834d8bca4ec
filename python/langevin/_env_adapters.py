"""Adapters of the environments that agents are trained on, one for each kind that the constructors of agents take.

An adapter describes the problem (spec, streams), reads observations (reader), makes the loop of learn(), names the
environment for the command line where that can make it, too (config), and keeps the statistics of its wrappers.
"""

from __future__ import annotations

import ast
import sys
import warnings
from typing import Any, Dict, List, Optional, Tuple


from langevin._action_translator import ActionTranslator
from langevin._library import BOX, CSpec, OneThread, UsageError, lib
from langevin._mdp import Model, TabularMDP
from langevin._observation_reader import ObservationReader, SpaceReader
from langevin._registry import to_argument, to_text
from langevin._training_loops import GymTrainingLoop, NativeTrainingLoop, TrainingLoop, VectorTrainingLoop
from langevin.masks import Masks, has_mask
from langevin.task import Failure

Config = Optional[Dict[str, Any]]
# Arguments in the specs of vectors and of pictures that do not belong to the task.
NOT_THE_TASK = ("render_mode", "num_envs", "max_episode_steps", "vectorization_mode", "vector_kwargs")


class EnvAdapter:
    spec: CSpec
    reader: Any
    streams = 1  # environments that step together
    actions: ActionTranslator
    masks: Optional[Masks] = None  # of Gymnasium's environments
    model: Optional[Model] = None
    keeps: tuple = ()  # what the spec points into
    limits_episodes = False  # every episode ends in time, whatever the spec says
    wrapped: List[Any] = []  # Gymnasium's environments, whose wrappers may keep running statistics

    @property
    def has_limit(self) -> bool:
        return self.limits_episodes or self.spec.horizon > 0

    def name(self) -> str:
        """For messages."""
        return "the environment"

    def loop(self, agent: Any, seed: int) -> TrainingLoop:
        raise NotImplementedError

    def config(self) -> Config:
        """The env section of a configuration file; None where only Python can make the environment."""
        return None

    def save_statistics(self) -> bytes:
        """The statistics of wrappers (NormalizeObservation) around the first environment, which is the one whose
        statistics evaluations of a run use, too."""
        if not self.wrapped:
            return b""
        from langevin.gym_task import save_statistics  # needs Gymnasium

        return save_statistics(self.wrapped[0])

    def restore_statistics(self, state: bytes) -> None:
        """state: what save_statistics gave where the agent was trained."""
        for env in self.wrapped:
            restore_wrappers(env, state)


def make_adapter(env: Any, reward_range: Any) -> EnvAdapter:
    """env: whatever the constructor of an agent takes."""
    if isinstance(env, EnvAdapter):
        return env
    if isinstance(env, TabularMDP):
        return MDPAdapter(env)
    if isinstance(env, str):
        env = make_by_name(env)
    gym = sys.modules.get("gymnasium")
    if gym is None or not isinstance(env, (gym.Env, gym.vector.VectorEnv)):
        raise UsageError(
            f"an environment is a Gymnasium environment or the name of one, a vector of them, or a TabularMDP, not "
            f"{env!r:.40}"
        )
    try:
        if isinstance(env, gym.vector.VectorEnv):
            return VectorAdapter(env, reward_range)
        native = find_native(env)
        return NativeAdapter(env, native) if native is not None else GymAdapter(env, reward_range)
    except Failure as failure:
        raise UsageError(f"{name_of(env)}: {failure}") from None


def make_by_name(name: str) -> Any:
    """Registers the environments of packages that the bridge knows (MinAtar) as the bridge does."""
    try:
        import gymnasium
    except ModuleNotFoundError:
        raise ImportError("an environment by name needs the package gymnasium: pip install gymnasium") from None
    from langevin.gym_task import find_package

    try:
        find_package(name)
    except Failure as failure:
        raise ImportError(f"{name}: {failure}") from None
    return gymnasium.make(name)


def find_native(env: Any) -> Any:
    """The library's environment inside, if Gymnasium's wrappers around it change nothing."""
    from gymnasium import wrappers

    from langevin.envs import NativeEnv

    while isinstance(env, (wrappers.OrderEnforcing, wrappers.PassiveEnvChecker)):
        env = env.env
    overridden = type(env).step is not NativeEnv.step or type(env).reset is not NativeEnv.reset
    return env if isinstance(env, NativeEnv) and not overridden else None


def copy_spec(spec: CSpec) -> CSpec:
    return CSpec.from_buffer_copy(spec)


# ---- Environments of the library


def native_config(name: str, params: Dict[str, Any]) -> Config:
    config: Dict[str, Any] = {"name": name}
    for key, value in params.items():
        nested = isinstance(value, dict)  # env.kwargs of gym
        config[key.rstrip("_")] = {k: to_argument(k, v) for k, v in value.items()} if nested else to_text(key, value)
    return config


class MDPAdapter(EnvAdapter):
    limits_episodes = True

    def __init__(self, mdp: TabularMDP):
        self.model, self.handle, self.only = mdp, mdp.open(), OneThread("environment")
        self.spec = copy_spec(lib.lgv_env_get_spec(self.handle.pointer).contents)
        self.reader, self.actions = ObservationReader(self.spec), ActionTranslator(self.spec.actions)
        self.keeps = (self.handle,)

    def env_handle(self) -> Any:
        return self.handle

    def loop(self, agent: Any, seed: int) -> TrainingLoop:
        handle = self.env_handle()
        with self.only:
            lib.lgv_env_seed(handle.pointer, seed)
        return NativeTrainingLoop(agent, handle, self.only)


class NativeAdapter(MDPAdapter):
    def __init__(self, env: Any, native: Any):
        self.env, self.native, self.only = env, native, native._only
        native._open()
        self.model = native.model
        self.spec = copy_spec(native.problem)
        self.reader, self.actions = ObservationReader(self.spec), ActionTranslator(self.spec.actions)
        self.keeps = (native.handle,)

    def env_handle(self) -> Any:
        self.native._open()
        self.native._seeded = True
        return self.native.handle

    def name(self) -> str:
        return self.native.name

    def config(self) -> Config:
        return native_config(self.native.name, self.native.params) if self.native.params is not None else None


# ---- Gymnasium's environments


def make_spec(
    space: Any, actions: ActionTranslator, masks: Any, stack: Any, horizon: int, reward_range: Any
) -> Tuple[CSpec, SpaceReader]:
    """stack: the FrameStackObservation that makes the observations, or None."""
    from langevin.observations import Observations

    notices: List[str] = []
    stacked = int(stack.stack_size) if stack else 0
    observations = Observations(space, 1.0, notices, stacked)
    for notice in notices:
        warnings.warn(notice, stacklevel=5)  # where the agent is made
    low, high = reward_range or (0.0, 0.0)
    spec = CSpec(
        obs_kind=observations.kind,
        obs_form=observations.form,
        masked=masks is not None,
        obs_shape=observations.shape,
        vector=observations.vector,
        frames=observations.frames if stack and stack.padding_type == "reset" else 0,  # as a replay begins its stacks
        actions=actions.space,
        states=observations.states,
        horizon=horizon,
        stationary=True,
        clock_truncates=True,
        reward_min=float(low),
        reward_max=float(high),
    )
    spec.bounds = observations.bounds(space)  # kept: the library reads them when an agent is made
    if spec.bounds is not None:
        spec.obs_low, spec.obs_high = (side.ctypes.data for side in spec.bounds)
    return spec, SpaceReader(space, observations, masks, stacked)


def wrapper_text(wrapper: Any) -> str:
    """A gymnasium.envs.registration.WrapperSpec as env.wrappers has it."""
    arguments = wrapper.kwargs or {}
    for value in arguments.values():
        ast.literal_eval(repr(value))
    listed = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"{wrapper.entry_point}({listed})"


def gym_config(spec: Any, reward_range: Tuple[float, float]) -> Config:
    """spec: a gymnasium.envs.registration.EnvSpec, or None."""
    if spec is None or not isinstance(spec.entry_point, str):
        return None
    try:
        kwargs = {name: to_argument(name, value) for name, value in spec.kwargs.items() if name not in NOT_THE_TASK}
        wrappers = ", ".join(wrapper_text(wrapper) for wrapper in spec.additional_wrappers)
    except (UsageError, ValueError, SyntaxError):
        return None  # an argument that no text stands for
    config = {"name": "gym", "id": spec.id, "wrappers": wrappers, "horizon": str(spec.max_episode_steps or 0)}
    low, high = reward_range
    if (low, high) != (0, 0):
        config.update(reward_min=repr(low), reward_max=repr(high))
    module = spec.entry_point.split(":")[0]
    if module.split(".")[0] != "gymnasium":
        config["import"] = module
    return {**config, "kwargs": kwargs} if kwargs else config


def restore_wrappers(env: Any, state: bytes) -> None:
    from langevin.gym_task import restore_statistics, save_statistics

    size = len(save_statistics(env))
    if state and not size:
        warnings.warn("the agent was trained with wrappers that keep statistics, such as NormalizeObservation; this "
                      "environment has none", stacklevel=4)  # fmt: skip
    elif state and len(state) != size:
        raise UsageError("the agent was made for another environment: its wrappers keep other statistics")
    elif state:
        restore_statistics(env, state)


def is_native(env: Any) -> bool:
    """Whether one of the library's environments is inside: they have limits of their own."""
    return isinstance(getattr(env.unwrapped, "problem", None), CSpec)


def name_of(env: Any) -> str:
    spec = getattr(env.unwrapped, "spec", None)
    return str(spec.id) if spec is not None else type(env.unwrapped).__name__


def find_masks(env: Any, wrapped: List[Any], space: Any, actions: ActionTranslator, stack: Any) -> Optional[Masks]:
    """None if the environment gives no masks. Where its observations have none, only the info of a reset can tell. What
    that reset raises comes again in learn()."""
    from langevin.gym_task import infos_have_masks

    if actions.kind == BOX:
        return None
    if has_mask(space):
        return Masks.of_observations(actions, stack is not None)
    problem = getattr(env, "problem", None)
    if isinstance(problem, CSpec):
        return Masks(actions) if problem.masked else None
    try:
        return Masks(actions) if infos_have_masks(env, wrapped) else None
    except Exception:
        return None


class GymAdapter(EnvAdapter):
    def __init__(self, env: Any, reward_range: Any):
        from langevin.gym_task import find_stack, horizon_of

        self.env, self.wrapped = env, [env]
        self.actions = ActionTranslator.of_space(env.action_space)
        stack = find_stack(env)
        self.masks = find_masks(env, self.wrapped, env.observation_space, self.actions, stack)
        self.spec, self.reader = make_spec(
            env.observation_space, self.actions, self.masks, stack, horizon_of(env), reward_range
        )
        self.limits_episodes = is_native(env)

    def name(self) -> str:
        return name_of(self.env)

    def loop(self, agent: Any, seed: int) -> TrainingLoop:
        return GymTrainingLoop(agent, self, seed)

    def config(self) -> Config:
        try:
            spec = self.env.spec
        except (AttributeError, TypeError, ValueError):
            return None  # a wrapper that does not record its arguments
        return gym_config(spec, (self.spec.reward_min, self.spec.reward_max))


class VectorAdapter(EnvAdapter):
    def __init__(self, envs: Any, reward_range: Any):
        from gymnasium.vector import VectorWrapper

        from langevin.gym_task import find_stack, horizon_of

        self.envs, self.streams = envs, int(envs.num_envs)
        self.inside = list(getattr(envs, "envs", ()))  # of a SyncVectorEnv
        self.wrapped = [envs] if isinstance(envs, VectorWrapper) else self.inside
        stated = getattr(getattr(envs, "spec", None), "max_episode_steps", None)
        horizon = int(stated or 0) if stated or not self.inside else horizon_of(self.inside[0])
        self.actions = ActionTranslator.of_space(envs.single_action_space)
        self.limits_episodes = is_native(self.inside[0] if self.inside else envs)
        problem = getattr(envs, "problem", None)
        stack = find_stack(self.inside[0]) if self.inside and self.wrapped is self.inside else None
        self.masks = find_masks(envs, self.wrapped, envs.single_observation_space, self.actions, stack)
        self.spec, self.reader = make_spec(
            envs.single_observation_space, self.actions, self.masks, stack, horizon, reward_range
        )
        if isinstance(problem, CSpec):  # the library's environments know more than their space
            self.spec = copy_spec(problem)
            self.keeps = tuple(envs.handles)

    def name(self) -> str:
        return name_of(self.inside[0] if self.inside else self.envs)

    def loop(self, agent: Any, seed: int) -> TrainingLoop:
        return VectorTrainingLoop(agent, self, seed)

    def config(self) -> Config:
        from gymnasium.vector import AsyncVectorEnv, VectorWrapper

        from langevin.envs import NativeVectorEnv

        if type(self.envs) is NativeVectorEnv:
            return native_config(self.envs.name, self.envs.params)
        if isinstance(self.envs, (AsyncVectorEnv, VectorWrapper)):
            return None  # what they contain cannot be named
        spec = self.inside[0].spec if self.inside else getattr(self.envs, "spec", None)
        return gym_config(spec, (self.spec.reward_min, self.spec.reward_max))


class NoEnv(EnvAdapter):
    """For an agent that is loaded without an environment."""

    def __init__(self, config: Config, statistics: bytes):
        self._config, self._statistics = config, statistics

    def config(self) -> Config:
        return self._config

    def save_statistics(self) -> bytes:
        return self._statistics
