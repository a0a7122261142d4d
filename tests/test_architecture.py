"""The layers of docs/design.md, read from the imports; a light `import cutepy`; small files and functions."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "cutepy"
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

# What each layer may import of cutepy, beside itself. The longest prefix of a module's name is its layer.
MAY_IMPORT = {
    "cutepy.errors": (),
    "cutepy.layout": ("cutepy.errors",),
    "cutepy.tensor": ("cutepy.errors", "cutepy.layout"),
    "cutepy.ops": ("cutepy.errors", "cutepy.layout", "cutepy.tensor"),
    "cutepy.draw": ("cutepy.errors", "cutepy.layout", "cutepy.tensor"),
    "cutepy.gpu": (
        "cutepy.errors",
        "cutepy.layout",
        "cutepy.tensor",
        "cutepy.ops",
        "cutepy.gpu.ir",
        "cutepy.gpu.runtime",
    ),
    "cutepy.gpu.runtime": ("cutepy.errors",),
    "cutepy.gpu.ir": ("cutepy.errors", "cutepy.layout", "cutepy.tensor", "cutepy.gpu"),
    "cutepy": ("cutepy",),
}
HEAVY = ("numpy", "sympy", "wgpu")
MODULE_LINES, FUNCTION_LINES = 450, 60


def layer_of(module: str) -> str:
    return max((name for name in MAY_IMPORT if (module + ".").startswith(name + ".")), key=len)


def imports(tree: ast.AST, module: str, is_package: bool) -> Iterator[tuple[str, int]]:
    """Every module that a source names in an import, wherever the import stands, as (absolute name, line).

    A `from package import name` gives `package.name` too: the name may be a module.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")[: None if is_package else -1]
                parts = parts[: len(parts) - (node.level - 1)]
                base = ".".join([*parts, *([base] if base else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield (full if full in MODULES else base), node.lineno


def wrong_arrows(module: str, source: str, is_package: bool = False) -> list[str]:
    """The imports of one module that its layer does not allow, each with its line."""
    layer, found = layer_of(module), []
    for name, line in imports(ast.parse(source), module, is_package):
        top = name.split(".")[0]
        if top == "cutepy":
            target = layer_of(name)
            if not (layer == "cutepy" or target in (layer, *MAY_IMPORT[layer])):
                found.append(f"{module}:{line} imports {name}")
        if top == "wgpu" and layer != "cutepy.gpu.runtime":
            found.append(f"{module}:{line} imports wgpu, which only cutepy.gpu.runtime may")
    return found


def at_import(tree: ast.Module, module: str, is_package: bool) -> set[str]:
    """What a module imports when it is imported: not inside functions, not under `if TYPE_CHECKING`."""
    kept: list[ast.stmt] = []
    todo: list[ast.stmt] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            todo += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            kept.append(node)
    return {name for name, _ in imports(ast.Module(kept, []), module, is_package)}


@pytest.mark.parametrize("module", MODULES)
def test_nothing_imports_to_its_right(module: str) -> None:
    path = MODULES[module]
    assert not wrong_arrows(module, path.read_text(), path.name == "__init__.py")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("cutepy.layout.divide", "from ..tensor import Tensor"),
        ("cutepy.layout.divide", "def f():\n    import cutepy.draw"),
        ("cutepy.layout.divide", "from cutepy import Layout"),
        ("cutepy.errors", "from .layout import Layout"),
        ("cutepy.draw.svg", "from ..gpu import kernel"),
        ("cutepy.gpu.trace", "from ..draw import draw"),
        ("cutepy.ops.pointwise", "from ..gpu import pointwise"),
        ("cutepy.gpu.trace", "import wgpu"),
        ("cutepy.gpu.ir.nodes", "from ..runtime import Program"),
        ("cutepy.gpu.runtime.device", "from ..ir import Expr"),
        ("cutepy.gpu.runtime.device", "from ...layout import Layout"),
        ("cutepy.tensor.copy", "from cutepy.gpu import trace"),
    ],
)
def test_a_wrong_arrow_is_seen(module: str, source: str) -> None:
    assert wrong_arrows(module, source)


def test_a_right_arrow_is_not() -> None:
    for module, source in (
        ("cutepy.gpu.trace", "from .runtime import Program\nfrom ..tensor import Tensor\nfrom .ir import Expr"),
        ("cutepy.gpu.runtime.device", "import wgpu\nfrom ...errors import DeviceError\nfrom .program import Program"),
        ("cutepy.cli", "from .draw import draw\nfrom .gpu import kernel"),
    ):
        assert not wrong_arrows(module, source)


def loaded_by(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return {name.split(".")[0] for name in result.stdout.split()}


def test_import_cutepy_is_light() -> None:
    assert loaded_by("import cutepy").isdisjoint(HEAVY)


def test_import_gpu_loads_no_wgpu() -> None:
    assert "wgpu" not in loaded_by("import cutepy.gpu, cutepy.gpu.runtime")


def test_the_check_of_light_imports_can_fail() -> None:
    assert loaded_by("import numpy") & set(HEAVY)
    assert "wgpu" in loaded_by("from cutepy.gpu.runtime.wgpu_later import wgpu; wgpu.GPUDevice")


@pytest.mark.parametrize("layer", ["cutepy.errors", "cutepy.layout", "cutepy.draw"])
def test_light_layers_import_nothing_heavy_at_import(layer: str) -> None:
    for module, path in MODULES.items():
        if layer_of(module) == layer:
            names = at_import(ast.parse(path.read_text()), module, path.name == "__init__.py")
            assert {name.split(".")[0] for name in names}.isdisjoint(HEAVY), module


@pytest.mark.parametrize("module", MODULES)
def test_modules_and_functions_are_small(module: str) -> None:
    source = MODULES[module].read_text()
    assert source.count("\n") <= MODULE_LINES
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= FUNCTION_LINES, f"{node.name} (line {node.lineno}) has {lines} lines"


def test_no_import_star() -> None:
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert all(alias.name != "*" for alias in node.names), module
