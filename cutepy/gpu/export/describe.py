"""The description of an exported function: its buffers, numbers, and launches, for any host that speaks WebGPU.

A function is a sequence of launches over buffers that are given to it or that it allocates. Variants of one function
compute the same with other features of a device; a host takes the first whose `needs` the device has, and whose `lanes`
are no more than the threads of its smallest subgroup.

A size, an extent of a grid, a number of bytes is an expression: an integer, the name of a size or number that the call
gives, or a list `[operator, operand, operand]` with `+ - * floordiv ceildiv mod min max` over integers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import KernelError
from ...tensor import Tensor
from ..runtime.device_tensor import DeviceEngine
from ..runtime.program import MATRICES, Limits, Program
from ..runtime.recording import Recording

View = dict[str, str | int]
"""A tensor over a buffer: its name, element type, layout in CuTe's notation, and offset in elements."""
FORMAT = 1
"""The version of the description; a host refuses one that it does not know."""

#: WebGPU's names of the limits that a function may ask for more of.
LIMIT_NAMES = (
    "maxComputeInvocationsPerWorkgroup", "maxComputeWorkgroupSizeX", "maxComputeWorkgroupSizeY",
    "maxComputeWorkgroupSizeZ", "maxComputeWorkgroupStorageSize", "maxStorageBuffersPerShaderStage",
    "maxStorageBufferBindingSize",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExportedFunction:
    """One function to be called from another host. `data` is its description, whose launches number the `texts`."""

    data: dict[str, Any]
    texts: tuple[str, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """What it is called there."""
        return str(self.data["name"])

    def named(self, name: str) -> ExportedFunction:
        """The same function by another name."""
        return ExportedFunction(self.data | {"name": name}, self.texts)


def describe_programs(
    name: str,
    programs: Sequence[Program],
    types: Sequence[str],
    views: Sequence[list[View]],
    verdict: str,
    fixed: Mapping[str, float],
) -> ExportedFunction:
    """The description of a kernel: each program is a variant, and they bind the same buffers.

    `types` are the element types of the buffers, `views` the tensors over each, `verdict` what is proven of the kernel;
    `fixed` are parameters that no call gives, such as the offsets of views.
    Raises KernelError for matrices of a subgroup, which no browser has.
    """
    if any(MATRICES in program.needs for program in programs):
        raise KernelError(
            f"{name}: it multiplies matrices of a subgroup, which no browser has yet; export a kernel of "
            "fused multiply-adds (MMA atom FMA)"
        )
    buffers = []
    for slot, binding in enumerate(programs[0].bindings):
        written = any(program.bindings[slot].access == "read_write" for program in programs)
        held = {"name": binding.name, "type": types[slot], "bytes": binding.min_bytes, "written": written}
        buffers.append(held | {"tensors": views[slot]})
    # A number without a type of its own is one parameter in each type that it meets.
    met = dict.fromkeys((param.name, param.type) for program in programs for param in program.params)
    numbers = [{"name": given, "type": kind} for given, kind in met if given not in fixed]
    variants = [
        [(program, range(len(program.bindings)), [fixed.get(p.name, p.name) for p in program.params])]
        for program in programs
    ]
    return _function(name, buffers=buffers, numbers=numbers, verdict=verdict, variants=variants)


def describe_recording(recording: Recording, name: str, tensors: Mapping[str, Tensor]) -> ExportedFunction:
    """The description of a recorded block as one function of the named tensors; its other buffers are temporaries.

    Raises KernelError for a buffer with contents, such as a weight, that has no name.
    """
    buffers: list[dict[str, Any]] = []
    names: dict[int, str] = {}
    for given, tensor in tensors.items():
        engine = tensor.engine
        if not isinstance(engine, DeviceEngine) or engine.buffer not in recording.buffers[recording.temporaries :]:
            raise KernelError(f"{name}: {given} is {tensor}, which the recorded block neither took nor gave back")
        slot = recording.buffers.index(engine.buffer)
        if slot in names:
            raise KernelError(f"{name}: {given} and {names[slot]} are the same memory; name it once")
        names[slot] = given
    written = recording.written
    for slot, buffer in enumerate(recording.buffers):
        temporary = slot < recording.temporaries
        if slot not in names and not temporary:
            raise KernelError(
                f"{name}: the recorded block takes a buffer of {buffer.nbytes} bytes that has no name here "
                f"({buffer.name or 'unnamed'}); give its tensor a name, as weights=..."
            )
        of = next((t for n, t in tensors.items() if n == names.get(slot)), None)
        views = (
            []
            if of is None
            else [{"name": names[slot], "type": of.dtype.name, "layout": str(of.layout), "offset": of.offset}]
        )
        element = of.engine.dtype.name if of is not None and isinstance(of.engine, DeviceEngine) else "u32"
        buffers.append(
            {
                "name": names.get(slot, f"temporary_{slot}"),
                "type": element,
                "bytes": buffer.nbytes,
                "written": slot in written,
                "tensors": views,
            }
            | ({"temporary": True} if temporary else {})
        )
    launches = [(program, places, list(params)) for program, places, params in recording.programs]
    return _function(name, buffers=buffers, numbers=[], verdict="", variants=[launches])


def _function(
    name: str,
    *,
    buffers: list[dict[str, Any]],
    numbers: list[dict[str, str]],
    verdict: str,
    variants: Sequence[Sequence[tuple[Program, Sequence[int], Sequence[str | float]]]],
) -> ExportedFunction:
    """Put a description together. A launch is a program, the buffer of each binding, the value of each parameter."""
    texts: list[str] = []

    def text_of(program: Program) -> int:
        text = for_tint(program)
        if text not in texts:
            texts.append(text)
        return texts.index(text)

    described = []
    for launches in variants:
        programs = [program for program, _, _ in launches]
        described.append(
            {
                "needs": sorted({need for program in programs for need in program.needs}),
                "lanes": max(program.lanes for program in programs),
                "limits": _limits(programs),
                "launches": [
                    {
                        "text": text_of(program),
                        "entry": program.entry,
                        "workgroup": list(program.workgroup_size),
                        "grid": list(program.grid),
                        "buffers": list(places),
                        "access": [binding.access for binding in program.bindings],
                        "params": [
                            {"type": param.type, "value": value}
                            for param, value in zip(program.params, values, strict=True)
                        ],
                    }
                    for program, places, values in launches
                ],
            }
        )
    data = {
        "format": FORMAT,
        "name": name,
        "buffers": buffers,
        "numbers": numbers,
        "verdict": verdict.splitlines(),
        "variants": described,
    }
    proof = hashlib.sha256(json.dumps([data, texts], sort_keys=True).encode()).hexdigest()
    return ExportedFunction(data | {"proof": proof}, tuple(texts))


def _limits(programs: Sequence[Program]) -> dict[str, int]:
    """What the programs ask for beyond the limits that every WebGPU device has, by WebGPU's names."""
    least, asked = Limits(), dict.fromkeys(LIMIT_NAMES, 0)
    for program in programs:
        x, y, z = program.workgroup_size
        spans = max([binding.min_bytes for binding in program.bindings], default=0)
        counts = x * y * z, x, y, z, program.shared_bytes, len(program.bindings), spans
        asked = {name: max(asked[name], count) for name, count in zip(LIMIT_NAMES, counts, strict=True)}
    floor = least.invocations, *least.workgroup_size, least.workgroup_bytes, least.bindings, least.binding_bytes
    return {name: asked[name] for name, had in zip(LIMIT_NAMES, floor, strict=True) if asked[name] > had}


def for_tint(program: Program) -> str:
    """The text of a program of wgpu as browsers take it: Tint wants the directive that naga refuses."""
    return "enable subgroups;\n" * ("subgroups" in program.needs) + program.wgsl
