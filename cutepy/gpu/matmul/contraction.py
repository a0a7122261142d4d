"""Products of any shape and rank: their axes in groups, and the launches that suit them.

Law: `c[i] = sum over k of a[i, k] * b[i, k]`, several axes behind each letter, and those at stride 0 along which an
operand does not vary. Axes of `c` along which only one operand varies are its rows or columns, the others are batches.
Sums are in f32 (in i32 and u32 for those), in an order that the layouts and the plan give: equal inputs, equal bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from ... import gpu
from ...errors import KernelError
from ...layout import Layout, LayoutRight, from_modes, joined, leaves, select, size
from ...tensor import (
    CountingEngine,
    DType,
    Tensor,
    as_dtype,
    broadcast_modes,
    common_refinement,
    is_row_major,
    mode_layouts,
    mode_sizes,
    rules,
    with_layout,
)
from .. import Adapter, cached_launches
from ..operations.copies import copy, filled
from ..operations.domain import zipped
from ..operations.fold import matrices, sum_products
from ..operations.operand import ExecutionSite, place_of, tensor_of
from ..operations.pointwise import converted, shares_memory
from .cost_model import (
    COPIED_PRODUCT,
    FEW_ROWS,
    LARGE_PRODUCT,
    WORTH_COPYING,
    ProductProblem,
    choose_plan,
    has_parts,
    matrix_plan,
    one_pass,
)
from .epilogue import Beside, Epilogue, epilogue_kernel
from .kernel_subgroup import matrix_matmul_kernel
from .launches import add_parts, launch, prepare_few_rows, prepare_parts, with_mode
from .plan import MatrixPlan, Plan, Sums, in_parts, parts_of, whole_splits
from .plan_cache import tuned_plan
from .staging import corner, in_vectors, new_of_tiles, of_whole_slabs, of_whole_tiles

Operands = tuple[Tensor, Tensor, Tensor]
Factor = tuple[int, ...]
"""A factor of an axis: its extent, and its strides in A, in B, in C, and in each operand that has the shape of C."""
Modes = tuple[Layout, ...]
"""The axes of an operand."""
DEEPEST_SLAB = 16
"""Columns of k: where several axes are summed, the first factor must be a multiple of it, so that slabs end there."""


@cached_launches
def summed_products(a: Tensor, b: Tensor, axes: tuple[int, ...], dtype: DType, engine: str) -> Tensor:
    """The sum over `axes` of a * b, broadcast by NumPy's rule, in a type of numbers."""
    call = "fused_multiply_add"
    shape = rules.broadcast_shape(call, mode_sizes(a), mode_sizes(b))
    place = place_of(call, engine, [a, b])
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    c = place.new(tuple(shape[axis] for axis in kept), dtype)
    met = [t if t.dtype.kind == dtype.kind else converted(t, dtype.accumulator, engine=engine) for t in (a, b)]
    order = *kept, *axes
    modes = [broadcast_modes(mode_layouts(t), shape) for t in met]
    x, y = (with_layout(place.bring(t), [m[axis] for axis in order]) for t, m in zip(met, modes, strict=True))
    contract(place, (x, y, c))
    return c


def stretched(a: Tensor, b: Tensor, c: Tensor) -> Operands:
    """A and B of a matrix product over the axes of C and then k: at stride 0 along those that they do not have."""
    left, right, sizes = mode_layouts(a), mode_layouts(b), mode_sizes(c)
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else []
    batch = len(sizes) - len(rows) - len(columns)
    batches = sizes[:batch]
    of_a = [*broadcast_modes(left[:-2], batches), *rows, *broadcast_modes([], sizes[batch + len(rows) :]), left[-1]]
    no_rows = broadcast_modes([], sizes[batch:][: len(rows)])
    of_b = [*broadcast_modes(right[:-2], batches), *no_rows, *columns, right[-2:][0]]
    return with_layout(a, of_a), with_layout(b, of_b), c


