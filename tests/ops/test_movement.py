"""Movement and creation against NumPy: 200 random operands each; views where a layout says it."""

from collections.abc import Callable

import numpy as np
import pytest
from ops.operands import ALL, random_operand, random_sizes, same

from cutepy import ops
from cutepy.errors import TensorError
from cutepy.layout import ComposedLayout, Layout, Swizzle, composition
from cutepy.tensor import Tensor, local_tile, make_tensor

CASES = 200


def cases(seed: int) -> list[tuple[np.random.Generator, object, np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [(rng, *random_operand(rng, random_sizes(rng), rng.choice(ALL))) for _case in range(CASES)]


def is_view(result: Tensor, array: np.ndarray) -> bool:
    return bool(np.may_share_memory(result.engine.memory, array))  # type: ignore[attr-defined]


def test_permute() -> None:
    for rng, operand, array in cases(1):
        order = tuple(int(axis) for axis in rng.permutation(array.ndim))
        found = ops.permute(operand, order)  # type: ignore[arg-type]
        assert same(found.numpy(), array.transpose(order)) and (not array.size or is_view(found, array))


def factored(rng: np.random.Generator, size: int) -> tuple[int, ...]:
    shape = []
    while size > 1:
        divisors = [d for d in range(2, size + 1) if size % d == 0]
        shape.append(int(rng.choice(divisors)))
        size //= shape[-1]
    for _one in range(int(rng.integers(3))):
        shape.insert(int(rng.integers(len(shape) + 1)), 1)
    return tuple(shape)


@pytest.mark.parametrize("order", ["C", "F"])
def test_reshape(order: str) -> None:
    for rng, operand, array in cases(2):
        shape = factored(rng, array.size) if array.size else (0, 3)
        wanted = tuple(-1 if axis == 0 and array.size else size for axis, size in enumerate(shape))
        found = ops.reshape(operand, wanted, order=order)  # type: ignore[arg-type]
        assert same(found.numpy(), np.reshape(array, shape, order=order))  # type: ignore[call-overload]


def test_reshape_is_a_view_where_a_layout_says_it() -> None:
    matrix = np.arange(24, dtype=np.float32).reshape(4, 6)
    turned = ops.reshape(matrix.T, (24,))  # NumPy has to copy here
    assert str(turned.layout) == "((4,6)):((6,1))" and is_view(turned, matrix)
    assert (turned.numpy() == matrix.T.reshape(24)).all()
    again = ops.reshape(ops.reshape(matrix, (2, 2, 6)), (4, 3, 2))
    assert is_view(again, matrix) and (again.numpy() == matrix.reshape(4, 3, 2)).all()


def test_expand() -> None:
    for rng, operand, array in cases(3):
        shape = tuple(int(rng.integers(1, 4)) if size == 1 else size for size in array.shape)
        shape = tuple(int(size) for size in rng.integers(1, 4, int(rng.integers(3)))) + shape
        found = ops.expand(operand, shape)  # type: ignore[arg-type]
        assert same(found.numpy(), np.broadcast_to(array, shape)) and (not array.size or is_view(found, array))


def test_crop_and_pad() -> None:
    for rng, operand, array in cases(4):
        ranges = [sorted(int(edge) for edge in rng.integers(0, size + 1, 2)) for size in array.shape]
        found = ops.crop(operand, ranges)  # type: ignore[arg-type]
        expected = array[tuple(slice(a, b) for a, b in ranges)]
        assert same(found.numpy(), np.asarray(expected)) and (not expected.size or is_view(found, array))
        widths = [tuple(int(width) for width in rng.integers(0, 3, 2)) for _axis in array.shape]
        padded = ops.pad(operand, widths, True)  # type: ignore[arg-type]
        assert same(padded.numpy(), np.pad(array, widths, constant_values=1) if array.ndim else np.asarray(array))


def test_flip() -> None:
    for rng, operand, array in cases(5):
        axes = tuple(int(axis) for axis in rng.permutation(array.ndim)[: rng.integers(array.ndim + 1)])
        found = ops.flip(operand, axes)  # type: ignore[arg-type]
        assert same(found.numpy(), np.flip(array, axes)) and (not array.size or is_view(found, array))


def test_parts_of_an_axis_that_no_layout_slices_are_views_of_one_copy() -> None:
    values = np.arange(24, dtype=np.float32)
    nested = make_tensor(values, Layout(((2, 3), 4), ((1, 8), 2)))
    for axis, of_x in ((0, False), (1, True)):
        parts = ops.unstack(nested, axis)
        assert len({id(part.engine.memory) for part in parts}) == 1
        assert (parts[0].engine is nested.engine) == of_x
        stacked = np.stack([part.numpy() for part in parts], axis)
        assert np.array_equal(stacked, ops.contiguous(nested).numpy())


def test_nested_and_swizzled_operands() -> None:
    nested = make_tensor(np.arange(48, dtype=np.float32), ((2, 3), 4), ((1, 16), 4))
    swizzled = make_tensor(np.arange(32, dtype=np.float32), ComposedLayout(Swizzle(2, 0, 3), 0, Layout((8, 4))))
    for tensor in (nested, swizzled):
        values = tensor.numpy()
        assert (ops.flip(tensor, 0).numpy() == np.flip(values, 0)).all()
        assert (ops.crop(tensor, [(1, 4), (0, 2)]).numpy() == values[1:4, :2]).all()
        assert (ops.permute(tensor, (1, 0)).numpy() == values.T).all()
        assert (ops.reshape(tensor, (4, -1)).numpy() == values.reshape(4, -1)).all()
        assert (ops.pad(tensor, [(1, 0), (0, 1)]).numpy() == np.pad(values, [(1, 0), (0, 1)])).all()


def test_tiles_beyond_the_edge_keep_it() -> None:
    source = make_tensor(np.arange(24, dtype=np.float32))
    tile = local_tile(composition(source, Layout(10)), (4,), (2,))  # elements 8 and 9, and none beyond
    values = np.float32([8, 9, 0, 0])
    assert (ops.expand(tile, (2, 4)).numpy() == [values, values]).all()
    assert (ops.reshape(tile, (2, 2)).numpy() == values.reshape(2, 2)).all()
    assert (ops.flip(tile).numpy() == values[::-1]).all() and (ops.crop(tile, [(1, 3)]).numpy() == values[1:3]).all()
    assert (ops.permute(tile, (0,)).numpy() == values).all()
    assert (ops.pad(tile, [(1, 0)], 5).numpy() == [5, *values]).all()


def test_a_swizzled_tensor_expands() -> None:
    swizzled = make_tensor(np.arange(32, dtype=np.float32), ComposedLayout(Swizzle(2, 0, 3), 0, Layout((8, 4))))
    found = ops.expand(swizzled, (3, 8, 4))
    assert is_view(found, swizzled.engine.memory)  # type: ignore[attr-defined]
    assert (found.numpy() == np.broadcast_to(swizzled.numpy(), (3, 8, 4))).all()


def test_creation() -> None:
    for dtype in ALL:
        assert same(ops.zeros((2, 0, 3), dtype).numpy(), np.zeros((2, 0, 3), dtype))
        assert same(ops.ones((2, 3), dtype).numpy(), np.ones((2, 3), dtype))
        assert same(ops.full((), 1, dtype).numpy(), np.full((), 1, dtype))
    assert same(ops.arange(2, 11, 3).numpy(), np.arange(2, 11, 3, np.int32))
    assert same(ops.arange(0.5, 3, dtype="f16").numpy(), np.arange(0.5, 3).astype(np.float16))
    assert same(ops.linspace(-1, 1, 7).numpy(), np.linspace(-1, 1, 7).astype(np.float32))
    normal = ops.randn((1000, 100), seed=3).numpy()
    assert abs(normal.mean()) < 0.01 and abs(normal.std() - 1) < 0.01 and normal.dtype == np.float32


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ops.permute(zeros(2, 3), (0, 0)), "name each of the axes 0 to 1 once"),
        (lambda: ops.reshape(zeros(2, 3), (4, 2)), "8 is not its size 6"),
        (lambda: ops.reshape(zeros(2, 3), (4, -1)), "4 is not its size 6"),
        (lambda: ops.expand(zeros(2, 3), (4, 3)), "only axes of size 1 stretch"),
        (lambda: ops.expand(zeros(2, 3), (3,)), "only axes of size 1 stretch"),
        (lambda: ops.crop(zeros(2, 3), [(0, 3), (0, 1)]), "give 0 <= begin <= end <= size"),
        (lambda: ops.pad(zeros(2, 3), [(-1, 0), (0, 0)]), r"give \(before, after\) from 0"),
        (lambda: ops.flip(zeros(2, 3), 2), "axis 2 of a tensor with 2 axes"),
        (lambda: ops.zeros((2, -1)), "sizes are whole numbers from 0"),
        (lambda: ops.full(2, 0.5, "i32"), "i32 cannot hold it"),
        (lambda: ops.arange(0, 5, 0), "the step is 0"),
        (lambda: ops.randn(3, "i32"), "normal numbers are f16 or f32"),
        (lambda: ops.zeros(3, "object"), "no such element type"),
    ],
)
def test_bad_calls(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TensorError, match=message):
        call()
