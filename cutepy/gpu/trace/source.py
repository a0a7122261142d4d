"""What the user's source says of what is running: the line that an error is about, the name of what is being made."""

import linecache
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from traceback import extract_tb, walk_tb
from types import CodeType, TracebackType

from ...errors import CutepyError, DeviceError, KernelError
from ..ir import AddressSpace, Expr, Kernel, TracedValueError
from ..ir.place import is_foreign, place_of, user_frame
from ..runtime.program import Limits, Program
from .bytecode import instructions
from .hook_functions import item
from .hooks import ASSIGNED
from .python_state import is_users_file
from .rewrite_source import unread
from .statements import UnreadBlockError

_STORES = "STORE_FAST", "STORE_NAME", "STORE_DEREF", "STORE_GLOBAL"
TENSOR_MEANT = "is a tensor meant?"
ELSEWHERE = {
    "blockIdx": "gpu.workgroup",
    "threadIdx": "gpu.thread",
    "blockDim": "the number that gpu.launch(threads=...) says",
    "gridDim": "the numbers that gpu.launch(grid=...) says",
    "__syncthreads": "gpu.barrier()",
    "tl": "gpu, and gpu.workgroup is program_id",
}
"""What CUDA's and Triton's names are here."""


@contextmanager
def naming(file: str, line: int, *, inside: bool = False) -> Iterator[None]:
    """Begin the message of an error with a line of `file`, where it names none: `line`, or, of errors that are raised
    `inside` the user's function, the one that was running. A call that Python refuses there is a KernelError too."""
    try:
        yield
    except CutepyError as error:
        place = _place(error, file, line, inside)
        if isinstance(error, TracedValueError | UnreadBlockError) and (why := _unread_by(error)):
            error.args = (f"{place}: {why}: {str(error).removeprefix(place).removeprefix(': ')}", *error.args[1:])
        if place_of(file, 0).removesuffix("0") not in str(error):
            error.args = (f"{place}: {error}", *error.args[1:])
        raise
    except RecursionError as error:
        if not inside:
            raise
        raise KernelError(f"{_place(error, file, line, inside)}: functions call one another without an end") from error
    except (TypeError, AttributeError, ValueError, LookupError, ArithmeticError) as error:
        told = _of_a_number(error)
        if not inside or not (told or _is_misuse(error, file) or _is_an_operation(error)):
            raise
        place = _place(error, file, line, inside)
        raise KernelError(f"{place}: {told or f'{type(error).__name__}: {error}'}") from error


