"""Reading layouts and expressions of the algebra, in every notation that people paste.

Law: for every layout and every writer of `write.py`, reading what it writes gives the layout back. The text is read as
a tree (`syntax.py`), and the tree is given its meaning (`meaning.py`). A linear layout of Triton maps (register, lane,
warp, block), or what dimensions its text names, to the place in the tensor, its first dimension fastest; each bit of
them goes where its basis says, and XOR joins bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from ...errors import CutepyError, NotationError
from ..algebra.bits import linear_layout_of
from ..algebra.operation import Act
from ..algebra.rearrange import make_ordered_layout
from ..public import guarded
from ..values.composed import AnyLayout
from .lines import column_before, named_in, names_values, pieces, substituted
from .meaning import CALLS, FINDINGS, QUESTIONS, Meaning, functions
from .syntax import read

_SIGNS = re.compile(r"^\s*#|[Ll]inear|Blocked|size 1 dim| -> \(|:[ \t]+\S|\w = <|\]\{")
_TRITON = re.compile(r"#\w|[Ll]inear|Blocked|size 1 dim| -> \(|\w = <|\]\{")
_SIZES = re.compile(r"\s*[0-9]+(\s*[x,]\s*[0-9]+)+\s*")
_XLA = re.compile(r"\s*\w+\[(?P<sizes>[0-9][0-9, ]*)\]\{(?P<minor>[0-9][0-9, ]*)(?P<tiles>:[^}]*)?\}\s*")
_WORDS = ("ValueType", "Value type")
_SPELLINGS = "Layout, Shape, Stride, make_layout, make_shape, make_stride, ComposedLayout, Swizzle, Int, E"


@guarded
def parse_layout(text: str) -> AnyLayout:
    """The layout that `text` writes down.

    It reads CuTe C++ prints and sources, the CuTe DSL, pycute, tensor-layouts, Mojo, LaTeX, cutepy's own `str` and
    `repr`, types of CuTe's compiler, Triton's linear layouts, PyTorch's `torch.Size([4, 8]):(8, 1)`, XLA's
    `f32[4,8]{1,0}`, and a bare shape. Of a pointer in front only its swizzle counts, which moves bytes, and here the
    elements; of coordinates their origin does. A label in front is left out; a name or `?` is an unknown size, a
    positive SymPy symbol.

    >>> print(parse_layout("((_4,_2),_8):((_1,_16),_4)"), parse_layout("Layout<Shape<_4,_8>,Stride<_8,_1>>{}"))
    ((4,2),8):((1,16),4) (4,8):(8,1)
    >>> print(parse_layout("Sw<3,4,3> o _0 o (_8,_64):(_64,_1)"), parse_layout("(4, 8)"))
    S<3,4,3> o 0 o (8,64):(64,1) (4,8):(1,4)

    Raises NotationError, with the column and a caret, for anything else.
    """
    foreign = _foreign(text)
    return Meaning(read(text, CALLS, _SPELLINGS), {}).layout() if foreign is None else foreign


def _foreign(text: str) -> AnyLayout | None:
    """The layout of Triton's text, or of a line with a label of several words; None for any other text."""
    if not isinstance(text, str) or not _SIGNS.search(text):
        return None
    if xla := _XLA.fullmatch(text):
        return _ordered(text, xla)
    linear = linear_layout(text)
    parts = {} if linear else parts_of(text)
    if len(parts) > 1:
        raise NotationError(f"this print has the parts {', '.join(parts)}; parse_parts reads them all", text, 0)
    return next((parse_layout(source) for label, source in parts.items() if " " in label), linear)


def _ordered(text: str, match: re.Match[str]) -> AnyLayout:
    """The layout of an array of XLA's, which says its sizes and the axes from the fastest on."""
    if match["tiles"]:
        raise NotationError("the tiles of XLA's layouts are not read, their order alone is", text, match.start("tiles"))
    sizes, minor = ([*map(int, re.findall(r"[0-9]{1,18}", match[name]))] for name in ("sizes", "minor"))
    if sorted(minor) != [*range(len(sizes))]:
        raise NotationError(f"the axes {minor} are not 0 to {len(sizes) - 1}, each once", text, match.start("minor"))
    return make_ordered_layout(tuple(sizes), tuple(map(minor.index, range(len(sizes)))))


@guarded
def parse_parts(text: str) -> dict[str, object]:
    """The layouts and tilers of a print of several parts, by their labels: `print(TiledMMA)`, atoms, lines of a log.

    >>> for name, part in parse_parts("MMA_Atom\\n  ThrID:      _32:_1\\n  Shape_MNK:  (_16,_8,_16)\\n").items():
    ...     print(name, part)
    ThrID 32:1
    Shape_MNK (16, 8, 16)

    The prints of CuTe C++ and of the CuTe DSL, and the attributes of the compiler's types. A type of values stays text.
    Raises NotationError for a text without such parts.
    """
    parts = parts_of(text)
    if not parts:
        raise NotationError("there are no parts; a print of them has lines such as LayoutA_TV: (4,8):(8,1)", text, 0)
    return {name: source if name in _WORDS else parse_tiler(source) for name, source in parts.items()}


