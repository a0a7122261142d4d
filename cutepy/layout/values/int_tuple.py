"""Int tuples: an integer, or a tuple of int tuples. The shapes, strides and coordinates of everything.

Law: a *profile* is the nesting of a tuple; `flatten` forgets it and `unflatten` restores it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from math import prod
from sys import modules
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from ...errors import LayoutError

IntTuple: TypeAlias = "int | tuple[IntTuple, ...]"

MAX_DEPTH = 100
"""How deep a shape may nest: far more than any kernel needs, far less than Python's own recursion limit."""


NUMPYS = {
    **dict.fromkeys(("T", "transpose", "permute"), "select(x, 1, 0) puts modes in another order"),
    **dict.fromkeys(("reshape", "view"), "composition(x, Layout(shape)) reads it in another shape, first mode fastest"),
    **dict.fromkeys(("flatten", "ravel"), "flatten(x) takes the nesting away, coalesce(x) the modes as well"),
    "ndim": "it is x.rank",
    "strides": "it is x.stride",
    "offset": "a layout begins at 0, x(crd) is the offset at a coordinate; a tensor has an offset",
    "dtype": "a layout has no elements; a tensor has a type",
    "tile": "zipped_divide(x, tile) has all tiles, local_tile(x, tile, crd) one of a tensor",
    "compose": "composition(x, y), x after y",
}
"""What NumPy's and others' names of attributes are here."""


