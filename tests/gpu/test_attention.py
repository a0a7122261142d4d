"""Attention by matrices of a subgroup: the law, and what it rests on, lazy rescaling of sums that nobody sees."""

import importlib

import example_cases  # noqa: F401  its folder is on the path
import numpy as np
import pytest
import tint
from hypothesis import given
from hypothesis import strategies as st
from shares import tries

from cutepy import gpu
from cutepy.gpu import ir
from cutepy.gpu.lower import lower
from cutepy.gpu.runtime.program import Limits
from cutepy.gpu.targets.wgsl import print_wgsl

by_matrices = importlib.import_module("attention_matrices")
attention, weighed = by_matrices.attention, by_matrices.weighed
ROOM = Limits(workgroup_bytes=49152)
many = gpu.kernel(sizes={"Q": "(T,64,R,H)", "K": "(S,64,H)", "V": "(S,64,H)", "O": "(T,64,R,H)"}, given=["T <= S"])(
    attention.function
)


def as_arguments(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> list[np.ndarray]:
    q, o = (x.transpose(2, 3, 1, 0) for x in (Q, np.full_like(Q, np.nan)))
    return [q, K.transpose(1, 2, 0), V.transpose(1, 2, 0), o]


@given(
    st.integers(1, 150),
    st.integers(0, 70),
    st.tuples(st.integers(1, 2), st.integers(1, 2), st.sampled_from([16, 64])),
    st.booleans(),
    st.sampled_from([None, 1, 17, 100]),
    st.sampled_from([0.0, 1.0, 30.0]),
    st.sampled_from([-20.0, 0.0, 20.0]),
)
@tries(48)
def test_it_is_attention(
    length: int, more: int, heads: tuple[int, int, int], causal: bool, window: int | None, scale: float, trend: float
) -> None:
    """Of any lengths and scores: also of those that grow with each key, which raise every reference again and again,
    and of those that fall, whose weights vanish. The error is that of weights and results in 16 bits."""
    (count, group, width), keys, rng = heads, length + more, np.random.default_rng(length)
    Q = (scale * rng.standard_normal((count, group, length, width))).astype(np.float16)
    K = rng.standard_normal((count, keys, width)).astype(np.float16)
    Q[..., 0], K[..., 0] = 8, trend * np.linspace(0, 1, keys)
    V = rng.standard_normal((count, keys, width)).astype(np.float16)
    given, wanted = as_arguments(Q, K, V), weighed(Q, K, V, causal, window)
    for kernel in (attention, many) if width == 64 else (attention,):
        given[3][...] = np.nan
        kernel.interpret(*given, causal=causal, window=window)
        assert np.abs(given[3] - wanted).max() <= 2e-3 * np.abs(wanted).max()


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(
    ("length", "keys", "window"), [(256, 256, None), (200, 300, None), (1, 77, None), (130, 200, 40)]
)
def test_it_is_proven_and_taken_by_tint(length: int, keys: int, window: int | None, causal: bool) -> None:
    example = by_matrices.example(length, keys=keys, group=2, causal=causal, window=window)
    for kernel in (attention, many):
        assert kernel.verify(*example.arguments, **example.static, limits=ROOM).ok
    with ir.new_arena():
        assert not tint.verdict(print_wgsl(lower(attention.ir(*example.arguments, **example.static)), "tint"))


def test_a_missing_barrier_or_a_flag_that_is_no_atomic_is_seen() -> None:
    """The proof hangs on the flag: written by whoever raises a reference, read by all together."""

    @gpu.kernel
    def flagged(x, y, *, how):
        gpu.launch(threads=32)
        raised = gpu.shared("u32", 1)
        if gpu.thread == 0:
            gpu.atomic_store(raised, 0, 0)
        gpu.barrier()
        if x[gpu.thread] > 0:
            if how == "plain":
                raised[0] = 1
            else:
                gpu.atomic_store(raised, 0, 1)
        if how == "each":
            together = gpu.atomic_load(raised, 0)
        else:
            together = gpu.uniform(raised[0] if how == "plain" else gpu.atomic_load(raised, 0))
        y[gpu.thread] = gpu.cast(together, "f32")

    for seed in range(4):
        x = np.random.default_rng(seed).standard_normal(32, np.float32) - seed
        y = np.zeros_like(x)
        flagged.interpret(x, y, how="atomic")
        assert (y == (x > 0).any()).all()
    assert flagged.verify(x, y, how="atomic").ok
    assert "workgroupUniformLoad(&raised[0u])" in flagged.wgsl(x, y, how="atomic")
    assert not flagged.verify(x, y, how="plain").ok
    assert "UniformLoad" not in flagged.wgsl(x, y, how="each")
