"""Calls of exported kernels for hosts that read descriptions: numbers, arrays, and what the interpreter gives."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from size_exports import CASES
from test_export import same

from cutepy.gpu.runtime.formulas import Formula, evaluate
from cutepy.gpu.targets.export import description_text
from cutepy.gpu.targets.interpreter import interpret

__all__ = ["Case", "planned", "same", "sized"]


@dataclass(frozen=True)
class Case:
    """One call of a function, which all calls of a name share."""

    name: str
    description: str
    numbers: dict[str, float]
    buffers: dict[str, np.ndarray]
    wanted: dict[str, np.ndarray]

    def changed(self, numbers: Mapping[str, float]) -> "Case":
        """The same call with some other numbers."""
        return replace(self, numbers={**self.numbers, **numbers})


def sized(name: str, rounds: int, *, computed: bool = True) -> Iterator[Case]:
    """Calls at random sizes; with what is wanted of each, unless nothing is to be `computed`."""
    case, random, function = CASES[name], np.random.default_rng(len(name) + 7), None
    for _ in range(rounds):
        kernel, arguments, static = case.call(**{n: int(random.integers(*ends)) for n, ends in case.ranges.items()})
        function = function or kernel.exported(*arguments, sizes=case.sizes, **static)
        call = kernel._bind(tuple(arguments), dict(static))
        _, numbers, _ = kernel._described(call, case.sizes)
        names = [buffer["name"] for buffer in function.data["buffers"]]
        arrays = [np.array(engine.memory) for engine in call.engines]
        before = [array.copy() for array in arrays]
        if computed:
            interpret(kernel._form(call).kernel, arrays, call.params)
        held = [dict(zip(names, some, strict=True)) for some in (before, arrays)]
        yield Case(function.name, description_text([function]), numbers, *held)


def planned(function: dict, numbers: dict[str, float]) -> list[object]:
    """What a host plans of a description, by `evaluate`, for the first variant: the bytes of buffers, and launches."""
    values: dict[str, float] = {}
    for number in function["numbers"]:
        name, default = number["name"], number.get("default")
        values[name] = numbers[name] if name in numbers else evaluate(_tuples(default), values)  # type: ignore[arg-type]
    ints = {name: n for name, n in values.items() if isinstance(n, int)}

    def number_of(formula: object) -> int:
        return evaluate(_tuples(formula), ints)

    def word(param: dict) -> int:
        if param["type"][0] == "f":
            value = values[param["value"]] if isinstance(param["value"], str) else param["value"]
            return int(struct.unpack("<I", struct.pack("<f", value))[0])
        return number_of(param["value"]) & 0xFFFFFFFF

    launches = [
        [
            launch["text"], launch["entry"], [number_of(n) for n in launch["grid"]],
            [word(p) for p in launch["params"]], launch["buffers"], launch["access"],
        ]
        for launch in function["variants"][0]["launches"]
        if number_of(launch.get("when", 1))
    ]  # fmt: skip
    return [[number_of(buffer["bytes"]) for buffer in function["buffers"]], launches]


def _tuples(formula: object) -> Formula:
    return tuple(map(_tuples, formula)) if isinstance(formula, list) else formula  # type: ignore[return-value]