class Shaped:
    """What has a shape: a layout, a tensor."""

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def shape(self) -> IntTuple: ...
    else:

        def __getattr__(self, name: str) -> object:
            said = f"; {NUMPYS[name]}" if name in NUMPYS else _instead(type(self), name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{said}", name=name, obj=self)

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return product(self.shape)

    @property
    def rank(self) -> int:
        """The number of top-level modes; 1 for an integer shape."""
        return len(self.shape) if isinstance(self.shape, tuple) else 1

    @property
    def depth(self) -> int:
        """How deep the shape nests: 0 for an integer."""
        return depth_of(self.shape)


def _instead(kind: type, name: str) -> str:
    """What may be meant by an attribute that is not there: a public function of that name, or a name that is close."""
    if name.startswith("_"):
        return ""
    from difflib import get_close_matches

    if name in modules["cutepy"].__all__ and name[0].islower():  # the names alone
        return f"; it is a function, {name}(x, ...)"
    near = get_close_matches(name, [known for known in dir(kind) if known[0] != "_"], 1, cutoff=0.75)
    return f"; is it {near[0]!r}?" if near else ""


def leaves(tree: IntTuple) -> tuple[int, ...]:
    """The integers of `tree` from left to right, as a flat tuple (an integer gives a tuple of one).

    >>> leaves(((4, 2), 8)), leaves(5)
    ((4, 2, 8), (5,))
    """
    if not isinstance(tree, tuple):
        return (tree,)
    level: tuple[Any, ...] = tree
    # Flatten one level per pass: fast for the depth of 1 or 2 that layouts have.
    while tuple in map(type, level):  # a level at a time: every call of a layout comes by here
        opened: list[Any] = []
        for entry in level:
            if isinstance(entry, tuple):
                opened += entry
            else:
                opened.append(entry)
        level = tuple(opened)
    return level


def product(tree: IntTuple) -> int:
    """The product of all integers of `tree`; 1 for an empty tuple.

    >>> product((4, (2, 8)))
    64
    """
    if not isinstance(tree, tuple):
        return tree
    return prod(leaves(tree))


def product_each(tree: IntTuple) -> tuple[int, ...]:
    """The product of each top-level entry.

    >>> product_each((2, (3, (4, 5))))
    (2, 60)
    """
    return tuple(product(entry) for entry in as_tuple(tree))


def depth_of(tree: IntTuple) -> int:
    """How deep `tree` nests: 0 for an integer, 1 for a flat tuple.

    >>> depth_of(3), depth_of((3, 4)), depth_of((3, (4, 5)))
    (0, 1, 2)
    """
    if type(tree) is not tuple:
        return 0
    return 1 + max(map(depth_of, tree), default=0)


def as_tuple(tree: IntTuple) -> tuple[IntTuple, ...]:
    """`tree` itself, or an integer as a tuple of one.

    >>> as_tuple(4), as_tuple((4, 8))
    ((4,), (4, 8))
    """
    return tree if isinstance(tree, tuple) else (tree,)


def map_leaves(function: Callable[..., IntTuple], *trees: IntTuple) -> IntTuple:
    """Apply `function` to corresponding leaves of congruent trees.

    >>> map_leaves(lambda s, d: s * d, (4, (2, 8)), (1, (4, 8)))
    (4, (8, 64))
    """
    if isinstance(trees[0], tuple):
        return tuple([map_leaves(function, *entries) for entries in zip(*map(as_tuple, trees), strict=True)])
    return function(*trees)


def nests_as(left: IntTuple, right: IntTuple, holds: Callable[[IntTuple, IntTuple], bool]) -> bool:
    """True if `right` nests as `left` does, and `holds` wherever `left` stops."""
    if not isinstance(left, tuple):
        return holds(left, right)
    if not isinstance(right, tuple) or len(left) != len(right):
        return False
    return all(nests_as(one, other, holds) for one, other in zip(left, right, strict=True))


def fold_profile(entries: Iterator[IntTuple], profile: IntTuple) -> IntTuple:
    """Take one entry for each leaf of `profile`, nested alike.

    >>> fold_profile(iter([7, 8, 9]), (0, (0, 0)))
    (7, (8, 9))
    """
    if isinstance(profile, tuple):
        return tuple(fold_profile(entries, entry) for entry in profile)
    return next(entries)


def prefix_product(shape: IntTuple, start: int = 1) -> IntTuple:
    """Compact strides, first mode fastest, congruent to `shape`; every extent 1 counts (see `compact_stride`).

    >>> prefix_product((4, (2, 8)))
    (1, (4, 8))
    """
    # The list is the running product, shared by the calls for all leaves.
    running = [start]

    def step(extent: int) -> int:
        stride = running[0]
        running[0] = stride * extent
        return stride

    return map_leaves(step, shape)


def inner_product(left: Any, right: Any) -> Any:
    """The sum of the products of corresponding entries; with basis elements on one side, a coordinate.

    >>> inner_product((1, (2, 3)), (4, (5, 6)))
    32

    Raises LayoutError where one nests in another way.
    """
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        total = sum(_products(left, right), 0)
        return total.coordinate() if hasattr(total, "coordinate") else total
    if isinstance(left, tuple) or isinstance(right, tuple):
        raise LayoutError(f"inner_product({left}, {right}): both nest alike")
    return left * right


def _products(left: tuple[Any, ...], right: tuple[Any, ...]) -> Iterator[Any]:
    """The products of corresponding leaves."""
    for one, other in zip(left, right, strict=True):
        if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
            yield from _products(one, other)
        else:
            yield inner_product(one, other)


class Order(Enum):
    """How compact strides grow: `LayoutLeft` (first mode fastest) or `LayoutRight` (last mode fastest)."""

    LEFT = "LayoutLeft"
    RIGHT = "LayoutRight"

    def __repr__(self) -> str:
        return self.value


LayoutLeft = Order.LEFT
LayoutRight = Order.RIGHT


def compact_stride(shape: IntTuple, order: Order = LayoutLeft) -> IntTuple:
    """Compact strides of `shape`; size-1 modes get stride 0, as CuTe's static integers do.

    >>> compact_stride((4, 1, 3)), compact_stride((4, 1, 3), LayoutRight)
    ((1, 0, 4), (3, 0, 1))
    """
    running = 1

    def step(extent: int) -> int:
        nonlocal running
        if extent == 1:
            return 0
        stride, running = running, running * extent
        return stride

    if order is LayoutLeft:
        return step(shape) if not isinstance(shape, tuple) else map_leaves(step, shape)
    return mirrored(map_leaves(step, mirrored(shape)))


def mirrored(tree: IntTuple) -> IntTuple:
    """`tree` with the order of modes reversed at every level."""
    return tuple(map(mirrored, reversed(tree))) if isinstance(tree, tuple) else tree


@overload
def ceil_div(numerator: int, denominator: int) -> int: ...
@overload
def ceil_div(numerator: IntTuple, denominator: IntTuple | Shaped) -> IntTuple: ...
def ceil_div(numerator: IntTuple, denominator: IntTuple | Shaped) -> IntTuple:
    """Quotients rounded up, entry by entry; entries that the denominator does not name are kept.

    An integer divides through the modes of a tuple. A layout as denominator (a tile) counts as its size, and meets all
    of the numerator that stands against it.

    >>> ceil_div(7, 3), ceil_div((8, 10, 6), (3, 4)), ceil_div((4, 8), 2)
    (3, (3, 3, 6), (2, 8))

    Raises LayoutError where the denominator nests in another way, or is below 1.
    """
    # A tile covers all that stands against it, so only its size counts.
    if isinstance(denominator, Shaped):
        numerator, denominator = product(numerator), product(denominator.shape)
    if isinstance(numerator, tuple):
        if not isinstance(denominator, tuple):
            # An integer divides mode 0, what is left of it mode 1, and so on.
            quotients: list[IntTuple] = []
            for entry in numerator:
                quotients.append(ceil_div(entry, denominator))
                denominator = ceil_div(denominator, product(entry))
            return tuple(quotients)
        if len(denominator) > len(numerator):
            raise LayoutError(
                f"ceil_div({numerator}, {denominator}): the divisor must be a tuple of at most {len(numerator)} entries"
            )
        kept = numerator[len(denominator) :]
        return tuple(map(ceil_div, numerator, denominator)) + kept
    by = _positive(product(denominator), "ceil_div", numerator, denominator)
    return (numerator + (by - 1)) // by  # not -(-n // by): a kernel's numbers may have no sign


def round_up(value: IntTuple, multiple: IntTuple) -> IntTuple:
    """The least multiple of `multiple` that is not below `value`, entry by entry.

    An integer rounds every entry; entries that the multiple does not name are kept.

    >>> round_up(7, 3), round_up((8, 10), (3, 4)), round_up((1, (8, 10)), 4)
    (9, (9, 12), (4, (8, 12)))

    Raises LayoutError where the multiple nests in another way, or is below 1.
    """
    if isinstance(value, tuple):
        multiples = multiple if isinstance(multiple, tuple) else (multiple,) * len(value)
        if len(multiples) > len(value):
            raise LayoutError(f"round_up({value}, {multiple}): {len(multiples)} multiples for {len(value)} entries")
        return tuple(map(round_up, value, multiples)) + value[len(multiples) :]
    by = _positive(product(multiple), "round_up", value, multiple)
    return (value + (by - 1)) // by * by


def shape_div(shape: IntTuple, divisor: IntTuple) -> IntTuple:
    """Divide `shape` from its first mode on: mode by mode for a tuple, through the modes for an integer.

    >>> shape_div((8, 10), (2, 5)), shape_div((4, 5, 6), 40)
    ((4, 2), (1, 1, 3))

    Raises LayoutError where neither divides the other. Source: CuTe, `int_tuple.hpp`.
    """
    if isinstance(shape, tuple):
        if isinstance(divisor, tuple):
            if len(shape) != len(divisor):
                raise LayoutError(f"shape_div({shape}, {divisor}): ranks {len(shape)} and {len(divisor)} differ")
            return tuple(map(shape_div, shape, divisor))
        result = []
        for entry in shape:
            result.append(shape_div(entry, divisor))
            divisor = product(shape_div(divisor, product(entry)))
        return tuple(result)
    factor = _positive(product(divisor), "shape_div", shape, divisor)
    if shape % factor == 0:
        return shape // factor
    if factor % shape == 0:
        return 1
    raise LayoutError(f"shape_div({shape}, {divisor}): neither {shape} nor {factor} divides the other")


def _positive(value: int, call: str, left: IntTuple, right: IntTuple) -> int:
    if type(value) is int and value < 1:
        raise LayoutError(f"{call}({left}, {right}): the divisor is {value}; it must be at least 1")
    return value


def tuple_add(left: IntTuple, right: IntTuple) -> IntTuple:
    """Add entry by entry; the shorter tuple is continued with zeros, an integer 0 meets any tuple.

    >>> tuple_add((1, 2), (4, 5, 6)), tuple_add((3, 4), 0)
    ((5, 7, 6), (3, 4))

    Raises LayoutError where an integer other than 0 meets a tuple.
    """
    return _zip_longest(left, right, lambda a, b: a + b, "+")


def moved(offset: Any, by: Any) -> Any:
    """`offset + by`, of numbers of any kind, or of coordinates."""
    return tuple_add(offset, by) if type(offset) is tuple or type(by) is tuple else offset + by


def tuple_sub(left: IntTuple, right: IntTuple) -> IntTuple:
    """Subtract entry by entry; the shorter tuple is continued with zeros.

    >>> tuple_sub((5, 8, 3), (1, 2))
    (4, 6, 3)

    Raises LayoutError as `tuple_add`.
    """
    return _zip_longest(left, right, lambda a, b: a - b, "-")


def _zip_longest(left: IntTuple, right: IntTuple, combine: Callable[[int, int], int], sign: str) -> IntTuple:
    """`combine` leaf by leaf, missing entries as 0; LayoutError where a number other than 0 meets a tuple."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        width = max(len(left), len(right))
        # The shorter tuple is continued with zeros.
        padded = [side + (0,) * (width - len(side)) for side in (left, right)]
        return tuple(_zip_longest(a, b, combine, sign) for a, b in zip(*padded, strict=True))
    if isinstance(left, tuple) or isinstance(right, tuple):
        scalar, nested = (right, left) if isinstance(left, tuple) else (left, right)
        if scalar != 0:
            raise LayoutError(f"{left} {sign} {right}: an integer other than 0 has no place in a tuple")
        return map_leaves(lambda leaf: combine(leaf, 0) if nested is left else combine(0, leaf), nested)
    return combine(left, right)


def show(tree: object) -> str:
    """CuTe's notation of an int tuple: no spaces, a rank-1 tuple keeps its parentheses.

    >>> show((4, (2, 8))), show((4,)), show(())
    ('(4,(2,8))', '(4)', '()')

    Integers of more digits than Python writes (4,300 by default) are hexadecimal.
    """
    if isinstance(tree, tuple):
        return f"({','.join(map(show, tree))})"
    try:
        return str(tree)
    except ValueError:
        return hex(tree) if isinstance(tree, int) else f"a {type(tree).__name__}"


def literal(tree: object) -> str:
    """Python's notation of an int tuple, which evaluates back; long integers as `show` writes them.

    >>> literal((4, (2, 8))), literal((4,)), literal(7)
    ('(4, (2, 8))', '(4,)', '7')
    """
    try:
        return repr(tree)
    except ValueError:
        if not isinstance(tree, tuple):
            return show(tree)
        return f"({', '.join(map(literal, tree))}{',' * (len(tree) == 1)})"
