"""How products are launched: kernels for all sizes, one of few by how the operands lie, and the sum of parts of k.

Law: a launch over A (m,k,b), B (n,k,b), C (m,n,b,parts) and others (m,n,b) is by a form in which sizes, strides and
offsets are values. What such a form does not cover, nested modes for one, is traced for its sizes
(`trace/unknown_sizes.py`), and so is what is to be by a kernel for its sizes alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from functools import cache
from weakref import WeakKeyDictionary

from ... import gpu
from ...errors import KernelError
from ...layout import Layout, ceil_div, leaves, size
from ...layout import _ as ALL
from ...tensor import (
    Tensor,
    clear,
    copy,
    is_row_major,
    local_tile,
    make_fragment_like,
    mode_layouts,
    thread_value_partition,
    transform,
    with_layout,
)
from .. import Device, Expr, KernelFunction
from ..operations.domain import vectors_divide
from ..operations.operand import ExecutionSite
from .cost_model import PLANS_OF_FEW_ROWS_FUSED, is_few
from .epilogue import Beside, Epilogue, epilogue_kernel
from .kernel_fma import matmul_kernel
from .plan import Plan
from .staging import SHORT_K, Orders, corner, of_batch

Near = tuple[str, int, int]
"""An operand by its name, the mode along which its neighbours are nearest in memory, and how it is accessed along that:
4 where so many neighbours are an aligned vector everywhere, 1 where they have stride 1, 0 at any strides."""
MODES = {"A": "IKL", "B": "JKL", "C": "MNLP", "parts": "MNLP", "result": "MNL", "others": "MNL"}
"""The sizes of operands, by name: of whole vectors A and B may have rows that C has not."""
PARTS_TILE, PARTS_OWNED = (16, 64), Layout(((16, 16), 4), ((64, 1), 16))
"""The tile of C in which a workgroup adds the parts of k, and from (thread, value) to its elements, for rows that lie
side by side; for columns the same is turned over."""


@cache
def for_strides(kernel: KernelFunction, near: tuple[Near, ...], divisor: int = 1, *, rank: int = 3) -> KernelFunction:
    """The kernel for all sizes of operands that are accessed so. `divisor` divides K. Tensors have so many modes, the
    result of parts one more, or 2."""
    sizes: dict[str, str] = {}
    for name, nearest, width in (*near, ("others", -1, near[-1][2])):
        modes = MODES[name][: 2 if rank == 2 else None]
        strides = ",".join("1" if mode == nearest and width else "?" for mode in range(len(modes)))
        more = ",?..." if width < 4 else ",..." if name == "others" else ""
        sizes[name] = f"({','.join(modes)}{more})" + f":({strides})" * (name != "others")
    return gpu.kernel(sizes=sizes, given=[f"{divisor} divides K"] if divisor > 1 else ())(kernel.function)


def near(name: str, tensor: Tensor, usual: int) -> Near:
    """How an operand lies: of one row or column, or with neighbours along both, the `usual` mode comes first."""
    steps = [[f for f in zip(leaves(m.shape), leaves(m.stride), strict=True) if f[0] > 1] for m in mode_layouts(tensor)]
    first = [[step for _, step in of_mode[:1]] for of_mode in steps]
    if first[usual] in ([1], []):
        mode = usual
    elif first[1 - usual] == [1]:
        mode = 1 - usual
    else:
        return name, int(is_row_major(tensor)) if first[1 - usual] else usual, 0
    apart = [step for other, of_mode in enumerate(steps) if other != mode for _, step in of_mode]
    numbers = [tensor.offset, *(n for n, _ in steps[mode]), *apart]
    return name, mode, 4 if len(steps[mode]) == 1 and vectors_divide(numbers) else 1


def accesses(
    a: Near, b: Near, c: Near, plan: Plan, *, whole: bool, few: bool = False
) -> tuple[tuple[Near, Near, Near], bool]:
    """Whether A (m,k), B (n,k) and C (m,n) that lie so are accessed in vectors, element by element at stride 1, or at
    any strides, and whether the kernel is told that k is of `whole` slabs. Each way is a text, so there are few:

    1. Any strides, where an operand has no mode of stride 1.
    2. A and B in vectors, where both may be and k is of whole slabs, and C as it may be; plans of one stage need C in
       vectors for it.
    3. C in vectors and, of A and B, those whose neighbours are along m or n, where all of these may be.
    4. None in vectors.

    Plans that read ahead store C element by element. They have A and B in vectors where k is of whole slabs or B's
    neighbours are along k, else at most B; products of `few` multiply-adds have none.
    """
    widths, rows = [width for _, _, width in (a, b, c)], [mode == 0 for _, mode, _ in (a, b)]
    vectors = [width == 4 for width in widths]
    if min(widths) == 0:
        chosen = [0] * 3
    elif plan.ahead and not few and vectors[0] and vectors[1] and (whole or not rows[1]):
        chosen = [4, 4, 1]
    elif plan.ahead:
        chosen = [1, 4 if vectors[1] and rows[1] and not few else 1, 1]
    elif whole and vectors[0] and vectors[1] and (vectors[2] or plan.stages == 2):
        chosen = widths
    elif vectors[2] and all(vectors[operand] for operand in (0, 1) if rows[operand]):
        chosen = [*(4 if along else 1 for along in rows), 4]
    else:
        chosen = [1] * 3
    ways = [(name, mode, width) for (name, mode, _), width in zip((a, b, c), chosen, strict=True)]
    return (ways[0], ways[1], ways[2]), whole and chosen[0] == 4


def with_mode(tensor: Tensor, rank: int) -> Tensor:
    """The tensor with so many modes, the last ones of one element."""
    modes = mode_layouts(tensor)
    return with_layout(tensor, [*modes, *[Layout(1, 0)] * (rank - len(modes))]) if len(modes) < rank else tensor


def exchanged(tensor: Tensor) -> Tensor:
    """The tensor with its first two modes exchanged."""
    rows, columns, *rest = mode_layouts(tensor)
    return with_layout(tensor, [columns, rows, *rest])


def launch(
    place: ExecutionSite,
    operands: tuple[Tensor, Tensor, Tensor],
    plan: Plan,
    others: Sequence[Beside] = (),
    epilogue: Epilogue | None = None,
    *,
    alone: bool = False,
) -> None:
    """A product by multiply-adds of A (m,k,b) and B (n,k,b) into C (m,n,b,parts), or what the epilogue makes of it and
    of others (m,n,b); the last modes may be left out. It is by a kernel for these sizes `alone`, or by one for all."""
    kernel, given, static = _kernel_call(operands, plan, others, epilogue, alone=alone)
    place.run(kernel, *given, **static)


def _kernel_call(
    operands: tuple[Tensor, Tensor, Tensor],
    plan: Plan,
    others: Sequence[Beside],
    epilogue: Epilogue | None,
    *,
    alone: bool,
) -> tuple[KernelFunction, tuple[object, ...], dict[str, object]]:
    """What `launch` calls: a kernel, with its arguments and its static arguments."""
    batches = max(t.rank for t in operands) > 2
    a, b, c = (with_mode(t, rank if batches else 2) for t, rank in zip(operands, (3, 3, 4), strict=True))
    beside = tuple([with_mode(t, 3) if batches and isinstance(t, Tensor) else t for t in others])
    if not alone and plan.tile[0] == plan.tile[1] and plan.copies is None and near("C", c, 1)[1] == 0:
        # Of a square tile one text serves rows and columns of C: the product of B and A has them exchanged.
        a, b, c = b, a, exchanged(c)
        beside = tuple([exchanged(t) if isinstance(t, Tensor) else t for t in beside])
    kernel = matmul_kernel if epilogue is None else epilogue_kernel
    static: dict[str, object] = {"plan": plan} if epilogue is None else {"plan": plan, "epilogue": epilogue}
    given = (a, b, c) if epilogue is None else (a, b, c, beside)
    if alone:
        return kernel, given, static
    slab = 4 * plan.threads_mnk[2] * plan.ahead if plan.ahead else plan.tile[2]
    of_c = near("C", c, 1)
    lying = near("A", a, of_c[1]), near("B", b, 1 - of_c[1]), of_c  # the usual order, or that of B and A exchanged
    # No more is asked of sizes than what has a say: each answer is a class of calls with a recipe of its own.
    few = plan.ahead > 0 and is_few(size(a, 0), size(c, 1), size(a, 1), size(a, 2) if batches else 1)
    lies, whole = accesses(*lying, plan, whole=lying[0][2] == 4 and size(a, 1) % slab == 0, few=few)
    sized = for_strides(kernel, lies, slab if whole else 1, rank=3 if batches else 2)
    across, singly = (lies[0][1] == 1, lies[1][1] == 1, lies[2][1] == 1), (lies[0][2] < 4, lies[1][2] < 4)
    orders = Orders(across, lies[2][2] < 4 and size(a, 1) <= SHORT_K and plan.stores_apart, singly)
    return sized, given, {**static, "orders": orders}


@gpu.kernel
def parts_kernel(
    parts: Tensor, result: Tensor, others: tuple[Tensor | Expr, ...], *, across: bool, epilogue: Epilogue | None
) -> None:
    """result = epilogue(sum over p of parts[m, n, b, p], *others): parts (m,n,b,p), result (m,n,b), others alike."""
    tile = PARTS_TILE if across else PARTS_TILE[::-1]
    gpu.launch(
        grid=(ceil_div(size(result, 1), tile[1]), ceil_div(size(result, 0), tile[0]), size(result, 2)), threads=256
    )
    owned = PARTS_OWNED if across else Layout(((16, 16), 4), ((4, 64), 1))

    def mine(matrix: Tensor) -> Tensor:
        return thread_value_partition(local_tile(matrix, tile, (gpu.workgroup.y, gpu.workgroup.x)), owned)

    batch = gpu.workgroup.z
    target = mine(result(ALL, ALL, batch))
    total = make_fragment_like(target, parts.dtype)
    part = make_fragment_like(target, parts.dtype)
    clear(total)
    for p in gpu.loop(size(parts, 3)):
        copy(mine(parts(ALL, ALL, batch, p)), part)
        transform(total, part, total, op=lambda x, y: x + y)
    if epilogue is None:
        copy(total, target)
        return
    epilogue.store(total, target, others, lambda tensor: mine(of_batch(tensor, batch)))


def add_parts(
    place: ExecutionSite, parts: Tensor, result: Tensor, others: Sequence[Beside] = (), epilogue: Epilogue | None = None
) -> None:
    """The sum of the parts (m,n,b,p) in their order, or what the epilogue makes of it and of others, into the result
    (m,n,b)."""
    result = with_mode(result, 3)
    across = is_row_major(result)
    kernel = for_strides(parts_kernel, (near("parts", parts, 1), near("result", result, 1)))
    beside = tuple([with_mode(t, 3) if isinstance(t, Tensor) else t for t in others])
    place.run(kernel, parts, result, beside, across=across, epilogue=epilogue)


PREPARED_KEPT = 1024
_PREPARED: WeakKeyDictionary[Device, set[Hashable]] = WeakKeyDictionary()
"""What a device has compiled by `prepare_parts` and `prepare_few_rows`, at most so much."""


def _is_prepared(device: Device, key: Hashable) -> bool:
    """Whether a device was asked before; it is from now on."""
    done = _PREPARED.setdefault(device, set())
    if key in done:
        return True
    if len(done) >= PREPARED_KEPT:
        done.clear()
    done.add(key)
    return False


def prepare_few_rows(
    place: ExecutionSite, operands: tuple[Tensor, Tensor, Tensor], others: Sequence[Beside], epilogue: Epilogue
) -> None:
    """Compile the kernel of the same product of few rows on a discrete GPU: after a prompt comes a token at a time, and
    the first then waits for no pipeline. For formulas, which are one object at each call."""
    device, (a, b, c) = place.device, operands
    if device is None or device.adapter.kind != "DiscreteGPU" or not epilogue.operation.formula:
        return
    plan = PLANS_OF_FEW_ROWS_FUSED[is_row_major(b)][0]
    tensors = [a, b, c, *[other for other in others if isinstance(other, Tensor)]]
    if _is_prepared(device, (epilogue, plan, *[(near("others", t, 1), t.dtype, t.rank) for t in tensors])):
        return

    def few(tensor: Tensor) -> Tensor:
        return corner(tensor, (min(plan.tile[0], size(a, 0)), size(tensor, 1)))

    beside = [few(other) if isinstance(other, Tensor) else other for other in others]
    kernel, given, static = _kernel_call((few(a), b, few(c)), plan, beside, epilogue, alone=False)
    with suppress(KernelError):
        device.prepare(kernel.program(*given, **static, dialect=device.dialect))


def prepare_parts(place: ExecutionSite, result: Tensor, others: Sequence[Beside], epilogue: Epilogue) -> None:
    """Compile what adds parts of k with this epilogue into results that lie as this one: the same product of fewer rows
    has parts, and its first call then waits for no pipeline. For formulas, which are one object at each call."""
    if place.device is None or not epilogue.operation.formula:
        return
    beside = [with_mode(t, 3) if isinstance(t, Tensor) else t for t in others]
    lies, across = near("result", with_mode(result, 3), 1), is_row_major(result)
    varies = [
        tuple([any(leaves(mode.stride)) for mode in mode_layouts(t)]) if isinstance(t, Tensor) else () for t in beside
    ]
    kinds = [(t.dtype, is_row_major(t)) if isinstance(t, Tensor) else type(t) for t in beside]
    if _is_prepared(place.device, (epilogue, lies, across, result.dtype, *varies, *kinds)):
        return
    # The same over little memory of the host: where a kernel is for all sizes, so is its text.
    host, extents = ExecutionSite(None), (8, 8, 1) if lies[2] else (9, 9, 1)

    def order(row_major: bool) -> tuple[int, ...]:
        return (1, 0, 2, 3) if row_major else (0, 1, 2, 3)

    def like(tensor: Tensor, moves: tuple[bool, ...]) -> Tensor:
        sizes = tuple([n if moving else 1 for n, moving in zip(extents, moves, strict=True)])
        fresh = host.new(sizes, tensor.dtype, order(is_row_major(tensor))[:3])
        modes = zip(mode_layouts(fresh), extents, moves, strict=True)
        return with_layout(fresh, [mode if moving else Layout(n, 0) for mode, n, moving in modes])

    parts = host.new((*extents, 2), result.dtype.accumulator, order(across))
    given = tuple([like(t, moves) if isinstance(t, Tensor) else t for t, moves in zip(beside, varies, strict=True)])
    fresh = like(with_mode(result, 3), (True, True, True))
    kernel = for_strides(parts_kernel, (near("parts", parts, 1), lies))
    with suppress(KernelError):  # what no kernel for all sizes covers is compiled for its sizes, when they are known
        program = kernel.program(parts, fresh, given, across=across, epilogue=epilogue, dialect=place.device.dialect)
        place.device.prepare(program)
