"""Calls of exported kernels for hosts that read descriptions: numbers, arrays, and what the interpreter gives."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from size_exports import CASES
from test_export import same

from cutepy.gpu.export import description_text
from cutepy.gpu.targets.interpreter import interpret

__all__ = ["Case", "same", "sized"]


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


def sized(name: str, rounds: int) -> Iterator[Case]:
    """Calls at random sizes."""
    case, random, function = CASES[name], np.random.default_rng(len(name) + 7), None
    for _ in range(rounds):
        kernel, arguments, static = case.call(**{n: int(random.integers(*ends)) for n, ends in case.ranges.items()})
        function = function or kernel.exported(*arguments, sizes=case.sizes, **static)
        call = kernel._bind(tuple(arguments), dict(static))
        _, numbers = kernel._exported(call, case.sizes)
        names = [buffer["name"] for buffer in function.data["buffers"]]
        arrays = [np.array(engine.memory) for engine in call.engines]
        before = [array.copy() for array in arrays]
        interpret(kernel._form(call).kernel, arrays, call.params)
        held = [dict(zip(names, some, strict=True)) for some in (before, arrays)]
        yield Case(function.name, description_text([function]), numbers, *held)
