"""Matrices of a subgroup on a real GPU, in one go: `python tools/h200_mma.py` (about two and a half minutes at most).

Each line is printed as soon as it is known. Jobs run in a process of their own, which is ended and begun again after a
job that takes too long; the most important come first. `--list` names them, `--only a,b` runs some, `--dry` runs all
at small sizes on whatever adapter there is (Dawn's null backend with WGPU_BACKEND_TYPE=Null computes nothing).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

import numpy as np  # noqa: E402  found by the path above
from limited import run_limited, say  # noqa: E402

LIMIT, TOTAL = 30.0, 150.0
THIN = (
    *[(m, 4096, 4096) for m in (1, 16, 32, 64, 128, 256, 512)],
    (300, 300, 20000),
    (4096, 4096, 64),
)
DRY = "--dry" in sys.argv  # so too in the process of the jobs, which has the same arguments


class Cuda:
    """torch's GPU, where it is there: operands, references and its own time."""

    def __init__(self) -> None:
        try:
            import torch

            self.torch: Any = torch if torch.cuda.is_available() else None
        except Exception:
            self.torch = None

    def operands(self, a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> tuple[Any, Any]:
        """Two arrays of normal f16, on the host."""
        if self.torch is not None:
            self.torch.manual_seed(0)
            made = [self.torch.randn(*s, device="cuda").half() for s in (a_shape, b_shape)]
            return tuple(x.cpu().numpy() for x in made)
        rng = np.random.default_rng(0)
        return tuple(rng.standard_normal(s, np.float32).astype(np.float16) for s in (a_shape, b_shape))

    def product(self, a: Any, b: Any) -> Any:
        """a @ b in f64 (in whole numbers for integers)."""
        if self.torch is not None:
            x, y = (self.torch.from_numpy(np.ascontiguousarray(t)).cuda().double() for t in (a, b))
            return (x @ y).cpu().numpy()
        return a.astype(np.float64) @ b.astype(np.float64)

    def microseconds(self, a: Any, b: Any) -> float:
        """How long torch takes for the same product, in f16 (8-bit integers by its own function)."""
        if self.torch is None:
            return float("nan")
        torch = self.torch
        x, y = (torch.from_numpy(np.ascontiguousarray(t)).cuda() for t in (a, b))
        run: Callable[[], Any] = (lambda: torch._int_mm(x, y)) if a.dtype == np.int8 else (lambda: x @ y)
        try:
            run()
        except Exception:
            return float("nan")
        torch.cuda.synchronize()
        started = time.perf_counter()
        while time.perf_counter() - started < 0.3:
            run()
            torch.cuda.synchronize()
        count = 20
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(count):
            run()
        end.record()
        torch.cuda.synchronize()
        return float(begin.elapsed_time(end)) * 1e3 / count


def error(found: Any, right: Any) -> float:
    """The relative error by norms."""
    difference = np.asarray(found, np.float64) - right
    return float(np.sqrt((difference**2).sum()) / max(1e-30, np.sqrt((right**2).sum())))


class Raw:
    """Dawn by hand: one device without checks, programs by their text. Nothing of `cutepy.gpu.runtime`."""

    def __init__(self) -> None:
        import wgpudawn
        from wgpudawn.backends.dawn import extras

        self.wgpu: Any = wgpudawn
        toggles = ["allow_unsafe_apis", "vulkan_enable_f16_on_nvidia", "use_vulkan_memory_model"]
        with suppress(RuntimeError):  # cutepy gave them before
            extras.set_instance_extras(enable_toggles=toggles)
        adapter = wgpudawn.gpu.request_adapter_sync(power_preference="high-performance")
        limits = adapter.limits
        names = (
            "max-compute-workgroup-storage-size",
            "max-compute-invocations-per-workgroup",
            "max-compute-workgroup-size-x",
            "max-buffer-size",
            "max-storage-buffer-binding-size",
        )
        self.device: Any = extras.request_device_sync(
            adapter,
            required_features=["shader-f16", "subgroups", "chromium-experimental-subgroup-matrix"],
            required_limits={name: limits[name] for name in names if name in limits},
            enable_toggles=["disable_robustness", "disable_workgroup_init", "skip_validation"],
        )
        configs = extras.get_adapter_properties(adapter).get("subgroup_matrix_configs")
        say("raw Dawn:", adapter.info["device"], "|", configs)

    def buffer(self, array: Any) -> Any:
        usage = self.wgpu.BufferUsage
        flags = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        return self.device.create_buffer_with_data(data=np.ascontiguousarray(array).reshape(-1), usage=flags)

    def pipeline(self, program: Any, buffers: list[Any]) -> tuple[Any, Any]:
        module = self.device.create_shader_module(code=program.wgsl)
        compute = {"module": module, "entry_point": program.entry}
        pipeline = self.device.create_compute_pipeline(layout="auto", compute=compute)
        entries = [
            {"binding": i, "resource": {"buffer": b, "offset": 0, "size": b.size}} for i, b in enumerate(buffers)
        ]
        group = self.device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
        return pipeline, group

    def launch(self, pipeline: Any, group: Any, grid: tuple[int, int, int], count: int, wait_for: Any) -> float:
        """Seconds for `count` launches, with the way back of a few bytes."""
        started = time.perf_counter()
        encoder = self.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        for _ in range(count):
            compute.dispatch_workgroups(*grid)
        compute.end()
        self.device.queue.submit([encoder.finish()])
        self.device.queue.read_buffer(wait_for, 0, 16)
        return time.perf_counter() - started

    def microseconds(self, program: Any, buffers: list[Any]) -> float:
        pipeline, group = self.pipeline(program, buffers)
        grid, last = program.grid, buffers[-1]
        one = self.launch(pipeline, group, grid, 1, last)
        if DRY:
            return one * 1e6
        started, count = time.perf_counter(), 4
        while time.perf_counter() - started < 0.3:
            one = min(one, self.launch(pipeline, group, grid, count, last) / count)
        count = max(4, min(400, int(0.06 / max(one, 1e-7))))
        few = min(self.launch(pipeline, group, grid, count, last) for _ in range(2))
        many = min(self.launch(pipeline, group, grid, 3 * count, last) for _ in range(2))
        return (many - few) / (2 * count) * 1e6

    def read(self, buffer: Any, like: Any) -> Any:
        return np.frombuffer(self.device.queue.read_buffer(buffer), like.dtype)[: like.size].reshape(like.shape)


@dataclass
class Tools:
    """What jobs share, made when it is first asked for."""

    cuda: Cuda
    raw_: Raw | None = None
    device_: Any = None

    @property
    def raw(self) -> Raw:
        if self.raw_ is None:
            self.raw_ = Raw()
        return self.raw_

    @property
    def device(self) -> Any:
        if self.device_ is None:
            from cutepy import gpu

            os.environ["CUTEPY_RUNTIME"] = "dawn"
            self.device_ = gpu.default_device()
            say("cutepy on:", self.device_)
        return self.device_


Job = Callable[[Tools], None]


def rate(flops: float, microseconds: float) -> str:
    return f"{flops / microseconds / 1e6:7.1f} TFLOP/s {microseconds:9.1f} us"


def through_matmul(a_shape: tuple[int, ...], b_shape: tuple[int, ...], **how: Any) -> Job:
    """A product through `ops.matmul`, on the device of its operands, beside torch's."""

    def job(tools: Tools) -> None:
        from cutepy import gpu, ops

        turned, options = how.get("turned", (False, False)), how.get("options", {})
        integers = options.get("sums") == "i32"
        if integers:
            rng = np.random.default_rng(0)
            a, b = (rng.integers(-128, 128, shape, dtype=np.int8) for shape in (a_shape, b_shape))
        else:
            a, b = tools.cuda.operands(a_shape, b_shape)
        if DRY:
            a, b = (x[..., :128, :128] for x in (a, b))
            a, b = (np.ascontiguousarray(x[:2] if x.ndim > 2 else x) for x in (a, b))
        a, b = (x.swapaxes(-1, -2) if t else x for x, t in zip((a, b), turned, strict=True))
        x, y = (gpu.array(t, device=tools.device) for t in (a, b))
        c = ops.matmul(x, y, **options)
        into = {} if integers else {"C": c}
        say("   ", gpu.explain_matmul(x, y, **options))
        flops = 2.0 * np.prod(a.shape) * b.shape[-1]
        torch_time = tools.cuda.microseconds(a, b)
        took, wall = _time_matmul(lambda: ops.matmul(x, y, **into, **options), c, tools.device)
        right = tools.cuda.product(a, b)
        found = f"error {error(c.numpy(), right):.2e}"
        say(f"    {rate(flops, took)} (wall {wall:.1f} us) | torch {rate(flops, torch_time)} | {found}")

    return job


def _time_matmul(run: Callable[[], Any], result: Any, device: Any) -> tuple[float, float]:
    """Microseconds of a call: of its launches by the device's clock, and by the wall."""

    def batch(count: int) -> float:
        started = time.perf_counter()
        for _ in range(count):
            run()
        result.engine.buffer.read(np.uint32, 4)
        return time.perf_counter() - started

    one = batch(1)
    if DRY:
        return one * 1e6, one * 1e6
    started = time.perf_counter()
    while time.perf_counter() - started < 0.3:
        one = min(one, batch(4) / 4)
    count = max(4, min(200, int(0.06 / max(one, 1e-7))))
    few, many = min(batch(count) for _ in range(2)), min(batch(3 * count) for _ in range(2))
    wall = (many - few) / (2 * count) * 1e6
    if "timestamp-query" not in device.features:
        return wall, wall
    best = float("inf")
    for _ in range(3):
        with device.timed() as watch:
            for _ in range(count):
                run()
        best = min(best, watch.seconds / count * 1e6)
    return best, wall


def by_built_in(text: str) -> str:
    """The same kernel with the built-in number of the subgroup."""
    line = "let subgroup = subgroupBroadcastFirst(tid / 32u);"
    assert line in text
    return text.replace(line, "").replace("tid: u32)", "tid: u32, @builtin(subgroup_id) subgroup: u32)")


def variant(plan_of: Callable[[], Any], size: int = 4096, text: Callable[[str], str] = str) -> Job:
    """One plan at a size, by hand: A in rows, B in rows or, where the plan stages it along k, in columns."""

    def job(tools: Tools) -> None:
        from cutepy.gpu.matmul.kernel_subgroup import matrix_matmul_kernel

        plan = plan_of()
        n = max(plan.tile[:2]) * 2 if DRY else size
        integers = plan.types[0] == "i8"
        if integers:
            rng = np.random.default_rng(0)
            a, b = (rng.integers(-128, 128, (n, n), dtype=np.int8) for _ in "ab")
            x, y, c = a.view(np.int32), b.view(np.int32), np.zeros((n, n), np.int32)
            if not plan.columns[1]:
                y = np.ascontiguousarray(b.T).view(np.int32).T
        else:
            a, b = tools.cuda.operands((n, n), (n, n))
            x, y, c = a, b if plan.columns[1] else np.asfortranarray(b), np.zeros((n, n), np.float32)
        program = matrix_matmul_kernel.program(x, y.T, c, plan=plan)
        program = replace(program, wgsl=text(program.wgsl))
        raw = tools.raw
        buffers = [raw.buffer(x), raw.buffer(y if y.flags.c_contiguous else y.T), raw.buffer(c)]
        took = raw.microseconds(program, buffers)
        found = raw.read(buffers[2], c)
        rows = slice(0, n, max(1, n // 64))
        if integers:
            right: Any = a[rows].astype(np.int64) @ b.astype(np.int64) if n <= 1024 else None
            if right is None:
                right = np.rint(a[rows].astype(np.float64) @ b.astype(np.float64))
            told = f"exact {bool((found[rows] == right).all())}"
        else:
            told = f"error {error(found[rows], tools.cuda.product(a[rows], b)):.2e}"
        torch_time = tools.cuda.microseconds(a, b) if integers else float("nan")
        beside = f" | torch {rate(2.0 * n**3, torch_time)}" if integers else ""
        words = f"shared {program.shared_bytes}, {'checked' if program.checked else 'unchecked'}"
        say(f"    {rate(2.0 * n**3, took)} | {told} | {words}{beside}")

    return job


def jobs() -> Iterator[tuple[str, Job]]:
    """All jobs, the most important first."""

    def plan(**fields: Any) -> Callable[[], Any]:
        def made() -> Any:
            from cutepy.gpu.matmul.cost_model import MATRIX_LARGE

            return replace(MATRIX_LARGE, **fields)

        return made

    def square(n: int) -> Job:
        return through_matmul((n, n), (n, n))

    integers = {"shape": (16, 16, 32), "types": ("i8", "i32"), "padding": 4, "columns": (False, False)}
    yield "matmul 4096", square(4096)
    yield "raw 4096: as planned", variant(plan())
    yield "raw 4096: B along k", variant(plan(columns=(False, False)))
    yield "raw 4096: A turned", variant(plan(columns=(True, True)))
    yield "raw 4096: A turned, without lanes", variant(plan(columns=(True, True), lanes=None))
    yield "matmul 8192", square(8192)
    for n in (2048, 1024, 512, 3072):
        yield f"matmul {n}", square(n)
    for m, n, k in THIN:
        yield f"matmul {m}x{n}x{k}", through_matmul((m, k), (k, n))
    for m in (16, 1):
        yield f"matmul {m}x4096x4096, B turned", through_matmul((m, 4096), (4096, 4096), turned=(False, True))
    yield "matmul 4095x4097x4099", through_matmul((4095, 4099), (4099, 4097))
    yield "matmul 4096, both turned", through_matmul((4096, 4096), (4096, 4096), turned=(True, True))
    yield "matmul 64 x 512", through_matmul((64, 512, 512), (64, 512, 512))
    yield "raw i8 4096", variant(plan(tile=(128, 128, 64), **integers))
    yield "raw i8 4096, B across k", variant(plan(tile=(128, 128, 64), **{**integers, "columns": (False, True)}))
    yield "matmul 4096, B turned", through_matmul((4096, 4096), (4096, 4096), turned=(False, True))
    yield "matmul 4096, i8", through_matmul((4096, 4096), (4096, 4096), turned=(False, True), options={"sums": "i32"})
    yield "matmul 4096, f16 sums", through_matmul((4096, 4096), (4096, 4096), options={"sums": "f16"})
    yield "raw 4096: two stages", variant(plan(stages=2))
    yield "raw 4096: k 16, two stages", variant(plan(tile=(128, 128, 16), stages=2))
    yield "raw 4096: k 64", variant(plan(tile=(128, 128, 64)))
    yield "raw 4096: bands of 8", variant(plan(band=8))
    yield "raw 4096: built-in subgroup_id", variant(plan(), text=by_built_in)
    yield "raw 8192: bands of 8", variant(plan(band=8), 8192)
    yield "raw 4096: 8 subgroups, 128x256", variant(plan(tile=(128, 256, 32), subgroups=(2, 4)))
    yield "raw 4096: 8 subgroups, 256x128", variant(plan(tile=(256, 128, 32), subgroups=(4, 2)))
    yield "raw 4096: 16x8x16", variant(plan(shape=(16, 8, 16)))
    yield "raw 4096: not ahead", variant(plan(ahead=False))
    yield "raw 4096: padding 24", variant(plan(padding=24))
    for n in (512, 1024, 2048, 3072):
        for tile in ((128, 128, 32), (64, 128, 32), (128, 64, 32), (64, 64, 32), (32, 32, 32), (64, 64, 64)):
            if tile == (32, 32, 32) and n > 1024:
                continue
            yield f"raw {n}: {tile}", variant(plan(tile=tile), n)
    yield "raw i8 4096, k 128", variant(plan(tile=(128, 128, 128), **integers))


def work(name: str) -> None:
    """Run one job here."""
    say(name)
    dict(jobs())[name](tools())


@cache
def tools() -> Tools:
    """Those of this process."""
    return Tools(Cuda())


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--only", default="")
    reader.add_argument("--list", action="store_true")
    reader.add_argument("--dry", action="store_true")
    reader.add_argument("--total", type=float, default=TOTAL)
    given = reader.parse_args()
    names = [name for name, _ in jobs()]
    if given.list:
        say("\n".join(names))
        return
    wanted = [name for name in names if not given.only or any(part in name for part in given.only.split(","))]
    run_limited(work, wanted, limit=LIMIT, total=given.total)


if __name__ == "__main__":
    main()
