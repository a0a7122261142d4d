"""Where in the user's kernel something was written, for error messages."""

import sys
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from types import FrameType

_PACKAGE = str(Path(__file__).parents[2])

#: The file of the kernel that is being traced: its lines count as the user's, also inside this package.
KERNEL_FILE: ContextVar[str] = ContextVar("kernel_file", default="")


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame, from `frame` outwards, that runs the user's own code."""
    kernel_file = KERNEL_FILE.get()
    while frame is not None:
        filename = frame.f_code.co_filename
        if filename == kernel_file or not filename.startswith(_PACKAGE):
            return frame
        frame = frame.f_back
    return None


def user_place() -> str:
    """`file:line` of the innermost call that the user wrote."""
    frame = user_frame(sys._getframe(1))
    return "kernel" if frame is None else f"{_file_name(frame.f_code.co_filename)}:{frame.f_lineno}"


@lru_cache(maxsize=256)
def _file_name(path: str) -> str:
    return Path(path).name
