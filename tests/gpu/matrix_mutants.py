"""Correct kernels with matrices of a subgroup, and wrong ones. `python tests/gpu/matrix_mutants.py` counts them.

Each wrong one differs by a planted fault in its IR: where a matrix begins, its stride, its order, who comes there, a
barrier, tiles that overlap, a turn of the loop, what is staged. It is caught where a claim is refuted or not proven any
more, where the interpreter refuses it or sees a race, or where the result is another.
"""

import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parent))

from mutants import put

from cutepy.errors import CutepyError
from cutepy.gpu import ir
from cutepy.gpu.inspect.race_detector import interpret_checked
from cutepy.gpu.ir import Kernel, MatrixCall, MatrixLoad, MatrixStore, Stmt
from cutepy.gpu.matmul.kernel_subgroup import matrix_matmul_kernel
from cutepy.gpu.matmul.plan import MatrixPlan
from cutepy.gpu.runtime.program import Limits
from cutepy.gpu.verify import verify

SMALL = MatrixPlan((64, 64, 32))
INTEGERS = MatrixPlan((64, 64, 64), shape=(16, 16, 32), types=("i8", "i32"), padding=4, columns=(False, False))
LIMITS = Limits(workgroup_bytes=49152)
#: A plan, the type of C, and m, n, k.
CASES: tuple[tuple[MatrixPlan, str, tuple[int, int, int]], ...] = (
    (SMALL, "float32", (128, 64, 96)),
    (SMALL, "float16", (64, 128, 96)),
    (replace(SMALL, columns=(True, True)), "float32", (64, 64, 64)),
    (MatrixPlan((64, 32, 32), stages=2), "float32", (64, 64, 128)),
    (replace(SMALL, columns=(False, False)), "float32", (64, 64, 96)),
    (replace(SMALL, shape=(16, 8, 16)), "float32", (64, 64, 64)),
    (replace(SMALL, shape=(16, 8, 8), types=("f16", "f16")), "float16", (64, 64, 64)),
    (replace(SMALL, columns=(True, True), lanes=None), "float32", (64, 64, 64)),
    (MatrixPlan((16, 64, 64), (1, 4)), "float16", (32, 64, 128)),
    (MatrixPlan((32, 32, 32), band=2), "float32", (96, 64, 128)),
    (INTEGERS, "int32", (64, 64, 192)),
    (replace(INTEGERS, columns=(False, True)), "int32", (64, 64, 128)),
)


@dataclass(frozen=True)
class Subject:
    """A correct kernel, the flat arrays of its operands, and C as it should be."""

    kernel: Kernel
    operands: tuple[np.ndarray, np.ndarray]
    right: np.ndarray

    def result(self, kernel: Kernel) -> np.ndarray:
        """C as `kernel` computes it; raises where the interpreter sees a fault."""
        c = np.zeros(self.right.size, self.right.dtype)
        interpret_checked(kernel, [*self.operands, c], {})
        return c


@cache
def subject(number: int) -> Subject:
    plan, kind, (m, n, k) = CASES[number]
    rng = np.random.default_rng(number)
    if plan.types[0] == "i8":
        a, b = (rng.integers(-128, 128, shape, dtype=np.int8) for shape in ((m, k), (k, n)))
        x, y = a.view(np.int32), b.view(np.int32)
        if not plan.columns[1]:
            y = np.ascontiguousarray(b.T).view(np.int32).T
    else:
        a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
        x, y = a, b
    c = np.zeros((m, n), kind)
    kernel = matrix_matmul_kernel.ir(x, y.T, c, plan=plan)
    found = Subject(kernel, (x.ravel(), y.ravel(order="K")), c.ravel())
    right = found.result(kernel)
    wide = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(right.reshape(m, n), wide, rtol=2e-2 if kind == "float16" else 1e-3, atol=2e-2)
    return replace(found, right=right)


def _places(kernel: Kernel, *kinds: type) -> list[tuple[Stmt, MatrixLoad | MatrixStore | MatrixCall]]:
    found: list[tuple[Stmt, MatrixLoad | MatrixStore | MatrixCall]] = []
    for stmt in ir.statements(kernel.body):
        if isinstance(stmt, MatrixStore) and MatrixStore in kinds:
            found.append((stmt, stmt))
        for node in ir.nodes(*stmt.expressions):
            if isinstance(node, MatrixLoad | MatrixCall) and type(node) in kinds:
                found.append((stmt, node))
    return found


def _with(kernel: Kernel, stmt: Stmt, place: MatrixLoad | MatrixStore | MatrixCall, **fields: object) -> Kernel:
    """The kernel with other fields of a matrix load or store."""
    if isinstance(place, MatrixStore):
        return replace(kernel, body=put(kernel.body, stmt, (ir.with_fields(place, **fields),)))
    assert isinstance(place, MatrixLoad)
    index, stride, by_columns = (fields.get(name, getattr(place, name)) for name in ("index", "stride", "by_columns"))
    new = ir.load_matrix(place.dtype, place.buffer, index, (stride, by_columns), place.place)  # type: ignore[arg-type]
    values = [ir.rewrite(x, lambda node: new if node is place else node, {}) for x in stmt.expressions]
    return replace(kernel, body=put(kernel.body, stmt, (ir.with_expressions(stmt, values),)))


def _thread(kernel: Kernel) -> ir.Expr:
    return ir.builtin("local_invocation_index", 0, kernel.threads - 1)