@guarded
def parse_tiler(text: str) -> object:
    """The tiler that `text` writes down: an integer, a layout, `_`, a tuple of tilers, or sizes as `16x8` or `16,8`.

    >>> parse_tiler("<3:1, 8:1>"), parse_tiler("[_;(2,4):(1,2)]"), parse_tiler("(4,(2,8))"), parse_tiler("16x8")
    ((Layout(3, 1), Layout(8, 1)), (_, Layout((2, 4), (1, 2))), (4, (2, 8)), (16, 8))

    Shapes, strides and coordinates are tilers too. Raises NotationError as `parse_layout`.
    """
    if isinstance(text, str) and _SIZES.fullmatch(text):
        text = f"({text.strip().replace('x', ',')})"
    return Meaning(read(text, CALLS, _SPELLINGS), {}).tiler()


@dataclass(frozen=True, slots=True)
class Expression:
    """A text that was read: the function called and its operands ("" and none for a layout), and the value.

    >>> expression = parse_expression("zipped_divide((8,8):(8,1), (4,4))")
    >>> expression.function, expression.operands, expression.value
    ('zipped_divide', (Layout((8, 8), (8, 1)), (4, 4)), Layout(((4, 4), (2, 2)), ((8, 1), (32, 4))))
    """

    text: str
    function: str
    operands: tuple[object, ...]
    value: object

    def __str__(self) -> str:
        return self.text


def parse_expression(text: str) -> Expression:
    """The layout, or the call of an algebra function over layouts, integers and tuples, that `text` writes down.

    >>> print(parse_expression("coalesce(composition((6,2):(8,2), (4,3):(3,1)), (1,1))").value)
    ((2,2),3):((24,2),8)
    >>> print(parse_expression("S<2,0,3> o 0 o coalesce((8,8):(8,64))").value)
    S<2,0,3> o 0 o 64:8

    Lines may name values for later ones, and the last line is what the text is:

    >>> print(parse_expression("A = (8,8):(8,1); zipped_divide(A, (4,4))").value)
    ((4,4),(2,2)):((8,1),(32,4))

    Raises NotationError, with the column and a caret, for a text that is none, and what the algebra raises for operands
    that do not go together.
    """
    if isinstance(text, str) and not is_foreign(text) and names_values(text):
        return read_lines(text)[-1].expression
    return parse_line(text)


def is_foreign(text: str) -> bool:
    """True for Triton's and XLA's texts and for prints of parts, whose lines are no expressions."""
    return _TRITON.search(text) is not None or (_SIGNS.search(text) is not None and not names_values(text))


def parse_line(text: str) -> Expression:
    """One expression, without names."""
    foreign = _foreign(text)
    if foreign is not None:
        return Expression(text.strip(), "", (), foreign)
    meaning = _expression(text)
    call = meaning.call()
    if call is None:
        return Expression(text.strip(), "", (), meaning.value())
    operands = meaning.operands(call)
    return Expression(text.strip(), call.name, operands, meaning.computed(call, operands))


MOST_LINES = 64


@dataclass(frozen=True, slots=True)
class Line:
    """A line that was read: the name it gives ("" for none), its text as written, where that begins, its value."""

    name: str
    text: str
    column: int
    expression: Expression
    meant: str
    """The text that stands for the name."""

    @property
    def value(self) -> object:
        """The layout, or what else the line is."""
        return self.expression.value


@dataclass(frozen=True, slots=True)
class Lines:
    """A text of several lines that was read; its last line is what it is as an expression."""

    source: str
    lines: tuple[Line, ...]

    @property
    def shown(self) -> tuple[Line, ...]:
        """The lines without a name: what a picture of the text shows."""
        return tuple(line for line in self.lines if not line.name)

    def __str__(self) -> str:
        return self.source


