"""What a compiled kernel hands to a runtime, and what a device can serve: plain frozen data.

Nothing here knows of the kernel IR, of layouts or of wgpu. The contract with the WGSL text:

* tensor `i` of `bindings` is `@group(0) @binding(i) var<storage, access> name: array<...>`;
* the parameters, where there are any, are one struct of 4-byte members in the order of `params`, bound after the
  tensors, `@group(0) @binding(len(bindings)) var<uniform> params: Params`;
* an f16 parameter is an f32 member that holds a value of f16;
* a bool lives in a buffer as a u32, and every buffer holds a multiple of 16 bytes, the rest zeros.
"""

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ...errors import DeviceError, KernelError
from .formulas import Formula, evaluate

Access = Literal["read", "read_write", "in_order"]
"""How a tensor is used: what is `in_order` is read alone, by a binding that is declared `read_write`."""
Dialect = Literal["naga", "tint"]  # of WGSL: what wgpu-native takes, what Dawn and Chromium take
#: The feature by which a device grants matrices of a subgroup, as Dawn calls it.
MATRICES = "chromium-experimental-subgroup-matrix"
ParamType = Literal["f16", "f32", "i32", "u32"]
Size3 = tuple[int, int, int]

_PACK = {"f16": "<f", "f32": "<f", "i32": "<i", "u32": "<I"}


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What the host computes for a launch of a program for unknown sizes: its parameters by name, its grid, and what
    must be 0 or more, each with how it reads and whether the user stated it. `serves` is true of the calls of its
    class, and `checks` are what is true of all calls that it may serve, each with how it reads. Numbers of the call are
    named "x.shape[0]", "x.stride[1]" (0 where the extent is 1), "x.offset" and "x.length", counted in elements, for a
    tensor x."""

    params: tuple[tuple[str, Formula], ...]
    grid: tuple[Formula, Formula, Formula]
    conditions: tuple[tuple[Formula, str, bool], ...] = ()
    serves: Formula = 1
    checks: tuple[tuple[Formula, str], ...] = ()

    def host(self, values: Mapping[str, int]) -> tuple[dict[str, int], Size3]:
        """The parameters and the grid."""
        x, y, z = (evaluate(formula, values) for formula in self.grid)
        return {name: evaluate(formula, values) for name, formula in self.params}, (x, y, z)

    def broken(self, values: Mapping[str, int]) -> tuple[str, bool] | None:
        """A condition that does not hold, and whether the user stated it; None where all hold."""
        for formula, text, stated in self.conditions:
            if evaluate(formula, values) < 0:
                return text, stated
        return None


@dataclass(frozen=True, slots=True)
class Binding:
    """One tensor of a program: its name in the source, how it is used, and the bytes that it must have at least;
    `element_bytes` are those of an element of the array in the source, or of a matrix of a subgroup that is moved at
    once, 0 where the array is as long as `min_bytes`.

    >>> Binding("x", "read", 10).source_bytes
    12
    """

    name: str
    access: Access = "read"
    min_bytes: int = 0
    element_bytes: int = 0

    @property
    def source_bytes(self) -> int:
        """The bytes without which a runtime refuses the source, in words of 4: of one element where the source has an
        array of any length. A launch needs `min_bytes`."""
        return -(-(self.element_bytes or self.min_bytes) // 4) * 4


@dataclass(frozen=True, slots=True)
class ProgramParam:
    """One scalar that may differ at every launch; it travels in the uniform buffer.

    >>> ProgramParam("alpha", "f32")
    ProgramParam(name='alpha', type='f32')
    """

    name: str
    type: ParamType


@dataclass(frozen=True, slots=True)
class LoopBound:
    """A loop: its counter goes `distance`, plus `terms` (launch parameter, factor), by `step`; and the loops inside.

    One invocation takes at most that many iterations, and exactly that many where the bound is `certain`; the test
    that ends a loop counts as an iteration.

    >>> loop = LoopBound(10, 2, ((0, 3),), (LoopBound(4, 1),))  # of 3 n + 10 by 2, with one of 4 inside
    >>> loop.most((4,)), loop.least((4,))
    (67, 67)
    """

    distance: int
    step: int
    terms: tuple[tuple[int, int], ...] = ()
    inside: "tuple[LoopBound, ...]" = ()
    certain: bool = True

    def most(self, params: Sequence[float]) -> int:
        """The iterations that it takes at most, those of the loops inside included."""
        return self._times(params) * (1 + sum(loop.most(params) for loop in self.inside)) + 1

    def least(self, params: Sequence[float]) -> int:
        """The iterations that it takes at least."""
        if not self.certain:
            return 1
        return self._times(params) * (1 + sum(loop.least(params) for loop in self.inside)) + 1

    def _times(self, params: Sequence[float]) -> int:
        distance = self.distance + sum(times * int(params[i]) for i, times in self.terms)
        return max(0, -(-distance // self.step))


@dataclass(frozen=True, slots=True, order=True)
class MatrixShape:
    """One product that the threads of a subgroup compute together: (m, k) of type `operand` times (k, n) of that type,
    added to (m, n) of type `result`. Types by WGSL's names, and "i8", "u8".

    >>> MatrixShape("f16", "f32", 16, 16, 16)
    MatrixShape(operand='f16', result='f32', m=16, n=16, k=16)
    """

    operand: str
    result: str
    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.operand} -> {self.result} {self.m}x{self.n}x{self.k}"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a device can do, in the numbers that a compute kernel meets; by default, what every WebGPU device can.

    `workgroups` is the most along one dimension of a grid, `bindings` the most storage buffers of one kernel,
    `binding_bytes` the most that one of them may span. `subgroup_sizes` is WebGPU's range: wgpu does not tell.

    >>> Limits().exceeded((64, 1, 1), 20_000, 2, 1)
    ['20000 bytes of workgroup memory, the device has 16384']
    """

    workgroup_bytes: int = 16384
    invocations: int = 256
    workgroup_size: Size3 = (256, 256, 64)
    workgroups: int = 65535
    bindings: int = 8
    binding_bytes: int = 134217728
    buffer_bytes: int = 268435456
    uniform_bytes: int = 65536
    uniform_alignment: int = 256
    subgroup_sizes: tuple[int, int] = (4, 128)

    def exceeded(self, workgroup: Size3, shared_bytes: int, bindings: int, params: int) -> list[str]:
        """What of a workgroup's size and memory, of its bindings and parameters is beyond these, one sentence each."""
        x, y, z = workgroup
        sizes = zip("xyz", workgroup, self.workgroup_size, strict=True)
        asked = [
            *[(f"workgroup size {size} along {axis}", size, most) for axis, size, most in sizes],
            (f"{x * y * z} invocations in a workgroup of {x} x {y} x {z}", x * y * z, self.invocations),
            (f"{shared_bytes} bytes of workgroup memory", shared_bytes, self.workgroup_bytes),
            (f"{bindings} storage buffers", bindings, self.bindings),
            (f"{4 * params} bytes of parameters", 4 * params, self.uniform_bytes),
        ]
        return [f"{what}, the device has {most}" for what, amount, most in asked if amount > most]


