"""Exported kernels run in Chromium as in the interpreter; so do recorded blocks; what does not fit is refused."""

import inspect
import linecache
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import transformer_block as transformer
from harness import Browser
from shares import ALL

from cutepy import gpu, local_tile, make_tensor, ops
from cutepy.errors import DeviceError
from cutepy.gpu.targets.export import TestedCall, describe_recording, module_text, page_text
from cutepy.gpu.targets.interpreter import interpret

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import example_cases

#: No browser has matrices of a subgroup; `scan` is two launches, which a recording exports. The first variant of each
#: example, and each in another type: other sizes and orders are other numbers in the same module.
CASES = [
    (name, variant)
    for name, variants in example_cases.VARIANTS.items()
    if name not in ("attention_matrices", "scan")
    for at, (variant, chosen) in enumerate(variants.items())
    if ALL or at == 0 or "dtype" in chosen or "gradient" in chosen
]


def same(mine: np.ndarray, want: np.ndarray) -> None:
    """Equal, or floats within the rounding that WGSL grants."""
    if mine.dtype.kind == "f":
        scale = np.abs(want[np.isfinite(want)]).max(initial=1)
        np.testing.assert_allclose(mine, want, rtol=2e-3 if mine.dtype == np.float16 else 1e-5, atol=4e-6 * scale)
    else:
        assert np.array_equal(mine, want)


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_every_example_runs_as_in_the_interpreter(browser: Browser, name: str, variant: str) -> None:
    example = example_cases.make(name, variant)
    kernel, args, static = example.kernel, example.arguments, example.static
    function = kernel.exported(*args, **static)
    if not {need for v in function.data["variants"] for need in v["needs"]} <= {*browser.info["features"]}:
        if all(v["needs"] for v in function.data["variants"]):
            return check_refused(browser, module_text([function]), function.name, "the device lacks shader-f16")
    call = kernel._bind(args, dict(static))
    _, numbers, _ = kernel._described(call, "annotated")
    arrays = [np.array(engine.memory) for engine in call.engines]
    wanted = [array.copy() for array in arrays]
    interpret(kernel.ir(*args, **static), wanted, call.params)
    names = [buffer["name"] for buffer in function.data["buffers"]]
    buffers, module = dict(zip(names, arrays, strict=True)), module_text([function])
    both = browser.call_by(["arrays", "buffers"], module, function.name, buffers, numbers)
    assert isinstance(both, list), both
    for out in both:
        for key, want in zip(names, wanted, strict=True):
            same(out[key], want)


def check_refused(browser: Browser, module: str, name: str, said: str) -> None:
    assert browser.call(module, name, {}) == f"{name}: {said}"


def writes(y, x, z, a):
    gpu.launch(threads=4)
    y[gpu.thread] = a * x[gpu.thread] + gpu.constant(1, "f32")


def ignores_the_last(y, x, z, a):
    writes(y, x, z, a)


def ignores_one_between(y, z, x, a):
    writes(y, x, z, a)


def ignores_two(z, y, x, w, v, a):
    writes(y, x, z, a)


def ignores_the_number(y, x, z, a):
    writes(y, x, z, 2.0)


@pytest.mark.parametrize("body", [ignores_the_last, ignores_one_between, ignores_two, ignores_the_number])
def test_what_a_text_does_not_use_is_not_bound(browser: Browser, body: Callable[..., None]) -> None:
    """A layout that is deduced from a text lacks it, and what comes after it, the parameters too, keeps its number."""
    *names, _ = inspect.signature(body).parameters
    arrays = {name: np.arange(4, dtype=np.float32) + at for at, name in enumerate(names)}
    function = gpu.kernel(body).exported(*[array.copy() for array in arrays.values()], 2.0)
    wanted, numbers = 2 * arrays["x"] + 1, {} if body is ignores_the_number else {"a": 2.0}
    both = browser.call_by(["arrays", "buffers"], module_text([function]), body.__name__, arrays, numbers)
    assert isinstance(both, list), both
    for out in both:
        assert np.array_equal(out["y"], wanted)
        assert all(np.array_equal(out[name], arrays[name]) for name in names if name not in ("x", "y") and name in out)


