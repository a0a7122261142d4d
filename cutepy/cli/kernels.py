"""`cutepy wgsl`, `verify`, `report`, `export`, `adapters`: kernels as text, theorems and figures, and what runs them.

A kernel is named as `matmul`, `sum`, or `module:kernel`, `file.py:kernel`: that module is imported, which runs it. Its
arguments are layouts, so no data is needed; keyword arguments are read as Python literals or layouts, never evaluated.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from typing import Any

from ..errors import CommandError, CutepyError, DeviceError, LayoutError
from ..gpu.matmul.contraction import kernel_operands
from ..gpu.matmul.cost_model import ProductProblem, choose_plan
from ..gpu.matmul.kernel_fma import matmul_kernel
from ..gpu.operations.fold import fold_kernel
from ..gpu.operations.operand import ExecutionSite
from ..gpu.operations.reductions import Reduction, launches
from ..gpu.reader import Bindings, verify_shader
from ..gpu.runtime import Limits, adapters, choose_adapter, missing_runtimes
from ..gpu.trace.kernel import KernelFunction
from ..gpu.trace.source import TENSOR_MEANT
from ..gpu.verify.verdict import Verification
from ..layout import LayoutRight, parse_layout
from ..layout.symbolic.given import symbols_of
from ..layout.values.layout import Layout
from ..tensor import DTYPES, Tensor, as_dtype, make_tensor
from ..tensor.bulk import mode_sizes
from ..tensor.rules import folded_type
from .matmul import parse_tile, plan_for
from .output import check_target, write_answer, write_text

#: The optional features of devices that kernels use.
_FEATURES = ("shader-f16", "subgroups", "timestamp-query", "shader-int64", "shader-float32-atomic")

_TYPED = re.compile(r"\s*(?:(?P<type>[a-z]\w*)\s+)?(?P<layout>.*)", re.DOTALL)
_EXTENTS = re.compile(r"\d{1,18}(?:x\d{1,18})*", re.ASCII)
_BOUND = re.compile(
    r"(?P<name>\w+(?:\.\w+)*)=(?:(?:[a-z]\w*)?\[(?P<length>\d{1,10})\]|(?P<number>[-+]?\d+\.?\d*(?:e[-+]?\d+)?))",
    re.ASCII,
)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A kernel, its arguments and its static keywords."""

    kernel: KernelFunction
    arguments: tuple[Tensor | float, ...]
    static: dict[str, object]

    @contextmanager
    def traced(self) -> Iterator[None]:
        """What a kernel of the user's raises while it is traced is its own affair, and anything: one line says it."""
        count = next((argument for argument in self.arguments if type(argument) is int), None)
        hint = "" if count is None else f"; {count} is a number, an array of {count} elements is {count}:1"
        try:
            yield
        except CutepyError as error:
            if str(error).endswith(TENSOR_MEANT):
                raise CommandError(f"{error}{hint}") from error
            raise
        except Exception as error:
            # The innermost frame in the kernel's own file is the line to name.
            file = self.kernel.function.__code__.co_filename
            lines = [entry.lineno for entry in extract_tb(error.__traceback__) if entry.filename == file]
            location = f"{Path(file).name}:{lines[-1]}: " if lines else ""
            raise CommandError(f"{location}{type(error).__name__}: {error}{hint}") from error


def run_wgsl(options: Namespace) -> None:
    check_target(options.output)
    call = kernel_call(options)
    with call.traced():
        text = call.kernel.wgsl(*call.arguments, dialect=options.dialect, **call.static)
    write_text(options.output, text)


def run_verify(options: Namespace) -> int:
    """Write the verdicts on the kernel; 0 if every claim is proven, 1 otherwise."""
    check_target(options.output)
    if options.kernel.endswith(".wgsl"):
        report = _verify_shader(options)
        write_answer(options, str(report), {"ok": report.ok, **asdict(report)})
        return 0 if report.ok else 1
    if options.bind or options.grid or options.entry:
        raise CommandError("--bind, --grid and --entry are for a shader, cutepy verify FILE.wgsl")
    call = kernel_call(options)
    with call.traced():
        report = call.kernel.verify(*call.arguments, limits=None, prover=None, **call.static)
    # Conditions on sizes are said by the reasons: their sums of parameters are no JSON.
    plain = replace(report, verdicts=tuple([replace(verdict, conditions=()) for verdict in report.verdicts]))
    write_answer(options, str(report), {"ok": report.ok, **asdict(plain)})
    return 0 if report.ok else 1


