"""The library's own environments as Gymnasium environments: gymnasium.make("langevin/NChain-v0", n=100), and
gymnasium.make_vec("langevin/NChain-v0", num_envs=8, n=100).

Importing this module registers them; `import langevin` does so where Gymnasium is installed. liblangevin is loaded when
the first one is made.
"""

from __future__ import annotations

import ctypes
import operator
from typing import Any, Optional, Tuple

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from langevin.masks import MASK

if not hasattr(gymnasium.vector, "AutoresetMode"):
    raise ImportError(f"Gymnasium {gymnasium.__version__} is too old for langevin: pip install 'gymnasium>=1.1'")

# All environments of the registry except `gym`; tests/python/test_envs.py compares.
IDS = {
    "langevin/RiverSwim-v0": "riverswim",
    "langevin/ContinuousRiverSwim-v0": "continuous-riverswim",
    "langevin/LinearMDP-v0": "linear-mdp",
    "langevin/Bandit-v0": "bandit",
    "langevin/NChain-v0": "nchain",
    "langevin/DeepSea-v0": "deepsea",
    "langevin/Switches-v0": "switches",
    "langevin/CartPole-v0": "cartpole",
    "langevin/MountainCar-v0": "mountain-car",
    "langevin/MountainCarContinuous-v0": "mountain-car-continuous",
    "langevin/Acrobot-v0": "acrobot",
    "langevin/Pendulum-v0": "pendulum",
    "langevin/PointMaze-v0": "point-maze",
    "langevin/Atari-v0": "atari",
}
NO_COPY = "the library's environments cannot be copied or pickled: make another one where it is needed"


def open_env(name: str, params: dict) -> Any:
    """A handle of lgv_env."""
    from langevin import _library, _registry

    entry = _registry.entries("env").get(name)
    if entry:
        for key in params:
            if key.split(".")[0] not in {p.keyword for p in entry.params} | {p.name for p in entry.params}:
                known = ", ".join(p.keyword for p in entry.params)
                raise _library.UsageError(f"{name} has no parameter '{key}'; it has {known}")
    values = {f"env.{key.rstrip('_')}": value for key, value in params.items()}
    settings = _registry.make_settings({"env.name": name, **values})
    return _library.create("lgv_env_create", "lgv_env_free", settings.pointer, 0)


def observation_space(spec: Any) -> spaces.Space:
    """A Box, or a Dict of the picture and the vector beside it."""
    from langevin._observation_reader import memory_form

    def box(form: np.dtype) -> spaces.Box:
        if form.base == np.uint8:
            return spaces.Box(0, 255, form.shape, np.uint8)
        low, high = (-np.inf, np.inf) if spec.obs_form == 0 else (0.0, 1.0)
        return spaces.Box(low, high, form.shape, np.float32)

    form = memory_form(spec)
    return spaces.Dict({name: box(form[name]) for name in form.names}) if form.names else box(form)


def part_arrays(memory: np.ndarray) -> Any:
    """Observations in the library's memory as their space has them."""
    names = memory.dtype.names
    return {name: np.ascontiguousarray(memory[name]) for name in names} if names else memory


def action_space(actions: Any) -> spaces.Space:
    """actions: an lgv_action_space."""
    from langevin._library import DISCRETE, MULTI_DISCRETE

    if actions.kind == DISCRETE:
        return spaces.Discrete(actions.count)
    if actions.kind == MULTI_DISCRETE:
        return spaces.MultiDiscrete(actions.choices[: actions.parts])
    low, high = (np.array(bound[: actions.parts], np.float32) for bound in (actions.low, actions.high))
    return spaces.Box(low, high)


