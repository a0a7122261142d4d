"""CUDA C++ texts on an NVIDIA GPU: `python tools/cuda_on_device.py [SECONDS]` (at most so many, 240). It needs
torch and the wheels nvidia-cuda-nvrtc-cu12 and nvidia-cuda-runtime-cu12.

Every kernel of the tests is written as CUDA C++, compiled, and run on the data of its test beside the interpreter. Then
the f32 product of 4096 as CUDA C++, as WGSL and by cuBLAS. Each difference is printed; the last line counts.
"""

import ctypes
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), *(str(ROOT / "tests" / room) for room in ("gpu", "", "device"))]

from every_kernel import every_kernel  # noqa: E402  found by the path above
from nvrtc import compiled  # noqa: E402

from cutepy import LayoutRight, gpu, make_tensor, ops  # noqa: E402
from cutepy.errors import CutepyError, KernelError  # noqa: E402
from cutepy.gpu.ir import new_arena  # noqa: E402
from cutepy.gpu.lower import compile_kernel, lower  # noqa: E402
from cutepy.gpu.runtime.buffer import as_bytes, from_bytes, padded  # noqa: E402
from cutepy.gpu.targets.cuda import write_cuda  # noqa: E402
from cutepy.gpu.targets.interpreter import interpret  # noqa: E402

SIDE, WARM_UP = 4096, 0.3
DRIVER = ctypes.CDLL("libcuda.so.1")


