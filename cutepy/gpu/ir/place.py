"""Source locations in the user's kernel (`file:line`, called places), and what to write there, for error messages.

The text of what is running is read from the user's source by the positions that Python keeps for its byte code.
"""

import ast
import linecache
import sys
import sysconfig
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import FrameType

from ...tensor.functions import NAMED

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


@lru_cache(maxsize=1024)
def is_foreign(filename: str, kernel_file: str) -> bool:
    """Whether this file holds library code, and not the kernel itself."""
    return filename != kernel_file and filename.startswith(_NOT_USER)


def user_place() -> str:
    """`file:line` of the innermost call that the user wrote."""
    frame = user_frame(sys._getframe(1))
    return "kernel" if frame is None else place_of(frame.f_code.co_filename, frame.f_lineno)


def caller_place(depth: int = 1) -> str:
    """`file:line` of what called the function that asks, or of the caller `depth` calls further out."""
    frame = sys._getframe(depth + 1)
    return place_of(frame.f_code.co_filename, frame.f_lineno)


@lru_cache(maxsize=4096)
def place_of(path: str, line: int) -> str:
    """A source location as text: `file:line`."""
    return f"{Path(path).name}:{line}"


_BUILTINS = {"max": "maximum", "min": "minimum", "abs": "absolute", "round": "round", "pow": "power"}


def advice() -> str:
    """What to write for the operation that the user's code is in the middle of; "" where there is no such rule."""
    try:
        node = ast.parse(running_text(), mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    return _of_call(node.func) if isinstance(node, ast.Call) else ""


def _of_call(func: ast.expr) -> str:
    match func:
        case ast.Name(id=name) if name in _BUILTINS:
            return f"write gpu.{_BUILTINS[name]}"
        case ast.Attribute(value=ast.Name(id="math" | "np" | "numpy"), attr=name):
            return f"write gpu.{NAMED[name].in_kernels}" if name in NAMED else f"kernels have no {ast.unparse(func)}"
        case ast.Name(id="float" | "int" as name):
            return f'write gpu.cast(..., "{"f32" if name == "float" else "i32"}")'
    return ""


def running_text() -> str:
    """The source text that the user's innermost frame executes; "" where there is none."""
    frame = user_frame(sys._getframe(1))
    if frame is None or frame.f_lasti < 0:
        return ""
    first, last, left, right = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    if first is None or last is None or left is None or right is None:
        return ""
    lines = [line.encode() for line in linecache.getlines(frame.f_code.co_filename, frame.f_globals)[first - 1 : last]]
    if not lines:
        return ""
    lines[-1] = lines[-1][:right]
    return b"".join([lines[0][left:], *lines[1:]]).decode(errors="replace").strip()
