"""The layers of docs/design.md, read from the imports; the rooms of `gpu`; a light `import cutepy`."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
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
    "cutepy.frozen": (),
    "cutepy.lazy": (),
    "cutepy.layout": ("cutepy.errors",),
    "cutepy.tensor": ("cutepy.errors", "cutepy.layout"),
    "cutepy.ops": ("cutepy.errors", "cutepy.layout", "cutepy.tensor", "cutepy.gpu"),
    "cutepy.draw": ("cutepy.errors", "cutepy.layout", "cutepy.tensor"),
    "cutepy.explore": ("cutepy.errors", "cutepy.layout", "cutepy.draw"),
    "cutepy.mesh": ("cutepy.errors", "cutepy.layout", "cutepy.draw"),
    "cutepy.gpu": (
        "cutepy.errors",
        "cutepy.layout",
        "cutepy.tensor",
        "cutepy.gpu.ir",
        "cutepy.gpu.runtime",
    ),
    "cutepy.gpu.runtime": ("cutepy.errors", "cutepy.layout", "cutepy.tensor"),
    "cutepy.gpu.ir": ("cutepy.errors", "cutepy.layout", "cutepy.tensor"),
    "cutepy": ("cutepy",),
}
BASE = "cutepy.errors", "cutepy.frozen", "cutepy.lazy"
UPWARD = {
    "cutepy.errors": "what was refused and what works instead are searched when an error is asked for them",
    "cutepy.layout.values.methods": "`@`, other notations and the picture in a notebook are methods of a layout",
    "cutepy.layout.values.layout": "`parse`, `from_offsets`, `from_strides`, `given`, `subs`, `formula` are methods",
    "cutepy.layout.values.composed": "`cosize` and `subs` are methods",
    "cutepy.layout.algebra.operation": "the prover lifts an operation to unknown sizes, and imports the operations",
    "cutepy.layout.symbolic.given": "a fact is read from a text, and texts state facts",
    "cutepy.layout.public": "the prover decides comparisons of unknown sizes, and imports the public functions",
    "cutepy.tensor.arrays": "operators, methods and NumPy's indices of a tensor are those of `ops`",
    "cutepy.draw.drawing": "`Drawing.explore` makes the page of the explorer, which imports `draw`",
    "cutepy.gpu.inspect.race_detector": "`Replay.picture` is a drawing",
    "cutepy.gpu.targets.export.es_module": "a module says which version wrote it",
    "cutepy.cli.layouts": "one command alone packs the explorer",
    "cutepy.gpu.verify": "the second prover is written over z3, an extra, and is asked after the first",
}
"""The modules that import of cutepy inside functions, and why: methods that are made in a room above."""
ROOMS_OF_GPU = {
    "fusion",
    "inspect",
    "ir",
    "language",
    "lower",
    "matmul",
    "operations",
    "reader",
    "runtime",
    "targets",
    "trace",
    "verify",
}
MOST_ARROWS = 50
HEAVY = ("numpy", "sympy", "wgpu", "wgpudawn")


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


def wrong_arrows(module: str, tree: ast.Module, is_package: bool = False) -> list[str]:
    """The imports of one module that its layer does not allow, each with its line."""
    layer, found = layer_of(module), []
    needed = {(name, line) for name, line, late in arrows(tree, module, is_package) if not late}
    for name, line in imports(tree, module, is_package):
        top = name.split(".")[0]
        if top == "cutepy" and (module not in UPWARD or (name, line) in needed):
            target = layer_of(name)
            if not (layer == "cutepy" or target in (layer, *BASE, *MAY_IMPORT[layer])):
                found.append(f"{module}:{line} imports {name}")
        if top in ("wgpu", "wgpudawn") and layer != "cutepy.gpu.runtime":
            found.append(f"{module}:{line} imports {top}, which only cutepy.gpu.runtime may")
    return found


def arrows(tree: ast.AST, module: str, is_package: bool) -> Iterator[tuple[str, int, bool]]:
    """What a source imports when it runs, as (module, line, late): late is inside a function; not for types alone."""
    todo: list[tuple[ast.AST, bool]] = [(tree, False)]
    while todo:
        node, late = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += [(child, late) for child in node.orelse]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((name, line, late) for name, line in imports(node, module, is_package))
        else:
            inner = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            todo += [(child, inner) for child in ast.iter_child_nodes(node)]


def at_import(tree: ast.Module, module: str, is_package: bool) -> set[str]:
    """What a module imports when it is imported: not inside functions, not under `if TYPE_CHECKING`."""
    return {name for name, _, late in arrows(tree, module, is_package) if not late}


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The sets of modules that import one another, in any number of steps (Tarjan's strongly connected components)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        stack.append(module)
        for target in graph.get(module, ()):
            if target not in order:
                visit(target)
            if target in stack:
                lowest[module] = min(lowest[module], lowest[target])
        if lowest[module] == order[module]:
            place = stack.index(module)
            component = stack[place:]
            del stack[place:]
            if len(component) > 1:
                found.append(sorted(component))

    for module in graph:
        if module not in order:
            visit(module)
    return found


@cache
def parsed(path: Path) -> ast.Module:
    """A source of the package."""
    return ast.parse(path.read_text())


@cache
def all_arrows() -> dict[str, list[tuple[str, int, bool]]]:
    """What each module imports of the package."""
    return {
        module: [arrow for arrow in arrows(parsed(path), module, path.name == "__init__.py") if arrow[0] in MODULES]
        for module, path in MODULES.items()
    }


def test_the_files_form_layers() -> None:
    """No circle of files that import one another when they are loaded."""
    graph = {
        module: {name for name, _, late in found if name != module and not late}
        for module, found in all_arrows().items()
    }
    assert circles(graph) == []


def room_arrows() -> dict[str, set[str]]:
    """Which rooms of `gpu` each room imports, types alone included."""
    graph: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        parts = module.split(".")
        if parts[:2] == ["cutepy", "gpu"] and len(parts) > 2:
            targets = {name for name, _ in imports(parsed(path), module, path.name == "__init__.py")}
            rooms = {name.split(".")[2] for name in targets if name.startswith("cutepy.gpu.")}
            graph.setdefault(parts[2], set()).update(rooms - {parts[2]})
    return graph


def test_the_rooms_of_gpu() -> None:
    """Few rooms, nothing loose beside them, no circle of rooms whatever the import is for."""
    graph = room_arrows()
    assert set(graph) == ROOMS_OF_GPU
    assert [path.name for path in (PACKAGE / "gpu").glob("*.py")] == ["__init__.py"]
    assert circles(graph) == []
    assert sum(map(len, graph.values())) <= MOST_ARROWS


def test_a_circle_is_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
    assert list(arrows(ast.parse("def f():\n    from .b import g"), "cutepy.a", False)) == [("cutepy.b", 2, True)]


def test_imports_inside_functions_are_upward_and_listed() -> None:
    """Inside functions stand heavy packages, and of cutepy what a listed module needs of a room above."""
    assert {module for module, found in all_arrows().items() if any(late for _, _, late in found)} == set(UPWARD)


def test_nothing_imports_to_its_right() -> None:
    wrong = {module: wrong_arrows(module, parsed(path), path.name == "__init__.py") for module, path in MODULES.items()}
    assert {module: arrows for module, arrows in wrong.items() if arrows} == {}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("cutepy.layout.algebra.tile", "from ...tensor import Tensor"),
        ("cutepy.layout.algebra.tile", "def f():\n    import cutepy.draw"),
        ("cutepy.layout.algebra.tile", "from cutepy import Layout"),
        ("cutepy.errors", "from .layout import Layout"),
        ("cutepy.draw.printers.svg", "from ...gpu import kernel"),
        ("cutepy.gpu.trace", "from ..draw import draw"),
        ("cutepy.gpu.operations.fold", "from ...ops import sum"),
        ("cutepy.gpu.trace", "import wgpu"),
        ("cutepy.gpu.trace", "import wgpudawn"),
        ("cutepy.gpu.ir.nodes", "from ..runtime import Program"),
        ("cutepy.gpu.runtime.device", "from ..ir import Expr"),
        ("cutepy.gpu.runtime.device", "from ...draw import draw"),
        ("cutepy.tensor.copy", "from cutepy.gpu import trace"),
    ],
)
def test_a_wrong_arrow_is_seen(module: str, source: str) -> None:
    assert wrong_arrows(module, ast.parse(source))


def test_a_right_arrow_is_not() -> None:
    for module, source in (
        ("cutepy.gpu.trace", "from .runtime import Program\nfrom ..tensor import Tensor\nfrom .ir import Expr"),
        ("cutepy.gpu.runtime.device", "import wgpu\nfrom ...errors import DeviceError\nfrom .program import Program"),
        ("cutepy.cli", "from .draw import draw\nfrom .gpu import kernel"),
    ):
        assert not wrong_arrows(module, ast.parse(source))


def loaded_by(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return {name.split(".")[0] for name in result.stdout.split()}


def test_import_cutepy_is_light() -> None:
    assert loaded_by("import cutepy").isdisjoint(HEAVY)


def test_import_gpu_loads_no_wgpu() -> None:
    assert loaded_by("import cutepy.gpu, cutepy.gpu.runtime").isdisjoint(("wgpu", "wgpudawn"))


def test_the_check_of_light_imports_can_fail() -> None:
    assert loaded_by("import numpy") & set(HEAVY)
    assert "wgpu" in loaded_by("from cutepy.gpu.runtime.native import wgpu; wgpu.GPUDevice")


@pytest.mark.parametrize("layer", ["cutepy.errors", "cutepy.layout", "cutepy.draw", "cutepy.explore"])
def test_light_layers_import_nothing_heavy_at_import(layer: str) -> None:
    for module, path in MODULES.items():
        if layer_of(module) == layer:
            names = at_import(parsed(path), module, path.name == "__init__.py")
            assert {name.split(".")[0] for name in names}.isdisjoint(HEAVY), module


def test_no_import_star() -> None:
    for module, path in MODULES.items():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom):
                assert all(alias.name != "*" for alias in node.names), module


def test_the_name_of_a_class_has_one_meaning() -> None:
    places: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(module)
    assert not {name: found for name, found in places.items() if len(found) > 1}
