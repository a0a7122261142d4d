"""`@kernel`: a Python function over tensors becomes a GPU kernel, traced once for each combination of layouts.

Positional arguments vary: tensors become bindings, numbers become parameters in the uniform buffer. Keyword-only
arguments are static: Python values that the trace may branch on. What was traced is kept by the layouts, the types and
the static values.
"""

import inspect
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import update_wrapper

from ...errors import KernelError
from ...tensor.engine import ALLOCATOR
from ...tensor.tensor import Tensor
from ..compile import compile_kernel
from ..interpret import interpret
from ..ir import Buffer, Expr, Kernel, new_arena, param
from ..ir.place import KERNEL_FILE
from ..lower import finish, lower
from ..report import Hardware, Report, report
from ..runtime import default_device
from ..runtime.program import Limits, Program
from ..verify import CHECKS, Verification, needs_checks, verify
from ..wgsl import Dialect, print_wgsl
from .arguments import Call, bind_call
from .blame import check_limits, naming
from .claims import aliases, limits_of
from .engine import BufferEngine
from .language import allocate
from .launching import device_of, launch_on_device, quick_key, run_on_host
from .state import _TRACE, Trace

#: Traced forms that one kernel keeps; the one used longest ago goes first.
KEPT = 128


@dataclass(slots=True)
class Traced:
    """One traced form of a kernel, with its program, and what has been proven about it."""

    kernel: Kernel
    program: Program
    places: Mapping[str, str]
    proven: Program | None = None
    verified: dict[object, Verification] = field(default_factory=dict)

    def runnable(self, checks: object) -> Program:
        """What is launched: without run-time checks where the kernel is proven not to need them."""
        if checks not in CHECKS:
            raise KernelError(f"{self.kernel.name}(checks={checks!r}): there are {' and '.join(map(repr, CHECKS))}")
        if checks == "always":
            return self.program
        if self.proven is None:
            self.proven = replace(self.program, checked=needs_checks(self.kernel))
        return self.proven


class KernelFunction:
    """A kernel that can be run, printed and interpreted; `@kernel` makes it.

    `k(A, B, ..., static=...)` runs it on the device of its tensors, or, for arrays of the host, on the default device
    with the results copied back. `.interpret(...)` runs it on host arrays without a device, `.wgsl(...)` is its text,
    `.ir(...)` its IR, `.program(...)` what a runtime takes, `.verify(...)` what is proven about it.

    A kernel that is proven in bounds, with bounded loops, runs without the runtime's checks of both; `checks="always"`
    keeps them.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function
        self.signature = inspect.signature(function)
        self.file = function.__code__.co_filename
        self._traced: OrderedDict[Hashable, Traced] = OrderedDict()
        self._quick: dict[Hashable, Program] = {}
        update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<kernel {self.function.__name__}{self.signature}>"

    def __call__(self, *args: object, checks: object = "auto", **static: object) -> None:
        quick = quick_key(args, static)
        program = self._quick.get((quick.key, checks)) if quick is not None else None
        if quick is not None and program is not None:
            quick.device.launch(program, quick.buffers, quick.params)
            return
        with self._naming():
            traced = self._form(call := self._bind(args, static))
            program = traced.runnable(checks)
            device = device_of(call)
        device = device or default_device()
        with self._naming():
            check_limits(program, traced.kernel, traced.places, device.limits, device.features, device.adapter.name)
            launch_on_device(program, call, device)
        if quick is not None:
            if len(self._quick) >= KEPT:
                self._quick.clear()
            self._quick[quick.key, checks] = program

    def interpret(self, *args: object, **static: object) -> None:
        """Run the kernel in NumPy on arrays of the host, in place."""
        call = self._bind(args, static)
        traced = self._form(call)
        run_on_host(call, lambda arrays, params: interpret(traced.kernel, arrays, params))

    def ir(self, *args: object, **static: object) -> Kernel:
        """The kernel's IR for these arguments."""
        return self._form(self._bind(args, static)).kernel

    def program(self, *args: object, checks: object = "auto", **static: object) -> Program:
        """What a runtime takes: the source and what it needs of a device."""
        return self._form(self._bind(args, static)).runnable(checks)

    def verify(self, *args: object, limits: Limits | None = None, **static: object) -> Verification:
        """What is proven, refuted or undecided about the kernel for these arguments, whatever their contents.

        `limits` are a device's: by default those of the device of the tensors, or what every WebGPU device can.
        """
        call = self._bind(args, static)
        traced = self._form(call)
        key = limits if limits is not None else limits_of(call), aliases(call, traced.kernel)
        if key not in traced.verified:
            traced.verified[key] = verify(traced.kernel, key[0], aliases=key[1])
        return traced.verified[key]

    def report(
        self, *args: object, subgroup: int = 32, banks: int = 32, segment_bytes: int = 32, **static: object
    ) -> Report:
        """What the kernel asks of memory and arithmetic here: bytes, transactions, bank conflicts, operations.

        The figures are for subgroups of that many threads, memory segments of that many bytes, and workgroup memory in
        that many banks of 4 bytes.
        """
        return report(self._form(self._bind(args, static)).kernel, Hardware(subgroup, banks, segment_bytes))

    def wgsl(self, *args: object, dialect: Dialect = "naga", **static: object) -> str:
        """The WGSL text for these arguments, for naga or for Tint."""
        traced = self._form(self._bind(args, static))
        if dialect == "naga":
            return traced.program.wgsl
        with new_arena():
            return print_wgsl(lower(traced.kernel), dialect)

    def _naming(self) -> AbstractContextManager[None]:
        """Errors that name no line of the kernel name that of its definition."""
        return naming(self.file, self.function.__code__.co_firstlineno)

    def _bind(self, args: tuple[object, ...], static: dict[str, object]) -> Call:
        with self._naming():
            return bind_call(self.function, self.signature, args, static)

    def _form(self, call: Call) -> Traced:
        found = self._traced.get(call.key)
        if found is None:
            found = self._traced[call.key] = copy_context().run(self._trace, call)
            if len(self._traced) > KEPT:
                self._traced.popitem(last=False)
        else:
            self._traced.move_to_end(call.key)
        return found

    def _trace(self, call: Call) -> Traced:
        """Run the function over tensors of the kernel. In a context of its own: nothing set here lives on."""
        trace = Trace(self.function.__name__)
        _TRACE.set(trace)
        KERNEL_FILE.set(self.file)
        ALLOCATOR.set(lambda dtype, length, space, name: allocate(trace, dtype, length, name))
        with new_arena() as arena:
            arena.name = trace.name_deep
            values = _stand_ins(trace, call)
            trace.notes += [f"{name} {_one_line(value)}" for name, value in call.static.items()]
            with naming(self.file, self.function.__code__.co_firstlineno, inside=True):
                self.function(*values, **call.static)
            if trace.error is not None:
                raise trace.error
            arena.name = None
            kernel = finish(
                Kernel(
                    trace.name,
                    tuple(trace.buffers),
                    trace.body(),
                    trace.grid,
                    trace.launched("the launch"),
                    tuple(trace.local),
                    tuple(trace.params),
                    tuple(trace.notes),
                )
            )
            return Traced(kernel, compile_kernel(kernel), trace.places)


