"""`Tensor`: an engine and a layout, an offset between them, and a guard where a tile reaches beyond what exists.

Law: `tensor[crd] == engine.load(offset + layout(crd))`; a slice or a tile is
another layout and another offset over the same engine, so it is a view and writes through.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, overload

from ..errors import CoordinateError, TensorError, shown
from ..layout import ComposedLayout, Layout, composition, congruent, get
from ..layout.algebra.operation import OPERATIONS, Elements, on_any
from ..layout.values.composed import plain_part
from ..layout.values.coordinates import Coordinate, Underscore, _, as_value, has_underscore, inner_product
from ..layout.values.followed import trail
from ..layout.values.int_tuple import IntTuple, Shaped, as_tuple, moved, product, show
from ..layout.values.layout import _make, slice_and_offset
from ..layout.values.methods import NotebookRepr
from ..layout.values.size import Size
from ..lazy import numpy as np
from .arrays import ArrayMethods, is_numpy_index, numbers_of, operations
from .bulk import confined, load_all, named_range, names_only, strided_modes, strided_view
from .dtypes import DType
from .engine import Array, Engine, Place, Scalars, check_writable, describe, offset_of
from .guard import Guard, rounded
from .transfer import PendingArray, fetch, shared_array

Slice: TypeAlias = (
    "Underscore | tuple[Underscore, *tuple[object, ...]] | tuple[object, Underscore, *tuple[object, ...]]"
)
"""A coordinate that keeps a mode, as far as types tell: by its first or second entry."""


class TensorIndexError(TensorError, CoordinateError):
    """A coordinate that is nested unlike the shape, out of range, or outside the guard of a tile.

    >>> from cutepy.tensor import make_tensor
    >>> try:
    ...     make_tensor("f32", (4, 8))[4, 0]
    ... except TensorIndexError as error:
    ...     print(isinstance(error, IndexError), error)
    True coordinate 4 of ptr[32b] o (4,8):(1,4): this mode has size 4, so it goes from 0 to 3
    """


@dataclass(frozen=True, slots=True, repr=False, eq=False, init=False)
class Tensor(ArrayMethods, Shaped, NotebookRepr):
    """Elements of `engine` in the order of `layout`, from `offset` on.

    >>> from cutepy.layout import _
    >>> from cutepy.tensor import make_gmem_ptr, make_tensor
    >>> A = make_tensor(make_gmem_ptr(np.arange(32, dtype=np.float32), name="A"), (4, 8))
    >>> A, A[1, 2], A(3, _)
    (gmem_ptr[32b](A) o (4,8):(1,4), np.float32(9.0), gmem_ptr[32b](A + 3) o (8):(4))

    `A[crd]` takes nested coordinates, integers, arrays of them or kernel expressions; `_` in a place keeps that mode.
    `A(crd)` is the same. `A[crd] = value` writes one element. An index with a slice, `...` or None is NumPy's, and
    gives a view; so are integers from -1 down, one a mode. Operators and methods are those of `cutepy.ops`, with `==`
    element by element; `print(A)` shows the numbers, `repr(A)` and a format are the line alone.

    Raises TensorIndexError (a TensorError and an IndexError) for a coordinate that does not fit.
    Source: CuTe, `tensor_impl.hpp`.

    >>> A.shape, A.stride, A.cosize, str(A.dtype), A.ndim, A.device, A.numpy().shape, A.numpy_is_view
    ((4, 8), (1, 4), 32, 'f32', 2, 'cpu', (4, 8), True)
    >>> A.T.shape, A.mT.shape, A.mode(1), A.to_device("cpu") is A
    ((8, 4), (8, 4), gmem_ptr[32b](A) o 8:4, True)
    """

    engine: Engine
    layout: Layout | ComposedLayout
    offset: Any  # a number, a coordinate, or an expression of a kernel
    guard: Guard | None
    _form: Any = field(init=False, repr=False, compare=False)  # what a device's calls compare of it, once one did

    def __init__(
        self, engine: Engine, layout: Layout | ComposedLayout, offset: Any = 0, guard: Guard | None = None
    ) -> None:
        _set_engine(self, engine)
        _set_layout(self, layout)
        _set_offset(self, offset)
        _set_guard(self, guard if guard is not None and guard.axes else None)
        set_form(self, None)

    @property
    def shape(self) -> IntTuple:
        """The shape of the layout."""
        return self.layout.shape

    @property
    def stride(self) -> IntTuple:
        """The stride of the layout; TensorError for a swizzled one, which has none, and where sizes are not known."""
        if getattr(self.engine, "takes_coordinates", False):
            raise TensorError(f"stride of {self}: a kernel for unknown sizes does not know it; use coordinates")
        if isinstance(self.layout, ComposedLayout):
            raise TensorError(f"stride of {self}: a swizzled layout has none; see .layout.inner")
        return self.layout.stride

    @property
    def cosize(self) -> int:
        """One more than the distance between the least and the greatest offset."""
        return self.layout.cosize

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.engine.dtype

    @overload
    def __call__(self, crd: Underscore, /, *rest: object) -> Tensor: ...
    @overload
    def __call__(self, crd: object, follows: Underscore, /, *rest: object) -> Tensor: ...
    @overload
    def __call__(self, crd: object, follows: object, last: Underscore, /, *rest: object) -> Tensor: ...
    @overload
    def __call__(self, *crd: object) -> Any: ...
    def __call__(self, *crd: object) -> Any:
        return self[crd[0] if len(crd) == 1 else crd]

    @overload
    def __getitem__(self, crd: Slice) -> Tensor: ...
    @overload
    def __getitem__(self, crd: object) -> Any: ...
    def __getitem__(self, crd: Any) -> Any:
        layout = self.layout
        # Fast path: integers inside the shape, a plain layout, no guard.
        if _fits(crd, layout.shape) and type(layout) is Layout and self.guard is None:
            offset = inner_product(crd, layout.shape, layout.stride)
            if type(offset) is int:
                return self.engine.load(self.offset + offset)
        elif is_numpy_index(crd):
            return operations().indexed(self, crd)
        elif has_underscore(crd):
            return self._slice(crd)
        else:
            crd = _from_end(crd, self)
            _check(crd, layout.shape, self)
        offset_there = moved(self.offset, layout(crd))
        return self.engine_at(crd).load(offset_there, self._inside(crd))

    def __setitem__(self, crd: Place, value: Scalars) -> None:
        if is_numpy_index(crd):
            operations().assigned(self, crd, value)
            return
        if has_underscore(crd):
            raise TensorError(f"{self}[{crd}] = ...: one element is written at a time; use copy or fill on the slice")
        check_writable(self.engine)
        crd = _from_end(crd, self)
        _check(crd, self.layout.shape, self)
        offset = moved(self.offset, offset_of(self.layout, crd))
        self.engine_at(crd).store(offset, value, self._inside(crd))

    def engine_at(self, crd: Any) -> Engine:
        """The engine of what is taken at `crd`: in a kernel it carries the entries that are not known yet along, as
        claims to be inside the shape.

        >>> from cutepy.tensor import make_tensor
        >>> A = make_tensor("f32", (4, 8))
        >>> A.engine_at((1, 2)) is A.engine
        True
        """
        within = getattr(self.engine, "within", None)
        return self.engine if within is None else within(_claims(crd, self.layout.shape))

    def _inside(self, crd: Place) -> Any:
        """The mask of one access; TensorIndexError where numbers tell that it is outside."""
        inside = None if self.guard is None else self.guard.inside(crd)
        if isinstance(inside, (bool, np.bool_, np.ndarray)) and not np.all(inside):
            raise TensorIndexError(
                f"{self}[{show(crd)}]: the tile reaches beyond its tensor there; copy and fill skip such elements"
            )
        return None if isinstance(inside, (bool, np.bool_)) else inside

    def _slice(self, crd: Any) -> Tensor:
        """The view of the modes that `crd` keeps, at the offset of its numbers, with the guard sliced alike."""
        layout = self.layout
        by: Any = 0
        extents: list[IntTuple] = []
        steps: list[IntTuple] = []
        # Fast path for plain layouts; everything else goes through slice_and_offset.
        numbers: Any = _cut(crd, layout, extents, steps) if type(layout) is Layout else None
        if isinstance(layout, Layout) and numbers is not None:
            kept: Layout | ComposedLayout = _make(tuple(extents), tuple(steps), layout.facts)
            by = inner_product(numbers, layout.shape, layout.stride)
        else:
            crd = _one_place(crd, self)
            _check(crd, layout.shape, self)
            if isinstance(layout, Layout):
                kept, by = slice_and_offset(crd, layout)
            else:
                kept = layout.sliced(crd)
        base, by = self.offset, as_value(by)
        # No 0 + by: an expression of a kernel would carry the addition.
        offset = by if type(base) is int and not base else moved(base, by)
        guard = None if self.guard is None else self.guard.slice(crd)
        return Tensor(self.engine_at(crd), kept, offset, guard)

    def mode(self, *path: int) -> Tensor:
        """The subtensor of one mode, at 0 of the others; also `get(t, ...)`. CuTe's `tensor<I...>(t)`."""
        layout = on_any(get, self.layout, *path)
        guard = self.guard and self.guard.map(lambda axis: get(axis, *path), plain_part(layout))
        return Tensor(self.engine, layout, self.offset, guard)

    def moved_to(self, crd: Coordinate) -> Tensor:
        """The tensor that starts at `crd`, with the same shape; of numbers and coordinates that are counted on.

        >>> from cutepy.tensor import make_identity_tensor
        >>> make_identity_tensor((4, 8)).moved_to((2, 4))[1, 1]
        (3, 5)
        """
        if not getattr(self.engine, "unbounded", False) or self.guard is not None:
            at = shown(crd)
            raise TensorError(f"domain_offset({at}, {self}): it would reach beyond its elements; slice it at {at}")
        if has_underscore(crd):
            raise TensorError(f"domain_offset({shown(crd)}, {self}): give a number for each mode; `_` is for slices")
        return Tensor(self.engine, self.layout, moved(self.offset, self.layout(crd)))

    def lift_layout(self, function: Callable[..., Layout], *arguments: object) -> Tensor:
        """`function(layout, *arguments)` over the same elements: how the layout algebra acts on tensors.

        Raises TensorError for what is no view of the tensor's own elements.

        >>> from cutepy.layout import get
        >>> from cutepy.tensor import make_tensor
        >>> make_tensor("f32", (4, 8)).lift_layout(get, 1)
        ptr[32b] o 8:4
        """
        # Views repeat: a kernel's tiles have the same layouts in every call, so they are cached by their key.
        key = self._view_key(function, arguments)
        if key is not None and (kept := _VIEWS.get(key)) is not None:
            layout, guard, _by = kept
            return Tensor(self.engine, layout, self.offset, guard)
        view = self._checked_view(function, *arguments)
        if key is not None:
            _keep_view(key, view, 0)
        return view

    def _view_key(self, function: Callable[..., object], arguments: tuple[object, ...]) -> Hashable:
        """What the layout and the guard of a view follow from; None where a value of a kernel or a fact has a say.

        The checks of a view compare offsets with those of this tensor, wherever it begins, so its offset has none.
        """
        layout = self.layout
        if type(layout) is not Layout or layout.facts is not None or self.guard is not None or trail() is not None:
            return None
        for argument in arguments:
            if not _is_static(argument):
                return None
        engine = self.engine
        kind = getattr(engine, "unbounded", False), getattr(engine, "confined", False)
        return function.__name__, layout.shape, layout.stride, kind, arguments

    def _checked_view(self, function: Callable[..., Layout], *arguments: object) -> Tensor:
        """The view, made anew. Raises TensorError for what is no view of the tensor's own elements."""
        view = self._lifted(function, *arguments)
        if _acts(function) != "extended":
            return view
        # A composition may reach beyond the elements; one that names coordinates of the shape cannot.
        composed = function is composition
        if composed and names_only(arguments[0], self.layout.shape):
            return view
        confined(view, self, function.__name__, self, *arguments)
        if composed:
            _outside(self, arguments[0], _, "composition", self, arguments[0])
        return view

    def _lifted(self, function: Callable[..., Layout], *arguments: Any) -> Tensor:
        """As `lift_layout`, for a caller that slices the result and then asks `confined` of the slice."""
        # The operation's record says what becomes of the elements.
        acts = _acts(function)
        if acts == "mode":
            return self.mode(*arguments)
        if acts == "divided":
            beyond = getattr(self.engine, "unbounded", False)
            layout, guard = rounded(self.layout, self.guard, arguments[0], exists_beyond=beyond)
        elif acts in ("none", "multiplied"):
            raise TensorError(_refusal(function, self, arguments))
        else:
            layout, guard = self.layout, self.guard
        result = function(layout, *arguments)
        if guard is not None:
            like = plain_part(result)

            # A refolding changes the domain of the guard's axes; any other operation applies to them as to the
            # layout, nesting to those that are nested as it is.
            def followed(axis: Layout) -> Layout:
                plain = plain_part(layout)
                if acts == "refolded" or (acts == "nested" and not congruent(axis.shape, plain.shape)):
                    return composition(axis, Layout(like.shape))
                return function(axis, *arguments)

            guard = guard.map(followed, like)
        return Tensor(self.engine, result, self.offset, guard)

    def numpy(self, *, copy: bool | None = None) -> Array:
        """The elements as an array with one axis a mode.

        With `copy=None` it is a view wherever NumPy's strides can say the layout (`numpy_is_view` tells), else a copy;
        elements outside a guard are 0 in it. `copy=False` raises TensorError instead of copying.
        """
        # A view where each mode is one NumPy axis; otherwise a gather.
        modes = strided_modes(self) if copy is not True else None
        if modes is not None:
            return strided_view(self.engine, self.offset, *modes)
        if copy is False:
            raise TensorError(
                f"numpy(copy=False) of {self}: no NumPy strides say this layout; take a slice with fewer modes, or copy"
            )
        found = load_all(self)
        # What was brought here for this call is nobody else's, and where it lies together no two elements are one.
        brought = hasattr(self.engine, "host") and found.flags.forc
        return found if brought else np.array(found)

    def numpy_async(self) -> PendingArray:
        """`numpy(copy=True)` without waiting: the elements as they are after the launches so far, on their way.

        `await t.numpy_async()` in an event loop, `.result()` to wait, `.done()` to look. What is on the host is there.

        >>> from cutepy.tensor import make_tensor
        >>> make_tensor(np.arange(3)).numpy_async().result()
        array([0, 1, 2])
        """
        return fetch(self)

    def __dlpack__(self, **options: Any) -> Any:
        """The elements for another library, without a copy. Raises BufferError where there are no strides to say them,
        or where they are in a device's memory, which WebGPU does not share."""
        return shared_array(self).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's name of the host's memory. Raises BufferError as `__dlpack__`."""
        return shared_array(self).__dlpack_device__()

    @property
    def numpy_is_view(self) -> bool:
        """True if `numpy()` shows the elements themselves, False if it copies them."""
        return strided_modes(self) is not None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self.numpy(copy=copy)
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        return f"{describe(self.engine, self.offset)} o {self.layout}"

    def __format__(self, spec: str) -> str:
        """The line of `repr`: messages name a tensor by it."""
        return format(repr(self), spec)

    def __str__(self) -> str:
        return "\n".join(filter(None, (repr(self), numbers_of(self))))


VIEWS_KEPT = 4096
"""Views whose layout and guard are kept, of all tensors: some MB."""
_VIEWS: dict[Hashable, tuple[Layout | ComposedLayout, Guard | None, int]] = {}


def cached_view(tensor: Tensor, function: Callable[..., Tensor], *arguments: object) -> Tensor:
    """`function(tensor, *arguments)`, a view of a part of the elements, which begins so far from where these do as the
    layout and the arguments say."""
    if type(tensor.offset) is not int or hasattr(tensor.engine, "within"):
        return function(tensor, *arguments)
    key = tensor._view_key(function, arguments)
    if key is not None and (kept := _VIEWS.get(key)) is not None:
        layout, guard, by = kept
        return Tensor(tensor.engine, layout, tensor.offset + by, guard)
    view = function(tensor, *arguments)
    if key is not None and view.engine is tensor.engine and type(view.offset) is int:
        _keep_view(key, view, view.offset - tensor.offset)
    return view


def _keep_view(key: Hashable, view: Tensor, by: int) -> None:
    """Keep the layout and the guard of a view, which begins `by` elements from where its tensor does."""
    if len(_VIEWS) >= VIEWS_KEPT:
        _VIEWS.clear()
    _VIEWS[key] = view.layout, view.guard, by


def _is_static(argument: Any) -> bool:
    """Whether an argument is made of integers and plain layouts alone: equal ones are the same then."""
    kind = type(argument)
    if kind is Layout:
        return argument.facts is None
    if kind is tuple:
        return {*map(type, argument)} == _INTEGERS or all(map(_is_static, argument))
    return kind is int or argument is None or argument is _


_INTEGERS = {int}


_set_engine, _set_layout, _set_offset, _set_guard, set_form = (
    vars(Tensor)[name].__set__ for name in ("engine", "layout", "offset", "guard", "_form")
)


def expect_tensors(call: str, *operands: object) -> None:
    """Raise TensorError for the first operand that is no tensor, saying how to make one."""
    for operand in operands:
        if not isinstance(operand, Tensor):
            raise TensorError(f"{call}: {type(operand).__name__} is not a tensor; write make_tensor(...)")


def _acts(function: Callable[..., Layout]) -> Elements:
    """What a function of layouts does with the elements of a tensor, by its record."""
    record = OPERATIONS.get(function.__name__)
    return "none" if record is None else record.on_tensor


def composed_slice(tensor: Tensor, tiler: object, crd: Place, call: str, *operands: object) -> Tensor:
    """`composition(tensor, tiler)(crd)`, of which only the slice must keep to the elements of `tensor`."""
    view: Tensor = tensor._lifted(composition, tiler)[crd]
    if names_only(tiler, tensor.layout.shape):
        return view
    confined(view, tensor, call, *operands)
    claims = _outside(tensor, tiler, crd, call, *operands)
    within = getattr(view.engine, "within", None)
    if claims and within is not None:
        view = Tensor(within(claims), view.layout, view.offset, view.guard)
    return view


def _outside(tensor: Tensor, tiler: Any, crd: Any, call: str, *operands: object) -> list[tuple[Any, int]]:
    """Raise TensorError where `composition(tensor, tiler)` at `crd` takes an index that its mode of `tensor` does not
    have; what a kernel computes is given back, each end of what is taken with the size of its mode."""
    claims: list[tuple[Any, int]] = []
    if getattr(tensor.engine, "unbounded", False):
        return claims
    # Numbers are checked here; expressions become claims, which the prover checks in the kernel.
    for low, high, size in named_range(tiler, tensor.layout.shape, crd):
        for end in (low, high):
            if not isinstance(end, int):
                claims.append((end, size))
            elif end < 0 or _below(end, size) is False:
                called = f"{call}({', '.join(f'{operand}' for operand in operands if operand is not None)})"
                raise TensorError(
                    f"{called}: it takes index {end} of a mode of {size}, which goes from 0 to {size - 1}; "
                    "choose smaller sizes or strides, or divide the tensor by the tile first (zipped_divide)"
                )
    return claims


def _refusal(function: Callable[..., Layout], tensor: Tensor, arguments: tuple[object, ...]) -> str:
    """The message of an operation that gives no view of a tensor."""
    name = function.__name__
    call = f"{name}({', '.join(map(format, (tensor, *arguments)))})"
    if _acts(function) == "multiplied":
        return (
            f"{call}: a product of a tensor would reach elements outside of it; "
            "take the product of .layout and make a tensor over enough memory"
        )
    return f"{call}: {name} acts on layouts; take .layout"


def _fits(crd: object, shape: IntTuple) -> bool:
    """True if `crd` consists of integers within the shape, decided fast; False asks for the full check (`_check`)."""
    if type(crd) is int:
        return crd >= 0 and _below(crd, product(shape)) is True
    if type(crd) is not tuple or type(shape) is not tuple or len(crd) != len(shape):
        return False
    for entry, extent in zip(crd, shape):  # noqa: B905  (lengths were compared)
        if type(entry) is int and type(extent) is int:
            if not 0 <= entry < extent:
                return False
        elif not _fits(entry, extent):
            return False
    return True


def _below(index: int, extent: Any) -> bool | None:
    """Whether an index is below an extent; None where the extent is not known and nothing tells."""
    found: Any = index < extent
    if type(found) is bool:
        return found
    return None if isinstance(extent, Size) or getattr(found, "is_Relational", False) else bool(found)


def _cut(crd: object, layout: Layout, extents: list[IntTuple], steps: list[IntTuple]) -> tuple[object, ...] | None:
    """Collect the modes that `crd` keeps and return it with 0 for each; None where it is not `_` and fitting integers.

    This is the common slice, cut in one walk; everything else takes `slice_and_offset`.
    """
    if type(crd) is not tuple or type(layout.shape) is not tuple or len(crd) != len(layout.shape):
        return None
    numbers: list[object] = []
    # `_` keeps the mode; an integer fixes it; a tuple goes one level down.
    for entry, extent, step in zip(crd, layout.shape, as_tuple(layout.stride)):  # noqa: B905
        if entry is _:
            extents.append(extent)
            steps.append(step)
            numbers.append(0)
        elif type(entry) is int:
            if entry < 0 or _below(entry, product(extent)) is False:  # where nothing tells, the verifier decides
                return None
            numbers.append(entry)
        else:
            inner = _cut(entry, _make(extent, step), extents, steps)
            if inner is None:
                return None
            numbers.append(inner)
    return tuple(numbers)


def _from_end(crd: Any, tensor: Tensor) -> Any:
    """A coordinate with what counts from the end, one integer a mode from -1 down, counted from 0; in a kernel as it
    is."""
    entries = crd if type(crd) is tuple else (crd,)
    shape = as_tuple(tensor.layout.shape)
    if len(entries) != len(shape) or getattr(tensor.engine, "trace", None) is not None:
        return crd
    if not any(type(entry) is int and entry < 0 for entry in entries):
        return crd
    counted = tuple(
        [e + product(n) if type(e) is int and -product(n) <= e < 0 else e for e, n in zip(entries, shape, strict=True)]
    )
    return counted if type(crd) is tuple else counted[0]


_NO_NUMBERS = (bool, float, complex, str, bytes, list, dict, set, slice, type(Ellipsis), type(None))


def _one_place(crd: Any, tensor: Tensor) -> Any:
    """`crd` with Python's integers for NumPy's; TensorIndexError for an array, as a slice lies at one place."""
    if isinstance(crd, tuple):
        try:
            return tuple([_one_place(entry, tensor) for entry in crd])
        except RecursionError:
            raise CoordinateError("a coordinate is nested too deep; write it nested as the shape") from None
    if isinstance(crd, (np.ndarray, np.integer)):
        if crd.ndim:
            raise TensorIndexError(
                f"coordinate {crd!r} of {tensor}: a slice is taken at one place; make one for each, or leave out the _"
            )
        return crd.item()
    return crd


def _check(crd: object, shape: IntTuple, tensor: Tensor) -> None:
    """Refuse a coordinate that does not fit; expressions pass, their bounds are the kernel verifier's matter."""
    if type(crd) is tuple:
        if type(shape) is tuple and len(crd) == len(shape):
            kinds = {d.name: d for entry in crd if (d := _own_type(entry)) is not None}
            if len(kinds) > 1 and not getattr(tensor.engine, "takes_coordinates", False):
                raise TensorIndexError(
                    f"coordinate {shown(crd)} of {tensor}: its entries are of {' and '.join(sorted(kinds))}, and one "
                    "index is made of them; give all one type, with gpu.cast(v, 'i32') or 'u32'"
                )
            for entry, extent in zip(crd, shape):  # noqa: B905  (lengths were compared)
                if type(entry) is not int or type(extent) is not int or not 0 <= entry < extent:
                    _check(entry, extent, tensor)
            return
        raise _misfit(crd, shape, tensor)
    if type(crd) is int:
        low = high = crd
    elif isinstance(crd, (np.ndarray, np.integer)) and crd.dtype != object:
        if crd.dtype.kind not in "iu":
            raise TensorIndexError(f"coordinate {crd} of {tensor}: its type is {crd.dtype}; coordinates are integers")
        if not crd.size:
            return
        low, high = int(crd.min()), int(crd.max())
    else:
        if crd is not _ and (getattr(tensor.engine, "confined", False) or isinstance(crd, (*_NO_NUMBERS, np.bool_))):
            raise TensorIndexError(
                f"coordinate {shown(crd)} of {tensor}: give integers, nested tuples of them, or _; "
                "a range of a mode is a tile (local_tile), or .numpy()[...]"
            )
        return
    if low < 0 or _below(high, product(shape)) is False:
        raise TensorIndexError(
            f"coordinate {shown(low if low < 0 else high)} of {tensor}: this mode has size {product(shape)}, "
            f"so it goes from 0 to {product(shape) - 1}"
        )


