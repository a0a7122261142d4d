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

from ....errors import KernelError
from .describe import ExportedFunction
from .javascript import escaped, helpers, listed
from .plans import ARRAYS, plan

_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Export:
    """What was written: the module, its types, its description, and the page if one was asked for.

    >>> import tempfile
    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def twice(x, y):
    ...     gpu.launch(threads=4)
    ...     y[gpu.thread] = 2 * x[gpu.thread]
    >>> a = np.zeros(4, np.float32)
    >>> written = twice.export(f"{tempfile.mkdtemp()}/twice.js", a, a.copy())
    >>> written.module.name, written.types.name, written.description.name, written.page
    ('twice.js', 'twice.d.ts', 'twice.json', None)
    """

    module: Path
    types: Path
    description: Path
    page: Path | None = None


def export(path: str | Path, *functions: ExportedFunction, page: str = "") -> Export:
    """Write functions as one ES module at `path`, with `.d.ts` and `.json` beside it; `page` is HTML beside these.

    Raises KernelError for a path that does not end in `.js` or `.mjs`, for no function, two of one name, or a number
    for a name.

    >>> import tempfile
    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def twice(x, y):
    ...     gpu.launch(threads=4)
    ...     y[gpu.thread] = 2 * x[gpu.thread]
    >>> a = np.zeros(4, np.float32)
    >>> both = twice.exported(a, a.copy()), twice.exported(a, a.copy()).named("again")
    >>> export(f"{tempfile.mkdtemp()}/kernels.js", *both).module.name
    'kernels.js'
    """
    target = Path(path)
    if target.suffix not in (".js", ".mjs"):
        raise KernelError(f"export({str(path)!r}): an ES module ends in .js or .mjs; write {target.with_suffix('.js')}")
    names = [function.name for function in functions]
    # JavaScript puts keys that are numbers first, and the first function is the one that `load` gives.
    if not functions or len({*names}) < len(names) or any(name.isdecimal() for name in names):
        raise KernelError(
            f"export({str(path)!r}): {', '.join(names) or 'no function'}; give functions of different names, no numbers"
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
    quoted = [f"`{escaped(text)}`" for text in texts]
    names = ", ".join(function.name for function in functions)
    lines = [f"// {names}: WebGPU, by cutepy {_version()}. load(device, name) gives a function."]
    for function in functions:
        lines += [f"// {line}" for line in function.data["verdict"]]
        lines.append(f"// {function.name} sha256 {function.data['proof']}")
    described = [_variants(f, [quoted[text] for text in own]) for f, own in zip(functions, numbered, strict=True)]
    # What several variants or functions have is written once, where that is shorter.
    counts = Counter(
        one for variants in described for said, own, needs in variants for one in (said, *own, *[n for n, _ in needs])
    )
    repeated = [one for one, times in counts.items() if (times - 1) * len(one) > 3 * times + 10]
    shared = {one: f"S{i}" for i, one in enumerate(repeated)}
    data = "".join(f"const {name}={one};\n" for one, name in shared.items()) + "const F={\n"
    for function, variants in zip(functions, described, strict=True):
        said = []
        for computed, own, needs in variants:
            needed = [listed([shared.get(name, name), least]) for name, least in needs]
            said.append(
                listed([shared.get(computed, computed), _lines(shared.get(text, text) for text in own), *needed])
            )
        data += f"{_key(function.name)}:{listed(said)},\n"
    return "\n".join([*lines, f"{helpers(data)}{data}}};\n{runtime_text()}"])


def _version() -> str:
    from .... import __version__

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


def _lines(items: Iterable[str]) -> str:
    return "[\n" + "".join(f"{item},\n" for item in items) + "]"


def _variants(function: ExportedFunction, texts: Sequence[str]) -> list[tuple[str, list[str], list[tuple[str, str]]]]:
    """The variants of a function as `runtime.js` takes them: plan, texts, and needs, each a feature and "" or
    a limit and what it has to be at least."""
    variants = []
    for variant in function.data["variants"]:
        own = list(dict.fromkeys(launch["text"] for launch in variant["launches"]))
        needs = [*[(name, "") for name in variant["needs"]], *variant["limits"].items()]
        needs += [("subgroupMinSize", variant["lanes"])] * (variant["lanes"] > 0)
        # A layout that is deduced from a text lacks what the text does not use, and so does what is bound.
        used = [_used(function.texts[launch["text"]]) for launch in variant["launches"]]
        held = plan(function.data, variant, used, own)
        variants.append((held, [texts[text] for text in own], [(_compact(name), str(least)) for name, least in needs]))
    return variants


_COMMENT = re.compile(r"//[^\n]*")
_BOUND = re.compile(r"@binding\((\d+)\) var<[^>]*> (\w+)")


def _used(text: str) -> set[int]:
    """The number of each binding that a text of WGSL uses."""
    code = _COMMENT.sub("", text)
    words = Counter(re.findall(r"\w+", code))
    return {int(binding) for binding, name in _BOUND.findall(code) if words[name] > 1}


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


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
                # Float16Array is not in the libraries of all TypeScripts; its bits are.
                lines.append(f"      {_key(buffer['name'])}: GPUBuffer | {ARRAYS[buffer['type']][0]};")
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
