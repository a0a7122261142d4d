"""Host tensors of every NumPy number type, and what a GPU takes of them."""

from collections.abc import Callable
from itertools import product as cartesian

import numpy as np
import pytest

from cutepy.draw import draw
from cutepy.errors import CutepyError, TensorError
from cutepy.gpu import array, kernel, shared
from cutepy.tensor import (
    Tensor,
    as_dtype,
    axpby,
    cooperative_copy,
    copy,
    copy_if,
    fill,
    gemm,
    gpu_dtype,
    make_fragment_like,
    make_gmem_ptr,
    make_tensor,
    recast,
    reduce,
    transform,
)
from cutepy.tensor.dtypes import DTYPES

NUMBERS = [
    kind + size for kind, sizes in {"i": "1248", "u": "1248", "f": "248", "c": ["8", "16"]}.items() for size in sizes
]
NAMES = ["bool", *(np.dtype(code).name for code in NUMBERS)]
IN_WORDS = ("int8", "uint8", "int16", "uint16", "complex64")
HOST_ONLY = [name for name in NAMES if name not in ("float16", "float32", "int32", "uint32", "bool", *IN_WORDS)]


def test_the_table_has_every_number_type_of_numpy() -> None:
    assert sorted(NAMES) == sorted(dtype.numpy for dtype in DTYPES.values())
    for dtype in DTYPES.values():
        assert np.dtype(dtype.numpy).itemsize * 8 == dtype.bits and np.dtype(dtype.numpy).kind == dtype.kind
        assert as_dtype(dtype.name) is as_dtype(dtype.numpy) is as_dtype(np.dtype(dtype.numpy)) is dtype
        assert as_dtype(np.dtype(dtype.numpy).type) is dtype
    assert [as_dtype(kind).name for kind in (bool, int, float, complex)] == ["bool", "i64", "f64", "c128"]


@pytest.mark.parametrize("name", NAMES)
def test_algorithms_over_every_type(name: str) -> None:
    data = np.array([[1, 0, 1], [0, 1, 1]], name)
    a, c = make_tensor(data), make_tensor(name, (2, 2))
    assert repr(make_tensor(make_gmem_ptr(data, name="a"))) == f"gmem_ptr[{data.itemsize * 8}b](a) o (2,3):(3,1)"
    assert a.numpy().dtype == data.dtype and a[0, 2] == 1 and type(a[0, 2]) is data.dtype.type
    gemm(a, a, c)
    expected = np.matmul(data, data.T)
    assert (c.numpy() == expected).all()
    x, y = make_tensor(np.array([1, 0, 1, 1], name)), make_tensor(name, (2, 2))
    copy(x, y)
    assert y.numpy().ravel(order="F").tolist() == [1, 0, 1, 1]
    axpby(1, x, 0, y)
    transform(y, op=lambda v: v)
    copy_if(np.array([True, False, True, False]), x, make_fragment_like(y))
    assert reduce(x, 0, lambda left, right: left + right) == 3
    fill(y, 1)
    assert y.numpy().all() and draw(a).text()


def random_values(random: np.random.Generator, name: str, *, extreme: bool) -> np.ndarray:
    """A 4 x 3 array; extreme ones use the whole range of integers, fractions and imaginary parts."""
    dtype, shape = np.dtype(name), (4, 3)
    if dtype.kind in "biu":
        info = np.iinfo(np.uint8 if dtype.kind == "b" else dtype)
        low, high = (info.min, info.max) if extreme and dtype.kind != "b" else (0, 1 if dtype.kind == "b" else 99)
        return random.integers(low, high, shape, dtype=info.dtype, endpoint=True).astype(dtype)
    real = random.integers(-8, 8, shape) * (0.5 if extreme else 1)
    return (real + (1j * random.integers(0, 3, shape) if extreme and dtype.kind == "c" else 0)).astype(dtype)


def calls_of(x: np.ndarray, y: np.ndarray, b: np.ndarray) -> list[tuple[Callable[[Tensor, Tensor], object], object]]:
    """Algorithms from x to y, each with what NumPy makes of them."""
    wide = np.promote_types(np.promote_types(x.dtype, y.dtype), np.float32 if y.dtype == np.float16 else y.dtype)
    return [
        (copy, x),
        (lambda X, Y: copy_if(np.ones(x.shape, bool), X, Y), x),
        (lambda X, Y: [cooperative_copy(2, X, Y, thread=thread) for thread in range(2)], x),
        (lambda X, Y: transform(X, Y, op=lambda v: v), x),
        (lambda X, Y: axpby(2, X, 1, Y), 2 * x + y),
        (lambda X, Y: gemm(X, make_tensor(b), Y), x.astype(wide) @ b.T + y),
    ]