@dataclass(frozen=True, slots=True)
class ProductAxes:
    """The factors of a product's axes by what varies along them: A and C (m), B and C (n), all three (batch), or A and
    B alone, which is summed (k)."""

    m: list[Factor]
    n: list[Factor]
    batch: list[Factor]
    k: list[Factor]

    def exchanged(self) -> ProductAxes:
        """The same product with A and B exchanged."""
        groups = self.m, self.n, self.batch, self.k
        m, n, batch, k = ([(e, b, a, *rest) for e, a, b, *rest in group] for group in groups)
        return ProductAxes(n, m, batch, k)

    def operands(self, a: Tensor, b: Tensor, *like_c: Tensor) -> tuple[Tensor, ...]:
        """A (m, k, batch), B (n, k, batch), C (m, n, batch) and more of C's shape: m and n are the longest factors of
        theirs, the others are among the batches. Without any of these that mode is left out."""
        no_axis = (1, 0, 0, *(0 for _ in like_c))
        m, n = (max(group, key=lambda piece: piece[0], default=no_axis) for group in (self.m, self.n))
        rest = [piece for piece in (*self.m, *self.n, *self.batch) if piece is not m and piece is not n]

        def view(tensor: Tensor, operand: int, *groups: list[Factor]) -> Tensor:
            taken = [*groups, rest] if rest else groups
            return with_layout(tensor, [_mode(group, operand) for group in taken])

        others = (view(t, operand, [m], [n]) for operand, t in enumerate(like_c, 3))
        return view(a, 1, [m], self.k), view(b, 2, [n], self.k), *others


def _mode(pieces: Sequence[Factor], operand: int) -> Layout:
    """The factors as one mode of an operand: 1 is A, 2 is B, 3 is C."""
    return from_modes([piece[0] for piece in pieces], [piece[operand] for piece in pieces])


def _zipped(pieces: Sequence[Factor], *operands: int) -> list[Layout]:
    """`zipped` of the pieces of these operands."""
    if len(pieces) < 2:
        return [_mode(pieces, operand) for operand in operands]
    found = zipped([[_mode([piece], operand) for piece in pieces] for operand in operands])
    assert found is not None, "pieces are flat"
    return found


def group_axes(a: Modes, b: Modes, *like_c: Modes) -> ProductAxes | None:
    """The axes of `c` and then the summed ones, by what varies along them; None where the factors of an axis in one
    operand do not divide those in another."""
    axes = len(like_c[0])
    groups = ProductAxes([], [], [], [])
    for axis, (of_a, of_b) in enumerate(zip(a, b, strict=True)):
        summed = axis >= axes
        rest = [from_modes([of_a.size], [0]) if summed else modes[axis] for modes in like_c]
        shared = common_refinement(of_a, of_b, *rest)
        if shared is None:
            return None
        for piece in zip(*shared, strict=True):
            # An operand does not vary along a factor at stride 0: without B it is a row, without A a column.
            kept = groups.m if not piece[2] else groups.batch if piece[1] else groups.n
            (groups.k if summed else kept).append(piece)
    found = ProductAxes(*(_merged(group) for group in (groups.m, groups.n, groups.batch, groups.k)))
    if len(found.k) > 1:  # the factor that slabs divide comes first
        found.k.sort(key=lambda piece: piece[0] % DEEPEST_SLAB != 0)
    return found


def _merged(pieces: list[Factor]) -> list[Factor]:
    """Factors that follow one another in all operands as one, in the order of the strides of C, B and A."""
    if len(pieces) < 2:
        return [piece for piece in pieces if piece[0] > 1]
    # `zipped` orders by the last layout, then by those before it.
    others = range(4, len(pieces[0]))
    found = _zipped(pieces, *others, 1, 2, 3)
    steps = [leaves(layout.stride) for layout in (*found[-3:], *found[:-3])]
    return [piece for piece in zip(leaves(found[0].shape), *steps, strict=True) if piece[0] > 1]


@dataclass(frozen=True, slots=True)
class ProductOptions:
    """What a product is asked for beyond its operands: the plan, and the type of f16's sums."""

    plan: Plan | MatrixPlan | None = None
    sums: Sums = "f32"


def contract(place: ExecutionSite, operands: Operands, how: ProductOptions = ProductOptions()) -> None:
    """`c[i] = sum over k of a[i, k] * b[i, k]` of operands (a, b, c): a and b have the axes of c, then summed ones."""
    a, b, c = operands
    if not a.size:  # there is nothing to sum, or nothing to store
        filled(place, c, 0)
        return
    groups = axes_of_product(operands)
    if groups is None:
        _contract_copies(place, operands, how)
    elif how.plan is None and row_by_row(place, groups, a.dtype):
        _sum_products(place, *((groups, operands) if groups.m else (groups.exchanged(), (b, a, c))))
    else:
        (a, b, c), plan, alone = _resolve_plan(place, groups, operands, how)
        run_plan(place, (a, b, c), plan, alone=alone)


