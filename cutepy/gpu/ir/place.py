"""Where in the user's kernel something was written, for error messages."""

import sys
from contextvars import ContextVar
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[2])

#: The file of the kernel that is being traced: its lines count as the user's, also inside this package.
KERNEL_FILE: ContextVar[str] = ContextVar("kernel_file", default="")


def user_place() -> str:
    """`file:line` of the innermost call that the user wrote."""
    kernel_file = KERNEL_FILE.get()
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if filename == kernel_file or not filename.startswith(_PACKAGE):
            return f"{Path(filename).name}:{frame.f_lineno}"
        if frame.f_back is None:
            break
        frame = frame.f_back
    return "kernel"
