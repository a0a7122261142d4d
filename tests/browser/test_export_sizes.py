"""Kernels exported for unknown sizes run at random sizes as in the interpreter, in Chromium and under Node, from one
module each; what does not fit is refused with the words that Python has, and nothing is written."""

import base64
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from harness import Browser
from size_exports import CASES, EXAMPLES, Call, exported
from swiftshader import SWIFTSHADER
from test_export import same

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.export import module_text
from cutepy.gpu.runtime.buffer import as_bytes, from_bytes

MODULES = os.environ.get("CUTEPY_NODE_MODULES", "")
HOST = Path(__file__).with_name("node_host.mjs")


def encoded(array: np.ndarray) -> str:
    return base64.b64encode(as_bytes(array).tobytes()).decode()


def check(call: Call, out: dict[str, str]) -> None:
    for key, want in call.wanted.items():
        stored = np.frombuffer(base64.b64decode(out[key]), np.uint8)[: as_bytes(want).size]
        same(from_bytes(stored.copy(), want.dtype).reshape(want.shape), want)


@pytest.mark.parametrize("name", CASES)
def test_a_module_serves_all_sizes_in_a_browser(browser: Browser, name: str) -> None:
    module, function, made = exported(name)
    calls = list(made)
    if "enable f16" in module and "shader-f16" not in browser.info["features"]:
        pytest.skip("NOT TESTED: the browser's device lacks shader-f16")
    answers = browser.calls(module, function, [call.buffers for call in calls], [call.numbers for call in calls])
    for call, answer in zip(calls, answers, strict=True):
        assert isinstance(answer, dict), answer
        for key, want in call.wanted.items():
            same(answer[key], want)


@pytest.mark.skipif(not MODULES, reason="NOT TESTED: CUTEPY_NODE_MODULES names no folder with webgpu")
def test_a_module_serves_all_sizes_under_node(tmp_path: Path) -> None:
    jobs: list[dict[str, object]] = []
    made: list[tuple[str, Call]] = []
    for name in CASES:
        module, function, calls = exported(name)
        file = tmp_path / f"{len(jobs)}.mjs"
        file.write_text(module)
        for call in calls:
            made.append((name, call))
            held = {key: encoded(x) for key, x in call.buffers.items()}
            jobs.append({"module": str(file), "name": function, "buffers": held, "numbers": call.numbers})
    environment = os.environ | {"VK_DRIVER_FILES": str(SWIFTSHADER)}
    lines = "\n".join(map(json.dumps, jobs))
    ran = subprocess.run(["node", HOST], input=lines, env=environment, capture_output=True, text=True, timeout=500)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(answers) == len(jobs), ran.stderr[-1000:]
    lacks = [answer for answer in answers if answer.get("refused", "").endswith("the device lacks shader-f16")]
    assert len(lacks) <= sum(name.endswith("f16") for name, _ in made)
    for (name, call), answer in zip(made, answers, strict=True):
        if answer not in lacks:
            assert "out" in answer, (name, call.numbers, answer)
            check(call, answer["out"])


