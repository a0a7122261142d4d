"""Linear layouts as Triton has them: kernels, free bits, quotients, several output dimensions, against bases by hand.

A linear layout is here a list of bases: for each input dimension, for each of its bits, a step along every output.
"""

from __future__ import annotations

import random
from itertools import product as every

import pytest
from layout.cases import CASES, generator
from layout.composed_cases import Law, left_inverse_law, nullspace_law, right_inverse_law, table

from cutepy import (
    ComposedLayout,
    E,
    Layout,
    composition,
    coshape,
    free_bits,
    from_f2,
    is_bijective,
    left_inverse,
    make_composed_layout,
    make_identity_layout,
    nullspace,
    quotient,
    right_inverse,
    select,
)
from cutepy.errors import LayoutError

Steps = list[list[tuple[int, ...]]]
EACH = max(60, CASES // 10)


def random_bases(rng: random.Random, outs: tuple[int, ...], ranks: int, share: float = 0.15) -> Steps:
    """Bits of every input dimension, and where each goes; some nowhere."""
    return [
        [tuple(rng.randrange(out) if rng.random() > share else 0 for out in outs) for _bit in range(rng.randint(0, 3))]
        for _dimension in range(ranks)
    ]


def linear(bases: Steps, outs: tuple[int, ...]) -> ComposedLayout:
    """The layout of bases: its place in the whole, the first output fastest, and then the coordinate of that place."""
    places = [sum(s * product_of(outs[:axis]) for axis, s in enumerate(step)) for steps in bases for step in steps]
    shape = tuple(1 << len(steps) for steps in bases)
    rows = product_of(outs).bit_length() - 1
    place = from_f2([[p >> row & 1 for p in places] for row in range(rows)], shape) if places else Layout(shape)
    return make_composed_layout(make_identity_layout(outs), 0, place)


def product_of(extents: tuple[int, ...]) -> int:
    total = 1
    for extent in extents:
        total *= extent
    return total


def applied(bases: Steps, crd: tuple[int, ...]) -> tuple[int, ...]:
    found = [0] * max([len(step) for steps in bases for step in steps], default=1)
    for x, steps in zip(crd, bases, strict=True):
        for bit, step in enumerate(steps):
            if x >> bit & 1:
                found = [a ^ b for a, b in zip(found, step, strict=True)]
    return tuple(found)


def padded(value: object, width: int) -> tuple[int, ...]:
    entries = value if isinstance(value, tuple) else (value,)
    return (*entries, *[0] * (width - len(entries)))


def coordinates(bases: Steps) -> list[tuple[int, ...]]:
    return list(every(*[range(1 << len(steps)) for steps in bases]))


def random_outs(rng: random.Random) -> tuple[int, ...]:
    return tuple(rng.choice((2, 4, 8)) for _axis in range(rng.randint(1, 3)))


def test_several_output_dimensions() -> None:
    rng = generator("linear outputs")
    for _case in range(EACH):
        outs = random_outs(rng)
        bases = random_bases(rng, outs, rng.randint(1, 3))
        layout = linear(bases, outs)
        for crd in coordinates(bases):
            assert padded(layout(crd), len(outs)) == padded(applied(bases, crd), len(outs)), (layout, crd)
        # a part: fewer inputs and one output
        mode, axis = rng.randrange(len(bases)), rng.randrange(len(outs))
        part = composition(Layout(outs, tuple(int(at == axis) for at in range(len(outs)))), select(layout, mode))
        for x in range(1 << len(bases[mode])):
            crd = tuple(x if at == mode else 0 for at in range(len(bases)))
            assert part(x) == padded(applied(bases, crd), len(outs))[axis]


def test_inverses_of_several_output_dimensions() -> None:
    rng = generator("linear inverses")
    inverted = 0
    for _case in range(EACH):
        outs = random_outs(rng)
        bases = random_bases(rng, outs, 2, 0.0)
        layout = linear(bases, outs)
        values = [layout(crd) for crd in coordinates(bases)]
        back = left_inverse(layout)
        assert all(layout(back(value)) == value for value in values)
        if len(set(values)) == len(values) == product_of(outs):
            inverted += 1
            whole = right_inverse(layout)
            assert all(layout(whole(crd)) == crd for crd in every(*map(range, outs)))
            assert is_bijective(layout) and coshape(layout) == outs
    assert inverted


def test_coordinates_of_coordinates() -> None:
    """Axes scaled, exchanged, gone beyond: a layout of coordinates after another one."""
    rng, answers = generator("coordinates of coordinates"), 0
    for _case in range(20 * EACH):
        shape = tuple(rng.choice((1, 2, 3, 4, 8)) for _mode in range(2))
        axes = rng.sample((E(0), E(1)), 2)
        before = Layout(shape, tuple(rng.choice((1, 1, 2)) * axis for axis in axes))  # type: ignore[arg-type]
        extents = tuple(rng.choice((2, 3, 4)) for _axis in range(2))
        steps = rng.choice(((E(0), E(1)), (E(1), E(0)), (1, extents[0]), (extents[1], 1), (extents[1], -1)))
        layout = make_composed_layout(Layout(extents, steps), 0, before)  # type: ignore[arg-type]
        for law in (left_inverse_law, right_inverse_law, nullspace_law):
            call, holds = law(rng, layout)
            try:
                found = call()
            except LayoutError:
                continue
            answers += 1
            assert holds(found), f"{call.function.__name__}({layout}) = {found}"
            if law is nullspace_law:
                assert found.size == table(layout).count(0), f"nullspace({layout}) = {found}"  # type: ignore[attr-defined]
    assert answers > EACH


def test_kernels_and_free_bits() -> None:
    rng = generator("free bits")
    for _case in range(EACH):
        outs = random_outs(rng)
        bases = random_bases(rng, outs, rng.randint(1, 3), 0.4)
        layout = linear(bases, outs)
        masks, reached = [], {(0,) * len(outs)}
        for steps in bases:
            masks.append(0)
            for bit, step in enumerate(steps):
                masks[-1] |= (step in reached) << bit
                reached |= {tuple(a ^ b for a, b in zip(step, value, strict=True)) for value in reached}
        assert free_bits(layout) == tuple(masks), layout
        zeros = [i for i in range(layout.size) if not any(padded(layout(i), len(outs)))]
        kernel = nullspace(layout)
        assert sorted(kernel(i) for i in range(kernel.size)) == zeros


def test_quotients() -> None:
    rng = generator("quotients")
    for _case in range(EACH):
        outs = tuple(rng.choice((2, 4, 8)) for _axis in range(3))
        mode = rng.randrange(3)
        rest = [axis for axis in range(3) if axis != mode]
        bases: Steps = [[] for _mode in range(3)]
        for source in rest:
            for _bit in range(rng.randint(1, 3)):
                bases[source].append(tuple(rng.randrange(out) if axis != mode else 0 for axis, out in enumerate(outs)))
        bases[mode] = [
            tuple(int(axis == mode) << bit for axis in range(3)) for bit in range(outs[mode].bit_length() - 1)
        ]
        layout = linear(bases, outs)
        found = quotient(layout, mode)
        for crd in coordinates(bases):
            inside = tuple(crd[axis] for axis in rest)
            whole = padded(layout(crd), 3)
            assert whole[mode] == crd[mode] and padded(found(inside), 2) == tuple(whole[axis] for axis in rest)
        spoilt = [list(steps) for steps in bases]
        source = rng.choice([at for at in range(3) if spoilt[at]])
        bit = rng.randrange(len(spoilt[source]))
        wrong = [*spoilt[source][bit]]
        wrong[mode if source != mode else rng.randrange(3)] ^= 1
        spoilt[source][bit] = tuple(wrong)
        with pytest.raises(LayoutError, match=r"moves axis \d by"):
            quotient(linear(spoilt, outs), mode)


def test_what_has_no_quotient() -> None:
    with pytest.raises(LayoutError, match="gives a coordinate"):
        quotient(Layout((4, 4)), 3)
    with pytest.raises(LayoutError, match="no power of two"):
        quotient(make_identity_layout((3, 4)), 1)
    with pytest.raises(LayoutError, match="share a bit"):
        free_bits(Layout((4, 4), (1, 2)))


@pytest.mark.parametrize(("law", "text"), [
    (right_inverse_law, "(8,2,2):(1@1,1@0,1@0)"),
    (left_inverse_law, "(3,2,2):(4@0,1@2,1@2)"),
])  # fmt: skip
def test_an_axis_is_inverted_over_the_modes_that_move_it(law: Law, text: str) -> None:
    """Where they overlap, none that moves another axis may make up for them."""
    call, holds = law(random.Random(0), Layout.parse(text))
    assert holds(call())
