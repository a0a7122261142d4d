"""Products of any shape and rank: their axes in groups, and the launches that suit them.

Law: `c[i] = sum over k of a[i, k] * b[i, k]`, several axes behind each letter, and those at stride 0 along which an
operand does not vary. Axes of `c` along which only one operand varies are its rows or columns, the others are batches.
Sums are in f32 (in i32 and u32 for those), in an order that the layouts and the plan give: equal inputs, equal bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from ..errors import KernelError
from ..layout import Layout, LayoutRight, select
from ..layout.algebra.rearrange import from_modes, joined
from ..layout.values.int_tuple import leaves
from ..ops.operand import tensor_of as as_tensor
from ..ops.rules import broadcast_shape, matmul_shapes, result_type
from ..tensor.algorithms import fill
from ..tensor.bulk import common_refinement, mode_sizes
from ..tensor.dtypes import DType, as_dtype, bool_, u32
from ..tensor.engine import CountingEngine
from ..tensor.make import make_tensor
from ..tensor.tensor import Tensor
from .array import DeviceEngine
from .matmul import Epilogue, Plan, choose_plan, matmul_kernel, parts_of, whole_splits
from .matmul_bytes import WIDE_OF, bytes_plan, memory_of, numbers_along
from .matmul_matrices import MatrixPlan, Sums, matrix_matmul_kernel, matrix_plan
from .operations.copies import copy
from .operations.domain import zipped
from .operations.fold import fold_kernel, sum_products
from .operations.operand import Place, modes_of, over, place_of, steps_of, tensor_of
from .operations.pointwise import converted, pointwise
from .operations.reductions import Reduction, launches
from .repeat import repeatable, static_type
from .runtime import Adapter
from .tuned import Problem, tuned_plan
from .whole_tiles import corner, new_of_tiles, of_whole_tiles

static_type(Plan)
static_type(MatrixPlan)
Operands = tuple[Tensor, Tensor, Tensor]
Piece = tuple[int, int, int, int]
"""The extent of an axis, or of a factor of one, and its strides in A, in B and in C."""
Modes = tuple[Layout, ...]
"""The axes of an operand."""
NO_AXIS: Piece = (1, 0, 0, 0)
SLAB = 16
"""What the first of several summed axes has to be a multiple of, to be cut into slabs by every plan."""


@repeatable
def matmul(
    A: object,
    B: object,
    C: Tensor | None = None,
    *,
    plan: Plan | MatrixPlan | None = None,
    engine: str = "wgpu",
    sums: Sums = "f32",
    epilogue: Epilogue | None = None,
) -> Tensor:
    """The matrix product `A @ B` by the rules of `ops.matmul`: A (..., m, k) and B (..., k, n) or vectors, into `C` or
    a new tensor, on the device of the operands or, of arrays, on the host. Sums of floats are in f32, and are rounded
    once, to the type of `C` where that is a float's too.

    `engine` is "wgpu" (the device of the tensors, or the default one) or "numpy" (the interpreter). Where the device
    grants matrices of a subgroup (tensor cores), f16 is multiplied by them, with sums in f32 or, if `sums` says so, in
    f16; `explain_matmul` tells which way a product takes, and why. Arrays of 8-bit integers are multiplied with exact
    sums in i32 (of i8) or u32 (of u8), where `sums` says so. `epilogue` is a function of one value: what becomes of
    each sum before it is stored, in the type of the sums.

    >>> import numpy as np
    >>> matmul(np.float32([[1, 2], [3, 4]]), np.float32([[1, 0], [1, 1]]), engine="numpy").numpy().tolist()
    [[3.0, 2.0], [7.0, 4.0]]

    Raises TensorError for shapes and types that do not meet, KernelError for a `C` that does not fit.
    """
    if sums in ("i32", "u32"):
        if C is not None:
            raise KernelError(f"matmul(sums={sums!r}, C={C}): 8-bit integers are multiplied into a new tensor")
        return _of_bytes(A, B, How(plan, sums, epilogue), engine)
    a, b = (tensor_of("matmul", x) for x in (A, B))
    batch, m, n, k = matmul_shapes(mode_sizes(a), mode_sizes(b))
    dtype, shape = result_type("matmul", a.dtype, b.dtype), (*batch, *m, *n)
    if C is not None and C.dtype.kind == dtype.kind == "f":
        dtype = C.dtype
    if C is not None and (mode_sizes(C) != shape or C.dtype is not dtype):
        raise KernelError(f"matmul({a}, {b}, {C}): C must be {dtype} of shape {shape}")
    place = place_of("matmul", engine, [t for t in (a, b, C) if t is not None])
    working = u32 if dtype is bool_ else dtype
    a, b = (t if t.dtype.kind == working.kind else converted(t, working.accumulator, engine=engine) for t in (a, b))
    c = place.new(shape, working) if C is None or working is not dtype else place.bring(C)
    if epilogue is not None and not k:
        raise KernelError(f"matmul({a}, {b}, epilogue=...): k is 0, so there are no sums; fill C with epilogue(0)")
    if c.size and k:
        how = How(plan, _sums_of(sums), epilogue)
        contract(place, stretched(place.bring(a), place.bring(b), c), how)
    elif c.size:
        fill(c, 0)
    if working is not dtype:
        return pointwise("x != 0")(c, out=C, engine=engine)
    if C is not None and c is not C:
        copy(c, C, engine=engine)
        return C
    stays = place.device is None or any(isinstance(t.engine, DeviceEngine) for t in (a, b))
    return c if stays or C is not None else make_tensor(c.numpy())


def explain_matmul(A: object, B: object, *, engine: str = "wgpu", sums: Sums = "f32") -> str:
    """Which way `matmul(A, B)` takes here, and why, in a line or two.

    >>> import numpy as np
    >>> x = np.zeros((64, 64), np.float16)
    >>> print(explain_matmul(x, x, engine="numpy"))
    fused multiply-adds in f32, tiles of 64x64x16; no matrices of a subgroup: the interpreter is asked for, not a device

    Raises as `matmul`.
    """
    a, b = (as_tensor(x) if sums in ("i32", "u32") else tensor_of("matmul", x) for x in (A, B))
    batch, m, n, k = matmul_shapes(mode_sizes(a), mode_sizes(b))
    dtype, place = result_type("matmul", a.dtype, b.dtype), place_of("matmul", engine, [memory_of(a), memory_of(b)])
    rows, columns, copies = prod(m), prod(n), prod(batch)
    extents = rows, columns, k, copies
    if a.dtype is not b.dtype:
        found: MatrixPlan | str = f"{a.dtype} meets {b.dtype}"
    elif sums in ("i32", "u32"):
        found, dtype = bytes_plan(place, dtype, extents), as_dtype(sums)
    else:
        found = matrix_plan(place, dtype, extents, _sums_of(sums))
    if isinstance(found, MatrixPlan):
        return f"{found.told} on {place.device}"
    adapter = None if place.device is None else place.device.adapter
    tile = "x".join(map(str, choose_plan(rows, columns, k, adapter, copies).tile))
    way = f"fused multiply-adds in {dtype.accumulator}, tiles of {tile}"
    return f"{'sums of products, row by row' if min(rows, columns) == 1 else way}; no matrices of a subgroup: {found}"


def _sums_of(sums: Sums) -> Sums:
    if sums not in ("f32", "f16"):
        ways = "f16 is summed in 'f32' or, where matrices are, in 'f16'; i8 in 'i32', u8 in 'u32'"
        raise KernelError(f"matmul(sums={sums!r}): {ways}")
    return sums


def _of_bytes(A: object, B: object, how: How, engine: str) -> Tensor:
    """The product of 8-bit integers, in 32 bits."""
    a, b = as_tensor(A), as_tensor(B)
    wide = as_dtype(WIDE_OF.get(a.dtype.name, "i32"))
    if a.dtype is not b.dtype or a.dtype.name not in WIDE_OF:
        raise KernelError(f"matmul(sums='i32' or 'u32'): it multiplies i8, or u8, not {a.dtype} and {b.dtype}")
    batch, m, n, k = matmul_shapes(mode_sizes(a), mode_sizes(b))
    held = [memory_of(t) for t in (a, b)]
    place, stays = place_of("matmul", engine, held), any(isinstance(t.engine, DeviceEngine) for t in held)
    plan = how.plan or bytes_plan(place, a.dtype, (prod(m), prod(n), k, prod(batch)))
    c = place.new((*batch, *m, *n), wide)
    if isinstance(plan, MatrixPlan) and k and c.size:
        x, y = numbers_along(a, -1, wide), numbers_along(b, -2 if b.rank > 1 else -1, wide)
        contract(place, stretched(place.bring(x), place.bring(y), c), replace(how, plan=plan))
    else:
        x, y = (place.put(t.numpy().astype(wide.numpy)) for t in (a, b))
        c = matmul(x, y, c, engine=place.engine, epilogue=how.epilogue)
    return c if stays or place.device is None else make_tensor(c.numpy())


@repeatable
def summed_products(a: Tensor, b: Tensor, axes: tuple[int, ...], dtype: DType) -> Tensor:
    """The sum over `axes` of a * b, broadcast by NumPy's rule, on the device of the operands, in a type of numbers."""
    call = "fused_multiply_add"
    shape = broadcast_shape(call, mode_sizes(a), mode_sizes(b))
    place = place_of(call, "wgpu", [a, b])
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    c = place.new(tuple(shape[axis] for axis in kept), dtype)
    if c.size and 0 not in shape:
        met = [t if t.dtype.kind == dtype.kind else converted(t, dtype.accumulator, engine="wgpu") for t in (a, b)]
        order = *kept, *axes
        modes = [_repeated(modes_of(t), shape) for t in met]
        x, y = (over(place.bring(t), joined([m[axis] for axis in order])) for t, m in zip(met, modes, strict=True))
        contract(place, (x, y, c))
    return c


