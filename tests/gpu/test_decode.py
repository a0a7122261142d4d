"""One step of decoding: attention of a query a head over a cache of any length, in any element type."""

import importlib

import example_cases  # noqa: F401  its folder is on the path
import numpy as np
import pytest
import tint
from hypothesis import given
from hypothesis import strategies as st
from shares import tries

from cutepy import Layout, Tensor, copy, gpu, make_tensor, recast
from cutepy.gpu import ir
from cutepy.gpu.lower import lower
from cutepy.gpu.runtime.program import Limits
from cutepy.gpu.targets.wgsl import print_wgsl

decode = importlib.import_module("decode")
ROOM = Limits(workgroup_bytes=49152)
BITS = {"f32": 32, "f16": 16, "bf16": 16, "e4m3": 8}
OF_ANY_LENGTH = {}
for wide in (64, 32, 16):
    sizes = {"q": "(64,2,H)", **dict.fromkeys("KV", f"(N,{wide},H)"), "norms": "(2,H,P)", "o": "(64,2,H,P)"}
    OF_ANY_LENGTH[wide] = gpu.kernel(sizes=sizes)(decode.decode.function)
combine_any = gpu.kernel(sizes={"norms": "(G,H,P)", "parts": "(64,G,H,P)", "o": "(64,G,H)"})(decode.combine.function)


def cache(numbers: np.ndarray, dtype: str) -> tuple[Tensor, np.ndarray]:
    """Keys or values (heads, keys, width) as a tensor (keys, width, heads), and what it holds."""
    heads, keys, width = numbers.shape
    if dtype in ("f32", "f16"):
        held = make_tensor(numbers.astype({"f32": np.float32, "f16": np.float16}[dtype]))
    else:
        held = recast(make_tensor(np.zeros(numbers.size * BITS[dtype] // 32, np.uint32)), dtype)
        held = Tensor(held.engine, Layout(numbers.shape, (keys * width, width, 1)))
        copy(make_tensor(numbers), held)
    there = Tensor(held.engine, Layout((keys, width, heads), (width, 1, keys * width)))
    return there, held.numpy().astype(np.float64)


def in_words(tensor: Tensor) -> Tensor:
    """Keys or values of a packed type as the words that hold them."""
    keys, width, heads = tensor.shape
    wide = width * tensor.dtype.bits // 32
    return Tensor(tensor.engine.words, Layout((keys, wide, heads), (wide, 1, keys * wide)))


def results(parts: int, heads: int, group: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    found, norms = (
        np.full((parts, heads, group, width), np.nan, np.float32),
        np.zeros((parts, heads, group), np.float32),
    )
    return norms.transpose(2, 1, 0), found.transpose(3, 2, 1, 0)


@given(
    st.integers(1, 400),
    st.tuples(st.integers(1, 3), st.integers(1, 3), st.sampled_from([32, 64, 128])),
    st.sampled_from([*BITS]),
    st.sampled_from([4, 8, 16]),
    st.integers(1, 5),
    st.sampled_from([0.0, 1.0, 30.0]),
    st.sampled_from([-20.0, 0.0, 20.0]),
)
@tries(48)
def test_it_is_attention(
    keys: int, heads: tuple[int, int, int], dtype: str, lanes: int, parts: int, scale: float, trend: float
) -> None:
    """Of any number of keys, of parts (some without a key), and of scores that grow or fall with each key."""
    (count, group, width), rng = heads, np.random.default_rng(keys)
    q = (scale * rng.standard_normal((count, group, width))).astype(np.float32)
    K, V = (rng.standard_normal((count, keys, width)) for _operand in "KV")
    q[..., 0], K[..., 0] = 8, trend * np.linspace(0, 1, keys)
    (k, held_K), (v, held_V) = cache(K, dtype), cache(V, dtype)
    norms, found = results(parts, count, group, width)
    o = np.full((width, group, count), np.nan, np.float32)
    decode.decode.interpret(q.transpose(2, 1, 0), k, v, norms, found, lanes=lanes)
    decode.combine.interpret(norms, found, o)
    wanted = decode.weighed(q, held_K, held_V)
    assert np.abs(o - wanted).max() <= 2e-5 * np.abs(held_V).max()


@pytest.mark.parametrize("dtype", BITS)
def test_one_proof_and_text_for_all_lengths(dtype: str) -> None:
    q = np.random.default_rng(0).standard_normal((2, 2, 64)).astype(np.float32)
    for keys, parts in ((1, 1), (300, 3), (129, 7)):
        K, V = np.random.default_rng(keys).standard_normal((2, 2, keys, 64))
        (k, held_K), (v, held_V) = cache(K, dtype), cache(V, dtype)
        norms, found = results(parts, 2, 2, 64)
        o = np.zeros((64, 2, 2), np.float16)
        static = {} if dtype[0] == "f" else {"dtype": dtype}
        if static:
            k, v = in_words(k), in_words(v)
        given, of_any_length = (q.transpose(2, 1, 0), k, v, norms, found), OF_ANY_LENGTH[k.shape[1]]
        of_any_length.interpret(*given, **static)
        combine_any.interpret(norms, found, o)
        assert np.abs(o - decode.weighed(q, held_K, held_V)).max() <= 2e-3
        assert of_any_length.verify(*given, **static, limits=ROOM).ok and combine_any.verify(norms, found, o).ok
        assert not of_any_length.size_reason, of_any_length.size_reason
    with ir.new_arena():
        text = print_wgsl(lower(decode.decode.ir(*given, **static)), "tint")
        assert not tint.verdict(text) and "read_write> K" in text


def test_a_window_is_the_last_keys() -> None:
    q, K, V = (np.random.default_rng(n).standard_normal((2, n, 64)).astype(np.float32) for n in (2, 300, 300))
    norms, found = results(1, 2, 2, 64)
    last = [x.transpose(1, 2, 0)[-100:] for x in (K, V)]
    decode.decode.interpret(q.transpose(2, 1, 0), *last, norms, found)
    assert np.abs(found[..., 0] - decode.weighed(q, K[:, -100:], V[:, -100:])).max() <= 1e-6
