"""Nothing leaks and nothing is mixed up, over thousands of launches, allocations and frees from eight threads.

The bar of the project at full size: 10,000 launches of mixed kernels, 1,000 allocations and frees, 8 threads.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import wgpu
from device_programs import add_one, axpy, rotate

from cutepy.errors import DeviceError, KernelError
from cutepy.gpu.runtime import Device, DeviceBuffer, open_device
from cutepy.gpu.runtime.adapters import Runtime
from cutepy.gpu.runtime.dawn import wgpudawn

LAUNCHES = 5_000
ALLOCATIONS = 1_000
THREADS = 8
PAGE = os.sysconf("SC_PAGE_SIZE")

pytestmark = pytest.mark.parametrize("device", ["wgpu", "dawn checked"], indirect=True)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def kept_by(runtime: Runtime) -> int:
    """Objects that the runtime holds, of all kinds but textures and such: buffers, groups, encoders, modules.

    wgpu-native counts its own; wgpudawn counts its objects in Python, each of which holds one of Dawn's.
    """
    kinds = ("Buffer", "BindGroup", "CommandBuffer", "ComputePipeline")
    if runtime.name == "wgpu":
        hub = wgpu.diagnostics.wgpu_native_counts.get_dict()
        return sum(hub[kind]["count"] for kind in kinds)
    counts = wgpudawn.diagnostics.object_counts.get_dict()
    return sum(counts[kind]["count"] for kind in kinds)


def assert_flat(device: Device, work: Callable[[int], None], rounds: int = 4) -> None:
    """The same work again and again: after the first rounds, buffers, wgpu's objects and memory stay as they are."""
    work(0)
    device.wait()
    stats, objects, memory = device.stats, kept_by(device.runtime), resident()
    for i in range(1, rounds):
        work(i)
        device.wait()
    after = device.stats
    assert (after.buffers, after.bytes, after.pipelines) == (stats.buffers, stats.bytes, stats.pipelines)
    assert after.bind_groups <= max(stats.bind_groups, 16)
    assert kept_by(device.runtime) <= objects + 2
    assert resident() - memory < 8 * 2**20


def test_a_leak_is_seen(device: Device) -> None:
    """The check itself can fail: on a buffer that stays, and on memory that stays."""
    leaked: list[object] = []
    with pytest.raises(AssertionError):
        assert_flat(device, lambda _: leaked.append(device.allocate(64)))
    with pytest.raises(AssertionError):
        assert_flat(device, lambda _: leaked.append(device.gpu.create_buffer(size=64, usage=wgpu.BufferUsage.UNIFORM)))
    with pytest.raises(AssertionError):
        assert_flat(device, lambda _: leaked.append(np.ones(5 * 2**20)))  # above what malloc keeps for later


