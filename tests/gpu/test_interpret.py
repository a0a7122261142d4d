"""The interpreter gives what the kernels must give, before and after lowering, and refuses what leaves an array."""

import time
from math import prod
from typing import Any

import numpy as np
import pytest
from kernels import CASES, matmul, saxpy

from cutepy import copy, gpu, make_tiled_mma
from cutepy.errors import KernelError
from cutepy.gpu.ir import Barrier, Buffer, If, Kernel, Let, Store, builtin, call, cast, const, load, var
from cutepy.gpu.lower import lower
from cutepy.gpu.targets.interpreter import interpret
from cutepy.gpu.targets.interpreter_memory import Watch
from cutepy.tensor import Tensor, subgroup_matrix
from cutepy.tensor.dtypes import DType, f32, i32, u32


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("lowered", [False, True])
def test_kernel_gives_what_it_must(name: str, lowered: bool) -> None:
    case = CASES[name]()
    arrays = case.inputs(np.random.default_rng(1))
    expected = case.expected([a.copy() for a in arrays])
    interpret(lower(case.kernel) if lowered else case.kernel, arrays, case.params)
    for got, wanted in zip(arrays, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-6)


def test_one_workgroup_at_a_time_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    case = matmul()
    arrays = case.inputs(np.random.default_rng(1))
    together = [a.copy() for a in arrays]
    interpret(case.kernel, together)
    monkeypatch.setattr("cutepy.gpu.targets.interpreter.LANES", 1)
    interpret(case.kernel, arrays)
    assert np.array_equal(arrays[2], together[2])


@pytest.mark.parametrize("verb", ["reads", "writes"])
def test_leaving_an_array_names_who_and_where(verb: str) -> None:
    x, y = Buffer("x", f32, 100), Buffer("y", f32, 100, writable=True)
    tid, group = builtin("local_invocation_index", 0, 31), builtin("workgroup_id", 0, 3, axis=0)
    at, value = group * 32 + tid, var("value", f32)
    safe = at % 100
    body = (
        Let(value, load(x, at if verb == "reads" else safe, place="user.py:7")),
        Store(y, safe if verb == "reads" else at, value, "user.py:7"),
    )
    name = "x" if verb == "reads" else "y"
    message = rf"user.py:7: kernel shift {verb} {name} at element 100, it has 100 .*: workgroup \(3, 0, 0\), thread 4"
    with pytest.raises(KernelError, match=message):
        interpret(Kernel("shift", (x, y), body, (4, 1, 1), (32, 1, 1)), [np.zeros(100, np.float32)] * 2)


def test_workgroup_memory_starts_dirty() -> None:
    y, shared = Buffer("y", f32, 4, writable=True), Buffer("s", f32, 4, space="workgroup")
    tid, value = builtin("local_invocation_index", 0, 3), var("value", f32)
    body = (
        If(tid < 2, (Store(shared, tid, const(1, f32)),)),
        Barrier(),
        Let(value, load(shared, tid)),
        Store(y, tid, value),
    )
    out = np.zeros(4, np.float32)
    interpret(Kernel("dirty", (y,), body, (1, 1, 1), (4, 1, 1), local=(shared,)), [out])
    assert np.isnan(out).tolist() == [False, False, True, True]


@pytest.mark.parametrize("size", [4, 8, 32])
def test_subgroup_operations(size: int) -> None:
    names = "subgroup_add subgroup_max subgroup_inclusive_add subgroup_exclusive_add subgroup_broadcast_first".split()
    y = Buffer("y", u32, 32 * (len(names) + 2), writable=True)
    tid, lane = builtin("local_invocation_index", 0, 31), builtin("subgroup_invocation_id", 0, 31)
    value = tid * 3 + 1
    results = [call(n, value) for n in names]
    results += [call("subgroup_shuffle_xor", value, const(1)), call("subgroup_shuffle_down", value, const(1))]
    body = tuple(Store(y, tid + 32 * i, r) for i, r in enumerate(results))
    body += (If(lane >= size, (Store(y, const(0), const(9)),)),)
    out = np.zeros(y.length, np.uint32)
    interpret(Kernel("lanes", (y,), body, (1, 1, 1), (32, 1, 1)), [out], subgroup_size=size)
    rows = (np.arange(32) * 3 + 1).reshape(-1, size)
    spread = np.ones_like(rows)
    down = np.concatenate([rows[:, 1:], rows[:, -1:]], 1)
    wanted = [rows.sum(1)[:, None] * spread, rows.max(1)[:, None] * spread, rows.cumsum(1), rows.cumsum(1) - rows]
    wanted += [rows[:, :1] * spread, rows.reshape(-1, 2)[:, ::-1], down]
    assert np.array_equal(out.reshape(-1, 32), np.array([w.ravel() for w in wanted]))


