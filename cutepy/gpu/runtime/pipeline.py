"""Pipelines and bind groups: built once for a program and its buffers, then looked up."""

from __future__ import annotations

import functools
import re
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import DeviceError, KernelError
from .buffer import DeviceBuffer, Span, padded
from .native import Binder, Owned, wgpu
from .program import Binding, Dialect, Program, Size3

if TYPE_CHECKING:
    from .device import Device

GROUPS_KEPT = 4096
"""Bind groups that a device keeps: those of some ten steps of a model, a few hundred bytes each."""
BUFFER_TYPE = {"read": "read-only-storage", "read_write": "storage", "in_order": "storage"}
_PROBE = """@group(0) @binding(0) var<storage, read_write> found: array<u32>;
@compute @workgroup_size(128)
fn probe(@builtin(subgroup_size) size: u32, @builtin(local_invocation_index) thread: u32) {
    if thread == 0u { found[0] = size; }
}"""


def probe_of_subgroups(dialect: Dialect) -> Program:
    """A program that writes the threads of a subgroup, as a kernel of 128 threads sees them: wgpu does not tell."""
    text = "enable subgroups;\n" * (dialect == "tint") + _PROBE
    return Program(
        text, "probe", (Binding("found", "read_write", 4),), (128, 1, 1), (1, 1, 1), needs=("subgroups",), checked=False
    )


@dataclass(frozen=True, slots=True, eq=False)
class Pipeline:
    """A program compiled for one device. `checked` says whether it runs with checks: it may have been given them where
    the program asked for none but the device cannot leave them out.
    """

    program: Program
    handle: wgpu.GPUComputePipeline
    buffers_layout: wgpu.GPUBindGroupLayout
    checked: bool
    binder: Binder
    pack: Callable[..., bytes]
    """The bytes of parameters that fit their types, with those up to where the next launch's may begin."""


def build_pipeline(device: Device, program: Program) -> Pipeline:
    """Compile a program: explicit layouts (an automatic one would leave out unused bindings), then module and pipeline.

    Raises DeviceError where the device's limits, features or memory do not suffice, or where it would run unchecked
    what is not proven; KernelError where the compiler refuses the source.
    """
    program.check(device.limits, device.features, device.adapter.name)
    gpu, runtime = device.gpu, device.runtime
    if program.checked and not (program.guarded or device.checked or runtime.module_checks):
        raise DeviceError(
            f"{program.entry} is not proven to stay in bounds, and no module of {device.adapter.summary} has run-time "
            f"checks; open_device(runtime={runtime.name!r}, checked=True) gives them to all"
        )
    sized = program.sized if "subgroup-size-control" in device.features else ""  # the text that requires the size
    if not sized and program.subgroup and device.lanes != program.subgroup:
        raise _other_size(program, device, f"have {device.lanes}")
    if not sized and program.lanes and (size := device.lanes) < program.lanes:
        raise DeviceError(
            f"{program.entry} shuffles within subgroups of {program.lanes} threads, those of {device.adapter.name} "
            f'have {size}; give gpu.convert(..., lanes={size}), or through="memory"'
        )
    text = (sized or program.wgsl).replace("\0", " ")  # of a comment: C ends a text there
    try:
        types = [{"type": BUFFER_TYPE[b.access], "min_binding_size": b.source_bytes} for b in program.bindings]
        # Parameters are a window on the batch's, after the tensors; where it begins is told when the group is set.
        if window := padded(4 * len(program.params)) if program.params else 0:
            types.append({"type": "uniform", "has_dynamic_offset": True, "min_binding_size": window})
        compute = wgpu.ShaderStage.COMPUTE
        buffers_layout = gpu.create_bind_group_layout(
            entries=[{"binding": i, "visibility": compute, "buffer": kind} for i, kind in enumerate(types)]
        )
        asked = device.checked or (runtime.module_checks and program.checked)
        module, checked = runtime.module(gpu, text.encode(errors="replace").decode(), program.entry, asked)
        handle = gpu.create_compute_pipeline(
            layout=gpu.create_pipeline_layout(bind_group_layouts=[buffers_layout]),
            compute={"module": module, "entry_point": program.entry},
        )
    except runtime.errors as error:
        failure = device._failure(error, f"compile {program.entry}")
        if not device.alive or device._out_of_memory(error):
            raise failure from error
        if sized and "subgroup_size attribute" in str(error):
            raise _other_size(program, device, f"have {device.lanes}, or others that it gives") from error
        raise KernelError(f"{program.entry}: {_refusal(runtime.name, text, str(error))}") from error
    if checked and not asked:
        warn_that_checks_stay()
    params = [(device._params, window)] if window else []
    binder = Binder(runtime, gpu, buffers_layout, len(program.bindings), params)
    pack = program.packer(device.limits.uniform_alignment)
    return Pipeline(program, handle, buffers_layout, checked or program.guarded, binder, pack)


