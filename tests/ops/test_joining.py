"""pad, concat, stack and take against NumPy's: random shapes, layouts, types and axes, on the host and by kernels."""

from typing import Any

import numpy as np
import pytest
from ops.operands import NUMBERS, random_operand, random_sizes
from shares import share

from cutepy import ops
from cutepy.errors import CoordinateError, KernelError, TensorError
from cutepy.tensor import Tensor, make_tensor

ENGINES = ("numpy", "interpreter")
CASES = {"numpy": range(100), "interpreter": range(40)}


def judge(found: Tensor, expected: np.ndarray) -> None:
    assert found.numpy().shape == expected.shape and found.numpy().dtype == expected.dtype
    assert np.array_equal(found.numpy(), expected, equal_nan=expected.dtype.kind == "f")


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@pytest.mark.parametrize("engine", ENGINES)
def test_pad(engine: Any, mode: Any) -> None:
    rng = np.random.default_rng([*mode.encode()])
    for _case in share(CASES[engine]):
        operand, array = random_operand(rng, random_sizes(rng, 1, 3), rng.choice(NUMBERS))
        widths = [tuple(map(int, rng.integers(0, 5, 2))) for _axis in range(array.ndim)]
        if mode == "constant":
            judge(ops.pad(operand, widths, 7, engine=engine), np.pad(array, widths, mode, constant_values=7))
        elif array.size:
            judge(ops.pad(operand, widths, mode, engine=engine), np.pad(array, widths, mode))


@pytest.mark.parametrize("engine", ENGINES)
def test_concat_and_stack(engine: Any) -> None:
    rng = np.random.default_rng(2)
    for _case in share(CASES[engine]):
        shape = random_sizes(rng, 1, 3)
        axis, count = int(rng.integers(-len(shape), len(shape))), int(rng.integers(1, 4))
        dtypes = [str(rng.choice(NUMBERS[:3])) for _ in range(count)]
        shapes = [tuple(int(rng.integers(4)) if i == axis % len(shape) else n for i, n in enumerate(shape))] * count
        operands, arrays = zip(*[random_operand(rng, s, d) for s, d in zip(shapes, dtypes, strict=True)], strict=True)
        dtype = ops.add(arrays[0], arrays[-1]).numpy().dtype if count < 3 else None
        found = ops.concat(operands, axis, engine=engine)
        with np.errstate(all="ignore"):
            judge(found, np.concatenate([a.astype(dtype or found.numpy().dtype) for a in arrays], axis))
            judge(
                ops.concat(operands, None, engine=engine),
                np.concatenate([a.ravel().astype(found.numpy().dtype) for a in arrays]),
            )
        alike = [random_operand(rng, shape, "float32") for _ in range(count)]
        place = int(rng.integers(-len(shape) - 1, len(shape) + 1))
        judge(ops.stack([x for x, _ in alike], place, engine=engine), np.stack([a for _, a in alike], place))


@pytest.mark.parametrize("engine", ENGINES)
def test_take(engine: Any) -> None:
    rng = np.random.default_rng(3)
    for _case in share(CASES[engine]):
        operand, array = random_operand(rng, random_sizes(rng, 1, 4), rng.choice(NUMBERS))
        axis = None if rng.random() < 0.2 else int(rng.integers(-array.ndim, array.ndim))
        count = array.size if axis is None else array.shape[axis]
        shape = random_sizes(rng, 0, 2) if count else (0,)
        indices = rng.integers(-count, count, shape) if count else np.zeros(shape, np.int64)
        kind = rng.choice(["i4", "i8", "u4"])
        indices = (np.abs(indices) % max(1, count) if kind == "u4" else indices).astype(kind)
        judge(ops.take(operand, indices, axis, engine=engine), np.take(array, indices, axis))


@pytest.mark.parametrize("engine", ENGINES)
def test_long_rows_are_taken_by_vectors(engine: Any) -> None:
    rng = np.random.default_rng(4)
    for shape in ((9, 300), (9, 301), (9, 20), (9, 3), (300, 9)):
        array, indices = rng.normal(size=shape).astype(np.float32), rng.integers(-3, 3, 70).astype(np.int32)
        for axis in (0, 1):
            judge(ops.take(array, indices, axis, engine=engine), np.take(array, indices, axis))


@pytest.mark.parametrize("engine", ENGINES)
def test_results_go_where_out_says(engine: Any) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for call, expected in (
        (lambda **how: ops.concat([x, x], 1, **how), np.concatenate([x, x], 1)),
        (lambda **how: ops.stack([x, x], 1, **how), np.stack([x, x], 1)),
        (lambda **how: ops.take(x, [2, 0], 0, **how), x.take([2, 0], 0)),
        (lambda **how: ops.pad(x, [(1, 0), (0, 2)], **how), np.pad(x, [(1, 0), (0, 2)])),
        (lambda **how: ops.pad(x, [(1, 0), (0, 2)], "edge", **how), np.pad(x, [(1, 0), (0, 2)], "edge")),
    ):
        out = make_tensor(np.asfortranarray(np.zeros_like(expected)))
        assert call(engine=engine, out=out) is out
        judge(out, expected)
        with pytest.raises(KernelError, match="out has the shape"):
            call(engine=engine, out=make_tensor(np.zeros((5, 5), np.float32)))


def test_what_is_refused() -> None:
    x = np.zeros((3, 4), np.float32)
    for call, error, words in (
        (lambda: ops.concat([]), TensorError, "nothing to join"),
        (lambda: ops.concat([x, x[:, 1:]]), TensorError, "differ along another axis"),
        (lambda: ops.concat([x, x], 2), TensorError, "axis"),
        (lambda: ops.stack([x, x[1:]]), TensorError, "are not one"),
        (lambda: ops.take(x, [3], 0), CoordinateError, "index 3 is outside its 3 elements"),
        (lambda: ops.take(x, [-5], 1), IndexError, "index -5 is outside its 4 elements"),
        (lambda: ops.take(x, [1.0], 1), TensorError, "give whole numbers"),
        (lambda: ops.pad(x, [(1, -1), (0, 0)]), TensorError, "from 0"),
        (lambda: ops.pad(x[:0], [(1, 0), (0, 0)], "edge"), TensorError, "nothing to edge"),
        (lambda: ops.pad(x, [(1, 0), (0, 0)], "mirror"), TensorError, "value is a number or one of"),  # type: ignore
    ):
        with pytest.raises(error, match=words):
            call()