@pytest.mark.parametrize("dtype", [u32, i32])
@pytest.mark.parametrize("name", ["subgroup_add", "subgroup_mul"])
def test_a_subgroup_counts_in_the_type_of_its_elements(name: str, dtype: DType) -> None:
    """What the sum or product is modulo 2^32 is seen by what is done with it: it is not widened meanwhile."""
    x, y = Buffer("x", dtype, 32), Buffer("y", dtype, 32, writable=True)
    tid = builtin("local_invocation_index", 0, 31)
    values = np.random.default_rng(2).integers(1 << 29, 1 << 31, 32).astype(dtype.numpy) | 1
    out = np.zeros_like(values)
    body = (Store(y, tid, call(name, load(x, tid)) // 1024),)
    interpret(Kernel("wraps", (x, y), body, (1, 1, 1), (32, 1, 1)), [values, out])
    numbers = values.tolist()
    wrapped = np.uint32((sum(numbers) if name == "subgroup_add" else prod(numbers)) % 2**32).astype(dtype.numpy)
    assert set(out.tolist()) == {int(wrapped) // 1024}


def test_an_observer_sees_each_value_of_a_matrix() -> None:
    """What is read is in the array that is read, what is written in the one that is written, element by element."""

    @gpu.kernel
    def moved(A: Tensor, C: Tensor) -> None:
        gpu.launch(grid=1, threads=32)
        mma = make_tiled_mma(subgroup_matrix(types=("f32", "f32", "f32")))
        source, target = mma.partition_C(A), mma.partition_C(C)
        held = mma.make_fragment_C(target)
        copy(source, held)
        copy(held, target)

    A = np.random.default_rng(3).standard_normal((16, 16)).astype(np.float32)
    seen: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {"A": [], "C": []}

    class Observer(Watch):
        def access(self, s: Any, check: Any, at: Any, active: Any, values: Any) -> None:
            seen[check.buffer.name].append((np.ravel(at), np.ravel(values)))

    interpret(moved.ir(A, np.zeros_like(A)), [A, np.zeros_like(A)], watch=Observer())
    for accesses in seen.values():
        found = np.full(256, np.nan, np.float32)
        for at, values in accesses:
            found[at] = values
        assert np.array_equal(found.reshape(16, 16), A)


def test_an_inactive_invocation_takes_no_part() -> None:
    y = Buffer("y", u32, 8, writable=True)
    tid = builtin("local_invocation_index", 0, 7)
    body = (If(tid % 2 > 0, (Store(y, tid, call("subgroup_add", tid)),)),)
    out = np.zeros(8, np.uint32)
    interpret(Kernel("odd", (y,), body, (1, 1, 1), (8, 1, 1)), [out], subgroup_size=8)
    assert out.tolist() == [0, 16, 0, 16, 0, 16, 0, 16]


def test_conversions_clamp() -> None:
    y, x = Buffer("y", u32, 4, writable=True), Buffer("x", f32, 4)
    tid = builtin("local_invocation_index", 0, 3)
    out = np.zeros(4, np.uint32)
    kernel = Kernel("clamp", (x, y), (Store(y, tid, cast(load(x, tid), u32)),), (1, 1, 1), (4, 1, 1))
    interpret(kernel, [np.array([-1.5, 2.7, 1e20, np.nan], np.float32), out])
    assert out.tolist() == [0, 2, 2**32 - 256, 0]


def test_wrong_arrays_are_refused() -> None:
    with pytest.raises(KernelError, match="x needs 1000 elements, the array has 3"):
        interpret(saxpy().kernel, [np.zeros(3, np.float32)] * 2, {"a": 1.0})
    with pytest.raises(KernelError, match="1 arrays given for 2 bindings"):
        interpret(saxpy().kernel, [np.zeros(3, np.float32)])


def test_a_tiled_matmul_is_fast_enough() -> None:
    case = matmul(256, 256, 256)
    arrays = case.inputs(np.random.default_rng(1))
    start = time.perf_counter()
    interpret(case.kernel, arrays)
    assert time.perf_counter() - start < 5
    np.testing.assert_allclose(arrays[2], case.expected(arrays)[2], rtol=1e-5)
