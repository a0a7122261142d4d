"""Masked accesses, atomics, threads in two and three dimensions, and arguments that hold arguments."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from atomic_cases import floats, locked, summed

from cutepy import gpu
from cutepy.errors import KernelError, TensorError
from cutepy.tensor import Tensor, local_tile

X = np.arange(100, dtype=np.float32)


def test_a_masked_load_and_store() -> None:
    @gpu.kernel
    def shifted(x: Tensor, y: Tensor, *, by: int, other: float) -> None:
        gpu.launch(grid=2, threads=64)
        i = gpu.workgroup.x * 64 + gpu.thread
        at = gpu.cast(i, "i32") - by
        value = gpu.load(x, at, where=(at >= 0) & (at < x.size), other=other)
        gpu.store(y, i, value + 1, where=i < y.size)

    for by in (0, 3, -7):
        for other in (0, -5.0):
            y = np.zeros(100, np.float32)
            shifted.interpret(X, y, by=by, other=other)
            want = np.array([X[i - by] if 0 <= i - by < 100 else other for i in range(100)]) + 1
            assert np.array_equal(y, want) and shifted.verify(X, y, by=by, other=other).ok


def test_a_masked_load_of_a_tile_that_reaches_beyond() -> None:
    @gpu.kernel
    def tiles(x: Tensor, y: Tensor) -> None:
        gpu.launch(grid=2, threads=64)
        mine, out = (local_tile(t, (64,), (gpu.workgroup.x,)) for t in (x, y))
        out[gpu.thread] = gpu.load(mine, gpu.thread, where=gpu.thread % 2 == 0, other=7)

    y = np.zeros(100, np.float32)
    tiles.interpret(X, y)
    assert np.array_equal(y, np.where(np.arange(100) % 64 % 2 == 0, X, 7)) and tiles.verify(X, y).ok


@pytest.mark.parametrize("call", ["load", "store"])
def test_a_number_outside_is_refused_unless_nothing_is_accessed(call: str) -> None:
    """As `x[100]` is: a mask that is no mask, the default, is none; one that never holds needs no element."""

    @gpu.kernel
    def reaches(x: Tensor, y: Tensor, *, where: bool) -> None:
        gpu.launch(threads=1)
        if call == "load":
            y[0] = gpu.load(x, 100, where=where, other=7)
        else:
            gpu.store(y, 100, x[0], where=where)

    y = np.zeros(100, np.float32)
    reaches.interpret(X, y, where=False)
    assert y[0] == (7 if call == "load" else 0)
    with pytest.raises(TensorError, match=r"coordinate 100 .* goes from 0 to 99"):
        reaches.interpret(X, y, where=True)


def test_a_mask_that_is_wrong_is_refuted_and_what_is_no_mask_refused() -> None:
    @gpu.kernel
    def beyond(x: Tensor, y: Tensor) -> None:
        gpu.launch(grid=2, threads=64)
        i = gpu.workgroup.x * 64 + gpu.thread
        gpu.store(y, i, gpu.load(x, i, where=i <= 100), where=i < 100)

    assert [v.array for v in beyond.verify(X, X.copy()).refuted] == ["x"]

    @gpu.kernel
    def number(x: Tensor) -> None:
        gpu.launch(threads=64)
        x[gpu.thread] = gpu.load(x, 0, where=gpu.thread)

    with pytest.raises(KernelError, match=r"test_accesses\.py:\d+: gpu\.load\(where=.*a u32 value; compare it"):
        number.ir(X)
    frozen = X.copy()
    frozen.flags.writeable = False

    @gpu.kernel
    def writes(x: Tensor) -> None:
        gpu.launch(threads=64)
        gpu.store(x, 0, 1.0, where=gpu.thread == 0)

    with pytest.raises(TensorError, match="read-only"):
        writes.ir(frozen)


@pytest.mark.parametrize("threads", [(8, 8), (4, 2, 8), (64,), (1, 64), (3, 5, 2), (1,)])
def test_threads_in_three_dimensions(threads: tuple[int, ...]) -> None:
    @gpu.kernel
    def places(out: Tensor) -> None:
        gpu.launch(threads=threads)
        t = gpu.thread
        out[t, 0], out[t, 1], out[t, 2] = t.x, t.y, gpu.thread.z

    x, y, z = (*threads, 1, 1)[:3]
    out = np.zeros((x * y * z, 3), np.uint32)
    places.interpret(out)
    t = np.arange(x * y * z)
    assert np.array_equal(out, np.stack([t % x, t // x % y, t // (x * y)], axis=1)) and places.verify(out).ok


def test_only_the_thread_has_places() -> None:
    @gpu.kernel
    def other(out: Tensor) -> None:
        gpu.launch(threads=64)
        out[gpu.thread] = (gpu.thread + 1).x

    with pytest.raises(KernelError, match=r"no attribute 'x'; gpu\.thread has"):
        other.ir(np.zeros(64, np.uint32))


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass(frozen=True)
class Layer:
    weight: Any
    bias: Any
    scale: "f32" = 1.0  # type: ignore[name-defined]  # noqa: F821  # the type that numbers take

    def __post_init__(self) -> None:
        if not isinstance(self.weight, np.ndarray):
            raise TypeError

    def at(self, i: Any) -> Any:
        return self.weight[i] * self.scale + self.bias[i]


@gpu.kernel
def layered(layers: dict[str, Any], pair: Any, y: Tensor) -> None:
    gpu.launch(grid=2, threads=50)
    i = gpu.workgroup.x * 50 + gpu.thread
    total = pair.left[i] - pair.right
    for layer in layers.values():
        total = total + layer.at(i)
    y[i] = total


def test_dictionaries_and_dataclasses_are_arguments() -> None:
    g = np.random.default_rng(0)
    first, second = (Layer(g.random(100, np.float32), g.random(100, np.float32), s) for s in (2, 3.5))
    y = np.zeros(100, np.float32)
    given = ({"a": first, "b": second}, Pair(X, 5.0))
    layered.interpret(*given, y)
    want = X - 5 + first.weight * 2 + first.bias + second.weight * 3.5 + second.bias
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)
    assert layered.verify(*given, y).ok and len(layered._traced) == 2
    layered.interpret({"a": second, "b": first}, Pair(X, 6.0), y)
    assert len(layered._traced) == 2  # one kernel, kept for devices with subgroups and without
    assert "layers_a_weight" in layered.wgsl(*given, y)
    layered.interpret({"b": second}, Pair(X, 5.0), y)
    assert len(layered._traced) == 4
    with pytest.raises(KernelError, match="argument layers_a_bias"):
        layered.ir({"a": Layer(X, "text")}, Pair(X, 1.0), y)


KEYS = np.random.default_rng(1).integers(0, 16, 256).astype(np.uint32)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32"])
def test_updates(dtype: str, shared: bool) -> None:
    values = np.random.default_rng(2).integers(0, 9, 256).astype(dtype)
    for op, numpys in (("add", np.add), ("max", np.maximum), ("min", np.minimum), ("sub", np.subtract)):
        if op == "sub" and (shared or dtype == "uint32"):
            continue
        out, olds = np.zeros(16, dtype), np.zeros(256, dtype)
        summed.interpret(KEYS, values, out, olds, op=op, shared=shared)
        want = np.zeros(16, dtype)
        numpys.at(want, KEYS, values)
        assert np.array_equal(out, want)
        found = summed.verify(KEYS, values, out, olds, op=op, shared=shared)
        assert found.ok, found
        assert "only atomics touch it" in str(found)


def test_a_set_by_compare_exchange() -> None:
    keys = np.random.default_rng(3).integers(1, 30, 128).astype(np.uint32)
    table, wins = np.zeros(64, np.uint32), np.zeros(128, np.uint32)
    locked.interpret(keys, table, wins)
    assert sorted(table[table > 0]) == sorted(set(keys.tolist()))
    assert (wins == 1).sum() == len(set(keys.tolist())) and (wins > 0).all()
    assert locked.verify(keys, table, wins).ok


def test_floats() -> None:
    x = np.array([1.5, -2.0, 7.0, 9.0], np.float32)
    y = np.zeros(8, np.float32)
    floats.interpret(x, y)
    assert y.tolist() == [6.5, 1.5, 1.5, -2.0, 1.0, 7.0, 0.0, 0.0]


def test_what_no_atomic_is_there_for() -> None:
    @gpu.kernel
    def halves(x: Tensor) -> None:
        gpu.launch(threads=64)
        gpu.atomic_add(x, 0, 1.0)

    @gpu.kernel
    def bits(x: Tensor) -> None:
        gpu.launch(threads=64)
        gpu.atomic_xor(x, 0, 1)

    with pytest.raises(KernelError, match="it needs a shared or global tensor of i32, u32 or f32"):
        halves.ir(np.zeros(4, np.float16))
    with pytest.raises(KernelError, match="it needs a shared or global tensor of i32 or u32"):
        bits.ir(np.zeros(4, np.float32))