def _verify_shader(options: Namespace) -> Verification:
    """The verdicts on a WGSL file, for the arrays and numbers that `--bind` gives."""
    if options.arguments or options.set or options.tile:
        raise CommandError(f"{options.kernel}: what a shader is given is said by --bind name=f32[1000], --bind name=7")
    lengths: dict[str, int] = {}
    numbers: dict[str, int | float] = {}
    for text in options.bind:
        bound = _BOUND.fullmatch(text)
        if bound is None:
            raise CommandError(f"--bind {text}: write name=f32[1000] for an array, name=7 or params.n=7 for a number")
        if bound["length"]:
            lengths[bound["name"]] = int(bound["length"])
        else:
            numbers[bound["name"]] = (float if set(bound["number"]) & set(".e") else int)(bound["number"])
    grid = options.grid or "1"
    if not _EXTENTS.fullmatch(grid) or grid.count("x") > 2:
        raise CommandError(f"--grid {grid}: write the workgroups along each axis, --grid 16x4")
    x, y, z = [*map(int, grid.split("x")), 1, 1][:3]
    try:
        text = Path(options.kernel).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{options.kernel} cannot be read: {error}") from error
    return verify_shader(text, Bindings(lengths, numbers, (x, y, z), options.entry))


def run_report(options: Namespace) -> None:
    """Write what the kernel asks of memory and arithmetic."""
    check_target(options.output)
    call = kernel_call(options)
    static: dict[str, Any] = call.static
    with call.traced():
        report = call.kernel.report(*call.arguments, **static)
    write_answer(options, str(report), asdict(report))


def run_export(options: Namespace) -> None:
    """Write the kernel as an ES module, and say which files there are now."""
    if Path(options.output).suffix not in (".js", ".mjs"):
        raise CommandError(f"-o {options.output}: name the ES module to write, as -o dist/kernel.js")
    call = kernel_call(options)
    static: dict[str, Any] = {
        **call.static,
        "page": options.page,
        "sizes": sizing(options.sizes),
        "refuted": options.refuted,
    }
    with call.traced(), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        written = call.kernel.export(options.output, *call.arguments, **static)
    for one in told:
        print(f"cutepy export: {one.message}", file=sys.stderr)
    for path in (written.module, written.types, written.description, written.page):
        if path is not None:
            print(path)


def sizing(texts: Sequence[str]) -> Any:
    """What `sizes=` of an export is, from `x=(M,N)` for each tensor or one of "annotated", "unknown", "known".

    >>> sizing(["x=(M,N),y=(M)", "z=(N):(1)"]), sizing([])
    ({'x': '(M,N)', 'y': '(M)', 'z': '(N):(1)'}, 'annotated')
    """
    each = [part for text in texts for part in re.split(r",(?=\s*\w+=)", text)]
    return dict(part.strip().partition("=")[::2] for part in each if "=" in part) or (each or ["annotated"])[-1]


def run_adapters(options: Namespace) -> None:
    """List what there is, mark what is used, say what it can do."""
    listed, lines = adapters(), []
    try:
        # A wrong CUTEPY_ADAPTER is reported, and the list is shown all the same.
        chosen = choose_adapter().index
    except DeviceError as error:
        chosen = -1
        lines.append(str(error))
    for adapter in listed:
        limits = adapter.limits
        features = ", ".join(name for name in _FEATURES if name in adapter.features) or "no optional features"
        lines += [
            f"{'*' if adapter.index == chosen else ' '} {adapter.index}: {adapter.summary}, driver {adapter.driver}",
            f"     {limits.invocations} threads and {limits.workgroup_bytes} bytes shared in a workgroup, "
            f"{limits.bindings} buffers of {limits.binding_bytes >> 20} MiB, "
            f"subgroups of {limits.subgroup_sizes[0]} to {limits.subgroup_sizes[1]}",
            f"     {features}",
            f"     matrices: {', '.join(map(str, adapter.matrices)) or adapter.no_matrices}",
        ]
    lines += [f"{name}: {why}" for name, why in missing_runtimes().items()]
    if chosen >= 0:
        lines.append("* is used; CUTEPY_ADAPTER=<number or part of a name> or CUTEPY_RUNTIME=dawn chooses another")
    data = [
        {"used": a.index == chosen, "index": a.index, "summary": a.summary, "driver": a.driver}
        | {"runtime": a.runtime, "matrices": [asdict(shape) for shape in a.matrices], "no_matrices": a.no_matrices}
        | {"limits": asdict(a.limits), "features": sorted(a.features)}
        for a in listed
    ]
    write_answer(options, "\n".join(lines), data)


def kernel_call(options: Namespace) -> KernelCall:
    """The kernel, its tensors without data and its keyword arguments, from the command line."""
    builtin = {"matmul": _matmul, "sum": _sum}.get(options.kernel)
    static = dict(map(_static, options.set))
    if options.tile and options.kernel != "matmul":
        raise CommandError(f"--tile {options.tile}: it is for matmul; a kernel of yours takes --set name=value")
    if builtin is None:
        kernel = load_kernel(options.kernel)
        given: list[Tensor | float] = []
        for text in options.arguments:
            number = float if set(text) & set(".e") else int
            given.append(number(text) if _NUMBER.fullmatch(text) else _tensor(text))
        return KernelCall(kernel, tuple(given), static)
    if static:
        raise CommandError(f"--set {options.set[0]}: it is for kernels of yours, not for {options.kernel}")
    tensors = [_tensor(text) for text in options.arguments]
    return builtin(tensors, options.tile)


