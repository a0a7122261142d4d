"""Making tensors: views over other people's memory, tensors with memory of their own, identity tensors.

Law: `make_tensor(data, layout)[crd]` is element `layout(crd)` of the memory of `data`,
counted from its first element; nothing is copied. `recast` keeps the bytes, in their order.
"""

from __future__ import annotations

from typing import Any

from ..errors import TensorError
from ..layout import ComposedLayout, Layout, coshape, make_identity_layout, make_layout_like, make_ordered_layout
from ..layout.algebra.operation import on_any
from ..layout.algebra.recast import recast_layout
from ..layout.values.composed import plain_part
from ..layout.values.coordinates import has_basis, value_of
from ..layout.values.int_tuple import IntTuple, Order, fold_profile, leaves, map_leaves, tuple_add
from ..layout.values.layout import _make, flat_modes, offset_bounds
from ..lazy import numpy as np
from .bulk import confined, offset_range
from .dtypes import ML_DTYPES, PACKED, DType, as_dtype, c64, f32, i32, u32
from .engine import Array, ArrayEngine, CoordinateEngine, CountingEngine, Engine, Space, ViewEngine, allocate
from .packed import PackedEngine, words_as
from .tensor import Tensor, expect_tensors


def make_gmem_ptr(data: object, dtype: object = None, *, name: str = "") -> ViewEngine:
    """The memory of `data`, tagged as global memory. See `view_of` for what `data` may be.

    >>> make_tensor(make_gmem_ptr(np.zeros((4, 8), np.float32), name="A"))
    gmem_ptr[32b](A) o (4,8):(8,1)

    Raises TensorError for what NumPy cannot see in place.
    """
    return view_of(data, dtype, space="gmem", name=name)


def make_smem_ptr(data: object, dtype: object = None, *, name: str = "") -> ViewEngine:
    """The memory of `data`, tagged as shared memory.

    >>> make_tensor(make_smem_ptr(np.zeros(32, np.float32), name="s"), Layout((4, 8)))
    smem_ptr[32b](s) o (4,8):(1,4)

    Raises TensorError for what NumPy cannot see in place.
    """
    return view_of(data, dtype, space="smem", name=name)


def make_rmem_ptr(data: object, dtype: object = None, *, name: str = "") -> ViewEngine:
    """The memory of `data`, tagged as register memory.

    >>> make_tensor(make_rmem_ptr(np.zeros(4, np.float16), name="r"), Layout(4))
    rmem_ptr[16b](r) o 4:1

    Raises TensorError for what NumPy cannot see in place.
    """
    return view_of(data, dtype, space="rmem", name=name)


