"""`validate`: a name is used where it is bound, a constant index is inside its array; generated kernels obey both."""

import pytest
from hypothesis import given
from small_kernels import Small, kernel_of, laws, small_kernels

from cutepy.errors import KernelError
from cutepy.gpu.ir import Assign, Buffer, Declare, For, If, Let, Stmt, Store, builtin, const, load, statements, var
from cutepy.gpu.ir.validate import check, check_constants, check_ids
from cutepy.gpu.ir.walk import all_nodes
from cutepy.tensor.dtypes import f32

Y = Buffer("y", f32, 64, writable=True)
S, F = Buffer("s", f32, 8, space="workgroup"), Buffer("f", f32, 4, space="private")
TID, V, K = builtin("local_invocation_index", 0, 63), var("v"), var("k", hi=3)
ONE = const(1.0, f32)


def use(name: object = V) -> Store:
    return Store(Y, name, ONE, place="k.py:9")  # type: ignore[arg-type]


def loop(*body: Stmt, stop: object = None) -> For:
    return For(K, const(0), const(4) if stop is None else stop, const(1), body, place="k.py:5")  # type: ignore[arg-type]


@laws
@given(small_kernels())
def test_a_generated_kernel_is_valid_and_without_a_binding_is_not(small: Small) -> None:
    kernel = small.kernel
    assert check(kernel) is kernel and check_constants(kernel) is kernel
    used = set(all_nodes(kernel.body)) | {s.sets for s in statements(kernel.body) if s.sets is not None}
    for stmt in kernel.body:
        if isinstance(stmt, Let | Declare) and stmt.binds in used:
            with pytest.raises(KernelError, match="where nothing binds it"):
                check(kernel_of(*[s for s in kernel.body if s is not stmt], buffers=kernel.buffers))


@pytest.mark.parametrize(
    "body",
    [
        (use(), Let(V, TID)),
        (If(TID < 3, (Let(V, TID),)), use()),
        (loop(Let(V, TID)), use()),
        (loop(use(K)), use(K)),
        (loop(stop=V), Declare(V, const(4))),
        (Let(V, V + 1),),
        (Assign(V, TID), Declare(V, TID)),
        (If(TID < 3, (Declare(V, TID),), (Assign(V, TID),)),),
        (If(V < 3, (Let(V, TID),)),),
    ],
)
def test_a_name_that_nothing_binds_is_refused(body: tuple[Stmt, ...]) -> None:
    with pytest.raises(KernelError, match="it belongs to a loop or a block that has ended; keep what is used later"):
        check(kernel_of(*body, buffers=(Y,)))


@pytest.mark.parametrize(
    "body",
    [
        (Let(V, TID), loop(If(V < 3, (use(), use(K))))),
        (If(TID < 3, (Let(V, TID), use()), (Let(V, TID), use())),),
        (loop(use(K)), loop(use(K))),
        (Declare(V, TID), loop(Assign(V, V + 1)), use()),
    ],
)
def test_a_name_is_bound_to_the_end_of_its_block(body: tuple[Stmt, ...]) -> None:
    kernel = kernel_of(*body, buffers=(Y,))
    assert check(kernel) is kernel


@pytest.mark.parametrize(
    ("index", "lanes", "inside"), [(0, 1, True), (7, 1, True), (8, 1, False), (4, 4, True), (6, 4, False)]
)
def test_a_constant_index_is_inside_an_array_of_the_kernels_own(index: int, lanes: int, inside: bool) -> None:
    read = Let(var("r", f32, lanes=lanes), load(S, const(index), lanes=lanes, place="k.py:7"))
    kernel = kernel_of(read, buffers=(Y,), local=(S, F))
    if inside:
        assert check_constants(kernel) is kernel
        return
    last = f" to {index + lanes - 1}" if lanes > 1 else ""
    with pytest.raises(KernelError, match=f"k.py:7: kernel .* uses element {index}{last} of s, which has 8"):
        check_constants(kernel)


def test_other_constant_indices_are_for_the_proofs() -> None:
    kernel = kernel_of(Store(Y, const(64), ONE), Store(S, TID, ONE), buffers=(Y,), local=(S,))
    assert check_constants(kernel) is kernel
    with pytest.raises(KernelError, match=r"k.py:3: kernel .* uses element 4 of f, which has 4"):
        check_constants(kernel_of(Store(F, const(4), ONE, place="k.py:3"), buffers=(Y,), local=(F,)))


def test_ids_of_another_launch_are_refused() -> None:
    kernel = kernel_of(use(TID % 64), buffers=(Y,))
    most = kernel.threads - 1
    assert most <= TID.hi and check_ids(kernel, all_nodes(kernel.body)) is kernel
    small = builtin("local_invocation_index", 0, most - 1)
    other = kernel_of(use(small % 64), buffers=(Y,))
    with pytest.raises(KernelError, match=f"of another launch, where it was at most {most - 1}, not {most}"):
        check_ids(other, all_nodes(other.body))
    with pytest.raises(KernelError, match="of another launch"):  # of what was simplified away, the body has nothing
        check_ids(kernel, all_nodes(other.body))


def test_an_array_that_is_not_declared_is_refused() -> None:
    for body in ((Let(V, load(S, const(0))),), (If(TID < 3, (Store(F, const(0), ONE, place="k.py:9"),)),)):
        with pytest.raises(KernelError, match=r"uses the array . of a trace that was given up"):
            check(kernel_of(*body, buffers=(Y,)))
        assert check(kernel_of(*body, buffers=(Y, S, F)))
