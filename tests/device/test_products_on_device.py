"""Products of any shape on a device: every plan around its tiles' edges, batches, vectors, the same bits every time."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from shares import share

from cutepy import gpu, ops
from cutepy.gpu.matmul.int8 import numbers_along
from cutepy.gpu.matmul.plan import whole_splits
from cutepy.gpu.matmul.staging import new_of_tiles, padded_kernel
from cutepy.gpu.operations.operand import ExecutionSite
from cutepy.gpu.runtime import Device
from cutepy.gpu.runtime.device_tensor import DeviceEngine
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.tensor import fill, make_tensor
from cutepy.tensor.dtypes import i32

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
from ops import test_einsum as test_einsum_on_host
from test_products import PLANS, error, stored


@pytest.mark.on_dawn("small", "skinny", "portable", "one row")
@pytest.mark.parametrize("name", PLANS)
def test_every_plan_at_uneven_edges(device: Device, name: str) -> None:
    """Whole or in three splits, at one size or another: each runtime meets all four over the plans."""
    g = np.random.default_rng(8)
    bm, bn, bk = PLANS[name].tile
    if PLANS[name].shared_bytes > device.limits.workgroup_bytes:
        pytest.skip("NOT TESTED: the device has too little workgroup memory")
    number = list(PLANS).index(name) + (device.runtime.name == "dawn")
    splits = (1, 3)[number // 2 % 2]
    m, n, k = ((bm + 1, bn - 1, 3 * bk + 1), (max(1, bm - 4), bn + 4, 2 * bk + 4))[number % 2]
    a, b = (g.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n)))
    c = gpu.array(np.full((m, n), np.nan, np.float32), device=device)
    x, y = gpu.array(a, device=device), gpu.array(b, device=device)
    bits = set()
    for _ in range(2):
        ops.matmul(x, y, c, plan=whole_splits(PLANS[name], k, splits))
        bits.add(c.numpy().tobytes())
    assert len(bits) == 1 and error(c.numpy(), a.astype(np.float64) @ b) <= 1e-6, (m, n, k, splits)


@pytest.mark.on_dawn(0)
@pytest.mark.parametrize("seed", share(range(2)))
def test_random_batches(device: Device, seed: int) -> None:
    g = np.random.default_rng(seed)
    for one, other in (
        ((3, 1, 20, 33), (2, 33, 18)),
        ((5, 7, 64), (64, 30)),
        ((4, 1, 300), (4, 300, 9)),
        ((2000,), (2000, 70)),
        ((6, 50, 90), (90,)),
    ):
        a, b = stored(g, one), stored(g, other)
        found = ops.matmul(gpu.array(a, device=device), gpu.array(b, device=device))
        assert error(found.numpy(), np.asarray(a.astype(np.float64) @ b)) <= 1e-6, (one, other)


def test_a_product_into_the_memory_of_the_host(device: Device) -> None:
    a, b, c = np.ones((9, 8), np.float32), np.ones((8, 7), np.float32), np.zeros((7, 9), np.float32)
    ops.matmul(gpu.array(a, device=device), b, make_tensor(c.T))
    assert (c == 8).all()


@pytest.mark.on_dawn("abc,cd->abd", "a,b->ab")
@pytest.mark.parametrize("text", ["abc,cd->abd", "abcd,dcb->a", "ab,ac,ad->bcd", "abc,bcd,d->a", "a,b->ab"])
def test_einsum(device: Device, text: str) -> None:
    given = test_einsum_on_host.operands(text)
    found = ops.einsum(text, *(gpu.array(x, device=device) for x in given))
    assert found.engine.device is device  # type: ignore[attr-defined]
    np.testing.assert_allclose(found.numpy(), np.einsum(text, *given), rtol=1e-4, atol=1e-4)


@pytest.mark.on_dawn(0)
@pytest.mark.parametrize("seed", range(0, 60, 20))
def test_random_sums_of_products(device: Device, seed: int) -> None:
    """Axes that only one operand has, or that are repeated in memory, are summed as well: beside others they are no
    axis of both operands' memory."""
    for each in share(range(seed, seed + 20)):
        text, given, wanted = test_einsum_on_host.random_einsum(each)
        found = ops.einsum(text, *(gpu.array(x, device=device) for x in given))
        np.testing.assert_array_equal(found.numpy(), wanted, err_msg=f"{each}: {text}")


def test_a_sum_of_products_is_never_stored_as_products(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = np.ones((6, 7, 8), np.float32), np.ones((7, 8), np.float32)
    launched = []
    whole = KernelFunction.__call__
    monkeypatch.setattr(
        KernelFunction, "__call__", lambda self, *x, **y: (launched.append(self.__name__), whole(self, *x, **y))[1]
    )
    found = ops.fused_multiply_add(gpu.array(a, device=device), gpu.array(b, device=device), (1, 2))
    assert (found.numpy() == 56).all() and launched == ["dot_kernel"]


@pytest.mark.on_dawn((33, 40, 3000))
@pytest.mark.parametrize("size", [(70, 65, 33), (200, 9, 40), (33, 40, 3000), (130, 129, 17)])
def test_an_epilogue_on_the_device(device: Device, size: tuple[int, int, int]) -> None:
    (m, n, k), rng = size, np.random.default_rng(0)
    a, b, bias = (rng.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n), (n,)))
    moved = [gpu.array(x, device=device) for x in (a, b, bias)]
    for _ in range(2):
        found = ops.matmul(*moved[:2], epilogue="tanh(c + bias)", bias=moved[2]).numpy()
        np.testing.assert_allclose(found, np.tanh(a.astype(np.float64) @ b + bias), atol=1e-3)