def _one_line(value: object) -> str:
    """A static argument as a comment can hold it: the same in every process, in one line."""
    text = getattr(value, "__name__", None) or str(value)
    text = " ".join(text.split())
    if " at 0x" in text:
        return type(value).__name__
    return text if len(text) <= 160 else f"{text[:150]}..."


def _stand_ins(trace: Trace, call: Call) -> list[Tensor | Expr]:
    """What the kernel's function gets for each positional argument."""
    values: list[Tensor | Expr] = []
    arrays: dict[int, Buffer] = {}
    for argument in call.arguments:
        if argument.tensor is None:
            stand_in = param(argument.name, argument.dtype)
            trace.params.append(stand_in)
            values.append(stand_in)
            continue
        buffer = arrays.get(argument.slot)
        if buffer is None:
            buffer = Buffer(argument.name, argument.dtype, argument.length, note=str(argument.tensor.layout))
            arrays[argument.slot] = buffer
            trace.buffers.append(buffer)
        trace.notes.append(f"{argument.name} {argument.dtype} {argument.tensor.layout}")
        engine = BufferEngine(trace, buffer, argument.writable)
        values.append(Tensor(engine, argument.tensor.layout, argument.offset, argument.tensor.guard))
    return values


def kernel(function: Callable[..., None]) -> KernelFunction:
    """Make a GPU kernel of a function over tensors.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> from cutepy.tensor import axpby, local_partition, local_tile
    >>> @gpu.kernel
    ... def saxpy(a, x, y):
    ...     gpu.launch(grid=-(-x.size // 256), threads=64)
    ...     tiles = [local_tile(t, (256,), (gpu.workgroup.x,)) for t in (x, y)]
    ...     mine = [local_partition(t, (64,)) for t in tiles]
    ...     axpby(a, mine[0], 1, mine[1])
    >>> x, y = np.ones(1000, np.float32), np.ones(1000, np.float32)
    >>> saxpy.interpret(2.0, x, y)
    >>> y[:3].tolist(), y[-1].item()
    ([3.0, 3.0, 3.0], 3.0)
    """
    return KernelFunction(function)
