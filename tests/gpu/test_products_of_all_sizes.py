"""Products by kernels in which sizes, strides and offsets are values: right at all of them, by few texts."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from shares import ALL

from cutepy import gpu, make_tensor, ops
from cutepy.gpu.matmul import cost_model
from cutepy.gpu.matmul.cost_model import (
    PLANS,
    PLANS_OF_FEW_ROWS,
    PLANS_OF_ONE_ROW,
    PLANS_OF_SHORT_K,
    SMALL,
    TALL,
    whole_splits,
)
from cutepy.gpu.matmul.launches import near
from cutepy.gpu.matmul.plan import Plan
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.layout import Layout
from cutepy.tensor import Tensor

FEW = [*PLANS_OF_FEW_ROWS[True], *PLANS_OF_FEW_ROWS[False], *PLANS_OF_SHORT_K, *PLANS_OF_ONE_ROW]
EDGES = [1, 2, 3, 4, 7, 8, 13, 15, 16, 17, 31, 32, 33, 36, 63, 64, 65, 67, 127, 128, 129]
"""Sizes around the edges of tiles and of vectors, and primes."""


class Views:
    """Random views of arrays, by a seed."""

    def __init__(self, seed: str) -> None:
        self.pick, self.random = random.Random(seed), np.random.default_rng(len(seed))

    def view(self, *shape: int, kinds: str = "plain offset step reversal turned") -> np.ndarray:
        kind = self.pick.choice(kinds.split())
        if kind == "turned" and len(shape) > 1:
            return self.view(*shape[:-2], shape[-1], shape[-2], kinds="plain offset").swapaxes(-1, -2)
        step, first = 2 if kind == "step" else 1, self.pick.choice([1, 3, 4]) if kind == "offset" else 0
        memory = self.random.standard_normal([step * n + first for n in shape]).astype(np.float32)
        found = memory[tuple([slice(first, first + step * n, step) for n in shape])]
        return found[..., ::-1] if kind == "reversal" else found


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[KernelFunction]:
    """The kernels of products that are interpreted."""
    found: list[KernelFunction] = []
    interpret = KernelFunction.interpret

    def noted(self: KernelFunction, *args: Any, **static: Any) -> None:
        interpret(self, *args, **static)
        found.append(self)
        if self.__name__ in ("matmul_kernel", "epilogue_kernel", "parts_kernel", "dot_kernel"):
            assert self.size_reason == "", self.size_reason

    monkeypatch.setattr(KernelFunction, "interpret", noted)
    return found


@pytest.mark.parametrize("plan", [*PLANS, Plan(), *FEW], ids=lambda plan: "x".join(map(str, (*plan.tile, plan.ahead))))
def test_they_are_numpys_at_all_sizes(plan: Plan, launched: list[KernelFunction]) -> None:
    """Views by offset, step, reversal and turned; batches; k in parts; an epilogue with a number."""
    views = Views(str(plan))
    for case in range(5 if ALL else 2):
        m, n, k = (views.pick.choice(EDGES) for _ in "mnk")
        batch = views.pick.choice([(), (), (3,)])
        a, b = views.view(*batch, m, k), views.view(*views.pick.choice([batch, ()]), k, n)
        cut = whole_splits(plan, k, views.pick.choice([1, 1, 3]))
        exact = a.astype(np.float64) @ b
        if case % 2:
            bias, alpha = views.view(n), views.pick.choice([2.0, -0.5])
            found = ops.matmul(
                a, b, epilogue="max(alpha * c + bias, 0)", bias=bias, alpha=alpha, plan=cut, engine="interpreter"
            )
            exact = np.maximum(alpha * exact + bias, 0)
        else:
            found = ops.matmul(a, b, plan=cut, engine="interpreter")
        np.testing.assert_allclose(found.numpy(), exact, atol=1e-4, err_msg=f"{a.shape} {a.strides} {b.strides} {cut}")
    assert {kernel.__name__ for kernel in launched} & {"matmul_kernel", "epilogue_kernel", "parts_kernel"}


def test_one_row_is_proven_at_all_lengths(launched: list[KernelFunction]) -> None:
    """What a form has proven of its sizes without a condition asks nothing of a call: `64 * (k // 64) <= k` is none."""
    views = Views("rows")
    for k in (1, 31, 64, 70, 1025):
        for batch, n in (((), 30), ((3,), 31)):
            a, b = views.view(*batch, 1, k, kinds="plain"), views.view(*batch, n, k, kinds="plain").swapaxes(-1, -2)
            found = ops.matmul(a, b, engine="interpreter").numpy()
            np.testing.assert_allclose(found, a.astype(np.float64) @ b, atol=1e-4)
    dots = [kernel for kernel in launched if kernel.__name__ == "dot_kernel"]
    assert dots and all(kernel.size_reason == "" for kernel in dots)


def test_empty_ones_are_zero() -> None:
    for m, n, k in ((0, 4, 4), (4, 0, 4), (4, 4, 0), (0, 0, 0)):
        found = ops.matmul(np.ones((m, k), np.float32), np.ones((k, n), np.float32), engine="interpreter").numpy()
        assert found.shape == (m, n) and not found.any()


@pytest.mark.parametrize(
    "plan", [Plan(), SMALL, TALL, *FEW], ids=lambda plan: "x".join(map(str, (*plan.tile, plan.ahead)))
)
def test_a_plan_is_few_texts(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most four, of views of row-major operands: by what vectors and slabs divide."""
    texts: set[str] = set()

    def printed(self: KernelFunction, *args: Any, **static: Any) -> None:
        texts.add(self.wgsl(*args, **static))
        assert self.size_reason == ""

    monkeypatch.setattr(KernelFunction, "interpret", printed)
    views = Views("texts")
    for _case in range(150 if ALL else 60):
        m, n, k = (views.pick.choice([*EDGES, 300, 320, 999, 1024]) for _ in "mnk")
        a, b = (views.view(*shape, kinds="plain plain offset step reversal") for shape in ((m, k), (k, n)))
        ops.matmul(a, b, plan=plan, engine="interpreter")
    assert len(texts) <= 4


