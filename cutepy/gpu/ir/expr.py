"""Expressions of the kernel IR: frozen nodes, interned so that equal expressions are one object.

An `Expr` has Python's operators, so whatever is written over `+ * // %` for integers - a layout, say - gives its own
index expression when it is called on one. Nodes are made by the functions of `make`, never by their classes: those
functions check types, fold constants and intern.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from ...errors import KernelError
from ...frozen import dataclass
from ...layout.affine import Affine, Congruent, Interval
from ...tensor.dtypes import DType, bool_, u32
from .operators import Number
from .place import advice, user_place

if TYPE_CHECKING:
    from .stmt import Buffer


#: Levels of operators in one expression of a traced kernel. Tint parses 128 levels, parentheses included.
MOST_DEPTH = 64


class TracedValueError(KernelError, TypeError):
    """Python asked for a value that is known only on the GPU."""


def _operator(symbol: str) -> tuple[Callable[["Expr", object], "Expr"], Callable[["Expr", object], "Expr"]]:
    """What an operator does where the expression stands on the left, and where it stands on the right."""

    def left(self: "Expr", other: object) -> "Expr":
        return NotImplemented if other is None else Expr._operate(symbol, self, other)

    def right(self: "Expr", other: object) -> "Expr":
        return NotImplemented if other is None else Expr._operate(symbol, other, self)

    return left, right


class Expr:
    """A value that a kernel computes; `dtype` and `lanes` (1, 2 or 4) are its type, `depth` counts nodes to a leaf.

    `operands` are what it is computed from, in their order; `names` and `loaded` are the variables and the loads inside
    them, each once. What is worked out about a node is kept with it: the sum that it is, the interval it lies in.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def ids(y):
    ...     gpu.launch(threads=(2, 2, 2))
    ...     y[gpu.thread] = gpu.thread.x + 10 * gpu.thread.y + 100 * gpu.thread.z
    >>> y = np.zeros(8, np.uint32)
    >>> ids.interpret(y); y.tolist()
    [0, 1, 10, 11, 100, 101, 110, 111]
    """

    __slots__ = ("known_exact", "known_range", "known_sum")
    known_sum: "Congruent[Expr, int]"
    known_exact: "Affine[Expr, int] | None"
    known_range: Interval
    dtype: DType
    lanes: int
    depth: int = 0
    operands: "tuple[Expr, ...]" = ()
    names: "tuple[Var, ...]" = ()
    loaded: "tuple[Load, ...]" = ()
    #: Whether it is made of floats alone.
    floats: bool = False
    #: What the operators do: `operate(symbol, left, right)`, given by `make`.
    _operate: ClassVar[Callable[[str, object, object], "Expr"]]
    #: What they do where a matrix is among the operands, given by `matrices`.
    _on_matrices: ClassVar[Callable[[str, object, object], "Expr"]]
    #: What `.x`, `.y` and `.z` of the thread are, given by `trace.language`.
    _along: ClassVar[Callable[["Expr", int], "Expr"]]
    #: What to raise where Python asks for a condition over sizes that are not known, given by `trace.state`.
    _undecided: ClassVar[Callable[["Expr"], Exception | None]] = lambda value: None
    #: Whether the sum that an integer is may leave its type, given by `ranges`.
    _may_wrap: ClassVar[Callable[["Expr"], bool]]
    #: How an expression reads, given by the printer.
    _written: ClassVar[Callable[["Expr"], str]]
    #: What NumPy's functions do, given by `trace.functions`.
    __array_ufunc__: ClassVar[Callable[..., Any]]
    __array_function__: ClassVar[Callable[..., Any]]

    __add__, __radd__ = _operator("+")
    __sub__, __rsub__ = _operator("-")
    __mul__, __rmul__ = _operator("*")
    __truediv__, __rtruediv__ = _operator("/")
    __floordiv__, __rfloordiv__ = _operator("//")
    __mod__, __rmod__ = _operator("%")
    __pow__, __rpow__ = _operator("**")
    __and__, __rand__ = _operator("&")
    __or__, __ror__ = _operator("|")
    __xor__, __rxor__ = _operator("^")
    __lshift__, __rlshift__ = _operator("<<")
    __rshift__, __rrshift__ = _operator(">>")
    __lt__, __gt__ = _operator("<")[0], _operator(">")[0]
    __le__, __ge__ = _operator("<=")[0], _operator(">=")[0]
    __eq__, __ne__ = _operator("==")[0], _operator("!=")[0]  # type: ignore[assignment]  # equal is a value too

    __hash__ = object.__hash__

    def __neg__(self) -> "Expr":
        return Expr._operate("-", self, None)

    def __invert__(self) -> "Expr":
        return Expr._operate("!" if self.dtype is bool_ else "~", self, None)

    def __pos__(self) -> "Expr":
        return self if self.dtype is not bool_ else Expr._operate("+", self, 0)

    def __divmod__(self, other: object) -> "tuple[Expr, Expr]":
        return Expr._operate("//", self, other), Expr._operate("%", self, other)

    def __rdivmod__(self, other: object) -> "tuple[Expr, Expr]":
        return Expr._operate("//", other, self), Expr._operate("%", other, self)

    def __copy__(self) -> "Expr":
        return self

    def __deepcopy__(self, memo: object) -> "Expr":
        return self

    def __abs__(self) -> "Expr":
        return Expr._operate("abs", self, None)

    @property
    def x(self) -> "Expr":
        """Of `gpu.thread`, its index along x in the workgroup; `y` and `z` likewise."""
        return Expr._along(self, 0)

    @property
    def y(self) -> "Expr":
        return Expr._along(self, 1)

    @property
    def z(self) -> "Expr":
        return Expr._along(self, 2)

    def __repr__(self) -> str:
        try:
            return Expr._written(self)
        except KernelError:  # an infinity, which WGSL cannot spell
            return describe(self)

    def __bool__(self) -> bool:
        undecided = Expr._undecided(self)
        if undecided is not None:
            raise undecided
        self._refuse(
            "steer Python",
            "no `while`, `in`, `max` or `assert` over it; use `if`, gpu.loop, gpu.when, gpu.select, & | ~",
        )

    def __index__(self) -> int:
        self._refuse("serve as a Python integer", "make it a static (keyword-only) argument of the kernel")

    def __float__(self) -> float:
        self._refuse("serve as a Python float", "compute with it inside the kernel, by gpu.exp and the like")

    def __iter__(self) -> NoReturn:
        self._refuse("be taken apart by Python", "use gpu.loop to count, or coordinates of a tensor")

    def __setitem__(self, index: object, value: object) -> NoReturn:
        """Refuses as Python does a number of its own; without it Python asks the index first, and speaks of that."""
        raise TypeError(f"'{type(self).__name__}' object does not support item assignment")

    def __round__(self, digits: int | None = None) -> int:
        self._refuse("be rounded by Python", "write gpu.round")

    def _refuse(self, what: str, otherwise: str) -> NoReturn:
        way_out = advice() or otherwise
        raise TracedValueError(
            f"{user_place()}: {describe(self)} is known only on the GPU and cannot {what}: {way_out}"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Const(Expr):
    """A literal. A u32 is kept in [0, 2**32), an i32 in [-2**31, 2**31)."""

    value: Number
    dtype: DType
    lanes: int = 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Var(Expr):
    """A name bound by Let, Declare or For. An integer lies in lo..hi (both included). `order` counts bindings."""

    name: str
    dtype: DType
    lanes: int
    lo: int
    hi: int
    order: int


class UnknownVar(Var):
    """A value in lo..hi of which nothing else is known. Its name is the text of `source`, the expression that it stands
    for, and is written when asked for: a proof makes thousands of unknowns and names few."""

    __slots__ = ("_text", "source")
    source: Expr
    _text: str

    def __init__(self, source: Expr, dtype: DType, lanes: int, lo: int, hi: int) -> None:
        for name, fact in zip(
            ("source", "dtype", "lanes", "lo", "hi", "order"), (source, dtype, lanes, lo, hi, 0), strict=True
        ):
            keep(self, name, fact)

    @property
    def name(self) -> str:
        # Unknowns inside the source first, without recursion: each may be made of the one before it.
        waiting = [] if hasattr(self, "_text") else [self]
        while waiting:
            inner = [v for v in variables(waiting[-1].source) if isinstance(v, UnknownVar) and not hasattr(v, "_text")]
            if inner:
                waiting += inner
            else:
                last = waiting.pop()
                keep(last, "_text", Expr._written(last.source))
        return self._text


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Builtin(Expr):
    """A u32 in lo..hi that the hardware gives: `local_invocation_index`, `subgroup_size`, or component `axis` (0, 1, 2)
    of `workgroup_id` or `num_workgroups`. The names are WebGPU's; a target has its own."""

    name: str
    axis: int | None
    lo: int
    hi: int
    dtype: DType = u32
    lanes: int = 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Param(Expr):
    """A scalar that the host passes at launch, in the uniform buffer. An integer lies in lo..hi."""

    name: str
    dtype: DType
    lo: int
    hi: int
    lanes: int = 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Computed(Expr):
    """What is made of operands; `make.made` gives these fields. A kind of expression adds its own; how it is made of
    other operands, and what it means, is in `walk.NODES`; a printer writes a `Cast` by its method `show_Cast`.
    """

    dtype: DType
    lanes: int
    depth: int = field()
    operands: tuple[Expr, ...] = field()
    names: tuple[Var, ...] = field()
    loaded: "tuple[Load, ...]" = field()
    floats: bool = field()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unary(Computed):
    """`-` on numbers, `~` on integers, `!` on bool."""

    op: str
    value: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Binary(Computed):
    """Arithmetic, bits, comparisons (bool result), and `&` `|` on bool. A scalar operand serves every lane.

    u32 and i32 wrap. `//` and `%` are WGSL's integer `/` and `%`: they truncate; x // 0 is x and x % 0 is 0. The right
    operand of a shift is a u32, taken modulo 32; `>>` of an i32 keeps the sign.
    """

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Select(Computed):
    """`then` where `condition` (a scalar bool) holds, else `other`. Both are computed."""

    condition: Expr
    then: Expr
    other: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cast(Computed):
    """`value` converted to `dtype` by value, or its bits taken as `dtype`."""

    value: Expr
    bits: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Computed):
    """A function of IR_FUNCTIONS or SUBGROUP applied to operands."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Load(Computed):
    """Elements [index * buffer.width, + lanes) of `buffer`; where `where` is false, 0 without an access.

    `coordinates` chose the element: each is claimed to be from 0 to below the extent beside it in `shape`, wherever the
    access happens; an extent is a number, or made of parameters. What is lowered carries none.
    """

    buffer: "Buffer"
    index: Expr
    where: Expr | None
    place: str
    coordinates: tuple[Expr, ...]
    shape: "tuple[int | Expr, ...]"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MatrixLoad(Load):
    """The matrix of a subgroup, of `dtype`, whose first element is number `index` of `buffer`: rows, or columns, of
    neighbours, `stride` apart. All threads of the subgroup give the same index."""

    stride: int
    by_columns: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MatrixCall(Computed):
    """An operation of `matrices.MATRIX` on matrices of a subgroup and numbers."""

    name: str
    place: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Vector(Computed):
    """2 or 4 scalars side by side."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Component(Computed):
    """Lane `lane` (an int, or a u32 expression) of a vector."""

    value: Expr
    lane: "int | Expr"


