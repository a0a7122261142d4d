"""The functions that make expressions: types are checked, constants folded, equal nodes made one."""

import warnings
from functools import partial
from math import copysign, inf

import numpy as np

from ...errors import KernelError
from ...layout.values.size import Size
from ...tensor.dtypes import DType, bool_, f16, f32, i32, u32
from ...tensor.functions import IR_FUNCTIONS, Function, Word
from .expr import (
    Binary,
    Builtin,
    Call,
    Cast,
    Component,
    Const,
    Expr,
    Load,
    Param,
    Select,
    Unary,
    Var,
    Vector,
    arena,
    has_halves,
    interned,
    made,
)
from .operators import (
    ARITHMETIC,
    BITS,
    COMPARE,
    FOLD,
    INSTEAD,
    INTEGER,
    SUBGROUP,
    U32_LIMIT,
    WRAPS,
    Number,
    beyond,
    clamped,
    wrapped,
)
from .place import user_place
from .stmt import Buffer
from .subgroup import BALLOT, check_subgroup
from .weak import SCALARS, Weak, meeting, number_of, settled


def const(value: Number, dtype: DType = u32) -> Const:
    """The literal `value` of type `dtype`.

    >>> const(-1).value, const(2, f32).value
    (4294967295, 2.0)
    """
    constants = arena().constants
    existing = constants.get((dtype.name, value or repr(value)))  # 0 and 0.0 are equal, and so is -0.0
    if existing is None:
        number = wrapped(value, dtype)
        existing = constants.setdefault((dtype.name, number or repr(number)), Const(number, dtype))
        constants[dtype.name, value or repr(value)] = existing
    return existing


def var(name: str, dtype: DType = u32, *, lanes: int = 1, lo: int = 0, hi: int = U32_LIMIT - 1) -> Var:
    """A new variable; two calls give two variables, also for one name."""
    if dtype is i32 and (lo, hi) == (0, U32_LIMIT - 1):
        lo, hi = -(1 << 31), (1 << 31) - 1
    current = arena()
    current.bindings += 1
    return Var(name, dtype, lanes, lo, hi, current.bindings)


def builtin(name: str, lo: int = 0, hi: int = U32_LIMIT - 1, *, axis: int | None = None) -> Expr:
    """The hardware value `name`, or its component `axis`, which lies in lo..hi; the constant where lo is hi."""
    if lo == hi:
        return const(lo)
    nodes = arena().nodes
    return nodes.setdefault(("builtin", name, axis, lo, hi), Builtin(name, axis, lo, hi))


def param(name: str, dtype: DType, *, lo: int = 0, hi: int = U32_LIMIT - 1) -> Param:
    """The launch parameter `name`."""
    if dtype is i32 and (lo, hi) == (0, U32_LIMIT - 1):
        lo, hi = -(1 << 31), (1 << 31) - 1
    node = arena().nodes.setdefault(("param", name, dtype.name, lo, hi), Param(name, dtype, lo, hi))
    assert isinstance(node, Param)
    return node


def weak_param(name: str, dtype: DType, *, most: int = U32_LIMIT - 1) -> Expr:
    """The launch parameter `name`, whose type is the one it meets, and `dtype` where it meets none; `most` as a u32."""

    def again(other: DType) -> Expr:
        return param(name, other, hi=most) if other is u32 else param(name, other)

    return Weak(again(dtype), again)


def as_expr(value: object, dtype: DType = u32, op: str = "") -> Expr:
    """`value` if it is an expression, of type `dtype` if it is weak, else the literal of type `dtype`, for `op`.

    Raises KernelError for what is no number, and for what `dtype` does not hold, unless `op` is right modulo 2^32.
    """
    if isinstance(value, Weak):
        return value.known_in(dtype)
    node = value if isinstance(value, Expr) else _literal(value, dtype, op)
    if node is None:
        raise KernelError(f"{user_place()}: {value!r} is neither a value of the kernel nor a number")
    return node


def unary(op: str, value: Expr) -> Expr:
    """`op value`, with constants folded."""
    if isinstance(value, Const):
        number = value.value
        return const(-number if op == "-" else ~int(number) if op == "~" else not number, value.dtype)
    # --x, ~~x, !!x -> x
    if isinstance(value, Unary) and value.op == op:
        return value.value
    if op == "-" and value.dtype is u32:
        return binary("-", const(0), value)  # WGSL negates signed numbers only
    return made(Unary, value.dtype, value.lanes, (value,), op, value)


