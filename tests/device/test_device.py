"""Buffers keep bytes, launches run in order, and what does not fit is refused before wgpu sees it."""

import gc
import time
import warnings
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from device_programs import ADD_ONE_WGSL, COUNT_GROUPS, add_one, axpy, rotate

from cutepy import gpu, ops
from cutepy.errors import DeviceError, KernelError
from cutepy.gpu.runtime import Binding, Device, Limits, Program, ProgramParam, native, open_device
from cutepy.gpu.runtime.batch import FIRST_LAUNCHES, LAUNCHES, MORE_LAUNCHES
from cutepy.gpu.runtime.pipeline import warn_that_checks_stay

pytestmark = pytest.mark.parametrize("device", ["wgpu", "dawn checked"], indirect=True)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "uint32", "bool"])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 17, 1000])
def test_bytes_come_back(device: Device, dtype: str, count: int) -> None:
    values = np.random.default_rng(count).integers(0, 2 if dtype == "bool" else 50, count).astype(dtype)
    buffer = device.upload(values)
    assert buffer.nbytes == count * (4 if dtype == "bool" else values.itemsize)
    again = buffer.read(dtype)
    assert again.dtype == values.dtype
    assert np.array_equal(again, values)


def test_strided_and_empty_shapes_come_back_in_c_order(device: Device) -> None:
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (values.T, values[::2, ::-1], values[:, :0]):
        assert np.array_equal(device.upload(view).read("float32"), view.ravel())


def test_large_transfers_are_chunked(device: Device) -> None:
    values = np.random.default_rng(0).integers(0, 255, 40 * 2**20 + 6, dtype=np.uint8)
    buffer = device.upload(values)
    before = device.stats.staging_copies
    assert np.array_equal(buffer.read(), values)
    assert device.stats.staging_copies == before + 3
    assert np.array_equal(buffer.read(offset=20 * 2**20, count=100), values[20 * 2**20 :][:100])


def test_a_new_buffer_is_zero(device: Device) -> None:
    device.upload(np.full(5000, 7, np.uint8)).free()
    assert not device.allocate(5000).read().any()


def test_parts_are_written_and_read(device: Device) -> None:
    buffer = device.allocate(40)
    buffer.write(np.arange(4, dtype=np.uint32), offset=8)
    assert buffer.read("uint32").tolist() == [0, 0, 0, 1, 2, 3, 0, 0, 0, 0]
    assert buffer.read("uint32", count=2, offset=12).tolist() == [1, 2]
    for offset, count in ((2, 1), (-4, 1), (40, 1), (0, 11)):
        with pytest.raises(DeviceError):
            buffer.write(np.zeros(count, np.uint32), offset)
        with pytest.raises(DeviceError):
            buffer.read("uint32", count, offset)
    with pytest.raises(DeviceError, match="multiples of 4"):
        buffer.write(np.zeros(3, np.uint8))


def test_launches_run_in_order_with_their_own_parameters(device: Device) -> None:
    n = 1000
    x, y = device.upload(np.arange(n, dtype=np.float32)), device.allocate(4 * n)
    program = axpy(n)
    for a in range(40):
        device.launch(program, [x, y], (n, float(a)))
    device.launch(program, [x, y], (10, 0.5))
    expected = np.arange(n, dtype=np.float32) * sum(range(40))
    expected[:10] *= (780.5) / 780
    assert np.allclose(y.read("float32"), expected, rtol=1e-6)


def test_writes_and_launches_keep_their_order(device: Device) -> None:
    x, total = device.allocate(256), np.zeros(64, np.uint32)
    for i in range(5):
        device.launch(add_one(64), [x])
        assert x.read("uint32").tolist() == (total + 1).tolist()
        total = np.full(64, i, np.uint32)
        x.write(total)
    assert x.read("uint32").tolist() == total.tolist()


def test_unused_bindings_and_workgroup_memory(device: Device) -> None:
    n = 4096
    values = np.arange(n, dtype=np.uint32)
    expected = np.roll(values.reshape(-1, 64), 1, axis=1).ravel()
    source, unused = device.upload(values), device.allocate(4)
    for checked in (True, False):
        target = device.allocate(4 * n)
        device.launch(rotate(n, checked=checked), [source, target, unused])
        assert np.array_equal(target.read("uint32"), expected)


def test_a_grid_beyond_65535_workgroups_is_folded_or_refused(device: Device) -> None:
    count = device.allocate(4)
    device.launch(COUNT_GROUPS, [count], grid=(40000, 2, 1))
    assert count.read("uint32")[0] == 80000
    device.launch(COUNT_GROUPS, [count], grid=(0, 5, 5))
    assert count.read("uint32")[0] == 80000
    with pytest.raises(DeviceError, match=r"count_groups: a grid of 65536 x 1 x 1 .* at most 65535 along"):
        device.launch(COUNT_GROUPS, [count], grid=(65536, 1, 1))