def view_of(data: object, dtype: object = None, *, space: Space = "", name: str = "") -> ViewEngine:
    """A view, without a copy, of anything that NumPy can see in place.

    `data` is an array, or has `__array_interface__`, the buffer protocol (memoryview, mmap, array.array) or DLPack
    (PyTorch and JAX arrays in host memory). Raw bytes take their element type from `dtype`. What is read-only stays so.

    Raises TensorError for anything else, for elements that are no numbers in this machine's byte order, and for strides
    that are no whole elements.

    >>> rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    >>> view_of(rows).load(4), str(view_of(rows).home), str(view_of(bytes(8), "u32").dtype)
    (np.float32(4.0), '(2,3):(3,1)', 'u32')
    """
    if isinstance(data, ViewEngine):
        return ViewEngine(data.memory, data.dtype, data.origin, space, name or data.name, data.home)
    # Normalise: element type, native byte order, strides in whole elements.
    array = _as_array(data)
    if dtype is not None and array.dtype.name != as_dtype(dtype).numpy:
        if array.dtype.itemsize != 1 or not array.flags.c_contiguous:
            raise TensorError(f"dtype {dtype} over {array.dtype} data: only raw bytes are reinterpreted; use recast")
        array = _reinterpreted(array, as_dtype(dtype))
    kind = as_dtype(array.dtype)
    if not array.dtype.isnative:
        raise TensorError(
            f"a view of {array.dtype.str} data: its bytes are swapped; copy it with .astype({kind.numpy!r})"
        )
    width = array.itemsize
    if any(step % width for step in array.strides):
        raise TensorError(
            f"strides {array.strides} (bytes) of {kind} data: they are no multiples of {width}; copy the array first"
        )
    extents = [int(s) for s in array.shape]
    steps = [step // width if extent > 1 else 0 for extent, step in zip(extents, array.strides, strict=True)]
    home = _make(tuple(extents), tuple(steps))
    # Negative strides: memory begins at the lowest element, and offset 0 is `-low` into it.
    low, high = offset_bounds(home)
    corner = array[tuple(slice(None, None, -1 if step < 0 else 1) for step in steps)] if steps else array
    length = high - low + 1 if array.size else 0
    memory = np.lib.stride_tricks.as_strided(corner, (length,), (width,), writeable=array.flags.writeable)
    return ViewEngine(memory, kind, -low, space, name, home)


MASKED = "a tensor knows no mask, and this is a masked array; give its .filled(...) or .data"


def _any_masked(data: object) -> bool:
    """Whether nested lists hold a masked array or element, of which NumPy would take the data."""
    if isinstance(data, list | tuple):
        return any(map(_any_masked, data))
    return isinstance(data, np.ma.MaskedArray)


def _way_to_a_view(data: Any) -> str:
    """What to do with what has `__dlpack__` and gives NumPy no view of its memory."""
    try:
        on_host = int(data.__dlpack_device__()[0]) == 1
    except BufferError:
        return ""  # it has said why itself
    except (AttributeError, TypeError, ValueError, LookupError):
        on_host = False
    way = "convert its elements to a type that NumPy has, as x.float()" if on_host else "bring it into host memory"
    return f"; {way} first"


def _as_array(data: object) -> Array:
    """The NumPy array over the memory of `data`, not a copy. Raises TensorError where there is none."""
    if isinstance(data, np.ma.MaskedArray):
        raise TensorError(MASKED)
    if isinstance(data, np.ndarray):
        return data
    if hasattr(data, "__array_interface__"):
        return np.asarray(data)
    try:
        return np.asarray(memoryview(data))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        pass
    if hasattr(data, "__dlpack__"):
        try:
            found = np.from_dlpack(data)
        except (BufferError, RuntimeError, TypeError) as error:
            said = str(error).rstrip(".")
            hint = "" if "grad" in said else _way_to_a_view(data)
            raise TensorError(f"a view of {type(data).__name__}: {said}{hint}") from error
        if any(step == 0 and n > 1 for step, n in zip(found.strides, found.shape, strict=True)):
            found.flags.writeable = False  # as NumPy's broadcast arrays: what is written to one would be in others
        return found
    raise TensorError(
        f"a view of {type(data).__name__}: it has no buffer, __array_interface__ or DLPack; "
        "pass an array or its memory, or a list of numbers to make_tensor"
    )


def _copied(numbers: list[object]) -> ArrayEngine:
    """Memory of its own for nested lists of numbers, in the type that NumPy gives them."""
    if _any_masked(numbers):
        raise TensorError(f"make_tensor({numbers!r:.60}): {MASKED}")
    try:
        array = np.array(numbers)
    except ValueError as error:
        raise TensorError(f"make_tensor({numbers!r:.60}): {error}; give lists of equal lengths with numbers") from error
    view = view_of(array)
    return ArrayEngine(view.memory, view.dtype, home=view.home)


def _reinterpreted(raw: Array, dtype: DType) -> Array:
    flat = raw.reshape(-1).view(np.uint8)
    width = np.dtype(dtype.numpy).itemsize
    if flat.size % width:
        raise TensorError(f"{flat.size} bytes as {dtype}: it takes a multiple of {width}")
    return flat.view(dtype.numpy)


def make_tensor(
    source: object, layout: Layout | ComposedLayout | IntTuple | None = None, stride: IntTuple | Order | None = None
) -> Tensor:
    """A tensor over `source` with `layout`, or with the layout of a shape and a stride as `Layout` takes them.

    Over an array, an engine or a `make_gmem_ptr` the tensor is a view; without a layout it has the array's own strides.
    Over another tensor it is a view of that one's elements. Over an element type (`f32`, "f16", numpy.float32) it owns
    new memory, zeros on the host; over nested lists of numbers a copy of them. Over a coordinate, with a layout that
    gives coordinates, the elements are coordinates from that one on, as those of CuTe's TMA.

    >>> make_tensor(make_smem_ptr(np.zeros(32, np.float16), name="s"), (4, 8), (8, 1))
    smem_ptr[16b](s) o (4,8):(8,1)
    >>> make_tensor("i32", (2, 3)).numpy().tolist()
    [[0, 0, 0], [0, 0, 0]]
    >>> print(make_tensor([[1, 2, 3], [4, 5, 6]]).dtype)
    i64
    >>> from cutepy.layout import E
    >>> places = make_tensor((42, 2), (4, 8), (E(1), 2 * E(0)))
    >>> places, places[3, 1]
    (ArithTuple(42,2) o (4,8):(1@1,2@0), (44, 5))

    Raises TensorError where the layout reaches an offset that `source` does not hold, a size is unknown in an owning
    tensor, or the elements are no numbers. Source: CuTe, `tensor_impl.hpp`.
    """
    # By kind of source: an element type owns memory, a tuple is a coordinate, a tensor is viewed again, else data.
    if isinstance(source, (str, DType)) or isinstance(source, type) or isinstance(source, np.dtype):
        return _owning(as_dtype(source), layout, stride)
    if isinstance(source, tuple):
        return _coordinates(source, layout if layout is None else _layout_of(layout, stride))
    if isinstance(source, Tensor):
        if layout is None:
            return source
        whole, start, chosen = source, source.offset, _layout_of(layout, stride)
    elif isinstance(source, np.ndarray) and source.dtype.isbuiltin == 2 and source.dtype.name in ML_DTYPES:
        bits = source.view(f"u{source.itemsize}")
        return recast(make_tensor(bits, layout, stride), ML_DTYPES[source.dtype.name])
    else:
        held = _copied(source) if isinstance(source, list) else source
        # Asked first: to ask a protocol takes longer than to make the view.
        engine = view_of(held) if isinstance(held, np.ndarray) or not isinstance(held, Engine) else held
        start, chosen = 0, _layout_of(layout, stride, engine)
        whole = _whole(engine, chosen)
    return confined(Tensor(whole.engine, chosen, start), whole, "make_tensor", whole, chosen)


def _coordinates(origin: tuple[IntTuple, ...], layout: Layout | ComposedLayout | None) -> Tensor:
    """The tensor of the coordinates that `layout` gives, from `origin` on."""
    numbers = all(type(entry) is int for entry in leaves(origin))
    if not numbers or not isinstance(layout, Layout) or not has_basis(layout.stride):
        raise TensorError(
            f"make_tensor({origin}, {layout}): over a coordinate, of whole numbers, comes a layout that gives "
            "coordinates, as make_identity_layout(shape) does; over numbers write a list"
        )
    return Tensor(CoordinateEngine(tuple_add(origin, coshape(layout))), layout, origin if any(leaves(origin)) else 0)


def _whole(engine: Engine, chosen: Layout | ComposedLayout) -> Tensor:
    """All that an engine holds: the array it came from, or else its memory; `chosen` itself where nothing bounds it."""
    if not isinstance(engine, ViewEngine):
        return Tensor(engine, chosen)
    if engine.home is None:
        return Tensor(engine, _make(len(engine.memory), 1), -engine.origin)
    return Tensor(engine, engine.home)


def _layout_of(
    layout: Layout | ComposedLayout | IntTuple | None, stride: IntTuple | Order | None, engine: Engine | None = None
) -> Layout | ComposedLayout:
    """The layout that `make_tensor` is asked for: itself, of a shape and a stride, or that of the engine's array."""
    if isinstance(layout, (Layout, ComposedLayout)):
        if stride is not None:
            raise TensorError(f"make_tensor(..., {layout}, {stride}): the layout has its strides already")
        return layout
    if layout is not None:
        return Layout(layout, stride)
    home = getattr(engine, "home", None)
    if isinstance(home, Layout):
        return home
    raise TensorError("make_tensor needs a layout or a shape here: only arrays bring their own")


def _owning(dtype: DType, layout: Layout | ComposedLayout | IntTuple | None, stride: IntTuple | Order | None) -> Tensor:
    """A tensor over newly allocated memory, `offset_range` elements of it. Raises TensorError for unknown sizes."""
    chosen = _layout_of(layout, stride)
    plain = plain_part(chosen)
    _expect_known("make_tensor", (dtype, chosen), (plain.shape, plain.stride))
    low, high = offset_range(chosen)
    return Tensor(allocate(dtype, high - low), chosen, -low)


def _expect_known(call: str, operands: tuple[object, ...], numbers: IntTuple) -> None:
    """Raise TensorError for sizes or strides that memory cannot be allocated for; the message has the call."""
    if any(type(leaf) is not int for leaf in leaves(numbers)):
        said = ", ".join(map(str, operands))
        raise TensorError(f"{call}({said}): an owning tensor needs sizes that are known; substitute numbers")


def make_tensor_like(tensor: Tensor, dtype: object = None) -> Tensor:
    """A tensor with memory of its own: the same shape, compact strides in the same order.

    >>> print(make_tensor_like(make_tensor("f32", (4, 8), (32, 2))).layout)
    (4,8):(8,1)

    Raises TensorError for a tensor whose sizes are not known.
    """
    expect_tensors("make_tensor_like", tensor)
    layout = on_any(make_layout_like, tensor.layout)
    return _owning(tensor.dtype if dtype is None else as_dtype(dtype), layout, None)


def make_fragment_like(tensor: Tensor, dtype: object = None) -> Tensor:
    """Registers for the elements of `tensor`: mode 0 compact and fastest, the other modes in the order of its strides.

    >>> print(make_fragment_like(make_tensor("f32", ((2, 2), 4, 2), ((8, 64), 16, 1))).layout)
    ((2,2),4,2):((1,2),8,4)

    Every coordinate has a register of its own, also along strides of 0, of which CuTe keeps those in mode 0. Strides
    along axes are ordered by their values, as in CuTe. Raises TensorError for a tensor whose sizes are not known.
    """
    expect_tensors("make_fragment_like", tensor)
    layout = plain_part(tensor.layout)
    _expect_known("make_fragment_like", (tensor,), layout.shape)
    # Where strides are unknown, the engine gives numbers in the order that they have in memory.
    nearest = getattr(tensor.engine, "nearest_first", None)
    if nearest is None:
        layout = _make(layout.shape, map_leaves(value_of, layout.stride), layout.facts)
    else:
        layout = nearest(layout)
    if layout.rank > 1:
        ordered = make_layout_like(layout)
        # CuTe's rule: mode 0 first and compact, the others in the order of their strides.
        first = len(leaves(layout[0].shape))
        steps = leaves(ordered.stride)
        order = list(range(first)) + [first + abs(step) for step in steps[first:]]
        layout = make_ordered_layout(layout.shape, fold_profile(iter(order), layout.shape))
    else:
        layout = Layout(layout.shape)
    return _owning(tensor.dtype if dtype is None else as_dtype(dtype), layout, None)


def make_identity_tensor(shape: IntTuple) -> Tensor:
    """The tensor whose element at a coordinate is that coordinate; tiled and sliced it still tells where it is.

    >>> I = make_identity_tensor((4, 8))
    >>> I[2, 5], print(I)
    ArithTuple(0,0) o (4,8):(1@0,1@1)
    ((2, 5), None)

    Source: CuTe, `tensor_impl.hpp`.

    Raises LayoutError for sizes below 1.
    """
    return Tensor(CoordinateEngine(shape), make_identity_layout(shape))


def make_counting_tensor(layout: Layout | ComposedLayout, *, dtype: object = i32, start: int = 0) -> Tensor:
    """The tensor whose elements are the offsets of `layout` themselves, from `start` on; nothing is stored.

    >>> make_counting_tensor(Layout((2, 3), (3, 1))).numpy().tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    return Tensor(CountingEngine(as_dtype(dtype), start), layout)


def recast(tensor: Tensor, dtype: object) -> Tensor:
    """`tensor` as elements of `dtype`: the mode of stride 1 shrinks or grows by the ratio of their widths.

    >>> from cutepy.tensor import make_tensor
    >>> A = make_tensor(np.arange(8, dtype=np.float32), (4, 2))
    >>> recast(A, "f16").layout, recast(recast(A, "f16"), "f32").numpy().tolist() == A.numpy().tolist()
    (Layout((8, 2), (1, 8)), True)
    >>> recast(make_tensor(np.uint8([0x21, 0xF3])), "i4").numpy().tolist()
    [1, 2, 3, -1]

    "i4" and "u4" are integers of 4 bits, the lowest bits of a byte first; "bf16", "e4m3" and "e5m2" are floats that are
    read as f32 and written by rounding to the nearest. Of a device, and in a kernel in any memory, elements of 32 bits
    are recast to as many or fewer: a load takes the word and what is wanted of it, and in a kernel whole words are
    written.

    Raises TensorError where it does not begin or end at a whole element or is guarded, and LayoutError where the new
    width does not fit the strides. Source: CuTe, `tensor_impl.hpp`.
    """
    expect_tensors("recast", tensor)
    wanted = PACKED.get(str(dtype)) or as_dtype(dtype)
    old, new = tensor.dtype.bits, wanted.bits
    engine, call = tensor.engine, f"recast({tensor}, {wanted})"
    # Recast from the underlying words, so that recasts do not nest.
    held = engine.words if isinstance(engine, PackedEngine) else engine
    by_words = hasattr(held, "buffer") and held.dtype.bits == 32  # in a kernel, or of a device
    packed = held is not engine or wanted.name in PACKED or by_words
    if not isinstance(tensor.layout, Layout) or tensor.guard is not None:
        raise TensorError(f"{call}: only plain tensors are recast; recast what it is a part of")
    if not (isinstance(held, ViewEngine) or by_words):
        raise TensorError(
            f"{call}: only plain tensors in host memory, and of 32 bits in kernels, are recast; copy it first"
        )
    if getattr(held, "takes_coordinates", False):
        return _along_axis(call, tensor, held, wanted)
    layout = tensor.layout if new == old else recast_layout(new, old, tensor.layout)
    if layout.size * new != tensor.size * old:
        raise TensorError(f"{call}: {tensor.size} elements of {_width(old)} are no whole number of {_width(new)}")
    if packed:
        return _packed(call, tensor, held, layout, wanted)
    assert isinstance(held, ViewEngine)
    # In bits: the view must begin at a whole new element.
    first = (tensor.offset + held.origin) * old
    if first % new:
        raise TensorError(f"{call}: it begins {_width(first % new)} into an element of {_width(new)}")
    # Trailing bits that fill no whole new element are left out.
    whole = len(held.memory) * old // new * new // old
    memory = held.memory[:whole].view(wanted.numpy)
    view = ViewEngine(memory, wanted, held.origin * old // new, held.space, held.name)
    return Tensor(view, layout, first // new - view.origin)


def _along_axis(call: str, tensor: Tensor, words: Engine, wanted: DType) -> Tensor:
    """The tensor of `wanted` elements over words that are told by coordinates, along the axis whose stride is 1."""
    axis, per = getattr(words, "unit_axis", None), tensor.dtype.bits // wanted.bits
    if axis is None or not per or words.dtype.bits % wanted.bits:
        raise TensorError(f"{call}: along an axis of stride 1, to as many bits or fewer, which divide those of a word")

    def of_axis(step: Any) -> bool:
        return getattr(step, "path", ()) == (axis,)

    assert isinstance(tensor.layout, Layout)
    modes: list[tuple[Any, Any]] = [*flat_modes(tensor.layout)]
    extents = iter([n * per if of_axis(step) and step.value == 1 else n for n, step in modes])
    steps = iter([step * per if of_axis(step) and step.value != 1 else step for _, step in modes])
    shape = map_leaves(lambda _n: next(extents), tensor.layout.shape)
    layout = _make(shape, map_leaves(lambda _n: next(steps), tensor.layout.shape))
    first = [*leaves(tensor.offset)] if isinstance(tensor.offset, tuple) else [tensor.offset]
    first += [0] * (axis + 1 - len(first))
    first[axis] = first[axis] * per
    if layout.size != tensor.size * per:
        raise TensorError(f"{call}: it has no mode along the axis of stride 1; recast what it is a part of")
    return Tensor(words if wanted is words.dtype else PackedEngine(words, wanted, axis), layout, tuple(first))


def _packed(call: str, tensor: Tensor, words: Engine, layout: Layout, wanted: DType) -> Tensor:
    """The tensor of `wanted` elements over `words`, each a field of a word, from the same first bit on.

    Raises TensorError where a word holds no whole number of elements, or the tensor may begin inside an element.
    """
    old, new, whole = tensor.dtype.bits, wanted.bits, words.dtype.bits
    if new > whole or whole % new or wanted.kind == "b":
        raise TensorError(f"{call}: it is in words of {_width(whole)}, which hold no whole number of {wanted}")
    offset = tensor.offset
    # Wider elements: the offset must be a whole number of them.
    if new > old:
        if not isinstance(offset, int) or offset * old % new:
            raise TensorError(f"{call}: it may begin inside an element of {_width(new)}; recast what it is a part of")
        offset = offset * old // new
    elif new < old:
        offset = offset * (old // new)
    return Tensor(words if wanted is words.dtype else PackedEngine(words, wanted), layout, offset)


def _width(bits: int) -> str:
    return f"{bits // 8} bytes" if bits % 8 == 0 else f"{bits} bits"


def in_words(tensor: Tensor, *, copies: bool = False) -> tuple[Tensor, ViewEngine] | None:
    """The pair (the same elements over words of 32 bits, the engine of those words) of a tensor in host memory.

    For packed and small integers and for complex numbers: a GPU has memory in u32 words, of complex64 in f32 words.
    None for any other tensor. The words share the memory; with `copies` they are a copy, padded with zeros to whole
    words. Raises TensorError for memory of no whole number of words without `copies`.
    """
    engine = tensor.engine
    memory = engine.words if isinstance(engine, PackedEngine) else engine
    small = (engine.dtype.kind in "iu" and engine.dtype.bits < 32) or engine.dtype is c64
    if not isinstance(memory, ViewEngine) or not (small or isinstance(engine, PackedEngine)):
        return None
    # Elements in one element of the memory.
    per = memory.dtype.bits // engine.dtype.bits
    if copies:
        whole = np.zeros(-(-memory.memory.nbytes // 4) * 4 // memory.memory.itemsize, memory.memory.dtype)
        whole[: len(memory.memory)] = memory.memory
        memory = ViewEngine(whole, memory.dtype, memory.origin, memory.space, memory.name)
    elif memory.memory.nbytes % 4 or not memory.memory.flags.c_contiguous:
        raise TensorError(
            f"{tensor}: a GPU has it in words of 32 bits, and it has {memory.memory.nbytes} bytes; pad its memory to a "
            "multiple of 4"
        )
    held = f32 if engine.dtype is c64 else u32
    words = ViewEngine(memory.memory.view(held.numpy), held, 0, memory.space, memory.name)
    offset = tensor.offset + memory.origin * per
    return Tensor(words_as(words, engine.dtype), tensor.layout, offset, tensor.guard), words
