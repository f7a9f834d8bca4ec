"""Agents as torch modules whose outputs are those of q_values(); of agents for continuous actions, the actions of
predict(deterministic=True).

Parameters lie layer by layer in one flat vector (src/nn/net.h): weights (inputs x outputs, row-major), biases and, in
normalized layers, gains and shifts. torch stores weights as (outputs x inputs), and pictures as (channels, height,
width); the outputs of the convolutions go back to (height, width, channels) before the dense layers.

Modules are copies: training the agent or the module leaves the other alone.
"""

from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np

from langevin import _network_numbers as numbers
from langevin._library import BYTES, ONE_HOT, THERMOMETER, UsageError
from langevin._network_numbers import Arrays, Shape
from langevin._observation_reader import Batch

try:
    import torch
    from torch import Tensor, nn
except ModuleNotFoundError as missing:
    raise ImportError("to_torch() needs the package torch: pip install torch") from missing

EPSILON = 1e-5  # of layer normalization


# ---- Layers


class Vector:
    """Takes layers off the front of a flat parameter vector."""

    def __init__(self, values: np.ndarray, layer_norm: bool = False):
        self.values, self.at, self.layer_norm = values, 0, layer_norm

    def take(self, *shape: int) -> Tensor:
        size = math.prod(shape)
        piece = self.values[self.at : self.at + size]
        if piece.size != size:
            raise UsageError("the network is not laid out as to_torch() expects")
        self.at += size
        return torch.tensor(piece.reshape(shape))

    def linear(self, inputs: int, outputs: int, shared_bias: bool = False) -> nn.Linear:
        layer = nn.Linear(inputs, outputs)
        with torch.no_grad():
            layer.weight.copy_(self.take(inputs, outputs).T)
            layer.bias.copy_(self.take(1 if shared_bias else outputs).expand(outputs))
        return layer

    def hidden(self, inputs: int, outputs: int) -> nn.Sequential:
        layer = nn.Sequential()
        layer.add_module("linear", self.linear(inputs, outputs))
        return self.finish(layer, nn.LayerNorm(outputs, EPSILON))

    def convolution(self, channels: int, outputs: int, kernel: int, stride: int) -> nn.Sequential:
        conv = nn.Conv2d(channels, outputs, kernel, stride)
        with torch.no_grad():
            conv.weight.copy_(self.take(kernel, kernel, channels, outputs).permute(3, 2, 0, 1))
            conv.bias.copy_(self.take(outputs))  # type: ignore[union-attr]
        layer = nn.Sequential()
        layer.add_module("conv", conv)
        return self.finish(layer, nn.GroupNorm(1, outputs, EPSILON))

    def finish(self, layer: nn.Sequential, norm: Any) -> nn.Sequential:
        """Normalization, if the network has it, and the rectifier."""
        if self.layer_norm:
            with torch.no_grad():
                norm.weight.copy_(self.take(*norm.weight.shape))
                norm.bias.copy_(self.take(*norm.bias.shape))
            layer.add_module("norm", norm)
        layer.add_module("relu", nn.ReLU())
        return layer


