"""Packed words on a device: functions, parts of words in every memory, whole words written, weights of 4 bits."""

import sys
from pathlib import Path

import numpy as np
import pytest

from cutepy import gpu
from cutepy.gpu.runtime import Device
from cutepy.tensor import make_tensor, recast
from cutepy.tensor.functions import Word

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
from word_cases import BITS, WORDS, applied, joined, matvec, one_by_one, operands, parts, spread

EVERY = np.arange(4096, dtype=np.uint32) * 0x9E3779B1


@pytest.mark.parametrize("function", WORDS, ids=lambda f: f.name)
def test_functions(device: Device, function: Word) -> None:
    given = operands(function)
    if function.name == "pack2x16float":
        given = [x.astype(np.float16).astype(np.float32) for x in given]
    want = getattr(gpu, function.name)(*given)
    want = np.stack(want if isinstance(want, tuple) else (want,), axis=-1)
    out = gpu.array(np.zeros(want.shape, want.dtype), device=device)
    applied(tuple(gpu.array(x, device=device) for x in given), out, name=function.name)
    if function.name.startswith("unpack") and want.dtype == np.float32:
        np.testing.assert_allclose(out.numpy(), want, rtol=1e-6)
    elif "norm" in function.name:  # next to the middle between two either is right
        found, wanted = (x.view(np.int8 if "s" in function.name else np.uint8).astype(int) for x in (out.numpy(), want))
        assert np.abs(found - wanted).max() <= 1
    else:
        np.testing.assert_array_equal(out.numpy(), want)


@pytest.mark.parametrize("kind", BITS)
@pytest.mark.parametrize("through", ["", "registers", "memory"])
def test_parts_of_words(device: Device, kind: str, through: str) -> None:
    words = EVERY & 0x7BFF7BFF if kind in ("f16", "f32") else EVERY  # floats that are numbers
    want = parts(words, kind)
    out = gpu.array(np.zeros(len(want), want.dtype), device=device)
    spread(gpu.array(words, device=device), out, kind=kind, through=through)
    least = {"f16": 1e-4, "f32": 1e-37, "bf16": 1e-37}.get(kind, 0)  # a device may take the least floats to be 0
    np.testing.assert_allclose(out.numpy(), want, rtol=0, atol=least)


@pytest.mark.parametrize("kind", BITS)
def test_places_that_data_decides_and_whole_words(device: Device, kind: str) -> None:
    words = EVERY[:40] & 0x3F3F3F3F  # of floats neither NaN nor infinite
    want = parts(words, kind)
    at = np.random.default_rng(0).integers(0, len(want), 64).astype(np.uint32)
    out = gpu.array(np.zeros(64, want.dtype), device=device)
    one_by_one(gpu.array(words, device=device), gpu.array(at, device=device), out, kind=kind)
    np.testing.assert_allclose(out.numpy(), want[at], rtol=0, atol=1e-4 * (kind == "f16"))
    found = gpu.array(np.zeros_like(words), device=device)
    joined(gpu.array(want, device=device), found, kind=kind)
    np.testing.assert_allclose(parts(found.numpy(), kind), want, rtol=0, atol=1e-4 * (kind == "f16"))


def test_weights_of_four_and_of_eight_bits(device: Device) -> None:
    g = np.random.default_rng(0)
    values = g.integers(-8, 8, (6, 512)).astype(np.int8)
    packed = ((values[:, 0::2] & 15) | (values[:, 1::2] & 15) << 4).astype(np.uint8)
    scales, x = g.random((6, 16), np.float32), g.standard_normal(512).astype(np.float32)
    want = (values * np.repeat(scales, 32, axis=1)) @ x
    for weights in (recast(make_tensor(packed), "i4"), make_tensor(values)):
        there = gpu.array(weights, device=device)
        assert np.array_equal(there.numpy(), values) and there.dtype == weights.dtype
        y = gpu.array(np.zeros(6, np.float32), device=device)
        for given in (there, weights):
            matvec(given, gpu.array(scales, device=device), gpu.array(x, device=device), y)
            np.testing.assert_allclose(y.numpy(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("held", ["uint8", "uint32", "float32"])
@pytest.mark.parametrize("wanted", ["i4", "u4", "i8", "u16", "f16", "i32", "u32", "f32"])
def test_memory_of_a_device_is_recast_as_memory_of_the_host(device: Device, held: str, wanted: str) -> None:
    words = np.random.default_rng(0).integers(0, 1 << 32, (4, 6), np.uint32).view(held)
    there, here = (recast(t, wanted) for t in (gpu.array(words, device=device), make_tensor(words.copy())))
    assert there.layout == here.layout and there.dtype == here.dtype
    there[1, 2] = here[1, 2] = 3
    one, other = there.numpy(), here.numpy()
    assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f") and one[1, 2] == 3