def contract_fused(
    place: ExecutionSite, operands: Operands, others: Sequence[Beside], how: ProductOptions, epilogue: Epilogue
) -> bool:
    """The same by kernels that store what the epilogue makes of the sums and of others: tensors of the shape of c, and
    numbers.

    Returns False, and does nothing, where no plan takes the product, or c overlaps what is read.
    """
    a, b, c = operands
    tensors = [other for other in others if isinstance(other, Tensor)]
    overlap = any(shares_memory(t, c) and t.layout != c.layout for t in (a, b, *tensors))
    # Without an axis along which B does not vary there is no row, and none for A no column.
    if not a.size or overlap or (how.plan is None and not (_repeats(b) or _repeats(a))):
        return False
    groups = axes_of_product((*operands, *tensors))
    if groups is None or (how.plan is None and row_by_row(place, groups, a.dtype, fused=True)):
        return False
    (a, b, c, *arranged), plan, alone = _resolve_plan(place, groups, (*operands, *tensors), how, fused=True)
    left = iter(arranged)
    beside = tuple([next(left) if isinstance(other, Tensor) else other for other in others])
    run_plan(place, (a, b, c), plan, beside, epilogue, alone=alone)
    return True


def _repeats(tensor: Tensor) -> bool:
    """Whether its elements repeat along something, as those of a swizzled one may."""
    layout = tensor.layout
    if not isinstance(layout, Layout):
        return True
    return any(n > 1 and not step for n, step in zip(leaves(layout.shape), leaves(layout.stride), strict=True))


def axes_of_product(operands: Sequence[Tensor]) -> ProductAxes | None:
    """The axes of a product by what varies along them; None where no plan takes them, and copies are multiplied."""
    groups = group_axes(*(tuple(mode_layouts(t)) for t in operands))
    return None if groups is None or (len(groups.k) > 1 and groups.k[0][0] % DEEPEST_SLAB) else groups


def _resolve_plan(
    place: ExecutionSite, groups: ProductAxes, operands: Sequence[Tensor], how: ProductOptions, *, fused: bool = False
) -> tuple[tuple[Tensor, ...], Plan | MatrixPlan, bool]:
    """The operands as the kernel takes them, the plan, and whether its kernel is for these sizes alone: where its plan
    was found by timing it."""
    arranged, p = arranged_for_kernel(groups, operands, turn=how.plan is None)
    return arranged, *gpu.choice(_PlanChoice(place, p.dtypes, p.across, how, fused), p.m, p.n, p.k, p.batch)


@dataclass(frozen=True, slots=True)
class _PlanChoice:
    """The plan of a product by its extents, and whether its kernel is for these alone."""

    place: ExecutionSite
    dtypes: tuple[str, str, str]
    across: tuple[bool, bool, bool]
    how: ProductOptions
    fused: bool

    def __call__(self, m: int, n: int, k: int, batch: int) -> tuple[Plan | MatrixPlan, bool]:
        one, given, device = ProductProblem(m, n, k, batch, self.dtypes, self.across), self.how.plan, self.place.device
        if given is not None:
            return replace(given, splits=parts_of(one.k, given.tile[2], given.splits)), False
        tuned = device is not None and tuned_plan(device.adapter, one) is not None
        return plan_for_problem(self.place, one, self.how.sums, fused=self.fused), tuned


