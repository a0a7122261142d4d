"""What the tree of a text means: numbers, strides, layouts, and the results of the operations that it calls.

A call is a name and the parts in its brackets, as source code spells layouts (C++'s `Layout<Shape<_4>,Stride<_1>>`,
Python's `make_layout(4, stride=1)`), or an operation of the algebra. Python evaluates nothing, and an error points at
the part that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature, signature
from math import gcd
from operator import add, floordiv, mod, mul, sub, truediv
from typing import Any

from ...errors import CutepyError, LayoutError, NotationError, OperandError, RefusedCall
from ...lazy import LazyFunction, sympy
from ..algebra import queries, recast
from ..algebra.bits import strided_over_f2
from ..algebra.operation import OPERATIONS, Act
from ..algebra.rearrange import filter, make_ordered_layout
from ..values.bit_map import BitMap, OfBits, Swizzle
from ..values.composed import AnyLayout, Chained, ComposedLayout, Function, chained
from ..values.coordinates import AXES_RULE, Basis, as_stride, has_basis, is_listed, keeps
from ..values.int_tuple import IntTuple, Order, leaves, map_leaves, tuple_add
from ..values.layout import Layout, make_identity_layout, make_layout
from .tree import At, CallNode, Chain, Fail, Joined, ParsedText, Pointer, ShapeStride, TextNode, is_number
from .write import OverF2, spelt

LARGEST_POWER = 64
LARGEST_RESULT = 10**40


def tree_of(node: TextNode, fail: Fail, what: str, *, basis: bool = False) -> IntTuple:
    """The int tuple that a node is; `basis` allows basis strides."""
    if isinstance(node.value, tuple):
        return tuple([tree_of(entry, fail, what, basis=basis) for entry in node.value])
    if basis and isinstance(node.value, Basis):
        return as_stride(node.value.value, node.value.path)
    if is_number(node.value):
        return node.value
    raise fail(f"{what} holds numbers and tuples of them, not {_named(node.value)}", node.column)


def _named(value: object) -> str:
    """What kind of thing a value is, with its article, for messages."""
    if keeps(value):
        return "`_`"
    names = {
        Pointer: "a pointer",
        Basis: "a basis stride",
        tuple: "a tuple",
        Order: "an order",
        Swizzle: "a swizzle",
        BitMap: "a map of bits",
        OverF2: "a stride over F2",
        bool: "a truth value",
    }
    return names.get(type(value), "a number" if is_number(value) else "a layout")


def layout_of_pair(shape: TextNode, stride: TextNode, fail: Fail) -> AnyLayout:
    """`shape:stride`, checked leaf by leaf so that an error points at the leaf."""
    extents = tree_of(shape, fail, "a shape")
    if isinstance(stride.value, Order):
        return _built(shape, extents, stride.value, fail)
    _check_congruent(shape, stride, fail)
    if any(isinstance(node.value, OverF2) for node in _leaf_nodes(stride)):
        return _over_f2(_built(shape, extents, None, fail), stride, fail)
    return _built(shape, extents, tree_of(stride, fail, "a stride", basis=True), fail)


def _leaf_nodes(node: TextNode) -> list[TextNode]:
    if isinstance(node.value, tuple):
        return [leaf for entry in node.value for leaf in _leaf_nodes(entry)]
    return [node]


def _over_f2(compact: Layout, stride: TextNode, fail: Fail) -> AnyLayout:
    """The layout of that shape with strides over F2."""
    steps: list[int] = []
    for node in _leaf_nodes(stride):
        if not isinstance(node.value, OverF2) and node.value != 0:
            raise fail("one stride is over F2, so all are: write F2(1) for 1", node.column)
        steps.append(node.value.step if isinstance(node.value, OverF2) else 0)
    if compact.facts is not None:
        raise fail("strides over F2 take known sizes", stride.column)
    return strided_over_f2(compact.shape, steps)


def _check_congruent(shape: TextNode, stride: TextNode, fail: Fail) -> None:
    """Raises the error that points at the first stride that does not nest as its size."""
    if isinstance(shape.value, tuple) and isinstance(stride.value, tuple):
        if len(shape.value) != len(stride.value):
            raise fail(
                f"{len(stride.value)} strides for {len(shape.value)} sizes; the stride nests as the shape",
                stride.column,
            )
        for extent, step in zip(shape.value, stride.value, strict=True):
            _check_congruent(extent, step, fail)
    elif isinstance(shape.value, tuple) or isinstance(stride.value, tuple):
        inner, outer = (
            ("a tuple", "one size") if isinstance(stride.value, tuple) else ("one stride", "a tuple of sizes")
        )
        raise fail(f"{inner} stands against {outer}; the stride nests as the shape", stride.column)


def _built(shape: TextNode, extents: IntTuple, stride: IntTuple | Order | None, fail: Fail) -> Layout:
    _check_sizes(shape, fail)
    try:
        return Layout(extents, stride)
    except LayoutError as error:
        raise fail(str(error), shape.column) from None


def _check_sizes(node: TextNode, fail: Fail) -> None:
    if isinstance(node.value, tuple):
        for entry in node.value:
            _check_sizes(entry, fail)
    elif type(node.value) is int and node.value < 1:
        raise fail(f"a size is {node.value}; sizes are at least 1", node.column)


def layout_of(node: TextNode, fail: Fail) -> AnyLayout:
    """The layout that the whole text is: itself, a layout in one more pair of parentheses, or a shape."""
    value = node.value
    if isinstance(value, AnyLayout):
        return value
    inner = node.grouped
    if inner is not None and isinstance(inner.value, AnyLayout):
        return inner.value
    if isinstance(value, tuple) and any(isinstance(entry.value, AnyLayout) for entry in value):
        raise fail("a tuple of layouts is a tiler, not a layout; read it with parse_tiler", node.column)
    if isinstance(value, OfBits):
        raise fail("a swizzle alone has no shape; write what it follows: S<3,4,3> o 0 o (8,64):(64,1)", node.column)
    return _built(node, tree_of(node, fail, "a layout"), None, fail)


def tiler_of(node: TextNode, fail: Fail) -> object:
    """An integer, a layout, `_`, or a tuple of tilers."""
    if isinstance(node.value, tuple):
        return tuple([tiler_of(entry, fail) for entry in node.value])
    if is_number(node.value) or keeps(node.value) or isinstance(node.value, (Layout, ComposedLayout, Basis, bool, str)):
        return node.value
    raise fail(f"a tiler holds numbers, layouts, `_` and tuples of them, not {_named(node.value)}", node.column)


def compose(parts: list[TextNode], fail: Fail, *, part_of_chain: bool = False) -> Function:
    """`outer o offset o inner`, with any number of links; the last is a layout, pointers are left out.

    A coordinate in front is where a tensor of coordinates begins. `part_of_chain`: a swizzle may be the last, for a
    layout follows outside.
    """
    # The last link is the layout; links before it are functions, offsets and pointers.
    last = parts[-1].grouped or parts[-1]
    if is_number(last.value):
        raise fail("the last link is a number; it must be a layout, shape:stride", last.column)
    chain: Function | None = None
    offset: IntTuple = 0
    for link in parts[:-1]:
        value = (link.grouped or link).value
        if is_number(value) and chain is not None and offset == 0:
            offset = value
        elif isinstance(value, tuple) and not any(leaf != 0 for leaf in leaves(tree_of(link, fail, "a coordinate"))):
            continue
        elif isinstance(value, tuple) and offset == 0 and (chain is not None or link is parts[-2]):
            offset = tree_of(link, fail, "a coordinate")
        elif isinstance(value, (OfBits, Layout, Chained, ComposedLayout)):
            chain, offset = chained(chain, offset, value), 0
        elif isinstance(value, Pointer):
            chain = _of_elements(chain, value, link, fail)
        else:
            raise fail(
                f"{_named(value)} cannot stand here; a chain is S<3,4,3> o 2 o (8,64):(64,1), and a tensor's print has "
                "a pointer or an origin in front",
                link.column,
            )
    inner = last.value if isinstance(last.value, OfBits) and part_of_chain else layout_of(last, fail)
    try:
        # A coordinate in front of a coordinate layout: an identity layout large enough takes the sum.
        if chain is None and isinstance(offset, tuple):
            if not isinstance(inner, Layout) or not has_basis(inner.stride):
                raise LayoutError(f"{inner} gives no coordinates, so none stands in front of it")
            last_place = tuple_add(offset, map_leaves(lambda extent: extent - 1, queries.coshape(inner)))
            chain = make_identity_layout(map_leaves(lambda top: top + 1, last_place))
        return chained(chain, offset, inner)
    except LayoutError as error:
        raise fail(str(error), last.column) from None


def _of_elements(chain: Function | None, pointer: Pointer, node: TextNode, fail: Fail) -> Function | None:
    """What a layout over `pointer` is composed with: the pointer's own swizzle, else `chain`, which the text has before
    it. A swizzle there moves bytes, and the same of elements is given back; anything else stays as it is."""
    swizzle = chain if pointer.swizzle is None else Swizzle(*pointer.swizzle)
    if not isinstance(swizzle, OfBits):
        return chain
    width = pointer.width
    if not width or width & (width - 1):
        said = "does not say how wide an element is" if not width else f"has elements of {width} bits, no power of two"
        raise fail(f"{swizzle} moves bytes, and this pointer {said}; write the swizzle of elements, o 0 o", node.column)
    # Bytes to elements: 2^zoom elements a byte, negative for elements wider than a byte.
    zoom = 4 - width.bit_length()
    if zoom < -swizzle.base:
        raise fail(f"{swizzle} moves bytes within an element of {width} bits; no layout of elements does", node.column)
    return swizzle.zoomed(zoom)


_SIGNS = {"+": add, "-": sub, "*": mul, "/": truediv, "//": floordiv, "%": mod}


def arithmetic(sign: str, left: TextNode, right: TextNode, fail: Fail) -> TextNode:
    """`left sign right` of two numbers; a number may also scale a basis stride."""
    if sign == "**":
        return _power(left, right, fail)
    left, right = left.grouped or left, right.grouped or right
    a: Any = left.value
    b: Any = right.value
    if sign == "*" and isinstance(b, Basis) and is_number(a):
        return TextNode(left.column, b * a)
    if sign == "*" and isinstance(a, Basis) and is_number(b):
        return TextNode(left.column, a * b)
    for node in (left, right):
        if not is_number(node.value):
            raise fail(f"{sign!r} joins numbers, not {_named(node.value)}", node.column)
    if sign in ("/", "//", "%") and b == 0:
        raise fail("division by 0", right.column)
    if sign == "/" and type(a) is int is type(b) and a % b:
        common = gcd(a, b) if b > 0 else -gcd(a, b)
        raise fail(f"this is {a // common}/{b // common}; sizes and strides are whole numbers", left.column)
    whole = sign == "/" and type(a) is int is type(b)
    return TextNode(left.column, _whole(a // b if whole else _SIGNS[sign](a, b), left, fail))


def _whole(value: Any, node: TextNode, fail: Fail) -> object:
    """A number of a text as an int or a SymPy expression. Raises for fractions and for 10^40 or more."""
    if getattr(value, "is_Rational", False):
        if not getattr(value, "is_Integer", False):
            raise fail(f"this is {value}; sizes and strides are whole numbers", node.column)
        value = int(value)
    if type(value) is int and abs(value) >= LARGEST_RESULT:
        raise fail("this number is too large for a size or a stride", node.column)
    return value


def _power(base: TextNode, exponent: TextNode, fail: Fail) -> TextNode:
    """`base ** exponent`, the exponent a small number."""
    base = base.grouped or base
    if not is_number(base.value) or type(exponent.value) is not int or not 0 <= exponent.value <= LARGEST_POWER:
        raise fail(f"a power has a number below and one from 0 to {LARGEST_POWER} above", exponent.column)
    if type(base.value) is int and abs(base.value) ** exponent.value >= LARGEST_RESULT:
        raise fail("this number is too large for a size or a stride", base.column)
    value: Any = base.value
    return TextNode(base.column, value**exponent.value)


_ARGUMENTS = {"floor": 1, "ceiling": 1, "Mod": 2}


def _layout(call: CallNode) -> AnyLayout:
    """The layout that a call of `Layout` or `make_layout` spells: of layouts, or of a shape and a stride."""
    swizzle = call.keywords.pop("swizzle", None)
    if swizzle is not None and not keeps(swizzle.value):
        if not isinstance(swizzle.value, OfBits):
            raise call.wrong("takes a swizzle as swizzle=")
        return chained(swizzle.value, 0, _layout(call))
    layouts = [entry.value for entry in call.entries if isinstance(entry.value, Layout)]
    if layouts and len(layouts) == len(call.entries):
        return layouts[0] if len(layouts) == 1 and call.name == "Layout" else make_layout(*layouts)
    parts = call.parts("shape", "stride")
    if not 1 <= len(parts) <= 2:
        raise call.wrong(f"takes a shape and a stride, or layouts; here are {len(parts)} arguments")
    stride = parts[1] if len(parts) == 2 else TextNode(call.column, Order.LEFT)
    return layout_of_pair(parts[0], stride, call.fail)


def _composed(call: CallNode) -> object:
    entries = call.entries
    if len(entries) == 2 and "offset" in call.keywords:
        entries = [entries[0], call.keywords.pop("offset"), entries[1]]
    if len(entries) < 2 or (call.name == "composition" and not isinstance(entries[0].value, OfBits)):
        raise call.wrong("is read where it joins a swizzle and a layout; compute others in Python")
    return compose(entries, call.fail, part_of_chain=True)


def _bit_map(call: CallNode) -> BitMap:
    """`F2<1,3,6>`, or `BitMap((1, 3, 6))`."""
    columns = [leaf for entry in call.entries for leaf in leaves(tree_of(entry, call.fail, "a map of bits"))]
    if not all(type(column) is int for column in columns):
        raise call.wrong("takes whole numbers, what each bit becomes")
    return BitMap(tuple(columns))


def _trees(call: CallNode, **names: str) -> list[IntTuple]:
    """The int tuples that a call takes: by what each is called, how a message calls it."""
    parts = call.parts(*names)
    if len(parts) != len(names):
        raise call.wrong(f"takes {' and '.join(names.values())}")
    return [tree_of(node, call.fail, said) for node, said in zip(parts, names.values(), strict=True)]


def _basis(call: CallNode, value: int, *path: int) -> Basis:
    if not is_listed(path):
        raise call.wrong(f"takes axes, and {AXES_RULE}")
    return Basis(value, path)


def _function(call: CallNode) -> object:
    values: list[IntTuple] = [tree_of(entry, call.fail, call.name) for entry in call.entries]
    count = _ARGUMENTS.get(call.name, max(1, len(values)))
    if len(values) != count or not all(map(is_number, values)):
        raise call.wrong(f"takes {count} numbers")
    value = getattr(sympy, call.name)(*values)
    return int(value) if value.is_Integer else value


def _over(call: CallNode) -> OverF2:
    step = call.integers((1,))[0]
    if step < 0:
        raise call.wrong("takes a whole number from 0")
    return OverF2(step)


_SPELLINGS: dict[Callable[[CallNode], object], str] = {
    lambda call: tuple(call.entries): "Shape Stride Step Coord Tile Tiler tuple Tuple IntTuple make_shape make_stride "
    "make_tuple make_coord make_tile make_step make_int_tuple ArithTuple ArithmeticTuple make_arithmetic_tuple "
    "make_arithmetic_tuple_iterator",
    lambda call: call.entries[0].value if len(call.entries) == 1 else tuple(call.entries): "Size",
    lambda call: Swizzle(*call.integers((3,))): "Swizzle Sw S make_swizzle",
    _bit_map: "F2 BitMap",
    _over: "F2()",
    lambda call: call.integers((1,))[0]: "Int C constant Integer",
    lambda call: _basis(call, 1, *call.integers(range(1, 100))): "E",
    lambda call: _basis(call, *call.integers(range(2, 100))): "ScaledBasis",
    _layout: "Layout make_layout",
    _composed: "ComposedLayout Chained make_composed_layout composition",
    lambda call: make_identity_layout(*_trees(call, shape="a shape")): "make_identity_layout",
    lambda call: make_ordered_layout(*_trees(call, shape="a shape", order="an order")): "make_ordered_layout",
    _function: "floor ceiling Mod Max Min",
}
CALLS = {name: meaning for meaning, names in _SPELLINGS.items() for name in names.split()}
"""What a call means, by its name."""

LARGEST_OPERAND = 1 << 24
"""How many coordinates an operand after the first may have: the algebra may have to look at every one of them."""


def functions() -> dict[str, Act]:
    """What an expression may call beside the spellings of layouts; each takes a layout first."""
    operations = {name: record.call for name, record in OPERATIONS.items() if record.layouts}
    # Recasts are loaded for texts alone, so they are named here.
    recasts = {act.__name__: act for act in (recast.downcast, recast.max_common_layout, recast.upcast)}
    return dict(sorted({**operations, **recasts, "filter": filter}.items()))


QUESTIONS: dict[str, Act] = {
    question.__name__: question
    for question in (
        *(queries.size, queries.cosize, queries.rank, queries.depth, queries.shape, queries.stride, queries.coshape),
        *(queries.is_bijective, queries.is_contiguous, queries.is_injective, queries.is_surjective),
    )
}
"""What an expression may ask of a layout; the answer is a number, a tuple, yes or no."""


class Finding:
    """A function of the library whose answer is no layout, as an act of texts; its module is loaded by the first call.

    `layouts` is how many operands in front are layouts.
    """

    def __init__(self, module: str, name: str, layouts: int) -> None:
        self._function = LazyFunction(f"cutepy.layout.algebra.{module}", name)
        self.__name__, self.layouts = name, layouts

    @property
    def __signature__(self) -> Signature:
        takes = signature(self._function.__wrapped__).parameters.values()
        return Signature([each.replace(kind=Parameter.POSITIONAL_OR_KEYWORD) for each in takes])

    @property
    def description(self) -> str | None:
        """The docstring of the function; it loads the function's module."""
        return self._function.__doc__

    def __call__(self, *operands: object) -> object:
        return self._function(**dict(zip(self.__signature__.parameters, operands, strict=False)))


