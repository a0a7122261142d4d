"""Exported functions as an ES module without dependencies, with its types and its description."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...errors import KernelError
from .describe import ExportedFunction

#: The typed array that holds elements of a type as a device does: bools as u32, halves by their bits.
ARRAYS = {"f32": "Float32Array", "i32": "Int32Array", "u32": "Uint32Array", "bool": "Uint32Array", "f16": "Uint16Array"}
OPERATORS = {
    "+": "({} + {})", "-": "({} - {})", "*": "({} * {})", "mod": "({} % {})", "min": "Math.min({}, {})",
    "max": "Math.max({}, {})", "floordiv": "Math.floor({} / {})", "ceildiv": "Math.ceil({} / {})",
}  # fmt: skip
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
    lines += [f"{_js_function(f, numbers)}," for f, numbers in zip(functions, numbered, strict=True)]
    return "\n".join([*lines, "];", runtime_text()])


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
    data = function.data
    buffers = [
        f"{{name:{json.dumps(b['name'])},bytes:s=>{to_js(b['bytes'])}"
        + ",written:1" * bool(b["written"])
        + ",temporary:1" * bool(b.get("temporary"))
        + "}"
        for b in data["buffers"]
    ]
    facts = [f"[s=>{to_js(fact['holds'])},{json.dumps(fact['text'])}]" for fact in data.get("facts", ())]
    variants = []
    for variant in data["variants"]:
        launches = [_js_launch(launch, numbers) for launch in variant["launches"]]
        variants.append(
            f"{{needs:{_compact(variant['needs'])},lanes:{variant['lanes']},limits:{_compact(variant['limits'])},launches:[{','.join(launches)}]}}"
        )
    return (
        f"{{name:{json.dumps(function.name)},buffers:[{','.join(buffers)}],numbers:{_compact(data['numbers'])},"
        f"facts:[{','.join(facts)}],variants:[{','.join(variants)}]}}"
    )


def _js_launch(launch: Mapping[str, Any], numbers: list[int]) -> str:
    params = ",".join([f"[{_compact(p['type'])},s=>{to_js(p['value'])}]" for p in launch["params"]])
    grid = ",".join([to_js(extent) for extent in launch["grid"]])
    return (
        f"{{text:{numbers[launch['text']]},entry:{_compact(launch['entry'])},grid:s=>[{grid}],"
        f"buffers:{_compact(launch['buffers'])},access:{_compact(launch['access'])},params:[{params}]}}"
    )


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def to_js(expression: Any) -> str:
    """An expression of the description as JavaScript over `s`, the sizes and numbers of a call.

    >>> to_js(["ceildiv", ["*", "M", 4], 64]), to_js(3), to_js(float("-inf"))
    ('Math.ceil((s.M * 4) / 64)', '3', '-Infinity')
    """
    if isinstance(expression, str):
        return f"s.{expression}" if _NAME.fullmatch(expression) else f"s[{json.dumps(expression)}]"
    if isinstance(expression, list):
        operator, *operands = expression
        return OPERATORS[operator].format(*map(to_js, operands))
    return json.dumps(expression)


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
        numbers = dict.fromkeys(number["name"] for number in function.data["numbers"])
        given = "; ".join(f"{_key(name)}: number" for name in numbers)
        lines.append(f"    numbers{'' if numbers else '?'}: {{ {given} }},")
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