@gpu.kernel
def scaled(a, x, y, *, n):
    gpu.launch(grid=-(-n // 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < n:
        y[i] = a * x[i]


def test_what_does_not_fit_is_refused_before_anything_is_written(browser: Browser) -> None:
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    module = module_text([scaled.exported(2.0, x, y, n=100)])
    right = browser.call(module, "scaled", {"x": x, "y": y}, {"a": 2.0})
    assert isinstance(right, dict) and np.array_equal(right["y"], 2 * x)
    takes, longer = "Float32Array or GPUBuffer of whole 16s", np.zeros(500, np.float32)
    wrong = [
        ({"x": x}, {"a": 2.0}, f"y is undefined, it takes 400 in {takes}"),
        ({"x": x[:50], "y": y}, {"a": 2.0}, f"x is Float32Array of 200 bytes, it takes 400 in {takes}"),
        ({"x": longer, "y": longer}, {"a": 2.0}, f"x is Float32Array of 2000 bytes, it takes 400 in {takes}"),
        ({"x": x.view(np.int32), "y": y}, {"a": 2.0}, f"x is Int32Array of 400 bytes, it takes 400 in {takes}"),
        ({"x": x, "y": y}, {}, "a is undefined (undefined), it takes f32"),
        ({"x": x, "y": y}, {"a": 2.0, "n": 500}, "it takes no n"),
        ({"x": x, "y": y, "z": y}, {"a": 2.0}, "it takes no z"),
    ]
    for buffers, numbers, said in wrong:
        assert browser.call(module, "scaled", buffers, numbers) == f"scaled: {said}"
    assert browser.call(module, "other", {"x": x, "y": y}, {"a": 2.0}) == "other: this module has scaled"


def test_a_view_begins_where_it_was_exported(browser: Browser) -> None:
    memory, y = np.arange(200, dtype=np.float32), np.zeros(40, np.float32)
    function = scaled.exported(2.0, local_tile(make_tensor(memory), (40,), (1,)), y, n=40)
    assert [number["name"] for number in function.data["numbers"]] == ["a"]
    out = browser.call(module_text([function]), "scaled", {"x": memory, "y": y}, {"a": 2.0})
    assert isinstance(out, dict) and np.array_equal(out["y"], 2 * memory[40:80])


def test_several_functions_share_a_module(browser: Browser) -> None:
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    one, two = scaled.exported(2.0, x, y, n=100), scaled.exported(2.0, x, y, n=30).named("first_thirty")
    module = module_text([one, two, one.named("again")])
    assert module.count("@compute") == 2  # texts that are equal stand once
    out = browser.call(module, "first_thirty", {"x": x, "y": y}, {"a": 3.0})
    assert isinstance(out, dict) and np.array_equal(out["y"], np.where(np.arange(100) < 30, 3 * x, 0))


def test_the_script_of_the_page_of_the_docs_runs(browser: Browser) -> None:
    text = (Path(__file__).parents[2] / "docs" / "export.md").read_text()
    fences = dict(re.findall(r"```(python|js)\n(.*?)```", text, re.DOTALL)[:2])
    lines = fences["python"].replace("saxpy.export(", "saxpy.exported(")
    lines = lines.replace('"dist/saxpy.js", ', "").replace(", page=True", "")
    names: dict[str, object] = {}
    file = Path(__file__).with_name("page_of_the_docs.py")  # a kernel's text is read from where it stands
    linecache.cache[str(file)] = (len(lines), None, lines.splitlines(keepends=True), str(file))
    exec(compile(lines, str(file), "exec"), names)
    held = module_text([names["written"]])
    result = browser.script(fences["js"] + "\nexport const result = [y.length, ...new Set(y)];", held)
    assert result == [1000, 5]


def test_a_recorded_block_is_one_function_with_its_temporaries(browser: Browser) -> None:
    try:
        device = gpu.default_device()
    except DeviceError as error:
        pytest.skip(f"NOT TESTED: {error}")
    g = np.random.default_rng(0)
    hx, hw = (g.standard_normal((40, 40)).astype(np.float32) for _ in "xw")
    x, w = gpu.array(hx, device=device), gpu.array(hw, device=device)
    with gpu.record(device) as step:
        y = ops.softmax(ops.matmul(ops.exp(ops.matmul(x, w)), x), 1)
    function = describe_recording(step, "block", {"x": x, "w": w, "y": y})
    want, zeros = y.numpy(), np.zeros((40, 40), np.float32)
    other = g.standard_normal((40, 40)).astype(np.float32)
    for inputs in (hx, other):
        out = browser.call(module_text([function]), "block", {"x": inputs, "w": hw, "y": zeros})
        assert isinstance(out, dict), out
        x.engine.buffer.write(inputs)
        step.play()
        want = y.numpy()
        np.testing.assert_allclose(out["y"], want, rtol=2e-5, atol=1e-6)


def test_the_page_tests_itself_and_sees_what_is_wrong(browser: Browser, tmp_path: Path) -> None:
    x, y = np.zeros(100, np.float32), np.zeros(100, np.float32)
    written = scaled.export(tmp_path / "scaled.js", 2.0, x, y, n=100, page=True)
    assert written.page is not None
    html, module = written.page.read_text(), written.module.read_text()
    found = browser.show(html, module)
    assert found["result"] == "right" and "ms a launch" in found["text"], found
    assert browser.show(html, module.replace("params.a * x_0", "params.a + x_0"))["result"] == "wrong"
    assert browser.show(html, module.replace("@compute", "@nothing"))["result"] == "failed"


def test_a_recorded_transformer_block_runs_in_the_page_as_in_python(browser: Browser) -> None:
    try:
        device = gpu.open_device(without=["subgroups"])  # for browsers whose subgroups are smaller than those here
    except DeviceError as error:
        pytest.skip(f"NOT TESTED: {error}")
    g, rows, width = np.random.default_rng(1), 17, 64
    held, hx, hz = transformer.weights(width), *g.standard_normal((2, rows, width)).astype(np.float32)
    x, on_device = gpu.array(hx, device=device), {name: gpu.array(w, device=device) for name, w in held.items()}
    with gpu.record(device) as step:
        y = transformer.block(x, on_device)
    function = describe_recording(step, "block", {"x": x, "y": y, **on_device})
    assert any(buffer.get("temporary") for buffer in function.data["buffers"])
    assert len(function.data["variants"][0]["launches"]) >= 7
    module, wanted = module_text([function]), {}
    zeros = np.zeros((rows, width), np.float32)
    for inputs in (hx, hz):
        x.engine.buffer.write(inputs)
        step.play()
        wanted[inputs.tobytes()] = y.numpy()
        np.testing.assert_allclose(y.numpy(), transformer.expected(inputs, held), rtol=1e-4, atol=1e-5)
    calls = [{"x": inputs, "y": zeros, **held} for inputs in (hx, hz, hx[:-1])]
    *ran, refused = browser.calls(module, "block", calls)
    for call, out in zip(calls, ran, strict=False):
        assert isinstance(out, dict), out
        np.testing.assert_allclose(out["y"], wanted[call["x"].tobytes()], rtol=2e-5, atol=4e-6)
    takes = f"it takes {hx.nbytes} in Float32Array or GPUBuffer of whole 16s"
    assert refused == f"block: x is Float32Array of {hx[:-1].nbytes} bytes, {takes}"
    arrays = [calls[1][buffer["name"]] for buffer in function.data["buffers"] if not buffer.get("temporary")]
    results = [wanted[hz.tobytes()] if array is zeros else array for array in arrays]
    found = browser.show(page_text(TestedCall(function, arrays, results, {})), module)
    assert found["result"] == "right", found
