"""Verdicts on compute shaders of public projects: `python tools/shaders/judge.py FOLDER [-v] [--only WORD] [--list]`.

FOLDER holds texts (`NAME.wgsl`) and beside each what its host bound (`NAME.json`), as `tools/shaders/collect.sh`
writes them from packages of npm: bytes of each binding, numbers of uniforms, overrides, the grid. Each entry point is
proven, refuted with the thread and the element, undecided with the reason, or not read with the reason. What is refuted
is run: the interpreter, which shares no code with the proofs, must come to the access, the race or the barrier. A text
that Tint refuses as it stands lacks what its engine adds while it runs: it is counted, and not judged.
`tests/suites/shaders.tsv` lists them by the hash of each text; `--list` writes it anew. No text of others is kept here.
"""

import argparse
import hashlib
import json
import re
import signal
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "gpu"))

from tint import verdict

from cutepy.errors import CutepyError
from cutepy.gpu.inspect.race_detector import interpret_checked, replay
from cutepy.gpu.ir import Kernel, new_arena
from cutepy.gpu.reader import Bindings
from cutepy.gpu.reader.shader import ShaderReader, verify_read
from cutepy.gpu.reader.syntax import SyntaxNode, parse
from cutepy.gpu.runtime.program import Limits
from cutepy.gpu.verify.verdict import Verification

LIST = Path(__file__).parents[2] / "tests" / "suites" / "shaders.tsv"
#: Seconds for one shader.
MOST = 60
_VECTOR = re.compile(r"(vec[234]|mat[234]x[234])[fhiu]?$")
#: Elements of an array whose length no host says.
ELEMENTS = 4096
_FORMATS = {"f32": "f", "i32": "i", "u32": "I", "f16": "e"}
#: Numbers that are run where the host's are not known, and where the witness gives none.
_TRIES = (0, 1, 2, 3, 5, 7, 16, 64, 100, 255, 1000, 1 << 20)


