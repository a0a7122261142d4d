"""The description of an exported kernel: its schema, its texts, its files; and programs that type-check against it."""

import json
import shutil
import subprocess
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.export import description_text, export, module_text
from cutepy.gpu.export.es_module import HELPERS, runtime_text, source_hash, to_js
from cutepy.gpu.runtime.formulas import Formula, evaluate

FOLDER = Path(gpu.__file__).parent / "export"
SCHEMA = json.loads((FOLDER / "schema.json").read_text())


@gpu.kernel
def scaled(a, x, y):
    gpu.launch(grid=-(-x.size // 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < x.size:
        y[i] = a * x[i]


@gpu.kernel
def row_sums(x, y):
    gpu.launch(grid=x.shape[0], threads=64)
    total = gpu.workgroup_reduce(x[gpu.workgroup.x, gpu.thread])
    if gpu.thread == 0:
        y[gpu.workgroup.x] = total


F = np.float32
KERNELS = {
    "scaled": lambda: scaled.exported(2.0, np.zeros(100, F), np.zeros(100, F)),
    "row_sums_of_sizes": lambda: row_sums.exported(
        np.zeros((5, 64), F), np.zeros(5, F), sizes={"x": "(M,64)", "y": "(M)"}
    ),
    "row_sums": lambda: row_sums.exported(np.zeros((5, 64), F), np.zeros(5, F)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_description_follows_the_schema(name: str) -> None:
    function = KERNELS[name]()
    held = json.loads(description_text([function]))
    jsonschema.validate(held, SCHEMA)
    (described,) = held["functions"]
    assert [v["launches"][0]["entry"] for v in described["variants"]] == [name.removesuffix("_of_sizes")] * len(
        described["variants"]
    )
    del described["variants"][0]["launches"][0]["grid"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(held, SCHEMA)


def test_subgroups_are_a_variant_of_their_own() -> None:
    first, second = row_sums.exported(np.zeros((5, 64), F), np.zeros(5, F)).data["variants"]
    assert (first["needs"], second["needs"]) == (["subgroups"], [])
    assert first["launches"][0]["text"] != second["launches"][0]["text"]
    assert len(scaled.exported(2.0, np.zeros(9, F), np.zeros(9, F)).data["variants"]) == 1


def test_the_runtime_is_the_minified_source_and_small() -> None:
    first = (FOLDER / "runtime.min.js").read_text().splitlines()[0]
    assert f"runtime.js {source_hash()}, minified by esbuild@" in first, "run tools/minify.py"
    assert len(runtime_text()) < 3200


def test_numbers_and_views_of_one_memory_are_described() -> None:
    memory = np.zeros((8, 8), F)
    function = scaled.exported(np.float32(2), memory[0], memory[0])
    assert [(b["name"], b["written"], [t["name"] for t in b["tensors"]]) for b in function.data["buffers"]] == [
        ("x", True, ["x", "y"])
    ]
    assert function.data["numbers"] == [{"name": "a", "type": "f32"}]


def test_wrong_calls_are_refused(tmp_path: Path) -> None:
    x, one = np.zeros(100, F), KERNELS["scaled"]()
    with pytest.raises(KernelError, match=r"ends in .js or .mjs; write .*scaled.js"):
        scaled.export(tmp_path / "scaled.txt", 2.0, x, x.copy())
    with pytest.raises(KernelError, match="functions of different names"):
        export(tmp_path / "two.js", one, one)
    with pytest.raises(KernelError, match="no function"):
        export(tmp_path / "none.js")


def test_files_stand_beside_each_other(tmp_path: Path) -> None:
    written = scaled.export(tmp_path / "dist" / "scaled.mjs", 2.0, np.zeros(10, F), np.zeros(10, F))
    assert written.module.name == "scaled.mjs" and written.page is None
    assert json.loads(written.description.read_text())["functions"][0]["name"] == "scaled"
    assert "x: GPUBuffer | Float32Array;" in written.types.read_text()
    assert "proven     in bounds" in written.module.read_text().partition("const texts")[0]


def test_expressions_become_javascript() -> None:
    assert to_js(["//", ["+", ["*", "M", "N"], 255], 256]) == "floorDivide(s.M*s.N+255n,256n)"
    assert to_js(["%", ["+", "n", -1], 4]) == "floorModulo(s.n-1n,4n)"
    assert to_js(["*", ["+", "n", -1], "not a name"]) == '(s.n-1n)*s["not a name"]'
    assert to_js(["==", ["and", ["<=", 0, "n"], ["==", "n", "m"]], 0]) == "(0n<=s.n&&s.n==s.m)==0n"


_LEAVES = st.one_of(st.integers(-(2**70), 2**70), st.sampled_from(["a", "b"]))
_INTEGERS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+*"), inner, inner, inner),
        st.tuples(st.sampled_from(["//", "%"]), inner, st.one_of(st.integers(-9, -1), st.integers(1, 1 << 40))),
    ),
    max_leaves=12,
)


@pytest.mark.skipif(not shutil.which("node"), reason="NOT TESTED: no node to run JavaScript")
def test_javascript_computes_what_python_does() -> None:
    found: list[tuple[Formula, dict[str, int]]] = []

    @settings(max_examples=300, database=None, deadline=None)
    @given(_INTEGERS, st.integers(-(2**31), 2**31), st.integers(-9, 9))
    def collect(formula: Formula, a: int, b: int) -> None:
        found.append((formula, {"a": a, "b": b}))

    collect()
    lines = [f"console.log(String(BigInt((s=>{to_js(formula)})({{a:{v['a']}n,b:{v['b']}n}}))))" for formula, v in found]
    ran = subprocess.run(
        ["node", "-"], input=HELPERS + "\n".join(lines), capture_output=True, text=True, check=True, timeout=100
    )
    assert [int(line) for line in ran.stdout.split()] == [evaluate(formula, values) for formula, values in found]


def test_a_text_of_javascript_ends_nothing() -> None:
    @gpu.kernel
    def odd(x, *, note):
        gpu.launch(threads=4)
        x[gpu.thread] = 1.0

    function = odd.exported(np.zeros(4, F), note="`; alert(1); ${x} \\`")
    text = module_text([function])
    assert text.count("`") - text.count("\\`") == 2 + runtime_text().count("`")