def row_by_row(place: ExecutionSite, groups: ProductAxes, dtype: DType, *, fused: bool = False) -> bool:
    """Whether a product is a sum of products for each row of A: it has no columns, or no rows and is exchanged. Each
    element is then read once, as by a plan of one row, which a discrete GPU has where neighbours in memory are of
    different sums, or an epilogue would be a launch more."""
    if groups.m and groups.n:
        return False
    group, operand = (groups.m, 1) if groups.m else (groups.n, 2)
    longest = max(group, key=lambda piece: piece[0], default=(1, 0, 0))
    if (longest[operand] != 1 and not fused) or dtype.bits != 32 or not groups.k:
        return True
    sums, k = (prod(piece[0] for piece in pieces) for pieces in ((*group, *groups.batch), groups.k))
    device = place.device
    return device is None or device.adapter.kind != "DiscreteGPU" or not one_pass(longest[0], k, sums // longest[0])


def plan_for_problem(
    place: ExecutionSite, problem: ProductProblem, sums: Sums = "f32", *, fused: bool = False
) -> Plan | MatrixPlan:
    """The plan of a product that is not told one: by matrices of a subgroup, where the device has them; else the one
    found by tuning, or else the one of the least predicted time."""
    found = matrix_plan(place, problem, sums)
    if isinstance(found, MatrixPlan):
        return found
    adapter = None if place.device is None else place.device.adapter
    plan = tuned_plan(adapter, problem) or choose_plan(problem, adapter, fused=fused)
    return whole_splits(plan, problem.k, plan.splits)


def arranged_for_kernel(
    groups: ProductAxes, operands: Sequence[Tensor], *, turn: bool
) -> tuple[tuple[Tensor, ...], ProductProblem]:
    """The operands as the kernel takes them, and what they are; with `turn`, A and B change places where C has few
    columns and more rows, for plans of few rows are quicker."""
    a, b, *like_c = operands
    m, n, batch, k = (prod(piece[0] for piece in group) for group in (groups.m, groups.n, groups.batch, groups.k))
    rows, columns = (max([piece[0] for piece in group], default=1) for group in (groups.m, groups.n))
    if turn and columns <= FEW_ROWS < rows:
        groups, (a, b), (rows, columns) = groups.exchanged(), (b, a), (columns, rows)
    found = groups.operands(a, b, *like_c)
    kinds, across = [str(t.dtype) for t in found], [is_row_major(t) for t in found]
    copies = m * n * batch // (rows * columns)
    return found, ProductProblem(
        rows, columns, k, copies, (kinds[0], kinds[1], kinds[2]), (across[0], across[1], across[2])
    )


def problem_of(A: object, B: object) -> tuple[ProductProblem, Adapter]:
    """What `matmul(A, B)` asks of its kernel, and the adapter of its device.

    Raises TensorError and KernelError for what is no product, or is one by other means than plans.
    """
    a, b = (tensor_of("tune", x) for x in (A, B))
    place = place_of("tune", "wgpu", [a, b])
    problem = problem_for_plans(place, a, b)
    if problem is None or place.device is None:
        raise KernelError(f"tune({a}, {b}): this product has no plan: it is a sum of rows, or goes through copies")
    return problem, place.device.adapter


def problem_for_plans(place: ExecutionSite, a: Tensor, b: Tensor) -> ProductProblem | None:
    """What a matrix product into a new tensor asks of its kernel; None where it is one by other means than plans."""
    batch, m, n, _k = rules.matmul_shapes(mode_sizes(a), mode_sizes(b))
    c = Tensor(CountingEngine(rules.result_type("matmul", a.dtype, b.dtype)), Layout((*batch, *m, *n), LayoutRight))
    operands = stretched(a, b, c)
    groups = axes_of_product(operands) if a.size and b.size else None
    if groups is None or not groups.k or row_by_row(place, groups, a.dtype):
        return None
    return arranged_for_kernel(groups, operands, turn=True)[1]


def run_plan(
    place: ExecutionSite,
    operands: Operands,
    plan: Plan | MatrixPlan,
    others: tuple[Beside, ...] = (),
    epilogue: Epilogue | None = None,
    *,
    alone: bool = False,
) -> None:
    """The product of A (m, k, b), B (n, k, b) into C (m, n, b), or without the last mode of each, by this plan; with an
    epilogue what that makes of it and of others of C's shape.

    Where k is summed in parts each goes to a tensor of its own, (m, n, b, part), and a second pass adds them in their
    order. The first pass of multiply-adds is by a kernel for these sizes `alone`, or by one for all.
    """
    a, b, c = as_planned(place, operands, plan)
    if epilogue is not None and isinstance(plan, Plan) and not (plan.ahead or alone):
        prepare_few_rows(place, (a, b, c), others, epilogue)
        if plan.splits == 1 and has_parts(place.device, size(a, 1)):
            prepare_parts(place, c, others, epilogue)
    if plan.splits == 1:
        _run(place, (a, b, c), plan, others, epilogue, alone=alone)
        return
    parts = _parts_like(place, with_mode(c, 3), plan)
    if isinstance(plan, MatrixPlan):
        rows, columns, batches, parted = mode_layouts(parts)
        sums = with_layout(parts, [rows, columns, joined([batches, parted])])
        _run(place, (with_mode(a, 3), with_mode(b, 3), sums), plan)
    else:
        _run(place, (a, b, parts), plan, alone=alone)
    # Tiles may reach beyond C: what is added is the part of the sums that C has.
    add_parts(place, corner(parts, mode_sizes(c)), c, others, epilogue)


def as_planned(place: ExecutionSite, operands: Operands, plan: Plan | MatrixPlan) -> Operands:
    """The operands as the kernel of this plan reads them: in whole tiles where it multiplies matrices; in whole slabs
    and vectors where it multiplies and adds, if that saves more time than copies take."""
    a, b, c = operands
    if isinstance(plan, MatrixPlan):
        return of_whole_tiles(place, a, plan.slab(0)), of_whole_tiles(place, b, plan.slab(1)), c
    depth, work = plan.tile[2], size(a, 1) * prod(mode_sizes(c))
    if plan.ahead or work < (COPIED_PRODUCT if plan.splits > 1 else LARGE_PRODUCT):
        return operands
    uneven = [t for t in (a, b) if not in_vectors(t, depth)]
    if work < WORTH_COPYING * sum(t.size for t in uneven) or any(map(_repeats, uneven)):
        return operands
    return of_whole_slabs(place, a, depth), of_whole_slabs(place, b, depth), c


def _run(
    place: ExecutionSite,
    operands: Operands,
    plan: Plan | MatrixPlan,
    others: tuple[Beside, ...] = (),
    epilogue: Epilogue | None = None,
    *,
    alone: bool = False,
) -> None:
    """The product by this plan, without a second pass for its parts."""
    if isinstance(plan, Plan):
        launch(place, operands, in_parts(plan, 1), others, epilogue, alone=alone)
    elif epilogue is None:
        place.run(matrix_matmul_kernel, *operands, plan=plan)
    else:
        place.run(epilogue_kernel, *operands, others, plan=plan, epilogue=epilogue)


def _parts_like(place: ExecutionSite, C: Tensor, plan: Plan | MatrixPlan) -> Tensor:
    """A tensor for the parts of C (m, n, batch), of whole vectors, or of whole tiles where matrices are stored."""
    whole = with_layout(C, [*mode_layouts(C), Layout(plan.splits, 0)])
    if isinstance(plan, MatrixPlan):
        return new_of_tiles(place, whole, plan.tile[:2], as_dtype(plan.types[1]))
    return new_of_tiles(place, whole, (1, 4) if is_row_major(C) else (4, 1), C.dtype.accumulator)


def _sum_products(place: ExecutionSite, groups: ProductAxes, operands: Operands) -> None:
    """`contract` where nothing but A and C has rows: a sum over each row of A, of products with a row of B that may
    repeat."""
    rows, columns = _zipped([*groups.m, *groups.batch], 3, 2, 1), _zipped(groups.k, 2, 1)
    a, b, c = operands
    views = [
        with_layout(t, axes)
        for t, axes in ((a, [rows[2], columns[1]]), (b, [rows[1], columns[0]]), (c, [rows[0], Layout(1, 0)]))
    ]
    if (found := matrices(*views)) is not None:
        sum_products(place, *found)
        return
    # Of more factors than a kernel takes: rows side by side.
    fresh = [place.new(tuple([mode.size for mode in mode_layouts(view)]), view.dtype) for view in views]
    for view, whole in zip(views[:2], fresh[:2], strict=True):
        copy(view, whole, engine=place.engine)
    flat = matrices(*fresh)
    assert flat is not None, "compact axes are one factor"
    sum_products(place, *flat)
    copy(fresh[2], views[2], engine=place.engine)


def _contract_copies(place: ExecutionSite, operands: Operands, how: ProductOptions) -> None:
    """`contract` through compact copies: their axes have one stride each, so all factors divide one another."""
    a, b, c = operands
    fresh = place.new(mode_sizes(c), c.dtype)
    contract(place, (_compact(place, a, len(mode_sizes(c))), _compact(place, b, len(mode_sizes(c))), fresh), how)
    copy(fresh, c, engine=place.engine)


def _compact(place: ExecutionSite, tensor: Tensor, kept: int) -> Tensor:
    """A copy in the order of NumPy, with those of the first `kept` axes that are at stride 0 still there. The others,
    which are summed, are all stored, and so are one axis in every copy."""
    modes = mode_layouts(tensor)
    varying = [axis for axis, mode in enumerate(modes) if axis >= kept or any(leaves(mode.stride))]
    fresh = place.new(tuple(modes[axis].size for axis in varying), tensor.dtype)
    copy(with_layout(tensor, [modes[axis] for axis in varying]), fresh, engine=place.engine)
    found = dict(zip(varying, mode_layouts(fresh), strict=True))
    return with_layout(fresh, [found.get(axis, from_modes([mode.size], [0])) for axis, mode in enumerate(modes)])


def kernel_operands(a: Tensor, b: Tensor, c: Tensor) -> Operands:
    """What the kernel takes for the product of two matrices: A (m, k), B (n, k) and C (m, n)."""
    return a, select(b, 1, 0), c
