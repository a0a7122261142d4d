"""Exported functions as an ES module without dependencies, with its types and its description."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...errors import KernelError
from .describe import ExportedFunction

#: The typed array that holds elements of a type as a device does: bools as u32, halves by their bits.
ARRAYS = {"f32": "Float32Array", "i32": "Int32Array", "u32": "Uint32Array", "bool": "Uint32Array", "f16": "Uint16Array"}
OPERATORS = {"+": "+", "*": "*", "==": "==", "<=": "<=", "and": "&&", "or": "||"}
#: Division and remainder of BigInts rounded down, as Python's: JavaScript's own are rounded to 0.
ROUNDED = {"//": "floorDivide", "%": "floorModulo"}
HELPERS = "const floorModulo = (a, b) => (a % b + b) % b, floorDivide = (a, b) => (a - floorModulo(a, b)) / b;\n"
_TYPES = "fiu"
_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Export:
    """What was written: the module, its types, its description, and the page if one was asked for."""

    module: Path
    types: Path
    description: Path
    page: Path | None = None


def export(path: str | Path, *functions: ExportedFunction, page: str = "") -> Export:
    """Write functions as one ES module at `path`, with `.d.ts` and `.json` beside it; `page` is HTML beside these.

    Raises KernelError for a path that does not end in `.js` or `.mjs`, for no function, or two of one name.
    """
    target = Path(path)
    if target.suffix not in (".js", ".mjs"):
        raise KernelError(f"export({str(path)!r}): an ES module ends in .js or .mjs; write {target.with_suffix('.js')}")
    names = [function.name for function in functions]
    if not functions or len({*names}) < len(names):
        raise KernelError(
            f"export({str(path)!r}): {', '.join(names) or 'no function'}; give functions of different names"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    types, description = target.with_suffix(".d.ts"), target.with_suffix(".json")
    target.write_text(module_text(functions))
    types.write_text(types_text(functions))
    description.write_text(description_text(functions))
    tested = None
    if page:
        tested = target.with_suffix(".html")
        tested.write_text(page.replace("MODULE", f"./{target.name}"))
    return Export(target, types, description, tested)


def module_text(functions: Sequence[ExportedFunction]) -> str:
    """The ES module: a comment with the verdicts, the texts, what is particular of each function, and the runtime."""
    texts, numbered = _texts(functions)
    names = ", ".join(function.name for function in functions)
    lines = [f"// {names}: WebGPU, by cutepy {_version()}. load(device, name) gives a function."]
    for function in functions:
        lines += [f"// {line}" for line in function.data["verdict"]]
        lines.append(f"// {function.name} sha256 {function.data['proof']}")
    lines += ["const texts = [", *(f"{_template(text)}," for text in texts), "];", "const functions = ["]
    printed = [f"{_js_function(f, numbers)}," for f, numbers in zip(functions, numbered, strict=True)]
    helpers = HELPERS if any(name in text for text in printed for name in ROUNDED.values()) else ""
    return "\n".join([*lines, *printed, "];", helpers + runtime_text()])


def _version() -> str:
    from ... import __version__

    return __version__


def _texts(functions: Sequence[ExportedFunction]) -> tuple[list[str], list[list[int]]]:
    """The different texts of all functions, and for each function which of them its own are."""
    texts: list[str] = []
    for function in functions:
        texts += [text for text in dict.fromkeys(function.texts) if text not in texts]
    return texts, [[texts.index(text) for text in function.texts] for function in functions]


@cache
def runtime_text() -> str:
    """The part that is the same in each module, without comments and needless spaces: `runtime.js`, minified."""
    return (files(__package__) / "runtime.min.js").read_text().partition("\n")[2].strip() + "\n"


def source_hash() -> str:
    """The hash of `runtime.js` that the first line of `runtime.min.js` has to name."""
    return hashlib.sha256((files(__package__) / "runtime.js").read_bytes()).hexdigest()


def _template(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${")
    return f"`{escaped}`"


def _js_function(function: ExportedFunction, numbers: list[int]) -> str:
    """A function as `runtime.js` takes it: `[name, buffers, numbers, variants]`, each a list of lists.

    A buffer is `[name, bytes, written, temporary]`, a number `[name, type, least, most, default]`, a variant
    `[needs, lanes, limits, facts, launches]`, a fact `[holds, text]`, a launch `[text, entry, grid, buffers, params,
    when]`, a parameter `[0 for a float, 1 for i32, 2 for u32, value]`. What is left out at an end is not there.
    """
    data = function.data
    buffers = [
        [_compact(b["name"]), _arrow(b["bytes"]), "1" * b["written"], "1" * b.get("temporary", False)]
        for b in data["buffers"]
    ]
    given = []
    for number in data["numbers"]:
        ends = [_compact(number[key]) if key in number else "" for key in ("least", "most")]
        default = _arrow(number["default"]) if "default" in number else ""
        given.append([_compact(number["name"]), _compact(number["type"]), *ends, default])
    variants = []
    for variant in data["variants"]:
        facts = [[_arrow(fact["holds"]), _compact(fact["text"])] for fact in variant["facts"]]
        launches = [_js_launch(launch, function.texts, numbers) for launch in variant["launches"]]
        held = [_compact(variant[key]) for key in ("needs", "lanes", "limits")]
        variants.append([*held, _list(map(_list, facts)), _list(launches)])
    return _list([_compact(function.name), *(_list(map(_list, lists)) for lists in (buffers, given, variants))])


def _js_launch(launch: Mapping[str, Any], texts: Sequence[str], numbers: list[int]) -> str:
    # A layout that is deduced from a text lacks what the text does not use, and so does what is bound.
    used = _used(texts[launch["text"]])
    bound = [str(b) if f"0 {i}" in used else "" for i, b in enumerate(launch["buffers"])]
    params = [_list([str(_TYPES.index(p["type"][0])), _arrow(p["value"])]) for p in launch["params"]] * ("1 0" in used)
    grid = _list([to_js(extent) for extent in launch["grid"]])
    when = [_arrow(launch["when"])] if "when" in launch else []
    text = str(numbers[launch["text"]])
    return _list([text, _compact(launch["entry"]), f"s=>{grid}", f"[{','.join(bound)}]", _list(params), *when])


def _list(items: Iterable[str]) -> str:
    """A list without what is empty at its end."""
    return f"[{','.join(items).rstrip(',')}]"


_COMMENT = re.compile(r"//[^\n]*")
_BOUND = re.compile(r"@group\((\d)\) @binding\((\d+)\) var<[^>]*> (\w+)")


def _used(text: str) -> set[str]:
    """The group and number of each binding that a text of WGSL uses."""
    code = _COMMENT.sub("", text)
    words = Counter(re.findall(r"\w+", code))
    return {f"{group} {binding}" for group, binding, name in _BOUND.findall(code) if words[name] > 1}


def _arrow(expression: Any) -> str:
    return f"s=>{to_js(expression)}"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def to_js(expression: Any) -> str:
    """An expression of the description as JavaScript over `s`, the numbers of a call; its integers are BigInts.

    >>> to_js(["//", ["+", ["*", "M", 4], -1], 64]), to_js(3), to_js(float("-inf"))
    ('floorDivide(s.M*4n-1n,64n)', '3', '-Infinity')
    """
    plain = isinstance(expression, float) or (isinstance(expression, int) and abs(expression) <= 1 << 53)
    return json.dumps(expression) if plain else _js(expression, 0)


def _js(expression: Any, outer: int) -> str:
    """The same inside of an operation that binds so strongly."""
    if isinstance(expression, str):
        return f"s.{expression}" if _NAME.fullmatch(expression) else f"s[{json.dumps(expression)}]"
    if isinstance(expression, int):
        return f"{expression}n"
    operator, *operands = expression
    if (function := ROUNDED.get(operator)) is not None:
        return f"{function}({','.join([_js(operand, 0) for operand in operands])})"
    if len(operands) == 1:
        return _js(operands[0], outer)
    binds = _BINDS.index(operator) + 1
    text = OPERATORS[operator].join([_js(operand, binds) for operand in operands]).replace("+-", "-")
    return f"({text})" if outer >= binds else text


_BINDS = ("or", "and", "==", "<=", "+", "*")


def types_text(functions: Sequence[ExportedFunction]) -> str:
    """The TypeScript declarations of a module."""
    lines = [
        "// The types of WebGPU are TypeScript's own since its DOM library has them; before, those of @webgpu/types."
    ]
    for function in functions:
        lines.append(f"export interface {_type_name(function.name)} {{")
        lines.append("  (")
        lines.append("    buffers: {")
        for buffer in function.data["buffers"]:
            if not buffer.get("temporary"):
                held = "; ".join(
                    f"{v['name']} {v['type']} {v['layout']}, from {v['offset']}" for v in buffer["tensors"]
                )
                lines.append(f"      /** {held.replace('*/', '* /')}{'; written' if buffer['written'] else ''} */")
                array = ARRAYS.get(buffer["type"], "ArrayBufferView")
                lines.append(f"      {_key(buffer['name'])}: GPUBuffer | {array};")
        lines.append("    },")
        numbers = {number["name"]: "?" * ("default" in number) for number in function.data["numbers"]}
        given = "; ".join(f"{_key(name)}{may_lack}: number" for name, may_lack in numbers.items())
        lines.append(f"    numbers{'' if '' in numbers.values() else '?'}: {{ {given} }},")
        lines += ["    encoder?: GPUCommandEncoder,", "  ): Promise<void>;", "}"]
    for function in functions:
        name, kind = json.dumps(function.name), _type_name(function.name)
        first = "?" if function is functions[0] else ""
        lines.append(f"export function load(device: GPUDevice, name{first}: {name}): Promise<{kind}>;")
    lines.append("export function open(): Promise<GPUDevice>;")
    return "\n".join(lines) + "\n"


def _type_name(name: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", name) if part) or "Kernel"


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) else json.dumps(name)


def description_text(functions: Sequence[ExportedFunction]) -> str:
    """The description as JSON: `texts` are WGSL, `functions` what any host needs to launch them."""
    texts, numbered = _texts(functions)
    described = []
    for function, numbers in zip(functions, numbered, strict=True):
        variants = [
            variant | {"launches": [launch | {"text": numbers[launch["text"]]} for launch in variant["launches"]]}
            for variant in function.data["variants"]
        ]
        described.append({**function.data, "variants": variants})
    held: Mapping[str, object] = {"cutepy": _version(), "texts": texts, "functions": described}
    return json.dumps(held, indent=1) + "\n"