def stretched(a: Tensor, b: Tensor, c: Tensor) -> Operands:
    """A and B of a matrix product over the axes of C and then k: at stride 0 along those that they do not have."""
    left, right, sizes = modes_of(a), modes_of(b), mode_sizes(c)
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else []
    batch = len(sizes) - len(rows) - len(columns)
    of_a = [*_repeated(left[:-2], sizes[:batch]), *rows, *_repeated([], sizes[batch + len(rows) :]), left[-1]]
    of_b = [*_repeated(right[:-2], sizes[:batch]), *_repeated([], sizes[batch:][: len(rows)]), *columns, right[-2:][0]]
    return over(a, joined(of_a)), over(b, joined(of_b)), c


def _repeated(modes: Sequence[Layout], sizes: tuple[int, ...]) -> list[Layout]:
    """The modes broadcast to these sizes: new ones in front and those of size 1 at stride 0."""
    missing = len(sizes) - len(modes)
    kept = zip(modes, sizes[missing:], strict=True)
    return [
        *(from_modes([size], [0]) for size in sizes[:missing]),
        *(mode if mode.size == size else from_modes([size], [0]) for mode, size in kept),
    ]


@dataclass(frozen=True, slots=True)
class Groups:
    """The axes of a product by what varies along them: A and C, B and C, all three, or A and B, which is summed."""

    m: list[Piece]
    n: list[Piece]
    batch: list[Piece]
    k: list[Piece]

    def turned(self) -> Groups:
        """The same product with A and B exchanged."""
        m, n, batch, k = ([(e, b, a, c) for e, a, b, c in group] for group in (self.m, self.n, self.batch, self.k))
        return Groups(n, m, batch, k)

    def operands(self, a: Tensor, b: Tensor, c: Tensor) -> Operands:
        """A (m, k, batch), B (n, k, batch) and C (m, n, batch): the longest pieces of m and n are modes of their own,
        the others are among the batches. Without any of these that mode is left out."""
        m, n = (max(group, key=lambda piece: piece[0], default=NO_AXIS) for group in (self.m, self.n))
        rest = [piece for piece in (*self.m, *self.n, *self.batch) if piece is not m and piece is not n]

        def view(tensor: Tensor, operand: int, *groups: list[Piece]) -> Tensor:
            taken = [*groups, rest] if rest else groups
            return over(tensor, joined([_mode(group, operand) for group in taken]))

        return view(a, 1, [m], self.k), view(b, 2, [n], self.k), view(c, 3, [m], [n])


