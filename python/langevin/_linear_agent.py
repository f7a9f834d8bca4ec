"""The base class of linear agents, which have tables over stages, states and actions."""

from __future__ import annotations

import ctypes
from typing import Any, Optional

import numpy as np

from langevin._agent import Agent
from langevin._library import CObs, UsageError, call


class LinearAgent(Agent):
    """An agent that plans by episode over finitely many states and a horizon."""

    def policy(self) -> np.ndarray:
        """Probabilities of the current episode's policy, (H, S, A); before the first episode, the policy without data."""
        with self._only:
            h, s, a = self._spec.horizon, self._spec.states, self._spec.actions.count
            table = np.empty((h, s, a))
            pointer, masks = self.handle.pointer, self._known_masks()
            for stage in range(h):
                for state in range(s):
                    obs = CObs(state=state, stage=stage)
                    if masks is not None:
                        obs.mask = masks[stage, state].ctypes.data
                    call("lgv_agent_policy", pointer, ctypes.byref(obs), table[stage, state].ctypes.data)
            return table

    def _known_masks(self) -> Optional[np.ndarray]:
        """Without a model, the last mask that the agent has seen at each stage in each state; of all stages where they
        share their data."""
        if self._adapter.model:
            return self._adapter.model.masks
        seen = dict(self._views(readonly=True)).get("lsvi.masks")
        if seen is None:
            return None
        h, s, a = self._spec.horizon, self._spec.states, self._spec.actions.count
        return np.broadcast_to(seen.reshape(-1, s, a), (h, s, a))

    def value(self) -> float:
        """The exact value of that policy, a mean over the start states."""
        return self._model().value(self.policy())

    @property
    def optimal_value(self) -> float:
        """V*, a mean over the start states."""
        return self._model().optimal_value

    def _model(self) -> Any:
        model = self.adapter.model
        if model is None:
            raise UsageError("the environment has no exact model: values are known for TabularMDPs and the library's own")
        return model

    def q_table(self) -> np.ndarray:
        """Q of the current episode, (H, S, A), a view."""
        spec = self._spec
        return self.arrays()["lsvi.q"].reshape(spec.horizon, spec.states, spec.actions.count)

    def weights(self) -> np.ndarray:
        """The weights w_h of an agent that keeps them, a view: (H, d), or (M, H, d) with M > 1 samples.

        Q_h(s, a) = phi(s, a) . w_h, or the maximum of that over the samples, clipped into what the stages from h on
        can pay."""
        view = self.parameters().get("w")
        h = int(self._spec.horizon)
        d = int(self._spec.feature_dim) if self._get("agent.features") == "env" else self._spec.states * self._spec.actions.count
        if view is None or view.size % (h * d):
            raise UsageError(f"{self._entry.name} keeps no weights from stage to stage; q_table() has its values")
        return view.reshape(h, d) if view.size == h * d else view.reshape(h, -1, d).swapaxes(0, 1)
