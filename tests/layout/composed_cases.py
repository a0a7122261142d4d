"""Random layouts with something outside, and for every operation of the algebra what it must give on them.

A *law* takes an operand and draws the rest of the call: it gives the call, to be made later, and a check of its result
by evaluating functions one coordinate at a time. The call may be refused with a CutepyError; anything else that it
raises, and any result that fails its check, is wrong. `tools/kinds.py` counts thousands of each, `test_composed.py`
some; both know the operations from `LAWS` and the kinds of operand from `KINDS`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product as every
from math import gcd, prod

from layout.cases import random_layout, random_operand, random_shape, random_strides, refold

import cutepy.layout as algebra
from cutepy.errors import CutepyError
from cutepy.layout import BitMap, ComposedLayout, E, Layout, Swizzle, _, make_composed_layout
from cutepy.layout.algebra.bits import columns_of
from cutepy.layout.values.composed import gives_coordinates
from cutepy.layout.values.coordinates import path_of, value_of
from cutepy.layout.values.int_tuple import IntTuple, as_tuple, leaves, prefix_product, product

AnyLayout = Layout | ComposedLayout
Check = Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class Call:
    """A call to be made later, perhaps on other operands."""

    function: Callable[..., object]
    operands: tuple[object, ...]

    def __call__(self) -> object:
        return self.function(*self.operands)


def call_of(function: Callable[..., object], *operands: object) -> Call:
    return Call(function, operands)


Case = tuple[Call, Check]
Law = Callable[[random.Random, AnyLayout], Case]


# The kinds of operand.


def random_swizzle(rng: random.Random, width: int = 8) -> Swizzle:
    bits = rng.randint(0, 3)
    base = rng.randint(0, max(0, width - 2 * bits))
    return Swizzle(bits, base, rng.choice((1, 1, -1)) * rng.randint(bits, max(bits, width - base - bits)))


def small_layout(rng: random.Random, size: int = 48) -> Layout:
    """A plain layout; half of them of powers of two, where bit matrices decide."""
    if rng.random() < 0.5:
        return random_layout(rng, size)
    shape = tuple(rng.choice((1, 2, 2, 4, 4, 8)) for _mode in range(rng.randint(1, 3)))
    return Layout(shape, random_strides(rng, shape, rng.choice(("compact", "permuted", "permuted", "zeros"))))


def plain(rng: random.Random) -> Layout:
    return small_layout(rng)


def swizzled(rng: random.Random) -> ComposedLayout:
    return perhaps_far(rng, random_swizzle(rng), 0, small_layout(rng))


def perhaps_far(rng: random.Random, outer: Swizzle | BitMap, offset: int, inner: Layout) -> ComposedLayout:
    """The three of them; one in ten in units of 2**60, so that 64 bits do not hold all offsets."""
    if rng.random() < 0.9:
        return ComposedLayout(outer, offset, inner)
    stride = refold([d << 60 for d in leaves(inner.stride)], inner.stride)
    return ComposedLayout(outer.zoomed(60), offset << 60, Layout(inner.shape, stride))


def random_bit_map(rng: random.Random, width: int = 6, singular: float = 0.0) -> BitMap:
    """A random matrix over F2, with an inverse but for a share of them."""
    count = rng.randint(1, width)
    while True:
        columns = tuple(rng.randrange(1 << count) for _bit in range(count))
        if rng.random() < singular or len({BitMap(columns)(x) for x in range(1 << count)}) == 1 << count:
            return BitMap(columns)


def mapped(rng: random.Random) -> ComposedLayout:
    return perhaps_far(rng, random_bit_map(rng, singular=0.2), rng.choice((0, 0, 0, 1, 4, 16)), small_layout(rng))


def with_offset(rng: random.Random) -> ComposedLayout:
    return perhaps_far(rng, random_swizzle(rng), rng.choice((1, 2, 4, 7, 8, 16, 32, 64)), small_layout(rng))


def after_layout(rng: random.Random) -> ComposedLayout:
    """A layout outside: of a size that the offsets fill, fall short of, or go beyond."""
    return ComposedLayout(small_layout(rng, 64), rng.choice((0, 0, 0, 1, 2, 4, 6)), small_layout(rng))


def chain(rng: random.Random) -> ComposedLayout:
    """Two or three functions outside; two in five are linear over F2 from end to end."""
    if rng.random() < 0.4:
        shape = tuple(rng.choice((2, 4, 4, 8)) for _mode in range(rng.randint(1, 2)))
        links: list[Swizzle | BitMap | Layout] = [random_swizzle(rng, 6), random_bit_map(rng)]
        links.append(Layout((8, 8), rng.choice(((8, 1), (1, 8)))))
        inner = ComposedLayout(rng.choice(links), 0, Layout(shape, random_strides(rng, shape, "permuted")))
        return make_composed_layout(rng.choice(links), 0, inner)
    layout = rng.choice((swizzled, with_offset, after_layout))(rng)
    for _link in range(rng.randint(1, 2)):
        outer = rng.choice((random_swizzle, random_swizzle, random_bit_map, small_layout, small_layout))(rng)
        layout = make_composed_layout(outer, rng.choice((0, 0, 1, 2, 4, 8)), layout)
    return layout


def axes_outside(rng: random.Random) -> ComposedLayout:
    """Coordinates of an index: several dimensions of what is linear, as in Triton, or not."""
    extents = tuple(rng.choice((1, 2, 4, 4, 8, 8)) for _axis in range(rng.randint(1, 3)))
    if rng.random() < 0.5:
        inner = ComposedLayout(random_bit_map(rng, 4), 0, Layout(extents, random_strides(rng, extents, "permuted")))
    else:
        inner = rng.choice((plain, swizzled, mapped, mapped, after_layout, chain))(rng)
    return make_composed_layout(algebra.make_identity_layout(extents), rng.choice((0, 0, 0, 2)), inner)


def basis(rng: random.Random) -> AnyLayout:
    """Strides along axes: an identity layout, or modes scaled, shared, of size 1; now and then a layout outside."""
    shape = tuple(rng.choice((1, 2, 3, 4, 4, 8)) for _mode in range(rng.randint(1, 3)))
    if rng.random() < 0.4:
        layout = algebra.make_identity_layout(shape)
    else:
        axes = [rng.randrange(3) for _mode in shape]
        layout = Layout(shape, tuple(rng.choice((1, 1, 2, 3, 4)) * E(axis) for axis in axes))
    if rng.random() < 0.2:
        extents = tuple(rng.choice((2, 3, 4, 8)) for _axis in range(3))
        return ComposedLayout(Layout(extents, random_strides(rng, extents, "permuted")), 0, layout)
    return layout


KINDS: dict[str, Callable[[random.Random], AnyLayout]] = {
    "plain": plain,
    "swizzle": swizzled,
    "bit map": mapped,
    "offset": with_offset,
    "layout outside": after_layout,
    "chain": chain,
    "basis strides": basis,
    "axes outside": axes_outside,
}


def any_operand(rng: random.Random) -> AnyLayout:
    return KINDS[rng.choice(list(KINDS))](rng)


# Evaluation: one coordinate at a time, and coordinates as codomain without their trailing zeros.


def normal(value: object) -> object:
    """An offset or a coordinate; axes that nothing moves along are not told from those that are not there."""
    if not isinstance(value, tuple):
        return value
    entries = [normal(entry) for entry in value]
    while entries and entries[-1] in (0, ()):
        entries.pop()
    return tuple(entries) if entries else 0


def at(layout: object, crd: object) -> object:
    return normal(layout(crd))  # type: ignore[operator]


def table(layout: AnyLayout) -> list[object]:
    return list(map(normal, values(layout)))


def values(layout: AnyLayout) -> list[object]:
    """Every value in order, by sums of steps: a law of its own, `evaluation`, holds calls to them."""
    outer, inner = parts(layout)
    inside: list[object] = [0]
    for extent, step in zip(leaves(inner.shape), leaves(inner.stride), strict=True):
        moves = [along(path_of(step), x * value_of(step)) for x in range(extent)]
        inside = [added(move, value) for move in moves for value in inside]
    return inside if isinstance(layout, Layout) else list(map(outer, inside))


def along(path: tuple[int, ...], number: int) -> object:
    """A number at its place of a coordinate; without a path an offset."""
    return (*[0] * path[0], along(path[1:], number)) if path else number


def index_of(layout: AnyLayout) -> Layout:
    """The layout that gives the index of every coordinate of `layout`."""
    return Layout(layout.shape, prefix_product(layout.shape))


def flat_coordinates(layout: AnyLayout) -> Iterator[tuple[int, ...]]:
    return every(*map(range, leaves(layout.shape)))


def evaluated(layout: AnyLayout, flat: tuple[int, ...]) -> object:
    return at(layout, refold(list(flat), layout.shape)) if isinstance(layout.shape, tuple) else at(layout, flat[0])


def parts(layout: AnyLayout) -> tuple[Callable[[object], object], Layout]:
    """The function outside, offset included, and the layout inside."""
    if isinstance(layout, Layout):
        return lambda value: value, layout
    return lambda value: applied(layout.outer, layout.offset + value if layout.offset else value), layout.inner  # type: ignore


def applied(function: object, value: object) -> object:
    """A function of an offset or a coordinate; axes that the coordinate does not have are 0."""
    if isinstance(value, tuple) and not isinstance(function.shape, tuple):
        value = value[0] if len(value) == 1 else value
    elif isinstance(value, tuple) and value:
        value = (*value, *[0] * (function.rank - len(value)))  # type: ignore[attr-defined]
    return function(value)  # type: ignore[operator]


# Operations that choose coordinates: `op(L)(i) == L(op(index)(i))`, where `index` numbers the coordinates of L.


def chooses(name: str, *arguments: object) -> Callable[[AnyLayout], Case]:
    def case(layout: AnyLayout) -> Case:
        function = getattr(algebra, name)

        def check(result: object) -> bool:
            chosen = function(index_of(layout), *arguments)
            return result.size == chosen.size and table(result) == [at(layout, i) for i in values(chosen)]  # type: ignore[attr-defined]

        return call_of(function, layout, *arguments), check

    return case


def random_mode(rng: random.Random, layout: AnyLayout) -> int:
    return rng.randrange(layout.rank)


def random_range(rng: random.Random, layout: AnyLayout) -> tuple[int, int]:
    begin = rng.randrange(layout.rank)
    return begin, rng.randint(begin + 1, layout.rank)


def random_tiler(rng: random.Random, layout: AnyLayout) -> object:
    """An integer, a layout, or one of them a mode; now and then something with a function outside."""
    roll = rng.random()
    if roll < 0.05:
        return any_operand(rng)
    if roll < 0.35:
        return rng.choice((1, 2, 2, 3, 4, 4, 6, 8))
    if roll < 0.6:
        return random_operand(rng, index_of(layout))
    entries: list[object] = []
    for extent in as_tuple(layout.shape):
        divisors = [d for d in range(1, product(extent) + 1) if product(extent) % d == 0]
        uneven = rng.randint(1, product(extent))
        entries.append(
            rng.choice((rng.choice(divisors), rng.choice(divisors), uneven, Layout(rng.choice(divisors)), _))
        )
    if rng.random() < 0.03:
        entries[0] = swizzled(rng)
    return tuple(entries[: rng.randint(1, len(entries))])


def coalesce_law(rng: random.Random, layout: AnyLayout) -> Case:
    profile = None if rng.random() < 0.6 else tuple(1 for _mode in range(rng.randint(1, layout.rank)))
    return chooses("coalesce", profile)(layout)


def unflatten_law(rng: random.Random, layout: AnyLayout) -> Case:
    flat = algebra.flatten(layout)  # type: ignore[arg-type]
    return chooses("unflatten", layout.shape if rng.random() < 0.7 else random_shape(rng))(flat)


def get_law(rng: random.Random, layout: AnyLayout) -> Case:
    return chooses("get", rng.choice((random_mode(rng, layout), layout.rank + 1)))(layout)


def select_law(rng: random.Random, layout: AnyLayout) -> Case:
    return chooses("select", *rng.sample(range(layout.rank), rng.randint(1, layout.rank)))(layout)


def composition_law(rng: random.Random, layout: AnyLayout) -> Case:
    """`layout` on the left (of a layout, a tiler, a composed layout) or on the right."""
    if rng.random() < 0.35:
        outer = any_operand(rng) if rng.random() < 0.2 else small_layout(rng, 96)
    elif rng.random() < 0.3:
        tiler = random_tiler(rng, layout)
        if not isinstance(tiler, (ComposedLayout, Layout)) and not (
            isinstance(tiler, tuple) and any(isinstance(entry, ComposedLayout) for entry in tiler)
        ):
            return chooses("composition", tiler)(layout)
        return call_of(algebra.composition, layout, tiler), lambda result: composes(layout, tiler, result)  # type: ignore
    else:
        outer = layout
        layout = any_operand(rng) if rng.random() < 0.3 else random_operand(rng, index_of(outer))
    return call_of(algebra.composition, outer, layout), lambda result: composes(outer, layout, result)  # type: ignore


def composes(outer: AnyLayout, inner: object, result: object) -> bool:
    """`result(c) == outer(inner(c))`, and the shape of the result refines that of `inner`."""
    if not isinstance(inner, (Layout, ComposedLayout)) or not algebra.compatible(inner, result):  # type: ignore
        return False
    return table(result) == [normal(applied(outer, value)) for value in values(inner)]


def divide_law(name: str) -> Law:
    def law(rng: random.Random, layout: AnyLayout) -> Case:
        tiler = random_tiler(rng, layout)
        if rng.random() < 0.1:
            layout, tiler = small_layout(rng), layout
        return chooses(name, tiler)(layout)

    return law


def domain_offset_law(rng: random.Random, layout: AnyLayout) -> Case:
    """`moved(c) + offset == layout(start + c)` while `start + c` stays inside the shape, mode by mode."""
    start = tuple(rng.randrange(product(extent)) for extent in as_tuple(layout.shape))
    if not all(isinstance(extent, int) for extent in as_tuple(layout.shape)) or not isinstance(layout.shape, tuple):
        start = tuple(0 for _mode in start)

    def check(result: object) -> bool:
        moved, offset = result  # type: ignore[misc]
        if normal(offset) != 0 and isinstance(layout, ComposedLayout):
            return False
        room = [range(product(e) - x) for e, x in zip(as_tuple(layout.shape), start, strict=True)]
        for crd in every(*room):
            there = tuple(x + y for x, y in zip(start, crd, strict=True))
            whole = at(layout, there if isinstance(layout.shape, tuple) else there[0])
            found = moved(crd if isinstance(layout.shape, tuple) else crd[0])
            if whole != normal(added(offset, found)):
                return False
        return True

    crd = start if isinstance(layout.shape, tuple) else start[0]
    return call_of(algebra.domain_offset, crd, layout), check  # type: ignore[arg-type]


def slice_law(rng: random.Random, layout: AnyLayout) -> Case:
    """`kept(c) + offset` is the layout at the coordinate with `c` in the places of `_`."""
    shape = as_tuple(layout.shape)
    crd = [rng.randrange(product(extent)) if rng.random() < 0.5 else _ for extent in shape]

    def check(result: object) -> bool:
        kept, offset = result  # type: ignore[misc]
        free = [mode for mode, entry in enumerate(crd) if entry is _]
        for inside in every(*[range(product(shape[mode])) for mode in free]):
            whole: list[object] = list(crd)
            for mode, entry in zip(free, inside, strict=True):
                whole[mode] = entry
            found = kept(inside)
            there = at(layout, tuple(whole) if isinstance(layout.shape, tuple) else whole[0])
            if there != normal(added(offset, found)):
                return False
        return True

    call = tuple(crd) if isinstance(layout.shape, tuple) else crd[0]
    if not isinstance(layout.shape, tuple) and call is not _:
        return chooses("flatten")(layout)
    if call is _:
        return call_of(algebra.slice_and_offset, _, layout), lambda found: table(found[0]) == table(layout)  # type: ignore
    return call_of(algebra.slice_and_offset, call, layout), check  # type: ignore[arg-type]


def slice_law_of(rng: random.Random, layout: AnyLayout) -> Case:
    """As `slice_and_offset`; of a layout without a function outside the offset is left out."""
    call, check = slice_law(rng, layout)
    if call.function is not algebra.slice_and_offset:
        return call, check
    crd, _layout = call.operands
    offset = algebra.slice_and_offset(crd, layout)[1]  # type: ignore[arg-type]
    return call_of(algebra.slice_, crd, layout), lambda result: check((result, offset))


def dice_law(rng: random.Random, layout: AnyLayout) -> Case:
    """The modes where there is a number, which are those that `slice_` leaves out."""
    call = slice_law(rng, layout)[0]
    if call.function is not algebra.slice_and_offset or not isinstance(layout.shape, tuple):
        return chooses("flatten")(layout)
    crd = call.operands[0]
    shape = as_tuple(layout.shape)
    entries = crd if isinstance(crd, tuple) else (_,) * len(shape)
    kept = [mode for mode, entry in enumerate(entries) if entry is not _]

    def check(result: object) -> bool:
        for inside in every(*[range(product(shape[mode])) for mode in kept]):
            whole = [0] * len(shape)
            for mode, entry in zip(kept, inside, strict=True):
                whole[mode] = entry
            if at(result, inside) != at(layout, tuple(whole)):
                return False
        return result.size == prod(product(shape[mode]) for mode in kept)  # type: ignore[attr-defined]

    return call_of(algebra.dice, crd, layout), check


# Operations on the layout inside; the function outside goes along.


def inside(name: str, *arguments: object) -> Callable[[AnyLayout], Case]:
    """The result is the function outside after the same operation on the layout inside."""

    def case(layout: AnyLayout) -> Case:
        function = getattr(algebra, name)
        outer, inner = parts(layout)

        def check(result: object) -> bool:
            expected = function(inner, *arguments)
            return result.shape == expected.shape and table(result) == [  # type: ignore[attr-defined]
                normal(outer(value)) for value in values(expected)
            ]

        return call_of(function, layout, *arguments), check

    return case


def product_law(name: str) -> Law:
    """As the product of the layout inside; and its first mode is the block."""
    whole = name in ("logical_product", "zipped_product", "tiled_product")

    def law(rng: random.Random, layout: AnyLayout) -> Case:
        tiler: object = small_layout(rng, 12) if rng.random() < 0.9 else rng.choice((2, 3, any_operand(rng)))
        call, check = inside(name, tiler)(layout)
        if not whole:
            return call, check
        return call, lambda result: check(result) and table(result[0]) == table(layout)  # type: ignore[index]

    return law


def tile_to_shape_law(rng: random.Random, layout: AnyLayout) -> Case:
    shape = tuple(product(extent) * rng.choice((1, 1, 2, 3)) for extent in as_tuple(layout.shape))
    order = tuple(rng.sample(range(len(shape)), len(shape)))
    return inside("tile_to_shape", shape, order)(layout)


def filter_zeros_law(rng: random.Random, layout: AnyLayout) -> Case:
    """The same at every coordinate that is 0 where the layout inside has stride 0; nothing else is left."""
    inner = parts(layout)[1]
    extents = [
        1 if step == 0 else extent for extent, step in zip(leaves(inner.shape), leaves(inner.stride), strict=True)
    ]

    def check(result: object) -> bool:
        coordinates = every(*map(range, extents))
        return leaves(result.shape) == tuple(extents) and all(  # type: ignore[attr-defined]
            evaluated(result, crd) == evaluated(layout, crd)  # type: ignore[arg-type]
            for crd in coordinates
        )

    return call_of(algebra.filter_zeros, layout), check  # type: ignore[arg-type]


def filter_law(rng: random.Random, layout: AnyLayout) -> Case:
    def check(result: object) -> bool:
        return table(result) == table(algebra.filter_zeros(layout))  # type: ignore[arg-type]

    return call_of(algebra.filter, layout), check  # type: ignore[arg-type]


def mode_like(rng: random.Random, layout: AnyLayout) -> Layout:
    """A layout whose values add to those of the layout inside."""
    if not any(path_of(step) for step in leaves(parts(layout)[1].stride)):
        return small_layout(rng, 8)
    extent = rng.choice((1, 2, 3, 4))
    return Layout(extent, rng.choice((1, 2, 4)) * E(rng.randrange(3)))


def extend_law(name: str) -> Law:
    """A mode more: what it brings is added inside."""

    def law(rng: random.Random, layout: AnyLayout) -> Case:
        function = getattr(algebra, name)
        mode: object = mode_like(rng, layout) if rng.random() < 0.8 else any_operand(rng)
        if rng.random() < 0.3:
            return inside(name, layout.rank + rng.randint(0, 2))(layout)
        outer, inner = parts(layout)

        def check(result: object) -> bool:
            if not isinstance(mode, Layout):
                return False
            for crd in every(range(inner.size), range(mode.size)):
                total = added(inner(crd[0]), mode(crd[1]))
                place = (*unfolded(inner, crd[0]), crd[1])
                if name == "prepend":
                    place = (crd[1], *unfolded(inner, crd[0]))
                if at(result, place) != normal(outer(total)):
                    return False
            return result.rank == inner.rank + 1  # type: ignore[attr-defined]

        return call_of(function, layout, mode), check

    return law


def unfolded(layout: Layout, index: int) -> tuple[IntTuple, ...]:
    return as_tuple(algebra.idx2crd(index, layout.shape))


def added(left: object, right: object) -> object:
    if isinstance(left, tuple) or isinstance(right, tuple):
        if 0 in (normal(left), normal(right)):
            return right if normal(left) == 0 else left
        return algebra.tuple_add(left, right)  # type: ignore[arg-type]
    return left + right  # type: ignore[operator]


def replace_law(rng: random.Random, layout: AnyLayout) -> Case:
    mode, new = random_mode(rng, layout), mode_like(rng, layout) if rng.random() < 0.8 else any_operand(rng)
    outer, inner = parts(layout)

    def check(result: object) -> bool:
        if not isinstance(new, Layout):
            return False
        extents = [product(extent) for extent in as_tuple(inner.shape)]
        extents[mode] = new.size
        for crd in every(*map(range, extents)):
            others = tuple(0 if axis == mode else x for axis, x in enumerate(crd))
            rest = inner(others) if isinstance(inner.shape, tuple) else 0
            if at(result, crd) != normal(outer(added(rest, new(crd[mode])))):
                return False
        return True

    return call_of(algebra.replace, layout, mode, new), check  # type: ignore[arg-type]


def make_layout_law(rng: random.Random, layout: AnyLayout) -> Case:
    other = mode_like(rng, layout)
    operands = rng.choice(((layout, other), (other, layout)))

    def check(result: object) -> bool:
        return all(
            at(result, crd) == normal(added(*[part(x) for part, x in zip(operands, crd, strict=True)]))
            for crd in every(range(operands[0].size), range(operands[1].size))
        )

    return call_of(algebra.make_layout, *operands), check  # type: ignore[call-overload]


def make_layout_like_law(rng: random.Random, layout: AnyLayout) -> Case:
    """Compact where the layout inside moves, in the order of its strides, and 0 where it does not move."""
    inner = parts(layout)[1]
    pairs = list(zip(leaves(inner.shape), leaves(inner.stride), strict=True))
    still = [e == 1 or d == 0 for e, d in pairs]
    moving = prod(e for (e, _d), stays in zip(pairs, still, strict=True) if not stays)

    def check(result: object) -> bool:
        steps = leaves(result.stride)  # type: ignore[attr-defined]
        order = [(abs(d), leaf) for leaf, (_e, d) in enumerate(pairs) if not still[leaf]]
        grown = [steps[leaf] for _step, leaf in sorted(order)]
        return (
            result.shape == inner.shape  # type: ignore[attr-defined]
            and all((step == 0) is stays for step, stays in zip(steps, still, strict=True))
            and grown == sorted(grown)
            and sorted(set(table(result))) == list(range(moving))  # type: ignore[type-var]
        )

    return call_of(algebra.make_layout_like, layout), check  # type: ignore[arg-type]


# Operations on the offsets: units, complements, inverses, what two layouts share.


def upcast_law(rng: random.Random, layout: AnyLayout) -> Case:
    return upcast_case(layout, rng.choice((1, 2, 2, 3, 4, 4, 8)))


def upcast_case(layout: AnyLayout, count: int, call: Call | None = None) -> Case:
    """`result(c // k) == layout(c) // count`, k elements of a mode filling one unit."""
    inner = parts(layout)[1]
    units = []
    for step in leaves(inner.stride):
        value = value_of(step)
        units.append(count // value if 0 < value < count and count % value == 0 else 1)

    def check(result: object) -> bool:
        expected = tuple(-(-e // k) for e, k in zip(leaves(layout.shape), units, strict=True))
        return leaves(result.shape) == expected and all(  # type: ignore[attr-defined]
            evaluated(result, tuple(x // k for x, k in zip(crd, units, strict=True)))  # type: ignore[arg-type]
            == normal(scaled(evaluated(layout, crd), lambda value: value // count))
            for crd in flat_coordinates(layout)
        )

    return call or call_of(algebra.upcast, layout, count), check  # type: ignore[arg-type]


def scaled(value: object, function: Callable[[int], int]) -> object:
    return tuple(scaled(entry, function) for entry in value) if isinstance(value, tuple) else function(value)  # type: ignore


def downcast_law(rng: random.Random, layout: AnyLayout) -> Case:
    return downcast_case(layout, rng.choice((1, 2, 2, 3, 4, 4)))


def downcast_case(layout: AnyLayout, count: int, call: Call | None = None) -> Case:
    """Every unit becomes `count` finer ones, one after the other along one mode; or the first of them is given."""

    def check(result: object) -> bool:
        pairs = list(zip(leaves(layout.shape), leaves(result.shape), strict=True))  # type: ignore[attr-defined]
        grown = [leaf for leaf, (old, new) in enumerate(pairs) if new != old]
        if count == 1 or not grown:
            return all(
                evaluated(result, crd) == normal(scaled(evaluated(layout, crd), lambda value: value * count))  # type: ignore
                for crd in flat_coordinates(layout)
            )
        [leaf] = grown
        path = path_of(leaves(parts(layout)[1].stride)[leaf]) if isinstance(layout, Layout) else ()
        for crd in flat_coordinates(layout):
            for j in range(count):
                fine = tuple(x * count + j if axis == leaf else x for axis, x in enumerate(crd))
                first = scaled(evaluated(layout, crd), lambda value: value * count)
                finer = added(first, (*(0 for _axis in range(path[0])), j)) if path else added(first, j)
                if evaluated(result, fine) != normal(finer):  # type: ignore[arg-type]
                    return False
        return pairs[leaf][1] == count * pairs[leaf][0]

    return call or call_of(algebra.downcast, layout, count), check  # type: ignore[arg-type]


def recast_law(rng: random.Random, layout: AnyLayout) -> Case:
    new, old = rng.choice(((8, 8), (16, 8), (32, 8), (64, 16), (8, 16), (8, 32), (4, 16), (12, 8), (8, 12), (24, 16)))
    common = gcd(new, old)

    call = call_of(algebra.recast_layout, new, old, layout)
    if new % old == 0:
        return upcast_case(layout, new // old, call)
    if old % new == 0:
        return downcast_case(layout, old // new, call)
    return (
        call,
        lambda result: (
            table(result) == table(algebra.downcast(algebra.upcast(layout, new // common), old // common))  # type: ignore
        ),
    )


def complement_law(rng: random.Random, layout: AnyLayout) -> Case:
    reach = rng.choice((24, 64, 96, 256))

    def check(result: object) -> bool:
        shifts, image = [result(i) for i in range(result.size)], {layout(i) for i in range(layout.size)}  # type: ignore
        reached = [shift + offset for shift in shifts for offset in image]  # type: ignore[operator]
        return shifts == sorted(set(shifts)) and len(set(reached)) == len(reached)

    if isinstance(parts(layout)[1].stride, tuple) and any(path_of(d) for d in leaves(parts(layout)[1].stride)):
        return complement_by_axis(layout)
    return call_of(algebra.complement, layout, reach), check  # type: ignore[arg-type]


def complement_by_axis(layout: AnyLayout) -> Case:
    def check(result: object) -> bool:
        shifts, image = table(result), set(table(layout))
        reached = [normal(added(shift, offset)) for shift in shifts for offset in image]
        return len(set(reached)) == len(image) * len(shifts)

    return call_of(algebra.complement, layout), check  # type: ignore[arg-type]


def right_inverse_law(rng: random.Random, layout: AnyLayout) -> Case:
    """`layout(R(i)) == i` for every i of R, which takes coordinates of the layout only."""

    def check(result: object) -> bool:
        if gives_coordinates(layout):
            return right_inverse_by_axis(layout, result)
        inside = [result(i) for i in range(result.size)]  # type: ignore[operator, attr-defined]
        return all(0 <= i < layout.size for i in inside) and [at(layout, i) for i in inside] == list(range(len(inside)))

    return call_of(algebra.right_inverse, layout), check  # type: ignore[arg-type]


def right_inverse_by_axis(layout: AnyLayout, result: object) -> bool:
    """A mode an axis: `layout(R(x)) == x` for every coordinate x of R."""
    crds = every(*[range(product(extent)) for extent in as_tuple(result.shape)])  # type: ignore[attr-defined]
    return all(at(layout, result(crd)) == normal(crd) for crd in crds)  # type: ignore[operator]


def left_inverse_law(rng: random.Random, layout: AnyLayout) -> Case:
    def check(result: object) -> bool:
        return all(at(layout, result(padded(layout(i), result))) == at(layout, i) for i in range(layout.size))  # type: ignore

    return call_of(algebra.left_inverse, layout), check  # type: ignore[arg-type]


def padded(value: object, inverse: object) -> object:
    """A coordinate with an entry for each mode of the inverse that takes it."""
    if not isinstance(value, tuple):
        return value
    return (*value, *[0] * (inverse.rank - len(value)))  # type: ignore[attr-defined]


def nullspace_law(rng: random.Random, layout: AnyLayout) -> Case:
    def check(result: object) -> bool:
        inside = [result(i) for i in range(result.size)]  # type: ignore[operator, attr-defined]
        if not all(at(layout, i) == 0 for i in inside) or len(set(inside)) < len(inside):
            return False
        linear = isinstance(layout, ComposedLayout) and not gives_coordinates(layout) and columns_of(layout) is not None
        return not linear or len(inside) == table(layout).count(0)

    return call_of(algebra.nullspace, layout), check  # type: ignore[arg-type]


def max_common_law(rng: random.Random, layout: AnyLayout) -> Case:
    """`left(R(i)) == i == right(R(i))`; of layouts of powers of two that are one to one, as far as that is so."""
    other = rng.choice((layout, any_operand(rng), Layout(layout.shape), parts(layout)[1]))
    left, right = rng.choice(((layout, other), (other, layout)))

    def check(result: object) -> bool:
        numbers = list(range(result.size))  # type: ignore[attr-defined]
        inside = [result(i) for i in numbers]  # type: ignore[operator]
        if not all(0 <= i < min(left.size, right.size) for i in inside):
            return False
        if [at(left, i) for i in inside] != numbers or [at(right, i) for i in inside] != numbers:
            return False
        return not is_f2(smaller_of(left, right)) or as_large_as_common(result.size, left, right)  # type: ignore[attr-defined]

    return call_of(algebra.max_common_layout, left, right), check  # type: ignore[arg-type]


def max_common_vector_law(rng: random.Random, layout: AnyLayout) -> Case:
    other = rng.choice((layout, any_operand(rng), Layout(layout.shape), parts(layout)[1]))
    left, right = rng.choice(((layout, other), (other, layout)))

    def check(result: object) -> bool:
        if is_f2(smaller_of(left, right)):
            return as_large_as_common(result, left, right)  # type: ignore[arg-type]
        places = [
            [{i for i in range(min(left.size, right.size)) if at(side, i) == n} for side in (left, right)]
            for n in range(result)
        ]  # type: ignore
        return result == 1 or all(in_left & in_right for in_left, in_right in places)

    return call_of(algebra.max_common_vector, left, right), check  # type: ignore[arg-type]


def is_f2(layout: AnyLayout) -> bool:
    """One to one, and linear over XOR: then its inverse is one of the prefixes of powers of two."""
    values = table(layout)
    if not all(isinstance(value, int) for value in values) or len(set(values)) < len(values):
        return False
    if len(values) & (len(values) - 1) or any(extent & (extent - 1) for extent in leaves(layout.shape)):
        return False
    return all(
        values[i] ^ values[j] == values[i ^ j] for i in range(len(values)) for j in (1, 2, 4, 8, 16, 32) if i >= j
    )  # type: ignore


def smaller_of(left: AnyLayout, right: AnyLayout) -> AnyLayout:
    """The one whose coordinates both have."""
    return left if left.size < right.size else right


def as_large_as_common(found: int, left: AnyLayout, right: AnyLayout) -> bool:
    """Up to n, 0, 1, ... n - 1 have the same places in both: n, or at least the power of two in it, is found."""
    where = {value: i for i, value in enumerate(table(smaller_of(left, right)))}
    count = 0
    while count in where and at(left, where[count]) == count == at(right, where[count]):
        count += 1
    return 1 << (count.bit_length() - 1) <= found <= count if count else found == 1


# Questions.


def question_law(name: str, answer: Callable[[AnyLayout], object]) -> Law:
    def law(rng: random.Random, layout: AnyLayout) -> Case:
        return call_of(getattr(algebra, name), layout), lambda result: result == answer(layout)

    return law


def codomain(layout: AnyLayout) -> tuple[int, set[object]]:
    values = table(layout)
    return len(values), set(values)


def all_reached(layout: AnyLayout) -> bool:
    """Every offset from the least to the greatest, axis by axis, is one that the layout gives."""
    distinct = codomain(layout)[1]
    flat = [value if isinstance(value, tuple) else (value,) for value in distinct]
    width = max(map(len, flat))
    columns = [[value[axis] if axis < len(value) else 0 for value in flat] for axis in range(width)]
    return prod(max(column) - min(column) + 1 for column in columns) == len(distinct)


def greatest(layout: AnyLayout) -> object:
    """cosize: one more than the greatest offset; of plain strides than the distance; of axes the product."""
    values = codomain(layout)[1]
    flat = [value if isinstance(value, tuple) else (value,) for value in values]
    width = max(map(len, flat))
    columns = [[value[axis] if axis < len(value) else 0 for value in flat] for axis in range(width)]
    least = [0 if isinstance(layout, ComposedLayout) else min(column) for column in columns]
    return prod(max(column) - low + 1 for column, low in zip(columns, least, strict=True))


def coshape_law(rng: random.Random, layout: AnyLayout) -> Case:
    return call_of(algebra.coshape, layout), lambda result: product(result) == greatest(layout)  # type: ignore


def offsets_law(rng: random.Random, layout: AnyLayout) -> Case:
    return call_of(lambda one: one.offsets(), layout), lambda result: result.ravel(order="F").tolist() == table(layout)  # type: ignore


def call_law(rng: random.Random, layout: AnyLayout) -> Case:
    """Evaluation itself, of integers and of coordinates: the function outside of what the layout inside gives."""
    numbers = range(layout.size)
    crds = [algebra.idx2crd(i, layout.shape) for i in numbers]
    expected = table(layout)
    return call_of(evaluated_at, layout, [*numbers, *crds]), lambda result: result == expected + expected


def evaluated_at(layout: AnyLayout, places: Iterable[object]) -> list[object]:
    return [at(layout, place) for place in places]


def from_offsets_law(rng: random.Random, layout: AnyLayout) -> Case:
    def check(result: object) -> bool:
        return table(result) == table(layout)

    return call_of(lambda one: Layout.from_offsets(one.offsets().ravel(order="F")), layout), check


def f2_law(rng: random.Random, layout: AnyLayout) -> Case:
    def check(result: object) -> bool:
        columns = [sum(row[j] << i for i, row in enumerate(result)) for j in range(len(result[0]))] if result else []  # type: ignore
        for i in range(layout.size):
            total = 0
            for j, column in enumerate(columns):
                total ^= column if i >> j & 1 else 0
            if total != at(layout, i):
                return False
        return True

    return call_of(algebra.to_f2, layout), check


LAWS: dict[str, Law] = {
    "evaluation": call_law,
    "offsets": offsets_law,
    "cosize": question_law("cosize", greatest),
    "coshape": coshape_law,
    "is_injective": question_law("is_injective", lambda layout: codomain(layout)[0] == len(codomain(layout)[1])),
    "is_surjective": question_law("is_surjective", all_reached),
    "is_bijective": question_law(
        "is_bijective", lambda layout: codomain(layout)[0] == len(codomain(layout)[1]) and all_reached(layout)
    ),
    "is_contiguous": question_law(
        "is_contiguous",
        lambda layout: (
            layout.size == 1
            or (
                all(isinstance(v, int) for v in table(layout))
                and all(b - a == 1 for a, b in zip(table(layout), table(layout)[1:], strict=False))
            )
        ),  # type: ignore
    ),
    "slice_and_offset": slice_law,
    "slice_": slice_law_of,
    "dice": dice_law,
    "domain_offset": domain_offset_law,
    "get": get_law,
    "select": select_law,
    "take": lambda rng, layout: chooses("take", *random_range(rng, layout))(layout),
    "group_modes": lambda rng, layout: chooses("group_modes", *random_range(rng, layout))(layout),
    "flatten": lambda rng, layout: chooses("flatten")(layout),
    "unflatten": unflatten_law,
    "append": extend_law("append"),
    "prepend": extend_law("prepend"),
    "replace": replace_law,
    "filter_zeros": filter_zeros_law,
    "filter": filter_law,
    "coalesce": coalesce_law,
    "make_layout": make_layout_law,
    "make_layout_like": make_layout_like_law,
    "composition": composition_law,
    "complement": complement_law,
    "right_inverse": right_inverse_law,
    "left_inverse": left_inverse_law,
    "nullspace": nullspace_law,
    "max_common_layout": max_common_law,
    "max_common_vector": max_common_vector_law,
    **{name: divide_law(name) for name in ("logical_divide", "zipped_divide", "tiled_divide", "flat_divide")},
    **{
        name: product_law(name)
        for name in (
            "logical_product",
            "zipped_product",
            "tiled_product",
            "flat_product",
            "blocked_product",
            "raked_product",
        )
    },
    "tile_to_shape": tile_to_shape_law,
    "upcast": upcast_law,
    "downcast": downcast_law,
    "recast_layout": recast_law,
    "to_f2": f2_law,
    "from_offsets": from_offsets_law,
}


@dataclass(slots=True)
class Outcome:
    """What became of the cases of one law and kind: how many were exact, refused, wrong, and the first of them."""

    exact: int = 0
    refused: int = 0
    wrong: int = 0
    first_wrong: str = ""
    reason: str = ""

    def counts(self, call: Callable[[], object], check: Check, said: str) -> None:
        """Make the call, and count what becomes of it."""
        try:
            result = call()
        except CutepyError as error:
            self.refused += 1
            self.reason = self.reason or str(error)
            return
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        else:
            fault = f"gives {result}"
            try:
                right = check(result)
            except Exception as error:
                right, fault = False, f"{fault}, whose check ends in {type(error).__name__}: {error}"
            if right:
                self.exact += 1
                return
        self.wrong += 1
        self.first_wrong = self.first_wrong or f"{said} {fault}"


def tried(name: str, kind: str, count: int, seed: object = 0) -> Outcome:
    """`count` random cases of a law on operands of a kind."""
    rng, outcome = random.Random(f"composed {name} {kind} {seed}"), Outcome()
    for number in range(count):
        layout = KINDS[kind](rng)
        call, check = LAWS[name](rng, layout)
        outcome.counts(call, check, f"{name}, {kind}, case {number}: {layout}")
    return outcome