@dataclass(slots=True)
class Arena:
    """The interned nodes of a trace, with memos of the simplifier: simple forms (`simple`), results of its functions
    (`memo`), ranks of terms (`ranks`); `as_bits` has the products, quotients and remainders that were written as shifts
    and masks only.

    `name` gives a new node of more than `MOST_DEPTH` levels a name in the kernel that is being traced: so no walk over
    an expression, here or in a WGSL compiler, goes deeper.
    """

    nodes: dict[tuple[object, ...], Expr] = field(default_factory=dict)
    constants: dict[tuple[str, Number | str], Const] = field(default_factory=dict)
    simple: dict[Expr, Expr] = field(default_factory=dict)
    memo: dict[tuple[object, ...], Expr] = field(default_factory=dict)
    ranks: dict[Expr, tuple[int, int]] = field(default_factory=dict)
    as_bits: dict[Expr, bool] = field(default_factory=dict)
    bindings: int = 0
    name: Callable[[Expr], Expr] | None = None


#: Keep with a node, under a name, what was worked out about it. Proofs call this often: it is no function of Python.
keep: Callable[[object, str, object], None] = object.__setattr__


_ARENA: ContextVar[Arena] = ContextVar("arena", default=Arena())  # noqa: B039  the arena of code outside traces


#: The arena in which nodes are made now: a call of C's, for it is asked of each node.
arena: Callable[[], Arena] = _ARENA.get


