"""Where in the user's kernel something was written, for error messages."""

import sys
import sysconfig
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from types import FrameType

_PACKAGE = str(Path(__file__).parents[2])
_NOT_USER = (_PACKAGE, *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))

#: The file of the kernel that is being traced: its lines count as the user's, also inside this package.
KERNEL_FILE: ContextVar[str] = ContextVar("kernel_file", default="")


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame, from `frame` outwards, that runs the user's own code."""
    kernel_file = KERNEL_FILE.get()
    while frame is not None and is_foreign(frame.f_code.co_filename, kernel_file):
        frame = frame.f_back
    return frame


def is_foreign(filename: str, kernel_file: str) -> bool:
    """Whether code of this file is not the user's, whose kernel is in another."""
    return filename != kernel_file and filename.startswith(_NOT_USER)


def user_place() -> str:
    """`file:line` of the innermost call that the user wrote."""
    frame = user_frame(sys._getframe(1))
    return "kernel" if frame is None else place_of(frame.f_code.co_filename, frame.f_lineno)


def place_of(path: str, line: int) -> str:
    """How a place is written."""
    return f"{_file_name(path)}:{line}"


@lru_cache(maxsize=256)
def _file_name(path: str) -> str:
    return Path(path).name