def _other_size(program: Program, device: Device, theirs: str) -> DeviceError:
    """What to say where a device has no subgroups of the size that is asked for."""
    return DeviceError(
        f"{program.entry} is for subgroups of {program.subgroup} threads, gpu.launch(subgroup={program.subgroup}), "
        f"those of {device.adapter.name} {theirs}; leave subgroup out where any size serves"
    )


def _refusal(runtime: str, text: str, message: str) -> str:
    """What to say of a text that does not compile: its line, and whose fault it is where it came of a kernel."""
    position = re.search(r":(\d+):\d+", message)
    lines = text.splitlines()
    line = f"\n  {lines[int(position[1]) - 1].strip()}" if position and int(position[1]) <= len(lines) else ""
    return (
        f"{runtime} refuses the program: {message.strip()}{line}\n"
        "of a @gpu.kernel this is a fault of cutepy, whose compiler printed it: please report it with the kernel"
    )


@functools.cache
def warn_that_checks_stay() -> None:
    """Say once in a process that this wgpu cannot leave out run-time checks; `Device.prepare` says it of a program."""
    message = (
        f"wgpu {wgpu.__version__} lacks unchecked shader modules: proven kernels keep their checks, and are slower"
    )
    warnings.warn(message, RuntimeWarning, stacklevel=2)


@dataclass(slots=True, eq=False)
class BoundPipeline:
    """A pipeline with the memory that it is bound to: the numbers, and the bytes together. Its bind group is made when
    its first launch is encoded; then it never changes."""

    pipeline: Pipeline
    uids: tuple[int, ...]
    nbytes: int
    memory: list[tuple[wgpu.GPUBuffer, int]]
    _group: Owned | None = None

    @property
    def group(self) -> Owned:
        """Its bind group. The caller has the device to itself."""
        if self._group is None:
            self._group = self.pipeline.binder.group(self.memory)
            self.memory.clear()
        return self._group


BoundLaunch = tuple[BoundPipeline, bytes, Size3]
"""A launch that is bound: its pipeline with the bind group, its parameters as bytes, its workgroups."""
Spans = tuple[Span | None, ...]
"""The spans of buffers; no launch is bound to one without memory."""
BoundKey = tuple[object, tuple[int, ...] | Spans]
"""What is bound, and to what: a pipeline to the memory of these numbers, or launches that are made again to buffers."""