def read_lines(text: str) -> list[Line]:
    """The lines of a text, with their values.

    >>> [(line.name, str(line.expression.value)) for line in read_lines("A = (4,2):(2,1)\\ncomposition(A, 4:2)")]
    [('A', '(4,2):(2,1)'), ('', '(2,2):(4,1)')]

    Raises what `parse_expression` raises, with the column in the whole text; NotationError for a name that is given
    twice or is a function's.
    """
    found: list[Line] = []
    named: dict[str, str] = {}
    cut = pieces(text)
    if len(cut) > MOST_LINES:
        raise NotationError(f"there are {len(cut)} lines; a text has at most {MOST_LINES}", text, cut[MOST_LINES][0])
    for start, piece in cut:
        name, body, begin = named_in(piece)
        if name in known_names():
            raise NotationError(f"{name} is a word of the grammar; give the value another name", text, start)
        if name and name in named:
            raise NotationError(f"{name} is named twice; a name has one value", text, start)
        if not body:
            raise NotationError(f"{name} has no value; write {name} = (4,8):(8,1)", text, start)
        whole, shifts = substituted(body, named)
        try:
            expression, meant = _line(whole, named=bool(name))
        except CutepyError as error:
            if error.column is not None:
                error.args = (str(error).partition("\n")[0],)
                error.at(text, start + begin + column_before(error.column, shifts))
            error.around = text[: start + begin], text[start + begin + len(body) :]
            raise
        found.append(Line(name, body, start + begin, expression, meant))
        named[name] = meant
    return found


def _line(text: str, *, named: bool) -> tuple[Expression, str]:
    """The expression that a line is, and what stands for its name: its value; sizes and tilers as they were written.

    A name may stand for a tiler, which is no expression of its own.
    """
    tiler: object = None
    with suppress(CutepyError):
        tiler = parse_tiler(text) if named else None
    try:
        expression = parse_line(text)
    except CutepyError:
        if not isinstance(tiler, tuple):
            raise
        expression = Expression(text, "", (), tiler)
    written = isinstance(tiler, int | tuple) and (":" not in text or expression.value is tiler)
    return expression, text if written else str(expression.value)


def several_lines(text: str) -> list[Line]:
    """The lines of a text of several, with their values; none of one expression and of a print of others'."""
    return read_lines(text) if isinstance(text, str) and len(pieces(text)) > 1 and not is_foreign(text) else []


def expression_of(text: str) -> Expression:
    """The expression that a text is: of several lines the last.

    >>> print(expression_of("(4,8):(8,1); (4,8):(1,4)"))
    (4,8):(1,4)
    """
    lines = several_lines(text)
    return lines[-1].expression if lines else parse_expression(text)


def with_values(text: str, lines: Iterable[Line]) -> str:
    """The text with the values of named lines in the place of their names."""
    return substituted(text.strip(), {line.name: line.meant for line in lines if line.name})[0]


def parse_call(text: str) -> tuple[Act | None, tuple[object, ...]]:
    """The function that `text` calls and its operands, without the call: to explain what may be refused.

    >>> parse_call("coalesce((6,2):(1,6))")[1]
    (Layout((6, 2), (1, 6)),)

    A layout alone gives None and nothing. Raises as `parse_expression`, but for the outermost call.
    """
    if names_values(text):
        *_before, (_start, last) = pieces(text)
        named = read_lines(text.rpartition(last)[0])
        text = with_values(last.partition("=")[2] if names_values(last) else last, named)
    meaning = _expression(text)
    call = meaning.call()
    if call is not None:
        return meaning.functions[call.name], meaning.operands(call)
    meaning.layout()
    return None, ()


def known_names() -> frozenset[str]:
    """Words that no value may have as its name: what an expression may call, and the signs that are letters."""
    return frozenset(functions().keys() | QUESTIONS.keys() | FINDINGS.keys() | {"o", "None", "True", "False", "_"})


def _expression(text: str) -> Meaning:
    if isinstance(text, str) and not text.strip():
        raise NotationError("there is no expression; write a layout such as (4,8):(8,1), or coalesce((4,8):(1,4))")
    callables = functions() | QUESTIONS | FINDINGS
    tree = read(text, CALLS.keys() | callables.keys(), ", ".join(callables), callables)
    return Meaning(tree, callables)


_PART = (
    r"(?m)^[ \t]*(?P<label>[A-Za-z]\w*(?: \w+)*)[ \t]*:(?!:)[ \t]*(?P<line>\S.*)"
    r"|\b(?P<name>\w+) = <(?P<quoted>\"[^\"]*\")>"
)


def parts_of(text: str) -> dict[str, str]:
    """The texts of the parts of a print, by the labels of their lines; none where it is no print of parts.

    >>> parts_of("TiledCopy\\n  Tiler_MN:       (_64,_16)\\n")
    {'Tiler_MN': '(_64,_16)'}
    """
    return {match["label"] or match["name"]: match["line"] or match["quoted"] for match in re.finditer(_PART, text)}