def _mode(pieces: Sequence[Piece], operand: int) -> Layout:
    return from_modes([piece[0] for piece in pieces], [piece[operand] for piece in pieces])


def _flat(pieces: Sequence[Piece], *operands: int) -> list[list[Layout]]:
    """The pieces of each operand as `zipped` takes them."""
    return [[_mode([piece], operand) for piece in pieces] for operand in operands]


@lru_cache(maxsize=512)
def grouped(a: Modes, b: Modes, c: Modes) -> Groups | None:
    """The axes of `c` and then the summed ones in groups; None where their factors do not divide one another."""
    groups = Groups([], [], [], [])
    for axis, (of_a, of_b) in enumerate(zip(a, b, strict=True)):
        summed = axis >= len(c)
        shared = common_refinement(of_a, of_b, from_modes([of_a.size], [0]) if summed else c[axis])
        if shared is None:
            return None
        for piece in zip(*shared, strict=True):
            kept = groups.m if not piece[2] else groups.batch if piece[1] else groups.n
            (groups.k if summed else kept).append(piece)
    found = Groups(*(_merged(group) for group in (groups.m, groups.n, groups.batch, groups.k)))
    found.k.sort(key=lambda piece: piece[0] % SLAB != 0)
    return found


def _merged(pieces: list[Piece]) -> list[Piece]:
    """Pieces that follow one another in all operands as one, in the order of the strides of C, B and A."""
    found = zipped(_flat(pieces, 1, 2, 3))
    assert found is not None, "pieces are flat"
    extents = leaves(found[0].shape)
    return [piece for piece in zip(extents, *(leaves(layout.stride) for layout in found), strict=True) if piece[0] > 1]