class Dueling(nn.Module):
    """Q = V + A - mean A per head and atom; the mean is taken within each part of an action (src/nn/dueling.c)."""

    def __init__(self, shape: Shape, inputs: int, vector: Vector):
        super().__init__()
        self.heads, self.atoms, self.choices = shape.heads, shape.atoms, list(shape.choices)
        self.value = vector.linear(inputs // 2, shape.heads * shape.atoms)
        self.advantage = vector.linear(inputs // 2, shape.heads * sum(shape.choices) * shape.atoms)

    def forward(self, x: Tensor) -> Tensor:
        below_v, below_a = x.chunk(2, -1)
        v = self.value(below_v).unflatten(-1, (self.heads, 1, self.atoms))
        a = self.advantage(below_a).unflatten(-1, (self.heads, -1, self.atoms))
        parts = [v + part - part.mean(-2, keepdim=True) for part in a.split(self.choices, -2)]
        return torch.cat(parts, -2).flatten(-3)


class Embedding(nn.Module):
    """Of IQN: one factor per unit for each tau, which are the midpoints of equal parts."""

    def __init__(self, shape: Shape, units: int, vector: Vector):
        super().__init__()
        self.linear = vector.linear(shape.cosines, units)
        tau = (torch.arange(shape.taus, dtype=torch.float64) + 0.5) / shape.taus
        i = torch.arange(1, shape.cosines + 1, dtype=torch.float64)
        self.register_buffer("cosines", torch.cos(math.pi * i * tau[:, None]).float())

    def forward(self, x: Tensor) -> Tensor:
        """(n x units) becomes (n x taus x units)."""
        return x[:, None, :] * torch.relu(self.linear(self.cosines))


class Network(nn.Module):
    """One network: Q of every head and action, (n x heads x actions), of inputs that are mapped already."""

    support: Optional[Tensor]

    def __init__(self, shape: Shape, values: np.ndarray, support: Optional[Tensor] = None):
        super().__init__()
        self.shape = shape
        vector = Vector(values, shape.layer_norm)
        self.convolutions = nn.ModuleList()
        height, width, channels = shape.picture
        for outputs, kernel, stride in shape.convolutions:
            self.convolutions.append(vector.convolution(channels, outputs, kernel, stride))
            height, width, channels = (height - kernel) // stride + 1, (width - kernel) // stride + 1, outputs
        inputs = height * width * channels + shape.vector
        self.hidden, self.below = nn.ModuleList(), self._hidden_below_embedding()
        self.embedding = Embedding(shape, inputs, vector) if shape.cosines and self.below == 0 else None
        for i, outputs in enumerate(shape.hidden, 1):
            outputs *= 2 if shape.dueling and i == len(shape.hidden) else 1
            self.hidden.append(vector.hidden(inputs, outputs))
            inputs = outputs
            if shape.cosines and i == self.below:
                self.embedding = Embedding(shape, inputs, vector)
        outputs = shape.heads * sum(shape.choices) * shape.atoms
        self.output: nn.Module = (
            Dueling(shape, inputs, vector) if shape.dueling else vector.linear(inputs, outputs, shape.shared_bias)
        )
        self.register_buffer("support", support)
        if vector.at != values.size:
            raise UsageError("the network is not laid out as to_torch() expects")

    def _hidden_below_embedding(self) -> int:
        """Without an embedding: all."""
        layers = len(self.shape.hidden)
        if self.shape.cosines == 0:
            return layers
        return 0 if self.convolutions else max(1, layers - 1)

    def forward(self, x: Tensor, beside: Optional[Tensor] = None) -> Tensor:
        """x: (n x length); beside: the vectors that accompany pictures."""
        if self.convolutions:
            x = x.unflatten(1, self.shape.picture).permute(0, 3, 1, 2)
            for convolution in self.convolutions:
                x = convolution(x)
            x = x.permute(0, 2, 3, 1).flatten(1)
        if beside is not None:
            x = torch.cat((x, beside), 1)
        for layer in self.hidden[: self.below]:
            x = layer(x)
        if self.embedding is not None:
            x = self.embedding(x)
        for layer in self.hidden[self.below :]:
            x = layer(x)
        outputs = self.output(x)
        return self._mean(outputs.mean(1) if self.embedding is not None else outputs)

    def _mean(self, outputs: Tensor) -> Tensor:
        """Over atoms: of a distribution over the support, or of quantiles."""
        outputs = outputs.unflatten(1, (self.shape.heads, -1, self.shape.atoms))
        return outputs.mean(-1) if self.support is None else (outputs.softmax(-1) * self.support).sum(-1)


# ---- Inputs


class Inputs(nn.Module):
    """Observations as networks see them. Buffers hold the agent's statistics; they do not change."""

    order: Optional[Tensor]
    scale: Tensor
    mean: Optional[Tensor]
    deviation: Optional[Tensor]
    clip: Optional[Tensor]

    def __init__(self, agent: Any, params: dict, arrays: Arrays):
        super().__init__()
        spec = agent._spec
        seen = numbers.input_map(spec, params, arrays)
        self.length, self.vector = int(np.prod(spec.obs_shape)), int(spec.vector)
        self.floats = 0 if spec.obs_kind == BYTES else self.length  # those of the picture, before the vector's
        self.states = int(spec.states) if spec.obs_form == ONE_HOT else 0
        self.first_state = int(getattr(getattr(agent._reader, "inner", None), "first_state", 0))
        self.shape, order = raw_form(agent)
        self.register_buffer("order", order, persistent=False)
        self.register_buffer("scale", torch.tensor(seen.scale))
        self.register_buffer("mean", as_floats(seen.mean))
        self.register_buffer("deviation", as_floats(seen.deviation))
        self.register_buffer("clip", None if seen.mean is None else torch.tensor(seen.clip))

    def is_single(self, observations: Tensor) -> bool:
        are_states = bool(self.states) and not observations.is_floating_point()
        return observations.dim() == (0 if are_states else len(self.shape))

    def forward(self, observations: Tensor, vector: Optional[Tensor] = None) -> Tuple[Tensor, Optional[Tensor]]:
        x = self._flatten(observations)
        if self.mean is not None and self.floats:
            x = self._normalize(x, slice(0, self.floats))
        else:
            x = (x.unflatten(1, (-1, len(self.scale))) * self.scale).flatten(1)
        if self.vector == 0:
            return x, None
        if vector is None:
            raise ValueError(f"a vector of {self.vector} numbers accompanies the picture: module(picture, vector=vector)")
        beside = vector.reshape(-1, self.vector).to(self.scale)
        return x, beside if self.mean is None else self._normalize(beside, slice(self.floats, None))

    def _flatten(self, observations: Tensor) -> Tensor:
        """(n x length), in the order of the agent's memory."""
        if self.states and not observations.is_floating_point():
            states = observations.reshape(-1).long() - self.first_state
            return nn.functional.one_hot(states, self.states).to(self.scale)
        if tuple(observations.shape[-len(self.shape) :]) != self.shape or observations.dim() > len(self.shape) + 1:
            raise ValueError(f"observations have the shape {tuple(observations.shape)}; the module takes {self.shape}, "
                             f"or (n, {', '.join(map(str, self.shape))}) for a batch")  # fmt: skip
        x = observations.reshape(-1, self.length).to(self.scale)
        return x if self.order is None else x[:, self.order]

    def _normalize(self, x: Tensor, part: slice) -> Tensor:
        assert self.mean is not None and self.deviation is not None and self.clip is not None
        x = (x - self.mean[part]) / self.deviation[part]
        return x.clamp(-self.clip, self.clip)


def as_floats(values: Optional[np.ndarray]) -> Optional[Tensor]:
    return None if values is None else torch.tensor(values, dtype=torch.float32)


def raw_form(agent: Any) -> Tuple[Tuple[int, ...], Optional[Tensor]]:
    """The shape of one observation, without the vector beside it, and where its entries are in it; None: in place. It is
    that of a Box; of other spaces it is the agent's: (height, width, channels), or (length)."""
    h, w, c = agent._spec.obs_shape
    form, size = (h, w, c) if w * c > 1 else (h,), h * w * c
    space = getattr(agent._reader, "space", None)
    if space is None:
        shape = agent._reader.shape
        return (shape if shape and math.prod(shape) == size else form), None
    from gymnasium.spaces import Box

    from langevin.observations import picture_of

    if not isinstance(space, Box):
        return form, None
    picture = picture_of(space, agent._reader.stack)
    places = np.arange(size).reshape(space.shape)
    order = places.ravel() if picture is None else picture.turn(places).ravel()
    return tuple(space.shape), None if (order == np.arange(size)).all() else torch.tensor(order)


# ---- Modules


class QModule(nn.Module):
    """Q of every action, (n x actions), or (actions) for one observation; of several parts of an action, part after part.
    choices: how many each part has."""

    def __init__(self, agent: Any, params: dict, arrays: Arrays):
        super().__init__()
        self.choices = numbers.choices_of(agent._spec)
        self.inputs = Inputs(agent, params, arrays)


class MeanNetwork(Network):
    """The network of HyperAgent: the first output of an action is the mean over all indices."""

    def _mean(self, outputs: Tensor) -> Tensor:
        return outputs.unflatten(1, (self.shape.heads, -1, self.shape.atoms))[..., 0]


class QNetwork(QModule):
    """An agent with one network, or a table in its place."""

    def __init__(self, agent: Any, params: dict, arrays: Arrays, network: nn.Module):
        super().__init__(agent, params, arrays)
        self.network = network

    def forward(self, observations: Tensor, vector: Optional[Tensor] = None) -> Tensor:
        q = self.network(*self.inputs(observations, vector))[:, 0]
        return q[0] if self.inputs.is_single(observations) else q


class QEnsemble(QModule):
    """An agent with several members: heads of one network, or networks, each with a fixed random prior."""

    def __init__(self, agent: Any, params: dict, arrays: Arrays, networks: List[Network], priors: List[nn.Module]):
        super().__init__(agent, params, arrays)
        self.networks, self.priors = nn.ModuleList(networks), nn.ModuleList(priors)
        self.priors.requires_grad_(False)

    def members(self, observations: Tensor, vector: Optional[Tensor] = None) -> Tensor:
        """Q of every member, (n x members x actions), or (members x actions) for one observation."""
        seen = self.inputs(observations, vector)
        q = torch.cat([network(*seen) for network in self.networks], 1)
        if len(self.priors):
            q = q + torch.cat([prior(*seen) for prior in self.priors], 1)
        return q[0] if self.inputs.is_single(observations) else q

    def forward(self, observations: Tensor, vector: Optional[Tensor] = None) -> Tensor:
        """The mean over the members."""
        return self.members(observations, vector).mean(-2)


class PriorNetwork(Network):
    """A fixed network, multiplied by its weight."""

    weight: Tensor

    def __init__(self, shape: Shape, values: np.ndarray, weight: float):
        super().__init__(shape, values)
        self.register_buffer("weight", torch.tensor(weight))

    def forward(self, x: Tensor, beside: Optional[Tensor] = None) -> Tensor:
        return self.weight * super().forward(x, beside)


class IndexTable(nn.Module):
    """Values over one-hot or thermometer observations, by the number of the observation."""

    values: Tensor

    def __init__(self, values: np.ndarray, is_thermometer: bool):
        super().__init__()
        self.is_thermometer = is_thermometer
        self.register_buffer("values", torch.tensor(values))  # (observations x heads x actions)

    def forward(self, x: Tensor, beside: Optional[Tensor] = None) -> Tensor:
        ones = x != 0
        if self.is_thermometer:
            return self.values[ones.long().cumprod(1).sum(1)]  # leading ones
        return self.values[(ones.long().argmax(1) + 1) * ones.any(1)]  # row 0: no one


class QStages(QModule):
    """An agent with a network for each stage of an episode."""

    def __init__(self, agent: Any, params: dict, arrays: Arrays, networks: List[Network]):
        super().__init__(agent, params, arrays)
        self.networks = nn.ModuleList(networks)

    def forward(
        self, observations: Tensor, stage: Union[int, Tensor] = 0, vector: Optional[Tensor] = None
    ) -> Tensor:
        """stage: one for all observations, or a tensor with one for each."""
        x, beside = self.inputs(observations, vector)
        stages = check_stages(stage, len(x), len(self.networks)).to(x.device)
        q = x.new_empty(len(x), sum(self.choices))
        for h in stages.unique().tolist():
            rows = stages == h
            q[rows] = self.networks[h](x[rows], None if beside is None else beside[rows])[:, 0]
        return q[0] if self.inputs.is_single(observations) else q


def check_stages(stage: Union[int, Tensor], count: int, stages: int) -> Tensor:
    found = torch.as_tensor(stage).expand(count)
    if found.is_floating_point() or ((found < 0) | (found >= stages)).any():
        raise ValueError(f"the stage is a whole number in 0..{stages - 1}; got {stage!r:.40}")
    return found


class QTable(nn.Module):
    """A linear agent: Q of the current episode by stage and state."""

    q: Tensor

    def __init__(self, agent: Any, values: np.ndarray):
        super().__init__()
        spec = agent._spec
        self.choices = numbers.choices_of(spec)
        self.first_state = int(getattr(getattr(agent._reader, "inner", None), "first_state", 0))
        table = values.reshape(spec.horizon, spec.states, spec.actions.count)
        self.register_buffer("q", torch.tensor(table, dtype=torch.float32))

    def forward(self, states: Tensor, stage: Union[int, Tensor] = 0) -> Tensor:
        """states: numbers of states, one or a batch; stage: one for all, or a tensor with one for each."""
        states = states - self.first_state
        if states.is_floating_point() or ((states < 0) | (states >= self.q.shape[1])).any():
            raise ValueError(f"states are whole numbers, {self.q.shape[1]} from {self.first_state} on")
        stages = check_stages(stage, states.numel(), len(self.q)).reshape(states.shape)
        return self.q[stages.to(states.device), states]


class Actor(nn.Module):
    """The policy of an agent for continuous actions: the action of an evaluation, in the shape of the action space, within
    its bounds."""

    low: Tensor
    high: Tensor

    def __init__(self, agent: Any, params: dict, arrays: Arrays, network: Network):
        super().__init__()
        actions, parts = agent._spec.actions, int(agent._spec.actions.parts)
        self.shape, self.parts = tuple(agent._actions.shape), parts
        self.inputs = Inputs(agent, params, arrays)
        self.network = network
        self.register_buffer("low", torch.tensor(actions.low[:parts]))
        self.register_buffer("high", torch.tensor(actions.high[:parts]))

    def outputs(self, observations: Tensor, vector: Optional[Tensor] = None) -> Tensor:
        """The network's: one number per part of an action; of a Gaussian policy the means, then the logarithms of the
        deviations, (n x outputs)."""
        return self.network(*self.inputs(observations, vector))[:, 0]

    def forward(self, observations: Tensor, vector: Optional[Tensor] = None) -> Tensor:
        share = (torch.tanh(self.outputs(observations, vector)[:, : self.parts]) + 1) / 2
        actions = (self.low + share * (self.high - self.low)).clamp(self.low, self.high)
        actions = actions.reshape(-1, *self.shape)
        return actions[0] if self.inputs.is_single(observations) else actions


# ---- Agents


def make_ensemble(agent: Any, params: dict, arrays: Arrays) -> QEnsemble:
    spec, members = agent._spec, int(params["heads"])
    copies = members if params["members"] == "networks" else 1
    shape = numbers.shape_of(spec, params, members // copies)
    networks = [Network(shape, values) for values in numbers.member_vectors(params, arrays, copies)]
    priors: List[nn.Module] = []
    if "prior.w" in arrays:  # over indices: the values are kept
        table = arrays["prior"].reshape(-1, members, spec.actions.count)
        priors = [IndexTable(table, spec.obs_form == THERMOMETER)]
    elif "prior" in arrays:
        vectors = numbers.split_copies(arrays["prior"], copies)
        priors = [PriorNetwork(shape, values, float(params["prior_scale"])) for values in vectors]
    return QEnsemble(agent, params, arrays, networks, priors)


def make_table(agent: Any, params: dict, arrays: Arrays) -> QNetwork:
    """Of an agent whose values are those of counted observations, not of its network alone."""
    spec, length = agent._spec, int(agent._spec.obs_shape[0])
    if spec.obs_form not in (ONE_HOT, THERMOMETER):
        raise UsageError(f"the values of {agent._entry.name} belong to codes of observations and are no network: to_torch() "
                         "takes it with one-hot and thermometer observations only")  # fmt: skip
    thermometer = spec.obs_form == THERMOMETER
    rows = np.tri(length + 1, length, -1) if thermometer else np.eye(length + 1, length, -1)
    q = agent._values_of(Batch(True, length + 1, rows.astype(np.float32), None), 0)
    return QNetwork(agent, params, arrays, IndexTable(q[:, None].astype(np.float32), thermometer))


def make_mean(agent: Any, params: dict, arrays: Arrays) -> QNetwork:
    shape = numbers.shape_of(agent._spec, params)._replace(atoms=int(params["index_dim"]) + 1)
    return QNetwork(agent, params, arrays, MeanNetwork(shape, arrays["w"]))


def make_network(agent: Any, params: dict, arrays: Arrays) -> Union[QNetwork, QStages]:
    spec = agent._spec
    copies = int(spec.horizon) if agent._staged else 1
    vectors: Sequence[np.ndarray] = numbers.split_copies(arrays.get("w_mean", arrays["w"]), copies)
    if agent._entry.name == "noisynet-dqn":  # the means, then the deviations
        vectors = [values[: values.size // 2] for values in vectors]
    support = None
    if "v_min" in params:
        support = torch.linspace(params["v_min"], params["v_max"], params["atoms"])
    shape = numbers.shape_of(spec, params)
    networks = [Network(shape, values, support) for values in vectors]
    if agent._staged:
        return QStages(agent, params, arrays, networks)
    return QNetwork(agent, params, arrays, networks[0])


def make_actor(agent: Any, params: dict, arrays: Arrays) -> Actor:
    outputs = arrays["d_outputs"].size // int(params["batch"])
    shape = numbers.shape_of(agent._spec, params)._replace(choices=(outputs,))
    policies = int(params["pairs"]) if params.get("variant") == "repaired" else 1  # lsac evaluates by the first
    return Actor(agent, params, arrays, Network(shape, numbers.split_copies(arrays["actor"], policies)[0]))


def to_torch(agent: Any) -> nn.Module:
    params, arrays = agent.params, dict(agent._views(readonly=True))
    if "actor" in arrays:
        return make_actor(agent, params, arrays).eval()
    if "lsvi.q" in arrays:
        return QTable(agent, arrays["lsvi.q"]).eval()
    special = {"bootstrapped-dqn": make_ensemble, "pathwise-lmcdqn": make_table, "hyperagent": make_mean}
    return special.get(agent._entry.name, make_network)(agent, params, arrays).eval()
