"""`ops`, `gpu.operations` and `gpu.matmul` are written with public names, as any user could have written them."""

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("cutepy.ops", "cutepy.gpu.operations", "cutepy.gpu.matmul")
PUBLIC = ("cutepy", "cutepy.errors", "cutepy.layout", "cutepy.tensor", "cutepy.gpu", "cutepy.gpu.runtime")
WHOLE = (
    "cutepy.tensor.rules",
    "cutepy.tensor.functions",
    "cutepy.tensor.domain",
    "cutepy.tensor.operand",
    "cutepy.gpu.language.folds",
    "cutepy.gpu.runtime.call_cache",
)
"""Modules that are public as they are: the reference has them."""
PRIVATE = {
    "cutepy.gpu.ir.functions.spelt": "a function of the table by NumPy's law, f16 kept in f32 until it is stored",
    "cutepy.gpu.ir.new_arena": "the type of a result is found by tracing a formula outside of any kernel",
    "cutepy.gpu.ir.var": "the operands of that trace",
    "cutepy.gpu.ir.stmt.workgroup_bytes": "a plan is refused by the same count of bytes that the verifier makes",
    "cutepy.gpu.trace.state.MOST_GROUPS": "a grid that is too long for one dimension is laid out by the kernel",
}


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


def is_public(base: str, name: str) -> bool:
    if base in WHOLE or any(f"{base}.".startswith(f"{room}.") for room in ROOMS):
        return True
    if name in ("lane", "subgroup", "subgroup_size", "thread"):  # values, inside a kernel alone
        return True
    found = getattr(import_module(base), name)
    return any(getattr(import_module(package), name, None) is found for package in PUBLIC)


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
        assert f"::: {module}\n" in pages and f'"{module[len("cutepy") :].removeprefix(".gpu")}"' in shown, module


@pytest.mark.parametrize(
    ("source", "private"),
    [
        ("from ..ir import as_expr", True),
        ("from ...tensor import Tensor", False),
        ("from ..language import functions\nfunctions._each", True),
    ],
)
def test_a_private_name_is_seen(tmp_path: Path, source: str, private: bool) -> None:
    path = tmp_path / "some.py"
    path.write_text(source)
    assert any(not is_public(*each) for each in imported("cutepy.gpu.operations.some", path)) is private
