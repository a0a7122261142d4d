"""Functions of values, for kernels and for arrays alike: mathematics, choice, conversion, subgroups, atomics.

Each takes one expression, or an object array of them, and also plain NumPy numbers: one function body serves a kernel's
epilogue and its reference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NoReturn, TypeVar, overload

import numpy as np

from ...errors import KernelError
from ...tensor.dtypes import bool_, gpu_dtype
from ...tensor.engine import Scalars, boxed
from ...tensor.functions import IN_KERNELS, NAMED, Function, Word, session
from ...tensor.rules import Number
from ..ir import Expr, as_expr, builtin, call, component, new_arena, var
from ..ir import cast as cast_expr
from ..ir import select as select_expr
from ..ir.functions import applied
from ..ir.operators import SUBGROUP_SIZES
from ..ir.place import advice, user_place
from ..ir.weak import SCALARS, meeting, strong_type
from ..trace.complex import COMPLEX, Complex, as_complex
from ..trace.registers import python_number
from ..trace.state import Trace, current

R = TypeVar("R")


def _each(function: Callable[..., object], *values: Scalars) -> Any:
    """`function` of single values, or of the entries of object arrays."""
    if any(isinstance(v, np.ndarray) for v in values):
        return np.frompyfunc(function, len(values), 1)(*[boxed(v) if isinstance(v, Expr) else v for v in values])
    return function(*values)


def _traced(values: tuple[Scalars, ...]) -> bool:
    return any(isinstance(v, Expr) or (isinstance(v, np.ndarray) and v.dtype == object) for v in values)


def _plain(values: tuple[Scalars, ...]) -> bool:
    """Whether all are Python's own numbers: what is made of them is one."""
    return all(type(v) in (bool, int, float) for v in values)


@cache
def of_table(function: Function) -> Callable[..., Any]:
    """`gpu.NAME`: the device's own function, where it has one, of values of a kernel; NumPy's of arrays."""
    if function.conditional:
        return select
    one: Callable[..., object] = partial(call, function.ir) if function.ir else _by_law(function)
    if isinstance(function, Word) and function.lanes > 1:
        one = partial(_several, function)

    def apply(*values: Scalars) -> Any:
        """The function of numbers or arrays by NumPy, or as an expression where a value is the kernel's."""
        traced = _traced(values)
        if len(values) != function.arity:
            where, takes = f"{user_place()}: " * traced, f"{function.arity} operands, given are {len(values)}"
            raise KernelError(f"{where}gpu.{function.in_kernels} takes {takes}")
        if traced:
            return _each(one, *values)
        result = function.numpy(*[np.asarray(v) for v in values])
        if isinstance(function, Word) and function.lanes > 1:
            return tuple(result)
        return result.item() if _plain(values) else result

    apply.__name__ = apply.__qualname__ = function.in_kernels
    on_device = f" On a device `{function.ir}`: {function.accuracy}." * bool(function.ir)
    apply.__doc__ = f"{function.law}{on_device}\n\n{_example(function, apply)}\n\n" + (
        "Of a kernel's values, each a number or a vector of 2 or 4; of numbers and arrays of one shape by NumPy. "
        "Raises KernelError for another number of operands, and for values of a type that it does not take."
    )
    return apply


def _example(function: Function, apply: Callable[..., Any]) -> str:
    """A session in which a function of the table is given one element of its sample, and what that prints."""
    several = isinstance(function, Word) and function.lanes > 1
    given = [column[-1 if "f" not in function.takes and not several else 0] for column in function.sample]
    bits = "f" not in function.takes and not function.conditional
    word = np.uint32 if "u" in function.takes else np.int32
    operands = [word(x % 2**32) if bits else x for x in given]
    with np.errstate(all="ignore"):
        shown = apply(*operands)
    called = f"gpu.{function.in_kernels}({{}})"
    return session(f"np.array({called})" if several else called, operands, np.array(shown) if several else shown)


def _several(function: Word, value: Scalars) -> tuple[Expr, ...]:
    """The values that are packed in a word of 32 bits."""
    vector = call(function.ir, as_expr(value))
    return tuple([component(vector, lane) for lane in range(function.lanes)])


def _by_law(function: Function) -> Callable[..., Expr]:
    """A function of single values by NumPy's law."""
    return partial(applied, function)


