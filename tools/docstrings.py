"""What mkdocstrings shows of the package: what a layer exports, with its docstrings made Markdown.

A module's public names are those that `cutepy` or the `__init__` of its layer imports from it. A doctest becomes a
fenced block (in plain Markdown it would be a nest of quotations), and what a module imports is left to the reader of
its source.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from inspect import isfunction

import griffe

LAYERS = ("", ".layout", ".tensor", ".gpu", ".gpu.runtime", ".gpu.verify", ".ops", ".draw", ".mesh")
# Modules that are public as they are.
WHOLE = (
    ".errors",
    ".docs",
    ".sphinxext",
    ".pandoc",
    ".tensor.functions",
    ".tensor.rules",
    ".ops.engine",
    ".inspect.report",
    ".inspect.race_detector",
    ".symbolic.formula",
    ".algebra.from_table",
    ".text.write",
)
SESSION = re.compile(r"(?:^>>> .*\n(?:(?!>>> |\s*$).*(?:\n|\Z))*)+", re.MULTILINE)
IMPORTS = re.compile(r"^Imports? .*?\.(?:\s+|$)", re.MULTILINE | re.DOTALL)


class Docstrings(griffe.Extension):
    """Marks what is public, fences sessions, and gives made functions the docstring that they were made with."""

    def on_instance(self, *, obj: griffe.Object, **_others: object) -> None:
        if obj.is_attribute and not obj.docstring:
            given = made(obj)
            if given:
                obj.docstring, obj.value = griffe.Docstring(given, parent=obj), None
        if obj.docstring:
            text = IMPORTS.sub("", obj.docstring.value, count=1) if obj.is_module else obj.docstring.value
            obj.docstring.value = fenced(text)

    def on_package(self, *, pkg: griffe.Module, **_others: object) -> None:
        exported = {found for layer in LAYERS for found in exports(pkg, f"{pkg.path}{layer}")}
        for module in modules(pkg):
            for member in () if module.path.endswith(WHOLE) else module.members.values():
                if not member.is_alias:
                    member.public = member.path in exported
            for name, docstring in of_table(module.path).items():
                shown = griffe.Attribute(name, docstring=griffe.Docstring(fenced(docstring)))
                shown.public = True
                module.set_member(name, shown)


def fenced(text: str) -> str:
    """`text` with a fence around every session, which ends at the first empty line."""
    return SESSION.sub(lambda session: f"```pycon\n{session[0].rstrip()}\n```\n", text + "\n").rstrip()


def made(attribute: griffe.Object) -> str:
    """The docstring of a function that a module makes by a call, as `exp = _function("exp")`; "" of anything else."""
    name, _bracket, _operands = str(attribute.value).partition("(")
    if not name.startswith("_") or attribute.parent is None or not attribute.parent.is_module:
        return ""
    found = getattr(import_module(attribute.parent.path), attribute.name, None)
    return (found.__doc__ or "") if isfunction(found) else ""


def of_table(module: str) -> dict[str, str]:
    """The functions that a module makes of the table of functions when they are asked for, with their docstrings."""
    table = import_module("cutepy.tensor.functions").FUNCTIONS.values()
    if module == "cutepy.ops.pointwise":
        return {row.name: import_module(module).operation(row).__doc__ for row in table}
    if module == "cutepy.gpu.language.functions":
        return {row.in_kernels: import_module(module).of_table(row).__doc__ for row in table if not row.conditional}
    return {}


def modules(module: griffe.Module) -> Iterator[griffe.Module]:
    """A module and all below it."""
    yield module
    for child in module.modules.values():
        if not child.is_alias:
            yield from modules(child)


def exports(package: griffe.Module, module: str) -> Iterator[str]:
    """Where the things are defined that a module imports, through any chain of imports."""
    known = {found.path: found for found in modules(package)}
    for target in known[module].imports.values():
        last = ""
        while target != last:
            last, (home, _dot, name) = target, target.rpartition(".")
            target = known[home].imports.get(name, target) if home in known else target
        yield target