def binary(op: str, left: Expr, right: Expr) -> Expr:
    """`left op right` for operands of one type (a shift's amount is a u32), with constants and neutral elements folded.

    >>> x = var("x", i32)
    >>> binary("//", x, const(0, i32)) is x, binary("%", x, const(0, i32)).value
    (True, 0)
    """
    key = (op, id(left), id(right))
    existing = arena().nodes.get(key)
    if existing is not None:
        return existing
    if op in _BY_LITERALS and type(right) in (Const, Vector):
        right = _spellable(op, right)
    node = _fold(op, left, right) if type(left) is Const or type(right) is Const or left is right else None
    if node is None:
        dtype = bool_ if op in COMPARE else left.dtype
        lanes = left.lanes if left.lanes > right.lanes else right.lanes
        node = interned(key, Binary, dtype, lanes, (left, right), op, left, right)
    return node


#: What WGSL does not take with every literal.
_BY_LITERALS = frozenset({"//", "%", "<<", ">>"})


def _spellable(op: str, right: Expr) -> Expr:
    """A divisor or amount of the same effect that WGSL lets one write: no literal 0, no literal of 32 or more.

    A divisor 0 does what 1 does: x // 0 is x and x % 0 is 0.
    """
    if isinstance(right, Vector):
        return vector(*[_spellable(op, item) for item in right.items])
    if not isinstance(right, Const):
        return right
    number = right.value if op in ("//", "%") and right.value else 1 if op in ("//", "%") else int(right.value) & 31
    return const(number, right.dtype)


def _fold(op: str, left: Expr, right: Expr) -> Expr | None:
    """A constant or an operand that `left op right` equals, if that is plain to see."""
    # x / 0.0 -> x * inf: compilers may drop what is divided by a literal 0.
    if op == "/" and isinstance(right, Const) and right.value == 0:
        infinite = copysign(inf, right.value)  # a compiler may leave out what is divided by 0, and store nothing
        return const(left.value * infinite, left.dtype) if isinstance(left, Const) else left * infinite
    if isinstance(left, Const):
        if isinstance(right, Const):
            return _fold_constants(op, left, right)
        if left.dtype.kind in "iu" and right.lanes == 1:
            # 0 + x -> x, 0 | x -> x, 0 ^ x -> x; 0 * x, 0 // x, 0 % x, 0 & x, 0 << x, 0 >> x -> 0 (integers: no NaN, no
            # -0)
            if left.value == 0:
                return right if op in ("+", "|", "^") else left if op in ("*", "//", "%", "&", "<<", ">>") else None
            # 1 * x -> x
            if left.value == 1 and op == "*":
                return right
        elif left.dtype is bool_ and op in ("&", "|"):
            # true & x -> x, false & x -> false, false | x -> x, true | x -> true
            return right if bool(left.value) == (op == "&") else left
    elif isinstance(right, Const):
        if right.dtype.kind in "iu" and left.lanes == 1:
            if right.value == 0:
                # x + 0, x - 0, x | 0, x ^ 0, x << 0, x >> 0 -> x; x * 0, x & 0 -> 0
                neutral = op in ("+", "-", "|", "^", "<<", ">>")
                return left if neutral else right if op in ("*", "&") else None
            # x * 1, x // 1 -> x; x % 1 -> 0
            if right.value == 1:
                return left if op in ("*", "//") else const(0, right.dtype) if op == "%" else None
        elif right.dtype is bool_ and op in ("&", "|"):
            return left if bool(right.value) == (op == "&") else right
    # c & c -> c, c | c -> c
    elif left is right and left.dtype is bool_ and op in ("&", "|"):
        return left
    return None


def _fold_constants(op: str, left: Const, right: Const) -> Expr | None:
    if left.dtype.kind == "f" and op not in COMPARE:
        return None  # rounding is the device's business
    return const(FOLD[op](left.value, right.value), bool_ if op in COMPARE else left.dtype)


#: An operand that is no number, an array say, does the operation its own way: Python asks it next.
_NOT_OURS: Expr = NotImplemented


def operate(op: str, left: object, right: object = None) -> Expr:
    """The operators of Expr: Python numbers take the type of the other operand, arrays are left to NumPy."""
    if not isinstance(left, Weak) and not isinstance(right, Weak):
        return _operate(op, left, right)
    signed = op == "~" or (op == "-" and not isinstance(left, float))
    return meeting(partial(_operate, op), [left, right], fractions=op == "/", signed=signed, wraps=op in WRAPS)


