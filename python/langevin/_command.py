"""The command line of the package: `langevin`, and `python -m langevin`, run the program that comes with it."""

from __future__ import annotations

import os
import shutil
import sys
from typing import List


def candidates() -> List[str]:
    """Where the program may be: in the package (a wheel), in the build folder of the sources, in the bin folder beside
    share/ (make install)."""
    here = os.path.dirname(os.path.abspath(__file__))
    above = os.path.dirname(os.path.dirname(here))
    prefix = os.path.dirname(os.path.dirname(above))  # PREFIX/share/langevin/python/langevin
    return [
        os.path.join(here, "bin", "langevin"),
        os.path.join(above, "build", "langevin"),
        os.path.join(prefix, "bin", "langevin"),
    ]


def find_ffmpeg() -> None:
    """`langevin watch --video` starts ffmpeg: where the system has none, that of the package imageio-ffmpeg."""
    if any(word.startswith("--video") for word in sys.argv) and not shutil.which("ffmpeg"):
        try:
            import imageio_ffmpeg

            os.environ.setdefault("LANGEVIN_FFMPEG", imageio_ffmpeg.get_ffmpeg_exe())
        except (ImportError, RuntimeError):
            pass  # the program says what is missing


def main() -> None:
    named = os.environ.get("LANGEVIN_COMMAND")
    program = next((path for path in ([named] if named else candidates()) if os.access(path, os.X_OK)), None)
    if program is None:
        sys.exit("langevin: the program was not found: install the package with `pip install .`, or build the sources "
                 "with `make build`")  # fmt: skip
    os.environ.setdefault("LANGEVIN_PYTHON", sys.executable)  # for Gymnasium environments
    find_ffmpeg()
    os.execv(program, ["langevin", *sys.argv[1:]])