def __getattr__(name: str) -> Any:
    if name in IN_KERNELS:
        return of_table(IN_KERNELS[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def select(condition: Any, then: Any, other: Any) -> Any:
    """`then` where the condition holds, else `other`; both are computed.

    >>> select(2 < 3, 1.5, 0.0), select(np.array([True, False]), 1, np.array([7, 8])).tolist()
    (1.5, [1, 8])

    Of numbers or vectors of a kernel, or of arrays whose shapes meet by NumPy's rule. Raises KernelError for a
    condition that is no bool and for two types that do not meet.
    """
    if not _traced((condition, then, other)) and not isinstance(then, Complex) and not isinstance(other, Complex):
        chosen = np.where(condition, then, other)
        return chosen.item() if _plain((condition, then, other)) else chosen
    return _each(_choose, condition, then, other)


def _choose(condition: object, then: object, other: object) -> Expr | Complex:
    if isinstance(then, COMPLEX) or isinstance(other, COMPLEX):
        sides = as_complex(then), as_complex(other)
        return Complex(*[_choose(condition, *[getattr(side, one) for side in sides]) for one in ("real", "imag")])
    test = as_expr(condition, bool_)
    if test.dtype is not bool_:
        raise KernelError(
            f"{user_place()}: gpu.select by a {test.dtype} value; compare it, as in gpu.select(v != 0, ...)"
        )

    def side(value: object) -> Expr:
        return value if isinstance(value, Expr) else python_number(value) if strong is None else as_expr(value, strong)

    strong = strong_type((then, other))
    return meeting(partial(select_expr, test), [side(then), side(other)], wraps=strong is None)


@overload
def cast(value: Expr, dtype: object) -> Expr: ...
@overload
def cast(value: Scalars, dtype: object) -> Any: ...
def cast(value: Scalars, dtype: object) -> Any:
    """`value` converted to an element type.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def halves(y):
    ...     gpu.launch(threads=4)
    ...     y[gpu.thread] = gpu.cast(gpu.cast(gpu.thread, "f32") / 2, "u32")
    >>> y = np.zeros(4, np.uint32)
    >>> halves.interpret(y); y.tolist()
    [0, 0, 1, 1]
    """
    kind = gpu_dtype(dtype)
    if not _traced((value,)):
        return np.asarray(value).astype(kind.numpy)[()]  # of a number a scalar, which has its type in kernels
    return _each(lambda v: cast_expr(v, kind), value)


def bitcast(value: Scalars, dtype: object) -> Any:
    """The bits of `value` as a value of `dtype`, which has as many.

    >>> import numpy as np
    >>> bitcast(np.float32(1.0), "u32")
    np.uint32(1065353216)

    Raises KernelError for another width.
    """
    kind = gpu_dtype(dtype)
    if _traced((value,)):
        return _each(lambda v: cast_expr(v, kind, bits=True), value)
    array = np.asarray(value)
    if array.dtype.itemsize != np.dtype(kind.numpy).itemsize:
        raise KernelError(f"the bits of {array.dtype} are not those of {kind}: widths differ")
    return array.view(kind.numpy)[()]


def abstract_eval(function: Callable[..., R], *dtypes: object) -> R:
    """What `function` gives for values of these element types that no kernel has: to know its type before there is one.

    >>> abstract_eval(lambda a, b: select(a < b, a, 0), "f32", "f32").dtype.name
    'f32'

    Raises what `function` raises, as a kernel would where it calls it.
    """
    with new_arena():
        return function(*[var(f"x{number}", gpu_dtype(dtype)) for number, dtype in enumerate(dtypes)])


def constant(value: Number, dtype: object) -> Expr:
    """A number with an element type.

    >>> constant(3, "f32"), str(constant(3, "f32").dtype)
    (3.0, 'f32')
    """
    return as_expr(value, gpu_dtype(dtype))


def _ufunc(self: Expr, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """NumPy's functions of kernel values: by their law, as the table of functions has it; others are refused."""
    name = ufunc.__name__ if method == "__call__" and not options else ""
    own = _each(_by_law(NAMED[name]), *_literals(inputs)) if name in NAMED else NotImplemented
    return _refused(ufunc.__name__) if own is NotImplemented else own


def _literals(values: tuple[Any, ...]) -> list[Any]:
    """Operands in which NumPy's scalars, and arrays without axes, are literals of the type that they have."""
    plain = [v[()] if isinstance(v, np.ndarray) and v.ndim == 0 and v.dtype != object else v for v in values]
    met = strong_type([v for v in plain if isinstance(v, Expr)])
    own = [SCALARS.get(type(v)) for v in plain]
    return [
        v if not isinstance(v, np.generic) else v.item() if kind is None else as_expr(v, met or kind)
        for v, kind in zip(plain, own, strict=True)
    ]


def _array_function(self: Expr, function: Callable[..., Any], kinds: object, given: Any, options: Any) -> Any:
    """What the table has, as `np.where` and `np.round`, of kernel values; NumPy's others are those of arrays."""
    own = NAMED.get(function.__name__)
    if own is None or options or len(given) != own.arity:
        _refused(function.__name__)
    return of_table(own)(*given) if own.conditional else _each(_by_law(own), *_literals(given))


def _refused(name: str) -> NoReturn:
    instead = advice()
    if not instead.startswith("write"):
        instead = "use operators, the functions of cutepy.gpu, and gpu.loop over a tensor"
    raise KernelError(f"{user_place()}: np.{name} has no meaning for values of a kernel; {instead}")


def _method_of(function: Function) -> Callable[..., Any]:
    """What NumPy's function calls on the entries of an object array: a method of its own name."""

    def method(*values: Any, **_options: object) -> Any:
        return _by_law(function)(*values)

    method.__doc__ = f"As `gpu.{function.in_kernels}`."
    return method


for _name, _row in NAMED.items():
    if _row.python is None and isinstance(getattr(np, _name, None), np.ufunc):
        setattr(Expr, _name, _method_of(_row))
Expr.__array_ufunc__ = _ufunc
Expr.__array_function__ = _array_function


_SUBGROUP_EXAMPLE = """>>> import numpy as np
>>> from cutepy import gpu
>>> @gpu.kernel
... def lanes(x, y):
...     gpu.launch(threads=4)
...     v = x[gpu.thread]
...     y[gpu.thread] = {}
>>> y = np.zeros(4, np.uint32)
>>> lanes.interpret(np.array([3, 1, 4, 1], np.uint32), y)
>>> y.tolist()
{}

Of a number or a vector of each thread. Raises KernelError outside a kernel and for what is no value of one."""


def _subgroup(name: str, doc: str = "", shown: str = "", printed: str = "") -> Callable[..., Any]:
    """An operation of a subgroup; `printed` is what it gives of `shown` in threads whose `v` is 3, 1, 4 and 1."""
    operands = 2 if "shuffle" in name or name == "subgroup_broadcast" else 1

    def apply(*values: Scalars, lanes: int = 0) -> Any:
        trace = current(f"gpu.{apply.__name__}")
        if len(values) != operands or not _traced(values[:1]):
            what = "a value of the kernel" + (" and a lane, a distance or a mask" if operands == 2 else "")
            raise KernelError(f"{user_place()}: {name} takes {what}")
        if lanes:
            values = _inside_groups(trace, name, values, lanes)
        else:
            _ask(trace, name, values)
        return _each(lambda *v: trace.let("lanes", call(name, *v), uniform=False), *values)

    example = _SUBGROUP_EXAMPLE.format(f"gpu.{name}({shown})", printed)
    apply.__name__, apply.__doc__ = name, f"{doc}\n\n{example}" if doc else None
    return apply


#: Threads of a group inside which threads exchange values.
GROUPS = 2, *SUBGROUP_SIZES
#: Folds of values that are all the same are that value, whichever threads there are.
_IDEMPOTENT = "subgroup_min", "subgroup_max", "subgroup_any", "subgroup_all", "subgroup_broadcast_first"


def _ask(trace: Trace, name: str, values: tuple[Scalars, ...]) -> None:
    """Note an operation whose result may depend on the size of subgroups. An exchange by a mask known now stays inside
    groups of 4 threads, or of as many as the kernel requires, where the mask is smaller."""
    value, *others = values
    if name in _IDEMPOTENT and isinstance(value, Expr) and trace.is_uniform(value):
        return
    if name == "subgroup_shuffle_xor" and isinstance(mask := others[0], int) and 0 <= mask < max(4, trace.lanes):
        return
    trace.ask_subgroup(f"gpu.{name}")


def _inside_groups(trace: Trace, name: str, values: tuple[Scalars, ...], lanes: int) -> tuple[Scalars, ...]:
    """The operands of an exchange inside groups of `lanes` threads, of which every subgroup has to have whole ones."""
    if name not in ("subgroup_shuffle", "subgroup_shuffle_xor"):
        raise KernelError(
            f"{user_place()}: {name} has no lanes: give them to subgroup_shuffle and subgroup_shuffle_xor"
        )
    trace.launched(f"gpu.{name}")
    if lanes not in GROUPS or trace.threads % lanes:
        sizes = ", ".join(map(str, GROUPS))
        raise KernelError(
            f"{user_place()}: {name}(..., lanes={lanes}) in a workgroup of {trace.threads} threads: give one of "
            f"{sizes}, which divides them"
        )
    trace.lanes = max(trace.lanes, lanes)
    value: Any
    number: Any
    value, number = values
    if name == "subgroup_shuffle_xor":
        return value, number % lanes
    own = builtin("subgroup_invocation_id", 0, SUBGROUP_SIZES[-1] - 1)
    return value, own - own % lanes + cast(number % lanes, "u32")


subgroup_add = _subgroup("subgroup_add", "The sum over the active threads of the subgroup.", "v", "[9, 9, 9, 9]")
subgroup_mul = _subgroup(
    "subgroup_mul", "The product over the active threads of the subgroup.", "v", "[12, 12, 12, 12]"
)
subgroup_min = _subgroup("subgroup_min", "The least value in the subgroup.", "v", "[1, 1, 1, 1]")
subgroup_max = _subgroup("subgroup_max", "The greatest value in the subgroup.", "v", "[4, 4, 4, 4]")
subgroup_inclusive_add = _subgroup(
    "subgroup_inclusive_add", "The sum over this and the lower threads.", "v", "[3, 4, 8, 9]"
)
subgroup_exclusive_add = _subgroup("subgroup_exclusive_add", "The sum over the lower threads.", "v", "[0, 3, 4, 8]")
subgroup_shuffle = _subgroup(
    "subgroup_shuffle",
    "The value of thread `lane` of the subgroup; with `lanes=16` of a group of 16 neighbours.",
    "v, 3 - gpu.thread",
    "[1, 4, 1, 3]",
)
subgroup_shuffle_xor = _subgroup(
    "subgroup_shuffle_xor",
    "The value of the thread whose index differs in the bits of `mask`; with `lanes=16` in groups of 16 neighbours.",
    "v, 1",
    "[1, 3, 1, 4]",
)
subgroup_shuffle_down = _subgroup(
    "subgroup_shuffle_down",
    "The value of the thread `delta` further up in index; beyond the last the device decides.",
    "v, 1",
    "[1, 4, 1, 0]",
)
subgroup_shuffle_up = _subgroup(
    "subgroup_shuffle_up", "The value of the thread `delta` lower in index.", "v, 1", "[3, 3, 1, 4]"
)
subgroup_broadcast = _subgroup(
    "subgroup_broadcast", "The value of thread `lane` of the subgroup, a number known now.", "v, 2", "[4, 4, 4, 4]"
)
subgroup_any = _subgroup(
    "subgroup_any", "Whether a bool holds in one of the active threads of the subgroup.", "v > 3", "[1, 1, 1, 1]"
)
subgroup_all = _subgroup(
    "subgroup_all", "Whether a bool holds in all active threads of the subgroup.", "v > 3", "[0, 0, 0, 0]"
)
_ballot = _subgroup("subgroup_ballot")


def subgroup_ballot(condition: Scalars) -> tuple[Expr, Expr, Expr, Expr]:
    """In which active threads of the subgroup a bool holds: a bit for each, from thread 0 on, in four u32.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def voted(x, y):
    ...     gpu.launch(threads=4)
    ...     first, _, _, _ = gpu.subgroup_ballot(x[gpu.thread] > 2)
    ...     y[gpu.thread] = first
    >>> y = np.zeros(4, np.uint32)
    >>> voted.interpret(np.array([3, 1, 4, 1], np.uint32), y)
    >>> bin(y[0])
    '0b101'

    Raises KernelError outside a kernel and for what is no value of one.
    """
    ballot = _ballot(condition)
    first, second, third, fourth = (component(ballot, i) for i in range(4))
    return first, second, third, fourth


subgroup_broadcast_first = _subgroup(
    "subgroup_broadcast_first", "The value of the first active thread.", "v", "[3, 3, 3, 3]"
)
