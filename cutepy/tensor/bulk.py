"""All elements of a tensor at once: tables of offsets, loads and stores, NumPy's strides where they serve; its reach.

Law: `load_all(t)[i, j, ...] == t[i, j, ...]` with one array axis a mode of `t`. The elements of a view, those that its
guard lets exist, are among the elements of what it was made of: memory that a program reads at once holds its views to
it (`engine.confined`); inside a kernel the verifier decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from ..errors import LayoutError, TensorError
from ..layout import ComposedLayout, Layout, axis_layout, filter_zeros, is_surjective, slice_and_offset
from ..layout.algebra.rearrange import coalesced
from ..layout.values.bit_map import OfBits
from ..layout.values.composed import plain_part
from ..layout.values.coordinates import _, has_basis, has_underscore, keeps
from ..layout.values.int_tuple import IntTuple, fold_profile, leaves, product, product_each, show
from ..layout.values.layout import flat_modes, offset_bounds
from ..lazy import numpy as np
from .engine import Array, CoordinateEngine, Moved, ViewEngine, check_writable, fit_values, reached, strided_numbers
from .guard import both

if TYPE_CHECKING:
    from .engine import Scalars
    from .tensor import Tensor

Modes = tuple[tuple[int, ...], tuple[int, ...]]


def offset_table(tensor: Tensor) -> Array:
    """The engine offset of every element: ints, or expressions (dtype object) under a kernel trace."""
    table = tensor.layout.offsets()
    if type(tensor.offset) is int and tensor.offset == 0:
        return table
    return np.asarray(tensor.offset + table)


def places(tensor: Tensor) -> Any:
    """The offsets of every element, as the engine wants them."""
    layout = tensor.layout
    if getattr(tensor.engine, "takes_coordinates", False):
        if any(type(step) is int and step and n != 1 for n, step in flat_modes(plain_part(layout))):
            raise TensorError(f"{tensor}: a layout of offsets over elements that are told by coordinates alone")
        return tuple(coordinate_tables(tensor))
    if not getattr(tensor.engine, "apart", False):
        return offset_table(tensor)
    # Keep base and integer table apart: the prover bounds them separately.
    if isinstance(layout, ComposedLayout) and isinstance(layout.outer, OfBits) and not isinstance(layout.offset, int):
        return Moved(tensor.offset, layout.inner.offsets(), layout)
    table = None if isinstance(tensor.offset, int) else layout.offsets()
    return offset_table(tensor) if table is None or table.dtype == object else Moved(tensor.offset, table)


def mask_table(tensor: Tensor) -> Array | None:
    """Where elements exist, for every element; None if they all do."""
    return None if tensor.guard is None else tensor.guard.table()


def mode_sizes(tensor: Tensor) -> tuple[int, ...]:
    """The size of each top-level mode: the shape of the tables.

    >>> from cutepy.tensor import make_tensor
    >>> mode_sizes(make_tensor("f32", ((2, 2), 8)))
    (4, 8)
    """
    return product_each(tensor.layout.shape)


def on_host(tensor: Tensor) -> Tensor:
    """The same tensor over a copy of all its memory, where that is elsewhere; `tensor` itself where it is not."""
    host = getattr(tensor.engine, "host", None)
    if host is None:
        return tensor
    return type(tensor)(ViewEngine(host(), tensor.dtype), tensor.layout, tensor.offset, tensor.guard)


def _brought(tensor: Tensor) -> Array | None:
    """Every element of a tensor whose memory is elsewhere, where numbers tell what it reaches: that alone is copied."""
    part, layout, offset = getattr(tensor.engine, "host", None), tensor.layout, tensor.offset
    if part is None or tensor.guard is not None or type(layout) is not Layout or type(offset) is not int:
        return None
    shape, stride = leaves(layout.shape), leaves(layout.stride)
    if {*map(type, shape), *map(type, stride)} - {int} or 0 in shape:
        return None
    low, high = reached(offset, shape, stride)
    first = low // 4 * 4
    if low < 0 or high >= getattr(tensor.engine, "length", 0):
        return None
    view = strided_numbers(part(first, high + 1), offset - first, shape, stride)
    return view if shape is layout.shape else view.reshape(mode_sizes(tensor), order="F")


def load_all(tensor: Tensor) -> Array:
    """Every element; do not write into the result, it may be a view. A coordinate tensor has a further, last axis.

    >>> from cutepy.tensor import make_tensor
    >>> load_all(make_tensor(np.arange(6), Layout((2, 3)))).tolist()
    [[0, 2, 4], [1, 3, 5]]
    """
    if isinstance(tensor.engine, CoordinateEngine):
        return np.stack([np.asarray(table) for table in coordinate_tables(tensor)], axis=-1)
    if (brought := _brought(tensor)) is not None:
        return brought
    tensor = on_host(tensor)
    view = leaf_view(tensor)
    if view is not None:
        return view.reshape(mode_sizes(tensor), order="F")
    return np.asarray(tensor.engine.load(places(tensor), mask_table(tensor)))


def computed(tensor: Tensor) -> Array:
    """All elements in the type in which they are computed: f32 for f16. Do not write into the result."""
    values = load_all(tensor)
    if values.dtype == object or tensor.dtype.accumulator is tensor.dtype:
        return values
    return values.astype(tensor.dtype.accumulator.numpy)


def store_all(tensor: Tensor, values: Scalars, where: Array | None = None) -> None:
    """Write `values`, one number or one for every element, where the guard and the mask `where` hold."""
    check_writable(tensor.engine)
    # Device memory: copy all of it to the host, write there, replace it as a whole.
    if (here := on_host(tensor)) is not tensor:
        store_all(here, values, where)
        remote: Any = tensor.engine  # of a device, as it is not here: it replaces all of its elements at once
        copied = here.engine
        assert isinstance(copied, ViewEngine)
        remote.replace(copied.memory)
        return
    view = leaf_view(tensor) if where is None else None
    if view is None:
        mask = both(mask_table(tensor), where)
        sizes = mode_sizes(tensor)
        tensor.engine.store(places(tensor), np.broadcast_to(np.asarray(values), sizes), mask)
        return
    fitting = fit_values(values, tensor.dtype)
    view[...] = fitting if fitting.ndim == 0 else fitting.reshape(view.shape, order="F")


def coordinate_tables(tensor: Tensor) -> list[Array]:
    """The entries of the coordinates of an identity tensor, axis by axis, each for every element."""
    engine, layout = cast("CoordinateEngine", tensor.engine), tensor.layout
    if not isinstance(layout, Layout):
        raise TensorError(f"{tensor}: its elements are told by coordinates, and a swizzle moves offsets")
    if not isinstance(engine.shape, tuple):
        return [np.asarray(tensor.offset + layout.offsets())]
    tables = []
    for path in _paths(engine.shape, ()):
        # Entry `path` of the tensor's start coordinate, 0 where the coordinate ends early.
        start = tensor.offset
        for axis in path:
            start = start[axis] if isinstance(start, tuple) and axis < len(start) else 0
        tables.append(np.asarray(start + axis_layout(layout, *path).offsets()))
    return tables


def _paths(shape: IntTuple, path: tuple[int, ...]) -> list[tuple[int, ...]]:
    if not isinstance(shape, tuple):
        return [path]
    return [leaf for axis, entry in enumerate(shape) for leaf in _paths(entry, (*path, axis))]


def strided_layout(tensor: Tensor) -> Layout | None:
    """The layout, if NumPy can see the elements: host memory, a plain layout, a known offset, nothing to guard."""
    layout = tensor.layout
    if type(layout) is not Layout or type(tensor.offset) is not int or not hasattr(tensor.engine, "strided"):
        return None
    return layout if tensor.guard is None or tensor.guard.table() is None else None


def strided_modes(tensor: Tensor) -> Modes | None:
    """Extents and strides with one entry a mode, if each mode is one NumPy axis; else None.

    >>> from cutepy.tensor import make_tensor
    >>> nested = Layout(((2, 2), 3), ((1, 6), 2))
    >>> strided_modes(make_tensor("f32", Layout((4, 8), (8, 1)))), strided_modes(make_tensor("f32", nested))
    (((4, 8), (8, 1)), None)
    """
    layout = strided_layout(tensor)
    if layout is None:
        return None
    steps = tuple(step for mode in layout if (step := step_of(mode)) is not None)
    return (mode_sizes(tensor), steps) if len(steps) == layout.rank else None


def step_of(mode: Layout) -> int | None:
    """The one stride of a mode; None where there are several."""
    shape, stride = coalesced(mode)
    if len(shape) > 1:
        return None
    return stride[0] if stride and type(stride[0]) is int else 0


def leaf_view(tensor: Tensor) -> Array | None:
    """A NumPy view with one axis a leaf of the layout, or None where there is none.

    >>> from cutepy.tensor import make_tensor
    >>> leaf_view(make_tensor(np.arange(8), Layout(((2, 2), 2), ((1, 4), 2)))).shape
    (2, 2, 2)
    """
    layout = strided_layout(tensor)
    if layout is None:
        return None
    return strided_view(tensor.engine, tensor.offset, leaves(layout.shape), leaves(layout.stride))


def strided_view(engine: Any, offset: int, shape: tuple[int, ...], stride: tuple[int, ...]) -> Array:
    """The NumPy view of these modes of an engine that offers one.

    >>> from cutepy.tensor import make_tensor
    >>> strided_view(make_tensor(np.arange(8)).engine, 1, (2, 2), (4, 1)).tolist()
    [[1, 2], [5, 6]]

    Shape and stride are in elements, an entry an axis. Raises TensorError where the view leaves the memory.
    """
    view: Array = engine.strided(offset, shape, stride)
    return view


def common_refinement(*layouts: Layout) -> tuple[tuple[int, ...], ...] | None:
    """One flat shape, and the strides of each layout over it, that says the pairing of their elements in order.

    >>> common_refinement(Layout((4, 6), (6, 1)), Layout((8, 3), (3, 1)))
    ((4, 2, 3), (6, 1, 2), (3, 12, 1))

    None where the modes of one do not divide those of another.
    """
    # Most axes are one mode of one extent.
    extent = layouts[0].shape if layouts else ()
    if type(extent) is int and all(type(layout.shape) is int and layout.shape == extent for layout in layouts):
        flat = [(extent,), *(leaves(layout.stride) for layout in layouts)]
        return tuple(flat) if extent > 1 else ((),) * len(flat)
    # Stacks of modes, fastest on top; cut the top modes to their least common piece.
    rest = [list(zip(*coalesced(layout), strict=True))[::-1] for layout in layouts]
    modes: list[tuple[int, ...]] = []
    while all(rest):
        heads = [stack.pop() for stack in rest]
        common = min(extent for extent, _ in heads)
        if any(extent % common for extent, _ in heads):
            return None
        modes.append((common, *(step for _, step in heads)))
        for stack, (extent, step) in zip(rest, heads, strict=True):
            # What is left of a longer mode continues with its stride times the piece.
            if extent > common:
                stack.append((extent // common, step * common))
    return tuple(zip(*modes, strict=True)) if modes else ((),) * (len(layouts) + 1)


BLOCK = 128
"""The edge of the blocks in which large arrays are transposed, so that both sides stay in the cache."""


def copy_blocks(source: Array, target: Array) -> None:
    """`numpy.copyto(target, source)`, in square blocks where the one runs along another axis than the other."""
    moving = [axis for axis in range(source.ndim) if source.shape[axis] > 1]
    if source.size >= BLOCK**2 and len(moving) > 1:
        # Fastest axis of the source and of the target: where they differ, one side would miss the cache.
        fast = min(moving, key=lambda axis: abs(source.strides[axis]))
        slow = min(moving, key=lambda axis: abs(target.strides[axis]))
        others = tuple(axis for axis in range(source.ndim) if axis not in (fast, slow))
        around = [source.shape[axis] for axis in others]
        if fast != slow and min(source.shape[fast], source.shape[slow]) >= 16 and np.prod(around) <= 4096:
            order = (*others, fast, slow)
            source, target = source.transpose(order), target.transpose(order)
            for at in np.ndindex(*around):
                _copy_matrix(source[at], target[at])
            return
    np.copyto(target, source)


def _copy_matrix(source: Array, target: Array) -> None:
    rows, columns = source.shape
    for row in range(0, rows, BLOCK):
        for column in range(0, columns, BLOCK):
            block = (slice(row, row + BLOCK), slice(column, column + BLOCK))
            np.copyto(target[block], source[block])


def check_overlap(call: str, source: Tensor, target: Tensor) -> None:
    """Raise TensorError if writing `target` would change elements of `source` that are still to be read.

    Two tensors over the very same elements in the same order may meet: each element is read before it is written.
    """
    if not (isinstance(source.engine, ViewEngine) and isinstance(target.engine, ViewEngine)):
        return
    # Same elements in the same order: each is read before it is written.
    same = source.layout == target.layout and source.engine.address == target.engine.address
    if same and type(source.offset) is int and source.offset == target.offset and source.dtype is target.dtype:
        return
    if share_elements(source, target):
        raise TensorError(
            f"{call}: {source} and {target} overlap, so elements would be overwritten before they are read; "
            "copy the source first"
        )


def share_elements(one: Tensor, other: Tensor) -> bool:
    """Whether a byte of one tensor is a byte of the other; both are in host memory. What is packed in words counts as
    all of their memory."""
    if not np.may_share_memory(_memory_of(one), _memory_of(other)):
        return False
    # NumPy decides exactly for strided views, within a bound on its work.
    left, right = leaf_view(one), leaf_view(other)
    if left is not None and right is not None:
        try:
            return np.shares_memory(left, right, max_work=100_000)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            pass
    first, second = _bytes_of(one), _bytes_of(other)
    if not (first.size and second.size) or first.max() < second.min() or second.max() < first.min():
        return False
    # Otherwise mark every byte of the one, look up every byte of the other.
    start = int(min(first.min(), second.min()))
    touched = np.zeros(int(max(first.max(), second.max())) + 1 - start, bool)
    touched[first - start] = True
    return bool(touched[second - start].any())


def _memory_of(tensor: Tensor) -> Array:
    held: Any = getattr(tensor.engine, "words", tensor.engine)
    memory: Array = held.memory
    return memory


def _bytes_of(tensor: Tensor) -> Array:
    """The address of every byte of the elements that exist; of packed ones, of all words of their memory."""
    engine = tensor.engine
    if not isinstance(engine, ViewEngine):
        memory = _memory_of(tensor)
        return np.asarray(memory.ctypes.data + np.arange(memory.nbytes))
    table, mask = offset_table(tensor), mask_table(tensor)
    start = table.ravel() if mask is None else table[mask]
    width = engine.memory.itemsize
    return (start[:, None] * width + engine.address + np.arange(width)).ravel()


def offset_range(layout: Layout | ComposedLayout) -> tuple[int, int]:
    """The least offset of `layout` and the one after the greatest.

    >>> offset_range(Layout((4, 8), (-1, 4)))
    (-3, 29)
    """
    if isinstance(layout, ComposedLayout):
        table = layout.offsets()
        return int(table.min()), int(table.max()) + 1
    if layout.facts is not None:
        raise LayoutError(f"offsets of {layout}: its sizes are not known; put values in with subs")
    if layout.size == 0:
        return 0, 0
    low, high = offset_bounds(layout)
    return low, high + 1


def names_only(tiler: object, shape: IntTuple) -> bool:
    """True if `composition(tensor, tiler)` asks for coordinates of `shape` alone; False also where that takes a table.

    >>> names_only((Layout(2, 2), None), (4, 8)), names_only(33, (4, 8))
    (True, False)
    """
    if keeps(tiler):
        return True
    if isinstance(tiler, tuple):
        return isinstance(shape, tuple) and len(tiler) <= len(shape) and all(map(names_only, tiler, shape))
    if type(tiler) is int:
        return tiler <= product(shape)
    if type(tiler) is not Layout or tiler.facts is not None or has_basis(tiler.stride):
        return False
    low, end = offset_range(tiler)
    return low >= 0 and end <= product(shape)


def named_range(tiler: Any, shape: Any, crd: Any) -> Iterator[tuple[Any, Any, int]]:
    """The least and the greatest index that `composition(tensor, tiler)(crd)` takes of each mode that the tiler names,
    and the size of the mode; `crd` may hold expressions of a kernel, and is `_` for all of the composition.

    >>> from cutepy.layout import _
    >>> list(named_range(Layout((4, 2), (1, 8)), (4, 8), (3, _)))
    [(3, 11, 32)]

    Of a swizzled tiler a slice is left out, and basis strides are: `confined` looks at their offsets.
    """
    if isinstance(tiler, tuple) and isinstance(shape, tuple):
        # A tuple tiler pairs with the modes; a coordinate pairs with the tiler's entries.
        entries = crd if isinstance(crd, tuple) and len(crd) == len(tiler) else (_,) * len(tiler)
        for mode, extent, entry in zip(tiler, shape, entries, strict=False):
            yield from named_range(mode, extent, entry)
    elif type(tiler) is int:
        yield 0, tiler - 1, product(shape)
    elif type(tiler) is Layout and tiler.facts is None and not has_basis(tiler.stride) and tiler.size:
        kept, moved = slice_and_offset(crd, tiler) if has_underscore(crd) and crd is not _ else (tiler, 0)
        low, end = offset_range(kept)
        yield moved + low, moved + end - 1, product(shape)
    elif isinstance(tiler, ComposedLayout) and crd is _ and tiler.size and not has_basis(plain_part(tiler).stride):
        low, end = offset_range(tiler)
        yield low, end - 1, product(shape)


def confined(view: Tensor, whole: Tensor, call: str, *operands: object) -> Tensor:
    """`view`, which `call(*operands)` made of `whole`, if it reaches no element that `whole` does not hold.

    Raises TensorError, with the coordinate and the offset, where it does.
    """
    same = view.layout is whole.layout and view.offset is whole.offset and view.guard is whole.guard
    stray = None if same or not getattr(whole.engine, "confined", False) else _stray(view, whole)
    if stray is None:
        return view
    crd, offset = stray
    low, end = (whole.offset + bound for bound in offset_range(whole.layout))
    called = f"{call}({', '.join(f'{operand}' for operand in operands if operand is not None)})"
    raise TensorError(
        f"{called}: at {show(crd)} it reaches offset {offset}, which is no element of {whole} "
        f"(its offsets: {low} to {end - 1}); choose smaller sizes or strides, or a layout that stays within its shape"
    )


def _stray(view: Tensor, whole: Tensor) -> tuple[IntTuple, int] | None:
    """A coordinate of `view` and its offset, which is none of the offsets of `whole`; None if there is none."""
    layout = view.layout
    if view.guard is None and type(layout) is Layout:
        low, end = (whole.offset + bound for bound in offset_range(whole.layout))
        first, last = (view.offset + bound for bound in offset_range(layout))
        if view.size and (first < low or last > end):
            crd = _corner(layout, below=first < low)
            return crd, view.offset + layout(crd)
        if whole.guard is None and isinstance(whole.layout, Layout) and is_surjective(whole.layout):
            return None
        view = type(view)(view.engine, filter_zeros(layout), view.offset)
    table = offset_table(view)
    exists, held = mask_table(view), mask_table(whole)
    stray = ~np.isin(table, offset_table(whole) if held is None else offset_table(whole)[held])
    if exists is not None:
        stray &= exists
    if not stray.any():
        return None
    at = np.unravel_index(int(np.argmax(stray.ravel(order="F"))), mode_sizes(view), order="F")
    return tuple(int(entry) for entry in at), int(table[at])


def _corner(layout: Layout, *, below: bool) -> IntTuple:
    """The coordinate of the least or of the greatest offset."""
    steps = flat_modes(layout)
    ends = [extent - 1 if step and (step < 0) == below else 0 for extent, step in steps]
    return fold_profile(iter(ends), layout.shape)