@lru_cache(maxsize=256)
def without_comments(wgsl: str) -> str:
    """A source without what it says to readers only: comments, and lines that hold nothing else."""
    return re.sub(r"\s*//[^\n]*", "", wgsl) if "/*" not in wgsl else wgsl


@dataclass(frozen=True, slots=True)
class Program:
    """A compute shader and everything that is needed to run it.

    `grid` counts workgroups, `needs` lists device features by their WebGPU names ("shader-f16", "subgroups"),
    `shared_bytes` is the workgroup memory, and `checked=False` asks for a module without the run-time checks of array
    bounds and loops: only for a kernel that is proven not to need them. `guarded` says that the source itself keeps
    every index in its array, for a device whose modules have no checks. A subgroup has `lanes` threads or more, and
    `subgroup` exactly, where these are not 0; where `subgroup` is given, `lanes` is no less, so either has the device's
    size measured. `sized` is a source as `wgsl` is, which requires `subgroup` of a device with subgroup-size-control,
    "" where none was printed. `loops` are its loops with a known bound, `waits` the places of loops that wait for
    other invocations. A program for unknown sizes has a `plan`, and a `grid` of the most workgroups that it may have.

    >>> scale = ProgramParam("a", "f32")
    >>> p = Program("...", "scale", (Binding("x", "read_write"),), (64, 1, 1), (16, 1, 1), params=(scale,))
    >>> p.pack((2.0,))
    b'\\x00\\x00\\x00@'
    """

    wgsl: str
    entry: str
    bindings: tuple[Binding, ...]
    workgroup_size: Size3
    grid: Size3
    params: tuple[ProgramParam, ...] = ()
    needs: tuple[str, ...] = ()
    shared_bytes: int = 0
    checked: bool = True
    lanes: int = 0
    guarded: bool = False
    loops: tuple[LoopBound, ...] = ()
    waits: tuple[str, ...] = ()
    plan: LaunchPlan | None = None
    subgroup: int = 0
    sized: str = ""

    def __hash__(self) -> int:
        # A text keeps its hash, and a kernel for all sizes has a program for each grid; every launch looks for its own.
        return hash((self.wgsl, self.grid))

    @property
    def compiled(self) -> tuple[object, ...]:
        """What a runtime compiles: programs that are equal in it share a pipeline, whatever comments, grids and lengths
        of arrays they have.

        >>> from dataclasses import replace
        >>> binding = Binding("x", "read_write", 400, 4)
        >>> one = Program("fn scale() {}  // x (100):(1)", "scale", (binding,), (64, 1, 1), (2, 1, 1))
        >>> one.compiled == replace(one, wgsl="fn scale() {}  // x (9):(1)", grid=(1, 1, 1)).compiled
        True
        """
        bound = tuple([(b.access, b.source_bytes) for b in self.bindings])
        subgroups = self.lanes, self.subgroup
        asked = self.workgroup_size, self.shared_bytes, self.needs, subgroups, self.checked, self.guarded
        return without_comments(self.wgsl), self.entry, bound, len(self.params), asked

    def host(self, values: Mapping[str, int]) -> tuple[dict[str, int], Size3]:
        """The parameters that follow from the sizes of a call, by name, and the grid: see `LaunchPlan`.

        >>> Program("...", "scale", (), (64, 1, 1), (16, 1, 1)).host({})
        ({}, (16, 1, 1))
        """
        return ({}, self.grid) if self.plan is None else self.plan.host(values)

    def pack(self, values: Sequence[float]) -> bytes:
        """The bytes of the uniform buffer for these parameter values.

        Raises KernelError where the number of values differs or one does not fit its type.
        """
        if len(values) != len(self.params):
            names = ", ".join(p.name for p in self.params) or "none"
            raise KernelError(f"{self.entry}: {len(values)} parameter values given for {len(self.params)} ({names})")
        packed = b""
        for param, value in zip(self.params, values, strict=True):
            try:
                (held,) = struct.unpack("<e", struct.pack("<e", value)) if param.type == "f16" else (value,)
                packed += struct.pack(_PACK[param.type], held)
            except (struct.error, OverflowError):
                raise KernelError(
                    f"{self.entry}: argument {param.name} is {value!r}, which {param.type} does not hold, the type "
                    "that it meets in the kernel; give another number, or one with a type of its own, such as "
                    "np.int32(...) or np.float32(...)"
                ) from None
        return packed

    def packer(self, alignment: int) -> Callable[..., bytes]:
        """What packs parameter values at once, up to a multiple of `alignment` bytes; it raises struct.error or
        OverflowError for what `pack` refuses.

        >>> Program("...", "scale", (), (64, 1, 1), (16, 1, 1), params=(ProgramParam("a", "u32"),)).packer(8)(3)
        b'\\x03\\x00\\x00\\x00\\x00\\x00\\x00\\x00'
        """
        pad = -4 * len(self.params) % alignment
        if any(p.type == "f16" for p in self.params):  # which are rounded first
            return lambda *values: self.pack(values) + bytes(pad)
        return struct.Struct(f"<{''.join([_PACK[p.type][1] for p in self.params])}{pad}x").pack

    def excesses(self, limits: Limits, features: frozenset[str] = frozenset()) -> list[str]:
        """What this program asks beyond the limits and features of a device, one sentence each; empty if it fits.

        >>> Program("", "tile", (), (32, 32, 1), (1, 1, 1)).excesses(Limits())
        ['1024 invocations in a workgroup of 32 x 32 x 1, the device has 256']
        """
        excesses = [
            f"feature {name!r}, the device lacks it (gpu.open_device(needs=[{name!r}]) looks for one that has it)"
            for name in self.needs
            if name not in features
        ]
        return excesses + limits.exceeded(self.workgroup_size, self.shared_bytes, len(self.bindings), len(self.params))

    def check(self, limits: Limits, features: frozenset[str], device: str) -> None:
        """Raise DeviceError, naming every number, where `device` with these limits and features cannot run this.

        >>> Program("...", "scale", (Binding("x"),), (64, 1, 1), (16, 1, 1)).check(Limits(), frozenset(), "a device")
        """
        if excesses := self.excesses(limits, features):
            raise DeviceError(f"{self.entry} asks for more than {device} has: {'; '.join(excesses)}")
