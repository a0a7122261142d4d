"""Shaders of others on a device, and as they are read: `python tools/shaders/compare.py FOLDER [--only WORD]`.

Each proven shader of FOLDER (see judge.py) whose storage is arrays of numbers, or of vectors without padding, runs
as its text is through wgpu, on the same small numbers on which the interpreter runs what was read of it, with what its
host bound. Floats may differ by 1 in 1,000, for devices contract and reorder. Exits with 1 where they differ.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import wgpu

sys.path.insert(0, str(Path(__file__).parent))

from judge import bindings_of, layout_of

from cutepy.errors import CutepyError
from cutepy.gpu.ir import Kernel, new_arena
from cutepy.gpu.reader.memory import Place, VectorType
from cutepy.gpu.reader.shader import ShaderReader, verify_read
from cutepy.gpu.reader.syntax import parse
from cutepy.gpu.runtime.program import Limits
from cutepy.gpu.targets.interpreter import interpret

STORAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
UNIFORM = wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST


def is_plain(place: Any) -> bool:
    """Whether a variable is an array of numbers that follow one another in memory."""
    if not isinstance(place, Place) or set(place.variable.leaves) != {""}:
        return False
    kind = place.type
    while hasattr(kind, "item"):
        if isinstance(kind, VectorType) and kind.lanes == 3:
            return False
        kind = kind.item
    return True


def run(device: Any, text: str, record: dict[str, Any], reader: ShaderReader, arrays: dict[str, Any]) -> dict[str, Any]:
    """What the device makes of the arrays, by name."""
    module = device.create_shader_module(code=text)
    stage: dict[str, Any] = {"module": module, "entry_point": record["entry"]}
    if record.get("constants"):
        stage["constants"] = record["constants"]
    pipeline = device.create_compute_pipeline(layout="auto", compute=stage)
    bound = {(b["group"], b["binding"]): b for b in record["bound"]}
    groups: dict[int, list[Any]] = {}
    made = {}
    for name in reader.globals:
        node = reader.nodes[name]
        if node.kind == "var" and "binding" in node.attributes:
            group, binding = (reader.whole(node.attributes[key][0]) for key in ("group", "binding"))
            uniform = "space uniform" in node.attributes
            data = bytes(bound[group, binding]["bytes"]) if uniform else arrays[name].tobytes()
            size = layout_of(reader, node.part(0))[1] if uniform else 0
            data = data.ljust(-(-max(len(data), size, 4) // 16) * 16 if uniform else len(data), b"\0")
            made[name] = device.create_buffer_with_data(data=data, usage=UNIFORM if uniform else STORAGE)
            groups.setdefault(group, []).append({"binding": binding, "resource": {"buffer": made[name]}})
    encoder = device.create_command_encoder()
    work = encoder.begin_compute_pass()
    work.set_pipeline(pipeline)
    for group, entries in groups.items():
        work.set_bind_group(
            group, device.create_bind_group(layout=pipeline.get_bind_group_layout(group), entries=entries)
        )
    work.dispatch_workgroups(*record["grid"])
    work.end()
    device.queue.submit([encoder.finish()])
    return {
        n: np.frombuffer(device.queue.read_buffer(made[n]), a.dtype)[: a.size] for n, a in arrays.items() if n in made
    }


def compared(device: Any, path: Path) -> str:
    """The outcome for one shader."""
    text, record = path.read_text(encoding="utf-8"), json.loads(path.with_suffix(".json").read_text())
    if "bound" not in record or any("texture" in b for b in record["bound"]) or "texture_" in text:
        return "no host is known"
    with new_arena():
        reader = ShaderReader(parse(text), bindings_of(text, record))
        kernel: Kernel = reader.kernel()
        if not verify_read(kernel, Limits(workgroup_bytes=1 << 20), "cutepy").ok:
            return "not proven"
        names = {b.name: b for b in kernel.buffers}
        if kernel.params or not all(is_plain(reader.globals.get(name)) for name in names):
            return "structs, or numbers that nobody gives"
        g = np.random.default_rng(1)
        arrays = {}
        for name, buffer in names.items():
            if name in reader.uniforms:
                return "an array in a uniform"
            whole = buffer.dtype.kind in "iu"
            made = g.integers(1, 4, buffer.length) if whole else g.uniform(0.25, 2.0, buffer.length)
            arrays[name] = made.astype(buffer.dtype.numpy)
        ours = {name: array.copy() for name, array in arrays.items()}
        interpret(kernel, list(ours.values()), {})
    theirs = run(device, text, record, reader, arrays)
    for name, found in theirs.items():
        if not np.allclose(found, ours[name], rtol=1e-3, atol=1e-3, equal_nan=True):
            at = int(np.flatnonzero(~np.isclose(found, ours[name], rtol=1e-3, atol=1e-3, equal_nan=True))[0])
            return f"DIFFERS {name}[{at}]: {found[at]} on the device, {ours[name][at]} as it is read"
    return "alike"


def main(arguments: argparse.Namespace) -> int:
    """Print the counts, and what differs."""
    adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    wanted = {
        name: adapter.limits[name] for name in ("max-storage-buffers-per-shader-stage",) if name in adapter.limits
    }
    device = adapter.request_device_sync(required_limits=wanted)
    counts: Counter[str] = Counter()
    for path in sorted(Path(arguments.folder).rglob("*.wgsl")):
        if arguments.only in str(path):
            try:
                outcome = compared(device, path)
            except (CutepyError, wgpu.GPUError) as error:
                outcome = f"not run: {str(error).splitlines()[0][:80]}"
            counts[outcome.split()[0] if outcome.startswith(("DIFFERS", "not run")) else outcome] += 1
            if outcome.startswith(("DIFFERS", "not run")):
                print(f"{path.stem}: {outcome}", flush=True)
    print(f"{adapter.info['device']}: " + ", ".join(f"{n} {outcome}" for outcome, n in counts.most_common()))
    return int(counts["DIFFERS"] > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    sys.exit(main(parser.parse_args()))
