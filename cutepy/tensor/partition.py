"""Partitions: a tensor tiled or composed, then sliced.

Law: each is `divide or compose, then slice`; a tile that does not divide its
tensor keeps the whole tile's shape and carries a guard, so every element of the tensor is owned exactly once.
A thread-value layout maps (thread, value) to the colexicographic index in its tile, and `composition(tile,
layout_tv)(t, _)` are the elements of thread t.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import TensorError, shown
from ..layout import Layout, composition, dice, filter, idx2crd, raked_product, right_inverse, zipped_divide
from ..layout.values.coordinates import Coordinate, _, crd2idx
from ..layout.values.int_tuple import IntTuple, as_tuple, product_each
from .engine import Place, Scalars, current_thread
from .tensor import Tensor, TensorIndexError, cached_view, composed_slice, expect_tensors


def inner_partition(tensor: Tensor, tiler: Any, coord: Place) -> Tensor:
    """The tile at `coord`: the modes of the tile, then those of the rest where `coord` has `_` or has ended.

    >>> from cutepy.tensor import make_tensor
    >>> A = make_tensor("f32", (24, 8))
    >>> inner_partition(A, (8, 4), (1, 0)).layout, inner_partition(A, (8, 4), (1, _)).layout
    (Layout((8, 4), (1, 24)), Layout((8, 4, 2), (1, 24, 96)))

    Raises TensorIndexError for a tile that is not there. Source: CuTe, `tensor_impl.hpp`.
    """
    expect_tensors("inner_partition", tensor)
    return cached_view(tensor, _inner_partition, tiler, coord)


def _inner_partition(tensor: Tensor, tiler: Any, coord: Place) -> Tensor:
    tiled = tensor.lift_layout(zipped_divide, tiler)
    # zipped_divide gives ((tile), (rest)): keep the tile, choose among the rests.
    tile, rest = as_tuple(tiled.shape)
    with _choosing("local_tile or inner_partition", tensor, f"the tiles {shown(tile)}", coord, rest):
        view: Tensor = tiled[(_all_of(tile), _continued(coord, rest))]
    return view


def outer_partition(tensor: Tensor, tiler: Any, coord: Place) -> Tensor:
    """The element at `coord` of every tile: the modes of the tile where `coord` has `_`, then those of the rest.

    >>> from cutepy.tensor import make_tensor
    >>> outer_partition(make_tensor("f32", (24, 8)), (8, 4), (3, 1)).layout
    Layout((3, 2), (8, 96))

    Source: CuTe, `tensor_impl.hpp`.

    Raises TensorIndexError for a coordinate that does not fit the tile.
    """
    expect_tensors("outer_partition", tensor)
    tiled = tensor.lift_layout(zipped_divide, tiler)
    tile, rest = as_tuple(tiled.shape)
    with _choosing("outer_partition", tensor, "the elements of a tile", coord, tile):
        view: Tensor = tiled[(_continued(coord, tile), _all_of(rest))]
    return view


@contextmanager
def _choosing(call: str, tensor: Tensor, what: str, coord: Place, shape: IntTuple) -> Iterator[None]:
    """Say in an error of a coordinate which call it was given to, and of what."""
    try:
        yield
    except TensorIndexError as error:
        raise TensorIndexError(
            f"{call}: {shown(coord)} of {what} of {tensor}, which are {shown(shape)}: {error}"
        ) from error


def local_tile(tensor: Tensor, tiler: Any, coord: Any, proj: Coordinate = None) -> Tensor:
    """The tile of `tensor` at `coord`; with a projection, only the modes of tiler and coord where it has a number.

    >>> from cutepy.tensor import make_tensor
    >>> A = make_tensor("f32", (64, 32))
    >>> local_tile(A, (16, 128, 8), (3, 0, _), (1, None, 1)).layout
    Layout((16, 8, 4), (1, 64, 512))

    A tile that does not divide is rounded up: elements beyond the tensor are guarded. Source: CuTe, `tensor_impl.hpp`.

    Raises TensorError for a projection without an entry for each mode, LayoutError for a tiler that does not divide.
    """
    expect_tensors("local_tile", tensor)
    return inner_partition(tensor, *_projected("local_tile", proj, tiler, coord))


def local_partition(
    tensor: Tensor, threads: Layout | IntTuple, index: Scalars | None = None, proj: Coordinate = None
) -> Tensor:
    """What thread `index` has of `tensor` when threads are laid over it as the layout `threads` says, again and again.

    >>> from cutepy.tensor import make_tensor
    >>> mine = local_partition(make_tensor("f32", (24, 8)), Layout((8, 4), (4, 1)), 5)
    >>> mine.layout, mine.offset
    (Layout((3, 2), (8, 96)), 25)

    `index` defaults to the kernel's own thread. Raises TensorError where `threads` does not number its threads without
    gaps, or the index is out of range. Source: CuTe, `tensor_impl.hpp`.

    Raises LayoutError for threads that are no layout or shape.
    """
    layout = threads if isinstance(threads, Layout) else Layout(threads)
    expect_tensors("local_partition", tensor)
    # Threads are numbered without gaps exactly when the right inverse covers them all.
    count = right_inverse(layout).size
    if count != filter(layout).size:
        raise TensorError(
            f"local_partition({tensor}, {layout}): the layout gives no thread the number {count}; "
            f"number threads without gaps, as {Layout(layout.shape)} does"
        )
    index = current_thread("local_partition", count, index)
    crd = thread_coordinate(layout, index)
    return outer_partition(tensor, *_projected("local_partition", proj, product_each(layout.shape), crd))


def thread_value_partition(tensor: Tensor, layout_tv: Layout, index: Scalars | None = None) -> Tensor:
    """What thread `index` has of `tensor` by a layout from (thread, value) to indices: `composition(...)(index, _)`.

    >>> from cutepy.tensor import make_tensor
    >>> A = make_tensor("f32", (4, 8), (8, 1))
    >>> tv = Layout(((2, 4), (2, 2)), ((8, 1), (4, 16)))
    >>> thread_value_partition(A, tv, 3).layout
    Layout(((2, 2),), ((1, 4),))

    Raises TensorError where there is no thread: outside a kernel without `thread=`.
    """
    expect_tensors("thread_value_partition", tensor)
    thread = current_thread("thread_value_partition", None, index)
    return composed_slice(tensor, layout_tv, (thread, _), "thread_value_partition", tensor, layout_tv, thread)


def _all_of(tree: IntTuple) -> Place:
    """A coordinate that keeps every mode, one by one."""
    return (_,) * len(tree) if isinstance(tree, tuple) else _


def _continued(coord: Place, tree: IntTuple) -> Place:
    """`coord` with `_` for the modes of `tree` that it does not name; a single number chooses among all tiles."""
    if not isinstance(tree, tuple):
        return coord[0] if isinstance(coord, tuple) and len(coord) == 1 else coord
    if isinstance(coord, tuple):
        return coord + (_,) * (len(tree) - len(coord))
    return (_,) * len(tree) if coord is _ or coord is None else coord


def _projected(call: str, proj: Coordinate, *trees: Any) -> list[Any]:
    """The parts of a tiler and a coordinate where the projection has a number; without one, both as they are."""
    if proj is None:
        return [*trees]
    for tree in trees:
        if not isinstance(proj, tuple) or not isinstance(tree, tuple) or len(proj) != len(tree):
            raise TensorError(f"{call}: the projection {proj} must have one entry for each of {tree}")
    return [dice(proj, tree) for tree in trees]


def thread_coordinate(threads: Layout, index: Any) -> tuple[Scalars, ...]:
    """The place of thread `index` in the layout of threads, one number a mode."""
    # Flatten each mode's nested coordinate to one index a mode.
    crd = idx2crd(index, threads.shape, threads.stride)
    return tuple(crd2idx(c, s) for c, s in zip(as_tuple(crd), as_tuple(threads.shape), strict=True))


def make_layout_tv(threads: Layout, values: Layout) -> tuple[tuple[int, ...], Layout]:
    """The tile that `threads` cover with `values` each, and the layout from (thread, value) to its elements.

    Neighbouring values of a thread are neighbours in the tile; then come the threads' own strides.

    >>> tile, tv = make_layout_tv(Layout((4, 8), (8, 1)), Layout((2, 2)))
    >>> tile, str(tv)
    ((8, 16), '((8,4),(2,2)):((16,2),(1,8))')

    Raises TensorError where the layouts leave gaps. Source: CuTe DSL, `make_layout_tv`.

    Raises LayoutError for layouts of coordinates, whose copies have no order.
    """
    for layout in (threads, values):
        if right_inverse(layout).size != layout.size:
            raise TensorError(
                f"make_layout_tv({threads}, {values}): {layout} does not number its {layout.size} places without gaps; "
                f"{Layout(layout.shape)} does"
            )
    # raked: neighbouring elements of the tile are values of one thread; its inverse maps (thread, value) to the tile.
    arranged = raked_product(threads, values)
    covered = right_inverse(arranged)
    layout_tv = composition(covered, Layout((threads.size, values.size)))
    return product_each(arranged.shape), layout_tv


def invert_tv(layout_tv: Layout, tile: tuple[int, ...]) -> Layout:
    """The layout from a coordinate of the tile to `thread + value * threads`: the inverse picture of `layout_tv`.

    >>> tile, tv = make_layout_tv(Layout((2, 2)), Layout((1, 2)))
    >>> print(invert_tv(tv, tile))
    (2,(2,2)):(1,(4,2))

    Raises TensorError where elements belong to several threads or to none.

    Raises LayoutError for a layout that has no inverse.
    """
    inverse = right_inverse(layout_tv)
    size = Layout(tile).size
    if layout_tv.size != size or inverse.size != size:
        raise TensorError(f"invert_tv({layout_tv}, {tile}): not every element of the tile has one thread and value")
    return composition(inverse, Layout(tile))