@pytest.mark.parametrize("size", [(130, 65), (65, 132), (129, 2000)])
@pytest.mark.parametrize("turned", [False, True])
def test_whole_tiles_there_and_back(device: Device, size: tuple[int, int], turned: bool) -> None:
    """Operands among zeros, in memory that held something else."""
    rng, place = np.random.default_rng(0), ExecutionSite(device)
    a = rng.standard_normal(size).astype(np.float32)
    x = gpu.array(np.asfortranarray(a) if turned else a, device=device)
    for _ in range(2):
        whole = new_of_tiles(place, x, (64, 32), x.dtype)
        padded_kernel(x, whole, tile=(64, 32))
        np.testing.assert_array_equal(whole.numpy(), np.pad(a, [(0, -size[0] % 64), (0, -size[1] % 32)]))
        fill(whole, 1)
        del whole


@pytest.mark.on_dawn((40, 18, 36), (4, 6, 10), (1, 8, 33))
@pytest.mark.parametrize("size", [(64, 32, 64), (40, 18, 36), (4, 6, 10), (1, 8, 33)])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True)])
def test_bytes_on_a_device_stay_there(device: Device, size: tuple[int, int, int], turned: tuple[bool, bool]) -> None:
    (m, k, n), rng = size, np.random.default_rng(0)
    host = [rng.integers(-128, 128, shape, dtype=np.int8) for shape in ((m, k), (k, n))]
    right = host[0].astype(np.int64) @ host[1]
    host = [np.asfortranarray(x) if t else x for x, t in zip(host, turned, strict=True)]
    there = [gpu.array(x, device=device) for x in host]
    found = ops.matmul(*there, sums="i32")
    assert isinstance(found.engine, DeviceEngine)
    np.testing.assert_array_equal(found.numpy(), right)
    for x, axis in ((make_tensor(host[0]), -1), (make_tensor(host[1]), -2), (there[0], -1), (there[1], -2)):
        numbers = numbers_along(x, axis, i32)
        moved = np.moveaxis(numbers.numpy(), axis, -1)
        bytes_of = np.ascontiguousarray(moved).view(np.int8)[..., : x.numpy().shape[axis]]
        np.testing.assert_array_equal(np.moveaxis(bytes_of, -1, axis), x.numpy())


@pytest.mark.on_dawn((3, 40, 300))
@pytest.mark.parametrize("size", [(1, 40, 300), (3, 40, 300), (24, 64, 512), (17, 100, 130), (16, 2048, 4096)])
@pytest.mark.parametrize("turned", [False, True])
def test_few_rows_with_an_epilogue(device: Device, size: tuple[int, int, int], turned: bool) -> None:
    """One launch on a discrete GPU, or in parts where that takes less; a product of more rows has compiled it."""
    own, (m, n, k), g = gpu.open_device(device.adapter), size, np.random.default_rng(3)
    own.adapter = replace(own.adapter, kind="DiscreteGPU")
    try:
        b, bias = g.standard_normal((k, n), np.float32), g.standard_normal(n, np.float32)
        stored, there = (gpu.array(x, device=own) for x in (b.T.copy() if turned else b, bias))
        right = ops.permute(stored, (1, 0)) if turned else stored
        compiled = []
        for rows in (100, m):
            a, x = g.standard_normal((rows, k), np.float32), g.standard_normal((rows, n), np.float32)
            given, residual = (gpu.array(each, device=own) for each in (a, x))
            with own.profiled() as (_, launches):
                found = ops.matmul(given, right, epilogue="3 * c + bias + x", bias=there, x=residual)
            assert error(found.numpy(), 3 * (a.astype(np.float64) @ b) + bias + x) <= 1e-6
            compiled.append(own.stats.compiled)
        few = m * n * k < 1 << 26 or turned
        assert len(launches) == (1 if few else 2), launches
        assert compiled[1] == compiled[0] or m > 4 or not few
    finally:
        own.close()


def test_fewer_rows_wait_for_no_sum_of_parts(device: Device) -> None:
    """With an epilogue, what adds the parts of k is compiled with the product that has none."""
    own = gpu.open_device(device.adapter)
    try:
        rng = np.random.default_rng(1)
        n, k = 64, 2048
        b, bias = rng.standard_normal((k, n), np.float32), rng.standard_normal(n, np.float32)
        there = [gpu.array(x, device=own) for x in (b, bias)]
        compiled = []
        for rows in (1100, 100, 97):
            a, x = rng.standard_normal((rows, k), np.float32), rng.standard_normal((rows, n), np.float32)
            given, residual = gpu.array(a, device=own), gpu.array(x, device=own)
            found = ops.matmul(given, there[0], epilogue="c + 2 * bias + x", bias=there[1], x=residual)
            np.testing.assert_allclose(found.numpy(), a @ b + 2 * bias + x, atol=2e-3)
            compiled.append(own.stats.compiled)
        assert compiled[1] <= compiled[0] + 1 and compiled[2] == compiled[1], compiled  # at most its own product
    finally:
        own.close()
