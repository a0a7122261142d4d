"""`cutepy matmul`: the product of two .npy files, and the plan that `--tile 64x64x16` asks for.

`cutepy tune`: the fastest plan of products of given sizes on this machine, found by timing and kept.

Law: the product is within 1e-6 (Frobenius, relative) of NumPy's in float64; which engine ran, and why, is always said.
A matrix is read only if the whole file agrees with its header, and nothing is ever unpickled. A plan fits the limits
given, or CommandError says by how much it does not; nothing is traced to find out.
"""

from __future__ import annotations

import io
import json
import re
import sys
from argparse import Namespace
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from ..errors import CommandError, DeviceError, KernelError
from ..gpu.matmul.api import matmul
from ..gpu.matmul.contraction import kernel_operands
from ..gpu.matmul.cost_model import ProductProblem, choose_plan
from ..gpu.matmul.kernel_fma import matmul_kernel
from ..gpu.matmul.plan import Plan, slab_bytes
from ..gpu.matmul.staging import copy_layout
from ..gpu.matmul.tuner import tune
from ..gpu.operations.domain import power_of_two
from ..gpu.runtime import Adapter, Limits, default_device
from ..gpu.runtime.device_tensor import array
from ..ops.movement import permute
from ..tensor import Tensor, as_dtype, make_gmem_ptr, make_tensor
from .output import STDOUT, check_target, write_answer, write_bytes, write_text

ENGINES = ("auto", "wgpu", "interpreter")

#: What the interpreter stands in for: as much as any adapter is known to have.
INTERPRETED = Limits(workgroup_bytes=65536, invocations=1024, workgroup_size=(1024, 1024, 64))


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """What runs kernels: "wgpu" or "interpreter", how reports call it, why it was taken, and its limits."""

    name: str
    title: str
    reason: str = ""
    limits: Limits = INTERPRETED
    adapter: Adapter | None = None


def choose_engine(asked: str) -> EngineChoice:
    """The engine that `--engine` names. Raises CommandError for another name, DeviceError for wgpu without a device."""
    if asked not in ENGINES:
        raise CommandError(f"--engine {asked}: the engines are {', '.join(ENGINES)}")
    interpreter = "the NumPy interpreter of the same kernel"
    if asked == "interpreter":
        return EngineChoice("interpreter", interpreter, "--engine interpreter")
    try:
        device = default_device()
    except DeviceError as error:
        if asked == "wgpu":
            raise
        return EngineChoice("interpreter", interpreter, str(error))
    return EngineChoice("wgpu", device.adapter.summary, "", device.limits, device.adapter)


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
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    # An asked tile gets the plan with the most threads; else the cost model chooses.
    plan = plan_for(tile, engine.limits, engine.title) if tile else choose_plan(ProductProblem(m, n, k), engine.adapter)
    if options.show:
        write_text(STDOUT, _shown(options.show, a, b, plan))
        if not options.output:
            return
    start = perf_counter()
    c = matmul(a, b, plan=plan, engine=engine.name).numpy()
    seconds = perf_counter() - start
    if options.output:
        buffer = io.BytesIO()
        np.save(buffer, np.ascontiguousarray(c), allow_pickle=False)
        write_bytes(options.output, buffer.getvalue())
    where = "standard output" if options.output == STDOUT else options.output
    answer = {"m": m, "n": n, "k": k, "milliseconds": round(seconds * 1e3, 3), "engine": engine.name}
    answer |= {"device": engine.title, "reason": engine.reason, "tile": plan.tile, "output": where}
    text = json.dumps(answer) if options.json else _report(a, b, plan, engine, seconds, where)
    print(text, file=sys.stderr if options.show or options.output == STDOUT else sys.stdout)


def _sizes(matrix: Matrix) -> str:
    return f"{matrix.shape[0]}x{matrix.shape[1]}"


def _report(a: Matrix, b: Matrix, plan: Plan, engine: EngineChoice, seconds: float, where: str | None) -> str:
    tile = "x".join(map(str, plan.tile))
    why = f" ({engine.reason})" if engine.reason else ""
    return (
        f"C {a.shape[0]}x{b.shape[1]} = A {_sizes(a)} @ B {_sizes(b)}: {seconds * 1e3:.1f} ms on {engine.title}{why}, "
        f"tile {tile}, written to {where or 'nowhere: -o C.npy names a file'}"
    )


def _shown(what: str, a: Matrix, b: Matrix, plan: Plan) -> str:
    """The WGSL of the product's kernel, or its layouts and its grid, as text."""
    c = np.zeros((a.shape[0], b.shape[1]), np.float32)
    left, right, out = (make_tensor(make_gmem_ptr(x, name=name)) for x, name in ((a, "A"), (b, "B"), (c, "C")))
    operands = kernel_operands(left, right, out)
    if what == "wgsl":
        return matmul_kernel.wgsl(*operands, plan=plan)
    kernel = matmul_kernel.ir(*operands, plan=plan)
    blocks = "x".join(map(str, kernel.grid))
    return "\n".join([*kernel.notes, f"{blocks} workgroups of {kernel.workgroup[0]} threads, tile {plan.tile}"])