def test_a_product_with_a_vector_is_few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is no other text than a matrix, nor is a vector that repeats; what all rows share is in no vectors, so of
    rows side by side its length decides nothing."""
    texts: dict[object, set[str]] = {}
    widths: dict[int, int] = {}

    def printed(self: KernelFunction, x: Tensor, *args: Any, plan: Any, **static: Any) -> None:
        texts.setdefault((plan.tile, plan.width), set()).add(self.wgsl(x, *args, plan=plan, **static))
        widths[x.layout.shape[1]] = plan.width  # type: ignore[index]
        assert self.size_reason == ""

    monkeypatch.setattr(KernelFunction, "interpret", printed)
    views = Views("vectors")
    for case in range(120 if ALL else 60):
        m, k = (views.pick.choice([*EDGES, 300, 1024]) for _ in "mk")
        batch = (views.pick.choice([2, 3, 8]),) if case % 3 == 0 else ()
        a, b = views.view(*batch, m, k), views.view(*batch, k, 1)
        ops.matmul(a, b, engine="interpreter")
        ops.matmul(b.swapaxes(-1, -2), a.swapaxes(-1, -2), engine="interpreter")
    assert len(texts) >= 4 and max(map(len, texts.values())) <= 4, {key: len(each) for key, each in texts.items()}
    widths.clear()
    for k in range(3, 40):
        ops.matmul(np.zeros((1, k), np.float32), np.zeros((k, 16384), np.float32), engine="interpreter")
    assert set(widths.values()) == {4}


def test_a_square_tile_has_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result whose columns lie side by side is that of B and A, with rows and columns exchanged."""
    forms: set[object] = set()

    def noted(self: KernelFunction, a: Tensor, b: Tensor, c: Tensor, *others: Any, **static: Any) -> None:
        interpret(self, a, b, c, *others, **static)
        forms.add((self, static["orders"]))

    interpret = KernelFunction.interpret
    monkeypatch.setattr(KernelFunction, "interpret", noted)
    random_numbers = np.random.default_rng(0)
    for m, n, k in ((20, 36, 16), (33, 7, 20), (8, 64, 32)):
        a, b = random_numbers.standard_normal((m, k)), random_numbers.standard_normal((k, n))
        bias = random_numbers.standard_normal((m, 1)).astype(np.float32)
        for turned in (False, True):
            x, y = (z.astype(np.float32) for z in (a, b))
            out = make_tensor(np.zeros((n, m), np.float32).T if turned else np.zeros((m, n), np.float32))
            left, right = (np.asfortranarray(x), np.asfortranarray(y)) if turned else (x, y)
            ops.matmul(left, right, out, epilogue="c + bias", bias=bias, plan=SMALL, engine="interpreter")
            np.testing.assert_allclose(out.numpy(), a @ b + bias, atol=1e-4)
    assert {orders.across for _, orders in forms} == {(True, False, True)}