@pytest.mark.parametrize("source", NAMES)
def test_between_any_two_types_all_is_right_or_refused(source: str) -> None:
    """Right: NumPy's values, and integers unchanged. Refused: the target is as it was."""
    random, right = np.random.default_rng(0), 0
    for target, extreme in cartesian(NAMES, (False, True)):
        x, y, b = (
            random_values(random, name, extreme=e) for name, e in ((source, extreme), (target, False), (target, False))
        )
        for call, expected in calls_of(x, y, b[:3]):
            goal = y.copy()
            try:
                call(make_tensor(x), make_tensor(goal))
            except TensorError:
                assert (goal == y).all()
                continue
            right += 1
            with np.errstate(all="ignore"):
                assert np.array_equal(goal, np.asarray(expected).astype(target))
            if call is copy and x.dtype.kind in "iub" and y.dtype.kind in "iub":
                assert goal.astype(object).tolist() == x.astype(object).tolist()
    assert right >= 24


def test_small_integers_are_summed_in_the_type_of_c() -> None:
    a = make_tensor(np.full((2, 3), 100, np.int8))
    c = make_tensor("i32", (2, 2))
    gemm(a, a, c)
    assert (c.numpy() == 30000).all()
    with pytest.raises(TensorError, match="cannot hold it"):
        gemm(make_tensor(np.full((2, 2), 0.5)), make_tensor(np.ones((2, 2))), c)


@pytest.mark.parametrize(
    ("source", "target", "value"), [("int64", "int32", 2**40), ("uint32", "int32", 2**32 - 1), ("int16", "int8", 128)]
)
def test_a_copy_to_fewer_bits_refuses_what_does_not_fit(source: str, target: str, value: int) -> None:
    data, goal = np.array([1, value], source), make_tensor(np.zeros(2, target))
    with pytest.raises(TensorError, match=f"it holds -?[0-9]+ to {np.iinfo(target).max}"):
        copy(make_tensor(data), goal)
    copy(make_tensor(data[:1]), goal((0,)) if isinstance(goal((0,)), Tensor) else make_tensor(goal.numpy()[:1]))
    assert goal[0] == 1


def test_nested_lists_are_copied() -> None:
    numbers = [[1, 2, 3], [4, 5, 6]]
    tensor = make_tensor(numbers)
    tensor[0, 0] = 7
    assert tensor.dtype.name == "i64" and tensor.numpy().tolist() == [[7, 2, 3], [4, 5, 6]] and numbers[0][0] == 1
    assert make_tensor([1.5, 2]).dtype.name == "f64" and make_tensor([True]).dtype.name == "bool"
    assert make_tensor([1j]).dtype.name == "c128" and make_tensor([1, 2, 3, 4], (2, 2)).numpy().tolist() == [
        [1, 3],
        [2, 4],
    ]
    with pytest.raises(TensorError, match="give lists of equal lengths"):
        make_tensor([[1, 2], [3]])
    for other in (["a"], [None], [2**80]):
        with pytest.raises(TensorError, match="no such element type; there are"):
            make_tensor(other)


def test_swapped_bytes_are_refused() -> None:
    swapped = np.arange(3, dtype=np.float32).astype(np.dtype(np.float32).newbyteorder())
    with pytest.raises(TensorError, match=r"its bytes are swapped; copy it with .astype"):
        make_tensor(swapped)
    assert make_tensor(swapped.astype("float32")).numpy().tolist() == [0, 1, 2]


def test_recast_between_all_widths() -> None:
    data = np.arange(8, dtype=np.complex128)
    for name in NAMES:
        seen = recast(make_tensor(data), name)
        assert seen.size == data.nbytes // np.dtype(name).itemsize and np.shares_memory(seen.numpy(), data)
        assert (recast(seen, "c128").numpy() == data).all()


def test_recast_to_the_same_width_keeps_any_layout() -> None:
    data = np.arange(6, dtype=np.float32)
    seen = recast(make_tensor(data[::-2]), "i32")
    assert seen.numpy().view(np.float32).tolist() == [5, 3, 1]
    with pytest.raises(TensorError, match="no element of"):  # its engine is memory alone, counted from its element 0
        make_tensor(seen.engine, 6)


@kernel
def double(x: Tensor) -> None:
    raise AssertionError("a kernel is not traced over types that no GPU has")


@pytest.mark.parametrize("name", HOST_ONLY)
def test_what_goes_to_a_gpu_says_how_to_convert(name: str) -> None:
    data = np.zeros((2, 3), name)
    for call in (lambda: array(data), lambda: double.interpret(data), lambda: double.wgsl(make_tensor(data))):
        with pytest.raises(CutepyError, match=r"no such element type on a GPU; .*: \.(astype|view)\(np\."):
            call()
    with pytest.raises(TensorError, match="on a GPU"):
        gpu_dtype(name)


def test_memory_inside_a_kernel_has_a_type_of_a_gpu() -> None:
    @kernel
    def uses(x: Tensor, *, kind: str, space: str) -> None:
        held = shared(kind, 4) if space == "shared" else make_tensor(kind, 4)
        fill(held, 0)

    for space in ("shared", "registers"):
        with pytest.raises(CutepyError, match=r"f64 .*no such element type on a GPU"):
            uses.wgsl(np.zeros(4, np.float32), kind="f64", space=space)