def function_of(text: str, entry: str) -> int | None:
    """The handle of a compiled kernel; its module stays loaded."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    asked(DRIVER.cuModuleLoadData(ctypes.byref(module), compiled(text)), "cuModuleLoadData")
    asked(DRIVER.cuModuleGetFunction(ctypes.byref(function), module, entry.encode()), "cuModuleGetFunction")
    return function.value


def asked(failed: int, what: str) -> None:
    """Raise RuntimeError where the driver refuses."""
    if failed:
        raise RuntimeError(f"{what}: {failed}")


def launch(
    function: int | None, grid: tuple[int, ...], block: tuple[int, ...], buffers: list[torch.Tensor], params: bytes
) -> None:
    """Launch over these buffers, and a struct of parameters where there are any."""
    held = [ctypes.c_void_p(buffer.data_ptr()) for buffer in buffers]
    if params:
        held.append(ctypes.create_string_buffer(params, len(params)))
    pointers = (ctypes.c_void_p * len(held))(*[ctypes.cast(ctypes.byref(x), ctypes.c_void_p) for x in held])
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    asked(DRIVER.cuLaunchKernel(ctypes.c_void_p(function), *grid, *block, 0, stream, pointers, None), "cuLaunchKernel")


def uploaded(array: np.ndarray) -> torch.Tensor:
    """The bytes of an array on the device, as a buffer of WebGPU holds them: bools are words, the end is zeros."""
    data = as_bytes(array)
    whole = np.zeros(padded(data.size), np.uint8)
    whole[: data.size] = data
    return torch.from_numpy(whole).cuda()


def check(run: object) -> str:
    """Run one kernel both ways: "right", "refused", or what differs."""
    kernel, args, static = run.kernel, run.arguments, run.static
    call = kernel._bind(args, dict(static))
    # A kernel for unknown sizes runs as such; the interpreter takes it with this call's sizes in their place.
    sized = kernel._sized(call) if kernel._specs else None
    traced = kernel._form(call).kernel if sized is None else sized.traced.kernel
    numbers = call.params if sized is None else {**call.params, **sized.params}
    with new_arena():
        ready = lower(traced)
        try:
            source = write_cuda(ready, guarded=True)
        except KernelError:
            return "refused"
        program = compile_kernel(traced)
    arrays = [np.array(engine.memory) for engine in call.engines]
    buffers = [uploaded(array) for array in arrays]
    params = program.pack([numbers[p.name] for p in program.params]) if program.params else b""
    grid = source.grid if sized is None else sized.grid
    launch(function_of(source.text, source.entry), grid, source.block, buffers, params)
    torch.cuda.synchronize()
    interpret(traced if sized is None else sized.kernel, arrays, call.params)
    for binding, buffer, want in zip(program.bindings, buffers, arrays, strict=True):
        if binding.access != "read_write":
            continue
        mine = from_bytes(buffer.cpu().numpy()[: as_bytes(want).size], want.dtype).reshape(want.shape)
        if want.dtype.kind == "f":
            finite = np.isfinite(want)
            scale = np.abs(want[finite]).max(initial=0) or 1
            near = np.allclose(
                mine, want, rtol=2e-3 if want.dtype == np.float16 else 2e-5, atol=1e-5 * scale, equal_nan=True
            )
            if not near:
                return f"{binding.name}: apart by {np.nanmax(np.abs(mine - want)[finite]):.3g} of {scale:.3g}"
        elif not np.array_equal(mine, want):
            return f"{binding.name}: {int((mine != want).sum())} of {want.size} differ"
    return "right"


def product() -> None:
    """The f32 product of 4096, three ways, in TFLOP/s."""
    from cutepy.gpu.matmul.contraction import kernel_operands
    from cutepy.gpu.matmul.cost_model import ProductProblem, choose_plan
    from cutepy.gpu.matmul.kernel_fma import matmul_kernel

    device = gpu.default_device()
    a, b, c = (make_tensor("f32", (SIDE, SIDE), LayoutRight) for _ in "abc")
    plan = choose_plan(ProductProblem(SIDE, SIDE, SIDE), device.adapter)
    traced = matmul_kernel.ir(*kernel_operands(a, b, c), plan=plan)
    with new_arena():
        source = write_cuda(lower(traced))
    x, y = (np.random.default_rng(i).standard_normal((SIDE, SIDE), dtype=np.float32) for i in range(2))
    buffers = [uploaded(array) for array in (x, y, np.zeros_like(x))]
    function = function_of(source.text, source.entry)

    def timed(work) -> float:
        begin = time.perf_counter()
        while time.perf_counter() - begin < WARM_UP:
            work()
            torch.cuda.synchronize()
        seconds = []
        for _ in range(10):
            events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            events[0].record()
            work()
            events[1].record()
            events[1].synchronize()
            seconds.append(events[0].elapsed_time(events[1]) * 1e-3)
        return statistics.median(seconds)

    mine = timed(lambda: launch(function, source.grid, source.block, buffers, b""))
    got = buffers[2].cpu().numpy()[: x.nbytes].view(np.float32).reshape(SIDE, SIDE)
    want = x[:8].astype(np.float64) @ y
    error = np.abs(got[:8] - want).max() / np.abs(want).max()
    left, right = torch.from_numpy(x).cuda(), torch.from_numpy(y).cuda()  # f32 alone: torch's default
    theirs = timed(lambda: torch.matmul(left, right))
    A, B, C = gpu.array(x), gpu.array(y), gpu.empty((SIDE, SIDE))
    begin = time.perf_counter()
    while time.perf_counter() - begin < WARM_UP:
        ops.matmul(A, B, C, engine="wgpu")
        device.wait()
    with device.timed() as watch:
        for _ in range(10):
            ops.matmul(A, B, C, engine="wgpu")
    rate = [2 * SIDE**3 / s * 1e-12 for s in (mine, watch.seconds / 10, theirs)]
    print(
        f"f32 {SIDE}: CUDA C++ {rate[0]:.1f}, WGSL {rate[1]:.1f}, cuBLAS {rate[2]:.1f} TFLOP/s; error {error:.1e}",
        flush=True,
    )


def main() -> None:
    print(torch.cuda.get_device_name(), flush=True)
    ends = time.perf_counter() + float(sys.argv[1] if len(sys.argv) > 1 else 240)
    try:
        product()
    except CutepyError as error:
        print(f"product: {error}", flush=True)
    counts: Counter[str] = Counter()
    for name, run in every_kernel().items():
        if time.perf_counter() > ends:
            counts["not run"] += 1
            continue
        try:
            said = check(run)
        except Exception as error:
            said = f"{type(error).__name__}: {str(error)[:300]}"
        counts[said if said in ("right", "refused") else "wrong"] += 1
        if said not in ("right", "refused"):
            print(f"{name}: {said}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())), flush=True)


if __name__ == "__main__":
    main()
