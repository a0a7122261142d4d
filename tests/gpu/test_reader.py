"""Shaders are read as WGSL means them: cutepy's own texts give their kernels' verdicts and values, others' those of
WGSL's rules."""

from __future__ import annotations

import numpy as np
import pytest
import traced
from ported import Port, all_ports, bound_as, outcome
from reader_cases import HUNDRED, SHADERS, Shader, body

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.ir import new_arena
from cutepy.gpu.reader import Bindings, read_shader, verify_shader
from cutepy.gpu.reader.syntax import parse
from cutepy.gpu.targets.interpreter import interpret

#: Every so many-th port is read back here; `tools/suites.py --read` reads all.
PART = 9


@pytest.mark.parametrize("shader", SHADERS, ids=lambda shader: shader.name)
def test_a_shader_gets_the_verdict_of_wgsls_rules(shader: Shader) -> None:
    found = verify_shader(shader.text, shader.given, prover="auto")
    assert outcome(found) == shader.verdict, found


@pytest.mark.parametrize("port", all_ports()[::PART], ids=lambda port: port.source)
def test_a_text_read_back_gets_the_verdict_of_its_kernel(port: Port) -> None:
    ours, theirs = port.read_back
    assert theirs == ours


@pytest.mark.parametrize("name", traced.cases())
def test_a_text_read_back_computes_what_its_kernel_computes(name: str) -> None:
    case = traced.cases()[name]()
    kernel, text = (make(*case.arguments, **case.static) for make in (case.kernel.ir, case.kernel.wgsl))
    g = np.random.default_rng(1)
    arrays = [(9 * g.random(b.length)).astype(b.dtype.numpy) for b in kernel.buffers]
    last = max(b.length for b in kernel.buffers) - 1  # an offset of a view that goes backwards
    params = {p.name: last if p.dtype.kind in "iu" else float(g.random()) for p in kernel.params}
    results = []
    with new_arena():
        read = read_shader(text, bound_as(kernel, text))
        for each, prefix in (kernel, ""), (read, "params_"):
            copies = [array.copy() for array in arrays]
            interpret(each, copies, {prefix + key: value for key, value in params.items()})
            results.append(copies)
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fn f( {", "line 1: '{' stands where a name must be"),
        ("\n\n/* no end", "line 3: a comment has no end"),
        ("const a = 1\nconst b = 2;", "line 2: 'const' stands where ';' must be"),
        ("const a = `1`;", "is no WGSL"),
        ("fn f() { 3 = ; }", "stands where a value must be"),
    ],
)
def test_what_is_no_wgsl_is_refused_with_its_line(text: str, words: str) -> None:
    with pytest.raises(KernelError, match=words.replace("{", r"\{")):
        parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fn main() {}", "there are none"),
        ("@compute @workgroup_size(1) fn a() {} @compute @workgroup_size(1) fn b() {}", "there are a, b"),
        ("@compute @workgroup_size(1) fn a() { y = 1; }", "line 1: y has no meaning here"),
        (
            "@group(0) @binding(0) var<storage, read_write> y: array<f32>;"
            "\n@compute @workgroup_size(1) fn a() { y[0] = 1; }",
            "--bind y=f32",
        ),
        (
            "@group(0) @binding(0) var<storage> t: ray_query;\n@compute @workgroup_size(1) fn a() { let v = t; }",
            "line 1: the type ray_query is not read",
        ),
    ],
)
def test_what_is_not_read_is_refused_with_its_line(text: str, words: str) -> None:
    with pytest.raises(KernelError, match=words):
        verify_shader(text)


def test_templates_signs_and_numbers_are_read_as_the_grammar_has_them() -> None:
    text = """
    var<private> a: array<vec2<f32>,2>; // >> closes two lists
    const b: array<array<u32,2>,3>=array<array<u32,2>,3>();
    const c = 1 << 2 | 0x1F & ~3;
    const d = (1 < 2) == true;
    const e = - -3;
    /* a /* nested */ comment */
    const f = .5e1f + 0x1p3 + 7h;
    """
    assert [node.text for node in parse(text)] == list("abcdef")


@pytest.mark.parametrize(("text", "spaced"), [("--3", "- -3"), ("x--y", "x - -y"), ("x---y", "x - - -y")])
def test_two_signs_are_a_decrement_after_a_target_alone(text: str, spaced: str) -> None:
    assert parse(f"const c = {text};") == parse(f"const c = {spaced};")
    assert parse("fn f() { for (;;k--) { k-- /* here */; } }") == parse("fn f() { for (;;k-=1) { k-=1; } }")


NESTED = {
    "(": lambda n: "(" * n + "1" + ")" * n,
    "-": lambda n: "- " * n + "1",
    "max": lambda n: "max(1, " * n + "1" + ")" * n,
    "index": lambda n: "a[" * n + "1" + "]" * n,
    "+": lambda n: "1" + "+ id.x" * (3 * n),
}


@pytest.mark.parametrize("kind", NESTED)
def test_what_nests_is_read_as_deep_as_tint_reads_it_or_refused(kind: str) -> None:
    read, refused = (
        body(f"var a: array<u32, 4>; y[0] = f32({NESTED[kind](depth)});", size="1") for depth in (100, 2000)
    )
    assert verify_shader(read, HUNDRED).verdicts
    with pytest.raises(KernelError, match="too deep to be read"):
        verify_shader(refused, HUNDRED)


def test_a_refutation_of_a_shader_names_the_thread_and_the_line() -> None:
    found = verify_shader(SHADERS[0].text, SHADERS[0].given)
    (first, *_) = found.refuted
    assert first.witness is not None and first.witness.element == 100 and first.witness.uses[0].thread == 36
    assert "line 3" in str(first)


def test_a_kernel_without_its_guard_is_not_read_as_one_with_it() -> None:
    """The law above can fail: a text whose guard is taken out is refuted."""

    @gpu.kernel
    def copied(x, y):
        gpu.launch(grid=2, threads=64)
        i = gpu.workgroup.x * 64 + gpu.thread
        if i < 100:
            y[i] = x[i]

    x = np.zeros(100, np.float32)
    text, given = copied.wgsl(x, x.copy()), Bindings(lengths={"x": 100, "y": 100}, grid=(2, 1, 1))
    assert outcome(verify_shader(text, given)) == "proven"
    assert outcome(verify_shader(text.replace("< 100u", "< 101u"), given)) == "refuted"
