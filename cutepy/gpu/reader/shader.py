"""A compute shader as a kernel of the IR: names get their meaning, vectors are their scalars.

What WGSL evaluates in order is a statement in that order: loads and calls are named where they stand. Source:
https://www.w3.org/TR/WGSL/, chapters 8, 9 and 11.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...errors import KernelError
from ...tensor.dtypes import bool_
from .. import ir
from ..runtime.program import Limits
from ..verify import verify
from ..verify.verdict import Claim, Status, Verdict, Verification
from .declared import Bindings
from .flow import CallFlags, Exits, StatementReader
from .memory import Items, Value
from .syntax import SyntaxNode, parse
from .textures import UNKNOWN


def read_shader(text: str, given: Bindings | None = None) -> ir.Kernel:
    """The kernel of the IR that a compute shader is. Raises KernelError, with the line, for what is not read."""
    try:
        return ShaderReader(parse(text), given or Bindings()).kernel()
    except RecursionError:
        raise KernelError("an expression or a block nests too deep to be read; name parts of it") from None


def verify_shader(text: str, given: Bindings | None = None, prover: str | None = None) -> Verification:
    """The verdicts on a compute shader, for every WebGPU device.

    >>> text = '''
    ... @group(0) @binding(0) var<storage, read_write> y: array<f32>;
    ... @compute @workgroup_size(64)
    ... fn main(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x + 1u] = 2.0; }'''
    >>> found = verify_shader(text, Bindings(lengths={"y": 64}))
    >>> [(str(v.claim), v.array, v.witness.element, v.witness.uses[0].thread) for v in found.refuted]
    [('in bounds', 'y', 64, 63)]

    A member of a struct is an array of its own here, so the number of bindings is not claimed. Memory of a workgroup
    starts with zeros, as WGSL has it. What textures hold is any value, and nothing is claimed of what they are written.
    """
    with ir.new_arena():
        return verify_read(read_shader(text, given), Limits(), prover)


def verify_read(kernel: ir.Kernel, limits: Limits, prover: str | None = None) -> Verification:
    """The verdicts on a kernel that was read, as WGSL has its rules."""
    found = verify(kernel, replace(limits, bindings=max(8, len(kernel.buffers))), prover=prover)
    verdicts = [v for v in found.verdicts if v.array != UNKNOWN]
    zeroed = [
        Verdict(v.claim, Status.PROVEN, "it starts with zeros", v.array)
        if v.claim is Claim.WRITTEN_BEFORE_READ and v.status is not Status.PROVEN
        else v
        for v in verdicts
    ]
    return Verification(found.kernel, tuple(zeroed))


class ShaderReader(StatementReader):
    """The entry point."""

    # The kernel.

    def kernel(self) -> ir.Kernel:
        entries = [node for node in self.nodes.values() if node.kind == "function" and "compute" in node.attributes]
        chosen = [node for node in entries if node.text == (self.given.entry or node.text)]
        if len(chosen) != 1:
            names = ", ".join(node.text for node in entries) or "none"
            raise KernelError(f"entry point {self.given.entry or '?'}: there are {names}; choose one by --entry")
        entry = chosen[0]
        sizes = [self.whole(node) for node in entry.attributes["workgroup_size"]]
        x, y, z = [*sizes, 1, 1][:3]
        self.size = x, y, z
        scope: dict[str, Value] = {}
        for node in entry.parts[2:]:
            assert node is not None
            scope[node.text] = self.input(node)
        call = CallFlags(None, ir.var("done", bool_))
        body = self.body(entry.part(0), scope, Exits(call))
        if call.uses_done:
            body = (ir.Declare(call.done, ir.const(False, bool_)), *body)
        body = (*self.first, *body)
        if self.chance is not None:
            self.buffers.append(((1 << 30, 0), self.chance))
        ordered = tuple(buffer for _, buffer in sorted(self.buffers, key=lambda pair: pair[0]))
        grid, params = self.given.grid, tuple(self.params)
        return ir.Kernel(entry.text, ordered, body, grid, self.size, tuple(self.local), params)

    def input(self, node: SyntaxNode) -> Value:
        """A parameter of the entry point: a builtin value, or a struct of these."""
        if "builtin" not in node.attributes:
            kind = self.nodes.get(node.part(0).text)
            if kind is None or kind.kind != "struct":
                raise self.refuse(node, f"the input {node.text} is no builtin value")
            members = kind.pieces
            return {member.text: self.input(member) for member in members}
        name = node.attributes["builtin"][0].text
        x, y, z = self.size
        tid = ir.builtin("local_invocation_index", 0, x * y * z - 1)
        group = [ir.builtin("workgroup_id", 0, n - 1, axis=axis) for axis, n in enumerate(self.given.grid)]
        # Division by 1 and by all that there are would hide that the index itself is meant.
        flat = y == z == 1
        local = [
            tid if flat else tid % x,
            ir.const(0) if flat else tid // x % y,
            ir.const(0) if z == 1 else tid // (x * y),
        ]
        values: dict[str, Callable[[], Value]] = {
            "local_invocation_index": lambda: tid,
            "local_invocation_id": lambda: Items(local),
            "workgroup_id": lambda: Items(group),
            "global_invocation_id": lambda: Items(g * n + i for g, n, i in zip(group, self.size, local, strict=True)),
            "num_workgroups": lambda: Items(ir.const(n) for n in self.given.grid),
            "subgroup_size": lambda: ir.builtin("subgroup_size", 4, 128),
            "subgroup_invocation_id": lambda: ir.builtin("subgroup_invocation_id", 0, 127),
            "subgroup_id": lambda: ir.builtin("subgroup_id", 0, max(0, (x * y * z - 1) // 4)),
            "num_subgroups": lambda: ir.builtin("num_subgroups", 1, -(-x * y * z // 4)),
        }
        if name not in values:
            raise self.refuse(node, f"the builtin value {name} is not read")
        return values[name]()
