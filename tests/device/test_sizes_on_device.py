"""One pipeline for many calls: offsets of views are parameters, and texts that say the same are compiled once."""

import random

import numpy as np
import pytest
from size_kernels import CASES

from cutepy import gpu
from cutepy.gpu.runtime import Device
from cutepy.gpu.runtime import device as device_module
from cutepy.layout import Layout, _, ceil_div
from cutepy.tensor import Tensor, copy, local_partition


@gpu.kernel
def append(cache: Tensor, row: Tensor) -> None:
    gpu.launch(threads=32)
    copy(local_partition(row, (32,)), local_partition(cache, (32,)))


@gpu.kernel
def doubled(x: Tensor) -> None:
    gpu.launch(grid=x.shape[0], threads=64)
    row = x(gpu.workgroup.x, _)
    row[gpu.thread] = row[gpu.thread] * 2


def test_256_places_of_a_cache_make_two_pipelines_at_most(device: Device) -> None:
    for width in (64, 63):
        before = device.stats
        cache = gpu.array(np.zeros((256, width), np.float32), device=device)
        row = gpu.array(np.arange(width, dtype=np.float32), device=device)
        for place in range(256):
            append(cache(place, _), row)
        assert (cache.numpy() == np.arange(width)).all()
        assert device.stats.compiled - before.compiled <= 2
        assert device.stats.recompiled == before.recompiled