@contextmanager
def new_arena(existing: Arena | None = None) -> Iterator[Arena]:
    """Make nodes in a fresh arena inside the block, or in an `existing` one."""
    token = _ARENA.set(existing or Arena())
    try:
        yield _ARENA.get()
    finally:
        _ARENA.reset(token)


def interned(
    key: tuple[object, ...], kind: type[Computed], dtype: DType, lanes: int, operands: tuple[Expr, ...], *own: object
) -> Expr:
    """The node of that kind with its `own` fields, from now on the one of its key; its name, where the kernel being
    traced names what is deep."""
    current, depth, floats = arena(), 0, dtype.kind == "f"
    names: tuple[Var, ...] = ()
    loaded: tuple[Load, ...] = ()
    # Depth, variables and loads are kept with each node, so no walk over its operands is needed later.
    for x in operands:
        if type(x) is Const:
            continue
        if x.depth > depth:
            depth = x.depth
        floats = floats and (x.floats or (not x.operands and x.dtype.kind == "f"))
        more = (x,) if isinstance(x, Var) else x.names
        if more and more is not names:
            names = tuple(dict.fromkeys(names + more)) if names else more
        others = (*x.loaded, x) if isinstance(x, Load) else x.loaded
        if others and others is not loaded:
            loaded = tuple(dict.fromkeys(loaded + others)) if loaded else others
    depth += 1
    node = current.nodes[key] = kind(dtype, lanes, depth, operands, names, loaded, floats, *own)
    return node if depth <= MOST_DEPTH or current.name is None else current.name(node)


