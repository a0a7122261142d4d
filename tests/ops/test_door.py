"""`ops`, `gpu.operations` and `gpu.matmul` are written with public names, as any user could have written them."""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cutepy import gpu, make_layout, make_tensor, size
from cutepy.tensor import as_tensor, functions, is_row_major, mode_layouts, mode_sizes, rules, with_layout

ROOT = Path(__file__).parents[2]
ROOMS = ("cutepy.ops", "cutepy.gpu.operations", "cutepy.gpu.matmul", "cutepy.gpu.fusion")
PUBLIC = ("cutepy", "cutepy.errors", "cutepy.layout", "cutepy.tensor", "cutepy.gpu", "cutepy.ops")
WHOLE = ("cutepy.tensor.rules", "cutepy.tensor.functions", "cutepy.errors")
"""Modules that are public as they are: `cutepy` or `cutepy.tensor` exports them, and the reference has them."""
PRIVATE = {
    "cutepy.gpu.runtime.plan_file.PlanFile": "cutepy's own file; what a user finds fastest he keeps where he likes",
    "cutepy.gpu.runtime.plan_file.size_class": "the classes of that file",
    "cutepy.gpu.runtime.timing.seconds_in_turn": "`kernel.tune` times any kernel's choices",
    "cutepy.gpu.runtime.interrupts.Uninterrupted": (
        "the tuner's processes and its file outlive an interrupt; that is the business of signals, not of GPUs"
    ),
}
"""What no user can import, and why it stays so."""


def imported(module: str, path: Path) -> Iterator[tuple[str, str]]:
    """The module and the name of each import from cutepy; of an imported module, each name that is used of it."""
    tree = ast.parse(path.read_text())
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = resolve_name("." * node.level + (node.module or ""), package) if node.level else str(node.module)
        if base.partition(".")[0] != "cutepy":
            continue
        for alias in node.names:
            found = getattr(import_module(base), alias.name, None)
            if found is None or isinstance(found, ModuleType):
                used = {
                    use.attr
                    for use in ast.walk(tree)
                    if isinstance(use, ast.Attribute)
                    and isinstance(use.value, ast.Name)
                    and use.value.id == (alias.asname or alias.name)
                }
                yield from ((f"{base}.{alias.name}", name) for name in used)
            else:
                yield base, alias.name


@cache
def exported(package: str) -> frozenset[str]:
    """The names that a package says are its own, with the functions of the table that `gpu` and `ops` resolve."""
    module = import_module(package)
    table = {"cutepy.gpu": functions.IN_KERNELS, "cutepy.ops": functions.NAMED}.get(package, {})
    return frozenset({*getattr(module, "__all__", ()), *getattr(module, "_IDS", ()), *table})


def is_public(base: str, name: str) -> bool:
    if any(f"{base}.".startswith(f"{room}.") for room in ROOMS):
        return True
    if base in WHOLE:
        return name[0] != "_" and hasattr(import_module(base), name)
    return base in PUBLIC and name in exported(base)


def private_names() -> set[str]:
    """What the rooms import that no user can."""
    found = set()
    for room in ROOMS:
        for path in sorted((ROOT / room.replace(".", "/")).glob("*.py")):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            found |= {f"{base}.{name}" for base, name in imported(module, path) if not is_public(base, name)}
    return found


def test_private_names_are_few_and_have_reasons() -> None:
    assert private_names() == set(PRIVATE) and len(PRIVATE) <= 5


def test_public_modules_are_in_the_reference() -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.md"))
    shown = (ROOT / "tools" / "docstrings.py").read_text()
    for module in WHOLE:
        assert f"::: {module}\n" in pages and f'"{module[len("cutepy") :]}"' in shown, module


WRITERS = {
    "cutepy.gpu": (
        "CallCache Device Fold Limits ArgFold abstract_eval apply_function cached_launches static_type workgroup_bytes"
    ),
    "cutepy.tensor": "as_tensor from_array mode_layouts with_layout broadcast_to least_strides is_row_major",
}
"""What is for those who write operations."""


@pytest.mark.parametrize(("package", "name"), [(p, n) for p, names in WRITERS.items() for n in names.split()])
def test_what_writers_of_operations_need_says_what_it_is(package: str, name: str) -> None:
    thing = getattr(import_module(package), name)
    assert name in import_module(package).__all__ and len(inspect.getdoc(thing) or "") > 60
    for member, value in vars(thing).items() if isinstance(thing, type) else ():
        if inspect.isfunction(value) and member[0] != "_":
            assert inspect.getdoc(value), member


@pytest.mark.parametrize(
    ("source", "private"),
    [
        ("from ..ir import as_expr", True),
        ("from ..runtime import Device", True),
        ("from ...tensor import Tensor", False),
        ("from ... import gpu\ngpu.minimum, gpu.loop, gpu.thread, gpu.exp", False),
        ("from ... import gpu\ngpu.runtime", True),
        ("from ...tensor import rules\nrules.chosen_axes", False),
        ("from ...tensor import rules\nrules._met", True),
        ("from ..language import functions\nfunctions._each", True),
    ],
)
def test_a_private_name_is_seen(tmp_path: Path, source: str, private: bool) -> None:
    path = tmp_path / "some.py"
    path.write_text(source)
    assert any(not is_public(*each) for each in imported("cutepy.gpu.operations.some", path)) is private


# An operation of a user's own, of public names alone.


@gpu.kernel
def soft_range_kernel(x, out, *, fold):
    gpu.launch(grid=size(x, 0), threads=32)
    row, most = gpu.workgroup.x, gpu.Fold.over("max", x.dtype)
    top = gpu.workgroup_reduce(
        gpu.select(gpu.thread < size(x, 1), x[row, gpu.minimum(gpu.thread, size(x, 1) - 1)], most.identity), "max"
    )
    here = gpu.select(
        gpu.thread < size(x, 1), gpu.exp(x[row, gpu.minimum(gpu.thread, size(x, 1) - 1)] - top), fold.identity
    )
    total = gpu.workgroup_reduce(fold.taken(here), fold.name)
    with gpu.when(gpu.thread == 0):
        out[row] = gpu.apply_function(functions.NAMED["log"], fold.finish(total, x.dtype))


@gpu.cached_launches
def soft_range(x, axis: int = -1):
    """log(sum(exp(x - m))) of at most 32 elements along an axis, m the greatest of them."""
    tensor = as_tensor(x)
    (along,) = rules.chosen_axes("soft_range", len(mode_sizes(tensor)), axis)
    modes = mode_layouts(tensor)
    rows = with_layout(tensor, make_layout(modes[1 - along], modes[along]))
    kept = rules.folded_shape(mode_sizes(tensor), (along,), False)
    out = np.zeros(kept, tensor.dtype.numpy)
    given = gpu.abstract_eval(lambda v: gpu.apply_function(functions.NAMED["exp"], v), tensor.dtype)
    soft_range_kernel.interpret(rows, out, fold=gpu.Fold.over("sum", given.dtype))
    return out


def test_a_user_writes_an_operation() -> None:
    x = np.random.default_rng(0).standard_normal((6, 20), dtype=np.float32)
    for axis in (0, 1, -1):
        want = np.log(np.exp(x - x.max(axis, keepdims=True)).sum(axis))
        np.testing.assert_allclose(soft_range(x, axis), want, rtol=1e-5)
    assert is_row_major(make_tensor(x)) and not is_row_major(make_tensor(x.T))
