"""The plan of a variant in JavaScript: what a call gives, why it is refused, what is launched.

A plan is a function of two functions of `runtime.js`. `n(name, least, otherwise, most)` gives a number of the call as a
BigInt: from `least` to `most`, `otherwise` where the call leaves it out; `n(name, "f32")` a float. `m(name, bytes,
written, arrays, gaps)` tells a memory: its typed arrays, without "Array" at the end, where they are not Float32Array;
a temporary one has no name. It gives `[why, launches]`, why the call is refused or 0, each launch `[which of the texts,
grid, parameters, which memories]`; one that binds all in the order of telling does not say which.

Law: it computes what the formulas of the description do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...runtime.formulas import Formula, least_of
from .javascript import Script, formula_of, listed

MOST = (1 << 31) - (1 << 16)
"""What a number of a call is at most where `runtime.js` is not told."""

#: The typed arrays that hold elements of a type as a device does: bools as u32, halves by their bits too.
ARRAYS = {
    "f32": ("Float32Array",), "i32": ("Int32Array",), "u32": ("Uint32Array",), "bool": ("Uint32Array",),
    "f16": ("Uint16Array", "Float16Array"),
}  # fmt: skip


def plan(data: Mapping[str, Any], variant: Mapping[str, Any], used: Sequence[set[int]], own: Sequence[int]) -> str:
    """The plan of a variant, an arrow function; each launch binds what its text has `used`, and `own` are its texts."""
    js = Script({n["name"]: n["least"] for n in data["numbers"] if "least" in n})
    asked = []
    for number in data["numbers"]:
        if "least" not in number:
            js.floats[number["name"]] = name = js.name()
            asked.append(f"{name}=n({json.dumps(number['name'])},{json.dumps(number['type'])})")
        elif "default" not in number:
            asked.append(f"{js.locals[number['name']]}={_asked(js, number)}")
    tensors = [_Tensor(buffer, data["numbers"]) for buffer in data["buffers"]]
    families: dict[Any, list[_Tensor]] = {}
    for slot, tensor in enumerate(tensors):
        families.setdefault(tensor.family if tensor.numbers else slot, []).append(tensor)
    functions = [_Family(js, family) for family in families.values() if family[1:]]
    singles = [family[0] for family in families.values() if not family[1:]]

    facts = [(formula_of(fact["holds"]), fact["text"]) for fact in variant["facts"]]
    launches = _chosen([_PlannedLaunch.of(launch, used[i], own) for i, launch in enumerate(variant["launches"])])
    formulas = [holds for holds, _ in facts]
    formulas += [n for tensor in singles for n in (tensor.bytes, *tensor.defaults)]
    formulas += [n for function in functions for n in function.formulas]
    formulas += [n for launch in launches for n in (launch.text, launch.when, *launch.grid, *launch.whole())]
    inner = {name for function in functions for name in function.inner}
    asked += js.sharing(formulas, inner | {n["name"] for tensor in tensors for n in tensor.numbers})
    for function in functions:
        asked += function.texts()
    for tensor in singles:
        asked += [f"{js.locals[n['name']]}={_asked(js, n)}" for n in tensor.numbers]
    asked += js.sharing(formulas, inner)
    order = [tensors.index(tensor) for tensor in (*(t for f in functions for t in f.tensors), *singles)]
    result = listed([js.refusal(facts), listed(launch.spelled(js, order) for launch in launches)])
    calls = [f"m({tensor.arguments(js.text(tensor.bytes), '1' * tensor.written)})" for tensor in singles]
    return f"({','.join(['n', 'm', *asked])})=>" + (f"({','.join([*calls, result])})" if calls else result)


def _asked(js: Script, number: Mapping[str, Any], name: str = "") -> str:
    """The question for a number of a call: its name, the least, what it is where a call leaves it out, the most."""
    default = js.text(formula_of(number["default"])) if "default" in number else ""
    most = "" if number["most"] == MOST else str(number["most"])
    given = [name or json.dumps(number["name"]), str(number["least"]), default or "void 0" * bool(most), most]
    return f"n({listed(given)[1:-1]})"


class _Tensor:
    """A buffer of a call and the numbers that are its own: strides and an offset."""

    def __init__(self, buffer: Mapping[str, Any], numbers: Sequence[Mapping[str, Any]]) -> None:
        self.name = "" if buffer.get("temporary") else str(buffer["name"])
        self.written = bool(buffer["written"] and self.name)
        self.bytes = formula_of(buffer["bytes"])
        arrays = " or ".join(ARRAYS[buffer["type"]]).removesuffix("Array")
        gaps = "1" * buffer.get("gaps", 0)
        self.rest = [json.dumps(arrays) if gaps or arrays != "Float32" else "", gaps]
        self.numbers = [n for n in numbers if n["name"].startswith(f"{self.name}.") and "default" in n]
        self.defaults = [formula_of(n["default"]) for n in self.numbers]

    @property
    def family(self) -> tuple[object, ...]:
        """What is equal of tensors that one function asks for."""
        return (*self.rest, *[n["name"].removeprefix(self.name) for n in self.numbers])

    def arguments(self, size: str, written: str, name: str = "") -> str:
        """What the runtime is told: name, bytes, whether it is written, its typed arrays, whether it has gaps."""
        told = "0" if any(self.rest) else ""
        return listed([name or json.dumps(self.name), size, written or told, *self.rest])[1:-1]


class _Family:
    """Tensors whose numbers are asked for by one function, of the name and of what differs between them. In its
    formulas a name that no number of a call has, "?..." stands for a number of the tensor, or for what differs."""

    def __init__(self, js: Script, tensors: list[_Tensor]) -> None:
        self.js, self.tensors = js, tensors
        self.call, self.name = js.name(), js.name()
        self.numbers = [f"?{self.call}{n['name'].removeprefix(tensors[0].name)}" for n in tensors[0].numbers]
        self.holes: dict[tuple[Formula, ...], str] = {}
        for name in self.numbers:
            js.locals[name], js.least[name] = js.name(), 0
        shapes = [(self._own(tensor, tensor.bytes), *tensor.defaults) for tensor in tensors]
        self.formulas = [self._common(each) for each in zip(*shapes, strict=True)]

    @property
    def inner(self) -> list[str]:
        """The names that only the function has."""
        return [*self.numbers, *self.holes.values()]

    def texts(self) -> list[str]:
        """The function, and what each tensor takes of it."""
        js, first = self.js, self.tensors[0]
        size, *defaults = self.formulas
        some = len({tensor.written for tensor in self.tensors}) > 1
        written = js.name() if some else "1" * first.written
        asked = []
        for n, own, default in zip(first.numbers, self.numbers, defaults, strict=True):
            name = f"{self.name}+{json.dumps(n['name'].removeprefix(first.name))}"
            asked.append(f"{js.locals[own]}={_asked(js, {**n, 'default': default}, name)}")
        given = [self.name, *[js.locals[hole] for hole in self.holes.values()], *[written] * some, *asked]
        gives = listed(js.locals[own] for own in self.numbers)
        found = [f"{self.call}=({','.join(given)})=>(m({first.arguments(js.text(size), written, self.name)}),{gives})"]
        for i, tensor in enumerate(self.tensors):
            said = [json.dumps(tensor.name), *[js.operand(formulas[i]) for formulas in self.holes]]
            names = listed(js.locals[n["name"]] for n in tensor.numbers)
            found.append(f"{names}={self.call}({listed([*said, '1' * (some and tensor.written)])[1:-1]})")
        return found

    def _own(self, tensor: _Tensor, formula: Formula) -> Formula:
        """A formula in which the numbers of a tensor have the names that they have in the function."""
        names = {n["name"]: own for n, own in zip(tensor.numbers, self.numbers, strict=True)}
        match formula:
            case (op, *parts):
                return (op, *[self._own(tensor, part) for part in parts])
            case str(name):
                return names.get(name, name)
        return formula

    def _common(self, formulas: tuple[Formula, ...]) -> Formula:
        """What formulas have in common, with a name in the place of what they do not."""
        match formulas:
            case [first, *others] if all(other == first for other in others):
                return first
            case [(op, *_), *_] if len({(f[0], len(f)) if isinstance(f, tuple) else () for f in formulas}) == 1:
                operands = zip(*[f[1:] for f in formulas if isinstance(f, tuple)], strict=True)
                return (op, *map(self._common, operands))
        if formulas not in self.holes:
            self.holes[formulas] = name = f"?{self.call}{len(self.holes)}"
            self.js.locals[name] = self.js.name()
            bounds = [least_of(formula, self.js.least) for formula in formulas]
            self.js.least |= {name: min(n for n in bounds if n is not None)} if None not in bounds else {}
        return self.holes[formulas]


@dataclass(frozen=True, slots=True)
class _PlannedLaunch:
    """A launch: which of the variant's texts, when, the grid, types and values of its parameters, what it binds."""

    text: Formula
    when: Formula
    grid: tuple[Formula, ...]
    params: tuple[tuple[str, Any], ...]
    bound: tuple[int | None, ...]

    @classmethod
    def of(cls, launch: Mapping[str, Any], used: set[int], own: Sequence[int]) -> _PlannedLaunch:
        given = launch["params"] if len(launch["buffers"]) in used else ()
        params = tuple((p["type"], formula_of(p["value"])) for p in given)
        bound = tuple(slot if at in used else None for at, slot in enumerate(launch["buffers"]))
        grid = tuple(map(formula_of, launch["grid"]))
        return cls(own.index(launch["text"]), formula_of(launch.get("when", 1)), grid, params, bound)

    def whole(self) -> list[Formula]:
        """The values of its parameters that formulas may share."""
        return [value for _, value in self.params if not isinstance(value, float)]

    def spelled(self, js: Script, order: Sequence[int]) -> str:
        """As the runtime takes it, where buffers were told in that order."""
        grid = [js.text(n) for n in self.grid]
        while grid[1:] and grid[-1] == "1":
            grid.pop()
        params = [js.parameter(kind, value) for kind, value in self.params]
        bound = ["" if slot is None else str(order.index(slot)) for slot in self.bound]
        every = bound == [str(i) for i in range(len(order))]
        # A comma after each: a list that ends with a hole is as long as one that does not, and parameters come after.
        rest = [listed(params) if params else "", "" if every else f"[{''.join(f'{one},' for one in bound)}]"]
        text = listed([js.text(self.text), listed(grid), *rest])
        return text if self.when == 1 else f"...{js.operand(self.when, 1)}?[{text}]:[]"


def _chosen(launches: list[_PlannedLaunch]) -> list[_PlannedLaunch]:
    """The same launches; two of which one happens, and which are alike, are one with choices."""
    match launches:
        case [one, other] if (
            other.when == ("==", one.when, 0)
            and one.bound == other.bound
            and [kind for kind, _ in one.params] == [kind for kind, _ in other.params]
        ):
            values = zip(one.params, other.params, strict=True)
            params = tuple((kind, _either(one.when, a, b)) for (kind, a), (_, b) in values)
            grid = tuple(_either(one.when, a, b) for a, b in zip(one.grid, other.grid, strict=True))
            return [_PlannedLaunch(_either(one.when, one.text, other.text), 1, grid, params, one.bound)]
    return launches


def _either(which: Formula, one: Any, other: Any) -> Any:
    """A formula of a choice; of a number that is divided in one case it is the divisor that is chosen."""
    match one:
        case _ if one == other:
            return one
        case ("//", divided, int(by)) if divided == other:
            return "//", other, ("?", which, by, 1)
    return "?", which, one, other