class NativeEnv(gymnasium.Env):
    """One of the library's environments, or a TabularMDP.

    env: a name of `langevin list envs`, or a TabularMDP. params: those of `langevin help env NAME`. Where there are
    finitely many states, info["state"] is the number of the current one. Where not all actions are always allowed,
    info["action_mask"] has one entry per choice, part after part: 0 where it is forbidden.
    """

    metadata = {"render_modes": []}

    def __init__(self, env: Any, *, render_mode: Optional[str] = None, **params: Any):
        from langevin import _library as library
        from langevin._action_translator import ActionTranslator
        from langevin._observation_reader import memory_form

        if render_mode is not None:
            raise library.UsageError("the library's environments draw no pictures: render_mode must be None")
        self.name = env if isinstance(env, str) else repr(env)
        self.params = params if isinstance(env, str) else None
        self.handle = open_env(env, params) if isinstance(env, str) else env.open()
        self._lib = library
        self.problem = library.lib.lgv_env_get_spec(self.handle.pointer).contents  # lgv_env_spec; Env.spec is Gymnasium's
        self.observation_space = observation_space(self.problem)
        self._actions = ActionTranslator(self.problem.actions)
        self.action_space = action_space(self.problem.actions)
        self._seeded = False
        self._obs, self._outcome, self._error = library.CObs(), library.COutcome(), library.CError()
        self._action = library.CAction()
        self._refs = [ctypes.byref(x) for x in (self._outcome, self._obs, self._error)]
        self._views: dict = {}
        self._form = memory_form(self.problem)
        self._only = library.OneThread("environment")

    @property
    def model(self) -> Any:
        """The exact model, with optimal_value, values(policy) and value(policy); None if there is none."""
        from langevin._mdp import Model

        p = self.problem
        pointer = self._lib.lib.lgv_env_get_model(self._open())
        return Model(pointer, self.handle, p.states, p.actions.count, p.horizon) if pointer else None

    def _open(self) -> int:
        if self.handle is None:
            raise self._lib.UsageError("this environment is closed")
        return self.handle.pointer

    def _show(self) -> tuple:
        address = self._obs.data
        view = self._views.get(address)
        if view is None:
            form = self._form
            memory = np.asarray(self._lib.Memory(None, address, "|u1", (form.itemsize,), True))
            view = self._views[address] = memory.view(form)[0] if form.names else memory.view(form.base).reshape(form.shape)
        info = {"state": self._obs.state} if self.problem.states else {}
        if self._obs.mask:
            info[MASK] = np.frombuffer(ctypes.string_at(self._obs.mask, self._actions.count), np.int8).copy()
        return part_arrays(view.copy()), info

    def seed_stream(self, seed: int) -> None:
        """As if the environment had been created with this seed."""
        self._lib.lib.lgv_env_seed(self._open(), self._lib.check_seed(seed))
        self._seeded = True

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict] = None) -> tuple:
        super().reset(seed=seed)
        with self._only:
            if seed is not None:
                self.seed_stream(seed)
            elif not self._seeded:
                self.seed_stream(int(self.np_random.integers(2**63)))
            self._lib.call("lgv_env_reset", self._open(), self._refs[1])
            return self._show()

    def step(self, action: Any) -> tuple:
        with self._only:
            pointer = self._open()
            self._actions.read(action, self._action)
            status = self._lib.lib.lgv_env_step(pointer, ctypes.byref(self._action), *self._refs)
            if status:
                self._lib.raise_error(status, self._error)
            observation, info = self._show()
            outcome = self._outcome
            return observation, outcome.reward, outcome.terminated, outcome.truncated, info

    def close(self) -> None:
        with self._only:
            self.handle = None
            self._views = {}

    def __reduce__(self) -> Any:
        raise TypeError(NO_COPY)

    def __repr__(self) -> str:
        return f"<NativeEnv {self.name}>"


