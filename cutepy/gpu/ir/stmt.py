"""Statements, buffers and the kernel that holds them."""

from collections.abc import Iterable
from dataclasses import dataclass

from ...tensor.dtypes import DType
from .expr import Expr, Param, Var


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """An array that a kernel reads or writes.

    `space` is "storage" (a binding), "workgroup" (shared by a workgroup) or "private" (registers of one thread);
    `length` counts elements; indices count in units of `width` elements: 1, or 2 or 4 where the array is declared
    over vectors. `atomic` arrays hold atomic<i32> or atomic<u32>. `note` tells a reader the layout.
    """

    name: str
    dtype: DType
    length: int
    space: str = "storage"
    writable: bool = False
    width: int = 1
    atomic: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    """Name a value: it is computed here, once."""

    var: Var
    value: Expr
    place: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Declare:
    """A variable that Assign may change; it starts as `value`, or as 0."""

    var: Var
    value: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Assign:
    """Set a declared variable, or its lane `lane`."""

    var: Var
    value: Expr
    lane: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """Write the lanes of `value` to elements [index * buffer.width, + lanes) of `buffer`."""

    buffer: Buffer
    index: Expr
    value: Expr
    place: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Atomic:
    """`op` (Add Sub Min Max And Or Xor Exchange) on one element, atomically; `result` takes the old value."""

    op: str
    buffer: Buffer
    index: Expr
    value: Expr
    result: Var | None = None
    place: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """Run `then` in the invocations where `condition` holds, `orelse` in the others."""

    condition: Expr
    then: "tuple[Stmt, ...]"
    orelse: "tuple[Stmt, ...]" = ()
    place: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """`for (var = start; var < stop; var += step)`: a loop that stays a loop."""

    var: Var
    start: Expr
    stop: Expr
    step: Expr
    body: "tuple[Stmt, ...]"
    place: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Barrier:
    """Wait for the whole workgroup; `storage` orders its accesses to bindings, else those to workgroup memory."""

    storage: bool = False
    place: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Comment:
    """A line for the reader."""

    text: str


Stmt = Let | Declare | Assign | Store | Atomic | If | For | Barrier | Comment
Block = tuple[Stmt, ...]


def workgroup_bytes(arrays: Iterable[int]) -> int:
    """Bytes of workgroup memory that arrays of so many bytes take: WebGPU counts each in whole blocks of 16.

    >>> workgroup_bytes([4, 16380]), workgroup_bytes([18])
    (16400, 32)
    """
    return sum(-(-nbytes // 16) * 16 for nbytes in arrays)


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A compute kernel: what it binds, what it allocates, how it is launched, what each invocation does.

    `buffers` are the bindings in order, `local` the workgroup and private arrays, `notes` the header lines.
    """

    name: str
    buffers: tuple[Buffer, ...]
    body: Block
    grid: tuple[int, int, int] = (1, 1, 1)
    workgroup: tuple[int, int, int] = (64, 1, 1)
    local: tuple[Buffer, ...] = ()
    params: tuple[Param, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def threads(self) -> int:
        """Invocations in a workgroup."""
        x, y, z = self.workgroup
        return x * y * z

    @property
    def shared_bytes(self) -> int:
        """Bytes of workgroup memory."""
        return workgroup_bytes(b.length * b.dtype.bytes for b in self.local if b.space == "workgroup")