_BASES = r"[\"']?(\w+?)(?:_bases)?[\"']?\s*[=:]\s*\[((?:\s*\[[^\[\]]*\]\s*,?)*)\s*\]"
_STEP = r"(\w+)=(\d+) -> \(([^()]*)\)|- (\w+) is a size 1 dimension"
_SIZE = r"\(size (\d+)\)"
_LISTED = r"\[\s*(\d[\d\s,]*)\]"
_KINDS = r"\s*(?:#\w+\s*=\s*)?(?:#(?:ttg|triton_gpu|ttng)\.)?(\w+)\s*[<(]\s*\{?"
_LINEAR = ("linear", "shared_linear", "DistributedLinearLayout", "SharedLinearLayout", "LinearLayout")
_BLOCKED = ("blocked", "BlockedLayout")
_MOST_BASES = 256

Bases = list[list[tuple[int, ...]]]


def linear_layout(text: str) -> AnyLayout | None:
    """The layout that a text of Triton's is, None where it is no such text.

    >>> print(linear_layout("#ttg.linear<{register = [[0, 1]], lane = [[1, 0], [2, 0]], warp = [], block = []}>"))
    (2,4,1,1):(4,1,0,0)

    Raises NotationError for those that are rules for tensors of any shape, as swizzled_shared and matrix units.
    """
    # Triton prints one basis vector a line; attributes list them in brackets.
    if " -> (" in text or "is a size 1 dimension" in text:
        return _of_bases(text, _printed(text), [int(size) for size in re.findall(_SIZE, text)])
    kind = re.match(_KINDS, text)
    if kind is None:
        return None
    if kind[1] in _LINEAR:
        return _of_bases(text, [_vectors(match[2]) for match in re.finditer(_BASES, text)], [])
    if kind[1] in _BLOCKED:
        return _of_bases(text, _blocked(text), [])
    if text.lstrip().startswith("#"):
        raise NotationError(
            f"{kind[1]} of Triton is a rule for tensors of any shape, not a layout; its linear layout is one, as "
            "toLinearLayout(shape) prints it",
            text,
            kind.start(1),
        )
    return None


def _vectors(text: str) -> list[tuple[int, ...]]:
    return [tuple(map(int, re.findall(r"\d{1,18}", row))) for row in re.findall(r"\[([^\[\]]*)\]", text)]


def _printed(text: str) -> Bases:
    """The bases of each dimension, from `register=1 -> (0, 1)` line by line."""
    bases: dict[str, list[tuple[int, ...]]] = {}
    for step in re.finditer(_STEP, text):
        listed = bases.setdefault(step[1] or step[4], [])
        if step[1]:
            if int(step[2]) != 1 << len(listed):
                raise NotationError(f"{step[1]}={step[2]} is not the next bit, {1 << len(listed)}", text, step.start())
            listed.append(tuple(map(int, re.findall(r"\d{1,18}", step[3]))))
    return list(bases.values())


def _blocked(text: str) -> Bases:
    """Registers, then lanes, then warps fill the tile, in the order that is last."""
    lists = [tuple(map(int, re.findall(r"\d{1,9}", match[1]))) for match in re.finditer(_LISTED, text)][:4]
    if len(lists) != 4 or sorted(lists[3]) != [*range(len(lists[0]))] or len({*map(len, lists)}) != 1:
        raise NotationError("a blocked layout has sizes of registers, lanes and warps, and an order", text, 0)
    filled = [1] * len(lists[3])
    bases: Bases = []
    # Registers, lanes, warps: bits go along the axes in `order`, doubling what is filled.
    for sizes in lists[:3]:
        if any(size < 1 or size & (size - 1) for size in sizes):
            raise NotationError(f"the sizes {list(sizes)} are no powers of two", text, 0)
        bases.append([])
        for axis in lists[3]:
            for _bit in range(sizes[axis].bit_length() - 1):
                bases[-1].append(tuple(filled[axis] if at == axis else 0 for at in range(len(filled))))
                filled[axis] *= 2
    return bases


def _of_bases(text: str, bases: Bases, sizes: list[int]) -> AnyLayout:
    """The layout whose bits go where the bases say; sizes that are not said are those that they reach."""
    vectors = [vector for listed in bases for vector in listed]
    width = len(sizes) or max(map(len, vectors), default=0)
    if not bases or len(vectors) > _MOST_BASES or any(len(vector) != width for vector in vectors):
        raise NotationError(f"a linear layout has bases of one length, here {width}, and some dimension", text, 0)
    reached = [max([vector[axis].bit_length() for vector in vectors], default=0) for axis in range(width)]
    # Axes are joined into one index, the first axis fastest.
    bits = [size.bit_length() - 1 for size in sizes] or reached
    if any(more > most for more, most in zip(reached, bits, strict=True)):
        raise NotationError(f"a basis goes beyond the sizes {sizes}", text, 0)
    columns = tuple(sum(entry << sum(bits[:axis]) for axis, entry in enumerate(vector)) for vector in vectors)
    shape = tuple(1 << len(listed) for listed in bases)
    return linear_layout_of(columns, shape)