class BindGroups:
    """The bind groups of a device, by pipeline and buffers: the latest ones, none that holds a freed buffer; and so
    the launches of calls that are made again, bound. Any thread may ask for one at any time; who drops some has the
    device to itself."""

    def __init__(self) -> None:
        self._made: OrderedDict[BoundKey, BoundPipeline] = OrderedDict()
        self.played: OrderedDict[BoundKey, list[BoundLaunch]] = OrderedDict()
        self._of_buffer: defaultdict[int, set[BoundKey]] = defaultdict(set)

    def __len__(self) -> int:
        return len(self._made)

    def get(self, pipeline: Pipeline, operands: Sequence[DeviceBuffer]) -> BoundPipeline:
        """The pipeline with the bind group of these buffers, which `check_operands` has let pass.

        Raises DeviceError for a buffer that was freed.
        """
        memory = [(operand.handle, operand.held) for operand in operands]
        uids = tuple([operand.uid for operand in operands])
        key = pipeline, uids
        bound = self._made.get(key)
        if bound is None:
            bound = BoundPipeline(pipeline, uids, sum([b.nbytes for b in operands]), memory)
            # First where it will be looked for when a buffer goes: a signal may come between.
            for uid in uids:
                self._of_buffer[uid].add(key)
            self._made[key] = bound
        return bound

    def known(self, pipeline: Pipeline, uids: tuple[int, ...]) -> BoundPipeline | None:
        """The bind group of the buffers of these numbers, where it was made before."""
        return self._made.get((pipeline, uids))

    def play(self, key: BoundKey, launches: list[BoundLaunch]) -> None:
        """Keep the launches of a call, as `played` gives them to a call of the same key."""
        for uid in _numbers(key):
            self._of_buffer[uid].add(key)
        self.played[key] = launches

    def trim(self, played: int = GROUPS_KEPT) -> None:
        """Let go of those that were made longest ago, where there are many, and of more launches than so many calls."""
        for kept, most in ((self._made, GROUPS_KEPT), (self.played, played)):
            while len(kept) > most:
                self._drop(kept.popitem(last=False)[0])

    def forget(self, uid: int) -> None:
        """Drop what holds this buffer, so that its memory can go."""
        for key in list(self._of_buffer.pop(uid, ())):
            self._made.pop(key, None)
            self.played.pop(key, None)
            self._drop(key)

    def clear(self) -> None:
        self._made.clear()
        self.played.clear()
        self._of_buffer.clear()

    def _drop(self, key: BoundKey) -> None:
        for uid in _numbers(key):
            if uid in self._of_buffer:
                self._of_buffer[uid].discard(key)


def _numbers(key: BoundKey) -> list[int]:
    """The numbers of the memory that something is bound to."""
    return [each if isinstance(each, int) else each[0] for each in key[1] if each is not None]


def check_operands(device: Device, program: Program, operands: Sequence[DeviceBuffer]) -> None:
    """Raise DeviceError or KernelError, naming tensors and numbers, where these cannot be bound together."""
    if len(operands) != len(program.bindings):
        names = ", ".join(b.name for b in program.bindings) or "none"
        raise KernelError(
            f"{program.entry}: {len(operands)} buffers given for {len(program.bindings)} tensors ({names})"
        )
    most = device.limits.binding_bytes
    for binding, operand in zip(program.bindings, operands, strict=True):
        if operand.device is device and binding.min_bytes <= operand.nbytes and operand.held <= most:
            continue
        size = padded(operand.nbytes)
        if operand.device is device and binding.min_bytes <= size and operand.held <= most:
            continue
        what = f"{program.entry}: tensor {binding.name}"
        if operand.device is not device:
            raise DeviceError(
                f"{what} is on another device ({operand.device.adapter}) than the launch ({device.adapter}); "
                "copy it: device.upload(buffer.read(...))"
            )
        if size < binding.min_bytes:
            raise KernelError(f"{what} needs {binding.min_bytes} bytes, {operand} has {size}")
        raise DeviceError(
            f"{what} spans {operand.held} bytes, one binding of {device.adapter.name} at most "
            f"{device.limits.binding_bytes}; split the tensor into parts of that size"
        )
    if len({operand.uid for operand in operands}) < len(operands):
        _check_aliases(program, operands)


def _check_aliases(program: Program, operands: Sequence[DeviceBuffer]) -> None:
    """A buffer that is written has no other binding (WebGPU)."""
    for j, (second, b) in enumerate(zip(program.bindings, operands, strict=True)):
        for first, a in zip(program.bindings[:j], operands[:j], strict=True):
            if a is not b or first.access == second.access == "read":
                continue
            raise KernelError(
                f"{program.entry}: tensors {first.name} ({first.access}) and {second.name} ({second.access}) are the "
                f"same buffer, {a}; give one of them a copy, or let the kernel take one tensor and work in place"
            )
