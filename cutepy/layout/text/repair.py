"""What works in place of what was refused: calls with operands near the refused ones, texts near the refused one.

Law: a fix was computed before it is offered, and runs where the refused call was written: in the grammar of texts for a
text, in Python, with the names of `cutepy.layout`, for a call of Python's. Nothing is searched before an error is asked
for its `fixes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from inspect import Parameter, signature
from itertools import chain, islice
from itertools import product as every
from math import gcd
from pathlib import Path
from traceback import walk_tb
from typing import Any

from ...errors import BARE, CutepyError, NotationError, RefusedCall, TableError
from ..algebra.composition import composes, neighbours
from ..algebra.conflict_free import Found, conflict_free
from ..algebra.convert import Conversion, convert
from ..algebra.operation import NOTHING
from ..algebra.queries import holds_layout, shape
from ..algebra.rearrange import coalesce, filter
from ..algebra.table import from_offsets
from ..public import nested
from ..values.bit_map import BitMap, OfBits
from ..values.composed import AnyLayout, ComposedLayout, plain_part
from ..values.coordinates import has_basis
from ..values.int_tuple import IntTuple, leaves, map_leaves, product
from ..values.layout import Layout
from ..values.methods import LayoutMethods
from ..values.size import is_unknown
from .parse import expression_of, parse_tiler
from .write import spelt

MOST_FIXES = 3
MOST_TRIED, MOST_OF_REST = 250, 60
"""Candidates in all, and of the other operands beside one first operand."""
MOST_REPAIRED = 1 << 12
MOST_CUT = 1 << 8
"""Of layouts with more than MOST_REPAIRED coordinates, so many of the first ones are tried."""
NUMBERS = (8, 16, 48, 64)
"""What sizes that are not known may be in a call that works."""
LONGEST_REPAIRED, MOST_SIGNS = 400, 10
"""Characters of a text that is mended, and its words and signs around the place where reading stopped."""
EXAMPLE, LARGEST_OFFSET = Layout((4, 2)), 1 << 62
is_shallow = nested(lambda _leaf: True)
ROOM = Path(__file__).parents[1]
Entry = tuple[str, object]
"""The name of an operand that is given by name, else nothing, and the operand."""
NearOne = Callable[[Any, Any], Iterator[object]]
"""Operands near one, of a call that has another one beside it."""


def refused_call(error: CutepyError) -> RefusedCall | None:
    """The call of a public function of the room that ended in an error: that of the outermost frame of cutepy.

    None where that is a call of another room.
    """
    for frame, _line in walk_tb(error.__traceback__):
        path, code, here = Path(frame.f_code.co_filename), frame.f_code, frame.f_locals
        if not path.is_relative_to(ROOM.parent) or path.name == "lazy.py":
            continue
        if not path.is_relative_to(ROOM):
            return None
        names, several, by_name = list(code.co_varnames), code.co_flags & 4, code.co_flags & 8
        count = code.co_argcount
        operands = [here[name] for name in names[:count]]
        while operands and (operands[-1] is None or operands[-1] is NOTHING):
            operands.pop()
        operands += here[names[count + code.co_kwonlyargcount]] if several else ()
        named = dict(here[names[count + code.co_kwonlyargcount + bool(several)]]) if by_name else {}
        if code.co_name == "call":  # of a public function that another one stands before
            name = here["function"].__name__
            return RefusedCall(
                name, getattr(import_module("cutepy.layout"), name, here["function"]), tuple(operands), named
            )
        if not operands or "." not in code.co_qualname:
            return None
        owner = operands[0]
        if code.co_name in ("refuse", "__array__"):  # operators, and NumPy, take the table of a layout
            return RefusedCall(".offsets", LayoutMethods.grid, (owner,), {})
        if code.co_name in ("__init__", "__post_init__"):
            made = type(owner)
            given = operands[1:] or [getattr(owner, name) for name in signature(made).parameters]
            return RefusedCall(made.__name__, made, tuple(given), named)
        if isinstance(owner, type):
            return RefusedCall(
                f"{owner.__name__}.{code.co_name}", getattr(owner, code.co_name), tuple(operands[1:]), named
            )
        method = "" if code.co_name == "__call__" else f".{code.co_name}"
        return RefusedCall(method, getattr(type(owner), code.co_name), tuple(operands), named)
    return None


def fixes_of(error: CutepyError) -> tuple[str, ...]:
    """At most MOST_FIXES calls or texts that work, of what an error refuses.

    >>> try:
    ...     Layout((2, 2, 2)).grid()
    ... except CutepyError as error:
    ...     print(fixes_of(error)[0])
    Layout(8, 1).grid()
    """
    if error.refused is None:
        found = _texts(error) if isinstance(error, NotationError) else iter(())
    else:
        found = _calls(error.refused)
    before, after = error.around
    return tuple(f"{before}{fix}{after}" for fix in islice(dict.fromkeys(found), MOST_FIXES))


# Calls


def _calls(call: RefusedCall) -> Iterator[str]:
    """The calls of the same function with operands near the refused ones that work, the nearest first."""
    entries = [(name, _cut(value)) for name, value in _entries(call)]
    tried: set[str] = set()
    # Sizes that are not known: first the call with numbers for them.
    numbers = NUMBERS if is_unknown(tuple(value for _name, value in entries)) else ()
    starts = [[(name, _with_number(value, number)) for name, value in entries] for number in numbers]
    for near_one in (_alike, _any):
        works = False
        for start in [*starts, entries]:
            if works and start is entries and numbers:
                return
            for near in _candidates(call, start, near_one):
                if len(tried) > MOST_TRIED:
                    return
                with suppress(CutepyError, *BARE, MemoryError):
                    text = _written(call, near)
                    if text not in tried:
                        tried.add(text)
                        _run(call, near)
                        works = True
                        yield text
        if works:
            return


def _run(call: RefusedCall, entries: list[Entry]) -> None:
    """Make the call with other operands."""
    values = [value for name, value in entries if not name]
    named = {name: value for name, value in entries if name}
    plain = [value for value in values if type(value) is Layout]
    # Asked first: the words of a refused composition cost a hundred times as much.
    if call.name == "composition" and len(plain) == len(entries) == 2 and not composes(*plain):
        raise ValueError
    if call.name and not call.name.startswith("."):
        call.act(*values, **named)
    else:
        getattr(values[0], call.name[1:] or "__call__")(*values[1:], **named)


def _entries(call: RefusedCall) -> list[Entry]:
    """The operands as a call has them: without options that are their defaults, and those that follow by name."""
    try:
        bound = signature(call.act).bind(*call.operands, **call.named)
    except (TypeError, ValueError):
        return [*(("", value) for value in call.operands), *call.named.items()]
    entries: list[Entry] = []
    by_name = False
    for name, value in bound.arguments.items():
        parameter = bound.signature.parameters[name]
        if parameter.kind is Parameter.VAR_POSITIONAL:
            entries += [("", each) for each in value]
        elif parameter.kind is Parameter.VAR_KEYWORD:
            entries += value.items()
        elif type(value) is type(parameter.default) and value == parameter.default:
            by_name = True
        else:
            named = by_name or parameter.kind is Parameter.KEYWORD_ONLY or value is True
            entries.append((name if named else "", value))
    return entries


def _written(call: RefusedCall, entries: Iterable[Entry]) -> str:
    """The call with other operands. Raises ValueError for an operand that has no spelling."""
    spell = spelt if call.in_text else _in_python
    said = [f"{name}={spell(value)}" if name else spell(value) for name, value in entries]
    if call.name and not call.name.startswith("."):
        return f"{call.name}({', '.join(said)})"
    head = f"({said[0]})" if call.in_text and ":" in said[0] else said[0]
    return f"{head}{call.name}({', '.join(said[1:])})"


def _in_python(value: object) -> str:
    """An operand in Python, with the names of `cutepy.layout`."""
    if isinstance(value, tuple | list):
        inner = ", ".join(map(_in_python, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if isinstance(value, AnyLayout) and is_unknown(value):
        return f"parse_layout({str(value)!r})"
    if isinstance(value, memoryview):
        return f"memoryview(bytes({value.nbytes}))"
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    if isinstance(value, Conversion):
        through = "memory" if value.trip else "shuffles"
        return f"convert({value.source!r}, {value.target!r}, {value.lanes}, through={through!r})"
    if isinstance(value, Found):
        accesses, element_bytes, lanes, banks = value.asked
        given = _in_python([each.layout for each in accesses]), element_bytes, [each.wide for each in accesses]
        return f"conflict_free({shape(value.layout)}, {', '.join(map(str, (*given, lanes, banks)))})"
    if hasattr(value, "free_symbols") or hasattr(value, "tolist"):
        raise ValueError
    return repr(value)


def _candidates(call: RefusedCall, entries: list[Entry], near_one: NearOne) -> Iterator[list[Entry]]:
    """Operands to try: others that compose; rounded up; then, of each simpler first operand, others that fit it."""
    takes = list(signature(call.act).parameters.values())
    needed = [each.name for each in takes if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD]
    values = [value for _name, value in entries]
    if takes and takes[-1].name == "round_up" and len(entries) < len(takes):
        yield [*entries, ("round_up", True)]
    if len(values) > 1 and all(map(_is_plain, values[:2])):
        yield from ([entries[0], ("", near), *entries[2:]] for near in neighbours(*values[:2]))  # type: ignore[arg-type]
    # Options by another name, then without them; operands that are missing.
    names = [each.name for each in takes] + [str(symbol) for symbol in _symbols(values[0] if values else 0)]
    renamed = [(next(iter(get_close_matches(name, names, 1, 0)), name) if name else "", it) for name, it in entries]
    least = [*entries, *(("", EXAMPLE) for _missing in needed[len(entries) :])][: max(1, len(needed))]
    for variant in [entries, renamed, least] if renamed != entries else [entries, least]:
        if not variant:
            continue
        (name, first), *others = variant
        for simpler in _distinct(near_one(first, others[0][1] if others else None)):
            choices = [list(islice(_distinct(near_one(other, simpler)), 14)) for _name, other in others]
            for chosen in islice(_by_rank(choices), MOST_OF_REST):
                yield [(name, simpler), *((name, it) for (name, _other), it in zip(others, chosen, strict=True))]


def _is_plain(value: object) -> bool:
    """True for a layout of known sizes that gives offsets."""
    return type(value) is Layout and value.facts is None and not has_basis(value.stride)


def _by_rank(choices: list[list[object]]) -> Iterator[tuple[object, ...]]:
    """One of each list, those first that come first in their lists."""
    ranks = sorted(islice(every(*(range(len(choice)) for choice in choices)), 4096), key=sum)
    return (tuple(choice[rank] for choice, rank in zip(choices, each, strict=True)) for each in ranks)


def _distinct(operands: Iterable[object]) -> Iterator[object]:
    """Each operand once, as far as they can be made."""
    seen = set()
    with suppress(CutepyError, *BARE):
        for operand in operands:
            said = f"{type(operand)} {spelt(operand)}"
            if said not in seen:
                seen.add(said)
                yield operand


def _alike(value: Any, beside: Any) -> Iterator[object]:
    """The operand, and what differs from it by as little as may be."""
    yield value
    if isinstance(value, AnyLayout):
        # Without a swizzle, with steps forwards, without repetition, compact, of powers of two.
        plain = plain_part(value)
        forwards = Layout(plain.shape, None if has_basis(plain.stride) else map_leaves(abs, plain.stride))
        yield from (plain, forwards, filter(forwards), coalesce(forwards), Layout(plain.shape))
        yield from (Layout(leaves(plain.shape)), Layout(plain.size), Layout((plain.size, 1)))
        below = map_leaves(lambda extent: 1 << extent.bit_length() - 1 if type(extent) is int else extent, plain.shape)
        yield Layout(below)
        if isinstance(beside, AnyLayout):
            yield beside
    elif isinstance(value, OfBits):
        yield BitMap(tuple(1 << bit for bit in range(len(value.columns))))
    elif isinstance(value, Conversion):
        yield convert(value.source, value.target, value.lanes, through="shuffles")
    elif isinstance(value, Found):
        yield from _found_again(value)
    elif isinstance(value, str):
        yield from (f"4 divides {symbol}" for symbol in _symbols(beside))
        yield f"coalesce({value})"
        yield parse_tiler(value)
    elif isinstance(value, list) or hasattr(value, "tolist"):
        yield from _tables(value)
    elif isinstance(value, tuple) and (not value or holds_layout(value)):
        yield (Layout(_shape_of(beside)),)
    elif callable(value):
        yield coalesce
    else:
        yield from _numbers(value, beside)


def _numbers(value: Any, beside: Any) -> Iterator[object]:
    """Other operands near `value`.

    For a number: its greatest common divisor with the size of `beside`, the nearest mode number of `beside`, its
    absolute value, the power of two below. For a tuple: each entry replaced by its greatest common divisor with the
    mode of `beside`, cut to as many modes, with 1 for what is not positive. Last, its numbers in the nesting of
    `beside`.
    """
    whole = _shape_of(beside)
    if type(value) is int:
        top = len(whole) - 1 if isinstance(whole, tuple) else 0
        yield from (gcd(value, product(whole)), min(max(value, 0), top), abs(value), 1 << abs(value).bit_length() >> 1)
    elif isinstance(value, tuple):
        yield _dividing(value[: len(whole)] if isinstance(whole, tuple) else value, whole)
        if isinstance(whole, tuple):
            yield value[: len(whole)]
        yield map_leaves(lambda leaf: leaf if type(leaf) is int and leaf > 0 else 1, value)
    if beside is not None:
        given = iter(leaves(value))
        yield map_leaves(lambda _extent: next((each for each in given if type(each) is int), 1), whole)


def _any(value: Any, beside: Any) -> Iterator[object]:
    """What is like the operand, then operands of every kind."""
    yield from _distinct(_alike(value, beside))
    whole = _shape_of(beside)
    yield from (1, 0, product(whole), whole, len(whole) if isinstance(whole, tuple) else 1)
    if isinstance(value, int | tuple):
        smaller = map_leaves(lambda extent: min(max(1, abs(extent)), 32) if type(extent) is int else 1, value)
        yield from (smaller, Layout(smaller))
        if type(value) is int:
            yield from (product(whole) * value, str(value))
    if isinstance(beside, str):
        yield from (parse_tiler(f"{name}:1") for name in re.findall("[A-Z]+", beside))
    yield from (Layout(whole), beside, memoryview(bytes(8)))


def _shape_of(thing: Any) -> IntTuple:
    """The shape of an operand that is a layout or a tuple of whole numbers from 1; 1 of any other."""
    whole: IntTuple = thing.shape if isinstance(thing, AnyLayout) else thing
    fits = isinstance(whole, int | tuple) and all(type(leaf) is int and leaf > 0 for leaf in leaves(whole))
    return whole if fits else 1


def _symbols(thing: Any) -> list[Any]:
    """The unknown sizes of a layout, or of a size."""
    entries: tuple[object, ...] = (thing,)
    if isinstance(thing, AnyLayout):
        entries = (*leaves(plain_part(thing).shape), *leaves(plain_part(thing).stride))
    return sorted({symbol for entry in entries for symbol in getattr(entry, "free_symbols", ())}, key=str)


def _found_again(found: Found) -> Iterator[Found]:
    """What the search finds for the accesses of a claim, of its tile or of one that holds them."""
    accesses, element_bytes, lanes, banks = found.asked
    layouts, wide = [each.layout for each in accesses], [each.wide for each in accesses]
    for tile in (shape(found.layout), max(each.cosize for each in layouts)):
        with suppress(CutepyError):
            yield conflict_free(tile, layouts, element_bytes, wide, lanes, banks)


def _tables(values: Any) -> Iterator[object]:
    """Tables near one: of offsets, rows of one length, of bits; and what a layout would have where it has none."""
    listed: Any = values.tolist() if hasattr(values, "tolist") else values
    rows = [[int(each) % LARGEST_OFFSET for each in row] for row in listed if isinstance(row, list)]
    if rows:
        length = min(map(len, rows))
        yield [row[:length] for row in rows]
        yield [[each & 1 for each in row[:length]] for row in rows]
        yield [[int(row == column) for column in range(length)] for row in range(length)]
        return
    offsets = [int(each) % LARGEST_OFFSET for each in listed]
    yield list(offsets)
    for _entry in offsets[:MOST_CUT]:
        try:
            from_offsets(offsets)
        except TableError as error:
            offsets[error.index[0]] = error.values[1]
        else:
            yield offsets
            return


def _cut(operand: Any) -> object:
    """An operand of at most MOST_REPAIRED coordinates: a larger layout is cut in each mode, to MOST_CUT in all."""
    if isinstance(operand, tuple):
        return tuple(map(_cut, operand)) if is_shallow(operand) else 0
    if not isinstance(operand, AnyLayout) or type(operand.size) is not int or operand.size <= MOST_REPAIRED:
        return operand
    inner = plain_part(operand)
    most = int(MOST_CUT ** (1 / len(leaves(inner.shape))))
    smaller = Layout(map_leaves(lambda extent: min(extent, most), inner.shape), inner.stride)
    return operand.with_inner(smaller) if isinstance(operand, ComposedLayout) else smaller


def _with_number(operand: Any, number: int) -> object:
    """A layout, or a size, in which every size that is not known is this number."""
    if isinstance(operand, tuple):
        return tuple(_with_number(entry, number) for entry in operand)
    symbols = _symbols(operand)
    if not symbols:
        return operand
    with suppress(CutepyError):  # a fact that the number does not obey
        there = operand.subs(dict.fromkeys(symbols, number))
        return there if isinstance(operand, AnyLayout) else int(there)
    return number


def _dividing(tiler: object, whole: IntTuple) -> object:
    """The tiler with each number the greatest common divisor with the mode that it tiles."""
    if isinstance(tiler, tuple) and isinstance(whole, tuple):
        return (*map(_dividing, tiler, whole), *tiler[len(whole) :])
    return gcd(tiler, product(whole)) if type(tiler) is int else tiler


# Texts


def _texts(error: NotationError) -> Iterator[str]:
    """Texts near one that was not read, which its reader reads; then what the message says to write."""
    call, text = refused_call(error), error.text.strip()
    read = call.act if call and call.operands == (error.text,) else expression_of
    if len(text) > LONGEST_REPAIRED:
        return
    words = re.compile(r"\w+(?![\w(<[])")  # but the names of calls
    known = {*words.findall(text), *"01248"}
    near = (
        spelling
        for spelling in _spellings(error.text, error.stopped)
        if 2 * len(spelling) >= len(text) and known.issuperset(words.findall(spelling))
    )
    said = str(error).partition("\n")[0]
    marks = re.finditer(r"(?::|;|write|written|such as) ", said)
    examples = [said[mark.end() :].split(end)[0] for mark in marks for end in ("; ", ", ")]
    for spelling in dict.fromkeys(chain(near, reversed(examples))):
        with suppress(CutepyError, *BARE):
            if spelling.strip() != text and re.search(r"\w", spelling) and read(spelling):
                yield spelling


def _spellings(text: str, at: int) -> Iterator[str]:
    """A text with its brackets closed; what often is meant; one sign more, less or another; a few less. The nearest to
    where reading stopped come first."""
    spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    nearest = sorted(range(len(spans)), key=lambda number: abs(spans[number][0] - at))[:MOST_SIGNS]
    yield _closed(text)
    yield re.sub(r"(S<[^>]*>)(?! o)", r"\1 o 0 o (8,4):(4,1)", text)
    yield from (text.replace("()", "(4)"), f"make_layout{text}", text.rpartition(" o ")[2])
    yield from (f"{text[:at]}{sign}{text[at:]}" for sign in "),:")
    yield from (_closed(text[: spans[one][0]] + text[spans[one][1] :]) for one in nearest)
    words = [spans[one] for one in nearest if text[spans[one][0]].isalnum()]
    yield from (text[:start] + number + text[end:] for number in "10248" for start, end in words)
    commas = [one for one, (start, _end) in enumerate(spans) if text[start] == ","][-MOST_SIGNS:]
    for count in range(1, MOST_SIGNS):
        runs = [(spans[one][0], spans[one + count][1]) for one in (*nearest, *commas) if one + count < len(spans)]
        yield from (_closed(text[:start] + text[end:]) for start, end in runs)


def _closed(text: str) -> str:
    """A text with the brackets that it opens closed, and those left out that close nothing."""
    pairs = dict(zip("([{<", ")]}>", strict=True))
    kept, due = "", ""
    for sign in text:
        if sign in pairs:
            due += pairs[sign]
        elif sign in ")]}" or (sign == ">" and ">" in due):
            if not due.endswith(sign):
                continue
            due = due[:-1]
        kept += sign
    return re.sub(r",\s*(?=[)\]]|$)", "", kept.rstrip(" ,") + due[::-1])
