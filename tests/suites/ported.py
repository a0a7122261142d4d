"""Kernels of other verifiers' suites, written again in cutepy's language: each with its source's name and label.

A label is `pass` or `fail`. What WGSL says otherwise than the source's language is a `Rule`: the port is then expected
to be refuted although its label is `pass`. What the sources say beyond accesses is said as follows.

* An assertion is a store that is out of bounds where it fails (`asserts`); a precondition is an `if` around the body.
* Memory of the workgroup that the source takes as an argument holds given values: `given_shared` copies them in.
* An array of a workgroup has fewer than 65,536 elements, as WGSL has it: two larger ones are written with less.
* A kernel that only computes writes its value to its own element of `out`: cutepy refuses a kernel without a result.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib import import_module

import numpy as np

from cutepy import Tensor, gpu, size
from cutepy.errors import KernelError
from cutepy.gpu.ir import Kernel, new_arena
from cutepy.gpu.reader import Bindings, read_shader
from cutepy.gpu.runtime.program import Limits
from cutepy.gpu.verify import verify
from cutepy.gpu.verify.verdict import Verification

#: The sources use workgroups of 1,024 threads, and arrays of the workgroup of any size.
LIMITS = Limits(workgroup_bytes=1 << 26, invocations=4096, workgroup_size=(4096, 4096, 4096), bindings=16)


class Rule(Enum):
    """What WGSL has otherwise than the languages of the sources."""

    SAME_VALUE = "two threads that write one value to one element race in WGSL"
    LOCK_STEP = "the threads of a warp do not run in lock step in WGSL"
    UNDEFINED = "memory of a workgroup that nobody has written may not be read"
    FORWARD_PROGRESS = "WGSL promises no forward progress: a loop that may never end is not proven"
    UNIFORM = "a barrier under a condition that memory decides is refused, unless all threads read one value of it"
    BOUNDS = "the source's verifier was not asked about bounds; the access leaves its array"


@dataclass(frozen=True, slots=True)
class Port:
    """One kernel with the arguments that it is judged at."""

    source: str
    label: str
    arguments: tuple[object, ...]
    kernel: gpu.KernelFunction
    rule: Rule | None
    static: Mapping[str, object]

    @property
    def expected(self) -> str:
        """`proven` or `refuted`: what the label means in WGSL."""
        return "refuted" if self.label == "fail" or self.rule is not None else "proven"

    @property
    def verdict(self) -> str:
        """`proven`, `refuted`, `undecided`, or `refused` with the reason where the kernel cannot be traced."""
        try:
            verification = self.kernel.verify(*self.arguments, limits=LIMITS, prover="auto", **self.static)
        except KernelError as error:
            return f"refused: {error}"
        return outcome(verification)

    @property
    def outcome(self) -> str:
        """`right`, `false proof`, `false refutation`, or `undecided`."""
        verdict = self.verdict
        if verdict == "undecided":
            return verdict
        if self.expected == "refuted":
            return "false proof" if verdict == "proven" else "right"
        return "right" if verdict == "proven" else "false refutation"

    @property
    def read_back(self) -> tuple[str, str]:
        """The verdicts of cutepy's own prover on the kernel, and on its WGSL text read back."""
        ours = self.kernel.verify(*self.arguments, limits=LIMITS, prover="cutepy", **self.static)
        kernel = self.kernel.ir(*self.arguments, **self.static)
        text = self.kernel.wgsl(*self.arguments, **self.static)
        with new_arena():
            theirs = verify(read_shader(text, bound_as(kernel, text)), LIMITS, prover="cutepy")
        return outcome(ours), outcome(theirs)


def outcome(found: Verification) -> str:
    """`proven`, `refuted` or `undecided`."""
    return "refuted" if found.refuted else "proven" if found.ok else "undecided"


def bound_as(kernel: Kernel, text: str) -> Bindings:
    """What the host gives to a kernel: its arrays in the elements of the text, vectors where it has these."""
    lanes = dict(re.findall(r"(\w+): array<vec(\d)", text))
    lengths = {b.name: b.length // int(lanes.get(b.name, 1)) for b in kernel.buffers}
    return Bindings(lengths=lengths, grid=kernel.grid)


PORTS: list[Port] = []
MODULES = ("gpuverify_cuda", "gpuverify_opencl", "faial_drf", "classics")


def all_ports() -> list[Port]:
    """The ports of every module beside this one."""
    for module in MODULES:
        import_module(module)
    return PORTS


def port(
    source: str, label: str, *arguments: object, rule: Rule | None = None, **static: object
) -> Callable[[gpu.KernelFunction], gpu.KernelFunction]:
    """Register a kernel under the name of its source."""

    def register(kernel: gpu.KernelFunction) -> gpu.KernelFunction:
        PORTS.append(Port(source, label, arguments, kernel, rule, static))
        return kernel

    return register


def ints(*shape: int) -> np.ndarray:
    """Elements of i32."""
    return np.zeros(shape, np.int32)


def uints(*shape: int) -> np.ndarray:
    """Elements of u32."""
    return np.zeros(shape, np.uint32)


def floats(*shape: int) -> np.ndarray:
    """Elements of f32."""
    return np.zeros(shape, np.float32)


def global_id(threads: int) -> gpu.Expr:
    """OpenCL's `get_global_id(0)` for workgroups of that many threads."""
    return gpu.workgroup.x * threads + gpu.thread


def asserts(out: Tensor, index: gpu.Expr, condition: object) -> None:
    """Store to element `index` of `out` where the condition holds, beyond its end where it does not."""
    if condition:
        out[index] = 1
    else:
        out[index + size(out)] = 1


def given_shared(values: Tensor, threads: int) -> Tensor:
    """An array of the workgroup that holds given values."""
    array = gpu.shared(values, size(values))
    for k in gpu.loop(-(-size(values) // threads)):
        with gpu.when(k * threads + gpu.thread < size(values)):
            array[k * threads + gpu.thread] = values[k * threads + gpu.thread]
    gpu.barrier()
    return array
