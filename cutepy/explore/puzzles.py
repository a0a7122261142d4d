"""Twenty puzzles about layouts: a task, and a judge of answers that is the algebra; what is wrong has a counterexample.

An answer is an expression, so any that obeys the rule is right, however it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..errors import CutepyError
from ..layout import Layout, bank_conflicts, composition, idx2crd, is_bijective, is_injective, make_layout, vectorised
from ..layout.text.parse import expression_of, parse_tiler
from ..layout.values.composed import AnyLayout
from ..layout.values.int_tuple import leaves, show

Judge = Callable[[object], str]
"""From the value of an answer to what is wrong with it, nothing where it is right."""


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A task, the text to begin with, an answer that is right and one that is not. Where there is no judge of its own,
    right is what has modes of the solution's sizes and gives at each coordinate what it gives."""

    title: str
    task: str
    start: str
    solution: str
    wrong: str
    judge: Judge | None = None


def judged(number: int, text: str) -> str:
    """What is wrong with an answer to a puzzle (from 1), "" where it is right.

    >>> judged(1, "19"), judged(2, "(4,8):(1,4)")
    ('', 'at (1,0) it gives 1, and 8 is asked for')
    """
    puzzle = PUZZLES[number - 1]
    try:
        value = expression_of(text).value
        if isinstance(value, Layout) and ":" not in text:  # a number or a tuple is meant
            tiler = parse_tiler(text)
            value = tiler if isinstance(tiler, int | tuple) else value
        return puzzle.judge(value) if puzzle.judge else _like(expression_of(puzzle.solution).value, value)
    except CutepyError as error:
        return str(error)


def _like(wanted: object, value: object) -> str:
    """Where a layout differs from the one that is asked for."""
    assert isinstance(wanted, AnyLayout)
    if not isinstance(value, AnyLayout):
        return f"{value} is no layout; one is written (4,8):(8,1)"
    sizes, asked = (tuple(mode.size for mode in layout) for layout in (value, wanted))
    if sizes != asked:
        return f"its modes have the sizes {show(sizes)}, and {show(asked)} is asked for"
    for index in range(wanted.size):
        crd = idx2crd(index, asked)
        found, right = (layout(*crd) if isinstance(crd, tuple) else layout(crd) for layout in (value, wanted))
        if found != right:
            return f"at {show(crd)} it gives {show(found)}, and {show(right)} is asked for"
    return ""


def _is(wanted: object, why: str) -> Judge:
    return lambda value: "" if value == wanted else f"{value}: {why}"


def _layout(rule: Callable[[AnyLayout], str]) -> Judge:
    return lambda value: rule(value) if isinstance(value, AnyLayout) else f"{value} is no layout"


def _coalesced(value: AnyLayout) -> str:
    long = Layout(((2, 4), 2), ((1, 2), 8))
    for index in range(16):
        if value.size != 16 or value(index) != long(index):
            return f"at index {index} it is not what {long} is; it has {value.size} indices, and 16 are asked for"
    modes = len(leaves(value.shape))
    return "" if modes == 1 else f"it has {modes} modes; 1 is enough"


def _sparse(value: AnyLayout) -> str:
    if value.size == 6 and value.cosize == 11:
        return ""
    return f"its size is {value.size} and its cosize {value.cosize}; asked for are 6 and 11"


def _composed(value: AnyLayout) -> str:
    found = composition(Layout((4, 8), (8, 1)), value)
    return _like(Layout((4,), (2,)), found if found.rank == 1 else Layout(found.size))


def _completes(value: AnyLayout) -> str:
    if not isinstance(value, Layout):
        return f"{value} is no plain layout"
    both = make_layout(Layout(4, 2), value)
    if both.size == 16 and is_bijective(both):
        return ""
    seen = [both(index) for index in range(both.size)]
    twice = next((offset for offset in seen if seen.count(offset) > 1), None)
    missing = next((offset for offset in range(16) if offset not in seen), None)
    told = f"offset {twice} is reached twice" if twice is not None else f"offset {missing} is not reached"
    return told if missing is not None or twice is not None else f"offset {max(seen)} is beyond 15"


def _inverse(value: AnyLayout) -> str:
    layout = Layout((4, 8), (8, 1))
    if value.size != 32:
        return f"it has {value.size} indices, and 32 are asked for"
    wrong = next((index for index in range(32) if layout(value(index)) != index), None)
    return "" if wrong is None else f"it gives {value(wrong)} at {wrong}, and the layout {layout(value(wrong))} there"


def _wide(value: AnyLayout) -> str:
    if tuple(mode.size for mode in value) != (32, 4) or not is_injective(value):
        return "32 threads of 4 values each are asked for, and no element twice"
    found = vectorised(value, Layout(128))
    return "" if found.elements == 4 else str(found)


