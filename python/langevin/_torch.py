"""Networks of agents as torch modules with equal outputs.

Parameters lie layer by layer in one flat vector, weights (inputs x outputs, row-major) before biases (src/nn/net.h);
torch has them the other way round. Convolutions see (height, width, channels), so that what leaves them is put in that
order before the dense layers.
"""

from __future__ import annotations

import math
from typing import Any, List

import numpy as np

from langevin._library import BYTES, ONE_HOT, UsageError

try:
    import torch
    from torch import Tensor, nn
except ModuleNotFoundError as missing:
    raise ImportError("to_torch() needs the package torch: pip install torch") from missing

CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))  # channels, kernel, stride


class Vector:
    """Takes layers off the front of a flat parameter vector."""

    def __init__(self, values: np.ndarray):
        self.values, self.at = values, 0

    def take(self, *shape: int) -> Tensor:
        size = math.prod(shape)
        piece = self.values[self.at : self.at + size]
        if piece.size != size:
            raise UsageError("the network is not laid out as to_torch() expects")
        self.at += size
        return torch.tensor(piece.reshape(shape))

    def dense(self, inputs: int, outputs: int, shared_bias: bool = False) -> nn.Linear:
        layer = nn.Linear(inputs, outputs)
        with torch.no_grad():
            layer.weight.copy_(self.take(inputs, outputs).T)
            layer.bias.copy_(self.take(1 if shared_bias else outputs).expand(outputs))
        return layer

    def convolution(self, channels: int, outputs: int, kernel: int, stride: int) -> nn.Conv2d:
        layer = nn.Conv2d(channels, outputs, kernel, stride)
        with torch.no_grad():
            layer.weight.copy_(self.take(kernel, kernel, channels, outputs).permute(3, 2, 0, 1))
            layer.bias.copy_(self.take(outputs))
        return layer


class QNetwork(nn.Module):
    """Q of every action. Input: observations as the agent sees them, one or a batch: vectors of floats, or pictures of
    bytes (height, width, channels)."""

    def __init__(self, agent: Any, params: dict, vector: Vector, atoms: int):
        super().__init__()
        spec = agent._spec
        self.actions, self.atoms = int(spec.actions.count), atoms
        self.shape = agent._reader.shape or (int(np.prod(spec.obs_shape)),)
        self.form = tuple(spec.obs_shape)
        self.scale = input_scale(spec, params)
        self.convolutions = nn.ModuleList()
        hidden = list(params["hidden"])
        inputs = int(np.prod(spec.obs_shape))
        if params.get("net") == "nature":
            height, width, channels = spec.obs_shape
            for outputs, kernel, stride in CONVOLUTIONS:
                self.convolutions.append(vector.convolution(channels, outputs, kernel, stride))
                height, width, channels = (height - kernel) // stride + 1, (width - kernel) // stride + 1, outputs
            inputs, hidden = height * width * channels, hidden or [512]
        self.cosines = int(params.get("cosines", 0))
        self.taus = int(params.get("taus_act", 0))
        below = (0 if self.convolutions else max(1, len(hidden) - 1)) if self.cosines else -1
        self.lower, self.upper = nn.ModuleList(), nn.ModuleList()
        self.embedding = vector.dense(self.cosines, inputs) if below == 0 else None
        for i, outputs in enumerate(hidden):
            (self.lower if i < below or below < 0 else self.upper).append(vector.dense(inputs, outputs))
            inputs = outputs
            if i + 1 == below:
                self.embedding = vector.dense(self.cosines, inputs)
        self.output = vector.dense(inputs, self.actions * atoms, bool(params.get("shared_bias", False)))
        if "v_min" in params:
            self.register_buffer("support", torch.linspace(params["v_min"], params["v_max"], atoms))

    def forward(self, observations: Tensor) -> Tensor:
        single = observations.dim() == len(self.shape)
        x = observations.reshape(-1, *self.form).to(self.output.weight.dtype) * self.scale
        if self.convolutions:
            x = x.permute(0, 3, 1, 2)
            for convolution in self.convolutions:
                x = torch.relu(convolution(x))
            x = x.permute(0, 2, 3, 1)
        x = x.flatten(1)
        for layer in self.lower:
            x = torch.relu(layer(x))
        if self.embedding is not None:
            x = x[:, None, :] * self.embed(x.device)
        for layer in self.upper:
            x = torch.relu(layer(x))
        q = self.mean(self.output(x))
        return q[0] if single else q

    def embed(self, device: Any) -> Tensor:
        """(taus x units): at the midpoints of equal parts."""
        tau = (torch.arange(self.taus, device=device) + 0.5) / self.taus
        i = torch.arange(1, self.cosines + 1, device=device)
        return torch.relu(self.embedding(torch.cos(math.pi * i * tau[:, None])))  # type: ignore[misc]

    def mean(self, outputs: Tensor) -> Tensor:
        """Q of what the network gives: itself, a distribution over the support, or quantiles."""
        if self.embedding is not None:
            return outputs.mean(1)
        if self.atoms == 1:
            return outputs
        outputs = outputs.reshape(len(outputs), self.actions, self.atoms)
        return (outputs.softmax(-1) * self.support).sum(-1) if hasattr(self, "support") else outputs.mean(-1)


def input_scale(spec: Any, params: dict) -> float:
    if spec.obs_kind == BYTES and params.get("scale_input") == "true":
        return 1 / 255
    if spec.obs_form == ONE_HOT and params.get("one_hot_gain", 0) > 0:
        return float(params["one_hot_gain"]) * math.sqrt(spec.obs_shape[0])
    return 1.0


def to_torch(agent: Any) -> QNetwork:
    params, arrays = agent.params, dict(agent._views(readonly=True))
    name = agent._entry.name
    if "hidden" not in params or "replay" not in params:
        raise UsageError(f"{name} has no network that to_torch() knows; parameters() and arrays() have its numbers")
    if name == "bootstrapped-dqn" or agent._staged:
        raise UsageError(f"{name} has several networks here; parameters() has their numbers")
    if params.get("net") not in ("mlp", "nature") or params.get("layer_norm") or params.get("dueling"):
        raise UsageError(f"to_torch() does not know this network of {name} yet; parameters() has its numbers")
    if params.get("normalize_obs") or params.get("scale_input") == "channels":
        raise UsageError(
            f"{name} maps its inputs by running statistics (normalize_obs, or scale_input='channels'), which to_torch() "
            "cannot do yet; arrays() has their numbers"
        )
    vector = Vector(arrays["w_mean"] if "w_mean" in arrays else arrays["w"])  # what evaluations use
    module = QNetwork(agent, params, vector, int(params.get("atoms", params.get("quantiles", 1))))
    whole: List[int] = [vector.at, 2 * vector.at]  # noisynet-dqn: the means, then the deviations
    if vector.values.size not in (whole if name == "noisynet-dqn" else whole[:1]):
        raise UsageError(f"the network of {name} is not laid out as to_torch() expects")
    return module.eval()

