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
from shares import tries

from cutepy import gpu
from cutepy.errors import KernelError, VerificationError
from cutepy.gpu.runtime.formulas import Formula, evaluate, least_of, simplified
from cutepy.gpu.targets.export import description_text, export, module_text
from cutepy.gpu.targets.export.es_module import runtime_text, source_hash
from cutepy.gpu.targets.export.javascript import Script, helpers

FOLDER = Path(gpu.__file__).parent / "targets" / "export"
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
    assert f"runtime.js {source_hash()}, minified by terser@" in first, "run tools/minify.py"
    assert len(runtime_text()) < 2500


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
    with pytest.raises(KernelError, match="scaled, 2; give functions of different names, no numbers"):
        export(tmp_path / "numbered.js", one, one.named("2"))
    with pytest.raises(KernelError, match="no function"):
        export(tmp_path / "none.js")


@gpu.kernel
def raced(x, y):
    gpu.launch(grid=2, threads=64)
    y[0] = x[gpu.thread]


@gpu.kernel
def outside(x, y):
    gpu.launch(grid=2, threads=64)
    y[gpu.workgroup.x * 64 + gpu.thread] = x[gpu.thread]


@gpu.kernel
def gathered(x, at, y):
    gpu.launch(threads=64)
    y[gpu.thread] = x[at[gpu.thread]]


def test_a_refuted_kernel_is_exported_only_where_that_is_said(tmp_path: Path) -> None:
    x, path = np.zeros(100, F), tmp_path / "k.js"
    for kernel, said in ((raced, "no races y"), (outside, "in bounds y")):
        name = kernel.function.__name__
        for call in (lambda k=kernel: k.export(path, x, x.copy()), lambda k=kernel: k.exported(x, x.copy())):
            with pytest.raises(VerificationError, match=f"^{name} is not exported: refuted +{said}.*refuted=True"):
                call()
        assert not path.exists()
        kernel.export(path, x, x.copy(), refuted=True)
        assert f"refuted    {said}" in path.read_text()
        path.unlink()
    with pytest.warns(UserWarning, match="gathered is exported, and not proven: undecided +in bounds x.*gpu.assume"):
        gathered.export(path, x, np.zeros(64, np.uint32), np.zeros(64, F))
    assert path.exists()


def test_a_tensor_of_which_no_sizes_are_said_is_named() -> None:
    x = np.zeros(100, F)
    with pytest.raises(
        KernelError, match=r"say the sizes of y too, by an annotation or sizes=\{'y': '\(N\)'\}, or sizes="
    ):
        scaled.exported(2.0, x, x.copy(), sizes={"x": "(N)"})
    assert scaled.exported(2.0, x, x.copy(), sizes={"x": "(N)", "y": "(N)"}).data["numbers"]


def test_files_stand_beside_each_other(tmp_path: Path) -> None:
    written = scaled.export(tmp_path / "dist" / "scaled.mjs", 2.0, np.zeros(10, F), np.zeros(10, F))
    assert written.module.name == "scaled.mjs" and written.page is None
    assert json.loads(written.description.read_text())["functions"][0]["name"] == "scaled"
    assert "x: GPUBuffer | Float32Array;" in written.types.read_text()
    assert "proven     in bounds" in written.module.read_text().partition("const F")[0]


def test_expressions_become_javascript() -> None:
    js = Script({"M": 1, "n": 0, "i": -9, "not a name": 0})
    for formula, text in (
        (("//", ("+", ("*", "M", "n"), 255), 256), "(a*b+255n)/256n"),
        (("%", ("+", "n", -1), 4), "floorModulo(b-1n,4n)"),
        (("//", "i", 4), "floorDivide(c,4n)"),
        (("*", ("+", "n", -1), "not a name"), "(b-1n)*d"),
        (("==", ("and", ("<=", 0, "n"), ("==", "n", "M")), 0), "!(0n<=b&&b==a)"),
        (("and", ("==", ("%", "n", 4), 0), ("==", ("%", "i", 4), 0), ("<=", "n", 9)), "(b|c)%4n==0n&&b<=9n"),
    ):
        assert js.text(formula) == text
    assert list(js.sharing([("+", ("*", "M", "n"), 1), ("//", ("*", "M", "n"), 4)])) == ["e=a*b"]
    assert js.text(("+", ("*", "M", "n"), 1)) == "e+1n"


_LEAVES = st.one_of(st.integers(-(2**70), 2**70), st.sampled_from(["a", "b", "size"]))
_INTEGERS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+*"), inner, inner, inner),
        st.tuples(st.sampled_from(["//", "%"]), inner, st.one_of(st.integers(-9, -1), st.integers(1, 1 << 40))),
    ),
    max_leaves=12,
)
_TRUTHS = st.recursive(
    st.one_of(
        st.tuples(st.sampled_from(["==", "<="]), _INTEGERS, _INTEGERS),
        st.tuples(st.just("=="), st.tuples(st.just("%"), _INTEGERS, st.sampled_from([1, 4, 6, 8])), st.just(0)),
    ),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), inner, inner, inner), st.tuples(st.just("=="), inner, st.just(0))
    ),
    max_leaves=6,
)


@pytest.mark.skipif(not shutil.which("node"), reason="NOT TESTED: no node to run JavaScript")
def test_javascript_computes_what_python_does() -> None:
    found: list[tuple[Formula, dict[str, int]]] = []

    @settings(tries(300), database=None)
    @given(st.one_of(_INTEGERS, _TRUTHS), st.integers(-(2**31), 2**31), st.integers(-9, 9), st.integers(0, 99))
    def collect(formula: Formula, a: int, b: int, size: int) -> None:
        found.append((formula, {"a": a, "b": b, "size": size}))

    collect()
    lines = []
    for formula, v in found:
        js = Script({"a": -(2**31), "b": -9, "size": 0})
        shared = "".join(f",{text}" for text in js.sharing([formula, ("+", formula, "a")]))
        call = ",".join(f"{n}n" for n in v.values())
        lines.append(f"console.log(String(BigInt(((a,b,c{shared})=>{js.text(formula)})({call}))))")
    ran = subprocess.run(
        ["node", "-"], input=helpers() + "\n".join(lines), capture_output=True, text=True, check=True, timeout=100
    )
    assert [int(line) for line in ran.stdout.split()] == [evaluate(formula, values) for formula, values in found]


@tries(400)
@given(st.one_of(_INTEGERS, _TRUTHS), st.integers(-(2**31), 2**31), st.integers(-9, 9), st.integers(0, 99))
def test_a_simplified_formula_is_equal_and_what_is_least_is(formula: Formula, a: int, b: int, size: int) -> None:
    values, least = {"a": a, "b": b, "size": size}, {"a": -(2**31), "b": -9, "size": 0}
    value, simple = evaluate(formula, values), simplified(formula)
    assert evaluate(simple, values) == value
    assert simplified(simple) == simple
    bound = least_of(formula, least)
    assert bound is None or bound <= value


def test_a_text_of_javascript_ends_nothing() -> None:
    @gpu.kernel
    def odd(x, *, note):
        gpu.launch(threads=4)
        x[gpu.thread] = 1.0

    function = odd.exported(np.zeros(4, F), note="`; alert(1); ${x} \\`")
    text = module_text([function])
    assert text.count("`") - text.count("\\`") == 2 + runtime_text().count("`")
