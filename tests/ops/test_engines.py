"""Which engine computes: one way to say it, one function for each operation, and nothing on the host in silence."""

import numpy as np
import pytest

import cutepy.gpu.matmul.contraction as contraction
from cutepy import gpu, ops
from cutepy.errors import KernelError, TensorError
from cutepy.tensor import Tensor, make_tensor
from cutepy.tensor.functions import IN_KERNELS, NAMED
from cutepy.tensor.packed import words_as

X = np.arange(12, dtype=np.float32).reshape(3, 4)
OPERATIONS = "sum prod mean max min any all argmax argmin var std logsumexp norm softmax".split()


def test_gpu_has_the_language_of_kernels_and_ops_the_operations_on_arrays() -> None:
    """What both have is one function of the table, a value at a time there and an array at a time here, or `empty`,
    which makes an array."""
    assert set(dir(gpu)) & set(dir(ops)) == set(IN_KERNELS) & {*NAMED} | {"empty"}
    for name in (*OPERATIONS, "cumsum", "cumprod", "matmul"):
        with pytest.raises(AttributeError, match=rf"write ops\.{name}\(x, engine='wgpu'\)"):
            getattr(gpu, name)
        assert not hasattr(gpu, name) and callable(getattr(ops, name))
    assert contraction.__name__ == "cutepy.gpu.matmul.contraction"


@pytest.mark.parametrize(
    "name", [*OPERATIONS, "exp", "add", "matmul", "dot", "astype", "einsum", "tensordot", "cumsum"]
)
def test_each_operation_takes_an_engine(name: str) -> None:
    operands = {
        "add": (X, X), "matmul": (X, X.T), "dot": (X, X.T), "astype": (X, "i32"), "einsum": ("ab,cb->ac", X, X),
        "tensordot": (X, X.T, 1), "cumsum": (X, 0),
    }.get(name, (X,))  # fmt: skip
    call = getattr(ops, name)
    first, second = (call(*operands, engine=engine) for engine in ("numpy", "interpreter"))
    assert isinstance(first, Tensor) and first.dtype is second.dtype and first.numpy().shape == second.numpy().shape
    np.testing.assert_allclose(first.numpy(), second.numpy(), rtol=1e-5)
    with pytest.raises(KernelError, match=r"engine='cuda'\): there are 'numpy', 'wgpu' and 'interpreter'"):
        call(*operands, engine="cuda")


def test_what_numpy_has_not_says_which_engine_has_it() -> None:
    for options in ({"plan": gpu.Plan()}, {"epilogue": "c + 1"}, {"sums": "f16"}):
        with pytest.raises(KernelError, match="engine='interpreter' runs the kernel here"):
            ops.matmul(X, X.T, **options)
    out = np.zeros((3, 3), np.float16)
    assert ops.matmul(X, X.T, make_tensor(out)).numpy() is not None and np.array_equal(out, X @ X.T)
    with pytest.raises(KernelError, match=r"C must be f32 of shape \(3, 3\)"):
        ops.matmul(X, X.T, make_tensor(np.zeros((3, 4), np.float32)))
    small = np.arange(-6, 6, dtype=np.int8).reshape(3, 4) * 20
    np.testing.assert_array_equal(
        ops.matmul(small, small.T, sums="i32").numpy(), small.astype("i4") @ small.T.astype("i4")
    )


class Elsewhere:
    """Memory that no array operation knows."""

    space, name, writable = "gmem", "", True

    def __init__(self, dtype: object) -> None:
        self.dtype = dtype

    def load(self, offsets: object, where: object = None) -> object:
        return np.zeros(np.shape(offsets), np.float32)

    def store(self, offsets: object, values: object, where: object = None) -> None:
        raise AssertionError


@pytest.mark.parametrize("packed", [False, True])
def test_an_engine_that_is_not_known_is_refused_not_read(packed: bool) -> None:
    known = make_tensor(np.zeros(8, np.uint32))
    engine = (
        words_as(Elsewhere(known.dtype), make_tensor(np.zeros(8, np.uint8)).dtype) if packed else Elsewhere(known.dtype)
    )
    stray = Tensor(engine, known.layout)
    for call in (lambda: ops.add(stray, 1), lambda: ops.sum(stray), lambda: ops.pad(stray, [(1, 1)])):
        with pytest.raises(KernelError, match="nothing here computes over Elsewhere"):
            call()


def test_lists_and_numbers_go_to_kernels() -> None:
    assert ops.add([1.0, 2.0], 3, engine="interpreter").numpy().tolist() == [4.0, 5.0]
    assert ops.sum([[1, 2], [3, 4]], engine="interpreter").numpy() == 10
    with pytest.raises(TensorError, match="no such element type on a GPU"):
        ops.add(np.ones(3, np.uint8), 1, engine="interpreter")
