"""Statements, buffers and the kernel that holds them."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from operator import attrgetter
from typing import ClassVar

from ...frozen import dataclass
from ...layout.affine import Affine
from ...tensor.dtypes import DType
from .expr import Expr, Param, Var, keep
from .operators import Number


class AddressSpace(StrEnum):
    """Where an array is: a binding, memory that a workgroup shares, registers of one thread, or the text itself."""

    STORAGE = "storage"
    WORKGROUP = "workgroup"
    PRIVATE = "private"
    CONSTANT = "constant"


class Verb(StrEnum):
    """What an access does to elements; an atomic updates them."""

    READS = "reads"
    WRITES = "writes"
    UPDATES = "updates"


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """An array that a kernel reads or writes.

    `length` counts elements; indices count in units of `width` elements: 1, or 2 or 4 where the array is declared
    over vectors. `atomic` arrays hold atomic<i32> or atomic<u32>. `note` tells a reader the layout. A binding that is
    only read and `in_order` is declared `read_write`: drivers then leave its loads where the text has them.

    An array of unknown length has a `shape`: extents, numbers or made of parameters. Each access of it begins its
    coordinates with those of its elements in that shape, lane by lane; the host sees that all of the shape is inside.
    A constant array holds its `values`.
    """

    name: str
    dtype: DType
    length: int
    space: AddressSpace = AddressSpace.STORAGE
    writable: bool = False
    width: int = 1
    atomic: bool = False
    note: str = ""
    shape: tuple[int | Expr, ...] = ()
    in_order: bool = False
    values: tuple[Number, ...] = ()

    @property
    def is_shared(self) -> bool:
        """Whether other threads or the host see what is stored in it."""
        return self.space in (AddressSpace.STORAGE, AddressSpace.WORKGROUP)


@dataclass(frozen=True, slots=True, eq=False)
class Stmt:
    """Something that an invocation does. A kind of statement says of its fields which it `COMPUTES`, the `expressions`;
    which `blocks` it `HOLDS`; which name it `BINDS` for what follows, and which variable it `SETS`. From that and from
    being a `Change` or none every walk, rewrite and proof knows all that it has to. A target's printer writes one of
    class `For` by its method `lines_For`, the interpreter runs it by its row of `RUNS`.
    """

    COMPUTES: ClassVar[tuple[str, ...]] = ()
    HOLDS: ClassVar[tuple[str, ...]] = ()
    BINDS: ClassVar[str] = ""
    SETS: ClassVar[str] = ""
    expressions: tuple[Expr, ...] = field(init=False, repr=False)
    blocks: "tuple[Block, ...]" = field(init=False, repr=False)

    def __init_subclass__(cls) -> None:
        """What a kind `BINDS` and `SETS` are its `binds` and `sets`, None where it does not."""
        for name, field_ in ("binds", cls.BINDS), ("sets", cls.SETS):
            setattr(cls, name, property(attrgetter(field_)) if field_ else None)

    @property
    def binds(self) -> Var | None:
        """The name that is bound from here on, to the end of the block."""
        return None

    @property
    def sets(self) -> Var | None:
        """The declared variable that may be another one afterwards."""
        return None

    def __post_init__(self) -> None:
        computed: tuple[Expr, ...] = ()
        for name in self.COMPUTES:
            value = getattr(self, name)
            if value is not None:
                computed += value if isinstance(value, tuple) else (value,)
        keep(self, "expressions", computed)
        keep(self, "blocks", tuple([getattr(self, name) for name in self.HOLDS]) if self.HOLDS else ())


class Change(Stmt):
    """A statement that writes or updates elements [index * buffer.width, + lanes of `value`) of `buffer`; `coordinates`
    of a `shape` chose them, as in a `Load`."""

    __slots__ = ()
    VERB: ClassVar[Verb]
    buffer: Buffer
    index: Expr
    value: Expr
    place: str
    coordinates: tuple[Expr, ...] = ()
    shape: tuple[int | Expr, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Let(Stmt):
    """Name a value: it is computed here, once."""

    COMPUTES = ("value",)
    BINDS = "var"

    var: Var
    value: Expr
    place: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Declare(Stmt):
    """A variable that Assign may change; it starts as `value`, or as 0."""

    COMPUTES = ("value",)
    BINDS = "var"
    var: Var
    value: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Stmt):
    """Set a declared variable, or its lane `lane`."""

    COMPUTES = ("value",)
    SETS = "var"
    var: Var
    value: Expr
    lane: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Store(Change):
    """Write the lanes of `value`."""

    COMPUTES = ("index", "value", "coordinates")
    VERB = Verb.WRITES
    buffer: Buffer
    index: Expr
    value: Expr
    place: str = ""
    coordinates: tuple[Expr, ...] = ()
    shape: tuple[int | Expr, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class MatrixStore(Change):
    """Write a matrix of the subgroup as `MatrixLoad` reads one."""

    COMPUTES = ("index", "value", "coordinates")
    VERB = Verb.WRITES
    buffer: Buffer
    index: Expr
    value: Expr
    stride: int
    by_columns: bool
    place: str = ""
    coordinates: tuple[Expr, ...] = ()
    shape: tuple[int | Expr, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Atomic(Change):
    """`op` (Add Sub Min Max And Or Xor Exchange CompareExchange Load Store) on one element, atomically; `result` takes
    the old value. CompareExchange writes `value` where the element has the bits of `compare`; Load has no use for one.
    """

    COMPUTES = ("index", "value", "compare", "coordinates")
    BINDS = "result"
    VERB = Verb.UPDATES
    op: str
    buffer: Buffer
    index: Expr
    value: Expr
    compare: Expr | None = None
    result: Var | None = None
    place: str = ""
    coordinates: tuple[Expr, ...] = ()
    shape: tuple[int | Expr, ...] = ()

    @property
    def takes(self) -> bool:
        """Whether the old value of the element is read."""
        return self.op != "Store"


@dataclass(frozen=True, slots=True, eq=False)
class If(Stmt):
    """Run `then` in the invocations where `condition` holds, `orelse` in the others."""

    COMPUTES = ("condition",)
    HOLDS = ("then", "orelse")
    condition: Expr
    then: "Block"
    orelse: "Block" = ()
    place: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class For(Stmt):
    """`for (var = start; var < stop; var += step)`: a loop that stays a loop. Without a `stop` only a
    `Break` ends it, and `var` counts its iterations for the interpreter's observers: nothing in it reads that."""

    COMPUTES = ("start", "stop", "step")
    HOLDS = ("body",)
    var: Var
    start: Expr
    stop: Expr | None
    step: Expr
    body: "Block"
    place: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Break(Stmt):
    """Run `last` in the invocations where `condition` holds, which then leave the loop. It stands in the body of a loop
    itself, in no block inside that."""

    COMPUTES = ("condition",)
    HOLDS = ("last",)
    condition: Expr
    last: "Block" = ()
    place: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Barrier(Stmt):
    """Wait for the whole workgroup; `storage` orders its accesses to bindings, else those to workgroup memory."""

    storage: bool = False
    place: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class UniformLoad(Stmt):
    """A barrier of workgroup memory, `value`, which is an element of it, and a barrier again: by WGSL's rules all
    threads then agree on `var`. `source` is what thread 0 put there just before, if it is that."""

    COMPUTES = ("value", "source")
    BINDS = "var"
    var: Var
    value: Expr
    source: Expr | None = None
    place: str = ""


