"""A call of a class of sizes, or of known ones, compiled: a function from the arguments to parameters and a grid.

Law: where the function gives a launch, the long way (`KernelFunction._sized`) makes the same launch of the same form;
where it gives the number of a check, that check does not hold; where it gives None, the call is of another class. What
it computes are the formulas of `LaunchPlan`, which the long way evaluates; what it looks at first is that each argument
is a plain tensor over a buffer of its own, or a number of the same class, in like tuples, lists and dictionaries.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...layout import Layout
from ...layout.values.followed import FollowedNumber, Trail, Unfollowed, trail
from ...tensor.tensor import Tensor
from ..runtime import Device, DeviceBuffer
from ..runtime.batch import running_tape, tell
from ..runtime.call_cache import RepeatedCall, RepeatedCalls
from ..runtime.device_tensor import DeviceEngine, Result, settled
from ..runtime.formulas import Formula, Statements, compiled
from ..runtime.pipeline import BoundLaunch
from ..runtime.program import LaunchPlan, Program
from .call import Argument, BoundArguments, Structure
from .sizes import LARGEST
from .state import MOST_GROUPS
from .unknown_sizes import ArgumentSizes

KEPT = 16
"""Recipes that one kernel keeps for calls that differ in tensors and numbers alone."""

Checks = tuple[tuple[Formula, str], ...]
"""What has to be true of a call, each with how it reads."""
Launched = tuple[list[DeviceBuffer], tuple[int, ...], bytes, int, int, int]
"""Buffers, their numbers, the bytes of parameters, and the grid."""
_PLAIN = {Tensor, int}
_FORMATS = {"f32": "f", "i32": "i", "u32": "I"}


@dataclass(frozen=True, slots=True)
class Recipe:
    """A compiled class of calls: `run(args)` is a launch, the number of the first of its `checks` that does not hold,
    -1 where an argument has to be looked at, or None. `text` is its source, over the objects of `scope`; `of` tells the
    class."""

    program: Program
    plan: LaunchPlan
    checks: Checks
    run: Callable[[tuple[object, ...]], Launched | int | None]
    text: str
    scope: dict[str, object]
    of: Hashable

    def launch(self, launched: Launched) -> BoundLaunch:
        """Launch it on the device of its buffers, as `Device.launch` does."""
        buffers, uids, params, x, y, z = launched
        device, tapes = buffers[0].device, running_tape() is not None
        if tapes or (device.faulty and self.program.loops):
            values = struct.unpack_from("<" + "".join(_FORMATS[p.type] for p in self.program.params), params)
            device.check_faults(self.program, values)
            if tapes:
                tell(device, (replace(self.program, grid=(x, y, z)), tuple(buffers), values))
        return device.launch_bound(self.program, buffers, uids, params, (x, y, z))


def recipe_for(
    call: BoundArguments, args: tuple[object, ...], plan: LaunchPlan, program: Program, device: Device
) -> Recipe | None:
    """The recipe of the calls like this one, over these arguments; None for a call that has to go the long way each
    time: with parameters of f16, which are rounded first, packed tensors, or arguments in objects of classes."""
    if any(p.type not in _FORMATS for p in program.params):
        return None
    if any(not isinstance(engine, DeviceEngine) for engine in call.engines) or any(a.packed for a in call.arguments):
        return None
    if len(call.structure) != len(args):
        return None
    writer = _Writer(call, program, device)
    try:
        text, checks = writer.text(plan, args)
    except KeyError:  # an object of another class, or a formula asks for a number of the call that is no integer
        return None
    return Recipe(program, plan, checks, compiled(text, writer.scope), text, writer.scope, (call.key, device.uid))


class _Writer:
    """The text of a recipe, and the objects that it names."""

    def __init__(self, call: BoundArguments, program: Program, device: Device) -> None:
        self.call, self.program, self.device = call, program, device
        self.values: dict[int, object] = {}  # what each argument is in this call
        self.scope: dict[str, object] = {"Tensor": Tensor, "DeviceEngine": DeviceEngine, "Layout": Layout}
        self.scope["settled"] = settled
        self.names: dict[Formula, str] = {}
        self.first: dict[int, int] = {}  # by slot: its first argument
        # What formulas are made of, the lines that take these apart, and all lines.
        self.sizes, self.extents, self.lines = list[str](), list[str](), list[str]()

    def text(self, plan: LaunchPlan, args: tuple[object, ...]) -> tuple[str, Checks]:
        self.lines += ["def recipe(args):", "    try:"]
        self._unpack("args", self.call.structure, args)
        for i, a in enumerate(self.call.arguments):
            if a.tensor is not None:
                self._tensor(i, a)
                continue
            self.scope[f"K{i}"] = type(self.values[i])
            self.lines.append(f"        if type(a{i}) is not K{i}: return None")
            if type(self.values[i]) is int:
                self.names[a.name] = f"a{i}"
                self.sizes.append(f"a{i}")
            if any(p.name == a.name and p.type == "u32" for p in self.program.params):
                self.lines.append(f"        if not 0 <= a{i} <= {LARGEST}: return -1")
        # What the call is, what has to hold, and what is launched: formulas, of which parts are computed once.
        params = dict(plan.params)
        most = min(self.device.limits.workgroups, MOST_GROUPS)
        grid: list[Formula] = [("and", ("<=", 1, n), ("<=", n, most)) for n in plan.grid if not isinstance(n, int)]
        checks = [*plan.checks, *[(("<=", 0, form), said) for form, said, _ in plan.conditions]]
        checks += [(form, "the grid is within the device's limits") for form in grid]
        said = Statements(self.names, [plan.serves, *[form for form, _ in checks], *params.values(), *plan.grid])
        said.say("if not {}: return None", plan.serves)
        for number, (form, _) in enumerate(checks):
            said.say(f"if not {{}}: return {number}", form)
        # What follows from the sizes alone is kept for the next call, which often has the same.
        found = [said.text(form) for form in (*params.values(), *plan.grid)]
        said.lines += [f"found = {', '.join(found)}", "last[0] = sizes, found"]
        self.scope["last"] = [((None,), ())]
        asked = " ".join(said.lines)
        sizes = [name for name in self.sizes if name[0] != "a" or name in asked]  # numbers where a formula has them
        self.lines.append(f"        sizes = ({''.join(f'{name}, ' for name in sizes)})")
        self.lines += ["        before, found = last[0]", "        if before != sizes:"]
        self.lines += [" " * 12 + line for line in (*self.extents, *said.lines)]
        names = {name: f"v{number}" for number, name in enumerate(params)}
        self.lines.append(f"        {''.join(f'{name}, ' for name in names.values())}x, y, z = found")
        values = [names.get(p.name) or self._number(p.name) for p in self.program.params]
        packed = f"pack({', '.join(values)})" if values else "b''"
        if values:
            form = "<" + "".join(_FORMATS[p.type] for p in self.program.params)
            pad = -struct.calcsize(form) % self.device.limits.uniform_alignment
            self.scope["pack"] = struct.Struct(f"{form}{pad}x").pack
        buffers = [f"b{i}" for _, i in sorted(self.first.items())]
        uids = "".join(f"{b}.uid, " for b in buffers)
        self.lines.append(f"        return [{', '.join(buffers)}], ({uids}), {packed}, x, y, z")
        self.scope["refused"] = TypeError, ValueError, OverflowError, ZeroDivisionError, struct.error
        self.lines += ["    except refused:", "        return -1"]
        return "\n".join(self.lines) + "\n", tuple(checks)

    def _unpack(self, holder: str, structure: Sequence[Structure], values: Sequence[object]) -> None:
        """The lines that take `holder` apart: its arguments are named `a0`, `a1` ...; tuples, lists and dictionaries
        are checked for type and length (keys), and taken apart in turn. Raises KeyError for an object of another class.
        """
        names = [f"a{part}" if isinstance(part, int) else f"{holder}_{at}" for at, part in enumerate(structure)]
        if names:
            self.lines.append(f"        {', '.join(names)}, = {holder}")
        for name, part, value in zip(names, structure, values, strict=True):
            if isinstance(part, int):
                self.values[part] = value
            elif type(value) in (tuple, list) and isinstance(value, tuple | list):
                kind = type(value).__name__
                self.lines.append(f"        if type({name}) is not {kind} or len({name}) != {len(value)}: return None")
                self._unpack(name, part.parts, value)
            elif type(value) is dict and isinstance(value, dict):
                self.scope[f"{name}_keys"] = part.names
                self.lines += [
                    f"        if type({name}) is not dict or tuple({name}) != {name}_keys: return None",
                    f"        {name} = tuple({name}.values())",
                ]
                self._unpack(name, part.parts, tuple(value.values()))
            else:
                raise KeyError(name)

    def _tensor(self, i: int, a: Argument) -> None:
        engine = self.call.engines[a.slot]
        assert isinstance(engine, DeviceEngine) and a.tensor is not None
        self.scope[f"D{i}"] = engine.dtype
        self.lines += [
            f"        if type(a{i}) is not Tensor or a{i}.guard is not None: return None",
            f"        e{i}, l{i}, o{i} = a{i}.engine, a{i}.layout, a{i}.offset",
            f"        if type(e{i}) is not DeviceEngine and not settled(e{i}): return None",
            f"        if type(l{i}) is not Layout: return None",
            f"        if e{i}.dtype is not D{i} or e{i}.writable is not {engine.writable}: return None",
            f"        if l{i}.facts is not None: return None",
        ]
        if a.sizes is None:  # before what is checked of memory: another layout is another call
            self.scope[f"L{i}"] = a.tensor.layout
            here = f"o{i} == {a.tensor.offset} and e{i}.length == {a.length}"
            self.lines.append(f"        if not ({here} and (l{i} is L{i} or l{i} == L{i})): return None")
        self.lines.append(f"        b{i} = e{i}.buffer")
        if a.slot in self.first:
            j = self.first[a.slot]
            same = f"b{i} is b{j} and e{i}.length == e{j}.length"
            alone = a.sizes is None and self.call.arguments[j].sizes is None  # each is the one layout that it was
            if not alone and (a.sizes is None or not a.sizes.view):
                same += f" and o{i} == o{j} and l{i} == l{j}"
            self.lines.append(f"        if not ({same}): return None")
        else:
            others = [f"b{i} is b{j} or " for j in self.first.values()]
            least, most = self.program.bindings[a.slot].min_bytes, self.device.limits.binding_bytes
            self.lines += [
                f"        if {''.join(others)}b{i}.device.uid != {self.device.uid}: return None",
                f"        if b{i}._handle is None or not {least} <= b{i}.nbytes <= {most}: return -1",
            ]
            self.first[a.slot] = i
        if a.sizes is not None:
            self._extents(i, a.name, a.sizes)

    def _extents(self, i: int, name: str, sizes: ArgumentSizes) -> None:
        """The numbers of a tensor of unknown sizes, by the names that formulas have for them."""
        axes = range(len(sizes.shape))
        shape, stride = [f"n{i}_{axis}" for axis in axes], [f"s{i}_{axis}" for axis in axes]
        self.sizes += [f"l{i}.shape", f"l{i}.stride", f"o{i}", f"e{i}.length"]
        if len(axes) == 1:
            self.extents += [
                f"{shape[0]}, {stride[0]} = l{i}.shape, l{i}.stride",
                f"if type({shape[0]}) is tuple:",
                f"    if len({shape[0]}) != 1: return None",
                f"    ({shape[0]},), ({stride[0]},) = {shape[0]}, {stride[0]}",
            ]
        else:
            self.extents += [
                f"if type(l{i}.shape) is not tuple or len(l{i}.shape) != {len(axes)}: return None",
                f"{', '.join(shape)} = l{i}.shape",
                f"{', '.join(stride)} = l{i}.stride",
            ]
        kinds = " is ".join([*[f"type({n})" for n in (*shape, *stride, f"o{i}")], "int"])
        self.extents.append(f"if not ({kinds}): return None")
        for axis, (n, step) in enumerate(zip(shape, stride, strict=True)):
            # A stride that is 1 plays no part of its own, and an extent that is a number is not 1.
            if sizes.stride[axis] != 1 and (sizes.shape[axis] == 1 or isinstance(sizes.shape[axis], str)):
                self.extents.append(f"if {n} == 1: {step} = 0")
            self.names[f"{name}.shape[{axis}]"], self.names[f"{name}.stride[{axis}]"] = n, step
        self.names[f"{name}.offset"], self.names[f"{name}.length"] = f"o{i}", f"e{i}.length"

    def _number(self, name: str) -> str:
        """The value of a parameter: a number of the call, or where a tensor of known sizes begins."""
        for i, a in enumerate(self.call.arguments):
            if a.tensor is None and a.name == name:
                return f"a{i}"
        return str(self.call.offsets[name])


def replayed(recipes: list[Recipe], args: tuple[object, ...], beside: Hashable, repeated: RepeatedCalls) -> bool:
    """Launch by the first of these recipes that serves the call, which is the first from then on; False where none
    does, or a check of it does not hold. Of followed numbers the launch is on the tape of a device that does nothing.
    A launch of plain arguments that was made before is kept bound for calls that are `repeated`.
    """
    if (running := trail()) is not None:
        return _planned(recipes, args, running)
    for number, recipe in enumerate(recipes):
        launched = recipe.run(args)
        if launched is not None:
            if isinstance(launched, int):
                return False
            if number:
                recipes[:] = [recipe, *[other for other in recipes if other is not recipe]]
            bound = recipe.launch(launched)
            if _PLAIN.issuperset(map(type, args)):
                repeated.keep(args, beside, RepeatedCall(object(), (), Result(0)), bound)
            return True
    return False


def _planned(recipes: list[Recipe], args: tuple[object, ...], running: Trail) -> bool:
    """The same for arguments whose numbers are followed: the recipe's text runs on these, so that what it looks at are
    conditions, and its parameters and its grid are formulas. Raises Unfollowed where no recipe serves."""
    # What is checked of sizes are their conditions; of known sizes, which have no checks, it would be each number.
    for recipe in [recipe for recipe in recipes if recipe.checks]:
        before = dict(running.conditions)
        given = {**recipe.scope, "type": _kind_of, "pack": lambda *values: values, "last": [((None,), ())]}
        launched: Any = compiled(recipe.text, given)(args)
        if isinstance(launched, tuple):
            buffers, _, params, *grid = launched
            program = replace(recipe.program, grid=(grid[0], grid[1], grid[2]))
            tell(buffers[0].device, (program, tuple(buffers), params or ()))
            return True
        running.conditions = before  # of a recipe that does not serve nothing is asked
    raise Unfollowed


def _kind_of(value: object) -> type:
    return type(value.value) if type(value) is FollowedNumber else type(value)
