"""Calls of an operation that differ in sizes, strides and offsets: what they launch, as formulas in these numbers.

Law: where a recipe serves a call, it gives the launches that the operation's own Python makes for that call. An
operation that has been recorded runs once more, over numbers that are followed and a device that does nothing
(`layout/values/followed.py`, `batch.planned`): what Python asked of the numbers on its way are the conditions, what it
computed of them are the formulas. What cannot be followed has no recipe, and each call of another size runs the Python.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...layout import ComposedLayout, Layout, leaves
from ...layout.values.followed import Trail, following, formula_of
from ...layout.values.layout import _make
from ...tensor import Tensor
from .batch import planned
from .device_tensor import DeviceEngine, Result
from .formulas import Formula, Statements, compiled, simplified, without_implied
from .recorded_call import CallKey, Recorded, recorded


class SizedCall(NamedTuple):
    """A call as one of a class: `key` is what all calls of it have in common, `numbers` are what they may differ in:
    for each tensor its extents, its strides, its offset and its length."""

    key: Hashable
    numbers: list[int]


def sized_call(call: CallKey) -> SizedCall | None:
    """The class of a call (`call_cache.key_of`); None for one without tensors, and for one of nested or swizzled
    layouts, basis strides or unknown sizes."""
    ranks: list[int | None] = []
    numbers: list[Any] = []
    given = iter(call.sizes)
    for shape, stride, offset, length in zip(given, given, given, given, strict=True):
        if type(shape) is tuple:
            ranks.append(len(shape))
            numbers += (*shape, *stride, offset, length)
        else:
            ranks.append(None)
            numbers += shape, stride, offset, length
    # Nothing nested, no basis strides, no unknown sizes, no function outside.
    return SizedCall((call.common, *ranks), numbers) if {*map(type, numbers)} == {int} else None


@dataclass(frozen=True, slots=True, eq=False)
class CallRecipe:
    """The calls of which the `conditions` hold, compiled: `run(numbers)` is what such a call launches, or None. `text`
    is its source, over the objects of `scope`."""

    run: Callable[[Sequence[int]], Recorded | None]
    conditions: tuple[Formula, ...]
    text: str
    scope: Mapping[str, object]


def call_recipe(
    call: CallKey,
    sized: SizedCall,
    args: Sequence[object],
    operation: Callable[..., object],
    known: Recorded,
    *,
    names: tuple[str, ...] = (),
) -> CallRecipe | None:
    """The recipe of the calls like this one, which was `known` to launch so; None where it cannot be followed. `names`
    are the parameters of launches that are numbers among the arguments (`recorded`)."""
    trail = Trail()
    given = _followed(trail, args, sized.numbers)
    try:
        with following(trail), planned(call.device) as tape:
            result = operation(*given)
            found = recorded(tape, call, given, result, names)
    except Exception:  # the call itself went well: its Python does with numbers what cannot be followed
        return None
    # Another number of launches, or of their parameters that are arguments, is another call.
    if found is None or found.varying != known.varying or isinstance(found.result.layout, ComposedLayout):
        return None
    asked = without_implied([simplified(form) for form in trail.conditions if not _of_floats(form)])
    asked += filter(_of_floats, trail.conditions)  # the rules of `simplified` are those of whole numbers
    # Remainders first, which tell most recipes of a class apart. What a cost model chose ("chosen") is computed again
    # for each call's numbers, where all else holds.
    conditions = tuple(sorted(asked, key=lambda form: ("chosen" in str(form), "%" not in str(form))))
    text, scope = _written(len(sized.numbers), conditions, found, known)
    scope |= trail.choices
    recipe = CallRecipe(compiled(text, scope), conditions, text, scope)
    # What it gives of this call's own numbers is what is known.
    own = recipe.run(sized.numbers)
    return None if own is None or launches_of(own) != launches_of(known) else recipe


def _followed(trail: Trail, args: Sequence[object], numbers: Sequence[int]) -> list[object]:
    """The arguments, whose tensors have numbers that are followed, "n0", "n1" ... in their order."""
    left = iter([trail.number(f"n{at}", number) for at, number in enumerate(numbers)])
    given: list[object] = []
    for value in args:
        if type(value) is Tensor and isinstance(value.layout, Layout) and isinstance(value.engine, DeviceEngine):
            one, rank = value.engine, len(leaves(value.layout.shape))
            shape, stride = (tuple([next(left) for _ in range(rank)]) for _ in range(2))
            nested = isinstance(value.layout.shape, tuple)
            layout = _make(shape if nested else shape[0], stride if nested else stride[0])
            offset, length = next(left), next(left)
            engine = DeviceEngine(one.buffer, one.dtype, length, one.space, one.name, one.writable)
            given.append(Tensor(engine, layout, offset))
        else:
            given.append(value)
    return given


def _of_floats(formula: Formula) -> bool:
    return isinstance(formula, tuple) and (formula[0] == "float" or any(map(_of_floats, formula[1:])))


def launches_of(call: Recorded) -> tuple[Any, ...]:
    """What is compared of two recorded calls: the memory that they make, their programs without their own grids, the
    buffers, parameters and grid of each launch, and the result."""
    launches = [
        (replace(program, grid=(0, 0, 0)), places, tuple(map(_held, params)), grid)
        for program, places, params, grid in call.launches
    ]
    return call.made, launches, call.varying, call.result


def _held(number: float) -> float:
    """A parameter as a launch holds it."""
    return float(np.float32(number)) if isinstance(number, float) else number


def _written(
    count: int, conditions: Sequence[Formula], found: Recorded, known: Recorded
) -> tuple[str, dict[str, object]]:
    """The text of a recipe, and the objects that it names."""
    result, scope = found.result, dict[str, object](Recorded=Recorded, Result=Result, layout=_make)
    scope |= {"varying": known.varying, "dtype": result.dtype}
    outputs: list[Formula] = [*map(formula_of, (*found.made, result.length, result.offset))]
    for _, _, params, grid in found.launches:
        outputs += map(formula_of, (*params, *grid))
    if isinstance(result.layout, Layout):
        outputs += map(formula_of, (*leaves(result.layout.shape), *leaves(result.layout.stride)))
    numbers = [f"n{at}" for at in range(count)]
    said = Statements({name: name for name in numbers}, [*conditions, *outputs], " " * 8)

    def shown(tree: Any) -> str:
        if isinstance(tree, tuple):
            return f"({''.join(f'{shown(part)}, ' for part in tree)})"
        return said.text(formula_of(tree))

    for condition in conditions:
        said.say("if not {}: return None", condition)
    launches = ""
    for at, ((program, places, _, _), (_, _, params, grid)) in enumerate(
        zip(known.launches, found.launches, strict=True)
    ):
        scope |= {f"program{at}": program, f"places{at}": places}
        launches += f"(program{at}, places{at}, {shown(tuple(params))}, {shown(grid)}), "
    layout = "None"
    if isinstance(result.layout, Layout):
        layout = f"layout({shown(result.layout.shape)}, {shown(result.layout.stride)})"
    where = f"{result.argument}, {result.buffer}, dtype, {shown(result.length)}, {layout}, {shown(result.offset)}"
    said.say(f"return Recorded({shown(found.made)}, ({launches}), varying, Result({where}))".replace("{", "{{"))
    head = ["def recipe(numbers):", f"    {', '.join(numbers)}, = numbers", "    try:"]
    scope["refused"] = ArithmeticError
    tail = ["    except refused:", "        return None"]
    return "\n".join([*head, *said.lines, *tail]) + "\n", scope
