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
from harness import Browser, typed
from size_exports import CASES, EXAMPLES, Call, exported
from swiftshader import SWIFTSHADER
from test_export import same

from cutepy import Layout, gpu, make_tensor
from cutepy.errors import KernelError
from cutepy.gpu.runtime.buffer import as_bytes, from_bytes
from cutepy.gpu.targets.export import module_text

MODULES = os.environ.get("CUTEPY_NODE_MODULES", "")
HOST = Path(__file__).with_name("node_host.mjs")


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
    for name in list(CASES)[::3]:
        module, function, calls = exported(name)
        file = tmp_path / f"{len(jobs)}.mjs"
        file.write_text(module)
        for call in calls:
            made.append((name, call))
            held = {key: typed(x) for key, x in call.buffers.items()}
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
const also = async (what) => { try { await what(); } catch (error) { result.push([error.message, true]); } };
await said(right);
const wrong = [
  [{ ...right, N: 10 }],
  [{ ...right, M: 51, N: 4 }],
  [{ ...right, M: 0 }],
  [{ a: 2, M: 5 }],
  [{ ...right, N: 19.5 }],
  [{ ...right, N: "20" }],
  [{ ...right, N: 20n }],
  [{ ...right, a: "2" }],
  [{ ...right, z: 3 }],
  [{ ...right, M: 6 }],
  [{ ...right, M: 4 }],
  [{ ...right, "y.stride[0]": 16 }],
  [{ ...right, "x.offset": 4 }],
  [{ ...right, "x.stride[0]": -20 }],
  [right, { x: buffer(64) }],
  [right, { x: buffer(392) }],
  [right, { x: undefined }],
  [right, { z: new Float32Array(4) }],
  ...[Float64Array, Int32Array, Uint8Array].map((kind) => [right, { x: new kind(400 / kind.BYTES_PER_ELEMENT) }]),
  [right, { x: new Float64Array(100) }],
  [right, { x: new DataView(new ArrayBuffer(400)) }],
  [right, { x: new ArrayBuffer(400) }],
  [right, { x: Array(100).fill(1) }],
  [right, { y: buffer(416, 0x8) }],
];
for (const [numbers, change] of wrong) await said(numbers, change);
const one = new Float32Array(100);
await said(right, { x: one, y: one });
const squares = await load(device, "squares");
await said({ n: 50000 }, { x: buffer(200000), y: buffer(200000) }, squares);
await said({ n: 5000000 }, { x: buffer(20000000), y: buffer(20000000) }, await load(device, "filled"));
for (const wrong of [undefined, await navigator.gpu.requestAdapter()]) await also(() => load(wrong));
await also(() => kernel());
await also(() => kernel({ x: one, y: new Float32Array(100) }, right, device.createCommandEncoder()));
device.destroy();
await device.lost;
await said(right);
"""
FITS = """
import { load, open } from "module";
const device = await open(), kernel = await load(device, "scaled"), longer = () => new Float32Array(200).fill(1);
const x = longer(), y = longer();
await kernel({ x, y }, { a: 2, M: 5, N: 20, "x.stride[0]": 40, "y.offset": 8 });
let part = new Float32Array(200).fill(1);
await kernel({ x, y: part.subarray(50, 150) }, { a: 3, M: 5, N: 20, "x.stride[0]": 40 });
export const result = [Array.from(y), Array.from(part)];
"""


@gpu.kernel
def filled(x: "(n)", y: "(n)"):  # noqa: F821  a size is a name of the kernel's own
    gpu.launch(grid=-(-x.size // 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < x.size:
        y[i] = x[i]


def test_what_is_wrong_is_one_error_and_nothing_is_written(browser: Browser) -> None:
    some, zeros = np.zeros((5, 20), np.float32), np.zeros((5, 20), np.float32)
    nine = [np.zeros(9, np.float32) for _ in range(4)]
    module = module_text([scaled.exported(2.0, some, zeros), squares.exported(*nine[:2]), filled.exported(*nine[2:])])
    answers = browser.script(REFUSALS, module)
    assert isinstance(answers, list)
    (first, unwritten), *refused = answers
    assert (first, unwritten) == ("nothing", False)
    for shape, (text, _) in zip([(5, 10), (51, 4)], refused, strict=False):
        with pytest.raises(KernelError) as python:
            scaled.wgsl(2.0, np.zeros(shape, np.float32), np.zeros(shape, np.float32))
        assert text.startswith("scaled: '") and str(python.value).endswith(text)
    takes, usage = "Float32Array or GPUBuffer of whole 16s", refused[25][0]
    assert usage.startswith("scaled: ") and "usage" in usage
    assert [text for text, _ in refused[2:]] == [
        "scaled: M is 0 (number), it takes integers 1 to 2147418112",
        "scaled: N is undefined (undefined), it takes integers 1 to 2147418112",
        "scaled: N is 19.5 (number), it takes integers 1 to 2147418112",
        "scaled: N is 20 (string), it takes integers 1 to 2147418112",
        "scaled: N is 20 (bigint), it takes integers 1 to 2147418112",
        "scaled: a is 2 (string), it takes f32",
        "scaled: it takes no z",
        f"scaled: x is Float32Array of 400 bytes, it takes 480 in {takes}",
        f"scaled: x is Float32Array of 400 bytes, it takes 320 in {takes}",
        "scaled: y overlaps itself",
        f"scaled: x is Float32Array of 400 bytes, it takes 416 in {takes}",
        "scaled: x.stride[0] is -20 (number), it takes integers 0 to 2147418112",
        f"scaled: x is GPUBuffer of 64 bytes, it takes 400 in {takes}",
        f"scaled: x is GPUBuffer of 392 bytes, it takes 400 in {takes}",
        f"scaled: x is undefined, it takes 400 in {takes}",
        "scaled: it takes no z",
        f"scaled: x is Float64Array of 400 bytes, it takes 400 in {takes}",
        f"scaled: x is Int32Array of 400 bytes, it takes 400 in {takes}",
        f"scaled: x is Uint8Array of 400 bytes, it takes 400 in {takes}",
        f"scaled: x is Float64Array of 800 bytes, it takes 400 in {takes}",
        f"scaled: x is DataView of 400 bytes, it takes 400 in {takes}",
        f"scaled: x is ArrayBuffer of 400 bytes, it takes 400 in {takes}",
        f"scaled: x is Array of undefined bytes, it takes 400 in {takes}",
        usage,
        "scaled: x and y are one, and it is written",
        "squares: its proof asks for n*n <= 2147483647; n = 50000",
        "filled: a grid of 78125, not 1 to 65535",
        "scaled: give load a GPUDevice",
        "scaled: give load a GPUDevice",
        "scaled: M is undefined (undefined), it takes integers 1 to 2147418112",
        "scaled: x is Float32Array of 400 bytes, it takes 400 in GPUBuffer of whole 16s",
        "scaled: the device was lost: destroyed",
    ]
    assert all(unwritten for _, unwritten in refused)


def test_arrays_of_strides_that_a_call_gives_may_be_longer(browser: Browser) -> None:
    zeros = np.zeros((5, 20), np.float32)
    y, part = browser.script(FITS, module_text([scaled.exported(2.0, zeros, zeros.copy())]))  # type: ignore[misc]
    assert y == [*[1] * 8, *[2] * 100, *[1] * 92] and part == [*[1] * 50, *[3] * 100, *[1] * 50]


def test_gaps_are_those_of_known_strides_that_skip() -> None:
    x, y = np.zeros((5, 64), np.float32), np.zeros((5, 64), np.float32)
    wide = make_tensor(np.zeros(5 * 80, np.float32), Layout((5, 64), (80, 1)))
    for tensor, sizes, gaps in ((x, "(M,64):(64,1)", False), (x, "(M,N)", False), (wide, "(M,64):(80,1)", True)):
        data = copied.exported(tensor, y, sizes={"x": sizes, "y": "(M,N)"}).data
        assert [buffer.get("gaps", False) for buffer in data["buffers"]] == [gaps, False]
    long = np.zeros((5, 128), np.float32)
    data = copied.exported(long[:, ::2], y, sizes="known").data
    assert [buffer.get("gaps", False) for buffer in data["buffers"]] == [True, False]


@gpu.kernel
def copied(x, y):
    gpu.launch(grid=x.shape[0], threads=64)
    for k in gpu.loop(x.shape[1], start=gpu.thread, step=64):
        y[gpu.workgroup.x, k] = x[gpu.workgroup.x, k]


@pytest.mark.parametrize("name", [*CASES, *[f"known {name}" for name in EXAMPLES if name != "attention_matrices"]])
def test_a_module_is_small_beside_its_texts_and_comments(name: str) -> None:
    if name in CASES:
        module = exported(name)[0]
    else:
        example = EXAMPLES[name.removeprefix("known ")]()
        module = module_text([example.kernel.exported(*example.arguments, sizes="known", **example.static)])
    code = re.sub(r"^//.*\n|`(?:[^`\\]|\\.)*`[,;]\n", "", module, flags=re.MULTILINE)
    assert "@compute" not in code and "export async function load(" in code
    assert len(code.encode()) <= 3072


#: The examples that are exported for known sizes alone.
REFUSED = {
    "convolution": "of nested modes",
    "scan": "not proven to stay inside its tensors",
    "int4_matvec": "several elements in a word",
    "fft": "several elements in a word",
    "attention_matrices": "a tiler is a layout, an integer",
    "decode": "the sides of the conditional expression are a KernelSize",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_exported_for_unknown_sizes_or_says_why_not(name: str) -> None:
    if any(case.partition(" ")[0] == name for case in CASES):
        return
    example = EXAMPLES[name]()
    with pytest.raises(KernelError, match=re.escape(REFUSED[name])) as found:
        example.kernel.exported(*example.arguments, sizes="unknown", **example.static)
    assert "sizes='known' exports it for these alone" in str(found.value)
