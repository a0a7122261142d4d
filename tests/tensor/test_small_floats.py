"""Floats of 8 and 16 bits: every pattern is the number that its bits say, every number goes to the nearest pattern."""

from fractions import Fraction
from functools import cache

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutepy import ceil_div, copy, gpu, local_tile, make_tensor, ops, recast, size
from cutepy.errors import TensorError
from cutepy.tensor import Tensor
from cutepy.tensor.dtypes import ML_DTYPES, PACKED, SmallFloat, bf16, e4m3, e5m2

SMALL = [bf16, e4m3, e5m2]
THEIRS = {dtype: np.dtype(getattr(ml_dtypes, name)) for name, dtype in ML_DTYPES.items()}


def patterns(dtype: SmallFloat) -> np.ndarray:
    """Every element, as bits."""
    return np.arange(1 << dtype.bits, dtype=f"u{dtype.bytes}")


def over(bits: np.ndarray, dtype: SmallFloat) -> Tensor:
    return recast(make_tensor(bits), dtype.name)


@cache
def numbers(dtype: SmallFloat) -> np.ndarray:
    """All finite elements in order, those that are not negative, by the definition of a float."""
    fields = [(bits >> dtype.fraction, bits & (1 << dtype.fraction) - 1) for bits in range(dtype.greatest + 1)]
    step = 1 - dtype.bias - dtype.fraction
    return np.array([np.ldexp(low + ((e > 0) << dtype.fraction), max(e, 1) - 1 + step) for e, low in fields])


@gpu.kernel
def copied(x: Tensor, y: Tensor) -> None:
    gpu.launch(grid=ceil_div(size(x), 256), threads=64)
    mine = [local_tile(local_tile(t, 256, gpu.workgroup.x), 4, gpu.thread) for t in (x, y)]
    copy(*mine)


def stored(values: np.ndarray, dtype: SmallFloat, *, kernel: bool) -> np.ndarray:
    """The bits of values, by the host or by the interpreter."""
    padded = np.resize(values, -(-len(values) // 256) * 256)
    bits = np.zeros(len(padded), f"u{dtype.bytes}")
    if kernel:
        copied.interpret(padded.astype(np.float32), over(bits, dtype))
    else:
        copy(make_tensor(padded), over(bits, dtype))
    return bits[: len(values)]


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_every_pattern_is_the_number_that_its_bits_say(dtype: SmallFloat) -> None:
    bits = patterns(dtype)
    from_kernel = np.zeros(len(bits), np.float32)
    copied.interpret(over(bits, dtype), from_kernel)
    theirs = bits.view(THEIRS[dtype]).astype(np.float32)
    finite, half = numbers(dtype), len(bits) // 2
    for found in (over(bits, dtype).numpy(), from_kernel, make_tensor(bits.view(THEIRS[dtype])).numpy()):
        assert found.dtype == np.float32 and np.array_equal(found, theirs, equal_nan=True)
        assert np.array_equal(np.signbit(found[~np.isnan(found)]), np.signbit(theirs[~np.isnan(theirs)]))
        assert np.array_equal(found[: len(finite)], finite)
        assert np.array_equal(found[half:], -found[:half], equal_nan=True)
        beyond = found[len(finite) : half]
        assert np.isinf(beyond[0]) == dtype.infinities and np.isnan(beyond[dtype.infinities :]).all()
    assert copied.verify(over(bits, dtype), from_kernel).ok and copied.verify(from_kernel, over(bits, dtype)).ok


@pytest.mark.parametrize("dtype", SMALL, ids=str)
@pytest.mark.parametrize("kernel", [False, True])
def test_a_store_rounds_to_the_nearest_and_of_two_to_the_even_one(dtype: SmallFloat, kernel: bool) -> None:
    """At all numbers, all middles, and beside each of these; and at any bits of f32."""
    finite = numbers(dtype)
    end = 2 * finite[-1] - finite[-2]  # where the next number would be
    middles = (np.append(finite[1:], end) + finite) / 2
    with np.errstate(all="ignore"):
        edges = np.concatenate([finite, middles, [end, 3e38, np.inf, np.nan, 1e-45]]).astype(np.float32)
        edges = np.concatenate([edges, np.nextafter(edges, np.float32(np.inf)), np.nextafter(edges, np.float32(0))])
        random = np.random.default_rng(0).integers(0, 2**32, 1 << 18, np.uint32).view(np.float32)
        values = np.concatenate([edges, -edges, random])
        theirs = values.astype(THEIRS[dtype])
    found = stored(values, dtype, kernel=kernel)
    nan = np.isnan(theirs.astype(np.float32))
    assert np.array_equal(found[~nan], theirs.view(found.dtype)[~nan])
    assert np.isnan(over(found[nan], dtype).numpy()).all() and nan.any()


@pytest.mark.parametrize("dtype", SMALL, ids=str)
@given(value=st.floats(allow_nan=False), steps=st.integers(-2, 2), at=st.integers(0, 2**16 - 1))
@settings(max_examples=300)
def test_a_number_of_64_bits_is_rounded_once(dtype: SmallFloat, value: float, steps: int, at: int) -> None:
    """Also a step of f64 beside the middle of two numbers, which f32 does not tell from the middle."""
    finite = numbers(dtype)
    at %= len(finite) - 1
    beside = float((finite[at] + finite[at + 1]) / 2) * (1 + steps * 2.0**-50)
    for number in (value, beside, -beside):
        bits = int(stored(np.array([number]), dtype, kernel=False)[0])
        size_of, exact = bits & (1 << dtype.bits - 1) - 1, abs(Fraction(number)) if np.isfinite(number) else None
        assert bits >> dtype.bits - 1 == np.signbit(number)
        if exact is None or size_of > dtype.greatest:
            assert size_of == dtype.greatest + 1
            assert exact is None or exact * 2 >= Fraction(3 * finite[-1]) - Fraction(finite[-2])
            continue
        error = abs(Fraction(finite[size_of]) - exact)
        for other in {max(size_of - 1, 0), min(size_of + 1, dtype.greatest)} - {size_of}:
            distance = abs(Fraction(finite[other]) - exact)
            assert error < distance or (error == distance and size_of % 2 == 0)


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_they_are_operands_as_f32_is(dtype: SmallFloat) -> None:
    """In the functions of arrays, as the numbers that they are; a view of an array of ml_dtypes shares its memory."""
    array = np.arange(24).reshape(4, 6).astype(THEIRS[dtype])
    tensor, want = make_tensor(array), array.astype(np.float32)
    assert tensor.dtype is dtype is PACKED[dtype.name] and tensor.layout == make_tensor(want).layout
    assert np.array_equal((tensor + tensor).numpy(), want + want) and ops.sum(tensor).numpy() == want.sum()
    assert np.array_equal(ops.matmul(tensor, ops.permute(tensor, (1, 0))).numpy(), want @ want.T)
    tensor[1, 2] = 3.5
    assert array[1, 2] == 3.5 and make_tensor(array[::-2]).numpy()[1, 2] == 3.5
    with pytest.raises(TensorError, match="recast"):
        recast(make_tensor(np.zeros(3, np.uint8)), "bf16")
