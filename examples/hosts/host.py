"""Launch an exported kernel with wgpu alone, without cutepy, from its description.

python host.py softmax.json softmax M=5 N=300 x=x.bin y=y.bin

Files are buffers, little-endian; what the kernel writes is written back into its file.
"""

import json
import operator
import re
import struct
import sys
from functools import reduce
from pathlib import Path

import wgpu

FEATURES = {"subgroups": "subgroup", "shader-f16": "shader-f16"}  # WebGPU's name, wgpu's
OPERATORS = {"+": operator.add, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}


def value(formula, numbers):
    """A formula: a number, a name, or [operator, operand, ...]."""
    if isinstance(formula, str):
        return numbers[formula]
    if not isinstance(formula, list):
        return formula
    name, *parts = [formula[0], *(value(part, numbers) for part in formula[1:])]
    if name in ("and", "or"):
        return (all if name == "and" else any)(parts)
    if name in ("==", "<="):
        return parts[0] == parts[1] if name == "==" else parts[0] <= parts[1]
    return reduce(OPERATORS[name], parts)


def number(text):
    """A whole number, a float, or the text that is neither."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d*\.?\d*(e-?\d+)?", text) and re.search(r"\d", text) else text


def run(description, name, given, files):
    """One call: numbers by name, files by the names of buffers."""
    function = next(f for f in description["functions"] if f["name"] == name)
    adapter = wgpu.gpu.request_adapter_sync()
    has = {web for web, native in FEATURES.items() if native in adapter.features}
    # Subgroups need `lanes` threads in the smallest; wgpu does not tell how small they are, so those variants are left.
    variant = next(v for v in function["variants"] if {*v["needs"]} <= has and v["lanes"] == 0)
    limits = {re.sub(r"[A-Z]", lambda c: "-" + c[0].lower(), key): least for key, least in variant["limits"].items()}
    device = adapter.request_device_sync(
        required_features=[FEATURES[need] for need in variant["needs"]], required_limits=limits
    )

    numbers = {}
    for number in function["numbers"]:
        key, whole = number["name"], "least" in number
        n = given[key] if key in given else value(number.get("default"), numbers)
        kinds = int if whole else (int, float)
        if not isinstance(n, kinds) or (whole and not number["least"] <= n <= number["most"]):
            raise SystemExit(f"{name}: {key} is {n}, it takes {number}")
        numbers[key] = n
    for fact in variant["facts"]:
        if not value(fact["holds"], numbers):
            raise SystemExit(f"{name}: " + re.sub(r"{(.+?)}", lambda found: str(numbers[found[1]]), fact["text"]))

    buffers = []
    for buffer in function["buffers"]:
        needed = value(buffer["bytes"], numbers)
        if not buffer.get("temporary") and buffer["name"] not in files:
            raise SystemExit(f"{name}: it takes a file {buffer['name']}")
        data = bytes(needed) if buffer.get("temporary") else Path(files[buffer["name"]]).read_bytes()
        longer = buffer.get("gaps") or any(key.startswith(buffer["name"] + ".") for key in given)
        if len(data) < needed or (len(data) > needed and not longer):
            raise SystemExit(f"{name}: {buffer['name']} has {len(data)} bytes, it takes {needed}")
        data += bytes(-len(data) % 16 or 16 * (not data))
        buffers.append(device.create_buffer_with_data(data=data, usage="STORAGE|COPY_SRC|COPY_DST"))

    encoder = device.create_command_encoder()
    for launch in variant["launches"]:
        if not value(launch.get("when", 1), numbers):
            continue
        bound, accesses = [buffers[i] for i in launch["buffers"]], list(launch["access"])
        if launch["params"]:  # after the buffers
            kinds = "".join({"f32": "f", "i32": "i", "u32": "I"}[p["type"]] for p in launch["params"])
            words = struct.pack("<" + kinds, *(value(p["value"], numbers) for p in launch["params"]))
            bound.append(device.create_buffer_with_data(data=words, usage="UNIFORM"))
            accesses.append("uniform")
        types = {"read": "read-only-storage", "read_write": "storage", "uniform": "uniform"}
        layout = device.create_bind_group_layout(
            entries=[
                {"binding": i, "visibility": "COMPUTE", "buffer": {"type": types[access]}}
                for i, access in enumerate(accesses)
            ]
        )
        # naga knows subgroups without the directive that browsers ask for.
        text = description["texts"][launch["text"]].replace("enable subgroups;\n", "")
        pipeline = device.create_compute_pipeline(
            layout=device.create_pipeline_layout(bind_group_layouts=[layout]),
            compute={"module": device.create_shader_module(code=text), "entry_point": launch["entry"]},
        )
        step = encoder.begin_compute_pass()
        step.set_pipeline(pipeline)
        entries = [{"binding": at, "resource": {"buffer": buffer}} for at, buffer in enumerate(bound)]
        step.set_bind_group(0, device.create_bind_group(layout=layout, entries=entries))
        step.dispatch_workgroups(*(value(n, numbers) for n in launch["grid"]))
        step.end()
    device.queue.submit([encoder.finish()])

    for buffer, held in zip(function["buffers"], buffers, strict=True):
        if buffer["written"] and not buffer.get("temporary"):
            file = Path(files[buffer["name"]])
            file.write_bytes(bytes(device.queue.read_buffer(held))[: file.stat().st_size])


if __name__ == "__main__":
    path, name, *rest = sys.argv[1:]
    description = json.loads(Path(path).read_text())
    pairs = dict(text.split("=", 1) for text in rest)
    function = next(f for f in description["functions"] if f["name"] == name)
    numbers, files = ({one["name"] for one in function[kind]} for kind in ("numbers", "buffers"))
    for key in pairs.keys() - numbers - files:
        raise SystemExit(f"{name}: it takes no {key}")
    run(description, name, {k: number(v) for k, v in pairs.items() if k in numbers}, pairs)
