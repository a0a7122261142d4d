"""Junk calls of the public names beyond the layout room: tensors, `ops`, what `gpu` does on the host, pictures, texts,
and the command line.

A call gives a result or a CutepyError; a bare Python error, a call over a second (of processor time) or over 100 MiB is
a fault. `layout/junk_cases.py` does the same for layouts, `gpu/misuse.py` for what a kernel says.
"""

from __future__ import annotations

import io
import operator
import random
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

import numpy as np
from layout.junk_cases import POOL as LAYOUTS
from layout.junk_cases import fault

import cutepy
from cutepy import ComposedLayout, Layout, Swizzle, Tensor, draw, gpu, make_identity_tensor, make_tensor, ops
from cutepy.cli.main import main
from cutepy.tensor import functions

Thing = Callable[[random.Random], object]


@gpu.kernel
def doubled(x, y, *, c=2):
    gpu.launch(threads=8)
    y[gpu.thread] = x[gpu.thread] * c


def text(rng: random.Random) -> str:
    """A text that some door reads, or pieces of such."""
    pieces = (
        "(4,8):(8,1)", "zipped_divide(", "(8,8):(8,1)", ", (4,4))", "S<3,0,3> o 0 o ", "4:1", "_", "@", "a + b",
        "exp(a)", "**", "(", ")", "ij,jk->ik", "ii", "...", "f32", "u99", "\0", "\ud800", "9" * 400, "1e999", "é", "\n",
        "size(", "round_up=True", "x.npy", "--to", "cpp", "--json",
    )  # fmt: skip
    return "".join(rng.choice(pieces) for _piece in range(rng.choice((0, 1, 1, 2, 3))))


TYPES = "f2 f4 f8 i4 u4 u1 ? c8".split()
ARRAYS: list[Thing] = [
    lambda rng: np.ones(rng.choice(((), (0,), (1,), (4,), (4, 8), (2, 3, 4))), rng.choice(TYPES)),
    lambda rng: np.arange(32, dtype=np.float32).reshape(4, 8)[rng.choice((np.s_[:, ::2], np.s_[::-1], np.s_[:, :0]))],
    lambda rng: np.array(rng.choice((["a"], [None], ["2024-01-01"])), rng.choice((object, "U4"))),
    lambda rng: rng.choice((np.ma.masked_array([1.0, 2], [0, 1]), np.zeros(2, "M8[s]"), np.zeros(2, [("a", "f4")]))),
    lambda rng: rng.choice(([1.0, 2.0], [[1, 2], [3, 4]], [[1], [2, 3]], [], [[]], [1, "a"], (1, (2, 3)))),
    lambda rng: make_tensor(np.arange(32, dtype=np.float32), Layout((4, 8), (8, 1))),
    lambda rng: make_tensor(np.arange(24, dtype=rng.choice("f4 i4 u1 f8".split())).reshape(2, 3, 4)),
    lambda rng: rng.choice((make_identity_tensor((4, 8)), make_tensor("f32", 4), make_tensor(np.ones((), "f4")))),
]  # fmt: skip
WORDS: list[Thing] = [
    lambda rng: rng.choice((0, 1, 2, -1, 3, 7, 2**40, 10**30, -(2**31), True, False, None, 1.5, float("nan"), 1j)),
    lambda rng: rng.choice((np.float32(2), np.int64(3), np.bool_(True), np.float16(1), np.uint8(4))),
    lambda rng: rng.choice(((), (4, 8), (8, 4), (-1,), (0, 1), (1, 0), (2**20, 2**20), (2, (2, 2)), [4, 8])),
    lambda rng: rng.choice(("f32", "u32", "i8", "f64", "bool", np.float32, np.int32, "wgpu", "numpy", "interpreter")),
    lambda rng: rng.choice((object(), int, len, {}, {1}, range(4), b"4", doubled, lambda v: v, lambda: 1, gpu, ops)),
    text,
    *LAYOUTS,
]
NAMED: dict[str, Thing] = {
    "axis": lambda rng: rng.choice((0, 1, -1, 5, None, (0, 1), (0, 0), "x", 1.5)),
    "engine": lambda rng: rng.choice(("numpy", "interpreter", "cuda", 3, None)),
    "dtype": lambda rng: rng.choice(("f32", "u32", np.float64, "x", None, 3)),
    "out": lambda rng: rng.choice(ARRAYS)(rng),
    "keepdims": lambda rng: rng.choice((True, 1, "a")),
}
LOOK: dict[str, Thing] = {
    name: lambda rng: rng.choice([*WORDS, *ARRAYS])(rng)
    for name in (
        "title alt width cell_size background theme label color view heads palette highlight over threads values tile "
        "style caption legend element_bytes access_bytes lanes banks data steps trace compact"
    ).split()
}


