"""The way back from offsets: every layout is found, the shortest; a refusal is right by exhaustion."""

from __future__ import annotations

import pytest
from layout.cases import cases, generator, is_layout_table, random_layout

from cutepy.errors import LayoutError, TableError
from cutepy.layout import ComposedLayout, Layout, Swizzle, coalesce, flatten
from cutepy.layout.algebra.bits import swizzles
from cutepy.layout.values.int_tuple import leaves
from cutepy.lazy import numpy as np

SOME = cases(240)


def test_every_layout_is_found_and_shortest() -> None:
    rng = generator("from offsets")
    for _case in range(SOME):
        layout = random_layout(rng)
        table = layout.offsets()
        found = Layout.from_offsets(table)
        assert isinstance(found, Layout)
        assert (found.offsets().ravel(order="F") == table.ravel(order="F")).all()
        assert table.ndim == 1 or found.offsets().shape == table.shape
        flat = Layout.from_offsets(table.ravel(order="F"))
        assert [flat(i) for i in range(flat.size)] == [layout(i) for i in range(layout.size)]
        assert len(leaves(flat.shape)) == len(leaves(coalesce(layout).shape))
        if table.ndim > 1:
            for mode, axis in zip(found, layout, strict=True):
                assert flatten(mode) == coalesce(axis) or mode.size == 1, (layout, found)


def test_swizzled_layouts_are_found() -> None:
    rng = generator("from swizzled offsets")
    kinds = {Layout: 0, ComposedLayout: 0}
    for _case in range(SOME // 3):
        bits = rng.randint(1, 2)
        swizzle = Swizzle(bits, rng.randint(0, 3), rng.choice((1, 1, -1)) * rng.randint(bits, 4))
        inner = random_layout(rng, 128, rng.choice(("compact", "permuted", "padded")))
        layout = ComposedLayout(swizzle, rng.choice((0, 0, 3)), inner)
        table = layout.offsets()
        found = Layout.from_offsets(table)
        kinds[type(found)] += 1
        assert (found.offsets().ravel(order="F") == table.ravel(order="F")).all(), (layout, found)
        if isinstance(found, ComposedLayout):
            assert found.outer.bits <= bits  # type: ignore[union-attr]
    assert min(kinds.values()) > 3, kinds


def test_of_two_swizzles_with_as_many_bits_the_one_of_fewest_modes() -> None:
    assert str(Layout.from_offsets([2, 4, 6, 12, 14, 8])) == "S<1,2,1> o 2 o 6:2"
    assert str(Layout.from_offsets([2, 5, 7, 8, 26, 29, 31, 32, 50, 53, 55, 56])) == "S<1,0,2> o 2 o (4,3):(2,24)"


def test_a_layout_with_an_offset() -> None:
    found = Layout.from_offsets([5, 7, 9])
    assert found == ComposedLayout(Swizzle(0, 0, 0), 5, Layout(3, 2)) and found.offsets().tolist() == [5, 7, 9]  # type: ignore


def test_refusals_are_right() -> None:
    rng = generator("no layout")
    refused = 0
    for _case in range(SOME):
        count = rng.choice((3, 4, 6, 8, 9, 12))
        table = [rng.choice((0, 1, 2, 3, 4, 6)) for _entry in range(count)]
        if rng.random() < 0.5:
            table[0] = 0
        try:
            found = Layout.from_offsets(table)
        except TableError as error:
            refused += 1
            candidates = [Swizzle(0, 0, 0), *swizzles(max(table).bit_length())]
            for swizzle in candidates:
                unmixed = [swizzle(value) for value in table]
                assert not is_layout_table([value - unmixed[0] for value in unmixed]), (table, swizzle)
            value, expected = error.values
            assert table[error.index[0]] == value != expected
            # a layout exists for the entries before, or for none that has this many
            assert "index" in str(error)
        else:
            assert found.offsets().ravel(order="F").tolist() == table
    assert refused > SOME // 4


def test_refusal_of_a_table_of_two_axes() -> None:
    with pytest.raises(TableError) as caught:
        Layout.from_offsets([[0, 1, 2], [3, 4, 6]])
    assert caught.value.index == (1, 2) and caught.value.values == (6, 5)
    with pytest.raises(TableError, match=r"index \(1, 2\)"):
        Layout.from_offsets(np.array([[0, 1, 2], [3, 4, 6]]))


@pytest.mark.parametrize("table", [[], [[1, 2], [3]], [0.5, 1.5], 3, "ab", [True, False], [[]], None, [2**63]])
def test_what_is_no_table(table: object) -> None:
    with pytest.raises(LayoutError, match="from_offsets"):
        Layout.from_offsets(table)


def test_a_large_table_is_quick() -> None:
    layout = ComposedLayout(Swizzle(3, 4, 3), 0, Layout((512, 512), (512, 1)))
    found = Layout.from_offsets(layout.offsets())
    assert found == layout
    plain = Layout(((16, 64), (4, 256)), ((4096, 1), (64, 65536)))
    assert Layout.from_offsets(plain.offsets()) == plain


def test_strides_of_arrays() -> None:
    array = np.zeros((4, 6, 5), np.float32)
    for view in (array, array.T, array[::2, :, ::-1], np.broadcast_to(array[:1], (7, 6, 5)), array[1]):
        layout = Layout.from_strides(view)
        assert layout.shape == view.shape
        assert layout.stride == tuple(step // 4 for step in view.strides)
    assert Layout.from_strides(memoryview(b"abcd")) == Layout((4,), (1,))
    assert Layout.from_strides(np.float32(1).reshape(())) == Layout((), ())

    class Torch:
        shape = (2, 3)

        def stride(self) -> tuple[int, int]:
            return 3, 1

    assert Layout.from_strides(Torch()) == Layout((2, 3), (3, 1))
    with pytest.raises(LayoutError, match="whole number"):
        Layout.from_strides(np.zeros(4, [("a", "i4"), ("b", "i2")])["a"])
    with pytest.raises(LayoutError, match="no shape"):
        Layout.from_strides([1, 2])
    with pytest.raises(LayoutError, match="size"):
        Layout.from_strides(np.zeros((0, 3)))
