"""One run of a trial: it advances to a rung, resumes exactly where it stopped, and leaves the records of a sweep."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import threading
import warnings
from typing import Optional

import langevin
from langevin import _library as library
from langevin._library import CSummary, Handle, Interrupted, lib
from langevin._records import kernels_of

SLICE = 256  # steps between looks at whether to stop


class Run:
    """One seed of a trial, resumed where it stopped."""

    def __init__(self, plan: Handle, seed: int, directory: str):
        self.directory, self.summary = directory, CSummary()
        self.handle: Optional[Handle] = None
        if os.path.exists(os.path.join(directory, "summary.json")):
            library.call("lgv_summary_load", library.encode_path(directory), ctypes.byref(self.summary))
        if not self.summary.finished:
            _drop_foreign(plan, directory)
            path = library.encode_path(directory)
            self.handle = library.create("lgv_run_resume", "lgv_run_free", plan.pointer, seed, path, keeps=(plan,))
            lib.lgv_run_summary(self.handle.pointer, ctypes.byref(self.summary))
            self.keeps_checkpoint = library.text_of("lgv_plan_get", plan.pointer, "run.checkpoint_final") == "true"

    def advance(self, unit: str, target: float, stop: threading.Event) -> None:
        """Until it has taken `target` steps or episodes, or has finished. It stops at multiples of SLICE steps, whatever
        step it was resumed at, so that its place at a rung never depends on interruptions."""
        done = ctypes.c_bool()
        while not self.summary.finished and getattr(self.summary, unit) < target:
            if stop.is_set():
                raise Interrupted("stopped; the same command resumes the study")
            count = SLICE - self.summary.steps % SLICE
            if unit == "steps":
                count = int(min(count, target - self.summary.steps))
            assert self.handle is not None
            library.call("lgv_run_advance", self.handle.pointer, count, ctypes.byref(done))
            lib.lgv_run_summary(self.handle.pointer, ctypes.byref(self.summary))

    def checkpoint(self) -> None:
        assert self.handle is not None
        library.call("lgv_run_checkpoint", self.handle.pointer)

    def close(self) -> None:
        """Writes summary.json. Only an unfinished run keeps its checkpoints, unless the file asks for them."""
        if self.handle is None:
            return
        if not self.summary.finished:
            self.checkpoint()
        library.call("lgv_run_finish", self.handle.pointer)
        self.handle = None
        if self.summary.finished:
            names = ["checkpoint-previous"] if self.keeps_checkpoint else ["checkpoint-previous", "checkpoint"]
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.directory, f"{name}.safetensors"))


def _drop_foreign(plan: Handle, directory: str) -> None:
    """An unfinished run of another version or kernel set cannot be resumed exactly: it starts again."""
    mine = {"version": langevin.__version__, "kernels": kernels_of("lgv_plan_get", plan.pointer)}
    try:
        with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
            maker = json.load(file)["langevin"]
        theirs = {key: maker[key] for key in mine}
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return
    if theirs != mine:
        warnings.warn(f"{directory} was begun by langevin {theirs['version']} with the kernels {theirs['kernels']}; "
                      "it starts again", stacklevel=2)  # fmt: skip
        shutil.rmtree(directory)