def fences(stmt: Stmt, *, storage: bool) -> bool:
    """Whether the workgroup waits at a statement, for its accesses to bindings (`storage`) or to workgroup memory."""
    return stmt.storage is storage if isinstance(stmt, Barrier) else isinstance(stmt, UniformLoad) and not storage


@dataclass(frozen=True, slots=True, eq=False)
class Comment(Stmt):
    """A line for the reader."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Print(Stmt):
    """Print a line where the kernel is interpreted: the `parts`, in which a text stands for itself, 0 for the next of
    the `values`, and a larger number for a list of so many. No device knows it: what is lowered holds none."""

    COMPUTES = ("values",)
    parts: tuple[str | int, ...]
    values: tuple[Expr, ...]


class Stated(Stmt):
    """What the user says of data: it holds whenever an invocation comes here. Proofs may use it from here to the end of
    the block, the interpreter checks it, and no device computes it: what is printed holds none. `said` is its text."""

    __slots__ = ()
    said: str
    place: str = ""


class ElementOrder(StrEnum):
    """What may be said of the elements of an array: each is at least the one before it, or no two are equal."""

    ASCENDING = "ascending"
    DISTINCT = "distinct"


@dataclass(frozen=True, slots=True, eq=False)
class Assume(Stated):
    """`condition` holds."""

    COMPUTES = ("condition",)
    condition: Expr
    said: str
    place: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Elements(Stated):
    """All elements of an argument are in an `order`: the `count` of a read-only `buffer` from `first` on."""

    COMPUTES = ("first", "count")
    order: ElementOrder
    buffer: Buffer
    first: Expr
    count: Expr
    said: str
    place: str = ""


Block = tuple[Stmt, ...]


def workgroup_bytes(arrays: Iterable[int]) -> int:
    """Bytes of workgroup memory that arrays of so many bytes take: WebGPU counts each in whole blocks of 16.

    >>> workgroup_bytes([4, 16380]), workgroup_bytes([18])
    (16400, 32)
    """
    return sum(-(-nbytes // 16) * 16 for nbytes in arrays)


#: Elements of an array of unknown length, as far as they are counted: more than any index reaches.
UNKNOWN_LENGTH = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class SizeFacts:
    """What is known of sizes that are parameters: sums that are 0 or less; how many workgroups there are along each
    axis, None where the grid says it; which parameters are products of which; and how a number of times each reads."""

    facts: tuple[Affine[Expr, int], ...]
    groups: tuple[Affine[Expr, int] | None, Affine[Expr, int] | None, Affine[Expr, int] | None]
    products: Mapping[Expr, tuple[int, Expr, Expr]]
    words: Mapping[str, tuple[int, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Kernel:
    """A compute kernel: what it binds, what it allocates, how it is launched, what each invocation does.

    `buffers` are the bindings in order, `local` the workgroup and private arrays, `notes` the header lines. `lanes` is
    how many threads a subgroup has at least, for the shuffles to be those that were meant; 0 if any number does.
    `varying` says what is asked of subgroups that may depend on their size, each with its line. Where sizes are not
    known, `sizes` says what is, and `grid` is the largest that there may be. `subgroup` is the size of subgroups
    that it is for, 0 if it is for any. Of the workgroup arrays named in `widened` a vector is loaded and stored where
    fewer of its elements are set.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def twice(x):
    ...     gpu.launch(threads=(8, 4))
    ...     tile = gpu.shared("f32", 32)
    ...     tile[gpu.thread] = x[gpu.thread]
    ...     x[gpu.thread] = 2 * tile[gpu.thread]
    >>> kernel = twice.ir(np.zeros(32, np.float32))
    >>> kernel.name, kernel.threads, kernel.shared_bytes
    ('twice', 32, 128)
    """

    name: str
    buffers: tuple[Buffer, ...]
    body: Block
    grid: tuple[int, int, int] = (1, 1, 1)
    workgroup: tuple[int, int, int] = (64, 1, 1)
    local: tuple[Buffer, ...] = ()
    params: tuple[Param, ...] = ()
    notes: tuple[str, ...] = ()
    lanes: int = 0
    varying: tuple[str, ...] = ()
    sizes: SizeFacts | None = None
    subgroup: int = 0
    widened: frozenset[str] = frozenset()

    @property
    def threads(self) -> int:
        """Invocations in a workgroup."""
        x, y, z = self.workgroup
        return x * y * z

    @property
    def shared_bytes(self) -> int:
        """Bytes of workgroup memory."""
        return workgroup_bytes(b.length * b.dtype.bytes for b in self.local if b.space == AddressSpace.WORKGROUP)