def test_mixed_launches(device: Device) -> None:
    n = 1024
    values = np.arange(n, dtype=np.uint32)
    source, target, counts = device.upload(values), device.allocate(4 * n), device.allocate(4 * n)
    x, y = device.upload(np.ones(n, np.float32)), device.allocate(4 * n)
    programs = axpy(n), add_one(n), rotate(n), rotate(n, checked=False)
    device.prepare(programs[0])
    done = {"axpy": 0, "add_one": 0}

    def work(seed: int) -> None:
        for choice in np.random.default_rng(seed).integers(0, 4, LAUNCHES // 4):
            if choice == 0:
                device.launch(programs[0], [x, y], (n, float(choice + 1)))
                done["axpy"] += 1
            elif choice == 1:
                device.launch(programs[1], [counts])
                done["add_one"] += 1
            else:
                device.launch(programs[choice], [source, target, counts])

    assert_flat(device, work)
    assert y.read("float32").tolist() == [done["axpy"]] * n
    assert counts.read("uint32").tolist() == [done["add_one"]] * n
    assert np.array_equal(target.read("uint32"), np.roll(values.reshape(-1, 64), 1, axis=1).ravel())


def test_allocations_and_frees(device: Device) -> None:
    def work(seed: int) -> None:
        alive: list[tuple[DeviceBuffer, np.ndarray[tuple[int], np.dtype[np.uint32]]]] = []
        sizes = np.random.default_rng(seed).integers(1, 200, ALLOCATIONS // 4) * 64
        for i, size in enumerate(sizes):
            values = np.arange(i, i + size, dtype=np.uint32)
            buffer = device.upload(values)
            device.launch(add_one(size), [buffer])
            alive.append((buffer, values))
            if len(alive) > 10:
                oldest, expected = alive.pop(0)
                assert np.array_equal(oldest.read("uint32"), expected + 1)
                if i % 2:
                    oldest.free()

    device.prepare(add_one(64))
    for size in range(1, 200):
        device.prepare(add_one(size * 64))
    assert_flat(device, work)


def in_threads(work: Callable[[int], None]) -> None:
    """Run work(0) .. work(7) at once; the first error of any of them is raised."""
    errors: list[BaseException] = []

    def guarded(index: int) -> None:
        try:
            work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def test_eight_threads_on_one_device(device: Device) -> None:
    n = 1024
    each = LAUNCHES // THREADS // 4

    def one_thread(index: int) -> None:
        ones = device.upload(np.full(n, index + 1, np.float32))
        total = device.allocate(4 * n)
        for i in range(each):
            device.launch(axpy(n), [ones, total], (n, 1.0))
            if i % 50 == 0:
                assert total.read("float32").tolist() == [(i + 1) * (index + 1)] * n
            device.upload(np.zeros(i + 1, np.uint32)).free()
        assert total.read("float32").tolist() == [each * (index + 1)] * n

    assert_flat(device, lambda _: in_threads(one_thread))


def test_two_devices_in_threads(device: Device, own_device: Device) -> None:
    def one_thread(index: int) -> None:
        mine = (device, own_device)[index % 2]
        x = mine.allocate(256)
        for i in range(LAUNCHES // 50):
            mine.launch(add_one(64), [x])
            if i % 10 == 0:
                assert x.read("uint32").tolist() == [i + 1] * 64

    in_threads(one_thread)


def test_both_runtimes_at_once(device: Device) -> None:
    """One process, two runtimes, two devices of Dawn: what one is asked, and what it refuses, is not another's."""
    try:
        others = [open_device(runtime=name) for name in ("wgpu", "dawn", "dawn")]
    except DeviceError as error:
        pytest.skip(f"NOT TESTED: {str(error).partition(':')[0]}")
    bad = replace(add_one(64), wgsl="fn nothing( {}", checked=False)

    def one_thread(index: int) -> None:
        mine = others[index % 3]
        x = mine.allocate(256)
        for i in range(LAUNCHES // 100):
            mine.launch(replace(add_one(64), checked=False), [x])
            if i % 10 == 0:
                assert x.read("uint32").tolist() == [i + 1] * 64
                with pytest.raises(KernelError, match=f"{mine.runtime.name} refuses the program"):
                    mine.launch(bad, [x])

    in_threads(one_thread)
    for other in others:
        other.close()


@pytest.mark.parametrize("kind", ["GPUOutOfMemoryError", "GPUValidationError"])
def test_out_of_memory_is_an_error_and_the_device_goes_on(
    device: Device, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Software devices never run out, so the driver's answer is played; `bench/runtime.py --fill` fills a real one."""
    make, calls = device.gpu.create_buffer, []
    error = getattr(wgpu if device.runtime.name == "wgpu" else wgpudawn, kind)

    def refuse(**options: object) -> object:
        calls.append(options["size"])
        if len(calls) <= refusals:
            raise error("Validation Error\n\nCaused by:\n  In wgpuDeviceCreateBuffer\n    Not enough memory left.")
        return make(**options)

    monkeypatch.setattr(device.gpu, "create_buffer", refuse)
    refusals = 2
    with pytest.raises(DeviceError, match=r"allocate 256 bytes \(\d+ in use\): .* is out of memory; free buffers"):
        device.allocate(256)
    calls.clear()
    refusals = 1  # what finished work held is free after waiting: the second try succeeds
    assert not device.allocate(256).read().any()
    assert device.alive
