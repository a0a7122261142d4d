"""What a kernel must obey before anything reads it: names where they are bound, constant indices inside arrays."""

from collections.abc import Iterable

from ...errors import KernelError
from .expr import Builtin, Const, Expr, MatrixLoad, loads, variables
from .stmt import AddressSpace, Block, Buffer, Change, For, Kernel, MatrixStore
from .walk import nodes, statements


def check(kernel: Kernel) -> Kernel:
    """`kernel`, if each of its names is used after what binds it, in the same block or one inside it, and each array of
    its own is declared.

    Raises KernelError with the line otherwise: there is no such program in WGSL, and no meaning is right for it.
    """
    _block(kernel, kernel.body, set())
    declared = {*kernel.buffers, *kernel.local}
    for stmt in statements(kernel.body):
        used = [load.buffer for root in stmt.expressions for load in loads(root)]
        for buffer in [*used, stmt.buffer] if isinstance(stmt, Change) else used:
            if buffer not in declared:
                text = (
                    f"kernel {kernel.name} uses the array {buffer.name} of a trace that was given up: something kept it"
                )
                raise _error(
                    getattr(stmt, "place", ""), f"{text} (functools.cache, a default); make it before the block"
                )
    return kernel


def check_ids(kernel: Kernel, made_of: Iterable[Expr]) -> Kernel:
    """`kernel`, if each id among the nodes `made_of` has a range that covers this launch. An id kept from a smaller
    launch was simplified under a smaller range, which is wrong here.

    Raises KernelError with the line and the id otherwise.
    """
    launched: dict[tuple[str, int | None], int] = {("workgroup_id", axis): n for axis, n in enumerate(kernel.grid)}
    launched["local_invocation_index", None] = kernel.threads
    for node in made_of:
        if isinstance(node, Builtin) and node.hi < launched.get((node.name, node.axis), 0) - 1:
            users = (s for s in statements(kernel.body) if any(x is node for x in nodes(*s.expressions)))
            most = launched[node.name, node.axis] - 1
            raise _error(
                getattr(next(users, None), "place", ""),
                f"kernel {kernel.name} uses {node!r} of another launch, where it was at most {node.hi}, not {most}: "
                f"something kept it (functools.cache, a default, a global); ask anew",
            )
    return kernel


def check_constants(kernel: Kernel) -> Kernel:
    """`kernel`, if no constant index leaves an array that the kernel declares, which WGSL refuses wherever it stands.

    Raises KernelError with the line and the array otherwise.
    """
    for stmt in statements(kernel.body):
        if isinstance(stmt, Change) and not isinstance(stmt, MatrixStore):
            _inside(kernel, stmt.buffer, stmt.index, stmt.value.lanes, stmt.place)
        for root in stmt.expressions:
            for node in loads(root):
                if isinstance(node, MatrixLoad):
                    continue  # it is proven, or checked when it runs, as a whole
                _inside(kernel, node.buffer, node.index, node.lanes, node.place)
    return kernel


def _inside(kernel: Kernel, buffer: Buffer, index: Expr, lanes: int, place: str) -> None:
    if buffer.space == AddressSpace.STORAGE or not isinstance(index, Const):
        return
    first = int(index.value) * buffer.width
    if not 0 <= first <= buffer.length - lanes:
        more = f" to {first + lanes - 1}" if lanes > 1 else ""
        text = f"kernel {kernel.name} uses element {first}{more} of {buffer.name}, which has {buffer.length}"
        raise _error(place, text)


def _block(kernel: Kernel, block: Block, in_scope: set[Expr]) -> None:
    bound: list[Expr] = []
    for stmt in block:
        place = getattr(stmt, "place", "")
        for root in stmt.expressions:
            for name in variables(root):
                if name not in in_scope:
                    raise _unbound(kernel, name, place)
        if stmt.sets is not None and stmt.sets not in in_scope:
            raise _unbound(kernel, stmt.sets, place)
        inner = {stmt.var} - in_scope if isinstance(stmt, For) else set()
        in_scope |= inner
        for child in stmt.blocks:
            _block(kernel, child, in_scope)
        in_scope -= inner
        new = stmt.binds
        if new is not None and new not in in_scope:
            in_scope.add(new)
            bound.append(new)
    in_scope.difference_update(bound)


def _unbound(kernel: Kernel, name: Expr, place: str) -> KernelError:
    text = f"kernel {kernel.name} uses {name!r} where nothing binds it: it belongs to a loop or a block that has ended"
    return _error(place, f"{text}; keep what is used later in a tensor, such as make_fragment_like gives")


def _error(place: str, text: str) -> KernelError:
    return KernelError(f"{place}: {text}" if place else text)