def _operate(op: str, left: object, right: object) -> Expr:
    if (isinstance(left, Expr) and left.dtype.kind == "m") or (isinstance(right, Expr) and right.dtype.kind == "m"):
        return Expr._on_matrices(op, left, right)
    if right is None:
        assert isinstance(left, Expr)
        if left.dtype.kind == {"~": "f", "-": "b"}.get(op):
            raise KernelError(f"{user_place()}: {op} is not defined on {left.dtype}")
        return call(op, left) if op == "abs" else unary(op, left)
    if op == "**":
        return _power(left, right)
    like, amount = left if isinstance(left, Expr) else right, op in ("<<", ">>")
    assert isinstance(like, Expr)
    dtype, how = (SCALARS.get(type(right), i32), "<<") if amount else (like.dtype, op)
    one = left if isinstance(left, Expr) else _literal(left, like.dtype, op)
    other = right if isinstance(right, Expr) else _literal(right, dtype, how)
    if one is None or other is None:
        return _NOT_OURS
    left, right = (one, _amount(op, other)) if amount else _one_type(op, one, other)
    kind = left.dtype.kind
    if op in ("//", "%") and kind == "i" and not (least(left) >= 0 and least(right) >= 0):
        return _floor(op, left, right)
    wrong = kind not in "iu" if op in INTEGER else kind == "b" if op in ARITHMETIC else kind == "f" and op in BITS
    if wrong or (op == "/" and kind != "f"):
        raise KernelError(f"{user_place()}: {op} is not defined on {left.dtype}{INSTEAD.get((op, kind), '')}")
    if op == "<" and type(other) is Const and other.value == 0 and left.dtype is u32:
        _warn_of_sign(left)
    return binary(op, left, right)


def _warn_of_sign(value: Expr) -> None:
    """Warn where the sign of a difference is asked for that wraps below 0 instead: `i - 1 < 0`.

    `0 <= i - 1 < n` is right for what wraps, by its second comparison, and goes unwarned.
    """
    if isinstance(value, Binary) and value.op == "-" and Expr._may_wrap(value):
        difference, instead = Expr._written(value), f"{Expr._written(value.left)} < {Expr._written(value.right)}"
        message = (
            f"{user_place()}: {difference} < 0 is False everywhere: the difference of u32 values wraps below 0 and is "
            f"never negative; write {instead}, or subtract i32 values (gpu.cast)"
        )
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def _power(base: object, exponent: object) -> Expr:
    """`base ** exponent`: whole numbers from 1 to 16 by multiplication, for any base; others as WGSL's pow does it."""
    if isinstance(base, Expr) and isinstance(exponent, int) and not isinstance(exponent, bool) and 0 < exponent <= 16:
        power = base
        # Square and multiply, from the highest bit.
        for bit in f"{exponent:b}"[1:]:
            power = power * power * base if bit == "1" else power * power
        return power
    if isinstance(base, Expr | int | float) and isinstance(exponent, Expr | int | float):
        return call("pow", base, exponent)
    return _NOT_OURS


