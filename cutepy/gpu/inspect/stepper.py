"""One workgroup of a kernel, step by step: it runs up to each barrier and stops there, with its memory to look at."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Semaphore, Thread

import numpy as np

from ...errors import KernelError, NotationError
from ...layout import Layout
from ...layout.text.parse import parse_layout
from ...layout.values.composed import AnyLayout
from ...layout.values.methods import ReprIsStr
from ...tensor import Tensor, ViewEngine, as_dtype
from ..ir import AddressSpace, Barrier, Buffer, Kernel, Var
from ..ir.laws import Array
from ..targets.interpreter import interpret
from ..targets.interpreter_memory import InterpreterState, Watch


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Step(ReprIsStr):
    """A workgroup at a barrier, or at its end: where (`place`), which threads come there, and what memory holds.

    `shared` has the shared tensors by name, in their layouts, `registers` what each name and each private array holds:
    a tensor over the threads, of arrays with their elements first. Shared memory that was not written is NaN, or
    0xDEADBEEF.
    """

    number: int
    place: str
    workgroup: tuple[int, int, int]
    threads: tuple[int, ...]
    shared: Mapping[str, Tensor]
    registers: Mapping[str, Tensor]

    def thread(self, number: int) -> dict[str, object]:
        """What one thread holds: a number for each name, a list for each private array."""
        return {name: np.asarray(tensor)[..., number].tolist() for name, tensor in self.registers.items()}

    def __str__(self) -> str:
        lines = [f"step {self.number}, {self.place}: {len(self.threads)} threads of workgroup {self.workgroup}"]
        lines += [f"  shared {name} {tensor.layout}" for name, tensor in self.shared.items()]
        return "\n".join([*lines, f"  registers {', '.join(self.registers)}"] if self.registers else lines)


def steps(
    kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], workgroup: tuple[int, int, int]
) -> Iterator[Step]:
    """Run one workgroup of `kernel`, each time up to the next barrier; the last step is the end.

    Raises KernelError for a workgroup outside the grid, and where the interpreter does.
    """
    if not all(0 <= at < size for at, size in zip(workgroup, kernel.grid, strict=True)):
        raise KernelError(f"{kernel.name}.steps(workgroup={workgroup}): the grid has {kernel.grid} workgroups")
    return _steps(kernel, arrays, params, workgroup)


def _steps(
    kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], workgroup: tuple[int, int, int]
) -> Iterator[Step]:
    x, y, z = workgroup
    watch = _Stepper()

    # The interpreter runs in a thread; the semaphore lets it go on to the next barrier, the queue carries the steps
    # back.
    def work() -> None:
        try:
            watch.go.acquire()
            interpret(kernel, arrays, params, watch=watch, only=x + kernel.grid[0] * (y + kernel.grid[1] * z))
            watch.steps.put(watch.step("the end"))
            watch.steps.put(None)
        except Exception as error:  # the interpreter runs in a thread of its own; its errors belong to the caller
            watch.steps.put(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            watch.go.release()
            step = watch.steps.get()
            if isinstance(step, Exception):
                raise step
            if step is None:
                return
            yield step
    finally:
        # The generator was closed: the interpreter's thread is ended at its barrier.
        watch.left = True
        watch.go.release()
        thread.join()


class _Left(Exception):
    """The caller asks for no further step."""


class _Stepper(Watch):
    """Waits at each barrier until the next step is asked for."""

    def __init__(self) -> None:
        self.go, self.steps = Semaphore(0), SimpleQueue[Step | Exception | None]()
        self.left = False
        self.count = 0

    def begin(self, s: InterpreterState) -> None:
        self.state = s

    def barrier(self, s: InterpreterState, stmt: Barrier) -> None:
        self.steps.put(self.step(stmt.place))
        self.go.acquire()
        if self.left:
            raise _Left

    def step(self, place: str) -> Step:
        s, count = self.state, self.count
        self.count += 1
        # Copies: the run goes on after the step.
        shared, registers = {}, {}
        for buffer, array in s.arrays.items():
            if buffer.space == AddressSpace.WORKGROUP:
                shared[buffer.name] = Tensor(
                    ViewEngine(array[0].copy(), buffer.dtype, name=buffer.name), _layout(buffer)
                )
            elif buffer.space == AddressSpace.PRIVATE:
                registers[buffer.name] = _over_threads(buffer.name, array[: buffer.length, 0])
        for name, value in s.values.items():
            if isinstance(name, Var):
                # A uniform value is broadcast over the threads.
                shape = (name.lanes, *s.shape) if name.lanes > 1 else s.shape
                registers[name.name] = _over_threads(name.name, np.broadcast_to(value, shape)[..., 0, :])
        threads = tuple(np.flatnonzero(s.everyone[0]).tolist())
        return Step(count, place, s.workgroup(0), threads, shared, registers)


def _layout(buffer: Buffer) -> AnyLayout:
    """How shared memory is laid out, where its note says so."""
    layout: AnyLayout = Layout(buffer.length)
    with suppress(NotationError):
        layout = parse_layout(buffer.note)
    return layout


def _over_threads(name: str, values: Array) -> Tensor:
    """A table of values, the threads last, as a tensor; an array of one element has no mode for it."""
    values = values[0] if values.ndim == 2 and len(values) == 1 else values
    layout = parse_layout(f"({','.join(map(str, values.shape))})")
    memory = np.ascontiguousarray(values.reshape(-1, order="F"))
    return Tensor(ViewEngine(memory, as_dtype(memory.dtype), name=name), layout)