def _unread_by(error: Exception) -> str:
    """Why the text of the innermost function that was running was not read, if it was not."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    return next((why for frame in reversed(frames) if (why := unread(frame.f_code))), "")


def _is_an_operation(error: Exception) -> bool:
    """Whether Python raised an error at an operation of the user's, and not a `raise` of the user's own."""
    trail = _operation(error)
    assert trail is not None, "it was raised"
    code = trail.tb_frame.f_code
    step = next(instructions(code, trail.tb_lasti), None)
    return is_users_file(code.co_filename) and (step is None or step.name not in ("RAISE_VARARGS", "RERAISE"))


def _operation(error: Exception) -> TracebackType | None:
    """Where an error was raised: in the innermost frame; a subscript of a kernel is in the frame that calls `item`."""
    trail = error.__traceback__
    while trail is not None and trail.tb_next is not None and trail.tb_next.tb_frame.f_code is not item.__code__:
        trail = trail.tb_next
    return trail


def _operands(error: Exception) -> list[tuple[str, object]]:
    """The variables, with their values, in the text of the operation at which an error was raised; of an argument of
    the function it is said that it is one."""
    trail = _operation(error)
    if trail is None:
        return []
    frame = trail.tb_frame
    line, end, first, last = next(islice(frame.f_code.co_positions(), trail.tb_lasti // 2, None), (None,) * 4)
    if line is None or line != end:
        return []
    text = linecache.getline(frame.f_code.co_filename, line).encode()[first:last].decode(errors="ignore")
    scope = {**frame.f_globals, **frame.f_locals}
    names = dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z_]\w*", text))
    arguments = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    return [(f"argument {name}" if name in arguments else name, scope[name]) for name in names if name in scope]


def _of_a_number(error: Exception) -> str:
    """What Python says of an expression where it takes a tensor or an object; "" where it speaks of something else."""
    message = str(error)
    if message.startswith("only integers, slices (`:`)"):
        return (
            "an array of NumPy's cannot be read at an index that is known only on the GPU; give it to the kernel as an "
            "argument, or the numbers of a table as a tuple, tuple(T.tolist())"
        )
    if message.endswith("'Tensor' has no len()"):
        return "a tensor has no len(); size(x) counts its elements, size(x, 0) those along the first mode"
    kinds: list[type] = [Expr]
    for kind in kinds:
        kinds += kind.__subclasses__()
    match = re.match(r"(?:object of type )?'(\w+)' (?:object )?", message)
    if match is None or match[1] not in {kind.__name__ for kind in kinds}:
        return ""
    said = f"{message[match.end() :]}; {TENSOR_MEANT}"
    named = next((name for name, value in _operands(error) if type(value).__name__ == match[1]), "")
    number = "a number that is known only on the GPU"
    return f"{named} is {number}, and {said}" if named else f"{number} {said}"


def _place(error: Exception, file: str, line: int, inside: bool) -> str:
    lines = [entry.lineno for entry in extract_tb(error.__traceback__) if entry.filename == file] if inside else []
    return place_of(file, (lines[-1] if lines else None) or line)


def _is_misuse(error: Exception, file: str) -> bool:
    """Whether the error came of calling what is not the user's own: it was raised there, or by Python at the call."""
    files = [entry.filename for entry in extract_tb(error.__traceback__)]
    called = files[len(files) - files[::-1].index(file) :] if file in files else []
    refused = re.match(r"[\w.<>]+\(\) (missing|takes|got)|dispatcher for", str(error)) is not None
    return refused or any(is_foreign(name, file) for name in called)


def unbound(error: NameError, lost: Mapping[tuple[CodeType, str], str]) -> str:
    """Why a name of the user's is not bound, with the line of its use, where a block of the kernel is the reason or the
    name is another language's; "" where that is not so."""
    name = re.search(r"'([\w.]+)'", str(error))
    for frame, line in reversed(list(walk_tb(error.__traceback__))):
        for (code, known), why in lost.items():
            inner = code is frame.f_code or known in frame.f_code.co_freevars
            if name is not None and known == name[1] and inner:
                return f"{place_of(frame.f_code.co_filename, line)}: {why}; bind it before the block, to what it holds"
        if error.name in ELSEWHERE:
            return f"{place_of(frame.f_code.co_filename, line)}: {error.name} is {ELSEWHERE[error.name]} here"
    return ""


def check_limits(
    program: Program, kernel: Kernel, places: Mapping[str, str], limits: Limits, features: frozenset[str], device: str
) -> None:
    """Raise DeviceError where a device cannot run the program, naming the line that asks for too much.

    `places` are those of the launch ("") and of each shared array.
    """
    try:
        program.check(limits, features, device)
    except DeviceError as error:
        shared = [b for b in kernel.local if b.space == AddressSpace.WORKGROUP]
        place = ""
        if program.shared_bytes > limits.workgroup_bytes and shared:
            largest = max(shared, key=lambda b: b.length * b.dtype.bytes)
            place = places.get(largest.name, "")
        elif kernel.threads > limits.invocations or any(
            size > most for size, most in zip(kernel.workgroup, limits.workgroup_size, strict=True)
        ):
            place = places.get("", "")
        raise DeviceError(f"{place}: {error}" if place else str(error)) from None


def assigned_name(default: str) -> str:
    """The variable to which the user's line gives the value being made, `default` where it does something else."""
    frame = user_frame(sys._getframe(1))
    if frame is None:
        return default
    code, last = frame.f_code, frame.f_lasti
    place = next(islice(code.co_positions(), last // 2, None), ())
    known = ASSIGNED.get((code.co_filename, *place))
    if known is None:  # at a prompt there is no text to read: the next instruction puts the value somewhere
        step = next(instructions(code, last + 2), None)
        known = str(step.meant) if step and step.name.startswith(_STORES) else default
    return known
