"""From a traced kernel to one that can be printed as it stands, and to the program that a runtime takes: every decision
about the text is made here.

`PASSES` are the passes in their order, a file each. Law of each: it maps a kernel to a kernel that computes the same.
"""

from collections.abc import Callable, Iterable
from weakref import WeakKeyDictionary

from ...tensor.dtypes import DType, MatrixType, f16, f32, i32, u32
from .. import ir
from ..ir import Kernel, check
from ..ir.waits import waiting
from ..runtime.program import Access, Binding, ParamType, Program, ProgramParam
from ..targets.wgsl import Dialect, write_wgsl
from .branch_on_predicates import branch_on_predicates
from .choose_widths import choose_widths, could_be_wider
from .drop_coordinates import drop_coordinates
from .drop_stated import drop_stated, stated_alone
from .drop_unused import drop_unused
from .forward_copies import forward_copies
from .hoist import hoist, name_shared_floats
from .join_neighbours import join_neighbours
from .legalize_wgsl import legalize_wgsl
from .load_once import load_once
from .loop_bounds import loop_bounds
from .name_registers import name_registers

Pass = Callable[[Kernel], Kernel]

#: What `lower` does, in order. Up to `join_neighbours` an access counts elements, from `choose_widths` on vectors.
PASSES: tuple[Pass, ...] = (
    check,
    drop_stated,
    drop_coordinates,
    name_registers,
    drop_unused,
    load_once,
    join_neighbours,
    choose_widths,
    branch_on_predicates,
    legalize_wgsl,
    hoist,
    forward_copies,
)

#: Each kernel as `lower` made it: what is printed is what is proven.
_LOWERED: WeakKeyDictionary[Kernel, Kernel] = WeakKeyDictionary()


def finish(kernel: Kernel) -> Kernel:
    """A traced kernel without dead code, and with floating-point values used twice named: what `lower` begins with.

    Raises KernelError for what `check`, `check_constants` and `check_ids` refuse.
    """
    live = drop_unused(ir.check_constants(check(kernel)))
    named, uses = name_shared_floats(live)
    ir.check_ids(live, uses)
    return named


def lower(kernel: Kernel) -> Kernel:
    """`kernel` after `PASSES`: arrays over vectors, registers named, predicates as `if`, shared values named once."""
    ready = _LOWERED.get(kernel)
    if ready is None:
        ready = kernel
        for one in PASSES:
            ready = one(ready)
        _LOWERED[kernel] = ready
    return ready


_TYPES: dict[DType, ParamType] = {f16: "f16", f32: "f32", i32: "i32", u32: "u32"}


def compile_kernel(
    kernel: Kernel, *, dialect: Dialect = "naga", checked: bool = True, guarded: bool = False
) -> Program:
    """The program of `kernel` for a WGSL compiler; `checked=False` is for a kernel proven in bounds, `guarded` prints
    checks into the text, for a device whose modules have none."""
    ready = lower(kernel)
    moved = _matrices(ready)
    source = write_wgsl(ready, dialect, guarded=guarded, to_run=True)
    # Tint requires rows of the workgroup to be whole subgroups where a size is asked for.
    asks = dialect == "tint" and "subgroups" in source.needs and kernel.subgroup > 0
    asks = asks and kernel.workgroup[0] % kernel.subgroup == 0
    return Program(
        wgsl=source.text,
        entry=source.entry,
        bindings=tuple([_binding(b, l, moved.get(l, ())) for b, l in zip(kernel.buffers, ready.buffers, strict=True)]),
        workgroup_size=kernel.workgroup,
        grid=kernel.grid,
        params=tuple(ProgramParam(p.name, _TYPES[p.dtype]) for p in kernel.params),
        needs=source.needs,
        shared_bytes=ready.shared_bytes,
        checked=checked,
        lanes=kernel.lanes,
        guarded=guarded,
        loops=loop_bounds(ready),
        waits=tuple(dict.fromkeys([w.loop.place or "unknown" for w in waiting(kernel) if w.loop.stop is None])),
        subgroup=kernel.subgroup,
        sized=write_wgsl(ready, dialect, guarded=guarded, to_run=True, sized=True).text if asks else "",
    )


def _binding(buffer: ir.Buffer, lowered: ir.Buffer, matrices: Iterable[int]) -> Binding:
    """An array as it is bound; one of unknown length has an element at least, or one of the `matrices` of so many bytes
    that are moved."""
    element = max([lowered.width * lowered.dtype.bytes, *matrices])
    whole = element if buffer.shape else buffer.length * buffer.dtype.bytes
    access: Access = "read_write" if buffer.writable else "in_order" if buffer.in_order else "read"
    return Binding(buffer.name, access, whole, element)


def _matrices(kernel: Kernel) -> dict[ir.Buffer, list[int]]:
    """The bytes of the matrices of a subgroup that are loaded from each array, or stored to it."""
    moved = [(node.buffer, node.dtype) for node in ir.all_nodes(kernel.body) if isinstance(node, ir.MatrixLoad)]
    moved += [(s.buffer, s.value.dtype) for s in ir.statements(kernel.body) if isinstance(s, ir.MatrixStore)]
    found: dict[ir.Buffer, list[int]] = {}
    for buffer, kind in moved:
        assert isinstance(kind, MatrixType)
        found.setdefault(buffer, []).append(kind.rows * kind.columns * kind.element.bytes)
    return found


__all__ = [
    "PASSES",
    "Pass",
    "compile_kernel",
    "could_be_wider",
    "drop_stated",
    "drop_unused",
    "finish",
    "lower",
    "stated_alone",
]
