"""The report of a kernel: each access measured, arithmetic counted."""

from ...layout.algebra.banks import WORD, fetched, served
from ..ir import Binary, Call, Expr, Kernel, Stmt, const, expressions, new_arena, nodes
from ..ir.operators import ARITHMETIC, FUNCTIONS, SUBGROUP_REDUCE
from ..verify.collect import collect
from ..verify.model import Access, Loop, Model
from ..verify.search import unknowns
from .count import Counter
from .figures import AccessFigures, ArrayFigures, Hardware, Report


def report(kernel: Kernel, hardware: Hardware | None = None) -> Report:
    """What one dispatch of `kernel` asks of memory and arithmetic, on hardware of that make.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def every_second(x, y):
    ...     gpu.launch(grid=2, threads=64)
    ...     i = gpu.workgroup.x * 64 + gpu.thread
    ...     y[i] = 3 * x[2 * i]
    >>> found = report(every_second.ir(np.zeros(256, np.float32), np.zeros(128, np.float32)))
    >>> found.flops, [(a.verb, a.transactions, a.perfect) for a in found.accesses]
    (128, [('reads', 32, 16), ('writes', 16, 16)])

    A subgroup runs its threads in step, and guards that memory decides are taken to hold.
    """
    chosen = hardware if hardware is not None else Hardware()
    with new_arena():
        model = collect(kernel, chosen.subgroup)
        accesses = tuple(_measure(model, a, chosen) for a in model.accesses if a.buffer.space != "private")
        x, y, z = kernel.grid
        return Report(
            kernel.name,
            chosen,
            x * y * z,
            kernel.threads,
            kernel.shared_bytes,
            _flops(model),
            _arrays(kernel, accesses),
            accesses,
        )


def _measure(model: Model, access: Access, hardware: Hardware) -> AccessFigures:
    buffer, each = access.buffer, access.buffer.dtype.bytes
    nbytes, stored = each * access.lanes, buffer.space == "storage"
    strange = bool(unknowns(model, [access.index]))
    index = const(0) if strange else access.index
    counter = Counter(model, index, access.guards, access.loops)
    times = units = perfect = 0
    ways = 1
    modulus = hardware.segment_bytes if stored else WORD * hardware.banks
    for view in counter.views(max(1, modulus // each)):
        active = int(view.active.sum())
        times += active * view.times
        if strange or not active:
            continue
        firsts = [at if on else None for at, on in zip((view.addresses * each).tolist(), view.active, strict=True)]
        if stored:
            costs = list(fetched(firsts, nbytes, hardware.subgroup, hardware.segment_bytes))
        else:
            phases = served(firsts, nbytes, hardware.subgroup, hardware.banks)
            costs = [(phase.ways, phase.perfect(hardware.banks)) for phase in phases]
            ways = max(ways, *(rounds for rounds, _ in costs))
        units += sum(cost for cost, _ in costs) * view.times
        perfect += sum(least for _, least in costs) * view.times
    return AccessFigures(
        access.verb,
        buffer.name,
        buffer.space,
        access.text,
        access.place,
        buffer.note,
        nbytes,
        times,
        times * nbytes,
        transactions=None if strange or not stored else units,
        ways=None if strange or stored else ways,
        rounds=None if strange or stored else units,
        perfect=None if strange else perfect,
        exact=counter.exact,
    )


def _arrays(kernel: Kernel, accesses: tuple[AccessFigures, ...]) -> tuple[ArrayFigures, ...]:
    found = []
    for buffer in (*kernel.buffers, *kernel.local):
        mine = [a for a in accesses if a.array == buffer.name]
        if mine:
            read = sum(a.bytes for a in mine if a.verb != "writes")
            written = sum(a.bytes for a in mine if a.verb != "reads")
            found.append(ArrayFigures(buffer.name, buffer.space, buffer.note, read, written))
    return tuple(found)


def _flops(model: Model) -> int:
    """Floating-point operations of all invocations."""
    total = 0
    known: dict[tuple[tuple[Expr, ...], tuple[Loop, ...]], int] = {}
    for stmt, guards, loops in model.work:
        amount = _operations(stmt)
        if amount:
            key = guards, loops
            if key not in known:
                views = Counter(model, const(0), guards, loops).views(1)
                known[key] = sum(int(view.active.sum()) * view.times for view in views)
            total += amount * known[key]
    return total


def _operations(stmt: Stmt) -> int:
    """Floating-point operations of one invocation at a statement: each expression once, each lane counts."""
    total = 0
    for node in nodes(*expressions(stmt)):
        if node.dtype.kind == "f":
            match node:
                case Binary(op=op) if op in ARITHMETIC:
                    total += node.lanes
                case Call(name=name) if name in FUNCTIONS or name in SUBGROUP_REDUCE:
                    total += (2 if name == "fma" else 1) * node.lanes
    return total