def offset(kernel: Kernel, pick: random.Random) -> Kernel:
    """A matrix that begins elsewhere."""
    stmt, place = pick.choice(_places(kernel, MatrixLoad, MatrixStore))
    assert not isinstance(place, MatrixCall)
    by = pick.choice([8, 16, 32, 64, 1024, 4096, 1 << 20])
    return _with(kernel, stmt, place, index=place.index + by)


def stride(kernel: Kernel, pick: random.Random) -> Kernel:
    """Rows or columns that lie closer, or farther."""
    stmt, place = pick.choice(_places(kernel, MatrixLoad, MatrixStore))
    assert not isinstance(place, MatrixCall)
    return _with(kernel, stmt, place, stride=place.stride + pick.choice([-16, -8, 8, 16, 256]))


def order(kernel: Kernel, pick: random.Random) -> Kernel:
    """Rows taken for columns."""
    stmt, place = pick.choice(_places(kernel, MatrixLoad, MatrixStore))
    assert not isinstance(place, MatrixCall)
    return _with(kernel, stmt, place, by_columns=not place.by_columns)


def barrier(kernel: Kernel, pick: random.Random) -> Kernel:
    """A barrier less: any but the last, after which nothing may follow."""
    found = [stmt for stmt in ir.statements(kernel.body) if isinstance(stmt, ir.Barrier)]
    loops = [stmt for stmt in ir.statements(kernel.body) if isinstance(stmt, ir.For)]
    inside = [stmt for loop in loops for stmt in ir.statements(loop.body) if isinstance(stmt, ir.Barrier)]
    return replace(kernel, body=put(kernel.body, pick.choice(inside or found[:-1]), ()))


def parted(kernel: Kernel, pick: random.Random) -> Kernel:
    """Something with a matrix that only some threads of a subgroup come to."""
    stmt, _ = pick.choice(_places(kernel, MatrixLoad, MatrixStore, MatrixCall))
    tid = _thread(kernel)
    test = pick.choice([tid < 16, tid % 2 == ir.const(0), tid != ir.const(5), tid >= 33])
    return replace(kernel, body=put(kernel.body, stmt, (ir.If(test, (stmt,)),)))


def disagreed(kernel: Kernel, pick: random.Random) -> Kernel:
    """A matrix that begins elsewhere for some threads of a subgroup."""
    stmt, place = pick.choice(_places(kernel, MatrixLoad, MatrixStore))
    assert not isinstance(place, MatrixCall)
    tid = _thread(kernel)
    return _with(kernel, stmt, place, index=place.index + pick.choice([tid % 2 * 8, tid // 16 % 2 * 16, tid % 32]))


def overlap(kernel: Kernel, pick: random.Random) -> Kernel:
    """Two subgroups that take themselves for one, at one store or at all of them."""
    stores = _places(kernel, MatrixStore)
    for stmt, place in stores if pick.random() < 0.5 else [pick.choice(stores)]:
        assert isinstance(place, MatrixStore)

        def merged(node: ir.Expr) -> ir.Expr:
            same = isinstance(node, ir.Builtin) and node.name == "subgroup_id"
            return node // 2 if same else node

        kernel = _with(kernel, stmt, place, index=ir.rewrite(place.index, merged, {}))
    return kernel


def turn(kernel: Kernel, pick: random.Random) -> Kernel:
    """A turn of the loop less, or one more."""
    loop = next(stmt for stmt in ir.statements(kernel.body) if isinstance(stmt, ir.For))
    stop = loop.stop + 1 if pick.random() < 0.5 else loop.stop - 1
    return replace(kernel, body=put(kernel.body, loop, (ir.with_fields(loop, stop=stop),)))


def staged(kernel: Kernel, pick: random.Random) -> Kernel:
    """Something staged elsewhere, or not at all."""
    stores = [s for s in ir.statements(kernel.body) if isinstance(s, ir.Store) and s.buffer.space == "workgroup"]
    stmt = pick.choice(stores)
    new = () if pick.random() < 0.3 else (replace(stmt, index=stmt.index + pick.choice([4, 8, 64, 2048])),)
    return replace(kernel, body=put(kernel.body, stmt, new))


FAULTS: tuple[Callable[[Kernel, random.Random], Kernel], ...] = (
    offset,
    stride,
    order,
    barrier,
    parted,
    disagreed,
    overlap,
    turn,
    staged,
)


def caught(number: int, kernel: Kernel) -> str:
    """By what a fault is caught; "" if it is not."""
    known = subject(number)
    try:
        found = verify(kernel, LIMITS)
    except CutepyError:
        return "refused"
    if found.refuted:
        return f"refuted: {found.refuted[0].claim}"
    if any(v.status != "proven" for v in found.verdicts):
        return "not proven"
    try:
        result = known.result(kernel)
    except CutepyError:
        return "seen by the interpreter"
    return "" if np.array_equal(result, known.right, equal_nan=True) else "another result"


def pairs(count: int, seed: int = 0) -> tuple[Counter[tuple[str, str]], list[str]]:
    """How so many faults were caught, by kind; and those that were not."""
    pick = random.Random(seed)
    counts: Counter[tuple[str, str]] = Counter()
    missed = []
    for at in range(count):
        number, fault = pick.randrange(len(CASES)), FAULTS[at % len(FAULTS)]
        with ir.new_arena():
            by = caught(number, fault(subject(number).kernel, pick))
        counts[fault.__name__, by] += 1
        if not by:
            missed.append(f"{at}: {fault.__name__} in case {number}")
    return counts, missed


if __name__ == "__main__":
    counts, missed = pairs(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    for (fault, by), many in sorted(counts.items()):
        print(f"{fault:10} {by or 'MISSED':30} {many}")
    print(len(missed), "missed", missed)
