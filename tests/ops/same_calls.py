"""Random calls that `ops` on the host, `gpu` on the interpreter and a device must answer alike, wrong ones included.

A call is made three ways and what comes back is compared: type, shape and elements, or the kind and words of an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from ops.operands import random_operand, random_sizes, stretched

from cutepy import gpu, ops
from cutepy.errors import CutepyError
from cutepy.tensor.functions import FUNCTIONS

Operand = object
OPERATORS = {
    "add": "a + b", "sub": "a - b", "mul": "a * b", "div": "a / b", "floordiv": "a // b", "mod": "a % b",
    "power": "a ** b", "eq": "a == b", "ne": "a != b", "lt": "a < b", "le": "a <= b", "gt": "a > b", "ge": "a >= b",
    "logical_and": "a and b", "logical_or": "a or b", "bitwise_and": "a & b", "bitwise_or": "a | b",
    "bitwise_xor": "a ^ b", "neg": "-a", "logical_not": "not a", "bitwise_not": "~a", "minimum": "min(a, b)",
    "maximum": "max(a, b)", "left_shift": "a << b", "right_shift": "a >> b",
}  # fmt: skip
UNARY, BINARY, TERNARY = (
    {
        name: OPERATORS.get(name, f"{name}({', '.join('abc'[:count])})")
        for name, function in FUNCTIONS.items()
        if function.arity == count
    }
    for count in (1, 2, 3)
)
UNARY |= {f"astype_{name}": f"{name}(a)" for name in ("f16", "f32", "i32", "u32", "bool")}
NESTED = {
    "a // 2 + b": lambda a, b: ops.add(ops.floordiv(a, 2), b),
    "(a > b) + 1": lambda a, b: ops.add(ops.gt(a, b), 1),
    "a * b - a": lambda a, b: ops.sub(ops.mul(a, b), a),
    "where(a < b, a, 2.5) * 3": lambda a, b: ops.mul(ops.where(ops.lt(a, b), a, 2.5), 3),
}
REDUCTIONS = ("sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin")
TYPES = ("float16", "float32", "int32", "uint32", "bool")
HOST_TYPES = ("float64", "int8", "int16", "int64", "uint8", "uint16", "uint64", "complex64", "complex128")
ROUGH = {"float16": 4e-3, "float32": 4e-5}
"""Functions differ between devices by a few units in the last place, and f16 is computed in f32 in between or not."""
OF_ANGLES = ("sin", "cos", "tan")
DEVICE_ERROR = {
    "sin": 2**-11,
    "cos": 2**-11,
    "tan": 2**-10,
    "arcsin": 2**-11,
    "arccos": 2**-11,
    "arctan": 2**-11,
    "arctan2": 2**-10,
}
"""How far WGSL lets a device be from the exact value. Of angles it says so up to pi: beyond, their rounding adds."""


@dataclass(frozen=True)
class Call:
    """One call made through `ops`, and through `gpu` with an engine. `scale` is the size of what is added up."""

    name: str
    host: Callable[[], object]
    device: Callable[[str], object]
    scale: float = 0.0
    host_only: bool = False
    angles: np.ndarray | None = None
    """Of sines, and of a float remainder, the rounding of the operand adds to the error: it may be many turns."""

    @property
    def function(self) -> str:
        return self.name.partition("(")[0]

    def alike(self, found: Outcome, expected: Outcome, engine: str) -> bool:
        """Whether two outcomes agree, as far as the engine can; what WGSL has no type for, it refuses."""
        if self.host_only:
            refused = "no such element type on a GPU" in found.error
            return not expected.error.startswith("raw") and (refused or found.error == expected.error)
        error: np.ndarray | float = 0.0
        known = found.values is not None and expected.values is not None
        if self.function == "mod" and known and self.angles is not None:
            error = np.abs(self.angles) * 2**-22
        elif engine == "wgpu":
            error = DEVICE_ERROR.get(self.function, 0.0)
            if self.angles is not None and known:
                error = error + np.abs(self.angles) * 2**-22
                if self.function == "tan" and found.values.dtype.kind == "f":
                    turned = np.mod(np.arctan(found.values) - np.arctan(expected.values) + np.pi / 2, np.pi) - np.pi / 2
                    beyond = ~np.isfinite(expected.values) & ~np.isfinite(found.values)
                    return found.values.dtype == expected.values.dtype and bool(
                        (beyond | (np.abs(turned) <= error)).all()
                    )
        return alike(found, expected, self.scale, error)


@dataclass(frozen=True)
class Outcome:
    """What a call gave: elements, or an error."""

    values: np.ndarray | None
    error: str = ""

    def __str__(self) -> str:
        if self.values is None:
            return self.error
        return f"{self.values.dtype} {self.values.shape} {self.values.ravel()[:8].tolist()}"


def outcome(call: Callable[[], object]) -> Outcome:
    try:
        with np.errstate(all="ignore"):
            found = call()
    except CutepyError as error:
        said = str(error).partition(": ")[2]  # a formula names itself, then the function in it
        function, _colon, rest = said.partition(": ")
        return Outcome(None, f"{type(error).__name__}: {rest if function in FUNCTIONS else said}")
    except Exception as error:  # nothing but a CutepyError may come out of a call
        return Outcome(None, f"raw {type(error).__name__}: {error}")
    return Outcome(found.numpy() if hasattr(found, "numpy") else np.asarray(found))


def alike(one: Outcome, other: Outcome, scale: float, error: np.ndarray | float) -> bool:
    if one.values is None or other.values is None:
        return one.error == other.error and not one.error.startswith("raw")
    a, b = one.values, other.values
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    rough = ROUGH[a.dtype.name]
    with np.errstate(all="ignore"):
        x, y = a.astype(np.float64), b.astype(np.float64)
        near = np.abs(x - y) <= rough * np.maximum(np.abs(y), scale) + 1e-6 + error
    return bool((near | (x == y) | (np.isnan(x) & np.isnan(y))).all())


def number(rng: np.random.Generator, types: tuple[str, ...]) -> Operand:
    """A Python number (weak), now and then out of range for integers, or a NumPy scalar (which has a type)."""
    kind = rng.integers(10)
    if kind < 3:
        return int(rng.integers(-4, 9))
    if kind < 5:
        return float(rng.normal(0, 2)) if kind == 3 else 2.5
    if kind == 5:
        return bool(rng.integers(2))
    if kind == 6:
        return int(rng.choice([-3, 2**31 - 1, 2**31, 2**32 - 1, 2**32, -(2**31), -(2**31) - 1, 2**33, 0]))
    if kind == 7:
        return 10**400 if rng.random() < 0.2 else int(rng.choice([1, 2, 5]))
    return np.dtype(str(rng.choice(types))).type(rng.integers(0, 5))


def operands(rng: np.random.Generator, count: int, types: tuple[str, ...] = TYPES) -> list[Operand]:
    """Operands of shapes that broadcast, or now and then do not; of one type or of several; or numbers."""
    shape = random_sizes(rng)
    first = str(rng.choice(types))
    found: list[Operand] = []
    for at in range(count):
        if at and rng.random() < 0.3:
            found.append(number(rng, types))
            continue
        dtype = first if rng.random() < 0.6 else str(rng.choice(types))
        sizes = stretched(rng, shape) if rng.random() < 0.95 else random_sizes(rng)
        found.append(random_operand(rng, sizes, dtype)[0])
    order = rng.permutation(count) if rng.random() < 0.3 else range(count)
    return [found[at] for at in order]


def on_host_only(given: list[Operand]) -> bool:
    return any(str(getattr(getattr(x, "dtype", ""), "numpy", getattr(x, "dtype", ""))) in HOST_TYPES for x in given)


def elementwise_call(rng: np.random.Generator, types: tuple[str, ...] = TYPES) -> Call:
    tables = {1: UNARY, 2: BINARY, 3: TERNARY}
    count = int(rng.choice([1, 2, 3], p=[0.35, 0.55, 0.1]))
    table = tables[count]
    name = str(rng.choice(list(table)))
    given = operands(rng, count, types)
    if name.startswith("astype_"):
        wanted = name.partition("_")[2]
        host = lambda: ops.astype(given[0], wanted)  # noqa: E731
    else:
        host = lambda: getattr(ops, name)(*given)  # noqa: E731
    text = table[name]
    angles = np.asarray(given[0]).astype(np.float32) if name in (*OF_ANGLES, "mod") and types is TYPES else None
    return Call(
        f"{name}({described(given)})",
        host,
        lambda engine: gpu.pointwise(text)(*given, engine=engine),
        host_only=on_host_only(given),
        angles=angles,
    )


def nested_call(rng: np.random.Generator) -> Call:
    text = str(rng.choice(list(NESTED)))
    given = operands(rng, 2)
    return Call(
        f"{text} of ({described(given)})",
        lambda: NESTED[text](*given),
        lambda engine: gpu.pointwise(text)(*given, engine=engine),
        scale=100.0,
    )


def reduction_call(rng: np.random.Generator, types: tuple[str, ...] = TYPES) -> Call:
    name = str(rng.choice(REDUCTIONS))
    sizes = random_sizes(rng)
    operand, array = random_operand(rng, sizes, str(rng.choice(types)))
    rank = len(sizes)
    axes: object = None
    if rng.random() < 0.75:
        axes = tuple(int(axis) for axis in rng.permutation(rank)[: rng.integers(rank + 1)])
        if rank and rng.random() < 0.4:
            axes = np.int64(rng.integers(-rank, rank))
        if rng.random() < 0.06:
            axes = (0, 0) if rng.random() < 0.5 else rank
    keep = bool(rng.random() < 0.3)
    with np.errstate(all="ignore"):
        scale = float(np.nansum(np.abs(np.where(np.isfinite(array), array, 0))).astype(np.float64))
    return Call(
        f"{name}({described([operand])}, {axes}, keepdims={keep})",
        lambda: getattr(ops, name)(operand, axes, keepdims=keep),
        lambda engine: getattr(ops, name)(operand, axes, keepdims=keep, engine=engine),
        scale=scale if name in ("sum", "mean") else 0.0,
        host_only=on_host_only([operand]),
    )


def softmax_call(rng: np.random.Generator, types: tuple[str, ...] = TYPES) -> Call:
    sizes = random_sizes(rng, 1)
    operand, _array = random_operand(rng, sizes, str(rng.choice(types)))
    axis = int(rng.integers(-len(sizes), len(sizes) + (rng.random() < 0.1)))
    return Call(
        f"softmax({described([operand])}, {axis})",
        lambda: ops.softmax(operand, axis),
        lambda engine: ops.softmax(operand, axis, engine=engine),
        scale=1.0,
        host_only=on_host_only([operand]),
    )


def matmul_call(rng: np.random.Generator, types: tuple[str, ...] = TYPES) -> Call:
    m, n, k = (int(size) for size in rng.choice([0, 1, 2, 3, 5, 8], 3, p=[0.05, 0.15, 0.2, 0.2, 0.2, 0.2]))
    batch = random_sizes(rng, 0, 2) if rng.random() < 0.3 else ()
    first = str(rng.choice(types))
    second = first if rng.random() < 0.6 else str(rng.choice(types))
    inner = k if rng.random() < 0.95 else k + 1
    one = (*stretched(rng, batch), m, k) if rng.random() < 0.85 else (k,)
    other = (*stretched(rng, batch), inner, n) if rng.random() < 0.85 else (inner,)
    given = [random_operand(rng, one, first)[0], random_operand(rng, other, second)[0]]
    if rng.random() < 0.03:
        given[int(rng.integers(2))] = 2.5
    return Call(
        f"matmul({described(given)})",
        lambda: ops.matmul(*given),
        lambda engine: ops.matmul(*given, engine=engine),
        scale=60.0,
        host_only=on_host_only(given),
    )


def host_call(rng: np.random.Generator) -> Call:
    """A call with types that only the host has, some of the operands or all."""
    make = [elementwise_call, elementwise_call, reduction_call, softmax_call, matmul_call][int(rng.integers(5))]
    return make(rng, HOST_TYPES if rng.random() < 0.5 else HOST_TYPES + TYPES)


def described(given: list[Operand]) -> str:
    return ", ".join(
        f"{getattr(x, 'dtype', type(x).__name__)}{getattr(x, 'shape', '')}"
        if hasattr(x, "shape") and not isinstance(x, np.generic)
        else f"{type(x).__name__} {str(x)[:12]}"
        for x in given
    )


FAMILIES: dict[str, Callable[[np.random.Generator], Call]] = {
    "elementwise": elementwise_call,
    "nested": nested_call,
    "reduction": reduction_call,
    "softmax": softmax_call,
    "matmul": matmul_call,
    "host": host_call,
}
SHARE = [0.45, 0.1, 0.2, 0.05, 0.1, 0.1]


def call_of(seed: int) -> Call:
    rng = np.random.default_rng(seed)
    return FAMILIES[str(rng.choice(list(FAMILIES), p=SHARE))](rng)


def differences(seed: int, engines: list[str]) -> list[str]:
    """What is not alike between `ops` and each engine for the call of this seed."""
    call = call_of(seed)
    expected = outcome(call.host)
    found = []
    for engine in engines:
        got = outcome(lambda engine=engine: call.device(engine))
        if not call.alike(got, expected, engine):
            found.append(f"seed {seed}: {call.name}\n    ops:   {expected}\n    {engine}: {got}")
    return found