def made(kind: type[Computed], dtype: DType, lanes: int, operands: tuple[Expr, ...], *own: object) -> Expr:
    """The one node of a kind that has this type, these operands and these fields of its own."""
    key = kind, dtype.name, lanes, *map(id, operands), *[id(x) if isinstance(x, Expr) else x for x in own]
    node = arena().nodes.get(key)
    return interned(key, kind, dtype, lanes, operands, *own) if node is None else node


def variables(value: Expr) -> tuple[Var, ...]:
    """The variables that `value` reads, each once, operands first."""
    return (value,) if isinstance(value, Var) else value.names


def loads(value: Expr) -> "tuple[Load, ...]":
    """The loads inside `value`, each once, operands first."""
    return (*value.loaded, value) if isinstance(value, Load) else value.loaded


def describe(value: Expr) -> str:
    """A short description of a value, for messages."""
    match value:
        case Builtin(name=name, axis=int(axis)):
            return f"{name}.{'xyz'[axis]} ({value.dtype})"
        case Var(name=name) | Builtin(name=name) | Param(name=name):
            return f"{name} ({value.dtype})"
        case Load(buffer=buffer):
            return f"an element of {buffer.name} ({value.dtype})"
        case Binary(op=op):
            return f"the result of {op} ({value.dtype})"
        case Call(name=name):
            return f"the result of {name} ({value.dtype})"
    return f"a {value.dtype} value"


def has_halves(value: Expr) -> bool:
    """Whether an f32 is one of two halves of a word."""
    source = value.value if isinstance(value, Component) else value
    return isinstance(source, Call) and source.name == "unpack2x16float"
