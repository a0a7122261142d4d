"""All of CuTe's own worked results, identical, or the same function where only size-1 modes are spelled differently.

`cute_results.txt` holds facts read off the tests of CuTe's compiler dialect, a line each: call => result.
What is not identical is listed in SPELLED (the same function) or DEVIATIONS (with the counter-example that decides).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import pytest

from cutepy.errors import LayoutError, UndecidedError
from cutepy.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    append,
    blocked_product,
    ceil_div,
    coalesce,
    complement,
    composition,
    cosize,
    crd2idx,
    dice,
    elem_less,
    flat_divide,
    flat_product,
    flatten,
    get,
    group_modes,
    idx2crd,
    increment_coord,
    left_inverse,
    logical_divide,
    logical_product,
    make_composed_layout,
    make_layout,
    make_layout_like,
    make_ordered_layout,
    parse_layout,
    parse_tiler,
    prepend,
    raked_product,
    recast_layout,
    right_inverse,
    select,
    shape,
    shape_div,
    size,
    slice_,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    tuple_add,
    tuple_sub,
    zipped_divide,
    zipped_product,
)
from cutepy.layout.values.int_tuple import product, product_each

RESULTS = Path(__file__).parent / "cute_results.txt"
MORE = Path(__file__).parent / "cute_more_results.txt"
ORIGINAL = Path(__file__).parents[3] / "shared" / "conformance" / "cute_results.txt"


def read(text: str) -> object:
    """An operand or a result: its kind, then its notation."""
    kind, notation = text.strip().split(" ", 1)
    if kind in ("layout", "composed_layout"):
        return parse_layout(notation)
    if kind == "swizzle":
        return Swizzle(*map(int, re.findall(r"-?\d+", notation)))
    return parse_tiler(notation)


def cases(file: Path = RESULTS) -> list[tuple[str, str]]:
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return [(call.strip(), result.strip()) for call, result in (line.split("=>") for line in lines)]


FUNCTIONS: dict[str, Callable[..., object]] = {
    function.__name__: function
    for function in (
        blocked_product, ceil_div, coalesce, complement, composition, flat_divide, flat_product, increment_coord,
        left_inverse, logical_divide, logical_product, make_composed_layout, make_layout, make_ordered_layout,
        raked_product, right_inverse, shape_div, tile_to_shape, tiled_divide, tiled_product, tuple_add, tuple_sub,
        zipped_divide, zipped_product, make_layout_like, idx2crd, crd2idx,
    )
}  # fmt: skip


def run(call: str, facts: Sequence[str] = ()) -> object:
    """The call as cutepy spells it: attributes in `<...>` are the modes, coordinates come first in `layout_eval`."""
    unknown = count()
    call = re.sub(r"\?", lambda _: f"u{next(unknown)}", call)  # each an unknown of its own
    name, *operands = (part.strip() for part in call.split("|"))
    attributes: list[int] = []
    if "<" in name:
        name, listed = name.split(" <")
        attributes = [int(number) for number in re.findall(r"\d+", listed)]
    values = [read(operand) for operand in operands]
    if facts and isinstance(values[0], (Layout, ComposedLayout)):
        values[0] = values[0].given(*facts)
    if name == "flatten":
        return flatten(values[0]) if isinstance(values[0], (Layout, ComposedLayout)) else flat(values[0])  # type: ignore
    if name == "group_modes":
        return group_modes(values[0], *attributes)  # type: ignore[arg-type]
    if name in ("slice", "dice"):
        return (slice_ if name == "slice" else dice)(values[1], values[0])  # type: ignore[call-overload]
    if name in ("select", "get"):
        return (select if name == "select" else get)(values[0], *attributes)  # type: ignore[operator]
    if name in ("append_to_rank", "prepend_to_rank"):
        return (append if name.startswith("app") else prepend)(values[0], values[1], *attributes)  # type: ignore
    if name == "recast_layout":
        return recast_layout(*attributes, values[0])  # type: ignore[call-arg, arg-type]
    if name == "get_shape":
        return shape(values[0])  # type: ignore[arg-type]
    if name == "elem_less":
        found = elem_less(*values)  # type: ignore[arg-type]
        return int(found) if isinstance(found, bool) else found
    if name in ("size", "cosize"):
        return (size if name == "size" else cosize)(values[0], *attributes)  # type: ignore[operator]
    if name == "layout_eval":
        return values[1](values[0])  # type: ignore[operator]
    if name == "tuple_product":
        return product(values[0])  # type: ignore[arg-type]
    if name == "tuple_product_each":
        return product_each(values[0])  # type: ignore[arg-type]
    return FUNCTIONS[name](*values)


def flat(tree: object) -> tuple[object, ...]:
    return tuple(leaf for entry in tree for leaf in flat(entry)) if isinstance(tree, tuple) else (tree,)


def same_function(left: object, right: object) -> bool:
    """Layouts of equal size with the same value everywhere."""
    if not isinstance(left, (Layout, ComposedLayout)) or not isinstance(right, (Layout, ComposedLayout)):
        return False
    return left.size == right.size and all(left(i) == right(i) for i in range(left.size))


SPELLED: frozenset[str] = frozenset()
"""Calls whose result is the same function with size-1 modes spelled differently. None is."""

DEVIATIONS = {
    "flat_divide | layout ((8,8),(8,8),1):((512,64),(1,8),4096) | tile [128:1;128:1]": (
        "a tile of 128 over a mode of 64: CuTe's result has 128 * 128 coordinates, the layout 64 * 64; cutepy refuses"
    ),
    "tiled_divide | layout ((8,8),(8,8),1):((512,64),(1,8),4096) | tile [128:1;128:1]": "as flat_divide",
    "zipped_divide | layout ((8,8),(8,8),1):((512,64),(1,8),4096) | tile [128:1;128:1]": "as flat_divide",
    "tuple_sub | int_tuple ((5,8),(3,4)) | int_tuple ((1,2),(1,1,1))": (
        "0 - 1 is written 1: adding the right operand again gives ((5,8),(3,4,2)), not ((5,8),(3,4)); cutepy gives -1"
    ),
}
"""Calls where CuTe's result breaks the law of the operation, and how."""


