"""A kernel for unknown sizes that leaves Python: what its calls give, and what a host has to see at each, as data.

Law: a host that computes these formulas launches what the same call in Python launches, or refuses it with the words
that Python has. A call gives each size by its name and, where they are not the least ones, strides and offsets, in
elements, from 0 on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ...tensor.dtypes import u32
from ..runtime.formulas import Formula, simplified
from ..runtime.program import LaunchPlan, Program
from ..targets.export.describe import BoundMemory, Form, Number, View
from .call import Argument, BoundArguments
from .sizes import LARGEST, LARGEST_EXTENT, divisors_of
from .unknown_sizes import WIDEST, apart, rank_of, values_of

WORDS = {"f16": 2, "f32": 4, "i32": 4, "u32": 4, "bool": 4}
"""The bytes of an element in a buffer."""


@dataclass(frozen=True, slots=True)
class ExportedSizes:
    """The class of a call: its numbers, what each number of a plan is in them, and the tensors of each memory."""

    call: BoundArguments
    numbers: tuple[Number, ...]
    names: Mapping[str, Formula]

    def memories(self, lengths: Mapping[int, int]) -> list[BoundMemory]:
        """What each binding is given; of tensors of known sizes, `lengths` are the bytes."""
        types = [engine.dtype.name for engine in self.call.engines]
        views: list[list[View]] = [[] for _ in types]
        needs: list[Formula] = [lengths[slot] for slot in range(len(types))]
        gaps: set[int] = set()
        for a in self.call.arguments:
            if a.tensor is None:
                continue
            view: View = {"name": a.name, "type": a.dtype.name, "layout": str(a.tensor.layout), "offset": a.offset}
            if a.sizes is not None:
                shape, stride, offset = self._of(a)
                text = f"({','.join(map(str, shape))}):({','.join(map(str, stride))})"
                view |= {"layout": text, "shape": shape, "stride": stride, "offset": offset}
                ends = [("*", ("+", n, -1), step) for n, step in zip(shape, stride, strict=True)]
                needs[a.slot] = _times(("+", offset, *ends, 1), WORDS[types[a.slot]])
                if _leaves_gaps(shape, a.sizes.stride):
                    gaps.add(a.slot)
            views[a.slot].append(view)
        memories = enumerate(zip(types, needs, views, strict=True))
        return [BoundMemory(kind, need, tuple(own), slot in gaps) for slot, (kind, need, own) in memories]

    def form(self, program: Program, plan: LaunchPlan, divided: Collection[Formula] = ()) -> Form:
        """The program of the class as it is launched, and what was stated of the sizes or its proof asks for; for one
        of vectors, the numbers that are `divided` by WIDEST."""

        def renamed(formula: Formula) -> Formula:
            return _whole(self.renamed(formula), divided)

        sizes = sorted({str(n["name"]) for n in self.numbers if "default" not in n and n["least"] == 1})
        shown = ", ".join(f"{name} = {{{name}}}" for name in sizes)
        facts: list[tuple[Formula, str]] = [
            (("==", ("%", name, by), 0), f"'{by} divides {name}' was stated; {name} = {{{name}}}")
            for name, by in divisors_of(self.call.facts).items()
            if name in sizes
        ]
        for formula, text, stated in plan.conditions:
            holds = renamed(("<=", 0, formula))
            facts.append((holds, f"'{text}' was stated; {shown}" if stated else f"its proof asks for {text}; {shown}"))
        params = {name: renamed(formula) for name, formula in plan.params}
        x, y, z = (renamed(n) for n in plan.grid)
        program = replace(program, plan=replace(plan, grid=(x, y, z)))
        return Form(program, {**self.call.offsets, **params}, None, (*_without_implied(facts), *self._apart(program)))

    def divided(self) -> list[Formula]:
        """What WIDEST divides where there are vectors: offsets, strides, and extents along stride 1."""
        found: list[Formula] = []
        for a in self.call.arguments:
            if a.sizes is not None:
                shape, stride, offset = self._of(a)
                unit = a.sizes.stride.index(1)
                found += [shape[unit], offset, *(step for axis, step in enumerate(stride) if axis != unit)]
        return found

    def either(self, first: Form, second: Form) -> list[Form]:
        """The first form where vectors fit and what its proof asks for holds, else the second; the facts are those of
        the one that is launched."""
        found = [(holds, text) for holds, text in first.facts if text.startswith("its proof asks for ")]
        fits = [("==", ("%", n, WIDEST), 0) for n in self.divided()]
        chosen = simplified(("and", *fits, *[holds for holds, _ in found]))
        facts = [fact for fact in first.facts if fact not in found]
        others = [fact for fact in second.facts if fact not in first.facts]
        mine = (*facts, *[(("or", chosen, holds), text) for holds, text in others])
        both = [fact for fact in found if fact in second.facts]  # what both ask for holds where the first is chosen
        return [replace(first, when=chosen, facts=(*mine, *both)), replace(second, when=("==", chosen, 0), facts=())]

    def renamed(self, formula: Formula) -> Formula:
        """A formula of a plan in the numbers of an exported call, simplified; a stride of a call is not below 0."""
        return simplified(self._renamed(formula))

    def _renamed(self, formula: Formula) -> Formula:
        if isinstance(formula, str):
            return self.names.get(formula, formula)
        if isinstance(formula, int):
            return formula
        op, *parts = [formula[0], *map(self._renamed, formula[1:])]
        # Modulo 2^32, where no number of a call is that large.
        plain = op == "abs" or (op == "%" and parts[1] == 1 << 32 and parts[0] in self._small())
        return parts[0] if plain else (op, *parts)

    def _small(self) -> set[Formula]:
        names = [str(number["name"]) for number in self.numbers]
        return {*names, *[("//", name, WIDEST) for name in names]}

    def values(self) -> dict[str, int]:
        """The numbers that this call gives."""
        found = values_of(self.call, [a.name for a in self.call.arguments if a.sizes is not None])
        return {str(self.names[name]): n for name, n in found.items() if isinstance(self.names.get(name), str)}

    def _of(self, a: Argument) -> tuple[list[Formula], list[Formula], Formula]:
        axes = range(rank_of(a))
        shape = [self.names[f"{a.name}.shape[{axis}]"] for axis in axes]
        return shape, [self.names[f"{a.name}.stride[{axis}]"] for axis in axes], self.names[f"{a.name}.offset"]

    def _apart(self, program: Program) -> list[tuple[Formula, str]]:
        """That no two coordinates of a tensor that is written are one element."""
        found = []
        for a in self.call.arguments:
            if a.sizes is not None and program.bindings[a.slot].access == "read_write":
                holds = self.renamed(apart(a, every=True))
                found.append((holds, f"{a.name} overlaps itself"))
        return [(holds, text) for holds, text in found if holds != 1]


def exported_sizes(call: BoundArguments) -> ExportedSizes:
    """What calls of the class of this one give."""
    scalars = {a.name for a in call.arguments if a.tensor is None}
    numbers: dict[str, Number] = {}
    names: dict[str, Formula] = {}
    more: list[Number] = []
    slots: dict[int, Argument] = {}
    for a in call.arguments:
        if a.sizes is None:
            continue
        first = slots.setdefault(a.slot, a)
        for axis, n in enumerate(a.sizes.shape):
            name: Formula = f"{a.name}.shape[{axis}]" if n in scalars else n
            names[f"{a.name}.shape[{axis}]"] = name
            if isinstance(name, str):
                numbers.setdefault(name, {"name": name, "type": "u32", "least": 1, "most": LARGEST_EXTENT})
        defaults = _compact(a, names)
        for axis, step in enumerate(a.sizes.stride):
            name = f"{first.name}.stride[{axis}]"
            names[f"{a.name}.stride[{axis}]"] = name if step is None else step
            if step is None and first is a:
                more.append(
                    {"name": name, "type": "u32", "least": 0, "most": LARGEST_EXTENT, "default": defaults[axis]}
                )
        names[f"{a.name}.offset"] = name = f"{first.name}.offset"
        if first is a:
            more.append({"name": name, "type": "u32", "least": 0, "most": LARGEST_EXTENT, "default": 0})
    return ExportedSizes(call, (*numbers.values(), *more), names)


def whole_numbers(call: BoundArguments, program: Program, plan: LaunchPlan) -> list[Number]:
    """The numbers of a call that its proof takes for sizes: u32, below 2^31."""
    scalars = {a.name for a in call.arguments if a.tensor is None} - {name for name, _ in plan.params}
    return [
        {"name": p.name, "type": p.type, "least": 0, "most": LARGEST}
        for p in program.params
        if p.type == u32.name and p.name in scalars
    ]


def _without_implied(facts: list[tuple[Formula, str]]) -> list[tuple[Formula, str]]:
    """Facts without those that a multiple of `by` implies: n rounded up to one is no less than to one of a divisor."""
    rounded = {}
    for holds, _ in facts:
        match holds:
            case ("<=", ("*", ("//", n, int(by)), int(times)), int(most)) if by == times:
                rounded[holds] = simplified(("+", n, 1, -by)), by, most

    def implied(fact: Formula) -> bool:
        if fact not in rounded:
            return False
        n, by, most = rounded[fact]
        return any(m == n and more % by == 0 and more > by and least <= most for m, more, least in rounded.values())

    return [fact for fact in facts if not implied(fact[0])]


def _whole(formula: Formula, divided: Collection[Formula]) -> Formula:
    """The formula without a quotient by WIDEST that it multiplies by it, of numbers that WIDEST divides."""
    match formula:
        case ("*", ("//", str(n), by), factor) if by == factor == WIDEST and n in divided:
            return n
        case (op, *parts):
            return (op, *[_whole(part, divided) for part in parts])
    return formula


def _leaves_gaps(shape: Sequence[Formula], stride: Sequence[int | None]) -> bool:
    """Whether known strides skip elements for some sizes: each, from the least on, is the product of the extents before
    it where they do not."""
    reach: Formula = 1
    for step, n in sorted((step, i) for i, step in enumerate(stride) if step is not None):
        if step != reach:
            return True
        reach = _times(reach, shape[n])
    return False


def _compact(a: Argument, names: Mapping[str, Formula]) -> dict[int, Formula]:
    """The least strides of the axes whose strides are not known: outside of the known ones, the last axis innermost."""
    assert a.sizes is not None
    stride = a.sizes.stride
    known = sorted((step, axis) for axis, step in enumerate(stride) if step)
    reach: Formula = 1
    if known:
        step, axis = known[-1]
        reach = _times(names[f"{a.name}.shape[{axis}]"], step)
    found: dict[int, Formula] = {}
    for axis in reversed(range(len(stride))):
        if stride[axis] is None:
            found[axis] = reach
            reach = _times(names[f"{a.name}.shape[{axis}]"], reach)
    return found


def _times(*factors: Formula) -> Formula:
    return simplified(("*", *factors))
