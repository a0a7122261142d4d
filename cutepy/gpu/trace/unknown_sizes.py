"""A call of a kernel for unknown sizes: what annotations say, the class of the call, and what the host sees at each.

A traced form is for every call of its class: which stride of a tensor is 1, whether 4 divides all that vectors need.
What its proof takes for granted is looked at here: each size from 1 on, the ends of each layout inside its memory, one
layout for one memory that is written.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from inspect import Parameter
from itertools import permutations
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from ...errors import KernelError
from ...layout import Layout, is_injective
from ...layout.values.coordinates import as_stride, has_basis
from ...layout.values.layout import _make
from ...tensor.dtypes import DTYPES, u32
from ...tensor.tensor import Tensor
from .. import ir
from ..ir.ranges import linear
from ..runtime.formulas import Formula, evaluate
from .mapped import MappedEngine, Stride
from .sizes import LARGEST_EXTENT, Facts, Sizes, divisors_of, formula_of

if TYPE_CHECKING:
    from .call import Argument, BoundArguments
    from .state import Trace

WIDEST = 4
"""Elements of the widest access: an offset that this divides leaves vectors aligned."""
OWN = "?..."
_PACKAGE = Path(__file__).parents[2]
_ANNOTATED = re.compile(r"""Annotated\[.*["'](\([^"']*)["']""")
_MORE = re.compile(r"\s*\((.*?),?\s*(\??\.\.\.)\s*\)\s*")
_SIZES = re.compile(r"\s*(?:\w+|\?)\s*(?:,\s*(?:\w+|\?)\s*)*", re.ASCII)
_WORD = re.compile(r"\s*(\d+|[A-Za-z_]\w*|\?)\s*")
_OF_MODE = re.compile(r"d\d+", re.ASCII)


@dataclass(frozen=True, slots=True)
class SizeSpec:
    """What an annotation says of the sizes of a tensor: a number, a name, which has one value in all arguments, or "?"
    for a size of its own; of strides numbers, and None where they are not known."""

    shape: tuple[int | str, ...]
    stride: tuple[int | None, ...]
    rest: str = ""
    """What the sizes of further modes are: "..." equal in all arguments, mode by mode, OWN each of its own."""

    def __str__(self) -> str:
        return f"({','.join(map(str, (*self.shape, *filter(None, (self.rest,)))))})"

    def of_rank(self, rank: int) -> SizeSpec:
        """The same of a tensor of so many modes.

        >>> SizeSpec(("M",), (None,), "...").of_rank(3).shape
        ('M', 'd1', 'd2')
        """
        more = range(len(self.shape), rank) if self.rest else ()
        names = tuple([f"d{i}" if self.rest == "..." else "?" for i in more])
        return replace(self, shape=self.shape + names, stride=self.stride + (None,) * len(names))


def spec_of(annotation: object) -> SizeSpec | None:
    """The sizes that an annotation says; None where it says something else.

    >>> spec_of("(M,64):(?,1)")
    SizeSpec(shape=('M', 64), stride=(None, 1), rest='')
    >>> spec_of("f32") is None, spec_of("Annotated[Tensor, '(n)']")
    (True, SizeSpec(shape=('n',), stride=(None,), rest=''))

    Raises KernelError for a text that begins like a layout and is none.
    """
    for note in getattr(annotation, "__metadata__", ()):
        if (found := spec_of(note)) is not None:
            return found
    text = annotation if isinstance(annotation, str) else ""
    if within := _ANNOTATED.search(text):
        text = within[1]
    text = text.strip("'\" ")
    if not text.startswith("("):
        return None
    shape, colon, stride = text.partition(":")
    if more := _MORE.fullmatch(shape):
        shape = f"({more[1]})"
    sizes = _entries(text, shape) if not more or more[1].strip() else ()
    steps = _entries(text, stride) if colon else ("?",) * len(sizes)
    if len(steps) != len(sizes) or any(isinstance(step, str) and step != "?" for step in steps):
        raise KernelError(
            f"the annotation {text!r}: write a size for each mode and, after a colon, a number or ? for each"
        )
    if any(isinstance(n, int) and n < 1 for n in sizes):
        raise KernelError(f"the annotation {text!r}: a size is 1 or more")
    return SizeSpec(sizes, tuple([step if isinstance(step, int) else None for step in steps]), more[2] if more else "")


def sizes_of_parameter(name: str, annotation: object, function: FunctionType) -> SizeSpec | None:
    """The sizes that the annotation of a parameter says; None where it says a type, or nothing.

    Raises KernelError for what is neither: a text of sizes without parentheses, a name that stands for no type, a
    number, a tuple, a layout.
    """
    where = f"{function.__name__}: argument {name}"
    try:
        spec = spec_of(annotation)
    except KernelError as error:
        raise KernelError(f"{where}: {error}") from error
    if spec is not None or annotation is Parameter.empty:
        return spec
    text = annotation.strip("'\" ") if isinstance(annotation, str) else str(annotation)
    if isinstance(annotation, str):
        wrong = _names_no_type(text, function)
    else:
        wrong = isinstance(annotation, int | float | tuple | list | dict | set | Layout)
    if wrong:
        inner = text.partition(":")[0].strip("()[]{} ")
        sizes = inner if _SIZES.fullmatch(inner) else "M,N"
        raise KernelError(
            f'{where}: the annotation {text!r} is neither a type nor sizes; write "({sizes})" for sizes, '
            '"f32" or np.float32 for the type of a number'
        )
    return None


def _names_no_type(text: str, function: FunctionType) -> bool:
    """Whether a text is sizes without parentheses: several words, a number, or a name that is no type. An unknown name
    in capitals and small letters may be a type that only a checker of types imports."""
    if not _SIZES.fullmatch(text.partition(":")[0].strip()) or text in DTYPES or text == "None":
        return False
    if not text.isidentifier():
        return True
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    named = [cells[text].cell_contents] if text in cells and cells[text] != CellType() else []
    named += [scope[text] for scope in (function.__globals__, vars(builtins)) if text in scope]
    if named:
        return isinstance(named[0], int | float | tuple | list | str | Layout)
    return text != "ndarray" and not (text[0].isupper() and any(c.islower() for c in text))


def _entries(text: str, part: str) -> tuple[int | str, ...]:
    part = part.strip()
    words = [_WORD.fullmatch(word) for word in part[1:-1].rstrip(",").split(",")]
    if not (part.startswith("(") and part.endswith(")")) or not all(words):
        raise KernelError(f'the annotation {text!r} is no layout of sizes: write "(M,N)", "(M,64)" or "(M,N):(?,1)"')
    found = [word[1] for word in words if word]
    return tuple([int(word) if word.isdigit() else word for word in found])


@dataclass(frozen=True, slots=True)
class ArgumentSizes:
    """The class of a tensor of unknown sizes: names or numbers of its extents, the strides that are known, and whether
    4 divides its offset, its other strides, and its extent along stride 1. A `view` has its memory with an earlier
    argument, of which it is no copy: only a kernel that writes nothing there takes it."""

    shape: tuple[int | str, ...]
    stride: tuple[int | None, ...]
    aligned: bool
    view: bool = False


def check_names(where: str, specs: Iterable[SizeSpec]) -> None:
    """Raise KernelError for a name d0, d1, ... beside "(...)", which gives mode i of each tensor the name di."""
    every = list(specs)
    own = sorted({n for spec in every for n in spec.shape if isinstance(n, str) and _OF_MODE.fullmatch(n)})
    if own and any(spec.rest == "..." for spec in every):
        raise KernelError(f'{where}: the size {own[0]}: "..." names a mode so; give the size another name')


def specs_of(call: BoundArguments, specs: Mapping[str, SizeSpec]) -> dict[str, SizeSpec]:
    """What the annotations of parameters say of each argument, by its name: a parameter that was given a tuple is
    several arguments. One that says "..." says it of those that are tensors: it may be given numbers too."""
    found: dict[str, SizeSpec] = {}
    for a in call.arguments:
        spec = specs.get(a.parameter or a.name)
        if spec is not None and (a.tensor is not None or not spec.rest):
            found[a.name] = spec.of_rank(rank_of(a)) if spec.rest else spec
    return found


def of_sizes(
    call: BoundArguments, specs: Mapping[str, SizeSpec], given: Facts, often: Facts = ()
) -> BoundArguments | str:
    """The call as one of its class, of which what is `given` is known, and what is `often` so where all of it holds; or
    why it is traced for its sizes.

    Raises KernelError, with both numbers, where it is not as annotations say.
    """
    found: dict[str, tuple[str, int]] = {}
    reason = ""
    for a in call.arguments:
        spec = specs.get(a.name)
        if spec is None:
            continue
        if a.tensor is None:
            raise KernelError(f"{call.name}: argument {a.name} is {a.value}, and its annotation says a tensor {spec}")
        if plain := _not_plain(a):
            reason = reason or f"{a.name} is {plain}"
            continue
        shape = _flat(plain_layout(a).shape)
        told = f"{call.name}: argument {a.name} is {a.tensor.layout}, and its annotation says {spec}"
        if len(shape) != len(spec.shape):
            raise KernelError(f"{told}: {len(shape)} modes, not {len(spec.shape)}")
        for n, wanted in zip(shape, spec.shape, strict=True):
            if isinstance(wanted, int) and n != wanted:
                raise KernelError(f"{told}: {n} is not {wanted}")
            if isinstance(wanted, str) and wanted != "?":
                where, before = found.setdefault(wanted, (a.name, n))
                if before != n:
                    raise KernelError(f"{call.name}: {wanted} is {before} in {where}, and {n} in {a.name}")
        stride = _flat(plain_layout(a).stride)
        for n, step, pinned in zip(shape, stride, spec.stride, strict=True):
            if pinned is not None and n > 1 and step != pinned:
                raise KernelError(f"{told}, with stride {pinned}, not {step}")
    for name, by in divisors_of(given).items():
        if name in found and found[name][1] % by:
            raise KernelError(f"{call.name}: '{by} divides {name}' was stated; {name} = {found[name][1]}")
    reason = reason or _unsuited(call, specs)
    if reason:
        return reason
    views = {a.name for _, a in _views(call, specs)}
    values = values_of(call, specs)
    chosen, holds, _ = classes_of(call, specs, values, often)
    arguments = [
        replace(a, sizes=replace(chosen[a.name], view=a.name in views), origin=None) if a.name in chosen else a
        for a in call.arguments
    ]
    return replace(call, arguments=tuple(arguments), values=values, facts=given + often if holds else given)


#: What a text asks of a tensor that has another answer where its elements are told by coordinates.
_OF_OFFSETS = frozenset({"stride", "cosize", "layout", "offset", "engine", "is_row_major", "least_strides", "getattr"})


def looks_at_offsets(function: FunctionType) -> str:
    """What of a tensor's offsets and strides the text of a function, or of a user's function that it names, asks for;
    "" if nothing: strides of unknown sizes are no numbers that Python could decide by.

    >>> looks_at_offsets(lambda x: 1 if x.layout.stride[0] == 1 else 2), looks_at_offsets(lambda x: x.shape[0] // 2)
    ('layout', '')
    """
    todo: list[Any] = [function]
    seen: set[int] = set()
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, FunctionType):
            if Path(one.__code__.co_filename).is_relative_to(_PACKAGE):
                continue
            todo.append(one.__code__)
            todo += [cell.cell_contents for cell in one.__closure__ or () if cell != CellType()]
            todo += [one.__globals__[name] for name in one.__code__.co_names if name in one.__globals__]
        elif isinstance(one, CodeType):
            if asked := sorted(_OF_OFFSETS.intersection(one.co_names)):
                return asked[0]
            todo += one.co_consts
        elif isinstance(inner := getattr(one, "function", None), FunctionType):
            todo.append(inner)
    return ""


def by_itself(call: BoundArguments, met: dict[Any, dict[str, tuple[Any, set[int]]]]) -> list[dict[str, SizeSpec]]:
    """The tensors of a call whose sizes and strides are taken as unknown: those that had others in an earlier call that
    is like it in all else. `met` keeps, by what calls have alike, the layout that each had first, and which modes have
    changed. Sizes that are equal by accident are two unknowns. For a kernel that asks for numbers the second answer has
    the sizes that have not changed."""
    alike = tuple([(a.dtype, a.weak, a.packed, a.slot, a.writable, rank_of(a)) for a in call.arguments]), call.rest
    seen = met.setdefault(alike, {})
    found: list[dict[str, SizeSpec]] = [{}, {}]
    for a in call.arguments:
        if a.tensor is None or _not_plain(a):
            continue
        first, changed = seen.setdefault(a.name, (a.tensor.layout, set()))
        if a.tensor.layout != first:
            sizes = zip(_flat(a.tensor.layout.shape), _flat(first.shape), strict=True)
            changed |= {axis for axis, (n, before) in enumerate(sizes) if n != before}
            changed.add(-1)
        if changed:
            strides = (None,) * rank_of(a)
            found[0][a.name] = SizeSpec(("?",) * rank_of(a), strides)
            kept = [n if axis not in changed and n else "?" for axis, n in enumerate(_flat(a.tensor.layout.shape))]
            found[1][a.name] = SizeSpec(tuple(kept), strides)
    return found if found[0] else []


def rank_of(a: Argument) -> int:
    """The modes of a tensor, 0 for a number."""
    return 0 if a.tensor is None else len(_flat(a.tensor.layout.shape))


def unaligned(call: BoundArguments) -> BoundArguments:
    """The same call, of the class in which nothing is divided by 4."""
    arguments = [replace(a, sizes=a.sizes and replace(a.sizes, aligned=False)) for a in call.arguments]
    return replace(call, arguments=tuple(arguments))


def aligned_class(call: BoundArguments) -> BoundArguments | None:
    """The same call, of the class in which 4 divides all that vectors need; None where what is known is not divided."""
    found: list[Argument] = []
    for a in call.arguments:
        if a.sizes is not None:
            modes = list(zip(a.sizes.shape, a.sizes.stride, strict=True))
            known = [n for n, step in modes if step == 1 and isinstance(n, int)]
            known += [step for _, step in modes if step not in (None, 1)]
            if 1 not in a.sizes.stride or any(n % WIDEST for n in known):
                return None
            a = replace(a, sizes=replace(a.sizes, aligned=True))
        found.append(a)
    return replace(call, arguments=tuple(found))


def plain_layout(a: Argument) -> Layout:
    """The layout of a tensor that `of_sizes` has seen to be plain."""
    assert a.tensor is not None and isinstance(a.tensor.layout, Layout)
    return a.tensor.layout


def _flat(tree: Any) -> tuple[Any, ...]:
    return tree if isinstance(tree, tuple) else (tree,)


def _not_plain(a: Argument) -> str:
    """What a tensor is that is traced for its sizes."""
    if a.packed:
        return f"of {a.dtype}, several elements in a word"
    assert a.tensor is not None
    layout = a.tensor.layout
    if type(layout) is not Layout or layout.facts is not None or has_basis(layout.stride):
        return f"{layout}, no layout of numbers"
    if a.tensor.guard is not None:
        return "a tile that reaches beyond its tensor"
    if any(isinstance(n, tuple) for n in _flat(layout.shape)):
        return f"{layout}, of nested modes"
    return ""


def _views(call: BoundArguments, specs: Mapping[str, SizeSpec]) -> list[tuple[Argument, Argument]]:
    """The arguments of unknown sizes, each after another of one memory, that differ in layout, offset or annotation."""
    slots: dict[int, Argument] = {}
    found: list[tuple[Argument, Argument]] = []
    for a in call.arguments:
        if a.tensor is None:
            continue
        other = slots.setdefault(a.slot, a)
        if other is not a and (a.name in specs or other.name in specs):
            assert other.tensor is not None  # it has a slot
            same = a.tensor.layout == other.tensor.layout and a.offset == other.offset
            if not same or specs.get(a.name) != specs.get(other.name):
                found.append((other, a))
    return found


def written_view(call: BoundArguments, written: Iterable[int]) -> str:
    """Which arguments of one memory differ where a kernel writes the memories of these numbers; "" if none do."""
    slots = frozenset(written)
    first: dict[int, Argument] = {}
    for a in call.arguments:
        other = first.setdefault(a.slot, a) if a.tensor is not None else a
        if a.sizes is not None and a.sizes.view and a.slot in slots:
            return _told(other, a)
    return ""


def _told(one: Argument, other: Argument) -> str:
    same = one.tensor is not None and other.tensor is not None and one.tensor.layout == other.tensor.layout
    how = "one memory, annotated in two ways" if same and one.offset == other.offset else "one memory under two layouts"
    return f"{one.name} and {other.name} are {how}"


def _unsuited(call: BoundArguments, specs: Mapping[str, SizeSpec]) -> str:
    """What of a call the proofs for all sizes do not cover."""
    for one, other in _views(call, specs):
        if {one.name, other.name} - specs.keys() or rank_of(one) != rank_of(other):
            return _told(one, other)
    for a in call.arguments:
        if a.tensor is None or a.name not in specs:
            continue
        shape, stride = _flat(plain_layout(a).shape), _flat(plain_layout(a).stride)
        if 0 in shape:
            return f"{a.name} has no elements"
        if max(shape) > LARGEST_EXTENT:
            return f"{a.name} has {max(shape)} elements along a mode, more than {LARGEST_EXTENT}"
        low = a.offset + sum((n - 1) * step for n, step in zip(shape, stride, strict=True) if step < 0)
        high = a.offset + sum((n - 1) * step for n, step in zip(shape, stride, strict=True) if step > 0)
        if high >= a.length:  # a call has no offset below 0
            return f"{a.name} reaches from element {low} to {high} of a memory of {a.length}"
    return ""


def classes_of(
    call: BoundArguments, specs: Mapping[str, SizeSpec], values: Mapping[str, int], often: Facts
) -> tuple[dict[str, ArgumentSizes], bool, Formula]:
    """The class of each tensor of which sizes are said, whether all that is `often` so holds, and what is true of the
    numbers of a call exactly where its tensors are of these classes, and that holds or not, by their names in formulas.
    """
    chosen: dict[str, ArgumentSizes] = {}
    asked: list[Formula] = []
    divided: list[Formula] = []
    for a in call.arguments:
        if a.name in specs:
            chosen[a.name], own, numbers = _class_of(a, specs[a.name], values)
            asked += own
            divided += [("%", n, WIDEST) for n in numbers]
    # Vectors fit everywhere or nowhere; what is accessed element by element does not count.
    fits: Formula = ("==", ("+", 0, *divided), 0)
    aligned = bool(evaluate(fits, values))
    if divided:
        asked.append(fits if aligned else ("not", fits))
    chosen = {name: replace(own, aligned=aligned and specs[name].rest != OWN) for name, own in chosen.items()}
    holds = False
    if often:
        sources = {str(n): f"{name}.shape[{axis}]" for name in chosen for axis, n in enumerate(chosen[name].shape)}
        every: Formula = ("and", 1, *[formula_of(fact, sources) for fact in often])
        holds = bool(evaluate(every, values))
        asked.append(every if holds else ("not", every))
    return chosen, holds, ("and", 1, *asked)


def _class_of(
    a: Argument, spec: SizeSpec, values: Mapping[str, int]
) -> tuple[ArgumentSizes, list[Formula], list[Formula]]:
    """The class of a tensor, what is true of its numbers exactly there, and the numbers that WIDEST divides where
    vectors fit.

    The last stride that is 1, or may be, is known to be. Of a tensor of any rank it is the first one, and those that
    are 0 are known too; of one whose sizes are its own only what its annotation says, and no vectors fit."""
    names = tuple([f"{a.name}_{i}" if n == "?" else n for i, n in enumerate(spec.shape)])
    if spec.rest == OWN:
        return ArgumentSizes(names, spec.stride, False), [], []
    axes, known, asked = range(rank_of(a)), list(spec.stride), list[Formula]()
    shape, stride = ([f"{a.name}.{what}[{axis}]" for axis in axes] for what in ("shape", "stride"))

    def holds(condition: Formula) -> bool:
        truth = bool(evaluate(condition, values))
        asked.append(condition if truth else ("not", condition))
        return truth

    if spec.rest:
        # A stride says something where there are several elements.
        several = [(("<=", 2, n), step) for n, step in zip(shape, stride, strict=True)]
        ones: list[Formula] = [("and", ("==", step, 1), there) for there, step in several]
        still: list[Formula] = [("and", ("==", step, 0), there) for there, step in several]
        if ones:
            ones[0] = ("or", ones[0], ("and", *[("==", n, 1) for n in shape]))
        unit = next((axis for axis in axes if holds(ones[axis])), None)
        known = [1 if axis == unit else 0 if holds(still[axis]) else None for axis in axes]
    elif 1 not in known:
        free = [axis for axis in reversed(axes) if known[axis] is None]
        unit = next((axis for axis in free if holds(("or", ("==", stride[axis], 1), ("==", shape[axis], 1)))), None)
        if unit is not None:
            known[unit] = 1
    unit = known.index(1) if 1 in known else None
    divided: list[Formula] = [f"{a.name}.offset", *[step for axis, step in enumerate(stride) if axis != unit]]
    if unit is not None:
        divided.append(shape[unit])
    elif not (spec.rest and 0 in known):
        divided.append(1)  # no vector fits
    return ArgumentSizes(names, tuple(known), False), asked, divided


def values_of(call: BoundArguments, specs: Iterable[str]) -> dict[str, int]:
    """The numbers that formulas of a launch are made of. The stride of a mode of size 1 plays no part: it is 0."""
    found: dict[str, int] = {}
    for a in call.arguments:
        if a.tensor is None or a.name not in specs:
            continue
        shape, stride = _flat(plain_layout(a).shape), _flat(plain_layout(a).stride)
        for axis, (n, step) in enumerate(zip(shape, stride, strict=True)):
            found[f"{a.name}.shape[{axis}]"] = n
            found[f"{a.name}.stride[{axis}]"] = 0 if n == 1 else step
        found[f"{a.name}.offset"], found[f"{a.name}.length"] = a.offset, a.length
    return found


def host_checks(
    call: BoundArguments, specs: Mapping[str, SizeSpec], written: Iterable[str]
) -> tuple[tuple[Formula, str], ...]:
    """What the proofs of a class take for granted of a call, as formulas that are true of it: the sizes and strides
    that annotations say, sizes from 1 on, the ends of each layout inside its memory, and the quick test that no two
    coordinates of a tensor that is `written` are one element."""
    found: list[tuple[Formula, str]] = []
    first: dict[str, str] = {}
    divisors, written = divisors_of(call.facts), frozenset(written)
    for a in call.arguments:
        if a.sizes is None:
            continue
        shape = [f"{a.name}.shape[{axis}]" for axis in range(rank_of(a))]
        stride = [f"{a.name}.stride[{axis}]" for axis in range(rank_of(a))]
        spec = specs[a.name]
        for n, step, wanted, pinned in zip(shape, stride, spec.shape, spec.stride, strict=True):
            if pinned is not None:
                found.append((("or", ("==", n, 1), ("==", step, pinned)), f"{step} is {pinned}"))
            if isinstance(wanted, int):
                found.append((("==", n, wanted), f"{n} is {wanted}"))
                continue
            if wanted != "?" and first.setdefault(wanted, n) != n:
                found.append((("==", n, first[wanted]), f"{n} is {wanted}"))
                continue
            if wanted in divisors:
                found.append((("==", ("%", n, divisors[wanted]), 0), f"{divisors[wanted]} divides {wanted}"))
            found.append((("<=", 1, n), f"{n} is 1 or more"))
            found.append((("<=", n, LARGEST_EXTENT), f"{n} is at most {LARGEST_EXTENT}"))
        low, high = _ends(f"{a.name}.offset", shape, stride)
        found.append((("<=", 0, low), f"{a.name} begins inside its memory"))
        found.append((("<=", ("+", 1, high), f"{a.name}.length"), f"{a.name} ends inside its memory"))
        if a.name in written and a.sizes.stride != (1,):
            found.append((apart(a), f"no two coordinates of {a.name} are one element"))
    return tuple(found)


def _ends(offset: str, shape: list[str], stride: list[str]) -> tuple[Formula, Formula]:
    """The least and the greatest offset: what each stride brings at its end, where that is below 0, or above."""
    ends: list[Formula] = [("*", ("+", n, -1), step) for n, step in zip(shape, stride, strict=True)]
    low = [("*", ("<=", end, 0), end) for end in ends]
    high = [("*", ("<=", 0, end), end) for end in ends]
    return ("+", offset, *low), ("+", offset, *high)


def apart(a: Argument, *, every: bool = False) -> Formula:
    """Whether, in some order of the axes, each stride reaches further than those before it together; stride 1 can only
    be first. Of more than three axes two orders are looked at, unless `every` order is asked for; `tells_apart` decides
    where this says no."""
    assert a.sizes is not None
    axes = range(rank_of(a))
    first = [axis for axis in axes if a.sizes.stride[axis] == 1][:1]
    others = tuple(axis for axis in axes if axis not in first)
    orders: list[Formula] = []
    for order in permutations(others) if len(axes) <= 3 or every else (others, others[::-1]):
        parts: list[Formula] = []
        reach: list[Formula] = [1]
        for axis in (*first, *order):
            n, step = f"{a.name}.shape[{axis}]", ("abs", f"{a.name}.stride[{axis}]")
            parts.append(("or", ("==", n, 1), ("<=", ("+", *reach), step)))
            reach.append(("*", ("+", n, -1), step))
        orders.append(("and", *parts))
    return ("or", *orders)


def sizes_told(call: BoundArguments) -> str:
    """The sizes of a call, in words."""
    found: dict[str, int] = {}
    for a in call.arguments:
        if a.sizes is not None and a.tensor is not None:
            named = zip(a.sizes.shape, _flat(plain_layout(a).shape), strict=True)
            found |= {name: n for name, n in named if isinstance(name, str)}
    return ", ".join(f"{name} = {n}" for name, n in sorted(found.items()))


def stand_ins(trace: Trace, call: BoundArguments) -> dict[str, Tensor]:
    """What stands for the tensors of unknown sizes while a kernel is traced, by name."""
    sizes = trace.sizes = Sizes(a.name for a in call.arguments)
    chosen = [(a, a.sizes) for a in call.arguments if a.sizes is not None]
    divisors = divisors_of(call.facts)
    for _, own in chosen:
        for n, step in zip(own.shape, own.stride, strict=True):
            if own.aligned and step == 1 and isinstance(n, str) and divisors.get(n, 1) % WIDEST:
                divisors[n] = WIDEST * divisors.get(n, 1) // (2 if divisors.get(n, 1) % 2 == 0 else 1)
    buffers: dict[int, Tensor] = {}
    found: dict[str, Tensor] = {}
    for a, own in chosen:
        extents = tuple(
            [
                n if isinstance(n, int) else sizes.letter(n, f"{a.name}.shape[{axis}]", divisors.get(n, 1))
                for axis, n in enumerate(own.shape)
            ]
        )
        if a.slot in buffers and not own.view:
            found[a.name] = buffers[a.slot]
            continue
        unit = WIDEST if own.aligned else 1
        strides = tuple([_stride(sizes, a.name, axis, step, unit) for axis, step in enumerate(own.stride)])
        first = ir.param(_named(sizes, f"{a.name}_at", f"{a.name}.offset", unit), u32)
        if own.view:
            memory = buffers[a.slot].engine
            assert isinstance(memory, MappedEngine)
            buffer = memory.buffer
        else:
            shape = tuple([n if isinstance(n, int) else n.in_kernel() for n in extents])
            note = f"({','.join(map(str, own.shape))})"
            buffer = ir.Buffer(a.name, a.dtype, ir.UNKNOWN_LENGTH, note=note, shape=shape)
        engine = MappedEngine(
            trace,
            buffer,
            a.writable,
            first=linear(first).times(unit),
            argument=a.name,
            extents=extents,
            strides=strides,
        )
        found[a.name] = Tensor(engine, _identity(extents))
        buffers.setdefault(a.slot, found[a.name])
    for fact in call.facts:
        sizes.state(fact)
    return found


def _identity(extents: tuple[Any, ...]) -> Layout:
    """Each coordinate of the shape, as itself."""
    return _make(extents, tuple([as_stride(1, (axis,)) for axis in range(len(extents))]))


def _named(sizes: Sizes, name: str, source: str, divisor: int) -> str:
    """A parameter that is no size: a number of the call modulo 2^32, divided."""
    name = sizes._unique(name if divisor == 1 else f"{name}_{divisor}")
    quotient: Formula = source if divisor == 1 else ("//", source, divisor)
    sizes.formulas[name], sizes.places[name] = ("%", quotient, 1 << 32), (divisor, source)
    return name


def _stride(sizes: Sizes, name: str, axis: int, known: int | None, unit: int) -> Stride:
    if known is not None:
        return None, known
    return ir.param(_named(sizes, f"{name}_s{axis}", f"{name}.stride[{axis}]", unit), u32), unit


def tells_apart(layout: Layout) -> bool:
    """Whether no two coordinates have one offset: each stride reaches further than those below it together, or else by
    `is_injective`.

    >>> tells_apart(Layout((4, 5), (7, 1))), tells_apart(Layout((4, 5), (0, 1))), tells_apart(Layout((4, 5), (3, 2)))
    (True, False, False)
    """
    reach = 0
    for step, n in sorted((abs(step), n) for n, step in zip(_flat(layout.shape), _flat(layout.stride), strict=True)):
        if n > 1:
            if step <= reach:
                return bool(is_injective(layout))
            reach += (n - 1) * step
    return True