@pytest.fixture
def as_large_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products have the plans of a large GPU."""
    big = type("Big", (), {"kind": "DiscreteGPU", "limits": gpu.Limits(workgroup_bytes=49152, invocations=1024)})()
    monkeypatch.setattr(
        sys.modules["cutepy.gpu.matmul.contraction"],
        "choose_plan",
        lambda problem, _, *, fused: cost_model.choose_plan(problem, big, fused=fused),
    )


@pytest.mark.parametrize("where, plans", [("anywhere", 2), ("as_large_gpu", 3)], ids=["anywhere", "large"])
def test_small_products_are_few_plans_of_four_texts(
    where: str, plans: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever their extents and views, by offset, step and reversal: one plan, or on a large GPU one of few rows and
    one of others; and one of sums of rows."""
    if where != "anywhere":
        request.getfixturevalue(where)
    forms: dict[object, set[object]] = {}

    def noted(self: KernelFunction, *args: Any, plan: Any, **static: Any) -> None:
        form = self, plan, tuple(sorted(static.items(), key=lambda item: item[0]))
        forms.setdefault((self.__name__, plan.tile), set()).add(form)

    monkeypatch.setattr(KernelFunction, "interpret", noted)
    views = Views("small")
    for _case in range(300 if ALL else 150):
        m, n, k = (views.pick.choice([1, 2, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129]) for _ in "mnk")
        a, b = (views.view(*shape, kinds="plain plain offset step reversal") for shape in ((m, k), (k, n)))
        ops.matmul(a, b, engine="interpreter")
    assert len(forms) == plans and max(map(len, forms.values())) <= 4, {key: len(each) for key, each in forms.items()}


def test_new_lengths_of_a_model_are_no_new_texts(as_large_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The products of a layer of 768 at any length, as a large GPU has them."""
    forms: set[object] = set()

    def noted(self: KernelFunction, *args: Any, **static: Any) -> None:
        forms.add((self, tuple(sorted(static.items(), key=lambda item: item[0]))))

    monkeypatch.setattr(KernelFunction, "interpret", noted)
    row = np.zeros(3072, np.float32)

    def layer(length: int) -> None:
        for n, k, formula in ((2304, 768, "c + b"), (768, 768, "c + b + x"), (3072, 768, "max(c + b, 0)"),
                              (768, 3072, "c + b + x")):  # fmt: skip
            a, b = np.zeros((length, k), np.float32), np.zeros((k, n), np.float32)
            more = {"x": np.zeros((length, n), np.float32)} if " x" in formula else {}
            ops.matmul(a, b, epilogue=formula.replace("b", "bias"), bias=row[:n], engine="interpreter", **more)

    for length in range(2, 17):
        layer(length)
    few = len(forms)
    for length in random.Random(1).sample(range(17, 1025), 30):
        layer(length)
    assert few <= 10 and len(forms) - few <= 7


def test_how_an_operand_lies() -> None:
    def of(shape: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> tuple[int, int]:
        memory = make_tensor(np.zeros(4096, np.float32))
        return near("A", Tensor(memory.engine, Layout(shape, stride), offset), 1)[1:]

    assert of((8, 16), (16, 1)) == (1, 4) and of((8, 16), (1, 8)) == (0, 4)
    assert of((8, 15), (16, 1)) == of((8, 16), (17, 1)) == of((8, 16), (16, 1), 2) == (1, 1)
    assert of((8, 16), (32, 2)) == of((8, 16), (16, -1)) == (1, 0) and of((8, 16), (2, 16)) == (0, 0)
    assert of((8, 1), (1, 0)) == (1, 1) and of((1, 1), (0, 0)) == (1, 1) and of((8, 1), (3, 0)) == (1, 1)


def test_more_parts_than_slabs_are_nothing_more() -> None:
    """Parts that have no slab bring nothing, however many the result has."""
    a, b = np.random.default_rng(0).standard_normal((2, 20, 40), dtype=np.float32)
    for plan in (SMALL, FEW[0]):
        found = ops.matmul(a, b.T, plan=replace(plan, splits=7), engine="interpreter").numpy()
        np.testing.assert_allclose(found, a.astype(np.float64) @ b.T, atol=1e-4)