def _literal(value: object, dtype: DType, op: str = "") -> Expr | None:
    """The Python or NumPy scalar `value` as a literal of a type; of its own, where it has one that the GPU has.

    What the type does not hold is refused, unless `op` is right modulo 2^32 where its operands are.
    """
    if type(value) is int and 0 <= value < (2 if dtype is bool_ else U32_LIMIT // 2):  # each type holds it
        return const(value, dtype)
    if isinstance(value, Size):
        found: Expr = value.in_kernel()
        return cast(found, dtype)
    number, own = number_of(value), SCALARS.get(type(value), dtype)
    if own is not dtype and own.kind in "iu" and dtype.kind in "iu":
        raise KernelError(f"{user_place()}: {value!r} meets a {dtype} value; convert one with gpu.cast")
    if dtype is bool_ and number not in (None, 0, 1):
        raise KernelError(
            f"{user_place()}: {number!r} meets a bool; choose a number by it, gpu.select, or write == True"
        )
    if isinstance(number, float) and dtype.kind != "f" and not number.is_integer():
        raise KernelError(f"{user_place()}: {number!r} meets a {dtype} value; cast that value to f32 first")
    if number is not None and op not in WRAPS and (limits := beyond(number, own)):
        raise KernelError(f"{user_place()}: {number!r} meets a {own} value, {limits}; convert one with gpu.cast")
    return None if number is None else const(number, own)


def _amount(op: str, right: Expr) -> Expr:
    """The right operand of a shift: any integer, as a u32."""
    if right.dtype.kind not in "iu":
        raise KernelError(f"{user_place()}: {op} by a {right.dtype} value; an amount is a whole number")
    if isinstance(right, Const) and right.value < 0:
        raise KernelError(f"{user_place()}: {op} by {right.value}; shift the other way, by {-right.value}")
    return cast(right, u32)


def _one_type(op: str, left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Both operands in one type: f16 meets f32 in f32, anything else must be cast."""
    if left.dtype is right.dtype:
        return left, right
    if {left.dtype, right.dtype} == {f16, f32}:
        return cast(left, f32), cast(right, f32)
    if isinstance(left, Const) and left.dtype.kind in "iu" and right.dtype.kind in "iu":
        return const(left.value, right.dtype), right
    if isinstance(right, Const) and left.dtype.kind in "iu" and right.dtype.kind in "iu":
        return left, const(right.value, left.dtype)
    raise KernelError(f"{user_place()}: {op} of {left.dtype} and {right.dtype}; convert one with gpu.cast")


def least(value: Expr) -> int:
    """A cheap lower bound of an integer."""
    if value.dtype.kind == "u":
        return 0
    if isinstance(value, Const):
        return int(value.value)
    return value.lo if isinstance(value, Var | Param) else -(1 << 31)


def _floor(op: str, left: Expr, right: Expr) -> Expr:
    """Python's flooring // and % from the truncating ones, for i32."""
    remainder = binary("%", left, right)
    sign = right.value if isinstance(right, Const) else 0
    strange = binary("&", remainder != 0, (remainder ^ right) < 0)
    below = remainder < 0 if sign > 0 else remainder > 0 if sign < 0 else strange
    if op == "%":
        return select(below, remainder + right, remainder)
    quotient = binary("//", left, right)
    return select(below, quotient - 1, quotient)


def select(condition: Expr, then: Expr, other: Expr) -> Expr:
    """`then` where `condition` holds, else `other`."""
    if isinstance(condition, Const):
        return then if condition.value else other
    if then is other:
        return then
    then, other = _one_type("select", then, other)
    if then.dtype is bool_ and then.lanes == other.lanes == condition.lanes:  # `and`, `or`: proofs read them
        if other is condition or other is const(False, bool_):
            return binary("&", condition, then)
        if then is condition or then is const(True, bool_):
            return binary("|", condition, other)
    operands = condition, then, other
    return made(Select, then.dtype, max(then.lanes, other.lanes), operands, *operands)


def cast(value: Expr, dtype: DType, *, bits: bool = False) -> Expr:
    """`value` converted to `dtype`; with `bits`, its bits taken as one."""
    if isinstance(value, Weak):
        value = settled(value) if bits else value.known_in(dtype)
    if value.dtype is dtype:
        return value
    if bits and value.dtype.bits != dtype.bits:
        raise KernelError(f"{user_place()}: the bits of a {value.dtype} are not those of a {dtype}: widths differ")
    if isinstance(value, Const) and not bits:
        whole = value.dtype.kind == "f" and dtype.kind in "iu"
        return const(clamped(float(value.value), value.dtype, dtype) if whole else value.value, dtype)
    if isinstance(value, Const) and dtype.kind in "iu":  # Tint forgets the sign of a literal 0
        return const(np.array(value.value, value.dtype.numpy).view(dtype.numpy).item(), dtype)
    if isinstance(value, Cast) and value.dtype is f16 and not bits and has_halves(value.value):
        return cast(value.value, dtype)  # an f32 that is a value of f16
    if isinstance(value, Cast) and value.value.dtype is dtype and {dtype.kind, value.dtype.kind} <= {"i", "u"}:
        return value.value  # u32 and i32 have the same bits
    return made(Cast, dtype, value.lanes, (value,), value, bits)


def call(name: str, *operands: Expr | Number) -> Expr:
    """`name(operands)` for a name of IR_FUNCTIONS or SUBGROUP; numbers take the type of the first expression."""
    existing = arena().nodes.get((name, *map(id, operands)))
    if existing is not None:
        return existing
    if any(isinstance(a, Weak) for a in operands):
        if name not in SUBGROUP:
            return meeting(
                partial(_call, name), operands, fractions=name in IR_FUNCTIONS and IR_FUNCTIONS[name].on == "f"
            )
        operands = tuple([settled(a) if isinstance(a, Expr) else a for a in operands])
    return _call(name, *operands)


def _call(name: str, *operands: Expr | Number) -> Expr:
    like = next(a for a in operands if isinstance(a, Expr)).dtype
    name = name.removeprefix("nan_") if like.kind in "iu" else name
    numbers, wraps = (u32, "+") if name in SUBGROUP else (like, "")  # a shuffle's lane is a u32, whatever it moves
    args = _one_type_for_all(name, tuple([as_expr(a, numbers, wraps) for a in operands]))
    key = (name, *map(id, args))
    node = arena().nodes.get(key)
    if node is None:
        dtype, lanes = args[0].dtype, max([a.lanes for a in args])
        if name == BALLOT:
            dtype, lanes = u32, 4  # 128 bits
        elif isinstance(packed := IR_FUNCTIONS.get(name), Word):
            dtype, lanes = packed.dtype, packed.lanes
        node = interned(key, Call, dtype, lanes, args, name, args)
    return node


def _one_type_for_all(name: str, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The operands of a function as it wants them: of one type, floats where it is defined on those alone."""
    if name in SUBGROUP:
        check_subgroup(name, *args)
        return args[0], *[cast(x, u32) for x in args[1:]]
    taken = IR_FUNCTIONS.get(name)
    if taken is None:
        raise KernelError(
            f"{user_place()}: no function {name!r} on the GPU; there are {', '.join(sorted(IR_FUNCTIONS))}"
        )
    operands = taken_by(taken, name, taken.on, args)
    return tuple([cast(x, x.dtype.accumulator) for x in operands]) if isinstance(taken, Word) else operands


def taken_by(function: Function, name: str, kinds: str, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The operands of a function that takes these kinds, in one type: f16 meets f32 in f32."""
    kind = args[0].dtype
    if kind is bool_ and "b" not in kinds:
        raise KernelError(f"{user_place()}: {name} is not defined on bool; use & | ~ or gpu.select")
    if len(args) != function.arity:
        raise KernelError(
            f"{user_place()}: gpu.{function.in_kernels} takes {function.arity} operands, given are {len(args)}"
        )
    if kind.kind not in kinds:
        which = "f16 and f32" if kinds == "f" else "integers" if "f" not in kinds else "numbers"
        raise KernelError(f"{user_place()}: {name} is defined on {which}, not on {kind}; cast first")
    for other in args:
        if other.dtype is not kind and not (function.gives == "bool" and "b" in kinds):  # a truth of each
            if {a.dtype for a in args} == {f16, f32}:
                return tuple([cast(a, f32) for a in args])
            listed = ", ".join(str(a.dtype) for a in args)
            raise KernelError(f"{user_place()}: {name}({listed}): the operands differ in type; convert with gpu.cast")
    return args


Coordinates = tuple[tuple[Expr, ...], tuple[int | Expr, ...]]
"""The coordinates that chose an element, and the extent that each stays below."""
NO_COORDINATES: Coordinates = ((), ())


def load(
    buffer: Buffer,
    index: Expr,
    *,
    lanes: int = 1,
    where: Expr | None = None,
    place: str = "",
    at: Coordinates = NO_COORDINATES,
) -> Expr:
    """The read of `lanes` elements of `buffer`; `index` counts in units of `buffer.width` elements. `at` are the
    coordinates that chose the element, and their extents."""
    if isinstance(where, Const):
        if not where.value:
            return splat(const(0, buffer.dtype), lanes)
        where = None
    coordinates, shape = at
    sizes = tuple([id(n) if isinstance(n, Expr) else n for n in shape])
    key = ("load", id(buffer), id(index), lanes, id(where), sizes, *map(id, coordinates))
    node = arena().nodes.get(key)
    if node is None:
        operands = (index, *coordinates) if where is None else (index, where, *coordinates)
        own = buffer, index, where, place, coordinates, shape
        node = interned(key, Load, buffer.dtype, lanes, operands, *own)
    return node


def vector(*items: Expr) -> Expr:
    """The vector of `items`; the vector they are the lanes of, where they are that."""
    first = items[0]
    if len(items) == 1:
        return first
    if isinstance(first, Component) and first.value.lanes == len(items):
        whole = first.value
        if all(type(x) is Component and x.value is whole and x.lane is i for i, x in enumerate(items)):
            return whole
    key = ("vector", *map(id, items))
    node = arena().nodes.get(key)
    if node is None:
        node = interned(key, Vector, first.dtype, len(items), items, items)
    return node


def splat(value: Expr, lanes: int) -> Expr:
    """`value` in every lane."""
    return value if value.lanes == lanes else vector(*[value] * lanes)


def component(value: Expr, lane: int | Expr) -> Expr:
    """Lane `lane` of a vector; a scalar is its own only lane."""
    if isinstance(lane, Const):
        lane = int(lane.value)
    if value.lanes == 1:
        return value
    if isinstance(value, Vector) and isinstance(lane, int):
        return value.items[lane]
    return made(Component, value.dtype, 1, (value, lane) if isinstance(lane, Expr) else (value,), value, lane)


Expr._operate = staticmethod(operate)