def names() -> list[tuple[str, Callable[..., object], dict[str, Thing]]]:
    """Every public name beyond layouts that can be called, and the options that it may be given."""
    room = set(cutepy.layout.__all__)
    found: list[tuple[str, Callable[..., object], dict[str, Thing]]] = []
    for name in cutepy.__all__:
        thing = getattr(cutepy, name)
        error = isinstance(thing, type) and issubclass(thing, Exception)
        made = name == "Tensor"  # by make_tensor, which tests what it is given
        if name not in room and callable(thing) and not error and not made and name not in ("gpu", "ops"):
            found.append((name, thing, {}))
    for name in sorted({*ops.__all__, *functions.NAMED}):
        found.append((f"ops.{name}", getattr(ops, name), NAMED))
    host = (
        "array empty pointwise copy explain_matmul open_device Plan MatrixPlan Limits Complex Profile record "
        "profile static_type"
    )
    for name in host.split():
        found.append((f"gpu.{name}", getattr(gpu, name), NAMED if name in ("array", "empty") else {}))
    for name in ("wgsl", "cuda", "verify", "report", "interpret", "ir", "program", "steps"):
        found.append((f"kernel.{name}", getattr(doubled, name), {"c": lambda rng: rng.choice(WORDS)(rng)}))
    tensors = make_tensor(np.arange(32, dtype=np.float32), Layout((4, 8), (8, 1))), make_identity_tensor((4, 8))
    for tensor in tensors:
        for name in dir(Tensor):
            own = name[0] != "_" and name != "lift_layout"  # which takes a function of the package
            own = own or name in ("__call__", "__getitem__", "__setitem__", "__len__")
            if own and callable(getattr(tensor, name, None)):
                found.append((f"Tensor.{name}", getattr(tensor, name), {}))
    kinds = Layout((4, 8), (8, 1)), Swizzle(3, 0, 3), ComposedLayout(Swizzle(2, 0, 3), 0, Layout((4, 8)))
    for thing in kinds:
        found += [(f"{type(thing).__name__} {op}", of_layout(op, thing), {}) for op in OPERATORS]
    found += [("draw", drawn, LOOK)] * 6
    found += [(f"cutepy {command}", command_line(command), {}) for command in COMMANDS]
    return found


OPERATORS = "add sub mul truediv floordiv mod pow lshift rshift and_ or_ xor lt le gt ge neg pos abs invert".split()


def of_layout(op: str, layout: object) -> Callable[..., object]:
    """An operator of Python's on a layout and what is given, in either order."""
    function, alone = getattr(operator, op), op in ("neg", "pos", "abs", "invert")

    def run(*things: object) -> object:
        if alone:
            return function(layout)
        if len(things) == 1:
            return function(layout, things[0])
        first = things[0] if things else 2
        # Python's own rule: a text formats what stands behind its %.
        return None if op == "mod" and isinstance(first, str | bytes) else function(first, layout)

    return run


def drawn(*things: object, **options: object) -> None:
    """A picture in each form."""
    picture = draw(things[0] if things else Layout((4, 8), (8, 1)), **options)  # type: ignore[arg-type]
    picture.svg(), picture.text(), picture.html(), picture.tikz()


COMMANDS = ("print", "draw", "explain", "ask", "verify", "wgsl", "matmul", "figures", "completion")


def command_line(command: str) -> Callable[..., object]:
    """`cutepy COMMAND WORDS`, whose words are texts; it exits with a status, never with a traceback."""

    def run(*words: object) -> None:
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said), mock.patch("sys.stdin", io.StringIO("(4,8):(8,1)\n")):
            try:
                main([command, *(word if isinstance(word, str) else said_of(word) for word in words)])
            except SystemExit as end:
                if end.code not in (0, 1, 2, None):
                    raise RuntimeError(f"it ends with {end.code!r}") from end

    return run


def faults(count: int, seed: object) -> dict[tuple[str, str], str]:
    """The faults of `count` calls: by name and kind of error, the first call."""
    rng = random.Random(f"junk calls {seed}")
    gpu.array(np.ones(4, np.float32)).numpy()  # the drivers start once a process, and are no matter of a call
    called, found = names(), dict[tuple[str, str], str]()
    for number in range(count):
        name, call, options = called[number % len(called)] if number < 3 * len(called) else rng.choice(called)
        fits = rng.random() < 0.6
        operands = [
            rng.choice(ARRAYS if fits and rng.random() < 0.7 else WORDS)(rng)
            for _operand in range(rng.choice((0, 1, 1, 2, 2, 2, 3, 4)))
        ]
        chosen = rng.sample(list(options), min(len(options), rng.choice((0, 0, 1, 2))))
        named = {option: options[option](rng) for option in chosen}
        if said := fault(call, operands, named):
            given = [*map(said_of, operands), *(f"{key}={said_of(value)}" for key, value in named.items())]
            found.setdefault((name, said.partition(":")[0]), f"{name}({', '.join(given)}) -> {said}")
    return found


def said_of(thing: object) -> str:
    """A short text of an operand."""
    try:
        return repr(thing)[:80]
    except Exception as error:
        return f"<{type(thing).__name__}, whose repr raises {type(error).__name__}>"
