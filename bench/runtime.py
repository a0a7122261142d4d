"""What the runtime costs: host time of a launch against the same dispatch written by hand, and the speed of transfers.

    python bench/runtime.py [--fill]

`--fill` also allocates until the device has no memory left and checks that it, and a new one, go on working: for a GPU
that nobody else uses.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import wgpu

from cutepy.errors import DeviceError
from cutepy.gpu.runtime import Binding, Device, Program, ProgramParam, open_device

N = 1024
WGSL = """
struct Params { n: u32, a: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn axpy(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.n) { y[id.x] = params.a * x[id.x] + y[id.x]; }
}
"""
AXPY = Program(
    WGSL,
    "axpy",
    (Binding("x"), Binding("y", "read_write")),
    (64, 1, 1),
    (N // 64, 1, 1),
    (ProgramParam("n", "u32"), ProgramParam("a", "f32")),
)


def by_hand(gpu: wgpu.GPUDevice) -> Callable[[], None]:
    """The same dispatch on wgpu alone, everything that can be made once made once."""
    storage, uniform = wgpu.BufferUsage.STORAGE, wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST
    params = gpu.create_buffer(size=16, usage=uniform)
    buffers = [gpu.create_buffer(size=4 * N, usage=storage) for _ in "xy"]
    pipeline = gpu.create_compute_pipeline(
        layout="auto", compute={"module": gpu.create_shader_module(code=WGSL), "entry_point": "axpy"}
    )
    group = gpu.create_bind_group(
        layout=pipeline.get_bind_group_layout(0),
        entries=[
            {"binding": i, "resource": {"buffer": b, "offset": 0, "size": b.size}}
            for i, b in enumerate((*buffers, params))
        ],
    )

    def dispatch() -> None:
        gpu.queue.write_buffer(params, 0, AXPY.pack((N, 2.0)))
        encoder = gpu.create_command_encoder()
        record = encoder.begin_compute_pass()
        record.set_pipeline(pipeline)
        record.set_bind_group(0, group)
        record.dispatch_workgroups(N // 64)
        record.end()
        gpu.queue.submit([encoder.finish()])

    return dispatch


def host_time(device: Device) -> None:
    """One launch and a wait, and a train of 160: the time until the calls return, the medians of many, interleaved."""
    x, y = device.upload(np.ones(N, np.float32)), device.allocate(4 * N)
    hand = by_hand(device.gpu)

    def ours() -> None:
        device.launch(AXPY, [x, y], (N, 2.0))

    def ours_now() -> None:
        ours()
        device.flush()

    times: dict[str, list[float]] = {}
    for call in (hand, ours_now, ours):  # warm up
        call()
        device.wait()
    for _ in range(400):
        for name, call in (("by hand", hand), ("launch + flush", ours_now), ("launch", ours)):
            start = time.perf_counter()
            call()
            times.setdefault(name, []).append(time.perf_counter() - start)
            device.wait()
            device.gpu._poll_wait()
    for name, call in (("train by hand", hand), ("train of launches", ours)):
        for _ in range(20):
            start = time.perf_counter()
            for _ in range(160):
                call()
            device.flush()
            times.setdefault(name, []).append((time.perf_counter() - start) / 160)
            device.wait()
            device.gpu._poll_wait()
    base = {name: statistics.median(values) for name, values in times.items()}
    for name, value in base.items():
        reference = base["train by hand" if "train" in name else "by hand"]
        print(f"{name:20} {value * 1e6:7.1f} us a launch, {value / reference:.2f} x by hand")


def transfers(device: Device) -> None:
    """Upload and read 256 MiB: GB/s, and staging copies of a read per byte read."""
    data = np.random.default_rng(0).integers(0, 255, 2**28, dtype=np.uint8)
    buffer = device.upload(data)
    for name, work in (("upload", lambda: buffer.write(data)), ("read", lambda: buffer.read())):
        seconds = []
        for _ in range(5):
            device.wait()
            start = time.perf_counter()
            work()
            device.wait()
            seconds.append(time.perf_counter() - start)
        print(f"{name:20} {data.size / min(seconds) / 1e9:7.2f} GB/s")
    small = device.upload(data[:4096])
    before = device.stats.staging_copies
    start = time.perf_counter()
    for _ in range(100):
        small.read()
    per_read = (time.perf_counter() - start) / 100
    copies = (device.stats.staging_copies - before) / 100
    print(f"{'read 4 KiB':20} {per_read * 1e6:7.1f} us, {copies:.0f} staging copy each")


def fill(device: Device) -> None:
    """Allocate until there is no memory, then go on, on this device and on a new one."""
    size, held = min(device.limits.buffer_bytes // 16 * 16, 2**31), []
    try:
        for _ in range(1000):
            held.append(device.allocate(size))
            held[-1].write(np.ones(4, np.uint32))
        print(f"{'fill':20} no end after {len(held) * size / 2**30:.0f} GiB: this driver does not say")
    except DeviceError as error:
        print(f"{'fill':20} {len(held) * size / 2**30:.0f} GiB, then: {error}")
    held.clear()
    for each in (device, open_device(device.adapter)):
        if each.alive:
            assert each.upload(np.arange(1000)).read("int64").sum() == 499500
            print(f"{'':20} {each} works")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--fill", action="store_true", help="allocate until memory runs out")
    options = arguments.parse_args()
    chosen = open_device()
    print(chosen)
    host_time(chosen)
    transfers(chosen)
    if options.fill:
        fill(chosen)