class NativeVectorEnv(gymnasium.vector.VectorEnv):
    """Several of the library's environments that step together in one call. After an episode has ended, the next step
    resets it and ignores the action (AutoresetMode.NEXT_STEP): the last observation of an episode is never lost."""

    metadata = {"render_modes": [], "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}

    def __init__(self, env: str, num_envs: int = 1, *, render_mode: Optional[str] = None, **params: Any):
        from langevin import _library as library
        from langevin._action_translator import ActionTranslator
        from langevin._observation_reader import memory_form

        if render_mode is not None:
            raise library.UsageError("the library's environments draw no pictures: render_mode must be None")
        if operator.index(num_envs) < 1:
            raise library.UsageError(f"num_envs = {num_envs}: at least 1")
        self._lib, self.name, self.params, self.num_envs = library, env, params, int(num_envs)
        self.handles = [open_env(env, params) for _ in range(self.num_envs)]
        self.problem = library.lib.lgv_env_get_spec(self.handles[0].pointer).contents
        self.single_observation_space = observation_space(self.problem)
        self._actions = ActionTranslator(self.problem.actions)
        self._moves, self._form = self._actions.memory(self.num_envs), memory_form(self.problem)
        self.single_action_space = action_space(self.problem.actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._pointers = (ctypes.c_void_p * self.num_envs)(*[handle.pointer for handle in self.handles])
        self._outcomes = (library.COutcome * self.num_envs)()
        memory: Any = self._outcomes
        self._results = np.frombuffer(
            memory,
            np.dtype({"names": ["reward", "terminated", "truncated"], "formats": ["f8", "?", "?"],
                      "offsets": [0, 8, 9], "itemsize": ctypes.sizeof(library.COutcome)}),
        )
        self._ended = np.ones(self.num_envs, bool)
        self._seeded = False
        self._only = library.OneThread("environment")

    def _advance(self) -> Tuple[Any, dict]:
        """Makes the moves, or resets where an episode has ended: observations and info."""
        if not self.handles:
            raise self._lib.UsageError("this environment is closed")
        observations = np.empty(self.num_envs, self._form)
        resets, masks = self._ended.copy(), np.ones((self.num_envs, self._actions.count), np.int8)
        with self._only:
            self._ended[:] = True  # unless it works
            self._lib.call(
                "lgv_env_step_all", self._pointers, self.num_envs, self._moves.ctypes.data, resets.ctypes.data,
                observations.ctypes.data, masks.ctypes.data, self._outcomes,
            )  # fmt: skip
        self._ended[:] = self._results["terminated"] | self._results["truncated"]
        info = {MASK: masks, f"_{MASK}": np.ones(self.num_envs, bool)} if self.problem.masked else {}
        return part_arrays(observations), info

    def reset(self, *, seed: Any = None, options: Optional[dict] = None) -> tuple:
        if isinstance(seed, (int, np.integer)):
            seed = [int(seed) + i for i in range(self.num_envs)]
        if seed is None and not self._seeded:
            super().reset(seed=None)
            seed = [int(s) for s in self.np_random.integers(2**63, size=self.num_envs)]
        if seed is not None and len(seed) != self.num_envs:
            raise self._lib.UsageError(f"{len(seed)} seeds for {self.num_envs} environments")
        with self._only:
            for handle, one in zip(self.handles, () if seed is None else seed):
                if one is not None:
                    self._lib.lib.lgv_env_seed(handle.pointer, self._lib.check_seed(one))
        self._seeded = True
        self._ended[:] = True
        return self._advance()

    def step(self, actions: Any) -> tuple:
        given = np.asarray(actions)
        if given.shape != self.action_space.shape:
            raise self._lib.UsageError(f"actions have the shape {self.action_space.shape}, not {given.shape}")
        with self._only:
            self._actions.read_all(given, self._moves)
            observations, info = self._advance()
        results = self._results
        return observations, results["reward"].copy(), results["terminated"].copy(), results["truncated"].copy(), info

    def close_extras(self, **kwargs: Any) -> None:
        with self._only:
            self.handles = []

    def __reduce__(self) -> Any:
        raise TypeError(NO_COPY)


def register() -> None:
    for identifier, name in IDS.items():
        if identifier not in gymnasium.registry:
            gymnasium.register(
                identifier,
                entry_point="langevin.envs:NativeEnv",
                vector_entry_point="langevin.envs:NativeVectorEnv",
                kwargs={"env": name},
            )


register()
