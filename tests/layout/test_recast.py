"""Other units, common layouts, nullspaces, moved domains: against brute force."""

from __future__ import annotations

from itertools import product as every

import pytest
from layout.cases import cases, generator, random_layout, values

from cutepy.errors import LayoutError
from cutepy.layout import (
    ComposedLayout,
    E,
    Layout,
    Swizzle,
    composition,
    congruent,
    domain_offset,
    downcast,
    flatten,
    max_common_layout,
    max_common_vector,
    nullspace,
    recast_layout,
    right_inverse,
    upcast,
)
from cutepy.layout.values.int_tuple import leaves

SOME = cases(200)


def flat_coordinates(layout: Layout) -> list[tuple[int, ...]]:
    return list(every(*map(range, leaves(layout.shape))))


def test_upcast_finds_the_unit_of_every_element() -> None:
    rng = generator("upcast")
    made = 0
    for _case in range(SOME):
        layout, count = random_layout(rng, 128), rng.choice((1, 2, 3, 4, 8))
        pairs = list(zip(leaves(layout.shape), leaves(layout.stride), strict=True))
        fitting = all(e == 1 or d % count == 0 or (d > 0 and count % d == 0) for e, d in pairs)
        per_unit = [count // d if 0 < d < count and count % d == 0 else 1 for _, d in pairs]
        inside = sum((min(e, k) - 1) * d for (e, d), k in zip(pairs, per_unit, strict=True) if k > 1)
        if not fitting or inside >= count:
            with pytest.raises(LayoutError, match="upcast"):
                upcast(layout, count)
            continue
        result = upcast(layout, count)
        made += 1
        assert congruent(result.shape, layout.shape)
        flat, fine = flatten(result), flatten(layout)
        assert leaves(flat.shape) == tuple(-(-e // k) for (e, _), k in zip(pairs, per_unit, strict=True))
        for crd in flat_coordinates(fine):
            units = tuple(x // k for x, k in zip(crd, per_unit, strict=True))
            assert sum(x * d for x, d in zip(crd, leaves(fine.stride), strict=True)) // count == sum(
                x * d for x, d in zip(units, leaves(flat.stride), strict=True)
            ), (layout, count)
    assert made > SOME // 4


def test_downcast_lists_the_finer_units() -> None:
    rng = generator("downcast")
    made = 0
    for _case in range(SOME):
        layout, count = random_layout(rng, 128), rng.choice((1, 2, 3, 4))
        try:
            result = downcast(layout, count)
        except LayoutError:
            assert sum(abs(d) == 1 and e > 1 for e, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True))
            continue
        made += 1
        finer = {count * offset + j for offset in values(layout) for j in range(count)}
        if 1 in leaves(layout.stride):
            assert set(values(result)) == finer, (layout, count)
            assert result.size == layout.size * count
            pairs = zip(leaves(layout.shape), leaves(layout.stride), strict=True)
            if all(e > 1 or d % count == 0 for e, d in pairs) and not has_partial(layout, result, count):
                assert upcast(result, count) == layout
        else:
            assert values(result) == [count * offset for offset in values(layout)]
    assert made > SOME // 2


def has_partial(layout: Layout, result: Layout, count: int) -> bool:
    """True where a stride of the finer layout lies within a unit, so that going back does not meet it."""
    return any(abs(d) > 1 and d * count % count for d in leaves(layout.stride)) or count == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: upcast(Layout(6, 3), 2), "stride 3"),
        (lambda: upcast(Layout(4, -1), 2), "goes down"),
        (lambda: upcast(Layout((2, 2), (1, 1)), 2), "carries"),
        (lambda: upcast(Layout(4), 0), "from 1"),
        (lambda: upcast(Layout(4), 2.0), "from 1"),
        (lambda: downcast(Layout((2, 2), (1, 1)), 2), "overlap"),
        (lambda: downcast(Layout(4, -1), 2), "-1"),
        (lambda: recast_layout(0, 8, Layout(4)), "bits"),
        (lambda: upcast((4, 8), 2), "not a layout"),
    ],
)
def test_what_cannot_be_recast(call: object, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        call()  # type: ignore[operator]


def test_recast() -> None:
    assert recast_layout(16, 8, Layout((8, 8), (8, 1))) == Layout((8, 4), (4, 1))
    assert recast_layout(8, 16, Layout((8, 4), (4, 1))) == Layout((8, 8), (8, 1))
    assert recast_layout(12, 8, Layout((6, 4), (1, 6))) == Layout((4, 4), (1, 4))
    assert upcast(Layout((4, 2), (0, 4)), 4) == Layout((4, 2), (0, 1))
    assert upcast(Layout((4, 3), (E(0), 4 * E(1))), 2) == Layout((2, 3), (E(0), 2 * E(1)))
    assert downcast(Layout((4, 3), (E(0), 2 * E(1))), 2) == Layout((8, 3), (E(0), 4 * E(1)))
    assert (
        str(upcast(ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8, 64), (64, 1))), 1)) == "S<3,4,3> o 0 o (8,64):(64,1)"
    )


def test_max_common_layout_is_common_and_largest() -> None:
    rng = generator("max common")
    wide = 0
    for _case in range(SOME):
        left = random_layout(rng, 96)
        right = left if rng.random() < 0.3 else random_layout(rng, 96)
        if rng.random() < 0.4:
            right = Layout(left.shape)
        common = max_common_layout(left, right)
        size = max_common_vector(left, right)
        assert common.size == size
        assert [left(common(i)) for i in range(size)] == list(range(size)) == [right(common(i)) for i in range(size)]
        assert all(common(i) < min(left.size, right.size) for i in range(size))
        wide += size > 1
        # no longer prefix of the right inverse of the smaller one is contiguous in the other
        if left.size < right.size:
            left, right = right, left
        inverse = right_inverse(right)
        longer = [n for n in range(size + 1, inverse.size + 1) if all(left(inverse(i)) == i for i in range(n))]
        for n in longer:
            with pytest.raises(LayoutError):
                composition(inverse, Layout(n, 1))
    assert wide > SOME // 4


def test_nullspace() -> None:
    rng = generator("nullspace")
    for _case in range(SOME):
        layout = random_layout(rng, 128, rng.choice((None, "zeros")))
        null = nullspace(layout)
        assert all(layout(null(i)) == 0 for i in range(null.size))
        assert len(set(values(null))) == null.size
        zeros = [e for e, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True) if d == 0]
        size = 1
        for extent in zeros:
            size *= extent
        assert null.size == size
        assert nullspace(null) == Layout(1, 0)


def test_domain_offset() -> None:
    rng = generator("domain offset")
    for _case in range(100):
        layout = flatten(random_layout(rng, 128))
        if not isinstance(layout.shape, tuple):
            continue
        crd = tuple(rng.randrange(extent) for extent in leaves(layout.shape))
        moved, offset = domain_offset(crd, layout)
        assert moved == layout and offset == layout(crd)
        swizzled = ComposedLayout(Swizzle(2, 0, 3), 5, layout)
        moved, offset = domain_offset(crd, swizzled)  # type: ignore[arg-type, assignment]
        other = tuple(rng.randrange(extent) for extent in leaves(layout.shape))
        both = tuple(a + b for a, b in zip(crd, other, strict=True))
        assert offset == 0 and moved(*other) == swizzled.outer(
            5 + sum(x * d for x, d in zip(both, leaves(layout.stride), strict=True))
        )  # type: ignore
