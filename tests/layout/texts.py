"""Layouts of every kind, written in every notation; calls of operations around them, with what Python makes of them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from layout.cases import random_layout, random_shape, random_strides, refold

from cutepy.errors import CutepyError, LayoutError
from cutepy.layout import (
    Chained,
    ComposedLayout,
    E,
    Layout,
    Swizzle,
    make_composed_layout,
    make_layout,
    make_ordered_layout,
)
from cutepy.layout.text.meaning import functions
from cutepy.layout.text.parse import parse_expression
from cutepy.layout.text.syntax import Token, Tokens
from cutepy.layout.values.int_tuple import leaves


def tokens_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From where on tokens are read from now on, one entry a token."""
    read: list[int] = []
    token = Tokens._read

    def counted(self: Tokens, at: int) -> Token:
        read.append(at)
        return token(self, at)

    monkeypatch.setattr(Tokens, "_read", counted)
    return read


def any_layout(rng: random.Random) -> Layout | ComposedLayout:
    """Plain, basis-strided, swizzled and chained layouts."""
    layout = random_layout(rng)
    kind = rng.random()
    if kind < 0.2:
        shape = random_shape(rng)
        steps = [
            rng.choice((1, 1, 5, -3, 17)) * E(*(rng.randrange(3) for _axis in range(rng.randint(1, 3))))
            for _leaf in leaves(shape)
        ]
        return Layout(shape, refold(steps, shape))  # type: ignore[arg-type]
    if kind < 0.4:
        return ComposedLayout(random_swizzle(rng), rng.choice((0, 0, 5)), layout)
    if kind < 0.5:
        return ComposedLayout(random_layout(rng), rng.choice((0, 2)), layout)
    if kind < 0.6:
        return ComposedLayout(Chained(random_layout(rng), rng.choice((0, 3)), random_swizzle(rng)), 0, layout)
    return layout


def random_swizzle(rng: random.Random) -> Swizzle:
    bits = rng.randint(0, 3)
    return Swizzle(bits, rng.randint(0, 4), rng.choice((1, -1)) * rng.randint(bits, 5))


def basis_or_chain(layout: Layout | ComposedLayout) -> bool:
    if isinstance(layout, ComposedLayout):
        return not isinstance(layout.outer, (Swizzle, Layout)) or basis_or_chain(layout.inner)
    return any(not isinstance(step, int) for step in leaves(layout.stride))


WRITERS = {
    "str": str,
    "repr": repr,
    "to_cpp": lambda layout: layout.to_cpp(),
    "to_pycute": lambda layout: layout.to_pycute(),
    "to_latex": lambda layout: layout.to_latex(),
    "cute print": lambda layout: static(str(layout)),
    "tensor-layouts": lambda layout: str(layout).replace(",", ", ").replace(":", " : "),
    "mojo": lambda layout: str(layout) if isinstance(layout, ComposedLayout) else f"({str(layout).replace(',', ', ')})",
}


def static(text: str) -> str:
    """CuTe's print of static integers: `_N`, and `Sw` for a swizzle."""
    words = re.split(r"(S<[^>]*>|@\d+)", text)
    return "".join(
        word.replace("S<", "Sw<")
        if word.startswith("S<")
        else word
        if word.startswith("@")
        else re.sub(r"(-?\d+)", r"_\1", word)
        for word in words
    )


def written(rng: random.Random, layout: Layout | ComposedLayout, tiler: bool) -> str:
    """A layout in one of the notations that have it. As a tiler, `(4:1)` is a tuple of one layout."""
    while True:
        writer = rng.choice(list(WRITERS))
        try:
            if not (tiler and writer == "mojo"):
                return WRITERS[writer](layout)
        except LayoutError:
            continue


def small_layout(rng: random.Random) -> Layout | ComposedLayout:
    """A layout of up to 64 coordinates, mostly plain; now and then with an unknown size."""
    kind = rng.random()
    if kind < 0.1:
        return Layout.parse(rng.choice(["(M,8):(8,1)", "(4,N)", "((M,2),N):((1,M),2*M)"]))
    shape = random_shape(rng, 64, depth=2, rank=3)
    plain = Layout(shape, random_strides(rng, shape))
    return plain if kind < 0.8 else make_composed_layout(random_swizzle(rng), rng.choice((0, 0, 3)), plain)


def random_call(rng: random.Random, depth: int, tiler: bool = False) -> tuple[str, object]:
    """A text and what it means: a layout, or the error that Python raises for it."""
    if depth == 0:
        layout = small_layout(rng)
        return written(rng, layout, tiler), layout
    name = rng.choice([*functions(), "make_ordered_layout", "make_layout", "make_composed_layout", "chain", "tensor"])
    text, first = random_call(rng, 0 if name.endswith("inverse") else depth - 1)  # inverses of products take minutes
    blank = rng.choice(["", " "])
    if name == "tensor":
        return f"tensor<gmem_ptr[32b](0x7f) o {text}>", first
    if name == "make_layout":
        other, second = random_call(rng, rng.randrange(depth))
        return f"make_layout({text},{blank}{other})", computed(make_layout, first, second)
    if name in ("chain", "make_composed_layout"):
        swizzle, offset = random_swizzle(rng), rng.choice((0, 5))
        joined = computed(make_composed_layout, swizzle, offset, first)
        if name == "chain":
            return f"{swizzle} o {offset} o {text}", joined
        return f"make_composed_layout({rng.choice([str, repr])(swizzle)},{blank}{offset}, {text})", joined
    texts, further = operands(rng, name, depth)
    if name == "make_ordered_layout":
        return f"{name}({f',{blank}'.join(texts)})", computed(make_ordered_layout, *further)
    return f"{name}({f',{blank}'.join([text, *texts])})", computed(functions()[name], first, *further)


def operands(rng: random.Random, name: str, depth: int) -> tuple[list[str], list[object]]:
    """What a function takes after its layout, as texts and as values."""
    shape = rng.choice([2, 4, (2, 2), (4, 2), (2, (2, 2)), (3,)])
    layouts = (
        name in ("composition", "blocked_product", "raked_product", "logical_product", "max_common_layout")
        or rng.random() < 0.2
    )
    values: list[object] = {
        "make_ordered_layout": [(4, 2, 3), rng.choice([(2, 0, 1), (0, 1, 2)])],
        "tile_to_shape": [rng.choice([(16, 16), 64])],
        "complement": [rng.choice([64, 100])],
        "group_modes": [0, 2],
        "take": [0, rng.choice([1, 2])],
        "select": [rng.randrange(2)],
        "get": [0],
    }.get(name, [shape])
    if name in ("filter", "filter_zeros", "flatten", "make_layout_like", "left_inverse", "right_inverse", "coalesce"):
        values = []
    elif layouts and name.endswith(("product", "divide", "composition", "common_layout")):
        text, value = random_call(rng, rng.randrange(depth), tiler=True)
        return [text], [value]
    return [str(value).replace(" ", rng.choice(["", " "])) for value in values], values


def computed(function: Callable[..., object], *arguments: object) -> object:
    """The result, or the error."""
    failed = next((argument for argument in arguments if isinstance(argument, Exception)), None)
    try:
        return failed or function(*arguments)
    except (CutepyError, TypeError, ValueError) as error:
        return error


def misread(rng: random.Random, depth: int) -> str | None:
    """A random call whose text means something else than the same call in Python; "" where both refuse it."""
    text, value = random_call(rng, depth)
    try:
        found: object = parse_expression(text).value
    except CutepyError as error:
        return "" if isinstance(value, Exception) else f"{text}: refused, {error}"
    return None if found == value else f"{text}: read as {found}, not {value}"
