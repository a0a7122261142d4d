"""`cutepy matmul`: the product of two files.

Law: the product is within 1e-6 (Frobenius, relative) of NumPy's in float64;
which engine ran, and why, is always said.
"""

from __future__ import annotations

import io
import sys
from argparse import Namespace
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ..errors import CommandError, DeviceError
from ..gpu.matmul import Plan, choose_plan, matmul, matmul_kernel
from ..gpu.runtime import Adapter, Limits, default_device
from ..layout import select
from ..tensor import Tensor, make_gmem_ptr, make_tensor
from .matrices import Matrix, read_matrix
from .output import STDOUT, check_target, write_bytes, write_text
from .tiles import parse_tile, plan_for

ENGINES = ("auto", "wgpu", "numpy")

#: What the interpreter stands in for: as much as any adapter is known to have.
INTERPRETED = Limits(workgroup_bytes=65536, invocations=1024, workgroup_size=(1024, 1024, 64))


@dataclass(frozen=True, slots=True)
class Engine:
    """What runs kernels: "wgpu" or "numpy", how reports call it, why it was taken, and its limits."""

    name: str
    title: str
    reason: str = ""
    limits: Limits = INTERPRETED
    adapter: Adapter | None = None


def choose_engine(asked: str) -> Engine:
    """The engine that `--engine` names. Raises CommandError for another name, DeviceError for wgpu without a device."""
    if asked not in ENGINES:
        raise CommandError(f"--engine {asked}: the engines are {', '.join(ENGINES)}")
    interpreter = "the NumPy interpreter of the same kernel"
    if asked == "numpy":
        return Engine("numpy", interpreter, "--engine numpy")
    try:
        device = default_device()
    except DeviceError as error:
        if asked == "wgpu":
            raise
        return Engine("numpy", interpreter, str(error))
    return Engine("wgpu", device.adapter.summary, "", device.limits, device.adapter)


def run_matmul(options: Namespace) -> None:
    """Read A and B, multiply, write C, say what ran."""
    if options.engine not in ENGINES:
        choose_engine(options.engine)
    tile = None if options.tile is None else parse_tile(options.tile)
    if options.output:
        check_target(options.output)
    a, b = read_matrix(options.A, "A"), read_matrix(options.B, "B")
    if a.shape[1] != b.shape[0]:
        raise CommandError(
            f"the inner sizes differ: A is {_sizes(a)}, B is {_sizes(b)}, and {a.shape[1]} is not {b.shape[0]}"
        )
    engine = choose_engine(options.engine)
    plan = (
        choose_plan(a.shape[0], b.shape[1], a.shape[1], engine.adapter)
        if tile is None
        else plan_for(tile, engine.limits, engine.title)
    )
    if options.show:
        write_text(STDOUT, _shown(options.show, a, b, plan))
        if not options.output:
            return
    start = perf_counter()
    c = matmul(a, b, plan=plan, engine=engine.name).numpy()
    seconds = perf_counter() - start
    if options.output:
        write_bytes(options.output, _as_npy(np.ascontiguousarray(c)))
    report = sys.stderr if options.show or options.output == STDOUT else sys.stdout
    print(_report(a, b, plan, engine, seconds, options.output), file=report)


def _as_npy(matrix: Matrix) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, matrix, allow_pickle=False)
    return buffer.getvalue()


def _sizes(matrix: Matrix) -> str:
    return f"{matrix.shape[0]}x{matrix.shape[1]}"


def _report(a: Matrix, b: Matrix, plan: Plan, engine: Engine, seconds: float, output: str | None) -> str:
    tile = "x".join(map(str, plan.tile))
    why = f" ({engine.reason})" if engine.reason else ""
    where = "standard output" if output == STDOUT else output or "nowhere: -o C.npy names a file"
    return (
        f"C {a.shape[0]}x{b.shape[1]} = A {_sizes(a)} @ B {_sizes(b)}: {seconds * 1e3:.1f} ms on {engine.title}{why}, "
        f"tile {tile}, written to {where}"
    )


def _operands(a: Matrix, b: Matrix) -> tuple[Tensor, Tensor, Tensor]:
    """The operands as the kernel takes them: A (m,k), B (n,k), C (m,n)."""
    named = [make_tensor(make_gmem_ptr(x, name=name)) for x, name in ((a, "A"), (b, "B"))]
    c = np.zeros((a.shape[0], b.shape[1]), np.float32)
    second = named[1].lift_layout(select, 1, 0)
    return named[0], second, make_tensor(make_gmem_ptr(c, name="C"))


def _shown(what: str, a: Matrix, b: Matrix, plan: Plan) -> str:
    operands = _operands(a, b)
    if what == "wgsl":
        return matmul_kernel.wgsl(*operands, plan=plan)
    kernel = matmul_kernel.ir(*operands, plan=plan)
    blocks = "x".join(map(str, kernel.grid))
    return "\n".join([*kernel.notes, f"{blocks} workgroups of {kernel.workgroup[0]} threads, tile {plan.tile}"])
