"""The library's own environments as Gymnasium environments: gymnasium.make("langevin/NChain-v0", n=100), and
gymnasium.make_vec("langevin/NChain-v0", num_envs=8, n=100).

Importing this module registers them; `import langevin` does so where Gymnasium is installed. liblangevin is loaded when
the first one is made.
"""

from __future__ import annotations

import ctypes
import operator
from typing import Any, Optional

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

if not hasattr(gymnasium.vector, "AutoresetMode"):
    raise ImportError(f"Gymnasium {gymnasium.__version__} is too old for langevin: pip install 'gymnasium>=1.1'")

# All environments of the registry except `gym`; tests/python/test_envs.py compares.
IDS = {
    "langevin/RiverSwim-v0": "riverswim",
    "langevin/LinearMDP-v0": "linear-mdp",
    "langevin/NChain-v0": "nchain",
    "langevin/DeepSea-v0": "deepsea",
    "langevin/CartPole-v0": "cartpole",
    "langevin/MountainCar-v0": "mountain-car",
    "langevin/Acrobot-v0": "acrobot",
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


def observation_space(spec: Any) -> spaces.Box:
    h, w, c = spec.obs_shape
    if spec.obs_kind == 1:
        return spaces.Box(0, 255, (h, w, c), np.uint8)
    bound = np.inf if spec.obs_form == 0 else 1.0
    return spaces.Box(-bound if spec.obs_form == 0 else 0.0, bound, (h,) if w * c == 1 else (h, w, c), np.float32)


class NativeEnv(gymnasium.Env):
    """One of the library's environments, or a TabularMDP.

    env: a name of `langevin list envs`, or a TabularMDP. params: those of `langevin help env NAME`. Where there are
    finitely many states, info["state"] is the number of the current one.
    """

    metadata = {"render_modes": []}

    def __init__(self, env: Any, *, render_mode: Optional[str] = None, **params: Any):
        from langevin import _library as library

        if render_mode is not None:
            raise library.UsageError("the library's environments draw no pictures: render_mode must be None")
        self.name = env if isinstance(env, str) else repr(env)
        self.params = params if isinstance(env, str) else None
        self.handle = open_env(env, params) if isinstance(env, str) else env.open()
        self._lib = library
        self.problem = library.lib.lgv_env_get_spec(self.handle.pointer).contents  # lgv_env_spec; Env.spec is Gymnasium's
        self.observation_space = observation_space(self.problem)
        self.action_space = spaces.Discrete(self.problem.actions)
        self._seeded = False
        self._obs, self._outcome, self._error = library.CObs(), library.COutcome(), library.CError()
        self._refs = [ctypes.byref(x) for x in (self._outcome, self._obs, self._error)]
        self._views: dict = {}
        self._only = library.OneThread("environment")

    @property
    def model(self) -> Any:
        """The exact model, with optimal_value, values(policy) and value(policy); None if there is none."""
        from langevin._mdp import Model

        p = self.problem
        pointer = self._lib.lib.lgv_env_get_model(self._open())
        return Model(pointer, self.handle, p.states, p.actions, p.horizon) if pointer else None

    def _open(self) -> int:
        if self.handle is None:
            raise self._lib.UsageError("this environment is closed")
        return self.handle.pointer

    def _show(self) -> tuple:
        address = self._obs.data
        view = self._views.get(address)
        if view is None:
            space = self.observation_space
            view = np.asarray(self._lib.Memory(None, address, space.dtype.str, space.shape, True))
            self._views[address] = view
        return view.copy(), {"state": self._obs.state} if self.problem.states else {}

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
            try:
                action = operator.index(action)
            except TypeError:
                raise self._lib.UsageError(f"an action is a whole number, not {action!r:.40}") from None
            if not 0 <= action < self.problem.actions:
                raise self._lib.UsageError(f"action {action} is outside 0..{self.problem.actions - 1}")
            status = self._lib.lib.lgv_env_step(pointer, action, *self._refs)
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

        if render_mode is not None:
            raise library.UsageError("the library's environments draw no pictures: render_mode must be None")
        if operator.index(num_envs) < 1:
            raise library.UsageError(f"num_envs = {num_envs}: at least 1")
        self._lib, self.name, self.params, self.num_envs = library, env, params, int(num_envs)
        self.handles = [open_env(env, params) for _ in range(self.num_envs)]
        self.problem = library.lib.lgv_env_get_spec(self.handles[0].pointer).contents
        self.single_observation_space = observation_space(self.problem)
        self.single_action_space = spaces.Discrete(self.problem.actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._pointers = (ctypes.c_void_p * self.num_envs)(*[handle.pointer for handle in self.handles])
        self._outcomes = (library.COutcome * self.num_envs)()
        self._results = np.frombuffer(
            self._outcomes,
            np.dtype({"names": ["reward", "terminated", "truncated"], "formats": ["f8", "?", "?"],
                      "offsets": [0, 8, 9], "itemsize": ctypes.sizeof(library.COutcome)}),
        )
        self._ended = np.ones(self.num_envs, bool)
        self._seeded = False
        self._only = library.OneThread("environment")

    def _advance(self, actions: np.ndarray) -> np.ndarray:
        if not self.handles:
            raise self._lib.UsageError("this environment is closed")
        observations = np.empty(self.observation_space.shape, self.single_observation_space.dtype)
        moves = np.where(self._ended, self._lib.RESET, actions).astype(np.int32)
        with self._only:
            self._ended[:] = True  # unless it works
            self._lib.call(
                "lgv_env_step_all", self._pointers, self.num_envs, moves.ctypes.data, observations.ctypes.data,
                self._outcomes,
            )  # fmt: skip
        self._ended[:] = self._results["terminated"] | self._results["truncated"]
        return observations

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
        return self._advance(np.zeros(self.num_envs, np.int32)), {}

    def step(self, actions: Any) -> tuple:
        given = np.asarray(actions)
        if given.shape != (self.num_envs,) or given.dtype.kind not in "iu":
            raise self._lib.UsageError(
                f"actions are {self.num_envs} whole numbers, not {given.dtype} of shape {given.shape}"
            )
        if ((given < 0) | (given >= self.problem.actions)).any():
            raise self._lib.UsageError(f"actions {given} are not all in 0..{self.problem.actions - 1}")
        observations = self._advance(given)
        results = self._results
        return observations, results["reward"].copy(), results["terminated"].copy(), results["truncated"].copy(), {}

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
