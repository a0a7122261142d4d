"""The description of an exported kernel: its schema, its texts, its files; and programs that type-check against it."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.export import description_text, export, module_text
from cutepy.gpu.export.es_module import runtime_text, source_hash, to_js

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
    "row_sums": lambda: row_sums.exported(np.zeros((5, 64), F), np.zeros(5, F)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_description_follows_the_schema(name: str) -> None:
    function = KERNELS[name]()
    held = json.loads(description_text([function]))
    jsonschema.validate(held, SCHEMA)
    (described,) = held["functions"]
    assert [v["launches"][0]["entry"] for v in described["variants"]] == [name] * len(described["variants"])
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
    assert len(runtime_text()) < 3500


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
    assert to_js(["ceildiv", ["*", "M", "N"], 256]) == "Math.ceil((s.M * s.N) / 256)"
    assert to_js(["mod", ["-", "n", 1], 4]) == "((s.n - 1) % 4)"
    assert to_js(["max", 0, "not a name"]) == 'Math.max(0, s["not a name"])'


def test_a_text_of_javascript_ends_nothing() -> None:
    @gpu.kernel
    def odd(x, *, note):
        gpu.launch(threads=4)
        x[gpu.thread] = 1.0

    function = odd.exported(np.zeros(4, F), note="`; alert(1); ${x} \\`")
    text = module_text([function])
    assert text.count("`") - text.count("\\`") == 2 + runtime_text().count("`")