def _matmul(tensors: list[Tensor], tile: str | None) -> KernelCall:
    """The product's kernel for two matrices, with the plan of `tile` or of the cost model."""
    if len(tensors) != 2 or any(tensor.rank != 2 for tensor in tensors):
        raise CommandError("matmul takes two matrices, A and B, as 128x64 64x256")
    a, b = tensors
    (m, inner), (k, n) = ([mode.size for mode in tensor.layout] for tensor in tensors)
    if inner != k or a.dtype is not b.dtype:
        raise CommandError(f"A {a.dtype} {a.layout} and B {b.dtype} {b.layout}: inner sizes and types must be equal")
    c = make_tensor(a.dtype, (m, n), LayoutRight)
    plan = plan_for(parse_tile(tile), Limits(), "every WebGPU device") if tile else choose_plan(ProductProblem(m, n, k))
    return KernelCall(matmul_kernel, kernel_operands(a, b, c), {"plan": plan})


def _sum(tensors: list[Tensor], _tile: str | None) -> KernelCall:
    if len(tensors) != 1:
        raise CommandError("sum takes one tensor: cutepy wgsl sum 1000x1000")
    (x,) = tensors
    call, site = Reduction(x, tuple(range(len(mode_sizes(x)))), keepdims=False), ExecutionSite(None)
    operands, static = next(launches("sum", call, site, site.new((), folded_type("sum", x.dtype))))
    return KernelCall(fold_kernel, operands, static)


def load_kernel(name: str) -> KernelFunction:
    """The kernel that `module:kernel` or `file.py:kernel` names. Raises CommandError where there is none."""
    module_name, colon, attribute = name.rpartition(":")
    if not colon or not module_name or not attribute:
        raise CommandError(
            f"{name} is no kernel here; there are matmul, sum, and yours as module:kernel or file.py:kernel"
        )
    try:
        if module_name.endswith(".py"):
            module = _module_of(Path(module_name))
        else:
            # As `python -m` does: modules of the current folder come first.
            sys.path.insert(0, str(Path.cwd()))
            module = import_module(module_name)
    except CutepyError:
        raise
    except Exception as error:  # what a module raises while it is imported is its own affair, and anything
        raise CommandError(f"{module_name} cannot be imported: {type(error).__name__}: {error}") from error
    kernel = getattr(module, attribute, None)
    if not isinstance(kernel, KernelFunction):
        there = [key for key, value in vars(module).items() if isinstance(value, KernelFunction)]
        raise CommandError(f"{name} is no kernel; {module_name} has {', '.join(there) or 'none'}")
    return kernel


def _module_of(path: Path) -> object:
    """The module of a Python file, imported under a name of its own; modules beside it are found."""
    if not path.is_file():
        raise CommandError(f"{path}: there is no such file")
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.insert(0, folder)
    spec = spec_from_file_location(f"cutepy_kernel_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def _tensor(text: str) -> Tensor:
    """A tensor over `[type] layout`, its data unknown."""
    match = _TYPED.fullmatch(text)
    assert match is not None
    kind, colon, rest = text.strip().partition(":")
    if colon and kind in DTYPES:
        raise CommandError(f"{text}: a type and a layout are two words, '{kind} {rest or '1000'}'")
    # "64x32" is an array in NumPy's order: the last index has stride 1.
    if _EXTENTS.fullmatch(match["layout"]):
        extents = tuple(map(int, match["layout"].split("x")))
        layout = Layout(extents, LayoutRight)
    else:
        parsed = parse_layout(match["layout"])
        if not isinstance(parsed, Layout):
            raise CommandError(f"{text}: an argument has a plain layout, without a swizzle")
        if unknown := sorted(map(str, symbols_of(parsed))):
            raise CommandError(
                f"{text}: {', '.join(unknown)} is no number; an argument is 64x32, an array of NumPy's order, a layout "
                "(64,32):(1,64), a type before either, 'f16 64x32', or a number"
            )
        layout = parsed if isinstance(parsed.shape, tuple) else Layout((parsed.shape,), (parsed.stride,))
    return make_tensor(as_dtype(match["type"] or "f32"), layout)


def _static(text: str) -> tuple[str, object]:
    """`name=value` as a keyword argument: a Python literal, a layout, or else the text itself."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise CommandError(f"--set {text}: write name=value, as --set tile=(32,32,8)")
    try:
        literal: object = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        try:
            return name, parse_layout(value)
        except LayoutError:
            return name, value
    return name, literal