def _conflict_free(*modes: int, cosize: int) -> Judge:
    """A judge of a tile of 32 x 32 in at most `cosize` elements: no two lanes along one of these modes share a bank."""

    def rule(value: AnyLayout) -> str:
        if tuple(mode.size for mode in value) != (32, 32):
            return "a tile of 32 x 32 is asked for"
        if not is_injective(value):
            return "two coordinates share an offset"
        if value.cosize > cosize:
            return f"it takes {value.cosize} elements of memory, and {cosize} are there"
        for mode in modes:
            lanes = Layout((32, 32), (1, 32) if mode == 0 else (32, 1))
            found = bank_conflicts(composition(value, lanes))
            if found.ways > 1:
                return f"lanes along mode {mode}: {found}"
        return ""

    return _layout(rule)


# A puzzle a row or two, to be read as a table: hence no formatting.
# fmt: off
PUZZLES = (
    Puzzle("An offset", "Which offset has (2,3) in `(4,8):(8,1)`?", "1", "19", "14", _is(19, "it is 2·8 + 3·1")),
    Puzzle("Row after row", "Four rows of eight, row after row.", "(4,8)", "(4,8):(8,1)", "(4,8):(1,4)"),
    Puzzle("Padded columns", "Four rows of eight, column after column; a column begins 5 after the one before.",
           "(4,8):(1,4)", "(4,8):(1,5)", "(4,8):(5,1)"),
    Puzzle("Every second", "Eight elements, every second one.", "8:1", "8:2", "8:1"),
    Puzzle("Turned", "`(4,8):(8,1)` transposed: at (j,i) what it has at (i,j).",
           "(4,8):(8,1)", "(8,4):(1,8)", "(8,4):(8,1)"),
    Puzzle("Broadcast", "Four rows that are the same eight elements.", "(4,8):(8,1)", "(4,8):(0,1)", "(4,8):(1,0)"),
    Puzzle("A coordinate", "Which coordinate of `(4,8)` has index 13?",
           "(0,0)", "(1,3)", "(3,1)", _is((1, 3), "the first mode runs fastest, 13 = 1 + 4·3")),
    Puzzle("Shorter", "The shortest layout that is the same function of an index as `((2,4),2):((1,2),8)`.",
           "((2,4),2):((1,2),8)", "16:1", "(8,2):(1,8)", _layout(_coalesced)),
    Puzzle("Holes", "Any layout of size 6 and cosize 11.", "6:1", "6:2", "6:1", _layout(_sparse)),
    Puzzle("Tiles", "`(4,8):(8,1)` cut into tiles of 2 x 4: mode 0 within a tile, mode 1 which tile.",
           "A = (4,8):(8,1)\nA", "zipped_divide((4,8):(8,1), (2,4))", "logical_divide((4,8):(8,1), (2,4))"),
    Puzzle("Point at them", "A layout that, composed after `(4,8):(8,1)`, gives every second element of row 0.",
           "4:1", "4:8", "4:2", _layout(_composed)),
    Puzzle("What is left", "A layout that completes `4:2`: both together reach each of 0 to 15 once.",
           "4:1", "(2,2):(1,8)", "4:1", _layout(_completes)),
    Puzzle("Back again", "The layout that gives back the index: `(4,8):(8,1)` of it is the identity on 0 to 31.",
           "32:1", "right_inverse((4,8):(8,1))", "32:1", _layout(_inverse)),
    Puzzle("Copies", "Six copies of `(2,2):(1,2)`, one after another: mode 0 in a copy, mode 1 which copy.",
           "(2,2):(1,2)", "logical_product((2,2):(1,2), 6)", "blocked_product((2,2):(1,2), 6:1)"),
    Puzzle("A piece each", "8 threads, each four neighbours of 32 elements: thread 0 has 0 to 3.",
           "(8,4):(1,8)", "(8,4):(4,1)", "(8,4):(1,8)"),
    Puzzle("Side by side", "8 threads, four values each; at every step neighbouring threads have neighbours.",
           "(8,4):(4,1)", "(8,4):(1,8)", "(8,4):(4,1)"),
    Puzzle("Sixteen bytes", "32 threads and 4 values over 128 elements of 4 bytes: each thread moves 16 bytes at once.",
           "(32,4):(1,32)", "(32,4):(4,1)", "(32,4):(1,32)", _layout(_wide)),
    Puzzle("A padded tile", "A tile of 32 x 32 words in which 32 lanes along a column meet in no bank.",
           "(32,32):(32,1)", "(32,32):(33,1)", "(32,32):(32,1)", _conflict_free(0, cosize=1056)),
    Puzzle("Both ways", "The same for columns and for rows, in 1,024 words: no padding.",
           "(32,32):(32,1)", "S<5,0,5> o 0 o (32,32):(32,1)", "(32,32):(33,1)", _conflict_free(0, 1, cosize=1024)),
    Puzzle("An accumulator", "m16n8: lane l has as value v the row l/4 + 8·(v/2) and the column 2·(l%4) + v%2;"
           " an element is row + 16·column.", "(32,4):(1,32)", "((4,8),(2,2)):((32,1),(16,8))", "(32,4):(1,32)"),
)
# fmt: on
"""The puzzles, the easiest first."""
