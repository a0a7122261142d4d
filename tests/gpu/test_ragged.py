"""Rows that begin and end where the data say: kernels of `examples/kernels/ragged.py`, and random layouts."""

import itertools
from collections.abc import Callable

import example_cases
import numpy as np
import pytest
import ragged_layouts
from tint import refusals

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.layout import _, composition, group_modes, make_layout
from cutepy.tensor import copy, local_tile

Array = np.ndarray
ragged = __import__("ragged")  # of examples/kernels, which example_cases has put on the path
assert example_cases.FOLDER.name == "kernels"


def offsets(*counts: int) -> Array:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)


def softmax(scores: Array) -> Array:
    e = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-1e30))
    return e / e.sum(axis=1, keepdims=True)


def bag(rng: np.random.Generator) -> tuple[tuple[Array, ...], Array]:
    table, ids, o = (
        rng.random((50, 32), np.float32),
        rng.integers(0, 50, 40).astype(np.uint32),
        offsets(3, 0, 10, 1, 26),
    )
    return (table, ids, o), np.array([table[ids[a:b]].sum(axis=0) for a, b in itertools.pairwise(o)])


def csr(rng: np.random.Generator) -> tuple[tuple[Array, ...], Array]:
    o, values = offsets(3, 0, 10, 1, 26), rng.random(40, np.float32)
    columns, X = rng.integers(0, 20, 40).astype(np.uint32), rng.random((20, 64), np.float32)
    S = np.zeros((5, 20), np.float32)
    np.add.at(S, (np.repeat(np.arange(5), np.diff(o)), columns), values)
    return (values, columns, o, X), S @ X


def grouped(rng: np.random.Generator) -> tuple[tuple[Array, ...], Array]:
    o = offsets(5, 0, 70, 1, 130)
    A, B = rng.random((206, 32), np.float32), rng.random((5, 96, 32), np.float32)
    return (A, B, o), np.concatenate([A[o[e] : o[e + 1]] @ B[e].T for e in range(5)])


def varlen(rng: np.random.Generator) -> tuple[tuple[Array, ...], Array]:
    o = offsets(3, 0, 40, 1, 26)
    Q, K, V = (rng.random((70, 16), np.float32) for _side in range(3))
    parts = [slice(a, b) for a, b in itertools.pairwise(o)]
    return (Q, K, V, o), np.concatenate([softmax(Q[p] @ K[p].T / 4) @ V[p] for p in parts])


def paged(rng: np.random.Generator) -> tuple[tuple[Array, ...], Array]:
    q, K, V = rng.random((3, 64), np.float32), *(rng.random((9, 16, 64), np.float32) for _side in range(2))
    table, lengths = np.array([[4, 0, 8], [2, 2, 1], [7, 3, 5]], np.uint32), np.array([1, 16, 37], np.uint32)
    wanted = []
    for b in range(3):
        k, v = (x[table[b]].reshape(-1, 64)[: lengths[b]] for x in (K, V))
        wanted.append((softmax(q[b][None] @ k.T / 8) @ v)[0])
    return (q, K, V, table, lengths), np.array(wanted)


EXAMPLES: dict[str, tuple[Callable[[np.random.Generator], tuple[tuple[Array, ...], Array]], str, int]] = {
    "embedding_bag": (bag, "table", 2),
    "csr_product": (csr, "X", 2),
    "grouped_product": (grouped, "A", 2),
    "varlen_attention": (varlen, "K", 2),
    "paged_attention": (paged, "V", 2),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_right_and_proven_given_what_it_assumes(name: str) -> None:
    make, vectors, facts = EXAMPLES[name]
    kernel, (given, wanted) = getattr(ragged, name), make(np.random.default_rng(1))
    for run in (lambda *a: kernel.interpret(*a, check=True), kernel):
        out = np.full(wanted.shape, 99, np.float32)
        run(*given, out)
        assert np.allclose(out, wanted, rtol=1e-5, atol=1e-5)
    kernel.check_assumptions(*given, out)
    found = kernel.verify(*given, out, prover="cutepy")
    assert found.ok and len(found.given) == facts, found
    text = kernel.wgsl(*given, out, dialect="tint")
    assert f"var<storage, read> {vectors}: array<vec4<f32>>" in text and refusals({name: text}) == {}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_short(name: str) -> None:
    text = (example_cases.FOLDER / "ragged.py").read_text()
    kernel = text[text.index(f"def {name}") :].split("\n\n\n")[0].rstrip()
    assert kernel.count("\n") <= 30


@pytest.mark.parametrize("number", range(0, 400, 10))
def test_random_layouts(number: int) -> None:
    ragged_layouts.judge(number)


@pytest.mark.parametrize("number", range(0, 400, 10))
def test_writes_that_may_overlap_are_refuted(number: int) -> None:
    ragged_layouts.judge_writes(number)


def test_it_is_tiled_and_sliced_like_any_other() -> None:
    @gpu.kernel(sizes="known")
    def take(x, ends, column, every_other, tile, inner):
        gpu.launch(threads=1)
        rows = gpu.ragged(x, ends[0], ends[1])
        copy(rows(_, 1), column)
        copy(composition(rows, (make_layout(4, 2), make_layout(2)))(_, 1), every_other)
        copy(local_tile(rows, (2, 2), (2, 0)), tile)
        copy(gpu.ragged(rows, 1, 3)(_, 0), inner)  # rows of rows

    x = np.arange(24, dtype=np.float32).reshape(8, 3)
    outs = [np.full(shape, -1, np.float32) for shape in (8, 4, (2, 2), 8)]
    take.interpret(x, np.array([2, 7], np.uint32), *outs)
    rows = np.concatenate([x[2:7], np.zeros((20, 3), np.float32)])
    for out, wanted in zip(outs, (rows[:8, 1], rows[:8:2, 1], rows[4:6, :2], [*rows[1:3, 0], *[0] * 6]), strict=True):
        assert (out == wanted).all()


def test_refusals() -> None:
    def refused(body: Callable[..., object], word: str) -> None:
        def kernel(x, y):
            gpu.launch(threads=1)
            body(x)
            y[0] = 0.0

        with pytest.raises(KernelError, match=word):
            gpu.kernel(kernel).ir(np.zeros((8, 3), np.float32), np.zeros(1, np.float32))

    refused(lambda x: gpu.ragged(x, x[0, 0], 3), "no whole number")
    refused(lambda x: gpu.ragged(group_modes(x, 0, 2), 1, 3), "a plain one")


def test_of_unknown_sizes_it_is_proven_for_all() -> None:
    rng = np.random.default_rng(5)
    bag_of = gpu.kernel(sizes={"table": "(V,32)", "ids": "(I)", "offsets": "(O)", "out": "(B,32)"})(
        ragged.embedding_bag.function
    )
    for count in (40, 7, 300):
        table, ids = rng.random((50, 32), np.float32), rng.integers(0, 50, count).astype(np.uint32)
        o = offsets(3, 0, count - 4, 1)
        out = np.zeros((4, 32), np.float32)
        bag_of(table, ids, o, out)
        wanted = np.array([table[ids[a:b]].sum(axis=0) for a, b in itertools.pairwise(o)])
        assert np.allclose(out, wanted, rtol=1e-5)
