"""Maps of bits: linear over F2, said, composed, inverted, printed, read back, drawn and used in kernels."""

import random

import pytest
from layout.bit_map_cases import failing, invertible, unused

from cutepy import BitMap, Layout, Swizzle, draw, gpu, make_composed_layout
from cutepy.errors import LayoutError
from cutepy.layout.values.bit_map import named
from cutepy.lazy import numpy as np

RANDOM = [invertible(random.Random(seed), 3 + seed % 8) for seed in range(120)]


@pytest.mark.parametrize("f", RANDOM[:16], ids=str)
def test_what_a_map_of_bits_is(f: BitMap) -> None:
    for x in range(min(f.span, 64)):
        for y in range(0, f.span, 7):
            assert f(x ^ y) == f(x) ^ f(y)
        assert f(x + 3 * f.span) == f(x) + 3 * f.span  # nothing leaves its block
    assert sorted(map(f, range(f.span))) == list(range(f.span))
    assert [f(x) for x in range(f.lowest)] == list(range(f.lowest)) and (f(f.lowest) != f.lowest or f.span == 1)
    array = np.arange(f.span, dtype=np.int64)
    assert f(array).tolist() == [f(int(x)) for x in array]


def test_every_matrix_is_said_composed_inverted_printed_and_read() -> None:
    for seed in range(120):
        rng, count = random.Random(seed), 3 + seed % 8
        f, g = invertible(rng, count), invertible(rng, count)
        assert failing(f, g, count) == "", (f, g)


@pytest.mark.parametrize("f", RANDOM[:16], ids=str)
def test_every_matrix_is_drawn_and_used_in_a_kernel(f: BitMap) -> None:
    assert unused(f, max(3, len(f.columns))) == ""


@pytest.mark.parametrize("bits", range(4))
def test_a_swizzle_is_the_named_case(bits: int) -> None:
    for base in range(3):
        for shift in [*range(-5, -bits + 1), *range(bits, 6)]:
            swizzle = Swizzle(bits, base, shift)
            found = named(swizzle.columns)
            assert isinstance(found, Swizzle) and all(found(x) == swizzle(x) for x in range(1 << 10))
            assert (BitMap(swizzle.columns).span, BitMap(swizzle.columns).lowest) == (swizzle.span, swizzle.lowest)


def test_units_move_along() -> None:
    f = BitMap((1, 3, 7))
    assert f.zoomed(2) == BitMap((1, 2, 4, 12, 28)) and f.zoomed(2).zoomed(-2) == f and f.zoomed(2).base == 2


@pytest.mark.parametrize("columns", [(1, 4), (-1,), (1.0,), (True,), (2,)])
def test_a_map_stays_in_its_block(columns: tuple[object, ...]) -> None:
    with pytest.raises(LayoutError, match="what its bit becomes"):
        BitMap(columns)


def test_a_map_that_joins_offsets_has_no_inverse() -> None:
    with pytest.raises(LayoutError, match="two offsets become one"):
        BitMap((1, 1)).inverse()


def test_cute_has_no_name_for_it() -> None:
    layout = make_composed_layout(BitMap((1, 3, 6)), 0, Layout(8))
    with pytest.raises(LayoutError, match="has swizzles"):
        layout.to_cpp()
    with pytest.raises(LayoutError, match="has swizzles"):
        layout.to_pycute()
    assert r"F_2\langle 1,3,6\rangle" in layout.to_latex()


def test_it_is_drawn() -> None:
    layout = make_composed_layout(BitMap((1, 3, 6)), 0, Layout((4, 2)))
    assert "F2&lt;1,3,6&gt;" in draw(layout).svg()


def test_kernels_apply_it() -> None:
    f = BitMap((1, 2, 12, 9, 17, 36))
    shared = make_composed_layout(f, 0, Layout((8, 8)))

    @gpu.kernel
    def through(x, y):
        gpu.launch(threads=64)
        staged = gpu.shared("f32", shared)
        staged[gpu.thread] = x[gpu.thread]
        gpu.barrier()
        y[gpu.thread] = staged[gpu.thread ^ 5]

    x = np.arange(64, dtype=np.float32)
    for run in (through.interpret, through):
        y = np.zeros(64, np.float32)
        run(x, y)
        assert (y == x[np.arange(64) ^ 5]).all()
    assert through.verify(x, x.copy()).ok