@pytest.mark.parametrize(("call", "result"), cases(), ids=[call for call, _result in cases()])
def test_cute_gives_the_same(call: str, result: str) -> None:
    expected = read(result)
    if call in DEVIATIONS:
        return check_deviation(call, expected)
    found = run(call)
    if call in SPELLED:
        assert found != expected and same_function(found, expected)
    else:
        assert found == expected and repr(found) == repr(expected)


OTHERWISE = {
    "slice | composed_layout S<3,4,3> o 0 o (64,128):(1,64) | coord (1,_)": "the offset 1 of the slice is kept inside",
    "slice | composed_layout S<3,4,3> o 0 o (16,8):(1,16) | coord (_,1)": "the offset 16 is kept, and the swizzle",
    "slice | composed_layout S<3,2,4> o 0 o ((1,(16,1)),(1,(4,8))):((0,(4,0)),(0,(1,64))) | coord (?,_)": (
        "the offset is kept inside, and with it the swizzle; CuTe takes it out and gives strides that depend on it"
    ),
}
"""Results that are another layout by decision: CuTe's slices of composed layouts leave out where they start."""


ASKED = {
    "recast_layout <32,8> | layout (?,4):(1,?)",
    "recast_layout <32,16> | layout (?,4):(1,?)",
    "recast_layout <32,16> | layout ?:?",
    "recast_layout <8,32> | layout (?,4):(1,?)",
    "recast_layout <8,32> | layout ?:?",
    "make_layout_like | layout (8,?,4,?):(?,?,?,1)",
    "make_layout_like | layout (?,?):(?,?)",
    "make_layout_like | composed_layout S<3,4,3> o 6 o (?,2):(2,?)",
}
"""Results that depend on sizes that are not known: CuTe's hold for some sizes only."""


@pytest.mark.parametrize(("call", "result"), cases(MORE), ids=[call for call, _result in cases(MORE)])
def test_cute_gives_the_same_of_other_operations(call: str, result: str) -> None:
    """Where CuTe has a number there is that number; where it computes one later, there is one, or an expression.

    Where the answer depends on what is not known, facts are asked for; with them it is CuTe's.
    """
    facts: list[str] = []
    found: object = None
    while found is None:
        try:
            found = run(call, facts)
        except UndecidedError as error:
            assert error.fact not in facts
            facts.append(error.fact)
    assert (len(facts) > 0) is (call in ASKED)
    if call in OTHERWISE:
        assert isinstance(found, ComposedLayout) and not same(found, read(result))
    else:
        assert same(found, read(result)), found


def same(ours: object, theirs: object) -> bool:
    """Equal, an unknown of theirs standing for anything that is not nested."""
    if isinstance(theirs, Layout):
        return isinstance(ours, Layout) and same((ours.shape, ours.stride), (theirs.shape, theirs.stride))
    if isinstance(theirs, ComposedLayout):
        return isinstance(ours, ComposedLayout) and (
            (ours.outer, ours.offset) == (theirs.outer, theirs.offset) and same(ours.inner, theirs.inner)
        )
    if isinstance(theirs, tuple):
        return isinstance(ours, tuple) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    if hasattr(theirs, "free_symbols"):
        return isinstance(ours, int) or hasattr(ours, "free_symbols")
    return ours == theirs and type(ours) is type(theirs)


def check_deviation(call: str, theirs: object) -> None:
    """That CuTe's result breaks the law, and that cutepy's does not."""
    values = [read(operand) for operand in call.split("|")[1:]]
    if call.startswith("tuple_sub"):
        ours = run(call)
        assert tuple_add(ours, values[1]) == ((5, 8), (3, 4, 0))  # type: ignore[arg-type]
        assert tuple_add(theirs, values[1]) == ((5, 8), (3, 4, 2))  # type: ignore[arg-type]
        return
    assert isinstance(theirs, Layout) and isinstance(values[0], Layout)
    assert theirs.size == 128 * 128 != values[0].size
    with pytest.raises(LayoutError, match="128"):
        run(call)


def test_every_listed_call_is_a_case() -> None:
    calls = {call for call, _result in cases()}
    assert set(DEVIATIONS) | SPELLED <= calls and len(calls) >= 264
    more = {call for call, _result in cases(MORE)}
    assert set(OTHERWISE) <= more and len(more) >= 150


@pytest.mark.skipif(not ORIGINAL.exists(), reason="the results that this file copies are not beside the checkout")
def test_the_copy_is_the_original() -> None:
    assert RESULTS.read_text() == ORIGINAL.read_text()


def test_composition_keeps_its_law_on_all_results() -> None:
    checked = 0
    for call, _result in cases():
        name, *operands = (part.strip() for part in call.split("|"))
        values = [read(operand) for operand in operands]
        if name == "composition" and all(isinstance(value, Layout) for value in values):
            outer, inner = values
            assert isinstance(inner, Layout) and isinstance(outer, Layout)
            made = composition(outer, inner)
            assert [made(i) for i in range(inner.size)] == [outer(inner(i)) for i in range(inner.size)], call
            checked += 1
    assert checked >= 28, checked