@dataclass(frozen=True, slots=True)
class How:
    """What a product is asked for beyond its operands: the plan, the type of f16's sums, and what becomes of a sum."""

    plan: Plan | MatrixPlan | None = None
    sums: Sums = "f32"
    epilogue: Epilogue | None = None


def contract(place: Place, operands: Operands, how: How = How()) -> None:
    """`c[i] = sum over k of a[i, k] * b[i, k]` of operands (a, b, c): a and b have the axes of c, then summed ones."""
    a, b, c = operands
    groups = grouped(*(tuple(modes_of(t)) for t in operands))
    if groups is None or (len(groups.k) > 1 and groups.k[0][0] % SLAB):
        _contract_copies(place, operands, how)
        return
    m, n = (prod(piece[0] for piece in group) for group in (groups.m, groups.n))
    plan = how.plan
    if plan is None and how.epilogue is None and min(m, n) == 1:
        _sum_products(place, groups if n == 1 else groups.turned(), (a, b, c) if n == 1 else (b, a, c))
        return
    arranged, problem = arranged_for_kernel(groups, operands, turn=plan is None)
    if plan is None:
        chosen = planned(place, problem, how.sums)
    else:
        chosen = replace(plan, splits=parts_of(problem.k, plan.tile[2], plan.splits))
    arranged_product(place, arranged, chosen, how.epilogue)


def planned(place: Place, problem: Problem, sums: Sums = "f32") -> Plan | MatrixPlan:
    """By matrices of a subgroup, where the device has them; else the plan found by tuning, or else the default one."""
    p, kind = problem, problem.dtypes[0]
    found = matrix_plan(place, as_dtype(kind), (p.m, p.n, p.k, p.batch), sums) if kind == p.dtypes[1] else "two types"
    if isinstance(found, MatrixPlan):
        return replace(found, columns=(not p.across[0], not p.across[1]))
    adapter = None if place.device is None else place.device.adapter
    plan = tuned_plan(adapter, p) or choose_plan(p.m, p.n, p.k, adapter, p.batch)
    return whole_splits(plan, p.k, plan.splits)


def arranged_for_kernel(groups: Groups, operands: Operands, *, turn: bool) -> tuple[Operands, Problem]:
    """The operands as the kernel takes them, with A and B exchanged where C has few columns, and what they are."""
    a, b, c = operands
    m, n, batch, k = (prod(piece[0] for piece in group) for group in (groups.m, groups.n, groups.batch, groups.k))
    rows, columns = (max([piece[0] for piece in group], default=1) for group in (groups.m, groups.n))
    if turn and columns <= 16 < rows:
        groups, (a, b), (rows, columns) = groups.turned(), (b, a), (columns, rows)
    found = groups.operands(a, b, c)
    kinds, near = [str(t.dtype) for t in found], [steps_of(t) for t in found]
    across = near[0][0] >= near[0][1], near[1][0] >= near[1][1], near[2][0] >= near[2][1]
    copies = m * n * batch // (rows * columns)
    return found, Problem(rows, columns, k, copies, (kinds[0], kinds[1], kinds[2]), across)


def problem_of(A: object, B: object) -> tuple[Problem, Adapter]:
    """What `matmul(A, B)` asks of its kernel, and the adapter of its device.

    Raises TensorError and KernelError for what is no product, or is one by other means than plans.
    """
    a, b = (tensor_of("tune", x) for x in (A, B))
    batch, m, n, _k = matmul_shapes(mode_sizes(a), mode_sizes(b))
    dtype, place = result_type("tune", a.dtype, b.dtype), place_of("tune", "wgpu", [a, b])
    c = Tensor(CountingEngine(dtype), Layout((*batch, *m, *n), LayoutRight))
    operands = stretched(a, b, c)
    groups = grouped(*(tuple(modes_of(t)) for t in operands))
    if groups is None or not groups.m or not groups.n or not groups.k or place.device is None:
        raise KernelError(f"tune({a}, {b}): this product has no plan: it is a sum of rows, or goes through copies")
    return arranged_for_kernel(groups, operands, turn=True)[1], place.device.adapter


