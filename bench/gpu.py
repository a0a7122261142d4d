"""GPU kernels of cutepy beside cuBLAS (torch) and onnxruntime-webgpu, in one run on one device.

    python bench/gpu.py [--peers FOLDER] [--json FILE] [--small]

Device times by timestamps (CUDA events for torch), ours and torch's in turn, medians; ratios are of this run. Every
result is compared with float64 or with torch. `--small` is for devices that are no large GPU, and the default there.
FOLDER holds `ort_webgpu.py`. It fails where a large GPU misses a bar.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import gpu_kernels
import numpy as np
import peers
from gpu_table import Row, table

import cutepy
from cutepy import gpu, ops
from cutepy.gpu.matmul.cost_model import LARGE, ProductProblem, choose_plan
from cutepy.gpu.matmul.kernel_fma import matmul_kernel
from cutepy.gpu.operations.copies import copy as copy_tensor
from cutepy.gpu.operations.softmax import softmax
from cutepy.gpu.runtime import Device, default_device
from cutepy.gpu.verify import needs_checks
from cutepy.layout import ComposedLayout, Layout, LayoutRight, select
from cutepy.tensor import Tensor

ROUNDS = 15
WARM_UP = 0.3  # seconds
ORT_SIZES = ((1024, "f32"), (4096, "f32"), (4096, "f16"))


class Bench:
    """The device, the peers and the rows so far."""

    def __init__(self, folder: Path | None, small: bool | None) -> None:
        self.device: Device = default_device()
        self.small = self.device.adapter.kind != "DiscreteGPU" if small is None else small
        self.torch = peers.load_torch()
        self.folder = folder
        self.rows: list[Row] = []
        self.notes: dict[str, object] = {}
        self.random = np.random.default_rng(0)

    def seconds(self, launch: Callable[[], object], repeats: int) -> float:
        with self.device.timed() as watch:
            for _ in range(repeats):
                launch()
        return watch.seconds / repeats

    def measure(
        self, ours: Callable[[], object], peer: Callable[[], object] | None, repeats: int = 1
    ) -> tuple[float, float | None]:
        """Medians of both, taken in turn, each of `repeats` calls, after a warm-up in which the clocks rise."""
        times: list[float] = []
        others: list[float] = []
        warm = time.perf_counter() + (0.0 if self.small else WARM_UP)
        while len(times) < (3 if self.small else ROUNDS):
            mine = self.seconds(ours, repeats)
            other = self.torch.seconds(peer, repeats) if self.torch and peer else 0.0
            if time.perf_counter() > warm:
                times.append(mine)
                others.append(other)
        return statistics.median(times), statistics.median(others) if self.torch and peer else None

    def add(self, row: Row) -> None:
        self.rows.append(row)
        print("  ".join(c for c in row.cells() if c), flush=True)

    def uniform(self, *shape: int) -> np.ndarray:
        return self.random.random(shape, dtype=np.float32) - np.float32(0.5)


def matmul(bench: Bench, n: int, dtype: str = "f32", *, checks: str = "auto") -> None:
    """n x n x n. The error is that of 32 rows against float64."""
    host = [bench.uniform(n, n).astype({"f32": np.float32, "f16": np.float16}[dtype]) for _ in "ab"]
    A, B = (gpu.array(x, device=bench.device) for x in host)
    C = gpu.empty((n, n), dtype, device=bench.device)
    plan = replace(choose_plan(ProductProblem(n, n, n), bench.device.adapter), splits=1)
    operands = A, select(B, 1, 0), C
    program = matmul_kernel.program(*operands, plan=plan, checks=checks)
    buffers = [t.engine.buffer for t in operands]
    checked = bench.device.prepare(program)
    repeats = 1 if n >= 4096 or bench.small else 8  # a launch of microseconds is timed with others

    def run() -> None:
        if checks == "auto":
            ops.matmul(A, B, C)
        else:
            bench.device.launch(program, buffers)

    ours, theirs = bench.measure(run, _torch_matmul(bench, host), repeats)
    rows = bench.random.integers(0, n, min(n, 32))
    wanted = host[0][rows].astype(np.float64) @ host[1].astype(np.float64)
    error = float(np.linalg.norm(C.numpy()[rows] - wanted) / np.linalg.norm(wanted))
    name = f"matmul {dtype} {n}^3" + (", with checks" if checks == "always" else "")
    row = Row(name, "TFLOP/s", 2e-12 * n**3 / ours, error=error, checked=checked)
    if theirs is not None:
        row.peers["torch"] = 2e-12 * n**3 / theirs
    if (n, dtype) in ORT_SIZES and checks == "auto" and not bench.small:
        seconds = peers.onnxruntime_matmul(n, dtype, bench.folder)
        if seconds is not None:
            row.peers["onnxruntime"] = 2e-12 * n**3 / seconds
    if (n, dtype) == (4096, "f32") and checks == "auto":
        row.bars = {"torch": 0.85, "onnxruntime": 1.7}
    bench.add(row)


def _torch_matmul(bench: Bench, host: list[np.ndarray]) -> Callable[[], object] | None:
    if bench.torch is None:
        return None
    a, b = (bench.torch.tensor(x) for x in host)
    return lambda: a @ b


def memory_bound(bench: Bench) -> None:
    """Sum, copy, softmax of rows and transposes of a square matrix: 1 GiB, or 1 MiB."""
    side = 512 if bench.small else 16384
    host = bench.uniform(side, side)
    x, y = gpu.array(host, device=bench.device), gpu.empty((side, side), device=bench.device)
    theirs = bench.torch.tensor(host) if bench.torch else None
    out = bench.torch.torch.empty_like(theirs) if bench.torch else None
    _sum(bench, x, host, theirs)
    row = _bandwidth(bench, "copy", host, lambda: copy_tensor(x, y), lambda: out.copy_(theirs))
    row.error = float(np.abs(y.numpy() - host).max())
    bench.add(row)
    row = _bandwidth(bench, "softmax of rows", host, lambda: softmax(x), lambda: bench.torch.torch.softmax(theirs, 1))
    exponentials = np.exp(host[:64].astype(np.float64))
    wanted = exponentials / exponentials.sum(1, keepdims=True)
    row.error = float(np.abs(softmax(x).numpy()[:64] / wanted - 1).max())
    bench.add(row)
    transposes(bench, (x, y), host, lambda: out.copy_(theirs.t()))


def _bandwidth(
    bench: Bench, name: str, host: np.ndarray, ours: Callable[[], object], theirs: Callable[[], object] | None
) -> Row:
    """What is read once and written once, a second."""
    mine, other = bench.measure(ours, theirs)
    row = Row(f"{name}, f32", "GB/s", 2e-9 * host.nbytes / mine)
    if other is not None:
        row.peers["torch"] = 2e-9 * host.nbytes / other
    return row


def _sum(bench: Bench, x: Tensor, host: np.ndarray, theirs: object) -> None:
    """The error is relative to the sum of magnitudes, whose rounding bounds it."""
    programs = gpu_kernels.sum_programs(x)
    checked = any(bench.device.prepare(program) for program, _ in programs)

    def ours() -> None:
        for program, operands in programs:
            bench.device.launch(program, [t.engine.buffer for t in operands])

    mine, other = bench.measure(ours, lambda: theirs.sum())  # type: ignore[attr-defined]
    total = programs[-1][1][-1].numpy().item()
    error = abs(float(total) - host.sum(dtype=np.float64)) / np.abs(host).sum(dtype=np.float64)
    row = Row(f"sum of {host.nbytes / 2**20:,.0f} MiB, f32", "GB/s", 1e-9 * host.nbytes / mine, error=float(error))
    row.checked, row.bars = checked, {"torch": 0.95}
    if other is not None:
        row.peers["torch"] = 1e-9 * host.nbytes / other
    bench.add(row)


def transposes(bench: Bench, operands: tuple[Tensor, Tensor], host: np.ndarray, theirs: Callable[[], object]) -> None:
    """One kernel, seven tiles in shared memory; the model says in how many passes the banks give a column."""
    for name, tile in gpu_kernels.TILES.items():
        ways = gpu_kernels.conflict_ways(tile)
        row = _transpose(bench, operands, host, tile, theirs if ways == 1 else None)
        row.name = f"transpose, f32, tile {name}: {ways}-way"
        bench.add(row)


def bank_model(bench: Bench) -> None:
    """Columns of a tile read again and again: what one more read costs a processor, beside the passes that the model
    counts. The difference of two numbers of rounds leaves out all else."""
    side, few, many = (256, 32, 64) if bench.small else (4096, 64, 192)
    host = bench.uniform(side, side)
    x, y = gpu.array(host, device=bench.device), gpu.empty((side, side), device=bench.device)
    sums = host.reshape(side // 32, 32, side // 32, 32).sum(3).transpose(2, 0, 1).reshape(side // 32, side)
    found: dict[str, dict[str, float]] = {}
    for name, tile in gpu_kernels.TILES.items():
        seconds = {}
        program = gpu_kernels.reread.program(many, x, y, tile=tile)
        for rounds in (few, many):
            launch = partial(bench.device.launch, program, [t.engine.buffer for t in (x, y)], [rounds])
            seconds[rounds] = bench.measure(launch, None)[0]
            wanted = np.repeat(sums, 32, axis=0) * (rounds // 32)
            assert np.allclose(y.numpy(), wanted, rtol=1e-3, atol=1e-3), f"reread through {name}"
        line = {"passes": gpu_kernels.conflict_ways(tile), "ms": 1e3 * (seconds[many] - seconds[few])}
        if bench.torch:
            reads = host.size / 32 / bench.torch.processors * (many - few)
            line["cycles"] = (seconds[many] - seconds[few]) * bench.torch.clock / reads
        found[name] = {key: round(value, 3) for key, value in line.items()}
        print(f"a read of a column, tile {name}: {found[name]}", flush=True)
    bench.notes["banks"] = found


def _transpose(
    bench: Bench,
    operands: tuple[Tensor, Tensor],
    host: np.ndarray,
    tile: Layout | ComposedLayout,
    theirs: Callable[[], object] | None,
) -> Row:
    """The row of one tile."""
    program = gpu_kernels.transpose.program(*operands, tile=tile)
    buffers = [t.engine.buffer for t in operands]
    head = np.full((512, host.shape[0]), np.nan, np.float32)
    buffers[1].write(head)
    row = _bandwidth(bench, "", host, lambda: bench.device.launch(program, buffers), theirs)
    row.checked = bench.device.prepare(program)
    row.error = float(np.abs(buffers[1].read(np.float32, head.size).reshape(head.shape) - host.T[:512]).max())
    return row


def host_times(bench: Bench) -> None:
    """Tracing, simplifying and printing the fast matmul; a cached launch beside the same dispatch by hand on wgpu."""
    n = 4096
    # One buffer each, which nothing reads: tracing looks at layouts only.
    A, B, C = (Tensor(gpu.empty((1,), device=bench.device).engine, Layout((n, n), LayoutRight)) for _ in "ABC")
    operands = gpu_kernels.with_length(n * n, A, B, C)
    operands[1] = select(operands[1], 1, 0)
    times, proofs = [], []
    for _ in range(21):
        matmul_kernel._traced.clear()
        times.append(_elapsed(lambda: matmul_kernel.wgsl(*operands, plan=LARGE)))
        kernel = matmul_kernel.ir(*operands, plan=LARGE)
        proofs.append(_elapsed(lambda kernel=kernel: needs_checks(kernel)))
    first, median, proof = times[0] * 1e3, statistics.median(times) * 1e3, statistics.median(proofs) * 1e3
    print(f"trace, simplify and print the fast matmul: median {median:.1f} ms, first {first:.1f} (bar 50)")
    print(f"prove it in bounds: {proof:.1f} ms")
    found = gpu_kernels.launch_times(bench.device, 100 if bench.small else 400)
    print("  ".join(f"{name} {seconds * 1e6:.1f} us" for name, seconds in found.items()))
    one = found["one launch"] / found["one by hand"]
    train = found["of a train of launches"] / found["of a train by hand"]
    print(f"a cached launch takes {one:.2f} of the host time of a dispatch by hand (bar 1.5), {train:.2f} in a train")
    bench.notes["host"] = {
        "trace, simplify and print the kernel of the 4096^3 product": f"{median:.1f} ms (bar 50); at first {first:.1f}",
        "prove that it needs no checks": f"{proof:.1f} ms",
        "one cached launch, submitted at once": f"{found['one launch'] * 1e6:.1f} us, {one:.2f}x by hand (bar 1.5)",
        "a cached launch in a train of 100": f"{found['of a train of launches'] * 1e6:.1f} us, {train:.2f}x by hand",
    }


def _elapsed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def environment(bench: Bench) -> dict[str, object]:
    """What ran, for the record."""

    def version(package: str) -> str:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return "absent"

    packages = ("wgpu", "numpy", "torch", "onnxruntime-webgpu")
    adapter = bench.device.adapter
    return {
        "date": time.strftime("%Y-%m-%d"),
        "device": adapter.summary,
        "driver": adapter.driver,
        "cutepy": cutepy.__version__,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--peers", type=Path, help="folder of ort_webgpu.py")
    arguments.add_argument("--json", type=Path, help="write the result to this file")
    arguments.add_argument("--small", action="store_true", default=None, help="small sizes")
    options = arguments.parse_args()
    bench = Bench(options.peers, options.small)
    print(json.dumps(environment(bench)))
    host_times(bench)
    for n in (128, 256) if bench.small else (512, 1024, 2048, 4096, 8192):
        matmul(bench, n)
    matmul(bench, 128 if bench.small else 4096, checks="always")
    if "shader-f16" in bench.device.features:
        matmul(bench, 128 if bench.small else 4096, "f16")
    memory_bound(bench)
    bank_model(bench)
    result = {**environment(bench), "rows": [asdict(row) for row in bench.rows], "notes": bench.notes}
    print(table(result))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    missed = [f"{row.name} beside {peer}" for row in bench.rows for peer in row.missed]
    if missed and not bench.small:
        raise SystemExit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
