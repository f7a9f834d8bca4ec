"""Agents as ONNX files, by way of their torch module (_torch.py)."""

from __future__ import annotations

import io
import os
import warnings
from typing import Any

from langevin._library import BYTES, UsageError

try:
    import onnx  # noqa: F401  torch needs it to write the file
except ModuleNotFoundError as missing:
    raise ImportError("to_onnx() needs the packages torch and onnx: pip install torch onnx") from missing


def to_onnx(agent: Any, path: Any) -> None:
    import torch

    from langevin._torch import QEnsemble, QNetwork, to_torch

    module = to_torch(agent)
    if not isinstance(module, (QEnsemble, QNetwork)):
        raise UsageError(f"{agent._entry.name} depends on the stage: ONNX files hold agents with one network for all stages")
    kind = torch.uint8 if agent._spec.obs_kind == BYTES else torch.float32
    examples = {"observation": torch.zeros((2, *module.inputs.shape), dtype=kind)}
    if module.inputs.vector:
        examples["vector"] = torch.zeros((2, module.inputs.vector))
    file: Any = io.BytesIO()  # the types of torch allow paths alone
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter that traces needs no further package; it warns of checks of shapes
        torch.onnx.export(
            module,
            tuple(examples.values()),
            file,
            dynamo=False,
            input_names=list(examples),
            output_names=["q"],
            dynamic_axes={name: {0: "n"} for name in (*examples, "q")},
        )
    with open(os.fspath(path), "wb") as target:
        target.write(file.getvalue())