def arranged_product(
    place: Place, operands: Operands, plan: Plan | MatrixPlan, epilogue: Epilogue | None = None
) -> None:
    """The product of A (m, k, b), B (n, k, b) into C (m, n, b), or without the last mode of each, by this plan."""
    plan = plan if epilogue is None else replace(plan, splits=1)  # it wants the whole sum
    operands = as_planned(place, operands, plan)
    if plan.splits == 1:
        _run(place, operands, plan, epilogue)
        return
    a, b, c = (t if t.rank > 2 else over(t, joined([*modes_of(t), Layout(1, 0)])) for t in operands)
    _in_splits(place, (a, b, c), plan)


def as_planned(place: Place, operands: Operands, plan: Plan | MatrixPlan) -> Operands:
    """The operands as the kernel of this plan reads them: in whole tiles where it multiplies matrices."""
    if isinstance(plan, Plan):
        return operands
    a, b, c = operands
    return of_whole_tiles(place, a, plan, 0), of_whole_tiles(place, b, plan, 1), c


def _run(place: Place, operands: Operands, plan: Plan | MatrixPlan, epilogue: Epilogue | None = None) -> None:
    """The product by this plan, without a second pass for its parts."""
    kernel = matrix_matmul_kernel if isinstance(plan, MatrixPlan) else matmul_kernel
    place.run(kernel, *operands, plan=plan, **({} if epilogue is None else {"epilogue": epilogue}))


def _in_splits(place: Place, operands: Operands, plan: Plan | MatrixPlan) -> None:
    """A product with partial sums in a tensor of their own, of whole tiles, which a second pass adds in their order."""
    A, B, C = operands
    kept = as_dtype(plan.types[1]) if isinstance(plan, MatrixPlan) else C.dtype.accumulator
    partial = new_of_tiles(place, over(C, joined([*modes_of(C), Layout(plan.splits, 0)])), plan.tile[:2], kept)
    rows, columns, batches, parts = modes_of(partial)
    _run(place, (A, B, over(partial, joined([rows, columns, joined([batches, parts])]))), plan)
    call = Reduction(corner(partial, mode_sizes(C)), (3,), keepdims=False)
    for tensors, static in launches("sum", call, place, C):
        place.run(fold_kernel, *tensors, **static)


def _sum_products(place: Place, groups: Groups, operands: Operands) -> None:
    """The same where only A and C have rows: a sum over each row of A, of products with a row of B that may repeat."""
    rows = zipped(_flat([*groups.m, *groups.batch], 3, 2, 1))
    columns = zipped(_flat(groups.k, 2, 1))
    assert rows is not None and columns is not None, "pieces are flat"
    a, b, c = operands
    x, y = over(a, joined([rows[2], columns[1]])), over(b, joined([rows[1], columns[0]]))
    sum_products(place, x, y, over(c, joined([rows[0], Layout(1, 0)])))


def _contract_copies(place: Place, operands: Operands, how: How) -> None:
    """The same through compact copies of the operands, whose axes have no factors that do not meet."""
    a, b, c = operands
    fresh = place.new(mode_sizes(c), c.dtype)
    contract(place, (_compact(place, a), _compact(place, b), fresh), how)
    copy(fresh, c, engine=place.engine)


def _compact(place: Place, tensor: Tensor) -> Tensor:
    """A copy in the order of NumPy, with the axes at stride 0 still there."""
    modes = modes_of(tensor)
    varying = [axis for axis, mode in enumerate(modes) if any(leaves(mode.stride))]
    fresh = place.new(tuple(modes[axis].size for axis in varying), tensor.dtype)
    copy(over(tensor, joined([modes[axis] for axis in varying])), fresh, engine=place.engine)
    found = dict(zip(varying, modes_of(fresh), strict=True))
    return over(fresh, joined([found.get(axis, from_modes([mode.size], [0])) for axis, mode in enumerate(modes)]))


def products(a: Tensor, b: Tensor, c: Tensor) -> Operands:
    """What the kernel takes for the product of two matrices: A (m, k), B (n, k) and C (m, n)."""
    return a, select(b, 1, 0), c