def test_what_is_compiled_again_after_many_others_is_counted(
    own_device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device keeps so many pipelines: one that others pushed out is built again, and the statistics say so."""

    @gpu.kernel
    def shifted(x: "(n)", *, by: int) -> None:  # noqa: F821
        gpu.launch(grid=ceil_div(x.shape[0], 64), threads=64)
        i = gpu.workgroup.x * 64 + gpu.thread
        if i < x.shape[0]:
            x[i] = x[i] + float(by)

    monkeypatch.setattr(device_module, "PIPELINES_KEPT", 8)
    x = gpu.array(np.zeros(100, np.float32), device=own_device)
    shifted(x, by=1)
    before = own_device.stats
    for by in range(2, 20):
        shifted(x, by=by)
    after = own_device.stats
    assert after.compiled - before.compiled == 18 and after.recompiled == before.recompiled and after.pipelines <= 8
    y = gpu.array(np.zeros(104, np.float32), device=own_device)
    shifted(y, by=1)  # pushed out
    shifted(y, by=19)  # kept
    assert (y.numpy() == 20).all() and own_device.stats.recompiled - before.recompiled == 1


def test_texts_that_differ_in_comments_share_a_pipeline(device: Device) -> None:
    before = device.stats
    for rows in range(1, 40):
        x = np.full((rows, 64), rows, np.float32)
        doubled(on_device := gpu.array(x, device=device))
        assert (on_device.numpy() == 2 * x).all()
    assert device.stats.compiled - before.compiled <= 2  # one row is no workgroup's number


@pytest.mark.parametrize("name", CASES)
def test_few_pipelines_serve_all_sizes(device: Device, name: str) -> None:
    case, pick, before = CASES[name], random.Random(name), device.stats
    for _turn in range(40):
        most = {1: 3000, 2: 150, 3: 60}[case.unknowns]
        sizes = [pick.choice([1, 4, 16, 33, 64, pick.randint(1, most)]) for _axis in range(case.unknowns)]
        arrays = case.arrays(*sizes)
        wanted = case.wanted(*[array.copy() for array in arrays])
        tensors = [gpu.array(array, device=device) for array in arrays]
        for _again in range(2):
            tensors[-1] = gpu.array(arrays[-1], device=device)
            case.kernel(*case.numbers, *tensors)
            assert case.kernel.size_reason == ""
            assert np.allclose(tensors[-1].numpy(), wanted, atol=1e-3), sizes
    assert device.stats.compiled - before.compiled <= case.forms


def test_a_quick_call_is_of_the_sizes_that_it_has(device: Device) -> None:
    """Calls of one layout at other offsets, and of one length in memory of another."""
    scale = CASES["scale"].kernel
    memory = gpu.array(np.arange(100, dtype=np.float32), device=device)
    for begin in (0, 4, 8, 5, 4, 0):
        part, y = Tensor(memory.engine, Layout(20), begin), gpu.array(np.zeros(20, np.float32), device=device)
        scale(2.0, part, y)
        assert (y.numpy() == 2 * np.arange(begin, begin + 20)).all()
        scale(3.0, part, y)
        assert (y.numpy() == 3 * np.arange(begin, begin + 20)).all()


@gpu.kernel
def raised(a: "f32", x: Tensor, y: Tensor, *, power: int) -> None:  # noqa: F821
    gpu.launch(threads=20)
    y[gpu.thread] = a * x[gpu.thread] ** power


@pytest.mark.parametrize("kernel", [raised, CASES["scale"].kernel])
@pytest.mark.parametrize("offset", [0, 5])
def test_a_call_like_the_one_before_is_not_bound_again(
    device: Device, monkeypatch: pytest.MonkeyPatch, kernel: gpu.KernelFunction, offset: int
) -> None:
    static = {"power": 1} if kernel is raised else {}
    memory = [gpu.array(np.arange(30, dtype=np.float32) + turn, device=device) for turn in range(2)]
    parts = [Tensor(x.engine, Layout(20), offset) for x in memory]
    y = gpu.array(np.zeros(20, np.float32), device=device)
    kernel(2.0, parts[0], y, **static)
    monkeypatch.delattr(type(kernel), "_bind")
    kernel(3.0, parts[1], y, **static)
    assert (y.numpy() == 3 * np.arange(offset + 1, offset + 21)).all()


def test_a_call_on_a_device_asks_for_no_other(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def other() -> Device:
        raise AssertionError("the default device")

    @gpu.kernel
    def doubled(x: "(n)", y: "(n)") -> None:
        gpu.launch(grid=ceil_div(x.shape[0], 64), threads=64)
        i = gpu.workgroup.x * 64 + gpu.thread
        if i < x.shape[0]:
            y[i] = 2 * x[i]

    monkeypatch.setattr("cutepy.gpu.trace.kernel.default_device", other)
    for n in (5, 70, 5):
        x, y = gpu.array(np.arange(n, dtype=np.float32), device=device), gpu.empty(n, "f32", device=device)
        doubled(x, y)
        assert (y.numpy() == 2 * np.arange(n)).all() and doubled.size_reason == ""


def test_a_second_length_is_taken_as_any_length(device: Device) -> None:
    """298 lengths of one row norm were 298 traces, proofs and pipelines."""

    @gpu.kernel
    def normed(x, y):
        gpu.launch(grid=x.shape[0], threads=64)
        row, t = gpu.workgroup.x, gpu.thread
        total = 0.0
        for k in gpu.loop(x.shape[1], start=t, step=64):
            total += x[row, k] * x[row, k]
        total = gpu.workgroup_reduce(total, "sum")
        for k in gpu.loop(x.shape[1], start=t, step=64):
            y[row, k] = x[row, k] / gpu.sqrt(total / x.shape[1])

    before, pick = device.stats, random.Random(1)
    for _turn in range(60):
        x = np.random.default_rng(_turn).standard_normal((pick.randint(1, 40), pick.randint(1, 300))).astype(np.float32)
        one, two = gpu.array(x, device=device), gpu.array(np.zeros_like(x), device=device)
        normed(one, two)
        wanted = x / np.sqrt((x.astype(float) ** 2).mean(axis=1, keepdims=True))
        assert np.allclose(two.numpy(), wanted, atol=1e-4)
        assert normed.size_reason == ""
    assert device.stats.compiled - before.compiled <= 4 and normed.stats.traces <= 6 and normed.stats.again == 0


def test_sizes_are_known_where_that_is_asked_for_or_needed(device: Device) -> None:
    def body(x, y):
        gpu.launch(grid=1, threads=32)
        part = gpu.shared("f32", x.shape[0])
        for k in range(x.shape[0] // 32 + 1):
            i = k * 32 + gpu.thread
            if i < x.shape[0]:
                part[i] = x[i]
        gpu.barrier()
        for k in range(x.shape[0] // 32 + 1):
            i = k * 32 + gpu.thread
            if i < x.shape[0]:
                y[i] = part[x.shape[0] - 1 - i]

    def plain(x, y):
        gpu.launch(grid=x.shape[0], threads=1)
        y[gpu.workgroup.x] = x[gpu.workgroup.x] + x.shape[0]

    needing, told = gpu.kernel(body), gpu.kernel(sizes="known")(plain)
    for n in (5, 70, 33):
        x = np.arange(n, dtype=np.float32)
        for kernel, wanted in ((needing, x[::-1]), (told, x + n)):
            y = gpu.array(np.zeros_like(x), device=device)
            kernel(gpu.array(x, device=device), y)
            assert (y.numpy() == wanted).all()
    assert "shared memory has a number of elements" in needing.size_reason and told.stats.traces == 3


def test_a_layout_of_its_own_over_an_argument_is_of_known_sizes(device: Device) -> None:
    """What looks at strides, or lays another layout over the elements, has none to look at for all sizes."""

    @gpu.kernel
    def flat(x, y):
        gpu.launch(grid=1, threads=1)
        memory = Tensor(x.engine, Layout(x.shape[0]), x.offset)
        for i in gpu.loop(y.shape[0]):
            y[i] = memory[i]

    for n in (4, 7, 9):
        whole = np.arange(40, dtype=np.float32)
        x = Tensor(gpu.array(whole, device=device).engine, Layout((n,), (3,)), 2)
        y = gpu.array(np.zeros(n, np.float32), device=device)
        flat(x, y)
        assert (y.numpy() == whole[2 : 2 + n]).all()
