"""Thread-value layouts: which element of a tile is value v of thread t.

Law: a thread-value layout maps (thread, value) to the colexicographic index in its tile, and
`composition(tile, layout_tv)(t, _)` are the elements of thread t.
"""

from __future__ import annotations

from ..errors import TensorError
from ..layout import Layout, composition, make_layout, raked_product, right_inverse
from ..layout.values.int_tuple import product_each


def make_layout_tv(threads: Layout, values: Layout) -> tuple[tuple[int, ...], Layout]:
    """The tile that `threads` cover with `values` each, and the layout from (thread, value) to its elements.

    Neighbouring values of a thread are neighbours in the tile; then come the threads' own strides.

    >>> tile, tv = make_layout_tv(Layout((4, 8), (8, 1)), Layout((2, 2)))
    >>> tile, str(tv)
    ((8, 16), '((8,4),(2,2)):((16,2),(1,8))')

    Raises TensorError where the layouts leave gaps. Source: CuTe DSL, `make_layout_tv`.
    """
    for part in (threads, values):
        if right_inverse(part).size != part.size:
            raise TensorError(
                f"make_layout_tv({threads}, {values}): {part} does not number its {part.size} places without gaps; "
                f"{Layout(part.shape)} does"
            )
    arranged = raked_product(threads, values)
    covered = right_inverse(arranged)
    layout_tv = composition(covered, make_layout((threads.size, values.size)))
    return product_each(arranged.shape), layout_tv


def invert_tv(layout_tv: Layout, tile: tuple[int, ...]) -> Layout:
    """The layout from a coordinate of the tile to `thread + value * threads`: the inverse picture of `layout_tv`.

    >>> tile, tv = make_layout_tv(Layout((2, 2)), Layout((1, 2)))
    >>> print(invert_tv(tv, tile))
    (2,(2,2)):(1,(4,2))

    Raises TensorError where elements belong to several threads or to none.
    """
    inverse = right_inverse(layout_tv)
    size = Layout(tile).size
    if layout_tv.size != size or inverse.size != size:
        raise TensorError(f"invert_tv({layout_tv}, {tile}): not every element of the tile has one thread and value")
    return composition(inverse, Layout(tile))
