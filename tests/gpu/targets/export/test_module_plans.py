"""The plan of a module is what the formulas of the description give: Node computes one, Python the other."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from host_cases import planned, sized
from size_exports import CASES

from cutepy import gpu
from cutepy.gpu.targets.export import ExportedFunction, module_text
from cutepy.gpu.targets.export.plans import MOST
from cutepy.gpu.trace.sizes import LARGEST_EXTENT

RUNTIME = Path(gpu.__file__).parent / "targets" / "export" / "runtime.js"

#: Asks the first plan of a module as the runtime does, without a device.
ASKED = """
for (const given of CALLS) {
  const told = [], n = (name, least, otherwise) => isNaN(least) ? given[name] : BigInt(given[name] ?? otherwise);
  const [why, launches] = Object.values(F)[0][0][0](n, (...memory) => told.push(memory));
  const memories = Object.fromEntries(told.map(([name, bytes, written = 0]) => [name, [Number(bytes), !!written]]));
  console.log(JSON.stringify([why, memories, launches.map(([text, grid, params = [], bound = told.keys()]) => [
    Number(text), [...grid.map(Number), 1, 1].slice(0, 3), Array.from(Uint32Array.from(params, Number)),
    Array.from(bound, (at) => told[at]?.[0]),
  ])]));
}
"""


def test_the_most_that_the_runtime_takes_is_that_of_sizes() -> None:
    assert MOST == LARGEST_EXTENT and f"most = {MOST}," in RUNTIME.read_text()


def check(data: dict, texts: tuple[str, ...], calls: list[dict[str, float]]) -> None:
    """The first plan of a module gives for these calls what the description does."""
    module = module_text([ExportedFunction(data, texts)])
    lists = module[: module.index("export async function load(")]
    script = lists + ASKED.replace("CALLS", json.dumps(calls))
    ran = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, check=True, timeout=100)
    names = [buffer["name"] for buffer in data["buffers"]]
    for numbers, line in zip(calls, ran.stdout.splitlines(), strict=True):
        why, memories, launches = json.loads(line)
        sizes, wanted = planned(data, numbers)
        assert why == 0
        assert memories == {b["name"]: [size, b["written"]] for b, size in zip(data["buffers"], sizes, strict=True)}
        assert len(launches) == len(wanted)
        for (text, grid, params, bound), (number, _, extents, words, slots, _) in zip(launches, wanted, strict=True):
            assert (text, grid) == (number, extents)
            assert params == (words if params else [])
            assert all(name in (None, names[slot]) for name, slot in zip(bound, slots, strict=False))


@pytest.mark.skipif(not shutil.which("node"), reason="NOT TESTED: no node to run JavaScript")
@pytest.mark.parametrize("name", CASES)
def test_a_plan_computes_what_the_description_says(name: str) -> None:
    cases = list(sized(name, 8, computed=False))
    held = json.loads(cases[0].description)
    (data,) = held["functions"]
    # What a case says, what a call leaves out, and other strides and offsets.
    calls = [case.numbers for case in cases]
    calls += [{key: n for key, n in call.items() if "." not in key} for call in calls]
    calls += [
        {key: n if "." not in key else n * 3 + key.endswith("offset") for key, n in call.items()}
        for call in calls[: len(cases)]
    ]
    check(data, tuple(held["texts"]), calls)


@gpu.kernel
def doubled(x: "(M,N)", y: "(M,N)", z: "(M,N)", more):  # noqa: F821  sizes are names of the kernel's own
    gpu.launch(grid=x.shape[0], threads=64)
    for k in gpu.loop(x.shape[1], start=gpu.thread, step=64):
        y[gpu.workgroup.x, k] = x[gpu.workgroup.x, k] + more
        z[gpu.workgroup.x, k] = x[gpu.workgroup.x, k] * 2.0


@pytest.mark.skipif(not shutil.which("node"), reason="NOT TESTED: no node to run JavaScript")
def test_tensors_that_are_all_written_and_launches_that_are_not_alike() -> None:
    arrays = [np.zeros((8, 12), np.float32) for _ in "xyz"]
    one = doubled.exported(*arrays, 2.0)
    calls = [{"M": m, "N": n, "more": 2.5} for m, n in ((3, 8), (5, 9), (1, 1))]
    check(one.data, one.texts, calls)
    # Of two launches the second has a parameter less, and the third always comes.
    (variant,) = one.data["variants"]
    launch, rest = variant["launches"][0], {key: n for key, n in variant.items() if key != "launches"}
    even = ["==", ["%", "N", 4], 0]
    some = [
        launch | {"when": even},
        launch | {"when": ["==", even, 0], "params": launch["params"][:-1]},
        launch | {"grid": ["N", ["+", "M", 1], 1]},
    ]
    check(one.data | {"variants": [rest | {"launches": some}]}, one.texts, calls)