@gpu.kernel(given=["4 divides N", "M <= 50"])
def scaled(a, x: "(M,N)", y: "(M,N)"):  # noqa: F821  sizes are names of the kernel's own
    gpu.launch(grid=(x.shape[0], -(-x.shape[1] // 64)), threads=64)
    i = gpu.workgroup.y * 64 + gpu.thread
    if i < x.shape[1]:
        y[gpu.workgroup.x, i] = a * x[gpu.workgroup.x, i]


@gpu.kernel
def squares(x: "(n)", y: "(n)"):  # noqa: F821  a size is a name of the kernel's own
    gpu.launch(grid=-(-x.size // 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < x.size:
        y[i] = x[i] + gpu.cast(gpu.minimum(i, x.size * x.size), "f32")


REFUSALS = """
import { load, open } from "module";
const device = await open(), kernel = await load(device, "scaled");
const buffer = (size, usage = 0x8c) => device.createBuffer({ size, usage });
const filled = () => [new Float32Array(100).fill(1), new Float32Array(100).fill(7)];
export const result = [];
const said = async (numbers, change = {}, on = kernel) => {
  const [x, y] = filled(), given = { x, y, ...change };
  let text = "nothing";
  try { await on(given, numbers); } catch (error) { text = error.message; }
  result.push([text, y.every((v) => v === 7)]);
};
const right = { a: 2, M: 5, N: 20 };
await said(right);
await said({ ...right, N: 10 });
await said({ ...right, M: 51, N: 4 });
await said({ ...right, M: 0 });
await said({ a: 2, M: 5 });
await said({ ...right, N: 19.5 });
await said({ ...right, M: 6 });
await said({ ...right, "y.stride[0]": 16 });
await said({ ...right, "x.offset": 4 });
await said({ ...right, "x.stride[0]": -20 });
await said(right, { x: buffer(64) });
await said(right, { y: buffer(400, 0x8) });
const one = new Float32Array(100);
await said(right, { x: one, y: one });
const squares = await load(device, "squares");
await said({ n: 50000 }, { x: buffer(200000), y: buffer(200000) }, squares);
device.destroy();
await device.lost;
await said(right);
"""


def test_what_is_wrong_is_one_error_and_nothing_is_written(browser: Browser) -> None:
    some, zeros = np.zeros((5, 20), np.float32), np.zeros((5, 20), np.float32)
    module = module_text(
        [scaled.exported(2.0, some, zeros), squares.exported(np.zeros(9, np.float32), np.zeros(9, np.float32))]
    )
    answers = browser.script(REFUSALS, module)
    assert isinstance(answers, list)
    (first, unwritten), *refused = answers
    assert (first, unwritten) == ("nothing", False)
    for shape, (text, _) in zip([(5, 10), (51, 4)], refused, strict=False):
        with pytest.raises(KernelError) as python:
            scaled.wgsl(2.0, np.zeros(shape, np.float32), np.zeros(shape, np.float32))
        assert text.startswith("scaled: '") and str(python.value).endswith(text)
    assert [text for text, _ in refused[2:-1]] == [
        "scaled: M is 0, it takes integers from 1 to 2147483647",
        "scaled: N is undefined, it takes integers from 1 to 2147483647",
        "scaled: N is 19.5, it takes integers from 1 to 2147483647",
        "scaled: x has 400 bytes, it needs 480",
        "scaled: two coordinates of y are one element, and it is written",
        "scaled: x has 400 bytes, it needs 416",
        "scaled: x.stride[0] is -20, it takes integers from 0 to 2147483647",
        "scaled: x has 64 bytes, it needs 400",
        refused[10][0],
        "scaled: x and y are one, and it is written",
        "squares: its proof asks for n*n <= 2147483647; n = 50000",
    ]
    assert refused[10][0].startswith("scaled: ") and "usage" in refused[10][0]
    assert refused[-1][0] == "scaled: the device was lost: destroyed"
    assert all(unwritten for _, unwritten in refused)


#: What is larger than 3 KB beside its texts: four tensors with strides and offsets of their own.
LARGER = {"attention": 3600, "matmul": 3400}


@pytest.mark.parametrize("name", [*CASES, *[f"known {name}" for name in EXAMPLES if name != "attention_matrices"]])
def test_a_module_is_small_beside_its_texts_and_comments(name: str) -> None:
    if name in CASES:
        module = exported(name)[0]
    else:
        example = EXAMPLES[name.removeprefix("known ")]()
        module = module_text([example.kernel.exported(*example.arguments, sizes="known", **example.static)])
    code = re.sub(r"^//.*\n|`(?:[^`\\]|\\.)*`,\n", "", module, flags=re.MULTILINE)
    assert "@compute" not in code and "export{" in code
    assert len(code.encode()) <= LARGER.get(name, 3072)


#: The examples that are exported for known sizes alone.
REFUSED = {
    "convolution": "of nested modes",
    "scan": "not proven to stay inside its tensors",
    "int4_matvec": "several elements in a word",
    "fft": "several elements in a word",
    "attention_matrices": "a tiler is a layout, an integer",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_exported_for_unknown_sizes_or_says_why_not(name: str) -> None:
    if any(case.partition(" ")[0] == name for case in CASES):
        return
    example = EXAMPLES[name]()
    with pytest.raises(KernelError, match=re.escape(REFUSED[name])) as found:
        example.kernel.exported(*example.arguments, sizes="unknown", **example.static)
    assert "sizes='known' exports it for these alone" in str(found.value)