Matrix = npt.NDArray[np.float32]

_VIEW = re.compile(r"\s*(?:\.T|\[(?P<inside>[^\[\]]*)\])$")
_SLICE = re.compile(r"\s*(-?\d{1,18})?\s*:\s*(-?\d{1,18})?\s*(?::\s*(-?\d{1,18})?\s*)?")


def read_matrix(text: str, name: str) -> Matrix:
    """The float32 matrix that `text` names: a .npy file, transposed or sliced by what follows it (`.T`, `[::2,1:]`).

    Raises CommandError for a file that is missing, truncated or no .npy, for another type or rank, and for what stands
    in brackets and is no slice.
    """
    views: list[str | None] = []  # what stands in brackets; None for a transposition
    path = text
    # `.T` and `[...]` are taken off from the right until what is left is a file; they apply from left to right.
    while not Path(path).exists() and (view := _VIEW.search(path)):
        path = path[: view.start()]
        views.append(view["inside"])
    matrix = _load(Path(path), name)
    for view_text in reversed(views):
        matrix = matrix.T if view_text is None else matrix[_slices(view_text, text, name)]
    return matrix


def _slices(inside: str, text: str, name: str) -> tuple[slice, ...]:
    matches = [_SLICE.fullmatch(part) for part in inside.split(",")]
    numbers = [[int(n) if n else None for n in match.groups()] for match in matches if match]
    if len(numbers) != len(matches) or len(numbers) > 2 or any(entry[2] == 0 for entry in numbers):
        raise CommandError(f"{name}, {text}: [{inside}] is not one or two slices; write [::2] or [:64,::-1]")
    return tuple(slice(*entry) for entry in numbers)


def _load(path: Path, name: str) -> Matrix:
    """The matrix of a .npy file as float32. Raises CommandError for any file that is none, before data is read."""
    where = f"{name}, {path}"
    try:
        with path.open("rb") as file:
            shape, dtype = _header(file, where)
            _check_kind(shape, dtype, where)
            # Compare the file's length with the header before anything is allocated.
            length, needed = path.stat().st_size, int(np.prod(shape, dtype=object)) * dtype.itemsize + file.tell()
            if path.is_file() and length < needed:
                raise CommandError(f"{where}: truncated: the file has {length} bytes, its header promises {needed}")
            file.seek(0)
            array = npy.read_array(file, allow_pickle=False)
    except FileNotFoundError:
        raise CommandError(f"{where}: there is no such file") from None
    except CommandError:
        raise
    except (TypeError, ValueError) as error:  # NumPy takes any literal for a size
        raise CommandError(f"{where}: {error}") from None
    return array.astype(np.float32, copy=False)  # the other byte order becomes this machine's


def _header(file: BinaryIO, where: str) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    """Shape and type of a .npy file; the file is then at its first element."""
    start = file.read(8)
    if start[:6] != b"\x93NUMPY":
        kind = "an .npz archive" if start[:2] == b"PK" else "empty" if not start else "something else"
        raise CommandError(f"{where}: not a .npy file, but {kind}; numpy.save writes one")
    file.seek(0)
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read(file)
    except (ValueError, EOFError, SyntaxError) as error:
        raise CommandError(f"{where}: a truncated or damaged .npy header ({str(error).splitlines()[0]})") from None
    return shape, dtype


def _check_kind(shape: tuple[int, ...], dtype: np.dtype[np.generic], where: str) -> None:
    """Raises CommandError unless it is a float32 matrix, in either byte order."""
    if dtype.hasobject:
        raise CommandError(f"{where}: an array of Python objects is never loaded; save it as float32")
    # Either byte order is float32; every other type is refused, not rounded.
    if dtype != np.dtype(np.float32) and dtype.newbyteorder("=") != np.dtype(np.float32):
        real = "take its real part or multiply four times"
        hint = real if dtype.kind == "c" else "convert it with .astype('float32')"
        raise CommandError(f"{where}: the type is {dtype}, a matmul takes float32; {hint}")
    if len(shape) != 2:
        raise CommandError(f"{where}: rank {len(shape)}, shape {shape}; a matrix has rank 2, so reshape it")


Tile = tuple[int, int, int]

_MOST_THREADS = 256
_BLOCK = 4
_MOST_SUMS = 256


