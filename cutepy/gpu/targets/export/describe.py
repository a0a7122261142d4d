"""The description of an exported function: its buffers, numbers, and launches, for any host that speaks WebGPU.

A function is a sequence of launches over buffers that are given to it or that it allocates. Variants of one function
compute the same with other features of a device; a host takes the first whose `needs` the device has, and whose `lanes`
are no more than the threads of its smallest subgroup.

What a host computes is an expression, a `Formula` of the runtime: a number, the name of a number of the call, or a list
`[operator, operand, ...]` with `+ * // % == <= and or` over integers of any size, // and % rounded down.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....errors import KernelError
from ....tensor import Tensor
from ...runtime.device_tensor import DeviceEngine
from ...runtime.formulas import Formula
from ...runtime.program import MATRICES, Limits, Program
from ...runtime.recording import Recording

View = dict[str, Any]
"""A tensor over a buffer: its name, element type, layout in CuTe's notation, and offset in elements."""
Number = dict[str, Any]
"""A number of the call: its name and type, the least and most that it may be, what it is where a call leaves it out."""
FORMAT = 2
"""The version of the description; a host refuses one that it does not know."""

#: WebGPU's names of the limits that a function may ask for more of.
LIMIT_NAMES = (
    "maxComputeInvocationsPerWorkgroup", "maxComputeWorkgroupSizeX", "maxComputeWorkgroupSizeY",
    "maxComputeWorkgroupSizeZ", "maxComputeWorkgroupStorageSize", "maxStorageBuffersPerShaderStage",
    "maxStorageBufferBindingSize",
)  # fmt: skip


RANGES = {"i32": (-(1 << 31), (1 << 31) - 1), "u32": (0, (1 << 32) - 1)}


@dataclass(frozen=True, slots=True)
class Form:
    """A program of a kernel: the formula of each parameter, by name, `when` it is launched, None for always, and what a
    call has to be for it, each fact with its words, in which a name in braces is a number of the call."""

    program: Program
    params: Mapping[str, Formula] = field(default_factory=dict)
    when: Formula | None = None
    facts: tuple[tuple[Formula, str], ...] = ()


@dataclass(frozen=True, slots=True)
class BoundMemory:
    """What a binding is given: the type of its elements, the bytes that it needs, the tensors over it; with `gaps`
    where their strides leave elements out, so that an array of more bytes is no mistake."""

    type: str
    bytes: Formula
    views: tuple[View, ...]
    gaps: bool = False


@dataclass(frozen=True, slots=True)
class ExportedFunction:
    """One function to be called from another host. `data` is its description, whose launches number the `texts`.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def twice(x, y):
    ...     gpu.launch(threads=4)
    ...     y[gpu.thread] = 2 * x[gpu.thread]
    >>> a = np.zeros(4, np.float32)
    >>> function = twice.exported(a, a.copy())
    >>> function.name, function.named("doubled").name, len(function.texts)
    ('twice', 'doubled', 1)
    """

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
    variants: Sequence[Sequence[Form]],
    memories: Sequence[BoundMemory],
    numbers: Sequence[Number],
    verdict: str,
) -> ExportedFunction:
    """The description of a kernel. Each variant computes the same with other features; its forms bind the same buffers,
    and at each call that its facts allow, one of them is launched. `verdict` is what is proven of the kernel.

    `numbers` are those of the call; a parameter that no form has a formula for is one more, by its name and type.
    Raises KernelError for matrices of a subgroup, which no browser has.
    """
    programs = [form.program for forms in variants for form in forms]
    if any(MATRICES in program.needs for program in programs):
        raise KernelError(
            f"{name}: it multiplies matrices of a subgroup, which no browser has yet; export a kernel of "
            "fused multiply-adds (MMA atom FMA)"
        )
    buffers = []
    for slot, (binding, memory) in enumerate(zip(programs[0].bindings, memories, strict=True)):
        written = any(program.bindings[slot].access == "read_write" for program in programs)
        held = {"name": binding.name, "type": memory.type, "bytes": memory.bytes, "written": written}
        buffers.append(held | {"tensors": list(memory.views)} | ({"gaps": True} if memory.gaps else {}))
    # A number without a type of its own is one parameter in each type that it meets.
    given = {number["name"] for number in numbers}
    params = [(p.name, p.type) for forms in variants for f in forms for p in f.program.params if p.name not in f.params]
    more = [_ranged({"name": n, "type": kind}) for n, kind in dict.fromkeys(params) if n not in given]
    described = [
        (
            [
                _Launch(
                    f.program,
                    f.program.plan.grid if f.program.plan else f.program.grid,
                    range(len(buffers)),
                    [f.params.get(p.name, p.name) for p in f.program.params],
                    f.when,
                )
                for f in forms
            ],
            dict.fromkeys(fact for f in forms for fact in f.facts),
        )
        for forms in variants
    ]
    return _function(name, buffers, [*numbers, *more], verdict=verdict, variants=described)


def _ranged(number: Number) -> Number:
    least, most = RANGES.get(number["type"], (None, None))
    return number if most is None else number | {"least": least, "most": most}


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
    launches = [
        _Launch(program, program.grid, places, list(params), None) for program, places, params in recording.programs
    ]
    return _function(name, buffers, [], verdict="", variants=[(launches, ())])


@dataclass(frozen=True, slots=True)
class _Launch:
    """A program, the grid, the buffer of each binding, the value of each parameter, when it is launched."""

    program: Program
    grid: Sequence[Formula]
    buffers: Sequence[int]
    values: Sequence[Formula | float]
    when: Formula | None


def _function(
    name: str,
    buffers: list[dict[str, Any]],
    numbers: Sequence[Number],
    *,
    verdict: str,
    variants: Sequence[tuple[Sequence[_Launch], Iterable[tuple[Formula, str]]]],
) -> ExportedFunction:
    """A description of launches and facts for each variant."""
    texts: list[str] = []

    def text_of(program: Program) -> int:
        text = for_tint(program)
        if text not in texts:
            texts.append(text)
        return texts.index(text)

    described = []
    for launches, facts in variants:
        programs = [launch.program for launch in launches]
        described.append(
            {
                "needs": sorted({need for program in programs for need in program.needs}),
                "lanes": max(program.lanes for program in programs),
                "limits": _limits(programs),
                "facts": [{"holds": holds, "text": text} for holds, text in facts],
                "launches": [
                    {
                        "text": text_of(launch.program),
                        "entry": launch.program.entry,
                        "workgroup": list(launch.program.workgroup_size),
                        "grid": list(launch.grid),
                        "buffers": list(launch.buffers),
                        "access": ["read" if b.access == "read" else "read_write" for b in launch.program.bindings],
                        "params": [
                            {"type": param.type, "value": value}
                            for param, value in zip(launch.program.params, launch.values, strict=True)
                        ],
                    }
                    | ({} if launch.when is None else {"when": launch.when})
                    for launch in launches
                ],
            }
        )
    data = {
        "format": FORMAT,
        "name": name,
        "buffers": buffers,
        "numbers": list(numbers),
        "verdict": verdict.splitlines(),
        "variants": described,
    }
    proof = hashlib.sha256(json.dumps([data, texts], sort_keys=True).encode()).hexdigest()
    return ExportedFunction(json.loads(json.dumps(data)) | {"proof": proof}, tuple(texts))


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