FINDINGS: dict[str, Act] = {
    name: Finding(module, name, layouts)
    for module, name, layouts in (
        ("banks", "bank_conflicts", 1),
        ("banks", "transactions", 1),
        ("conflict_free", "conflict_free", 0),
        ("convert", "convert", 2),
        ("copies", "widest_copy", 2),
        ("thread_values", "touched_by", 1),
        ("thread_values", "vectorised", 2),
        ("thread_values", "who_owns", 1),
    )
}
"""What an expression may ask of accesses, copies and conversions; the answer says why."""
_OF_MODES = frozenset({"get", "select", "take", "group_modes", *QUESTIONS})
"""What takes modes after the layout, which `mode=` and `<...>` name as well."""


class Meaning:
    """What one tree means, where calls may name `functions`."""

    __slots__ = ("fail", "functions", "tree")

    def __init__(self, tree: ParsedText, functions: Mapping[str, Act]) -> None:
        self.tree, self.functions, self.fail = tree, functions, tree.error

    def layout(self) -> AnyLayout:
        """The layout that the whole text is."""
        return self.stated(layout_of(self.of(self.tree.node), self.fail))

    def tiler(self) -> object:
        """The tiler that the whole text is."""
        return tiler_of(self.of(self.tree.node), self.fail)

    def call(self) -> CallNode | None:
        """The call of a function that the whole text is, not computed yet; None where it is something else."""
        if not isinstance(self.tree.node.value, CallNode):
            return None
        call = self._spelt(self.tree.node.value)
        return call if self._computes(call) else None

    def of(self, node: TextNode) -> TextNode:
        """A part of the text with what it means as its value."""
        column, value = node.column, node.value
        if isinstance(value, tuple):
            return TextNode(column, tuple([self.of(entry) for entry in value]), node.comma)
        if isinstance(value, Joined):
            left = self.of(value.first)
            for sign, right in value.rest:
                left = arithmetic(sign, left, self.of(right), self.fail)
            return left
        if isinstance(value, ShapeStride):
            return TextNode(column, layout_of_pair(self.of(value.shape), self.of(value.stride), self.fail))
        if isinstance(value, Chain):
            return TextNode(column, compose([self.of(link) for link in value.links], self.fail))
        if isinstance(value, At):
            return TextNode(column, self._at(value))
        return TextNode(column, self._called(self._spelt(value))) if isinstance(value, CallNode) else node

    def value(self) -> object:
        """What the whole text is: a layout, or a number, a swizzle, an answer where it computes one."""
        node = self.of(self.tree.node)
        value = (node.grouped or node).value
        computes = isinstance(self.tree.node.value, At) or isinstance(value, OfBits)
        return value if computes else self.stated(layout_of(node, self.fail))

    def _at(self, at: At) -> object:
        """A layout at a coordinate: what it gives there; at a slice: the layout of what is left."""
        layout = self.of(at.layout)
        entries: list[Any] = [tiler_of(self.of(entry), self.fail) for entry in at.entries]
        called: Any = layout.value if isinstance(layout.value, OfBits) else layout_of(layout, self.fail)
        operands = (called, *entries)
        said = f"no coordinate of {called}: ({', '.join(map(str, entries))})"
        return self._apply("", type(called).__call__, operands, layout.column, lambda _wrong: said)

    def _apply(
        self, name: str, act: Act, operands: tuple[object, ...], column: int, said: Callable[[Exception], str]
    ) -> object:
        """`act(*operands)`, which the text asks for at a column. An error points there and has the call; `said` is what
        it says where an operand is of another kind."""
        error: CutepyError
        cause: BaseException | None
        try:
            return act(*operands)
        except (OperandError, TypeError) as wrong:
            cause, error = wrong, self.fail(said(wrong), column)
        except CutepyError as refusal:
            cause, error = refusal.__cause__, refusal.at(self.tree.text, column)
        except (OverflowError, MemoryError, RecursionError) as large:
            text = self.tree.text.strip()
            cause, error = large, LayoutError(f"{text}: too large to compute ({type(large).__name__})")
        error.refused = RefusedCall(name, act, operands, {}, in_text=True)
        raise error from cause

    def _spelt(self, call: CallNode) -> CallNode:
        keywords = {name: self.of(node) for name, node in call.keywords.items()}
        return CallNode(call.name, call.column, [self.of(entry) for entry in call.entries], keywords, call.fail)

    def _computes(self, call: CallNode) -> bool:
        """True for a call of a function; a composition that begins with a swizzle spells a layout."""
        swizzles = call.name == "composition" and call.entries and isinstance(call.entries[0].value, OfBits)
        return call.name in self.functions and not swizzles

    def _called(self, call: CallNode) -> object:
        """A spelling of a layout, or the result of a function; what the former refuses is an error at its name."""
        if self._computes(call):
            return self.computed(call, self.operands(call))
        call = call.bare()
        try:
            value = CALLS[call.name](call)
        except NotationError:
            raise
        except LayoutError as error:
            raise call.fail(str(error), call.column) from None
        # Each spelling takes its keywords out of the call.
        for name, node in call.keywords.items():
            if name not in ("loc", "ip"):  # where in a program, as the CuTe DSL has it
                raise call.fail(f"{call.name} takes no {name}=", node.column)
        return value

    def operands(self, call: CallNode) -> tuple[object, ...]:
        """The operands of a function: layouts where it takes layouts, else tilers, numbers, tuples."""
        # The first operands are layouts as the record says, the others tilers.
        record = OPERATIONS.get(call.name) or FINDINGS.get(call.name)
        layouts = getattr(record, "layouts", 1)
        first = [self.stated(layout_of(node, call.fail)) for node in call.entries[:layouts]]
        tilers = [self._tiler(node) for node in call.entries[layouts:]]
        named = {name: self._tiler(node) for name, node in call.keywords.items()}
        if "mode" in named and call.name in _OF_MODES:
            mode = named.pop("mode")
            tilers += mode if isinstance(mode, tuple) else (mode,)
        return self._bound(call, (*first, *tilers), named)

    def _tiler(self, node: TextNode) -> object:
        tiler = tiler_of(node, self.fail)
        return self.stated(tiler) if isinstance(tiler, AnyLayout) else tiler

    def _bound(self, call: CallNode, operands: tuple[object, ...], named: dict[str, object]) -> tuple[object, ...]:
        """The operands in the order of the function's parameters."""
        takes = signature(self.functions[call.name])
        try:
            bound = takes.bind(*operands, **named)
        except TypeError:
            given = [*map(spelt, operands), *(f"{name}={spelt(value)}" for name, value in named.items())]
            raise call.wrong(f"takes ({', '.join(takes.parameters)}), not ({', '.join(given)})") from None
        if call.name in FINDINGS:
            bound.apply_defaults()
        return (*bound.args, *bound.kwargs.values())

    def computed(self, call: CallNode, operands: tuple[object, ...]) -> object:
        """What the called function gives for these operands.

        An error of cutepy points at the call's name and carries calls that work as `fixes`; operands of another kind
        and results too large to compute are refused as NotationError and LayoutError.
        """
        for operand in operands[1:]:
            _check_size(operand, call)
        # select(L, (0, 2)) is written for select(L, 0, 2).
        if call.name in ("select", "get") and len(operands) == 2:
            path = operands[1]
            operands = (operands[0], *(path if isinstance(path, tuple) else (path,)))
        act, said = self.functions[call.name], f"{call.name} does not take these operands"
        return self._apply(call.name, act, operands, call.column, lambda wrong: f"{said}: {wrong}")

    def stated(self, layout: AnyLayout) -> AnyLayout:
        """The layout with the facts that the text states of its unknown sizes."""
        facts = self.tree.facts
        return layout.given(*facts) if facts and layout.facts is not None else layout


def _check_size(operand: object, call: CallNode) -> None:
    """Raises for a layout among the operands with more than LARGEST_OPERAND coordinates."""
    if isinstance(operand, tuple):
        for entry in operand:
            _check_size(entry, call)
    elif isinstance(operand, AnyLayout) and type(operand.size) is int and operand.size > LARGEST_OPERAND:
        raise call.wrong(
            f"has the operand {operand} of {operand.size} coordinates; expressions take up to {LARGEST_OPERAND}"
        )