def _own_type(entry: object) -> Any:
    """The type of an entry that is a value of a kernel; None for numbers, which take the type that they meet."""
    dtype = getattr(entry, "dtype", None)
    whole = getattr(dtype, "kind", "") in ("i", "u") and hasattr(entry, "operands")
    return dtype if whole and not hasattr(entry, "known_in") else None


def _claims(crd: Any, shape: IntTuple) -> list[tuple[Any, int]]:
    """The entries of a coordinate that are expressions of a kernel, each with the extent that it stays below.

    An entry for a mode of several leaves is an index into all of them.
    """
    if isinstance(crd, tuple) and isinstance(shape, tuple):
        return [claim for entry, extent in zip(crd, shape, strict=True) for claim in _claims(entry, extent)]
    if crd is _ or isinstance(crd, (int, np.integer, tuple)) or (isinstance(crd, np.ndarray) and crd.dtype != object):
        return []
    entries = crd.ravel().tolist() if isinstance(crd, np.ndarray) else [crd]
    return [(entry, product(shape)) for entry in entries if not isinstance(entry, int)]


def _misfit(crd: tuple[object, ...], shape: IntTuple, tensor: Tensor) -> TensorIndexError:
    count = f"{len(crd)} entr{'y' if len(crd) == 1 else 'ies'}"
    shape_text = f"{len(shape)} modes" if isinstance(shape, tuple) else "no modes of its own"
    return TensorIndexError(
        f"coordinate {show(crd)} of {tensor}: it has {count} where the shape {show(shape)} has {shape_text}; "
        "give one entry a mode, or one integer for all of them"
    )