def layout_of(reader: ShaderReader, node: SyntaxNode) -> tuple[int, int]:
    """Alignment and bytes of a type in memory; an array of open length has the bytes of one element."""
    name = node.text
    if name in _FORMATS:
        return (2, 2) if name == "f16" else (4, 4)
    if name == "atomic":
        return layout_of(reader, node.part(0))
    if _VECTOR.match(name):
        half = name.endswith("h") or (bool(node.parts) and node.part(0).text == "f16")
        rows = int(name[5] if name.startswith("mat") else name[3])
        align = (2 if rows == 2 else 4) * (2 if half else 4)
        size = rows * (2 if half else 4)
        return (align, size) if name.startswith("vec") else (align, int(name[3]) * (-(-size // align) * align))
    if name == "array":
        align, size = layout_of(reader, node.part(0))
        stride = -(-size // align) * align
        return align, stride * (reader.whole(node.part(1)) if len(node.parts) > 1 else 1)
    found = reader.nodes[name]
    if found.kind == "alias":
        return layout_of(reader, found.part(0))
    last = max([0, *[at + size for _, at, size, _ in members(reader, found)]])
    align = max(align for *_, align in members(reader, found))
    return align, -(-last // align) * align


def members(reader: ShaderReader, found: SyntaxNode) -> Iterator[tuple[SyntaxNode, int, int, int]]:
    """Each member of a struct with its offset, bytes and alignment."""
    at = 0
    for member in found.parts:
        assert member is not None
        align, size = layout_of(reader, member.part(0))
        if "align" in member.attributes:
            align = reader.whole(member.attributes["align"][0])
        if "size" in member.attributes:
            size = reader.whole(member.attributes["size"][0])
        at = -(-at // align) * align
        yield member, at, size, align
        at += size


def numbers_of(
    reader: ShaderReader, node: SyntaxNode, path: str, held: bytes, at: int, last: str = ""
) -> Iterator[tuple[str, Any]]:
    """The numbers that a uniform holds, by the reader's names for them: members, items of arrays, lanes."""
    name = node.text
    if name in _FORMATS:
        size = 2 if name == "f16" else 4
        if at + size <= len(held):
            yield path + last, struct.unpack_from("<" + _FORMATS[name], held, at)[0]
    elif _VECTOR.match(name):
        item = node.part(0).text if node.parts else {"f": "f32", "i": "i32", "u": "u32", "h": "f16"}[name[-1]]
        size = 2 if item == "f16" else 4
        rows = int(name[5] if name.startswith("mat") else name[3])
        columns = int(name[3]) if name.startswith("mat") else 1
        column = (2 if rows == 2 else 4) * size
        for c in range(columns):
            for r in range(rows):
                lane = f"{'xyzw'[c]}{'xyzw'[r]}" if name.startswith("mat") else "xyzw"[r]
                yield from numbers_of(
                    reader, SyntaxNode("type", 0, item), path, held, at + c * column + r * size, f"{last}.{lane}"
                )
    elif name == "array":
        align, size = layout_of(reader, node.part(0))
        stride = -(-size // align) * align
        for i in range(reader.whole(node.part(1))):
            yield from numbers_of(reader, node.part(0), path, held, at + i * stride, f"{last}[{i}]")
    elif name in reader.nodes:
        found = reader.nodes[name]
        if found.kind == "alias":
            yield from numbers_of(reader, found.part(0), path, held, at, last)
        else:
            for member, offset, _, _ in members(reader, found):
                yield from numbers_of(reader, member.part(0), f"{path}.{member.text}", held, at + offset, last)


def open_array(reader: ShaderReader, node: SyntaxNode) -> tuple[int, int] | None:
    """Offset and stride of the array of open length that a type ends with."""
    if node.text == "array" and len(node.parts) == 1:
        align, size = layout_of(reader, node.part(0))
        return 0, -(-size // align) * align
    found = reader.nodes.get(node.text)
    if found is not None and found.kind == "struct":
        *_, (last, at, _, _) = members(reader, found)
        inner = open_array(reader, last.part(0))
        return None if inner is None else (at + inner[0], inner[1])
    return open_array(reader, found.part(0)) if found is not None and found.kind == "alias" else None


def bindings_of(text: str, record: dict[str, Any]) -> Bindings:
    """What the host bound, as the reader wants it."""
    numbers: dict[str, Any] = dict(record.get("constants", {}))
    reader = ShaderReader(parse(text), Bindings(numbers=numbers))
    if "host" in record:
        return chosen(reader, record["entry"], record["host"] or {})
    lengths: dict[str, int] = {}
    bound = {(b["group"], b["binding"]): b for b in record["bound"]}
    for node in reader.nodes.values():
        if node.kind != "var" or "binding" not in node.attributes or node.parts[0] is None:
            continue
        group, binding = (reader.whole(node.attributes[key][0]) for key in ("group", "binding"))
        given = bound.get((group, binding))
        if given is None:
            continue
        if "texture" in given:
            numbers |= {f"{node.text}.{axis}": n for axis, n in zip("xy", given["texture"], strict=True)}
        elif "space uniform" in node.attributes:
            if given.get("bytes"):
                numbers |= dict(numbers_of(reader, node.part(0), node.text, bytes(given["bytes"]), 0))
        elif (found := open_array(reader, node.part(0))) is not None:
            lengths[node.text] = (given["size"] - found[0]) // found[1]
    return Bindings(lengths, numbers, tuple(record["grid"]), record["entry"])


def chosen(reader: ShaderReader, entry: str, host: dict[str, Any]) -> Bindings:
    """Where the host does not say it: `ELEMENTS` elements of each open array, any number, a grid of 16 workgroups."""
    arrays = [node for node in reader.nodes.values() if node.kind == "var" and node.parts[0] is not None]
    lengths = {node.text: ELEMENTS for node in arrays if open_array(reader, node.part(0)) is not None}
    sizes = reader.nodes[entry].attributes["workgroup_size"]
    grid = (4, 4, 1) if len(sizes) > 1 and reader.whole(sizes[1]) > 1 else (16, 1, 1)
    lengths |= host.get("lengths", {})
    return Bindings(lengths, host.get("numbers", {}), tuple(host.get("grid", grid)), entry)


@dataclass(slots=True)
class Judged:
    """A shader and what is said of it."""

    name: str
    source: str
    entry: str
    sha256: str
    given: Bindings = field(default_factory=Bindings)
    verdict: str = ""
    detail: str = ""
    run: str = ""
    seconds: float = 0.0


def judge(path: Path, folder: Path) -> Judged:
    """The verdict on one text."""
    text, record = path.read_text(encoding="utf-8"), json.loads(path.with_suffix(".json").read_text())
    name = str(path.relative_to(folder).with_suffix(""))
    found = Judged(name, record["source"], record["entry"], hashlib.sha256(text.encode()).hexdigest())
    start = perf_counter()
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(MOST)
    try:
        found.given = bindings_of(text, record)
        with new_arena():
            kernel = ShaderReader(parse(text), found.given).kernel()
            told = verify_read(kernel, Limits(workgroup_bytes=1 << 20), "auto")
            found.verdict = "refuted" if told.refuted else "proven" if told.ok else "undecided"
            worst = [*told.refuted, *told.undecided]
            found.detail = str(worst[0]) if worst else f"{len(told.verdicts)} claims"
            if told.refuted:
                found.run = run(kernel, told)
    except TimeoutError:
        found.verdict, found.detail = found.verdict or "undecided", found.detail or f"more than {MOST} s"
        found.run = found.run or "the run takes too long" if found.verdict == "refuted" else ""
    except CutepyError as error:
        found.verdict, found.detail = "not read", str(error)
    except Exception as error:  # a fault of the reader, to be mended
        found.verdict, found.detail = "fault", f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    found.seconds = perf_counter() - start
    return found


def _late(*_: object) -> None:
    raise TimeoutError


def run(kernel: Kernel, told: Verification) -> str:
    """What a run says of a refutation: its words, which must name the array; "not seen" where no try comes to it.

    The numbers of the launch are first those that the witnesses give, then some others; arrays hold small and large
    numbers.
    """
    if (verdict := next((v for v in told.refuted if v.reason.startswith("replayed")), None)) is not None:
        return verdict.reason  # the prover has run it, with what it puts in memory
    g = np.random.default_rng(1)
    arrays_of = {verdict.array for verdict in told.refuted}
    given = {name: int(n) for name, n in re.findall(r"(\w+) = (-?\d+)", "; ".join(map(str, told.refuted)))}
    for number, tried in enumerate((None, *reversed(_TRIES))):
        arrays = []
        for buffer in kernel.buffers:
            high = [1, 2, 64, buffer.length][number % 4]
            made = g.integers(0, max(high, 1), buffer.length) if buffer.dtype.kind in "iu" else g.random(buffer.length)
            arrays.append(made.astype(buffer.dtype.numpy))
        params = {p.name: given.get(p.name, tried or 0) if tried is None else tried for p in kernel.params}
        params = {p.name: (float if p.dtype.kind == "f" else int)(params[p.name]) for p in kernel.params}
        try:
            interpret_checked(kernel, [a.copy() for a in arrays], params)
        except CutepyError as error:
            words = str(error).splitlines()[0]
            if any(re.search(rf"\b{array}\b", words) for array in arrays_of):
                return words
        for one in replay(kernel, arrays, params, told):
            if one.error or len(one.followed) > 1:
                return one.error or str(one.followed[0])
    return "not seen"


def main(arguments: argparse.Namespace) -> int:
    """Print the table; 1 where a refutation is not seen in a run, or the reader has a fault."""
    folder = Path(arguments.folder)
    judged: list[Judged] = []
    incomplete: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.wgsl")):
        if arguments.only in str(path):
            if said := verdict(path.read_text(encoding="utf-8")):
                incomplete[path.parent.name] += 1
                if arguments.verbose:
                    print(f"incomplete {path.stem}: {said[0].splitlines()[0]}")
                continue
            found = judge(path, folder)
            judged.append(found)
            if arguments.verbose:
                print(f"{found.verdict:9} {found.seconds:5.1f} s {found.name} ({found.entry}): {found.detail[:300]}")
                if found.run:
                    print(f"{'':18} run: {found.run[:200]}")
                sys.stdout.flush()
    rows: dict[str, Counter[str]] = {}
    for one in judged:
        rows.setdefault(one.source, Counter())[one.verdict] += 1
        rows.setdefault("all", Counter())[one.verdict] += 1
    for source, counts in sorted(rows.items(), key=lambda row: row[0] == "all"):
        print(f"{source:45} {sum(counts.values()):4}: " + ", ".join(f"{n} {v}" for v, n in sorted(counts.items())))
    print("incomplete: " + (", ".join(f"{n} of {name}" for name, n in incomplete.items()) or "none"))
    unseen = [one.name for one in judged if one.verdict == "refuted" and one.run.startswith("not seen")]
    print(f"refuted, and not seen in a run: {', '.join(unseen) or 'none'}")
    if arguments.list:
        write(judged)
    return int(bool(unseen) or any(one.verdict == "fault" for one in judged))


def write(judged: list[Judged]) -> None:
    """The list: source, name, entry point, hash, verdict, grid, bindings; no text of others."""
    lines = ["source\tname\tentry\tsha256\tverdict\tgrid\tarrays\tnumbers"]
    for one in judged:
        arrays = " ".join(f"{name}={n}" for name, n in one.given.lengths.items())
        numbers = " ".join(
            f"{name}={n:g}" if isinstance(n, float) else f"{name}={n}" for name, n in one.given.numbers.items()
        )
        grid = "x".join(map(str, one.given.grid))
        lines.append("\t".join([one.source, one.name, one.entry, one.sha256, one.verdict, grid, arrays, numbers]))
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    sys.exit(main(parser.parse_args()))