def test_launches_share_submissions_and_reads_copy_once(device: Device) -> None:
    x = device.allocate(256)
    device.wait()
    before = device.stats
    for _ in range(10 * LAUNCHES):
        device.launch(add_one(64), [x])
    assert x.read("uint32").tolist() == [10 * LAUNCHES] * 64
    after = device.stats
    assert after.staging_copies == before.staging_copies + 1
    assert after.submissions <= before.submissions + 60  # the flusher may cut batches short on a slow machine
    assert (after.pipelines, after.bind_groups) == (device.stats.pipelines, device.stats.bind_groups)


@pytest.mark.parametrize("long", [True, False])
def test_the_first_batch_after_a_long_wait_is_small(
    device: Device, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    """The device has nothing else to do, and it is what takes long; a copy to it, or nothing that waits, ends no
    batch, and a second wait, for what is over, is not asked how long it took."""
    spin = "cutepy.gpu.runtime.device.SPIN"
    monkeypatch.setattr(spin, -1.0 if long else 1e9)

    def twice() -> None:
        own.wait()
        with monkeypatch.context() as patch:
            patch.setattr(spin, 1e9 if long else -1.0)
            own.wait()

    own = open_device(device.adapter, checked=device.checked)
    try:
        own._flusher.end()
        own.adapter = replace(own.adapter, kind="DiscreteGPU")
        x = own.allocate(256)
        own.launch(add_one(64), [x])
        for wait in (own.wait, x.read, twice):
            wait()
            own.flush()
            first = own._in_flight.submitted
            made = []
            for _ in range(3 * LAUNCHES + 1):
                made.append(own._in_flight.submitted - first)
                own.launch(add_one(64), [x])
            made.append(own._in_flight.submitted - first)
            batches = [made.index(number + 1) - made.index(number) for number in range(3)]
            assert batches == (
                [FIRST_LAUNCHES + 1, *[FIRST_LAUNCHES + n * MORE_LAUNCHES for n in (1, 2)]]
                if long
                else [LAUNCHES + 1, *[LAUNCHES] * 2]
            )
    finally:
        own.close()


@pytest.mark.parametrize("pause", [0, 0.01, 0.02, 0.021, 0.2])
def test_a_launch_never_waits_for_the_host(device: Device, pause: float) -> None:
    """Nor does one that the flusher meets on its way to sleep, or asleep."""
    x = device.allocate(256)
    device.launch(add_one(64), [x])
    device.wait()
    time.sleep(pause)
    before = device.stats.submissions
    device.launch(add_one(64), [x])
    deadline = time.monotonic() + 5
    while device.stats.submissions == before and time.monotonic() < deadline:
        time.sleep(0.002)
    assert device.stats.submissions == before + 1


@pytest.mark.parametrize("launches", [1, 2 * LAUNCHES])
@pytest.mark.parametrize("groups", [1, 512])
def test_a_wait_is_no_shorter_than_the_work(device: Device, launches: int, groups: int) -> None:
    source, target, unused = (device.allocate(256 * groups) for _ in range(3))
    device.prepare(rotate(64 * groups))
    with device.timed() as watch:
        start = time.perf_counter()
        for _ in range(launches):
            device.launch(rotate(64 * groups), [source, target, unused])
        device.wait()
        took = time.perf_counter() - start
    assert watch.seconds <= took


def test_a_buffer_freed_while_work_uses_it(device: Device) -> None:
    n = 6400
    y = device.allocate(4 * n)
    for _ in range(100):
        x = device.upload(np.ones(n, np.float32))
        device.launch(axpy(n), [x, y], (n, 1.0))
        x.free()
        assert x.freed
    assert y.read("float32").tolist() == [100.0] * n


def test_frees_are_deterministic(device: Device) -> None:
    before = device.stats
    buffer, program = device.allocate(6400), add_one(64)
    device.launch(program, [buffer])
    assert device.stats.bytes == before.bytes + 6400
    del buffer
    after = device.stats
    assert (after.buffers, after.bytes) == (before.buffers, before.bytes)
    assert after.bind_groups <= before.bind_groups


def test_device_time(device: Device) -> None:
    x = device.allocate(256)
    with device.timed() as watch:
        for _ in range(3 * LAUNCHES):
            device.launch(add_one(64), [x])
        with pytest.raises(DeviceError, match="with block"):
            _ = watch.seconds
        with pytest.raises(DeviceError, match="do not nest"), device.timed():
            pass
    assert watch.passes >= 3
    assert 0 < watch.seconds < 10
    with device.timed() as watch:
        pass
    assert watch.seconds == 0
    assert x.read("uint32").tolist() == [3 * LAUNCHES] * 64


def test_unchecked_modules(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    assert device.prepare(rotate(64, checked=True)) is True
    if device.checked:
        assert device.prepare(rotate(64, checked=False)) is True
        return
    assert device.prepare(rotate(64, checked=False)) is False
    monkeypatch.setattr(native, "create_trusted_module", lambda *_: None)
    warn_that_checks_stay.cache_clear()
    one, two = (replace(rotate(64, checked=False), wgsl=rotate(64).wgsl + f"const other = {n}u;\n") for n in (1, 2))
    with pytest.warns(RuntimeWarning, match="lacks unchecked shader modules"):
        assert device.prepare(one) is True
    with warnings.catch_warnings(action="error"):
        assert device.prepare(two) is True


def bad_launches(device: Device) -> list[tuple[Program, list[npt.NDArray[np.generic]], tuple[float, ...], str]]:
    x, y = np.zeros(64, np.float32), np.zeros(64, np.float32)
    good, name = axpy(64), device.runtime.name
    return [
        (good, [x], (64, 1.0), r"axpy: 1 buffers given for 2 tensors \(x, y\)"),
        (good, [x, y], (64,), r"axpy: 1 parameter values given for 2 \(n, a\)"),
        (good, [x, y], (-1, 1.0), "argument n is -1, which u32 does not hold"),
        (good, [x, y], (1.5, 1.0), "argument n is 1.5, which u32 does not hold"),
        (good, [x, y[:32]], (64, 1.0), r"axpy: tensor y needs 256 bytes, DeviceBuffer\(.*, 128 bytes\) has 128"),
        (replace(good, wgsl="fn axpy( {}"), [x, y], (64, 1.0), rf"axpy: {name} refuses the program:(.|\n)*parsing"),
        (replace(good, entry="other"), [x, y], (64, 1.0), f"other: {name} refuses the program"),
        (replace(good, bindings=good.bindings[::-1]), [x, y], (64, 1.0), f"axpy: {name} refuses the program"),
    ]


@pytest.mark.parametrize("case", range(8))
def test_bad_launches(device: Device, case: int) -> None:
    program, arrays, params, message = bad_launches(device)[case]
    with pytest.raises(KernelError, match=message):
        device.launch(program, [device.upload(array) for array in arrays], params)


def test_one_buffer_for_two_tensors(device: Device) -> None:
    x = device.upload(np.zeros(256, np.float32))
    with pytest.raises(KernelError, match=r"tensors x \(read\) and y \(read_write\) are the same buffer"):
        device.launch(axpy(64), [x, x], (64, 1.0))
    bindings = (Binding("a"), Binding("b"), Binding("x", "read_write"))
    two_readers = replace(add_one(64), wgsl=ADD_ONE_WGSL.replace("binding(0)", "binding(2)"), bindings=bindings)
    target = device.allocate(256)
    device.launch(two_readers, [x, x, target])
    assert target.read("uint32").tolist() == [1] * 64


def test_what_a_device_lacks_is_refused_with_the_numbers(device: Device) -> None:
    limits = device.limits
    small = add_one(64)
    x = limits.workgroup_size[0]
    for program, message in (
        (replace(small, shared_bytes=limits.workgroup_bytes + 4), f"{limits.workgroup_bytes + 4} bytes of workgroup"),
        (replace(small, workgroup_size=(x + 1, 1, 1)), f"workgroup size {x + 1} along x, the device has {x}"),
        (replace(small, workgroup_size=(x, 2, 2)), f"{4 * x} invocations in a workgroup of {x} x 2 x 2"),
        (replace(small, needs=("warp-drive",)), "feature 'warp-drive', the device lacks it"),
        (replace(small, bindings=(Binding("x"),) * (limits.bindings + 1)), f"{limits.bindings + 1} storage buffers"),
        (replace(small, params=(ProgramParam("p", "f32"),) * 20000), "80000 bytes of parameters"),
    ):
        with pytest.raises(DeviceError, match=message):
            device.prepare(program)
    with pytest.raises(DeviceError, match=f"has at most {limits.buffer_bytes}; split the tensor"):
        device.allocate(limits.buffer_bytes + 1)
    with pytest.raises(DeviceError, match="allocate -1 bytes"):
        device.allocate(-1)
    assert not small.excesses(Limits())


def test_a_binding_larger_than_the_limit_is_refused(device: Device) -> None:
    most = device.limits.binding_bytes
    if most + 16 > device.limits.buffer_bytes or most > 2**28:
        pytest.skip("NOT TESTED: no buffer of this device is larger than a binding, or it is too large for a test")
    x = device.allocate(most + 256)
    program = replace(add_one(64), bindings=(Binding("x", "read_write"),))
    with pytest.raises(
        DeviceError, match=rf"x spans {most + 256} bytes, one binding .* at most {most}; split the tensor"
    ):
        device.launch(program, [x])


def test_freed_buffers_and_buffers_of_another_device(device: Device, own_device: Device) -> None:
    mine, other = device.allocate(256), own_device.allocate(256)
    with pytest.raises(DeviceError, match="add_one: tensor x is on another device"):
        device.launch(add_one(64), [other])
    for call in (lambda: device.read(other), lambda: device.write(other, np.zeros(4, np.uint32))):
        with pytest.raises(DeviceError, match="is on"):
            call()
    mine.free()
    mine.free()
    for call in (lambda: device.launch(add_one(64), [mine]), mine.read, lambda: mine.write(np.zeros(4, np.uint32))):
        with pytest.raises(DeviceError, match="used after it was freed"):
            call()


def test_a_closed_device_holds_the_memory_of_living_buffers_alone(own_device: Device) -> None:
    step = gpu.pointwise("a + 1")
    kept = gpu.array(np.zeros(1000, np.float32), device=own_device)
    for _call in range(3):
        step(step(kept))
    ops.softmax(kept)
    gc.collect()
    own_device.close()
    assert len(own_device._held) == 1 and own_device._bytes == own_device._held[kept.engine.buffer.uid][0]


def test_a_lost_device_says_so_and_a_new_one_works(device: Device, own_device: Device) -> None:
    x = own_device.upload(np.zeros(64, np.uint32))
    own_device.launch(add_one(64), [x])
    own_device.gpu.destroy()  # what a driver's reset looks like from here
    with pytest.raises(DeviceError, match="was lost; open a new device"):
        own_device.launch(add_one(64), [x])
        own_device.wait()
    assert not own_device.alive
    for call in (own_device.wait, x.read, lambda: own_device.allocate(4), lambda: own_device.launch(add_one(64), [x])):
        with pytest.raises(DeviceError, match="was lost"):
            call()
    x.free()
    y = device.upload(np.zeros(64, np.uint32))
    device.launch(add_one(64), [y])
    assert y.read("uint32").tolist() == [1] * 64


def test_a_closed_device_refuses(own_device: Device) -> None:
    x = own_device.upload(np.zeros(64, np.uint32))
    own_device.close()
    own_device.close()
    with pytest.raises(DeviceError, match="was closed; open a new device"):
        x.read()
    assert "closed" in repr(own_device)


PEEK = """
struct Params { first: u32 }
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@group(0) @binding(1) var<uniform> params: Params;
var<workgroup> a: array<u32, 4>;
var<workgroup> b: array<u32, 60>;
@compute @workgroup_size(1) fn peek() {
  for (var i = 0u; i < 4u; i++) { a[i] = i + 1u; }
  for (var i = 0u; i < 60u; i++) { b[i] = i + 100u; }
  for (var i = 0u; i < 8u; i++) { y[i] = a[params.first + i]; }
  y[8] = b[params.first];
}"""


def test_unchecked_modules_really_lack_the_checks(device: Device) -> None:
    """An index beyond a workgroup array, still within the workgroup's memory: clamped, or not."""
    program = Program(
        PEEK, "peek", (Binding("y", "read_write"),), (1, 1, 1), (1, 1, 1), (ProgramParam("first", "u32"),)
    )
    y = device.allocate(64)
    device.launch(program, [y], (0,))
    assert y.read("uint32", 9).tolist() == [1, 2, 3, 4, 4, 4, 4, 4, 100]
    without = open_device(device.adapter)
    y = without.allocate(64)
    without.launch(replace(program, checked=False), [y], (0,))
    assert y.read("uint32", 4).tolist() == [1, 2, 3, 4]
    assert y.read("uint32", 4, offset=16).tolist() != [4, 4, 4, 4]
    if not without.runtime.module_checks:
        with pytest.raises(DeviceError, match=r"peek is not proven .* open_device\(runtime='dawn', checked=True\)"):
            without.launch(program, [y], (0,))
    without.close()


def test_a_checked_device_checks_what_asks_for_none(device: Device) -> None:
    program = Program(
        PEEK, "peek", (Binding("y", "read_write"),), (1, 1, 1), (1, 1, 1), (ProgramParam("first", "u32"),)
    )
    always = open_device(device.adapter, checked=True)
    y = always.allocate(64)
    always.launch(replace(program, checked=False), [y], (0,))
    assert y.read("uint32", 4, offset=16).tolist() == [4, 4, 4, 4]
    always.close()