def parse_tile(text: str) -> Tile:
    """The rows, columns and depth of a tile.

    >>> parse_tile("64x64x16")
    (64, 64, 16)

    Raises CommandError for anything but three numbers from 1 on, rows and columns multiples of 4.
    """
    match = re.fullmatch(r"(\d{1,9})[xX](\d{1,9})[xX](\d{1,9})", text.strip(), re.ASCII)
    if match is None:
        raise CommandError(f"--tile {text}: a tile is three numbers, rows x columns x depth, as 64x64x16")
    m, n, k = map(int, match.groups())
    if min(m, n, k) < 1:
        raise CommandError(f"--tile {text}: rows, columns and depth are at least 1, as in 64x64x16")
    if m % _BLOCK or n % _BLOCK:
        near = "x".join(str(-(-extent // _BLOCK) * _BLOCK) for extent in (m, n))
        raise CommandError(f"--tile {text}: rows and columns must be multiples of {_BLOCK}; {near}x{k} would do")
    return m, n, k


def plan_for(tile: Tile, limits: Limits, device: str) -> Plan:
    """The plan with this tile and the most threads, each with the squarest share. Raises CommandError if none fits."""
    text = "x".join(map(str, tile))
    shared = slab_bytes(tile)
    if shared > limits.workgroup_bytes:
        raise CommandError(
            f"--tile {text} needs {shared} bytes of workgroup memory, {device} has {limits.workgroup_bytes}"
        )
    most = min(_MOST_THREADS, limits.invocations)
    if plan := _best(tile, most):
        return plan
    if tile[0] * tile[1] > most * _MOST_SUMS:
        raise CommandError(
            f"--tile {text} has {tile[0] * tile[1]} sums, {most} threads hold at most {most * _MOST_SUMS}; "
            "choose fewer rows or columns"
        )
    # Suggest the tile rounded to powers of two where that fits, else one that always does.
    m, n, k = map(power_of_two, tile)
    rounded = m, n, k
    works = rounded if slab_bytes(rounded) <= limits.workgroup_bytes and _best(rounded, most) else (64, 64, 16)
    raise CommandError(
        f"--tile {text}: no number of threads shares it out evenly with at most {_MOST_SUMS} sums each; "
        f"{'x'.join(map(str, works))} would do"
    )


def _best(tile: Tile, most: int) -> Plan | None:
    """The plan with the most threads, then with the squarest shares, whose copies share out both tiles among the
    threads, whichever way the operands are stored."""
    rows, columns = tile[0] // _BLOCK, tile[1] // _BLOCK
    # A thread owns blocks of _BLOCK x _BLOCK sums, so thread counts divide rows and columns counted in blocks.
    sides = [tm for tm in range(1, most + 1) if rows % tm == 0]
    shapes = [(tm, tn) for tm in sides for tn in range(1, most // tm + 1) if columns % tn == 0]
    for tm, tn in sorted(shapes, key=lambda t: (-t[0] * t[1], abs(rows // t[0] - columns // t[1]))):
        if tile[0] * tile[1] <= _MOST_SUMS * tm * tn:
            with suppress(KernelError, ZeroDivisionError):
                for extent, along_k in product(tile[:2], (True, False)):
                    # Raises KernelError where the threads cannot share the copy of a tile of that extent evenly.
                    copy_layout((extent, tile[2]), None, tm * tn, along_k=along_k)
                return Plan(tile, (tm, tn))
    return None


def run_tune(options: Namespace) -> None:
    """Find, print and keep the fastest plan of each product, one after another."""
    for text in options.sizes:
        a, b = tune_operands(text, options.dtype, options.order)
        plans = tune(
            a, b, seconds=options.seconds, limit=options.limit, again=options.again, progress=sys.stderr.isatty()
        )
        data = {"product": text, "plan": asdict(plans.plan), "seconds": plans.seconds, "known": plans.cached}
        write_answer(options, str(plans), data)
        sys.stdout.flush()


def tune_operands(text: str, dtype: str, order: str) -> tuple[Tensor, Tensor]:
    """Operands on the default device of the product that a text names, "8x512x512x64"."""
    if not re.fullmatch(r"([1-9]\d*x)?[1-9]\d*x[1-9]\d*x[1-9]\d*", text):
        raise CommandError(f"{text}: write MxNxK, 4096x4096x1024, or BxMxNxK for a batch of B")
    *batch, m, n, k = map(int, text.split("x"))
    shapes = [(*batch, m, k), (*batch, k, n)]
    one, other = (_operand(shape, dtype, letter) for shape, letter in zip(shapes, order, strict=True))
    return one, other


def _operand(shape: tuple[int, ...], dtype: str, letter: str) -> Tensor:
    """Zeros of this shape; for "T" with the last two axes exchanged in memory."""
    axes = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    zeros = np.zeros([shape[axis] for axis in axes] if letter == "T" else shape, as_dtype(dtype).numpy)
    return permute(array(zeros), axes) if letter == "T" else array(zeros)
